/*-------------------------------------------------------------------------
 *
 * page/loose.c
 *	  Pairs and tuples nodes: entries of leaves in any order.
 *
 * A pairs node is one of a leaf of words.  Each of its slots has an entry's
 * TID and its key side by side, or is a gap.  Entries may be in any slots, so
 * an insertion writes one slot and moves nothing.  A search counts the entries
 * before the search key, whatever their order, and finds the next one on the
 * way.  A scan puts all of them in order.  Words are integers, so no
 * comparator is called.
 *
 * A node that is made has its entries in order, in its first slots, and its
 * codec says so, until an entry comes or goes before the last one.
 *
 * If a pair takes eight bytes, it is an integer itself: what looks at a whole
 * node has code for that.
 *
 * A tuples node is one of a leaf of tuples, and has arrays of heads and of
 * tuple offsets.  Entries are ordered by their heads, and those with the same
 * head by their slots.  So an insertion may have to move some of these, and no
 * others.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "port/pg_bitutils.h"
#include "port/simd.h"

#include "page/fence.h"
#include "page/loose.h"

/* how the entries of a loose node lie in it */
typedef struct LooseNode
{
	const char *start;
	int			nslots;
	int			bytes;			/* of a pair, or of a head */
	int			tail_width;
	int			head_off;
	bool		short_head;
	int			shift;			/* of what is stored in 4 bytes, */
	uint64		base;			/* and what is added to it */
	const uint16 *tuples;		/* a tuples node: where their tuples are */
} LooseNode;

/*
 * The heads of a tuples node are an array of their own.  Where keys have no
 * heads, all slots share one of 0.
 */
static inline LooseNode
open_tuples(const FpbIndex *ix, const FpbShape *shape, const char *node)
{
	static const uint32 no_head = 0;
	LooseNode	loose = {
		.start = ix->head_width > 0 ? node : (const char *) &no_head,
		.nslots = shape->nslots,
		.bytes = ix->head_width,
		.short_head = ix->head_width <= sizeof(uint32),
		.shift = 32,
		.tuples = fpb_node_tuples(shape, (char *) node),
	};

	return loose;
}

static inline LooseNode
open_pairs(const FpbIndex *ix, const FpbShape *shape, FpbCodec codec, const char *node)
{
	LooseNode	loose = {
		.start = node,
		.nslots = shape->pairs[fpb_pairs_form(codec)],
		.bytes = fpb_pair_bytes(ix, codec),
		.tail_width = fpb_pair_tail_width(codec),
		.head_off = fpb_pair_head_off(ix, codec),
		.short_head = fpb_pair_has_short_head(ix, codec),
		.shift = fpb_codec_near(codec) ? 0 : 32,
		.base = fpb_pairs_base(shape, codec, node),
	};

	return loose;
}

static inline LooseNode
open_loose(const FpbIndex *ix, const FpbShape *shape, FpbCodec codec, const char *node)
{
	return fpb_codec_kind(codec) == FPB_NODE_TUPLES ? open_tuples(ix, shape, node) :
		open_pairs(ix, shape, codec, node);
}

static inline const char *
pair_at(const LooseNode *loose, int slot)
{
	return loose->start + slot * loose->bytes;
}

static inline uint64
pair_head(const LooseNode *loose, int slot)
{
	const char *stored = pair_at(loose, slot) + loose->head_off;
	uint64		head;
	uint32		half;

	if (loose->short_head)
	{
		memcpy(&half, stored, sizeof(half));
		return loose->base + ((uint64) half << loose->shift);
	}
	memcpy(&head, stored, sizeof(head));
	return head;
}

static inline uint64
pair_low(const LooseNode *loose, int slot)
{
	uint64		low;

	memcpy(&low, pair_at(loose, slot) + loose->tail_width, sizeof(low));
	return low;
}

static inline bool
is_gap(const LooseNode *loose, int slot)
{
	if (loose->tuples != NULL)
		return loose->tuples[slot] == 0;
	return fpb_short_tail_is_gap(pair_at(loose, slot), 0, FPB_SHORT_TAIL);
}

/*
 * Is the entry in slot a less than that in slot b?
 */
static inline bool
slot_less(const FpbIndex *ix, const LooseNode *loose, int a, int b)
{
	uint64		head_a = pair_head(loose, a);
	uint64		head_b = pair_head(loose, b);

	if (head_a != head_b)
		return head_a < head_b;
	if (loose->tuples != NULL)
		return a < b;
	if (ix->form == FPB_WORD16 && pair_low(loose, a) != pair_low(loose, b))
		return pair_low(loose, a) < pair_low(loose, b);
	return fpb_read_short_tail(pair_at(loose, a), 0, loose->tail_width) <
		fpb_read_short_tail(pair_at(loose, b), 0, loose->tail_width);
}

/* Are a node's entries in the order of their slots, because no key has a head? */
static inline bool
in_slot_order(const LooseNode *loose)
{
	return loose->bytes == 0;
}

/*
 * The first slot from slot on that has an entry (forward: else the last one up
 * to it), or -1.
 */
static int
next_in_slots(const LooseNode *loose, int slot, bool forward)
{
	while (slot >= 0 && slot < loose->nslots && is_gap(loose, slot))
		slot += forward ? 1 : -1;
	return slot < loose->nslots ? slot : -1;
}

