/*-------------------------------------------------------------------------
 *
 * scan/segment.c
 *	  The fences of what is read at a time: of a leaf, and of those of the
 *	  queue's tiers for the same place.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "scan/reader.h"

/*
 * Raise an error unless the key of an edge, a page's whole fence or an entry,
 * is sound: all of its columns will be taken out of it.
 */
static void
check_key(FpbScan *so, FpbScanPage *sp, const FpbKey *key, bool pivot)
{
	const char *fault;

	if (key->tuple == NULL)
		return;
	fault = fpb_tuple_fault(&so->ix, key->tuple, IndexTupleSize(key->tuple),
							pivot ? FPB_TUPLE_PIVOT :
							key->cut_in != NULL ? FPB_TUPLE_STORED : FPB_TUPLE_WHOLE);
	if (unlikely(fault != NULL))
		fpb_report_damage(so->ix.rel, sp->block,
						  psprintf("Of %s: %s.", pivot ? "a fence" : "an entry", fault));
}

/*
 * Does a page begin after another one?
 */
static bool
begins_later(FpbScan *so, Page page, Page other)
{
	FpbKey		low;
	FpbSearchKey search;

	if (FpbPageIsLeftmost(other))
		return !FpbPageIsLeftmost(page);
	fpb_page_low(&so->ix, other, &low);
	fpb_search_key_from(&so->ix, &low, &search);
	return fpb_compare_low(&so->ix, page, &search) > 0;
}

/*
 * Does a page end before another one?
 */
static bool
ends_earlier(FpbScan *so, Page page, Page other)
{
	FpbKey		high;
	FpbSearchKey search;

	if (FpbPageIsRightmost(other))
		return !FpbPageIsRightmost(page);
	fpb_scan_page_high(so, other, &high);
	fpb_search_key_from(&so->ix, &high, &search);
	return fpb_scan_compare_high(so, page, &search) < 0;
}

/*
 * The page by whose low fence a segment begins.
 */
Page
fpb_segment_low_page(FpbScan *so, FpbSegment *seg)
{
	if (seg->low_page == NULL)
	{
		seg->low_page = seg->leaf;
		for (int i = 0; i < seg->nqueued; i++)
			if (begins_later(so, seg->queued[i], seg->low_page))
				seg->low_page = seg->queued[i];
	}
	return seg->low_page;
}

/*
 * The page by whose high fence a segment ends.
 */
Page
fpb_segment_high_page(FpbScan *so, FpbSegment *seg)
{
	if (seg->high_page == NULL)
	{
		seg->high_page = seg->leaf;
		for (int i = 0; i < seg->nqueued; i++)
			if (ends_earlier(so, seg->queued[i], seg->high_page))
				seg->high_page = seg->queued[i];
	}
	return seg->high_page;
}

/*
 * The segment's high fence (forward), or its low one, whole and sound.
 */
static void
get_fence(FpbReader *r, bool forward, FpbKey *fence)
{
	FpbScan    *so = r->so;

	if (forward)
		fpb_scan_page_high(so, fpb_segment_high_page(so, &r->seg), fence);
	else
		fpb_page_low(&so->ix, fpb_segment_low_page(so, &r->seg), fence);
	check_key(so, r->sp, fence, true);
}

/*
 * Set the edge after the segment (forward), or before it, in the middle of
 * r->range: the scan goes on at the segment's fence.
 */
void
fpb_set_edge_fence(FpbReader *r, bool forward)
{
	FpbScan    *so = r->so;
	FpbSegment *seg = &r->seg;
	FpbScanEdge *edge = forward ? &r->sp->after : &r->sp->before;
	FpbKey		fence;

	get_fence(r, forward, &fence);
	edge->right = InvalidBlockNumber;
	if (forward)
	{
		/* the leaf goes on where the queue's ends */
		edge->right = seg->high_page == seg->leaf ? FpbHdr(seg->leaf)->right : r->sp->block;
	}
	fpb_edge_set_key(so, edge, &fence);
	edge->range = r->range->number;
	edge->same_leaf = (forward ? seg->high_page : seg->low_page) != seg->leaf;
}

