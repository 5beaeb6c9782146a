/*-------------------------------------------------------------------------
 *
 * fpb_queue_worker.c
 *	  The background worker that moves entries of operation queues.
 *
 * There is one for each database that has a queue with something in it, at
 * most; it sees to all indexes there.  Whoever puts entries into a queue, and
 * finds it filling up, asks for the worker, and goes on whether or not there
 * can be one: at the queue's limit the inserters do its work.
 *
 * While entries are coming, the worker keeps the queue from getting full: it
 * goes round its leaves, and of those that are nearly so moves what a visit to
 * a leaf of the main tree is worth most for.  When none have come for a while,
 * it empties the queue and takes it away, unless it has been told not to.  It
 * holds locks and a snapshot for a second at most at a time, waits for no lock
 * of a relation, and ends soon after the last queue.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/index.h"
#include "catalog/pg_database.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "postmaster/bgworker.h"
#include "postmaster/interrupt.h"
#include "storage/bufmgr.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "storage/lmgr.h"
#include "tcop/tcopprot.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"
#include "utils/wait_event.h"

#include "fpb_options.h"
#include "fpb_owner.h"
#include "fpb_shared.h"
#include "fpb_tree.h"
#include "fpb_write.h"

/* fpbtree.queue_worker */
static bool use_worker = true;

/*
 * fpbtree.queue_flush_after: so long no entry has come to a queue that is then
 * emptied, in ms; -1: that is not done
 */
static int	flush_after = 10000;

/* how long a transaction may be, in ms */
#define MOVE_TIME		500

/*
 * After a round in which there was nothing to do, in ms: twice as long each
 * time, so that leaves get not much fuller than they are to be.
 */
#define MIN_NAP_TIME	1
#define MAX_NAP_TIME	50

/* so long no entry has come to a queue that needs nobody then, in ms */
#define QUIET_TIME		1000

/* so long there has been no queue to see to when the worker ends, in ms */
#define IDLE_TIME		1000

/*
 * While entries come: leaves that are as full as this, in percent, have some
 * moved once the queue has so much of the pages that it may have, in percent.
 * The fuller leaves are, the more there is for a visit; but insertions into
 * full ones have more to log, and there should be time to come round.
 */
#define FULL_LEAF		70
#define FULL_QUEUE		90

/* what the worker knows of an index */
typedef struct WorkerIndex
{
	Oid			index;			/* hash key */
	TimestampTz changed;		/* when it was seen last that entries had come
								 * to its queue, or at first */
	MemoryContext context;		/* of the place's tuple */
	bool		has_place;		/* has a round been broken off? */
	FpbKey		place;			/* then where */
} WorkerIndex;

static HTAB *worker_indexes = NULL;

/*
 * Define the setting.
 */
void
fpb_worker_init(void)
{
	DefineCustomBoolVariable("fpbtree.queue_worker",
							 "Starts background workers that move entries of operation queues.",
							 "Where it is off, or there is no free worker process, insertions do this work when a queue is full.",
							 &use_worker,
							 true, PGC_SUSET, 0, NULL, NULL, NULL);
	DefineCustomIntVariable("fpbtree.queue_flush_after",
							"Time without insertions after which an operation queue is emptied by the worker.",
							"-1 leaves entries in the queue until others come.",
							&flush_after,
							10000, -1, INT_MAX, PGC_SIGHUP, GUC_UNIT_MS, NULL, NULL, NULL);
}

/* ------------------------------------------------------------------------
 * asking for a worker
 * ------------------------------------------------------------------------
 */

/*
 * Start this database's worker, if one can be had.
 */
static void
start_worker(void)
{
	BackgroundWorker worker = {
		.bgw_flags = BGWORKER_SHMEM_ACCESS | BGWORKER_BACKEND_DATABASE_CONNECTION,
		.bgw_start_time = BgWorkerStart_RecoveryFinished,
		.bgw_restart_time = BGW_NEVER_RESTART,
		.bgw_main_arg = ObjectIdGetDatum(MyDatabaseId)
	};

	snprintf(worker.bgw_name, BGW_MAXLEN, "fpbtree queue worker");
	snprintf(worker.bgw_type, BGW_MAXLEN, "fpbtree queue worker");
	snprintf(worker.bgw_library_name, MAXPGPATH, "fpbtree");
	snprintf(worker.bgw_function_name, BGW_MAXLEN, "fpb_worker_main");
	if (!RegisterDynamicBackgroundWorker(&worker, NULL))
		fpb_shared_worker_leave(FPB_WORKER_REFUSED);
}

