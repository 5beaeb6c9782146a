/*-------------------------------------------------------------------------
 *
 * page/disk_first/plan_insert.c
 *	  Planning insertions into a disk-first page.
 *
 * An insertion is planned first, which may fail, and then made in a critical
 * section, which may not (page/disk_first/change.c).  A plan changes as little
 * as the node structure permits, because all that changes is logged.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "port/pg_bitutils.h"

#include "page/disk_first/disk_first.h"

/*
 * A page is rebuilt rather than split if that leaves this share of its nodes'
 * slots free, in a hundred (fpbtree-sigmod2002, section 3.1.2: "far fewer than
 * the page maximum fan-out").  A rebuild logs the whole page.
 */
#define REBUILD_SLACK			15
#define REBUILD_SLACK_WORDS		20

/*
 * A leaf of words is rebuilt when an image of it is logged if its entries then
 * fit so many of its nodes, in a hundred; one of tuples if they then take so
 * much of the bytes.  (See also is_full_of_runs.)
 */
#define SPARSE					92

/* a node with fewer gaps than this is nearly full */
#define FEW_GAPS				3

/*
 * Entries of adjacent nodes are spread anew if that leaves this share of their
 * slots free, in a hundred.  So pages fill up to that.
 */
#define SPREAD_SLACK			6

/*
 * A single node is packed anew if that leaves this share of it free, and
 * several ones if that leaves that share of them free, in a hundred.
 */
#define REPACK_SLACK			12
#define REPACK_SEVERAL_SLACK	8

/* so many numbers of nodes that have that much free are tried */
#define REPACK_TRIES			2

/*
 * An entry of a leaf of words is passed on over so many nodes at most.  Each
 * of them logs an entry; where gaps are farther away, a page split costs less.
 * (In the operation queue it does not: there it is a visit to a main leaf that
 * is spared.)
 */
#define PASS_MOST				3

/*
 * A full node of a leaf of words that is split keeps so many eighths of its
 * entries: what moves is logged, and many nodes get few more entries before
 * the page is split.
 */
#define NODE_KEEPS				5

/*
 * An entry that comes late is passed on from one of so many nodes at the end
 * of the rightmost leaf.
 */
#define LATE_MOST				3

/*
 * Entries are packed evenly into nodes that are so much fuller than they would
 * be on the average, or twice as much and so on: in a thousand.
 */
#define EVEN_STEP				15

/*
 * A runs node is nearly full if less than one place of so many is a gap.
 */
#define NEARLY_FULL				4

/*
 * A posting that grows gets room for the new TID, and for one for so many that
 * it has; for more while much of the page is free; and if there is no room for
 * that, for fewer.
 */
#define AMPLE_GROWTH			2
#define GROWTH					4
#define LEAST_GROWTH			8

/* a page has many duplicates if one of so many entries is one */
#define MANY_DUPLICATES			8

/* with many duplicates, it is rebuilt if that leaves this share free */
#define DUPLICATES_SLACK		10

/* --- planning --- */

/*
 * How many slots of the dir'th node are gaps; -1 if there is no such node, or
 * it is a runs node.
 */
static int
plain_gaps(const FpbIndex *ix, Page page, int dir)
{
	const FpbShape *shape = fpb_shape(ix, page);
	FpbCodec	codec;
	char	   *node;
	int			gaps = 0;

	if (dir < 0 || dir >= FpbDir(page)->nnodes)
		return -1;
	node = fpb_page_node(ix, page, dir, &codec);
	if (fpb_codec_shares_key(codec))
		return -1;
	for (int slot = 0; slot < fpb_node_slots(ix, shape, codec, node); slot++)
		gaps += fpb_node_is_gap(ix, shape, codec, node, slot);
	return gaps;
}

/*
 * Has the dir'th node a gap?  1 or 0; -1 if there is no such node, or it is a
 * runs node.
 */
static int
has_gap(const FpbIndex *ix, Page page, int dir)
{
	FpbCodec	codec;
	char	   *node;

	if (dir < 0 || dir >= FpbDir(page)->nnodes)
		return -1;
	node = fpb_page_node(ix, page, dir, &codec);
	if (fpb_codec_shares_key(codec))
		return -1;
	if (fpb_codec_is_loose(codec))
		return fpb_loose_gap(ix, fpb_shape(ix, page), codec, node) >= 0;
	return fpb_nearest_gap(ix, fpb_shape(ix, page), codec, node, 0) >= 0;
}

/*
 * The position of an entry that is to be the last one of a plain node: before
 * the gaps at its end whose heads are not less than the entry's.
 */
static FpbNodePos
end_of_node(const FpbIndex *ix, Page page, int dir, const FpbEntry *entry)
{
	const FpbShape *shape = fpb_shape(ix, page);
	FpbCodec	codec;
	char	   *node = fpb_page_node(ix, page, dir, &codec);
	FpbNodePos	pos = {dir, shape->nslots};

	while (pos.slot > 0 &&
		   fpb_node_is_gap(ix, shape, codec, node, pos.slot - 1) &&
		   fpb_node_head(ix, node, pos.slot - 1) >= entry->key.head)
		pos.slot--;
	return pos;
}

/*
 * Plan to make room in a full plain node by moving the entry at one of its
 * ends to the neighbour there.  False if neither neighbour has a gap.
 */
static bool
plan_spill(const FpbIndex *ix, Page page, const FpbEntry *entry,
		   const FpbNodePos *place, char *node, FpbSlotPlan *plan)
{
	const FpbShape *shape = fpb_shape(ix, page);
	FpbEntry	moved;
	bool		left = has_gap(ix, page, place->dir - 1) > 0;
	bool		right = has_gap(ix, page, place->dir + 1) > 0;

	/* fewer entries have to move to the nearer end */
	if (left && right)
		left = place->slot < shape->nslots / 2;
	if (left && place->slot == 0)
	{
		/* the new entry itself can be the one at the neighbour's end */
		plan->kind = FPB_PLAN_SLOT;
		plan->place = end_of_node(ix, page, place->dir - 1, entry);
		return true;
	}
	if (!left && !right)
		return false;
	plan->kind = FPB_PLAN_SPILL;
	plan->spill.dir = place->dir;
	plan->spill.slot = left ? 0 : shape->nslots - 1;
	plan->spill.item = 0;
	fpb_read_slot(ix, page, shape, FPB_NODE_PLAIN, node, plan->spill.slot, &moved);
	if (left)
		plan->spill_to = end_of_node(ix, page, place->dir - 1, &moved);
	else
	{
		plan->spill_to.dir = place->dir + 1;
		plan->spill_to.slot = plan->spill_to.item = 0;
	}
	return true;
}

/*
 * Does a leaf's entry seem to belong to one of many series of ascending keys,
 * so that more are likely to come behind it?
 */
static bool
follows_series(const FpbIndex *ix, Page page, const FpbEntry *entry,
			   const FpbNodePos *place)
{
	FpbNodePos	pos = *place;
	FpbEntry	before;
	FpbEntry	behind;

	if (!fpb_node_pos_prev(ix, page, &pos, &before))
		return false;
	pos = *place;
	return fpb_node_pos_next(ix, page, &pos, &behind) &&
		fpb_follows_series(before.key.head, entry->key.head, behind.key.head);
}

/*
 * Plan to spread the entries of a full plain node and of its neighbours evenly
 * over these nodes, with the new entry at *place among them: over as few nodes
 * as have enough gaps together.  False if there are not enough gaps.
 */
static bool
plan_spread(const FpbIndex *ix, Page page, const FpbNodePos *place,
			FpbSlotPlan *plan)
{
	const FpbShape *shape = fpb_shape(ix, page);
	int			first = place->dir;
	int			last = place->dir;
	int			left = plain_gaps(ix, page, first - 1);
	int			right = plain_gaps(ix, page, last + 1);
	int			gaps = 0;

	while (left >= 0 || right >= 0)
	{
		int			slots;

		if (left > right)
		{
			gaps += left;
			left = plain_gaps(ix, page, --first - 1);
		}
		else
		{
			gaps += right;
			right = plain_gaps(ix, page, ++last + 1);
		}

		/* each node gets an entry at least, and the place's has a slot more */
		slots = (last - first + 1) * shape->nslots;
		if ((gaps - 1) * 100 >= SPREAD_SLACK * slots && gaps > last - first &&
			slots - gaps > last - first)
		{
			plan->kind = FPB_PLAN_SPREAD;
			plan->first = first;
			plan->last = last;
			plan->added = 0;
			plan->entries = slots - gaps + 1;
			return true;
		}
	}
	return false;
}

