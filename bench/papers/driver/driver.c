/*-------------------------------------------------------------------------
 *
 * driver.c
 *	  The papers' experiments: an index measured, and their baseline.
 *
 * Not part of the extension: bench/fpbench papers builds it into a server of
 * its own and declares the function there.
 *
 *	  fpb_drive(index regclass, work text, operations bigint, keys bigint,
 *				seed bigint, OUT ns float8, OUT elapsed float8, OUT wal float8,
 *				OUT found bigint)
 *
 * For an operation (tune/measure.h), ns: nanoseconds of the processor's time;
 * elapsed: those that have gone by; wal: bytes that have been logged.  found
 * depends on all that has been found, so that it can be seen whether two ways
 * to search find the same.  All pages of the index are read into the buffers
 * first.  Insertions into an index in one session never repeat a key.
 *
 * work is search, scan, insert or delete.  In front of it there may be how
 * pages are worked on, if not as the extension does:
 *
 *	  sorted		as plain sorted arrays, the papers' baseline (sorted.c); on
 *					an index of the layout micro_index
 *	  linear, counting, bisecting, branchless
 *					disk_first: how nodes are searched (methods.c), and
 *	  unfetched		in front of that, without prefetching
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <time.h>

#include "access/htup_details.h"
#include "access/relation.h"
#include "access/xlog.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "driver.h"
#include "base/open_index.h"
#include "tree/tree.h"
#include "tune/measure.h"

PG_FUNCTION_INFO_V1(fpb_drive);

/* which keys have been inserted into an index, by number, and how many */
typedef struct Taken
{
	Oid			index;
	bool	   *keys;
	int64		count;
} Taken;

/* the index that is being driven, and what it is worked on by */
static FpbIndex *driven;
static const FpbLayoutRoutine *driven_layout;
static uint16 driven_front;
static uint16 driven_back;

/* is something being measured, and of what has been, both kinds of time */
static bool measuring;
static int64 processor_total;
static int64 elapsed_total;

static int64
nanoseconds(clockid_t clock)
{
	struct timespec time;

	clock_gettime(clock, &time);
	return (int64) time.tv_sec * NS_PER_S + time.tv_nsec;
}

/*
 * The time that this process has been running: what else the machine does in
 * the meantime is not the index's.  fpb_measure asks for it at the beginning
 * and at the end of each batch that it measures, in turn.
 *
 * That is also the time to see whether the index is still worked on as it
 * should be: its routines are looked up again when the root has moved.
 */
static void
processor_time(instr_time *now)
{
	static int64 processor;
	static int64 elapsed;
	int64		processor_now = nanoseconds(CLOCK_PROCESS_CPUTIME_ID);
	int64		elapsed_now = nanoseconds(CLOCK_MONOTONIC);

	if (measuring)
	{
		processor_total += processor_now - processor;
		elapsed_total += elapsed_now - elapsed;
	}
	driven->layout = driven_layout;
	driven->prefetch_front = driven_front;
	driven->prefetch_back = driven_back;
	measuring = !measuring;
	processor = processor_now;
	elapsed = elapsed_now;
	now->ticks = processor_now;
}

/*
 * Which keys have been inserted into an index in this session; now there will
 * be so many more.
 */
static bool *
taken_keys(Oid index, int64 keys, int64 more)
{
	static List *all = NIL;
	MemoryContext old = MemoryContextSwitchTo(TopMemoryContext);
	ListCell   *cell;
	Taken	   *taken = NULL;

	foreach(cell, all)
	{
		if (((Taken *) lfirst(cell))->index == index)
			taken = lfirst(cell);
	}
	if (taken == NULL)
	{
		taken = palloc(sizeof(Taken));
		taken->index = index;
		taken->count = 0;
		taken->keys = palloc_extended(keys, MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
		all = lappend(all, taken);
	}
	MemoryContextSwitchTo(old);

	/* it would take ever longer to find one that is not taken */
	taken->count += more;
	if (taken->count > keys / 2)
		elog(ERROR, "too many insertions for an index of " INT64_FORMAT " keys", keys);
	return taken->keys;
}

/*
 * If words begin with this one, the rest of them, else NULL.
 */
static char *
behind_word(char *words, const char *word)
{
	size_t		length = strlen(word);

	return strncmp(words, word, length) == 0 && words[length] == ' ' ? words + length + 1 : NULL;
}

/*
 * Have the index worked on as the words in front of the work say; returns what
 * is behind them.
 */
static char *
choose_way(FpbIndex *ix, char *work)
{
	char	   *rest = behind_word(work, "sorted");
	bool		prefetch = true;

	if (rest != NULL)
	{
		driver_use_sorted(ix);
		return rest;
	}
	if ((rest = behind_word(work, "unfetched")) != NULL)
	{
		prefetch = false;
		work = rest;
	}
	if ((rest = strchr(work, ' ')) == NULL)
		return work;
	*rest = '\0';
	if (!driver_use_method(ix, work, prefetch))
		elog(ERROR, "there is no way to search \"%s\"", work);
	if (strcmp(rest + 1, "search") != 0)
		elog(ERROR, "methods are for searching");
	return rest + 1;
}

Datum
fpb_drive(PG_FUNCTION_ARGS)
{
	static const struct
	{
		const char *name;
		FpbWork		work;
	}			works[] = {
		{"search", FPB_WORK_LOOKUP}, {"scan", FPB_WORK_SCAN},
		{"insert", FPB_WORK_INSERT}, {"delete", FPB_WORK_DELETE}
	};
	Relation	rel = fpb_open_index(PG_GETARG_OID(0), RowExclusiveLock);
	char	   *work = text_to_cstring(PG_GETARG_TEXT_PP(1));
	FpbMeasured measured = {
		.keys = PG_GETARG_INT64(3),
		.seed = (uint64) PG_GETARG_INT64(4),
		.clock = processor_time
	};
	int64		operations = PG_GETARG_INT64(2);
	double		ns = -1;
	XLogRecPtr	start;
	TupleDesc	desc;
	Datum		values[4];
	bool		nulls[4] = {0};

	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "fpb_drive has been declared wrongly");
	fpb_index_open(&measured.ix, rel);
	measured.heap = relation_open(rel->rd_index->indrelid, AccessShareLock);
	work = choose_way(&measured.ix, work);
	fpb_measure_prepare(rel);
	if (strcmp(work, "insert") == 0)
		measured.taken = taken_keys(RelationGetRelid(rel), measured.keys, operations);

	driven = &measured.ix;
	driven_layout = driven->layout;
	driven_front = driven->prefetch_front;
	driven_back = driven->prefetch_back;

	/* an error may have cut an earlier measurement short */
	measuring = false;
	processor_total = elapsed_total = 0;
	start = GetXLogInsertRecPtr();
	for (int i = 0; i < (int) lengthof(works); i++)
		if (strcmp(work, works[i].name) == 0)
			ns = fpb_measure(&measured, works[i].work, operations);
	if (ns < 0)
		elog(ERROR, "there is no work \"%s\"", work);

	relation_close(measured.heap, AccessShareLock);
	relation_close(rel, RowExclusiveLock);
	values[0] = Float8GetDatum(ns);
	values[1] = Float8GetDatum(ns * elapsed_total / Max(processor_total, 1));
	values[2] = Float8GetDatum((double) (GetXLogInsertRecPtr() - start) / operations);
	values[3] = Int64GetDatum((int64) measured.found);
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(desc), values, nulls)));
}
