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
 * Does an entry pass all filters?
 */
bool
fpb_keys_match(FpbScanKeys *keys, const FpbKey *key)
{
	Datum		values[INDEX_MAX_KEYS];
	bool		isnull[INDEX_MAX_KEYS];
	bool		match = true;
	bool		got = get_filtered(keys, key, values, isnull);

	if (!got)
		fpb_key_datums(keys->ix, key, values, isnull);
	for (int i = 0; match && i < keys->nfilters; i++)
		match = match_qual(keys, keys->filters[i], values, isnull);
	if (!got)
		fpb_free_datums(keys->ix, values, isnull);
	return match;
}

/*
 * The filters have been found: which columns are they about?
 */
void
fpb_note_filtered(FpbScanKeys *keys)
{
	const FpbIndex *ix = keys->ix;

	keys->nfields = keys->filtered = 0;
	if (!fpb_is_word(ix) || ix->nkeyatts == 1)
		return;
	for (int i = 0; i < keys->nfilters; i++)
	{
		const FpbQual *q = keys->filters[i];

		if (q->kind == FPB_QUAL_ROW || !ix->cols[q->col].by_value)
		{
			keys->nfields = 0;
			return;
		}
		keys->filtered |= 1 << q->col;
		keys->nfields = Max(keys->nfields, q->col + 1);
	}
	if (keys->nfields > 0)
		fpb_word_fields(ix, keys->fields);
}
