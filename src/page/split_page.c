/*-------------------------------------------------------------------------
 *
 * page/split_page.c
 *	  Working out a page split: where, and what the two pages look like.
 *
 * Both pages are made in memory of the caller's, so anything here may raise an
 * error; tree/split.c puts them in place.  The layout says how much room
 * entries take, and cuts off those behind a position.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "common/hashfn.h"

#include "key/posting.h"
#include "key/tuple.h"
#include "page/layout_common.h"

/*
 * Slots of a hundred to leave free in the nodes of a page just split: the
 * first of these that fits.  So all nodes are in use from the start, and need
 * not be split one after the other as they fill.
 */
static const int split_slacks[] = {50, 40, 30, 20, 10, 5, 0};

/* and at most, if the halves are to be packed (packed_halves) */
#define PACKED_HALF_SLACK	5

/* pages to be filled by entries that are known are filled to this, in percent */
#define MOST_FULL	95

/* a page split being worked out */
typedef struct Split
{
	const FpbIndex *ix;
	Page		page;			/* the page to be split */
	BlockNumber right;			/* the block to be its right sibling */
	const FpbEntry *entry;		/* the new entry */
	FpbEntry   *entries;		/* all entries, the new one among them */
	FpbPos	   *places;			/* theirs in the page, and the one behind all */
	int			nentries;
	int			newpos;			/* which is the new one */
	uint16	   *weights;		/* bytes that each takes, see entry_weight */
	Size		total;			/* and all of them */
	const FpbSplitAim *aim;
	bool		ascending;		/* does the new entry belong to a series? */
	Size		slot_space;		/* bytes of a node for each of its slots */
	FpbKey	   *low;			/* the page's fences, or NULL */
	FpbKey	   *high;
	FpbHalves	halves;
	bool		first_key;		/* leaves: is the right page's first entry to
								 * be the separator? */
	bool		elide;			/* may high fences be elided? */
	FpbWalPage *left_page;		/* changed in a copy */
	FpbWalPage *right_page;
} Split;

/* --- where to split --- */

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
 * Are the i'th entry and the one before of one key, which they share?  Those
 * that have been in the page have the same head then.
 */
static bool
same_run(const Split *s, int i)
{
	const FpbEntry *before = &s->entries[i - 1];
	const FpbEntry *entry = &s->entries[i];

	if ((s->ix->max_posting == 0 && !s->ix->word_runs) || !FpbPageIsLeaf(s->page) ||
		i == 0 || i == s->nentries ||
		(before->key.head != entry->key.head && before->key.cut_in == entry->key.cut_in))
		return false;
	return (s->ix->word_runs || fpb_posting_most(s->ix, entry->key.tuple, FPB_TAIL_BYTES) > 1) &&
		fpb_keys_identical(s->ix, &before->key, &entry->key);
}

/*
 * Bytes that the i'th entry takes of a page, its share of a node included.
 */
static Size
entry_weight(const Split *s, int i)
{
	const FpbEntry *entry = &s->entries[i];
	Size		weight = s->slot_space;

	/* (never mind the longest runs, which are several postings) */
	if (same_run(s, i))
		return fpb_tail_width(entry->key.tail);
	if (!fpb_is_word(s->ix))
		weight += IndexTupleSize(entry->key.tuple);
	return weight;
}

/*
 * Set s->weights and s->total.
 */
static void
weigh_entries(Split *s)
{
	s->total = 0;
	for (int i = 0; i < s->nentries; i++)
		s->total += s->weights[i] = entry_weight(s, i);
}

/*
 * Is the new entry the last of a run that takes most of the page?  Then more
 * of the key are likely to come, there, as a table grows at its end.
 */
static bool
ends_long_run(const Split *s)
{
	int			start = s->newpos;

	if (same_run(s, s->newpos + 1))
		return false;
	while (same_run(s, start))
		start--;
	return (s->newpos - start) * fpb_tail_width(s->entry->key.tail) > BLCKSZ * 3 / 4;
}

/*
 * Does the new entry look like one of a series of ascending keys?  (nbtree's
 * rules are much like these.)
 *
 * On the last page of a level it does, even if it is not quite the last entry.
 *
 * In other leaves a series may be one of many, told apart by the first column
 * (or by the whole key: duplicates ascend in their TIDs).  The new entry has
 * to share this column with the entry just before it.  Besides, it has to be
 * the page's last, or that entry's row has to have been inserted just before.
 * Otherwise rows with few different values in this column would look like
 * series.
 */
