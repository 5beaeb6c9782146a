/*-------------------------------------------------------------------------
 *
 * scan/prefetch.c
 *	  What a scan reads ahead: leaves, and pages of the table.
 *
 * Leaves.  From its third leaf on, a scan that has had to have a page read
 * from storage has the leaves that it will come to read ahead, in the order in
 * which the pages above name them (prefetch/jump_pointers.c).  A leaf is left
 * out if none of the scan's ranges reaches into it, so nothing is read beyond
 * the end of the last, and a search for many keys reads the leaves of several
 * at a time.  For such a search, the parents of leaves are read ahead
 * likewise.
 *
 * Pages of the table.  They are read ahead only when some have had to be read:
 * then the TIDs of the leaf at hand say which pages come next, and when they
 * run out, those of the next leaves, at which we peek for the purpose.
 *
 * When pages need no reading time after time, they are left alone until one
 * does, so that a scan of what is in memory has no work with this.
 *
 * A scan that stops early has read too much: at most as many pages as it has
 * come to before.
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
 * So many leaves in succession that had not been announced: those announced
 * are not where the scan is.
 */
#define MAX_MISSED		8

/*
 * After so many pages of the index, or of the table, that need not be read, we
 * look no further until one has to be.
 */
#define IDLE_PAGES		64

/* leaves peeked at and not come to yet, at most */
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
	int64		range;			/* that the walk is in */
	uint64		number;			/* of the child, as FpbScan's leaf_number */
} RangeWalk;

typedef struct FpbScanPrefetch
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
	 * Leaves peeked at, oldest first, a ring; of the last, what has been
	 * read. All of the others is announced.
	 */
	uint32		peeked_head;
	uint32		peeked_tail;
	BlockNumber peeked[MAX_PEEKED];
	FpbScanPage *peek;
	Page		aside;			/* memory for a page read past the buffers */
	BlockNumber aside_failed;	/* the last one that was of no use */
	int			peek_item;		/* the next to look at */
} FpbScanPrefetch;

/*
 * The scan's state of reading ahead, made if need be.
 */
static FpbScanPrefetch *
get_prefetch(FpbScan *so)
{
	if (so->prefetch == NULL)
		so->prefetch = MemoryContextAllocZero(so->cxt, sizeof(FpbScanPrefetch));
	return so->prefetch;
}

/* --- leaves --- */

/*
 * Begin a walk at so->at.
 */
static void
begin_walk(FpbScan *so, RangeWalk *rw, bool forward)
{
	FpbScanKeys *keys = &so->keys;
	FpbSearchKey search;
	bool		found;

	rw->range = so->at.range;
	rw->number = so->leaf_number;
	if (so->at.inside)
	{
		fpb_search_key_from(&so->ix, &so->at.key, &search);
		found = fpb_walk_seek(&rw->walk, &search, !forward);
	}
	else
	{
		fpb_keys_set_range(keys, rw->range);
		if (forward ? keys->has_lower : keys->has_upper)
			found = fpb_walk_seek(&rw->walk,
								  forward ? &keys->lower : &keys->upper, !forward);
		else
			found = fpb_walk_seek_edge(&rw->walk, !forward);
	}
	rw->phase = found ? WALK_GOING : WALK_ENDED;
}

/*
 * Go on to the next page to the right that a range reaches into.  This is what
 * read_ranges in scan/scan.c does with leaves, by fences alone.
 */
static bool
walk_right(FpbScanKeys *keys, RangeWalk *rw)
{
	FpbKey		high;

	for (;;)
	{
		fpb_keys_set_range(keys, rw->range);
		if (!keys->has_upper ||
			fpb_walk_compare_high(&rw->walk, &keys->upper) < 0)
			return fpb_walk_step(&rw->walk, true);

		/* the range ends here: which is the first that goes on behind? */
		if (rw->range + 1 >= keys->nranges || !fpb_walk_high(&rw->walk, &high))
			return false;
		rw->range = Max(rw->range + 1, fpb_keys_seek(keys, &high, true, true));
		if (rw->range >= keys->nranges)
			return false;
		fpb_keys_set_range(keys, rw->range);
		if (keys->has_lower &&
			fpb_walk_compare_high(&rw->walk, &keys->lower) <= 0)
			return fpb_walk_seek(&rw->walk, &keys->lower, false);
	}
}