/*
 * How many entries has the dir'th node, which is a plain one; -1 if there is
 * no such node.
 */
static int
plain_entries(const FpbIndex *ix, Page page, int dir)
{
	int			gaps = plain_gaps(ix, page, dir);

	return gaps < 0 ? -1 : fpb_shape(ix, page)->nslots - gaps;
}

/*
 * Is the node at *place crowded: has it as many entries as it should have,
 * even if there are gaps?
 */
static bool
is_crowded(const FpbIndex *ix, Page page, const FpbNodePos *place)
{
	const FpbShape *shape = fpb_shape(ix, page);

	return shape->most < shape->nslots &&
		plain_entries(ix, page, place->dir) >= shape->most;
}

/*
 * Plan to insert an entry at *place, in a crowded node, so that no node gets
 * more entries than it should have: by spreading the node's entries over it
 * and a new one, or over adjacent nodes.  False if the page has no free node
 * and all others are crowded, too.
 */
static bool
plan_packing(const FpbIndex *ix, Page page, const FpbNodePos *place,
			 FpbSlotPlan *plan)
{
	int			most = fpb_shape(ix, page)->most;
	int			first = place->dir;
	int			last = place->dir;
	int			entries = plain_entries(ix, page, first) + 1;

	plan->added = fpb_page_has_room(ix, page, 1, 0) ? 1 : 0;
	while (entries > (last - first + 1 + plan->added) * most)
	{
		int			left = plain_entries(ix, page, first - 1);
		int			right = plain_entries(ix, page, last + 1);

		if (left < 0 && right < 0)
			return false;
		if (right < 0 || (left >= 0 && left < right))
		{
			entries += left;
			first--;
		}
		else
		{
			entries += right;
			last++;
		}
	}
	plan->kind = FPB_PLAN_SPREAD;
	plan->first = first;
	plan->last = last;
	plan->entries = entries;
	return true;
}

/*
 * Is a place in the page's last node, and behind all its entries?
 */
static bool
is_at_end(const FpbIndex *ix, Page page, const FpbNodePos *place)
{
	FpbNodePos	pos = *place;
	FpbEntry	entry;

	return place->dir == FpbDir(page)->nnodes - 1 &&
		!fpb_node_pos_next(ix, page, &pos, &entry);
}

/*
 * Are many of a leaf's entries duplicates, so that postings would save room?
 */
static bool
has_duplicates(const FpbIndex *ix, Page page, const FpbEntry *entries,
			   int nentries)
{
	int			duplicates = 0;

	if (ix->max_posting == 0 || !FpbPageIsLeaf(page))
		return false;
	for (int i = 1; i < nentries; i++)
		duplicates += fpb_keys_identical(ix, &entries[i - 1].key, &entries[i].key);
	return duplicates > nentries / MANY_DUPLICATES;
}

/*
 * Has the page a runs node?
 */
static bool
has_runs(const FpbIndex *ix, Page page)
{
	if (!ix->word_runs || !FpbPageIsLeaf(page))
		return false;
	for (int dir = 0; dir < FpbDir(page)->nnodes; dir++)
		if (*fpb_dir_codec(page, dir) == FPB_NODE_RUNS)
			return true;
	return false;
}

/*
 * A number of keys that a pairs node has at least.  It is that of different
 * hash values of their heads, which takes less than to put the entries in
 * order.  *span is widened to what these heads span.
 */
static int
least_keys(const FpbIndex *ix, const FpbShape *shape, FpbCodec codec, char *node, FpbSpan *span)
{
	uint64		seen[4] = {0};	/* a bit for each value of a byte */
	uint64		base = fpb_pairs_base(shape, codec, node);
	int			shift = fpb_codec_near(codec) ? 0 : 32;
	bool		integers = fpb_pair_is_integer(ix, codec);
	int			count = 0;

	for (int slot = 0; slot < shape->pairs[fpb_pairs_form(codec)]; slot++)
	{
		uint64		pair = integers ? fpb_pair_integer(node, slot) : 0;
		uint64		head;
		int			hash;

		if (integers ? (pair & FPB_TAIL_MAX_OFFSET) == 0 : fpb_pair_is_gap(ix, codec, node, slot))
			continue;
		head = integers ? base + (pair >> 32 << shift) : fpb_slot_head(ix, shape, codec, node, slot);
		hash = (head * UINT64CONST(0x9E3779B97F4A7C15)) >> 56;
		span->least = Min(span->least, head);
		span->greatest = Max(span->greatest, head);
		seen[hash / 64] |= UINT64CONST(1) << (hash % 64);
	}
	for (int i = 0; i < lengthof(seen); i++)
		count += pg_popcount64(seen[i]);
	return count;
}

/*
 * What the entries of the dir'th node of a leaf of words, and so many more,
 * take of a node that is made afresh and filled so, in a thousand, at least.
 * runs: has the page runs nodes?
 */
static int
least_afresh(const FpbIndex *ix, Page page, int dir, int more, bool runs, const FpbFill *fill)
{
	const FpbShape *shape = fpb_shape(ix, page);
	FpbCodec	codec;
	char	   *node = fpb_page_node(ix, page, dir, &codec);
	int			entries = more;
	int			width = FPB_SHORT_TAIL;
	int			pairs = 0;
	FpbSpan		span = {0};
	int			keys;
	int			open;			/* entries of the last key */

	if (fpb_codec_shares_key(codec))
	{
		FpbRuns		own = fpb_runs(ix, shape, node);

		for (int slot = 0; slot < own.places; slot++)
			entries += !fpb_run_is_gap(&own, slot);
		for (int form = 0; form < lengthof(fill->pairs); form++)
			pairs = Max(pairs, fill->pairs[form]);
		width = own.width;
		keys = own.nruns;
		open = fpb_run_end(&own, keys - 1) - fpb_run_start(&own, keys - 1);
	}
	else
	{
		entries += fpb_loose_count(ix, shape, codec, node);
		pairs = fill->pairs[fpb_pairs_form(codec)];
		if (!runs)
			return entries * 1000 / pairs;
		keys = least_keys(ix, shape, codec, node, &span);
		open = entries - keys + 1;
	}
	open = Max(Min(open, entries), 0);
	return Min(entries * 1000 / pairs,
			   (keys * fill->key_cost + (entries - open) * fill->tid_cost[width] +
				open * fill->open_cost[width]) * 1000 / fill->runs_room);
}

/*
 * How many nodes would the entries of a leaf of words take, with one more, if
 * nodes had so many slots of a hundred free?  At least as many as those where
 * they are would take, each by itself.
 */
static int
nodes_with_slack(const FpbIndex *ix, Page page, int slack)
{
	bool		runs = has_runs(ix, page);
	int			thousandths = 0;
	FpbFill		fill;

	fpb_fill_with_slack(ix, 0, slack, &fill);
	for (int dir = 0; dir < FpbDir(page)->nnodes; dir++)
		thousandths += least_afresh(ix, page, dir, dir == 0 ? 1 : 0, runs, &fill);
	return (thousandths + 999) / 1000;
}

/*
 * Has a leaf of words runs nodes, and a node that is full, or nearly so?  Then
 * the next insertions may have several nodes packed anew.
 */
static bool
is_full_of_runs(const FpbIndex *ix, Page page)
{
	const FpbShape *shape = fpb_shape(ix, page);
	int			fewest = FEW_GAPS;

	if (!has_runs(ix, page))
		return false;
	for (int dir = 0; dir < FpbDir(page)->nnodes; dir++)
	{
		FpbCodec	codec;
		char	   *node = fpb_page_node(ix, page, dir, &codec);
		int			gaps = 0;

		for (int slot = fpb_node_slots(ix, shape, codec, node) - 1; slot >= 0 && gaps < fewest; slot--)
			gaps += fpb_node_is_gap(ix, shape, codec, node, slot);
		fewest = gaps;
	}
	return fewest < FEW_GAPS;
}

/*
 * How many entries has a leaf of tuples that has no posting?  -1 if it has
 * one, or if it is damaged.  Sets *bytes to what their tuples take.
 */
