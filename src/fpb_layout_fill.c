/*-------------------------------------------------------------------------
 *
 * fpb_layout_fill.c
 *	  Making whole disk-first pages from sorted entries.
 *
 * First the entries are parted into nodes; then the nodes are written, their
 * entries spread over their slots so that an insertion finds a gap nearby
 * (fpbtree-sigmod2002, section 3.1.2, "Bulkload").
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "fpb_layout.h"

/*
 * A run of duplicates gets a one-key node when it would fill this share of a
 * plain one: shorter runs would waste more of the node than the repeated keys.
 */
#define ONE_KEY_RUN(shape)	((shape)->nslots * 2 / 3)

/* one node to be */
typedef struct NodePart
{
	int			start;			/* its first entry */
	int			count;
	int			codec;
} NodePart;

/* --- writing slots --- */

/*
 * Store an entry in a slot of a plain node.  Tuple form: the tuple is at
 * tuple_offset already.
 */
void
fpb_write_slot(const FpbIndex *ix, const FpbShape *shape, char *node, int slot,
			   const FpbEntry *entry, uint32 tuple_offset)
{
	fpb_node_set_head(ix, node, slot, entry->key.head);
	if (fpb_is_word(ix))
	{
		if (ix->form == FPB_WORD16)
			((uint64 *) (node + shape->low_off))[slot] = entry->key.low;
		fpb_write_tail(node + shape->tail_off, slot, entry->key.tail);
	}
	else
		fpb_node_tuples(shape, node)[slot] = (uint16) tuple_offset;
	if (shape->child_off != 0)
		fpb_node_children(shape, node)[slot] = entry->child;
}

/*
 * Make a slot a gap.  Its head stays, so that the heads stay sorted.
 */
void
fpb_make_gap(const FpbIndex *ix, const FpbShape *shape, int codec, char *node,
			 int slot)
{
	if (codec == FPB_NODE_ONE_KEY)
		fpb_write_tail(node + FPB_ONE_KEY_HEADER, slot, 0);
	else
	{
		if (fpb_is_word(ix))
			fpb_write_tail(node + shape->tail_off, slot, 0);
		else
			fpb_node_tuples(shape, node)[slot] = 0;
		if (shape->child_off != 0)
			fpb_node_children(shape, node)[slot] = InvalidBlockNumber;
	}
}

/*
 * Write a gap into a slot of a plain node.  Its head is that of the next
 * entry, or the greatest behind the last one: then a search for the place of
 * a new entry between two others ends at the first gap between them.
 */
void
fpb_write_gap(const FpbIndex *ix, const FpbShape *shape, char *node, int slot,
			  uint64 head)
{
	fpb_node_set_head(ix, node, slot, head);
	if (ix->form == FPB_WORD16)
		((uint64 *) (node + shape->low_off))[slot] = 0;
	fpb_make_gap(ix, shape, FPB_NODE_PLAIN, node, slot);
}

/* --- parting entries into nodes --- */

/*
 * Length of the run of identical keys that starts at entries[start].
 */
static int
run_length(const FpbIndex *ix, const FpbEntry *entries, int start, int nentries)
{
	int			i = start + 1;

	while (i < nentries &&
		   fpb_keys_identical(ix, &entries[i].key, &entries[start].key))
		i++;
	return i - start;
}

/*
 * Part count entries from start into as few nodes as hold at most fill each,
 * evenly, or with all but the last one filled.  Returns the number of parts
 * with the new ones, or -1 if there are too many.
 */
static int
add_parts(NodePart *parts, int nparts, int start, int count, int fill,
		  bool evenly, int codec)
{
	int			nodes = (count + fill - 1) / fill;

	if (nparts + nodes > FPB_MAX_NODES)
		return -1;
	for (int i = 0; i < nodes; i++)
	{
		int			from = evenly ? (int) ((int64) count * i / nodes) : i * fill;
		int			to = evenly ? (int) ((int64) count * (i + 1) / nodes) :
			Min(count, from + fill);

		parts[nparts].start = start + from;
		parts[nparts].count = to - from;
		parts[nparts].codec = codec;
		nparts++;
	}
	return nparts;
}

/*
 * How many of a node's slots to fill, to leave slack slots of a hundred free.
 */
