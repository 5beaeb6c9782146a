/*-------------------------------------------------------------------------
 *
 * build/sort.c
 *	  Sorting the entries of an index that is being built.
 *
 * Word keys are sorted as records of two or three integers: (head, tail), or
 * (head, low, tail).  A run of them is sorted in memory by a radix sort, least
 * significant digit first, but only of as many leading bits of the head as are
 * likely to tell so many records apart, leaving out those that all share.
 * Records that agree in these bits are then put in order by what follows.
 * Where they are duplicates they mostly are in order already: the radix sort
 * is stable and a table's rows arrive in TID order but for HOT chains, a
 * synchronised scan's jump from the end of the table to its start, and tie
 * bits.
 *
 * Half of the memory holds records and half is the radix sort's other array.
 * What doesn't fit is written to temporary files, a sorted run each, and the
 * runs are merged by a tree of losers while the result is read.  When many
 * runs of one size have come together, they are merged into a longer one, so
 * that neither open files nor merge buffers grow with the table.
 *
 * Tuple keys go through the server's tuplesort.  The datum that it compares
 * first is the head where keys have one, eight bytes of it even if pages store
 * four; else it is the first column, abbreviated if the opclass can do that.
 *
 * In a parallel build each participant sorts what it has scanned into runs
 * ("worker" sorts); the leader's sort merges them.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <fcntl.h>
#ifndef WIN32
#include <sys/mman.h>
#endif

#include "catalog/pg_index.h"
#include "build/sort.h"
#include "miscadmin.h"
#include "port/atomics.h"
#include "port/pg_bitutils.h"
#include "storage/buffile.h"
#include "storage/sharedfileset.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/sortsupport.h"
#include "utils/tuplesort.h"

/* most words in a record */
#define FPB_SORT_MAX_WORDS	3

/*
 * Digits of the radix sort: more bits mean fewer passes, but also more places
 * in memory to write to, of which caches can follow only so many.
 */
#define FPB_DIGIT_BITS		8
#define FPB_DIGIT_VALUES	(1 << FPB_DIGIT_BITS)
#define FPB_WORD_DIGITS		(64 / FPB_DIGIT_BITS)
#define FPB_DIGIT(word, shift) (((word) >> (shift)) & (FPB_DIGIT_VALUES - 1))

/*
 * n records are sorted by log2(n) bits and so many more.  If the bits are
 * random, one in 2^FPB_SPARE_BITS records then agrees with another.
 */
#define FPB_SPARE_BITS		7

/* fewer records than this are sorted by comparisons */
#define FPB_RADIX_MIN		256

/* records handled between two looks at interrupts */
#define FPB_SORT_STRIDE		(1 << 18)

/* estimates of what comes may be too low by so much */
#define FPB_SORT_MARGIN		1.1

/* an array has room for as many records at least */
#define FPB_SORT_MIN_RECORDS	1024

/* an array that is worth being put in huge pages, and what that begins at */
#define FPB_HUGE_PAGE_MIN	(4 * 1024 * 1024)
#define FPB_HUGE_PAGE_ALIGN	65536

/*
 * As many runs of a size as are merged into one: what is left of the memory
 * must give each a buffer of a few disk pages.
 */
#define FPB_MERGE_MIN_RUNS	16
#define FPB_MERGE_RUN_MEM	(4 * BLCKSZ)

/* larger buffers don't make reading faster but fall out of the cache */
#define FPB_MERGE_MAX_BUFFER	(256 * 1024)

/* records of word keys */
typedef struct FpbRec2
{
	uint64		w[2];			/* head, tail */
} FpbRec2;

