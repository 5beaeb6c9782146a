/*-------------------------------------------------------------------------
 *
 * fpb_layout_disk_first.c
 *	  The disk-first page: shapes, fences, search and reading.
 *
 * A page is an in-page tree of two levels (fpbtree-sigmod2002, section 3.1):
 * the directory behind the header, and the in-page leaf nodes it names.
 * fpb_layout_change.c changes single entries, fpb_layout_fill.c makes whole
 * pages, and fpb_layout_check.c looks for what is wrong with one.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fpb_layout.h"

/* --- shapes --- */

/*
 * Set up the shape of nodes of the given size.
 */
static void
set_shape(const FpbIndex *ix, FpbShape *shape, int lines, bool inner)
{
	int			payload;
	int			n;
	uint32		end;

	memset(shape, 0, sizeof(*shape));
	shape->size = lines * FPB_CACHE_LINE;
	payload = fpb_is_word(ix) ? FPB_TAIL_BYTES : sizeof(uint16);
	n = shape->size / (ix->head_width +
					   (ix->form == FPB_WORD16 ? sizeof(uint64) : 0) +
					   payload + (inner ? sizeof(uint32) : 0));

	/* a node full of duplicates becomes a one-key node, with slots to spare */
	Assert(inner || !fpb_is_word(ix) || n <= fpb_one_key_slots(shape) - 2);

	/* heads have 4 or 8 bytes, those of two words 8: no array needs padding */
	end = n * ix->head_width;
	if (ix->form == FPB_WORD16)
	{
		shape->low_off = end;
		end += n * sizeof(uint64);
	}
	if (inner)
	{
		shape->child_off = end;
		end += n * sizeof(uint32);
	}
	shape->tail_off = end;
	Assert(end + n * payload <= shape->size);
	shape->nslots = n;
	shape->hint_bytes = inner ? 0 : (n + 7) / 8;

	n = Min(BLCKSZ / shape->size, FPB_MAX_NODES);
	while (fpb_page_base(n) + n * (shape->size + shape->hint_bytes) > BLCKSZ)
		n--;
	shape->max_nodes = n;
	if (fpb_is_word(ix))
		shape->hints_off = BLCKSZ - n * shape->hint_bytes;
}

/*
 * Set up ix->leaf and ix->inner for nodes of that many cache lines.  0 stands
 * for the default width, which bench/ has been asked for: about eight lines for
 * words, whose node is all a search reads; fewer where a slot is small and
 * the tuples are elsewhere.
 */
void
fpb_layout_shapes(FpbIndex *ix, int leaf_lines, int inner_lines)
{
	static const int word_lines[] = {
		[FPB_WORD4] = 8,[FPB_WORD8] = 9,[FPB_WORD16] = 11
	};
	int			lines = fpb_is_word(ix) ? word_lines[ix->form] : 4;

	if (leaf_lines == 0)
		leaf_lines = lines;
	if (inner_lines == 0)
		inner_lines = fpb_is_word(ix) ? 8 : 4;
	leaf_lines = Max(leaf_lines, FPB_MIN_LINES);

	/* A small page needs more than a node or two to be a tree. */
	while (leaf_lines > FPB_MIN_LINES && leaf_lines * FPB_CACHE_LINE * 6 > BLCKSZ)
		leaf_lines--;
	while (inner_lines > FPB_MIN_LINES && inner_lines * FPB_CACHE_LINE * 6 > BLCKSZ)
		inner_lines--;
	/* Node numbers are bytes. */
	while (BLCKSZ / (leaf_lines * FPB_CACHE_LINE) > FPB_MAX_NODES)
		leaf_lines++;
	while (BLCKSZ / (inner_lines * FPB_CACHE_LINE) > FPB_MAX_NODES)
		inner_lines++;
	set_shape(ix, &ix->leaf, leaf_lines, false);
	set_shape(ix, &ix->inner, inner_lines, true);

	/* a split may have to repeat a posting's key: README.md tells how often */
	ix->max_posting = 0;
	if (ix->one_key && !fpb_is_word(ix))
		ix->max_posting = MAXALIGN_DOWN(fpb_max_tuple_size(ix) / 2);
}

