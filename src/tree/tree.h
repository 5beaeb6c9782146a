/*-------------------------------------------------------------------------
 *
 * tree/tree.h
 *	  Descent, steps to the right, splits, pruning, deletion of pages.
 *
 *-------------------------------------------------------------------------
 */
#ifndef FPB_TREE_TREE_H
#define FPB_TREE_TREE_H

#include "page/layout.h"
#include "tree/buffers.h"

typedef struct FpbStack
{
	int			height;			/* levels filled */
	BlockNumber blocks[FPB_MAX_LEVELS]; /* blocks[l]: page passed at level l */
} FpbStack;

/*
 * Descend to the page of the given level that the search key falls into, and
 * lock it.  before = false: low <= search key < high.  before = true: low <
 * search key <= high, which is the page that has what comes before the search
 * key.  If access is BUFFER_LOCK_EXCLUSIVE, incomplete splits on the way are
 * finished, on every level.  stack may be NULL.  search->named_node becomes
 * what level 1 says of the leaf.
 *
 * Always returns a page in the main tree.  In the queue's tree, returns
 * InvalidBuffer if there is no queue, or none of so many levels.
 */
extern Buffer fpb_descend(FpbIndex *ix, FpbSearchKey *search, int level, bool before,
						  int access, FpbStack *stack);

/*
 * An insertion under way, of a row's entry or of a downlink: what is known of
 * it, and of its place (nbtree's BTInsertState).  A leaf is searched once, and
 * pos stays good until the page is unlocked or changed.
 */
typedef struct FpbInsertState
{
	FpbEntry	entry;
	Relation	heap;			/* the index's table, which tells of dead
								 * entries; NULL of a downlink */
	bool		unchanged;		/* the row has been updated, its key not */
	bool		scattered;		/* of entries that have been sorted: they have
								 * come in no order */
	int			following;		/* entries sorted with it that belong to the
								 * leaf and come after it, */
	const FpbEntry *last;		/* and the last of these */
	bool		may_split;		/* or is it enough to try? */
	FpbStack   *stack;			/* what the descent to the page has passed, a
								 * hint; NULL: nothing */
	bool		named;			/* does that include the leaf, which copies
								 * have named (fpb_name_leaf)? */
	Buffer		buf;			/* the page where the entry belongs, locked
								 * exclusively */
	FpbPos		pos;			/* the entry's place there, as found by the
								 * search key */
	FpbPos	   *dead;			/* entries there to be killed by the same
								 * record (see fpb_may_kill_on_change), */
	int			ndead;			/* and how many */
	Buffer		left;			/* of a downlink: the halves of the split, */
	Buffer		right;			/* locked exclusively; else InvalidBuffer */
	BlockNumber *missing;		/* of a downlink of the queue's tree: see
								 * fpb_descend_queue; else NULL */
	FpbSearchKey search;		/* the entry's key */
} FpbInsertState;

/*
 * Begin an insertion.  The entry, the search key, and what is known of the
 * place are set by the caller.
 */
static inline void
fpb_insert_init(FpbInsertState *ins, Relation heap, FpbStack *stack, bool unchanged)
{
	ins->heap = heap;
	ins->stack = stack;
	ins->unchanged = unchanged;
	ins->scattered = false;
	ins->following = 0;
	ins->last = NULL;
	ins->may_split = true;
	ins->named = false;
	ins->left = ins->right = InvalidBuffer;
	ins->missing = NULL;
	ins->ndead = 0;
}

/*
 * Find out which leaf of the main tree the level above names for an
 * insertion's search key: ins->stack->blocks[0].  It is not touched.  False if
 * there is no level above.
 */
extern bool fpb_name_leaf(FpbIndex *ix, FpbInsertState *ins);

/*
 * Set ins->buf to the leaf of the main tree for an insertion's search key,
 * locked exclusively: by way of the leaf that fpb_name_leaf has just named, if
 * it has.  The stack may be left empty.
 */
extern void fpb_descend_insert(FpbIndex *ix, FpbInsertState *ins);

/* Lock the leftmost or rightmost page of a level.  No queue: InvalidBuffer. */
extern Buffer fpb_descend_edge(FpbIndex *ix, int level, bool rightmost,
							   int access);

/*
 * Lock a leaf of the queue's tree while main leaves are locked: if a page
 * would have to be read, its block is put into *missing (NULL: it is read).
 */
extern Buffer fpb_descend_queue(FpbIndex *queue, FpbSearchKey *search,
								bool before, int access, FpbStack *stack,
								BlockNumber *missing);

/*
 * Lock the leaf to the right of one that is no longer locked, given its right
 * link and *from, a copy of its high fence.  If the link has become stale, the
 * leaf is found by a descent.
 *
 * The leaf may begin to the left of *from, because the one that began there
 * has been merged into it: its entries below *from have been seen already.
 * InvalidBuffer if it was in a queue that is gone.
 */
