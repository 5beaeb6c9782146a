/*-------------------------------------------------------------------------
 *
 * fpb_ahead_stats.c
 *	  The settings of reading ahead, and counts of what has come of it.
 *
 * The counts are kept for each index in shared memory that the server makes
 * when someone first needs it.  They are lost when it stops.  The table has
 * room for as many indexes as anyone will look at; those beyond are not
 * counted.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "miscadmin.h"
#include "port/atomics.h"
#include "storage/dsm_registry.h"
#include "storage/lwlock.h"
#include "utils/guc.h"

#include "fpb_ahead.h"

/* -1: by effective_io_concurrency */
int			fpb_ahead_distance = -1;
int			fpb_ahead_heap_distance = -1;
int			fpb_pio_max = -1;

#define MAX_COUNTED		1024	/* indexes; a power of two */

/* counts of index pages, and of heap pages */
#define NKINDS	2

typedef struct SharedCounts
{
	Oid			database;		/* not changed once index is set */
	pg_atomic_uint32 index;		/* InvalidOid: free */
	pg_atomic_uint64 prefetched[NKINDS];
	pg_atomic_uint64 used[NKINDS];
	pg_atomic_uint64 wasted[NKINDS];
} SharedCounts;

/* a hash table with linear probing from which nothing is removed */
typedef struct SharedTable
{
	LWLock		lock;			/* held to add an index */
	int			tranche;
	SharedCounts counts[MAX_COUNTED];
} SharedTable;

static SharedTable *shared_table = NULL;

/*
 * Define the settings.
 */
void
fpb_ahead_init(void)
{
	DefineCustomIntVariable("fpbtree.prefetch_distance",
							"Pages of an fpbtree index that a scan reads ahead at most.",
							"0 reads none ahead; -1 reads as many at a time as effective_io_concurrency of the index's tablespace says.",
							&fpb_ahead_distance,
							-1, -1, FPB_MAX_DISTANCE,
							PGC_USERSET, 0,
							NULL, NULL, NULL);
	DefineCustomIntVariable("fpbtree.heap_prefetch_distance",
							"Pages of the table that a scan of an fpbtree index reads ahead at most.",
							"0 reads none ahead; -1 reads as many at a time as effective_io_concurrency of the table's tablespace says.",
							&fpb_ahead_heap_distance,
							-1, -1, FPB_MAX_DISTANCE,
							PGC_USERSET, 0,
							NULL, NULL, NULL);
	DefineCustomIntVariable("fpbtree.pio_max",
							"Pages of an fpbtree index that a search for many keys reads at a time.",
							"0 reads one at a time; -1 reads as many as effective_io_concurrency of the index's tablespace says.",
							&fpb_pio_max,
							-1, -1, FPB_MAX_DISTANCE,
							PGC_USERSET, 0,
							NULL, NULL, NULL);
}

/*
 * Initialize the shared table.
 */
static void
init_table(void *ptr)
{
	SharedTable *table = ptr;

	table->tranche = LWLockNewTrancheId();
	LWLockInitialize(&table->lock, table->tranche);
	for (int i = 0; i < MAX_COUNTED; i++)
	{
		SharedCounts *counts = &table->counts[i];

		counts->database = InvalidOid;
		pg_atomic_init_u32(&counts->index, InvalidOid);
		for (int kind = 0; kind < NKINDS; kind++)
		{
			pg_atomic_init_u64(&counts->prefetched[kind], 0);
			pg_atomic_init_u64(&counts->used[kind], 0);
			pg_atomic_init_u64(&counts->wasted[kind], 0);
		}
	}
}

/*
 * The entry of an index of this database, or the free one where it would be;
 * NULL if the table is full.
 */
static SharedCounts *
look_up(Oid index)
{
	uint32		hash = hash_combine(murmurhash32(MyDatabaseId), murmurhash32(index));

	for (int i = 0; i < MAX_COUNTED; i++)
	{
		SharedCounts *counts = &shared_table->counts[(hash + i) % MAX_COUNTED];
		Oid			found = pg_atomic_read_u32(&counts->index);

		if (!OidIsValid(found))
			return counts;
		pg_read_barrier();
		if (found == index && counts->database == MyDatabaseId)
			return counts;
	}
	return NULL;
}

/*
 * The shared counts of an index, made if need be; NULL if there are none.
 */
static SharedCounts *
shared_counts(Oid index)
{
	SharedCounts *counts;

	if (shared_table == NULL)
	{
		bool		found;

		/* the registry is the postmaster's */
		if (!IsUnderPostmaster)
			return NULL;
		shared_table = GetNamedDSMSegment("fpbtree prefetch counts",
										  sizeof(SharedTable), init_table, &found);
		LWLockRegisterTranche(shared_table->tranche, "FpbtreePrefetchCounts");
	}

	counts = look_up(index);
	if (counts != NULL && !OidIsValid(pg_atomic_read_u32(&counts->index)))
	{
		LWLockAcquire(&shared_table->lock, LW_EXCLUSIVE);
		counts = look_up(index);	/* somebody may have been faster */
		if (counts != NULL && !OidIsValid(pg_atomic_read_u32(&counts->index)))
		{
			counts->database = MyDatabaseId;
			pg_write_barrier();
			pg_atomic_write_u32(&counts->index, index);
		}
		LWLockRelease(&shared_table->lock);
	}
	return counts;
}

/*
 * Add counts of pages of the index, or of its table, to the shared ones, and
 * set them to zero.
 */
void
fpb_ahead_report(Relation index, bool heap, FpbAheadCounts *counts)
{
	SharedCounts *shared;

	if (counts->prefetched == 0 && counts->used == 0 && counts->wasted == 0)
		return;
	shared = shared_counts(RelationGetRelid(index));
	if (shared != NULL)
	{
		pg_atomic_fetch_add_u64(&shared->prefetched[heap], counts->prefetched);
		pg_atomic_fetch_add_u64(&shared->used[heap], counts->used);
		pg_atomic_fetch_add_u64(&shared->wasted[heap], counts->wasted);
	}
	memset(counts, 0, sizeof(*counts));
}

/*
 * The counts of an index since the server was started: of its own pages, or of
 * those of its table.
 */
void
fpb_ahead_total(Relation index, bool heap, FpbAheadCounts *counts)
{
	SharedCounts *shared = shared_counts(RelationGetRelid(index));

	memset(counts, 0, sizeof(*counts));
	if (shared == NULL)
		return;
	counts->prefetched = pg_atomic_read_u64(&shared->prefetched[heap]);
	counts->used = pg_atomic_read_u64(&shared->used[heap]);
	counts->wasted = pg_atomic_read_u64(&shared->wasted[heap]);
}
