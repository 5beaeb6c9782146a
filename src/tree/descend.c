/*-------------------------------------------------------------------------
 *
 * tree/descend.c
 *	  Finding pages: descent from the root, and steps to the right.
 *
 * A descent holds one page lock at a time.  What it has read of a page may be
 * out of date by the time it follows a link, but the fences of the page it
 * comes to tell: a page is the right one if the search key lies between them.
 * See "Fences" in README.md.  What they don't tell is which tree it is of, the
 * main one or the operation queue's: a flag does.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xlog.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "utils/memutils.h"

#include "tree/tree.h"

/*
 * A descent that has been sent back to the root this often goes round in
 * circles: no number of concurrent splits and deletions explains it.
 */
#define MAX_RESTARTS	1000

/*
 * From a page named by a stale link, the place looked for may be any number of
 * steps to the right.  From one named by a link that was good a moment ago, or
 * a copy of such, it is a few splits away; after more steps than this another
 * descent, without copies, is cheaper.
 */
#define MAX_STEPS	16

/*
 * In recovery, after so many restarts in succession, replay may be in the
 * midst of a change, and not get on because of us: it has marked a page
 * deleted, and still to lock the page that names it.  Then wait a little each
 * time, in microseconds.
 */
#define RESTARTS_AT_ONCE	10
#define RESTART_DELAY		1000

/* After so many steps to the right, see whether they can ever end. */
#define STEPS_TO_CHECK	10000

/*
 * Count a step to the right from a locked page, one of a walk to a place that
 * must be near.  Raises an error if there have been more than there are pages:
 * damaged links form a circle.
 */
void
fpb_count_step(const FpbIndex *ix, Buffer buf, uint32 *steps)
{
	if (++*steps % STEPS_TO_CHECK == 0 &&
		*steps > RelationGetNumberOfBlocks(ix->rel))
		fpb_report_damage(ix->rel, BufferGetBlockNumber(buf),
						  "The right links form a circle.");
}

/*
 * Set *high to the high fence of the page in buf, which is not the rightmost,
 * and is locked, as it stays; its lock may be of either kind.
 *
 * If the page has elided its fence, it is the low fence of the right sibling,
 * which is returned locked share and to be released when the key has been
 * used; else InvalidBuffer.  Raises an error if the sibling does not begin
 * where the page ends.
 */
Buffer
fpb_lock_high(const FpbIndex *ix, Buffer buf, FpbKey *high)
{
	Page		page = BufferGetPage(buf);
	Buffer		right;
	Page		right_page;

	fpb_page_high(ix, page, high);
	if (!FpbPageHighElided(page))
		return InvalidBuffer;
	if (FpbPageIsLeaf(page))
		FPB_INJECTION_POINT("fpbtree-leaf-elided");
	right = fpb_getbuf_right(ix, buf, BUFFER_LOCK_SHARE);
	right_page = BufferGetPage(right);
	if (!fpb_page_is_in_tree(ix, right_page) || FpbPageIsLeftmost(right_page) ||
		FpbHdr(right_page)->level != FpbHdr(page)->level ||
		FpbHdr(right_page)->fences.head[FPB_LOW] != high->head)
		fpb_report_damage(ix->rel, BufferGetBlockNumber(right),
						  psprintf("The page does not begin where its left sibling, block %u, ends.",
								   BufferGetBlockNumber(buf)));
	fpb_page_low(ix, right_page, high);
	return right;
}

/*
 * fpb_compare_end, of a page that has elided its high fence.
 */
int
fpb_compare_elided(const FpbIndex *ix, Buffer buf, const FpbSearchKey *search)
{
	FpbKey		high;
	Buffer		right;
	int			sign;

	/* the head may tell */
	fpb_page_high(ix, BufferGetPage(buf), &high);
	if (search->has_head && high.head != search->head)
		return high.head < search->head ? -1 : 1;
	right = fpb_lock_high(ix, buf, &high);
	sign = fpb_compare(ix, &high, search);
	fpb_relbuf(right);
	return sign;
}

