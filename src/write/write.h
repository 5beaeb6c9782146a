/*-------------------------------------------------------------------------
 *
 * write/write.h
 *	  Insertion of rows, VACUUM.
 *
 *-------------------------------------------------------------------------
 */
#ifndef FPB_WRITE_WRITE_H
#define FPB_WRITE_WRITE_H

#include "access/genam.h"
#include "nodes/execnodes.h"

#include "queue/queue.h"
#include "tree/tree.h"

extern bool fpb_insert(Relation index, Datum *values, bool *isnull,
					   ItemPointer tid, Relation heap,
					   IndexUniqueCheck checkUnique, bool indexUnchanged,
					   IndexInfo *indexInfo);

/* without a uniqueness check (write/insert_plain.c) */
extern void fpb_insert_plain(FpbIndex *ix, FpbInsertState *ins);
extern bool fpb_may_be_cold(const FpbIndex *ix);

/*
 * Should an entry be put into the operation queue, if that has room?
 *
 * By default, it should if the leaf where it belongs would have to be read, as
 * far as that can be told without reading anything.  But a leaf that two
 * insertions in succession belong to is read.  Otherwise ascending keys would
 * go to the queue until that is full, once their leaf has not been in memory.
 *
 * Names the leaf if it has to be looked at.  No lock is held on entry or exit.
 */
extern bool fpb_wants_queue(FpbIndex *ix, FpbInsertState *ins);

/* with one (write/unique.c) */
extern bool fpb_insert_unique(FpbIndex *ix, FpbInsertState *ins, Datum *values, bool *isnull,
							  IndexUniqueCheck mode);

/*
 * Insertion into the operation queue (write/insert_queued.c), an index as
 * fpb_index_of_tier makes it, for tier 1.
 *
 * begin_queue: make a queue, unless there is one, and ask for the worker.  No
 * lock is held on entry or exit.
 *
 * put_queued: put an entry into the queue's leaf where it belongs, ins->buf,
 * which is locked exclusively, and released.  A main leaf may be locked, too.
 * If the leaf is full it is split, unless the queue has as many pages as it
 * may have; then nothing is done.
 *
 * note_put: tell shared memory, and the worker, that an entry has come.  No
 * lock is held.
 *
 * queue_make_room: in a queue that is full, make room where an entry belongs,
 * and count how long that takes.  No lock is held on entry or exit.
 */
typedef enum FpbPut
{
	FPB_PUT_NOWHERE,
	FPB_PUT_IN_PLACE,
	FPB_PUT_BY_SPLIT
} FpbPut;

extern void fpb_begin_queue(FpbIndex *queue);
extern FpbPut fpb_put_queued(FpbIndex *queue, const FpbFilter *filter, FpbInsertState *ins);
extern void fpb_note_put(const FpbIndex *ix, const FpbFilter *filter, FpbPut put);
extern void fpb_queue_make_room(FpbIndex *ix, Relation heap, FpbSearchKey *search);

extern IndexBulkDeleteResult *fpb_bulkdelete(IndexVacuumInfo *info,
											 IndexBulkDeleteResult *stats,
											 IndexBulkDeleteCallback callback,
											 void *callback_state);
extern IndexBulkDeleteResult *fpb_vacuumcleanup(IndexVacuumInfo *info,
												IndexBulkDeleteResult *stats);

#endif							/* FPB_WRITE_WRITE_H */
