/*-------------------------------------------------------------------------
 *
 * fuzz_ops.c
 *	  The page fuzzer's operations, each done to the page and to the model.
 *
 * They do what tree/split.c, tree/prune.c, write/vacuum.c and
 * tree/delete_page.c do with a locked page, critical sections and all.  An
 * operation that makes no sense for the page as it is, as may be when a
 * history is made smaller, does nothing.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "fuzz.h"

/* block numbers that pages are given */
#define RIGHT_BLOCK			77	/* right sibling */
#define SPLIT_BLOCK			99	/* of a split */

static const char *const plan_names[] = {
	[FPB_PLAN_SLOT] = "into a slot",
	[FPB_PLAN_APPEND_NODE] = "into a node of its own",
	[FPB_PLAN_SPLIT_NODE] = "node split",
	[FPB_PLAN_SPILL] = "node spills",
	[FPB_PLAN_SPREAD] = "nodes spread",
	[FPB_PLAN_REPACK] = "nodes repacked",
	[FPB_PLAN_LOOSE] = "into any gap",
	[FPB_PLAN_PASS] = "passed on",
	[FPB_PLAN_POSTING] = "into a posting",
	[FPB_PLAN_GROW] = "posting grows",
};

StaticAssertDecl(FUZZ_N_GROW == (FuzzCount) FPB_PLAN_GROW, "plans are counted by kind");

/* --- changes and their log --- */

/*
 * Have replay begin with killed bits: with those that the page has, or with
 * any.  For a page may have been written out with a bit that it has no more: a
 * record may clear bits before it adds a node, and before 19 two backends that
 * set bits of one byte at once may lose one.  And it may have been written by
 * the primary of before, which has set bits that this one has never seen.
 */
static void
leave_bits_to_replay(const Fuzz *f)
{
	int			lower = FpbHdr(f->page)->pd.pd_lower;
	uint8	   *bits;
	Size		size;

	if (f->step % 4 == 0)
		memcpy((char *) f->standby + lower, (char *) f->page + lower,
			   FpbHdr(f->page)->pd.pd_upper - lower);
	if (f->step % 4 != 1 || f->level > 0 || !fuzz_disk_first(f))
		return;
	bits = fpb_killed_bits(f->shape, f->standby);
	size = FpbDir(f->page)->nalloc * f->shape->killed_bytes +
		fpb_killed_tids_bytes(&f->ix, f->shape, f->page);
	memset(bits, 0xFF, size);
}

/*
 * Begin a record of changes to the page, which are made in copy.
 */
static void
begin_record(const Fuzz *f, FpbWalPage *wp, Page copy)
{
	wp->buffer = InvalidBuffer;
	wp->page = copy;
	wp->image = false;
	wp->lower = FpbHdr(f->page)->pd.pd_lower;
	wp->nranges = 0;
	leave_bits_to_replay(f);
}

/*
 * Forget all killed bits: the page's nodes are new.
 */
static void
no_hints(Fuzz *f)
{
	for (int i = 0; i < f->nmodel; i++)
		f->model[i].killed = false;
}

/*
 * The flags that a page with these fences has.
 */
static int
page_flags(const Fuzz *f)
{
	return (f->level == 0 ? FPB_LEAF : 0) |
		(f->low.finite ? 0 : FPB_LEFTMOST) | (f->high.finite ? 0 : FPB_RIGHTMOST);
}

/* --- fences --- */

/*
 * Keep a copy of a fence.
 */
static void
set_fence(Fuzz *f, FuzzFence *fence, const FpbKey *key)
{
	fence->finite = true;
	fence->key = *key;
	if (key->tuple != NULL)
	{
		Size		size = IndexTupleSize(key->tuple);

		fence->key.tuple = MemoryContextAlloc(f->life_context, size);
		memcpy(fence->key.tuple, key->tuple, size);
	}
	if (f->level == 0)
		fence->place = fuzz_leaf_place(f, key);
	else
		fence->place = fuzz_inner_place(f, key, &fence->inner_key);
}

/*
 * Make a fence a key of the inner pool, or infinite if that is -1.
 */
static void
set_pool_fence(Fuzz *f, FuzzFence *fence, int key, uint64 infinite_place)
{
	fence->finite = false;
	fence->place = infinite_place;
	if (key >= 0)
		set_fence(f, fence, &f->inner.keys[key].key);
}

/*
 * A page's high fence as the layout takes it: NULL if it is infinite, without
 * its tuple if it is to be elided.
 */
static const FpbKey *
high_key(const FuzzFence *fence, bool elide, FpbKey *key)
{
	if (!fence->finite)
		return NULL;
	*key = fence->key;
	if (elide)
		key->tuple = NULL;
	return key;
}

/* --- whole pages --- */

/*
 * Take the entries of an operation that are within the fences for the model.
 * An inner page's first one has the low fence for its key.
 */
