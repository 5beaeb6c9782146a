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
#include "port/pg_bswap.h"

#include "key/code.h"
#include "key/join_tuple.h"
#include "prefetch/prefetch.h"
#include "queue/filter.h"
#include "scan/scan_keys.h"
#include "tree/tree.h"

/* ------------------------------------------------------------------------
 * the scan, and what it has read
 * ------------------------------------------------------------------------
 */

/*
 * Where a scan goes on after it has handed out a page: at a fence in the
 * middle of a range, or with another range.
 */
typedef struct FpbScanEdge
{
	bool		inside;			/* in the middle of a range? */
	int64		range;			/* which range; outside of [0, nranges): the
								 * scan is over in this direction */
	bool		same_leaf;		/* inside: is it amid a leaf, at a fence of
								 * the queue's? */
	bool		leapt;			/* inside: is it where the scan has leapt to,
								 * no fence or entry? */
	BlockNumber right;			/* inside, forward: the right link */
	FpbKey		key;			/* inside: the place; its tuple is ours */
	Size		tuple_size;		/* allocated for key.tuple */
} FpbScanEdge;

/* of a leaf, and of those of the queue's tiers for the same place */
#define FPB_MAX_SCAN_ITEMS	(FPB_TREES * FPB_MAX_PAGE_ENTRIES)

/*
 * A scan that may want no more reads so many entries of a leaf at first, then
 * so many, then so many, and then all.
 */
#define FPB_FIRST_ITEMS	3
#define FPB_NEXT_ITEMS	24
#define FPB_MORE_ITEMS	100

/* a scan leaps so often in a leaf, at most, before it reads the rest at once */
#define FPB_MOST_LEAPS	8

/*
 * Room that a scan begins with, and the room for FPB_NEXT_ITEMS, and for
 * FPB_MORE_ITEMS, with the rest of the last one's node.
 */
#define FPB_FEW_ITEMS		16
#define FPB_PART_ITEMS		128
#define FPB_LARGE_PART_ITEMS	256

/*
 * What has been read of one leaf.  An item of the queue's has FPB_POS_END for
 * its position.
 */
typedef struct FpbScanPage
{
	bool		valid;
	Buffer		buf;			/* pinned, or InvalidBuffer */
	Buffer		queue_bufs[FPB_TIERS];	/* likewise, leaves of the queue */
	BlockNumber block;
	XLogRecPtr	lsn;			/* of the page as it was read */
	FpbScanEdge before;			/* how to go on backwards */
	FpbScanEdge after;			/* how to go on forwards */
	int			nitems;
	int			current;		/* the item handed out last */
	char	   *tuples;			/* index-only scans: copies of the tuples, */
	Size		tuples_size;	/* so many bytes; */
	ptrdiff_t	tuples_by;		/* so far behind where the items' point to; */
	bool		whole;			/* are they whole, those of a few items? */
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
	FPB_SCAN_ON_PAGE,			/* at the cursor's page's current item */
	FPB_SCAN_AFTER				/* after the last entry */
} FpbScanState;

/*
 * The mark.  As long as the scan stays on the marked page, item is the item;
 * when it leaves the page, what has been read of it goes to *page.
 */
typedef struct FpbScanMark
{
	int			item;			/* or -1 */
	FpbScanPage *page;			/* allocated when needed */
	FpbScanState state;			/* of a mark on no page */
} FpbScanMark;

/*
 * Where a scan is, and where it goes on.
 */
typedef struct FpbScanCursor
{
	FpbScanState state;
	bool		restarted;		/* have there been keys before these? */
	bool		forward;		/* the direction of what has been read last */
	int			part;			/* it reads so many entries of a leaf at a
								 * time; 0: all */
	int64		nleft;			/* items on the pages that it has left since
								 * it was (re)started */
	bool		keep_pin;		/* must the leaf stay pinned? */
	int			smooth;			/* the page's items, if the scan is on it with
								 * nothing to do but to hand out the next one;
								 * else 0 */
	FpbScanPage *page;			/* the leaf read last */
	FpbScanEdge at;				/* where the next one is read */
	FpbKeyRange range;			/* the range read last */
	uint64		leaf_number;	/* parallel scans: which of the scan's leaves */
	FpbLoopGuard loop_guard;	/* has it been here before? */
	FpbScanMark mark;
	int			nkilled;		/* items of the page that have proved dead, */
	int		   *killed;			/* and their numbers */
	int			kill_at;		/* they are killed when there are so many */
} FpbScanCursor;

