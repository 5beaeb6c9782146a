/*-------------------------------------------------------------------------
 *
 * fpb_layout_load.c
 *	  Bulk load: filling pages with entries that come in order.
 *
 * A page takes entries until it is as full as the fill factor says with them
 * parted into slots and nodes as they will be (fpb_layout_part.c), and with a high
 * fence of the length of the last one, which is the most that a separator from the
 * next entry takes.  Only for the first two of very long entries there may be no
 * room but without: then the fence is elided.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "fpb_layout.h"

struct FpbFiller
{
	const FpbIndex *ix;
	const FpbShape *shape;
	int			level;
	int			slack;
	int			plain_fill;		/* slots to fill of a plain node */
	int			one_key_fill;	/* and of a one-key node */
	bool		one_key;		/* may there be one-key nodes? */

	Page		page;			/* the page begun */
	int			flags;
	FpbKey	   *low;			/* its low fence or NULL */
	FpbKey		low_key;

	FpbEntry   *entries;
	int			nentries;
	int			run;			/* length of the last run of identical keys */

	/* words */
	int			plain;			/* entries of plain nodes before it, since the
								 * last one-key node */
	int			closed;			/* nodes before these */

	/* tuples */
	int			fences;			/* bytes of the low one, as far as it is not
								 * an entry's, too */
	int			nslots;			/* that the entries take */
	int			tuples;			/* and bytes of their tuples */
	int			last_slot;		/* entries in the last of the slots */

	MemoryContext context;		/* holds the page's tuples */
};

/*
 * Make a filler for the pages of a level, which lives in the current memory
 * context.
 */
FpbFiller *
fpb_filler_create(const FpbIndex *ix, int level, int fillfactor)
{
	FpbFiller  *filler = palloc0(sizeof(FpbFiller));

	filler->ix = ix;
	filler->shape = (level == 0) ? &ix->leaf : &ix->inner;
	filler->level = level;
	filler->slack = 100 - fillfactor;
	filler->plain_fill = fpb_plain_fill(filler->shape, filler->slack);
	filler->one_key_fill = fpb_one_key_fill(filler->shape, filler->slack);
	filler->one_key = ix->one_key && level == 0;
	filler->entries = palloc(sizeof(FpbEntry) * FPB_MAX_PAGE_ENTRIES);
	filler->context = AllocSetContextCreate(CurrentMemoryContext,
											"fpbtree page filler",
											ALLOCSET_DEFAULT_SIZES);
	return filler;
}

/*
 * Copy a tuple into the filler's memory for the page.
 */
static void
keep_tuple(FpbFiller *filler, FpbKey *key)
{
	if (key->tuple != NULL)
	{
		Size		size = IndexTupleSize(key->tuple);
		IndexTuple	copy = MemoryContextAlloc(filler->context, size);

		memcpy(copy, key->tuple, size);
		key->tuple = copy;
	}
}

/*
 * Begin a page.
 */
void
fpb_filler_begin(FpbFiller *filler, Page page, int flags, const FpbKey *low)
{
	filler->page = page;
	filler->flags = flags;
	filler->nentries = filler->run = 0;
	filler->plain = filler->closed = 0;
	filler->fences = 0;
	filler->nslots = filler->tuples = filler->last_slot = 0;
	MemoryContextReset(filler->context);
	filler->low = NULL;
	if (low != NULL)
	{
		filler->low_key = *low;
		filler->low = &filler->low_key;
		keep_tuple(filler, filler->low);

		/* an inner page's first key is its low fence */
		if (low->tuple != NULL && filler->level == 0)
			filler->fences = fpb_tuple_space(low->tuple);
	}
}

/* --- words --- */

/*
 * Nodes that plain entries and the run of duplicates behind them will have to
 * themselves; *rest: entries left to a plain node that more may join.
 */
static int
nodes_closed(const FpbFiller *filler, int plain, int run, int *rest)
{
	int			one_key = fpb_one_key_part(filler->shape, run,
										   filler->one_key_fill);

	if (one_key == 0)
	{
		*rest = plain + run;
		return 0;
	}
	*rest = run - one_key;
	return (plain + filler->plain_fill - 1) / filler->plain_fill +
		(one_key + filler->one_key_fill - 1) / filler->one_key_fill;
}

/*
 * Has the page room for another entry, which continues the last run or begins
 * another one?
 */
static bool
word_fits(FpbFiller *filler, bool same)
{
	int			run = same ? filler->run + 1 : 1;
	int			plain = filler->plain;
	int			closed = filler->closed;
	int			nodes;
	int			rest;

	if (!same && filler->run > 0)
		closed += nodes_closed(filler, plain, filler->run, &plain);
	nodes = closed + nodes_closed(filler, plain, run, &rest);
	nodes += (rest + filler->plain_fill - 1) / filler->plain_fill;
	if (nodes > filler->shape->max_nodes)
		return false;
	filler->plain = plain;
	filler->closed = closed;
	return true;
}

/* --- tuples --- */

/*
 * Bytes that the page takes with so many slots and bytes of tuples; *free: those of
 * slots that are not filled.
 */
