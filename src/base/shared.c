/*-------------------------------------------------------------------------
 *
 * base/shared.c
 *	  What the backends of a server share about each index, and about workers.
 *
 * It is in shared memory that the server makes when someone first needs it,
 * and lost when it stops.  The table has room for as many indexes as
 * fpbtree.shared_indexes says.  When it is full, whoever comes with another
 * index makes room: the slots of indexes that have been dropped since are used
 * again.  Of those for which there is no room nothing is known, and no worker
 * sees to them.  (Temporary and unique indexes come here only if they are read
 * ahead, or looked into.)
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <unistd.h>

#include "access/genam.h"
#include "access/table.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "catalog/pg_class.h"
#include "common/hashfn.h"
#include "common/relpath.h"
#include "miscadmin.h"
#include "port/pg_bitutils.h"
#include "storage/bufmgr.h"
#include "storage/dsm_registry.h"
#include "storage/lmgr.h"
#include "storage/lwlock.h"
#include "utils/fmgroids.h"
#include "utils/guc.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"

#include "base/compat.h"
#include "base/shared.h"

/* fpbtree.shared_indexes */
static int	max_indexes = 6144;

#define MIN_INDEXES		16
#define MAX_INDEXES		100000

/* the key of a slot: neither is one of an index, of which both OIDs are valid */
#define KEY_NONE		UINT64CONST(0)	/* never used: a search ends here */
#define KEY_GONE		UINT64CONST(1)	/* free again: a search goes on */

/*
 * The table is not gone through for dropped indexes again so soon after it has
 * been, unless that has been of use, in ms.
 */
#define SWEEP_INTERVAL	60000

/* of use: one in so many slots has become free */
#define SWEEP_WORTH_ONE_IN	8

/* the name of our lock, in pg_stat_activity */
#define TRANCHE			"Fpbtree"

#define MAX_WORKERS		64		/* databases that have one at a time */

/* a worker that has not come by then will not come, in ms */
#define START_TIMEOUT	10000

/* how long until the next one is tried, by FpbWorkerEnd, in ms */
static const int retry_after[] = {0, 1000, 60000};

/*
 * How long what has failed is left alone, in ms: twice as long after each
 * failure, from one to the other.
 */
#define MIN_BACK_OFF	1000
#define MAX_BACK_OFF	300000

typedef enum WorkerPhase
{
	WORKER_NONE,
	WORKER_CLAIMED,				/* somebody is about to start it */
	WORKER_RUNNING
} WorkerPhase;

typedef struct SharedWorker
{
	Oid			database;		/* InvalidOid: free */
	Oid			tablespace;		/* of the database; InvalidOid: not known yet */
	WorkerPhase phase;
	bool		connecting;		/* one has begun to connect to the database,
								 * and not come to its end */
	bool		looked_over;	/* one has looked which indexes have queues,
								 * since the server was started */
	TimestampTz next_try;		/* none is started before */
} SharedWorker;

/*
 * Of what is below.  Libraries of two versions may be in use while a server
 * that has got a new one has not been restarted.
 */
#define SHARED_VERSION	2

typedef struct SharedTable
{
	uint32		version;
	LWLock		lock;			/* held to change the set of indexes, and what
								 * is said to need it; of the workers */
	int			tranche;
	uint32		nslots;			/* a power of two */
	uint32		max_indexes;	/* so many of them are used at most */
	pg_atomic_uint32 nindexes;	/* so many are */
	uint32		nbusy;			/* these, and those that a search goes on at */
	pg_atomic_uint64 next_sweep;	/* a TimestampTz */
	SharedWorker workers[MAX_WORKERS];
	uint32		counter_mask;	/* there is one counter more */
	pg_atomic_uint32 counters[FLEXIBLE_ARRAY_MEMBER];	/* four in each */
} SharedTable;

static SharedTable *shared_table = NULL;

/*
 * The indexes: a hash table with linear probing.  It is searched without a
 * lock, and changed with one.
 */
static FpbShared *shared_indexes = NULL;

