/*-------------------------------------------------------------------------
 *
 * tree/split.c
 *	  Page splits, and growth of the root.
 *
 * A split is two WAL records: the first makes the right page, reachable by the
 * left one's right link, and flags the left; the second inserts the downlink
 * and clears the flag.  If it is not written, because of a crash or an error,
 * the next descent for writing that comes by the flagged page finishes the
 * split (tree/descend.c, move_right), or VACUUM does.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xloginsert.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "storage/predicate.h"

#include "base/options.h"
#include "tree/tree.h"
#include "tree/verify.h"

/*
 * Clear the flag of a left page whose right sibling gets its downlink by the
 * record being made.  In the critical section.
 */
void
fpb_clear_incomplete(Buffer left, FpbWalPage *wp)
{
	FpbPageHeader *hdr = FpbHdr(BufferGetPage(left));

	hdr->flags &= ~FPB_INCOMPLETE_SPLIT;
	fpb_wal_note(wp, &hdr->flags, sizeof(hdr->flags));
}

/*
 * Have a page to which the downlink of a split's right half has been added
 * name the nodes of both halves, which are locked exclusively.  In the
 * critical section, or while the page is a copy that nobody else sees.
 */
void
fpb_name_halves(const FpbIndex *ix, Page page, Buffer left, Buffer right,
				FpbWalPage *wp)
{
	fpb_page_write_child_hints(ix, page, BufferGetBlockNumber(left),
							   BufferGetPage(left), wp);
	fpb_page_write_child_hints(ix, page, BufferGetBlockNumber(right),
							   BufferGetPage(right), wp);
}

/*
 * The root that the metapage names of the tree that is worked on.
 */
static inline BlockNumber *
meta_root(const FpbIndex *ix, FpbMeta *meta)
{
	return ix->tree == 0 ? &meta->root : &meta->queue_root;
}

/*
 * Put a new root above two pages, left having been the root.  All three are
 * locked exclusively; the metapage's lock is taken and released.
 */
static void
grow_root(FpbIndex *ix, Buffer left, Buffer right,
		  const FpbKey *separator, Buffer metabuf)
{
	int			level = FpbHdr(BufferGetPage(left))->level + 1;
	FpbMeta    *meta = FpbPageGetMeta(BufferGetPage(metabuf));
	PGAlignedBlock *image;
	FpbEntry	entries[2];
	FpbPageContent content = {
		.level = level,
		.flags = FPB_LEFTMOST | FPB_RIGHTMOST | ix->tree,
		.right = InvalidBlockNumber,
		.entries = entries,
		.nentries = 2,
	};
	Buffer		rootbuf;
	FpbWal		wal;
	FpbWalPage *wp_meta;
	FpbWalPage *wp_left;
	FpbWalPage *wp_root;

	if (level >= FPB_MAX_LEVELS)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("index \"%s\" has too many levels",
						RelationGetRelationName(ix->rel))));

	fpb_key_minus_infinity(ix, &entries[0].key);
	entries[0].child = BufferGetBlockNumber(left);
	entries[1].key = *separator;
	entries[1].child = BufferGetBlockNumber(right);
	image = palloc_aligned(sizeof(PGAlignedBlock), PG_IO_ALIGN_SIZE, 0);
	if (!fpb_page_build(ix, image->data, &content, 0))
		elog(ERROR, "two downlinks do not fit a page of index \"%s\"",
			 RelationGetRelationName(ix->rel));
	rootbuf = fpb_allocbuf(ix->rel);

	fpb_wal_begin(&wal, ix->rel);
	wp_root = fpb_wal_add(&wal, rootbuf, true);
	wp_meta = fpb_wal_add(&wal, metabuf, false);
	wp_left = fpb_wal_add(&wal, left, false);
	fpb_wal_enter(&wal);
	fpb_page_replace(BufferGetPage(rootbuf), image->data, wp_root);
	fpb_name_halves(ix, BufferGetPage(rootbuf), left, right, wp_root);
	*meta_root(ix, meta) = BufferGetBlockNumber(rootbuf);
	if (ix->tree == 0)
		meta->level = level;
	else
	{
		meta->queue_level = level;
		meta->queue_pages++;
	}
	fpb_wal_note(wp_meta, meta, sizeof(FpbMeta));
	fpb_clear_incomplete(left, wp_left);
	fpb_wal_finish(&wal);
	fpb_verify_page(ix, BufferGetPage(rootbuf));
	fpb_verify_insert(ix, &wal, 2, NULL);

	pfree(image);
	fpb_relbuf(rootbuf);
}

/*
 * Insert the downlink of the right page of a split and clear the left page's
 * flag.  Both are locked exclusively and stay so: while they are, neither can
 * be split again or deleted.  (Cascading splits keep the pages of all their
 * levels locked.)
 *
 * Returns false, with nothing done, if the left page has no downlink itself,
 * as its own left sibling's split is incomplete: downlinks are inserted from
 * left to right, so that an unflagged page tells that its right sibling has
 * one.  Who came to the page by way of that sibling, or of the parent, has
 * seen to it; but a stale link may lead to the page past both.
 */
