/*-------------------------------------------------------------------------
 *
 * key/compare.c
 *	  Comparison of keys.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/transam.h"
#include "common/int.h"
#include "utils/fmgroids.h"

#include "key/key_bytes.h"
#include "key/join_tuple.h"
#include "key/tuple.h"

/*
 * Is it certain that a comparator runs only code of the server's own, which
 * uses no fpbtree index?  The comparators of containers call that of their
 * elements, which may be anybody's.
 */
static bool
is_simple(const FmgrInfo *cmp)
{
	switch (cmp->fn_oid)
	{
		case F_BTARRAYCMP:
		case F_BTRECORDCMP:
		case F_RANGE_CMP:
		case F_MULTIRANGE_CMP:
			return false;
		default:
			return cmp->fn_oid < FirstGenbkiObjectId;
	}
}

/*
 * Do comparisons of the index's keys with each other run only code of the
 * server's own, which uses no fpbtree index?
 */
bool
fpb_index_is_simple(const FpbIndex *ix)
{
	if (fpb_is_word(ix))
		return true;
	for (int i = 0; i < ix->nkeyatts; i++)
	{
		if (!is_simple(ix->cols[i].cmp))
			return false;
	}
	return true;
}

/*
 * Do comparisons of the index's keys with the search key run only code of the
 * server's own, which uses no fpbtree index?
 */
bool
fpb_search_key_is_simple(const FpbIndex *ix, const FpbSearchKey *search)
{
	if (fpb_is_word(ix))
		return true;
	for (int i = 0; i < search->ncols; i++)
	{
		if (!is_simple(search->cols[i].cmp))
			return false;
	}
	return true;
}

/*
 * Does a key's tuple lack its first column, or the first bytes of that,
 * because prefix and head have them as a code?
 */
static inline bool
key_lacks_first(const FpbIndex *ix, const FpbKey *key)
{
	return key->cut_in != NULL && fpb_lacks_first(ix, key->tuple);
}

/*
 * Does it lack a text, which the page's prefix and the head have?
 */
static inline bool
key_lacks_text(const FpbIndex *ix, const FpbKey *key)
{
	return key->cut_in != NULL && fpb_lacks_text(ix, key->tuple);
}

/*
 * Sign of key - search key by the columns from the reader's next one on to the
 * ncompare'th.  Raises errors as compare_tuple does.
 */
static pg_attribute_always_inline int
compare_rest(FpbTupleReader *reader, const FpbSearchKey *search, int ncompare)
{
	while (reader->next < ncompare)
	{
		int			i = reader->next;
		const FpbSearchColumn *pcol = &search->cols[i];
		Datum		value;
		bool		isnull;
		int			result;

		value = fpb_read_column(reader, &isnull);
		result = fpb_compare_values(&reader->ix->cols[i], pcol->cmp, value, isnull,
									pcol->value, pcol->isnull);
		if (result != 0)
			return result;
	}
	return 0;
}

/*
 * Sign of key - search key by the first column.
 */
static int
compare_first(const FpbIndex *ix, const FpbKey *key, const FpbSearchKey *search,
			  bool has_prefix)
{
	FpbTupleSpace space;
	Datum		value;
	bool		isnull;

	if (ix->byte_order && search->has_head)
		return fpb_compare_first(ix, key, search, has_prefix);
	if (ix->cols[0].by_value && !ix->last_bytes && key_lacks_first(ix, key))
	{
		value = fpb_first_of_head(ix, key);
		isnull = false;
	}
	else
		value = fpb_read_first_column(ix, fpb_whole_tuple(ix, key, &space), &isnull);
	return fpb_compare_values(&ix->cols[0], search->cols[0].cmp, value, isnull,
							  search->cols[0].value, search->cols[0].isnull);
}

/*
 * Sign of key - search key by the first ncompare columns.
 */
