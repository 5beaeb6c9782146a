/*-------------------------------------------------------------------------
 *
 * page/disk_first/make_page.c
 *	  Making whole disk-first pages from sorted entries.
 *
 * First the entries are parted into slots and nodes (page/disk_first/pack.c);
 * then the nodes are written, what they hold spread over their slots so that
 * an insertion finds a gap nearby (fpbtree-sigmod2002, section 3.1.2,
 * "Bulkload").
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "page/disk_first/disk_first.h"

/* --- room --- */

/*
 * Room for tuples in a page that is being written, and for more TIDs in its
 * postings.
 */
typedef struct TupleRoom
{
	FpbTupleArea area;
	int			postings;		/* of them */
	int			spare;			/* gaps that each is to have */
} TupleRoom;

/*
 * Is the first slot's tuple the low fence's?  In inner pages their keys are
 * the same (unless the page is damaged).  In a leaf they are if a split had no
 * room for another separator; but a posting can't be a fence.
 */
static bool
shares_fence(const FpbIndex *ix, int level, const FpbKey *low,
			 const FpbEntry *entries, const uint16 *slots, int nslots)
{
	if (low == NULL || fpb_is_word(ix) || nslots == 0)
		return false;
	return low->tail == entries[0].key.tail &&
		fpb_keys_identical(ix, low, &entries[0].key) &&
		(level > 0 || slots[0] == 1);
}

/*
 * For how many TIDs the tuple of a slot with so many entries gets room: the
 * gaps that a posting has are no more than half of its entries.
 */
static int
slot_tids(const FpbIndex *ix, IndexTuple tuple, int entries, int spare)
{
	if (entries == 1)
		return 1;
	return Min(entries + Min(spare, entries / 2 + 1), fpb_posting_most(ix, tuple));
}

/*
 * Find out what room the tuples of entries and fences take, with as many spare
 * places in each posting as *room says.
 */
static void
measure_tuples(const FpbIndex *ix, const FpbEntry *entries,
			   const uint16 *slots, int nslots, const FpbKey *low,
			   const FpbKey *high, TupleRoom *room)
{
	room->area.aligned = room->area.packed = 0;
	room->postings = 0;
	for (int slot = 0; slot < nslots; slot++)
	{
		IndexTuple	tuple = entries->key.tuple;
		int			n = slots[slot];

		*fpb_area_of(&room->area, tuple) +=
			fpb_posting_space(tuple, slot_tids(ix, tuple, n, room->spare));
		room->postings += n > 1;
		entries += n;
	}
	if (low != NULL)
		*fpb_area_of(&room->area, low->tuple) += fpb_tuple_space(low->tuple);
	if (high != NULL && high->tuple != NULL)
		*fpb_area_of(&room->area, high->tuple) += fpb_tuple_space(high->tuple);
}

/*
 * Directory capacity for a page that starts with nparts nodes and used bytes
 * in these and in tuples.  Words: all the nodes the page can ever hold.
 * Tuples: they, not the nodes, will fill the page, so there is room for as
 * many nodes again as would hold them at half their present number of tuples a
 * node, or for what a page mostly empty will have when it is full.
 */
