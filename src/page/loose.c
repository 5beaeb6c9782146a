/*-------------------------------------------------------------------------
 *
 * page/loose.c
 *	  A pairs node: entries of words in any order.
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
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "page/fence.h"
#include "page/loose.h"

/* how the pairs of a node lie in it */
typedef struct Pairs
{
	const char *start;
	int			nslots;
	int			bytes;			/* of a pair */
	int			tail_width;
	int			head_off;
	bool		short_head;
	int			shift;			/* of what is stored in 4 bytes, */
	uint64		base;			/* and what is added to it */
} Pairs;

static inline Pairs
open_pairs(const FpbIndex *ix, const FpbShape *shape, FpbCodec codec, const char *node)
{
	Pairs		pairs = {
		.start = node,
		.nslots = fpb_node_slots(ix, shape, codec, node),
		.bytes = fpb_pair_bytes(ix, codec),
		.tail_width = fpb_pair_tail_width(codec),
		.head_off = fpb_pair_head_off(ix, codec),
		.short_head = fpb_pair_has_short_head(ix, codec),
		.shift = fpb_codec_near(codec) ? 0 : 32,
		.base = fpb_pairs_base(shape, codec, node),
	};

	return pairs;
}

static inline const char *
pair_at(const Pairs *pairs, int slot)
{
	return pairs->start + slot * pairs->bytes;
}

static inline uint64
pair_head(const Pairs *pairs, int slot)
{
	const char *stored = pair_at(pairs, slot) + pairs->head_off;
	uint64		head;
	uint32		half;

	if (pairs->short_head)
	{
		memcpy(&half, stored, sizeof(half));
		return pairs->base + ((uint64) half << pairs->shift);
	}
	memcpy(&head, stored, sizeof(head));
	return head;
}

static inline uint64
pair_low(const Pairs *pairs, int slot)
{
	uint64		low;

	memcpy(&low, pair_at(pairs, slot) + pairs->tail_width, sizeof(low));
	return low;
}

static inline bool
is_gap(const Pairs *pairs, int slot)
{
	return fpb_short_tail_is_gap(pair_at(pairs, slot), 0, FPB_SHORT_TAIL);
}

/*
 * Is the entry in slot a less than that in slot b?
 */
static inline bool
slot_less(const FpbIndex *ix, const Pairs *pairs, int a, int b)
{
	uint64		head_a = pair_head(pairs, a);
	uint64		head_b = pair_head(pairs, b);

	if (head_a != head_b)
		return head_a < head_b;
	if (ix->form == FPB_WORD16 && pair_low(pairs, a) != pair_low(pairs, b))
		return pair_low(pairs, a) < pair_low(pairs, b);
	return fpb_read_short_tail(pair_at(pairs, a), 0, pairs->tail_width) <
		fpb_read_short_tail(pair_at(pairs, b), 0, pairs->tail_width);
}

/*
 * The first slot that is a gap, or -1.
 */
int
fpb_loose_gap(const FpbIndex *ix, const FpbShape *shape, FpbCodec codec, const char *node)
{
	Pairs		pairs = open_pairs(ix, shape, codec, node);

	for (int slot = 0; slot < pairs.nslots; slot++)
		if (is_gap(&pairs, slot))
			return slot;
	return -1;
}

/*
 * How many entries has a node?
 */
