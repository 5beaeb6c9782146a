/*-------------------------------------------------------------------------
 *
 * scan/read_leaf.c
 *	  What a scan reads at a time: a leaf, and what the operation queue has for
 *	  it.
 *
 * Under the leaf's share lock a scan copies all entries that satisfy the keys.
 * How to go on in either direction is remembered beside the copies: a fence in
 * the middle of a range, or the number of the next range.  Since (key, TID) is
 * a total order, a fence tells exactly what has been seen, whatever has become
 * of the page in the meantime.
 *
 * If there is a queue, its leaf for the same place is locked, too, while the
 * first one is: an entry moves from the one to the other only with both locked
 * exclusively, so that at this instant it is in one of them.  What is read is
 * the keys that are within the fences of both, a segment.  In recovery, the
 * queue's leaf is copied before the other one is locked.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "common/pg_prng.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "storage/predicate.h"
#include "utils/memutils.h"

#include "queue/queue.h"
#include "scan/scan.h"

/* --- edges --- */

/*
 * Where the high fence of a page that has elided it is kept.
 */
static inline FpbScanEdge *
elided_of(FpbScan *so, Page page)
{
	return FpbPageIsQueue(page) ? &so->queue_elided : &so->elided;
}

/*
 * If the page in buf, locked and to be read, has elided its high fence, find
 * that out.
 */
static inline void
fetch_high(FpbScan *so, const FpbIndex *tree, Buffer buf)
{
	FpbKey		high;
	Buffer		right;

	if (likely(!FpbPageHighElided(BufferGetPage(buf))))
		return;
	right = fpb_lock_high(tree, buf, &high);
	fpb_edge_set_key(so, elided_of(so, BufferGetPage(buf)), &high);
	fpb_relbuf(right);
}

/*
 * The high fence of a page, not the rightmost, of which fetch_high has been
 * told.
 */
static inline void
page_high(FpbScan *so, Page page, FpbKey *high)
{
	if (unlikely(FpbPageHighElided(page)))
		*high = elided_of(so, page)->key;
	else
		fpb_page_high(&so->ix, page, high);
}

/*
 * Sign of the same against a search key, infinities included.
 */
static inline int
compare_high(FpbScan *so, Page page, const FpbSearchKey *search)
{
	if (unlikely(FpbPageHighElided(page)))
		return fpb_compare(&so->ix, &elided_of(so, page)->key, search);
	return fpb_compare_high(&so->ix, page, search);
}

/*
 * Raise an error unless a page's fence, which is whole, is a sound pivot: all
 * of its columns will be taken out of it.
 */
static void
check_fence(FpbScan *so, FpbScanPage *sp, const FpbKey *fence)
{
	const char *fault;

	if (fence->tuple == NULL)
		return;
	fault = fpb_tuple_fault(&so->ix, fence->tuple,
							IndexTupleSize(fence->tuple), true);
	if (unlikely(fault != NULL))
		fpb_report_damage(so->ix.rel, sp->block, psprintf("Of a fence: %s.", fault));
}

/*
 * Have room in *sp for so many items, of which the first n are there.
 */
static void
make_room(FpbScan *so, FpbScanPage *sp, int room, int n)
{
	FpbItem    *items;

	if (sp->room >= room)
		return;
	items = MemoryContextAlloc(so->cxt, room * sizeof(FpbItem));
	memcpy(items, sp->items, n * sizeof(FpbItem));
	if (sp->items != sp->few)
		pfree(sp->items);
	sp->items = items;
	sp->room = room;
}

/* --- segments --- */

/*
 * What is read at a time: a leaf and, unless that is NULL, the queue's for the
 * same place, both locked, or, in recovery, a copy of it that was made before
 * the leaf was locked.  The segment is what is within the fences of both.
 */
typedef struct Segment
{
	Page		leaf;
	Page		queue;
	bool		copied;			/* is that a copy? */
	Page		low_page;		/* that of the two which begins last, */
	Page		high_page;		/* and which ends first; NULL: not known yet */
} Segment;

/*
 * The page by whose low fence a segment begins.
 */
static Page
low_page(FpbScan *so, Segment *seg)
{
	if (seg->low_page == NULL)
	{
		FpbKey		low;
		FpbSearchKey search;

		seg->low_page = seg->leaf;
		if (seg->queue != NULL && FpbPageIsLeftmost(seg->leaf))
			seg->low_page = seg->queue;
		else if (seg->queue != NULL)
		{
			fpb_page_low(&so->ix, seg->leaf, &low);
			fpb_search_key_from(&so->ix, &low, &search);
			if (fpb_compare_low(&so->ix, seg->queue, &search) > 0)
				seg->low_page = seg->queue;
		}
	}
	return seg->low_page;
}

