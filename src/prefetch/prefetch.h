/*-------------------------------------------------------------------------
 *
 * prefetch/prefetch.h
 *	  Prefetch: pages are read before they are needed.
 *
 * All of it is advice.  A page that is prefetched and not needed, or needed
 * and not prefetched, costs time and nothing else: no search or scan takes its
 * way from what is found here.
 *
 *-------------------------------------------------------------------------
 */
#ifndef FPB_PREFETCH_PREFETCH_H
#define FPB_PREFETCH_PREFETCH_H

#include "nodes/bitmapset.h"

#include "tree/tree.h"

/* ------------------------------------------------------------------------
 * settings, and what has come of it (prefetch/stats.c)
 * ------------------------------------------------------------------------
 */
#define FPB_MAX_DISTANCE	1024	/* pages */

extern int	fpb_prefetch_distance;
extern int	fpb_prefetch_heap_distance;
extern int	fpb_pio_max;

/* how pages are prefetched: fpbtree.prefetch_method */
typedef enum FpbPrefetchMethod
{
	FPB_PREFETCH_AUTO,			/* advice where I/O is buffered */
	FPB_PREFETCH_AIO			/* the server's asynchronous I/O, where it has
								 * it */
} FpbPrefetchMethod;

extern int	fpb_prefetch_method;

extern void fpb_prefetch_init(void);

typedef struct FpbPrefetchCounts
{
	uint64		prefetched;		/* pages whose reads have been started */
	uint64		used;			/* of these, those come to since */
	uint64		wasted;			/* of these, those that will not be */
} FpbPrefetchCounts;

extern void fpb_prefetch_report(Relation index, bool heap,
								FpbPrefetchCounts *counts);
extern void fpb_prefetch_total(Relation index, bool heap,
							   FpbPrefetchCounts *counts);

/* ------------------------------------------------------------------------
 * a window of pages that are being read, none of them pinned (prefetch/window.c)
 * ------------------------------------------------------------------------
 */

/* a page announced */
typedef struct FpbWindowPage
{
	uint64		number;			/* the caller's */
	BlockNumber block;
	bool		started;		/* has its read been started by us? */
	bool		first;			/* is it of all pages of a read the one needed
								 * first? */
	int			run;			/* if so, where that read begins in missing */
} FpbWindowPage;

/* reads in flight, where the server has asynchronous ones */
typedef struct FpbWindowReads FpbWindowReads;

typedef struct FpbWindow
{
	Relation	rel;
	MemoryContext cxt;
	FpbWindowReads *reads;		/* NULL: the kernel is advised */
	BlockNumber nblocks;		/* of the relation, at least */
	int			max_reads;		/* that may be in flight */
	int			max_distance;	/* in pages; 0: no prefetch */
	int			distance;		/* what is wanted at present */
	int			min_distance;	/* what is wanted at least, except at first */
	int			nused;			/* pages that the caller has come to, or
								 * max_distance if there are more */
	bool		all_used;		/* will it come to all that it announces? */
	int			idle;			/* pages found cached since the last read */
	bool		to_the_end;		/* does the caller go on until there are no
								 * more? */
	BlockNumber nstarted;		/* pages whose reads have been started */
	Bitmapset  *around;			/* parts of the file advised as a whole */

	/* pages announced and not come to yet, oldest first: a ring */
	FpbWindowPage *queue;
	uint32		mask;			/* its size - 1 */
	uint32		head;
	uint32		tail;
	uint32		unstarted;		/* the last so many have not been looked at */
	int			nreads;			/* reads whose first page is in the queue */
	uint32	   *missing;		/* entries whose reads are being started, in
								 * the order of their blocks */

	FpbPrefetchCounts counts;
} FpbWindow;

extern void fpb_window_init(FpbWindow *window, MemoryContext cxt, Relation rel,
							int distance);
extern void fpb_window_expect(FpbWindow *window, bool all_used);
extern void fpb_window_start(FpbWindow *window);
extern void fpb_window_serve(FpbWindow *window);
extern bool fpb_window_reach(FpbWindow *window, BlockNumber block, bool shared);
extern void fpb_window_pass(FpbWindow *window, uint64 number);
extern void fpb_window_reset(FpbWindow *window, int nused);
extern void fpb_window_end(FpbWindow *window);

