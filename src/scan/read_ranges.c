/*-------------------------------------------------------------------------
 *
 * scan/read_ranges.c
 *	  Reading a segment: the entries of all ranges that reach into it.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "scan/reader.h"

/*
 * How far a page has been read.
 */
typedef struct PageReading
{
	const FpbIndex *tree;
	Page		page;
	bool		any;			/* has an entry been read? */
	FpbPos		last;			/* then the last one */
	int			nread;			/* how many, be they kept or not; those that
								 * are passed over as known dead don't count */
	FpbPos		behind;			/* the first entry from here on, if it is not
								 * in the range read, is after it; */
	bool		known;			/* then is this that entry? */
	FpbKey		next;
} PageReading;

/* of so many ranges, all entries between the first and the last are read */
#define DENSE_RANGES	8

/*
 * Have room in *sp for so many items, of which the first n are there.
 */
void
fpb_make_room(FpbScan *so, FpbScanPage *sp, int room, int n)
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

/*
 * Read from a page as fpb_page_read_few does, without entries that are known
 * dead if the scan may pass over these.
 */
static inline int
read_some(FpbReader *r, const PageReading *pr, FpbPos pos, const FpbSearchKey *end,
		  bool near, FpbItem *items, int room, bool *more)
{
	if (r->scan->ignore_killed_tuples && pr->tree == &r->so->ix)
		return fpb_page_read_live(pr->tree, pr->page, pos, end, near, items, room, more);
	return fpb_page_read_few(pr->tree, pr->page, pos, end, near, items, room, more);
}

/*
 * The same, with room for all that a page can have.
 */
static int
read_all(FpbReader *r, const PageReading *pr, FpbPos pos, const FpbSearchKey *end,
		 bool near, FpbItem *items, bool *more)
{
	int			n = read_some(r, pr, pos, end, near, items,
							  (int) FPB_MAX_PAGE_ENTRIES - pr->nread, more);

	if (unlikely(n < 0))
		fpb_report_crowd(pr->tree, pr->page);
	return n;
}

/*
 * Of the n entries read to items[], keep those that pass the filters; returns
 * how many.  The page is locked.
 */
static inline int
keep_matching(FpbReader *r, FpbItem *items, int n)
{
	return r->so->keys.nfilters > 0 ? fpb_keys_keep(&r->so->keys, items, n) : n;
}

/*
 * Is a key before a search key?
 */
static inline bool
is_less(const FpbIndex *ix, const FpbKey *key, const FpbSearchKey *search)
{
	if (!fpb_is_word(ix))
		return fpb_compare(ix, key, search) < 0;
	if (key->head != search->head)
		return key->head < search->head;
	return key->low != search->low ? key->low < search->low : key->tail < search->tail;
}

/*
 * Is a position after all that has been read?
 */
static inline bool
is_after(const PageReading *pr, FpbPos pos)
{
	return !pr->any || fpb_pos_before(pr->last, pos);
}

/*
 * The number of the range that the first entry of a page after r->range is in,
 * or before; nranges if there is none.
 */
static int64
seek_behind(FpbReader *r, const FpbIndex *tree, Page page)
{
	FpbScanKeys *keys = &r->so->keys;
	FpbPos		pos;
	FpbEntry	entry;

	fpb_page_search(tree, page, &r->range->upper, &pos);
	if (!fpb_page_next(tree, page, &pos, &entry))
		return keys->nranges;
	return fpb_keys_seek(keys, &entry.key, false, r->range);
}

/*
 * The number of the first range after r->range that can have an entry which
 * r->range ends before.  Mostly it is the next one, and r->range becomes that.
 */
static int64
range_of_entry(FpbReader *r, const FpbKey *key, int64 last)
{
	FpbScanKeys *keys = &r->so->keys;
	int64		next = r->range->number + 1;
	int64		found;

	if (next > last)
		return next;
	fpb_key_range_set(keys, r->range, next);
	if (!r->range->has_upper || is_less(&r->so->ix, key, &r->range->upper))
		return next;
	found = fpb_keys_seek(keys, key, false, r->range);
	return Max(next + 1, found);
}

