/*-------------------------------------------------------------------------
 *
 * key/posting.h
 *	  How TIDs are stored, and the TIDs of postings, which are tuples that
 *	  several entries share.
 *
 *-------------------------------------------------------------------------
 */
#ifndef FPB_KEY_POSTING_H
#define FPB_KEY_POSTING_H

#include "port/pg_bitutils.h"

#include "key/key.h"

/*
 * A stored tail is an ItemPointerData whose offset number has the tie in its
 * upper bits.  The two halves of its block number, of which the upper one is
 * first, are read as one integer.  Few entries have a tie.
 */
static inline uint64
fpb_read_tail(const char *tails, int slot)
{
	uint32		block;
	uint16		offset;

	memcpy(&block, tails + slot * FPB_TAIL_BYTES, sizeof(block));
	memcpy(&offset, tails + slot * FPB_TAIL_BYTES + sizeof(block), sizeof(offset));
#ifndef WORDS_BIGENDIAN
	block = pg_rotate_left32(block, 16);
#endif
	if (likely(offset <= FPB_TAIL_MAX_OFFSET))
		return (uint64) block << FPB_TAIL_OFFSET_BITS | offset;
	return ((uint64) (offset & ~FPB_TAIL_MAX_OFFSET) <<
			(FPB_TAIL_TIE_SHIFT - FPB_TAIL_OFFSET_BITS)) |
		((uint64) block << FPB_TAIL_OFFSET_BITS) |
		(offset & FPB_TAIL_MAX_OFFSET);
}

static inline void
fpb_write_tail(char *tails, int slot, uint64 tail)
{
	uint16	   *t = (uint16 *) (tails + slot * FPB_TAIL_BYTES);

	t[0] = (uint16) (tail >> (16 + FPB_TAIL_OFFSET_BITS));
	t[1] = (uint16) (tail >> FPB_TAIL_OFFSET_BITS);
	t[2] = (uint16) (((tail >> FPB_TAIL_TIE_SHIFT) << FPB_TAIL_OFFSET_BITS) |
					 (tail & FPB_TAIL_MAX_OFFSET));
}

/* Is the offset number of a tail stored so 0, which makes it a gap? */
static inline bool
fpb_tail_is_gap(const char *tails, int slot)
{
	return (((const uint16 *) (tails + slot * FPB_TAIL_BYTES))[2] &
			FPB_TAIL_MAX_OFFSET) == 0;
}

/*
 * Where entries share a key, in a posting or in a runs node, each tail takes
 * as many bytes as the greatest one needs: four in a table of up to 2^20
 * blocks, five up to 2^28.
 */
static inline int
fpb_tail_width(uint64 tail)
{
	return tail >> 32 == 0 ? FPB_SHORT_TAIL : tail >> 40 == 0 ? 5 : FPB_TAIL_BYTES;
}

static pg_attribute_always_inline uint64
fpb_read_short_tail(const char *tails, int slot, int width)
{
	const char *at = tails + slot * width;
	uint32		low;
	uint16		high;

	memcpy(&low, at, sizeof(low));
	if (width == FPB_SHORT_TAIL)
		return low;
	if (width < FPB_TAIL_BYTES)
		return (uint64) (uint8) at[sizeof(low)] << 32 | low;
	memcpy(&high, at + sizeof(low), sizeof(high));
	return (uint64) high << 32 | low;
}

static inline void
fpb_write_short_tail(char *tails, int slot, int width, uint64 tail)
{
	char	   *at = tails + slot * width;
	uint32		low = (uint32) tail;
	uint16		high = (uint16) (tail >> 32);

	memcpy(at, &low, sizeof(low));
	if (width == FPB_TAIL_BYTES)
		memcpy(at + sizeof(low), &high, sizeof(high));
	else if (width > FPB_SHORT_TAIL)
		at[sizeof(low)] = (char) high;
}

/* (its first four bytes have the offset number, however wide it is) */
static inline bool
fpb_short_tail_is_gap(const char *tails, int slot, int width)
{
	return (fpb_read_short_tail(tails + slot * width, 0, FPB_SHORT_TAIL) & FPB_TAIL_MAX_OFFSET) == 0;
}

