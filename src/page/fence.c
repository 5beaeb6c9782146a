/*-------------------------------------------------------------------------
 *
 * page/fence.c
 *	  A page's fences, and the tuples it holds, whatever its layout.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "storage/bufmgr.h"

#include "key/posting.h"
#include "page/fence.h"

/*
 * Report that the content of a page contradicts itself.
 */
void
fpb_page_damaged(const FpbIndex *ix, Page page, const char *fault)
{
	fpb_report_damage(ix->rel, fpb_cache_block(ix->cache, page), fault);
}

static const char misplaced[] = "A tuple offset points outside the page's tuples, or to one that is not aligned.";

/*
 * The tuple at an offset in the page.  Checks that its length and its
 * alignment permit to read it; whoever reads a column checks that (src/key).
 */
IndexTuple
fpb_page_tuple(const FpbIndex *ix, Page page, uint32 offset)
{
	IndexTuple	tuple = (IndexTuple) ((char *) page + offset);

	if (unlikely(!fpb_tuple_offset_valid(page, offset) ||
				 !fpb_tuple_is_aligned(ix, tuple, offset)))
		fpb_page_damaged(ix, page, misplaced);
	return tuple;
}

/* --- fences --- */

/*
 * Unpack the fence at one side, which the page has.  A tuple stays in place.
 */
static void
read_fence(const FpbIndex *ix, Page page, FpbSide side, FpbKey *key)
{
	const FpbFences *fences = &FpbHdr(page)->fences;

	key->head = fences->head[side];
	key->low = fences->low[side];
	key->tail = fences->tail[side];
	key->tuple = NULL;
	if (!fpb_is_word(ix))
	{
		key->low = 0;
		key->tuple = fpb_page_tuple(ix, page, (uint32) Min(key->tail, BLCKSZ));
		key->tail = fpb_pivot_tail(key->tuple);
	}
}

/*
 * The low fence, of a page that is not the leftmost.  A tuple stays in place.
 */
void
fpb_page_low(const FpbIndex *ix, Page page, FpbKey *key)
{
	Assert(!FpbPageIsLeftmost(page));
	read_fence(ix, page, FPB_LOW, key);
}

/*
 * The high fence, of a page that is not the rightmost.  A tuple stays in
 * place; there is none if the fence is elided.
 */
void
fpb_page_high(const FpbIndex *ix, Page page, FpbKey *key)
{
	Assert(!FpbPageIsRightmost(page));
	if (FpbPageHighElided(page))
	{
		memset(key, 0, sizeof(FpbKey));
		key->head = FpbHdr(page)->fences.head[FPB_HIGH];
		return;
	}
	read_fence(ix, page, FPB_HIGH, key);
}

/*
 * Sign of the fence at one side, which the page has, against the search key.
 * Its tuple is not looked at if heads tell, because that often waits for
 * memory.
 */
static int
compare_fence(const FpbIndex *ix, Page page, FpbSide side, const FpbSearchKey *search)
{
	uint64		head = FpbHdr(page)->fences.head[side];
	FpbKey		key;

	if (!fpb_is_word(ix) && search->has_head && head != search->head)
		return head < search->head ? -1 : 1;
	read_fence(ix, page, side, &key);
	return fpb_compare(ix, &key, search);
}

/*
 * Sign of the low fence against the search key.
 */
int
fpb_compare_low(const FpbIndex *ix, Page page, const FpbSearchKey *search)
{
	return FpbPageIsLeftmost(page) ? -1 : compare_fence(ix, page, FPB_LOW, search);
}

/*
 * Sign of the high fence, which is not elided, against the search key.
 */
int
fpb_compare_high(const FpbIndex *ix, Page page, const FpbSearchKey *search)
{
	Assert(FpbPageIsRightmost(page) || !FpbPageHighElided(page));
	return FpbPageIsRightmost(page) ? 1 : compare_fence(ix, page, FPB_HIGH, search);
}

/* --- writing them --- */

/*
 * See page/fence.h.
 */
uint32
fpb_place_tuple(const FpbIndex *ix, Page page, IndexTuple tuple, int tids, int width, FpbTupleArea *ends)
{
	uint32	   *end = fpb_area_of(ix, ends, tuple);

	*end -= fpb_posting_space(ix, tuple, tids, width);
	fpb_copy_bytes((char *) page + *end, tuple, IndexTupleSize(tuple));
	return *end;
}

/*
 * See page/fence.h.
 */
void
fpb_write_fences(const FpbIndex *ix, Page page, const FpbKey *low,
				 const FpbKey *high, FpbTupleArea *ends)
{
	if (low != NULL)
		fpb_set_fence(page, FPB_LOW, low, fpb_is_word(ix) ? low->tail :
					  fpb_place_tuple(ix, page, low->tuple, 1, 0, ends));
	if (high != NULL)
		fpb_set_fence(page, FPB_HIGH, high, fpb_is_word(ix) ? high->tail :
					  FpbPageHighElided(page) ? 0 :
					  fpb_place_tuple(ix, page, high->tuple, 1, 0, ends));
}

/*
 * See page/fence.h.
 */
