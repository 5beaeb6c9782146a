/*-------------------------------------------------------------------------
 *
 * inspect/check.h
 *	  What the files of the check share: inspect/check_pages.c looks at pages,
 *	  inspect/check_rows.c at entries and rows.
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

/* how often a page that somebody else has locked, or changed, is tried again */
#define FPB_CHECK_TRIES	1000

/* What a check of the rows keeps to itself (inspect/check_rows.c). */
typedef struct FpbRowCheck FpbRowCheck;

typedef struct FpbCheck
{
	FpbIndex	ix;
	FpbIndex	queue;			/* the same, for the operation queue's tree */
	Relation	heap;
	BufferAccessStrategy strategy;
	BlockNumber nblocks;		/* of the index when the check began */
	BlockNumber nblocks_now;	/* at least; a link to a later block is wrong */

	/* where faults go: the first is raised, or all become rows */
	Tuplestorestate *rows;		/* NULL: raise */
	TupleDesc	desc;
	bool		may_read;		/* may the caller see what errors tell of
								 * keys? */
	uint8	   *faulty;			/* a bit for each of nblocks: something is
								 * wrong within the page, and has been told */
	int64		nfaulty;		/* such pages */
	uint32		nqueue_pages;	/* pages of the queue that have been met */

	bool		can_descend;	/* is no page damaged in such a way that a
								 * descent might run comparators on it? */

	/* looking from page to page has failed */
	int			lost;
	BlockNumber first_lost;
	char	   *lost_reason;

	/* the page at hand */
	BlockNumber blkno;
	Page		page;			/* a copy */
	FpbIndex   *tree;			/* the one it is of: ix or queue */
	bool		live;			/* is it in use, and sound in itself? */
	bool		damaged;		/* is it not sound?  That has been reported. */
	FpbEntry   *entries;		/* then its entries, tuples in the copy */
	int			nentries;
	FpbKey		high;			/* its high fence, unless it is the rightmost;
								 * one that is elided has no tuple if it could
								 * not be had */
	int			nth;			/* the one that is being looked at */
	MemoryContext context;		/* lives as long as the check */
	MemoryContext page_cxt;		/* reset when the next page is copied */

	FpbRowCheck *row_check;		/* NULL until the rows' turn comes */
} FpbCheck;

/* one part of the check, which may raise an error */
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
