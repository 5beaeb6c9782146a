/*-------------------------------------------------------------------------
 *
 * record.c
 *	  An access method that is btree, and writes down what it is asked for.
 *
 * Each operation of a session of pgbench is a line of the file that the
 * setting fpb_trace.file names:
 *
 *	  index <tab> kind <tab> calls <tab> keys
 *
 * kind is i for an insertion; s for a scan with equality for each of the
 * index's columns, r for any other, b for one that goes backward; d for an
 * entry that a scan has been told is dead, which is how the server deletes
 * entries of an index, but for VACUUM.  calls is how often the scan has been
 * asked for an entry.  keys are words: for each condition the column's number,
 * the strategy and the value.  (Insertions and deletions have a condition for
 * each column.)  A scan is written down when it ends.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <fcntl.h>
#include <unistd.h>

#include "access/amapi.h"
#include "access/itup.h"
#include "access/nbtree.h"
#include "access/relscan.h"
#include "access/stratnum.h"
#include "fmgr.h"
#include "lib/ilist.h"
#include "lib/stringinfo.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"

PG_MODULE_MAGIC;

PG_FUNCTION_INFO_V1(fpb_trace_handler);

void		_PG_init(void);

/* a scan that is going on, and what it has done */
typedef struct Recorded
{
	dlist_node	node;
	IndexScanDesc scan;
	StringInfoData keys;
	bool		all_equal;
	bool		backward;
	int64		calls;
} Recorded;

static char *trace_file;
static int	trace_fd = -1;
static dlist_head scans = DLIST_STATIC_INIT(scans);
static const IndexAmRoutine *btree;

void
_PG_init(void)
{
	DefineCustomStringVariable("fpb_trace.file", "Where sessions of pgbench write operations of indexes down.",
							   NULL, &trace_file, "", PGC_SUSET, 0, NULL, NULL, NULL);
}

static bool
is_recording(void)
{
	return trace_file[0] != '\0' && strcmp(application_name, "pgbench") == 0;
}

/*
 * Write a line.  Those of several sessions don't mix, as the file is appended
 * to.
 */
static void
write_line(Relation index, char kind, int64 calls, const char *keys)
{
	char	   *line = psprintf("%s\t%c\t" INT64_FORMAT "\t%s\n",
								RelationGetRelationName(index), kind, calls, keys);
	ssize_t		length = strlen(line);

	if (trace_fd < 0)
		trace_fd = open(trace_file, O_WRONLY | O_APPEND | O_CREAT, 0666);
	if (trace_fd < 0 || write(trace_fd, line, length) != length)
		elog(ERROR, "could not write to \"%s\": %m", trace_file);
	pfree(line);
}

static void
append_key(StringInfo keys, Oid type, int column, int strategy, Datum value)
{
	Oid			output;
	bool		varlena;
	char	   *word;

	getTypeOutputInfo(type, &output, &varlena);
	word = OidOutputFunctionCall(output, value);
	if (word[0] == '\0' || strpbrk(word, " \t\n\\") != NULL)
		elog(ERROR, "value of a key can't be written down: \"%s\"", word);
	appendStringInfo(keys, "%s%d %d %s", keys->len > 0 ? " " : "", column, strategy, word);
}

static void
append_entry(StringInfo keys, TupleDesc desc, const Datum *values, const bool *isnull)
{
	for (int i = 0; i < desc->natts; i++)
	{
		if (isnull[i])
			elog(ERROR, "null in a key can't be written down");
		append_key(keys, TupleDescAttr(desc, i)->atttypid, i + 1, BTEqualStrategyNumber, values[i]);
	}
}

static bool
record_insert(Relation index, Datum *values, bool *isnull, ItemPointer tid, Relation heap,
			  IndexUniqueCheck check, bool unchanged, struct IndexInfo *info)
{
	if (is_recording())
	{
		StringInfoData keys;

		initStringInfo(&keys);
		append_entry(&keys, RelationGetDescr(index), values, isnull);
		write_line(index, 'i', 1, keys.data);
		pfree(keys.data);
	}
	return btree->aminsert(index, values, isnull, tid, heap, check, unchanged, info);
}

/*
 * What is known of a scan.  Those that an error has ended stay; then another
 * may have come to the same place, and begins with its conditions.
 */
