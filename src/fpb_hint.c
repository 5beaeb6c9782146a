/*-------------------------------------------------------------------------
 *
 * fpb_hint.c
 *	  Leaving hints on a leaf for the rows that have been found dead.
 *
 * A hint is not logged, and the page can be written with it as soon as the WAL is
 * on disk up to the page's LSN.  That can be before the commit which the hint
 * follows from is, if that was asynchronous; a crash then takes the commit back,
 * but not the hint, and scans miss the row.  See "Dead entries" in README.md.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/tableam.h"
#include "access/xlog.h"
#include "storage/bufmgr.h"

#include "fpb_layout.h"

/*
 * Up to where the WAL tells what has made the rows of these entries dead.
 *
 * In the heap that is the LSN of their pages: the server takes a row for surely
 * dead only with its hint that the deletion is committed, or with a line pointer
 * that has been pruned.  It gives the hint when the commit is on disk, or below the
 * page's LSN, and logs the other.  Of other tables we know nothing.
 *
 * The leaf is locked at least share.  Can raise what reading a page can.
 */
static XLogRecPtr
dead_up_to(const FpbIndex *ix, Relation heap, Page page, const FpbPos *pos, int npos)
{
	XLogRecPtr	lsn = InvalidXLogRecPtr;
	BlockNumber last = InvalidBlockNumber;

	if (heap->rd_tableam != GetHeapamTableAmRoutine())
		return GetXLogInsertRecPtr();

	for (int i = 0; i < npos; i++)
	{
		FpbPos		at = pos[i];
		FpbEntry	entry;
		ItemPointerData tid;
		Buffer		buf;

		fpb_page_next(ix, page, &at, &entry);
		fpb_tail_tid(entry.key.tail, &tid);
		if (ItemPointerGetBlockNumber(&tid) == last)
			continue;
		last = ItemPointerGetBlockNumber(&tid);
		buf = ReadBuffer(heap, last);
		lsn = Max(lsn, BufferGetLSNAtomic(buf));
		ReleaseBuffer(buf);
	}
	return lsn;
}

/*
 * May these entries get hints, for all that a crash can do?
 *
 * So it is if crash recovery would begin with an image of the leaf, as images have
 * no hints: one made since the last checkpoint began, or one that the hint makes
 * itself where there are checksums (or wal_log_hints).  Otherwise the WAL has to be
 * on disk.  If it is not, a later scan can leave the hints: each transaction that
 * has written some has asked for it at its end.
 */
static bool
survive_crash(const FpbIndex *ix, Relation heap, Buffer buf, const FpbPos *pos, int npos)
{
	if (!RelationNeedsWAL(ix->rel))
		return true;
	if (fullPageWrites &&
		(XLogHintBitIsNeeded() || BufferGetLSNAtomic(buf) > GetRedoRecPtr()))
		return true;
	return !XLogNeedsFlush(dead_up_to(ix, heap, BufferGetPage(buf), pos, npos));
}

/*
 * Note that entries of a leaf are dead to everyone, given their positions in order,
 * perhaps more than once.
 *
 * The leaf is locked at least share.  Can raise what reading a page of the table
 * can.
 */
void
fpb_hint_dead(const FpbIndex *ix, Relation heap, Buffer buf, const FpbPos *pos, int npos)
{
	if (npos > 0 && survive_crash(ix, heap, buf, pos, npos) &&
		fpb_page_kill(ix, BufferGetPage(buf), pos, npos))
		MarkBufferDirtyHint(buf, true);
}
