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

#include "common/hashfn.h"

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

/* (an offset of a damaged page may be any) */
static inline uint64 *
start_word(FpbTupleMap *map, uint32 offset)
{
	return &map->words[offset / 128 % (BLCKSZ / 128)];
}

static inline uint64
start_bit(uint32 offset)
{
	return UINT64CONST(1) << offset / 2 % 64;
}

/*
 * fpb_map_tuples; high: the high fence's tuple, too.
 */
static bool
map_tuples(const FpbIndex *ix, Page page, uint32 except, bool high, FpbTupleMap *map)
{
	const FpbPageHeader *hdr = FpbHdr(page);
	const FpbShape *shape = fpb_shape(ix, page);
	uint64		fences[2] = {0};
	uint64		all = 0;

	memset(map, 0, sizeof(*map));
	map->words[BLCKSZ / 128] = 1;	/* the page's end */
	for (int dir = 0; dir < FpbDir(page)->nnodes; dir++)
	{
		const uint16 *tuples;

		if (unlikely(fpb_node_number(page, dir) >= FpbDir(page)->nalloc))
			return false;
		tuples = fpb_node_tuples(shape, fpb_node_at(shape, page, dir));

		/* without a branch: a gap notes byte 0, where no tuple is looked for */
		for (int slot = 0; slot < shape->nslots; slot++)
		{
			*start_word(map, tuples[slot]) |= start_bit(tuples[slot]);
			all |= tuples[slot];
		}
	}
	*start_word(map, except) &= ~start_bit(except);
	if (!FpbPageIsLeftmost(page))
		fences[FPB_LOW] = hdr->fences.tail[FPB_LOW];
	if (high && !FpbPageIsRightmost(page) && !FpbPageHighElided(page))
		fences[FPB_HIGH] = hdr->fences.tail[FPB_HIGH];
	for (int i = 0; i < lengthof(fences); i++)
	{
		*start_word(map, (uint32) fences[i]) |= start_bit((uint32) fences[i]);
		all |= fences[i];
	}
	return all < BLCKSZ;
}

/*
 * Note where all tuples of a page begin, but for an entry's at except that
 * will go, unless that is 0.  (It stays if it is a fence's, too.)  False if
 * the page is damaged, so that nobody knows: the directory names a node that
 * is not there, or a tuple is beyond the page.  The page is locked
 * exclusively.  Raises nothing.
 */
