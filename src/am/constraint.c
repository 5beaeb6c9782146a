/*-------------------------------------------------------------------------
 *
 * am/constraint.c
 *	  Primary keys and unique constraints with an fpbtree index.
 *
 * The server makes the index of such a constraint itself, as a btree.  ALTER
 * TABLE ... ADD CONSTRAINT ... USING INDEX takes an index that is there, and
 * transformIndexConstraint refuses any but a btree, because pg_dump writes a
 * constraint without its access method.  All that comes after that function
 * asks for no access method.  So fpbtree_add_constraint looks at the index as
 * transformIndexConstraint does, and hands the ALTER TABLE to the server in
 * the form that the function would have given it.
 *
 * What the server's reason was remains.  A dump restores the constraint as a
 * btree, so no such index has parameters that btree doesn't know.  pg_upgrade
 * would put our file under that btree, so it is refused.  The function
 * fpbtree_keys has the statements for both, and fpbtree_drop_constraint makes
 * a plain unique index of the constraint for the time of pg_upgrade.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/nbtree.h"
#include "access/reloptions.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/catalog.h"
#include "catalog/dependency.h"
#include "catalog/heap.h"
#include "catalog/indexing.h"
#include "catalog/objectaccess.h"
#include "catalog/pg_am.h"
#include "catalog/pg_class.h"
#include "catalog/pg_constraint.h"
#include "catalog/pg_depend.h"
#include "catalog/pg_index.h"
#include "commands/dbcommands.h"
#include "commands/defrem.h"
#include "commands/tablecmds.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/parsenodes.h"
#include "tcop/dest.h"
#include "tcop/utility.h"
#include "utils/acl.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/syscache.h"
#include "utils/typcache.h"

#include "am/am.h"
#include "base/compat.h"
#include "base/open_index.h"
#include "base/options.h"

PG_FUNCTION_INFO_V1(fpbtree_add_constraint);
PG_FUNCTION_INFO_V1(fpbtree_drop_constraint);

/* what constraint an index is to become */
typedef struct WantedConstraint
{
	bool		primary;
	bool		deferrable;
	bool		initially_deferred;
	char	   *name;			/* the index's, if none has been given */
} WantedConstraint;

/*
 * Raise the error that relid is a system table or somebody else's.
 */
static void
check_owner(Oid relid, Form_pg_class form)
{
	if (!object_ownercheck(RelationRelationId, relid, GetUserId()))
		aclcheck_error(ACLCHECK_NOT_OWNER,
					   get_relkind_objtype(form->relkind),
					   NameStr(form->relname));
	if (!allowSystemTableMods && IsSystemClass(relid, form))
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("permission denied: \"%s\" is a system catalog",
						NameStr(form->relname))));
}

/*
 * Open a table for a change of its constraints, with ALTER TABLE's lock.  Only
 * its owner gets the lock.  So the table is looked at before, and again
 * afterwards.  Raises ALTER TABLE's errors for the relations that it refuses.
 */
static Relation
open_own_table(Oid relid)
{
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));
	Relation	table;

	if (!HeapTupleIsValid(tuple))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("relation with OID %u does not exist", relid)));
	check_owner(relid, (Form_pg_class) GETSTRUCT(tuple));
	ReleaseSysCache(tuple);

	table = table_open(relid, AccessExclusiveLock);
	check_owner(relid, table->rd_rel);
	if (table->rd_rel->relkind == RELKIND_PARTITIONED_TABLE)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot change the constraints of fpbtree indexes of partitioned table \"%s\"",
						RelationGetRelationName(table)),
				 errhint("Name a partition.")));
	if (table->rd_rel->relkind != RELKIND_RELATION)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is not a table",
						RelationGetRelationName(table))));
	if (RELATION_IS_OTHER_TEMP(table))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot alter temporary tables of other sessions")));
	CheckTableNotInUse(table, "ALTER TABLE");
	return table;
}

/*
 * Raise an error if there are parameters with which a dump of an index's
 * constraint could not be restored.  reloptions are those of a row in
 * pg_class, 0 for none.  Does the index have them already, so that they can be
 * taken away?  No lock is needed.
 */
