/*-------------------------------------------------------------------------
 *
 * prefetch/stats.c
 *	  The settings of prefetch, and counts of what has come of it.
 *
 * The counts are kept for each index in shared memory (base/shared.c), and
 * lost when the server stops.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/guc.h"
#include "utils/rel.h"

#include "base/shared.h"
#include "prefetch/prefetch.h"

/* -1: by effective_io_concurrency */
int			fpb_prefetch_distance = -1;
int			fpb_prefetch_heap_distance = -1;
int			fpb_pio_max = -1;

int			fpb_prefetch_method = FPB_PREFETCH_AUTO;

static const struct config_enum_entry prefetch_methods[] =
{
	{"auto", FPB_PREFETCH_AUTO, false},
	{"aio", FPB_PREFETCH_AIO, false},
	{NULL, 0, false}
};

/*
 * Define the settings.
 */
void
fpb_prefetch_init(void)
{
	DefineCustomIntVariable("fpbtree.prefetch_distance",
							"Pages of an fpbtree index that a scan prefetches at most.",
							"0 prefetches none; -1 reads as many at a time as effective_io_concurrency of the index's tablespace says.",
							&fpb_prefetch_distance,
							-1, -1, FPB_MAX_DISTANCE,
							PGC_USERSET, 0,
							NULL, NULL, NULL);
	DefineCustomIntVariable("fpbtree.heap_prefetch_distance",
							"Pages of the table that a scan of an fpbtree index prefetches at most.",
							"0 prefetches none; -1 reads as many at a time as effective_io_concurrency of the table's tablespace says.",
							&fpb_prefetch_heap_distance,
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
	DefineCustomEnumVariable("fpbtree.prefetch_method",
							 "How pages are prefetched.",
							 "auto advises the kernel where I/O is buffered, and uses the server's asynchronous I/O under direct I/O; aio uses that wherever there is one.",
							 &fpb_prefetch_method,
							 FPB_PREFETCH_AUTO, prefetch_methods,
							 PGC_USERSET, 0,
							 NULL, NULL, NULL);
}

/*
 * Add counts of pages of the index, or of its table, to the shared ones, and
 * set them to zero.
 */
void
fpb_prefetch_report(Relation index, bool heap, FpbPrefetchCounts *counts)
{
	FpbShared  *shared;

	if (counts->prefetched == 0 && counts->used == 0 && counts->wasted == 0)
		return;
	shared = fpb_shared_of(RelationGetRelid(index));
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
fpb_prefetch_total(Relation index, bool heap, FpbPrefetchCounts *counts)
{
	FpbShared  *shared = fpb_shared_of(RelationGetRelid(index));

	memset(counts, 0, sizeof(*counts));
	if (shared == NULL)
		return;
	counts->prefetched = pg_atomic_read_u64(&shared->prefetched[heap]);
	counts->used = pg_atomic_read_u64(&shared->used[heap]);
	counts->wasted = pg_atomic_read_u64(&shared->wasted[heap]);
}
