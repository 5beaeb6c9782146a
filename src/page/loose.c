/*-------------------------------------------------------------------------
 *
 * page/loose.c
 *	  A loose node: entries of words in any order.
 *
 * A loose node is one of a leaf of words whose entries may be in any slots.
 * So an insertion writes one slot and moves nothing.  A search counts the
 * entries before the search key, whatever their order, and finds the next one
 * on the way.  A scan puts all of them in order.  Words are integers, so no
 * comparator is called.
 *
 * There are two codecs.  A node that is made loose has each entry's TID and
 * key side by side: a pair, which is logged at once.  A plain node that
 * becomes loose keeps its arrays, because all of it would have to be logged
 * otherwise.
 *
 * The head of a gap says nothing.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "page/fence.h"
#include "page/loose.h"

/*
 * Where a loose node has the parts of its entries: each is an array, whose
 * elements are so many bytes from each other.
 */
typedef struct LooseArrays
{
	const char *heads;
	const char *lows;			/* 128-bit words */
	const char *tails;
	int			head_step;
	int			low_step;
	int			tail_step;
	uint64		base;			/* heads are stored with these bits inverted */
} LooseArrays;

static inline LooseArrays
loose_arrays(const FpbIndex *ix, const FpbShape *shape, FpbCodec codec, const char *node)
{
	LooseArrays arrays = {
		.heads = node,
		.lows = node + shape->low_off,
		.tails = node + shape->tail_off,
		.head_step = ix->head_width,
		.low_step = sizeof(uint64),
		.tail_step = FPB_TAIL_BYTES,
	};

	if (codec != FPB_NODE_PAIRS)
		return arrays;
	arrays.tails = node;
	arrays.lows = node + FPB_TAIL_BYTES;
	arrays.heads = node + fpb_pair_head_off(ix);
	arrays.head_step = arrays.low_step = arrays.tail_step = fpb_pair_bytes(ix);
	arrays.base = fpb_pairs_base(shape, node);
	return arrays;
}

static inline uint64
loose_head(const LooseArrays *arrays, int width, int slot)
{
	const char *stored = arrays->heads + slot * arrays->head_step;
	uint64		head;
	uint32		half;

	if (width == 4)
	{
		memcpy(&half, stored, sizeof(half));
		return (uint64) half << 32;
	}
	memcpy(&head, stored, sizeof(head));
	return head ^ arrays->base;
}

static inline uint64
loose_low(const LooseArrays *arrays, int slot)
{
	uint64		low;

	memcpy(&low, arrays->lows + slot * arrays->low_step, sizeof(low));
	return low;
}

static inline bool
is_gap(const LooseArrays *arrays, int slot)
{
	return fpb_tail_is_gap(arrays->tails + slot * arrays->tail_step, 0);
}

/*
 * Is the entry in slot a less than that in slot b?
 */
static inline bool
slot_less(const FpbIndex *ix, const LooseArrays *arrays, int a, int b)
{
	uint64		head_a = loose_head(arrays, ix->head_width, a);
	uint64		head_b = loose_head(arrays, ix->head_width, b);

	if (head_a != head_b)
		return head_a < head_b;
	if (ix->form == FPB_WORD16 && loose_low(arrays, a) != loose_low(arrays, b))
		return loose_low(arrays, a) < loose_low(arrays, b);
	return fpb_read_tail(arrays->tails + a * arrays->tail_step, 0) <
		fpb_read_tail(arrays->tails + b * arrays->tail_step, 0);
}

/*
 * The first slot that is a gap, or -1.  A plain node of a leaf of words will
 * do as well.
 */
int
fpb_loose_gap(const FpbIndex *ix, const FpbShape *shape, FpbCodec codec, const char *node)
{
	LooseArrays arrays = loose_arrays(ix, shape, codec, node);
	const char *tail = arrays.tails;

	for (int slot = 0; slot < shape->nslots; slot++, tail += arrays.tail_step)
		if (fpb_tail_is_gap(tail, 0))
			return slot;
	return -1;
}

/*
 * As fpb_loose_order, compiled for each width of heads and each way in which
 * they lie.
 */