static int
plain_tuples(const FpbIndex *ix, Page page, Size *bytes)
{
	const FpbShape *shape = fpb_shape(ix, page);
	int			entries = 0;

	*bytes = 0;
	for (int dir = 0; dir < FpbDir(page)->nnodes; dir++)
	{
		const uint16 *tuples;

		if (unlikely(fpb_node_number(page, dir) >= FpbDir(page)->nalloc))
			return -1;
		tuples = fpb_node_tuples(shape, fpb_node_at(shape, page, dir));
		for (int slot = 0; slot < shape->nslots; slot++)
		{
			IndexTuple	tuple = (IndexTuple) ((char *) page + tuples[slot]);

			if (tuples[slot] == 0)
				continue;
			if (!fpb_tuple_offset_valid(page, tuples[slot]) || fpb_is_posting(tuple))
				return -1;
			*bytes += fpb_tuple_space(ix, tuple);
			entries++;
		}
	}
	return entries;
}

/*
 * Bytes that so many plain tuples of a leaf take with their nodes, made afresh
 * with so many slots of a hundred free, and what is before them.  Fences are
 * left out.
 */
static Size
fresh_bytes(const FpbIndex *ix, const FpbShape *shape, int entries, Size bytes, int slack)
{
	int			fill = fpb_plain_fill(shape, slack);
	int			nnodes = (entries + fill - 1) / fill;

	return fpb_page_base(nnodes, fpb_numbers_capacity(ix, nnodes)) + nnodes * shape->size + bytes;
}

/*
 * Is it clear without making it that a leaf with another entry, made afresh,
 * would not have so many slots of a hundred free?  Where entries of tuples
 * share their key, they have to be packed to tell.
 */
static bool
too_full(const FpbIndex *ix, Page page, int slack)
{
	const FpbShape *shape = fpb_shape(ix, page);
	int			entries;
	Size		bytes;

	if (!FpbPageIsLeaf(page))
		return false;
	if (fpb_is_word(ix))
		return nodes_with_slack(ix, page, slack) > shape->max_nodes;
	entries = plain_tuples(ix, page, &bytes);
	return entries > FPB_FEW_ENTRIES &&
		fresh_bytes(ix, shape, entries, bytes, slack) + BLCKSZ * slack / 100 > BLCKSZ;
}

/*
 * Plan to rebuild a page that has no room otherwise.
 */
static void
plan_to_make_room(const FpbIndex *ix, Page page, const FpbEntry *entry,
				  const FpbNodePos *place, FpbInsertPlan *plan)
{
	int			n;
	FpbEntry   *entries;

	/* a slot of each node at least, however narrow */
	int			slack = Max(fpb_is_word(ix) ? REBUILD_SLACK_WORDS : REBUILD_SLACK,
							100 / fpb_shape(ix, page)->nslots + 1);

	plan->outcome = FPB_PLAN_FULL;
	if (too_full(ix, page, slack))
		return;
	entries = fpb_collect_with(ix, page, entry, fpb_pos_pack(*place), &n);
	fpb_plan_rebuild(ix, page, entries, n, slack,
					 fpb_is_word(ix) ? 0 :
					 FpbPageIsLeaf(page) ? FPB_FEW_ENTRIES : FPB_FEW_CHILDREN, plan);
	if (plan->outcome == FPB_PLAN_FULL && has_duplicates(ix, page, entries, n))
		fpb_plan_rebuild(ix, page, entries, n, DUPLICATES_SLACK, 0, plan);
	pfree(entries);
}

/*
 * Plan to replace the tuple at an offset, which has so many TIDs, by a posting
 * with room for more, but for no more than most.  It stays where it is if no
 * tuple lies just behind it, because then little but the new TID is logged.
 * Otherwise it moves, which logs all of it.  So a long one does not move for
 * the new TID alone.  False if there is no room.
 */
static bool
plan_growth(const FpbIndex *ix, Page page, const FpbKey *key, uint32 offset,
			int tids, int most, FpbSlotPlan *plan)
{
	IndexTuple	tuple = key->tuple;
	uint32		align = fpb_tuple_align(ix, tuple);
	uint32		end = offset + TYPEALIGN(sizeof(uint16), fpb_leaf_tuple_size(tuple));
	bool		ample = fpb_page_has_room(ix, page, 0, BLCKSZ / 4);
	int			want = Min(most, tids + 1 + tids / (ample ? AMPLE_GROWTH : GROWTH));
	int			least = Min(want, tids + 1 + tids / LEAST_GROWTH);
	bool		mapped = false;
	FpbTupleMap map;

	plan->kind = FPB_PLAN_GROW;
	if (!fpb_tuple_begins_at(ix, page, end))
	{
		int			behind;

		if (!fpb_map_tuples(ix, page, offset, &map))
			return false;
		mapped = true;
		behind = ((int) fpb_free_from(&map, offset) - (int) fpb_posting_start(tuple)) / plan->width;
		if (behind > tids)
		{
			plan->tids = Min(behind, want);
			plan->tuple_at = offset;
			return true;
		}
	}
	plan->tids = want;
	if (fpb_page_has_room(ix, page, 0, fpb_posting_room(ix, key, want, plan->width)))
		return true;
	if (!mapped && !fpb_map_tuples(ix, page, offset, &map))
		return false;
	plan->tuple_at = fpb_gap_in_map(page, &map, key->tail, align,
									fpb_posting_size(tuple, want, plan->width));
	if (plan->tuple_at != 0)
		return true;
	if (least == want)
		return false;
	plan->tids = least;
	if (fpb_page_has_room(ix, page, 0, fpb_posting_room(ix, key, least, plan->width)))
		return true;
	plan->tuple_at = fpb_gap_in_map(page, &map, key->tail, align,
									fpb_posting_size(tuple, least, plan->width));
	return plan->tuple_at != 0;
}

/*
 * The slot of an entry of a leaf of tuples, by its position.  Raises an error
 * if there is none, as in a damaged page that names a node twice.
 */
static FpbNodePos
slot_with_entry(const FpbIndex *ix, Page page, FpbNodePos place)
{
	FpbNodePos	at = fpb_slot_of(ix, page, place);

	if (unlikely(at.slot >= fpb_leaf_shape(ix)->nslots))
		fpb_page_damaged(ix, page, "A position has no entry.");
	return at;
}

/*
 * Plan to have the entry share the slot of another one of its key, at pos,
 * where it belongs before pos.item: in a gap of the posting there, or in a
 * larger posting with room for more, or for wider TIDs.  False if neither can
 * be.
 */
static bool
plan_sharing(const FpbIndex *ix, Page page, const FpbEntry *entry, FpbNodePos pos,
			 FpbSlotPlan *plan)
{
	const FpbShape *shape = fpb_shape(ix, page);
	FpbNodePos	at = slot_with_entry(ix, page, pos);
	FpbCodec	codec;
	char	   *node = fpb_page_node(ix, page, pos.dir, &codec);
	FpbEntry	old;
	IndexTuple	tuple;
	uint32		tuple_at = fpb_node_tuples(shape, node)[at.slot];
	int			tids = 1;
	int			width;
	int			most;

	plan->place = at;
	fpb_read_slot(ix, page, shape, codec, node, at.slot, &old);
	tuple = old.key.tuple;
	width = fpb_posting_width_for(ix, tuple, old.key.tail);
	plan->width = Max(width, fpb_posting_width_for(ix, tuple, entry->key.tail));
	if (fpb_has_posting(shape, &old))
	{
		width = fpb_posting_width(tuple);
		plan->width = Max(width, plan->width);
		plan->kind = FPB_PLAN_POSTING;
		if (plan->width == width && fpb_posting_gap(tuple, pos.item) >= 0)
			return true;
		tids = fpb_posting_entries(tuple);
	}

	most = fpb_posting_most(ix, tuple, plan->width);
	if (tids >= most ||
		(tids > 1 && !fpb_may_widen(tuple, tids, width, plan->width)))
		return false;
	return plan_growth(ix, page, &old.key, tuple_at, tids, most, plan);
}

/*
 * Has the slot of a leaf's tuples node, which is not a gap, this entry's key?
 */
