/*-------------------------------------------------------------------------
 *
 * page/micro_index.c
 *	  The micro-indexed page: one sorted array, and an index of it in front.
 *
 * The entries lie in the slots of a single node that is as large as the page,
 * with no gaps.  Before it is the micro-index: the head of the first slot of
 * each sub-array (fpbtree-sigmod2002, section 2.1, after Lomet).  A search
 * finds the sub-array in the micro-index, and reads only the heads of that.
 * So it misses the cache as seldom as in a disk-first page.  But an insertion
 * moves, and logs, everything behind its place: this layout is for tables that
 * are read.
 *
 *	  header | micro-index: uint64[] | heads | low words | downlinks |
 *	  tails or tuple offsets | hole, with killed bits in it | tuples
 *
 * The page's header says for how many entries the arrays have room.  In the
 * word forms that is always the same; in the tuple form it is chosen for the
 * entries' lengths when a page is made.  The content of slots behind the last
 * entry is of no account, so nothing is logged there when entries go.
 *
 * Duplicates have a slot and a tuple each.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "page/layout_common.h"
#include "page/node.h"

/* the layout's part of the page header */
typedef struct MicroHeader
{
	uint16		nentries;
	uint16		capacity;		/* of the arrays */
	uint16		unused[2];
} MicroHeader;

StaticAssertDecl(sizeof(MicroHeader) <= sizeof(FpbHdr(NULL)->layout),
				 "the page header must have room for the layout's counts");

#define Micro(page)		((MicroHeader *) FpbHdr(page)->layout)

/* cache lines of the heads of a sub-array */
#define DEFAULT_LINES	4

/*
 * Slots in a hundred that a page of tuples must have free if it is made afresh
 * rather than split.
 */
#define REBUILD_SLACK	15

/* what a tuple is taken to need in a page that has none */
#define USUAL_TUPLE		24

/* --- shapes --- */

/*
 * Keys of a sub-array: its heads fill it, or would if keys had any.
 */
static inline int
sub_keys(const FpbIndex *ix, const FpbShape *shape)
{
	return shape->size / (ix->head_width > 0 ? ix->head_width : sizeof(uint32));
}

/*
 * Sub-arrays of so many slots.
 */
static inline int
subs_of(const FpbIndex *ix, const FpbShape *shape, int slots)
{
	int			keys = sub_keys(ix, shape);

	return (slots + keys - 1) / keys;
}

/*
 * Offset in the page of the arrays with so many slots.
 */
static inline uint32
arrays_at(const FpbIndex *ix, const FpbShape *shape, int capacity)
{
	return TYPEALIGN(FPB_CACHE_LINE, sizeof(FpbPageHeader) +
					 subs_of(ix, shape, capacity) * sizeof(uint64));
}

/*
 * Set up the shape of a page's node for so many slots, with sub-arrays of size
 * bytes.  Returns where the arrays end in the page.
 */
static uint32
set_shape(const FpbIndex *ix, FpbShape *shape, int size, int capacity, bool inner)
{
	uint32		end;

	memset(shape, 0, sizeof(*shape));
	shape->size = size;
	end = fpb_lay_out_slots(ix, shape, capacity, inner);
	shape->killed_bytes = inner ? 0 : (capacity + 7) / 8;
	if (fpb_is_word(ix))
		shape->killed_off = BLCKSZ - shape->killed_bytes;
	return arrays_at(ix, shape, capacity) + end;
}

/*
 * The shape of a page, made in *space unless all pages have it.
 */
static inline const FpbShape *
page_shape(const FpbIndex *ix, Page page, FpbShape *space)
{
	const FpbShape *shape = fpb_shape(ix, page);

	if (fpb_is_word(ix))
		return shape;
	set_shape(ix, space, shape->size, Micro(page)->capacity, !FpbPageIsLeaf(page));
	return space;
}

/*
 * See fpb_layout_shapes.
 */
static void
micro_set_shapes(FpbIndex *ix, int leaf_lines, int inner_lines)
{
	for (int level = 0; level < FPB_SHAPES; level++)
	{
		int			lines = level > 0 ? inner_lines : leaf_lines;
		FpbShape   *shape = &fpb_shapes(ix)[level];
		int			capacity = fpb_is_word(ix) ? BLCKSZ / FPB_TAIL_BYTES : 0;

		if (lines == 0)
			lines = DEFAULT_LINES;
		lines = Min(Max(lines, FPB_MIN_LINES), FPB_MAX_LINES);
		while (set_shape(ix, shape, lines * FPB_CACHE_LINE, capacity, level > 0) +
			   shape->killed_bytes > BLCKSZ)
			capacity--;
	}
	ix->max_tuple = FPB_MAX_TUPLE_SIZE;
	ix->max_posting = 0;
	ix->prefetch_front = 4 * FPB_CACHE_LINE;
	ix->prefetch_back = fpb_is_word(ix) ? fpb_leaf_shape(ix)->killed_bytes : 0;
}