/*
 * How many counters there are, a power of two: bytes, a 64th of
 * shared_buffers.  By default a queue takes an eighth of that, with some 400
 * entries a page.
 */
#define MIN_COUNTERS	(64 * 1024)
#define MAX_COUNTERS	(16 * 1024 * 1024)
#define BUFFER_COUNTERS	(BLCKSZ / 64)

/*
 * Define the setting.  It is read by whoever makes the table.
 */
void
fpb_shared_init(void)
{
	DefineCustomIntVariable("fpbtree.shared_indexes",
							"Indexes about which processes share something in memory.",
							"Of others nothing is counted, and no worker sees to their operation queues. Takes effect when the server is started.",
							&max_indexes,
							6144, MIN_INDEXES, MAX_INDEXES, PGC_SIGHUP, 0, NULL, NULL, NULL);
}

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
	/* at most three of four slots are used: a search ends soon */
	table->max_indexes = max_indexes;
	table->nslots = pg_nextpower2_32(table->max_indexes * 4 / 3);
	pg_atomic_init_u32(&table->nindexes, 0);
	table->nbusy = 0;
	pg_atomic_init_u64(&table->next_sweep, 0);
	table->counter_mask = number_of_counters() - 1;
	for (uint32 i = 0; i < number_of_counters() / sizeof(uint32); i++)
		pg_atomic_init_u32(&table->counters[i], 0);
	memset(table->workers, 0, sizeof(table->workers));
}

/*
 * Have nothing known of the index of a slot that nobody uses.
 */
static void
init_slot(FpbShared *shared)
{
	pg_atomic_init_u64(&shared->counted_queue, 0);
	pg_atomic_init_u32(&shared->wanted, FPB_NOT_REQUESTED);
	pg_atomic_init_u32(&shared->working, false);
	pg_atomic_init_u32(&shared->failures, 0);
	pg_atomic_init_u32(&shared->error, 0);
	pg_atomic_init_u64(&shared->error_at, 0);
	pg_atomic_init_u64(&shared->retry_at, 0);
	for (int i = 0; i < FPB_FAILED_LEAVES; i++)
		shared->failed[i].leaf = InvalidBlockNumber;
	pg_atomic_init_u32(&shared->nfailed, 0);
	pg_atomic_init_u32(&shared->queue_pages, FPB_PAGES_UNKNOWN);
	pg_atomic_init_u64(&shared->queue_entries, 0);
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
	for (int kind = 0; kind < FPB_SHARED_KINDS; kind++)
	{
		pg_atomic_init_u64(&shared->prefetched[kind], 0);
		pg_atomic_init_u64(&shared->used[kind], 0);
		pg_atomic_init_u64(&shared->wasted[kind], 0);
	}
}

/*
 * Initialize the slots of indexes, as many as the table says.
 */
static void
init_indexes(FPB_SEGMENT_INIT_PARAMS)
{
	FpbShared  *indexes = ptr;

	for (uint32 i = 0; i < shared_table->nslots; i++)
	{
		pg_atomic_init_u64(&indexes[i].key, KEY_NONE);
		init_slot(&indexes[i]);
	}
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

	if (shared_indexes != NULL)
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
	shared_indexes = fpb_named_segment("fpbtree indexes",
									   shared_table->nslots * sizeof(FpbShared),
									   init_indexes, &found);
	return true;
}

/* ------------------------------------------------------------------------
 * indexes
 * ------------------------------------------------------------------------
 */

/*
 * The key of an index of this database.
 */
static inline uint64
key_of(Oid index)
{
	return (uint64) MyDatabaseId << 32 | index;
}

static inline Oid
database_of(uint64 key)
{
	return (Oid) (key >> 32);
}

static inline Oid
index_of(uint64 key)
{
	return (Oid) key;
}

static inline bool
is_index(uint64 key)
{
	return key != KEY_NONE && key != KEY_GONE;
}

/*
 * Look for a key.  False if it is not there, and then *slot is where it would
 * be: a free slot.
 */