/*
 * Have a worker see to the queue of an index.  No page is locked.
 */
void
fpb_worker_want(Relation index)
{
	FpbShared  *shared;

	if (!use_worker)
		return;
	shared = fpb_shared_of(RelationGetRelid(index));
	if (shared == NULL)
		return;
	if (pg_atomic_read_u32(&shared->wanted) != FPB_WANTED)
		pg_atomic_write_u32(&shared->wanted, FPB_WANTED);
	if (fpb_shared_worker_claim())
		start_worker();
}

/* ------------------------------------------------------------------------
 * the worker
 * ------------------------------------------------------------------------
 */

/*
 * Remember where to go on next time, or that all has been gone round.
 */
static void
set_place(WorkerIndex *wi, const FpbKey *key)
{
	MemoryContextReset(wi->context);
	wi->has_place = key != NULL;
	if (key == NULL)
		return;
	wi->place = *key;
	if (key->tuple != NULL)
	{
		Size		size = IndexTupleSize(key->tuple);

		wi->place.tuple = MemoryContextAlloc(wi->context, size);
		memcpy(wi->place.tuple, key->tuple, size);
	}
}

/*
 * Go round the leaves of a queue, and move entries of those that are as full
 * as least says: all, if that is 0.  Returns false if there was no time to
 * come to the end.
 */
static bool
go_round(FpbBatch *batch, WorkerIndex *wi, int least)
{
	FpbIndex   *queue = fpb_batch_queue(batch);
	TimestampTz until = TimestampTzPlusMilliseconds(GetCurrentTimestamp(), MOVE_TIME);
	FpbLeaves	walk;
	Buffer		buf;
	bool		in_time = true;
	bool		any = false;

	fpb_leaves_begin(&walk, queue);
	if (wi->has_place)
		fpb_leaves_seek(&walk, &wi->place);
	set_place(wi, NULL);
	while (in_time && BufferIsValid(buf = fpb_leaves_next(&walk)))
	{
		const FpbKey *first;

		first = fpb_batch_take(batch, BufferGetPage(buf));
		fpb_leaves_leave(&walk, buf);
		CHECK_FOR_INTERRUPTS();
		if (first == NULL)
			continue;

		/* one leaf is dealt with at least */
		in_time = !any || GetCurrentTimestamp() < until;
		if (!in_time)
			set_place(wi, first);
		else if (fpb_batch_fullness(batch) >= least)
			fpb_batch_move(batch, least == 0 ? FPB_MOVE_ALL : FPB_MOVE_SHARE);
		any = true;
	}
	fpb_leaves_end(&walk);
	return in_time;
}

/*
 * See to the queue of an index whose relations are open.  Returns false if
 * there is none any more, or it needs nobody until entries come; *busy tells
 * whether there is more to do at once.
 */
static bool
work_on_queue(Relation heap, Relation index, WorkerIndex *wi, bool *busy)
{
	FpbIndex	ix;
	FpbBatch   *batch;
	TimestampTz now = GetCurrentTimestamp();
	BlockNumber limit;
	bool		quiet;
	bool		full;
	bool		complete = true;
	bool		moved;

	fpb_index_open(&ix, index);
	batch = fpb_batch_begin(&ix, heap);
	if (fpb_batch_queue(batch)->root == FPB_METAPAGE)
	{
		(void) fpb_batch_end(batch);
		return false;
	}
	fpb_queue_count(fpb_batch_queue(batch));
	limit = fpb_queue_limit(index, RelationGetNumberOfBlocks(index));
	full = fpb_queue_pages(&ix, NULL) >= (uint64) limit * FULL_QUEUE / 100;
	quiet = fpb_queue_mode(index) == FPB_QUEUE_OFF ||
		(flush_after >= 0 &&
		 now >= TimestampTzPlusMilliseconds(wi->changed, flush_after));
	if (quiet || full)
		complete = go_round(batch, wi, quiet ? 0 : FULL_LEAF);
	if (quiet && complete)
		fpb_queue_trim(fpb_batch_queue(batch));
	moved = fpb_batch_end(batch) > 0;

	*busy = *busy || !complete || moved;
	return !complete || flush_after >= 0 || quiet ||
		now < TimestampTzPlusMilliseconds(wi->changed, QUIET_TIME);
}

