/*-------------------------------------------------------------------------
 *
 * tree/insert_on_page.c
 *	  Insertion of an entry into the page where it belongs.
 *
 * What there is no room for is tried in this order: the page is made afresh,
 * if an image of it is to be logged anyway; dead entries are removed; the page
 * is split (tree/split.c).
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xloginsert.h"
#include "storage/bufmgr.h"

#include "tree/tree.h"
#include "tree/verify.h"

/*
 * Insert an entry into a page, locked exclusively and released, where it
 * belongs.  left and right as in split_page, unchanged as in fpb_insert_entry.
 * heap: for the dead entries of a leaf; an inner page has none.
 *
 * False, with nothing done and the page still locked, if it would have to be
 * split and may not.
 */
bool
fpb_insert_on_page(FpbIndex *ix, Relation heap, Buffer buf, FpbStack *stack,
				   const FpbEntry *entry, bool unchanged, bool may_split,
				   Buffer left, Buffer right)
{
	Page		page = BufferGetPage(buf);
	FpbPos		pos = fpb_page_place(ix, page, entry);
	FpbInsertPlan plan;
	FpbWal		wal;
	FpbWalPage *wp;
	FpbWalPage *wp_child = NULL;

	/* an entry of the queue is not there for long enough to prove dead */
	bool		may_prune = FpbPageIsLeaf(page) && ix->tree == 0;

	if (!(FpbPageIsLeaf(page) && RelationNeedsWAL(ix->rel) &&
		  XLogCheckBufferNeedsBackup(buf) &&
		  fpb_page_plan_reorganise(ix, page, entry, pos, &plan)))
		fpb_page_plan_insert(ix, page, entry, pos, &plan);
	if ((plan.outcome == FPB_PLAN_FULL || plan.outcome == FPB_PLAN_REBUILD) &&
		may_prune && fpb_prune_killed(ix, heap, buf))
	{
		if (plan.image != NULL)
			pfree(plan.image);
		pos = fpb_page_place(ix, page, entry);
		fpb_page_plan_insert(ix, page, entry, pos, &plan);
	}

	if (plan.outcome == FPB_PLAN_FULL && may_prune)
	{
		bool		pruned = fpb_prune_versions(ix, heap, buf, unchanged);

		if (pruned)
		{
			pos = fpb_page_place(ix, page, entry);
			fpb_page_plan_insert(ix, page, entry, pos, &plan);
		}

		/*
		 * A leaf in which rows are updated need not be split for want of room
		 * at the right place either: what has been removed is elsewhere, or
		 * by the time the leaf is really full there will be more dead entries
		 * in it.  Where nothing has gone, words are better off with a split,
		 * for they find their places in gaps.
		 */
		if (plan.outcome == FPB_PLAN_FULL &&
			(pruned || (unchanged && !fpb_is_word(ix))))
			(void) fpb_page_plan_reorganise(ix, page, entry, pos, &plan);
	}
	if (plan.outcome == FPB_PLAN_FULL)
	{
		if (may_split)
			fpb_split_page(ix, buf, stack, entry, pos, left, right);
		return may_split;
	}

	fpb_wal_begin(&wal, ix->rel);
	wp = fpb_wal_add(&wal, buf, false);
	if (BufferIsValid(left))
		wp_child = fpb_wal_add(&wal, left, false);
	fpb_wal_enter(&wal);
	fpb_page_insert(ix, page, entry, &plan, wp);
	if (wp_child != NULL)
	{
		fpb_name_halves(ix, page, left, right, wp);
		fpb_clear_incomplete(left, wp_child);
	}
	fpb_wal_finish(&wal);
	fpb_verify_insert(ix, &wal, 0, entry);
	if (wp_child != NULL)
		fpb_verify_insert(ix, &wal, 1, NULL);

	if (plan.image != NULL)
		pfree(plan.image);
	fpb_relbuf(buf);
	return true;
}

/*
 * Insert an entry into the leaf in buf, where it belongs; buf is locked
 * exclusively, and released.  stack is what the descent to it has passed, a
 * hint.  heap is the index's table, whose pages may be pruned.  unchanged: the
 * row has been updated, its key not.  Splits as needed.  Raises errors before
 * anything has been changed, or between two records.
 */
void
fpb_insert_entry(FpbIndex *ix, Relation heap, Buffer buf, FpbStack *stack,
				 const FpbEntry *entry, bool unchanged)
{
	(void) fpb_insert_on_page(ix, heap, buf, stack, entry, unchanged, true,
							  InvalidBuffer, InvalidBuffer);
}

/*
 * The same if the leaf, one of the queue's tree, has room for the entry.
 * False, with nothing done and the leaf still locked, if it would have to be
 * split.
 */
bool
fpb_insert_if_fits(FpbIndex *ix, Buffer buf, const FpbEntry *entry)
{
	return fpb_insert_on_page(ix, NULL, buf, NULL, entry, false, false,
							  InvalidBuffer, InvalidBuffer);
}