static void
model_from(Fuzz *f, const FuzzEntry *entries, int n)
{
	f->nmodel = 0;
	if (f->level > 0)
	{
		FuzzEntry  *first = &f->model[f->nmodel++];

		first->place = f->low.place;
		first->key = f->low.finite ? f->low.inner_key : FUZZ_MINUS_INFINITY;
		first->child = f->next_child++;
		first->killed = false;
	}
	for (int i = 0; i < n; i++)
	{
		if (entries[i].place < f->low.place || entries[i].place >= f->high.place ||
			(f->level > 0 && entries[i].place == f->low.place))
			continue;
		f->model[f->nmodel] = entries[i];
		f->model[f->nmodel].child = f->next_child++;
		f->model[f->nmodel++].killed = false;
	}
	f->nmodel = fuzz_sort(f->model, f->nmodel);
}

/*
 * The i'th entry of the model as the layout takes it.
 */
static void
model_entry(const Fuzz *f, int i, FpbEntry *entry)
{
	fuzz_entry_key(f, &f->model[i], &entry->key);
	entry->child = f->level > 0 ? f->model[i].child : InvalidBlockNumber;
}

/*
 * Make the page from the model's first n entries.  False if they don't fit.
 */
static bool
build_from(Fuzz *f, int n, int slack, bool elide)
{
	FpbKey		high;
	FpbPageContent content = {
		.level = f->level,
		.flags = page_flags(f),
		.right = f->high.finite ? RIGHT_BLOCK : InvalidBlockNumber,
		.low = f->low.finite ? &f->low.key : NULL,
		.high = high_key(&f->high, elide, &high),
		.entries = f->found,
		.nentries = n,
	};

	for (int i = 0; i < n; i++)
		model_entry(f, i, &f->found[i]);
	memset(f->page, 0x7E, BLCKSZ);
	return fpb_page_build(&f->ix, f->page, &content, slack);
}

/*
 * Make the page from as many of the entries as fit: with less slack if need
 * be; or just as many as fit with it, if any do.
 */
static bool
build(Fuzz *f, const FuzzHistory *history, const FuzzOp *op)
{
	int			slack = op->percent;
	bool		elide = op->elide;

	f->doing = "build";
	set_pool_fence(f, &f->low, op->low, 0);
	set_pool_fence(f, &f->high, op->high, FUZZ_NO_PLACE);
	if (f->low.finite && f->high.finite &&
		fpb_compare_keys(&f->ix, &f->low.key, &f->high.key) >= 0)
		set_pool_fence(f, &f->high, -1, FUZZ_NO_PLACE);
	model_from(f, history->entries + op->first, op->nentries);

	if (op->full)
	{
		int			fit = 1;
		int			most = f->nmodel;

		while (fit < most)
		{
			int			mid = (fit + most + 1) / 2;

			if (build_from(f, mid, slack, elide))
				fit = mid;
			else
				most = mid - 1;
		}
		f->nmodel = Min(fit, f->nmodel);
	}
	while (!build_from(f, f->nmodel, slack, elide))
	{
		if (f->nmodel <= 1 && slack == 0 && elide)
			fuzz_fail(f, "a page does not hold a single entry");
		if (slack > 0)
			slack = 0;
		else if (f->nmodel <= 1)
			elide = true;
		else
			f->nmodel -= f->nmodel / 8 + 1;
	}
	f->counts[FUZZ_N_BUILD]++;
	return true;
}

/*
 * The same by the bulk loader, which says itself where the page ends.
 */
static bool
fill(Fuzz *f, const FuzzHistory *history, const FuzzOp *op)
{
	FpbFiller  *filler = fpb_filler_create(&f->ix, f->level, op->percent);
	FpbEntry	entry;
	FpbEntry	popped;
	FpbKey		high;
	int			n = 0;

	f->doing = "fill";
	set_pool_fence(f, &f->low, op->low, 0);
	set_pool_fence(f, &f->high, -1, FUZZ_NO_PLACE);
	model_from(f, history->entries + op->first, op->nentries);

	memset(f->page, 0x7E, BLCKSZ);
	fpb_filler_begin(filler, f->page, page_flags(f) & ~FPB_RIGHTMOST,
					 f->low.finite ? &f->low.key : NULL);
	for (; n < f->nmodel; n++)
	{
		model_entry(f, n, &entry);
		if (!fpb_filler_add(filler, &entry))
			break;
	}
	if (n == f->nmodel)
	{
		/* as build/build.c ends a level */
		fpb_filler_end(filler, NULL, InvalidBlockNumber);
		FpbHdr(f->page)->flags |= FPB_RIGHTMOST;
	}
	else
	{
		if (n == 0)
			fuzz_fail(f, "the bulk loader refuses a page's first entry");
		if (f->level == 0)
			fpb_key_separator(&f->ix, fpb_filler_last(filler), &entry.key, &high);
		else if (fpb_filler_fence_fits(filler, &entry.key))
			high = entry.key;
		else
		{
			fpb_filler_pop(filler, &popped);
			high = popped.key;
			n--;
		}
		fpb_filler_end(filler, &high, RIGHT_BLOCK);
		set_fence(f, &f->high, &high);
		f->nmodel = n;
	}
	f->counts[FUZZ_N_FILL]++;
	return true;
}