static int
slots_to_fill(int nslots, int slack)
{
	int			fill = (nslots * (100 - slack) + 99) / 100;

	return Max(fill, 1);
}

/*
 * The same of a one-key node.  It has about twice the slots of a plain one, so
 * half the share leaves as many gaps.
 */
static int
one_key_slots_to_fill(const FpbShape *shape, int slack)
{
	return slots_to_fill(fpb_one_key_slots(shape), slack / 2);
}

/*
 * How many of a run of duplicates go into one-key nodes.  In the word forms
 * what would fill too little of the last one is left to a plain node, shared
 * with the entries behind; in the tuple form each of those would have a tuple
 * of its own.
 */
static int
one_key_part(const FpbIndex *ix, const FpbShape *shape, int run, int fill)
{
	if (fpb_is_word(ix) && run > fill && run % fill < ONE_KEY_RUN(shape))
		return run - run % fill;
	return run;
}

/*
 * Part sorted entries into nodes, runs of at least one_key_run duplicates into
 * one-key nodes.  Returns how many, or -1 if too many.
 */
static int
part_entries(const FpbIndex *ix, const FpbShape *shape, const FpbEntry *entries,
			 int nentries, int slack, int one_key_run, NodePart *parts)
{
	int			plain_fill = slots_to_fill(shape->nslots, slack);
	int			one_key_fill = one_key_slots_to_fill(shape, slack);
	bool		one_key = ix->one_key && shape == &ix->leaf;
	int			nparts = 0;
	int			plain = 0;		/* start of entries not yet parted */
	int			i = 0;

	while (one_key && i < nentries && nparts >= 0)
	{
		int			run = run_length(ix, entries, i, nentries);

		if (run >= one_key_run)
		{
			nparts = add_parts(parts, nparts, plain, i - plain, plain_fill,
							   slack > 0, FPB_NODE_PLAIN);
			plain = i + one_key_part(ix, shape, run, one_key_fill);
			if (nparts >= 0)
				nparts = add_parts(parts, nparts, i, plain - i, one_key_fill,
								   slack > 0, FPB_NODE_ONE_KEY);
		}
		i += run;
	}
	if (nparts >= 0)
		nparts = add_parts(parts, nparts, plain, nentries - plain, plain_fill,
						   slack > 0, FPB_NODE_PLAIN);
	return nparts;
}

/* --- writing a page --- */

/*
 * Copy a tuple into the page's tuple area; its offset, or 0 if there is no
 * room above limit.
 */
static uint32
place_tuple(const FpbIndex *ix, Page page, const FpbKey *key, uint32 limit)
{
	Size		size = IndexTupleSize(key->tuple);
	uint32		upper = FpbHdr(page)->pd.pd_upper;

	if (upper < limit + size)
		return 0;
	upper = TYPEALIGN_DOWN(fpb_tuple_align(key->tuple), upper - size);
	if (upper < limit)
		return 0;
	memcpy((char *) page + upper, key->tuple, size);
	FpbHdr(page)->pd.pd_upper = upper;
	return upper;
}

/*
 * Store the fences.  False if their tuples don't fit above limit.
 */
static bool
write_fences(const FpbIndex *ix, Page page, const FpbKey *low,
			 const FpbKey *high, uint32 limit)
{
	FpbPageHeader *hdr = FpbHdr(page);

	if (low != NULL)
	{
		hdr->low_head = low->head;
		hdr->low_low = low->low;
		hdr->low_tail = fpb_is_word(ix) ? low->tail :
			place_tuple(ix, page, low, limit);
		if (!fpb_is_word(ix) && hdr->low_tail == 0)
			return false;
	}
	if (high != NULL)
	{
		hdr->high_head = high->head;
		hdr->high_low = high->low;
		hdr->high_tail = fpb_is_word(ix) ? high->tail :
			place_tuple(ix, page, high, limit);
		if (!fpb_is_word(ix) && hdr->high_tail == 0)
			return false;
	}
	return true;
}

/*
 * Write a plain node with count entries spread over its slots, or in its first
 * slots.  The first one's tuple is at first_tuple already, unless that is 0.
 */
