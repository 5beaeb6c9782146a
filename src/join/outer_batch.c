/*-------------------------------------------------------------------------
 *
 * join/outer_batch.c
 *	  A batch of rows of a join's outer side, and their search keys.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/nbtree.h"
#include "common/int.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "base/compat.h"
#include "join/join.h"

/* room for so many rows at first */
#define FIRST_ROOM	16

/*
 * Prepare to keep rows of a plan's node, with keys for a column of an index.
 */
void
fpb_outer_batch_init(FpbOuterBatch *batch, PlanState *outer, Relation index, int column)
{
	const TupleTableSlotOps *ops = ExecGetResultSlotOps(outer, NULL);
	Oid			sort_proc = index_getprocid(index, column + 1, BTSORTSUPPORT_PROC);

	memset(batch, 0, sizeof(*batch));
	batch->cxt = AllocSetContextCreate(CurrentMemoryContext, "fpbtree batch of a join",
									   ALLOCSET_DEFAULT_SIZES);

	/*
	 * Expressions may have been compiled for the kind of slot that the outer
	 * side returns.  They take a heap tuple for one in a buffer.
	 */
	batch->as_heap_tuples = ops == &TTSOpsHeapTuple || ops == &TTSOpsBufferHeapTuple;
	batch->slot = ExecInitExtraTupleSlot(outer->state, ExecGetResultType(outer),
										 batch->as_heap_tuples ? &TTSOpsHeapTuple : ops);

	batch->type = index->rd_opcintype[column];
	get_typlenbyvalalign(batch->type, &batch->typlen, &batch->typbyval, &batch->typalign);
	batch->sort.ssup_cxt = CurrentMemoryContext;
	batch->sort.ssup_collation = index->rd_indcollation[column];
	batch->sort.ssup_reverse = (index->rd_indoption[column] & INDOPTION_DESC) != 0;
	batch->sort.ssup_attno = column + 1;
	if (OidIsValid(sort_proc))
		OidFunctionCall1(sort_proc, PointerGetDatum(&batch->sort));
	if (batch->sort.comparator == NULL)
		PrepareSortSupportComparisonShim(index_getprocid(index, column + 1, BTORDER_PROC),
										 &batch->sort);
}

/*
 * Forget all rows.
 */
void
fpb_outer_batch_reset(FpbOuterBatch *batch)
{
	ExecClearTuple(batch->slot);
	MemoryContextReset(batch->cxt);
	batch->rows = NULL;
	batch->keys = NULL;
	batch->groups = NULL;
	batch->array = NULL;
	batch->nrows = batch->nkeys = batch->ngroups = batch->room = 0;
	batch->size = 0;
}

/*
 * Make room for twice as many rows.
 */
static void
grow(FpbOuterBatch *batch)
{
	int			room = batch->room == 0 ? FIRST_ROOM : 2 * batch->room;

	if (batch->room == 0)
	{
		batch->rows = MemoryContextAlloc(batch->cxt, room * sizeof(FpbJoinRow));
		batch->keys = MemoryContextAlloc(batch->cxt, room * sizeof(FpbJoinKey));
	}
	else
	{
		batch->rows = repalloc(batch->rows, room * sizeof(FpbJoinRow));
		batch->keys = repalloc(batch->keys, room * sizeof(FpbJoinKey));
	}
	batch->room = room;
}

/*
 * Add a copy of a row, and of its key if it has one.
 */
void
fpb_outer_batch_add(FpbOuterBatch *batch, TupleTableSlot *slot, Datum key, bool has_key)
{
	MemoryContext old;
	FpbJoinRow *row;

	if (batch->nrows == batch->room)
		grow(batch);
	old = MemoryContextSwitchTo(batch->cxt);
	row = &batch->rows[batch->nrows];
	row->matched = false;
	if (batch->as_heap_tuples)
	{
		HeapTuple	tuple = ExecCopySlotHeapTuple(slot);

		row->tuple = tuple;
		batch->size += tuple->t_len;
	}
	else
	{
		MinimalTuple tuple = ExecCopySlotMinimalTuple(slot);

		row->tuple = tuple;
		batch->size += tuple->t_len;
	}
	batch->size += sizeof(FpbJoinRow) + sizeof(FpbJoinKey);
	if (has_key)
	{
		batch->keys[batch->nkeys].value = datumCopy(key, batch->typbyval, batch->typlen);
		batch->keys[batch->nkeys].row = batch->nrows;
		batch->nkeys++;
		if (!batch->typbyval)
			batch->size += datumGetSize(key, false, batch->typlen);
	}
	batch->nrows++;
	MemoryContextSwitchTo(old);
}

