/*-------------------------------------------------------------------------
 *
 * build/parallel.c
 *	  Scanning the table and sorting entries in several processes.
 *
 * The process that builds the index (the leader) launches workers, and all of
 * them, itself included, scan parts of the table and sort the entries found.
 * When the last has finished, the leader merges what they have sorted and
 * loads it into pages alone.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/nbtree.h"
#include "access/parallel.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "catalog/index.h"
#include "commands/progress.h"
#include "executor/instrument.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "storage/condition_variable.h"
#include "storage/spin.h"
#include "tcop/tcopprot.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/wait_event.h"

#include "build/build.h"

/* keys of what is in the shared memory of a parallel build */
#define FPB_KEY_SHARED			UINT64CONST(0xFB00000000000001)
#define FPB_KEY_SCAN			UINT64CONST(0xFB00000000000002)
#define FPB_KEY_SORT			UINT64CONST(0xFB00000000000003)
#define FPB_KEY_DEAD_SORT		UINT64CONST(0xFB00000000000004)
#define FPB_KEY_QUERY_TEXT		UINT64CONST(0xFB00000000000005)
#define FPB_KEY_WAL_USAGE		UINT64CONST(0xFB00000000000006)
#define FPB_KEY_BUFFER_USAGE	UINT64CONST(0xFB00000000000007)

/* What the participants share. */
typedef struct FpbBuildShared
{
	/* set by the leader before any worker starts */
	Oid			heap;
	Oid			index;
	bool		unique;
	bool		nulls_not_distinct;
	FpbDecision decision;
	bool		concurrent;
	bool		by_ranges;		/* scan ranges, not a parallel scan */
	int			nparticipants;	/* that have been asked for, with the leader */
	int64		queryid;

	/* the leader waits here for the others to finish */
	ConditionVariable finished;

	/* sums over the participants that have finished, under the mutex */
	slock_t		mutex;
	int			nfinished;
	double		reltuples;
	double		indtuples;
	bool		havedead;
	bool		broken_hot_chain;

	FpbRanges	ranges;			/* if by_ranges */
} FpbBuildShared;

/* What a participant works with: the chunks of shared memory. */
typedef struct FpbBuildChunks
{
	FpbBuildShared *shared;
	ParallelTableScanDesc scan;
	FpbSortShared *sort;
	FpbSortShared *dead_sort;	/* unique indexes only, else NULL */
} FpbBuildChunks;

/* What the leader knows of a parallel build. */
struct FpbParallelBuild
{
	ParallelContext *pcxt;
	Snapshot	snapshot;		/* registered if it is an MVCC one */
	int			nparticipants;	/* that have started, with the leader */
	FpbBuildChunks chunks;
	WalUsage   *wal_usage;
	BufferUsage *buffer_usage;
};

/*
 * One participant's part: scan, sort, and leave the results where the leader
 * finds them.  Each gets its share of the memory.  Only the leader reports
 * progress.
 */