static bool
write_plain_node(const FpbIndex *ix, Page page, const FpbShape *shape,
				 char *node, const FpbEntry *entries, int count, bool spread,
				 uint32 limit, uint32 first_tuple)
{
	int			slot = 0;

	for (int i = 0; i < count; i++)
	{
		int			next = (spread || i + 1 == count) ?
			(i + 1) * shape->nslots / count : slot + 1;
		uint32		offset = 0;

		if (!fpb_is_word(ix))
		{
			offset = (i == 0 && first_tuple != 0) ? first_tuple :
				place_tuple(ix, page, &entries[i].key, limit);
			if (offset == 0)
				return false;
			/* the tuple of an entry out of a one-key node has another's TID */
			if (shape == &ix->leaf)
				fpb_tail_tid(entries[i].key.tail,
							 &((IndexTuple) ((char *) page + offset))->t_tid);
		}
		fpb_write_slot(ix, shape, node, slot++, &entries[i], offset);
		for (; slot < next; slot++)
			fpb_write_gap(ix, shape, node, slot, i + 1 < count ?
						  entries[i + 1].key.head : PG_UINT64_MAX);
	}
	return true;
}

/*
 * Write a one-key node with count TIDs, likewise.  Its tuple is at tuple
 * already, unless that is 0.
 */
static bool
write_one_key_node(const FpbIndex *ix, Page page, const FpbShape *shape,
				   char *node, const FpbEntry *entries, int count, bool spread,
				   uint32 limit, uint32 tuple)
{
	uint64	   *header = (uint64 *) node;
	int			nslots = fpb_one_key_slots(shape);
	int			slot = 0;

	header[0] = entries[0].key.head;
	header[1] = entries[0].key.low;
	if (!fpb_is_word(ix))
	{
		header[1] = tuple != 0 ? tuple :
			place_tuple(ix, page, &entries[0].key, limit);
		if (header[1] == 0)
			return false;
	}
	for (int i = 0; i < count; i++)
	{
		int			next = (spread || i + 1 == count) ?
			(i + 1) * nslots / count : slot + 1;

		fpb_write_tail(node + FPB_ONE_KEY_HEADER, slot++, entries[i].key.tail);
		for (; slot < next; slot++)
			fpb_make_gap(ix, shape, FPB_NODE_ONE_KEY, node, slot);
	}
	return true;
}

/*
 * Directory capacity for a page that starts with nparts nodes and used bytes
 * in these and in tuples.  Words: all the nodes the page can ever hold.
 * Tuples: they, not the nodes, will fill the page, so there is room for as
 * many nodes again as would hold them at half their present number of tuples a
 * node, or for what a page mostly empty will have when it is full.
 */
static int
directory_capacity(const FpbIndex *ix, const FpbShape *shape, int nparts,
				   Size used)
{
	int			most = shape->max_nodes;
	int			capacity = nparts + nparts / 2 + 2;

	if (fpb_is_word(ix))
		return most;
	if (nparts > 0 && used < BLCKSZ / 2)
		capacity = Max(capacity, (int) (nparts * BLCKSZ / used));
	return Min(most, capacity);
}

/*
 * Is the i'th part a one-key node of the same key as the one before?
 */
static bool
shares_key(const FpbIndex *ix, const FpbEntry *entries, const NodePart *parts,
		   int i)
{
	return i > 0 && parts[i].codec == FPB_NODE_ONE_KEY &&
		parts[i - 1].codec == FPB_NODE_ONE_KEY &&
		fpb_keys_identical(ix, &entries[parts[i].start].key,
						   &entries[parts[i - 1].start].key);
}

/*
 * Bytes that nodes and tuples of the parts take, padding left out.
 */
static Size
parts_space(const FpbIndex *ix, const FpbShape *shape, const FpbEntry *entries,
			const NodePart *parts, int nparts)
{
	Size		space = nparts * (shape->size + shape->hint_bytes);

	if (fpb_is_word(ix))
		return space;
	for (int i = 0; i < nparts; i++)
	{
		int			ntuples = parts[i].codec == FPB_NODE_PLAIN ? parts[i].count :
			shares_key(ix, entries, parts, i) ? 0 : 1;

		for (int j = 0; j < ntuples; j++)
			space += IndexTupleSize(entries[parts[i].start + j].key.tuple);
	}
	return space;
}

