/*-------------------------------------------------------------------------
 *
 * am/join_paths.c
 *	  Offers the planner batched nested loops (join/join.c).
 *
 * Where the server considers a nested loop over a parameterized scan of an
 * fpbtree index, we offer the same loop in batches if
 *
 *	  - the outer side gives the values of equalities on successive columns of
 *		the index, and the columns before them have equalities with values that
 *		do not depend on the outer side: the *batch key*;
 *	  - no other part of the scan depends on the outer side.  Conditions that do
 *		are moved to the join, where both rows are at hand;
 *	  - nothing may ask for a row again (EvalPlanQual), which is so in queries
 *		that lock no rows.
 *
 * The plan has the server's own nested loop below our node, which runs it.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/stratnum.h"
#include "catalog/pg_type_d.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/restrictinfo.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/spccache.h"

#include "am/am.h"
#include "base/compat.h"
#include "join/join.h"

/*
 * So much of what reading costs is saved by reading several pages at a time,
 * if all fit the cache that the planner is told of, and so much more if none
 * do.  Even where they don't fit, many pages are in memory.  Where they do,
 * hash joins, which read ahead as well, are not given anything for that
 * either.
 */
#define READS_SAVED			0.02
#define COLD_READS_SAVED	0.4

/* and so much of a descent if another row of the batch has made it */
#define DESCENT_SAVED	0.25

/* but to find the outer rows of an inner one costs so many operators */
#define ROW_OPERATORS	1

/* and to keep it until the batch has been joined, so many */
#define KEEP_OPERATORS	2

/* batches are small where the outer side has so many rows or fewer */
#define SMALL_OUTER		16.0

/* where so large a part of a batch shares visits to leaves, its keys are dense */
#define DENSE_SHARE		0.5

/* fpbtree.enable_batch_join */
static bool enable_batch_join;

static set_join_pathlist_hook_type prev_join_hook = NULL;

static Plan *plan_batch_join(PlannerInfo *root, RelOptInfo *rel, CustomPath *best_path,
							 List *tlist, List *clauses, List *custom_plans);

static const CustomPathMethods path_methods = {
	.CustomName = FPB_JOIN_NAME,
	.PlanCustomPath = plan_batch_join
};

/* the batch key of an index scan */
typedef struct BatchKey
{
	List	   *clauses;		/* IndexClauses, one for each column */
	List	   *numbers;		/* of the scan keys */
	double		nrows;			/* that have it */
} BatchKey;

/*
 * The relations that parameters of an inner path of a join with rel name: a
 * partition is parameterized by the whole table.
 */
static Relids
parameter_relids(RelOptInfo *rel)
{
	return rel->top_parent_relids != NULL ? rel->top_parent_relids : rel->relids;
}

/*
 * Can an equality of the index's column with values of a type be asked for in
 * an array of the column's own type?
 */
static bool
can_be_array(Oid own, Oid given)
{
	bool		integer = own == INT2OID || own == INT4OID || own == INT8OID;

	if (own != given)
		return integer && (given == INT2OID || given == INT4OID || given == INT8OID);
	return get_typtype(own) != TYPTYPE_PSEUDO && OidIsValid(get_array_type(own));
}

/*
 * Is the clause "column = value"?
 */
static bool
is_equality(const IndexOptInfo *index, const IndexClause *clause)
{
	Expr	   *qual;
	int			strategy;
	Oid			left;
	Oid			right;

	if (clause->lossy || list_length(clause->indexquals) != 1)
		return false;
	qual = linitial_node(RestrictInfo, clause->indexquals)->clause;
	if (!IsA(qual, OpExpr))
		return false;
	get_op_opfamily_properties(((OpExpr *) qual)->opno, index->opfamily[clause->indexcol],
							   false, &strategy, &left, &right);
	return strategy == BTEqualStrategyNumber && left == index->opcintype[clause->indexcol] &&
		can_be_array(left, right);
}

