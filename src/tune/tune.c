/*-------------------------------------------------------------------------
 *
 * tune/tune.c
 *	  fpbtree_tune(): measures designs on this machine.
 *
 * According to the papers, the best shape of a page depends on the processor.
 * So fpbtree_tune() builds indexes of every form of keys in many designs, and
 * measures how long a lookup, an insertion and an entry of a scan take.  The
 * figures become the body of the extension's function fpbtree_tuning(), which
 * CREATE INDEX reads (build/design.c).
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/table.h"
#include "access/xlog.h"
#include "catalog/index.h"
#include "catalog/pg_proc_d.h"
#include "catalog/storage.h"
#include "commands/extension.h"
#include "common/pg_prng.h"
#include "executor/spi.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "portability/instr_time.h"
#include "storage/bufmgr.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/float.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/tuplestore.h"

#include "build/design.h"
#include "page/layout.h"
#include "tree/buffers.h"
#include "tune/measure.h"

PG_FUNCTION_INFO_V1(fpbtree_tune);
PG_FUNCTION_INFO_V1(fpbtree_tune_reset);

/* how many keys an index can be measured with */
#define MIN_KEYS		1000
#define MAX_KEYS		INT64CONST(100000000)

/* how many operations are timed together; at most a twentieth of the keys are inserted */
#define OPERATIONS		100000

/*
 * How often each kind and width is built, with all others between two times,
 * and how often it is read each time.  The least time counts, because a
 * machine is not always as fast as it can be.
 */
#define TURNS			2
#define READINGS		3

/*
 * How full the leaves are, in percent.  That is how full they are in the long
 * run.  A new index has few gaps, which insertions would depend on.
 */
#define FULL			80

/* memory in which cache misses are measured, larger than any cache */
#define CHAIN_BYTES		(256 * 1024 * 1024)
#define CHAIN_STEPS		1000000
#define LINES_AT_ONCE	16

/* the table and the index that stand for a form */
typedef struct Subject
{
	FpbForm		form;
	const char *values;			/* the columns of row i, of number 2 * i */
	const char *columns;		/* those of the index */
} Subject;

static const Subject subjects[] = {
	{FPB_WORD4, "(2 * i)::int4 AS a", "a"},
	{FPB_WORD8, "(2 * i)::int8 AS a", "a"},
	{FPB_WORD16, "(2 * i)::int8 AS a, (2 * i)::int8 AS b", "a, b"},
	{FPB_TUPLE, "md5((2 * i)::text) AS a", "a COLLATE \"C\""}
};

/*
 * The designs: each of these kinds, with the first nwidths of these widths,
 * searched in each of these ways.  The first design is what an index has
 * without figures.  (micro_index needs few widths, because an insertion into a
 * sorted array logs half a page, whatever the width.)
 */
static const struct
{
	int			layout;
	int			node_format;
	int			nwidths;
}			kinds[] = {
	{FPB_DISK_FIRST, FPB_NODES_NUMBERED, 11},
	{FPB_DISK_FIRST, FPB_NODES_CSB, 11},
	{FPB_MICRO_INDEX, FPB_NODES_NUMBERED, 4},
	{FPB_CACHE_FIRST, FPB_NODES_NUMBERED, 4}
};

static const int widths[] = {0, 2, 8, 32, 3, 4, 6, 10, 12, 16, 24};

static const struct
{
	int			node_search;
	bool		node_prefetch;
}			ways[] = {
	{FPB_SEARCH_COUNTING, true},
	{FPB_SEARCH_BISECTING, true},
	{FPB_SEARCH_COUNTING, false},
	{FPB_SEARCH_BISECTING, false}
};

#define WAYS			((int) lengthof(ways))

/*
 * How many rounds insertions are divided into, each of which begins with
 * another way, because insertions change the index.  The median of all rounds
 * counts, because insertions after a checkpoint log images of pages.
 */
#define ROUNDS			lengthof(ways)

