/*-------------------------------------------------------------------------
 *
 * page/layout.c
 *	  What the layouts have in common.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "page/layout_common.h"

/*
 * Slots in a hundred to leave free in a page of which an image is logged: the
 * first of these that fits.  More gaps make the image larger; fewer make the
 * records of later insertions larger.
 */
static const int reorganise_slacks[] = {50, 30, 15, 10, 5, 2};

/* in a page that is made afresh for a shorter prefix */
#define PREFIX_SLACK	2

/*
 * So many bytes less than a leaf's entries have in common is the prefix that
 * more entries, behind these, are expected to have.
 */
#define PREFIX_SPARED	2

/* it is chosen if it is longer by so many bytes than what the fences tell */
#define PREFIX_GAINED	4

/* with more slack than this, no other prefix than the lasting one is tried */
#define LASTING_SLACK	30

/* heads that are alike in so many bytes are made again, of longer sort keys */
#define HEAD_BYTES_ALIKE	2

/* at most; to the operation queue, more will come before the next image */
#define SLACK		15
#define QUEUE_SLACK	50

/*
 * See page/layout.h.
 */
void
fpb_layout_choose(FpbIndex *ix, int leaf_lines)
{
	int			inner_lines;

	fpb_layout_shapes(ix, leaf_lines, 0);
	while (!fpb_is_word(ix) && ix->max_tuple < FPB_MAX_TUPLE_SIZE)
	{
		fpb_layout_lines(ix, &leaf_lines, &inner_lines);
		fpb_layout_shapes(ix, leaf_lines - 1, 0);
	}
}

/* --- entries --- */

/*
 * See page/layout.h.
 */
void
fpb_report_crowd(const FpbIndex *ix, Page page)
{
	fpb_page_damaged(ix, page, "The page has more entries than there is room for.");
}

/*
 * See page/layout_common.h.
 */
int
fpb_go_on_with_first(const FpbIndex *ix, Page page, const FpbSearchKey *end, uint64 head,
					 bool live, int most, FpbItem *items, int n, FpbReadFirst *first)
{
	const FpbLayoutRoutine *layout = ix->layout;
	FpbPos		pos = first->behind;
	FpbEntry	entry;

	while (layout->next(ix, page, &pos, &entry))
	{
		if (!fpb_passes_first(ix, &entry.key, end, head, most, first))
			return n;
		n += fpb_take_first(&entry.key, pos, live && layout->is_killed(ix, page, pos),
							&items[n], first);
		pos = first->behind;
	}
	first->stop = FPB_STOP_PAGE;
	return n;
}

/*
 * See page/layout_common.h.
 */
int
fpb_read_first_by_steps(const FpbIndex *ix, Page page, const FpbSearchKey *start,
						const FpbSearchKey *end, bool live, int most, FpbItem *items,
						FpbReadFirst *first)
{
	uint64		head = end == NULL ? 0 : fpb_search_head(ix, page, end);
	FpbPos		pos = FPB_POS_FIRST;

	if (start != NULL)
		ix->layout->search(ix, page, start, &pos);
	fpb_begin_first(first, pos);
	return fpb_go_on_with_first(ix, page, end, head, live, most, items, 0, first);
}

/*
 * As fpb_read_words, compiled for each form of words.  A scan spends its time
 * here.  An item is written even if the slot is a gap, and overwritten by the
 * next one: so no branch can be mispredicted.
 */
static pg_attribute_always_inline int
read_words(FpbForm form, const FpbShape *shape, const char *node, int from,
		   int to, FpbPos pos, uint64 step, FpbItem *items)
{
	const char *tails = node + shape->tail_off + from * FPB_TAIL_BYTES;
	const uint64 *lows = (const uint64 *) (node + shape->low_off);
	FpbItem    *item = items;

	for (int slot = from; slot < to; slot++, tails += FPB_TAIL_BYTES)
	{
		uint64		tail = fpb_read_tail(tails, 0);

		item->key.head = form == FPB_WORD4 ?
			(uint64) ((const uint32 *) node)[slot] << 32 : ((const uint64 *) node)[slot];
		item->key.low = form == FPB_WORD16 ? lows[slot] : 0;
		item->key.tail = tail;
		item->key.tuple = NULL;
		item->pos = pos;
		pos.number += step;
		item += (tail & FPB_TAIL_MAX_OFFSET) != 0;
	}
	return item - items;
}

/*
 * See page/layout_common.h.
 */
int
fpb_read_words(const FpbIndex *ix, const FpbShape *shape,
			   const char *node, int from, int to, FpbPos pos, uint64 step,
			   FpbItem *items, int room)
{
	if (unlikely(room < to - from))
		return -1;
	switch (ix->form)
	{
		case FPB_WORD4:
			return read_words(FPB_WORD4, shape, node, from, to, pos, step, items);
		case FPB_WORD8:
			return read_words(FPB_WORD8, shape, node, from, to, pos, step, items);
		case FPB_WORD16:
			return read_words(FPB_WORD16, shape, node, from, to, pos, step, items);
		case FPB_TUPLE:
			break;
	}
	pg_unreachable();
}

/*
 * All entries of the page, in order, and their positions unless places is
 * NULL.  Returns how many.  Tuples stay in the page.
 *
 * A leaf is read as scans read it, which is several times as fast, and raises
 * an error if there are too many entries.  An inner page can't have too many,
 * even if it is damaged, because it has no postings.
 */
