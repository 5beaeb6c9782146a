/*-------------------------------------------------------------------------
 *
 * build/spill_runs.c
 *	  Sorted runs that a sort of word keys writes to temporary files.
 *
 * When many runs of one size have come together, they are merged into a longer
 * one, so that neither open files nor merge buffers grow with the table.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <fcntl.h>

#include "miscadmin.h"
#include "utils/memutils.h"

#include "build/sort_state.h"

/*
 * The name of a participant's run in the shared file set.
 */
static void
run_name(char *name, int participant, int id)
{
	snprintf(name, MAXPGPATH, "fpbtree.%d.%d", participant, id);
}

/*
 * Add a run to the end of the list.
 */
FpbRun *
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
create_run(FpbSort *sort, FpbRun *run)
{
	memset(run, 0, sizeof(FpbRun));
	if (sort->participant >= 0)
	{
		char		name[MAXPGPATH];

		run->id = sort->nfiles++;
		run_name(name, sort->participant, run->id);
		run->file = BufFileCreateFileSet(&sort->shared->fileset.fs, name);
	}
	else
		run->file = BufFileCreateTemp(false);
}

/*
 * Delete a run that this participant has created.
 */
static void
delete_run(FpbSort *sort, FpbRun *run)
{
	BufFileClose(run->file);
	if (sort->participant >= 0)
	{
		char		name[MAXPGPATH];

		run_name(name, sort->participant, run->id);
		BufFileDeleteFileSet(&sort->shared->fileset.fs, name, false);
	}
}

/*
 * Merge the last nruns runs into one.
 */
static void
merge_runs(FpbSort *sort, int nruns)
{
	int			first = sort->nruns - nruns;
	FpbRun		merged;
	uint64	   *rec;

	create_run(sort, &merged);
	merged.generation = sort->runs[first].generation + 1;

	fpb_merge_begin(sort, first, nruns);
	while ((rec = fpb_merge_next(sort, first, nruns)) != NULL)
	{
		BufFileWrite(merged.file, rec, sort->recsize);
		merged.nrecs++;
	}
	fpb_merge_end(sort);

	for (int i = first; i < sort->nruns; i++)
		delete_run(sort, &sort->runs[i]);
	sort->nruns = first;
	*fpb_add_run(sort) = merged;
}

/*
 * Sort the records in memory and write them out as a run, which empties the
 * array.
 */
void
fpb_spill(FpbSort *sort)
{
	MemoryContext old = MemoryContextSwitchTo(sort->cxt);
	FpbRun		run;

	fpb_sort_memory(sort);

	create_run(sort, &run);
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
		merge_runs(sort, n);
	}
	MemoryContextSwitchTo(old);
}

/*
 * Give a worker's runs to the leader.
 */
void
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
void
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
			run_name(name, p, id);
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
