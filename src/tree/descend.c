/*-------------------------------------------------------------------------
 *
 * tree/descend.c
 *	  Finding pages: descent from the root, and steps to the right.
 *
 * A descent holds one page lock at a time.  What it has read of a page may be
 * out of date by the time it follows a link, but then the fences of the page
 * it comes to tell: the page is the right one if the search key lies between
 * them.  See "Fences" in README.md.  A flag of the page tells which tree it is
 * of, the main one or the operation queue's.
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
 * A descent that has started again this often goes round in circles: no number
 * of concurrent splits and deletions explains it.
 */
#define MAX_RESTARTS	1000

/*
 * From a page named by a link that was good a moment ago, or by a copy of such
 * a link, the search key's place is a few splits away.  From one named by a
 * stale link, it may be any number of steps to the right: after more steps
 * than this, another descent without copies is cheaper.
 */
#define MAX_STEPS	16

/*
 * In recovery, a descent may start again and again because replay is in the
 * midst of a change: it has marked a page deleted, and waits for our lock on
 * the page that names it.  After so many restarts in succession, wait a little
 * before each, in microseconds.
 */
#define RESTARTS_AT_ONCE	10
#define RESTART_DELAY		1000

/* see after so many steps to the right whether they can ever end */
#define STEPS_TO_CHECK	10000

/* longer separators are not kept */
#define BOUND_SIZE		256

/*
 * The separators on either side of the search key, as the pages above have
 * them, so far as they are known.
 */
typedef struct Bound
{
	Size		size;			/* 0 if it is not known */
	uint64		tail;
	union
	{
		IndexTupleData header;
		char		bytes[BOUND_SIZE];
		double		force_alignment;
	}			tuple;
} Bound;

/* what a descent looks for, and how */
typedef struct Descent
{
	FpbIndex   *ix;
	FpbSearchKey *search;
	bool		before;			/* see fpb_descend */
	bool		writing;		/* does it finish incomplete splits? */
	BlockNumber *missing;		/* see fpb_descend_queue; else NULL */
	Bound	   *bounds;			/* by FpbSide; NULL if comparisons with fences
								 * take little */
} Descent;

/*
 * Count a step to the right from a locked page, on the way to a place that
 * must be near.  Raises an error if there have been more steps than the index
 * has pages: then damaged links form a circle.
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
 * Set *high to the high fence of the page in buf, which is not the rightmost.
 * The page is locked, share or exclusively, and stays so.
 *
 * If the page has elided its high fence, that is the low fence of its right
 * sibling.  The sibling is returned then, locked share, and the caller has to
 * release it after it has used the key.  Otherwise returns InvalidBuffer.
 *
 * Raises an error if the sibling does not begin where the page ends.
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
 * fpb_compare_end for a page that has elided its high fence.
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
 * Finish the incomplete split of a page that a descent has come by.  The page
 * is locked as access says on entry and exit.  In between it may have been
 * unlocked and changed, but it has not become another page, because it has
 * been pinned all the time (fpb_allocbuf).
 *
 * Returns false if the split can't be finished from here: see
 * fpb_finish_split.
 */
static bool
finish_split_met(const Descent *d, Buffer buf, int access)
{
	FpbIndex   *ix = d->ix;
	bool		done = true;

	if (access == BUFFER_LOCK_EXCLUSIVE)
		return fpb_finish_split(ix, buf, d->missing);

	LockBuffer(buf, BUFFER_LOCK_UNLOCK);
	FPB_INJECTION_POINT("fpbtree-split-met");
	LockBuffer(buf, BUFFER_LOCK_EXCLUSIVE);
	fpb_checkpage(ix, buf);
	if (FpbPageSplitIncomplete(BufferGetPage(buf)))
		done = fpb_finish_split(ix, buf, d->missing);
	LockBuffer(buf, BUFFER_LOCK_UNLOCK);
	LockBuffer(buf, access);
	fpb_checkpage(ix, buf);
	return done;
}

/* --- separators met on the way --- */

