/*-------------------------------------------------------------------------
 *
 * tree/buffers.h
 *	  Opening an index; getting, checking and allocating its pages
 *	  (tree/buffers.c).
 *
 *-------------------------------------------------------------------------
 */
#ifndef FPB_TREE_BUFFERS_H
#define FPB_TREE_BUFFERS_H

#include "port/atomics.h"
#include "storage/bufmgr.h"

#include "base/wal.h"
#include "key/key.h"

/* Fill *ix for an open index; reads the metapage unless it is cached. */
extern void fpb_index_open(FpbIndex *ix, Relation rel);
extern const FpbIndex *fpb_index_look(Relation rel, FpbIndex *memory);

/* Read the metapage again, because the cached root is not the root any more. */
extern void fpb_index_refresh(FpbIndex *ix);

extern Buffer fpb_getbuf(const FpbIndex *ix, BlockNumber blkno, int access);

/* The same index, to work on a tier of its operation queue. */
extern void fpb_index_of_tier(const FpbIndex *ix, int tier, FpbIndex *queue);

/*
 * InvalidBuffer if the page is not of that level of the tree; or, unless
 * missing is NULL, if it would have to be read: then *missing is set.
 */
extern Buffer fpb_getbuf_at_hand(const FpbIndex *ix, BlockNumber blkno,
								 int level, int access, BlockNumber *missing);

static inline Buffer
fpb_getbuf_level(const FpbIndex *ix, BlockNumber blkno, int level, int access)
{
	return fpb_getbuf_at_hand(ix, blkno, level, access, NULL);
}

extern Buffer fpb_getbuf_right(const FpbIndex *ix, Buffer buf, int access);
extern Buffer fpb_pin_recent(const FpbIndex *ix, BlockNumber blkno);
extern Buffer fpb_getbuf_recent(const FpbIndex *ix, BlockNumber blkno,
								uint16 named_node, int access);
extern bool fpb_is_in_memory(Relation rel, BlockNumber block, bool by_now);
extern bool fpb_is_at_hand(const FpbIndex *ix, BlockNumber blkno);
extern const char *fpb_header_fault(const FpbIndex *ix, Page page);
extern void fpb_checkpage(const FpbIndex *ix, Buffer buf);
extern void fpb_relbuf(Buffer buf); /* unlock and unpin */
extern Buffer fpb_allocbuf(Relation rel);	/* locked exclusively, to be
											 * initialised */
extern void fpb_record_free(Relation rel, BlockNumber blkno);
extern void fpb_check_meta(const FpbIndex *ix, Page page);
extern Buffer fpb_pin_meta(const FpbIndex *ix);

/* What the metapage has of a tier of the operation queue. */
static inline FpbMetaTier *
fpb_meta_tier(Page meta, int tier)
{
	Assert(tier > FPB_MAIN_TREE && tier < FPB_TREES);
	return &FpbPageGetMeta(meta)->tiers[tier - 1];
}

/*
 * Does the pinned metapage name a root of a tier at this moment?  That is one
 * aligned word, so no lock is needed.
 */
static inline bool
fpb_has_tier(Buffer metabuf, int tier)
{
	return *(volatile BlockNumber *) &fpb_meta_tier(BufferGetPage(metabuf), tier)->root !=
		FPB_METAPAGE;
}

/*
 * The same of any tier.  They are asked in the order in which entries move:
 * one that has left a tier before that was taken away is in the next one.
 */
static inline bool
fpb_has_any_tier(Buffer metabuf)
{
	for (int tier = 1; tier < FPB_TREES; tier++)
	{
		if (fpb_has_tier(metabuf, tier))
			return true;
		pg_read_barrier();
	}
	return false;
}

extern bool fpb_has_queue(Relation rel);
extern bool fpb_built_for_queue(Relation rel);
extern void fpb_note_mixed_heads(FpbIndex *ix);
extern Buffer fpb_add_meta(const FpbIndex *ix, FpbWal *wal, FpbWalPage **wp);
extern void fpb_count_tier_pages(const FpbIndex *queue, FpbWalPage *wp, int change);
extern void fpb_meta_init(const FpbIndex *ix, Page page, BlockNumber root,
						  uint32 level);

#endif							/* FPB_TREE_BUFFERS_H */