static pg_noinline int
compare_columns(const FpbIndex *ix, const FpbKey *key, const FpbSearchKey *search,
				int ncompare, bool has_prefix)
{
	FpbTupleReader reader;
	bool		lacks_first = key_lacks_first(ix, key) || key_lacks_text(ix, key);
	FpbTupleSpace space;
	int			result = compare_first(ix, key, search, has_prefix);

	if (result != 0 || ncompare == 1)
		return result;
	if (lacks_first && fpb_first_left(ix, key->tuple) == 0 &&
		(ix->second == FPB_SECOND_TEXT || fpb_lacks_second(ix, key->tuple)))
		fpb_begin_with_second(&reader, ix, fpb_whole_tuple(ix, key, &space), false);
	else
		fpb_begin_with_second(&reader, ix, key->tuple, lacks_first);
	return compare_rest(&reader, search, ncompare);
}

/*
 * Sign of key - search key by the second column, a text, of which the prefix
 * and the head have the same bytes of both.
 */
static inline int
compare_second(FpbTupleReader *reader, const FpbKey *key, const FpbSearchKey *search)
{
	const FpbIndex *ix = reader->ix;
	const FpbSearchColumn *first = &search->cols[0];
	const FpbSearchColumn *second = &search->cols[1];
	Size		before;
	Size		have = fpb_page_prefix(ix, key->cut_in) + fpb_cut_head_bytes(ix);
	const char *bytes;
	const char *searched;
	Size		length;
	Size		left;
	Size		same;
	void	   *first_copy;
	void	   *copy;
	bool		isnull;
	Datum		value = fpb_read_column(reader, &isnull);
	int			order;

	if (unlikely(isnull || second->isnull ||
				 !fpb_plain_bytes(DatumGetPointer(value), &bytes, &length)))
		return fpb_compare_values(&ix->cols[1], second->cmp, value, isnull,
								  second->value, second->isnull);
	if (ix->first_size > 0)
	{
		before = ix->first_size;
		first_copy = NULL;
	}
	else
		(void) fpb_text_bytes(&ix->cols[0], first->value, &before, &first_copy);
	before += fpb_first_end(ix) + FPB_TEXT_BEGIN;
	searched = fpb_text_bytes(&ix->cols[1], second->value, &left, &copy);
	same = Min(Max(have, before) - before, left);
	order = memcmp(bytes, searched + same, Min(length, left - same));
	if (order == 0)
		order = pg_cmp_size(length, left - same);
	if (unlikely(first_copy != NULL))
		pfree(first_copy);
	if (unlikely(copy != NULL))
		pfree(copy);
	return order;
}

/*
 * compare_columns of a key whose tuple lacks its text, if the search key has
 * the same head in its page.  That has the end of the text, so the texts are
 * the same.  If the tuple lacks the second column, it has the end of that,
 * too.
 */
static pg_attribute_always_inline int
compare_lacking_text(const FpbIndex *ix, const FpbKey *key, const FpbSearchKey *search,
					 int ncompare)
{
	FpbTupleReader reader;
	int			order = 0;

	if (ncompare == 1 || fpb_lacks_second(ix, key->tuple))
		return 0;
	fpb_begin_with_second(&reader, ix, key->tuple, true);
	if (ix->second == FPB_SECOND_TEXT)
		order = compare_second(&reader, key, search);
	return order != 0 ? order : compare_rest(&reader, search, ncompare);
}

/*
 * The same of a key whose tuple has the last bytes of its two codes.
 */
static inline int
compare_last_bytes(const FpbIndex *ix, const FpbKey *key, const FpbSearchKey *search,
				   int ncompare)
{
	Size		known = fpb_page_prefix(ix, key->cut_in) + fpb_cut_head_bytes(ix);
	Size		most = ncompare == 1 ? ix->first_size : search->nbytes;
	Size		start = IndexInfoFindDataOffset(key->tuple->t_info);

	if (known >= most || unlikely(IndexTupleSize(key->tuple) < start))
		return 0;
	return memcmp((char *) key->tuple + start, search->bytes + known,
				  Min(most - known, IndexTupleSize(key->tuple) - start));
}

/*
 * compare_columns of a key whose tuple lacks its code, or has only the last
 * bytes of that, if the search key has the same head in its page, of which the
 * code is a part.
 */
