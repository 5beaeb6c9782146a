/*-------------------------------------------------------------------------
 *
 * queue/worker.c
 *	  The background worker that drains operation queues.
 *
 * Each database has one worker at most, for all its indexes, and only while
 * one of them has a queue.  Whoever puts entries into a queue requests the
 * worker, and continues whether or not there can be one: if the queue is full,
 * insertions do the worker's work.
 *
 * While entries are coming, the worker keeps the queue from getting full.  It
 * visits the queue's leaves in turn, and moves entries of leaves that are
 * nearly full, those for the main leaves that get most.  When no entries have
 * come for a while, it drains and removes the queue, unless a setting forbids
 * that.  It holds locks and a snapshot for a second at most at a time, waits
 * for no lock on a relation, and ends soon after the last queue.
 *
 * If an error concerns one index, the worker leaves that index alone for a
 * while.  If the worker is stopped, the postmaster starts it again.  After the
 * server has been started, the first process in a database that uses an index
 * starts a worker, which looks for indexes that have queues.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/parallel.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/index.h"
#include "catalog/pg_class.h"
#include "catalog/pg_database.h"
#include "commands/defrem.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "postmaster/bgworker.h"
#include "postmaster/interrupt.h"
#include "storage/bufmgr.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "storage/lmgr.h"
#include "tcop/tcopprot.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/relcache.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"
#include "utils/wait_event.h"

#include "base/open_index.h"
#include "base/options.h"
#include "base/owner.h"
#include "base/queue_memory.h"
#include "base/shared.h"
#include "queue/queue.h"
#include "tree/tree.h"

/* fpbtree.queue_worker */
static bool use_worker = true;

/*
 * fpbtree.queue_flush_after: a queue is drained when no entry has come to it
 * for so long, in ms; -1: never
 */
static int	flush_after = 10000;

/* how long a transaction may be, in ms */
#define MOVE_TIME		500

/*
 * How long to sleep after a round with nothing to do, in ms: twice as long
 * each time.  The limit keeps leaves from getting much fuller than FULL_LEAF.
 */
#define MIN_NAP_TIME	1
#define MAX_NAP_TIME	50

/* a queue needs no worker when no entry has come to it for so long, in ms */
#define QUIET_TIME		1000

/* the worker ends when there has been nothing to work on for so long, in ms */
#define IDLE_TIME		1000

/*
 * How long to sleep while all queues have to be left alone, in ms.  Whoever
 * wants the database for itself waits no longer than this for the worker.
 */
#define REST_NAP_TIME	250

/* a queue is left alone for so long if its entries can't be moved, in ms */
#define REST_TIME		1000

/* how often the worker looks whether notes of entries are of no use, in ms */
#define CLEAN_TIME		60000

/* the postmaster starts a stopped worker again after so long, in s */
#define RESTART_TIME	10

/*
 * While entries come, and once the queue has FULL_QUEUE percent of the pages
 * that it may have, entries of leaves are moved that are FULL_LEAF percent
 * full.  The fuller a leaf is, the more entries a visit moves.  But insertions
 * into full leaves have more to log, and the worker needs time to come round.
 */
#define FULL_LEAF		70
#define FULL_QUEUE		90

/*
 * From so many percent of these pages on, those that are too many are taken
 * away.  Other queues have got their memory, or the index has become smaller.
 */
#define SURPLUS_FROM	130

/* so often the worker tries to take away a leaf to which entries come */
#define MAX_TAKES		4

/* how far a round through a tier's leaves has come */
typedef struct WorkerRound
{
	MemoryContext context;		/* of the place's tuple */
	bool		has_place;		/* has it been interrupted? */
	FpbKey		place;			/* then where to continue */
	double		due;			/* leaves that are to be taken away */
	FpbLoopGuard loop_guard;
} WorkerRound;

