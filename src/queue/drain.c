/*-------------------------------------------------------------------------
 *
 * queue/drain.c
 *	  Draining the operation queue: its entries are moved to the main tree.
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
struct FpbDrain
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
FpbDrain *
fpb_drain_begin(FpbIndex *ix, Relation heap, bool leave_failed)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "fpbtree batch update",
												  ALLOCSET_DEFAULT_SIZES);
	FpbDrain   *drain = MemoryContextAllocZero(context, sizeof(FpbDrain));

	drain->ix = ix;
	fpb_index_refresh(ix);
	fpb_index_of_queue(ix, &drain->queue);
	drain->heap = heap;
	drain->context = context;
	drain->leaf_context = AllocSetContextCreate(context, "fpbtree batch update leaf",
												ALLOCSET_DEFAULT_SIZES);
	fpb_filter_open(&drain->filter, ix->rel);
	drain->shared = drain->filter.shared;
	drain->leave_failed = leave_failed && drain->shared != NULL;
	fpb_window_init(&drain->window, context, ix->rel, fpb_pio_max);
	drain->window.min_distance = drain->window.max_distance;
	fpb_walk_init(&drain->walk, context, ix, 1);
	drain->copy = MemoryContextAllocAligned(context, BLCKSZ, PG_IO_ALIGN_SIZE, 0);
	drain->entries = MemoryContextAlloc(context, sizeof(FpbEntry) * FPB_MAX_PAGE_ENTRIES);
	drain->targets = MemoryContextAlloc(context, sizeof(Target) * FPB_MAX_PAGE_ENTRIES);
	return drain;
}

/*
 * End the update; returns how many entries have moved.
 */
int64
fpb_drain_end(FpbDrain *drain)
{
	int64		moved = drain->moved;

	fpb_window_end(&drain->window);
	fpb_prefetch_report(drain->ix->rel, false, &drain->window.counts);
	MemoryContextDelete(drain->context);
	return moved;
}

/*
 * The queue that a batch update is about.
 */
FpbIndex *
fpb_drain_tree(FpbDrain *drain)
{
	return &drain->queue;
}

/*
 * Have entries been left in the queue because nothing could be moved to their
 * main leaf a short while ago?
 */
bool
fpb_drain_has_left(const FpbDrain *drain)
{
	return drain->left;
}

/*
 * What follows has not failed yet.
 */
void
fpb_drain_forget_failure(void)
{
	failed_leaf = InvalidBlockNumber;
	failed_noted = FPB_NOT_NOTED;
}

/*
 * An error has ended a batch update: has it been noted that nothing can be
 * moved to a main leaf, *leaf?
 */
FpbNoted
fpb_drain_failure(BlockNumber *leaf)
{
	*leaf = failed_leaf;
	return failed_noted;
}

/*
 * Take the entries of a leaf of the queue, locked, as it stays, to be moved
 * next.  Returns how many there are.
 */
int
fpb_drain_take(FpbDrain *drain, Page page)
{
	FpbItem    *items = palloc(sizeof(FpbItem) * FPB_MAX_PAGE_ENTRIES);
	FpbPos		from = FPB_POS_FIRST;
	bool		more;

	memcpy(drain->copy, page, BLCKSZ);
	drain->nentries = fpb_page_read(&drain->queue, drain->copy, from, NULL, false, items,
									FPB_MAX_PAGE_ENTRIES, &more);
	for (int i = 0; i < drain->nentries; i++)
		drain->entries[i].key = items[i].key;
	drain->fullness = fpb_items_fullness(&drain->queue, items, drain->nentries);
	pfree(items);
	return drain->nentries;
}

/*
 * How full the leaf was from which they have been taken, in percent.
 */
int
fpb_drain_fullness(const FpbDrain *drain)
{
	return drain->fullness;
}

/*
 * Find out which main leaves the entries taken are for.
 */