/*
 * A page's fences are the separators in the page above, unless one of them has
 * been split meanwhile.  A search has just compared its key with these.  So
 * where the fence has the same bytes, the comparator need not be called again.
 * That spares a sixth of its calls where heads don't tell.
 */
static inline void
keep_bound(const Descent *d, FpbSide side, const FpbKey *key)
{
	Bound	   *bound = &d->bounds[side];
	Size		size = IndexTupleSize(key->tuple);

	bound->size = size <= BOUND_SIZE ? size : 0;
	bound->tail = key->tail;
	memcpy(&bound->tuple, key->tuple, bound->size);
}

static inline bool
is_bound(const Descent *d, FpbSide side, const FpbKey *key)
{
	const Bound *bound = &d->bounds[side];

	return bound->size != 0 && bound->tail == key->tail &&
		fpb_tuples_identical(d->ix, key->tuple, (IndexTuple) &bound->tuple);
}

/*
 * Is it known without a comparison that a page of the level expected covers
 * the search key?  It is locked, or a copy.
 */
static bool
is_known_place(const Descent *d, Page page, int level)
{
	FpbKey		fence;

	if (d->bounds == NULL || !fpb_page_is_in_tree(d->ix, page) ||
		FpbHdr(page)->level != level || FpbPageHighElided(page))
		return false;
	if (!FpbPageIsLeftmost(page))
	{
		fpb_page_low(d->ix, page, &fence);
		if (!is_bound(d, FPB_LOW, &fence))
			return false;
	}
	if (!FpbPageIsRightmost(page))
	{
		fpb_page_high(d->ix, page, &fence);
		if (!is_bound(d, FPB_HIGH, &fence))
			return false;
	}
	return true;
}

/*
 * The child of an inner page that covers the search key to descend to.  Keeps
 * the separators on either side of it, which the search has compared with its
 * key: in place of an entry that it has not, the low fence.
 */
static BlockNumber
child_and_bounds(const Descent *d, Page page)
{
	FpbPos		pos;
	FpbEntry	entry;
	FpbKey		fence;
	BlockNumber child;

	if (fpb_page_child(d->ix, page, d->search, d->before, &pos, &entry))
		keep_bound(d, FPB_LOW, &entry.key);
	else if (!FpbPageIsLeftmost(page))
	{
		/* they are the same, unless the page is damaged */
		fpb_page_low(d->ix, page, &fence);
		keep_bound(d, FPB_LOW, &fence);
	}
	child = entry.child;
	pos = fpb_pos_behind(pos);
	if (fpb_page_next(d->ix, page, &pos, &entry))
		keep_bound(d, FPB_HIGH, &entry.key);
	else if (!FpbPageIsRightmost(page) && !FpbPageHighElided(page))
	{
		fpb_page_high(d->ix, page, &fence);
		keep_bound(d, FPB_HIGH, &fence);
	}
	return child;
}

static inline BlockNumber
choose_child(const Descent *d, Page page)
{
	if (d->bounds != NULL)
		return child_and_bounds(d, page);
	return fpb_page_downlink(d->ix, page, d->search, d->before, &d->search->named_node);
}

/* --- moving right --- */

/*
 * Does a locked page, of the level expected, cover the search key, so that a
 * descent need not move right?  One that has to finish the page's split first
 * does.
 */
static inline bool
is_place(const Descent *d, Buffer buf, int level)
{
	Page		page = BufferGetPage(buf);
	int			end;

	if (d->writing && FpbPageSplitIncomplete(page))
		return false;
	if (is_known_place(d, page, level))
		return true;
	if (!fpb_page_reaches_left(d->ix, page, d->search, level, d->before))
		return false;
	end = fpb_compare_end(d->ix, buf, d->search);
	return d->before ? end >= 0 : end > 0;
}