static int
entries_and_places(const FpbIndex *ix, Page page, FpbEntry *entries, FpbPos *places)
{
	FpbPos		at = FPB_POS_FIRST;
	int			n = 0;

	if (FpbPageIsLeaf(page))
	{
		static FpbItem items[FPB_MAX_PAGE_ENTRIES];
		bool		more;

		/* (calls no comparator, which might come here again) */
		n = fpb_page_read(ix, page, at, NULL, false, items, lengthof(items), &more);
		for (int i = 0; i < n; i++)
		{
			entries[i].key = items[i].key;
			entries[i].child = InvalidBlockNumber;
			if (places != NULL)
				places[i] = items[i].pos;
		}
		return n;
	}
	for (; fpb_page_next(ix, page, &at, &entries[n]); at = fpb_pos_behind(at))
	{
		if (places != NULL)
			places[n] = at;
		n++;
	}
	return n;
}

/*
 * See page/layout.h.
 */
int
fpb_page_entries(const FpbIndex *ix, Page page, FpbEntry *entries)
{
	return entries_and_places(ix, page, entries, NULL);
}

/*
 * The least whole head that an entry can have in a page.
 */
static uint64
least_head(Page page)
{
	return FpbPageIsLeftmost(page) ? 0 : FpbHdr(page)->fences.head[FPB_LOW];
}

/*
 * See page/layout.h.
 */
int
fpb_page_entries_with(const FpbIndex *ix, Page page, const FpbEntry *entry,
					  const FpbPos *pos, FpbEntry *entries, FpbPos *places,
					  int *nentries)
{
	FpbPos	   *all_places = places;
	FpbPos		end = FPB_POS_FIRST;
	FpbEntry	none;
	int			n;
	int			where = 0;

	if (places == NULL)
		all_places = palloc(sizeof(FpbPos) * (FPB_MAX_PAGE_ENTRIES + 2));
	n = entries_and_places(ix, page, entries, all_places);
	if (n > 0)
		end = fpb_pos_behind(all_places[n - 1]);
	(void) fpb_page_next(ix, page, &end, &none);

	while (where < n && fpb_pos_before(all_places[where], *pos))
		where++;
	memmove(&entries[where + 1], &entries[where], sizeof(FpbEntry) * (n - where));
	memmove(&all_places[where + 1], &all_places[where], sizeof(FpbPos) * (n - where));
	entries[where] = *entry;
	if (unlikely(ix->old_heads))
	{
		entries[where].key.head = where > 0 ? fpb_key_head(ix, &entries[where - 1].key) :
			least_head(page);
		entries[where].key.cut_in = NULL;
	}
	all_places[where] = *pos;
	all_places[++n] = end;

	/*
	 * Between two of the same key it is of that key, though perhaps
	 * compressed in another way.  It must not part their posting, and takes
	 * on its bytes.  (Pivots don't: theirs hold their TIDs.)
	 */
	if (ix->one_key && !fpb_is_word(ix) && FpbPageIsLeaf(page) &&
		where > 0 && where + 1 < n &&
		fpb_keys_identical(ix, &entries[where - 1].key, &entries[where + 1].key))
	{
		entries[where].key.tuple = entries[where - 1].key.tuple;
		entries[where].key.cut_in = entries[where - 1].key.cut_in;
		entries[where].key.head = entries[where - 1].key.head;
	}

	if (places == NULL)
		pfree(all_places);
	*nentries = n;
	return where;
}

/*
 * See page/layout.h.
 */
bool
fpb_page_is_empty(const FpbIndex *ix, Page page)
{
	FpbPos		pos = FPB_POS_FIRST;
	FpbEntry	entry;

	return !fpb_page_next(ix, page, &pos, &entry);
}

/*
 * See page/layout.h.
 */
void
fpb_page_replace(Page page, const char *image, FpbWalPage *wp)
{
	XLogRecPtr	lsn = PageGetLSN(page);

	memcpy(page, image, BLCKSZ);
	PageSetLSN(page, lsn);
	wp->image = true;
}

/* --- making a page afresh --- */

/*
 * The first of a page's entries that has a key: the pivot before all keys has
 * none.
 */
static int
first_with_key(const FpbIndex *ix, const FpbEntry *entries, int nentries)
{
	return nentries > 0 && fpb_pivot_natts(ix, entries[0].key.tuple) == 0 ? 1 : 0;
}

/*
 * The prefix of the leaf that a leaf's entries come from; 0 if they come from
 * none, or from one that has none.
 */
static int
prefix_before(const FpbIndex *ix, const FpbPageContent *content)
{
	for (int i = 0; i < content->nentries; i++)
		if (content->entries[i].key.cut_in != NULL)
			return fpb_page_prefix(ix, content->entries[i].key.cut_in);
	return 0;
}

/*
 * Where heads are made of sort keys: shall a leaf being made keep the prefix
 * of the one that its entries come from, so that its heads need not be made
 * again?  All that will be between its fences (or its low fence and its last
 * entry) has to begin with that prefix, and heads to differ in their first
 * bytes.
 */
