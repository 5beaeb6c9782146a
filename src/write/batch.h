/*-------------------------------------------------------------------------
 *
 * write/batch.h
 *	  Insertions of a statement, collected in memory (write/batch.c).
 *
 *-------------------------------------------------------------------------
 */
#ifndef FPB_WRITE_BATCH_H
#define FPB_WRITE_BATCH_H

#include "access/genam.h"
#include "nodes/execnodes.h"
#include "utils/snapshot.h"

#include "base/running.h"

typedef struct FpbBatch FpbBatch;

extern void fpb_batch_init(void);

/*
 * The executor is about to run a plan.  If that may have parallel workers,
 * they must find all entries in the indexes.
 */
extern void fpb_batches_before_run(const FpbPlanRun *run);

/*
 * It has run one: put in what the plan's statement has inserted.
 */
extern void fpb_batches_after_run(const FpbPlanRun *run);

/*
 * The batch that the next entry of a statement goes to, for an insertion
 * without a uniqueness check; NULL if the entry has to be inserted at once.
 */
extern FpbBatch *fpb_batch_for(Relation rel, Relation heap, ItemPointer tid,
							   IndexInfo *info);

/*
 * Add an entry.  Raises errors as an insertion does, about this entry or about
 * others of the batch.
 */
extern void fpb_batch_add(FpbBatch *batch, Relation heap, Datum *values,
						  bool *isnull, ItemPointer tid, bool unchanged);

/* aminsertcleanup: the statement will insert no more. */
extern void fpb_insert_cleanup(Relation rel, IndexInfo *info);

/* how many entries are in batches of this process */
extern uint64 fpb_batched;

extern void fpb_batches_put_in(Relation rel, Snapshot snapshot);

/*
 * Somebody is about to read the index by a snapshot (NULL: to see whatever is
 * there).  Then put in entries of this process that it may see.  No lock is
 * held on entry or exit.
 */
static inline void
fpb_before_reading(Relation rel, Snapshot snapshot)
{
	if (unlikely(fpb_batched > 0))
		fpb_batches_put_in(rel, snapshot);
}

#endif							/* FPB_WRITE_BATCH_H */
