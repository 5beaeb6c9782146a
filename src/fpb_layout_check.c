/*-------------------------------------------------------------------------
 *
 * fpb_layout_check.c
 *	  What is wrong with a disk-first page?
 *
 * fpb_page_fault looks at the structure of a page: it calls no comparator,
 * allocates nothing and raises no error, so that it can be asked anywhere.
 * fpb_page_order_fault looks at the keys.  Both must be exact: whatever a sound
 * change leaves behind is no fault.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fpb_layout.h"

/* a page being looked at */
typedef struct PageCheck
{
	const FpbIndex *ix;
	Page		page;
	const FpbShape *shape;

	/* tuple form: a bit for each two bytes of the page that a tuple lies on */
	uint8		taken[BLCKSZ / 16];
	bool		first;			/* no entry has been seen yet */
} PageCheck;

/* the fault of a tuple, until the next one is looked for */
static char tuple_fault_text[128];

/*
 * Are these bytes all zero?
 */
static bool
all_zero(const char *start, const char *end)
{
	return start >= end ||
		(*start == 0 && memcmp(start, start + 1, end - start - 1) == 0);
}

/* --- tuples --- */

/*
 * What is wrong with the TIDs of a posting, which is within the page, or NULL.
 */
static const char *
posting_fault(const PageCheck *pc, IndexTuple posting)
{
	int			n = fpb_posting_slots(posting);
	uint64		before = 0;

	if (pc->ix->max_posting == 0 || !FpbPageIsLeaf(pc->page))
		return "The page has a posting, which it may not have.";
	if (n < 2 || n > fpb_posting_most(pc->ix, posting) ||
		ItemPointerGetBlockNumberNoCheck(&posting->t_tid) != 0)
		return "A posting has an impossible size.";
	for (int i = 0; i < n; i++)
	{
		uint64		tail = fpb_posting_tail(posting, i);

		if (fpb_tail_is_gap(fpb_posting_tails(posting), i))
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
 * What is wrong with the tuple at this offset, or NULL.  Another one must not
 * lie on the same bytes, unless claim is false.
 */
static const char *
tuple_fault(PageCheck *pc, uint64 offset, bool pivot, bool claim)
{
	IndexTuple	tuple;
	const char *fault;
	Size		size;

	if (offset > BLCKSZ || !fpb_tuple_offset_valid(pc->page, (uint32) offset))
		return "A tuple offset points outside the page's tuples.";
	tuple = (IndexTuple) ((char *) pc->page + offset);
	if (offset != TYPEALIGN(fpb_tuple_align(tuple), offset))
		return "A tuple is not aligned as its columns need it.";
	fault = fpb_tuple_fault(pc->ix, tuple, BLCKSZ - offset, pivot);
	if (fault != NULL)
	{
		snprintf(tuple_fault_text, sizeof(tuple_fault_text),
				 "The tuple at byte %u: %s.", (uint32) offset, fault);
		return tuple_fault_text;
	}
	size = IndexTupleSize(tuple);
	if (!pivot && fpb_is_posting(tuple))
	{
		fault = posting_fault(pc, tuple);
		if (fault != NULL)
			return fault;
		size = fpb_posting_size(tuple, fpb_posting_slots(tuple));
	}

	/* tuples begin at even offsets */
	for (uint32 at = offset; claim && at < offset + size; at += 2)
	{
		if (pc->taken[at / 16] & (1 << (at / 2 % 8)))
			return "Two tuples lie on the same bytes.";
		pc->taken[at / 16] |= 1 << (at / 2 % 8);
	}
	return NULL;
}

/*
 * The same for the tuple of an entry.  That of the first one may be the low
 * fence's, too: in an inner page it is the same key, and in a leaf it is where
 * a split had no room for another separator.
 */
static const char *
entry_fault(PageCheck *pc, uint64 offset)
{
	bool		shared = pc->first && !FpbPageIsLeftmost(pc->page) &&
		offset == FpbHdr(pc->page)->low_tail;

	return tuple_fault(pc, offset, !FpbPageIsLeaf(pc->page), !shared);
}

/*
 * The same for the fences' tuples.
 */
static const char *
fence_fault(PageCheck *pc)
{
	FpbPageHeader *hdr = FpbHdr(pc->page);
	const char *fault = NULL;

	if (!FpbPageIsLeftmost(pc->page))
		fault = tuple_fault(pc, hdr->low_tail, true, true);
	if (fault == NULL && FpbPageHighElided(pc->page))
		fault = hdr->high_tail == 0 ? NULL :
			"A high fence that is elided has a tuple.";
	else if (fault == NULL && !FpbPageIsRightmost(pc->page))
		fault = tuple_fault(pc, hdr->high_tail, true, true);
	return fault;
}

/*
 * What is wrong with the fences of a page whose header has been checked, or
 * NULL: what comparing them relies on.
 */
const char *
fpb_page_fence_fault(const FpbIndex *ix, Page page)
{
	PageCheck	pc = {.ix = ix,.page = page};

	return fpb_is_word(ix) ? NULL : fence_fault(&pc);
}

/* --- nodes --- */

/*
 * The dir'th node, whose number has been checked.
 */
static char *
get_node(const PageCheck *pc, int dir)
{
	return (char *) pc->page + fpb_page_base(FpbHdr(pc->page)->dircap) +
		fpb_dir_nodes(pc->page)[dir] * pc->shape->size;
}

/*
 * What is wrong with a gap, or NULL.  It is a gap because one of its fields
 * says so; the others must not contradict.
 */
static const char *
gap_fault(const PageCheck *pc, int codec, char *node, int slot)
{
	if (fpb_is_word(pc->ix) &&
		fpb_read_tail(fpb_node_tails(pc->shape, codec, node), slot) != 0)
		return "A gap has a part of a TID.";
	if (pc->shape->child_off != 0 &&
		fpb_node_children(pc->shape, node)[slot] != InvalidBlockNumber)
		return "A gap has a downlink.";
	return NULL;
}

/*
 * What is wrong with what an entry points to, or NULL: its TID and its
 * downlink, but not its tuple.
 */
static const char *
target_fault(const PageCheck *pc, int codec, char *node, int slot)
{
	ItemPointerData tid;

	if (pc->shape->child_off != 0)
	{
		BlockNumber child = fpb_node_children(pc->shape, node)[slot];

		if (child == InvalidBlockNumber || child == FPB_METAPAGE)
			return "An entry has no downlink.";
		return NULL;
	}
	if (fpb_is_word(pc->ix))
		fpb_tail_tid(fpb_read_tail(fpb_node_tails(pc->shape, codec, node), slot),
					 &tid);
	else						/* a posting's have been checked, this is 0 */
		tid = ((IndexTuple) ((char *) pc->page +
							 fpb_node_tuples(pc->shape, node)[slot]))->t_tid;
	if (ItemPointerGetBlockNumberNoCheck(&tid) == InvalidBlockNumber)
		return "An entry has an invalid TID.";
	return NULL;
}

/*
 * What is wrong with the key of a one-key node, or NULL.  It must be sound even
 * if the node has no entry, for the next one of that key goes there.
 */
static const char *
one_key_fault(const PageCheck *pc, char *node)
{
	const uint64 *header = (const uint64 *) node;

	if (pc->ix->head_width == 4 && (uint32) header[0] != 0)
		return "A one-key node's head is longer than heads are.";
	if (pc->ix->form != FPB_WORD16 && header[1] != 0)
		return "A one-key node's word is longer than words are.";
	return NULL;
}

/*
 * What is wrong with the hints of a node, the dir'th, or NULL: there must be
 * none where there is no entry.
 */
static const char *
hint_fault(const PageCheck *pc, int dir, int codec, char *node)
{
	const uint8 *hints = fpb_hints(pc->shape, pc->page) +
		fpb_dir_nodes(pc->page)[dir] * pc->shape->hint_bytes;

	for (int i = 0; i < pc->shape->hint_bytes; i++)
	{
		if (hints[i] == 0)
			continue;
		for (int slot = i * 8; slot < i * 8 + 8; slot++)
			if ((hints[i] & (1 << (slot % 8))) != 0 &&
				(slot >= pc->shape->nslots ||
				 fpb_node_is_gap(pc->ix, pc->shape, codec, node, slot)))
				return "A hint says that an entry is dead where there is none.";
	}
	return NULL;
}

/*
 * What is wrong with the dir'th node, or NULL.
 *
 * The bounds of the directory hold for entries.  A node without any, and a gap,
 * may be outside of them: an entry put into the node before raises the bound.
 */
static const char *
node_fault(PageCheck *pc, int dir)
{
	const FpbIndex *ix = pc->ix;
	int			codec = fpb_dir_codecs(pc->page)[dir];
	char	   *node = get_node(pc, dir);
	uint64		min = fpb_dir_heads(pc->page)[dir];
	uint64		max = dir == FpbHdr(pc->page)->nnodes - 1 ? PG_UINT64_MAX :
		fpb_dir_heads(pc->page)[dir + 1];
	uint64		head = 0;
	uint64		before = 0;
	const char *fault = NULL;

	if (codec == FPB_NODE_ONE_KEY)
	{
		fault = one_key_fault(pc, node);
		head = *(const uint64 *) node;
	}
	for (int slot = 0; fault == NULL && slot < fpb_node_slots(pc->shape, codec); slot++)
	{
		if (codec == FPB_NODE_PLAIN)
		{
			head = fpb_node_head(ix, node, slot);
			if (head < before)
				return "The heads of a node are out of order.";
			before = head;
		}
		if (fpb_node_is_gap(ix, pc->shape, codec, node, slot))
		{
			fault = gap_fault(pc, codec, node, slot);
			continue;
		}
		if (head < min || head > max)
			return "An entry's head is outside the bounds of its directory entry.";

		if (codec == FPB_NODE_PLAIN && !fpb_is_word(ix))
			fault = entry_fault(pc, fpb_node_tuples(pc->shape, node)[slot]);
		pc->first = false;
		if (fault == NULL)
			fault = target_fault(pc, codec, node, slot);
	}
	if (fault == NULL)
		fault = hint_fault(pc, dir, codec, node);
	return fault;
}

/*
 * What is wrong with the space that belongs to no node and no tuple, or NULL.
 * used[] tells which nodes the directory names.
 */
static const char *
hole_fault(const PageCheck *pc, const bool *used)
{
	FpbPageHeader *hdr = FpbHdr(pc->page);
	const FpbShape *shape = pc->shape;
	char	   *page = (char *) pc->page;
	char	   *hints = (char *) fpb_hints(shape, pc->page);
	int			nhints = shape->hints_off != 0 ? shape->max_nodes : hdr->nalloc;
	char	   *hints_end = hints + nhints * shape->hint_bytes;

	if (shape->hints_off != 0 ?
		!all_zero(page + hdr->pd.pd_lower, hints) || !all_zero(hints_end, page + BLCKSZ) :
		!all_zero(hints_end, page + hdr->pd.pd_upper))
		return "The unused space of the page is not zero.";
	for (int number = 0; number < nhints; number++)
	{
		char	   *start = hints + number * shape->hint_bytes;

		if (!used[number] && !all_zero(start, start + shape->hint_bytes))
			return "A hint is about a node that the directory does not name.";
	}
	return NULL;
}

/*
 * What is wrong with the structure of a page, whose header has been checked
 * by fpb_checkpage, or NULL.  A page without a fault can be worked on: no offset
 * or length in it is out of bounds, and no two things are in one place.  The
 * text lives until the next call.
 */
const char *
fpb_page_fault(const FpbIndex *ix, Page page)
{
	FpbPageHeader *hdr = FpbHdr(page);
	PageCheck	pc = {.ix = ix,.page = page,.shape = fpb_shape(ix, page),.first = true};
	bool		used[FPB_MAX_NODES + 1] = {0};
	const char *fault;

	if (FpbPageIsRightmost(page) && FpbPageSplitIncomplete(page))
		return "The rightmost page is marked as incompletely split.";
	if (fpb_is_word(ix) && hdr->pd.pd_upper != BLCKSZ)
		return "The page has tuples, which it may not have.";
	if (FpbPageHighElided(page) && fpb_is_word(ix))
		return "The page has no high fence to elide.";
	fault = fpb_is_word(ix) ? NULL : fence_fault(&pc);
	if (fault != NULL)
		return fault;

	for (int dir = 0; dir < hdr->nnodes; dir++)
	{
		uint32		number = fpb_dir_nodes(page)[dir];
		int			codec = fpb_dir_codecs(page)[dir];

		if (number >= hdr->nalloc || codec > FPB_NODE_ONE_KEY)
			return "The directory names a node that does not exist.";
		if (codec == FPB_NODE_ONE_KEY &&
			!(ix->one_key && fpb_is_word(ix) && FpbPageIsLeaf(page)))
			return "The page has a one-key node, which it may not have.";
		if (used[number])
			return "The directory names a node twice.";
		used[number] = true;
		if (dir > 0 && fpb_dir_heads(page)[dir] < fpb_dir_heads(page)[dir - 1])
			return "The directory's heads are out of order.";
		fault = node_fault(&pc, dir);
		if (fault != NULL)
			return fault;
	}
	if (!FpbPageIsLeaf(page) && pc.first)
		return "An inner page is empty.";
	return hole_fault(&pc, used);
}

/* --- keys --- */

/*
 * Does a tuple have the head that its values give it?
 */
static bool
head_is_right(const FpbIndex *ix, const FpbKey *key, bool pivot)
{
	Datum		values[INDEX_MAX_KEYS];
	bool		isnull[INDEX_MAX_KEYS];
	int			natts = pivot ? fpb_pivot_natts(ix, key->tuple) : ix->nkeyatts;
	uint64		head;

	for (int i = 0; i < natts; i++)
		values[i] = index_getattr(key->tuple, i + 1, RelationGetDescr(ix->rel),
								  &isnull[i]);
	(void) fpb_head_of(ix, values, isnull, natts, false, &head);
	return head == key->head;
}

/*
 * Does an entry of a leaf have the words that its values give it?
 */
static bool
words_are_right(const FpbIndex *ix, const FpbKey *key)
{
	Datum		values[INDEX_MAX_KEYS];
	bool		isnull[INDEX_MAX_KEYS];
	ItemPointerData tid;
	FpbKey		again;

	fpb_tail_tid(key->tail, &tid);
	fpb_word_datums(ix, key, values, isnull);
	fpb_word_form(ix, values, isnull, &tid, &again);
	return again.head == key->head && again.low == key->low &&
		again.tail == key->tail;
}

/*
 * Is a pivot minus infinity?
 */
static bool
is_minus_infinity(const FpbIndex *ix, const FpbKey *key)
{
	if (!fpb_is_word(ix))
		return fpb_pivot_natts(ix, key->tuple) == 0;
	return key->head == 0 && key->low == 0 && key->tail == FPB_TAIL_MIN;
}

/*
 * What is wrong with the fences, and with the first and the last entry, which
 * must be between them; or NULL.  An elided fence is not known but for its head.
 */
static const char *
range_fault(const FpbIndex *ix, Page page, const FpbEntry *entries, int nentries)
{
	bool		leaf = FpbPageIsLeaf(page);
	FpbProbe	probe;
	FpbKey		fence;

	if (!FpbPageIsLeftmost(page))
	{
		fpb_page_low(ix, page, &fence);
		if (!fpb_is_word(ix) && !head_is_right(ix, &fence, true))
			return "The head of the low fence is not that of its values.";
		fpb_probe_from_key(ix, &fence, &probe);
		if (FpbPageHighElided(page) ? FpbHdr(page)->high_head < fence.head :
			fpb_compare_high(ix, page, &probe) <= 0)
			return "The high fence is not above the low fence.";
		if (leaf && nentries > 0 && fpb_compare(ix, &entries[0].key, &probe) < 0)
			return "The first entry is below the low fence.";
		if (!leaf && fpb_compare(ix, &entries[0].key, &probe) != 0)
			return "The first child's key is not the low fence.";
	}
	else if (!leaf && !is_minus_infinity(ix, &entries[0].key))
		return "The first child's key is not minus infinity.";
	if (FpbPageHighElided(page))
	{
		if (nentries > 0 && entries[nentries - 1].key.head > FpbHdr(page)->high_head)
			return "The last entry is not below the high fence.";
	}
	else if (!FpbPageIsRightmost(page))
	{
		fpb_page_high(ix, page, &fence);
		if (!fpb_is_word(ix) && !head_is_right(ix, &fence, true))
			return "The head of the high fence is not that of its values.";
		fpb_probe_from_key(ix, &fence, &probe);
		if (nentries > 0 && fpb_compare(ix, &entries[nentries - 1].key, &probe) >= 0)
			return "The last entry is not below the high fence.";
	}
	return NULL;
}

/*
 * What is wrong with the keys of a page whose structure is sound, or NULL.
 * entries[] are all that it has, as fpb_page_entries gives them.  Calls
 * comparators, allocates memory, and may raise errors: damaged values can.
 */
const char *
fpb_page_order_fault(const FpbIndex *ix, Page page, const FpbEntry *entries,
					 int nentries)
{
	bool		leaf = FpbPageIsLeaf(page);
	const char *fault = range_fault(ix, page, entries, nentries);

	if (fault != NULL)
		return fault;
	for (int i = 0; i < nentries; i++)
	{
		const FpbKey *key = &entries[i].key;

		if (i > 0 && fpb_compare_keys(ix, &entries[i - 1].key, key) >= 0)
			return psprintf("Entries %d and %d are out of order.", i, i + 1);
		if (!fpb_is_word(ix) && !(i > 0 && key->tuple == entries[i - 1].key.tuple) &&
			!head_is_right(ix, key, !leaf))
			return psprintf("The head of entry %d is not that of its values.", i + 1);
		if (fpb_is_word(ix) && leaf && !words_are_right(ix, key))
			return psprintf("The words of entry %d are not those of its values.", i + 1);
	}
	return NULL;
}