extern Buffer fpb_goto_right(FpbIndex *ix, BlockNumber right, int access,
							 FpbSearchKey *from);

/*
 * A loop guard tells whether a walk from leaf to leaf makes progress, by a
 * place where the walk has been some time ago (tree/loop_guard.c).  A place is
 * the number of a range, if the walk is over several, and a key in it, unless
 * the place is the range's beginning.
 */
typedef struct FpbLoopGuard
{
	MemoryContext cxt;			/* of the key's tuple */
	uint64		passed;			/* leaves the walk has come to in this
								 * direction */
	uint32		stayed;			/* restarts since the last of them */
	bool		forward;
	int64		range;
	bool		inside;			/* is there a key? */
	FpbKey		key;
	Size		tuple_size;		/* room for the key's tuple */
} FpbLoopGuard;

/* a walk has no guard before it has come to so many leaves */
#define FPB_LOOP_GUARD_FROM	16

extern void fpb_loop_guard_init(FpbLoopGuard *m, MemoryContext cxt);
extern void fpb_loop_guard_end(FpbLoopGuard *m);
extern void fpb_loop_guard_check(const FpbIndex *ix, FpbLoopGuard *m, int64 range,
								 const FpbKey *key, BlockNumber block);
extern void fpb_loop_guard_stay(const FpbIndex *ix, FpbLoopGuard *m, BlockNumber block);
extern void fpb_report_no_order(const FpbIndex *ix, BlockNumber block);

/*
 * Forget where a walk has been, because it may rightly come there again.
 */
static inline void
fpb_loop_guard_reset(FpbLoopGuard *m)
{
	m->passed = 0;
	m->stayed = 0;
}

/*
 * A walk has come to a place, which it has found in this block.  Raises an
 * error unless the place is beyond the guard, in the walk's direction.
 */
static inline void
fpb_loop_guard_pass(const FpbIndex *ix, FpbLoopGuard *m, int64 range, const FpbKey *key,
					bool forward, BlockNumber block)
{
	if (m->forward != forward)
		m->passed = 0;
	m->forward = forward;
	m->stayed = 0;
	if (++m->passed >= FPB_LOOP_GUARD_FROM)
		fpb_loop_guard_check(ix, m, range, key, block);
}

/*
 * A walk over the leaves of a tree, from the first to the last, while others
 * change the tree.  It is at a place in the order of keys: the leaves to the
 * left have been visited, and those to the right will be.
 *
 * seek: let the walk begin at a key.  next: lock the next leaf share, or
 * return InvalidBuffer.  leave: release it, however it is locked.
 */
typedef struct FpbLeaves
{
	FpbIndex   *ix;
	bool		begun;			/* is it at a place?  Else at the first leaf */
	bool		at_end;
	FpbKey		place;			/* where the next one begins */
	FpbSearchKey from;			/* the same as a search key */
	BlockNumber next;			/* and its block, a hint */
	MemoryContext from_cxt[2];	/* place and from live in these in turn */
	int			turn;
	FpbLoopGuard own;
	FpbLoopGuard *loop_guard;	/* the walk's own, unless it continues another
								 * walk */
} FpbLeaves;

extern void fpb_leaves_begin(FpbLeaves *walk, FpbIndex *ix);
extern void fpb_leaves_seek(FpbLeaves *walk, const FpbKey *at);
extern Buffer fpb_leaves_next(FpbLeaves *walk);
extern bool fpb_leaves_still(FpbLeaves *walk, Buffer buf);
extern void fpb_leaves_leave(FpbLeaves *walk, Buffer buf);
extern void fpb_leaves_end(FpbLeaves *walk);

/* Count a step to the right.  Raises an error if they form a circle. */
extern void fpb_count_step(const FpbIndex *ix, Buffer buf, uint32 *steps);

/*
 * Is the page one of the tree that is worked on?
 */
static inline bool
fpb_page_is_in_tree(const FpbIndex *ix, Page page)
{
	return (FpbHdr(page)->flags & (FPB_DELETED | FPB_TREE_BITS)) == ix->tree << FPB_TREE_SHIFT;
}

/*
 * Is the page in the tree, of the level expected, and not to the right of the
 * search key?
 */
static inline bool
fpb_page_reaches_left(const FpbIndex *ix, Page page, const FpbSearchKey *search,
					  int level, bool before)
{
	int			sign;

	if (!fpb_page_is_in_tree(ix, page) || FpbHdr(page)->level != level)
		return false;
	sign = fpb_compare_low(ix, page, search);
	return before ? sign < 0 : sign <= 0;
}

/*
 * Is this the page of a level that the search key falls into?  It is the copy
 * of a page, whose high fence is not elided.
 */
static inline bool
fpb_page_covers(const FpbIndex *ix, Page page, const FpbSearchKey *search,
				int level, bool before)
{
	int			sign;

	if (!fpb_page_reaches_left(ix, page, search, level, before))
		return false;
	sign = fpb_compare_high(ix, page, search);
	return before ? sign >= 0 : sign > 0;
}

