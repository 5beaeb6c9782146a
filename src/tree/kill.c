/*-------------------------------------------------------------------------
 *
 * tree/kill.c
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
#include "access/htup_details.h"
#include "access/tableam.h"
#include "access/transam.h"
#include "access/xlog.h"
#include "storage/bufmgr.h"

#include "tree/tree.h"

/*
 * Would a crash leave the row that begins at this line pointer dead?
 *
 * It has been found dead to everyone, so each of its versions was made by a
 * transaction that has been aborted, or deleted by one whose commit is on disk
 * if the server, which keeps that for asynchronous ones, names no LSN beyond.
 * Of what has been pruned only the page's LSN tells.
 *
 * The page of the table is locked share.  Can raise what reading the commit
 * log can.
 */
static bool
stays_dead(Page page, OffsetNumber offset)
{
	TransactionId deleter = InvalidTransactionId;

	/* a chain of versions is no longer than the page has line pointers */
	for (int n = PageGetMaxOffsetNumber(page); n > 0; n--)
	{
		ItemId		item;
		HeapTupleHeader tuple;

		if (offset < FirstOffsetNumber || offset > PageGetMaxOffsetNumber(page))
			break;
		item = PageGetItemId(page, offset);
		if (ItemIdIsRedirected(item))
		{
			offset = ItemIdGetRedirect(item);
			continue;
		}
		if (!ItemIdIsNormal(item))
			break;
		tuple = (HeapTupleHeader) PageGetItem(page, item);
		if (TransactionIdIsValid(deleter) &&
			(!HeapTupleHeaderIsHeapOnly(tuple) ||
			 !TransactionIdEquals(HeapTupleHeaderGetXmin(tuple), deleter)))
			break;
		if (HeapTupleHeaderXminInvalid(tuple))
			return true;
		if ((tuple->t_infomask & (HEAP_XMAX_COMMITTED | HEAP_XMAX_IS_MULTI)) != HEAP_XMAX_COMMITTED ||
			HEAP_XMAX_IS_LOCKED_ONLY(tuple->t_infomask))
			break;
		deleter = HeapTupleHeaderGetRawXmax(tuple);
		if (XLogNeedsFlush(TransactionIdGetCommitLSN(deleter)))
			return false;
		if (!HeapTupleHeaderIsHotUpdated(tuple))
			return true;
		offset = ItemPointerGetOffsetNumber(&tuple->t_ctid);
	}
	return !XLogNeedsFlush(PageGetLSN(page));
}

/*
 * Which of these entries may get hints, for all that a crash can do?  They are
 * left in pos; returns how many.
 *
 * Those of rows that have been made dead by what is on disk.  In the heap that
 * is so if the WAL is on disk up to the LSN of the row's page: the server
 * takes a row for surely dead only with its hint that the deletion is
 * committed, or with a line pointer that has been pruned.  It gives the hint
 * when the commit is on disk, or below the page's LSN, and logs the other.
 * Where the page has been changed since, the row itself tells.  Of other
 * tables we know nothing, nor of one whose changes are not logged until the
 * transaction that has moved it commits, so all of the WAL has to be.  If it
 * is, which is so where nobody writes, the pages need not be looked at.
 *
 * The others can be given hints by a later scan: each transaction that has
 * written WAL has asked for it at its end.  (One might not wait where crash
 * recovery begins with an image of the leaf, which has no hints.  But nothing
 * tells that it does: see README.md.)
 *
 * The leaf is locked at least share.  Can raise what reading a page or the
 * commit log can.
 */
static int
keep_crash_proof(const FpbIndex *ix, Relation heap, Page page, FpbPos *pos, int npos)
{
	Buffer		buf = InvalidBuffer;
	int			nkept = 0;

	if (!RelationNeedsWAL(ix->rel) || !XLogNeedsFlush(GetXLogInsertRecPtr()))
		return npos;
	if (!RelationNeedsWAL(heap) || heap->rd_tableam != GetHeapamTableAmRoutine())
		return 0;

	for (int i = 0; i < npos; i++)
	{
		FpbPos		at = pos[i];
		FpbEntry	entry;
		ItemPointerData tid;
		bool		keep = true;

		fpb_page_next(ix, page, &at, &entry);
		fpb_tail_tid(entry.key.tail, &tid);
		buf = ReleaseAndReadBuffer(buf, heap, ItemPointerGetBlockNumber(&tid));
		if (XLogNeedsFlush(BufferGetLSNAtomic(buf)))
		{
			LockBuffer(buf, BUFFER_LOCK_SHARE);
			keep = stays_dead(BufferGetPage(buf), ItemPointerGetOffsetNumber(&tid));
			LockBuffer(buf, BUFFER_LOCK_UNLOCK);
		}
		if (keep)
			pos[nkept++] = pos[i];
	}
	if (BufferIsValid(buf))
		ReleaseBuffer(buf);
	return nkept;
}

/*
 * Note that entries of a leaf are dead to everyone, given their positions in
 * order, perhaps more than once, which are not the same afterwards.  Nothing
 * is noted while somebody writes the page, say, where the server does not let
 * it be changed then.
 *
 * The leaf is locked at least share.  Can raise what reading a page of the
 * table, or the commit log, can.
 */
void
fpb_kill_entries(const FpbIndex *ix, Relation heap, Buffer buf, FpbPos *pos, int npos)
{
	Page		page = BufferGetPage(buf);

	if (npos > 0)
		npos = keep_crash_proof(ix, heap, page, pos, npos);
	if (npos > 0 && fpb_begin_hints(buf))
	{
		bool		hinted = fpb_page_kill(ix, page, pos, npos);

		fpb_finish_hints(buf, hinted);
	}
}
