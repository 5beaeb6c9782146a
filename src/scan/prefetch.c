/*-------------------------------------------------------------------------
 *
 * scan/prefetch.c
 *	  What a scan prefetches: leaves, and pages of the table.
 *
 * Leaves.  A scan that has had to wait for a page of the index prefetches the
 * leaves that it will come to, in the order in which the pages above name them
 * (prefetch/jump_pointers.c).  It leaves out a leaf that none of its ranges
 * reaches into.  So it reads nothing beyond the end of the last range, and a
 * search for many keys reads the leaves of several at a time.  Such a search
 * prefetches the parents of leaves, too.
 *
 * Pages of the table.  The scan prefetches them only after some have had to be
 * read.  The TIDs of the leaf at hand say which pages come next; when they run
 * out, the scan peeks at the next leaves for more.
 *
 * When pages have been in memory time after time, the scan stops looking ahead
 * until one is not, so that a scan of what is in memory has no work with this.
 *
 * A scan that stops early has read too much.  If nothing would stop it, as the
 * plan shows (scan/read_all.c), it prefetches from its second leaf on, and at
 * once as many pages as may be read at a time.  If something may, it does so
 * from its third leaf on, and no more pages than it has come to before.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/visibilitymap.h"
#include "access/xlog.h"
#include "miscadmin.h"
#include "utils/memutils.h"
#include "utils/spccache.h"

#include "scan/scan.h"

/*
 * After so many leaves in succession that had not been announced, those
 * announced are not where the scan is: they are forgotten.
 */
#define MAX_MISSED		8

/*
 * After so many pages of the index, or of the table, that were in memory, the
 * scan stops looking ahead until one is not.
 */
#define IDLE_PAGES		64

/* so many leaves of a scan that may stop early are read before any is prefetched */
#define FIRST_LEAVES	2

/* at most so many leaves are peeked at before the scan comes to them */
#define MAX_PEEKED		64

/* pages announced lately, so as not to announce them again */
#define NRECENT			64

/*
 * A walk over pages of a level that the scan's ranges reach into.
 */
typedef struct RangeWalk
{
	FpbWalk		walk;
	enum
	{
		WALK_NEW,				/* not begun */
		WALK_GOING,				/* the child at hand is to be announced */
		WALK_ENDED				/* there are no more */
	}			phase;
	FpbKeyRange range;			/* that the walk is in */
	uint64		number;			/* of the child, as FpbScan's leaf_number */
} RangeWalk;

/*
 * The state of a scan's prefetch.
 */
typedef struct FpbPrefetchState
{
	/* leaves */
	FpbWindow	leaves;
	bool		leaves_ready;	/* is that initialized? */
	bool		many;			/* for more than one range */
	bool		forward;
	int			nmissed;		/* leaves not announced, in succession */
	RangeWalk	leaf_walk;

	/* parents of leaves, if there is more than one range */
	FpbWindow	parents;
	RangeWalk	parent_walk;

	/* the table */
	FpbWindow	heap;
	bool		heap_ready;
	bool		heap_forward;
	BlockNumber heap_at;		/* page of the entry handed out last */
	int			item;			/* the next to look at of the scan's page */
	BlockNumber recent[NRECENT];

	/*
	 * The leaves peeked at, oldest first, in a ring, and what has been read
	 * of the last one.  The TIDs of the others have all been announced.
	 */
	uint32		peeked_head;
	uint32		peeked_tail;
	BlockNumber peeked[MAX_PEEKED];
	FpbScanPage *peek;
	FpbKeyRange peek_range;		/* the range read last */
	Page		aside;			/* memory for a page read past the buffers */
	BlockNumber aside_failed;	/* the last one that was of no use */
	int			peek_item;		/* the next to look at */
} FpbPrefetchState;

/*
 * The scan's state, made if need be.
 */
