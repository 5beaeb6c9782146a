/*-------------------------------------------------------------------------
 *
 * sorted.c
 *	  The papers' baseline: a page is a sorted array and nothing else.
 *
 * The pages are those of the layout micro_index, whose micro-index is not
 * used: a page is searched by bisection, with branches and without
 * prefetching, and an insertion or a deletion moves what is behind its place.
 * The micro-index is kept, as an index whose root has moved is worked on by
 * micro_index's own routines for some moments; with sub-arrays of 32 lines,
 * which is what bench/fpbench papers asks for, that is two or three keys of a
 * leaf.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "driver.h"
#include "page/node.h"

/* the counts of micro_index's pages */
#define NENTRIES	0
#define CAPACITY	1

static FpbLayoutRoutine sorted_routine;

/*
 * The node that is all of a page, behind the micro-index.
 */
static char *
sorted_node(const FpbIndex *ix, Page page)
{
	int			keys = fpb_shape(ix, page)->size / ix->head_width;

	return (char *) page +
		TYPEALIGN(FPB_CACHE_LINE, sizeof(FpbPageHeader) +
				  (FpbHdr(page)->layout[CAPACITY] + keys - 1) / keys * sizeof(uint64));
}

/*
 * The arrays of that node; returns how many.
 */
static int
sorted_arrays(const FpbIndex *ix, Page page, FpbNodeArray *arrays)
{
	return fpb_node_arrays(ix, fpb_shape(ix, page), FPB_NODE_PLAIN,
						   sorted_node(ix, page), arrays);
}

/*
 * The first slot with an entry >= search key, by bisection with branches.
 */
static void
sorted_search(const FpbIndex *ix, Page page, const FpbSearchKey *search, FpbPos *pos)
{
	const char *node = sorted_node(ix, page);
	int			lo = 0;
	int			hi = FpbHdr(page)->layout[NENTRIES];
	FpbEntry	entry;

	while (lo < hi)
	{
		int			mid = lo + (hi - lo) / 2;

		if (fpb_node_head(ix, node, mid) < search->head)
			lo = mid + 1;
		else
			hi = mid;
	}
	pos->number = lo;

	/*
	 * all keys differ, but an entry may have the search key's and a smaller
	 * TID
	 */
	if (lo < FpbHdr(page)->layout[NENTRIES] &&
		fpb_node_head(ix, node, lo) == search->head &&
		fpb_page_next(ix, page, pos, &entry) && fpb_compare(ix, &entry.key, search) < 0)
		pos->number++;
}

/*
 * The child to descend to: the last whose key is <= search key (before: <
 * search key), or the first if there is none.
 */
static void
sorted_child(const FpbIndex *ix, Page page, const FpbSearchKey *search,
			 bool before, FpbPos *pos, FpbEntry *entry)
{
	sorted_search(ix, page, search, pos);
	if (!fpb_page_next(ix, page, pos, entry) ||
		(pos->number > 0 && (before || fpb_compare(ix, &entry->key, search) > 0)))
	{
		pos->number--;
		(void) fpb_page_next(ix, page, pos, entry);
	}
}

static BlockNumber
sorted_downlink(const FpbIndex *ix, Page page, const FpbSearchKey *search, bool before,
				uint16 *child_node)
{
	FpbPos		pos;
	FpbEntry	entry;

	*child_node = 0;
	sorted_child(ix, page, search, before, &pos, &entry);
	return entry.child;
}

/*
 * Read a page to its end, as scans of the driver do.
 */
static int
sorted_read(const FpbIndex *ix, Page page, FpbPos pos, const FpbSearchKey *end,
			bool near pg_attribute_unused(), FpbItem *items,
			int room pg_attribute_unused(),
			bool *more pg_attribute_unused())
{
	const FpbShape *shape = fpb_shape(ix, page);
	const char *node = sorted_node(ix, page);
	const char *tails = node + shape->tail_off;
	const uint64 *lows = (const uint64 *) (node + shape->low_off);
	FpbItem    *item = items;

	if (end != NULL)
		elog(ERROR, "the baseline reads whole pages");
	for (int slot = (int) pos.number; slot < FpbHdr(page)->layout[NENTRIES]; slot++, item++)
	{
		item->key.head = fpb_node_head(ix, node, slot);
		item->key.low = shape->low_off != 0 ? lows[slot] : 0;
		item->key.tail = fpb_read_tail(tails, slot);
		item->key.tuple = NULL;
		item->pos.number = slot;
	}
	return item - items;
}