/* --- splits --- */

/*
 * Check what the two halves say of each other, and that replay of the left
 * one's changes gives the left one.
 */
static void
check_halves(Fuzz *f, const FpbWalPage *left, const FpbWalPage *right)
{
	FpbPageHeader *l = FpbHdr(left->page);
	FpbPageHeader *r = FpbHdr(right->page);
	int			flags = FpbHdr(f->page)->flags;
	FpbKey		low;
	FpbKey		high;

	if ((l->flags & ~FPB_HIGH_ELIDED) !=
		((flags & ~(FPB_RIGHTMOST | FPB_HIGH_ELIDED)) | FPB_INCOMPLETE_SPLIT) ||
		(r->flags | FPB_HIGH_ELIDED) != ((flags & ~FPB_LEFTMOST) | FPB_HIGH_ELIDED) ||
		(FpbPageHighElided(f->page) && !FpbPageHighElided(right->page)) ||
		l->level != f->level || r->level != f->level)
		fuzz_fail(f, "the flags of a page's halves are wrong");
	if (l->right != SPLIT_BLOCK || r->right != FpbHdr(f->page)->right)
		fuzz_fail(f, "the right links of a page's halves are wrong");
	if (!right->image)
		fuzz_fail(f, "the right page of a split is not logged whole");
	fpb_page_high(&f->ix, left->page, &high);
	fpb_page_low(&f->ix, right->page, &low);
	if (FpbPageHighElided(left->page) ? low.head != high.head :
		fpb_compare_keys(&f->ix, &low, &high) != 0)
		fuzz_fail(f, "the fences of a page's halves differ");
	fuzz_check_replay(f, left, left->page);
}

/*
 * Has the page a run without entries?
 */
static bool
has_emptied(const Fuzz *f, Page page)
{
	for (int dir = 0; fuzz_disk_first(f) && dir < FpbDir(page)->nnodes; dir++)
	{
		FpbCodec	codec;
		char	   *node = fpb_page_node(&f->ix, page, dir, &codec);
		FpbRuns		runs;

		if (codec != FPB_NODE_RUNS)
			continue;
		runs = fpb_runs(&f->ix, f->shape, node);
		for (int run = 0; run < runs.nruns; run++)
			if (fpb_next_live(&f->ix, f->shape, codec, node, fpb_run_start(&runs, run)) >= fpb_run_end(&runs, run))
				return true;
	}
	return false;
}

/*
 * Does the left page end with a posting, and the right one begin with the same
 * key?
 */
static bool
has_cut_posting(const Fuzz *f, Page left, Page right)
{
	FpbPos		end = FPB_POS_END;
	FpbPos		begin = FPB_POS_FIRST;
	FpbEntry	last;
	FpbEntry	first;

	return fpb_page_prev(&f->ix, left, &end, &last) &&
		fpb_has_posting(f->shape, &last) &&
		fpb_page_next(&f->ix, right, &begin, &first) &&
		fpb_keys_identical(&f->ix, &last.key, &first.key);
}

/*
 * Exchange the page for one of its halves.
 */
static void
go_on_with(Fuzz *f, Page *half)
{
	Page		page = f->page;

	f->page = *half;
	*half = page;
}

/*
 * The i'th entry of the model, in memory of its own: it may have the pool's
 * tuple of the new entry, which gets its TID back.
 */
static void
last_following(const Fuzz *f, const FuzzEntry *new, int i, FpbEntry *last)
{
	FpbKey		again;

	model_entry(f, i, last);
	if (!fpb_is_word(&f->ix))
		last->key.tuple = CopyIndexTuple(last->key.tuple);
	fuzz_entry_key(f, new, &again);
}

/*
 * Split the page as a new entry comes in, which is the at'th of the model
 * then.  Both halves are checked; one of them is the page from then on.
 */
