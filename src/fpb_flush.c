/*-------------------------------------------------------------------------
 *
 * fpb_flush.c
 *	  fpbtree_flush(): the operation queue emptied at somebody's wish.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/table.h"
#include "access/xlog.h"
#include "catalog/index.h"
#include "catalog/pg_class.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/rel.h"

#include "fpb_access.h"
#include "fpb_inspect.h"
#include "fpb_write.h"

PG_FUNCTION_INFO_V1(fpbtree_flush);

/*
 * fpbtree_flush(index regclass) returns bigint
 *
 * Moves what is in the operation queue to the main tree; returns how many
 * entries that was.  For the index's owner, as VACUUM is.
 */
Datum
fpbtree_flush(PG_FUNCTION_ARGS)
{
	Oid			indexoid = PG_GETARG_OID(0);
	Oid			heapoid;
	Relation	heap = NULL;
	Relation	index;
	FpbIndex	ix;
	int64		moved = 0;

	if (RecoveryInProgress())
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("recovery is in progress"),
				 errhint("The operation queue of an fpbtree index can't be flushed during recovery.")));

	/* the table is to be locked before the index */
	heapoid = IndexGetRelation(indexoid, true);
	if (OidIsValid(heapoid))
		heap = table_open(heapoid, RowExclusiveLock);
	index = fpb_open_index(indexoid, RowExclusiveLock);
	if (!object_ownercheck(RelationRelationId, indexoid, GetUserId()))
		aclcheck_error(ACLCHECK_NOT_OWNER, OBJECT_INDEX,
					   RelationGetRelationName(index));
	if (heap == NULL || heapoid != IndexGetRelation(indexoid, false))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("could not open parent table of index \"%s\"",
						RelationGetRelationName(index))));
	if (!index->rd_index->indisready)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("cannot flush index \"%s\"",
						RelationGetRelationName(index)),
				 errdetail("The index is not ready for insertions.")));

	fpb_index_open(&ix, index);
	if (ix.may_queue)
		moved = fpb_batch_update(&ix, heap);

	index_close(index, RowExclusiveLock);
	table_close(heap, RowExclusiveLock);
	PG_RETURN_INT64(moved);
}
