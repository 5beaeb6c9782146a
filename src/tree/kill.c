/*-------------------------------------------------------------------------
 *
 * tree/kill.c
 *	  Killing the entries of rows that have been found dead.
 *
 * A killed entry is marked on its leaf, so that scans pass over it, and it is
 * removed before the leaf would have to be split (tree/prune.c).
 *
 * The mark is not logged, and the page can be written with it as soon as the
 * WAL is on disk up to the page's LSN.  If the row was deleted by an
 * asynchronous commit, the commit may not be on disk by then.  A crash would
 * take the commit back, but not the mark, and scans would miss the row.  So an
 * entry is killed only if a crash would leave its row dead, or take back the
 * leaf's last change, too.  See "Dead entries" in README.md.
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
 * Is WAL up to an LSN on disk, or will it be before a leaf with this LSN is
 * written?
 */
static bool
is_safe(XLogRecPtr lsn, XLogRecPtr leaf)
{
	return lsn <= leaf || !XLogNeedsFlush(lsn);
}

/*
 * Would a crash that leaves a leaf with this LSN on disk leave the row that
 * begins at this line pointer dead?
 *
 * The row has been found dead to everyone.  So each of its versions was made
 * by a transaction that has been aborted, or deleted by one that has been
 * committed.  The server keeps the LSNs of asynchronous commits: a commit is
 * on disk unless it names one beyond.  Of versions that have been pruned, only
 * the page's LSN tells.
 *
 * The page of the table is locked share.  Can raise what reading the commit
 * log can.
 */
static bool
stays_dead(Page page, OffsetNumber offset, XLogRecPtr leaf)
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
		if (!is_safe(TransactionIdGetCommitLSN(deleter), leaf))
			return false;
		if (!HeapTupleHeaderIsHotUpdated(tuple))
			return true;
		offset = ItemPointerGetOffsetNumber(&tuple->t_ctid);
	}
	return is_safe(PageGetLSN(page), leaf);
}

/*
 * Is what has made a table's rows dead in the WAL below the LSNs of its pages,
 * or on disk?
 */
static bool
is_logged(Relation heap)
{
	return RelationNeedsWAL(heap) && heap->rd_tableam == GetHeapamTableAmRoutine();
}

/*
 * Keep those of the entries at pos[] whose rows a crash would leave dead;
 * returns how many.
 *
 * If all of the WAL is on disk, as it is if nobody writes, that is so of every
 * row.  Otherwise it is so of a row of a heap if the WAL is on disk up to the
 * LSN of the row's page, or if the leaf has been changed since: the leaf can't
 * be written before the WAL up to its own LSN.  For the server takes a row for
 * surely dead only if the row has the heap's own hint bit for a committed
 * deletion, or if its line pointer has been pruned.  The bit is set when the
 * commit is on disk or below the page's LSN; pruning is logged.  If the page
 * has been changed since, the row itself tells.
 *
 * No entry is kept if the table is not a heap, because nothing is known of it,
 * or if its changes are not logged until the transaction that has moved it
 * commits.
 *
 * A later scan can kill the other entries: each transaction that has written
 * WAL has asked for it to be written to disk.  (We need not wait if crash
 * recovery would begin with an image of the leaf, which has no marks.  But
 * nothing tells that it would: see README.md.)
 *
 * The leaf is locked at least share.  Can raise what reading a page or the
 * commit log can.
 */
