/*-------------------------------------------------------------------------
 *
 * am/opclass.c
 *	  fpbtree_clone_opclass(): makes an operator class of fpbtree from one of
 *	  btree.
 *
 * The clone has the same operators and support functions, under the same
 * numbers, so the catalogs have all that is needed.  CREATE EXTENSION clones
 * every class of pg_catalog, so that each release of the server gets its own
 * classes.  Users clone those of other extensions' types.
 *
 * A clone is in the schema of its original, so that it is found wherever that
 * is found.  For the server's own types that is pg_catalog.  pg_dump takes
 * objects there for the server's, unless they belong to an extension.  So what
 * is made there belongs to this extension, even if it is made after CREATE
 * EXTENSION (a class may come with a later release of the server).
 *
 * With the first of its classes, a family is cloned as a whole, because the
 * planner assumes that the equality operators of one family are in the same
 * families (see also am/planner.c).  So what a class should own is loose in
 * the family at first.  It becomes part of the class when that is cloned.
 * Therefore the order of cloning makes no difference.
 *
 * The objects are made by SQL commands, so that event triggers, membership in
 * extensions, ownership and dependencies are as for any others.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/stratnum.h"
#include "catalog/dependency.h"
#include "catalog/namespace.h"
#include "catalog/pg_am_d.h"
#include "catalog/pg_amop.h"
#include "catalog/pg_amproc.h"
#include "catalog/pg_namespace_d.h"
#include "catalog/pg_opclass.h"
#include "catalog/pg_opfamily.h"
#include "catalog/pg_type_d.h"
#include "commands/defrem.h"
#include "commands/extension.h"
#include "executor/spi.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/catcache.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/regproc.h"
#include "utils/syscache.h"

#include "am/am.h"
#include "key/key.h"

PG_FUNCTION_INFO_V1(fpbtree_clone_opclass);

/* what is being cloned, and where to */
typedef struct FpbClone
{
	Oid			am;				/* fpbtree */
	Oid			family;			/* btree's */
	Oid			type;			/* the type that the class indexes */
	Oid			storage;		/* the type that it stores, if another */
	bool		isdefault;
	Oid			schema;			/* of both classes */
	char	   *name;			/* quoted and qualified, of the new class */
	Oid			target;			/* fpbtree's family; invalid until it is made */
	char	   *target_name;	/* quoted and qualified */
} FpbClone;

static void append_item(StringInfo items, const char *format,...) pg_attribute_printf(2, 3);

/* which members of a family are wanted */
typedef enum FpbMembers
{
	FPB_MEMBERS_OWN,			/* those that a class should own */
	FPB_MEMBERS_MISSING			/* those that the target family lacks */
} FpbMembers;

/*
 * Should the class being cloned own the member, rather than its family?  It
 * owns the operators and the comparison function of its type: see
 * fpb_adjustmembers.
 */
static bool
is_own(const FpbClone *clone, Oid left, Oid right)
{
	return left == clone->type && right == clone->type;
}

/*
 * Append one more item to a list of members.
 */
static void
append_item(StringInfo items, const char *format,...)
{
	if (items->len > 0)
		appendStringInfoString(items, ", ");

	for (;;)
	{
		va_list		args;
		int			needed;

		va_start(args, format);
		needed = appendStringInfoVA(items, format, args);
		va_end(args);
		if (needed == 0)
			break;
		enlargeStringInfo(items, needed);
	}
}

/*
 * Append operators of the btree family, in the syntax of CREATE OPERATOR CLASS
 * and ALTER OPERATOR FAMILY ... ADD.
 */
static void
append_operators(const FpbClone *clone, FpbMembers which, StringInfo items)
{
	CatCList   *list = SearchSysCacheList1(AMOPSTRATEGY,
										   ObjectIdGetDatum(clone->family));

	for (int i = 0; i < list->n_members; i++)
	{
		Form_pg_amop op = (Form_pg_amop) GETSTRUCT(&list->members[i]->tuple);
		bool		wanted;

		if (which == FPB_MEMBERS_OWN)
			wanted = is_own(clone, op->amoplefttype, op->amoprighttype);
		else
			wanted = !OidIsValid(get_opfamily_member(clone->target,
													 op->amoplefttype,
													 op->amoprighttype,
													 op->amopstrategy));

		if (wanted)
			append_item(items, "OPERATOR %d %s", op->amopstrategy,
						format_operator_qualified(op->amopopr));
	}

	ReleaseCatCacheList(list);
}

