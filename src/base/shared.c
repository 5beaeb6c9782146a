/*-------------------------------------------------------------------------
 *
 * base/shared.c
 *	  The table in shared memory: what the backends of a server share about
 *	  each index.
 *
 * The server makes the table when a backend first needs it, and loses it when
 * it stops.  The table has room for as many indexes as fpbtree.shared_indexes
 * says.  A backend that finds it full frees the slots of dropped indexes.  If
 * an index gets no slot all the same, nothing is counted of it, and no worker
 * sees to it.  (Temporary and unique indexes get one only if they are
 * prefetched, or looked into.)
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/table.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "catalog/pg_class.h"
#include "common/hashfn.h"
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
#include "base/shared_table.h"

/* fpbtree.shared_indexes */
static int	max_indexes = 6144;

#define MIN_INDEXES		16
#define MAX_INDEXES		100000

/* keys of slots without an index; in an index's key both OIDs are valid */
#define KEY_NONE		UINT64CONST(0)	/* never used: a search ends here */
#define KEY_GONE		UINT64CONST(1)	/* free again: a search goes on */

/*
 * How long after a search of the table for dropped indexes there is no other,
 * unless the search has been of use, in ms.
 */
#define SWEEP_INTERVAL	60000

/* of use: one in so many slots has become free */
#define SWEEP_WORTH_ONE_IN	8

/* the name of our lock, in pg_stat_activity */
#define TRANCHE			"Fpbtree"

FpbSharedTable *fpb_shared_table = NULL;

/*
 * The indexes: a hash table with linear probing.  It is searched without a
 * lock, and changed with one.
 */
static FpbShared *shared_indexes = NULL;

/*
 * Bytes of words for each page of shared_buffers, to note what tier 1 of
 * queues has.  By default that takes an eighth of shared_buffers, and has some
 * 400 entries a page.  So a word, which has room for seven, has three.
 */
#define FIRST_BYTES		(BLCKSZ / 64)

#define MIN_WORDS		(8 * 1024)
#define MAX_WORDS		(UINT64CONST(1) << 31)

/*
 * Define the setting.  It is read when the table is made.
 */
void
fpb_shared_init(void)
{
	DefineCustomIntVariable("fpbtree.shared_indexes",
							"Maximum number of indexes that have a place in shared memory.",
							"Of other indexes nothing is counted, and no worker sees to their operation queues. Takes effect when the server is started.",
							&max_indexes,
							6144, MIN_INDEXES, MAX_INDEXES, PGC_SIGHUP, 0, NULL, NULL, NULL);
}

/*
 * How many words for notes of queued keys there are, if they are to take so
 * many bytes for each page of shared_buffers.
 */
uint64
fpb_shared_nwords(uint64 buffer_bytes)
{
	return Min(Max(NBuffers * buffer_bytes / sizeof(pg_atomic_uint64), MIN_WORDS), MAX_WORDS);
}

void
fpb_shared_init_words(pg_atomic_uint64 *words, uint64 nwords)
{
	for (uint64 i = 0; i < nwords; i++)
		pg_atomic_init_u64(&words[i], 0);
}

/*
 * Initialize the shared table.
 */
static void
init_table(FPB_SEGMENT_INIT_PARAMS)
{
	FpbSharedTable *table = ptr;

	table->version = FPB_SHARED_VERSION;
	table->tranche = fpb_new_tranche(TRANCHE);
	LWLockInitialize(&table->lock, table->tranche);
	LWLockInitialize(&table->words_lock, table->tranche);
	/* at most three of four slots are used, so that a search ends soon */
	table->max_indexes = max_indexes;
	table->nslots = pg_nextpower2_32(table->max_indexes * 4 / 3);
	pg_atomic_init_u32(&table->nindexes, 0);
	table->nbusy = 0;
	pg_atomic_init_u64(&table->next_sweep, 0);
	pg_atomic_init_u32(&table->window, 0);
	pg_atomic_init_u64(&table->queued, 0);
	pg_atomic_init_u64(&table->weights, 0);
	pg_atomic_init_u64(&table->recent, 0);
	pg_atomic_init_u32(&table->lower_words.state, FPB_WORDS_NONE);
	pg_atomic_init_u64(&table->lower_words.generation, 0);
	pg_atomic_init_u32(&table->first_words.state, FPB_WORDS_READY);
	pg_atomic_init_u64(&table->first_words.generation, 0);
	table->first_words.nwords = fpb_shared_nwords(FIRST_BYTES);
	fpb_shared_init_words(table->words, table->first_words.nwords);
	memset(table->workers, 0, sizeof(table->workers));
}