static bool
has_key(const FpbIndex *ix, Page page, char *node, int slot, const FpbEntry *entry)
{
	uint16		offset = fpb_node_tuples(fpb_leaf_shape(ix), node)[slot];

	return fpb_node_head(ix, node, slot) == entry->key.head &&
		fpb_tuples_identical(ix, fpb_page_tuple(ix, page, offset), entry->key.tuple);
}

/*
 * Might the entry before *place have this entry's key?  *prev becomes a place
 * behind that one.
 *
 * Where heads say something, those of the place's node are looked at, in which
 * entries with the same head are in the order of their slots.
 */
static bool
may_be_before(const FpbIndex *ix, Page page, const FpbEntry *entry,
			  const FpbNodePos *place, FpbNodePos *prev)
{
	const FpbShape *shape = fpb_leaf_shape(ix);
	FpbCodec	codec;
	char	   *node;
	int			slot = place->at - 1;

	*prev = *place;
	if (place->dir >= FpbDir(page)->nnodes || place->slot == 0 || place->item > 0 ||
		ix->cols[0].head == FPB_HEAD_NONE)
		return true;
	node = fpb_page_node(ix, page, place->dir, &codec);
	if (slot < 0 || slot >= shape->nslots || fpb_node_head(ix, node, slot) != entry->key.head)
		slot = shape->nslots;
	slot = fpb_loose_last_before(ix, shape, node, entry->key.head, slot);
	if (slot < 0)
		return false;
	*prev = fpb_loose_pos(place->dir, place->slot - 1, slot);
	prev->item = FPB_ALL_ITEMS;
	return has_key(ix, page, node, slot, entry);
}

/*
 * Might the entry at *place, or the first one behind it, have this entry's
 * key?
 */
static bool
may_be_behind(const FpbIndex *ix, Page page, const FpbEntry *entry, const FpbNodePos *place)
{
	const FpbShape *shape = fpb_leaf_shape(ix);
	FpbCodec	codec;
	char	   *node;
	int			slot = place->at - 1;

	if (place->dir >= FpbDir(page)->nnodes || slot < 0 || slot >= shape->nslots || place->item > 0)
		return true;
	node = fpb_page_node(ix, page, place->dir, &codec);
	return fpb_node_is_gap(ix, shape, codec, node, slot) || has_key(ix, page, node, slot, entry);
}

/*
 * Plan to have the entry share a slot with others of its key, if there are
 * some beside its place.
 */
static bool
plan_beside_equal(const FpbIndex *ix, Page page, const FpbEntry *entry,
				  const FpbNodePos *place, FpbSlotPlan *plan)
{
	FpbNodePos	pos;
	FpbEntry	old;

	if (may_be_before(ix, page, entry, place, &pos) &&
		fpb_node_pos_prev(ix, page, &pos, &old) &&
		fpb_keys_identical(ix, &old.key, &entry->key))
	{
		pos.item++;
		if (plan_sharing(ix, page, entry, pos, plan))
			return true;
	}
	pos = *place;
	if (may_be_behind(ix, page, entry, place) &&
		fpb_node_pos_next(ix, page, &pos, &old) &&
		fpb_keys_identical(ix, &old.key, &entry->key))
	{
		pos.item = 0;
		return plan_sharing(ix, page, entry, pos, plan);
	}
	return false;
}

/*
 * The entry that a full posting loses if it gets another one inside.
 */
void
fpb_last_of_posting(const FpbIndex *ix, Page page, const FpbNodePos *pos, FpbEntry *entry)
{
	FpbCodec	codec;
	char	   *node = fpb_page_node(ix, page, pos->dir, &codec);

	fpb_read_slot(ix, page, fpb_shape(ix, page), codec, node, pos->slot, entry);
	entry->key.tail = fpb_posting_tail(entry->key.tuple,
									   fpb_posting_slots(entry->key.tuple) - 1);
}

/* --- runs nodes --- */

/*
 * Bytes that a node of words, of a page that may have runs nodes, has for more
 * TIDs; -1 if there is no such node.
 */
static int
free_bytes(const FpbIndex *ix, Page page, int dir)
{
	const FpbShape *shape = fpb_shape(ix, page);
	FpbCodec	codec;
	char	   *node;
	int			gaps = 0;

	if (dir < 0 || dir >= FpbDir(page)->nnodes)
		return -1;
	node = fpb_page_node(ix, page, dir, &codec);
	for (int slot = 0; slot < fpb_node_slots(ix, shape, codec, node); slot++)
		gaps += fpb_node_is_gap(ix, shape, codec, node, slot);
	return gaps * (fpb_codec_shares_key(codec) ? fpb_runs(ix, shape, node).width :
				   fpb_pair_bytes(ix, codec));
}

/*
 * Plan to put an entry into a runs node, at *place if that is in the node.
 * False if that has no room for it.
 */
static bool
plan_in_runs_node(const FpbIndex *ix, Page page, int dir, char *node,
				  const FpbEntry *entry, const FpbNodePos *place, FpbSlotPlan *plan)
{
	const FpbShape *shape = fpb_shape(ix, page);
	const char *fault = fpb_runs_fault(ix, shape, node);
	FpbRuns		runs = fpb_runs(ix, shape, node);
	FpbSearchKey search;
	bool		found;
	int			run;
	int			slot = place->slot;

	/* the insertion relies on it */
	if (fault != NULL)
		fpb_page_damaged(ix, page, fault);
	run = fpb_find_run(ix, &runs, &entry->key, &found);
	if ((!found && runs.nruns == runs.capacity) ||
		fpb_tail_width(entry->key.tail) > runs.width)
		return false;
	if (place->dir != dir || slot < fpb_run_start(&runs, run) ||
		slot > (found ? fpb_run_end(&runs, run) : fpb_run_start(&runs, run)))
	{
		fpb_search_key_from(ix, &entry->key, &search);
		slot = fpb_search_node(ix, page, shape, FPB_NODE_RUNS, node, &search, search.head, false);
	}
	if (fpb_nearest_gap(ix, shape, FPB_NODE_RUNS, node, slot) < 0)
		return false;
	plan->kind = FPB_PLAN_SLOT;
	plan->place.dir = dir;
	plan->place.slot = slot;
	plan->place.item = 0;
	return true;
}

/*
 * Plan to put an entry into the dir'th node, which may not be there; at *place
 * if that is in the node.  False if that has no room for it.
 */
static bool
plan_in_node(const FpbIndex *ix, Page page, int dir, const FpbEntry *entry,
			 const FpbNodePos *place, FpbSlotPlan *plan)
{
	const FpbShape *shape = fpb_shape(ix, page);
	FpbSearchKey search;
	FpbCodec	codec;
	char	   *node;

	if (dir < 0 || dir >= FpbDir(page)->nnodes)
		return false;
	node = fpb_page_node(ix, page, dir, &codec);
	switch (fpb_codec_kind(codec))
	{
		case FPB_NODE_PLAIN:
			if (fpb_nearest_gap(ix, shape, codec, node, 0) < 0)
				return false;
			break;
		case FPB_NODE_PAIRS:
		case FPB_NODE_TUPLES:
			if (!fpb_loose_fits(shape, codec, node, &entry->key) ||
				fpb_loose_gap(ix, shape, codec, node) < 0)
				return false;
			plan->kind = FPB_PLAN_LOOSE;
			plan->place.dir = dir;
			plan->place.slot = dir > place->dir ? 0 : fpb_loose_count(ix, shape, codec, node);
			return true;
		case FPB_NODE_RUNS:
			return plan_in_runs_node(ix, page, dir, node, entry, place, plan);
	}
	fpb_search_key_from(ix, &entry->key, &search);
	plan->kind = FPB_PLAN_SLOT;
	plan->place.dir = dir;
	plan->place.slot = fpb_search_node(ix, page, shape, codec, node, &search, search.head, false);
	plan->place.item = 0;
	return true;
}

/* the entries of adjacent nodes of words, with a new one among them */
typedef struct NodeEntries
{
	FpbEntry   *entries;
	int			nentries;
	int			where;			/* which is the new one */
	int			before;			/* entries of the first one's run in the node
								 * before these */
	FpbRunEnd	end;			/* and where the last one's run ends */
} NodeEntries;

/*
 * How many entries of this key does the dir'th node, if there is one, and if
 * it is a runs node, end with?  *whole becomes true if it has no others.
 */
