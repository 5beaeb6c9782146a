/*-------------------------------------------------------------------------
 *
 * page/disk_first/killed.h
 *	  The killed bits of a leaf: single ones, and those of a node.
 *
 * Reading looks at them (page/disk_first/read.c), and page/disk_first/killed.c
 * changes them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef FPB_PAGE_DISK_FIRST_KILLED_H
#define FPB_PAGE_DISK_FIRST_KILLED_H

#include "page/disk_first/disk_first.h"

/* a killed bit */
typedef struct FpbKilledBit
{
	uint8	   *byte;			/* NULL: there is none */
	uint8		mask;
} FpbKilledBit;

static inline FpbKilledBit
fpb_bit_at(uint8 *bits, int number)
{
	FpbKilledBit bit = {bits + number / 8, 1 << (number % 8)};

	return bit;
}

static inline bool
fpb_bit_is_set(FpbKilledBit bit)
{
	return bit.byte != NULL && (*bit.byte & bit.mask) != 0;
}

/*
 * The bitmap of the dir'th node.
 */
static inline uint8 *
fpb_node_killed_bits(const FpbShape *shape, Page page, int dir)
{
	return fpb_killed_bits(shape, page) + fpb_node_number(page, dir) * shape->killed_bytes;
}

/*
 * Is a slot's bit set in its node's bitmap, which may be NULL?
 */
static inline bool
fpb_slot_is_killed(const FpbShape *shape, const uint8 *bits, int nslots, int slot)
{
	int			bit;

	if (bits == NULL)
		return false;
	bit = fpb_killed_bit(shape, nslots, slot);
	return (bits[bit / 8] & (1 << (bit % 8))) != 0;
}

/*
 * The killed bit of a posting's item.  The hole may have no room for it.
 */
static inline FpbKilledBit
fpb_item_killed_bit(const FpbIndex *ix, Page page, IndexTuple posting, int item)
{
	const FpbShape *shape = fpb_leaf_shape(ix);
	FpbKilledBit bit = fpb_bit_at(fpb_killed_tids(shape, page),
								  fpb_killed_tid_bit(page, fpb_posting_tid(posting, item)));

	if (bit.byte >= (uint8 *) page + FpbHdr(page)->pd.pd_upper)
		bit.byte = NULL;
	return bit;
}

/*
 * Is any bit set in n bytes?
 */
static inline bool
fpb_any_bit(const uint8 *bits, int n)
{
	for (; n >= (int) sizeof(uint64); n -= sizeof(uint64), bits += sizeof(uint64))
	{
		uint64		some;

		memcpy(&some, bits, sizeof(some));
		if (some != 0)
			return true;
	}
	for (; n > 0; n--, bits++)
		if (*bits != 0)
			return true;
	return false;
}

/*
 * The bitmap of the dir'th node, or NULL if it is all zeros.
 */
static inline const uint8 *
fpb_some_killed_bits(const FpbShape *shape, Page page, int dir)
{
	const uint8 *bits = fpb_node_killed_bits(shape, page, dir);

	return fpb_any_bit(bits, shape->killed_bytes) ? bits : NULL;
}

#endif							/* FPB_PAGE_DISK_FIRST_KILLED_H */
