/*-------------------------------------------------------------------------
 *
 * tree/split.c
 *	  Page splits, and growth of the root.
 *
 * A split is two WAL records.  The first makes the right page, which the left
 * page's right link leads to, and flags the left page.  The second inserts the
 * downlink and clears the flag.  If the second is not written, because of a
 * crash or an error, the next descent for writing that comes by the flagged
 * page finishes the split (tree/descend.c, move_right), or VACUUM does.
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
 * Clear the flag of a left page, because its right sibling's downlink is
 * inserted by the same record.  In the critical section.
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
 * name the nodes of both halves, which are locked exclusively.  The caller is
 * in the critical section, or the page is a copy that nobody else sees.
 */
void
fpb_name_halves(const FpbIndex *ix, Page page, const FpbInsertState *downlink,
				FpbWalPage *wp)
{
	fpb_page_write_child_hints(ix, page, BufferGetBlockNumber(downlink->left),
							   BufferGetPage(downlink->left), wp);
	fpb_page_write_child_hints(ix, page, BufferGetBlockNumber(downlink->right),
							   BufferGetPage(downlink->right), wp);
}

/*
 * The metapage's root of the tree that is worked on.
 */
static inline BlockNumber *
meta_root(const FpbIndex *ix, FpbMeta *meta)
{
	return ix->tree == FPB_MAIN_TREE ? &meta->root : &meta->tiers[ix->tree - 1].root;
}

/*
 * Put a new root above the halves of a split, of which the left one was the
 * root; *downlink is the right one's.  Both halves and the metapage are locked
 * exclusively, and stay so.
 */
