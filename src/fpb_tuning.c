/*-------------------------------------------------------------------------
 *
 * fpb_tuning.c
 *	  What has been measured on this machine, and the designs it speaks for.
 *
 * fpbtree_tune (fpb_tune.c) measures indexes of every form of keys and many
 * designs, and leaves the figures in the extension's table fpbtree_tuning.
 * Whoever builds an index asks it here for the fastest of the designs that
 * agree with the storage parameters.  Without figures there are the defaults:
 * disk_first, numbered nodes, which are prefetched and searched by counting,
 * and the layout's own choice of a width.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/dependency.h"
#include "catalog/pg_class.h"
#include "catalog/pg_type.h"
#include "commands/extension.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "fpb_tuning.h"

/* the columns of fpbtree_tuning */
enum
{
	FORM, LAYOUT, NODE_FORMAT, LEAF_LINES, NODE_SEARCH, NODE_PREFETCH,
	LOOKUP, INSERT, SCAN, USUAL, NCOLUMNS
};

/*
 * Another design has to be so many times as fast as the usual one, the one
 * that an index has if there are no figures: what is less may be chance.
 */
#define NOISE			1.05

/*
 * A form's name, as fpbtree_stats and fpbtree_tuning have it.
 */
const char *
fpb_form_name(FpbForm form)
{
	static const char *const names[] = {
		[FPB_WORD4] = "word4",[FPB_WORD8] = "word8",
		[FPB_WORD16] = "word16",[FPB_TUPLE] = "tuple"
	};

	return names[form];
}

/*
 * The table of figures, or InvalidOid if the extension is not there or has
 * lost it.
 */
Oid
fpb_tuning_table(void)
{
	Oid			extension = get_extension_oid("fpbtree", true);
	Oid			table;

	if (!OidIsValid(extension))
		return InvalidOid;
	table = get_relname_relid("fpbtree_tuning", get_extension_schema(extension));
	if (!OidIsValid(table) || get_rel_relkind(table) != RELKIND_RELATION ||
		getExtensionOfObject(RelationRelationId, table) != extension)
		return InvalidOid;
	return table;
}

/*
 * Is the table's row type still the one it was made with?
 */
static bool
has_our_columns(TupleDesc desc)
{
	static const Oid types[NCOLUMNS] = {
		TEXTOID, TEXTOID, TEXTOID, INT4OID, TEXTOID, BOOLOID,
		FLOAT8OID, FLOAT8OID, FLOAT8OID, BOOLOID
	};

	if (desc->natts < NCOLUMNS)
		return false;
	for (int i = 0; i < NCOLUMNS; i++)
		if (TupleDescAttr(desc, i)->attisdropped ||
			TupleDescAttr(desc, i)->atttypid != types[i])
			return false;
	return true;
}

/*
 * The same of a table that is locked.
 */
bool
fpb_tuning_is_ours(Oid table)
{
	Relation	rel = table_open(table, NoLock);
	bool		ours = has_our_columns(RelationGetDescr(rel));

	table_close(rel, NoLock);
	return ours;
}

/*
 * What a row says a design costs if it is to be best at this: the logarithm of
 * its nanoseconds, or for all purposes together the mean of these, which
 * compares ratios.
 */
static double
cost_of(FpbPurpose purpose, const Datum *values)
{
	double		lookup = log(DatumGetFloat8(values[LOOKUP]));
	double		insert = log(DatumGetFloat8(values[INSERT]));
	double		scan = log(DatumGetFloat8(values[SCAN]));
	double		cost = 0;

	switch (purpose)
	{
		case FPB_FOR_LOOKUP:
			cost = lookup;
			break;
		case FPB_FOR_INSERT:
			cost = insert;
			break;
		case FPB_FOR_SCAN:
			cost = scan;
			break;
		case FPB_FOR_BALANCED:
			cost = (lookup + insert + scan) / 3;
			break;
	}
	return DatumGetBool(values[USUAL]) ? cost - log(NOISE) : cost;
}

/*
 * The design that a row is about, of an index of that form.  False if there is
 * none such: the row is of another form, of a later version, or by hand.
 */
