/*-------------------------------------------------------------------------
 *
 * scan/ranges.c
 *	  The ranges of an index that the scan keys ask for, each made from its number.
 *
 * Each combination of values of the equality prefix gives one range, and the
 * ranges are numbered in index order: a mixed-radix number whose digits are
 * the columns' values.  The columns of a list of keys have one digit in
 * common.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "scan/qual.h"
#include "scan/timezone.h"

/*
 * How many leading members of a row comparison bound the range from one side?
 * They must be successive index columns, all ascending or all descending.  A
 * NULL ends them, and so does a member that depends on the time zone.
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
 * Does the bound that a row comparison's first n members give leave out
 * entries that are equal in all of them?
 */
static bool
row_is_strict(const FpbQual *q, int n)
{
	ScanKey		members = (ScanKey) DatumGetPointer(q->key->sk_argument);

	return fpb_is_strict(q->strategy) && (members[n - 1].sk_flags & SK_ROW_END) != 0;
}

/*
 * Does being in a range imply the row comparison that bounds this end of it?
 * It does if all members bound it, but for entries that are equal to the first
 * members and NULL in the next one.  These do not satisfy it.  They lie in the
 * range if NULLs come at the range's side of the values.
 *
 * So it is with the default order of NULLs and ">", but not with "<".
 */
void
fpb_imply_row(FpbScanKeys *keys, bool upper)
{
	FpbQual    *q = upper ? keys->range_upper : keys->range_lower;
	ScanKey		members;
	bool		nulls = false;
	int			n;

	if (q == NULL || q->kind != FPB_QUAL_ROW)
		return;
	members = (ScanKey) DatumGetPointer(q->key->sk_argument);
	n = row_members(keys, q);
	if (n == 0 || (members[n - 1].sk_flags & SK_ROW_END) == 0)
		return;
	for (int i = 1; i < n; i++)
		nulls |= keys->ix->cols[q->col + i].nulls_first == upper;
	q->implied = !nulls;
	q->implied_but_nulls = nulls;
}

/*
 * Word indexes: the bounds that the members of a row comparison give one end
 * of the range.  False if they can't be used: then the caller takes the first
 * member alone.
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
				fpb_is_upward(q->strategy) ? BTGreaterEqualStrategyNumber :
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
 * Word indexes: the bounds of one end of the column after the prefix, which
 * are the same for all ranges.  False if no value of the column is inside.
 */
