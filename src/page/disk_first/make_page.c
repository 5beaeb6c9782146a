/*-------------------------------------------------------------------------
 *
 * page/disk_first/make_page.c
 *	  Making whole disk-first pages from sorted entries.
 *
 * First the entries are packed into slots and nodes (page/disk_first/pack.c).
 * Then the nodes are written.  Their entries are spread over their slots, so
 * that an insertion finds a gap nearby (fpbtree-sigmod2002, section 3.1.2,
 * "Bulkload").
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "page/disk_first/disk_first.h"

/* a page being written */
typedef struct PageWriter
{
	const FpbIndex *ix;
	Page		page;
	const FpbPageContent *content;
	const FpbPacking *packing;
	const FpbShape *shape;
	int			nslots;			/* that the entries take */
	bool		shared;			/* is the first slot's tuple the low fence's,
								 * too? */
	FpbTupleArea area;			/* room for tuples */
	bool		postings;		/* are there any among these? */
	Size		growth;			/* entries of a posting that are likely to
								 * come, in a thousand of those it has, */
	Size		carry;			/* and the part of one, in thousandths, that
								 * the postings so far have not got */
} PageWriter;

/* --- room --- */

/*
 * Is the first slot's tuple the low fence's?  In inner pages their keys are
 * the same (unless the page is damaged).  In a leaf they are if a split had no
 * room for another separator; but a posting can't be a fence, nor can a tuple
 * that is cut.
 */
static bool
shares_fence(const PageWriter *w)
{
	const FpbKey *low = w->content->low;
	const FpbKey *first = &w->content->entries[0].key;

	if (low == NULL || fpb_is_word(w->ix) || w->nslots == 0)
		return false;
	return low->tail == first->tail && fpb_tuples_identical(w->ix, low->tuple, first->tuple) &&
		(w->content->level > 0 ||
		 (w->packing->slots[0] == 1 && !fpb_is_cut(w->ix, first->tuple)));
}

/*
 * For how many TIDs, of so many bytes, the tuple of the next slot, with so
 * many entries, gets room: a posting's gaps are as many as entries are likely
 * to come, and no more than half of its entries.  What short postings are due
 * is less than a gap, and goes to one of several.
 */
static int
slot_tids(PageWriter *w, IndexTuple tuple, int entries, int width)
{
	Size		share;

	if (entries == 1)
		return 1;
	share = entries * w->growth + w->carry;
	w->carry = share % 1000;
	return Min(entries + Min((int) (share / 1000), entries / 2 + 1),
			   fpb_posting_most(w->ix, tuple, width));
}

/*
 * Set w->area to the room that the tuples of all slots take, postings with
 * their gaps.
 */
static void
measure_slots(PageWriter *w)
{
	const FpbEntry *entry = w->content->entries;

	w->area.aligned = w->area.packed = 0;
	w->postings = false;
	w->carry = 0;
	for (int slot = 0; slot < w->nslots; slot++)
	{
		IndexTuple	tuple = entry->key.tuple;
		int			n = w->packing->slots[slot];
		int			width = n > 1 ? fpb_packed_width(w->ix, entry, n) : 0;

		*fpb_area_of(w->ix, &w->area, tuple) +=
			fpb_posting_space(w->ix, tuple, slot_tids(w, tuple, n, width), width);
		w->postings |= n > 1;
		entry += n;
	}
}

/*
 * Add the tuples of the fences to w->area.
 */
static void
measure_fences(PageWriter *w)
{
	const FpbKey *low = w->content->low;
	const FpbKey *high = w->content->high;

	if (low != NULL && !w->shared)
		*fpb_area_of(w->ix, &w->area, low->tuple) += fpb_tuple_space(w->ix, low->tuple);
	if (high != NULL && high->tuple != NULL)
		*fpb_area_of(w->ix, &w->area, high->tuple) += fpb_tuple_space(w->ix, high->tuple);
}

/*
 * All tuples have been measured, and take no more than fixed bytes leave of
 * the page.  Give postings gaps, if there are to be some, and measure again.
 *
 * More duplicates are likely to come: in proportion to those that there are,
 * until the page is full.  A tenth of the room is left for keys of which more
 * come than that.
 */