/*
 * Find the batch key of a scan, where relids are the outer side.  False if it
 * has none.
 */
static bool
find_batch_key(const IndexPath *path, Relids relids, BatchKey *key)
{
	const IndexOptInfo *index = path->indexinfo;
	int			column = 0;		/* those before it have an equality */
	int			number = 0;
	ListCell   *lc;

	key->clauses = key->numbers = NIL;
	foreach(lc, path->indexclauses)
	{
		IndexClause *clause = lfirst_node(IndexClause, lc);

		if (clause->indexcol > column)
			break;
		if (clause->indexcol == column && is_equality(index, clause))
		{
			bool		given = bms_overlap(clause->rinfo->clause_relids, relids);

			if (given && index->indexkeys[column] == 0)
				break;
			if (!given && key->clauses != NIL)
				break;
			if (given)
			{
				key->clauses = lappend(key->clauses, clause);
				key->numbers = lappend_int(key->numbers, number);
			}
			column++;
		}
		number += list_length(clause->indexquals);
	}
	return key->clauses != NIL;
}

/*
 * Would our node run an index scan as the server does, apart from the keys?
 * relids are the outer side.
 */
static bool
can_run_scan(const PlannerInfo *root, const IndexPath *path, Relids relids)
{
	const IndexOptInfo *index = path->indexinfo;
	const RelOptInfo *rel = path->path.parent;
	ListCell   *lc;

	if (index->amcostestimate != fpb_costestimate || path->indexorderbys != NIL)
		return false;

	/* an output of the scan would be computed from another outer row */
	if (bms_overlap(rel->lateral_relids, relids))
		return false;

	/* a subplan would have to be told of changed parameters */
	if (root->glob->subplans == NIL)
		return true;
	if (contain_subplans((Node *) rel->reltarget->exprs))
		return false;
	foreach(lc, rel->baserestrictinfo)
		if (contain_subplans((Node *) lfirst_node(RestrictInfo, lc)->clause))
		return false;
	foreach(lc, path->path.param_info->ppi_clauses)
		if (contain_subplans((Node *) lfirst_node(RestrictInfo, lc)->clause))
		return false;
	return true;
}

/*
 * Would anything be asked of the join that our node does not do?
 */
static bool
can_batch(PlannerInfo *root, RelOptInfo *innerrel, JoinType jointype)
{
	if (!enable_batch_join)
		return false;
	if (jointype != JOIN_INNER && jointype != JOIN_LEFT && jointype != JOIN_SEMI &&
		jointype != JOIN_ANTI)
		return false;
	if (!IS_SIMPLE_REL(innerrel) || innerrel->rtekind != RTE_RELATION)
		return false;

	/* there may be a node between the loop and the scan */
	if (root->hasPseudoConstantQuals)
		return false;
	return root->rowMarks == NIL &&
		(root->parse->commandType == CMD_SELECT || root->parse->commandType == CMD_INSERT);
}

/*
 * How many entries of an index scan have its batch key, on the average of the
 * outer rows: its other conditions that depend on the outer side are moved to
 * the join.
 *
 * A key that is frequent on both sides makes as many pairs as both have rows.
 * The server's estimate for an index scan does not know of that, but the one
 * for a join does.
 */
static double
rows_of_key(PlannerInfo *root, const IndexPath *path, Relids relids, const BatchKey *key)
{
	RelOptInfo *rel = path->path.parent;
	List	   *clauses = NIL;
	bool		moved = false;
	SpecialJoinInfo sjinfo;
	List	   *equalities = NIL;
	Selectivity one;
	Selectivity all;
	ListCell   *lc;

	foreach(lc, path->indexclauses)
	{
		IndexClause *clause = lfirst_node(IndexClause, lc);

		if (!bms_overlap(clause->rinfo->clause_relids, relids))
			clauses = lappend(clauses, clause->rinfo);
		else if (list_member_ptr(key->clauses, clause))
			equalities = lappend(equalities, clause->rinfo);
		else
			moved = true;
	}
	if (!moved)
		return path->path.rows;
	init_dummy_sjinfo(&sjinfo, relids, rel->relids);
	one = clauselist_selectivity(root, equalities, rel->relid, JOIN_INNER, NULL);
	all = clauselist_selectivity(root, equalities, 0, JOIN_INNER, &sjinfo);
	return clamp_row_est(rel->tuples * Max(one, all) *
						 clauselist_selectivity(root, clauses, rel->relid, JOIN_INNER, NULL));
}

