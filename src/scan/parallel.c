/*-------------------------------------------------------------------------
 *
 * scan/parallel.c
 *	  Parallel index scans: which process reads which page.
 *
 * The processes share the edge where the next page is to be read, in the
 * middle of a range or at the beginning of one.  A process seizes the edge,
 * goes to the page there, and puts down the edge after that page.  Then it
 * reads the page and hands out what it has read, while another process goes to
 * the next page.  A serial scan needs no more than an edge to go on, either.
 * All processes number the ranges alike because they have the same keys.
 *
 * They also share a count of the leaves that have been announced, so that each
 * prefetches others.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "storage/condition_variable.h"
#include "storage/spin.h"
#include "utils/wait_event.h"

#include "scan/scan.h"

/*
 * While a process waits, it looks once in so many ms whether somebody waits
 * for a read that it has started.
 */
#define SERVE_INTERVAL	10

typedef enum FpbParallelPhase
{
	FPB_PARALLEL_NEW,			/* no page has been read */
	FPB_PARALLEL_READING,		/* some process is reading a page */
	FPB_PARALLEL_IDLE,			/* the next page may be read */
	FPB_PARALLEL_DONE			/* there are no more pages */
} FpbParallelPhase;

typedef struct FpbParallelScan
{
	slock_t		mutex;			/* protects phase */
	FpbParallelPhase phase;
	ConditionVariable changed;	/* phase is no longer FPB_PARALLEL_READING */

	/* The edge; belongs to the process that is reading, so needs no lock. */
	bool		inside;
	bool		same_leaf;
	bool		leapt;
	int64		range;
	BlockNumber right;
	FpbKey		key;			/* tuple: at the end, if tuple_size > 0 */
	uint64		nleaves;		/* come to so far */
	Size		tuple_size;

	/* so many leaves of the scan, from its first on, have been announced */
	pg_atomic_uint64 nannounced;

	char		tuple[FLEXIBLE_ARRAY_MEMBER];
} FpbParallelScan;

/*
 * The shared memory that a parallel scan needs.  A fence is never larger than
 * the largest tuple with a TID.
 */
Size
fpb_estimateparallelscan(FPB_ESTIMATE_PARALLEL_ARGS)
{
	return offsetof(FpbParallelScan, tuple) + BLCKSZ;
}

/*
 * Set up the shared state.
 */
void
fpb_initparallelscan(void *target)
{
	FpbParallelScan *ps = (FpbParallelScan *) target;

	SpinLockInit(&ps->mutex);
	ConditionVariableInit(&ps->changed);
	ps->phase = FPB_PARALLEL_NEW;
	pg_atomic_init_u64(&ps->nannounced, 0);
}

/*
 * Start again.  No other process is attached.
 */
void
fpb_parallelrescan(IndexScanDesc scan)
{
	FpbParallelScan *ps = (FpbParallelScan *)
		FPB_PARALLEL_STATE(scan->parallel_scan);

	SpinLockAcquire(&ps->mutex);
	ps->phase = FPB_PARALLEL_NEW;
	SpinLockRelease(&ps->mutex);
	pg_atomic_write_u64(&ps->nannounced, 0);
}

/*
 * What pg_stat_activity shows for a process that waits until another has read
 * a page.
 */
static uint32
wait_event(void)
{
	static uint32 event = 0;

	if (event == 0)
		event = WaitEventExtensionNew("FpbtreeParallelScan");
	return event;
}

/*
 * Become the process that is reading: *at is set to where, and the caller must
 * call fpb_parallel_release afterwards.  first: the range that the scan begins
 * with.  If another process is reading, the caller calls fpb_parallel_wait
 * before the next try.
 */
