/*-------------------------------------------------------------------------
 *
 * inspect/activity.c
 *	  fpbtree_activity(): what goes on in the indexes of a database.
 *
 * It tells what shared memory has (base/shared.c), and reads no page of any
 * index, so monitoring may call it as often as it likes.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "funcapi.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"
#include "utils/tuplestore.h"

#include "base/shared.h"
#include "base/open_index.h"

PG_FUNCTION_INFO_V1(fpbtree_activity);

/* the columns, in the order of the function's SQL declaration */
typedef enum ActivityColumn
{
	ACTIVITY_INDEX,
	ACTIVITY_QUEUE_PAGES,
	ACTIVITY_QUEUE_ENTRIES,
	ACTIVITY_QUEUE_VISITS,
	ACTIVITY_QUEUE_MOVED,
	ACTIVITY_QUEUE_STALLS,
	ACTIVITY_QUEUE_LONGEST_STALL,
	ACTIVITY_WORKER,
	ACTIVITY_FAILURES,
	ACTIVITY_RETRY_AT,
	ACTIVITY_LAST_ERROR,
	ACTIVITY_LAST_ERROR_AT,
	ACTIVITY_FAILED_BLOCKS,
	ACTIVITY_PREFETCHED,		/* this and the next two: of index pages; then
								 * again, of heap pages */
	ACTIVITY_USED,
	ACTIVITY_WASTED,
	ACTIVITY_KIND_END,
	ACTIVITY_KIND_COLUMNS = ACTIVITY_KIND_END - ACTIVITY_PREFETCHED,
	ACTIVITY_COLUMNS = ACTIVITY_PREFETCHED + FPB_SHARED_KINDS * ACTIVITY_KIND_COLUMNS
} ActivityColumn;

/*
 * What the queue worker is doing about an index.
 */
static const char *
worker_state(FpbShared *shared)
{
	if (pg_atomic_read_u32(&shared->working) != 0)
		return "working";
	if (pg_atomic_read_u32(&shared->request) == FPB_NOT_REQUESTED)
		return "none";
	if ((TimestampTz) pg_atomic_read_u64(&shared->retry_at) > GetCurrentTimestamp())
		return "backing off";
	return "waiting";
}

/*
 * The blocks of the main leaves to which no entries could be moved, as an
 * array.
 */
static Datum
failed_blocks(FpbShared *shared)
{
	BlockNumber leaves[FPB_FAILED_LEAVES];
	Datum		elements[FPB_FAILED_LEAVES];
	int			n = fpb_shared_failed_leaves(shared, leaves);

	for (int i = 0; i < n; i++)
		elements[i] = Int64GetDatum(leaves[i]);
	return PointerGetDatum(construct_array_builtin(elements, n, INT8OID));
}

/*
 * Fill the columns for an index, of which none is NULL yet.
 */
static void
tell(Oid index, FpbShared *shared, Datum *values, bool *nulls)
{
	int64		entries;
	uint32		pages = fpb_shared_queue_pages(shared, &entries);
	uint32		error = pg_atomic_read_u32(&shared->error);
	const char *state = worker_state (shared);

	values[ACTIVITY_INDEX] = ObjectIdGetDatum(index);
	nulls[ACTIVITY_QUEUE_PAGES] = pages == FPB_PAGES_UNKNOWN;
	values[ACTIVITY_QUEUE_PAGES] = Int64GetDatum((int64) pages);
	nulls[ACTIVITY_QUEUE_ENTRIES] = pages == FPB_PAGES_UNKNOWN;
	values[ACTIVITY_QUEUE_ENTRIES] = Int64GetDatum(entries);
	values[ACTIVITY_QUEUE_VISITS] = Int64GetDatum((int64) pg_atomic_read_u64(&shared->visits));
	values[ACTIVITY_QUEUE_MOVED] = Int64GetDatum((int64) pg_atomic_read_u64(&shared->moved));
	values[ACTIVITY_QUEUE_STALLS] = Int64GetDatum((int64) pg_atomic_read_u64(&shared->stalls));
	values[ACTIVITY_QUEUE_LONGEST_STALL] =
		Float8GetDatum(pg_atomic_read_u64(&shared->longest_stall) / 1000.0);

	values[ACTIVITY_WORKER] = CStringGetTextDatum(state);
	values[ACTIVITY_FAILURES] = Int32GetDatum((int32) pg_atomic_read_u32(&shared->failures));
	nulls[ACTIVITY_RETRY_AT] = strcmp(state, "backing off") != 0;
	values[ACTIVITY_RETRY_AT] =
		TimestampTzGetDatum((TimestampTz) pg_atomic_read_u64(&shared->retry_at));
	nulls[ACTIVITY_LAST_ERROR] = error == 0;
	values[ACTIVITY_LAST_ERROR] = CStringGetTextDatum(unpack_sql_state(error));
	nulls[ACTIVITY_LAST_ERROR_AT] = error == 0;
	values[ACTIVITY_LAST_ERROR_AT] =
		TimestampTzGetDatum((TimestampTz) pg_atomic_read_u64(&shared->error_at));
	values[ACTIVITY_FAILED_BLOCKS] = failed_blocks(shared);

	for (int kind = 0; kind < FPB_SHARED_KINDS; kind++)
	{
		Datum	   *columns = values + kind * ACTIVITY_KIND_COLUMNS;

		columns[ACTIVITY_PREFETCHED] =
			Int64GetDatum((int64) pg_atomic_read_u64(&shared->prefetched[kind]));
		columns[ACTIVITY_USED] = Int64GetDatum((int64) pg_atomic_read_u64(&shared->used[kind]));
		columns[ACTIVITY_WASTED] = Int64GetDatum((int64) pg_atomic_read_u64(&shared->wasted[kind]));
	}
}

/*
 * fpbtree_activity() returns setof record
 *
 * Returns a row for each index of this database that has a slot in shared
 * memory.
 */
Datum
fpbtree_activity(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	int			position = 0;
	Oid			index;
	FpbShared  *shared;

	InitMaterializedSRF(fcinfo, 0);
	while ((shared = fpb_shared_next(&position, &index)) != NULL)
	{
		Datum		values[ACTIVITY_COLUMNS];
		bool		nulls[ACTIVITY_COLUMNS] = {0};

		/* it may have been dropped since it got its slot */
		if (!SearchSysCacheExists1(RELOID, ObjectIdGetDatum(index)))
			continue;
		tell(index, shared, values, nulls);
		tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
	}
	return (Datum) 0;
}