static void
check_parameters(Relation index, Datum reloptions, bool has_them)
{
	Datum	   *options;
	int			n;

	if (reloptions == 0)
		return;
	deconstruct_array_builtin(DatumGetArrayTypeP(reloptions), TEXTOID,
							  &options, NULL, &n);
	for (int i = 0; i < n; i++)
	{
		char	   *name = TextDatumGetCString(options[i]);
		char	   *value = strchr(name, '=');

		if (value != NULL)
			*value = '\0';
		if (strcmp(name, "fillfactor") != 0 &&
			strcmp(name, "deduplicate_items") != 0)
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					 errmsg("index \"%s\" of a constraint cannot have parameter \"%s\"",
							RelationGetRelationName(index), name),
					 errdetail("A dump of the constraint makes a btree index, which does not know this parameter, and could not be restored."),
					 has_them ? errhint("ALTER INDEX ... RESET (%s) takes it away.", name) : 0));
	}
}

/*
 * Raise an error if an index, whose parameters are to be reloptions, belongs
 * to a primary key or unique constraint and could not be restored with them.
 * The caller has locked the index.
 */
void
fpb_check_constraint_options(Relation index, Datum reloptions)
{
	Oid			constraint = get_index_constraint(RelationGetRelid(index));

	if (OidIsValid(constraint) &&
		get_constraint_type(constraint) != CONSTRAINT_EXCLUSION)
		check_parameters(index, reloptions, false);
}

/*
 * Raise an error if a key column of an index doesn't tell values apart as a
 * btree index of the constraint would: by the type's own equality and the
 * column's collation.  GROUP BY, foreign keys and others rely on that.  The
 * order of entries makes no difference to them.  A dump makes a btree, so the
 * type has to have a class for one.
 */
static void
check_column(Relation table, Relation index, int column)
{
	AttrNumber	attnum = index->rd_index->indkey.values[column];
	Form_pg_attribute att = TupleDescAttr(RelationGetDescr(table), attnum - 1);
	HeapTuple	tuple = SearchSysCache1(INDEXRELID,
										ObjectIdGetDatum(RelationGetRelid(index)));
	oidvector  *indclass;
	Oid			opclass;
	Oid			equal;

	indclass = (oidvector *) DatumGetPointer(SysCacheGetAttrNotNull(INDEXRELID, tuple,
																	Anum_pg_index_indclass));
	opclass = indclass->values[column];
	ReleaseSysCache(tuple);

	equal = get_opfamily_member(index->rd_opfamily[column],
								index->rd_opcintype[column],
								index->rd_opcintype[column],
								BTEqualStrategyNumber);
	if (opclass != GetDefaultOpClass(att->atttypid, index->rd_rel->relam) ||
		!OidIsValid(GetDefaultOpClass(att->atttypid, BTREE_AM_OID)) ||
		att->attcollation != index->rd_indcollation[column] ||
		get_attoptions(RelationGetRelid(index), column + 1) != (Datum) 0 ||
		!OidIsValid(equal) ||
		equal != lookup_type_cache(att->atttypid, TYPECACHE_EQ_OPR)->eq_opr)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("index \"%s\" column number %d does not have default sorting behavior",
						RelationGetRelationName(index), column + 1),
				 errdetail("Cannot create a primary key or unique constraint using such an index.")));
}

/*
 * Find a foreign key that refers to an index.  InvalidOid if there is none.
 * The caller has locked the index's table, so none comes or goes.
 */
static Oid
find_foreign_key(Oid index)
{
	Relation	depend = table_open(DependRelationId, AccessShareLock);
	ScanKeyData key[2];
	SysScanDesc scan;
	HeapTuple	tuple;
	Oid			found = InvalidOid;

	ScanKeyInit(&key[0], Anum_pg_depend_refclassid, BTEqualStrategyNumber,
				F_OIDEQ, ObjectIdGetDatum(RelationRelationId));
	ScanKeyInit(&key[1], Anum_pg_depend_refobjid, BTEqualStrategyNumber,
				F_OIDEQ, ObjectIdGetDatum(index));
	scan = systable_beginscan(depend, DependReferenceIndexId, true, NULL, 2, key);
	while (!OidIsValid(found) && HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Form_pg_depend row = (Form_pg_depend) GETSTRUCT(tuple);

		if (row->classid == ConstraintRelationId &&
			get_constraint_type(row->objid) == CONSTRAINT_FOREIGN)
			found = row->objid;
	}
	systable_endscan(scan);
	table_close(depend, AccessShareLock);
	return found;
}

