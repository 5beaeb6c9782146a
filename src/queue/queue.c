/*-------------------------------------------------------------------------
 *
 * queue/queue.c
 *	  The operation queue's tree: how it comes and goes.
 *
 * If the main tree is too large for memory, new entries wait in a second tree,
 * which is small enough to be in memory (pio-btree, 3.3, where the queue is a
 * sorted array).  If it is much too large, they wait in a third tree, too, of
 * a size in between (streaming-btree).  These are the tiers of the queue.
 * They consist of the same kind of pages, in the same file.  Only a number on
 * its pages, and a root of its own in the metapage, make a tier another tree.
 * So descents, splits and deletions of pages are those of tree/descend.c,
 * tree/split.c and tree/delete_page.c.  README.md, "Operation queue", argues
 * why nobody misses an entry of any tree.
 *
 * There is no tier at first, and none after it has been drained.  So readers
 * ask the metapage for its root each time.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "storage/lmgr.h"
#include "storage/predicate.h"

#include "base/queue_memory.h"
#include "queue/queue.h"
#include "tree/tree.h"
#include "tree/verify.h"

/*
 * Tell shared memory that the tier has so many pages and entries, but for
 * those that are just coming or going.
 */
static void
count_anew(const FpbFilter *filter, uint32 pages, uint64 entries)
{
	FpbSharedTier *tier;

	if (filter->shared == NULL)
		return;
	tier = fpb_shared_tier(filter->shared, filter->tier);
	pg_atomic_write_u32(&tier->pages, pages);
	pg_atomic_write_u64(&tier->entries, entries);
	if (entries == 0)
		fpb_shared_forget_failed_leaves(filter->shared);
}

/*
 * Make an empty tier, which is a leaf that is the root, unless there is that
 * tier.  No lock is held on entry or exit.
 */
void
fpb_queue_begin(FpbIndex *queue)
{
	Page		image = palloc_aligned(BLCKSZ, PG_IO_ALIGN_SIZE, 0);
	FpbPageContent empty = {
		.flags = FPB_LEAF | FPB_LEFTMOST | FPB_RIGHTMOST | queue->tree << FPB_TREE_SHIFT,
		.right = InvalidBlockNumber,
	};
	FpbWal		wal;
	FpbWalPage *wp_root;
	FpbWalPage *wp_meta;
	Buffer		buf;
	Buffer		metabuf;
	FpbMetaTier *tier;
	FpbFilter	filter;

	Assert(queue->tree != FPB_MAIN_TREE && queue->may_queue);
	if (!fpb_page_build(queue, image, &empty, 0))
		elog(ERROR, "an empty leaf does not fit a page of index \"%s\"",
			 RelationGetRelationName(queue->rel));

	fpb_filter_open(&filter, queue->rel, queue->tree, true);
	fpb_wal_begin(&wal, queue->rel);
	metabuf = fpb_add_meta(queue, &wal, &wp_meta);
	tier = fpb_meta_tier(wp_meta->page, queue->tree);
	if (tier->root == FPB_METAPAGE)
	{
		FPB_INJECTION_POINT("fpbtree-queue-begins");
		buf = fpb_allocbuf(queue->rel);
		wp_root = fpb_wal_add(&wal, buf, true);
		fpb_wal_enter(&wal);
		fpb_page_replace(wp_root->page, image, wp_root);
		tier->root = BufferGetBlockNumber(buf);
		tier->level = 0;
		tier->pages = 1;
		tier->number = fpb_filter_begin(&filter);
		fpb_wal_note(wp_meta, tier, sizeof(FpbMetaTier));
		fpb_wal_finish(&wal);
		fpb_verify_page(queue, BufferGetPage(buf));
		fpb_relbuf(buf);
		count_anew(&filter, 1, 0);
	}
	fpb_relbuf(metabuf);
	pfree(image);
	fpb_index_refresh(queue);
}

/*
 * How many pages a tier has.  *lsn, unless lsn is NULL, becomes the
 * metapage's, which tells when that was changed last.  Pages of the trees may
 * be locked.
 */
uint32
fpb_tier_pages(const FpbIndex *ix, int tier, XLogRecPtr *lsn)
{
	Buffer		buf = ReadBuffer(ix->rel, FPB_METAPAGE);
	uint32		pages;

	LockBuffer(buf, BUFFER_LOCK_SHARE);
	pages = fpb_meta_tier(BufferGetPage(buf), tier)->pages;
	if (lsn != NULL)
		*lsn = BufferGetLSNAtomic(buf);
	fpb_relbuf(buf);
	return pages;
}

/*
 * How many pages the tiers have between them.
 */
uint32
fpb_queue_pages(const FpbIndex *ix)
{
	uint32		pages = 0;

	for (int tier = 1; tier < FPB_TREES; tier++)
		pages += fpb_tier_pages(ix, tier, NULL);
	return pages;
}

/*
 * May the queue have a tier, if it has those before it?  A second one needs
 * memory to note what it has.  Heads that may differ from those that lookups
 * have can't be noted.  No page is locked.
 */
