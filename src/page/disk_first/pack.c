/*-------------------------------------------------------------------------
 *
 * page/disk_first/pack.c
 *	  Packing sorted entries into the slots and nodes of a page.
 *
 * A run is the entries of one key.  In the tuple form a run goes into
 * postings, as many entries into each as it can hold.  In the word forms a run
 * may go into one-key nodes, which have the key once, or into plain nodes,
 * which it shares with other runs, or partly into both.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "page/disk_first/disk_first.h"

/*
 * Word forms: a run gets a one-key node if it would fill this share of a plain
 * one.  A shorter run would waste more of the node than its repeated keys
 * take.
 */
#define ONE_KEY_RUN(shape)	((shape)->nslots * 2 / 3)

/* --- fills --- */

/*
 * How many of nslots slots to fill, if slack of a hundred are to be left free.
 */
static int
slots_to_fill(int nslots, int slack)
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
	int			fill = slots_to_fill(shape->nslots, slack);

	return slack > 0 ? Min(fill, shape->most) : fill;
}

/*
 * How many slots of a one-key node to fill, if slack of a hundred slots of a
 * plain one are to be free.  It has about twice as many, so half the share
 * leaves as many gaps.
 */
int
fpb_one_key_fill(const FpbShape *shape, int slack)
{
	return slots_to_fill(fpb_one_key_slots(shape), slack / 2);
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
 * How many of sorted entries, from the first on, the first slot gets.
 */
static int
slot_entries(const FpbIndex *ix, const FpbShape *shape,
			 const FpbEntry *entries, int nentries)
{
	int			n = 1;
	int			most;

	if (ix->max_posting == 0 || shape->child_off != 0 || nentries < 2 ||
		!fpb_keys_identical(ix, &entries[0].key, &entries[1].key))
		return 1;
	most = Min(nentries, fpb_posting_most(ix, entries[0].key.tuple));
	while (n < most && fpb_keys_identical(ix, &entries[0].key, &entries[n].key))
		n++;
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
		node->codec = FPB_NODE_PLAIN;
		for (int slot = from; slot < to; slot++)
			at += packing->slots[slot];
		node->count = at - node->start;
	}
	return true;
}

/* --- words: writing down the nodes --- */

/*
 * Nodes being written down, from the last one to the first: packing->nodes
 * from at on have been.  at is -1 once there are too many.
 */
typedef struct PackWriter
{
	FpbPacking *packing;
	int			at;
	int			plain_fill;		/* slots to fill of a plain node, */
	int			one_key_fill;	/* and of a one-key node */
} PackWriter;

static void
begin_packing(const FpbShape *shape, int slack, FpbPacking *packing, int nnodes,
			  PackWriter *w)
{
	packing->spread = slack > 0;
	w->packing = packing;
	w->at = nnodes;
	w->plain_fill = fpb_plain_fill(shape, slack);
	w->one_key_fill = fpb_one_key_fill(shape, slack);
}

/*
 * How many slots to fill of a node of this codec.
 */
static inline int
slots_filled(const PackWriter *w, FpbCodec codec)
{
	switch (codec)
	{
		case FPB_NODE_PLAIN:
			return w->plain_fill;
		case FPB_NODE_ONE_KEY:
			return w->one_key_fill;
	}
	pg_unreachable();
}

/*
 * Put the nodes that entries [start, end) fill before those that have been
 * written down: evenly, or with all but the last one filled.
 */
static void
put_nodes(PackWriter *w, int start, int end, FpbCodec codec)
{
	bool		evenly = w->packing->spread;
	int			fill = slots_filled(w, codec);
	int			count = end - start;
	int			nnodes = nodes_for(count, fill);

	if (nnodes > w->at)
		w->at = -1;
	if (w->at < 0)
		return;
	w->at -= nnodes;
	for (int i = 0; i < nnodes; i++)
	{
		FpbPackedNode *node = &w->packing->nodes[w->at + i];
		int			from = evenly ? (int) ((int64) count * i / nnodes) : i * fill;
		int			to = evenly ? (int) ((int64) count * (i + 1) / nnodes) :
			Min(count, from + fill);

		node->start = node->slot = start + from;
		node->count = node->nslots = to - from;
		node->codec = codec;
	}
}

