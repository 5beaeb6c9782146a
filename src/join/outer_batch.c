/*-------------------------------------------------------------------------
 *
 * join/outer_batch.c
 *	  A batch of rows of a join's outer side, their search keys, and the inner
 *	  rows that they are joined with, if these are kept.
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
#include "tree/buffers.h"

/* room for so many rows at first */
#define FIRST_ROOM	16

/*
 * Find out how values of an index's column are compared and kept.
 */
static void
init_column(FpbBatchColumn *col, Relation index, int column)
{
	Oid			sort_proc = index_getprocid(index, column + 1, BTSORTSUPPORT_PROC);
	FpbIndex	memory;

	memset(col, 0, sizeof(*col));
	col->type = index->rd_opcintype[column];
	get_typlenbyvalalign(col->type, &col->typlen, &col->typbyval, &col->typalign);
	col->sort.ssup_cxt = CurrentMemoryContext;
	col->sort.ssup_collation = fpb_index_look(index, &memory)->cols[column].collation;
	col->sort.ssup_reverse = (index->rd_indoption[column] & INDOPTION_DESC) != 0;
	col->sort.ssup_attno = column + 1;
	if (OidIsValid(sort_proc))
		OidFunctionCall1(sort_proc, PointerGetDatum(&col->sort));
	if (col->sort.comparator == NULL)
		PrepareSortSupportComparisonShim(index_getprocid(index, column + 1, BTORDER_PROC),
										 &col->sort);
}

/*
 * Find out how rows of a plan's node are kept.
 *
 * Expressions may have been compiled for the kind of slot that the node
 * returns.  They take a heap tuple for one in a buffer.
 */
static void
init_keeper(FpbRowKeeper *keeper, PlanState *node)
{
	const TupleTableSlotOps *ops = ExecGetResultSlotOps(node, NULL);

	keeper->as_heap_tuples = ops == &TTSOpsHeapTuple || ops == &TTSOpsBufferHeapTuple;
	keeper->slot = ExecInitExtraTupleSlot(node->state, ExecGetResultType(node),
										  keeper->as_heap_tuples ? &TTSOpsHeapTuple : ops);
}

/*
 * Copy a row, and add its size to *size.
 */
static void *
keep_row(const FpbRowKeeper *keeper, TupleTableSlot *slot, Size *size)
{
	if (keeper->as_heap_tuples)
	{
		HeapTuple	tuple = ExecCopySlotHeapTuple(slot);

		*size += tuple->t_len;
		return tuple;
	}
	else
	{
		MinimalTuple tuple = ExecCopySlotMinimalTuple(slot);

		*size += tuple->t_len;
		return tuple;
	}
}

/*
 * A row that is kept, in the slot.
 */
static TupleTableSlot *
kept_row(const FpbRowKeeper *keeper, void *tuple)
{
	if (keeper->as_heap_tuples)
		return ExecStoreHeapTuple(tuple, keeper->slot, false);
	ExecForceStoreMinimalTuple(tuple, keeper->slot, false);
	return keeper->slot;
}

/*
 * Prepare to keep rows of the outer node, and of the inner one unless that is
 * NULL, with keys for so many columns of an index from number first on, which
 * so many scans are asked for.
 */
void
fpb_outer_batch_init(FpbOuterBatch *batch, PlanState *outer, PlanState *inner, Relation index,
					 int first, int ncolumns, int nscans)
{
	memset(batch, 0, sizeof(*batch));
	batch->cxt = AllocSetContextCreate(CurrentMemoryContext, "fpbtree batch of a join",
									   ALLOCSET_DEFAULT_SIZES);
	init_keeper(&batch->outer, outer);
	if (inner != NULL)
		init_keeper(&batch->inner, inner);
	batch->nscans = nscans;
	batch->of_scan = palloc0_array(FpbScanGroups, nscans);
	batch->ncolumns = ncolumns;
	for (int i = 0; i < ncolumns; i++)
		init_column(&batch->columns[i], index, first + i);
}