/*
 * The number of the next range that can have entries, given what follows
 * r->range: the page's first entry after it if the range has ended on the
 * page, else the high fence.  last: the number of the last range wanted.
 *
 * Of several pages, each may have that entry, or the fence may come first.
 */
static int64
next_range(FpbReader *r, PageReading *leaf, bool ended_on_page, int64 last)
{
	FpbScan    *so = r->so;
	FpbScanKeys *keys = &so->keys;
	FpbSegment *seg = &r->seg;
	int64		range = r->range->number + 1;
	int64		found = keys->nranges;
	Page		high_page;

	if (range > last)
		return range;
	if (seg->nqueued > 0 && r->range->has_upper)
	{
		found = seek_behind(r, &so->ix, seg->leaf);
		for (int i = 0; i < seg->nqueued; i++)
			found = Min(found, seek_behind(r, fpb_tier_of(so, seg->queued[i]), seg->queued[i]));
	}
	else if (ended_on_page)
	{
		FpbEntry	entry;

		if (!leaf->known)
		{
			if (!fpb_page_next(&so->ix, seg->leaf, &leaf->behind, &entry))
				return range;
			leaf->next = entry.key;
		}
		return range_of_entry(r, &leaf->next, last);
	}
	high_page = fpb_segment_high_page(so, seg);
	if (!FpbPageIsRightmost(high_page))
	{
		FpbKey		high;
		int64		behind;

		fpb_scan_page_high(so, high_page, &high);
		behind = fpb_keys_seek(keys, &high, true, r->range);
		found = Min(found, behind);
	}
	return Max(range, found);
}

/*
 * Read what a page has from a position to end (NULL: its end), after the
 * nitems that r->sp has; returns how many.  *more becomes false if there is an
 * entry >= end.
 */
static int
read_on(FpbReader *r, PageReading *pr, FpbPos pos, const FpbSearchKey *end, bool near,
		int nitems, bool *more)
{
	FpbScanPage *sp = r->sp;
	int			most = (int) FPB_MAX_PAGE_ENTRIES - pr->nread;
	int			n = -1;

	pr->behind = pos;
	pr->known = false;
	if (sp->room - nitems < most)
		n = read_some(r, pr, pos, end, near, sp->items + nitems, sp->room - nitems, more);
	if (n < 0)
	{
		fpb_make_room(r->so, sp, FPB_MAX_PAGE_ENTRIES, nitems);
		n = read_all(r, pr, pos, end, near, sp->items + nitems, more);
	}
	if (n == 0)
		return 0;
	pr->any = true;
	pr->last = sp->items[nitems + n - 1].pos;
	pr->behind = fpb_pos_behind(pr->last);
	pr->nread += n;
	return n;
}

/*
 * The position in a page that reading begins at, from start (NULL: its
 * beginning).  *in_order: is that after what has been read?
 */
static FpbPos
begin_at(const PageReading *pr, const FpbSearchKey *start, bool *in_order)
{
	FpbPos		pos = FPB_POS_FIRST;

	if (start != NULL)
		fpb_page_search(pr->tree, pr->page, start, &pos);
	*in_order = is_after(pr, pos);

	/*
	 * The ranges are disjoint and in order, so the page's entries can't be,
	 * or a cross-type operator is not transitive.  No entry must be read
	 * twice: there is room for each once.
	 */
	return *in_order ? pos : fpb_pos_behind(pr->last);
}

/*
 * Read what a page has from start (NULL: its beginning) to end (NULL: its end)
 * and keep what matches, after the nitems that r->sp has; returns how many.
 * *more becomes false if there is an entry >= end.
 */
static int
read_page(FpbReader *r, PageReading *pr, const FpbSearchKey *start,
		  const FpbSearchKey *end, int nitems, bool *more)
{
	bool		in_order;
	FpbPos		pos = begin_at(pr, start, &in_order);
	int			n = read_on(r, pr, pos, end, in_order, nitems, more);

	return n == 0 ? 0 : keep_matching(r, r->sp->items + nitems, n);
}

