/*-------------------------------------------------------------------------
 *
 * queue/drain.c
 *	  Batch update: moving what waits in the operation queue to the main tree.
 *
 * The queue's leaves are gone through in the order of keys, so that all that
 * it has for a leaf of the main tree is done at one visit, and the main leaves
 * that will be visited next are being read (pio-btree, 3.1 and 3.3).  All of
 * them are found from above, by the internal jump-pointer array.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "utils/memutils.h"

#include "base/attempt.h"
#include "base/shared.h"
#include "prefetch/prefetch.h"
#include "queue/queue.h"

/*
 * One in so many of a leaf's entries are moved where not all have to be.
 * Those main leaves that are not visited then will have got more by the time
 * they are: the fewer are, the more entries a visit.
 */
#define MOVED_SHARE		3

/*
 * So many main leaves does an insertion try that wants room in the queue, if
 * moving entries there fails.
 */
#define MAX_TRIES	3

/* what the queue's leaf at hand has for a leaf of the main tree */
typedef struct Target
{
	int			first;			/* the first of its entries */
	int			nentries;
	BlockNumber leaf;			/* the main leaf, as far as the level above
								 * names it, or InvalidBlockNumber */
} Target;

/* a batch update under way */
struct FpbBatch
{
	FpbIndex   *ix;
	FpbIndex	queue;
	Relation	heap;
	MemoryContext context;		/* lives as long as the update */
	MemoryContext leaf_context; /* reset with each leaf of the queue */
	FpbShared  *shared;
	bool		leave_failed;	/* are main leaves left alone to which nothing
								 * could be moved? */
	bool		left;			/* has any been? */
	FpbFilter	filter;
	FpbWindow	window;			/* main leaves being read */
	FpbWalk		walk;			/* that names them */
	Page		copy;			/* of the queue's leaf at hand */
	FpbEntry   *entries;		/* what it has; tuples in the copy */
	int			nentries;
	int			fullness;		/* what they take of the page, in percent */
	Target	   *targets;		/* where they go, in order */
	int			ntargets;
	int64		moved;			/* so many entries so far */
};

/*
 * The last visit of this process that has failed: to which main leaf, as far
 * as is known, and whether that has been noted.
 */
static BlockNumber failed_leaf = InvalidBlockNumber;
static FpbNoted failed_noted = FPB_NOT_NOTED;

/*
 * Get ready to move entries of the queue; heap is the index's table.
 * leave_failed: main leaves to which nothing could be moved a short while ago,
 * because they are damaged, say, are not visited.
 */
FpbBatch *
fpb_batch_begin(FpbIndex *ix, Relation heap, bool leave_failed)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "fpbtree batch update",
												  ALLOCSET_DEFAULT_SIZES);
	FpbBatch   *batch = MemoryContextAllocZero(context, sizeof(FpbBatch));

	batch->ix = ix;
	fpb_index_refresh(ix);
	fpb_index_of_queue(ix, &batch->queue);
	batch->heap = heap;
	batch->context = context;
	batch->leaf_context = AllocSetContextCreate(context, "fpbtree batch update leaf",
												ALLOCSET_DEFAULT_SIZES);
	fpb_filter_open(&batch->filter, ix->rel);
	batch->shared = batch->filter.shared;
	batch->leave_failed = leave_failed && batch->shared != NULL;
	fpb_window_init(&batch->window, context, ix->rel, fpb_pio_max);
	batch->window.min_distance = batch->window.max_distance;
	fpb_walk_init(&batch->walk, context, ix, 1);
	batch->copy = MemoryContextAllocAligned(context, BLCKSZ, PG_IO_ALIGN_SIZE, 0);
	batch->entries = MemoryContextAlloc(context, sizeof(FpbEntry) * FPB_MAX_PAGE_ENTRIES);
	batch->targets = MemoryContextAlloc(context, sizeof(Target) * FPB_MAX_PAGE_ENTRIES);
	return batch;
}

/*
 * End the update; returns how many entries have moved.
 */
int64
fpb_batch_end(FpbBatch *batch)
{
	int64		moved = batch->moved;

	fpb_window_end(&batch->window);
	fpb_ahead_report(batch->ix->rel, false, &batch->window.counts);
	MemoryContextDelete(batch->context);
	return moved;
}

/*
 * The queue that a batch update is about.
 */
FpbIndex *
fpb_batch_queue(FpbBatch *batch)
{
	return &batch->queue;
}