/*
 * Finish the incomplete split of a page that has been found locked as access
 * says, and leave it locked so.  In between it may have changed, but its pin
 * keeps it from becoming another page (fpb_allocbuf).
 *
 * Returns false if that is not possible from here: see fpb_finish_split.
 */
static bool
finish_split_met(FpbIndex *ix, Buffer buf, int access)
{
	bool		done = true;

	if (access == BUFFER_LOCK_EXCLUSIVE)
		return fpb_finish_split(ix, buf);

	LockBuffer(buf, BUFFER_LOCK_UNLOCK);
	FPB_INJECTION_POINT("fpbtree-split-met");
	LockBuffer(buf, BUFFER_LOCK_EXCLUSIVE);
	fpb_checkpage(ix, buf);
	if (FpbPageSplitIncomplete(BufferGetPage(buf)))
		done = fpb_finish_split(ix, buf);
	LockBuffer(buf, BUFFER_LOCK_UNLOCK);
	LockBuffer(buf, access);
	fpb_checkpage(ix, buf);
	return done;
}

/*
 * From a page, locked as access says, step right until the search key's place
 * is reached.  On a descent for writing, incomplete splits met on the way are
 * finished, the final page's included: before anybody goes on to a page that
 * has no downlink it gets one, on every level, and whoever is given a page
 * locked exclusively knows that its right sibling has one.
 *
 * Other locks may be held only on pages of the levels below.  Returns the
 * page, or InvalidBuffer with no lock on the level held if a link has led
 * astray: to a page that is not to the left of the place, or, if it is a hint,
 * so far to the left; or to one whose own left sibling's split is to be
 * finished first.
 */
static Buffer
move_right(FpbIndex *ix, Buffer buf, const FpbSearchKey *search, int level,
		   bool before, int access, bool writing, bool hint)
{
	uint32		steps = 0;

	for (;;)
	{
		Page		page = BufferGetPage(buf);
		BlockNumber right;
		int			end;

		if (!fpb_page_reaches_left(ix, page, search, level, before))
		{
			fpb_relbuf(buf);
			return InvalidBuffer;
		}
		if (writing && FpbPageSplitIncomplete(page))
		{
			if (!finish_split_met(ix, buf, access))
			{
				fpb_relbuf(buf);
				return InvalidBuffer;
			}
			continue;
		}
		end = fpb_compare_end(ix, buf, search);
		if (before ? end >= 0 : end > 0)
			return buf;

		right = FpbHdr(page)->right;
		ix->named_node = 0;
		fpb_count_step(ix, buf, &steps);
		fpb_relbuf(buf);
		if (hint && steps > MAX_STEPS)
			return InvalidBuffer;
		CHECK_FOR_INTERRUPTS();
		if (level > 0 || ix->tree != 0)
			buf = fpb_getbuf_level(ix, right, level, access);
		else
			buf = fpb_getbuf(ix, right, access);
		if (!BufferIsValid(buf))
			return InvalidBuffer;
	}
}

/*
 * A descent begins anew, having been led astray so many times before.
 */
static void
count_restart(int restarts)
{
	CHECK_FOR_INTERRUPTS();
	if (restarts >= RESTARTS_AT_ONCE && RecoveryInProgress())
		pg_usleep(RESTART_DELAY);
}

/*
 * Has a page not been read that would have to be?
 */
static inline bool
is_missing(const FpbIndex *ix)
{
	return ix->missing != NULL && *ix->missing != InvalidBlockNumber;
}

/*
 * The root of the main tree as far as it is known.  If it has got a right
 * sibling, it may not be the root any more: look it up again, once.
 */