/*
 * The longest tuple that pages can take: four of them must fit a page.  In a
 * leaf that may be two entries and two fences, so that a split can part any
 * entries.  In an inner page, whose first entry shares its tuple with the low
 * fence, it may be three entries and the high fence, so that a split leaves at
 * least two children on either side and the tree can't grow without need.
 */
Size
fpb_max_tuple_size(const FpbIndex *ix)
{
	Size		most = BLCKSZ;

	for (int i = 0; i < 2; i++)
	{
		const FpbShape *shape = (i == 0) ? &ix->leaf : &ix->inner;
		Size		room = BLCKSZ - fpb_page_base(directory_capacity(ix, shape, 1, BLCKSZ)) -
			shape->size - shape->hint_bytes - 4 * MAXIMUM_ALIGNOF;

		most = Min(most, MAXALIGN_DOWN(room / 4));
	}
	return most;
}

/*
 * Write a page: header, fences, and the nodes given by parts, their entries
 * spread over their slots or not.  False if it doesn't fit.
 */
static bool
write_page(const FpbIndex *ix, Page page, int level, int flags,
		   BlockNumber right, const FpbKey *low, const FpbKey *high,
		   const FpbEntry *entries, const NodePart *parts, int nparts,
		   bool spread)
{
	FpbPageHeader *hdr = FpbHdr(page);
	const FpbShape *shape = (level == 0) ? &ix->leaf : &ix->inner;
	uint32		limit;

	fpb_page_init(page, level, flags, right);
	hdr->dircap = directory_capacity(ix, shape, nparts,
									 parts_space(ix, shape, entries, parts, nparts));
	if (nparts > hdr->dircap)
		return false;
	hdr->nnodes = hdr->nalloc = nparts;
	hdr->pd.pd_lower = fpb_page_base(hdr->dircap) + nparts * shape->size;
	limit = hdr->pd.pd_lower + nparts * shape->hint_bytes;
	if (limit > BLCKSZ || !write_fences(ix, page, low, high, limit))
		return false;

	for (int i = 0; i < nparts; i++)
	{
		char	   *node = (char *) page + fpb_page_base(hdr->dircap) + i * shape->size;
		const FpbEntry *first = &entries[parts[i].start];

		fpb_dir_heads(page)[i] = first->key.head;
		fpb_dir_nodes(page)[i] = i;
		fpb_dir_codecs(page)[i] = parts[i].codec;
		if (parts[i].codec == FPB_NODE_PLAIN)
		{
			uint32		first_tuple = 0;

			/* an inner page's first key is its low fence */
			if (i == 0 && level > 0 && low != NULL && !fpb_is_word(ix))
				first_tuple = (uint32) hdr->low_tail;
			if (!write_plain_node(ix, page, shape, node, first, parts[i].count,
								  spread, limit, first_tuple))
				return false;
		}
		else
		{
			uint32		tuple = 0;

			/* the nodes of one key share its tuple */
			if (shares_key(ix, entries, parts, i))
				tuple = (uint32) ((uint64 *) (node - shape->size))[1];
			if (!write_one_key_node(ix, page, shape, node, first,
									parts[i].count, spread, limit, tuple))
				return false;
		}
	}
	return true;
}

/*
 * Make a page from sorted entries, at least slack slots of a hundred free in
 * its nodes, and as much of the page; with no slack, the free slots are behind
 * all entries.  False if they don't fit so; the page is then undefined.  Nothing in entries and fences may point into the page.
 */
bool
fpb_page_build(const FpbIndex *ix, Page page, int level, int flags,
			   BlockNumber right, const FpbKey *low, const FpbKey *high,
			   const FpbEntry *entries, int nentries, int slack)
{
	const FpbShape *shape = (level == 0) ? &ix->leaf : &ix->inner;

	/*
	 * Runs of duplicates between single entries can make one-key nodes cost
	 * more nodes than they save.  So if the page does not fit with all of
	 * them, only runs longer than a plain node get one, and at last none.
	 */
	int			one_key_runs[] = {ONE_KEY_RUN(shape), shape->nslots + 1, INT_MAX};

	for (int i = 0; i < lengthof(one_key_runs); i++)
	{
		NodePart	parts[FPB_MAX_NODES];
		int			nparts = part_entries(ix, shape, entries, nentries, slack,
										  one_key_runs[i], parts);

		if (nparts >= 0 &&
			write_page(ix, page, level, flags, right, low, high, entries, parts, nparts,
					   slack > 0) &&
			(fpb_is_word(ix) ||
			 FpbHdr(page)->pd.pd_upper - FpbHdr(page)->pd.pd_lower >= BLCKSZ * slack / 100))
			return true;
		if (!ix->one_key || level > 0)
			break;
	}
	return false;
}