static void
micro_get_shapes(const FpbIndex *ix, int *leaf_lines, int *inner_lines)
{
	*leaf_lines = fpb_leaf_shape(ix)->size / FPB_CACHE_LINE;
	*inner_lines = fpb_level_shape(ix, 1)->size / FPB_CACHE_LINE;
}

/*
 * Bytes of a slot.
 */
static Size
micro_slot_space(const FpbIndex *ix, bool leaf, uint64 span pg_attribute_unused())
{
	return fpb_slot_bytes(ix, !leaf);
}

/* --- parts of a page --- */

static inline uint64 *
micro_heads(Page page)
{
	return (uint64 *) ((char *) page + sizeof(FpbPageHeader));
}

static inline char *
page_node(const FpbIndex *ix, Page page, const FpbShape *shape)
{
	return (char *) page + arrays_at(ix, shape, shape->nslots);
}

static inline uint8 *
killed_bits(const FpbShape *shape, Page page)
{
	return (uint8 *) page + (shape->killed_off != 0 ? shape->killed_off :
							 FpbHdr(page)->pd.pd_lower);
}

/*
 * What is wrong with the layout's counts, or NULL.
 */
static const char *
micro_header_fault(const FpbIndex *ix, Page page)
{
	const FpbPageHeader *hdr = FpbHdr(page);
	const FpbShape *base = fpb_shape(ix, page);
	FpbShape	shape;

	if (Micro(page)->nentries > Micro(page)->capacity ||
		Micro(page)->capacity > FPB_MAX_PAGE_ENTRIES ||
		(fpb_is_word(ix) && Micro(page)->capacity != base->nslots) ||
		hdr->pd.pd_lower != set_shape(ix, &shape, base->size, Micro(page)->capacity,
									  !FpbPageIsLeaf(page)) ||
		hdr->pd.pd_upper > BLCKSZ ||
		hdr->pd.pd_lower + shape.killed_bytes > hdr->pd.pd_upper)
		return "The page's counts of entries do not agree with its bounds.";
	return NULL;
}

/* --- search --- */

/*
 * How many slots have a head < head?  The page has an entry.
 */
static inline int
slots_less(const FpbIndex *ix, Page page, const FpbShape *shape, uint64 head)
{
	int			n = Micro(page)->nentries;
	int			keys = sub_keys(ix, shape);
	int			sub = fpb_count_less64(micro_heads(page) + 1,
									   subs_of(ix, shape, n) - 1, head, ix->count_most);
	char	   *heads = page_node(ix, page, shape) + sub * shape->size;

	if (ix->prefetch)
		fpb_fetch_lines(heads, shape->size);
	return sub * keys + fpb_heads_less(ix, heads, Min(keys, n - sub * keys), head);
}

/*
 * How many slots hold entries < search key (equal: <= search key)?
 */
static int
search_page(const FpbIndex *ix, Page page, const FpbShape *shape,
			const FpbSearchKey *search, bool equal)
{
	char	   *node = page_node(ix, page, shape);
	int			lo = 0;
	int			hi = Micro(page)->nentries;
	uint64		head;

	if (hi == 0)
		return 0;
	head = fpb_search_head(ix, page, search);
	if (fpb_is_word(ix) || search->has_head)
	{
		lo = slots_less(ix, page, shape, head);
		if (lo == hi || fpb_node_head(ix, node, lo) != head)
			return lo;

		/* few share a head, so the first is likely to be the place */
		if (!fpb_node_is_gap(ix, shape, FPB_NODE_PLAIN, node, lo) &&
			fpb_compare_slot(ix, page, shape, FPB_NODE_PLAIN, node, lo, true, search, head) > (equal ? 0 : -1))
			return lo;
		if (head != PG_UINT64_MAX)
			hi = slots_less(ix, page, shape, head + 1);
	}
	return fpb_search_slots(ix, page, shape, FPB_NODE_PLAIN, node, lo, hi, search, head, equal);
}

/*
 * A position is the number of a slot.
 */
static void
micro_search(const FpbIndex *ix, Page page, const FpbSearchKey *search,
			 FpbPos *pos)
{
	FpbShape	space;

	pos->number = search_page(ix, page, page_shape(ix, page, &space), search, false);
}

