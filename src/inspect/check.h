/*-------------------------------------------------------------------------
 *
 * inspect/check.h
 *	  What the files of the check share: inspect/check_pages.c checks pages,
 *	  inspect/check_rows.c entries and rows.
 *
 *-------------------------------------------------------------------------
 */
#ifndef FPB_INSPECT_CHECK_H
#define FPB_INSPECT_CHECK_H

#include "lib/bloomfilter.h"
#include "lib/stringinfo.h"
#include "utils/snapshot.h"
#include "utils/tuplestore.h"

#include "base/open_index.h"
#include "tree/tree.h"

/* how often a page is tried again that somebody else has locked or changed */
#define FPB_CHECK_TRIES	1000

/* the state of the check of rows (inspect/check_rows.c) */
typedef struct FpbRowCheck FpbRowCheck;

typedef struct FpbCheck
{
	FpbIndex	ix;
	FpbIndex	tiers[FPB_TIERS];	/* the same, for those of the queue */
	Relation	heap;
	BufferAccessStrategy strategy;
	BlockNumber nblocks;		/* of the index when the check began */
	BlockNumber nblocks_now;	/* at least; a link to a later block is wrong */

	/* where faults go: the first is raised, or all become rows */
	Tuplestorestate *rows;		/* NULL: raise */
	TupleDesc	desc;
	bool		may_read;		/* may the caller see what errors tell of
								 * keys? */
	uint8	   *faulty;			/* a bit for each of nblocks: a fault within
								 * the page has been reported */
	int64		nfaulty;		/* how many pages have that */
	uint32		ntier_pages[FPB_TIERS]; /* pages of each tier found so far */

	bool		can_descend;	/* false if a descent might run comparators on
								 * something damaged */

	/* errors while pages were compared with others */
	int			lost;			/* how many */
	BlockNumber first_lost;		/* where the first one was */
	char	   *lost_reason;	/* and what it said */

	/* the page at hand */
	BlockNumber blkno;
	Page		page;			/* a copy */
	FpbIndex   *tree;			/* the one it is of: ix, or one of tiers */
	bool		live;			/* is it in use, and sound in itself? */
	bool		damaged;		/* has it a fault?  That has been reported. */
	FpbEntry   *entries;		/* of a live page: its entries, whose tuples
								 * are in the copy */
	int			nentries;
	FpbKey		high;			/* its high fence, unless it is the rightmost.
								 * An elided one has no tuple if the right
								 * sibling could not be read. */
	int			nth;			/* the entry that is being checked */
	MemoryContext context;		/* lives as long as the check */
	MemoryContext page_cxt;		/* reset when the next page is copied */

	FpbRowCheck *row_check;		/* NULL until the rows' turn comes */
} FpbCheck;

/* a step of the check, which may raise an error */
typedef void (*FpbCheckStep) (FpbCheck *check);

extern void fpb_check_report(FpbCheck *check, BlockNumber blkno,
							 const char *fmt,...) pg_attribute_printf(3, 4);
extern char *fpb_check_try(FpbCheck *check, FpbCheckStep step);
extern void fpb_check_take(FpbCheck *check, Buffer buf);
extern FpbIndex *fpb_check_tree(FpbCheck *check, Page page);
extern bool fpb_check_knows_high(const FpbCheck *check);
extern void fpb_check_root(FpbCheck *check);
extern void fpb_check_pages(FpbCheck *check);
extern void fpb_check_rows(FpbCheck *check);

#endif							/* FPB_INSPECT_CHECK_H */