/*
 * The same as read_page, for one of many ranges.  It mostly has an entry or
 * two, so the first ones are read one by one.
 */
static int
read_one_of_many(FpbReader *r, PageReading *pr, const FpbSearchKey *start,
				 const FpbSearchKey *end, int nitems, bool *more)
{
	FpbScanPage *sp = r->sp;
	FpbReadFirst first;
	int			n;

	fpb_make_room(r->so, sp, nitems + FPB_FIRST_ITEMS <= FPB_PART_ITEMS ? FPB_PART_ITEMS :
				  FPB_MAX_PAGE_ENTRIES + FPB_FIRST_ITEMS, nitems);
	n = fpb_page_read_first(pr->tree, pr->page, start, end, r->scan->ignore_killed_tuples,
							FPB_FIRST_ITEMS, sp->items + nitems, &first);
	if (unlikely(!is_after(pr, first.begin)))
		return read_page(r, pr, start, end, nitems, more);
	pr->nread += first.nread;
	if (unlikely(pr->nread > FPB_MAX_PAGE_ENTRIES))
		fpb_report_crowd(pr->tree, pr->page);
	if (first.nread > 0)
	{
		pr->any = true;
		pr->last = first.last;
	}
	pr->behind = first.behind;
	pr->known = first.stop == FPB_STOP_END;
	if (pr->known)
	{
		pr->next = first.next;
		*more = false;
	}
	else if (first.stop == FPB_STOP_ENOUGH)
		n += read_on(r, pr, first.behind, end, true, nitems + n, more);
	return n == 0 ? 0 : keep_matching(r, sp->items + nitems, n);
}

/*
 * How far a leaf has been read by leaps.
 */
typedef struct LeapReading
{
	FpbPos		pos;			/* where the next entries are read */
	int			enough;			/* so many, and the rest of a node; 0: one by
								 * one */
	int			nleaps;			/* how often it has been asked where to leap */
	int			nitems;			/* in r->sp */
	bool		more;			/* has there been no entry after those that
								 * match? */
	bool		ended;			/* is there nothing more to be read? */
} LeapReading;

/*
 * Where a scan has leapt to, it reads so many entries one by one, then so many
 * at once, then twice as many, and so on, and so many at most.
 */
#define LEAP_SINGLY	2
#define LEAP_FIRST	8
#define LEAP_MOST	64

/*
 * How many of n items, from number i on, are before a place?
 */
static inline int
count_before(const FpbIndex *ix, const FpbItem *items, int i, int n, const FpbSearchKey *place)
{
	int			first = i;

	if (i < n && is_less(ix, &items[n - 1].key, place))
		return n - i;
	while (i < n && is_less(ix, &items[i].key, place))
		i++;
	return i - first;
}

/*
 * Of n items, keep those that match; returns how many.  *leap and *place are
 * set as fpb_keys_leap sets them for the last one, *nleaps grows by how often
 * it has been asked.
 *
 * It is asked for the first of them, which is the first of a run of items that
 * match, or of some that don't, then for the next one, and so on.  But where
 * the filters look at codes alone, that takes less time, and it is asked for
 * the last item alone.
 */
static int
keep_runs(FpbReader *r, FpbItem *items, int n, FpbTupleSpace *space, FpbSearchKey *place,
		  FpbLeap *leap, int *nleaps)
{
	FpbScanKeys *keys = &r->so->keys;
	int			i = keys->by_code ? n - 1 : 0;
	int			kept = 0;

	while (i < n)
	{
		int			passed;

		++*nleaps;
		*leap = fpb_keys_leap(keys, &items[i].key, false, true, space, place);
		if (keys->by_code)
			return fpb_keys_keep(keys, items, n);
		if (*leap == FPB_LEAP_OVER)
			break;

		/* at least this entry, whatever the comparators say */
		passed = 1 + count_before(&r->so->ix, items, i + 1, n, place);
		if (*leap == FPB_LEAP_NOT)
		{
			memmove(&items[kept], &items[i], passed * sizeof(FpbItem));
			kept += passed;
		}
		i += passed;
	}
	return keys->sets_decide ? kept : keep_matching(r, items, kept);
}