/*
 * Move right until buf covers the search key (nbtree's _bt_moveright).  The
 * page is of the given level and locked as access says, and so is the page
 * returned.  Other locks may be held only on pages of the levels below, and,
 * on a descent in the queue, on main leaves.
 *
 * A descent for writing finishes every incomplete split on the way, the last
 * page's included.  So the right sibling of a page that is returned locked
 * exclusively has a downlink.
 *
 * Returns InvalidBuffer, having released buf, if the caller has to restart:
 * the page is right of the search key, or deleted, or of another level or
 * tree; or it was named by a hint, and is more than MAX_STEPS pages too far
 * left; or it lacks a downlink itself, because the split of its left sibling
 * comes first; or *missing has been set.
 */
static Buffer
move_right(const Descent *d, Buffer buf, int level, int access, bool hint)
{
	FpbIndex   *ix = d->ix;
	uint32		steps = 0;

	for (;;)
	{
		Page		page = BufferGetPage(buf);
		BlockNumber right;
		int			end;

		if (!fpb_page_reaches_left(ix, page, d->search, level, d->before))
		{
			fpb_relbuf(buf);
			return InvalidBuffer;
		}
		if (d->writing && FpbPageSplitIncomplete(page))
		{
			if (!finish_split_met(d, buf, access))
			{
				fpb_relbuf(buf);
				return InvalidBuffer;
			}
			continue;
		}
		end = fpb_compare_end(ix, buf, d->search);
		if (d->before ? end >= 0 : end > 0)
			return buf;

		right = FpbHdr(page)->right;
		d->search->named_node = 0;
		fpb_count_step(ix, buf, &steps);
		fpb_relbuf(buf);
		if (hint && steps > MAX_STEPS)
			return InvalidBuffer;
		CHECK_FOR_INTERRUPTS();
		if (level > 0 || ix->tree != FPB_MAIN_TREE)
			buf = fpb_getbuf_at_hand(ix, right, level, access, d->missing);
		else
			buf = fpb_getbuf(ix, right, access);
		if (!BufferIsValid(buf))
			return InvalidBuffer;
	}
}

/*
 * A descent starts again, as it has done so many times before.
 */
static void
count_restart(int restarts)
{
	CHECK_FOR_INTERRUPTS();
	if (restarts >= RESTARTS_AT_ONCE && RecoveryInProgress())
		pg_usleep(RESTART_DELAY);
}

/*
 * Has a page been found that would have to be read, and may not be?
 */
static inline bool
is_missing(const BlockNumber *missing)
{
	return missing != NULL && *missing != InvalidBlockNumber;
}

/*
 * Lock the main tree's root, as far as it is known: share if it is above the
 * level that the descent is for, otherwise as access says.  If it has got a
 * right sibling, it may not be the root any more, and is looked up again once.
 * Whatever is found then will do: the descent can move right.
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
 * Lock the root of the queue's tree, likewise.  The root may have been
 * lowered, or taken away and another one have been made: the block can be any
 * page by now.  Any page that is both the leftmost and the rightmost of its
 * level will do as well.
 *
 * InvalidBuffer if there is no queue, or none of so many levels, or if
 * *missing has been set.
 */
static Buffer
get_queue_root(FpbIndex *ix, int level, int access, BlockNumber *missing)
{
	for (int tries = 0; tries < MAX_RESTARTS; tries++)
	{
		Buffer		buf;

		if (tries > 0 || ix->root == FPB_METAPAGE || level > (int) ix->level)
			fpb_index_refresh(ix);
		if (ix->root == FPB_METAPAGE || level > (int) ix->level)
			return InvalidBuffer;
		buf = fpb_getbuf_at_hand(ix, ix->root, ix->level,
								 level == (int) ix->level ? access : BUFFER_LOCK_SHARE,
								 missing);
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
		if (is_missing(missing))
			return InvalidBuffer;
		count_restart(tries);
	}
	fpb_report_damage(ix->rel, ix->root,
					  "The page is not the root of the operation queue that the metapage says it is.");
}

/*
 * Lock the root of the tree that is worked on.
 */
static Buffer
get_root(FpbIndex *ix, int level, int access, BlockNumber *missing)
{
	return ix->tree == FPB_MAIN_TREE ? get_main_root(ix, level, access) :
		get_queue_root(ix, level, access, missing);
}