static int
entries_at_end(const FpbIndex *ix, Page page, int dir, const FpbKey *key, bool *whole)
{
	const FpbShape *shape = fpb_shape(ix, page);
	FpbCodec	codec;
	char	   *node;
	FpbRuns		runs;
	bool		found;
	int			run;
	int			n = 0;

	*whole = false;
	if (dir < 0)
		return 0;
	node = fpb_page_node(ix, page, dir, &codec);
	if (!fpb_codec_shares_key(codec))
		return 0;
	runs = fpb_runs(ix, shape, node);
	run = fpb_find_run(ix, &runs, key, &found);
	if (!found || run < runs.nruns - 1)
		return 0;
	for (int slot = fpb_run_start(&runs, run); slot < fpb_run_end(&runs, run); slot++)
		n += !fpb_run_is_gap(&runs, slot);
	*whole = run == 0;
	return n;
}

/*
 * Has a run with this key so many entries before the dir'th node that it has
 * room for more all over it?  One that is all of the page, and more, is taken
 * to have them.
 */
static bool
is_long_before(const FpbIndex *ix, Page page, int dir, const FpbKey *key)
{
	int			left = fpb_most_before(fpb_leaf_shape(ix)) + 1;
	bool		whole = true;
	FpbKey		low;
	FpbKey		high;

	while (whole && left > 0 && dir > 0)
		left -= entries_at_end(ix, page, --dir, key, &whole);
	if (left <= 0 || !whole || FpbPageIsLeftmost(page) || FpbPageIsRightmost(page))
		return left <= 0;
	fpb_page_low(ix, page, &low);
	fpb_page_high(ix, page, &high);
	return fpb_run_passes(ix, &low, key) && fpb_run_passes(ix, &high, key);
}

/*
 * Does a run with this key that has entries before the dir'th node go on
 * there?  long_one: or behind the page?
 */
static bool
goes_on(const FpbIndex *ix, Page page, int dir, const FpbKey *key, bool long_one)
{
	FpbNodePos	place = {dir, 0, 0};
	FpbEntry	next;
	FpbKey		high;

	if (dir < FpbDir(page)->nnodes)
		return fpb_node_pos_next(ix, page, &place, &next) &&
			fpb_keys_identical(ix, &next.key, key);
	if (!long_one || FpbPageIsRightmost(page))
		return false;
	fpb_page_high(ix, page, &high);
	return fpb_run_passes(ix, &high, key);
}

/*
 * Read the entries of nodes first to last, with the new one at *place, in one
 * of them, among them.  Allocates them.
 */
static void
read_nodes(const FpbIndex *ix, Page page, const FpbEntry *entry, const FpbNodePos *place,
		   int first, int last, NodeEntries *nodes)
{
	FpbPos		pos = fpb_pos_pack(*place);
	FpbItem    *items;
	bool		long_one;
	bool		whole;
	int			most = 0;
	int			n = 0;

	for (int dir = first; dir <= last; dir++)
	{
		FpbCodec	codec;
		char	   *node = fpb_page_node(ix, page, dir, &codec);

		most += fpb_node_slots(ix, fpb_leaf_shape(ix), codec, node);
	}
	items = palloc(sizeof(FpbItem) * most);
	most = fpb_read_nodes(ix, page, first, last, items, most);

	nodes->entries = palloc0(sizeof(FpbEntry) * (most + 1));
	nodes->where = -1;
	for (int i = 0; i < most; i++)
	{
		if (nodes->where < 0 && !fpb_pos_before(items[i].pos, pos))
		{
			nodes->where = n;
			nodes->entries[n++] = *entry;
		}
		nodes->entries[n].key = items[i].key;
		nodes->entries[n++].child = InvalidBlockNumber;
	}
	if (nodes->where < 0)
	{
		nodes->where = n;
		nodes->entries[n++] = *entry;
	}
	nodes->nentries = n;
	pfree(items);

	long_one = is_long_before(ix, page, first, &nodes->entries[0].key);
	nodes->before = long_one ? fpb_most_before(fpb_leaf_shape(ix)) + 1 :
		entries_at_end(ix, page, first - 1, &nodes->entries[0].key, &whole);
	nodes->end = goes_on(ix, page, last + 1, &nodes->entries[n - 1].key, long_one) ?
		FPB_RUN_GOES_ON : FPB_RUN_ENDS;
}

/*
 * What the entries take of the room of so many nodes, in a thousand, at least.
 * (In one of several nodes, pairs may be narrower than those of all.)
 */
static int
share_taken(const FpbIndex *ix, const NodeEntries *nodes, int nnodes)
{
	const FpbShape *shape = fpb_leaf_shape(ix);
	int			nruns = 1;
	FpbSpan		span = {0};
	int			runs;
	int			pairs;
	int			nslots;

	fpb_span_add(&span, &nodes->entries[0].key);
	for (int i = 1; i < nodes->nentries; i++)
	{
		nruns += !fpb_keys_identical(ix, &nodes->entries[i - 1].key, &nodes->entries[i].key);
		fpb_span_add(&span, &nodes->entries[i].key);
	}
	if (nnodes > 1)
	{
		span.greatest = span.least;
		span.width = FPB_SHORT_TAIL;
	}
	nslots = nnodes * shape->pairs[fpb_pairs_form(fpb_span_codec(ix, &span))];
	pairs = (nodes->nentries * 1000 + nslots - 1) / nslots;
	runs = (nruns * fpb_run_bytes(ix) + nodes->nentries * span.width) * 1000 / (nnodes * fpb_runs_room(shape));
	return Min(pairs, runs);
}

/*
 * Pack some of the entries of nodes, filled to that share, in a thousand.
 */
static bool
pack_share(const FpbIndex *ix, const NodeEntries *nodes, int share, FpbPacking *packing)
{
	FpbFill		fill;

	fpb_fill_share(ix, 0, share, &fill);
	fill.before = nodes->before;
	fill.end = nodes->end;
	return fpb_pack_words(ix, 0, nodes->entries, nodes->nentries, &fill, true, packing);
}

/*
 * Pack entries of words into exactly so many nodes, as evenly as can be, each
 * filled to that share, in a thousand, at most.  False if they don't fit so.
 *
 * Mostly they don't, so that is found out first.  Of the steps from the least
 * share that may do, the first one that does is then looked for by halving.
 */
static bool
pack_evenly(const FpbIndex *ix, const NodeEntries *nodes, int nnodes, int most,
			FpbPacking *packing)
{
	int			least = share_taken(ix, nodes, nnodes);
	int			share = most;	/* of the last attempt */
	int			fails = 0;		/* steps that do not do, and */
	int			does;			/* the first one that does */

	if (nodes->nentries < nnodes || least > most)
		return false;
	if (!pack_share(ix, nodes, most, packing) || packing->nnodes > nnodes)
		return false;
	does = nnodes == 1 ? 1 : Max((most - least + EVEN_STEP - 1) / EVEN_STEP, 1);
	while (does - fails > 1)
	{
		int			step = (fails + does) / 2;

		share = least + step * EVEN_STEP;
		if (pack_share(ix, nodes, share, packing) && packing->nnodes <= nnodes)
			does = step;
		else
			fails = step;
	}
	if (share != Min(least + does * EVEN_STEP, most) && nnodes > 1)
		(void) pack_share(ix, nodes, Min(least + does * EVEN_STEP, most), packing);
	return packing->nnodes == nnodes;
}

/*
 * Pack the entries of a full node of words, with the new one among them, into
 * two nodes: evenly, unless the new one is the last of a run that begins the
 * node and fills most of it.  Then that gets a node of its own, at whose end
 * it grows on, if it fits one: the new TID may be wider than the others.
 */
static bool
pack_halves(const FpbIndex *ix, const NodeEntries *nodes, FpbPacking *packing)
{
	const FpbEntry *entries = nodes->entries;
	NodeEntries left = *nodes;
	NodeEntries right = *nodes;
	FpbPackedNode first;

	left.nentries = nodes->where + 1;
	left.end = FPB_RUN_ENDS;
	right.entries += left.nentries;
	right.nentries -= left.nentries;
	right.before = 0;
	if (right.nentries == 0 || left.nentries < right.nentries ||
		!fpb_keys_identical(ix, &entries[0].key, &entries[nodes->where].key) ||
		fpb_keys_identical(ix, &entries[nodes->where].key, &right.entries[0].key) ||
		!pack_share(ix, &left, 1000, packing) || packing->nnodes > 1)
		return pack_evenly(ix, nodes, 2, 1000, packing);

	first = packing->nodes[0];
	if (!pack_share(ix, &right, 1000, packing) || packing->nnodes > 1)
		return false;
	packing->nodes[1] = packing->nodes[0];
	packing->nodes[1].start += left.nentries;
	packing->nodes[0] = first;
	packing->nnodes = 2;
	packing->before = nodes->before;
	return true;
}