/*
 * The page by whose high fence a segment ends.
 */
static Page
high_page(FpbScan *so, Segment *seg)
{
	if (seg->high_page == NULL)
	{
		FpbKey		high;
		FpbSearchKey search;

		seg->high_page = seg->leaf;
		if (seg->queue != NULL && FpbPageIsRightmost(seg->leaf))
			seg->high_page = seg->queue;
		else if (seg->queue != NULL)
		{
			page_high(so, seg->leaf, &high);
			fpb_search_key_from(&so->ix, &high, &search);
			if (compare_high(so, seg->queue, &search) < 0)
				seg->high_page = seg->queue;
		}
	}
	return seg->high_page;
}

/*
 * Does a segment end before a place (NULL: infinity), or at it?
 */
static inline bool
ends_before(FpbScan *so, const Segment *seg, const FpbSearchKey *place)
{
	if (place == NULL)
		return !FpbPageIsRightmost(seg->leaf) ||
			(seg->queue != NULL && !FpbPageIsRightmost(seg->queue));
	return compare_high(so, seg->leaf, place) < 0 ||
		(seg->queue != NULL && compare_high(so, seg->queue, place) < 0);
}

static inline bool
ends_by(FpbScan *so, const Segment *seg, const FpbSearchKey *place)
{
	return compare_high(so, seg->leaf, place) <= 0 ||
		(seg->queue != NULL && compare_high(so, seg->queue, place) <= 0);
}

/*
 * Set the edge behind, or before, a segment, in the middle of a range: to go
 * on at its fence.
 */
static void
set_edge_fence(FpbScan *so, FpbScanPage *sp, Segment *seg, int64 range,
			   bool forward)
{
	FpbScanEdge *edge = forward ? &sp->after : &sp->before;
	FpbKey		fence;

	edge->right = InvalidBlockNumber;
	if (!forward)
		fpb_page_low(&so->ix, low_page(so, seg), &fence);
	else
	{
		page_high(so, high_page(so, seg), &fence);

		/* the leaf goes on where the queue's ends */
		edge->right = high_page(so, seg) == seg->leaf ?
			FpbHdr(seg->leaf)->right : sp->block;
	}
	check_fence(so, sp, &fence);
	fpb_edge_set_key(so, edge, &fence);
	edge->range = range;
	edge->same_leaf = (forward ? seg->high_page : seg->low_page) != seg->leaf;
}

/*
 * Have the metapage pinned.
 */
static inline void
pin_meta(FpbScan *so)
{
	if (!BufferIsValid(so->metabuf))
		so->metabuf = fpb_pin_meta(&so->ix);
}

/*
 * Have it pinned no more.
 */
void
fpb_scan_unpin_meta(FpbScan *so)
{
	if (BufferIsValid(so->metabuf))
		ReleaseBuffer(so->metabuf);
	so->metabuf = InvalidBuffer;
}

/*
 * The root of the queue that the metapage names at this moment: one aligned
 * word, so that no lock is needed.
 */
static inline BlockNumber
queue_root(FpbScan *so)
{
	return *(volatile BlockNumber *) &FpbPageGetMeta(BufferGetPage(so->metabuf))->queue_root;
}

/*
 * Is the queue known to have nothing that the scan looks for?  The main leaf
 * of the place looked at is locked.
 *
 * A serializable transaction has to lock the queue's leaf all the same.
 */
static inline bool
is_excluded(FpbScan *so)
{
	FpbScanKeys *keys = &so->keys;

	if (!so->filter_open || keys->nranges != 1 || IsolationIsSerializable())
		return false;
	fpb_keys_set_range(keys, 0);
	if (!keys->has_lower || !keys->has_upper ||
		keys->lower.head != keys->upper.head ||
		!(fpb_is_word(&so->ix) || (keys->lower.has_head && keys->upper.has_head)))
		return false;
	return fpb_filter_excludes(&so->filter, BufferGetPage(so->metabuf), keys->lower.head);
}

/*
 * Assertion builds look into the queue half the times all the same, to see if
 * it has nothing.
 */
#ifdef USE_ASSERT_CHECKING
#define LOOK_ANYWAY	pg_prng_bool(&pg_global_prng_state)
#else
#define LOOK_ANYWAY	false
#endif

/*
 * The index as one has it who works on the queue's tree.  missing: where to
 * note a page that would have to be read; NULL: it may be.
 */
static FpbIndex *
queue_index(FpbScan *so, BlockNumber *missing)
{
	if (so->queue == NULL)
	{
		so->queue = MemoryContextAlloc(so->cxt, sizeof(FpbIndex));
		fpb_index_of_queue(&so->ix, so->queue);
	}
	so->queue->missing = missing;
	return so->queue;
}

