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
 *		are checked by the join, where both rows are at hand;
 *	  - nothing may ask for a row again (EvalPlanQual), which is so in queries
 *		that lock no rows.
 *
 * The inner side may also be an appendrel, say a partitioned table, if each of
 * its children has such a scan for the same key.
 *
 * The plan has the server's own nested loop below our node, which runs it.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/stratnum.h"
#include "catalog/pg_type_d.h"
#include "executor/execPartition.h"
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

/* batches are small where the outer side has so many rows or fewer, */
#define SMALL_OUTER		16.0

/* but where pages have to be read, there are some after so many rows */
#define SMALL_COLD_OUTER	2.0

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

/* an index scan that can be run in batches, and its batch key */
typedef struct BatchScan
{
	IndexPath  *path;
	List	   *clauses;		/* IndexClauses, one for each column of the
								 * key */
	List	   *numbers;		/* of the scan keys */
	double		nrows;			/* that have the key */
} BatchScan;

/*
 * The inner side of a join: a table's scan, or an Append of those of an
 * appendrel's children.  All have the same batch key.
 */
typedef struct BatchInner
{
	Path	   *path;
	List	   *scans;			/* BatchScans */
	double		asked;			/* what part of them is asked for a row's key */
} BatchInner;

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
find_batch_key(BatchScan *scan, Relids relids)
{
	const IndexOptInfo *index = scan->path->indexinfo;
	int			column = 0;		/* those before it have an equality */
	int			number = 0;
	ListCell   *lc;

	scan->clauses = scan->numbers = NIL;
	foreach(lc, scan->path->indexclauses)
	{
		IndexClause *clause = lfirst_node(IndexClause, lc);

		if (clause->indexcol > column)
			break;
		if (clause->indexcol == column && is_equality(index, clause))
		{
			bool		given = bms_overlap(clause->rinfo->clause_relids, relids);

			if (given && index->indexkeys[column] == 0)
				break;
			if (!given && scan->clauses != NIL)
				break;
			if (given)
			{
				scan->clauses = lappend(scan->clauses, clause);
				scan->numbers = lappend_int(scan->numbers, number);
			}
			column++;
		}
		number += list_length(clause->indexquals);
	}
	return scan->clauses != NIL;
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
	if (!IS_SIMPLE_REL(innerrel))
		return false;

	/* there may be a node between the loop and the scan */
	if (root->hasPseudoConstantQuals)
		return false;
	return root->rowMarks == NIL &&
		(root->parse->commandType == CMD_SELECT || root->parse->commandType == CMD_INSERT);
}

/*
 * How many entries of an index scan have its batch key, on the average of the
 * outer rows: its other conditions that depend on the outer side are checked
 * by the join.
 *
 * A key that is frequent on both sides makes as many pairs as both have rows.
 * The server's estimate for an index scan does not know of that, but the one
 * for a join does.
 */