bool
fpb_insert_downlink(FpbIndex *ix, Buffer left, Buffer right, FpbStack *stack)
{
	Page		page = BufferGetPage(left);
	int			level = FpbHdr(page)->level;
	FpbEntry	entry;
	FpbEntry	downlink;
	FpbKey		low;
	FpbSearchKey begin;
	FpbSearchKey separator;
	FpbPos		pos;
	Buffer		parent;

	Assert(FpbPageSplitIncomplete(page));
	if (level > 0)
		FPB_INJECTION_POINT("fpbtree-before-inner-downlink");
	else
		FPB_INJECTION_POINT("fpbtree-before-downlink");
	/* which is the left page's high fence */
	fpb_page_low(ix, BufferGetPage(right), &entry.key);
	entry.child = BufferGetBlockNumber(right);

	/* Only the leftmost page of a level can be the root. */
	if (FpbPageIsLeftmost(page))
	{
		Buffer		metabuf = ReadBuffer(ix->rel, FPB_METAPAGE);

		LockBuffer(metabuf, BUFFER_LOCK_EXCLUSIVE);
		if (*meta_root(ix, FpbPageGetMeta(BufferGetPage(metabuf))) == BufferGetBlockNumber(left))
		{
			grow_root(ix, left, right, &entry.key, metabuf);
			UnlockReleaseBuffer(metabuf);
			return true;
		}
		UnlockReleaseBuffer(metabuf);
	}
	else
	{
		/*
		 * Beside the root there are none but the halves of its unfinished
		 * split.
		 */
		if (level >= (int) ix->level)
			fpb_index_refresh(ix);
		if (level >= (int) ix->level)
			return false;
	}

	fpb_search_key_from(ix, &entry.key, &separator);
	parent = fpb_find_parent(ix, &separator, level, stack);
	/* the queue's root may be lower than it was */
	if (!BufferIsValid(parent))
		return false;
	fpb_page_child(ix, BufferGetPage(parent), &separator, false, &pos,
				   &downlink);
	if (downlink.child != BufferGetBlockNumber(left))
	{
		if (!FpbPageIsLeftmost(page))
		{
			fpb_page_low(ix, page, &low);
			fpb_search_key_from(ix, &low, &begin);
			if (fpb_compare(ix, &downlink.key, &begin) < 0)
			{
				fpb_relbuf(parent);
				return false;
			}
		}
		fpb_page_damaged(ix, BufferGetPage(parent),
						 psprintf("The downlink before the separator of blocks %u and %u points to block %u.",
								  BufferGetBlockNumber(left), entry.child,
								  downlink.child));
	}
	(void) fpb_insert_on_page(ix, NULL, parent, stack, &entry, false, true, left, right);
	return true;
}

/*
 * Split a page, locked exclusively and released, adding an entry.  left and
 * right are the pages of the level below of which the entry is the right one's
 * downlink, or invalid; they stay locked.
 */
void
fpb_split_page(FpbIndex *ix, Buffer buf, FpbStack *stack, const FpbEntry *entry,
			   FpbPos pos, Buffer left, Buffer right)
{
	Page		page = BufferGetPage(buf);
	PGAlignedBlock *images;
	Buffer		rbuf;
	Buffer		metabuf = InvalidBuffer;
	FpbWal		wal;
	FpbWalPage *wp_left;
	FpbWalPage *wp_right;
	FpbWalPage *wp_child = NULL;
	FpbWalPage *wp_meta = NULL;

	Assert(!FpbPageSplitIncomplete(page));
	images = palloc_aligned(2 * sizeof(PGAlignedBlock), PG_IO_ALIGN_SIZE, 0);
	rbuf = fpb_allocbuf(ix->rel);
	fpb_wal_begin(&wal, ix->rel);
	wp_left = fpb_wal_add_copy(&wal, buf, images[0].data);
	wp_right = fpb_wal_add_copy(&wal, rbuf, images[1].data);

	/* If an image of the left page is due, it should be small and fresh. */
	fpb_page_split(ix, page, entry, pos, BufferGetBlockNumber(rbuf),
				   FpbPageIsLeaf(page) ? fpb_fillfactor(ix->rel) : FPB_INNER_FILLFACTOR,
				   RelationNeedsWAL(ix->rel) && XLogCheckBufferNeedsBackup(buf) ?
				   FPB_HALVES_SPREAD : FPB_HALVES_IN_PLACE,
				   wp_left, wp_right);
	if (BufferIsValid(left))
	{
		wp_child = fpb_wal_add(&wal, left, false);
		fpb_name_halves(ix, wp_left->page, left, right, wp_left);
		fpb_name_halves(ix, wp_right->page, left, right, wp_right);
	}
	if (ix->tree != 0)
		metabuf = fpb_add_meta(ix, &wal, &wp_meta);
	fpb_wal_enter(&wal);
	if (wp_child != NULL)
		fpb_clear_incomplete(left, wp_child);
	if (wp_meta != NULL)
		fpb_count_queue_pages(wp_meta, 1);
	fpb_wal_finish(&wal);
	if (wp_meta != NULL)
		fpb_relbuf(metabuf);
	fpb_verify_split(ix, &wal, entry);
	if (BufferIsValid(left))
		fpb_verify_insert(ix, &wal, 2, NULL);

	/* the scans that have locked the page now have to lock both */
	if (FpbPageIsLeaf(page))
		PredicateLockPageSplit(ix->rel, BufferGetBlockNumber(buf),
							   BufferGetBlockNumber(rbuf));
	pfree(images);

	/* if it can't be done from here, others will do it */
	(void) fpb_insert_downlink(ix, buf, rbuf, stack);
	fpb_relbuf(rbuf);
	fpb_relbuf(buf);
}

/*
 * Finish the split of a page, locked exclusively; it stays locked.  Other
 * locks may be held only on pages of the levels below.  Returns false if the
 * split of its left sibling is to be finished first.
 */
bool
fpb_finish_split(FpbIndex *ix, Buffer left)
{
	Buffer		right;
	bool		done;

	Assert(FpbPageSplitIncomplete(BufferGetPage(left)));
	right = fpb_getbuf_right(ix, left, BUFFER_LOCK_EXCLUSIVE);
	done = fpb_insert_downlink(ix, left, right, NULL);
	fpb_relbuf(right);
	return done;
}