/*
 * Lock the queue's leaf for a place (NULL: an end of the index).
 * InvalidBuffer if there is no queue, or if *missing has been set to a page
 * that is to be read first, unless missing is NULL.
 *
 * The main leaf of the place is locked, but not so in recovery.
 *
 * What relcache invalidations tell would come too late: an insertion that has
 * returned must be seen, and it may have been the first to go to a queue.
 */
static Buffer
lock_queue(IndexScanDesc scan, FpbScan *so, const FpbSearchKey *search, bool forward,
		   BlockNumber *missing)
{
	bool		meta_locked = false;
	Buffer		buf;

	for (;;)
	{
		if (queue_root(so) != FPB_METAPAGE)
		{
			if (is_excluded(so) && !LOOK_ANYWAY)
				return InvalidBuffer;
			if (search == NULL)
				buf = fpb_descend_edge(queue_index(so, missing), 0, !forward,
									   BUFFER_LOCK_SHARE);
			else
				buf = fpb_descend(queue_index(so, missing), search, 0, !forward,
								  BUFFER_LOCK_SHARE, NULL);
			if (BufferIsValid(buf))
				break;
			if (missing != NULL && *missing != InvalidBlockNumber)
				return InvalidBuffer;
		}

		/*
		 * Who inserts into a queue looks for locks on the metapage, too, when
		 * it is there: so the lock comes first, then the look.
		 */
		else if (meta_locked || !IsolationIsSerializable())
			return InvalidBuffer;
		else
		{
			PredicateLockPage(scan->indexRelation, FPB_METAPAGE, scan->xs_snapshot);
			meta_locked = true;
		}
	}
	PredicateLockPage(scan->indexRelation, BufferGetBlockNumber(buf), scan->xs_snapshot);
	fetch_high(so, so->queue, buf);
	return buf;
}

/*
 * In recovery: copy the queue's leaf for a place, as above; NULL if there is
 * none.  No lock is held on entry or exit.
 */
static Page
copy_queue(IndexScanDesc scan, FpbScan *so, const FpbSearchKey *search, bool forward)
{
	Buffer		buf = lock_queue(scan, so, search, forward, NULL);

	if (!BufferIsValid(buf))
		return NULL;
	if (so->queue_copy == NULL)
		so->queue_copy = MemoryContextAllocAligned(so->cxt, BLCKSZ, PG_CACHE_LINE_SIZE, 0);
	memcpy(so->queue_copy, BufferGetPage(buf), BLCKSZ);
	fpb_relbuf(buf);
	return so->queue_copy;
}

/* --- reading a segment --- */

/* how far a leaf has been read */
typedef struct Reading
{
	const FpbIndex *tree;
	Page		page;
	bool		any;			/* has an entry been read? */
	FpbPos		last;			/* then the last one */
	int			nread;			/* how many, be they kept or not */
} Reading;

/* so few entries are asked one by one whether they are known dead */
#define FEW_ITEMS	4

/*
 * Of the n entries read to items[], keep those that are not known dead and
 * pass the filters; returns how many.  The page is locked.
 */
static int
keep_matching(IndexScanDesc scan, FpbScan *so, const Reading *r, FpbItem *items,
			  int n)
{
	Page		page = r->page;
	bool		filter = so->keys.nfilters > 0;
	bool		killed = scan->ignore_killed_tuples && r->tree == &so->ix &&
		(n <= FEW_ITEMS || fpb_page_has_killed(&so->ix, page));
	int			kept = 0;

	if (!filter && !killed)
		return n;
	for (int i = 0; i < n; i++)
	{
		if (killed && fpb_page_is_killed(&so->ix, page, items[i].pos))
			continue;
		if (filter && !fpb_keys_match(&so->keys, &items[i].key))
			continue;
		if (kept != i)
			items[kept] = items[i];
		kept++;
	}
	return kept;
}

/*
 * Raise an error if an item's TID is none, which the server must not be given.
 * (A page peeked at is not checked: its error would come too soon.)
 */
static void
check_items(FpbScan *so, const FpbScanPage *sp)
{
	for (int i = 0; i < sp->nitems; i++)
	{
		uint64		tid = sp->items[i].key.tail & FPB_TAIL_TID_MASK;

		if (unlikely((tid & FPB_TAIL_MAX_OFFSET) == InvalidOffsetNumber ||
					 (tid >> FPB_TAIL_OFFSET_BITS) == InvalidBlockNumber))
			fpb_report_damage(so->ix.rel, sp->block,
							  "An entry has an invalid TID.");
	}
}

/*
 * The number of the range that the first entry of a page behind the current
 * range is in, or before; nranges if there is none.
 */
