/*-------------------------------------------------------------------------
 *
 * inspect/check_pages.c
 *	  Is every invariant of an index's pages true?
 *
 * Only AccessShareLock is taken, so the index may change while it is checked.
 * Pages are visited in the order of the file, not by their links, so that no
 * damage can make the check go round in a circle, or hide what is behind it.
 * Each page is copied under a share lock and the copy is examined.  What holds
 * of a single page must hold of the copy.  What holds between pages is first
 * looked at without care, one page after the other; if it seems not to be
 * true, then it is looked at again with all pages concerned locked at once, in
 * the usual order (left to right, then upwards), under which it must be:
 *
 * - a page that is live and has the right link R is followed by R, which is
 *	 live, too, and begins where the page ends;
 * - a child that is named by an entry of a live inner page is live, one level
 *	 below, and begins with the entry's key;
 * - a page, but the leftmost of its level, whose left sibling is not marked as
 *	 incompletely split, has an entry in the level above, else it has none;
 * - a key belongs to one page of a level: a descent to a live page's low fence
 *	 arrives at that page.
 *
 * These are enough.  Beginning with the first child of the first child and so
 * on of the root, which begin with minus infinity, the right links of a level
 * lead from fence to fence, ever upwards, to the page that ends with infinity;
 * and any live page is one of those, since a descent to its place finds it and
 * not another.
 *
 * Pages change their right link, lose or gain an entry of the level above, or
 * change what they cover only while they and the left sibling concerned are
 * locked exclusively.  A page's level and low fence stay the same until it is
 * deleted.
 *
 * To go on behind a fault, each part of the check is a subtransaction:
 * whatever error it raises, for a value may be damaged in such a way that only
 * its type knows, becomes a row.  Each page is looked at by itself before a
 * descent is made anywhere, and none is made where it could come by a tuple
 * whose structure is damaged.
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

/* while waiting for somebody else who has locked a page */
#define TRY_DELAY		1000	/* microseconds */

/* how often the queue's pages are counted where there is no WAL */
#define MAX_COUNTS		3

/*
 * When it has failed for so many pages, don't look for any more pages' places
 * in the tree: close to the root, one fault makes every descent fail, perhaps
 * after many steps.
 */
#define MAX_LOST		100

/* ------------------------------------------------------------------------
 * Faults
 * ------------------------------------------------------------------------
 */

/*
 * Report what is wrong with a block, or, if that is InvalidBlockNumber, with
 * the whole index.  Raises an error if the first fault is to be one.
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
 * Has something been found to be wrong within the page itself?
 */
static bool
is_faulty(const FpbCheck *check, BlockNumber blkno)
{
	return blkno < check->nblocks &&
		(check->faulty[blkno / 8] & (1 << (blkno % 8))) != 0;
}

/*
 * Report what is wrong within a page itself, once, however often one comes to
 * it.
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
 * What an error says, as the text of a fault.  Errors that are not about the
 * index go on, and so do all if the first fault is to be raised; what may tell
 * of a key is left out if the caller may not read it.
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

/* a part of the check */
typedef struct Part
{
	FpbCheck   *check;
	FpbCheckStep step;
} Part;

/*
 * Do it.
 */
static void
do_part(void *arg)
{
	Part	   *part = arg;

	part->step(part->check);
}

/*
 * Do a part of the check.  Returns NULL, or what error it has raised.
 *
 * Whatever a part takes hold of it must let go of by its end, as all is let go
 * of when it raises an error.
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
 * Lock a page, at all costs while others are locked: it may be any page, whose
 * holder waits for one of those.  False if that can't be done at once.
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
 * Wait a little for somebody who has locked a page.
 */
static void
wait_for_lock(void)
{
	FPB_INJECTION_POINT("fpbtree-check-busy");
	CHECK_FOR_INTERRUPTS();
	pg_usleep(TRY_DELAY);
}

/*
 * The tree that a page is of: an index to work with.
 */
