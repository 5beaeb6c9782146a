/*-------------------------------------------------------------------------
 *
 * queue/drain.c
 *	  Draining a tier of the operation queue: its entries are moved to the next
 *	  tier, or to the main tree.
 *
 * A drain (the batch update of pio-btree, 3.3) visits the tier's leaves in the
 * order of keys, and moves what a leaf has for a leaf of the other tree in one
 * visit to that.  The level above, as an internal jump-pointer array, names
 * the leaves that will be visited next, and these are prefetched (pio-btree,
 * 3.1).
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
 * If not all entries of a leaf have to be moved, one in so many are.  The
 * leaves that are left out have got more entries by the time that they are
 * visited.  So the fewer leaves are visited at a time, the more entries a
 * visit moves.
 */
#define MOVED_SHARE		3

/*
 * An insertion that needs room in the queue tries so many leaves if moving
 * entries there fails.
 */
#define MAX_TRIES	3

/*
 * So often room is made in a leaf of the next tier that is full.  Others may
 * take it.
 */
#define MAX_ROOM_MADE	3

/* a drain under way */
struct FpbDrain
{
	FpbIndex   *ix;
	FpbIndex	queue;			/* the tier to be drained */
	FpbIndex	lower;			/* the next one, if entries move to that */
	FpbWay		way;
	MemoryContext context;		/* lives as long as the drain */
	MemoryContext leaf_context; /* reset with each leaf of the queue */
	FpbShared  *shared;
	bool		leave_failed;	/* are leaves left out to which nothing could
								 * be moved? */
	bool		left;			/* has one been left out? */
	FpbWindow	window;			/* leaves being read that entries move to */
	FpbWalk		walk;			/* over the level that names them */
	Page		copy;			/* of the queue's leaf at hand */
	FpbEntry   *entries;		/* its entries; tuples in the copy */
	int			nentries;
	int			fullness;		/* what they take of the page, in percent */
	FpbVisit   *visits;			/* to be made, in order */
	int			nvisits;
	int64		moved;			/* entries moved so far */
	int64		to_main;		/* entries that have gone to the main tree:
								 * these, or those that made room for them */
};

/*
 * The last visit of this process that has failed: its leaf, as far as that is
 * known, and whether the failure has been noted in shared memory.
 */
static BlockNumber failed_leaf = InvalidBlockNumber;
static FpbNoted failed_noted = FPB_NOT_NOTED;

/*
 * Do the entries of the drain's tier move to the next one?  They do if the
 * index may have that.  It is made with the first visit, but not if the queue
 * is being emptied.  No page is locked.
 */
static bool
moves_to_tier(FpbDrain *drain, bool emptying)
{
	int			next = drain->queue.tree + 1;

	if (next == FPB_TREES || drain->queue.root == FPB_METAPAGE ||
		!fpb_may_have_tier(drain->ix, next))
		return false;
	fpb_index_of_tier(drain->ix, next, &drain->lower);
	return !emptying || drain->lower.root != FPB_METAPAGE;
}

/*
 * Begin a drain of a tier of the index's queue; heap is the index's table.
 * emptying: of all that the tier has.  leave_failed: don't visit leaves to
 * which nothing could be moved a short while ago, for example because they are
 * damaged.
 */
FpbDrain *
fpb_drain_begin(FpbIndex *ix, Relation heap, int tier, bool emptying, bool leave_failed)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "fpbtree drain",
												  ALLOCSET_DEFAULT_SIZES);
	FpbDrain   *drain = MemoryContextAllocZero(context, sizeof(FpbDrain));

	drain->ix = ix;
	fpb_index_refresh(ix);
	fpb_index_of_tier(ix, tier, &drain->queue);
	drain->way.queue = &drain->queue;
	drain->way.ix = ix;
	drain->way.heap = heap;
	fpb_filter_open(&drain->way.from_filter, ix->rel, tier, false);
	if (moves_to_tier(drain, emptying))
	{
		drain->way.ix = &drain->lower;
		fpb_filter_open(&drain->way.filter, ix->rel, tier + 1, true);
	}
	drain->context = context;
	drain->leaf_context = AllocSetContextCreate(context, "fpbtree drain leaf",
												ALLOCSET_DEFAULT_SIZES);
	drain->shared = drain->way.from_filter.shared;
	drain->leave_failed = leave_failed && drain->shared != NULL;
	fpb_window_init(&drain->window, context, ix->rel, fpb_pio_max);
	fpb_window_expect(&drain->window, true);
	drain->window.min_distance = drain->window.max_distance;
	fpb_walk_init(&drain->walk, context, drain->way.ix, 1);
	drain->copy = MemoryContextAllocAligned(context, BLCKSZ, PG_IO_ALIGN_SIZE, 0);
	drain->entries = MemoryContextAlloc(context, sizeof(FpbEntry) * FPB_MAX_PAGE_ENTRIES);
	drain->visits = MemoryContextAlloc(context, sizeof(FpbVisit) * FPB_MAX_PAGE_ENTRIES);
	return drain;
}

