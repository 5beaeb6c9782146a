/*-------------------------------------------------------------------------
 *
 * base/shared.h
 *	  What the backends of a server share about each index, and about the
 *	  workers that move entries of operation queues (base/shared.c).
 *
 *-------------------------------------------------------------------------
 */
#ifndef FPB_BASE_SHARED_H
#define FPB_BASE_SHARED_H

#include "datatype/timestamp.h"
#include "port/atomics.h"
#include "storage/block.h"

/* counts of index pages, and of heap pages */
#define FPB_SHARED_KINDS	2

/* does an index need the worker? */
typedef enum FpbRequestState
{
	FPB_NOT_REQUESTED = 0,
	FPB_REQUESTED,				/* entries have come to its queue since the
								 * worker has looked last */
	FPB_REQUEST_TAKEN			/* none have, but it is not done with it */
} FpbRequestState;

/* a main leaf to which no entries could be moved */
typedef struct FpbFailedLeaf
{
	BlockNumber leaf;			/* InvalidBlockNumber: none */
	uint32		failures;		/* in succession */
	TimestampTz retry_at;		/* nobody tries before */
} FpbFailedLeaf;

/* nobody has looked since the server was started */
#define FPB_PAGES_UNKNOWN	PG_UINT32_MAX

/* of so many leaves that is kept in mind */
#define FPB_FAILED_LEAVES	4

/*
 * A process that has found it by fpb_shared_of may use it as long as it has
 * the index locked.  What lookups read comes first, then what is seldom
 * changed, so that counting does not take it from processors' caches.
 */
typedef struct FpbShared
{
	pg_atomic_uint64 key;		/* database and index (base/shared.c) */
	pg_atomic_uint64 counted_queue; /* the mark of its queue, if all entries
									 * there have been counted
									 * (queue/filter.c) */
	pg_atomic_uint32 wanted;	/* is a worker to see to it?  FpbRequestState */
	pg_atomic_uint32 working;	/* does it? */

	/* what has gone wrong with it; changed with the table locked */
	pg_atomic_uint32 failures;	/* of the worker, in succession */
	pg_atomic_uint32 error;		/* the last one's SQLSTATE; 0: there has been
								 * none */
	pg_atomic_uint64 error_at;	/* when that was, a TimestampTz */
	pg_atomic_uint64 retry_at;	/* the worker does not try before */
	FpbFailedLeaf failed[FPB_FAILED_LEAVES];
	pg_atomic_uint32 nfailed;	/* so many leaves are there */

	/* the operation queue */
	pg_atomic_uint32 queue_pages;	/* as last seen, or FPB_PAGES_UNKNOWN:
									 * then so are the entries */
	pg_atomic_uint64 queue_entries; /* put there, less those taken out, since
									 * the queue was made or counted */
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

	/* pages read ahead by scans */
	pg_atomic_uint64 prefetched[FPB_SHARED_KINDS];
	pg_atomic_uint64 used[FPB_SHARED_KINDS];
	pg_atomic_uint64 wasted[FPB_SHARED_KINDS];
} FpbShared;

/* an index that a worker is to see to */
typedef struct FpbRequest
{
	FpbShared  *shared;			/* may be another's by now */
	uint64		key;
	Oid			index;
} FpbRequest;

/* how a worker has ended */
typedef enum FpbWorkerEnd
{
	FPB_WORKER_DONE,
	FPB_WORKER_REFUSED,			/* it could not be started */
	FPB_WORKER_FAILED
} FpbWorkerEnd;

/* has a leaf been noted to which no entries could be moved? */
typedef enum FpbNoted
{
	FPB_NOT_NOTED,				/* there are too many, or it is not known */
	FPB_NOTED,
	FPB_NOTED_AGAIN
} FpbNoted;

extern void fpb_shared_init(void);
extern FpbShared *fpb_shared_of(Oid index);
extern FpbShared *fpb_shared_next(int *position, Oid *index);
extern void fpb_shared_request(FpbShared *shared);
extern void fpb_shared_count_visit(FpbShared *shared, int moved);
extern double fpb_shared_checkpoint_moved(FpbShared *shared);
extern pg_atomic_uint32 *fpb_shared_counters(uint32 *mask);

/* what the worker is asked for */
extern bool fpb_shared_next_request(int *position, FpbRequest *request);
extern bool fpb_shared_take_request(const FpbRequest *request);
extern void fpb_shared_end_request(const FpbRequest *request);
extern void fpb_shared_keep_requests(void);

/* what has gone wrong */
extern TimestampTz fpb_shared_retry_at(const FpbRequest *request);
extern void fpb_shared_failed(const FpbRequest *request, int sqlstate);
extern void fpb_shared_succeeded(const FpbRequest *request);
extern FpbNoted fpb_shared_note_failed_leaf(FpbShared *shared, BlockNumber leaf);
extern void fpb_shared_forget_failed_leaf(FpbShared *shared, BlockNumber leaf);
extern void fpb_shared_forget_failed_leaves(FpbShared *shared);
extern bool fpb_shared_is_failed_leaf(FpbShared *shared, BlockNumber leaf);
extern int	fpb_shared_failed_leaves(FpbShared *shared, BlockNumber *leaves);

/* the worker of a database */
extern bool fpb_shared_worker_missing(void);
extern bool fpb_shared_worker_claim(void);
extern bool fpb_shared_worker_connect(Oid database);
extern bool fpb_shared_worker_enter(bool *look_over);
extern void fpb_shared_worker_looked_over(void);
extern void fpb_shared_worker_leave(FpbWorkerEnd how);

#endif							/* FPB_BASE_SHARED_H */