static void
split(Fuzz *f, const FuzzOp *op, const FuzzEntry *new, const FpbEntry *entry, int at)
{
	FpbWalPage	left;
	FpbWalPage	right;
	FpbKey		separator;
	FuzzFence	fence = {0};
	FuzzFence	low = f->low;
	FuzzFence	high = f->high;
	int			n = f->nmodel + 1;
	int			nleft;
	FpbEntry	last = *entry;
	FpbSplitAim aim = {.fullness = op->percent,.following = op->following,.last = &last,.scattered = op->following % 2};

	if (at < f->nmodel && op->following % 3 > 0)
		last_following(f, new, Min(at + op->following / 2, f->nmodel - 1), &last);
	f->splitting = true;
	memset(f->left, 0x7E, BLCKSZ);
	memset(f->right, 0x7E, BLCKSZ);
	begin_record(f, &left, f->left);
	begin_record(f, &right, f->right);
	fpb_page_split(&f->ix, f->page, entry, fpb_page_place(&f->ix, f->page, entry, FPB_POS_FIRST), SPLIT_BLOCK, &aim,
				   op->halves, &left, &right);
	f->doing = left.image ? "split by image" : "split in place";
	f->counts[left.image ? FUZZ_N_SPLIT_BY_IMAGE : FUZZ_N_SPLIT_IN_PLACE]++;
	check_halves(f, &left, &right);
	fuzz_check_kept(f, f->page, right.page);
	if (left.image)
		fuzz_check_kept(f, f->page, left.page);
	if (!left.image && f->level == 0 && has_emptied(f, left.page))
		f->counts[FUZZ_N_CUT_EMPTIED]++;
	if (!left.image && has_cut_posting(f, left.page, right.page))
		f->counts[FUZZ_N_CUT_POSTING]++;

	/* the model's halves */
	fpb_page_low(&f->ix, right.page, &separator);
	set_fence(f, &fence, &separator);
	fuzz_model_insert(f, at, new);
	if (left.image)
		no_hints(f);
	nleft = fuzz_find(f->model, n, fence.place);
	if (nleft == 0 || nleft == n)
		fuzz_fail(f, "a split leaves one side without entries");
	if (f->level > 0 && n > 3 && (nleft < 2 || n - nleft < 2))
		fuzz_fail(f, "a split leaves one side with a single child");
	memcpy(f->split_model, f->model, n * sizeof(FuzzEntry));

	f->nmodel = nleft;
	f->high = fence;
	go_on_with(f, &f->left);
	fuzz_check_page(f);

	memcpy(f->model, f->split_model + nleft, (n - nleft) * sizeof(FuzzEntry));
	f->nmodel = n - nleft;
	f->low = fence;
	f->high = high;
	no_hints(f);
	go_on_with(f, &f->right);
	fuzz_check_page(f);

	if (op->keep_right)
		memcpy(f->standby, f->page, BLCKSZ);
	else
	{
		memcpy(f->model, f->split_model, nleft * sizeof(FuzzEntry));
		f->nmodel = nleft;
		f->low = low;
		f->high = fence;
		go_on_with(f, &f->right);
	}

	/* the downlink gets its place */
	FpbHdr(f->page)->flags &= ~FPB_INCOMPLETE_SPLIT;
	FpbHdr(f->standby)->flags &= ~FPB_INCOMPLETE_SPLIT;
}

/* --- single entries --- */

/*
 * Is the new node going before one whose bound is lower than the new entry?
 */
static bool
before_lower_bound(const Fuzz *f, const FpbEntry *entry, const FpbInsertPlan *plan)
{
	const FpbSlotPlan *slots = FpbSlots(plan);

	return fuzz_disk_first(f) && plan->outcome == FPB_PLAN_FITS &&
		slots->kind == FPB_PLAN_APPEND_NODE &&
		slots->place.dir < FpbDir(f->page)->nnodes &&
		*fpb_dir_bound(f->page, slots->place.dir) < entry->key.head;
}

/*
 * Does a slot that an entry is to go to belong to a runs node without its key?
 */
static bool
makes_run(const Fuzz *f, const FpbEntry *entry, const FpbNodePos *place)
{
	FpbCodec	codec;
	char	   *node = fpb_page_node(&f->ix, f->page, place->dir, &codec);
	FpbRuns		runs;
	bool		found;

	if (codec != FPB_NODE_RUNS)
		return false;
	runs = fpb_runs(&f->ix, f->shape, node);
	(void) fpb_find_run(&f->ix, &runs, &entry->key, &found);
	return !found;
}

/*
 * Is a posting to be replaced by one with wider TIDs?
 */
static bool
widens_posting(const Fuzz *f, const FpbSlotPlan *slots)
{
	FpbCodec	codec;
	char	   *node;
	FpbEntry	old;

	if (slots->kind != FPB_PLAN_GROW)
		return false;
	node = fpb_page_node(&f->ix, f->page, slots->place.dir, &codec);
	fpb_read_slot(&f->ix, f->page, f->shape, codec, node, slots->place.slot, &old);
	return fpb_has_posting(f->shape, &old) &&
		slots->width > fpb_posting_width(old.key.tuple);
}

/*
 * Does a posting that is to grow go among the page's tuples, because the hole
 * has no room for it?
 */
static bool
grows_among_tuples(Fuzz *f, const FpbSlotPlan *slots)
{
	char	   *node = fpb_node_at(f->shape, f->page, slots->place.dir);
	FpbKey		key = {.tuple = (IndexTuple) ((char *) f->page +
											  fpb_node_tuples(f->shape, node)[slots->place.slot])};

	return !fpb_page_has_room(&f->ix, f->page, 0, fpb_posting_room(&f->ix, &key, slots->tids, slots->width));
}

/*
 * Count what a plan that fits a disk-first page has besides its kind.
 */
