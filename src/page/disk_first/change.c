/*-------------------------------------------------------------------------
 *
 * page/disk_first/change.c
 *	  Insertions into and deletions from a disk-first page, carried out.
 *
 * The functions here are called in critical sections, so they raise nothing.
 * Whatever they rely on has been checked before: by the plan
 * (page/disk_first/plan_insert.c), or when the entries to be deleted were
 * found.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "page/disk_first/killed.h"

/* the largest node, for copies of one */
typedef union NodeCopy
{
	char		data[FPB_MAX_LINES * FPB_CACHE_LINE];
	uint64		align;
} NodeCopy;

/*
 * Note a page's bytes from start on, but for those at either end that are what
 * they were.
 */
static void
note_difference(const char *start, const char *before, Size n, FpbWalPage *wp)
{
	while (n > 0 && *start == *before)
	{
		start++;
		before++;
		n--;
	}
	while (n > 0 && start[n - 1] == before[n - 1])
		n--;
	fpb_wal_note(wp, start, n);
}

/*
 * Copy bytes to a page, and note those that differ from what was there.
 */
static void
write_bytes(char *to, const char *from, Size n, FpbWalPage *wp)
{
	while (n > 0 && *to == *from)
	{
		to++;
		from++;
		n--;
	}
	while (n > 0 && to[n - 1] == from[n - 1])
		n--;
	memcpy(to, from, n);
	fpb_wal_note(wp, to, n);
}

/*
 * Note those of a page's bytes from start on that differ from what they were.
 */
static void
note_changed(const char *start, const char *before, Size n, FpbWalPage *wp)
{
	for (Size at = 0, end; at < n; at = end)
	{
		while (at + sizeof(uint64) <= n &&
			   memcmp(start + at, before + at, sizeof(uint64)) == 0)
			at += sizeof(uint64);
		while (at < n && start[at] == before[at])
			at++;
		for (end = at; end < n && start[end] != before[end];)
			end++;
		fpb_wal_note(wp, start + at, end - at);
	}
}

/*
 * An entry with this head has been put into the dir'th node.  The next node's
 * bound may be lower than any entry there, and lower than the new one, which
 * comes before them all.  Then raise it.
 */
static void
raise_next_bound(Page page, int dir, uint64 head, FpbWalPage *wp)
{
	uint64	   *next;

	if (dir + 1 == FpbDir(page)->nnodes)
		return;
	next = fpb_dir_bound(page, dir + 1);
	if (*next < head)
	{
		*next = head;
		fpb_wal_note(wp, next, sizeof(uint64));
	}
}

/* tails [from, to] of an array have moved by so many places */
typedef struct TailShift
{
	int			from;
	int			to;
	int			by;
} TailShift;

/*
 * Where a node is replaced, changed bytes with fewer equal ones than this
 * between them are logged as one range.
 */
#define NODE_MERGE_DISTANCE	8

/* gaps that are so far away move together, so that the next ones are near */
#define FAR_GAP			8

/*
 * How many gaps are to move past tails, so many of which lie between them and
 * a new one's place: of those beside each other, from gap on in that
 * direction, half, because what is before them is likely to grow, too; and no
 * more than there are tails that move.
 */
static int
gaps_to_move(const char *tails, int n, int width, int gap, int direction, int ntails)
{
	int			ngaps = 1;

	for (int at = gap + direction; at >= 0 && at < n && ngaps < 2 * ntails; at += direction)
	{
		if (!fpb_short_tail_is_gap(tails, at, width))
			break;
		ngaps++;
	}
	return (ngaps + 1) / 2;
}

/*
 * Put a tail before number item of an array of n tails, of so many bytes,
 * moving those between that place and a gap, the nearest one.  If the gap is
 * far away and others are beside it, these move, too, so that the next tails
 * that come here find them.  No more of them move than tails do, so at most
 * twice as much is logged.
 */
static void
insert_tail(char *tails, int n, int width, int gap, int item, uint64 tail,
			TailShift *shift, FpbWalPage *wp)
{
	int			ngaps = 1;
	int			at;

	if (gap >= item)
	{
		if (gap - item >= FAR_GAP)
			ngaps = gaps_to_move(tails, n, width, gap, 1, gap - item);
		shift->from = item;
		shift->to = gap - 1;
		shift->by = ngaps;
		at = item;
	}
	else
	{
		if (item - 1 - gap >= FAR_GAP)
			ngaps = gaps_to_move(tails, n, width, gap, -1, item - 1 - gap);
		shift->from = gap + 1;
		shift->to = item - 1;
		shift->by = -ngaps;
		at = item - ngaps;
	}
	if (shift->from <= shift->to)
		fpb_shift_slots(tails, shift->from, shift->to, shift->by, width);
	for (int i = at; i < at + ngaps; i++)
		fpb_write_short_tail(tails, i, width, i == at ? tail : 0);
	fpb_note_slots(wp, tails, Min(at, shift->from + shift->by),
				   Max(at + ngaps - 1, shift->to + shift->by), width);
}

/*
 * An entry with this head has been put into the dir'th node.  It may be below
 * the node's bound, which is lowered then.  The first node's becomes the
 * page's own, so that descending keys don't lower it again and again.
 */
static void
lower_own_bound(const FpbIndex *ix, Page page, int dir, uint64 head, FpbWalPage *wp)
{
	uint64	   *own = fpb_dir_bound(page, dir);

	if (head >= *own)
		return;
	*own = head;
	if (dir == 0)
		*own = FpbPageIsLeftmost(page) || fpb_page_prefix(ix, page) > 0 ? 0 :
			FpbHdr(page)->fences.head[FPB_LOW];
	fpb_wal_note(wp, own, sizeof(uint64));
}

/*
 * An entry with this head has been put into the dir'th node.  Adjust the
 * bounds of that and of the next one.
 */
static void
adjust_bounds(const FpbIndex *ix, Page page, int dir, uint64 head, FpbWalPage *wp)
{
	lower_own_bound(ix, page, dir, head, wp);
	raise_next_bound(page, dir, head, wp);
}

/*
 * Put a key with an empty run of places before the run'th one of a runs node
 * that has room for it.  The run ends at slot.
 */
static void
add_run(const FpbIndex *ix, const FpbShape *shape, char *node, int run, int slot,
		const FpbKey *key, FpbWalPage *wp)
{
	FpbRuns		runs = fpb_runs(ix, shape, node);
	uint8	   *nruns = (uint8 *) node + fpb_runs_room(shape) + 1;

	if (run < runs.nruns)
	{
		fpb_shift_slots(node, run, runs.nruns - 1, 1, ix->head_width);
		fpb_shift_slots((char *) runs.ends, run, runs.nruns - 1, 1, sizeof(uint8));
		if (ix->form == FPB_WORD16)
			fpb_shift_slots((char *) fpb_run_lows(&runs), run, runs.nruns - 1, 1, sizeof(uint64));
	}
	fpb_node_set_head(ix, node, run, key->head);
	fpb_note_slots(wp, node, run, runs.nruns, ix->head_width);
	if (ix->form == FPB_WORD16)
	{
		fpb_run_lows(&runs)[run] = key->low;
		fpb_note_slots(wp, (char *) fpb_run_lows(&runs), run, runs.nruns, sizeof(uint64));
	}
	runs.ends[run] = slot;
	fpb_note_slots(wp, (char *) runs.ends, run, runs.nruns, sizeof(uint8));
	(*nruns)++;
	fpb_wal_note(wp, nruns, sizeof(uint8));
}

/*
 * Put an entry before pos->slot into a runs node that has a gap, and if need
 * be room for the key.  What lies between moves, and so do the ends of runs
 * that are passed.
 */
static void
insert_into_runs(const FpbIndex *ix, Page page, const FpbEntry *entry,
				 const FpbNodePos *pos, FpbWalPage *wp)
{
	const FpbShape *shape = fpb_shape(ix, page);
	char	   *node = fpb_node_at(shape, page, pos->dir);
	FpbRuns		runs = fpb_runs(ix, shape, node);
	int			gap = fpb_nearest_gap(ix, shape, FPB_NODE_RUNS, node, pos->slot);
	bool		found;
	int			run = fpb_find_run(ix, &runs, &entry->key, &found);
	int			first = run;	/* run whose end moves, */
	int			last = run;		/* and behind the last of those */
	TailShift	shift;

	/* better than to write outside the node */
	if (unlikely(gap < 0 || (!found && runs.nruns == runs.capacity) ||
				 fpb_tail_width(entry->key.tail) > runs.width))
		elog(PANIC, "insertion into a full node of an fpbtree page");
	if (!found)
	{
		add_run(ix, shape, node, run, pos->slot, &entry->key, wp);
		runs.nruns++;
	}

	insert_tail(runs.tails, runs.places, runs.width, gap, pos->slot, entry->key.tail, &shift, wp);

	/*
	 * the gaps that have moved belong to the key, and what ended amid them
	 * ends beside them
	 */
	if (shift.by > 0)
		for (; last < runs.nruns && runs.ends[last] < gap + shift.by; last++)
			runs.ends[last] = Min(runs.ends[last], gap) + shift.by;
	else
		for (; first > 0 && runs.ends[first - 1] > gap + 1 + shift.by; first--)
			runs.ends[first - 1] = Max(runs.ends[first - 1], gap + 1) + shift.by;
	if (first < last)
		fpb_note_slots(wp, (char *) runs.ends, first, last - 1, sizeof(uint8));
	fpb_page_shift_killed(ix, page, pos->dir, shift.from, shift.to, shift.by);
	adjust_bounds(ix, page, pos->dir, entry->key.head, wp);
}

