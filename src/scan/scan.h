/*-------------------------------------------------------------------------
 *
 * scan/scan.h
 *	  What the files of the scan layer share among themselves.
 *
 *-------------------------------------------------------------------------
 */
#ifndef FPB_SCAN_SCAN_H
#define FPB_SCAN_SCAN_H

#include "access/heapam.h"
#include "executor/instrument.h"

#include "prefetch/prefetch.h"
#include "queue/filter.h"
#include "tree/tree.h"

/* ------------------------------------------------------------------------
 * values that depend on the time zone (scan/timezone.c)
 * ------------------------------------------------------------------------
 */
extern Oid	fpb_zone_type(Oid cmp_proc);
extern bool fpb_zone_translate(FmgrInfo *cmp, Datum value, Datum *low,
							   Datum *high);

/* ------------------------------------------------------------------------
 * what the scan keys mean: ranges of the index and filters (scan/scan_keys.c)
 * ------------------------------------------------------------------------
 */
typedef struct FpbQual FpbQual;

/*
 * A column of the equality prefix, and the values that it may have.
 */
typedef struct FpbScanColumn
{
	FpbQual    *eq;				/* where the values are from; NULL: IS NULL */
	Datum	   *values;			/* in index order, no two equal */
	int			nvalues;
	int			digit;			/* of the current range: index of the value */
	int64		weight;			/* ranges between one value and the next */
} FpbScanColumn;

/*
 * The scan keys as a sequence of disjoint ranges in index order, one for each
 * combination of values of the equality prefix, and the conditions that being
 * in a range does not imply.
 *
 * A range holds the entries e with lower <= e < upper.
 */
typedef struct FpbScanKeys
{
	FpbIndex   *ix;
	MemoryContext cxt;			/* lives as long as the scan */
	MemoryContext array_cxt;	/* arrays, until the next rescan; or NULL */

	/* of the keys' form: changes with their operators only */
	int			nquals;
	FpbQual    *quals;
	bool		simple;			/* "=" on each column of a prefix, no more */

	/* of this rescan */
	bool		prepared;
	bool		empty;			/* nothing can satisfy the keys */
	int			nprefix;
	FpbScanColumn prefix[INDEX_MAX_KEYS];
	int64		nranges;
	FpbQual    *range_lower;	/* bounds of the column behind the prefix */
	FpbQual    *range_upper;	/* (or of several, if a row comparison) */
	bool		range_not_null; /* that column is not to be NULL */
	int			nfilters;
	FpbQual   **filters;

	/* the current range */
	int64		range;			/* its number, or -1 */
	bool		has_lower;		/* else it begins with the first entry */
	bool		has_upper;		/* else it ends with the last entry */
	FpbSearchKey lower;
	FpbSearchKey upper;

	/* word indexes: what the search keys are made of */
	int			nlower;
	int			nupper;
	FpbColumnBound lower_bounds[FPB_MAX_WORD_COLUMNS];
	FpbColumnBound upper_bounds[FPB_MAX_WORD_COLUMNS];
} FpbScanKeys;

extern void fpb_keys_init(FpbScanKeys *keys, FpbIndex *ix);
extern void fpb_keys_end(FpbScanKeys *keys);
extern void fpb_keys_reset(FpbScanKeys *keys);
extern bool fpb_keys_prepare(FpbScanKeys *keys, ScanKey scankeys, int nkeys);
extern void fpb_keys_set_range(FpbScanKeys *keys, int64 range);
extern int64 fpb_keys_seek(FpbScanKeys *keys, const FpbKey *key, bool pivot,
						   bool ahead);
extern bool fpb_keys_match(FpbScanKeys *keys, const FpbKey *key);

/* ------------------------------------------------------------------------
 * reading pages (scan/read_leaf.c)
 * ------------------------------------------------------------------------
 */

/*
 * Where a scan goes on when it has handed out a page: at a fence in the middle
 * of a range, or with another range.
 */
typedef struct FpbScanEdge
{
	bool		inside;			/* in the middle of a range? */
	int64		range;			/* which range; outside of [0, nranges): the
								 * scan is over in this direction */
	bool		same_leaf;		/* inside: is it amid a leaf, at a fence of
								 * the queue's? */
	BlockNumber right;			/* inside, forward: the right link */
	FpbKey		key;			/* inside: the fence; its tuple is ours */
	Size		tuple_size;		/* allocated for key.tuple */
} FpbScanEdge;

/* of a leaf, and of the queue's for the same place */
#define FPB_MAX_SCAN_ITEMS	(2 * FPB_MAX_PAGE_ENTRIES)

/* of a scan that never needs memory for all that a page may have */
#define FPB_FEW_ITEMS		16

/*
 * What has been read of one leaf.  An item of the queue's has FPB_POS_END for
 * its position.
 */
