/*-------------------------------------------------------------------------
 *
 * page/loose.c
 *	  A loose node: entries of words in any order.
 *
 * A loose node is a plain node of a leaf of words whose entries may be in any
 * slots.  So an insertion writes one slot and moves nothing: that is all there
 * is to log.  A search counts the entries before the search key, whatever
 * their order, and finds the next one on the way.  A scan puts all of them in
 * order.  Words are integers, so no comparator is called.
 *
 * The head of a gap says nothing.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "page/fence.h"
#include "page/loose.h"

/*
 * Is the entry in slot a less than that in slot b?
 */
static inline bool
slot_less(const FpbIndex *ix, const FpbShape *shape, const char *node, int a, int b)
{
	uint64		head_a = fpb_node_head(ix, node, a);
	uint64		head_b = fpb_node_head(ix, node, b);

	if (head_a != head_b)
		return head_a < head_b;
	if (ix->form == FPB_WORD16)
	{
		const uint64 *lows = (const uint64 *) (node + shape->low_off);

		if (lows[a] != lows[b])
			return lows[a] < lows[b];
	}
	return fpb_read_tail(node + shape->tail_off, a) <
		fpb_read_tail(node + shape->tail_off, b);
}

static inline bool
is_gap(const FpbShape *shape, const char *node, int slot)
{
	return fpb_tail_is_gap(node + shape->tail_off, slot);
}

/*
 * Put the slots that have entries in the order of these, into slots[], which
 * has room for FPB_LOOSE_MOST.  Returns how many.  A plain node of a leaf of
 * words will do as well.
 *
 * By insertion, because most entries are in order already.
 */
int
fpb_loose_order(const FpbIndex *ix, const FpbShape *shape, char *node, uint8 *slots)
{
	uint64		heads[FPB_LOOSE_MOST];	/* of slots[] */
	int			n = 0;

	for (int slot = 0; slot < shape->nslots; slot++)
	{
		uint64		head = fpb_node_head(ix, node, slot);
		int			at = n;

		if (is_gap(shape, node, slot))
			continue;
		for (; at > 0 && head < heads[at - 1]; at--)
		{
			heads[at] = heads[at - 1];
			slots[at] = slots[at - 1];
		}
		for (; at > 0 && head == heads[at - 1] &&
			 slot_less(ix, shape, node, slot, slots[at - 1]); at--)
		{
			heads[at] = head;
			slots[at] = slots[at - 1];
		}
		heads[at] = head;
		slots[at] = slot;
		n++;
	}
	return n;
}

/*
 * Count the entries < search key (equal: <= search key).  *next: the slot of
 * the first of the others, or -1.
 */
int
fpb_loose_search(const FpbIndex *ix, Page page, const FpbShape *shape, char *node,
				 const FpbSearchKey *search, bool equal, int *next)
{
	int			most = equal ? 0 : -1;	/* sign of an entry that is counted */
	int			count = 0;
	int			same = 0;		/* entries with the search key's head */
	int			ties = 0;		/* entries with the head of the next one so
								 * far, or one before */
	uint64		best = PG_UINT64_MAX;
	int			found = -1;

	/* by heads, without a branch that depends on them */
	for (int slot = 0; slot < shape->nslots; slot++)
	{
		uint64		head = fpb_node_head(ix, node, slot);
		bool		live = !is_gap(shape, node, slot);
		bool		nearer = live & (head > search->head) & ((head < best) | (found < 0));

		count += live & (head < search->head);
		same += live & (head == search->head);
		ties += live & (head > search->head) & (head == best) & (found >= 0);
		best = nearer ? head : best;
		found = nearer ? slot : found;
	}
	if (same + ties > 0)
	{
		for (int slot = 0; slot < shape->nslots; slot++)
		{
			uint64		head = fpb_node_head(ix, node, slot);

			if (is_gap(shape, node, slot) || (head != search->head && head != best))
				continue;
			if (head == search->head &&
				fpb_compare_slot(ix, page, shape, FPB_NODE_LOOSE, node, slot, false, search) <= most)
				count++;
			else if (found < 0 || slot_less(ix, shape, node, slot, found))
				found = slot;
		}
	}
	*next = found;
	return count;
}

/*
 * The slot of the first entry (last: the last one), or -1.
 */
int
fpb_loose_end(const FpbIndex *ix, const FpbShape *shape, char *node, bool last)
{
	int			found = -1;

	for (int slot = 0; slot < shape->nslots; slot++)
		if (!is_gap(shape, node, slot) &&
			(found < 0 || slot_less(ix, shape, node, slot, found) != last))
			found = slot;
	return found;
}

/*
 * The slot of the next entry after that in a slot (forward: or before it), or
 * -1.
 */
int
fpb_loose_step(const FpbIndex *ix, const FpbShape *shape, char *node, int slot,
			   bool forward)
{
	int			found = -1;

	for (int other = 0; other < shape->nslots; other++)
	{
		if (is_gap(shape, node, other) || other == slot ||
			!(forward ? slot_less(ix, shape, node, slot, other) :
			  slot_less(ix, shape, node, other, slot)))
			continue;
		if (found < 0 || slot_less(ix, shape, node, other, found) == forward)
			found = other;
	}
	return found;
}
