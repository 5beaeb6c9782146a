/*-------------------------------------------------------------------------
 *
 * replay.c
 *	  What has been written down, done again with other indexes.
 *
 *	  fpb_replay(file text, schema text, warm boolean, OUT kind text,
 *				 OUT operations bigint, OUT ms float8, OUT found bigint)
 *		  RETURNS SETOF record
 *
 * The file is as record.c has it, but for the TID of an insertion's row, which
 * comes between calls and keys, "(block,offset)", or - for other operations.
 * The indexes have the same names, in the schema.  Returned are for each kind
 * of operations how many there were, the time that has gone by, and how many
 * have found an entry.
 *
 * Operations go to the access method through its interface, one after the
 * other, with no executor, and no rows are fetched.  Keys are read, and
 * indexes opened, before the clock is started.  A deletion is what the server
 * makes of one: a scan finds the entry, and is told that it is dead.  Who
 * tells has read the row, so that its page is in the buffers, and doesn't
 * count.  With warm, all pages of the indexes are read into the buffers first.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/relscan.h"
#include "access/table.h"
#include "catalog/index.h"
#include "catalog/namespace.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "portability/instr_time.h"
#include "storage/bufmgr.h"
#include "storage/fd.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

PG_FUNCTION_INFO_V1(fpb_replay);

/* operations that are read at a time */
#define BATCH		1000
#define MAX_INDEXES	32

/* an index, and what insertions into it need */
typedef struct Replayed
{
	Relation	index;
	Relation	heap;
	IndexInfo  *info;
} Replayed;

typedef enum Kind
{
	SEARCH, RANGE, INSERT, DELETE, KINDS
} Kind;

typedef struct Operation
{
	Replayed   *on;
	Kind		kind;
	ScanDirection direction;
	int64		calls;
	ItemPointerData tid;
	int			nkeys;
	ScanKeyData *keys;
} Operation;

typedef struct Total
{
	int64		operations;
	int64		found;
	instr_time	time;
	instr_time	start;
} Total;

static Replayed *
find_index(Replayed *indexes, int *nindexes, Oid schema, const char *name)
{
	Replayed   *on;

	for (int i = 0; i < *nindexes; i++)
		if (strcmp(RelationGetRelationName(indexes[i].index), name) == 0)
			return &indexes[i];
	if (*nindexes == MAX_INDEXES)
		elog(ERROR, "too many indexes");
	on = &indexes[(*nindexes)++];
	on->index = index_open(get_relname_relid(name, schema), RowExclusiveLock);
	on->heap = table_open(on->index->rd_index->indrelid, RowExclusiveLock);
	on->info = BuildIndexInfo(on->index);
	return on;
}

/*
 * Make a condition of three words.
 */
static void
make_key(Relation index, ScanKey key, char **words)
{
	int			column = atoi(words[0]);
	int			strategy = atoi(words[1]);
	Oid			type = index->rd_opcintype[column - 1];
	Oid			operator = get_opfamily_member(index->rd_opfamily[column - 1], type, type, strategy);
	Oid			input;
	Oid			parameter;

	getTypeInputInfo(TupleDescAttr(RelationGetDescr(index), column - 1)->atttypid, &input, &parameter);
	ScanKeyEntryInitialize(key, 0, column, strategy, type, index->rd_indcollation[column - 1],
						   get_opcode(operator), OidInputFunctionCall(input, words[2], parameter, -1));
}

static void
make_operation(Operation *op, Replayed *on, char kind, char **words, int nwords)
{
	int			block;
	int			offset;

	op->on = on;
	op->kind = kind == 'i' ? INSERT : kind == 'd' ? DELETE : kind == 's' ? SEARCH : RANGE;
	op->direction = kind == 'b' ? BackwardScanDirection : ForwardScanDirection;
	op->calls = strtoll(words[0], NULL, 10);
	if (op->kind == INSERT)
	{
		if (sscanf(words[1], "(%d,%d)", &block, &offset) != 2)
			elog(ERROR, "no TID for an insertion: \"%s\"", words[1]);
		ItemPointerSet(&op->tid, block, offset);
	}
	op->nkeys = (nwords - 2) / 3;
	op->keys = palloc(sizeof(ScanKeyData) * op->nkeys);
	for (int i = 0; i < op->nkeys; i++)
		make_key(on->index, &op->keys[i], words + 2 + 3 * i);
}

static void
insert(Operation *op)
{
	Datum		values[INDEX_MAX_KEYS];
	bool		isnull[INDEX_MAX_KEYS] = {0};

	for (int i = 0; i < op->nkeys; i++)
		values[op->keys[i].sk_attno - 1] = op->keys[i].sk_argument;
	index_insert(op->on->index, values, isnull, &op->tid, op->on->heap, UNIQUE_CHECK_NO, false, op->on->info);
}

