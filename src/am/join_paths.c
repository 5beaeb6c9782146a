/*-------------------------------------------------------------------------
 *
 * am/join_paths.c
 *	  Offers the planner batched nested loops (join/join.c).
 *
 * Where the server considers a nested loop over a parameterized scan of an
 * fpbtree index, we offer the same loop in batches if
 *
 *	  - the outer side gives the value of an equality on a column of the index,
 *		and the columns before it have equalities with values that do not depend
 *		on the outer side: the *batch key*;
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

#include "am/am.h"
#include "base/compat.h"
#include "join/join.h"

/*
 * So much of what reading costs is saved if pages are read several at a time.
 * It would be half or more if they all came from storage.  But most are in
 * memory, and hash joins, which read ahead as well, are not given anything for
 * that either.
 */
#define READS_SAVED		0.02

/* and so much of a descent if another row of the batch has made it */
#define DESCENT_SAVED	0.25

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
	IndexClause *clause;
	int			number;			/* of the scan key */
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

	foreach(lc, path->indexclauses)
	{
		IndexClause *clause = lfirst_node(IndexClause, lc);

		if (clause->indexcol > column)
			return false;
		if (clause->indexcol == column && is_equality(index, clause))
		{
			if (bms_overlap(clause->rinfo->clause_relids, relids))
			{
				key->clause = clause;
				key->number = number;
				return index->indexkeys[column] != 0;
			}
			column++;
		}
		number += list_length(clause->indexquals);
	}
	return false;
}

/*
 * Would our node run an index scan as the server does, apart from the keys?
 * relids are the outer side.
 */
static bool
can_run_scan(const IndexPath *path, Relids relids)
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
	Node	   *equality = (Node *) key->clause->rinfo;
	Selectivity one;
	Selectivity all;
	ListCell   *lc;

	foreach(lc, path->indexclauses)
	{
		IndexClause *clause = lfirst_node(IndexClause, lc);

		if (!bms_overlap(clause->rinfo->clause_relids, relids))
			clauses = lappend(clauses, clause->rinfo);
		else
			moved |= clause != key->clause;
	}
	if (!moved)
		return path->path.rows;
	init_dummy_sjinfo(&sjinfo, relids, rel->relids);
	one = clause_selectivity(root, equality, rel->relid, JOIN_INNER, NULL);
	all = clause_selectivity(root, equality, 0, JOIN_INNER, &sjinfo);
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
 * What a batched nested loop costs less than the loop.
 *
 * If keys are dense, a batch descends to each leaf once, where the loop does
 * for each row, but rows have to be copied and sorted.  Pages that have to be
 * read are read several at a time.  None of that is true of the first rows.
 *
 * A batch reads all inner rows of its keys, where the loop stops at the first
 * match of a semi-join or anti-join, or has more conditions.
 */
static Cost
saved_by_batches(const Path *outer, const IndexPath *inner, const BatchKey *key,
				 JoinType jointype, bool dense)
{
	bool		stops = jointype == JOIN_SEMI || jointype == JOIN_ANTI;
	double		nrows = clamp_row_est(outer->rows);
	double		matches = clamp_row_est(inner->path.rows);
	double		more = key->nrows - (stops ? 1 : matches);
	Cost		descent = inner->path.startup_cost;
	Cost		fetch = inner->path.total_cost - descent;
	Cost		saved = READS_SAVED * Max(fetch - 2 * cpu_tuple_cost * matches, 0);

	if (dense)
		saved += DESCENT_SAVED * shared_visits(inner, nrows) * descent;
	saved -= Max(more, 0) * fetch / matches;
	return saved * Max(nrows - SMALL_OUTER, 0);
}

/*
 * Make a path of a batched nested loop, or NULL where the server would make no
 * nested loop, or a path that the join has is better (of partial paths, that
 * is not looked at).
 */
