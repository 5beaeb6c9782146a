/*-------------------------------------------------------------------------
 *
 * page/disk_first/pack.c
 *	  Packing sorted entries into the slots and nodes of a page.
 *
 * A run is the entries of one key.  In the tuple form a run goes into
 * postings, as many entries into each as it can hold.  In the word forms each
 * node of a leaf gets as many entries as it holds, from the first on, in
 * whichever codec holds more.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "page/disk_first/disk_first.h"

/*
 * A node is made a runs node if it would hold this many times as many entries
 * like its own as a plain one: in eighths.
 */
#define RUNS_WORTH		9

/*
 * A run leaves nothing free in so many nodes before the one where it ends.
 * One of most of a page does in the others, because not all rows are added at
 * a table's end.
 */
#define DENSE_NODES		4

/*
 * What a run has in nodes before one counts for the room at its end up to so
 * many times the entries there.
 */
#define MOST_BEFORE		4

/*
 * A run of fewer entries than this needs no room of its own where it ends.
 */
#define FEW_DUPLICATES	16

/* --- fills --- */

/*
 * How many of nslots slots to fill, if slack of a hundred are to be left free.
 */
int
fpb_slots_to_fill(int nslots, int slack)
{
	int			fill = (nslots * (100 - slack) + 99) / 100;

	return Max(fill, 1);
}

/*
 * How many slots of a plain node to fill; with slack, at most as many as it
 * should have entries.
 */
int
fpb_plain_fill(const FpbShape *shape, int slack)
{
	int			fill = fpb_slots_to_fill(shape->nslots, slack);

	return slack > 0 ? Min(fill, shape->most) : fill;
}

/*
 * Slots of a pairs node of such pairs.  Words of 32 bits have no base, however
 * near to each other they are.
 */
static int
pairs_slots(const FpbShape *shape, int form)
{
	int			far = form & ~fpb_pairs_form(FPB_PAIRS_NEAR);

	return shape->pairs[form] > 0 ? shape->pairs[form] : shape->pairs[far];
}

/*
 * What keys and TIDs cost of the room of runs nodes, in units of so many to a
 * byte.  spare: a key costs as much more as its TID may take less than in a
 * plain node, so that keys with a row each get plain nodes, which are changed
 * at less cost.
 */
static void
set_costs(const FpbIndex *ix, int unit, bool spare, FpbFill *fill)
{
	fill->key_cost = (fpb_run_bytes(ix) + (spare ? FPB_TAIL_BYTES - FPB_SHORT_TAIL : 0)) * unit;
	for (int width = FPB_SHORT_TAIL; width <= FPB_TAIL_BYTES; width++)
		fill->tid_cost[width] = fill->open_cost[width] = width * unit;
}

/*
 * A run with more entries than this before a node leaves room there as well.
 */
int
fpb_most_before(const FpbShape *shape)
{
	return DENSE_NODES * fpb_runs_room(shape) / FPB_SHORT_TAIL;
}

/*
 * Entries of runs that don't end in a node leave nothing free: they take that
 * share of what others take, in so many units to a byte.
 */
static void
set_open_costs(const FpbShape *shape, int share, FpbFill *fill)
{
	for (int width = FPB_SHORT_TAIL; width <= FPB_TAIL_BYTES; width++)
		fill->open_cost[width] = width * share;
	fill->most_before = fpb_most_before(shape);
	fill->before = 0;
	fill->end = FPB_RUN_MAY_GO_ON;
}

/*
 * Set up *fill for leaves or inner pages with slack slots of a hundred free.
 * Where TIDs take all of six bytes in a runs node, it is a third of the share:
 * they take as much of a page as in btree, which leaves a tenth of it free.
 */
void
fpb_fill_with_slack(const FpbIndex *ix, int level, int slack, FpbFill *fill)
{
	const FpbShape *shape = fpb_level_shape(ix, level);

	memset(fill, 0, sizeof(*fill));
	fill->plain = fpb_plain_fill(shape, slack);
	for (int form = 0; form < lengthof(fill->pairs); form++)
		fill->pairs[form] = level > 0 ? fill->plain : fpb_slots_to_fill(pairs_slots(shape, form), slack);
	if (!ix->word_runs || level > 0)
		return;
	fill->runs_room = fpb_runs_room(shape) * (100 - slack);
	set_costs(ix, 100, true, fill);
	fill->tid_cost[FPB_TAIL_BYTES] -= FPB_TAIL_BYTES * slack * 2 / 3;
	fill->tids = FPB_RUNS_MOST * (100 - slack) / 100;
	set_open_costs(shape, 100 - slack, fill);
}