/*
 * What part of a batch's rows need no visit to a leaf of their own, because
 * others of the batch have keys there?
 */
static double
shared_visits(const IndexPath *inner, double nrows)
{
	double		batch = Min(nrows, fpb_join_batch_rows);
	double		leaves = Max(inner->indexinfo->pages, 1);

	return 1 - Min(leaves * (1 - exp(-batch / leaves)) / batch, 1);
}

/*
 * What finding the outer rows of the inner ones costs for each outer row.
 */
static Cost
cost_of_finding(const IndexPath *inner)
{
	return ROW_OPERATORS * cpu_operator_cost * clamp_row_est(inner->path.rows);
}

/*
 * What visits to leaves that rows of a batch share save for each outer row,
 * even if all pages are in memory.  0 where keys are not dense, or where a key
 * has so many rows that batches don't pay.
 */
static Cost
saved_by_sharing(const IndexPath *inner, double nrows)
{
	double		shared = shared_visits(inner, nrows);
	Cost		saved = DESCENT_SAVED * shared * inner->path.startup_cost;

	return shared > DENSE_SHARE && saved > cost_of_finding(inner) ? saved : 0;
}

/*
 * What part of the pages that the query reads is not in the cache that the
 * planner is told of?
 */
static double
share_not_cached(const PlannerInfo *root, const IndexPath *inner)
{
	double		pages = root->total_table_pages + inner->indexinfo->pages;

	return pages <= effective_cache_size ? 0 : 1 - effective_cache_size / pages;
}

/*
 * What a batched nested loop costs less than the loop, where sharing visits
 * saves so much for each row.
 *
 * If keys are dense, a batch descends to each leaf once, where the loop does
 * for each row, but rows have to be copied, sorted and found again.  Pages
 * that have to be read are read several at a time.  None of that is true of
 * the first rows.
 *
 * A batch reads all inner rows of its keys, where the loop has more
 * conditions, or stops at the first match of a semi-join or anti-join, after a
 * page of the table.  If joined rows are to leave in outer order, they have to
 * be kept.
 */
static Cost
saved_by_batches(const PlannerInfo *root, const Path *outer, const IndexPath *inner,
				 const BatchKey *key, JoinType jointype, Cost sharing, bool ordered)
{
	double		nrows = clamp_row_est(outer->rows);
	double		matches = clamp_row_est(inner->path.rows);
	Cost		fetch = inner->path.total_cost - inner->path.startup_cost;
	Cost		reads = Max(fetch - 2 * cpu_tuple_cost * matches, 0);
	Cost		saved = sharing - cost_of_finding(inner);

	if (jointype == JOIN_SEMI || jointype == JOIN_ANTI)
	{
		double		page_cost;

		get_tablespace_page_costs(inner->path.parent->reltablespace, &page_cost, NULL);
		saved -= Max(fetch - page_cost, 0);
		reads = Min(reads, page_cost);
	}
	saved += (READS_SAVED + COLD_READS_SAVED * share_not_cached(root, inner)) * reads;
	if (ordered)
		saved -= KEEP_OPERATORS * cpu_operator_cost * matches;
	saved -= Max(key->nrows - matches, 0) * fetch / matches;
	return saved * Max(nrows - SMALL_OUTER, 0);
}

/* a join that may be made in batches */
typedef struct BatchJoin
{
	PlannerInfo *root;
	RelOptInfo *joinrel;
	JoinType	type;
	JoinPathExtraData *extra;
	Path	   *inner;
	BatchKey	key;
} BatchJoin;

