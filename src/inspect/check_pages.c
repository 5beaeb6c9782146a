/*-------------------------------------------------------------------------
 *
 * inspect/check_pages.c
 *	  The part of fpbtree_check() that is about pages: does every invariant of
 *	  an index's pages hold?
 *
 * The check visits pages in the order of the file, not by their links.  So no
 * damage can lead it round in a circle, or hide pages.  It takes only
 * AccessShareLock, so the index may change meanwhile.
 *
 * Each page is copied under a share lock, and the copy is examined.  What
 * holds within a page must hold of the copy.  What holds between pages is
 * first checked without locking more than one page.  If it seems not to hold,
 * it is checked again with all pages concerned locked at once, in the usual
 * order (left to right, then upwards).  Then it must hold:
 *
 * - If a live page has a right link, the right sibling is live, and begins
 *	 where the page ends.
 * - The child that an entry of a live inner page names is live, is one level
 *	 below, and begins with the entry's key.
 * - A page other than the leftmost of its level has an entry in the level
 *	 above, unless its left sibling is marked as incompletely split.  In that
 *	 case it has none.
 * - A key belongs to one page of a level: a descent to a live page's low fence
 *	 arrives at that page.
 *
 * This is enough.  The first child of the root, its first child, and so on,
 * begin with minus infinity.  From there, the right links of a level lead from
 * fence to fence, upwards, to the page that ends with infinity.  Any live page
 * is one of these, because a descent to its place finds it and no other.
 *
 * A page's right link, its entry in the level above, and what it covers change
 * only while the page and the left sibling concerned are locked exclusively.
 * A page's level and low fence stay the same until it is deleted.
 *
 * fpbtree_damage goes on after a fault.  So each step of the check is a
 * subtransaction, and the error that it raises becomes a row: only a value's
 * type may notice that the value is damaged.  Each page is checked by itself
 * before any descent.  No descent is made if it might come by a tuple whose
 * structure is damaged.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xlog.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

#include "base/attempt.h"
#include "base/owner.h"
#include "inspect/check.h"
#include "queue/queue.h"

/* how long the check waits before it tries to lock a page again */
#define TRY_DELAY		1000	/* microseconds */

/* how often the queue's pages are counted if the index is not logged */
#define MAX_COUNTS		3

/*
 * After so many errors, pages are not compared with others any more.  A fault
 * close to the root makes every descent fail, perhaps after many steps.
 */
#define MAX_LOST		100

/* ------------------------------------------------------------------------
 * Faults
 * ------------------------------------------------------------------------
 */

/*
 * Report a fault of a block, or of the whole index if the block is
 * InvalidBlockNumber.  fpbtree_check raises it as an error.
 */
void
fpb_check_report(FpbCheck *check, BlockNumber blkno, const char *fmt,...)
{
	StringInfoData buf;
	Datum		values[2];
	bool		nulls[2] = {0};

	initStringInfo(&buf);
	for (;;)
	{
		va_list		args;
		int			needed;

		va_start(args, fmt);
		needed = appendStringInfoVA(&buf, fmt, args);
		va_end(args);
		if (needed == 0)
			break;
		enlargeStringInfo(&buf, needed);
	}

	if (check->rows == NULL)
		fpb_report_damage(check->ix.rel, blkno, buf.data);

	nulls[0] = !BlockNumberIsValid(blkno);
	values[0] = Int64GetDatum((int64) blkno);
	values[1] = PointerGetDatum(cstring_to_text_with_len(buf.data, buf.len));
	tuplestore_putvalues(check->rows, check->desc, values, nulls);
	pfree(buf.data);
}

/*
 * Has a fault within the page itself been reported?
 */
static bool
is_faulty(const FpbCheck *check, BlockNumber blkno)
{
	return blkno < check->nblocks &&
		(check->faulty[blkno / 8] & (1 << (blkno % 8))) != 0;
}

/*
 * Report a fault within the page itself, unless one has been reported before.
 */
static void
report_own(FpbCheck *check, BlockNumber blkno, const char *fault)
{
	if (is_faulty(check, blkno))
		return;
	if (blkno < check->nblocks)
		check->faulty[blkno / 8] |= 1 << (blkno % 8);
	check->nfaulty++;
	fpb_check_report(check, blkno, "%s", fault);
}

/*
 * Make the text of a fault of an error.  Errors that are not about the index
 * are raised again, and so is any error if fpbtree_check is to raise the first
 * fault.  If the caller may not read keys, what might show one is left out.
 */
