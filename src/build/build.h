/*-------------------------------------------------------------------------
 *
 * build/build.h
 *	  CREATE INDEX; what its serial and its parallel part share.
 *
 *-------------------------------------------------------------------------
 */
#ifndef FPB_BUILD_BUILD_H
#define FPB_BUILD_BUILD_H

#include "access/genam.h"
#include "nodes/execnodes.h"
#include "port/atomics.h"
#include "storage/shm_toc.h"

#include "base/options.h"
#include "build/sort.h"
#include "page/layout.h"

extern IndexBuildResult *fpb_build(Relation heap, Relation index,
								   IndexInfo *indexInfo);
extern void fpb_buildempty(Relation index);

typedef struct FpbParallelBuild FpbParallelBuild;

/*
 * What whoever builds an index decides on, once, for all participants, and
 * what the metapage keeps.
 */
typedef struct FpbDecision
{
	FpbDesign	design;
	bool		measured;		/* has all of the design been named or
								 * measured? */
	bool		one_key;		/* may duplicates share one key? */
} FpbDecision;

/* A build, as one participant sees it. */
typedef struct FpbBuild
{
	FpbIndex	ix;
	FpbDecision decision;		/* of which ix has become what can be */
	Relation	heap;
	Relation	index;
	bool		unique;
	bool		nulls_not_distinct;
	MemoryContext rowcxt;		/* reset after some rows: tuple form only */

	/*
	 * Rows that are dead but still visible to some have entries, too.  Those
	 * of a unique index are kept apart, as they don't conflict with others.
	 */
	FpbSort    *sort;
	FpbSort    *dead;			/* unique indexes only, else NULL */
	bool		havedead;
	double		indtuples;

	FpbParallelBuild *parallel; /* the leader of a parallel build, else NULL */
} FpbBuild;

/* build/spool.c */
extern void fpb_build_init(FpbBuild *build, Relation heap, Relation index,
						   bool unique, bool nulls_not_distinct,
						   const FpbDecision *decision);
extern double fpb_expected_rows(Relation heap);
extern void fpb_build_callback(Relation index, ItemPointer tid, Datum *values,
							   bool *isnull, bool tupleIsAlive, void *state);

/* build/load.c */
extern BlockNumber fpb_load_sorted(FpbBuild *build, ForkNumber fork);
extern void fpb_load_nothing(FpbBuild *build, ForkNumber fork);

/* build/notices.c */
extern void fpb_report_queue_options(Relation index, const FpbOptions *options);
extern void fpb_report_build(const FpbBuild *build);

/* The blocks of a table that participants have still to scan. */
typedef struct FpbRanges
{
	BlockNumber nblocks;		/* of the table */
	BlockNumber chunk;			/* as many are taken at once */
	pg_atomic_uint32 nchunks;	/* taken so far */
} FpbRanges;

/* build/heap_scan.c */
extern bool fpb_scans_ranges(Relation heap, bool concurrent);
extern void fpb_ranges_init(FpbRanges *ranges, Relation heap);
extern double fpb_scan_ranges(FpbBuild *build, IndexInfo *indexInfo,
							  FpbRanges *ranges, bool progress);

/* build/parallel.c */
extern bool fpb_parallel_begin(FpbBuild *build, bool concurrent, int nworkers);
extern double fpb_parallel_scan(FpbBuild *build, IndexInfo *indexInfo);
extern void fpb_parallel_end(FpbBuild *build);
extern PGDLLEXPORT void fpb_parallel_build_main(dsm_segment *seg,
												shm_toc *toc);

#endif							/* FPB_BUILD_BUILD_H */
