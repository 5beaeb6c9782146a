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
	if (!FpbPageIsLeaf(page) || ix->tree != 0)
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
	fpb_page_insert(ix, page, &ins->entry, &plan, wp);
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