static void
measure_gaps(PageWriter *w, Size fixed)
{
	Size		taken = fixed + w->area.aligned + w->area.packed;

	if (!w->postings || !w->packing->spread || taken >= BLCKSZ)
		return;
	w->growth = (BLCKSZ - taken) * 900 / taken;
	for (;;)
	{
		measure_slots(w);
		measure_fences(w);
		if (w->growth == 0 || fixed + w->area.aligned + w->area.packed <= BLCKSZ)
			return;
		w->growth /= 2;			/* with rounding and padding it is too much */
	}
}

/*
 * Directory capacity for a page that starts with nnodes nodes and used bytes
 * in these and in tuples.  Words: all the nodes the page can ever hold.
 * Tuples: they, not the nodes, will fill the page, so there is room for as
 * many nodes again as would hold them at half their present number of tuples a
 * node, or for what a page mostly empty will have when it is full.
 */
int
fpb_directory_capacity(const FpbIndex *ix, const FpbShape *shape, int nnodes,
					   Size used)
{
	int			most = shape->max_nodes;
	int			capacity = nnodes + nnodes / 2 + 2;

	if (fpb_is_word(ix))
		return most;
	if (nnodes > 0 && used < BLCKSZ / 2)
		capacity = Max(capacity, (int) (nnodes * BLCKSZ / used));
	return Min(most, capacity);
}

/*
 * The longest tuple that pages can take, so that any entries can be split:
 * btree's, unless nodes are so wide that two tuples don't fit a page together
 * with what FORMAT.md ("Splits always fit") finds that a split may need
 * besides.
 */
Size
fpb_max_tuple_size(const FpbIndex *ix)
{
	Size		most = FPB_MAX_TUPLE_SIZE;

	for (int i = 0; i < FPB_SHAPES; i++)
	{
		const FpbShape *shape = fpb_level_shape(ix, i);
		Size		node = shape->size + shape->killed_bytes;
		Size		split = BLCKSZ - 2 * node - 192 - BLCKSZ / 7;

		most = Min(most, MAXALIGN_DOWN(split / 2));
	}
	return most;
}

/*
 * The longest tuples that are cut.  The first entry's, if it is, can't be that
 * of the low fence, too: a split has to have room for one more of them.
 */
Size
fpb_max_cut_size(const FpbIndex *ix)
{
	Size		left = BLCKSZ / 8;

	for (int i = 0; i < FPB_SHAPES; i++)
	{
		const FpbShape *shape = fpb_level_shape(ix, i);
		Size		split = 2 * (shape->size + shape->killed_bytes) + 2 * ix->max_tuple +
			192 + BLCKSZ / 7;

		left = Min(left, split < BLCKSZ ? BLCKSZ - split : 0);
	}
	return Min(MAXALIGN_DOWN(left), FPB_CUT_MOST);
}

/*
 * Tuple form: find room for all tuples, and for a directory.  Returns the
 * directory's capacity, or -1 if that does not leave want_free bytes; where
 * none are wanted, the directory may be as small as it can be.
 */
static int
measure_tuples(PageWriter *w, Size want_free)
{
	const FpbIndex *ix = w->ix;
	int			nnodes = w->packing->nnodes;
	Size		bits = nnodes * w->shape->killed_bytes;
	Size		nodes = nnodes * w->shape->size;
	Size		used;
	int			dircap;

	measure_slots(w);
	dircap = fpb_directory_capacity(ix, w->shape, nnodes, nodes + bits +
									w->area.aligned + w->area.packed);
	measure_fences(w);

	/* killed bits may lie in bytes that are free */
	used = nodes + w->area.aligned + w->area.packed + Max(bits, want_free);
	if (want_free == 0)
		while (dircap > nnodes &&
			   fpb_page_base(dircap, fpb_numbers_capacity(ix, dircap)) + used > BLCKSZ)
			dircap--;
	if (fpb_page_base(dircap, fpb_numbers_capacity(ix, dircap)) + used > BLCKSZ)
		return -1;

	measure_gaps(w, fpb_page_base(dircap, fpb_numbers_capacity(ix, dircap)) + nodes + bits);
	return dircap;
}

/* --- writing a page --- */

/*
 * Place the tuple of a leaf's n entries that share a slot, with their TIDs and
 * as many gaps as slot_tids says behind these, where most new ones belong; or
 * the tuple of a single entry with its TID.  The key is at offset in the page
 * already, unless that is 0.  Returns the tuple's offset.
 */
