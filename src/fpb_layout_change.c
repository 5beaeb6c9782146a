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
#define REBUILD_SLACK_ONE_KEY	5	/* room for many more duplicates */

/*
 * Slots in a hundred left free in a page that an image is logged of, if they
 * can be; else as many as can be.  More gaps make the image larger, fewer make
 * the records of the insertions that follow so.
 */
#define REORGANISE_SLACK	15

/* the largest node, for copies of one */
typedef union NodeCopy
{
	char		data[FPB_MAX_LINES * FPB_CACHE_LINE];
	uint64		align;
} NodeCopy;

/* --- planning --- */

/*
 * Bytes to allow for a new entry's tuple, alignment included.
 */
static Size
tuple_room(const FpbIndex *ix, const FpbEntry *entry)
{
	if (fpb_is_word(ix))
		return 0;
	return IndexTupleSize(entry->key.tuple) + fpb_tuple_align(entry->key.tuple) - 1;
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
	FpbPos		pos = {dir, shape->nslots};

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

	if (!ix->one_key || !FpbPageIsLeaf(page))
		return false;
	fpb_read_slot(ix, page, shape, FPB_NODE_PLAIN, node, 0, &first);
	if (!fpb_keys_identical(ix, &first.key, &entry->key))
		return false;
	fpb_read_slot(ix, page, shape, FPB_NODE_PLAIN, node, shape->nslots - 1, &last);
	return fpb_keys_identical(ix, &last.key, &entry->key);
}

/*
 * Plan to make room in a full plain node by moving the entry at one of its
 * ends to the neighbour there.  False if neither neighbour has a gap.
 */
static bool
plan_spill(const FpbIndex *ix, Page page, const FpbEntry *entry,
		   const FpbPos *place, FpbInsertPlan *plan)
{
	const FpbShape *shape = fpb_shape(ix, page);
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
	plan->kind = left ? FPB_PLAN_SPILL_LEFT : FPB_PLAN_SPILL_RIGHT;
	return left || right;
}

/*
 * Plan to make the page afresh with the new entry in it, with slack of a
 * hundred slots free.  Allocates the image.  The plan is FPB_PLAN_FULL if the
 * entries don't fit so.
 */
static void
plan_rebuild(const FpbIndex *ix, Page page, const FpbEntry *entry,
			 const FpbPos *pos, int slack, FpbInsertPlan *plan)
{
	FpbPageHeader *hdr = FpbHdr(page);
	FpbEntry   *entries = palloc(sizeof(FpbEntry) * (FPB_MAX_PAGE_ENTRIES + 1));
	FpbKey		low;
	FpbKey		high;
	int			n;

	n = fpb_page_entries_with(ix, page, entry, pos, entries, NULL);
	if (!FpbPageIsLeftmost(page))
		fpb_page_low(ix, page, &low);
	if (!FpbPageIsRightmost(page))
		fpb_page_high(ix, page, &high);

	plan->kind = FPB_PLAN_FULL;
	plan->image = palloc_aligned(sizeof(PGAlignedBlock), PG_IO_ALIGN_SIZE, 0);
	if (fpb_page_build(ix, plan->image->data, hdr->level, hdr->flags, hdr->right,
					   FpbPageIsLeftmost(page) ? NULL : &low,
					   FpbPageIsRightmost(page) ? NULL : &high,
					   entries, n, slack))
		plan->kind = FPB_PLAN_REBUILD;
	else
	{
		pfree(plan->image);
		plan->image = NULL;
	}
	pfree(entries);
}

/*
 * Plan to reorganise a page that has no room otherwise.
 */
static void
plan_to_make_room(const FpbIndex *ix, Page page, const FpbEntry *entry,
				  const FpbPos *pos, FpbInsertPlan *plan)
{
	plan_rebuild(ix, page, entry, pos,
				 fpb_is_word(ix) ? REBUILD_SLACK_WORDS : REBUILD_SLACK_TUPLES,
				 plan);
}