static bool
heads_stay(const FpbIndex *ix, const FpbPageContent *content)
{
	const FpbEntry *entries = content->entries;
	bool		has_high = content->high != NULL && content->high->tuple != NULL;
	int			first = 0;
	int			last = content->nentries - 1;
	int			prefix = prefix_before(ix, content);
	IndexTuple	greatest = has_high ? content->high->tuple : entries[last].key.tuple;
	IndexTuple	other;

	if (prefix == 0 || ix->old_heads)
		return false;
	while (entries[first].key.cut_in == NULL)
		first++;
	while (entries[last].key.cut_in == NULL)
		last--;
	if ((entries[first].key.head ^ entries[last].key.head) >> (64 - BITS_PER_BYTE * HEAD_BYTES_ALIKE) == 0)
		return false;
	other = entries[first].key.tuple;
	return fpb_has_prefix(ix, content->low->tuple, prefix, other) &&
		fpb_has_prefix(ix, greatest, prefix, other);
}

/*
 * The prefix of a leaf being made.
 *
 * A lasting one is what all keys between its fences have in common, so that
 * whatever is inserted has it.  Without a high fence, or with one that is
 * elided, it is what its entries and its low fence have, less some bytes, so
 * that entries that come behind those are likely to have it.  (No entry can
 * come between the low fence and the first one that lacks what these have in
 * common.)  So it is if that is much more than the fences have, as it is where
 * the next leaf's keys have another value in the first column.
 */
static int
leaf_prefix(const FpbIndex *ix, const FpbPageContent *content, FpbPrefixChoice choice)
{
	const FpbEntry *last = &content->entries[content->nentries - 1];
	FpbTupleSpace space;
	int			fences = 0;
	int			common;

	if (content->low == NULL || content->nentries == 0)
		return 0;
	if (fpb_has_sort_keys(ix) && heads_stay(ix, content))
		return prefix_before(ix, content);
	if (choice == FPB_PREFIX_LASTING && content->high != NULL && content->high->tuple != NULL)
	{
		fences = fpb_common_prefix(ix, content->low->tuple, content->high->tuple);
		if (ix->cut_most == 0)
			return fences;
	}
	else if (ix->cut_most == 0 && !fpb_has_sort_keys(ix))
		return 0;
	common = fpb_common_prefix(ix, content->low->tuple, fpb_whole_tuple(ix, &last->key, &space));
	switch (choice)
	{
		case FPB_PREFIX_LASTING:
			return common - PREFIX_SPARED >= fences + PREFIX_GAINED ? common - PREFIX_SPARED : fences;
		case FPB_PREFIX_LONGEST:
			return common;
		case FPB_PREFIX_KEPT:
			return Min(prefix_before(ix, content), common);
	}
	pg_unreachable();
}

/*
 * The prefix of an inner page being made: its fences may be missing or elided,
 * so it is what its first and last keys have in common.
 */
static int
inner_prefix(const FpbIndex *ix, const FpbPageContent *content)
{
	const FpbEntry *entries = content->entries;
	int			first = first_with_key(ix, entries, content->nentries);
	int			last = content->nentries - 1;

	return first >= last ? 0 :
		fpb_common_prefix(ix, entries[first].key.tuple, entries[last].key.tuple);
}

/*
 * Memory for the tuples of a leaf's entries, cut: none is longer than it is
 * whole.
 */
static char *
room_for_cut(const FpbIndex *ix, const FpbPageContent *content)
{
	Size		room = 0;

	if (content->level > 0 || ix->cut_most == 0)
		return NULL;
	for (int i = 0; i < content->nentries; i++)
	{
		const FpbKey *key = &content->entries[i].key;

		if (i > 0 && key->tuple == content->entries[i - 1].key.tuple)
			continue;
		room += fpb_whole_most(ix, key);
	}
	return palloc(room);
}

/*
 * Make of an entry's key what it is in a page with this prefix, which begins
 * the other bytes, if there are any.  If the page's tuples are cut, the new
 * one is stored behind *to.  Then *to is behind that.  Raises an error if the
 * key does not begin with the prefix, as it does unless it comes from a
 * damaged page.
 */
static void
fit_entry(const FpbIndex *ix, FpbKey *key, int prefix, const FpbKeyBytes *others,
		  FpbJoiner *joiner, char **to)
{
	FpbTupleSpace *space = (FpbTupleSpace *) *to;
	IndexTuple	stored = key->tuple;

	if (key->cut_in != NULL)
	{
		key->tuple = fpb_join_next(ix, key, joiner);
		key->head = fpb_key_head(ix, key);
	}
	if (unlikely(!fpb_fit_key(ix, key, prefix, others, *to != NULL, space)))
		fpb_report_damage(ix->rel, fpb_cache_block(ix->cache, stored),
						  "The keys do not begin with the page's prefix.");
	if (key->tuple == stored)
		return;
	if (key->tuple != &space->header)
		fpb_copy_bytes(space, key->tuple, IndexTupleSize(key->tuple));
	key->tuple = &space->header;
	*to += MAXALIGN(IndexTupleSize(key->tuple));
}

/*
 * The prefix of a page being made, by this choice.
 */
static int
choose_prefix(const FpbIndex *ix, const FpbPageContent *content, FpbPrefixChoice choice)
{
	if (fpb_is_word(ix) || !ix->byte_heads)
		return 0;
	return content->level > 0 ? inner_prefix(ix, content) : leaf_prefix(ix, content, choice);
}

/*
 * Make entries what they are in a page with this prefix.
 */
