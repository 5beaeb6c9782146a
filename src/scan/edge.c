/*-------------------------------------------------------------------------
 *
 * scan/edge.c
 *	  Where a scan goes on: the edges of what it has read.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "scan/scan.h"

/*
 * Set an edge to a fence or an entry's key, which may point into a page.
 */
void
fpb_edge_set_key(FpbScan *so, FpbScanEdge *edge, const FpbKey *key)
{
	IndexTuple	tuple = edge->key.tuple;
	FpbTupleSpace space;
	FpbKey		whole;
	Size		size;

	edge->inside = true;
	edge->leapt = false;
	if (fpb_is_word(&so->ix))
	{
		edge->key = *key;
		return;
	}

	whole = fpb_whole_key(&so->ix, key, &space);
	size = IndexTupleSize(whole.tuple);
	edge->key = whole;
	edge->key.tuple = tuple;
	if (edge->tuple_size < size)
	{
		if (tuple != NULL)
			pfree(tuple);
		edge->tuple_size = 0;
		edge->key.tuple = MemoryContextAlloc(so->cxt, size);
		edge->tuple_size = size;
	}
	memcpy(edge->key.tuple, whole.tuple, size);
}

/*
 * Set an edge to the place that a scan leaps to.  False, with the edge as it
 * was, if there is no key for it.
 */
bool
fpb_edge_set_place(FpbScan *so, FpbScanEdge *edge, const FpbSearchKey *place)
{
	FpbKey		key;

	if (!fpb_place_form(&so->ix, place, &key))
		return false;
	fpb_edge_set_key(so, edge, &key);
	edge->leapt = true;
	edge->same_leaf = false;
	edge->right = InvalidBlockNumber;
	if (key.tuple != NULL)
		pfree(key.tuple);
	return true;
}

/*
 * Copy an edge.
 */
void
fpb_edge_copy(FpbScan *so, FpbScanEdge *to, const FpbScanEdge *from)
{
	to->range = from->range;
	to->right = from->right;
	to->same_leaf = from->same_leaf;
	if (from->inside)
	{
		fpb_edge_set_key(so, to, &from->key);
		to->leapt = from->leapt;
	}
	else
		to->inside = false;
}

/*
 * Set up an FpbScanPage.
 */
void
fpb_scan_page_init(FpbScanPage *page)
{
	page->valid = false;
	page->buf = InvalidBuffer;
	for (int i = 0; i < FPB_TIERS; i++)
		page->queue_bufs[i] = InvalidBuffer;
	memset(&page->before, 0, sizeof(FpbScanEdge));
	memset(&page->after, 0, sizeof(FpbScanEdge));
	page->nitems = 0;
	page->current = 0;
	page->check_rows = false;
	page->tuples = NULL;
	page->tuples_size = 0;
	page->room = FPB_FEW_ITEMS;
	page->items = page->few;
}

/*
 * Free an FpbScanPage, which is not pinned.
 */
void
fpb_scan_page_free(FpbScanPage *page)
{
	if (page->before.key.tuple != NULL)
		pfree(page->before.key.tuple);
	if (page->after.key.tuple != NULL)
		pfree(page->after.key.tuple);
	if (page->tuples != NULL)
		pfree(page->tuples);
	if (page->items != page->few)
		pfree(page->items);
	pfree(page);
}