/*
 * Raise an error if others rely on an index never to have a duplicate, which a
 * deferrable constraint may have for a while.
 */
static void
check_deferrable(Relation index)
{
	Oid			foreign_key = find_foreign_key(RelationGetRelid(index));

	if (OidIsValid(foreign_key))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("cannot make a deferrable constraint of index \"%s\"",
						RelationGetRelationName(index)),
				 errdetail("Foreign key \"%s\" refers to it.",
						   get_constraint_name(foreign_key))));
	if (index->rd_index->indisreplident)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("cannot make a deferrable constraint of index \"%s\"",
						RelationGetRelationName(index)),
				 errdetail("It is the replica identity of its table.")));
}

/*
 * Raise an error if a dump or pg_upgrade could not bring a constraint of an
 * index through.  The index is locked.
 */
static void
check_dumpable(Relation index)
{
	if (index->rd_rel->relam != get_am_oid(FPB_AM_NAME, true))
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("access method of index \"%s\" is not called \"%s\"",
						RelationGetRelationName(index), FPB_AM_NAME),
				 errdetail("Cannot create a primary key or unique constraint using such an index.")));
	if (index->rd_rel->relispartition)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("index \"%s\" is part of a partitioned index",
						RelationGetRelationName(index)),
				 errdetail("A dump of the constraint makes a btree index, which can't be part of that, and could not be restored."),
				 errhint("Detach the partition from its table, or drop the partitioned index.")));
}

/*
 * Raise an error if an index can't become a constraint of a table.  Both are
 * locked, the table exclusively: what is found stays so.  The checks and their
 * messages are those of the server's transformIndexConstraint, with these
 * differences: the access method, the order of entries, parameters,
 * partitioned indexes, and what a deferrable constraint would take from
 * others.
 */
static void
check_index(Relation table, Relation index, bool deferrable)
{
	Form_pg_index form = index->rd_index;
	const char *name = RelationGetRelationName(index);
	Datum		reloptions;
	bool		isnull;
	HeapTuple	tuple;

	if (OidIsValid(get_index_constraint(RelationGetRelid(index))))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("index \"%s\" is already associated with a constraint", name)));
	if (form->indrelid != RelationGetRelid(table))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("index \"%s\" does not belong to table \"%s\"",
						name, RelationGetRelationName(table))));
	if (!form->indisvalid || !form->indisready || !form->indislive)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("index \"%s\" is not valid", name)));
	if (!form->indisunique)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is not a unique index", name),
				 errdetail("Cannot create a primary key or unique constraint using such an index.")));
	if (RelationGetIndexExpressions(index) != NIL)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("index \"%s\" contains expressions", name),
				 errdetail("Cannot create a primary key or unique constraint using such an index.")));
	if (RelationGetIndexPredicate(index) != NIL)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is a partial index", name),
				 errdetail("Cannot create a primary key or unique constraint using such an index.")));
	/* a constraint's index only, and this is none */
	if (!form->indimmediate)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is a deferrable index", name)));
	check_dumpable(index);

	for (int i = 0; i < form->indnkeyatts; i++)
		check_column(table, index, i);

	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(RelationGetRelid(index)));
	reloptions = SysCacheGetAttr(RELOID, tuple, Anum_pg_class_reloptions, &isnull);
	check_parameters(index, isnull ? (Datum) 0 : reloptions, true);
	ReleaseSysCache(tuple);

	if (deferrable)
		check_deferrable(index);
}

/*
 * Must ALTER TABLE make a column of a primary key NOT NULL?  Also if the
 * column has its NOT NULL from a parent, and has to keep it without that.
 * Raises the server's errors if the column's NOT NULL is not good enough.
 */
static bool
needs_not_null(Relation table, AttrNumber attnum)
{
	HeapTuple	tuple = fpb_find_not_null(RelationGetRelid(table), attnum);
	Form_pg_constraint form;

	if (!HeapTupleIsValid(tuple))
		return !TupleDescAttr(RelationGetDescr(table), attnum - 1)->attnotnull;
	form = (Form_pg_constraint) GETSTRUCT(tuple);
	if (form->connoinherit)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("cannot change NO INHERIT status of NOT NULL constraint \"%s\" on relation \"%s\"",
						NameStr(form->conname), RelationGetRelationName(table)),
				 errhint("You might need to make the existing constraint inheritable using %s.",
						 "ALTER TABLE ... ALTER CONSTRAINT ... INHERIT")));
	if (!form->convalidated)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("incompatible NOT VALID constraint \"%s\" on relation \"%s\"",
						NameStr(form->conname), RelationGetRelationName(table)),
				 errhint("You might need to validate it using %s.",
						 "ALTER TABLE ... VALIDATE CONSTRAINT")));
	return !form->conislocal;
}

