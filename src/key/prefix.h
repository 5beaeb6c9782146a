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

#include "port/pg_bitutils.h"

#include "key/key_bytes.h"

#define FPB_SHORT_KEY	"key is shorter than its page's prefix"

/*
 * How many bytes do the keys of a page have in common, behind which its heads
 * begin?  (A damaged page may say anything; but where heads are not bytes,
 * nobody listens.)
 */
static inline int
fpb_page_prefix(const FpbIndex *ix, Page page)
{
	if (!ix->byte_heads)
		return 0;
	return (int) Min(FpbHdr(page)->fences.low[FPB_LOW], BLCKSZ);
}

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
 * The bytes of a whole tuple that begins with a prefix of this length.  Raises
 * an error if it has fewer.
 */
extern void fpb_prefix_bytes(const FpbIndex *ix, IndexTuple tuple, Size prefix,
							 FpbKeyBytes *bytes);

/*
 * The head of a whole tuple that begins with the prefix, in a page with that.
 */
extern uint64 fpb_head_behind(const FpbIndex *ix, IndexTuple tuple, int prefix);

/*
 * The head there of any search key.  other is a tuple that begins with the
 * prefix; or NULL if the search key is known to begin with it, too.
 */
extern uint64 fpb_search_head_behind(const FpbIndex *ix, const FpbSearchKey *search,
									 int prefix, IndexTuple other);

/* The greatest head that a key or a search key can have in a page. */
static inline uint64
fpb_greatest_head(const FpbIndex *ix)
{
	return ix->head_width == 4 ? ~(uint64) PG_UINT32_MAX : PG_UINT64_MAX;
}

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

/*
 * The whole head of a key.
 */
static inline uint64
fpb_key_head(const FpbIndex *ix, const FpbKey *key)
{
	int			prefix;

	if (fpb_is_word(ix) || key->cut_in == NULL)
		return key->head;
	prefix = fpb_page_prefix(ix, key->cut_in);
	return prefix == 0 ? key->head :
		fpb_whole_head(ix, FpbHdr(key->cut_in)->fences.head[FPB_LOW], key->head, prefix);
}

/*
 * Are byte heads inverted?  Those of a code are in the index's order.
 */
static inline bool
fpb_inverts_heads(const FpbIndex *ix)
{
	return ix->cols[0].desc && ix->first_size == 0;
}

/*
 * The bytes that a head in a page is made of, the first ones of an integer,
 * and how many there are.
 */
static inline int
fpb_cut_head_bytes(const FpbIndex *ix)
{
	return ix->head_width;
}

static inline uint64
fpb_head_bytes(const FpbIndex *ix, uint64 head)
{
	return fpb_inverts_heads(ix) ? ~head : head;
}

/*
 * The last bytes of a head, all ones, behind its first n ones.
 */
static inline uint64
fpb_ones_behind(Size n)
{
	return n >= sizeof(uint64) ? 0 : PG_UINT64_MAX >> (BITS_PER_BYTE * n);
}

/*
 * How many of the bytes that an integer is made of are before the first zero?
 */
static inline Size
fpb_bytes_before_zero(uint64 bytes)
{
	const uint64 low_bits = UINT64CONST(0x7F7F7F7F7F7F7F7F);

	/* the upper bit of each byte that is 0 */
	uint64		zeros = ~(((bytes & low_bits) + low_bits) | bytes | low_bits);

	return zeros == 0 ? sizeof(bytes) : (63 - pg_leftmost_one_pos64(zeros)) / BITS_PER_BYTE;
}

/*
 * How many bytes of its first column, behind the prefix, does a cut tuple with
 * this head lack?  Where heads go on into the second column, those before the
 * zero that ends a text, if that is not in the prefix.  Else none if the last
 * byte is 0: the value may end before, or have this byte.
 */
static inline Size
fpb_bytes_in_head(const FpbIndex *ix, uint64 head)
{
	if (ix->second != FPB_SECOND_NONE)
		return fpb_bytes_before_zero(head);
	return (fpb_head_bytes(ix, head) >> 32 & 0xFF) != 0 ? sizeof(uint32) : 0;
}

/*
 * How many bytes of a head, in a page with this prefix, are the first
 * column's, where heads may go on into the second column?
 */
static inline Size
fpb_first_in_head(const FpbIndex *ix, Size prefix, uint64 head)
{
	if (ix->first_size == 0)
		return fpb_bytes_in_head(ix, head);
	return prefix < ix->first_size ? Min(sizeof(head), ix->first_size - prefix) : 0;
}

/*
 * Do the bytes of a key begin with the prefix, the first of other ones?
 */
static inline bool
fpb_bytes_begin(const FpbKeyBytes *bytes, const FpbKeyBytes *others, Size prefix)
{
	return bytes->length >= prefix && memcmp(bytes->data, others->data, prefix) == 0;
}

/*
 * The head of the bytes of a key behind the prefix.
 */
static inline uint64
fpb_head_of_bytes(const FpbIndex *ix, const FpbKeyBytes *bytes, Size prefix)
{
	uint64		head = bytes->length <= prefix ? 0 :
		fpb_bytes_head(bytes->data + prefix, bytes->length - prefix);

	if (fpb_inverts_heads(ix))
		head = ~head;
	return ix->head_width == 4 ? head & FPB_HEAD4_MASK : head;
}

#endif							/* FPB_KEY_PREFIX_H */