/* how long operations take, in nanoseconds each */
typedef struct Figures
{
	double		lookup;
	double		insert;
	double		scan;
} Figures;

/* pages of one kind and width, which can be searched in all ways */
typedef struct Candidate
{
	FpbDesign	design;
	bool		skip;			/* an earlier one has the same design */
	Figures		figures[lengthof(ways)];
	double		rounds[lengthof(ways)][TURNS * ROUNDS]; /* of insertions */
} Candidate;

/* how many there can be */
#define CANDIDATES		(lengthof(kinds) * lengthof(widths))

/* --- the memory --- */

/*
 * Measure the time of a cache miss (T1), and of each further line that is
 * fetched at the same time (Tnext), in nanoseconds: see fpbtree-sigmod2002,
 * section 3.1.1.
 */
static void
measure_memory(double *t1, double *tnext)
{
	const int	lines_of_node = LINES_AT_ONCE * FPB_CACHE_LINE / sizeof(uint64);
	int			nnodes = CHAIN_BYTES / (LINES_AT_ONCE * FPB_CACHE_LINE);
	uint64	   *memory = palloc_aligned(CHAIN_BYTES, FPB_CACHE_LINE, MCXT_ALLOC_HUGE);
	int		   *order = palloc(sizeof(int) * nnodes);
	volatile uint64 sink;
	uint64		sum = 0;
	double		ns[2];
	pg_prng_state random;

	/* one circle through all nodes, in random order */
	pg_prng_seed(&random, 1);
	memset(memory, 0, CHAIN_BYTES);
	for (int i = 0; i < nnodes; i++)
		order[i] = i;
	for (int i = nnodes - 1; i > 0; i--)
	{
		int			other = (int) pg_prng_uint64_range(&random, 0, i);
		int			swap = order[i];

		order[i] = order[other];
		order[other] = swap;
	}
	for (int i = 0; i < nnodes; i++)
		memory[(Size) order[i] * lines_of_node] = order[(i + 1) % nnodes];

	for (int whole = 0; whole <= 1; whole++)
	{
		uint64		node = 0;
		instr_time	start;
		instr_time	end;

		INSTR_TIME_SET_CURRENT(start);
		for (int step = 0; step < CHAIN_STEPS; step++)
		{
			uint64	   *lines = memory + node * lines_of_node;

			if (whole)
			{
				for (int i = 0; i < LINES_AT_ONCE; i++)
					__builtin_prefetch((char *) lines + i * FPB_CACHE_LINE);
				for (int i = 1; i < LINES_AT_ONCE; i++)
					sum += *(uint64 *) ((char *) lines + i * FPB_CACHE_LINE);
			}
			/* the next one is known when all lines have come */
			node = lines[0] + (sum & 1);
		}
		INSTR_TIME_SET_CURRENT(end);
		INSTR_TIME_SUBTRACT(end, start);
		ns[whole] = INSTR_TIME_GET_DOUBLE(end) * 1e9 / CHAIN_STEPS;
		sum += node & ~UINT64CONST(1);
		CHECK_FOR_INTERRUPTS();
	}
	sink = sum;
	(void) sink;
	*t1 = ns[0];
	*tnext = Max(ns[1] - ns[0], 0) / (LINES_AT_ONCE - 1);
	pfree(order);
	pfree(memory);
}

/* --- an index --- */

/*
 * Execute a statement by SPI.
 */
static void
execute(const char *statement)
{
	int			code = SPI_execute(statement, false, 0);

	if (code < 0)
		elog(ERROR, "SPI_execute failed: %s: %s", SPI_result_code_string(code), statement);
}

/*
 * Suppress notices, such as those about options of the measured index, until
 * AtEOXact_GUC is called with the result.
 */
static int
begin_quiet(void)
{
	int			level = NewGUCNestLevel();

	if (client_min_messages < WARNING)
		(void) set_config_option("client_min_messages", "warning", PGC_USERSET,
								 PGC_S_SESSION, GUC_ACTION_SAVE, true, 0, false);
	return level;
}