/* a tuples node with short heads orders its entries by these 32 + 8 bits */
#define TUPLE_NUMBER(head, slot)	((uint64) (head) >> 32 << BITS_PER_BYTE | (slot))
#define MOST_TUPLE_NUMBER			TUPLE_NUMBER(PG_UINT64_MAX, PG_UINT8_MAX)

/* Has a node numbers by which to order its entries? */
static inline bool
has_numbers(const LooseNode *loose)
{
	return loose->tuples != NULL && loose->bytes == sizeof(uint32);
}

/*
 * The slot of the first entry whose number is at least from (forward: else of
 * the last one whose number is at most from), or -1.
 *
 * That one is the nearest to from.  Those on the other side are farther from
 * it than any other, if numbers are taken to follow each other in a circle.
 */
static int
nearest_tuple(const LooseNode *loose, uint64 from, bool forward)
{
	const uint32 *heads = (const uint32 *) loose->start;
	uint64		sign = forward ? 0 : PG_UINT64_MAX;
	uint64		least = PG_UINT64_MAX;

	for (int slot = 0; slot < loose->nslots; slot++)
	{
		uint64		number = (uint64) heads[slot] << BITS_PER_BYTE | slot;
		uint64		distance = ((number - from) ^ sign) - sign;

		distance |= -(uint64) (loose->tuples[slot] == 0);
		least = Min(least, distance);
	}
	if (least > (forward ? MOST_TUPLE_NUMBER - from : from))
		return -1;
	return (forward ? from + least : from - least) & PG_UINT8_MAX;
}

/*
 * How far is the nearest head of the entries in slots [slot, end) of a tuples
 * node from another head, in the direction that sign tells?
 */
static inline uint64
least_distance(const LooseNode *loose, int slot, int end, uint64 from, uint64 sign)
{
	const uint64 *heads = (const uint64 *) loose->start;
	uint64		least = PG_UINT64_MAX;

	for (; slot < end; slot++)
	{
		uint64		distance = ((heads[slot] - from) ^ sign) - sign;

		distance |= -(uint64) (loose->tuples[slot] == 0);
		least = Min(least, distance);
	}
	return least;
}

/*
 * The first slot of a tuples node, among those in [slot, end), whose entry has
 * this head (forward: else the last one), or -1.
 */
static inline int
slot_of_head(const LooseNode *loose, int slot, int end, uint64 head, bool forward)
{
	const uint64 *heads = (const uint64 *) loose->start;
	int			found = -1;

	for (; slot < end; slot++)
	{
		if (heads[slot] != head || loose->tuples[slot] == 0)
			continue;
		if (forward)
			return slot;
		found = slot;
	}
	return found;
}

/*
 * The slot of the first entry of a tuples node with heads of 64 bits whose
 * head is from this one on (forward: else of the last one up to it), and no
 * farther than "most", or -1.
 */
static int
nearest_from(const LooseNode *loose, uint64 head, uint64 most, bool forward)
{
	uint64		least = least_distance(loose, 0, loose->nslots, head, forward ? 0 : PG_UINT64_MAX);

	if (least > most)
		return -1;
	return slot_of_head(loose, 0, loose->nslots, forward ? head + least : head - least, forward);
}

/*
 * The slot of the next entry of a tuples node with heads of 64 bits after that
 * in a slot (forward: or before it), or -1.  That may be one of the same head,
 * on one side of the slot.
 */
static int
nearest_wide(const LooseNode *loose, int slot, bool forward)
{
	uint64		head = ((const uint64 *) loose->start)[slot];
	uint64		most = forward ? PG_UINT64_MAX - head : head;
	int			found = forward ? slot_of_head(loose, slot + 1, loose->nslots, head, true) :
		slot_of_head(loose, 0, slot, head, false);

	if (found >= 0 || most == 0)
		return found;
	return nearest_from(loose, forward ? head + 1 : head - 1, most - 1, forward);
}

/* so many tuple offsets are looked at at once, as one integer */
#define TUPLES_AT_ONCE	((int) (sizeof(uint64) / sizeof(uint16)))

/*
 * How many of so many tuple offsets are 0, which stands for a gap?
 */
static inline int
gaps_among(const uint16 *tuples)
{
	uint64		low = UINT64CONST(0x7FFF7FFF7FFF7FFF);
	uint64		all;

	memcpy(&all, tuples, sizeof(all));
	/* the top bit of each becomes 1 unless all of its bits are 0 */
	all |= (all & low) + low;
	/* and as the lowest bit, they are added up in the top ones */
	return TUPLES_AT_ONCE - (int) (((all & ~low) >> 15) * UINT64CONST(0x0001000100010001) >> 48);
}

/*
 * How many entries has a pairs node whose codec says that they are in order?
 * They are in its first slots.
 */
static int
count_in_order(const LooseNode *loose)
{
	int			count = 0;
	int			n = loose->nslots;

	while (n > 1)
	{
		int			half = n / 2;

		/* a mask, as compilers make a branch of a conditional expression */
		count += half & -(int) !is_gap(loose, count + half - 1);
		n -= half;
	}
	return count + !is_gap(loose, count);
}

/*
 * The first slot that is a gap, or -1.
 */
