/*-------------------------------------------------------------------------
 *
 * page/disk_first/check.c
 *	  What is wrong with a disk-first page, and what is in it?
 *
 * The first answer must be exact: nothing that a sound change leaves behind is
 * a fault.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "page/disk_first/disk_first.h"

/* a page being looked at */
typedef struct PageCheck
{
	const FpbIndex *ix;
	Page		page;
	const FpbShape *shape;
	FpbTupleCheck tuples;
	uint8		tids[BLCKSZ / FPB_SHORT_TAIL / 8 + 1];	/* killed bits that TIDs
														 * of postings have */
} PageCheck;

static const char killed_no_entry[] = "A killed bit is set where there is no entry.";

/*
 * Are these bytes all zero?
 */
static bool
all_zero(const char *start, const char *end)
{
	return start >= end ||
		(*start == 0 && memcmp(start, start + 1, end - start - 1) == 0);
}

/* --- nodes --- */

/*
 * What is wrong with a gap, or NULL.  One of its fields makes it a gap; the
 * others must not contradict that.
 */
static const char *
gap_fault(const PageCheck *pc, FpbCodec codec, char *node, int slot)
{
	if (fpb_page_has_child_hints(pc->ix, pc->page))
	{
		if (fpb_slot_child_hint(pc->shape, node, slot) > FPB_MAX_NODES)
			return "A child-node hint names a node that no page can have.";
	}
	else if (fpb_codec_kind(codec) == FPB_NODE_PAIRS)
	{
		uint64		left = fpb_codec_in_order(codec) ? PG_UINT64_MAX : PG_UINT16_MAX;

		if (fpb_pair_is_integer(pc->ix, codec) && (fpb_pair_integer(node, slot) & left) != 0)
			return "A gap has a part of an entry.";
	}
	else if (fpb_is_word(pc->ix) && fpb_slot_tail(pc->ix, pc->shape, codec, node, slot) != 0)
		return "A gap has a part of a TID.";
	if (pc->shape->child_off != 0 &&
		fpb_node_children(pc->shape, node)[slot] != InvalidBlockNumber)
		return "A gap has a downlink.";
	return NULL;
}

/*
 * What is wrong with what an entry points to, or NULL: its TID and its
 * downlink, but not its tuple.
 */
static const char *
target_fault(const PageCheck *pc, FpbCodec codec, char *node, int slot)
{
	ItemPointerData tid;

	if (pc->shape->child_off != 0)
	{
		BlockNumber child = fpb_node_children(pc->shape, node)[slot];

		if (child == InvalidBlockNumber || child == FPB_METAPAGE)
			return "An entry has no downlink.";
		return NULL;
	}
	if (fpb_is_word(pc->ix))
		fpb_tail_tid(fpb_slot_tail(pc->ix, pc->shape, codec, node, slot), &tid);
	else						/* a posting's have been checked, this is
								 * their width */
		tid = ((IndexTuple) ((char *) pc->page +
							 fpb_node_tuples(pc->shape, node)[slot]))->t_tid;
	if (ItemPointerGetBlockNumberNoCheck(&tid) == InvalidBlockNumber)
		return "An entry has an invalid TID.";
	return NULL;
}

/*
 * What is wrong with the killed bits of a node, the dir'th, or NULL: there
 * must be none where there is no entry.
 */
static const char *
killed_fault(const PageCheck *pc, int dir, FpbCodec codec, char *node)
{
	const uint8 *bits = fpb_killed_bits(pc->shape, pc->page) +
		fpb_node_number(pc->page, dir) * pc->shape->killed_bytes;
	int			nslots = fpb_node_slots(pc->ix, pc->shape, codec, node);
	int			slot = 0;

	for (int bit = 0; bit < pc->shape->killed_bytes * 8; bit++)
	{
		bool		any = false;

		for (; slot < nslots && fpb_killed_bit(pc->shape, nslots, slot) == bit; slot++)
			any = any || !fpb_node_is_gap(pc->ix, pc->shape, codec, node, slot);
		if ((bits[bit / 8] & (1 << (bit % 8))) != 0 && !any)
			return killed_no_entry;
	}
	return NULL;
}

/*
 * What is wrong with the tuple of an entry, or NULL.  Notes which killed bits
 * the TIDs of a posting have.
 */
static const char *
entry_tuple_fault(PageCheck *pc, uint32 offset)
{
	IndexTuple	posting = (IndexTuple) ((char *) pc->page + offset);
	const char *fault = fpb_entry_tuple_fault(&pc->tuples, offset);

	if (fault != NULL || !FpbPageIsLeaf(pc->page) || !fpb_is_posting(posting))
		return fault;
	for (int i = 0; i < fpb_posting_slots(posting); i++)
	{
		int			bit = fpb_killed_tid_bit(pc->page, fpb_posting_tid(posting, i));

		if (!fpb_posting_is_gap(posting, i))
			pc->tids[bit / 8] |= 1 << (bit % 8);
	}
	return NULL;
}