/* --- damage --- */

/*
 * The block number of a page, for error messages: pages in shared buffers, and
 * copies of inner pages, are found by their address.  Others have none.
 */
static BlockNumber
page_block(const FpbIndex *ix, Page page)
{
	char	   *p = (char *) page;

	if (p >= BufferBlocks && p < BufferBlocks + (Size) NBuffers * BLCKSZ)
		return BufferGetBlockNumber((Buffer) ((p - BufferBlocks) / BLCKSZ + 1));
	return fpb_cache_block(ix->cache, page);
}

/*
 * Report that the content of a page contradicts itself.
 */
void
fpb_page_damaged(const FpbIndex *ix, Page page, const char *fault)
{
	fpb_report_damage(ix->rel, page_block(ix, page), fault);
}

/*
 * The tuple at an offset in the page, which is checked.
 */
IndexTuple
fpb_page_tuple(const FpbIndex *ix, Page page, uint32 offset)
{
	if (unlikely(!fpb_tuple_offset_valid(page, offset)))
		fpb_page_damaged(ix, page, "A tuple offset points outside the page's tuples.");
	return (IndexTuple) ((char *) page + offset);
}

/*
 * The dir'th node, its number and codec checked.
 */
char *
fpb_page_node(const FpbIndex *ix, Page page, int dir, int *codec)
{
	const FpbShape *shape = fpb_shape(ix, page);
	uint32		number = fpb_dir_nodes(page)[dir];

	*codec = fpb_dir_codecs(page)[dir];
	if (unlikely(number >= FpbHdr(page)->nalloc ||
				 *codec > (FpbPageIsLeaf(page) && fpb_is_word(ix) ?
						   FPB_NODE_ONE_KEY : FPB_NODE_PLAIN)))
		fpb_page_damaged(ix, page, "The directory names a node that does not exist.");
	return (char *) page + fpb_page_base(FpbHdr(page)->dircap) + number * shape->size;
}

/* --- fences --- */

/*
 * Unpack one fence.
 */
static void
read_fence(const FpbIndex *ix, Page page, uint64 head, uint64 low,
		   uint64 tail, FpbKey *key)
{
	key->head = head;
	key->low = low;
	key->tail = tail;
	key->tuple = NULL;
	if (!fpb_is_word(ix))
	{
		key->tuple = fpb_page_tuple(ix, page, (uint32) Min(tail, BLCKSZ));
		key->tail = fpb_pivot_tail(key->tuple);
	}
}

/*
 * The low fence, of a page that is not the leftmost.  A tuple stays in place.
 */
void
fpb_page_low(const FpbIndex *ix, Page page, FpbKey *key)
{
	FpbPageHeader *hdr = FpbHdr(page);

	Assert(!FpbPageIsLeftmost(page));
	read_fence(ix, page, hdr->low_head, hdr->low_low, hdr->low_tail, key);
}

/*
 * The high fence, of a page that is not the rightmost.  A tuple stays in
 * place; there is none if the fence is elided.
 */
void
fpb_page_high(const FpbIndex *ix, Page page, FpbKey *key)
{
	FpbPageHeader *hdr = FpbHdr(page);

	Assert(!FpbPageIsRightmost(page));
	if (FpbPageHighElided(page))
	{
		memset(key, 0, sizeof(FpbKey));
		key->head = hdr->high_head;
		return;
	}
	read_fence(ix, page, hdr->high_head, hdr->high_low, hdr->high_tail, key);
}

/*
 * Sign of the low fence against the probe.
 */
int
fpb_compare_low(const FpbIndex *ix, Page page, const FpbProbe *probe)
{
	FpbKey		key;

	if (FpbPageIsLeftmost(page))
		return -1;
	fpb_page_low(ix, page, &key);
	return fpb_compare(ix, &key, probe);
}

/*
 * Sign of the high fence, which is not elided, against the probe.
 */