static int64
seek_behind(FpbScan *so, const FpbIndex *tree, Page page)
{
	FpbScanKeys *keys = &so->keys;
	FpbPos		pos;
	FpbEntry	entry;

	fpb_page_search(tree, page, &keys->upper, &pos);
	if (!fpb_page_next(tree, page, &pos, &entry))
		return keys->nranges;
	return fpb_keys_seek(keys, &entry.key, false, true);
}

/*
 * The number of the next range that can have entries, given what follows the
 * current one: the page's first entry behind it if the range has ended on the
 * page, else the high fence.  last: the number of the last range wanted.
 *
 * Of two pages, each may have that entry, or the fence come first.
 */
static int64
next_range(FpbScan *so, Segment *seg, bool ended_on_page, int64 last)
{
	FpbScanKeys *keys = &so->keys;
	int64		range = keys->range + 1;
	int64		found = keys->nranges;
	FpbKey		high;

	if (range > last)
		return range;
	if (seg->queue != NULL && keys->has_upper)
	{
		found = Min(seek_behind(so, &so->ix, seg->leaf),
					seek_behind(so, so->queue, seg->queue));
		ended_on_page = false;
	}
	else if (ended_on_page)
	{
		FpbPos		pos;
		FpbEntry	entry;

		fpb_page_search(&so->ix, seg->leaf, &keys->upper, &pos);
		if (!fpb_page_next(&so->ix, seg->leaf, &pos, &entry))
			return range;
		found = fpb_keys_seek(keys, &entry.key, false, true);
	}
	if (!ended_on_page && !FpbPageIsRightmost(high_page(so, seg)))
	{
		int64		behind;

		page_high(so, high_page(so, seg), &high);
		behind = fpb_keys_seek(keys, &high, true, true);
		found = Min(found, behind);
	}
	return Max(range, found);
}

/*
 * Merge n items with m others behind them, which are of the queue's leaf; both
 * are in order.
 */
static void
merge_items(FpbScan *so, FpbItem *items, int n, int m)
{
	const FpbIndex *ix = &so->ix;
	FpbItem    *queued;
	int			to = n + m - 1;

	if (m == 0 || n == 0 || fpb_compare_keys(ix, &items[n - 1].key, &items[n].key) < 0)
		return;
	if (so->queued == NULL)
		so->queued = MemoryContextAlloc(so->cxt, FPB_MAX_PAGE_ENTRIES * sizeof(FpbItem));
	queued = so->queued;
	memcpy(queued, items + n, m * sizeof(FpbItem));
	while (m > 0)
	{
		if (n > 0 && fpb_compare_keys(ix, &items[n - 1].key, &queued[m - 1].key) > 0)
			items[to--] = items[--n];
		else
			items[to--] = queued[--m];
	}
}

/*
 * Of n items in order, drop each that is there twice: it was in the copy of
 * the queue's leaf, and had moved to the main one when that was locked.
 * Returns how many are left.
 */
static int
drop_doubles(const FpbIndex *ix, FpbItem *items, int n)
{
	int			kept = 0;

	for (int i = 0; i < n; i++)
		if (kept == 0 || fpb_compare_keys(ix, &items[kept - 1].key, &items[i].key) != 0)
			items[kept++] = items[i];
	return kept;
}

/*
 * Read what a leaf has from start (NULL: its beginning) to end (NULL: its end)
 * and keep what matches, behind the nitems that *sp has; returns how many.
 * *more becomes false if there is an entry >= end.
 */
static int
read_leaf(IndexScanDesc scan, FpbScan *so, FpbScanPage *sp, Reading *r,
		  const FpbSearchKey *start, const FpbSearchKey *end, int nitems, bool *more)
{
	FpbPos		pos = FPB_POS_FIRST;
	int			most = (int) FPB_MAX_PAGE_ENTRIES - r->nread;
	bool		in_order;
	int			n = -1;

	if (start != NULL)
		fpb_page_search(r->tree, r->page, start, &pos);
	in_order = !r->any || fpb_pos_before(r->last, pos);
	if (!in_order)
	{
		/*
		 * The ranges are disjoint and in order, so the page's entries can't
		 * be, or a cross-type operator is not transitive.  No entry must be
		 * read twice: there is room for each once.
		 */
		pos = r->last;
		pos = fpb_pos_behind(pos);
	}
	if (sp->room - nitems < most)
		n = fpb_page_read_few(r->tree, r->page, pos, end, in_order,
							  sp->items + nitems, sp->room - nitems, more);
	if (n < 0)
	{
		make_room(so, sp, FPB_MAX_PAGE_ENTRIES, nitems);
		n = fpb_page_read(r->tree, r->page, pos, end, in_order,
						  sp->items + nitems, most, more);
	}
	if (n == 0)
		return 0;
	r->any = true;
	r->last = sp->items[nitems + n - 1].pos;
	r->nread += n;
	return keep_matching(scan, so, r, sp->items + nitems, n);
}