static pg_attribute_always_inline int
compare_lacking_code(const FpbIndex *ix, const FpbKey *key, const FpbSearchKey *search,
					 int ncompare)
{
	FpbTupleReader reader;
	Size		left;
	int			order = 0;

	if (ix->last_bytes)
		return compare_last_bytes(ix, key, search, ncompare);
	left = fpb_first_left(ix, key->tuple);
	if (left > 0)
	{
		fpb_begin_with_second(&reader, ix, key->tuple, true);
		if (unlikely(reader.size < left))
			fpb_tuple_damaged(ix, key->tuple, FPB_PAST_TUPLE);
		order = memcmp(reader.data, (char *) DatumGetPointer(search->cols[0].value) + FPB_UUID_BYTES - left,
					   left);
		if (order != 0)
			return (order < 0) != ix->cols[0].desc ? -1 : 1;
	}
	if (ncompare == 1 || fpb_lacks_second(ix, key->tuple))
		return 0;
	if (left == 0)
		fpb_begin_with_second(&reader, ix, key->tuple, true);
	if (ix->second == FPB_SECOND_TEXT && left == 0)
		order = compare_second(&reader, key, search);
	return order != 0 ? order : compare_rest(&reader, search, ncompare);
}

/*
 * Is the first column of a key's tuple a short varlena, and that of the search
 * key a plain one, which are compared by their bytes, and does what the tuple
 * lacks need no comparison?  This is so of most texts.  Sets *searched and
 * *left to the search key's bytes.
 */
static pg_attribute_always_inline bool
have_short_first(const FpbIndex *ix, const FpbKey *key, const FpbSearchKey *search,
				 bool has_prefix, const char **searched, Size *left)
{
	return ix->cols[0].head == FPB_HEAD_BYTES && search->has_head && !search->cols[0].isnull &&
		fpb_plain_bytes(DatumGetPointer(search->cols[0].value), searched, left) &&
		fpb_first_is_short(ix, key->tuple) &&
		(has_prefix || key->cut_in == NULL || !fpb_is_cut(ix, key->tuple));
}

/*
 * compare_columns of such a key and search key.
 */
static pg_attribute_always_inline int
compare_short(const FpbIndex *ix, const FpbKey *key, const FpbSearchKey *search, int ncompare,
			  const char *searched, Size left)
{
	const char *value = (char *) key->tuple + IndexInfoFindDataOffset(0);
	Size		length = VARSIZE_1B(value) - VARHDRSZ_SHORT;
	FpbTupleReader reader;
	int			order;

	if (key->cut_in != NULL && IndexTupleSize(key->tuple) <= ix->cut_most)
	{
		Size		same = fpb_page_prefix(ix, key->cut_in) + fpb_bytes_in_head(ix, key->head);

		same = Min(same, left);
		searched += same;
		left -= same;
	}
	order = memcmp(VARDATA_1B(value), searched, Min(length, left));
	if (order == 0)
		order = pg_cmp_size(length, left);
	if (order != 0)
		return (order < 0) != ix->cols[0].desc ? -1 : 1;
	if (ncompare == 1)
		return 0;
	fpb_begin_reading(&reader, ix, key->tuple);
	reader.next = 1;
	reader.off = VARHDRSZ_SHORT + length;
	return compare_rest(&reader, search, ncompare);
}

/*
 * Is the first column of a whole tuple the search key's, byte by byte, so that
 * no comparator has to tell that they are equal?  Rows of one status are many.
 * Sets *end to where it ends in the tuple's data.
 */
static pg_attribute_always_inline bool
has_same_first(const FpbIndex *ix, IndexTuple tuple, const FpbSearchKey *search, Size *end)
{
	const FpbColumn *col = &ix->cols[0];
	const FpbSearchColumn *first = &search->cols[0];
	const char *value = (char *) tuple + IndexInfoFindDataOffset(0);
	const char *searched = DatumGetPointer(first->value);
	Datum		by_value = (Datum) 0;
	Size		length;

	if (unlikely(first->isnull || first->cmp != col->cmp || IndexTupleHasNulls(tuple)))
		return false;
	if (col->length == -1)
	{
		if (!fpb_first_is_short(ix, tuple) || !fpb_plain_bytes(searched, &searched, &length))
			return false;
		*end = VARSIZE_1B(value);
		return *end == VARHDRSZ_SHORT + length && memcmp(VARDATA_1B(value), searched, length) == 0;
	}
	if (unlikely(col->length < 0 ||
				 IndexTupleSize(tuple) < IndexInfoFindDataOffset(0) + (Size) col->length))
		return false;
	*end = col->length;
	if (col->by_value && col->length == sizeof(uint32))
	{
		uint32		same;

		memcpy(&same, value, sizeof(same));
		return same == DatumGetUInt32(first->value);
	}
	if (col->by_value)
	{
		store_att_byval(&by_value, first->value, col->length);
		searched = (char *) &by_value;
	}
	return memcmp(value, searched, *end) == 0;
}

