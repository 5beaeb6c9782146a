/*-------------------------------------------------------------------------
 *
 * page/node.c
 *	  One in-page node: reading, writing and searching its slots.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "page/fence.h"
#include "key/guess.h"
#include "page/node.h"

/* a search that begins with a slot compares that so many behind it first */
#define FIRST_STEP		4

/* --- what there is to know of a codec --- */

/*
 * What it is called where a page's nodes are shown.
 */
const char *
fpb_codec_name(FpbCodec codec)
{
	static const char *const pairs[] = {"pairs", "near pairs"};

	switch (fpb_codec_kind(codec))
	{
		case FPB_NODE_PLAIN:
			return "plain";
		case FPB_NODE_RUNS:
			return "runs";
		case FPB_NODE_PAIRS:
			return pairs[fpb_codec_near(codec)];
		case FPB_NODE_TUPLES:
			return "tuples";
	}
	pg_unreachable();
}

/*
 * Bytes that a slot takes in a plain node, of a leaf or of an inner page.
 */
Size
fpb_slot_bytes(const FpbIndex *ix, bool inner)
{
	return ix->head_width +
		(ix->form == FPB_WORD16 ? sizeof(uint64) : 0) +
		(fpb_is_word(ix) ? FPB_TAIL_BYTES : sizeof(uint16)) +
		(inner ? sizeof(uint32) : 0);
}

/* --- shapes --- */

/*
 * Lay out the arrays of a plain node with so many slots, of leaves or of inner
 * pages, in a shape that is all zeros.  Returns how many bytes they take.
 */
uint32
fpb_lay_out_slots(const FpbIndex *ix, FpbShape *shape, int nslots, bool inner)
{
	uint32		end = nslots * ix->head_width;

	shape->nslots = shape->most = nslots;
	if (ix->form == FPB_WORD16)
	{
		end = TYPEALIGN(sizeof(uint64), end);
		shape->low_off = end;
		end += nslots * sizeof(uint64);
	}
	if (inner)
	{
		/* an offset of 0 would say that there are no downlinks */
		end = TYPEALIGN(sizeof(uint32), Max(end, 1));
		shape->child_off = end;
		end += nslots * sizeof(uint32);
	}
	shape->tail_off = end;
	return end + nslots * (fpb_is_word(ix) ? FPB_TAIL_BYTES : sizeof(uint16));
}

/* --- reading slots --- */

/*
 * Unpack the entry in a slot that is not a gap: of a posting, the first.
 */
void
fpb_read_slot(const FpbIndex *ix, Page page, const FpbShape *shape, FpbCodec codec,
			  char *node, int slot, FpbEntry *entry)
{
	const char *pair;
	FpbRuns		runs;
	int			run;

	entry->key.low = 0;
	entry->key.tuple = NULL;
	entry->child = InvalidBlockNumber;

	switch (fpb_codec_kind(codec))
	{
		case FPB_NODE_PLAIN:
		case FPB_NODE_TUPLES:
			break;
		case FPB_NODE_PAIRS:
			pair = node + slot * fpb_pair_bytes(ix, codec);
			if (ix->form == FPB_WORD16)
				memcpy(&entry->key.low, pair + fpb_pair_tail_width(codec), sizeof(uint64));
			entry->key.head = fpb_pair_head(ix, codec, fpb_pairs_base(shape, codec, node), pair);
			entry->key.tail = fpb_read_short_tail(pair, 0, fpb_pair_tail_width(codec));
			return;
		case FPB_NODE_RUNS:
			runs = fpb_runs(ix, shape, node);
			run = fpb_run_of_slot(&runs, slot);
			entry->key.head = fpb_node_head(ix, node, run);
			if (ix->form == FPB_WORD16)
				entry->key.low = fpb_run_lows(&runs)[run];
			entry->key.tail = fpb_run_tail(&runs, slot);
			return;
	}

	entry->key.head = fpb_node_head(ix, node, slot);
	if (shape->child_off == 0)
		entry->key.cut_in = fpb_cut_in(ix, page);
	if (fpb_is_word(ix))
	{
		if (ix->form == FPB_WORD16)
			entry->key.low = ((uint64 *) (node + shape->low_off))[slot];
		entry->key.tail = fpb_read_tail(node + shape->tail_off, slot);
	}
	else
	{
		entry->key.tuple = fpb_page_tuple(ix, page,
										  fpb_node_tuples(shape, node)[slot]);
		if (shape->child_off != 0)
			entry->key.tail = fpb_pivot_tail(entry->key.tuple);
		else if (fpb_is_posting(entry->key.tuple))
			entry->key.tail = fpb_posting_tail(entry->key.tuple,
											   fpb_posting_next(entry->key.tuple, 0));
		else
			entry->key.tail = fpb_tail_pack(0, &entry->key.tuple->t_tid);
	}
	if (shape->child_off != 0)
		entry->child = fpb_node_children(shape, node)[slot];
}