static Buffer
get_main_root(FpbIndex *ix, int level, int access)
{
	Buffer		buf;

	if (level > (int) ix->level)
		fpb_index_refresh(ix);
	if (level > (int) ix->level)
		fpb_report_damage(ix->rel, FPB_METAPAGE,
						  "The metapage's level is lower than the tree's.");
	buf = fpb_getbuf(ix, ix->root, level == (int) ix->level ? access : BUFFER_LOCK_SHARE);
	if (!FpbPageIsRightmost(BufferGetPage(buf)) ||
		FpbHdr(BufferGetPage(buf))->level != ix->level)
	{
		fpb_relbuf(buf);
		fpb_index_refresh(ix);
		buf = fpb_getbuf(ix, ix->root,
						 level == (int) ix->level ? access : BUFFER_LOCK_SHARE);
	}
	return buf;
}

/*
 * The root of the queue's tree, which may have been lowered, or taken away and
 * another one have been made: the block can be any page by now.  InvalidBuffer
 * if there is no queue, or none of so many levels.
 *
 * Any page that is the leftmost and the last of its level will do as well.
 */
static Buffer
get_queue_root(FpbIndex *ix, int level, int access)
{
	for (int tries = 0; tries < MAX_RESTARTS; tries++)
	{
		Buffer		buf;

		if (tries > 0 || ix->root == FPB_METAPAGE || level > (int) ix->level)
			fpb_index_refresh(ix);
		if (ix->root == FPB_METAPAGE || level > (int) ix->level)
			return InvalidBuffer;
		buf = fpb_getbuf_level(ix, ix->root, ix->level,
							   level == (int) ix->level ? access : BUFFER_LOCK_SHARE);
		if (BufferIsValid(buf))
		{
			Page		page = BufferGetPage(buf);

			/* one just looked up may be split, but not be another level's */
			if (fpb_page_is_in_tree(ix, page) &&
				FpbHdr(page)->level == ix->level && FpbPageIsLeftmost(page) &&
				(FpbPageIsRightmost(page) || tries > 0))
				return buf;
			fpb_relbuf(buf);
		}
		if (is_missing(ix))
			return InvalidBuffer;
		count_restart(tries);
	}
	fpb_report_damage(ix->rel, ix->root,
					  "The page is not the root of the operation queue that the metapage says it is.");
}

/*
 * Lock the root as far as it is known.
 */
static Buffer
get_root(FpbIndex *ix, int level, int access)
{
	return ix->tree == 0 ? get_main_root(ix, level, access) :
		get_queue_root(ix, level, access);
}

/*
 * The copy of an inner page, if there is one and it covers the search key's
 * place, which is simple.  One that does not may be out of date: it is
 * dropped.
 */
static inline Page
usable_copy(FpbIndex *ix, BlockNumber blkno, const FpbSearchKey *search, int level,
			bool before)
{
	Page		page = fpb_cache_lookup(ix->cache, blkno);

	if (page == NULL)
		return NULL;
	if (fpb_page_covers(ix, page, search, level, before))
		return page;
	fpb_cache_drop(ix->cache, blkno);
	return NULL;
}

/*
 * Keep a copy of an inner page, locked.  But a writer is to come by an
 * incomplete split, and finish it; and a copy has no sibling to ask for its
 * high fence.
 */
static inline void
keep_copy(FpbIndex *ix, BlockNumber blkno, Page page)
{
	if (!FpbPageSplitIncomplete(page) && !FpbPageHighElided(page))
		fpb_cache_store(ix->cache, blkno, page);
}

/*
 * Descend to the page of a level that the search key falls into, and lock it.
 * Other locks may be held only on pages of the levels below.  A descent for an
 * exclusive lock finishes the incomplete splits that it comes by.
 *
 * Above that level, copies of pages do as well as the pages, at first.  If the
 * page that one has led to is not the right one, it is dropped.
 */