static bool
is_ascending(const Split *s)
{
	const FpbEntry *entries = s->entries;
	int			newpos = s->newpos;
	bool		last = newpos == s->nentries - 1;

	if (FpbPageIsRightmost(s->page))
		return true;
	if (!FpbPageIsLeaf(s->page) || newpos == 0)
		return false;

	/* where one key's entries are several, each key's are a series */
	if (same_run(s, newpos))
		return ends_long_run(s);
	return (last || tids_adjacent(entries[newpos - 1].key.tail, entries[newpos].key.tail)) &&
		fpb_keys_share_prefix(s->ix, &entries[newpos - 1].key, &entries[newpos].key);
}

/*
 * Move a split before the i'th entry out of the run in whose midst it may be:
 * to the nearer end of the run that leaves a sixteenth of the page on either
 * side.  So a key stays on one page as long as that has room for it.
 */
static int
beside_run(const Split *s, int i)
{
	int			start = i;
	int			end = i;
	Size		before = 0;		/* the run, and up to its end */
	Size		within = 0;
	bool		start_fits;
	bool		end_fits;

	while (same_run(s, start))
		start--;
	while (same_run(s, end))
		end++;
	for (int k = 0; k < start; k++)
		before += s->weights[k];
	for (int k = start; k < end; k++)
		within += s->weights[k];
	start_fits = start > 0 && before >= s->total / 16;
	end_fits = end < s->nentries && before + within <= s->total - s->total / 16;
	if (start_fits && (!end_fits || i - start <= end - i))
		return start;
	return end_fits ? end : i;
}

/* Have two entries the same value in the first column? */
static bool
same_group(const Split *s, int a, int b)
{
	int			order;

	return fpb_equal_columns(s->ix, &s->entries[a].key, &s->entries[b].key, 1, &order) == 1;
}

/*
 * The first entry of the group of entries with one value in the first column
 * that the i'th is in; or the one behind the group's last.
 */
static int
end_of_group(const Split *s, int i, bool last)
{
	int			in = i;
	int			out = last ? s->nentries : -1;

	while (abs(out - in) > 1)
	{
		int			mid = (in + out) / 2;

		if (same_group(s, mid, i))
			in = mid;
		else
			out = mid;
	}
	return last ? out : in;
}

/*
 * Where keys have the bytes of two columns: move a split before the i'th
 * entry, amid those with one value in the first column, to the nearer end of
 * these that leaves a quarter of the page on either side.  A page whose
 * entries all have one value has all of that in its prefix.
 */
static int
beside_group(const Split *s, int i)
{
	Size		before = 0;		/* the group, and up to its end */
	Size		within = 0;
	int			start;
	int			end;
	bool		start_fits;
	bool		end_fits;

	if (fpb_is_word(s->ix) || s->ix->second == FPB_SECOND_NONE || !same_group(s, i - 1, i))
		return i;
	start = end_of_group(s, i, false);
	end = end_of_group(s, i, true);
	for (int k = 0; k < start; k++)
		before += s->weights[k];
	for (int k = start; k < end; k++)
		within += s->weights[k];
	start_fits = before >= s->total / 4;
	end_fits = before + within <= s->total - s->total / 4;
	if (start_fits && (!end_fits || i - start <= end - i))
		return start;
	return end_fits ? end : i;
}

/*
 * All that is about to come belongs right behind the new entry, and takes so
 * many bytes.  So it goes to the page of the new entry, for which the bytes up
 * to this one leave the left page too empty, and those to come make it too
 * full.  Is that to be the right page?
 *
 * If two pages suffice, what counts is that none is too full.  If not, the new
 * entry's page will be split again.  In the left page it is the last one, so
 * that the others leave full pages behind, but the right page stays as it is.
 * In the right page all are before what comes after them there, which goes
 * from page to page with them.
 */
static bool
joins_right(const Split *s, Size before, Size coming, bool two_suffice)
{
	Size		new = s->weights[s->newpos];
	Size		beyond = s->total - before;

	if (two_suffice)
		return Max(before - new, new + coming + beyond) < Max(before + coming, beyond);
	return beyond < s->total / 4;
}

/*
 * How many bytes of the page go to the left one so that the two are equally
 * full when the entries that follow the new one have come, too?  If these fill
 * more than two pages, the left one is to be as full as s->aim says.
 */
