/*-------------------------------------------------------------------------
 *
 * scan/scan.c
 *	  Index scans and bitmap scans.
 *
 * A scan reads a leaf at a time (scan/read_leaf.c), and then hands out what it
 * has read with no lock held.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/tableam.h"
#include "access/tupmacs.h"
#include "catalog/pg_am.h"
#include "miscadmin.h"
#include "nodes/tidbitmap.h"
#include "utils/memutils.h"

#include "queue/queue.h"
#include "scan/scan.h"

/* --- leaving a page --- */

/*
 * qsort comparators of TIDs and of positions.
 */
static int
compare_tids(const void *a, const void *b)
{
	return ItemPointerCompare((ItemPointer) a, (ItemPointer) b);
}

static int
compare_positions(const void *a, const void *b)
{
	return fpb_pos_before(*(const FpbPos *) a, *(const FpbPos *) b) ? -1 :
		fpb_pos_before(*(const FpbPos *) b, *(const FpbPos *) a);
}

/*
 * Find the entries to kill that are not where they were read.  tids: their
 * TIDs; there is one entry of a TID at most.  Their positions go to found[];
 * returns how many.
 */
static int
find_moved(FpbScan *so, Page page, ItemPointerData *tids, int ntids, FpbPos *found)
{
	FpbPos		pos = FPB_POS_FIRST;
	FpbEntry	entry;
	int			n = 0;

	qsort(tids, ntids, sizeof(ItemPointerData), compare_tids);
	while (n < ntids && fpb_page_next(&so->ix, page, &pos, &entry))
	{
		ItemPointerData tid;

		fpb_tail_tid(entry.key.tail, &tid);
		if (bsearch(&tid, tids, ntids, sizeof(ItemPointerData), compare_tids))
			found[n++] = pos;
		pos = fpb_pos_behind(pos);
	}
	return n;
}

/*
 * Note on the page that the items in so->killed are dead to everyone.
 *
 * That is so only if their TIDs have not been recycled since the page was
 * read.  VACUUM can't have removed them from the page as long as we held a
 * pin; if we held none, the page must not have changed at all, which its LSN
 * tells.  (Where there is no WAL, and so no LSN, the pin has been kept.)
 */
static void
kill_items(IndexScanDesc scan, FpbScan *so)
{
	FpbScanPage *sp = so->page;
	FpbIndex   *ix = &so->ix;
	Buffer		buf = sp->buf;
	Page		page;
	FpbPos	   *dead = palloc(so->nkilled * sizeof(FpbPos));
	int			ndead = 0;
	ItemPointerData *moved = palloc(so->nkilled * sizeof(ItemPointerData));
	int			nmoved = 0;

	if (BufferIsValid(buf))
	{
		LockBuffer(buf, BUFFER_LOCK_SHARE);
		page = BufferGetPage(buf);
		if (!FpbPageIsLeaf(page) || FpbPageIsDeleted(page))
			so->nkilled = 0;	/* pure paranoia, as we have it pinned */
	}
	else
	{
		buf = ReadBuffer(ix->rel, sp->block);
		LockBuffer(buf, BUFFER_LOCK_SHARE);
		page = BufferGetPage(buf);
		if (BufferGetLSNAtomic(buf) != sp->lsn)
			so->nkilled = 0;
	}

	for (int i = 0; i < so->nkilled; i++)
	{
		FpbItem    *item = &sp->items[so->killed[i]];
		FpbPos		pos = item->pos;
		FpbEntry	entry;

		if (fpb_page_next(ix, page, &pos, &entry) &&
			fpb_pos_equal(pos, item->pos) &&
			(entry.key.tail & FPB_TAIL_TID_MASK) ==
			(item->key.tail & FPB_TAIL_TID_MASK))
			dead[ndead++] = pos;
		else
			fpb_tail_tid(item->key.tail, &moved[nmoved++]);
	}
	if (nmoved > 0)
		ndead += find_moved(so, page, moved, nmoved, dead + ndead);
	so->nkilled = 0;

	qsort(dead, ndead, sizeof(FpbPos), compare_positions);
	fpb_kill_entries(ix, scan->heapRelation, buf, dead, ndead);
	pfree(dead);
	pfree(moved);
	LockBuffer(buf, BUFFER_LOCK_UNLOCK);
	if (!BufferIsValid(sp->buf))
		ReleaseBuffer(buf);
}

/*
 * Unpin a page that is pinned.
 */
