/*-------------------------------------------------------------------------
 *
 * inspect/activity.c
 *	  fpbtree_activity(): what goes on in the indexes of a database.
 *
 * It tells what shared memory has (base/shared.c), and reads no page of any
 * index: monitoring may ask as often as it likes.
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

#define ACTIVITY_COLUMNS	19

/*
 * What the queue worker has to do with an index.
 */
static const char *
worker_state(FpbShared *shared)
{
	if (pg_atomic_read_u32(&shared->working) != 0)
		return "working";
	if (pg_atomic_read_u32(&shared->wanted) == FPB_NOT_REQUESTED)
		return "none";
	if ((TimestampTz) pg_atomic_read_u64(&shared->retry_at) > GetCurrentTimestamp())
		return "backing off";
	return "waiting";
}

/*
 * The blocks of the leaves to which no entries could be moved, as an array.
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
 * Put what is known of an index into columns, of which none is NULL yet.
 */
static void
tell(Oid index, FpbShared *shared, Datum *values, bool *nulls)
{
	uint32		pages = pg_atomic_read_u32(&shared->queue_pages);
	int64		entries = (int64) pg_atomic_read_u64(&shared->queue_entries);
	uint32		error = pg_atomic_read_u32(&shared->error);
	const char *state = worker_state (shared);
	int			i = 0;

	values[i++] = ObjectIdGetDatum(index);
	nulls[i] = nulls[i + 1] = pages == FPB_PAGES_UNKNOWN;
	values[i++] = Int64GetDatum((int64) pages);
	values[i++] = Int64GetDatum(Max(entries, 0));
	values[i++] = Int64GetDatum((int64) pg_atomic_read_u64(&shared->visits));
	values[i++] = Int64GetDatum((int64) pg_atomic_read_u64(&shared->moved));
	values[i++] = Int64GetDatum((int64) pg_atomic_read_u64(&shared->stalls));
	values[i++] = Float8GetDatum(pg_atomic_read_u64(&shared->longest_stall) / 1000.0);
	values[i++] = CStringGetTextDatum(state);
	values[i++] = Int32GetDatum((int32) pg_atomic_read_u32(&shared->failures));
	nulls[i] = strcmp(state, "backing off") != 0;
	values[i++] = TimestampTzGetDatum((TimestampTz) pg_atomic_read_u64(&shared->retry_at));
	nulls[i] = nulls[i + 1] = error == 0;
	values[i++] = CStringGetTextDatum(unpack_sql_state(error));
	values[i++] = TimestampTzGetDatum((TimestampTz) pg_atomic_read_u64(&shared->error_at));
	values[i++] = failed_blocks(shared);
	for (int kind = 0; kind < FPB_SHARED_KINDS; kind++)
	{
		values[i++] = Int64GetDatum((int64) pg_atomic_read_u64(&shared->prefetched[kind]));
		values[i++] = Int64GetDatum((int64) pg_atomic_read_u64(&shared->used[kind]));
		values[i++] = Int64GetDatum((int64) pg_atomic_read_u64(&shared->wasted[kind]));
	}
	Assert(i == ACTIVITY_COLUMNS);
}

/*
 * fpbtree_activity() returns setof record
 *
 * A row for each index of this database of which shared memory has something.
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

		/* it may have been dropped */
		if (!SearchSysCacheExists1(RELOID, ObjectIdGetDatum(index)))
			continue;
		tell(index, shared, values, nulls);
		tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
	}
	return (Datum) 0;
}