/*
 * End a drain; returns how many entries have moved.
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
 * The tier that a drain is about.
 */
FpbIndex *
fpb_drain_tree(FpbDrain *drain)
{
	return &drain->queue;
}

/*
 * Have entries been left in the tier because nothing could be moved to their
 * leaves a short while ago?
 */
bool
fpb_drain_has_left(const FpbDrain *drain)
{
	return drain->left;
}

/*
 * Forget a former failure, before something that may fail.
 */
void
fpb_drain_forget_failure(void)
{
	failed_leaf = InvalidBlockNumber;
	failed_noted = FPB_NOT_NOTED;
}

/*
 * An error has ended a drain.  If it came from a visit to a leaf, *leaf
 * becomes its block, otherwise InvalidBlockNumber.  Returns whether that leaf
 * has been noted as one to which nothing can be moved.
 */
FpbNoted
fpb_drain_failure(BlockNumber *leaf)
{
	*leaf = failed_leaf;
	return failed_noted;
}

/*
 * Take the entries of a leaf of the tier, which fpb_drain_move will move.  The
 * leaf is locked, and stays so.  Returns how many entries it has.
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
 * How full the leaf was whose entries have been taken, in percent.
 */
int
fpb_drain_fullness(const FpbDrain *drain)
{
	return drain->fullness;
}

/*
 * Most entries first.
 */
static int
compare_entries(const void *a, const void *b)
{
	return ((const FpbVisit *) b)->nentries - ((const FpbVisit *) a)->nentries;
}

/*
 * In the order of keys.
 */
static int
compare_places(const void *a, const void *b)
{
	return ((const FpbVisit *) a)->first - ((const FpbVisit *) b)->first;
}

/*
 * Keep only the visits with most entries: one of them, or as many as have
 * MOVED_SHARE of the entries between them.
 */
static void
choose_visits(FpbDrain *drain, FpbMoved which)
{
	int			least = which == FPB_MOVE_LARGEST ? 1 : drain->nentries;
	int			chosen = 0;
	int			nentries = 0;

	qsort(drain->visits, drain->nvisits, sizeof(FpbVisit), compare_entries);
	while (chosen < drain->nvisits && nentries * MOVED_SHARE < least)
		nentries += drain->visits[chosen++].nentries;
	drain->nvisits = chosen;
	qsort(drain->visits, drain->nvisits, sizeof(FpbVisit), compare_places);
}

static bool make_room(FpbDrain *drain, FpbSearchKey *place);

/*
 * Move what the tier has for the leaf of a visit's entries; and, if that leaf
 * is split, or has been since it was named, for its right halves.  No lock is
 * held on entry or exit.
 *
 * The entries belong to no more leaves than they are.  So a visit ends after
 * as many leaves to which nothing has moved: else comparators that contradict
 * each other could keep it going for ever.
 */
static void
visit(FpbDrain *drain, const FpbVisit *to)
{
	FpbWay	   *way = &drain->way;
	const FpbEntry *entries = drain->entries + to->first;
	FpbSearchKey place;
	int			nidle = 0;
	int			nfull = 0;
	bool		more = true;

	fpb_search_key_from(drain->ix, &entries[0].key, &place);
	while (more && nidle <= to->nentries)
	{
		FpbStack	stack;
		Buffer		buf;
		bool		noted = fpb_filter_noted(&way->from_filter, drain->ix->rel);
		int			moved;

		CHECK_FOR_INTERRUPTS();
		buf = fpb_descend(way->ix, &place, 0, false, BUFFER_LOCK_EXCLUSIVE, &stack);
		if (!BufferIsValid(buf))
		{
			/* the tier has not been made, or has been taken away */
			fpb_queue_begin(way->ix);
			continue;
		}
		if (drain->window.max_distance > 0)
			(void) fpb_window_reach(&drain->window, BufferGetBlockNumber(buf), false);
		moved = fpb_move_entries(way, buf, &stack, &place, &entries[to->nentries - 1].key,
								 noted, &more);
		if (moved == FPB_MOVE_AGAIN)
			continue;
		if (moved == FPB_MOVE_FULL)
		{
			if (nfull++ == MAX_ROOM_MADE || !make_room(drain, &place))
			{
				drain->left = true;
				return;
			}
			continue;
		}
		nidle += moved == 0;
		drain->moved += moved;
		if (way->ix->tree == FPB_MAIN_TREE)
			drain->to_main += moved;
		if (moved > 0 && drain->shared != NULL)
			fpb_shared_count_move(drain->shared, drain->queue.tree, way->ix->tree, moved);
	}
}