static char *
describe_error(const FpbCheck *check, ErrorData *error)
{
	bool		harmless = check->may_read ||
		error->sqlerrcode == ERRCODE_DATA_CORRUPTED ||
		error->sqlerrcode == ERRCODE_INDEX_CORRUPTED;
	int			class = ERRCODE_TO_CATEGORY(error->sqlerrcode);

	if (class == ERRCODE_OPERATOR_INTERVENTION ||
		class == ERRCODE_INSUFFICIENT_RESOURCES ||
		(check->rows == NULL && harmless))
		ReThrowError(error);
	if (check->rows == NULL)
		ereport(ERROR,
				(errcode(error->sqlerrcode),
				 errmsg("could not check index \"%s\"",
						RelationGetRelationName(check->ix.rel)),
				 errdetail("An error was raised whose message may show values that you may not read.")));
	if (!harmless)
		return psprintf("error %s", unpack_sql_state(error->sqlerrcode));
	return psprintf("error %s: %s%s%s", unpack_sql_state(error->sqlerrcode),
					error->message, error->detail ? " " : "",
					error->detail ? error->detail : "");
}

/* a step of the check, for fpb_try */
typedef struct Part
{
	FpbCheck   *check;
	FpbCheckStep step;
} Part;

/*
 * Do the step.
 */
static void
do_part(void *arg)
{
	Part	   *part = arg;

	part->step(part->check);
}

/*
 * Do a step of the check.  Returns NULL, or the error that it has raised as
 * the text of a fault.
 *
 * The step has to release what it has acquired before it ends, because an
 * error releases it, too.
 */
char *
fpb_check_try(FpbCheck *check, FpbCheckStep step)
{
	Part		part = {.check = check,.step = step};
	ErrorData  *error;

	if (check->rows == NULL && check->may_read)
	{
		step(check);
		return NULL;
	}
	error = fpb_try(do_part, &part);
	return error == NULL ? NULL : describe_error(check, error);
}

/* ------------------------------------------------------------------------
 * Single pages
 * ------------------------------------------------------------------------
 */

/*
 * Lock a page while others are locked, if that can be done at once, else
 * return false.  It may be any page, so whoever has locked it may be waiting
 * for one of the others.
 */
static bool
try_lock(FpbCheck *check, BlockNumber blkno, Buffer *buf)
{
	*buf = ReadBuffer(check->ix.rel, blkno);
	if (ConditionalLockBuffer(*buf))
		return true;
	ReleaseBuffer(*buf);
	return false;
}

/*
 * Wait a little until somebody unlocks a page.
 */
static void
wait_for_lock(void)
{
	FPB_INJECTION_POINT("fpbtree-check-busy");
	CHECK_FOR_INTERRUPTS();
	pg_usleep(TRY_DELAY);
}

/*
 * The tree that a page belongs to, to work with.
 */
FpbIndex *
fpb_check_tree(FpbCheck *check, Page page)
{
	return FpbPageIsQueue(page) && !FpbPageIsMeta(page) ?
		&check->tiers[FpbPageTree(page) - 1] : &check->ix;
}

/*
 * Is a locked page in use in a tree, and can its fences be compared?
 */
static bool
is_usable(const FpbIndex *ix, Page page)
{
	return fpb_header_fault(ix, page) == NULL && fpb_page_is_in_tree(ix, page) &&
		fpb_page_fence_fault(ix, page) == NULL;
}

/*
 * May a page be the right sibling of left, as far as heads tell?  left has
 * elided its high fence.  Both are locked, and left is usable.
 */
static bool
may_follow(const FpbIndex *ix, Page left, Page page)
{
	return is_usable(ix, page) && !FpbPageIsLeftmost(page) &&
		FpbHdr(page)->level == FpbHdr(left)->level &&
		FpbHdr(page)->fences.head[FPB_LOW] == FpbHdr(left)->fences.head[FPB_HIGH];
}

/*
 * Copy the high fence that the page at hand, still locked, has elided, to
 * check->high, if the right sibling seems to be the right one.  False if
 * somebody else has locked the sibling.
 */
static bool
take_elided(FpbCheck *check)
{
	Page		page = check->page;
	BlockNumber right = FpbHdr(page)->right;
	Buffer		buf;

	if (right >= check->nblocks_now)
		check->nblocks_now = RelationGetNumberOfBlocks(check->ix.rel);
	if (right == check->blkno || right == FPB_METAPAGE ||
		right >= check->nblocks_now)
		return true;
	if (!try_lock(check, right, &buf))
		return false;
	if (may_follow(check->tree, page, BufferGetPage(buf)))
	{
		IndexTuple	tuple;

		fpb_page_low(&check->ix, BufferGetPage(buf), &check->high);
		tuple = check->high.tuple;
		check->high.tuple = MemoryContextAlloc(check->page_cxt, IndexTupleSize(tuple));
		memcpy(check->high.tuple, tuple, IndexTupleSize(tuple));
	}
	fpb_relbuf(buf);
	return true;
}

/*
 * Is the high fence of the page at hand, not the rightmost, known?
 */
bool
fpb_check_knows_high(const FpbCheck *check)
{
	return fpb_is_word(&check->ix) || check->high.tuple != NULL;
}

/*
 * Copy a locked page to check->page, release it, and check its structure:
 * whether any offset or length in it is out of bounds.  Sets check->live if
 * the copy may be worked with, and check->damaged if it has a fault, which is
 * reported.
 */