static CustomPath *
make_path(PlannerInfo *root, RelOptInfo *joinrel, Path *outer, Path *inner,
		  const BatchKey *key, JoinType jointype, JoinPathExtraData *extra, bool partial)
{
	Relids		outer_relids = parameter_relids(outer->parent);
	Relids		required;
	JoinCostWorkspace workspace;
	NestPath   *loop;
	CustomPath *path;
	bool		dense = shared_visits((IndexPath *) inner, clamp_row_est(outer->rows)) > DENSE_SHARE;
	Cost		saved = saved_by_batches(outer, (IndexPath *) inner, key, jointype, dense);

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
	fpb_initial_cost_nestloop(root, &workspace, jointype, outer, inner, extra);
	if (!partial && !fpb_add_path_precheck(joinrel, outer, inner, workspace.startup_cost,
										   workspace.total_cost - saved, required))
		return NULL;
	loop = create_nestloop_path(root, joinrel, jointype, &workspace, extra, outer, inner,
								extra->restrictlist, NIL, required);

	path = makeNode(CustomPath);
	path->path = loop->jpath.path;
	path->path.type = T_CustomPath;
	path->path.pathtype = T_CustomScan;
	path->flags = CUSTOMPATH_SUPPORT_PROJECTION;
	path->custom_paths = list_make1(loop);
	path->custom_private = list_make2_int(key->number, dense);
	path->methods = &path_methods;
	fpb_cost_as_enabled(&path->path, outer, inner);
	path->path.startup_cost += cpu_operator_cost;
	path->path.total_cost += cpu_operator_cost - saved;
	return path;
}

/*
 * Add paths that join the rows of an inner path.
 */
static void
add_paths(PlannerInfo *root, RelOptInfo *joinrel, RelOptInfo *outerrel, Path *inner,
		  const BatchKey *key, JoinType jointype, JoinPathExtraData *extra)
{
	Path	   *cheapest = outerrel->cheapest_total_path;
	Path	   *first = outerrel->cheapest_startup_path;
	CustomPath *path;

	path = make_path(root, joinrel, cheapest, inner, key, jointype, extra, false);
	if (path != NULL)
		add_path(joinrel, &path->path);
	if (first != NULL && first != cheapest)
	{
		path = make_path(root, joinrel, first, inner, key, jointype, extra, false);
		if (path != NULL)
			add_path(joinrel, &path->path);
	}
	if (joinrel->consider_parallel && joinrel->lateral_relids == NULL &&
		outerrel->partial_pathlist != NIL && inner->parallel_safe)
	{
		path = make_path(root, joinrel, linitial(outerrel->partial_pathlist), inner, key,
						 jointype, extra, true);
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
	ListCell   *lc;

	if (prev_join_hook != NULL)
		prev_join_hook(root, joinrel, outerrel, innerrel, jointype, extra);
	if (!can_batch(root, innerrel, jointype))
		return;
	foreach(lc, innerrel->pathlist)
	{
		IndexPath  *inner = (IndexPath *) lfirst(lc);
		BatchKey	key;

		if (!IsA(inner, IndexPath) || inner->path.param_info == NULL ||
			!bms_is_subset(PATH_REQ_OUTER(&inner->path), outer_relids) ||
			!can_run_scan(inner, outer_relids) || !find_batch_key(inner, outer_relids, &key))
			continue;
		key.nrows = rows_of_key(root, inner, outer_relids, &key);
		add_paths(root, joinrel, outerrel, &inner->path, &key, jointype, extra);
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
 * for number stay.  originals are the same clauses, as the join can have them;
 * both lists lose them.  Returns the number that the one that stays has now.
 */
static int
move_clauses(List **clauses, List **originals, int stay, NestLoop *loop, MoveContext *context)
{
	List	   *kept = NIL;
	List	   *kept_originals = NIL;
	int			stays_at = -1;

	for (int i = 0; i < list_length(*originals); i++)
	{
		Node	   *original = list_nth(*originals, i);
		Node	   *moved;

		context->found = false;
		moved = replace_parameters(original, context);
		if (context->found && i != stay)
			loop->join.joinqual = lappend(loop->join.joinqual, moved);
		else
		{
			if (i == stay)
				stays_at = list_length(kept_originals);
			kept_originals = lappend(kept_originals, original);
			if (clauses != NULL)
				kept = lappend(kept, list_nth(*clauses, i));
		}
	}
	*originals = kept_originals;
	if (clauses != NULL)
		*clauses = kept;
	return stays_at;
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
	int			key = linitial_int(best_path->custom_private);
	MoveContext context = {loop->nestParams, outerPlan(loop)->targetlist};

	if (IsA(inner, IndexScan))
		key = move_clauses(&((IndexScan *) inner)->indexqual,
						   &((IndexScan *) inner)->indexqualorig, key, loop, &context);
	else
		key = move_clauses(&castNode(IndexOnlyScan, inner)->indexqual,
						   &((IndexOnlyScan *) inner)->recheckqual, key, loop, &context);
	move_clauses(NULL, &inner->qual, -1, loop, &context);
	if (context.failed)
		elog(ERROR, "outer side of a batched nested loop lacks a parameter");

	scan->scan.plan.targetlist = tlist;
	scan->flags = best_path->flags;
	scan->custom_plans = custom_plans;
	scan->custom_private = list_make2_int(key, lsecond_int(best_path->custom_private));
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