static FpbPrefetchState *
get_state(FpbScan *so)
{
	if (so->prefetch.state == NULL)
		so->prefetch.state = MemoryContextAllocZero(so->cxt, sizeof(FpbPrefetchState));
	return so->prefetch.state;
}

/*
 * Will the scan come to all that there is for it?  A bitmap scan does, and so
 * does a batch of a nested loop.
 */
static bool
reads_all(IndexScanDesc scan, FpbScan *so)
{
	return scan->heapRelation == NULL || so->prefetch.all_wanted ||
		(scan->parallel_scan == NULL && fpb_will_read_all(scan, &so->prefetch));
}

/*
 * May the scan prefetch leaves, if it has had to wait for pages of the index?
 */
bool
fpb_scan_may_prefetch_leaves(IndexScanDesc scan, FpbScan *so)
{
	return so->prefetch.nleaves >= FIRST_LEAVES ||
		(so->prefetch.nleaves > 0 && reads_all(scan, so));
}

/* --- leaves --- */

/*
 * Begin a walk where the scan reads next.
 */
static void
begin_walk(FpbScan *so, RangeWalk *rw, bool forward)
{
	FpbKeyRange *range = &rw->range;
	FpbSearchKey search;
	bool		found;

	fpb_key_range_set(&so->keys, range, so->cursor.at.range);
	rw->number = so->cursor.leaf_number;
	if (so->cursor.at.inside)
	{
		fpb_place_search_key(&so->ix, &so->cursor.at.key, &search);
		found = fpb_walk_seek(&rw->walk, &search, !forward);
	}
	else if (forward ? range->has_lower : range->has_upper)
		found = fpb_walk_seek(&rw->walk, forward ? &range->lower : &range->upper,
							  !forward);
	else
		found = fpb_walk_seek_edge(&rw->walk, !forward);
	rw->phase = found ? WALK_GOING : WALK_ENDED;
}

/*
 * Go on within the range to the next page in a direction, or to the one that
 * the scan leaps to from the fence between the two.  *over: nothing more of
 * the range will be read; then nothing has been done.  False if there is no
 * such page.
 */
static bool
walk_on(FpbScanKeys *keys, RangeWalk *rw, bool forward, bool *over)
{
	FpbTupleSpace space;
	FpbSearchKey place;
	FpbKey		fence = rw->walk.child.key;

	*over = false;
	if (keys->leaps && (!forward || fpb_walk_high(&rw->walk, &fence)))
	{
		switch (fpb_keys_leap(keys, &fence, true, forward, &space, &place))
		{
			case FPB_LEAP_NOT:
				break;
			case FPB_LEAP_TO:
				return fpb_walk_seek(&rw->walk, &place, !forward);
			case FPB_LEAP_OVER:
				*over = true;
				return false;
		}
	}
	return fpb_walk_step(&rw->walk, forward);
}

/*
 * Go on to the next page to the right that a range reaches into.  This is what
 * read_ranges in scan/read_ranges.c does with leaves, by fences alone.
 */
static bool
walk_right(FpbScanKeys *keys, RangeWalk *rw)
{
	FpbKeyRange *range = &rw->range;
	FpbKey		high;
	int64		next;

	for (;;)
	{
		if (!range->has_upper ||
			fpb_walk_compare_high(&rw->walk, &range->upper) < 0)
		{
			bool		over;
			bool		found = walk_on(keys, rw, true, &over);

			if (!over)
				return found;
		}

		/* the range ends here: which is the first that goes on after it? */
		if (range->number + 1 >= keys->nranges || !fpb_walk_high(&rw->walk, &high))
			return false;
		next = fpb_keys_seek(keys, &high, true, range);
		next = Max(next, range->number + 1);
		if (next >= keys->nranges)
			return false;
		fpb_key_range_set(keys, range, next);
		if (range->has_lower &&
			fpb_walk_compare_high(&rw->walk, &range->lower) <= 0)
			return fpb_walk_seek(&rw->walk, &range->lower, false);
	}
}

