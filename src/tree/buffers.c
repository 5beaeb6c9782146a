/*-------------------------------------------------------------------------
 *
 * tree/buffers.c
 *	  Getting, checking and allocating the pages of an index.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xlog.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "storage/buf_internals.h"
#include "storage/freespace.h"
#include "storage/indexfsm.h"
#include "storage/lmgr.h"
#include "storage/smgr.h"
#include "utils/memutils.h"

#include "page/layout.h"
#include "tree/buffers.h"

/*
 * What is wrong with the header of a page that should not be the metapage, or
 * NULL.  These checks are cheap enough for every access: see
 * fpb_layout_header_fault.
 */
const char *
fpb_header_fault(const FpbIndex *ix, Page page)
{
	FpbPageHeader *hdr = FpbHdr(page);

	if (PageIsNew(page))
		return "The page is all zeros.";
	if (hdr->magic != FPB_MAGIC || PageGetPageSize(page) != BLCKSZ)
		return "The page is not of an fpbtree index.";
	if (FpbPageIsMeta(page))
		return "The page is a metapage.";
	if (FpbPageIsLeaf(page) != (hdr->level == 0) ||
		hdr->level >= FPB_MAX_LEVELS)
		return "The page's level is wrong.";
	if (FpbPageIsRightmost(page) != (hdr->right == InvalidBlockNumber))
		return "The page's right link does not agree with its flags.";
	if (FpbPageIsQueue(page) && !ix->may_queue)
		return "The page is of an operation queue, which the index can't have.";
	if (FpbPageIsRightmost(page) && FpbPageHighElided(page))
		return "The rightmost page has no high fence to elide.";
	return fpb_layout_header_fault(ix, page);
}

/*
 * Raise an error unless the page in buf, pinned and locked, can be worked on.
 */
void
fpb_checkpage(const FpbIndex *ix, Buffer buf)
{
	const char *fault = fpb_header_fault(ix, BufferGetPage(buf));

	if (unlikely(fault != NULL))
		fpb_report_damage(ix->rel, BufferGetBlockNumber(buf), fault);
}

/*
 * Raise an error unless a link to this block can be right.  The index never
 * shrinks, so its size is asked for only if the known size is too small.
 */
static inline void
check_link(const FpbIndex *ix, BlockNumber blkno)
{
	BlockNumber known = RelationGetSmgr(ix->rel)->smgr_cached_nblocks[MAIN_FORKNUM];

	if (unlikely(blkno == FPB_METAPAGE))
		fpb_report_damage(ix->rel, blkno, "A link points to the metapage.");
	if (unlikely((known == InvalidBlockNumber || blkno >= known) &&
				 blkno >= RelationGetNumberOfBlocks(ix->rel)))
		fpb_report_damage(ix->rel, blkno,
						  "A link points behind the end of the index.");
}

/*
 * Is a pinned page, which need not be locked, one of this level of the tree?
 * Level and flags are read at once, because somebody may be making a new page
 * of a deleted one: the level of the one must not be seen with the flags of
 * the other.
 */
static inline bool
is_of_level(const FpbIndex *ix, Page page, int level)
{
	uint16		both;
	uint8		seen[2];

	StaticAssertStmt(offsetof(FpbPageHeader, level) % sizeof(both) == 0 &&
					 offsetof(FpbPageHeader, flags) == offsetof(FpbPageHeader, level) + 1,
					 "level and flags must lie in one aligned word");
	both = *(volatile uint16 *) &FpbHdr(page)->level;
	memcpy(seen, &both, sizeof(seen));
	return seen[0] == level &&
		(seen[1] & (FPB_DELETED | FPB_TREE_BITS)) == ix->tree << FPB_TREE_SHIFT;
}

/*
 * Lock a pinned page and check its header.  named_node is the search key's, or
 * 0.
 */
static inline Buffer
lock_page(const FpbIndex *ix, Buffer buf, uint16 named_node, int access)
{
	char	   *page = BufferGetPage(buf);

	/* all at one latency, while the lock is being taken */
	fpb_fetch_lines(page, ix->prefetch_front);
	fpb_fetch_lines(page + BLCKSZ - ix->prefetch_back, ix->prefetch_back);
	if (named_node != 0 && ix->prefetch)
		fpb_fetch_lines(page + ix->nodes_off + (named_node - 1) * ix->node_size,
						ix->node_size);
	LockBuffer(buf, access);
	fpb_checkpage(ix, buf);
	return buf;
}

/*
 * Pin and lock a page other than the metapage and check its header.
 */
Buffer
fpb_getbuf(const FpbIndex *ix, BlockNumber blkno, int access)
{
	check_link(ix, blkno);
	return lock_page(ix, ReadBuffer(ix->rel, blkno), 0, access);
}

