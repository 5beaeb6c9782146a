/*-------------------------------------------------------------------------
 *
 * key/bound.c
 *	  Bounds of scans in word indexes: from conditions on columns to search
 *	  keys.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/stratnum.h"
#include "catalog/pg_type.h"
#include "utils/date.h"
#include "utils/fmgroids.h"
#include "utils/timestamp.h"

#include "key/code.h"

static inline bool
code_is_less(FpbCode a, FpbCode b)
{
	return a.hi != b.hi ? a.hi < b.hi : a.lo < b.lo;
}

/* The greatest raw code of a type. */
static FpbCode
max_raw(const FpbWordType *type)
{
	FpbCode		max;

	max.hi = type->bits >= 64 ? PG_UINT64_MAX :
		(UINT64CONST(1) << type->bits) - 1;
	max.lo = type->bits == 128 ? PG_UINT64_MAX : 0;
	return max;
}

/* The next raw code.  The caller knows that there is one. */
static FpbCode
next_raw(const FpbWordType *type, FpbCode raw)
{
	if (type->bits < 128)
		raw.hi++;
	else if (++raw.lo == 0)
		raw.hi++;
	return raw;
}

/* Step back to the previous raw code.  False if there is none. */
static bool
previous_raw(const FpbWordType *type, FpbCode *raw)
{
	if (raw->hi == 0 && raw->lo == 0)
		return false;
	if (type->bits < 128)
		raw->hi--;
	else if (raw->lo-- == 0)
		raw->hi--;
	return true;
}

/*
 * Sign of the value nearest to a raw code minus a value of another type.
 */
static int
compare_raw(const FpbColumn *col, FpbCode raw, int64 slack, Datum value,
			FmgrInfo *cmp)
{
	Datum		nearest = fpb_code_decode(col->word->kind, fpb_code_nearest(col->word, raw, slack),
										  false);

	return DatumGetInt32(FunctionCall2Coll(cmp, col->collation, nearest, value));
}

/*
 * Guess the last raw code whose value is <= a value of another type.  False if
 * nothing is known of that type.  A wrong guess does no harm.
 */
static bool
guess_code(const FpbWordType *type, Datum value, Oid value_type, FpbCode *raw)
{
	Datum		own;

	if (type->type == DATEOID && value_type == TIMESTAMPOID)
	{
		Timestamp	t = DatumGetTimestamp(value);
		int64		days = t / USECS_PER_DAY - (t % USECS_PER_DAY < 0);

		if (TIMESTAMP_NOT_FINITE(t))
			days = TIMESTAMP_IS_NOBEGIN(t) ? DATEVAL_NOBEGIN : DATEVAL_NOEND;
		own = DateADTGetDatum((DateADT) days);
	}
	else if (type->type == TIMESTAMPOID && value_type == DATEOID)
	{
		DateADT		days = DatumGetDateADT(value);
		int64		most = PG_INT64_MAX / USECS_PER_DAY;
		Timestamp	t = Min(Max((int64) days, -most), most) * USECS_PER_DAY;

		if (DATE_NOT_FINITE(days))
			t = DATE_IS_NOBEGIN(days) ? DT_NOBEGIN : DT_NOEND;
		own = TimestampGetDatum(t);
	}
	else if (type->type == FLOAT4OID && value_type == FLOAT8OID)
		own = Float4GetDatum((float4) DatumGetFloat8(value));
	else if (type->type == FLOAT8OID && value_type == FLOAT4OID)
		own = Float8GetDatum((float8) DatumGetFloat4(value));
	else
		return false;
	*raw = fpb_code_encode(type->kind, own);
	return true;
}

/*
 * Is the code that search_codes looks for, with slack 0, the one guessed, or
 * the one before it?  Two comparisons tell.  If so, sets *found to what
 * search_codes returns, and *last.
 */
static bool
is_guessed(const FpbColumn *col, Datum value, Oid value_type, FmgrInfo *cmp,
		   bool inclusive, bool *found, FpbCode *last)
{
	int			limit = inclusive ? 0 : -1;
	FpbCode		max = max_raw(col->word);

	if (!guess_code(col->word, value, value_type, last))
		return false;
	*found = true;
	if (compare_raw(col, *last, 0, value, cmp) <= limit)
		return last->hi == max.hi ||
			compare_raw(col, next_raw(col->word, *last), 0, value, cmp) > limit;
	*found = previous_raw(col->word, last);
	return !*found || compare_raw(col, *last, 0, value, cmp) <= limit;
}

/*
 * Find the last raw code whose nearest value, within slack, is < value
 * (inclusive: <= value).  False if there is none.  It is found bit by bit, in
 * one comparison for each bit and one more.
 */
