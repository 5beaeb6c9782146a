/*-------------------------------------------------------------------------
 *
 * scan/bounds.c
 *	  The bounds of the column after the equality prefix: which keys give them.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "scan/qual.h"

/*
 * Of bounds with equal values, the one of higher rank is tighter.
 */
static inline int
bound_rank(const FpbQual *q)
{
	if (q->kind == FPB_QUAL_ROW)
		return 1;
	return fpb_is_strict(q->strategy) ? 2 : 0;
}

/*
 * Is bound a at least as tight as bound b, both taken as bounds from below
 * (upward) or from above?  False if they can't be compared.
 */
static bool
is_tighter(FpbScanKeys *keys, const FpbQual *a, const FpbQual *b, bool upward)
{
	FmgrInfo   *cmp = fpb_pair_proc(keys, a, b);
	int			sign;

	if (cmp == NULL)
		return false;
	sign = fpb_call_cmp(cmp, keys->ix->cols[a->col].collation,
						fpb_bound_value(a, !upward), fpb_bound_value(b, !upward));
	if (sign == 0)
		return bound_rank(a) >= bound_rank(b);
	return upward ? sign > 0 : sign < 0;
}

/*
 * Can the key bound a range?
 */
static bool
is_bound(const FpbQual *q)
{
	if (q->kind == FPB_QUAL_NULL || q->kind == FPB_QUAL_NOT_NULL || q->cmp == NULL)
		return false;
	if (q->kind == FPB_QUAL_ARRAY && !q->sorted)
		return false;
	if (q->strategy == BTEqualStrategyNumber)
		return !q->exact && q->kind == FPB_QUAL_OP; /* two bounds */
	return true;
}

/*
 * Find the bounds of a column that has no "=" to give values.  A key without
 * an exact value gives bounds that are wider than the key: it stays a filter,
 * and such bounds imply no other key.
 */
void
fpb_add_bounds(FpbScanKeys *keys, int colno, bool not_null)
{
	FpbQual    *bounds[2] = {NULL, NULL};	/* downward, upward */

	for (int i = 0; i < keys->nquals; i++)
	{
		FpbQual    *q = &keys->quals[i];

		if (q->col != colno || !is_bound(q))
			continue;
		for (int side = 0; side < 2; side++)
		{
			if (q->strategy != BTEqualStrategyNumber &&
				fpb_is_upward(q->strategy) != (side == 1))
				continue;
			if (bounds[side] == NULL ||
				is_tighter(keys, q, bounds[side], side == 1))
				bounds[side] = q;
		}
	}

	for (int i = 0; i < keys->nquals; i++)
	{
		FpbQual    *q = &keys->quals[i];
		bool		upward = fpb_is_upward(q->strategy);
		FpbQual    *bound = bounds[upward];

		if (q->col != colno)
			continue;
		if (q->kind == FPB_QUAL_NOT_NULL)
			q->implied = true;
		else if (is_bound(q) && q->exact && q->kind != FPB_QUAL_ROW)
			q->implied = q == bound ||
				(bound->exact && is_tighter(keys, bound, q, upward));
	}

	keys->range_not_null = not_null || bounds[0] != NULL || bounds[1] != NULL;
	keys->range_lower = bounds[keys->ix->cols[colno].desc ? 0 : 1];
	keys->range_upper = bounds[keys->ix->cols[colno].desc ? 1 : 0];
}
