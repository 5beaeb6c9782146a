/*-------------------------------------------------------------------------
 *
 * scan/arrays.c
 *	  Arrays: the elements of "column op ANY (array)".
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/array.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "scan/qual.h"
#include "scan/timezone.h"

/* how to compare elements of an array */
typedef struct SortContext
{
	FmgrInfo   *cmp;
	Oid			collation;
	bool		desc;
} SortContext;

/*
 * qsort_arg comparator of array elements, in index order.
 */
static int
compare_elements(const void *a, const void *b, void *arg)
{
	const SortContext *cxt = arg;
	int			sign = fpb_call_cmp(cxt->cmp, cxt->collation,
									*(const Datum *) a, *(const Datum *) b);

	if (cxt->desc)
		INVERT_COMPARE_RESULT(sign);
	return sign;
}

/*
 * Are elements in index order, and no two of them equal?
 */
static bool
are_distinct(const Datum *elems, int n, SortContext *sort)
{
	for (int i = 1; i < n; i++)
		if (compare_elements(&elems[i - 1], &elems[i], sort) >= 0)
			return false;
	return true;
}

/*
 * Translate the elements of an array into values that do not depend on the
 * time zone.  False, leaving them as they are, if one has no exact
 * translation.
 */
static bool
translate_elements(FpbScanKeys *keys, FpbQual *q)
{
	MemoryContext old = MemoryContextSwitchTo(fpb_array_context(keys));
	Datum	   *values = palloc(q->nelems * sizeof(Datum));
	Datum		high;

	q->exact = true;
	for (int i = 0; q->exact && i < q->nelems; i++)
		q->exact = fpb_zone_translate(q->zone_cmp, q->elems[i], &values[i], &high);
	if (q->exact)
		q->elems = values;
	MemoryContextSwitchTo(old);
	return q->exact;
}

/*
 * Take the array of a key apart, and leave out NULLs.  False if no element is
 * left.
 *
 * The elements of an equality are sorted in index order, without duplicates,
 * but those of a list stay as they are.  Integers of another type than the
 * column's are taken as the column's own, and those that this type does not
 * have are left out: no entry is equal to one.
 *
 * Of an inequality only the extreme element matters, which becomes the key's
 * value.  Elements that can't be compared stay as they are, for a filter.
 */
bool
fpb_array_fetch(FpbScanKeys *keys, FpbQual *q)
{
	const FpbColumn *col = &keys->ix->cols[q->col];
	MemoryContext old = MemoryContextSwitchTo(fpb_array_context(keys));
	ArrayType  *array = DatumGetArrayTypeP(q->key->sk_argument);
	SortContext sort = {q->value_cmp, col->collation, col->desc};
	int16		typlen;
	bool		typbyval;
	char		typalign;
	bool	   *nulls;
	bool		integers = q->integer_cmp != NULL && q->strategy == BTEqualStrategyNumber;
	int			n = 0;

	get_typlenbyvalalign(ARR_ELEMTYPE(array), &typlen, &typbyval, &typalign);
	deconstruct_array(array, ARR_ELEMTYPE(array), typlen, typbyval, typalign,
					  &q->elems, &nulls, &q->nelems);
	MemoryContextSwitchTo(old);

	for (int i = 0; i < q->nelems; i++)
	{
		if (nulls[i] ||
			(integers && !fpb_own_integer(col, q->elems[i], q->integer_cmp, &q->elems[i])))
			continue;
		q->elems[n++] = q->elems[i];
	}
	q->nelems = n;
	q->sorted = false;
	if (n == 0)
		return false;
	if (q->listed)
		return true;
	if (q->cmp == NULL || q->value_cmp == NULL ||
		(q->zone_cmp != NULL && !translate_elements(keys, q)))
		return true;			/* can only be a filter */
	q->sorted = true;

	if (q->strategy != BTEqualStrategyNumber)
	{
		q->value = q->elems[0];
		for (int i = 1; i < n; i++)
		{
			int			sign = fpb_call_cmp(q->value_cmp, col->collation,
											q->elems[i], q->value);

			if (fpb_is_upward(q->strategy) ? sign < 0 : sign > 0)
				q->value = q->elems[i];
		}
		if (q->integer_cmp != NULL)
			fpb_set_integer(keys, q, q->value);
		return true;
	}

	if (are_distinct(q->elems, n, &sort))
		return true;
	qsort_arg(q->elems, n, sizeof(Datum), compare_elements, &sort);
	q->nelems = 1;
	for (int i = 1; i < n; i++)
		if (fpb_call_cmp(q->value_cmp, col->collation, q->elems[i],
						 q->elems[q->nelems - 1]) != 0)
			q->elems[q->nelems++] = q->elems[i];
	return true;
}

/*
 * Is a value among the elements of a sorted array?  cmp compares (value,
 * element).
 */
bool
fpb_array_has(const FpbColumn *col, FmgrInfo *cmp, Datum value,
			  const Datum *elems, int nelems)
{
	int			lo = 0;
	int			hi = nelems;

	while (lo < hi)
	{
		int			mid = lo + (hi - lo) / 2;
		int			sign = fpb_call_cmp(cmp, col->collation, value, elems[mid]);

		if (sign == 0)
			return true;
		if (col->desc)
			INVERT_COMPARE_RESULT(sign);
		if (sign < 0)
			hi = mid;
		else
			lo = mid + 1;
	}
	return false;
}

/*
 * Does "value op ANY (array)" hold?
 */
bool
fpb_array_match(const FpbScanKeys *keys, const FpbQual *q, Datum value)
{
	const FpbColumn *col = &keys->ix->cols[q->col];
	ScanKey		key = q->key;

	if (q->sorted && q->strategy == BTEqualStrategyNumber)
		return fpb_array_has(col, q->cmp, value, q->elems, q->nelems);
	if (q->sorted)
		return fpb_strategy_holds(q->strategy,
								  fpb_call_cmp(q->cmp, col->collation, value, q->value));
	for (int i = 0; i < q->nelems; i++)
		if (DatumGetBool(FunctionCall2Coll(&key->sk_func, key->sk_collation,
										   value, q->elems[i])))
			return true;
	return false;
}