/*
 * Plan an insertion whose place is in or beside a one-key node.
 */
static void
plan_beside_one_key(const FpbIndex *ix, Page page, const FpbEntry *entry,
					const FpbProbe *probe, const FpbPos *place, char *node,
					FpbInsertPlan *plan)
{
	const FpbShape *shape = fpb_shape(ix, page);
	int			nslots = fpb_one_key_slots(shape);
	Size		tuple = tuple_room(ix, entry);
	FpbEntry	any;

	fpb_read_slot(ix, page, shape, FPB_NODE_ONE_KEY, node, 0, &any);

	/* an equal tuple may be compressed in another way, but has its place here */
	if (fpb_is_word(ix) ? fpb_keys_identical(ix, &any.key, &entry->key) :
		fpb_keys_equal(ix, &any.key, &entry->key))
	{
		/* its tuple is there already, and a node more can share it */
		tuple = 0;
		plan->kind = FPB_PLAN_SLOT;
		if (nearest_gap(ix, shape, FPB_NODE_ONE_KEY, node, place->slot) >= 0)
			return;
		plan->kind = FPB_PLAN_SPLIT_NODE;
		if (place->slot == nslots)
		{
			plan->kind = FPB_PLAN_APPEND_ONE_KEY;
			plan->pos.dir++;
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

		if (plain_with_gap(ix, page, neighbour) && page_has_room(ix, page, 0, tuple))
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
	if (!page_has_room(ix, page, 1, tuple))
		plan_rebuild(ix, page, entry, place, REBUILD_SLACK_ONE_KEY, plan);
}

/*
 * Find out how a new entry is to be put into the page, which is locked
 * exclusively and is the right one for it.
 */
void
fpb_page_plan_insert(const FpbIndex *ix, Page page, const FpbEntry *entry,
					 FpbInsertPlan *plan)
{
	const FpbShape *shape = fpb_shape(ix, page);
	Size		tuple = tuple_room(ix, entry);
	FpbPos		place;
	FpbProbe	probe;
	int			codec;
	char	   *node;
	int			nslots;

	plan->image = NULL;
	fpb_probe_from_key(ix, &entry->key, &probe);
	fpb_page_search(ix, page, &probe, &place);
	plan->pos = place;

	/* the page's first node */
	if (FpbHdr(page)->nnodes == 0)
	{
		plan->kind = FPB_PLAN_APPEND_NODE;
		if (!page_has_room(ix, page, 1, tuple))
			plan_to_make_room(ix, page, entry, &place, plan);
		return;
	}

	node = fpb_page_node(ix, page, place.dir, &codec);
	nslots = fpb_node_slots(shape, codec);

	if (codec == FPB_NODE_ONE_KEY)
	{
		plan_beside_one_key(ix, page, entry, &probe, &place, node, plan);
		return;
	}

	plan->kind = FPB_PLAN_SLOT;
	if (nearest_gap(ix, shape, codec, node, place.slot) >= 0)
	{
		if (!page_has_room(ix, page, 0, tuple))
			plan_to_make_room(ix, page, entry, &place, plan);
		return;
	}

	/* The node is full. */
	if (place.slot == nslots && page_has_room(ix, page, 0, tuple) &&
		plain_with_gap(ix, page, place.dir + 1))
	{
		plan->pos.dir++;
		plan->pos.slot = 0;
		return;
	}
	if (convertible(ix, page, node, entry))
	{
		plan->kind = FPB_PLAN_CONVERT_NODE;
		return;
	}
	if (page_has_room(ix, page, 1, tuple))
	{
		plan->kind = FPB_PLAN_SPLIT_NODE;
		if (place.slot == nslots)
		{
			plan->kind = FPB_PLAN_APPEND_NODE;
			plan->pos.dir++;
		}
	}
	else if (!page_has_room(ix, page, 0, tuple) ||
			 !plan_spill(ix, page, entry, &place, plan))
		plan_to_make_room(ix, page, entry, &place, plan);
}

/*
 * Plan to make the page afresh because an image of it will be logged anyway:
 * then the reorganisation that it would need some insertions later is free,
 * and the image no larger than it must be.  False if the page is too full.
 */
bool
fpb_page_plan_reorganise(const FpbIndex *ix, Page page, const FpbEntry *entry,
						 FpbInsertPlan *plan)
{
	FpbProbe	probe;
	FpbPos		place;

	fpb_probe_from_key(ix, &entry->key, &probe);
	fpb_page_search(ix, page, &probe, &place);
	for (int slack = REORGANISE_SLACK; slack > 0; slack -= 5)
	{
		plan_rebuild(ix, page, entry, &place, slack, plan);
		if (plan->kind == FPB_PLAN_REBUILD)
			return true;
	}
	return false;
}

/*
 * All entries of the page with a new one at its place, in order; returns how
 * many.  *newpos, unless NULL, is the new one's index.  Tuples stay in place.
 */
int
fpb_page_entries_with(const FpbIndex *ix, Page page, const FpbEntry *entry,
					  const FpbPos *pos, FpbEntry *entries, int *newpos)
{
	FpbPos		at = {0, 0};
	FpbEntry	old;
	int			n = 0;
	int			where = -1;

	while (fpb_page_next(ix, page, &at, &old))
	{
		if (where < 0 && (at.dir > pos->dir ||
						  (at.dir == pos->dir && at.slot >= pos->slot)))
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
	if (newpos != NULL)
		*newpos = where;
	return n;
}

/* --- doing --- */

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
	Size		size = IndexTupleSize(key->tuple);
	uint32		end = hdr->pd.pd_upper;
	uint32		offset = TYPEALIGN_DOWN(fpb_tuple_align(key->tuple), end - size);

	/*
	 * The padding is logged, too: if a cut in the same record has freed this
	 * space, replay does not find zeros there.
	 */
	memcpy((char *) page + offset, key->tuple, size);
	hdr->pd.pd_upper = offset;
	fpb_wal_note(wp, (char *) page + offset, end - offset);
	fpb_wal_note(wp, &hdr->pd.pd_upper, sizeof(hdr->pd.pd_upper));
	return offset;
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
	char	   *node = (char *) page + fpb_page_base(FpbHdr(page)->dircap) +
		fpb_dir_nodes(page)[pos->dir] * shape->size;
	int			gap = nearest_gap(ix, shape, codec, node, pos->slot);
	int			slot = gap >= pos->slot ? pos->slot : pos->slot - 1;
	uint64	   *heads = fpb_dir_heads(page);
	NodeArray	arrays[4];
	int			narrays = node_arrays(ix, shape, codec, node, arrays);

	Assert(gap >= 0);
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

	/*
	 * An entry put before all of the node's may be below its bound, and one
	 * put behind them above that of the next, whose entries are greater
	 * still.
	 */
	if (entry->key.head < heads[pos->dir])
	{
		heads[pos->dir] = entry->key.head;
		fpb_wal_note(wp, &heads[pos->dir], sizeof(uint64));
	}
	if (pos->dir + 1 < FpbHdr(page)->nnodes &&
		entry->key.head > heads[pos->dir + 1])
	{
		heads[pos->dir + 1] = entry->key.head;
		fpb_wal_note(wp, &heads[pos->dir + 1], sizeof(uint64));
	}
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
 * The same for a one-key node's TIDs.
 */
static void
spread_one_key(const FpbShape *shape, char *node, const char *tails,
			   int from, int to)
{
	int			nslots = fpb_one_key_slots(shape);
	int			count = to - from;
	int			slot = 0;

	for (int i = 0; i < count; i++)
	{
		int			next = (i + 1) * nslots / count;
		uint64		tail = fpb_read_tail(tails, from + i);

		for (int first = slot; slot < next; slot++)
			fpb_write_tail(node + FPB_ONE_KEY_HEADER, slot, slot == first ? tail : 0);
	}
}

/*
 * Where to part a full plain node: in the middle, or at the nearer end of a
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

	if (!ix->one_key || !FpbPageIsLeaf(page))
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
 * Split the full node at pos->dir in two and put the entry into the half it
 * belongs to.
 */
static void
split_node(const FpbIndex *ix, Page page, const FpbEntry *entry,
		   const FpbPos *pos, FpbWalPage *wp)
{
	const FpbShape *shape = fpb_shape(ix, page);
	int			codec = fpb_dir_codecs(page)[pos->dir];
	char	   *node = (char *) page + fpb_page_base(FpbHdr(page)->dircap) +
		fpb_dir_nodes(page)[pos->dir] * shape->size;
	int			nslots = fpb_node_slots(shape, codec);
	NodeCopy	copy;
	char	   *right;
	int			at;
	FpbPos		place;

	memcpy(copy.data, node, shape->size);
	if (codec == FPB_NODE_PLAIN)
	{
		at = split_slot(ix, page, shape, node);
		right = add_node(ix, page, pos->dir + 1,
						 fpb_node_head(ix, node, at), codec, wp);
		spread_plain(ix, shape, right, copy.data, at, nslots);
		spread_plain(ix, shape, node, copy.data, 0, at);
	}
	else
	{
		at = nslots / 2;
		right = add_node(ix, page, pos->dir + 1, ((uint64 *) node)[0], codec, wp);
		memcpy(right, node, FPB_ONE_KEY_HEADER);
		spread_one_key(shape, right, copy.data + FPB_ONE_KEY_HEADER, at, nslots);
		spread_one_key(shape, node, copy.data + FPB_ONE_KEY_HEADER, 0, at);
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
	char	   *node = (char *) page + fpb_page_base(FpbHdr(page)->dircap) +
		fpb_dir_nodes(page)[pos->dir] * shape->size;
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
	header[1] = fpb_is_word(ix) ? first.key.low :
		(uint64) ((char *) first.key.tuple - (char *) page);
	spread_one_key(shape, node, tails, 0, nslots);
	fpb_dir_codecs(page)[pos->dir] = FPB_NODE_ONE_KEY;
	fpb_wal_note(wp, node, shape->size);
	fpb_wal_note(wp, &fpb_dir_codecs(page)[pos->dir], sizeof(uint8));
	fpb_page_clear_hints(ix, page, pos->dir, 0, nslots - 1);

	place.slot = pos->slot == 0 ? 0 : (pos->slot - 1) * one_key_slots / nslots + 1;
	insert_into_slot(ix, page, entry, 0, &place, wp);
}

/*
 * Move the first (left) or last entry of the full node at pos->dir to the end
 * or beginning of its neighbour, and put the new entry into the node.
 */
static void
spill_node(const FpbIndex *ix, Page page, const FpbEntry *entry,
		   const FpbPos *pos, bool left, FpbWalPage *wp)
{
	const FpbShape *shape = fpb_shape(ix, page);
	char	   *node = (char *) page + fpb_page_base(FpbHdr(page)->dircap) +
		fpb_dir_nodes(page)[pos->dir] * shape->size;
	FpbPos		from = {pos->dir, left ? 0 : shape->nslots - 1};
	FpbPos		to = {pos->dir + 1, 0};
	FpbEntry	moved;

	fpb_read_slot(ix, page, shape, FPB_NODE_PLAIN, node, from.slot, &moved);
	if (left)
		to = end_of_node(ix, page, pos->dir - 1, &moved);
	insert_into_slot(ix, page, &moved,
					 fpb_is_word(ix) ? 0 : fpb_node_tuples(shape, node)[from.slot],
					 &to, wp);
	fpb_page_delete(ix, page, &from, 1, wp);
	insert_into_slot(ix, page, entry, 0, pos, wp);
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
	char	   *before = (char *) page + fpb_page_base(FpbHdr(page)->dircap) +
		fpb_dir_nodes(page)[pos->dir - 1] * shape->size;
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
 * Insert an entry as planned.  To be called in a critical section.
 */
void
fpb_page_insert(const FpbIndex *ix, Page page, const FpbEntry *entry,
				const FpbInsertPlan *plan, FpbWalPage *wp)
{
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
			split_node(ix, page, entry, &plan->pos, wp);
			break;
		case FPB_PLAN_SPILL_LEFT:
		case FPB_PLAN_SPILL_RIGHT:
			spill_node(ix, page, entry, &plan->pos,
					   plan->kind == FPB_PLAN_SPILL_LEFT, wp);
			break;
		case FPB_PLAN_CONVERT_NODE:
			convert_node(ix, page, entry, &plan->pos, wp);
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
 * Delete entries.  To be called in a critical section.
 */
void
fpb_page_delete(const FpbIndex *ix, Page page, const FpbPos *pos, int npos,
				FpbWalPage *wp)
{
	const FpbShape *shape = fpb_shape(ix, page);

	for (int i = 0; i < npos; i++)
	{
		int			dir = pos[i].dir;
		int			slot = pos[i].slot;
		int			codec = fpb_dir_codecs(page)[dir];
		char	   *node = (char *) page + fpb_page_base(FpbHdr(page)->dircap) +
			fpb_dir_nodes(page)[dir] * shape->size;
		NodeArray	arrays[4];
		int			last = node_arrays(ix, shape, codec, node, arrays) - 1;

		fpb_make_gap(ix, shape, codec, node, slot);
		note_slots(wp, arrays[last].start, slot, slot, arrays[last].width);
		if (shape->child_off != 0)
			note_slots(wp, node + shape->child_off, slot, slot, sizeof(uint32));
		fpb_page_clear_hints(ix, page, dir, slot, slot);
	}
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
	FpbPos		pos = {0, 0};
	FpbEntry	entry;

	while (fpb_page_next(ix, page, &pos, &entry))
	{
		upper = Min(upper, (uint32) ((char *) entry.key.tuple - (char *) page));
		fpb_page_advance(ix, page, &pos);
	}
	if (!FpbPageIsLeftmost(page))
		upper = Min(upper, (uint32) hdr->low_tail);
	if (!FpbPageIsRightmost(page))
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
	int			keep = pos->dir + (pos->slot > 0 ? 1 : 0);
	int			nalloc = 0;
	int			freed;

	if (pos->slot > 0)
	{
		FpbPos		gone[FPB_MAX_LINES * FPB_CACHE_LINE / FPB_TAIL_BYTES];
		int			ngone = 0;
		int			nslots = fpb_node_slots(shape, fpb_dir_codecs(page)[pos->dir]);

		for (int slot = pos->slot; slot < nslots; slot++)
		{
			gone[ngone].dir = pos->dir;
			gone[ngone++].slot = slot;
		}
		fpb_page_delete(ix, page, gone, ngone, wp);
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
	FpbEntry	fence;

	if (high == NULL || fpb_is_word(ix))
		return true;
	fence.key = *high;
	return page_has_room(ix, page, 0, tuple_room(ix, &fence));
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
	if (high == NULL)
		hdr->flags |= FPB_RIGHTMOST;
	else
	{
		hdr->high_head = high->head;
		hdr->high_low = high->low;
		hdr->high_tail = fpb_is_word(ix) ? high->tail :
			add_tuple(ix, page, high, wp);
	}
	fpb_wal_note(wp, (char *) page + offsetof(FpbPageHeader, magic),
				 sizeof(FpbPageHeader) - offsetof(FpbPageHeader, magic));
}