/*
 * See FpbLayoutRoutine.
 */
static void
micro_search_from(const FpbIndex *ix, Page page, const FpbSearchKey *search, FpbPos from,
				  FpbPos *pos)
{
	FpbShape	space;
	const FpbShape *shape = page_shape(ix, page, &space);
	int			n = Micro(page)->nentries;

	pos->number = fpb_search_slots_from(ix, page, shape, FPB_NODE_PLAIN, page_node(ix, page, shape),
										(int) Min(from.number, n), n, search);
}

static bool
micro_next(const FpbIndex *ix, Page page, FpbPos *pos, FpbEntry *entry)
{
	FpbShape	space;
	const FpbShape *shape;

	if (pos->number >= Micro(page)->nentries)
		return false;
	shape = page_shape(ix, page, &space);
	fpb_read_slot(ix, page, shape, FPB_NODE_PLAIN, page_node(ix, page, shape),
				  (int) pos->number, entry);
	return true;
}

static bool
micro_prev(const FpbIndex *ix, Page page, FpbPos *pos, FpbEntry *entry)
{
	FpbPos		before = {Min(pos->number, Micro(page)->nentries)};

	if (before.number == 0)
		return false;
	before.number--;
	*pos = before;
	return micro_next(ix, page, pos, entry);
}

static FpbPos
micro_back(const FpbIndex *ix, Page page, FpbPos pos, int slots)
{
	uint64		number = Min(pos.number, Micro(page)->nentries);

	(void) ix;
	pos.number = number > (uint64) slots ? number - slots : 0;
	return pos;
}

/*
 * The slot at which the entries from slot on that are < end stop.  *more
 * becomes false if there is an entry behind them.
 */
static int
find_end(const FpbIndex *ix, Page page, const FpbShape *shape, int slot,
		 const FpbSearchKey *end, bool near, bool *more)
{
	char	   *node = page_node(ix, page, shape);
	int			n = Micro(page)->nentries;
	int			stop;

	for (int i = 0; near && i < 2; i++, slot++)
	{
		if (slot >= n)
			return n;
		if (fpb_compare_slot(ix, page, shape, FPB_NODE_PLAIN, node, slot, false, end,
							 fpb_search_head(ix, page, end)) >= 0)
		{
			*more = false;
			return slot;
		}
	}
	stop = search_page(ix, page, shape, end, false);
	if (stop < n)
		*more = false;
	return stop;
}

static int
read_slots(const FpbIndex *ix, Page page, FpbPos pos, const FpbSearchKey *end,
		   bool near, FpbItem *items, int room, bool *more)
{
	FpbShape	space;
	const FpbShape *shape = page_shape(ix, page, &space);
	char	   *node = page_node(ix, page, shape);
	int			from = (int) Min(pos.number, Micro(page)->nentries);
	int			to = Micro(page)->nentries;
	FpbItem    *item = items;

	if (end != NULL)
		to = find_end(ix, page, shape, from, end, near, more);
	if (room < to - from)
		return -1;
	pos.number = from;
	if (fpb_is_word(ix))
	{
		int			n = fpb_read_words(ix, shape, node, from, to, pos, 1, items, room);

		/* what is no entry there is a gap, and here there are none */
		if (unlikely(n < to - from))
			fpb_page_damaged(ix, page, "An entry has an invalid TID.");
		return n;
	}
	for (int slot = from; slot < to; slot++, item++)
	{
		FpbEntry	entry;

		fpb_read_slot(ix, page, shape, FPB_NODE_PLAIN, node, slot, &entry);
		item->key = entry.key;
		item->pos.number = slot;
	}
	return item - items;
}

/*
 * The slot of the child to descend to.  *compared: see fpb_page_child.
 */
static int
search_child(const FpbIndex *ix, Page page, const FpbShape *shape,
			 const FpbSearchKey *search, bool before, bool *compared)
{
	int			less;

	if (Micro(page)->nentries == 0)
		fpb_page_damaged(ix, page, "An inner page is empty.");
	less = search_page(ix, page, shape, search, !before);
	*compared = less > 0;
	return Max(less - 1, 0);
}

static BlockNumber
micro_downlink(const FpbIndex *ix, Page page, const FpbSearchKey *search,
			   bool before, uint16 *child_node)
{
	FpbShape	space;
	const FpbShape *shape = page_shape(ix, page, &space);
	bool		compared;
	int			slot = search_child(ix, page, shape, search, before, &compared);

	*child_node = 0;
	return fpb_node_children(shape, page_node(ix, page, shape))[slot];
}