bool
fpb_may_have_tier(const FpbIndex *ix, int tier)
{
	FpbWords	words;

	if (tier == 1)
		return true;
	if (ix->old_heads ||
		tier > fpb_queue_tiers(ix->rel, fpb_shared_of(RelationGetRelid(ix->rel)),
							   RelationGetNumberOfBlocks(ix->rel),
							   ix->tier_roots[tier - 1] != FPB_METAPAGE))
		return false;
	return fpb_shared_words(tier, true, &words);
}

/*
 * Is a locked page the only one of its level in the tier, and is that this
 * level?
 */
static bool
is_alone(const FpbIndex *queue, Page page, int level)
{
	return fpb_page_is_in_tree(queue, page) && FpbHdr(page)->level == level &&
		FpbPageIsLeftmost(page) && FpbPageIsRightmost(page);
}

/*
 * Mark the root deleted, and let the metapage name a new one, of the level
 * below, or FPB_METAPAGE if the tier is removed.  That is one record.  The
 * root and the metapage are locked exclusively, and released; the root is put
 * into the free space map.
 */
static void
replace_root(FpbIndex *queue, Buffer root, BlockNumber new_root, FpbWal *wal,
			 Buffer metabuf, FpbWalPage *wp_meta)
{
	BlockNumber blkno = BufferGetBlockNumber(root);
	FpbWalPage *wp_root = fpb_wal_add(wal, root, false);
	FpbPageHeader *hdr = FpbHdr(wp_root->page);
	FpbMetaTier *tier = fpb_meta_tier(wp_meta->page, queue->tree);

	fpb_wal_enter(wal);
	hdr->flags |= FPB_DELETED;
	fpb_wal_note(wp_root, &hdr->flags, sizeof(hdr->flags));
	tier->root = new_root;
	if (new_root == FPB_METAPAGE)
		tier->pages = 0;
	else
	{
		tier->level--;
		tier->pages--;
	}
	fpb_wal_note(wp_meta, tier, sizeof(FpbMetaTier));
	fpb_wal_finish(wal);
	fpb_relbuf(metabuf);
	fpb_relbuf(root);
	fpb_record_free(queue->rel, blkno);
}

/*
 * Remove a root that has only one child, so that the child becomes the root.
 * False if that can't be done.  No lock is held on entry or exit.
 *
 * The child is locked first, so that it can't be split meanwhile.
 */
static bool
lower_root(FpbIndex *queue)
{
	int			level = queue->level;
	Buffer		child = fpb_descend_edge(queue, level - 1, false,
										 BUFFER_LOCK_EXCLUSIVE);
	Buffer		root;
	Buffer		metabuf;
	FpbWal		wal;
	FpbWalPage *wp_meta;

	if (!BufferIsValid(child))
		return false;
	if (!is_alone(queue, BufferGetPage(child), level - 1))
	{
		fpb_relbuf(child);
		return false;
	}
	root = fpb_getbuf_level(queue, queue->root, level, BUFFER_LOCK_EXCLUSIVE);
	if (!BufferIsValid(root))
	{
		fpb_relbuf(child);
		return false;
	}
	fpb_wal_begin(&wal, queue->rel);
	metabuf = fpb_add_meta(queue, &wal, &wp_meta);
	if (!is_alone(queue, BufferGetPage(root), level) ||
		fpb_meta_tier(wp_meta->page, queue->tree)->root != BufferGetBlockNumber(root))
	{
		fpb_relbuf(metabuf);
		fpb_relbuf(root);
		fpb_relbuf(child);
		return false;
	}
	replace_root(queue, root, BufferGetBlockNumber(child), &wal, metabuf, wp_meta);
	fpb_relbuf(child);
	return true;
}

/*
 * Remove an empty leaf that is all there is of the tier, if nobody has it
 * pinned.  False if that can't be done.  No lock is held on entry or exit.
 *
 * A scan that has it pinned may be handing out what it has read there.  VACUUM
 * waits for such scans at each leaf, so it must find the leaf.
 */
static bool
remove_last(FpbIndex *queue)
{
	Buffer		buf = ReadBuffer(queue->rel, queue->root);
	Page		page = BufferGetPage(buf);
	Buffer		metabuf;
	FpbWal		wal;
	FpbWalPage *wp_meta;

	if (!ConditionalLockBufferForCleanup(buf))
	{
		ReleaseBuffer(buf);
		return false;
	}
	fpb_checkpage(queue, buf);
	if (!is_alone(queue, page, 0) || !fpb_page_is_empty(queue, page))
	{
		fpb_relbuf(buf);
		return false;
	}
	fpb_wal_begin(&wal, queue->rel);
	metabuf = fpb_add_meta(queue, &wal, &wp_meta);
	if (fpb_meta_tier(wp_meta->page, queue->tree)->root != BufferGetBlockNumber(buf))
	{
		fpb_relbuf(metabuf);
		fpb_relbuf(buf);
		return false;
	}

	/* if there is no tier 1, scans have a predicate lock on the metapage */
	PredicateLockPageCombine(queue->rel, BufferGetBlockNumber(buf), FPB_METAPAGE);
	replace_root(queue, buf, FPB_METAPAGE, &wal, metabuf, wp_meta);
	return true;
}