/*
 * Make a visit.  If that raises an error, note its leaf.  No lock is held on
 * entry or exit.
 */
static void
make_visit(FpbDrain *drain, const FpbVisit *to)
{
	PG_TRY();
	{
		visit(drain, to);
	}
	PG_CATCH();
	{
		/* it may have been noted where room was made */
		if (drain->shared != NULL && failed_leaf == InvalidBlockNumber &&
			!fpb_is_own_error(geterrcode()))
		{
			failed_leaf = to->leaf;
			failed_noted = fpb_shared_note_failed_leaf(drain->shared, to->leaf);
		}
		PG_RE_THROW();
	}
	PG_END_TRY();
	if (drain->shared != NULL)
		fpb_shared_forget_failed_leaf(drain->shared, to->leaf);
}

/*
 * Leave out leaves to which nothing could be moved a short while ago.
 */
static void
leave_failed_leaves(FpbDrain *drain)
{
	int			kept = 0;

	for (int i = 0; i < drain->nvisits; i++)
	{
		if (!fpb_shared_is_failed_leaf(drain->shared, drain->visits[i].leaf))
			drain->visits[kept++] = drain->visits[i];
	}
	drain->left = drain->left || kept < drain->nvisits;
	drain->nvisits = kept;
}

/*
 * Visit the leaves of the entries taken, all of them or those with most
 * entries, and move what the tier has for them.  No lock is held on entry or
 * exit.
 */
void
fpb_drain_move(FpbDrain *drain, FpbMoved which)
{
	MemoryContext old = MemoryContextSwitchTo(drain->leaf_context);
	int			announced = 0;

	drain->nvisits = fpb_find_visits(&drain->walk, drain->entries, drain->nentries, drain->visits);
	if (drain->leave_failed)
		leave_failed_leaves(drain);
	if (which != FPB_MOVE_ALL)
		choose_visits(drain, which);
	for (int i = 0; i < drain->nvisits; i++)
	{
		fpb_announce_visits(&drain->window, drain->visits, drain->nvisits, i, &announced);
		make_visit(drain, &drain->visits[i]);
	}
	fpb_window_reset(&drain->window, 0);
	MemoryContextSwitchTo(old);
	MemoryContextReset(drain->leaf_context);
}

/*
 * Move what the drain's tier has for one leaf, for which it has most, in its
 * leaf for a place.  No lock is held on entry or exit.
 */
static void
move_largest(FpbDrain *drain, FpbSearchKey *place)
{
	Buffer		buf = fpb_descend(&drain->queue, place, 0, false, BUFFER_LOCK_SHARE, NULL);

	if (!BufferIsValid(buf))
		return;
	(void) fpb_drain_take(drain, BufferGetPage(buf));
	fpb_relbuf(buf);
	fpb_drain_move(drain, FPB_MOVE_LARGEST);
}

/*
 * Make room in the leaf for a place of the tier that a drain's entries move
 * to.  Returns false if nothing could be moved from there.  No lock is held on
 * entry or exit.
 */
static bool
make_room(FpbDrain *drain, FpbSearchKey *place)
{
	FpbDrain   *below = fpb_drain_begin(drain->ix, drain->way.heap, drain->way.ix->tree,
										false, drain->leave_failed);

	move_largest(below, place);
	drain->to_main += below->to_main;
	return fpb_drain_end(below) > 0;
}

/* where room is to be made, in the queue of which index */
typedef struct MakeRoom
{
	FpbIndex   *ix;
	Relation	heap;
	FpbSearchKey *place;
} MakeRoom;

/*
 * Make room in tier 1's leaf for a place: move what it has for one leaf, for
 * which it has most.  Leaves to which nothing could be moved a short while ago
 * are left out.  No lock is held on entry or exit.
 */