static bool
look_up(uint64 key, FpbShared **slot)
{
	uint32		hash = hash_combine(murmurhash32(database_of(key)), murmurhash32(index_of(key)));
	FpbShared  *gone = NULL;

	for (;; hash++)
	{
		FpbShared  *here = &shared_indexes[hash & (shared_table->nslots - 1)];
		uint64		found = pg_atomic_read_u64(&here->key);

		if (found == key)
		{
			/* what is said of it has been cleared before */
			pg_read_barrier();
			*slot = here;
			return true;
		}
		if (found == KEY_GONE && gone == NULL)
			gone = here;
		if (found == KEY_NONE)
		{
			*slot = gone != NULL ? gone : here;
			return false;
		}
	}
}

/*
 * Are there as many indexes as there may be?
 */
static inline bool
is_full(void)
{
	return pg_atomic_read_u32(&shared_table->nindexes) >= shared_table->max_indexes;
}

/*
 * May the table be gone through for indexes that have gone?
 */
static bool
may_sweep(void)
{
	return (TimestampTz) pg_atomic_read_u64(&shared_table->next_sweep) <= GetCurrentTimestamp() &&
		IsTransactionState();
}

/*
 * Add a key to the table, unless somebody has been faster; NULL if there is no
 * room.
 */
static FpbShared *
add_key(uint64 key)
{
	FpbShared  *shared;

	LWLockAcquire(&shared_table->lock, LW_EXCLUSIVE);
	if (!look_up(key, &shared))
	{
		bool		unused = pg_atomic_read_u64(&shared->key) == KEY_NONE;

		/* there is always a slot for searches to end at, and most end soon */
		if (is_full() ||
			(unused && shared_table->nbusy >= shared_table->nslots / 8 * 7))
			shared = NULL;
		else
		{
			shared_table->nbusy += unused;
			pg_atomic_fetch_add_u32(&shared_table->nindexes, 1);
			init_slot(shared);
			pg_write_barrier();
			pg_atomic_write_u64(&shared->key, key);
		}
	}
	LWLockRelease(&shared_table->lock);
	return shared;
}

/*
 * Free the slot of a key, if it has one.  The table is locked exclusively.
 */
static void
remove_key(uint64 key)
{
	uint32		mask = shared_table->nslots - 1;
	FpbShared  *shared;
	uint32		at;

	if (!look_up(key, &shared))
		return;
	pg_atomic_write_u64(&shared->key, KEY_GONE);
	pg_atomic_fetch_sub_u32(&shared_table->nindexes, 1);

	/*
	 * If there is nothing behind that a search would have to come to, it may
	 * end here; and so on, backward.
	 */
	at = shared - shared_indexes;
	if (pg_atomic_read_u64(&shared_indexes[(at + 1) & mask].key) != KEY_NONE)
		return;
	for (; pg_atomic_read_u64(&shared_indexes[at].key) == KEY_GONE; at = (at - 1) & mask)
	{
		pg_atomic_write_u64(&shared_indexes[at].key, KEY_NONE);
		shared_table->nbusy--;
	}
}

/*
 * Does a snapshot, or else one of this moment, see an index?
 */
static bool
sees_index(Relation pg_class, Oid index, Snapshot snapshot)
{
	ScanKeyData key;
	SysScanDesc scan;
	bool		seen;

	ScanKeyInit(&key, Anum_pg_class_oid, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(index));
	scan = systable_beginscan(pg_class, ClassOidIndexId, true, snapshot, 1, &key);
	seen = HeapTupleIsValid(systable_getnext(scan));
	systable_endscan(scan);
	return seen;
}

/*
 * Is an index there for anybody, even if only for who has just created it?  A
 * dirty snapshot tells that, but may miss a row that is just being updated.
 */
static bool
index_exists(Relation pg_class, Oid index)
{
	SnapshotData dirty;

	/* who has dropped it himself may yet take that back */
	if (CheckRelationOidLockedByMe(index, AccessShareLock, true))
		return true;
	InitDirtySnapshot(dirty);
	return sees_index(pg_class, index, NULL) || sees_index(pg_class, index, &dirty);
}