/*
 * The copy of an inner page, if there is one and it covers the search key;
 * otherwise NULL.  A copy that does not cover it may be out of date, and is
 * dropped.  The search key is simple (fpb_search_key_is_simple).
 */
static inline Page
usable_copy(const Descent *d, BlockNumber blkno, int level)
{
	FpbIndex   *ix = d->ix;
	Page		page = fpb_cache_lookup(ix->cache, blkno);

	if (page == NULL)
		return NULL;
	if (is_known_place(d, page, level) ||
		fpb_page_covers(ix, page, d->search, level, d->before))
		return page;
	fpb_cache_drop(ix->cache, blkno);
	return NULL;
}

/*
 * Keep a copy of an inner page, which is locked.  There is none of a page
 * whose split is incomplete, so that writers come to the page and finish it,
 * nor of one without high fence, because a copy has no sibling to ask for it.
 */
static inline void
keep_copy(FpbIndex *ix, BlockNumber blkno, Page page)
{
	if (!FpbPageSplitIncomplete(page) && !FpbPageHighElided(page))
		fpb_cache_store(ix->cache, blkno, page);
}

/*
 * Descend to the page of a level that the search key falls into, and lock it
 * as access says.  Other locks may be held only on pages of the levels below,
 * and, on a descent in the queue, on main leaves.
 *
 * Above that level, copies of pages serve as well as the pages, at first.  If
 * a copy has led to a page that is not the right one, the copy is dropped, and
 * the descent starts again without copies.
 *
 * Returns InvalidBuffer only in the queue's tree: if there is no queue, or
 * none of so many levels, or if *missing has been set.
 */