static uint32
place_entries(PageWriter *w, const FpbEntry *entries, int n, uint32 offset)
{
	int			width = n > 1 ? fpb_packed_width(w->ix, entries, n) : 0;
	int			tids = slot_tids(w, entries[0].key.tuple, n, width);
	IndexTuple	tuple;

	if (offset == 0)
		offset = fpb_place_tuple(w->ix, w->page, entries[0].key.tuple, tids, width, &w->area);
	tuple = (IndexTuple) ((char *) w->page + offset);
	/* an entry out of a posting has no TID in its tuple */
	if (n == 1)
		fpb_tail_tid(entries[0].key.tail, &tuple->t_tid);
	else
		fpb_posting_set(tuple, tids, width);
	for (int i = 0; n > 1 && i < tids; i++)
		fpb_write_short_tail(fpb_posting_tails(tuple), i, width,
							 i < n ? entries[i].key.tail : 0);
	return offset;
}

/*
 * Are gaps to be among the entries of a node of tuples?
 */
static bool
is_spread(const PageWriter *w, const FpbPackedNode *packed)
{
	const FpbEntry *entries = w->content->entries + packed->start;
	int			alike = 0;
	int			before = 0;

	if (!w->packing->spread || packed->codec == FPB_NODE_PLAIN)
		return w->packing->spread;
	for (int slot = 0; slot < packed->nslots - 1; slot++)
	{
		int			at = before + w->packing->slots[packed->slot + slot];

		alike += entries[before].key.head == entries[at].key.head;
		before = at;
	}
	return alike > packed->nslots / FPB_MANY_ALIKE;
}

/*
 * Write a node of tuples, its entries spread over its slots or in the first
 * ones.  The tuple of its first entry is at first_tuple already, unless that
 * is 0.
 */
static void
write_tuples(PageWriter *w, const FpbPackedNode *packed, char *node,
			 uint32 first_tuple)
{
	const FpbIndex *ix = w->ix;
	const FpbShape *shape = w->shape;
	const FpbEntry *entries = w->content->entries + packed->start;
	bool		leaf = shape->child_off == 0;
	bool		spread = is_spread(w, packed);
	int			slot = 0;

	for (int i = 0, done = 1, n; i < packed->count; i += n, done++)
	{
		int			next = (spread || done == packed->nslots) ?
			done * shape->nslots / packed->nslots : slot + 1;
		uint32		offset = i == 0 ? first_tuple : 0;

		n = w->packing->slots[packed->slot + done - 1];
		if (leaf)
			offset = place_entries(w, entries + i, n, offset);
		else if (offset == 0)
			offset = fpb_place_tuple(w->ix, w->page, entries[i].key.tuple, 1, 0, &w->area);
		fpb_write_slot(ix, shape, node, slot++, &entries[i], offset);
		for (; slot < next; slot++)
			if (!leaf)
				fpb_write_gap(ix, shape, node, slot, i + n < packed->count ?
							  entries[i + n].key.head : PG_UINT64_MAX);
			else if (spread)
				fpb_node_set_head(ix, node, slot, entries[i].key.head);
	}
}

/*
 * Write a plain node of words, of an inner page, its entries spread over its
 * slots or in the first ones.
 */
static void
write_words(PageWriter *w, const FpbPackedNode *packed, char *node)
{
	const FpbEntry *entries = w->content->entries + packed->start;
	int			slot = 0;

	for (int i = 0; i < packed->count; i++)
	{
		int			next = (w->packing->spread || i + 1 == packed->count) ?
			(i + 1) * w->shape->nslots / packed->count : slot + 1;

		fpb_write_slot(w->ix, w->shape, node, slot++, &entries[i], 0);
		for (; slot < next; slot++)
			fpb_write_gap(w->ix, w->shape, node, slot, i + 1 < packed->count ?
						  entries[i + 1].key.head : PG_UINT64_MAX);
	}
}

/*
 * Write the n'th node, and what the directory says of it.
 */
