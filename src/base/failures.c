/*-------------------------------------------------------------------------
 *
 * base/failures.c
 *	  What has failed, and is left alone for a while: indexes that the worker
 *	  has failed at, and main leaves to which no entries could be moved.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/timestamp.h"

#include "base/shared_table.h"

/*
 * How long what has failed is left alone, in ms: twice as long after each
 * failure, from one to the other.
 */
#define MIN_BACK_OFF	1000
#define MAX_BACK_OFF	300000

/*
 * When to try again what has failed so many times in succession.
 */
TimestampTz
fpb_shared_retry_time(uint32 failures)
{
	int64		delay = (int64) MIN_BACK_OFF << Min(failures - 1, 20);

	return TimestampTzPlusMilliseconds(GetCurrentTimestamp(), Min(delay, MAX_BACK_OFF));
}

/*
 * When the worker may see to the request's index again, after it has failed.
 */
TimestampTz
fpb_shared_retry_at(const FpbRequest *request)
{
	return (TimestampTz) pg_atomic_read_u64(&request->shared->retry_at);
}

/*
 * The worker has failed at an index, and leaves it alone for a while.  The
 * request stands.
 */
void
fpb_shared_failed(const FpbRequest *request, int sqlstate)
{
	FpbShared  *shared = request->shared;

	if (!fpb_shared_lock_request(request, LW_EXCLUSIVE))
		return;
	pg_atomic_write_u64(&shared->retry_at,
						fpb_shared_retry_time(pg_atomic_add_fetch_u32(&shared->failures, 1)));
	pg_atomic_write_u32(&shared->error, sqlstate);
	pg_atomic_write_u64(&shared->error_at, GetCurrentTimestamp());
	pg_atomic_write_u32(&shared->working, false);
	LWLockRelease(&fpb_shared_table->lock);
}

/*
 * The worker has seen to an index without failing.
 */
void
fpb_shared_succeeded(const FpbRequest *request)
{
	FpbShared  *shared = request->shared;

	if (!fpb_shared_lock_request(request, LW_SHARED))
		return;
	if (pg_atomic_read_u32(&shared->failures) != 0)
	{
		pg_atomic_write_u32(&shared->failures, 0);
		pg_atomic_write_u64(&shared->retry_at, 0);
	}
	pg_atomic_write_u32(&shared->working, false);
	LWLockRelease(&fpb_shared_table->lock);
}

/*
 * The number of a leaf among the failed ones; of InvalidBlockNumber, that of a
 * free place.  FPB_FAILED_LEAVES if there is none.  The table is locked.
 */
static int
failed_leaf(const FpbShared *shared, BlockNumber leaf)
{
	int			i;

	for (i = 0; i < FPB_FAILED_LEAVES && shared->failed[i].leaf != leaf; i++)
		;
	return i;
}

/*
 * Find a place for one more failed leaf: a free one, or that of a leaf whose
 * time to be tried again has come.  FPB_FAILED_LEAVES if there is none.  The
 * table is locked exclusively.
 */
static int
place_for_failed_leaf(FpbShared *shared)
{
	TimestampTz now = GetCurrentTimestamp();
	int			i = failed_leaf(shared, InvalidBlockNumber);

	if (i < FPB_FAILED_LEAVES)
	{
		pg_atomic_fetch_add_u32(&shared->nfailed, 1);
		return i;
	}
	for (i = 0; i < FPB_FAILED_LEAVES && shared->failed[i].retry_at > now; i++)
		;
	return i;
}

/*
 * Moving entries to a main leaf has failed.  Leave the leaf alone for a while.
 */
FpbNoted
fpb_shared_note_failed_leaf(FpbShared *shared, BlockNumber leaf)
{
	FpbNoted	noted = FPB_NOT_NOTED;
	int			i;

	if (leaf == InvalidBlockNumber)
		return FPB_NOT_NOTED;
	LWLockAcquire(&fpb_shared_table->lock, LW_EXCLUSIVE);
	i = failed_leaf(shared, leaf);
	if (i < FPB_FAILED_LEAVES)
		noted = FPB_NOTED_AGAIN;
	else if ((i = place_for_failed_leaf(shared)) < FPB_FAILED_LEAVES)
	{
		noted = FPB_NOTED;
		shared->failed[i].leaf = leaf;
		shared->failed[i].failures = 0;
	}
	if (noted != FPB_NOT_NOTED)
		shared->failed[i].retry_at = fpb_shared_retry_time(++shared->failed[i].failures);
	LWLockRelease(&fpb_shared_table->lock);
	return noted;
}

/*
 * Entries have been moved to a main leaf, so it is not a failed one any more.
 */
void
fpb_shared_forget_failed_leaf(FpbShared *shared, BlockNumber leaf)
{
	int			i;

	if (pg_atomic_read_u32(&shared->nfailed) == 0 || leaf == InvalidBlockNumber)
		return;
	LWLockAcquire(&fpb_shared_table->lock, LW_EXCLUSIVE);
	i = failed_leaf(shared, leaf);
	if (i < FPB_FAILED_LEAVES)
	{
		shared->failed[i].leaf = InvalidBlockNumber;
		pg_atomic_fetch_sub_u32(&shared->nfailed, 1);
	}
	LWLockRelease(&fpb_shared_table->lock);
}

/*
 * Forget all failed leaves, because the queue has gone or is a new one.
 */
void
fpb_shared_forget_failed_leaves(FpbShared *shared)
{
	if (pg_atomic_read_u32(&shared->nfailed) == 0)
		return;
	LWLockAcquire(&fpb_shared_table->lock, LW_EXCLUSIVE);
	for (int i = 0; i < FPB_FAILED_LEAVES; i++)
		shared->failed[i].leaf = InvalidBlockNumber;
	pg_atomic_write_u32(&shared->nfailed, 0);
	LWLockRelease(&fpb_shared_table->lock);
}

/*
 * Is a main leaf to be left alone, for now?
 */
bool
fpb_shared_is_failed_leaf(FpbShared *shared, BlockNumber leaf)
{
	bool		failed = false;
	int			i;

	if (pg_atomic_read_u32(&shared->nfailed) == 0 || leaf == InvalidBlockNumber)
		return false;
	LWLockAcquire(&fpb_shared_table->lock, LW_SHARED);
	i = failed_leaf(shared, leaf);
	if (i < FPB_FAILED_LEAVES)
		failed = shared->failed[i].retry_at > GetCurrentTimestamp();
	LWLockRelease(&fpb_shared_table->lock);
	return failed;
}

/*
 * Copy the failed leaves to leaves[], which has room for FPB_FAILED_LEAVES.
 * Returns how many there are.
 */
int
fpb_shared_failed_leaves(FpbShared *shared, BlockNumber *leaves)
{
	int			n = 0;

	LWLockAcquire(&fpb_shared_table->lock, LW_SHARED);
	for (int i = 0; i < FPB_FAILED_LEAVES; i++)
		if (shared->failed[i].leaf != InvalidBlockNumber)
			leaves[n++] = shared->failed[i].leaf;
	LWLockRelease(&fpb_shared_table->lock);
	return n;
}