/*
 * Go one leaf to the left from the one that the walk is at, which rw->range
 * has entries in: to the leaf before it if the range begins further left, else
 * to the one in which the nearest range before it ends, as read_backward finds
 * it.  Sets rw->range accordingly.  False if there is no such leaf.
 */
static bool
walk_left(FpbScanKeys *keys, RangeWalk *rw)
{
	fpb_keys_set_range(keys, rw->range);
	if (keys->has_lower && fpb_walk_compare_low(&rw->walk, &keys->lower) <= 0)
	{
		/* the range begins here: which is the last that begins before? */
		if (rw->range > 0)
			rw->range = Min(rw->range - 1,
							fpb_keys_seek(keys, &rw->walk.child.key, true, false));
		else
			return false;
		for (;;)
		{
			fpb_keys_set_range(keys, rw->range);
			if (!keys->has_lower ||
				fpb_walk_compare_low(&rw->walk, &keys->lower) > 0)
				break;
			if (--rw->range < 0)
				return false;
		}
		if (keys->has_upper &&
			fpb_walk_compare_low(&rw->walk, &keys->upper) >= 0)
			return fpb_walk_seek(&rw->walk, &keys->upper, true);
	}
	return fpb_walk_step(&rw->walk, false);
}

/*
 * Announce the pages of a walk as long as more are wanted, but those of lower
 * numbers than from, and start reading them.  parents: the window of the pages
 * that the walk itself reads, or NULL.
 */
