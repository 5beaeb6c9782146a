/*-------------------------------------------------------------------------
 *
 * key/prefix.h
 *	  What the keys of a page have in common, and their heads behind it
 *	  (key/prefix.c).
 *
 *-------------------------------------------------------------------------
 */
#ifndef FPB_KEY_PREFIX_H
#define FPB_KEY_PREFIX_H

#include "key/key.h"

/*
 * How many bytes do the first columns of two tuples begin with in common, of
 * no more than BLCKSZ?  (Values that are compressed may have more.)  All keys
 * between them begin with these.  0 where heads are not bytes.  May decompress
 * values, and raises an error if a tuple is damaged.
 */
extern int	fpb_common_prefix(const FpbIndex *ix, IndexTuple first, IndexTuple last);

/*
 * Does a tuple begin with the prefix, so many bytes of another one?
 */
extern bool fpb_has_prefix(const FpbIndex *ix, IndexTuple tuple, int prefix,
						   IndexTuple other);

/*
 * The head of a tuple that begins with the prefix, in a page with that.
 */
extern uint64 fpb_head_behind(const FpbIndex *ix, IndexTuple tuple, int prefix);

/*
 * The head there of any search key.  other is a tuple that begins with the
 * prefix.
 */
extern uint64 fpb_search_head_behind(const FpbIndex *ix, const FpbSearchKey *search,
									 int prefix, IndexTuple other);

/*
 * The whole head of what has this one behind the prefix.  low is the whole
 * head of anything that begins with the prefix.
 */
static inline uint64
fpb_whole_head(const FpbIndex *ix, uint64 low, uint64 head, int prefix)
{
	uint64		behind;

	if (prefix >= ix->head_width)
		return low;
	behind = PG_UINT64_MAX >> (8 * prefix);
	head = (low & ~behind) | head >> (8 * prefix);
	return ix->head_width == 4 ? head & ~(uint64) PG_UINT32_MAX : head;
}

#endif							/* FPB_KEY_PREFIX_H */