/*
 * Make the plan's image: the nodes that these entries are packed into.
 */
static void
write_repacked(const FpbIndex *ix, const NodeEntries *nodes, const FpbPacking *packing,
			   FpbInsertPlan *plan)
{
	const FpbShape *shape = fpb_leaf_shape(ix);
	int			nnodes = packing->nnodes;
	char	   *image;

	plan->image = palloc_aligned(sizeof(PGAlignedBlock), PG_IO_ALIGN_SIZE, 0);
	image = plan->image->data;
	for (int i = 0; i < nnodes; i++)
	{
		const FpbPackedNode *packed = &packing->nodes[i];
		const FpbEntry *first = nodes->entries + packed->start;
		char	   *node = image + i * shape->size;

		fpb_repacked_heads(shape, image, nnodes)[i] = first->key.head;
		fpb_repacked_codecs(shape, image, nnodes)[i] = packed->codec;
		switch (fpb_codec_kind(packed->codec))
		{
			case FPB_NODE_PLAIN:	/* is not chosen */
			case FPB_NODE_TUPLES:
			case FPB_NODE_PAIRS:
				memset(node, 0, shape->size);
				fpb_write_pairs(ix, shape, packed->codec, node, first, packed->count);
				break;
			case FPB_NODE_RUNS:
				fpb_write_packed_runs(ix, node, nodes->entries, nodes->nentries, packing, i);
				break;
		}
	}
}

/*
 * Plan to pack the entries of some nodes anew, with the new one at *place
 * among them, so that they take on whatever codec suits them: of the node
 * alone if that leaves enough of it free; else, if alone says no more is
 * wanted, no other.  Else they go to this node and a new one; or if there is
 * none, to as few adjacent ones as have enough room together.  False if there
 * is not enough room, or if the page has killed entries, which are better
 * removed than moved.
 */
static bool
plan_repack(const FpbIndex *ix, Page page, const FpbEntry *entry,
			const FpbNodePos *place, bool alone, FpbInsertPlan *plan)
{
	FpbSlotPlan *slots = FpbSlots(plan);
	FpbPacking *packing = palloc(sizeof(FpbPacking));
	NodeEntries nodes;
	int			first = place->dir;
	int			last = place->dir;
	int			left;
	int			right;
	int			free;
	int			tries = 0;
	bool		fits;

	read_nodes(ix, page, entry, place, first, last, &nodes);
	slots->added = 0;
	fits = pack_evenly(ix, &nodes, 1, 1000 - 10 * REPACK_SLACK, packing);
	if (!fits && !alone && fpb_page_has_room(ix, page, 1, 0))
	{
		slots->added = 1;
		fits = pack_halves(ix, &nodes, packing);
	}
	else if (!fits && !alone && !fpb_page_has_killed(ix, page))
	{
		left = free_bytes(ix, page, first - 1);
		right = free_bytes(ix, page, last + 1);
		free = free_bytes(ix, page, first);
		while (!fits && (left >= 0 || right >= 0) && tries < REPACK_TRIES)
		{
			if (left > right)
			{
				free += left;
				left = free_bytes(ix, page, --first - 1);
			}
			else
			{
				free += right;
				right = free_bytes(ix, page, ++last + 1);
			}
			if (free * 100 < REPACK_SEVERAL_SLACK * (last - first + 1) * fpb_leaf_shape(ix)->size)
				continue;
			pfree(nodes.entries);
			read_nodes(ix, page, entry, place, first, last, &nodes);
			tries++;
			fits = pack_evenly(ix, &nodes, last - first + 1,
							   1000 - 10 * REPACK_SEVERAL_SLACK, packing);
		}
	}
	if (fits)
	{
		slots->kind = FPB_PLAN_REPACK;
		slots->first = first;
		slots->last = last;
		write_repacked(ix, &nodes, packing, plan);
	}
	pfree(packing);
	pfree(nodes.entries);
	return fits;
}

/*
 * Would a full pairs node, with the new entry among its own, leave enough of a
 * node of another codec free?
 */
static bool
convertible(const FpbIndex *ix, Page page, FpbCodec codec, char *node,
			const FpbEntry *entry)
{
	const FpbShape *shape = fpb_shape(ix, page);
	uint8		slots[FPB_LOOSE_MOST];
	int			n;
	FpbFill		fill;
	FpbEntry	before;
	FpbEntry	other;
	FpbSpan		span = {entry->key.head, entry->key.head, FPB_SHORT_TAIL};
	int			nruns = least_keys(ix, shape, codec, node, &span);
	bool		new = true;

	fpb_fill_share(ix, 0, 1000 - 10 * REPACK_SLACK, &fill);
	if (!fpb_node_holds(&fill, fpb_node_slots(ix, shape, codec, node) + 1, nruns, &span))
		return false;
	nruns = 1;
	n = fpb_loose_order(ix, shape, codec, node, slots);
	fpb_span_add(&span, &entry->key);
	for (int i = 0; i < n; i++)
	{
		fpb_read_slot(ix, page, shape, codec, node, slots[i], &other);
		nruns += i == 0 || !fpb_keys_identical(ix, &before.key, &other.key);
		new = new && !fpb_keys_identical(ix, &entry->key, &other.key);
		fpb_span_add(&span, &other.key);
		before = other;
	}
	return fpb_node_holds(&fill, n + 1, nruns - !new, &span);
}

/*
 * Plan a new runs node for an entry behind all those of the dir'th one, which
 * has no room for it, but so many gaps.
 */
static void
plan_next_runs(const FpbIndex *ix, const FpbShape *shape, const FpbRuns *runs, int dir,
			   int gaps, const FpbEntry *entry, FpbSlotPlan *plan)
{
	plan->kind = FPB_PLAN_APPEND_NODE;
	plan->place.dir = dir + 1;
	plan->place.slot = plan->place.item = 0;
	plan->width = Max(runs->width, fpb_tail_width(entry->key.tail));
	plan->keys = plan->width == runs->width ? runs->nruns : 1;
	if (gaps > 0 && fpb_runs_places(ix, shape, plan->keys + 1, plan->width) > plan->keys)
		plan->keys++;
}

/*
 * Plan an insertion whose place is in a runs node.  False if the page has no
 * room for it.
 */
static bool
plan_in_runs(const FpbIndex *ix, Page page, const FpbEntry *entry,
			 const FpbNodePos *place, char *node, FpbInsertPlan *plan)
{
	const FpbShape *shape = fpb_shape(ix, page);
	FpbSlotPlan *slots = FpbSlots(plan);
	FpbRuns		runs = fpb_runs(ix, shape, node);
	int			before = place->slot;
	bool		at_end;
	bool		last = place->dir == FpbDir(page)->nnodes - 1;
	bool		free;
	bool		found;
	int			run;
	int			gaps;

	if (plan_in_node(ix, page, place->dir, entry, place, slots))
		return true;

	/*
	 * At an end of the node's entries, the neighbour there may have room. (If
	 * the node has none, its bound need not be between the two.)
	 */
	at_end = fpb_next_live(ix, shape, FPB_NODE_RUNS, node, place->slot) == runs.places;
	while (before > 0 && fpb_node_is_gap(ix, shape, FPB_NODE_RUNS, node, before - 1))
		before--;
	if (at_end && before > 0 && plan_in_node(ix, page, place->dir + 1, entry, place, slots))
		return true;
	if (!at_end && before == 0 && plan_in_node(ix, page, place->dir - 1, entry, place, slots))
		return true;

	/*
	 * A run that grows at its end leaves full nodes behind.  Ascending keys
	 * do, too, or nodes that are nearly full, but have no room for a key. At
	 * the end of the rightmost leaf, to pack nodes anew would not help for
	 * long.
	 */
	if (at_end)
	{
		run = fpb_find_run(ix, &runs, &entry->key, &found);
		free = fpb_page_has_room(ix, page, 1, 0);
		gaps = free_bytes(ix, page, place->dir) / runs.width;
		if (free && ((last && gaps < runs.places / NEARLY_FULL) ||
					 (found && run == runs.nruns - 1 && gaps == 0)))
		{
			plan_next_runs(ix, shape, &runs, place->dir, gaps, entry, slots);
			return true;
		}
		if (!free && last && gaps < runs.places / NEARLY_FULL && FpbPageIsRightmost(page))
			return false;
	}
	return plan_repack(ix, page, entry, place, false, plan);
}

