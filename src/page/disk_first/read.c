/*-------------------------------------------------------------------------
 *
 * page/disk_first/read.c
 *	  The disk-first page: shapes, fences, search and reading.
 *
 * A page is an in-page tree of two levels (fpbtree-sigmod2002, section 3.1):
 * the directory behind the header, and the in-page leaf nodes it names.
 * page/disk_first/change.c changes single entries, page/disk_first/killed.c
 * their killed bits, page/disk_first/make_page.c makes whole pages, and
 * page/disk_first/check.c looks for what is wrong with one.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "key/guess.h"
#include "page/disk_first/killed.h"

/*
 * What a search waits for: a cache miss, and each further line that is fetched
 * with it.  Widths of nodes are chosen by that.  Unit and figures are the
 * paper's (fpbtree-sigmod2002, section 3.1.1).  fpbtree_tune measures a better
 * ratio, but not for many lines: processors fetch ten or so at a time.
 */
#define COST_MISS			150
#define COST_NEXT_LINE		10

/*
 * Words: of the widths with which a search costs at most so much in a hundred
 * more than with the best one, the one that gives a page most slots is taken
 * (the paper's table 2 goes up to 10%).  Tuples take more of a page than their
 * slots do, so for them it is the narrowest of the widths that cost least.
 */
#define COST_TOLERANCE		5

/* --- shapes --- */

/*
 * Set up the slots of pairs nodes of leaves of words.  Returns the most that
 * there are.
 */
static int
set_pairs(const FpbIndex *ix, FpbShape *shape)
{
	int			most = 0;

	for (int width = FPB_SHORT_TAIL; width <= FPB_TAIL_BYTES; width++)
		for (int near = ix->head_width == sizeof(uint64) ? 1 : 0; near >= 0; near--)
		{
			FpbCodec	codec = fpb_pairs_codec(near > 0, width);
			int			room = shape->size - (near > 0 ? sizeof(uint64) : 0);
			int			n = Min(room / fpb_pair_bytes(ix, codec), FPB_PAIRS_MOST);

			shape->pairs[fpb_pairs_form(codec)] = n;
			shape->nslots = shape->most = n;
			most = Max(most, n);
		}
	return most;
}

/*
 * Set up the shape of nodes of so many lines, of leaves or of inner pages.
 */
void
fpb_set_shape(const FpbIndex *ix, FpbShape *shape, int lines, bool inner)
{
	int			n;

	memset(shape, 0, sizeof(*shape));
	shape->size = lines * FPB_CACHE_LINE;
	if (!inner && fpb_is_word(ix))
		n = set_pairs(ix, shape);
	else
	{
		n = shape->size / fpb_slot_bytes(ix, inner);
		if (!inner)
			n = Min(n, FPB_LOOSE_MOST);
		while (fpb_lay_out_slots(ix, shape, n, inner) > shape->size)
			n--;
	}
	shape->killed_bytes = inner ? 0 : (n + 7) / 8;

	n = Min(BLCKSZ / shape->size, FPB_MAX_NODES);
	while (n > 1 && fpb_page_base(n, fpb_numbers_capacity(ix, n)) + n * (shape->size + shape->killed_bytes) > BLCKSZ)
		n--;
	shape->max_nodes = n;
	if (fpb_is_word(ix))
	{
		/* runs nodes have more slots; but no page has a node less for that */
		int			room = BLCKSZ - fpb_page_base(n, fpb_numbers_capacity(ix, n)) - n * shape->size;

		if (!inner)
			shape->killed_bytes = Min((fpb_most_slots(ix, shape) + 7) / 8, room / n);
		shape->killed_off = BLCKSZ - n * shape->killed_bytes;
	}
}

/*
 * The nearest width to one asked for that a page can have.  A small page needs
 * more than a node or two to be a tree, and node numbers are bytes.
 *
 * Entries without heads move among the slots of their leaf's node, and slots
 * of two bytes are many.  So such a node may be narrower than others.
 */
int
fpb_possible_lines(const FpbIndex *ix, int lines, bool inner)
{
	lines = Max(lines, ix->head_width == 0 && !inner ? FPB_NARROW_LINES : FPB_MIN_LINES);
	while (lines > FPB_MIN_LINES && lines * FPB_CACHE_LINE * 6 > BLCKSZ)
		lines--;
	while (BLCKSZ / (lines * FPB_CACHE_LINE) > FPB_MAX_NODES)
		lines++;
	return lines;
}

/*
 * Bytes of header and directory of a page full of nodes.
 */
static uint32
front_size(const FpbIndex *ix, const FpbShape *shape)
{
	return fpb_page_base(shape->max_nodes, fpb_numbers_capacity(ix, shape->max_nodes));
}

/*
 * What the search of a page costs: header and directory are fetched together,
 * then the node.
 */
static int
search_cost(const FpbIndex *ix, const FpbShape *shape)
{
	int			lines = (front_size(ix, shape) + shape->size) / FPB_CACHE_LINE;

	return 2 * COST_MISS + (lines - 2) * COST_NEXT_LINE;
}

/*
 * The width of nodes of leaves, or of inner pages, that no option names.
 */
static int
best_lines(const FpbIndex *ix, bool inner)
{
	int			cost[FPB_MAX_LINES + 1];
	int			least = INT_MAX;
	int			best = 0;
	int			most_slots = 0;
	int			tolerance = fpb_is_word(ix) ? COST_TOLERANCE : 0;

	if (ix->head_width == 0 && !inner)
		return fpb_possible_lines(ix, FPB_NARROW_LINES, false);
	for (int lines = FPB_MIN_LINES; lines <= FPB_MAX_LINES; lines++)
	{
		FpbShape	shape;

		if (fpb_possible_lines(ix, lines, inner) != lines)
			continue;
		fpb_set_shape(ix, &shape, lines, inner);
		cost[lines] = search_cost(ix, &shape);
		least = Min(least, cost[lines]);
	}
	for (int lines = FPB_MIN_LINES; lines <= FPB_MAX_LINES; lines++)
	{
		FpbShape	shape;

		if (fpb_possible_lines(ix, lines, inner) != lines ||
			cost[lines] * 100 > least * (100 + tolerance))
			continue;
		if (!fpb_is_word(ix))
			return lines;
		fpb_set_shape(ix, &shape, lines, inner);
		if (shape.nslots * shape.max_nodes > most_slots)
		{
			most_slots = shape.nslots * shape.max_nodes;
			best = lines;
		}
	}
	return best;
}

/*
 * Set up the shapes of leaves and inner pages for nodes of that many cache
 * lines; 0 stands for what the costs of a search say.
 */
void
fpb_disk_first_set_shapes(FpbIndex *ix, int leaf_lines, int inner_lines)
{
	leaf_lines = leaf_lines == 0 ? best_lines(ix, false) :
		fpb_possible_lines(ix, leaf_lines, false);
	inner_lines = inner_lines == 0 ? best_lines(ix, true) :
		fpb_possible_lines(ix, inner_lines, true);
	for (int level = 0; level < FPB_SHAPES; level++)
		fpb_set_shape(ix, &fpb_shapes(ix)[level],
					  level == 0 ? leaf_lines : inner_lines, level > 0);

	ix->max_tuple = fpb_max_tuple_size(ix);

	/* header and directory; and where words have their killed bits */
	ix->prefetch_front = front_size(ix, fpb_leaf_shape(ix));
	ix->prefetch_back = fpb_is_word(ix) ? BLCKSZ - fpb_leaf_shape(ix)->killed_off : 0;

	ix->word_runs = ix->one_key && fpb_is_word(ix);

	/* a split may have to repeat a posting's key: FORMAT.md tells how often */
	ix->max_posting = 0;
	if (ix->one_key && !fpb_is_word(ix))
		ix->max_posting = MAXALIGN_DOWN(ix->max_tuple / 2);
	ix->cut_most = ix->first_size > 0 || (ix->byte_order && ix->cols[0].length == -1) ?
		fpb_max_cut_size(ix) : 0;
}

/*
 * The lines of a node, as the metapage has them.
 */
void
fpb_disk_first_get_shapes(const FpbIndex *ix, int *leaf_lines, int *inner_lines)
{
	*leaf_lines = fpb_leaf_shape(ix)->size / FPB_CACHE_LINE;
	*inner_lines = fpb_level_shape(ix, FPB_SHAPES - 1)->size / FPB_CACHE_LINE;
}

/*
 * See FpbLayoutRoutine: bytes of a node for each of its slots.  In leaves of
 * words most TIDs are short, and keys are near to each other if a node's share
 * of what they span is little enough.
 */
Size
fpb_disk_first_slot_space(const FpbIndex *ix, bool leaf, uint64 span)
{
	const FpbShape *shape = fpb_level_shape(ix, leaf ? 0 : 1);
	bool		near = ix->form == FPB_WORD8 && span / shape->max_nodes <= FPB_NEAR_MOST;
	FpbCodec	codec = fpb_pairs_codec(near, FPB_SHORT_TAIL);

	return shape->size / (leaf && fpb_is_word(ix) ? shape->pairs[fpb_pairs_form(codec)] : shape->nslots);
}

/* --- nodes --- */

/*
 * What is wrong with the directory's counts, or NULL.
 */