/*
 * Remove the tier, level by level, if there is nothing in it, and nobody looks
 * at it or adds to it.  No page is locked on entry or exit.  The caller holds
 * the lock that keeps others from taking pages out of the queue.
 */
static void
end_queue(FpbIndex *queue)
{
	for (;;)
	{
		CHECK_FOR_INTERRUPTS();
		fpb_index_refresh(queue);
		if (queue->root == FPB_METAPAGE)
			return;
		if (!(queue->level > 0 ? lower_root(queue) : remove_last(queue)))
			return;
	}
}

/*
 * Take empty pages out of the tier, and remove it if nothing is left.  If
 * somebody else is taking pages out, waits for that to end, or, unless "wait"
 * says so, does nothing.  No lock is held on entry or exit.
 */
void
fpb_queue_trim(FpbIndex *queue, bool wait)
{
	FpbLeaves	walk;
	Buffer		buf;
	FpbFilter	filter;

	if (wait)
		LockPage(queue->rel, FPB_METAPAGE, ExclusiveLock);
	else if (!ConditionalLockPage(queue->rel, FPB_METAPAGE, ExclusiveLock))
		return;
	fpb_leaves_begin(&walk, queue);
	while (BufferIsValid(buf = fpb_leaves_next(&walk)))
	{
		Page		page = BufferGetPage(buf);
		BlockNumber blkno = BufferGetBlockNumber(buf);
		bool		empty = !FpbPageIsLeftmost(page) && fpb_page_is_empty(queue, page);
		bool		incomplete = FpbPageSplitIncomplete(page) && !FpbPageIsRightmost(page);

		fpb_leaves_leave(&walk, buf);
		CHECK_FOR_INTERRUPTS();
		if (incomplete)
		{
			/* a descent for writing finishes the split */
			buf = fpb_descend(queue, &walk.from, 0, true, BUFFER_LOCK_EXCLUSIVE, NULL);
			if (BufferIsValid(buf))
				fpb_relbuf(buf);
		}
		if (empty)
		{
			List	   *freed = NIL;

			fpb_delete_empty(queue, blkno, &freed);
			list_free(freed);
		}
	}
	fpb_leaves_end(&walk);
	end_queue(queue);
	if (queue->root == FPB_METAPAGE)
	{
		fpb_filter_open(&filter, queue->rel, queue->tree, false);
		count_anew(&filter, 0, 0);
	}
	UnlockPage(queue->rel, FPB_METAPAGE, ExclusiveLock);
}

/*
 * Take a leaf out of the tier if it is empty, unless somebody else is taking
 * pages out.  Returns whether that has been done.  No lock is held on entry or
 * exit.
 */
bool
fpb_queue_remove_leaf(FpbIndex *queue, BlockNumber leaf)
{
	List	   *freed = NIL;
	bool		removed;

	if (!ConditionalLockPage(queue->rel, FPB_METAPAGE, ExclusiveLock))
		return false;
	fpb_delete_empty(queue, leaf, &freed);
	UnlockPage(queue->rel, FPB_METAPAGE, ExclusiveLock);
	removed = freed != NIL;
	list_free(freed);
	return removed;
}

/*
 * Note the entries of a tier unless they have been noted as they came
 * (queue/filter.c), so that lookups need not search it for keys that it does
 * not have.  No lock is held on entry or exit.
 */
void
fpb_queue_note(FpbIndex *queue)
{
	FpbFilter	filter;
	uint64		number;
	FpbItem    *items;
	FpbLeaves	walk;
	Buffer		buf;
	uint64		counted = 0;

	if (queue->root == FPB_METAPAGE)
		return;
	fpb_filter_open(&filter, queue->rel, queue->tree, true);
	if (!fpb_filter_unnoted(&filter, queue->rel, &number))
		return;
	items = palloc(sizeof(FpbItem) * FPB_MAX_PAGE_ENTRIES);
	fpb_leaves_begin(&walk, queue);
	while (BufferIsValid(buf = fpb_leaves_next(&walk)))
	{
		FpbPos		pos = FPB_POS_FIRST;
		bool		more;
		int			n = fpb_page_read(queue, BufferGetPage(buf), pos, NULL, false, items,
									  FPB_MAX_PAGE_ENTRIES, &more);

		for (int i = 0; i < n; i++)
			fpb_filter_add(&filter, fpb_key_head(queue, &items[i].key));
		counted += n;
		fpb_leaves_leave(&walk, buf);
		CHECK_FOR_INTERRUPTS();
	}
	fpb_leaves_end(&walk);
	pfree(items);
	fpb_filter_set_noted(&filter, number);
	count_anew(&filter, fpb_tier_pages(queue, queue->tree, NULL), counted);
}