static double
rows_of_key(PlannerInfo *root, const BatchScan *scan, Relids relids)
{
	IndexPath  *path = scan->path;
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
		else if (list_member_ptr(scan->clauses, clause))
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
 * others of the batch have keys there?  The scan is asked for so many keys.
 */
static double
shared_visits(const BatchScan *scan, double nkeys)
{
	double		leaves = Max(scan->path->indexinfo->pages, 1);

	return 1 - Min(leaves * (1 - exp(-nkeys / leaves)) / nkeys, 1);
}

/*
 * What finding the outer rows of the inner ones costs for each outer row that
 * a scan is asked for.
 */
static Cost
cost_of_finding(const BatchScan *scan)
{
	return ROW_OPERATORS * cpu_operator_cost * clamp_row_est(scan->path->path.rows);
}

/*
 * What visits to leaves that rows of a batch share save for each outer row,
 * even if all pages are in memory.  0 where keys are not dense, or where a key
 * has so many rows that batches don't pay.
 */
static Cost
saved_by_sharing(const BatchInner *inner, double nrows)
{
	double		nkeys = inner->asked * Min(nrows, fpb_join_batch_rows);
	double		shared = 0;
	Cost		saved = 0;
	Cost		finding = 0;
	ListCell   *lc;

	foreach(lc, inner->scans)
	{
		const BatchScan *scan = lfirst(lc);
		double		here = shared_visits(scan, nkeys);

		shared += here / list_length(inner->scans);
		saved += DESCENT_SAVED * here * scan->path->path.startup_cost;
		finding += cost_of_finding(scan);
	}
	return shared > DENSE_SHARE && saved > finding ? inner->asked * saved : 0;
}

/*
 * What it costs to read a page of a relation at random.
 */
static Cost
page_cost(const RelOptInfo *rel)
{
	double		cost;

	get_tablespace_page_costs(rel->reltablespace, &cost, NULL);
	return cost;
}

/*
 * What part of the pages that the query reads is not in the cache that the
 * planner is told of?
 */
static double
share_not_cached(const PlannerInfo *root, const BatchInner *inner)
{
	double		pages = root->total_table_pages;
	ListCell   *lc;

	foreach(lc, inner->scans)
		pages += ((BatchScan *) lfirst(lc))->path->indexinfo->pages;
	return pages <= effective_cache_size ? 0 : 1 - effective_cache_size / pages;
}

/*
 * What the reads of an outer row for which a scan is asked cost in the loop.
 */
static Cost
cost_of_reads(const BatchScan *scan, JoinType jointype)
{
	const Path *path = &scan->path->path;
	Cost		reads = path->total_cost - path->startup_cost -
		2 * cpu_tuple_cost * clamp_row_est(path->rows);

	/* at the first match these end */
	if (jointype == JOIN_SEMI || jointype == JOIN_ANTI)
		reads = Min(reads, page_cost(path->parent));
	return Max(reads, 0);
}

/*
 * What such a row costs less than in the loop, even if all pages are in
 * memory, but for the visits that are shared.
 */
static Cost
saved_in_scan(const BatchScan *scan, JoinType jointype, bool ordered)
{
	const Path *path = &scan->path->path;
	double		matches = clamp_row_est(path->rows);
	Cost		fetch = path->total_cost - path->startup_cost;
	Cost		saved = READS_SAVED * cost_of_reads(scan, jointype) - cost_of_finding(scan);

	if (jointype == JOIN_SEMI || jointype == JOIN_ANTI)
		saved -= Max(fetch - page_cost(path->parent), 0);
	if (ordered)
		saved -= KEEP_OPERATORS * cpu_operator_cost * matches;
	saved -= Max(scan->nrows - matches, 0) * fetch / matches;
	return saved;
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
 *
 * Of an appendrel's scans, those count that are asked for a row.
 */
static Cost
saved_by_batches(const PlannerInfo *root, const Path *outer, const BatchInner *inner,
				 JoinType jointype, Cost sharing, bool ordered)
{
	double		nrows = clamp_row_est(outer->rows);
	Cost		saved = 0;
	Cost		reads = 0;
	ListCell   *lc;

	foreach(lc, inner->scans)
	{
		saved += saved_in_scan(lfirst(lc), jointype, ordered);
		reads += cost_of_reads(lfirst(lc), jointype);
	}
	return (sharing + inner->asked * saved) * Max(nrows - SMALL_OUTER, 0) +
		COLD_READS_SAVED * share_not_cached(root, inner) * inner->asked * reads *
		Max(nrows - SMALL_COLD_OUTER, 0);
}

/* a join that may be made in batches */
typedef struct BatchJoin
{
	PlannerInfo *root;
	RelOptInfo *joinrel;
	JoinType	type;
	JoinPathExtraData *extra;
	BatchInner	inner;
} BatchJoin;

/*
 * The clauses that a batched scan leaves to the join, because they depend on
 * the outer row: those that the loop would have the inner side check, but for
 * the batch key's.
 */
static List *
clauses_of_join(const BatchJoin *join)
{
	const BatchScan *scan = linitial(join->inner.scans);
	Bitmapset  *checked = get_param_path_clause_serials(join->inner.path);
	Bitmapset  *key = NULL;
	List	   *clauses = NIL;
	ListCell   *lc;

	foreach(lc, scan->clauses)
		key = bms_add_member(key, lfirst_node(IndexClause, lc)->rinfo->rinfo_serial);
	foreach(lc, join->extra->restrictlist)
	{
		RestrictInfo *clause = lfirst_node(RestrictInfo, lc);

		if (bms_is_member(clause->rinfo_serial, checked) &&
			!bms_is_member(clause->rinfo_serial, key) &&
			!is_redundant_with_indexclauses(clause, scan->clauses))
			clauses = lappend(clauses, clause);
	}
	return clauses;
}

/*
 * The numbers of the keys of each scan.
 */
static List *
key_numbers(const BatchInner *inner)
{
	List	   *numbers = NIL;
	ListCell   *lc;

	foreach(lc, inner->scans)
		numbers = lappend(numbers, ((BatchScan *) lfirst(lc))->numbers);
	return numbers;
}

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
	Path	   *inner = join->inner.path;
	Relids		outer_relids = parameter_relids(outer->parent);
	Relids		required;
	JoinCostWorkspace workspace;
	NestPath   *loop;
	CustomPath *path;
	bool		ordered = pathkeys != NIL;
	Cost		sharing = saved_by_sharing(&join->inner, clamp_row_est(outer->rows));
	Cost		saved = saved_by_batches(root, outer, &join->inner, join->type, sharing, ordered);

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
	loop->jpath.joinrestrictinfo = list_concat_copy(loop->jpath.joinrestrictinfo,
													clauses_of_join(join));

	path = makeNode(CustomPath);
	path->path = loop->jpath.path;
	path->path.type = T_CustomPath;
	path->path.pathtype = T_CustomScan;
	path->flags = CUSTOMPATH_SUPPORT_PROJECTION;
	path->custom_paths = list_make1(loop);
	path->custom_private = list_make2(key_numbers(&join->inner),
									  list_make2_int(sharing > 0, ordered));
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
		outerrel->partial_pathlist != NIL && join->inner.path->parallel_safe)
	{
		path = make_path(join, linitial(outerrel->partial_pathlist), NIL, true);
		if (path != NULL && path->path.param_info == NULL && path->path.parallel_safe)
			add_partial_path(joinrel, &path->path);
	}
}