static bool
micro_child(const FpbIndex *ix, Page page, const FpbSearchKey *search,
			bool before, FpbPos *pos, FpbEntry *entry)
{
	FpbShape	space;
	const FpbShape *shape = page_shape(ix, page, &space);
	bool		compared;
	int			slot = search_child(ix, page, shape, search, before, &compared);

	fpb_read_slot(ix, page, shape, FPB_NODE_PLAIN, page_node(ix, page, shape), slot, entry);
	pos->number = slot;
	return compared;
}

/* --- killed bits --- */

static bool
micro_has_killed(const FpbIndex *ix, Page page)
{
	FpbShape	space;
	const FpbShape *shape = page_shape(ix, page, &space);
	const uint8 *bits = killed_bits(shape, page);

	for (int i = 0; i < shape->killed_bytes; i++)
		if (bits[i] != 0)
			return true;
	return false;
}

static bool
micro_is_killed(const FpbIndex *ix, Page page, FpbPos pos)
{
	FpbShape	space;

	Assert(FpbPageIsLeaf(page) && pos.number < Micro(page)->nentries);
	return (killed_bits(page_shape(ix, page, &space), page)[pos.number / 8] &
			(1 << (pos.number % 8))) != 0;
}

static int
micro_read(const FpbIndex *ix, Page page, FpbPos pos, const FpbSearchKey *end,
		   bool near, bool live, FpbItem *items, int room, bool *more)
{
	int			n = read_slots(ix, page, pos, end, near, items, room, more);
	int			kept = 0;

	if (!live || n <= 0 || !micro_has_killed(ix, page))
		return n;
	for (int i = 0; i < n; i++)
		if (!micro_is_killed(ix, page, items[i].pos))
			items[kept++] = items[i];
	return kept;
}

static int
micro_read_part(const FpbIndex *ix, Page page, FpbPos *pos, const FpbSearchKey *end,
				bool live, int enough, FpbItem *items, int room, bool *more, bool *all)
{
	FpbPos		at = *pos;
	int			n = 0;
	FpbEntry	entry;

	*all = false;
	for (; n < enough && micro_next(ix, page, &at, &entry); at = fpb_pos_behind(at))
	{
		if (end != NULL &&
			fpb_compare_by_head(ix, &entry.key, end, fpb_search_head(ix, page, end)) >= 0)
		{
			*more = false;
			break;
		}
		if (live && micro_is_killed(ix, page, at))
			continue;
		if (n == room)
			return -1;
		items[n].key = entry.key;
		items[n++].pos = at;
	}
	*all = n < enough;
	if (!*all)
		*pos = at;
	return n;
}

static int
micro_read_killed(const FpbIndex *ix, Page page, FpbItem *items)
{
	bool		more;
	int			n = read_slots(ix, page, FPB_POS_FIRST, NULL, false, items,
							   FPB_MAX_PAGE_ENTRIES, &more);
	int			kept = 0;

	for (int i = 0; i < n; i++)
		if (micro_is_killed(ix, page, items[i].pos))
			items[kept++] = items[i];
	return kept;
}

static bool
micro_kill(const FpbIndex *ix, Page page, const FpbPos *pos, int npos)
{
	FpbShape	space;
	uint8	   *bits = killed_bits(page_shape(ix, page, &space), page);

	for (int i = 0; i < npos; i++)
	{
		Assert(pos[i].number < Micro(page)->nentries);
		bits[pos[i].number / 8] |= 1 << (pos[i].number % 8);
	}
	return npos > 0;
}

/*
 * Clear the killed bits of all slots from this one on: their entries have
 * moved or are gone.
 */
static void
clear_killed(Page page, const FpbShape *shape, int from)
{
	uint8	   *bits = killed_bits(shape, page);

	if (from / 8 >= shape->killed_bytes)
		return;
	bits[from / 8] &= (1 << (from % 8)) - 1;
	memset(bits + from / 8 + 1, 0, shape->killed_bytes - from / 8 - 1);
}

/* --- changes --- */

/*
 * See FpbLayoutRoutine.
 */
static bool
micro_is_sparse(const FpbIndex *ix pg_attribute_unused(), Page page pg_attribute_unused())
{
	return true;
}

/*
 * Has the page room for another tuple?
 */
static bool
micro_has_room(const FpbIndex *ix, Page page, const FpbKey *key)
{
	FpbShape	space;

	return fpb_is_word(ix) ||
		FpbHdr(page)->pd.pd_lower + page_shape(ix, page, &space)->killed_bytes +
		fpb_tuple_room(ix, key) <= FpbHdr(page)->pd.pd_upper;
}

