/*-------------------------------------------------------------------------
 *
 * am/alter.c
 *	  Notices of ALTER INDEX ... SET and RESET about options that don't take
 *	  effect at once, and errors about those that an index of a constraint
 *	  can't have.
 *
 * The server calls amoptions to parse options, but does not tell for which
 * index or command.  It calls object_access_hook when the options are in the
 * catalog.  By then it has loaded this module.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/objectaccess.h"
#include "catalog/pg_class.h"
#include "lib/stringinfo.h"
#include "storage/lockdefs.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

#include "am/am.h"
#include "base/open_index.h"
#include "base/options.h"
#include "build/build.h"

static object_access_hook_type prev_object_access_hook = NULL;

/*
 * The options in a row of pg_class, as text[]; 0 if there are none.
 */
static Datum
reloptions_of(HeapTuple tuple, TupleDesc desc)
{
	bool		isnull;
	Datum		reloptions = heap_getattr(tuple, Anum_pg_class_reloptions,
										  desc, &isnull);

	return isnull ? (Datum) 0 : reloptions;
}

/*
 * Append the name of an option if it has changed.
 */
static void
note_change(StringInfo names, const char *name, int before, int after)
{
	if (before != after)
		appendStringInfo(names, "%s\"%s\"", names->len > 0 ? ", " : "", name);
}

/*
 * Report which options of an index have changed that shape its pages, and
 * whether they ask for a queue that it can't have.
 */
static void
report_options(Relation index, const FpbOptions *before, const FpbOptions *after)
{
	StringInfoData names;

	initStringInfo(&names);
	note_change(&names, "layout", before->design.layout, after->design.layout);
	note_change(&names, "leaf_lines", before->design.leaf_lines, after->design.leaf_lines);
	note_change(&names, "node_format", before->design.node_format, after->design.node_format);
	note_change(&names, "node_search", before->design.node_search, after->design.node_search);
	note_change(&names, "node_prefetch", before->design.node_prefetch, after->design.node_prefetch);
	note_change(&names, "optimize_for", fpb_purpose(before), fpb_purpose(after));
	if (names.len > 0)
		ereport(NOTICE,
				(errmsg("options of index \"%s\" take effect when it is built anew",
						RelationGetRelationName(index)),
				 errdetail("Changed options: %s.", names.data),
				 errhint("REINDEX INDEX CONCURRENTLY %s builds it anew.",
						 quote_qualified_identifier(get_namespace_name(RelationGetNamespace(index)),
													RelationGetRelationName(index)))));
	pfree(names.data);

	if (before->operation_queue != after->operation_queue ||
		before->opq_size != after->opq_size ||
		before->queue_tiers != after->queue_tiers)
		fpb_report_queue_options(index, after);
}

/*
 * The current command has changed the options of an index, which it has
 * locked.  Report that if it is an fpbtree index, and raise an error if the
 * index belongs to a constraint that could not be restored with these options.
 */
static void
options_changed(Oid relid, Datum before, Datum after)
{
	Relation	index = RelationIdGetRelation(relid);

	if (RelationIsValid(index) && fpb_is_fpbtree(index))
	{
		fpb_check_constraint_options(index, after);
		report_options(index, (const FpbOptions *) fpb_options(before, false),
					   (const FpbOptions *) fpb_options(after, false));
	}
	if (RelationIsValid(index))
		RelationClose(index);
}

/*
 * The current command has changed the row of a relation in pg_class.  The
 * syscache still has the old row.
 */
static void
relation_altered(Oid relid)
{
	HeapTuple	before = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));
	HeapTuple	after;
	Relation	catalog;
	ScanKeyData key;
	SysScanDesc scan;

	if (!HeapTupleIsValid(before))
		return;
	if (((Form_pg_class) GETSTRUCT(before))->relkind == RELKIND_INDEX)
	{
		catalog = table_open(RelationRelationId, AccessShareLock);
		ScanKeyInit(&key, Anum_pg_class_oid, BTEqualStrategyNumber, F_OIDEQ,
					ObjectIdGetDatum(relid));
		scan = systable_beginscan(catalog, ClassOidIndexId, true,
								  SnapshotSelf, 1, &key);
		after = systable_getnext(scan);
		if (HeapTupleIsValid(after))
		{
			Datum		old = reloptions_of(before, RelationGetDescr(catalog));
			Datum		new = reloptions_of(after, RelationGetDescr(catalog));

			if ((old == 0) != (new == 0) ||
				(old != 0 && !datumIsEqual(old, new, false, -1)))
				options_changed(relid, old, new);
		}
		systable_endscan(scan);
		table_close(catalog, AccessShareLock);
	}
	ReleaseSysCache(before);
}

/*
 * object_access_hook.
 */
static void
object_accessed(ObjectAccessType access, Oid class_id, Oid object_id,
				int sub_id, void *arg)
{
	if (prev_object_access_hook)
		prev_object_access_hook(access, class_id, object_id, sub_id, arg);
	if (access == OAT_POST_ALTER && class_id == RelationRelationId && sub_id == 0)
		relation_altered(object_id);
}

/*
 * Install the hook.  Called once in a backend, when the module is loaded.
 */
void
fpb_alter_init(void)
{
	prev_object_access_hook = object_access_hook;
	object_access_hook = object_accessed;
}
