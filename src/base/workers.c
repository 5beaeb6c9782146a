/*-------------------------------------------------------------------------
 *
 * base/workers.c
 *	  Which databases have a worker, and when one may be started.
 *
 * A database has one worker at most.  Whoever finds that it has none claims
 * its place in the table, then asks the postmaster for a worker.  The worker
 * asks whether it may connect, connects, enters, and leaves when it ends.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <unistd.h>

#include "common/relpath.h"
#include "utils/timestamp.h"

#include "base/shared_table.h"

/* a worker that has not entered by then will not come, in ms */
#define START_TIMEOUT	10000

/* how long after a worker's end the next one may be started, in ms */
static const int retry_after[] = {
	[FPB_WORKER_DONE] = 0,
	[FPB_WORKER_REFUSED] = 1000,
	[FPB_WORKER_FAILED] = 60000
};

/*
 * Find the worker of a database in the table, which is locked exclusively.  If
 * the database has none there, it gets a free place, or else that of a
 * database that has no worker now and may start one.  NULL if there is no such
 * place.
 */
static FpbSharedWorker *
worker_of(Oid database)
{
	FpbSharedWorker *unused = NULL;

	for (int i = 0; i < FPB_MAX_WORKERS; i++)
	{
		FpbSharedWorker *worker = &fpb_shared_table->workers[i];

		if (worker->database == database)
			return worker;
		if (!OidIsValid(worker->database) ?
			(unused == NULL || OidIsValid(unused->database)) :
			(unused == NULL && worker->phase != FPB_PHASE_RUNNING &&
			 worker->next_try <= GetCurrentTimestamp()))
			unused = worker;
	}
	if (unused != NULL)
	{
		memset(unused, 0, sizeof(FpbSharedWorker));
		unused->database = database;
	}
	return unused;
}

/*
 * Does this database need a worker, and has none?  It needs one if there are
 * requests, or if no worker has looked yet which indexes have queues.
 */
bool
fpb_shared_worker_missing(void)
{
	FpbSharedWorker *worker;
	bool		running;
	bool		looked_over;
	int			position = 0;
	FpbRequest	request;

	if (!fpb_shared_attach())
		return false;
	LWLockAcquire(&fpb_shared_table->lock, LW_EXCLUSIVE);
	worker = worker_of(MyDatabaseId);
	running = worker != NULL && worker->phase == FPB_PHASE_RUNNING;
	looked_over = worker != NULL && worker->looked_over;
	LWLockRelease(&fpb_shared_table->lock);
	return !running &&
		(!looked_over || fpb_shared_next_request(&position, &request));
}

/*
 * May the caller start a worker for this database?  Not if there is one, nor
 * if somebody has just tried to start one.
 */
bool
fpb_shared_worker_claim(void)
{
	TimestampTz now = GetCurrentTimestamp();
	FpbSharedWorker *worker;
	bool		claimed = false;

	if (!fpb_shared_attach())
		return false;
	LWLockAcquire(&fpb_shared_table->lock, LW_EXCLUSIVE);
	worker = worker_of(MyDatabaseId);
	if (worker != NULL && worker->phase != FPB_PHASE_RUNNING && worker->next_try <= now)
	{
		worker->phase = FPB_PHASE_CLAIMED;
		worker->connecting = false;

		/* the database may have moved since it had a worker */
		worker->tablespace = MyDatabaseTableSpace;
		worker->next_try = TimestampTzPlusMilliseconds(now, START_TIMEOUT);
		claimed = true;
	}
	LWLockRelease(&fpb_shared_table->lock);
	return claimed;
}

/*
 * May the caller, which is to be a database's worker, connect to it?  Not if
 * the worker before it has not succeeded, nor if the database has gone: the
 * postmaster starts a worker that can't connect again and again.
 */
bool
fpb_shared_worker_connect(Oid database)
{
	FpbSharedWorker *worker;
	bool		may_connect = true;
	Oid			tablespace = InvalidOid;

	if (!fpb_shared_attach())
		return false;
	LWLockAcquire(&fpb_shared_table->lock, LW_EXCLUSIVE);
	worker = worker_of(database);
	if (worker != NULL)
	{
		may_connect = !worker->connecting;
		worker->connecting = may_connect;
		tablespace = worker->tablespace;
	}
	LWLockRelease(&fpb_shared_table->lock);
	if (may_connect && OidIsValid(tablespace))
	{
		char	   *path = GetDatabasePath(database, tablespace);

		may_connect = access(path, F_OK) == 0;
		pfree(path);
	}
	return may_connect;
}

/*
 * Become this database's worker.  False if it has one already.  *look_over is
 * set if the worker has to look which indexes have queues.
 */
bool
fpb_shared_worker_enter(bool *look_over)
{
	FpbSharedWorker *worker;
	bool		entered = false;

	if (!fpb_shared_attach())
		return false;
	LWLockAcquire(&fpb_shared_table->lock, LW_EXCLUSIVE);
	worker = worker_of(MyDatabaseId);
	if (worker != NULL)
	{
		worker->connecting = false;
		worker->tablespace = MyDatabaseTableSpace;
		*look_over = !worker->looked_over;
		entered = worker->phase != FPB_PHASE_RUNNING;
		worker->phase = FPB_PHASE_RUNNING;
	}
	LWLockRelease(&fpb_shared_table->lock);
	return entered;
}

/*
 * The worker has looked which indexes have queues.
 */
void
fpb_shared_worker_looked_over(void)
{
	FpbSharedWorker *worker;

	LWLockAcquire(&fpb_shared_table->lock, LW_EXCLUSIVE);
	worker = worker_of(MyDatabaseId);
	if (worker != NULL)
		worker->looked_over = true;
	LWLockRelease(&fpb_shared_table->lock);
}

/*
 * This database's worker has ended, or could not be started.
 */
void
fpb_shared_worker_leave(FpbWorkerEnd how)
{
	FpbSharedWorker *worker;

	LWLockAcquire(&fpb_shared_table->lock, LW_EXCLUSIVE);
	worker = worker_of(MyDatabaseId);
	if (worker != NULL)
	{
		worker->phase = FPB_PHASE_NONE;
		worker->next_try = TimestampTzPlusMilliseconds(GetCurrentTimestamp(),
													   retry_after[how]);
	}
	LWLockRelease(&fpb_shared_table->lock);
}