/* --- splitting --- */

/*
 * Bytes an entry takes of a page, its share of a node included.
 */
static Size
entry_weight(const FpbIndex *ix, const FpbShape *shape, const FpbEntry *entry)
{
	Size		weight = shape->size / shape->nslots;

	if (!fpb_is_word(ix))
		weight += IndexTupleSize(entry->key.tuple);
	return weight;
}

/*
 * Is b the TID of the row after a's, if rows are added to a table's end?
 */
static bool
tids_adjacent(uint64 a, uint64 b)
{
	ItemPointerData first;
	ItemPointerData second;

	fpb_tail_tid(a, &first);
	fpb_tail_tid(b, &second);
	if (ItemPointerGetBlockNumber(&first) == ItemPointerGetBlockNumber(&second))
		return ItemPointerGetOffsetNumber(&first) < ItemPointerGetOffsetNumber(&second);
	return ItemPointerGetBlockNumber(&first) + 1 == ItemPointerGetBlockNumber(&second) &&
		ItemPointerGetOffsetNumber(&second) == FirstOffsetNumber;
}

/*
 * Does the new entry, entries[newpos], look like one of a series of ascending
 * keys?  It does at the end of the level, even if it is not quite the last.
 * Elsewhere in leaves, a series may be one of many, told apart by the first
 * column (or by the whole key: duplicates ascend in their TIDs).  There the new
 * entry has to come next after one that shares this column, behind all others
 * of the page; or else that one has to be of a row inserted just before, as
 * rows with few different values in this column would otherwise be taken for
 * series.  (nbtree's rules are much like these.)
 */
bool
fpb_page_ascending(const FpbIndex *ix, Page page, const FpbEntry *entries,
				   int nentries, int newpos)
{
	bool		last = newpos == nentries - 1;

	if (FpbPageIsRightmost(page))
		return true;
	return FpbPageIsLeaf(page) && newpos > 0 &&
		(last || tids_adjacent(entries[newpos - 1].key.tail, entries[newpos].key.tail)) &&
		fpb_keys_share_prefix(ix, &entries[newpos - 1].key, &entries[newpos].key);
}

/*
 * Where to split a full page that gets one more entry, at entries[newpos]:
 * the index of the right page's first entry, at least one on each side.
 *
 * Half of the page each, except that a series of ascending keys leaves the
 * page behind as full as fillfactor says, and what comes after one of many
 * series to the right page.
 */
int
fpb_page_split_point(const FpbIndex *ix, Page page, const FpbEntry *entries,
					 int nentries, int newpos, bool ascending, int fillfactor)
{
	const FpbShape *shape = fpb_shape(ix, page);
	Size		total = 0;
	Size		left = 0;
	Size		want;
	int			i;

	Assert(nentries >= 2);
	for (i = 0; i < nentries; i++)
		total += entry_weight(ix, shape, &entries[i]);
	want = ascending ? total * fillfactor / 100 : total / 2;

	/* The right page begins with the first entry not within the left's share. */
	for (i = 0; i < nentries - 1; i++)
	{
		left += entry_weight(ix, shape, &entries[i]);
		if (left > want ||
			(ascending && i > newpos && !FpbPageIsRightmost(page)))
			break;
	}
	if (!FpbPageIsLeaf(page) && nentries >= 4)
		return Min(Max(i, 2), nentries - 2);
	return Max(i, 1);
}

/* --- bulk load --- */

struct FpbFiller
{
	const FpbIndex *ix;
	const FpbShape *shape;
	int			level;
	int			slack;
	int			fill;			/* slots to fill of a plain node */
	int			one_key_fill;	/* and of a one-key node */

	Page		page;			/* the page begun */
	int			flags;
	FpbKey	   *low;			/* its low fence or NULL */
	FpbKey		low_key;