/*
 * The commands of ALTER TABLE that make the constraint, and NOT NULL of what
 * will be a primary key's columns.
 */
static List *
alter_table_commands(Relation table, Relation index, const WantedConstraint *wanted)
{
	List	   *cmds = NIL;
	AlterTableCmd *cmd;
	IndexStmt  *stmt = makeNode(IndexStmt);

	for (int i = 0; wanted->primary && i < index->rd_index->indnkeyatts; i++)
	{
		AttrNumber	attnum = index->rd_index->indkey.values[i];

		if (!needs_not_null(table, attnum))
			continue;
		cmd = makeNode(AlterTableCmd);
		cmd->subtype = AT_SetNotNull;
		cmd->name = pstrdup(NameStr(TupleDescAttr(RelationGetDescr(table), attnum - 1)->attname));
		cmd->behavior = DROP_RESTRICT;
		cmds = lappend(cmds, cmd);
	}

	stmt->idxname = wanted->name;
	stmt->indexOid = RelationGetRelid(index);
	stmt->accessMethod = FPB_AM_NAME;
	stmt->unique = true;
	stmt->primary = wanted->primary;
	stmt->isconstraint = true;
	stmt->deferrable = wanted->deferrable;
	stmt->initdeferred = wanted->initially_deferred;
	cmd = makeNode(AlterTableCmd);
	cmd->subtype = AT_AddIndexConstraint;
	cmd->def = (Node *) stmt;
	cmd->behavior = DROP_RESTRICT;
	return lappend(cmds, cmd);
}

/*
 * Run an ALTER TABLE as the server does: with its checks, event triggers and
 * hooks.  The table is locked, and not open.
 */
static void
alter_table(char *schema, char *name, List *cmds)
{
	AlterTableStmt *stmt = makeNode(AlterTableStmt);
	PlannedStmt *wrapper = makeNode(PlannedStmt);

	stmt->relation = makeRangeVar(schema, name, -1);
	stmt->cmds = cmds;
	stmt->objtype = OBJECT_TABLE;
	wrapper->commandType = CMD_UTILITY;
	wrapper->utilityStmt = (Node *) stmt;
	wrapper->stmt_location = -1;
	ProcessUtility(wrapper, "ALTER TABLE, by fpbtree_add_constraint", false,
				   PROCESS_UTILITY_QUERY, NULL, NULL, None_Receiver, NULL);
	CommandCounterIncrement();
}

/*
 * Raise an error unless an index belongs to a constraint of a table now.
 * ALTER TABLE found the table by its name, which is another's if its schema
 * has been renamed meanwhile.
 */
static void
verify_constraint(Oid table, Oid index)
{
	Oid			constraint = get_index_constraint(index);
	HeapTuple	tuple = SearchSysCache1(CONSTROID, ObjectIdGetDatum(constraint));

	if (!HeapTupleIsValid(tuple) ||
		((Form_pg_constraint) GETSTRUCT(tuple))->conrelid != table)
		ereport(ERROR,
				(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
				 errmsg("could not add a constraint due to concurrent change of the table's name")));
	ReleaseSysCache(tuple);
}

/*
 * Does the text name a primary key?  If not, it names a unique constraint, or
 * an error is raised.
 */
static bool
names_primary(const char *kind)
{
	if (pg_strcasecmp(kind, "primary key") == 0)
		return true;
	if (pg_strcasecmp(kind, "unique") != 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("unknown kind of constraint \"%s\"", kind),
				 errhint("Valid values are \"primary key\" and \"unique\".")));
	return false;
}

/*
 * fpbtree_add_constraint("table", index, kind, name, is_deferrable,
 * is_deferred): make a primary key or unique constraint of a unique fpbtree
 * index.  The table is locked exclusively until the transaction ends.
 */
