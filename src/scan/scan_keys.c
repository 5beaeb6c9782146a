/*-------------------------------------------------------------------------
 *
 * scan/scan_keys.c
 *	  What the scan keys mean: ranges of the index, and filters.
 *
 * The leading columns that are "=", "= ANY" or IS NULL are the equality
 * prefix.  The next column may be bounded from below and above.  Each
 * combination of values of the prefix gives one range of the index, and the
 * ranges are numbered in index order: a mixed-radix number whose digits are
 * the columns' values.  So any range can be made from its number, in either
 * direction and by any worker of a parallel scan, and none is stored.
 *
 * Whatever a key says beyond that is a filter, checked for every entry.  All
 * decisions here are about which keys need not be filters; a key that is not
 * understood better is one, so that it can't give a wrong answer.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/stratnum.h"
#include "utils/array.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "scan/scan.h"

typedef enum FpbQualKind
{
	FPB_QUAL_OP,				/* column op value */
	FPB_QUAL_ARRAY,				/* column op ANY (array) */
	FPB_QUAL_ROW,				/* (column, ...) op (value, ...) */
	FPB_QUAL_NULL,				/* column IS NULL */
	FPB_QUAL_NOT_NULL			/* column IS NOT NULL */
} FpbQualKind;

/* One scan key. */
struct FpbQual
{
	/* the key's form */
	int			flags;			/* without those of the value */
	AttrNumber	attno;
	StrategyNumber strategy;
	Oid			subtype;
	Oid			func;
	Oid			collation;
	FpbQualKind kind;
	int			col;			/* attno - 1 */

	/* what follows from it */
	Oid			type;			/* of the value, or of the array's elements */
	bool		own_type;		/* is that the column's type? */
	FmgrInfo   *cmp;			/* compares (column, value), or NULL */
	FmgrInfo   *value_cmp;		/* compares (value, value), or NULL */
	FmgrInfo   *zone_cmp;		/* asks for the time zone, so that values are
								 * translated (scan/timezone.c), or NULL */

	/* of this rescan */
	ScanKey		key;
	bool		implied;		/* by being in a range: need not be checked */
	Datum		value;			/* row: of its first member */
	bool		exact;			/* is value what the key's argument is? */
	Datum		high;			/* if not: that is from value to this */
	Datum	   *elems;			/* arrays: without NULLs */
	int			nelems;
	bool		sorted;			/* in index order, no two equal; else they are
								 * as the key has them, good for a filter */
};

/* --- analysis of the keys' form --- */

/*
 * The opfamily's comparison function of (left, right) for a column, or NULL.
 */
static FmgrInfo *
order_proc(FpbScanKeys *keys, MemoryContext cxt, int col, Oid left, Oid right)
{
	Relation	rel = keys->ix->rel;
	Oid			own = rel->rd_opcintype[col];
	Oid			proc;
	FmgrInfo   *info;

	if (left == own && right == own)
		return keys->ix->cols[col].cmp;
	proc = get_opfamily_proc(rel->rd_opfamily[col], left, right, FPB_ORDER_PROC);
	if (!OidIsValid(proc))
		return NULL;
	info = MemoryContextAlloc(cxt, sizeof(FmgrInfo));
	fmgr_info_cxt(proc, info, cxt);
	return info;
}

/*
 * Is the form of the key what it was when it was analysed?
 */
static inline bool
same_form(const FpbQual *q, const ScanKeyData *key)
{
	return q->attno == key->sk_attno &&
		q->strategy == key->sk_strategy &&
		q->subtype == key->sk_subtype &&
		q->func == key->sk_func.fn_oid &&
		q->flags == (key->sk_flags & ~SK_ISNULL);
}

/*
 * Fill in all that is to be known of a key but its value.
 */
