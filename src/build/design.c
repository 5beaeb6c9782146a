/*-------------------------------------------------------------------------
 *
 * build/design.c
 *	  What has been measured on this machine, and the designs it speaks for.
 *
 * fpbtree_tune (tune/tune.c) measures indexes of every form of keys and many
 * designs, and leaves the figures in the body of the extension's function
 * fpbtree_tuning.  Whoever builds an index asks it here for the fastest of the
 * designs that agree with the storage parameters.  Without figures there are
 * the defaults: disk_first, numbered nodes, which are prefetched and searched
 * by counting, and the layout's own choice of a width.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/htup_details.h"
#include "catalog/dependency.h"
#include "catalog/pg_language_d.h"
#include "catalog/pg_proc.h"
#include "commands/extension.h"
#include "nodes/parsenodes.h"
#include "parser/parser.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/syscache.h"

#include "build/design.h"

/* the columns that fpbtree_tuning returns */
enum
{
	FORM, LAYOUT, NODE_FORMAT, LEAF_LINES, NODE_SEARCH, NODE_PREFETCH,
	LOOKUP, INSERT, SCAN, USUAL, NCOLUMNS
};

/* what has been measured of a design, in nanoseconds */
typedef struct Row
{
	FpbForm		form;			/* of the keys */
	FpbDesign	design;
	double		lookup;
	double		insert;
	double		scan;
	bool		usual;			/* what an index is without figures */
} Row;

/* what a body says */
typedef struct Figures
{
	MemoryContext context;		/* which has all of it */
	char	   *body;
	int			nrows;
	Row			rows[FLEXIBLE_ARRAY_MEMBER];
} Figures;

/*
 * Those that the session has read last, or NULL.  To parse some hundred rows
 * takes as long as all else that CREATE INDEX does on an empty table, and
 * whoever makes an index may make one for each partition.
 */
static Figures *last_read = NULL;

/*
 * Another design has to be so many times as fast as the usual one, which is
 * what an index has if there are no figures: a smaller difference may be
 * chance.
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
 * The form of that name.  False if there is none.
 */
static bool
form_named(const char *name, FpbForm *form)
{
	static const FpbForm forms[] = {FPB_WORD4, FPB_WORD8, FPB_WORD16, FPB_TUPLE};

	for (int i = 0; i < (int) lengthof(forms); i++)
	{
		if (strcmp(fpb_form_name(forms[i]), name) == 0)
		{
			*form = forms[i];
			return true;
		}
	}
	return false;
}

/*
 * The function whose body has the figures; InvalidOid if there is no
 * extension, or if it has lost the function.
 */
Oid
fpb_tuning_function(void)
{
	Oid			extension = get_extension_oid("fpbtree", true);
	Oid			function;

	if (!OidIsValid(extension))
		return InvalidOid;
	function = GetSysCacheOid3(PROCNAMEARGSNSP, Anum_pg_proc_oid,
							   CStringGetDatum("fpbtree_tuning"),
							   PointerGetDatum(buildoidvector(NULL, 0)),
							   ObjectIdGetDatum(get_extension_schema(extension)));
	if (!OidIsValid(function) ||
		getExtensionOfObject(ProcedureRelationId, function) != extension)
		return InvalidOid;
	return function;
}

/*
 * Error context callback: an error in the body is not in the user's statement.
 */
static void
tell_of_body(void *body)
{
	int			position = geterrposition();

	if (position > 0)
	{
		errposition(0);
		internalerrposition(position);
		internalerrquery((const char *) body);
	}
	errcontext("figures of function \"fpbtree_tuning\"");
}

/*
 * The rows of constants that the body consists of, as lists of nodes; NIL if
 * there are none.  The body is parsed and never executed.  So no code runs but
 * the server's grammar, nobody needs a privilege, and it makes no difference
 * what names mean in the session.  Raises an error if the body is not SQL; a
 * user can leave such a body only with check_function_bodies off.
 */
