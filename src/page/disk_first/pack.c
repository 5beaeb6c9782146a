/*-------------------------------------------------------------------------
 *
 * page/disk_first/pack.c
 *	  Parting sorted entries into the slots and nodes of a page.
 *
 * A run is the entries of one key.  In the tuple form, those of a run go into
 * postings, as many as one can hold into each.  In the word forms, they may go
 * into one-key nodes, which have the key once; or into plain nodes, which runs
 * share; or some here, some there.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "page/disk_first/disk_first.h"

/*
 * Word forms: a run of duplicates gets a one-key node when it would fill this
 * share of a plain one: shorter runs would waste more of the node than the
 * repeated keys.
 */
#define ONE_KEY_RUN(shape)	((shape)->nslots * 2 / 3)

/* --- fills --- */

/*
 * How many of a node's slots to fill, to leave slack slots of a hundred free.
 */
static int
slots_to_fill(int nslots, int slack)
{
	int			fill = (nslots * (100 - slack) + 99) / 100;

	return Max(fill, 1);
}

/*
 * How many slots of a plain node to fill: with slack, no more than it should
 * have entries.
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
 * Nodes that count slots fill.
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
int
fpb_slot_entries(const FpbIndex *ix, const FpbShape *shape,
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
 * Part sorted entries of tuples into slots and these into nodes, with slack
 * slots of a hundred free.  slots[] gets the number of entries in each slot.
 * Returns how many nodes, or -1 if a page can't have so many.
 */
int
fpb_pack_tuples(const FpbIndex *ix, const FpbShape *shape,
				const FpbEntry *entries, int nentries, int slack,
				FpbNodePart *parts, uint16 *slots)
{
	int			fill = fpb_plain_fill(shape, slack);
	int			nslots = 0;
	int			nodes;
	int			at = 0;

	for (int i = 0; i < nentries; i += slots[nslots++])
	{
		if (nslots == FPB_MAX_PAGE_ENTRIES)
			return -1;
		slots[nslots] = fpb_slot_entries(ix, shape, entries + i, nentries - i);
	}
	nodes = nodes_for(nslots, fill);
	if (nodes > FPB_MAX_NODES)
		return -1;

	/* evenly, or all but the last one filled */
	for (int i = 0; i < nodes; i++)
	{
		int			from = slack > 0 ? nslots * i / nodes : i * fill;
		int			to = slack > 0 ? nslots * (i + 1) / nodes :
			Min(nslots, from + fill);

		parts[i].start = at;
		parts[i].slot = from;
		parts[i].nslots = to - from;
		parts[i].codec = FPB_NODE_PLAIN;
		for (int slot = from; slot < to; slot++)
			at += slots[slot];
		parts[i].count = at - parts[i].start;
	}
	return nodes;
}

/* --- words: writing down the nodes --- */

/*
 * Put the nodes that entries [start, end) fill before parts[at], evenly, or
 * with all but the last one filled.  Returns the index of the first of them,
 * or -1 if there are too many.
 */
static int
put_packs(FpbNodePart *parts, int at, int start, int end, int fill, bool evenly,
		  FpbCodec codec)
{
	int			count = end - start;
	int			nodes = nodes_for(count, fill);

	if (nodes > at)
		return -1;
	at -= nodes;
	for (int i = 0; i < nodes; i++)
	{
		int			from = evenly ? (int) ((int64) count * i / nodes) : i * fill;
		int			to = evenly ? (int) ((int64) count * (i + 1) / nodes) :
			Min(count, from + fill);

		parts[at + i].start = parts[at + i].slot = start + from;
		parts[at + i].count = parts[at + i].nslots = to - from;
		parts[at + i].codec = codec;
	}
	return at;
}

/* --- words: by the length of runs --- */

/*
 * How many of a run of duplicates go into one-key nodes: those that would fill
 * too little of the last one are left to a plain node, shared with the entries
 * behind.
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
 * Has a run among entries so many of them?
 *
 * Of any so many entries in succession two are compared that lie half as far
 * apart, wherever the run begins; only where these are identical is the run
 * measured.  (The rest of the caller's work is once a node; this would be once
 * an entry.)
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
 * Part sorted entries of words into nodes so that every long run has one-key
 * nodes, which have room for many more duplicates.  Returns how many nodes, or
 * -1 if a page can't have so many.
 */