static void
grow_root(FpbIndex *ix, const FpbInsertState *downlink, Buffer metabuf)
{
	Buffer		left = downlink->left;
	int			level = FpbHdr(BufferGetPage(left))->level + 1;
	FpbMeta    *meta = FpbPageGetMeta(BufferGetPage(metabuf));
	PGAlignedBlock *image;
	FpbEntry	entries[2];
	FpbPageContent content = {
		.level = level,
		.flags = FPB_LEFTMOST | FPB_RIGHTMOST | ix->tree << FPB_TREE_SHIFT,
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
	entries[1] = downlink->entry;
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
	fpb_name_halves(ix, BufferGetPage(rootbuf), downlink, wp_root);
	*meta_root(ix, meta) = BufferGetBlockNumber(rootbuf);
	if (ix->tree == FPB_MAIN_TREE)
		meta->level = level;
	else
	{
		meta->tiers[ix->tree - 1].level = level;
		meta->tiers[ix->tree - 1].pages++;
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
 * Put a new root above the halves of a split if the left one is the root: only
 * the leftmost page of its level can be.  Both are locked exclusively, and
 * stay so.  False if it is not the root.
 */
static bool
grow_root_if_split(FpbIndex *ix, const FpbInsertState *downlink)
{
	Buffer		metabuf = ReadBuffer(ix->rel, FPB_METAPAGE);
	bool		is_root;

	LockBuffer(metabuf, BUFFER_LOCK_EXCLUSIVE);
	is_root = *meta_root(ix, FpbPageGetMeta(BufferGetPage(metabuf))) ==
		BufferGetBlockNumber(downlink->left);
	if (is_root)
		grow_root(ix, downlink, metabuf);
	UnlockReleaseBuffer(metabuf);
	return is_root;
}

/*
 * Find the place of a downlink on its page, which is locked: it comes right
 * after the downlink of the split's left half.
 *
 * False if the left half has no downlink there, because the split of its own
 * left sibling is incomplete.  Raises an error if there is another reason.
 */
static bool
find_downlink_place(FpbIndex *ix, FpbInsertState *downlink)
{
	Page		page = BufferGetPage(downlink->buf);
	Page		left = BufferGetPage(downlink->left);
	FpbEntry	before;
	FpbKey		low;
	FpbSearchKey begin;

	fpb_page_child(ix, page, &downlink->search, false, &downlink->pos, &before);
	if (before.child != BufferGetBlockNumber(downlink->left))
	{
		if (!FpbPageIsLeftmost(left))
		{
			fpb_page_low(ix, left, &low);
			fpb_search_key_from(ix, &low, &begin);
			if (fpb_compare(ix, &before.key, &begin) < 0)
				return false;
		}
		fpb_page_damaged(ix, page,
						 psprintf("The downlink before the separator of blocks %u and %u points to block %u.",
								  BufferGetBlockNumber(downlink->left),
								  downlink->entry.child, before.child));
	}
	fpb_page_search(ix, page, &downlink->search, &downlink->pos);
	return true;
}

/*
 * Insert the downlink of the right half of a split, and clear the left half's
 * flag.  Both halves are locked exclusively, and stay so: meanwhile neither
 * can be split again or deleted.  (Cascading splits keep the pages of all
 * their levels locked.)  The caller holds no other locks, but for main leaves
 * and pages of the levels below.  stack is what the descent to the left half
 * has passed, a hint; or NULL.
 *
 * Returns false, with nothing done, if others will have to do it.  Downlinks
 * are inserted from left to right, so that an unflagged page tells that its
 * right sibling has one; but a stale link may have led to a left half that has
 * no downlink itself yet.
 */
bool
fpb_insert_downlink(FpbIndex *ix, Buffer left, Buffer right, FpbStack *stack,
					BlockNumber *missing)
{
	Page		page = BufferGetPage(left);
	int			level = FpbHdr(page)->level;
	FpbInsertState downlink;

	Assert(FpbPageSplitIncomplete(page));
	if (level > 0)
		FPB_INJECTION_POINT("fpbtree-before-inner-downlink");
	else
		FPB_INJECTION_POINT("fpbtree-before-downlink");
	fpb_insert_init(&downlink, NULL, stack, false);
	downlink.left = left;
	downlink.right = right;
	downlink.missing = missing;
	/* which is the left page's high fence */
	fpb_page_low(ix, BufferGetPage(right), &downlink.entry.key);
	downlink.entry.child = BufferGetBlockNumber(right);

	if (FpbPageIsLeftmost(page))
	{
		if (grow_root_if_split(ix, &downlink))
			return true;
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

	fpb_search_key_from(ix, &downlink.entry.key, &downlink.search);
	downlink.buf = fpb_find_parent(ix, &downlink.search, level, stack, missing);
	/* the queue's root may be lower than it was, or a page not be in memory */
	if (!BufferIsValid(downlink.buf))
		return false;
	if (!find_downlink_place(ix, &downlink))
	{
		fpb_relbuf(downlink.buf);
		return false;
	}
	(void) fpb_insert_on_page(ix, &downlink);
	return true;
}

/*
 * Have a new leaf logged as the difference from a base, if that takes less: a
 * page like it that has no entries and is marked as deleted, which is what the
 * leaf will be if a crash comes in between.  base: memory of the caller's,
 * kept until the record is finished.
 */
static void
log_from_base(const FpbIndex *ix, FpbWalPage *wp, char *base)
{
	FpbPageContent content;
	FpbKey		low;
	FpbKey		high;

	if (!RelationNeedsWAL(ix->rel) || !FpbPageIsLeaf(wp->page))
		return;
	fpb_page_frame(ix, wp->page, &low, &high, &content);
	content.flags |= FPB_DELETED;
	if (fpb_page_build(ix, (Page) base, &content, 0))
		fpb_wal_add_base(wp, base);
}

/*
 * How full entries that come in no order, one by one, leave a leaf, in
 * percent.  It has been split at some time, so it is between half full and
 * full.  Fuller leaves are rarer, and the average is 69.
 *
 * Each leaf has a fullness of its own.  If all were equally full, the entries
 * to come would split all of them at about the same time, and the index would
 * be half empty after that.
 */
static int
scattered_fullness(BlockNumber leaf)
{
	/* multiples of the golden ratio fill the interval from 0 to 1 evenly */
	double		even = (uint32) (leaf * UINT32_C(2654435769)) / 4294967296.0;

	return (int) (100 / (2 - even));
}

/*
 * What is known of the entries that will come to the halves of a page.
 * Ascending insertions leave it nearly full.  Entries that have been sorted
 * only look like such; more will come everywhere.
 */
static FpbSplitAim
split_aim(const FpbIndex *ix, const FpbInsertState *ins)
{
	FpbSplitAim aim = {.following = ins->following,.last = ins->last,.scattered = ins->scattered};

	if (!FpbPageIsLeaf(BufferGetPage(ins->buf)))
		aim.fullness = FPB_INNER_FILLFACTOR;
	else
		aim.fullness = fpb_split_fillfactor(ix);
	if (ins->scattered)
		aim.fullness = Min(aim.fullness, scattered_fullness(BufferGetBlockNumber(ins->buf)));
	return aim;
}

/*
 * Split the page ins->buf, which is full, adding the entry at ins->pos.  The
 * page is locked exclusively, and released.  If the entry is a downlink, the
 * halves whose downlink it is stay locked.
 *
 * The entry is in one of the new pages even if inserting their own downlink
 * fails: that is another WAL record.
 */
void
fpb_split_page(FpbIndex *ix, FpbInsertState *ins)
{
	Buffer		buf = ins->buf;
	Page		page = BufferGetPage(buf);
	PGAlignedBlock *images;
	Buffer		rbuf;
	Buffer		metabuf = InvalidBuffer;
	FpbWal		wal;
	FpbWalPage *wp_left;
	FpbWalPage *wp_right;
	FpbWalPage *wp_child = NULL;
	FpbWalPage *wp_meta = NULL;
	FpbSplitAim aim = split_aim(ix, ins);

	Assert(!FpbPageSplitIncomplete(page));
	images = palloc_aligned(3 * sizeof(PGAlignedBlock), PG_IO_ALIGN_SIZE, 0);
	rbuf = fpb_allocbuf(ix->rel);
	fpb_wal_begin(&wal, ix->rel);
	wp_left = fpb_wal_add_copy(&wal, buf, images[0].data);
	wp_right = fpb_wal_add_copy(&wal, rbuf, images[1].data);

	/* If an image of the left page is due, it should be small and fresh. */
	fpb_page_split(ix, page, &ins->entry, ins->pos, BufferGetBlockNumber(rbuf),
				   &aim,
				   RelationNeedsWAL(ix->rel) && XLogCheckBufferNeedsBackup(buf) ?
				   FPB_HALVES_SPREAD : FPB_HALVES_IN_PLACE,
				   wp_left, wp_right);
	if (BufferIsValid(ins->left))
	{
		wp_child = fpb_wal_add(&wal, ins->left, false);
		fpb_name_halves(ix, wp_left->page, ins, wp_left);
		fpb_name_halves(ix, wp_right->page, ins, wp_right);
	}
	log_from_base(ix, wp_right, images[2].data);
	if (ix->tree != FPB_MAIN_TREE)
		metabuf = fpb_add_meta(ix, &wal, &wp_meta);
	fpb_wal_enter(&wal);
	if (wp_child != NULL)
		fpb_clear_incomplete(ins->left, wp_child);
	if (wp_meta != NULL)
		fpb_count_tier_pages(ix, wp_meta, 1);
	fpb_wal_finish(&wal);
	if (wp_meta != NULL)
		fpb_relbuf(metabuf);
	fpb_verify_split(ix, &wal, &ins->entry);
	if (BufferIsValid(ins->left))
		fpb_verify_insert(ix, &wal, 2, NULL);

	/* the scans that have locked the page now have to lock both */
	if (FpbPageIsLeaf(page))
		PredicateLockPageSplit(ix->rel, BufferGetBlockNumber(buf),
							   BufferGetBlockNumber(rbuf));
	pfree(images);

	/* if it can't be done from here, others will do it */
	(void) fpb_insert_downlink(ix, buf, rbuf, ins->stack, ins->missing);
	fpb_relbuf(rbuf);
	fpb_relbuf(buf);
}

/*
 * Finish the split of a page, which is locked exclusively and stays so.  Other
 * locks may be held only on pages of the levels below, and, in the queue, on
 * main leaves.
 *
 * Returns false if the split of its left sibling has to be finished first, or
 * if *missing has been set (fpb_descend_queue).
 */
bool
fpb_finish_split(FpbIndex *ix, Buffer left, BlockNumber *missing)
{
	Buffer		right;
	bool		done;

	Assert(FpbPageSplitIncomplete(BufferGetPage(left)));
	right = fpb_getbuf_right(ix, left, BUFFER_LOCK_EXCLUSIVE);
	done = fpb_insert_downlink(ix, left, right, NULL, missing);
	fpb_relbuf(right);
	return done;
}