/*
 * The same for as many entries in each node as it has room for.
 */
void
fpb_fill_densely(const FpbIndex *ix, int level, FpbFill *fill)
{
	fpb_fill_with_slack(ix, level, 0, fill);
	set_costs(ix, 100, false, fill);
}

/*
 * The same with nodes filled to this share, in a thousand.
 */
void
fpb_fill_share(const FpbIndex *ix, int level, int share, FpbFill *fill)
{
	const FpbShape *shape = fpb_level_shape(ix, level);

	memset(fill, 0, sizeof(*fill));
	for (int form = 0; form < lengthof(fill->pairs); form++)
		fill->pairs[form] = Max(pairs_slots(shape, form) * share / 1000, 1);
	if (!ix->word_runs)
		return;
	fill->runs_room = fpb_runs_room(shape) * share;
	set_costs(ix, 1000, true, fill);
	fill->tids = FPB_RUNS_MOST * share / 1000;
	set_open_costs(shape, share, fill);
}

/*
 * Does the run of an entry of words at an end of a leaf go on beyond the fence
 * there, which may be NULL?
 */
bool
fpb_run_passes(const FpbIndex *ix, const FpbKey *fence, const FpbKey *key)
{
	return fence != NULL && fence->tail != FPB_TAIL_MIN && fpb_keys_identical(ix, fence, key);
}

/*
 * How many of sorted entries of words, from the first on, have its key?  No
 * more than most are counted.
 */
static int
first_run(const FpbIndex *ix, const FpbEntry *entries, int nentries, int most)
{
	int			n = 1;

	while (n < Min(nentries, most) &&
		   fpb_keys_identical(ix, &entries[0].key, &entries[n].key))
		n++;
	return n;
}

/*
 * A long run that began before a leaf of words, or ends behind it, has room
 * for more TIDs all over it.
 */
void
fpb_fill_between_fences(const FpbIndex *ix, const FpbPageContent *content, FpbFill *fill)
{
	const FpbEntry *entries = content->entries;
	int			n = content->nentries;
	int			enough = fill->most_before + 1;

	if (fill->runs_room == 0 || n < enough)
		return;
	if (fpb_run_passes(ix, content->low, &entries[0].key) &&
		first_run(ix, entries, n, enough) == enough)
		fill->before = Max(fill->before, enough);
	if (fpb_run_passes(ix, content->high, &entries[n - 1].key) &&
		fpb_keys_identical(ix, &entries[n - enough].key, &entries[n - 1].key))
		fill->end = FPB_RUN_GOES_ON;
}

/*
 * Does a node hold so many entries, of so many keys that end there?  If it
 * does, it also holds any part of them.
 */
bool
fpb_node_holds(const FpbFill *fill, int nentries, int nruns, const FpbSpan *span)
{
	FpbFilledNode node = {.entries = nentries,.runs = nruns,.span = *span};

	return fpb_fill_holds(fill, &node);
}

/*
 * The last run of a node ends there.  Leave it what it should have: a part of
 * what it takes in other nodes, too, but no more than a quarter of this one.
 */
static void
end_run(const FpbFill *fill, FpbFilledNode *node)
{
	int			each = fill->tid_cost[node->span.width] - fill->open_cost[node->span.width];

	node->extra += Min(node->before * each, fill->runs_room / 4);
	node->open = node->before = 0;
}

/*
 * Begin the next node, with this many entries of the last one's last run: none
 * or one.
 */
static void
begin_next(FpbFilledNode *node, int moved)
{
	node->before += node->open - moved;
	node->entries = node->open = moved;
	node->runs = moved > 0 ? 1 : 0;
	node->extra = 0;
	node->span.least = node->span.greatest;
	if (moved == 0)
		node->span.width = 0;
}

/*
 * The last run of a node ends there.  Returns -1 if it has room enough to
 * grow, or is short.  Else its last entry goes to the next node, where it ends
 * then, beside another one with this key, unless that is NULL; returns 1.
 */
static int
take_end(const FpbFill *fill, FpbFilledNode *node, const FpbKey *key)
{
	FpbFilledNode ended = *node;
	FpbFilledNode next = *node;
	FpbFilledNode more;

	end_run(fill, &ended);
	if (node->open + node->before < FEW_DUPLICATES || node->open < 2 || fpb_fill_holds(fill, &ended))
	{
		*node = ended;
		return -1;
	}
	begin_next(&next, 1);
	end_run(fill, &next);
	more = next;
	more.entries++;
	more.runs++;
	if (key != NULL)
		fpb_span_add(&more.span, key);
	if (!fpb_fill_holds(fill, &more))
	{
		*node = ended;
		return -1;
	}
	*node = next;
	return 1;
}