static bool
read_design(FpbForm form, const Datum *values, const bool *isnull, FpbDesign *row)
{
	for (int i = 0; i < NCOLUMNS; i++)
		if (isnull[i])
			return false;
	for (int i = LOOKUP; i <= SCAN; i++)
		if (!isfinite(DatumGetFloat8(values[i])) || DatumGetFloat8(values[i]) <= 0)
			return false;
	if (strcmp(TextDatumGetCString(values[FORM]), fpb_form_name(form)) != 0)
		return false;
	row->layout = fpb_layout_named(TextDatumGetCString(values[LAYOUT]));
	row->node_format = fpb_node_format_named(TextDatumGetCString(values[NODE_FORMAT]));
	row->leaf_lines = DatumGetInt32(values[LEAF_LINES]);
	row->node_search = fpb_node_search_named(TextDatumGetCString(values[NODE_SEARCH]));
	row->node_prefetch = DatumGetBool(values[NODE_PREFETCH]);
	return row->layout != FPB_UNNAMED && row->node_format != FPB_UNNAMED &&
		row->node_search != FPB_UNNAMED &&
		row->leaf_lines >= FPB_MIN_LINES && row->leaf_lines <= FPB_MAX_LINES;
}

/*
 * Does a design have all that another one has named?
 */
static bool
agrees(const FpbDesign *row, const FpbDesign *wanted)
{
	return (wanted->layout == FPB_UNNAMED || wanted->layout == row->layout) &&
		(wanted->node_format == FPB_UNNAMED || wanted->node_format == row->node_format) &&
		(wanted->node_search == FPB_UNNAMED || wanted->node_search == row->node_search) &&
		(wanted->node_prefetch == FPB_UNNAMED || wanted->node_prefetch == row->node_prefetch) &&
		(wanted->leaf_lines == 0 || Max(wanted->leaf_lines, FPB_MIN_LINES) == row->leaf_lines);
}

/*
 * Find the fastest design that has been measured and agrees with what *design
 * has named, and set *design to it, if there is one.
 */
static void
find_fastest(FpbForm form, FpbPurpose purpose, FpbDesign *design)
{
	const FpbDesign wanted = *design;
	Oid			table = fpb_tuning_table();
	double		best = 0;
	bool		found = false;
	Relation	rel;
	SysScanDesc scan;
	HeapTuple	tuple;
	MemoryContext row_context;

	if (!OidIsValid(table))
		return;
	rel = try_table_open(table, AccessShareLock);
	if (rel == NULL)
		return;
	if (!has_our_columns(RelationGetDescr(rel)))
	{
		ereport(WARNING,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("table \"%s\" is not as the extension made it, and not used",
						RelationGetRelationName(rel)),
				 errhint("Make the extension anew, or name layout, node_format, leaf_lines, node_search and node_prefetch.")));
		table_close(rel, AccessShareLock);
		return;
	}
	row_context = AllocSetContextCreate(CurrentMemoryContext, "fpbtree figures",
										ALLOCSET_SMALL_SIZES);
	scan = systable_beginscan(rel, InvalidOid, false, NULL, 0, NULL);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		MemoryContext old = MemoryContextSwitchTo(row_context);
		Datum	   *values = palloc(sizeof(Datum) * RelationGetDescr(rel)->natts);
		bool	   *isnull = palloc(sizeof(bool) * RelationGetDescr(rel)->natts);
		FpbDesign	row;

		heap_deform_tuple(tuple, RelationGetDescr(rel), values, isnull);
		if (read_design(form, values, isnull, &row) && agrees(&row, &wanted))
		{
			double		cost = cost_of(purpose, values);

			if (!found || cost < best)
			{
				*design = row;
				best = cost;
				found = true;
			}
		}
		MemoryContextSwitchTo(old);
		MemoryContextReset(row_context);
	}
	systable_endscan(scan);
	MemoryContextDelete(row_context);
	table_close(rel, AccessShareLock);
}

/*
 * Complete a design for keys of that form: what has been named stays, and the
 * rest becomes what is fastest at the purpose if the figures are to be asked,
 * or else the default.  (An index of a temporary table may be built with every
 * commit, and does without.)  No buffer is locked.
 */
void
fpb_complete_design(FpbForm form, FpbPurpose purpose, bool ask, FpbDesign *design)
{
	if (ask && (design->layout == FPB_UNNAMED || design->node_format == FPB_UNNAMED ||
				design->leaf_lines == 0 || design->node_search == FPB_UNNAMED ||
				design->node_prefetch == FPB_UNNAMED))
		find_fastest(form, purpose, design);
	if (design->layout == FPB_UNNAMED)
		design->layout = FPB_DISK_FIRST;
	if (design->node_format == FPB_UNNAMED)
		design->node_format = FPB_NODES_NUMBERED;
	if (design->node_search == FPB_UNNAMED)
		design->node_search = FPB_SEARCH_COUNTING;
	if (design->node_prefetch == FPB_UNNAMED)
		design->node_prefetch = true;
}