/*
 * Leap from what has been read of a leaf, the last of it or the next entry, to
 * a place: on to there, unless that is beyond the leaf.
 */
static void
leap_in_leaf(FpbReader *r, Page page, const FpbSearchKey *place, LeapReading *lr)
{
	FpbPos		pos;

	lr->ended = fpb_segment_ends_by(r->so, &r->seg, place);
	if (lr->ended)
	{
		r->leaps_out = fpb_edge_set_place(r->so, &r->sp->after, place);
		return;
	}
	fpb_page_search(&r->so->ix, page, place, &pos);
	if (fpb_pos_before(lr->pos, pos))
		lr->pos = pos;
	lr->enough = 0;
}

/*
 * Going backward, the range may begin before the leaf: leap from its low
 * fence.
 */
static void
leap_from_low(FpbReader *r, PageReading *pr, const FpbSearchKey *start, LeapReading *lr)
{
	const FpbIndex *ix = &r->so->ix;
	FpbTupleSpace space;
	FpbSearchKey place;
	FpbKey		low;

	if (FpbPageIsLeftmost(pr->page) ||
		(start != NULL && fpb_compare_low(ix, pr->page, start) <= 0))
		return;
	fpb_page_low(ix, pr->page, &low);
	lr->nleaps++;
	if (fpb_keys_leap(&r->so->keys, &low, true, true, &space, &place) == FPB_LEAP_TO)
		leap_in_leaf(r, pr->page, &place, lr);
}

/*
 * Read the next entries of a leaf one by one, a few at most, and keep those
 * that match.  From the first one that does not, leap.
 *
 * Where a scan leaps to there is often one entry that matches, or none.
 */
static void
read_singly(FpbReader *r, PageReading *pr, const FpbSearchKey *end, LeapReading *lr)
{
	FpbScan    *so = r->so;
	const FpbIndex *ix = &so->ix;
	FpbEntry	entry;

	if (lr->nitems + LEAP_SINGLY > r->sp->room)
		fpb_make_room(so, r->sp, lr->nitems + LEAP_SINGLY <= FPB_PART_ITEMS ? FPB_PART_ITEMS :
					  FPB_MAX_PAGE_ENTRIES + LEAP_SINGLY, lr->nitems);
	for (int n = 0; n < LEAP_SINGLY; n++)
	{
		FpbItem    *item = &r->sp->items[lr->nitems];
		FpbTupleSpace space;
		FpbSearchKey place;
		FpbLeap		leap;

		pr->behind = lr->pos;
		lr->ended = !fpb_page_next(ix, pr->page, &lr->pos, &entry);
		if (lr->ended)
			return;
		if (end != NULL && !is_less(ix, &entry.key, end))
		{
			lr->ended = true;
			lr->more = false;
			return;
		}

		item->key = entry.key;
		item->pos = lr->pos;
		if (fpb_keys_keep(&so->keys, item, 1) == 0)
		{
			lr->nleaps++;
			leap = fpb_keys_leap(&so->keys, &entry.key, false, true, &space, &place);
			lr->ended = leap == FPB_LEAP_OVER;
			lr->more &= !lr->ended;
			if (leap == FPB_LEAP_TO)
				leap_in_leaf(r, pr->page, &place, lr);
			else
				lr->enough = LEAP_FIRST;
			return;
		}
		pr->any = true;
		pr->last = lr->pos;
		if (++pr->nread > FPB_MAX_PAGE_ENTRIES)
			fpb_report_crowd(ix, pr->page);
		if (!r->scan->ignore_killed_tuples || !fpb_page_is_killed(ix, pr->page, lr->pos))
			lr->nitems++;
		lr->pos = fpb_pos_behind(lr->pos);
	}
	lr->enough = LEAP_FIRST;
}

/*
 * Read some entries of a leaf, and keep those that match.  The next ones are
 * behind them, or where the scan leaps to from the last.
 */