/*
 * Can a path of the inner side be run in batches, where relids are the outer
 * side?  If so, fill in *scan, but for the number of rows.
 */
static bool
prepare_scan(const PlannerInfo *root, Path *path, Relids relids, BatchScan *scan)
{
	scan->path = (IndexPath *) path;
	return IsA(path, IndexPath) && path->param_info != NULL &&
		bms_is_subset(PATH_REQ_OUTER(path), relids) && can_run_scan(root, scan->path, relids) &&
		find_batch_key(scan, relids);
}

/*
 * Are these clauses of two indexes for the same column and value, and are the
 * keys in the same order?
 */
static bool
are_alike(const IndexOptInfo *a, const IndexClause *a_clause,
		  const IndexOptInfo *b, const IndexClause *b_clause)
{
	int			i = a_clause->indexcol;
	int			j = b_clause->indexcol;

	return a_clause->rinfo->rinfo_serial == b_clause->rinfo->rinfo_serial &&
		a->opfamily[i] == b->opfamily[j] && a->opcintype[i] == b->opcintype[j] &&
		a->indexcollations[i] == b->indexcollations[j] && a->reverse_sort[i] == b->reverse_sort[j];
}

/*
 * How many columns at the beginning of two batch keys are the same?
 */
static int
columns_in_common(const BatchScan *a, const BatchScan *b)
{
	int			n = 0;

	while (n < list_length(a->clauses) && n < list_length(b->clauses) &&
		   are_alike(a->path->indexinfo, list_nth(a->clauses, n),
					 b->path->indexinfo, list_nth(b->clauses, n)))
		n++;
	return n;
}

/* a table that is read for the inner side */
typedef struct Leaf
{
	RelOptInfo *rel;
	List	   *paths;			/* of all its index scans; NIL: not yet made */
} Leaf;

/*
 * The paths of all fpbtree scans of a leaf, be it that others are cheaper:
 * another index's, a sequential scan as of an empty partition, or a bitmap
 * scan, which has its index's inside.
 *
 * The relation does not keep what is made here, because GEQO frees the memory
 * after each of its tries.
 */