static uint32
micro_put_tuple(const FpbIndex *ix pg_attribute_unused(), Page page, const FpbKey *key,
				FpbWalPage *wp)
{
	return fpb_add_tuple(ix, page, key, wp);
}

/*
 * The details of a plan are the slot.
 */
static void
micro_plan_insert(const FpbIndex *ix, Page page, const FpbEntry *entry,
				  FpbPos pos, FpbInsertPlan *plan)
{
	FpbEntry   *entries;
	int			n;

	plan->image = NULL;
	plan->details[0] = pos.number;
	if (Micro(page)->nentries < Micro(page)->capacity &&
		micro_has_room(ix, page, &entry->key))
	{
		plan->outcome = FPB_PLAN_FITS;
		return;
	}
	if (fpb_is_word(ix))
	{
		plan->outcome = FPB_PLAN_FULL;
		return;
	}
	entries = fpb_collect_with(ix, page, entry, pos, &n);
	fpb_plan_rebuild(ix, page, entries, n, REBUILD_SLACK,
					 FpbPageIsLeaf(page) ? FPB_FEW_ENTRIES : FPB_FEW_CHILDREN, plan);
	pfree(entries);
}

/*
 * Note that the page has nentries entries now, and others than before from
 * slot first on: in the header and in the micro-index.
 */
static void
set_entries(const FpbIndex *ix, Page page, const FpbShape *shape, int first,
			int nentries, FpbWalPage *wp)
{
	char	   *node = page_node(ix, page, shape);
	int			keys = sub_keys(ix, shape);
	int			from = (first + keys - 1) / keys;
	int			to = subs_of(ix, shape, nentries);

	for (int sub = from; sub < to; sub++)
		micro_heads(page)[sub] = fpb_node_head(ix, node, sub * keys);
	if (from < to)
		fpb_wal_note(wp, micro_heads(page) + from, (to - from) * sizeof(uint64));
	Micro(page)->nentries = nentries;
	fpb_wal_note(wp, &Micro(page)->nentries, sizeof(uint16));
	clear_killed(page, shape, first);
}

/*
 * Insert an entry as planned; it fits.  In the critical section.  Returns what
 * fpb_page_insert does.
 */
static FpbPos
micro_insert(const FpbIndex *ix, Page page, const FpbEntry *entry,
			 const FpbInsertPlan *plan, FpbWalPage *wp)
{
	FpbShape	space;
	const FpbShape *shape = page_shape(ix, page, &space);
	char	   *node = page_node(ix, page, shape);
	int			n = Micro(page)->nentries;
	int			slot = (int) plan->details[0];
	FpbNodeArray arrays[FPB_MAX_ARRAYS];
	int			narrays = fpb_node_arrays(ix, shape, FPB_NODE_PLAIN, node, arrays);
	FpbPos		at;

	for (int i = 0; slot < n && i < narrays; i++)
		fpb_shift_slots(arrays[i].start, slot, n - 1, 1, arrays[i].width);
	fpb_write_slot(ix, shape, node, slot, entry,
				   fpb_is_word(ix) ? 0 : fpb_add_tuple(ix, page, &entry->key, wp));
	for (int i = 0; i < narrays; i++)
		fpb_note_slots(wp, arrays[i].start, slot, n, arrays[i].width);
	set_entries(ix, page, shape, slot, n + 1, wp);
	at.number = slot;
	return ix->head_width > 0 ? FPB_POS_FIRST : fpb_pos_behind(at);
}

/*
 * Delete entries.  In the critical section.
 */
static void
micro_delete(const FpbIndex *ix, Page page, const FpbPos *pos, int npos,
			 FpbWalPage *wp)
{
	FpbShape	space;
	const FpbShape *shape = page_shape(ix, page, &space);
	int			n = Micro(page)->nentries;
	bool		gone[FPB_MAX_PAGE_ENTRIES] = {0};
	int			first = n;
	int			kept;
	FpbNodeArray arrays[FPB_MAX_ARRAYS];
	int			narrays = fpb_node_arrays(ix, shape, FPB_NODE_PLAIN,
										  page_node(ix, page, shape), arrays);

	for (int i = 0; i < npos; i++)
	{
		gone[pos[i].number] = true;
		first = Min(first, (int) pos[i].number);
	}
	kept = first;
	for (int slot = first; slot < n; slot++)
	{
		if (gone[slot])
			continue;
		for (int i = 0; i < narrays; i++)
			memcpy(arrays[i].start + kept * arrays[i].width,
				   arrays[i].start + slot * arrays[i].width, arrays[i].width);
		kept++;
	}
	for (int i = 0; first < kept && i < narrays; i++)
		fpb_note_slots(wp, arrays[i].start, first, kept - 1, arrays[i].width);
	set_entries(ix, page, shape, first, kept, wp);
}

