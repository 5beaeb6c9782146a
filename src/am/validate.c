/*-------------------------------------------------------------------------
 *
 * am/validate.c
 *	  Validation of operator classes: are they complete and consistent?
 *
 * The rules are btree's.  A family has five operators and a comparison
 * function for each pair of its types, with the right signatures.  Other
 * support functions may be missing.
 *
 * As in btree, one operator class stores another type than it indexes:
 * name_ops stores names as cstrings, without the zeros at their end.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/amvalidate.h"
#include "access/htup_details.h"
#include "access/stratnum.h"
#include "access/xact.h"
#include "catalog/pg_amop.h"
#include "catalog/pg_amproc.h"
#include "catalog/pg_opclass.h"
#include "catalog/pg_opfamily.h"
#include "catalog/pg_type.h"
#include "utils/builtins.h"
#include "utils/catcache.h"
#include "utils/lsyscache.h"
#include "utils/regproc.h"
#include "utils/syscache.h"

#include "am/am.h"
#include "key/key.h"

static bool report_fault(const char *format,...) pg_attribute_printf(1, 2);

#define FPB_ALL_STRATEGIES \
	((UINT64CONST(1) << BTLessStrategyNumber) | \
	 (UINT64CONST(1) << BTLessEqualStrategyNumber) | \
	 (UINT64CONST(1) << BTEqualStrategyNumber) | \
	 (UINT64CONST(1) << BTGreaterEqualStrategyNumber) | \
	 (UINT64CONST(1) << BTGreaterStrategyNumber))

/*
 * Report a fault as INFO, so that one call of amvalidate reports all faults.
 * Always returns false.
 */
static bool
report_fault(const char *format,...)
{
	StringInfoData message;
	int			needed;

	initStringInfo(&message);
	do
	{
		va_list		args;

		va_start(args, format);
		needed = appendStringInfoVA(&message, format, args);
		va_end(args);
		if (needed > 0)
			enlargeStringInfo(&message, needed);
	} while (needed > 0);

	ereport(INFO,
			(errcode(ERRCODE_INVALID_OBJECT_DEFINITION),
			 errmsg_internal("%s", message.data)));
	pfree(message.data);

	return false;
}

/*
 * Validate a support function: does its number exist, and has it the signature
 * that the number asks for?
 */
static bool
validate_function(const char *family, Form_pg_amproc proc)
{
	Oid			left = proc->amproclefttype;
	Oid			right = proc->amprocrighttype;
	bool		ok;

	switch (proc->amprocnum)
	{
		case FPB_ORDER_PROC:
			ok = check_amproc_signature(proc->amproc, INT4OID, true,
										2, 2, left, right);
			break;
		case FPB_SORTSUPPORT_PROC:
			ok = check_amproc_signature(proc->amproc, VOIDOID, true,
										1, 1, INTERNALOID);
			break;
		case FPB_INRANGE_PROC:
			ok = check_amproc_signature(proc->amproc, BOOLOID, true,
										5, 5, left, left, right,
										BOOLOID, BOOLOID);
			break;
		case FPB_EQUALIMAGE_PROC:
			ok = check_amproc_signature(proc->amproc, BOOLOID, true,
										1, 1, OIDOID);
			break;
		case FPB_OPTIONS_PROC:
			ok = check_amoptsproc_signature(proc->amproc);
			break;
		default:
			return report_fault("operator family \"%s\" of access method %s contains function %s with invalid support number %d",
								family, FPB_AM_NAME,
								format_procedure(proc->amproc), proc->amprocnum);
	}

	if (!ok)
		return report_fault("operator family \"%s\" of access method %s contains function %s with wrong signature for support number %d",
							family, FPB_AM_NAME,
							format_procedure(proc->amproc), proc->amprocnum);
	return true;
}

/*
 * Validate an operator: does its strategy exist, is it a search operator, and
 * does it compare the types that it is registered for?
 */
static bool
validate_operator(const char *family, Form_pg_amop op)
{
	bool		result = true;

	if (op->amopstrategy < BTLessStrategyNumber ||
		op->amopstrategy > BTGreaterStrategyNumber)
		result = report_fault("operator family \"%s\" of access method %s contains operator %s with invalid strategy number %d",
							  family, FPB_AM_NAME,
							  format_operator(op->amopopr), op->amopstrategy);

	if (op->amoppurpose != AMOP_SEARCH || OidIsValid(op->amopsortfamily))
		result = report_fault("operator family \"%s\" of access method %s contains invalid ORDER BY specification for operator %s",
							  family, FPB_AM_NAME, format_operator(op->amopopr));

	if (!check_amop_signature(op->amopopr, BOOLOID,
							  op->amoplefttype, op->amoprighttype))
		result = report_fault("operator family \"%s\" of access method %s contains operator %s with wrong signature",
							  family, FPB_AM_NAME, format_operator(op->amopopr));

	return result;
}

/*
 * Validate a pair of types: has it all its operators and its comparison
 * function?
 */
static bool
validate_group(const char *family, const OpFamilyOpFuncGroup *group)
{
	bool		result = true;

	if (group->operatorset != FPB_ALL_STRATEGIES)
		result = report_fault("operator family \"%s\" of access method %s is missing operator(s) for types %s and %s",
							  family, FPB_AM_NAME,
							  format_type_be(group->lefttype),
							  format_type_be(group->righttype));

	if ((group->functionset & (UINT64CONST(1) << FPB_ORDER_PROC)) == 0)
		result = report_fault("operator family \"%s\" of access method %s is missing support function for types %s and %s",
							  family, FPB_AM_NAME,
							  format_type_be(group->lefttype),
							  format_type_be(group->righttype));

	return result;
}