/*
 * Append support functions of the btree family, in the same syntax.  The only
 * one that a class should own is its comparison function.
 */
static void
append_functions(const FpbClone *clone, FpbMembers which, StringInfo items)
{
	CatCList   *list = SearchSysCacheList1(AMPROCNUM,
										   ObjectIdGetDatum(clone->family));

	for (int i = 0; i < list->n_members; i++)
	{
		Form_pg_amproc proc = (Form_pg_amproc) GETSTRUCT(&list->members[i]->tuple);
		bool		wanted;

		/* fpbtree has no use for some of btree's support functions */
		if (proc->amprocnum > FPB_NPROCS)
			continue;

		if (which == FPB_MEMBERS_OWN)
			wanted = proc->amprocnum == FPB_ORDER_PROC &&
				is_own(clone, proc->amproclefttype, proc->amprocrighttype);
		else
			wanted = !OidIsValid(get_opfamily_proc(clone->target,
												   proc->amproclefttype,
												   proc->amprocrighttype,
												   proc->amprocnum));

		if (wanted)
			append_item(items, "FUNCTION %d (%s, %s) %s", proc->amprocnum,
						format_type_be_qualified(proc->amproclefttype),
						format_type_be_qualified(proc->amprocrighttype),
						format_procedure_qualified(proc->amproc));
	}

	ReleaseCatCacheList(list);
}

/*
 * Find the family of fpbtree that has the "<" operators of the btree family,
 * in any schema and under any name.  InvalidOid if there is none.
 */
static Oid
find_target_family(const FpbClone *clone)
{
	Oid			result = InvalidOid;
	CatCList   *members = SearchSysCacheList1(AMOPSTRATEGY,
											  ObjectIdGetDatum(clone->family));

	for (int i = 0; i < members->n_members && !OidIsValid(result); i++)
	{
		Form_pg_amop theirs = (Form_pg_amop) GETSTRUCT(&members->members[i]->tuple);
		CatCList   *list;

		if (theirs->amopstrategy != BTLessStrategyNumber)
			continue;

		list = SearchSysCacheList1(AMOPOPID, ObjectIdGetDatum(theirs->amopopr));
		for (int j = 0; j < list->n_members && !OidIsValid(result); j++)
		{
			Form_pg_amop ours = (Form_pg_amop) GETSTRUCT(&list->members[j]->tuple);

			if (ours->amopmethod == clone->am &&
				ours->amopstrategy == BTLessStrategyNumber)
				result = ours->amopfamily;
		}
		ReleaseCatCacheList(list);
	}

	ReleaseCatCacheList(members);

	return result;
}

/*
 * The quoted and qualified name of an operator family.  Sets *bare, if it is
 * not NULL, to the name as it is.
 */
static char *
family_name(Oid family, char **bare)
{
	HeapTuple	tuple;
	Form_pg_opfamily form;
	char	   *result;

	tuple = SearchSysCache1(OPFAMILYOID, ObjectIdGetDatum(family));
	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for operator family %u", family);
	form = (Form_pg_opfamily) GETSTRUCT(tuple);
	result = quote_qualified_identifier(get_namespace_name(form->opfnamespace),
										NameStr(form->opfname));
	if (bare != NULL)
		*bare = pstrdup(NameStr(form->opfname));
	ReleaseSysCache(tuple);

	return result;
}

/*
 * Has the target family an operator class for the type?  Raises an error if it
 * has one with the given name, because then this class has been cloned
 * already, perhaps into another schema.
 */
static bool
target_has_class(const FpbClone *clone, const char *name)
{
	bool		result = false;
	CatCList   *list = SearchSysCacheList1(CLAAMNAMENSP,
										   ObjectIdGetDatum(clone->am));

	for (int i = 0; i < list->n_members; i++)
	{
		Form_pg_opclass form = (Form_pg_opclass) GETSTRUCT(&list->members[i]->tuple);

		if (form->opcfamily != clone->target || form->opcintype != clone->type)
			continue;
		if (strcmp(NameStr(form->opcname), name) == 0)
			ereport(ERROR,
					(errcode(ERRCODE_DUPLICATE_OBJECT),
					 errmsg("operator class \"%s\" for access method \"%s\" already exists in schema \"%s\"",
							name, FPB_AM_NAME,
							get_namespace_name(form->opcnamespace))));
		result = true;
	}

	ReleaseCatCacheList(list);

	return result;
}