/*
 * Read what the queue's leaf has for a range, behind the n items that the main
 * leaf had, the last in *sp, and put it among them.  Returns how many items
 * that makes.  copied: some may have been among these already.
 */
static int
read_queued(IndexScanDesc scan, FpbScan *so, FpbScanPage *sp, Reading *r,
			const FpbSearchKey *start, const FpbSearchKey *end, int n, bool copied)
{
	bool		more;
	int			m = read_leaf(scan, so, sp, r, start, end, sp->nitems + n, &more);
	FpbItem    *items = sp->items + sp->nitems;

	for (int i = n; i < n + m; i++)
		items[i].pos = FPB_POS_END; /* not to be hinted dead */
	merge_items(so, items, n, m);
	return copied ? drop_doubles(&so->ix, items, n + m) : n + m;
}

/*
 * Read the entries of the ranges from number first to last into *sp.  The
 * first range begins at *from if that is not NULL, the last ends at *to.  On
 * return, the current range is the last one of which the page may have
 * entries, and sp->after tells how to go on behind the page.  Returns how many
 * items are of the queue's leaf.
 *
 * backward: the first range may begin before the segment.
 */
static int
read_ranges(IndexScanDesc scan, FpbScan *so, FpbScanPage *sp, Segment *seg,
			int64 first, const FpbSearchKey *from,
			int64 last, const FpbSearchKey *to, bool backward)
{
	FpbIndex   *ix = &so->ix;
	FpbScanKeys *keys = &so->keys;
	Reading		leaf = {.tree = ix,.page = seg->leaf};
	Reading		queue = {.tree = so->queue,.page = seg->queue};
	FpbSearchKey low;
	FpbSearchKey high;
	FpbKey		fence;
	int64		range = first;
	int			nqueued = 0;

	sp->nitems = 0;
	if (seg->queue != NULL && backward && !FpbPageIsLeftmost(low_page(so, seg)))
	{
		fpb_page_low(ix, low_page(so, seg), &fence);
		fpb_search_key_from(ix, &fence, &low);
	}
	for (;;)
	{
		const FpbSearchKey *start;
		const FpbSearchKey *end;
		bool		more = true;
		bool		goes_on;
		int			n;

		fpb_keys_set_range(keys, range);
		start = from != NULL ? from : keys->has_lower ? &keys->lower : NULL;
		end = (to != NULL && range == last) ? to :
			keys->has_upper ? &keys->upper : NULL;

		if (seg->queue == NULL)
		{
			n = read_leaf(scan, so, sp, &leaf, start, end, sp->nitems, &more);
			goes_on = more && ends_before(so, seg, end);
		}
		else
		{
			/* not beyond the segment, where the other page may go on */
			goes_on = ends_before(so, seg, end);
			if (goes_on)
			{
				page_high(so, high_page(so, seg), &fence);
				fpb_search_key_from(ix, &fence, &high);
			}
			if (backward && !FpbPageIsLeftmost(low_page(so, seg)) &&
				(start == NULL || fpb_compare_low(ix, low_page(so, seg), start) > 0))
				start = &low;
			n = read_leaf(scan, so, sp, &leaf, start, goes_on ? &high : end, sp->nitems, &more);
			nqueued -= n;
			n = read_queued(scan, so, sp, &queue, start, goes_on ? &high : end, n,
							seg->copied);
			nqueued += n;
		}
		sp->nitems += n;

		if (goes_on)
		{
			set_edge_fence(so, sp, seg, range, true);
			return nqueued;
		}

		range = next_range(so, seg, !more, last);
		if (range > last)
		{
			fpb_edge_set_range(&sp->after, last + 1);
			return nqueued;
		}
		fpb_keys_set_range(keys, range);
		if (ends_by(so, seg, &keys->lower))
		{
			fpb_edge_set_range(&sp->after, range);
			return nqueued;
		}
		from = NULL;
	}
}

/*
 * Forward: read into *sp the segment, locked, that the scan comes to at *at
 * (as a search key, *from), from there on.  Returns how many items are of the
 * queue's leaf.
 */
static int
read_forward(IndexScanDesc scan, FpbScan *so, FpbScanPage *sp, Segment *seg,
			 const FpbScanEdge *at, const FpbSearchKey *from)
{
	fpb_edge_copy(so, &sp->before, at);
	if (!at->inside)
		sp->before.range = at->range - 1;
	return read_ranges(scan, so, sp, seg, at->range, at->inside ? from : NULL,
					   so->keys.nranges - 1, NULL, false);
}

/*
 * Backward: read into *sp the segment, locked, that the scan comes to at *at,
 * up to there.  Likewise.
 */
