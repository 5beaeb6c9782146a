/*-------------------------------------------------------------------------
 *
 * scan/kill_items.c
 *	  Entries that the scan has found dead, so marked on their leaf.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "scan/scan.h"

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
 * Find entries that are not where they were read, by their TIDs: a TID has one
 * entry at most.  Their positions go to found[]; returns how many.  Sorts
 * tids[].
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

/* so many entries that can't be killed otherwise are worth a record */
#define WORTH_A_RECORD	8

/*
 * Kill the entries at pos[], which have been found dead, on a leaf that is
 * pinned and locked share.  Returns whether nobody else has changed the leaf
 * since.  On exit it is locked, perhaps exclusively.
 */
static bool
kill_dead(IndexScanDesc scan, FpbScan *so, Buffer buf, FpbPos *pos, int npos)
{
	XLogRecPtr	lsn = BufferGetLSNAtomic(buf);
	FpbPos	   *all;
	int			killed;
	bool		unchanged = true;

	if (npos < WORTH_A_RECORD)
	{
		(void) fpb_kill_entries(&so->ix, scan->heapRelation, buf, pos, npos);
		return true;
	}
	all = palloc(npos * sizeof(FpbPos));
	memcpy(all, pos, npos * sizeof(FpbPos));
	killed = fpb_kill_entries(&so->ix, scan->heapRelation, buf, pos, npos);
	if (npos - killed >= WORTH_A_RECORD)
	{
		LockBuffer(buf, BUFFER_LOCK_UNLOCK);
		LockBuffer(buf, BUFFER_LOCK_EXCLUSIVE);
		unchanged = BufferGetLSNAtomic(buf) == lsn;
		if (unchanged)
			fpb_kill_logged(&so->ix, scan->heapRelation, buf, all, npos);
	}
	pfree(all);
	return unchanged;
}

/*
 * Mark the items in cursor.killed on their page as dead to everyone.  No lock
 * is held on entry or exit.
 *
 * They are dead only if their TIDs have not been recycled since the page was
 * read.  VACUUM can't have removed them from the page as long as we held a
 * pin.  If we held none, the page must not have changed at all, which its LSN
 * tells.  (Where there is no WAL, and so no LSN, the pin has been kept.)
 */
void
fpb_scan_kill_items(IndexScanDesc scan, FpbScan *so)
{
	FpbScanPage *sp = so->cursor.page;
	FpbIndex   *ix = &so->ix;
	Buffer		buf = sp->buf;
	Page		page;
	int			nkilled = so->cursor.nkilled;
	FpbPos	   *dead;
	int			ndead = 0;
	ItemPointerData *moved;
	int			nmoved = 0;
	bool		sure;

	so->cursor.nkilled = 0;		/* whatever is raised here */

	if (BufferIsValid(buf))
	{
		LockBuffer(buf, BUFFER_LOCK_SHARE);
		page = BufferGetPage(buf);
		/* pure paranoia, as we have it pinned */
		sure = FpbPageIsLeaf(page) && !FpbPageIsDeleted(page);
	}
	else
	{
		buf = fpb_pin_recent(ix, sp->block);
		LockBuffer(buf, BUFFER_LOCK_SHARE);
		page = BufferGetPage(buf);
		sure = BufferGetLSNAtomic(buf) == sp->lsn;
	}
	if (!sure)
	{
		LockBuffer(buf, BUFFER_LOCK_UNLOCK);
		if (!BufferIsValid(sp->buf))
			ReleaseBuffer(buf);
		return;
	}

	dead = palloc(nkilled * sizeof(FpbPos));
	moved = palloc(nkilled * sizeof(ItemPointerData));
	for (int i = 0; i < nkilled; i++)
	{
		FpbItem    *item = &sp->items[so->cursor.killed[i]];
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

	qsort(dead, ndead, sizeof(FpbPos), compare_positions);
	sure = kill_dead(scan, so, buf, dead, ndead);

	/*
	 * To mark entries may log the page, which gives it another LSN.  Nobody
	 * else has changed it, so what we have read is what there is, and items
	 * that prove dead later can be marked, too.
	 */
	if (sure && !BufferIsValid(sp->buf))
		sp->lsn = BufferGetLSNAtomic(buf);
	pfree(dead);
	pfree(moved);
	LockBuffer(buf, BUFFER_LOCK_UNLOCK);
	if (!BufferIsValid(sp->buf))
		ReleaseBuffer(buf);
}
