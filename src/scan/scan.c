/*-------------------------------------------------------------------------
 *
 * scan/scan.c
 *	  Index scans and bitmap scans.
 *
 * A scan reads a leaf at a time (scan/read_leaf.c), and then hands out what it
 * has read, holding no lock.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/tableam.h"
#include "catalog/pg_am.h"
#include "miscadmin.h"
#include "nodes/tidbitmap.h"
#include "utils/memutils.h"

#include "queue/queue.h"
#include "scan/scan.h"
#include "write/batch.h"

/* --- leaving a page --- */

/*
 * Unpin a page that is pinned.
 */
static inline void
unpin_page(FpbScanPage *sp)
{
	if (BufferIsValid(sp->buf))
		ReleaseBuffer(sp->buf);
	for (int i = 0; i < FPB_TIERS; i++)
	{
		if (BufferIsValid(sp->queue_bufs[i]))
			ReleaseBuffer(sp->queue_bufs[i]);
		sp->queue_bufs[i] = InvalidBuffer;
	}
	sp->buf = InvalidBuffer;
	sp->valid = false;
}

/* kill the first dead items of a page as soon as there are so many */
#define KILL_FIRST			8

/* and so many before its last item is handed out */
#define KILL_BEFORE_LAST	4

/*
 * An index-only scan seldom reads the table, so it is not asked at each item
 * whether it has: at each eighth, and after a leaf of many items at each 32nd.
 * (To ask at the eighth is dear because processors don't foresee it.)
 */
#define HEAP_CHECK_FIRST	7
#define HEAP_CHECK_LATER	31

/*
 * Be done with the cursor's page.  If the mark is on it, it becomes the mark's
 * page.  to_same_leaf: the next one is of the same leaf.
 */
static void
leave_page(IndexScanDesc scan, FpbScan *so, bool to_same_leaf)
{
	FpbScanCursor *cursor = &so->cursor;

	if (!to_same_leaf)
		cursor->kill_at = KILL_FIRST;
	if (!cursor->page->valid)
		return;
	if (cursor->nkilled > 0)
		fpb_scan_kill_items(scan, so);

	if (cursor->mark.item >= 0)
	{
		FpbScanPage *marked = cursor->page;

		if (cursor->mark.page == NULL)
		{
			cursor->mark.page = MemoryContextAlloc(so->cxt, sizeof(FpbScanPage));
			fpb_scan_page_init(cursor->mark.page);
		}
		Assert(!cursor->mark.page->valid);
		cursor->page = cursor->mark.page;
		cursor->mark.page = marked;
		marked->current = cursor->mark.item;
		cursor->mark.item = -1;
	}
	else
		unpin_page(cursor->page);
}

/* --- going through the index --- */

/*
 * Of a parallel scan: wait until this is the process that reads the next page,
 * at so->cursor.at.  first: the range that the scan begins with.  False if all
 * has been read.
 */
static bool
seize(IndexScanDesc scan, FpbScan *so, int64 first)
{
	FpbSeized	seized;

	while ((seized = fpb_parallel_seize(scan, so, &so->cursor.at, first)) == FPB_SEIZED_BY_ANOTHER)
	{
		/* the process that is reading must not have to wait for us */
		if (so->prefetch.state != NULL)
			fpb_scan_prefetch_serve(so);
		fpb_parallel_wait(scan);
	}
	return seized == FPB_SEIZED;
}

/*
 * What has been read of a leaf has not been enough: read more of it next time.
 */
static inline void
read_more(FpbScan *so)
{
	FpbScanCursor *cursor = &so->cursor;

	if (so->prefetch.heap_on)
		cursor->part = 0;
	else if (cursor->part > 0)
		cursor->part = cursor->part < FPB_NEXT_ITEMS ? FPB_NEXT_ITEMS :
			cursor->part < FPB_MORE_ITEMS ? FPB_MORE_ITEMS : 0;
}

/*
 * Read on in a direction, from so->cursor.at, to the next page that has
 * something to hand out.  False if there is none: then the scan is at its end.
 * No lock is held on entry or exit.
 */