/* --- postings --- */

static inline char *
fpb_posting_tails(IndexTuple posting)
{
	return (char *) posting + fpb_posting_start(posting);
}

/* Where a posting has its TID number item. */
static inline char *
fpb_posting_tid(IndexTuple posting, int item)
{
	return fpb_posting_tails(posting) + item * fpb_posting_width(posting);
}

static inline bool
fpb_posting_is_gap(IndexTuple posting, int item)
{
	return fpb_short_tail_is_gap(fpb_posting_tails(posting), item, fpb_posting_width(posting));
}

/* The first TID from number item on that is no gap; their number if none is. */
static inline int
fpb_posting_next(IndexTuple posting, int item)
{
	int			n = fpb_posting_slots(posting);

	while (item < n && fpb_posting_is_gap(posting, item))
		item++;
	return item;
}

/* The last one before number item that is no gap, or -1. */
static inline int
fpb_posting_prev(IndexTuple posting, int item)
{
	const char *tails = fpb_posting_tails(posting);
	int			width = fpb_posting_width(posting);

	item = Min(item, fpb_posting_slots(posting)) - 1;
	while (item >= 0 && fpb_short_tail_is_gap(tails, item, width))
		item--;
	return item;
}

/* How many of its TIDs are no gaps? */
static inline int
fpb_posting_entries(IndexTuple posting)
{
	int			count = 0;

	for (int i = 0; i < fpb_posting_slots(posting); i++)
		count += !fpb_posting_is_gap(posting, i);
	return count;
}

/* The tail of number item, or 0 if there is no such number. */
static inline uint64
fpb_posting_tail(IndexTuple posting, int item)
{
	if (item < 0 || item >= fpb_posting_slots(posting))
		return 0;
	return fpb_read_short_tail(fpb_posting_tails(posting), item, fpb_posting_width(posting));
}

/*
 * Bytes of each TID in a posting of this key, if the greatest of them has this
 * tail.  With five, a posting that needs more alignment would have to leave
 * room unused.
 */
static inline int
fpb_posting_width_for(const FpbIndex *ix, IndexTuple tuple, uint64 tail)
{
	int			width = fpb_tail_width(tail);

	return width == 5 && fpb_tuple_align(ix, tuple) > sizeof(uint16) ? FPB_TAIL_BYTES : width;
}

/*
 * The most TIDs of so many bytes that the posting of a key may have room for;
 * 1 if the key may have no posting.  So many need no padding that fewer could
 * do without.  So a full posting takes no more room per TID than others.
 *
 * What has room for wider TIDs has room for as many narrower ones.
 */
static inline int
fpb_posting_most(const FpbIndex *ix, IndexTuple tuple, int width)
{
	int			most = (ix->max_posting - (int) fpb_posting_start(tuple)) / width;
	int			step = width & -width;	/* padding comes in these */

	while (most > 1 &&
		   fpb_posting_space(ix, tuple, most, width) - fpb_posting_size(tuple, most, width) >= step)
		most--;
	if (width == 5)
		most = Max(most, fpb_posting_most(ix, tuple, FPB_TAIL_BYTES));
	return Max(most, 1);
}

/*
 * May TIDs of one key that take so many bytes, n of them, take more bytes so
 * that a wider one can share their tuple?  Only if that takes no more room
 * than a tuple of its own.
 */
static inline bool
fpb_may_widen(IndexTuple tuple, int n, int width, int wider)
{
	return n * (wider - width) + wider <= (int) fpb_tuple_size(tuple);
}

/*
 * The gap of a posting nearest to the place before number item, or -1.
 */
static inline int
fpb_posting_gap(IndexTuple posting, int item)
{
	int			n = fpb_posting_slots(posting);

	for (int distance = 0; distance <= n; distance++)
	{
		int			right = item + distance;
		int			left = item - 1 - distance;

		if (right < n && fpb_posting_is_gap(posting, right))
			return right;
		if (left >= 0 && left < n && fpb_posting_is_gap(posting, left))
			return left;
	}
	return -1;
}

#endif							/* FPB_KEY_POSTING_H */
