/*-------------------------------------------------------------------------
 *
 * fpb_layout_change.c
 *	  Single insertions into and deletions from a disk-first page.
 *
 * An insertion is planned first, which may fail, and then done in a critical
 * section, which may not.  What it changes is as little as the node structure
 * permits, for it is what the WAL record holds.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fpb_layout.h"

/*
 * A page is reorganised rather than split while its nodes would then have this
 * share of their slots free, in a hundred (fpbtree-sigmod2002, section 3.1.2:
 * "far fewer than the page maximum fan-out").  It is logged whole then.  A split
 * of a page of words costs no more than that, for it leaves the left page's
 * entries in place, and need not be made again soon.
 */
#define REBUILD_SLACK_WORDS		25
#define REBUILD_SLACK_TUPLES	15
#define REBUILD_SLACK_ONE_KEY	10	/* room for more duplicates, twice as many */

/*
 * A page with no more entries than this is not split while they fit it at all.
 */
#define FEW_ENTRIES				2
#define FEW_CHILDREN			3

/* where of so many entries one is a duplicate, they are that */
#define MANY_DUPLICATES			8

/*
 * Slots in a hundred left free in a page that an image is logged of, if they
 * can be; else as many as can be.  More gaps make the image larger, fewer make
 * the records of the insertions that follow so.
 */
static const int reorganise_slacks[] = {15, 10, 5, 2};

/* the same of a leaf full of duplicates, before it is split */
static const int duplicate_slacks[] = {10, 5, 2, 1};

/* the largest node, for copies of one */
typedef union NodeCopy
{
	char		data[FPB_MAX_LINES * FPB_CACHE_LINE];
	uint64		align;
} NodeCopy;

/* --- planning --- */

/*
 * Bytes to allow for a new tuple with so many TIDs, alignment included.
 */
static Size
tuple_room(const FpbIndex *ix, const FpbKey *key, int tids)
{
	if (fpb_is_word(ix))
		return 0;
	return fpb_posting_size(key->tuple, tids) + fpb_tuple_align(key->tuple) - 1;
}

/*
 * Has the page room for more_nodes nodes and a tuple of this size?
 */
static bool
page_has_room(const FpbIndex *ix, Page page, int more_nodes, Size tuple)
{
	FpbPageHeader *hdr = FpbHdr(page);
	const FpbShape *shape = fpb_shape(ix, page);
	int			nalloc = Max(hdr->nalloc, hdr->nnodes + more_nodes);

	if (hdr->nnodes + more_nodes > hdr->dircap || nalloc > shape->max_nodes)
		return false;
	return fpb_is_word(ix) ||
		hdr->pd.pd_lower + (nalloc - hdr->nalloc) * shape->size +
		nalloc * shape->hint_bytes + tuple <= hdr->pd.pd_upper;
}

/*
 * The gap nearest to the place before slot, or -1.
 */
static int
nearest_gap(const FpbIndex *ix, const FpbShape *shape, int codec, char *node,
			int slot)
{
	int			n = fpb_node_slots(shape, codec);

	for (int distance = 0; distance <= n; distance++)
	{
		int			right = slot + distance;
		int			left = slot - 1 - distance;

		if (right < n && fpb_node_is_gap(ix, shape, codec, node, right))
			return right;
		if (left >= 0 && fpb_node_is_gap(ix, shape, codec, node, left))
			return left;
	}
	return -1;
}

/*
 * The same in a posting, for the place before item.
 */
static int
nearest_posting_gap(IndexTuple posting, int item)
{
	int			n = fpb_posting_slots(posting);
	char	   *tails = fpb_posting_tails(posting);

	for (int distance = 0; distance <= n; distance++)
	{
		int			right = item + distance;
		int			left = item - 1 - distance;

		if (right < n && fpb_tail_is_gap(tails, right))
			return right;
		if (left >= 0 && fpb_tail_is_gap(tails, left))
			return left;
	}
	return -1;
}

/*
 * Is the dir'th node a plain one with a gap?
 */
static bool
plain_with_gap(const FpbIndex *ix, Page page, int dir)
{
	const FpbShape *shape = fpb_shape(ix, page);
	int			codec;
	char	   *node;

	if (dir < 0 || dir >= FpbHdr(page)->nnodes)
		return false;
	node = fpb_page_node(ix, page, dir, &codec);
	return codec == FPB_NODE_PLAIN &&
		nearest_gap(ix, shape, codec, node, 0) >= 0;
}

/*
 * The place of an entry behind all those of a plain node: gaps there are in
 * the order of their heads like everything else.
 */
static FpbPos
end_of_node(const FpbIndex *ix, Page page, int dir, const FpbEntry *entry)
{
	const FpbShape *shape = fpb_shape(ix, page);
	int			codec;
	char	   *node = fpb_page_node(ix, page, dir, &codec);
	FpbPos		pos = {dir, shape->nslots, 0};

	while (pos.slot > 0 &&
		   fpb_node_is_gap(ix, shape, codec, node, pos.slot - 1) &&
		   fpb_node_head(ix, node, pos.slot - 1) >= entry->key.head)
		pos.slot--;
	return pos;
}

/*
 * Are all entries of a full plain leaf node, and the new one, duplicates of
 * one key, so that a one-key node would hold many more?
 */
static bool
convertible(const FpbIndex *ix, Page page, char *node, const FpbEntry *entry)
{
	const FpbShape *shape = fpb_shape(ix, page);
	FpbEntry	first;
	FpbEntry	last;

	if (!ix->one_key || !fpb_is_word(ix) || !FpbPageIsLeaf(page))
		return false;
	fpb_read_slot(ix, page, shape, FPB_NODE_PLAIN, node, 0, &first);
	if (!fpb_keys_identical(ix, &first.key, &entry->key))
		return false;
	fpb_read_slot(ix, page, shape, FPB_NODE_PLAIN, node, shape->nslots - 1, &last);
	return fpb_keys_identical(ix, &last.key, &entry->key);
}

/*
 * Where to part a full plain node, when it is split: in the middle, or at the nearer end of a
 * run of duplicates that reaches across it, so that it will have a node of its
 * own.
 */
static int
split_slot(const FpbIndex *ix, Page page, const FpbShape *shape, char *node)
{
	int			n = shape->nslots;
	int			mid = n / 2;
	int			start = mid;
	int			end = mid;
	FpbEntry	pivot;
	FpbEntry	other;

	if (!ix->one_key || !fpb_is_word(ix) || !FpbPageIsLeaf(page))
		return mid;
	fpb_read_slot(ix, page, shape, FPB_NODE_PLAIN, node, mid, &pivot);
	for (; start > 0; start--)
	{
		fpb_read_slot(ix, page, shape, FPB_NODE_PLAIN, node, start - 1, &other);
		if (!fpb_keys_identical(ix, &pivot.key, &other.key))
			break;
	}
	for (; end < n; end++)
	{
		fpb_read_slot(ix, page, shape, FPB_NODE_PLAIN, node, end, &other);
		if (!fpb_keys_identical(ix, &pivot.key, &other.key))
			break;
	}
	if (end - start < 3 || (start == 0 && end == n))
		return mid;
	if (start == 0)
		return end;
	if (end == n)
		return start;
	return (mid - start < end - mid) ? start : end;
}