static void
start_clock(Total *total)
{
	INSTR_TIME_SET_CURRENT(total->start);
}

static void
stop_clock(Total *total)
{
	instr_time	now;

	INSTR_TIME_SET_CURRENT(now);
	INSTR_TIME_ACCUM_DIFF(total->time, now, total->start);
}

static void
scan(Operation *op, Total *total)
{
	IndexScanDesc scan = index_beginscan(op->on->heap, op->on->index, GetActiveSnapshot(), NULL, op->nkeys, 0);
	int64		entries = 0;

	index_rescan(scan, op->keys, op->nkeys, NULL, 0);
	while (entries < op->calls && index_getnext_tid(scan, op->direction) != NULL)
		entries++;
	if (op->kind == DELETE && entries > 0)
	{
		stop_clock(total);
		ReleaseBuffer(ReadBuffer(op->on->heap, ItemPointerGetBlockNumber(&scan->xs_heaptid)));
		start_clock(total);
		scan->kill_prior_tuple = true;
		index_getnext_tid(scan, op->direction);
	}
	index_endscan(scan);
	total->found += entries > 0;
}

static void
run(Operation *op, Total *total)
{
	start_clock(total);
	if (op->kind == INSERT)
		insert(op);
	else
		scan(op, total);
	stop_clock(total);
	total->operations++;
}

static void
read_pages(Relation index)
{
	BlockNumber nblocks = RelationGetNumberOfBlocks(index);

	for (BlockNumber block = 0; block < nblocks; block++)
		ReleaseBuffer(ReadBuffer(index, block));
}

Datum
fpb_replay(PG_FUNCTION_ARGS)
{
	static const char *const names[KINDS] = {"search", "range", "insert", "delete"};
	char	   *path = text_to_cstring(PG_GETARG_TEXT_PP(0));
	Oid			schema = get_namespace_oid(text_to_cstring(PG_GETARG_TEXT_PP(1)), false);
	bool		warm = PG_GETARG_BOOL(2);
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	MemoryContext batch = AllocSetContextCreate(CurrentMemoryContext, "operations to be replayed", ALLOCSET_DEFAULT_SIZES);
	Replayed	indexes[MAX_INDEXES];
	int			nindexes = 0;
	Total		totals[KINDS] = {0};
	Operation  *operations = palloc(sizeof(Operation) * BATCH);
	char		line[4096];
	FILE	   *file;
	int			n;

	InitMaterializedSRF(fcinfo, 0);
	if ((file = AllocateFile(path, "r")) == NULL)
		elog(ERROR, "could not open \"%s\": %m", path);

	/* once to know the indexes */
	while (fgets(line, sizeof(line), file) != NULL)
		find_index(indexes, &nindexes, schema, strtok(line, "\t"));
	for (int i = 0; warm && i < nindexes; i++)
		read_pages(indexes[i].index);
	rewind(file);

	do
	{
		MemoryContext old = MemoryContextSwitchTo(batch);

		CHECK_FOR_INTERRUPTS();
		for (n = 0; n < BATCH && fgets(line, sizeof(line), file) != NULL; n++)
		{
			char	   *words[2 + 2 + 3 * INDEX_MAX_KEYS];
			int			nwords = 0;

			for (char *word = strtok(line, " \t\n"); word != NULL; word = strtok(NULL, " \t\n"))
			{
				if (nwords == lengthof(words))
					elog(ERROR, "too many words");
				words[nwords++] = word;
			}
			if (nwords < 4 || (nwords - 4) % 3 != 0)
				elog(ERROR, "this is no operation of an index");
			make_operation(&operations[n], find_index(indexes, &nindexes, schema, words[0]), words[1][0],
						   words + 2, nwords - 2);
		}
		for (int i = 0; i < n; i++)
			run(&operations[i], &totals[operations[i].kind]);
		MemoryContextSwitchTo(old);
		MemoryContextReset(batch);
	} while (n == BATCH);

	FreeFile(file);
	for (int i = 0; i < nindexes; i++)
	{
		index_insert_cleanup(indexes[i].index, indexes[i].info);
		table_close(indexes[i].heap, NoLock);
		index_close(indexes[i].index, NoLock);
	}
	for (int i = 0; i < KINDS; i++)
	{
		bool		nulls[4] = {0};
		Datum		values[4] = {
			CStringGetTextDatum(names[i]), Int64GetDatum(totals[i].operations),
			Float8GetDatum(INSTR_TIME_GET_MILLISEC(totals[i].time)), Int64GetDatum(totals[i].found)
		};

		tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
	}
	return (Datum) 0;
}