static pg_attribute_always_inline Buffer
descend(const Descent *d, int level, int access, FpbStack *stack)
{
	FpbIndex   *ix = d->ix;
	FpbSearchKey *search = d->search;
	bool		use_copies = fpb_inner_page_cache > 0 &&
		fpb_search_key_is_simple(ix, search);

	for (int restarts = 0; restarts < MAX_RESTARTS; restarts++)
	{
		BlockNumber parent = InvalidBlockNumber;
		BlockNumber blkno = ix->root;
		int			at = ix->level;
		Buffer		buf;

		search->named_node = 0;
		if (stack != NULL)
			stack->height = at + 1;
		for (;;)
		{
			Page		page = NULL;
			BlockNumber child;

			if (use_copies && at > level)
				page = usable_copy(d, blkno, at);
			if (page == NULL)
			{
				if (parent == InvalidBlockNumber)
				{
					buf = get_root(ix, level, access, d->missing);
					if (!BufferIsValid(buf))
						return InvalidBuffer;
					at = ix->level;
					blkno = ix->root;
					if (stack != NULL)
						stack->height = at + 1;
				}
				else if (at > 0 || ix->tree != FPB_MAIN_TREE)
					buf = fpb_getbuf_at_hand(ix, blkno, at,
											 at == level ? access : BUFFER_LOCK_SHARE,
											 d->missing);
				else
				{
					FPB_INJECTION_POINT("fpbtree-before-leaf");
					buf = fpb_getbuf_recent(ix, blkno, search->named_node, access);
				}
				if (BufferIsValid(buf) && !is_place(d, buf, at))
					buf = move_right(d, buf, at,
									 at == level ? access : BUFFER_LOCK_SHARE,
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
				child = choose_child(d, page);

				if (use_copies)
					keep_copy(ix, blkno, page);
				fpb_relbuf(buf);
			}
			else
			{
				child = choose_child(d, page);
				if (stack != NULL)
					stack->blocks[at] = blkno;
			}
			parent = blkno;
			blkno = child;
			at--;
		}

		/* Links read under locks may be stale too, but copies much more so. */
		use_copies = false;
		if (is_missing(d->missing))
			return InvalidBuffer;
		count_restart(restarts);
	}
	fpb_report_damage(ix->rel, ix->root,
					  "A descent from this root does not arrive at the page looked for.");
}

Buffer
fpb_descend(FpbIndex *ix, FpbSearchKey *search, int level, bool before,
			int access, FpbStack *stack)
{
	Descent		d = {.ix = ix,.search = search,.before = before,
	.writing = access == BUFFER_LOCK_EXCLUSIVE};
	Bound		bounds[2];

	if (!fpb_is_word(ix) && !search->has_head)
	{
		bounds[FPB_LOW].size = bounds[FPB_HIGH].size = 0;
		d.bounds = bounds;
	}
	return descend(&d, level, access, stack);
}

/*
 * The leaf that copies of inner pages name for the search key, or
 * InvalidBlockNumber if a copy is missing.  Fills the stack but for the leaf,
 * and search->named_node.
 */
static BlockNumber
leaf_by_copies(FpbIndex *ix, FpbSearchKey *search, FpbStack *stack)
{
	Descent		d = {.ix = ix,.search = search};
	BlockNumber blkno = ix->root;

	if (fpb_inner_page_cache == 0 || !fpb_search_key_is_simple(ix, search))
		return InvalidBlockNumber;
	stack->height = ix->level + 1;
	for (int at = ix->level; at > 0; at--)
	{
		Page		page = usable_copy(&d, blkno, at);

		if (page == NULL)
			return InvalidBlockNumber;
		stack->blocks[at] = blkno;
		blkno = fpb_page_downlink(ix, page, search, false, &search->named_node);
	}
	return blkno;
}

/*
 * Find the leaf for an insertion's search key as the level above names it: the
 * block is ins->stack->blocks[0].  The leaf itself is not touched, and may be
 * another one by the time it is locked.  No lock is held on entry or exit.
 *
 * ins->named becomes true if copies alone have named the leaf.  Returns false
 * if there is no level above.
 */
bool
fpb_name_leaf(FpbIndex *ix, FpbInsertState *ins)
{
	FpbSearchKey *search = &ins->search;
	BlockNumber leaf;
	Buffer		buf;

	if (ix->level == 0)
		return false;
	leaf = leaf_by_copies(ix, search, ins->stack);
	ins->named = leaf != InvalidBlockNumber;
	if (!ins->named)
	{
		buf = fpb_descend(ix, search, 1, false, BUFFER_LOCK_SHARE, ins->stack);
		leaf = fpb_page_downlink(ix, BufferGetPage(buf), search, false, &search->named_node);
		if (fpb_inner_page_cache > 0 && fpb_search_key_is_simple(ix, search))
			keep_copy(ix, BufferGetBlockNumber(buf), BufferGetPage(buf));
		fpb_relbuf(buf);
	}
	ins->stack->blocks[0] = leaf;
	return true;
}

/*
 * End the descent that fpb_name_leaf has begun: lock the leaf that it has
 * named, or the one to the right to which the search key's place has moved
 * meanwhile, exclusively.  No lock is held on entry.
 *
 * InvalidBuffer if that leads nowhere; a descent from the root will do.
 */
static Buffer
lock_named_leaf(FpbIndex *ix, FpbInsertState *ins)
{
	Descent		d = {.ix = ix,.search = &ins->search,.writing = true};
	BlockNumber leaf = ins->stack->blocks[0];
	Buffer		buf;

	FPB_INJECTION_POINT("fpbtree-before-leaf");
	buf = fpb_getbuf_recent(ix, leaf, ins->search.named_node, BUFFER_LOCK_EXCLUSIVE);
	if (!is_place(&d, buf, 0))
		buf = move_right(&d, buf, 0, BUFFER_LOCK_EXCLUSIVE, true);

	/* not where the parent has sent us: was that a stale copy? */
	if (!BufferIsValid(buf) || BufferGetBlockNumber(buf) != leaf)
		fpb_cache_drop(ix->cache, ins->stack->blocks[1]);
	return buf;
}

/*
 * The rightmost leaf of the main tree, locked exclusively, if an insertion's
 * search key belongs there, and this session knows its block; otherwise
 * InvalidBuffer.  No lock is held on entry.
 *
 * The block is that of the leaf that was the rightmost when this session saw
 * it last.  It may hold any page by now, but the fences tell whether it is the
 * right one, as at the end of a descent.
 */
static inline Buffer
get_rightmost_leaf(FpbIndex *ix, FpbSearchKey *search)
{
	BlockNumber last = RelationGetTargetBlock(ix->rel);
	Buffer		buf;
	Page		page;

	if (last == InvalidBlockNumber)
		return InvalidBuffer;

	/* if it can't be read, the next insertion is not to fail as well */
	RelationSetTargetBlock(ix->rel, InvalidBlockNumber);
	buf = fpb_getbuf_recent(ix, last, 0, BUFFER_LOCK_EXCLUSIVE);
	page = BufferGetPage(buf);
	if (FpbPageIsRightmost(page) && fpb_page_reaches_left(ix, page, search, 0, false))
	{
		RelationSetTargetBlock(ix->rel, last);
		search->named_node = 0;
		return buf;
	}
	fpb_relbuf(buf);
	return InvalidBuffer;
}

/*
 * Set ins->buf to the leaf for an insertion's search key, and note its block
 * if it is the rightmost.
 *
 * If copies alone have named the leaf, the descent is ended from there.  If
 * not, it begins again at the root, because the one that named the leaf locked
 * pages as a reader does, and passed by unfinished splits.
 */
static pg_noinline void
descend_to_leaf(FpbIndex *ix, FpbInsertState *ins)
{
	Buffer		buf = InvalidBuffer;
	Page		page;

	if (ins->named)
		buf = lock_named_leaf(ix, ins);
	if (!BufferIsValid(buf))
		buf = fpb_descend(ix, &ins->search, 0, false, BUFFER_LOCK_EXCLUSIVE, ins->stack);
	ins->buf = buf;

	/* the descent to an only leaf takes no longer */
	page = BufferGetPage(buf);
	if (FpbPageIsRightmost(page) && !FpbPageIsLeftmost(page))
		RelationSetTargetBlock(ix->rel, BufferGetBlockNumber(buf));
}

/*
 * Set ins->buf to the leaf of the main tree where an insertion's search key
 * falls, locked exclusively.  No lock is held on entry.
 *
 * Ascending keys all go to the rightmost leaf, so that is tried before a
 * descent; then the stack is left empty.
 */
void
fpb_descend_insert(FpbIndex *ix, FpbInsertState *ins)
{
	ins->buf = get_rightmost_leaf(ix, &ins->search);
	if (BufferIsValid(ins->buf))
	{
		ins->stack->height = 0;
		return;
	}
	descend_to_leaf(ix, ins);
}

/*
 * Lock the page that a link names, which should be of this level.  In the main
 * tree, the caller has to check that it is, and holds no lock.  In the queue's
 * tree, the caller may have main leaves locked, and gets InvalidBuffer if the
 * page is of another level or tree, or if *missing has been set.
 */
static Buffer
get_page(const FpbIndex *ix, BlockNumber blkno, int level, int access,
		 BlockNumber *missing)
{
	return ix->tree == FPB_MAIN_TREE ? fpb_getbuf(ix, blkno, access) :
		fpb_getbuf_at_hand(ix, blkno, level, access, missing);
}

/*
 * Lock the leftmost or rightmost page of a level.  The caller holds no lock,
 * except that it may have main leaves locked if the page is one of the queue.
 *
 * Returns InvalidBuffer in the same cases as descend.
 */
static Buffer
descend_edge(FpbIndex *ix, int level, bool rightmost, int access, BlockNumber *missing)
{
	uint32		steps = 0;

	for (int restarts = 0; restarts < MAX_RESTARTS; restarts++)
	{
		Buffer		buf = get_root(ix, level, access, missing);
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
							   at == level ? access : BUFFER_LOCK_SHARE, missing);
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
						   at == level ? access : BUFFER_LOCK_SHARE, missing);
			if (!BufferIsValid(buf))
				break;
		}
		if (is_missing(missing))
			return InvalidBuffer;
		count_restart(restarts);
	}
	fpb_report_damage(ix->rel, ix->root,
					  "A descent from this root does not arrive at the edge of the tree.");
}

