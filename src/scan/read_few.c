/*-------------------------------------------------------------------------
 *
 * scan/read_few.c
 *	  Reading the first few entries of a range, because the scan may want no more.
 *
 * LIMIT 1, EXISTS, min and max want one row of a range that may have hundreds
 * of entries in a leaf.  So a scan reads few entries at first.  If it wants
 * more, it comes back to the leaf and reads some more, and at last the rest.
 *
 * What has been read ends amid the leaf, at an edge like any other: the key
 * and TID of an entry.  All entries on this side of the edge have been read,
 * and none on the other side.  So it does not matter what becomes of the leaf,
 * or of that entry, before the scan comes back.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "scan/reader.h"

/*
 * Add an entry to the items read, unless it is known dead.  Returns whether it
 * has been added.
 */
static inline bool
add_item(FpbReader *r, const FpbEntry *entry, FpbPos pos)
{
	FpbScanPage *sp = r->sp;

	if (r->scan->ignore_killed_tuples && fpb_page_is_killed(&r->so->ix, r->seg.leaf, pos))
		return false;
	sp->items[sp->nitems].key = entry->key;
	sp->items[sp->nitems].pos = pos;
	sp->nitems++;
	return true;
}

/*
 * There has not been room for so many entries with the rest of the last one's
 * node: make more.
 */
static void
make_more_room(FpbReader *r, int enough)
{
	int			room = enough > FPB_NEXT_ITEMS ? FPB_LARGE_PART_ITEMS : FPB_PART_ITEMS;

	if (r->sp->room >= FPB_MAX_PAGE_ENTRIES)
		fpb_report_crowd(&r->so->ix, r->seg.leaf);
	fpb_make_room(r->so, r->sp, r->sp->room < room ? room : FPB_MAX_PAGE_ENTRIES, 0);
}

/*
 * Forward: set the edge where the page has no more entries of the range.
 * more: there is none after it.
 */
static inline void
set_edge_of_page(FpbReader *r, const FpbSearchKey *end, bool more)
{
	if (more && fpb_segment_ends_before(r->so, &r->seg, end))
		fpb_set_edge_fence(r, true);
	else
		fpb_edge_set_range(&r->sp->after, 1);
}

/*
 * Forward: read so many entries of the range from a position on, or some more,
 * without those that are known dead, and set the edge after them.
 */
static pg_noinline void
read_part(FpbReader *r, FpbPos pos, const FpbSearchKey *end, int enough)
{
	FpbIndex   *ix = &r->so->ix;
	Page		page = r->seg.leaf;
	FpbScanPage *sp = r->sp;
	const FpbScanKeys *keys = &r->so->keys;
	bool		live = r->scan->ignore_killed_tuples;
	bool		more = true;
	bool		all;
	FpbEntry	entry;
	int			n;

	/* the end of a range that has no bound there is hardly ever in the leaf */
	if (end != NULL && keys->range_lower != NULL && keys->range_upper == NULL &&
		fpb_segment_ends_before(r->so, &r->seg, end))
		end = NULL;
	while ((n = fpb_page_read_part(ix, page, &pos, end, live, enough, sp->items, sp->room,
								   &more, &all)) < 0)
		make_more_room(r, enough);
	sp->nitems = n;
	if (all || !fpb_page_next(ix, page, &pos, &entry))
		set_edge_of_page(r, end, more);
	else if (end != NULL && fpb_compare(ix, &entry.key, end) >= 0)
		fpb_edge_set_range(&sp->after, 1);
	else
		fpb_set_edge_entry(r, true, &entry.key);
}

/*
 * Forward: read the first entries of the range from a place on (NULL: the
 * beginning of the page), and set the edge after them.  False, with none read,
 * if the first one, at *pos, is known dead.
 */
static inline bool
read_first(FpbReader *r, const FpbSearchKey *start, const FpbSearchKey *end, FpbPos *pos)
{
	FpbScanPage *sp = r->sp;
	FpbReadFirst first;

	sp->nitems = fpb_page_read_first(&r->so->ix, r->seg.leaf, start, end,
									 r->scan->ignore_killed_tuples, FPB_FIRST_ITEMS, sp->items,
									 &first);
	if (first.first_killed)
	{
		sp->nitems = 0;
		*pos = first.begin;
		return false;
	}
	switch (first.stop)
	{
		case FPB_STOP_END:
			fpb_edge_set_range(&sp->after, 1);
			break;
		case FPB_STOP_ENOUGH:
			fpb_set_edge_entry(r, true, &first.next);
			break;
		case FPB_STOP_PAGE:
			set_edge_of_page(r, end, true);
			break;
	}
	return true;
}

/*
 * Forward: read the next entries of the range.
 */
static inline void
read_forward(FpbReader *r)
{
	FpbKeyRange *range = r->range;
	const FpbSearchKey *start = r->at->inside ? &r->from : range->has_lower ? &range->lower : NULL;
	const FpbSearchKey *end = range->has_upper ? &range->upper : NULL;
	FpbPos		pos = FPB_POS_FIRST;

	if (r->so->cursor.part == FPB_FIRST_ITEMS)
	{
		if (read_first(r, start, end, &pos))
			return;
	}
	else if (start != NULL)
		fpb_page_search(&r->so->ix, r->seg.leaf, start, &pos);
	read_part(r, pos, end, r->so->cursor.part);
}