/* what the worker knows of an index */
typedef struct WorkerIndex
{
	Oid			index;			/* hash key */
	TimestampTz changed;		/* when the worker saw last that entries had
								 * come to its queue, or saw it first */
	WorkerRound rounds[FPB_TIERS];
	TimestampTz rest_until;		/* leave the queue alone until then */
	char	   *name;			/* of the index, as far as is known; in the
								 * worker's memory */
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
 * requests for a worker
 * ------------------------------------------------------------------------
 */

/*
 * Start this database's worker, if there is a free worker process.
 */
static void
start_worker(void)
{
	BackgroundWorker worker = {
		.bgw_flags = BGWORKER_SHMEM_ACCESS | BGWORKER_BACKEND_DATABASE_CONNECTION |
		FPB_WORKER_INTERRUPTIBLE,
		.bgw_start_time = BgWorkerStart_RecoveryFinished,
		.bgw_restart_time = RESTART_TIME,
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
 * Request a worker for the queue of an index.  No page is locked.
 */
void
fpb_worker_request(Relation index)
{
	FpbShared  *shared;

	if (!use_worker)
		return;
	shared = fpb_shared_of(RelationGetRelid(index));
	if (shared == NULL)
		return;
	fpb_shared_request(shared);
	if (fpb_shared_worker_claim())
		start_worker();
}

/* uses of indexes before this process looks again */
int			fpb_worker_countdown = 0;

#define LOOK_EVERY	100000

/*
 * Start a worker if nobody has looked for queues since the server was started,
 * or if there are requests and no worker.  (Not in recovery, when nothing can
 * be moved.)  No page is locked.
 */
void
fpb_worker_look(void)
{
	fpb_worker_countdown = LOOK_EVERY;
	if (!use_worker || IsParallelWorker() || RecoveryInProgress())
		return;
	if (fpb_shared_worker_missing() && fpb_shared_worker_claim())
		start_worker();
}

/* ------------------------------------------------------------------------
 * the worker
 * ------------------------------------------------------------------------
 */

/*
 * Remember where to continue next time, or, if key is NULL, that the round is
 * complete.
 */
static void
set_place(WorkerRound *round, const FpbKey *key)
{
	round->has_place = false;
	MemoryContextReset(round->context);
	if (key == NULL)
		return;
	round->place = *key;
	if (key->tuple != NULL)
	{
		Size		size = IndexTupleSize(key->tuple);

		round->place.tuple = MemoryContextAlloc(round->context, size);
		memcpy(round->place.tuple, key->tuple, size);
	}
	round->has_place = true;
}

/*
 * Move all entries of a leaf of a tier, and take it away.  If entries come
 * faster than they move, it is left.  No lock is held on entry or exit.
 */
static void
take_away(FpbDrain *drain, BlockNumber leaf)
{
	FpbIndex   *queue = fpb_drain_tree(drain);
	bool		gone = false;

	for (int tries = 0; !gone && tries < MAX_TAKES; tries++)
	{
		Buffer		buf = fpb_getbuf_level(queue, leaf, 0, BUFFER_LOCK_SHARE);

		if (!BufferIsValid(buf))
			return;
		if (!fpb_page_is_in_tree(queue, BufferGetPage(buf)))
		{
			fpb_relbuf(buf);
			return;
		}
		(void) fpb_drain_take(drain, BufferGetPage(buf));
		fpb_relbuf(buf);
		fpb_drain_move(drain, FPB_MOVE_ALL);
		gone = fpb_queue_remove_leaf(queue, leaf);
	}
}

/*
 * Visit the leaves of a tier in turn, and move entries of those that are at
 * least so full, in percent; if least is 0, move all entries of all leaves.
 * That part of the leaves that are surplus is taken away.  Returns false if
 * time was up before the last leaf.
 */
static bool
go_round(FpbDrain *drain, WorkerRound *round, int least, double surplus)
{
	FpbIndex   *queue = fpb_drain_tree(drain);
	TimestampTz until = TimestampTzPlusMilliseconds(GetCurrentTimestamp(), MOVE_TIME);
	FpbLeaves	walk;
	Buffer		buf;
	bool		in_time = true;

	fpb_leaves_begin(&walk, queue);
	walk.loop_guard = &round->loop_guard;
	if (round->has_place)
		fpb_leaves_seek(&walk, &round->place);
	else
		fpb_loop_guard_reset(&round->loop_guard);
	set_place(round, NULL);
	while (in_time && BufferIsValid(buf = fpb_leaves_next(&walk)))
	{
		BlockNumber leaf = BufferGetBlockNumber(buf);
		bool		any = fpb_drain_take(drain, BufferGetPage(buf)) > 0;

		fpb_leaves_leave(&walk, buf);
		CHECK_FOR_INTERRUPTS();

		/* even if that raises an error, continue with the next leaf */
		set_place(round, walk.at_end ? NULL : &walk.place);
		round->due += surplus;
		if (round->due >= 1)
		{
			round->due--;
			take_away(drain, leaf);
		}
		else if (any && fpb_drain_fullness(drain) >= least)
			fpb_drain_move(drain, least == 0 ? FPB_MOVE_ALL : FPB_MOVE_SHARE);

		/* one leaf is visited at least */
		in_time = walk.at_end || GetCurrentTimestamp() < until;
	}
	if (in_time)
		set_place(round, NULL);
	fpb_leaves_end(&walk);
	return in_time;
}

/*
 * The part of a tier's pages that are surplus, if it may have so many.  Those
 * of a tier that is a little too large are not.
 */
static double
surplus_part(uint32 pages, BlockNumber limit)
{
	return pages > (uint64) limit * SURPLUS_FROM / 100 ? 1 - (double) limit / pages : 0;
}

/* what the worker has done about a tier */
typedef struct TierWork
{
	bool		exists;			/* is there such a tier? */
	bool		complete;		/* has it gone round all leaves that it
								 * wanted? */
	bool		has_left;		/* has it left entries for leaves to which
								 * nothing can be moved? */
	int64		moved;
} TierWork;

/*
 * Work on a tier of an index: move some of its entries if it is nearly full;
 * or, if the queue is quiet or the index is to have no such tier any more, all
 * of them, and then take the tier away.
 */
static TierWork
work_on_tier(FpbIndex *ix, Relation heap, int tier, FpbShared *shared, WorkerIndex *wi, bool quiet)
{
	bool		emptying = quiet ||
		(ix->tier_roots[tier - 1] != FPB_METAPAGE && !fpb_may_have_tier(ix, tier));
	FpbDrain   *drain = fpb_drain_begin(ix, heap, tier, emptying, true);
	TierWork	work = {.exists = fpb_drain_tree(drain)->root != FPB_METAPAGE,.complete = true};

	if (work.exists)
	{
		BlockNumber limit = fpb_tier_limit(ix->rel, shared, RelationGetNumberOfBlocks(ix->rel), tier);
		uint32		pages = fpb_tier_pages(ix, tier, NULL);

		fpb_queue_note(fpb_drain_tree(drain));
		pg_atomic_write_u32(&fpb_shared_tier(shared, tier)->pages, pages);
		if (emptying || pages >= (uint64) limit * FULL_QUEUE / 100)
			work.complete = go_round(drain, &wi->rounds[tier - 1], emptying ? 0 : FULL_LEAF,
									 emptying ? 0 : surplus_part(pages, limit));
		if (emptying && work.complete)
			fpb_queue_trim(fpb_drain_tree(drain), false);
		work.has_left = fpb_drain_has_left(drain);
	}
	work.moved = fpb_drain_end(drain);
	return work;
}

/*
 * Work on the queue of an index whose relations are open.  Returns false if
 * there is no queue any more, or if it needs no worker until entries come.
 * *busy becomes true if there is more to do at once.
 */
static bool
work_on_queue(Relation heap, Relation index, FpbShared *shared, WorkerIndex *wi, bool *busy)
{
	FpbIndex	ix;
	TimestampTz now = GetCurrentTimestamp();
	bool		quiet;
	bool		exists = false;
	bool		complete = true;
	bool		has_left = false;
	int64		moved = 0;

	fpb_index_open(&ix, index);
	quiet = fpb_queue_mode(index) == FPB_QUEUE_OFF ||
		(flush_after >= 0 &&
		 now >= TimestampTzPlusMilliseconds(wi->changed, flush_after));
	for (int tier = 1; tier < FPB_TREES; tier++)
	{
		TierWork	work = work_on_tier(&ix, heap, tier, shared, wi, quiet);

		exists = exists || work.exists;
		complete = complete && work.complete;
		has_left = has_left || work.has_left;
		moved += work.moved;

		/* what is below has to wait for the rest */
		if (quiet && !work.complete)
			break;
	}
	if (!exists)
		return false;
	if (moved > 0)
		ereport(DEBUG1,
				(errmsg_internal("fpbtree: moved " INT64_FORMAT " entries of the operation queue of index \"%s\", which has %u pages",
								 moved, wi->name, fpb_queue_pages(&ix))));

	/* don't read again and again what can't be moved */
	if (has_left && moved == 0)
		wi->rest_until = TimestampTzPlusMilliseconds(GetCurrentTimestamp(), REST_TIME);
	else
		*busy = *busy || !complete || moved > 0;
	return !complete || flush_after >= 0 || quiet ||
		now < TimestampTzPlusMilliseconds(wi->changed, QUIET_TIME);
}

/*
 * Remember the name of an index, which is locked.
 */
static void
set_name(WorkerIndex *wi, Relation index)
{
	char	   *name = quote_qualified_identifier(get_namespace_name(RelationGetNamespace(index)),
												  RelationGetRelationName(index));

	if (wi->name != NULL && strcmp(wi->name, name) == 0)
		return;
	if (wi->name != NULL)
		pfree(wi->name);
	wi->name = NULL;
	wi->name = MemoryContextStrdup(TopMemoryContext, name);
}

/*
 * Work on an index, in a transaction of its own.  Returns whether it still
 * needs the worker; *busy as in work_on_queue.
 *
 * No lock on a relation is waited for, because whoever holds it may be
 * changing what we would have to look up again.
 */
static bool
work_on(Oid indexoid, WorkerIndex *wi, bool *busy)
{
	Oid			heapoid;
	Relation	heap = NULL;
	Relation	index = NULL;
	FpbShared  *shared;
	FpbCaller	caller;
	bool		exists = false;

	SetCurrentStatementStartTimestamp();
	StartTransactionCommand();
	PushActiveSnapshot(GetTransactionSnapshot());
	heapoid = IndexGetRelation(indexoid, true);
	if (OidIsValid(heapoid))
	{
		exists = true;			/* unless it can be locked and is gone */
		if (ConditionalLockRelationOid(heapoid, RowExclusiveLock))
			heap = try_table_open(heapoid, NoLock);
	}
	if (heap != NULL && ConditionalLockRelationOid(indexoid, RowExclusiveLock))
	{
		index = try_index_open(indexoid, NoLock);
		exists = index != NULL && fpb_is_fpbtree(index) &&
			index->rd_index->indisready && index->rd_index->indrelid == heapoid;
	}
	shared = index != NULL && exists ? fpb_shared_of(indexoid) : NULL;
	if (shared != NULL)
	{
		char		activity[2 * NAMEDATALEN + 64];

		snprintf(activity, sizeof(activity), "fpbtree: moving entries of the operation queue of index \"%s\"",
				 RelationGetRelationName(index));
		pgstat_report_activity(STATE_RUNNING, activity);
		set_name(wi, index);

		/* comparators must not run as the server's superuser */
		fpb_become_owner(index, &caller);
		exists = work_on_queue(heap, index, shared, wi, busy);
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
 * Error context: the index that the worker works on.
 */
static void
tell_index(void *arg)
{
	const WorkerIndex *wi = arg;

	if (wi->name != NULL)
		errcontext("moving entries of the operation queue of index \"%s\"", wi->name);
	else
		errcontext("moving entries of the operation queue of the index with OID %u", wi->index);
}

/*
 * End the transaction in which an error has been raised, so that the worker
 * can continue.  quietly: don't report the error.
 */
static void
recover(MemoryContext context, bool quietly)
{
	MemoryContextSwitchTo(context);
	HOLD_INTERRUPTS();
	if (!quietly)
		EmitErrorReport();
	AbortOutOfAnyTransaction();
	FlushErrorState();
	RESUME_INTERRUPTS();
	MemoryContextSwitchTo(context);
	pgstat_report_stat(true);
	pgstat_report_activity(STATE_IDLE, NULL);
}

/*
 * work_on, in which errors are caught and reported.  After an error in a visit
 * to one main leaf, only that leaf is left alone for a while, and the error is
 * reported only the first time.  After any other error the index is left alone
 * for a while.
 */
static bool
try_work_on(const FpbRequest *request, WorkerIndex *wi, bool *busy)
{
	MemoryContext context = CurrentMemoryContext;
	ErrorContextCallback callback = {
		.previous = error_context_stack,
		.callback = tell_index,
		.arg = wi
	};
	volatile bool needed = true;

	fpb_drain_forget_failure();
	error_context_stack = &callback;
	PG_TRY();
	{
		needed = work_on(request->index, wi, busy);
		fpb_shared_succeeded(request);
	}
	PG_CATCH();
	{
		int			sqlstate = geterrcode();
		BlockNumber leaf;
		FpbNoted	noted = fpb_drain_failure(&leaf);

		recover(context, noted == FPB_NOTED_AGAIN);
		if (noted == FPB_NOT_NOTED)
		{
			fpb_shared_failed(request, sqlstate);

			/* notice if a function is replaced because of it */
			RelationCacheInvalidateEntry(request->index);
			ereport(DEBUG1,
					(errmsg_internal("fpbtree: leaves the index alone until %s",
									 timestamptz_to_str(fpb_shared_retry_at(request)))));
		}
		else
		{
			*busy = true;
			ereport(DEBUG1,
					(errmsg_internal("fpbtree: leaves block %u of the index alone for a while", leaf)));
		}
	}
	PG_END_TRY();
	error_context_stack = callback.previous;
	return needed;
}

/*
 * What the worker knows of an index, which may be nothing yet.
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
		wi->rest_until = 0;
		wi->name = NULL;
		for (int i = 0; i < FPB_TIERS; i++)
		{
			WorkerRound *round = &wi->rounds[i];

			round->context = AllocSetContextCreate(TopMemoryContext,
												   "fpbtree queue worker place",
												   ALLOCSET_SMALL_SIZES);
			round->has_place = false;
			round->due = 0;
			fpb_loop_guard_init(&round->loop_guard, TopMemoryContext);
		}
	}
	return wi;
}

/*
 * Forget an index, because its queue or the index itself is gone.
 */
static void
forget_index(Oid index)
{
	WorkerIndex *wi = hash_search(worker_indexes, &index, HASH_FIND, NULL);

	if (wi == NULL)
		return;
	for (int i = 0; i < FPB_TIERS; i++)
	{
		MemoryContextDelete(wi->rounds[i].context);
		fpb_loop_guard_end(&wi->rounds[i].loop_guard);
	}
	if (wi->name != NULL)
		pfree(wi->name);
	hash_search(worker_indexes, &index, HASH_REMOVE, NULL);
}

/*
 * Does somebody wait to drop the database, to copy it, or to do something else
 * that is impossible while somebody is connected to it?
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
 * Work on each queue once, unless the worker is in somebody's way.  Returns
 * whether there are any.  *resting tells whether all of them have to be left
 * alone for a while.
 */
static bool
work_on_all(bool *busy, bool *resting)
{
	int			position = 0;
	FpbRequest	request;
	bool		any = false;

	*busy = false;
	*resting = true;
	while (fpb_shared_next_request(&position, &request) && !in_the_way())
	{
		WorkerIndex *wi = worker_index(request.index);

		CHECK_FOR_INTERRUPTS();

		/* the request stays until its time has come */
		if (GetCurrentTimestamp() < Max(fpb_shared_retry_at(&request), wi->rest_until))
		{
			any = true;
			continue;
		}
		*resting = false;

		/*
		 * The request is taken before the work, and not after it.  Otherwise
		 * it would be lost if somebody made a new queue after we have looked,
		 * and requested a worker for it.
		 */
		if (fpb_shared_take_request(&request) || wi->changed == 0)
			wi->changed = GetCurrentTimestamp();
		if (try_work_on(&request, wi, busy))
			any = true;
		else
		{
			fpb_shared_end_request(&request);
			forget_index(request.index);
		}
	}
	*resting = *resting && any;
	return any;
}

/* ------------------------------------------------------------------------
 * queues that are there when the server is started
 * ------------------------------------------------------------------------
 */

/*
 * List the indexes of this database that may have queues, in the caller's
 * memory context.
 */
static List *
list_indexes(void)
{
	MemoryContext context = CurrentMemoryContext;
	List	   *indexes = NIL;
	Oid			am;
	Relation	pg_class;
	SysScanDesc scan;
	HeapTuple	tuple;

	StartTransactionCommand();
	am = get_index_am_oid(FPB_AM_NAME, true);
	pg_class = table_open(RelationRelationId, AccessShareLock);
	scan = systable_beginscan(pg_class, InvalidOid, false, NULL, 0, NULL);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Form_pg_class form = (Form_pg_class) GETSTRUCT(tuple);

		if (OidIsValid(am) && form->relam == am && form->relkind == RELKIND_INDEX &&
			form->relpersistence != RELPERSISTENCE_TEMP)
		{
			MemoryContext old = MemoryContextSwitchTo(context);

			indexes = lappend_oid(indexes, form->oid);
			MemoryContextSwitchTo(old);
		}
	}
	systable_endscan(scan);
	table_close(pg_class, AccessShareLock);
	CommitTransactionCommand();
	MemoryContextSwitchTo(context);
	return indexes;
}

/*
 * Request the worker for an index if it has a queue; or if that can't be told
 * now, because somebody has the index locked.
 */
static void
look_at(Oid indexoid)
{
	Relation	index = NULL;
	FpbShared  *shared = NULL;

	StartTransactionCommand();
	if (ConditionalLockRelationOid(indexoid, AccessShareLock))
		index = try_index_open(indexoid, NoLock);
	else
		shared = fpb_shared_of(indexoid);
	if (index != NULL && fpb_has_queue(index))
		shared = fpb_shared_of(indexoid);
	if (shared != NULL)
		fpb_shared_request(shared);
	if (index != NULL)
		index_close(index, NoLock);
	CommitTransactionCommand();
}

/*
 * look_at, in which errors are caught and reported.  The index is not looked
 * at again: whoever uses it will meet the error as well.
 */
static void
try_look_at(Oid index)
{
	MemoryContext context = CurrentMemoryContext;

	PG_TRY();
	{
		look_at(index);
	}
	PG_CATCH();
	{
		recover(context, false);
	}
	PG_END_TRY();
	MemoryContextSwitchTo(context);
}

/*
 * Look which indexes of this database have queues.  If the worker is in
 * somebody's way, it stops, and the next worker begins again.
 */
static void
look_over(void)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "fpbtree queue worker indexes",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	List	   *indexes;
	ListCell   *lc;
	bool		complete = true;

	pgstat_report_activity(STATE_RUNNING, "fpbtree: looking for operation queues");
	indexes = list_indexes();
	foreach(lc, indexes)
	{
		CHECK_FOR_INTERRUPTS();
		if (in_the_way())
		{
			complete = false;
			break;
		}
		try_look_at(lfirst_oid(lc));
	}
	if (complete)
		fpb_shared_worker_looked_over();
	ereport(DEBUG1,
			(errmsg_internal("fpbtree: queue worker has looked at %d indexes for operation queues",
							 list_length(indexes))));
	pgstat_report_activity(STATE_IDLE, NULL);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
}

/* ------------------------------------------------------------------------
 * how it comes and goes
 * ------------------------------------------------------------------------
 */

/*
 * The wait event that pg_stat_activity shows while the worker sleeps.
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
 * Become the database's worker, if there is none.  *look_over_first tells
 * whether it has to look for queues.
 */
static bool
enter(bool *look_over_first)
{
	entered = fpb_shared_worker_enter(look_over_first);
	return entered;
}

/* has somebody told this process to end? */
static volatile sig_atomic_t told_to_end = false;

/*
 * An administrator ends the worker, or the server does, because somebody wants
 * the database for itself.
 */
static void
handle_sigterm(SIGNAL_ARGS)
{
	told_to_end = true;
	die(FPB_SIGNAL_ARGS);
}

/*
 * The worker ends.  The next one may come at once, unless this one has failed.
 * (The postmaster does not restart a worker that the server has ended.)
 */
static void
leave(int code, Datum arg pg_attribute_unused())
{
	if (!entered)
		return;
	fpb_shared_worker_leave(code != 0 && !told_to_end ? FPB_WORKER_FAILED : FPB_WORKER_DONE);
	entered = false;
	fpb_shared_keep_requests();
}

/*
 * There have been no requests for a while: leave.  But a request may have come
 * at the last moment, from somebody who saw that there is a worker: then
 * become the worker again, and return false.
 */
static bool
may_end(void)
{
	int			position = 0;
	FpbRequest	request;
	bool		look_over_first;

	leave(0, (Datum) 0);
	return !fpb_shared_next_request(&position, &request) || !enter(&look_over_first);
}

/*
 * Clear notes of entries if most are of no use (queue/filter.c).  Errors are
 * reported.
 */
static void
clean_notes(void)
{
	MemoryContext context = CurrentMemoryContext;

	PG_TRY();
	{
		StartTransactionCommand();
		fpb_filter_clean();
		CommitTransactionCommand();
	}
	PG_CATCH();
	{
		recover(context, false);
	}
	PG_END_TRY();
	MemoryContextSwitchTo(context);
}

/*
 * Sleep for a while, because there is little to do.
 */
static void
take_nap(int nap)
{
	(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
					 nap, worker_wait_event());
	ResetLatch(MyLatch);
}

/*
 * Work on queues until there has been none for a while.  False if the worker
 * has to end before, because it is in somebody's way.
 */
static bool
work(void)
{
	TimestampTz last_work = GetCurrentTimestamp();
	TimestampTz clean_at = last_work;
	int			nap = MIN_NAP_TIME;

	while (use_worker)
	{
		bool		busy;
		bool		resting;

		if (in_the_way())
			return false;
		if (GetCurrentTimestamp() >= clean_at)
		{
			clean_notes();
			clean_at = TimestampTzPlusMilliseconds(GetCurrentTimestamp(), CLEAN_TIME);
		}
		if (work_on_all(&busy, &resting))
			last_work = GetCurrentTimestamp();
		else if (GetCurrentTimestamp() >= TimestampTzPlusMilliseconds(last_work, IDLE_TIME) &&
				 may_end())
			return true;
		if (busy)
			nap = MIN_NAP_TIME;
		else
		{
			take_nap(resting ? REST_NAP_TIME : nap);
			nap = Min(2 * nap, MAX_NAP_TIME);
		}
		CHECK_FOR_INTERRUPTS();
		if (ConfigReloadPending)
		{
			ConfigReloadPending = false;
			ProcessConfigFile(PGC_SIGHUP);
		}
	}
	return true;
}

/*
 * The main function of a database's worker.
 *
 * It exits with 1 if another worker has to come: then the postmaster starts it
 * again, as if it had been stopped.
 */
void
fpb_worker_main(Datum database)
{
	HASHCTL		ctl = {
		.keysize = sizeof(Oid),
		.entrysize = sizeof(WorkerIndex)
	};
	bool		look_over_first;
	bool		done;

	pqsignal(SIGHUP, SignalHandlerForConfigReload);
	pqsignal(SIGTERM, handle_sigterm);
	BackgroundWorkerUnblockSignals();
	if (!fpb_shared_worker_connect(DatumGetObjectId(database)))
		proc_exit(0);
	BackgroundWorkerInitializeConnectionByOid(DatumGetObjectId(database), InvalidOid, 0);
	before_shmem_exit(leave, (Datum) 0);
	if (!enter(&look_over_first))
		proc_exit(0);

	ereport(DEBUG1, (errmsg_internal("fpbtree: queue worker has come")));
	worker_indexes = hash_create("fpbtree queue worker", 16, &ctl, HASH_ELEM | HASH_BLOBS);
	pgstat_report_activity(STATE_IDLE, NULL);
	if (look_over_first)
		look_over();
	done = work();
	ereport(DEBUG1, (errmsg_internal("fpbtree: queue worker goes")));
	leave(0, (Datum) 0);
	proc_exit(done ? 0 : 1);
}