/*
 * Has a buffer the greatest usage count, so that another use would not keep it
 * in memory any longer?
 */
static inline bool
is_used_most(Buffer buf)
{
	if (BufferIsLocal(buf))
		return true;
	return BUF_STATE_GET_USAGECOUNT(fpb_buffer_state(GetBufferDescriptor(buf - 1))) >=
		BM_MAX_USAGE_COUNT;
}

/*
 * Pin a page.  If it is still in the buffer where it has been seen last, that
 * spares the lookup in the buffer table.  But only an ordinary access counts
 * as a use of the buffer.  So the lookup is spared only for buffers that have
 * been used most.
 */
Buffer
fpb_pin_recent(const FpbIndex *ix, BlockNumber blkno)
{
	Relation	rel = ix->rel;
	Buffer	   *recent = fpb_cache_recent(ix->cache, blkno);

	if (recent == NULL)
		return ReadBuffer(rel, blkno);
	if (BufferIsValid(*recent) && is_used_most(*recent) &&
		ReadRecentBuffer(rel->rd_locator, MAIN_FORKNUM, blkno, *recent))
	{
		pgstat_count_buffer_read(rel);
		pgstat_count_buffer_hit(rel);
		return *recent;
	}
	*recent = ReadBuffer(rel, blkno);
	return *recent;
}

/*
 * fpb_getbuf for pages that backends visit again and again: leaves of the main
 * tree.  named_node is that of the search key they are visited for, or 0.
 */
Buffer
fpb_getbuf_recent(const FpbIndex *ix, BlockNumber blkno, uint16 named_node, int access)
{
	check_link(ix, blkno);
	return lock_page(ix, fpb_pin_recent(ix, blkno), named_node, access);
}

/*
 * Is a page in shared buffers?  One that is just being read counts, too,
 * unless by_now is set.  The answer may be out of date when the caller acts on
 * it.  It is no access, and is not counted as one.
 */
bool
fpb_is_in_memory(Relation rel, BlockNumber block, bool by_now)
{
	BufferTag	tag;
	uint32		hash;
	LWLock	   *lock;
	int			id;
	bool		found;

	InitBufferTag(&tag, &rel->rd_locator, MAIN_FORKNUM, block);
	hash = BufTableHashCode(&tag);
	lock = BufMappingPartitionLock(hash);
	LWLockAcquire(lock, LW_SHARED);
	id = BufTableLookup(&tag, hash);
	found = id >= 0 &&
		(!by_now || (fpb_buffer_state(GetBufferDescriptor(id)) & BM_VALID) != 0);
	LWLockRelease(lock);
	return found;
}

/*
 * Is a page in memory, so that it need not be read from storage?  The answer
 * may be out of date.  If the page is still in the buffer where it has been
 * seen last, that spares the lookup.  Not for temporary indexes, which don't
 * use shared buffers.
 */
bool
fpb_is_at_hand(const FpbIndex *ix, BlockNumber blkno)
{
	Buffer	   *recent;

	Assert(!RelationUsesLocalBuffers(ix->rel));
	check_link(ix, blkno);
	recent = fpb_cache_recent(ix->cache, blkno);
	if (recent != NULL && BufferIsValid(*recent))
	{
		BufferDesc *desc = GetBufferDescriptor(*recent - 1);
		BufferTag	tag;

		InitBufferTag(&tag, &ix->rel->rd_locator, MAIN_FORKNUM, blkno);
		if (BufferTagsEqual(&desc->tag, &tag) &&
			(fpb_buffer_state(desc) & BM_VALID) != 0)
			return true;
	}
	return fpb_is_in_memory(ix->rel, blkno, true);
}

/*
 * Pin and lock, as access says, block blkno if it is a page of this level of
 * the tree, and check its header; else InvalidBuffer, with no pin and no lock.
 *
 * Unless missing is NULL, the page is not read from storage: if it would have
 * to be, *missing becomes its block, and InvalidBuffer is returned.
 *
 * The caller may hold locks on pages that come before this one in the order of
 * locks: those of the levels below, and, if this one is of the queue, leaves
 * of the main tree.  But the link may be stale, and the page may have been
 * deleted and be a leaf now.  Its lock must not be waited for, because whoever
 * holds it may be waiting for the caller's lock.  So the level is looked at
 * before the page is locked.  It can't change in between, because the page is
 * pinned, and fpb_allocbuf takes no page that is pinned.
 *
 * In recovery that does not hold: replay makes a main leaf of the queue's page
 * even if that is pinned, and a page that it restores is full of zeros at
 * first, with no level.  So the level is looked at after the page has been
 * locked, and whoever locks a page of the queue has none of the main tree
 * locked.
 */