Buffer
fpb_descend(FpbIndex *ix, const FpbSearchKey *search, int level, bool before,
			int access, FpbStack *stack)
{
	bool		use_copies = fpb_inner_page_cache > 0 &&
		fpb_search_key_is_simple(ix, search);

	for (int restarts = 0; restarts < MAX_RESTARTS; restarts++)
	{
		BlockNumber parent = InvalidBlockNumber;
		BlockNumber blkno = ix->root;
		int			at = ix->level;
		Buffer		buf;

		ix->named_node = 0;
		if (stack != NULL)
			stack->height = at + 1;
		for (;;)
		{
			Page		page = NULL;
			uint16		named;
			BlockNumber child;

			if (use_copies && at > level)
				page = usable_copy(ix, blkno, search, at, before);
			if (page == NULL)
			{
				if (parent == InvalidBlockNumber)
				{
					buf = get_root(ix, level, access);
					if (!BufferIsValid(buf))
						return InvalidBuffer;
					at = ix->level;
					blkno = ix->root;
					if (stack != NULL)
						stack->height = at + 1;
				}
				else if (at > 0 || ix->tree != 0)
					buf = fpb_getbuf_level(ix, blkno, at,
										   at == level ? access : BUFFER_LOCK_SHARE);
				else
				{
					FPB_INJECTION_POINT("fpbtree-before-leaf");
					buf = fpb_getbuf_recent(ix, blkno, access);
				}
				if (BufferIsValid(buf))
					buf = move_right(ix, buf, search, at, before,
									 at == level ? access : BUFFER_LOCK_SHARE,
									 access == BUFFER_LOCK_EXCLUSIVE,
									 use_copies && parent != InvalidBlockNumber);

				/* not where the parent has sent us: was that a stale copy? */
				if ((!BufferIsValid(buf) || BufferGetBlockNumber(buf) != blkno) &&
					parent != InvalidBlockNumber)
					fpb_cache_drop(ix->cache, parent);
				if (!BufferIsValid(buf))
					break;
				blkno = BufferGetBlockNumber(buf);
				if (stack != NULL)
					stack->blocks[at] = blkno;
				if (at == level)
					return buf;
				page = BufferGetPage(buf);
				child = fpb_page_downlink(ix, page, search, before, &named);

				if (use_copies)
					keep_copy(ix, blkno, page);
				fpb_relbuf(buf);
			}
			else
			{
				child = fpb_page_downlink(ix, page, search, before, &named);
				if (stack != NULL)
					stack->blocks[at] = blkno;
			}
			ix->named_node = named;
			parent = blkno;
			blkno = child;
			at--;
		}

		/* Links read under locks may be stale too, but copies much more so. */
		use_copies = false;
		if (is_missing(ix))
			return InvalidBuffer;
		count_restart(restarts);
	}
	fpb_report_damage(ix->rel, ix->root,
					  "A descent from this root does not arrive at the page looked for.");
}

/*
 * Set ins->buf to the leaf of the main tree where an insertion's search key
 * falls, locked exclusively; its right sibling has a downlink.  No lock is
 * held on entry.
 *
 * Ascending keys all go to the rightmost leaf.  So the leaf that was the
 * rightmost when this session saw it last is tried before a descent, and
 * leaves the stack empty.  Its block may hold any page by now, but the fences
 * tell whether it is the right one, as at the end of a descent.
 */
