/*-------------------------------------------------------------------------
 *
 * scan/sets.c
 *	  Sets: the values that the keys allow the columns after the equality prefix
 *	  to have.
 *
 * A set directs leaps (scan/leap.c).  So it may have more values than the keys
 * allow, but must lack none of these.  It is made of those keys of its column
 * that say something exact of single values: "=", or else "= ANY", or else
 * bounds.  A column of which no key says anything has a set of all values,
 * NULL among them.
 *
 * Values are compared by their codes where the column has such, so that the
 * next value is known, and conditions of other types are understood.  Others
 * are compared by the opclass's comparator, and only with values of its own
 * type.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/detoast.h"
#include "utils/memutils.h"

#include "key/tuple.h"
#include "scan/qual.h"

/*
 * A value of more bytes directs no leaps: it may be too long for a tuple of
 * the index, of which an edge is made.
 */
#define LONGEST_VALUE	512

/*
 * Has a column codes that its values can be taken from?
 */
static inline bool
has_codes(const FpbScanKeys *keys, const FpbColumn *col)
{
	return fpb_is_word(keys->ix) || (col->word != NULL && col->by_value);
}

/*
 * Can values of a key be part of a set?
 */
static bool
are_short(const FpbColumn *col, const Datum *values, int n)
{
	if (col->length != -1)
		return true;
	for (int i = 0; i < n; i++)
		if (toast_raw_datum_size(values[i]) > LONGEST_VALUE)
			return false;
	return true;
}

/*
 * Does a key say which values its column may have, in a way that is understood
 * here?
 */
static bool
is_usable(const FpbScanKeys *keys, const FpbQual *q)
{
	const FpbColumn *col = &keys->ix->cols[q->col];
	bool		values = q->kind == FPB_QUAL_ARRAY && q->strategy == BTEqualStrategyNumber;

	if (q->kind == FPB_QUAL_NULL || q->kind == FPB_QUAL_NOT_NULL)
		return true;
	if (q->kind == FPB_QUAL_ROW || q->cmp == NULL || !q->exact ||
		(q->kind == FPB_QUAL_ARRAY && !q->sorted))
		return false;
	return has_codes(keys, col) ||
		(q->own_type && are_short(col, values ? q->elems : &q->value, values ? q->nelems : 1));
}

/*
 * The end of an interval that a bound of a column's codes is.  Returns whether
 * it is exact.
 *
 * In an index of tuples it must have the code of a value, because the scan may
 * leap to a tuple with that value.  But some codes of floats are no value's:
 * the one before zero stands for -0.0, which has zero's code, and most of
 * those beyond infinity for NaN.  Where these come from, "<" and ">", the
 * nearest value's code has no value between it and them but itself.
 */
static bool
set_coded_end(const FpbScanKeys *keys, const FpbColumn *col, const FpbColumnBound *bound,
			  FpbSetEnd *end)
{
	FpbCode		code = {bound->code, bound->low};

	if (!fpb_is_word(keys->ix) && !bound->isnull && col->word->is_float)
	{
		Datum		value = fpb_code_decode(col->word->kind, fpb_code_direct(col, code), false);

		code = fpb_code_direct(col, fpb_code_encode(col->word->kind, value));
	}
	end->open = end->excluded = false;
	end->coded.code = code;
	end->coded.tie = fpb_code_is_shared(col, code) ? bound->tie : 0;
	end->isnull = bound->isnull;
	return code.hi == bound->code;
}

/*
 * The end of an interval that a value is.
 */
static void
set_value_end(Datum value, bool isnull, bool excluded, FpbSetEnd *end)
{
	end->open = false;
	end->excluded = excluded;
	end->isnull = isnull;
	end->value = value;
}

/*
 * Make a set the values of a "=" or "= ANY" key.  (A value of another type has
 * one code at most.)
 */
static void
set_values(FpbScanKeys *keys, FpbColumnSet *set, const FpbQual *q)
{
	const FpbColumn *col = &keys->ix->cols[q->col];
	bool		array = q->kind == FPB_QUAL_ARRAY;
	const Datum *values = array ? q->elems : &q->value;
	int			nvalues = array ? q->nelems : 1;
	int			n = 0;

	if (array)
		set->low = MemoryContextAllocHuge(fpb_array_context(keys),
										  nvalues * sizeof(FpbSetEnd));
	for (int i = 0; i < nvalues; i++)
	{
		FpbColumnBound lower;
		FpbColumnBound upper;

		if (!set->by_code)
			set_value_end(values[i], false, false, &set->low[n++]);
		else if (fpb_word_equal_bounds(col, values[i], q->type, q->own_type ? NULL : q->cmp,
									   &lower, &upper))
			(void) set_coded_end(keys, col, &lower, &set->low[n++]);
	}
	set->high = set->low;
	set->n = n;
}

/*
 * Sign of the ends of two intervals of a column.
 */
static int
compare_ends(const FpbColumn *col, bool by_code, const FpbSetEnd *a, const FpbSetEnd *b)
{
	if (by_code)
		return fpb_compare_coded(&a->coded, &b->coded);
	return fpb_compare_values(col, col->cmp, a->value, a->isnull, b->value, b->isnull);
}

/*
 * Narrow a set of one interval by a new end of it, from one side.
 */
static void
narrow(const FpbColumn *col, FpbColumnSet *set, bool upper, const FpbSetEnd *end)
{
	FpbSetEnd  *old = &set->one[upper];
	int			sign = old->open ? 0 : compare_ends(col, set->by_code, end, old);

	if (old->open || (sign == 0 ? end->excluded : (sign < 0) == upper))
		*old = *end;
}