typedef struct FpbScanPage
{
	bool		valid;
	Buffer		buf;			/* pinned, or InvalidBuffer */
	Buffer		queue_buf;		/* likewise, the queue's leaf */
	BlockNumber block;
	XLogRecPtr	lsn;			/* of the page as it was read */
	FpbScanEdge before;			/* how to go on backwards */
	FpbScanEdge after;			/* how to go on forwards */
	int			nitems;
	int			current;		/* the item handed out last */
	char	   *tuples;			/* index-only scans: copies of the tuples */
	Size		tuples_size;	/* so many bytes */
	bool		check_rows;		/* is the scan to see that the snapshot sees a
								 * row? */
	uint8		visible[FPB_MAX_SCAN_ITEMS / 8 + 1];	/* those it is known to
														 * see, a bit each */
	FpbItem    *items;			/* in index order */
	int			room;			/* for so many */
	FpbItem		few[FPB_FEW_ITEMS]; /* is items[] until there are more */
} FpbScanPage;

/* where a scan is */
typedef enum FpbScanState
{
	FPB_SCAN_NEW,				/* not begun */
	FPB_SCAN_BEFORE,			/* before the first entry */
	FPB_SCAN_ON_PAGE,			/* at scan->page's current item */
	FPB_SCAN_AFTER				/* after the last entry */
} FpbScanState;

/*
 * An index tuple to be made of words, and where the columns' values go.  There
 * is one for each set of columns that may be NULL.
 */
typedef struct FpbTupleTemplate
{
	IndexTuple	tuple;			/* NULL: not made yet */
	int			nvalues;		/* columns that are not NULL */
	struct
	{
		char	   *to;
		uint8		column;
		uint8		length;
		bool		byval;
	}			values[FPB_MAX_WORD_COLUMNS];
} FpbTupleTemplate;

typedef struct FpbScan
{
	FpbIndex	ix;
	FpbIndex   *queue;			/* the same, for the operation queue's tree;
								 * NULL until that has been looked for */
	BlockNumber missing;		/* a page of that to be read with no lock held */
	Buffer		metabuf;		/* pinned, or InvalidBuffer */
	bool		restarted;		/* have there been keys before these? */
	FpbFilter	filter;			/* of the queue's keys, once it is open */
	bool		filter_open;
	MemoryContext cxt;			/* lives as long as the scan */
	FpbScanKeys keys;
	FpbScanState state;
	bool		keep_pin;		/* must the leaf stay pinned? */

	FpbScanPage *page;
	FpbScanEdge at;				/* where the next page is read */
	FpbScanEdge elided;			/* the high fence of the page being read, if
								 * it has elided that */
	FpbScanEdge queue_elided;	/* the same of the queue's */
	Page		queue_copy;		/* recovery: of the queue's leaf; NULL until
								 * it is needed */
	FpbItem    *queued;			/* items of the queue's leaf, while they are
								 * merged; or NULL */
	FpbSearchKey from;			/* the same as a search key */
	uint64		leaf_number;	/* parallel scans: which of the scan's leaves */

	FpbLoopGuard loop_guard;	/* has it been here before? */

	/*
	 * The mark.  As long as the scan stays on the marked page, mark_item is
	 * the item; when it leaves the page, *page becomes *mark_page.
	 */
	int			mark_item;		/* or -1 */
	FpbScanPage *mark_page;		/* allocated when needed */
	FpbScanState mark_state;	/* of a mark on no page */

	int			nkilled;
	int		   *killed;			/* indexes into page->items */

	/* index-only scans in recovery: for looking at rows, NULL until needed */
	struct IndexFetchTableData *row_fetch;
	struct TupleTableSlot *row_slot;

	/* reading ahead */
	int64		npages;			/* leaves read since the scan was (re)started */
	struct FpbScanPrefetch *prefetch;	/* NULL: has not been needed so far */
	bool		leaves_active;	/* are leaves being read ahead, or to be? */
	bool		heap_wanted;	/* if the heap is not all in memory, are its
								 * pages to be read ahead? */
	bool		heap_active;	/* are they being read ahead? */
	int			heap_check;		/* where this meets no bit of an item's
								 * number, see if the heap has been read */
	int64		blocks_read;	/* as fpb_blocks_read() was when the scan last
								 * read something itself */

	/* index-only scans of word indexes */
	FpbTupleTemplate *templates;	/* 1 << FPB_MAX_WORD_COLUMNS, or NULL */
	bool		plain;			/* are words the values, but for ... */
	uint64		flip;			/* ... these bits? */
	IndexTuple	last_tuple;		/* the tuple made last, or NULL */
	uint64		last_head;		/* what it is made of */
	uint64		last_low;
	uint32		last_tie;
} FpbScan;

/*
 * Set an edge to the end of a range: to go on with range number range.
 */