/*
 * How the entries of the operation queue come in (scan/queue_leaf.c,
 * scan/merge_queue.c).
 */
typedef struct FpbQueueMerge
{
	FpbIndex   *trees[FPB_TIERS];	/* the index, for each tier; NULL until
									 * that has been looked for */
	BlockNumber missing;		/* a page to be read with no lock held */
	Buffer		metabuf;		/* pinned, or InvalidBuffer */
	FpbFilter	filters[FPB_TIERS]; /* of the tiers' keys, once open */
	bool		filter_open[FPB_TIERS];
	Page		copies[FPB_TIERS];	/* recovery: of the tiers' leaves; NULL
									 * until needed */
	FpbItem    *items;			/* of a tier's leaf, while they are merged; or
								 * NULL */
} FpbQueueMerge;

/*
 * What a scan prefetches (scan/prefetch.c).
 */
typedef struct FpbScanPrefetch
{
	struct FpbPrefetchState *state; /* NULL: has not been needed so far */
	int64		nleaves;		/* read since the scan was (re)started */
	bool		leaves_on;		/* are leaves prefetched, or to be? */
	bool		heap_allowed;	/* may pages of the table be? */
	bool		heap_on;		/* are they? */
	int			heap_check;		/* where this meets no bit of an item's
								 * number, see if the table has been read */
	int64		blocks_read;	/* as fpb_blocks_read() was when the scan last
								 * read something itself */
	uint64		run;			/* of the executor that the following is about */
	bool		read_all;		/* will the scan be read to its end? */
	bool		all_wanted;		/* has the caller said so? */
} FpbScanPrefetch;

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

/* the field of a column, and where its value goes */
typedef struct FpbTupleField
{
	FpbField	field;
	char	   *to;
} FpbTupleField;

/*
 * The tuples of an index-only scan (scan/form_tuple.c).
 */
typedef struct FpbTupleForming
{
	FpbTupleTemplate *templates;	/* 1 << FPB_MAX_WORD_COLUMNS, or NULL */
	bool		plain;			/* are words the values, but for ... */
	uint64		flip;			/* ... these bits? */
	uint64		shared;			/* and but for this word, which may be NULL */
	char	   *plain_to;		/* then: where the value of the template
								 * without NULLs goes; NULL until it is made */
	FpbTupleField fields[FPB_MAX_WORD_COLUMNS]; /* words of several columns:
												 * theirs, once the template
												 * without NULLs is made, */
	int			nfields;		/* and how many; else 0 */
	int			nfirst;			/* so many at first do not depend on low */
	bool		fielded;		/* has the tuple made last been made so? */
	IndexTuple	last;			/* the tuple made last, */
	uint64		last_head;		/* and what it is made of */
	uint64		last_low;
	uint32		last_tie;		/* FPB_NO_TIE: there is none */
	IndexTuple	last_stored;	/* tuple form: it is made of this one, or NULL */
	FpbJoiner  *joiner;			/* NULL until it is needed */
} FpbTupleForming;

/*
 * A leaf that a scan will come to, looked at for its TIDs (scan/read_leaf.c).
 */
typedef struct FpbPeek
{
	const FpbScanEdge *at;		/* where the scan will come to it, */
	bool		forward;		/* and in which direction */
	FpbKeyRange *range;			/* the range read last */
	FpbScanPage *sp;			/* what has been read goes there */
	BlockNumber block;			/* of the copy */
	Page		copy;			/* sound, of the leaf that it may be; NULL:
								 * the leaf itself is read */
} FpbPeek;

/*
 * An index scan or a bitmap scan.
 */