static int
read_backward(IndexScanDesc scan, FpbScan *so, FpbScanPage *sp, Segment *seg,
			  const FpbScanEdge *at, const FpbSearchKey *from)
{
	FpbIndex   *ix = &so->ix;
	FpbScanKeys *keys = &so->keys;
	Page		page = low_page(so, seg);
	int64		first = at->range;
	FpbKey		low;
	int			nqueued;

	/* the first range that may have entries in this segment */
	if (FpbPageIsLeftmost(page))
		first = 0;
	else
	{
		fpb_page_low(ix, page, &low);
		if (keys->nranges > 1)
			first = Min(first, fpb_keys_seek(keys, &low, true, false));
	}

	nqueued = read_ranges(scan, so, sp, seg, first, NULL,
						  at->range, at->inside ? from : NULL, true);

	fpb_edge_copy(so, &sp->after, at);
	if (at->inside)
		sp->after.right = FpbHdr(seg->leaf)->right;
	else
		sp->after.range = at->range + 1;

	fpb_keys_set_range(keys, first);
	if (FpbPageIsLeftmost(page))
		fpb_edge_set_range(&sp->before, -1);
	else if (keys->has_upper && fpb_compare_low(ix, page, &keys->upper) >= 0)
		fpb_edge_set_range(&sp->before, first); /* it ends before this one */
	else if (!keys->has_lower || fpb_compare_low(ix, page, &keys->lower) > 0)
		set_edge_fence(so, sp, seg, first, false);
	else
		fpb_edge_set_range(&sp->before, first - 1);
	return nqueued;
}

/*
 * Copy a tuple of a page to *to, which is moved behind it; end is that of the
 * room.
 */
static IndexTuple
copy_tuple(FpbScan *so, Page page, IndexTuple tuple, char **to, const char *end)
{
	Size		size = IndexTupleSize(tuple);
	IndexTuple	copy = (IndexTuple) *to;
	const char *fault;

	/* the executor will trust all lengths in it */
	fault = fpb_tuple_fault(&so->ix, tuple,
							BLCKSZ - ((char *) tuple - (char *) page),
							false);
	if (unlikely(fault != NULL))
		fpb_report_damage(so->ix.rel, so->page->block,
						  psprintf("Of an entry: %s.", fault));
	if (unlikely(*to + MAXALIGN(size) > end))
		fpb_report_damage(so->ix.rel, so->page->block,
						  "The page's tuples overlap.");
	memcpy(copy, tuple, size);
	*to += MAXALIGN(size);
	return copy;
}

/*
 * Index-only scans of tuple indexes: copy the tuples of the items read, which
 * are in the segment's pages, to memory of our own.  Items of a page that
 * share a tuple go on sharing it.
 */
static void
copy_tuples(FpbScan *so, const Segment *seg)
{
	FpbScanPage *sp = so->page;
	Size		needed = seg->queue != NULL ? 4 * BLCKSZ : 2 * BLCKSZ;
	char	   *to;
	IndexTuple	last[2] = {NULL, NULL};
	IndexTuple	copy[2] = {NULL, NULL};

	/*
	 * The tuples of a page, aligned, take less than twice the page.  The
	 * executor reads a "name" to its full length though it is stored as a
	 * cstring, hence what is behind.
	 */
	if (sp->tuples_size < needed)
	{
		if (sp->tuples != NULL)
			pfree(sp->tuples);
		sp->tuples = NULL;
		sp->tuples = MemoryContextAllocZero(so->cxt, needed + NAMEDATALEN);
		sp->tuples_size = needed;
	}
	to = sp->tuples;
	for (int i = 0; i < sp->nitems; i++)
	{
		IndexTuple	tuple = sp->items[i].key.tuple;
		int			which = (char *) tuple < (char *) seg->leaf ||
			(char *) tuple >= (char *) seg->leaf + BLCKSZ;

		if (tuple != last[which])
		{
			copy[which] = copy_tuple(so, which == 0 ? seg->leaf : seg->queue, tuple,
									 &to, sp->tuples + sp->tuples_size);
			last[which] = tuple;
		}
		sp->items[i].key.tuple = copy[which];
	}
}

/*
 * The place where a scan goes on in a direction at *at, of which *from becomes
 * the search key if it is a fence; NULL if that is an end of the index.
 */
static const FpbSearchKey *
search_key_at(FpbScan *so, const FpbScanEdge *at, FpbSearchKey *from, bool forward)
{
	FpbScanKeys *keys = &so->keys;

	if (at->inside)
	{
		fpb_search_key_from(&so->ix, &at->key, from);
		return from;
	}
	fpb_keys_set_range(keys, at->range);
	if (forward)
		return keys->has_lower ? &keys->lower : NULL;
	return keys->has_upper ? &keys->upper : NULL;
}

/*
 * Lock the leaf of that place.  No lock is held on entry.
 */