static void
count_details(Fuzz *f, const FpbEntry *entry, const FpbSlotPlan *slots)
{
	if (slots->kind == FPB_PLAN_SLOT && makes_run(f, entry, &slots->place))
		f->counts[FUZZ_N_NEW_RUN]++;
	if (slots->kind == FPB_PLAN_APPEND_NODE && slots->keys > 0)
		f->counts[FUZZ_N_APPEND_RUNS]++;
	if (slots->kind == FPB_PLAN_REPACK && slots->added > 0)
		f->counts[FUZZ_N_REPACK_SPLIT]++;
	if (slots->kind == FPB_PLAN_REPACK && slots->first < slots->last)
		f->counts[FUZZ_N_REPACK_MANY]++;
	if (widens_posting(f, slots))
		f->counts[FUZZ_N_WIDEN]++;
	if (slots->kind == FPB_PLAN_GROW && grows_among_tuples(f, slots))
		f->counts[FUZZ_N_GROW_AMONG]++;
	if (slots->swap)
		f->counts[FUZZ_N_SWAP]++;
	if (slots->kind == FPB_PLAN_PASS && slots->added > 0)
		f->counts[FUZZ_N_PASS_ON]++;
	if (slots->kind == FPB_PLAN_SPLIT_NODE && f->level == 0 && slots->split_at == slots->place.slot)
		f->counts[FUZZ_N_SPLIT_SERIES]++;
}

/*
 * What an insertion will do, for messages.
 */
static const char *
plan_name(const Fuzz *f, const FpbInsertPlan *plan)
{
	switch (plan->outcome)
	{
		case FPB_PLAN_FITS:
			return plan_names[fuzz_disk_first(f) ? FpbSlots(plan)->kind : FPB_PLAN_SLOT];
		case FPB_PLAN_REBUILD:
			return "page made afresh";
		case FPB_PLAN_FULL:
			return "page full";
	}
	pg_unreachable();
}

/*
 * Count it.
 */
static void
count_plan(Fuzz *f, const FpbInsertPlan *plan)
{
	switch (plan->outcome)
	{
		case FPB_PLAN_FITS:
			f->counts[fuzz_disk_first(f) ? FpbSlots(plan)->kind : FPB_PLAN_SLOT]++;
			break;
		case FPB_PLAN_REBUILD:
			f->counts[FUZZ_N_REBUILD]++;
			if (fpb_page_prefix(&f->ix, plan->image->data) < fpb_page_prefix(&f->ix, f->page))
				f->counts[FUZZ_N_PREFIX]++;
			break;
		case FPB_PLAN_FULL:
			f->counts[FUZZ_N_FULL]++;
			break;
	}
}

/*
 * The place of a new entry.  Half of the entries of a key are placed behind
 * the one before, as a uniqueness check does it.
 */
static FpbPos
place_of(Fuzz *f, const FuzzEntry *new, const FpbEntry *entry)
{
	FpbPos		pos = fpb_page_place(&f->ix, f->page, entry, FPB_POS_FIRST);
	FpbPos		before = pos;
	FpbEntry	old;

	if (f->level == 0 && new->place % 2 == 0 &&
		fpb_page_prev(&f->ix, f->page, &before, &old) &&
		fpb_keys_equal(&f->ix, &old.key, &entry->key))
		return fpb_pos_behind(before);
	return pos;
}

/*
 * How many of a leaf's entries must stay killed as a new one comes in?  All
 * that are, if a node of words is split.  -1: nothing is said.
 */
static int
killed_that_stay(const Fuzz *f, const FpbInsertPlan *plan)
{
	FpbPos		pos = FPB_POS_FIRST;
	FpbEntry	entry;
	int			killed = 0;

	if (!fuzz_disk_first(f) || plan->outcome != FPB_PLAN_FITS ||
		FpbSlots(plan)->kind != FPB_PLAN_SPLIT_NODE || f->level > 0 || !fpb_is_word(&f->ix))
		return -1;
	for (; fpb_page_next(&f->ix, f->page, &pos, &entry); pos = fpb_pos_behind(pos))
		killed += fpb_page_is_killed(&f->ix, f->page, pos);
	return killed;
}

/*
 * Insert an entry, splitting the page if it is full.
 */