/*
 * Turn the items read round, into the order of the index.
 */
static void
reverse_items(FpbScanPage *sp)
{
	for (int i = 0, j = sp->nitems - 1; i < j; i++, j--)
	{
		FpbItem		item = sp->items[i];

		sp->items[i] = sp->items[j];
		sp->items[j] = item;
	}
}

/*
 * Backward: read the next entries of the range, before *pos, one by one, and
 * set the edge before them.  False, with none read, if the first of them is
 * known dead.
 */
static bool
read_last(FpbReader *r, FpbPos pos)
{
	FpbIndex   *ix = &r->so->ix;
	Page		page = r->seg.leaf;
	FpbScanPage *sp = r->sp;
	FpbKeyRange *range = r->range;
	uint64		head = !range->has_lower ? 0 : fpb_page_search_head(ix, page, &range->lower);
	FpbKey		first = {0};

	for (int n = 0;; n++)
	{
		FpbEntry	entry;

		if (!fpb_page_prev(ix, page, &pos, &entry))
		{
			fpb_set_edge_before(r, 0);
			break;
		}
		if (range->has_lower && fpb_compare_by_head(ix, &entry.key, &range->lower, head) < 0)
		{
			fpb_edge_set_range(&sp->before, -1);
			break;
		}
		if (n == FPB_FIRST_ITEMS)
		{
			fpb_set_edge_entry(r, false, &first);
			break;
		}
		first = entry.key;
		if (!add_item(r, &entry, pos) && n == 0)
			return false;
	}
	reverse_items(sp);
	return true;
}

/*
 * Backward: read so many entries of the range, or some more, before the end
 * (NULL: of the page), whose position is pos, without those that are known
 * dead, and set the edge before them.  False if there is none.
 */
static bool
read_part_before(FpbReader *r, FpbPos pos, const FpbSearchKey *end, int enough)
{
	FpbIndex   *ix = &r->so->ix;
	Page		page = r->seg.leaf;
	FpbScanPage *sp = r->sp;
	FpbPos		begin = fpb_page_back(ix, page, pos, enough);
	FpbPos		lower = FPB_POS_FIRST;
	bool		more = true;
	FpbEntry	entry;
	int			n;

	if (r->range->has_lower)
		fpb_page_search(ix, page, &r->range->lower, &lower);
	if (fpb_pos_before(begin, lower))
		begin = lower;
	while ((n = r->scan->ignore_killed_tuples ?
			fpb_page_read_live(ix, page, begin, end, false, sp->items, sp->room, &more) :
			fpb_page_read_few(ix, page, begin, end, false, sp->items, sp->room, &more)) < 0)
		make_more_room(r, enough);
	sp->nitems = n;
	if (fpb_pos_equal(begin, lower) || !fpb_page_next(ix, page, &begin, &entry))
		fpb_set_edge_before(r, 0);
	else
		fpb_set_edge_entry(r, false, &entry.key);
	return n > 0;
}

/*
 * Backward: read the next entries of the range.  False, with none read, if
 * there had better be read more at once.
 */
static bool
read_backward(FpbReader *r)
{
	FpbKeyRange *range = r->range;
	const FpbSearchKey *end = r->at->inside ? &r->from : range->has_upper ? &range->upper : NULL;
	FpbPos		pos = FPB_POS_END;

	if (end != NULL)
		fpb_page_search(&r->so->ix, r->seg.leaf, end, &pos);
	if (r->so->cursor.part == FPB_FIRST_ITEMS)
		return read_last(r, pos);
	return read_part_before(r, pos, end, r->so->cursor.part);
}

/*
 * Read the next few entries that the scan's only range has in the leaf, which
 * is locked, into r->sp, and set how the scan goes on in either direction.
 * Its filters, if it has any, reject nothing but NULLs, and the queue has
 * nothing for it.
 *
 * False, with none read, if the scan goes backward and the first of them is
 * known dead: then there are likely to be more of its kind, which cost less if
 * all entries are read.
 */
bool
fpb_read_few(FpbReader *r)
{
	FpbScanEdge *behind = r->forward ? &r->sp->before : &r->sp->after;
	FpbScanKeys *keys = &r->so->keys;

	Assert(r->seg.nqueued == 0);
	Assert(keys->nranges == 1 && keys->nulls_only);
	Assert(r->sp->room >= FPB_FIRST_ITEMS);
	r->sp->nitems = 0;
	if (r->at->inside)
	{
		fpb_key_range_set(keys, r->range, r->at->range);
		fpb_edge_copy(r->so, behind, r->at);
	}
	else
		fpb_edge_set_range(behind, r->forward ? -1 : 1);
	if (r->forward)
		read_forward(r);
	else if (!read_backward(r))
		return false;
	if (keys->nfilters > 0)
		r->sp->nitems = fpb_keys_keep(keys, r->sp->items, r->sp->nitems);
	return true;
}
