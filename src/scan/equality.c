/*-------------------------------------------------------------------------
 *
 * scan/equality.c
 *	  The equality prefix: leading columns that are "=", "= ANY" or IS NULL, and the
 *	  values that each may have.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "scan/qual.h"

/*
 * Drop those values of a prefix column that another key of the column, q,
 * rules out.  Then being in a range implies q.  If q's values can't be
 * compared with these, nothing is dropped, and q will be a filter.
 */
static void
prune_values(FpbScanKeys *keys, FpbScanColumn *sc, FpbQual *q)
{
	const FpbColumn *col = &keys->ix->cols[q->col];
	FmgrInfo   *cmp = NULL;
	int			n = 0;

	if (q->kind == FPB_QUAL_NOT_NULL)
	{
		q->implied = true;
		return;
	}
	if (q->kind == FPB_QUAL_ROW)
		return;
	if (!sc->eq->own_type)
	{
		if (!q->exact || (q->kind == FPB_QUAL_ARRAY && !q->sorted))
			return;
		cmp = fpb_pair_proc(keys, sc->eq, q);
		if (cmp == NULL)
			return;
	}

	for (int i = 0; i < sc->nvalues; i++)
	{
		Datum		value = sc->values[i];
		bool		keep;

		if (sc->eq->own_type)
			keep = fpb_qual_match(keys, q, value);
		else if (q->kind == FPB_QUAL_ARRAY && q->strategy == BTEqualStrategyNumber)
			keep = fpb_array_has(col, cmp, value, q->elems, q->nelems);
		else
			keep = fpb_strategy_holds(q->strategy,
									  fpb_call_cmp(cmp, col->collation, value, q->value));
		if (keep)
			sc->values[n++] = value;
	}
	sc->nvalues = n;
	q->implied = true;
}

/*
 * Which of two "=" keys of a column (b may be NULL) should give the values?
 * That of a list must, because its columns are no good without each other.
 */
FpbQual *
fpb_better_equality(FpbQual *a, FpbQual *b)
{
	if (a->listed || (b != NULL && b->listed))
		return a->listed ? a : b;
	if (a->cmp == NULL || !a->exact || (a->kind == FPB_QUAL_ARRAY && !a->sorted))
		return b;
	if (b == NULL)
		return a;
	if (a->kind != b->kind)
		return a->kind == FPB_QUAL_OP ? a : b;
	return a->own_type && !b->own_type ? a : b;
}

/*
 * Word indexes: drop values that no value of the column's type is equal to.
 */
static void
drop_impossible(FpbScanKeys *keys, FpbScanColumn *sc)
{
	FpbQual    *q = sc->eq;
	int			n = 0;

	if (!fpb_is_word(keys->ix) || q->own_type)
		return;
	for (int i = 0; i < sc->nvalues; i++)
	{
		FpbColumnBound lower;
		FpbColumnBound upper;

		if (fpb_word_equal_bounds(&keys->ix->cols[q->col], sc->values[i],
								  q->type, q->cmp, &lower, &upper))
			sc->values[n++] = sc->values[i];
	}
	sc->nvalues = n;
}

/*
 * Make a column of a list the next of the prefix.  Its values are those of key
 * eq, and other keys of the column are filters.  False if range numbers would
 * overflow.
 */
static bool
add_listed(FpbScanKeys *keys, int colno, FpbQual *eq)
{
	FpbScanColumn *sc = &keys->prefix[keys->nprefix];
	FpbScanColumn *first = sc;

	while (first > keys->prefix && first[-1].eq != NULL && first[-1].eq->listed)
		first--;
	sc->eq = eq;
	sc->values = eq->elems;
	sc->nvalues = eq->nelems;
	sc->goes_along = first != sc;
	if (sc->goes_along)
	{
		if (sc->nvalues != first->nvalues)
			elog(ERROR, "arrays of a list of keys have different lengths");
		first->nlisted++;
	}
	else if (keys->nranges > PG_INT64_MAX / 2 / sc->nvalues)
		return false;
	else
		keys->nranges *= sc->nvalues;
	for (int i = 0; i < keys->nquals; i++)
		if (keys->quals[i].col == colno && keys->quals[i].kind == FPB_QUAL_NOT_NULL)
			keys->quals[i].implied = true;
	keys->nprefix++;
	eq->implied = true;
	return true;
}

/*
 * Make a column the next of the prefix; its values are those of key eq, as far
 * as its other keys allow.  False if the keys contradict each other.  *open
 * becomes false if the prefix ends before this column after all.
 */
bool
fpb_add_equality(FpbScanKeys *keys, int colno, FpbQual *eq, bool *open)
{
	FpbScanColumn *sc = &keys->prefix[keys->nprefix];

	sc->nlisted = 1;
	sc->goes_along = false;
	if (eq->listed)
	{
		*open = add_listed(keys, colno, eq);
		return true;
	}
	sc->eq = eq;
	if (eq->kind == FPB_QUAL_ARRAY)
	{
		sc->values = eq->elems;
		sc->nvalues = eq->nelems;
	}
	else
	{
		sc->values = &eq->value;
		sc->nvalues = 1;
	}

	for (int i = 0; i < keys->nquals; i++)
	{
		FpbQual    *q = &keys->quals[i];

		if (q->col == colno && q != eq)
			prune_values(keys, sc, q);
	}
	drop_impossible(keys, sc);
	if (eq->kind == FPB_QUAL_ARRAY)
		eq->nelems = sc->nvalues;
	if (sc->nvalues == 0)
		return false;

	/* Range numbers must not overflow: then the array is but a filter. */
	if (keys->nranges > PG_INT64_MAX / 2 / sc->nvalues)
	{
		*open = false;
		return true;
	}
	keys->nranges *= sc->nvalues;
	keys->nprefix++;
	eq->implied = true;
	return true;
}

/*
 * Make a column that is to be NULL the next of the prefix.
 */
void
fpb_add_null(FpbScanKeys *keys)
{
	FpbScanColumn *sc = &keys->prefix[keys->nprefix++];

	sc->eq = NULL;
	sc->values = NULL;
	sc->nvalues = 1;
	sc->nlisted = 1;
	sc->goes_along = false;
}