static void
fpb_participate(FpbBuild *build, const FpbBuildChunks *chunks, int nparticipants,
				bool progress)
{
	FpbBuildShared *shared = chunks->shared;
	IndexInfo  *indexInfo = BuildIndexInfo(build->index);
	int			memory = Max(maintenance_work_mem / nparticipants, 64);
	double		reltuples;

	build->sort = fpb_sort_begin(&build->ix, memory,
								 fpb_expected_rows(build->heap) / nparticipants,
								 chunks->sort, 0);
	if (chunks->dead_sort)
		build->dead = fpb_sort_begin(&build->ix, Min(memory, work_mem), 0,
									 chunks->dead_sort, 0);

	indexInfo->ii_Concurrent = shared->concurrent;
	if (shared->by_ranges)
		reltuples = fpb_scan_ranges(build, indexInfo, &shared->ranges,
									progress);
	else
		reltuples = table_index_build_scan(build->heap, build->index,
										   indexInfo, true, progress,
										   fpb_build_callback, build,
										   fpb_table_beginscan_parallel(build->heap,
																		chunks->scan));

	if (progress)
		pgstat_progress_update_param(PROGRESS_CREATEIDX_SUBPHASE,
									 PROGRESS_BTREE_PHASE_PERFORMSORT_1);
	fpb_sort_perform(build->sort);
	if (build->dead)
	{
		if (progress)
			pgstat_progress_update_param(PROGRESS_CREATEIDX_SUBPHASE,
										 PROGRESS_BTREE_PHASE_PERFORMSORT_2);
		fpb_sort_perform(build->dead);
	}

	SpinLockAcquire(&shared->mutex);
	shared->nfinished++;
	shared->reltuples += reltuples;
	shared->indtuples += build->indtuples;
	shared->havedead |= build->havedead;
	shared->broken_hot_chain |= indexInfo->ii_BrokenHotChain;
	SpinLockRelease(&shared->mutex);
	ConditionVariableSignal(&shared->finished);

	fpb_sort_end(build->sort);
	build->sort = NULL;
	if (build->dead)
		fpb_sort_end(build->dead);
	build->dead = NULL;
}

/*
 * Entry point of a worker process.
 */
void
fpb_parallel_build_main(dsm_segment *seg, shm_toc *toc)
{
	FpbBuildShared *shared = shm_toc_lookup(toc, FPB_KEY_SHARED, false);
	FpbBuildChunks chunks = {shared};
	WalUsage   *wal_usage;
	BufferUsage *buffer_usage;
	LOCKMODE	heap_lock;
	LOCKMODE	index_lock;
	FpbBuild	build;
	Relation	heap;
	Relation	index;

	debug_query_string = shm_toc_lookup(toc, FPB_KEY_QUERY_TEXT, true);
	pgstat_report_activity(STATE_RUNNING, debug_query_string);
	pgstat_report_query_id(shared->queryid, false);

	/* the locks that the leader's command holds */
	heap_lock = shared->concurrent ? ShareUpdateExclusiveLock : ShareLock;
	index_lock = shared->concurrent ? RowExclusiveLock : AccessExclusiveLock;
	heap = table_open(shared->heap, heap_lock);
	index = index_open(shared->index, index_lock);

	fpb_build_init(&build, heap, index, shared->unique,
				   shared->nulls_not_distinct, &shared->decision);
	chunks.scan = shm_toc_lookup(toc, FPB_KEY_SCAN, false);
	chunks.sort = shm_toc_lookup(toc, FPB_KEY_SORT, false);
	fpb_sort_attach_shared(&build.ix, chunks.sort, seg);
	if (shared->unique)
	{
		chunks.dead_sort = shm_toc_lookup(toc, FPB_KEY_DEAD_SORT, false);
		fpb_sort_attach_shared(&build.ix, chunks.dead_sort, seg);
	}

	InstrStartParallelQuery();
	fpb_participate(&build, &chunks, shared->nparticipants, false);
	buffer_usage = shm_toc_lookup(toc, FPB_KEY_BUFFER_USAGE, false);
	wal_usage = shm_toc_lookup(toc, FPB_KEY_WAL_USAGE, false);
	InstrEndParallelQuery(&buffer_usage[ParallelWorkerNumber],
						  &wal_usage[ParallelWorkerNumber]);

	index_close(index, index_lock);
	table_close(heap, heap_lock);
}

/*
 * Reserve a chunk of shared memory.
 */
static void
fpb_estimate(ParallelContext *pcxt, Size size)
{
	shm_toc_estimate_chunk(&pcxt->estimator, size);
	shm_toc_estimate_keys(&pcxt->estimator, 1);
}

/*
 * Take a chunk that has been reserved; processes find it by the key.
 */
static void *
fpb_allocate(ParallelContext *pcxt, uint64 key, Size size)
{
	void	   *chunk = shm_toc_allocate(pcxt->toc, size);

	shm_toc_insert(pcxt->toc, key, chunk);
	return chunk;
}

/*
 * Make the sorts' shared memory ready for so many participants.
 */