/*
 * See fpb_fill_take.
 */
int
fpb_fill_take_runs(const FpbFill *fill, FpbFilledNode *node, bool same, const FpbKey *key)
{
	int			moved = -1;

	if (node->entries > 0)
	{
		if (!same)
			moved = take_end(fill, node, key);
		node->entries++;
		node->runs += !same;
		node->open++;
		fpb_span_add(&node->span, key);
		if (moved >= 0 || fpb_fill_holds(fill, node))
			return moved;
		node->open--;
	}
	begin_next(node, 0);
	node->entries = node->runs = node->open = 1;
	fpb_span_add(&node->span, key);
	return 0;
}

/*
 * How many nodes count entries take, with fill entries in each.
 */
static inline int
nodes_for(int count, int fill)
{
	return (count + fill - 1) / fill;
}

/* --- tuples: postings --- */

/*
 * Bytes of each TID of a posting that has these entries.
 */
int
fpb_packed_width(const FpbIndex *ix, const FpbEntry *entries, int n)
{
	int			width = FPB_SHORT_TAIL;

	for (int i = 0; i < n; i++)
		width = Max(width, fpb_posting_width_for(ix, entries[i].key.tuple, entries[i].key.tail));
	return width;
}

/*
 * How many of sorted entries, from the first on, are alike: they have the
 * first one's key, and their TIDs take as many bytes where they are now, or
 * need no more, if they are plain tuples.  No more than most are counted.
 */
static int
entries_alike(const FpbIndex *ix, const FpbEntry *entries, int most)
{
	int			width = 0;
	int			n;

	for (n = 0; n < most && fpb_keys_identical(ix, &entries[0].key, &entries[n].key); n++)
	{
		IndexTuple	tuple = entries[n].key.tuple;
		bool		posting = fpb_is_posting(tuple);
		int			now = fpb_packed_width(ix, &entries[n], 1);

		if (posting)
			now = Max(now, fpb_posting_width(tuple));
		if (n == 0)
			width = now;
		if (now > width || (posting && now < width))
			break;
	}
	return n;
}

/*
 * How many of n entries that are alike one posting holds.
 */
static int
posting_holds(const FpbIndex *ix, const FpbEntry *entries, int n)
{
	int			most = 1;
	int			fit = 0;

	for (int width = FPB_SHORT_TAIL; width <= FPB_TAIL_BYTES; width++)
	{
		while (fit < n && fpb_packed_width(ix, &entries[fit], 1) <= width)
			fit++;
		most = Max(most, Min(fit, fpb_posting_most(ix, entries[0].key.tuple, width)));
	}
	return most;
}

/*
 * How many of sorted entries, from the first on, the first slot gets: of those
 * that are alike, as many as can be.  What is alike behind all these comes
 * along if all of it does, and takes no more room so.  FORMAT.md ("A page made
 * afresh fits") tells why.
 */
static int
slot_entries(const FpbIndex *ix, const FpbShape *shape,
			 const FpbEntry *entries, int nentries)
{
	IndexTuple	tuple = entries[0].key.tuple;
	int			n;
	int			alike;
	int			most;

	if (ix->max_posting == 0 || shape->child_off != 0 || nentries < 2 ||
		!fpb_keys_identical(ix, &entries[0].key, &entries[1].key))
		return 1;
	most = Min(nentries, fpb_posting_most(ix, tuple, FPB_SHORT_TAIL) + 1);
	n = entries_alike(ix, entries, most);
	n = posting_holds(ix, entries, n);
	for (; n < most && fpb_keys_identical(ix, &entries[0].key, &entries[n].key); n += alike)
	{
		int			width = fpb_packed_width(ix, entries, n);
		int			wider;

		alike = entries_alike(ix, entries + n, most - n);
		wider = fpb_packed_width(ix, entries, n + alike);
		if (n + alike > fpb_posting_most(ix, tuple, wider) ||
			!fpb_may_widen(tuple, n, width, wider))
			break;
	}
	return n;
}

/*
 * Pack entries of tuples into slots and these into nodes, with slack slots of
 * a hundred free.  False if a page can't have so many nodes.
 */