int
fpb_pack_by_runs(const FpbIndex *ix, const FpbShape *shape,
				 const FpbEntry *entries, int nentries, int slack,
				 FpbNodePart *parts)
{
	int			plain_fill = fpb_plain_fill(shape, slack);
	int			one_key_fill = fpb_one_key_fill(shape, slack);
	bool		one_key = ix->one_key && shape == fpb_leaf_shape(ix) &&
		has_run(ix, entries, nentries, ONE_KEY_RUN(shape));
	int			at = FPB_MAX_NODES;
	int			end = nentries; /* of entries not yet parted */
	int			last = nentries;	/* of the run looked at */

	/* from the end, as put_packs wants it */
	while (one_key && last > 0 && at >= 0)
	{
		int			start = last - 1;
		int			npart;

		while (start > 0 &&
			   fpb_keys_identical(ix, &entries[start - 1].key, &entries[last - 1].key))
			start--;
		npart = fpb_one_key_packing(shape, last - start, one_key_fill);
		if (npart > 0)
		{
			at = put_packs(parts, at, start + npart, end, plain_fill, slack > 0,
						   FPB_NODE_PLAIN);
			if (at >= 0)
				at = put_packs(parts, at, start, start + npart, one_key_fill,
							   slack > 0, FPB_NODE_ONE_KEY);
			end = start;
		}
		last = start;
	}
	if (at >= 0)
		at = put_packs(parts, at, 0, end, plain_fill, slack > 0, FPB_NODE_PLAIN);
	if (at < 0)
		return -1;
	memmove(parts, parts + at, (FPB_MAX_NODES - at) * sizeof(FpbNodePart));
	return FPB_MAX_NODES - at;
}

/* --- words: the fewest nodes --- */

/*
 * Has a run among sorted entries so many of them that fpb_pack_by_runs may
 * have given it nodes of its own, or that a one-key node would hold more of
 * them than a plain one?  If none has, there are no fewer nodes than with
 * plain ones alone, as fpb_pack_by_runs has parted them.
 */
bool
fpb_pack_has_long_run(const FpbIndex *ix, const FpbShape *shape,
					  const FpbEntry *entries, int nentries, int slack)
{
	return has_run(ix, entries, nentries,
				   Min(ONE_KEY_RUN(shape), fpb_plain_fill(shape, slack) + 1));
}

/* a run, parted in the best way */
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
 * Give a run so many one-key nodes, behind runs that have been parted as
 * *before says.
 *
 * The order of the keys fixes that of the nodes.  So those of its entries that
 * go to plain nodes may as well be its first ones, as far as the node before
 * has slots left, and its last ones in new nodes, which the next runs go on to
 * fill.
 */
static WordRun
pack_run(const WordRun *before, int start, int count, int one_key,
		 int plain_fill, int one_key_fill)
{
	WordRun		run = {.start = start,.count = count,.one_key = one_key};
	int			rest = Max(0, count - one_key * one_key_fill);
	int			plain;

	run.front = Min(rest, before->free);
	plain = nodes_for(rest - run.front, plain_fill);
	run.nodes = before->nodes + one_key + plain;
	run.free = plain * plain_fill - (rest - run.front);
	if (one_key == 0 && plain == 0)
		run.free = before->free - run.front;
	return run;
}

/*
 * Part sorted entries of words into as few nodes as can be.  Returns how many,
 * or -1 if a page can't have so many.
 *
 * What the entries before a run have in common with it is the last node, if it
 * is plain and not full.  Of two ways to part them, one with fewer nodes is
 * better whatever comes, as with another node it has as many slots left as can
 * be.  So the best way for each run, from the first on, is the best for all.
 */
int
fpb_pack_fewest_nodes(const FpbIndex *ix, const FpbShape *shape,
					  const FpbEntry *entries, int nentries, int slack,
					  FpbNodePart *parts)
{
	WordRun    *runs = palloc((nentries + 1) * sizeof(WordRun));
	WordRun    *last = runs;
	int			plain_fill = fpb_plain_fill(shape, slack);
	int			one_key_fill = fpb_one_key_fill(shape, slack);
	int			at;
	int			end = nentries; /* of entries not yet written down */

	memset(last, 0, sizeof(WordRun));
	for (int start = 0; start < nentries; start += last->count)
	{
		int			count = 1;
		int			most = 0;
		WordRun    *best = last + 1;

		while (start + count < nentries &&
			   fpb_keys_identical(ix, &entries[start + count].key, &entries[start].key))
			count++;
		if (count > 1 && ix->one_key)
			most = nodes_for(count, one_key_fill);
		*best = pack_run(last, start, count, 0, plain_fill, one_key_fill);

		/* with three nodes less, another plain one would have to be there */
		for (int n = Max(1, most - 2); n <= most; n++)
		{
			WordRun		run = pack_run(last, start, count, n, plain_fill, one_key_fill);

			if (run.nodes < best->nodes ||
				(run.nodes == best->nodes && run.free > best->free))
				*best = run;
		}
		last = best;
	}

	at = last->nodes;
	if (at > FPB_MAX_NODES)
		at = -1;
	else
	{
		int			nodes = at;

		for (const WordRun *run = last; run > runs; run--)
		{
			int			npart = Min(run->count, run->one_key * one_key_fill);
			int			start = run->start + run->front;

			if (npart == 0)
				continue;
			at = put_packs(parts, at, start + npart, end, plain_fill, slack > 0,
						   FPB_NODE_PLAIN);
			at = put_packs(parts, at, start, start + npart, one_key_fill,
						   slack > 0, FPB_NODE_ONE_KEY);
			end = start;
		}
		at = put_packs(parts, at, 0, end, plain_fill, slack > 0, FPB_NODE_PLAIN);
		Assert(at == 0);
		at = nodes;
	}
	pfree(runs);
	return at;
}