static void
set_prefix(const FpbIndex *ix, FpbPageContent *content, int prefix)
{
	const FpbEntry *entries = content->entries;
	IndexTuple	low = content->low == NULL ? NULL : content->low->tuple;
	FpbEntry   *behind;
	FpbKeyBytes low_bytes;
	FpbKeyBytes *others = NULL;
	FpbJoiner	joiner;
	char	   *to;
	int			first;

	content->prefix = prefix;
	content->prefix_head = 0;
	content->cut = NULL;
	if (prefix == 0 && (content->level > 0 || (ix->cut_most == 0 && !fpb_has_sort_keys(ix))))
		return;

	first = content->level > 0 ? first_with_key(ix, entries, content->nentries) : 0;
	if (prefix > 0)
		content->prefix_head = entries[first].key.head;
	content->cut = to = room_for_cut(ix, content);
	behind = palloc(sizeof(FpbEntry) * content->nentries);
	memcpy(behind, entries, sizeof(FpbEntry) * content->nentries);
	if (prefix > 0 && content->cut != NULL)
	{
		fpb_prefix_bytes(ix, low, prefix, &low_bytes);
		others = &low_bytes;
	}
	joiner.there.page = NULL;
	for (int i = first; i < content->nentries; i++)
	{
		FpbKey	   *key = &behind[i].key;

		if (i > 0 && key->tuple == entries[i - 1].key.tuple)
		{
			key->head = behind[i - 1].key.head;
			key->tuple = behind[i - 1].key.tuple;
		}
		/* the bytes of equally long prefixes are the same */
		else if (key->cut_in == NULL || fpb_page_prefix(ix, key->cut_in) != prefix)
			fit_entry(ix, key, prefix, others, &joiner, &to);
		key->cut_in = NULL;
	}
	if (others != NULL)
		fpb_free_bytes(others);
	content->entries = behind;
}

/*
 * See page/layout.h.
 */
void
fpb_choose_prefix(const FpbIndex *ix, FpbPageContent *content, FpbPrefixChoice choice)
{
	set_prefix(ix, content, choose_prefix(ix, content, choice));
}

/*
 * Free what that has allocated; entries: those that the content had before.
 */
void
fpb_forget_prefix(FpbPageContent *content, const FpbEntry *entries)
{
	if (content->cut != NULL)
		pfree(content->cut);
	if (content->entries != entries)
		pfree(unconstify(FpbEntry *, content->entries));
	content->entries = entries;
}

/*
 * See page/layout.h.
 */
bool
fpb_page_build_spread(const FpbIndex *ix, Page page, const FpbPageContent *content,
					  const int *slacks, int nslacks)
{
	FpbPageContent here[FPB_PREFIX_KEPT + 1];	/* with each prefix */
	int			nchosen = 0;
	FpbPrefixChoice last = content->level == 0 && ix->cut_most > 0 ? FPB_PREFIX_KEPT :
		FPB_PREFIX_LASTING;
	bool		fits = false;

	for (int i = 0; i < nslacks && !fits; i++)
	{
		FpbPrefixChoice most = slacks[i] > LASTING_SLACK ? FPB_PREFIX_LASTING : last;

		for (FpbPrefixChoice choice = FPB_PREFIX_LASTING; choice <= most && !fits; choice++)
		{
			if (choice == nchosen)
			{
				int			prefix = choose_prefix(ix, content, choice);

				here[nchosen] = *content;
				if (choice == FPB_PREFIX_LASTING || prefix != here[choice - 1].prefix)
					set_prefix(ix, &here[nchosen], prefix);
				else
					here[nchosen].prefix = prefix;
				nchosen++;
			}
			if (choice == FPB_PREFIX_LASTING || here[choice].prefix != here[choice - 1].prefix)
				fits = ix->layout->build(ix, page, &here[choice], slacks[i]);
		}
	}
	while (nchosen > 0)
		fpb_forget_prefix(&here[--nchosen], content->entries);
	return fits;
}

/*
 * See page/layout.h.
 */
bool
fpb_page_build(const FpbIndex *ix, Page page, const FpbPageContent *content, int slack)
{
	return fpb_page_build_spread(ix, page, content, &slack, 1);
}

/*
 * See page/layout.h.
 */
void
fpb_page_frame(const FpbIndex *ix, Page page, FpbKey *low, FpbKey *high,
			   FpbPageContent *content)
{
	const FpbPageHeader *hdr = FpbHdr(page);

	memset(content, 0, sizeof(*content));
	content->level = hdr->level;
	content->flags = hdr->flags;
	content->right = hdr->right;
	if (!FpbPageIsLeftmost(page))
	{
		fpb_page_low(ix, page, low);
		content->low = low;
	}
	if (!FpbPageIsRightmost(page))
	{
		fpb_page_high(ix, page, high);
		content->high = high;
	}
}

/*
 * Make plan->image of the page with these entries, with slack of a hundred
 * slots free.  elide: without its high fence.  False if they don't fit so.
 */
static bool
rebuild(const FpbIndex *ix, Page page, const FpbEntry *entries, int nentries,
		int slack, bool elide, FpbInsertPlan *plan)
{
	FpbPageContent content;
	FpbKey		low;
	FpbKey		high;

	fpb_page_frame(ix, page, &low, &high, &content);
	if (elide)
		high.tuple = NULL;
	content.entries = entries;
	content.nentries = nentries;
	return fpb_page_build(ix, plan->image->data, &content, slack);
}

/*
 * All entries of the page, with a new one among them before pos, in a palloc'd
 * array.
 */
