/*-------------------------------------------------------------------------
 *
 * fpb_hint.c
 *	  Leaving hints on a leaf for the rows that have been found dead.
 *
 * A hint is not logged, and the page can be written with it as soon as the WAL
 * is on disk up to the page's LSN.  That can be before the commit which the
 * hint follows from is, if that was asynchronous; a crash then takes the
 * commit back, but not the hint, and scans miss the row.  See "Dead entries"
 * in README.md.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/tableam.h"
#include "access/xlog.h"
#include "storage/bufmgr.h"

#include "fpb_tree.h"

/*
 * Is the WAL on disk up to where it tells what has made the rows of these
 * entries dead?
 *
 * In the heap that is the LSN of their pages: the server takes a row for
 * surely dead only with its hint that the deletion is committed, or with a
 * line pointer that has been pruned.  It gives the hint when the commit is on
 * disk, or below the page's LSN, and logs the other.  Of other tables we know
 * nothing, nor of one whose changes are not logged until the transaction that
 * has moved it commits, so all of the WAL has to be.  If it is, which is so
 * where nobody writes, the pages need not be looked at.
 *
 * The leaf is locked at least share.  Can raise what reading a page can.
 */
static bool
deaths_on_disk(const FpbIndex *ix, Relation heap, Page page, const FpbPos *pos, int npos)
{
	BlockNumber last = InvalidBlockNumber;

	if (!XLogNeedsFlush(GetXLogInsertRecPtr()))
		return true;
	if (!RelationNeedsWAL(heap) || heap->rd_tableam != GetHeapamTableAmRoutine())
		return false;

	for (int i = 0; i < npos; i++)
	{
		FpbPos		at = pos[i];
		FpbEntry	entry;
		ItemPointerData tid;
		Buffer		buf;
		XLogRecPtr	lsn;

		fpb_page_next(ix, page, &at, &entry);
		fpb_tail_tid(entry.key.tail, &tid);
		if (ItemPointerGetBlockNumber(&tid) == last)
			continue;
		last = ItemPointerGetBlockNumber(&tid);
		buf = ReadBuffer(heap, last);
		lsn = BufferGetLSNAtomic(buf);
		ReleaseBuffer(buf);
		if (XLogNeedsFlush(lsn))
			return false;
	}
	return true;
}

/*
 * May these entries get hints, for all that a crash can do?
 *
 * If the WAL is not on disk, a later scan can leave the hints: each
 * transaction that has written some has asked for it at its end.  (One might
 * not wait where crash recovery begins with an image of the leaf, which has no
 * hints.  But nothing tells that it does: see README.md.)
 */
static bool
survive_crash(const FpbIndex *ix, Relation heap, Page page, const FpbPos *pos, int npos)
{
	return !RelationNeedsWAL(ix->rel) ||
		deaths_on_disk(ix, heap, page, pos, npos);
}

/*
 * Note that entries of a leaf are dead to everyone, given their positions in
 * order, perhaps more than once.
 *
 * The leaf is locked at least share.  Can raise what reading a page of the
 * table can.
 */
void
fpb_hint_dead(const FpbIndex *ix, Relation heap, Buffer buf, const FpbPos *pos, int npos)
{
	Page		page = BufferGetPage(buf);

	if (npos > 0 && survive_crash(ix, heap, page, pos, npos) &&
		fpb_page_kill(ix, page, pos, npos))
		MarkBufferDirtyHint(buf, true);
}