uint32
fpb_add_tuple(const FpbIndex *ix, Page page, const FpbKey *key, FpbWalPage *wp)
{
	FpbPageHeader *hdr = FpbHdr(page);
	Size		size = fpb_tuple_size(key->tuple);
	uint32		end = hdr->pd.pd_upper;
	uint32		offset = TYPEALIGN_DOWN(fpb_tuple_align(ix, key->tuple), end - size);

	/*
	 * The padding is logged, too: if a cut in the same record has freed this
	 * space, replay does not find zeros there.
	 */
	fpb_copy_bytes((char *) page + offset, key->tuple, IndexTupleSize(key->tuple));
	hdr->pd.pd_upper = offset;
	fpb_wal_note(wp, (char *) page + offset, end - offset);
	fpb_wal_note(wp, &hdr->pd.pd_upper, sizeof(hdr->pd.pd_upper));
	return offset;
}

/* --- what is wrong with them --- */

/* the fault of a tuple, until the next one is looked for */
static char tuple_fault_text[128];

/*
 * What is wrong with the TIDs of a posting, which is within the page, or NULL.
 */
static const char *
posting_fault(const FpbTupleCheck *tc, IndexTuple posting)
{
	int			n = fpb_posting_slots(posting);
	int			width = fpb_posting_width(posting);
	uint64		before = 0;

	if (tc->ix->max_posting == 0 || !FpbPageIsLeaf(tc->page))
		return "The page has a posting, which it may not have.";
	if (ItemPointerGetBlockNumberNoCheck(&posting->t_tid) != width)
		return "A posting's TIDs have an impossible width.";
	if (n < 2 || n > fpb_posting_most(tc->ix, posting, width))
		return "A posting has an impossible size.";
	for (int i = 0; i < n; i++)
	{
		uint64		tail = fpb_posting_tail(posting, i);

		if (fpb_posting_is_gap(posting, i))
		{
			if (tail != 0)
				return "A gap has a part of a TID.";
			continue;
		}
		if ((tail >> FPB_TAIL_OFFSET_BITS) >= InvalidBlockNumber)
			return "An entry has an invalid TID.";
		if (tail <= before)
			return "The TIDs of a posting are out of order.";
		before = tail;
	}
	return before == 0 ? "A posting has no entry." : NULL;
}

/*
 * What is wrong with the tuple at this offset, or NULL.  claim: note its
 * bytes, on which no other tuple may lie.
 */
static const char *
tuple_fault(FpbTupleCheck *tc, uint64 offset, bool pivot, bool claim)
{
	IndexTuple	tuple;
	const char *fault;
	Size		size;

	if (offset > BLCKSZ || !fpb_tuple_offset_valid(tc->page, (uint32) offset))
		return "A tuple offset points outside the page's tuples.";
	tuple = (IndexTuple) ((char *) tc->page + offset);
	if (!fpb_tuple_is_aligned(tc->ix, tuple, offset))
		return "A tuple is not aligned as its columns need it.";
	fault = fpb_tuple_fault(tc->ix, tuple, BLCKSZ - offset,
							pivot ? FPB_TUPLE_PIVOT : FPB_TUPLE_STORED);
	if (fault != NULL)
	{
		snprintf(tuple_fault_text, sizeof(tuple_fault_text),
				 "The tuple at byte %u: %s.", (uint32) offset, fault);
		return tuple_fault_text;
	}
	size = fpb_tuple_size(tuple);
	if (!pivot && fpb_is_posting(tuple))
	{
		fault = posting_fault(tc, tuple);
		if (fault != NULL)
			return fault;
		size = fpb_leaf_tuple_size(tuple);
	}

	/* tuples begin at even offsets */
	for (uint32 at = offset; claim && at < Min(offset + size, BLCKSZ); at += 2)
	{
		if (tc->taken[at / 16] & (1 << (at / 2 % 8)))
			return "Two tuples lie on the same bytes.";
		tc->taken[at / 16] |= 1 << (at / 2 % 8);
	}
	return NULL;
}

/*
 * What is wrong with an entry's tuple, which lies at offset, or NULL.  Notes
 * its bytes.  The first entry may share the low fence's tuple: in an inner
 * page it has the same key, and in a leaf it has if a split had no room for
 * another separator.
 */
const char *
fpb_entry_tuple_fault(FpbTupleCheck *tc, uint64 offset)
{
	bool		shared = !tc->any && !FpbPageIsLeftmost(tc->page) &&
		offset == FpbHdr(tc->page)->fences.tail[FPB_LOW];

	return tuple_fault(tc, offset, !FpbPageIsLeaf(tc->page), !shared);
}

/*
 * What is wrong with the fences' tuples, or NULL.  Notes their bytes, so it
 * has to be called before the entries' tuples are looked at.
 */
const char *
fpb_fence_tuples_fault(FpbTupleCheck *tc)
{
	FpbPageHeader *hdr = FpbHdr(tc->page);
	const char *fault = NULL;

	if (!FpbPageIsLeftmost(tc->page))
		fault = tuple_fault(tc, hdr->fences.tail[FPB_LOW], true, true);
	if (fault == NULL && FpbPageHighElided(tc->page))
		fault = hdr->fences.tail[FPB_HIGH] == 0 ? NULL :
			"A high fence that is elided has a tuple.";
	else if (fault == NULL && !FpbPageIsRightmost(tc->page))
		fault = tuple_fault(tc, hdr->fences.tail[FPB_HIGH], true, true);
	return fault;
}

/*
 * See page/fence.h.
 */
const char *
fpb_page_fence_fault(const FpbIndex *ix, Page page)
{
	FpbTupleCheck tc = {.ix = ix,.page = page};

	return fpb_is_word(ix) ? NULL : fpb_fence_tuples_fault(&tc);
}