FpbSeized
fpb_parallel_seize(IndexScanDesc scan, FpbScan *so, FpbScanEdge *at,
				   int64 first)
{
	FpbParallelScan *ps = (FpbParallelScan *)
		FPB_PARALLEL_STATE(scan->parallel_scan);
	FpbParallelPhase phase;

	SpinLockAcquire(&ps->mutex);
	phase = ps->phase;
	if (phase == FPB_PARALLEL_NEW || phase == FPB_PARALLEL_IDLE)
		ps->phase = FPB_PARALLEL_READING;
	SpinLockRelease(&ps->mutex);
	if (phase == FPB_PARALLEL_READING)
		return FPB_SEIZED_BY_ANOTHER;
	ConditionVariableCancelSleep();

	if (phase == FPB_PARALLEL_DONE)
		return FPB_NOTHING_TO_SEIZE;
	at->inside = false;
	if (phase == FPB_PARALLEL_NEW)
	{
		at->range = first;
		ps->nleaves = 0;
	}
	else
	{
		if (ps->inside)
		{
			FpbKey		key = ps->key;

			key.tuple = ps->tuple_size > 0 ? (IndexTuple) ps->tuple : NULL;
			fpb_edge_set_key(so, at, &key);
			at->leapt = ps->leapt;
		}
		at->range = ps->range;
		at->right = ps->right;
		at->same_leaf = ps->same_leaf;
	}
	if (!at->inside || !at->same_leaf)
		ps->nleaves++;
	so->cursor.leaf_number = ps->nleaves - 1;

	/* if others prefetch, so do we */
	if (pg_atomic_read_u64(&ps->nannounced) > so->cursor.leaf_number)
		so->prefetch.leaves_on = true;
	return FPB_SEIZED;
}

/*
 * Wait a little, or until no other process is reading.
 */
void
fpb_parallel_wait(IndexScanDesc scan)
{
	FpbParallelScan *ps = (FpbParallelScan *)
		FPB_PARALLEL_STATE(scan->parallel_scan);

	(void) ConditionVariableTimedSleep(&ps->changed, SERVE_INTERVAL, wait_event());
}

/*
 * How many leaves of the scan has any process announced so far?
 */
uint64
fpb_parallel_announced(IndexScanDesc scan)
{
	FpbParallelScan *ps = (FpbParallelScan *)
		FPB_PARALLEL_STATE(scan->parallel_scan);

	return pg_atomic_read_u64(&ps->nannounced);
}

/*
 * So many have been announced now.  Others may have announced some of them in
 * the meantime, which does no harm.
 */
void
fpb_parallel_announce(IndexScanDesc scan, uint64 nleaves)
{
	FpbParallelScan *ps = (FpbParallelScan *)
		FPB_PARALLEL_STATE(scan->parallel_scan);

	(void) pg_atomic_monotonic_advance_u64(&ps->nannounced, nleaves);
}

/*
 * All that was announced has been in memory: a process that does not prefetch
 * need not begin to.
 */
void
fpb_parallel_retract(IndexScanDesc scan)
{
	FpbParallelScan *ps = (FpbParallelScan *)
		FPB_PARALLEL_STATE(scan->parallel_scan);

	pg_atomic_write_u64(&ps->nannounced, 0);
}

/*
 * Let the others go on, at *at.
 */
void
fpb_parallel_release(IndexScanDesc scan, FpbScan *so, const FpbScanEdge *at)
{
	FpbParallelScan *ps = (FpbParallelScan *)
		FPB_PARALLEL_STATE(scan->parallel_scan);
	bool		done = at->range < 0 || at->range >= so->keys.nranges;

	ps->inside = at->inside;
	ps->same_leaf = at->same_leaf;
	ps->leapt = at->leapt;
	ps->range = at->range;
	ps->right = at->right;
	if (at->inside)
	{
		ps->key = at->key;
		ps->tuple_size = 0;
		if (!fpb_is_word(&so->ix))
		{
			ps->tuple_size = IndexTupleSize(at->key.tuple);
			Assert(ps->tuple_size <= BLCKSZ);
			memcpy(ps->tuple, at->key.tuple, ps->tuple_size);
		}
	}

	SpinLockAcquire(&ps->mutex);
	ps->phase = done ? FPB_PARALLEL_DONE : FPB_PARALLEL_IDLE;
	SpinLockRelease(&ps->mutex);
	if (done)
		ConditionVariableBroadcast(&ps->changed);
	else
		ConditionVariableSignal(&ps->changed);
}