/*
 * Go one leaf to the left from the one that the walk is at, in which rw->range
 * has entries: to the leaf before it if the range begins further left, else to
 * the one in which the nearest range before it ends, as read_backward finds
 * it.  Sets rw->range accordingly.  False if there is no such leaf.
 */
static bool
walk_left(FpbScanKeys *keys, RangeWalk *rw)
{
	FpbKeyRange *range = &rw->range;
	int64		next;

	if (!range->has_lower || fpb_walk_compare_low(&rw->walk, &range->lower) > 0)
	{
		bool		over;
		bool		found = walk_on(keys, rw, false, &over);

		if (!over)
			return found;
	}

	/* the range begins here: which is the last that begins before? */
	if (range->number == 0)
		return false;
	next = fpb_keys_seek(keys, &rw->walk.child.key, true, NULL);
	next = Min(next, range->number - 1);
	for (;;)
	{
		bool		over = false;
		bool		found = false;

		fpb_key_range_set(keys, range, next);
		if (range->has_upper &&
			fpb_walk_compare_low(&rw->walk, &range->upper) >= 0)
			return fpb_walk_seek(&rw->walk, &range->upper, true);
		if (!range->has_lower ||
			fpb_walk_compare_low(&rw->walk, &range->lower) > 0)
			found = walk_on(keys, rw, false, &over);
		else
			over = true;
		if (!over)
			return found;
		if (--next < 0)
			return false;
	}
}

/*
 * Announce the pages of a walk as long as the window wants more, and start
 * reading them.  Pages whose numbers are below from are left out: others have
 * announced them.  parents: the window of the pages that the walk itself
 * reads, or NULL.
 */
static void
fill_window(FpbScan *so, FpbWindow *window, RangeWalk *rw, bool forward,
			FpbWindow *parents, uint64 from)
{
	if (rw->phase == WALK_NEW)
	{
		begin_walk(so, rw, forward);
		window->to_the_end = so->keys.nranges == 1 && !so->keys.leaps &&
			!(forward ? rw->range.has_upper : rw->range.has_lower);
	}
	for (; rw->phase == WALK_GOING && fpb_window_wants(window); rw->number++)
	{
		BlockNumber parent = rw->walk.block;

		CHECK_FOR_INTERRUPTS();
		if (rw->number >= from)
			fpb_window_add(window, rw->walk.child.child, rw->number);
		if (!(forward ? walk_right(&so->keys, rw) : walk_left(&so->keys, rw)))
			rw->phase = WALK_ENDED;
		if (parents != NULL && parent != rw->walk.block)
			fpb_window_reach(parents, rw->walk.block, false);
	}
	fpb_window_start(window);
}

/*
 * How many leaves a search for many keys may announce at a time: those being
 * read, and those peeked at, whose TIDs' pages of the table are being read.
 */
static int
many_distance(IndexScanDesc scan, FpbScan *so)
{
	int			distance = fpb_pio_max;

	if (distance < 0)
		distance = get_tablespace_io_concurrency(so->ix.rel->rd_rel->reltablespace);
	if (distance > 0 && so->prefetch.heap_allowed)
	{
		if (fpb_prefetch_heap_distance > 0)
			distance += fpb_prefetch_heap_distance;
		else
			distance += get_tablespace_io_concurrency(scan->heapRelation->rd_rel->reltablespace);
	}
	return Min(distance, FPB_MAX_DISTANCE);
}

/*
 * Set up the windows and walks of the leaves and their parents for this kind
 * of search.
 */