/*
 * Free the slots of indexes that have gone: of this database's, and of dropped
 * databases.  Other databases' catalogs can't be read.  If few have, the log
 * says that the table is full.  No page is locked.
 *
 * An index that anybody has locked is there for at least one of them, so
 * nobody uses the slot of one that is not.  (The worker may: see
 * fpb_shared_take_request.)
 */
static void
sweep(void)
{
	uint32		nslots = shared_table->nslots;
	uint64	   *gone = palloc(nslots * sizeof(uint64));
	uint32		ngone = 0;
	bool		worthwhile;
	Relation	pg_class = table_open(RelationRelationId, AccessShareLock);

	for (uint32 i = 0; i < nslots; i++)
	{
		uint64		key = pg_atomic_read_u64(&shared_indexes[i].key);

		if (is_index(key) &&
			!(database_of(key) == MyDatabaseId ? index_exists(pg_class, index_of(key)) :
			  SearchSysCacheExists1(DATABASEOID, ObjectIdGetDatum(database_of(key)))))
			gone[ngone++] = key;
	}
	table_close(pg_class, AccessShareLock);

	worthwhile = ngone >= shared_table->max_indexes / SWEEP_WORTH_ONE_IN;

	LWLockAcquire(&shared_table->lock, LW_EXCLUSIVE);
	for (uint32 i = 0; i < ngone; i++)
		remove_key(gone[i]);
	if (!worthwhile)
		pg_atomic_write_u64(&shared_table->next_sweep,
							TimestampTzPlusMilliseconds(GetCurrentTimestamp(), SWEEP_INTERVAL));
	LWLockRelease(&shared_table->lock);
	pfree(gone);

	ereport(DEBUG1,
			(errmsg_internal("fpbtree: %u slots of shared memory have become free", ngone)));
	if (!worthwhile)
		ereport(LOG,
				(errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
				 errmsg("shared memory for fpbtree indexes is full"),
				 errdetail("It has room for %u. Of others nothing is counted, and no worker sees to their operation queues.",
						   shared_table->max_indexes),
				 errhint("Consider increasing the configuration parameter \"%s\".",
						 "fpbtree.shared_indexes")));
}

/*
 * What is shared of an index, made if need be; NULL if there is nothing.  The
 * caller has the index locked; no page is.
 */