typedef struct FpbScan
{
	FpbIndex	ix;
	MemoryContext cxt;			/* lives as long as the scan */
	FpbScanKeys keys;
	int			leaps;			/* it leaps so often in a leaf before it reads
								 * the rest */
	FpbScanCursor cursor;
	FpbQueueMerge queue;
	FpbScanEdge elided[FPB_TREES];	/* the high fences of the leaf being read,
									 * and of those of the queue's tiers, if
									 * they have elided them */
	FpbScanPrefetch prefetch;
	FpbTupleForming tuples;

	/* index-only scans in recovery: for looking at rows */
	struct TupleTableSlot *row_slot;	/* NULL until needed */
	Buffer		map_buf;		/* the visibility map's page, pinned, or
								 * InvalidBuffer */
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
extern bool fpb_edge_set_place(FpbScan *so, FpbScanEdge *edge,
							   const FpbSearchKey *place);
extern void fpb_edge_copy(FpbScan *so, FpbScanEdge *to,
						  const FpbScanEdge *from);
extern void fpb_scan_page_init(FpbScanPage *page);
extern void fpb_scan_page_free(FpbScanPage *page);

/* scan/queue_leaf.c */
extern void fpb_scan_unpin_meta(FpbScan *so);

/* scan/read_leaf.c */
extern void fpb_scan_read_leaf(IndexScanDesc scan, FpbScan *so, bool forward);
extern bool fpb_scan_peek(IndexScanDesc scan, FpbScan *so, FpbPeek *peek);

/* scan/kill_items.c */
extern void fpb_scan_kill_items(IndexScanDesc scan, FpbScan *so);

/* scan/form_tuple.c */
extern void fpb_tuples_init(FpbScan *so);
extern void fpb_tuples_end(FpbScan *so);
extern IndexTuple fpb_word_tuple(FpbScan *so, const FpbKey *key);
extern IndexTuple fpb_stored_tuple(FpbScan *so, const FpbKey *key);

/* no key has this tie */
#define FPB_NO_TIE		PG_UINT32_MAX

/*
 * The index tuple of a word key, if next to nothing has to be done for it, or
 * NULL.  It lives until the next one is made.
 *
 * Most words are plain: the value but for some bits, so that nothing has to be
 * decoded.
 */
static inline IndexTuple
fpb_word_tuple_at_hand(FpbScan *so, uint64 head, uint64 low, uint32 tie)
{
	FpbTupleForming *tuples = &so->tuples;

	/* duplicates are frequent */
	if (head == tuples->last_head && low == tuples->last_low && tie == tuples->last_tie)
		return tuples->last;

	if (tuples->plain_to == NULL || head == tuples->shared)
		return NULL;
	if (so->ix.form == FPB_WORD4)
		*(uint32 *) tuples->plain_to = (uint32) ((head ^ tuples->flip) >> 32);
	else if (so->ix.form == FPB_WORD8)
		*(uint64 *) tuples->plain_to = head ^ tuples->flip;
	else
	{
		((uint64 *) tuples->plain_to)[0] = pg_hton64(head ^ tuples->flip);
		((uint64 *) tuples->plain_to)[1] = pg_hton64(low ^ tuples->flip);
		tuples->last_low = low;
	}
	tuples->last = tuples->templates[0].tuple;
	tuples->last_head = head;
	tuples->last_tie = tie;
	return tuples->last;
}

/* ------------------------------------------------------------------------
 * index-only scans in recovery (scan/standby.c)
 * ------------------------------------------------------------------------
 */
extern void fpb_scan_note_visible(IndexScanDesc scan, FpbScan *so, bool copied);
extern bool fpb_scan_sees_row(IndexScanDesc scan, FpbScan *so);
extern void fpb_scan_end_rows(FpbScan *so);

/* ------------------------------------------------------------------------
 * does the plan that is running read a scan to its end (scan/read_all.c)?  And
 * how many rows of a scan does it want, because the scan is all that is under
 * a LIMIT?  (0: nobody knows.)
 * ------------------------------------------------------------------------
 */
extern bool fpb_will_read_all(IndexScanDesc scan, FpbScanPrefetch *prefetch);
extern int64 fpb_limit_of_scan(IndexScanDesc scan);

/* ------------------------------------------------------------------------
 * prefetch (scan/prefetch.c)
 * ------------------------------------------------------------------------
 */

extern bool fpb_scan_may_prefetch_leaves(IndexScanDesc scan, FpbScan *so);
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
 * The page of the heap from which the executor has fetched a row last, or
 * InvalidBlockNumber.
 */
static inline BlockNumber
fpb_fetched_block(IndexScanDesc scan)
{
	Buffer		buf = ((IndexFetchHeapData *) scan->xs_heapfetch)->xs_cbuf;

	return BufferIsValid(buf) ? BufferGetBlockNumber(buf) : InvalidBlockNumber;
}

/*
 * Did the executor have to read a page of the heap for an entry handed out?
 * It seems so if it has fetched a row for the last one, and pages have been
 * read.
 */
static inline bool
fpb_scan_missed(IndexScanDesc scan, const FpbScan *so)
{
	return so->prefetch.blocks_read != fpb_blocks_read() &&
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
extern void fpb_scan_want_all(IndexScanDesc scan, bool all_wanted);
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