/*
 * Have entries been left in the queue because nothing could be moved to their
 * main leaf a short while ago?
 */
bool
fpb_batch_has_left(const FpbBatch *batch)
{
	return batch->left;
}

/*
 * What follows has not failed yet.
 */
void
fpb_batch_forget_failure(void)
{
	failed_leaf = InvalidBlockNumber;
	failed_noted = FPB_NOT_NOTED;
}

/*
 * An error has ended a batch update: has it been noted that nothing can be
 * moved to a main leaf, *leaf?
 */
FpbNoted
fpb_batch_failure(BlockNumber *leaf)
{
	*leaf = failed_leaf;
	return failed_noted;
}

/*
 * Take the entries of a leaf of the queue, locked, as it stays, to be moved
 * next.  Returns how many there are.
 */
int
fpb_batch_take(FpbBatch *batch, Page page)
{
	FpbItem    *items = palloc(sizeof(FpbItem) * FPB_MAX_PAGE_ENTRIES);
	FpbPos		from = FPB_POS_FIRST;
	bool		more;

	memcpy(batch->copy, page, BLCKSZ);
	batch->nentries = fpb_page_read(&batch->queue, batch->copy, from, NULL, false, items,
									FPB_MAX_PAGE_ENTRIES, &more);
	for (int i = 0; i < batch->nentries; i++)
		batch->entries[i].key = items[i].key;
	batch->fullness = fpb_items_fullness(&batch->queue, items, batch->nentries);
	pfree(items);
	return batch->nentries;
}

/*
 * How full the leaf was from which they have been taken, in percent.
 */
int
fpb_batch_fullness(const FpbBatch *batch)
{
	return batch->fullness;
}

/*
 * Find out which main leaves the entries taken are for.
 */
static void
find_targets(FpbBatch *batch)
{
	int			next = 0;		/* the first entry behind those dealt with */

	batch->ntargets = 0;
	while (next < batch->nentries)
	{
		Target	   *target = &batch->targets[batch->ntargets++];
		FpbProbe	probe;

		CHECK_FOR_INTERRUPTS();
		target->first = next;
		target->leaf = InvalidBlockNumber;
		fpb_probe_from_key(batch->ix, &batch->entries[next++].key, &probe);
		if (fpb_walk_seek(&batch->walk, &probe, false))
		{
			target->leaf = batch->walk.child.child;
			for (; next < batch->nentries; next++)
			{
				fpb_probe_from_key(batch->ix, &batch->entries[next].key, &probe);
				if (fpb_walk_compare_high(&batch->walk, &probe) <= 0)
					break;
			}
		}
		target->nentries = next - target->first;
	}
}

/*
 * Most entries first.
 */
static int
compare_targets(const void *a, const void *b)
{
	return ((const Target *) b)->nentries - ((const Target *) a)->nentries;
}

/*
 * In the order of keys.
 */
static int
compare_places(const void *a, const void *b)
{
	return ((const Target *) a)->first - ((const Target *) b)->first;
}

/*
 * Leave out all targets but those for which there is most: one of them, or as
 * many as have a share of the entries between them.
 */
static void
choose_targets(FpbBatch *batch, FpbMoved which)
{
	int			least = which == FPB_MOVE_LARGEST ? 1 : batch->nentries;
	int			chosen = 0;
	int			nentries = 0;

	qsort(batch->targets, batch->ntargets, sizeof(Target), compare_targets);
	while (chosen < batch->ntargets && nentries * MOVED_SHARE < least)
		nentries += batch->targets[chosen++].nentries;
	batch->ntargets = chosen;
	qsort(batch->targets, batch->ntargets, sizeof(Target), compare_places);
}

/*
 * Move what the queue has for the main leaf of an entry, and, if that is
 * split, for the leaves that come of it.  No lock is held on entry or exit.
 */
static void
visit(FpbBatch *batch, const FpbEntry *entry)
{
	FpbKey		at = entry->key;
	bool		more = true;

	while (more)
	{
		FpbProbe	place;
		FpbStack	stack;
		Buffer		buf;
		bool		counted = fpb_filter_counted(&batch->filter, batch->ix->rel);
		int			moved;

		CHECK_FOR_INTERRUPTS();
		fpb_probe_from_key(batch->ix, &at, &place);
		buf = fpb_descend(batch->ix, &place, 0, false, BUFFER_LOCK_EXCLUSIVE, &stack);
		if (batch->window.max_distance > 0)
			(void) fpb_window_reach(&batch->window, BufferGetBlockNumber(buf), false);
		moved = fpb_move_entries(batch->ix, batch->heap, buf, &stack, &place,
								 counted ? &batch->filter : NULL, &at, &more);
		if (moved < 0)
			continue;
		batch->moved += moved;
		if (moved > 0 && batch->shared != NULL)
			fpb_shared_count_visit(batch->shared, moved);
	}
}