/*
 * Make a path of a batched nested loop, whose rows are in this order, or NULL
 * where the server would make no nested loop, or a path that the join has is
 * better (of partial paths, that is not looked at).
 */
static CustomPath *
make_path(const BatchJoin *join, Path *outer, List *pathkeys, bool partial)
{
	PlannerInfo *root = join->root;
	JoinPathExtraData *extra = join->extra;
	Path	   *inner = join->inner;
	Relids		outer_relids = parameter_relids(outer->parent);
	Relids		required;
	JoinCostWorkspace workspace;
	NestPath   *loop;
	CustomPath *path;
	bool		ordered = pathkeys != NIL;
	Cost		sharing = saved_by_sharing((IndexPath *) inner, clamp_row_est(outer->rows));
	Cost		saved = saved_by_batches(root, outer, (IndexPath *) inner, &join->key, join->type,
										 sharing, ordered);

	/* the join has the server's own loop, whose order is no worse */
	if (saved <= cpu_operator_cost && enable_nestloop)
		return NULL;

	/* an outer side with lateral references to the inner one is none */
	if (bms_overlap(PATH_REQ_OUTER(outer), parameter_relids(inner->parent)))
		return NULL;
	required = calc_nestloop_required_outer(outer_relids, PATH_REQ_OUTER(outer),
											parameter_relids(inner->parent),
											PATH_REQ_OUTER(inner));
	if (required != NULL && (!bms_overlap(required, extra->param_source_rels) ||
							 FPB_DANGEROUS_PHV(root, outer_relids, PATH_REQ_OUTER(inner))))
		return NULL;
	if (extra->sjinfo->ojrelid != 0 &&
		(bms_is_member(extra->sjinfo->ojrelid, PATH_REQ_OUTER(inner)) ||
		 bms_is_member(extra->sjinfo->ojrelid, PATH_REQ_OUTER(outer))))
		return NULL;
	if (bms_overlap(PATH_REQ_OUTER(inner), outer->parent->top_parent_relids) &&
		!path_is_reparameterizable_by_child(inner, outer->parent))
		return NULL;

	/* like the server, don't make paths of which that is known beforehand */
	fpb_initial_cost_nestloop(root, &workspace, join->type, outer, inner, extra);
	if (!partial && !fpb_add_path_precheck(join->joinrel, outer, inner, workspace.startup_cost,
										   workspace.total_cost - saved, pathkeys, required))
		return NULL;
	loop = create_nestloop_path(root, join->joinrel, join->type, &workspace, extra, outer, inner,
								extra->restrictlist, pathkeys, required);

	path = makeNode(CustomPath);
	path->path = loop->jpath.path;
	path->path.type = T_CustomPath;
	path->path.pathtype = T_CustomScan;
	path->flags = CUSTOMPATH_SUPPORT_PROJECTION;
	path->custom_paths = list_make1(loop);
	path->custom_private = list_make2(join->key.numbers, list_make2_int(sharing > 0, ordered));
	path->methods = &path_methods;
	fpb_cost_as_enabled(&path->path, outer, inner);
	path->path.startup_cost += cpu_operator_cost;
	path->path.total_cost += cpu_operator_cost - saved;
	return path;
}

/*
 * Add a path over an outer path, unless there are better ones.
 */
static void
add_batch_path(const BatchJoin *join, Path *outer, List *pathkeys)
{
	CustomPath *path = make_path(join, outer, pathkeys, false);

	if (path != NULL)
		add_path(join->joinrel, &path->path);
}

/*
 * Add paths over the outer paths that begin with the order wanted of the
 * query.
 */