static void
analyse_key(FpbScanKeys *keys, FpbQual *q, ScanKey key)
{
	Relation	rel = keys->ix->rel;

	memset(q, 0, sizeof(*q));
	q->flags = key->sk_flags & ~SK_ISNULL;
	q->attno = key->sk_attno;
	q->strategy = key->sk_strategy;
	q->subtype = key->sk_subtype;
	q->func = key->sk_func.fn_oid;
	q->collation = key->sk_collation;
	q->col = key->sk_attno - 1;

	if (q->col < 0 || q->col >= keys->ix->nkeyatts)
		elog(ERROR, "scan key of index \"%s\" is for column %d",
			 RelationGetRelationName(rel), key->sk_attno);

	if (key->sk_flags & SK_SEARCHNULL)
	{
		q->kind = FPB_QUAL_NULL;
		return;
	}
	if (key->sk_flags & SK_SEARCHNOTNULL)
	{
		q->kind = FPB_QUAL_NOT_NULL;
		return;
	}

	if (key->sk_strategy < 1 || key->sk_strategy > BTMaxStrategyNumber)
		elog(ERROR, "unrecognized strategy %d of a scan key of index \"%s\"",
			 key->sk_strategy, RelationGetRelationName(rel));
	if (key->sk_flags & SK_ROW_HEADER)
	{
		ScanKey		member = (ScanKey) DatumGetPointer(key->sk_argument);

		q->kind = FPB_QUAL_ROW;
		q->type = member->sk_subtype;
		q->collation = member->sk_collation;
	}
	else
	{
		q->kind = (key->sk_flags & SK_SEARCHARRAY) ? FPB_QUAL_ARRAY : FPB_QUAL_OP;
		q->type = key->sk_subtype;
	}
	if (!OidIsValid(q->type))
		q->type = rel->rd_opcintype[q->col];
	q->cmp = order_proc(keys, keys->cxt, q->col,
						rel->rd_opcintype[q->col], q->type);
	q->exact = true;
	if (q->cmp != NULL && OidIsValid(fpb_zone_type(q->cmp->fn_oid)))
	{
		q->zone_cmp = q->cmp;
		q->type = fpb_zone_type(q->cmp->fn_oid);
		q->cmp = order_proc(keys, keys->cxt, q->col,
							rel->rd_opcintype[q->col], q->type);
	}
	q->own_type = (q->type == rel->rd_opcintype[q->col]);
	q->value_cmp = order_proc(keys, keys->cxt, q->col, q->type, q->type);
}

/*
 * Analyse the keys' form, unless that has been done in an earlier rescan.
 */
static void
analyse(FpbScanKeys *keys, ScanKey scankeys, int nkeys)
{
	bool		same = (keys->quals != NULL && keys->nquals == nkeys);

	for (int i = 0; same && i < nkeys; i++)
		same = same_form(&keys->quals[i], &scankeys[i]);
	if (same)
		return;

	if (keys->quals != NULL)
		pfree(keys->quals);
	keys->quals = MemoryContextAlloc(keys->cxt,
									 (nkeys + 1) * (sizeof(FpbQual) + sizeof(FpbQual *)));
	keys->filters = (FpbQual **) (keys->quals + nkeys + 1);
	keys->nquals = nkeys;
	keys->simple = true;
	for (int i = 0; i < nkeys; i++)
	{
		FpbQual    *q = &keys->quals[i];

		analyse_key(keys, q, &scankeys[i]);
		if (q->kind != FPB_QUAL_OP || q->strategy != BTEqualStrategyNumber ||
			!q->own_type || q->zone_cmp != NULL || q->col != i)
			keys->simple = false;
	}
}

/* --- values --- */

/*
 * Does "a op b" hold if sign is that of a against b?
 */
static inline bool
strategy_holds(StrategyNumber strategy, int sign)
{
	switch (strategy)
	{
		case BTLessStrategyNumber:
			return sign < 0;
		case BTLessEqualStrategyNumber:
			return sign <= 0;
		case BTEqualStrategyNumber:
			return sign == 0;
		case BTGreaterEqualStrategyNumber:
			return sign >= 0;
		default:
			return sign > 0;
	}
}

static inline bool
is_upward(StrategyNumber strategy)
{
	return strategy == BTGreaterEqualStrategyNumber ||
		strategy == BTGreaterStrategyNumber;
}

static inline bool
is_strict(StrategyNumber strategy)
{
	return strategy == BTLessStrategyNumber ||
		strategy == BTGreaterStrategyNumber;
}

static inline int
call_cmp(FmgrInfo *cmp, Oid collation, Datum a, Datum b)
{
	return DatumGetInt32(FunctionCall2Coll(cmp, collation, a, b));
}

/*
 * The memory for what must live until the next rescan.
 */
static MemoryContext
array_context(FpbScanKeys *keys)
{
	if (keys->array_cxt == NULL)
		keys->array_cxt = AllocSetContextCreate(keys->cxt, "fpbtree scan keys",
												ALLOCSET_SMALL_SIZES);
	return keys->array_cxt;
}

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
	int			sign = call_cmp(cxt->cmp, cxt->collation,
								*(const Datum *) a, *(const Datum *) b);

	if (cxt->desc)
		INVERT_COMPARE_RESULT(sign);
	return sign;
}

/*
 * Translate the elements of an array.  False, and they are as before, if there
 * is one for which no one value will do.
 */