/*
 * Visit a target.  If that fails, its leaf is noted.  No lock is held on entry
 * or exit.
 */
static void
visit_target(FpbBatch *batch, const Target *target)
{
	PG_TRY();
	{
		visit(batch, &batch->entries[target->first]);
	}
	PG_CATCH();
	{
		if (batch->shared != NULL && !fpb_is_own_error(geterrcode()))
		{
			failed_leaf = target->leaf;
			failed_noted = fpb_shared_note_failed_leaf(batch->shared, target->leaf);
		}
		PG_RE_THROW();
	}
	PG_END_TRY();
	if (batch->shared != NULL)
		fpb_shared_forget_failed_leaf(batch->shared, target->leaf);
}

/*
 * Leave out the targets to which nothing could be moved a short while ago.
 */
static void
leave_failed_targets(FpbBatch *batch)
{
	int			kept = 0;

	for (int i = 0; i < batch->ntargets; i++)
	{
		if (!fpb_shared_is_failed_leaf(batch->shared, batch->targets[i].leaf))
			batch->targets[kept++] = batch->targets[i];
	}
	batch->left = batch->left || kept < batch->ntargets;
	batch->ntargets = kept;
}

/*
 * Move the entries taken, a visit to each of their main leaves; or, unless all
 * are to be moved, those for which a visit is worth most.  What has come to
 * the queue meanwhile is left for another time.  No lock is held on entry or
 * exit.
 */
void
fpb_batch_move(FpbBatch *batch, FpbMoved which)
{
	MemoryContext old = MemoryContextSwitchTo(batch->leaf_context);
	int			announced = 0;

	find_targets(batch);
	if (batch->leave_failed)
		leave_failed_targets(batch);
	if (which != FPB_MOVE_ALL)
		choose_targets(batch, which);
	for (int i = 0; i < batch->ntargets; i++)
	{
		/* what is announced still is of no use: such leaves have been split */
		if (announced <= i)
			fpb_window_reset(&batch->window);
		while (announced < batch->ntargets &&
			   (announced <= i || fpb_window_wants(&batch->window)))
		{
			Target	   *target = &batch->targets[announced++];

			/* (a single one is read where it is visited) */
			if (batch->window.max_distance > 0 && batch->ntargets > 1 &&
				target->leaf != InvalidBlockNumber)
				fpb_window_add(&batch->window, target->leaf, 0);
		}
		fpb_window_start(&batch->window);
		visit_target(batch, &batch->targets[i]);
	}
	fpb_window_reset(&batch->window);
	MemoryContextSwitchTo(old);
	MemoryContextReset(batch->leaf_context);
}

/* whose room is to be made, and where */
typedef struct MakeRoom
{
	FpbIndex   *ix;
	Relation	heap;
	const FpbProbe *place;
} MakeRoom;

/*
 * Move what a leaf of the queue, that of a place, has for the main leaf for
 * which it has most, but for those left alone.  No lock is held on entry or
 * exit.
 */
static void
move_largest(void *arg)
{
	MakeRoom   *room = arg;
	FpbBatch   *batch = fpb_batch_begin(room->ix, room->heap, true);
	Buffer		buf = fpb_descend(&batch->queue, room->place, 0, false,
								  BUFFER_LOCK_SHARE, NULL);

	if (BufferIsValid(buf))
	{
		(void) fpb_batch_take(batch, BufferGetPage(buf));
		fpb_relbuf(buf);
		fpb_batch_move(batch, FPB_MOVE_LARGEST);
	}
	(void) fpb_batch_end(batch);
}

/*
 * Tell the user that room could not be made, because of an error of others'
 * entries.  Its text may say more of them than he may know, so that is for the
 * log alone.
 */
