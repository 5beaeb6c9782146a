/*-------------------------------------------------------------------------
 *
 * scan/queue_leaf.c
 *	  The queue's leaf for the place that a scan reads: locked, or copied in
 *	  recovery, or known to have nothing.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "common/pg_prng.h"
#include "miscadmin.h"
#include "storage/predicate.h"
#include "utils/memutils.h"

#include "queue/queue.h"
#include "scan/reader.h"

/*
 * Pin the metapage, which names the queue's root, if it is not pinned yet.
 */
static inline void
pin_meta(FpbScan *so)
{
	if (!BufferIsValid(so->queue.metabuf))
		so->queue.metabuf = fpb_pin_meta(&so->ix);
}

/*
 * Unpin the metapage.
 */
void
fpb_scan_unpin_meta(FpbScan *so)
{
	if (BufferIsValid(so->queue.metabuf))
		ReleaseBuffer(so->queue.metabuf);
	so->queue.metabuf = InvalidBuffer;
}

/*
 * Does the filter tell that the queue has nothing that the scan looks for?
 * The main leaf of the place is locked.
 *
 * In a serializable transaction the answer is no, because it has to lock the
 * queue's leaf anyway.
 */
bool
fpb_queue_excluded(FpbReader *r)
{
	FpbScan    *so = r->so;
	FpbKeyRange *range = r->range;

	if (!so->queue.filter_open || so->keys.nranges != 1 || IsolationIsSerializable())
		return false;
	fpb_key_range_set(&so->keys, range, 0);
	if (!range->has_lower || !range->has_upper ||
		range->lower.head != range->upper.head ||
		!(fpb_is_word(&so->ix) || (range->lower.has_head && range->upper.has_head)))
		return false;
	return fpb_filter_excludes(&so->queue.filter, BufferGetPage(so->queue.metabuf),
							   range->lower.head);
}

/*
 * Assertion builds look into the queue half of the times all the same, to
 * verify that it has nothing.
 */
#ifdef USE_ASSERT_CHECKING
#define LOOK_ANYWAY	pg_prng_bool(&pg_global_prng_state)
#else
#define LOOK_ANYWAY	false
#endif

/*
 * The same index, to work on the queue's tree.
 */
static FpbIndex *
queue_index(FpbScan *so)
{
	if (so->queue.tree == NULL)
	{
		so->queue.tree = MemoryContextAlloc(so->cxt, sizeof(FpbIndex));
		fpb_index_of_queue(&so->ix, so->queue.tree);
	}
	return so->queue.tree;
}

/*
 * Lock the queue's leaf for a place (NULL: an end of the index), for
 * serializable transactions, too.  The metapage is pinned.  The caller has the
 * main leaf of the place locked, except in recovery.
 *
 * Returns InvalidBuffer if there is no queue, or if it has nothing for the
 * scan, or if a page would have to be read first, to which *missing is set
 * then (missing = NULL: it is read at once).
 *
 * The relcache tells too late that a queue has come: an insertion that has
 * returned must be seen, and it may have been the first to go to a queue.
 */
Buffer
fpb_lock_queue_leaf(FpbReader *r, FpbSearchKey *search, BlockNumber *missing)
{
	FpbScan    *so = r->so;
	IndexScanDesc scan = r->scan;
	bool		meta_locked = false;
	Buffer		buf;

	for (;;)
	{
		if (fpb_queue_root(so->queue.metabuf) != FPB_METAPAGE)
		{
			if (fpb_queue_excluded(r) && !LOOK_ANYWAY)
				return InvalidBuffer;
			buf = fpb_descend_queue(queue_index(so), search, !r->forward,
									BUFFER_LOCK_SHARE, NULL, missing);
			if (BufferIsValid(buf))
				break;
			if (missing != NULL && *missing != InvalidBlockNumber)
				return InvalidBuffer;
		}

		/*
		 * Whoever inserts into a queue looks for locks on the metapage, too,
		 * when it is there: so the lock comes first, then the look.
		 */
		else if (meta_locked || !IsolationIsSerializable())
			return InvalidBuffer;
		else
		{
			PredicateLockPage(scan->indexRelation, FPB_METAPAGE, scan->xs_snapshot);
			meta_locked = true;
		}
	}
	PredicateLockPage(scan->indexRelation, BufferGetBlockNumber(buf), scan->xs_snapshot);
	fpb_fetch_high(so, so->queue.tree, buf);
	return buf;
}

/*
 * In recovery: copy the queue's leaf for a place (NULL: an end of the index).
 * Returns NULL if there is none.  No lock is held on entry or exit.
 */
static Page
copy_leaf(FpbReader *r, FpbSearchKey *search)
{
	FpbScan    *so = r->so;
	Buffer		buf = fpb_lock_queue_leaf(r, search, NULL);

	if (!BufferIsValid(buf))
		return NULL;
	if (so->queue.copy == NULL)
		so->queue.copy = MemoryContextAllocAligned(so->cxt, BLCKSZ, PG_CACHE_LINE_SIZE, 0);
	memcpy(so->queue.copy, BufferGetPage(buf), BLCKSZ);
	fpb_relbuf(buf);
	return so->queue.copy;
}

/*
 * There is a queue.  If nobody has asked for a worker, and no worker has
 * counted what is in the queue, then the queue has come with the index's file,
 * as after a restart: ask for one.  No page is locked.
 */
static void
ask_for_worker(FpbScan *so)
{
	FpbShared  *shared = so->queue.filter.shared;

	if (shared != NULL &&
		pg_atomic_read_u32(&shared->request) == FPB_NOT_REQUESTED &&
		!fpb_filter_counted(&so->queue.filter, so->ix.rel))
		fpb_worker_request(so->ix.rel);
}

/*
 * Prepare to look into the queue, before the main leaf of a place is locked:
 * pin the metapage; in recovery, copy the queue's leaf into the segment; else
 * open the filter once there is a queue.  No lock is held on entry or exit.
 */
void
fpb_open_queue(FpbReader *r, FpbSearchKey *search)
{
	FpbScan    *so = r->so;
	FpbSegment *seg = &r->seg;

	pin_meta(so);
	seg->copied = RecoveryInProgress();
	if (seg->copied)
		seg->queue = copy_leaf(r, search);
	else if (!so->queue.filter_open && fpb_queue_root(so->queue.metabuf) != FPB_METAPAGE)
	{
		fpb_filter_open(&so->queue.filter, so->ix.rel);
		so->queue.filter_open = true;
		ask_for_worker(so);
	}
}