static List *
all_index_paths(PlannerInfo *root, Leaf *leaf)
{
	RelOptInfo *rel = leaf->rel;
	List	   *indexes = rel->indexlist;
	List	   *pathlist = rel->pathlist;
	List	   *partial_pathlist = rel->partial_pathlist;
	int			nparams = list_length(rel->ppilist);
	ListCell   *index;
	ListCell   *lc;

	/* a sample is not read by an index */
	if (leaf->paths != NIL || root->simple_rte_array[rel->relid]->tablesample != NULL)
		return leaf->paths;
	foreach(index, indexes)
	{
		if (lfirst_node(IndexOptInfo, index)->amcostestimate != fpb_costestimate)
			continue;
		rel->indexlist = list_make1(lfirst(index));
		rel->pathlist = rel->partial_pathlist = NIL;
		create_index_paths(root, rel);
		foreach(lc, rel->pathlist)
		{
			Path	   *path = lfirst(lc);

			leaf->paths = lappend(leaf->paths, IsA(path, BitmapHeapPath) ?
								  ((BitmapHeapPath *) path)->bitmapqual : path);
		}
	}
	rel->indexlist = indexes;
	rel->pathlist = pathlist;
	rel->partial_pathlist = partial_pathlist;
	rel->ppilist = list_truncate(rel->ppilist, nparams);
	return leaf->paths;
}

/*
 * The best of these paths for the batch key of another leaf's scan, or NULL:
 * the one with the most columns, and of these the cheapest.
 */
static BatchScan *
best_path(const PlannerInfo *root, const List *paths, Relids relids, const BatchScan *model)
{
	BatchScan  *best = NULL;
	int			most = 0;
	ListCell   *lc;

	foreach(lc, paths)
	{
		BatchScan	scan;
		int			n;

		if (!prepare_scan(root, lfirst(lc), relids, &scan) ||
			!bms_equal(PATH_REQ_OUTER(&scan.path->path), PATH_REQ_OUTER(&model->path->path)))
			continue;
		n = columns_in_common(&scan, model);
		if (n < most || n == 0 ||
			(n == most && scan.path->path.total_cost >= best->path->path.total_cost))
			continue;
		most = n;
		best = palloc_object(BatchScan);
		*best = scan;
	}
	return best;
}

/*
 * The same of all paths of a leaf: those that others have driven out are made
 * anew only if they are needed.
 */
static BatchScan *
best_scan(PlannerInfo *root, Leaf *leaf, Relids relids, const BatchScan *model)
{
	BatchScan  *best = best_path(root, leaf->rel->pathlist, relids, model);

	if (best != NULL && columns_in_common(best, model) == list_length(model->clauses))
		return best;
	return best_path(root, all_index_paths(root, leaf), relids, model);
}

/*
 * Add the leaves of an appendrel, but for those that are known to have no
 * rows.
 */
static List *
add_leaves(PlannerInfo *root, const RelOptInfo *rel, List *leaves)
{
	ListCell   *lc;

	foreach(lc, root->append_rel_list)
	{
		const AppendRelInfo *info = lfirst_node(AppendRelInfo, lc);
		RelOptInfo *child;

		if (info->parent_relid != rel->relid)
			continue;
		child = find_base_rel(root, info->child_relid);
		if (IS_DUMMY_REL(child))
			continue;
		if (root->simple_rte_array[child->relid]->inh)
			leaves = add_leaves(root, child, leaves);
		else
		{
			Leaf	   *leaf = palloc0_object(Leaf);

			leaf->rel = child;
			leaves = lappend(leaves, leaf);
		}
	}
	return leaves;
}

/*
 * Is a clause an equality with this part of a partition key?
 */
static bool
is_of_partition_key(const RestrictInfo *clause, const Node *part, Oid opfamily, int strategy)
{
	const OpExpr *expr = (const OpExpr *) clause->clause;
	ListCell   *lc;

	if (!IsA(expr, OpExpr) || get_op_opfamily_strategy(expr->opno, opfamily) != strategy)
		return false;
	foreach(lc, expr->args)
	{
		Node	   *arg = lfirst(lc);

		if (IsA(arg, RelabelType))
			arg = (Node *) ((RelabelType *) arg)->arg;
		if (equal(arg, part))
			return true;
	}
	return false;
}

/*
 * What part of an appendrel's children is asked for an outer row's key, on
 * average?  Run-time pruning leaves one partition if the clauses of the join
 * say what its partition key is equal to.
 */