static void
warn_of_failure(const FpbIndex *ix, const ErrorData *error)
{
	ereport(WARNING,
			(errcode(error->sqlerrcode),
			 failed_leaf != InvalidBlockNumber ?
			 errmsg("could not move entries of the operation queue of index \"%s\" to block %u",
					RelationGetRelationName(ix->rel), failed_leaf) :
			 errmsg("could not move entries of the operation queue of index \"%s\"",
					RelationGetRelationName(ix->rel)),
			 errdetail_log("%s", error->message),
			 errhint("This is tried again later, and not reported again.")));
}

/*
 * As move_largest, in a subtransaction: it is others' entries that are moved,
 * and what is wrong with them must not fail an insertion.  Returns false if
 * that has failed, and another leaf may be tried.
 */
static bool
try_move_largest(MakeRoom *room, FpbShared *shared)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "fpbtree making room",
												  ALLOCSET_SMALL_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	bool		again = false;
	ErrorData  *error;

	fpb_batch_forget_failure();
	error = fpb_try(move_largest, room);
	if (error == NULL)
		fpb_shared_forget_failed_leaf(shared, FPB_METAPAGE);
	else
	{
		if (fpb_is_own_error(error->sqlerrcode))
			ReThrowError(error);

		/* what has failed elsewhere fails for every leaf of the queue */
		if (failed_leaf == InvalidBlockNumber)
			failed_noted = fpb_shared_note_failed_leaf(shared, FPB_METAPAGE);
		if (failed_noted == FPB_NOTED)
			warn_of_failure(room->ix, error);
		again = failed_leaf != InvalidBlockNumber && failed_noted != FPB_NOT_NOTED;
	}
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
	return !again;
}

/*
 * Make room in a leaf of the queue, that of a place: move what it has for the
 * main leaf for which it has most.  There may be none still, if others are
 * faster, or it can't be made.  No lock is held on entry or exit.  heap is the
 * index's table.
 */
void
fpb_batch_make_room(FpbIndex *ix, Relation heap, const FpbProbe *place)
{
	FpbShared  *shared = fpb_shared_of(RelationGetRelid(ix->rel));
	MakeRoom	room = {ix, heap, place};

	/* where there is nothing to note failures in, they are the caller's */
	if (shared == NULL)
		move_largest(&room);
	else if (!fpb_shared_is_failed_leaf(shared, FPB_METAPAGE))
		for (int tries = 0; tries < MAX_TRIES; tries++)
			if (try_move_largest(&room, shared))
				break;
}

/* so often the queue is gone round for what has come meanwhile */
#define MAX_ROUNDS		3

/*
 * Move what the queue's leaves have, once.
 */
static void
go_round(FpbBatch *batch, FpbShared *progress)
{
	FpbLeaves	walk;
	Buffer		buf;

	fpb_leaves_begin(&walk, &batch->queue);
	while (BufferIsValid(buf = fpb_leaves_next(&walk)))
	{
		(void) fpb_batch_take(batch, BufferGetPage(buf));
		fpb_leaves_leave(&walk, buf);
		CHECK_FOR_INTERRUPTS();
		fpb_batch_move(batch, FPB_MOVE_ALL);
		if (progress != NULL)
		{
			pg_atomic_fetch_add_u64(&progress->flush_done, 1);
			pg_atomic_write_u64(&progress->flush_moved, batch->moved);
		}
	}
	fpb_leaves_end(&walk);
}

/*
 * Take the queue away if there is nothing in it.
 */
static void
trim(void *arg)
{
	FpbBatch   *batch = arg;

	fpb_queue_trim(&batch->queue);
}

/*
 * Move all that is in the queue to the main tree, and take the queue away if
 * nothing is put into it meanwhile; a warning is given if that fails.  Returns
 * how many entries have moved.  No lock is held on entry or exit.  heap is the
 * index's table.  How far it is is told in *progress, unless that is NULL.
 */
int64
fpb_batch_update(FpbIndex *ix, Relation heap, FpbShared *progress)
{
	FpbBatch   *batch = fpb_batch_begin(ix, heap, false);
	ErrorData  *error;

	for (int round = 0; round < MAX_ROUNDS; round++)
	{
		int64		before = batch->moved;

		go_round(batch, progress);
		if (batch->moved == before)
			break;
	}
	error = fpb_try(trim, batch);
	if (error != NULL)
		fpb_warn_of(error, WARNING,
					psprintf("take away the operation queue of index \"%s\"",
							 RelationGetRelationName(ix->rel)),
					"Its entries have moved. The worker, and the next call, try this again.");
	return fpb_batch_end(batch);
}