static bool
insert(Fuzz *f, const FuzzHistory *history, const FuzzOp *op)
{
	FuzzEntry	new = history->entries[op->first];
	FpbEntry	entry;
	FpbInsertPlan plan;
	FpbPos		pos;
	FpbPos		behind;
	FpbWalPage	wp;
	int			at = fuzz_find(f->model, f->nmodel, new.place);
	int			killed;

	if (new.place < f->low.place || new.place >= f->high.place ||
		f->nmodel >= FPB_MAX_PAGE_ENTRIES ||
		(at < f->nmodel && f->model[at].place == new.place))
		return false;
	f->doing = "plan an insertion";
	new.child = f->next_child++;
	new.killed = false;
	fuzz_entry_key(f, &new, &entry.key);
	entry.child = f->level > 0 ? new.child : InvalidBlockNumber;
	pos = place_of(f, &new, &entry);

	if (op->image && f->level == 0 &&
		fpb_page_plan_reorganise(&f->ix, f->page, &entry, pos, &plan))
		f->counts[FUZZ_N_REORGANISE]++;
	else
	{
		fpb_page_plan_insert(&f->ix, f->page, &entry, pos, &plan);
		count_plan(f, &plan);
	}
	f->doing = plan_name(f, &plan);
	if (plan.outcome == FPB_PLAN_FULL || (op->split && f->nmodel > 0))
	{
		if (plan.image != NULL)
			pfree(plan.image);
		split(f, op, &new, &entry, at);
		return true;
	}
	if (fuzz_disk_first(f) && plan.outcome == FPB_PLAN_FITS)
		count_details(f, &entry, FpbSlots(&plan));
	if (before_lower_bound(f, &entry, &plan))
		f->counts[FUZZ_N_BEFORE_BOUND]++;

	killed = killed_that_stay(f, &plan);
	begin_record(f, &wp, f->page);
	START_CRIT_SECTION();
	behind = fpb_page_insert(&f->ix, f->page, &entry, &plan, &wp);
	END_CRIT_SECTION();
	if (killed != killed_that_stay(f, &plan))
		fuzz_fail(f, "a node that is split loses killed bits");
	if (plan.image != NULL)
		pfree(plan.image);
	if (plan.outcome == FPB_PLAN_REBUILD)
		no_hints(f);
	fuzz_model_insert(f, at, &new);
	fuzz_check_replay(f, &wp, f->page);
	fuzz_check_inserted(f, at, behind);
	return true;
}

/*
 * The place in the page of the entry that the model has at a place.
 */
static FpbPos
entry_position(Fuzz *f, int at)
{
	FpbKey		key;
	FpbSearchKey search;
	FpbPos		pos;
	FpbEntry	entry;

	fuzz_entry_key(f, &f->model[at], &key);
	fpb_search_key_from(&f->ix, &key, &search);
	fpb_page_search(&f->ix, f->page, &search, &pos);
	if (!fpb_page_next(&f->ix, f->page, &pos, &entry) || entry.key.tail != key.tail)
		fuzz_fail(f, "an entry is not found");
	return pos;
}

/*
 * Delete those of the entries that there are, as VACUUM and fpb_prune do: in
 * one record.  The first entry of an inner page can't be deleted.
 */
static bool
delete(Fuzz *f, const FuzzHistory *history, const FuzzOp *op)
{
	const FuzzEntry *gone = history->entries + op->first;
	FpbWalPage	wp;
	int			ngone = 0;
	int			kept = 0;

	f->doing = "delete";
	if (op->nentries == 1)
	{
		int			at = fuzz_find(f->model, f->nmodel, gone[0].place);

		if (at == f->nmodel || f->model[at].place != gone[0].place ||
			(f->level > 0 && at == 0))
			return false;
		f->positions[ngone++] = entry_position(f, at);
		memmove(f->model + at, f->model + at + 1,
				(f->nmodel - at - 1) * sizeof(FuzzEntry));
		kept = f->nmodel - 1;
	}
	else
	{
		FpbPos		pos = FPB_POS_FIRST;
		FpbEntry	entry;

		for (int i = 0, j = 0; i < f->nmodel; i++)
		{
			if (!fpb_page_next(&f->ix, f->page, &pos, &entry))
				fuzz_fail(f, "entries are missing");
			while (j < op->nentries && gone[j].place < f->model[i].place)
				j++;
			if (j < op->nentries && gone[j].place == f->model[i].place &&
				(f->level == 0 || i > 0))
				f->positions[ngone++] = pos;
			else
				f->model[kept++] = f->model[i];
			pos = fpb_pos_behind(pos);
		}
	}
	if (ngone == 0)
		return false;

	f->nmodel = kept;
	begin_record(f, &wp, f->page);
	START_CRIT_SECTION();
	fpb_page_delete(&f->ix, f->page, f->positions, ngone, &wp);
	END_CRIT_SECTION();
	f->counts[FUZZ_N_DELETE]++;
	if (kept == 0)
		f->counts[FUZZ_N_EMPTY]++;
	fuzz_check_replay(f, &wp, f->page);
	fuzz_check_some(f);
	return true;
}

/*
 * Leave killed bits at those of the entries that there are, as scans do.
 */
