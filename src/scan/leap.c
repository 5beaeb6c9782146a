/*-------------------------------------------------------------------------
 *
 * scan/leap.c
 *	  Leaps: how a scan passes over keys of a range that can't satisfy the keys.
 *
 * A condition on a column bounds no range if a column before it has no "=": of
 * "a < 9 AND b = 5", or "b = 5" alone, the range is all entries with such an
 * a.  If a has few values, nearly all of them have another b.  So where a scan
 * has come to a key that can't satisfy the conditions, it leaps to the next
 * one that could: a skip scan.
 *
 * Each column has a set of values that the conditions allow (scan/sets.c).
 * Going forward from a key,
 *
 *	  the first column whose value is not in its set becomes the next value
 *	  that is, and the columns after it become the first of their sets;
 *
 *	  if there is no such value, the nearest column before it that has a next
 *	  one in its set gets that, and so on.
 *
 *		  b = 5:	(1,9) -> (2,5)	(2,3) -> (2,5)	(2,5) matches
 *
 * Where the next value is not known, as of texts, the scan leaps to the place
 * after all keys with the value at hand: ('x',9) -> ('x', infinity).  There it
 * finds the next value.
 *
 * Backward it is the mirror image.  All that is asked is the key, never the
 * pages: no key that is passed over satisfies the conditions, wherever it may
 * be, now or later.  So where a leap goes is a place to go on from as good as
 * a fence.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "key/prefix.h"
#include "key/tuple.h"
#include "scan/qual.h"

/*
 * The values of a key's first columns.
 */
typedef struct KeyValues
{
	int			natts;			/* so many are there: those of a pivot may be
								 * missing */
	bool		forward;		/* of the leap */
	Datum		values[INDEX_MAX_KEYS]; /* tuple indexes */
	bool		isnull[INDEX_MAX_KEYS];
	FpbCoded	coded[INDEX_MAX_KEYS];	/* where values are compared by code */
} KeyValues;

/*
 * Code and tie of a value, the tie of shared codes only.
 */
static inline FpbCoded
plain_coded(const FpbColumn *col, FpbCoded coded)
{
	if (!fpb_code_is_shared(col, coded.code))
		coded.tie = 0;
	return coded;
}

/*
 * Get the values of the columns that direct leaps, and of those before.
 */
static inline void
get_values(const FpbScanKeys *keys, const FpbKey *key, bool pivot, FpbTupleSpace *space,
		   KeyValues *v)
{
	const FpbIndex *ix = keys->ix;

	v->natts = keys->last_set + 1;
	if (fpb_is_word(ix))
	{
		fpb_word_split(ix, key, v->coded);
		for (int c = 0; c < v->natts; c++)
			v->coded[c] = plain_coded(&ix->cols[c], v->coded[c]);
		return;
	}
	if (pivot)
		v->natts = Min(v->natts, fpb_pivot_natts(ix, key->tuple));
	fpb_tuple_datums(ix, pivot ? key->tuple : fpb_whole_tuple(ix, key, space), v->natts,
					 v->values, v->isnull);
	for (int c = keys->nprefix; c < v->natts; c++)
		if (keys->sets[c].by_code)
			v->coded[c] = plain_coded(&ix->cols[c],
									  fpb_code_of_column(&ix->cols[c], v->values[c], v->isnull[c]));
}

/*
 * Sign of a column's value against the end of an interval that is not open.
 */
static inline int
compare_end(const FpbScanKeys *keys, const KeyValues *v, int c, const FpbSetEnd *end)
{
	const FpbColumn *col = &keys->ix->cols[c];

	if (keys->sets[c].by_code)
		return fpb_compare_coded(&v->coded[c], &end->coded);
	return fpb_compare_values(col, col->cmp, v->values[c], v->isnull[c], end->value, end->isnull);
}

/*
 * Is a column's value before the beginning of an interval, or after its end?
 */
static inline bool
is_before(const FpbScanKeys *keys, const KeyValues *v, int c, const FpbSetEnd *low)
{
	int			sign = low->open ? 1 : compare_end(keys, v, c, low);

	return sign < 0 || (sign == 0 && low->excluded);
}

static inline bool
is_after(const FpbScanKeys *keys, const KeyValues *v, int c, const FpbSetEnd *high)
{
	int			sign = high->open ? -1 : compare_end(keys, v, c, high);

	return sign > 0 || (sign == 0 && high->excluded);
}

/*
 * Find the interval of a column's set that its value is in, or the next one in
 * the direction of the leap; -1 if there is none.  *inside: is it in there?
 */
static int
find_interval(const FpbScanKeys *keys, const KeyValues *v, int c, bool *inside)
{
	const FpbColumnSet *set = &keys->sets[c];
	int			lo = 0;			/* intervals before this one end before it */
	int			hi = set->n;	/* those from this one on don't */

	if (hi == 1 && set->low->open && set->high->open)
	{
		*inside = true;
		return 0;
	}
	while (lo < hi)
	{
		int			mid = lo + (hi - lo) / 2;

		if (is_after(keys, v, c, &set->high[mid]))
			lo = mid + 1;
		else
			hi = mid;
	}
	*inside = lo < set->n && !is_before(keys, v, c, &set->low[lo]);
	if (v->forward || *inside)
		return lo < set->n ? lo : -1;
	return lo - 1;
}

