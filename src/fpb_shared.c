/*-------------------------------------------------------------------------
 *
 * fpb_shared.c
 *	  What the backends of a server share about each index, and about workers.
 *
 * It is in shared memory that the server makes when someone first needs it,
 * and lost when it stops.  The table has room for as many indexes as anyone
 * will look at; of those beyond nothing is known, and no worker sees to them.
 * (Temporary and unique indexes come here only if they are read ahead, or
 * looked into.)
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xlog.h"
#include "common/hashfn.h"
#include "miscadmin.h"
#include "port/pg_bitutils.h"
#include "storage/bufmgr.h"
#include "storage/dsm_registry.h"
#include "storage/lwlock.h"
#include "utils/timestamp.h"

#include "fpb_compat.h"
#include "fpb_shared.h"

/*
 * Slots, a power of two, and how many of them are used at most: who looks for
 * an index that has none comes to a free one soon.
 */
#define MAX_SLOTS		8192
#define MAX_INDEXES		(MAX_SLOTS / 4 * 3)

/* the name of our lock, in pg_stat_activity */
#define TRANCHE			"Fpbtree"

#define MAX_WORKERS		64		/* databases that have one at a time */

/* a worker that has not come by then will not come, in ms */
#define START_TIMEOUT	10000

/* how long until the next one is tried, by FpbWorkerEnd, in ms */
static const int retry_after[] = {0, 1000, 60000};

typedef enum WorkerPhase
{
	WORKER_NONE,
	WORKER_CLAIMED,				/* somebody is about to start it */
	WORKER_RUNNING
} WorkerPhase;

typedef struct SharedWorker
{
	Oid			database;		/* InvalidOid: free */
	WorkerPhase phase;
	TimestampTz next_try;		/* none is started before */
} SharedWorker;

/*
 * Of what is below.  Libraries of two versions may be in use while a server
 * that has got a new one has not been restarted.
 */
#define SHARED_VERSION	1

/* indexes are a hash table with linear probing from which nothing is removed */
typedef struct SharedTable
{
	uint32		version;
	LWLock		lock;			/* held to add an index; of the workers */
	int			tranche;
	pg_atomic_uint32 nindexes;	/* slots that are used */
	FpbShared	indexes[MAX_SLOTS];
	SharedWorker workers[MAX_WORKERS];
	uint32		counter_mask;	/* there is one counter more */
	pg_atomic_uint32 counters[FLEXIBLE_ARRAY_MEMBER];	/* four in each */
} SharedTable;

static SharedTable *shared_table = NULL;

/*
 * How many counters there are, a power of two: bytes, a 64th of
 * shared_buffers.  By default a queue takes an eighth of that, with some 400
 * entries a page.
 */
#define MIN_COUNTERS	(64 * 1024)
#define MAX_COUNTERS	(16 * 1024 * 1024)
#define BUFFER_COUNTERS	(BLCKSZ / 64)

static uint32
number_of_counters(void)
{
	return pg_nextpower2_32(Min(Max((uint64) NBuffers * BUFFER_COUNTERS, MIN_COUNTERS),
								MAX_COUNTERS));
}

/*
 * Initialize the shared table.
 */
static void
init_table(FPB_SEGMENT_INIT_PARAMS)
{
	SharedTable *table = ptr;

	table->version = SHARED_VERSION;
	table->tranche = fpb_new_tranche(TRANCHE);
	LWLockInitialize(&table->lock, table->tranche);
	pg_atomic_init_u32(&table->nindexes, 0);
	for (int i = 0; i < MAX_SLOTS; i++)
	{
		FpbShared  *shared = &table->indexes[i];

		shared->database = InvalidOid;
		pg_atomic_init_u32(&shared->index, InvalidOid);
		for (int kind = 0; kind < FPB_SHARED_KINDS; kind++)
		{
			pg_atomic_init_u64(&shared->prefetched[kind], 0);
			pg_atomic_init_u64(&shared->used[kind], 0);
			pg_atomic_init_u64(&shared->wasted[kind], 0);
		}
		pg_atomic_init_u64(&shared->visits, 0);
		pg_atomic_init_u64(&shared->moved, 0);
		pg_atomic_init_u64(&shared->stalls, 0);
		pg_atomic_init_u64(&shared->longest_stall, 0);
		pg_atomic_init_u64(&shared->redo, 0);
		pg_atomic_init_u32(&shared->checkpoints, 0);
		pg_atomic_init_u64(&shared->moved_first, 0);
		pg_atomic_init_u64(&shared->moved_last, 0);
		pg_atomic_init_u32(&shared->flusher, 0);
		pg_atomic_init_u64(&shared->flush_pages, 0);
		pg_atomic_init_u64(&shared->flush_done, 0);
		pg_atomic_init_u64(&shared->flush_moved, 0);
		pg_atomic_init_u32(&shared->wanted, FPB_UNWANTED);
		pg_atomic_init_u64(&shared->counted_queue, 0);
	}
	table->counter_mask = number_of_counters() - 1;
	for (uint32 i = 0; i < number_of_counters() / sizeof(uint32); i++)
		pg_atomic_init_u32(&table->counters[i], 0);
	for (int i = 0; i < MAX_WORKERS; i++)
		table->workers[i].database = InvalidOid;
}