	FpbEntry   *entries;
	int			nentries;
	int			run;			/* length of the last run of identical keys */
	int			plain;			/* entries of plain nodes before it, since the
								 * last one-key node */
	int			closed;			/* nodes before these */
	Size		tuple_space;	/* bytes of tuples so far */
	MemoryContext context;		/* holds the page's tuples */
};

/*
 * Make a filler for the pages of a level, which lives in the current memory
 * context.
 */
FpbFiller *
fpb_filler_create(const FpbIndex *ix, int level, int fillfactor)
{
	FpbFiller  *filler = palloc0(sizeof(FpbFiller));

	filler->ix = ix;
	filler->shape = (level == 0) ? &ix->leaf : &ix->inner;
	filler->level = level;
	filler->slack = 100 - fillfactor;
	filler->fill = slots_to_fill(filler->shape->nslots, filler->slack);
	filler->one_key_fill = one_key_slots_to_fill(filler->shape, filler->slack);
	filler->entries = palloc(sizeof(FpbEntry) * FPB_MAX_PAGE_ENTRIES);
	filler->context = AllocSetContextCreate(CurrentMemoryContext,
											"fpbtree page filler",
											ALLOCSET_DEFAULT_SIZES);
	return filler;
}

/*
 * Copy a tuple into the filler's memory for the page.
 */
static void
keep_tuple(FpbFiller *filler, FpbKey *key)
{
	if (key->tuple != NULL)
	{
		Size		size = IndexTupleSize(key->tuple);
		IndexTuple	copy = MemoryContextAlloc(filler->context, size);

		memcpy(copy, key->tuple, size);
		key->tuple = copy;
	}
}

/*
 * Begin a page.
 */
void
fpb_filler_begin(FpbFiller *filler, Page page, int flags, const FpbKey *low)
{
	filler->page = page;
	filler->flags = flags;
	filler->nentries = filler->run = filler->plain = filler->closed = 0;
	filler->tuple_space = 0;
	MemoryContextReset(filler->context);
	filler->low = NULL;
	if (low != NULL)
	{
		filler->low_key = *low;
		filler->low = &filler->low_key;
		keep_tuple(filler, filler->low);
		if (low->tuple != NULL)
			filler->tuple_space += MAXALIGN(IndexTupleSize(low->tuple));
	}
}

/*
 * Nodes that plain entries and the run of duplicates behind them will have to
 * themselves; *rest: entries left to a plain node that more may join.
 */
static int
nodes_closed(const FpbFiller *filler, int plain, int run, int *rest)
{
	int			one_key;

	if (run < ONE_KEY_RUN(filler->shape))
	{
		*rest = plain + run;
		return 0;
	}
	one_key = one_key_part(filler->ix, filler->shape, run, filler->one_key_fill);
	*rest = run - one_key;
	return (plain + filler->fill - 1) / filler->fill +
		(one_key + filler->one_key_fill - 1) / filler->one_key_fill;
}

/*
 * Nodes needed for plain entries followed by a run of duplicates.
 */
static int
nodes_needed(const FpbFiller *filler, int plain, int run)
{
	int			rest;
	int			closed = nodes_closed(filler, plain, run, &rest);

	return closed + (rest + filler->fill - 1) / filler->fill;
}

/*
 * Would a page of this many nodes, with a tuple area of this size, be within
 * the fill factor?  The last tuple counts twice: it bounds the size of the
 * high fence (see fpb_key_separator).
 */
static bool
page_within_fill(const FpbFiller *filler, int nodes, Size tuple_space,
				 Size last_tuple)
{
	const FpbShape *shape = filler->shape;
	Size		used;
	Size		limit;

	if (fpb_is_word(filler->ix))
		return nodes <= shape->max_nodes;
	if (nodes > shape->max_nodes)
		return false;
	used = fpb_page_base(directory_capacity(filler->ix, shape, nodes, BLCKSZ)) +
		nodes * (shape->size + shape->hint_bytes) + tuple_space + last_tuple;
	limit = BLCKSZ - BLCKSZ * filler->slack / 100;

	/* however low the fill factor: a page has two entries */
	return used <= limit || (filler->nentries < 2 && used <= BLCKSZ);
}

/*
 * Bytes that a tuple takes among others, padding included.  One that needs
 * more than the usual alignment may come after one that does not.
 */