static void
micro_cut(const FpbIndex *ix, Page page, FpbPos pos, FpbWalPage *wp)
{
	FpbShape	space;
	const FpbShape *shape = page_shape(ix, page, &space);
	int			kept = (int) Min(pos.number, Micro(page)->nentries);

	set_entries(ix, page, shape, kept, kept, wp);
	if (!fpb_is_word(ix))
		fpb_free_last_tuples(page, fpb_least_tuple(fpb_node_tuples(shape, page_node(ix, page, shape)),
												   kept, BLCKSZ), wp);
}

/* --- whole pages --- */

/*
 * Is the first entry's tuple the low fence's?  In inner pages their keys are
 * the same (unless the page is damaged).  In a leaf they are if a split had no
 * room for another separator.
 */
static bool
shares_fence(const FpbIndex *ix, const FpbPageContent *content)
{
	const FpbKey *low = content->low;

	if (low == NULL || fpb_is_word(ix) || content->nentries == 0)
		return false;
	return low->tail == content->entries[0].key.tail &&
		fpb_tuples_identical(ix, low->tuple, content->entries[0].key.tuple);
}

/*
 * Bytes of a page with arrays for so many slots, without its tuples.
 */
static uint32
page_space(const FpbIndex *ix, bool leaf, int capacity)
{
	const FpbShape *base = fpb_level_shape(ix, leaf ? 0 : 1);
	FpbShape	shape;
	uint32		end = set_shape(ix, &shape, base->size, capacity, !leaf);

	return end + shape.killed_bytes;
}

/*
 * For how many slots a page of nentries entries, whose tuples take so many
 * bytes, gets room: as many as would fill it with more of the same.
 */
static int
choose_capacity(const FpbIndex *ix, bool leaf, int nentries, Size tuples)
{
	Size		used = page_space(ix, leaf, nentries) + tuples;
	Size		entry = micro_slot_space(ix, leaf, 0) +
		(nentries > 0 ? tuples / nentries : USUAL_TUPLE) + 1;
	int			capacity = nentries + (BLCKSZ - used) / entry;

	capacity = Min(capacity, (int) FPB_MAX_PAGE_ENTRIES);

	/* the arrays' alignment and the micro-index may need a few bytes more */
	while (capacity > nentries && page_space(ix, leaf, capacity) + tuples > BLCKSZ)
		capacity--;
	return capacity;
}

/*
 * See fpb_page_build.
 */
static bool
micro_build(const FpbIndex *ix, Page page, const FpbPageContent *content,
			int slack)
{
	FpbPageHeader *hdr = FpbHdr(page);
	const FpbShape *base = fpb_level_shape(ix, content->level);
	bool		leaf = content->level == 0;
	const FpbKey *low = content->low;
	const FpbKey *high = content->high;
	const FpbEntry *entries = content->entries;
	int			nentries = content->nentries;
	FpbTupleArea area = {0};
	FpbShape	shape;
	char	   *node;
	int			capacity = base->nslots;
	bool		shared = shares_fence(ix, content);

	if (fpb_is_word(ix))
	{
		if (nentries > capacity - capacity * slack / 100)
			return false;
	}
	else
	{
		for (int i = 0; i < nentries; i++)
			*fpb_area_of(ix, &area, entries[i].key.tuple) += fpb_tuple_space(ix, entries[i].key.tuple);
		if (low != NULL && !shared)
			*fpb_area_of(ix, &area, low->tuple) += fpb_tuple_space(ix, low->tuple);
		if (high != NULL && high->tuple != NULL)
			*fpb_area_of(ix, &area, high->tuple) += fpb_tuple_space(ix, high->tuple);
		if (nentries > (int) FPB_MAX_PAGE_ENTRIES ||
			page_space(ix, leaf, nentries) + area.aligned + area.packed +
			BLCKSZ * slack / 100 > BLCKSZ)
			return false;
		capacity = choose_capacity(ix, leaf, nentries, area.aligned + area.packed);
	}

	fpb_begin_page(ix, page, content);
	Micro(page)->capacity = capacity;
	Micro(page)->nentries = nentries;
	hdr->pd.pd_lower = set_shape(ix, &shape, base->size, capacity, !leaf);
	hdr->pd.pd_upper = BLCKSZ - area.aligned - area.packed;
	fpb_area_begin(&area);
	fpb_write_fences(ix, page, low, high, &area);

	node = page_node(ix, page, &shape);
	for (int i = 0; i < nentries; i++)
	{
		uint32		offset = 0;

		if (i == 0 && shared)
			offset = (uint32) hdr->fences.tail[FPB_LOW];
		else if (!fpb_is_word(ix))
			offset = fpb_place_tuple(ix, page, entries[i].key.tuple, 1, 0, &area);

		/* an entry out of a posting has no TID in its tuple */
		if (!fpb_is_word(ix) && leaf)
			fpb_tail_tid(entries[i].key.tail, &((IndexTuple) ((char *) page + offset))->t_tid);
		fpb_write_slot(ix, &shape, node, i, &entries[i], offset);
	}
	for (int sub = 0; sub < subs_of(ix, &shape, nentries); sub++)
		micro_heads(page)[sub] = fpb_node_head(ix, node, sub * sub_keys(ix, &shape));
	return true;
}