/*
 * The details of a plan are the slot.
 */
static void
sorted_plan_insert(const FpbIndex *ix pg_attribute_unused(), Page page,
				   const FpbEntry *entry pg_attribute_unused(), FpbPos pos,
				   FpbInsertPlan *plan)
{
	plan->image = NULL;
	plan->details[0] = pos.number;
	plan->outcome = FpbHdr(page)->layout[NENTRIES] < FpbHdr(page)->layout[CAPACITY] ?
		FPB_PLAN_FITS : FPB_PLAN_FULL;
}

/*
 * The page has so many entries now, those from slot first on other ones.
 */
static void
sorted_set_entries(const FpbIndex *ix, Page page, int first, int nentries,
				   FpbWalPage *wp)
{
	uint64	   *subs = (uint64 *) ((char *) page + sizeof(FpbPageHeader));
	const char *node = sorted_node(ix, page);
	int			keys = fpb_shape(ix, page)->size / ix->head_width;

	for (int sub = (first + keys - 1) / keys; sub * keys < nentries; sub++)
	{
		subs[sub] = fpb_node_head(ix, node, sub * keys);
		fpb_wal_note(wp, &subs[sub], sizeof(uint64));
	}
	FpbHdr(page)->layout[NENTRIES] = nentries;
	fpb_wal_note(wp, &FpbHdr(page)->layout[NENTRIES], sizeof(uint16));
}

static void
sorted_insert(const FpbIndex *ix, Page page, const FpbEntry *entry,
			  const FpbInsertPlan *plan, FpbWalPage *wp)
{
	int			slot = (int) plan->details[0];
	int			n = FpbHdr(page)->layout[NENTRIES];
	FpbNodeArray arrays[FPB_MAX_ARRAYS];
	int			narrays = sorted_arrays(ix, page, arrays);

	for (int i = 0; slot < n && i < narrays; i++)
		fpb_shift_slots(arrays[i].start, slot, n - 1, 1, arrays[i].width);
	fpb_write_slot(ix, fpb_shape(ix, page), sorted_node(ix, page), slot, entry, 0);
	for (int i = 0; i < narrays; i++)
		fpb_note_slots(wp, arrays[i].start, slot, n, arrays[i].width);
	sorted_set_entries(ix, page, slot, n + 1, wp);
}

/*
 * Delete entries, from the last to the first.
 */
static void
sorted_delete(const FpbIndex *ix, Page page, const FpbPos *pos, int npos,
			  FpbWalPage *wp)
{
	int			n = FpbHdr(page)->layout[NENTRIES];
	FpbNodeArray arrays[FPB_MAX_ARRAYS];
	int			narrays = sorted_arrays(ix, page, arrays);

	while (npos-- > 0)
	{
		int			slot = (int) pos[npos].number;

		n--;
		for (int i = 0; slot < n && i < narrays; i++)
		{
			fpb_shift_slots(arrays[i].start, slot + 1, n, -1, arrays[i].width);
			fpb_note_slots(wp, arrays[i].start, slot, n - 1, arrays[i].width);
		}
		sorted_set_entries(ix, page, slot, n, wp);
	}
}

/*
 * See driver.h.
 */
void
driver_use_sorted(FpbIndex *ix)
{
	if (ix->layout->id != FPB_MICRO_INDEX || !fpb_is_word(ix))
		elog(ERROR, "the baseline wants words and the layout micro_index");
	sorted_routine = *ix->layout;
	sorted_routine.search = sorted_search;
	sorted_routine.child = sorted_child;
	sorted_routine.downlink = sorted_downlink;
	sorted_routine.read = sorted_read;
	sorted_routine.plan_insert = sorted_plan_insert;
	sorted_routine.insert = sorted_insert;
	sorted_routine.delete = sorted_delete;
	ix->layout = &sorted_routine;
	ix->prefetch_front = ix->prefetch_back = 0;
}