const char *
fpb_disk_first_header_fault(const FpbIndex *ix, Page page)
{
	const FpbPageHeader *hdr = FpbHdr(page);
	const FpbDirectory *dir = FpbDir(page);
	const FpbShape *shape = fpb_shape(ix, page);

	if (dir->nnodes > dir->nalloc || dir->nalloc > dir->dircap ||
		dir->dircap > FPB_MAX_NODES || dir->nalloc > shape->max_nodes ||
		dir->numcap != fpb_numbers_capacity(ix, dir->dircap) ||
		hdr->pd.pd_lower != fpb_page_base(dir->dircap, dir->numcap) + dir->nalloc * shape->size ||
		hdr->pd.pd_upper > BLCKSZ ||
		hdr->pd.pd_lower + (fpb_is_word(ix) ? 0 : dir->nalloc * shape->killed_bytes) >
		(fpb_is_word(ix) ? shape->killed_off : hdr->pd.pd_upper))
		return "The page's node counts do not agree with its bounds.";
	return NULL;
}

/*
 * The node of this number, which the directory has; it and the codec checked.
 */
static pg_attribute_always_inline char *
checked_node(const FpbIndex *ix, const FpbShape *shape, Page page, int number,
			 FpbCodec *codec)
{
	char	   *node;

	*codec = fpb_codecs(page)[number];
	if (unlikely(number >= FpbDir(page)->nalloc ||
				 !fpb_codec_fits(ix, shape, *codec)))
		fpb_page_damaged(ix, page, "The directory names a node that does not exist.");
	node = fpb_node_numbered(shape, page, number);
	switch (fpb_codec_kind(*codec))
	{
		case FPB_NODE_PLAIN:
		case FPB_NODE_PAIRS:
		case FPB_NODE_TUPLES:
			break;
		case FPB_NODE_RUNS:
			if (unlikely(!fpb_runs_possible(ix, shape, node)))
				fpb_page_damaged(ix, page, "A runs node has impossible numbers.");
			break;
	}
	return node;
}

/*
 * The dir'th node, its number and codec checked.
 */
char *
fpb_page_node(const FpbIndex *ix, Page page, int dir, FpbCodec *codec)
{
	return checked_node(ix, fpb_shape(ix, page), page, fpb_node_number(page, dir), codec);
}

/* --- search --- */

/*
 * The slot of a node's first entry, or the number of slots if it has none.  If
 * its entries are in any order, none has a lesser head than bound.
 */
static int
first_slot(const FpbIndex *ix, const FpbShape *shape, FpbCodec codec, char *node,
		   uint64 bound)
{
	int			slot = -1;

	switch (fpb_codec_kind(codec))
	{
		case FPB_NODE_PLAIN:
		case FPB_NODE_RUNS:
			return fpb_next_live(ix, shape, codec, node, 0);
		case FPB_NODE_TUPLES:
			if (ix->head_width == 0)
				return fpb_next_live(ix, shape, codec, node, 0);
			slot = fpb_loose_first_of(ix, shape, node, bound);
			break;
		case FPB_NODE_PAIRS:
			break;
	}
	if (slot < 0)
		slot = fpb_loose_end(ix, shape, codec, node, false);
	return slot >= 0 ? slot : fpb_node_slots(ix, shape, codec, node);
}

/*
 * The last directory entry in [lo, hi] whose node begins with an entry <
 * search key (equal: <= search key), or lo - 1 if there is none.  Nodes
 * without an entry are passed over.
 */
static int
search_directory_ties(const FpbIndex *ix, Page page, const FpbShape *shape,
					  int lo, int hi, const FpbSearchKey *search, uint64 head,
					  bool equal)
{
	int			found = lo - 1;

	while (lo <= hi)
	{
		int			mid = lo + (hi - lo) / 2;
		int			at = mid;
		int			slot = 0;
		FpbCodec	codec = FPB_NODE_PLAIN;
		char	   *node = NULL;
		int			sign;

		for (; at <= hi; at++)
		{
			node = fpb_page_node(ix, page, at, &codec);
			slot = first_slot(ix, shape, codec, node, *fpb_dir_bound(page, at));
			if (slot < fpb_node_slots(ix, shape, codec, node))
				break;
		}
		if (at > hi)
		{
			hi = mid - 1;
			continue;
		}
		sign = fpb_compare_slot(ix, page, shape, codec, node, slot, false, search, head);
		if (sign < 0 || (equal && sign == 0))
		{
			found = at;
			lo = at + 1;
		}
		else
			hi = mid - 1;
	}
	return found;
}

/*
 * The same as bounds_less, for a page of so many nodes that they are bisected.
 */
