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
#include "port/pg_bitutils.h"
#include "port/pg_bswap.h"

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

/* what a map's cell has if a tuple begins at this offset */
#define START(offset)	((uint8) ((offset) | 1))

static inline void
note_start(FpbTupleMap *map, uint16 offset)
{
	map->cells[FPB_MAP_CELL(offset)] = START(offset);
}

/*
 * Note where the tuples begin that so many slots name, without a branch: a gap
 * notes byte 0, where no tuple is looked for.  Four are read at once.  Returns
 * whether all are within the page.
 */
static inline bool
note_starts(FpbTupleMap *map, const uint16 *tuples, int n)
{
	const uint64 each = UINT64CONST(0x0001000100010001);
	const uint64 beyond = each * (uint16) ~(BLCKSZ - 1);
	uint8	   *first = &map->cells[FPB_MAP_CELL(0)];
	uint64		all = 0;
	int			slot = 0;

	for (; slot + 4 <= n; slot += 4)
	{
		uint64		four;
		uint64		cells;

		memcpy(&four, tuples + slot, sizeof(four));
		all |= four;
		cells = four / FPB_MAP_STEP & each * (PG_UINT16_MAX / FPB_MAP_STEP);
		four |= each;
		first[(uint16) cells] = (uint8) four;
		first[(uint16) (cells >> 16)] = (uint8) (four >> 16);
		first[(uint16) (cells >> 32)] = (uint8) (four >> 32);
		first[cells >> 48] = (uint8) (four >> 48);
	}
	for (; slot < n; slot++)
	{
		all |= tuples[slot];
		note_start(map, tuples[slot]);
	}
	return (all & beyond) == 0;
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
	bool		sound = true;

	memset(map, 0, FPB_MAP_CELL(BLCKSZ) + sizeof(uint64));
	for (int dir = 0; dir < FpbDir(page)->nnodes; dir++)
	{
		if (unlikely(fpb_node_number(page, dir) >= FpbDir(page)->nalloc))
			return false;
		sound &= note_starts(map, fpb_node_tuples(shape, fpb_node_at(shape, page, dir)),
							 shape->nslots);
	}
	map->cells[FPB_MAP_CELL(except)] = 0;
	if (!FpbPageIsLeftmost(page))
		fences[FPB_LOW] = hdr->fences.tail[FPB_LOW];
	if (high && !FpbPageIsRightmost(page) && !FpbPageHighElided(page))
		fences[FPB_HIGH] = hdr->fences.tail[FPB_HIGH];
	for (int i = 0; i < lengthof(fences); i++)
	{
		sound &= fences[i] < BLCKSZ;
		note_start(map, (uint16) fences[i]);
	}
	note_start(map, 0);			/* where searches end */
	map->cells[FPB_MAP_CELL(BLCKSZ)] = START(BLCKSZ);
	return sound;
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
 * Where the tuple begins that a map's cell has.
 */
static inline uint32
start_of_cell(const FpbTupleMap *map, int cell)
{
	return (cell - FPB_MAP_CELL(0)) * FPB_MAP_STEP + (map->cells[cell] & (FPB_MAP_STEP - 2));
}

/*
 * Eight cells of a map, the first one in the top byte.
 */
static inline uint64
eight_cells(const FpbTupleMap *map, int cell)
{
	uint64		cells;

	memcpy(&cells, &map->cells[cell], sizeof(cells));
	return pg_ntoh64(cells);
}

/*
 * Where the first tuple begins at this offset or behind it, or the page's end.
 */
static inline uint32
next_start(const FpbTupleMap *map, uint32 offset)
{
	int			cell = FPB_MAP_CELL(offset);
	uint64		cells;

	/* (an odd one is that of a damaged page) */
	if (map->cells[cell] % FPB_MAP_STEP >= Max(offset % FPB_MAP_STEP, 1))
		return start_of_cell(map, cell);
	for (cell++; (cells = eight_cells(map, cell)) == 0;)
		cell += sizeof(cells);
	return start_of_cell(map, cell + (63 - pg_leftmost_one_pos64(cells)) / BITS_PER_BYTE);
}

/*
 * Where the last tuple begins that does not lie behind an offset in the page,
 * or 0.
 */
static inline uint32
last_start(const FpbTupleMap *map, uint32 offset)
{
	int			cell = FPB_MAP_CELL(offset);
	uint64		cells;

	if (map->cells[cell] != 0 && map->cells[cell] % FPB_MAP_STEP <= offset % FPB_MAP_STEP + 1)
		return start_of_cell(map, cell);
	for (cell -= sizeof(cells); (cells = eight_cells(map, cell)) == 0;)
		cell -= sizeof(cells);
	return start_of_cell(map, cell + 7 - pg_rightmost_one_pos64(cells) / BITS_PER_BYTE);
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

/* so many places are tried, each so far from the one before, of 2^32 */
#define TRIES			24
#define GOLDEN_RATIO	0x9E3779B9

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
 * The gap may be in the stretch from the tuple that begins at an offset, or
 * from pd_upper if that is said, up to the next tuple: if no stretch has been
 * found, or a longer one.  Returns whether that is the best one.
 *
 * A tuple's length is looked up only if the next one is far enough away for
 * both.
 */
static inline bool
try_gap(Page page, uint32 at, bool upper, uint32 next, Gap *gap)
{
	uint32		end;
	uint32		begin;

	if (likely(next - at < (upper ? 0 : FPB_LEAST_TUPLE) + gap->size))
		return false;
	end = TYPEALIGN(sizeof(uint16), upper ? at : tuple_end(page, at));
	begin = TYPEALIGN(gap->align, end);
	if (begin + gap->size > next || (gap->begin != 0 && next - end >= gap->length))
		return false;
	gap->begin = begin;
	gap->length = next - end;
	return fits_well(gap);
}

/*
 * Where a tuple of this alignment, of so many bytes with its TIDs, has room
 * among the page's tuples.  0 if there is none.
 *
 * Some places are tried, which depend on the entry's TID: the first stretch
 * that it fits well is taken, else the shortest one of these.  If the search
 * always began at the same place, stretches would soon be rare there, and if
 * it went on from one stretch to the next, there would be long ones without.
 * Only if none of these has room are all stretches looked at.
 */
uint32
fpb_gap_in_map(Page page, const FpbTupleMap *map, uint64 tail, uint32 align, uint32 size)
{
	Gap			gap = {.size = size,.align = align};
	uint32		upper = FpbHdr(page)->pd.pd_upper;
	uint32		hash = hash_uint32((uint32) tail);
	uint32		next;

	if (upper >= BLCKSZ)
		return 0;
	for (int i = 0; i < TRIES; i++, hash += GOLDEN_RATIO)
	{
		uint32		place = upper + (uint32) ((uint64) hash * (BLCKSZ - upper) >> 32) / 2 * 2;
		uint32		at = last_start(map, place);

		/* there may be no tuple at pd_upper */
		next = next_start(map, place + sizeof(uint16));
		if (try_gap(page, Max(at, upper), at < upper, next, &gap))
			return gap.begin;
	}

	for (uint32 at = upper; at < BLCKSZ && gap.begin == 0; at = next)
	{
		next = next_start(map, at + sizeof(uint16));
		(void) try_gap(page, at, at == upper && next_start(map, at) != at, next, &gap);
	}
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
	fpb_copy_bytes((char *) page + offset, key->tuple, IndexTupleSize(key->tuple));
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