/*
 * Build the index again in its own file, as TRUNCATE does.  That is allowed
 * because this transaction has made the table.
 */
static void
rebuild(Relation heap, Relation index)
{
	RelationTruncate(index, 0);
	fpb_index_build(heap, index, BuildIndexInfo(index), true, false);
}

/*
 * Make searches of an open index's nodes go one of the ways, until its
 * metapage is read again.  (That happens when insertions have split the root.
 * The rest of a round's then search as the index itself does.)
 */
static void
use_way(FpbIndex *ix, int way)
{
	int			leaf_lines;
	int			inner_lines;

	fpb_layout_lines(ix, &leaf_lines, &inner_lines);
	fpb_layout_search(ix, ways[way].node_search == FPB_SEARCH_BISECTING,
					  ways[way].node_prefetch);
	fpb_layout_shapes(ix, leaf_lines, inner_lines);
}

/*
 * Measure lookups and scans in all ways, in turn.  The least of all times
 * measured so far becomes the figure.
 */
static void
measure_reading(FpbMeasured *measured, Figures *figures)
{
	int64		lookups = Min(OPERATIONS, measured->keys);
	int64		entries = Max(OPERATIONS, measured->keys);

	for (int i = 0; i < READINGS * WAYS; i++)
	{
		Figures    *way = &figures[i % WAYS];
		double		lookup;
		double		scan;

		use_way(&measured->ix, i % WAYS);
		lookup = fpb_measure(measured, FPB_WORK_LOOKUP, lookups);
		scan = fpb_measure(measured, FPB_WORK_SCAN, entries);
		way->lookup = Min(way->lookup, lookup);
		way->scan = Min(way->scan, scan);
	}
}

/*
 * Measure insertions: the rounds of one of the turns.
 */
