/*-------------------------------------------------------------------------
 *
 * tree/delete_page.c
 *	  Taking pages that have become useless out of the tree.
 *
 * An empty leaf is merged into its left sibling: the sibling takes over the
 * leaf's key range and right link, and the parent loses the leaf's downlink.
 * An inner page left with a single child is merged in the same way, its only
 * entry moving along, so that a table whose old rows are deleted while new
 * ones are added does not leave a trail of skinny subtrees.  Either is one WAL
 * record over three pages.
 *
 * A page is merged only with a left sibling that has the same parent.  The
 * leftmost child of a parent therefore waits until the parent itself, having
 * no other child any more, has been merged; the leftmost page of each level,
 * and so the path from the root to it, stays for ever.
 *
 * Locks are taken left to right and then upwards, as everywhere.  Only VACUUM
 * deletes pages of the main tree, and a table has one VACUUM at a time; those
 * of the operation queue's are deleted by one at a time, too (queue/queue.c).
 * So a block that was the left sibling or the parent a moment ago may have
 * been split but is still a page of that level.  All else is verified once the
 * locks are held, and whenever anything is not as expected the page is simply
 * left for the next VACUUM.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/predicate.h"

#include "tree/tree.h"
#include "tree/verify.h"

/* how often pages that somebody else has locked are tried again */
#define MAX_TRIES		20
#define TRY_DELAY		1000	/* microseconds */

/* A page to be merged away and the pages this changes. */
typedef struct Merge
{
	int			level;			/* of the page */
	BlockNumber page;
	BlockNumber left;			/* its left sibling, under the same parent */
	BlockNumber parent;
	FpbSearchKey low;			/* the page's low fence */
} Merge;

/* The page to be merged away, its left sibling and their parent, locked
 * exclusively. */
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
 * The child of an inner page that has no other, or InvalidBlockNumber.  The
 * page is locked.
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
 * May this page, locked, be merged into its left sibling?
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
 * Look for the downlink to child in a locked inner page.  *before is the child
 * to the left of it there, or InvalidBlockNumber if there is none.
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
 * Find the pages that merging m->page away will change.  *lonely is set if the
 * page can't be merged because it is its parent's only child.  No lock is held
 * on entry or exit, so the answer is to be verified.
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
 * Lock a page exclusively if that can be done at once.  cleanup: and if nobody
 * else has it pinned.
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
 * verify that they are still what find_neighbours saw.  On false no lock is
 * held; *busy tells that this is only because somebody else had one.
 *
 * No page is waited for while another one is locked.  Somebody who has locked
 * a page and follows a stale link may be waiting for any other one, if that
 * has been deleted and used again; he does not hold up us, so that we do not
 * hold up each other.
 */
static bool
lock_pages(FpbIndex *ix, const Merge *m, MergeBufs *b, bool *busy)
{
	Page		page;
	BlockNumber before;

	*busy = false;

	b->left = fpb_getbuf(ix, m->left, BUFFER_LOCK_EXCLUSIVE);
	page = BufferGetPage(b->left);

	/* a high fence that is elided is what the page itself begins with */
	if (FpbHdr(page)->level != m->level || !fpb_page_is_in_tree(ix, page) ||
		FpbPageSplitIncomplete(page) || FpbHdr(page)->right != m->page ||
		(!FpbPageHighElided(page) && fpb_compare_high(ix, page, &m->low) != 0))
	{
		fpb_relbuf(b->left);
		return false;
	}

	/*
	 * A leaf of the queue may have become empty without anybody's having
	 * waited for the scans that hand out what they have read there.
	 */
	if (!try_lock(ix, m->page, ix->tree != 0, &b->page))
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
 * Mark a page deleted, in the critical section.  Its header, fences included,
 * stays as it is: whoever comes by a stale link must be able to read it.
 */
static void
mark_deleted(Page page, FpbWalPage *wp)
{
	FpbPageHeader *hdr = FpbHdr(page);

	hdr->flags |= FPB_DELETED;
	fpb_wal_note(wp, &hdr->flags, sizeof(hdr->flags));
}

/*
 * Make the left sibling afresh, with the high fence of the page and, if that
 * is an inner one, its only entry.  NULL if it doesn't fit.  The pages are,
 * and stay, locked.
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
 * what it is to take over.  The pages are, and stay, locked.
 *
 * The sibling of an inner page is made afresh, because the key of the entry
 * that moves is the sibling's high fence so far, so that it can't be inserted
 * before the fence is replaced.  That of a leaf is if its tuple area is full,
 * as it may be of nothing but the fences it had before.  If there is still no
 * room for the page's high fence, it is elided, as it is if the page has it
 * so.
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
	if (ix->tree != 0)
		metabuf = fpb_add_meta(ix, &wal, &wp_meta);

	/* Who has read the leaf has read a part of what is the sibling's now. */
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
		fpb_count_queue_pages(wp_meta, -1);
	fpb_wal_finish(&wal);
	if (wp_meta != NULL)
		fpb_relbuf(metabuf);
	fpb_verify_merge(ix, &wal, &b->downlink);

	if (image != NULL)
		pfree(image);
	return true;
}

/*
 * Merge a page into its left sibling if that can be done, then whatever has
 * become possible by it: the parent may be left with a single child, and the
 * child of an inner page is no longer the leftmost of its parent.  The pages
 * freed are added to *freed.  No lock is held on entry or exit.
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
		/* Merging the parent comes back to this page. */
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

	/* once it is deleted, nothing must fail before that has been noted */
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

	/* Stale links are noticed by the fences: it may be used again at once. */
	fpb_record_free(ix->rel, blkno);

	if (level > 0)
		merge_page(ix, child, level - 1, freed);
	if (b.nchildren == 2)
		merge_page(ix, m.parent, level + 1, freed);
}

/*
 * Try to take the empty leaf blkno out of the tree, and with it inner pages
 * that this leaves with a single child, and other empty leaves that could not
 * be before.  The blocks of the pages freed, which are then in the free space
 * map, are added to *freed, a list of OIDs.  No lock is held on entry or exit.
 *
 * If an error is raised, they have been added, too, and perhaps FPB_METAPAGE,
 * which stands for none.  The last of them may not be in the map then.
 */
void
fpb_delete_empty(FpbIndex *ix, BlockNumber blkno, List **freed)
{
	merge_page(ix, blkno, 0, freed);
}
