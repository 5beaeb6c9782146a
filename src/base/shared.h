/*-------------------------------------------------------------------------
 *
 * base/shared.h
 *	  What the backends of a server share about each index (base/shared.c,
 *	  base/failures.c), and about the workers that move entries out of
 *	  operation queues (base/requests.c, base/workers.c).
 *
 *-------------------------------------------------------------------------
 */
#ifndef FPB_BASE_SHARED_H
#define FPB_BASE_SHARED_H

#include "datatype/timestamp.h"
#include "port/atomics.h"
#include "storage/block.h"

#include "base/page_header.h"

/* pages are counted by kind: index pages, and heap pages */
#define FPB_SHARED_KINDS	2

/* is the worker requested for an index? */
typedef enum FpbRequestState
{
	FPB_NOT_REQUESTED = 0,
	FPB_REQUESTED,				/* entries have come to its queue since the
								 * worker took the last request */
	FPB_REQUEST_TAKEN			/* none have, but the worker is not done */
} FpbRequestState;

/* a main leaf to which no entries could be moved */
typedef struct FpbFailedLeaf
{
	BlockNumber leaf;			/* InvalidBlockNumber: the place is free */
	uint32		failures;		/* in succession */
	TimestampTz retry_at;		/* nobody tries before */
} FpbFailedLeaf;

/* nobody has looked since the server was started */
#define FPB_PAGES_UNKNOWN	PG_UINT32_MAX

/* what is shared of a tier of an operation queue */
typedef struct FpbSharedTier
{
	pg_atomic_uint32 pages;		/* as last seen; or FPB_PAGES_UNKNOWN, and
								 * then the entries are unknown, too */
	pg_atomic_uint64 entries;	/* put there, less those taken out, since the
								 * tier was made or its entries were noted */
	pg_atomic_uint64 visits;	/* to its leaves, to move entries there from
								 * the tier before it */
	pg_atomic_uint64 moved;		/* entries moved by these visits */
} FpbSharedTier;

/* how many failed leaves of an index are remembered */
#define FPB_FAILED_LEAVES	4

/*
 * What is shared of one index.  A process that has found it by fpb_shared_of
 * may use it as long as it has the index locked.  What lookups read comes
 * first, then what is seldom changed, so that counting does not take these out
 * of other processors' caches.
 */
typedef struct FpbShared
{
	pg_atomic_uint64 key;		/* database and index (base/shared.c) */
	pg_atomic_uint64 noted[FPB_TIERS];	/* the mark of each tier of its queue,
										 * if all entries there have been
										 * noted (queue/filter.c) */
	pg_atomic_uint32 request;	/* of a worker: FpbRequestState */
	pg_atomic_uint32 working;	/* is the worker seeing to it? */

	/* what has gone wrong with it; changed with the table locked */
	pg_atomic_uint32 failures;	/* of the worker, in succession */
	pg_atomic_uint32 error;		/* SQLSTATE of the last one; 0: none so far */
	pg_atomic_uint64 error_at;	/* when that was, a TimestampTz */
	pg_atomic_uint64 retry_at;	/* the worker does not try before */
	FpbFailedLeaf failed[FPB_FAILED_LEAVES];
	pg_atomic_uint32 nfailed;	/* how many of these are leaves */

	/* the operation queue */
	FpbSharedTier tiers[FPB_TIERS];
	pg_atomic_uint64 visits;	/* to main leaves, to move entries there */
	pg_atomic_uint64 moved;		/* entries moved by these visits */
	pg_atomic_uint64 stalls;	/* insertions that found the queue full */
	pg_atomic_uint64 longest_stall; /* of these, in microseconds */
	pg_atomic_uint64 redo;		/* where recovery would have begun at the last
								 * visit; 0: there has been none */
	pg_atomic_uint32 checkpoints;	/* how often that has changed */
	pg_atomic_uint64 moved_first;	/* "moved" when it changed first */
	pg_atomic_uint64 moved_last;	/* and last */
	pg_atomic_uint32 window;	/* of the memory that queues share
								 * (base/queue_memory.c): the window that
								 * these are of: */
	pg_atomic_uint64 queued;	/* entries that have come to the queue, */
	pg_atomic_uint64 queued_before; /* and in the window before */
	pg_atomic_uint32 nblocks;	/* pages of the index when one came last */
	pg_atomic_uint64 weight;	/* when weights were added up last */
	pg_atomic_uint32 flusher;	/* the process that is flushing it; 0: none */
	pg_atomic_uint64 flush_pages;	/* pages of the queue when that began */
	pg_atomic_uint64 flush_done;	/* leaves of the queue emptied since */
	pg_atomic_uint64 flush_moved;	/* entries moved since */

	/* pages prefetched by scans */
	pg_atomic_uint64 prefetched[FPB_SHARED_KINDS];
	pg_atomic_uint64 used[FPB_SHARED_KINDS];
	pg_atomic_uint64 wasted[FPB_SHARED_KINDS];
} FpbShared;