/*
 * Initialize a slot that nobody uses: nothing is known of its index.
 */
static void
init_slot(FpbShared *shared)
{
	pg_atomic_init_u32(&shared->request, FPB_NOT_REQUESTED);
	pg_atomic_init_u32(&shared->working, false);
	pg_atomic_init_u32(&shared->failures, 0);
	pg_atomic_init_u32(&shared->error, 0);
	pg_atomic_init_u64(&shared->error_at, 0);
	pg_atomic_init_u64(&shared->retry_at, 0);
	for (int i = 0; i < FPB_FAILED_LEAVES; i++)
		shared->failed[i].leaf = InvalidBlockNumber;
	pg_atomic_init_u32(&shared->nfailed, 0);
	for (int i = 0; i < FPB_TIERS; i++)
	{
		pg_atomic_init_u64(&shared->noted[i], 0);
		pg_atomic_init_u32(&shared->tiers[i].pages, FPB_PAGES_UNKNOWN);
		pg_atomic_init_u64(&shared->tiers[i].entries, 0);
		pg_atomic_init_u64(&shared->tiers[i].visits, 0);
		pg_atomic_init_u64(&shared->tiers[i].moved, 0);
	}
	pg_atomic_init_u64(&shared->visits, 0);
	pg_atomic_init_u64(&shared->moved, 0);
	pg_atomic_init_u64(&shared->stalls, 0);
	pg_atomic_init_u64(&shared->longest_stall, 0);
	pg_atomic_init_u64(&shared->redo, 0);
	pg_atomic_init_u32(&shared->checkpoints, 0);
	pg_atomic_init_u64(&shared->moved_first, 0);
	pg_atomic_init_u64(&shared->moved_last, 0);
	pg_atomic_init_u32(&shared->window, 0);
	pg_atomic_init_u64(&shared->queued, 0);
	pg_atomic_init_u64(&shared->queued_before, 0);
	pg_atomic_init_u32(&shared->nblocks, 0);
	pg_atomic_init_u64(&shared->weight, 0);
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

	for (uint32 i = 0; i < fpb_shared_table->nslots; i++)
	{
		pg_atomic_init_u64(&indexes[i].key, KEY_NONE);
		init_slot(&indexes[i]);
	}
}

/*
 * Attach to the table, making it if need be.  False if there is none, in a
 * single-user server.
 *
 * Raises an error if the table is not of this version.  If each version had a
 * table of its own, each would count only some of a queue's entries, and
 * lookups would miss rows.
 */
bool
fpb_shared_attach(void)
{
	FpbSharedTable *table;
	bool		found;

	if (shared_indexes != NULL)
		return true;
	/* the registry is the postmaster's */
	if (!IsUnderPostmaster)
		return false;
	table = fpb_named_segment("fpbtree",
							  offsetof(FpbSharedTable, words) +
							  fpb_shared_nwords(FIRST_BYTES) * sizeof(pg_atomic_uint64),
							  init_table, &found);
	if (table->version != FPB_SHARED_VERSION)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("another version of fpbtree is in use in this server"),
				 errhint("Restart the server, so that all sessions use the version installed.")));
	fpb_shared_table = table;
	fpb_register_tranche(fpb_shared_table->tranche, TRANCHE);
	shared_indexes = fpb_named_segment("fpbtree indexes",
									   fpb_shared_table->nslots * sizeof(FpbShared),
									   init_indexes, &found);
	return true;
}

/* ------------------------------------------------------------------------
 * slots
 * ------------------------------------------------------------------------
 */

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
 * Search the table for a key, and set *slot to its slot.  If the key is not
 * there, returns false, and *slot is the free one that it would get.
 */