FpbShared *
fpb_shared_of(Oid index)
{
	FpbShared  *shared;

	if (!attach())
		return NULL;
	if (look_up(key_of(index), &shared))
		return shared;
	if (is_full() && !may_sweep())
		return NULL;
	shared = add_key(key_of(index));
	if (shared == NULL && may_sweep())
	{
		sweep();
		shared = add_key(key_of(index));
	}
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
 */
FpbShared *
fpb_shared_next(int *position, Oid *index)
{
	if (!attach())
		return NULL;
	while (*position < shared_table->nslots)
	{
		FpbShared  *shared = &shared_indexes[(*position)++];
		uint64		key = pg_atomic_read_u64(&shared->key);

		if (is_index(key) && database_of(key) == MyDatabaseId)
		{
			*index = index_of(key);
			return shared;
		}
	}
	return NULL;
}

/* ------------------------------------------------------------------------
 * requests to the worker
 * ------------------------------------------------------------------------
 */

/*
 * A worker is to see to an index, which the caller has locked.
 */
void
fpb_shared_request(FpbShared *shared)
{
	if (pg_atomic_read_u32(&shared->wanted) != FPB_REQUESTED)
		pg_atomic_write_u32(&shared->wanted, FPB_REQUESTED);
}

/*
 * The next index of this database that a worker is to see to, from *position
 * on; false if there is none.
 */
bool
fpb_shared_next_request(int *position, FpbRequest *request)
{
	while ((request->shared = fpb_shared_next(position, &request->index)) != NULL)
	{
		request->key = key_of(request->index);
		if (pg_atomic_read_u32(&request->shared->wanted) != FPB_NOT_REQUESTED)
			return true;
	}
	return false;
}

/*
 * Lock the table, if the slot still is the request's: the worker has not
 * locked the index, which may have been dropped, and another one have its
 * slot.  False, and no lock, if it is not.
 */
static bool
lock_request(const FpbRequest *request, LWLockMode mode)
{
	LWLockAcquire(&shared_table->lock, mode);
	if (pg_atomic_read_u64(&request->shared->key) == request->key)
		return true;
	LWLockRelease(&shared_table->lock);
	return false;
}

/*
 * The worker is about to see to a request: from now on, who puts entries into
 * the queue asks again.  Returns whether somebody has asked since it did this
 * last.
 */
bool
fpb_shared_take_request(const FpbRequest *request)
{
	bool		asked;

	if (!lock_request(request, LW_SHARED))
		return false;
	asked = pg_atomic_exchange_u32(&request->shared->wanted, FPB_REQUEST_TAKEN) == FPB_REQUESTED;
	pg_atomic_write_u32(&request->shared->working, true);
	LWLockRelease(&shared_table->lock);
	return asked;
}

/*
 * The index needs no worker any more, unless somebody has asked meanwhile.
 */
void
fpb_shared_end_request(const FpbRequest *request)
{
	uint32		kept = FPB_REQUEST_TAKEN;

	if (!lock_request(request, LW_SHARED))
		return;
	(void) pg_atomic_compare_exchange_u32(&request->shared->wanted, &kept, FPB_NOT_REQUESTED);
	LWLockRelease(&shared_table->lock);
}

/*
 * The worker ends.  Whoever finds that a queue is wanted already asks for
 * none; so those that this one has not looked at are only kept.
 */
void
fpb_shared_keep_requests(void)
{
	int			position = 0;
	Oid			index;
	FpbShared  *shared;

	while ((shared = fpb_shared_next(&position, &index)) != NULL)
	{
		uint32		wanted = FPB_REQUESTED;

		(void) pg_atomic_compare_exchange_u32(&shared->wanted, &wanted, FPB_REQUEST_TAKEN);
		pg_atomic_write_u32(&shared->working, false);
	}
}

/* ------------------------------------------------------------------------
 * what has gone wrong
 * ------------------------------------------------------------------------
 */

/*
 * When what has failed so many times in succession is tried again.
 */
static TimestampTz
retry_time(uint32 failures)
{
	int64		delay = (int64) MIN_BACK_OFF << Min(failures - 1, 20);

	return TimestampTzPlusMilliseconds(GetCurrentTimestamp(), Min(delay, MAX_BACK_OFF));
}

/*
 * When the worker may see to an index again that it has failed at.
 */
TimestampTz
fpb_shared_retry_at(const FpbRequest *request)
{
	return (TimestampTz) pg_atomic_read_u64(&request->shared->retry_at);
}

/*
 * The worker has failed at an index, which it leaves alone for a while.  What
 * has been asked is asked still.
 */
void
fpb_shared_failed(const FpbRequest *request, int sqlstate)
{
	FpbShared  *shared = request->shared;

	if (!lock_request(request, LW_EXCLUSIVE))
		return;
	pg_atomic_write_u64(&shared->retry_at,
						retry_time(pg_atomic_add_fetch_u32(&shared->failures, 1)));
	pg_atomic_write_u32(&shared->error, sqlstate);
	pg_atomic_write_u64(&shared->error_at, GetCurrentTimestamp());
	pg_atomic_write_u32(&shared->working, false);
	LWLockRelease(&shared_table->lock);
}

/*
 * The worker has come to its end with an index, this time.
 */
void
fpb_shared_succeeded(const FpbRequest *request)
{
	FpbShared  *shared = request->shared;

	if (!lock_request(request, LW_SHARED))
		return;
	if (pg_atomic_read_u32(&shared->failures) != 0)
	{
		pg_atomic_write_u32(&shared->failures, 0);
		pg_atomic_write_u64(&shared->retry_at, 0);
	}
	pg_atomic_write_u32(&shared->working, false);
	LWLockRelease(&shared_table->lock);
}

/*
 * The place of a leaf among the failed ones; of InvalidBlockNumber: a free
 * one.  FPB_FAILED_LEAVES if there is none.  The table is locked.
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
 * A place for another failed leaf: a free one, or that of one that has not
 * been tried again though it could have been.  FPB_FAILED_LEAVES if there is
 * none.  The table is locked exclusively.
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
 * No entries could be moved to a leaf: it is left alone for a while.
 */
FpbNoted
fpb_shared_note_failed_leaf(FpbShared *shared, BlockNumber leaf)
{
	FpbNoted	noted = FPB_NOT_NOTED;
	int			i;

	if (leaf == InvalidBlockNumber)
		return FPB_NOT_NOTED;
	LWLockAcquire(&shared_table->lock, LW_EXCLUSIVE);
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
		shared->failed[i].retry_at = retry_time(++shared->failed[i].failures);
	LWLockRelease(&shared_table->lock);
	return noted;
}

/*
 * Entries have been moved to a leaf.
 */
void
fpb_shared_forget_failed_leaf(FpbShared *shared, BlockNumber leaf)
{
	int			i;

	if (pg_atomic_read_u32(&shared->nfailed) == 0 || leaf == InvalidBlockNumber)
		return;
	LWLockAcquire(&shared_table->lock, LW_EXCLUSIVE);
	i = failed_leaf(shared, leaf);
	if (i < FPB_FAILED_LEAVES)
	{
		shared->failed[i].leaf = InvalidBlockNumber;
		pg_atomic_fetch_sub_u32(&shared->nfailed, 1);
	}
	LWLockRelease(&shared_table->lock);
}

/*
 * The queue has gone, or another one has come.
 */
void
fpb_shared_forget_failed_leaves(FpbShared *shared)
{
	if (pg_atomic_read_u32(&shared->nfailed) == 0)
		return;
	LWLockAcquire(&shared_table->lock, LW_EXCLUSIVE);
	for (int i = 0; i < FPB_FAILED_LEAVES; i++)
		shared->failed[i].leaf = InvalidBlockNumber;
	pg_atomic_write_u32(&shared->nfailed, 0);
	LWLockRelease(&shared_table->lock);
}

/*
 * Is a leaf to be left alone?
 */
bool
fpb_shared_is_failed_leaf(FpbShared *shared, BlockNumber leaf)
{
	bool		failed = false;
	int			i;

	if (pg_atomic_read_u32(&shared->nfailed) == 0 || leaf == InvalidBlockNumber)
		return false;
	LWLockAcquire(&shared_table->lock, LW_SHARED);
	i = failed_leaf(shared, leaf);
	if (i < FPB_FAILED_LEAVES)
		failed = shared->failed[i].retry_at > GetCurrentTimestamp();
	LWLockRelease(&shared_table->lock);
	return failed;
}

/*
 * The leaves to which no entries could be moved, FPB_FAILED_LEAVES at most;
 * returns how many.
 */
int
fpb_shared_failed_leaves(FpbShared *shared, BlockNumber *leaves)
{
	int			n = 0;

	LWLockAcquire(&shared_table->lock, LW_SHARED);
	for (int i = 0; i < FPB_FAILED_LEAVES; i++)
		if (shared->failed[i].leaf != InvalidBlockNumber)
			leaves[n++] = shared->failed[i].leaf;
	LWLockRelease(&shared_table->lock);
	return n;
}

/* ------------------------------------------------------------------------
 * counts
 * ------------------------------------------------------------------------
 */

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
	pg_atomic_fetch_sub_u64(&shared->queue_entries, moved);
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

/* ------------------------------------------------------------------------
 * workers
 * ------------------------------------------------------------------------
 */

/*
 * A database's entry among the workers', made if need be, from that of a
 * database without a worker if none is free; NULL if there are too many.  The
 * table is locked exclusively.
 */
static SharedWorker *
worker_of(Oid database)
{
	SharedWorker *unused = NULL;

	for (int i = 0; i < MAX_WORKERS; i++)
	{
		SharedWorker *worker = &shared_table->workers[i];

		if (worker->database == database)
			return worker;
		if (!OidIsValid(worker->database) ?
			(unused == NULL || OidIsValid(unused->database)) :
			(unused == NULL && worker->phase != WORKER_RUNNING &&
			 worker->next_try <= GetCurrentTimestamp()))
			unused = worker;
	}
	if (unused != NULL)
	{
		memset(unused, 0, sizeof(SharedWorker));
		unused->database = database;
	}
	return unused;
}

/*
 * Has this database no worker, though nobody has looked for its queues, or
 * something is asked of one?
 */
bool
fpb_shared_worker_missing(void)
{
	SharedWorker *worker;
	bool		running;
	bool		looked_over;
	int			position = 0;
	FpbRequest	request;

	if (!attach())
		return false;
	LWLockAcquire(&shared_table->lock, LW_EXCLUSIVE);
	worker = worker_of(MyDatabaseId);
	running = worker != NULL && worker->phase == WORKER_RUNNING;
	looked_over = worker != NULL && worker->looked_over;
	LWLockRelease(&shared_table->lock);
	return !running &&
		(!looked_over || fpb_shared_next_request(&position, &request));
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
	worker = worker_of(MyDatabaseId);
	if (worker != NULL && worker->phase != WORKER_RUNNING && worker->next_try <= now)
	{
		worker->phase = WORKER_CLAIMED;
		worker->connecting = false;

		/* it may have moved since a worker was here */
		worker->tablespace = MyDatabaseTableSpace;
		worker->next_try = TimestampTzPlusMilliseconds(now, START_TIMEOUT);
		claimed = true;
	}
	LWLockRelease(&shared_table->lock);
	return claimed;
}

/*
 * May the caller, who is to be a database's worker, connect to it?  Who can't
 * connect is started again by the postmaster, again and again; so not if the
 * one before has not succeeded, or the database has gone.
 */
bool
fpb_shared_worker_connect(Oid database)
{
	SharedWorker *worker;
	bool		may_connect = true;
	Oid			tablespace = InvalidOid;

	if (!attach())
		return false;
	LWLockAcquire(&shared_table->lock, LW_EXCLUSIVE);
	worker = worker_of(database);
	if (worker != NULL)
	{
		may_connect = !worker->connecting;
		worker->connecting = may_connect;
		tablespace = worker->tablespace;
	}
	LWLockRelease(&shared_table->lock);
	if (may_connect && OidIsValid(tablespace))
	{
		char	   *path = GetDatabasePath(database, tablespace);

		may_connect = access(path, F_OK) == 0;
		pfree(path);
	}
	return may_connect;
}

/*
 * The caller is this database's worker from now on, unless there is one.
 * *look_over: is it to look which indexes have queues?
 */
bool
fpb_shared_worker_enter(bool *look_over)
{
	SharedWorker *worker;
	bool		entered = false;

	if (!attach())
		return false;
	LWLockAcquire(&shared_table->lock, LW_EXCLUSIVE);
	worker = worker_of(MyDatabaseId);
	if (worker != NULL)
	{
		worker->connecting = false;
		worker->tablespace = MyDatabaseTableSpace;
		*look_over = !worker->looked_over;
		entered = worker->phase != WORKER_RUNNING;
		worker->phase = WORKER_RUNNING;
	}
	LWLockRelease(&shared_table->lock);
	return entered;
}

/*
 * The worker has looked which indexes have queues.
 */
void
fpb_shared_worker_looked_over(void)
{
	SharedWorker *worker;

	LWLockAcquire(&shared_table->lock, LW_EXCLUSIVE);
	worker = worker_of(MyDatabaseId);
	if (worker != NULL)
		worker->looked_over = true;
	LWLockRelease(&shared_table->lock);
}

/*
 * There is no worker of this database any more, or none could be started.
 */
void
fpb_shared_worker_leave(FpbWorkerEnd how)
{
	SharedWorker *worker;

	LWLockAcquire(&shared_table->lock, LW_EXCLUSIVE);
	worker = worker_of(MyDatabaseId);
	if (worker != NULL)
	{
		worker->phase = WORKER_NONE;
		worker->next_try = TimestampTzPlusMilliseconds(GetCurrentTimestamp(),
													   retry_after[how]);
	}
	LWLockRelease(&shared_table->lock);
}