/*
 * The same, but the scan goes on where it leaps to from the fence, or has
 * leapt to from an entry: then it would leap there from the fence, too,
 * because the fence lies before that place, and no key in between can satisfy
 * the keys.
 */
void
fpb_set_edge_on(FpbReader *r, bool forward)
{
	FpbScan    *so = r->so;
	FpbScanEdge *edge = forward ? &r->sp->after : &r->sp->before;
	FpbTupleSpace space;
	FpbSearchKey place;
	FpbKey		fence;

	if (forward && r->leaps_out)
	{
		edge->range = r->range->number;
		return;
	}
	if (so->keys.leaps)
	{
		get_fence(r, forward, &fence);
		switch (fpb_keys_leap(&so->keys, &fence, true, forward, &space, &place))
		{
			case FPB_LEAP_NOT:
				break;
			case FPB_LEAP_TO:
				if (!fpb_edge_set_place(so, edge, &place))
					break;
				edge->range = r->range->number;
				return;
			case FPB_LEAP_OVER:
				fpb_edge_set_range(edge, r->range->number + (forward ? 1 : -1));
				return;
		}
	}
	fpb_set_edge_fence(r, forward);
}

/*
 * Set the edge after what has been read (forward), or before it, in the leaf
 * itself: after all entries < key, and before the others.  key is an entry's.
 */
void
fpb_set_edge_entry(FpbReader *r, bool forward, const FpbKey *key)
{
	FpbScanEdge *edge = forward ? &r->sp->after : &r->sp->before;

	check_key(r->so, r->sp, key, false);
	fpb_edge_set_key(r->so, edge, key);
	edge->range = r->range->number;
	edge->same_leaf = true;
	edge->right = r->sp->block;
}

/*
 * Set the edge before the segment, of which range number first is the first
 * that may have entries in it.
 */
void
fpb_set_edge_before(FpbReader *r, int64 first)
{
	FpbScan    *so = r->so;
	FpbIndex   *ix = &so->ix;
	FpbKeyRange *range = r->range;
	Page		page = fpb_segment_low_page(so, &r->seg);

	fpb_key_range_set(&so->keys, range, first);
	if (FpbPageIsLeftmost(page))
		fpb_edge_set_range(&r->sp->before, -1);
	else if (range->has_upper && fpb_compare_low(ix, page, &range->upper) >= 0)
		fpb_edge_set_range(&r->sp->before, first);	/* it ends before this one */
	else if (!range->has_lower || fpb_compare_low(ix, page, &range->lower) > 0)
		fpb_set_edge_on(r, false);
	else
		fpb_edge_set_range(&r->sp->before, first - 1);
}

/*
 * Parallel scans: if the segment's fences tell how to go on after it, set the
 * edge before the segment is read, so that another process can read the next
 * one meanwhile.  They do if the first range goes on there; reading the
 * segment sets the edge again, to the same.
 */
bool
fpb_set_edge_early(FpbReader *r)
{
	FpbScan    *so = r->so;
	FpbKeyRange *range = r->range;

	fpb_key_range_set(&so->keys, range, r->at->range);
	if (r->forward)
	{
		if (!fpb_segment_ends_before(so, &r->seg, range->has_upper ? &range->upper : NULL))
			return false;
	}
	else
	{
		Page		page = fpb_segment_low_page(so, &r->seg);

		if (FpbPageIsLeftmost(page) ||
			(range->has_upper && fpb_compare_low(&so->ix, page, &range->upper) >= 0) ||
			(range->has_lower && fpb_compare_low(&so->ix, page, &range->lower) <= 0))
			return false;
	}
	fpb_set_edge_on(r, r->forward);
	return true;
}