/* --- search --- */

int
fpb_compare_rest_of_slot(const FpbIndex *ix, Page page, const FpbShape *shape, FpbCodec codec,
						 char *node, int slot, bool last, const FpbSearchKey *search,
						 uint64 head, int first)
{
	FpbEntry	entry;

	fpb_read_slot(ix, page, shape, codec, node, slot, &entry);
	if (last && fpb_has_posting(shape, &entry))
	{
		IndexTuple	posting = entry.key.tuple;

		entry.key.tail = fpb_posting_tail(posting,
										  fpb_posting_prev(posting, BLCKSZ));
	}
	return first == 0 ? fpb_compare_from_second(ix, &entry.key, search) :
		fpb_compare_by_head(ix, &entry.key, search, head);
}

/*
 * Bisect the slots [lo, hi) of a node, passing over gaps.  Returns the first
 * slot such that all entries before it are < search key (equal: <= search
 * key), and none of those behind it is.  (If the next entry is a posting, some
 * of its TIDs may be.)
 */
static inline int
search_slots(const FpbIndex *ix, Page page, const FpbShape *shape, FpbCodec codec,
			 char *node, int lo, int hi, const FpbSearchKey *search, uint64 head, bool equal)
{
	int			most = equal ? 0 : -1;	/* sign of an entry before the place */

	while (lo < hi)
	{
		int			mid = lo + (hi - lo) / 2;
		int			live = mid;

		while (live < hi && fpb_node_is_gap(ix, shape, codec, node, live))
			live++;
		if (live == hi ||
			fpb_compare_slot(ix, page, shape, codec, node, live, true, search, head) > most)
			hi = mid;
		else
			lo = live + 1;
	}
	return lo;
}

/*
 * Narrow the slots [*lo, *hi) of tuples, among which the place of a search key
 * is that has no head, by where it probably is.  If that is right, nothing but
 * the place is left.
 */
static void
guess_slots(const FpbIndex *ix, Page page, const FpbShape *shape, FpbCodec codec, char *node,
			int *lo, int *hi, const FpbSearchKey *search, bool equal, const FpbGuess *guess)
{
	const uint16 *tuples = fpb_node_tuples(shape, node);
	int			most = equal ? 0 : -1;
	int			from = *lo;
	int			to = *hi;
	int			before;
	int			behind;
	bool		right = false;

	while (from < to)
	{
		int			mid = from + (to - from) / 2;
		int			live = mid;

		while (live < to && tuples[live] == 0)
			live++;
		if (live == to || fpb_guess(ix, page, tuples[live], guess) > most)
			to = mid;
		else
			from = live + 1;
	}

	/* the entries beside that place */
	before = from - 1;
	while (before >= *lo && tuples[before] == 0)
		before--;
	behind = from;
	while (behind < *hi && tuples[behind] == 0)
		behind++;
	if (before >= *lo &&
		fpb_compare_slot(ix, page, shape, codec, node, before, true, search, search->head) > most)
		*hi = before;
	else
	{
		*lo = before + 1;
		right = behind == *hi ||
			fpb_compare_slot(ix, page, shape, codec, node, behind, true, search, search->head) > most;
		if (right)
			*hi = *lo;
		else
			*lo = behind + 1;
	}
	fpb_guess_was(ix, right);
}

/*
 * search_slots among tuples for a search key that has no head.
 */
static int
search_headless(const FpbIndex *ix, Page page, const FpbShape *shape, FpbCodec codec,
				char *node, int lo, int hi, const FpbSearchKey *search, bool equal)
{
	const uint16 *tuples = fpb_node_tuples(shape, node);
	int			most = equal ? 0 : -1;
	FpbGuess	guess;

	if (fpb_guess_begin(ix, search, &guess))
		guess_slots(ix, page, shape, codec, node, &lo, &hi, search, equal, &guess);
	while (lo < hi)
	{
		int			mid = lo + (hi - lo) / 2;
		int			live = mid;

		while (live < hi && tuples[live] == 0)
			live++;
		if (live == hi ||
			fpb_compare_slot(ix, page, shape, codec, node, live, true, search, search->head) > most)
			hi = mid;
		else
			lo = live + 1;
	}
	return lo;
}