static Size
share_of_left(const Split *s)
{
	Size		coming = s->total / s->nentries * s->aim->following;
	bool		two_suffice = s->total + coming <= s->total * 2 * MOST_FULL / 100;
	Size		want = two_suffice ? (s->total + coming) / 2 : s->total * s->aim->fullness / 100;
	Size		before = 0;		/* up to the new one, */
	Size		among = 0;		/* and among those that follow */

	for (int i = 0; i <= s->newpos; i++)
		before += s->weights[i];
	if (want <= before || s->aim->following == 0)
		return want;
	for (int i = s->newpos + 1; i < s->nentries &&
		 fpb_compare_keys(s->ix, &s->entries[i].key, &s->aim->last->key) < 0; i++)
		among += s->weights[i];
	if (want >= before + among + coming)
		return want - coming;
	if (among > 0)
		return before + (want - before) * among / (among + coming);
	return joins_right(s, before, coming, two_suffice) ? before - s->weights[s->newpos] : before;
}

/*
 * The left page gets so many bytes, the first i entries, as they are now.  But
 * if they begin with more bytes in common than all of the page do, they take
 * less there.  How many of those that begin so, too, of the first "most"
 * entries, does it get then?
 */
static int
fill_left(const Split *s, Size want, int i, int most)
{
	Size		prefix = fpb_page_prefix(s->ix, s->page);
	Size		left = 0;
	FpbTupleSpace space;
	Size		less;

	if (!FpbPageIsLeaf(s->page) || s->ix->cut_most == 0 || s->low == NULL || i == 0)
		return i;
	less = fpb_common_prefix(s->ix, s->low->tuple,
							 fpb_whole_tuple(s->ix, &s->entries[i - 1].key, &space));
	if (less <= prefix)
		return i;
	less -= prefix;
	for (int k = 0; k < most; k++)
	{
		const FpbKey *key = &s->entries[k].key;

		left += s->weights[k] -
			Min(less, IndexTupleSize(key->tuple) - IndexInfoFindDataOffset(key->tuple->t_info));
		if (k >= i && (left > want ||
					   !fpb_has_prefix(s->ix, fpb_whole_tuple(s->ix, key, &space), prefix + less,
									   s->low->tuple)))
			return k;
	}
	return Max(i, most);
}

/*
 * Choose where to split: returns the index of the right page's first entry,
 * and sets *first and *last to the least and the greatest index that may be.
 *
 * Each side gets half of the page, and of what is about to come.  But a series
 * of ascending keys leaves the left page as full as s->aim says, and if it is
 * one of many series, what comes after it goes to the right page.
 *
 * Each side gets at least one entry, or of an inner page two if there are
 * four.  An inner page may be full with two children, if their keys are about
 * the longest.  Then one side gets a single one, now the left, now the right.
 * If it were always the same side, ascending or descending keys would leave a
 * trail of such pages, and the level above would be no smaller than this one.
 */
static int
split_point(const Split *s, int *first, int *last)
{
	Size		left = 0;
	Size		want = s->ascending ? s->total * s->aim->fullness / 100 : share_of_left(s);
	int			i;

	Assert(s->nentries >= 2);

	/* The right page begins with the first entry not within the left's share. */
	for (i = 0; i < s->nentries - 1; i++)
	{
		left += s->weights[i];
		if (left > want ||
			(s->ascending && i > s->newpos && !FpbPageIsRightmost(s->page)))
			break;
	}
	if (FpbPageIsLeaf(s->page) || s->nentries < 3)
	{
		*first = 1;
		*last = s->nentries - 1;
	}
	else if (s->nentries > 3)
	{
		*first = 2;
		*last = s->nentries - 2;
	}
	else
		*first = *last = s->ascending ? 2 : 1 + murmurhash32(s->right) % 2;
	if (s->ascending || want == s->total * s->aim->fullness / 100)
		i = fill_left(s, want, i, s->ascending && !FpbPageIsRightmost(s->page) ?
					  s->newpos + 1 : s->nentries - 1);
	i = Min(Max(i, *first), *last);
	return FpbPageIsLeaf(s->page) && !s->ascending ? beside_group(s, beside_run(s, i)) : i;
}

/* --- making the two pages --- */

/*
 * Flags of the left page: its right sibling's downlink is still to come.
 */
static int
left_flags(const Split *s)
{
	return (FpbHdr(s->page)->flags & ~FPB_RIGHTMOST) | FPB_INCOMPLETE_SPLIT;
}

/*
 * Are the halves better packed than spread?  They are if their images are to
 * be small.  And if the new entry follows one of many series: the next ones
 * want room at its end, in nodes that are free, and none anywhere else.
 */