static inline void
unpin_page(FpbScanPage *sp)
{
	if (BufferIsValid(sp->buf))
		ReleaseBuffer(sp->buf);
	if (BufferIsValid(sp->queue_buf))
		ReleaseBuffer(sp->queue_buf);
	sp->buf = sp->queue_buf = InvalidBuffer;
	sp->valid = false;
}

/*
 * Be done with so->page.  If the mark is on it, it becomes *mark_page.
 */
static void
leave_page(IndexScanDesc scan, FpbScan *so)
{
	if (!so->page->valid)
		return;
	if (so->nkilled > 0)
		kill_items(scan, so);

	if (so->mark_item >= 0)
	{
		FpbScanPage *marked = so->page;

		if (so->mark_page == NULL)
		{
			so->mark_page = MemoryContextAlloc(so->cxt, sizeof(FpbScanPage));
			fpb_scan_page_init(so->mark_page);
		}
		Assert(!so->mark_page->valid);
		so->page = so->mark_page;
		so->mark_page = marked;
		marked->current = so->mark_item;
		so->mark_item = -1;
	}
	else
		unpin_page(so->page);
}

/* --- going through the index --- */

/*
 * Of a parallel scan: become the process that reads the next page, at so->at.
 * first: the range that the scan begins with.  False if all has been read.
 */
static bool
seize(IndexScanDesc scan, FpbScan *so, int64 first)
{
	FpbSeized	seized;

	while ((seized = fpb_parallel_seize(scan, so, &so->at, first)) == FPB_SEIZED_BY_ANOTHER)
	{
		/* he who is reading must not have to wait for us */
		if (so->prefetch != NULL)
			fpb_scan_prefetch_serve(so);
		fpb_parallel_wait(scan);
	}
	return seized == FPB_SEIZED;
}

/*
 * Find the next page in a direction, from so->at, that has something to hand
 * out.  False if there is none; then the scan is at its end.
 */
static bool
find_page(IndexScanDesc scan, FpbScan *so, bool forward)
{
	int64		nranges = so->keys.nranges;
	bool		parallel = scan->parallel_scan != NULL;

	for (;;)
	{
		FpbScanPage *sp;
		bool		prefetch;

		CHECK_FOR_INTERRUPTS();

		/* what has been seized has more to read, and is to be released soon */
		if (parallel &&
			!seize(scan, so, forward ? 0 : nranges - 1))
			break;
		if (so->at.range < 0 || so->at.range >= nranges)
			break;
		fpb_loop_guard_pass(&so->ix, &so->loop_guard, so->at.range,
							so->at.inside ? &so->at.key : NULL, forward, so->page->block);
		prefetch = so->npages++ >= FPB_PAGES_ALONE && so->leaves_active;
		if (prefetch && !parallel)
			fpb_scan_prefetch_leaves(scan, so, forward);
		fpb_scan_read_page(scan, so, forward);
		if (prefetch && parallel)
			fpb_scan_prefetch_leaves(scan, so, forward);

		sp = so->page;
		if (so->prefetch != NULL)
			fpb_scan_prefetch_come(scan, so, forward);
		if (sp->nitems > 0)
		{
			sp->current = forward ? 0 : sp->nitems - 1;
			so->state = FPB_SCAN_ON_PAGE;
			so->blocks_read = fpb_blocks_read();
			return true;
		}
		fpb_edge_copy(so, &so->at, forward ? &sp->after : &sp->before);
		sp->valid = false;
	}
	so->state = forward ? FPB_SCAN_AFTER : FPB_SCAN_BEFORE;

	/*
	 * There may be many scans at their ends that nobody ends, of partitions,
	 * and pins are dear where there are many.  One that is restarted again
	 * and again, the inner side of a join, is better off with its pin.
	 */
	if (!so->restarted)
		fpb_scan_unpin_meta(so);

	/* nobody shall wait for what this process would not get to any more */
	if (parallel && so->prefetch != NULL)
		fpb_scan_prefetch_end(so);
	return false;
}

/*
 * Begin a scan in a direction, at the end that is opposite to it.
 */
static bool
first_page(IndexScanDesc scan, FpbScan *so, bool forward)
{
	FpbScanKeys *keys = &so->keys;

	if (!keys->prepared)
		fpb_keys_prepare(keys, scan->keyData, scan->numberOfKeys);
	if (keys->empty)
	{
		so->state = forward ? FPB_SCAN_AFTER : FPB_SCAN_BEFORE;
		return false;
	}
	fpb_edge_set_range(&so->at, forward ? 0 : keys->nranges - 1);
	/* a cursor may come back from the end often */
	fpb_loop_guard_reset(&so->loop_guard);
	return find_page(scan, so, forward);
}