bool
fpb_pack_tuples(const FpbIndex *ix, const FpbPageContent *content, int slack,
				FpbPacking *packing)
{
	const FpbShape *shape = fpb_level_shape(ix, content->level);
	int			fill = fpb_plain_fill(shape, slack);
	int			nslots = 0;
	int			nnodes;
	int			at = 0;

	for (int i = 0; i < content->nentries; i += packing->slots[nslots++])
	{
		if (nslots == FPB_MAX_PAGE_ENTRIES)
			return false;
		packing->slots[nslots] = slot_entries(ix, shape, content->entries + i,
											  content->nentries - i);
	}
	nnodes = nodes_for(nslots, fill);
	if (nnodes > FPB_MAX_NODES)
		return false;
	packing->nnodes = nnodes;
	packing->spread = slack > 0;

	/* evenly, or all but the last one filled */
	for (int i = 0; i < nnodes; i++)
	{
		FpbPackedNode *node = &packing->nodes[i];
		int			from = slack > 0 ? nslots * i / nnodes : i * fill;
		int			to = slack > 0 ? nslots * (i + 1) / nnodes :
			Min(nslots, from + fill);

		node->start = at;
		node->slot = from;
		node->nslots = to - from;
		node->codec = content->level == 0 ? FPB_NODE_TUPLES : FPB_NODE_PLAIN;
		for (int slot = from; slot < to; slot++)
			at += packing->slots[slot];
		node->count = at - node->start;
	}
	return true;
}

/* --- words --- */

/*
 * What n entries, at least one, span.
 */
static FpbSpan
span_of(const FpbEntry *entries, int n)
{
	FpbSpan		span = {0};

	fpb_span_add(&span, &entries[n - 1].key);
	for (int i = 0; i < n - 1; i++)
		fpb_span_add(&span, &entries[i].key);
	return span;
}

/*
 * The codec of a node of these entries, of so many keys.
 */
static FpbCodec
choose_codec(const FpbIndex *ix, int level, const FpbFill *fill,
			 const FpbEntry *entries, int nentries, int nruns)
{
	const FpbShape *shape = fpb_level_shape(ix, level);
	FpbSpan		span;
	FpbCodec	pairs;
	int			form;

	if (level > 0)
		return FPB_NODE_PLAIN;
	span = span_of(entries, nentries);
	pairs = fpb_span_codec(ix, &span);
	form = fpb_pairs_form(pairs);
	if (nentries > fill->pairs[form])
		return FPB_NODE_RUNS;
	if (fill->runs_room > 0 &&
		8 * nentries * fpb_runs_room(shape) >=
		RUNS_WORTH * shape->pairs[form] * (nruns * fpb_run_bytes(ix) + nentries * span.width))
		return FPB_NODE_RUNS;
	return pairs;
}

/*
 * Give n nodes the same number of entries.
 */
static void
share_out(FpbPackedNode *nodes, int n)
{
	int			start = nodes->start;
	int			count = 0;

	for (int i = 0; i < n; i++)
		count += nodes[i].count;
	for (int i = 0; i < n; i++)
	{
		nodes[i].start = nodes[i].slot = start + count * i / n;
		nodes[i].count = nodes[i].nslots = start + count * (i + 1) / n - nodes[i].start;
	}
}

/*
 * Give each sequence of nodes of one codec, that are no runs nodes, the same
 * number of entries in each, unless some have no room for so many of theirs
 * then.
 */
static void
even_out(const FpbIndex *ix, int level, const FpbEntry *entries, const FpbFill *fill,
		 FpbPacking *packing)
{
	int			end;

	for (int first = 0; first < packing->nnodes; first = end)
	{
		FpbPackedNode *nodes = &packing->nodes[first];
		FpbPackedNode evened[FPB_MAX_NODES];
		int			n;
		bool		fits = true;

		for (end = first; end < packing->nnodes &&
			 packing->nodes[end].codec == nodes->codec;)
			end++;
		n = end - first;
		if (fpb_codec_shares_key(nodes->codec))
			continue;
		memcpy(evened, nodes, n * sizeof(FpbPackedNode));
		share_out(evened, n);
		for (int i = 0; level == 0 && i < n && fits; i++)
		{
			FpbPackedNode *node = &evened[i];

			node->codec = choose_codec(ix, level, fill, entries + node->start, node->count,
									   node->count);
			fits = !fpb_codec_shares_key(node->codec);
		}
		if (fits)
			memcpy(nodes, evened, n * sizeof(FpbPackedNode));
	}
}

/*
 * Is a node all of one run, which goes on behind it?
 */
static bool
is_within_run(const FpbIndex *ix, const FpbEntry *entries, int nentries,
			  const FpbPacking *packing, int i)
{
	const FpbPackedNode *node = &packing->nodes[i];
	int			end = node->start + node->count;

	if (node->codec != FPB_NODE_RUNS || node->nruns > 1)
		return false;
	return end == nentries ? packing->goes_on :
		fpb_keys_identical(ix, &entries[end - 1].key, &entries[end].key);
}