int
fpb_search_slots(const FpbIndex *ix, Page page, const FpbShape *shape,
				 FpbCodec codec, char *node, int lo, int hi,
				 const FpbSearchKey *search, uint64 head, bool equal)
{
	if (!fpb_is_word(ix) && !search->has_head)
		return search_headless(ix, page, shape, codec, node, lo, hi, search, equal);
	return search_slots(ix, page, shape, codec, node, lo, hi, search, head, equal);
}

/*
 * The same for a search key that has no head, and a place that is likely to be
 * near from, which it is not before.  Entries farther and farther away are
 * compared until one is not less, and what is before that is bisected.
 */
int
fpb_search_slots_from(const FpbIndex *ix, Page page, const FpbShape *shape, FpbCodec codec,
					  char *node, int from, int hi, const FpbSearchKey *search)
{
	for (int step = FIRST_STEP; from + step < hi; step *= 2)
	{
		int			live = fpb_next_live(ix, shape, codec, node, from + step);

		if (live >= hi ||
			fpb_compare_slot(ix, page, shape, codec, node, live, true, search, search->head) >= 0)
		{
			hi = from + step;
			break;
		}
		from = live + 1;
	}
	return search_headless(ix, page, shape, codec, node, from, hi, search, false);
}

/*
 * The first run of a runs node with a key >= this one.  *found: is it equal?
 */
static inline int
find_run(const FpbIndex *ix, const FpbRuns *runs, uint64 head, uint64 low, bool *found)
{
	int			run = fpb_heads_less(ix, runs->keys, runs->nruns, head);

	if (ix->form == FPB_WORD16)
		while (run < runs->nruns && fpb_node_head(ix, runs->keys, run) == head &&
			   fpb_run_lows(runs)[run] < low)
			run++;
	*found = run < runs->nruns && fpb_node_head(ix, runs->keys, run) == head &&
		(ix->form != FPB_WORD16 || fpb_run_lows(runs)[run] == low);
	return run;
}

int
fpb_find_run(const FpbIndex *ix, const FpbRuns *runs, const FpbKey *key, bool *found)
{
	return find_run(ix, runs, key->head, key->low, found);
}

/*
 * The same among all places of a runs node: first the run is found, then the
 * place in it.
 */
static inline int
search_runs(const FpbIndex *ix, const FpbShape *shape, char *node,
			const FpbSearchKey *search, bool equal)
{
	FpbRuns		runs = fpb_runs(ix, shape, node);
	bool		found;
	int			run = find_run(ix, &runs, search->head, search->low, &found);
	int			lo = fpb_run_start(&runs, run);
	int			hi;

	if (!found)
		return lo;
	hi = fpb_run_end(&runs, run);
	while (lo < hi)
	{
		int			mid = lo + (hi - lo) / 2;
		int			live = mid;
		uint64		tail = 0;

		while (live < hi && fpb_run_is_gap(&runs, live))
			live++;
		if (live < hi)
			tail = fpb_run_tail(&runs, live);
		if (live == hi || tail > search->tail || (!equal && tail == search->tail))
			hi = mid;
		else
			lo = live + 1;
	}
	return lo;
}

/*
 * The same among all slots of a node.  Heads are compared first, that of the
 * search key in this page with those of the node, and nothing else where they
 * decide.
 */