static FpbSortShared *
fpb_allocate_sort(FpbBuild *build, ParallelContext *pcxt, uint64 key,
				  int nparticipants)
{
	Size		size = fpb_sort_estimate_shared(&build->ix, nparticipants);
	FpbSortShared *sort = fpb_allocate(pcxt, key, size);

	fpb_sort_initialize_shared(&build->ix, sort, nparticipants, pcxt->seg);
	return sort;
}

/*
 * End what fpb_parallel_launch has begun: wait for the workers, and leave
 * parallel mode.
 */
static void
fpb_parallel_shutdown(FpbParallelBuild *parallel)
{
	ParallelContext *pcxt = parallel->pcxt;

	WaitForParallelWorkersToFinish(pcxt);
	for (int i = 0; i < pcxt->nworkers_launched; i++)
		InstrAccumParallelQuery(&parallel->buffer_usage[i],
								&parallel->wal_usage[i]);
	if (IsMVCCSnapshot(parallel->snapshot))
		UnregisterSnapshot(parallel->snapshot);
	DestroyParallelContext(pcxt);
	ExitParallelMode();
}

/*
 * Enter parallel mode, set up shared memory and launch workers.  If there is
 * no worker to be had, undoes all of that and returns NULL.
 */
static FpbParallelBuild *
fpb_parallel_launch(FpbBuild *build, bool concurrent, int nworkers)
{
	FpbParallelBuild *parallel = palloc0(sizeof(FpbParallelBuild));
	int			nparticipants = nworkers + 1;
	Size		sort_size;
	Size		scan_size;
	Size		query_size = 0;
	ParallelContext *pcxt;
	FpbBuildShared *shared;

	EnterParallelMode();
	pcxt = CreateParallelContext("fpbtree", "fpb_parallel_build_main",
								 nworkers);
	parallel->pcxt = pcxt;

	/*
	 * A concurrent build indexes what one snapshot sees; others all rows that
	 * anybody may see.
	 */
	parallel->snapshot = concurrent ?
		RegisterSnapshot(GetTransactionSnapshot()) : SnapshotAny;

	sort_size = fpb_sort_estimate_shared(&build->ix, nparticipants);
	scan_size = table_parallelscan_estimate(build->heap, parallel->snapshot);
	fpb_estimate(pcxt, sizeof(FpbBuildShared));
	fpb_estimate(pcxt, scan_size);
	fpb_estimate(pcxt, sort_size);
	if (build->unique)
		fpb_estimate(pcxt, sort_size);
	fpb_estimate(pcxt, mul_size(sizeof(WalUsage), pcxt->nworkers));
	fpb_estimate(pcxt, mul_size(sizeof(BufferUsage), pcxt->nworkers));
	if (debug_query_string)
	{
		query_size = strlen(debug_query_string) + 1;
		fpb_estimate(pcxt, query_size);
	}

	InitializeParallelDSM(pcxt);
	if (pcxt->seg == NULL)
	{
		if (IsMVCCSnapshot(parallel->snapshot))
			UnregisterSnapshot(parallel->snapshot);
		DestroyParallelContext(pcxt);
		ExitParallelMode();
		return NULL;
	}

	shared = fpb_allocate(pcxt, FPB_KEY_SHARED, sizeof(FpbBuildShared));
	memset(shared, 0, sizeof(FpbBuildShared));
	shared->heap = RelationGetRelid(build->heap);
	shared->index = RelationGetRelid(build->index);
	shared->unique = build->unique;
	shared->nulls_not_distinct = build->nulls_not_distinct;
	shared->decision = build->decision;
	shared->concurrent = concurrent;
	shared->by_ranges = fpb_scans_ranges(build->heap, concurrent);
	if (shared->by_ranges)
		fpb_ranges_init(&shared->ranges, build->heap);
	shared->nparticipants = nparticipants;
	shared->queryid = pgstat_get_my_query_id();
	ConditionVariableInit(&shared->finished);
	SpinLockInit(&shared->mutex);
	parallel->chunks.shared = shared;

	parallel->chunks.scan = fpb_allocate(pcxt, FPB_KEY_SCAN, scan_size);
	table_parallelscan_initialize(build->heap, parallel->chunks.scan,
								  parallel->snapshot);
	parallel->chunks.sort = fpb_allocate_sort(build, pcxt, FPB_KEY_SORT,
											  nparticipants);
	if (build->unique)
		parallel->chunks.dead_sort = fpb_allocate_sort(build, pcxt, FPB_KEY_DEAD_SORT,
													   nparticipants);
	parallel->wal_usage = fpb_allocate(pcxt, FPB_KEY_WAL_USAGE,
									   mul_size(sizeof(WalUsage),
												pcxt->nworkers));
	parallel->buffer_usage = fpb_allocate(pcxt, FPB_KEY_BUFFER_USAGE,
										  mul_size(sizeof(BufferUsage),
												   pcxt->nworkers));
	if (query_size > 0)
		memcpy(fpb_allocate(pcxt, FPB_KEY_QUERY_TEXT, query_size),
			   debug_query_string, query_size);

	LaunchParallelWorkers(pcxt);
	if (pcxt->nworkers_launched == 0)
	{
		fpb_parallel_shutdown(parallel);
		return NULL;
	}
	parallel->nparticipants = pcxt->nworkers_launched + 1;
	return parallel;
}