/*
 * Sign of key - search key, if the columns that both have are equal; the key
 * has so many.
 */
static pg_attribute_always_inline int
compare_ends(const FpbIndex *ix, const FpbKey *key, const FpbSearchKey *search, int natts)
{
	/* a truncated column is less than any value */
	if (natts < search->ncols)
		return -1;
	if (search->ncols == ix->nkeyatts)
		return pg_cmp_u64(key->tail, search->tail);

	/*
	 * a pivot with the same columns is at the place of a search key that lies
	 * before all its equals
	 */
	if (natts == search->ncols && search->on_equal > 0)
		return 0;
	return search->on_equal;
}

/*
 * Sign of key - search key for tuples whose heads don't tell.  has_prefix: see
 * fpb_compare_first.  Raises an error if a column that is compared is damaged,
 * and what comparators raise.
 */
static pg_attribute_always_inline int
compare_tuple(const FpbIndex *ix, const FpbKey *key, const FpbSearchKey *search,
			  bool has_prefix)
{
	int			natts = fpb_pivot_natts(ix, key->tuple);
	int			ncompare = Min(natts, search->ncols);
	const char *searched;
	Size		left;
	int			result;

	if (ncompare > 0)
	{
		if (ix->first_size > 0 && !key_lacks_first(ix, key))
		{
			FpbTupleReader reader;

			fpb_begin_reading(&reader, ix, key->tuple);
			result = compare_rest(&reader, search, ncompare);
		}
		else if (ix->first_size > 0)
			result = has_prefix && ix->byte_order && search->has_head &&
				!search->cols[0].isnull ?
				compare_lacking_code(ix, key, search, ncompare) :
				compare_columns(ix, key, search, ncompare, has_prefix);
		else if (key_lacks_text(ix, key))
			result = likely(has_prefix && search->has_head && !search->cols[0].isnull) ?
				compare_lacking_text(ix, key, search, ncompare) :
				compare_columns(ix, key, search, ncompare, has_prefix);
		else if (ix->byte_order)
			result = likely(have_short_first(ix, key, search, has_prefix, &searched, &left)) ?
				compare_short(ix, key, search, ncompare, searched, left) :
				compare_columns(ix, key, search, ncompare, has_prefix);
		else if (has_same_first(ix, key->tuple, search, &left))
		{
			FpbTupleReader reader;

			fpb_begin_reading(&reader, ix, key->tuple);
			reader.next = 1;
			reader.off = left;
			result = compare_rest(&reader, search, ncompare);
		}
		else
			result = compare_columns(ix, key, search, ncompare, has_prefix);
		if (result != 0)
			return result;
	}
	return compare_ends(ix, key, search, natts);
}

/* Sign of key - search key in the word form. */
static inline int
compare_words(const FpbKey *key, const FpbSearchKey *search, uint64 head)
{
	if (key->head != head)
		return key->head < head ? -1 : 1;
	if (key->low != search->low)
		return key->low < search->low ? -1 : 1;
	return pg_cmp_u64(key->tail, search->tail);
}

/*
 * Sign of key - search key, which has this head in the key's page (as the key
 * has; key/prefix.c).  The key may be a pivot.  Calls comparators where heads
 * don't tell, and raises what they raise, or an error if a column that they
 * would get is damaged.
 */
int
fpb_compare_by_head(const FpbIndex *ix, const FpbKey *key, const FpbSearchKey *search,
					uint64 head)
{
	if (fpb_is_word(ix))
		return compare_words(key, search, head);
	if (search->has_head && key->head != head)
		return key->head < head ? -1 : 1;

	/* a search key without the page's prefix has one of these heads */
	return compare_tuple(ix, key, search,
						 head != 0 && head != (ix->head_width == 4 ? FPB_HEAD4_MASK : PG_UINT64_MAX));
}