static bool
leave_hints(Fuzz *f, const FuzzHistory *history, const FuzzOp *op)
{
	bool		done = false;
	int			n = 0;

	f->doing = "leave killed bits";
	for (int i = 0; i < op->nentries; i++)
	{
		uint64		place = history->entries[op->first + i].place;
		int			at = fuzz_find(f->model, f->nmodel, place);
		FpbPos		pos;

		if (f->level > 0 || at == f->nmodel || f->model[at].place != place)
			continue;
		pos = entry_position(f, at);
		if (n > 0 && !fpb_pos_before(f->positions[n - 1], pos))
			continue;
		f->positions[n++] = pos;

		/* a scan may come to it twice */
		if (at % 4 == 0)
			f->positions[n++] = pos;
		f->model[at].killed = true;
		done = true;
	}
	if (fpb_page_kill(&f->ix, f->page, f->positions, n))
	{
		bool		seen = false;

		for (int i = 0; i < n; i++)
			if (fpb_page_is_killed(&f->ix, f->page, f->positions[i]))
			{
				seen = true;
				if (fuzz_disk_first(f) && fpb_pos_unpack(&f->ix, f->positions[i]).item > 0)
					f->counts[FUZZ_N_KILL_POSTING]++;
			}
		if (!seen || !fpb_page_has_killed(&f->ix, f->page))
			fuzz_fail(f, "a killed bit is not to be seen");
	}
	if (done)
	{
		f->counts[FUZZ_N_KILL]++;
		fuzz_check_some(f);
	}
	return done;
}

/*
 * Take over the range of the right sibling, which is empty, or, on an inner
 * page, has a single child: as tree/delete_page.c merges pages.
 */
static bool
extend(Fuzz *f, const FuzzOp *op)
{
	FuzzFence	high = {0};
	bool		elide = op->elide;
	FpbKey		high_of;
	const FpbKey *key;
	FpbWalPage	wp;
	PGAlignedBlock *image = NULL;

	if (!f->high.finite)
		return false;
	set_pool_fence(f, &high, op->high, FUZZ_NO_PLACE);
	if (high.finite && fpb_compare_keys(&f->ix, &high.key, &f->high.key) <= 0)
		return false;

	f->doing = "extend";
	key = high_key(&high, elide, &high_of);
	if (f->level > 0 || !fpb_page_plan_extend(&f->ix, f->page, key))
	{
		int			n = fpb_page_entries(&f->ix, f->page, f->found);
		FpbPageContent content;
		FpbKey		low;
		FpbKey		old_high;

		f->doing = "merge";
		if (n >= FPB_MAX_PAGE_ENTRIES)
			return false;
		if (f->level > 0)
		{
			f->found[n].key = f->high.key;
			f->found[n++].child = f->next_child;
		}
		fpb_page_frame(&f->ix, f->page, &low, &old_high, &content);
		if (!high.finite)
			content.flags |= FPB_RIGHTMOST;
		content.right = high.finite ? RIGHT_BLOCK : InvalidBlockNumber;
		content.entries = f->found;
		content.nentries = n;
		image = palloc_aligned(sizeof(PGAlignedBlock), PG_IO_ALIGN_SIZE, 0);
		while (image != NULL)
		{
			memset(image, 0x7E, BLCKSZ);
			content.high = key;
			if (fpb_page_build(&f->ix, image->data, &content, 0))
				break;
			if (elide || !high.finite || f->level == 0)
			{
				pfree(image);
				image = NULL;
			}
			elide = true;
			key = high_key(&high, elide, &high_of);
		}
		if (image == NULL && f->level > 0)
			return false;
		if (image == NULL && !fpb_page_plan_extend(&f->ix, f->page, key))
			fuzz_fail(f, "an empty leaf can't be merged into its left sibling");
	}

	begin_record(f, &wp, f->page);
	START_CRIT_SECTION();
	if (image != NULL)
		fpb_page_replace(f->page, image->data, &wp);
	else
		fpb_page_extend(&f->ix, f->page, key,
						high.finite ? RIGHT_BLOCK : InvalidBlockNumber, &wp);
	END_CRIT_SECTION();
	if (image != NULL)
	{
		no_hints(f);
		pfree(image);
		f->counts[FUZZ_N_MERGE]++;
	}
	else
		f->counts[FUZZ_N_EXTEND]++;
	if (f->level > 0)
	{
		FuzzEntry	moved = {.place = f->high.place,.key = f->high.inner_key,
		.child = f->next_child++};

		fuzz_model_insert(f, f->nmodel, &moved);
	}
	f->high = high;
	fuzz_check_replay(f, &wp, f->page);
	fuzz_check_page(f);
	return true;
}

/* --- names --- */

/*
 * Make, of a leaf, as much as is looked at when its nodes are named: fences,
 * and a directory of nodes that begin with the heads of these entries.
 */