static void
init_leaves(IndexScanDesc scan, FpbScan *so, FpbPrefetchState *ps)
{
	Relation	rel = so->ix.rel;

	if (ps->leaves_ready)
	{
		fpb_window_end(&ps->leaves);
		fpb_window_end(&ps->parents);
		fpb_prefetch_report(rel, false, &ps->leaves.counts);
		fpb_prefetch_report(rel, false, &ps->parents.counts);
	}
	else
	{
		fpb_walk_init(&ps->leaf_walk.walk, so->cxt, &so->ix, 1);
		fpb_walk_init(&ps->parent_walk.walk, so->cxt, &so->ix, 2);
	}
	ps->many = so->keys.nranges > 1;
	fpb_window_init(&ps->leaves, so->cxt, rel,
					ps->many ? many_distance(scan, so) : fpb_prefetch_distance);

	/* a leaf may have but one TID, so more of them are peeked at */
	if (ps->many && so->prefetch.heap_allowed)
		ps->leaves.min_distance = ps->leaves.max_distance;
	fpb_window_init(&ps->parents, so->cxt, rel, ps->many ? fpb_pio_max : 0);

	ps->leaves.nused = ps->parents.nused = (int) Min(so->prefetch.nleaves, FPB_MAX_DISTANCE);
	ps->leaves_ready = true;
}

/*
 * Forget the leaves announced.
 */
static void
forget_leaves(FpbScan *so, FpbPrefetchState *ps)
{
	int			nused = (int) Min(so->prefetch.nleaves, FPB_MAX_DISTANCE);

	fpb_window_reset(&ps->leaves, nused);
	fpb_window_reset(&ps->parents, nused);
	ps->leaf_walk.phase = ps->parent_walk.phase = WALK_NEW;
	ps->nmissed = 0;
}

/*
 * The scan is about to read the leaf at the cursor's edge, or, if it is a
 * parallel one, has just read it: see to it that this and those after it are
 * being read.  No lock is held on entry or exit.
 */
void
fpb_scan_prefetch_leaves(IndexScanDesc scan, FpbScan *so, bool forward)
{
	FpbPrefetchState *ps = get_state(so);
	bool		parallel = scan->parallel_scan != NULL;

	if (!ps->leaves_ready || ps->many != (so->keys.nranges > 1))
		init_leaves(scan, so, ps);
	if (ps->leaves.max_distance == 0)
		return;

	if (ps->leaves.idle >= IDLE_PAGES)
	{
		forget_leaves(so, ps);
		so->prefetch.leaves_on = false;
		if (parallel)
			fpb_parallel_retract(scan);
		return;
	}
	if (ps->nmissed >= MAX_MISSED || ps->forward != forward)
		forget_leaves(so, ps);
	ps->forward = forward;
	fpb_window_expect(&ps->leaves, reads_all(scan, so));
	fpb_window_expect(&ps->parents, reads_all(scan, so));
	if (parallel)
		ps->leaves.nused = ps->parents.nused = (int) Min(so->cursor.leaf_number + 1, FPB_MAX_DISTANCE);
	if (ps->many && ps->parents.max_distance > 0 &&
		fpb_window_due(&ps->parents))
		fill_window(so, &ps->parents, &ps->parent_walk, forward, NULL, 0);
	if (fpb_window_due(&ps->leaves))
	{
		fill_window(so, &ps->leaves, &ps->leaf_walk, forward,
					ps->many ? &ps->parents : NULL,
					parallel ? Max(fpb_parallel_announced(scan), so->cursor.leaf_number) : 0);
		if (parallel)
			fpb_parallel_announce(scan, ps->leaf_walk.number);
	}
}

/* --- the table --- */

/*
 * Forget the leaves peeked at.
 */
static void
forget_peeked(FpbPrefetchState *ps)
{
	ps->peeked_head = ps->peeked_tail = 0;
}

/*
 * Begin to prefetch pages of the table, from the entry handed out last.
 */