static pg_noinline int
bounds_less_of_many(Page page, uint64 head)
{
	int			lo = 0;
	int			hi = FpbDir(page)->nnodes;

	while (lo < hi)
	{
		int			mid = (lo + hi) / 2;

		if (*fpb_dir_bound(page, mid) < head)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/*
 * How many of the directory's nodes have bounds < head.  Bounds that are
 * counted may be in any order, and those of free nodes are not less than any
 * head.  (In a damaged page they may be.)
 */
static pg_attribute_always_inline int
bounds_less(const FpbIndex *ix, Page page, uint64 head)
{
	int			n = FpbDir(page)->nalloc;

	if (unlikely(n > ix->count_most))
		return bounds_less_of_many(page, head);
	return fpb_count_less64(fpb_bounds(page), n, head, n);
}

/*
 * The directory entry of the node that the search key belongs to: all entries
 * of the nodes before it are < search key, and the nodes behind it begin with
 * entries >= search key (equal: > search key).  head is the search key's in
 * this page, which has a node.
 */
static pg_attribute_always_inline int
search_directory(const FpbIndex *ix, Page page, const FpbShape *shape,
				 const FpbSearchKey *search, uint64 head, bool equal)
{
	int			n = FpbDir(page)->nnodes;
	int			next = 1;
	int			end = n;

	/* the first node has no lower bound */
	if (fpb_is_word(ix) || search->has_head)
	{
		next = Max(bounds_less(ix, page, head), 1);
		if (next >= n)
			return n - 1;

		/* before all entries with that head, as where a key's entries begin */
		if (fpb_is_word(ix) && search->low == 0 && search->tail == FPB_TAIL_MIN && !equal)
			return next - 1;
		if (*fpb_dir_bound(page, next) != head)
			return next - 1;
		if (head != PG_UINT64_MAX)
			end = Min(bounds_less(ix, page, head + 1), n);
	}
	return search_directory_ties(ix, page, shape, next, end - 1, search, head, equal);
}

/*
 * The directory entry of the node that a search key without a head probably
 * belongs to, or -1 if there is nothing to be guessed.  The page has a node.
 */
static int
guess_directory(const FpbIndex *ix, Page page, const FpbShape *shape,
				const FpbSearchKey *search, bool equal)
{
	int			most = equal ? 0 : -1;
	int			found = 0;
	int			lo = 1;
	int			hi = FpbDir(page)->nnodes - 1;
	FpbGuess	guess;

	if (!fpb_guess_begin(ix, search, &guess))
		return -1;
	while (lo <= hi)
	{
		int			mid = lo + (hi - lo) / 2;
		FpbCodec	codec;
		char	   *node = fpb_page_node(ix, page, mid, &codec);
		const uint16 *tuples = fpb_node_tuples(shape, node);
		int			slot = 0;

		while (slot < shape->nslots && tuples[slot] == 0)
			slot++;
		if (slot < shape->nslots && fpb_guess(ix, page, tuples[slot], &guess) <= most)
		{
			found = mid;
			lo = mid + 1;
		}
		else
			hi = mid - 1;
	}
	return found;
}

/*
 * Fetch all lines of a node at once, and with them the line of its killed
 * bits, which are asked for once an entry is found.
 */
static inline void
prefetch_node(const FpbIndex *ix, const FpbShape *shape, Page page, int number, char *node)
{
	if (!ix->prefetch)
		return;
	fpb_fetch_lines(node, shape->size);
	if (shape->killed_bytes > 0)
		fpb_fetch_lines((char *) fpb_killed_bits(shape, page) +
						number * shape->killed_bytes, 1);
}

/*
 * If the next entry of a tuples node, at *place, is a posting that begins
 * before the search key, make *place the position of the search key among its
 * TIDs.
 */
static pg_attribute_always_inline void
search_posting(const FpbIndex *ix, Page page, const FpbShape *shape, char *node,
			   const FpbSearchKey *search, uint64 head, FpbNodePos *place)
{
	int			slot = place->at - 1;
	int			lo = 0;
	int			hi;
	IndexTuple	posting;
	FpbEntry	entry;

	/* most have other keys, as their heads tell */
	if (slot < 0 ||
		(search->has_head && fpb_node_head(ix, node, slot) != head) ||
		!fpb_is_posting(fpb_page_tuple(ix, page, fpb_node_tuples(shape, node)[slot])))
		return;
	fpb_read_slot(ix, page, shape, FPB_NODE_TUPLES, node, slot, &entry);
	if (fpb_compare_by_head(ix, &entry.key, search, head) >= 0)
		return;

	/* it does not end before the search key, so both have the same key */
	posting = entry.key.tuple;
	hi = fpb_posting_slots(posting);
	while (lo < hi)
	{
		int			mid = lo + (hi - lo) / 2;
		int			live = fpb_posting_next(posting, mid);

		if (live >= hi || fpb_posting_tail(posting, live) >= search->tail)
			hi = mid;
		else
			lo = live + 1;
	}
	place->item = lo;
}

/*
 * The position of the search key in the leaf's node that a child-node hint of
 * level 1 has named.  False unless that node has entries on both sides of it:
 * if it has, the position is nowhere else, whatever leaf the hint was about.
 */
static bool
search_named_node(const FpbIndex *ix, Page page, const FpbShape *shape,
				  const FpbSearchKey *search, uint64 head, FpbNodePos *place)
{
	int			dir = fpb_node_of_number(page, search->named_node - 1);
	FpbCodec	codec;
	char	   *node;
	int			slot;
	int			before;

	if (dir < 0)
		return false;
	node = fpb_page_node(ix, page, dir, &codec);
	if (fpb_codec_is_loose(codec))
	{
		int			next;
		int			rank = fpb_loose_search(ix, page, shape, codec, node, search, head, false, &next);

		if (rank == 0 || next < 0)
			return false;
		*place = fpb_loose_pos(dir, rank, next);
		return true;
	}
	slot = fpb_search_node(ix, page, shape, codec, node, search, head, false);
	if (fpb_next_live(ix, shape, codec, node, slot) == fpb_node_slots(ix, shape, codec, node))
		return false;
	before = slot - 1;
	while (before >= 0 && fpb_node_is_gap(ix, shape, codec, node, before))
		before--;
	if (before < 0)
		return false;
	place->dir = dir;
	place->slot = slot;
	return true;
}

/*
 * Set *place to the position of the search key in the node whose directory
 * entry that has: behind the last entry < search key (equal: <= search key).
 * Returns the node, and its codec.
 */
static pg_attribute_always_inline char *
search_node_at(const FpbIndex *ix, Page page, const FpbShape *shape, const FpbSearchKey *search,
			   uint64 head, bool equal, FpbNodePos *place, FpbCodec *codec)
{
	int			number = fpb_node_number(page, place->dir);
	char	   *node = checked_node(ix, shape, page, number, codec);

	prefetch_node(ix, shape, page, number, node);
	if (fpb_codec_is_loose(*codec))
	{
		int			next;
		int			rank = fpb_loose_search(ix, page, shape, *codec, node, search, head, equal, &next);

		*place = fpb_loose_pos(place->dir, rank, next);
		if (ix->max_posting > 0)
			search_posting(ix, page, shape, node, search, head, place);
	}
	else
	{
		place->slot = fpb_search_node(ix, page, shape, *codec, node, search, head, equal);
		place->at = place->item = 0;
	}
	return node;
}

/*
 * Is the position that search_node_at has found the right one, though the node
 * has been guessed?  It is if it is between two entries of the node, or at the
 * node's end and before the next one.
 */
static bool
is_guess_right(const FpbIndex *ix, Page page, const FpbShape *shape, FpbCodec codec,
			   char *node, const FpbSearchKey *search, bool equal, const FpbNodePos *place)
{
	const uint16 *tuples = fpb_node_tuples(shape, node);
	int			before = place->slot - 1;
	int			behind = place->slot;
	int			next = place->dir + 1;
	int			slot;

	if (fpb_codec_is_loose(codec))
		behind = place->at > 0 ? place->at - 1 : shape->nslots;
	else
	{
		while (before >= 0 && tuples[before] == 0)
			before--;
		while (behind < shape->nslots && tuples[behind] == 0)
			behind++;
	}
	if (before < 0 && place->dir > 0)
		return false;
	if (behind < shape->nslots || next == FpbDir(page)->nnodes)
		return true;
	node = fpb_page_node(ix, page, next, &codec);
	slot = first_slot(ix, shape, codec, node, 0);
	return slot < shape->nslots &&
		fpb_compare_slot(ix, page, shape, codec, node, slot, false, search, search->head) > (equal ? 0 : -1);
}

/*
 * Set *place to the position of the search key in a page that has nodes:
 * behind the last entry < search key (equal: <= search key).  Returns the
 * node, and its codec.
 */
static pg_attribute_always_inline char *
search_all_nodes(const FpbIndex *ix, Page page, const FpbShape *shape, const FpbSearchKey *search,
				 uint64 head, bool equal, FpbNodePos *place, FpbCodec *codec)
{
	int			guessed = ix->guesses == FPB_GUESSES_NONE ? -1 :
		guess_directory(ix, page, shape, search, equal);

	if (unlikely(guessed >= 0))
	{
		char	   *node;

		place->dir = guessed;
		node = search_node_at(ix, page, shape, search, head, equal, place, codec);
		if (is_guess_right(ix, page, shape, *codec, node, search, equal, place))
			return node;
	}
	place->dir = search_directory(ix, page, shape, search, head, equal);
	return search_node_at(ix, page, shape, search, head, equal, place, codec);
}

/*
 * Set *place to the position of the search key, which has this head there, in
 * a page that has nodes: behind the last entry before it.  Returns the node,
 * and its codec; NULL if a hint has named it, without having looked.
 */
static inline char *
search_page(const FpbIndex *ix, Page page, const FpbShape *shape, const FpbSearchKey *search,
			uint64 head, FpbNodePos *place, FpbCodec *codec)
{
	if (search->named_node != 0 && shape->child_off == 0 &&
		search_named_node(ix, page, shape, search, head, place))
		return NULL;
	return search_all_nodes(ix, page, shape, search, head, false, place, codec);
}

/*
 * Set *place to the position of the search key: behind the last entry before
 * it, so that fpb_node_pos_next finds the first entry >= search key from
 * there.
 */
void
fpb_node_pos_search(const FpbIndex *ix, Page page, const FpbSearchKey *search,
					FpbNodePos *place)
{
	FpbCodec	codec;

	memset(place, 0, sizeof(*place));
	if (FpbDir(page)->nnodes > 0)
		(void) search_page(ix, page, fpb_shape(ix, page), search,
						   fpb_search_head(ix, page, search), place, &codec);
}

void
fpb_disk_first_search(const FpbIndex *ix, Page page, const FpbSearchKey *search,
					  FpbPos *pos)
{
	FpbNodePos	place;

	fpb_node_pos_search(ix, page, search, &place);
	*pos = fpb_pos_pack(place);
}

/*
 * See FpbLayoutRoutine.  Nodes of a leaf whose keys have no heads have their
 * entries in the order of their slots.
 */
void
fpb_disk_first_search_from(const FpbIndex *ix, Page page, const FpbSearchKey *search,
						   FpbPos from, FpbPos *pos)
{
	const FpbShape *shape = fpb_leaf_shape(ix);
	FpbNodePos	place = fpb_pos_unpack(ix, from);
	int			dir = place.dir;
	FpbCodec	codec;
	char	   *node = fpb_page_node(ix, page, dir, &codec);
	int			rank;
	int			next;
	FpbGuess	guess;

	if (fpb_guess_begin(ix, search, &guess))
	{
		fpb_disk_first_search(ix, page, search, pos);
		return;
	}
	rank = fpb_loose_search_from(ix, page, shape, codec, node, place.at - 1 + (place.item > 0),
								 search, &next);
	if (next < 0)
	{
		dir = search_directory_ties(ix, page, shape, dir + 1, FpbDir(page)->nnodes - 1, search,
									search->head, false);
		if (dir > place.dir)
		{
			node = fpb_page_node(ix, page, dir, &codec);
			rank = fpb_loose_search(ix, page, shape, codec, node, search, search->head, false, &next);
		}
	}
	place = fpb_loose_pos(dir, rank, next);
	if (ix->max_posting > 0)
		search_posting(ix, page, shape, node, search, search->head, &place);
	*pos = fpb_pos_pack(place);
}

/*
 * The slot of the first entry at or behind a place in a loose node, or, if
 * before, of the last one before it; -1 if there is none.  *rank becomes the
 * entry's.  (Amid a posting, that is the one behind it, or the posting's own.)
 *
 * Where place says, the entry may be gone if the page has been changed since.
 */
static int
loose_slot(const FpbIndex *ix, const FpbShape *shape, FpbCodec codec, char *node,
		   FpbNodePos place, bool before, int *rank)
{
	int			slot = place.at - 1;
	bool		behind = place.item > 0;
	uint8		slots[FPB_LOOSE_MOST];
	int			n;

	*rank = fpb_loose_rank(place) - (before ? 1 : 0);
	if (slot >= 0 && slot < fpb_node_slots(ix, shape, codec, node) &&
		!fpb_node_is_gap(ix, shape, codec, node, slot))
		return behind == before ? slot : fpb_loose_step(ix, shape, codec, node, slot, !before);

	/* at the ends, there is no need to put them in order */
	if (!before && *rank == 0)
		return fpb_loose_end(ix, shape, codec, node, false);
	if (!before && *rank >= fpb_loose_count(ix, shape, codec, node))
		return -1;
	n = fpb_loose_order(ix, shape, codec, node, slots);
	if (before)
		*rank = Min(*rank, n - 1);
	return *rank >= 0 && *rank < n ? slots[*rank] : -1;
}

/*
 * Make *place the position of the first entry at or behind it in its node,
 * which is loose, and unpack that.  False if there is none.
 */
static bool
loose_next(const FpbIndex *ix, Page page, const FpbShape *shape, FpbCodec codec,
		   char *node, FpbNodePos *place, FpbEntry *entry)
{
	int			slot = place->at - 1;
	int			rank;

	/* behind an item of a posting, others may follow */
	if (place->item > 0 && !fpb_is_word(ix) && slot >= 0 && slot < shape->nslots &&
		!fpb_node_is_gap(ix, shape, codec, node, slot))
	{
		fpb_read_slot(ix, page, shape, codec, node, slot, entry);
		if (fpb_has_posting(shape, entry))
		{
			place->item = fpb_posting_next(entry->key.tuple, place->item);
			if (place->item < fpb_posting_slots(entry->key.tuple))
			{
				entry->key.tail = fpb_posting_tail(entry->key.tuple, place->item);
				return true;
			}
		}
	}
	slot = loose_slot(ix, shape, codec, node, *place, false, &rank);
	if (slot < 0)
		return false;
	*place = fpb_loose_pos(place->dir, rank, slot);
	fpb_read_slot(ix, page, shape, codec, node, slot, entry);
	if (fpb_has_posting(shape, entry))
		place->item = fpb_posting_next(entry->key.tuple, 0);
	return true;
}

/*
 * Make *place the position of the last entry before it in its node, which is
 * loose, and unpack that.  False if there is none.
 */
static bool
loose_prev(const FpbIndex *ix, Page page, const FpbShape *shape, FpbCodec codec,
		   char *node, FpbNodePos *place, FpbEntry *entry)
{
	int			before = place->item;
	int			slot;
	int			rank;

	for (;;)
	{
		slot = loose_slot(ix, shape, codec, node, *place, true, &rank);
		if (slot < 0)
			return false;
		if (slot != place->at - 1)
			before = FPB_ALL_ITEMS;
		*place = fpb_loose_pos(place->dir, rank, slot);
		fpb_read_slot(ix, page, shape, codec, node, slot, entry);
		if (!fpb_has_posting(shape, entry))
			return true;
		before = fpb_posting_prev(entry->key.tuple, Min(before, BLCKSZ));
		if (before >= 0)
			break;
	}
	place->item = before;
	entry->key.tail = fpb_posting_tail(entry->key.tuple, before);
	return true;
}

/*
 * Where a position says at which slot of a loose node an entry is, but the
 * node is not loose any more: the place that it stands for otherwise.
 */
static inline void
forget_slot(FpbNodePos *place)
{
	if (place->at > 0)
	{
		place->slot = Min(fpb_loose_rank(*place), PG_UINT16_MAX);
		place->at = place->item = 0;
	}
}

/*
 * Make *place the position of the first entry at or behind it, and unpack
 * that.  False if there is none.
 */
bool
fpb_node_pos_next(const FpbIndex *ix, Page page, FpbNodePos *place, FpbEntry *entry)
{
	const FpbShape *shape = fpb_shape(ix, page);

	while (place->dir < FpbDir(page)->nnodes)
	{
		FpbCodec	codec;
		char	   *node = fpb_page_node(ix, page, place->dir, &codec);

		if (fpb_codec_is_loose(codec))
		{
			if (loose_next(ix, page, shape, codec, node, place, entry))
				return true;
		}
		else
		{
			int			slot;

			forget_slot(place);
			slot = fpb_next_live(ix, shape, codec, node, place->slot + (place->item > 0));
			if (slot < fpb_node_slots(ix, shape, codec, node))
			{
				place->slot = slot;
				place->item = 0;
				fpb_read_slot(ix, page, shape, codec, node, slot, entry);
				return true;
			}
		}
		place->dir++;
		place->slot = place->at = place->item = 0;
	}
	return false;
}

bool
fpb_disk_first_next(const FpbIndex *ix, Page page, FpbPos *pos, FpbEntry *entry)
{
	FpbNodePos	place = fpb_pos_unpack(ix, *pos);
	bool		found = fpb_node_pos_next(ix, page, &place, entry);

	*pos = fpb_pos_pack(place);
	return found;
}

/*
 * For read_first: read what is asked for of the TIDs of a posting, at place,
 * from number place.item on.  key is that of its first entry; killed: are all
 * of them?  False if the entry has been found with which reading stops.
 */
static bool
read_first_of_posting(const FpbIndex *ix, Page page, FpbKey *key, FpbNodePos place,
					  const FpbSearchKey *end, uint64 head, bool live, bool killed, int most,
					  FpbItem *items, int *n, FpbReadFirst *first)
{
	IndexTuple	posting = key->tuple;
	int			nslots = fpb_posting_slots(posting);

	/* mostly all of them are before the end, or none */
	key->tail = fpb_posting_tail(posting, fpb_posting_prev(posting, nslots));
	if (end != NULL && fpb_compare_by_head(ix, key, end, head) < 0)
		end = NULL;
	while ((place.item = fpb_posting_next(posting, place.item)) < nslots)
	{
		FpbPos		pos = fpb_pos_pack(place);

		key->tail = fpb_posting_tail(posting, place.item);
		if (!fpb_passes_first(ix, key, end, head, most, first))
			return false;
		*n += fpb_take_first(key, pos,
							 killed || (live && fpb_bit_is_set(fpb_item_killed_bit(ix, page, posting, place.item))),
							 &items[*n], first);
		place.item++;
	}
	return true;
}

/*
 * See fpb_page_read_first.
 *
 * In a node one entry leads to the next, so that neither node nor slot has to
 * be found again from a position.
 */
int
fpb_disk_first_read_first(const FpbIndex *ix, Page page, const FpbSearchKey *start,
						  const FpbSearchKey *end, bool live, int most, FpbItem *items,
						  FpbReadFirst *first)
{
	const FpbShape *shape = fpb_leaf_shape(ix);
	FpbNodePos	place;
	FpbCodec	codec;
	FpbEntry	entry;
	const uint8 *bits;
	uint64		start_head;
	uint64		head;
	char	   *node;
	bool		loose;
	bool		killed;
	int			nslots;
	int			slot;
	int			n = 0;

	if (start == NULL || FpbDir(page)->nnodes == 0)
		return fpb_read_first_by_steps(ix, page, start, end, live, most, items, first);
	memset(&place, 0, sizeof(place));
	start_head = fpb_search_head(ix, page, start);
	node = search_page(ix, page, shape, start, start_head, &place, &codec);
	if (node == NULL)
		node = fpb_page_node(ix, page, place.dir, &codec);
	loose = fpb_codec_is_loose(codec);
	nslots = fpb_node_slots(ix, shape, codec, node);
	bits = live ? fpb_node_killed_bits(shape, page, place.dir) : NULL;
	head = end == NULL ? 0 : fpb_have_same_heads(ix, start, end) ? start_head :
		fpb_search_head(ix, page, end);
	fpb_begin_first(first, fpb_pos_pack(place));
	if (loose)
		slot = place.at - 1;
	else
		place.slot = slot = fpb_next_live(ix, shape, codec, node, place.slot);
	while (slot >= 0 && slot < nslots)
	{
		fpb_read_slot(ix, page, shape, codec, node, slot, &entry);
		killed = fpb_slot_is_killed(shape, bits, nslots, slot);
		if (fpb_has_posting(shape, &entry))
		{
			if (!read_first_of_posting(ix, page, &entry.key, place, end, head, live, killed, most,
									   items, &n, first))
				return n;
		}
		else if (!fpb_passes_first(ix, &entry.key, end, head, most, first))
			return n;
		else
			n += fpb_take_first(&entry.key, fpb_pos_pack(place), killed, &items[n], first);
		if (loose)
		{
			slot = fpb_loose_step(ix, shape, codec, node, slot, true);
			place = fpb_loose_pos(place.dir, place.slot + 1, slot);
		}
		else
			place.slot = slot = fpb_next_live(ix, shape, codec, node, slot + 1);
	}

	/* what is in other nodes */
	return fpb_go_on_with_first(ix, page, end, head, live, most, items, n, first);
}

/*
 * Make *place the position of the last entry before it, and unpack that.
 * False if there is none.
 */
bool
fpb_node_pos_prev(const FpbIndex *ix, Page page, FpbNodePos *place, FpbEntry *entry)
{
	const FpbShape *shape = fpb_shape(ix, page);
	FpbNodePos	at = *place;

	at.dir = Min(at.dir, FpbDir(page)->nnodes);
	for (;;)
	{
		if (at.dir < FpbDir(page)->nnodes)
		{
			FpbCodec	codec;
			char	   *node = fpb_page_node(ix, page, at.dir, &codec);
			int			slot;

			if (fpb_codec_is_loose(codec))
			{
				if (loose_prev(ix, page, shape, codec, node, &at, entry))
				{
					*place = at;
					return true;
				}
			}
			else
			{
				forget_slot(&at);
				slot = Min(at.slot + (at.item > 0), fpb_node_slots(ix, shape, codec, node));
				while (slot-- > 0)
				{
					if (fpb_node_is_gap(ix, shape, codec, node, slot))
						continue;
					fpb_read_slot(ix, page, shape, codec, node, slot, entry);
					place->dir = at.dir;
					place->slot = slot;
					place->at = place->item = 0;
					return true;
				}
			}
		}
		if (at.dir == 0)
			return false;
		at.dir--;
		at.slot = BLCKSZ;		/* behind the node's last slot */
		at.at = at.item = 0;
	}
}

bool
fpb_disk_first_prev(const FpbIndex *ix, Page page, FpbPos *pos, FpbEntry *entry)
{
	FpbNodePos	place = fpb_pos_unpack(ix, *pos);

	if (!fpb_node_pos_prev(ix, page, &place, entry))
		return false;
	*pos = fpb_pos_pack(place);
	return true;
}

/*
 * See fpb_page_back: the beginning of a node.
 */
FpbPos
fpb_disk_first_back(const FpbIndex *ix, Page page, FpbPos pos, int slots)
{
	const FpbShape *shape = fpb_shape(ix, page);
	FpbNodePos	place = fpb_pos_unpack(ix, pos);
	FpbNodePos	begin = {Min(place.dir, FpbDir(page)->nnodes)};

	if (begin.dir == place.dir)
		slots -= place.slot;
	while (begin.dir > 0 && slots > 0)
	{
		FpbCodec	codec;
		char	   *node = fpb_page_node(ix, page, --begin.dir, &codec);

		slots -= fpb_node_slots(ix, shape, codec, node);
	}
	return fpb_pos_pack(begin);
}

/*
 * The place of an entry's slot, and of its item in a posting, by its position.
 * If a loose node has no entry in that slot any more, it is behind all slots.
 * (Its rank must not do instead: in a damaged page that names a node twice,
 * that would be another entry's.)
 */
FpbNodePos
fpb_slot_of(const FpbIndex *ix, Page page, FpbNodePos place)
{
	const FpbShape *shape = fpb_shape(ix, page);

	if (place.dir < FpbDir(page)->nnodes &&
		fpb_codec_is_loose(*fpb_dir_codec(page, place.dir)))
	{
		FpbCodec	codec = *fpb_dir_codec(page, place.dir);
		char	   *node = fpb_node_at(shape, page, place.dir);
		int			nslots = fpb_node_slots(ix, shape, codec, node);
		int			slot = place.at - 1;

		if (slot < 0 || slot >= nslots || fpb_node_is_gap(ix, shape, codec, node, slot))
			slot = nslots;
		place.slot = slot;
		place.at = 0;
		if (fpb_is_word(ix))
			place.item = 0;
	}
	return place;
}

FpbNodePos
fpb_slot_place(const FpbIndex *ix, Page page, FpbPos pos)
{
	return fpb_slot_of(ix, page, fpb_pos_unpack(ix, pos));
}

/* --- reading --- */

/*
 * Read the entries of one key whose tails, of so many bytes, are in places
 * [place, end) of a run or a posting, to *item and behind, where there is room
 * for them, gaps included.  pos is the first one's position; each further
 * one's is greater by step.  Returns the place behind the last item.
 *
 * An item is written even if the tail is a gap, and overwritten by the next
 * one: so no branch can be mispredicted.
 */
static pg_attribute_always_inline FpbItem *
read_tails_of_width(const char *tails, int width, int place, int end, const FpbKey *key,
					FpbPos pos, uint64 step, FpbItem *item)
{
	for (; place < end; place++, pos.number += step)
	{
		uint64		tail = fpb_read_short_tail(tails, place, width);

		item->key.head = key->head;
		item->key.low = key->low;
		item->key.tail = tail;
		item->key.tuple = key->tuple;
		item->pos = pos;
		item += (tail & FPB_TAIL_MAX_OFFSET) != 0;
	}
	return item;
}

/* The same, with code of its own for the width that most have. */
static pg_attribute_always_inline FpbItem *
read_tails(const char *tails, int width, int place, int end, FpbKey key,
		   FpbPos pos, uint64 step, FpbItem *item)
{
	if (likely(width == FPB_SHORT_TAIL))
		return read_tails_of_width(tails, FPB_SHORT_TAIL, place, end, &key, pos, step, item);
	return read_tails_of_width(tails, width, place, end, &key, pos, step, item);
}

/*
 * Read the entries in places [from, to) of a runs node, the dir'th, into
 * items[].  Returns how many, or -1 if there may be more than there is room
 * for.
 */
static inline int
read_runs(const FpbIndex *ix, const FpbShape *shape, char *node, int dir,
		  int from, int to, FpbItem *items, int room)
{
	FpbRuns		runs = fpb_runs(ix, shape, node);
	FpbItem    *item = items;
	int			run = fpb_run_of_slot(&runs, from);

	for (int start = fpb_run_start(&runs, run); run < runs.nruns && start < to; run++)
	{
		int			slot = Max(from, start);
		int			end = Min(to, fpb_run_end(&runs, run));
		FpbKey		key = {
			.head = fpb_node_head(ix, node, run),
			.low = ix->form == FPB_WORD16 ? fpb_run_lows(&runs)[run] : 0,
		};

		start = fpb_run_end(&runs, run);
		if (unlikely(room - (item - items) < end - slot))
			return -1;
		item = read_tails(runs.tails, runs.width, slot, end, key,
						  fpb_pos_at(dir, slot, 0), fpb_pos_at(0, 1, 0).number, item);
	}
	return item - items;
}

/*
 * Read the entries of a pairs node, the dir'th, that have ranks [from, to)
 * into items[].  Returns how many, or -1 if there may be more than there is
 * room for.
 */
static int
read_loose(const FpbIndex *ix, Page page, const FpbShape *shape, FpbCodec codec,
		   char *node, FpbNodePos from, int to, FpbItem *items, int room)
{
	uint8		slots[FPB_LOOSE_MOST];
	int			rank = fpb_loose_rank(from);
	bool		in_order = fpb_codec_in_order(codec);
	int			all;
	int			n = 0;
	FpbEntry	entry;

	/* a lookup wants an entry or two, and knows where the first is */
	if (to - rank <= 2)
	{
		while (n < to - rank && loose_next(ix, page, shape, codec, node, &from, &entry))
		{
			if (n >= room)
				return -1;
			items[n].key = entry.key;
			items[n++].pos = fpb_pos_pack(from);
			from = fpb_node_pos_behind(ix, from);
		}
		return n;
	}

	/* (in a damaged page there may be gaps among them) */
	all = in_order ? fpb_loose_gap(ix, shape, codec, node) :
		fpb_loose_order(ix, shape, codec, node, slots);
	if (all < 0)
		all = fpb_node_slots(ix, shape, codec, node);
	to = Min(to, all);
	if (to - rank > room)
		return -1;
	fpb_loose_read(ix, page, shape, codec, node, in_order ? NULL : slots, rank, to,
				   fpb_pos_pack(fpb_loose_pos(from.dir, 0, 0)),
				   fpb_pos_at(0, 1, 0).number,
				   fpb_pos_pack(fpb_loose_pos(0, 0, 0)).number, items);
	return Max(to - rank, 0);
}

/* a leaf's node of words */
typedef struct WordNode
{
	FpbCodec	codec;
	char	   *node;
	int			nslots;
	FpbRuns		runs;			/* if it is a runs node */
} WordNode;

static inline WordNode
word_node(const FpbIndex *ix, const FpbShape *shape, FpbCodec codec, char *node)
{
	WordNode	words = {.codec = codec,.node = node,
	.nslots = fpb_node_slots(ix, shape, codec, node)};

	if (fpb_codec_shares_key(codec))
		words.runs = fpb_runs(ix, shape, node);
	return words;
}

static inline bool
word_is_gap(const FpbIndex *ix, const FpbShape *shape, const WordNode *words, int slot)
{
	return fpb_codec_shares_key(words->codec) ? fpb_run_is_gap(&words->runs, slot) :
		fpb_node_is_gap(ix, shape, words->codec, words->node, slot);
}

/*
 * The first slot in [slot, to) of a node of words that has an entry; to, if
 * there is none.
 */
static inline int
next_entry(const FpbIndex *ix, const FpbShape *shape, const WordNode *words, int slot, int to)
{
	if (fpb_codec_shares_key(words->codec))
		while (slot < to && fpb_run_is_gap(&words->runs, slot))
			slot++;
	else
		while (slot < to && fpb_node_is_gap(ix, shape, words->codec, words->node, slot))
			slot++;
	return slot;
}

/*
 * The same without those that are killed.  bits is the node's bitmap, or NULL.
 * What shares a byte of it is looked at in one go: most entries are killed
 * where one is, and gaps are beside each other.
 */
static inline int
next_unmarked(const FpbIndex *ix, const FpbShape *shape, const WordNode *words,
			  const uint8 *bits, int slot, int to)
{
	if (bits == NULL)
		return next_entry(ix, shape, words, slot, to);
	while (slot < to)
	{
		int			bit = fpb_killed_bit(shape, words->nslots, slot);
		uint8		byte = bits[bit / 8];
		int			end = fpb_killed_slot(shape, words->nslots, (bit / 8 + 1) * 8);

		end = Min(end, to);
		if (byte == 0xFF)
			slot = end;
		else if (byte == 0)
			slot = next_entry(ix, shape, words, slot, end);
		else
			while (slot < end && (fpb_slot_is_killed(shape, bits, words->nslots, slot) ||
								  word_is_gap(ix, shape, words, slot)))
				slot++;
		if (slot < end)
			return slot;
	}
	return to;
}

/* of so many TIDs, each is asked for its bit; of more, if the leaf has any */
#define FEW_TIDS	4

/*
 * Read the items [first, last) of a posting, whose place this is, that are not
 * killed, into items[].  Returns how many, or -1 if there is no room for more.
 */
static int
read_live_tids(const FpbIndex *ix, Page page, uint64 head, IndexTuple posting,
			   FpbNodePos place, int first, int last, FpbItem *items, int room)
{
	const FpbShape *shape = fpb_leaf_shape(ix);
	const char *tails = fpb_posting_tails(posting);
	int			width = fpb_posting_width(posting);
	const uint8 *bits = fpb_killed_tids(shape, page);
	int			nbits = fpb_killed_tids_bytes(ix, shape, page) * 8;
	int			n = 0;

	for (int i = first; i < last; i++)
	{
		int			bit = fpb_killed_tid_bit(page, tails + i * width);
		uint8		byte = bit < nbits ? bits[bit / 8] : 0;
		uint64		tail = fpb_read_short_tail(tails, i, width);

		/* most are killed where one is, and short TIDs' bits are adjacent */
		if (byte == 0xFF && width == FPB_SHORT_TAIL)
		{
			i += bit % 8;
			continue;
		}
		if ((byte & (1 << (bit % 8))) != 0 || (tail & FPB_TAIL_MAX_OFFSET) == 0)
			continue;
		if (n == room)
			return -1;
		items[n].key.head = head;
		items[n].key.cut_in = fpb_cut_in(ix, page);
		items[n].key.tail = tail;
		items[n].key.tuple = posting;
		place.item = i;
		items[n++].pos = fpb_pos_pack(place);
	}
	return n;
}

/*
 * Find the slots of the entries of a tuples node that have the ranks of from
 * up to end, into slots[], which has room for FPB_LOOSE_MOST.  Returns how
 * many.  A lookup wants an entry or two, and knows where the first is.
 */
static int
find_slots(const FpbIndex *ix, const FpbShape *shape, char *node, FpbNodePos from,
		   int end, uint8 *slots)
{
	int			slot = from.at - 1;
	int			n = 0;

	if (end - from.slot <= 2 && slot >= 0 && slot < shape->nslots &&
		!fpb_node_is_gap(ix, shape, FPB_NODE_TUPLES, node, slot))
	{
		while (n < end - from.slot && slot >= 0)
		{
			slots[n++] = slot;
			if (n < end - from.slot)
				slot = fpb_loose_step(ix, shape, FPB_NODE_TUPLES, node, slot, true);
		}
		return n;
	}
	n = Min(fpb_loose_order(ix, shape, FPB_NODE_TUPLES, node, slots), end) - from.slot;
	if (n > 0 && from.slot > 0)
		memmove(slots, slots + from.slot, n);
	return n;
}

/*
 * Read the entries of a tuples node, the from.dir'th, from one position up to
 * another, which is in the same node or behind it, into items[]; without
 * killed ones, which bits, unless NULL, and if *tids the bits of TIDs tell.
 * Returns how many, or -1 if there may be more than there is room for.
 *
 * *tids becomes false if no TID's bit is set.
 */
static inline int
read_tuples(const FpbIndex *ix, Page page, const FpbShape *shape, char *node,
			FpbNodePos from, FpbNodePos to, bool *tids, const uint8 *bits,
			FpbItem *items, int room)
{
	const uint16 *tuples = fpb_node_tuples(shape, node);
	uint8		slots[FPB_LOOSE_MOST];
	int			n = find_slots(ix, shape, node, from, fpb_loose_rank(to), slots);
	Page		cut_in = fpb_cut_in(ix, page);
	FpbItem    *item = items;

	for (int i = 0; i < n; i++)
	{
		int			slot = slots[i];
		int			first = i == 0 ? from.item : 0;
		int			last = 1;
		FpbNodePos	place = fpb_loose_pos(from.dir, from.slot + i, slot);
		IndexTuple	tuple;
		bool		posting;

		if (tuples[slot] == 0 || fpb_slot_is_killed(shape, bits, shape->nslots, slot))
			continue;
		tuple = fpb_page_tuple(ix, page, tuples[slot]);
		posting = fpb_is_posting(tuple);
		if (posting)
			last = place.slot == to.slot ? Min(to.item, fpb_posting_slots(tuple)) :
				fpb_posting_slots(tuple);
		if (first >= last)
			continue;
		if (posting && *tids && last - first > FEW_TIDS)
			*tids = fpb_any_bit(fpb_killed_tids(shape, page),
								fpb_killed_tids_bytes(ix, shape, page));
		if (posting && *tids)
		{
			int			live = read_live_tids(ix, page, fpb_node_head(ix, node, slot), tuple,
											  place, first, last, item, room - (item - items));

			if (live < 0)
				return -1;
			item += live;
			continue;
		}
		if (unlikely(room - (item - items) < last - first))
			return -1;
		if (posting)
		{
			FpbKey		key = {.head = fpb_node_head(ix, node, slot),.cut_in = cut_in,
			.tuple = tuple};

			place.item = first;
			item = read_tails(fpb_posting_tails(tuple), fpb_posting_width(tuple), first, last,
							  key, fpb_pos_pack(place), 1, item);
			continue;
		}
		item->key.head = fpb_node_head(ix, node, slot);
		item->key.cut_in = cut_in;
		item->key.tail = fpb_tail_pack(0, &tuple->t_tid);
		item->key.tuple = tuple;
		item->pos = fpb_pos_pack(place);
		item++;
	}
	return item - items;
}

/*
 * Count the entries in slots [from, to) of a leaf's node of words.
 */
static int
count_entries(const FpbIndex *ix, const FpbShape *shape, const WordNode *words,
			  int from, int to)
{
	int			n = 0;

	for (int slot = from; slot < to; slot++)
		n += !word_is_gap(ix, shape, words, slot);
	return n;
}

/*
 * Read the entries of a node of words whose slots (loose: ranks) are [from,
 * to), without those that the bitmap, unless NULL, says are killed.  Most may
 * be, so no more is done for these than to look at the bit.
 */
static int
read_live_words(const FpbIndex *ix, Page page, const FpbShape *shape, FpbCodec codec,
				char *node, int dir, int from, int to, const uint8 *bits,
				FpbItem *items, int room)
{
	WordNode	words = word_node(ix, shape, codec, node);
	bool		loose = fpb_codec_is_loose(codec);
	uint8		slots[FPB_LOOSE_MOST];
	int			all;
	int			n = 0;

	if (loose && bits != NULL && next_unmarked(ix, shape, &words, bits, 0, words.nslots) == words.nslots)
		return 0;
	all = loose ? fpb_loose_order(ix, shape, codec, node, slots) : words.nslots;
	to = Min(to, all);
	if (bits == NULL && count_entries(ix, shape, &words, from, to) > room)
		return -1;
	for (int i = from; i < to; i++)
	{
		int			slot = loose ? slots[i] : i;
		FpbEntry	entry;

		if (fpb_slot_is_killed(shape, bits, words.nslots, slot) ||
			word_is_gap(ix, shape, &words, slot))
			continue;
		if (n == room)
			return -1;
		fpb_read_slot(ix, page, shape, codec, node, slot, &entry);
		items[n].key = entry.key;
		items[n++].pos = loose ? fpb_pos_pack(fpb_loose_pos(dir, i, slot)) :
			fpb_pos_at(dir, slot, 0);
	}
	return n;
}

/*
 * Read the entries of a leaf's node from one position up to another, which is
 * of the same node or behind it, into items[]; live: without killed ones, for
 * which the bits of TIDs are looked at if *tids.  Returns how many, or -1 if
 * there may be more than there is room for.
 */
static pg_attribute_always_inline int
read_node(const FpbIndex *ix, Page page, FpbNodePos from, FpbNodePos to,
		  bool live, bool *tids, FpbItem *items, int room)
{
	const FpbShape *shape = fpb_shape(ix, page);
	FpbCodec	codec;
	char	   *node = fpb_page_node(ix, page, from.dir, &codec);
	int			nslots = fpb_node_slots(ix, shape, codec, node);
	const uint8 *bits = live ? fpb_some_killed_bits(shape, page, from.dir) : NULL;
	bool		loose = fpb_codec_is_loose(codec);

	if (from.dir < to.dir)
	{
		to.slot = nslots;
		to.at = to.item = 0;
	}
	if (!loose)
		forget_slot(&from);

	/* or if there may not be room for all places, of which most may be gaps */
	if (fpb_is_word(ix) &&
		(bits != NULL || (live && !loose && room < Min(to.slot, nslots) - from.slot)))
	{
		return read_live_words(ix, page, shape, codec, node, from.dir,
							   loose ? fpb_loose_rank(from) : from.slot,
							   loose ? fpb_loose_rank(to) : to.slot,
							   bits, items, room);
	}
	switch (fpb_codec_kind(codec))
	{
		case FPB_NODE_PLAIN:	/* no leaf has any */
			break;
		case FPB_NODE_TUPLES:
			return read_tuples(ix, page, shape, node, from, to, tids, bits, items, room);
		case FPB_NODE_RUNS:
			return read_runs(ix, shape, node, from.dir, from.slot,
							 Min(to.slot, nslots), items, room);
		case FPB_NODE_PAIRS:
			return read_loose(ix, page, shape, codec, node, from, fpb_loose_rank(to), items, room);
	}
	pg_unreachable();
}

/*
 * Make *pos, the position of an entry that is < end, a position behind it: if
 * all of its posting's entries are < end as well, behind these.
 */
static inline void
pass_entry(const FpbIndex *ix, const FpbShape *shape, const FpbEntry *entry,
		   const FpbSearchKey *end, FpbNodePos *pos)
{
	if (fpb_has_posting(shape, entry) &&
		(end->ncols < ix->nkeyatts || end->tail == FPB_TAIL_MAX))
		pos->item = FPB_ALL_ITEMS;
	else
		*pos = fpb_node_pos_behind(ix, *pos);
}

/* so many slots are compared with an end that is likely to be near */
#define NEAR_SLOTS	1

/*
 * Set *stop to the position where the entries from pos on that are < end stop.
 * *more becomes false if an entry is behind it.  near: compare the next ones
 * first, because most scans want one at most.  Then head is the end's in the
 * page.
 */
static void
find_end(const FpbIndex *ix, Page page, FpbNodePos pos, const FpbSearchKey *end,
		 bool near, uint64 head, FpbNodePos *stop, bool *more)
{
	const FpbShape *shape = fpb_shape(ix, page);
	FpbEntry	entry;

	for (int i = 0; near && i < NEAR_SLOTS; i++)
	{
		*stop = pos;
		if (!fpb_node_pos_next(ix, page, &pos, &entry))
			return;
		if (fpb_compare_by_head(ix, &entry.key, end, head) >= 0)
		{
			*more = false;
			return;
		}
		pass_entry(ix, shape, &entry, end, &pos);
	}
	fpb_node_pos_search(ix, page, end, stop);
	pos = *stop;
	if (fpb_node_pos_next(ix, page, &pos, &entry))
		*more = false;
}

/* so many live entries among killed ones are read one by one */
#define FEW_LIVE	8

/* an entry of a pairs node */
typedef struct LooseEntry
{
	uint8		slot;
	uint8		rank;
} LooseEntry;

/* the ranks of so many are counted; if there are more, all are put in order */
#define FEW_RANKED	2

/*
 * Put the n entries of a pairs node whose slots are in found[] in order.
 */
static void
rank_few(const FpbIndex *ix, const FpbShape *shape, const WordNode *words,
		 LooseEntry *found, int n)
{
	for (int i = 0; i < n; i++)
	{
		LooseEntry	entry = found[i];
		int			at = i;

		entry.rank = fpb_loose_rank_of(ix, shape, words->codec, words->node, entry.slot);
		for (; at > 0 && found[at - 1].rank > entry.rank; at--)
			found[at] = found[at - 1];
		found[at] = entry;
	}
}

/*
 * Put those of a pairs node whose slots are wanted in order, into found[].
 */
static int
rank_many(const FpbIndex *ix, const FpbShape *shape, const WordNode *words,
		  const bool *wanted, LooseEntry *found)
{
	uint8		slots[FPB_LOOSE_MOST];
	int			all = fpb_loose_order(ix, shape, words->codec, words->node, slots);
	int			n = 0;

	for (int rank = 0; rank < all; rank++)
	{
		if (!wanted[slots[rank]])
			continue;
		found[n].slot = slots[rank];
		found[n++].rank = rank;
	}
	return n;
}

/*
 * Find the entries of a pairs node from a rank on that are < end and not
 * killed, in order.  Returns how many.  first: the slot of the entry that has
 * this rank, or -1.  *ended becomes true if an entry that is not killed is >=
 * end, or one is by its head.
 */
static int
find_unmarked(const FpbIndex *ix, Page page, const FpbShape *shape, const WordNode *words,
			  const uint8 *bits, int rank, int first, const FpbSearchKey *end,
			  LooseEntry *found, bool *ended)
{
	uint8		slots[FPB_LOOSE_MOST];
	bool		wanted[FPB_LOOSE_MOST] = {0};
	uint64		least = 0;
	int			nslots;
	int			n = 0;
	int			before = 0;

	if (first >= 0 && first < words->nslots)
		least = fpb_slot_head(ix, shape, words->codec, words->node, first);
	nslots = fpb_loose_within(ix, shape, words->codec, words->node, least, end->head,
							  slots, ended);
	for (int i = 0; i < nslots; i++)
	{
		int			slot = slots[i];
		FpbEntry	entry;

		if (fpb_slot_is_killed(shape, bits, words->nslots, slot))
			continue;
		fpb_read_slot(ix, page, shape, words->codec, words->node, slot, &entry);
		if (fpb_compare(ix, &entry.key, end) >= 0)
		{
			*ended = true;
			continue;
		}
		wanted[slot] = true;
		found[n++].slot = slot;
	}
	if (n <= FEW_RANKED)
		rank_few(ix, shape, words, found, n);
	else
		n = rank_many(ix, shape, words, wanted, found);
	while (before < n && found[before].rank < rank)
		before++;
	if (before > 0)
		memmove(found, found + before, (n - before) * sizeof(LooseEntry));
	return n - before;
}

/*
 * Add the entry in a slot of a leaf's node to items[], of which there are *n,
 * as read_first_live does.  at is what a position there has for a slot.
 * Returns false if no more are to be read: then *n is -1 if there is no room.
 */
static bool
add_live(const FpbIndex *ix, Page page, const FpbShape *shape, const WordNode *words,
		 int slot, int at, FpbNodePos *from, FpbItem *items, int room, int *n)
{
	bool		loose = fpb_codec_is_loose(words->codec);
	FpbEntry	entry;

	if (*n == room || *n == FEW_LIVE)
	{
		from->slot = at;
		from->at = from->item = 0;
		if (*n == room)
			*n = -1;
		return false;
	}
	fpb_read_slot(ix, page, shape, words->codec, words->node, slot, &entry);
	items[*n].key = entry.key;
	items[(*n)++].pos = loose ? fpb_pos_pack(fpb_loose_pos(from->dir, at, slot)) :
		fpb_pos_at(from->dir, slot, 0);
	return true;
}

/*
 * The first slot from slot on of a node of words that is not loose, up to to,
 * whose entry is < end and not killed; to, if there is none.  *ended becomes
 * true if the next entry that is not killed is >= end.
 */
static inline int
next_live(const FpbIndex *ix, Page page, const FpbShape *shape, const WordNode *words,
		  const uint8 *bits, int slot, int to, const FpbSearchKey *end, bool *ended)
{
	slot = next_unmarked(ix, shape, words, bits, slot, to);
	if (slot >= to ||
		fpb_compare_slot(ix, page, shape, words->codec, words->node, slot, false, end, end->head) < 0)
		return slot;
	*ended = true;
	return to;
}

/*
 * Read the first entries of a range in a leaf of words, FEW_LIVE at most, from
 * *from on, where there are killed ones, which are passed over.  Then *from is
 * behind them.  Returns how many, or -1 if there is no room for more.  *ended:
 * an entry behind those is >= end, and none is < end.
 *
 * The entries of a row that is updated again and again are nearly all killed.
 * So it takes less time to compare the others with the end than to search it.
 */
static int
read_first_live(const FpbIndex *ix, Page page, FpbNodePos *from, const FpbSearchKey *end,
				FpbItem *items, int room, bool *ended)
{
	const FpbShape *shape = fpb_shape(ix, page);
	int			n = 0;

	*ended = false;
	for (; from->dir < FpbDir(page)->nnodes && !*ended; from->dir++)
	{
		FpbCodec	codec;
		char	   *node = fpb_page_node(ix, page, from->dir, &codec);
		WordNode	words = word_node(ix, shape, codec, node);
		const uint8 *bits = fpb_some_killed_bits(shape, page, from->dir);
		bool		ends = false;

		if (fpb_codec_is_loose(codec))
		{
			LooseEntry	found[FPB_LOOSE_MOST];
			int			nfound = find_unmarked(ix, page, shape, &words, bits,
											   fpb_loose_rank(*from), from->at - 1,
											   end, found, &ends);

			for (int i = 0; i < nfound; i++)
				if (!add_live(ix, page, shape, &words, found[i].slot, found[i].rank,
							  from, items, room, &n))
					return n;
		}
		else
		{
			int			to = words.nslots;
			int			slot;

			forget_slot(from);
			slot = from->slot;
			if (fpb_codec_shares_key(codec))
				to = fpb_run_end(&words.runs, words.runs.nruns - 1);
			while ((slot = next_live(ix, page, shape, &words, bits, slot, to, end, &ends)) < to)
			{
				if (!add_live(ix, page, shape, &words, slot, slot, from, items, room, &n))
					return n;
				slot++;
			}
		}
		*ended = ends;
		from->slot = from->at = from->item = 0;
	}
	return n;
}

/*
 * Is any entry of the page, a leaf, known dead?
 */
bool
fpb_disk_first_has_killed(const FpbIndex *ix, Page page)
{
	const FpbShape *shape = fpb_leaf_shape(ix);

	return fpb_any_bit(fpb_killed_bits(shape, page), FpbDir(page)->nalloc * shape->killed_bytes +
					   fpb_killed_tids_bytes(ix, shape, page));
}

/* of so many nodes, each is asked for killed bits; of more, the page */
#define FEW_NODES	4

/*
 * Read the entries of a leaf from one position up to another into items[], one
 * node after the other, until there are enough; live: without killed ones.
 * *from becomes the beginning of the first node that has not been read.
 * Returns how many, or -1 if there may be more than there is room for.
 */
static inline int
read_nodes(const FpbIndex *ix, Page page, FpbNodePos *from, FpbNodePos stop, bool live,
		   int enough, FpbItem *items, int room)
{
	const FpbShape *shape = fpb_shape(ix, page);
	int			nnodes = FpbDir(page)->nnodes;
	bool		tids = live && ix->max_posting > 0;
	int			count = 0;

	for (; from->dir < nnodes && from->dir <= stop.dir && count < enough; from->dir++)
	{
		int			n;

		if (from->dir + 1 < nnodes && from->dir < stop.dir)
		{
			FpbCodec	next_codec;

			prefetch_node(ix, shape, page, fpb_node_number(page, from->dir + 1),
						  fpb_page_node(ix, page, from->dir + 1, &next_codec));
		}
		n = read_node(ix, page, *from, stop, live, &tids, items + count, room - count);
		if (n < 0)
			return -1;
		count += n;
		from->slot = from->at = from->item = 0;
	}
	return count;
}

/*
 * See fpb_page_read and fpb_page_read_part.  All of a node is read at once.
 */
static int
read_entries(const FpbIndex *ix, Page page, FpbPos *pos, const FpbSearchKey *end,
			 bool near, bool live, int enough, FpbItem *items, int room,
			 bool *more, bool *all)
{
	const FpbShape *shape = fpb_shape(ix, page);
	FpbNodePos	from = fpb_pos_unpack(ix, *pos);
	int			nnodes = FpbDir(page)->nnodes;
	int			count = 0;
	int			n;
	FpbNodePos	stop = {nnodes};

	*all = true;
	if (nnodes == 0)
		return 0;
	if (end != NULL && near)
	{
		FpbNodePos	behind;
		FpbEntry	entry;
		uint64		head;

		if (!fpb_node_pos_next(ix, page, &from, &entry))
			return 0;
		head = fpb_search_head(ix, page, end);
		if (fpb_compare_by_head(ix, &entry.key, end, head) >= 0)
		{
			*more = false;
			return 0;
		}
		if (live && fpb_is_word(ix) && fpb_some_killed_bits(shape, page, from.dir) != NULL)
		{
			bool		ended;

			count = read_first_live(ix, page, &from, end, items, room, &ended);
			if (ended)
				*more = false;
			if (ended || count < 0)
				return count;
			find_end(ix, page, from, end, false, 0, &stop, more);
		}
		else
		{
			behind = from;
			pass_entry(ix, shape, &entry, end, &behind);
			find_end(ix, page, behind, end, true, head, &stop, more);
		}
	}
	else if (end != NULL)
		find_end(ix, page, from, end, false, 0, &stop, more);

	if (live && Min(stop.dir, nnodes) - from.dir > FEW_NODES)
		live = fpb_disk_first_has_killed(ix, page);
	n = read_nodes(ix, page, &from, stop, live, enough - count, items + count, room - count);
	if (n < 0)
		return -1;
	*all = from.dir > stop.dir || from.dir == nnodes;
	if (!*all)
		*pos = fpb_pos_pack(from);
	return count + n;
}

int
fpb_disk_first_read(const FpbIndex *ix, Page page, FpbPos pos,
					const FpbSearchKey *end, bool near, bool live,
					FpbItem *items, int room, bool *more)
{
	bool		all;

	return read_entries(ix, page, &pos, end, near, live, INT_MAX, items, room, more, &all);
}

int
fpb_disk_first_read_part(const FpbIndex *ix, Page page, FpbPos *pos, const FpbSearchKey *end,
						 bool live, int enough, FpbItem *items, int room,
						 bool *more, bool *all)
{
	return read_entries(ix, page, pos, end, true, live, enough, items, room, more, all);
}

/*
 * Read all entries of a leaf's nodes from one to another one into items[],
 * which has room for all their slots.  Returns how many.
 */
int
fpb_read_nodes(const FpbIndex *ix, Page page, int first, int last, FpbItem *items, int room)
{
	bool		no_tids = false;
	int			count = 0;

	for (int dir = first; dir <= last; dir++)
	{
		FpbNodePos	from = {dir};
		FpbNodePos	to = {dir + 1};
		int			n = read_node(ix, page, from, to, false, &no_tids, items + count, room - count);

		if (unlikely(n < 0))
			fpb_report_crowd(ix, page);
		count += n;
	}
	return count;
}

/*
 * Of n items that have been read of a leaf's node, the dir'th, keep those that
 * are killed; returns how many.  bits: the node's bitmap, or NULL.
 */
static int
keep_killed(const FpbIndex *ix, Page page, int dir, const uint8 *bits, FpbItem *items, int n)
{
	const FpbShape *shape = fpb_leaf_shape(ix);
	FpbCodec	codec;
	char	   *node = fpb_page_node(ix, page, dir, &codec);
	int			nslots = fpb_node_slots(ix, shape, codec, node);
	int			kept = 0;

	for (int i = 0; i < n; i++)
	{
		FpbNodePos	place = fpb_slot_place(ix, page, items[i].pos);
		IndexTuple	tuple = items[i].key.tuple;

		if (fpb_slot_is_killed(shape, bits, nslots, place.slot) ||
			(ix->max_posting > 0 && fpb_is_posting(tuple) &&
			 fpb_bit_is_set(fpb_item_killed_bit(ix, page, tuple, place.item))))
			items[kept++] = items[i];
	}
	return kept;
}

/*
 * See fpb_page_read_killed.
 */
int
fpb_disk_first_read_killed(const FpbIndex *ix, Page page, FpbItem *items)
{
	const FpbShape *shape = fpb_leaf_shape(ix);
	bool		tids = fpb_any_bit(fpb_killed_tids(shape, page),
								   fpb_killed_tids_bytes(ix, shape, page));
	bool		no_tids = false;
	int			count = 0;

	for (int dir = 0; dir < FpbDir(page)->nnodes; dir++)
	{
		FpbNodePos	from = {dir};
		FpbNodePos	to = {dir + 1};
		FpbCodec	codec;
		const uint8 *bits;
		int			n;

		(void) fpb_page_node(ix, page, dir, &codec);	/* its number is
														 * possible */
		bits = fpb_some_killed_bits(shape, page, dir);
		if (bits == NULL && !tids)
			continue;
		n = read_node(ix, page, from, to, false, &no_tids, items + count,
					  (int) FPB_MAX_PAGE_ENTRIES - count);
		if (unlikely(n < 0))
			fpb_report_crowd(ix, page);
		count += keep_killed(ix, page, dir, bits, items + count, n);
	}
	return count;
}

/* --- downlinks --- */

/*
 * Find the slot of the child to descend to for the search key, and return the
 * node that it is in.  The first child's low key is the page's low fence, so a
 * search key within the fences always finds one.  One below gets the first.
 * *compared becomes false if that was not compared with the search key.
 *
 * *child_node is set to 1 + the number of the child's node in which the search
 * key's place may be, as the last child-node hint before it says, or if there
 * is none the child's own slot; or to 0 if the page has no such hints.
 */
static char *
search_child(const FpbIndex *ix, Page page, const FpbSearchKey *search, bool before,
			 FpbNodePos *pos, uint16 *child_node, bool *compared)
{
	const FpbShape *shape = fpb_shape(ix, page);
	bool		hinted = fpb_page_has_child_hints(ix, page);
	FpbEntry	first;
	FpbCodec	codec;
	char	   *node;
	uint64		head = fpb_search_head(ix, page, search);

	*child_node = 0;
	*compared = true;
	if (FpbDir(page)->nnodes == 0)
		fpb_page_damaged(ix, page, "An inner page is empty.");
	node = search_all_nodes(ix, page, shape, search, head, !before, pos, &codec);

	/* the one before that place */
	for (;;)
	{
		while (pos->slot > 0)
		{
			pos->slot--;
			if (hinted && *child_node == 0)
				*child_node = fpb_slot_child_node(ix, shape, node, pos->slot);
			if (!fpb_node_is_gap(ix, shape, codec, node, pos->slot))
				return node;
		}
		if (pos->dir == 0)
			break;
		node = fpb_page_node(ix, page, --pos->dir, &codec);
		pos->slot = shape->nslots;
	}
	*child_node = 0;
	*compared = false;
	if (!fpb_node_pos_next(ix, page, pos, &first))
		fpb_page_damaged(ix, page, "An inner page is empty.");
	return fpb_page_node(ix, page, pos->dir, &codec);
}

/*
 * See fpb_page_downlink.
 */
BlockNumber
fpb_disk_first_downlink(const FpbIndex *ix, Page page, const FpbSearchKey *search,
						bool before, uint16 *child_node)
{
	FpbNodePos	pos;
	bool		compared;
	char	   *node = search_child(ix, page, search, before, &pos, child_node, &compared);

	return fpb_node_children(fpb_shape(ix, page), node)[pos.slot];
}

/*
 * See fpb_page_child.
 */
bool
fpb_disk_first_child(const FpbIndex *ix, Page page, const FpbSearchKey *search,
					 bool before, FpbPos *pos, FpbEntry *entry)
{
	FpbNodePos	place;
	uint16		child_node;
	bool		compared;
	char	   *node = search_child(ix, page, search, before, &place, &child_node, &compared);

	fpb_read_slot(ix, page, fpb_shape(ix, page), FPB_NODE_PLAIN, node, place.slot, entry);
	*pos = fpb_pos_pack(place);
	return compared;
}
