/*-------------------------------------------------------------------------
 *
 * page/disk_first/bulk_fill.c
 *	  Bulk load: when is a disk-first page full?
 *
 * A page takes entries until it is as full as the fill factor says.  Its
 * entries count as they will be packed into slots and nodes
 * (page/disk_first/pack.c), and a high fence as long as the last entry counts,
 * too: the separator from the next entry takes no more.  The first two entries
 * are taken in any case; if they are so long that they leave no room for the
 * fence, it is elided.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "page/disk_first/disk_first.h"

/*
 * Where entries share keys, a page leaves room for more TIDs: for one for so
 * many that come after others of their key.  The third entry of a key counts
 * as so many, because of keys with few entries some soon get more than their
 * share.
 */
#define TIDS_SPARED			10
#define THIRD_TID			6

/* the details of a filler */
typedef struct FillState
{
	FpbFill		fill;			/* how full nodes get */

	/* words */
	int			nodes;			/* begun, */
	FpbFilledNode last;			/* the last of which is this */

	/* tuples */
	int			prefix;			/* that the leaf's entries would have, */
	int			fences;			/* bytes of the low one, as far as it is not
								 * an entry's, too */
	int			nslots;			/* that the entries take */
	int			tuples;			/* bytes of their tuples, */
	int			shared;			/* and of TIDs that share a key, see
								 * TIDS_SPARED */
	int			last_slot;		/* entries in the last of the slots, */
	int			last_width;		/* with TIDs of so many bytes; */
	int			narrow;			/* how many of them came before all that need
								 * so many, */
	int			narrow_width;	/* and need no more than so many */
} FillState;

StaticAssertDecl(sizeof(FillState) <= sizeof(((FpbFiller *) NULL)->details),
				 "a filler must have room for the layout's details");

#define State(filler)	((FillState *) (filler)->details)

static inline const FpbShape *
filler_shape(const FpbFiller *filler)
{
	return fpb_level_shape(filler->ix, filler->level);
}

/*
 * Begin a page.
 */
void
fpb_disk_first_filler_begin(FpbFiller *filler)
{
	FillState  *state = State(filler);
	int			before = state->last.before + state->last.open;

	memset(state, 0, sizeof(FillState));
	fpb_fill_with_slack(filler->ix, filler->level, filler->slack, &state->fill);

	/* the run of most of the last page goes on here */
	if (state->fill.runs_room > 0 && before > state->fill.most_before &&
		filler->low->tail != FPB_TAIL_MIN)
		state->fill.before = state->last.before = before;

	/* an inner page's first key is its low fence */
	if (filler->low != NULL && filler->low->tuple != NULL && filler->level == 0)
		state->fences = fpb_tuple_space(filler->ix, filler->low->tuple);
}

/* --- words --- */

/*
 * Has the page room for another entry with this key, the last one's or
 * another?  (fpb_pack_words packs alike.)
 */
static bool
word_fits(FpbFiller *filler, const FpbKey *key, bool same)
{
	FillState  *state = State(filler);
	bool		full = state->nodes == filler_shape(filler)->max_nodes;
	FpbFilledNode last = {0};

	if (full)
		last = state->last;
	if (fpb_fill_take(&state->fill, &state->last, same, key) < 0)
		return true;
	if (full)
		state->last = last;
	else
		state->nodes++;
	return !full;
}

/* --- tuples --- */

/*
 * Bytes that the page takes with so many slots and bytes of tuples.  *free:
 * bytes among them of slots that are not filled.
 */
static int
page_space(const FpbFiller *filler, int nslots, int tuples, int *free)
{
	const FillState *state = State(filler);
	const FpbShape *shape = filler_shape(filler);
	int			nodes = (nslots + state->fill.plain - 1) / state->fill.plain;
	int			dircap = fpb_directory_capacity(filler->ix, shape, nodes, BLCKSZ);

	*free = (nodes * shape->nslots - nslots) * (shape->size / shape->nslots);
	return fpb_page_base(Max(dircap, nodes), fpb_numbers_capacity(filler->ix, Max(dircap, nodes))) + state->fences +
		nodes * (shape->size + shape->killed_bytes) + tuples;
}

/*
 * Count another entry, which continues the last run or begins another one.
 * (fpb_pack_tuples packs alike.)
 */