static void
measure_insertions(FpbMeasured *measured, int turn, Candidate *candidate)
{
	int64		insertions = Min(OPERATIONS, measured->keys / 20);

	measured->taken = palloc_extended(measured->keys, MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	for (int round = 0; round < (int) ROUNDS; round++)
	{
		for (int i = 0; i < WAYS; i++)
		{
			int			way = (round + i) % WAYS;

			use_way(&measured->ix, way);
			candidate->rounds[way][turn * ROUNDS + round] =
				fpb_measure(measured, FPB_WORK_INSERT,
							Max(insertions / (ROUNDS * WAYS), 1));
		}
	}
	pfree(measured->taken);
}

static int
compare_doubles(const void *a, const void *b)
{
	return float8_cmp_internal(*(const double *) a, *(const double *) b);
}

/*
 * Take the medians of the rounds of insertions as figures.
 */
static void
take_medians(Candidate *candidate)
{
	for (int way = 0; way < WAYS; way++)
	{
		double	   *rounds = candidate->rounds[way];

		qsort(rounds, TURNS * ROUNDS, sizeof(double), compare_doubles);
		candidate->figures[way].insert = rounds[TURNS * ROUNDS / 2];
	}
}

/*
 * Measure a candidate with the index fpbtree_tuned_k, in one of the turns.
 */
static void
measure_candidate(const char *schema, Oid heapid, Oid indexid, int64 keys, int turn,
				  bool first_of_form, Candidate *candidate)
{
	FpbMeasured measured = {.keys = keys,.seed = turn};
	Relation	index;
	int			inner_lines;
	int			guc_level = begin_quiet();

	execute(psprintf("ALTER INDEX %s.fpbtree_tuned_k SET (layout = %s, node_format = %s, leaf_lines = %d)",
					 schema, fpb_layout_name(candidate->design.layout),
					 fpb_node_format_name(candidate->design.node_format),
					 candidate->design.leaf_lines));
	measured.heap = table_open(heapid, AccessExclusiveLock);
	index = index_open(indexid, AccessExclusiveLock);
	rebuild(measured.heap, index);
	AtEOXact_GUC(false, guc_level);
	CommandCounterIncrement();

	fpb_index_open(&measured.ix, index);
	fpb_layout_lines(&measured.ix, &candidate->design.leaf_lines, &inner_lines);
	fpb_measure_prepare(index);
	measure_reading(&measured, candidate->figures);
	measure_insertions(&measured, turn, candidate);
	if (first_of_form && RelationGetNumberOfBlocks(index) > (BlockNumber) NBuffers / 2)
		ereport(WARNING,
				(errmsg("%s: an index of so many keys takes more than half of \"shared_buffers\", so that reading it from disk is measured, too",
						fpb_form_name(measured.ix.form)),
				 errhint("Measure fewer keys, or raise \"shared_buffers\".")));
	index_close(index, NoLock);
	table_close(measured.heap, NoLock);
}

/*
 * List the candidates of a form, with the designs that are asked for.  Returns
 * how many there are.
 */
static int
begin_candidates(FpbForm form, Candidate *candidates)
{
	const Figures none = {.lookup = get_float8_infinity(),.scan = get_float8_infinity()};
	int			n = 0;

	for (int kind = 0; kind < (int) lengthof(kinds); kind++)
	{
		for (int i = 0; i < kinds[kind].nwidths; i++)
		{
			candidates[n].design = fpb_unnamed_design;
			candidates[n].design.layout = kinds[kind].layout;
			candidates[n].design.node_format = kinds[kind].node_format;
			candidates[n].design.leaf_lines = widths[i];
			/* cache_first makes the same pages of tuples as disk_first */
			candidates[n].skip = form == FPB_TUPLE &&
				kinds[kind].layout == FPB_CACHE_FIRST;
			for (int way = 0; way < WAYS; way++)
				candidates[n].figures[way] = none;
			n++;
		}
	}
	return n;
}

/*
 * Has an earlier candidate got the same design as the n'th?
 */
static bool
is_repeated(const Candidate *candidates, int n)
{
	for (int i = 0; i < n; i++)
		if (candidates[i].design.layout == candidates[n].design.layout &&
			candidates[i].design.node_format == candidates[n].design.node_format &&
			candidates[i].design.leaf_lines == candidates[n].design.leaf_lines)
			return true;
	return false;
}

/*
 * Add a candidate's figures to the others', as rows of VALUES, and report them
 * as notices.
 */
static void
note_figures(FpbForm form, const Candidate *candidate, bool usual, StringInfo values)
{
	const char *layout = fpb_layout_name(candidate->design.layout);
	const char *node_format = fpb_node_format_name(candidate->design.node_format);

	for (int way = 0; way < WAYS; way++)
	{
		const Figures *figures = &candidate->figures[way];
		const char *search = fpb_node_search_name(ways[way].node_search);

		ereport(NOTICE,
				(errmsg("%s, %s, %s, %d lines, %s, %s: lookup %.0f ns, insertion %.0f ns, entry of a scan %.2f ns",
						fpb_form_name(form), layout, node_format, candidate->design.leaf_lines,
						search, ways[way].node_prefetch ? "prefetched" : "not prefetched",
						figures->lookup, figures->insert, figures->scan)));
		appendStringInfo(values, "%s\n('%s', '%s', '%s', %d, '%s', %s, %.17g, %.17g, %.17g, %s)",
						 values->len > 0 ? "," : "",
						 fpb_form_name(form), layout, node_format,
						 candidate->design.leaf_lines, search,
						 ways[way].node_prefetch ? "true" : "false",
						 figures->lookup, figures->insert, figures->scan,
						 usual && way == 0 ? "true" : "false");
	}
}

/*
 * Measure all designs of one form of keys, and add the figures to the others'.
 */
static void
measure_form(const char *schema, Oid namespace, const Subject *subject, int64 keys,
			 StringInfo values)
{
	Candidate	candidates[CANDIDATES];
	int			ncandidates = begin_candidates(subject->form, candidates);
	Oid			heapid;
	Oid			indexid;
	int			guc_level;

	/*
	 * Rows of an unlogged table are not logged until the table is rewritten,
	 * and then not sent to subscribers.
	 */
	execute(psprintf("CREATE UNLOGGED TABLE %s.fpbtree_tuned USING heap AS"
					 " SELECT %s FROM generate_series(1, " INT64_FORMAT "::int8) i",
					 schema, subject->values, keys));
	execute(psprintf("ALTER TABLE %s.fpbtree_tuned SET LOGGED", schema));
	guc_level = begin_quiet();
	execute(psprintf("CREATE INDEX fpbtree_tuned_k ON %s.fpbtree_tuned USING fpbtree (%s)"
					 " WITH (layout = disk_first, node_format = numbered, leaf_lines = 2, fillfactor = %d)",
					 schema, subject->columns, FULL));
	AtEOXact_GUC(false, guc_level);
	heapid = get_relname_relid("fpbtree_tuned", namespace);
	indexid = get_relname_relid("fpbtree_tuned_k", namespace);

	for (int turn = 0; turn < TURNS; turn++)
	{
		ereport(NOTICE,
				(errmsg("%s: turn %d of %d", fpb_form_name(subject->form), turn + 1, TURNS)));
		for (int i = 0; i < ncandidates; i++)
		{
			if (candidates[i].skip)
				continue;
			measure_candidate(schema, heapid, indexid, keys, turn, turn + i == 0, &candidates[i]);
			candidates[i].skip = is_repeated(candidates, i);
		}
	}
	for (int i = 0; i < ncandidates; i++)
	{
		if (candidates[i].skip)
			continue;
		take_medians(&candidates[i]);
		note_figures(subject->form, &candidates[i], i == 0, values);
	}
	execute(psprintf("DROP TABLE %s.fpbtree_tuned", schema));
}

/* --- the functions --- */

/* rows of VALUES: none, but of the right types */
#define NO_FIGURES	"('', '', '', 0, '', true, 0, 0, 0, false) LIMIT 0"

/*
 * Make the figures, rows of VALUES, the body of fpbtree_tuning.  The body
 * names nothing, so it means the same for any caller and search_path.  SPI is
 * connected.  The server checks privileges.
 */
static void
set_figures(const char *schema, const char *values)
{
	execute(psprintf("CREATE OR REPLACE FUNCTION %s.fpbtree_tuning("
					 "OUT form text, OUT layout text, OUT node_format text, OUT leaf_lines integer,"
					 " OUT node_search text, OUT node_prefetch boolean,"
					 " OUT lookup_ns float8, OUT insert_ns float8, OUT scan_ns float8, OUT usual boolean)"
					 " RETURNS SETOF record LANGUAGE sql STABLE PARALLEL SAFE"
					 " AS $figures$VALUES %s$figures$", schema, values));
}

/*
 * Lock fpbtree_tuning, so that nobody else changes or drops it.  Raises an
 * error if it does not exist.
 */
static void
lock_figures(void)
{
	Oid			function = fpb_tuning_function();

	if (!OidIsValid(function))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_FUNCTION),
				 errmsg("the extension \"fpbtree\" has no function \"fpbtree_tuning\""),
				 errhint("Drop the extension, and create it again.")));
	LockDatabaseObject(ProcedureRelationId, function, 0, ShareRowExclusiveLock);
	if (fpb_tuning_function() != function)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_FUNCTION),
				 errmsg("the extension \"fpbtree\" has been dropped concurrently")));
}

