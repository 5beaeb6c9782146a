/*-------------------------------------------------------------------------
 *
 * page/disk_first/tuple_room.c
 *	  Room for a new tuple in a disk-first page.
 *
 * Tuples are added at the hole's end.  Where an entry has gone, or has got
 * another tuple, the bytes of the old one stay.  A split that leaves the left
 * page's tuples in place leaves half of its tuple area so.  When the hole is
 * used up, a new tuple goes where no tuple lies any more.  So such a page need
 * not be made afresh, which would log all of it.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "page/disk_first/disk_first.h"

/* --- room in the hole --- */

/*
 * Has the page's hole room for more_nodes nodes, killed bits included, and a
 * tuple of this size?
 */
bool
fpb_page_has_room(const FpbIndex *ix, Page page, int more_nodes, Size tuple)
{
	FpbPageHeader *hdr = FpbHdr(page);
	const FpbShape *shape = fpb_shape(ix, page);
	int			nalloc = Max(FpbDir(page)->nalloc, FpbDir(page)->nnodes + more_nodes);

	if (FpbDir(page)->nnodes + more_nodes > FpbDir(page)->dircap || nalloc > shape->max_nodes)
		return false;
	return fpb_is_word(ix) ||
		hdr->pd.pd_lower + (nalloc - FpbDir(page)->nalloc) * shape->size +
		nalloc * shape->killed_bytes + tuple <= hdr->pd.pd_upper;
}

/* --- room among the tuples --- */

/*
 * Note that there is something in [from, to), which begins in the page, as far
 * as that is in it.
 */
static inline void
take(FpbTupleMap *map, uint32 from, uint32 to)
{
	uint32		first = from / 2;
	uint32		last = (Min(to, BLCKSZ) - 1) / 2;
	uint32		word = first / 64;
	uint64		from_first = PG_UINT64_MAX << first % 64;
	uint64		to_last = PG_UINT64_MAX >> (63 - last % 64);

	if (word == last / 64)
	{
		map->words[word] |= from_first & to_last;
		return;
	}
	map->words[word] |= from_first;
	while (++word < last / 64)
		map->words[word] = PG_UINT64_MAX;
	map->words[word] |= to_last;
}

/*
 * Note the tuple at an offset, which may be that of a damaged page.
 */
static void
take_tuple(FpbTupleMap *map, Page page, bool leaf, uint32 offset)
{
	IndexTuple	tuple = (IndexTuple) ((char *) page + offset);

	/* a high fence that is about to be stored has none yet */
	if (offset < FpbHdr(page)->pd.pd_upper || offset + sizeof(IndexTupleData) > BLCKSZ)
		return;
	/* a short tuple has room for a TID of its own, which a posting may take */
	take(map, offset, offset + (leaf ? fpb_leaf_tuple_size(tuple) : fpb_tuple_size(tuple)));
}

/*
 * Note all tuples of a page, but for an entry's at except that will go, unless
 * that is 0.  (It stays if it is a fence's, too.)  False if the page is
 * damaged: the directory names a node that is not there, whose tuples nobody
 * knows.  The page is locked exclusively.  Raises nothing.
 */
bool
fpb_map_tuples(const FpbIndex *ix, Page page, uint32 except, FpbTupleMap *map)
{
	const FpbPageHeader *hdr = FpbHdr(page);
	const FpbShape *shape = fpb_shape(ix, page);
	bool		leaf = FpbPageIsLeaf(page);

	memset(map, 0, sizeof(*map));
	if (!FpbPageIsLeftmost(page))
		take_tuple(map, page, false, (uint32) hdr->fences.tail[FPB_LOW]);
	if (!FpbPageIsRightmost(page) && !FpbPageHighElided(page))
		take_tuple(map, page, false, (uint32) hdr->fences.tail[FPB_HIGH]);
	for (int dir = 0; dir < FpbDir(page)->nnodes; dir++)
	{
		const uint16 *tuples;

		if (unlikely(fpb_node_number(page, dir) >= FpbDir(page)->nalloc))
			return false;
		tuples = fpb_node_tuples(shape, fpb_node_at(shape, page, dir));
		for (int slot = 0; slot < shape->nslots; slot++)
			if (tuples[slot] != 0 && tuples[slot] != except)
				take_tuple(map, page, leaf, tuples[slot]);
	}
	return true;
}

/*
 * Does a tuple begin at this offset of the page, or the page end there?  To
 * see that takes much less than to note all tuples.  (If a free node still
 * names a tuple that has gone, the answer is wrong, and costs some room.)
 */