/*
 * Put an entry before pos->slot into a plain node that has a gap, moving what
 * lies between.  Tuple form: its tuple is at tuple_offset in the page; if that
 * is 0, add it.
 */
static void
insert_into_plain(const FpbIndex *ix, Page page, const FpbEntry *entry,
				  uint32 tuple_offset, const FpbNodePos *pos, FpbWalPage *wp)
{
	const FpbShape *shape = fpb_shape(ix, page);
	char	   *node = fpb_node_at(fpb_shape(ix, page), page, pos->dir);
	int			gap = fpb_nearest_gap(ix, shape, FPB_NODE_PLAIN, node, pos->slot);
	int			slot = gap >= pos->slot ? pos->slot : pos->slot - 1;
	FpbNodeArray arrays[FPB_MAX_ARRAYS];
	int			narrays = fpb_node_arrays(ix, shape, FPB_NODE_PLAIN, node, arrays);
	NodeCopy	before;

	/* better than to write before the node */
	if (unlikely(gap < 0))
		elog(PANIC, "insertion into a full node of an fpbtree page");
	memcpy(before.data, node, shape->size);
	for (int i = 0; i < narrays; i++)
	{
		if (gap > slot)
			fpb_shift_slots(arrays[i].start, slot, gap - 1, 1, arrays[i].width);
		else if (gap < slot)
			fpb_shift_slots(arrays[i].start, gap + 1, slot, -1, arrays[i].width);
	}

	if (!fpb_is_word(ix) && tuple_offset == 0)
		tuple_offset = fpb_add_tuple(ix, page, &entry->key, wp);
	fpb_write_slot(ix, shape, node, slot, entry, tuple_offset);

	/* heads are often alike, and move without a change */
	for (int i = 0; i < narrays; i++)
	{
		Size		from = arrays[i].start - node + Min(slot, gap) * arrays[i].width;

		note_changed(node + from, before.data + from,
					 (abs(slot - gap) + 1) * arrays[i].width, wp);
	}
	adjust_bounds(ix, page, pos->dir, entry->key.head, wp);
}

/*
 * Put an entry before pos->slot into a node that has room for it.
 */
static void
insert_into_slot(const FpbIndex *ix, Page page, const FpbEntry *entry,
				 uint32 tuple_offset, const FpbNodePos *pos, FpbWalPage *wp)
{
	switch (fpb_codec_kind(*fpb_dir_codec(page, pos->dir)))
	{
		case FPB_NODE_PLAIN:
			insert_into_plain(ix, page, entry, tuple_offset, pos, wp);
			break;
		case FPB_NODE_RUNS:
			insert_into_runs(ix, page, entry, pos, wp);
			break;
		case FPB_NODE_PAIRS:	/* see put_entry */
		case FPB_NODE_TUPLES:
			elog(PANIC, "insertion into a place of a loose node of an fpbtree page");
			break;
	}
}

/*
 * Give the directory's dir'th node the first number that no other node has,
 * and return it.  moved: nodes behind it.
 */
static int
number_node(Page page, int dir, int moved, FpbWalPage *wp)
{
	uint8	   *numbers = fpb_dir_nodes(page);
	bool		used[FPB_MAX_NODES + 1] = {0};
	int			number = 0;

	for (int i = 0; i < FpbDir(page)->nnodes; i++)
		used[numbers[i]] = true;
	while (used[number])
		number++;
	memmove(numbers + dir + 1, numbers + dir, moved);
	numbers[dir] = number;
	fpb_wal_note(wp, numbers + dir, moved + 1);
	return number;
}

/*
 * Where nodes lie in the order of their keys: make room for one more at dir,
 * by moving all behind it, with their bounds, codecs and killed bits.
 */
static void
move_nodes(const FpbShape *shape, Page page, int dir, int moved, FpbWalPage *wp)
{
	char	   *node = fpb_node_at(shape, page, dir);
	uint8	   *bits = fpb_killed_bits(shape, page) + dir * shape->killed_bytes;
	uint64	   *bounds = fpb_bounds(page) + dir;
	uint8	   *codecs = fpb_codecs(page) + dir;

	if (moved == 0)
		return;
	memmove(bounds + 1, bounds, moved * sizeof(uint64));
	fpb_wal_note(wp, bounds + 1, moved * sizeof(uint64));
	memmove(codecs + 1, codecs, moved);
	fpb_wal_note(wp, codecs + 1, moved);
	memmove(node + shape->size, node, moved * shape->size);
	fpb_wal_note(wp, node + shape->size, moved * shape->size);
	if (shape->killed_off != 0)
	{
		memmove(bits + shape->killed_bytes, bits, moved * shape->killed_bytes);
		memset(bits, 0, shape->killed_bytes);
	}
}

/*
 * Set the bound of the dir'th node.
 */
static void
set_bound(Page page, int dir, uint64 head, FpbWalPage *wp)
{
	uint64	   *bound = fpb_dir_bound(page, dir);

	write_bytes((char *) bound, (const char *) &head, sizeof(head), wp);
}

/*
 * And its codec.
 */
static void
set_codec(Page page, int dir, FpbCodec codec, FpbWalPage *wp)
{
	uint8		byte = codec;

	write_bytes((char *) fpb_dir_codec(page, dir), (const char *) &byte, sizeof(byte), wp);
}

/*
 * Allocate a node and name it in the directory at dir.  Its content is the
 * caller's to write and to note.
 */
static char *
add_node(const FpbIndex *ix, Page page, int dir, uint64 head, FpbCodec codec,
		 FpbWalPage *wp)
{
	FpbPageHeader *hdr = FpbHdr(page);
	const FpbShape *shape = fpb_shape(ix, page);
	int			moved = FpbDir(page)->nnodes - dir;
	int			number = FpbDir(page)->nnodes;

	if (!ix->csb)
		number = number_node(page, dir, moved, wp);
	FpbDir(page)->nnodes++;
	if (number >= FpbDir(page)->nalloc)
	{
		FpbDir(page)->nalloc++;
		hdr->pd.pd_lower += shape->size;

		/* killed bits that lie behind the nodes have to begin anew */
		if (shape->killed_off == 0)
			fpb_page_reset_killed(ix, page);
	}
	if (ix->csb)
		move_nodes(shape, page, dir, moved, wp);

	set_bound(page, dir, head, wp);
	set_codec(page, dir, codec, wp);
	fpb_wal_note(wp, &FpbDir(page)->nnodes, sizeof(FpbDir(page)->nnodes));
	fpb_wal_note(wp, &FpbDir(page)->nalloc, sizeof(FpbDir(page)->nalloc));
	fpb_wal_note(wp, &hdr->pd.pd_lower, sizeof(hdr->pd.pd_lower));
	return fpb_node_at(shape, page, dir);
}

/*
 * Fill a plain node with slots [from, to), none of them a gap, of a copy of
 * another node, which may have another shape.  They are spread evenly.
 */
static void
spread_plain(const FpbIndex *ix, const FpbShape *shape, char *node,
			 const FpbShape *copy_shape, char *copy, int from, int to)
{
	FpbNodeArray dst[FPB_MAX_ARRAYS];
	FpbNodeArray src[FPB_MAX_ARRAYS];
	int			narrays = fpb_node_arrays(ix, shape, FPB_NODE_PLAIN, node, dst);
	int			count = to - from;
	int			slot = 0;

	fpb_node_arrays(ix, copy_shape, FPB_NODE_PLAIN, copy, src);
	for (int i = 0; i < count; i++)
	{
		int			next = (i + 1) * shape->nslots / count;

		for (int a = 0; a < narrays; a++)
			memcpy(dst[a].start + slot * dst[a].width,
				   src[a].start + (from + i) * src[a].width, dst[a].width);
		for (slot++; slot < next; slot++)
			fpb_write_gap(ix, shape, node, slot, i + 1 < count ?
						  fpb_node_head(ix, copy, from + i + 1) : PG_UINT64_MAX);
	}
}

/*
 * Split the full plain node at plan->place, and put the entry into the half
 * that it belongs to.
 */