static void
find_targets(FpbDrain *drain)
{
	int			next = 0;		/* the first entry behind those dealt with */

	drain->ntargets = 0;
	while (next < drain->nentries)
	{
		Target	   *target = &drain->targets[drain->ntargets++];
		FpbSearchKey search;

		CHECK_FOR_INTERRUPTS();
		target->first = next;
		target->leaf = InvalidBlockNumber;
		fpb_search_key_from(drain->ix, &drain->entries[next++].key, &search);
		if (fpb_walk_seek(&drain->walk, &search, false))
		{
			target->leaf = drain->walk.child.child;
			for (; next < drain->nentries; next++)
			{
				fpb_search_key_from(drain->ix, &drain->entries[next].key, &search);
				if (fpb_walk_compare_high(&drain->walk, &search) <= 0)
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
choose_targets(FpbDrain *drain, FpbMoved which)
{
	int			least = which == FPB_MOVE_LARGEST ? 1 : drain->nentries;
	int			chosen = 0;
	int			nentries = 0;

	qsort(drain->targets, drain->ntargets, sizeof(Target), compare_targets);
	while (chosen < drain->ntargets && nentries * MOVED_SHARE < least)
		nentries += drain->targets[chosen++].nentries;
	drain->ntargets = chosen;
	qsort(drain->targets, drain->ntargets, sizeof(Target), compare_places);
}

/*
 * Move what the queue has for the main leaf of an entry, and, if that is
 * split, for the leaves that come of it.  No lock is held on entry or exit.
 */
static void
visit(FpbDrain *drain, const FpbEntry *entry)
{
	FpbKey		at = entry->key;
	bool		more = true;

	while (more)
	{
		FpbSearchKey place;
		FpbStack	stack;
		Buffer		buf;
		bool		counted = fpb_filter_counted(&drain->filter, drain->ix->rel);
		int			moved;

		CHECK_FOR_INTERRUPTS();
		fpb_search_key_from(drain->ix, &at, &place);
		buf = fpb_descend(drain->ix, &place, 0, false, BUFFER_LOCK_EXCLUSIVE, &stack);
		if (drain->window.max_distance > 0)
			(void) fpb_window_reach(&drain->window, BufferGetBlockNumber(buf), false);
		moved = fpb_move_entries(drain->ix, drain->heap, buf, &stack, &place,
								 counted ? &drain->filter : NULL, &at, &more);
		if (moved < 0)
			continue;
		drain->moved += moved;
		if (moved > 0 && drain->shared != NULL)
			fpb_shared_count_visit(drain->shared, moved);
	}
}

/*
 * Visit a target.  If that fails, its leaf is noted.  No lock is held on entry
 * or exit.
 */
static void
visit_target(FpbDrain *drain, const Target *target)
{
	PG_TRY();
	{
		visit(drain, &drain->entries[target->first]);
	}
	PG_CATCH();
	{
		if (drain->shared != NULL && !fpb_is_own_error(geterrcode()))
		{
			failed_leaf = target->leaf;
			failed_noted = fpb_shared_note_failed_leaf(drain->shared, target->leaf);
		}
		PG_RE_THROW();
	}
	PG_END_TRY();
	if (drain->shared != NULL)
		fpb_shared_forget_failed_leaf(drain->shared, target->leaf);
}

/*
 * Leave out the targets to which nothing could be moved a short while ago.
 */
static void
leave_failed_targets(FpbDrain *drain)
{
	int			kept = 0;

	for (int i = 0; i < drain->ntargets; i++)
	{
		if (!fpb_shared_is_failed_leaf(drain->shared, drain->targets[i].leaf))
			drain->targets[kept++] = drain->targets[i];
	}
	drain->left = drain->left || kept < drain->ntargets;
	drain->ntargets = kept;
}

/*
 * Move the entries taken, a visit to each of their main leaves; or, unless all
 * are to be moved, those for which a visit is worth most.  What has come to
 * the queue meanwhile is left for another time.  No lock is held on entry or
 * exit.
 */
void
fpb_drain_move(FpbDrain *drain, FpbMoved which)
{
	MemoryContext old = MemoryContextSwitchTo(drain->leaf_context);
	int			announced = 0;

	find_targets(drain);
	if (drain->leave_failed)
		leave_failed_targets(drain);
	if (which != FPB_MOVE_ALL)
		choose_targets(drain, which);
	for (int i = 0; i < drain->ntargets; i++)
	{
		/* what is announced still is of no use: such leaves have been split */
		if (announced <= i)
			fpb_window_reset(&drain->window);
		while (announced < drain->ntargets &&
			   (announced <= i || fpb_window_wants(&drain->window)))
		{
			Target	   *target = &drain->targets[announced++];

			/* (a single one is read where it is visited) */
			if (drain->window.max_distance > 0 && drain->ntargets > 1 &&
				target->leaf != InvalidBlockNumber)
				fpb_window_add(&drain->window, target->leaf, 0);
		}
		fpb_window_start(&drain->window);
		visit_target(drain, &drain->targets[i]);
	}
	fpb_window_reset(&drain->window);
	MemoryContextSwitchTo(old);
	MemoryContextReset(drain->leaf_context);
}

/* whose room is to be made, and where */
typedef struct MakeRoom
{
	FpbIndex   *ix;
	Relation	heap;
	const FpbSearchKey *place;
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
	FpbDrain   *drain = fpb_drain_begin(room->ix, room->heap, true);
	Buffer		buf = fpb_descend(&drain->queue, room->place, 0, false,
								  BUFFER_LOCK_SHARE, NULL);

	if (BufferIsValid(buf))
	{
		(void) fpb_drain_take(drain, BufferGetPage(buf));
		fpb_relbuf(buf);
		fpb_drain_move(drain, FPB_MOVE_LARGEST);
	}
	(void) fpb_drain_end(drain);
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

	fpb_drain_forget_failure();
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
fpb_drain_make_room(FpbIndex *ix, Relation heap, const FpbSearchKey *place)
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
go_round(FpbDrain *drain, FpbShared *progress)
{
	FpbLeaves	walk;
	Buffer		buf;

	fpb_leaves_begin(&walk, &drain->queue);
	while (BufferIsValid(buf = fpb_leaves_next(&walk)))
	{
		(void) fpb_drain_take(drain, BufferGetPage(buf));
		fpb_leaves_leave(&walk, buf);
		CHECK_FOR_INTERRUPTS();
		fpb_drain_move(drain, FPB_MOVE_ALL);
		if (progress != NULL)
		{
			pg_atomic_fetch_add_u64(&progress->flush_done, 1);
			pg_atomic_write_u64(&progress->flush_moved, drain->moved);
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
	FpbDrain   *drain = arg;

	fpb_queue_trim(&drain->queue);
}

/*
 * Move all that is in the queue to the main tree, and take the queue away if
 * nothing is put into it meanwhile; a warning is given if that fails.  Returns
 * how many entries have moved.  No lock is held on entry or exit.  heap is the
 * index's table.  How far it is is told in *progress, unless that is NULL.
 */
int64
fpb_drain_queue(FpbIndex *ix, Relation heap, FpbShared *progress)
{
	FpbDrain   *drain = fpb_drain_begin(ix, heap, false);
	ErrorData  *error;

	for (int round = 0; round < MAX_ROUNDS; round++)
	{
		int64		before = drain->moved;

		go_round(drain, progress);
		if (drain->moved == before)
			break;
	}
	error = fpb_try(trim, drain);
	if (error != NULL)
		fpb_warn_of(error, WARNING,
					psprintf("take away the operation queue of index \"%s\"",
							 RelationGetRelationName(ix->rel)),
					"Its entries have moved. The worker, and the next call, try this again.");
	return fpb_drain_end(drain);
}