void
fpb_check_take(FpbCheck *check, Buffer buf)
{
	Page		page = check->page;
	const char *fault;

	check->blkno = BufferGetBlockNumber(buf);
	check->live = false;
	check->damaged = false;
	memset(&check->high, 0, sizeof(FpbKey));
	memcpy(page, BufferGetPage(buf), BLCKSZ);
	check->tree = fpb_check_tree(check, page);
	for (int try = 0; try < FPB_CHECK_TRIES; try++)
	{
		if (!is_usable(check->tree, page) || !FpbPageHighElided(page) ||
			fpb_is_word(&check->ix) || take_elided(check))
			break;
		LockBuffer(buf, BUFFER_LOCK_UNLOCK);
		wait_for_lock();
		LockBuffer(buf, BUFFER_LOCK_SHARE);
		memcpy(page, BufferGetPage(buf), BLCKSZ);
		check->tree = fpb_check_tree(check, page);
	}
	fpb_relbuf(buf);
	if (PageIsNew(page))
		return;					/* left behind by a crash */
	fault = fpb_header_fault(&check->ix, page);
	if (fault == NULL && FpbPageIsDeleted(page))
		return;
	if (fault == NULL)
	{
		fault = fpb_page_fault(&check->ix, page);

		/* a descent may run comparators on what is damaged here */
		if (fault != NULL &&
			(!FpbPageIsLeaf(page) || fpb_page_fence_fault(&check->ix, page) != NULL))
			check->can_descend = false;
	}
	if (fault != NULL)
	{
		check->damaged = true;
		report_own(check, check->blkno, fault);
		return;
	}
	check->nentries = fpb_page_entries(&check->ix, page, check->entries);
	if (!FpbPageIsRightmost(page) && !FpbPageHighElided(page))
		fpb_page_high(&check->ix, page, &check->high);
	check->live = true;
}

/*
 * Copy the page check->blkno.
 */
static void
take_page(FpbCheck *check)
{
	Buffer		buf = ReadBufferExtended(check->ix.rel, MAIN_FORKNUM, check->blkno,
										 RBM_NORMAL, check->strategy);

	LockBuffer(buf, BUFFER_LOCK_SHARE);
	fpb_check_take(check, buf);
}

/*
 * Copy the page check->blkno, and check what the copy alone tells: its
 * structure, and the order of its keys.  No lock is held on entry or exit.
 */
static void
check_page(FpbCheck *check)
{
	const char *fault;

	take_page(check);
	if (fpb_header_fault(&check->ix, check->page) == NULL &&
		FpbPageIsQueue(check->page) && !FpbPageIsDeleted(check->page))
		check->ntier_pages[FpbPageTree(check->page) - 1]++;
	if (!check->live)
		return;
	fault = fpb_page_order_fault(&check->ix, check->page, check->entries,
								 check->nentries);
	if (fault != NULL)
		report_own(check, check->blkno, fault);
}

/* ------------------------------------------------------------------------
 * Between pages
 * ------------------------------------------------------------------------
 */

/*
 * Pin and share-lock the page that a link in the page at hand names, without
 * checking it.  If there is no such page, reports that and returns
 * InvalidBuffer.
 */
static Buffer
lock_linked(FpbCheck *check, BlockNumber link)
{
	Buffer		buf;

	if (link >= check->nblocks_now)
		check->nblocks_now = RelationGetNumberOfBlocks(check->ix.rel);
	if (link == FPB_METAPAGE || link >= check->nblocks_now)
	{
		fpb_check_report(check, check->blkno,
						 "The page links to block %u, but pages are at blocks 1 to %u.",
						 link, check->nblocks_now - 1);
		return InvalidBuffer;
	}
	buf = ReadBufferExtended(check->ix.rel, MAIN_FORKNUM, link, RBM_NORMAL,
							 check->strategy);
	LockBuffer(buf, BUFFER_LOCK_SHARE);
	return buf;
}

/*
 * Is a locked page the one of this level that begins with low (NULL: minus
 * infinity)?
 */
static bool
is_at(const FpbIndex *ix, Page page, int level, const FpbSearchKey *low)
{
	if (!is_usable(ix, page) || FpbHdr(page)->level != level)
		return false;
	if (low == NULL)
		return FpbPageIsLeftmost(page);
	return !FpbPageIsLeftmost(page) && fpb_compare_low(ix, page, low) == 0;
}

/*
 * Report that a locked page is not what a link says.  If the reason is a fault
 * within the page, report that fault instead.
 */
static void
report_not_at(FpbCheck *check, Buffer buf, const char *what)
{
	Page		page = BufferGetPage(buf);
	BlockNumber blkno = BufferGetBlockNumber(buf);
	const char *fault = fpb_header_fault(&check->ix, page);

	if (fault == NULL)
		fault = fpb_page_fence_fault(&check->ix, page);
	if (fault != NULL && !PageIsNew(page))
		report_own(check, blkno, fault);
	else
		fpb_check_report(check, blkno, "%s", what);
}

/*
 * Does a page begin after all entries of its left sibling, which has elided
 * its high fence?  Both are locked.
 */