Datum
fpbtree_add_constraint(PG_FUNCTION_ARGS)
{
	Oid			tableoid;
	Oid			indexoid;
	WantedConstraint wanted;
	Relation	table;
	Relation	index;
	char	   *schema;
	char	   *name;
	List	   *cmds;

	for (int i = 0; i < PG_NARGS(); i++)
		if (i != 3 && PG_ARGISNULL(i))
			ereport(ERROR,
					(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
					 errmsg("only the constraint's name may be null")));
	tableoid = PG_GETARG_OID(0);
	indexoid = PG_GETARG_OID(1);
	wanted.primary = names_primary(text_to_cstring(PG_GETARG_TEXT_PP(2)));
	wanted.initially_deferred = PG_GETARG_BOOL(5);
	wanted.deferrable = PG_GETARG_BOOL(4) || wanted.initially_deferred;

	table = open_own_table(tableoid);
	index = fpb_open_index(indexoid, AccessShareLock);
	wanted.name = PG_ARGISNULL(3) ? pstrdup(RelationGetRelationName(index)) :
		pstrdup(NameStr(*PG_GETARG_NAME(3)));
	if (wanted.name[0] == '\0')
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_NAME),
				 errmsg("name of a constraint cannot be empty")));
	check_index(table, index, wanted.deferrable);
	cmds = alter_table_commands(table, index, &wanted);
	schema = get_namespace_name(RelationGetNamespace(table));
	name = pstrdup(RelationGetRelationName(table));
	index_close(index, NoLock);
	table_close(table, NoLock);

	alter_table(schema, name, cmds);
	verify_constraint(tableoid, indexoid);
	PG_RETURN_VOID();
}

/*
 * Give an index the dependencies of one that belongs to no constraint, in the
 * place of that on the constraint.
 */
static void
depend_on_columns(Relation table, Relation index)
{
	ObjectAddress myself;
	ObjectAddresses *columns = new_object_addresses();

	deleteDependencyRecordsForClass(RelationRelationId, RelationGetRelid(index),
									ConstraintRelationId, DEPENDENCY_INTERNAL);
	for (int i = 0; i < index->rd_index->indnatts; i++)
	{
		ObjectAddress column;

		ObjectAddressSubSet(column, RelationRelationId, RelationGetRelid(table),
							index->rd_index->indkey.values[i]);
		add_exact_object_address(&column, columns);
	}
	ObjectAddressSet(myself, RelationRelationId, RelationGetRelid(index));
	record_object_address_dependencies(&myself, columns, DEPENDENCY_AUTO);
	free_object_addresses(columns);
}

/*
 * Mark an index in pg_index as one that belongs to no constraint.  No row of
 * its table has a check of uniqueness to come.
 */
static void
mark_as_plain(Relation table, Relation index)
{
	Relation	catalog = table_open(IndexRelationId, RowExclusiveLock);
	HeapTuple	tuple = SearchSysCacheCopy1(INDEXRELID,
											ObjectIdGetDatum(RelationGetRelid(index)));
	Form_pg_index form = (Form_pg_index) GETSTRUCT(tuple);

	form->indisprimary = false;
	form->indimmediate = true;
	CatalogTupleUpdate(catalog, &tuple->t_self, tuple);
	InvokeObjectPostAlterHook(IndexRelationId, RelationGetRelid(index), 0);
	CacheInvalidateRelcache(table);
	heap_freetuple(tuple);
	table_close(catalog, RowExclusiveLock);
}

/*
 * Open the index of a table's primary key or unique constraint, with the lock
 * of DROP INDEX.  Raises an error if the constraint is none, has no fpbtree
 * index, or is part of a partitioned table's.
 */
static Relation
open_index_of(Relation table, Oid constraint)
{
	HeapTuple	tuple = SearchSysCache1(CONSTROID, ObjectIdGetDatum(constraint));
	Form_pg_constraint form = (Form_pg_constraint) GETSTRUCT(tuple);
	Relation	index;

	if (form->contype != CONSTRAINT_PRIMARY && form->contype != CONSTRAINT_UNIQUE)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("constraint \"%s\" of table \"%s\" is not a primary key or unique constraint",
						NameStr(form->conname), RelationGetRelationName(table))));
	if (form->coninhcount > 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_TABLE_DEFINITION),
				 errmsg("cannot drop inherited constraint \"%s\" of relation \"%s\"",
						NameStr(form->conname), RelationGetRelationName(table))));
	index = fpb_open_index(form->conindid, AccessExclusiveLock);
	ReleaseSysCache(tuple);
	return index;
}

