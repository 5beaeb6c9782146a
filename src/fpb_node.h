/*-------------------------------------------------------------------------
 *
 * fpb_node.h
 *	  One in-page node: slots, gaps, search; and posting tuples.
 *
 * A plain node is nothing but parallel arrays of slots, see README.md.  All
 * these functions are inline because they are the inner loop of everything.
 *
 *-------------------------------------------------------------------------
 */
#ifndef FPB_NODE_H
#define FPB_NODE_H

#include "fpbtree.h"

/* codecs */
#define FPB_NODE_PLAIN		0
#define FPB_NODE_ONE_KEY	1	/* words only */

/* a one-key node: the key, then the TIDs */
#define FPB_ONE_KEY_HEADER	(2 * sizeof(uint64))

/* --- the directory --- */

static inline uint64 *
fpb_dir_heads(Page page)
{
	return (uint64 *) ((char *) page + sizeof(FpbPageHeader));
}

static inline uint8 *
fpb_dir_nodes(Page page)
{
	return (uint8 *) (fpb_dir_heads(page) + FpbHdr(page)->dircap);
}

static inline uint8 *
fpb_dir_codecs(Page page)
{
	return fpb_dir_nodes(page) + FpbHdr(page)->dircap;
}

/* --- hints --- */

/*
 * The hint bitmaps of a page's nodes, in the order of their numbers.  They lie
 * in the hole; in the word forms, whose nodes alone use the page, always at its
 * end, so that they can be prefetched before anything is known of the page.
 */
static inline uint8 *
fpb_hints(const FpbShape *shape, Page page)
{
	return (uint8 *) page + (shape->hints_off != 0 ? shape->hints_off :
							 FpbHdr(page)->pd.pd_lower);
}

/* --- arrays of a node --- */

/* slots of a one-key node */
static inline int
fpb_one_key_slots(const FpbShape *shape)
{
	return (shape->size - FPB_ONE_KEY_HEADER) / FPB_TAIL_BYTES;
}

static inline int
fpb_node_slots(const FpbShape *shape, int codec)
{
	return codec == FPB_NODE_PLAIN ? shape->nslots : fpb_one_key_slots(shape);
}

static inline char *
fpb_node_tails(const FpbShape *shape, int codec, char *node)
{
	return node + (codec == FPB_NODE_PLAIN ? shape->tail_off : FPB_ONE_KEY_HEADER);
}