/*
 * Step to the code next to one, in a direction.  False if there is none.
 */
static bool
step_code(const FpbColumn *col, bool forward, FpbCoded *coded)
{
	FpbCode		end;

	end.hi = forward ? fpb_code_mask(col) : 0;
	end.lo = forward && col->width == 128 ? PG_UINT64_MAX : 0;
	if (fpb_code_is_shared(col, coded->code) && coded->tie == (forward ? 0 : 1))
	{
		coded->tie = forward ? 1 : 0;
		return true;
	}
	if (coded->code.hi == end.hi && coded->code.lo == end.lo)
		return false;
	if (col->width < 128)
		coded->code.hi += forward ? 1 : -1;
	else if (forward && ++coded->code.lo == 0)
		coded->code.hi++;
	else if (!forward && coded->code.lo-- == 0)
		coded->code.hi--;
	coded->tie = !forward && fpb_code_is_shared(col, coded->code) ? 1 : 0;
	return true;
}

/* what comes next to a column's value */
typedef enum NextValue
{
	NEXT_NONE,					/* nothing */
	NEXT_TAKEN,					/* a value, which the column has now */
	NEXT_UNKNOWN				/* perhaps a value, but not known which */
} NextValue;

/*
 * Make a column's value, which has a code, the one with the next code.
 *
 * In an index of words any code will do.  In one of tuples the code must stand
 * for a value, and for another one than before: beyond a float's infinity all
 * codes stand for NaN.
 */
static NextValue
take_next(const FpbScanKeys *keys, KeyValues *v, int c)
{
	const FpbColumn *col = &keys->ix->cols[c];
	FpbCoded	coded = v->coded[c];
	bool		null = false;
	Datum		value = (Datum) 0;
	int			sign;

	if (!step_code(col, v->forward, &coded))
		return NEXT_NONE;
	if (!fpb_is_word(keys->ix))
	{
		null = fpb_code_is_null(col, &coded);
		if (!null)
		{
			FpbCode		raw = fpb_code_nearest(col->word, fpb_code_direct(col, coded.code),
											   col->word->slack);

			value = fpb_code_decode(col->word->kind, raw, false);
			coded = plain_coded(col, fpb_code_of_column(col, value, false));
		}
		sign = fpb_compare_coded(&coded, &v->coded[c]);
		if (v->forward ? sign <= 0 : sign >= 0)
			return NEXT_UNKNOWN;
	}
	v->values[c] = value;
	v->isnull[c] = null;
	v->coded[c] = coded;
	return NEXT_TAKEN;
}

/*
 * Make a column's value an end of an interval that is not open.
 */
static void
take_end(const FpbScanKeys *keys, KeyValues *v, int c, const FpbSetEnd *end)
{
	const FpbColumn *col = &keys->ix->cols[c];

	if (!keys->sets[c].by_code)
	{
		v->values[c] = end->value;
		v->isnull[c] = end->isnull;
		return;
	}
	v->coded[c] = end->coded;
	if (fpb_is_word(keys->ix))
		return;
	v->isnull[c] = fpb_code_is_null(col, &end->coded);
	if (!v->isnull[c])
		v->values[c] = fpb_code_decode(col->word->kind, fpb_code_direct(col, end->coded.code), false);
}

/*
 * Make *place that of the first ncols values: before all keys that begin with
 * them, or after.
 */
static void
set_place(const FpbScanKeys *keys, const KeyValues *v, int ncols, bool after, FpbSearchKey *place)
{
	const FpbIndex *ix = keys->ix;

	if (fpb_is_word(ix))
	{
		FpbColumnBound bounds[FPB_MAX_WORD_COLUMNS];

		for (int c = 0; c < ncols; c++)
		{
			bounds[c].code = v->coded[c].code.hi;
			bounds[c].low = v->coded[c].code.lo;
			bounds[c].tie = v->coded[c].tie;
			if (after && fpb_code_is_zero(&ix->cols[c], v->coded[c].code))
				bounds[c].tie = 1;
		}
		fpb_word_search_key(ix, bounds, ncols, after, place);
		return;
	}
	for (int c = 0; c < ncols; c++)
	{
		place->cols[c].value = v->values[c];
		place->cols[c].isnull = v->isnull[c];
		place->cols[c].cmp = ix->cols[c].cmp;
	}
	place->ncols = ncols;
	place->low = 0;
	place->named_node = 0;
	place->on_equal = after ? -1 : 1;
	place->tail = after ? FPB_TAIL_MAX : FPB_TAIL_MIN;
	fpb_set_search_head(ix, place);
}

/*
 * Leap to the place where the columns before c have their values, column c has
 * the first of an interval of its set (backward: the last), and each one after
 * it the first of its set, as far as these are known.
 */