/*
 * Begin a parallel build and do the leader's part of the scan.  Returns false
 * if there are no workers: then the build must be a serial one.
 *
 * If it returns true, fpb_parallel_scan must be called next, and
 * fpb_parallel_end when the sorts are no longer needed.
 */
bool
fpb_parallel_begin(FpbBuild *build, bool concurrent, int nworkers)
{
	FpbParallelBuild *parallel;
	FpbBuild	part;

	parallel = fpb_parallel_launch(build, concurrent, nworkers);
	if (parallel == NULL)
		return false;
	build->parallel = parallel;

	fpb_build_init(&part, build->heap, build->index, build->unique,
				   build->nulls_not_distinct, &build->decision);
	fpb_participate(&part, &parallel->chunks, parallel->nparticipants, true);
	MemoryContextDelete(part.rowcxt);

	/* A worker that fails to start must not keep us waiting for ever. */
	WaitForParallelWorkersToAttach(parallel->pcxt);
	return true;
}

/*
 * Wait until the whole table has been scanned, and begin the sorts that merge
 * the participants'.  Returns the number of live rows.
 */
double
fpb_parallel_scan(FpbBuild *build, IndexInfo *indexInfo)
{
	FpbParallelBuild *parallel = build->parallel;
	FpbBuildShared *shared = parallel->chunks.shared;
	double		reltuples = 0;
	bool		finished = false;

	for (;;)
	{
		SpinLockAcquire(&shared->mutex);
		if (shared->nfinished == parallel->nparticipants)
		{
			finished = true;
			reltuples = shared->reltuples;
			build->indtuples = shared->indtuples;
			build->havedead = shared->havedead;
			if (shared->broken_hot_chain)
				indexInfo->ii_BrokenHotChain = true;
		}
		SpinLockRelease(&shared->mutex);
		if (finished)
			break;
		ConditionVariableSleep(&shared->finished,
							   WAIT_EVENT_PARALLEL_CREATE_INDEX_SCAN);
	}
	ConditionVariableCancelSleep();

	/* The participants have freed their memory, so all of it can be used. */
	build->sort = fpb_sort_begin(&build->ix, maintenance_work_mem, 0,
								 parallel->chunks.sort, parallel->nparticipants);
	if (build->unique)
		build->dead = fpb_sort_begin(&build->ix, work_mem, 0,
									 parallel->chunks.dead_sort,
									 parallel->nparticipants);
	return reltuples;
}

/*
 * End a parallel build.
 */
void
fpb_parallel_end(FpbBuild *build)
{
	fpb_parallel_shutdown(build->parallel);
	build->parallel = NULL;
}