static bool
search_codes(const FpbColumn *col, int64 slack, Datum value, FmgrInfo *cmp,
			 bool inclusive, FpbCode *last)
{
	int			limit = inclusive ? 0 : -1;
	FpbCode		raw = {0, 0};

	if (compare_raw(col, raw, slack, value, cmp) > limit)
		return false;

	for (int bit = col->word->bits - 1; bit >= 0; bit--)
	{
		FpbCode		trial = raw;

		if (col->word->bits < 128)
			trial.hi |= UINT64CONST(1) << bit;
		else if (bit >= 64)
			trial.hi |= UINT64CONST(1) << (bit - 64);
		else
			trial.lo |= UINT64CONST(1) << bit;
		if (compare_raw(col, trial, slack, value, cmp) <= limit)
			raw = trial;
	}
	*last = raw;
	return true;
}

/*
 * Find the last raw code whose value is < value (inclusive: <= value) by a
 * comparator of other types than the column's own.  False if there is none.
 *
 * The comparator may not expect values beyond the range of the type's input.
 * It gets such values only if the value compared with is finite and beyond
 * that range itself.
 */
static bool
search_cut(const FpbColumn *col, Datum value, Oid value_type, FmgrInfo *cmp,
		   bool inclusive, FpbCode *last)
{
	const FpbWordType *type = col->word;
	FpbCode		max = max_raw(type);
	FpbCode		next;
	bool		found;

	if (!is_guessed(col, value, value_type, cmp, inclusive, &found, last))
		found = search_codes(col, 0, value, cmp, inclusive, last);
	if (!found)
		return false;
	if (type->slack == 0 || last->hi == max.hi)
		return true;

	/* have the codes on both sides of the cut been compared themselves? */
	next = next_raw(type, *last);
	if (fpb_code_nearest(type, *last, 0).hi == last->hi &&
		fpb_code_nearest(type, next, 0).hi == next.hi)
		return true;
	/* what is finite lies on one side of an infinity */
	if (compare_raw(col, last->hi == 0 ? *last : max, 0, value, cmp) == 0)
		return true;
	return search_codes(col, type->slack, value, cmp, inclusive, last);
}

/*
 * If the comparator is the server's own of two integer types, get value as an
 * int64.  (An operator family may have another one for these types.)
 */
static bool
integer_value(const FpbWordType *type, Datum value, FmgrInfo *cmp, int64 *i)
{
	if (type->type != INT2OID && type->type != INT4OID && type->type != INT8OID)
		return false;

	switch (cmp->fn_oid)
	{
		case F_BTINT42CMP:
		case F_BTINT82CMP:
			*i = DatumGetInt16(value);
			return true;
		case F_BTINT24CMP:
		case F_BTINT84CMP:
			*i = DatumGetInt32(value);
			return true;
		case F_BTINT28CMP:
		case F_BTINT48CMP:
			*i = DatumGetInt64(value);
			return true;
		default:
			return false;
	}
}

/*
 * Is cmp the server's own comparator of a column's integers with those of
 * another type?  So there is no other that fpb_own_integer knows.
 */
bool
fpb_compares_integers(const FpbColumn *col, FmgrInfo *cmp)
{
	int64		i;

	return col->word != NULL && integer_value(col->word, Int64GetDatum(0), cmp, &i);
}

/*
 * Turn an integer of another type, whose comparator with the column's type is
 * cmp, into the same one of the column's type.  The two are one value to the
 * comparators.  False if the column's type has no such integer.
 */
bool
fpb_own_integer(const FpbColumn *col, Datum value, FmgrInfo *cmp, Datum *own)
{
	const FpbWordType *type = col->word;
	FpbCode		raw = {0, 0};
	int64		i;

	if (type == NULL || !integer_value(type, value, cmp, &i) ||
		i < type->min || i > type->max)
		return false;
	raw.hi = (uint64) i - (uint64) type->min;
	*own = fpb_code_decode(type->kind, raw, false);
	return true;
}

/*
 * Are bounds of a column by this value found without calling cmp, the
 * comparator of (column type, value_type)?
 */
bool
fpb_word_bound_is_cheap(const FpbColumn *col, Datum value, Oid value_type, FmgrInfo *cmp)
{
	int64		i;

	return value_type == col->word->type || integer_value(col->word, value, cmp, &i);
}

/*
 * Find the last raw code whose value is < value (inclusive: <= value).  False
 * if there is none.
 */
