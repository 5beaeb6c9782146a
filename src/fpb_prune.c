/*-------------------------------------------------------------------------
 *
 * fpb_prune.c
 *	  Removing dead entries from a leaf that would have to be split.
 *
 * Scans leave hints of entries whose rows are dead to everyone.  VACUUM is not
 * needed to remove such an entry, but a standby must not lose one that a query
 * there can still see, and our WAL raises no recovery conflict.  So an entry
 * goes only if its heap line pointer is LP_DEAD already: the record that made
 * it so has raised the conflict.  See "Killed entries" in README.md.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/tableam.h"
#include "storage/bufmgr.h"

#include "fpb_layout.h"

/* a killed entry */
typedef struct KilledEntry
{
	ItemPointerData tid;
	FpbPos		pos;
} KilledEntry;

static int
compare_killed(const void *a, const void *b)
{
	return ItemPointerCompare(&((KilledEntry *) a)->tid,
							  &((KilledEntry *) b)->tid);
}

/*
 * The killed entries of a leaf, in heap order; returns how many.
 */
static int
killed_entries(const FpbIndex *ix, Page page, KilledEntry *killed)
{
	FpbPos		pos = {0, 0};
	FpbEntry	entry;
	int			n = 0;

	while (fpb_page_next(ix, page, &pos, &entry))
	{
		if (fpb_page_is_killed(ix, page, pos))
		{
			fpb_tail_tid(entry.key.tail, &killed[n].tid);
			killed[n].pos = pos;
			n++;
		}
		fpb_page_advance(ix, page, &pos);
	}
	qsort(killed, n, sizeof(KilledEntry), compare_killed);
	return n;
}

/*
 * Keep those of the entries whose line pointers are LP_DEAD; returns how many.
 * Heap pages are locked, share, one at a time.
 */
static int
confirm_dead(Relation heap, KilledEntry *killed, int n, FpbPos *dead)
{
	BlockNumber nblocks = RelationGetNumberOfBlocks(heap);
	Buffer		buf = InvalidBuffer;
	int			ndead = 0;

	for (int i = 0; i < n; i++)
	{
		BlockNumber blkno = ItemPointerGetBlockNumber(&killed[i].tid);
		OffsetNumber offset = ItemPointerGetOffsetNumber(&killed[i].tid);
		Page		page;

		if (blkno >= nblocks)
			continue;
		if (!BufferIsValid(buf) || BufferGetBlockNumber(buf) != blkno)
		{
			if (BufferIsValid(buf))
				UnlockReleaseBuffer(buf);
			buf = ReadBuffer(heap, blkno);
			LockBuffer(buf, BUFFER_LOCK_SHARE);
		}
		page = BufferGetPage(buf);
		if (offset <= PageGetMaxOffsetNumber(page) &&
			ItemIdIsDead(PageGetItemId(page, offset)))
			dead[ndead++] = killed[i].pos;
	}
	if (BufferIsValid(buf))
		UnlockReleaseBuffer(buf);
	return ndead;
}

/*
 * Remove what can be removed from a leaf locked exclusively, which stays so.
 * Returns whether anything has been.
 */
bool
fpb_prune(const FpbIndex *ix, Relation heap, Buffer buf)
{
	Page		page = BufferGetPage(buf);
	KilledEntry *killed;
	FpbPos	   *dead;
	int			n;

	/* Other table access methods have no line pointers that we could ask. */
	if (heap->rd_tableam != GetHeapamTableAmRoutine())
		return false;

	killed = palloc(sizeof(KilledEntry) * FPB_MAX_PAGE_ENTRIES);
	n = killed_entries(ix, page, killed);
	if (n > 0)
	{
		dead = palloc(sizeof(FpbPos) * n);
		n = confirm_dead(heap, killed, n, dead);
		if (n > 0)
		{
			FpbWal		wal;
			FpbWalPage *wp;

			fpb_wal_begin(&wal, ix->rel);
			wp = fpb_wal_add(&wal, buf, false);
			fpb_wal_enter(&wal);
			fpb_page_delete(ix, page, dead, n, wp);
			fpb_wal_finish(&wal);
		}
		pfree(dead);
	}
	pfree(killed);
	return n > 0;
}