/*
 * Narrow a set to values that are not NULL.
 */
static void
narrow_to_values(const FpbScanKeys *keys, const FpbColumn *col, FpbColumnSet *set)
{
	bool		upper = !col->nulls_first;
	FpbSetEnd	end;

	if (set->by_code)
	{
		FpbColumnBound bound;

		fpb_word_null_bound(col, false, upper, &bound);
		(void) set_coded_end(keys, col, &bound, &end);
	}
	else
		set_value_end((Datum) 0, true, true, &end);
	narrow(col, set, upper, &end);
}

/*
 * Narrow a set by a key that bounds its column.  False if no value of the
 * column satisfies the key.
 */
static bool
narrow_by_bound(const FpbScanKeys *keys, const FpbColumn *col, FpbColumnSet *set, FpbQual *q)
{
	bool		upper = fpb_is_upward(q->strategy) == col->desc;
	FpbSetEnd	end;

	q->in_set = true;

	if (set->by_code)
	{
		FpbColumnBound bound;

		if (!fpb_word_column_bound(col, q->value, q->type, q->own_type ? NULL : q->cmp,
								   q->strategy, upper, &bound))
			return false;
		q->in_set = set_coded_end(keys, col, &bound, &end);
	}
	else
		set_value_end(q->value, false, fpb_is_strict(q->strategy), &end);
	narrow(col, set, upper, &end);
	return true;
}

/*
 * Make a set of the column's NULLs.
 */
static void
set_null(const FpbScanKeys *keys, const FpbColumn *col, FpbColumnSet *set)
{
	if (set->by_code)
	{
		FpbColumnBound bound;

		fpb_word_null_bound(col, true, false, &bound);
		(void) set_coded_end(keys, col, &bound, &set->one[0]);
	}
	else
		set_value_end((Datum) 0, true, false, &set->one[0]);
	set->high = set->low;
}

/*
 * Narrow a column's set, which has everything, by those of its keys that are
 * usable.  False if nothing satisfies them.
 */
static bool
narrow_by_keys(FpbScanKeys *keys, int c, FpbColumnSet *set)
{
	const FpbColumn *col = &keys->ix->cols[c];
	FpbQual    *eq = NULL;
	bool		is_null = false;
	bool		not_null = false;

	for (int i = 0; i < keys->nquals; i++)
	{
		FpbQual    *q = &keys->quals[i];

		if (q->col != c || !is_usable(keys, q))
			continue;
		if (q->kind == FPB_QUAL_NULL)
			is_null = q->in_set = true;
		else
			not_null = true;
		if (q->kind == FPB_QUAL_NOT_NULL)
			q->in_set = true;
		else if (q->kind != FPB_QUAL_NULL && q->strategy == BTEqualStrategyNumber &&
				 (eq == NULL || (eq->kind == FPB_QUAL_ARRAY && q->kind == FPB_QUAL_OP)))
			eq = q;
	}

	if (is_null)
	{
		set_null(keys, col, set);
		return !not_null;
	}
	if (eq != NULL)
	{
		set_values(keys, set, eq);
		eq->in_set = true;
		return set->n > 0;
	}
	if (not_null)
		narrow_to_values(keys, col, set);
	for (int i = 0; i < keys->nquals; i++)
	{
		FpbQual    *q = &keys->quals[i];

		if (q->col != c || q->kind == FPB_QUAL_NULL || q->kind == FPB_QUAL_NOT_NULL ||
			!is_usable(keys, q))
			continue;
		if (!narrow_by_bound(keys, col, set, q))
			return false;
	}
	return set->one[0].open || set->one[1].open ||
		compare_ends(col, set->by_code, &set->one[0], &set->one[1]) <= 0;
}

/*
 * Which filter can direct leaps?  One about a column after the prefix, but not
 * about the one that bounds the range, unless it is an array that could not be
 * part of the prefix.
 */
static bool
can_direct(const FpbScanKeys *keys, const FpbQual *q)
{
	if (q->col < keys->nprefix)
		return false;
	if (q->col == keys->nprefix && !(q->kind == FPB_QUAL_ARRAY &&
									 q->strategy == BTEqualStrategyNumber))
		return false;
	return is_usable(keys, q);
}

/*
 * The filters have been found: find the sets of the columns after the prefix,
 * if filters can direct leaps.  False if nothing can satisfy the keys.
 */
bool
fpb_find_sets(FpbScanKeys *keys)
{
	keys->last_set = -1;
	for (int i = 0; i < keys->nfilters; i++)
		if (can_direct(keys, keys->filters[i]))
			keys->last_set = Max(keys->last_set, keys->filters[i]->col);
	keys->leaps = keys->last_set >= 0;
	if (!keys->leaps)
		return true;

	if (keys->sets == NULL)
		keys->sets = MemoryContextAlloc(keys->cxt,
										keys->ix->nkeyatts * sizeof(FpbColumnSet));
	for (int c = keys->nprefix; c <= keys->last_set; c++)
	{
		FpbColumnSet *set = &keys->sets[c];

		set->by_code = has_codes(keys, &keys->ix->cols[c]);
		set->n = 1;
		set->low = &set->one[0];
		set->high = &set->one[1];
		set->one[0].open = set->one[1].open = true;
		if (!narrow_by_keys(keys, c, set))
			return false;
	}

	keys->sets_decide = true;
	for (int i = 0; i < keys->nfilters; i++)
		keys->sets_decide &= keys->filters[i]->in_set;
	return true;
}