static bool
begins_behind(FpbCheck *check, Page left, Page page)
{
	FpbIndex   *ix = check->tree;
	FpbPos		end = FPB_POS_END;
	FpbEntry	last;
	FpbKey		low;
	FpbSearchKey search;

	if (!may_follow(ix, left, page))
		return false;
	fpb_page_low(ix, page, &low);
	fpb_search_key_from(ix, &low, &search);
	return fpb_compare_low(ix, left, &search) < 0 &&
		(!fpb_page_prev(ix, left, &end, &last) ||
		 fpb_compare(ix, &last.key, &search) < 0);
}

/*
 * The page at hand has elided its high fence.  Check that its right sibling
 * begins after its entries.  False if the page has changed since it was
 * copied.  Then it is copied again.
 */
static bool
check_elided(FpbCheck *check)
{
	BlockNumber right = FpbHdr(check->page)->right;

	for (int try = 0; try < FPB_CHECK_TRIES; try++)
	{
		Buffer		leftbuf = ReadBuffer(check->ix.rel, check->blkno);
		Page		left = BufferGetPage(leftbuf);
		Buffer		buf;

		LockBuffer(leftbuf, BUFFER_LOCK_SHARE);
		if (!is_usable(check->tree, left) || !FpbPageHighElided(left) ||
			FpbHdr(left)->right != right)
		{
			fpb_check_take(check, leftbuf); /* it has been split or has grown */
			return false;
		}
		if (try_lock(check, right, &buf))
		{
			if (!begins_behind(check, left, BufferGetPage(buf)))
				report_not_at(check, buf,
							  psprintf("The page does not begin where its left sibling, block %u, ends.",
									   check->blkno));
			fpb_relbuf(buf);
			fpb_relbuf(leftbuf);
			return true;
		}
		fpb_relbuf(leftbuf);
		wait_for_lock();
	}
	return true;
}

/*
 * Check that the page's right sibling begins where the page ends.
 */
static void
check_right(FpbCheck *check)
{
	BlockNumber blkno = check->blkno;

	for (int try = 0; try < FPB_CHECK_TRIES; try++)
	{
		/* of the page as it was copied last */
		FpbIndex   *ix = check->tree;
		int			level = FpbHdr(check->page)->level;
		BlockNumber right = FpbHdr(check->page)->right;
		FpbSearchKey from;
		Buffer		leftbuf;
		Buffer		buf;
		bool		same;

		if (!check->live || FpbPageIsRightmost(check->page))
			return;
		if (right == blkno)
		{
			fpb_check_report(check, blkno, "The page's right link leads to itself.");
			return;
		}
		buf = lock_linked(check, right);
		if (!BufferIsValid(buf))
			return;
		if (FpbPageHighElided(check->page))
		{
			fpb_relbuf(buf);
			if (check_elided(check))
				return;
			continue;
		}
		fpb_search_key_from(ix, &check->high, &from);
		same = is_at(ix, BufferGetPage(buf), level, &from);
		fpb_relbuf(buf);
		if (same)
			return;

		/* as long as the page is locked and has this link, it must be right */
		leftbuf = ReadBuffer(ix->rel, blkno);
		LockBuffer(leftbuf, BUFFER_LOCK_SHARE);
		if (is_usable(ix, BufferGetPage(leftbuf)) &&
			FpbHdr(BufferGetPage(leftbuf))->level == level &&
			FpbHdr(BufferGetPage(leftbuf))->right == right &&
			!FpbPageHighElided(BufferGetPage(leftbuf)) &&
			fpb_compare_high(ix, BufferGetPage(leftbuf), &from) == 0)
		{
			if (try_lock(check, right, &buf))
			{
				if (!is_at(ix, BufferGetPage(buf), level, &from))
					report_not_at(check, buf,
								  psprintf("The page does not begin where its left sibling, block %u, ends.",
										   blkno));
				fpb_relbuf(buf);
				fpb_relbuf(leftbuf);
				return;
			}
			fpb_relbuf(leftbuf);
			wait_for_lock();
		}
		else
			fpb_check_take(check, leftbuf); /* it has been split or has grown */
	}
}

/*
 * Does the level above have an entry for the page that begins with low?
 * (check_child checks from above that the entry's key is low, too.)
 */
static bool
has_downlink(FpbCheck *check, FpbSearchKey *low, int level, BlockNumber blkno)
{
	FpbIndex   *ix = check->tree;
	Buffer		buf;
	FpbEntry	entry;
	FpbPos		pos;
	bool		found;

	buf = fpb_descend(ix, low, level + 1, false, BUFFER_LOCK_SHARE,
					  NULL);
	if (!BufferIsValid(buf))
		return false;
	fpb_page_child(ix, BufferGetPage(buf), low, false, &pos, &entry);
	found = entry.child == blkno;
	fpb_relbuf(buf);
	return found;
}

/*
 * No entry for the page at hand has been found in the level above.  Check that
 * this is because the split that made the page has not been finished.
 */