static void
split_node(const FpbIndex *ix, Page page, const FpbEntry *entry,
		   const FpbSlotPlan *plan, FpbWalPage *wp)
{
	const FpbNodePos *pos = &plan->place;
	int			at = plan->split_at;
	const FpbShape *shape = fpb_shape(ix, page);
	char	   *node = fpb_node_at(fpb_shape(ix, page), page, pos->dir);
	int			nslots = shape->nslots;
	NodeCopy	copy;
	char	   *right;
	FpbNodePos	place = {0};

	memcpy(copy.data, node, shape->size);
	right = add_node(ix, page, pos->dir + 1,
					 fpb_node_head(ix, node, at), FPB_NODE_PLAIN, wp);
	spread_plain(ix, shape, right, shape, copy.data, at, nslots);
	spread_plain(ix, shape, node, shape, copy.data, 0, at);
	note_changed(node, copy.data, shape->size, wp);
	fpb_wal_note(wp, right, shape->size);

	/*
	 * The node was full, and either half of it has been spread over a node's
	 * slots: find where the slot before the place has gone to.
	 */
	place.dir = pos->slot <= at ? pos->dir : pos->dir + 1;
	if (place.dir == pos->dir)
		place.slot = pos->slot == 0 ? 0 : (pos->slot - 1) * nslots / at + 1;
	else
		place.slot = (pos->slot - at - 1) * nslots / (nslots - at) + 1;
	insert_into_slot(ix, page, entry, plan->tuple_at, &place, wp);
}

/*
 * Make the node that has just been added all zeros.  True if it was, and will
 * be at replay: if it comes out of the hole as it was before this record,
 * which may have begun with a cut.  (In a damaged page anything may have been
 * there.)  Else all of it has to be noted.
 *
 * In the tuple form killed bits may have been there.  It does not help that
 * there are none now: the page that replay begins with may have been written
 * by another server, which was the primary before this one, and has set some.
 */
static bool
clear_new_node(const FpbIndex *ix, Page page, char *node, const FpbWalPage *wp)
{
	Size		size = fpb_shape(ix, page)->size;
	bool		was_zero = fpb_is_word(ix) && node >= (char *) page + wp->lower &&
		node[0] == 0 && memcmp(node, node + 1, size - 1) == 0;

	memset(node, 0, size);
	return was_zero;
}

/*
 * Note those of a node's bytes that differ from what they were.  Few equal
 * ones between two differences are noted, too, because a record has a limited
 * number of ranges.
 */
static void
note_node(const char *node, const char *before, Size size, FpbWalPage *wp)
{
	Size		end;

	for (Size at = 0; at < size; at = end)
	{
		Size		same = 0;

		while (at < size && node[at] == before[at])
			at++;
		for (end = at; end + same < size && same < NODE_MERGE_DISTANCE;)
		{
			if (node[end + same] == before[end + same])
				same++;
			else
			{
				end += same + 1;
				same = 0;
			}
		}
		fpb_wal_note(wp, node + at, end - at);
		end += same;
	}
}

/*
 * Replace nodes, and add some behind them, as the image of a plan to repack
 * them has it.  head: of the new entry, which is in one of them.
 */
static void
repack_nodes(const FpbIndex *ix, Page page, uint64 head, const FpbSlotPlan *plan,
			 char *image, FpbWalPage *wp)
{
	const FpbShape *shape = fpb_shape(ix, page);
	int			old = plan->last - plan->first + 1;
	int			nnodes = old + plan->added;
	NodeCopy	before;

	for (int i = 0; i < nnodes; i++)
	{
		char	   *node;
		const char *new = image + i * shape->size;
		bool		known = true;

		if (i < old)
			node = fpb_node_at(shape, page, plan->first + i);
		else
		{
			node = add_node(ix, page, plan->first + i, PG_UINT64_MAX, FPB_NODE_PLAIN, wp);
			known = clear_new_node(ix, page, node, wp);
		}
		memcpy(before.data, node, shape->size);
		memcpy(node, new, shape->size);
		if (known)
			note_node(node, before.data, shape->size, wp);
		else
			fpb_wal_note(wp, node, shape->size);
		fpb_page_clear_all_killed(ix, page, plan->first + i);
		set_bound(page, plan->first + i, fpb_repacked_heads(shape, image, nnodes)[i], wp);
		set_codec(page, plan->first + i, fpb_repacked_codecs(shape, image, nnodes)[i], wp);
	}
	raise_next_bound(page, plan->first + nnodes - 1, head, wp);
}

/*
 * Make a slot of a node a gap, whatever it holds, and note what of its tail,
 * or of its tuple offset, was not zero.
 */
static void
write_gap(const FpbIndex *ix, const FpbShape *shape, FpbCodec codec, char *node,
		  int slot, FpbWalPage *wp)
{
	FpbNodeArray arrays[FPB_MAX_ARRAYS];
	int			last = fpb_node_arrays(ix, shape, codec, node, arrays) - 1;
	Size		width = arrays[last].width;
	char	   *start = arrays[last].start + slot * width;
	char		before[FPB_MAX_PAIR_BYTES];

	memcpy(before, start, width);
	fpb_make_gap(ix, shape, codec, node, slot);
	note_difference(start, before, width, wp);
}

/*
 * Make a slot a gap, whatever it holds.
 */
static void
empty_slot(const FpbIndex *ix, Page page, int dir, int slot, FpbWalPage *wp)
{
	const FpbShape *shape = fpb_shape(ix, page);
	FpbCodec	codec = *fpb_dir_codec(page, dir);
	char	   *node = fpb_node_at(fpb_shape(ix, page), page, dir);

	/* a damaged page may name a node twice: then the entry is gone already */
	if (unlikely(slot >= fpb_node_slots(ix, shape, codec, node)))
		return;
	write_gap(ix, shape, codec, node, slot, wp);
	if (fpb_codec_in_order(codec))
		set_codec(page, dir, codec & ~FPB_PAIRS_IN_ORDER, wp);
	if (shape->child_off != 0)
		fpb_note_slots(wp, node + shape->child_off, slot, slot, sizeof(uint32));
	fpb_page_clear_killed(ix, page, dir, slot, slot);
}

/* --- loose nodes --- */

/*
 * Are the entries of a pairs node, which were in order, so with this one in a
 * slot, too?
 */
static bool
keeps_order(const FpbIndex *ix, const FpbShape *shape, FpbCodec codec, char *node,
			int slot, const FpbKey *key)
{
	FpbEntry	other;

	if (slot > 0)
	{
		if (fpb_pair_is_gap(ix, codec, node, slot - 1))
			return false;
		fpb_read_slot(ix, NULL, shape, codec, node, slot - 1, &other);
		if (fpb_compare_keys(ix, &other.key, key) > 0)
			return false;
	}
	if (slot + 1 == fpb_node_slots(ix, shape, codec, node) ||
		fpb_pair_is_gap(ix, codec, node, slot + 1))
		return true;
	fpb_read_slot(ix, NULL, shape, codec, node, slot + 1, &other);
	return fpb_compare_keys(ix, key, &other.key) < 0;
}

/*
 * Write an entry into a slot of a pairs node, the dir'th, whatever was there.
 *
 * Only what differs is logged.  That is little if the slot was free: a key's
 * high bytes, of which the base has made some zero, come last.
 */
static void
write_loosely(const FpbIndex *ix, Page page, const FpbEntry *entry, int dir,
			  int slot, FpbWalPage *wp)
{
	const FpbShape *shape = fpb_shape(ix, page);
	char	   *node = fpb_node_at(shape, page, dir);
	FpbCodec	codec = *fpb_dir_codec(page, dir);
	int			bytes = fpb_pair_bytes(ix, codec);
	char		pair[FPB_MAX_PAIR_BYTES];

	/* better than another key */
	if (unlikely(!fpb_loose_fits(shape, codec, node, &entry->key)))
		elog(PANIC, "insertion into a node of an fpbtree page that is too narrow for it");
	if (fpb_codec_in_order(codec) && !keeps_order(ix, shape, codec, node, slot, &entry->key))
		set_codec(page, dir, codec & ~FPB_PAIRS_IN_ORDER, wp);
	fpb_make_pair(ix, codec, fpb_pairs_base(shape, codec, node), &entry->key, pair);
	write_bytes(node + slot * bytes, pair, bytes, wp);
	fpb_page_clear_killed(ix, page, dir, slot, slot);
	adjust_bounds(ix, page, dir, entry->key.head, wp);
}

/* an entry to be put into a loose node */
typedef struct StoredEntry
{
	FpbEntry	entry;
	uint32		tuple_offset;	/* tuples: where its tuple is, or 0 */
	bool		killed;
} StoredEntry;

/*
 * Read the entry in a slot of a loose node, the dir'th, which is to move to
 * another node.  Its tuple stays where it is, and is not looked at.
 */
