/*-------------------------------------------------------------------------
 *
 * page/disk_first/killed.c
 *	  The killed bits of a disk-first leaf: set, cleared, and moved with their
 *	  entries.
 *
 * FORMAT.md tells where each entry has its bit, and which entries share one.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "page/disk_first/killed.h"

/*
 * The killed bit of a slot of a leaf, which it may share.  There is none if
 * there is no such slot.
 */
static FpbKilledBit
slot_bit(const FpbIndex *ix, Page page, FpbNodePos pos)
{
	const FpbShape *shape = fpb_leaf_shape(ix);
	FpbCodec	codec;
	char	   *node = fpb_page_node(ix, page, pos.dir, &codec);
	int			nslots = fpb_node_slots(ix, shape, codec, node);
	FpbKilledBit none = {NULL, 0};

	if (unlikely(pos.slot >= nslots))
		return none;
	return fpb_bit_at(fpb_node_killed_bits(shape, page, pos.dir),
					  fpb_killed_bit(shape, nslots, pos.slot));
}

/*
 * The posting at a position that has an entry of a leaf, or NULL.
 */
static IndexTuple
posting_at(const FpbIndex *ix, Page page, FpbNodePos pos)
{
	const FpbShape *shape = fpb_leaf_shape(ix);
	IndexTuple	tuple;

	if (ix->max_posting == 0 || pos.slot >= shape->nslots)
		return NULL;
	tuple = fpb_page_tuple(ix, page, fpb_node_tuples(shape, fpb_node_at(shape, page, pos.dir))[pos.slot]);
	return fpb_is_posting(tuple) ? tuple : NULL;
}

/*
 * See fpb_page_is_killed.
 */
bool
fpb_disk_first_is_killed(const FpbIndex *ix, Page page, FpbPos pos)
{
	FpbNodePos	place = fpb_slot_place(ix, page, pos);
	IndexTuple	posting;

	if (fpb_bit_is_set(slot_bit(ix, page, place)))
		return true;
	posting = posting_at(ix, page, place);
	return posting != NULL && place.item < fpb_posting_slots(posting) &&
		fpb_bit_is_set(fpb_item_killed_bit(ix, page, posting, place.item));
}

/* a leaf's node, and its killed bits */
typedef struct MarkedNode
{
	int			dir;			/* -1: none yet */
	FpbCodec	codec;
	char	   *node;
	int			nslots;
	uint8	   *bits;
} MarkedNode;

static inline void
open_node(const FpbIndex *ix, Page page, int dir, MarkedNode *marked)
{
	const FpbShape *shape = fpb_leaf_shape(ix);

	if (marked->dir == dir)
		return;
	marked->dir = dir;
	marked->node = fpb_page_node(ix, page, dir, &marked->codec);
	marked->nslots = fpb_node_slots(ix, shape, marked->codec, marked->node);
	marked->bits = fpb_node_killed_bits(shape, page, dir);
}

/*
 * Do more than so many entries of a node share the killed bit of this slot,
 * which is not a gap, or of this posting, unless that is NULL?
 */
static bool
is_shared_by_more(const FpbIndex *ix, const MarkedNode *marked, int slot,
				  IndexTuple posting, int dead)
{
	const FpbShape *shape = fpb_leaf_shape(ix);
	int			bit = fpb_killed_bit(shape, marked->nslots, slot);
	int			count = 0;

	if (posting != NULL)
		return fpb_posting_entries(posting) > dead;
	for (slot = fpb_killed_slot(shape, marked->nslots, bit);
		 slot < marked->nslots && fpb_killed_bit(shape, marked->nslots, slot) == bit; slot++)
		count += !fpb_node_is_gap(ix, shape, marked->codec, marked->node, slot);
	return count > dead;
}

/*
 * See fpb_page_kill.  A posting's slot gets its bit if all of the posting's
 * entries are dead, and so does any bit that several slots share.
 *
 * For fpb_kill_entries, between fpb_begin_hints and fpb_finish_hints.  Before
 * 19, two backends may set bits of one byte at once, so that one is lost: it
 * is only a hint.
 */