static void
write_node(PageWriter *w, int n)
{
	const FpbPackedNode *packed = &w->packing->nodes[n];
	FpbCodec	codec = packed->codec;
	char	   *node;

	fpb_bounds(w->page)[n] = w->content->entries[packed->start].key.head;
	if (!w->ix->csb)
		fpb_dir_nodes(w->page)[n] = n;
	fpb_codecs(w->page)[n] = codec;
	node = fpb_node_at(w->shape, w->page, n);
	switch (fpb_codec_kind(codec))
	{
		case FPB_NODE_PAIRS:
			fpb_write_pairs(w->ix, w->shape, codec, node, w->content->entries + packed->start,
							packed->count);
			break;
		case FPB_NODE_PLAIN:
		case FPB_NODE_TUPLES:
			if (fpb_is_word(w->ix))
				write_words(w, packed, node);
			else
				write_tuples(w, packed, node, n == 0 && w->shared ?
							 (uint32) FpbHdr(w->page)->fences.tail[FPB_LOW] : 0);
			break;
		case FPB_NODE_RUNS:
			fpb_write_packed_runs(w->ix, node, w->content->entries, w->content->nentries,
								  w->packing, n);
			break;
	}
}

/*
 * Write a page with this content, packed so.  False if that does not leave
 * want_free bytes free.
 */
bool
fpb_write_page(const FpbIndex *ix, Page page, const FpbPageContent *content,
			   const FpbPacking *packing, Size want_free)
{
	FpbPageHeader *hdr = FpbHdr(page);
	int			nnodes = packing->nnodes;
	const FpbPackedNode *last = &packing->nodes[Max(nnodes - 1, 0)];
	PageWriter	w = {.ix = ix,.page = page,.content = content,
		.packing = packing,.shape = fpb_level_shape(ix, content->level),
	.nslots = nnodes == 0 ? 0 : last->slot + last->nslots};
	int			dircap;

	w.shared = shares_fence(&w);
	if (!fpb_is_word(ix))
		dircap = measure_tuples(&w, want_free);
	else						/* nothing comes into a page that is deleted */
		dircap = (content->flags & FPB_DELETED) != 0 ? 0 : w.shape->max_nodes;
	if (nnodes > dircap)
		return false;

	fpb_begin_page(ix, page, content);
	FpbDir(page)->dircap = dircap;
	FpbDir(page)->numcap = fpb_numbers_capacity(ix, dircap);
	FpbDir(page)->nnodes = FpbDir(page)->nalloc = nnodes;
	hdr->pd.pd_lower = fpb_page_base(dircap, FpbDir(page)->numcap) + nnodes * w.shape->size;
	hdr->pd.pd_upper = BLCKSZ - w.area.aligned - w.area.packed;
	fpb_area_begin(&w.area);
	fpb_write_fences(ix, page, content->low, content->high, &w.area);
	w.carry = 0;
	for (int i = 0; i < nnodes; i++)
		write_node(&w, i);
	Assert(fpb_is_word(ix) || w.area.packed == hdr->pd.pd_upper);
	return true;
}

/*
 * Pack entries of words into nodes filled so, and write a page of these.
 * False if they don't fit.
 */
static bool
pack_and_write(const FpbIndex *ix, Page page, const FpbPageContent *content,
			   const FpbFill *fill, bool spread, FpbPacking *packing)
{
	return fpb_pack_words(ix, content->level, content->entries, content->nentries,
						  fill, spread, packing) &&
		fpb_write_page(ix, page, content, packing, 0);
}

/*
 * Make a page with at least slack slots of a hundred free in its nodes, and as
 * much of the page.  With no slack, the free slots are behind all entries.
 * False if the content does not fit so; the page is then undefined.
 */
bool
fpb_disk_first_build(const FpbIndex *ix, Page page,
					 const FpbPageContent *content, int slack)
{
	FpbPacking	packing;
	FpbFill		fill;

	if (!fpb_is_word(ix))
		return fpb_pack_tuples(ix, content, slack, &packing) &&
			fpb_write_page(ix, page, content, &packing, BLCKSZ * slack / 100);
	fpb_fill_with_slack(ix, content->level, slack, &fill);
	fpb_fill_between_fences(ix, content, &fill);
	if (pack_and_write(ix, page, content, &fill, slack > 0, &packing))
		return true;
	if (slack > 0)
		return false;
	fpb_fill_densely(ix, content->level, &fill);
	return pack_and_write(ix, page, content, &fill, false, &packing);
}
