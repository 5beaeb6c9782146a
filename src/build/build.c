/*-------------------------------------------------------------------------
 *
 * build/build.c
 *	  Building an index from the rows of its table.
 *
 * A build scans the table's rows and sorts their entries (build/sort.c), in
 * several processes if the planner thinks it worth while (build/parallel.c).
 * Then it loads the sorted entries into pages from left to right, on all
 * levels of the tree at once (build/load.c).  Each level has one page under
 * construction.  When a page other than the first is begun, the level above
 * gets an entry for it.  A page gets its block number when it is begun,
 * because its left sibling and its parent must name it.
 *
 * Pages bypass the buffer cache: storage/bulk_write.h writes and logs them.
 *
 * The phases reported in pg_stat_progress_create_index are btree's.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/nbtree.h"
#include "access/tableam.h"
#include "catalog/pg_opclass.h"
#include "commands/progress.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/syscache.h"

#include "build/build.h"

/*
 * Scan the table and put its rows' entries in the sorts.  Returns the number
 * of live rows.
 */
static double
fpb_build_scan(FpbBuild *build, IndexInfo *indexInfo)
{
	const int	progress_index[] = {
		PROGRESS_CREATEIDX_TUPLES_TOTAL,
		PROGRESS_SCAN_BLOCKS_TOTAL,
		PROGRESS_SCAN_BLOCKS_DONE
	};
	int64		progress_vals[] = {0, 0, 0};
	bool		concurrent = indexInfo->ii_Concurrent;
	FpbRanges	ranges;
	double		reltuples;

	pgstat_progress_update_param(PROGRESS_CREATEIDX_SUBPHASE,
								 PROGRESS_BTREE_PHASE_INDEXBUILD_TABLESCAN);

	if (indexInfo->ii_ParallelWorkers > 0 &&
		fpb_parallel_begin(build, concurrent, indexInfo->ii_ParallelWorkers))
		reltuples = fpb_parallel_scan(build, indexInfo);
	else
	{
		/* the few dead rows there may be don't deserve as much memory */
		build->sort = fpb_sort_begin(&build->ix, maintenance_work_mem,
									 fpb_expected_rows(build->heap), NULL, 0);
		if (build->unique)
			build->dead = fpb_sort_begin(&build->ix, work_mem, 0, NULL, 0);

		if (fpb_scans_ranges(build->heap, concurrent))
		{
			fpb_ranges_init(&ranges, build->heap);
			reltuples = fpb_scan_ranges(build, indexInfo, &ranges, true);
		}
		else
			reltuples = table_index_build_scan(build->heap, build->index,
											   indexInfo, true, true,
											   fpb_build_callback, build, NULL);
	}

	progress_vals[0] = (int64) build->indtuples;
	pgstat_progress_update_multi_param(3, progress_index, progress_vals);

	if (build->dead && !build->havedead)
	{
		fpb_sort_end(build->dead);
		build->dead = NULL;
	}
	return reltuples;
}

/*
 * Raise an error if a column compares bytewise, as text_pattern_ops does, but
 * has a nondeterministic collation.  "=" goes by the collation, so the index
 * would not find all equal values.  The server itself checks this only for
 * btree's operator classes, which it knows by their OIDs.
 */
static void
check_collations(Relation index)
{
	for (int i = 0; i < IndexRelationGetNumberOfKeyAttributes(index); i++)
	{
		Oid			proc = index_getprocid(index, i + 1, FPB_ORDER_PROC);
		HeapTuple	tuple;

		if ((proc != F_BTTEXT_PATTERN_CMP && proc != F_BTBPCHAR_PATTERN_CMP) ||
			get_collation_isdeterministic(index->rd_indcollation[i]))
			continue;
		tuple = SearchSysCache1(CLAOID,
								ObjectIdGetDatum(get_index_column_opclass(RelationGetRelid(index), i + 1)));
		if (!HeapTupleIsValid(tuple))
			elog(ERROR, "cache lookup failed for the operator class of column %d of index \"%s\"",
				 i + 1, RelationGetRelationName(index));
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("nondeterministic collations are not supported for operator class \"%s\"",
						NameStr(((Form_pg_opclass) GETSTRUCT(tuple))->opcname))));
	}
}

/*
 * Build a new index: ambuild.
 */
IndexBuildResult *
fpb_build(Relation heap, Relation index, IndexInfo *indexInfo)
{
	MemoryContext cxt;
	MemoryContext old;
	FpbBuild	build;
	IndexBuildResult *result;

	if (RelationGetNumberOfBlocks(index) != 0)
		elog(ERROR, "index \"%s\" already contains data",
			 RelationGetRelationName(index));
	check_collations(index);

	result = (IndexBuildResult *) palloc(sizeof(IndexBuildResult));
	cxt = AllocSetContextCreate(CurrentMemoryContext, "fpbtree build",
								ALLOCSET_DEFAULT_SIZES);
	old = MemoryContextSwitchTo(cxt);

	fpb_build_init(&build, heap, index, indexInfo->ii_Unique,
				   indexInfo->ii_NullsNotDistinct, NULL);
	result->heap_tuples = fpb_build_scan(&build, indexInfo);
	fpb_load_sorted(&build, MAIN_FORKNUM);
	result->index_tuples = build.indtuples;
	fpb_report_build(&build);

	fpb_sort_end(build.sort);
	if (build.dead)
		fpb_sort_end(build.dead);
	if (build.parallel)
		fpb_parallel_end(&build);

	MemoryContextSwitchTo(old);
	MemoryContextDelete(cxt);
	return result;
}

/*
 * Write an empty index into the init fork of an unlogged one: ambuildempty.
 */
void
fpb_buildempty(Relation index)
{
	MemoryContext cxt = AllocSetContextCreate(CurrentMemoryContext,
											  "fpbtree build",
											  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(cxt);
	FpbBuild	build;

	fpb_build_init(&build, NULL, index, false, false, NULL);
	fpb_load_nothing(&build, INIT_FORKNUM);

	MemoryContextSwitchTo(old);
	MemoryContextDelete(cxt);
}