/*
 * Validate the pairs of types of a family: is each one complete, is none
 * missing, and is the type that the operator class indexes among them?
 */
static bool
validate_groups(const char *family, const char *opclass, Oid type, List *groups)
{
	bool		result = true;
	bool		found = false;
	List	   *types = NIL;
	int			npairs = 0;
	ListCell   *lc;

	foreach(lc, groups)
	{
		OpFamilyOpFuncGroup *group = lfirst(lc);

		/*
		 * in_range functions may have an offset of a type that the family
		 * does not compare, such as interval.
		 */
		if (group->operatorset == 0 &&
			group->functionset == (UINT64CONST(1) << FPB_INRANGE_PROC))
			continue;

		if (!validate_group(family, group))
			result = false;
		if (group->lefttype == type && group->righttype == type)
			found = true;
		types = list_append_unique_oid(types, group->lefttype);
		types = list_append_unique_oid(types, group->righttype);
		npairs++;
	}

	if (!found)
		result = report_fault("operator class \"%s\" of access method %s is missing operator(s)",
							  opclass, FPB_AM_NAME);

	/* the planner derives conditions across all types of a family */
	if (npairs != list_length(types) * list_length(types))
		result = report_fault("operator family \"%s\" of access method %s is missing cross-type operator(s)",
							  family, FPB_AM_NAME);

	return result;
}

/*
 * amvalidate: validate an operator class and its family.  Faults are reported
 * as INFO messages.
 */
bool
fpb_validate(Oid opclassoid)
{
	bool		result = true;
	HeapTuple	tuple;
	Form_pg_opclass opclass;
	HeapTuple	familytuple;
	char	   *family;
	CatCList   *operators;
	CatCList   *functions;

	tuple = SearchSysCache1(CLAOID, ObjectIdGetDatum(opclassoid));
	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for operator class %u", opclassoid);
	opclass = (Form_pg_opclass) GETSTRUCT(tuple);

	familytuple = SearchSysCache1(OPFAMILYOID,
								  ObjectIdGetDatum(opclass->opcfamily));
	if (!HeapTupleIsValid(familytuple))
		elog(ERROR, "cache lookup failed for operator family %u",
			 opclass->opcfamily);
	family = NameStr(((Form_pg_opfamily) GETSTRUCT(familytuple))->opfname);

	if (OidIsValid(opclass->opckeytype) &&
		opclass->opckeytype != opclass->opcintype &&
		!(opclass->opcintype == NAMEOID && opclass->opckeytype == CSTRINGOID))
		result = report_fault("operator class \"%s\" of access method %s stores type %s, which is not supported",
							  NameStr(opclass->opcname), FPB_AM_NAME,
							  format_type_be(opclass->opckeytype));

	functions = SearchSysCacheList1(AMPROCNUM,
									ObjectIdGetDatum(opclass->opcfamily));
	for (int i = 0; i < functions->n_members; i++)
	{
		if (!validate_function(family, (Form_pg_amproc)
							   GETSTRUCT(&functions->members[i]->tuple)))
			result = false;
	}

	operators = SearchSysCacheList1(AMOPSTRATEGY,
									ObjectIdGetDatum(opclass->opcfamily));
	for (int i = 0; i < operators->n_members; i++)
	{
		if (!validate_operator(family, (Form_pg_amop)
							   GETSTRUCT(&operators->members[i]->tuple)))
			result = false;
	}

	if (!validate_groups(family, NameStr(opclass->opcname), opclass->opcintype,
						 identify_opfamily_groups(operators, functions)))
		result = false;

	ReleaseCatCacheList(operators);
	ReleaseCatCacheList(functions);
	ReleaseSysCache(familytuple);
	ReleaseSysCache(tuple);

	return result;
}

/*
 * The OID of an operator family's access method, which is fpbtree.
 */
static Oid
family_am(Oid opfamilyoid)
{
	HeapTuple	tuple;
	Oid			result;

	tuple = SearchSysCache1(OPFAMILYOID, ObjectIdGetDatum(opfamilyoid));
	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for operator family %u", opfamilyoid);
	result = ((Form_pg_opfamily) GETSTRUCT(tuple))->opfmethod;
	ReleaseSysCache(tuple);

	return result;
}

/*
 * amadjustmembers: set what the operators and functions depend on that are
 * about to be added to a family.
 *
 * The comparison function and the operators of a type are parts of the type's
 * operator class, if it has one, which would be useless without them.  All
 * others are loose members of the family, and may be dropped from it.
 * opclassoid is invalid if it is the family that is being altered.
 */
void
fpb_adjustmembers(Oid opfamilyoid, Oid opclassoid,
				  List *operators, List *functions)
{
	Oid			amoid;
	ListCell   *lc;

	/* CREATE OPERATOR CLASS: make its own catalog rows visible */
	if (OidIsValid(opclassoid))
		CommandCounterIncrement();
	amoid = family_am(opfamilyoid);

	foreach(lc, list_concat_copy(operators, functions))
	{
		OpFamilyMember *member = lfirst(lc);
		Oid			owner = InvalidOid;

		if (member->lefttype == member->righttype &&
			(!member->is_func || member->number == FPB_ORDER_PROC))
		{
			if (OidIsValid(opclassoid) &&
				get_opclass_input_type(opclassoid) == member->lefttype)
				owner = opclassoid;
			else
				owner = opclass_for_family_datatype(amoid, opfamilyoid,
													member->lefttype);
		}

		member->ref_is_hard = OidIsValid(owner);
		member->ref_is_family = !OidIsValid(owner);
		member->refobjid = OidIsValid(owner) ? owner : opfamilyoid;
	}
}
