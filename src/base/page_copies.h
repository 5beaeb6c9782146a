/*-------------------------------------------------------------------------
 *
 * base/page_copies.h
 *	  A backend's own copies of inner pages (base/page_copies.c).
 *
 *-------------------------------------------------------------------------
 */
#ifndef FPB_BASE_PAGE_COPIES_H
#define FPB_BASE_PAGE_COPIES_H

#include "storage/buf.h"

#include "base/page_header.h"

/* the copies of one index's inner pages */
typedef struct FpbPageCache FpbPageCache;

extern int	fpb_inner_page_cache;
extern void fpb_cache_init(void);
extern FpbPageCache *fpb_cache_attach(Relation rel);
extern Page fpb_cache_lookup(FpbPageCache *cache, BlockNumber blkno);
extern void fpb_cache_store(FpbPageCache *cache, BlockNumber blkno, Page page);
extern void fpb_cache_drop(FpbPageCache *cache, BlockNumber blkno);
extern BlockNumber fpb_cache_block(FpbPageCache *cache, const void *at);
extern Buffer *fpb_cache_recent(FpbPageCache *cache, BlockNumber blkno);
extern bool fpb_cache_note_queued(FpbPageCache *cache, BlockNumber leaf);

#endif							/* FPB_BASE_PAGE_COPIES_H */