int
fpb_compare_high(const FpbIndex *ix, Page page, const FpbProbe *probe)
{
	FpbPageHeader *hdr = FpbHdr(page);
	FpbKey		key;

	if (FpbPageIsRightmost(page))
		return 1;
	Assert(!FpbPageHighElided(page));
	read_fence(ix, page, hdr->high_head, hdr->high_low, hdr->high_tail, &key);
	return fpb_compare(ix, &key, probe);
}

/* --- reading slots --- */

/*
 * Unpack the entry in a slot that is not a gap: of a posting, the first.
 */
void
fpb_read_slot(const FpbIndex *ix, Page page, const FpbShape *shape, int codec,
			  char *node, int slot, FpbEntry *entry)
{
	entry->key.low = 0;
	entry->key.tuple = NULL;
	entry->child = InvalidBlockNumber;

	if (codec == FPB_NODE_ONE_KEY)
	{
		const uint64 *header = (const uint64 *) node;

		entry->key.head = header[0];
		entry->key.low = header[1];
		entry->key.tail = fpb_read_tail(node + FPB_ONE_KEY_HEADER, slot);
		return;
	}

	entry->key.head = fpb_node_head(ix, node, slot);
	if (fpb_is_word(ix))
	{
		if (ix->form == FPB_WORD16)
			entry->key.low = ((uint64 *) (node + shape->low_off))[slot];
		entry->key.tail = fpb_read_tail(node + shape->tail_off, slot);
	}
	else
	{
		entry->key.tuple = fpb_page_tuple(ix, page,
										  fpb_node_tuples(shape, node)[slot]);
		if (shape->child_off != 0)
			entry->key.tail = fpb_pivot_tail(entry->key.tuple);
		else if (fpb_is_posting(entry->key.tuple))
			entry->key.tail = fpb_posting_tail(entry->key.tuple,
											   fpb_posting_next(entry->key.tuple, 0));
		else
			entry->key.tail = fpb_tail_pack(0, &entry->key.tuple->t_tid);
	}
	if (shape->child_off != 0)
		entry->child = fpb_node_children(shape, node)[slot];
}

/*
 * Sign of the first entry in a slot that is not a gap against the probe, or of
 * the last one.
 */
static inline int
compare_slot(const FpbIndex *ix, Page page, const FpbShape *shape, int codec,
			 char *node, int slot, bool last, const FpbProbe *probe)
{
	FpbEntry	entry;

	fpb_read_slot(ix, page, shape, codec, node, slot, &entry);
	if (last && fpb_has_posting(shape, &entry))
	{
		IndexTuple	posting = entry.key.tuple;

		entry.key.tail = fpb_posting_tail(posting,
										  fpb_posting_prev(posting, BLCKSZ));
	}
	return fpb_compare(ix, &entry.key, probe);
}

/* --- search --- */

/*
 * Among the slots [lo, hi) of a node, gaps passed over: the first place that
 * has every entry before it < probe (equal: <= probe), and before all that have
 * none.  (The posting behind it may have some.)
 */
static int
search_slots(const FpbIndex *ix, Page page, const FpbShape *shape, int codec,
			 char *node, int lo, int hi, const FpbProbe *probe, bool equal)
{
	int			most = equal ? 0 : -1;	/* sign of an entry before the place */

	while (lo < hi)
	{
		int			mid = lo + (hi - lo) / 2;
		int			live = mid;

		while (live < hi && fpb_node_is_gap(ix, shape, codec, node, live))
			live++;
		if (live == hi ||
			compare_slot(ix, page, shape, codec, node, live, true, probe) > most)
			hi = mid;
		else
			lo = live + 1;
	}
	return lo;
}

/*
 * The same for a whole node, heads first.
 */