int
fpb_loose_gap(const FpbIndex *ix, const FpbShape *shape, FpbCodec codec, const char *node)
{
	LooseNode	loose = open_loose(ix, shape, codec, node);
	int			slot = 0;

	if (fpb_codec_in_order(codec))
		slot = count_in_order(&loose);
	else if (loose.tuples != NULL)
		while (slot + TUPLES_AT_ONCE <= loose.nslots &&
			   gaps_among(loose.tuples + slot) == 0)
			slot += TUPLES_AT_ONCE;
	for (; slot < loose.nslots; slot++)
		if (is_gap(&loose, slot))
			return slot;
	return -1;
}

/*
 * How many entries has a node?
 */
int
fpb_loose_count(const FpbIndex *ix, const FpbShape *shape, FpbCodec codec, const char *node)
{
	LooseNode	loose = open_loose(ix, shape, codec, node);
	int			count = 0;
	int			slot = 0;

	if (fpb_codec_in_order(codec))
		return count_in_order(&loose);
	if (loose.tuples != NULL)
		for (; slot + TUPLES_AT_ONCE <= loose.nslots; slot += TUPLES_AT_ONCE)
			count += TUPLES_AT_ONCE - gaps_among(loose.tuples + slot);
	for (; slot < loose.nslots; slot++)
		count += !is_gap(&loose, slot);
	return count;
}

/*
 * As fpb_loose_order, where pairs are integers.
 */
static int
order_integers(const char *node, int nslots, uint8 *slots)
{
	uint64		before[FPB_LOOSE_MOST]; /* of slots[] */
	uint64		greatest = 0;
	int			n = 0;

	for (int slot = 0; slot < nslots; slot++)
	{
		uint64		pair = fpb_pair_integer(node, slot);
		int			at = n;

		if ((pair & FPB_TAIL_MAX_OFFSET) == 0)
			continue;
		if (likely(pair > greatest))
			greatest = pair;
		else
			for (; at > 0 && pair < before[at - 1]; at--)
			{
				before[at] = before[at - 1];
				slots[at] = slots[at - 1];
			}
		before[at] = pair;
		slots[at] = slot;
		n++;
	}
	return n;
}

/*
 * The same for others.
 */