typedef struct FpbRec3
{
	uint64		w[3];			/* head, low, tail */
} FpbRec3;

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
 * What participants of a parallel build share of a word sort.  (In the tuple
 * form, the shared memory is tuplesort's own.)
 */
struct FpbSortShared
{
	SharedFileSet fileset;
	pg_atomic_uint32 nparticipants; /* that have begun */
	int			nfiles[FLEXIBLE_ARRAY_MEMBER];	/* that each has created; some
												 * may have been deleted */
};

struct FpbSort
{
	const FpbIndex *ix;
	MemoryContext cxt;			/* all the sort's memory */

	/* tuple form */
	Tuplesortstate *tuplesort;
	FpbIndex   *wide;			/* the index with heads of eight bytes */

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
 * What the tuplesort variant needs to know.
 */
typedef struct FpbTupleSortArg
{
	TupleDesc	desc;
	bool		by_head;		/* do heads come first? */
	const FpbColumn *word;		/* first column, if its code is the head or
								 * the head's upper half; else NULL */
	int			nkeys;
	SortSupportData keys[FLEXIBLE_ARRAY_MEMBER];
} FpbTupleSortArg;

/*
 * A tuple as tuplesort holds it: the eight bytes of its head, if there are
 * heads, and the index tuple.
 */
#define FPB_SORT_HEAD(stup) (*(uint64 *) (stup)->tuple)
#define FPB_SORT_TUPLE(arg, stup) \
	((IndexTuple) ((char *) (stup)->tuple + FPB_SORT_HEAD_SIZE(arg)))
#define FPB_SORT_HEAD_SIZE(arg) ((arg)->by_head ? sizeof(uint64) : 0)
#define FPB_SORT_TUPLE_SIZE(arg, itup) \
	(FPB_SORT_HEAD_SIZE(arg) + IndexTupleSize(itup))

/* a record that sorts after all others, as no tail is all ones */
static uint64 fpb_sentinel[FPB_SORT_MAX_WORDS] = {
	PG_UINT64_MAX, PG_UINT64_MAX, PG_UINT64_MAX
};

static void fpb_merge_begin(FpbSort *sort, int first, int nruns);
static uint64 *fpb_merge_next(FpbSort *sort, int first, int nruns);
static void fpb_merge_end(FpbSort *sort);

/* ------------------------------------------------------------------------
 * Records
 * ------------------------------------------------------------------------
 */

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

#define ST_SORT fpb_sort_rec2
#define ST_ELEMENT_TYPE FpbRec2
#define ST_COMPARE(a, b) fpb_rec_compare((a)->w, (b)->w, 0, 2)
#define ST_CHECK_FOR_INTERRUPTS
#define ST_SCOPE static
#define ST_DEFINE
#include "lib/sort_template.h"

#define ST_SORT fpb_sort_rec3
#define ST_ELEMENT_TYPE FpbRec3
#define ST_COMPARE(a, b) fpb_rec_compare((a)->w, (b)->w, 0, 3)
#define ST_CHECK_FOR_INTERRUPTS
#define ST_SCOPE static
#define ST_DEFINE
#include "lib/sort_template.h"

/*
 * Are n records in order from word "first" on?
 */
static pg_attribute_always_inline bool
fpb_recs_sorted(const uint64 *recs, Size n, int first, int nwords)
{
	for (Size i = 1; i < n; i++)
	{
		if (fpb_rec_compare(recs + (i - 1) * nwords, recs + i * nwords,
							first, nwords) > 0)
			return false;
	}
	return true;
}

/*
 * One pass of the radix sort: moves n records from src to dst in the order of
 * the digit at the given shift of a word, stably.  next[] has the places in
 * dst that the records of each digit begin at, and is used up.
 */
static pg_attribute_always_inline void
fpb_radix_pass(const uint64 *src, uint64 *dst, Size n, int word, int shift,
			   Size *next, int nwords)
{
	Size		i = 0;

	while (i < n)
	{
		Size		stop = Min(n, i + FPB_SORT_STRIDE);

		CHECK_FOR_INTERRUPTS();
		for (; i < stop; i++)
		{
			const uint64 *rec = src + i * nwords;
			Size		place = next[FPB_DIGIT(rec[word], shift)]++;

			memcpy(dst + place * nwords, rec, nwords * sizeof(uint64));
		}
	}
}

/*
 * Sort n records by ndigits digits of a word, from shift upwards.  The result
 * is in recs or in scratch: returns which.
 */
static pg_attribute_always_inline uint64 *
fpb_radix_sort(uint64 *recs, uint64 *scratch, Size n, int word, int shift,
			   int ndigits, int nwords)
{
	Size		counts[FPB_WORD_DIGITS][FPB_DIGIT_VALUES];
	Size		i = 0;

	memset(counts, 0, ndigits * sizeof(counts[0]));
	while (i < n)
	{
		Size		stop = Min(n, i + FPB_SORT_STRIDE);

		CHECK_FOR_INTERRUPTS();
		for (; i < stop; i++)
		{
			uint64		value = recs[i * nwords + word] >> shift;

			for (int d = 0; d < ndigits; d++)
			{
				counts[d][FPB_DIGIT(value, 0)]++;
				value >>= FPB_DIGIT_BITS;
			}
		}
	}

	for (int d = 0; d < ndigits; d++)
	{
		Size	   *next = counts[d];
		int			digit_shift = shift + d * FPB_DIGIT_BITS;
		Size		place = 0;
		uint64	   *swap;

		/* Leave out a digit that all records share. */
		if (next[FPB_DIGIT(recs[word], digit_shift)] == n)
			continue;

		for (int v = 0; v < FPB_DIGIT_VALUES; v++)
		{
			Size		count = next[v];

			next[v] = place;
			place += count;
		}
		fpb_radix_pass(recs, scratch, n, word, digit_shift, next, nwords);

		swap = recs;
		recs = scratch;
		scratch = swap;
	}
	return recs;
}

/*
 * Which bits of a word are not the same in all of n records?
 */
static pg_attribute_always_inline uint64
fpb_varying_bits(const uint64 *recs, Size n, int word, int nwords)
{
	uint64		ones = 0;
	uint64		all = PG_UINT64_MAX;

	for (Size i = 0; i < n; i++)
	{
		ones |= recs[i * nwords + word];
		all &= recs[i * nwords + word];
	}
	return ones ^ all;
}

static uint64 *fpb_sort_words2(uint64 *recs, uint64 *scratch, Size n, int word);
static uint64 *fpb_sort_words3(uint64 *recs, uint64 *scratch, Size n, int word);

/*
 * Sort n records that agree in all words before "word".  The result is in recs
 * or in scratch: returns which.
 *
 * The radix sort goes by the leading bits that vary in this word, or in the
 * next that has such.  Records that agree in those are a range of their own:
 * it may be in order already; else a short one is sorted by comparisons and a
 * long one in the same way as the whole.
 */
static pg_attribute_always_inline uint64 *
fpb_sort_words(uint64 *recs, uint64 *scratch, Size n, int word, int nwords)
{
	uint64		varying = fpb_varying_bits(recs, n, word, nwords);
	uint64	   *sorted;
	uint64	   *other;
	int			top;
	int			shift;
	Size		start = 0;

	while (varying == 0)
	{
		if (++word == nwords)
			return recs;
		varying = fpb_varying_bits(recs, n, word, nwords);
	}

	top = pg_leftmost_one_pos64(varying) + 1;
	shift = top - (pg_leftmost_one_pos64(n) + 1 + FPB_SPARE_BITS);
	shift = Max(shift, pg_rightmost_one_pos64(varying));

	/* a last digit may as well be a whole one */
	shift = top - (int) TYPEALIGN(FPB_DIGIT_BITS, top - shift);
	shift = Max(shift, 0);

	sorted = fpb_radix_sort(recs, scratch, n, word, shift,
							(top - shift + FPB_DIGIT_BITS - 1) / FPB_DIGIT_BITS,
							nwords);
	other = (sorted == recs) ? scratch : recs;

	while (start < n)
	{
		uint64	   *range = sorted + start * nwords;
		uint64		value = range[word] >> shift;
		Size		count = 1;

		while (start + count < n &&
			   range[count * nwords + word] >> shift == value)
			count++;

		if (count > 1 && !fpb_recs_sorted(range, count, word, nwords))
		{
			uint64	   *result = range;

			if (count < FPB_RADIX_MIN && nwords == 2)
				fpb_sort_rec2((FpbRec2 *) range, count);
			else if (count < FPB_RADIX_MIN)
				fpb_sort_rec3((FpbRec3 *) range, count);
			else if (nwords == 2)
				result = fpb_sort_words2(range, other + start * nwords,
										 count, word);
			else
				result = fpb_sort_words3(range, other + start * nwords,
										 count, word);
			if (result != range)
				memcpy(range, result, count * nwords * sizeof(uint64));
		}
		if (start / FPB_SORT_STRIDE != (start + count) / FPB_SORT_STRIDE)
			CHECK_FOR_INTERRUPTS();
		start += count;
	}
	return sorted;
}

/*
 * fpb_sort_words for records of two words
 */
static uint64 *
fpb_sort_words2(uint64 *recs, uint64 *scratch, Size n, int word)
{
	return fpb_sort_words(recs, scratch, n, word, 2);
}

/*
 * fpb_sort_words for records of three words
 */
static uint64 *
fpb_sort_words3(uint64 *recs, uint64 *scratch, Size n, int word)
{
	return fpb_sort_words(recs, scratch, n, word, 3);
}

/* ------------------------------------------------------------------------
 * Runs
 * ------------------------------------------------------------------------
 */

/*
 * Allocate a large array.  With pages of the usual size, page faults and
 * misses of the TLB would be much of the cost of sorting.
 */
static uint64 *
fpb_alloc_array(FpbSort *sort, Size size)
{
	char	   *array = MemoryContextAllocHuge(sort->cxt, size);

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
 * Make sure that there is a scratch array of at least size bytes.
 */
static void
fpb_need_scratch(FpbSort *sort, Size size)
{
	if (sort->scratch_size >= size)
		return;
	if (sort->scratch)
		pfree(sort->scratch);
	sort->scratch = NULL;
	sort->scratch_size = 0;
	sort->scratch = fpb_alloc_array(sort, size);
	sort->scratch_size = size;
}

/*
 * Sort the records in memory.  May exchange the two arrays, which have the
 * same size then.
 */
static void
fpb_sort_memory(FpbSort *sort)
{
	uint64	   *sorted;

	if (sort->presorted || sort->nrecs < 2)
		return;

	if (sort->nrecs < FPB_RADIX_MIN)
	{
		if (sort->nwords == 2)
			fpb_sort_rec2((FpbRec2 *) sort->recs, sort->nrecs);
		else
			fpb_sort_rec3((FpbRec3 *) sort->recs, sort->nrecs);
		return;
	}

	fpb_need_scratch(sort, sort->maxrecs * sort->recsize);
	if (sort->nwords == 2)
		sorted = fpb_sort_words2(sort->recs, sort->scratch, sort->nrecs, 0);
	else
		sorted = fpb_sort_words3(sort->recs, sort->scratch, sort->nrecs, 0);

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

/*
 * The name of a participant's run in the shared file set.
 */
static void
fpb_run_name(char *name, int participant, int id)
{
	snprintf(name, MAXPGPATH, "fpbtree.%d.%d", participant, id);
}

/*
 * Add a run to the end of the list.
 */
static FpbRun *
fpb_add_run(FpbSort *sort)
{
	if (sort->nruns == sort->maxruns)
	{
		sort->maxruns *= 2;
		sort->runs = (FpbRun *) repalloc_huge(sort->runs,
											  sort->maxruns * sizeof(FpbRun));
	}
	memset(&sort->runs[sort->nruns], 0, sizeof(FpbRun));
	return &sort->runs[sort->nruns++];
}

/*
 * Create the file of a new run, which is in run->file and run->id.  It goes
 * away at the end of the transaction if not before.
 */
static void
fpb_create_run(FpbSort *sort, FpbRun *run)
{
	memset(run, 0, sizeof(FpbRun));
	if (sort->participant >= 0)
	{
		char		name[MAXPGPATH];

		run->id = sort->nfiles++;
		fpb_run_name(name, sort->participant, run->id);
		run->file = BufFileCreateFileSet(&sort->shared->fileset.fs, name);
	}
	else
		run->file = BufFileCreateTemp(false);
}

/*
 * Delete a run that this participant has created.
 */
static void
fpb_delete_run(FpbSort *sort, FpbRun *run)
{
	BufFileClose(run->file);
	if (sort->participant >= 0)
	{
		char		name[MAXPGPATH];

		fpb_run_name(name, sort->participant, run->id);
		BufFileDeleteFileSet(&sort->shared->fileset.fs, name, false);
	}
}

/*
 * Merge the last nruns runs into one.
 */
static void
fpb_merge_runs(FpbSort *sort, int nruns)
{
	int			first = sort->nruns - nruns;
	FpbRun		merged;
	uint64	   *rec;

	fpb_create_run(sort, &merged);
	merged.generation = sort->runs[first].generation + 1;

	fpb_merge_begin(sort, first, nruns);
	while ((rec = fpb_merge_next(sort, first, nruns)) != NULL)
	{
		BufFileWrite(merged.file, rec, sort->recsize);
		merged.nrecs++;
	}
	fpb_merge_end(sort);

	for (int i = first; i < sort->nruns; i++)
		fpb_delete_run(sort, &sort->runs[i]);
	sort->nruns = first;
	*fpb_add_run(sort) = merged;
}

/*
 * Sort the records in memory and write them out as a run, which empties the
 * array.
 */
static void
fpb_spill(FpbSort *sort)
{
	MemoryContext old = MemoryContextSwitchTo(sort->cxt);
	FpbRun		run;

	fpb_sort_memory(sort);

	fpb_create_run(sort, &run);
	for (Size i = 0; i < sort->nrecs; i += FPB_SORT_STRIDE)
	{
		CHECK_FOR_INTERRUPTS();
		BufFileWrite(run.file, sort->recs + i * sort->nwords,
					 Min(FPB_SORT_STRIDE, sort->nrecs - i) * sort->recsize);
	}
	run.nrecs = sort->nrecs;
	*fpb_add_run(sort) = run;

	sort->nrecs = 0;
	sort->presorted = true;

	/* Merge runs when there are enough of a generation, at the list's end. */
	for (;;)
	{
		int			generation = sort->runs[sort->nruns - 1].generation;
		int			n = 1;

		while (n < sort->nruns &&
			   sort->runs[sort->nruns - 1 - n].generation == generation)
			n++;
		if (n < sort->merge_runs)
			break;
		fpb_merge_runs(sort, n);
	}
	MemoryContextSwitchTo(old);
}

/* ------------------------------------------------------------------------
 * Merging
 * ------------------------------------------------------------------------
 */

/*
 * Set run->cur to its next record, or to the sentinel at the end.
 */
static void
fpb_run_fill(FpbSort *sort, FpbRun *run)
{
	Size		n;

	if (run->file == NULL || run->nrecs == 0)
	{
		run->cur = fpb_sentinel;
		run->end = fpb_sentinel;
		return;
	}
	CHECK_FOR_INTERRUPTS();
	n = Min((int64) run->bufrecs, run->nrecs);
	BufFileReadExact(run->file, run->buffer, n * sort->recsize);
	run->nrecs -= n;
	run->cur = run->buffer;
	run->end = run->buffer + n * sort->nwords;
}

/*
 * A match at a node of the tree: the smaller of the run waiting there and the
 * one that comes goes on, the other waits.
 *
 * Which one that is can't be predicted, so there is no branch on it.
 */
static pg_attribute_always_inline void
fpb_match(const FpbRun *runs, int nwords, FpbLoser *node, FpbLoser *comer)
{
	FpbLoser	waiting = *node;
	bool		swap = waiting.head < comer->head;

	if (unlikely(waiting.head == comer->head))
		swap = fpb_rec_compare(runs[waiting.run].cur, runs[comer->run].cur,
							   1, nwords) < 0;

	node->head = swap ? comer->head : waiting.head;
	node->run = swap ? comer->run : waiting.run;
	comer->head = swap ? waiting.head : comer->head;
	comer->run = swap ? waiting.run : comer->run;
}

/*
 * Begin to merge nruns runs from "first" on.
 *
 * Buffers share the scratch array.  losers[i], i > 0, is the run that lost the
 * match at node i of a tree whose leaves nruns ... 2 * nruns - 1 are the runs;
 * losers[0] is the run with the smallest record.
 */
static void
fpb_merge_begin(FpbSort *sort, int first, int nruns)
{
	Size		area = Max(sort->memory / 2,
						   (Size) nruns * sort->recsize * 64);
	Size		each = Min(area / nruns, FPB_MERGE_MAX_BUFFER) / sort->recsize;
	FpbRun	   *runs = sort->runs + first;

	fpb_need_scratch(sort, each * nruns * sort->recsize);
	for (int i = 0; i < nruns; i++)
	{
		FpbRun	   *run = &runs[i];

		if (run->file)
		{
			if (BufFileSeek(run->file, 0, 0, SEEK_SET) != 0)
				ereport(ERROR,
						(errcode_for_file_access(),
						 errmsg("could not rewind temporary file of an index build")));
			run->buffer = sort->scratch + each * i * sort->nwords;
			run->bufrecs = each;
			fpb_run_fill(sort, run);
		}
		else if (run->cur == run->end)
			fpb_run_fill(sort, run);
	}

	sort->losers = (FpbLoser *) MemoryContextAlloc(sort->cxt,
												   nruns * sizeof(FpbLoser));
	for (int i = 0; i < nruns; i++)
		sort->losers[i].run = -1;
	for (int i = 0; i < nruns; i++)
	{
		FpbLoser	comer = {runs[i].cur[0], i};
		int			node = (nruns + i) / 2;

		/* The first to come to a node waits there for the other. */
		for (; node > 0 && sort->losers[node].run >= 0; node /= 2)
			fpb_match(runs, sort->nwords, &sort->losers[node], &comer);
		sort->losers[node] = comer;
	}
	sort->started = false;
}

/*
 * The next record of the merge, valid until the next call; NULL at the end.
 */
static uint64 *
fpb_merge_next(FpbSort *sort, int first, int nruns)
{
	FpbRun	   *runs = sort->runs + first;
	FpbLoser	winner = sort->losers[0];

	if (sort->started)
	{
		FpbRun	   *run = &runs[winner.run];

		/* Step past the record returned before and replay its matches. */
		run->cur += sort->nwords;
		if (run->cur == run->end)
			fpb_run_fill(sort, run);
		winner.head = run->cur[0];
		for (int node = (nruns + winner.run) / 2; node > 0; node /= 2)
			fpb_match(runs, sort->nwords, &sort->losers[node], &winner);
		sort->losers[0] = winner;
	}
	sort->started = true;

	if (runs[winner.run].cur == fpb_sentinel)
	{
		sort->started = false;	/* stay here */
		return NULL;
	}
	return runs[winner.run].cur;
}

/*
 * Free what the merge has allocated, but for the buffers.
 */
static void
fpb_merge_end(FpbSort *sort)
{
	pfree(sort->losers);
	sort->losers = NULL;
}

/* ------------------------------------------------------------------------
 * Tuple form: a variant of tuplesort
 * ------------------------------------------------------------------------
 */

/*
 * Set the datum that tuplesort compares first: as much of the head as it
 * holds, or the first column.
 */
static inline void
fpb_set_datum1(const FpbTupleSortArg *arg, SortTuple *stup)
{
	if (arg->by_head)
	{
#if SIZEOF_DATUM >= 8
		stup->datum1 = (Datum) FPB_SORT_HEAD(stup);
#else
		stup->datum1 = (Datum) (FPB_SORT_HEAD(stup) >> 32);
#endif
		stup->isnull1 = false;
	}
	else
		stup->datum1 = index_getattr(FPB_SORT_TUPLE(arg, stup), 1, arg->desc,
									 &stup->isnull1);
}

/*
 * Compare a key column, other than by an abbreviation.
 */
static inline int
fpb_compare_column(FpbTupleSortArg *arg, const SortTuple *a,
				   const SortTuple *b, int column)
{
	Datum		da,
				db;
	bool		na,
				nb;

	da = index_getattr(FPB_SORT_TUPLE(arg, a), column + 1, arg->desc, &na);
	db = index_getattr(FPB_SORT_TUPLE(arg, b), column + 1, arg->desc, &nb);
	return ApplySortComparator(da, na, db, nb, &arg->keys[column]);
}

/*
 * Do equal heads mean that first columns are equal?
 */
static inline bool
fpb_head_decides(const FpbTupleSortArg *arg, uint64 head)
{
	return arg->word &&
		!fpb_word_is_shared(arg->word,
							arg->word->width == 32 ? head >> 32 : head);
}

/*
 * Compare two tuples whose datums are equal.
 */
static int
fpb_comparetup_tiebreak(const SortTuple *a, const SortTuple *b,
						Tuplesortstate *state)
{
	TuplesortPublic *base = TuplesortstateGetPublic(state);
	FpbTupleSortArg *arg = (FpbTupleSortArg *) base->arg;
	int			column = 0;

	if (arg->by_head)
	{
		uint64		ha = FPB_SORT_HEAD(a);
		uint64		hb = FPB_SORT_HEAD(b);

		if (ha != hb)
			return ha < hb ? -1 : 1;
		if (fpb_head_decides(arg, ha))
			column = 1;
	}
	else if (base->sortKeys->abbrev_converter == NULL)
		column = 1;				/* the datums have been the whole column */

	for (; column < arg->nkeys; column++)
	{
		int			compare = fpb_compare_column(arg, a, b, column);

		if (compare != 0)
			return compare;
	}
	return ItemPointerCompare(&FPB_SORT_TUPLE(arg, a)->t_tid,
							  &FPB_SORT_TUPLE(arg, b)->t_tid);
}

/*
 * Compare two tuples.
 */
static int
fpb_comparetup(const SortTuple *a, const SortTuple *b, Tuplesortstate *state)
{
	int			compare = ApplySortComparator(a->datum1, a->isnull1,
											  b->datum1, b->isnull1,
											  TuplesortstateGetPublic(state)->sortKeys);

	return compare != 0 ? compare : fpb_comparetup_tiebreak(a, b, state);
}

/*
 * Put the first column back where its abbreviation has been, as that has
 * turned out to be of no use.
 */
static void
fpb_removeabbrev(Tuplesortstate *state, SortTuple *stups, int count)
{
	FpbTupleSortArg *arg = (FpbTupleSortArg *) TuplesortstateGetPublic(state)->arg;

	for (int i = 0; i < count; i++)
		fpb_set_datum1(arg, &stups[i]);
}

/*
 * Write a tuple, after its length, to a tape.
 */
static void
fpb_writetup(Tuplesortstate *state, LogicalTape *tape, SortTuple *stup)
{
	FpbTupleSortArg *arg = (FpbTupleSortArg *) TuplesortstateGetPublic(state)->arg;
	unsigned int size = FPB_SORT_TUPLE_SIZE(arg, FPB_SORT_TUPLE(arg, stup));
	unsigned int length = size + sizeof(length);

	LogicalTapeWrite(tape, &length, sizeof(length));
	LogicalTapeWrite(tape, stup->tuple, size);
}

/*
 * Read a tuple, whose length has been read, from a tape.
 */
static void
fpb_readtup(Tuplesortstate *state, SortTuple *stup, LogicalTape *tape,
			unsigned int len)
{
	unsigned int size = len - sizeof(unsigned int);

	stup->tuple = tuplesort_readtup_alloc(state, size);
	LogicalTapeReadExact(tape, stup->tuple, size);
	fpb_set_datum1((FpbTupleSortArg *) TuplesortstateGetPublic(state)->arg,
				   stup);
}

/*
 * Prepare to compare a key column, by abbreviations if the caller can do with
 * such and the opclass has them.
 *
 * The server's PrepareSortSupportFromIndexRel does this for btree alone in
 * release 17.
 */
static void
fpb_prepare_sortsupport(Relation index, int column, bool abbreviate,
						SortSupport ssup)
{
	int16		option = index->rd_indoption[column];
	Oid			family = index->rd_opfamily[column];
	Oid			type = index->rd_opcintype[column];
	Oid			proc;

	ssup->ssup_cxt = CurrentMemoryContext;
	ssup->ssup_collation = index->rd_indcollation[column];
	ssup->ssup_nulls_first = (option & INDOPTION_NULLS_FIRST) != 0;
	ssup->ssup_reverse = (option & INDOPTION_DESC) != 0;
	ssup->ssup_attno = column + 1;
	ssup->abbreviate = abbreviate;

	proc = get_opfamily_proc(family, type, type, FPB_SORTSUPPORT_PROC);
	if (OidIsValid(proc))
		OidFunctionCall1(proc, PointerGetDatum(ssup));
	if (ssup->comparator == NULL)
	{
		proc = get_opfamily_proc(family, type, type, FPB_ORDER_PROC);
		if (!OidIsValid(proc))
			elog(ERROR, "missing support function %d(%u,%u) in opfamily %u",
				 FPB_ORDER_PROC, type, type, family);
		PrepareSortSupportComparisonShim(proc, ssup);
	}
}

/*
 * Begin a tuplesort of index tuples behind heads.
 */
static Tuplesortstate *
fpb_tuplesort_begin(const FpbIndex *ix, int workMem, SortCoordinate coordinate)
{
	Tuplesortstate *state = tuplesort_begin_common(workMem, coordinate,
												   TUPLESORT_NONE);
	TuplesortPublic *base = TuplesortstateGetPublic(state);
	MemoryContext old = MemoryContextSwitchTo(base->maincontext);
	FpbTupleSortArg *arg;

	arg = (FpbTupleSortArg *) palloc0(offsetof(FpbTupleSortArg, keys) +
									  ix->nkeyatts * sizeof(SortSupportData));
	arg->desc = RelationGetDescr(ix->rel);
	arg->nkeys = ix->nkeyatts;
	arg->by_head = (ix->cols[0].head != FPB_HEAD_NONE);
	if (ix->cols[0].head == FPB_HEAD_WORD || ix->cols[0].head == FPB_HEAD_PAIR)
		arg->word = &ix->cols[0];
	for (int i = 0; i < ix->nkeyatts; i++)
		fpb_prepare_sortsupport(ix->rel, i, false, &arg->keys[i]);

	base->arg = arg;
	base->comparetup = fpb_comparetup;
	base->comparetup_tiebreak = fpb_comparetup_tiebreak;
	base->removeabbrev = fpb_removeabbrev;
	base->writetup = fpb_writetup;
	base->readtup = fpb_readtup;

	/*
	 * The one sort key that tuplesort itself knows of is the datum: it has
	 * sorts specialised for datums that compare as integers.
	 */
	base->nKeys = 1;
	base->haveDatum1 = true;
	base->sortKeys = (SortSupport) palloc0(sizeof(SortSupportData));
	if (arg->by_head)
	{
		base->sortKeys->ssup_cxt = CurrentMemoryContext;
		base->sortKeys->ssup_attno = 1;
		base->sortKeys->comparator = ssup_datum_unsigned_cmp;
	}
	else
		fpb_prepare_sortsupport(ix->rel, 0, true, base->sortKeys);

	MemoryContextSwitchTo(old);
	return state;
}

/*
 * Add a copy of the tuple to the tuplesort.  May leave garbage in the current
 * memory context.
 */
static void
fpb_tuplesort_put(FpbSort *sort, const FpbKey *key)
{
	TuplesortPublic *base = TuplesortstateGetPublic(sort->tuplesort);
	FpbTupleSortArg *arg = (FpbTupleSortArg *) base->arg;
	Size		size = FPB_SORT_TUPLE_SIZE(arg, key->tuple);
	SortTuple	stup;

	stup.tuple = MemoryContextAlloc(base->tuplecontext, size);
	memcpy(FPB_SORT_TUPLE(arg, &stup), key->tuple, IndexTupleSize(key->tuple));
	if (arg->by_head)
	{
		uint64		head = key->head;

		if (sort->ix->head_width < sizeof(uint64))
		{
			Datum		value;
			bool		isnull;

			value = index_getattr(key->tuple, 1, arg->desc, &isnull);
			(void) fpb_head_of(sort->wide, &value, &isnull, 1, false, &head);
		}
		FPB_SORT_HEAD(&stup) = head;
	}

	stup.srctape = 0;
	fpb_set_datum1(arg, &stup);
	tuplesort_puttuple_common(sort->tuplesort, &stup,
							  base->sortKeys->abbrev_converter &&
							  !stup.isnull1,
							  MAXALIGN(size));
}

/*
 * Get the next tuple of the tuplesort.  It stays valid until the next call.
 */
static bool
fpb_tuplesort_get(FpbSort *sort, FpbKey *key)
{
	TuplesortPublic *base = TuplesortstateGetPublic(sort->tuplesort);
	FpbTupleSortArg *arg = (FpbTupleSortArg *) base->arg;
	MemoryContext old = MemoryContextSwitchTo(base->sortcontext);
	SortTuple	stup;
	bool		found;

	found = tuplesort_gettuple_common(sort->tuplesort, true, &stup);
	MemoryContextSwitchTo(old);
	if (found && stup.tuple)
	{
		key->tuple = FPB_SORT_TUPLE(arg, &stup);
		key->head = arg->by_head ? FPB_SORT_HEAD(&stup) : 0;
		if (sort->ix->head_width < sizeof(uint64))
			key->head &= ~(uint64) PG_UINT32_MAX;
		key->low = 0;
		key->tail = fpb_tail_pack(0, &key->tuple->t_tid);
		return true;
	}
	return false;
}

/* ------------------------------------------------------------------------
 * Interface
 * ------------------------------------------------------------------------
 */

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

	if (!fpb_is_word(ix))
	{
		MemoryContext old = MemoryContextSwitchTo(cxt);
		SortCoordinate coordinate = NULL;

		if (shared)
		{
			coordinate = (SortCoordinate) palloc0(sizeof(SortCoordinateData));
			coordinate->isWorker = (nparticipants == 0);
			coordinate->nParticipants = nparticipants ? nparticipants : -1;
			coordinate->sharedsort = (Sharedsort *) shared;
		}
		sort->tuplesort = fpb_tuplesort_begin(ix, workMem, coordinate);
		sort->wide = (FpbIndex *) palloc(sizeof(FpbIndex));
		*sort->wide = *ix;
		sort->wide->head_width = sizeof(uint64);
		MemoryContextSwitchTo(old);
		return sort;
	}

	sort->nwords = (ix->form == FPB_WORD16) ? 3 : 2;
	sort->recsize = sort->nwords * sizeof(uint64);
	sort->memory = (Size) workMem * 1024;
	sort->limit = Min(sort->memory, MaxAllocHugeSize) / 2 / sort->recsize;
	sort->limit = Max(sort->limit, FPB_SORT_MIN_RECORDS);
	sort->expected = Max(expected, 0) * FPB_SORT_MARGIN;
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
 * Make room for more records: a larger array, or an empty one.
 */
static void
fpb_make_room(FpbSort *sort)
{
	if (sort->recs == NULL)
	{
		sort->maxrecs = (Size) Min(sort->expected, (double) sort->limit);
		sort->maxrecs = Max(sort->maxrecs, FPB_SORT_MIN_RECORDS);
		sort->recs = fpb_alloc_array(sort, sort->maxrecs * sort->recsize);
	}
	else if (sort->maxrecs < sort->limit)
	{
		sort->maxrecs = Min(sort->maxrecs * 2, sort->limit);
		sort->recs = (uint64 *) repalloc_huge(sort->recs,
											  sort->maxrecs * sort->recsize);
	}
	else
		fpb_spill(sort);
}

/*
 * Add an entry; its tuple is copied.
 */
void
fpb_sort_put(FpbSort *sort, const FpbKey *key)
{
	uint64	   *rec;

	if (sort->tuplesort)
	{
		fpb_tuplesort_put(sort, key);
		return;
	}

	if (sort->nrecs == sort->maxrecs)
		fpb_make_room(sort);

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
 * Give a worker's runs to the leader.
 */
static void
fpb_publish_runs(FpbSort *sort)
{
	if (sort->nrecs > 0)
		fpb_spill(sort);
	for (int i = 0; i < sort->nruns; i++)
	{
		BufFileExportFileSet(sort->runs[i].file);
		BufFileClose(sort->runs[i].file);
	}
	sort->nruns = 0;
	sort->shared->nfiles[sort->participant] = sort->nfiles;
}

/*
 * Take over the runs of all participants, which have finished.
 */
static void
fpb_take_runs(FpbSort *sort)
{
	MemoryContext old = MemoryContextSwitchTo(sort->cxt);

	for (int p = 0; p < sort->nparticipants; p++)
	{
		for (int id = 0; id < sort->shared->nfiles[p]; id++)
		{
			char		name[MAXPGPATH];
			BufFile    *file;
			FpbRun	   *run;

			/* Runs merged into others are missing. */
			fpb_run_name(name, p, id);
			file = BufFileOpenFileSet(&sort->shared->fileset.fs, name,
									  O_RDONLY, true);
			if (file == NULL)
				continue;
			run = fpb_add_run(sort);
			run->file = file;
			run->id = id;
			run->nrecs = BufFileSize(file) / sort->recsize;
		}
	}
	MemoryContextSwitchTo(old);
}

/*
 * All entries have been put in: sort them.  A worker's sort is then of no more
 * use here; of others, fpb_sort_get gives the result.
 */
void
fpb_sort_perform(FpbSort *sort)
{
	if (sort->tuplesort)
	{
		tuplesort_performsort(sort->tuplesort);
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

	if (sort->tuplesort)
		return fpb_tuplesort_get(sort, key);

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
	if (sort->tuplesort)
		tuplesort_end(sort->tuplesort);
	for (int i = 0; i < sort->nruns; i++)
	{
		if (sort->runs[i].file)
			BufFileClose(sort->runs[i].file);
	}
	MemoryContextDelete(sort->cxt);
}
