/*-------------------------------------------------------------------------
 *
 * write/write.h
 *	  Build, insertion of rows, VACUUM.
 *
 *-------------------------------------------------------------------------
 */
#ifndef FPB_WRITE_WRITE_H
#define FPB_WRITE_WRITE_H

#include "access/genam.h"
#include "nodes/execnodes.h"
#include "storage/dsm.h"

#include "base/shared.h"
#include "page/layout.h"

extern IndexBuildResult *fpb_build(Relation heap, Relation index,
								   IndexInfo *indexInfo);
extern void fpb_buildempty(Relation index);

/*
 * Sort of the entries of a build (build/sort.c).  A parallel build has a worker
 * sort (nparticipants = 0) in each participant and one in the leader, which
 * gets what nparticipants of them have sorted; else shared is NULL.
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
extern void fpb_sort_put(FpbSort *sort, const FpbKey *key);
extern void fpb_sort_perform(FpbSort *sort);
extern bool fpb_sort_get(FpbSort *sort, FpbKey *key);
extern void fpb_sort_end(FpbSort *sort);

extern bool fpb_insert(Relation index, Datum *values, bool *isnull,
					   ItemPointer tid, Relation heap,
					   IndexUniqueCheck checkUnique, bool indexUnchanged,
					   IndexInfo *indexInfo);

/*
 * Batch update (queue/drain.c): moving what waits in the operation queue.  All
 * of it; some of what a full leaf has; or what is taken of some leaves.
 */
typedef struct FpbBatch FpbBatch;
typedef enum FpbMoved
{
	FPB_MOVE_ALL,				/* all that has been taken */
	FPB_MOVE_SHARE,				/* a third, by the visits worth most */
	FPB_MOVE_LARGEST			/* what there is for a single main leaf, that
								 * for which there is most */
} FpbMoved;
extern int64 fpb_batch_update(FpbIndex *ix, Relation heap, FpbShared *progress);
extern void fpb_batch_make_room(FpbIndex *ix, Relation heap,
								const FpbProbe *place);
extern FpbBatch *fpb_batch_begin(FpbIndex *ix, Relation heap, bool leave_failed);
extern FpbIndex *fpb_batch_queue(FpbBatch *batch);
extern int	fpb_batch_take(FpbBatch *batch, Page page);
extern int	fpb_batch_fullness(const FpbBatch *batch);
extern bool fpb_batch_has_left(const FpbBatch *batch);
extern void fpb_batch_forget_failure(void);
extern FpbNoted fpb_batch_failure(BlockNumber *leaf);
extern void fpb_batch_move(FpbBatch *batch, FpbMoved which);
extern int64 fpb_batch_end(FpbBatch *batch);

/* Have a worker see to the index's queue (queue/worker.c). */
extern void fpb_worker_init(void);
extern void fpb_worker_want(Relation index);
extern PGDLLEXPORT void fpb_worker_main(Datum database);

extern int	fpb_worker_countdown;
extern void fpb_worker_look(void);

/*
 * A scan or an insertion begins: the first of a process, and one now and then,
 * looks if there are queues that nobody sees to.
 */
static inline void
fpb_worker_note_use(void)
{
	if (unlikely(--fpb_worker_countdown < 0))
		fpb_worker_look();
}

extern IndexBulkDeleteResult *fpb_bulkdelete(IndexVacuumInfo *info,
											 IndexBulkDeleteResult *stats,
											 IndexBulkDeleteCallback callback,
											 void *callback_state);
extern IndexBulkDeleteResult *fpb_vacuumcleanup(IndexVacuumInfo *info,
												IndexBulkDeleteResult *stats);

#endif							/* FPB_WRITE_WRITE_H */