/*
 * Go on behind the page that has been handed out.
 */
static bool
next_page(IndexScanDesc scan, FpbScan *so, bool forward)
{
	fpb_edge_copy(so, &so->at, forward ? &so->page->after : &so->page->before);
	leave_page(scan, so);
	return find_page(scan, so, forward);
}

/* --- index tuples of word indexes --- */

/*
 * Make the template of tuples in which the columns in mask are NULL.
 */
static void
make_template(FpbScan *so, int mask)
{
	FpbTupleTemplate *template;
	TupleDesc	desc = RelationGetDescr(so->ix.rel);
	MemoryContext old = MemoryContextSwitchTo(so->cxt);
	static const char zeros[NAMEDATALEN] = {0};
	Datum		values[FPB_MAX_WORD_COLUMNS];
	bool		isnull[FPB_MAX_WORD_COLUMNS];
	Size		offset = 0;

	if (so->templates == NULL)
		so->templates = palloc0((1 << FPB_MAX_WORD_COLUMNS) * sizeof(FpbTupleTemplate));
	template = &so->templates[mask];
	for (int i = 0; i < so->ix.nkeyatts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);

		isnull[i] = (mask & (1 << i)) != 0;
		values[i] = att->attbyval ? (Datum) 0 : PointerGetDatum(zeros);
		Assert(att->attlen > 0 && att->attlen <= NAMEDATALEN);
	}
	template->tuple = index_form_tuple(desc, values, isnull);
	MemoryContextSwitchTo(old);

	offset = IndexInfoFindDataOffset(template->tuple->t_info);
	template->nvalues = 0;
	for (int i = 0; i < so->ix.nkeyatts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);
		int			n = template->nvalues;

		if (isnull[i])
			continue;
		offset = att_align_nominal(offset, att->attalign);
		template->values[n].to = (char *) template->tuple + offset;
		template->values[n].column = i;
		template->values[n].length = att->attlen;
		template->values[n].byval = att->attbyval;
		template->nvalues++;
		offset += att->attlen;
	}
}

/* the greatest 4-byte word, to the left of a key's head: it may be NULL's */
#define WORD4_MAX	(UINT64CONST(0xFFFFFFFF) << 32)

/*
 * The index tuple of a word key.  It lives until the next one is made.  Plain
 * words, most of all, are values but for some bits; those at the ends, one of
 * which may stand for NULL, are not taken for such.
 */
