/*-------------------------------------------------------------------------
 *
 * page/cache_first.c
 *	  The cache-first layout: a search finds a leaf's node from level 1.
 *
 * The pages are those of the disk-first layout, but level 1 knows the nodes of
 * its leaves, not only their pages (fpbtree-sigmod2002, section 3.2).  A
 * search takes a leaf's node from there, so it fetches the leaf's header and
 * that node at one latency.  It falls back on the leaf's directory, the
 * in-page parent of its nodes.
 *
 * The gaps behind a leaf's downlink are child-node hints: each has the head at
 * which one of the leaf's nodes begins, and that node's number.  To everything
 * but a search they are gaps like others.  A hint is about the leaf as it was
 * when its downlink was inserted: it is written in that record, and never
 * again.  An insertion takes any gap; whatever makes a node or the page anew
 * takes the hints over.  FORMAT.md, "cache_first", tells why they may be
 * wrong.
 *
 * Word forms only: a hint is kept where an entry has its TID.  Pages of tuples
 * are as disk_first has them.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "page/disk_first/disk_first.h"

/*
 * Children that a node of level 1 has room for, with hints of all their nodes,
 * if no option names the nodes' width.
 */
#define CHILDREN	2

/* hints of one leaf, in order, to be written or as they have been found */
typedef struct ChildHints
{
	int			n;
	uint64		heads[FPB_MAX_NODES];
	uint8		numbers[FPB_MAX_NODES];
} ChildHints;

/* --- shapes --- */

/*
 * The width of nodes that no option names: the narrowest power of two such
 * that a node of level 1 has room for CHILDREN children and hints of all their
 * nodes; or else the widest.
 */
static int
default_lines(const FpbIndex *ix)
{
	int			lines = FPB_MIN_LINES;

	for (int wider = FPB_MIN_LINES; wider <= FPB_MAX_LINES; wider *= 2)
	{
		FpbShape	leaf;
		FpbShape	parent;

		if (fpb_possible_lines(ix, wider, true) != wider)
			continue;
		lines = wider;
		fpb_set_shape(ix, &leaf, lines, false);
		fpb_set_shape(ix, &parent, lines, true);
		if (parent.nslots >= CHILDREN * leaf.max_nodes)
			break;
	}
	return lines;
}

/*
 * See fpb_layout_shapes.  Nodes of level 1 are as wide as those of leaves, and
 * get as many children as they have room for with hints of all their nodes,
 * two at least.
 */
static void
cache_first_set_shapes(FpbIndex *ix, int leaf_lines, int inner_lines)
{
	const FpbShape *leaf = fpb_leaf_shape(ix);
	FpbShape   *parent = &fpb_shapes(ix)[1];

	if (fpb_is_word(ix) && leaf_lines == 0)
		leaf_lines = default_lines(ix);
	fpb_disk_first_set_shapes(ix, leaf_lines, inner_lines);
	if (!fpb_is_word(ix))
		return;
	fpb_set_shape(ix, parent, leaf->size / FPB_CACHE_LINE, true);
	parent->most = Max(parent->nslots / leaf->max_nodes, 2);
	ix->nodes_off = fpb_page_base(leaf->max_nodes, fpb_numbers_capacity(ix, leaf->max_nodes));
	ix->node_size = leaf->size;
}

/* --- child-node hints --- */

/*
 * Hints of all nodes of a leaf but the first, which needs none.  Nodes whose
 * heads are not in order, or outside of the leaf's fences, are left out: a
 * node without entries may be such.  (So are nodes that do not exist, in a
 * damaged leaf.)
 */
static void
hints_of_leaf(Page leaf, ChildHints *hints)
{
	const FpbPageHeader *hdr = FpbHdr(leaf);
	uint64		least = FpbPageIsLeftmost(leaf) ? 0 : hdr->fences.head[FPB_LOW];
	uint64		most = FpbPageIsRightmost(leaf) ? PG_UINT64_MAX : hdr->fences.head[FPB_HIGH];

	hints->n = 0;
	for (int dir = 1; dir < FpbDir(leaf)->nnodes; dir++)
	{
		uint64		head = *fpb_dir_bound(leaf, dir);

		if (head < least || head > most ||
			fpb_node_number(leaf, dir) >= FpbDir(leaf)->nalloc)
			continue;
		least = head;
		hints->heads[hints->n] = head;
		hints->numbers[hints->n++] = fpb_node_number(leaf, dir);
	}
}

