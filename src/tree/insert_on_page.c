/*-------------------------------------------------------------------------
 *
 * tree/insert_on_page.c
 *	  Insertion of an entry into the page where it belongs.
 *
 * An entry goes into a gap, or wherever else the layout finds room for it.  If
 * there is none, dead entries are removed; if that does not help, the page is
 * split (tree/split.c).  If an image of the page is to be logged anyway, the
 * page is made afresh, with gaps for what comes next.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xloginsert.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"

#include "tree/tree.h"
#include "tree/verify.h"

/*
 * Find the entry's place anew, after entries have been removed from the page,
 * and plan again.
 */
static void
plan_again(FpbIndex *ix, FpbInsertState *ins, FpbInsertPlan *plan)
{
	Page		page = BufferGetPage(ins->buf);

	if (plan->image != NULL)
		pfree(plan->image);
	fpb_page_search(ix, page, &ins->search, &ins->pos);
	fpb_page_plan_insert(ix, page, &ins->entry, ins->pos, plan);
}

/*
 * Remove dead versions of rows from a leaf that would have to be split, and
 * plan again.
 *
 * The entries removed may have left room, but not at the new entry's place.
 * Then making the leaf afresh spares the split.
 *
 * A leaf in which rows are updated is made afresh even if nothing could be
 * removed: by the time it is really full there will be dead entries in it.
 * But not one of words, which is better off with a split, because words find
 * their places in gaps.
 */
static void
spare_split(FpbIndex *ix, FpbInsertState *ins, FpbInsertPlan *plan)
{
	Page		page = BufferGetPage(ins->buf);
	bool		enough;

	if (fpb_prune_versions(ix, ins->heap, ins->buf, ins->unchanged, &enough))
		fpb_page_search(ix, page, &ins->search, &ins->pos);
	if (enough)
		fpb_page_plan_insert(ix, page, &ins->entry, ins->pos, plan);
	if (plan->outcome == FPB_PLAN_FULL &&
		(enough || (ins->unchanged && !fpb_is_word(ix))))
		(void) fpb_page_plan_reorganise(ix, page, &ins->entry, ins->pos, plan);
}

/*
 * Plan the insertion.  The outcome is FPB_PLAN_FULL if the page has to be
 * split: nothing else makes room for the entry.  Dead entries may have been
 * removed from the page, and ins->pos is the entry's place after that.
 */
static void
plan_insertion(FpbIndex *ix, FpbInsertState *ins, FpbInsertPlan *plan)
{
	Page		page = BufferGetPage(ins->buf);
	bool		pruned;

	if (!(FpbPageIsLeaf(page) && RelationNeedsWAL(ix->rel) &&
		  XLogCheckBufferNeedsBackup(ins->buf) &&
		  ix->layout->is_sparse(ix, page) &&
		  fpb_page_plan_reorganise(ix, page, &ins->entry, ins->pos, plan)))
		fpb_page_plan_insert(ix, page, &ins->entry, ins->pos, plan);

	/* an entry of the queue is not there for long enough to prove dead */
	if (!FpbPageIsLeaf(page) || ix->tree != FPB_MAIN_TREE)
		return;

	/* what follows may move the dead entries, and removes killed ones */
	if (ins->ndead > 0 && (plan->outcome != FPB_PLAN_FITS || plan->takes_room))
	{
		(void) fpb_kill_entries(ix, ins->heap, ins->buf, ins->dead, ins->ndead);
		ins->ndead = 0;
	}
	if (plan->outcome != FPB_PLAN_FITS)
		pruned = fpb_prune_killed(ix, ins->heap, ins->buf);
	else
		pruned = plan->takes_room &&
			fpb_prune_beside(ix, ins->heap, ins->buf, &ins->entry.key, ins->pos, ins->unchanged);
	if (pruned)
		plan_again(ix, ins, plan);
	if (plan->outcome == FPB_PLAN_FULL)
		spare_split(ix, ins, plan);
}

/*
 * Insert an entry into the page ins->buf, where it belongs at ins->pos.  The
 * page is locked exclusively, and released.  If it is full it is split, if
 * that is permitted; the downlink of the new page is then inserted above.
 *
 * Returns false, with the page still locked and the entry not in it, if the
 * page would have to be split and ins->may_split is false.
 *
 * Raises errors before anything has been changed, or between two WAL records.
 */
