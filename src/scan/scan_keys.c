/*-------------------------------------------------------------------------
 *
 * scan/scan_keys.c
 *	  What the scan keys mean: ranges of the index, and filters.
 *
 * The leading columns that are "=", "= ANY" or IS NULL are the equality prefix
 * (scan/equality.c, scan/arrays.c).  The next column may be bounded from below
 * and above (scan/bounds.c).  Each combination of values of the prefix gives
 * one range of the index (scan/ranges.c).  Any range can be made from its
 * number, in either direction and by any worker of a parallel scan, and none
 * is stored.
 *
 * Whatever a key says beyond that is a filter, checked for every entry
 * (scan/filters.c).  All decisions here are about which keys need not be
 * filters; a key that is not understood better is one, so that it can't give a
 * wrong answer.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "scan/qual.h"
#include "scan/timezone.h"

/*
 * Set the value of a key that has one.
 */
static void
set_value(FpbScanKeys *keys, FpbQual *q, Datum value)
{
	if (q->integer_cmp != NULL)
		fpb_set_integer(keys, q, value);
	else if (q->zone_cmp != NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(fpb_array_context(keys));

		q->exact = fpb_zone_translate(q->zone_cmp, value, &q->value, &q->high);
		MemoryContextSwitchTo(old);
	}
	else
		q->value = value;
}

/*
 * Get the value of a key.  False if no entry can satisfy it: all operators are
 * strict, so none satisfies NULL or an array without elements.
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
			return (key->sk_flags & SK_ISNULL) == 0 && fpb_array_fetch(keys, q);

		case FPB_QUAL_NULL:
		case FPB_QUAL_NOT_NULL:
			break;
	}
	return true;
}

/*
 * Turn the keys of a column into values or bounds.  All columns before it
 * belong to the prefix.  False if the keys contradict each other.  *open
 * becomes false if the prefix ends with this column or before it.
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
				eq = fpb_better_equality(q, eq);
		}
	}

	if (is_null)
	{
		fpb_add_null(keys);
		return !strict && !not_null;
	}
	if (eq != NULL)
		return fpb_add_equality(keys, colno, eq, open);
	*open = false;
	fpb_add_bounds(keys, colno, not_null);
	return true;
}

/*
 * The one range of keys that are "=" on each column of a prefix, and nothing
 * else.  False if a value is NULL.
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
		if (q->integer_cmp != NULL)
			fpb_set_integer(keys, q, q->value);
		sc->eq = q;
		sc->values = &q->value;
		sc->nvalues = 1;
		sc->weight = 1;
		sc->nlisted = 1;
		sc->goes_along = false;
		keys->nprefix++;
	}
	return true;
}

#ifdef USE_ASSERT_CHECKING
/*
 * Has the prefix all columns of a list of keys, or none?  With a part of them,
 * ranges would not be disjoint.
 */
static bool
has_whole_list(const FpbScanKeys *keys)
{
	int			nlisted = 0;
	int			nprefix = 0;

	for (int i = 0; i < keys->nquals; i++)
		nlisted += keys->quals[i].listed;
	for (int c = 0; c < keys->nprefix; c++)
		nprefix += keys->prefix[c].eq != NULL && keys->prefix[c].eq->listed;
	return nprefix == 0 || nprefix == nlisted;
}
#endif

/*
 * The ranges and filters of any keys.  False if nothing can satisfy them.
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
		keys->quals[i].implied = keys->quals[i].implied_but_nulls = false;
		keys->quals[i].in_set = false;
		if (!fetch_value(keys, &keys->quals[i]))
			return false;
	}

	for (int col = 0; open && col < keys->ix->nkeyatts; col++)
		if (!resolve_column(keys, col, &open))
			return false;

	Assert(has_whole_list(keys));
	for (int c = keys->nprefix - 1; c >= 0; c--)
	{
		keys->prefix[c].weight = weight;
		if (!keys->prefix[c].goes_along)
			weight *= keys->prefix[c].nvalues;
	}
	return true;
}

/*
 * Bound the column after the prefix.  False if no value of it is within the
 * bounds.
 */
static bool
set_range_ends(FpbScanKeys *keys)
{
	if (fpb_is_word(keys->ix))
		return fpb_word_range_end(keys, false) && fpb_word_range_end(keys, true);
	fpb_imply_row(keys, false);
	fpb_imply_row(keys, true);
	return true;
}

/*
 * The keys that being in a range does not imply are filters.  False if nothing
 * can satisfy them.
 */
static bool
find_filters(FpbScanKeys *keys)
{
	for (int i = 0; i < keys->nquals; i++)
	{
		FpbQual    *q = &keys->quals[i];

		if (q->implied)
			continue;
		keys->filters[keys->nfilters++] = q;
		keys->nulls_only &= q->implied_but_nulls;
	}
	if (keys->nfilters == 0)
		return true;
	fpb_note_filtered(keys);
	return fpb_find_sets(keys);
}

/*
 * Set up the keys of an index scan; its memory context is the current one.
 */
void
fpb_keys_init(FpbScanKeys *keys, FpbIndex *ix)
{
	keys->ix = ix;
	keys->cxt = CurrentMemoryContext;
	keys->array_cxt = keys->form_cxt = NULL;
	keys->generation = 0;
	keys->nquals = 0;
	keys->quals = NULL;
	keys->sets = NULL;
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
	if (keys->sets != NULL)
		pfree(keys->sets);
	if (keys->array_cxt != NULL)
		MemoryContextDelete(keys->array_cxt);
	if (keys->form_cxt != NULL)
		MemoryContextDelete(keys->form_cxt);
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
	fpb_analyse_keys(keys, scankeys, nkeys);
	keys->prepared = true;
	keys->generation++;
	keys->nprefix = 0;
	keys->nranges = 1;
	keys->range_lower = keys->range_upper = NULL;
	keys->range_not_null = false;
	keys->nfilters = 0;
	keys->nulls_only = true;
	keys->leaps = false;

	keys->empty = !(keys->simple ? prepare_simple(keys, scankeys) :
					prepare_general(keys, scankeys)) ||
		!set_range_ends(keys) ||
		!(keys->simple || find_filters(keys));
	return !keys->empty;
}