static Size
tuple_space(IndexTuple tuple)
{
	Size		align = fpb_tuple_align(tuple);
	Size		space = TYPEALIGN(align, IndexTupleSize(tuple));

	return align > sizeof(uint16) ? space + align - sizeof(uint16) : space;
}

/*
 * Add the next entry, unless the page is as full as it should be.
 */
bool
fpb_filler_add(FpbFiller *filler, const FpbEntry *entry)
{
	const FpbIndex *ix = filler->ix;
	int			run = 1;
	int			plain = filler->plain;
	int			closed = filler->closed;
	Size		space = 0;
	FpbEntry   *last;

	if (filler->nentries > 0)
	{
		last = &filler->entries[filler->nentries - 1];
		if (ix->one_key && filler->level == 0 &&
			fpb_keys_identical(ix, &last->key, &entry->key))
			run = filler->run + 1;
		else
			closed += nodes_closed(filler, plain, filler->run, &plain);
	}

	/* The nodes of a run long enough for one-key nodes share its tuple. */
	if (entry->key.tuple != NULL)
	{
		space = tuple_space(entry->key.tuple);
		if (run > ONE_KEY_RUN(filler->shape))
			space = 0;
		/* an inner page's first key is its low fence */
		if (filler->level > 0 && filler->nentries == 0 && filler->low != NULL)
			space = 0;
	}

	if (filler->nentries >= FPB_MAX_PAGE_ENTRIES ||
		!page_within_fill(filler, closed + nodes_needed(filler, plain, run),
						  filler->tuple_space + space,
						  entry->key.tuple ? MAXALIGN(IndexTupleSize(entry->key.tuple)) + sizeof(ItemPointerData) : 0))
		return false;

	last = &filler->entries[filler->nentries++];
	*last = *entry;
	keep_tuple(filler, &last->key);
	filler->run = run;
	filler->plain = plain;
	filler->closed = closed;
	filler->tuple_space += space;
	return true;
}

/*
 * End the page.
 */
void
fpb_filler_end(FpbFiller *filler, const FpbKey *high, BlockNumber right)
{
	NodePart	parts[FPB_MAX_NODES];
	int			nparts;

	nparts = part_entries(filler->ix, filler->shape, filler->entries,
						  filler->nentries, filler->slack,
						  ONE_KEY_RUN(filler->shape), parts);
	if (nparts < 0 ||
		!write_page(filler->ix, filler->page, filler->level, filler->flags,
					right, filler->low, high, filler->entries, parts, nparts,
					filler->slack > 0))
		elog(ERROR, "%d entries do not fit a page of index \"%s\"",
			 filler->nentries, RelationGetRelationName(filler->ix->rel));
}

/*
 * Can the page be ended with this high fence?  If not, it can with the key of
 * its last entry, once fpb_filler_pop has taken that away: when it was added
 * there was room for another tuple of its size.
 */
bool
fpb_filler_fence_fits(const FpbFiller *filler, const FpbKey *high)
{
	const FpbShape *shape = filler->shape;
	int			nodes = filler->closed +
		nodes_needed(filler, filler->plain, filler->run);

	if (fpb_is_word(filler->ix))
		return true;
	return fpb_page_base(directory_capacity(filler->ix, shape, nodes, BLCKSZ)) +
		nodes * (shape->size + shape->hint_bytes) + filler->tuple_space +
		MAXALIGN(IndexTupleSize(high->tuple)) <= BLCKSZ;
}

/*
 * Take the last of several entries away; the page can only be ended then.  The
 * entry's tuple is the caller's.
 */
void
fpb_filler_pop(FpbFiller *filler, FpbEntry *entry)
{
	Assert(filler->nentries > 1);
	*entry = filler->entries[--filler->nentries];
	if (entry->key.tuple != NULL)
	{
		Size		size = IndexTupleSize(entry->key.tuple);
		IndexTuple	copy = palloc(size);

		memcpy(copy, entry->key.tuple, size);
		entry->key.tuple = copy;
	}
}

/*
 * The last entry added, in the filler's memory.
 */
const FpbKey *
fpb_filler_last(FpbFiller *filler)
{
	Assert(filler->nentries > 0);
	return &filler->entries[filler->nentries - 1].key;
}
