/*-------------------------------------------------------------------------
 *
 * fuzz.c
 *	  The page fuzzer's SQL function.
 *
 * Not part of the extension: dev/hunts/page-fuzz builds it into a server of
 * its own and declares the function there.
 *
 *	  page_fuzz(index regclass, seed bigint, steps bigint)
 *		returns table (kind text, times bigint)
 *
 * lives the lives of pages with keys of the index's table until at least so
 * many operations are done; the n'th life's seed is seed + n - 1.  If a life
 * fails, it raises an error with the smallest history found that does.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <sys/mman.h>
#include <unistd.h>

#include "funcapi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/tuplestore.h"

#include "fuzz.h"

PG_FUNCTION_INFO_V1(fpb_page_fuzz);

/* what the kinds of operations are called; dev/hunts/fuzz/forms.sql says how many there should be */
static const char *const kinds[] = {
	[FUZZ_N_SLOT] = "slot",
	[FUZZ_N_APPEND_NODE] = "append node",
	[FUZZ_N_SPLIT_NODE] = "split node",
	[FUZZ_N_SPILL] = "spill",
	[FUZZ_N_SPREAD] = "spread nodes",
	[FUZZ_N_REPACK] = "repack nodes",
	[FUZZ_N_LOOSE] = "into any gap",
	[FUZZ_N_PASS] = "pass on",
	[FUZZ_N_POSTING] = "into a posting",
	[FUZZ_N_GROW] = "grow a posting",
	[FUZZ_N_REBUILD] = "rebuild",
	[FUZZ_N_FULL] = "full",
	[FUZZ_N_REORGANISE] = "reorganise",
	[FUZZ_N_PREFIX] = "shorten the prefix",
	[FUZZ_N_WIDEN] = "widen a posting's TIDs",
	[FUZZ_N_GROW_AMONG] = "grow a posting among the tuples",
	[FUZZ_N_SWAP] = "swap a posting's last TID",
	[FUZZ_N_BEFORE_BOUND] = "append below the next bound",
	[FUZZ_N_APPEND_RUNS] = "append runs node",
	[FUZZ_N_NEW_RUN] = "into a run of its own",
	[FUZZ_N_REPACK_SPLIT] = "repack over a new node",
	[FUZZ_N_REPACK_MANY] = "repack several nodes",
	[FUZZ_N_PASS_ON] = "pass on to a new node",
	[FUZZ_N_SPLIT_SERIES] = "split node behind a series",
	[FUZZ_N_SPLIT_IN_PLACE] = "page split in place",
	[FUZZ_N_SPLIT_BY_IMAGE] = "page split by image",
	[FUZZ_N_CUT_EMPTIED] = "page split beside an emptied node",
	[FUZZ_N_CUT_POSTING] = "page split through a posting",
	[FUZZ_N_BUILD] = "build",
	[FUZZ_N_FILL] = "fill",
	[FUZZ_N_DELETE] = "delete",
	[FUZZ_N_EMPTY] = "delete the last entry",
	[FUZZ_N_KILL] = "killed bits",
	[FUZZ_N_KILL_POSTING] = "killed bit of a posting",
	[FUZZ_N_EXTEND] = "extend",
	[FUZZ_N_MERGE] = "merge",
	[FUZZ_N_ELIDED] = "with the high fence elided",
	[FUZZ_N_NEWLY_ELIDED] = "high fence elided for want of room",
	[FUZZ_N_NAME] = "name nodes",
	[FUZZ_N_NAMES_KEPT] = "names kept",
	[FUZZ_N_FOUND_BY_NAME] = "found by name",
	[FUZZ_N_PLACED_BEHIND] = "placed behind",
};

StaticAssertDecl(lengthof(kinds) == FUZZ_NCOUNTS, "each kind has a name");

/*
 * Memory for a page between two others that can't be touched.
 */