static bool
find_page(IndexScanDesc scan, FpbScan *so, bool forward)
{
	FpbScanCursor *cursor = &so->cursor;
	int64		nranges = so->keys.nranges;
	bool		parallel = scan->parallel_scan != NULL;

	cursor->forward = forward;
	for (;;)
	{
		FpbScanPage *sp;
		bool		prefetch;

		CHECK_FOR_INTERRUPTS();

		/* what has been seized has more to read, and is to be released soon */
		if (parallel &&
			!seize(scan, so, forward ? 0 : nranges - 1))
			break;
		if (cursor->at.range < 0 || cursor->at.range >= nranges)
			break;
		fpb_loop_guard_pass(&so->ix, &cursor->loop_guard, cursor->at.range,
							cursor->at.inside ? &cursor->at.key : NULL, forward, cursor->page->block);
		prefetch = so->prefetch.leaves_on && fpb_scan_may_prefetch_leaves(scan, so);
		if (!cursor->at.inside || !cursor->at.same_leaf)
			so->prefetch.nleaves++;
		fpb_before_reading(scan->indexRelation, scan->xs_snapshot);
		if (prefetch && !parallel)
			fpb_scan_prefetch_leaves(scan, so, forward);
		fpb_scan_read_leaf(scan, so, forward);
		if (prefetch && parallel)
			fpb_scan_prefetch_leaves(scan, so, forward);

		sp = cursor->page;
		if (so->prefetch.state != NULL)
			fpb_scan_prefetch_come(scan, so, forward);
		if (sp->nitems > 0)
		{
			sp->current = forward ? 0 : sp->nitems - 1;
			cursor->state = FPB_SCAN_ON_PAGE;
			so->prefetch.blocks_read = fpb_blocks_read();
			return true;
		}
		fpb_edge_copy(so, &cursor->at, forward ? &sp->after : &sp->before);
		sp->valid = false;
		if (cursor->at.inside && cursor->at.same_leaf)
			read_more(so);		/* all of them were NULLs */
	}
	cursor->state = forward ? FPB_SCAN_AFTER : FPB_SCAN_BEFORE;

	/*
	 * A plan with many partitions keeps many scans at their ends without
	 * ending them, and pins are dear where there are many.  A scan that is
	 * restarted again and again, as on the inner side of a join, is better
	 * off with its pin.
	 */
	if (!cursor->restarted)
		fpb_scan_unpin_meta(so);

	/* nobody shall wait for reads that this process would not serve any more */
	if (parallel && so->prefetch.state != NULL)
		fpb_scan_prefetch_end(so);
	return false;
}

/*
 * Begin a scan in a direction: forward with the first range, backward with the
 * last.
 */
static bool
first_page(IndexScanDesc scan, FpbScan *so, bool forward)
{
	FpbScanKeys *keys = &so->keys;

	if (!keys->prepared)
		fpb_keys_prepare(keys, scan->keyData, scan->numberOfKeys);
	if (keys->empty)
	{
		so->cursor.state = forward ? FPB_SCAN_AFTER : FPB_SCAN_BEFORE;
		return false;
	}
	fpb_edge_set_range(&so->cursor.at, forward ? 0 : keys->nranges - 1);
	/* a cursor may come back from the end often */
	fpb_loop_guard_reset(&so->cursor.loop_guard);
	return find_page(scan, so, forward);
}

/*
 * Go on after the page that has been handed out.
 */
static inline bool
next_page(IndexScanDesc scan, FpbScan *so, bool forward)
{
	FpbScanCursor *cursor = &so->cursor;

	fpb_edge_copy(so, &cursor->at, forward ? &cursor->page->after : &cursor->page->before);
	read_more(so);
	cursor->nleft += cursor->page->nitems;
	if (scan->xs_want_itup && cursor->page->nitems > FPB_NEXT_ITEMS)
		so->prefetch.heap_check = HEAP_CHECK_LATER;
	leave_page(scan, so, cursor->at.inside && cursor->at.same_leaf);
	return find_page(scan, so, forward);
}

/* --- the access method's functions --- */

/*
 * Begin a scan; its keys follow with fpb_rescan.
 */