static void
check_downlink(FpbCheck *check, FpbSearchKey *low, int level)
{
	FpbIndex   *ix = check->tree;
	Buffer		buf;
	Page		left;
	bool		found = true;

	/*
	 * While the left sibling is locked, nobody can delete the page, nor
	 * insert or remove its entry in the level above.
	 */
	buf = fpb_descend(ix, low, level, true, BUFFER_LOCK_SHARE, NULL);
	if (!BufferIsValid(buf))
		return;
	left = BufferGetPage(buf);
	if (FpbHdr(left)->right == check->blkno && !FpbPageSplitIncomplete(left) &&
		fpb_compare_end(ix, buf, low) == 0)
		found = has_downlink(check, low, level, check->blkno);
	fpb_relbuf(buf);
	if (!found)
		fpb_check_report(check, check->blkno, "The level above has no entry for the page.");
}

/*
 * Does a descent to the place of the page at hand lead to another page, or to
 * none?  If that is a fault, reports it.
 */
static bool
is_orphan(FpbCheck *check, FpbSearchKey *low, int level)
{
	FpbIndex   *ix = check->tree;

	for (int try = 0; try < FPB_CHECK_TRIES; try++)
	{
		Buffer		other;
		Buffer		buf;

		if (low == NULL)
			other = fpb_descend_edge(ix, level, false, BUFFER_LOCK_SHARE);
		else
			other = fpb_descend(ix, low, level, false,
								BUFFER_LOCK_SHARE, NULL);
		if (BufferIsValid(other) && BufferGetBlockNumber(other) == check->blkno)
		{
			fpb_relbuf(other);
			return false;
		}

		/* is it live while the page that covers its low fence is locked? */
		if (try_lock(check, check->blkno, &buf))
		{
			bool		orphan = is_at(ix, BufferGetPage(buf), level, low);

			/* a queue may have been made since none was found */
			if (orphan && !BufferIsValid(other))
			{
				fpb_index_refresh(ix);
				orphan = ix->root == FPB_METAPAGE || level > (int) ix->level;
			}
			fpb_relbuf(buf);
			if (BufferIsValid(other))
				fpb_relbuf(other);
			if (orphan)
				fpb_check_report(check, check->blkno, "The page has no place in the tree.");
			return true;
		}
		if (BufferIsValid(other))
			fpb_relbuf(other);
		wait_for_lock();
	}
	return true;
}

/*
 * The copy of a page is of a level above the root's, or is the leftmost of the
 * root's level with others to its right.  Check that the page is not so any
 * more.  The queue's root may have been lowered since the copy was made, but
 * can't be while the page is locked and in use.
 */
static void
check_level(FpbCheck *check, int level)
{
	FpbIndex   *ix = check->tree;
	Buffer		buf = ReadBuffer(ix->rel, check->blkno);
	Page		page = BufferGetPage(buf);
	bool		in_use;
	bool		beside_root;

	LockBuffer(buf, BUFFER_LOCK_SHARE);
	in_use = is_usable(ix, page) && FpbHdr(page)->level == level;
	if (in_use)
		fpb_index_refresh(ix);
	beside_root = in_use && FpbPageIsLeftmost(page) &&
		!FpbPageIsRightmost(page) && !FpbPageSplitIncomplete(page);
	fpb_relbuf(buf);
	if (in_use && level > (int) ix->level)
		fpb_check_report(check, check->blkno,
						 "The page is of level %d, but the root is of level %u.",
						 level, ix->level);
	else if (beside_root && level == (int) ix->level)
		fpb_check_report(check, check->blkno, "The root has a right sibling.");
}

/*
 * Check that the page at hand has a place in the tree.
 */
static void
check_place(FpbCheck *check)
{
	FpbIndex   *ix = check->tree;
	Page		page = check->page;
	int			level = FpbHdr(page)->level;
	FpbKey		fence;
	FpbSearchKey low;
	FpbSearchKey *lowp = NULL;

	/* the metapage knows of a level before it has pages */
	if (level >= (int) ix->level)
		fpb_index_refresh(ix);
	if (level > (int) ix->level)
	{
		check_level(check, level);
		return;
	}

	/* when a root's split is complete, the metapage names the new root */
	if (level == (int) ix->level && FpbPageIsLeftmost(page) &&
		!FpbPageIsRightmost(page) && !FpbPageSplitIncomplete(page))
		check_level(check, level);

	if (!FpbPageIsLeftmost(page))
	{
		fpb_page_low(ix, page, &fence);
		fpb_search_key_from(ix, &fence, &low);
		lowp = &low;
		if (level < (int) ix->level && has_downlink(check, lowp, level, check->blkno))
			return;
	}
	if (!is_orphan(check, lowp, level) && lowp != NULL && level < (int) ix->level)
		check_downlink(check, lowp, level);
}

/*
 * The page at hand is marked as incompletely split.  A split keeps both halves
 * locked until it is complete, so nobody sees the mark unless the split has
 * been interrupted.  That is no fault, but searches take one more step.
 */