Buffer
fpb_getbuf_at_hand(const FpbIndex *ix, BlockNumber blkno, int level, int access,
				   BlockNumber *missing)
{
	Buffer		buf;
	bool		look_first;

	if (level == 0)
		FPB_INJECTION_POINT("fpbtree-before-queue-leaf");
	if (missing == NULL)
		check_link(ix, blkno);
	else if (!fpb_is_at_hand(ix, blkno))
	{
		*missing = blkno;
		return InvalidBuffer;
	}
	buf = level > 0 ? ReadBuffer(ix->rel, blkno) : fpb_pin_recent(ix, blkno);
	pg_read_barrier();
	look_first = ix->tree == FPB_MAIN_TREE || !RecoveryInProgress();
	if (look_first && !is_of_level(ix, BufferGetPage(buf), level))
	{
		ReleaseBuffer(buf);
		return InvalidBuffer;
	}
	if (level > 0)
		FPB_INJECTION_POINT("fpbtree-inner-pinned");
	else
		FPB_INJECTION_POINT("fpbtree-queue-pinned");
	lock_page(ix, buf, 0, access);
	if (!look_first && !is_of_level(ix, BufferGetPage(buf), level))
	{
		fpb_relbuf(buf);
		return InvalidBuffer;
	}
	return buf;
}

/*
 * Pin and lock, as access says, the right sibling of the page in buf, and
 * check its header.  buf is locked and stays so, and is not the rightmost page
 * of its level.  As long as it is locked, its sibling can't be deleted, so the
 * link is good.  Raises an error if it is damaged.
 */
Buffer
fpb_getbuf_right(const FpbIndex *ix, Buffer buf, int access)
{
	BlockNumber right = FpbHdr(BufferGetPage(buf))->right;

	/* we would wait for our own lock for ever */
	if (unlikely(right == BufferGetBlockNumber(buf)))
		fpb_report_damage(ix->rel, right, "The page's right link leads to itself.");
	if (ix->tree != FPB_MAIN_TREE)
	{
		Buffer		right_buf = fpb_getbuf_level(ix, right, FpbHdr(BufferGetPage(buf))->level,
												 access);

		/* it may be a main leaf, and the caller may have locked that */
		if (!BufferIsValid(right_buf))
			fpb_report_damage(ix->rel, BufferGetBlockNumber(buf),
							  "The page's right link leads out of the operation queue.");
		return right_buf;
	}
	return fpb_getbuf(ix, right, access);
}

/*
 * Unlock and unpin.
 */
void
fpb_relbuf(Buffer buf)
{
	UnlockReleaseBuffer(buf);
}

/*
 * Is the page in no tree, because it has been deleted, or never initialised?
 */
static bool
page_is_free(Page page)
{
	if (PageIsNew(page))
		return true;
	return FpbHdr(page)->magic == FPB_MAGIC &&
		!FpbPageIsMeta(page) && FpbPageIsDeleted(page);
}

/*
 * Put a page that is in no tree any more into the free space map.  The map's
 * upper levels, by which free pages are found, are updated at once, and not
 * only at the end of VACUUM, which it may not reach.
 */
void
fpb_record_free(Relation rel, BlockNumber blkno)
{
	FPB_INJECTION_POINT("fpbtree-record-free");
	RecordFreeIndexPage(rel, blkno);
	FreeSpaceMapVacuumRange(rel, blkno, blkno + 1);
}

/*
 * Get a page to be initialised, pinned and locked exclusively.
 *
 * A page may be used again as soon as it has been deleted, because the fences
 * tell whoever comes to it by a stale link.  But a free page that somebody has
 * locked or pinned is passed over: the caller holds locks on pages of the
 * trees, and must not wait, nor be waited for, by way of a stale link (see
 * fpb_getbuf_at_hand).
 */
Buffer
fpb_allocbuf(Relation rel)
{
	for (;;)
	{
		BlockNumber blkno = GetFreeIndexPage(rel);
		Buffer		buf;

		if (blkno == InvalidBlockNumber)
			break;
		buf = ReadBuffer(rel, blkno);
		if (ConditionalLockBufferForCleanup(buf))
		{
			if (blkno != FPB_METAPAGE && page_is_free(BufferGetPage(buf)))
				return buf;
			LockBuffer(buf, BUFFER_LOCK_UNLOCK);
		}
		ReleaseBuffer(buf);
	}
	FPB_INJECTION_POINT("fpbtree-extend");
	return ExtendBufferedRel(BMR_REL(rel), MAIN_FORKNUM, NULL, EB_LOCK_FIRST);
}