bool
fpb_word_range_end(FpbScanKeys *keys, bool upper)
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
	else if (q->kind == FPB_QUAL_ROW &&
			 word_row_bound(keys, q, upper, &bounds[n], &n))
		fpb_imply_row(keys, upper);
	else
	{
		bool		beyond = (upper != keys->ix->cols[n].desc);
		StrategyNumber strategy = q->strategy;

		if (q->kind == FPB_QUAL_ROW || !q->exact)
			strategy = beyond ? BTLessEqualStrategyNumber :
				BTGreaterEqualStrategyNumber;
		if (!fpb_word_column_bound(&keys->ix->cols[n], fpb_bound_value(q, beyond),
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
 * Word indexes: set the bounds of a prefix column to its value in the range.
 */
static void
word_set_value(const FpbScanKeys *keys, FpbKeyRange *range, int c)
{
	const FpbColumn *col = &keys->ix->cols[c];
	const FpbScanColumn *sc = &keys->prefix[c];

	if (sc->eq == NULL)
	{
		fpb_word_null_bound(col, true, false, &range->lower_bounds[c]);
		fpb_word_null_bound(col, true, true, &range->upper_bounds[c]);
		return;
	}
	if (unlikely(!fpb_word_equal_bounds(col, sc->values[range->digits[c]], sc->eq->type,
										sc->eq->own_type ? NULL : sc->eq->cmp,
										&range->lower_bounds[c], &range->upper_bounds[c])))
		elog(ERROR, "value of a scan key has no place in index \"%s\"",
			 RelationGetRelationName(keys->ix->rel));
}

/*
 * Tuple indexes: set a column of a search key to a member of a row comparison.
 * Where its value is of the column's own type, or can be taken as one
 * (fpb_set_integer), so is its comparator the column's own.
 */
static void
set_member(const FpbIndex *ix, ScanKey member, FpbSearchColumn *search)
{
	int			c = member->sk_attno - 1;

	search->value = member->sk_argument;
	search->isnull = false;
	search->cmp = ix->cols[c].cmp;
	if (member->sk_subtype != ix->rel->rd_opcintype[c] &&
		!fpb_own_integer(&ix->cols[c], member->sk_argument, &member->sk_func, &search->value))
		search->cmp = &member->sk_func;
}

/*
 * Tuple indexes: complete the search key of one end.  The columns of the
 * prefix are there already; this adds the column after them and, of a row
 * comparison, those that follow.
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
			set_member(ix, &members[i], &search->cols[n++]);
		include_equal = !row_is_strict(q, nmembers);
	}
	else
	{
		search->cols[n].value = fpb_bound_value(q, upper != ix->cols[n].desc);
		search->cols[n].isnull = false;
		search->cols[n].cmp = q->cmp;
		n++;
		include_equal = q->kind == FPB_QUAL_ROW || !q->exact ||
			!fpb_is_strict(q->strategy);
	}

	/*
	 * The lower end lies before equal entries if they belong to the range,
	 * the upper end after them.
	 */
	search->ncols = n;
	search->named_node = 0;
	search->on_equal = (include_equal != upper) ? 1 : -1;
	search->tail = search->on_equal > 0 ? FPB_TAIL_MIN : FPB_TAIL_MAX;
}

/*
 * Tuple indexes: set the head of a search key whose columns are complete.  Of
 * a column's own type are those values that its own comparator is for.
 */
void
fpb_set_search_head(const FpbIndex *ix, FpbSearchKey *search)
{
	Datum		values[INDEX_MAX_KEYS];
	bool		isnull[INDEX_MAX_KEYS];
	int			own = 0;

	search->head = 0;
	search->has_head = false;
	while (own < search->ncols && search->cols[own].cmp == ix->cols[own].cmp)
	{
		values[own] = search->cols[own].value;
		isnull[own] = search->cols[own].isnull;
		own++;
	}

	/*
	 * A head made of two columns must not be guessed from the first if the
	 * search key has a second.
	 */
	if (own == 0 || own < Min(search->ncols, fpb_head_columns(ix)))
		return;
	search->has_head = fpb_head_of(ix, values, isnull, own,
								   search->on_equal < 0, &search->head);
	if (search->has_head)
		fpb_search_key_set_bytes(ix, search);
}

/*
 * Tuple indexes: set a prefix column of both search keys to its value.
 */
static void
tuple_set_value(const FpbScanKeys *keys, FpbKeyRange *range, int c)
{
	const FpbScanColumn *sc = &keys->prefix[c];
	FpbSearchColumn *col = &range->lower.cols[c];

	col->isnull = (sc->eq == NULL);
	col->value = col->isnull ? (Datum) 0 : sc->values[range->digits[c]];
	col->cmp = col->isnull ? keys->ix->cols[c].cmp : sc->eq->cmp;
	range->upper.cols[c] = *col;
}

/*
 * Set a prefix column of a range to its value.
 */
static inline void
set_value(const FpbScanKeys *keys, FpbKeyRange *range, int c)
{
	if (fpb_is_word(keys->ix))
		word_set_value(keys, range, c);
	else
		tuple_set_value(keys, range, c);
}

/*
 * Make the search keys of a range whose prefix has its values.
 */
static void
set_search_keys(FpbScanKeys *keys, FpbKeyRange *range)
{
	if (fpb_is_word(keys->ix))
	{
		range->has_lower = keys->nlower > 0;
		range->has_upper = keys->nupper > 0;
		if (range->has_lower)
			fpb_word_search_key(keys->ix, range->lower_bounds, keys->nlower, false,
								&range->lower);
		if (range->has_upper)
			fpb_word_search_key(keys->ix, range->upper_bounds, keys->nupper, true,
								&range->upper);
	}
	else
	{
		range->lower.low = range->upper.low = 0;
		tuple_range_end(keys, false, &range->lower);
		tuple_range_end(keys, true, &range->upper);
		range->has_lower = range->lower.ncols > 0;
		range->has_upper = range->upper.ncols > 0;
		fpb_set_search_head(keys->ix, &range->lower);
		if (keys->nprefix < keys->ix->nkeyatts)
			fpb_set_search_head(keys->ix, &range->upper);
		else
		{
			/* both ends have all columns, with the same values */
			range->upper.head = range->lower.head;
			range->upper.has_head = range->lower.has_head;
			range->upper.nbytes = range->lower.nbytes;
			if (keys->ix->first_size > 0)
				memcpy(range->upper.bytes, range->lower.bytes, FPB_SEARCH_BYTES);
		}
	}
}

/*
 * Make *range the range of that number, unless it is that already.
 */
void
fpb_key_range_set(FpbScanKeys *keys, FpbKeyRange *range, int64 number)
{
	bool		word = fpb_is_word(keys->ix);
	bool		fresh = range->generation != keys->generation;
	int			final = keys->nprefix - 1;
	int64		rest = number;
	int			digit = 0;

	if (!fresh && range->number == number)
		return;
	Assert(number >= 0 && number < keys->nranges);

	/* the next value of the last column needs no division */
	if (!fresh && number == range->number + 1 && final >= 0 &&
		range->digits[final] + 1 < keys->prefix[final].nvalues)
	{
		range->number = number;
		for (int c = final;; c--)
		{
			range->digits[c]++;
			set_value(keys, range, c);
			if (!keys->prefix[c].goes_along)
				break;
		}
		set_search_keys(keys, range);
		return;
	}
	range->generation = keys->generation;
	range->number = number;

	/* what all ranges have in common is the column after the prefix */
	if (word && fresh)
	{
		for (int c = keys->nprefix; c < keys->nlower; c++)
			range->lower_bounds[c] = keys->lower_bounds[c];
		for (int c = keys->nprefix; c < keys->nupper; c++)
			range->upper_bounds[c] = keys->upper_bounds[c];
	}

	for (int c = 0; c < keys->nprefix; c++)
	{
		if (keys->nranges > 1 && !keys->prefix[c].goes_along)
		{
			digit = (int) (rest / keys->prefix[c].weight);
			rest %= keys->prefix[c].weight;
		}
		if (!fresh && digit == range->digits[c])
			continue;
		range->digits[c] = digit;
		set_value(keys, range, c);
	}
	set_search_keys(keys, range);
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
	sign = fpb_call_cmp(sc->eq->cmp, col->collation, datum, sc->values[digit]);
	if (!col->desc)
		INVERT_COMPARE_RESULT(sign);
	return sign;
}

/*
 * The same of the values that columns with a digit in common have, from column
 * c on.  The key has ncols columns: what is missing is less than any value.
 */
static inline int
compare_digit(const FpbScanKeys *keys, int c, int digit, const Datum *values,
			  const bool *isnull, int ncols)
{
	int			end = c + keys->prefix[c].nlisted;

	for (int i = c; i < Min(end, ncols); i++)
	{
		int			sign = compare_value(keys, i, digit, values[i], isnull[i]);

		if (sign != 0)
			return sign;
	}
	return end <= ncols ? 0 : 1;
}

/*
 * The first digit of column c, from start on, whose value is not before an
 * entry's; the number of values if there is none.  *equal: is it equal?  The
 * search gallops, because the value usually is near start.
 */
static int
seek_value(const FpbScanKeys *keys, int c, int start, const Datum *values,
		   const bool *isnull, int ncols, bool *equal)
{
	int			n = keys->prefix[c].nvalues;
	int			lo = start;
	int			hi = start;
	int			step = 1;

	*equal = false;
	while (hi < n)
	{
		int			sign = compare_digit(keys, c, hi, values, isnull, ncols);

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
		int			sign = compare_digit(keys, c, mid, values, isnull, ncols);

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
 * is none.  So a scan skips combinations of array elements that the index does
 * not have.
 *
 * pivot: key is a fence, whose trailing columns may be missing.  from: a range
 * that lies before key, where the search begins.  NULL: with the first.
 */
int64
fpb_keys_seek(FpbScanKeys *keys, const FpbKey *key, bool pivot,
			  const FpbKeyRange *from)
{
	const FpbIndex *ix = keys->ix;
	Datum		values[INDEX_MAX_KEYS];
	bool		isnull[INDEX_MAX_KEYS];
	FpbTupleSpace space;
	int			ncols = keys->nprefix;
	bool		same = from != NULL;
	int64		range = 0;

	if (fpb_is_word(ix) && pivot)
		fpb_word_fence_datums(ix, key, false, values, isnull);
	else if (fpb_is_word(ix))
		fpb_word_datums(ix, key, values, isnull);
	else
	{
		if (pivot)
			ncols = Min(ncols, fpb_pivot_natts(ix, key->tuple));
		fpb_tuple_datums(ix, fpb_whole_tuple(ix, key, &space), ncols, values, isnull);
	}

	for (int c = 0; c < ncols; c += keys->prefix[c].nlisted)
	{
		const FpbScanColumn *sc = &keys->prefix[c];
		bool		equal;
		int			start = 0;
		int			digit;

		/* it is after that range, so not at its value of the last digit */
		if (same)
			start = from->digits[c] + (c + sc->nlisted == keys->nprefix);
		digit = seek_value(keys, c, start, values, isnull, ncols, &equal);

		/* a digit past the last carries over by itself */
		range += digit * sc->weight;
		if (!equal)
			break;
		if (same && digit != from->digits[c])
			same = false;
	}
	fpb_free_datums(ix, values, isnull);
	return range;
}
