/*-------------------------------------------------------------------------
 *
 * tree/delete_page.c
 *	  Taking pages that have become useless out of the tree.
 *
 * An empty leaf is merged into its left sibling: the sibling takes over the
 * leaf's key range and right link, and the parent loses the leaf's downlink.
 * An inner page that has only one child is merged in the same way, and its
 * entry moves along.  (Otherwise a table whose old rows are deleted while new
 * ones are added would leave a trail of skinny subtrees.)  Either merge is one
 * WAL record of three pages.
 *
 * A page is merged only with a left sibling that has the same parent.  So the
 * leftmost child of a parent waits until it is the only child, and the parent
 * itself has been merged.  The leftmost page of each level stays for ever, and
 * so does the path from the root to it.
 *
 * Locks are taken left to right and then upwards, as everywhere.  Only VACUUM
 * deletes pages of the main tree, and a table has one VACUUM at a time; pages
 * of the operation queue are deleted by one process at a time, too
 * (queue/queue.c).  So a block that was the left sibling or the parent a
 * moment ago may have been split, but is still a page of that level.  All else
 * is checked again after the locks have been taken.  If anything is not as
 * expected, the page is left to the next VACUUM.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/predicate.h"

#include "tree/tree.h"
#include "tree/verify.h"

/* tries to lock pages that others have locked, and the pause between them */
#define MAX_TRIES		20
#define TRY_DELAY		1000	/* microseconds */

/* a page to be merged away, and the pages that this changes */
typedef struct Merge
{
	int			level;			/* of the page */
	BlockNumber page;
	BlockNumber left;			/* its left sibling, under the same parent */
	BlockNumber parent;
	FpbSearchKey low;			/* the page's low fence */
} Merge;

/* these pages, locked exclusively */
typedef struct MergeBufs
{
	Buffer		page;
	Buffer		left;
	Buffer		parent;
	FpbPos		downlink;		/* of the page, in the parent */
	int			nchildren;		/* of the parent */
} MergeBufs;

static void merge_page(FpbIndex *ix, BlockNumber blkno,
					   int level, List **freed);

/*
 * The only child of an inner page, or InvalidBlockNumber if it has several.
 * The page is locked.
 */
static BlockNumber
only_child(const FpbIndex *ix, Page page)
{
	FpbPos		pos = FPB_POS_FIRST;
	FpbEntry	entry;
	BlockNumber child;

	if (!fpb_page_next(ix, page, &pos, &entry))
		return InvalidBlockNumber;
	child = entry.child;
	pos = fpb_pos_behind(pos);
	if (fpb_page_next(ix, page, &pos, &entry))
		return InvalidBlockNumber;
	return child;
}

/*
 * May this page be merged into its left sibling?  It is locked.
 */
static bool
is_mergeable(const FpbIndex *ix, Page page, int level)
{
	if (FpbHdr(page)->level != level || !fpb_page_is_in_tree(ix, page) ||
		FpbPageIsLeftmost(page) || FpbPageSplitIncomplete(page))
		return false;
	if (level == 0)
		return fpb_page_is_empty(ix, page);
	return only_child(ix, page) != InvalidBlockNumber;
}

/*
 * Look for the downlink to child in a locked inner page.  Returns whether it
 * is there; if so, *pos is its place, and *before the child before it, or
 * InvalidBlockNumber.
 */
static bool
find_downlink(const FpbIndex *ix, Page page, BlockNumber child, FpbPos *pos,
			  BlockNumber *before, int *nchildren)
{
	FpbPos		at = FPB_POS_FIRST;
	FpbEntry	entry;
	BlockNumber last = InvalidBlockNumber;
	bool		found = false;

	*nchildren = 0;
	while (fpb_page_next(ix, page, &at, &entry))
	{
		if (entry.child == child)
		{
			*pos = at;
			*before = last;
			found = true;
		}
		last = entry.child;
		(*nchildren)++;
		at = fpb_pos_behind(at);
	}
	return found;
}