static inline void
fpb_edge_set_range(FpbScanEdge *edge, int64 range)
{
	edge->inside = false;
	edge->range = range;
}


/* scan/edge.c */
extern void fpb_edge_set_key(FpbScan *so, FpbScanEdge *edge,
							 const FpbKey *key);
extern void fpb_edge_copy(FpbScan *so, FpbScanEdge *to,
						  const FpbScanEdge *from);
extern void fpb_scan_page_init(FpbScanPage *page);
extern void fpb_scan_page_free(FpbScanPage *page);

/* scan/read_leaf.c */
extern void fpb_scan_unpin_meta(FpbScan *so);
extern void fpb_scan_read_page(IndexScanDesc scan, FpbScan *so, bool forward);
extern bool fpb_scan_peek(IndexScanDesc scan, FpbScan *so, FpbScanPage *sp,
						  const FpbScanEdge *at, bool forward);
extern bool fpb_scan_peek_copy(IndexScanDesc scan, FpbScan *so,
							   FpbScanPage *sp, Page copy, BlockNumber block,
							   const FpbScanEdge *at, bool forward);

/* ------------------------------------------------------------------------
 * index-only scans in recovery (scan/standby.c)
 * ------------------------------------------------------------------------
 */
extern void fpb_scan_note_visible(IndexScanDesc scan, FpbScanPage *sp,
								  bool copied);
extern bool fpb_scan_sees_row(IndexScanDesc scan, FpbScan *so);
extern void fpb_scan_end_rows(FpbScan *so);

/* ------------------------------------------------------------------------
 * reading ahead (scan/prefetch.c)
 * ------------------------------------------------------------------------
 */

/* so many leaves of a scan are read with none ahead of them */
#define FPB_PAGES_ALONE		2

extern void fpb_scan_prefetch_leaves(IndexScanDesc scan, FpbScan *so, bool forward);
extern void fpb_scan_prefetch_come(IndexScanDesc scan, FpbScan *so, bool forward);
extern void fpb_scan_prefetch_heap(IndexScanDesc scan, FpbScan *so, bool forward);
extern void fpb_scan_prefetch_serve(FpbScan *so);
extern void fpb_scan_prefetch_rescan(FpbScan *so);
extern void fpb_scan_prefetch_end(FpbScan *so);

/*
 * Pages that this backend has read from storage, whatever for.
 */
static inline int64
fpb_blocks_read(void)
{
	return pgBufferUsage.shared_blks_read + pgBufferUsage.local_blks_read;
}

/*
 * Has a page of the heap had to be read for an entry handed out?  So it seems
 * if the executor has fetched one for the last, and pages have been read.
 */
static inline bool
fpb_scan_missed(IndexScanDesc scan, const FpbScan *so)
{
	return so->blocks_read != fpb_blocks_read() &&
		BufferIsValid(((IndexFetchHeapData *) scan->xs_heapfetch)->xs_cbuf);
}

/* ------------------------------------------------------------------------
 * parallel scans (scan/parallel.c)
 * ------------------------------------------------------------------------
 */
typedef enum FpbSeized
{
	FPB_SEIZED,					/* this process is to read */
	FPB_SEIZED_BY_ANOTHER,
	FPB_NOTHING_TO_SEIZE		/* all has been read */
} FpbSeized;

extern FpbSeized fpb_parallel_seize(IndexScanDesc scan, FpbScan *so,
									FpbScanEdge *at, int64 first);
extern void fpb_parallel_wait(IndexScanDesc scan);
extern void fpb_parallel_release(IndexScanDesc scan, FpbScan *so,
								 const FpbScanEdge *at);
extern uint64 fpb_parallel_announced(IndexScanDesc scan);
extern void fpb_parallel_announce(IndexScanDesc scan, uint64 nleaves);
extern void fpb_parallel_retract(IndexScanDesc scan);

/* ------------------------------------------------------------------------
 * the access method's functions (scan/scan.c, scan/parallel.c)
 * ------------------------------------------------------------------------
 */
extern IndexScanDesc fpb_beginscan(Relation rel, int nkeys, int norderbys);
extern void fpb_rescan(IndexScanDesc scan, ScanKey keys, int nkeys,
					   ScanKey orderbys, int norderbys);
extern bool fpb_gettuple(IndexScanDesc scan, ScanDirection dir);
extern int64 fpb_getbitmap(IndexScanDesc scan, TIDBitmap *tbm);
extern void fpb_endscan(IndexScanDesc scan);
extern void fpb_markpos(IndexScanDesc scan);
extern void fpb_restrpos(IndexScanDesc scan);
extern Size fpb_estimateparallelscan(FPB_ESTIMATE_PARALLEL_ARGS);
extern void fpb_initparallelscan(void *target);
extern void fpb_parallelrescan(IndexScanDesc scan);

#endif							/* FPB_SCAN_SCAN_H */
