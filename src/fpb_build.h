/*-------------------------------------------------------------------------
 *
 * fpb_build.h
 *	  What the serial and the parallel part of a build share.
 *
 *-------------------------------------------------------------------------
 */
#ifndef FPB_BUILD_H
#define FPB_BUILD_H

#include "fpbtree.h"
#include "storage/shm_toc.h"

typedef struct FpbParallelBuild FpbParallelBuild;

/* A build, as one participant sees it. */
typedef struct FpbBuild
{
	FpbIndex	ix;
	Relation	heap;
	Relation	index;
	bool		unique;
	bool		nulls_not_distinct;
	MemoryContext rowcxt;		/* reset after each row: tuple form only */

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

extern void fpb_build_init(FpbBuild *build, Relation heap, Relation index,
						   bool unique, bool nulls_not_distinct);
extern double fpb_expected_rows(Relation heap);
extern bool fpb_all_visible(Relation heap);
extern void fpb_build_callback(Relation index, ItemPointer tid, Datum *values,
							   bool *isnull, bool tupleIsAlive, void *state);

/* fpb_build_parallel.c */
extern bool fpb_parallel_begin(FpbBuild *build, bool concurrent, int nworkers);
extern double fpb_parallel_scan(FpbBuild *build, IndexInfo *indexInfo);
extern void fpb_parallel_end(FpbBuild *build);
extern PGDLLEXPORT void fpb_parallel_build_main(dsm_segment *seg,
												shm_toc *toc);

#endif							/* FPB_BUILD_H */