static bool
packed_halves(const Split *s)
{
	const FpbEntry *new = s->entries + s->newpos;

	return s->halves == FPB_HALVES_PACKED ||
		(FpbPageIsLeaf(s->page) && s->newpos > 0 && s->newpos < s->nentries - 1 &&
		 fpb_follows_series(fpb_key_head(s->ix, &new[-1].key), fpb_key_head(s->ix, &new->key),
							fpb_key_head(s->ix, &new[1].key)));
}

/*
 * Make one of the two pages afresh, with as much slack as it should have and
 * has room for.  False if it doesn't fit.
 */
static bool
build_spread(const Split *s, bool left, int split, const FpbKey *low,
			 const FpbKey *high)
{
	const FpbPageHeader *hdr = FpbHdr(s->page);
	FpbWalPage *wp = left ? s->left_page : s->right_page;
	FpbPageContent content = {
		.level = hdr->level,
		.flags = left ? left_flags(s) : hdr->flags & ~FPB_LEFTMOST,
		.right = left ? s->right : hdr->right,
		.low = low,
		.high = high,
		.entries = left ? s->entries : s->entries + split,
		.nentries = left ? split : s->nentries - split,
	};

	/*
	 * More entries behind the last will want no gaps before it; at the end of
	 * the level the new one may be late, and not quite the last.
	 */
	bool		full = !left && s->ascending &&
		(s->newpos == s->nentries - 1 ||
		 (FpbPageIsRightmost(s->page) && s->newpos >= split));
	int			most = full ? 0 : packed_halves(s) ? PACKED_HALF_SLACK : 100;

	int			first = 0;

	wp->image = true;
	while (split_slacks[first] > most)
		first++;
	if (!fpb_page_build_spread(s->ix, wp->page, &content, split_slacks + first,
							   lengthof(split_slacks) - first))
		return false;
	fpb_page_take_over_child_hints(s->ix, wp->page, s->page);
	return true;
}

/*
 * Make one of the two pages afresh.  Its fences are the separator, and a fence
 * of the page that is split.  If there is no room for the high fence, it is
 * elided, if s->elide permits that.  False if the page doesn't fit.
 */
static bool
build_side(const Split *s, bool left, int split, const FpbKey *separator)
{
	const FpbKey *low = left ? s->low : separator;
	const FpbKey *high = left ? separator : s->high;
	FpbKey		elided;

	if (build_spread(s, left, split, low, high))
		return true;
	if (!s->elide || high == NULL)
		return false;
	elided = *high;
	elided.tuple = NULL;
	return build_spread(s, left, split, low, &elided);
}

/*
 * Make the left page by taking the right one's entries away, which is little
 * to log.  False if the fence or the new entry would then not fit.  (In the
 * tuple form the tuples of these entries stay, so there may be no room for the
 * new entry.)
 */
static bool
cut_left(const Split *s, int split, const FpbKey *separator)
{
	FpbWalPage *wp = s->left_page;

	/* the first of the right page's that is not new, or behind all */
	FpbPos		at = s->places[s->newpos == split ? split + 1 : split];
	FpbInsertPlan plan;

	wp->image = false;
	wp->nranges = 0;
	memcpy(wp->page, s->page, BLCKSZ);
	s->ix->layout->cut(s->ix, wp->page, at, wp);
	if (!fpb_page_plan_extend(s->ix, wp->page, separator))
		return false;
	FpbHdr(wp->page)->flags = left_flags(s);
	fpb_page_extend(s->ix, wp->page, separator, s->right, wp);
	if (s->newpos >= split)
		return true;

	fpb_page_plan_insert(s->ix, wp->page, s->entry,
						 fpb_page_place(s->ix, wp->page, s->entry, FPB_POS_FIRST), &plan);
	if (plan.outcome == FPB_PLAN_FULL)
		return false;
	(void) fpb_page_insert(s->ix, wp->page, s->entry, &plan, wp);
	if (plan.image != NULL)
		pfree(plan.image);
	return true;
}

/*
 * A leaf's entry as a pivot, TID and all.  Allocates its tuple.
 */
static void
entry_pivot(const FpbIndex *ix, const FpbEntry *entry, FpbKey *pivot)
{
	*pivot = entry->key;
	pivot->head = fpb_key_head(ix, &entry->key);
	pivot->tuple = fpb_copy_whole_tuple(ix, &entry->key);
	pivot->cut_in = NULL;
	/* that of an entry in a posting has none */
	fpb_tail_tid(pivot->tail, &pivot->tuple->t_tid);
}

