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

/* Is a stored tail's offset number 0, which makes it a gap? */
static inline bool
fpb_tail_is_gap(const char *tails, int slot)
{
	return (((const uint16 *) (tails + slot * FPB_TAIL_BYTES))[2] &
			FPB_TAIL_MAX_OFFSET) == 0;
}

/*
 * Where tails need not be six bytes wide, each takes as many as the greatest
 * one needs: four in a table of up to 2^20 blocks, five up to 2^28.
 */
static inline int
fpb_tail_width(uint64 tail)
{
	return tail >> 32 == 0 ? FPB_SHORT_TAIL : tail >> 40 == 0 ? 5 : FPB_TAIL_BYTES;
}

/*
 * Bytes that an entry's tail takes if the entry shares its key with others, in
 * a posting, or in a runs node (as far as it is up to this entry).
 */
static inline int
fpb_shared_tail_bytes(const FpbIndex *ix, uint64 tail)
{
	return fpb_is_word(ix) ? fpb_tail_width(tail) : FPB_TAIL_BYTES;
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

static inline char *
fpb_posting_tails(IndexTuple posting)
{
	return (char *) posting + TYPEALIGN(sizeof(uint16), IndexTupleSize(posting));
}

/* The first TID from number item on that is no gap; their number if none is. */
static inline int
fpb_posting_next(IndexTuple posting, int item)
{
	int			n = fpb_posting_slots(posting);

	while (item < n && fpb_tail_is_gap(fpb_posting_tails(posting), item))
		item++;
	return item;
}

/* The last one before number item that is no gap, or -1. */
static inline int
fpb_posting_prev(IndexTuple posting, int item)
{
	item = Min(item, fpb_posting_slots(posting)) - 1;
	while (item >= 0 && fpb_tail_is_gap(fpb_posting_tails(posting), item))
		item--;
	return item;
}

/* The tail of number item, or 0 if there is no such number. */
static inline uint64
fpb_posting_tail(IndexTuple posting, int item)
{
	if (item < 0 || item >= fpb_posting_slots(posting))
		return 0;
	return fpb_read_tail(fpb_posting_tails(posting), item);
}

/*
 * The most TIDs that the posting of a key may have room for; 1 if the key may
 * have no posting.  A posting that needs MAXALIGN gets a number of TIDs that
 * needs no padding, so that it takes no more room per TID than others.
 */
static inline int
fpb_posting_most(const FpbIndex *ix, IndexTuple tuple)
{
	int			key = fpb_posting_size(tuple, 2) - 2 * FPB_TAIL_BYTES;
	int			most = (ix->max_posting - key) / FPB_TAIL_BYTES;

	while (most > 1 && (key + most * FPB_TAIL_BYTES) % fpb_tuple_align(tuple) != 0)
		most--;
	return Max(most, 1);
}

/*
 * The gap of a posting nearest to the place before number item, or -1.
 */
static inline int
fpb_posting_gap(IndexTuple posting, int item)
{
	int			n = fpb_posting_slots(posting);
	char	   *tails = fpb_posting_tails(posting);

	for (int distance = 0; distance <= n; distance++)
	{
		int			right = item + distance;
		int			left = item - 1 - distance;

		if (right < n && fpb_tail_is_gap(tails, right))
			return right;
		if (left >= 0 && left < n && fpb_tail_is_gap(tails, left))
			return left;
	}
	return -1;
}

#endif							/* FPB_KEY_POSTING_H */