static FpbEntry *
collect_with(const FpbIndex *ix, Page page, const FpbEntry *entry, FpbPos pos, int *nentries)
{
	FpbEntry   *entries = palloc(sizeof(FpbEntry) * (FPB_MAX_PAGE_ENTRIES + 1));

	(void) fpb_page_entries_with(ix, page, entry, &pos, entries, NULL, nentries);
	return entries;
}

/*
 * See page/layout_common.h.
 */
FpbEntry *
fpb_collect_with(const FpbIndex *ix, Page page, const FpbEntry *entry,
				 FpbPos pos, int *nentries)
{
	FpbEntry	whole = *entry;

	(void) fpb_with_whole_head(ix, page, true, &whole);
	return collect_with(ix, page, &whole, pos, nentries);
}

/*
 * How full a leaf is, in percent, by the entries that have been read there.
 * An estimate: each fence counts as the longest entry.
 */
int
fpb_items_fullness(const FpbIndex *ix, const FpbItem *items, int nitems)
{
	Size		slot = ix->layout->slot_space(ix, true, nitems == 0 ? 0 :
											  items[nitems - 1].key.head - items[0].key.head);
	Size		longest = 0;
	Size		used = 0;

	for (int i = 0; i < nitems; i++)
	{
		IndexTuple	tuple = items[i].key.tuple;
		Size		size = slot + (tuple == NULL ? 0 : IndexTupleSize(tuple));

		/* one of the same posting, or run of a runs node */
		if (i > 0 && (tuple != NULL ? tuple == items[i - 1].key.tuple :
					  ix->word_runs && fpb_keys_identical(ix, &items[i - 1].key, &items[i].key)))
			size = fpb_tail_width(items[i].key.tail);
		used += size;
		longest = Max(longest, size);
	}
	return Min((int) (100 * (used + 2 * longest) / BLCKSZ), 100);
}

/*
 * See page/layout_common.h.
 */
void
fpb_plan_rebuild(const FpbIndex *ix, Page page, const FpbEntry *entries,
				 int nentries, int slack, int few, FpbInsertPlan *plan)
{
	plan->outcome = FPB_PLAN_REBUILD;
	plan->image = palloc_aligned(sizeof(PGAlignedBlock), PG_IO_ALIGN_SIZE, 0);
	if (!rebuild(ix, page, entries, nentries, slack, false, plan) &&
		!(nentries <= few && (rebuild(ix, page, entries, nentries, 0, false, plan) ||
							  (!FpbPageIsRightmost(page) &&
							   rebuild(ix, page, entries, nentries, 0, true, plan)))))
	{
		plan->outcome = FPB_PLAN_FULL;
		pfree(plan->image);
		plan->image = NULL;
		return;
	}
	fpb_page_take_over_child_hints(ix, plan->image->data, page);
}

/*
 * See page/layout.h.  If an image of the page is logged anyway, the rebuild
 * that it would need some insertions later is free now, and the image no
 * larger than it must be.
 */
bool
fpb_page_plan_reorganise(const FpbIndex *ix, Page page, const FpbEntry *entry,
						 FpbPos pos, FpbInsertPlan *plan)
{
	FpbEntry   *entries;
	int			n;
	int			most = FpbPageIsQueue(page) ? QUEUE_SLACK : SLACK;

	plan->outcome = FPB_PLAN_FULL;
	entries = collect_with(ix, page, entry, pos, &n);
	for (int i = 0; i < lengthof(reorganise_slacks) && plan->outcome == FPB_PLAN_FULL; i++)
		if (reorganise_slacks[i] <= most)
			fpb_plan_rebuild(ix, page, entries, n, reorganise_slacks[i], 0, plan);
	pfree(entries);
	return plan->outcome == FPB_PLAN_REBUILD;
}

/*
 * A tuple of a page with a prefix, which begins with that.  NULL if only the
 * pivot before all keys is left of the page's entries.
 */
static IndexTuple
tuple_with_prefix(const FpbIndex *ix, Page page)
{
	FpbPos		end = FPB_POS_END;
	FpbEntry	last;

	if (!FpbPageIsLeftmost(page))
		return fpb_page_tuple(ix, page, (uint32) Min(FpbHdr(page)->fences.tail[FPB_LOW], BLCKSZ));
	if (!ix->layout->prev(ix, page, &end, &last))
		fpb_page_damaged(ix, page, "A page with a prefix is empty.");
	return fpb_pivot_natts(ix, last.key.tuple) == 0 ? NULL : last.key.tuple;
}

/*
 * Does the whole head of a value, which is not NULL, tell that it begins with
 * the page's prefix?  Then no tuple is looked at, which often waits for
 * memory.  A head of fewer bytes is filled up, so it tells nothing if the
 * prefix ends with what fills it up.
 */
static inline bool
head_has_prefix(const FpbIndex *ix, Page page, int prefix, uint64 head)
{
	uint64		low = FpbHdr(page)->fences.head[FPB_LOW];
	int			shift;

	if (prefix > ix->head_width || FpbPageIsLeftmost(page))
		return false;
	shift = 64 - BITS_PER_BYTE * prefix;
	return (head ^ low) >> shift == 0 &&
		(prefix <= ix->first_size || (uint8) (low >> shift) != (fpb_inverts_heads(ix) ? 0xFF : 0));
}

