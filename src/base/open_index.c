/*-------------------------------------------------------------------------
 *
 * base/open_index.c
 *	  Opening the index that an SQL function is called for, and what the
 *	  caller may see of it.
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
 * Is an open index an fpbtree index, whatever the access method is called?
 */
bool
fpb_is_fpbtree(Relation index)
{
	return index->rd_indam->amoptions == fpb_options;
}

/*
 * Open and lock an fpbtree index.  Raises an error if relid is that of
 * something else, or of an index of another session's temporary table, whose
 * pages can't be read.
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
 * Open and lock an fpbtree index and its table, which is locked first.  Raises
 * an error as fpb_open_index does, or if the table has gone.
 */
Relation
fpb_open_index_and_table(Oid relid, LOCKMODE lockmode, Relation *table)
{
	Oid			tableoid = IndexGetRelation(relid, true);
	Relation	rel;

	/* fpb_open_index raises the error if it is no index */
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
 * them.  The predicate is taken from the catalog as it is.
 * RelationGetIndexPredicate would simplify it, which evaluates functions.
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
 * May the current user see the keys of an index?  Runs no function of the
 * index's.
 *
 * The rule is the server's for keys in its messages about duplicates.  With
 * row-level security, the user may not.  With the right to select from the
 * table, the user may.  Else the index has to have no expressions, and the
 * user has to have the right to select each of its columns.  Here, that
 * includes INCLUDE columns and the columns of a partial index's predicate,
 * because a key tells that its row satisfies the predicate.
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
 * Has an index pages to be looked at?  It has none yet if CREATE INDEX
 * CONCURRENTLY has not finished, or has failed.  An unlogged index has none
 * during recovery.
 */
bool
fpb_has_pages(Relation rel)
{
	return rel->rd_index->indisready &&
		!(rel->rd_rel->relpersistence == RELPERSISTENCE_UNLOGGED && RecoveryInProgress());
}

/*
 * Raise an error if an index has no pages to be looked at.
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
