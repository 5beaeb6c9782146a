/*-------------------------------------------------------------------------
 *
 * fpb_prefetch.h
 *	  The prefetch layer: pages that will be needed soon, read ahead.
 *
 * All of it is advice.  A page that is read ahead and not needed, or needed
 * and not read ahead, costs time and nothing else: no search or scan takes
 * its way from what is found here.
 *
 *-------------------------------------------------------------------------
 */
#ifndef FPB_PREFETCH_H
#define FPB_PREFETCH_H

#include "fpbtree.h"

/* ------------------------------------------------------------------------
 * settings, and what has come of it (fpb_prefetch_stats.c)
 * ------------------------------------------------------------------------
 */
#define FPB_MAX_DISTANCE	1024	/* pages */

extern int	fpb_prefetch_distance;
extern int	fpb_heap_prefetch_distance;
extern int	fpb_pio_max;

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
 * a window of pages that are being read, none of them pinned (fpb_ahead.c)
 * ------------------------------------------------------------------------
 */

/* a page announced */
typedef struct FpbAheadPage
{
	uint64		number;			/* the caller's */
	BlockNumber block;
	bool		started;		/* has its read been started by us? */
	bool		first;			/* is it the first page of a read? */
} FpbAheadPage;

/* reads in flight, where the server has asynchronous ones */
typedef struct FpbReads FpbReads;

typedef struct FpbAhead
{
	Relation	rel;
	MemoryContext cxt;
	FpbReads   *reads;			/* NULL: the kernel is advised */
	BlockNumber nblocks;		/* of the relation, at least */
	int			max_reads;		/* that may be in flight */
	int			max_distance;	/* in pages; 0: don't read ahead */
	int			distance;		/* what is wanted at present */
	int			min_distance;	/* what is wanted at least, except at first */
	int			idle;			/* pages found cached since the last read */

	/* pages announced and not come to yet, oldest first: a ring */
	FpbAheadPage *queue;
	uint32		mask;			/* its size - 1 */
	uint32		head;
	uint32		tail;
	uint32		unstarted;		/* the last so many have not been looked at */
	int			nreads;			/* reads that begin in the queue */
	BlockNumber last;			/* announced last */

	FpbPrefetchCounts counts;
} FpbAhead;

extern void fpb_ahead_init(FpbAhead *ahead, MemoryContext cxt, Relation rel,
						   int distance);
extern void fpb_ahead_start(FpbAhead *ahead);
extern void fpb_ahead_serve(FpbAhead *ahead);
extern bool fpb_ahead_reach(FpbAhead *ahead, BlockNumber block, bool shared);
extern void fpb_ahead_pass(FpbAhead *ahead, uint64 number);
extern void fpb_ahead_reset(FpbAhead *ahead);
extern void fpb_ahead_end(FpbAhead *ahead);

static inline uint32
fpb_ahead_length(const FpbAhead *ahead)
{
	return ahead->tail - ahead->head;
}

/*
 * Has the window become so short that it should be filled up?  Not with every
 * page, as several reads can be submitted at the price of one.
 */
static inline bool
fpb_ahead_due(const FpbAhead *ahead)
{
	return fpb_ahead_length(ahead) <= ahead->distance * 3 / 4 &&
		ahead->nreads <= ahead->max_reads * 3 / 4;
}

/*
 * May another page be announced?
 */
static inline bool
fpb_ahead_wants(const FpbAhead *ahead)
{
	return (int) fpb_ahead_length(ahead) < ahead->distance &&
		ahead->nreads < ahead->max_reads;
}

/*
 * The n'th page of the window, from 0 on, or InvalidBlockNumber.
 */
static inline BlockNumber
fpb_ahead_block(const FpbAhead *ahead, uint32 n)
{
	if (n >= fpb_ahead_length(ahead))
		return InvalidBlockNumber;
	return ahead->queue[(ahead->head + n) & ahead->mask].block;
}

/*
 * Is it the kernel that is advised, rather than a read started?
 */
static inline bool
fpb_ahead_is_advice(const FpbAhead *ahead)
{
	return ahead->max_distance > 0 && ahead->reads == NULL;
}

extern bool fpb_ahead_at_hand(Relation rel, BlockNumber block);
extern bool fpb_ahead_read_aside(Relation rel, BlockNumber block, Page page);
extern void fpb_ahead_add(FpbAhead *ahead, BlockNumber block, uint64 number);

/* ------------------------------------------------------------------------
 * the internal jump-pointer array (fpb_walk.c)
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
extern bool fpb_walk_seek(FpbWalk *walk, const FpbProbe *probe, bool before);
extern bool fpb_walk_seek_edge(FpbWalk *walk, bool rightmost);
extern bool fpb_walk_step(FpbWalk *walk, bool forward);
extern bool fpb_walk_high(const FpbWalk *walk, FpbKey *key);
extern int	fpb_walk_compare_low(const FpbWalk *walk, const FpbProbe *probe);
extern int	fpb_walk_compare_high(const FpbWalk *walk, const FpbProbe *probe);

#endif							/* FPB_PREFETCH_H */
