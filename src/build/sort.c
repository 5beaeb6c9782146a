/*-------------------------------------------------------------------------
 *
 * build/sort.c
 *	  Sorting the entries of an index that is being built.
 *
 * Tuple keys are sorted in memory, or by the server's tuplesort
 * (build/tuple_sort.c).
 *
 * Word keys are sorted as records of two or three integers: (head, tail), or
 * (head, low, tail).  They are collected in memory (build/sort_memory.c) and
 * sorted there by a radix sort (build/radix_sort.c).  What does not fit is
 * written to temporary files, a sorted run each (build/spill_runs.c), and the
 * runs are merged while the result is read (build/merge_runs.c).
 *
 * In a parallel build each participant sorts what it has scanned into runs
 * ("worker" sorts); the leader's sort merges them.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "port/atomics.h"
#include "utils/memutils.h"
#include "utils/tuplesort.h"

#include "build/sort_state.h"

/* estimates of what comes may be too low by so much */
#define FPB_SORT_MARGIN		1.1

/*
 * As many runs of a size as are merged into one: what is left of the memory
 * must give each a buffer of a few disk pages.
 */
#define FPB_MERGE_MIN_RUNS	16
#define FPB_MERGE_RUN_MEM	(4 * BLCKSZ)

/*
 * Shared memory that a parallel sort by so many participants needs.
 */
Size
fpb_sort_estimate_shared(const FpbIndex *ix, int nparticipants)
{
	if (!fpb_is_word(ix))
		return tuplesort_estimate_shared(nparticipants);
	return add_size(offsetof(FpbSortShared, nfiles),
					mul_size(nparticipants, sizeof(int)));
}

/*
 * Initialise it; done by the leader before it launches workers.
 */
void
fpb_sort_initialize_shared(const FpbIndex *ix, FpbSortShared *shared,
						   int nparticipants, dsm_segment *seg)
{
	if (!fpb_is_word(ix))
	{
		tuplesort_initialize_shared((Sharedsort *) shared, nparticipants, seg);
		return;
	}
	SharedFileSetInit(&shared->fileset, seg);
	pg_atomic_init_u32(&shared->nparticipants, 0);
	memset(shared->nfiles, 0, nparticipants * sizeof(int));
}

/*
 * Attach to it in a worker process.
 */
void
fpb_sort_attach_shared(const FpbIndex *ix, FpbSortShared *shared,
					   dsm_segment *seg)
{
	if (!fpb_is_word(ix))
		tuplesort_attach_shared((Sharedsort *) shared, seg);
	else
		SharedFileSetAttach(&shared->fileset, seg);
}

/*
 * Begin a sort of entries of an index, which must outlive it.  workMem is in
 * kilobytes; expected is how many entries will probably be put in.
 *
 * shared NULL: all of the input comes from here.  Otherwise it is part of a
 * parallel sort: with nparticipants = 0 one of those that sort what they put
 * in, else the leader's, which gets what that many have sorted.
 */
FpbSort *
fpb_sort_begin(const FpbIndex *ix, int workMem, double expected,
			   FpbSortShared *shared, int nparticipants)
{
	MemoryContext cxt = AllocSetContextCreate(CurrentMemoryContext,
											  "fpbtree sort",
											  ALLOCSET_DEFAULT_SIZES);
	FpbSort    *sort = (FpbSort *) MemoryContextAllocZero(cxt, sizeof(FpbSort));

	sort->cxt = cxt;
	sort->ix = ix;
	sort->expected = Max(expected, 0) * FPB_SORT_MARGIN;

	if (!fpb_is_word(ix))
	{
		MemoryContext old = MemoryContextSwitchTo(cxt);

		sort->tuples = fpb_tuplesort_begin(ix, workMem, sort->expected, shared, nparticipants);
		MemoryContextSwitchTo(old);
		return sort;
	}

	sort->nwords = (ix->form == FPB_WORD16) ? 3 : 2;
	sort->recsize = sort->nwords * sizeof(uint64);
	sort->memory = (Size) workMem * 1024;
	sort->limit = Min(sort->memory, MaxAllocHugeSize) / 2 / sort->recsize;
	sort->limit = Max(sort->limit, FPB_SORT_MIN_RECORDS);
	sort->merge_runs = Min(sort->memory / FPB_MERGE_RUN_MEM, INT_MAX / 4);
	sort->merge_runs = Max(sort->merge_runs, FPB_MERGE_MIN_RUNS);
	sort->presorted = true;
	sort->maxruns = 16;
	sort->runs = (FpbRun *) MemoryContextAlloc(cxt,
											   sort->maxruns * sizeof(FpbRun));
	sort->shared = shared;
	sort->participant = -1;
	sort->nparticipants = nparticipants;
	if (shared && nparticipants == 0)
		sort->participant = pg_atomic_fetch_add_u32(&shared->nparticipants, 1);
	return sort;
}