static void
check_split(FpbCheck *check)
{
	FpbIndex   *ix = check->tree;
	Buffer		buf = ReadBuffer(ix->rel, check->blkno);
	Page		page = BufferGetPage(buf);
	bool		unfinished;
	bool		found = false;

	LockBuffer(buf, BUFFER_LOCK_SHARE);
	unfinished = is_usable(ix, page) && FpbPageSplitIncomplete(page) &&
		!FpbPageIsRightmost(page);
	if (unfinished && FpbHdr(page)->level < ix->level)
	{
		FpbKey		high;
		FpbSearchKey search;
		Buffer		right = fpb_lock_high(ix, buf, &high);

		fpb_search_key_from(ix, &high, &search);
		found = has_downlink(check, &search, FpbHdr(page)->level, FpbHdr(page)->right);
		if (BufferIsValid(right))
			fpb_relbuf(right);
	}
	fpb_relbuf(buf);
	if (found)
		fpb_check_report(check, check->blkno,
						 "The page is marked as incompletely split, but its right sibling has an entry in the level above.");
	else if (unfinished)
		ereport(WARNING,
				(errmsg("index \"%s\" has an unfinished split at block %u",
						RelationGetRelationName(ix->rel), check->blkno),
				 errdetail("Its right sibling has no entry in the level above, but is found by way of it."),
				 errhint("An insertion there, or VACUUM, finishes the split.")));
}

/*
 * Is a locked child what its entry in a locked inner page says?  Also true if
 * the inner page is not of this level any more, or has no entry for the child.
 */
static bool
agrees_with_child(const FpbIndex *ix, Page page, int level, Buffer child)
{
	FpbPos		pos = FPB_POS_FIRST;
	FpbEntry	entry;

	if (!is_usable(ix, page) || FpbHdr(page)->level != level)
		return true;
	for (bool first = FpbPageIsLeftmost(page); fpb_page_next(ix, page, &pos, &entry); first = false)
	{
		FpbSearchKey low;

		if (entry.child == BufferGetBlockNumber(child))
		{
			fpb_search_key_from(ix, &entry.key, &low);
			return is_at(ix, BufferGetPage(child), level - 1, first ? NULL : &low);
		}
		pos = fpb_pos_behind(pos);
	}
	return true;
}

/*
 * Check that a child is what its entry, number check->nth of the page at hand,
 * says.
 *
 * If it is not, it may be any page by now, even the parent's parent.  So the
 * parent must not be waited for while the child is locked.
 */
static void
check_child(FpbCheck *check)
{
	const FpbIndex *ix = check->tree;
	const FpbEntry *entry = &check->entries[check->nth];
	int			level = FpbHdr(check->page)->level;
	FpbSearchKey low;
	FpbSearchKey *lowp = NULL;

	FPB_INJECTION_POINT("fpbtree-check-child");
	if (entry->child == check->blkno)
	{
		fpb_check_report(check, check->blkno, "The page is a child of its own.");
		return;
	}
	if (check->nth > 0 || !FpbPageIsLeftmost(check->page))
	{
		fpb_search_key_from(ix, &entry->key, &low);
		lowp = &low;
	}
	for (int try = 0; try < FPB_CHECK_TRIES; try++)
	{
		Buffer		buf = lock_linked(check, entry->child);
		Buffer		parentbuf;

		if (!BufferIsValid(buf))
			return;
		if (is_at(ix, BufferGetPage(buf), level - 1, lowp))
		{
			fpb_relbuf(buf);
			return;
		}

		/*
		 * Either the child has been deleted since the copy was made, and
		 * perhaps reused, even for another child of the same page.  Or this
		 * is a fault.
		 */
		if (try_lock(check, check->blkno, &parentbuf))
		{
			if (!agrees_with_child(ix, BufferGetPage(parentbuf), level, buf))
				report_not_at(check, buf,
							  psprintf("The page is not what its parent, block %u, says.",
									   check->blkno));
			fpb_relbuf(parentbuf);
			fpb_relbuf(buf);
			return;
		}
		fpb_relbuf(buf);
		wait_for_lock();
	}
}

/*
 * Has a locked leaf of a tree this entry?
 */
static bool
has_entry(const FpbIndex *tree, Page page, const FpbSearchKey *search)
{
	FpbPos		pos;
	FpbEntry	entry;

	fpb_page_search(tree, page, search, &pos);
	return fpb_page_next(tree, page, &pos, &entry) &&
		fpb_compare(tree, &entry.key, search) == 0;
}

/*
 * Check that no entry of the page at hand, a leaf of a tier, is in *below,
 * too, a tree that entries move to.  An entry that seems to be may have moved
 * there since the copy was made.  So the tier is searched again with the leaf
 * below locked.
 *
 * In recovery, nobody waits for a page of the queue with a main leaf locked,
 * or with a leaf of a tier below: see lock_all in scan/read_leaf.c.  The leaf
 * only stays pinned.  If it has changed meanwhile, the entry is checked anew.
 */