/*
 * The side of a leaf on which a search key lies: 0 if it is between the
 * fences, which the leaf has.
 */
static int
side_of_leaf(const FpbIndex *ix, Page page, const FpbSearchKey *search)
{
	if (fpb_compare_low(ix, page, search) > 0)
		return -1;
	return fpb_compare_high(ix, page, search) < 0 ? 1 : 0;
}

/*
 * Do a leaf's fences tell that a key has the prefix?  That is what they have
 * in common, where heads are made of sort keys (fpb_page_plan_extend sees to
 * it), and comparators are faster than these.
 */
static inline bool
fences_tell_prefix(const FpbIndex *ix, Page page)
{
	return fpb_has_sort_keys(ix) && FpbPageIsLeaf(page) && !FpbPageIsRightmost(page) &&
		!FpbPageHighElided(page);
}

/*
 * See page/layout.h: the head of a search key in a page with a prefix.
 */
uint64
fpb_search_head_in(const FpbIndex *ix, Page page, const FpbSearchKey *search)
{
	int			prefix = fpb_page_prefix(ix, page);
	IndexTuple	other;

	if (!search->has_head)
		return search->head;
	if (search->ncols > 0 && !search->cols[0].isnull &&
		head_has_prefix(ix, page, prefix, search->head))
		return fpb_search_head_behind(ix, search, prefix, NULL);
	if (fences_tell_prefix(ix, page))
	{
		int			side = side_of_leaf(ix, page, search);

		if (side == 0)
			return fpb_search_head_behind(ix, search, prefix, NULL);
		return side < 0 ? 0 : fpb_greatest_head(ix);
	}
	other = tuple_with_prefix(ix, page);
	return other == NULL ? 0 :
		fpb_search_head_behind(ix, search, prefix, other);
}

/*
 * Is a key, whose tuple is whole, and which belongs to this page, known to
 * begin with its prefix?
 */
static bool
must_have_prefix(const FpbIndex *ix, Page page, const FpbKey *key, int prefix)
{
	return prefix == 0 || fences_tell_prefix(ix, page) ||
		(!IndexTupleHasNulls(key->tuple) && head_has_prefix(ix, page, prefix, key->head));
}

/*
 * Make of such a key what it is in this page.  Its tuple is in *space if it is
 * cut.  False if the key does not begin with the page's prefix.
 */
static bool
fit_key(const FpbIndex *ix, Page page, FpbKey *key, FpbTupleSpace *space)
{
	int			prefix = fpb_page_prefix(ix, page);
	bool		cut = FpbPageIsLeaf(page) && ix->cut_most > 0;
	FpbKeyBytes others;
	IndexTuple	other;
	bool		fits;

	if (must_have_prefix(ix, page, key, prefix))
		fits = fpb_fit_key(ix, key, prefix, NULL, cut, space);
	else
	{
		other = tuple_with_prefix(ix, page);
		if (other == NULL)
			return false;
		fpb_prefix_bytes(ix, other, prefix, &others);
		fits = fpb_fit_key(ix, key, prefix, &others, cut, space);
		fpb_free_bytes(&others);
	}
	return fits;
}

/*
 * The head of the entry before a place, as it is in the page; in front of the
 * first one, the least.
 */
static uint64
head_before(const FpbIndex *ix, Page page, FpbPos pos)
{
	int			prefix = fpb_page_prefix(ix, page);
	FpbEntry	before;

	if (ix->layout->prev(ix, page, &pos, &before))
		return before.key.head;
	return prefix < ix->head_width ? least_head(page) << (BITS_PER_BYTE * prefix) : 0;
}

/*
 * Has an inner page no prefix, and all its heads are the same, but its keys
 * have something in common?  The first page above the leaves is made when it
 * has one key, which has nothing in common with others.
 */
static bool
could_have_prefix(const FpbIndex *ix, Page page)
{
	FpbPos		begin = FPB_POS_FIRST;
	FpbPos		end = FPB_POS_END;
	FpbEntry	first;
	FpbEntry	last;

	if (!ix->layout->next(ix, page, &begin, &first) || !ix->layout->prev(ix, page, &end, &last))
		return false;
	if (fpb_pivot_natts(ix, first.key.tuple) == 0)
	{
		begin = fpb_pos_behind(begin);
		if (!ix->layout->next(ix, page, &begin, &first))
			return false;
	}
	return first.key.head == last.key.head && first.key.tuple != last.key.tuple &&
		fpb_common_prefix(ix, first.key.tuple, last.key.tuple) > 0;
}

/*
 * Plan to make a page afresh, with the prefix that its entries have with the
 * new one.
 */
static void
plan_other_prefix(const FpbIndex *ix, Page page, const FpbEntry *entry, FpbPos pos,
				  FpbInsertPlan *plan)
{
	int			n;
	FpbEntry   *entries = collect_with(ix, page, entry, pos, &n);

	fpb_plan_rebuild(ix, page, entries, n, PREFIX_SLACK, FPB_FEW_CHILDREN, plan);
	pfree(entries);
}

/*
 * See page/layout.h.  An entry without the page's prefix, which is rare, has
 * the page made afresh, with a shorter one or none.
 */