static StoredEntry
read_loosely(const FpbIndex *ix, Page page, int dir, int slot)
{
	const FpbShape *shape = fpb_shape(ix, page);
	char	   *node = fpb_node_at(shape, page, dir);
	FpbCodec	codec = *fpb_dir_codec(page, dir);
	StoredEntry stored = {.killed = fpb_page_loose_is_killed(ix, page, dir, slot)};

	if (fpb_codec_kind(codec) == FPB_NODE_TUPLES)
	{
		stored.entry.key.head = fpb_node_head(ix, node, slot);
		stored.entry.child = InvalidBlockNumber;
		stored.tuple_offset = fpb_node_tuples(shape, node)[slot];
	}
	else
		fpb_read_slot(ix, page, shape, codec, node, slot, &stored.entry);
	return stored;
}

/*
 * The first gap among the slots [from, to) of a tuples node, or -1.
 */
static inline int
first_gap(const uint16 *tuples, int from, int to)
{
	while (from < to && tuples[from] != 0)
		from++;
	return from < to ? from : -1;
}

/*
 * The last one, likewise.
 */
static inline int
last_gap(const uint16 *tuples, int from, int to)
{
	while (to > from && tuples[to - 1] != 0)
		to--;
	return to > from ? to - 1 : -1;
}

/*
 * Find a gap of a tuples node for an entry that belongs behind the first at of
 * n entries with its head, which are in these slots.  Returns the gap, or -1
 * if there is none.  *before becomes how many of them are before the gap: at,
 * or the nearest there is to it.
 *
 * Of several such gaps the first one is taken, because ascending keys need
 * those behind it; or if the entry is the node's first one, the last, because
 * descending keys need those before it.
 */
static int
gap_for_tuple(const FpbShape *shape, char *node, const uint8 *alike, int n, int at,
			  bool first, int *before)
{
	const uint16 *tuples = fpb_node_tuples(shape, node);
	int			start = at == 0 ? 0 : alike[at - 1] + 1;
	int			behind = first_gap(tuples, start, shape->nslots);
	int			left = at;
	int			right = at;
	int			gap;

	if (behind >= 0)
		while (right < n && alike[right] < behind)
			right++;
	*before = right;
	if (behind >= 0 && right == at)
		return first && at == 0 ? last_gap(tuples, behind, n == 0 ? shape->nslots : alike[0]) :
			behind;

	gap = last_gap(tuples, 0, start);
	if (gap < 0)
		return behind;
	while (left > 0 && alike[left - 1] > gap)
		left--;
	if (behind >= 0 && at - left > right - at)
		return behind;
	*before = left;
	return first_gap(tuples, left == 0 ? 0 : alike[left - 1] + 1, gap + 1);
}

/*
 * Note the tuple offsets of a node's slots from one to another one, which may
 * be before it.
 */
static inline void
note_tuples(FpbWalPage *wp, uint16 *tuples, int from, int to)
{
	fpb_note_slots(wp, (char *) tuples, Min(from, to), Max(from, to), sizeof(uint16));
}

/*
 * Write the head of a slot of a tuples node, and note what differs from what
 * was there: zeros, or the head of an entry that has gone, and was near.
 */
static inline void
write_head(const FpbIndex *ix, char *node, int slot, uint64 head, FpbWalPage *wp)
{
	uint32		half = (uint32) (head >> 32);

	if (ix->head_width == sizeof(half))
		write_bytes(node + slot * sizeof(half), (const char *) &half, sizeof(half), wp);
	else
		write_bytes(node + slot * sizeof(head), (const char *) &head, sizeof(head), wp);
}

/*
 * The slot before which an entry of this rank belongs in a tuples node whose
 * entries are in the order of their slots: the one just behind the entry
 * before it, because ascending keys need the gaps there; or if it is the
 * node's first one, that of the next entry, because descending keys need the
 * gaps before that.
 */
static int
slot_of_rank(const FpbShape *shape, const uint16 *tuples, int rank)
{
	int			slot = 0;

	if (rank == 0)
		while (slot < shape->nslots && tuples[slot] == 0)
			slot++;
	for (int at = 0; rank > 0 && at < shape->nslots; at++)
		if (tuples[at] != 0)
		{
			slot = at + 1;
			rank--;
		}
	return slot;
}

/*
 * put_tuple for keys without heads: what lies between its place and the
 * nearest gap moves.
 */
static int
put_in_slots(const FpbIndex *ix, Page page, const StoredEntry *stored, int dir, int rank,
			 FpbWalPage *wp)
{
	const FpbShape *shape = fpb_shape(ix, page);
	char	   *node = fpb_node_at(shape, page, dir);
	uint16	   *tuples = fpb_node_tuples(shape, node);
	bool		killed = fpb_some_killed_bits(shape, page, dir) != NULL;
	uint32		tuple_offset = stored->tuple_offset;
	int			slot = slot_of_rank(shape, tuples, rank);
	int			gap = fpb_nearest_gap(ix, shape, FPB_NODE_TUPLES, node, slot);
	int			by = gap < slot ? 1 : -1;
	int			to = gap;

	/* better than to write before the node */
	if (unlikely(gap < 0))
		elog(PANIC, "insertion into a full node of an fpbtree page");
	if (tuple_offset == 0)
		tuple_offset = fpb_add_tuple(ix, page, &stored->entry.key, wp);
	if (gap < slot)
		slot--;
	for (; to != slot; to += by)
	{
		tuples[to] = tuples[to + by];
		if (killed)
			fpb_page_move_killed(ix, page, dir, to + by, dir, to);
	}
	tuples[slot] = tuple_offset;
	note_tuples(wp, tuples, gap, slot);
	return slot;
}

/*
 * Put an entry into a tuples node, the dir'th, that has a gap; it will have
 * this rank.  Entries of its head that are between its place and the gap move
 * by one of their slots.  Returns the entry's slot.
 */
static int
put_tuple(const FpbIndex *ix, Page page, const StoredEntry *stored, int dir, int rank,
		  FpbWalPage *wp)
{
	const FpbShape *shape = fpb_shape(ix, page);
	char	   *node = fpb_node_at(shape, page, dir);
	uint16	   *tuples = fpb_node_tuples(shape, node);
	bool		killed = fpb_some_killed_bits(shape, page, dir) != NULL;
	uint64		head = stored->entry.key.head;
	uint32		tuple_offset = stored->tuple_offset;
	uint8		alike[FPB_LOOSE_MOST];
	int			less;
	int			n = fpb_loose_alike(ix, shape, node, head, alike, &less);
	int			at = Min(Max(rank - less, 0), n);
	int			before = 0;
	int			gap = gap_for_tuple(shape, node, alike, n, at, rank == 0, &before);
	int			by = before > at ? -1 : 1;
	int			slot = gap;
	int			noted = gap;	/* the slots from here to slot have changed */

	/* better than to write before the node */
	if (unlikely(gap < 0))
		elog(PANIC, "insertion into a full node of an fpbtree page");
	if (tuple_offset == 0)
		tuple_offset = fpb_add_tuple(ix, page, &stored->entry.key, wp);
	write_head(ix, node, gap, head, wp);
	for (; before != at; before += by)
	{
		int			next = alike[before > at ? before - 1 : before];

		tuples[slot] = tuples[next];
		if (killed)
			fpb_page_move_killed(ix, page, dir, next, dir, slot);
		if (next != slot + by)
		{
			note_tuples(wp, tuples, noted, slot);
			noted = next;
		}
		slot = next;
	}
	tuples[slot] = tuple_offset;
	note_tuples(wp, tuples, noted, slot);
	adjust_bounds(ix, page, dir, head, wp);
	return slot;
}

/*
 * Put an entry into the dir'th node, which is loose and has a gap.  Tuples: it
 * will have this rank.  Returns the position behind it, or FPB_POS_FIRST where
 * heads tell places.
 */
static FpbPos
put_entry(const FpbIndex *ix, Page page, const StoredEntry *stored, int dir, int rank,
		  FpbWalPage *wp)
{
	const FpbShape *shape = fpb_shape(ix, page);
	FpbCodec	codec = *fpb_dir_codec(page, dir);
	int			slot;

	if (fpb_codec_kind(codec) == FPB_NODE_TUPLES)
		slot = ix->head_width == 0 ? put_in_slots(ix, page, stored, dir, rank, wp) :
			put_tuple(ix, page, stored, dir, rank, wp);
	else
	{
		slot = fpb_loose_gap(ix, shape, codec, fpb_node_at(shape, page, dir));
		/* better than to write before the node */
		if (unlikely(slot < 0))
			elog(PANIC, "insertion into a full node of an fpbtree page");
		write_loosely(ix, page, &stored->entry, dir, slot, wp);
	}
	if (stored->killed)
		fpb_page_kill_loose(ix, page, dir, slot);
	return ix->head_width > 0 ? FPB_POS_FIRST : fpb_pos_behind(fpb_pos_pack(fpb_loose_pos(dir, rank, slot)));
}