static bool
translate_elements(FpbScanKeys *keys, FpbQual *q)
{
	MemoryContext old = MemoryContextSwitchTo(array_context(keys));
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
 * Take the array of a key apart: sorted in index order, without NULLs and
 * duplicates.  Of an inequality only the extreme element matters, which
 * becomes the key's value.  False if no element is left.
 */
static bool
fetch_array(FpbScanKeys *keys, FpbQual *q)
{
	const FpbColumn *col = &keys->ix->cols[q->col];
	MemoryContext old = MemoryContextSwitchTo(array_context(keys));
	ArrayType  *array = DatumGetArrayTypeP(q->key->sk_argument);
	SortContext sort = {q->value_cmp, col->collation, col->desc};
	int16		typlen;
	bool		typbyval;
	char		typalign;
	bool	   *nulls;
	int			n = 0;

	get_typlenbyvalalign(ARR_ELEMTYPE(array), &typlen, &typbyval, &typalign);
	deconstruct_array(array, ARR_ELEMTYPE(array), typlen, typbyval, typalign,
					  &q->elems, &nulls, &q->nelems);
	MemoryContextSwitchTo(old);

	for (int i = 0; i < q->nelems; i++)
		if (!nulls[i])
			q->elems[n++] = q->elems[i];
	q->nelems = n;
	q->sorted = false;
	if (n == 0)
		return false;
	if (q->cmp == NULL || q->value_cmp == NULL ||
		(q->zone_cmp != NULL && !translate_elements(keys, q)))
		return true;			/* can only be a filter */
	q->sorted = true;

	if (q->strategy != BTEqualStrategyNumber)
	{
		q->value = q->elems[0];
		for (int i = 1; i < n; i++)
		{
			int			sign = call_cmp(q->value_cmp, col->collation,
										q->elems[i], q->value);

			if (is_upward(q->strategy) ? sign < 0 : sign > 0)
				q->value = q->elems[i];
		}
		return true;
	}

	qsort_arg(q->elems, n, sizeof(Datum), compare_elements, &sort);
	q->nelems = 1;
	for (int i = 1; i < n; i++)
		if (call_cmp(q->value_cmp, col->collation, q->elems[i],
					 q->elems[q->nelems - 1]) != 0)
			q->elems[q->nelems++] = q->elems[i];
	return true;
}

/*
 * Set the value of a key that has one.
 */
static void
set_value(FpbScanKeys *keys, FpbQual *q, Datum value)
{
	if (q->zone_cmp != NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(array_context(keys));

		q->exact = fpb_zone_translate(q->zone_cmp, value, &q->value, &q->high);
		MemoryContextSwitchTo(old);
	}
	else
		q->value = value;
}

/*
 * The value of a key, or if that is not exact, the one at the end that beyond
 * says: less than the key's, or greater.
 */
static inline Datum
bound_value(const FpbQual *q, bool beyond)
{
	return beyond && !q->exact ? q->high : q->value;
}

/*
 * Get the value of a key.  False if it is such that no entry can satisfy it:
 * all operators are strict.
 */
static bool
fetch_value(FpbScanKeys *keys, FpbQual *q)
{
	ScanKey		key = q->key;

	switch (q->kind)
	{
		case FPB_QUAL_ROW:
		case FPB_QUAL_OP:
			if (q->kind == FPB_QUAL_ROW)
				key = (ScanKey) DatumGetPointer(key->sk_argument);
			if (key->sk_flags & SK_ISNULL)
				return false;
			set_value(keys, q, key->sk_argument);
			return true;

		case FPB_QUAL_ARRAY:
			return (key->sk_flags & SK_ISNULL) == 0 && fetch_array(keys, q);

		case FPB_QUAL_NULL:
		case FPB_QUAL_NOT_NULL:
			break;
	}
	return true;
}

/*
 * The function that compares values of a with values of b, keys of the same
 * column; NULL if the opfamily has none.
 */
static FmgrInfo *
pair_proc(FpbScanKeys *keys, const FpbQual *a, const FpbQual *b)
{
	if (a->type == b->type)
		return a->value_cmp;
	if (a->own_type)
		return b->cmp;
	return order_proc(keys, array_context(keys), a->col, a->type, b->type);
}

/*
 * Is a value among the elements of a sorted array?  cmp compares (value,
 * element).
 */
static bool
is_element(const FpbColumn *col, FmgrInfo *cmp, Datum value,
		   const Datum *elems, int nelems)
{
	int			lo = 0;
	int			hi = nelems;

	while (lo < hi)
	{
		int			mid = lo + (hi - lo) / 2;
		int			sign = call_cmp(cmp, col->collation, value, elems[mid]);

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
static bool
match_array(const FpbScanKeys *keys, const FpbQual *q, Datum value)
{
	const FpbColumn *col = &keys->ix->cols[q->col];
	ScanKey		key = q->key;

	if (q->sorted && q->strategy == BTEqualStrategyNumber)
		return is_element(col, q->cmp, value, q->elems, q->nelems);
	if (q->sorted)
		return strategy_holds(q->strategy,
							  call_cmp(q->cmp, col->collation, value, q->value));
	for (int i = 0; i < q->nelems; i++)
		if (DatumGetBool(FunctionCall2Coll(&key->sk_func, key->sk_collation,
										   value, q->elems[i])))
			return true;
	return false;
}

/*
 * Does a key with one operator hold for a value of the column?  It is
 * evaluated as the executor would, by the operator's own function.
 */
static bool
match_value(const FpbScanKeys *keys, const FpbQual *q, Datum value)
{
	ScanKey		key = q->key;

	if (q->kind == FPB_QUAL_ARRAY)
		return match_array(keys, q, value);
	return DatumGetBool(FunctionCall2Coll(&key->sk_func, key->sk_collation,
										  value, key->sk_argument));
}

/*
 * Drop those values of a prefix column that another key of the column rules
 * out.  That key is implied then, if its values can be compared at all.
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
		cmp = pair_proc(keys, sc->eq, q);
		if (cmp == NULL)
			return;
	}

	for (int i = 0; i < sc->nvalues; i++)
	{
		Datum		value = sc->values[i];
		bool		keep;

		if (sc->eq->own_type)
			keep = match_value(keys, q, value);
		else if (q->kind == FPB_QUAL_ARRAY && q->strategy == BTEqualStrategyNumber)
			keep = is_element(col, cmp, value, q->elems, q->nelems);
		else
			keep = strategy_holds(q->strategy,
								  call_cmp(cmp, col->collation, value, q->value));
		if (keep)
			sc->values[n++] = value;
	}
	sc->nvalues = n;
	q->implied = true;
}

/* --- the equality prefix --- */

/*
 * Which of two "=" keys of a column (b may be NULL) should give the values?
 */
static FpbQual *
better_equality(FpbQual *a, FpbQual *b)
{
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
		FpbColumnBound bound;
		bool		possible = true;

		for (int upper = 0; upper <= 1; upper++)
			possible &= fpb_word_column_bound(&keys->ix->cols[q->col],
											  sc->values[i], q->type, q->cmp,
											  BTEqualStrategyNumber, upper,
											  &bound);
		if (possible)
			sc->values[n++] = sc->values[i];
	}
	sc->nvalues = n;
}

/*
 * Make a column whose keys include "=" the next of the prefix.  False if the
 * keys contradict each other.  *open becomes false if the prefix ends here.
 */
static bool
add_equality(FpbScanKeys *keys, int colno, FpbQual *eq, bool *open)
{
	FpbScanColumn *sc = &keys->prefix[keys->nprefix];

	sc->eq = eq;
	sc->digit = -1;
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
static void
add_null(FpbScanKeys *keys)
{
	FpbScanColumn *sc = &keys->prefix[keys->nprefix++];

	sc->eq = NULL;
	sc->values = NULL;
	sc->nvalues = 1;
	sc->digit = -1;
}

/* --- the bounds of the column behind the prefix --- */

/*
 * Of bounds with equal values, the one of higher rank is tighter.
 */
static inline int
bound_rank(const FpbQual *q)
{
	if (q->kind == FPB_QUAL_ROW)
		return 1;
	return is_strict(q->strategy) ? 2 : 0;
}

/*
 * Is bound a at least as tight as bound b, both taken as bounds from below
 * (upward) or from above?  False if they can't be compared.
 */
static bool
is_tighter(FpbScanKeys *keys, const FpbQual *a, const FpbQual *b, bool upward)
{
	FmgrInfo   *cmp = pair_proc(keys, a, b);
	int			sign;

	if (cmp == NULL)
		return false;
	sign = call_cmp(cmp, keys->ix->cols[a->col].collation,
					bound_value(a, !upward), bound_value(b, !upward));
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
 * Find the bounds of a column that has no "=" that gives values.  Bounds by a
 * key without an exact value are wider than the key, which is then a filter
 * too, and imply nothing.
 */
static void
add_bounds(FpbScanKeys *keys, int colno, bool not_null)
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
				is_upward(q->strategy) != (side == 1))
				continue;
			if (bounds[side] == NULL ||
				is_tighter(keys, q, bounds[side], side == 1))
				bounds[side] = q;
		}
	}

	for (int i = 0; i < keys->nquals; i++)
	{
		FpbQual    *q = &keys->quals[i];
		bool		upward = is_upward(q->strategy);
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

/*
 * Turn the keys of a column, all columns before which belong to the prefix,
 * into values or bounds.  False if they contradict each other.  *open becomes
 * false if the prefix ends with or before this column.
 */
static bool
resolve_column(FpbScanKeys *keys, int colno, bool *open)
{
	FpbQual    *eq = NULL;
	bool		is_null = false;
	bool		not_null = false;
	bool		strict = false;

	for (int i = 0; i < keys->nquals; i++)
	{
		FpbQual    *q = &keys->quals[i];

		if (q->col != colno)
			continue;
		if (q->kind == FPB_QUAL_NULL)
			is_null = q->implied = true;
		else if (q->kind == FPB_QUAL_NOT_NULL)
			not_null = true;
		else
		{
			strict = true;
			if (q->strategy == BTEqualStrategyNumber)
				eq = better_equality(q, eq);
		}
	}

	if (is_null)
	{
		add_null(keys);
		return !strict && !not_null;
	}
	if (eq != NULL)
		return add_equality(keys, colno, eq, open);
	*open = false;
	add_bounds(keys, colno, not_null);
	return true;
}

/* --- ends of ranges --- */

/*
 * The number of leading members of a row comparison that bound the range from
 * one side: those of successive index columns in one direction, up to a NULL
 * or one that asks for the time zone.
 */
static int
row_members(const FpbScanKeys *keys, const FpbQual *q)
{
	const FpbIndex *ix = keys->ix;
	ScanKey		members = (ScanKey) DatumGetPointer(q->key->sk_argument);
	int			n = 0;

	for (;;)
	{
		int			col = members[n].sk_attno - 1;

		if (col != q->col + n ||
			ix->cols[col].desc != ix->cols[q->col].desc ||
			(members[n].sk_flags & SK_ISNULL) != 0 ||
			OidIsValid(fpb_zone_type(members[n].sk_func.fn_oid)))
			return n;
		n++;
		if (members[n - 1].sk_flags & SK_ROW_END)
			return n;
	}
}

/*
 * Does the bound by a row comparison leave out what is equal in its first n
 * members?
 */
static bool
row_is_strict(const FpbQual *q, int n)
{
	ScanKey		members = (ScanKey) DatumGetPointer(q->key->sk_argument);

	return is_strict(q->strategy) && (members[n - 1].sk_flags & SK_ROW_END) != 0;
}

/*
 * Word indexes: bounds of the range's end by all members of a row comparison.
 * False if it can't be done: then the first member has to do.
 */
static bool
word_row_bound(FpbScanKeys *keys, const FpbQual *q, bool upper,
			   FpbColumnBound *bounds, int *nbounds)
{
	const FpbIndex *ix = keys->ix;
	ScanKey		members = (ScanKey) DatumGetPointer(q->key->sk_argument);
	int			n = row_members(keys, q);

	for (int i = 0; i < n; i++)
	{
		int			col = q->col + i;
		StrategyNumber strategy = BTEqualStrategyNumber;

		/* only the column's own type is tried */
		if (members[i].sk_subtype != ix->rel->rd_opcintype[col])
			return false;
		if (i == n - 1)
			strategy = row_is_strict(q, n) ? q->strategy :
				is_upward(q->strategy) ? BTGreaterEqualStrategyNumber :
				BTLessEqualStrategyNumber;
		if (!fpb_word_column_bound(&ix->cols[col], members[i].sk_argument,
								   ix->rel->rd_opcintype[col], NULL,
								   strategy, upper, &bounds[i]))
			return false;
	}
	*nbounds += n;
	return n > 0;
}

/*
 * Word indexes: the bounds of one end of the column behind the prefix, which
 * are the same for all ranges.  False if no value of the column is inside.
 */
static bool
word_range_end(FpbScanKeys *keys, bool upper)
{
	const FpbQual *q = upper ? keys->range_upper : keys->range_lower;
	FpbColumnBound *bounds = upper ? keys->upper_bounds : keys->lower_bounds;
	int			n = keys->nprefix;

	if (q == NULL)
	{
		if (keys->range_not_null)
		{
			fpb_word_null_bound(&keys->ix->cols[n], false, upper, &bounds[n]);
			n++;
		}
	}
	else if (q->kind != FPB_QUAL_ROW ||
			 !word_row_bound(keys, q, upper, &bounds[n], &n))
	{
		bool		beyond = (upper != keys->ix->cols[n].desc);
		StrategyNumber strategy = q->strategy;

		if (q->kind == FPB_QUAL_ROW || !q->exact)
			strategy = beyond ? BTLessEqualStrategyNumber :
				BTGreaterEqualStrategyNumber;
		if (!fpb_word_column_bound(&keys->ix->cols[n], bound_value(q, beyond),
								   q->type, q->own_type ? NULL : q->cmp,
								   strategy, upper, &bounds[n]))
			return false;
		n++;
	}

	if (upper)
		keys->nupper = n;
	else
		keys->nlower = n;
	return true;
}

/*
 * Word indexes: set the bounds of a prefix column to a value.
 */
static void
word_set_value(FpbScanKeys *keys, int c, int digit)
{
	const FpbColumn *col = &keys->ix->cols[c];
	FpbScanColumn *sc = &keys->prefix[c];
	bool		possible;

	if (sc->eq == NULL)
	{
		fpb_word_null_bound(col, true, false, &keys->lower_bounds[c]);
		fpb_word_null_bound(col, true, true, &keys->upper_bounds[c]);
		return;
	}
	possible = fpb_word_column_bound(col, sc->values[digit], sc->eq->type,
									 sc->eq->own_type ? NULL : sc->eq->cmp,
									 BTEqualStrategyNumber, false,
									 &keys->lower_bounds[c]) &&
		fpb_word_column_bound(col, sc->values[digit], sc->eq->type,
							  sc->eq->own_type ? NULL : sc->eq->cmp,
							  BTEqualStrategyNumber, true,
							  &keys->upper_bounds[c]);
	if (unlikely(!possible))
		elog(ERROR, "value of a scan key has no place in index \"%s\"",
			 RelationGetRelationName(keys->ix->rel));
}

/*
 * Tuple indexes: add the column behind the prefix, and what follows it in a
 * row comparison, to the search key of one end.  The prefix is there already.
 */
static void
tuple_range_end(FpbScanKeys *keys, bool upper, FpbSearchKey *search)
{
	const FpbIndex *ix = keys->ix;
	const FpbQual *q = upper ? keys->range_upper : keys->range_lower;
	int			n = keys->nprefix;
	bool		include_equal = true;

	if (q == NULL)
	{
		/* NULLs are left out if they lie at this end */
		if (keys->range_not_null && ix->cols[n].nulls_first != upper)
		{
			search->cols[n].value = (Datum) 0;
			search->cols[n].isnull = true;
			search->cols[n].cmp = ix->cols[n].cmp;
			n++;
			include_equal = false;
		}
	}
	else if (q->kind == FPB_QUAL_ROW && q->zone_cmp == NULL)
	{
		ScanKey		members = (ScanKey) DatumGetPointer(q->key->sk_argument);
		int			nmembers = row_members(keys, q);

		for (int i = 0; i < nmembers; i++)
		{
			search->cols[n].value = members[i].sk_argument;
			search->cols[n].isnull = false;
			search->cols[n].cmp = &members[i].sk_func;
			n++;
		}
		include_equal = !row_is_strict(q, nmembers);
	}
	else
	{
		search->cols[n].value = bound_value(q, upper != ix->cols[n].desc);
		search->cols[n].isnull = false;
		search->cols[n].cmp = q->cmp;
		n++;
		include_equal = q->kind == FPB_QUAL_ROW || !q->exact ||
			!is_strict(q->strategy);
	}

	/*
	 * The lower end lies before equal entries if they belong to the range,
	 * the upper end behind them.
	 */
	search->ncols = n;
	search->on_equal = (include_equal != upper) ? 1 : -1;
	search->tail = search->on_equal > 0 ? FPB_TAIL_MIN : FPB_TAIL_MAX;
}

/*
 * Is the c'th column of a search key of the opclass's own type?
 */
static bool
search_key_is_own_type(const FpbScanKeys *keys, bool upper, int c)
{
	const FpbQual *q;
	ScanKey		member;

	if (c < keys->nprefix)
		q = keys->prefix[c].eq;
	else
		q = upper ? keys->range_upper : keys->range_lower;
	if (q == NULL)
		return true;			/* NULL */
	if (q->kind != FPB_QUAL_ROW || q->zone_cmp != NULL)
		return q->own_type;
	member = (ScanKey) DatumGetPointer(q->key->sk_argument) + (c - q->col);
	return member->sk_subtype == keys->ix->rel->rd_opcintype[c];
}

/*
 * Tuple indexes: set the head of a search key whose columns are complete.
 */
static void
tuple_set_head(FpbScanKeys *keys, bool upper, FpbSearchKey *search)
{
	Datum		values[INDEX_MAX_KEYS];
	bool		isnull[INDEX_MAX_KEYS];
	int			own = 0;

	search->head = 0;
	search->has_head = false;
	while (own < search->ncols && search_key_is_own_type(keys, upper, own))
	{
		values[own] = search->cols[own].value;
		isnull[own] = search->cols[own].isnull;
		own++;
	}
	if (own == 0)
		return;

	/*
	 * A head made of two columns must not be guessed from the first if the
	 * search key has a second.
	 */
	if (own < search->ncols)
	{
		if (keys->ix->cols[0].head == FPB_HEAD_PAIR)
			return;
		own = 1;
	}
	search->has_head = fpb_head_of(keys->ix, values, isnull, own,
								   search->on_equal < 0, &search->head);
}

/*
 * Tuple indexes: set a prefix column of both search keys to a value.
 */
static void
tuple_set_value(FpbScanKeys *keys, int c, int digit)
{
	FpbScanColumn *sc = &keys->prefix[c];
	FpbSearchColumn *col = &keys->lower.cols[c];

	col->isnull = (sc->eq == NULL);
	col->value = col->isnull ? (Datum) 0 : sc->values[digit];
	col->cmp = col->isnull ? keys->ix->cols[c].cmp : sc->eq->cmp;
	keys->upper.cols[c] = *col;
}

/* --- preparation --- */

/*
 * The range of keys that are "=" on each column of a prefix.
 */
static bool
prepare_simple(FpbScanKeys *keys, ScanKey scankeys)
{
	for (int i = 0; i < keys->nquals; i++)
	{
		FpbQual    *q = &keys->quals[i];
		FpbScanColumn *sc = &keys->prefix[i];

		if (scankeys[i].sk_flags & SK_ISNULL)
			return false;
		q->key = &scankeys[i];
		q->value = scankeys[i].sk_argument;
		sc->eq = q;
		sc->values = &q->value;
		sc->nvalues = 1;
		sc->digit = -1;
		sc->weight = 1;
		keys->nprefix++;
	}
	return true;
}

/*
 * The ranges and filters of any keys.
 */
static bool
prepare_general(FpbScanKeys *keys, ScanKey scankeys)
{
	bool		open = true;
	int64		weight = 1;

	if (keys->array_cxt != NULL)
		MemoryContextReset(keys->array_cxt);
	for (int i = 0; i < keys->nquals; i++)
	{
		keys->quals[i].key = &scankeys[i];
		keys->quals[i].implied = false;
		if (!fetch_value(keys, &keys->quals[i]))
			return false;
	}

	for (int col = 0; open && col < keys->ix->nkeyatts; col++)
		if (!resolve_column(keys, col, &open))
			return false;

	for (int c = keys->nprefix - 1; c >= 0; c--)
	{
		keys->prefix[c].weight = weight;
		weight *= keys->prefix[c].nvalues;
	}
	for (int i = 0; i < keys->nquals; i++)
		if (!keys->quals[i].implied)
			keys->filters[keys->nfilters++] = &keys->quals[i];
	return true;
}

/*
 * Set up the keys of an index scan; its memory context is the current one.
 */
void
fpb_keys_init(FpbScanKeys *keys, FpbIndex *ix)
{
	keys->ix = ix;
	keys->cxt = CurrentMemoryContext;
	keys->array_cxt = NULL;
	keys->nquals = 0;
	keys->quals = NULL;
	fpb_keys_reset(keys);
}

/*
 * Free what the keys have allocated.
 */
void
fpb_keys_end(FpbScanKeys *keys)
{
	if (keys->quals != NULL)
		pfree(keys->quals);
	if (keys->array_cxt != NULL)
		MemoryContextDelete(keys->array_cxt);
}

/*
 * Forget the keys' values: there are new ones.
 */
void
fpb_keys_reset(FpbScanKeys *keys)
{
	keys->prepared = false;
}

/*
 * Make ranges and filters of the keys.  False if nothing can satisfy them.
 * What the keys' arguments point to must live until the next rescan.
 */
bool
fpb_keys_prepare(FpbScanKeys *keys, ScanKey scankeys, int nkeys)
{
	analyse(keys, scankeys, nkeys);
	keys->prepared = true;
	keys->nprefix = 0;
	keys->nranges = 1;
	keys->range = -1;
	keys->range_lower = keys->range_upper = NULL;
	keys->range_not_null = false;
	keys->nfilters = 0;

	keys->empty = !(keys->simple ? prepare_simple(keys, scankeys) :
					prepare_general(keys, scankeys));
	if (!keys->empty && fpb_is_word(keys->ix))
		keys->empty = !word_range_end(keys, false) || !word_range_end(keys, true);
	return !keys->empty;
}

/*
 * Free what fpb_key_datums has allocated: the by-reference columns of words.
 */
static void
free_datums(const FpbIndex *ix, const Datum *values, const bool *isnull)
{
	if (!fpb_is_word(ix))
		return;
	for (int c = 0; c < ix->nkeyatts; c++)
		if (!isnull[c] && !TupleDescAttr(RelationGetDescr(ix->rel), c)->attbyval)
			pfree(DatumGetPointer(values[c]));
}

/* --- ranges --- */

/*
 * Make the search keys of a range.
 */
void
fpb_keys_set_range(FpbScanKeys *keys, int64 range)
{
	bool		word = fpb_is_word(keys->ix);
	int64		rest = range;

	if (keys->range == range)
		return;
	Assert(range >= 0 && range < keys->nranges);
	keys->range = range;

	for (int c = 0; c < keys->nprefix; c++)
	{
		FpbScanColumn *sc = &keys->prefix[c];
		int			digit = 0;

		if (keys->nranges > 1)
		{
			digit = (int) (rest / sc->weight);
			rest %= sc->weight;
		}
		if (digit == sc->digit)
			continue;
		sc->digit = digit;
		if (word)
			word_set_value(keys, c, digit);
		else
			tuple_set_value(keys, c, digit);
	}

	if (word)
	{
		keys->has_lower = keys->nlower > 0;
		keys->has_upper = keys->nupper > 0;
		if (keys->has_lower)
			fpb_word_search_key(keys->ix, keys->lower_bounds, keys->nlower, false,
								&keys->lower);
		if (keys->has_upper)
			fpb_word_search_key(keys->ix, keys->upper_bounds, keys->nupper, true,
								&keys->upper);
	}
	else
	{
		keys->lower.low = keys->upper.low = 0;
		tuple_range_end(keys, false, &keys->lower);
		tuple_range_end(keys, true, &keys->upper);
		keys->has_lower = keys->lower.ncols > 0;
		keys->has_upper = keys->upper.ncols > 0;
		tuple_set_head(keys, false, &keys->lower);
		tuple_set_head(keys, true, &keys->upper);
	}
}

/*
 * Sign of a prefix column's value against an entry's, in index order.
 */
static int
compare_value(const FpbScanKeys *keys, int c, int digit, Datum datum,
			  bool isnull)
{
	const FpbScanColumn *sc = &keys->prefix[c];
	const FpbColumn *col = &keys->ix->cols[c];
	int			sign;

	if (sc->eq == NULL || isnull)
	{
		if (sc->eq == NULL && isnull)
			return 0;
		return (sc->eq == NULL) == col->nulls_first ? -1 : 1;
	}
	/* the function takes (column, value), so this is the opposite sign */
	sign = call_cmp(sc->eq->cmp, col->collation, datum, sc->values[digit]);
	if (!col->desc)
		INVERT_COMPARE_RESULT(sign);
	return sign;
}

/*
 * The first value from start on that is not before an entry's, or the number
 * of values.  It is looked for near start, where it usually is.
 */
static int
seek_value(const FpbScanKeys *keys, int c, int start, Datum datum,
		   bool isnull, bool *equal)
{
	int			n = keys->prefix[c].nvalues;
	int			lo = start;
	int			hi = start;
	int			step = 1;

	*equal = false;
	while (hi < n)
	{
		int			sign = compare_value(keys, c, hi, datum, isnull);

		if (sign >= 0)
		{
			if (sign == 0)
			{
				*equal = true;
				return hi;
			}
			break;
		}
		lo = hi + 1;
		hi = lo + step;
		step *= 2;
	}
	hi = Min(hi, n);
	while (lo < hi)
	{
		int			mid = lo + (hi - lo) / 2;
		int			sign = compare_value(keys, c, mid, datum, isnull);

		if (sign == 0)
		{
			*equal = true;
			return mid;
		}
		if (sign < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/*
 * The number of the first range that may hold entries >= key; nranges if there
 * is none.  This is what skips combinations of array elements that the index
 * does not have.  pivot: key is a fence, whose trailing columns may be
 * missing.  ahead: ranges before the current one don't matter.
 */
int64
fpb_keys_seek(FpbScanKeys *keys, const FpbKey *key, bool pivot, bool ahead)
{
	const FpbIndex *ix = keys->ix;
	Datum		values[INDEX_MAX_KEYS];
	bool		isnull[INDEX_MAX_KEYS];
	int			ncols = keys->nprefix;
	bool		same = ahead && keys->range >= 0;
	int64		range = 0;

	if (fpb_is_word(ix) && pivot)
		fpb_word_fence_datums(ix, key, false, values, isnull);
	else if (fpb_is_word(ix))
		fpb_word_datums(ix, key, values, isnull);
	else
	{
		if (pivot)
			ncols = Min(ncols, fpb_pivot_natts(ix, key->tuple));
		fpb_tuple_datums(ix, key->tuple, ncols, values, isnull);
	}

	for (int c = 0; c < ncols; c++)
	{
		const FpbScanColumn *sc = &keys->prefix[c];
		bool		equal;
		int			digit = seek_value(keys, c, same ? sc->digit : 0,
									   values[c], isnull[c], &equal);

		/* a digit past the last carries over by itself */
		range += digit * sc->weight;
		if (!equal)
			break;
		if (digit != sc->digit)
			same = false;
	}
	free_datums(ix, values, isnull);
	return range;
}

/* --- filters --- */

/*
 * Does a row comparison hold for an entry?
 */
static bool
match_row(const FpbQual *q, const Datum *values, const bool *isnull)
{
	ScanKey		member = (ScanKey) DatumGetPointer(q->key->sk_argument);
	int			sign;

	for (;; member++)
	{
		int			c = member->sk_attno - 1;

		/* NULL before the first difference makes the result NULL */
		if (isnull[c] || (member->sk_flags & SK_ISNULL))
			return false;
		sign = call_cmp(&member->sk_func, member->sk_collation, values[c],
						member->sk_argument);
		if (sign != 0 || (member->sk_flags & SK_ROW_END))
			return strategy_holds(q->strategy, sign);
	}
}

/*
 * Does an entry pass one filter?
 */
static bool
match_qual(const FpbScanKeys *keys, const FpbQual *q, const Datum *values,
		   const bool *isnull)
{
	switch (q->kind)
	{
		case FPB_QUAL_NULL:
			return isnull[q->col];
		case FPB_QUAL_NOT_NULL:
			return !isnull[q->col];
		case FPB_QUAL_OP:
		case FPB_QUAL_ARRAY:
			return !isnull[q->col] && match_value(keys, q, values[q->col]);
		case FPB_QUAL_ROW:
			return match_row(q, values, isnull);
	}
	pg_unreachable();
}

/*
 * Does an entry pass all filters?
 */
bool
fpb_keys_match(FpbScanKeys *keys, const FpbKey *key)
{
	Datum		values[INDEX_MAX_KEYS];
	bool		isnull[INDEX_MAX_KEYS];
	bool		match = true;

	fpb_key_datums(keys->ix, key, values, isnull);
	for (int i = 0; match && i < keys->nfilters; i++)
		match = match_qual(keys, keys->filters[i], values, isnull);
	free_datums(keys->ix, values, isnull);
	return match;
}