static void
add_ordered_paths(const BatchJoin *join, RelOptInfo *outerrel)
{
	PlannerInfo *root = join->root;
	ListCell   *lc;

	if (root->query_pathkeys == NIL)
		return;
	foreach(lc, outerrel->pathlist)
	{
		Path	   *outer = lfirst(lc);
		List	   *pathkeys;

		if (outer->pathkeys == NIL ||
			linitial(outer->pathkeys) != linitial(root->query_pathkeys))
			continue;
		pathkeys = build_join_pathkeys(root, join->joinrel, join->type, outer->pathkeys);
		if (pathkeys != NIL)
			add_batch_path(join, outer, pathkeys);
	}
}

/*
 * Add paths over the cheapest outer paths, and such as keep an order.
 */
static void
add_paths(const BatchJoin *join, RelOptInfo *outerrel)
{
	RelOptInfo *joinrel = join->joinrel;
	Path	   *first = outerrel->cheapest_startup_path;
	CustomPath *path;

	add_batch_path(join, outerrel->cheapest_total_path, NIL);
	if (first != NULL && first != outerrel->cheapest_total_path)
		add_batch_path(join, first, NIL);
	add_ordered_paths(join, outerrel);
	if (joinrel->consider_parallel && joinrel->lateral_relids == NULL &&
		outerrel->partial_pathlist != NIL && join->inner->parallel_safe)
	{
		path = make_path(join, linitial(outerrel->partial_pathlist), NIL, true);
		if (path != NULL && path->path.param_info == NULL && path->path.parallel_safe)
			add_partial_path(joinrel, &path->path);
	}
}

/*
 * The planner's hook after it has collected the paths of a join.
 */
static void
join_hook(PlannerInfo *root, RelOptInfo *joinrel, RelOptInfo *outerrel, RelOptInfo *innerrel,
		  JoinType jointype, JoinPathExtraData *extra)
{
	Relids		outer_relids = parameter_relids(outerrel);
	BatchJoin	join = {.root = root,.joinrel = joinrel,.type = jointype,.extra = extra};
	ListCell   *lc;

	if (prev_join_hook != NULL)
		prev_join_hook(root, joinrel, outerrel, innerrel, jointype, extra);
	if (!can_batch(root, innerrel, jointype))
		return;
	foreach(lc, innerrel->pathlist)
	{
		IndexPath  *inner = (IndexPath *) lfirst(lc);

		if (!IsA(inner, IndexPath) || inner->path.param_info == NULL ||
			!bms_is_subset(PATH_REQ_OUTER(&inner->path), outer_relids) ||
			!can_run_scan(root, inner, outer_relids) || !find_batch_key(inner, outer_relids, &join.key))
			continue;
		join.inner = &inner->path;
		join.key.nrows = rows_of_key(root, inner, outer_relids, &join.key);
		add_paths(&join, outerrel);
	}
}

/* what a clause is moved from the inner scan to the join with */
typedef struct MoveContext
{
	List	   *params;			/* the loop's NestLoopParams */
	List	   *outer_tlist;
	bool		found;			/* has one been found? */
	bool		failed;			/* has one no value in the outer side's list? */
} MoveContext;

/*
 * The outer side's value for a parameter, or NULL.
 */
static Expr *
parameter_value(const NestLoopParam *param, List *outer_tlist)
{
	const Var  *wanted = param->paramval;
	ListCell   *lc;

	foreach(lc, outer_tlist)
	{
		Expr	   *expr = lfirst_node(TargetEntry, lc)->expr;

		if (IsA(wanted, Var) && IsA(expr, Var) && ((Var *) expr)->varno == wanted->varno &&
			((Var *) expr)->varattno == wanted->varattno)
			return expr;
		if (IsA(wanted, PlaceHolderVar) && IsA(expr, PlaceHolderVar) &&
			((PlaceHolderVar *) expr)->phid == ((const PlaceHolderVar *) wanted)->phid)
			return expr;
	}
	return NULL;
}

/*
 * Replace the loop's parameters by what they stand for.
 */