/*
 * Sign of a tuple, which ends within its page, - search key by their columns.
 * 0 if the first ones are equal, and the others don't tell.  FPB_NOT_TOLD if
 * the first ones are not of the usual kind, so that fpb_compare_by_head has to
 * tell.  Raises errors as compare_tuple does.
 */
int
fpb_compare_plain_columns(const FpbIndex *ix, IndexTuple tuple, const FpbSearchKey *search)
{
	const FpbColumn *col = &ix->cols[0];
	const char *value = (char *) tuple + IndexInfoFindDataOffset(0);
	FpbTupleReader reader;
	Size		end;
	int			order;

	if (unlikely(ix->cut_most > 0 || search->ncols == 0 || search->cols[0].isnull))
		return FPB_NOT_TOLD;
	if (!has_same_first(ix, tuple, search, &end))
	{
		if (unlikely(!fpb_first_is_short(ix, tuple)))
			return FPB_NOT_TOLD;
		end = VARSIZE_1B(value);
		order = DatumGetInt32(FunctionCall2Coll(search->cols[0].cmp, col->collation,
												PointerGetDatum(value), search->cols[0].value));
		if (order != 0)
			return (order < 0) != col->desc ? -1 : 1;
	}
	if (search->ncols == 1)
		return 0;
	fpb_begin_reading(&reader, ix, tuple);
	reader.next = 1;
	reader.off = end;
	return compare_rest(&reader, search, Min(fpb_pivot_natts(ix, tuple), search->ncols));
}

/*
 * Sign of key - search key, if their first columns are equal.  Raises errors
 * as compare_tuple does.
 */
int
fpb_compare_from_second(const FpbIndex *ix, const FpbKey *key, const FpbSearchKey *search)
{
	int			natts = fpb_pivot_natts(ix, key->tuple);
	int			ncompare = Min(natts, search->ncols);
	FpbTupleReader reader;
	int			result;

	if (ncompare > 1)
	{
		fpb_begin_with_second(&reader, ix, key->tuple, false);
		result = compare_rest(&reader, search, ncompare);
		if (result != 0)
			return result;
	}
	return compare_ends(ix, key, search, natts);
}

/*
 * fpb_compare_by_head by the whole heads of both.
 */
int
fpb_compare(const FpbIndex *ix, const FpbKey *key, const FpbSearchKey *search)
{
	if (fpb_is_word(ix))
		return compare_words(key, search, search->head);
	if (search->has_head)
	{
		uint64		head = fpb_key_head(ix, key);

		if (head != search->head)
			return head < search->head ? -1 : 1;
	}
	return compare_tuple(ix, key, search, false);
}

/*
 * How many leading columns of two tuples are equal, of the first ncolumns?
 * Sets *order to the sign of a - b in the next one, or 0 if all are equal.
 * Raises errors as fpb_compare does.
 */
int
fpb_equal_columns(const FpbIndex *ix, const FpbKey *a, const FpbKey *b,
				  int ncolumns, int *order)
{
	FpbTupleReader a_reader;
	FpbTupleReader b_reader;
	FpbTupleSpace a_space;
	FpbTupleSpace b_space;

	*order = 0;
	fpb_begin_reading(&a_reader, ix, fpb_whole_tuple(ix, a, &a_space));
	fpb_begin_reading(&b_reader, ix, fpb_whole_tuple(ix, b, &b_space));
	for (int i = 0; i < ncolumns; i++)
	{
		Datum		a_value,
					b_value;
		bool		a_isnull,
					b_isnull;

		a_value = fpb_read_column(&a_reader, &a_isnull);
		b_value = fpb_read_column(&b_reader, &b_isnull);
		*order = fpb_compare_values(&ix->cols[i], ix->cols[i].cmp,
									a_value, a_isnull, b_value, b_isnull);
		if (*order != 0)
			return i;
	}
	return ncolumns;
}

/*
 * Sign of a - b by their heads, as far as these tell.
 */