static void
make_room_first(void *arg)
{
	MakeRoom   *room = arg;
	FpbDrain   *drain = fpb_drain_begin(room->ix, room->heap, 1, false, true);

	move_largest(drain, room->place);
	(void) fpb_drain_end(drain);
}

/*
 * Warn the user that room could not be made, because of an error that other
 * users' entries have caused.  The error's text may disclose these entries, so
 * it goes to the server's log alone.
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
 * make_room_first in a subtransaction, because it moves other users' entries,
 * and an error of theirs must not fail the insertion.  Returns false if it has
 * failed and another leaf may be tried.
 */
static bool
try_make_room(MakeRoom *room, FpbShared *shared)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "fpbtree making room",
												  ALLOCSET_SMALL_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	bool		again = false;
	ErrorData  *error;

	fpb_drain_forget_failure();
	error = fpb_try(make_room_first, room);
	if (error == NULL)
		fpb_shared_forget_failed_leaf(shared, FPB_METAPAGE);
	else
	{
		if (fpb_is_own_error(error->sqlerrcode))
			ReThrowError(error);

		/* a failure elsewhere concerns every leaf */
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
 * Make room in tier 1's leaf for a place: move what it has for one leaf, for
 * which it has most.  There may be no room afterwards, because others have
 * taken it, or because it can't be made.  No lock is held on entry or exit.
 * heap is the index's table.
 */
void
fpb_drain_make_room(FpbIndex *ix, Relation heap, FpbSearchKey *place)
{
	FpbShared  *shared = fpb_shared_of(RelationGetRelid(ix->rel));
	MakeRoom	room = {ix, heap, place};

	/* without shared memory to note failures in, errors are the caller's */
	if (shared == NULL)
		make_room_first(&room);
	else if (!fpb_shared_is_failed_leaf(shared, FPB_METAPAGE))
		for (int tries = 0; tries < MAX_TRIES; tries++)
			if (try_make_room(&room, shared))
				break;
}

/* rounds through a tier's leaves, for entries that come meanwhile */
#define MAX_ROUNDS		3

/*
 * Visit each leaf of the tier once and move what it has.  moved: how many
 * entries other drains have moved to the main tree.
 */
static void
go_round(FpbDrain *drain, FpbShared *progress, int64 moved)
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
			pg_atomic_write_u64(&progress->flush_moved, moved + drain->to_main);
		}
	}
	fpb_leaves_end(&walk);
}

/*
 * Remove the tier if there is nothing in it.
 */
static void
trim(void *arg)
{
	FpbDrain   *drain = arg;

	fpb_queue_trim(&drain->queue, true);
}

/*
 * Move all entries of a tier, and remove the tier if no others have come
 * meanwhile.  As below; moved: how many have moved to the main tree so far.
 * *left becomes true if some are left because the next tier is full.
 */
static int64
drain_tier(FpbIndex *ix, Relation heap, int tier, FpbShared *progress, int64 moved, bool *left)
{
	FpbDrain   *drain = fpb_drain_begin(ix, heap, tier, true, false);
	int64		to_main;
	ErrorData  *error;

	for (int round = 0; round < MAX_ROUNDS; round++)
	{
		int64		before = drain->moved;

		go_round(drain, progress, moved);
		if (drain->moved == before)
			break;
	}
	error = fpb_try(trim, drain);
	if (error != NULL)
		fpb_warn_of(error, WARNING,
					psprintf("take away the operation queue of index \"%s\"",
							 RelationGetRelationName(ix->rel)),
					"Its entries have moved. The worker, and the next call, try this again.");
	*left = *left || drain->left;
	to_main = drain->to_main;
	(void) fpb_drain_end(drain);
	return to_main;
}

/*
 * Move all entries of the queue to the main tree, and remove its tiers if no
 * others have come meanwhile.  If removing one fails, that is a warning.  heap
 * is the index's table.  Progress is noted in *progress, unless that is NULL.
 * No lock is held on entry or exit.
 *
 * What a tier had no room for moves once that has been emptied.
 *
 * Returns how many entries have moved to the main tree.
 */
int64
fpb_drain_queue(FpbIndex *ix, Relation heap, FpbShared *progress)
{
	int64		moved = 0;
	bool		left = true;

	for (int turn = 0; left && turn < FPB_TIERS; turn++)
	{
		left = false;
		for (int tier = 1; tier < FPB_TREES; tier++)
			moved += drain_tier(ix, heap, tier, progress, moved, &left);
	}
	return moved;
}