/*
 * Run one command.
 */
static void
run(const char *command)
{
	int			rc = SPI_execute(command, false, 0);

	if (rc != SPI_OK_UTILITY)
		elog(ERROR, "SPI_execute failed: %s: %s",
			 SPI_result_code_string(rc), command);
}

/*
 * Make a new object a member of the extension, if pg_dump would lose it
 * otherwise.  (What CREATE EXTENSION makes is a member anyway.)
 */
static void
keep(const FpbClone *clone, const char *kind, const char *name)
{
	Oid			extension = getExtensionOfObject(AccessMethodRelationId, clone->am);

	if (creating_extension || clone->schema != PG_CATALOG_NAMESPACE ||
		!OidIsValid(extension))
		return;
	run(psprintf("ALTER EXTENSION %s ADD OPERATOR %s %s USING %s",
				 quote_identifier(get_extension_name(extension)), kind, name,
				 FPB_AM_NAME));
}

/*
 * Find or make the family that the class goes to, and set clone->target.
 *
 * If the schema has a family of that name without members, it is taken,
 * because somebody may have made it for this.  If it has members, it is for
 * something else.
 */
static void
provide_family(FpbClone *clone)
{
	Oid			schema = clone->schema;
	Oid			existing;
	char	   *source_name;
	char	   *name;

	clone->target = find_target_family(clone);
	if (OidIsValid(clone->target))
	{
		clone->target_name = family_name(clone->target, NULL);
		return;
	}

	source_name = family_name(clone->family, &name);
	clone->target_name =
		quote_qualified_identifier(get_namespace_name(schema), name);

	existing = GetSysCacheOid3(OPFAMILYAMNAMENSP, Anum_pg_opfamily_oid,
							   ObjectIdGetDatum(clone->am),
							   CStringGetDatum(name),
							   ObjectIdGetDatum(schema));
	if (OidIsValid(existing))
	{
		CatCList   *list = SearchSysCacheList1(AMOPSTRATEGY,
											   ObjectIdGetDatum(existing));

		if (list->n_members > 0)
			ereport(ERROR,
					(errcode(ERRCODE_DUPLICATE_OBJECT),
					 errmsg("operator family \"%s\" for access method \"%s\" already exists in schema \"%s\"",
							name, FPB_AM_NAME, get_namespace_name(schema)),
					 errdetail("It has none of the operators of btree's operator family %s.",
							   source_name)));
		ReleaseCatCacheList(list);
	}
	else
	{
		run(psprintf("CREATE OPERATOR FAMILY %s USING %s",
					 clone->target_name, FPB_AM_NAME));
		keep(clone, "FAMILY", clone->target_name);
	}

	clone->target = GetSysCacheOid3(OPFAMILYAMNAMENSP, Anum_pg_opfamily_oid,
									ObjectIdGetDatum(clone->am),
									CStringGetDatum(name),
									ObjectIdGetDatum(schema));
	Assert(OidIsValid(clone->target));
}

/*
 * Drop from the target family what the class will own.  The family has it if
 * another class of the family was cloned earlier.
 */
static void
drop_loose_members(const FpbClone *clone)
{
	StringInfoData items;
	const char *type = format_type_be_qualified(clone->type);

	initStringInfo(&items);
	for (int strategy = 1; strategy <= BTMaxStrategyNumber; strategy++)
	{
		if (OidIsValid(get_opfamily_member(clone->target, clone->type,
										   clone->type, strategy)))
			append_item(&items, "OPERATOR %d (%s, %s)", strategy, type, type);
	}
	if (OidIsValid(get_opfamily_proc(clone->target, clone->type, clone->type,
									 FPB_ORDER_PROC)))
		append_item(&items, "FUNCTION %d (%s, %s)", FPB_ORDER_PROC, type, type);

	if (items.len > 0)
		run(psprintf("ALTER OPERATOR FAMILY %s USING %s DROP %s",
					 clone->target_name, FPB_AM_NAME, items.data));
}

/*
 * Make the operator class.  If the family has another one for the same type
 * (text_ops when varchar_ops is cloned), that one has the members.
 */
