/*-------------------------------------------------------------------------
 *
 * build/sort_memory.c
 *	  The memory that a sort of word keys uses.
 *
 * Half of the memory holds records, and half is the radix sort's other array.
 * When both are full, the records are sorted and spilled (build/spill_runs.c).
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#ifndef WIN32
#include <sys/mman.h>
#endif

#include "utils/memutils.h"

#include "build/sort_state.h"

/* an array that is worth being put in huge pages, and what that begins at */
#define FPB_HUGE_PAGE_MIN	(4 * 1024 * 1024)
#define FPB_HUGE_PAGE_ALIGN	65536

/*
 * Allocate a large array.  With pages of the usual size, page faults and
 * misses of the TLB would be much of the cost of sorting.
 */
uint64 *
fpb_sort_alloc(MemoryContext cxt, Size size)
{
	char	   *array = MemoryContextAllocHuge(cxt, size);

#ifdef MADV_HUGEPAGE
	if (size >= FPB_HUGE_PAGE_MIN)
	{
		char	   *start = (char *) TYPEALIGN(FPB_HUGE_PAGE_ALIGN, array);
		char	   *end = (char *) TYPEALIGN_DOWN(FPB_HUGE_PAGE_ALIGN,
												  array + size);

		/* no more than advice: it doesn't matter if it is refused */
		(void) madvise(start, end - start, MADV_HUGEPAGE);
	}
#endif
	return (uint64 *) array;
}

/*
 * Make room for more records: a first or a larger array.  False if the memory
 * is used up: then the records are to be spilled.
 */
bool
fpb_sort_make_room(FpbSort *sort)
{
	if (sort->recs == NULL)
	{
		sort->maxrecs = (Size) Min(sort->expected, (double) sort->limit);
		sort->maxrecs = Max(sort->maxrecs, FPB_SORT_MIN_RECORDS);
		sort->recs = fpb_sort_alloc(sort->cxt, sort->maxrecs * sort->recsize);
	}
	else if (sort->maxrecs < sort->limit)
	{
		sort->maxrecs = Min(sort->maxrecs * 2, sort->limit);
		sort->recs = (uint64 *) repalloc_huge(sort->recs,
											  sort->maxrecs * sort->recsize);
	}
	else
		return false;
	return true;
}

/*
 * Make sure that there is a scratch array of at least size bytes.
 */
void
fpb_sort_need_scratch(FpbSort *sort, Size size)
{
	if (sort->scratch_size >= size)
		return;
	if (sort->scratch)
		pfree(sort->scratch);
	sort->scratch = NULL;
	sort->scratch_size = 0;
	sort->scratch = fpb_sort_alloc(sort->cxt, size);
	sort->scratch_size = size;
}

/*
 * Sort the records in memory.  May exchange the two arrays, which have the
 * same size then.
 */
void
fpb_sort_memory(FpbSort *sort)
{
	uint64	   *sorted;

	if (sort->presorted || sort->nrecs < 2)
		return;

	if (sort->nrecs < FPB_RADIX_MIN)
	{
		fpb_sort_few(sort->recs, sort->nrecs, sort->nwords);
		return;
	}

	fpb_sort_need_scratch(sort, sort->maxrecs * sort->recsize);
	sorted = fpb_radix_sort(sort->recs, sort->scratch, sort->nrecs, sort->nwords);
	if (sorted != sort->recs)
	{
		uint64	   *swap = sort->recs;
		Size		swap_size = sort->maxrecs * sort->recsize;

		sort->recs = sort->scratch;
		sort->maxrecs = sort->scratch_size / sort->recsize;
		sort->scratch = swap;
		sort->scratch_size = swap_size;
	}
}
