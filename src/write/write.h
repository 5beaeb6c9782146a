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

#include "tree/tree.h"

extern bool fpb_insert(Relation index, Datum *values, bool *isnull,
					   ItemPointer tid, Relation heap,
					   IndexUniqueCheck checkUnique, bool indexUnchanged,
					   IndexInfo *indexInfo);

/* without a uniqueness check (write/insert_plain.c) */
extern void fpb_insert_plain(FpbIndex *ix, FpbInsertState *ins);
extern bool fpb_may_be_cold(const FpbIndex *ix);

extern IndexBulkDeleteResult *fpb_bulkdelete(IndexVacuumInfo *info,
											 IndexBulkDeleteResult *stats,
											 IndexBulkDeleteCallback callback,
											 void *callback_state);
extern IndexBulkDeleteResult *fpb_vacuumcleanup(IndexVacuumInfo *info,
												IndexBulkDeleteResult *stats);

#endif							/* FPB_WRITE_WRITE_H */