void
fpb_descend_insert(FpbIndex *ix, FpbInsertState *ins)
{
	const FpbSearchKey *search = &ins->search;
	BlockNumber last = RelationGetTargetBlock(ix->rel);
	Buffer		buf;
	Page		page;

	if (last != InvalidBlockNumber)
	{
		/* if it can't be read, the next insertion is not to fail as well */
		RelationSetTargetBlock(ix->rel, InvalidBlockNumber);
		ix->named_node = 0;
		buf = fpb_getbuf_recent(ix, last, BUFFER_LOCK_EXCLUSIVE);
		page = BufferGetPage(buf);
		if (FpbPageIsRightmost(page) && fpb_page_reaches_left(ix, page, search, 0, false))
		{
			RelationSetTargetBlock(ix->rel, last);
			ins->stack->height = 0;
			ins->buf = buf;
			return;
		}
		fpb_relbuf(buf);
	}
	buf = fpb_descend(ix, search, 0, false, BUFFER_LOCK_EXCLUSIVE, ins->stack);
	page = BufferGetPage(buf);
	/* the descent to an only leaf takes no longer */
	if (FpbPageIsRightmost(page) && !FpbPageIsLeftmost(page))
		RelationSetTargetBlock(ix->rel, BufferGetBlockNumber(buf));
	ins->buf = buf;
}

/*
 * The leaf for the search key's place that copies of inner pages name, or
 * InvalidBlockNumber if one is missing.
 */
static BlockNumber
leaf_by_copies(FpbIndex *ix, const FpbSearchKey *search)
{
	BlockNumber blkno = ix->root;
	uint16		named;

	if (fpb_inner_page_cache == 0 || !fpb_search_key_is_simple(ix, search))
		return InvalidBlockNumber;
	for (int at = ix->level; at > 0; at--)
	{
		Page		page = usable_copy(ix, blkno, search, at, false);

		if (page == NULL)
			return InvalidBlockNumber;
		blkno = fpb_page_downlink(ix, page, search, false, &named);
	}
	return blkno;
}

/*
 * The leaf for the search key's place that the level above names, which it may
 * have been a moment ago; InvalidBlockNumber if there is no level above.  The
 * leaf is not touched.  No lock is held on entry or exit.
 */
BlockNumber
fpb_name_leaf(FpbIndex *ix, const FpbSearchKey *search)
{
	BlockNumber leaf;
	uint16		named;
	Buffer		buf;

	if (ix->level == 0)
		return InvalidBlockNumber;
	leaf = leaf_by_copies(ix, search);
	if (leaf != InvalidBlockNumber)
		return leaf;
	buf = fpb_descend(ix, search, 1, false, BUFFER_LOCK_SHARE, NULL);
	leaf = fpb_page_downlink(ix, BufferGetPage(buf), search, false, &named);
	if (fpb_inner_page_cache > 0 && fpb_search_key_is_simple(ix, search))
		keep_copy(ix, BufferGetBlockNumber(buf), BufferGetPage(buf));
	fpb_relbuf(buf);
	return leaf;
}

/*
 * A page that a link says is of this level.  Of the queue: InvalidBuffer if it
 * is not; main leaves may be locked.  Else it may be any page, and no lock is
 * held.
 */
static Buffer
get_page(const FpbIndex *ix, BlockNumber blkno, int level, int access)
{
	return ix->tree == 0 ? fpb_getbuf(ix, blkno, access) :
		fpb_getbuf_level(ix, blkno, level, access);
}

/*
 * The leftmost or rightmost page of a level, locked.  No lock is held on
 * entry, but for those of main leaves if it is one of the queue.
 */