static List *
parse_body(char *body)
{
	List	   *statements;
	ErrorContextCallback callback;
	SelectStmt *select;

	callback.callback = tell_of_body;
	callback.arg = body;
	callback.previous = error_context_stack;
	error_context_stack = &callback;
	statements = raw_parser(body, RAW_PARSE_DEFAULT);
	error_context_stack = callback.previous;

	select = list_length(statements) != 1 ? NULL :
		(SelectStmt *) linitial_node(RawStmt, statements)->stmt;
	return select != NULL && IsA(select, SelectStmt) ? select->valuesLists : NIL;
}

/*
 * The value of a node that is a constant of the given kind; else NULL or
 * false.
 */
static const char *
get_text(Node *node)
{
	if (!IsA(node, A_Const) || castNode(A_Const, node)->isnull ||
		!IsA(&castNode(A_Const, node)->val, String))
		return NULL;
	return strVal(&castNode(A_Const, node)->val);
}

static bool
get_number(Node *node, double *value)
{
	union ValUnion *val;

	if (!IsA(node, A_Const) || castNode(A_Const, node)->isnull)
		return false;
	val = &castNode(A_Const, node)->val;
	if (!IsA(val, Integer) && !IsA(val, Float))
		return false;
	*value = IsA(val, Integer) ? intVal(val) : floatVal(val);
	return isfinite(*value) && *value > 0;
}

static bool
get_boolean(Node *node, bool *value)
{
	if (!IsA(node, A_Const) || castNode(A_Const, node)->isnull ||
		!IsA(&castNode(A_Const, node)->val, Boolean))
		return false;
	*value = boolVal(&castNode(A_Const, node)->val);
	return true;
}

/*
 * Read what a row says of a design.  False if it says nothing of use: it is of
 * a later version, or made by hand.
 */
static bool
read_row(const List *values, Row *row)
{
	const char *names[NCOLUMNS];
	double		leaf_lines;
	bool		node_prefetch;

	if (list_length(values) != NCOLUMNS)
		return false;
	for (int i = 0; i < NCOLUMNS; i++)
		names[i] = get_text(list_nth(values, i));
	if (names[FORM] == NULL || names[LAYOUT] == NULL ||
		names[NODE_FORMAT] == NULL || names[NODE_SEARCH] == NULL ||
		!form_named(names[FORM], &row->form) ||
		!get_number(list_nth(values, LEAF_LINES), &leaf_lines) ||
		!get_boolean(list_nth(values, NODE_PREFETCH), &node_prefetch) ||
		!get_number(list_nth(values, LOOKUP), &row->lookup) ||
		!get_number(list_nth(values, INSERT), &row->insert) ||
		!get_number(list_nth(values, SCAN), &row->scan) ||
		!get_boolean(list_nth(values, USUAL), &row->usual) ||
		leaf_lines < FPB_MIN_LINES || leaf_lines > FPB_MAX_LINES)
		return false;
	row->design.layout = fpb_layout_named(names[LAYOUT]);
	row->design.node_format = fpb_node_format_named(names[NODE_FORMAT]);
	row->design.leaf_lines = (int) leaf_lines;
	row->design.node_search = fpb_node_search_named(names[NODE_SEARCH]);
	row->design.node_prefetch = node_prefetch;
	return row->design.layout != FPB_UNNAMED &&
		row->design.node_format != FPB_UNNAMED &&
		row->design.node_search != FPB_UNNAMED;
}

/*
 * Read the figures of a body, in a memory context of their own that goes with
 * the session, and forget those read before.  They are NULL if the body has
 * none.
 */
static void
read_figures(char *body)
{
	List	   *lists = parse_body(body);
	MemoryContext context;
	Figures    *figures;

	if (last_read != NULL)
	{
		context = last_read->context;
		last_read = NULL;
		MemoryContextDelete(context);
	}
	if (lists == NIL)
		return;

	context = AllocSetContextCreate(CacheMemoryContext, "fpbtree figures",
									ALLOCSET_SMALL_SIZES);
	figures = MemoryContextAlloc(context, offsetof(Figures, rows) +
								 sizeof(Row) * list_length(lists));
	figures->context = context;
	figures->body = MemoryContextStrdup(context, body);
	figures->nrows = 0;
	foreach_ptr(List, values, lists)
	{
		if (read_row(values, &figures->rows[figures->nrows]))
			figures->nrows++;
	}
	last_read = figures;
}