static IndexTuple
word_tuple(FpbScan *so, const FpbKey *key)
{
	uint32		tie = fpb_tail_tie(key->tail);
	Datum		values[FPB_MAX_WORD_COLUMNS];
	bool		isnull[FPB_MAX_WORD_COLUMNS];
	int			mask = 0;
	FpbTupleTemplate *template;

	/* duplicates are frequent */
	if (key->head == so->last_head && key->low == so->last_low &&
		tie == so->last_tie && so->last_tuple != NULL)
		return so->last_tuple;

	if (so->plain && so->templates != NULL && so->templates[0].tuple != NULL &&
		key->head != 0 && key->head < WORD4_MAX)
	{
		char	   *to = so->templates[0].values[0].to;

		if (so->ix.form == FPB_WORD4)
			*(uint32 *) to = (uint32) (key->head >> 32) ^ (uint32) so->flip;
		else
			*(uint64 *) to = key->head ^ so->flip;
		so->last_head = key->head;
		so->last_low = key->low;
		so->last_tie = tie;
		so->last_tuple = so->templates[0].tuple;
		return so->last_tuple;
	}

	fpb_word_datums(&so->ix, key, values, isnull);
	for (int i = 0; i < so->ix.nkeyatts; i++)
		mask |= isnull[i] << i;
	if (unlikely(so->templates == NULL || so->templates[mask].tuple == NULL))
		make_template(so, mask);
	template = &so->templates[mask];

	for (int i = 0; i < template->nvalues; i++)
	{
		char	   *to = template->values[i].to;
		int			length = template->values[i].length;
		Datum		value = values[template->values[i].column];

		if (template->values[i].byval)
			store_att_byval(to, value, length);
		else
		{
			memcpy(to, DatumGetPointer(value), length);
			pfree(DatumGetPointer(value));
		}
	}
	so->last_head = key->head;
	so->last_low = key->low;
	so->last_tie = tie;
	so->last_tuple = template->tuple;
	return template->tuple;
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

	Assert(norderbys == 0);

	fpb_worker_note_use();
	so->cxt = CurrentMemoryContext;
	fpb_index_open(&so->ix, rel);
	fpb_keys_init(&so->keys, &so->ix);
	so->state = FPB_SCAN_NEW;
	so->keep_pin = false;
	so->queue = NULL;
	so->metabuf = InvalidBuffer;
	so->restarted = false;
	so->filter_open = false;
	so->page = palloc(sizeof(FpbScanPage));
	fpb_scan_page_init(so->page);
	memset(&so->at, 0, sizeof(so->at));
	memset(&so->elided, 0, sizeof(so->elided));
	memset(&so->queue_elided, 0, sizeof(so->queue_elided));
	so->queued = NULL;
	so->queue_copy = NULL;
	so->leaf_number = 0;
	fpb_loop_guard_init(&so->loop_guard, so->cxt);
	so->mark_item = -1;
	so->mark_page = NULL;
	so->mark_state = FPB_SCAN_NEW;
	so->nkilled = 0;
	so->killed = NULL;
	so->row_fetch = NULL;
	so->row_slot = NULL;
	so->npages = 0;
	so->prefetch = NULL;
	so->leaves_active = so->heap_wanted = so->heap_active = false;
	so->templates = NULL;
	so->last_tuple = NULL;
	so->plain = fpb_is_word(&so->ix) && fpb_word_is_plain(&so->ix, &so->flip);

	scan->xs_itupdesc = RelationGetDescr(rel);
	scan->opaque = so;
	return scan;
}

/*
 * Give up the current position and the mark.
 */
static void
forget_position(IndexScanDesc scan, FpbScan *so)
{
	so->mark_item = -1;
	leave_page(scan, so);
	if (so->mark_page != NULL)
		unpin_page(so->mark_page);
	so->state = so->mark_state = FPB_SCAN_NEW;
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

	so->restarted |= so->state != FPB_SCAN_NEW;
	forget_position(scan, so);

	/*
	 * A leaf stays pinned while its TIDs are handed out, so that VACUUM can't
	 * let them be recycled, unless the snapshot sees that they have been: an
	 * MVCC snapshot does when it looks at the heap, which index-only scans
	 * don't.  (In recovery a pin would not help them: see scan/standby.c.)
	 * Without WAL the pin is what makes killing entries safe.  Bitmap scans
	 * (no heap relation) read the heap later anyway.
	 */
	so->keep_pin = scan->heapRelation != NULL &&
		(scan->xs_want_itup || !IsMVCCSnapshot(scan->xs_snapshot) ||
		 !RelationNeedsWAL(scan->indexRelation));

	so->npages = 0;
	fpb_loop_guard_reset(&so->loop_guard);
	so->leaves_active = false;
	so->heap_wanted = scan->heapRelation != NULL &&
		scan->heapRelation->rd_rel->relam == HEAP_TABLE_AM_OID &&
		fpb_prefetch_heap_distance != 0;
	so->heap_check = scan->xs_want_itup ? 7 : 0;
	if (so->prefetch != NULL)
		fpb_scan_prefetch_rescan(so);

	if (keys != NULL && scan->numberOfKeys > 0)
		memcpy(scan->keyData, keys, scan->numberOfKeys * sizeof(ScanKeyData));
	fpb_keys_reset(&so->keys);
}

/*
 * Remember that the item handed out last has proved dead to everyone.
 */
static void
remember_killed(FpbScan *so)
{
	/* it is not in the queue for long */
	if (fpb_pos_equal(so->page->items[so->page->current].pos, FPB_POS_END))
		return;
	if (so->killed == NULL)
		so->killed = MemoryContextAlloc(so->cxt, FPB_MAX_SCAN_ITEMS * sizeof(int));

	/* a cursor going to and fro may kill an item more than once */
	if (so->nkilled < (int) FPB_MAX_SCAN_ITEMS)
		so->killed[so->nkilled++] = so->page->current;
}

/*
 * Go on to the next item in a direction.  False if there is none.
 */