Buffer
fpb_descend_edge(FpbIndex *ix, int level, bool rightmost, int access)
{
	return descend_edge(ix, level, rightmost, access, NULL);
}

/*
 * Lock the leaf of the queue's tree that the search key falls into, or, if
 * that is NULL, the first leaf (before: the last one).  The caller may have
 * main leaves locked, and then must not wait for storage: no page is read.
 *
 * Returns InvalidBuffer if there is no queue, or, with *missing set to its
 * block, if a page would have to be read.  *missing is InvalidBlockNumber on
 * entry.  If missing is NULL, pages are read.  If there is a search key,
 * *stack becomes what the descent has passed, unless stack is NULL.
 */
Buffer
fpb_descend_queue(FpbIndex *queue, FpbSearchKey *search, bool before, int access,
				  FpbStack *stack, BlockNumber *missing)
{
	Descent		d = {queue, search, before, access == BUFFER_LOCK_EXCLUSIVE, missing};

	Assert(queue->tree != FPB_MAIN_TREE);
	if (search == NULL)
		return descend_edge(queue, 0, before, access, missing);
	return descend(&d, 0, access, stack);
}

/*
 * Lock the leaf to the right of one that is not locked any more, given that
 * one's right link and its high fence, from.  If the link has become stale, or
 * there is none, because the leaf has become part of the last one, the leaf is
 * found by a descent.  No lock is held on entry.
 */
