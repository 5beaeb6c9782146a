/*-------------------------------------------------------------------------
 *
 * fpb_shared.h
 *	  What the backends of a server share about each index, and about the
 *	  workers that move entries of operation queues (fpb_shared.c).
 *
 *-------------------------------------------------------------------------
 */
#ifndef FPB_SHARED_H
#define FPB_SHARED_H

#include "port/atomics.h"

/* counts of index pages, and of heap pages */
#define FPB_SHARED_KINDS	2

/* does an index need the worker? */
typedef enum FpbWanted
{
	FPB_UNWANTED = 0,
	FPB_WANTED,					/* entries have come to its queue since the
								 * worker has looked last */
	FPB_KEPT					/* none have, but it is not done with it */
} FpbWanted;

typedef struct FpbShared
{
	Oid			database;		/* not changed once index is set */
	pg_atomic_uint32 index;		/* InvalidOid: free */

	/* pages read ahead by scans */
	pg_atomic_uint64 prefetched[FPB_SHARED_KINDS];
	pg_atomic_uint64 used[FPB_SHARED_KINDS];
	pg_atomic_uint64 wasted[FPB_SHARED_KINDS];

	/* the operation queue */
	pg_atomic_uint64 visits;	/* to main leaves, to which entries have moved */
	pg_atomic_uint64 moved;		/* so many entries */
	pg_atomic_uint64 stalls;	/* insertions that came to a full queue */
	pg_atomic_uint64 longest_stall; /* of these, in microseconds */
	pg_atomic_uint64 redo;		/* where recovery would have begun at the last
								 * visit; 0: there has been none */
	pg_atomic_uint32 checkpoints;	/* how often that has changed */
	pg_atomic_uint64 moved_first;	/* moved, when it changed first */
	pg_atomic_uint64 moved_last;	/* and last */
	pg_atomic_uint32 flusher;	/* the process that is flushing it; 0: none */
	pg_atomic_uint64 flush_pages;	/* of the queue, when that began */
	pg_atomic_uint64 flush_done;	/* leaves of it that have been emptied */
	pg_atomic_uint64 flush_moved;	/* entries that have moved from there */
	pg_atomic_uint32 wanted;	/* is a worker to see to it?  FpbWanted */
	pg_atomic_uint64 counted_queue; /* the mark of its queue, if all entries
									 * there have been counted (fpb_filter.c) */
} FpbShared;

/* how a worker has ended */
typedef enum FpbWorkerEnd
{
	FPB_WORKER_DONE,
	FPB_WORKER_REFUSED,			/* it could not be started */
	FPB_WORKER_FAILED
} FpbWorkerEnd;

extern FpbShared *fpb_shared_of(Oid index);
extern FpbShared *fpb_shared_next(int *position);
extern void fpb_shared_count_visit(FpbShared *shared, int moved);
extern double fpb_shared_checkpoint_moved(FpbShared *shared);
extern pg_atomic_uint32 *fpb_shared_counters(uint32 *mask);
extern Oid	fpb_shared_next_wanted(int *position);

/* the worker of a database */
extern bool fpb_shared_worker_claim(void);
extern bool fpb_shared_worker_enter(void);
extern void fpb_shared_worker_leave(FpbWorkerEnd how);

#endif							/* FPB_SHARED_H */
