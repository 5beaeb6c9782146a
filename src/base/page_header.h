/*-------------------------------------------------------------------------
 *
 * base/page_header.h
 *	  The page header, the metapage's content, reports of damage.
 *
 *-------------------------------------------------------------------------
 */
#ifndef FPB_BASE_PAGE_HEADER_H
#define FPB_BASE_PAGE_HEADER_H

#include "storage/block.h"
#include "storage/bufpage.h"
#include "utils/relcache.h"

#include "base/compat.h"

#define FPB_METAPAGE	0		/* block of the metapage */
#define FPB_MAGIC		0xFB7E	/* in every page of an fpbtree */
#define FPB_META_MAGIC	0x46504254	/* "FPBT" */
#define FPB_VERSION		20		/* on-disk format */
#define FPB_CACHE_LINE	64		/* unit of node sizes, on disk */

/* page flags */
#define FPB_LEAF				(1 << 0)
#define FPB_HIGH_ELIDED			(1 << 1)	/* of its high fence the page has
											 * the head only; the right
											 * sibling has all of it */
#define FPB_DELETED				(1 << 2)	/* free for reuse */
#define FPB_INCOMPLETE_SPLIT	(1 << 3)	/* right sibling has no downlink
											 * yet */
#define FPB_LEFTMOST			(1 << 4)	/* low fence is minus infinity */
#define FPB_RIGHTMOST			(1 << 5)	/* high fence is plus infinity */
#define FPB_TREE_SHIFT			6	/* the upper two bits: of which tree it is */
#define FPB_TREE_BITS			(3 << FPB_TREE_SHIFT)

/*
 * The trees of an index: the main one, and the tiers of its operation queue.
 * New entries go to tier 1, and move from each tier to the next one that there
 * is, or to the main tree.  The metapage is of no tree.
 */
#define FPB_MAIN_TREE	0
#define FPB_TIERS		2
#define FPB_TREES		(FPB_TIERS + 1)
#define FPB_META		(FPB_TREES << FPB_TREE_SHIFT)

#define FPB_MIN_LINES	2		/* of an in-page node */
#define FPB_NARROW_LINES 1		/* of a leaf whose keys have no heads */
#define FPB_MAX_LINES	32
#define FPB_MAX_LEVELS	64

/* a page's fences: the low one is inclusive, the high one exclusive */
typedef enum FpbSide
{
	FPB_LOW,
	FPB_HIGH
} FpbSide;

#define FPB_SIDES	2

/*
 * The fences as the header stores them, each of them at its side of the
 * arrays.  In the word forms (head, low, tail) is the whole key.  In the tuple
 * form head is the head of the pivot tuple that lies at page offset tail; the
 * low fence's low is the length of an inner page's prefix (key/prefix.c), and
 * the high fence's is 0.  A high fence that is elided has its head only.
 *
 * The heads of both come before the rest, because they settle most comparisons
 * and the first cache line has no room for two whole fences.
 */
typedef struct FpbFences
{
	uint64		head[FPB_SIDES];
	uint64		tail[FPB_SIDES];
	uint64		low[FPB_SIDES];
} FpbFences;

/*
 * The header of every page but the metapage: what the tree has to know of a
 * page, and room for the layout.
 *
 * What a descent looks at first is in the first cache line, which ends after
 * the low fence's tail.
 */
typedef struct FpbPageHeader
{
	struct						/* PageHeaderData without its line pointers */
	{
		PageXLogRecPtr pd_lsn;
		uint16		pd_checksum;
		uint16		pd_flags;
		LocationIndex pd_lower; /* where the hole begins */
		LocationIndex pd_upper; /* start of the tuple area */
		LocationIndex pd_special;
		uint16		pd_pagesize_version;
		TransactionId pd_prune_xid;
	}			pd;
	uint16		magic;
	uint8		level;			/* 0 for leaves */
	uint8		flags;
	BlockNumber right;			/* right sibling or InvalidBlockNumber */
	uint16		layout[4];		/* the layout's */
	FpbFences	fences;
} FpbPageHeader;

StaticAssertDecl(offsetof(FpbPageHeader, magic) == SizeOfPageHeaderData &&
				 offsetof(FpbPageHeader, pd.pd_lower) == offsetof(PageHeaderData, pd_lower) &&
				 offsetof(FpbPageHeader, pd.pd_upper) == offsetof(PageHeaderData, pd_upper),
				 "FpbPageHeader must begin as every page does");
StaticAssertDecl(offsetof(FpbPageHeader, fences.tail[FPB_HIGH]) == FPB_CACHE_LINE,
				 "both heads and the low fence's tail must be in the first cache line");

#define FpbHdr(page)	((FpbPageHeader *) (page))

