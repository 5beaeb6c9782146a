/*-------------------------------------------------------------------------
 *
 * prefetch/jump_pointers.c
 *	  The internal jump-pointer array: the pages of a level, as the pages above
 *	  name them.
 *
 * This is what section 2.2 of fpbtree-sigmod2002 calls so, but without links
 * of its own.  A walk looks at a copy of one page of the level above, with no
 * lock and no pin, and finds the next page by a descent to the fence at the
 * copy's end.
 *
 * A copy grows old: it may name pages that are no longer in the tree, and miss
 * pages that have come into it.  That does no harm.  Walks are for prefetch
 * only, and the scan finds the pages that it works on by itself.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "prefetch/prefetch.h"

/*
 * The current copy.
 */
static inline Page
current_page(const FpbWalk *walk)
{
	return (Page) walk->copies[walk->turn].data;
}

/*
 * Set up a walk over the children of a level's pages, which is at none as yet.
 */
void
fpb_walk_init(FpbWalk *walk, MemoryContext cxt, FpbIndex *ix, int level)
{
	Assert(level > 0);
	walk->cxt = cxt;
	walk->ix = ix;
	walk->level = level;
	walk->turn = 0;
	walk->copies = NULL;
	walk->block = InvalidBlockNumber;
}

/*
 * Free what a walk has allocated.
 */
void
fpb_walk_end(FpbWalk *walk)
{
	if (walk->copies != NULL)
		pfree(walk->copies);
	walk->copies = NULL;
}

/*
 * Copy a locked page and release it.  The copy takes the place of the one
 * before last, because a search key may still point into the last one.  False
 * if the page is not sound, which is left to others to report, or if it leaves
 * its high fence to its right sibling; or if there is none, because the tree,
 * a tier of the queue, has gone or has become lower.
 */
static bool
take_copy(FpbWalk *walk, Buffer buf)
{
	int			turn = walk->turn ^ 1;

	if (!BufferIsValid(buf))
		return false;
	walk->block = BufferGetBlockNumber(buf);
	memcpy(walk->copies[turn].data, BufferGetPage(buf), BLCKSZ);
	fpb_relbuf(buf);
	if (fpb_page_fault(walk->ix, (Page) walk->copies[turn].data) != NULL ||
		FpbPageHighElided((Page) walk->copies[turn].data))
		return false;
	walk->turn = turn;
	return true;
}

/*
 * Is the tree high enough for this walk?  If so, have room for copies.
 */
static bool
make_room(FpbWalk *walk)
{
	if ((int) walk->ix->level < walk->level)
		return false;
	if (walk->copies == NULL)
	{
		walk->copies = MemoryContextAllocAligned(walk->cxt,
												 2 * sizeof(PGAlignedBlock),
												 FPB_CACHE_LINE, 0);
		memset(walk->copies, 0, 2 * sizeof(PGAlignedBlock));
	}
	return true;
}

/*
 * Does the current copy, if there is one, cover the search key's place?
 */
static bool
copy_covers(const FpbWalk *walk, const FpbSearchKey *search, bool before)
{
	Page		page = current_page(walk);

	return !PageIsNew(page) &&
		fpb_page_covers(walk->ix, page, search, walk->level, before);
}

/*
 * Go to the child that the search key falls into (before: to the one that
 * holds what comes before it).  False if there is none to be found.  No lock
 * is held on entry or exit.
 */
bool
fpb_walk_seek(FpbWalk *walk, FpbSearchKey *search, bool before)
{
	FpbIndex   *ix = walk->ix;

	if (!make_room(walk))
		return false;
	if (!copy_covers(walk, search, before) &&
		!take_copy(walk, fpb_descend(ix, search, walk->level, before,
									 BUFFER_LOCK_SHARE, NULL)))
		return false;
	if (fpb_page_is_empty(ix, current_page(walk)))
		return false;
	(void) fpb_page_child(ix, current_page(walk), search, before, &walk->pos, &walk->child);
	return true;
}

/*
 * Go to the leftmost or rightmost child.  As above.
 */
bool
fpb_walk_seek_edge(FpbWalk *walk, bool rightmost)
{
	FpbIndex   *ix = walk->ix;

	if (!make_room(walk) ||
		!take_copy(walk, fpb_descend_edge(ix, walk->level, rightmost,
										  BUFFER_LOCK_SHARE)))
		return false;
	walk->pos = rightmost ? FPB_POS_END : FPB_POS_FIRST;
	return rightmost ?
		fpb_page_prev(ix, current_page(walk), &walk->pos, &walk->child) :
		fpb_page_next(ix, current_page(walk), &walk->pos, &walk->child);
}

/*
 * Go on to the next child in a direction.  False if there is none.  No lock is
 * held on entry or exit.
 */
bool
fpb_walk_step(FpbWalk *walk, bool forward)
{
	FpbIndex   *ix = walk->ix;
	Page		page = current_page(walk);
	FpbPos		pos = walk->pos;
	FpbEntry	child;
	FpbKey		fence;
	FpbSearchKey search;

	if (forward)
		pos = fpb_pos_behind(pos);
	if (forward ? fpb_page_next(ix, page, &pos, &child) :
		fpb_page_prev(ix, page, &pos, &child))
	{
		walk->pos = pos;
		walk->child = child;
		return true;
	}

	if (forward ? FpbPageIsRightmost(page) : FpbPageIsLeftmost(page))
		return false;
	if (forward)
		fpb_page_high(ix, page, &fence);
	else
		fpb_page_low(ix, page, &fence);
	fpb_search_key_from(ix, &fence, &search);
	return fpb_walk_seek(walk, &search, !forward);
}

/*
 * The high fence of the child at hand; false if it is infinite.  It points
 * into the copy.
 */
bool
fpb_walk_high(const FpbWalk *walk, FpbKey *key)
{
	Page		page = current_page(walk);
	FpbPos		pos = walk->pos;
	FpbEntry	next;

	pos = fpb_pos_behind(pos);
	if (fpb_page_next(walk->ix, page, &pos, &next))
	{
		*key = next.key;
		return true;
	}
	if (FpbPageIsRightmost(page))
		return false;
	fpb_page_high(walk->ix, page, key);
	return true;
}

/*
 * Sign of the high fence of the child at hand against a search key.
 */
int
fpb_walk_compare_high(const FpbWalk *walk, const FpbSearchKey *search)
{
	FpbKey		key;

	return fpb_walk_high(walk, &key) ? fpb_compare(walk->ix, &key, search) : 1;
}

/*
 * Sign of the low fence of the child at hand against a search key; -1 if the
 * child is the leftmost of its level, whose fence is minus infinity.
 */
int
fpb_walk_compare_low(const FpbWalk *walk, const FpbSearchKey *search)
{
	Page		page = current_page(walk);
	FpbPos		pos = walk->pos;
	FpbEntry	previous;

	if (FpbPageIsLeftmost(page) &&
		!fpb_page_prev(walk->ix, page, &pos, &previous))
		return -1;
	return fpb_compare(walk->ix, &walk->child.key, search);
}