static void
make_leaf(const Fuzz *f, Page leaf, int at, const FuzzEntry *entries, int n)
{
	const FpbShape *shape = fpb_leaf_shape(&f->ix);
	FpbDirectory *dir = FpbDir(leaf);
	bool		taken[FPB_MAX_NODES] = {0};
	FpbKey		key;

	fpb_page_init(leaf, 0, FPB_LEAF, RIGHT_BLOCK);
	fuzz_entry_key(f, &f->model[at], &key);
	FpbHdr(leaf)->fences.head[FPB_LOW] = key.head;
	if (at + 1 < f->nmodel)
	{
		fuzz_entry_key(f, &f->model[at + 1], &key);
		FpbHdr(leaf)->fences.head[FPB_HIGH] = key.head;
	}
	else if (f->high.finite)
		FpbHdr(leaf)->fences.head[FPB_HIGH] = f->high.key.head;
	else
		FpbHdr(leaf)->flags |= FPB_RIGHTMOST;
	dir->dircap = shape->max_nodes;
	dir->numcap = fpb_numbers_capacity(&f->ix, dir->dircap);
	dir->nalloc = shape->max_nodes;
	for (int i = 0; i < n && dir->nnodes < shape->max_nodes; i++)
	{
		int			number = dir->nnodes;

		fuzz_entry_key(f, &entries[i], &key);
		if (!f->ix.csb)
			number = fuzz_node_number(f, key.head);
		if (taken[number])
			continue;
		taken[number] = true;
		fpb_bounds(leaf)[number] = key.head;

		/* damage that must not come to be the page's */
		if (!f->ix.csb)
			fpb_dir_nodes(leaf)[dir->nnodes] = murmurhash64(~key.head) % 32 == 0 ? PG_UINT8_MAX : number;
		dir->nnodes++;
	}
}

/*
 * Have the page name the nodes of a child, as a split of it does.
 */
static bool
name_nodes(Fuzz *f, const FuzzHistory *history, const FuzzOp *op)
{
	const FuzzEntry *entries = history->entries + op->first;
	int			at = fuzz_find(f->model, f->nmodel, entries[0].place);
	PGAlignedBlock leaf;
	FpbWalPage	wp;

	if (!fpb_page_has_child_hints(&f->ix, f->page) || at == f->nmodel ||
		f->model[at].place != entries[0].place)
		return false;
	f->doing = "name nodes";
	make_leaf(f, leaf.data, at, entries, op->nentries);
	begin_record(f, &wp, f->page);
	START_CRIT_SECTION();
	fpb_page_write_child_hints(&f->ix, f->page, f->model[at].child, leaf.data, &wp);
	END_CRIT_SECTION();
	f->counts[FUZZ_N_NAME]++;
	fuzz_check_replay(f, &wp, f->page);
	fuzz_check_some(f);
	return true;
}

/* --- all of them --- */

/*
 * Get ready for a history: shapes, and a page that is not there yet.
 */
void
fuzz_begin(Fuzz *f, const FuzzHistory *history)
{
	FpbShape   *shape = &fpb_shapes(&f->ix)[history->level];

	MemoryContextReset(f->life_context);
	MemoryContextReset(f->step_context);
	fpb_layout_shapes(&f->ix, history->lines, history->lines);

	/* a page that may only have so many nodes is as one of a smaller block */
	if (history->max_nodes > 0 && history->max_nodes < shape->max_nodes)
	{
		shape->max_nodes = history->max_nodes;
		if (shape->killed_off != 0)
			shape->killed_off = BLCKSZ - shape->max_nodes * shape->killed_bytes;
	}

	/* those of few nodes reach as far as those of many do on a larger page */
	if (history->killed_bits > 1)
	{
		shape->killed_bytes *= history->killed_bits;
		shape->max_nodes = shape->max_nodes * shape->size / (shape->size + shape->killed_bytes);
	}
	f->level = history->level;
	f->shape = shape;
	f->pool = history->level == 0 ? &f->leaf : &f->inner;
	f->max_tuple = fpb_max_tuple_size(&f->ix);
	f->nmodel = 0;
	f->credit = f->structure_credit = 0;
	f->step = 0;
	f->next_child = 1;
	f->doing = "begin";
	pg_prng_seed(&f->check_random, 1);
}

/*
 * Do one operation and check what can be checked.  False if it made no sense.
 */
bool
fuzz_perform(Fuzz *f, const FuzzHistory *history, const FuzzOp *op)
{
	bool		elided = op->kind > FUZZ_FILL && FpbPageHighElided(f->page);
	bool		done = false;

	f->splitting = false;
	if (++f->step % 64 == 0)
		MemoryContextReset(f->step_context);
	switch ((FuzzOpKind) op->kind)
	{
		case FUZZ_BUILD:
		case FUZZ_FILL:
			done = op->kind == FUZZ_BUILD ? build(f, history, op) : fill(f, history, op);
			memcpy(f->standby, f->page, BLCKSZ);
			fuzz_check_page(f);
			break;
		case FUZZ_INSERT:
			done = insert(f, history, op);
			break;
		case FUZZ_DELETE:
			done = delete(f, history, op);
			break;
		case FUZZ_KILL:
			done = leave_hints(f, history, op);
			break;
		case FUZZ_EXTEND:
			done = extend(f, op);
			break;
		case FUZZ_NAME:
			done = name_nodes(f, history, op);
			break;
	}
	if (done && FpbPageHighElided(f->page))
		f->counts[FUZZ_N_ELIDED]++;
	if (done && FpbPageHighElided(f->page) && !elided && !op->elide)
		f->counts[FUZZ_N_NEWLY_ELIDED]++;
	if (done)
		f->steps++;
	return done;
}
