/*-------------------------------------------------------------------------
 *
 * base/shared_table.h
 *	  The table in shared memory, for the files of base/ that keep something
 *	  in it: shared.c, queue_memory.c, requests.c, failures.c and workers.c.
 *
 *-------------------------------------------------------------------------
 */
#ifndef FPB_BASE_SHARED_TABLE_H
#define FPB_BASE_SHARED_TABLE_H

#include "datatype/timestamp.h"
#include "miscadmin.h"
#include "port/atomics.h"
#include "storage/dsm.h"
#include "storage/lwlock.h"

#include "base/shared.h"

/* how many databases can have a worker, one each */
#define FPB_MAX_WORKERS		64

/* how far a database has come to have a worker */
typedef enum FpbWorkerPhase
{
	FPB_PHASE_NONE,
	FPB_PHASE_CLAIMED,			/* somebody is about to start one */
	FPB_PHASE_RUNNING
} FpbWorkerPhase;

/* the worker of a database */
typedef struct FpbSharedWorker
{
	Oid			database;		/* InvalidOid: free */
	Oid			tablespace;		/* of the database; InvalidOid: not known yet */
	FpbWorkerPhase phase;
	bool		connecting;		/* a worker has begun to connect to the
								 * database, and has not succeeded yet */
	bool		looked_over;	/* has a worker looked which indexes have
								 * queues, since the server was started? */
	TimestampTz next_try;		/* none is started before */
} FpbSharedWorker;

/* are there words in a segment of their own (base/filter_words.c)? */
typedef enum FpbWordsState
{
	FPB_WORDS_NONE,
	FPB_WORDS_READY,
	FPB_WORDS_REFUSED			/* there is no memory for them */
} FpbWordsState;

/* words where entries of some tiers are noted (base/filter_words.c) */
typedef struct FpbFilterWords
{
	pg_atomic_uint32 state;		/* FpbWordsState; changed with the table
								 * locked, and never back */
	dsm_handle	segment;
	uint64		nwords;
	pg_atomic_uint64 generation;	/* goes up when they are cleared; odd
									 * while they are. To become odd, it is
									 * changed with the words locked. */
} FpbFilterWords;

/*
 * The table.  Its lock protects the set of indexes, the workers, and whatever
 * FpbShared says is changed with the table locked.
 */
typedef struct FpbSharedTable
{
	uint32		version;		/* FPB_SHARED_VERSION */
	LWLock		lock;
	LWLock		words_lock;		/* held while notes are erased: share */
	int			tranche;
	uint32		nslots;			/* a power of two */
	uint32		max_indexes;	/* the most that may be in use */
	pg_atomic_uint32 nindexes;	/* how many are in use */
	uint32		nbusy;			/* these, and those that a search passes */
	pg_atomic_uint64 next_sweep;	/* a TimestampTz */
	pg_atomic_uint32 window;	/* of the memory that queues share
								 * (base/queue_memory.c) */
	pg_atomic_uint64 queued;	/* entries that have come to queues in it */
	pg_atomic_uint64 weights;	/* of all indexes when it began, */
	pg_atomic_uint64 recent;	/* and entries that had come lately */
	FpbSharedWorker workers[FPB_MAX_WORKERS];
	FpbFilterWords lower_words; /* of tiers that are larger than memory */
	FpbFilterWords first_words; /* of tier 1: these, always READY */
	pg_atomic_uint64 words[FLEXIBLE_ARRAY_MEMBER];
} FpbSharedTable;

/*
 * The version of the structs above and of FpbShared.  Two versions of the
 * library may be in use after an upgrade, until the server is restarted.
 */
#define FPB_SHARED_VERSION	5

extern FpbSharedTable *fpb_shared_table;

/*
 * The key of an index of this database.
 */
static inline uint64
fpb_shared_key(Oid index)
{
	return (uint64) MyDatabaseId << 32 | index;
}

extern bool fpb_shared_attach(void);
extern FpbShared *fpb_shared_slot(uint32 i);
extern uint64 fpb_shared_nwords(uint64 buffer_bytes);
extern void fpb_shared_init_words(pg_atomic_uint64 *words, uint64 nwords);
extern bool fpb_shared_lock_request(const FpbRequest *request, LWLockMode mode);
extern TimestampTz fpb_shared_retry_time(uint32 failures);

#endif							/* FPB_BASE_SHARED_TABLE_H */