/*
 * Forget all rows.
 */
void
fpb_outer_batch_reset(FpbOuterBatch *batch)
{
	ExecClearTuple(batch->outer.slot);
	if (batch->inner.slot != NULL)
		ExecClearTuple(batch->inner.slot);
	MemoryContextReset(batch->cxt);
	batch->rows = NULL;
	batch->keys = NULL;
	batch->more = NULL;
	batch->groups = NULL;
	memset(batch->of_scan, 0, batch->nscans * sizeof(FpbScanGroups));
	batch->divided = false;
	for (int i = 0; i < batch->ncolumns; i++)
		batch->columns[i].array = NULL;
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
	Size		more = (batch->ncolumns - 1) * sizeof(Datum);

	if (batch->room == 0)
	{
		batch->rows = MemoryContextAlloc(batch->cxt, room * sizeof(FpbJoinRow));
		batch->keys = MemoryContextAlloc(batch->cxt, room * sizeof(FpbJoinKey));
		if (more > 0)
			batch->more = MemoryContextAlloc(batch->cxt, room * more);
	}
	else
	{
		batch->rows = repalloc(batch->rows, room * sizeof(FpbJoinRow));
		batch->keys = repalloc(batch->keys, room * sizeof(FpbJoinKey));
		if (more > 0)
			batch->more = repalloc(batch->more, room * more);
	}
	batch->room = room;
}

/*
 * A copy of a value of a column of the search key.
 */
static inline Datum
copy_value(FpbOuterBatch *batch, const FpbBatchColumn *col, Datum value)
{
	if (col->typbyval)
		return value;
	batch->size += datumGetSize(value, false, col->typlen);
	return datumCopy(value, false, col->typlen);
}

/* the values of a row's key but the first */
static inline Datum *
more_values(const FpbOuterBatch *batch, int row)
{
	return batch->more + row * (batch->ncolumns - 1);
}

/*
 * Add a copy of a row, and of its key, or NULL.  Only these scans may have
 * that; NULL: any.
 */
void
fpb_outer_batch_add(FpbOuterBatch *batch, TupleTableSlot *slot, const Datum *key,
					const Bitmapset *scans)
{
	MemoryContext old;
	FpbJoinRow *row;

	if (batch->nrows == batch->room)
		grow(batch);
	old = MemoryContextSwitchTo(batch->cxt);
	row = &batch->rows[batch->nrows];
	row->matched = false;
	row->first = row->last = NULL;
	row->scans = NULL;
	row->tuple = keep_row(&batch->outer, slot, &batch->size);
	batch->size += sizeof(FpbJoinRow) + sizeof(FpbJoinKey) +
		(batch->ncolumns - 1) * sizeof(Datum);
	if (key != NULL)
	{
		row->scans = bms_copy(scans);
		if (scans != NULL)
			batch->size += sizeof(Bitmapset) + scans->nwords * sizeof(bitmapword) +
				bms_num_members(scans) * sizeof(FpbJoinGroup);
		batch->divided |= scans != NULL;
		batch->keys[batch->nkeys].value = copy_value(batch, &batch->columns[0], key[0]);
		batch->keys[batch->nkeys].row = batch->nrows;
		batch->nkeys++;
		for (int i = 1; i < batch->ncolumns; i++)
			more_values(batch, batch->nrows)[i - 1] =
				copy_value(batch, &batch->columns[i], key[i]);
	}
	batch->nrows++;
	MemoryContextSwitchTo(old);
}

/*
 * Order of values of a column in the index.
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
 * The same of values of the search key's columns but the first.
 */
static pg_noinline int
compare_more(FpbOuterBatch *batch, const Datum *a, const Datum *b)
{
	int			sign = 0;

	for (int i = 1; sign == 0 && i < batch->ncolumns; i++)
		sign = compare_values(a[i - 1], b[i - 1], &batch->columns[i].sort);
	return sign;
}