static int
search_node(const FpbIndex *ix, Page page, const FpbShape *shape, int codec,
			char *node, const FpbProbe *probe, bool equal)
{
	bool		use_heads = fpb_is_word(ix) || probe->has_head;
	int			lo = 0;
	int			hi = fpb_node_slots(shape, codec);

	if (codec == FPB_NODE_ONE_KEY)
	{
		uint64		head = ((const uint64 *) node)[0];

		/* only words have such nodes */
		if (head != probe->head)
			return head < probe->head ? hi : 0;
	}
	else if (use_heads)
	{
		lo = fpb_heads_less(ix, node, hi, probe->head);
		if (lo == hi || fpb_node_head(ix, node, lo) != probe->head)
			return lo;

		/* few share a head, so the first is likely to be the place */
		if (!fpb_node_is_gap(ix, shape, codec, node, lo) &&
			compare_slot(ix, page, shape, codec, node, lo, true, probe) > (equal ? 0 : -1))
			return lo;
		hi = fpb_heads_not_greater(ix, node, hi, probe->head);
	}
	return search_slots(ix, page, shape, codec, node, lo, hi, probe, equal);
}

/*
 * First slot from slot on that is not a gap, or the number of slots.
 */
int
fpb_next_live(const FpbIndex *ix, const FpbShape *shape, int codec,
			  char *node, int slot)
{
	int			n = fpb_node_slots(shape, codec);

	while (slot < n && fpb_node_is_gap(ix, shape, codec, node, slot))
		slot++;
	return slot;
}

/*
 * The last directory entry in [lo, hi] whose node begins with an entry < probe
 * (equal: <= probe), or lo - 1 if there is none.  Nodes without an entry are
 * passed over.
 */