/* A stored tail: an ItemPointerData whose offset number has the tie on top. */
static inline uint64
fpb_read_tail(const char *tails, int slot)
{
	const uint16 *t = (const uint16 *) (tails + slot * FPB_TAIL_BYTES);

	return ((uint64) (t[2] >> FPB_TAIL_OFFSET_BITS) << FPB_TAIL_TIE_SHIFT) |
		((uint64) t[0] << (16 + FPB_TAIL_OFFSET_BITS)) |
		((uint64) t[1] << FPB_TAIL_OFFSET_BITS) |
		(t[2] & FPB_TAIL_MAX_OFFSET);
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

/* Is a stored tail's offset number 0? */
static inline bool
fpb_tail_is_gap(const char *tails, int slot)
{
	return (((const uint16 *) (tails + slot * FPB_TAIL_BYTES))[2] &
			FPB_TAIL_MAX_OFFSET) == 0;
}

static inline uint64
fpb_node_head(const FpbIndex *ix, const char *node, int slot)
{
	if (ix->head_width == 4)
		return (uint64) ((const uint32 *) node)[slot] << 32;
	return ((const uint64 *) node)[slot];
}

static inline void
fpb_node_set_head(const FpbIndex *ix, char *node, int slot, uint64 head)
{
	if (ix->head_width == 4)
		((uint32 *) node)[slot] = (uint32) (head >> 32);
	else
		((uint64 *) node)[slot] = head;
}

/* the array of downlinks of a node of an inner page */
static inline uint32 *
fpb_node_children(const FpbShape *shape, char *node)
{
	return (uint32 *) (node + shape->child_off);
}

static inline uint16 *
fpb_node_tuples(const FpbShape *shape, char *node)
{
	return (uint16 *) (node + shape->tail_off);
}

/* Does the slot hold no entry? */
static inline bool
fpb_node_is_gap(const FpbIndex *ix, const FpbShape *shape, int codec,
				char *node, int slot)
{
	if (codec == FPB_NODE_ONE_KEY)
		return fpb_tail_is_gap(node + FPB_ONE_KEY_HEADER, slot);
	if (!fpb_is_word(ix))
		return fpb_node_tuples(shape, node)[slot] == 0;
	if (shape->child_off != 0)
		return fpb_node_children(shape, node)[slot] == InvalidBlockNumber;
	return fpb_tail_is_gap(node + shape->tail_off, slot);
}

/* --- posting tuples --- */

static inline char *
fpb_posting_tails(IndexTuple posting)
{
	return (char *) posting + TYPEALIGN(sizeof(uint16), IndexTupleSize(posting));
}

/* First item from item on that is no gap, or their number. */
static inline int
fpb_posting_next(IndexTuple posting, int item)
{
	int			n = fpb_posting_slots(posting);

	while (item < n && fpb_tail_is_gap(fpb_posting_tails(posting), item))
		item++;
	return item;
}

/* Last one before item, or -1. */
static inline int
fpb_posting_prev(IndexTuple posting, int item)
{
	item = Min(item, fpb_posting_slots(posting)) - 1;
	while (item >= 0 && fpb_tail_is_gap(fpb_posting_tails(posting), item))
		item--;
	return item;
}

/* The tail of an item; of one that there is not, 0. */
static inline uint64
fpb_posting_tail(IndexTuple posting, int item)
{
	if (item < 0 || item >= fpb_posting_slots(posting))
		return 0;
	return fpb_read_tail(fpb_posting_tails(posting), item);
}

/* --- search among integers --- */

/*
 * Number of elements < key of a sorted array.  No branch depends on the data:
 * the array's cache lines have been prefetched, so a misprediction would be
 * the dearest thing here.
 */
static inline int
fpb_count_less64(const uint64 *a, int n, uint64 key)
{
	const uint64 *base = a;

	while (n > 1)
	{
		int			half = n / 2;

		/* a mask, as compilers make a branch of a conditional expression */
		base += half & -(int) (base[half - 1] < key);
		n -= half;
	}
	return (int) (base - a) + (n == 1 && *base < key);
}

/* The same; the array is not empty. */
static inline int
fpb_count_less32(const uint32 *a, int n, uint32 key)
{
	const uint32 *base = a;

	Assert(n > 0);
	while (n > 1)
	{
		int			half = n / 2;

		/* a mask, as compilers make a branch of a conditional expression */
		base += half & -(int) (base[half - 1] < key);
		n -= half;
	}
	return (int) (base - a) + (*base < key);
}

/* Number of a node's heads < head. */
static inline int
fpb_heads_less(const FpbIndex *ix, const char *node, int n, uint64 head)
{
	if (ix->head_width == 4)
	{
		uint32		half = (uint32) (head >> 32);

		/* stored heads have zeros below, so < head may be <= its upper half */
		if ((uint32) head == 0)
			return fpb_count_less32((const uint32 *) node, n, half);
		if (half == PG_UINT32_MAX)
			return n;
		return fpb_count_less32((const uint32 *) node, n, half + 1);
	}
	return fpb_count_less64((const uint64 *) node, n, head);
}

/* Number of a node's heads <= head. */
static inline int
fpb_heads_not_greater(const FpbIndex *ix, const char *node, int n, uint64 head)
{
	if (head == PG_UINT64_MAX)
		return n;
	return fpb_heads_less(ix, node, n, head + 1);
}

/* --- cache --- */

/* Fetch the cache lines of length bytes from start, all at once. */
static inline void
fpb_prefetch(const char *start, Size length)
{
#if defined(__GNUC__) || defined(__clang__)
	for (const char *p = start; p < start + length; p += FPB_CACHE_LINE)
		__builtin_prefetch(p);
#endif
}

#endif							/* FPB_NODE_H */