static inline int
compare_heads(const FpbIndex *ix, const FpbKey *a, const FpbKey *b)
{
	if (unlikely(ix->old_heads))
		return 0;
	if (!fpb_is_word(ix) && unlikely(a->cut_in != b->cut_in))
		return pg_cmp_u64(fpb_key_head(ix, a), fpb_key_head(ix, b));
	return pg_cmp_u64(a->head, b->head);
}

/*
 * Sign of a - b, TIDs included.  Either may be a pivot.  Calls comparators
 * where heads don't tell, and raises errors as fpb_compare does.
 */
int
fpb_compare_keys(const FpbIndex *ix, const FpbKey *a, const FpbKey *b)
{
	int			order = compare_heads(ix, a, b);

	if (order != 0)
		return order;

	if (fpb_is_word(ix))
	{
		if (a->low != b->low)
			return a->low < b->low ? -1 : 1;
	}
	else
	{
		int			a_natts = fpb_pivot_natts(ix, a->tuple);
		int			b_natts = fpb_pivot_natts(ix, b->tuple);

		(void) fpb_equal_columns(ix, a, b, Min(a_natts, b_natts), &order);
		if (order != 0)
			return order;
		if (a_natts != b_natts)
			return a_natts < b_natts ? -1 : 1;
	}
	return pg_cmp_u64(a->tail, b->tail);
}

/*
 * Do the comparators, too, say that a is not greater than b?  Heads alone may
 * have told it.  Raises errors as fpb_compare does.
 */
bool
fpb_comparators_agree(const FpbIndex *ix, const FpbKey *a, const FpbKey *b)
{
	int			natts;
	int			order;

	if (fpb_is_word(ix) || a->tuple == b->tuple)
		return true;
	natts = Min(fpb_pivot_natts(ix, a->tuple), fpb_pivot_natts(ix, b->tuple));
	(void) fpb_equal_columns(ix, a, b, Min(natts, Max(fpb_head_columns(ix), 1)), &order);
	return order <= 0;
}

/*
 * Are all key columns of a and b, entries of leaves, equal to the opclasses?
 * NULLs are equal to each other here.
 */
bool
fpb_keys_equal(const FpbIndex *ix, const FpbKey *a, const FpbKey *b)
{
	int			order;

	if (compare_heads(ix, a, b) != 0)
		return false;
	if (fpb_is_word(ix))
		return fpb_word_equal(ix, a, b);
	(void) fpb_equal_columns(ix, a, b, ix->nkeyatts, &order);
	return order == 0;
}

/*
 * fpb_keys_identical for tuples, whose headers have the TID, or a pivot's
 * number of columns.
 */
bool
fpb_tuples_identical(const FpbIndex *ix, IndexTuple a, IndexTuple b)
{
	return a == b ||
		(a->t_info == b->t_info &&
		 memcmp((char *) a + sizeof(IndexTupleData), (char *) b + sizeof(IndexTupleData),
				IndexTupleSize(a) - sizeof(IndexTupleData)) == 0 &&
		 fpb_pivot_natts(ix, a) == fpb_pivot_natts(ix, b));
}

/*
 * fpb_keys_identical for tuples of which one may be cut, and the other is not,
 * or in another page.
 */
bool
fpb_cut_keys_identical(const FpbIndex *ix, const FpbKey *a, const FpbKey *b)
{
	FpbTupleSpace a_space;
	FpbTupleSpace b_space;

	return fpb_key_head(ix, a) == fpb_key_head(ix, b) &&
		fpb_tuples_identical(ix, fpb_whole_tuple(ix, a, &a_space),
							 fpb_whole_tuple(ix, b, &b_space));
}

/*
 * Are a and b, entries of leaves, equal in the first key column?  This is for
 * guesses: a NULL may pass for a value.
 */
bool
fpb_keys_share_prefix(const FpbIndex *ix, const FpbKey *a, const FpbKey *b)
{
	int			order;

	if (!fpb_is_word(ix))
		return fpb_equal_columns(ix, a, b, 1, &order) == 1;
	if (ix->nkeyatts == 1)
		return a->head == b->head && a->low == b->low;
	return (a->head ^ b->head) >> (64 - ix->cols[0].width) == 0;
}