static inline uint32
fpb_window_length(const FpbWindow *window)
{
	return window->tail - window->head;
}

/*
 * How many pages may the window have?  If the caller may stop at any time, no
 * more than it has come to, so that at most half of what is read is in vain.
 */
static inline int
fpb_window_goal(const FpbWindow *window)
{
	return window->all_used ? window->distance : Min(window->distance, window->nused);
}

/*
 * Has the window become so short that it should be filled up?  Not with every
 * page, as several reads can be submitted at the price of one.
 */
static inline bool
fpb_window_due(const FpbWindow *window)
{
	return (int) fpb_window_length(window) <= fpb_window_goal(window) * 3 / 4 &&
		window->nreads <= window->max_reads * 3 / 4;
}

/*
 * May another page be announced?
 */
static inline bool
fpb_window_wants(const FpbWindow *window)
{
	return (int) fpb_window_length(window) < fpb_window_goal(window) &&
		window->nreads < window->max_reads;
}

/*
 * The n'th page of the window, from 0 on, or InvalidBlockNumber.
 */
static inline BlockNumber
fpb_window_block(const FpbWindow *window, uint32 n)
{
	if (n >= fpb_window_length(window))
		return InvalidBlockNumber;
	return window->queue[(window->head + n) & window->mask].block;
}

/*
 * Is it the kernel that is advised, rather than a read started?
 */
static inline bool
fpb_window_is_advice(const FpbWindow *window)
{
	return window->max_distance > 0 && window->reads == NULL;
}

extern bool fpb_window_at_hand(Relation rel, BlockNumber block);
extern bool fpb_window_read_aside(Relation rel, BlockNumber block, Page page);
extern void fpb_window_add(FpbWindow *window, BlockNumber block, uint64 number);

/* ------------------------------------------------------------------------
 * the internal jump-pointer array (prefetch/jump_pointers.c)
 * ------------------------------------------------------------------------
 */

/*
 * A walk over the pages of a level, in key order, that sees only the pages
 * above: the entries of these name them, and tell their fences.
 */
typedef struct FpbWalk
{
	FpbIndex   *ix;
	MemoryContext cxt;			/* lives as long as the walk */
	int			level;			/* of the pages that are read, at least 1 */
	int			turn;			/* which copy is the current one */
	PGAlignedBlock *copies;		/* two: the current page, and the last one */
	BlockNumber block;			/* of the current page */
	FpbPos		pos;			/* of the child at hand in it */
	FpbEntry	child;			/* the child at hand */
} FpbWalk;

extern void fpb_walk_init(FpbWalk *walk, MemoryContext cxt, FpbIndex *ix,
						  int level);
extern void fpb_walk_end(FpbWalk *walk);
extern bool fpb_walk_seek(FpbWalk *walk, FpbSearchKey *search, bool before);
extern bool fpb_walk_seek_edge(FpbWalk *walk, bool rightmost);
extern bool fpb_walk_step(FpbWalk *walk, bool forward);
extern bool fpb_walk_high(const FpbWalk *walk, FpbKey *key);
extern int	fpb_walk_compare_low(const FpbWalk *walk, const FpbSearchKey *search);
extern int	fpb_walk_compare_high(const FpbWalk *walk, const FpbSearchKey *search);

/* ------------------------------------------------------------------------
 * visits to leaves that entries are to be put into (prefetch/visits.c)
 * ------------------------------------------------------------------------
 */
typedef struct FpbVisit
{
	int			first;			/* the first of the entries */
	int			nentries;
	BlockNumber leaf;			/* as the level above names it, or
								 * InvalidBlockNumber */
} FpbVisit;

extern int	fpb_find_visits(FpbWalk *walk, const FpbEntry *entries, int n, FpbVisit *visits);
extern void fpb_announce_visits(FpbWindow *window, const FpbVisit *visits, int nvisits, int at,
								int *announced);

#endif							/* FPB_PREFETCH_PREFETCH_H */
