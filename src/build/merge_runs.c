/*-------------------------------------------------------------------------
 *
 * build/merge_runs.c
 *	  Sorted runs merged by a tree of losers.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "build/sort_state.h"

/* larger buffers don't make reading faster but fall out of the cache */
#define FPB_MERGE_MAX_BUFFER	(256 * 1024)

/* a record that sorts after all others, as no tail is all ones */
static uint64 sentinel[FPB_SORT_MAX_WORDS] = {
	PG_UINT64_MAX, PG_UINT64_MAX, PG_UINT64_MAX
};

/*
 * Set run->cur to its next record, or to the sentinel at the end.
 */
static void
fill_run(FpbSort *sort, FpbRun *run)
{
	Size		n;

	if (run->file == NULL || run->nrecs == 0)
	{
		run->cur = sentinel;
		run->end = sentinel;
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
play_match(const FpbRun *runs, int nwords, FpbLoser *node, FpbLoser *comer)
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
void
fpb_merge_begin(FpbSort *sort, int first, int nruns)
{
	Size		area = Max(sort->memory / 2,
						   (Size) nruns * sort->recsize * 64);
	Size		each = Min(area / nruns, FPB_MERGE_MAX_BUFFER) / sort->recsize;
	FpbRun	   *runs = sort->runs + first;

	fpb_sort_need_scratch(sort, each * nruns * sort->recsize);
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
			fill_run(sort, run);
		}
		else if (run->cur == run->end)
			fill_run(sort, run);
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
			play_match(runs, sort->nwords, &sort->losers[node], &comer);
		sort->losers[node] = comer;
	}
	sort->started = false;
}

/*
 * The next record of the merge, valid until the next call; NULL at the end.
 */
uint64 *
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
			fill_run(sort, run);
		winner.head = run->cur[0];
		for (int node = (nruns + winner.run) / 2; node > 0; node /= 2)
			play_match(runs, sort->nwords, &sort->losers[node], &winner);
		sort->losers[0] = winner;
	}
	sort->started = true;

	if (runs[winner.run].cur == sentinel)
	{
		sort->started = false;	/* stay here */
		return NULL;
	}
	return runs[winner.run].cur;
}

/*
 * Free what the merge has allocated, but for the buffers.
 */
void
fpb_merge_end(FpbSort *sort)
{
	pfree(sort->losers);
	sort->losers = NULL;
}
