/*-------------------------------------------------------------------------
 *
 * queue/flush.c
 *	  fpbtree_flush(), which drains an operation queue; and
 *	  fpbtree_flush_progress(), which tells how far that has got.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/table.h"
#include "access/xlog.h"
#include "catalog/pg_class.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "storage/ipc.h"
#include "utils/acl.h"
#include "utils/rel.h"
#include "utils/tuplestore.h"

#include "base/open_index.h"
#include "base/owner.h"
#include "base/shared.h"
#include "queue/queue.h"
#include "tree/buffers.h"
#include "tree/tree.h"

PG_FUNCTION_INFO_V1(fpbtree_flush);
PG_FUNCTION_INFO_V1(fpbtree_flush_progress);

/*
 * This process has finished flushing an index, or an error has stopped it.
 */
static void
end_progress(int code pg_attribute_unused(), Datum arg)
{
	FpbShared  *shared = (FpbShared *) DatumGetPointer(arg);

	pg_atomic_write_u32(&shared->flusher, 0);
}

/*
 * Drain the queue, and note the progress in shared memory.  If several
 * processes do so at a time, only the first notes its progress.  Returns how
 * many entries have moved.
 */
static int64
flush(FpbIndex *ix, Relation heap)
{
	FpbShared  *shared = fpb_shared_of(RelationGetRelid(ix->rel));
	uint32		nobody = 0;
	int64		moved;

	if (shared == NULL ||
		!pg_atomic_compare_exchange_u32(&shared->flusher, &nobody, MyProcPid))
		return fpb_drain_queue(ix, heap, NULL);
	PG_ENSURE_ERROR_CLEANUP(end_progress, PointerGetDatum(shared));
	{
		pg_atomic_write_u64(&shared->flush_pages, fpb_queue_pages(ix));
		pg_atomic_write_u64(&shared->flush_done, 0);
		pg_atomic_write_u64(&shared->flush_moved, 0);
		moved = fpb_drain_queue(ix, heap, shared);
	}
	PG_END_ENSURE_ERROR_CLEANUP(end_progress, PointerGetDatum(shared));
	end_progress(0, PointerGetDatum(shared));
	return moved;
}

/*
 * fpbtree_flush(index regclass) returns bigint
 *
 * Moves all entries of the operation queue to the main tree; returns how many
 * there were.  Only the index's owner may do so, as with VACUUM.
 */
Datum
fpbtree_flush(PG_FUNCTION_ARGS)
{
	Oid			indexoid = PG_GETARG_OID(0);
	Relation	heap;
	Relation	index;
	FpbCaller	caller;
	FpbIndex	ix;
	int64		moved = 0;

	if (RecoveryInProgress())
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("recovery is in progress"),
				 errhint("The operation queue of an fpbtree index can't be flushed during recovery.")));

	index = fpb_open_index_and_table(indexoid, RowExclusiveLock, &heap);
	if (!object_ownercheck(RelationRelationId, indexoid, GetUserId()))
		aclcheck_error(ACLCHECK_NOT_OWNER, OBJECT_INDEX,
					   RelationGetRelationName(index));
	if (!index->rd_index->indisready)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("cannot flush index \"%s\"",
						RelationGetRelationName(index)),
				 errdetail("The index is not ready for insertions.")));

	fpb_become_owner(index, &caller);
	fpb_index_open(&ix, index);
	if (ix.may_queue)
		moved = flush(&ix, heap);
	fpb_become_caller(&caller);

	index_close(index, RowExclusiveLock);
	table_close(heap, RowExclusiveLock);
	PG_RETURN_INT64(moved);
}

/*
 * fpbtree_flush_progress() returns setof record
 *
 * The calls of fpbtree_flush that are under way in this database.
 */
Datum
fpbtree_flush_progress(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	int			position = 0;
	Oid			index;
	FpbShared  *shared;

	InitMaterializedSRF(fcinfo, 0);
	while ((shared = fpb_shared_next(&position, &index)) != NULL)
	{
		uint32		pid = pg_atomic_read_u32(&shared->flusher);
		Datum		values[5];
		bool		nulls[5] = {0};

		if (pid == 0)
			continue;
		values[0] = Int32GetDatum(pid);
		values[1] = ObjectIdGetDatum(index);
		values[2] = Int64GetDatum(pg_atomic_read_u64(&shared->flush_pages));
		values[3] = Int64GetDatum(pg_atomic_read_u64(&shared->flush_done));
		values[4] = Int64GetDatum(pg_atomic_read_u64(&shared->flush_moved));
		tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
	}
	return (Datum) 0;
}
