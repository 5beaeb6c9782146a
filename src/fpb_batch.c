/*-------------------------------------------------------------------------
 *
 * fpb_batch.c
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

#include "fpb_ahead.h"
#include "fpb_shared.h"
#include "fpb_write.h"

/*
 * One in so many of a leaf's entries are moved where not all have to be.
 * Those main leaves that are not visited then will have got more by the time
 * they are: the fewer are, the more entries a visit.
 */
#define MOVED_SHARE		3

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
 * Get ready to move entries of the queue; heap is the index's table.
 */
FpbBatch *
fpb_batch_begin(FpbIndex *ix, Relation heap)
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
 * Take the entries of a leaf of the queue, locked, as it stays, to be moved
 * next.  Returns the first one's key, in memory of the batch's, or NULL.
 */
const FpbKey *
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
	return batch->nentries == 0 ? NULL : &batch->entries[0].key;
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
		visit(batch, &batch->entries[batch->targets[i].first]);
	}
	fpb_window_reset(&batch->window);
	MemoryContextSwitchTo(old);
	MemoryContextReset(batch->leaf_context);
}

/*
 * Make room in a leaf of the queue, that of a place: move what it has for the
 * main leaf for which it has most.  There may be none still, if others are
 * faster.  No lock is held on entry or exit.  heap is the index's table.
 */
void
fpb_batch_make_room(FpbIndex *ix, Relation heap, const FpbProbe *place)
{
	FpbBatch   *batch = fpb_batch_begin(ix, heap);
	Buffer		buf = fpb_descend(&batch->queue, place, 0, false,
								  BUFFER_LOCK_SHARE, NULL);

	if (BufferIsValid(buf))
	{
		(void) fpb_batch_take(batch, BufferGetPage(buf));
		fpb_relbuf(buf);
		fpb_batch_move(batch, FPB_MOVE_LARGEST);
	}
	(void) fpb_batch_end(batch);
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
 * Move all that is in the queue to the main tree, and take the queue away if
 * nothing is put into it meanwhile.  Returns how many entries have moved.  No
 * lock is held on entry or exit.  heap is the index's table.  How far it is is
 * told in *progress, unless that is NULL.
 */
int64
fpb_batch_update(FpbIndex *ix, Relation heap, FpbShared *progress)
{
	FpbBatch   *batch = fpb_batch_begin(ix, heap);

	for (int round = 0; round < MAX_ROUNDS; round++)
	{
		int64		before = batch->moved;

		go_round(batch, progress);
		if (batch->moved == before)
			break;
	}
	fpb_queue_trim(&batch->queue);
	return fpb_batch_end(batch);
}