/*
 * Make both pages; the right one begins with entries[split].  False if one of
 * them doesn't fit.
 *
 * The separator between leaves is the shortest key that separates them, or, if
 * s->first_key says so, the right one's first key, TID and all.  Between inner
 * pages it is the low fence of the right one's first child.
 */
static bool
build_split(const Split *s, int split)
{
	bool		leaf = FpbPageIsLeaf(s->page);
	FpbKey		separator;
	bool		fits;

	/* nothing separates keys that are out of order */
	if (fpb_compare_keys(s->ix, &s->entries[split - 1].key,
						 &s->entries[split].key) >= 0)
		fpb_page_damaged(s->ix, s->page, "Its entries are out of order.");

	if (!leaf)
		separator = s->entries[split].key;
	else if (s->first_key)
		entry_pivot(s->ix, &s->entries[split], &separator);
	else
		fpb_key_separator(s->ix, &s->entries[split - 1].key,
						  &s->entries[split].key, &separator);

	fits = build_side(s, false, split, &separator) &&
		((s->halves == FPB_HALVES_IN_PLACE && cut_left(s, split, &separator)) ||
		 build_side(s, true, split, &separator));
	if (leaf && separator.tuple != NULL)
		pfree(separator.tuple);
	return fits;
}

/*
 * Make both pages, split at best, or else at the nearest index from first to
 * last where both fit.  False if there is none.
 */
static bool
try_places(const Split *s, int first, int best, int last)
{
	for (int distance = 0; distance < s->nentries; distance++)
	{
		if (best + distance <= last && build_split(s, best + distance))
			return true;
		if (distance > 0 && best - distance >= first &&
			build_split(s, best - distance))
			return true;
	}
	return false;
}

/*
 * Work out where to split, and make both pages.  If all keys near the middle
 * are very long, the pages may not fit with the shortest separators.  They do
 * if the separator shares its tuple with the right page's first entry and high
 * fences are elided: FORMAT.md, "Splits always fit".
 */
static void
plan_split(Split *s)
{
	int			first;
	int			last;
	int			best = split_point(s, &first, &last);
	bool		tuples = !fpb_is_word(s->ix);

	for (int elide = 0; elide <= tuples; elide++)
	{
		s->elide = elide;
		for (int first_key = 0; first_key <= (tuples && FpbPageIsLeaf(s->page)); first_key++)
		{
			s->first_key = first_key;
			if (try_places(s, first, best, last))
				return;
		}
	}
	fpb_page_damaged(s->ix, s->page,
					 "The page's entries do not fit two pages.");
}

/*
 * See page/layout.h.  left_page and right_page are copies, see
 * fpb_wal_add_copy.
 */
void
fpb_page_split(const FpbIndex *ix, Page page, const FpbEntry *entry,
			   FpbPos pos, BlockNumber right, const FpbSplitAim *aim, FpbHalves halves,
			   FpbWalPage *left_page, FpbWalPage *right_page)
{
	Split		s = {.ix = ix,.page = page,.right = right,.entry = entry,.aim = aim,
	.halves = halves,.left_page = left_page,.right_page = right_page};
	FpbKey		low;
	FpbKey		high;

	s.entries = palloc(sizeof(FpbEntry) * (FPB_MAX_PAGE_ENTRIES + 1));
	s.places = palloc(sizeof(FpbPos) * (FPB_MAX_PAGE_ENTRIES + 2));
	s.weights = palloc(sizeof(uint16) * (FPB_MAX_PAGE_ENTRIES + 1));
	s.newpos = fpb_page_entries_with(ix, page, entry, &pos, s.entries, s.places,
									 &s.nentries);
	if (unlikely(s.nentries < 2))
		fpb_page_damaged(ix, page, "The page is full, but has no entry.");
	s.slot_space = ix->layout->slot_space(ix, FpbPageIsLeaf(page),
										  s.entries[s.nentries - 1].key.head - s.entries[0].key.head);
	weigh_entries(&s);
	s.ascending = (aim->following == 0 || !aim->scattered) && is_ascending(&s);
	if (!FpbPageIsLeftmost(page))
	{
		fpb_page_low(ix, page, &low);
		s.low = &low;
	}
	if (!FpbPageIsRightmost(page))
	{
		fpb_page_high(ix, page, &high);
		s.high = &high;
	}
	plan_split(&s);
	pfree(s.entries);
	pfree(s.places);
	pfree(s.weights);
}