/*
 * fpbtree_drop_constraint("table", name): make a plain unique index again of a
 * primary key or unique constraint that has an fpbtree index.  Foreign keys
 * that refer to it depend on the index, and stay.  Raises an error if others
 * depend on the constraint.  The table is locked exclusively until the
 * transaction ends.
 */
Datum
fpbtree_drop_constraint(PG_FUNCTION_ARGS)
{
	Relation	table;
	Relation	index;
	ObjectAddress constraint;

	PreventCommandIfReadOnly("fpbtree_drop_constraint()");
	PreventCommandIfParallelMode("fpbtree_drop_constraint()");
	PreventCommandDuringRecovery("fpbtree_drop_constraint()");

	table = open_own_table(PG_GETARG_OID(0));
	ObjectAddressSet(constraint, ConstraintRelationId,
					 get_relation_constraint_oid(RelationGetRelid(table),
												 NameStr(*PG_GETARG_NAME(1)), false));
	index = open_index_of(table, constraint.objectId);
	depend_on_columns(table, index);
	mark_as_plain(table, index);
	index_close(index, NoLock);
	table_close(table, NoLock);

	CommandCounterIncrement();
	performDeletion(&constraint, DROP_RESTRICT, 0);
	PG_RETURN_VOID();
}

/*
 * The handler function of an access method.  InvalidOid if there is no such
 * method.
 */
static Oid
handler_of(Oid method)
{
	HeapTuple	tuple = SearchSysCache1(AMOID, ObjectIdGetDatum(method));
	Oid			handler = InvalidOid;

	if (HeapTupleIsValid(tuple))
	{
		handler = ((Form_pg_am) GETSTRUCT(tuple))->amhandler;
		ReleaseSysCache(tuple);
	}
	return handler;
}

/*
 * Would pg_upgrade make a btree of a constraint's index that has this handler?
 * It leaves temporary tables out, which a server that crashed may have left.
 */
static bool
blocks_upgrade(Form_pg_constraint form, Oid handler)
{
	return (form->contype == CONSTRAINT_PRIMARY || form->contype == CONSTRAINT_UNIQUE) &&
		get_rel_persistence(form->conrelid) != RELPERSISTENCE_TEMP &&
		handler_of(get_rel_relam(form->conindid)) == handler;
}

/*
 * In a server that pg_upgrade has started, raise an error if an fpbtree index
 * of the database belongs to a primary key or unique constraint.  So does an
 * index of another access method that has our handler.
 *
 * pg_upgrade has the new server make a btree of the constraint and then gives
 * it the old index's file.  Nothing in its dump tells the new server, so the
 * old one has to stop it.  The access method's handler calls this.  At the
 * latest pg_dump has the handler called, because it asks for the definition of
 * each index.  Nothing has been copied by then.
 */
void
fpb_check_upgrade(void)
{
	static bool checked = false;	/* nobody adds any meanwhile */
	Relation	constraints;
	SysScanDesc scan;
	HeapTuple	tuple;
	Oid			handler;

	if (!IsBinaryUpgrade || checked)
		return;
	handler = handler_of(get_am_oid(FPB_AM_NAME, true));
	constraints = table_open(ConstraintRelationId, AccessShareLock);
	scan = systable_beginscan(constraints, InvalidOid, false, NULL, 0, NULL);
	while (OidIsValid(handler) && HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Form_pg_constraint form = (Form_pg_constraint) GETSTRUCT(tuple);

		if (blocks_upgrade(form, handler))
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("cannot upgrade constraint \"%s\" of table \"%s.%s\", because its index is fpbtree",
							NameStr(form->conname),
							get_namespace_name(get_rel_namespace(form->conrelid)),
							get_rel_name(form->conrelid)),
					 errdetail("The new server would take the index's file for a btree."),
					 errhint("In database \"%s\" of the old server, run the statements of column \"before_upgrade\" of fpbtree_keys(), and keep those of \"after_upgrade\".  Drop the constraints that have none, such as those of partitioned tables.",
							 get_database_name(MyDatabaseId))));
	}
	systable_endscan(scan);
	table_close(constraints, AccessShareLock);
	checked = true;
}