static double
share_asked(PlannerInfo *root, RelOptInfo *rel, Relids outer)
{
	const PartitionScheme scheme = rel->part_scheme;
	const ParamPathInfo *param_info;
	bool		by_hash;

	if (!enable_partition_pruning || scheme == NULL || rel->reloptkind != RELOPT_BASEREL)
		return 1;
	param_info = get_baserel_parampathinfo(root, rel, outer);
	by_hash = scheme->strategy == PARTITION_STRATEGY_HASH;
	for (int i = 0; i < (by_hash ? scheme->partnatts : 1); i++)
	{
		bool		found = false;
		ListCell   *lc;

		foreach(lc, param_info->ppi_clauses)
			found |= is_of_partition_key(lfirst_node(RestrictInfo, lc), linitial(rel->partexprs[i]),
										 scheme->partopfamily[i],
										 by_hash ? HTEqualStrategyNumber : BTEqualStrategyNumber);
		if (!found)
			return 1;
	}
	return 1.0 / bms_num_members(rel->live_parts);
}

/*
 * How many rows the smallest of some outer relations has: so often a scan with
 * these parameters is run, as the server reckons.
 */
static double
outer_rows(const PlannerInfo *root, Relids outer)
{
	double		rows = 0;
	int			relid = -1;

	while ((relid = bms_next_member(outer, relid)) >= 0)
	{
		const RelOptInfo *rel = root->simple_rel_array[relid];

		if (rel != NULL && rel->rows > 0 && (rows == 0 || rel->rows < rows))
			rows = rel->rows;
	}
	return rows;
}

/*
 * A copy of a path that costs what it does if it is run for this part of the
 * outer rows.
 */
static IndexPath *
cost_as_asked(PlannerInfo *root, const IndexPath *path, double asked)
{
	IndexPath  *copy = makeNode(IndexPath);

	*copy = *path;
	cost_index(copy, root, Max(asked * outer_rows(root, PATH_REQ_OUTER(&path->path)), 1), false);
	return copy;
}

/*
 * Make the inner side of a join of an appendrel: of a scan of one of its
 * leaves, and of such of the others as have the same key.  False if a leaf has
 * none.
 *
 * The server costs its own Append as if all scans were run for each outer row.
 * That makes loops look dear beside joins of other kinds, and the dearer the
 * more partitions there are.  This one costs what run-time pruning leaves.
 */
static bool
make_append(PlannerInfo *root, RelOptInfo *rel, const List *leaves, BatchScan *model,
			Relids relids, BatchInner *inner)
{
	Relids		outer = PATH_REQ_OUTER(&model->path->path);
	List	   *paths = NIL;
	int			ncolumns = list_length(model->clauses);
	ListCell   *lc;

	inner->scans = NIL;
	foreach(lc, leaves)
	{
		Leaf	   *leaf = lfirst(lc);
		BatchScan  *scan = leaf->rel == model->path->path.parent ? model :
			best_scan(root, leaf, relids, model);

		if (scan == NULL)
			return false;
		ncolumns = Min(ncolumns, columns_in_common(scan, model));
		inner->scans = lappend(inner->scans, scan);
	}
	inner->asked = share_asked(root, rel, outer);
	foreach(lc, inner->scans)
	{
		BatchScan  *scan = lfirst(lc);

		scan->clauses = list_truncate(scan->clauses, ncolumns);
		scan->numbers = list_truncate(scan->numbers, ncolumns);
		if (inner->asked < 1)
			scan->path = cost_as_asked(root, scan->path, inner->asked);
		scan->nrows = rows_of_key(root, scan, relids);
		paths = lappend(paths, scan->path);
	}
	inner->path = fpb_create_append_path(root, rel, paths, outer);
	inner->path->rows = clamp_row_est(inner->asked * inner->path->rows);
	inner->path->total_cost = Max(inner->asked * inner->path->total_cost,
								  inner->path->startup_cost);
	return true;
}

/*
 * Offer joins with an appendrel.  The largest of its leaves says what the
 * batch key may be.
 */
static void
join_appendrel(BatchJoin *join, RelOptInfo *outerrel, RelOptInfo *innerrel)
{
	PlannerInfo *root = join->root;
	Relids		outer_relids = parameter_relids(outerrel);
	List	   *leaves = add_leaves(root, innerrel, NIL);
	int			nparams = list_length(innerrel->ppilist);
	Leaf	   *largest = NULL;
	ListCell   *lc;

	foreach(lc, leaves)
	{
		Leaf	   *leaf = lfirst(lc);

		if (largest == NULL || leaf->rel->pages > largest->rel->pages)
			largest = leaf;
	}
	if (largest == NULL)
		return;
	foreach(lc, all_index_paths(root, largest))
	{
		BatchScan	scan;

		if (prepare_scan(root, lfirst(lc), outer_relids, &scan) &&
			make_append(root, innerrel, leaves, &scan, outer_relids, &join->inner))
			add_paths(join, outerrel);
	}
	innerrel->ppilist = list_truncate(innerrel->ppilist, nparams);
}