/* the columns of fpbtree_tune, in the order of its SQL declaration */
typedef enum ChoiceColumn
{
	CHOICE_FORM,
	CHOICE_PURPOSE,
	CHOICE_LAYOUT,
	CHOICE_NODE_FORMAT,
	CHOICE_LEAF_LINES,
	CHOICE_NODE_SEARCH,
	CHOICE_NODE_PREFETCH,
	CHOICE_COLUMNS
} ChoiceColumn;

/*
 * Return the designs that CREATE INDEX chooses now, a row for each form and
 * purpose.
 */
static void
return_choices(ReturnSetInfo *result)
{
	for (int i = 0; i < (int) lengthof(subjects); i++)
	{
		for (int purpose = 0; purpose < FPB_PURPOSES; purpose++)
		{
			FpbDesign	design = fpb_unnamed_design;
			Datum		values[CHOICE_COLUMNS];
			bool		nulls[CHOICE_COLUMNS] = {0};

			fpb_complete_design(subjects[i].form, purpose, true, &design);
			values[CHOICE_FORM] = CStringGetTextDatum(fpb_form_name(subjects[i].form));
			values[CHOICE_PURPOSE] = CStringGetTextDatum(fpb_purpose_name(purpose));
			values[CHOICE_LAYOUT] = CStringGetTextDatum(fpb_layout_name(design.layout));
			values[CHOICE_NODE_FORMAT] =
				CStringGetTextDatum(fpb_node_format_name(design.node_format));
			values[CHOICE_LEAF_LINES] = Int32GetDatum(design.leaf_lines);
			values[CHOICE_NODE_SEARCH] =
				CStringGetTextDatum(fpb_node_search_name(design.node_search));
			values[CHOICE_NODE_PREFETCH] = BoolGetDatum(design.node_prefetch);
			tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
		}
	}
}