/* the details of a filler: bytes of tuples, with the low fence's */
#define FillerTuples(filler)	((filler)->details[0])

static void
micro_filler_begin(FpbFiller *filler)
{
	FillerTuples(filler) = 0;

	/* an inner page's first key is its low fence */
	if (filler->low != NULL && filler->low->tuple != NULL && filler->level == 0)
		FillerTuples(filler) = fpb_tuple_space(filler->ix, filler->low->tuple);
}

/*
 * See page/layout.h.  A separator takes no more room than the entry before it.
 */
static bool
micro_filler_take(FpbFiller *filler, const FpbEntry *entry, bool same pg_attribute_unused())
{
	const FpbIndex *ix = filler->ix;
	bool		leaf = filler->level == 0;
	Size		full = BLCKSZ - BLCKSZ * filler->slack / 100;
	Size		used;
	Size		tuples;

	if (fpb_is_word(ix))
	{
		int			capacity = fpb_level_shape(ix, leaf ? 0 : 1)->nslots;

		return filler->nentries < Max(capacity - capacity * filler->slack / 100, 2);
	}

	tuples = FillerTuples(filler) + fpb_tuple_space(filler->ix, entry->key.tuple);
	used = page_space(ix, leaf, filler->nentries + 1) + tuples;
	if (filler->nentries >= 2)
		used += fpb_tuple_space(filler->ix, entry->key.tuple);
	if (used > (filler->nentries >= 2 ? full : BLCKSZ))
		return false;
	FillerTuples(filler) = tuples;
	return true;
}

static bool
micro_filler_fence_fits(const FpbFiller *filler, const FpbKey *high)
{
	return fpb_is_word(filler->ix) || filler->nentries <= 2 ||
		page_space(filler->ix, filler->level == 0, filler->nentries) +
		FillerTuples(filler) + fpb_tuple_space(filler->ix, high->tuple) <= BLCKSZ;
}

static bool
micro_filler_write(const FpbFiller *filler, const FpbPageContent *content)
{
	return micro_build(filler->ix, filler->page, content, 0);
}

/* --- what is wrong with a page, and what is in it --- */

/*
 * What is wrong with the entry in a slot, or NULL, but for its tuple.
 */
static const char *
target_fault(const FpbIndex *ix, Page page, const FpbShape *shape, char *node, int slot)
{
	ItemPointerData tid;

	if (shape->child_off != 0)
	{
		BlockNumber child = fpb_node_children(shape, node)[slot];

		if (child == InvalidBlockNumber || child == FPB_METAPAGE)
			return "An entry has no downlink.";
		return NULL;
	}
	if (fpb_is_word(ix))
		fpb_tail_tid(fpb_read_tail(node + shape->tail_off, slot), &tid);
	else
		tid = ((IndexTuple) ((char *) page + fpb_node_tuples(shape, node)[slot]))->t_tid;
	if (ItemPointerGetBlockNumberNoCheck(&tid) == InvalidBlockNumber ||
		ItemPointerGetOffsetNumberNoCheck(&tid) == InvalidOffsetNumber)
		return "An entry has an invalid TID.";
	return NULL;
}

/*
 * What is wrong with the space that belongs to nothing, or NULL.
 */
static const char *
hole_fault(Page page, const FpbShape *shape)
{
	const FpbPageHeader *hdr = FpbHdr(page);
	const char *start = (const char *) page + hdr->pd.pd_lower;
	const char *end = (const char *) page + hdr->pd.pd_upper;
	const uint8 *bits = killed_bits(shape, page);

	for (int i = Micro(page)->nentries; i < shape->killed_bytes * 8; i++)
		if (bits[i / 8] & (1 << (i % 8)))
			return "A killed bit is set where there is no entry.";
	for (; start < end; start++)
		if (*start != 0 &&
			(start < (const char *) bits || start >= (const char *) bits + shape->killed_bytes))
			return "The unused space of the page is not zero.";
	return NULL;
}