/*
 * What is wrong with the killed bits of the TIDs of postings, or NULL.
 */
static const char *
killed_tids_fault(const PageCheck *pc)
{
	const uint8 *bits = fpb_killed_tids(pc->shape, pc->page);

	for (int i = 0; i < fpb_killed_tids_bytes(pc->ix, pc->shape, pc->page); i++)
		if ((bits[i] & ~pc->tids[i]) != 0)
			return killed_no_entry;
	return NULL;
}

/*
 * What is wrong with a pairs node as a whole, or NULL: entries whose heads
 * wrap round, or that are not in the order that its codec says.
 */
static const char *
pairs_fault(const PageCheck *pc, FpbCodec codec, char *node)
{
	uint64		base = fpb_pairs_base(pc->shape, codec, node);
	FpbEntry	entry;
	FpbEntry	before;
	int			n = 0;

	for (int slot = 0; slot < fpb_node_slots(pc->ix, pc->shape, codec, node); slot++)
	{
		if (fpb_pair_is_gap(pc->ix, codec, node, slot))
			continue;
		fpb_read_slot(pc->ix, pc->page, pc->shape, codec, node, slot, &entry);
		if (entry.key.head < base)
			return "The heads of a node are beyond all integers.";
		if (fpb_codec_in_order(codec) &&
			(slot > n || (n > 0 && fpb_compare_keys(pc->ix, &before.key, &entry.key) >= 0)))
			return "The entries of a node are not in order, or not in its first slots.";
		before = entry;
		n++;
	}
	return NULL;
}

/*
 * What is wrong with the dir'th node, or NULL.
 *
 * The directory's bounds are those of entries.  A gap may be outside of them,
 * and so may a node without entries, because an entry that is put into the
 * node before raises the bound.
 */
static const char *
node_fault(PageCheck *pc, int dir)
{
	const FpbIndex *ix = pc->ix;
	FpbCodec	codec = *fpb_dir_codec(pc->page, dir);
	char	   *node = fpb_node_at(pc->shape, pc->page, dir);
	uint64		min = *fpb_dir_bound(pc->page, dir);
	uint64		max = dir == FpbDir(pc->page)->nnodes - 1 ? PG_UINT64_MAX :
		*fpb_dir_bound(pc->page, dir + 1);
	uint64		head;
	uint64		before = 0;
	const char *fault = NULL;

	switch (fpb_codec_kind(codec))
	{
		case FPB_NODE_PLAIN:
		case FPB_NODE_TUPLES:
			break;
		case FPB_NODE_PAIRS:
			fault = pairs_fault(pc, codec, node);
			break;
		case FPB_NODE_RUNS:
			fault = fpb_runs_fault(ix, pc->shape, node);
			break;
	}
	for (int slot = 0; fault == NULL && slot < fpb_node_slots(ix, pc->shape, codec, node); slot++)
	{
		head = fpb_slot_head(ix, pc->shape, codec, node, slot);
		if (head < before && !fpb_codec_is_loose(codec))
			return "The heads of a node are out of order.";
		before = head;
		if (fpb_node_is_gap(ix, pc->shape, codec, node, slot))
		{
			fault = gap_fault(pc, codec, node, slot);
			continue;
		}
		if (head < min || head > max)
			return "An entry's head is outside the bounds of its directory entry.";

		if (!fpb_is_word(ix))
			fault = entry_tuple_fault(pc, fpb_node_tuples(pc->shape, node)[slot]);
		pc->tuples.any = true;
		if (fault == NULL)
			fault = target_fault(pc, codec, node, slot);
	}
	if (fault == NULL)
		fault = killed_fault(pc, dir, codec, node);
	return fault;
}

/*
 * What is wrong with the space that belongs to no node and no tuple, or NULL.
 * used[] tells which nodes the directory names.
 */
static const char *
hole_fault(const PageCheck *pc, const bool *used)
{
	FpbPageHeader *hdr = FpbHdr(pc->page);
	const FpbShape *shape = pc->shape;
	char	   *page = (char *) pc->page;
	char	   *bits = (char *) fpb_killed_bits(shape, pc->page);
	int			nbitmaps = shape->killed_off != 0 ? shape->max_nodes : FpbDir(page)->nalloc;
	char	   *bits_end = bits + nbitmaps * shape->killed_bytes +
		fpb_killed_tids_bytes(pc->ix, shape, pc->page);

	if (shape->killed_off != 0 ?
		!all_zero(page + hdr->pd.pd_lower, bits) || !all_zero(bits_end, page + BLCKSZ) :
		!all_zero(bits_end, page + hdr->pd.pd_upper))
		return "The unused space of the page is not zero.";
	for (int number = 0; number < nbitmaps; number++)
	{
		char	   *start = bits + number * shape->killed_bytes;

		if (!used[number] && !all_zero(start, start + shape->killed_bytes))
			return "A killed bit is about a node that the directory does not name.";
	}
	return killed_tids_fault(pc);
}

/*
 * See fpb_page_fault.
 */
