/*-------------------------------------------------------------------------
 *
 * base/requests.c
 *	  Requests: the indexes that the worker of a database is to see to.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "base/shared_table.h"

/*
 * Ask for the worker to see to an index, which the caller has locked.
 */
void
fpb_shared_request(FpbShared *shared)
{
	if (pg_atomic_read_u32(&shared->request) != FPB_REQUESTED)
		pg_atomic_write_u32(&shared->request, FPB_REQUESTED);
}

/*
 * Find the next request of this database, from *position on, and put it into
 * *request.  False if there is none.
 */
bool
fpb_shared_next_request(int *position, FpbRequest *request)
{
	while ((request->shared = fpb_shared_next(position, &request->index)) != NULL)
	{
		request->key = fpb_shared_key(request->index);
		if (pg_atomic_read_u32(&request->shared->request) != FPB_NOT_REQUESTED)
			return true;
	}
	return false;
}

/*
 * Lock the table if the slot still is that of the request's index.  If not,
 * returns false, and the table is not locked.
 *
 * The worker does not keep the index locked.  So the index may have been
 * dropped, and another index may have its slot.
 */
bool
fpb_shared_lock_request(const FpbRequest *request, LWLockMode mode)
{
	LWLockAcquire(&fpb_shared_table->lock, mode);
	if (pg_atomic_read_u64(&request->shared->key) == request->key)
		return true;
	LWLockRelease(&fpb_shared_table->lock);
	return false;
}

/*
 * The worker is about to see to a request.  Insertions that put entries into
 * the queue from now on ask again.  Returns whether somebody has asked since
 * the worker took the request last.
 */
bool
fpb_shared_take_request(const FpbRequest *request)
{
	bool		asked;

	if (!fpb_shared_lock_request(request, LW_SHARED))
		return false;
	asked = pg_atomic_exchange_u32(&request->shared->request, FPB_REQUEST_TAKEN) == FPB_REQUESTED;
	pg_atomic_write_u32(&request->shared->working, true);
	LWLockRelease(&fpb_shared_table->lock);
	return asked;
}

/*
 * The worker is done with a request.  It stands if somebody has asked again
 * meanwhile.
 */
void
fpb_shared_end_request(const FpbRequest *request)
{
	uint32		taken = FPB_REQUEST_TAKEN;

	if (!fpb_shared_lock_request(request, LW_SHARED))
		return;
	(void) pg_atomic_compare_exchange_u32(&request->shared->request, &taken, FPB_NOT_REQUESTED);
	LWLockRelease(&fpb_shared_table->lock);
}

/*
 * The worker ends, and leaves the requests that it has not taken to the next
 * one.
 *
 * An insertion asks for a worker only if the index is not requested already.
 * These requests are marked as taken, so that the next insertion does ask.
 */
void
fpb_shared_keep_requests(void)
{
	int			position = 0;
	Oid			index;
	FpbShared  *shared;

	while ((shared = fpb_shared_next(&position, &index)) != NULL)
	{
		uint32		requested = FPB_REQUESTED;

		(void) pg_atomic_compare_exchange_u32(&shared->request, &requested, FPB_REQUEST_TAKEN);
		pg_atomic_write_u32(&shared->working, false);
	}
}