/*
 * Have the table at hand.  False if there is none, in a single-user server.
 * Raises an error if it is not of this version: with tables of their own, two
 * versions would count what is in a queue apart, and lookups miss rows.
 */
static bool
attach(void)
{
	SharedTable *table;
	bool		found;

	if (shared_table != NULL)
		return true;
	/* the registry is the postmaster's */
	if (!IsUnderPostmaster)
		return false;
	table = fpb_named_segment("fpbtree",
							  offsetof(SharedTable, counters) + number_of_counters(),
							  init_table, &found);
	if (table->version != SHARED_VERSION)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("another version of fpbtree is in use in this server"),
				 errhint("Restart the server, so that all sessions use the version installed.")));
	shared_table = table;
	fpb_register_tranche(shared_table->tranche, TRANCHE);
	return true;
}

/*
 * Look for the slot of an index of this database.  False if it has none, and
 * then *slot is the free one where it would be.
 */
static bool
look_up(Oid index, FpbShared **slot)
{
	uint32		hash = hash_combine(murmurhash32(MyDatabaseId), murmurhash32(index));

	for (;; hash++)
	{
		Oid			found;

		*slot = &shared_table->indexes[hash % MAX_SLOTS];
		found = pg_atomic_read_u32(&(*slot)->index);
		if (!OidIsValid(found))
			return false;
		pg_read_barrier();
		if (found == index && (*slot)->database == MyDatabaseId)
			return true;
	}
}

/*
 * What is shared of an index, made if need be; NULL if there is nothing.
 */
FpbShared *
fpb_shared_of(Oid index)
{
	FpbShared  *shared;

	if (!attach())
		return NULL;
	if (look_up(index, &shared))
		return shared;
	if (pg_atomic_read_u32(&shared_table->nindexes) >= MAX_INDEXES)
		return NULL;

	LWLockAcquire(&shared_table->lock, LW_EXCLUSIVE);
	if (!look_up(index, &shared))	/* somebody may have been faster */
	{
		if (pg_atomic_read_u32(&shared_table->nindexes) < MAX_INDEXES)
		{
			pg_atomic_fetch_add_u32(&shared_table->nindexes, 1);
			shared->database = MyDatabaseId;
			pg_write_barrier();
			pg_atomic_write_u32(&shared->index, index);
		}
		else
			shared = NULL;
	}
	LWLockRelease(&shared_table->lock);
	return shared;
}

/*
 * The counters of keys, four in each word; their number is *mask + 1.  NULL if
 * there are none.
 */
pg_atomic_uint32 *
fpb_shared_counters(uint32 *mask)
{
	if (!attach())
		return NULL;
	*mask = shared_table->counter_mask;
	return shared_table->counters;
}

/*
 * The next index of this database from *position on, or NULL.  *position, 0 at
 * first, is moved behind it.
 *
 * Where that begins differs from process to process: if workers fail at an
 * index, the others have their turn before it with some of them.
 */
FpbShared *
fpb_shared_next(int *position)
{
	if (!attach())
		return NULL;
	while (*position < MAX_SLOTS)
	{
		FpbShared  *shared = &shared_table->indexes[(uint32) (MyProcPid + (*position)++) % MAX_SLOTS];

		if (OidIsValid(pg_atomic_read_u32(&shared->index)))
		{
			pg_read_barrier();
			if (shared->database == MyDatabaseId)
				return shared;
		}
	}
	return NULL;
}