int
fpb_search_node(const FpbIndex *ix, Page page, const FpbShape *shape,
				FpbCodec codec, char *node, const FpbSearchKey *search, uint64 head,
				bool equal)
{
	int			lo = 0;
	int			hi = shape->nslots;

	if (!fpb_is_word(ix) && !search->has_head)
		return search_headless(ix, page, shape, codec, node, lo, hi, search, equal);

	switch (fpb_codec_kind(codec))
	{
		case FPB_NODE_PLAIN:
			lo = fpb_heads_less(ix, node, hi, head);
			if (lo == hi || fpb_node_head(ix, node, lo) != head)
				return lo;

			/* few share a head, so the first is likely to be the place */
			if (!fpb_node_is_gap(ix, shape, codec, node, lo) &&
				fpb_compare_slot(ix, page, shape, codec, node, lo, true, search, head) > (equal ? 0 : -1))
				return lo;
			hi = fpb_heads_not_greater(ix, node, hi, head);
			break;
		case FPB_NODE_RUNS:
			return search_runs(ix, shape, node, search, equal);
		case FPB_NODE_PAIRS:	/* see fpb_loose_search */
		case FPB_NODE_TUPLES:
			Assert(false);
			break;
	}
	return search_slots(ix, page, shape, codec, node, lo, hi, search, head, equal);
}

/* --- writing slots --- */

/*
 * Store an entry in a slot of a plain node.  Tuple form: the tuple is at
 * tuple_offset already.
 */
void
fpb_write_slot(const FpbIndex *ix, const FpbShape *shape, char *node, int slot,
			   const FpbEntry *entry, uint32 tuple_offset)
{
	fpb_node_set_head(ix, node, slot, entry->key.head);
	if (fpb_is_word(ix))
	{
		if (ix->form == FPB_WORD16)
			((uint64 *) (node + shape->low_off))[slot] = entry->key.low;
		fpb_write_tail(node + shape->tail_off, slot, entry->key.tail);
	}
	else
		fpb_node_tuples(shape, node)[slot] = (uint16) tuple_offset;
	if (shape->child_off != 0)
		fpb_node_children(shape, node)[slot] = entry->child;
}

/*
 * Make a slot a gap.  Its head stays, so that the heads stay sorted.
 */
void
fpb_make_gap(const FpbIndex *ix, const FpbShape *shape, FpbCodec codec, char *node,
			 int slot)
{
	FpbRuns		runs;
	char	   *pair;
	uint32		low;

	switch (fpb_codec_kind(codec))
	{
		case FPB_NODE_PLAIN:
			if (fpb_is_word(ix))
				fpb_write_tail(node + shape->tail_off, slot, 0);
			else
				fpb_node_tuples(shape, node)[slot] = 0;
			if (shape->child_off != 0)
				fpb_node_children(shape, node)[slot] = InvalidBlockNumber;
			break;
		case FPB_NODE_TUPLES:
			fpb_node_tuples(shape, node)[slot] = 0;
			break;
		case FPB_NODE_PAIRS:
			/* what makes it a gap is enough, and the least to log */
			pair = node + slot * fpb_pair_bytes(ix, codec);
			memcpy(&low, pair, sizeof(low));
			low &= ~(uint32) PG_UINT16_MAX;
			memcpy(pair, &low, sizeof(low));
			break;
		case FPB_NODE_RUNS:
			runs = fpb_runs(ix, shape, node);
			fpb_write_short_tail(runs.tails, slot, runs.width, 0);
			break;
	}
}

/*
 * Write a gap into a slot of a plain node.  head is the next entry's, or all
 * ones behind the last entry.  So a search for the place of a new entry
 * between two others ends at the first gap between them.
 */
void
fpb_write_gap(const FpbIndex *ix, const FpbShape *shape, char *node, int slot,
			  uint64 head)
{
	fpb_node_set_head(ix, node, slot, head);
	if (ix->form == FPB_WORD16)
		((uint64 *) (node + shape->low_off))[slot] = 0;
	fpb_make_gap(ix, shape, FPB_NODE_PLAIN, node, slot);
}

/*
 * The bytes of a key in a slot of a pairs node of this base, which it fits.
 */
void
fpb_make_pair(const FpbIndex *ix, FpbCodec codec, uint64 base, const FpbKey *key,
			  char *pair)
{
	uint32		half = (uint32) (fpb_codec_near(codec) ? key->head - base : key->head >> 32);

	fpb_write_short_tail(pair, 0, fpb_pair_tail_width(codec), key->tail);
	if (ix->form == FPB_WORD16)
		memcpy(pair + fpb_pair_tail_width(codec), &key->low, sizeof(uint64));
	pair += fpb_pair_head_off(ix, codec);
	if (fpb_pair_has_short_head(ix, codec))
		memcpy(pair, &half, sizeof(half));
	else
		memcpy(pair, &key->head, sizeof(uint64));
}