int
fpb_directory_capacity(const FpbIndex *ix, const FpbShape *shape, int nparts,
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
 * The longest tuple that pages can take, so that a split can part any entries:
 * btree's, unless nodes are so wide that two tuples don't fit a page together
 * with what README.md ("Splits always fit") finds that a split may need
 * besides.
 */
Size
fpb_max_tuple_size(const FpbIndex *ix)
{
	Size		most = FPB_MAX_TUPLE_SIZE;

	for (int i = 0; i < FPB_SHAPES; i++)
	{
		const FpbShape *shape = fpb_level_shape(ix, i);
		Size		node = shape->size + shape->hint_bytes;
		Size		split = BLCKSZ - 2 * node - 192 - BLCKSZ / 7;

		most = Min(most, MAXALIGN_DOWN(split / 2));
	}
	return most;
}

/* --- writing a page --- */

/*
 * Place the tuple of a leaf's n entries that share a slot, with their TIDs and
 * as many gaps as slot_tids says behind these, where most new ones belong; or
 * the tuple of a single entry with its TID.  The key is at offset in the page
 * already, unless that is 0.  Returns the tuple's offset.
 */
static uint32
place_entries(const FpbIndex *ix, Page page, const FpbEntry *entries, int n,
			  uint32 offset, TupleRoom *room)
{
	int			tids = slot_tids(ix, entries[0].key.tuple, n, room->spare);
	IndexTuple	tuple;

	if (offset == 0)
		offset = fpb_place_tuple(page, entries[0].key.tuple, tids, &room->area);
	tuple = (IndexTuple) ((char *) page + offset);
	/* an entry out of a posting has no TID in its tuple */
	if (n == 1)
		fpb_tail_tid(entries[0].key.tail, &tuple->t_tid);
	else
		fpb_posting_set_slots(tuple, tids);
	for (int i = 0; n > 1 && i < tids; i++)
		fpb_write_tail(fpb_posting_tails(tuple), i,
					   i < n ? entries[i].key.tail : 0);
	return offset;
}

/*
 * Write a plain node with the entries of a part, spread over its slots, or in
 * its first slots; tuples: slots[] tells how many go into each.  The first
 * one's tuple is at first_tuple already, unless that is 0.
 */
static void
write_plain_node(const FpbIndex *ix, Page page, const FpbShape *shape,
				 char *node, const FpbEntry *entries, const FpbNodePart *part,
				 const uint16 *slots, bool spread, TupleRoom *room,
				 uint32 first_tuple)
{
	int			slot = 0;

	entries += part->start;
	for (int i = 0, done = 1, n; i < part->count; i += n, done++)
	{
		int			next = (spread || done == part->nslots) ?
			done * shape->nslots / part->nslots : slot + 1;
		uint32		offset = i == 0 ? first_tuple : 0;

		n = fpb_is_word(ix) ? 1 : slots[part->slot + done - 1];
		if (!fpb_is_word(ix) && shape->child_off == 0)
			offset = place_entries(ix, page, entries + i, n, offset, room);
		else if (!fpb_is_word(ix) && offset == 0)
			offset = fpb_place_tuple(page, entries[i].key.tuple, 1, &room->area);
		fpb_write_slot(ix, shape, node, slot++, &entries[i], offset);
		for (; slot < next; slot++)
			fpb_write_gap(ix, shape, node, slot, i + n < part->count ?
						  entries[i + n].key.head : PG_UINT64_MAX);
	}
}

/*
 * Write a one-key node with the entries of a part, likewise.
 */
static void
write_one_key_node(const FpbIndex *ix, const FpbShape *shape, char *node,
				   const FpbEntry *entries, const FpbNodePart *part, bool spread)
{
	uint64	   *header = (uint64 *) node;

	entries += part->start;
	header[0] = entries[0].key.head;
	header[1] = entries[0].key.low;
	for (int i = 0, slot = 0; i < part->count; i++)
	{
		int			next = (spread || i + 1 == part->count) ?
			(i + 1) * fpb_one_key_slots(shape) / part->count : slot + 1;

		fpb_write_tail(node + FPB_ONE_KEY_HEADER, slot++, entries[i].key.tail);
		for (; slot < next; slot++)
			fpb_make_gap(ix, shape, FPB_NODE_ONE_KEY, node, slot);
	}
}

/*
 * Write a page: header, fences, and the nodes given by parts, their entries
 * spread over their slots or not.  False if that does not leave as many bytes
 * free as wanted; where none are, the directory may be as small as it can be.
 */
bool
fpb_write_page(const FpbIndex *ix, Page page, int level, int flags,
			   BlockNumber right, const FpbKey *low, const FpbKey *high,
			   const FpbEntry *entries, const FpbNodePart *parts, int nparts,
			   const uint16 *slots, bool spread, Size want_free)
{
	FpbPageHeader *hdr = FpbHdr(page);
	const FpbShape *shape = fpb_level_shape(ix, level);
	Size		hints = nparts * shape->hint_bytes;
	Size		nodes = nparts * shape->size + hints;
	int			nslots = nparts == 0 ? 0 :
		parts[nparts - 1].slot + parts[nparts - 1].nslots;
	bool		shared = shares_fence(ix, level, low, entries, slots, nslots);
	TupleRoom	room = {0};
	int			dircap;

	if (fpb_is_word(ix))
		dircap = shape->max_nodes;
	else
	{
		Size		used;

		measure_tuples(ix, entries, slots, nslots, NULL, NULL, &room);
		dircap = fpb_directory_capacity(ix, shape, nparts,
										nodes + room.area.aligned + room.area.packed);
		measure_tuples(ix, entries, slots, nslots, shared ? NULL : low, high, &room);

		/* hints may lie in bytes that are free */
		used = nparts * shape->size + room.area.aligned + room.area.packed +
			Max(hints, want_free);
		if (want_free == 0)
			while (dircap > nparts &&
				   fpb_page_base(dircap, fpb_numbers_capacity(ix, dircap)) + used > BLCKSZ)
				dircap--;
		if (fpb_page_base(dircap, fpb_numbers_capacity(ix, dircap)) + used > BLCKSZ)
			return false;

		/*
		 * Duplicates are likely to be more: half of what hints leave of it is
		 * for those.  (Half, lest with its padding it be more than all.)
		 */
		if (room.postings > 0 && want_free > hints)
		{
			room.spare = (want_free - hints) / 2 / (room.postings * FPB_TAIL_BYTES);
			measure_tuples(ix, entries, slots, nslots, shared ? NULL : low,
						   high, &room);
		}
	}
	if (nparts > dircap)
		return false;

	flags &= ~FPB_HIGH_ELIDED;
	if (fpb_high_elided(ix, high))
		flags |= FPB_HIGH_ELIDED;
	fpb_page_init(page, level, flags, right);
	FpbDir(page)->dircap = dircap;
	FpbDir(page)->numcap = fpb_numbers_capacity(ix, dircap);
	FpbDir(page)->nnodes = FpbDir(page)->nalloc = nparts;
	hdr->pd.pd_lower = fpb_page_base(dircap, FpbDir(page)->numcap) + nparts * shape->size;
	hdr->pd.pd_upper = BLCKSZ - room.area.aligned - room.area.packed;
	fpb_area_begin(&room.area);
	fpb_write_fences(ix, page, low, high, &room.area);

	for (int i = 0; i < nparts; i++)
	{
		char	   *node;

		fpb_dir_heads(page)[i] = entries[parts[i].start].key.head;
		if (!ix->csb)
			fpb_dir_nodes(page)[i] = i;
		fpb_dir_codecs(page)[i] = parts[i].codec;
		node = fpb_node_at(shape, page, i);
		if (parts[i].codec == FPB_NODE_PLAIN)
			write_plain_node(ix, page, shape, node, entries, &parts[i], slots,
							 spread, &room, i == 0 && shared ? (uint32) hdr->fences.tail[FPB_LOW] : 0);
		else
			write_one_key_node(ix, shape, node, entries, &parts[i], spread);
	}
	Assert(fpb_is_word(ix) || room.area.packed == hdr->pd.pd_upper);
	return true;
}

/*
 * Make a page from sorted entries, at least slack slots of a hundred free in
 * its nodes, and as much of the page; with no slack, the free slots are behind
 * all entries.  False if they don't fit so; the page is then undefined.
 * Nothing in entries and fences may point into the page.
 */
bool
fpb_disk_first_build(const FpbIndex *ix, Page page, int level, int flags,
					 BlockNumber right, const FpbKey *low, const FpbKey *high,
					 const FpbEntry *entries, int nentries, int slack)
{
	const FpbShape *shape = fpb_level_shape(ix, level);
	FpbNodePart parts[FPB_MAX_NODES];
	uint16		slots[FPB_MAX_PAGE_ENTRIES + 1];
	int			nparts;

	if (!fpb_is_word(ix))
	{
		nparts = fpb_pack_tuples(ix, shape, entries, nentries, slack, parts, slots);
		return nparts >= 0 &&
			fpb_write_page(ix, page, level, flags, right, low, high, entries,
						   parts, nparts, slots, slack > 0,
						   BLCKSZ * slack / 100);
	}

	/* Duplicates are likely to be more, so they get nodes of their own. */
	nparts = fpb_pack_by_runs(ix, shape, entries, nentries, slack, parts);
	if (nparts >= 0 &&
		fpb_write_page(ix, page, level, flags, right, low, high, entries,
					   parts, nparts, NULL, slack > 0, 0))
		return true;
	if (level > 0)
		return false;
	if (!fpb_pack_has_long_run(ix, shape, entries, nentries, slack))
	{
		Assert(fpb_pack_fewest_nodes(ix, shape, entries, nentries, slack, parts) == nparts);
		return false;
	}
	nparts = fpb_pack_fewest_nodes(ix, shape, entries, nentries, slack, parts);
	return nparts >= 0 &&
		fpb_write_page(ix, page, level, flags, right, low, high, entries, parts,
					   nparts, NULL, slack > 0, 0);
}