bool
fpb_tuple_begins_at(const FpbIndex *ix, Page page, uint32 offset)
{
	const FpbPageHeader *hdr = FpbHdr(page);
	const FpbShape *shape = fpb_shape(ix, page);
	char	   *nodes = (char *) page + hdr->pd.pd_lower - FpbDir(page)->nalloc * shape->size;

	if (offset == BLCKSZ || hdr->fences.tail[FPB_LOW] == offset ||
		hdr->fences.tail[FPB_HIGH] == offset)
		return true;
	for (int node = 0; node < FpbDir(page)->nalloc; node++)
	{
		const uint16 *tuples = fpb_node_tuples(shape, nodes + node * shape->size);
		int			found = 0;

		for (int slot = 0; slot < shape->nslots; slot++)
			found |= tuples[slot] == offset;
		if (found)
			return true;
	}
	return false;
}

/*
 * Where the stretch ends that begins at a byte on which no tuple lies.
 */
static uint32
stretch_end(const FpbTupleMap *map, uint32 at)
{
	while (at < BLCKSZ)
	{
		uint64		word = map->words[at / 128] >> at / 2 % 64;

		if (word != 0)
			return at + 2 * pg_rightmost_one_pos64(word);
		at = TYPEALIGN_DOWN(128, at) + 128;
	}
	return BLCKSZ;
}

/*
 * Bytes from an offset on, in a page's tuple area, on which no tuple lies.
 */
uint32
fpb_free_from(const FpbTupleMap *map, uint32 offset)
{
	return stretch_end(map, offset) - offset;
}

/*
 * Where a tuple of this alignment, of so many bytes with its TIDs, has room
 * among the page's tuples: in the shortest stretch that is long enough.  0 if
 * there is none.
 */
uint32
fpb_gap_in_map(Page page, const FpbTupleMap *map, uint32 align, uint32 size)
{
	uint32		at = FpbHdr(page)->pd.pd_upper;
	uint32		best = 0;
	uint32		best_length = BLCKSZ;

	while (at < BLCKSZ)
	{
		uint64		word = map->words[at / 128] >> at / 2 % 64;
		uint32		end;
		uint32		begin;

		if (word & 1)
		{
			/* pass over what is taken */
			at += 2 * (word == PG_UINT64_MAX ? 64 : pg_rightmost_one_pos64(~word));
			continue;
		}
		end = stretch_end(map, at);
		begin = TYPEALIGN(align, at);
		if (begin + size <= end && end - at < best_length)
		{
			best = begin;
			best_length = end - at;
		}
		at = end;
	}
	return best;
}

/*
 * The same for a plain tuple of this key.  The page is locked exclusively.
 * Raises nothing.
 */
uint32
fpb_tuple_gap(const FpbIndex *ix, Page page, IndexTuple tuple)
{
	FpbTupleMap map;

	return fpb_map_tuples(ix, page, 0, &map) ?
		fpb_gap_in_map(page, &map, fpb_tuple_align(tuple), fpb_tuple_size(tuple)) : 0;
}

/*
 * Put a plain tuple where fpb_tuple_gap has found room for it.
 */
void
fpb_put_tuple_at(Page page, const FpbKey *key, uint32 offset, FpbWalPage *wp)
{
	memcpy((char *) page + offset, key->tuple, IndexTupleSize(key->tuple));
	fpb_wal_note(wp, (char *) page + offset, IndexTupleSize(key->tuple));
}

/* --- both --- */

/*
 * See FpbLayoutRoutine.
 */
bool
fpb_disk_first_has_room(const FpbIndex *ix, Page page, const FpbKey *key)
{
	return fpb_page_has_room(ix, page, 0, fpb_tuple_room(ix, key)) ||
		fpb_tuple_gap(ix, page, key->tuple) != 0;
}

/*
 * See FpbLayoutRoutine.
 */
uint32
fpb_disk_first_put_tuple(const FpbIndex *ix, Page page, const FpbKey *key, FpbWalPage *wp)
{
	uint32		offset;

	if (fpb_page_has_room(ix, page, 0, fpb_tuple_room(ix, key)))
		return fpb_add_tuple(page, key, wp);
	offset = fpb_tuple_gap(ix, page, key->tuple);
	/* better than to write into another tuple */
	if (unlikely(offset == 0))
		elog(PANIC, "insertion into a full fpbtree page");
	fpb_put_tuple_at(page, key, offset, wp);
	return offset;
}
