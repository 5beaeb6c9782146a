/*-------------------------------------------------------------------------
 *
 * build/sort_state.h
 *	  A sort of word keys: what its files share among themselves.
 *
 *-------------------------------------------------------------------------
 */
#ifndef FPB_BUILD_SORT_STATE_H
#define FPB_BUILD_SORT_STATE_H

#include "port/atomics.h"
#include "storage/buffile.h"
#include "storage/sharedfileset.h"

#include "build/sort.h"

/* most words in a record */
#define FPB_SORT_MAX_WORDS	3

/* an array has room for as many records at least */
#define FPB_SORT_MIN_RECORDS	1024

/* fewer records than this are sorted by comparisons */
#define FPB_RADIX_MIN		256

/* records handled between two looks at interrupts */
#define FPB_SORT_STRIDE		(1 << 18)

/*
 * A sorted run: a file, or the array in memory.
 */
typedef struct FpbRun
{
	BufFile    *file;			/* NULL: records are all in memory */
	int			id;				/* names the file, if it is shared */
	int			generation;		/* how often its records have been merged */
	int64		nrecs;			/* records not yet read from the file */
	uint64	   *cur;			/* the next record, valid if cur < end */
	uint64	   *end;
	uint64	   *buffer;			/* where records are read to */
	Size		bufrecs;		/* records it has room for */
} FpbRun;

/*
 * A node of the tree of losers: the run that lost the match there, and the
 * first word of its current record.
 */
typedef struct FpbLoser
{
	uint64		head;
	int			run;			/* -1: no match yet */
} FpbLoser;

/*
 * What the participants of a parallel build share of a sort of word keys.  (Of
 * tuples, the shared memory is tuplesort's own.)
 */
struct FpbSortShared
{
	SharedFileSet fileset;
	pg_atomic_uint32 nparticipants; /* that have begun */
	int			nfiles[FLEXIBLE_ARRAY_MEMBER];	/* that each has created; some
												 * may have been deleted */
};

/* A sort of tuple keys (build/tuple_sort.c). */
typedef struct FpbTupleSort FpbTupleSort;

struct FpbSort
{
	const FpbIndex *ix;
	MemoryContext cxt;			/* all the sort's memory */

	FpbTupleSort *tuples;		/* the sort of tuple keys, or NULL */

	/* word forms */
	int			nwords;			/* of a record */
	Size		recsize;		/* in bytes */
	Size		memory;			/* bytes it may use, both arrays together */
	uint64	   *recs;			/* records collected */
	Size		nrecs;
	Size		maxrecs;		/* records the array has room for */
	Size		limit;			/* records the array may grow to */
	double		expected;		/* records likely to come */
	bool		presorted;		/* are they in order as they came? */
	uint64	   *scratch;		/* the other array; merge buffers */
	Size		scratch_size;	/* its bytes */

	FpbRun	   *runs;
	int			nruns;
	int			maxruns;		/* the array has room for */
	int			merge_runs;		/* of a generation that are merged into one */

	/* reading the result */
	bool		merging;		/* through the tree, or from the array? */
	bool		started;		/* has a record been returned? */
	Size		next;			/* in the array */
	FpbLoser   *losers;			/* losers[0] is the winner */

	/* parallel build */
	FpbSortShared *shared;
	int			participant;	/* number of this worker sort, or -1 */
	int			nparticipants;	/* a leader's sort: whose runs to merge */
	int			nfiles;			/* of a worker: run files created */
};

/*
 * sign(a - b) from word "first" on
 */
static pg_attribute_always_inline int
fpb_rec_compare(const uint64 *a, const uint64 *b, int first, int nwords)
{
	for (int i = first; i < nwords; i++)
	{
		if (a[i] != b[i])
			return a[i] < b[i] ? -1 : 1;
	}
	return 0;
}

/* build/radix_sort.c */
extern void fpb_sort_few(uint64 *recs, Size n, int nwords);
extern uint64 *fpb_radix_sort(uint64 *recs, uint64 *scratch, Size n, int nwords);

/* build/sort_memory.c */
extern uint64 *fpb_sort_alloc(MemoryContext cxt, Size size);
extern bool fpb_sort_make_room(FpbSort *sort);
extern void fpb_sort_need_scratch(FpbSort *sort, Size size);
extern void fpb_sort_memory(FpbSort *sort);

/* build/merge_runs.c */
extern void fpb_merge_begin(FpbSort *sort, int first, int nruns);
extern uint64 *fpb_merge_next(FpbSort *sort, int first, int nruns);
extern void fpb_merge_end(FpbSort *sort);

/* build/spill_runs.c */
extern FpbRun *fpb_add_run(FpbSort *sort);
extern void fpb_spill(FpbSort *sort);
extern void fpb_publish_runs(FpbSort *sort);
extern void fpb_take_runs(FpbSort *sort);

/*
 * build/tuple_memory.c: a sort of tuples, each behind its head of eight bytes.
 * A comparator gets two of them.
 */
typedef struct FpbTupleMemory FpbTupleMemory;
typedef int (*FpbTupleComparator) (const char *a, const char *b, void *arg);
extern FpbTupleMemory *fpb_tuple_memory_begin(const FpbIndex *ix, Size size, double expected,
											  FpbTupleComparator compare, void *arg);
extern bool fpb_tuple_memory_put(FpbTupleMemory *memory, uint64 head, IndexTuple tuple);
extern void fpb_tuple_memory_sort(FpbTupleMemory *memory);
extern char *fpb_tuple_memory_next(FpbTupleMemory *memory);
extern void fpb_tuple_memory_end(FpbTupleMemory *memory);

/* build/tuple_sort.c */
extern FpbTupleSort *fpb_tuplesort_begin(const FpbIndex *ix, int workMem, double expected,
										 FpbSortShared *shared, int nparticipants);
extern const FpbIndex *fpb_tuplesort_index(const FpbTupleSort *sort);
extern void fpb_tuplesort_put(FpbTupleSort *sort, const FpbKey *key);
extern void fpb_tuplesort_perform(FpbTupleSort *sort);
extern bool fpb_tuplesort_get(FpbTupleSort *sort, FpbKey *key);
extern void fpb_tuplesort_end(FpbTupleSort *sort);

#endif							/* FPB_BUILD_SORT_STATE_H */