/*
 * The index with heads as keys that are added have them: tuples, of eight
 * bytes.
 */
const FpbIndex *
fpb_sort_index(const FpbSort *sort)
{
	return sort->tuples ? fpb_tuplesort_index(sort->tuples) : sort->ix;
}

/*
 * Add an entry; its tuple is copied.
 */
void
fpb_sort_put(FpbSort *sort, const FpbKey *key)
{
	uint64	   *rec;

	if (sort->tuples)
	{
		fpb_tuplesort_put(sort->tuples, key);
		return;
	}

	if (sort->nrecs == sort->maxrecs && !fpb_sort_make_room(sort))
		fpb_spill(sort);

	rec = sort->recs + sort->nrecs * sort->nwords;
	rec[0] = key->head;
	if (sort->nwords == 2)
		rec[1] = key->tail;
	else
	{
		rec[1] = key->low;
		rec[2] = key->tail;
	}
	if (sort->presorted && sort->nrecs > 0 &&
		fpb_rec_compare(rec - sort->nwords, rec, 0, sort->nwords) > 0)
		sort->presorted = false;
	sort->nrecs++;
}

/*
 * All entries have been put in: sort them.  A worker's sort is then of no more
 * use here; of others, fpb_sort_get gives the result.
 */
void
fpb_sort_perform(FpbSort *sort)
{
	if (sort->tuples)
	{
		fpb_tuplesort_perform(sort->tuples);
		return;
	}
	if (sort->participant >= 0)
	{
		fpb_publish_runs(sort);
		return;
	}
	if (sort->nparticipants > 0)
		fpb_take_runs(sort);

	fpb_sort_memory(sort);
	sort->next = 0;
	if (sort->nruns == 0)
		return;

	/* What is in memory is a run, too. */
	if (sort->nrecs > 0)
	{
		FpbRun	   *run = fpb_add_run(sort);

		run->cur = sort->recs;
		run->end = sort->recs + sort->nrecs * sort->nwords;
	}
	sort->merging = true;
	fpb_merge_begin(sort, 0, sort->nruns);
}

/*
 * Get the next entry in order; false if there is none.  Its tuple stays valid
 * until the next call.
 */
bool
fpb_sort_get(FpbSort *sort, FpbKey *key)
{
	uint64	   *rec;

	if (sort->tuples)
		return fpb_tuplesort_get(sort->tuples, key);

	if (sort->merging)
	{
		rec = fpb_merge_next(sort, 0, sort->nruns);
		if (rec == NULL)
			return false;
	}
	else
	{
		if (sort->next == sort->nrecs)
			return false;
		rec = sort->recs + sort->next++ * sort->nwords;
	}

	key->head = rec[0];
	key->low = (sort->nwords == 2) ? 0 : rec[1];
	key->tail = rec[sort->nwords - 1];
	key->tuple = NULL;
	return true;
}

/*
 * End a sort and free all it has.
 */
void
fpb_sort_end(FpbSort *sort)
{
	if (sort->tuples)
		fpb_tuplesort_end(sort->tuples);
	for (int i = 0; i < sort->nruns; i++)
	{
		if (sort->runs[i].file)
			BufFileClose(sort->runs[i].file);
	}
	MemoryContextDelete(sort->cxt);
}