int
fpb_loose_count(const FpbIndex *ix, const FpbShape *shape, FpbCodec codec, const char *node)
{
	Pairs		pairs = open_pairs(ix, shape, codec, node);
	int			count = 0;

	for (int slot = 0; slot < pairs.nslots; slot++)
		count += !is_gap(&pairs, slot);
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
order_pairs(const FpbIndex *ix, const Pairs *pairs, uint8 *slots)
{
	uint64		heads[FPB_LOOSE_MOST];	/* of slots[] */
	uint64		greatest = 0;
	int			n = 0;

	for (int slot = 0; slot < pairs->nslots; slot++)
	{
		uint64		head = pair_head(pairs, slot);
		int			at = n;

		if (is_gap(pairs, slot))
			continue;
		if (unlikely(head <= greatest))
		{
			for (; at > 0 && head < heads[at - 1]; at--)
			{
				heads[at] = heads[at - 1];
				slots[at] = slots[at - 1];
			}
			for (; at > 0 && head == heads[at - 1] &&
				 slot_less(ix, pairs, slot, slots[at - 1]); at--)
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
 * has room for FPB_LOOSE_MOST.  Returns how many.
 *
 * By insertion, because most entries are in order already.
 */
int
fpb_loose_order(const FpbIndex *ix, const FpbShape *shape, FpbCodec codec, char *node,
				uint8 *slots)
{
	Pairs		pairs = open_pairs(ix, shape, codec, node);

	if (fpb_pair_is_integer(ix, codec))
		return order_integers(node, pairs.nslots, slots);
	return order_pairs(ix, &pairs, slots);
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
	Pairs		pairs = open_pairs(ix, shape, codec, node);
	int			n = 0;

	for (int slot = 0; slot < pairs.nslots; slot++)
	{
		uint64		head = pair_head(&pairs, slot);

		if (head < least || is_gap(&pairs, slot))
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
	Pairs		pairs = open_pairs(ix, shape, codec, node);
	uint64		head = pair_head(&pairs, slot);
	int			rank = 0;

	if (fpb_codec_in_order(codec))
		return slot;
	for (int other = 0; other < pairs.nslots; other++)
	{
		uint64		other_head = pair_head(&pairs, other);

		if (other_head <= head && !is_gap(&pairs, other) &&
			(other_head < head || slot_less(ix, &pairs, other, slot)))
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
least_integer(const Pairs *pairs, const FpbSearchKey *search, bool equal, uint64 *least)
{
	uint64		head = search->head;
	uint64		half;
	bool		beyond = search->low > 0 || search->tail > PG_UINT32_MAX;

	if (pairs->shift > 0)
	{
		half = head >> 32;
		/* stored heads have zeros below */
		beyond |= (uint32) head != 0;
	}
	else if (head < pairs->base)
	{
		*least = 0;
		return true;
	}
	else
		half = head - pairs->base;
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
search_ordered_integers(const Pairs *pairs, uint64 key, int *next)
{
	int			count = 0;
	int			slot = 0;

	key -= key > 0;
	for (; slot + 4 <= pairs->nslots; slot += 4)
		count += (fpb_pair_integer(pairs->start, slot) - 1 < key) +
			(fpb_pair_integer(pairs->start, slot + 1) - 1 < key) +
			(fpb_pair_integer(pairs->start, slot + 2) - 1 < key) +
			(fpb_pair_integer(pairs->start, slot + 3) - 1 < key);
	for (; slot < pairs->nslots; slot++)
		count += fpb_pair_integer(pairs->start, slot) - 1 < key;
	*next = count < pairs->nslots && !is_gap(pairs, count) ? count : -1;
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
search_integers(const Pairs *pairs, uint64 key, int *next)
{
	uint64		least = PG_UINT64_MAX;
	int			found = -1;
	int			count = 0;

	for (int slot = 0; slot < pairs->nslots; slot++)
	{
		uint64		pair = fpb_pair_integer(pairs->start, slot);
		uint64		behind;
		bool		nearer;

		pair |= -(uint64) ((uint16) pair == 0);
		behind = pair - key;
		nearer = behind < least;
		count += pair < key;
		least = nearer ? behind : least;
		found = nearer ? slot : found;
	}
	*next = found >= 0 && least <= PG_UINT64_MAX - key && !is_gap(pairs, found) ? found : -1;
	return count;
}

/*
 * As fpb_loose_search, for the entries that do not have a head of their own.
 * less: so many have a head that is less than the search key's.
 */
static int
search_ties(const FpbIndex *ix, Page page, const FpbShape *shape, FpbCodec codec,
			char *node, const FpbSearchKey *search, bool equal,
			const Pairs *pairs, int less, int *next)
{
	int			most = equal ? 0 : -1;	/* sign of an entry that is counted */
	uint64		best = 0;
	int			count = less;
	int			found = -1;

	for (int slot = 0; slot < pairs->nslots; slot++)
	{
		uint64		head = pair_head(pairs, slot);

		if (head < search->head || is_gap(pairs, slot))
			continue;
		if (head == search->head &&
			fpb_compare_slot(ix, page, shape, codec, node, slot, false, search, search->head) <= most)
			count++;
		else if (found < 0 || head < best ||
				 (head == best && slot_less(ix, pairs, slot, found)))
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
			 const Pairs *pairs, int *next)
{
	uint64		farthest = PG_UINT64_MAX - search->head;
	uint64		least = PG_UINT64_MAX;	/* how far behind the search key's is
										 * the next one's head, */
	bool		tied = false;	/* and may others have the same? */
	int			found = -1;
	int			count = 0;

	/* without a branch that depends on heads */
	for (int slot = 0; slot < pairs->nslots; slot++)
	{
		uint64		head = pair_head(pairs, slot);
		bool		live = !is_gap(pairs, slot);
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
		return search_ties(ix, page, shape, codec, node, search, equal, pairs, count, next);
	return count;
}

/*
 * The same for a node whose entries are in order: those behind all that have
 * lesser heads are compared one by one.
 */
static pg_attribute_always_inline int
search_ordered_heads(const FpbIndex *ix, Page page, const FpbShape *shape, FpbCodec codec,
					 char *node, const FpbSearchKey *search, bool equal,
					 const Pairs *pairs, int *next)
{
	int			count = 0;

	for (int slot = 0; slot < pairs->nslots; slot++)
	{
		bool		live = !is_gap(pairs, slot);

		count += live & (pair_head(pairs, slot) < search->head);
	}
	while (count < pairs->nslots && !is_gap(pairs, count) &&
		   pair_head(pairs, count) == search->head &&
		   fpb_compare_slot(ix, page, shape, codec, node, count, false, search, search->head) <= (equal ? 0 : -1))
		count++;
	*next = count < pairs->nslots && !is_gap(pairs, count) ? count : -1;
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
	Pairs		pairs = open_pairs(ix, shape, codec, node);
	bool		in_order = fpb_codec_in_order(codec);
	uint64		key;

	if (fpb_pair_is_integer(ix, codec))
	{
		if (least_integer(&pairs, search, equal, &key))
			return in_order ? search_ordered_integers(&pairs, key, next) :
				search_integers(&pairs, key, next);
		*next = -1;
		return fpb_loose_count(ix, shape, codec, node);
	}
	if (in_order)
		return search_ordered_heads(ix, page, shape, codec, node, search, equal, &pairs, next);

	/* compiled for each width of heads */
	if (pairs.short_head)
		return search_heads(ix, page, shape, codec, node, search, equal, &pairs, next);
	pairs.short_head = false;
	return search_heads(ix, page, shape, codec, node, search, equal, &pairs, next);
}

/*
 * The slot of the first entry (last: the last one), or -1.
 */
int
fpb_loose_end(const FpbIndex *ix, const FpbShape *shape, FpbCodec codec, char *node,
			  bool last)
{
	Pairs		pairs = open_pairs(ix, shape, codec, node);
	int			found = -1;

	if (fpb_codec_in_order(codec) && !last)
		return is_gap(&pairs, 0) ? -1 : 0;
	for (int slot = 0; slot < pairs.nslots; slot++)
		if (!is_gap(&pairs, slot) &&
			(found < 0 || slot_less(ix, &pairs, slot, found) != last))
			found = slot;
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
	Pairs		pairs = open_pairs(ix, shape, codec, node);
	uint64		head = pair_head(&pairs, slot);
	uint64		best = 0;
	int			found = -1;

	if (fpb_codec_in_order(codec))
	{
		slot += forward ? 1 : -1;
		return slot >= 0 && slot < pairs.nslots && !is_gap(&pairs, slot) ? slot : -1;
	}
	for (int other = 0; other < pairs.nslots; other++)
	{
		uint64		other_head = pair_head(&pairs, other);

		if ((forward ? other_head < head : other_head > head) ||
			(found >= 0 && (forward ? other_head > best : other_head < best)) ||
			other == slot || is_gap(&pairs, other))
			continue;
		if (other_head == head &&
			!(forward ? slot_less(ix, &pairs, slot, other) : slot_less(ix, &pairs, other, slot)))
			continue;
		if (found >= 0 && other_head == best && slot_less(ix, &pairs, other, found) != forward)
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
put_integer(uint64 pair, const Pairs *pairs, FpbPos pos, FpbItem *item)
{
	item->key.head = pairs->base + ((pair >> 32) << pairs->shift);
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
	Pairs		pairs = open_pairs(ix, shape, codec, node);
	uint64		first = pos.number;
	FpbEntry	entry;

	if (fpb_pair_is_integer(ix, codec) && slots == NULL)
	{
		pos.number += from * (rank_step + slot_step);
		for (; from < to; from++, pos.number += rank_step + slot_step)
			items = put_integer(fpb_pair_integer(node, from), &pairs, pos, items);
		return;
	}
	for (; from < to; from++)
	{
		int			slot = slots == NULL ? from : slots[from];

		pos.number = first + from * rank_step + slot * slot_step;
		if (fpb_pair_is_integer(ix, codec))
		{
			items = put_integer(fpb_pair_integer(node, slot), &pairs, pos, items);
			continue;
		}
		fpb_read_slot(ix, page, shape, codec, node, slot, &entry);
		items->key = entry.key;
		(items++)->pos = pos;
	}
}