/*
 * Add a loose node without entries, the dir'th, whose first one will have this
 * head.  One that comes out of the hole is all zeros, so there is nothing to
 * log but its base.  Of one that has been in use before, all that was not zero
 * is; or if it is one of tuples, what makes its slots gaps.  (Where nodes lie
 * in the order of their keys, one that the same record has added may have lain
 * there, and have been noted.)
 */
static char *
add_loose_node(const FpbIndex *ix, Page page, int dir, FpbCodec codec, uint64 head,
			   uint64 base, FpbWalPage *wp)
{
	const FpbShape *shape = fpb_shape(ix, page);
	int			nalloc = FpbDir(page)->nalloc;
	char	   *node = add_node(ix, page, dir, head, codec, wp);
	int			kept = fpb_codec_kind(codec) == FPB_NODE_TUPLES ? shape->tail_off : 0;
	NodeCopy	before;

	memcpy(before.data, node, shape->size);
	if (!ix->csb && nalloc == FpbDir(page)->nalloc)
	{
		memset(node + kept, 0, shape->size - kept);
		note_node(node, before.data, shape->size, wp);
	}
	else if (!clear_new_node(ix, page, node, wp))
		fpb_wal_note(wp, node, shape->size);
	if (fpb_codec_near(codec))
		write_bytes(fpb_pairs_base_at(shape, node), (const char *) &base, sizeof(base), wp);
	return node;
}

/*
 * Add a node for entries of a full one, the dir'th, that are in these slots;
 * and for the new one, too, unless it is NULL.
 */
static void
add_split_node(const FpbIndex *ix, Page page, int dir, const uint8 *slots, int n,
			   const FpbKey *key, FpbWalPage *wp)
{
	FpbCodec	codec = *fpb_dir_codec(page, dir);
	FpbSpan		span = {0};
	uint64		base = 0;

	for (int i = 0; i < n; i++)
	{
		StoredEntry moved = read_loosely(ix, page, dir, slots[i]);

		fpb_span_add(&span, &moved.entry.key);
	}
	if (key != NULL)
		fpb_span_add(&span, key);
	if (fpb_codec_kind(codec) == FPB_NODE_PAIRS)
		codec = fpb_span_codec(ix, &span);
	if (fpb_codec_near(codec))
		base = fpb_span_base(&span, 0);
	(void) add_loose_node(ix, page, dir + 1, codec, span.least, base, wp);
}

/*
 * Write an entry into a gap of a loose node, the dir'th, that has come out of
 * a split of the node where it was.
 */
static void
write_moved(const FpbIndex *ix, Page page, const StoredEntry *moved, int dir, int slot,
			FpbWalPage *wp)
{
	const FpbShape *shape = fpb_shape(ix, page);
	FpbCodec	codec = *fpb_dir_codec(page, dir);
	char	   *node = fpb_node_at(shape, page, dir);
	FpbNodeArray arrays[FPB_MAX_ARRAYS];
	int			narrays = fpb_node_arrays(ix, shape, codec, node, arrays);

	if (fpb_codec_kind(codec) == FPB_NODE_PAIRS)
		fpb_make_pair(ix, codec, fpb_pairs_base(shape, codec, node), &moved->entry.key,
					  node + slot * fpb_pair_bytes(ix, codec));
	else
		fpb_write_slot(ix, shape, node, slot, &moved->entry, moved->tuple_offset);
	for (int i = 0; i < narrays; i++)
		fpb_note_slots(wp, arrays[i].start, slot, slot, arrays[i].width);
}

/*
 * Spread the n entries that a tuples node, the dir'th, has in these slots
 * evenly over all of its slots.  Gaps get the head of the entry before, which
 * the next one that comes there is likely to have.
 */
static void
spread_tuples(const FpbIndex *ix, Page page, int dir, const uint8 *slots, int n,
			  FpbWalPage *wp)
{
	const FpbShape *shape = fpb_shape(ix, page);
	char	   *node = fpb_node_at(shape, page, dir);
	NodeCopy	before;

	memcpy(before.data, node, shape->size);
	memset(node + shape->tail_off, 0, shape->size - shape->tail_off);
	for (int i = 0; i < n; i++)
	{
		int			slot = i * shape->nslots / n;

		fpb_node_tuples(shape, node)[slot] = fpb_node_tuples(shape, before.data)[slots[i]];
		for (; slot < (i + 1) * shape->nslots / n; slot++)
			fpb_node_set_head(ix, node, slot, fpb_node_head(ix, before.data, slots[i]));
	}
	note_changed(node, before.data, shape->size, wp);
	fpb_page_clear_all_killed(ix, page, dir);
}

/*
 * Are so many of a tuples node's entries of one head that its gaps should be
 * among them?
 */
static bool
are_alike(const FpbIndex *ix, const char *node, const uint8 *slots, int n)
{
	int			alike = 0;

	for (int i = 1; i < n; i++)
		alike += fpb_node_head(ix, node, slots[i - 1]) == fpb_node_head(ix, node, slots[i]);
	return alike > n / FPB_MANY_ALIKE;
}

/*
 * Split a full node: the entries of ranks plan->split_at and up move to a new
 * node, and leave gaps.  Then put the new entry, which belongs at the rank
 * plan->place.slot, into the half that it belongs to.  Returns as put_entry
 * does.
 */
static FpbPos
split_loosely(const FpbIndex *ix, Page page, const StoredEntry *stored,
			  const FpbSlotPlan *plan, FpbWalPage *wp)
{
	const FpbShape *shape = fpb_shape(ix, page);
	int			dir = plan->place.dir;
	int			at = plan->split_at;
	int			rank = plan->place.slot;
	char	   *node = fpb_node_at(shape, page, dir);
	FpbCodec	codec = *fpb_dir_codec(page, dir);
	uint8		slots[FPB_LOOSE_MOST];
	int			n = fpb_loose_order(ix, shape, codec, node, slots);
	bool		spread = fpb_codec_kind(codec) == FPB_NODE_TUPLES && are_alike(ix, node, slots, n);

	add_split_node(ix, page, dir, slots + at, n - at, rank > at ? &stored->entry.key : NULL, wp);
	for (int i = at; i < n; i++)
	{
		StoredEntry moved = read_loosely(ix, page, dir, slots[i]);

		write_moved(ix, page, &moved, dir + 1, i - at, wp);
		fpb_page_move_killed(ix, page, dir, slots[i], dir + 1, i - at);
		empty_slot(ix, page, dir, slots[i], wp);
	}
	if (spread)
	{
		spread_tuples(ix, page, dir, slots, at, wp);
		n = fpb_loose_order(ix, shape, codec, fpb_node_at(shape, page, dir + 1), slots);
		spread_tuples(ix, page, dir + 1, slots, n, wp);
	}
	return put_entry(ix, page, stored, rank <= at ? dir : dir + 1, rank <= at ? rank : rank - at, wp);
}

/*
 * Put an entry into a new pairs node of its own, the dir'th.  More are likely
 * to come, as far apart as those in the node before.  Some may be late, but by
 * no more than these are all together.
 */
static void
append_pairs(const FpbIndex *ix, Page page, const FpbEntry *entry, int dir, FpbWalPage *wp)
{
	const FpbShape *shape = fpb_shape(ix, page);
	FpbSpan		span = {0};
	FpbCodec	codec;
	uint64		range = 0;		/* of the node before */
	uint64		base = 0;

	fpb_span_add(&span, &entry->key);
	codec = fpb_span_codec(ix, &span);
	if (fpb_codec_near(codec) && dir > 0 && fpb_codec_is_loose(*fpb_dir_codec(page, dir - 1)))
	{
		FpbCodec	other = *fpb_dir_codec(page, dir - 1);
		char	   *node = fpb_node_at(shape, page, dir - 1);
		int			count = fpb_loose_count(ix, shape, other, node);

		if (count > 1)
			range = fpb_slot_head(ix, shape, other, node, fpb_loose_end(ix, shape, other, node, true)) -
				fpb_slot_head(ix, shape, other, node, fpb_loose_end(ix, shape, other, node, false));
		if (range > FPB_NEAR_MOST / 2 &&
			range / (count - 1) > FPB_NEAR_MOST / 2 / fpb_node_slots(ix, shape, codec, node))
			codec &= ~FPB_PAIRS_NEAR;
	}
	if (fpb_codec_near(codec))
		base = fpb_span_base(&span, Min(range, FPB_NEAR_MOST / 2));
	(void) add_loose_node(ix, page, dir, codec, span.least, base, wp);
	write_loosely(ix, page, entry, dir, 0, wp);
}