static bool
look_up(uint64 key, FpbShared **slot)
{
	uint32		hash = hash_combine(murmurhash32(database_of(key)), murmurhash32(index_of(key)));
	FpbShared  *gone = NULL;

	for (;; hash++)
	{
		FpbShared  *here = &shared_indexes[hash & (fpb_shared_table->nslots - 1)];
		uint64		found = pg_atomic_read_u64(&here->key);

		if (found == key)
		{
			/* see what add_key wrote before the key */
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
	return pg_atomic_read_u32(&fpb_shared_table->nindexes) >= fpb_shared_table->max_indexes;
}

/*
 * May the table be searched for dropped indexes now?
 */
static bool
may_sweep(void)
{
	return (TimestampTz) pg_atomic_read_u64(&fpb_shared_table->next_sweep) <= GetCurrentTimestamp() &&
		IsTransactionState();
}

/*
 * Give a key a slot, unless it has one by now.  NULL if there is no room.
 */
static FpbShared *
add_key(uint64 key)
{
	FpbShared  *shared;

	LWLockAcquire(&fpb_shared_table->lock, LW_EXCLUSIVE);
	if (!look_up(key, &shared))
	{
		bool		unused = pg_atomic_read_u64(&shared->key) == KEY_NONE;

		/* a search needs a slot that has never been used to end at */
		if (is_full() ||
			(unused && fpb_shared_table->nbusy >= fpb_shared_table->nslots / 8 * 7))
			shared = NULL;
		else
		{
			fpb_shared_table->nbusy += unused;
			pg_atomic_fetch_add_u32(&fpb_shared_table->nindexes, 1);
			init_slot(shared);
			pg_write_barrier();
			pg_atomic_write_u64(&shared->key, key);
		}
	}
	LWLockRelease(&fpb_shared_table->lock);
	return shared;
}

/*
 * Free the slot of a key, if it has one.  The table is locked exclusively.
 */
static void
remove_key(uint64 key)
{
	uint32		mask = fpb_shared_table->nslots - 1;
	FpbShared  *shared;
	uint32		at;

	if (!look_up(key, &shared))
		return;
	pg_atomic_write_u64(&shared->key, KEY_GONE);
	pg_atomic_fetch_sub_u32(&fpb_shared_table->nindexes, 1);

	/*
	 * If searches end at the next slot, they may as well end at this one, and
	 * so at those before it that are free again.
	 */
	at = shared - shared_indexes;
	if (pg_atomic_read_u64(&shared_indexes[(at + 1) & mask].key) != KEY_NONE)
		return;
	for (; pg_atomic_read_u64(&shared_indexes[at].key) == KEY_GONE; at = (at - 1) & mask)
	{
		pg_atomic_write_u64(&shared_indexes[at].key, KEY_NONE);
		fpb_shared_table->nbusy--;
	}
}

/*
 * Is an index's row in pg_class visible to a snapshot?  NULL: to one taken
 * now.
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
 * Does an index exist for any transaction, be it only for the one that has
 * just created it?  A dirty snapshot tells that, but it may miss a row that is
 * just being updated.
 */
static bool
index_exists(Relation pg_class, Oid index)
{
	SnapshotData dirty;

	/* this transaction may have dropped it, and may yet roll back */
	if (CheckRelationOidLockedByMe(index, AccessShareLock, true))
		return true;
	InitDirtySnapshot(dirty);
	return sees_index(pg_class, index, NULL) || sees_index(pg_class, index, &dirty);
}

/*
 * Free the slots of this database's dropped indexes, and of dropped databases.
 * (Other databases' catalogs can't be read.)  Returns how many these are.  The
 * caller is in a transaction, and has no page locked.
 *
 * An index that somebody has locked exists for that transaction.  So nobody
 * uses the slot of an index that does not exist, but for the worker: see
 * fpb_shared_lock_request.
 */
static uint32
free_dropped(void)
{
	uint32		nslots = fpb_shared_table->nslots;
	uint64	   *gone = palloc(nslots * sizeof(uint64));
	uint32		ngone = 0;
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

	LWLockAcquire(&fpb_shared_table->lock, LW_EXCLUSIVE);
	for (uint32 i = 0; i < ngone; i++)
		remove_key(gone[i]);
	LWLockRelease(&fpb_shared_table->lock);
	pfree(gone);
	ereport(DEBUG1,
			(errmsg_internal("fpbtree: %u slots of shared memory have become free", ngone)));
	return ngone;
}

/*
 * The table is full: free the slots of dropped indexes.  If that frees few,
 * the log says that the table is full.  The caller has no page locked.
 */
static void
sweep(void)
{
	bool		worthwhile = free_dropped() >= fpb_shared_table->max_indexes / SWEEP_WORTH_ONE_IN;

	if (!worthwhile)
		pg_atomic_write_u64(&fpb_shared_table->next_sweep,
							TimestampTzPlusMilliseconds(GetCurrentTimestamp(), SWEEP_INTERVAL));
	if (!worthwhile)
		ereport(LOG,
				(errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
				 errmsg("shared memory for fpbtree indexes is full"),
				 errdetail("It has room for %u indexes. Of others nothing is counted, and no worker sees to their operation queues.",
						   fpb_shared_table->max_indexes),
				 errhint("Consider increasing the configuration parameter \"%s\".",
						 "fpbtree.shared_indexes")));
}

/*
 * The slot of an index of this database, which is made if need be.  NULL if
 * there is no room, or no table.  The caller has the index locked, but no
 * page.
 */
FpbShared *
fpb_shared_of(Oid index)
{
	FpbShared  *shared;

	if (!fpb_shared_attach())
		return NULL;
	if (look_up(fpb_shared_key(index), &shared))
		return shared;
	if (is_full() && !may_sweep())
		return NULL;
	shared = add_key(fpb_shared_key(index));
	if (shared == NULL && may_sweep())
	{
		sweep();
		shared = add_key(fpb_shared_key(index));
	}
	return shared;
}

/*
 * The index in slot number i, of whatever database; NULL if there is none.
 */
FpbShared *
fpb_shared_slot(uint32 i)
{
	FpbShared  *shared = &shared_indexes[i];

	return is_index(pg_atomic_read_u64(&shared->key)) ? shared : NULL;
}

/*
 * Find the next index of this database from *position on, which is 0 at first
 * and is moved past it.  NULL if there is none.
 */
FpbShared *
fpb_shared_next(int *position, Oid *index)
{
	if (!fpb_shared_attach())
		return NULL;
	while (*position < fpb_shared_table->nslots)
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
 * counts
 * ------------------------------------------------------------------------
 */

/*
 * What is shared of a tier.
 */
FpbSharedTier *
fpb_shared_tier(FpbShared *shared, int tier)
{
	Assert(tier > FPB_MAIN_TREE && tier < FPB_TREES);
	return &shared->tiers[tier - 1];
}

/*
 * How many pages the tiers have that were seen last, and, in *entries, how
 * many entries; FPB_PAGES_UNKNOWN if none has been seen.
 */
uint32
fpb_shared_queue_pages(FpbShared *shared, int64 *entries)
{
	uint32		pages = FPB_PAGES_UNKNOWN;

	*entries = 0;
	for (int tier = 1; tier < FPB_TREES; tier++)
	{
		FpbSharedTier *here = fpb_shared_tier(shared, tier);
		uint32		n = pg_atomic_read_u32(&here->pages);

		if (n == FPB_PAGES_UNKNOWN)
			continue;
		pages = pages == FPB_PAGES_UNKNOWN ? n : pages + n;
		*entries += Max((int64) pg_atomic_read_u64(&here->entries), 0);
	}
	return pages;
}

/*
 * How many entries the tiers of all indexes have that are noted in the same
 * words as those of this tier, as far as that is known.  The caller is in a
 * transaction, and has no page locked.
 */
uint64
fpb_shared_noted_entries(int tier)
{
	uint64		sum = 0;

	(void) free_dropped();
	for (uint32 i = 0; i < fpb_shared_table->nslots; i++)
	{
		FpbShared  *shared = fpb_shared_slot(i);

		for (int other = 1; shared != NULL && other < FPB_TREES; other++)
		{
			FpbSharedTier *here = fpb_shared_tier(shared, other);

			if ((other == 1) == (tier == 1) && pg_atomic_read_u32(&here->pages) != FPB_PAGES_UNKNOWN)
				sum += Max((int64) pg_atomic_read_u64(&here->entries), 0);
		}
	}
	return sum;
}

/*
 * Count a visit to a main leaf, to which the visit has moved so many entries.
 */
static void
count_visit(FpbShared *shared, int moved)
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
 * Count a visit to a leaf that has moved so many entries there, from one tree
 * to another.
 */
void
fpb_shared_count_move(FpbShared *shared, int from, int to, int moved)
{
	pg_atomic_fetch_sub_u64(&fpb_shared_tier(shared, from)->entries, moved);
	if (to == FPB_MAIN_TREE)
		count_visit(shared, moved);
	else
	{
		FpbSharedTier *tier = fpb_shared_tier(shared, to);

		pg_atomic_fetch_add_u64(&tier->entries, moved);
		pg_atomic_fetch_add_u64(&tier->visits, 1);
		pg_atomic_fetch_add_u64(&tier->moved, moved);
	}
}

/*
 * How many entries move between one checkpoint and the next, on average; -1 if
 * that is not known yet.
 */
double
fpb_shared_checkpoint_moved(FpbShared *shared)
{
	uint32		n = pg_atomic_read_u32(&shared->checkpoints);

	if (n < 2)
		return -1;
	/* a backend may have been held up before it wrote the first or the last */
	return Max((double) pg_atomic_read_u64(&shared->moved_last) -
			   (double) pg_atomic_read_u64(&shared->moved_first), 0) / (n - 1);
}