/*
 * Order of two rows' keys.
 */
static inline int
compare_keys(FpbOuterBatch *batch, const FpbJoinKey *a, const FpbJoinKey *b)
{
	int			sign = compare_values(a->value, b->value, &batch->columns[0].sort);

	if (sign != 0 || batch->ncolumns == 1)
		return sign;
	return compare_more(batch, more_values(batch, a->row), more_values(batch, b->row));
}

/*
 * The same; rows with equal keys stay in their order.
 */
static inline int
compare_rows(const FpbJoinKey *a, const FpbJoinKey *b, FpbOuterBatch *batch)
{
	int			sign = compare_keys(batch, a, b);

	return sign != 0 ? sign : pg_cmp_s32(a->row, b->row);
}

#define ST_SORT sort_keys
#define ST_ELEMENT_TYPE FpbJoinKey
#define ST_COMPARE_ARG_TYPE FpbOuterBatch
#define ST_COMPARE(a, b, arg) compare_rows(a, b, arg)
#define ST_SCOPE static
#define ST_DECLARE
#define ST_DEFINE
#define ST_CHECK_FOR_INTERRUPTS
#include "lib/sort_template.h"

/*
 * The scans that may have a group's key.
 */
static Bitmapset *
scans_of_group(FpbOuterBatch *batch, const FpbJoinGroup *group)
{
	Bitmapset  *scans = batch->rows[batch->keys[group->begin].row].scans;

	for (int i = group->begin + 1; i < group->end; i++)
	{
		const Bitmapset *more = batch->rows[batch->keys[i].row].scans;

		if (!bms_is_subset(more, scans))
			scans = bms_union(scans, more);
	}
	return scans;
}

/*
 * Give each scan the groups whose keys it may have.
 */
static void
divide_groups(FpbOuterBatch *batch)
{
	FpbJoinGroup *all = batch->groups;
	MemoryContext old = MemoryContextSwitchTo(batch->cxt);
	Bitmapset **scans = palloc_array(Bitmapset *, batch->ngroups);
	int			n = 0;

	for (int i = 0; i < batch->ngroups; i++)
	{
		int			scan = -1;

		CHECK_FOR_INTERRUPTS();
		scans[i] = scans_of_group(batch, &all[i]);
		while ((scan = bms_next_member(scans[i], scan)) >= 0)
			batch->of_scan[scan].end++;
	}
	for (int scan = 0; scan < batch->nscans; scan++)
	{
		FpbScanGroups *groups = &batch->of_scan[scan];

		groups->begin = n;
		n += groups->end;
		groups->end = groups->begin;
	}
	batch->groups = palloc_array(FpbJoinGroup, n);
	for (int i = 0; i < batch->ngroups; i++)
	{
		int			scan = -1;

		CHECK_FOR_INTERRUPTS();
		while ((scan = bms_next_member(scans[i], scan)) >= 0)
			batch->groups[batch->of_scan[scan].end++] = all[i];
	}
	pfree(scans);
	pfree(all);
	MemoryContextSwitchTo(old);
}

/*
 * Sort the keys, find the distinct ones, and which of them each scan is asked
 * for.
 */