static bool
next_item(IndexScanDesc scan, FpbScan *so, bool forward)
{
	switch (so->state)
	{
		case FPB_SCAN_ON_PAGE:
			if (forward)
				return ++so->page->current < so->page->nitems ||
					next_page(scan, so, true);
			return --so->page->current >= 0 || next_page(scan, so, false);

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
 * The next entry in a direction.
 */
bool
fpb_gettuple(IndexScanDesc scan, ScanDirection dir)
{
	FpbScan    *so = (FpbScan *) scan->opaque;
	bool		forward = ScanDirectionIsForward(dir);
	const FpbItem *item;
	bool		heap_missed = false;

	scan->xs_recheck = false;

	if (so->state == FPB_SCAN_ON_PAGE)
	{
		if (scan->kill_prior_tuple)
			remember_killed(so);
		if ((so->page->current & so->heap_check) == 0 && so->heap_wanted)
			heap_missed = fpb_scan_missed(scan, so);
	}
	do
	{
		CHECK_FOR_INTERRUPTS();
		if (!next_item(scan, so, forward))
			return false;
	} while (unlikely(so->page->check_rows) && !fpb_scan_sees_row(scan, so));

	item = &so->page->items[so->page->current];
	fpb_tail_tid(item->key.tail, &scan->xs_heaptid);
	if (scan->xs_want_itup)
		scan->xs_itup = fpb_is_word(&so->ix) ? word_tuple(so, &item->key) :
			item->key.tuple;
	if (unlikely(heap_missed || so->heap_active))
	{
		fpb_scan_prefetch_heap(scan, so, forward);
		so->blocks_read = fpb_blocks_read();
	}
	return true;
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

		for (int i = 0; i < so->page->nitems; i++)
		{
			fpb_tail_tid(so->page->items[i].key.tail, &tids[ntids++]);
			if (ntids == lengthof(tids))
			{
				tbm_add_tuples(tbm, tids, ntids, false);
				ntids = 0;
			}
		}
		if (ntids > 0)
			tbm_add_tuples(tbm, tids, ntids, false);
		count += so->page->nitems;
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
	if (so->prefetch != NULL)
		fpb_scan_prefetch_end(so);
	fpb_scan_end_rows(so);
	fpb_keys_end(&so->keys);
	fpb_scan_page_free(so->page);
	if (so->mark_page != NULL)
		fpb_scan_page_free(so->mark_page);
	if (so->at.key.tuple != NULL)
		pfree(so->at.key.tuple);
	fpb_loop_guard_end(&so->loop_guard);
	if (so->elided.key.tuple != NULL)
		pfree(so->elided.key.tuple);
	if (so->queue_elided.key.tuple != NULL)
		pfree(so->queue_elided.key.tuple);
	if (so->queued != NULL)
		pfree(so->queued);
	if (so->queue_copy != NULL)
		pfree(so->queue_copy);
	if (so->queue != NULL)
		pfree(so->queue);
	fpb_scan_unpin_meta(so);
	if (so->killed != NULL)
		pfree(so->killed);
	if (so->templates != NULL)
	{
		for (int i = 0; i < 1 << FPB_MAX_WORD_COLUMNS; i++)
			if (so->templates[i].tuple != NULL)
				pfree(so->templates[i].tuple);
		pfree(so->templates);
	}
	pfree(so);
}

/*
 * Mark the current position.
 */
void
fpb_markpos(IndexScanDesc scan)
{
	FpbScan    *so = (FpbScan *) scan->opaque;

	if (so->mark_page != NULL)
		unpin_page(so->mark_page);
	so->mark_item = so->state == FPB_SCAN_ON_PAGE ? so->page->current : -1;
	so->mark_state = so->state;
}

/*
 * Go back to the marked position, which stays marked.
 */
void
fpb_restrpos(IndexScanDesc scan)
{
	FpbScan    *so = (FpbScan *) scan->opaque;

	if (so->mark_item < 0)
	{
		/* the scan has left the page since */
		leave_page(scan, so);
		if (so->mark_state == FPB_SCAN_ON_PAGE)
		{
			FpbScanPage *marked = so->mark_page;

			so->mark_page = so->page;
			so->page = marked;
			so->mark_item = marked->current;
			so->heap_active = false;	/* what was ahead is not any more */
		}
	}
	if (so->mark_item >= 0)
		so->page->current = so->mark_item;
	so->state = so->mark_state;
	/* it rightly comes by here again */
	fpb_loop_guard_reset(&so->loop_guard);
}