/* --- words: by the length of runs --- */

/*
 * How many entries of a run go into one-key nodes.  If they would fill too
 * little of the last one, that part is left to a plain node, shared with the
 * entries behind.
 */
int
fpb_one_key_packing(const FpbShape *shape, int run, int fill)
{
	if (run < ONE_KEY_RUN(shape))
		return 0;
	if (run > fill && run % fill < ONE_KEY_RUN(shape))
		return run - run % fill;
	return run;
}

/*
 * Is there a run of at least enough entries?
 *
 * Entries that lie half of that apart are compared.  A run of so many contains
 * two neighbours of these, wherever it begins; so only a run that two of them
 * share is measured.  (To compare all entries would cost more than the rest of
 * the caller's work, which is done once a node.)
 */
static bool
has_run(const FpbIndex *ix, const FpbEntry *entries, int nentries, int enough)
{
	int			step = Max(enough / 2, 1);

	for (int i = step; i < nentries; i += step)
	{
		int			first = i - step;
		int			end = i + 1;

		if (!fpb_keys_identical(ix, &entries[first].key, &entries[i].key))
			continue;
		while (first > 0 && fpb_keys_identical(ix, &entries[first - 1].key, &entries[i].key))
			first--;
		while (end < nentries && fpb_keys_identical(ix, &entries[end].key, &entries[i].key))
			end++;
		if (end - first >= enough)
			return true;
	}

	/* any entry will do */
	return nentries > 0 && enough <= 1;
}

/*
 * Pack entries of words into nodes so that every long run has one-key nodes,
 * which have room for many more duplicates.  False if a page can't have so
 * many nodes.
 */
bool
fpb_pack_by_runs(const FpbIndex *ix, const FpbPageContent *content, int slack,
				 FpbPacking *packing)
{
	const FpbShape *shape = fpb_level_shape(ix, content->level);
	const FpbEntry *entries = content->entries;
	bool		one_key = ix->one_key && content->level == 0 &&
		has_run(ix, entries, content->nentries, ONE_KEY_RUN(shape));
	int			end = content->nentries;	/* of entries not yet packed */
	int			last = end;		/* of the run looked at */
	PackWriter	w;

	begin_packing(shape, slack, packing, FPB_MAX_NODES, &w);

	/* from the end, as put_nodes wants it */
	while (one_key && last > 0 && w.at >= 0)
	{
		int			start = last - 1;
		int			behind;		/* the run's entries in one-key nodes */

		while (start > 0 &&
			   fpb_keys_identical(ix, &entries[start - 1].key, &entries[last - 1].key))
			start--;
		behind = start + fpb_one_key_packing(shape, last - start, w.one_key_fill);
		if (behind > start)
		{
			put_nodes(&w, behind, end, FPB_NODE_PLAIN);
			put_nodes(&w, start, behind, FPB_NODE_ONE_KEY);
			end = start;
		}
		last = start;
	}
	put_nodes(&w, 0, end, FPB_NODE_PLAIN);
	if (w.at < 0)
		return false;
	packing->nnodes = FPB_MAX_NODES - w.at;
	memmove(packing->nodes, packing->nodes + w.at,
			packing->nnodes * sizeof(FpbPackedNode));
	return true;
}

/* --- words: the fewest nodes --- */

/*
 * Is there a run so long that fpb_pack_by_runs may have given it nodes of its
 * own, or that a one-key node would hold more of its entries than a plain one?
 * If there is none, no packing has fewer nodes than that of plain ones alone,
 * which fpb_pack_by_runs makes.
 */
bool
fpb_pack_has_long_run(const FpbIndex *ix, const FpbPageContent *content,
					  int slack)
{
	const FpbShape *shape = fpb_level_shape(ix, content->level);

	return has_run(ix, content->entries, content->nentries,
				   Min(ONE_KEY_RUN(shape), fpb_plain_fill(shape, slack) + 1));
}

