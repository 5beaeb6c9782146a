/*-------------------------------------------------------------------------
 *
 * scan/filters.c
 *	  Filters: does an entry satisfy the keys that being in a range does not imply?
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "scan/qual.h"

/*
 * Does a key with one operator hold for a value of the column?  It is
 * evaluated as the executor would, by the operator's own function.
 */
bool
fpb_qual_match(const FpbScanKeys *keys, const FpbQual *q, Datum value)
{
	ScanKey		key = q->key;

	if (q->kind == FPB_QUAL_ARRAY)
		return fpb_array_match(keys, q, value);
	return DatumGetBool(FunctionCall2Coll(&key->sk_func, key->sk_collation,
										  value, key->sk_argument));
}

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
		sign = fpb_call_cmp(&member->sk_func, member->sk_collation, values[c],
							member->sk_argument);
		if (sign != 0 || (member->sk_flags & SK_ROW_END))
			return fpb_strategy_holds(q->strategy, sign);
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
			return !isnull[q->col] && fpb_qual_match(keys, q, values[q->col]);
		case FPB_QUAL_ROW:
			return match_row(q, values, isnull);
	}
	pg_unreachable();
}

/*
 * Get the values of the columns that the filters are about, from a word of
 * several columns: none is NULL, and none is allocated.  False if they have to
 * be got in another way.
 */
static inline bool
get_filtered(const FpbScanKeys *keys, const FpbKey *key, Datum *values, bool *isnull)
{
	for (int c = 0; c < keys->nfields; c++)
	{
		const FpbColumn *col = &keys->ix->cols[c];
		FpbCode		code = {fpb_field_code(key, &keys->fields[c]), 0};

		if (unlikely(fpb_field_has_tie(&keys->fields[c], code.hi)))
			return false;
		if ((keys->filtered & (1 << c)) == 0)
			continue;
		values[c] = fpb_code_decode((FpbWordKind) col->word->kind, fpb_code_direct(col, code), true);
		isnull[c] = false;
	}
	return keys->nfields > 0;
}

/*
 * Does an entry with these values pass all filters?
 */
static inline bool
match_quals(const FpbScanKeys *keys, const Datum *values, const bool *isnull)
{
	for (int i = 0; i < keys->nfilters; i++)
		if (!match_qual(keys, keys->filters[i], values, isnull))
			return false;
	return true;
}

/*
 * Does an entry of an index of words pass all filters, whatever they are?
 */
static bool
match_word(FpbScanKeys *keys, const FpbKey *key)
{
	Datum		values[INDEX_MAX_KEYS];
	bool		isnull[INDEX_MAX_KEYS];
	bool		match;

	if (!keys->by_code && get_filtered(keys, key, values, isnull))
		return match_quals(keys, values, isnull);
	fpb_word_datums(keys->ix, key, values, isnull);
	match = match_quals(keys, values, isnull);
	fpb_free_datums(keys->ix, values, isnull);
	return match;
}

/*
 * Does one of an index of tuples?  Columns after those that are filtered are
 * not looked at, and the first one is only if it must be: most tuples lack a
 * part of it.
 */
static bool
match_tuple(FpbScanKeys *keys, const FpbKey *key, FpbJoiner *joiner)
{
	Datum		values[INDEX_MAX_KEYS];
	bool		isnull[INDEX_MAX_KEYS];

	if (keys->later)
		fpb_later_datums(keys->ix, key, keys->nfiltered, joiner, values, isnull);
	else
		fpb_tuple_datums(keys->ix, fpb_join_next(keys->ix, key, joiner), keys->nfiltered,
						 values, isnull);
	return match_quals(keys, values, isnull);
}

/* do codes pass? */
typedef enum CodesMatch
{
	CODES_FAIL,
	CODES_PASS,
	CODES_TIE					/* they don't tell */
} CodesMatch;

/*
 * Do the codes of an entry's columns [from, to) pass the filters, which codes
 * decide?
 */
static inline CodesMatch
match_codes(const FpbScanKeys *keys, const FpbKey *key, int from, int to)
{
	CodesMatch	match = CODES_PASS;

	for (int c = from; c < to; c++)
	{
		uint64		code = fpb_field_code(key, &keys->fields[c]);

		if (unlikely(fpb_field_has_tie(&keys->fields[c], code)))
			return CODES_TIE;
		if (code < keys->least[c] || code > keys->greatest[c])
			match = CODES_FAIL;
	}
	return match;
}

/*
 * Of n items in order, keep those that pass the filters, which codes decide;
 * returns how many.  Neighbours often have the same head, and with that the
 * same first columns.
 */
static int
keep_by_code(FpbScanKeys *keys, FpbItem *items, int n)
{
	uint64		head = 0;
	CodesMatch	first = CODES_FAIL; /* of the first columns of that head */
	int			kept = 0;

	for (int i = 0; i < n; i++)
	{
		const FpbKey *key = &items[i].key;
		CodesMatch	match;

		if (i == 0 || key->head != head)
		{
			head = key->head;
			first = match_codes(keys, key, 0, keys->nfirst);
		}
		match = first;
		if (first == CODES_PASS)
			match = match_codes(keys, key, keys->nfirst, keys->nfields);
		if (match == CODES_FAIL || (match == CODES_TIE && !match_word(keys, key)))
			continue;
		if (kept != i)
			items[kept] = items[i];
		kept++;
	}
	return kept;
}

