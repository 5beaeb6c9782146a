/*-------------------------------------------------------------------------
 *
 * key/pivot.c
 *	  Pivots: separators of leaves, and the pivot before all keys.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/itup.h"

#include "key/join_tuple.h"
#include "key/tuple.h"

/*
 * Make *key the pivot that lies before every key.  Tuple form: allocates its
 * tuple, which has no columns.
 */
void
fpb_key_minus_infinity(const FpbIndex *ix, FpbKey *key)
{
	memset(key, 0, sizeof(FpbKey));
	if (!fpb_is_word(ix))
	{
		key->tuple = palloc0(MAXALIGN(sizeof(IndexTupleData)));
		fpb_set_tuple_info(key->tuple, IndexInfoFindDataOffset(0), false);
		ItemPointerSet(&key->tuple->t_tid, 0, InvalidOffsetNumber);
	}
}

/*
 * The separator of words.  Only the TID can be cut off, and the tie with it,
 * unless the tie is what tells left from right.
 */
static void
word_separator(const FpbKey *left, const FpbKey *right, FpbKey *pivot)
{
	*pivot = *right;
	if (left->head != right->head || left->low != right->low)
		pivot->tail = FPB_TAIL_MIN;
	else if (fpb_tail_tie(left->tail) != fpb_tail_tie(right->tail))
		pivot->tail &= ~FPB_TAIL_TID_MASK;
}

/*
 * The next tail after an entry's: that of the next offset number, or of the
 * first one of the next block.
 */
static uint64
next_tail(uint64 tail)
{
	if ((tail & FPB_TAIL_MAX_OFFSET) < FPB_TAIL_MAX_OFFSET)
		return tail + 1;
	return tail + 1 + FirstOffsetNumber;
}

/*
 * Make *pivot the separator of left and right, two entries of a leaf: the
 * shortest pivot with left < pivot <= right.  It becomes the low fence of the
 * leaf that begins with right.  Tuple form: allocates pivot->tuple, which
 * takes no more room than left's.  Calls comparators.
 *
 * There are two candidates, of which the one that takes less room is made.
 *
 * - Right, its columns behind the first in which it is greater than left cut
 *	 off.  If there is none, the TID after left's is what tells them apart.
 * - Left's key columns, with the TID after left's.
 *
 * The second never takes more room than left does, so a separator doesn't,
 * either.  Pages reserve room for their high fence by that.
 */
void
fpb_key_separator(const FpbIndex *ix, const FpbKey *left, const FpbKey *right,
				  FpbKey *pivot)
{
	int			nequal;
	int			order;
	IndexTuple	left_tuple;
	FpbTupleSpace space;

	if (fpb_is_word(ix))
	{
		word_separator(left, right, pivot);
		return;
	}

	/*
	 * (With an inconsistent comparator, left may not be less than right. Then
	 * any separator is as good as another.)
	 */
	nequal = fpb_equal_columns(ix, left, right, ix->nkeyatts, &order);

	pivot->low = 0;
	pivot->tail = FPB_TAIL_MIN;
	pivot->head = fpb_pivot_head(ix, fpb_key_head(ix, right), Min(nequal + 1, ix->nkeyatts));
	pivot->tuple = fpb_truncate_tuple(ix, fpb_whole_tuple(ix, right, &space),
									  Min(nequal + 1, ix->nkeyatts));
	if (nequal == ix->nkeyatts)
		pivot->tail = next_tail(left->tail);

	left_tuple = fpb_truncate_tuple(ix, fpb_whole_tuple(ix, left, &space), ix->nkeyatts);
	if (fpb_tuple_space(ix, left_tuple) < fpb_tuple_space(ix, pivot->tuple))
	{
		pfree(pivot->tuple);
		pivot->tuple = left_tuple;
		pivot->head = fpb_key_head(ix, left);
		pivot->tail = next_tail(left->tail);
	}
	else
		pfree(left_tuple);
	if (pivot->tail != FPB_TAIL_MIN)
		fpb_tail_tid(pivot->tail, &pivot->tuple->t_tid);
}