static Recorded *
recorded_of(IndexScanDesc scan)
{
	dlist_iter	iter;
	Recorded   *recorded;

	dlist_foreach(iter, &scans)
	{
		recorded = dlist_container(Recorded, node, iter.cur);
		if (recorded->scan == scan)
			return recorded;
	}
	recorded = MemoryContextAllocZero(TopMemoryContext, sizeof(Recorded));
	recorded->scan = scan;
	dlist_push_head(&scans, &recorded->node);
	return recorded;
}

static void
forget(Recorded *recorded)
{
	dlist_delete(&recorded->node);
	if (recorded->keys.data != NULL)
		pfree(recorded->keys.data);
	pfree(recorded);
}

/*
 * A scan has come to its end, or to other conditions.
 */
static void
end_recorded(Recorded *recorded)
{
	if (recorded->calls > 0)
		write_line(recorded->scan->indexRelation,
				   recorded->backward ? 'b' : recorded->all_equal ? 's' : 'r',
				   recorded->calls, recorded->keys.data);
}

static IndexScanDesc
record_beginscan(Relation index, int nkeys, int norderbys)
{
	IndexScanDesc scan = btree->ambeginscan(index, nkeys, norderbys);

	forget(recorded_of(scan));
	return scan;
}

static void
record_rescan(IndexScanDesc scan, ScanKey keys, int nkeys, ScanKey orderbys, int norderbys)
{
	if (is_recording())
	{
		Recorded   *recorded = recorded_of(scan);
		MemoryContext old = MemoryContextSwitchTo(TopMemoryContext);
		int			equal = 0;

		end_recorded(recorded);
		if (recorded->keys.data == NULL)
			initStringInfo(&recorded->keys);
		resetStringInfo(&recorded->keys);
		for (int i = 0; i < nkeys; i++)
		{
			TupleDesc	desc = RelationGetDescr(scan->indexRelation);
			Oid			type = TupleDescAttr(desc, keys[i].sk_attno - 1)->atttypid;

			if (keys[i].sk_flags != 0)
				elog(ERROR, "condition can't be written down");
			if (keys[i].sk_strategy == BTEqualStrategyNumber)
				equal++;
			append_key(&recorded->keys, type, keys[i].sk_attno, keys[i].sk_strategy, keys[i].sk_argument);
		}
		recorded->all_equal = equal == IndexRelationGetNumberOfKeyAttributes(scan->indexRelation);
		recorded->backward = false;
		recorded->calls = 0;
		MemoryContextSwitchTo(old);

		/* keys of what it is told is dead are wanted */
		scan->xs_want_itup = true;
	}
	btree->amrescan(scan, keys, nkeys, orderbys, norderbys);
}

static bool
record_gettuple(IndexScanDesc scan, ScanDirection direction)
{
	if (is_recording())
	{
		Recorded   *recorded = recorded_of(scan);

		if (scan->kill_prior_tuple)
		{
			TupleDesc	desc = RelationGetDescr(scan->indexRelation);
			Datum		values[INDEX_MAX_KEYS];
			bool		isnull[INDEX_MAX_KEYS];
			StringInfoData keys;

			initStringInfo(&keys);
			index_deform_tuple(scan->xs_itup, desc, values, isnull);
			append_entry(&keys, desc, values, isnull);
			write_line(scan->indexRelation, 'd', 1, keys.data);
			pfree(keys.data);
		}
		recorded->calls++;
		recorded->backward = ScanDirectionIsBackward(direction);
	}
	return btree->amgettuple(scan, direction);
}

static int64
record_getbitmap(IndexScanDesc scan, TIDBitmap *bitmap)
{
	int64		found = btree->amgetbitmap(scan, bitmap);

	if (is_recording())
		recorded_of(scan)->calls = found + 1;
	return found;
}

static void
record_endscan(IndexScanDesc scan)
{
	if (is_recording())
	{
		Recorded   *recorded = recorded_of(scan);

		end_recorded(recorded);
		forget(recorded);
	}
	btree->amendscan(scan);
}

Datum
fpb_trace_handler(PG_FUNCTION_ARGS)
{
	IndexAmRoutine *routine = makeNode(IndexAmRoutine);

	if (btree == NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(TopMemoryContext);

		btree = GetIndexAmRoutine(F_BTHANDLER);
		MemoryContextSwitchTo(old);
	}
	*routine = *btree;
	routine->amcanparallel = false;
	routine->aminsert = record_insert;
	routine->ambeginscan = record_beginscan;
	routine->amrescan = record_rescan;
	routine->amgettuple = record_gettuple;
	routine->amgetbitmap = record_getbitmap;
	routine->amendscan = record_endscan;
	PG_RETURN_POINTER(routine);
}