FpbIndex *
fpb_check_tree(FpbCheck *check, Page page)
{
	return FpbPageIsQueue(page) ? &check->queue : &check->ix;
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
 * May a usable page, locked, be where another one ends that has elided its
 * high fence, as far as that can be told from heads?
 */
static bool
may_follow(const FpbIndex *ix, Page left, Page page)
{
	return is_usable(ix, page) && !FpbPageIsLeftmost(page) &&
		FpbHdr(page)->level == FpbHdr(left)->level &&
		FpbHdr(page)->low_head == FpbHdr(left)->high_head;
}

/*
 * The page at hand, still locked, has elided its high fence: make check->high
 * a copy of what it is, if the right sibling is as it should be.  False if
 * somebody else has locked that.
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
 * Copy a locked page, which is released, to check->page, and see whether it
 * may be worked with: whether no offset or length in it is out of bounds.
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
		return;					/* a crash has left it behind */
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
 * Copy the page at hand, check->blkno, and check all that can be known from
 * the copy alone: its structure, and the order of its keys.  No lock is held
 * on entry or exit.
 */
static void
check_page(FpbCheck *check)
{
	const char *fault;

	take_page(check);
	if (fpb_header_fault(&check->ix, check->page) == NULL &&
		fpb_page_is_in_tree(&check->queue, check->page))
		check->nqueue_pages++;
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
 * Pin and share-lock the page that a link in the page at hand names; nothing
 * in it has been checked.  InvalidBuffer, and the fault is reported, if there
 * is no such page.
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
 * Is it the page of this level that begins with low (NULL: minus infinity)?
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
 * What is wrong within a locked page, as far as it keeps it from being where a
 * link says, or else that it isn't there.
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
 * Does a locked page begin above all that its left sibling, locked, too, has,
 * which has elided its high fence?
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
 * The page at hand has elided its high fence.  See that it is followed by a
 * page that begins behind its entries.  False if the page is not as it was
 * copied.
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
 * See that the page at hand is followed by the page that begins where it ends.
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

		/* As long as the page is locked and has this link, it must be right. */
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
 * Does the level above have an entry for the page that begins with low?  That
 * the entry's key is low, too, is for check_child to see, which looks at it
 * from above.
 */
static bool
has_downlink(FpbCheck *check, const FpbSearchKey *low, int level, BlockNumber blkno)
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
 * The page at hand has not been found to have an entry in the level above.
 * See that this is because the split that made it has not been finished.
 */
static void
check_downlink(FpbCheck *check, const FpbSearchKey *low, int level)
{
	FpbIndex   *ix = check->tree;
	Buffer		buf;
	Page		left;
	bool		found = true;

	/*
	 * While the left sibling is locked, the page can't be deleted, nor its
	 * entry in the level above be inserted or removed.
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
 * Is the page to which a descent to the place of the page at hand leads
 * another one, or is there none?  Reports it if so.
 */
static bool
is_orphan(FpbCheck *check, const FpbSearchKey *low, int level)
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

		/* Can it be live at the same time as the page its key belongs to? */
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
 * See that a page, the copy of which seems to be the leftmost of a level that
 * there is not, or of the root's with others to its right, is not so.  The
 * queue's root may have been lowered since the copy was made, but not while
 * the page is locked and in use.
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
 * See that the page at hand has a place in the tree.
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

	/* A level is there before its pages are. */
	if (level >= (int) ix->level)
		fpb_index_refresh(ix);
	if (level > (int) ix->level)
	{
		check_level(check, level);
		return;
	}

	/* A split root is not incomplete any more once the metapage says so. */
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
 * The page at hand is marked as incompletely split.  Both halves are locked
 * until that is not true any more, so that nobody sees it unless the split has
 * come to a sudden end.  The index is sound, but searches take a step more.
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
 * Is a child, locked, what the entry for it of a locked inner page says, if
 * that is of this level and has one?
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
 * See that a child, check->nth, is what the entry for it of the page at hand
 * says.
 *
 * The parent may only be waited for if the child is what it should be: else it
 * may by now be any page, a parent's parent even.
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
		 * It has been deleted since the copy was made, and perhaps used
		 * again, even for another child of the same page; or this is damage.
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
 * See that no entry of the page at hand, a leaf of the queue, is in the main
 * tree, too.  One that seems to be may have moved there since the copy was
 * made; so the queue's leaf is asked again, with the main one locked.
 *
 * In recovery nothing of the queue is waited for with a main leaf locked: see
 * lock_both in scan/read_leaf.c.  That one stays pinned, and all is begun anew
 * if it has been changed meanwhile.
 */
static void
check_both_trees(FpbCheck *check)
{
	FpbIndex   *ix = &check->ix;
	Buffer		buf = InvalidBuffer;

	for (check->nth = 0; check->nth < check->nentries; check->nth++)
	{
		FpbSearchKey search;

		fpb_search_key_from(ix, &check->entries[check->nth].key, &search);
		if (BufferIsValid(buf) && fpb_compare_end(ix, buf, &search) <= 0)
		{
			fpb_relbuf(buf);
			buf = InvalidBuffer;
			CHECK_FOR_INTERRUPTS();
		}
		if (!BufferIsValid(buf))
			buf = fpb_descend(ix, &search, 0, false, BUFFER_LOCK_SHARE, NULL);
		if (has_entry(ix, BufferGetPage(buf), &search))
		{
			bool		recovery = RecoveryInProgress();
			XLogRecPtr	lsn = BufferGetLSNAtomic(buf);
			Buffer		queued;
			bool		both = false;

			if (recovery)
				LockBuffer(buf, BUFFER_LOCK_UNLOCK);
			queued = fpb_descend(&check->queue, &search, 0, false, BUFFER_LOCK_SHARE, NULL);
			if (BufferIsValid(queued))
			{
				both = has_entry(&check->queue, BufferGetPage(queued), &search);
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
 * Do a part of the check that is about the page at hand and others.  If an
 * error is raised, that is because of these, and need not be told for each
 * page.
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
 * See that the page at hand agrees with all others.
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

	if (check->can_descend && level == 0 && check->tree == &check->queue)
		try_neighbours(check, check_both_trees);

	/* may copy the page anew */
	try_neighbours(check, check_right);
}

/* ------------------------------------------------------------------------
 * The whole index
 * ------------------------------------------------------------------------
 */

/*
 * Count the pages of the queue's tree, each under its lock.
 */
static uint32
count_queue_pages(FpbCheck *check)
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
			fpb_page_is_in_tree(&check->queue, page))
			found++;
		fpb_relbuf(buf);
	}
	return found;
}

/*
 * See that the metapage is right about how many pages the queue's tree has.
 * None comes, nor goes, without a record of which the metapage is a part, and
 * all pages of a record are locked until it is done, in replay, too.  So
 * nothing can be said if the metapage has changed.  (Without WAL that is told
 * by the number alone; but then not several times in succession by chance.)
 */
static void
check_queue_pages(FpbCheck *check)
{
	for (int try = 0; try < (RelationNeedsWAL(check->ix.rel) ? 1 : MAX_COUNTS); try++)
	{
		XLogRecPtr	before;
		XLogRecPtr	after;
		uint32		told = fpb_queue_pages(&check->ix, &before);
		uint32		found;

		if (told == check->nqueue_pages)
			return;
		found = count_queue_pages(check);
		if (found == told || fpb_queue_pages(&check->ix, &after) != told || before != after)
			return;
		check->nqueue_pages = found;
	}
	fpb_check_report(check, FPB_METAPAGE,
					 "The operation queue has %u pages, which the metapage does not say.",
					 check->nqueue_pages);
}

/*
 * See that there is a root of the queue where the metapage says so.  With that
 * page locked the metapage can't come to say something else of it; if it does,
 * the page has been looked at too late.
 */
static void
check_queue_root(FpbCheck *check)
{
	FpbIndex   *queue = &check->queue;

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
							 "The root of the operation queue is said to be block %u, which is not the leftmost page of its level %u.",
							 root, level);
		if (found || queue->root == root)
			return;
		CHECK_FOR_INTERRUPTS();
	}
}

/*
 * Read what the metapage says, not what the cache knows, and see that there
 * are the roots.
 */
void
fpb_check_root(FpbCheck *check)
{
	FpbIndex   *ix = &check->ix;
	Buffer		buf;

	fpb_index_open(ix, ix->rel);
	fpb_index_refresh(ix);
	fpb_index_of_queue(ix, &check->queue);
	check->tree = ix;
	check->blkno = FPB_METAPAGE;
	buf = lock_linked(check, ix->root);
	if (!BufferIsValid(buf))
		return;

	/* even one that has been split since is the leftmost of its level */
	if (!is_at(ix, BufferGetPage(buf), ix->level, NULL))
		report_not_at(check, buf,
					  psprintf("The page is the root, but not the leftmost of level %u.",
							   ix->level));
	fpb_relbuf(buf);
	check_queue_root(check);
}

/*
 * See that nobody has changed his mind about what the metapage says: that
 * equal keys are the same value, so that they may share one copy.
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

	/* Descents go through any page: now what is wrong within each is known. */
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
