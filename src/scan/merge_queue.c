/*-------------------------------------------------------------------------
 *
 * scan/merge_queue.c
 *	  The merge of a tier's entries with those of the main leaf, and of the
 *	  tiers before.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "scan/reader.h"

/*
 * Merge n items with the m items after them, which are of a tier's leaf; both
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
	if (so->queue.items == NULL)
		so->queue.items = MemoryContextAlloc(so->cxt, FPB_MAX_PAGE_ENTRIES * sizeof(FpbItem));
	queued = so->queue.items;
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
 * Of n items in order, drop each that is there twice: it was in the copy of a
 * tier's leaf, and had moved when the next tier's leaf was copied, or the main
 * one locked.  Returns how many are left.
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
 * Put m items of a tier's leaf in order with the n items before them, which
 * are of the main leaf and of other tiers.  copied: some may be among those
 * already.  Returns how many items that makes.
 */
int
fpb_merge_queue(FpbScan *so, FpbItem *items, int n, int m, bool copied)
{
	for (int i = n; i < n + m; i++)
		items[i].pos = FPB_POS_END; /* not to be hinted dead */
	merge_items(so, items, n, m);
	return copied ? drop_doubles(&so->ix, items, n + m) : n + m;
}