/*
 * Can a full node, the dir'th, pass an entry on as far as another one, or
 * behind the last one, that has a gap: is each entry that moves as wide as the
 * node permits that it moves to?
 */
static bool
may_pass(const FpbIndex *ix, Page page, int from, int to, const FpbEntry *entry, int rank)
{
	const FpbShape *shape = fpb_shape(ix, page);
	bool		right = to > from;
	FpbEntry	passed = *entry;
	FpbEntry	end;
	FpbCodec	codec;
	char	   *node;

	for (int dir = from; dir != to; dir += right ? 1 : -1)
	{
		node = fpb_page_node(ix, page, dir, &codec);
		fpb_read_slot(ix, page, shape, codec, node,
					  fpb_loose_end(ix, shape, codec, node, right), &end);
		if (dir == from && rank == (right ? fpb_node_slots(ix, shape, codec, node) : 0))
			continue;
		if (!fpb_loose_fits(shape, codec, node, &passed.key))
			return false;
		passed = end;
	}
	if (to == FpbDir(page)->nnodes)
		return true;
	node = fpb_page_node(ix, page, to, &codec);
	return fpb_loose_fits(shape, codec, node, &passed.key);
}

/*
 * Plan to have a full node, the dir'th, pass an entry on to the nearest node
 * that has a gap, so that the new entry, of this rank of so many, has room.
 * False if there is none near enough, or runs nodes are in between, or nodes
 * of narrower pairs.
 */
static bool
plan_pass(const FpbIndex *ix, Page page, int dir, const FpbEntry *entry, int rank,
		  int nslots, FpbSlotPlan *plan)
{
	int			most = ix->tree == FPB_MAIN_TREE ? PASS_MOST : FpbDir(page)->nnodes;
	int			left = 0;
	int			right = 0;

	for (int distance = 1; distance <= most && (left >= 0 || right >= 0); distance++)
	{
		left = left < 0 ? -1 : has_gap(ix, page, dir - distance);
		right = right < 0 ? -1 : has_gap(ix, page, dir + distance);
		if (left > 0 && !may_pass(ix, page, dir, dir - distance, entry, rank))
			left = -1;
		if (right > 0 && !may_pass(ix, page, dir, dir + distance, entry, rank))
			right = -1;
		if (left <= 0 && right <= 0)
			continue;
		plan->kind = FPB_PLAN_PASS;
		plan->spill_to.dir = right <= 0 || (left > 0 && rank < nslots / 2) ?
			dir - distance : dir + distance;
		return true;
	}
	return false;
}

/*
 * Plan to make room in a full node, the dir'th, for an entry of an ascending
 * series that comes late, after greater ones: at the end of the rightmost
 * leaf, which has room for a new node, entries are passed on to the last node
 * that there is, or to a new one.  A split of the node would cost more, and
 * nothing would fill the halves.  False if the series goes on elsewhere.
 */
static bool
plan_late(const FpbIndex *ix, Page page, int dir, const FpbEntry *entry, int rank,
		  FpbSlotPlan *plan)
{
	int			to = dir + 1;
	int			nnodes = FpbDir(page)->nnodes;

	if (!FpbPageIsRightmost(page) || dir + LATE_MOST < nnodes)
		return false;
	while (to < nnodes && has_gap(ix, page, to) == 0)
		to++;
	if ((to < nnodes && has_gap(ix, page, to) < 0) || !may_pass(ix, page, dir, to, entry, rank))
		return false;
	plan->kind = FPB_PLAN_PASS;
	plan->spill_to.dir = to;
	plan->added = to == nnodes;
	return true;
}

/*
 * Plan to give an entry a slot of a leaf of words, beside the pairs node where
 * *place is: its pairs are too narrow for it.  Mostly the node is packed anew,
 * with wider ones.  Where entries ascend, it is left behind if it has too many
 * for that.  False if the page has no room for it.
 */
static bool
plan_wide_word(const FpbIndex *ix, Page page, const FpbEntry *entry,
			   const FpbNodePos *place, int rank, int nentries, FpbInsertPlan *plan)
{
	FpbSlotPlan *slots = FpbSlots(plan);
	int			dir = place->dir;

	/* (if the node has no entries, its bound need not be before the entry) */
	if (nentries > 0 &&
		((rank == 0 && plan_in_node(ix, page, dir - 1, entry, place, slots)) ||
		 (rank == nentries && plan_in_node(ix, page, dir + 1, entry, place, slots))))
		return true;
	if (rank < nentries || !fpb_page_has_room(ix, page, 1, 0))
		return plan_repack(ix, page, entry, place, false, plan);
	if (plan_repack(ix, page, entry, place, true, plan))
		return true;
	slots->kind = FPB_PLAN_APPEND_NODE;
	slots->place.dir = dir + 1;
	return true;
}

/*
 * Plan to give an entry a slot of a leaf, in or beside the loose node where
 * *place is.  tuple: what its tuple takes of the hole.  False if the page has
 * no room for it.
 */
static bool
plan_loose(const FpbIndex *ix, Page page, const FpbEntry *entry,
		   const FpbNodePos *place, FpbCodec codec, char *node, Size tuple,
		   FpbInsertPlan *plan)
{
	const FpbShape *shape = fpb_shape(ix, page);
	FpbSlotPlan *slots = FpbSlots(plan);
	int			dir = place->dir;
	int			nslots = fpb_node_slots(ix, shape, codec, node);
	int			rank = fpb_loose_rank(*place);
	bool		free;

	slots->place.slot = rank;
	slots->place.at = slots->place.item = 0;
	slots->kind = FPB_PLAN_LOOSE;
	if (!fpb_loose_fits(shape, codec, node, &entry->key))
		return plan_wide_word(ix, page, entry, place, rank,
							  fpb_loose_count(ix, shape, codec, node), plan);
	if (has_gap(ix, page, dir) > 0)
		return true;

	/* The node is full. */
	if (fpb_is_word(ix) && convertible(ix, page, codec, node, entry) &&
		plan_repack(ix, page, entry, place, true, plan))
		return true;
	free = fpb_page_has_room(ix, page, 1, tuple);
	slots->kind = FPB_PLAN_APPEND_NODE;
	slots->added = 0;
	slots->split_at = rank;
	if (free && follows_series(ix, page, entry, place))
	{
		if (rank == nslots)
			slots->place.dir++;
		else if (rank > 0)
			slots->kind = FPB_PLAN_SPLIT_NODE;
		return true;
	}
	if (rank == 0 && plan_in_node(ix, page, dir - 1, entry, place, slots))
		return true;
	if (rank == nslots && plan_in_node(ix, page, dir + 1, entry, place, slots))
		return true;

	/*
	 * Before all others of the page, keys may descend.  Then each entry would
	 * have several nodes move the offsets of all tuples that they have.
	 */
	if (!free && !fpb_is_word(ix) && rank == 0 && dir == 0)
		return false;
	if (!free && ix->head_width == 0)
		return !fpb_page_has_killed(ix, page) && plan_spread(ix, page, &slots->place, slots);
	if (!free)
		return plan_pass(ix, page, dir, entry, rank, nslots, slots) ||
			(has_runs(ix, page) && plan_repack(ix, page, entry, place, false, plan));
	if (rank < nslots && plan_late(ix, page, dir, entry, rank, slots))
		return true;
	if (rank == nslots)
		slots->place.dir++;
	else if (rank > 0 || dir > 0)
	{
		slots->kind = FPB_PLAN_SPLIT_NODE;
		slots->split_at = nslots * NODE_KEEPS / 8;
	}
	return true;
}

/*
 * Plan to give an entry of an inner page a slot in or beside the full node
 * where *place is.  tuple: what its tuple takes of the hole.  False if the
 * page has no room for it.
 */