static void
add_entry(const FpbFiller *filler, FillState *state, const FpbKey *key, bool same)
{
	const FpbIndex *ix = filler->ix;
	FpbTupleSpace space;
	IndexTuple	tuple = filler->level > 0 ? key->tuple :
		fpb_cut_header(ix, key->tuple, state->prefix, &space);
	int			width = fpb_posting_width_for(ix, tuple, key->tail);
	bool		wider = same && width > state->last_width;

	if (same)
		state->shared += state->last_slot == 2 ? THIRD_TID * width : width;
	if (same && state->last_slot < fpb_posting_most(ix, tuple, width) &&
		(!wider || fpb_may_widen(tuple, state->last_slot, state->last_width, width)))
	{
		state->tuples += fpb_posting_space(ix, tuple, state->last_slot + 1, width) -
			fpb_posting_space(ix, tuple, state->last_slot, state->last_width);
		if (wider)
		{
			state->narrow = state->last_slot;
			state->narrow_width = state->last_width;
		}
		state->last_slot++;
	}
	else if (same && !wider && state->narrow > 0)
	{
		/* not all that need so many bytes fit in, so none does */
		int			rest = state->last_slot + 1 - state->narrow;

		state->tuples += fpb_posting_space(ix, tuple, state->narrow, state->narrow_width) +
			fpb_posting_space(ix, tuple, rest, width) -
			fpb_posting_space(ix, tuple, state->last_slot, width);
		state->nslots++;
		state->last_slot = rest;
		state->narrow = 0;
	}
	else
	{
		state->tuples += fpb_tuple_space(ix, tuple);
		state->nslots++;
		state->last_slot = 1;
		state->narrow = 0;
	}
	state->last_width = width;
}

/*
 * Count all entries of a leaf anew, whose tuples are cut by so many bytes.
 */
static void
count_anew(FpbFiller *filler, FillState *state, int prefix)
{
	const FpbIndex *ix = filler->ix;

	state->prefix = prefix;
	state->nslots = state->tuples = state->shared = 0;
	state->last_slot = state->last_width = state->narrow = state->narrow_width = 0;
	for (int i = 0; i < filler->nentries; i++)
		add_entry(filler, state, &filler->entries[i].key, i > 0 && ix->one_key &&
				  fpb_keys_identical(ix, &filler->entries[i - 1].key, &filler->entries[i].key));
}

/*
 * Has the page room for another entry, which continues the last run or begins
 * another one?  What is farther from the low fence shortens the prefix, now
 * and then.
 */
static bool
tuple_fits(FpbFiller *filler, const FpbKey *key, bool same)
{
	FillState	state = *State(filler);
	int			used;
	int			free;

	if (filler->ix->cut_most > 0 && filler->level == 0 && filler->low != NULL && !same)
	{
		int			prefix = fpb_common_prefix(filler->ix, filler->low->tuple, key->tuple);

		if (prefix != state.prefix)
			count_anew(filler, &state, prefix);
	}
	add_entry(filler, &state, key, same);

	/*
	 * However low the fill factor: a page has two entries, if they fit.  A
	 * separator takes no more room than the entry before it.
	 */
	used = page_space(filler, state.nslots, state.tuples, &free);
	if (filler->nentries >= 2)
		used += fpb_tuple_space(filler->ix, key->tuple);
	if (used > BLCKSZ ||
		(filler->nentries >= 2 && filler->slack > 0 &&
		 used - free + state.shared / TIDS_SPARED > BLCKSZ - BLCKSZ * filler->slack / 100))
		return false;
	*State(filler) = state;
	return true;
}

/* --- pages --- */

/*
 * Take another entry, unless the page is as full as it should be.
 */
bool
fpb_disk_first_filler_take(FpbFiller *filler, const FpbEntry *entry, bool same)
{
	return fpb_is_word(filler->ix) ? word_fits(filler, &entry->key, same) :
		tuple_fits(filler, &entry->key, same);
}

/*
 * Write the page.  False if there is no room for the high fence.
 */
bool
fpb_disk_first_filler_write(const FpbFiller *filler,
							const FpbPageContent *content)
{
	const FpbIndex *ix = filler->ix;
	FpbFill		fill = State(filler)->fill;
	FpbPacking	packing;

	/* (what was known of the run before has told how much the page takes) */
	fpb_fill_between_fences(ix, content, &fill);
	fill.before = State(filler)->fill.before;
	if (!(fpb_is_word(ix) ?
		  fpb_pack_words(ix, content->level, content->entries, content->nentries,
						 &fill, filler->slack > 0, &packing) :
		  fpb_pack_tuples(ix, content, filler->slack, &packing)))
		return false;
	return fpb_write_page(ix, filler->page, content, &packing, 0);
}

/*
 * Has the page room for this high fence?  When its last entry was added there
 * was room for another tuple of that size.  (Not so for its first two; they
 * stay, and the fence is elided.)
 */
bool
fpb_disk_first_filler_fence_fits(const FpbFiller *filler, const FpbKey *high)
{
	const FillState *state = State(filler);
	int			free;

	return fpb_is_word(filler->ix) || filler->nentries <= 2 ||
		page_space(filler, state->nslots, state->tuples, &free) +
		fpb_tuple_space(filler->ix, high->tuple) <= BLCKSZ;
}