static void
fill_window(FpbScan *so, FpbWindow *window, RangeWalk *rw, bool forward,
			FpbWindow *parents, uint64 from)
{
	if (rw->phase == WALK_NEW)
	{
		begin_walk(so, rw, forward);
		fpb_keys_set_range(&so->keys, rw->range);
		window->to_the_end = so->keys.nranges == 1 &&
			!(forward ? so->keys.has_upper : so->keys.has_lower);
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
 * Pages that a search for many keys may be ahead: those being read, and those
 * peeked at, whose TIDs' pages are being read.
 */
static int
many_distance(IndexScanDesc scan, FpbScan *so)
{
	int			distance = fpb_pio_max;

	if (distance < 0)
		distance = get_tablespace_io_concurrency(so->ix.rel->rd_rel->reltablespace);
	if (distance > 0 && so->heap_wanted)
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
init_leaves(IndexScanDesc scan, FpbScan *so, FpbScanPrefetch *sa)
{
	Relation	rel = so->ix.rel;

	if (sa->leaves_ready)
	{
		fpb_window_end(&sa->leaves);
		fpb_window_end(&sa->parents);
		fpb_prefetch_report(rel, false, &sa->leaves.counts);
		fpb_prefetch_report(rel, false, &sa->parents.counts);
	}
	else
	{
		fpb_walk_init(&sa->leaf_walk.walk, so->cxt, &so->ix, 1);
		fpb_walk_init(&sa->parent_walk.walk, so->cxt, &so->ix, 2);
	}
	sa->many = so->keys.nranges > 1;
	fpb_window_init(&sa->leaves, so->cxt, rel,
					sa->many ? many_distance(scan, so) : fpb_prefetch_distance);

	/* a leaf may have but one TID, so more of them are peeked at */
	if (sa->many && so->heap_wanted)
		sa->leaves.min_distance = sa->leaves.max_distance;
	fpb_window_init(&sa->parents, so->cxt, rel, sa->many ? fpb_pio_max : 0);
	sa->leaves_ready = true;
}

/*
 * Forget what leaves are ahead.
 */
static void
forget_leaves(FpbScanPrefetch *sa)
{
	fpb_window_reset(&sa->leaves);
	fpb_window_reset(&sa->parents);
	sa->leaf_walk.phase = sa->parent_walk.phase = WALK_NEW;
	sa->nmissed = 0;
}

/*
 * The scan is about to read the leaf at so->at, or, if it is a parallel one,
 * has just read it: see to it that this and those behind it are being read.
 * No lock is held on entry or exit.  The keys' current range is undefined
 * afterwards.
 */
void
fpb_scan_prefetch_leaves(IndexScanDesc scan, FpbScan *so, bool forward)
{
	FpbScanPrefetch *sa = get_prefetch(so);
	bool		parallel = scan->parallel_scan != NULL;

	if (!sa->leaves_ready || sa->many != (so->keys.nranges > 1))
		init_leaves(scan, so, sa);
	if (sa->leaves.max_distance == 0)
		return;

	if (sa->leaves.idle >= IDLE_PAGES)
	{
		forget_leaves(sa);
		so->leaves_active = false;
		if (parallel)
			fpb_parallel_retract(scan);
		return;
	}
	if (sa->nmissed >= MAX_MISSED || sa->forward != forward)
		forget_leaves(sa);
	sa->forward = forward;
	if (sa->many && sa->parents.max_distance > 0 &&
		fpb_window_due(&sa->parents))
		fill_window(so, &sa->parents, &sa->parent_walk, forward, NULL, 0);
	if (fpb_window_due(&sa->leaves))
	{
		fill_window(so, &sa->leaves, &sa->leaf_walk, forward,
					sa->many ? &sa->parents : NULL,
					parallel ? Max(fpb_parallel_announced(scan), so->leaf_number) : 0);
		if (parallel)
			fpb_parallel_announce(scan, sa->leaf_walk.number);
	}
}

/* --- the table --- */

/*
 * Forget the leaves peeked at.
 */
static void
forget_peeked(FpbScanPrefetch *sa)
{
	sa->peeked_head = sa->peeked_tail = 0;
}

/*
 * Begin to read pages of the table ahead, from the entry handed out last.
 */
static void
begin_heap(IndexScanDesc scan, FpbScan *so, FpbScanPrefetch *sa, bool forward)
{
	if (!sa->heap_ready)
	{
		fpb_window_init(&sa->heap, so->cxt, scan->heapRelation,
						fpb_prefetch_heap_distance);
		sa->heap_ready = true;
	}
	fpb_window_reset(&sa->heap);
	forget_peeked(sa);
	for (int i = 0; i < NRECENT; i++)
		sa->recent[i] = InvalidBlockNumber;
	sa->heap_forward = forward;
	sa->heap_at = InvalidBlockNumber;
	sa->aside_failed = InvalidBlockNumber;
	sa->item = so->page->current + (forward ? 1 : -1);
	so->heap_active = sa->heap.max_distance > 0;
	so->heap_wanted = so->heap_active;
}

/*
 * Read the leaf at *at, the n'th to come, into sa->peek.  False if there is
 * none, or if it has not arrived yet: it would have to be waited for, and
 * raise its error, if it can't be read, before the entries in front of it are
 * handed out.
 *
 * Where no leaves are being read ahead, all of the index seems to be in
 * memory.  Where the kernel is advised to read them, nothing tells whether it
 * has; as the first of those announced, it has most likely, and we read it
 * aside.  Somebody may be writing it then, and half of what we get may be old
 * and half new.  Only a checksum tells that; without one, a word read wrongly
 * does no harm here, but a comparator must not be given a tuple that is none.
 */
static bool
peek_at(IndexScanDesc scan, FpbScan *so, FpbScanPrefetch *sa,
		const FpbScanEdge *at, uint32 n)
{
	bool		forward = sa->heap_forward;
	BlockNumber block = InvalidBlockNumber;

	if (so->leaves_active)
		block = fpb_window_block(&sa->leaves, n);
	if (block == InvalidBlockNumber && at->inside && forward)
		block = at->right;
	if (block == InvalidBlockNumber ? !so->leaves_active :
		fpb_window_at_hand(so->ix.rel, block))
		return fpb_scan_peek(scan, so, sa->peek, at, forward);

	if (block == InvalidBlockNumber || block == sa->aside_failed ||
		!so->leaves_active || !fpb_window_is_advice(&sa->leaves) ||
		!(fpb_is_word(&so->ix) || DataChecksumsEnabled()))
		return false;
	if (sa->aside == NULL)
		sa->aside = MemoryContextAllocAligned(so->cxt, BLCKSZ,
											  PG_IO_ALIGN_SIZE, 0);
	if (fpb_window_read_aside(so->ix.rel, block, sa->aside) &&
		fpb_header_fault(&so->ix, sa->aside) == NULL &&
		fpb_page_fault(&so->ix, sa->aside) == NULL &&
		fpb_scan_peek_copy(scan, so, sa->peek, sa->aside, block, at, forward))
		return true;
	sa->aside_failed = block;
	return false;
}

/*
 * Peek at the leaf behind those known.  False if there is none, or if it would
 * have to be waited for.
 */
static bool
peek_further(IndexScanDesc scan, FpbScan *so, FpbScanPrefetch *sa)
{
	uint32		npeeked = sa->peeked_tail - sa->peeked_head;
	bool		forward = sa->heap_forward;
	FpbScanPage *last = npeeked > 0 ? sa->peek : so->page;
	const FpbScanEdge *next = forward ? &last->after : &last->before;
	FpbScanEdge at;

	if (so->npages < FPB_PAGES_ALONE || scan->parallel_scan != NULL ||
		npeeked >= MAX_PEEKED)
		return false;
	if (sa->peek == NULL)
	{
		sa->peek = MemoryContextAlloc(so->cxt, sizeof(FpbScanPage));
		fpb_scan_page_init(sa->peek);
	}

	/* reading into sa->peek overwrites its edges */
	memset(&at, 0, sizeof(at));
	fpb_edge_copy(so, &at, next);
	if (peek_at(scan, so, sa, &at, npeeked))
	{
		sa->peeked[sa->peeked_tail++ % MAX_PEEKED] = sa->peek->block;
		sa->peek_item = forward ? 0 : sa->peek->nitems - 1;
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
next_heap_page(IndexScanDesc scan, FpbScan *so, FpbScanPrefetch *sa,
			   BlockNumber *block)
{
	int			step = sa->heap_forward ? 1 : -1;

	for (;;)
	{
		const FpbItem *item;
		ItemPointerData tid;

		if (sa->item >= 0 && sa->item < so->page->nitems)
		{
			item = &so->page->items[sa->item];
			sa->item += step;
		}
		else if (sa->peeked_head != sa->peeked_tail && sa->peek_item >= 0 &&
				 sa->peek_item < sa->peek->nitems)
		{
			item = &sa->peek->items[sa->peek_item];
			sa->peek_item += step;
		}
		else if (peek_further(scan, so, sa))
			continue;
		else
			return false;
		fpb_tail_tid(item->key.tail, &tid);
		*block = ItemPointerGetBlockNumber(&tid);
		return true;
	}
}

/*
 * Announce pages of the table as long as more are wanted, and start reading
 * them.  Index-only scans need those that are not all-visible; a page that
 * becomes so, or ceases to be, is read in vain, or not ahead.
 */
static void
fill_heap(IndexScanDesc scan, FpbScan *so, FpbScanPrefetch *sa)
{
	BlockNumber last = InvalidBlockNumber;
	Buffer		vmbuffer = InvalidBuffer;
	BlockNumber block;

	while (fpb_window_wants(&sa->heap) && next_heap_page(scan, so, sa, &block))
	{
		CHECK_FOR_INTERRUPTS();
		if (block == last || sa->recent[block % NRECENT] == block)
			continue;
		last = block;
		if (scan->xs_want_itup &&
			VM_ALL_VISIBLE(scan->heapRelation, block, &vmbuffer))
		{
			if (++sa->heap.idle >= IDLE_PAGES)
				break;
			continue;
		}
		sa->recent[block % NRECENT] = block;
		fpb_window_add(&sa->heap, block, 0);
	}
	if (BufferIsValid(vmbuffer))
		ReleaseBuffer(vmbuffer);
	fpb_window_start(&sa->heap);
}

/*
 * The scan is about to hand out so->page's current entry, and pages have had
 * to be read for those before, or are being read ahead: see to it that those
 * of the entries behind it are being read.  No lock is held on entry or exit.
 */
void
fpb_scan_prefetch_heap(IndexScanDesc scan, FpbScan *so, bool forward)
{
	FpbScanPrefetch *sa = get_prefetch(so);
	ItemPointerData tid;
	BlockNumber block;

	if (!so->heap_active || sa->heap_forward != forward)
	{
		begin_heap(scan, so, sa, forward);
		if (!so->heap_active)
			return;
	}

	fpb_tail_tid(so->page->items[so->page->current].key.tail, &tid);
	block = ItemPointerGetBlockNumber(&tid);
	if (block != sa->heap_at)
		fpb_window_reach(&sa->heap, block, false);
	sa->heap_at = block;

	if (fpb_window_due(&sa->heap))
	{
		fill_heap(scan, so, sa);
		if (sa->heap.idle >= IDLE_PAGES)
			so->heap_active = false;
	}
}

/* --- the scan's movements --- */

/*
 * The scan has read a leaf into so->page, which may hold nothing for it.
 */
void
fpb_scan_prefetch_come(IndexScanDesc scan, FpbScan *so, bool forward)
{
	FpbScanPrefetch *sa = so->prefetch;
	FpbScanPage *sp = so->page;

	if (so->leaves_active && sa->leaves.max_distance > 0 &&
		!(so->at.inside && so->at.same_leaf))
	{
		bool		parallel = scan->parallel_scan != NULL;

		if (fpb_window_reach(&sa->leaves, sp->block, parallel))
			sa->nmissed = 0;
		else if (parallel)
			fpb_window_pass(&sa->leaves, so->leaf_number);
		else
			sa->nmissed++;
	}
	if (!so->heap_active)
		return;

	sa->item = forward ? 0 : sp->nitems - 1;
	for (uint32 i = sa->peeked_head; i != sa->peeked_tail; i++)
	{
		if (sa->peeked[i % MAX_PEEKED] == sp->block)
		{
			sa->peeked_head = i + 1;
			if (sa->peeked_head != sa->peeked_tail)
				sa->item = -1;	/* all of it has been announced */
			else
				sa->item = sa->peek_item;
			return;
		}
	}
	forget_peeked(sa);
}

/*
 * The scan is about to wait for another process: see to it that this one does
 * not wait for reads that the scan has started.
 */
void
fpb_scan_prefetch_serve(FpbScan *so)
{
	FpbScanPrefetch *sa = so->prefetch;

	if (sa->leaves_ready)
	{
		fpb_window_serve(&sa->leaves);
		fpb_window_serve(&sa->parents);
	}
	if (sa->heap_ready)
		fpb_window_serve(&sa->heap);
}

/*
 * The scan starts again.  If what was read ahead of it has been needed, then
 * that will be so this time, presumably.
 */
void
fpb_scan_prefetch_rescan(FpbScan *so)
{
	FpbScanPrefetch *sa = so->prefetch;

	if (sa->leaves_ready && sa->leaves.max_distance > 0)
		forget_leaves(sa);
	if (sa->heap_ready && sa->heap.max_distance > 0)
		fpb_window_reset(&sa->heap);
	so->heap_active = false;
}

/*
 * Be done with reading ahead, and tell what has come of it.
 */
void
fpb_scan_prefetch_end(FpbScan *so)
{
	FpbScanPrefetch *sa = so->prefetch;

	if (sa->leaves_ready)
	{
		fpb_window_end(&sa->leaves);
		fpb_window_end(&sa->parents);
		fpb_walk_end(&sa->leaf_walk.walk);
		fpb_walk_end(&sa->parent_walk.walk);
		fpb_prefetch_report(so->ix.rel, false, &sa->leaves.counts);
		fpb_prefetch_report(so->ix.rel, false, &sa->parents.counts);
	}
	if (sa->heap_ready)
	{
		fpb_window_end(&sa->heap);
		fpb_prefetch_report(so->ix.rel, true, &sa->heap.counts);
	}
	if (sa->peek != NULL)
		fpb_scan_page_free(sa->peek);
	if (sa->aside != NULL)
		pfree(sa->aside);
	pfree(sa);
	so->prefetch = NULL;
	so->leaves_active = so->heap_active = false;
}