bool
fpb_disk_first_kill(const FpbIndex *ix, Page page, const FpbPos *pos, int npos)
{
	const FpbShape *shape = fpb_leaf_shape(ix);
	MarkedNode	marked = {-1};
	bool		any = false;

	for (int i = 0, n; i < npos; i += n)
	{
		FpbNodePos	place = fpb_slot_place(ix, page, pos[i]);
		FpbNodePos	next = place;
		IndexTuple	posting;
		int			number;
		int			dead = 0;

		n = 1;
		open_node(ix, page, place.dir, &marked);
		if (unlikely(place.slot >= marked.nslots))
			continue;
		number = fpb_killed_bit(shape, marked.nslots, place.slot);
		posting = posting_at(ix, page, place);
		for (n = 0; i + n < npos; n++)
		{
			if (n > 0)
				next = fpb_slot_place(ix, page, pos[i + n]);
			if (next.dir != place.dir || next.slot >= marked.nslots ||
				fpb_killed_bit(shape, marked.nslots, next.slot) != number)
				break;
			if (n > 0 && fpb_pos_equal(pos[i + n - 1], pos[i + n]))
				continue;
			dead++;
			if (posting != NULL)
			{
				FpbKilledBit tid = fpb_item_killed_bit(ix, page, posting, next.item);

				if (tid.byte == NULL)
					continue;
				*tid.byte |= tid.mask;
				any = true;
			}
		}
		if (is_shared_by_more(ix, &marked, place.slot, posting, dead))
			continue;
		marked.bits[number / 8] |= 1 << (number % 8);
		any = true;
	}
	return any;
}

/*
 * Clear the killed bits of slots [from, to] of a node.
 */
void
fpb_page_clear_killed(const FpbIndex *ix, Page page, int dir, int from, int to)
{
	const FpbShape *shape = fpb_shape(ix, page);
	int			nslots;
	uint8	   *bits;

	if (shape->killed_bytes == 0)
		return;
	nslots = fpb_node_slots(ix, shape, *fpb_dir_codec(page, dir),
							fpb_node_at(shape, page, dir));
	bits = fpb_node_killed_bits(shape, page, dir);
	from = fpb_killed_bit(shape, nslots, from);
	to = fpb_killed_bit(shape, nslots, Min(to, nslots - 1));
	for (int i = from / 8; i <= to / 8; i++)
	{
		if (bits[i] == 0)
			continue;
		for (int bit = Max(from, i * 8); bit <= Min(to, i * 8 + 7); bit++)
			bits[i] &= ~(1 << (bit % 8));
	}
}

/*
 * Clear all killed bits of a node, whatever its codec has been.
 */
void
fpb_page_clear_all_killed(const FpbIndex *ix, Page page, int dir)
{
	const FpbShape *shape = fpb_shape(ix, page);

	memset(fpb_node_killed_bits(shape, page, dir), 0, shape->killed_bytes);
}

/*
 * A bit takes on the value of another one.
 */
static inline void
copy_bit(FpbKilledBit bit, FpbKilledBit from)
{
	if (bit.byte == NULL)
		return;
	if (fpb_bit_is_set(from))
		*bit.byte |= bit.mask;
	else
		*bit.byte &= ~bit.mask;
}

/*
 * Has the entry in this slot of a leaf's loose node its killed bit set?
 */
bool
fpb_page_loose_is_killed(const FpbIndex *ix, Page page, int dir, int slot)
{
	return fpb_bit_is_set(fpb_bit_at(fpb_node_killed_bits(fpb_leaf_shape(ix), page, dir), slot));
}

/*
 * The entry that has come to this slot of a leaf's loose node has its killed
 * bit set.
 */
void
fpb_page_kill_loose(const FpbIndex *ix, Page page, int dir, int slot)
{
	FpbKilledBit bit = fpb_bit_at(fpb_node_killed_bits(fpb_leaf_shape(ix), page, dir), slot);

	*bit.byte |= bit.mask;
}

/*
 * An entry has moved from a slot of a loose node to another one, and so does
 * its killed bit.
 */
void
fpb_page_move_killed(const FpbIndex *ix, Page page, int dir, int slot, int to, int to_slot)
{
	const FpbShape *shape = fpb_shape(ix, page);

	if (shape->killed_bytes == 0)
		return;
	copy_bit(fpb_bit_at(fpb_node_killed_bits(shape, page, to), to_slot),
			 fpb_bit_at(fpb_node_killed_bits(shape, page, dir), slot));
	fpb_page_clear_killed(ix, page, dir, slot, slot);
}

/*
 * The same as fpb_page_shift_killed, for a node of more slots than bits.  A
 * bit that slots share is set if all of its slots have got a bit that was set.
 */