static void
create_class(const FpbClone *clone, bool has_members)
{
	StringInfoData items;
	const char *type = format_type_be_qualified(clone->type);

	initStringInfo(&items);
	if (!has_members)
	{
		drop_loose_members(clone);
		append_operators(clone, FPB_MEMBERS_OWN, &items);
		append_functions(clone, FPB_MEMBERS_OWN, &items);
	}
	if (OidIsValid(clone->storage))
		append_item(&items, "STORAGE %s",
					format_type_be_qualified(clone->storage));
	else if (items.len == 0)
		append_item(&items, "STORAGE %s", type);	/* the list can't be empty */

	run(psprintf("CREATE OPERATOR CLASS %s %sFOR TYPE %s USING %s FAMILY %s AS %s",
				 clone->name, clone->isdefault ? "DEFAULT " : "", type,
				 FPB_AM_NAME, clone->target_name, items.data));
	keep(clone, "CLASS", clone->name);
}

/*
 * Append the support function equalimage of char(n), by which duplicates share
 * their key, if neither btree's family nor the target has it.
 *
 * btree's families for bpchar have had it before 19.  They lack it since then,
 * because equal values of bpchar may differ in their blanks.  Values of the
 * same length n don't, and fpb_has_loose_blanks asks for n.
 */
static void
append_equal_image(const FpbClone *clone, StringInfo items)
{
	Oid			order = get_opfamily_proc(clone->family, BPCHAROID, BPCHAROID,
										  FPB_ORDER_PROC);

	if ((order != F_BPCHARCMP && order != F_BTBPCHAR_PATTERN_CMP) ||
		OidIsValid(get_opfamily_proc(clone->family, BPCHAROID, BPCHAROID,
									 FPB_EQUALIMAGE_PROC)) ||
		OidIsValid(get_opfamily_proc(clone->target, BPCHAROID, BPCHAROID,
									 FPB_EQUALIMAGE_PROC)))
		return;
	append_item(items, "FUNCTION %d (%s, %s) %s", FPB_EQUALIMAGE_PROC,
				format_type_be_qualified(BPCHAROID),
				format_type_be_qualified(BPCHAROID),
				format_procedure_qualified(order == F_BPCHARCMP ?
										   F_BTVARSTREQUALIMAGE : F_BTEQUALIMAGE));
}

/*
 * Add to the target family what it lacks of the btree family, and equalimage
 * if it holds for fpbtree.
 */
static void
add_missing_members(const FpbClone *clone)
{
	StringInfoData items;

	initStringInfo(&items);
	append_operators(clone, FPB_MEMBERS_MISSING, &items);
	append_functions(clone, FPB_MEMBERS_MISSING, &items);
	append_equal_image(clone, &items);

	if (items.len > 0)
		run(psprintf("ALTER OPERATOR FAMILY %s USING %s ADD %s",
					 clone->target_name, FPB_AM_NAME, items.data));
}

/*
 * fpbtree_clone_opclass(name text) returns text
 *
 * Clones the btree operator class of the given name, which may be qualified,
 * into the same schema.  Returns the name of the new operator class.
 */
Datum
fpbtree_clone_opclass(PG_FUNCTION_ARGS)
{
	char	   *arg = text_to_cstring(PG_GETARG_TEXT_PP(0));
	List	   *names = stringToQualifiedNameList(arg, NULL);
	FpbClone	clone = {0};
	HeapTuple	tuple;
	Form_pg_opclass source;
	char	   *name;

	/* CREATE OPERATOR CLASS does the same, but here it comes first of all */
	if (!superuser())
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("must be superuser to create an operator class")));

	tuple = SearchSysCache1(CLAOID,
							ObjectIdGetDatum(get_opclass_oid(BTREE_AM_OID,
															 names, false)));
	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for operator class %s", arg);
	source = (Form_pg_opclass) GETSTRUCT(tuple);

	name = pstrdup(NameStr(source->opcname));
	clone.schema = source->opcnamespace;
	clone.am = get_index_am_oid(FPB_AM_NAME, false);
	clone.family = source->opcfamily;
	clone.type = source->opcintype;
	clone.storage = source->opckeytype;
	clone.isdefault = source->opcdefault;
	clone.name = quote_qualified_identifier(get_namespace_name(clone.schema), name);
	ReleaseSysCache(tuple);

	SPI_connect();
	provide_family(&clone);
	create_class(&clone, target_has_class(&clone, name));
	add_missing_members(&clone);
	SPI_finish();

	PG_RETURN_TEXT_P(cstring_to_text(clone.name));
}