/*
 * The figures of the function, as they are now; NULL, and a warning, if it is
 * not as the extension made it.  They stay until the next call.
 */
static const Figures *
get_figures(Oid function)
{
	HeapTuple	tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(function));
	bool		is_sql;
	char	   *body;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for function %u", function);
	is_sql = ((Form_pg_proc) GETSTRUCT(tuple))->prolang == SQLlanguageId;
	body = TextDatumGetCString(SysCacheGetAttrNotNull(PROCOID, tuple, Anum_pg_proc_prosrc));
	ReleaseSysCache(tuple);

	if (is_sql && (last_read == NULL || strcmp(last_read->body, body) != 0))
		read_figures(body);
	if (!is_sql || last_read == NULL)
	{
		ereport(WARNING,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("function \"%s\" is not as the extension made it, and not used", "fpbtree_tuning"),
				 errhint("Call fpbtree_tune() or fpbtree_tune_reset(), or name layout, node_format, leaf_lines, node_search and node_prefetch.")));
		return NULL;
	}
	return last_read;
}

/*
 * The cost of a design for a purpose: the logarithm of its nanoseconds.  For
 * all purposes together it is the mean of the logarithms, which compares
 * ratios.
 */
static double
cost_of(FpbPurpose purpose, const Row *row)
{
	double		lookup = log(row->lookup);
	double		insert = log(row->insert);
	double		scan = log(row->scan);
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
	return row->usual ? cost - log(NOISE) : cost;
}

/*
 * Does a design agree with *wanted in all that *wanted names?
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
 * Set *design to the fastest design that has been measured and agrees with
 * what *design names.  False if there is none.
 */
static bool
find_fastest(FpbForm form, FpbPurpose purpose, FpbDesign *design)
{
	const FpbDesign wanted = *design;
	Oid			function = fpb_tuning_function();
	double		best = 0;
	bool		found = false;
	const Figures *figures;
	MemoryContext context;
	MemoryContext old;

	if (!OidIsValid(function))
		return false;
	context = AllocSetContextCreate(CurrentMemoryContext, "fpbtree tuning",
									ALLOCSET_DEFAULT_SIZES);
	old = MemoryContextSwitchTo(context);
	figures = get_figures(function);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);

	for (int i = 0; figures != NULL && i < figures->nrows; i++)
	{
		const Row  *row = &figures->rows[i];

		if (row->form == form && agrees(&row->design, &wanted))
		{
			double		cost = cost_of(purpose, row);

			if (!found || cost < best)
			{
				*design = row->design;
				best = cost;
				found = true;
			}
		}
	}
	return found;
}

/*
 * Complete a design for keys of a form: what it names stays.  The rest becomes
 * what is fastest for the purpose by the figures (ask), and the default where
 * there are none.  (An index of a temporary table may be built with every
 * commit, and does without the figures.)  Returns whether no default has been
 * taken, so that the purpose has been obeyed as far as it had a choice.  No
 * buffer is locked.
 */
bool
fpb_complete_design(FpbForm form, FpbPurpose purpose, bool ask, FpbDesign *design)
{
	bool		measured = true;

	if (design->layout == FPB_UNNAMED || design->node_format == FPB_UNNAMED ||
		design->leaf_lines == 0 || design->node_search == FPB_UNNAMED ||
		design->node_prefetch == FPB_UNNAMED)
		measured = ask && find_fastest(form, purpose, design);
	if (design->layout == FPB_UNNAMED)
		design->layout = FPB_DISK_FIRST;
	if (design->node_format == FPB_UNNAMED)
		design->node_format = FPB_NODES_NUMBERED;
	if (design->node_search == FPB_UNNAMED)
		design->node_search = FPB_SEARCH_COUNTING;
	if (design->node_prefetch == FPB_UNNAMED)
		design->node_prefetch = true;
	return measured;
}