/*
 * The same for nodes within a long run: these are amid it.  (But if TIDs of
 * the run differ in width, not all nodes have room for as many.)
 */
static void
even_out_runs(const FpbIndex *ix, const FpbEntry *entries, int nentries,
			  const FpbFill *fill, FpbPacking *packing)
{
	int			end;

	for (int first = 0; first < packing->nnodes; first = end + 1)
	{
		const FpbPackedNode *last;

		for (end = first; end < packing->nnodes && is_within_run(ix, entries, nentries, packing, end);)
			end++;
		if (end == first ||
			(end - first <= DENSE_NODES &&
			 (first > 0 || packing->before <= fill->most_before)))
			continue;
		for (int i = first; i < end; i++)
			packing->nodes[i].amid = true;
		last = &packing->nodes[end - 1];
		if (fpb_tail_width(entries[packing->nodes[first].start].key.tail) ==
			fpb_tail_width(entries[last->start + last->count - 1].key.tail))
			share_out(&packing->nodes[first], end - first);
	}
}

/*
 * End the last node, if there is one, before the entry of this number.
 */
static void
end_node(FpbPacking *packing, int end, int nruns)
{
	FpbPackedNode *node;

	if (packing->nnodes == 0)
		return;
	node = &packing->nodes[packing->nnodes - 1];
	node->count = end - node->start;
	node->nruns = nruns;
}

/*
 * Begin another node with the entry of this number.  The last one has so many
 * runs.  False if a page can't have so many nodes.
 */
static bool
begin_node(FpbPacking *packing, int start, int nruns)
{
	end_node(packing, start, nruns);
	if (packing->nnodes == FPB_MAX_NODES)
		return false;
	packing->nodes[packing->nnodes++].start = start;
	return true;
}

/*
 * Pack entries of words into as few nodes as can be, filled so.  spread: nodes
 * of pairs that follow each other get the same number of entries.  False if a
 * page can't have so many nodes.
 *
 * Whatever a node holds, it also holds a part of.  So if each node gets as
 * many entries as it holds, no packing is further after as many nodes.
 */
bool
fpb_pack_words(const FpbIndex *ix, int level, const FpbEntry *entries, int nentries,
			   const FpbFill *fill, bool spread, FpbPacking *packing)
{
	FpbFilledNode filled = {.before = fill->before};

	packing->spread = spread;
	packing->before = fill->before;
	packing->goes_on = fill->end == FPB_RUN_GOES_ON;
	packing->nnodes = 0;
	for (int i = 0; i < nentries; i++)
	{
		bool		same = i > 0 && fill->runs_room > 0 &&
			fpb_keys_identical(ix, &entries[i - 1].key, &entries[i].key);
		int			nruns = filled.runs;
		int			moved = fpb_fill_take(fill, &filled, same, &entries[i].key);

		if (moved >= 0 && !begin_node(packing, i - moved, nruns))
			return false;
	}
	if (fill->end == FPB_RUN_ENDS && nentries > 0)
	{
		int			nruns = filled.runs;
		int			moved = take_end(fill, &filled, NULL);

		if (moved >= 0 && !begin_node(packing, nentries - moved, nruns))
			return false;
	}
	end_node(packing, nentries, filled.runs);
	for (int i = 0; i < packing->nnodes; i++)
	{
		FpbPackedNode *node = &packing->nodes[i];

		node->slot = node->start;
		node->nslots = node->count;
		node->codec = choose_codec(ix, level, fill, entries + node->start, node->count, node->nruns);
		node->amid = false;
	}
	if (!spread)
		return true;
	even_out(ix, level, entries, fill, packing);
	even_out_runs(ix, entries, nentries, fill, packing);
	return true;
}

/*
 * Write the i'th node of packed entries, which is a runs node.
 */
void
fpb_write_packed_runs(const FpbIndex *ix, char *node, const FpbEntry *entries,
					  int nentries, const FpbPacking *packing, int i)
{
	const FpbPackedNode *packed = &packing->nodes[i];
	const FpbEntry *first = entries + packed->start;
	const FpbEntry *end = first + packed->count;
	int			before = 0;

	/* no more of those than count for much */
	while (first - before > entries && before < MOST_BEFORE * packed->count &&
		   fpb_keys_identical(ix, &first[-1 - before].key, &first->key))
		before++;
	if (first - before == entries)
		before = Min(before + packing->before, MOST_BEFORE * packed->count);
	fpb_write_runs(ix, fpb_leaf_shape(ix), node, first, packed->count, packed->nruns,
				   packing->spread, before,
				   end == entries + nentries ? packing->goes_on :
				   fpb_keys_identical(ix, &end[-1].key, &end->key), packed->amid);
}