/*
 * Put an entry into a new loose node of its own, the dir'th.  If it comes
 * before all others of the page, keys seem to descend.  Returns as put_entry
 * does.
 */
static FpbPos
append_loose(const FpbIndex *ix, Page page, const StoredEntry *stored, int dir, FpbWalPage *wp)
{
	uint64		head = stored->entry.key.head;
	bool		descends = dir == 0 && FpbDir(page)->nnodes > 0;

	if (fpb_is_word(ix))
	{
		append_pairs(ix, page, &stored->entry, dir, wp);
		return FPB_POS_FIRST;
	}
	(void) add_loose_node(ix, page, dir, FPB_NODE_TUPLES, head, 0, wp);
	return put_entry(ix, page, stored, dir, descends ? 0 : FPB_LOOSE_MOST, wp);
}

/*
 * Put an entry into a full node, which passes its last (or first) entry on to
 * the next (or previous) node, and so on as far as plan->spill_to.dir, which
 * has a gap, or is a new node.  An entry that would be the last (or first) of
 * the node is passed on itself.  Returns as put_entry does.
 */
static FpbPos
pass_entries(const FpbIndex *ix, Page page, const StoredEntry *stored,
			 const FpbSlotPlan *plan, FpbWalPage *wp)
{
	const FpbShape *shape = fpb_shape(ix, page);
	int			to = plan->spill_to.dir;
	bool		right = to > plan->place.dir;
	StoredEntry passed = *stored;
	bool		is_new = true;	/* is that the new one? */
	FpbPos		at;
	FpbPos		behind = FPB_POS_FIRST; /* the new one */
	int			rank = plan->place.slot;
	int			count = 0;

	for (int dir = plan->place.dir; dir != to; dir += right ? 1 : -1)
	{
		char	   *node = fpb_node_at(shape, page, dir);
		FpbCodec	codec = *fpb_dir_codec(page, dir);
		int			end = fpb_loose_end(ix, shape, codec, node, right);
		StoredEntry next = read_loosely(ix, page, dir, end);

		count = fpb_node_slots(ix, shape, codec, node);
		if (dir != plan->place.dir)
			rank = right ? 0 : count;
		if (rank == (right ? count : 0))
			continue;
		if (fpb_codec_kind(codec) == FPB_NODE_PAIRS)
		{
			write_loosely(ix, page, &passed.entry, dir, end, wp);
			if (passed.killed)
				fpb_page_kill_loose(ix, page, dir, end);
		}
		else
		{
			empty_slot(ix, page, dir, end, wp);
			at = put_entry(ix, page, &passed, dir, rank - (right ? 0 : 1), wp);
			if (is_new)
				behind = at;
		}
		is_new = false;
		passed = next;
	}
	if (plan->added > 0)
		at = append_loose(ix, page, &passed, to, wp);
	else
		at = put_entry(ix, page, &passed, to, right ? 0 : FPB_LOOSE_MOST, wp);
	return is_new ? at : behind;
}

/* --- all pages --- */

/*
 * Put an entry into a new plain node of its own, the pos->dir'th.
 * tuple_offset: where its tuple is in the page; 0: it is to be added.
 */
static void
append_node(const FpbIndex *ix, Page page, const FpbEntry *entry,
			uint32 tuple_offset, const FpbNodePos *pos, FpbWalPage *wp)
{
	const FpbShape *shape = fpb_shape(ix, page);
	char	   *node;
	bool		was_zero;

	node = add_node(ix, page, pos->dir, entry->key.head, FPB_NODE_PLAIN, wp);
	raise_next_bound(page, pos->dir, entry->key.head, wp);
	was_zero = clear_new_node(ix, page, node, wp);
	if (!fpb_is_word(ix) && tuple_offset == 0)
		tuple_offset = fpb_add_tuple(ix, page, &entry->key, wp);
	fpb_write_slot(ix, shape, node, 0, entry, tuple_offset);
	for (int slot = 1; slot < shape->nslots; slot++)
		fpb_write_gap(ix, shape, node, slot, PG_UINT64_MAX);

	/* gaps have heads, and downlinks that are not zero */
	if (was_zero)
	{
		FpbNodeArray arrays[FPB_MAX_ARRAYS];
		int			narrays = fpb_node_arrays(ix, shape, FPB_NODE_PLAIN, node, arrays);

		for (int i = 0; i < narrays; i++)
		{
			bool		whole = arrays[i].start == node ||
				arrays[i].start == (char *) fpb_node_children(shape, node);

			fpb_note_slots(wp, arrays[i].start, 0, whole ? shape->nslots - 1 : 0,
						   arrays[i].width);
		}
	}
	else
		fpb_wal_note(wp, node, shape->size);
}

/*
 * Move the first or last entry of a full node to its neighbour, as planned.
 * Then put the new entry into the node.
 */
static void
spill_node(const FpbIndex *ix, Page page, const FpbEntry *entry,
		   const FpbSlotPlan *plan, FpbWalPage *wp)
{
	const FpbShape *shape = fpb_shape(ix, page);
	char	   *node = fpb_node_at(fpb_shape(ix, page), page, plan->spill.dir);
	FpbEntry	moved;
	uint16		tuple_offset;

	fpb_read_slot(ix, page, shape, FPB_NODE_PLAIN, node, plan->spill.slot, &moved);
	tuple_offset = fpb_is_word(ix) ? 0 : fpb_node_tuples(shape, node)[plan->spill.slot];
	insert_into_slot(ix, page, &moved, tuple_offset, &plan->spill_to, wp);
	empty_slot(ix, page, plan->spill.dir, plan->spill.slot, wp);
	insert_into_slot(ix, page, entry, plan->tuple_at, &plan->place, wp);
}

/*
 * Copy the entries of the nodes that a plan spreads, with the new one among
 * them, into one wide node without gaps.
 */
static void
pack_nodes(const FpbIndex *ix, Page page, const FpbEntry *entry,
		   const FpbSlotPlan *plan, const FpbShape *wide, char *packed,
		   FpbWalPage *wp)
{
	const FpbShape *shape = fpb_shape(ix, page);
	FpbNodeArray dst[FPB_MAX_ARRAYS];
	FpbNodeArray src[FPB_MAX_ARRAYS];
	int			narrays = fpb_node_arrays(ix, wide, FPB_NODE_PLAIN, packed, dst);
	int			n = 0;

	for (int dir = plan->first; dir <= plan->last; dir++)
	{
		char	   *node = fpb_node_at(shape, page, dir);

		fpb_node_arrays(ix, shape, FPB_NODE_PLAIN, node, src);
		for (int slot = 0; slot <= shape->nslots; slot++)
		{
			if (dir == plan->place.dir && slot == plan->place.slot)
				fpb_write_slot(ix, wide, packed, n++, entry,
							   fpb_is_word(ix) ? 0 : plan->tuple_at != 0 ? plan->tuple_at :
							   fpb_add_tuple(ix, page, &entry->key, wp));
			if (slot == shape->nslots ||
				fpb_node_is_gap(ix, shape, FPB_NODE_PLAIN, node, slot))
				continue;
			for (int a = 0; a < narrays; a++)
				memcpy(dst[a].start + n * dst[a].width,
					   src[a].start + slot * src[a].width, src[a].width);
			n++;
		}
	}
	if (unlikely(n != plan->entries))
		elog(PANIC, "nodes of an fpbtree page have other entries than planned");
}

/*
 * Spread the entries of plain nodes, and the new one, evenly over these nodes
 * and those added behind them, as planned.
 */
static void
spread_nodes(const FpbIndex *ix, Page page, const FpbEntry *entry,
			 const FpbSlotPlan *plan, FpbWalPage *wp)
{
	const FpbShape *shape = fpb_shape(ix, page);
	int			nnodes = plan->last - plan->first + 1 + plan->added;
	FpbShape	wide = {0};
	PGAlignedBlock packed;
	NodeCopy	before;
	int			from = 0;

	if (unlikely(fpb_lay_out_slots(ix, &wide, plan->entries, shape->child_off != 0) > BLCKSZ))
		elog(PANIC, "nodes of an fpbtree page have more entries than there is room for");
	pack_nodes(ix, page, entry, plan, &wide, packed.data, wp);
	for (int i = 0; i < plan->added; i++)
		(void) add_node(ix, page, plan->last + 1 + i, PG_UINT64_MAX,
						FPB_NODE_PLAIN, wp);
	for (int i = 0; i < nnodes; i++)
	{
		char	   *node = fpb_node_at(shape, page, plan->first + i);
		int			to = (i + 1) * plan->entries / nnodes;

		set_bound(page, plan->first + i, fpb_node_head(ix, packed.data, from), wp);
		memcpy(before.data, node, shape->size);
		spread_plain(ix, shape, node, &wide, packed.data, from, to);
		if (i < nnodes - plan->added)
			note_changed(node, before.data, shape->size, wp);
		else
			fpb_wal_note(wp, node, shape->size);
		fpb_page_clear_killed(ix, page, plan->first + i, 0, shape->nslots - 1);
		from = to;
	}
}

