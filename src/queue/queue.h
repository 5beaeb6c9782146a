/*-------------------------------------------------------------------------
 *
 * queue/queue.h
 *	  The operation queue: its tree, and how entries move to the main tree.
 *
 *-------------------------------------------------------------------------
 */
#ifndef FPB_QUEUE_QUEUE_H
#define FPB_QUEUE_QUEUE_H

#include "base/shared.h"
#include "queue/filter.h"
#include "tree/tree.h"

/*
 * The tree of a tier (queue/queue.c).  "queue" is the index as
 * fpb_index_of_tier makes it.
 *
 * begin: make the tier, unless there is one.  trim: take its empty pages out
 * of it; if it has no entry left and nobody looks at it, remove it.
 * remove_leaf: take out a leaf, if it is empty and somebody else is not taking
 * pages out; returns whether it has been.  note: note the entries of a tier
 * that this server has not filled itself.
 */
extern void fpb_queue_begin(FpbIndex *queue);
extern void fpb_queue_trim(FpbIndex *queue, bool wait);
extern bool fpb_queue_remove_leaf(FpbIndex *queue, BlockNumber leaf);
extern void fpb_queue_note(FpbIndex *queue);
extern uint32 fpb_tier_pages(const FpbIndex *ix, int tier, XLogRecPtr *lsn);
extern uint32 fpb_queue_pages(const FpbIndex *ix);
extern bool fpb_may_have_tier(const FpbIndex *ix, int tier);

/*
 * A way that entries move: from a tier of the queue to the next one, or to the
 * main tree.
 */
typedef struct FpbWay
{
	FpbIndex   *ix;				/* the tree that they move to, */
	FpbFilter	filter;			/* where they are noted there; unused if it is
								 * the main tree */
	FpbIndex   *queue;			/* and the tier that they come from, */
	FpbFilter	from_filter;	/* where they have been noted */
	Relation	heap;
} FpbWay;

/*
 * Move what the tier has for a leaf into it (queue/move.c).
 */
#define FPB_MOVE_AGAIN	(-1)	/* nothing was done: a page had to be read */
#define FPB_MOVE_FULL	(-2)	/* nothing was done: the leaf is of a tier
								 * that is full */
extern int	fpb_move_entries(FpbWay *way, Buffer buf, FpbStack *stack, FpbSearchKey *place,
							 const FpbKey *last, bool noted, bool *more);

/*
 * A drain (queue/drain.c) moves what waits in a tier of the queue.  It takes
 * the entries of a leaf there, and visits the leaves that they move to.
 */
typedef struct FpbDrain FpbDrain;
typedef enum FpbMoved
{
	FPB_MOVE_ALL,				/* all entries taken */
	FPB_MOVE_SHARE,				/* a third, with as few visits as possible */
	FPB_MOVE_LARGEST			/* those for one leaf, which has most */
} FpbMoved;
extern int64 fpb_drain_queue(FpbIndex *ix, Relation heap, FpbShared *progress);
extern void fpb_drain_make_room(FpbIndex *ix, Relation heap,
								FpbSearchKey *place);
extern FpbDrain *fpb_drain_begin(FpbIndex *ix, Relation heap, int tier,
								 bool emptying, bool leave_failed);
extern FpbIndex *fpb_drain_tree(FpbDrain *drain);
extern int	fpb_drain_take(FpbDrain *drain, Page page);
extern int	fpb_drain_fullness(const FpbDrain *drain);
extern bool fpb_drain_has_left(const FpbDrain *drain);
extern void fpb_drain_forget_failure(void);
extern FpbNoted fpb_drain_failure(BlockNumber *leaf);
extern void fpb_drain_move(FpbDrain *drain, FpbMoved which);
extern int64 fpb_drain_end(FpbDrain *drain);

/* Request the worker for the index's queue (queue/worker.c). */
extern void fpb_worker_init(void);
extern void fpb_worker_request(Relation index);
extern PGDLLEXPORT void fpb_worker_main(Datum database);

extern int	fpb_worker_countdown;
extern void fpb_worker_look(void);

/*
 * A scan or an insertion begins.  The first of a process, and one now and
 * then, looks whether there are queues without a worker.
 */
static inline void
fpb_worker_note_use(void)
{
	if (unlikely(--fpb_worker_countdown < 0))
		fpb_worker_look();
}

#endif							/* FPB_QUEUE_QUEUE_H */