static void
begin_heap(IndexScanDesc scan, FpbScan *so, FpbPrefetchState *ps, bool forward)
{
	if (!ps->heap_ready)
	{
		fpb_window_init(&ps->heap, so->cxt, scan->heapRelation,
						fpb_prefetch_heap_distance);
		ps->heap_ready = true;
	}
	fpb_window_reset(&ps->heap, 1);
	forget_peeked(ps);
	for (int i = 0; i < NRECENT; i++)
		ps->recent[i] = InvalidBlockNumber;
	ps->heap_forward = forward;
	ps->heap_at = InvalidBlockNumber;
	ps->aside_failed = InvalidBlockNumber;
	ps->item = so->cursor.page->current + (forward ? 1 : -1);
	so->prefetch.heap_on = ps->heap.max_distance > 0;
	so->prefetch.heap_allowed = so->prefetch.heap_on;
}

/*
 * Is this an edge amid the leaf that the scan has read a part of?  The leaf is
 * in memory then.
 */
static inline bool
is_amid_leaf(const FpbScanEdge *at)
{
	return at->inside && at->same_leaf;
}

/*
 * Read the leaf at *at, the n'th to come, into ps->peek.  False if there is
 * none, or if it has not arrived yet: the scan would have to wait for it, and
 * would raise its error, if it can't be read, before it has handed out the
 * entries in front of it.
 *
 * Where no leaves are prefetched, all of the index seems to be in memory.
 * Where the kernel is advised to read them, nothing tells whether it has read
 * this one.  Because it is the first of those announced, the kernel most
 * likely has, and we read it aside.  Somebody may be writing it at the same
 * time, so half of what we get may be old and half new.  Only a checksum tells
 * that.  Without one, a word read wrongly does no harm here, but a comparator
 * must not be given a tuple that is none: so we leave tuples alone then.
 */
static bool
peek_at(IndexScanDesc scan, FpbScan *so, FpbPrefetchState *ps,
		const FpbScanEdge *at, uint32 n)
{
	FpbPeek		peek = {.at = at,.forward = ps->heap_forward,.range = &ps->peek_range,.sp = ps->peek};
	BlockNumber block = InvalidBlockNumber;

	if (is_amid_leaf(at))
		return fpb_scan_peek(scan, so, &peek);
	if (so->prefetch.leaves_on)
		block = fpb_window_block(&ps->leaves, n);
	if (block == InvalidBlockNumber && at->inside && peek.forward)
		block = at->right;
	if (block == InvalidBlockNumber ? !so->prefetch.leaves_on :
		fpb_window_at_hand(so->ix.rel, block))
		return fpb_scan_peek(scan, so, &peek);

	if (block == InvalidBlockNumber || block == ps->aside_failed ||
		!so->prefetch.leaves_on || !fpb_window_is_advice(&ps->leaves) ||
		!(fpb_is_word(&so->ix) || DataChecksumsEnabled()))
		return false;
	if (ps->aside == NULL)
		ps->aside = MemoryContextAllocAligned(so->cxt, BLCKSZ,
											  PG_IO_ALIGN_SIZE, 0);
	if (fpb_window_read_aside(so->ix.rel, block, ps->aside) &&
		fpb_header_fault(&so->ix, ps->aside) == NULL &&
		fpb_page_fault(&so->ix, ps->aside) == NULL)
	{
		peek.copy = ps->aside;
		peek.block = block;
		if (fpb_scan_peek(scan, so, &peek))
			return true;
	}
	ps->aside_failed = block;
	return false;
}

/*
 * Peek at the leaf after those known.  False if there is none, or if the scan
 * would have to wait for it.
 */