/*
 * The next such index that a worker is to see to, or InvalidOid.
 */
Oid
fpb_shared_next_wanted(int *position)
{
	FpbShared  *shared;

	while ((shared = fpb_shared_next(position)) != NULL)
		if (pg_atomic_read_u32(&shared->wanted) != FPB_UNWANTED)
			return pg_atomic_read_u32(&shared->index);
	return InvalidOid;
}

/*
 * Count a visit to a main leaf, to which so many entries have moved.
 */
void
fpb_shared_count_visit(FpbShared *shared, int moved)
{
	uint64		redo = GetRedoRecPtr();
	uint64		before = pg_atomic_read_u64(&shared->redo);
	uint64		sum = pg_atomic_read_u64(&shared->moved);

	if (redo != before &&
		pg_atomic_compare_exchange_u64(&shared->redo, &before, redo) &&
		before != 0)
	{
		if (pg_atomic_fetch_add_u32(&shared->checkpoints, 1) == 0)
			pg_atomic_write_u64(&shared->moved_first, sum);
		pg_atomic_write_u64(&shared->moved_last, sum);
	}
	pg_atomic_fetch_add_u64(&shared->visits, 1);
	pg_atomic_fetch_add_u64(&shared->moved, moved);
}

/*
 * How many entries have moved between one checkpoint and the next, on the
 * average; -1 if that is not known yet.
 */
double
fpb_shared_checkpoint_moved(FpbShared *shared)
{
	uint32		n = pg_atomic_read_u32(&shared->checkpoints);

	if (n < 2)
		return -1;
	/* who counts may have been held up */
	return Max((double) pg_atomic_read_u64(&shared->moved_last) -
			   (double) pg_atomic_read_u64(&shared->moved_first), 0) / (n - 1);
}

/*
 * This database's entry among the workers'; NULL if there are too many.  The
 * table is locked exclusively.
 */
static SharedWorker *
my_worker(void)
{
	SharedWorker *unused = NULL;

	for (int i = 0; i < MAX_WORKERS; i++)
	{
		SharedWorker *worker = &shared_table->workers[i];

		if (worker->database == MyDatabaseId)
			return worker;
		if (unused == NULL &&
			(!OidIsValid(worker->database) ||
			 (worker->phase != WORKER_RUNNING && worker->next_try <= GetCurrentTimestamp())))
			unused = worker;
	}
	if (unused != NULL)
	{
		unused->database = MyDatabaseId;
		unused->phase = WORKER_NONE;
		unused->next_try = 0;
	}
	return unused;
}

/*
 * May the caller start a worker for this database?  Not if there is one, or
 * one has just been tried.
 */
bool
fpb_shared_worker_claim(void)
{
	TimestampTz now = GetCurrentTimestamp();
	SharedWorker *worker;
	bool		claimed = false;

	if (!attach())
		return false;
	LWLockAcquire(&shared_table->lock, LW_EXCLUSIVE);
	worker = my_worker();
	if (worker != NULL && worker->phase != WORKER_RUNNING && worker->next_try <= now)
	{
		worker->phase = WORKER_CLAIMED;
		worker->next_try = TimestampTzPlusMilliseconds(now, START_TIMEOUT);
		claimed = true;
	}
	LWLockRelease(&shared_table->lock);
	return claimed;
}

/*
 * The caller is this database's worker from now on, unless there is one.
 */
bool
fpb_shared_worker_enter(void)
{
	SharedWorker *worker;
	bool		entered = false;

	if (!attach())
		return false;
	LWLockAcquire(&shared_table->lock, LW_EXCLUSIVE);
	worker = my_worker();
	if (worker != NULL && worker->phase != WORKER_RUNNING)
	{
		worker->phase = WORKER_RUNNING;
		entered = true;
	}
	LWLockRelease(&shared_table->lock);
	return entered;
}

/*
 * There is no worker of this database any more, or none could be started.
 */
void
fpb_shared_worker_leave(FpbWorkerEnd how)
{
	SharedWorker *worker;

	LWLockAcquire(&shared_table->lock, LW_EXCLUSIVE);
	worker = my_worker();
	if (worker != NULL)
	{
		worker->phase = WORKER_NONE;
		worker->next_try = TimestampTzPlusMilliseconds(GetCurrentTimestamp(),
													   retry_after[how]);
	}
	LWLockRelease(&shared_table->lock);
}