/*
 * The tuple of a slot that is not a gap, which has been checked.
 */
static IndexTuple
slot_tuple(const FpbIndex *ix, Page page, const FpbNodePos *pos)
{
	return (IndexTuple) ((char *) page +
						 fpb_node_tuples(fpb_leaf_shape(ix), fpb_node_at(fpb_shape(ix, page), page, pos->dir))[pos->slot]);
}

/*
 * Put an entry into a posting that has a gap, before pos->item.
 */
static void
insert_into_posting(const FpbIndex *ix, Page page, const FpbEntry *entry,
					const FpbNodePos *pos, FpbWalPage *wp)
{
	IndexTuple	posting = slot_tuple(ix, page, pos);
	char	   *tails = fpb_posting_tails(posting);
	int			gap = fpb_posting_gap(posting, pos->item);
	int			width = fpb_posting_width(posting);
	TailShift	shift;

	if (unlikely(gap < 0 || fpb_tail_width(entry->key.tail) > width))
		elog(PANIC, "insertion into a full posting of an fpbtree page");
	insert_tail(tails, fpb_posting_slots(posting), width, gap, pos->item, entry->key.tail, &shift, wp);
	fpb_page_clear_killed(ix, page, pos->dir, pos->slot, pos->slot);
	fpb_posting_shift_killed(ix, page, posting, shift.from, shift.to, shift.by);
}

/*
 * Replace the tuple of a slot by a posting with room for as many TIDs, of as
 * many bytes, as planned, and put an entry into that before plan->place.item.
 * If the old tuple was the last to be added, and is not longer, its bytes are
 * used again; and also if the posting goes among the tuples, where it may be
 * planned to begin where the old one does.
 */
static void
grow_posting(const FpbIndex *ix, Page page, const FpbEntry *entry,
			 const FpbSlotPlan *plan, FpbWalPage *wp)
{
	const FpbNodePos *pos = &plan->place;
	FpbPageHeader *hdr = FpbHdr(page);
	uint16	   *place = fpb_node_tuples(fpb_leaf_shape(ix), fpb_node_at(fpb_shape(ix, page), page, pos->dir)) + pos->slot;
	IndexTuple	old = slot_tuple(ix, page, pos);
	bool		posting = fpb_is_posting(old);
	int			nold = posting ? fpb_posting_slots(old) : 1;
	int			before = 0;		/* entries before the new one, */
	int			count = 1;		/* and all, with it */
	Size		size = fpb_posting_size(old, plan->tids, plan->width);
	bool		in_place = plan->tuple_at == *place;
	uint32		end = hdr->pd.pd_upper;
	uint32		offset;
	PGAlignedBlock copy;
	IndexTuple	new = (IndexTuple) copy.data;

	fpb_page_clear_killed(ix, page, pos->dir, pos->slot, pos->slot);
	if (posting)
		fpb_posting_clear_killed(ix, page, old, 0, nold - 1);
	memset(new, 0, size);
	memcpy(new, old, IndexTupleSize(old));
	fpb_posting_set(new, plan->tids, plan->width);
	for (int i = 0; i < nold; i++)
	{
		bool		live = !posting || !fpb_posting_is_gap(old, i);

		count += live;
		before += live && i < pos->item;
	}
	for (int i = 0, from = 0; i < count; i++)
	{
		/* more will come behind the last, or else anywhere, but moving costs */
		int			item = in_place || before == count - 1 ? i : i * plan->tids / count;
		uint64		tail = entry->key.tail;

		if (i != before)
		{
			from = posting ? fpb_posting_next(old, from) : 0;
			tail = posting ? fpb_posting_tail(old, from++) : fpb_tail_pack(0, &old->t_tid);
		}
		fpb_write_short_tail(fpb_posting_tails(new), item, plan->width, tail);
	}

	if (plan->tuple_at != 0)
	{
		PGAlignedBlock bytes;

		offset = plan->tuple_at;
		memcpy(bytes.data, (char *) page + offset, size);
		memcpy((char *) page + offset, new, size);
		note_changed((char *) page + offset, bytes.data, size, wp);
	}
	else
	{
		if (*place == end && size >= fpb_leaf_tuple_size(old) &&
			(FpbPageIsLeftmost(page) || hdr->fences.tail[FPB_LOW] != end))
			end += fpb_leaf_tuple_size(old);
		offset = TYPEALIGN_DOWN(fpb_tuple_align(ix, new), end - size);
		memcpy((char *) page + offset, new, size);
		hdr->pd.pd_upper = offset;
		fpb_wal_note(wp, (char *) page + offset, end - offset);
		fpb_wal_note(wp, &hdr->pd.pd_upper, sizeof(hdr->pd.pd_upper));
	}
	*place = offset;
	fpb_wal_note(wp, place, sizeof(uint16));
}

/*
 * Put an entry into a full posting before pos->item, and take out the last
 * one.  That becomes *last; tuple is memory of the caller's for its tuple.
 */
static void
swap_last(const FpbIndex *ix, Page page, const FpbEntry *entry,
		  const FpbNodePos *pos, FpbEntry *last, IndexTuple tuple, FpbWalPage *wp)
{
	IndexTuple	posting = slot_tuple(ix, page, pos);
	char	   *tails = fpb_posting_tails(posting);
	int			n = fpb_posting_slots(posting);
	int			width = fpb_posting_width(posting);

	fpb_last_of_posting(ix, page, pos, last);
	memcpy(tuple, posting, IndexTupleSize(posting));
	fpb_tail_tid(last->key.tail, &tuple->t_tid);
	last->key.tuple = tuple;
	fpb_shift_slots(tails, pos->item, n - 2, 1, width);
	fpb_write_short_tail(tails, pos->item, width, entry->key.tail);
	fpb_note_slots(wp, tails, pos->item, n - 1, width);
	fpb_page_clear_killed(ix, page, pos->dir, pos->slot, pos->slot);
	fpb_posting_clear_killed(ix, page, posting, pos->item, n - 1);
}

/*
 * What fpb_page_insert returns of an entry that has been put into a posting:
 * where that begins, because greater TIDs may follow in it.
 */
static FpbPos
posting_pos(const FpbIndex *ix, const FpbNodePos *place)
{
	return ix->head_width > 0 ? FPB_POS_FIRST : fpb_pos_pack(fpb_loose_pos(place->dir, 0, place->slot));
}

/*
 * Put an entry of words into a new runs node of its own, the pos->dir'th, with
 * room for so many keys, and tails of so many bytes.
 */
static void
append_runs(const FpbIndex *ix, Page page, const FpbEntry *entry, int keys, int width,
			const FpbNodePos *pos, FpbWalPage *wp)
{
	const FpbShape *shape = fpb_shape(ix, page);
	char	   *node = add_node(ix, page, pos->dir, entry->key.head, FPB_NODE_RUNS, wp);
	FpbRuns		runs;
	bool		was_zero;

	was_zero = clear_new_node(ix, page, node, wp);
	fpb_runs_set(shape, node, width, 1, keys);
	runs = fpb_runs(ix, shape, node);
	fpb_node_set_head(ix, node, 0, entry->key.head);
	if (ix->form == FPB_WORD16)
		fpb_run_lows(&runs)[0] = entry->key.low;
	fpb_write_short_tail(runs.tails, 0, width, entry->key.tail);
	runs.ends[0] = 1;
	if (!was_zero)
	{
		fpb_wal_note(wp, node, shape->size);
		return;
	}
	fpb_note_slots(wp, node, 0, 0, ix->head_width);
	if (ix->form == FPB_WORD16)
		fpb_note_slots(wp, (char *) fpb_run_lows(&runs), 0, 0, sizeof(uint64));
	fpb_note_slots(wp, runs.tails, 0, 0, width);
	fpb_note_slots(wp, (char *) runs.ends, 0, 0, sizeof(uint8));
	fpb_wal_note(wp, node + shape->size - FPB_RUNS_TRAILER, FPB_RUNS_TRAILER);
}

/*
 * Carry out a plan whose outcome is FPB_PLAN_FITS.  Returns what
 * fpb_page_insert does.
 */
