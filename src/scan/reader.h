/*-------------------------------------------------------------------------
 *
 * scan/reader.h
 *	  Reading one leaf, and what the operation queue has for it: what the files
 *	  that do it share among themselves.
 *
 *-------------------------------------------------------------------------
 */
#ifndef FPB_SCAN_READER_H
#define FPB_SCAN_READER_H

#include "scan/scan.h"

/*
 * What is read at a time: a leaf and those of the queue's tiers for the same
 * place, all locked; in recovery, the latter are copies that were made before
 * the leaf was locked.  The segment is what is within the fences of all.
 */
typedef struct FpbSegment
{
	Page		leaf;
	int			nqueued;		/* how many leaves of the queue there are */
	Page		queued[FPB_TIERS];
	bool		copied;			/* are these copies? */
	Page		low_page;		/* that of them all which begins last, */
	Page		high_page;		/* and which ends first; NULL: not known yet */
} FpbSegment;

/*
 * One reading of a leaf: because the scan has come to it, or only to peek at
 * it.
 */
typedef struct FpbReader
{
	IndexScanDesc scan;
	FpbScan    *so;
	bool		forward;
	const FpbScanEdge *at;		/* where the scan comes to the leaf, */
	FpbSearchKey from;			/* and the same as a search key, if that is a
								 * fence */
	FpbKeyRange *range;			/* the range being read */
	FpbScanPage *sp;			/* what is read goes there */
	FpbSegment	seg;
	bool		leaps_out;		/* does the scan leap out of the leaf from an
								 * entry, to sp->after? */
} FpbReader;

/*
 * Where the high fence of a page that has elided it is kept.
 */
static inline FpbScanEdge *
fpb_elided_of(FpbScan *so, Page page)
{
	return &so->elided[FpbPageTree(page)];
}

/*
 * The high fence of a page that is not the rightmost, and of which
 * fpb_fetch_high has been told.
 */
static inline void
fpb_scan_page_high(FpbScan *so, Page page, FpbKey *high)
{
	if (unlikely(FpbPageHighElided(page)))
		*high = fpb_elided_of(so, page)->key;
	else
		fpb_page_high(&so->ix, page, high);
}

/*
 * Sign of the same against a search key, infinities included.
 */
static inline int
fpb_scan_compare_high(FpbScan *so, Page page, const FpbSearchKey *search)
{
	if (unlikely(FpbPageHighElided(page)))
		return fpb_compare(&so->ix, &fpb_elided_of(so, page)->key, search);
	return fpb_compare_high(&so->ix, page, search);
}

/*
 * Does a page, or a segment, end before a place (NULL: infinity), or at it?
 */
static inline bool
fpb_page_ends_before(FpbScan *so, Page page, const FpbSearchKey *place)
{
	return place == NULL ? !FpbPageIsRightmost(page) :
		fpb_scan_compare_high(so, page, place) < 0;
}

static inline bool
fpb_segment_ends_before(FpbScan *so, const FpbSegment *seg, const FpbSearchKey *place)
{
	bool		ends = fpb_page_ends_before(so, seg->leaf, place);

	for (int i = 0; i < seg->nqueued; i++)
		ends = ends || fpb_page_ends_before(so, seg->queued[i], place);
	return ends;
}

static inline bool
fpb_segment_ends_by(FpbScan *so, const FpbSegment *seg, const FpbSearchKey *place)
{
	bool		ends = fpb_scan_compare_high(so, seg->leaf, place) <= 0;

	for (int i = 0; i < seg->nqueued; i++)
		ends = ends || fpb_scan_compare_high(so, seg->queued[i], place) <= 0;
	return ends;
}

/*
 * The index, for the tree of the queue that a page is of.
 */
static inline FpbIndex *
fpb_tier_of(FpbScan *so, Page page)
{
	Assert(FpbPageIsQueue(page));
	return so->queue.trees[FpbPageTree(page) - 1];
}

/*
 * If the page in buf, locked and to be read, has elided its high fence, find
 * that out.
 */
static inline void
fpb_fetch_high(FpbScan *so, const FpbIndex *tree, Buffer buf)
{
	FpbKey		high;
	Buffer		right;

	if (likely(!FpbPageHighElided(BufferGetPage(buf))))
		return;
	right = fpb_lock_high(tree, buf, &high);
	fpb_edge_set_key(so, fpb_elided_of(so, BufferGetPage(buf)), &high);
	fpb_relbuf(right);
}

/* scan/segment.c */
extern Page fpb_segment_low_page(FpbScan *so, FpbSegment *seg);
extern Page fpb_segment_high_page(FpbScan *so, FpbSegment *seg);
extern void fpb_set_edge_fence(FpbReader *r, bool forward);
extern void fpb_set_edge_on(FpbReader *r, bool forward);
extern void fpb_set_edge_entry(FpbReader *r, bool forward, const FpbKey *key);
extern void fpb_set_edge_before(FpbReader *r, int64 first);
extern bool fpb_set_edge_early(FpbReader *r);

/* scan/queue_leaf.c */
extern bool fpb_queue_excluded(FpbReader *r);
extern void fpb_open_queue(FpbReader *r, FpbSearchKey *search);
extern bool fpb_lock_queue_leaves(FpbReader *r, FpbSearchKey *search, Buffer *bufs);

/* scan/merge_queue.c */
extern int	fpb_merge_queue(FpbScan *so, FpbItem *items, int n, int m, bool copied);

/* scan/read_ranges.c */
extern void fpb_make_room(FpbScan *so, FpbScanPage *sp, int room, int n);
extern int	fpb_read_segment(FpbReader *r);

/* scan/read_few.c */
extern bool fpb_read_few(FpbReader *r);

/* scan/form_tuple.c */
extern void fpb_copy_tuples(FpbReader *r);

#endif							/* FPB_SCAN_READER_H */