static void
read_many(FpbReader *r, PageReading *pr, const FpbSearchKey *end, LeapReading *lr)
{
	FpbScan    *so = r->so;
	const FpbIndex *ix = &so->ix;
	FpbScanPage *sp = r->sp;
	FpbItem    *items;
	FpbTupleSpace space;
	FpbSearchKey place;
	FpbLeap		leap = FPB_LEAP_NOT;
	bool		all;
	int			n;

	fpb_make_room(so, sp, FPB_PART_ITEMS, lr->nitems);
	while ((n = fpb_page_read_part(ix, pr->page, &lr->pos, end, r->scan->ignore_killed_tuples,
								   lr->enough, sp->items + lr->nitems, sp->room - lr->nitems,
								   &lr->more, &all)) < 0)
	{
		if (sp->room >= FPB_MAX_PAGE_ENTRIES)
			fpb_report_crowd(ix, pr->page);
		fpb_make_room(so, sp, FPB_MAX_PAGE_ENTRIES, lr->nitems);
	}
	pr->behind = lr->pos;
	items = sp->items + lr->nitems;
	pr->nread += n;
	if (pr->nread > FPB_MAX_PAGE_ENTRIES)
		fpb_report_crowd(ix, pr->page);
	if (n > 0)
	{
		pr->any = true;
		pr->last = items[n - 1].pos;
		if (all)
			pr->behind = fpb_pos_behind(pr->last);
		lr->nitems += keep_runs(r, items, n, &space, &place, &leap, &lr->nleaps);
	}

	lr->more &= leap != FPB_LEAP_OVER;
	lr->ended = all || leap == FPB_LEAP_OVER;
	if (lr->ended)
		return;
	if (leap == FPB_LEAP_TO)
		leap_in_leaf(r, pr->page, &place, lr);
	else
		lr->enough = Min(lr->enough * 2, LEAP_MOST);
}

/*
 * The same as read_page, for a leaf alone, and for keys that let the scan
 * leap.  If that has to be asked more often than seems to pay, the rest of
 * what the leaf has for the range is read at once, and the next leaf after
 * fewer leaps.
 */
static int
read_leaping(FpbReader *r, PageReading *pr, const FpbSearchKey *start,
			 const FpbSearchKey *end, int nitems, bool *more)
{
	FpbScan    *so = r->so;
	LeapReading lr = {.nitems = nitems,.more = true};
	bool		in_order;
	int			n = 0;

	/* the end of the range is hardly ever in the leaf */
	if (end != NULL && fpb_segment_ends_before(so, &r->seg, end))
		end = NULL;
	r->leaps_out = false;
	lr.pos = begin_at(pr, start, &in_order);
	if (!r->forward)
		leap_from_low(r, pr, start, &lr);
	while (!lr.ended && lr.nleaps < so->leaps)
	{
		if (lr.enough == 0)
			read_singly(r, pr, end, &lr);
		else
			read_many(r, pr, end, &lr);
	}
	if (lr.ended)
		so->leaps = Min(so->leaps * 2, FPB_MOST_LEAPS);
	else
	{
		so->leaps = Max(so->leaps / 2, 1);
		n = read_on(r, pr, lr.pos, end, false, lr.nitems, &lr.more);
		n = keep_matching(r, r->sp->items + lr.nitems, n);
	}
	*more &= lr.more;
	return lr.nitems + n - nitems;
}

/*
 * Are there so many ranges, from number first to last, in the leaf that its
 * entries had better be read all at once?  Then the queue has none for it.
 * r->range is the first.
 */
static bool
is_dense(FpbReader *r, int64 first, int64 last)
{
	FpbKey		high;

	if (r->seg.nqueued > 0 || last - first < DENSE_RANGES)
		return false;
	if (FpbPageIsRightmost(r->seg.leaf))
		return true;
	fpb_scan_page_high(r->so, r->seg.leaf, &high);
	return fpb_keys_seek(&r->so->keys, &high, true, r->range) - first >= DENSE_RANGES;
}

