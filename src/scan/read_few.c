/*-------------------------------------------------------------------------
 *
 * scan/read_few.c
 *	  Reading the first few entries of a range, because the scan may want no more.
 *
 * LIMIT 1, EXISTS, min and max want one row of a range that may have hundreds
 * of entries in a leaf.  So a scan reads few entries at first.  If it wants
 * more, it comes back to the leaf and reads the rest of it at once.
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
 * Forward: read the first entries of the range, and set the edge after them.
 * False, with none read, if the first one is known dead.  Then the range has
 * been found, and need not be searched for again.
 */
static bool
read_first(FpbReader *r)
{
	FpbIndex   *ix = &r->so->ix;
	Page		page = r->seg.leaf;
	FpbKeyRange *range = r->range;
	const FpbSearchKey *end = range->has_upper ? &range->upper : NULL;
	FpbPos		pos = FPB_POS_FIRST;
	FpbEntry	entry;

	if (range->has_lower)
		fpb_page_search(ix, page, &range->lower, &pos);
	for (int n = 0; fpb_page_next(ix, page, &pos, &entry); n++)
	{
		if (end != NULL && fpb_compare(ix, &entry.key, end) >= 0)
		{
			fpb_edge_set_range(&r->sp->after, 1);
			return true;
		}
		if (n == FPB_FIRST_ITEMS)
		{
			fpb_set_edge_entry(r, true, &entry.key);
			return true;
		}
		if (!add_item(r, &entry, pos) && n == 0)
		{
			r->started = true;
			r->start = pos;
			return false;
		}
		pos = fpb_pos_behind(pos);
	}
	if (fpb_segment_ends_before(r->so, &r->seg, end))
		fpb_set_edge_fence(r, true);
	else
		fpb_edge_set_range(&r->sp->after, 1);
	return true;
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
 * Backward: read the last entries of the range, and set the edge before them.
 * False, with none read, if the last one is known dead.
 */
static bool
read_last(FpbReader *r)
{
	FpbIndex   *ix = &r->so->ix;
	Page		page = r->seg.leaf;
	FpbScanPage *sp = r->sp;
	FpbKeyRange *range = r->range;
	FpbPos		pos = FPB_POS_END;
	FpbKey		first = {0};

	if (range->has_upper)
		fpb_page_search(ix, page, &range->upper, &pos);
	for (int n = 0;; n++)
	{
		FpbEntry	entry;

		if (!fpb_page_prev(ix, page, &pos, &entry))
		{
			fpb_set_edge_before(r, 0);
			break;
		}
		if (range->has_lower && fpb_compare(ix, &entry.key, &range->lower) < 0)
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
 * Read the first few entries that the scan's only range has in the leaf, which
 * is locked, into r->sp, and set how the scan goes on in either direction.
 * The scan has come here at an end of the range.  It has no filters, and the
 * queue has nothing for it.
 *
 * False, with none read, if the first of them is known dead: then there are
 * likely to be more of its kind, which cost less if all entries are read.
 */
bool
fpb_read_few(FpbReader *r)
{
	Assert(!r->at->inside && r->seg.queue == NULL);
	Assert(r->so->keys.nranges == 1 && r->so->keys.nfilters == 0);
	Assert(r->sp->room >= FPB_FIRST_ITEMS);
	r->sp->nitems = 0;
	if (r->forward)
	{
		fpb_edge_set_range(&r->sp->before, -1);
		return read_first(r);
	}
	fpb_edge_set_range(&r->sp->after, 1);
	return read_last(r);
}