/*
 * Order of values in the index.
 *
 * Integers are compared without a call.
 */
static inline int
compare_values(Datum a, Datum b, SortSupport sort)
{
	int			sign;

	if (sort->comparator == ssup_datum_signed_cmp)
		sign = pg_cmp_s64(DatumGetInt64(a), DatumGetInt64(b));
	else if (sort->comparator == ssup_datum_int32_cmp)
		sign = pg_cmp_s32(DatumGetInt32(a), DatumGetInt32(b));
	else
		sign = sort->comparator(a, b, sort);
	if (sort->ssup_reverse)
		INVERT_COMPARE_RESULT(sign);
	return sign;
}

/*
 * The same for keys; rows with equal ones stay in their order.
 */
static inline int
compare_keys(const FpbJoinKey *a, const FpbJoinKey *b, SortSupport sort)
{
	int			sign = compare_values(a->value, b->value, sort);

	return sign != 0 ? sign : pg_cmp_s32(a->row, b->row);
}

#define ST_SORT sort_keys
#define ST_ELEMENT_TYPE FpbJoinKey
#define ST_COMPARE_ARG_TYPE SortSupportData
#define ST_COMPARE(a, b, arg) compare_keys(a, b, arg)
#define ST_SCOPE static
#define ST_DECLARE
#define ST_DEFINE
#define ST_CHECK_FOR_INTERRUPTS
#include "lib/sort_template.h"

/*
 * Sort the keys, and find the distinct ones.
 */
void
fpb_outer_batch_sort(FpbOuterBatch *batch)
{
	if (batch->nkeys == 0)
		return;
	sort_keys(batch->keys, batch->nkeys, &batch->sort);
	batch->groups = MemoryContextAlloc(batch->cxt, batch->nkeys * sizeof(FpbJoinGroup));
	for (int i = 0; i < batch->nkeys; i++)
	{
		if (i == 0 || compare_values(batch->keys[i - 1].value, batch->keys[i].value,
									 &batch->sort) != 0)
			batch->groups[batch->ngroups++].begin = i;
		batch->groups[batch->ngroups - 1].end = i + 1;
	}
}

/*
 * The row of a group's key wants no more inner rows: leave that key out of the
 * group, so that further inner rows don't come by it.  False if it is the last
 * one, which stays: the group is found by it.
 */
bool
fpb_outer_batch_leave_out(FpbOuterBatch *batch, int group, int key)
{
	FpbJoinGroup *g = &batch->groups[group];
	FpbJoinKey	left_out = batch->keys[key];

	if (g->end - g->begin == 1)
		return false;
	batch->keys[key] = batch->keys[--g->end];
	batch->keys[g->end] = left_out;
	return true;
}

/*
 * An array of the distinct keys from a group on.  It takes the place of the
 * array made last.
 */
ArrayType *
fpb_outer_batch_array(FpbOuterBatch *batch, int group)
{
	int			n = batch->ngroups - group;
	Datum	   *values = palloc(n * sizeof(Datum));
	MemoryContext old;

	for (int i = 0; i < n; i++)
		values[i] = batch->keys[batch->groups[group + i].begin].value;
	if (batch->array != NULL)
		pfree(batch->array);
	old = MemoryContextSwitchTo(batch->cxt);
	batch->array = construct_array(values, n, batch->type, batch->typlen, batch->typbyval,
								   batch->typalign);
	MemoryContextSwitchTo(old);
	pfree(values);

	return batch->array;
}

/*
 * A row, in the batch's slot.
 */
TupleTableSlot *
fpb_outer_batch_row(FpbOuterBatch *batch, int row)
{
	if (batch->as_heap_tuples)
		return ExecStoreHeapTuple(batch->rows[row].tuple, batch->slot, false);
	ExecForceStoreMinimalTuple(batch->rows[row].tuple, batch->slot, false);
	return batch->slot;
}

/*
 * The group whose key is equal to a value, or -1.  group is a guess: it is
 * most often this one or the next.
 */
int
fpb_outer_batch_find(FpbOuterBatch *batch, Datum value, int group)
{
	int			lo = 0;
	int			hi = batch->ngroups;

	for (int i = group; i < group + 2 && i < batch->ngroups; i++)
		if (compare_values(batch->keys[batch->groups[i].begin].value, value, &batch->sort) == 0)
			return i;
	while (lo < hi)
	{
		int			mid = lo + (hi - lo) / 2;
		int			sign = compare_values(batch->keys[batch->groups[mid].begin].value, value,
										  &batch->sort);

		if (sign == 0)
			return mid;
		if (sign < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return -1;
}