/*
 * See to an index, in a transaction of its own.  No lock of a relation is
 * waited for: who has it may want to change what we would have to look up
 * again.
 */
static bool
work_on(Oid indexoid, WorkerIndex *wi, bool *busy)
{
	Oid			heapoid;
	Relation	heap = NULL;
	Relation	index = NULL;
	FpbCaller	caller;
	bool		exists = false;

	SetCurrentStatementStartTimestamp();
	StartTransactionCommand();
	PushActiveSnapshot(GetTransactionSnapshot());
	heapoid = IndexGetRelation(indexoid, true);
	if (OidIsValid(heapoid))
	{
		exists = true;			/* as long as it can't be locked */
		if (ConditionalLockRelationOid(heapoid, RowExclusiveLock))
			heap = try_table_open(heapoid, NoLock);
	}
	if (heap != NULL && ConditionalLockRelationOid(indexoid, RowExclusiveLock))
	{
		index = try_index_open(indexoid, NoLock);
		exists = index != NULL && index->rd_indam->ambuild == fpb_build &&
			index->rd_index->indisready && index->rd_index->indrelid == heapoid;
	}
	if (index != NULL && exists)
	{
		char		activity[2 * NAMEDATALEN + 64];

		snprintf(activity, sizeof(activity), "fpbtree: moving entries of the operation queue of index \"%s\"",
				 RelationGetRelationName(index));
		pgstat_report_activity(STATE_RUNNING, activity);

		/* comparators are run, but not as who has started the server */
		fpb_become_owner(index, &caller);
		exists = work_on_queue(heap, index, wi, busy);
		fpb_become_caller(&caller);
	}
	if (index != NULL)
		index_close(index, NoLock);
	if (heap != NULL)
		table_close(heap, NoLock);
	PopActiveSnapshot();
	CommitTransactionCommand();
	pgstat_report_stat(true);
	pgstat_report_activity(STATE_IDLE, NULL);
	return exists;
}

/*
 * What is known of an index, made if need be.
 */
static WorkerIndex *
worker_index(Oid index)
{
	bool		found;
	WorkerIndex *wi;

	wi = hash_search(worker_indexes, &index, HASH_ENTER, &found);
	if (!found)
	{
		wi->changed = 0;
		wi->context = AllocSetContextCreate(TopMemoryContext, "fpbtree queue worker place",
											ALLOCSET_SMALL_SIZES);
		wi->has_place = false;
	}
	return wi;
}

/*
 * The index's queue has gone, or the index.
 */
static void
forget_index(Oid index)
{
	WorkerIndex *wi = hash_search(worker_indexes, &index, HASH_FIND, NULL);

	if (wi == NULL)
		return;
	MemoryContextDelete(wi->context);
	hash_search(worker_indexes, &index, HASH_REMOVE, NULL);
}

/*
 * Does somebody wait to drop the database, to copy it, or to do with it what
 * else he can't while somebody is connected?
 */
static bool
in_the_way(void)
{
	bool		free;

	StartTransactionCommand();
	free = ConditionalLockSharedObject(DatabaseRelationId, MyDatabaseId, 0, RowExclusiveLock);
	CommitTransactionCommand();
	return !free;
}

/*
 * See to all queues once, unless the worker is in somebody's way.  Returns
 * whether there are any.
 */
