/*-------------------------------------------------------------------------
 *
 * fpb_parallel.c
 *	  Parallel index scans: who reads which page.
 *
 * The shared state is the edge where the next page is to be read, in the
 * middle of a range or at the beginning of one.  A process seizes it, reads
 * one page from there, puts down the edge behind that page and goes on to
 * hand out what it has read, while another may read the next page.  The
 * edge is all that a serial scan needs to go on as well, so nothing else is
 * particular to parallel scans.  That all workers number the ranges alike
 * follows from their having the same keys.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "storage/condition_variable.h"
#include "storage/spin.h"
#include "utils/wait_event.h"

#include "fpb_scan.h"

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
	int64		range;
	BlockNumber right;
	FpbKey		key;			/* tuple: follows, if tuple_size > 0 */
	Size		tuple_size;
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
}

/*
 * What pg_stat_activity shows for a process that waits for another to have
 * read a page.
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
 * Wait until no other process is reading, and become the one that is: *at is
 * set to where.  first: the range that the scan begins with.  False if there
 * is nothing more to read.  Else fpb_parallel_release must follow.
 */
bool
fpb_parallel_seize(IndexScanDesc scan, FpbScan *so, FpbScanEdge *at,
				   int64 first)
{
	FpbParallelScan *ps = (FpbParallelScan *)
		FPB_PARALLEL_STATE(scan->parallel_scan);
	FpbParallelPhase phase;

	for (;;)
	{
		SpinLockAcquire(&ps->mutex);
		phase = ps->phase;
		if (phase == FPB_PARALLEL_NEW || phase == FPB_PARALLEL_IDLE)
			ps->phase = FPB_PARALLEL_READING;
		SpinLockRelease(&ps->mutex);
		if (phase != FPB_PARALLEL_READING)
			break;
		ConditionVariableSleep(&ps->changed, wait_event());
	}
	ConditionVariableCancelSleep();

	if (phase == FPB_PARALLEL_DONE)
		return false;
	at->inside = false;
	if (phase == FPB_PARALLEL_NEW)
		at->range = first;
	else
	{
		if (ps->inside)
		{
			FpbKey		key = ps->key;

			key.tuple = ps->tuple_size > 0 ? (IndexTuple) ps->tuple : NULL;
			fpb_edge_set_key(so, at, &key);
		}
		at->range = ps->range;
		at->right = ps->right;
	}
	return true;
}

/*
 * Let others go on reading at an edge.
 */
void
fpb_parallel_release(IndexScanDesc scan, FpbScan *so, const FpbScanEdge *at)
{
	FpbParallelScan *ps = (FpbParallelScan *)
		FPB_PARALLEL_STATE(scan->parallel_scan);
	bool		done = at->range < 0 || at->range >= so->keys.nranges;

	ps->inside = at->inside;
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