Buffer
fpb_goto_right(FpbIndex *ix, BlockNumber right, int access, FpbSearchKey *from)
{
	from->named_node = 0;
	if (right != InvalidBlockNumber)
	{
		Buffer		buf;
		Page		page;

		FPB_INJECTION_POINT("fpbtree-before-right");
		buf = fpb_getbuf_recent(ix, right, 0, access);
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
 * Make a search key of a copy of a fence, so that it outlives the lock on the
 * fence's page.
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
 * Lock the next leaf share.  Returns InvalidBuffer if there is none.  No lock
 * is held on entry.
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
 * Let a walk continue at a key.  next is the block of the leaf that is likely
 * to be there, or InvalidBlockNumber.
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
 * Let a walk begin at a key.
 */
void
fpb_leaves_seek(FpbLeaves *walk, const FpbKey *at)
{
	set_from(walk, at, InvalidBlockNumber);
}

/*
 * The caller has unlocked the leaf that the walk has come to, and locked it
 * again.  Does it still reach beyond the place where the walk is?
 *
 * It may have been split to the left of that place meanwhile.  (The place is
 * inside the leaf, and not at its beginning, if the leaf that began there has
 * been merged into this one.)  Then the caller has to ask for the next leaf
 * again; raises an error if that has happened too often.
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
 * Note where a leaf ends, so that the next one can be found, and release it.
 * It has been locked since the walk came to it, or fpb_leaves_still has been
 * true of it.  Raises an error if the walk makes no progress.
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
 * Lock the parent of a page that is being split, exclusively: the page above
 * it into whose range the separator falls.  stack is a hint, or NULL.
 *
 * Returns InvalidBuffer as descend does.
 */
Buffer
fpb_find_parent(FpbIndex *ix, FpbSearchKey *separator, int level,
				FpbStack *stack, BlockNumber *missing)
{
	Descent		d = {ix, separator, false, true, missing};

	if (stack != NULL && stack->height > level + 1)
	{
		Buffer		buf = fpb_getbuf_at_hand(ix, stack->blocks[level + 1],
											 level + 1, BUFFER_LOCK_EXCLUSIVE, missing);

		if (BufferIsValid(buf))
			buf = move_right(&d, buf, level + 1, BUFFER_LOCK_EXCLUSIVE, true);
		if (BufferIsValid(buf))
			return buf;
	}
	return descend(&d, level + 1, BUFFER_LOCK_EXCLUSIVE, NULL);
}