Buffer
fpb_descend_edge(FpbIndex *ix, int level, bool rightmost, int access)
{
	uint32		steps = 0;

	for (int restarts = 0; restarts < MAX_RESTARTS; restarts++)
	{
		Buffer		buf = get_root(ix, level, access);
		int			at = ix->level;

		if (!BufferIsValid(buf))
			return InvalidBuffer;
		for (;;)
		{
			Page		page = BufferGetPage(buf);
			FpbPos		pos = FPB_POS_FIRST;
			FpbEntry	child;
			bool		found;

			if (!fpb_page_is_in_tree(ix, page) || FpbHdr(page)->level != at ||
				(!rightmost && !FpbPageIsLeftmost(page)))
			{
				fpb_relbuf(buf);
				break;
			}
			if (rightmost && !FpbPageIsRightmost(page))
			{
				BlockNumber right = FpbHdr(page)->right;

				fpb_count_step(ix, buf, &steps);
				fpb_relbuf(buf);
				CHECK_FOR_INTERRUPTS();
				buf = get_page(ix, right, at,
							   at == level ? access : BUFFER_LOCK_SHARE);
				if (!BufferIsValid(buf))
					break;
				continue;
			}
			if (at == level)
				return buf;

			if (rightmost)
			{
				pos = FPB_POS_END;
				found = fpb_page_prev(ix, page, &pos, &child);
			}
			else
				found = fpb_page_next(ix, page, &pos, &child);
			if (!found)
				fpb_page_damaged(ix, page, "An inner page is empty.");
			fpb_relbuf(buf);
			at--;
			buf = get_page(ix, child.child, at,
						   at == level ? access : BUFFER_LOCK_SHARE);
			if (!BufferIsValid(buf))
				break;
		}
		if (is_missing(ix))
			return InvalidBuffer;
		count_restart(restarts);
	}
	fpb_report_damage(ix->rel, ix->root,
					  "A descent from this root does not arrive at the edge of the tree.");
}

/*
 * The leaf that follows one whose right link and high fence (from) have been
 * read, locked.  If the link has become stale, or there is none (the leaf has
 * since become part of the last one), it is found by a descent.  No lock is
 * held on entry.
 */
Buffer
fpb_goto_right(FpbIndex *ix, BlockNumber right, int access, FpbSearchKey *from)
{
	ix->named_node = 0;
	if (right != InvalidBlockNumber)
	{
		Buffer		buf;
		Page		page;

		FPB_INJECTION_POINT("fpbtree-before-right");
		buf = fpb_getbuf_recent(ix, right, access);
		page = BufferGetPage(buf);
		if (fpb_page_is_in_tree(ix, page) && FpbPageIsLeaf(page))
		{
			int			low = fpb_compare_low(ix, page, from);

			/* one that begins there does not end there */
			if (low == 0 || (low < 0 && fpb_compare_end(ix, buf, from) > 0))
				return buf;
		}
		fpb_relbuf(buf);
	}
	return fpb_descend(ix, from, 0, false, access, NULL);
}

/*
 * Make a search key of a fence that outlives the lock on its page.
 */
void
fpb_fence_search_key(const FpbIndex *ix, const FpbKey *fence, FpbSearchKey *search)
{
	FpbKey		copy = *fence;

	if (fence->tuple != NULL)
	{
		copy.tuple = palloc(IndexTupleSize(fence->tuple));
		memcpy(copy.tuple, fence->tuple, IndexTupleSize(fence->tuple));
	}
	fpb_search_key_from(ix, &copy, search);
}

/*
 * Get ready to walk over a tree's leaves.
 */
void
fpb_leaves_begin(FpbLeaves *walk, FpbIndex *ix)
{
	walk->ix = ix;
	walk->begun = walk->at_end = false;
	for (int i = 0; i < 2; i++)
		walk->from_cxt[i] = AllocSetContextCreate(CurrentMemoryContext,
												  "fpbtree leaves",
												  ALLOCSET_SMALL_SIZES);
	walk->turn = 0;
	fpb_loop_guard_init(&walk->own, CurrentMemoryContext);
	walk->loop_guard = &walk->own;
}

/*
 * The next leaf, locked share; InvalidBuffer if there is none.  No lock is
 * held on entry.
 */
Buffer
fpb_leaves_next(FpbLeaves *walk)
{
	if (walk->at_end)
		return InvalidBuffer;
	if (!walk->begun)
		return fpb_descend_edge(walk->ix, 0, false, BUFFER_LOCK_SHARE);
	return fpb_goto_right(walk->ix, walk->next, BUFFER_LOCK_SHARE, &walk->from);
}

/*
 * Have a walk go on at a key, in the leaf of this block, as far as is known.
 */
