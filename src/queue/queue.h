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
 * The queue's tree (queue/queue.c).  "queue" is the index as
 * fpb_index_of_queue makes it.
 *
 * begin: make a queue, unless there is one.  trim: take its empty pages out of
 * it; if it has no entry left and nobody looks at it, remove it.  count: count
 * the entries of a queue that this server has not filled itself.
 */
extern void fpb_queue_begin(FpbIndex *queue);
extern void fpb_queue_trim(FpbIndex *queue);
extern void fpb_queue_count(FpbIndex *queue);
extern uint32 fpb_queue_pages(const FpbIndex *ix, XLogRecPtr *lsn);

/*
 * Move what the queue has for a main leaf into it (queue/move.c).
 */
extern int	fpb_move_entries(FpbIndex *ix, Relation heap, Buffer buf,
							 FpbStack *stack, FpbSearchKey *place, const FpbKey *last,
							 const FpbFilter *counted, bool *more);

/*
 * A drain (queue/drain.c) moves what waits in the queue to the main tree.  It
 * takes the entries of a leaf of the queue, and visits their main leaves.
 */
typedef struct FpbDrain FpbDrain;
typedef enum FpbMoved
{
	FPB_MOVE_ALL,				/* all entries taken */
	FPB_MOVE_SHARE,				/* a third, with as few visits as possible */
	FPB_MOVE_LARGEST			/* those for one main leaf, which has most */
} FpbMoved;
extern int64 fpb_drain_queue(FpbIndex *ix, Relation heap, FpbShared *progress);
extern void fpb_drain_make_room(FpbIndex *ix, Relation heap,
								FpbSearchKey *place);
extern FpbDrain *fpb_drain_begin(FpbIndex *ix, Relation heap, bool leave_failed);
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