/* a run, packed in the best way */
typedef struct WordRun
{
	int			start;			/* its first entry */
	int			count;
	int			one_key;		/* one-key nodes it has */
	int			front;			/* entries in the plain node before these */
	int			nodes;			/* of all entries up to its end, */
	int			free;			/* and slots left of a last, plain one */
} WordRun;

/*
 * Pack a run with so many one-key nodes, behind runs that have been packed as
 * *before says.
 *
 * The order of the keys fixes that of the nodes.  So of the entries that go to
 * plain nodes, the run's first ones take the slots that are left in the node
 * before.  The others, its last ones, go to new nodes, which the next runs go
 * on to fill.
 */
static WordRun
pack_run(const PackWriter *w, const WordRun *before, int start, int count,
		 int one_key)
{
	WordRun		run = {.start = start,.count = count,.one_key = one_key};
	int			rest = Max(0, count - one_key * w->one_key_fill);
	int			plain;

	run.front = Min(rest, before->free);
	plain = nodes_for(rest - run.front, w->plain_fill);
	run.nodes = before->nodes + one_key + plain;
	run.free = plain * w->plain_fill - (rest - run.front);
	if (one_key == 0 && plain == 0)
		run.free = before->free - run.front;
	return run;
}

/*
 * Find the best packing of each run of entries of words, with w's fills: into
 * runs[], behind its first element, which stands for no run.  Returns the last
 * run's.
 *
 * What the entries before a run have in common with it is the last node, if it
 * is plain and not full.  Of two packings of them, the one with fewer nodes is
 * better whatever comes, because another node would give it as many free slots
 * as can be.  So the best packing of each run, from the first on, is part of
 * the best packing of all.
 */
static WordRun *
pack_all_runs(const FpbIndex *ix, const FpbPageContent *content,
			  const PackWriter *w, WordRun *runs)
{
	const FpbEntry *entries = content->entries;
	WordRun    *last = runs;

	memset(last, 0, sizeof(WordRun));
	for (int start = 0; start < content->nentries; start += last->count)
	{
		int			count = 1;
		int			most = 0;
		WordRun    *best = last + 1;

		while (start + count < content->nentries &&
			   fpb_keys_identical(ix, &entries[start + count].key, &entries[start].key))
			count++;
		if (count > 1 && ix->one_key)
			most = nodes_for(count, w->one_key_fill);
		*best = pack_run(w, last, start, count, 0);

		/* with three nodes less, another plain one would have to be there */
		for (int n = Max(1, most - 2); n <= most; n++)
		{
			WordRun		run = pack_run(w, last, start, count, n);

			if (run.nodes < best->nodes ||
				(run.nodes == best->nodes && run.free > best->free))
				*best = run;
		}
		last = best;
	}
	return last;
}

/*
 * Pack entries of words into as few nodes as can be.  False if a page can't
 * have so many.
 */
bool
fpb_pack_fewest_nodes(const FpbIndex *ix, const FpbPageContent *content,
					  int slack, FpbPacking *packing)
{
	WordRun    *runs = palloc((content->nentries + 1) * sizeof(WordRun));
	WordRun    *last;
	int			end = content->nentries;	/* of entries not yet written down */
	PackWriter	w;

	begin_packing(fpb_level_shape(ix, content->level), slack, packing, 0, &w);
	last = pack_all_runs(ix, content, &w, runs);
	packing->nnodes = w.at = last->nodes;
	if (last->nodes > FPB_MAX_NODES)
	{
		pfree(runs);
		return false;
	}

	for (const WordRun *run = last; run > runs; run--)
	{
		int			start = run->start + run->front;
		int			behind = start + Min(run->count, run->one_key * w.one_key_fill);

		if (behind == start)
			continue;
		put_nodes(&w, behind, end, FPB_NODE_PLAIN);
		put_nodes(&w, start, behind, FPB_NODE_ONE_KEY);
		end = start;
	}
	put_nodes(&w, 0, end, FPB_NODE_PLAIN);
	Assert(w.at == 0);
	pfree(runs);
	return true;
}