/*
 * More entries may come before the first ones.  So the base is less than the
 * least by so many times what these are apart, or so much, if there is room
 * for that.  It is not all the room that there is, because where differences
 * are small, their high bytes need not be logged.
 */
#define BASE_BEFORE		4
#define LEAST_BEFORE	64

/*
 * The base of a node for heads that are near to each other.  before: entries
 * that come late may be so much before the first.
 */
uint64
fpb_span_base(const FpbSpan *span, uint64 before)
{
	uint64		range = span->greatest - span->least;

	before = Max(Max(range * BASE_BEFORE, LEAST_BEFORE), before);
	before = Min(before, FPB_NEAR_MOST - range);
	return span->least - Min(before, span->least);
}

/*
 * Write entries of words into the first slots of a pairs node that is all
 * zeros.
 */
void
fpb_write_pairs(const FpbIndex *ix, const FpbShape *shape, FpbCodec codec, char *node,
				const FpbEntry *entries, int nentries)
{
	FpbSpan		span = {entries[0].key.head, entries[nentries - 1].key.head};
	uint64		base = fpb_codec_near(codec) ? fpb_span_base(&span, 0) : 0;

	if (fpb_codec_near(codec))
		memcpy(fpb_pairs_base_at(shape, node), &base, sizeof(base));
	for (int i = 0; i < nentries; i++)
		fpb_make_pair(ix, codec, base, &entries[i].key,
					  node + i * fpb_pair_bytes(ix, codec));
}

/* --- the arrays of a node --- */

/*
 * Note the bytes of slots [from, to] of one array of a node.
 */
void
fpb_note_slots(FpbWalPage *wp, char *array, int from, int to, int width)
{
	fpb_wal_note(wp, array + from * width, (to - from + 1) * width);
}

/*
 * Move elements [from, to] of an array by one, to the right or to the left.
 */
void
fpb_shift_slots(char *array, int from, int to, int by, int width)
{
	memmove(array + (from + by) * width, array + from * width,
			(to - from + 1) * width);
}

/*
 * The arrays of a node with an element for each slot, the tails or tuple
 * offsets last; returns how many.
 */
int
fpb_node_arrays(const FpbIndex *ix, const FpbShape *shape, FpbCodec codec,
				char *node, FpbNodeArray *arrays)
{
	FpbRuns		runs;
	int			n = 0;

	switch (fpb_codec_kind(codec))
	{
		case FPB_NODE_PLAIN:
		case FPB_NODE_TUPLES:
			arrays[n].start = node;
			arrays[n++].width = ix->head_width;
			if (ix->form == FPB_WORD16)
			{
				arrays[n].start = node + shape->low_off;
				arrays[n++].width = sizeof(uint64);
			}
			if (shape->child_off != 0)
			{
				arrays[n].start = node + shape->child_off;
				arrays[n++].width = sizeof(uint32);
			}
			arrays[n].start = node + shape->tail_off;
			arrays[n++].width = fpb_is_word(ix) ? FPB_TAIL_BYTES : sizeof(uint16);
			break;
		case FPB_NODE_PAIRS:
			arrays[n].start = node;
			arrays[n++].width = fpb_pair_bytes(ix, codec);
			break;
		case FPB_NODE_RUNS:
			runs = fpb_runs(ix, shape, node);
			arrays[n].start = runs.tails;
			arrays[n++].width = runs.width;
			break;
	}
	return n;
}

/*
 * The gap nearest to the place before slot of a runs node, or -1.
 */
static int
nearest_place(const FpbRuns *runs, int slot)
{
	int			left = slot - 1;
	int			right = slot;

	for (; left >= 0 && right < runs->places; left--, right++)
	{
		if (fpb_run_is_gap(runs, right))
			return right;
		if (fpb_run_is_gap(runs, left))
			return left;
	}
	for (; right < runs->places; right++)
		if (fpb_run_is_gap(runs, right))
			return right;
	for (; left >= 0; left--)
		if (fpb_run_is_gap(runs, left))
			return left;
	return -1;
}

/*
 * The gap nearest to the place before slot, or -1.
 */