void
fpb_page_plan_insert(const FpbIndex *ix, Page page, const FpbEntry *entry,
					 FpbPos pos, FpbInsertPlan *plan)
{
	FpbEntry	here = *entry;

	plan->takes_room = plan->cut = false;
	if (unlikely(ix->old_heads))
		here.key.head = head_before(ix, page, pos);
	else if (!fpb_is_word(ix))
	{
		if (ix->byte_heads && !FpbPageIsLeaf(page) && fpb_page_prefix(ix, page) == 0 &&
			could_have_prefix(ix, page))
		{
			plan_other_prefix(ix, page, entry, pos, plan);
			if (plan->outcome == FPB_PLAN_REBUILD)
				return;
		}
		if (!fit_key(ix, page, &here.key, &plan->space))
		{
			plan_other_prefix(ix, page, entry, pos, plan);
			return;
		}
		plan->cut = here.key.tuple != entry->key.tuple;
	}
	if (!fpb_is_word(ix) && FpbPageIsLeaf(page))
		here.key.cut_in = fpb_cut_in(ix, page);
	plan->head = here.key.head;
	ix->layout->plan_insert(ix, page, &here, pos, plan);
}

/*
 * See page/layout.h.
 */
FpbPos
fpb_page_insert(const FpbIndex *ix, Page page, const FpbEntry *entry,
				const FpbInsertPlan *plan, FpbWalPage *wp)
{
	FpbEntry	here = *entry;

	switch (plan->outcome)
	{
		case FPB_PLAN_FITS:
			here.key.head = plan->head;
			if (plan->cut)
				here.key.tuple = (IndexTuple) &plan->space.header;
			if (!fpb_is_word(ix) && FpbPageIsLeaf(page))
				here.key.cut_in = fpb_cut_in(ix, page);
			return ix->layout->insert(ix, page, &here, plan, wp);
		case FPB_PLAN_REBUILD:
			fpb_page_replace(page, plan->image->data, wp);
			return FPB_POS_FIRST;
		case FPB_PLAN_FULL:
			elog(PANIC, "insertion into a full fpbtree page");
	}
	pg_unreachable();
}

/*
 * See page/layout_common.h.
 */
void
fpb_free_last_tuples(Page page, uint32 least, FpbWalPage *wp)
{
	FpbPageHeader *hdr = FpbHdr(page);
	uint32		old = hdr->pd.pd_upper;
	uint32		upper = least;

	if (!FpbPageIsLeftmost(page))
		upper = Min(upper, (uint32) hdr->fences.tail[FPB_LOW]);
	if (!FpbPageIsRightmost(page) && !FpbPageHighElided(page))
		upper = Min(upper, (uint32) hdr->fences.tail[FPB_HIGH]);
	if (upper <= old)
		return;
	hdr->pd.pd_upper = upper;
	fpb_wal_note(wp, &hdr->pd.pd_upper, sizeof(hdr->pd.pd_upper));
	memset((char *) page + old, 0, upper - old);
}

/* --- fences --- */

/*
 * Does a page's prefix stay what its fences have in common, if it is given
 * this high fence?
 */
static bool
keeps_prefix(const FpbIndex *ix, Page page, const FpbKey *high)
{
	int			prefix = fpb_page_prefix(ix, page);
	IndexTuple	other;

	if (prefix == 0)
		return true;
	if (ix->old_heads)
		return false;
	other = tuple_with_prefix(ix, page);
	return other != NULL && fpb_has_prefix(ix, high->tuple, prefix, other);
}

/*
 * See page/layout.h.
 */
bool
fpb_page_plan_extend(const FpbIndex *ix, Page page, const FpbKey *high)
{
	if (high == NULL || high->tuple == NULL)
		return true;
	return (!fpb_has_sort_keys(ix) || keeps_prefix(ix, page, high)) &&
		ix->layout->has_room(ix, page, high);
}

/*
 * See page/layout.h.
 */
void
fpb_page_extend(const FpbIndex *ix, Page page, const FpbKey *high,
				BlockNumber right, FpbWalPage *wp)
{
	FpbPageHeader *hdr = FpbHdr(page);

	hdr->right = right;
	hdr->flags &= ~FPB_HIGH_ELIDED;
	if (high == NULL)
		hdr->flags |= FPB_RIGHTMOST;
	else
	{
		uint64		tail = 0;

		/*
		 * the fence that the page has had, or had once, takes no room any
		 * more
		 */
		if (!fpb_is_word(ix))
			hdr->fences.tail[FPB_HIGH] = 0;
		if (fpb_high_elided(ix, high))
			hdr->flags |= FPB_HIGH_ELIDED;
		else
			tail = fpb_is_word(ix) ? high->tail : ix->layout->put_tuple(ix, page, high, wp);
		fpb_set_fence(page, FPB_HIGH, high, tail);
	}
	fpb_wal_note(wp, (char *) page + offsetof(FpbPageHeader, magic),
				 sizeof(FpbPageHeader) - offsetof(FpbPageHeader, magic));
}

/* --- what is wrong with a page --- */

/*
 * What is wrong with the structure of a page, or NULL: what every layout has
 * in common, then what this one says.
 */
const char *
fpb_page_fault(const FpbIndex *ix, Page page)
{
	if (FpbPageIsRightmost(page) && FpbPageSplitIncomplete(page))
		return "The rightmost page is marked as incompletely split.";
	if (fpb_is_word(ix) && FpbHdr(page)->pd.pd_upper != BLCKSZ)
		return "The page has tuples, which it may not have.";
	if (FpbPageHighElided(page) && fpb_is_word(ix))
		return "The page has no high fence to elide.";
	if (!fpb_is_word(ix) &&
		(FpbHdr(page)->fences.low[FPB_LOW] > fpb_page_prefix(ix, page) ||
		 (fpb_page_prefix(ix, page) > 0 && FpbPageIsLeaf(page) && FpbPageIsLeftmost(page))))
		return "The page has a prefix, which it may not have.";
	return ix->layout->fault(ix, page);
}