static int
search_directory_ties(const FpbIndex *ix, Page page, const FpbShape *shape,
					  int lo, int hi, const FpbProbe *probe, bool equal)
{
	int			found = lo - 1;

	while (lo <= hi)
	{
		int			mid = lo + (hi - lo) / 2;
		int			at = mid;
		int			slot = 0;
		int			codec = FPB_NODE_PLAIN;
		char	   *node = NULL;
		int			sign;

		for (; at <= hi; at++)
		{
			node = fpb_page_node(ix, page, at, &codec);
			slot = fpb_next_live(ix, shape, codec, node, 0);
			if (slot < fpb_node_slots(shape, codec))
				break;
		}
		if (at > hi)
		{
			hi = mid - 1;
			continue;
		}
		sign = compare_slot(ix, page, shape, codec, node, slot, false, probe);
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
 * The directory entry of the node in which the place of the probe is: every
 * entry of the nodes before is < probe, and the nodes after begin with
 * entries >= probe (equal: > probe).  The page has a node.
 */
static inline int
search_directory(const FpbIndex *ix, Page page, const FpbShape *shape,
				 const FpbProbe *probe, bool equal)
{
	const uint64 *heads = fpb_dir_heads(page);
	int			n = FpbHdr(page)->nnodes;
	int			first = 0;
	int			last = n - 1;

	/* the first node has no lower bound */
	if (fpb_is_word(ix) || probe->has_head)
	{
		first = fpb_count_less64(heads + 1, n - 1, probe->head);
		if (first == n - 1 || heads[first + 1] != probe->head)
			return first;
		last = probe->head == PG_UINT64_MAX ? n - 1 :
			fpb_count_less64(heads + 1, n - 1, probe->head + 1);
	}
	first = search_directory_ties(ix, page, shape, first + 1, last, probe, equal);
	return Max(first, 0);
}

/*
 * Have the lines of a node that a search will touch fetched together, and with
 * them the line of its hints, which whoever finds an entry asks for.
 */
static inline void
prefetch_node(const FpbShape *shape, Page page, int dir, char *node)
{
	fpb_prefetch(node, shape->size);
	if (shape->hint_bytes > 0)
		fpb_prefetch((char *) fpb_hints(shape, page) +
					 fpb_dir_nodes(page)[dir] * shape->hint_bytes, 1);
}

/*
 * If the next slot's posting begins before the probe, make *pos the place of the
 * probe among its TIDs.
 */
static void
search_posting(const FpbIndex *ix, Page page, const FpbShape *shape, char *node,
			   const FpbProbe *probe, FpbPos *pos)
{
	int			slot = fpb_next_live(ix, shape, FPB_NODE_PLAIN, node, pos->slot);
	int			lo = 0;
	int			hi;
	IndexTuple	posting;
	FpbEntry	entry;

	/* most have other keys, as their heads tell */
	if (slot == shape->nslots ||
		(probe->has_head && fpb_node_head(ix, node, slot) != probe->head) ||
		!fpb_is_posting(fpb_page_tuple(ix, page, fpb_node_tuples(shape, node)[slot])))
		return;
	fpb_read_slot(ix, page, shape, FPB_NODE_PLAIN, node, slot, &entry);
	if (fpb_compare(ix, &entry.key, probe) >= 0)
		return;

	/* it does not end before the probe, so its key is that of the probe */
	posting = entry.key.tuple;
	hi = fpb_posting_slots(posting);
	while (lo < hi)
	{
		int			mid = lo + (hi - lo) / 2;
		int			live = fpb_posting_next(posting, mid);

		if (live >= hi || fpb_posting_tail(posting, live) >= probe->tail)
			hi = mid;
		else
			lo = live + 1;
	}
	pos->slot = slot;
	pos->item = lo;
}

/*
 * Position of the first entry >= probe, or of the place behind the last entry
 * before the probe, from where fpb_page_next finds it.
 */
void
fpb_page_search(const FpbIndex *ix, Page page, const FpbProbe *probe,
				FpbPos *pos)
{
	const FpbShape *shape = fpb_shape(ix, page);
	int			codec;
	char	   *node;

	pos->dir = pos->slot = pos->item = 0;
	if (FpbHdr(page)->nnodes == 0)
		return;
	pos->dir = search_directory(ix, page, shape, probe, false);
	node = fpb_page_node(ix, page, pos->dir, &codec);
	prefetch_node(shape, page, pos->dir, node);
	pos->slot = search_node(ix, page, shape, codec, node, probe, false);
	if (ix->max_posting > 0 && shape->child_off == 0)
		search_posting(ix, page, shape, node, probe, pos);
}

/*
 * Make *pos the first live entry at or after it and unpack it; false if there
 * is none.
 */
bool
fpb_page_next(const FpbIndex *ix, Page page, FpbPos *pos, FpbEntry *entry)
{
	const FpbShape *shape = fpb_shape(ix, page);

	while (pos->dir < FpbHdr(page)->nnodes)
	{
		int			codec;
		char	   *node = fpb_page_node(ix, page, pos->dir, &codec);
		int			slot = fpb_next_live(ix, shape, codec, node, pos->slot);

		if (slot != pos->slot)
			pos->item = 0;
		pos->slot = slot;
		if (slot == fpb_node_slots(shape, codec))
		{
			pos->dir++;
			pos->slot = pos->item = 0;
			continue;
		}
		fpb_read_slot(ix, page, shape, codec, node, slot, entry);
		if (fpb_has_posting(shape, entry))
		{
			pos->item = fpb_posting_next(entry->key.tuple, pos->item);
			if (pos->item < fpb_posting_slots(entry->key.tuple))
			{
				entry->key.tail = fpb_posting_tail(entry->key.tuple, pos->item);
				return true;
			}
		}
		else if (pos->item == 0)
			return true;
		pos->slot++;
		pos->item = 0;
	}
	return false;
}

/*
 * Make *pos the last live entry before it and unpack it; false if there is
 * none.
 */
bool
fpb_page_prev(const FpbIndex *ix, Page page, FpbPos *pos, FpbEntry *entry)
{
	const FpbShape *shape = fpb_shape(ix, page);
	int			dir = pos->dir;
	int			slot = pos->slot;
	int			item = pos->item;

	for (;;)
	{
		int			codec;
		char	   *node;

		if (dir < FpbHdr(page)->nnodes)
		{
			node = fpb_page_node(ix, page, dir, &codec);
			if (slot >= fpb_node_slots(shape, codec))
			{
				slot = fpb_node_slots(shape, codec);
				item = 0;
			}

			/* the items of a slot are before it from the next one on */
			for (; item > 0 || slot-- > 0; item = 0)
			{
				int			before = item > 0 ? item : BLCKSZ;

				if (fpb_node_is_gap(ix, shape, codec, node, slot))
					continue;
				fpb_read_slot(ix, page, shape, codec, node, slot, entry);
				item = 0;
				if (fpb_has_posting(shape, entry))
				{
					item = fpb_posting_prev(entry->key.tuple, before);
					if (item < 0)
						continue;
					entry->key.tail = fpb_posting_tail(entry->key.tuple, item);
				}
				pos->dir = dir;
				pos->slot = slot;
				pos->item = item;
				return true;
			}
		}
		if (dir == 0)
			return false;
		dir--;
		slot = BLCKSZ;			/* the node's last slot */
		item = 0;
	}
}

/*
 * The place behind *pos.
 */
void
fpb_page_advance(const FpbIndex *ix, Page page, FpbPos *pos)
{
	if (fpb_is_word(ix))
		pos->slot++;
	else
		pos->item++;
}

/*
 * The entries in slots [from, to) of a node, the dir'th, of a leaf into
 * items[]; returns how many.  In the first slot only those from from_item on, and
 * in the one behind the last those before to_item.
 */
static int
read_entries(const FpbIndex *ix, Page page, const FpbShape *shape, int codec,
			 char *node, int dir, int from, int from_item, int to, int to_item,
			 FpbItem *items)
{
	FpbItem    *item = items;
	int			end = Min(to + (to_item > 0 ? 1 : 0), fpb_node_slots(shape, codec));

	for (int slot = from; slot < end; slot++)
	{
		FpbEntry	entry;
		int			first = slot == from ? from_item : 0;

		if (fpb_node_is_gap(ix, shape, codec, node, slot))
			continue;
		fpb_read_slot(ix, page, shape, codec, node, slot, &entry);
		item->key = entry.key;
		item->pos.dir = dir;
		item->pos.slot = slot;
		item->pos.item = 0;
		if (!fpb_has_posting(shape, &entry))
		{
			item += first == 0;
			continue;
		}
		for (int i = first; i < fpb_posting_slots(entry.key.tuple); i++)
		{
			if (slot == to && i >= to_item)
				break;
			if (fpb_tail_is_gap(fpb_posting_tails(entry.key.tuple), i))
				continue;
			item->key = entry.key;
			item->key.tail = fpb_posting_tail(entry.key.tuple, i);
			item->pos.dir = dir;
			item->pos.slot = slot;
			item->pos.item = i;
			item++;
		}
	}
	return item - items;
}

/*
 * The same for a plain node of words, which is what a scan spends its time on.
 * An item is written whether or not the slot is a gap: so nothing is left to
 * be mispredicted.
 */
static int
read_words(const FpbIndex *ix, const FpbShape *shape, const char *node,
		   int dir, int from, int to, FpbItem *items)
{
	const char *tails = node + shape->tail_off;
	const uint64 *lows = (const uint64 *) (node + shape->low_off);
	FpbItem    *item = items;

	for (int slot = from; slot < to; slot++)
	{
		item->key.head = fpb_node_head(ix, node, slot);
		item->key.low = shape->low_off != 0 ? lows[slot] : 0;
		item->key.tail = fpb_read_tail(tails, slot);
		item->key.tuple = NULL;
		item->pos.dir = dir;
		item->pos.slot = slot;
		item->pos.item = 0;
		item += !fpb_tail_is_gap(tails, slot);
	}
	return item - items;
}

/*
 * The place where the entries from pos on that are < end stop.  *more becomes
 * false if there is an entry behind it.  near: try the next entries first, as most
 * scans want one at most.
 */
static void
find_end(const FpbIndex *ix, Page page, FpbPos pos, const FpbProbe *end,
		 bool near, FpbPos *stop, bool *more)
{
	FpbEntry	entry;

	for (int i = 0; near && i < 2; i++)
	{
		*stop = pos;
		if (!fpb_page_next(ix, page, &pos, &entry))
			return;
		if (fpb_compare(ix, &entry.key, end) >= 0)
		{
			*more = false;
			return;
		}
		fpb_page_advance(ix, page, &pos);
	}
	fpb_page_search(ix, page, end, stop);
	pos = *stop;
	if (fpb_page_next(ix, page, &pos, &entry))
		*more = false;
}

/*
 * Entries from pos on that are < end, or all, in order into items[], which has
 * room for one more than there can be.
 */
int
fpb_page_read(const FpbIndex *ix, Page page, FpbPos pos, const FpbProbe *end,
			  bool near, FpbItem *items, bool *more)
{
	const FpbShape *shape = fpb_shape(ix, page);
	int			nnodes = FpbHdr(page)->nnodes;
	int			count = 0;
	FpbPos		stop = {nnodes};

	if (nnodes == 0)
		return 0;
	if (end != NULL)
		find_end(ix, page, pos, end, near, &stop, more);

	for (int dir = pos.dir; dir < nnodes && dir <= stop.dir; dir++)
	{
		int			codec;
		char	   *node = fpb_page_node(ix, page, dir, &codec);
		int			slot = (dir == pos.dir) ? pos.slot : 0;
		int			item = (dir == pos.dir) ? pos.item : 0;
		int			n = fpb_node_slots(shape, codec);
		int			nitems = 0;

		if (dir == stop.dir)
		{
			n = Min(n, stop.slot);
			nitems = stop.item;
		}
		if (dir + 1 < nnodes && dir < stop.dir)
		{
			int			next_codec;

			prefetch_node(shape, page, dir + 1,
						  fpb_page_node(ix, page, dir + 1, &next_codec));
		}
		if (codec == FPB_NODE_PLAIN && fpb_is_word(ix))
			count += read_words(ix, shape, node, dir, slot, n, items + count);
		else
			count += read_entries(ix, page, shape, codec, node, dir, slot, item,
								  n, nitems, items + count);
	}
	return count;
}

/*
 * Find the slot of the child to descend to for the probe, and return its node.
 * The first child's low key is the page's low fence, so a probe within the fences
 * always finds one; one outside gets the first.
 */
static char *
search_child(const FpbIndex *ix, Page page, const FpbProbe *probe, bool before,
			 FpbPos *pos)
{
	const FpbShape *shape = &ix->inner;
	FpbEntry	first;
	int			codec;
	char	   *node;

	if (FpbHdr(page)->nnodes == 0)
		fpb_page_damaged(ix, page, "An inner page is empty.");
	pos->dir = search_directory(ix, page, shape, probe, !before);
	node = fpb_page_node(ix, page, pos->dir, &codec);
	prefetch_node(shape, page, pos->dir, node);
	pos->slot = search_node(ix, page, shape, codec, node, probe, !before);
	pos->item = 0;

	/* the one before that place */
	for (;;)
	{
		while (pos->slot > 0)
			if (!fpb_node_is_gap(ix, shape, codec, node, --pos->slot))
				return node;
		if (pos->dir == 0)
			break;
		node = fpb_page_node(ix, page, --pos->dir, &codec);
		pos->slot = shape->nslots;
	}
	if (!fpb_page_next(ix, page, pos, &first))
		fpb_page_damaged(ix, page, "An inner page is empty.");
	return fpb_page_node(ix, page, pos->dir, &codec);
}

/*
 * The child to descend to for the probe.  Its separator's tuple, which is likely
 * to be in no cache, is not looked at.
 */
BlockNumber
fpb_page_downlink(const FpbIndex *ix, Page page, const FpbProbe *probe,
				  bool before)
{
	FpbPos		pos;
	char	   *node = search_child(ix, page, probe, before, &pos);

	return fpb_node_children(&ix->inner, node)[pos.slot];
}

/*
 * The same, with its entry and the place of that.
 */
void
fpb_page_child(const FpbIndex *ix, Page page, const FpbProbe *probe,
			   bool before, FpbPos *pos, FpbEntry *entry)
{
	char	   *node = search_child(ix, page, probe, before, pos);

	fpb_read_slot(ix, page, &ix->inner, FPB_NODE_PLAIN, node, pos->slot, entry);
}

/*
 * All live entries in order; tuples stay in the page.
 */
int
fpb_page_entries(const FpbIndex *ix, Page page, FpbEntry *entries)
{
	FpbPos		pos = {0};
	int			count = 0;

	while (fpb_page_next(ix, page, &pos, &entries[count]))
	{
		count++;
		fpb_page_advance(ix, page, &pos);
	}
	return count;
}

/*
 * Does the page hold no entry?
 */
bool
fpb_page_is_empty(const FpbIndex *ix, Page page)
{
	FpbPos		pos = {0};
	FpbEntry	entry;

	return !fpb_page_next(ix, page, &pos, &entry);
}

/* --- killed-entry hints --- */

/*
 * The byte with the hint of a leaf's slot, or NULL if it has none.
 */
static uint8 *
hint_byte(const FpbIndex *ix, Page page, FpbPos pos)
{
	const FpbShape *shape = fpb_shape(ix, page);

	if (pos.slot >= shape->nslots)
		return NULL;
	return fpb_hints(shape, page) +
		fpb_dir_nodes(page)[pos.dir] * shape->hint_bytes + pos.slot / 8;
}

/*
 * Is any entry of the page, a leaf, known dead?
 */
bool
fpb_page_has_killed(const FpbIndex *ix, Page page)
{
	const uint8 *hints = fpb_hints(&ix->leaf, page);
	int			n = FpbHdr(page)->nalloc * ix->leaf.hint_bytes;

	for (int i = 0; i < n; i++)
		if (hints[i] != 0)
			return true;
	return false;
}

/*
 * Is the entry known to be dead to everyone?  Only a hint, and not to be asked
 * by a snapshot taken in recovery.
 */
bool
fpb_page_is_killed(const FpbIndex *ix, Page page, FpbPos pos)
{
	uint8	   *byte = hint_byte(ix, page, pos);

	return byte != NULL && (*byte & (1 << (pos.slot % 8))) != 0;
}

/*
 * Entries of a leaf's slot that is not a gap.
 */
static int
slot_count(const FpbIndex *ix, Page page, FpbPos pos)
{
	int			codec;
	char	   *node = fpb_page_node(ix, page, pos.dir, &codec);
	FpbEntry	entry;
	int			count = 0;

	fpb_read_slot(ix, page, &ix->leaf, codec, node, pos.slot, &entry);
	if (!fpb_has_posting(&ix->leaf, &entry))
		return 1;
	for (int i = 0; i < fpb_posting_slots(entry.key.tuple); i++)
		count += !fpb_tail_is_gap(fpb_posting_tails(entry.key.tuple), i);
	return count;
}

/*
 * Note that entries are dead to everyone, given their positions in order, perhaps
 * more than once.  A slot has one hint, so those of a posting get it only if they
 * all are.
 *
 * For fpb_hint_dead, which calls MarkBufferDirtyHint if true is returned; the page
 * is locked at least share.  Two backends may set bits of one byte at once, so that
 * one is lost: it is only a hint.
 */
bool
fpb_page_kill(const FpbIndex *ix, Page page, const FpbPos *pos, int npos)
{
	bool		any = false;

	for (int i = 0, n; i < npos; i += n)
	{
		uint8	   *byte = hint_byte(ix, page, pos[i]);
		int			dead = 1;

		for (n = 1; i + n < npos && pos[i + n].dir == pos[i].dir &&
			 pos[i + n].slot == pos[i].slot; n++)
			dead += !fpb_pos_equal(pos[i + n - 1], pos[i + n]);
		if (byte == NULL || dead < slot_count(ix, page, pos[i]))
			continue;
		*byte |= 1 << (pos[i].slot % 8);
		any = true;
	}
	return any;
}

/*
 * Clear the hints of slots [from, to] of a node.
 */
void
fpb_page_clear_hints(const FpbIndex *ix, Page page, int dir, int from, int to)
{
	const FpbShape *shape = fpb_shape(ix, page);
	uint8	   *hints = fpb_hints(shape, page) +
		fpb_dir_nodes(page)[dir] * shape->hint_bytes;

	for (int i = from / 8; i < shape->hint_bytes && i <= to / 8; i++)
	{
		if (hints[i] == 0)
			continue;
		for (int slot = Max(from, i * 8); slot <= Min(to, i * 8 + 7); slot++)
			hints[i] &= ~(1 << (slot % 8));
	}
}