static void
check_not_below(FpbCheck *check, FpbIndex *below)
{
	Buffer		buf = InvalidBuffer;

	for (check->nth = 0; check->nth < check->nentries; check->nth++)
	{
		FpbSearchKey search;

		fpb_search_key_from(below, &check->entries[check->nth].key, &search);
		if (BufferIsValid(buf) && fpb_compare_end(below, buf, &search) <= 0)
		{
			fpb_relbuf(buf);
			buf = InvalidBuffer;
			CHECK_FOR_INTERRUPTS();
		}
		if (!BufferIsValid(buf))
			buf = fpb_descend(below, &search, 0, false, BUFFER_LOCK_SHARE, NULL);
		if (!BufferIsValid(buf))
			return;				/* there is no such tier */
		if (has_entry(below, BufferGetPage(buf), &search))
		{
			bool		recovery = RecoveryInProgress();
			XLogRecPtr	lsn = BufferGetLSNAtomic(buf);
			Buffer		queued;
			bool		both = false;

			if (recovery)
				LockBuffer(buf, BUFFER_LOCK_UNLOCK);
			queued = fpb_descend(check->tree, &search, 0, false, BUFFER_LOCK_SHARE, NULL);
			if (BufferIsValid(queued))
			{
				both = has_entry(check->tree, BufferGetPage(queued), &search);
				fpb_relbuf(queued);
			}
			if (recovery)
				LockBuffer(buf, BUFFER_LOCK_SHARE);
			if (recovery && BufferGetLSNAtomic(buf) != lsn)
			{
				fpb_relbuf(buf);
				buf = InvalidBuffer;
				CHECK_FOR_INTERRUPTS();
				check->nth--;
			}
			else if (both)
			{
				BlockNumber blkno = BufferGetBlockNumber(buf);

				fpb_relbuf(buf);
				buf = InvalidBuffer;
				fpb_check_report(check, check->blkno,
								 "An entry of the operation queue is on block %u, too.", blkno);
			}
		}
	}
	if (BufferIsValid(buf))
		fpb_relbuf(buf);
}

/*
 * Check that no entry of the page at hand, a leaf of the queue, is in another
 * tree, too.
 */
static void
check_one_tree(FpbCheck *check)
{
	for (int tier = check->tree->tree + 1; tier < FPB_TREES; tier++)
		check_not_below(check, &check->tiers[tier - 1]);
	check_not_below(check, &check->ix);
}

/*
 * Do a step of the check that compares the page at hand with others.  An error
 * is because of the others, so the first one and their number are reported at
 * the end, and not one for each page.
 */
static void
try_neighbours(FpbCheck *check, FpbCheckStep step)
{
	char	   *reason;

	if (check->lost >= MAX_LOST)
		return;
	reason = fpb_check_try(check, step);
	if (reason != NULL && check->lost++ == 0)
	{
		check->first_lost = check->blkno;
		check->lost_reason = MemoryContextStrdup(check->context, reason);
	}
}

/*
 * Check the page at hand against all others.
 */
static void
check_neighbours(FpbCheck *check)
{
	int			level = FpbHdr(check->page)->level;

	if (check->can_descend)
		try_neighbours(check, check_place);
	if (check->can_descend && FpbPageSplitIncomplete(check->page))
		try_neighbours(check, check_split);
	for (check->nth = 0; level > 0 && check->nth < check->nentries; check->nth++)
	{
		CHECK_FOR_INTERRUPTS();
		try_neighbours(check, check_child);
	}

	if (check->can_descend && level == 0 && check->tree != &check->ix)
		try_neighbours(check, check_one_tree);

	/* comes last, because it may copy the page anew */
	try_neighbours(check, check_right);
}

/* ------------------------------------------------------------------------
 * The whole index
 * ------------------------------------------------------------------------
 */

/*
 * Count the pages of a tier, each under its lock.
 */
static uint32
count_tier_pages(FpbCheck *check, int tier)
{
	Relation	rel = check->ix.rel;
	BlockNumber nblocks = RelationGetNumberOfBlocks(rel);
	uint32		found = 0;

	for (BlockNumber blkno = FPB_METAPAGE + 1; blkno < nblocks; blkno++)
	{
		Buffer		buf = ReadBufferExtended(rel, MAIN_FORKNUM, blkno, RBM_NORMAL,
											 check->strategy);
		Page		page = BufferGetPage(buf);

		CHECK_FOR_INTERRUPTS();
		LockBuffer(buf, BUFFER_LOCK_SHARE);
		if (!PageIsNew(page) && FpbHdr(page)->magic == FPB_MAGIC &&
			fpb_page_is_in_tree(&check->tiers[tier - 1], page))
			found++;
		fpb_relbuf(buf);
	}
	return found;
}

/*
 * Check that the metapage has the right number of pages of a tier.
 *
 * The record that adds or removes such a page includes the metapage, and its
 * pages stay locked until it is done, in replay, too.  So the number must be
 * right unless the metapage has changed while the pages were counted, which
 * its LSN tells.  (Without WAL, only the number tells that it has changed.
 * But a wrong number can't be found several times in succession by chance.)
 */