static FpbLeap
leap_to_interval(const FpbScanKeys *keys, KeyValues *v, int c, int interval, FpbSearchKey *place)
{
	for (;;)
	{
		const FpbColumnSet *set = &keys->sets[c];
		const FpbSetEnd *end = v->forward ? &set->low[interval] : &set->high[interval];

		if (end->open)
			break;
		take_end(keys, v, c, end);
		if (end->excluded)
		{
			set_place(keys, v, c + 1, v->forward, place);
			return FPB_LEAP_TO;
		}
		if (++c > keys->last_set)
			break;
		interval = v->forward ? 0 : keys->sets[c].n - 1;
	}
	set_place(keys, v, c, !v->forward, place);
	return FPB_LEAP_TO;
}

/*
 * The same, with the first of the set of column c, if there is such a column.
 */
static FpbLeap
leap_to_first(const FpbScanKeys *keys, KeyValues *v, int c, FpbSearchKey *place)
{
	if (c <= keys->last_set)
		return leap_to_interval(keys, v, c, v->forward ? 0 : keys->sets[c].n - 1, place);
	set_place(keys, v, c, !v->forward, place);
	return FPB_LEAP_TO;
}

/*
 * What comes next to a column's value, which is compared by the opclass's
 * comparator and is in an interval of the column's set: something that is not
 * known, if it does not end the interval.
 */
static NextValue
look_for_next(const FpbScanKeys *keys, const KeyValues *v, int c, int interval)
{
	const FpbColumnSet *set = &keys->sets[c];
	const FpbSetEnd *end = v->forward ? &set->high[interval] : &set->low[interval];

	if (end->open ? v->isnull[c] && keys->ix->cols[c].nulls_first != v->forward :
		compare_end(keys, v, c, end) == 0)
		return NEXT_NONE;
	return NEXT_UNKNOWN;
}

/*
 * Leap to the next value that column c can have, after the one it has, which
 * is in its set.  FPB_LEAP_OVER if there is none.
 */
static FpbLeap
leap_to_next(const FpbScanKeys *keys, KeyValues *v, int c, FpbSearchKey *place)
{
	const FpbColumnSet *set = &keys->sets[c];
	int			interval = 0;
	bool		inside;
	NextValue	next;

	if (set->by_code)
		next = take_next(keys, v, c);
	else
	{
		interval = find_interval(keys, v, c, &inside);
		next = look_for_next(keys, v, c, interval);
	}
	switch (next)
	{
		case NEXT_UNKNOWN:
			set_place(keys, v, c + 1, v->forward, place);
			return FPB_LEAP_TO;
		case NEXT_TAKEN:
			interval = find_interval(keys, v, c, &inside);
			if (inside)
				return leap_to_first(keys, v, c + 1, place);
			break;
		case NEXT_NONE:
			if (set->by_code)
				return FPB_LEAP_OVER;
			interval += v->forward ? 1 : -1;
			break;
	}
	if (interval < 0 || interval >= set->n)
		return FPB_LEAP_OVER;
	return leap_to_interval(keys, v, c, interval, place);
}

/*
 * Where do keys end that have the values of the columns before the last that
 * directs leaps, and are in this interval of that one's set?
 */
static void
set_run_end(const FpbScanKeys *keys, KeyValues *v, int interval, FpbSearchKey *place)
{
	const FpbSetEnd *end = &keys->sets[keys->last_set].high[interval];

	if (!end->open)
		take_end(keys, v, keys->last_set, end);
	set_place(keys, v, keys->last_set + (end->open ? 0 : 1), end->open || !end->excluded, place);
}

/*
 * Where does a scan leap to that has come to a key of a range: an entry or a
 * pivot.  If it goes on backward, it has come to the place before the key.
 *
 * FPB_LEAP_NOT: nowhere.  Of an entry, going forward, *place is where the keys
 * end, from this one on, that are in the sets.
 *
 * *place points into the key's tuple, or into *space if that is cut, and to
 * values of the keys.
 */
FpbLeap
fpb_keys_leap(const FpbScanKeys *keys, const FpbKey *key, bool pivot, bool forward,
			  FpbTupleSpace *space, FpbSearchKey *place)
{
	KeyValues	v;
	int			interval = 0;
	int			c;

	v.forward = forward;
	get_values(keys, key, pivot, space, &v);
	if (v.natts < keys->nprefix)
		return FPB_LEAP_NOT;
	for (c = keys->nprefix; c < v.natts; c++)
	{
		bool		inside;

		interval = find_interval(keys, &v, c, &inside);
		if (inside)
			continue;
		if (interval >= 0)
			return leap_to_interval(keys, &v, c, interval, place);
		break;
	}
	if (c > keys->last_set)
	{
		if (!pivot && forward)
			set_run_end(keys, &v, interval, place);
		return FPB_LEAP_NOT;
	}

	/* the columns that a pivot lacks are minus infinity */
	if (c == v.natts && forward)
	{
		if (keys->sets[c].low[0].open)
			return FPB_LEAP_NOT;
		return leap_to_first(keys, &v, c, place);
	}
	while (--c >= keys->nprefix)
		if (leap_to_next(keys, &v, c, place) == FPB_LEAP_TO)
			return FPB_LEAP_TO;
	return FPB_LEAP_OVER;
}