static const char *
micro_fault(const FpbIndex *ix, Page page)
{
	FpbShape	space;
	const FpbShape *shape = page_shape(ix, page, &space);
	char	   *node = page_node(ix, page, shape);
	int			n = Micro(page)->nentries;
	FpbTupleCheck tuples = {.ix = ix,.page = page};
	const char *fault = fpb_is_word(ix) ? NULL : fpb_fence_tuples_fault(&tuples);

	for (int slot = 0; fault == NULL && slot < n; slot++)
	{
		uint64		head = fpb_node_head(ix, node, slot);

		if (slot > 0 && head < fpb_node_head(ix, node, slot - 1))
			return "The heads of a page are out of order.";
		if (slot % sub_keys(ix, shape) == 0 &&
			micro_heads(page)[slot / sub_keys(ix, shape)] != head)
			return "The micro-index does not agree with its sub-array.";
		if (!fpb_is_word(ix))
			fault = fpb_entry_tuple_fault(&tuples, fpb_node_tuples(shape, node)[slot]);
		tuples.any = true;
		if (fault == NULL)
			fault = target_fault(ix, page, shape, node, slot);
	}
	if (fault == NULL && !FpbPageIsLeaf(page) && n == 0)
		fault = "An inner page is empty.";
	return fault != NULL ? fault : hole_fault(page, shape);
}

/*
 * Sub-arrays that have entries are shown as nodes; what is free belongs to the
 * last.
 */
static void
micro_page_info(const FpbIndex *ix, Page page, FpbPageInfo *info)
{
	const FpbShape *shape = fpb_shape(ix, page);

	info->nodes = subs_of(ix, shape, Micro(page)->nentries);
	info->allocated = info->capacity = subs_of(ix, shape, Micro(page)->capacity);
}

static bool
micro_node_info(const FpbIndex *ix, Page page, int n, FpbNodeInfo *info)
{
	FpbShape	space;
	const FpbShape *shape = page_shape(ix, page, &space);
	int			keys = sub_keys(ix, shape);
	int			from = n * keys;
	int			taken = Min(keys, Micro(page)->nentries - from);

	if (taken <= 0)
		return false;
	memset(info, 0, sizeof(*info));
	info->number = n;
	info->codec = "plain";
	info->head = micro_heads(page)[n];
	info->entries = taken;
	if (from + taken == Micro(page)->nentries)
		info->gaps = Micro(page)->capacity - Micro(page)->nentries;
	info->used = taken * micro_slot_space(ix, FpbPageIsLeaf(page), 0);
	info->available = info->gaps * micro_slot_space(ix, FpbPageIsLeaf(page), 0);
	for (int slot = from; slot < from + taken; slot++)
	{
		FpbEntry	entry;

		fpb_read_slot(ix, page, shape, FPB_NODE_PLAIN, page_node(ix, page, shape),
					  slot, &entry);
		if (slot == from)
			info->first = entry;
		if (entry.key.tuple != NULL)
			info->used += IndexTupleSize(entry.key.tuple);
	}
	return true;
}

const FpbLayoutRoutine fpb_micro_index_routine = {
	.id = FPB_MICRO_INDEX,
	.set_shapes = micro_set_shapes,
	.get_shapes = micro_get_shapes,
	.header_fault = micro_header_fault,
	.search = micro_search,
	.search_from = micro_search_from,
	.next = micro_next,
	.prev = micro_prev,
	.back = micro_back,
	.read = micro_read,
	.read_first = fpb_read_first_by_steps,
	.read_part = micro_read_part,
	.downlink = micro_downlink,
	.child = micro_child,
	.has_killed = micro_has_killed,
	.is_killed = micro_is_killed,
	.read_killed = micro_read_killed,
	.kill = micro_kill,
	.plan_insert = micro_plan_insert,
	.insert = micro_insert,
	.delete = micro_delete,
	.is_sparse = micro_is_sparse,
	.has_room = micro_has_room,
	.put_tuple = micro_put_tuple,
	.slot_space = micro_slot_space,
	.cut = micro_cut,
	.build = micro_build,
	.filler_begin = micro_filler_begin,
	.filler_take = micro_filler_take,
	.filler_fence_fits = micro_filler_fence_fits,
	.filler_write = micro_filler_write,
	.fault = micro_fault,
	.page_info = micro_page_info,
	.node_info = micro_node_info,
};