/*
 * The high fence of a locked page that is not the rightmost.  If the page has
 * elided it, the right sibling has it, and is returned locked: to be released
 * after the key has been used.  Otherwise InvalidBuffer.
 */
extern Buffer fpb_lock_high(const FpbIndex *ix, Buffer buf, FpbKey *high);

/* sign(high fence of a locked page - search key), the fence elided or not */
extern int	fpb_compare_elided(const FpbIndex *ix, Buffer buf,
							   const FpbSearchKey *search);

static inline int
fpb_compare_end(const FpbIndex *ix, Buffer buf, const FpbSearchKey *search)
{
	Page		page = BufferGetPage(buf);

	if (unlikely(FpbPageHighElided(page)))
		return fpb_compare_elided(ix, buf, search);
	return fpb_compare_high(ix, page, search);
}

/* Copy a fence of a locked page into a search key that outlives the lock. */
extern void fpb_fence_search_key(const FpbIndex *ix, const FpbKey *fence,
								 FpbSearchKey *search);

/* Lock the parent of a page being split exclusively.  The stack is a hint. */
extern Buffer fpb_find_parent(FpbIndex *ix, FpbSearchKey *separator, int level,
							  FpbStack *stack, BlockNumber *missing);

/*
 * Insert an entry into the page where it belongs, which is released.  False,
 * with nothing done, if it would have to be split and may not.
 */
extern bool fpb_insert_on_page(FpbIndex *ix, FpbInsertState *ins);

/*
 * Insert into a leaf, which is released, the first of n entries in order, and
 * those behind it that belong to the same leaf as far as there is room.  One
 * record holds them all, if nothing else has to be done to the leaf.  copy is
 * memory for a page.  Returns how many have been inserted, at least one.
 */
extern int	fpb_insert_sorted(FpbIndex *ix, FpbInsertState *ins, const FpbEntry *entries,
							  int n, Page copy);

/*
 * Insert entries, which belong to the page and are in order, into the copy of
 * it that is part of a record, from number from on, until there is no room for
 * one.  careful: or until dead entries had better be removed.  Returns that
 * one's number, or n.
 */
extern int	fpb_fill_copy(FpbIndex *ix, FpbWalPage *wp, const FpbEntry *entries, int from,
						  int n, bool careful);

/*
 * Insert the downlink of the right half of a split.  Both halves are locked
 * exclusively, and stay so.  False if others will have to do it.  missing as
 * in fpb_descend_queue.
 */
extern bool fpb_insert_downlink(FpbIndex *ix, Buffer left, Buffer right,
								FpbStack *stack, BlockNumber *missing);

/* Kill entries of a leaf that is locked at least share (tree/kill.c). */
extern int	fpb_kill_entries(const FpbIndex *ix, Relation heap, Buffer buf,
							 FpbPos *pos, int npos);

/* The same of a leaf that is locked exclusively, by way of a record. */
extern void fpb_kill_logged(const FpbIndex *ix, Relation heap, Buffer buf,
							FpbPos *pos, int npos);
extern bool fpb_may_kill_on_change(const FpbIndex *ix, Relation heap);

/*
 * Remove dead entries from a leaf that is locked exclusively (tree/prune.c).
 * They return whether any has been removed.
 */
extern bool fpb_prune_killed(const FpbIndex *ix, Relation heap, Buffer buf);
extern bool fpb_prune_beside(const FpbIndex *ix, Relation heap, Buffer buf,
							 const FpbKey *key, FpbPos pos, bool unchanged);
extern bool fpb_prune_key(const FpbIndex *ix, Relation heap, Buffer buf,
						  const FpbKey *key, bool likely);
extern bool fpb_prune_versions(const FpbIndex *ix, Relation heap, Buffer buf,
							   bool unchanged, bool *enough);

/*
 * What insertion into a page (tree/insert_on_page.c) and splitting it
 * (tree/split.c) need of each other.
 */
extern void fpb_split_page(FpbIndex *ix, FpbInsertState *ins);
extern void fpb_clear_incomplete(Buffer left, FpbWalPage *wp);
extern void fpb_name_halves(const FpbIndex *ix, Page page,
							const FpbInsertState *downlink, FpbWalPage *wp);

/*
 * Finish the split of a page, which is locked exclusively and stays so.  False
 * if its left sibling's split comes first, or if *missing has been set.
 */
extern bool fpb_finish_split(FpbIndex *ix, Buffer left, BlockNumber *missing);

/*
 * Try to take the empty leaf blkno out of the tree (tree/delete_page.c).  No
 * lock is held on entry or exit.  Adds the blocks freed to *freed as OIDs,
 * even if it raises an error.  Inner pages and other leaves may be among them.
 */
extern void fpb_delete_empty(FpbIndex *ix, BlockNumber blkno, List **freed);

#endif							/* FPB_TREE_TREE_H */
