/*-------------------------------------------------------------------------
 *
 * queue/queue.h
 *	  The operation queue: its tree, and how entries move to the main one.
 *
 *-------------------------------------------------------------------------
 */
#ifndef FPB_QUEUE_QUEUE_H
#define FPB_QUEUE_QUEUE_H

#include "base/shared.h"
#include "queue/filter.h"
#include "tree/tree.h"

/*
 * The operation queue: a tree of its own, for entries on their way to the main
 * one (queue/queue.c).  "queue" is the index as fpb_index_of_queue makes it.
 *
 * begin: make one, unless there is one.  trim: take its empty pages out of it,
 * and itself away if there is nothing in it and nobody looks at it.
 */
extern void fpb_queue_begin(FpbIndex *queue);
extern void fpb_queue_trim(FpbIndex *queue);
extern void fpb_queue_count(FpbIndex *queue);
extern uint32 fpb_queue_pages(const FpbIndex *ix, XLogRecPtr *lsn);

/*
 * Move what the queue has for a main leaf into it (queue/move.c).
 */
extern int	fpb_move_entries(FpbIndex *ix, Relation heap, Buffer buf,
							 FpbStack *stack, const FpbSearchKey *place,
							 const FpbFilter *counted, FpbKey *rest, bool *more);

/*
 * Batch update (queue/drain.c): moving what waits in the operation queue.  All
 * of it; some of what a full leaf has; or what is taken of some leaves.
 */
typedef struct FpbDrain FpbDrain;
typedef enum FpbMoved
{
	FPB_MOVE_ALL,				/* all that has been taken */
	FPB_MOVE_SHARE,				/* a third, by the visits worth most */
	FPB_MOVE_LARGEST			/* what there is for a single main leaf, that
								 * for which there is most */
} FpbMoved;
extern int64 fpb_drain_queue(FpbIndex *ix, Relation heap, FpbShared *progress);
extern void fpb_drain_make_room(FpbIndex *ix, Relation heap,
								const FpbSearchKey *place);
extern FpbDrain *fpb_drain_begin(FpbIndex *ix, Relation heap, bool leave_failed);
extern FpbIndex *fpb_drain_tree(FpbDrain *drain);
extern int	fpb_drain_take(FpbDrain *drain, Page page);
extern int	fpb_drain_fullness(const FpbDrain *drain);
extern bool fpb_drain_has_left(const FpbDrain *drain);
extern void fpb_drain_forget_failure(void);
extern FpbNoted fpb_drain_failure(BlockNumber *leaf);
extern void fpb_drain_move(FpbDrain *drain, FpbMoved which);
extern int64 fpb_drain_end(FpbDrain *drain);

/* Have a worker see to the index's queue (queue/worker.c). */
extern void fpb_worker_init(void);
extern void fpb_worker_request(Relation index);
extern PGDLLEXPORT void fpb_worker_main(Datum database);

extern int	fpb_worker_countdown;
extern void fpb_worker_look(void);

/*
 * A scan or an insertion begins: the first of a process, and one now and then,
 * looks if there are queues that nobody sees to.
 */
static inline void
fpb_worker_note_use(void)
{
	if (unlikely(--fpb_worker_countdown < 0))
		fpb_worker_look();
}

#endif							/* FPB_QUEUE_QUEUE_H */