static pg_attribute_always_inline int
order_arrays(const FpbIndex *ix, const FpbShape *shape, int width,
			 const LooseArrays *arrays, uint8 *slots)
{
	uint64		heads[FPB_LOOSE_MOST];	/* of slots[] */
	uint64		greatest = 0;
	int			n = 0;

	for (int slot = 0; slot < shape->nslots; slot++)
	{
		uint64		head = loose_head(arrays, width, slot);
		int			at = n;

		if (is_gap(arrays, slot))
			continue;
		if (unlikely(head <= greatest))
		{
			for (; at > 0 && head < heads[at - 1]; at--)
			{
				heads[at] = heads[at - 1];
				slots[at] = slots[at - 1];
			}
			for (; at > 0 && head == heads[at - 1] &&
				 slot_less(ix, arrays, slot, slots[at - 1]); at--)
			{
				heads[at] = head;
				slots[at] = slots[at - 1];
			}
		}
		else
			greatest = head;
		heads[at] = head;
		slots[at] = slot;
		n++;
	}
	return n;
}

/*
 * Put the slots that have entries in the order of these, into slots[], which
 * has room for FPB_LOOSE_MOST.  Returns how many.  A plain node of a leaf of
 * words will do as well.
 *
 * By insertion, because most entries are in order already.
 */
int
fpb_loose_order(const FpbIndex *ix, const FpbShape *shape, FpbCodec codec, char *node,
				uint8 *slots)
{
	LooseArrays arrays = loose_arrays(ix, shape, codec, node);

	if (ix->head_width == 4)
	{
		arrays.head_step = codec == FPB_NODE_PAIRS ? FPB_TAIL_BYTES + sizeof(uint32) : sizeof(uint32);
		return order_arrays(ix, shape, 4, &arrays, slots);
	}
	return order_arrays(ix, shape, 8, &arrays, slots);
}

/*
 * Find the entries whose heads are in [least, most].  Their slots go to
 * slots[], which has room for FPB_LOOSE_MOST, in no order; returns how many.
 * *beyond becomes true if one has a greater head.
 */
int
fpb_loose_within(const FpbIndex *ix, const FpbShape *shape, FpbCodec codec, char *node,
				 uint64 least, uint64 most, uint8 *slots, bool *beyond)
{
	LooseArrays arrays = loose_arrays(ix, shape, codec, node);
	int			n = 0;

	for (int slot = 0; slot < shape->nslots; slot++)
	{
		uint64		head = loose_head(&arrays, ix->head_width, slot);

		if (head < least || is_gap(&arrays, slot))
			continue;
		if (head <= most)
			slots[n++] = slot;
		else
			*beyond = true;
	}
	return n;
}

/*
 * The rank of the entry in a slot: how many are less.
 */
int
fpb_loose_rank_of(const FpbIndex *ix, const FpbShape *shape, FpbCodec codec, char *node,
				  int slot)
{
	LooseArrays arrays = loose_arrays(ix, shape, codec, node);
	uint64		head = loose_head(&arrays, ix->head_width, slot);
	int			rank = 0;

	for (int other = 0; other < shape->nslots; other++)
	{
		uint64		other_head = loose_head(&arrays, ix->head_width, other);

		if (other_head <= head && !is_gap(&arrays, other) &&
			(other_head < head || slot_less(ix, &arrays, other, slot)))
			rank++;
	}
	return rank;
}

/*
 * As fpb_loose_search, for the entries that do not have a head of their own.
 * less: so many have a head that is less than the search key's.
 */
static pg_attribute_always_inline int
search_ties(const FpbIndex *ix, Page page, const FpbShape *shape, FpbCodec codec,
			char *node, int width, const FpbSearchKey *search, bool equal,
			const LooseArrays *arrays, int less, int *next)
{
	int			most = equal ? 0 : -1;	/* sign of an entry that is counted */
	uint64		best = 0;
	int			count = less;
	int			found = -1;

	for (int slot = 0; slot < shape->nslots; slot++)
	{
		uint64		head = loose_head(arrays, width, slot);

		if (head < search->head || is_gap(arrays, slot))
			continue;
		if (head == search->head &&
			fpb_compare_slot(ix, page, shape, codec, node, slot, false, search, search->head) <= most)
			count++;
		else if (found < 0 || head < best ||
				 (head == best && slot_less(ix, arrays, slot, found)))
		{
			best = head;
			found = slot;
		}
	}
	*next = found;
	return count;
}

/*
 * As fpb_loose_search, compiled for each width of heads and each way in which
 * they lie.  A lookup spends its time here.
 *
 * The next entry is the one whose head is the least behind the search key's.
 * Heads before that are behind it by more than any other, if numbers are taken
 * to follow each other in a circle.
 */