/*
 * The same as read_ranges, for a leaf alone: its entries are read at once, and
 * those that are in a range are kept.
 */
static void
read_dense(FpbReader *r, int64 first, const FpbSearchKey *from,
		   int64 last, const FpbSearchKey *to)
{
	FpbScan    *so = r->so;
	FpbIndex   *ix = &so->ix;
	FpbScanPage *sp = r->sp;
	FpbKeyRange *range = r->range;
	PageReading leaf = {.tree = ix,.page = r->seg.leaf};
	FpbPos		pos = FPB_POS_FIRST;
	FpbItem    *items;
	bool		more;
	int64		number = first;
	int			i = 0;
	int			kept = 0;

	fpb_make_room(so, sp, FPB_MAX_PAGE_ENTRIES, 0);
	items = sp->items;
	if (from != NULL || range->has_lower)
		fpb_page_search(ix, leaf.page, from != NULL ? from : &range->lower, &pos);
	leaf.nread = read_all(r, &leaf, pos, NULL, false, items, &more);
	for (;;)
	{
		const FpbSearchKey *end = (to != NULL && number == last) ? to :
			range->has_upper ? &range->upper : NULL;

		if (number > first)
		{
			while (i < leaf.nread && is_less(ix, &items[i].key, &range->lower))
				i++;
			if (i == leaf.nread && fpb_segment_ends_by(so, &r->seg, &range->lower))
			{
				fpb_edge_set_range(&sp->after, number);
				break;
			}
		}
		for (; i < leaf.nread && (end == NULL || is_less(ix, &items[i].key, end)); i++)
			items[kept++] = items[i];
		if (i < leaf.nread)
			number = range_of_entry(r, &items[i].key, last);
		else if (fpb_segment_ends_before(so, &r->seg, end))
		{
			fpb_set_edge_on(r, true);
			break;
		}
		else
			number = next_range(r, &leaf, false, last);
		if (number > last)
		{
			fpb_edge_set_range(&sp->after, last + 1);
			break;
		}
		fpb_key_range_set(&so->keys, range, number);
	}
	sp->nitems = keep_matching(r, items, kept);
}

/*
 * Read the entries of the ranges from number first to last into r->sp.  The
 * first range begins at *from if that is not NULL, the last ends at *to.  On
 * return, r->range is the last one of which the segment may have entries, and
 * r->sp->after tells how to go on after the segment.  Returns how many items
 * are of the queue.
 *
 * Backward, the first range may begin before the segment.
 */
