/*-------------------------------------------------------------------------
 *
 * base/open_index.c
 *	  Indexes that SQL functions are called for: opened, and what of them the
 *	  caller may see.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"
#include "access/amapi.h"
#include "access/htup_details.h"
#include "access/relation.h"
#include "access/sysattr.h"
#include "access/table.h"
#include "access/xlog.h"
#include "catalog/index.h"
#include "catalog/pg_class.h"
#include "catalog/pg_index.h"
#include "catalog/pg_type.h"
#include "funcapi.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "optimizer/optimizer.h"
#include "utils/acl.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rls.h"
#include "utils/syscache.h"
#include "utils/tuplestore.h"

#include "base/open_index.h"
#include "base/options.h"

/*
 * Is an index one of ours, whatever the access method is called?
 */
bool
fpb_is_fpbtree(Relation index)
{
	return index->rd_indam->amoptions == fpb_options;
}

/*
 * Open an fpbtree index.  Raises an error if relid is something else, or an
 * index of another session's temporary table, whose pages can't be read.
 */
Relation
fpb_open_index(Oid relid, LOCKMODE lockmode)
{
	Relation	rel = relation_open(relid, lockmode);

	if (rel->rd_rel->relkind == RELKIND_PARTITIONED_INDEX)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is a partitioned index",
						RelationGetRelationName(rel)),
				 errdetail("Partitioned indexes have no pages of their own."),
				 errhint("Name the index of a partition.")));
	if (rel->rd_rel->relkind != RELKIND_INDEX ||
		!fpb_is_fpbtree(rel))
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is not an fpbtree index",
						RelationGetRelationName(rel))));
	if (RELATION_IS_OTHER_TEMP(rel))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot access temporary indexes of other sessions")));
	return rel;
}

/*
 * The same with its table, which is locked first.
 */
Relation
fpb_open_index_and_table(Oid relid, LOCKMODE lockmode, Relation *table)
{
	Oid			tableoid = IndexGetRelation(relid, true);
	Relation	rel;

	/* what is no index is said below */
	*table = OidIsValid(tableoid) ? table_open(tableoid, lockmode) : NULL;
	rel = fpb_open_index(relid, lockmode);
	if (*table == NULL || tableoid != IndexGetRelation(relid, false))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("could not open parent table of index \"%s\"",
						RelationGetRelationName(rel))));
	return rel;
}

/*
 * Add the columns of an index's predicate to a set, as pull_varattnos numbers
 * them.  The predicate is taken as it is in the catalog: to simplify it, as
 * RelationGetIndexPredicate does, is to evaluate functions in it.
 */
static void
add_predicate_columns(Relation index, Bitmapset **columns)
{
	bool		isnull;
	Datum		predicate = SysCacheGetAttr(INDEXRELID, index->rd_indextuple,
											Anum_pg_index_indpred, &isnull);

	if (!isnull)
		pull_varattnos(stringToNode(TextDatumGetCString(predicate)), 1, columns);
}

/*
 * May the current user see the keys of an index?  No function of the index's
 * is run.
 *
 * The rule is that of the keys in the server's messages about duplicates: with
 * row-level security, not; with the right to select from the table, yes; else
 * if the index has columns alone, no expressions, and each may be selected.
 * Here that goes for INCLUDE columns, too, and for those of a partial index's
 * predicate, which whoever sees a key knows to be satisfied.
 */
bool
fpb_may_read_keys(Relation index)
{
	Form_pg_index form = index->rd_index;
	Oid			table = form->indrelid;
	Bitmapset  *columns = NULL;
	int			column = -1;

	if (check_enable_rls(table, InvalidOid, true) == RLS_ENABLED)
		return false;
	if (pg_class_aclcheck(table, GetUserId(), ACL_SELECT) == ACLCHECK_OK)
		return true;

	add_predicate_columns(index, &columns);
	for (int i = 0; i < form->indnatts; i++)
		columns = bms_add_member(columns, form->indkey.values[i] -
								 FirstLowInvalidHeapAttributeNumber);
	while ((column = bms_next_member(columns, column)) >= 0)
	{
		AttrNumber	attnum = column + FirstLowInvalidHeapAttributeNumber;

		/* an expression, or the whole row */
		if (attnum == InvalidAttrNumber ||
			pg_attribute_aclcheck(table, attnum, GetUserId(), ACL_SELECT) != ACLCHECK_OK)
			return false;
	}
	return true;
}

/*
 * Are there pages of an index to be looked at?  There may be none yet, as
 * CREATE INDEX CONCURRENTLY is still at it, or has failed; and there are none
 * in recovery of one that is unlogged.
 */
bool
fpb_has_pages(Relation rel)
{
	return rel->rd_index->indisready &&
		!(rel->rd_rel->relpersistence == RELPERSISTENCE_UNLOGGED && RecoveryInProgress());
}

/*
 * Raise an error if there are not.
 */
void
fpb_require_pages(Relation rel)
{
	if (!fpb_has_pages(rel))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("index \"%s\" has no pages", RelationGetRelationName(rel)),
				 rel->rd_index->indisready ?
				 errdetail("It is unlogged, and recovery is in progress.") :
				 errdetail("It has not been built.")));
}