static bool
plan_beside_full(const FpbIndex *ix, Page page, const FpbEntry *entry,
				 const FpbNodePos *place, char *node, Size tuple, FpbSlotPlan *plan)
{
	int			nslots = fpb_shape(ix, page)->nslots;

	if (place->slot == nslots && plan_in_node(ix, page, place->dir + 1, entry, place, plan))
		return true;
	if (!fpb_page_has_room(ix, page, 1, tuple))
		return plan_spill(ix, page, entry, place, node, plan) ||
			plan_spread(ix, page, place, plan);
	if (place->slot == nslots)
	{
		plan->kind = FPB_PLAN_APPEND_NODE;
		plan->place.dir++;
	}
	else
	{
		plan->kind = FPB_PLAN_SPLIT_NODE;
		plan->split_at = nslots / 2;
	}
	return true;
}

/*
 * Plan to give an entry a slot of its own before *place.  False if the page
 * has no room for it.
 */
static bool
plan_slot(const FpbIndex *ix, Page page, const FpbEntry *entry,
		  const FpbNodePos *place, FpbInsertPlan *plan)
{
	const FpbShape *shape = fpb_shape(ix, page);
	Size		tuple = fpb_tuple_room(ix, &entry->key);
	FpbSlotPlan *slots = FpbSlots(plan);
	FpbCodec	codec;
	char	   *node;

	slots->place = *place;
	slots->keys = 0;

	/* the page's first node */
	if (FpbDir(page)->nnodes == 0)
	{
		slots->kind = FPB_PLAN_APPEND_NODE;
		return fpb_page_has_room(ix, page, 1, tuple);
	}

	node = fpb_page_node(ix, page, place->dir, &codec);
	if (fpb_codec_shares_key(codec))
		return plan_in_runs(ix, page, entry, place, node, plan);

	if (is_crowded(ix, page, place))
	{
		if (!is_at_end(ix, page, place) || !fpb_page_has_room(ix, page, 1, tuple))
			return plan_packing(ix, page, place, slots);
		slots->kind = FPB_PLAN_APPEND_NODE;
		slots->place.dir++;
		slots->place.slot = 0;
		return true;
	}

	slots->kind = FPB_PLAN_SLOT;
	if (!fpb_page_has_room(ix, page, 0, tuple))
	{
		slots->tuple_at = fpb_tuple_gap(ix, page, &entry->key);
		if (slots->tuple_at == 0)
			return false;
		tuple = 0;
	}
	if (tuple > 0 && !fpb_page_has_room(ix, page, 1, tuple) &&
		fpb_page_has_room(ix, page, 1, 0) && has_gap(ix, page, place->dir) == 0)
	{
		slots->tuple_at = fpb_tuple_gap(ix, page, &entry->key);
		if (slots->tuple_at != 0)
			tuple = 0;
	}
	if (fpb_codec_is_loose(codec))
		return plan_loose(ix, page, entry, place, codec, node, tuple, plan);
	if (fpb_nearest_gap(ix, shape, codec, node, place->slot) >= 0)
		return true;
	return plan_beside_full(ix, page, entry, place, node, tuple, slots);
}

/*
 * Does a plan take room from the page to get a slot where there is no gap?  (A
 * new node for what comes after all others is no such room: nobody else would
 * use it.)
 */
static bool
takes_room(const FpbSlotPlan *plan)
{
	switch (plan->kind)
	{
		case FPB_PLAN_SLOT:
		case FPB_PLAN_APPEND_NODE:
		case FPB_PLAN_SPILL:
		case FPB_PLAN_SPREAD:
		case FPB_PLAN_LOOSE:
		case FPB_PLAN_PASS:
		case FPB_PLAN_POSTING:
			return false;
		case FPB_PLAN_SPLIT_NODE:
		case FPB_PLAN_REPACK:
		case FPB_PLAN_GROW:
			return true;
	}
	pg_unreachable();
}

/*
 * Has the place before which an insertion belongs a TID of a posting behind
 * it?  If not, it is behind all that the slot has.
 */
static bool
is_amid_posting(const FpbIndex *ix, Page page, const FpbNodePos *place)
{
	FpbNodePos	at = slot_with_entry(ix, page, *place);
	FpbCodec	codec;
	char	   *node = fpb_page_node(ix, page, at.dir, &codec);
	FpbEntry	entry;

	fpb_read_slot(ix, page, fpb_leaf_shape(ix), codec, node, at.slot, &entry);
	return fpb_has_posting(fpb_leaf_shape(ix), &entry) &&
		fpb_posting_next(entry.key.tuple, at.item) < fpb_posting_slots(entry.key.tuple);
}

/*
 * The place behind all that a slot of a tuples node has.
 */
static FpbNodePos
behind_slot(const FpbIndex *ix, Page page, FpbNodePos place)
{
	FpbCodec	codec;
	char	   *node = fpb_page_node(ix, page, place.dir, &codec);
	int			slot = slot_with_entry(ix, page, place).slot;

	return fpb_loose_pos(place.dir, place.slot + 1,
						 fpb_loose_step(ix, fpb_leaf_shape(ix), codec, node, slot, true));
}

/*
 * Plan an insertion at pos.
 */
static void
plan_insert(const FpbIndex *ix, Page page, const FpbEntry *entry,
			FpbPos pos, FpbInsertPlan *plan)
{
	FpbSlotPlan *slots = FpbSlots(plan);
	const FpbEntry *rest = entry;	/* what is to have a slot */
	FpbEntry	last;
	FpbNodePos	found = fpb_pos_unpack(ix, pos);
	FpbNodePos	place = found;

	plan->outcome = FPB_PLAN_FITS;
	plan->image = NULL;
	slots->swap = false;
	slots->tuple_at = 0;
	if (place.item > 0 && !FpbPageIsLeaf(page))
	{
		place.slot++;
		place.item = 0;
		found = place;
	}
	else if (place.item > 0 && !fpb_is_word(ix) && !is_amid_posting(ix, page, &place))
		found = place = behind_slot(ix, page, place);

	/*
	 * Its place may be among the TIDs of a posting.  (A tuple of the key that
	 * is compressed in another way takes on the posting's bytes.)
	 */
	if (place.item > 0 && !fpb_is_word(ix))
	{
		if (plan_sharing(ix, page, entry, place, slots))
			return;
		slots->swap = true;
		slots->swapped = slot_with_entry(ix, page, place);
		fpb_last_of_posting(ix, page, &slots->swapped, &last);
		if (unlikely(entry->key.tail >= last.key.tail))
			fpb_page_damaged(ix, page, "The TIDs of a posting are out of order.");
		rest = &last;
		place = behind_slot(ix, page, place);
	}
	if (ix->max_posting > 0 && FpbPageIsLeaf(page) &&
		plan_beside_equal(ix, page, rest, &place, slots))
		return;
	if (!plan_slot(ix, page, rest, &place, plan))
		plan_to_make_room(ix, page, entry, &found, plan);
}

/*
 * See fpb_page_plan_insert.
 */
void
fpb_disk_first_plan_insert(const FpbIndex *ix, Page page, const FpbEntry *entry,
						   FpbPos pos, FpbInsertPlan *plan)
{
	plan_insert(ix, page, entry, pos, plan);
	plan->takes_room = plan->outcome == FPB_PLAN_FITS && takes_room(FpbSlots(plan));
}

/*
 * See FpbLayoutRoutine.  Where entries of tuples share their key, they have to
 * be packed to tell.
 */
bool
fpb_disk_first_is_sparse(const FpbIndex *ix, Page page)
{
	const FpbPageHeader *hdr = FpbHdr(page);
	const FpbShape *shape = fpb_shape(ix, page);
	int			entries;
	Size		bytes;

	if (FpbPageIsQueue(page))
		return true;
	if (fpb_is_word(ix))
		return is_full_of_runs(ix, page) ||
			nodes_with_slack(ix, page, REBUILD_SLACK) * 100 <= FpbDir(page)->nalloc * SPARSE;
	entries = plain_tuples(ix, page, &bytes);
	return entries < 0 ||
		fresh_bytes(ix, shape, entries + 1, bytes, REBUILD_SLACK) * 100 <=
		(hdr->pd.pd_lower + BLCKSZ - hdr->pd.pd_upper) * SPARSE;
}