static bool
peek_further(IndexScanDesc scan, FpbScan *so, FpbPrefetchState *ps)
{
	uint32		npeeked = ps->peeked_tail - ps->peeked_head;
	bool		forward = ps->heap_forward;
	FpbScanPage *last = npeeked > 0 ? ps->peek : so->cursor.page;
	const FpbScanEdge *next = forward ? &last->after : &last->before;
	FpbScanEdge at;

	if ((!is_amid_leaf(next) && !fpb_scan_may_prefetch_leaves(scan, so)) ||
		scan->parallel_scan != NULL || npeeked >= MAX_PEEKED)
		return false;
	if (ps->peek == NULL)
	{
		ps->peek = MemoryContextAlloc(so->cxt, sizeof(FpbScanPage));
		fpb_scan_page_init(ps->peek);
	}

	/* reading into ps->peek overwrites its edges */
	memset(&at, 0, sizeof(at));
	fpb_edge_copy(so, &at, next);
	if (peek_at(scan, so, ps, &at, npeeked))
	{
		ps->peeked[ps->peeked_tail++ % MAX_PEEKED] = ps->peek->block;
		ps->peek_item = forward ? 0 : ps->peek->nitems - 1;
		npeeked++;
	}
	else
		npeeked = 0;
	if (at.key.tuple != NULL)
		pfree(at.key.tuple);
	return npeeked > 0;
}

/*
 * The page of the table that the next entry not looked at yet points to.
 */
static bool
next_heap_page(IndexScanDesc scan, FpbScan *so, FpbPrefetchState *ps,
			   BlockNumber *block)
{
	int			step = ps->heap_forward ? 1 : -1;

	for (;;)
	{
		const FpbItem *item;
		ItemPointerData tid;

		if (ps->item >= 0 && ps->item < so->cursor.page->nitems)
		{
			item = &so->cursor.page->items[ps->item];
			ps->item += step;
		}
		else if (ps->peeked_head != ps->peeked_tail && ps->peek_item >= 0 &&
				 ps->peek_item < ps->peek->nitems)
		{
			item = &ps->peek->items[ps->peek_item];
			ps->peek_item += step;
		}
		else if (peek_further(scan, so, ps))
			continue;
		else
			return false;
		fpb_tail_tid(item->key.tail, &tid);
		*block = ItemPointerGetBlockNumber(&tid);
		return true;
	}
}

/*
 * Announce pages of the table as long as the window wants more, and start
 * reading them.  Index-only scans need those that are not all-visible.  A page
 * that becomes all-visible afterwards is read in vain; one that ceases to be
 * is not prefetched.
 */
static void
fill_heap(IndexScanDesc scan, FpbScan *so, FpbPrefetchState *ps)
{
	BlockNumber last = InvalidBlockNumber;
	Buffer		vmbuffer = InvalidBuffer;
	BlockNumber block;

	while (fpb_window_wants(&ps->heap) && next_heap_page(scan, so, ps, &block))
	{
		CHECK_FOR_INTERRUPTS();
		if (block == last || ps->recent[block % NRECENT] == block)
			continue;
		last = block;
		if (scan->xs_want_itup &&
			VM_ALL_VISIBLE(scan->heapRelation, block, &vmbuffer))
		{
			if (++ps->heap.idle >= IDLE_PAGES)
				break;
			continue;
		}
		ps->recent[block % NRECENT] = block;
		fpb_window_add(&ps->heap, block, 0);
	}
	if (BufferIsValid(vmbuffer))
		ReleaseBuffer(vmbuffer);
	fpb_window_start(&ps->heap);
}

/*
 * The scan is about to hand out the page's current entry, and pages of the
 * table have had to be read for entries before it, or are being prefetched:
 * see to it that those of the entries after it are being read.  No lock is
 * held on entry or exit.
 */
void
fpb_scan_prefetch_heap(IndexScanDesc scan, FpbScan *so, bool forward)
{
	FpbPrefetchState *ps;
	ItemPointerData tid;
	BlockNumber block;

	fpb_tail_tid(so->cursor.page->items[so->cursor.page->current].key.tail, &tid);
	block = ItemPointerGetBlockNumber(&tid);

	/* another row of the page that has been read: it may be the last one */
	if (!so->prefetch.heap_on && block == fpb_fetched_block(scan))
		return;

	ps = get_state(so);
	if (!so->prefetch.heap_on || ps->heap_forward != forward)
		begin_heap(scan, so, ps, forward);
	if (so->prefetch.heap_on)
	{
		if (block != ps->heap_at)
			fpb_window_reach(&ps->heap, block, false);
		ps->heap_at = block;
		fpb_window_expect(&ps->heap, reads_all(scan, so));
		if (fpb_window_due(&ps->heap))
		{
			fill_heap(scan, so, ps);
			so->prefetch.heap_on = ps->heap.idle < IDLE_PAGES;
		}
	}
	so->prefetch.blocks_read = fpb_blocks_read();
}