/*
 * Find the pages that merging m->page away will change.  False if the page
 * can't be merged; then *lonely tells whether that is because it is its
 * parent's only child.  No lock is held on entry or exit, so lock_pages checks
 * the answer again.
 */
static bool
find_neighbours(FpbIndex *ix, Merge *m, bool *lonely)
{
	Buffer		buf;
	bool		ok;
	FpbKey		low;
	FpbPos		pos;
	int			nchildren;

	*lonely = false;

	buf = fpb_getbuf(ix, m->page, BUFFER_LOCK_SHARE);
	ok = is_mergeable(ix, BufferGetPage(buf), m->level);
	if (ok)
	{
		fpb_page_low(ix, BufferGetPage(buf), &low);
		fpb_fence_search_key(ix, &low, &m->low);
	}
	fpb_relbuf(buf);
	if (!ok)
		return false;

	/* The right half of a root just split has no parent yet. */
	if (m->level >= ix->level)
		fpb_index_refresh(ix);
	if (m->level >= ix->level)
		return false;

	buf = fpb_descend(ix, &m->low, m->level + 1, false,
					  BUFFER_LOCK_SHARE, NULL);
	if (!BufferIsValid(buf))
		return false;
	m->parent = BufferGetBlockNumber(buf);
	ok = find_downlink(ix, BufferGetPage(buf), m->page, &pos, &m->left,
					   &nchildren);
	fpb_relbuf(buf);
	if (!ok)
		return false;
	*lonely = (nchildren == 1);
	return m->left != InvalidBlockNumber;
}

/*
 * Lock a page exclusively if nobody else has it locked, or, if cleanup is set,
 * pinned.
 */
static bool
try_lock(FpbIndex *ix, BlockNumber blkno, bool cleanup, Buffer *buf)
{
	*buf = ReadBuffer(ix->rel, blkno);
	if (!(cleanup ? ConditionalLockBufferForCleanup(*buf) : ConditionalLockBuffer(*buf)))
	{
		ReleaseBuffer(*buf);
		return false;
	}
	fpb_checkpage(ix, *buf);
	return true;
}

/*
 * Lock the pages of a merge exclusively, left to right and then upwards, and
 * check that they are still what find_neighbours saw.  If it returns false, no
 * lock is held, and *busy tells whether that is only because somebody else had
 * a lock.
 *
 * No page is waited for while another one is locked.  Whoever has locked a
 * page and follows a stale link may be waiting for any other page, if that has
 * been deleted and used again.  It must not wait for us while we wait for it.
 */
static bool
lock_pages(FpbIndex *ix, const Merge *m, MergeBufs *b, bool *busy)
{
	Page		page;
	BlockNumber before;

	*busy = false;

	b->left = fpb_getbuf(ix, m->left, BUFFER_LOCK_EXCLUSIVE);
	page = BufferGetPage(b->left);

	/* an elided high fence is the low fence of the page, checked below */
	if (FpbHdr(page)->level != m->level || !fpb_page_is_in_tree(ix, page) ||
		FpbPageSplitIncomplete(page) || FpbHdr(page)->right != m->page ||
		(!FpbPageHighElided(page) && fpb_compare_high(ix, page, &m->low) != 0))
	{
		fpb_relbuf(b->left);
		return false;
	}

	/*
	 * Entries leave a leaf of the queue without a cleanup lock.  So scans may
	 * still be handing out what they have read there.
	 */
	if (!try_lock(ix, m->page, ix->tree != FPB_MAIN_TREE, &b->page))
	{
		*busy = true;
		fpb_relbuf(b->left);
		return false;
	}
	page = BufferGetPage(b->page);
	if (!is_mergeable(ix, page, m->level) ||
		fpb_compare_low(ix, page, &m->low) != 0)
	{
		fpb_relbuf(b->page);
		fpb_relbuf(b->left);
		return false;
	}

	if (!try_lock(ix, m->parent, false, &b->parent))
	{
		*busy = true;
		fpb_relbuf(b->page);
		fpb_relbuf(b->left);
		return false;
	}
	page = BufferGetPage(b->parent);
	if (FpbHdr(page)->level != m->level + 1 || !fpb_page_is_in_tree(ix, page) ||
		!find_downlink(ix, page, m->page, &b->downlink, &before,
					   &b->nchildren) ||
		before != m->left)
	{
		fpb_relbuf(b->parent);
		fpb_relbuf(b->page);
		fpb_relbuf(b->left);
		return false;
	}
	return true;
}