#define FpbPageIsLeaf(page)			((FpbHdr(page)->flags & FPB_LEAF) != 0)
#define FpbPageIsMeta(page)			((FpbHdr(page)->flags & FPB_TREE_BITS) == FPB_META)
#define FpbPageIsDeleted(page)		((FpbHdr(page)->flags & FPB_DELETED) != 0)
#define FpbPageIsLeftmost(page)		((FpbHdr(page)->flags & FPB_LEFTMOST) != 0)
#define FpbPageTree(page)			(FpbHdr(page)->flags >> FPB_TREE_SHIFT)
#define FpbPageIsQueue(page)		(FpbPageTree(page) != FPB_MAIN_TREE)
#define FpbPageIsRightmost(page)	((FpbHdr(page)->flags & FPB_RIGHTMOST) != 0)
#define FpbPageSplitIncomplete(page) ((FpbHdr(page)->flags & FPB_INCOMPLETE_SPLIT) != 0)
#define FpbPageHighElided(page)		((FpbHdr(page)->flags & FPB_HIGH_ELIDED) != 0)

/* How an index stores its keys: see "key" below. */
typedef enum FpbForm
{
	FPB_WORD4 = 1,				/* 32-bit words */
	FPB_WORD8,					/* 64-bit words */
	FPB_WORD16,					/* 128-bit words */
	FPB_TUPLE					/* index tuples behind 4- or 8-byte heads */
} FpbForm;

/* How an index lays entries out in its pages: see page/layout.h. */
typedef enum FpbLayout
{
	FPB_DISK_FIRST,
	FPB_MICRO_INDEX,
	FPB_CACHE_FIRST
} FpbLayout;

#define FPB_LAYOUTS		(FPB_CACHE_FIRST + 1)

/* a node with at most so many heads is searched by counting: see fpb_count_less64 */
#define FPB_COUNT_MOST		64

/* A tier of the operation queue, as the metapage has it. */
typedef struct FpbMetaTier
{
	BlockNumber root;			/* FPB_METAPAGE: there is none.  Read without
								 * a lock, too. */
	uint32		level;			/* of the root */
	uint32		pages;			/* of its tree */
	uint32		unused;
	uint64		number;			/* of the last such tier there was, a random
								 * one; 0: there has been none
								 * (queue/filter.c) */
} FpbMetaTier;

/* The metapage's content, in place of what follows the right link. */
typedef struct FpbMeta
{
	uint32		magic;
	uint32		version;
	BlockNumber root;
	uint32		level;			/* of the root */
	uint8		form;			/* FpbForm */
	uint8		head_width;		/* bytes of a head in a node: 0, 4 or 8 */
	uint8		leaf_lines;		/* cache lines of an in-page node of a leaf */
	uint8		inner_lines;	/* the same of an inner page */
	uint8		layout;			/* FpbLayout */
	uint8		options;		/* FPB_META_* */
	uint32		heads_version;	/* what heads were made by when the index was
								 * built: FPB_HEADS_*, or another number
								 * (key/collation.c) */
	FpbMetaTier tiers[FPB_TIERS];	/* of the operation queue */
} FpbMeta;

#define FPB_HEADS_FIXED	0		/* by what never changes */
#define FPB_HEADS_MIXED	1		/* not all by one version of the collation */

#define FPB_META_ONE_KEY	(1 << 0)	/* duplicates may share one key */
#define FPB_META_CSB		(1 << 1)	/* disk_first: nodes lie in key order */
#define FPB_META_BISECTING	(1 << 2)	/* nodes are searched by bisection
										 * alone */
#define FPB_META_UNFETCHED	(1 << 3)	/* and not prefetched */
#define FPB_META_C_BYTES	(1 << 4)	/* strings in a locale named C.* are
										 * ordered by their bytes
										 * (key/collation.c) */
#define FPB_META_QUEUE		(1 << 5)	/* of a unique index: it may have an
										 * operation queue */

#define FpbPageGetMeta(page) \
	((FpbMeta *) ((char *) (page) + offsetof(FpbPageHeader, layout)))

extern void fpb_page_init(Page page, int level, int flags, BlockNumber right);
extern void fpb_report_damage(Relation rel, BlockNumber blkno,
							  const char *fault) __attribute__((noreturn));

/* Fetch the cache lines of length bytes from start, all at once. */
static inline void
fpb_fetch_lines(const char *start, Size length)
{
#if defined(__GNUC__) || defined(__clang__)
	for (const char *p = start; p < start + length; p += FPB_CACHE_LINE)
		__builtin_prefetch(p);
#endif
}

/* Fetch a cache line that will be changed. */
static inline void
fpb_fetch_line_for_write(const void *at)
{
#if defined(__GNUC__) || defined(__clang__)
	__builtin_prefetch(at, 1);
#endif
}

#endif							/* FPB_BASE_PAGE_HEADER_H */