bool
fpb_insert_on_page(FpbIndex *ix, FpbInsertState *ins)
{
	Page		page = BufferGetPage(ins->buf);
	FpbInsertPlan plan;
	FpbWal		wal;
	FpbWalPage *wp;
	FpbWalPage *wp_child = NULL;

	if (unlikely(ix->old_heads))
		fpb_note_mixed_heads(ix);
	plan_insertion(ix, ins, &plan);
	if (plan.outcome == FPB_PLAN_FULL)
	{
		if (ins->may_split)
			fpb_split_page(ix, ins);
		return ins->may_split;
	}

	fpb_wal_begin(&wal, ix->rel);
	wp = fpb_wal_add(&wal, ins->buf, false);
	if (BufferIsValid(ins->left))
		wp_child = fpb_wal_add(&wal, ins->left, false);
	if (ins->ndead > 0)
	{
		/*
		 * No bit may stay behind without the record.  (The nodes have been
		 * checked when the dead entries were read, under the same lock.)
		 */
		START_CRIT_SECTION();
		(void) fpb_page_kill(ix, page, ins->dead, ins->ndead);
	}
	fpb_wal_enter(&wal);
	if (ins->ndead > 0)
		END_CRIT_SECTION();
	(void) fpb_page_insert(ix, page, &ins->entry, &plan, wp);
	if (wp_child != NULL)
	{
		fpb_name_halves(ix, page, ins, wp);
		fpb_clear_incomplete(ins->left, wp_child);
	}
	fpb_wal_finish(&wal);
	fpb_verify_insert(ix, &wal, 0, &ins->entry);
	if (wp_child != NULL)
		fpb_verify_insert(ix, &wal, 1, NULL);

	if (plan.image != NULL)
		pfree(plan.image);
	fpb_relbuf(ins->buf);
	return true;
}

/*
 * See tree/tree.h.
 */
int
fpb_fill_copy(FpbIndex *ix, FpbWalPage *wp, const FpbEntry *entries, int from, int n,
			  bool careful)
{
	FpbPos		behind = FPB_POS_FIRST;

	for (int i = from; i < n; i++)
	{
		FpbInsertPlan plan;

		fpb_page_plan_insert(ix, wp->page, &entries[i],
							 fpb_page_place(ix, wp->page, &entries[i], behind), &plan);
		if (plan.outcome == FPB_PLAN_FULL ||
			(careful && (plan.outcome != FPB_PLAN_FITS || plan.takes_room)))
		{
			if (plan.image != NULL)
				pfree(plan.image);
			return i;
		}
		behind = fpb_page_insert(ix, wp->page, &entries[i], &plan, wp);
		if (plan.image != NULL)
			pfree(plan.image);
	}
	return n;
}

/*
 * Of n entries in order, the first of which belongs to a locked leaf, how many
 * do?
 */
static int
count_of_leaf(const FpbIndex *ix, Buffer buf, const FpbEntry *entries, int n)
{
	int			belong = 1;		/* so many do, */
	int			beyond = n;		/* and from this one on, none does */
	int			step = 1;
	FpbKey		high;
	Buffer		right;

	if (FpbPageIsRightmost(BufferGetPage(buf)) || n == 1)
		return n;
	right = fpb_lock_high(ix, buf, &high);
	while (belong < beyond)
	{
		int			at = Min(belong + step, beyond) - 1;
		FpbSearchKey search;

		fpb_search_key_from(ix, &entries[at].key, &search);
		if (fpb_compare(ix, &high, &search) > 0)
		{
			belong = at + 1;
			step *= 2;
		}
		else
		{
			beyond = at;
			step = Max((beyond - belong) / 2, 1);
		}
	}
	if (BufferIsValid(right))
		fpb_relbuf(right);
	return belong;
}

/*
 * Insert the first entries of a leaf in one record, as many as that can be
 * done with.  The leaf is locked exclusively and stays so.
 */
static int
insert_together(FpbIndex *ix, FpbInsertState *ins, const FpbEntry *entries, int n, Page copy)
{
	Page		page = BufferGetPage(ins->buf);
	FpbWal		wal;
	FpbWalPage *wp;
	int			done;

	/* the image that is logged with the first one may be made small */
	if (n == 1 || (RelationNeedsWAL(ix->rel) && XLogCheckBufferNeedsBackup(ins->buf)))
		return 0;
	if (unlikely(ix->old_heads))
		fpb_note_mixed_heads(ix);
	memcpy(copy, page, BLCKSZ);
	fpb_wal_begin(&wal, ix->rel);
	wp = fpb_wal_add_copy(&wal, ins->buf, copy);
	done = fpb_fill_copy(ix, wp, entries, 0, n, ins->unchanged || fpb_page_has_killed(ix, page));
	if (done == 0)
		return 0;
	fpb_wal_enter(&wal);
	fpb_wal_finish(&wal);
	fpb_verify_move(ix, &wal, false, entries, done);
	return done;
}

/*
 * See tree/tree.h.
 */
int
fpb_insert_sorted(FpbIndex *ix, FpbInsertState *ins, const FpbEntry *entries, int n, Page copy)
{
	int			belong = count_of_leaf(ix, ins->buf, entries, n);
	int			done = insert_together(ix, ins, entries, belong, copy);

	if (done == belong)
	{
		fpb_relbuf(ins->buf);
		return done;
	}
	ins->entry = entries[done];
	ins->following = belong - done - 1;
	ins->last = &entries[belong - 1];
	fpb_search_key_from(ix, &ins->entry.key, &ins->search);
	fpb_page_search(ix, BufferGetPage(ins->buf), &ins->search, &ins->pos);
	(void) fpb_insert_on_page(ix, ins);
	return done + 1;
}