/*
 * What is wrong with the prefix of a page that has one, or with heads behind
 * it; or NULL.
 */
static const char *
prefix_fault(const FpbIndex *ix, Page page, const FpbEntry *entries, int nentries)
{
	int			prefix = fpb_page_prefix(ix, page);
	int			first = first_with_key(ix, entries, nentries);
	FpbPos		pos = FPB_POS_FIRST;
	FpbEntry	entry;
	IndexTuple	other = tuple_with_prefix(ix, page);
	FpbTupleSpace space;

	for (int i = first; i < nentries; i++)
		if (other == NULL ||
			!fpb_has_prefix(ix, fpb_whole_tuple(ix, &entries[i].key, &space), prefix, other))
			return "The keys do not begin with the page's prefix.";
	if (fences_tell_prefix(ix, page))
	{
		FpbKey		high;

		fpb_page_high(ix, page, &high);
		if (!fpb_has_prefix(ix, high.tuple, prefix, other))
			return "The high fence does not begin with the page's prefix.";
	}
	for (int i = 1; ix->layout->next(ix, page, &pos, &entry); i++, pos = fpb_pos_behind(pos))
		if (entry.key.head != fpb_head_behind(ix, fpb_whole_tuple(ix, &entry.key, &space), prefix))
			return psprintf("The head of entry %d is not that of its values.", i);
	return NULL;
}

/*
 * Does a tuple have the head that its values give it?  Old heads can't be
 * told.
 */
static bool
head_is_right(const FpbIndex *ix, const FpbKey *key, bool pivot)
{
	Datum		values[INDEX_MAX_KEYS];
	bool		isnull[INDEX_MAX_KEYS];
	int			natts = pivot ? fpb_pivot_natts(ix, key->tuple) : ix->nkeyatts;
	FpbTupleSpace space;
	uint64		head;

	if (ix->old_heads)
		return true;
	fpb_tuple_datums(ix, fpb_whole_tuple(ix, key, &space), natts, values, isnull);
	(void) fpb_head_of(ix, values, isnull, natts, false, &head);
	return head == fpb_key_head(ix, key);
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
 * must be between them; or NULL.  An elided fence is not known but for its
 * head.
 */
static const char *
range_fault(const FpbIndex *ix, Page page, const FpbEntry *entries, int nentries)
{
	bool		leaf = FpbPageIsLeaf(page);
	FpbSearchKey search;
	FpbKey		fence;

	if (!FpbPageIsLeftmost(page))
	{
		fpb_page_low(ix, page, &fence);
		if (!fpb_is_word(ix) && !head_is_right(ix, &fence, true))
			return "The head of the low fence is not that of its values.";
		fpb_search_key_from(ix, &fence, &search);
		if (FpbPageHighElided(page) ? FpbHdr(page)->fences.head[FPB_HIGH] < fence.head :
			fpb_compare_high(ix, page, &search) <= 0)
			return "The high fence is not above the low fence.";
		if (leaf && nentries > 0 && fpb_compare(ix, &entries[0].key, &search) < 0)
			return "The first entry is below the low fence.";
		if (!leaf && fpb_compare(ix, &entries[0].key, &search) != 0)
			return "The first child's key is not the low fence.";
	}
	else if (!leaf && !is_minus_infinity(ix, &entries[0].key))
		return "The first child's key is not minus infinity.";
	if (FpbPageHighElided(page))
	{
		if (nentries > 0 && fpb_key_head(ix, &entries[nentries - 1].key) > FpbHdr(page)->fences.head[FPB_HIGH])
			return "The last entry is not below the high fence.";
	}
	else if (!FpbPageIsRightmost(page))
	{
		fpb_page_high(ix, page, &fence);
		if (!fpb_is_word(ix) && !head_is_right(ix, &fence, true))
			return "The head of the high fence is not that of its values.";
		fpb_search_key_from(ix, &fence, &search);
		if (nentries > 0 && fpb_compare(ix, &entries[nentries - 1].key, &search) >= 0)
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

	if (fault == NULL && fpb_page_prefix(ix, page) > 0 && !ix->old_heads)
		fault = prefix_fault(ix, page, entries, nentries);
	if (fault != NULL)
		return fault;
	for (int i = 0; i < nentries; i++)
	{
		const FpbKey *key = &entries[i].key;

		if (i > 0 && (fpb_compare_keys(ix, &entries[i - 1].key, key) >= 0 ||
					  !fpb_comparators_agree(ix, &entries[i - 1].key, key)))
			return psprintf("Entries %d and %d are out of order.", i, i + 1);
		if (!fpb_is_word(ix) && !(i > 0 && key->tuple == entries[i - 1].key.tuple) &&
			!head_is_right(ix, key, !leaf))
			return psprintf("The head of entry %d is not that of its values.", i + 1);
		if (fpb_is_word(ix) && leaf && !words_are_right(ix, key))
			return psprintf("The words of entry %d are not those of its values.", i + 1);
	}
	return NULL;
}