bool
fpb_map_tuples(const FpbIndex *ix, Page page, uint32 except, FpbTupleMap *map)
{
	return map_tuples(ix, page, except, true, map);
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
 * Where the tuple that begins at an offset ends.  A short tuple has room for a
 * TID of its own, which a posting may take.
 */
static uint32
tuple_end(Page page, uint32 offset)
{
	IndexTuple	tuple = (IndexTuple) ((char *) page + offset);

	if (offset + sizeof(IndexTupleData) > BLCKSZ)
		return BLCKSZ;			/* damaged */
	return offset + (FpbPageIsLeaf(page) ? fpb_leaf_tuple_size(tuple) : fpb_tuple_size(tuple));
}

/*
 * Where the first tuple begins at this offset or behind it, or the page's end.
 */
static inline uint32
next_start(const FpbTupleMap *map, uint32 offset)
{
	uint32		word = offset / 128;
	uint64		bits = map->words[word] & PG_UINT64_MAX << offset / 2 % 64;

	while (bits == 0)
		bits = map->words[++word];
	return 128 * word + 2 * pg_rightmost_one_pos64(bits);
}

/*
 * Where the last tuple begins that does not lie behind an offset in the page;
 * or least.
 */
static uint32
last_start(const FpbTupleMap *map, uint32 offset, uint32 least)
{
	int			word = offset / 128;
	uint64		bits = map->words[word] & PG_UINT64_MAX >> (63 - offset / 2 % 64);

	while (bits == 0 && --word >= 0)
		bits = map->words[word];
	return bits == 0 ? least : Max(least, 128 * word + 2 * pg_leftmost_one_pos64(bits));
}

/*
 * Bytes from an offset on, in a page's tuple area, on which no tuple lies, if
 * that of another tuple does not reach there.
 */
uint32
fpb_free_from(const FpbTupleMap *map, uint32 offset)
{
	return next_start(map, offset) - offset;
}

/* room for a tuple among others */
typedef struct Gap
{
	uint32		size;			/* of the tuple, */
	uint32		align;			/* and its alignment */
	uint32		begin;			/* where it goes, or 0 */
	uint32		length;			/* of the stretch there */
} Gap;

/* Does the tuple fit to the byte, or leave room for another one like it? */
static inline bool
fits_well(const Gap *gap)
{
	return gap->length < gap->size + sizeof(uint16) || gap->length >= 2 * gap->size;
}

/*
 * Look for room for a tuple from one tuple's offset (or pd_upper) up to
 * another's, or the page's end.
 *
 * A tuple's length is looked up only if the next one is far enough away for
 * both.
 */
static void
find_gap(Page page, const FpbTupleMap *map, uint32 from, uint32 to, Gap *gap)
{
	/* there may be no tuple at pd_upper */
	uint32		before = next_start(map, from) == from ? FPB_LEAST_TUPLE : 0;
	uint32		next;

	for (uint32 at = from; at < to; at = next)
	{
		next = next_start(map, at + sizeof(uint16));
		if (unlikely(next - at >= before + gap->size))
		{
			uint32		end = before == 0 ? at : tuple_end(page, at);
			uint32		begin = TYPEALIGN(gap->align, TYPEALIGN(sizeof(uint16), end));

			if (begin + gap->size <= next && (gap->begin == 0 || next - end < gap->length))
			{
				gap->begin = begin;
				gap->length = next - end;
				if (fits_well(gap))
					return;
			}
		}
		before = FPB_LEAST_TUPLE;
	}
}

/*
 * Where a tuple of this alignment, of so many bytes with its TIDs, has room
 * among the page's tuples: in the first stretch that it fits well, else in the
 * shortest one that is long enough.  0 if there is none.
 *
 * The search begins at a place that depends on the entry's TID.  If it always
 * began at the same place, stretches would soon be rare there.
 */
uint32
fpb_gap_in_map(Page page, const FpbTupleMap *map, uint64 tail, uint32 align, uint32 size)
{
	Gap			gap = {.size = size,.align = align};
	uint32		upper = FpbHdr(page)->pd.pd_upper;
	uint32		middle;

	if (upper >= BLCKSZ)
		return 0;
	middle = last_start(map, upper + hash_uint32((uint32) tail) % (BLCKSZ - upper), upper);
	find_gap(page, map, middle, BLCKSZ, &gap);
	if (gap.begin == 0 || !fits_well(&gap))
		find_gap(page, map, upper, middle, &gap);
	return gap.begin;
}

/*
 * fpb_gap_in_map for a plain tuple of this key; high: the high fence's tuple
 * stays.
 */
static uint32
plain_gap(const FpbIndex *ix, Page page, const FpbKey *key, bool high)
{
	FpbTupleMap map;

	return map_tuples(ix, page, 0, high, &map) ?
		fpb_gap_in_map(page, &map, key->tail, fpb_tuple_align(ix, key->tuple),
					   fpb_tuple_size(key->tuple)) : 0;
}

/*
 * Where a plain tuple of this key has room among the page's tuples, or 0.  The
 * page is locked exclusively.  Raises nothing.
 */
uint32
fpb_tuple_gap(const FpbIndex *ix, Page page, const FpbKey *key)
{
	return plain_gap(ix, page, key, true);
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
 * See FpbLayoutRoutine.  The page's high fence is about to go, and is gone
 * when fpb_disk_first_put_tuple looks: both have to see the same even if it is
 * damaged.
 */
bool
fpb_disk_first_has_room(const FpbIndex *ix, Page page, const FpbKey *key)
{
	return fpb_page_has_room(ix, page, 0, fpb_tuple_room(ix, key)) ||
		plain_gap(ix, page, key, false) != 0;
}

/*
 * See FpbLayoutRoutine.
 */
uint32
fpb_disk_first_put_tuple(const FpbIndex *ix, Page page, const FpbKey *key, FpbWalPage *wp)
{
	uint32		offset;

	if (fpb_page_has_room(ix, page, 0, fpb_tuple_room(ix, key)))
		return fpb_add_tuple(ix, page, key, wp);
	offset = fpb_tuple_gap(ix, page, key);
	/* better than to write into another tuple */
	if (unlikely(offset == 0))
		elog(PANIC, "insertion into a full fpbtree page");
	fpb_put_tuple_at(page, key, offset, wp);
	return offset;
}