/*
 * Offer joins with a table.
 */
static void
join_table(BatchJoin *join, RelOptInfo *outerrel, RelOptInfo *innerrel)
{
	PlannerInfo *root = join->root;
	Relids		outer_relids = parameter_relids(outerrel);
	ListCell   *lc;

	foreach(lc, innerrel->pathlist)
	{
		BatchScan	scan;

		if (!prepare_scan(root, lfirst(lc), outer_relids, &scan))
			continue;
		scan.nrows = rows_of_key(root, &scan, outer_relids);
		join->inner.path = &scan.path->path;
		join->inner.scans = list_make1(&scan);
		join->inner.asked = 1;
		add_paths(join, outerrel);
	}
}

/*
 * The planner's hook after it has collected the paths of a join.
 */
static void
join_hook(PlannerInfo *root, RelOptInfo *joinrel, RelOptInfo *outerrel, RelOptInfo *innerrel,
		  JoinType jointype, JoinPathExtraData *extra)
{
	BatchJoin	join = {.root = root,.joinrel = joinrel,.type = jointype,.extra = extra};

	if (prev_join_hook != NULL)
		prev_join_hook(root, joinrel, outerrel, innerrel, jointype, extra);
	if (!can_batch(root, innerrel, jointype))
		return;
	if (root->simple_rte_array[innerrel->relid]->inh)
		join_appendrel(&join, outerrel, innerrel);
	else
		join_table(&join, outerrel, innerrel);
}

/*
 * Does an expression depend on the outer row of a loop?
 */
static bool
depends_on_outer(Node *node, void *loop)
{
	ListCell   *lc;

	if (node == NULL)
		return false;
	if (IsA(node, Param) && ((Param *) node)->paramkind == PARAM_EXEC)
		foreach(lc, ((NestLoop *) loop)->nestParams)
			if (lfirst_node(NestLoopParam, lc)->paramno == ((Param *) node)->paramid)
			return true;
	return expression_tree_walker(node, depends_on_outer, loop);
}

/*
 * Leave out the clauses of a scan's list that depend on the outer row, but for
 * those whose numbers key has: the join checks them.  originals are the same
 * clauses, in another form; both lists lose them.  Returns the numbers that
 * those of the key have now.
 */
static List *
leave_out_clauses(List **clauses, List **originals, const List *key, NestLoop *loop)
{
	List	   *kept = NIL;
	List	   *kept_originals = NIL;
	List	   *numbers = NIL;

	for (int i = 0; i < list_length(*originals); i++)
	{
		Node	   *original = list_nth(*originals, i);

		if (list_member_int(key, i))
			numbers = lappend_int(numbers, list_length(kept));
		else if (depends_on_outer(original, loop))
			continue;
		kept_originals = lappend(kept_originals, original);
		kept = lappend(kept, list_nth(*clauses, i));
	}
	*originals = kept_originals;
	*clauses = kept;
	return numbers;
}

/*
 * Make an inner scan one for many outer rows at once.  Returns the numbers of
 * the batch key.
 */
static List *
prepare_for_batches(Plan *scan, const List *key, NestLoop *loop)
{
	leave_out_clauses(&scan->qual, &scan->qual, NIL, loop);
	if (IsA(scan, IndexScan))
		return leave_out_clauses(&((IndexScan *) scan)->indexqual,
								 &((IndexScan *) scan)->indexqualorig, key, loop);
	return leave_out_clauses(&castNode(IndexOnlyScan, scan)->indexqual,
							 &((IndexOnlyScan *) scan)->recheckqual, key, loop);
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
	List	   *scans = IsA(inner, Append) ? ((Append *) inner)->appendplans : list_make1(inner);
	List	   *numbers = NIL;
	ListCell   *lc;
	ListCell   *key;

	forboth(lc, scans, key, linitial(best_path->custom_private))
		numbers = lappend(numbers, prepare_for_batches(lfirst(lc), lfirst(key), loop));

	scan->scan.plan.targetlist = tlist;
	scan->flags = best_path->flags;
	scan->custom_plans = custom_plans;
	scan->custom_private = list_make2(numbers, lsecond(best_path->custom_private));
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