static int
read_ranges(FpbReader *r, int64 first, const FpbSearchKey *from,
			int64 last, const FpbSearchKey *to)
{
	FpbScan    *so = r->so;
	FpbIndex   *ix = &so->ix;
	FpbScanPage *sp = r->sp;
	FpbSegment *seg = &r->seg;
	FpbKeyRange *range = r->range;
	PageReading leaf = {.tree = ix,.page = seg->leaf};
	PageReading queued[FPB_TIERS];
	FpbSearchKey low;
	FpbSearchKey high;
	FpbKey		fence;
	int64		number = first;
	int			nqueued = 0;

	fpb_key_range_set(&so->keys, range, first);
	if (is_dense(r, first, last))
	{
		read_dense(r, first, from, last, to);
		return 0;
	}
	sp->nitems = 0;
	for (int i = 0; i < seg->nqueued; i++)
		queued[i] = (PageReading)
	{
		.tree = fpb_tier_of(so, seg->queued[i]),.page = seg->queued[i]
	};
	if (seg->nqueued > 0 && !r->forward &&
		!FpbPageIsLeftmost(fpb_segment_low_page(so, seg)))
	{
		fpb_page_low(ix, fpb_segment_low_page(so, seg), &fence);
		fpb_search_key_from(ix, &fence, &low);
	}
	for (;;)
	{
		const FpbSearchKey *start;
		const FpbSearchKey *end;
		bool		more = true;
		bool		goes_on;
		int			n;

		fpb_key_range_set(&so->keys, range, number);
		start = from != NULL ? from : range->has_lower ? &range->lower : NULL;
		end = (to != NULL && number == last) ? to :
			range->has_upper ? &range->upper : NULL;

		if (seg->nqueued == 0)
		{
			n = so->keys.leaps ? read_leaping(r, &leaf, start, end, sp->nitems, &more) :
				last > first ? read_one_of_many(r, &leaf, start, end, sp->nitems, &more) :
				read_page(r, &leaf, start, end, sp->nitems, &more);
			goes_on = more && fpb_segment_ends_before(so, seg, end);
		}
		else
		{
			bool		more_queued;
			int			of_leaf;

			/* not beyond the segment, where another page may go on */
			goes_on = fpb_segment_ends_before(so, seg, end);
			if (goes_on)
			{
				fpb_scan_page_high(so, fpb_segment_high_page(so, seg), &fence);
				fpb_search_key_from(ix, &fence, &high);
				end = &high;
			}
			if (!r->forward && !FpbPageIsLeftmost(fpb_segment_low_page(so, seg)) &&
				(start == NULL || fpb_compare_low(ix, fpb_segment_low_page(so, seg), start) > 0))
				start = &low;
			n = of_leaf = read_page(r, &leaf, start, end, sp->nitems, &more);
			for (int i = 0; i < seg->nqueued; i++)
			{
				int			m = read_page(r, &queued[i], start, end, sp->nitems + n,
										  &more_queued);

				n = fpb_merge_queue(so, sp->items + sp->nitems, n, m, seg->copied);
			}
			nqueued += n - of_leaf;
		}
		sp->nitems += n;

		if (goes_on)
		{
			fpb_set_edge_on(r, true);
			return nqueued;
		}

		number = next_range(r, &leaf, !more, last);
		if (number > last)
		{
			fpb_edge_set_range(&sp->after, last + 1);
			return nqueued;
		}
		fpb_key_range_set(&so->keys, range, number);
		if (fpb_segment_ends_by(so, seg, &range->lower))
		{
			fpb_edge_set_range(&sp->after, number);
			return nqueued;
		}
		from = NULL;
	}
}

/*
 * Forward: read the segment from r->at on.
 */
static int
read_forward(FpbReader *r)
{
	FpbScanPage *sp = r->sp;
	const FpbScanEdge *at = r->at;

	fpb_edge_copy(r->so, &sp->before, at);
	if (!at->inside)
		sp->before.range = at->range - 1;
	return read_ranges(r, at->range, at->inside ? &r->from : NULL,
					   r->so->keys.nranges - 1, NULL);
}

/*
 * Backward: read the segment up to r->at.
 */
static int
read_backward(FpbReader *r)
{
	FpbScan    *so = r->so;
	FpbIndex   *ix = &so->ix;
	FpbScanKeys *keys = &so->keys;
	FpbScanPage *sp = r->sp;
	const FpbScanEdge *at = r->at;
	Page		page = fpb_segment_low_page(so, &r->seg);
	int64		first = at->range;
	FpbKey		low;
	int			nqueued;

	/* the first range that may have entries in this segment */
	if (FpbPageIsLeftmost(page))
		first = 0;
	else
	{
		int64		found;

		fpb_page_low(ix, page, &low);
		found = keys->nranges > 1 ? fpb_keys_seek(keys, &low, true, NULL) : first;
		first = Min(first, found);
	}

	nqueued = read_ranges(r, first, NULL, at->range, at->inside ? &r->from : NULL);

	fpb_edge_copy(so, &sp->after, at);
	if (at->inside)
		sp->after.right = FpbHdr(r->seg.leaf)->right;
	else
		sp->after.range = at->range + 1;

	fpb_set_edge_before(r, first);
	return nqueued;
}

/*
 * Read the segment, whose pages are locked or copies, into r->sp: what a scan
 * has to hand out when it comes there at r->at, and how it goes on in either
 * direction.  Returns how many items are of the queue.
 */
int
fpb_read_segment(FpbReader *r)
{
	return r->forward ? read_forward(r) : read_backward(r);
}
