/*-------------------------------------------------------------------------
 *
 * build/heap_scan.c
 *	  Scanning a table quickly for a build.
 *
 * A build indexes the rows that anybody may still see, not only those of one
 * snapshot.  To find out, heapam locks the page and looks at the transactions
 * of each row, which is most of the time that a scan takes.
 *
 * But if the visibility map says that all rows in a page are visible to
 * everybody, then any MVCC snapshot sees just the right rows in it.  No row is
 * dead to some only, and none is being inserted or deleted, because our lock
 * on the table forbids that until we are done.  With such a snapshot heapam
 * looks at a page once.  So the build scans the table in ranges of pages that
 * are all visible, and ranges of others.  Such scans begin where they are told
 * to; hence a build does not join a scan of the table that is under way.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/tableam.h"
#include "access/visibilitymap.h"
#include "access/xact.h"
#include "catalog/catalog.h"
#include "commands/progress.h"
#include "miscadmin.h"
#include "pgstat.h"

#include "build/build.h"

/*
 * Pages that a participant takes at once: few enough that all participants
 * finish at about the same time, and so many that they are worth a scan.
 */
#define FPB_CHUNK_MIN		64
#define FPB_CHUNK_MAX		2048
#define FPB_CHUNKS			64

/* a range of so many visible pages is worth a scan of its own */
#define FPB_VISIBLE_MIN		16

/*
 * Should a table be scanned in ranges?
 *
 * Not in a concurrent build, which uses one MVCC snapshot for all rows anyway.
 * Not a catalog, whose rows may be in progress under a lock like ours.  Not in
 * a serializable transaction: scans with a snapshot would leave predicate
 * locks, and fail because of those of others.
 */
bool
fpb_scans_ranges(Relation heap, bool concurrent)
{
	return !concurrent &&
		heap->rd_tableam == GetHeapamTableAmRoutine() &&
		!IsSystemRelation(heap) &&
		!IsolationIsSerializable();
}

/*
 * All of a table is still to be scanned.
 */
void
fpb_ranges_init(FpbRanges *ranges, Relation heap)
{
	ranges->nblocks = RelationGetNumberOfBlocks(heap);
	ranges->chunk = ranges->nblocks / FPB_CHUNKS;
	ranges->chunk = Min(Max(ranges->chunk, FPB_CHUNK_MIN), FPB_CHUNK_MAX);
	pg_atomic_init_u32(&ranges->nchunks, 0);
}

/*
 * Take the next chunk: sets its first page and returns how many it has, 0 if
 * there are no more.
 */
static BlockNumber
fpb_ranges_take(FpbRanges *ranges, BlockNumber *start)
{
	uint64		first;

	/* nobody takes more than one chunk too many, so this can't wrap around */
	first = (uint64) pg_atomic_fetch_add_u32(&ranges->nchunks, 1) *
		ranges->chunk;
	if (first >= ranges->nblocks)
		return 0;
	*start = (BlockNumber) first;
	return Min(ranges->chunk, ranges->nblocks - *start);
}

/*
 * The number of pages from i on that are like page i: all visible, or none.
 */
static BlockNumber
fpb_run_length(const bool *pages, BlockNumber i, BlockNumber npages)
{
	BlockNumber j = i + 1;

	while (j < npages && pages[j] == pages[i])
		j++;
	return j - i;
}

/*
 * Scan some pages of the table.
 */
static double
fpb_scan_range(FpbBuild *build, IndexInfo *indexInfo, BlockNumber start,
			   BlockNumber npages, bool visible)
{
	double		reltuples;

	/* the way to ask for an MVCC snapshot is to pose as a concurrent build */
	indexInfo->ii_Concurrent = visible;
	reltuples = table_index_build_range_scan(build->heap, build->index,
											 indexInfo, false, false, false,
											 start, npages,
											 fpb_build_callback, build, NULL);
	indexInfo->ii_Concurrent = false;
	return reltuples;
}

/*
 * Scan a chunk of the table: ranges of visible pages, if they are long, and
 * what lies between them.
 */
static double
fpb_scan_chunk(FpbBuild *build, IndexInfo *indexInfo, BlockNumber start,
			   BlockNumber npages, Buffer *vmbuffer)
{
	bool		visible[FPB_CHUNK_MAX];
	BlockNumber from = 0;		/* pages before it have been scanned */
	BlockNumber i = 0;
	double		reltuples = 0;

	for (i = 0; i < npages; i++)
		visible[i] = VM_ALL_VISIBLE(build->heap, start + i, vmbuffer);

	i = 0;
	while (i < npages)
	{
		BlockNumber n = fpb_run_length(visible, i, npages);

		if (visible[i] && n >= FPB_VISIBLE_MIN)
		{
			if (from < i)
				reltuples += fpb_scan_range(build, indexInfo, start + from,
											i - from, false);
			reltuples += fpb_scan_range(build, indexInfo, start + i, n, true);
			from = i + n;
		}
		i += n;
	}
	if (from < npages)
		reltuples += fpb_scan_range(build, indexInfo, start + from,
									npages - from, false);
	return reltuples;
}

/*
 * Scan what is left of the table, together with the other participants, if
 * there are any.  Returns the number of live rows that this one has scanned.
 */
double
fpb_scan_ranges(FpbBuild *build, IndexInfo *indexInfo, FpbRanges *ranges,
				bool progress)
{
	Buffer		vmbuffer = InvalidBuffer;
	BlockNumber start;
	BlockNumber npages;
	double		reltuples = 0;

	if (progress)
		pgstat_progress_update_param(PROGRESS_SCAN_BLOCKS_TOTAL,
									 ranges->nblocks);
	while ((npages = fpb_ranges_take(ranges, &start)) > 0)
	{
		reltuples += fpb_scan_chunk(build, indexInfo, start, npages, &vmbuffer);
		if (progress)
			pgstat_progress_update_param(PROGRESS_SCAN_BLOCKS_DONE,
										 start + npages);
	}
	if (BufferIsValid(vmbuffer))
		ReleaseBuffer(vmbuffer);
	return reltuples;
}