IndexScanDesc
fpb_beginscan(Relation rel, int nkeys, int norderbys)
{
	IndexScanDesc scan = RelationGetIndexScan(rel, nkeys, norderbys);
	FpbScan    *so = palloc(sizeof(FpbScan));
	FpbScanCursor *cursor = &so->cursor;

	Assert(norderbys == 0);

	fpb_worker_note_use();
	so->cxt = CurrentMemoryContext;
	fpb_index_open(&so->ix, rel);
	fpb_keys_init(&so->keys, &so->ix);

	so->leaps = FPB_MOST_LEAPS;
	cursor->state = FPB_SCAN_NEW;
	cursor->restarted = false;
	cursor->part = FPB_FIRST_ITEMS;
	cursor->nleft = 0;
	cursor->forward = true;
	cursor->keep_pin = false;
	cursor->smooth = 0;
	cursor->page = palloc(sizeof(FpbScanPage));
	fpb_scan_page_init(cursor->page);
	memset(&cursor->at, 0, sizeof(cursor->at));
	cursor->range.generation = 0;
	cursor->leaf_number = 0;
	fpb_loop_guard_init(&cursor->loop_guard, so->cxt);
	cursor->mark.item = -1;
	cursor->mark.page = NULL;
	cursor->mark.state = FPB_SCAN_NEW;
	cursor->nkilled = 0;
	cursor->kill_at = KILL_FIRST;
	cursor->killed = NULL;

	so->queue.metabuf = InvalidBuffer;
	so->queue.items = NULL;
	for (int i = 0; i < FPB_TIERS; i++)
	{
		so->queue.trees[i] = NULL;
		so->queue.filter_open[i] = false;
		so->queue.copies[i] = NULL;
	}
	memset(so->elided, 0, sizeof(so->elided));

	so->prefetch.state = NULL;
	so->prefetch.nleaves = 0;
	so->prefetch.run = 0;
	so->prefetch.all_wanted = false;
	so->prefetch.leaves_on = so->prefetch.heap_allowed = so->prefetch.heap_on = false;

	fpb_tuples_init(so);
	so->row_slot = NULL;
	so->map_buf = InvalidBuffer;

	scan->xs_itupdesc = RelationGetDescr(rel);
	scan->opaque = so;
	return scan;
}

/*
 * Whoever scans tells whether the scan will be read to its end, from this
 * rescan on.  Otherwise the plan that is running is looked at.
 */
void
fpb_scan_want_all(IndexScanDesc scan, bool all_wanted)
{
	((FpbScan *) scan->opaque)->prefetch.all_wanted = all_wanted;
}

/*
 * The scan is to start again, and will presumably want as many entries as this
 * time.  So it reads as many at first.  The first time, the plan may tell.
 */
static void
note_wanted(IndexScanDesc scan, FpbScan *so)
{
	FpbScanCursor *cursor = &so->cursor;
	FpbScanPage *sp = cursor->page;
	int64		wanted = cursor->nleft;

	if (cursor->state == FPB_SCAN_NEW && !cursor->restarted)
	{
		wanted = fpb_limit_of_scan(scan);
		cursor->part = wanted > FPB_MORE_ITEMS ? 0 : (int) Max(wanted, FPB_FIRST_ITEMS);
		return;
	}
	if (cursor->state == FPB_SCAN_ON_PAGE)
		wanted += cursor->forward ? sp->current + 1 : sp->nitems - sp->current;
	cursor->part = wanted <= FPB_FIRST_ITEMS ? FPB_FIRST_ITEMS :
		wanted <= FPB_NEXT_ITEMS ? FPB_NEXT_ITEMS :
		wanted <= FPB_MORE_ITEMS ? FPB_MORE_ITEMS : 0;
	cursor->nleft = 0;
}

/*
 * Give up the current position and the mark.
 */
static void
forget_position(IndexScanDesc scan, FpbScan *so)
{
	FpbScanCursor *cursor = &so->cursor;

	cursor->smooth = 0;
	cursor->mark.item = -1;
	leave_page(scan, so, false);
	if (cursor->mark.page != NULL)
		unpin_page(cursor->mark.page);
	cursor->state = cursor->mark.state = FPB_SCAN_NEW;
}

