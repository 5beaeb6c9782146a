/*-------------------------------------------------------------------------
 *
 * build/sort.h
 *	  Sort of the entries of a build (build/sort.c).
 *
 *-------------------------------------------------------------------------
 */
#ifndef FPB_BUILD_SORT_H
#define FPB_BUILD_SORT_H

#include "storage/dsm.h"

#include "key/key.h"

/*
 * A parallel build has a worker sort (nparticipants = 0) in each participant
 * and one in the leader, which gets what nparticipants of them have sorted;
 * else shared is NULL.
 */
typedef struct FpbSort FpbSort;
typedef struct FpbSortShared FpbSortShared;
extern Size fpb_sort_estimate_shared(const FpbIndex *ix, int nparticipants);
extern void fpb_sort_initialize_shared(const FpbIndex *ix,
									   FpbSortShared *shared,
									   int nparticipants, dsm_segment *seg);
extern void fpb_sort_attach_shared(const FpbIndex *ix, FpbSortShared *shared,
								   dsm_segment *seg);
extern FpbSort *fpb_sort_begin(const FpbIndex *ix, int workMem,
							   double expected, FpbSortShared *shared,
							   int nparticipants);
extern const FpbIndex *fpb_sort_index(const FpbSort *sort);
extern void fpb_sort_put(FpbSort *sort, const FpbKey *key);
extern void fpb_sort_perform(FpbSort *sort);
extern bool fpb_sort_get(FpbSort *sort, FpbKey *key);
extern void fpb_sort_end(FpbSort *sort);

#endif							/* FPB_BUILD_SORT_H */