/*
 * Mark a page deleted.  Its header and fences stay, because whoever comes by a
 * stale link has to be able to read them.  In the critical section.
 */
static void
mark_deleted(Page page, FpbWalPage *wp)
{
	FpbPageHeader *hdr = FpbHdr(page);

	hdr->flags |= FPB_DELETED;
	fpb_wal_note(wp, &hdr->flags, sizeof(hdr->flags));
}

/*
 * Make the left sibling afresh in memory, with the high fence of the page and,
 * if that is an inner page, with its only entry.  NULL if they don't fit.  The
 * pages are locked, and stay so.
 */
static PGAlignedBlock *
build_left(FpbIndex *ix, const Merge *m, const MergeBufs *b, const FpbKey *high)
{
	Page		page = BufferGetPage(b->page);
	Page		left = BufferGetPage(b->left);
	PGAlignedBlock *image = palloc(sizeof(PGAlignedBlock));
	FpbEntry   *entries = palloc((FPB_MAX_PAGE_ENTRIES + 1) * sizeof(FpbEntry));
	FpbPageContent content = {
		.level = m->level,
		.flags = FpbHdr(left)->flags,
		.right = FpbHdr(page)->right,
		.high = high,
		.entries = entries,
	};
	FpbKey		low;
	bool		fits;

	if (FpbPageIsRightmost(page))
		content.flags |= FPB_RIGHTMOST;
	if (!FpbPageIsLeftmost(left))
	{
		fpb_page_low(ix, left, &low);
		content.low = &low;
	}
	content.nentries = fpb_page_entries(ix, left, entries);
	if (m->level > 0)
	{
		FpbEntry   *moved = &entries[content.nentries++];

		fpb_page_low(ix, page, &moved->key);
		moved->child = only_child(ix, page);
	}
	fits = fpb_page_build(ix, image->data, &content, 0);
	pfree(entries);
	if (!fits)
	{
		pfree(image);
		return NULL;
	}
	fpb_page_take_over_child_hints(ix, image->data, left);
	fpb_page_take_over_child_hints(ix, image->data, page);
	return image;
}

/*
 * Merge a page into its left sibling.  False if the sibling has no room for
 * what it would take over.  The pages are locked, and stay so.
 *
 * The sibling of a leaf gets the leaf's fence and right link as it is, if it
 * has room for the fence.  Otherwise it is made afresh: its tuple area may be
 * full of fences that it had before.
 *
 * The sibling of an inner page is always made afresh.  The key of the entry
 * that moves is the sibling's high fence, so the entry can't be inserted
 * before the fence has been replaced.
 *
 * If there is still no room for the page's high fence, the fence is elided.
 */