static Buffer
lock_page(FpbScan *so, const FpbScanEdge *at, FpbSearchKey *from, bool forward)
{
	FpbIndex   *ix = &so->ix;
	const FpbSearchKey *search = search_key_at(so, at, from, forward);

	if (search == NULL)
		return fpb_descend_edge(ix, 0, !forward, BUFFER_LOCK_SHARE);
	if (at->inside && forward)
		return fpb_goto_right(ix, at->right, BUFFER_LOCK_SHARE, from);
	return fpb_descend(ix, search, 0, !forward, BUFFER_LOCK_SHARE, NULL);
}

/*
 * Parallel scans: if the page's fences tell how to go on behind it, set the
 * edge at once, for another process to read the next page while this one is
 * being read.  That is so if a range goes on there; reading the page sets the
 * edge again, to the same.
 */
static bool
set_edge_early(FpbScan *so, FpbScanPage *sp, Segment *seg, bool forward)
{
	FpbIndex   *ix = &so->ix;
	FpbScanKeys *keys = &so->keys;

	fpb_keys_set_range(keys, so->at.range);
	if (forward)
	{
		if (!ends_before(so, seg, keys->has_upper ? &keys->upper : NULL))
			return false;
	}
	else
	{
		Page		page = low_page(so, seg);

		if (FpbPageIsLeftmost(page) ||
			(keys->has_upper && fpb_compare_low(ix, page, &keys->upper) >= 0) ||
			(keys->has_lower && fpb_compare_low(ix, page, &keys->lower) <= 0))
			return false;
	}
	set_edge_fence(so, sp, seg, so->at.range, forward);
	return true;
}

/*
 * There is a queue.  If nobody has asked for a worker, and none has counted
 * what is in it, it has come to this index with its file: ask.  No page is
 * locked.
 */
static void
ask_for_worker(FpbScan *so)
{
	FpbShared  *shared = so->filter.shared;

	if (shared != NULL &&
		pg_atomic_read_u32(&shared->wanted) == FPB_NOT_REQUESTED &&
		!fpb_filter_counted(&so->filter, so->ix.rel))
		fpb_worker_request(so->ix.rel);
}

/*
 * Lock the leaf at so->at, and the queue's for the same place, if there is
 * one, and put them into *seg.  Their high fences are known then, and they
 * have been locked for serializable transactions.
 *
 * In recovery there is the copy of the queue's leaf instead.  No lock must be
 * waited for with the main leaf locked: replay may have made a main leaf of
 * the queue's, and have it locked, and wait for ours.
 *
 * The queue is as good as always in memory.  If a page of it is not, it is
 * read with no lock held: others would have to wait for the leaf, and one of
 * them may be who reads that very page, and can't be told that somebody waits
 * for it.
 */
static Buffer
lock_both(IndexScanDesc scan, FpbScan *so, bool forward, Segment *seg,
		  Buffer *queue_buf)
{
	Buffer		buf;

	*queue_buf = InvalidBuffer;
	if (so->ix.may_queue)
	{
		pin_meta(so);
		seg->copied = RecoveryInProgress();
		if (seg->copied)
			seg->queue = copy_queue(scan, so, search_key_at(so, &so->at, &so->from, forward), forward);
		else if (!so->filter_open && queue_root(so) != FPB_METAPAGE)
		{
			fpb_filter_open(&so->filter, so->ix.rel);
			so->filter_open = true;
			ask_for_worker(so);
		}
	}
	for (;;)
	{
		buf = lock_page(so, &so->at, &so->from, forward);
		seg->leaf = BufferGetPage(buf);
		so->page->block = BufferGetBlockNumber(buf);
		fetch_high(so, &so->ix, buf);
		PredicateLockPage(scan->indexRelation, so->page->block, scan->xs_snapshot);
		if (!so->ix.may_queue)
			return buf;
		FPB_INJECTION_POINT("fpbtree-scan-leaf-locked");
		if (seg->copied)
			return buf;
		so->missing = InvalidBlockNumber;
		*queue_buf = lock_queue(scan, so, search_key_at(so, &so->at, &so->from, forward),
								forward, &so->missing);
		if (BufferIsValid(*queue_buf))
			seg->queue = BufferGetPage(*queue_buf);
		if (so->missing == InvalidBlockNumber)
			return buf;
		fpb_relbuf(buf);
		CHECK_FOR_INTERRUPTS();
		FPB_INJECTION_POINT("fpbtree-queue-page-missing");
		ReleaseBuffer(ReadBuffer(so->ix.rel, so->missing));
	}
}

/*
 * Be done with a leaf that has been read: unlock it, and keep it pinned if so
 * wanted.  Returns the buffer if it is pinned, else InvalidBuffer.
 */