static void
shift_shared(const FpbShape *shape, uint8 *bits, int nslots, int from, int to, int by)
{
	bool		killed[BLCKSZ / FPB_TAIL_BYTES];
	int			first = Min(from, from + by);
	int			last = Max(to, to + by);

	while (first > 0 &&
		   fpb_killed_bit(shape, nslots, first - 1) == fpb_killed_bit(shape, nslots, first))
		first--;
	while (last < nslots - 1 &&
		   fpb_killed_bit(shape, nslots, last + 1) == fpb_killed_bit(shape, nslots, last))
		last++;

	for (int slot = first; slot <= last; slot++)
	{
		bool		moved = slot - by >= from && slot - by <= to;
		bool		left = by > 0 ? slot >= from && slot < from + by :
			slot > to + by && slot <= to;

		killed[slot] = !left &&
			fpb_slot_is_killed(shape, bits, nslots, moved ? slot - by : slot);
	}
	for (int slot = first, next; slot <= last; slot = next)
	{
		int			number = fpb_killed_bit(shape, nslots, slot);
		FpbKilledBit bit = fpb_bit_at(bits, number);
		bool		all = true;

		for (next = slot; next <= last && fpb_killed_bit(shape, nslots, next) == number; next++)
			all &= killed[next];
		if (all)
			*bit.byte |= bit.mask;
		else
			*bit.byte &= ~bit.mask;
	}
}

/*
 * The entries in slots [from, to] of a node have moved by so many slots, to
 * the right if that is positive.  So do their killed bits, and those of the
 * slots that they have left, and of those between, are cleared.
 */
void
fpb_page_shift_killed(const FpbIndex *ix, Page page, int dir, int from, int to, int by)
{
	const FpbShape *shape = fpb_shape(ix, page);
	int			nslots;
	uint8	   *bits;

	if (shape->killed_bytes == 0 || fpb_some_killed_bits(shape, page, dir) == NULL)
		return;
	nslots = fpb_node_slots(ix, shape, *fpb_dir_codec(page, dir),
							fpb_node_at(shape, page, dir));
	bits = fpb_node_killed_bits(shape, page, dir);
	if (nslots > shape->killed_bytes * 8)
	{
		shift_shared(shape, bits, nslots, from, to, by);
		return;
	}
	for (int slot = by > 0 ? to : from; slot >= from && slot <= to; slot += by > 0 ? -1 : 1)
		copy_bit(fpb_bit_at(bits, slot + by), fpb_bit_at(bits, slot));
	if (by > 0)
		fpb_page_clear_killed(ix, page, dir, from, from + by - 1);
	else
		fpb_page_clear_killed(ix, page, dir, to + by + 1, to);
}

/*
 * May any of the items [from, to] of a posting be killed?  (Their bits are in
 * the order of the items, the last one first.)
 */
static bool
any_item_killed(const FpbIndex *ix, Page page, IndexTuple posting, int from, int to)
{
	FpbKilledBit last = fpb_item_killed_bit(ix, page, posting, from);
	FpbKilledBit first = fpb_item_killed_bit(ix, page, posting, to);

	if (first.byte == NULL || last.byte == NULL)
		return true;
	for (const uint8 *byte = first.byte; byte <= last.byte; byte++)
		if (*byte != 0)
			return true;
	return false;
}

/*
 * The same of items of a posting.
 */
void
fpb_posting_shift_killed(const FpbIndex *ix, Page page, IndexTuple posting, int from, int to, int by)
{
	if (!any_item_killed(ix, page, posting, Min(from, from + by), Max(to, to + by)))
		return;
	for (int item = by > 0 ? to : from; item >= from && item <= to; item += by > 0 ? -1 : 1)
		copy_bit(fpb_item_killed_bit(ix, page, posting, item + by), fpb_item_killed_bit(ix, page, posting, item));
	if (by > 0)
		fpb_posting_clear_killed(ix, page, posting, from, from + by - 1);
	else
		fpb_posting_clear_killed(ix, page, posting, to + by + 1, to);
}

/*
 * Clear the killed bits of items [from, to] of a posting.
 */
void
fpb_posting_clear_killed(const FpbIndex *ix, Page page, IndexTuple posting, int from, int to)
{
	for (int item = from; item <= to; item++)
	{
		FpbKilledBit bit = fpb_item_killed_bit(ix, page, posting, item);

		if (fpb_bit_is_set(bit))
			*bit.byte &= ~bit.mask;
	}
}

/*
 * Clear all killed bits of a page of the tuple form, where they lie behind the
 * nodes.
 */
void
fpb_page_reset_killed(const FpbIndex *ix, Page page)
{
	const FpbShape *shape = fpb_shape(ix, page);

	memset(fpb_killed_bits(shape, page), 0, FpbDir(page)->nalloc * shape->killed_bytes +
		   fpb_killed_tids_bytes(ix, shape, page));
}