static int
page_space(const FpbFiller *filler, int nslots, int tuples, int *free)
{
	const FpbShape *shape = filler->shape;
	int			nodes = (nslots + filler->plain_fill - 1) / filler->plain_fill;
	int			dircap = fpb_directory_capacity(filler->ix, shape, nodes, BLCKSZ);

	*free = (nodes * shape->nslots - nslots) * (shape->size / shape->nslots);
	return fpb_page_base(Max(dircap, nodes)) + filler->fences +
		nodes * (shape->size + shape->hint_bytes) + tuples;
}

/*
 * Has the page room for another entry, which continues the last run or begins
 * another one?
 */
static bool
tuple_fits(FpbFiller *filler, IndexTuple tuple, bool same)
{
	int			nslots = filler->nslots;
	int			tuples = filler->tuples;
	int			last_slot = 1;
	int			used;
	int			free;

	/* (fpb_slot_entries tells alike) */
	if (same && filler->last_slot < fpb_posting_most(filler->ix, tuple))
	{
		last_slot += filler->last_slot;
		tuples -= fpb_posting_space(tuple, filler->last_slot);
	}
	else
		nslots++;
	tuples += fpb_posting_space(tuple, last_slot);

	/*
	 * However low the fill factor: a page has two entries, if they fit.  A
	 * separator takes no more room than the entry before it.
	 */
	used = page_space(filler, nslots, tuples, &free);
	if (filler->nentries >= 2)
		used += MAXALIGN(fpb_posting_size(tuple, 1));
	if (used > BLCKSZ ||
		(filler->nentries >= 2 && used - free > BLCKSZ - BLCKSZ * filler->slack / 100))
		return false;
	filler->nslots = nslots;
	filler->tuples = tuples;
	filler->last_slot = last_slot;
	return true;
}

/* --- pages --- */

/*
 * Add the next entry, unless the page is as full as it should be: then nothing
 * but ending the page may follow.
 */
bool
fpb_filler_add(FpbFiller *filler, const FpbEntry *entry)
{
	bool		same;
	FpbEntry   *last;

	same = filler->nentries > 0 && filler->one_key &&
		fpb_keys_identical(filler->ix, fpb_filler_last(filler), &entry->key);
	if (fpb_is_word(filler->ix) ? !word_fits(filler, same) :
		!tuple_fits(filler, entry->key.tuple, same))
		return false;

	Assert(filler->nentries < FPB_MAX_PAGE_ENTRIES);
	last = &filler->entries[filler->nentries++];
	*last = *entry;
	keep_tuple(filler, &last->key);
	filler->run = same ? filler->run + 1 : 1;
	return true;
}

/*
 * End the page.  A high fence for which there is no room is elided.
 */
void
fpb_filler_end(FpbFiller *filler, const FpbKey *high, BlockNumber right)
{
	FpbNodePart parts[FPB_MAX_NODES];
	uint16		slots[FPB_MAX_PAGE_ENTRIES + 1];
	FpbKey		elided;
	int			nparts;

	if (fpb_is_word(filler->ix))
		nparts = fpb_part_by_runs(filler->ix, filler->shape, filler->entries,
								  filler->nentries, filler->slack, parts);
	else
		nparts = fpb_part_tuples(filler->ix, filler->shape, filler->entries,
								 filler->nentries, filler->slack, parts, slots);
	for (int try = 0; nparts >= 0 && try < 2; try++)
	{
		if (fpb_write_page(filler->ix, filler->page, filler->level,
						   filler->flags, right, filler->low, high,
						   filler->entries, parts, nparts, slots,
						   filler->slack > 0, 0))
			return;
		if (high == NULL)
			break;
		elided = *high;
		elided.tuple = NULL;
		high = &elided;
	}
	elog(ERROR, "%d entries do not fit a page of index \"%s\"",
		 filler->nentries, RelationGetRelationName(filler->ix->rel));
}

/*
 * Can the page be ended with this high fence?  If not, it can with the key of
 * its last entry, once fpb_filler_pop has taken that away: when it was added
 * there was room for another tuple of its size.  (Not so for its first two; they
 * stay, and the fence is elided.)
 */
bool
fpb_filler_fence_fits(const FpbFiller *filler, const FpbKey *high)
{
	int			free;

	return fpb_is_word(filler->ix) || filler->nentries <= 2 ||
		page_space(filler, filler->nslots, filler->tuples, &free) +
		fpb_tuple_space(high->tuple) <= BLCKSZ;
}

/*
 * Take the last of several entries away, which has a tuple; the page can only be
 * ended then.  The entry's tuple is the caller's.
 */
void
fpb_filler_pop(FpbFiller *filler, FpbEntry *entry)
{
	IndexTuple	copy;

	Assert(filler->nentries > 1);
	*entry = filler->entries[--filler->nentries];
	copy = palloc(IndexTupleSize(entry->key.tuple));
	memcpy(copy, entry->key.tuple, IndexTupleSize(entry->key.tuple));
	entry->key.tuple = copy;
}

/*
 * The last entry added, in the filler's memory.
 */
const FpbKey *
fpb_filler_last(FpbFiller *filler)
{
	Assert(filler->nentries > 0);
	return &filler->entries[filler->nentries - 1].key;
}
