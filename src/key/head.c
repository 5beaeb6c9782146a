/*-------------------------------------------------------------------------
 *
 * key/head.c
 *	  The heads of tuples.
 *
 * A head is weakly monotone in the key: if a < b then head(a) <= head(b), and
 * equal keys have equal heads.  It depends on the first column, or on the
 * first two.
 *
 * FPB_HEAD_PAIR: the first column's code A of 32 bits, and the first 32 bits B
 * of what would be the second column's head by the rules below, make the head
 * A:B, but A:0 if A is the code that NULL shares.  If a < b by the first
 * column, then A(a) < A(b), or both are the shared code and both heads are
 * A:0.  If a and b are equal in the first column, A is the same and B is
 * weakly monotone.
 *
 * FPB_HEAD_WORD, FPB_HEAD_UUID: the code of the first column, or its upper
 * half.
 *
 * The others: what key/value_head.c makes of the value, all bits inverted for
 * DESC.  NULLs have zero or all ones, on their side.
 *
 * FPB_HEAD_BYTES, FPB_HEAD_WORD and FPB_HEAD_UUID with a second column behind:
 * the first bytes of the key (key/key_bytes.c).  What is missing counts as 0,
 * too.
 *
 * A pivot that keeps n columns has the smallest head of the keys that begin
 * with them.  The rules above give it if a missing B counts as 0, and so does
 * a missing A.  The pivot p lies just before these keys.  So if e < p, e is
 * less than each of them, and head(e) <= head(p).  If e > p, e is one of them
 * or greater, and head(e) >= head(p).  Therefore pivots may be sorted in by
 * head.
 *
 * A search key q is a place before (on_equal = 1) or after (on_equal = -1) all
 * keys that begin with its columns.  Its head is the smallest of these keys'
 * heads if it lies before them, the largest if after.  Wherever heads differ,
 * they tell the order of q and what it is compared with:
 *
 * With a key e, if q lies before: as for pivots.  If q lies after, then e < q
 * means that e is one of these keys or less, so head(e) <= head(q); e > q
 * means that e is greater than all of them, so head(e) >= head(q).
 *
 * With a pivot p that keeps fewer columns, equal to those of q: p < q, and its
 * head is the smallest of a set of keys that includes those of q, so head(p)
 * <= head(q).  If p keeps the same columns, it is at the place of a q that
 * lies before, with the same head; and it is before a q that lies after, with
 * a head that is not larger.  If p keeps more columns, it lies among the keys
 * of q, and so does its head.
 *
 * All this needs the head of all columns of the search key.  If the search key
 * has two columns and heads are pairs, the head of the first column alone
 * would put it at the wrong place among the keys that have this first column.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "key/key_bytes.h"
#include "key/prefix.h"

/*
 * See key/key.h.  The value may be NULL.
 */
uint64
fpb_column_head(const FpbColumn *col, Datum value, bool isnull)
{
	uint64		head;

	if (col->word != NULL)
	{
		uint64		code = fpb_word_code(col, value, isnull);

		return col->width == 32 ? code << 32 : code;
	}
	if (isnull)
		return col->nulls_first ? 0 : PG_UINT64_MAX;
	head = fpb_value_head(col->head, col->collation, value);
	return col->desc ? ~head : head;
}

/*
 * How many leading columns' values does the head of a key depend on?
 */
int
fpb_head_columns(const FpbIndex *ix)
{
	switch (ix->cols[0].head)
	{
		case FPB_HEAD_NONE:
			return 0;
		case FPB_HEAD_PAIR:
			return FPB_HEAD_COLUMNS;
		default:
			return ix->second != FPB_SECOND_NONE ? FPB_HEAD_COLUMNS : 1;
	}
}

/*
 * Has a value of the second column, a text, a byte of zero?
 */
static inline bool
text_has_zero(const FpbColumn *col, Datum value)
{
	Size		length;
	void	   *copy;
	const char *bytes = fpb_text_bytes(col, value, &length, &copy);
	bool		has = memchr(bytes, '\0', length) != NULL;

	if (unlikely(copy != NULL))
		pfree(copy);
	return has;
}

/*
 * fpb_head_of where bytes go on into the second column, and the first is not
 * NULL.
 */
static bool
head_with_second(const FpbIndex *ix, const Datum *values, const bool *isnull, int ncols,
				 bool upper, uint64 *head)
{
	FpbKeyBytes bytes;

	fpb_first_bytes(ix, values[0], BLCKSZ, &bytes);
	if ((ix->first_size == 0 &&
		 unlikely(memchr(bytes.data, '\0', bytes.length) != NULL)) ||
		(ix->second == FPB_SECOND_TEXT && ncols > 1 && !isnull[1] &&
		 unlikely(text_has_zero(&ix->cols[1], values[1]))))
	{
		fpb_free_bytes(&bytes);
		return false;
	}
	if (bytes.length < sizeof(*head))
		fpb_add_second(ix, sizeof(*head), ncols > 1, ncols > 1 ? values[1] : (Datum) 0,
					   ncols > 1 && isnull[1], &bytes);
	*head = fpb_bytes_head(bytes.data, bytes.length);
	if (ncols == 1 && upper)
		*head |= fpb_ones_behind(bytes.length);
	*head &= fpb_greatest_head(ix);
	fpb_free_bytes(&bytes);
	return true;
}

/*
 * Set *head to the head of a search key with these ncols leading columns: that
 * of the smallest (upper: of the largest) key that begins with them.  False,
 * with a *head of 0, if heads say nothing in this index, or of this key,
 * because it has a text with a byte of zero.
 *
 * upper is true if the search key's on_equal is -1, and false if it is 1.
 * With all nkeyatts columns it makes no difference.  The values that the head
 * depends on (fpb_head_columns) are of the opclass's own types.  They may be
 * compressed or lie in a TOAST table.
 */
bool
fpb_head_of(const FpbIndex *ix, const Datum *values, const bool *isnull,
			int ncols, bool upper, uint64 *head)
{
	const FpbColumn *first = &ix->cols[0];

	*head = 0;
	if (first->head == FPB_HEAD_NONE || ix->old_heads)
		return false;

	if (ix->second != FPB_SECOND_NONE && ncols > 0 && !isnull[0])
		return head_with_second(ix, values, isnull, ncols, upper, head);
	if (ncols == 0)
		*head = upper ? PG_UINT64_MAX : 0;
	else if (isnull[0] && ix->byte_heads)
		*head = first->nulls_first ? 0 : PG_UINT64_MAX;
	else
		*head = fpb_column_head(first, values[0], isnull[0]);
	if (ncols > 0 && first->head == FPB_HEAD_PAIR &&
		!fpb_word_is_shared(first, *head >> 32))
	{
		if (ncols > 1)
			*head |= fpb_column_head(&ix->cols[1], values[1], isnull[1]) >> 32;
		else if (upper)
			*head |= PG_UINT32_MAX;
	}

	if (ix->head_width == 4)
		*head &= FPB_HEAD4_MASK;
	return true;
}

/*
 * The head of a pivot that keeps the first natts columns, at least one, of a
 * key with this head.  (That of all ones is a NULL's, or all of it is the
 * first column's: no second column begins with FF.)
 */
uint64
fpb_pivot_head(const FpbIndex *ix, uint64 head, int natts)
{
	if (natts == 1 && ix->cols[0].head == FPB_HEAD_PAIR)
		return head & FPB_HEAD4_MASK;
	if (natts == 1 && ix->second != FPB_SECOND_NONE && head != PG_UINT64_MAX)
		return head & ~fpb_ones_behind(fpb_first_in_head(ix, 0, head));
	return head;
}