const char *
fpb_disk_first_fault(const FpbIndex *ix, Page page)
{
	PageCheck	pc = {.ix = ix,.page = page,.shape = fpb_shape(ix, page),
	.tuples = {.ix = ix,.page = page}};
	bool		used[FPB_MAX_NODES + 1] = {0};
	const char *fault;

	fault = fpb_is_word(ix) ? NULL : fpb_fence_tuples_fault(&pc.tuples);
	if (fault != NULL)
		return fault;

	for (int dir = 0; dir < FpbDir(page)->nnodes; dir++)
	{
		int			number = fpb_node_number(page, dir);
		FpbCodec	codec = *fpb_dir_codec(page, dir);

		if (number >= FpbDir(page)->nalloc)
			return "The directory names a node that does not exist.";
		if (!fpb_codec_fits(ix, pc.shape, codec) ||
			(fpb_codec_shares_key(codec) && !ix->one_key))
			return "The page has a node of a kind that it may not have.";
		if (used[number])
			return "The directory names a node twice.";
		used[number] = true;
		if (dir > 0 && *fpb_dir_bound(page, dir) < *fpb_dir_bound(page, dir - 1))
			return "The directory's heads are out of order.";
		fault = node_fault(&pc, dir);
		if (fault != NULL)
			return fault;
	}
	for (int number = 0; number < FpbDir(page)->nalloc; number++)
		if (!used[number] && fpb_bounds(page)[number] != PG_UINT64_MAX)
			return "The directory has a bound for a node that it does not name.";
	if (!FpbPageIsLeaf(page) && !pc.tuples.any)
		return "An inner page is empty.";
	return hole_fault(&pc, used);
}

/* --- what there is to show --- */

/*
 * Add a posting to *info.
 */
static void
count_posting(IndexTuple posting, FpbNodeInfo *info)
{
	int			entries = fpb_posting_entries(posting);
	int			gaps = fpb_posting_slots(posting) - entries;

	info->postings++;
	info->entries += entries;
	info->gaps += gaps;
	info->available += gaps * fpb_posting_width(posting);
	info->used += entries * fpb_posting_width(posting);
}

/*
 * Describe the n'th node.
 */
bool
fpb_disk_first_node_info(const FpbIndex *ix, Page page, int n, FpbNodeInfo *info)
{
	const FpbShape *shape = fpb_shape(ix, page);
	FpbCodec	codec;
	char	   *node;
	Size		bytes = 0;		/* of a slot */
	int			nslots;
	int			taken = 0;		/* slots */
	FpbRuns		runs;

	if (n >= FpbDir(page)->nnodes)
		return false;
	codec = *fpb_dir_codec(page, n);
	node = fpb_node_at(shape, page, n);
	memset(info, 0, sizeof(*info));
	info->number = fpb_node_number(page, n);
	info->codec = fpb_codec_name(codec);
	info->runs = fpb_codec_shares_key(codec);
	info->head = *fpb_dir_bound(page, n);
	switch (fpb_codec_kind(codec))
	{
		case FPB_NODE_PLAIN:
		case FPB_NODE_TUPLES:
			bytes = fpb_slot_bytes(ix, shape->child_off != 0);
			break;
		case FPB_NODE_PAIRS:
			bytes = fpb_pair_bytes(ix, codec);
			break;
		case FPB_NODE_RUNS:
			runs = fpb_runs(ix, shape, node);
			bytes = runs.width;
			info->used += FPB_RUNS_TRAILER + runs.nruns * fpb_run_bytes(ix);
			info->available += (runs.capacity - runs.nruns) * fpb_run_bytes(ix);
			break;
	}

	nslots = fpb_node_slots(ix, shape, codec, node);
	for (int slot = 0; slot < nslots; slot++)
	{
		FpbEntry	entry;

		if (fpb_node_is_gap(ix, shape, codec, node, slot))
		{
			if (fpb_page_has_child_hints(ix, page) && fpb_slot_child_hint(shape, node, slot) > 0)
				info->child_hints++;
			continue;
		}
		taken++;
		info->used += bytes;
		fpb_read_slot(ix, page, shape, codec, node, slot, &entry);
		if (info->entries == 0)
			info->first = entry;
		if (entry.key.tuple != NULL)
			info->used += IndexTupleSize(entry.key.tuple);
		if (fpb_has_posting(shape, &entry))
			count_posting(entry.key.tuple, info);
		else
			info->entries++;
	}
	if (fpb_codec_is_loose(codec) && taken > 0)
		fpb_read_slot(ix, page, shape, codec, node,
					  fpb_loose_end(ix, shape, codec, node, false), &info->first);
	info->gaps += nslots - taken;
	info->available += (nslots - taken) * bytes;
	return true;
}

/*
 * Count the nodes.
 */
void
fpb_disk_first_page_info(const FpbIndex *ix pg_attribute_unused(), Page page,
						 FpbPageInfo *info)
{
	info->nodes = FpbDir(page)->nnodes;
	info->allocated = FpbDir(page)->nalloc;
	info->capacity = FpbDir(page)->dircap;
}