/*
 * fpbtree_tune(keys bigint) returns setof record
 *
 * Takes minutes and all of a processor, and reports by notices how far it is.
 * What it builds is gone when it ends.  If it fails, the figures stay as they
 * were.
 */
Datum
fpbtree_tune(PG_FUNCTION_ARGS)
{
	int64		keys = PG_GETARG_INT64(0);
	Oid			namespace;
	const char *schema;
	StringInfoData values;
	int			nest;
	double		t1;
	double		tnext;

	if (keys < MIN_KEYS || keys > MAX_KEYS)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("number of keys must be between %d and " INT64_FORMAT, MIN_KEYS, MAX_KEYS)));

	/* one at a time, because they would disturb each other's figures */
	lock_figures();
	namespace = get_extension_schema(get_extension_oid("fpbtree", false));
	schema = quote_identifier(get_namespace_name(namespace));
	InitMaterializedSRF(fcinfo, 0);

	/* so that all names and operators are the server's */
	nest = NewGUCNestLevel();
	RestrictSearchPath();
	SPI_connect();

	if (!XLogIsNeeded())
		ereport(WARNING,
				(errmsg("insertions are measured without WAL, because \"wal_level\" is \"minimal\"")));
	measure_memory(&t1, &tnext);
	ereport(NOTICE,
			(errmsg("memory: a cache miss takes %.0f ns, each further line asked for at once %.1f ns",
					t1, tnext)));

	/* so that earlier figures have no influence on the measured indexes */
	set_figures(schema, NO_FIGURES);
	CommandCounterIncrement();
	initStringInfo(&values);
	for (int i = 0; i < (int) lengthof(subjects); i++)
		measure_form(schema, namespace, &subjects[i], keys, &values);
	set_figures(schema, values.data);
	CommandCounterIncrement();

	SPI_finish();
	AtEOXact_GUC(true, nest);
	return_choices((ReturnSetInfo *) fcinfo->resultinfo);
	return (Datum) 0;
}

/*
 * fpbtree_tune_reset() returns void
 *
 * Forgets the figures.  CREATE EXTENSION calls it, too, to make
 * fpbtree_tuning.
 */
Datum
fpbtree_tune_reset(PG_FUNCTION_ARGS pg_attribute_unused())
{
	int			nest;
	Oid			namespace;

	if (!creating_extension)
		lock_figures();
	namespace = get_extension_schema(get_extension_oid("fpbtree", false));
	nest = NewGUCNestLevel();
	RestrictSearchPath();
	SPI_connect();
	set_figures(quote_identifier(get_namespace_name(namespace)), NO_FIGURES);
	SPI_finish();
	AtEOXact_GUC(true, nest);
	PG_RETURN_VOID();
}