static bool
merge(FpbIndex *ix, const Merge *m, const MergeBufs *b)
{
	Page		page = BufferGetPage(b->page);
	Page		left = BufferGetPage(b->left);
	PGAlignedBlock *image = NULL;
	FpbKey		high;
	FpbKey	   *highp = NULL;
	FpbWal		wal;
	FpbWalPage *wp_left;
	FpbWalPage *wp_page;
	FpbWalPage *wp_parent;
	FpbWalPage *wp_meta = NULL;
	Buffer		metabuf = InvalidBuffer;

	if (!FpbPageIsRightmost(page))
	{
		fpb_page_high(ix, page, &high);
		highp = &high;
	}
	if (m->level > 0 || !fpb_page_plan_extend(ix, left, highp))
	{
		image = build_left(ix, m, b, highp);
		if (image == NULL && highp != NULL && high.tuple != NULL)
		{
			high.tuple = NULL;
			if (m->level > 0)
				image = build_left(ix, m, b, highp);
		}
		if (image == NULL && !(m->level == 0 && fpb_page_plan_extend(ix, left, highp)))
			return false;
	}

	fpb_wal_begin(&wal, ix->rel);
	wp_left = fpb_wal_add(&wal, b->left, false);
	wp_page = fpb_wal_add(&wal, b->page, false);
	wp_parent = fpb_wal_add(&wal, b->parent, false);
	if (ix->tree != FPB_MAIN_TREE)
		metabuf = fpb_add_meta(ix, &wal, &wp_meta);

	/* the sibling's key range now includes what has been read on the leaf */
	if (m->level == 0)
		PredicateLockPageCombine(ix->rel, m->page, m->left);
	fpb_wal_enter(&wal);
	if (image != NULL)
		fpb_page_replace(left, image->data, wp_left);
	else
		fpb_page_extend(ix, left, highp, FpbHdr(page)->right, wp_left);
	mark_deleted(page, wp_page);
	fpb_page_delete(ix, BufferGetPage(b->parent), &b->downlink, 1, wp_parent);
	if (wp_meta != NULL)
		fpb_count_tier_pages(ix, wp_meta, -1);
	fpb_wal_finish(&wal);
	if (wp_meta != NULL)
		fpb_relbuf(metabuf);
	fpb_verify_merge(ix, &wal, &b->downlink);

	if (image != NULL)
		pfree(image);
	return true;
}

/*
 * Merge a page into its left sibling if that can be done, and then the pages
 * that can be merged because of it: the parent if it has only one child left,
 * and the child of an inner page, because it is no longer the leftmost of its
 * parent.  Adds the pages freed to *freed.  No lock is held on entry or exit.
 */
static void
merge_page(FpbIndex *ix, BlockNumber blkno, int level,
		   List **freed)
{
	Merge		m = {.page = blkno,.level = level};
	MergeBufs	b;
	BlockNumber child = InvalidBlockNumber;
	bool		lonely;
	bool		busy;
	bool		merged;

	check_stack_depth();
	if (level > 0)
		FPB_INJECTION_POINT("fpbtree-merge-inner");

	if (!find_neighbours(ix, &m, &lonely))
	{
		/* merging the parent comes back to this page */
		if (lonely)
			merge_page(ix, m.parent, level + 1, freed);
		return;
	}
	FPB_INJECTION_POINT("fpbtree-merge-found");
	for (int try = 1; !lock_pages(ix, &m, &b, &busy); try++)
	{
		if (!busy || try == MAX_TRIES)
			return;
		CHECK_FOR_INTERRUPTS();
		pg_usleep(TRY_DELAY);
	}
	if (level > 0)
		child = only_child(ix, BufferGetPage(b.page));

	/* nothing may fail between the deletion and the note of it */
	*freed = lappend_oid(*freed, FPB_METAPAGE);
	merged = merge(ix, &m, &b);
	if (merged)
		lfirst_oid(list_tail(*freed)) = blkno;
	fpb_relbuf(b.parent);
	fpb_relbuf(b.page);
	fpb_relbuf(b.left);
	if (!merged)
	{
		*freed = list_delete_last(*freed);
		return;
	}

	/* the fences tell whoever comes by a stale link: it is free at once */
	fpb_record_free(ix->rel, blkno);

	if (level > 0)
		merge_page(ix, child, level - 1, freed);
	if (b.nchildren == 2)
		merge_page(ix, m.parent, level + 1, freed);
}

/*
 * Try to take the empty leaf blkno out of the tree; and then inner pages that
 * have only one child left, and empty leaves that could not be taken out
 * before.  The pages freed are put into the free space map, and their blocks
 * are added to *freed, a list of OIDs.  No lock is held on entry or exit.
 *
 * If an error is raised, the list has the pages freed before it.  The last of
 * them may not be in the map; an FPB_METAPAGE in the list stands for no page.
 */
void
fpb_delete_empty(FpbIndex *ix, BlockNumber blkno, List **freed)
{
	merge_page(ix, blkno, 0, freed);
}