/* --- the scan's movements --- */

/*
 * The scan has read a leaf into the cursor's page.  It may hold nothing for
 * the scan.
 */
void
fpb_scan_prefetch_come(IndexScanDesc scan, FpbScan *so, bool forward)
{
	FpbPrefetchState *ps = so->prefetch.state;
	FpbScanPage *sp = so->cursor.page;

	if (so->prefetch.leaves_on && ps->leaves.max_distance > 0 &&
		!is_amid_leaf(&so->cursor.at))
	{
		bool		parallel = scan->parallel_scan != NULL;

		if (fpb_window_reach(&ps->leaves, sp->block, parallel))
			ps->nmissed = 0;
		else if (parallel)
			fpb_window_pass(&ps->leaves, so->cursor.leaf_number);
		else
			ps->nmissed++;
	}
	if (!so->prefetch.heap_on)
		return;

	ps->item = forward ? 0 : sp->nitems - 1;
	for (uint32 i = ps->peeked_head; i != ps->peeked_tail; i++)
	{
		if (ps->peeked[i % MAX_PEEKED] == sp->block)
		{
			ps->peeked_head = i + 1;
			if (ps->peeked_head != ps->peeked_tail)
				ps->item = -1;	/* all of it has been announced */
			else
				ps->item = ps->peek_item;
			return;
		}
	}
	forget_peeked(ps);
}

/*
 * The scan is about to wait for another process: see to it that this one does
 * not wait for reads that the scan has started.
 */
void
fpb_scan_prefetch_serve(FpbScan *so)
{
	FpbPrefetchState *ps = so->prefetch.state;

	if (ps->leaves_ready)
	{
		fpb_window_serve(&ps->leaves);
		fpb_window_serve(&ps->parents);
	}
	if (ps->heap_ready)
		fpb_window_serve(&ps->heap);
}

/*
 * The scan starts again.  If it has needed what it prefetched, then it will do
 * so this time, presumably: the windows stay.
 */
void
fpb_scan_prefetch_rescan(FpbScan *so)
{
	FpbPrefetchState *ps = so->prefetch.state;

	if (ps->leaves_ready && ps->leaves.max_distance > 0)
		forget_leaves(so, ps);
	if (ps->heap_ready && ps->heap.max_distance > 0)
		fpb_window_reset(&ps->heap, 0);
	so->prefetch.heap_on = false;
}

/*
 * Be done with prefetch, and tell what has come of it.
 */
void
fpb_scan_prefetch_end(FpbScan *so)
{
	FpbPrefetchState *ps = so->prefetch.state;

	if (ps->leaves_ready)
	{
		fpb_window_end(&ps->leaves);
		fpb_window_end(&ps->parents);
		fpb_walk_end(&ps->leaf_walk.walk);
		fpb_walk_end(&ps->parent_walk.walk);
		fpb_prefetch_report(so->ix.rel, false, &ps->leaves.counts);
		fpb_prefetch_report(so->ix.rel, false, &ps->parents.counts);
	}
	if (ps->heap_ready)
	{
		fpb_window_end(&ps->heap);
		fpb_prefetch_report(so->ix.rel, true, &ps->heap.counts);
	}
	if (ps->peek != NULL)
		fpb_scan_page_free(ps->peek);
	if (ps->aside != NULL)
		pfree(ps->aside);
	pfree(ps);
	so->prefetch.state = NULL;
	so->prefetch.leaves_on = so->prefetch.heap_on = false;
}