/*
 * The dir'th node of a page of level 1, or NULL if its directory is damaged:
 * here nothing may be raised.
 */
static char *
parent_node(const FpbIndex *ix, Page page, int dir)
{
	if (fpb_node_number(page, dir) >= FpbDir(page)->nalloc)
		return NULL;
	return fpb_node_at(fpb_shape(ix, page), page, dir);
}

/*
 * Find the slot of a child in the dir'th nodes from first to last; false if it
 * is not there.
 */
static bool
find_child(const FpbIndex *ix, Page page, BlockNumber child, int first,
		   int last, int *dir, int *slot)
{
	const FpbShape *shape = fpb_shape(ix, page);

	for (*dir = first; *dir <= last; (*dir)++)
	{
		char	   *node = parent_node(ix, page, *dir);

		for (*slot = 0; node != NULL && *slot < shape->nslots; (*slot)++)
			if (fpb_node_children(shape, node)[*slot] == child)
				return true;
	}
	return false;
}

/*
 * The slot behind the gaps that follow a child's slot in its node.
 */
static int
end_of_gaps(const FpbIndex *ix, const FpbShape *shape, char *node, int slot)
{
	return fpb_next_live(ix, shape, FPB_NODE_PLAIN, node, slot + 1);
}

/*
 * The hints in the gaps behind a child's slot.
 */
static void
hints_of_child(const FpbIndex *ix, Page page, int dir, int slot, ChildHints *hints)
{
	const FpbShape *shape = fpb_shape(ix, page);
	char	   *node = parent_node(ix, page, dir);
	int			end = end_of_gaps(ix, shape, node, slot);

	hints->n = 0;
	for (slot++; slot < end && hints->n < FPB_MAX_NODES; slot++)
	{
		uint16		named = fpb_slot_child_hint(shape, node, slot);

		if (named == 0 || named > FPB_MAX_NODES)
			continue;
		hints->heads[hints->n] = fpb_node_head(ix, node, slot);
		hints->numbers[hints->n++] = named - 1;
	}
}

/*
 * Write hints of a child into the gaps behind its slot: all of them if there
 * are as many gaps, else some that are as far apart as can be.  The heads of
 * the gaps stay between those of the entries beside them, and no greater than
 * the next node's bound, because a search does not look here from there on.
 */
static void
write_child_hints(const FpbIndex *ix, Page page, int dir, int slot,
				  const ChildHints *hints, FpbWalPage *wp)
{
	const FpbShape *shape = fpb_shape(ix, page);
	char	   *node = parent_node(ix, page, dir);
	int			end = end_of_gaps(ix, shape, node, slot);
	uint64		least = fpb_node_head(ix, node, slot);
	uint64		next = end < shape->nslots ? fpb_node_head(ix, node, end) : PG_UINT64_MAX;
	uint64		most = next;
	int			from = 0;
	int			to = hints->n;
	int			written;

	if (dir + 1 < FpbDir(page)->nnodes)
		most = Min(most, *fpb_dir_bound(page, dir + 1));
	while (from < to && hints->heads[from] < least)
		from++;
	while (to > from && hints->heads[to - 1] > most)
		to--;
	if (slot + 1 == end)
		return;
	written = Min(to - from, end - slot - 1);
	for (int i = 0; i < end - slot - 1; i++)
	{
		int			which = from + (2 * i + 1) * (to - from) / (2 * Max(written, 1));

		fpb_node_set_head(ix, node, slot + 1 + i, i < written ? hints->heads[which] : next);
		fpb_write_tail(node + shape->tail_off, slot + 1 + i,
					   i < written ? hints->numbers[which] + 1 : 0);
	}
	fpb_note_slots(wp, node, slot + 1, end - 1, ix->head_width);
	fpb_note_slots(wp, node + shape->tail_off, slot + 1, end - 1, FPB_TAIL_BYTES);
}

/*
 * See fpb_page_write_child_hints.
 */
static void
cache_first_write_child_hints(const FpbIndex *ix, Page page, BlockNumber child,
							  Page leaf, FpbWalPage *wp)
{
	ChildHints	hints;
	int			dir;
	int			slot;

	if (!fpb_page_has_child_hints(ix, page) ||
		!find_child(ix, page, child, 0, FpbDir(page)->nnodes - 1, &dir, &slot))
		return;
	hints_of_leaf(leaf, &hints);
	write_child_hints(ix, page, dir, slot, &hints, wp);
}