static int
keep_crash_proof(const FpbIndex *ix, Relation heap, Buffer leaf, FpbPos *pos, int npos)
{
	Page		page = BufferGetPage(leaf);
	XLogRecPtr	lsn = BufferGetLSNAtomic(leaf);
	Buffer		buf = InvalidBuffer;
	int			nkept = 0;

	if (!is_logged(heap))
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
		if (!is_safe(BufferGetLSNAtomic(buf), lsn))
		{
			LockBuffer(buf, BUFFER_LOCK_SHARE);
			keep = stays_dead(BufferGetPage(buf), ItemPointerGetOffsetNumber(&tid), lsn);
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
 * The leaf of which no entry could be killed the last time, its LSN, and how
 * much of the WAL was on disk then.  Until there is more, or the leaf has been
 * changed, another try is in vain (but for rows whose inserters have been
 * aborted, which can wait).
 */
static struct
{
	Oid			index;
	BlockNumber block;
	XLogRecPtr	lsn;
	XLogRecPtr	flushed;
}			in_vain;

/*
 * See if it is in vain to try and kill entries of a leaf.
 */
static bool
is_in_vain(const FpbIndex *ix, Buffer leaf)
{
	return in_vain.block == BufferGetBlockNumber(leaf) &&
		in_vain.index == RelationGetRelid(ix->rel) &&
		in_vain.lsn == BufferGetLSNAtomic(leaf) && in_vain.flushed == GetFlushRecPtr(NULL);
}

static void
note_in_vain(const FpbIndex *ix, Buffer leaf, XLogRecPtr flushed)
{
	in_vain.index = RelationGetRelid(ix->rel);
	in_vain.block = BufferGetBlockNumber(leaf);
	in_vain.lsn = BufferGetLSNAtomic(leaf);
	in_vain.flushed = flushed;
}

/*
 * Kill the entries of a leaf at pos[], whose rows are dead to everyone.  The
 * positions are in order, some perhaps more than once, and are changed.  An
 * entry that can't be killed now is left to a later scan: for example, some
 * servers let no page be changed while it is being written.  Returns how many
 * of the positions could be killed.
 *
 * The leaf is locked at least share.  Can raise what reading a page of the
 * table, or the commit log, can.
 */
int
fpb_kill_entries(const FpbIndex *ix, Relation heap, Buffer buf, FpbPos *pos, int npos)
{
	Page		page = BufferGetPage(buf);

	if (npos > 0 && RelationNeedsWAL(ix->rel) && XLogNeedsFlush(GetXLogInsertRecPtr()))
	{
		XLogRecPtr	flushed = GetFlushRecPtr(NULL);

		if (is_in_vain(ix, buf))
			return 0;
		npos = keep_crash_proof(ix, heap, buf, pos, npos);
		if (npos == 0)
			note_in_vain(ix, buf, flushed);
	}
	if (npos == 0 || !fpb_begin_hints(buf))
		return 0;
	fpb_finish_hints(buf, fpb_page_kill(ix, page, pos, npos));
	return npos;
}

/*
 * Kill the entries of a leaf at pos[], whose rows are dead to everyone, even
 * if that is not on disk yet: first log the leaf, as it is.  Then it can't be
 * written before the WAL up to that record, and what has made the rows dead is
 * in the WAL before it (see keep_crash_proof).  Otherwise the entries at the
 * front of a queue would be looked at by each scan until the WAL is on disk.
 *
 * The leaf is locked exclusively, and nobody has changed it since the rows
 * were found dead.  Can raise what logging can.
 */
void
fpb_kill_logged(const FpbIndex *ix, Relation heap, Buffer buf, FpbPos *pos, int npos)
{
	Page		page = BufferGetPage(buf);
	FpbPageHeader *header = FpbHdr(page);
	FpbWal		wal;
	FpbWalPage *wp;

	if (!RelationNeedsWAL(ix->rel) || !is_logged(heap))
		return;
	fpb_wal_begin(&wal, ix->rel);
	wp = fpb_wal_add(&wal, buf, false);
	fpb_wal_enter(&wal);
	fpb_wal_note(wp, &header->flags, sizeof(header->flags));
	fpb_wal_finish(&wal);
	if (fpb_begin_hints(buf))
		fpb_finish_hints(buf, fpb_page_kill(ix, page, pos, npos));
}

/*
 * May entries of a leaf whose rows have been found dead be killed by a record
 * that changes the leaf?  They may even if that is not on disk yet: the leaf
 * can't be written before the WAL up to that record (see fpb_kill_logged).
 */
bool
fpb_may_kill_on_change(const FpbIndex *ix, Relation heap)
{
	return RelationNeedsWAL(ix->rel) && is_logged(heap);
}