static bool
work_on_all(bool *busy)
{
	int			position = 0;
	Oid			index;
	bool		any = false;

	*busy = false;
	while (OidIsValid(index = fpb_shared_next_wanted(&position)) && !in_the_way())
	{
		FpbShared  *shared = fpb_shared_of(index);
		WorkerIndex *wi = worker_index(index);
		uint32		kept = FPB_KEPT;

		CHECK_FOR_INTERRUPTS();

		/*
		 * Who finds that there is no queue any more makes one, and asks
		 * again.  So this is changed before the work, and not after it.
		 */
		if (pg_atomic_exchange_u32(&shared->wanted, FPB_KEPT) == FPB_WANTED ||
			wi->changed == 0)
			wi->changed = GetCurrentTimestamp();
		if (work_on(index, wi, busy))
			any = true;
		else
		{
			(void) pg_atomic_compare_exchange_u32(&shared->wanted, &kept, FPB_UNWANTED);
			forget_index(index);
		}
	}
	return any;
}

/*
 * What pg_stat_activity shows while the worker has little to do.
 */
static uint32
worker_wait_event(void)
{
	static uint32 event = 0;

	if (event == 0)
		event = WaitEventExtensionNew("FpbtreeQueueWorker");
	return event;
}

/* is this process its database's worker? */
static bool entered = false;

/*
 * Become it, if there is none.
 */
static bool
enter(void)
{
	entered = fpb_shared_worker_enter();
	return entered;
}

/*
 * The worker ends: the next one may come at once, unless this one has failed.
 * Whoever finds that a queue is wanted already asks for none; so those that
 * this one has not looked at are only kept.
 */
static void
leave(int code, Datum arg pg_attribute_unused())
{
	int			position = 0;
	FpbShared  *shared;

	if (!entered)
		return;
	fpb_shared_worker_leave(code != 0 ? FPB_WORKER_FAILED : FPB_WORKER_DONE);
	entered = false;
	while ((shared = fpb_shared_next(&position)) != NULL)
	{
		uint32		wanted = FPB_WANTED;

		(void) pg_atomic_compare_exchange_u32(&shared->wanted, &wanted, FPB_KEPT);
	}
}

/*
 * Nothing has been wanted for a while: leave, unless somebody who has found
 * that there is a worker wants something at the last moment.
 */
static bool
may_end(void)
{
	int			position = 0;

	leave(0, (Datum) 0);
	return !OidIsValid(fpb_shared_next_wanted(&position)) || !enter();
}

/*
 * The worker of a database.
 */
void
fpb_worker_main(Datum database)
{
	HASHCTL		ctl = {
		.keysize = sizeof(Oid),
		.entrysize = sizeof(WorkerIndex)
	};
	TimestampTz last_work;
	int			nap = MIN_NAP_TIME;

	pqsignal(SIGHUP, SignalHandlerForConfigReload);
	pqsignal(SIGTERM, die);
	BackgroundWorkerUnblockSignals();
	BackgroundWorkerInitializeConnectionByOid(DatumGetObjectId(database), InvalidOid, 0);
	before_shmem_exit(leave, (Datum) 0);
	if (!enter())
		proc_exit(0);

	worker_indexes = hash_create("fpbtree queue worker", 16, &ctl, HASH_ELEM | HASH_BLOBS);
	pgstat_report_activity(STATE_IDLE, NULL);
	last_work = GetCurrentTimestamp();
	while (use_worker && !in_the_way())
	{
		bool		busy;

		if (work_on_all(&busy))
			last_work = GetCurrentTimestamp();
		else if (GetCurrentTimestamp() >= TimestampTzPlusMilliseconds(last_work, IDLE_TIME) &&
				 may_end())
			break;
		if (busy)
			nap = MIN_NAP_TIME;
		else
		{
			(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
							 nap, worker_wait_event());
			nap = Min(2 * nap, MAX_NAP_TIME);
		}
		ResetLatch(MyLatch);
		CHECK_FOR_INTERRUPTS();
		if (ConfigReloadPending)
		{
			ConfigReloadPending = false;
			ProcessConfigFile(PGC_SIGHUP);
		}
	}
	proc_exit(0);
}
