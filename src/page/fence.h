/*-------------------------------------------------------------------------
 *
 * page/fence.h
 *	  A page's fences, and the tuples it holds, whatever its layout
 *	  (page/fence.c).
 *
 *-------------------------------------------------------------------------
 */
#ifndef FPB_PAGE_FENCE_H
#define FPB_PAGE_FENCE_H

#include "base/wal.h"
#include "key/join_tuple.h"

/*
 * The tail of a pivot tuple: its TID where it has one, else that of minus
 * infinity.
 */
static inline uint64
fpb_pivot_tail(IndexTuple pivot)
{
	if (ItemPointerGetOffsetNumberNoCheck(&pivot->t_tid) == 0)
		return FPB_TAIL_MIN;
	return fpb_tail_pack(0, &pivot->t_tid);
}

/*
 * Is this high fence, NULL: infinite, to be left to the right sibling?
 */
static inline bool
fpb_high_elided(const FpbIndex *ix, const FpbKey *high)
{
	return high != NULL && high->tuple == NULL && !fpb_is_word(ix);
}

extern void fpb_page_damaged(const FpbIndex *ix, Page page,
							 const char *fault) __attribute__((noreturn));
extern IndexTuple fpb_page_tuple(const FpbIndex *ix, Page page, uint32 offset);

/*
 * What a key of an entry of a leaf has for cut_in: the leaf, if its tuples may
 * be cut, or it takes long to make heads again.
 */
static inline Page
fpb_cut_in(const FpbIndex *ix, Page page)
{
	return ix->cut_most > 0 || fpb_has_sort_keys(ix) ? page : NULL;
}

/*
 * Fences.  A high fence that the page leaves to its right sibling has a head,
 * but no tuple: fpb_lock_high gets the whole of it.
 */
extern void fpb_page_low(const FpbIndex *ix, Page page, FpbKey *key);
extern void fpb_page_high(const FpbIndex *ix, Page page, FpbKey *key);

/*
 * Sign of the low (high) fence against a search key, infinities included.  The
 * high fence must not be elided: see fpb_compare_end.
 */
extern int	fpb_compare_low(const FpbIndex *ix, Page page, const FpbSearchKey *search);
extern int	fpb_compare_high(const FpbIndex *ix, Page page, const FpbSearchKey *search);

/*
 * Room for tuples in a page that is being written.  At first it counts the
 * bytes that they will take.  After fpb_area_begin it is where the next ones
 * end.  Tuples that need more alignment lie at the page's end, the others
 * before them; so each takes what fpb_posting_space says, in whatever order
 * they come.
 */
typedef struct FpbTupleArea
{
	uint32		aligned;
	uint32		packed;
} FpbTupleArea;

static inline uint32 *
fpb_area_of(const FpbIndex *ix, FpbTupleArea *area, IndexTuple tuple)
{
	return fpb_tuple_align(ix, tuple) > sizeof(uint16) ? &area->aligned :
		&area->packed;
}

static inline void
fpb_area_begin(FpbTupleArea *area)
{
	area->packed = BLCKSZ - area->aligned;
	area->aligned = BLCKSZ;
}

/*
 * Copy a tuple into a page being written.  If tids is more than 1, leave room
 * for so many TIDs of so many bytes behind it.  Returns its offset.
 */
extern uint32 fpb_place_tuple(const FpbIndex *ix, Page page, IndexTuple tuple, int tids, int width,
							  FpbTupleArea *ends);

/*
 * Store one fence in the header.  tail: of the key, in the word forms; else
 * the page offset of its tuple, or 0 if the fence is elided.
 */
static inline void
fpb_set_fence(Page page, FpbSide side, const FpbKey *key, uint64 tail)
{
	FpbFences  *fences = &FpbHdr(page)->fences;

	fences->head[side] = key->head;
	if (key->tuple == NULL)
		fences->low[side] = key->low;	/* else the prefix is there */
	fences->tail[side] = tail;
}

/*
 * Store the fences (NULL: infinite) of a page being written, whose flags have
 * been set, and copy their tuples into it.
 */
extern void fpb_write_fences(const FpbIndex *ix, Page page, const FpbKey *low,
							 const FpbKey *high, FpbTupleArea *ends);

/*
 * Bytes to allow for a new tuple with so many TIDs of so many bytes, alignment
 * included; and for one with a single TID, which is none in the word forms.
 */
static inline Size
fpb_posting_room(const FpbIndex *ix, const FpbKey *key, int tids, int width)
{
	return fpb_posting_size(key->tuple, tids, width) + fpb_tuple_align(ix, key->tuple) - 1;
}

static inline Size
fpb_tuple_room(const FpbIndex *ix, const FpbKey *key)
{
	return fpb_is_word(ix) ? 0 : fpb_posting_room(ix, key, 1, 0);
}

/*
 * Copy a tuple into the page's tuple area, which has room for it.  Returns its
 * offset.  In the critical section.
 */
extern uint32 fpb_add_tuple(const FpbIndex *ix, Page page, const FpbKey *key, FpbWalPage *wp);

/*
 * A check of a page's tuples.  It is shown the fences' tuples first, then the
 * entries' in their order, and notes the bytes of each, so that it finds two
 * that lie on the same bytes.
 */
typedef struct FpbTupleCheck
{
	const FpbIndex *ix;
	Page		page;
	bool		any;			/* has an entry been seen? */
	uint8		taken[BLCKSZ / 16]; /* a bit for each two bytes of the page
									 * that a tuple lies on */
} FpbTupleCheck;

extern const char *fpb_fence_tuples_fault(FpbTupleCheck *tc);
extern const char *fpb_entry_tuple_fault(FpbTupleCheck *tc, uint64 offset);

/*
 * What is wrong with the fences of a page whose header is sound, as text, or
 * NULL: everything that a comparison with them relies on.  Calls no
 * comparator.
 */
extern const char *fpb_page_fence_fault(const FpbIndex *ix, Page page);

#endif							/* FPB_PAGE_FENCE_H */