static Page
guarded_page(void)
{
	Size		guard = Max(sysconf(_SC_PAGESIZE), BLCKSZ);
	char	   *memory = mmap(NULL, 3 * guard, PROT_NONE,
							  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED ||
		mprotect(memory + guard, BLCKSZ, PROT_READ | PROT_WRITE) != 0)
		elog(ERROR, "could not get memory for a page: %m");
	return (Page) (memory + guard);
}

/*
 * Get ready.  Pages are kept for the session.
 */
static Fuzz *
create_fuzz(Relation index)
{
	static Page pages[3];
	Fuzz	   *f = palloc0_object(Fuzz);

	for (int i = 0; i < lengthof(pages); i++)
		if (pages[i] == NULL)
			pages[i] = guarded_page();
	fpb_index_open(&f->ix, index);
	f->page = pages[0];
	f->left = pages[1];
	f->right = pages[2];
	f->standby = palloc_aligned(BLCKSZ, PG_IO_ALIGN_SIZE, 0);
	f->before = palloc_aligned(BLCKSZ, PG_IO_ALIGN_SIZE, 0);
	f->model = palloc_array(FuzzEntry, FUZZ_MAX_KEYS);
	f->split_model = palloc_array(FuzzEntry, FUZZ_MAX_KEYS);
	f->found = palloc_array(FpbEntry, FUZZ_MAX_KEYS);
	f->items = palloc_array(FpbItem, FPB_MAX_PAGE_ENTRIES);
	f->positions = palloc_array(FpbPos, 2 * FPB_MAX_PAGE_ENTRIES);
	f->life_context = AllocSetContextCreate(CurrentMemoryContext, "page fuzzer: life",
											ALLOCSET_DEFAULT_SIZES);
	f->step_context = AllocSetContextCreate(CurrentMemoryContext, "page fuzzer: step",
											ALLOCSET_DEFAULT_SIZES);
	fuzz_load_keys(f, index);

	/* as if another version of the collation had made them */
	f->ix.old_heads = strstr(RelationGetRelationName(index), "_old") != NULL;
	return f;
}

/* one life, as fuzz_protect runs it */
typedef struct OneLife
{
	uint64		seed;
	FuzzHistory *history;
} OneLife;

static bool
run_life(Fuzz *f, void *arg)
{
	OneLife    *life = arg;

	return fuzz_live(f, life->seed, life->history);
}

Datum
fpb_page_fuzz(PG_FUNCTION_ARGS)
{
	Relation	index = fpb_open_index(PG_GETARG_OID(0), AccessShareLock);
	uint64		seed = PG_GETARG_INT64(1);
	int64		steps = PG_GETARG_INT64(2);
	Fuzz	   *f = create_fuzz(index);
	FuzzHistory history = {.max_ops = 1024,.max_entries = 4096};
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;

	InitMaterializedSRF(fcinfo, 0);
	history.ops = palloc_array(FuzzOp, history.max_ops);
	history.entries = palloc_array(FuzzEntry, history.max_entries);
	do
	{
		OneLife		life = {.seed = seed++,.history = &history};

		CHECK_FOR_INTERRUPTS();
		f->thorough = false;
		if (!fuzz_protect(f, run_life, &life))
		{
			/* what it does is no thing to do while an error is being raised */
			char	   *explanation = fuzz_explain(f, &history);

			ereport(ERROR,
					(errmsg("page fuzzer: index \"%s\", seed %llu: %s",
							RelationGetRelationName(index),
							(unsigned long long) life.seed, f->fault),
					 errdetail_internal("%s", explanation)));
		}
	} while (f->steps < steps);

	for (int i = -1; i < FUZZ_NCOUNTS; i++)
	{
		Datum		values[2];
		bool		isnull[2] = {false, false};

		values[0] = CStringGetTextDatum(i < 0 ? "all" : kinds[i]);
		values[1] = Int64GetDatum(i < 0 ? f->steps : f->counts[i]);
		tuplestore_putvalues(result->setResult, result->setDesc, values, isnull);
	}
	index_close(index, AccessShareLock);
	return (Datum) 0;
}