static void
set_from(FpbLeaves *walk, const FpbKey *at, BlockNumber next)
{
	MemoryContext old;

	walk->turn ^= 1;
	MemoryContextReset(walk->from_cxt[walk->turn]);
	old = MemoryContextSwitchTo(walk->from_cxt[walk->turn]);
	walk->place = *at;
	if (at->tuple != NULL)
	{
		walk->place.tuple = palloc(IndexTupleSize(at->tuple));
		memcpy(walk->place.tuple, at->tuple, IndexTupleSize(at->tuple));
	}
	fpb_search_key_from(walk->ix, &walk->place, &walk->from);
	MemoryContextSwitchTo(old);
	walk->next = next;
	walk->begun = true;
}

/*
 * Have a walk begin at a key.
 */
void
fpb_leaves_seek(FpbLeaves *walk, const FpbKey *at)
{
	set_from(walk, at, InvalidBlockNumber);
}

/*
 * Does a leaf, locked again after it has been unlocked, still end behind the
 * place where the walk is?  It may have been split before that: not if the
 * walk has come to it as the leaf's neighbour, but if that has been merged
 * away, and the place is in the midst of it.  If it does not, the walk is to
 * be asked for the next leaf again; raises an error if that has been so too
 * often.
 */
bool
fpb_leaves_still(FpbLeaves *walk, Buffer buf)
{
	FpbKey		high;
	Buffer		right;
	bool		still;

	if (!walk->begun || FpbPageIsRightmost(BufferGetPage(buf)))
		return true;
	right = fpb_lock_high(walk->ix, buf, &high);
	still = fpb_compare(walk->ix, &high, &walk->from) > 0;
	if (BufferIsValid(right))
		fpb_relbuf(right);
	if (!still)
		fpb_loop_guard_stay(walk->ix, walk->loop_guard, BufferGetBlockNumber(buf));
	return still;
}

/*
 * Note where a leaf, locked since it has been come to, ends, for the next one
 * to be found, and release it.  Raises an error if the walk does not get on.
 */
void
fpb_leaves_leave(FpbLeaves *walk, Buffer buf)
{
	Page		page = BufferGetPage(buf);

	if (FpbPageIsRightmost(page))
		walk->at_end = true;
	else
	{
		FpbKey		high;
		Buffer		right = fpb_lock_high(walk->ix, buf, &high);

		if (walk->begun && fpb_compare(walk->ix, &high, &walk->from) <= 0)
			fpb_report_no_order(walk->ix, BufferGetBlockNumber(buf));
		fpb_loop_guard_pass(walk->ix, walk->loop_guard, 0, &high, true,
							BufferGetBlockNumber(buf));
		set_from(walk, &high, FpbHdr(page)->right);
		if (BufferIsValid(right))
			fpb_relbuf(right);
	}
	fpb_relbuf(buf);
}

/*
 * End a walk.
 */
void
fpb_leaves_end(FpbLeaves *walk)
{
	for (int i = 0; i < 2; i++)
		MemoryContextDelete(walk->from_cxt[i]);
	fpb_loop_guard_end(&walk->own);
}

/*
 * Lock the parent of a page being split: the page above it into whose range
 * the separator falls.  The stack is a hint.
 */
Buffer
fpb_find_parent(FpbIndex *ix, const FpbSearchKey *separator, int level,
				FpbStack *stack)
{
	if (stack != NULL && stack->height > level + 1)
	{
		Buffer		buf = fpb_getbuf_level(ix, stack->blocks[level + 1],
										   level + 1, BUFFER_LOCK_EXCLUSIVE);

		if (BufferIsValid(buf))
			buf = move_right(ix, buf, separator, level + 1, false,
							 BUFFER_LOCK_EXCLUSIVE, true, true);
		if (BufferIsValid(buf))
			return buf;
	}
	return fpb_descend(ix, separator, level + 1, false,
					   BUFFER_LOCK_EXCLUSIVE, NULL);
}