static Node *
replace_parameters(Node *node, void *arg)
{
	MoveContext *context = arg;
	ListCell   *lc;

	if (node == NULL)
		return NULL;
	if (IsA(node, Param) && ((Param *) node)->paramkind == PARAM_EXEC)
		foreach(lc, context->params)
	{
		NestLoopParam *param = lfirst_node(NestLoopParam, lc);
		Expr	   *value;

		if (param->paramno != ((Param *) node)->paramid)
			continue;
		context->found = true;
		value = parameter_value(param, context->outer_tlist);
		if (value != NULL)
			return copyObjectImpl(value);
		context->failed = true;
	}
	return expression_tree_mutator(node, replace_parameters, arg);
}

/*
 * Move the clauses of a list that depend on the outer side to the join, but
 * for those whose numbers stay has.  originals are the same clauses, as the
 * join can have them; both lists lose them.  Returns the numbers that those
 * that stay have now.
 */
static List *
move_clauses(List **clauses, List **originals, const List *stay, NestLoop *loop,
			 MoveContext *context)
{
	List	   *kept = NIL;
	List	   *kept_originals = NIL;
	List	   *stay_at = NIL;

	for (int i = 0; i < list_length(*originals); i++)
	{
		Node	   *original = list_nth(*originals, i);
		bool		stays = list_member_int(stay, i);
		Node	   *moved;

		context->found = false;
		moved = replace_parameters(original, context);
		if (context->found && !stays)
			loop->join.joinqual = lappend(loop->join.joinqual, moved);
		else
		{
			if (stays)
				stay_at = lappend_int(stay_at, list_length(kept_originals));
			kept_originals = lappend(kept_originals, original);
			if (clauses != NULL)
				kept = lappend(kept, list_nth(*clauses, i));
		}
	}
	*originals = kept_originals;
	if (clauses != NULL)
		*clauses = kept;
	return stay_at;
}

/*
 * Make the plan of a path: the nested loop's, below our node.
 */
static Plan *
plan_batch_join(PlannerInfo *root pg_attribute_unused(), RelOptInfo *rel pg_attribute_unused(),
				CustomPath *best_path, List *tlist,
				List *clauses pg_attribute_unused(), List *custom_plans)
{
	CustomScan *scan = makeNode(CustomScan);
	NestLoop   *loop = linitial_node(NestLoop, custom_plans);
	Plan	   *inner = innerPlan(loop);
	List	   *key = linitial(best_path->custom_private);
	MoveContext context = {loop->nestParams, outerPlan(loop)->targetlist};

	if (IsA(inner, IndexScan))
		key = move_clauses(&((IndexScan *) inner)->indexqual,
						   &((IndexScan *) inner)->indexqualorig, key, loop, &context);
	else
		key = move_clauses(&castNode(IndexOnlyScan, inner)->indexqual,
						   &((IndexOnlyScan *) inner)->recheckqual, key, loop, &context);
	move_clauses(NULL, &inner->qual, NIL, loop, &context);
	if (context.failed)
		elog(ERROR, "outer side of a batched nested loop lacks a parameter");

	scan->scan.plan.targetlist = tlist;
	scan->flags = best_path->flags;
	scan->custom_plans = custom_plans;
	scan->custom_private = list_make2(key, lsecond(best_path->custom_private));
	scan->custom_scan_tlist = copyObjectImpl(loop->join.plan.targetlist);
	scan->methods = &fpb_join_scan_methods;
	return &scan->scan.plan;
}

/*
 * Install the hook, and define its setting.  Called once in a backend, when
 * the module is loaded, which is early enough: the planner has opened the
 * indexes of all tables before it joins any.
 */
void
fpb_join_paths_init(void)
{
	DefineCustomBoolVariable("fpbtree.enable_batch_join",
							 "Enables the planner's use of batched nested loops.",
							 NULL,
							 &enable_batch_join,
							 true,
							 PGC_USERSET, GUC_EXPLAIN, NULL, NULL, NULL);
	prev_join_hook = set_join_pathlist_hook;
	set_join_pathlist_hook = join_hook;
}