/* the words where entries of a tier are noted */
typedef struct FpbWords
{
	pg_atomic_uint64 *at;		/* NULL: there are none */
	uint64		n;
	pg_atomic_uint64 *generation;	/* goes up when they are cleared */
} FpbWords;

/*
 * Are words being cleared in this generation?
 */
static inline bool
fpb_is_clearing(uint64 generation)
{
	return generation % 2 != 0;
}

/* an index that the worker is to see to */
typedef struct FpbRequest
{
	FpbShared  *shared;			/* may be another index's by now */
	uint64		key;			/* of this one */
	Oid			index;
} FpbRequest;

/* how a worker has ended */
typedef enum FpbWorkerEnd
{
	FPB_WORKER_DONE,
	FPB_WORKER_REFUSED,			/* it could not be started */
	FPB_WORKER_FAILED
} FpbWorkerEnd;

/* has a failed leaf been noted? */
typedef enum FpbNoted
{
	FPB_NOT_NOTED,				/* there are too many, or nobody knows which
								 * leaf it is */
	FPB_NOTED,
	FPB_NOTED_AGAIN				/* it was a failed one already */
} FpbNoted;

extern void fpb_shared_init(void);
extern FpbShared *fpb_shared_of(Oid index);
extern FpbShared *fpb_shared_next(int *position, Oid *index);
extern FpbSharedTier *fpb_shared_tier(FpbShared *shared, int tier);
extern uint32 fpb_shared_queue_pages(FpbShared *shared, int64 *entries);
extern void fpb_shared_count_move(FpbShared *shared, int from, int to, int moved);
extern uint64 fpb_shared_noted_entries(int tier);
extern double fpb_shared_checkpoint_moved(FpbShared *shared);

/* where entries of queues are noted (base/filter_words.c) */
extern bool fpb_shared_words(int tier, bool make, FpbWords *words);
extern bool fpb_shared_lock_words(const FpbWords *words, uint64 generation);
extern void fpb_shared_unlock_words(void);
extern void fpb_shared_clear_words(const FpbWords *words);

/* requests to the worker (base/requests.c) */
extern void fpb_shared_request(FpbShared *shared);
extern bool fpb_shared_next_request(int *position, FpbRequest *request);
extern bool fpb_shared_take_request(const FpbRequest *request);
extern void fpb_shared_end_request(const FpbRequest *request);
extern void fpb_shared_keep_requests(void);

/* what has gone wrong (base/failures.c) */
extern TimestampTz fpb_shared_retry_at(const FpbRequest *request);
extern void fpb_shared_failed(const FpbRequest *request, int sqlstate);
extern void fpb_shared_succeeded(const FpbRequest *request);
extern FpbNoted fpb_shared_note_failed_leaf(FpbShared *shared, BlockNumber leaf);
extern void fpb_shared_forget_failed_leaf(FpbShared *shared, BlockNumber leaf);
extern void fpb_shared_forget_failed_leaves(FpbShared *shared);
extern bool fpb_shared_is_failed_leaf(FpbShared *shared, BlockNumber leaf);
extern int	fpb_shared_failed_leaves(FpbShared *shared, BlockNumber *leaves);

/* the worker of a database (base/workers.c) */
extern bool fpb_shared_worker_missing(void);
extern bool fpb_shared_worker_claim(void);
extern bool fpb_shared_worker_connect(Oid database);
extern bool fpb_shared_worker_enter(bool *look_over);
extern void fpb_shared_worker_looked_over(void);
extern void fpb_shared_worker_leave(FpbWorkerEnd how);

#endif							/* FPB_BASE_SHARED_H */