/*
 * Start again, with new keys unless they are NULL.
 */
void
fpb_rescan(IndexScanDesc scan, ScanKey keys, int nkeys pg_attribute_unused(),
		   ScanKey orderbys pg_attribute_unused(),
		   int norderbys pg_attribute_unused())
{
	FpbScan    *so = (FpbScan *) scan->opaque;

	so->cursor.restarted |= so->cursor.state != FPB_SCAN_NEW;
	note_wanted(scan, so);
	forget_position(scan, so);

	/*
	 * A leaf stays pinned while its TIDs are handed out, so that VACUUM can't
	 * let them be recycled.  With an MVCC snapshot there is no need: when the
	 * executor looks at the heap, the snapshot tells if a TID has been
	 * recycled.  Index-only scans don't look at the heap, so they need the
	 * pin.  (In recovery a pin would not help them: see scan/standby.c.)
	 * Without WAL the pin is what makes killing entries safe.  Bitmap scans
	 * (no heap relation) read the heap later anyway.
	 */
	so->cursor.keep_pin = scan->heapRelation != NULL &&
		(scan->xs_want_itup || !IsMVCCSnapshot(scan->xs_snapshot) ||
		 !RelationNeedsWAL(scan->indexRelation));

	so->prefetch.nleaves = 0;
	fpb_loop_guard_reset(&so->cursor.loop_guard);
	so->prefetch.leaves_on = false;
	so->prefetch.heap_allowed = scan->heapRelation != NULL &&
		scan->heapRelation->rd_rel->relam == HEAP_TABLE_AM_OID &&
		fpb_prefetch_heap_distance != 0;
	so->prefetch.heap_check = scan->xs_want_itup ? HEAP_CHECK_FIRST : 0;
	if (so->prefetch.state != NULL)
		fpb_scan_prefetch_rescan(so);

	if (keys != NULL && scan->numberOfKeys > 0)
		memcpy(scan->keyData, keys, scan->numberOfKeys * sizeof(ScanKeyData));
	fpb_keys_reset(&so->keys);
}

/*
 * Remember that the item handed out last has proved dead to everyone.
 *
 * Dead items are killed when the scan leaves their page, and some before:
 * after KILL_FIRST, then twice as many, and so on; and some when only one item
 * is left to hand out (kill_before_last).
 */
static void
remember_killed(IndexScanDesc scan, FpbScan *so)
{
	FpbScanCursor *cursor = &so->cursor;

	/* it is not in the queue for long */
	if (fpb_pos_equal(cursor->page->items[cursor->page->current].pos, FPB_POS_END))
		return;
	if (cursor->killed == NULL)
		cursor->killed = MemoryContextAlloc(so->cxt, FPB_MAX_SCAN_ITEMS * sizeof(int));

	/* a cursor going to and fro may kill an item more than once */
	cursor->killed[cursor->nkilled++] = cursor->page->current;
	if (cursor->nkilled == cursor->kill_at)
	{
		fpb_scan_kill_items(scan, so);
		cursor->kill_at = Min(cursor->kill_at * 2, (int) FPB_MAX_SCAN_ITEMS);
	}
}

/*
 * If but one of few items is left to hand out, kill the dead ones, if there
 * are so many that the next scans are spared more than it takes.
 *
 * If they waited, an UPDATE would kill nothing: its own insertion may change
 * the leaf before the scan leaves it, and then nothing is killed if the leaf
 * was not pinned.  The last item is the row to be updated if the others are
 * the entries that it has left behind.  (The last of those has only just died,
 * which the server may not know for sure yet.)
 */
static void
kill_before_last(IndexScanDesc scan, FpbScan *so, bool forward)
{
	FpbScanPage *sp = so->cursor.page;

	if (so->cursor.nkilled >= KILL_BEFORE_LAST &&
		(forward ? sp->nitems - 1 - sp->current : sp->current) == 1)
		fpb_scan_kill_items(scan, so);
}

/*
 * Hand out the tuple of a word that has to be decoded.  Returns true.
 */
static pg_noinline bool
hand_out_decoded(IndexScanDesc scan, FpbScan *so, const FpbKey *key)
{
	scan->xs_itup = fpb_word_tuple(so, key);
	return true;
}