static pg_attribute_always_inline int
search_arrays(const FpbIndex *ix, Page page, const FpbShape *shape, FpbCodec codec,
			  char *node, int width, const FpbSearchKey *search, bool equal,
			  const LooseArrays *arrays, int *next)
{
	uint64		farthest = PG_UINT64_MAX - search->head;
	uint64		least = PG_UINT64_MAX;	/* how far behind the search key's is
										 * the next one's head, */
	bool		tied = false;	/* and may others have the same? */
	int			found = -1;
	int			count = 0;

	/* without a branch that depends on heads */
	for (int slot = 0; slot < shape->nslots; slot++)
	{
		uint64		head = loose_head(arrays, width, slot);
		bool		live = !is_gap(arrays, slot);
		uint64		behind = live ? head - search->head : PG_UINT64_MAX;
		bool		nearer = behind < least;

		count += live & (head < search->head);
		tied = (tied & !nearer) | (behind == least);
		least = nearer ? behind : least;
		found = nearer ? slot : found;
	}
	*next = found;
	if (found >= 0 && least > farthest)
		*next = -1;				/* all are before the search key */
	else if (found < 0 || tied ||
			 (least == 0 && fpb_compare_slot(ix, page, shape, codec, node, found, false,
											 search, search->head) <= (equal ? 0 : -1)))
		return search_ties(ix, page, shape, codec, node, width, search, equal, arrays, count, next);
	return count;
}

/*
 * Count the entries < search key (equal: <= search key).  *next: the slot of
 * the first of the others, or -1.
 */
int
fpb_loose_search(const FpbIndex *ix, Page page, const FpbShape *shape, FpbCodec codec,
				 char *node, const FpbSearchKey *search, bool equal, int *next)
{
	LooseArrays arrays = loose_arrays(ix, shape, codec, node);

	if (codec == FPB_NODE_PAIRS)
	{
		if (ix->head_width == 4)
		{
			arrays.head_step = arrays.tail_step = FPB_TAIL_BYTES + sizeof(uint32);
			return search_arrays(ix, page, shape, codec, node, 4, search, equal, &arrays, next);
		}
		return search_arrays(ix, page, shape, codec, node, 8, search, equal, &arrays, next);
	}
	if (ix->head_width == 4)
	{
		arrays.head_step = sizeof(uint32);
		return search_arrays(ix, page, shape, codec, node, 4, search, equal, &arrays, next);
	}
	arrays.head_step = sizeof(uint64);
	return search_arrays(ix, page, shape, codec, node, 8, search, equal, &arrays, next);
}

/*
 * The slot of the first entry (last: the last one), or -1.
 */
int
fpb_loose_end(const FpbIndex *ix, const FpbShape *shape, FpbCodec codec, char *node,
			  bool last)
{
	LooseArrays arrays = loose_arrays(ix, shape, codec, node);
	int			found = -1;

	for (int slot = 0; slot < shape->nslots; slot++)
		if (!is_gap(&arrays, slot) &&
			(found < 0 || slot_less(ix, &arrays, slot, found) != last))
			found = slot;
	return found;
}

/*
 * As fpb_loose_step, compiled for each width of heads.
 */
static pg_attribute_always_inline int
step_in_arrays(const FpbIndex *ix, const FpbShape *shape, int width,
			   const LooseArrays *arrays, int slot, bool forward)
{
	uint64		head = loose_head(arrays, width, slot);
	uint64		best = 0;
	int			found = -1;

	for (int other = 0; other < shape->nslots; other++)
	{
		uint64		other_head = loose_head(arrays, width, other);

		if ((forward ? other_head < head : other_head > head) ||
			(found >= 0 && (forward ? other_head > best : other_head < best)) ||
			other == slot || is_gap(arrays, other))
			continue;
		if (other_head == head &&
			!(forward ? slot_less(ix, arrays, slot, other) : slot_less(ix, arrays, other, slot)))
			continue;
		if (found >= 0 && other_head == best && slot_less(ix, arrays, other, found) != forward)
			continue;
		best = other_head;
		found = other;
	}
	return found;
}

/*
 * The slot of the next entry after that in a slot (forward: or before it), or
 * -1.
 */
int
fpb_loose_step(const FpbIndex *ix, const FpbShape *shape, FpbCodec codec, char *node,
			   int slot, bool forward)
{
	LooseArrays arrays = loose_arrays(ix, shape, codec, node);

	return ix->head_width == 4 ?
		step_in_arrays(ix, shape, 4, &arrays, slot, forward) :
		step_in_arrays(ix, shape, 8, &arrays, slot, forward);
}