static int
order_pairs(const FpbIndex *ix, const LooseNode *loose, uint8 *slots)
{
	uint64		heads[FPB_LOOSE_MOST];	/* of slots[] */
	uint64		greatest = 0;
	int			n = 0;

	for (int slot = 0; slot < loose->nslots; slot++)
	{
		uint64		head = pair_head(loose, slot);
		int			at = n;

		if (is_gap(loose, slot))
			continue;
		if (unlikely(head <= greatest))
		{
			for (; at > 0 && head < heads[at - 1]; at--)
			{
				heads[at] = heads[at - 1];
				slots[at] = slots[at - 1];
			}
			for (; at > 0 && head == heads[at - 1] &&
				 slot_less(ix, loose, slot, slots[at - 1]); at--)
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
 * The same for a tuples node that has numbers.
 */
static int
order_numbers(const LooseNode *loose, uint8 *slots)
{
	const uint32 *heads = (const uint32 *) loose->start;
	uint64		numbers[FPB_LOOSE_MOST];	/* of slots[] */
	int			n = 0;

	for (int slot = 0; slot < loose->nslots; slot++)
	{
		uint64		number = (uint64) heads[slot] << BITS_PER_BYTE | slot;
		int			at = n;

		if (loose->tuples[slot] == 0)
			continue;
		for (; at > 0 && number < numbers[at - 1]; at--)
			numbers[at] = numbers[at - 1];
		numbers[at] = number;
		n++;
	}
	for (int i = 0; i < n; i++)
		slots[i] = (uint8) numbers[i];
	return n;
}

/*
 * The same for a tuples node whose entries are in the order of their slots.
 */
static int
entries_in_slots(const LooseNode *loose, uint8 *slots)
{
	int			n = 0;

	for (int slot = 0; slot < loose->nslots; slot++)
	{
		slots[n] = slot;
		n += loose->tuples[slot] != 0;
	}
	return n;
}

/*
 * The same for a tuples node with heads, if its entries are in the order of
 * their slots; else -1.
 */
static pg_attribute_always_inline int
entries_if_in_slots(const LooseNode *loose, bool short_heads, uint8 *slots)
{
	uint64		greatest = 0;
	int			n = 0;

	for (int slot = 0; slot < loose->nslots; slot++)
	{
		uint64		head = short_heads ? ((const uint32 *) loose->start)[slot] :
			((const uint64 *) loose->start)[slot];

		if (loose->tuples[slot] == 0)
			continue;
		if (unlikely(head < greatest))
			return -1;
		greatest = head;
		slots[n++] = slot;
	}
	return n;
}

/*
 * The same for any tuples node.  Most are in the order of their slots.
 */
static int
order_tuples(const FpbIndex *ix, const LooseNode *loose, uint8 *slots)
{
	int			n;

	if (in_slot_order(loose))
		return entries_in_slots(loose, slots);
	if (has_numbers(loose))
		return (n = entries_if_in_slots(loose, true, slots)) >= 0 ? n : order_numbers(loose, slots);
	return (n = entries_if_in_slots(loose, false, slots)) >= 0 ? n : order_pairs(ix, loose, slots);
}

/*
 * Put the slots that have entries in the order of these, into slots[], which
 * has room for FPB_LOOSE_MOST.  Returns how many.
 *
 * By insertion, because most entries are in order already.
 */
int
fpb_loose_order(const FpbIndex *ix, const FpbShape *shape, FpbCodec codec, char *node,
				uint8 *slots)
{
	LooseNode	loose = open_loose(ix, shape, codec, node);

	if (loose.tuples != NULL)
		return order_tuples(ix, &loose, slots);
	if (fpb_pair_is_integer(ix, codec))
		return order_integers(node, loose.nslots, slots);
	return order_pairs(ix, &loose, slots);
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
	LooseNode	loose = open_loose(ix, shape, codec, node);
	int			n = 0;

	for (int slot = 0; slot < loose.nslots; slot++)
	{
		uint64		head = pair_head(&loose, slot);

		if (head < least || is_gap(&loose, slot))
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
	LooseNode	loose = open_loose(ix, shape, codec, node);
	uint64		head = pair_head(&loose, slot);
	int			rank = 0;

	if (fpb_codec_in_order(codec))
		return slot;
	for (int other = 0; other < loose.nslots; other++)
	{
		uint64		other_head = pair_head(&loose, other);

		if (other_head <= head && !is_gap(&loose, other) &&
			(other_head < head || slot_less(ix, &loose, other, slot)))
			rank++;
	}
	return rank;
}

/* --- search --- */

/*
 * Where pairs are integers: the least one that is not before the search key
 * (equal: not equal to it either).  False if all are before it.
 */
static inline bool
least_integer(const LooseNode *loose, const FpbSearchKey *search, bool equal, uint64 *least)
{
	uint64		head = search->head;
	uint64		half;
	bool		beyond = search->low > 0 || search->tail > PG_UINT32_MAX;

	if (loose->shift > 0)
	{
		half = head >> 32;
		/* stored heads have zeros below */
		beyond |= (uint32) head != 0;
	}
	else if (head < loose->base)
	{
		*least = 0;
		return true;
	}
	else
		half = head - loose->base;
	if (half > FPB_NEAR_MOST || (beyond && half == FPB_NEAR_MOST))
		return false;
	*least = beyond ? (half + 1) << 32 : half << 32 | search->tail;
	if (equal && !beyond)
	{
		if (*least == PG_UINT64_MAX)
			return false;
		(*least)++;
	}
	return true;
}

/*
 * As fpb_loose_search, where pairs are integers, and in order.  A gap, less
 * one, is behind all others; so the search key and all pairs are taken less
 * one.
 */
static int
search_ordered_integers(const LooseNode *loose, uint64 key, int *next)
{
	int			count = 0;
	int			slot = 0;

	key -= key > 0;
	for (; slot + 4 <= loose->nslots; slot += 4)
		count += (fpb_pair_integer(loose->start, slot) - 1 < key) +
			(fpb_pair_integer(loose->start, slot + 1) - 1 < key) +
			(fpb_pair_integer(loose->start, slot + 2) - 1 < key) +
			(fpb_pair_integer(loose->start, slot + 3) - 1 < key);
	for (; slot < loose->nslots; slot++)
		count += fpb_pair_integer(loose->start, slot) - 1 < key;
	*next = count < loose->nslots && !is_gap(loose, count) ? count : -1;
	return count;
}

/*
 * The same in any order.  A lookup spends its time here, without a branch that
 * depends on pairs: a gap counts as the greatest integer.
 *
 * The next entry is the one that is the least behind the search key.  Those
 * before that are behind it by more than any other, if numbers are taken to
 * follow each other in a circle.
 */
static int
search_integers(const LooseNode *loose, uint64 key, int *next)
{
	uint64		least = PG_UINT64_MAX;
	int			found = -1;
	int			count = 0;

	for (int slot = 0; slot < loose->nslots; slot++)
	{
		uint64		pair = fpb_pair_integer(loose->start, slot);
		uint64		behind;
		bool		nearer;

		pair |= -(uint64) ((uint16) pair == 0);
		behind = pair - key;
		nearer = behind < least;
		count += pair < key;
		least = nearer ? behind : least;
		found = nearer ? slot : found;
	}
	*next = found >= 0 && least <= PG_UINT64_MAX - key && !is_gap(loose, found) ? found : -1;
	return count;
}

/*
 * As fpb_loose_search, for the entries that do not have a head of their own.
 * less: so many have a head that is less than the search key's.
 */
static int
search_ties(const FpbIndex *ix, Page page, const FpbShape *shape, FpbCodec codec,
			char *node, const FpbSearchKey *search, bool equal,
			const LooseNode *loose, int less, int *next)
{
	int			most = equal ? 0 : -1;	/* sign of an entry that is counted */
	uint64		best = 0;
	int			count = less;
	int			found = -1;

	for (int slot = 0; slot < loose->nslots; slot++)
	{
		uint64		head = pair_head(loose, slot);

		if (head < search->head || is_gap(loose, slot))
			continue;
		if (head == search->head &&
			fpb_compare_slot(ix, page, shape, codec, node, slot, false, search, search->head) <= most)
			count++;
		else if (found < 0 || head < best ||
				 (head == best && slot_less(ix, loose, slot, found)))
		{
			best = head;
			found = slot;
		}
	}
	*next = found;
	return count;
}

/*
 * As fpb_loose_search, where pairs are no integers.  The next entry is found
 * as it is among these, by its head.
 */
static pg_attribute_always_inline int
search_heads(const FpbIndex *ix, Page page, const FpbShape *shape, FpbCodec codec,
			 char *node, const FpbSearchKey *search, bool equal,
			 const LooseNode *loose, int *next)
{
	uint64		farthest = PG_UINT64_MAX - search->head;
	uint64		least = PG_UINT64_MAX;	/* how far behind the search key's is
										 * the next one's head, */
	bool		tied = false;	/* and may others have the same? */
	int			found = -1;
	int			count = 0;

	/* without a branch that depends on heads */
	for (int slot = 0; slot < loose->nslots; slot++)
	{
		uint64		head = pair_head(loose, slot);
		bool		live = !is_gap(loose, slot);
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
		return search_ties(ix, page, shape, codec, node, search, equal, loose, count, next);
	return count;
}

/*
 * The same for a node whose entries are in order: those behind all that have
 * lesser heads are compared one by one.
 */
static pg_attribute_always_inline int
search_ordered_heads(const FpbIndex *ix, Page page, const FpbShape *shape, FpbCodec codec,
					 char *node, const FpbSearchKey *search, bool equal,
					 const LooseNode *loose, int *next)
{
	int			count = 0;

	for (int slot = 0; slot < loose->nslots; slot++)
	{
		bool		live = !is_gap(loose, slot);

		count += live & (pair_head(loose, slot) < search->head);
	}
	while (count < loose->nslots && !is_gap(loose, count) &&
		   pair_head(loose, count) == search->head &&
		   fpb_compare_slot(ix, page, shape, codec, node, count, false, search, search->head) <= (equal ? 0 : -1))
		count++;
	*next = count < loose->nslots && !is_gap(loose, count) ? count : -1;
	return count;
}

#ifdef USE_SSE2

/* All ones where a number of four of 32 bits is less than the other one's. */
static inline __m128i
less_of_four(__m128i a, __m128i b)
{
	const __m128i sign = _mm_set1_epi32(PG_INT32_MIN);	/* compared as signed */

	return _mm_cmpgt_epi32(_mm_xor_si128(b, sign), _mm_xor_si128(a, sign));
}

/*
 * Which of four heads of 64 bits are the same as one whose halves are in key
 * and key_low: all ones for each.  *less: which ones are less.
 */
static inline __m128i
compare_four_wide(const uint64 *heads, __m128i key, __m128i key_low, __m128i *less)
{
	__m128		first = _mm_castsi128_ps(_mm_loadu_si128((const __m128i *) heads));
	__m128		last = _mm_castsi128_ps(_mm_loadu_si128((const __m128i *) (heads + 2)));
	__m128i		high = _mm_castps_si128(_mm_shuffle_ps(first, last, _MM_SHUFFLE(3, 1, 3, 1)));
	__m128i		low = _mm_castps_si128(_mm_shuffle_ps(first, last, _MM_SHUFFLE(2, 0, 2, 0)));
	__m128i		same = _mm_cmpeq_epi32(high, key);

	*less = _mm_or_si128(less_of_four(high, key),
						 _mm_and_si128(same, less_of_four(low, key_low)));
	return _mm_and_si128(same, _mm_cmpeq_epi32(low, key_low));
}

#endif

/*
 * Which of the eight slots of a tuples node from slot on have entries with
 * this head: a bit for each.  *less becomes a bit for each that has a lesser
 * one.
 */
static pg_attribute_always_inline uint32
compare_eight(const LooseNode *loose, int slot, bool short_heads, uint64 head, uint32 *less)
{
	const uint16 *tuples = loose->tuples + slot;
	const uint32 *heads = (const uint32 *) loose->start + slot;
	const uint64 *wide = (const uint64 *) loose->start + slot;

#ifdef USE_SSE2
	__m128i		key = _mm_set1_epi32((int) (head >> 32));
	__m128i		key_low = _mm_set1_epi32((int) head);
	__m128i		gaps = _mm_cmpeq_epi16(_mm_loadu_si128((const __m128i *) tuples), _mm_setzero_si128());
	__m128i		same[2];
	__m128i		before[2];
	uint32		bits;

	for (int i = 0; i < 2; i++)
	{
		if (short_heads)
		{
			__m128i		four = _mm_loadu_si128((const __m128i *) (heads + 4 * i));

			same[i] = _mm_cmpeq_epi32(four, key);
			before[i] = less_of_four(four, key);
		}
		else
			same[i] = compare_four_wide(wide + 4 * i, key, key_low, &before[i]);
	}
	bits = _mm_movemask_epi8(_mm_packs_epi16(_mm_andnot_si128(gaps, _mm_packs_epi32(before[0], before[1])),
											 _mm_andnot_si128(gaps, _mm_packs_epi32(same[0], same[1]))));
	*less = bits & 0xFF;
	return bits >> 8;
#else
	uint32		same = 0;

	*less = 0;
	for (int i = 0; i < 8; i++)
	{
		uint64		other = short_heads ? (uint64) heads[i] << 32 : wide[i];
		bool		live = tuples[i] != 0;

		*less |= (uint32) (live & (other < head)) << i;
		same |= (uint32) (live & (other == head)) << i;
	}
	return same;
#endif
}

/*
 * Put those of four slots from slot on into alike[] whose bits are set.
 * Returns how many.  There is room for all four: what is written without being
 * counted is overwritten.
 */
static inline int
add_alike(uint32 bits, int slot, uint8 *alike)
{
	static const uint8 places[16][4] = {
		{0}, {0}, {1}, {0, 1}, {2}, {0, 2}, {1, 2}, {0, 1, 2},
		{3}, {0, 3}, {1, 3}, {0, 1, 3}, {2, 3}, {0, 2, 3}, {1, 2, 3}, {0, 1, 2, 3}
	};
	uint32		slots;

	memcpy(&slots, places[bits], sizeof(slots));
	slots += (uint32) slot * 0x01010101;
	memcpy(alike, &slots, sizeof(slots));
	return pg_number_of_ones[bits];
}

/*
 * find_alike among all slots but the last few: *slot becomes the first of
 * those.
 */
static pg_attribute_always_inline int
find_by_eight(const LooseNode *loose, bool short_heads, uint64 head, uint8 *alike, int *less,
			  int *slot)
{
	int			n = 0;

	for (; *slot + 8 <= loose->nslots; *slot += 8)
	{
		uint32		before;
		uint32		same = compare_eight(loose, *slot, short_heads, head, &before);

		*less += pg_number_of_ones[before];
		if (same != 0)
		{
			n += add_alike(same & 0xF, *slot, alike + n);
			n += add_alike(same >> 4, *slot + 4, alike + n);
		}
	}
	return n;
}

/*
 * The slots of a tuples node whose entries have a head.  They go to alike[],
 * which has room for FPB_LOOSE_MOST, in order; returns how many.  *less
 * becomes the number of entries that have lesser heads.
 */
static int
find_alike(const LooseNode *loose, uint64 head, uint8 *alike, int *less)
{
	int			nslots = loose->nslots;
	int			n = 0;
	int			slot = 0;
	int			count = 0;

	if (has_numbers(loose) && (uint32) head == 0)
		n = find_by_eight(loose, true, head, alike, &count, &slot);
	else if (loose->bytes == sizeof(uint64))
		n = find_by_eight(loose, false, head, alike, &count, &slot);
	for (; slot < nslots; slot++)
	{
		uint64		other = pair_head(loose, slot);

		if (other > head || is_gap(loose, slot))
			continue;
		if (other < head)
			count++;
		else
			alike[n++] = slot;
	}
	*less = count;
	return n;
}

/*
 * The slot of the first entry of a tuples node whose head, which is short, is
 * greater, or -1: of four at once.
 *
 * The nearest head is behind this one by the least distance.  Those that are
 * not greater are behind it by more than any other, if numbers are taken to
 * follow each other in a circle.  Vectors are compared as signed numbers, so
 * half a circle is added to distances.
 */
static int
first_greater_short(const LooseNode *loose, uint32 head)
{
	const uint32 *heads = (const uint32 *) loose->start;
	const uint32 half = UINT32_C(1) << 31;
	uint32		from = head + 1;
	uint32		least = PG_UINT32_MAX;
	FpbVector32 leasts = {0};
	int			slot = 0;

	if (head == PG_UINT32_MAX)
		return -1;
	leasts += half - 1;
	for (; slot + 4 <= loose->nslots; slot += 4)
	{
		FpbVector32 distances;
		FpbVector32 nearer;
		FpbVector16 tuples;

		memcpy(&distances, heads + slot, sizeof(distances));
		memcpy(&tuples, loose->tuples + slot, sizeof(tuples));
		distances -= from;
		/* that of a gap is the greatest */
		distances |= (FpbVector32) (__builtin_convertvector(tuples, FpbVector32) == 0);
		distances ^= half;
		nearer = (FpbVector32) ((FpbSigned32) distances < (FpbSigned32) leasts);
		leasts = (distances & nearer) | (leasts & ~nearer);
	}
	for (int i = 0; i < 4; i++)
		least = Min(least, leasts[i] ^ half);
	for (; slot < loose->nslots; slot++)
		if (loose->tuples[slot] != 0)
			least = Min(least, heads[slot] - from);
	if (least > PG_UINT32_MAX - from)
		return -1;
	for (slot = 0; slot < loose->nslots; slot++)
		if (heads[slot] == from + least && loose->tuples[slot] != 0)
			return slot;
	return -1;					/* not reached */
}

/*
 * The slot of the first entry of a tuples node whose head is greater, or -1.
 */
static int
first_greater(const LooseNode *loose, uint64 head)
{
	if (has_numbers(loose))
		return first_greater_short(loose, (uint32) (head >> 32));
	return head == PG_UINT64_MAX ? -1 :
		nearest_from(loose, head + 1, PG_UINT64_MAX - head - 1, true);
}

/*
 * How many entries are before a slot of a tuples node?
 */
static int
count_before(const LooseNode *loose, int slot)
{
	int			rank = 0;
	int			before = 0;

	for (; before + TUPLES_AT_ONCE <= slot; before += TUPLES_AT_ONCE)
		rank += TUPLES_AT_ONCE - gaps_among(loose->tuples + before);
	for (; before < slot; before++)
		rank += !is_gap(loose, before);
	return rank;
}

/*
 * As fpb_loose_search, for a tuples node whose entries are in the order of
 * their slots.
 */
static int
search_in_slots(const FpbIndex *ix, Page page, const FpbShape *shape, FpbCodec codec,
				char *node, const FpbSearchKey *search, bool equal,
				const LooseNode *loose, int *next)
{
	int			slot = fpb_search_slots(ix, page, shape, codec, node, 0, loose->nslots, search,
										search->head, equal);

	*next = next_in_slots(loose, slot, true);
	return count_before(loose, slot);
}

/*
 * As fpb_loose_search, for tuples.  Those that have the search key's head are
 * bisected, or all of them if the search key has none.
 */
static int
search_tuples(const FpbIndex *ix, Page page, const FpbShape *shape, FpbCodec codec,
			  char *node, const FpbSearchKey *search, uint64 head, bool equal,
			  const LooseNode *loose, int *next)
{
	uint8		alike[FPB_LOOSE_MOST];
	int			most = equal ? 0 : -1;	/* sign of an entry that is counted */
	int			less = 0;
	int			lo = 0;
	int			n;
	int			hi;

	hi = n = search->has_head ? find_alike(loose, head, alike, &less) :
		order_tuples(ix, loose, alike);

	/*
	 * A new entry often comes behind all of these: its key is one of an
	 * ascending series.  (Search keys for scans have no TID.)
	 */
	if (n > 1 && search->tail != FPB_TAIL_MIN && search->tail != FPB_TAIL_MAX &&
		fpb_compare_slot(ix, page, shape, codec, node, alike[n - 1], true, search, head) <= most)
		lo = n;
	while (lo < hi)
	{
		int			mid = lo + (hi - lo) / 2;

		if (fpb_compare_slot(ix, page, shape, codec, node, alike[mid], true, search, head) > most)
			hi = mid;
		else
			lo = mid + 1;
	}
	if (lo < n)
		*next = alike[lo];
	else
		*next = search->has_head ? first_greater(loose, head) : -1;
	return less + lo;
}

/*
 * See find_alike.
 */
int
fpb_loose_alike(const FpbIndex *ix, const FpbShape *shape, const char *node, uint64 head,
				uint8 *alike, int *less)
{
	LooseNode	loose = open_tuples(ix, shape, node);

	return find_alike(&loose, head, alike, less);
}

/*
 * Count the entries < search key (equal: <= search key), which has this head
 * in the page.  *next: the slot of the first of the others, or -1.
 */
int
fpb_loose_search(const FpbIndex *ix, Page page, const FpbShape *shape, FpbCodec codec,
				 char *node, const FpbSearchKey *search, uint64 head, bool equal,
				 int *next)
{
	LooseNode	loose = open_loose(ix, shape, codec, node);
	bool		in_order = fpb_codec_in_order(codec);
	uint64		key;

	if (in_slot_order(&loose))
		return search_in_slots(ix, page, shape, codec, node, search, equal, &loose, next);
	if (loose.tuples != NULL)
		return search_tuples(ix, page, shape, codec, node, search, head, equal, &loose, next);
	if (fpb_pair_is_integer(ix, codec))
	{
		if (least_integer(&loose, search, equal, &key))
			return in_order ? search_ordered_integers(&loose, key, next) :
				search_integers(&loose, key, next);
		*next = -1;
		return fpb_loose_count(ix, shape, codec, node);
	}
	if (in_order)
		return search_ordered_heads(ix, page, shape, codec, node, search, equal, &loose, next);

	/* compiled for each width of heads */
	if (loose.short_head)
		return search_heads(ix, page, shape, codec, node, search, equal, &loose, next);
	loose.short_head = false;
	return search_heads(ix, page, shape, codec, node, search, equal, &loose, next);
}

/*
 * fpb_loose_search of a tuples node of keys without heads.  No entry before
 * the slot from is >= search key.
 */
int
fpb_loose_search_from(const FpbIndex *ix, Page page, const FpbShape *shape, FpbCodec codec,
					  char *node, int from, const FpbSearchKey *search, int *next)
{
	LooseNode	loose = open_tuples(ix, shape, node);
	int			slot = fpb_search_slots_from(ix, page, shape, codec, node, from, loose.nslots, search);

	Assert(in_slot_order(&loose));
	*next = next_in_slots(&loose, slot, true);
	return count_before(&loose, slot);
}

/*
 * Where pairs are integers, the slot of the least one that is no less than
 * this one (not forward: the greatest that is no greater), or -1.
 */
static int
nearest_integer(const LooseNode *loose, uint64 from, bool forward)
{
	uint64		turn = forward ? 0 : PG_UINT64_MAX; /* the order, for the
													 * other way */
	uint64		nearest = PG_UINT64_MAX - (from ^ turn);
	int			found = -1;

	/* what lies on the other side is farther away than that */
	for (int slot = 0; slot < loose->nslots; slot++)
	{
		uint64		pair = fpb_pair_integer(loose->start, slot);
		uint64		distance = (pair ^ turn) - (from ^ turn);

		if (distance <= nearest && (pair & FPB_TAIL_MAX_OFFSET) != 0)
		{
			nearest = distance;
			found = slot;
		}
	}
	return found;
}

/*
 * The slot of the first entry (last: the last one), or -1.
 */
int
fpb_loose_end(const FpbIndex *ix, const FpbShape *shape, FpbCodec codec, char *node,
			  bool last)
{
	LooseNode	loose = open_loose(ix, shape, codec, node);
	int			found = -1;

	if (fpb_codec_in_order(codec) && !last)
		return is_gap(&loose, 0) ? -1 : 0;
	if (in_slot_order(&loose))
		return next_in_slots(&loose, last ? loose.nslots - 1 : 0, !last);
	if (has_numbers(&loose))
		return nearest_tuple(&loose, last ? MOST_TUPLE_NUMBER : 0, !last);
	if (loose.tuples != NULL)
		return nearest_from(&loose, last ? PG_UINT64_MAX : 0, PG_UINT64_MAX, !last);
	if (fpb_pair_is_integer(ix, codec))
		return nearest_integer(&loose, last ? PG_UINT64_MAX : 0, !last);
	for (int slot = 0; slot < loose.nslots; slot++)
		if (!is_gap(&loose, slot) &&
			(found < 0 || slot_less(ix, &loose, slot, found) != last))
			found = slot;
	return found;
}

/*
 * The slot of the first entry of a tuples node that has this head, or -1.
 */
int
fpb_loose_first_of(const FpbIndex *ix, const FpbShape *shape, const char *node, uint64 head)
{
	LooseNode	loose = open_tuples(ix, shape, node);

	for (int slot = 0; slot < loose.nslots; slot++)
		if (pair_head(&loose, slot) == head && !is_gap(&loose, slot))
			return slot;
	return -1;
}

/*
 * The last slot before slot to of a tuples node whose entry has this head, or
 * -1.
 */
int
fpb_loose_last_before(const FpbIndex *ix, const FpbShape *shape, const char *node, uint64 head,
					  int to)
{
	LooseNode	loose = open_tuples(ix, shape, node);
	const uint32 *heads = (const uint32 *) node;

	if (loose.bytes == sizeof(uint64))
		return slot_of_head(&loose, 0, to, head, false);
	for (int slot = to - 1; slot >= 0; slot--)
		if (heads[slot] == head >> 32 && !is_gap(&loose, slot))
			return slot;
	return -1;
}

/*
 * The slot of the next entry after that in a slot (forward: or before it), or
 * -1.
 */
int
fpb_loose_step(const FpbIndex *ix, const FpbShape *shape, FpbCodec codec, char *node,
			   int slot, bool forward)
{
	LooseNode	loose = open_loose(ix, shape, codec, node);
	uint64		head = pair_head(&loose, slot);
	uint64		best = 0;
	int			found = -1;

	if (fpb_codec_in_order(codec))
	{
		slot += forward ? 1 : -1;
		return slot >= 0 && slot < loose.nslots && !is_gap(&loose, slot) ? slot : -1;
	}
	if (in_slot_order(&loose))
		return next_in_slots(&loose, slot + (forward ? 1 : -1), forward);
	if (has_numbers(&loose))
	{
		uint64		number = TUPLE_NUMBER(head, slot);

		if (number == (forward ? MOST_TUPLE_NUMBER : 0))
			return -1;
		return nearest_tuple(&loose, forward ? number + 1 : number - 1, forward);
	}
	if (loose.tuples != NULL)
		return nearest_wide(&loose, slot, forward);
	if (fpb_pair_is_integer(ix, codec))
	{
		uint64		pair = fpb_pair_integer(node, slot);

		if (pair == (forward ? PG_UINT64_MAX : 0))
			return -1;
		return nearest_integer(&loose, forward ? pair + 1 : pair - 1, forward);
	}
	for (int other = 0; other < loose.nslots; other++)
	{
		uint64		other_head = pair_head(&loose, other);

		if ((forward ? other_head < head : other_head > head) ||
			(found >= 0 && (forward ? other_head > best : other_head < best)) ||
			other == slot || is_gap(&loose, other))
			continue;
		if (other_head == head &&
			!(forward ? slot_less(ix, &loose, slot, other) : slot_less(ix, &loose, other, slot)))
			continue;
		if (found >= 0 && other_head == best && slot_less(ix, &loose, other, found) != forward)
			continue;
		best = other_head;
		found = other;
	}
	return found;
}

/* --- reading --- */

/*
 * Unpack the integer of a pair.
 */
static inline FpbItem *
put_integer(uint64 pair, const LooseNode *loose, FpbPos pos, FpbItem *item)
{
	item->key.head = loose->base + ((pair >> 32) << loose->shift);
	item->key.low = 0;
	item->key.tail = (uint32) pair;
	item->key.tuple = NULL;
	item->pos = pos;
	return item + 1;
}

/*
 * Read the entries of ranks [from, to), which there are, into items[].  slots:
 * where they are; NULL: in the slots of their ranks.  pos is the position of
 * rank 0 in slot 0, and each further rank, or slot, is so much more.
 */
void
fpb_loose_read(const FpbIndex *ix, Page page, const FpbShape *shape, FpbCodec codec,
			   char *node, const uint8 *slots, int from, int to, FpbPos pos,
			   uint64 rank_step, uint64 slot_step, FpbItem *items)
{
	LooseNode	loose = open_loose(ix, shape, codec, node);
	uint64		first = pos.number;
	FpbEntry	entry;

	if (fpb_pair_is_integer(ix, codec) && slots == NULL)
	{
		pos.number += from * (rank_step + slot_step);
		for (; from < to; from++, pos.number += rank_step + slot_step)
			items = put_integer(fpb_pair_integer(node, from), &loose, pos, items);
		return;
	}
	for (; from < to; from++)
	{
		int			slot = slots == NULL ? from : slots[from];

		pos.number = first + from * rank_step + slot * slot_step;
		if (fpb_pair_is_integer(ix, codec))
		{
			items = put_integer(fpb_pair_integer(node, slot), &loose, pos, items);
			continue;
		}
		fpb_read_slot(ix, page, shape, codec, node, slot, &entry);
		items->key = entry.key;
		(items++)->pos = pos;
	}
}