static bool
find_cut(const FpbColumn *col, Datum value, Oid value_type, FmgrInfo *cmp,
		 bool inclusive, FpbCode *last)
{
	const FpbWordType *type = col->word;
	int64		i;

	if (!OidIsValid(value_type) || value_type == type->type)
		*last = fpb_code_encode(type->kind, value);
	else if (cmp == NULL)
		elog(ERROR, "no comparator of types %u and %u given",
			 type->type, value_type);
	else if (integer_value(type, value, cmp, &i))
	{
		if (i < type->min)
			return false;
		*last = max_raw(type);
		if (i > type->max)
			return true;
		/* type->min has raw code 0 */
		last->hi = (uint64) i - (uint64) type->min;
	}
	else
		return search_cut(col, value, value_type, cmp, inclusive, last);

	return inclusive || previous_raw(type, last);
}

/* Set a bound to the values of a code. */
static inline void
set_value_bound(const FpbColumn *col, FpbCode code, bool upper,
				FpbColumnBound *bound)
{
	bound->code = code.hi;
	bound->low = code.lo;
	bound->isnull = false;
	if (fpb_code_is_zero(col, code))
		bound->tie = upper ? 1 : 0;
	else
		bound->tie = fpb_code_tie(col, code);
}

/*
 * Find the raw codes, from *first to *last, whose values satisfy "column op
 * value", for strategies <, <=, =, >=, >.  False if there are none.
 */
static bool
satisfying_codes(const FpbColumn *col, Datum value, Oid value_type, FmgrInfo *cmp,
				 StrategyNumber strategy, FpbCode *first, FpbCode *last)
{
	const FpbWordType *type = col->word;
	FpbCode		max = max_raw(type);
	FpbCode		cut;

	first->hi = first->lo = 0;
	*last = max;
	switch (strategy)
	{
		case BTLessStrategyNumber:
		case BTLessEqualStrategyNumber:
			return find_cut(col, value, value_type, cmp,
							strategy == BTLessEqualStrategyNumber, last);

		case BTEqualStrategyNumber:
			if (!find_cut(col, value, value_type, cmp, true, last))
				return false;
			if (find_cut(col, value, value_type, cmp, false, &cut))
			{
				if (!code_is_less(cut, *last))
					return false;
				*first = next_raw(type, cut);
			}
			return true;

		case BTGreaterEqualStrategyNumber:
		case BTGreaterStrategyNumber:
			if (find_cut(col, value, value_type, cmp,
						 strategy == BTGreaterStrategyNumber, &cut))
			{
				if (!code_is_less(cut, max))
					return false;
				*first = next_raw(type, cut);
			}
			return true;

		default:
			elog(ERROR, "unrecognized strategy number: %d", strategy);
	}
}

/*
 * Set *bound to the lower or upper end, in index order, of the raw codes from
 * first to last, which satisfying_codes has found for a value of this type.
 */
static inline void
set_end_bound(const FpbColumn *col, FpbCode first, FpbCode last, Oid value_type,
			  bool upper, FpbColumnBound *bound)
{
	const FpbWordType *type = col->word;
	FpbCode		end = upper != col->desc ? last : first;

	/*
	 * A value of another type has been compared with all codes.  The code
	 * found may be no value's, and decode to a neighbour's value.  The bound
	 * is that value's own code.  Otherwise "=" could have two bounds of
	 * different codes, between which the next column is not in order.
	 */
	if (OidIsValid(value_type) && value_type != type->type)
		end = fpb_code_encode(type->kind, fpb_code_decode(type->kind, fpb_code_nearest(type, end, type->slack), false));
	set_value_bound(col, fpb_code_direct(col, end), upper, bound);
}

/*
 * Set *bound to the lower or upper end, in index order, of the values of a
 * column that satisfy "column op value", for strategies <, <=, =, >=, >.  The
 * bound is inclusive.  If the condition leaves that end open, it is the end of
 * all values that are not NULL.  (For a DESC column, > and >= bound the upper
 * end.)  False if no value of the column satisfies the condition.
 *
 * cmp compares (column type, value_type).  It is NULL for the column's own
 * type.
 */
bool
fpb_word_column_bound(const FpbColumn *col, Datum value, Oid value_type,
					  FmgrInfo *cmp, StrategyNumber strategy, bool upper,
					  FpbColumnBound *bound)
{
	FpbCode		first;
	FpbCode		last;

	if (!satisfying_codes(col, value, value_type, cmp, strategy, &first, &last))
		return false;
	set_end_bound(col, first, last, value_type, upper, bound);
	return true;
}

/*
 * Set *lower and *upper to both ends of the values of a column that satisfy
 * "column = value", as fpb_word_column_bound does.
 */