/*
 * Write the hints that the nodes of an old page have, from old_first to
 * old_last in its directory, into the nodes of a page that have the same
 * children, from first to last.
 */
static void
take_over_in_nodes(const FpbIndex *ix, Page page, int first, int last,
				   Page old, int old_first, int old_last, FpbWalPage *wp)
{
	const FpbShape *shape = fpb_shape(ix, old);

	for (int old_dir = old_first; old_dir <= old_last; old_dir++)
	{
		char	   *node = parent_node(ix, old, old_dir);

		for (int old_slot = 0; node != NULL && old_slot < shape->nslots; old_slot++)
		{
			ChildHints	hints;
			int			dir;
			int			slot;

			if (fpb_node_is_gap(ix, shape, FPB_NODE_PLAIN, node, old_slot) ||
				!find_child(ix, page, fpb_node_children(shape, node)[old_slot],
							first, last, &dir, &slot))
				continue;
			hints_of_child(ix, old, old_dir, old_slot, &hints);
			write_child_hints(ix, page, dir, slot, &hints, wp);
		}
	}
}

/*
 * See fpb_page_take_over_child_hints.
 */
static void
cache_first_take_over_child_hints(const FpbIndex *ix, Page page, Page old)
{
	FpbWalPage	whole = {.page = page,.image = true};

	if (fpb_page_has_child_hints(ix, page))
		take_over_in_nodes(ix, page, 0, FpbDir(page)->nnodes - 1,
						   old, 0, FpbDir(old)->nnodes - 1, &whole);
}

/* --- changes --- */

/*
 * How many of the gaps behind a child in the dir'th node it keeps when another
 * child is inserted there.  Half of them, because the two are halves of a
 * leaf; but where keys ascend the left half has most of the nodes.
 */
static int
gaps_before(const FpbIndex *ix, Page page, int dir, int gaps)
{
	int			wanted = fpb_leaf_shape(ix)->max_nodes - 1;

	if (FpbPageIsRightmost(page) && dir == FpbDir(page)->nnodes - 1)
		return Min(gaps - 1, wanted);
	return Min((gaps - 1) / 2, wanted);
}

/*
 * Put a child into a node that has a gap, as planned, but amid the gaps behind
 * the child before, if there are some, so that both get some of them.
 */
static FpbPos
insert_into_slot(const FpbIndex *ix, Page page, const FpbEntry *entry,
				 const FpbInsertPlan *plan, FpbWalPage *wp)
{
	const FpbShape *shape = fpb_shape(ix, page);
	FpbInsertPlan moved = *plan;
	FpbNodePos *place = &FpbSlots(&moved)->place;
	char	   *node = parent_node(ix, page, place->dir);
	int			before = place->slot - 1;
	int			gaps;
	ChildHints	hints;

	while (before >= 0 && fpb_node_is_gap(ix, shape, FPB_NODE_PLAIN, node, before))
		before--;
	gaps = before < 0 ? 0 : end_of_gaps(ix, shape, node, before) - before - 1;
	if (gaps == 0)
		return fpb_disk_first_insert(ix, page, entry, plan, wp);
	hints_of_child(ix, page, place->dir, before, &hints);
	place->slot = before + 1 + gaps_before(ix, page, place->dir, gaps);
	(void) fpb_disk_first_insert(ix, page, entry, &moved, wp);

	/* so that the heads are in order again */
	write_child_hints(ix, page, place->dir, before, &hints, wp);
	write_child_hints(ix, page, place->dir, place->slot, &hints, wp);
	return FPB_POS_FIRST;
}

/*
 * Carry out a plan.  Nodes that are written anew keep their hints.
 */
static FpbPos
cache_first_insert(const FpbIndex *ix, Page page, const FpbEntry *entry,
				   const FpbInsertPlan *plan, FpbWalPage *wp)
{
	const FpbSlotPlan *slots = FpbSlots(plan);

	if (fpb_page_has_child_hints(ix, page) && slots->kind == FPB_PLAN_SLOT)
		return insert_into_slot(ix, page, entry, plan, wp);
	if (fpb_page_has_child_hints(ix, page) && slots->kind == FPB_PLAN_SPREAD)
	{
		PGAlignedBlock old;

		memcpy(old.data, page, BLCKSZ);
		(void) fpb_disk_first_insert(ix, page, entry, plan, wp);
		take_over_in_nodes(ix, page, slots->first, slots->last + slots->added,
						   old.data, slots->first, slots->last, wp);
		return FPB_POS_FIRST;
	}
	return fpb_disk_first_insert(ix, page, entry, plan, wp);
}