FpbPos
fpb_disk_first_insert(const FpbIndex *ix, Page page, const FpbEntry *entry,
					  const FpbInsertPlan *plan, FpbWalPage *wp)
{
	const FpbSlotPlan *slots = FpbSlots(plan);
	PGAlignedBlock tuple;
	FpbEntry	last;
	StoredEntry stored;
	FpbPos		behind = FPB_POS_FIRST;

	if (slots->swap)
	{
		swap_last(ix, page, entry, &slots->swapped, &last, (IndexTuple) tuple.data, wp);
		entry = &last;
	}
	if (slots->tuple_at != 0 && slots->kind != FPB_PLAN_GROW)
		fpb_put_tuple_at(page, &entry->key, slots->tuple_at, wp);
	stored.entry = *entry;
	stored.tuple_offset = slots->tuple_at;
	stored.killed = false;
	switch (slots->kind)
	{
		case FPB_PLAN_SLOT:
			insert_into_slot(ix, page, entry, slots->tuple_at, &slots->place, wp);
			break;
		case FPB_PLAN_APPEND_NODE:
			if (slots->keys > 0)
				append_runs(ix, page, entry, slots->keys, slots->width, &slots->place, wp);
			else if (FpbPageIsLeaf(page))
				behind = append_loose(ix, page, &stored, slots->place.dir, wp);
			else
				append_node(ix, page, entry, slots->tuple_at, &slots->place, wp);
			break;
		case FPB_PLAN_SPLIT_NODE:
			if (FpbPageIsLeaf(page))
				behind = split_loosely(ix, page, &stored, slots, wp);
			else
				split_node(ix, page, entry, slots, wp);
			break;
		case FPB_PLAN_SPILL:
			spill_node(ix, page, entry, slots, wp);
			break;
		case FPB_PLAN_SPREAD:
			spread_nodes(ix, page, entry, slots, wp);
			break;
		case FPB_PLAN_REPACK:
			repack_nodes(ix, page, entry->key.head, slots, plan->image->data, wp);
			break;
		case FPB_PLAN_LOOSE:
			behind = put_entry(ix, page, &stored, slots->place.dir, slots->place.slot, wp);
			break;
		case FPB_PLAN_PASS:
			behind = pass_entries(ix, page, &stored, slots, wp);
			break;
		case FPB_PLAN_POSTING:
			insert_into_posting(ix, page, entry, &slots->place, wp);
			behind = posting_pos(ix, &slots->place);
			break;
		case FPB_PLAN_GROW:
			grow_posting(ix, page, entry, slots, wp);
			behind = posting_pos(ix, &slots->place);
			break;
	}

	/* it is the posting's last entry that has been placed */
	return slots->swap ? FPB_POS_FIRST : behind;
}

/*
 * Delete the entry at *pos, unless that is a gap.
 */
static void
delete_entry(const FpbIndex *ix, Page page, const FpbNodePos *pos, FpbWalPage *wp)
{
	const FpbShape *shape = fpb_shape(ix, page);
	IndexTuple	posting;

	if (!fpb_is_word(ix) && FpbPageIsLeaf(page) && pos->slot < shape->nslots &&
		!fpb_node_is_gap(ix, shape, FPB_NODE_TUPLES, fpb_node_at(fpb_shape(ix, page), page, pos->dir), pos->slot) &&
		fpb_is_posting(posting = slot_tuple(ix, page, pos)))
	{
		char	   *tails = fpb_posting_tails(posting);
		int			width = fpb_posting_width(posting);

		fpb_write_short_tail(tails, pos->item, width, 0);
		fpb_note_slots(wp, tails, pos->item, pos->item, width);
		fpb_posting_clear_killed(ix, page, posting, pos->item, pos->item);
		if (fpb_posting_next(posting, 0) < fpb_posting_slots(posting))
			return;
	}
	empty_slot(ix, page, pos->dir, pos->slot, wp);
}

/*
 * Take nodes of a leaf that have no entries out of the directory, from the
 * first'th to the last'th, so that they are free for other keys, and no search
 * has to pass over them.  A page keeps one node.  (Where nodes lie in the
 * order of their keys, others would have to move.)
 */
static void
free_empty_nodes(const FpbIndex *ix, Page page, int first, int last, FpbWalPage *wp)
{
	const FpbShape *shape = fpb_shape(ix, page);
	FpbDirectory *dir = FpbDir(page);
	uint8	   *numbers = fpb_dir_nodes(page);
	int			freed = 0;
	int			from = 0;		/* what moves */

	if (ix->csb || !FpbPageIsLeaf(page))
		return;
	for (int i = first; i < dir->nnodes; i++)
	{
		FpbCodec	codec = *fpb_dir_codec(page, i);
		char	   *node = fpb_node_at(shape, page, i);

		if (i <= last && freed < dir->nnodes - 1 &&
			fpb_next_live(ix, shape, codec, node, 0) == fpb_node_slots(ix, shape, codec, node))
		{
			if (freed++ == 0)
				from = i;
			set_bound(page, i, PG_UINT64_MAX, wp);
			continue;
		}
		numbers[i - freed] = numbers[i];
	}
	if (freed == 0)
		return;
	dir->nnodes -= freed;
	fpb_wal_note(wp, numbers + from, dir->nnodes - from);
	fpb_wal_note(wp, &dir->nnodes, sizeof(dir->nnodes));
}

/*
 * Delete entries.
 */
void
fpb_disk_first_delete(const FpbIndex *ix, Page page, const FpbPos *pos,
					  int npos, FpbWalPage *wp)
{
	int			first = FPB_MAX_NODES;
	int			last = -1;

	for (int i = 0; i < npos; i++)
	{
		FpbNodePos	place = fpb_slot_place(ix, page, pos[i]);

		delete_entry(ix, page, &place, wp);
		first = Min(first, place.dir);
		last = Max(last, place.dir);
	}
	free_empty_nodes(ix, page, first, last, wp);
}

/*
 * Delete all entries from pos on and free their nodes.  Nodes that lie behind
 * all that remain go back to the hole, and so do tuples that were added after
 * all others.  Other tuples stay until the page is made afresh.
 */
void
fpb_disk_first_cut(const FpbIndex *ix, Page page, FpbPos pos, FpbWalPage *wp)
{
	FpbNodePos	place = fpb_pos_unpack(ix, pos);
	FpbPageHeader *hdr = FpbHdr(page);
	const FpbShape *shape = fpb_shape(ix, page);
	bool		loose = place.dir < FpbDir(page)->nnodes &&
		fpb_codec_is_loose(*fpb_dir_codec(page, place.dir));
	int			rank = loose ? fpb_loose_rank(place) : place.slot;
	int			keep = place.dir + (rank > 0 ? 1 : 0);
	int			nalloc = 0;
	int			freed;

	if (loose && keep > place.dir)
	{
		uint8		slots[FPB_LOOSE_MOST];
		FpbNodePos	gone = fpb_slot_of(ix, page, place);
		int			n = fpb_loose_order(ix, shape, *fpb_dir_codec(page, place.dir),
										fpb_node_at(shape, page, place.dir), slots);

		/* of a posting, some may stay */
		if (!fpb_is_word(ix) && place.item > 0 && gone.slot < shape->nslots &&
			fpb_is_posting(slot_tuple(ix, page, &gone)))
			for (int nitems = fpb_posting_slots(slot_tuple(ix, page, &gone)); gone.item < nitems; gone.item++)
				delete_entry(ix, page, &gone, wp);
		for (; rank < n; rank++)
			empty_slot(ix, page, place.dir, slots[rank], wp);
	}
	else if (keep > place.dir)
	{
		int			nslots = fpb_node_slots(ix, shape, *fpb_dir_codec(page, place.dir),
											fpb_node_at(shape, page, place.dir));

		for (int slot = place.slot; slot < nslots; slot++)
			empty_slot(ix, page, place.dir, slot, wp);
	}
	for (int dir = 0; dir < keep; dir++)
		nalloc = Max(nalloc, fpb_node_number(page, dir) + 1);
	for (int dir = keep; dir < FpbDir(page)->nnodes; dir++)
	{
		fpb_page_clear_all_killed(ix, page, dir);
		if (fpb_node_number(page, dir) < nalloc)
			set_bound(page, dir, PG_UINT64_MAX, wp);
	}
	FpbDir(page)->nnodes = keep;

	/* killed bits that lie behind the nodes have to begin anew */
	if (shape->killed_off == 0)
		fpb_page_reset_killed(ix, page);
	freed = (FpbDir(page)->nalloc - nalloc) * shape->size;
	FpbDir(page)->nalloc = nalloc;
	hdr->pd.pd_lower -= freed;
	memset((char *) page + hdr->pd.pd_lower, 0, freed);
	fpb_wal_note(wp, &FpbDir(page)->nnodes, sizeof(FpbDir(page)->nnodes));
	fpb_wal_note(wp, &FpbDir(page)->nalloc, sizeof(FpbDir(page)->nalloc));
	fpb_wal_note(wp, &hdr->pd.pd_lower, sizeof(hdr->pd.pd_lower));
	if (!fpb_is_word(ix))
	{
		uint32		least = BLCKSZ;

		for (int dir = 0; dir < keep; dir++)
			least = fpb_least_tuple(fpb_node_tuples(shape, fpb_node_at(shape, page, dir)),
									shape->nslots, least);
		fpb_free_last_tuples(page, least, wp);
	}
}