bool
fpb_word_equal_bounds(const FpbColumn *col, Datum value, Oid value_type,
					  FmgrInfo *cmp, FpbColumnBound *lower, FpbColumnBound *upper)
{
	const FpbWordType *type = col->word;
	FpbCode		first = {0, 0};
	FpbCode		last;
	int64		i;

	if (value_type == type->type)
		first = last = fpb_code_encode(type->kind, value);
	else if (integer_value(type, value, cmp, &i))
	{
		if (i < type->min || i > type->max)
			return false;
		first.hi = (uint64) i - (uint64) type->min;
		last = first;
		value_type = type->type;	/* the code is that of a value */
	}
	else if (!satisfying_codes(col, value, value_type, cmp, BTEqualStrategyNumber, &first, &last))
		return false;
	if (value_type == type->type && !type->is_float)
	{
		/* zeros apart, both ends of a code are the same */
		set_value_bound(col, fpb_code_direct(col, first), false, lower);
		*upper = *lower;
		return true;
	}
	set_end_bound(col, first, last, value_type, false, lower);
	set_end_bound(col, first, last, value_type, true, upper);
	return true;
}

/*
 * Set *bound to the lower or upper end, in index order, of a column's NULLs
 * (null), or of its values that are not NULL.
 */
void
fpb_word_null_bound(const FpbColumn *col, bool null, bool upper,
					FpbColumnBound *bound)
{
	if (null)
	{
		FpbCoded	coded = fpb_code_of_column(col, (Datum) 0, true);

		bound->code = coded.code.hi;
		bound->low = coded.code.lo;
		bound->tie = coded.tie;
		bound->isnull = true;
	}
	else
	{
		FpbCode		raw = {0, 0};

		if (upper != col->desc)
			raw = max_raw(col->word);
		set_value_bound(col, fpb_code_direct(col, raw), upper, bound);
	}
}

/*
 * Make *search one end of the key range in which the first ncols columns are
 * at bounds[]: the lower end, which is <= each entry of the range, or the
 * upper one, which is > each of them.
 *
 * Columns without a bound get their own end, NULLs included.  fpb_word_compose
 * keeps the order of the columns, so the ends of the columns make the end of
 * the word.  The tail of an upper end is the last one of its tie.  No entry
 * has that tail, because its block number is invalid.
 */
void
fpb_word_search_key(const FpbIndex *ix, const FpbColumnBound *bounds, int ncols,
					bool upper, FpbSearchKey *search)
{
	FpbCoded	coded[FPB_MAX_WORD_COLUMNS];
	uint32		tie;

	search->has_head = true;
	search->named_node = 0;
	search->ncols = 0;
	search->on_equal = 0;

	/* arrays have many */
	if (ix->nkeyatts == 1 && ncols == 1)
	{
		search->head = ix->form == FPB_WORD4 ? bounds->code << 32 : bounds->code;
		search->low = bounds->low;
		search->tail = (uint64) bounds->tie << FPB_TAIL_TIE_SHIFT |
			(upper ? FPB_TAIL_TID_MASK : 0);
		return;
	}

	for (int i = 0; i < ix->nkeyatts; i++)
	{
		if (i < ncols)
		{
			coded[i].code.hi = bounds[i].code;
			coded[i].code.lo = bounds[i].low;
			coded[i].tie = bounds[i].tie;
		}
		else
		{
			const FpbColumn *col = &ix->cols[i];

			coded[i].code.hi = upper ? fpb_code_mask(col) : 0;
			coded[i].code.lo = upper && col->width == 128 ? PG_UINT64_MAX : 0;
			coded[i].tie = upper && !col->nulls_first ? 1 : 0;
		}
	}

	fpb_word_compose(ix, coded, &search->head, &search->low, &tie);
	search->tail = (uint64) tie << FPB_TAIL_TIE_SHIFT;
	if (upper)
		search->tail |= FPB_TAIL_TID_MASK;
}

/* fpb_search_keys_equal for words: zeros of either sign are equal. */
void
fpb_word_search_keys_equal(const FpbIndex *ix, const FpbKey *key, bool upper,
						   FpbSearchKey *search)
{
	FpbCoded	coded[FPB_MAX_WORD_COLUMNS];
	FpbColumnBound bounds[FPB_MAX_WORD_COLUMNS];

	fpb_word_split(ix, key, coded);
	for (int i = 0; i < ix->nkeyatts; i++)
	{
		const FpbColumn *col = &ix->cols[i];

		bounds[i].code = coded[i].code.hi;
		bounds[i].low = coded[i].code.lo;
		bounds[i].isnull = fpb_code_is_null(col, &coded[i]);
		bounds[i].tie = coded[i].tie;
		if (fpb_code_is_zero(col, coded[i].code))
			bounds[i].tie = upper ? 1 : 0;
	}
	fpb_word_search_key(ix, bounds, ix->nkeyatts, upper, search);
}