/*
 * Of n items in order, keep those that pass all filters; returns how many.
 */
int
fpb_keys_keep(FpbScanKeys *keys, FpbItem *items, int n)
{
	FpbJoiner	joiner;
	int			kept = 0;

	if (keys->by_code)
		return keep_by_code(keys, items, n);
	joiner.there.page = NULL;
	for (int i = 0; i < n; i++)
	{
		const FpbKey *key = &items[i].key;

		Assert(!keys->nulls_only || !fpb_is_word(keys->ix));
		if (fpb_is_word(keys->ix) ? !match_word(keys, key) :
			!(keys->nulls_only && !IndexTupleHasNulls(key->tuple)) &&
			!match_tuple(keys, key, &joiner))
			continue;
		if (kept != i)
			items[kept] = items[i];
		kept++;
	}
	return kept;
}

/*
 * The last column that a row comparison is about.
 */
static int
last_column(const FpbQual *q)
{
	ScanKey		member = (ScanKey) DatumGetPointer(q->key->sk_argument);
	int			last = q->col;

	for (;; member++)
	{
		last = Max(last, member->sk_attno - 1);
		if (member->sk_flags & SK_ROW_END)
			return last;
	}
}

/*
 * Narrow the codes of a filter's column that pass to those of the values that
 * satisfy it.  False if they don't tell that.
 */
static bool
narrow_codes(FpbScanKeys *keys, const FpbQual *q)
{
	const FpbColumn *col = &keys->ix->cols[q->col];
	uint64	   *least = &keys->least[q->col];
	uint64	   *greatest = &keys->greatest[q->col];
	FmgrInfo   *cmp = q->own_type ? NULL : q->cmp;
	FpbColumnBound lower;
	FpbColumnBound upper;

	if (q->kind == FPB_QUAL_NOT_NULL || q->implied_but_nulls)
		return true;
	if (q->kind != FPB_QUAL_OP || q->cmp == NULL || !q->exact ||
		!fpb_word_bound_is_cheap(col, q->value, q->type, q->cmp))
		return false;
	if (fpb_word_column_bound(col, q->value, q->type, cmp, q->strategy, false, &lower) &&
		fpb_word_column_bound(col, q->value, q->type, cmp, q->strategy, true, &upper))
	{
		*least = Max(*least, lower.code);
		*greatest = Min(*greatest, upper.code);
	}
	else
	{
		*least = PG_UINT64_MAX; /* no value satisfies it */
		*greatest = 0;
	}
	return true;
}

/*
 * Tuple indexes: which columns are the filters about?
 */
static void
note_columns(FpbScanKeys *keys)
{
	keys->nfiltered = 0;
	keys->later = true;
	for (int i = 0; i < keys->nfilters; i++)
	{
		const FpbQual *q = keys->filters[i];
		bool		row = q->kind == FPB_QUAL_ROW;

		keys->nfiltered = Max(keys->nfiltered, (row ? last_column(q) : q->col) + 1);
		keys->later &= q->col > 0 && !row;
	}
}

/*
 * The filters have been found: which columns are they about, and do codes
 * decide?
 *
 * They do if each filter is an operator, or IS NOT NULL, on a word of several
 * columns: the bounds of ranges are found in the same way.  And they do if it
 * is a row comparison that only NULLs fail.  Then nothing is decoded, and no
 * function called, unless a column has a tie, as NULLs have.
 */
void
fpb_note_filtered(FpbScanKeys *keys)
{
	const FpbIndex *ix = keys->ix;
	bool		by_value = true;

	keys->nfields = keys->nfirst = keys->filtered = 0;
	keys->by_code = fpb_is_word(ix) && ix->nkeyatts > 1;
	if (!fpb_is_word(ix))
		note_columns(keys);
	if (!keys->by_code)
		return;
	memset(keys->least, 0, sizeof(keys->least));
	memset(keys->greatest, 0xFF, sizeof(keys->greatest));
	for (int i = 0; i < keys->nfilters; i++)
	{
		const FpbQual *q = keys->filters[i];

		if (q->kind == FPB_QUAL_ROW)
		{
			by_value = false;
			keys->nfields = Max(keys->nfields, last_column(q) + 1);
		}
		else
		{
			by_value &= ix->cols[q->col].by_value;
			keys->filtered |= 1 << q->col;
			keys->nfields = Max(keys->nfields, q->col + 1);
		}
		keys->by_code = keys->by_code && narrow_codes(keys, q);
	}
	if (!keys->by_code && !by_value)
		keys->nfields = 0;
	if (keys->nfields == 0)
		return;
	fpb_word_fields(ix, keys->fields);
	while (keys->nfirst < keys->nfields && !fpb_field_needs_low(&keys->fields[keys->nfirst]))
		keys->nfirst++;
}