int
fpb_nearest_gap(const FpbIndex *ix, const FpbShape *shape, FpbCodec codec, char *node,
				int slot)
{
	int			nslots = fpb_node_slots(ix, shape, codec, node);
	FpbRuns		runs;

	if (fpb_codec_shares_key(codec))
	{
		runs = fpb_runs(ix, shape, node);
		return nearest_place(&runs, slot);
	}
	for (int distance = 0; distance <= nslots; distance++)
	{
		int			right = slot + distance;
		int			left = slot - 1 - distance;

		if (right < nslots && fpb_node_is_gap(ix, shape, codec, node, right))
			return right;
		if (left >= 0 && fpb_node_is_gap(ix, shape, codec, node, left))
			return left;
	}
	return -1;
}

/* --- runs nodes --- */

/*
 * Make a runs node of nentries entries with nruns keys, which it has room for.
 * What is left of its room goes to keys and places in the proportion in which
 * these are filled.  spread: the gaps are at the ends of runs, where most new
 * entries belong; else behind all entries.
 *
 * The first run may have begun before these entries, with so many of its own,
 * and gets the more gaps.  If the last one goes on behind them, it needs none
 * here.  amid: the node is one of many that a run fills on its own, and gaps
 * are all over it.
 */
void
fpb_write_runs(const FpbIndex *ix, const FpbShape *shape, char *node,
			   const FpbEntry *entries, int nentries, int nruns, bool spread,
			   int before, bool goes_on, bool amid)
{
	int			width = FPB_SHORT_TAIL;
	int			used;
	int			spare;
	int			capacity;
	FpbRuns		runs;
	int			run = -1;
	int			slot = 0;
	int			growing = nentries + before;
	int			end = nentries;

	for (int i = 0; i < nentries; i++)
		width = Max(width, fpb_tail_width(entries[i].key.tail));
	used = nruns * fpb_run_bytes(ix) + nentries * width;
	spare = nruns * (fpb_runs_room(shape) - used) / used;
	capacity = Min(nruns + spare, FPB_RUNS_MOST);
	while (capacity > nruns && fpb_runs_places(ix, shape, capacity, width) < nentries)
		capacity--;
	memset(node, 0, shape->size);
	fpb_runs_set(shape, node, width, nruns, capacity);
	runs = fpb_runs(ix, shape, node);
	Assert(runs.places >= nentries);

	/* the runs that end here are to share the gaps */
	if (goes_on && nruns > 1)
	{
		while (fpb_keys_identical(ix, &entries[end - 1].key, &entries[nentries - 1].key))
			end--;
		growing = end + before;
	}
	for (int i = 0; i < nentries; i++)
	{
		const FpbKey *key = &entries[i].key;

		if (i == 0 || !fpb_keys_identical(ix, &entries[i - 1].key, key))
		{
			if (run >= 0)
			{
				if (spread)
					slot = i + (i + before) * (runs.places - nentries) / growing;
				runs.ends[run] = slot;
			}
			run++;
			fpb_node_set_head(ix, node, run, key->head);
			if (ix->form == FPB_WORD16)
				fpb_run_lows(&runs)[run] = key->low;
		}
		fpb_write_short_tail(runs.tails, slot++, width, key->tail);
		if (amid)
			slot = (i + 1) * runs.places / nentries;
	}
	runs.ends[run] = slot;
	Assert(run == nruns - 1);
}

/*
 * What is wrong with the structure of a runs node, or NULL: with its numbers,
 * its keys, and where its runs end.  A key must be sound even if it has no
 * entry, because the next one of that key goes there.
 */
const char *
fpb_runs_fault(const FpbIndex *ix, const FpbShape *shape, char *node)
{
	FpbRuns		runs;
	int			before = 0;

	if (!fpb_runs_possible(ix, shape, node))
		return "A runs node has impossible numbers.";
	runs = fpb_runs(ix, shape, node);
	for (int run = 0; run < runs.nruns; run++)
	{
		if (runs.ends[run] < before || runs.ends[run] > runs.places)
			return "The runs of a node end at impossible places.";
		before = runs.ends[run];
		if (run == 0)
			continue;
		if (fpb_node_head(ix, node, run) < fpb_node_head(ix, node, run - 1) ||
			(fpb_node_head(ix, node, run) == fpb_node_head(ix, node, run - 1) &&
			 (ix->form != FPB_WORD16 ||
			  fpb_run_lows(&runs)[run] <= fpb_run_lows(&runs)[run - 1])))
			return "The keys of a runs node are out of order.";
	}
	for (int slot = before; slot < runs.places; slot++)
		if (!fpb_run_is_gap(&runs, slot))
			return "A runs node has an entry behind its last run.";
	return NULL;
}