/*
 * Plan to make room in a full plain node by moving the entry at one of its
 * ends to the neighbour there.  False if neither neighbour has a gap.
 */
static bool
plan_spill(const FpbIndex *ix, Page page, const FpbEntry *entry,
		   const FpbPos *place, char *node, FpbInsertPlan *plan)
{
	const FpbShape *shape = fpb_shape(ix, page);
	FpbEntry	moved;
	bool		left = plain_with_gap(ix, page, place->dir - 1);
	bool		right = plain_with_gap(ix, page, place->dir + 1);

	/* fewer entries have to move to the nearer end */
	if (left && right)
		left = place->slot < shape->nslots / 2;
	if (left && place->slot == 0)
	{
		/* the new entry itself can be the one at the neighbour's end */
		plan->kind = FPB_PLAN_SLOT;
		plan->pos = end_of_node(ix, page, place->dir - 1, entry);
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
 * Make an image of the page with the new entry in it, entries[] being all, with
 * slack of a hundred slots free.  Its high fence may be elided, or not.
 */
static bool
rebuild(const FpbIndex *ix, Page page, const FpbEntry *entries, int nentries,
		int slack, bool elide, FpbInsertPlan *plan)
{
	FpbPageHeader *hdr = FpbHdr(page);
	FpbKey		low;
	FpbKey		high;

	if (!FpbPageIsLeftmost(page))
		fpb_page_low(ix, page, &low);
	if (!FpbPageIsRightmost(page))
		fpb_page_high(ix, page, &high);
	if (elide)
		high.tuple = NULL;
	return fpb_page_build(ix, plan->image->data, hdr->level, hdr->flags,
						  hdr->right, FpbPageIsLeftmost(page) ? NULL : &low,
						  FpbPageIsRightmost(page) ? NULL : &high,
						  entries, nentries, slack);
}

/*
 * All entries of the page with a new one at its place, in an array of their own.
 */
static FpbEntry *
collect_with(const FpbIndex *ix, Page page, const FpbEntry *entry,
			 const FpbPos *pos, int *nentries)
{
	FpbEntry   *entries = palloc(sizeof(FpbEntry) * (FPB_MAX_PAGE_ENTRIES + 1));

	*nentries = fpb_page_entries_with(ix, page, entry, pos, entries, NULL);
	return entries;
}

/*
 * Plan to make the page afresh, entries[] being all, the new one among them, with
 * slack of a hundred slots free.  Allocates the image.  The plan is FPB_PLAN_FULL
 * if the entries don't fit so.
 *
 * A page of so few entries that at best one would be left on a side must not be
 * split for nothing but slack, or the room of its high fence, unless few is 0.
 */
static void
plan_rebuild(const FpbIndex *ix, Page page, const FpbEntry *entries,
			 int nentries, int slack, int few, FpbInsertPlan *plan)
{
	plan->kind = FPB_PLAN_REBUILD;
	plan->image = palloc_aligned(sizeof(PGAlignedBlock), PG_IO_ALIGN_SIZE, 0);
	if (!rebuild(ix, page, entries, nentries, slack, false, plan) &&
		!(nentries <= few && (rebuild(ix, page, entries, nentries, 0, false, plan) ||
							  (!FpbPageIsRightmost(page) &&
							   rebuild(ix, page, entries, nentries, 0, true, plan)))))
	{
		plan->kind = FPB_PLAN_FULL;
		pfree(plan->image);
		plan->image = NULL;
	}
}

/*
 * Are many of a leaf's entries duplicates, which postings make room of?
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
 * Plan to reorganise a page that has no room otherwise.
 */
static void
plan_to_make_room(const FpbIndex *ix, Page page, const FpbEntry *entry,
				  const FpbPos *pos, FpbInsertPlan *plan)
{
	int			n;
	FpbEntry   *entries = collect_with(ix, page, entry, pos, &n);

	plan_rebuild(ix, page, entries, n,
				 fpb_is_word(ix) ? REBUILD_SLACK_WORDS : REBUILD_SLACK_TUPLES,
				 fpb_is_word(ix) ? 0 :
				 FpbPageIsLeaf(page) ? FEW_ENTRIES : FEW_CHILDREN, plan);
	if (plan->kind == FPB_PLAN_FULL && has_duplicates(ix, page, entries, n))
		for (int i = 0; i < lengthof(duplicate_slacks) && plan->kind == FPB_PLAN_FULL; i++)
			plan_rebuild(ix, page, entries, n, duplicate_slacks[i], 0, plan);
	pfree(entries);
}

/*
 * Plan to have the entry share the slot of another one of its key, at pos->slot,
 * where it belongs before pos->item: in a gap of the posting there, or in a larger
 * posting, with room for more to come.  False if neither can be.
 */
static bool
plan_sharing(const FpbIndex *ix, Page page, FpbPos pos, FpbInsertPlan *plan)
{
	const FpbShape *shape = fpb_shape(ix, page);
	int			codec;
	char	   *node = fpb_page_node(ix, page, pos.dir, &codec);
	FpbEntry	old;
	int			tids = 1;
	int			most;

	plan->pos = pos;
	fpb_read_slot(ix, page, shape, codec, node, pos.slot, &old);
	if (fpb_has_posting(shape, &old))
	{
		tids = fpb_posting_slots(old.key.tuple);
		plan->kind = FPB_PLAN_POSTING;
		if (nearest_posting_gap(old.key.tuple, pos.item) >= 0)
			return true;
	}

	most = fpb_posting_most(ix, old.key.tuple);
	if (tids >= most)
		return false;
	plan->kind = FPB_PLAN_GROW;
	plan->tids = Min(most, (tids + 1) * 3 / 2);
	if (!page_has_room(ix, page, 0, tuple_room(ix, &old.key, plan->tids)))
		plan->tids = tids + 1;
	return page_has_room(ix, page, 0, tuple_room(ix, &old.key, plan->tids));
}

/*
 * Might the entries before, or behind, a place have an entry's key, as far as the
 * heads there tell?
 */
static bool
may_be_beside(const FpbIndex *ix, Page page, const FpbEntry *entry,
			  const FpbPos *place, bool before)
{
	int			slot = place->slot - (before ? 1 : 0);
	int			codec;
	char	   *node;

	if (place->dir >= FpbHdr(page)->nnodes)
		return before;
	if (slot < 0 || slot >= fpb_shape(ix, page)->nslots)
		return true;
	node = fpb_page_node(ix, page, place->dir, &codec);
	return fpb_node_head(ix, node, slot) == entry->key.head;
}

/*
 * Plan to have the entry share a slot with others of its key, if there are some
 * beside its place.
 */
static bool
plan_beside_equal(const FpbIndex *ix, Page page, const FpbEntry *entry,
				  const FpbPos *place, FpbInsertPlan *plan)
{
	FpbPos		pos = *place;
	FpbEntry	old;

	if (may_be_beside(ix, page, entry, place, true) &&
		fpb_page_prev(ix, page, &pos, &old) &&
		fpb_keys_identical(ix, &old.key, &entry->key))
	{
		pos.item++;
		if (plan_sharing(ix, page, pos, plan))
			return true;
	}
	pos = *place;
	if (may_be_beside(ix, page, entry, place, false) &&
		fpb_page_next(ix, page, &pos, &old) &&
		fpb_keys_identical(ix, &old.key, &entry->key))
	{
		pos.item = 0;
		return plan_sharing(ix, page, pos, plan);
	}
	return false;
}

/*
 * The entry that a full posting loses if it gets another one inside.
 */
static void
last_of_posting(const FpbIndex *ix, Page page, const FpbPos *pos, FpbEntry *entry)
{
	int			codec;
	char	   *node = fpb_page_node(ix, page, pos->dir, &codec);

	fpb_read_slot(ix, page, fpb_shape(ix, page), codec, node, pos->slot, entry);
	entry->key.tail = fpb_posting_tail(entry->key.tuple,
									   fpb_posting_slots(entry->key.tuple) - 1);
}

/*
 * Plan an insertion whose place is in or beside a one-key node.  (Only words have
 * them.)
 */
static void
plan_beside_one_key(const FpbIndex *ix, Page page, const FpbEntry *entry,
					const FpbProbe *probe, const FpbPos *place, char *node,
					FpbInsertPlan *plan)
{
	const FpbShape *shape = fpb_shape(ix, page);
	int			nslots = fpb_one_key_slots(shape);
	FpbEntry	any;

	fpb_read_slot(ix, page, shape, FPB_NODE_ONE_KEY, node, 0, &any);
	if (fpb_keys_identical(ix, &any.key, &entry->key))
	{
		plan->kind = FPB_PLAN_SLOT;
		if (nearest_gap(ix, shape, FPB_NODE_ONE_KEY, node, place->slot) >= 0)
			return;
		if (place->slot == nslots)
		{
			plan->kind = FPB_PLAN_APPEND_ONE_KEY;
			plan->pos.dir++;
		}
		else
		{
			plan->kind = FPB_PLAN_SPLIT_NODE;
			plan->split_at = nslots / 2;
		}
	}
	else
	{
		/*
		 * Another key comes before or behind the whole node: into the plain
		 * node there if it has a gap, else into a new one.
		 */
		bool		before = fpb_compare(ix, &any.key, probe) > 0;
		int			neighbour = place->dir + (before ? -1 : 1);

		if (plain_with_gap(ix, page, neighbour))
		{
			plan->kind = FPB_PLAN_SLOT;
			plan->pos.dir = neighbour;
			plan->pos.slot = 0;
			if (before)
				plan->pos = end_of_node(ix, page, neighbour, entry);
			return;
		}
		plan->kind = FPB_PLAN_APPEND_NODE;
		plan->pos.dir = place->dir + (before ? 0 : 1);
		plan->pos.slot = 0;
	}
	if (!page_has_room(ix, page, 1, 0))
	{
		int			n;
		FpbEntry   *entries = collect_with(ix, page, entry, place, &n);

		plan_rebuild(ix, page, entries, n, REBUILD_SLACK_ONE_KEY, 0, plan);
		pfree(entries);
	}
}

/*
 * Plan to give an entry a slot of its own before *place.  False if the page has no
 * room for it.
 */
static bool
plan_slot(const FpbIndex *ix, Page page, const FpbEntry *entry,
		  const FpbProbe *probe, const FpbPos *place, FpbInsertPlan *plan)
{
	const FpbShape *shape = fpb_shape(ix, page);
	Size		tuple = tuple_room(ix, &entry->key, 1);
	int			codec;
	char	   *node;
	int			nslots;

	plan->pos = *place;

	/* the page's first node */
	if (FpbHdr(page)->nnodes == 0)
	{
		plan->kind = FPB_PLAN_APPEND_NODE;
		return page_has_room(ix, page, 1, tuple);
	}

	node = fpb_page_node(ix, page, place->dir, &codec);
	nslots = fpb_node_slots(shape, codec);

	if (codec == FPB_NODE_ONE_KEY)
	{
		plan_beside_one_key(ix, page, entry, probe, place, node, plan);
		return true;
	}

	plan->kind = FPB_PLAN_SLOT;
	if (!page_has_room(ix, page, 0, tuple))
		return false;
	if (nearest_gap(ix, shape, codec, node, place->slot) >= 0)
		return true;

	/* The node is full. */
	if (place->slot == nslots && plain_with_gap(ix, page, place->dir + 1))
	{
		plan->pos.dir++;
		plan->pos.slot = 0;
		return true;
	}
	if (convertible(ix, page, node, entry))
	{
		plan->kind = FPB_PLAN_CONVERT_NODE;
		return true;
	}
	if (!page_has_room(ix, page, 1, tuple))
		return plan_spill(ix, page, entry, place, node, plan);
	if (place->slot == nslots)
	{
		plan->kind = FPB_PLAN_APPEND_NODE;
		plan->pos.dir++;
	}
	else
	{
		plan->kind = FPB_PLAN_SPLIT_NODE;
		plan->split_at = split_slot(ix, page, shape, node);
	}
	return true;
}

/*
 * Find out how a new entry is to be put into the page, which is locked
 * exclusively and is the right one for it.
 */
void
fpb_page_plan_insert(const FpbIndex *ix, Page page, const FpbEntry *entry,
					 FpbInsertPlan *plan)
{
	const FpbEntry *rest = entry;	/* what is to have a slot */
	FpbEntry	last;
	FpbPos		found;
	FpbPos		place;
	FpbProbe	probe;

	plan->image = NULL;
	plan->swap = false;
	fpb_probe_from_key(ix, &entry->key, &probe);
	fpb_page_search(ix, page, &probe, &found);
	place = found;

	/*
	 * Its place may be among the TIDs of a posting.  (An equal tuple may be
	 * compressed in another way; it takes on the posting's bytes.)
	 */
	if (place.item > 0)
	{
		if (plan_sharing(ix, page, place, plan))
			return;
		plan->swap = true;
		plan->swapped = place;
		last_of_posting(ix, page, &place, &last);
		rest = &last;
		place.slot++;
		place.item = 0;
	}
	if (ix->max_posting > 0 && FpbPageIsLeaf(page) &&
		plan_beside_equal(ix, page, rest, &place, plan))
		return;
	if (!plan_slot(ix, page, rest, &probe, &place, plan))
	{
		plan->swap = false;
		plan_to_make_room(ix, page, entry, &found, plan);
	}
}

/*
 * Plan to make the page afresh, with as much slack as it has room for: because
 * an image of it will be logged anyway, so that the reorganisation that it would
 * need some insertions later is free and the image no larger than it must be; or
 * because dead entries have left room in it, and it need not be split.  False
 * if it is too full.
 */
bool
fpb_page_plan_reorganise(const FpbIndex *ix, Page page, const FpbEntry *entry,
						 FpbInsertPlan *plan)
{
	FpbEntry   *entries;
	int			n;
	FpbProbe	probe;
	FpbPos		place;

	plan->swap = false;
	plan->kind = FPB_PLAN_FULL;
	fpb_probe_from_key(ix, &entry->key, &probe);
	fpb_page_search(ix, page, &probe, &place);
	entries = collect_with(ix, page, entry, &place, &n);
	for (int i = 0; i < lengthof(reorganise_slacks) && plan->kind == FPB_PLAN_FULL; i++)
		plan_rebuild(ix, page, entries, n, reorganise_slacks[i], 0, plan);
	pfree(entries);
	return plan->kind == FPB_PLAN_REBUILD;
}

/*
 * All entries of the page with a new one at its place, in order; returns how
 * many.  *newpos, unless NULL, is the new one's index.  Tuples stay in place.
 */
int
fpb_page_entries_with(const FpbIndex *ix, Page page, const FpbEntry *entry,
					  const FpbPos *pos, FpbEntry *entries, int *newpos)
{
	FpbPos		at = {0};
	FpbEntry	old;
	int			n = 0;
	int			where = -1;

	while (fpb_page_next(ix, page, &at, &old))
	{
		if (where < 0 && !fpb_pos_before(at, *pos))
		{
			where = n;
			entries[n++] = *entry;
		}
		entries[n++] = old;
		fpb_page_advance(ix, page, &at);
	}
	if (where < 0)
	{
		where = n;
		entries[n++] = *entry;
	}

	/*
	 * Between two of the same key it is of that key, though perhaps
	 * compressed in another way.  It must not part their posting, and takes
	 * on its bytes.  (Pivots don't: theirs hold their TIDs.)
	 */
	if (ix->one_key && !fpb_is_word(ix) && FpbPageIsLeaf(page) &&
		where > 0 && where + 1 < n &&
		fpb_keys_identical(ix, &entries[where - 1].key, &entries[where + 1].key))
		entries[where].key.tuple = entries[where - 1].key.tuple;

	if (newpos != NULL)
		*newpos = where;
	return n;
}

/* --- doing --- */

/*
 * The dir'th node, which has been checked.
 */
static char *
node_at(const FpbIndex *ix, Page page, int dir)
{
	return (char *) page + fpb_page_base(FpbHdr(page)->dircap) +
		fpb_dir_nodes(page)[dir] * fpb_shape(ix, page)->size;
}

/*
 * Note the bytes of slots [from, to] of one array of a node.
 */
static void
note_slots(FpbWalPage *wp, char *array, int from, int to, int width)
{
	fpb_wal_note(wp, array + from * width, (to - from + 1) * width);
}

/*
 * Move elements [from, to] of an array by one, to the right or to the left.
 */
static void
shift_slots(char *array, int from, int to, int by, int width)
{
	memmove(array + (from + by) * width, array + from * width,
			(to - from + 1) * width);
}

/* one of the parallel arrays of a node */
typedef struct NodeArray
{
	char	   *start;
	int			width;
} NodeArray;

/*
 * The arrays of a node, the tails or tuple offsets last; returns how many.
 */
static int
node_arrays(const FpbIndex *ix, const FpbShape *shape, int codec, char *node,
			NodeArray *arrays)
{
	int			n = 0;

	if (codec == FPB_NODE_PLAIN)
	{
		arrays[n].start = node;
		arrays[n++].width = ix->head_width;
		if (ix->form == FPB_WORD16)
		{
			arrays[n].start = node + shape->low_off;
			arrays[n++].width = sizeof(uint64);
		}
		if (shape->child_off != 0)
		{
			arrays[n].start = node + shape->child_off;
			arrays[n++].width = sizeof(uint32);
		}
	}
	arrays[n].start = fpb_node_tails(shape, codec, node);
	arrays[n++].width = (codec == FPB_NODE_PLAIN && !fpb_is_word(ix)) ?
		sizeof(uint16) : FPB_TAIL_BYTES;
	return n;
}

/*
 * Copy a tuple into the tuple area, where there is room; returns its offset.
 */
static uint32
add_tuple(const FpbIndex *ix, Page page, const FpbKey *key, FpbWalPage *wp)
{
	FpbPageHeader *hdr = FpbHdr(page);
	Size		size = fpb_posting_size(key->tuple, 1);
	uint32		end = hdr->pd.pd_upper;
	uint32		offset = TYPEALIGN_DOWN(fpb_tuple_align(key->tuple), end - size);

	/*
	 * The padding is logged, too: if a cut in the same record has freed this
	 * space, replay does not find zeros there.
	 */
	memcpy((char *) page + offset, key->tuple, IndexTupleSize(key->tuple));
	hdr->pd.pd_upper = offset;
	fpb_wal_note(wp, (char *) page + offset, end - offset);
	fpb_wal_note(wp, &hdr->pd.pd_upper, sizeof(hdr->pd.pd_upper));
	return offset;
}

/*
 * An entry with this head has been put into the dir'th node.  The bound of the
 * next node may be lower than any entry there, and then lower than the new one,
 * which comes before them all: raise it.
 */
static void
raise_next_bound(Page page, int dir, uint64 head, FpbWalPage *wp)
{
	uint64	   *next = fpb_dir_heads(page) + dir + 1;

	if (dir + 1 < FpbHdr(page)->nnodes && *next < head)
	{
		*next = head;
		fpb_wal_note(wp, next, sizeof(uint64));
	}
}

/*
 * Put an entry into a node that has a gap, before pos->slot.  Tuple form: its
 * tuple is at tuple_offset in the page, or is added if that is 0.
 */
static void
insert_into_slot(const FpbIndex *ix, Page page, const FpbEntry *entry,
				 uint32 tuple_offset, const FpbPos *pos, FpbWalPage *wp)
{
	const FpbShape *shape = fpb_shape(ix, page);
	int			codec = fpb_dir_codecs(page)[pos->dir];
	char	   *node = node_at(ix, page, pos->dir);
	int			gap = nearest_gap(ix, shape, codec, node, pos->slot);
	int			slot = gap >= pos->slot ? pos->slot : pos->slot - 1;
	uint64	   *heads = fpb_dir_heads(page);
	NodeArray	arrays[4];
	int			narrays = node_arrays(ix, shape, codec, node, arrays);

	/* writing before the node would be the worst of answers */
	if (unlikely(gap < 0))
		elog(PANIC, "insertion into a full node of an fpbtree page");
	for (int i = 0; i < narrays; i++)
	{
		if (gap > slot)
			shift_slots(arrays[i].start, slot, gap - 1, 1, arrays[i].width);
		else if (gap < slot)
			shift_slots(arrays[i].start, gap + 1, slot, -1, arrays[i].width);
		note_slots(wp, arrays[i].start, Min(slot, gap), Max(slot, gap),
				   arrays[i].width);
	}

	if (codec == FPB_NODE_ONE_KEY)
		fpb_write_tail(node + FPB_ONE_KEY_HEADER, slot, entry->key.tail);
	else
	{
		if (!fpb_is_word(ix) && tuple_offset == 0)
			tuple_offset = add_tuple(ix, page, &entry->key, wp);
		fpb_write_slot(ix, shape, node, slot, entry, tuple_offset);
	}
	fpb_page_clear_hints(ix, page, pos->dir, Min(slot, gap), Max(slot, gap));

	/* an entry put before all of the node's may be below its bound */
	if (entry->key.head < heads[pos->dir])
	{
		heads[pos->dir] = entry->key.head;
		fpb_wal_note(wp, &heads[pos->dir], sizeof(uint64));
	}
	raise_next_bound(page, pos->dir, entry->key.head, wp);
}

/*
 * The number of the first node that the directory does not name.
 */
static int
free_node(Page page)
{
	bool		used[FPB_MAX_NODES + 1] = {0};
	int			number = 0;

	for (int dir = 0; dir < FpbHdr(page)->nnodes; dir++)
		used[fpb_dir_nodes(page)[dir]] = true;
	while (used[number])
		number++;
	return number;
}

/*
 * Allocate a node and name it in the directory at dir.  Its content is the
 * caller's to write and to note.
 */
static char *
add_node(const FpbIndex *ix, Page page, int dir, uint64 head, int codec,
		 FpbWalPage *wp)
{
	FpbPageHeader *hdr = FpbHdr(page);
	const FpbShape *shape = fpb_shape(ix, page);
	int			moved = hdr->nnodes - dir;
	int			number = free_node(page);

	memmove(fpb_dir_heads(page) + dir + 1, fpb_dir_heads(page) + dir,
			moved * sizeof(uint64));
	memmove(fpb_dir_nodes(page) + dir + 1, fpb_dir_nodes(page) + dir, moved);
	memmove(fpb_dir_codecs(page) + dir + 1, fpb_dir_codecs(page) + dir, moved);
	fpb_dir_heads(page)[dir] = head;
	fpb_dir_nodes(page)[dir] = number;
	fpb_dir_codecs(page)[dir] = codec;
	hdr->nnodes++;
	if (number >= hdr->nalloc)
	{
		hdr->nalloc++;
		hdr->pd.pd_lower += shape->size;

		/* hints that lie behind the nodes have to begin anew */
		if (shape->hints_off == 0)
			memset(fpb_hints(shape, page), 0, hdr->nalloc * shape->hint_bytes);
	}

	fpb_wal_note(wp, fpb_dir_heads(page) + dir, (moved + 1) * sizeof(uint64));
	fpb_wal_note(wp, fpb_dir_nodes(page) + dir, moved + 1);
	fpb_wal_note(wp, fpb_dir_codecs(page) + dir, moved + 1);
	fpb_wal_note(wp, &hdr->nnodes, sizeof(hdr->nnodes));
	fpb_wal_note(wp, &hdr->nalloc, sizeof(hdr->nalloc));
	fpb_wal_note(wp, &hdr->pd.pd_lower, sizeof(hdr->pd.pd_lower));
	return (char *) page + fpb_page_base(hdr->dircap) + number * shape->size;
}

/*
 * Fill the slots of a plain node from slots [from, to) of another's copy, gaps
 * left out, spread evenly.
 */
static void
spread_plain(const FpbIndex *ix, const FpbShape *shape, char *node,
			 char *copy, int from, int to)
{
	NodeArray	dst[4];
	NodeArray	src[4];
	int			narrays = node_arrays(ix, shape, FPB_NODE_PLAIN, node, dst);
	int			count = to - from;
	int			slot = 0;

	node_arrays(ix, shape, FPB_NODE_PLAIN, copy, src);
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
 * The same for TIDs [from, to) of a copy, into so many places.
 */
static void
spread_tails(char *tails, int nslots, const char *copy, int from, int to)
{
	int			count = to - from;
	int			slot = 0;

	for (int i = 0; i < count; i++)
	{
		int			next = (i + 1) * nslots / count;
		uint64		tail = fpb_read_tail(copy, from + i);

		for (int first = slot; slot < next; slot++)
			fpb_write_tail(tails, slot, slot == first ? tail : 0);
	}
}

/*
 * Split the full node at plan->pos in two and put the entry into the half it
 * belongs to.
 */
static void
split_node(const FpbIndex *ix, Page page, const FpbEntry *entry,
		   const FpbInsertPlan *plan, FpbWalPage *wp)
{
	const FpbPos *pos = &plan->pos;
	int			at = plan->split_at;
	const FpbShape *shape = fpb_shape(ix, page);
	int			codec = fpb_dir_codecs(page)[pos->dir];
	char	   *node = node_at(ix, page, pos->dir);
	int			nslots = fpb_node_slots(shape, codec);
	NodeCopy	copy;
	char	   *right;
	FpbPos		place = {0};

	memcpy(copy.data, node, shape->size);
	if (codec == FPB_NODE_PLAIN)
	{
		right = add_node(ix, page, pos->dir + 1,
						 fpb_node_head(ix, node, at), codec, wp);
		spread_plain(ix, shape, right, copy.data, at, nslots);
		spread_plain(ix, shape, node, copy.data, 0, at);
	}
	else
	{
		right = add_node(ix, page, pos->dir + 1, ((uint64 *) node)[0], codec, wp);
		memcpy(right, node, FPB_ONE_KEY_HEADER);
		spread_tails(right + FPB_ONE_KEY_HEADER, nslots,
					 copy.data + FPB_ONE_KEY_HEADER, at, nslots);
		spread_tails(node + FPB_ONE_KEY_HEADER, nslots,
					 copy.data + FPB_ONE_KEY_HEADER, 0, at);
	}
	fpb_wal_note(wp, node, shape->size);
	fpb_wal_note(wp, right, shape->size);
	fpb_page_clear_hints(ix, page, pos->dir, 0, nslots - 1);

	/*
	 * The node was full and has been spread, so that its i'th slot is now the
	 * place of the i'th of so many.
	 */
	place.dir = pos->slot <= at ? pos->dir : pos->dir + 1;
	if (place.dir == pos->dir)
		place.slot = pos->slot == 0 ? 0 : (pos->slot - 1) * nslots / at + 1;
	else
		place.slot = (pos->slot - at - 1) * nslots / (nslots - at) + 1;
	insert_into_slot(ix, page, entry, 0, &place, wp);
}

/*
 * Make a plain node full of duplicates of the entry's key a one-key node, and
 * put the entry into it.
 */
static void
convert_node(const FpbIndex *ix, Page page, const FpbEntry *entry,
			 const FpbPos *pos, FpbWalPage *wp)
{
	const FpbShape *shape = fpb_shape(ix, page);
	char	   *node = node_at(ix, page, pos->dir);
	uint64	   *header = (uint64 *) node;
	int			nslots = shape->nslots;
	int			one_key_slots = fpb_one_key_slots(shape);
	char		tails[FPB_MAX_LINES * FPB_CACHE_LINE];
	FpbEntry	first;
	FpbPos		place = *pos;

	fpb_read_slot(ix, page, shape, FPB_NODE_PLAIN, node, 0, &first);
	for (int i = 0; i < nslots; i++)
	{
		FpbEntry	old;

		fpb_read_slot(ix, page, shape, FPB_NODE_PLAIN, node, i, &old);
		fpb_write_tail(tails, i, old.key.tail);
	}
	header[0] = first.key.head;
	header[1] = first.key.low;
	spread_tails(node + FPB_ONE_KEY_HEADER, one_key_slots, tails, 0, nslots);
	fpb_dir_codecs(page)[pos->dir] = FPB_NODE_ONE_KEY;
	fpb_wal_note(wp, node, shape->size);
	fpb_wal_note(wp, &fpb_dir_codecs(page)[pos->dir], sizeof(uint8));
	fpb_page_clear_hints(ix, page, pos->dir, 0, nslots - 1);

	place.slot = pos->slot == 0 ? 0 : (pos->slot - 1) * one_key_slots / nslots + 1;
	insert_into_slot(ix, page, entry, 0, &place, wp);
}

/*
 * Make a slot a gap, whatever it holds.
 */
static void
empty_slot(const FpbIndex *ix, Page page, int dir, int slot, FpbWalPage *wp)
{
	const FpbShape *shape = fpb_shape(ix, page);
	int			codec = fpb_dir_codecs(page)[dir];
	char	   *node = node_at(ix, page, dir);
	NodeArray	arrays[4];
	int			last = node_arrays(ix, shape, codec, node, arrays) - 1;

	fpb_make_gap(ix, shape, codec, node, slot);
	note_slots(wp, arrays[last].start, slot, slot, arrays[last].width);
	if (shape->child_off != 0)
		note_slots(wp, node + shape->child_off, slot, slot, sizeof(uint32));
	fpb_page_clear_hints(ix, page, dir, slot, slot);
}

/*
 * Move the first or last slot of a full node to its neighbour, as planned, and
 * put the new entry into the node.
 */
static void
spill_node(const FpbIndex *ix, Page page, const FpbEntry *entry,
		   const FpbInsertPlan *plan, FpbWalPage *wp)
{
	const FpbShape *shape = fpb_shape(ix, page);
	char	   *node = node_at(ix, page, plan->spill.dir);
	FpbEntry	moved;

	fpb_read_slot(ix, page, shape, FPB_NODE_PLAIN, node, plan->spill.slot, &moved);
	insert_into_slot(ix, page, &moved,
					 fpb_is_word(ix) ? 0 : fpb_node_tuples(shape, node)[plan->spill.slot],
					 &plan->spill_to, wp);
	empty_slot(ix, page, plan->spill.dir, plan->spill.slot, wp);
	insert_into_slot(ix, page, entry, 0, &plan->pos, wp);
}

/*
 * The tuple of a slot that is not a gap, which has been checked.
 */
static IndexTuple
slot_tuple(const FpbIndex *ix, Page page, const FpbPos *pos)
{
	return (IndexTuple) ((char *) page +
						 fpb_node_tuples(&ix->leaf, node_at(ix, page, pos->dir))[pos->slot]);
}

/*
 * Put an entry into a posting that has a gap, before pos->item.
 */
static void
insert_into_posting(const FpbIndex *ix, Page page, const FpbEntry *entry,
					const FpbPos *pos, FpbWalPage *wp)
{
	IndexTuple	posting = slot_tuple(ix, page, pos);
	char	   *tails = fpb_posting_tails(posting);
	int			gap = nearest_posting_gap(posting, pos->item);
	int			item = gap >= pos->item ? pos->item : pos->item - 1;

	if (unlikely(gap < 0))
		elog(PANIC, "insertion into a full posting of an fpbtree page");
	if (gap > item)
		shift_slots(tails, item, gap - 1, 1, FPB_TAIL_BYTES);
	else if (gap < item)
		shift_slots(tails, gap + 1, item, -1, FPB_TAIL_BYTES);
	fpb_write_tail(tails, item, entry->key.tail);
	note_slots(wp, tails, Min(item, gap), Max(item, gap), FPB_TAIL_BYTES);
	fpb_page_clear_hints(ix, page, pos->dir, pos->slot, pos->slot);
}

/*
 * Make the tuple of a slot, which has no gap, a posting with room for so many TIDs,
 * with an entry put before pos->item.  If the old tuple has been added last, its
 * bytes are used again.
 */
static void
grow_posting(const FpbIndex *ix, Page page, const FpbEntry *entry,
			 const FpbPos *pos, int tids, FpbWalPage *wp)
{
	FpbPageHeader *hdr = FpbHdr(page);
	uint16	   *place = fpb_node_tuples(&ix->leaf, node_at(ix, page, pos->dir)) + pos->slot;
	IndexTuple	old = slot_tuple(ix, page, pos);
	bool		posting = fpb_is_posting(old);
	int			nold = posting ? fpb_posting_slots(old) : 1;
	Size		size = fpb_posting_size(old, tids);
	uint32		end = hdr->pd.pd_upper;
	uint32		offset;
	PGAlignedBlock copy;
	IndexTuple	new = (IndexTuple) copy.data;

	memset(new, 0, size);
	memcpy(new, old, IndexTupleSize(old));
	fpb_posting_set_slots(new, tids);
	for (int i = 0; i <= nold; i++)
	{
		/* more will come behind the last, or else anywhere */
		int			item = pos->item == nold ? i : i * tids / (nold + 1);
		uint64		tail = entry->key.tail;

		if (i != pos->item)
			tail = posting ? fpb_posting_tail(old, i - (i > pos->item)) :
				fpb_tail_pack(0, &old->t_tid);
		fpb_write_tail(fpb_posting_tails(new), item, tail);
	}

	if (*place == end && (FpbPageIsLeftmost(page) || hdr->low_tail != end))
		end += fpb_posting_size(old, nold);
	offset = TYPEALIGN_DOWN(fpb_tuple_align(new), end - size);
	memcpy((char *) page + offset, new, size);
	hdr->pd.pd_upper = offset;
	*place = offset;
	fpb_wal_note(wp, (char *) page + offset, end - offset);
	fpb_wal_note(wp, &hdr->pd.pd_upper, sizeof(hdr->pd.pd_upper));
	fpb_wal_note(wp, place, sizeof(uint16));
	fpb_page_clear_hints(ix, page, pos->dir, pos->slot, pos->slot);
}

/*
 * Put an entry into a full posting, before pos->item, and take out the last one,
 * which becomes *last; its tuple is made in memory of the caller's.
 */
static void
swap_last(const FpbIndex *ix, Page page, const FpbEntry *entry,
		  const FpbPos *pos, FpbEntry *last, IndexTuple tuple, FpbWalPage *wp)
{
	IndexTuple	posting = slot_tuple(ix, page, pos);
	char	   *tails = fpb_posting_tails(posting);
	int			n = fpb_posting_slots(posting);

	last_of_posting(ix, page, pos, last);
	memcpy(tuple, posting, IndexTupleSize(posting));
	fpb_tail_tid(last->key.tail, &tuple->t_tid);
	last->key.tuple = tuple;
	shift_slots(tails, pos->item, n - 2, 1, FPB_TAIL_BYTES);
	fpb_write_tail(tails, pos->item, entry->key.tail);
	note_slots(wp, tails, pos->item, n - 1, FPB_TAIL_BYTES);
	fpb_page_clear_hints(ix, page, pos->dir, pos->slot, pos->slot);
}

/*
 * Was the node that has just been added all zeros before, at replay too?  It
 * was if it comes out of the hole, and not from a cut in the same record.  (In
 * the tuple form hints may have been there.)
 */
static bool
node_was_zero(const FpbIndex *ix, Page page, const char *node,
			  const FpbWalPage *wp)
{
	return fpb_is_word(ix) && node >= (char *) page + wp->lower;
}

/*
 * Put an entry into a new one-key node, the pos->dir'th, whose key is that of
 * the node before.
 */
static void
append_one_key(const FpbIndex *ix, Page page, const FpbEntry *entry,
			   const FpbPos *pos, FpbWalPage *wp)
{
	const FpbShape *shape = fpb_shape(ix, page);
	char	   *before = node_at(ix, page, pos->dir - 1);
	char	   *node;

	Assert(fpb_dir_codecs(page)[pos->dir - 1] == FPB_NODE_ONE_KEY);
	node = add_node(ix, page, pos->dir, ((uint64 *) before)[0],
					FPB_NODE_ONE_KEY, wp);
	memset(node, 0, shape->size);
	memcpy(node, before, FPB_ONE_KEY_HEADER);
	fpb_write_tail(node + FPB_ONE_KEY_HEADER, 0, entry->key.tail);
	fpb_wal_note(wp, node, node_was_zero(ix, page, node, wp) ?
				 FPB_ONE_KEY_HEADER + FPB_TAIL_BYTES : shape->size);
}

/*
 * Put an entry into a new node of its own, the pos->dir'th.
 */
static void
append_node(const FpbIndex *ix, Page page, const FpbEntry *entry,
			const FpbPos *pos, FpbWalPage *wp)
{
	const FpbShape *shape = fpb_shape(ix, page);
	char	   *node;

	node = add_node(ix, page, pos->dir, entry->key.head, FPB_NODE_PLAIN, wp);
	raise_next_bound(page, pos->dir, entry->key.head, wp);
	memset(node, 0, shape->size);
	fpb_write_slot(ix, shape, node, 0, entry,
				   fpb_is_word(ix) ? 0 : add_tuple(ix, page, &entry->key, wp));
	for (int slot = 1; slot < shape->nslots; slot++)
		fpb_write_gap(ix, shape, node, slot, PG_UINT64_MAX);

	/* gaps have heads, and downlinks that are not zero */
	if (node_was_zero(ix, page, node, wp))
	{
		NodeArray	arrays[4];
		int			narrays = node_arrays(ix, shape, FPB_NODE_PLAIN, node, arrays);

		for (int i = 0; i < narrays; i++)
		{
			bool		whole = arrays[i].start == node ||
				arrays[i].start == (char *) fpb_node_children(shape, node);

			note_slots(wp, arrays[i].start, 0, whole ? shape->nslots - 1 : 0,
					   arrays[i].width);
		}
	}
	else
		fpb_wal_note(wp, node, shape->size);
}

/*
 * Insert an entry as planned.  To be called in a critical section: what the
 * page is relied on to be has been checked by the plan.
 */
void
fpb_page_insert(const FpbIndex *ix, Page page, const FpbEntry *entry,
				const FpbInsertPlan *plan, FpbWalPage *wp)
{
	PGAlignedBlock tuple;
	FpbEntry	last;

	if (plan->swap)
	{
		swap_last(ix, page, entry, &plan->swapped, &last, (IndexTuple) tuple.data, wp);
		entry = &last;
	}
	switch (plan->kind)
	{
		case FPB_PLAN_SLOT:
			insert_into_slot(ix, page, entry, 0, &plan->pos, wp);
			break;
		case FPB_PLAN_APPEND_NODE:
			append_node(ix, page, entry, &plan->pos, wp);
			break;
		case FPB_PLAN_APPEND_ONE_KEY:
			append_one_key(ix, page, entry, &plan->pos, wp);
			break;
		case FPB_PLAN_SPLIT_NODE:
			split_node(ix, page, entry, plan, wp);
			break;
		case FPB_PLAN_SPILL:
			spill_node(ix, page, entry, plan, wp);
			break;
		case FPB_PLAN_CONVERT_NODE:
			convert_node(ix, page, entry, &plan->pos, wp);
			break;
		case FPB_PLAN_POSTING:
			insert_into_posting(ix, page, entry, &plan->pos, wp);
			break;
		case FPB_PLAN_GROW:
			grow_posting(ix, page, entry, &plan->pos, plan->tids, wp);
			break;
		case FPB_PLAN_REBUILD:
			fpb_page_replace(page, plan->image->data, wp);
			break;
		case FPB_PLAN_FULL:
			elog(PANIC, "insertion into a full fpbtree page");
			break;
	}
}

/*
 * Replace a page by an image made of it.  To be called in a critical section.
 */
void
fpb_page_replace(Page page, const char *image, FpbWalPage *wp)
{
	XLogRecPtr	lsn = PageGetLSN(page);

	memcpy(page, image, BLCKSZ);
	PageSetLSN(page, lsn);
	wp->image = true;
}

/*
 * Delete an entry; none, if *pos is that of a gap.
 */
static void
delete_entry(const FpbIndex *ix, Page page, const FpbPos *pos, FpbWalPage *wp)
{
	const FpbShape *shape = fpb_shape(ix, page);
	IndexTuple	posting;

	if (!fpb_is_word(ix) && FpbPageIsLeaf(page) &&
		!fpb_node_is_gap(ix, shape, FPB_NODE_PLAIN, node_at(ix, page, pos->dir), pos->slot) &&
		fpb_is_posting(posting = slot_tuple(ix, page, pos)))
	{
		char	   *tails = fpb_posting_tails(posting);

		fpb_write_tail(tails, pos->item, 0);
		note_slots(wp, tails, pos->item, pos->item, FPB_TAIL_BYTES);
		if (fpb_posting_next(posting, 0) < fpb_posting_slots(posting))
			return;
	}
	empty_slot(ix, page, pos->dir, pos->slot, wp);
}

/*
 * Delete entries.  To be called in a critical section.
 */
void
fpb_page_delete(const FpbIndex *ix, Page page, const FpbPos *pos, int npos,
				FpbWalPage *wp)
{
	for (int i = 0; i < npos; i++)
		delete_entry(ix, page, &pos[i], wp);
}

/*
 * Return tuples to the page's hole that nothing refers to any more, and that
 * have been added later than all others.
 */
static void
free_last_tuples(const FpbIndex *ix, Page page, FpbWalPage *wp)
{
	FpbPageHeader *hdr = FpbHdr(page);
	uint32		old = hdr->pd.pd_upper;
	uint32		upper = BLCKSZ;
	FpbPos		pos = {0};
	FpbEntry	entry;

	while (fpb_page_next(ix, page, &pos, &entry))
	{
		upper = Min(upper, (uint32) ((char *) entry.key.tuple - (char *) page));
		fpb_page_advance(ix, page, &pos);
	}
	if (!FpbPageIsLeftmost(page))
		upper = Min(upper, (uint32) hdr->low_tail);
	if (!FpbPageIsRightmost(page) && !FpbPageHighElided(page))
		upper = Min(upper, (uint32) hdr->high_tail);
	if (upper <= old)
		return;
	hdr->pd.pd_upper = upper;
	fpb_wal_note(wp, &hdr->pd.pd_upper, sizeof(hdr->pd.pd_upper));
	memset((char *) page + old, 0, upper - old);
}

/*
 * Delete all entries from *pos on and free their nodes; those behind all that
 * remain go back to the page's hole.  Tuples among others stay until the page
 * is made afresh.
 */
void
fpb_page_cut(const FpbIndex *ix, Page page, const FpbPos *pos, FpbWalPage *wp)
{
	FpbPageHeader *hdr = FpbHdr(page);
	const FpbShape *shape = fpb_shape(ix, page);
	int			keep = pos->dir + (pos->slot > 0 || pos->item > 0 ? 1 : 0);
	int			nalloc = 0;
	int			freed;

	if (keep > pos->dir)
	{
		int			nslots = fpb_node_slots(shape, fpb_dir_codecs(page)[pos->dir]);
		FpbPos		gone = *pos;

		if (pos->item > 0)
		{
			int			nitems = fpb_posting_slots(slot_tuple(ix, page, pos));

			for (; gone.item < nitems; gone.item++)
				delete_entry(ix, page, &gone, wp);
			gone.slot++;
		}
		for (; gone.slot < nslots; gone.slot++)
			empty_slot(ix, page, gone.dir, gone.slot, wp);
	}
	for (int dir = keep; dir < hdr->nnodes; dir++)
		fpb_page_clear_hints(ix, page, dir, 0, BLCKSZ);
	hdr->nnodes = keep;
	for (int dir = 0; dir < keep; dir++)
		nalloc = Max(nalloc, fpb_dir_nodes(page)[dir] + 1);

	/* hints that lie behind the nodes have to begin anew */
	if (shape->hints_off == 0)
		memset(fpb_hints(shape, page), 0, hdr->nalloc * shape->hint_bytes);
	freed = (hdr->nalloc - nalloc) * shape->size;
	hdr->nalloc = nalloc;
	hdr->pd.pd_lower -= freed;
	memset((char *) page + hdr->pd.pd_lower, 0, freed);
	fpb_wal_note(wp, &hdr->nnodes, sizeof(hdr->nnodes));
	fpb_wal_note(wp, &hdr->nalloc, sizeof(hdr->nalloc));
	fpb_wal_note(wp, &hdr->pd.pd_lower, sizeof(hdr->pd.pd_lower));
	if (!fpb_is_word(ix))
		free_last_tuples(ix, page, wp);
}

/* --- fences --- */

/*
 * Has the page room for this high fence?
 */
bool
fpb_page_extend_plan(const FpbIndex *ix, Page page, const FpbKey *high)
{
	return high == NULL || high->tuple == NULL ||
		page_has_room(ix, page, 0, tuple_room(ix, high, 1));
}

/*
 * Give the page another high fence and right link, when its right sibling is
 * deleted.  high is NULL if that was the rightmost.  To be called in a
 * critical section, fpb_page_extend_plan having returned true.
 */
void
fpb_page_extend(const FpbIndex *ix, Page page, const FpbKey *high,
				BlockNumber right, FpbWalPage *wp)
{
	FpbPageHeader *hdr = FpbHdr(page);

	hdr->right = right;
	hdr->flags &= ~FPB_HIGH_ELIDED;
	if (high == NULL)
		hdr->flags |= FPB_RIGHTMOST;
	else
	{
		hdr->high_head = high->head;
		hdr->high_low = high->low;
		if (fpb_high_elided(ix, high))
		{
			hdr->high_tail = 0;
			hdr->flags |= FPB_HIGH_ELIDED;
		}
		else
			hdr->high_tail = fpb_is_word(ix) ? high->tail :
				add_tuple(ix, page, high, wp);
	}
	fpb_wal_note(wp, (char *) page + offsetof(FpbPageHeader, magic),
				 sizeof(FpbPageHeader) - offsetof(FpbPageHeader, magic));
}