static void
check_tier_pages(FpbCheck *check, int tier)
{
	uint32	   *counted = &check->ntier_pages[tier - 1];

	for (int try = 0; try < (RelationNeedsWAL(check->ix.rel) ? 1 : MAX_COUNTS); try++)
	{
		XLogRecPtr	before;
		XLogRecPtr	after;
		uint32		told = fpb_tier_pages(&check->ix, tier, &before);
		uint32		found;

		if (told == *counted)
			return;
		found = count_tier_pages(check, tier);
		if (found == told || fpb_tier_pages(&check->ix, tier, &after) != told || before != after)
			return;
		*counted = found;
	}
	fpb_check_report(check, FPB_METAPAGE,
					 "Tier %d of the operation queue has %u pages, which the metapage does not say.",
					 tier, *counted);
}

static void
check_queue_pages(FpbCheck *check)
{
	for (int tier = 1; tier < FPB_TREES; tier++)
		check_tier_pages(check, tier);
}

/*
 * Check that a tier's root is where the metapage says.  What the metapage says
 * of a page can't change while that page is locked.  If it has changed, the
 * page was locked too late, and the new root is checked.
 */
static void
check_tier_root(FpbCheck *check, FpbIndex *queue)
{
	while (queue->root != FPB_METAPAGE)
	{
		BlockNumber root = queue->root;
		uint32		level = queue->level;
		Buffer		buf = lock_linked(check, root);
		bool		found;

		if (!BufferIsValid(buf))
			return;
		found = is_at(queue, BufferGetPage(buf), level, NULL);
		fpb_index_refresh(queue);
		fpb_relbuf(buf);
		if (!found && queue->root == root && queue->level == level)
			fpb_check_report(check, FPB_METAPAGE,
							 "The root of tier %d of the operation queue is said to be block %u, which is not the leftmost page of its level %u.",
							 queue->tree, root, level);
		if (found || queue->root == root)
			return;
		CHECK_FOR_INTERRUPTS();
	}
}

/*
 * Read the metapage itself, not what is cached of it, and check that the roots
 * are where it says.
 */
void
fpb_check_root(FpbCheck *check)
{
	FpbIndex   *ix = &check->ix;
	Buffer		buf;

	fpb_index_open(ix, ix->rel);
	fpb_index_refresh(ix);
	for (int tier = 1; tier < FPB_TREES; tier++)
		fpb_index_of_tier(ix, tier, &check->tiers[tier - 1]);
	check->tree = ix;
	check->blkno = FPB_METAPAGE;
	buf = lock_linked(check, ix->root);
	if (!BufferIsValid(buf))
		return;

	/* a root that has been split since still is the leftmost of its level */
	if (!is_at(ix, BufferGetPage(buf), ix->level, NULL))
		report_not_at(check, buf,
					  psprintf("The page is the root, but not the leftmost of level %u.",
							   ix->level));
	fpb_relbuf(buf);
	for (int i = 0; i < FPB_TIERS; i++)
		check_tier_root(check, &check->tiers[i]);
}

/*
 * Check that the operator classes still say that equal keys are the same
 * value, if the metapage says so and duplicates may share one key.
 */
static void
check_shared_keys(FpbCheck *check)
{
	if (check->ix.one_key && !fpb_opclasses_say_equal_image(&check->ix))
		fpb_check_report(check, FPB_METAPAGE,
						 "Duplicates may share one key, but an operator class says that equal keys need not be the same value.");
}

/*
 * Check all pages.
 */
void
fpb_check_pages(FpbCheck *check)
{
	char	   *fault;

	for (BlockNumber blkno = FPB_METAPAGE + 1; blkno < check->nblocks; blkno++)
	{
		CHECK_FOR_INTERRUPTS();
		MemoryContextReset(check->page_cxt);
		check->blkno = blkno;
		fault = fpb_check_try(check, check_page);
		if (fault != NULL)
			report_own(check, blkno, fault);
	}

	/* descents may go through any page, so faults within pages come first */
	for (BlockNumber blkno = FPB_METAPAGE + 1; blkno < check->nblocks; blkno++)
	{
		CHECK_FOR_INTERRUPTS();
		MemoryContextReset(check->page_cxt);
		check->blkno = blkno;
		if (!is_faulty(check, blkno) &&
			fpb_check_try(check, take_page) == NULL && check->live)
			check_neighbours(check);
	}

	fault = fpb_check_try(check, check_queue_pages);
	if (fault != NULL)
		fpb_check_report(check, FPB_METAPAGE, "%s", fault);
	fault = fpb_check_try(check, check_shared_keys);
	if (fault != NULL)
		fpb_check_report(check, FPB_METAPAGE, "%s", fault);

	if (check->lost > 0)
		fpb_check_report(check, InvalidBlockNumber,
						 "Following the links between pages has failed %s%d times; the first was at block %u: %s",
						 check->lost >= MAX_LOST ? "at least " : "",
						 check->lost, check->first_lost, check->lost_reason);
	if (!check->can_descend)
		fpb_check_report(check, InvalidBlockNumber,
						 "Whether each page has a place in the tree was not looked at: inner pages or fences are damaged.");
}