static Buffer
done_with(Buffer buf, bool pin)
{
	if (!pin)
	{
		fpb_relbuf(buf);
		return InvalidBuffer;
	}
	LockBuffer(buf, BUFFER_LOCK_UNLOCK);
	return buf;
}

/*
 * Read the next leaf in a direction, from so->at, into so->page, and what the
 * queue has for it.  On return, the pages are unlocked, and pinned only if
 * they have to be; a parallel scan's state is released.
 */
void
fpb_scan_read_page(IndexScanDesc scan, FpbScan *so, bool forward)
{
	FpbScanPage *sp = so->page;
	bool		parallel = scan->parallel_scan != NULL;
	int64		blocks_read = fpb_blocks_read();
	Buffer		buf;
	Buffer		queue_buf;
	Segment		seg = {0};
	int			nqueued;
	bool		pin;

	if (!so->at.inside)
	{
		pgstat_count_index_scan(scan->indexRelation);
		fpb_count_search(scan);
	}
	buf = lock_both(scan, so, forward, &seg, &queue_buf);
	if (blocks_read != fpb_blocks_read())
		so->leaves_active = true;	/* the index is not all in memory */
	if (seg.queue != NULL)
		make_room(so, sp, FPB_MAX_SCAN_ITEMS, 0);
	if (parallel && set_edge_early(so, sp, &seg, forward))
	{
		fpb_parallel_release(scan, so, forward ? &sp->after : &sp->before);
		parallel = false;
	}

	if (forward)
		nqueued = read_forward(scan, so, sp, &seg, &so->at, &so->from);
	else
		nqueued = read_backward(scan, so, sp, &seg, &so->at, &so->from);
	Assert(nqueued == 0 || seg.copied || !is_excluded(so));
	if (parallel)
		fpb_parallel_release(scan, so, forward ? &sp->after : &sp->before);
	check_items(so, sp);
	if (scan->xs_want_itup && !fpb_is_word(&so->ix))
		copy_tuples(so, &seg);

	fpb_scan_note_visible(scan, sp, seg.copied);

	pin = so->keep_pin && !sp->check_rows;
	if (BufferIsValid(queue_buf))
		sp->queue_buf = done_with(queue_buf, pin && nqueued > 0);
	sp->lsn = BufferGetLSNAtomic(buf);
	sp->buf = done_with(buf, pin && sp->nitems > 0);
	sp->valid = true;
	FPB_INJECTION_POINT("fpbtree-leaf-read");
}

/*
 * Read the leaf that the scan will come to at *at into *sp, only to know the
 * TIDs: what is read is not for handing out, as no pin is kept and no
 * predicate lock taken, and what the queue has is not among it.  False if
 * there is none, or if it has elided its high fence: the right sibling might
 * have to be waited for.  No lock is held on entry or exit.
 */
bool
fpb_scan_peek(IndexScanDesc scan, FpbScan *so, FpbScanPage *sp,
			  const FpbScanEdge *at, bool forward)
{
	int64		blocks_read = fpb_blocks_read();
	FpbSearchKey from;
	Buffer		buf;
	Segment		seg = {0};

	if (at->range < 0 || at->range >= so->keys.nranges)
		return false;
	buf = lock_page(so, at, &from, forward);
	if (FpbPageHighElided(BufferGetPage(buf)))
	{
		fpb_relbuf(buf);
		return false;
	}
	if (blocks_read != fpb_blocks_read())
		so->leaves_active = true;
	sp->block = BufferGetBlockNumber(buf);
	seg.leaf = BufferGetPage(buf);
	if (forward)
		(void) read_forward(scan, so, sp, &seg, at, &from);
	else
		(void) read_backward(scan, so, sp, &seg, at, &from);
	fpb_relbuf(buf);
	return true;
}

/*
 * Read into *sp, as the scan will when it comes there at *at, a sound copy of
 * block; keeps no pin and takes no predicate lock.  False if the copy is not
 * the leaf that the scan will come to.
 */
bool
fpb_scan_peek_copy(IndexScanDesc scan, FpbScan *so, FpbScanPage *sp, Page copy,
				   BlockNumber block, const FpbScanEdge *at, bool forward)
{
	FpbSearchKey from;
	const FpbSearchKey *search;
	Segment		seg = {.leaf = copy};

	if (at->range < 0 || at->range >= so->keys.nranges ||
		FpbPageHighElided(copy))
		return false;
	search = search_key_at(so, at, &from, forward);
	if (search == NULL || !fpb_page_covers(&so->ix, copy, search, 0, !forward))
		return false;
	sp->block = block;
	if (forward)
		(void) read_forward(scan, so, sp, &seg, at, &from);
	else
		(void) read_backward(scan, so, sp, &seg, at, &from);
	return true;
}