void
fpb_outer_batch_sort(FpbOuterBatch *batch)
{
	if (batch->nkeys == 0)
		return;
	sort_keys(batch->keys, batch->nkeys, batch);
	batch->groups = MemoryContextAlloc(batch->cxt, batch->nkeys * sizeof(FpbJoinGroup));
	for (int i = 0; i < batch->nkeys; i++)
	{
		if (i == 0 || compare_keys(batch, &batch->keys[i - 1], &batch->keys[i]) != 0)
			batch->groups[batch->ngroups++].begin = i;
		batch->groups[batch->ngroups - 1].end = i + 1;
	}
	if (batch->divided)
		divide_groups(batch);
	else
		for (int scan = 0; scan < batch->nscans; scan++)
			batch->of_scan[scan].end = batch->ngroups;
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
 * Make arrays of the distinct keys that a scan is asked for from a group on,
 * one for each column.  They take the place of the arrays made last.  False if
 * there are no such keys.
 */
bool
fpb_outer_batch_arrays(FpbOuterBatch *batch, int scan, int group, Datum *arrays)
{
	int			n = batch->of_scan[scan].end - group;
	Datum	   *values;

	if (n == 0)
		return false;
	values = palloc(n * sizeof(Datum));
	for (int c = 0; c < batch->ncolumns; c++)
	{
		FpbBatchColumn *col = &batch->columns[c];
		MemoryContext old;

		for (int i = 0; i < n; i++)
		{
			const FpbJoinKey *key = &batch->keys[batch->groups[group + i].begin];

			values[i] = c == 0 ? key->value : more_values(batch, key->row)[c - 1];
		}
		if (col->array != NULL)
			pfree(col->array);
		old = MemoryContextSwitchTo(batch->cxt);
		col->array = construct_array(values, n, col->type, col->typlen, col->typbyval,
									 col->typalign);
		MemoryContextSwitchTo(old);
		arrays[c] = PointerGetDatum(col->array);
	}
	pfree(values);
	return true;
}

/*
 * An outer row, in the batch's slot.
 */
TupleTableSlot *
fpb_outer_batch_row(FpbOuterBatch *batch, int row)
{
	return kept_row(&batch->outer, batch->rows[row].tuple);
}

/*
 * Keep an inner row.
 */
void *
fpb_outer_batch_keep(FpbOuterBatch *batch, TupleTableSlot *slot)
{
	MemoryContext old = MemoryContextSwitchTo(batch->cxt);
	void	   *tuple = keep_row(&batch->inner, slot, &batch->size);

	MemoryContextSwitchTo(old);
	return tuple;
}

/*
 * Remember that an outer row is joined with an inner row that is kept.
 */
void
fpb_outer_batch_pair(FpbOuterBatch *batch, FpbJoinRow *row, void *inner)
{
	FpbJoinPair *pair = MemoryContextAlloc(batch->cxt, sizeof(FpbJoinPair));

	batch->size += sizeof(FpbJoinPair);
	pair->next = NULL;
	pair->inner = inner;
	if (row->last == NULL)
		row->first = pair;
	else
		row->last->next = pair;
	row->last = pair;
}

/*
 * An inner row that is kept, in the batch's slot.
 */
TupleTableSlot *
fpb_outer_batch_kept(FpbOuterBatch *batch, void *inner)
{
	return kept_row(&batch->inner, inner);
}

/*
 * Order of a group's key and these values.
 */
static inline int
compare_group(FpbOuterBatch *batch, int group, const Datum *values)
{
	const FpbJoinKey *key = &batch->keys[batch->groups[group].begin];
	int			sign = compare_values(key->value, values[0], &batch->columns[0].sort);

	if (sign != 0 || batch->ncolumns == 1)
		return sign;
	return compare_more(batch, more_values(batch, key->row), values + 1);
}

/*
 * The group of a scan whose key has these values, or -1.  group is a guess: it
 * is most often this one or the next.
 */
int
fpb_outer_batch_find(FpbOuterBatch *batch, int scan, const Datum *values, int group)
{
	int			lo = batch->of_scan[scan].begin;
	int			hi = batch->of_scan[scan].end;

	for (int i = group; i < group + 2 && i < hi; i++)
		if (compare_group(batch, i, values) == 0)
			return i;
	while (lo < hi)
	{
		int			mid = lo + (hi - lo) / 2;
		int			sign = compare_group(batch, mid, values);

		if (sign == 0)
			return mid;
		if (sign < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return -1;
}