/*
 * Hand out an item.  Returns true.
 */
static inline bool
hand_out(IndexScanDesc scan, FpbScan *so, const FpbItem *item)
{
	uint64		tail = item->key.tail;

	fpb_tail_tid(tail, &scan->xs_heaptid);
	if (!scan->xs_want_itup)
		return true;
	if (fpb_is_word(&so->ix))
	{
		IndexTuple	tuple = fpb_word_tuple_at_hand(so, item->key.head, item->key.low,
												   fpb_tail_tie(tail));

		if (tuple == NULL)
			return hand_out_decoded(scan, so, &item->key);
		scan->xs_itup = tuple;
	}
	else if (so->cursor.page->whole)
		scan->xs_itup = item->key.tuple;
	else if (item->key.tuple == so->tuples.last_stored)
		scan->xs_itup = so->tuples.last;	/* entries share tuples */
	else
		scan->xs_itup = fpb_stored_tuple(so, &item->key);
	return true;
}

/*
 * Go on to the next item in a direction.  False if there is none.
 */
static bool
next_item(IndexScanDesc scan, FpbScan *so, bool forward)
{
	FpbScanCursor *cursor = &so->cursor;

	switch (cursor->state)
	{
		case FPB_SCAN_ON_PAGE:
			if (forward)
				return ++cursor->page->current < cursor->page->nitems ||
					next_page(scan, so, true);
			return --cursor->page->current >= 0 || next_page(scan, so, false);

		case FPB_SCAN_NEW:
			return first_page(scan, so, forward);

		case FPB_SCAN_BEFORE:
			return forward && first_page(scan, so, true);

		case FPB_SCAN_AFTER:
			return !forward && first_page(scan, so, false);
	}
	return false;
}

/*
 * The next entry in a direction, whatever has to be done for it.
 */
static pg_noinline bool
next_entry(IndexScanDesc scan, bool forward)
{
	FpbScan    *so = (FpbScan *) scan->opaque;
	bool		heap_missed = false;

	so->cursor.smooth = 0;
	if (so->cursor.state == FPB_SCAN_ON_PAGE)
	{
		if (scan->kill_prior_tuple)
			remember_killed(scan, so);
		if (so->cursor.nkilled > 0)
			kill_before_last(scan, so, forward);
		if ((so->cursor.page->current & so->prefetch.heap_check) == 0 && so->prefetch.heap_allowed)
			heap_missed = fpb_scan_missed(scan, so);
	}
	do
	{
		CHECK_FOR_INTERRUPTS();
		if (!next_item(scan, so, forward))
			return false;
	} while (unlikely(so->cursor.page->check_rows) && !fpb_scan_sees_row(scan, so));

	hand_out(scan, so, &so->cursor.page->items[so->cursor.page->current]);
	if (unlikely(heap_missed || so->prefetch.heap_on))
		fpb_scan_prefetch_heap(scan, so, forward);
	if (!so->cursor.page->check_rows && !so->prefetch.heap_on &&
		(so->cursor.nkilled == 0 || so->cursor.page->nitems > FPB_FEW_ITEMS))
		so->cursor.smooth = so->cursor.page->nitems;
	return true;
}

/*
 * Is the next entry in a direction one more item of the page, with nothing to
 * be done before it can be handed out?
 */
static inline bool
is_at_hand(IndexScanDesc scan, const FpbScan *so, const FpbScanPage *sp, int next)
{
	return (uint32) next < (uint32) so->cursor.smooth && !scan->kill_prior_tuple &&
		((sp->current & so->prefetch.heap_check) != 0 || !so->prefetch.heap_allowed ||
		 so->prefetch.blocks_read == fpb_blocks_read());
}

/*
 * The next entry in a direction.  Nearly all are at hand: those take no more
 * instructions than they must.
 */