/* --- whole pages --- */

/*
 * See fpb_page_build.  A page of level 1 gets gaps between its entries even
 * without slack, unless they don't fit so.
 */
static bool
cache_first_build(const FpbIndex *ix, Page page, const FpbPageContent *content,
				  int slack)
{
	if (fpb_is_word(ix) && content->level == 1 && slack == 0 &&
		fpb_disk_first_build(ix, page, content, 1))
		return true;
	return fpb_disk_first_build(ix, page, content, slack);
}

/* what a filler for pages of level 1 knows of its children: hints of each */
#define FillerHints(filler)	((ChildHints **) (filler)->children)

/*
 * See fpb_filler_child.
 */
static void
cache_first_filler_child(FpbFiller *filler, Page child)
{
	if (filler->level != 1 || !fpb_is_word(filler->ix))
		return;
	if (filler->children == NULL)
		filler->children = MemoryContextAllocZero(filler->context,
												  FPB_MAX_PAGE_ENTRIES * sizeof(ChildHints *));
	FillerHints(filler)[filler->nentries - 1] = MemoryContextAlloc(filler->context, sizeof(ChildHints));
	hints_of_leaf(child, FillerHints(filler)[filler->nentries - 1]);
}

/*
 * Write the page, and what is known of its children.
 */
static bool
cache_first_filler_write(const FpbFiller *filler, const FpbPageContent *content)
{
	const FpbIndex *ix = filler->ix;
	FpbWalPage	whole = {.page = filler->page,.image = true};

	if (!fpb_disk_first_filler_write(filler, content))
		return false;
	for (int i = 0; filler->children != NULL && i < filler->nentries; i++)
	{
		const ChildHints *hints = FillerHints(filler)[i];
		int			dir;
		int			slot;

		if (hints != NULL &&
			find_child(ix, filler->page, filler->entries[i].child, 0,
					   FpbDir(filler->page)->nnodes - 1, &dir, &slot))
			write_child_hints(ix, filler->page, dir, slot, hints, &whole);
	}
	return true;
}

const FpbLayoutRoutine fpb_cache_first_routine = {
	.id = FPB_CACHE_FIRST,
	.set_shapes = cache_first_set_shapes,
	.get_shapes = fpb_disk_first_get_shapes,
	.header_fault = fpb_disk_first_header_fault,
	.search = fpb_disk_first_search,
	.search_from = fpb_disk_first_search_from,
	.next = fpb_disk_first_next,
	.prev = fpb_disk_first_prev,
	.back = fpb_disk_first_back,
	.read = fpb_disk_first_read,
	.read_first = fpb_disk_first_read_first,
	.read_part = fpb_disk_first_read_part,
	.downlink = fpb_disk_first_downlink,
	.child = fpb_disk_first_child,
	.has_killed = fpb_disk_first_has_killed,
	.is_killed = fpb_disk_first_is_killed,
	.read_killed = fpb_disk_first_read_killed,
	.kill = fpb_disk_first_kill,
	.plan_insert = fpb_disk_first_plan_insert,
	.insert = cache_first_insert,
	.delete = fpb_disk_first_delete,
	.is_sparse = fpb_disk_first_is_sparse,
	.has_room = fpb_disk_first_has_room,
	.put_tuple = fpb_disk_first_put_tuple,
	.slot_space = fpb_disk_first_slot_space,
	.cut = fpb_disk_first_cut,
	.build = cache_first_build,
	.filler_begin = fpb_disk_first_filler_begin,
	.filler_take = fpb_disk_first_filler_take,
	.filler_fence_fits = fpb_disk_first_filler_fence_fits,
	.filler_write = cache_first_filler_write,
	.filler_child = cache_first_filler_child,
	.write_child_hints = cache_first_write_child_hints,
	.take_over_child_hints = cache_first_take_over_child_hints,
	.fault = fpb_disk_first_fault,
	.page_info = fpb_disk_first_page_info,
	.node_info = fpb_disk_first_node_info,
};