bool
fpb_gettuple(IndexScanDesc scan, ScanDirection dir)
{
	FpbScan    *so = (FpbScan *) scan->opaque;
	FpbScanPage *sp = so->cursor.page;
	int			next = sp->current + (int) dir;

	StaticAssertStmt(ForwardScanDirection == 1 && BackwardScanDirection == -1,
					 "a direction must be the step in that direction");
	scan->xs_recheck = false;
	if (unlikely(!is_at_hand(scan, so, sp, next)))
		return next_entry(scan, ScanDirectionIsForward(dir));
	sp->current = next;
	return hand_out(scan, so, &sp->items[next]);
}

/*
 * Add the TIDs of all entries to a bitmap.
 */
int64
fpb_getbitmap(IndexScanDesc scan, TIDBitmap *tbm)
{
	FpbScan    *so = (FpbScan *) scan->opaque;
	int64		count = 0;
	bool		found;

	for (found = first_page(scan, so, true); found;
		 found = next_page(scan, so, true))
	{
		ItemPointerData tids[128];
		int			ntids = 0;

		for (int i = 0; i < so->cursor.page->nitems; i++)
		{
			fpb_tail_tid(so->cursor.page->items[i].key.tail, &tids[ntids++]);
			if (ntids == lengthof(tids))
			{
				tbm_add_tuples(tbm, tids, ntids, false);
				ntids = 0;
			}
		}
		if (ntids > 0)
			tbm_add_tuples(tbm, tids, ntids, false);
		count += so->cursor.page->nitems;
	}
	return count;
}

/*
 * End a scan.
 */
void
fpb_endscan(IndexScanDesc scan)
{
	FpbScan    *so = (FpbScan *) scan->opaque;

	forget_position(scan, so);
	if (so->prefetch.state != NULL)
		fpb_scan_prefetch_end(so);
	fpb_scan_end_rows(so);
	fpb_keys_end(&so->keys);
	fpb_scan_page_free(so->cursor.page);
	if (so->cursor.mark.page != NULL)
		fpb_scan_page_free(so->cursor.mark.page);
	if (so->cursor.at.key.tuple != NULL)
		pfree(so->cursor.at.key.tuple);
	fpb_loop_guard_end(&so->cursor.loop_guard);
	for (int i = 0; i < lengthof(so->elided); i++)
		if (so->elided[i].key.tuple != NULL)
			pfree(so->elided[i].key.tuple);
	if (so->queue.items != NULL)
		pfree(so->queue.items);
	for (int i = 0; i < FPB_TIERS; i++)
	{
		if (so->queue.copies[i] != NULL)
			pfree(so->queue.copies[i]);
		if (so->queue.trees[i] != NULL)
			pfree(so->queue.trees[i]);
	}
	fpb_scan_unpin_meta(so);
	if (so->cursor.killed != NULL)
		pfree(so->cursor.killed);
	fpb_tuples_end(so);
	pfree(so);
}

/*
 * Mark the current position.
 */
void
fpb_markpos(IndexScanDesc scan)
{
	FpbScan    *so = (FpbScan *) scan->opaque;
	FpbScanCursor *cursor = &so->cursor;

	if (cursor->mark.page != NULL)
		unpin_page(cursor->mark.page);
	cursor->mark.item = cursor->state == FPB_SCAN_ON_PAGE ? cursor->page->current : -1;
	cursor->mark.state = cursor->state;
}

/*
 * Go back to the marked position, which stays marked.
 */
void
fpb_restrpos(IndexScanDesc scan)
{
	FpbScan    *so = (FpbScan *) scan->opaque;
	FpbScanCursor *cursor = &so->cursor;

	cursor->smooth = 0;
	if (cursor->mark.item < 0)
	{
		/* the scan has left the page since */
		leave_page(scan, so, false);
		if (cursor->mark.state == FPB_SCAN_ON_PAGE)
		{
			FpbScanPage *marked = cursor->mark.page;

			cursor->mark.page = cursor->page;
			cursor->page = marked;
			cursor->mark.item = marked->current;
			so->prefetch.heap_on = false;	/* it goes on elsewhere */
			/* both pages' items may point to the same place */
			so->tuples.last_stored = NULL;
		}
	}
	if (cursor->mark.item >= 0)
		cursor->page->current = cursor->mark.item;
	cursor->state = cursor->mark.state;
	/* it rightly comes by here again */
	fpb_loop_guard_reset(&cursor->loop_guard);
}
