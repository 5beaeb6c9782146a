/*-------------------------------------------------------------------------
 *
 * am/cost.c
 *	  What a scan of an fpbtree index costs.
 *
 * The model:
 *
 *	  scans		A scan reads one range of the index for each combination of
 *				values of its "= ANY" arrays, of which there are as many as
 *				num_sa_scans.  The ranges are visited in index order, and one
 *				that begins on the leaf the last one ended on needs no descent,
 *				so there are no more descents than a part of the leaves.
 *	  range		Bounded by the conditions on the leading columns that have an
 *				equality each, and on the column after these.  Conditions on
 *				other columns don't shorten it; they save visits to the heap.
 *	  leaps		But where a column without an equality has few values, the scan
 *				leaps from one to the next, and reads as if it had an "= ANY"
 *				array of them: then the conditions on later columns bound the
 *				ranges as well.  It is taken for that if its values make no more
 *				ranges than the index has pages.
 *	  leaves	The range's share of the index's pages is read, each at
 *				random_page_cost, less what the cache saves when the scan is
 *				repeated: the server's estimate for any index.  As our leaves
 *				are fewer than a btree's, this is where long scans gain.
 *	  descent	Upper pages are taken to be cached.  A page passed costs
 *				FPB_PAGE_OPERATORS operators, not the 50 charged for a btree's,
 *				as a search in a page misses the processor's cache about twice
 *				rather than a dozen times.
 *	  compare	A btree is charged one comparison for each halving of the
 *				index.  Words are compared as integers, which the charge for the
 *				page includes.  Tuples are told apart by their heads, where the
 *				first column's type and collation give such, and need the
 *				operator class in some of the steps; without heads, in all.
 *
 * Costs are in units of cpu_operator_cost, so that the planner's settings mean
 * what they mean for btree.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/stratnum.h"
#include "catalog/pg_statistic.h"
#include "nodes/pathnodes.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "parser/parsetree.h"
#include "utils/lsyscache.h"
#include "utils/selfuncs.h"
#include "utils/syscache.h"

#include "am/am.h"
#include "tree/tree.h"

/* how many operators searching a page costs */
#define FPB_PAGE_OPERATORS		15.0

/* the share of comparisons that heads leave to the operator class */
#define FPB_HEADED_COMPARISONS	0.25

/* the most descents of one scan, as a share of the index's pages */
#define FPB_MAX_DESCENTS		(1.0 / 3.0)

/* how much the correlation of the first of several columns counts */
#define FPB_FIRST_COLUMN_SHARE	0.75

/* how many children an inner page has, if there is no index to look at */
#define FPB_ASSUMED_FANOUT		400.0

/* the conditions that bound the range a scan reads */
typedef struct FpbBoundQuals
{
	List	   *quals;			/* RestrictInfos */
	bool		one_row;		/* do they allow one row at most? */
	double		num_sa_scans;	/* combinations of array elements */
} FpbBoundQuals;

/*
 * Is the clause an equality on the index column, for one value or any of
 * several?  IS NULL is.
 */
static bool
is_equality(Node *clause, Oid opfamily)
{
	Oid			op;

	if (IsA(clause, NullTest))
		return ((NullTest *) clause)->nulltesttype == IS_NULL;
	if (IsA(clause, OpExpr))
		op = ((OpExpr *) clause)->opno;
	else if (IsA(clause, ScalarArrayOpExpr))
		op = ((ScalarArrayOpExpr *) clause)->opno;
	else
		return false;			/* a row comparison */

	return get_op_opfamily_strategy(op, opfamily) == BTEqualStrategyNumber;
}

/*
 * Does a scan leap over the columns [from, to), which have no equality?  If
 * so, bound->num_sa_scans grows by the number of their values.  quals:
 * conditions on the first of them.
 */
static bool
leaps_over(PlannerInfo *root, IndexOptInfo *index, int from, int to, List *quals,
		   FpbBoundQuals *bound)
{
	double		nranges = bound->num_sa_scans;

	for (int col = from; col < to; col++)
	{
		TargetEntry *tle = list_nth_node(TargetEntry, index->indextlist, col);
		VariableStatData vardata;
		double		nvalues;
		bool		isdefault;

		examine_variable(root, (Node *) tle->expr, index->rel->relid, &vardata);
		nvalues = get_variable_numdistinct(&vardata, &isdefault);
		ReleaseVariableStats(vardata);
		if (isdefault)
			return false;
		if (col == from && quals != NIL)
		{
			Selectivity selectivity =
				clauselist_selectivity(root, add_predicate_to_index_quals(index, quals),
									   index->rel->relid, JOIN_INNER, NULL);

			/* the range is so short that leaps would save next to nothing */
			if (selectivity < DEFAULT_RANGE_INEQ_SEL)
				return false;
			nvalues = Max(rint(nvalues * selectivity), 1);
		}
		else
			nvalues++;			/* there may be NULLs */
		nranges *= nvalues;
		if (nranges > index->pages)
			return false;
	}
	bound->num_sa_scans = nranges;
	return true;
}

/*
 * Find the conditions that bound the range: those on the leading columns that
 * have an equality or are leapt over, and on the column after them.  Index
 * clauses come in the order of index columns.
 */
static void
find_bound_quals(PlannerInfo *root, IndexPath *path, FpbBoundQuals *bound)
{
	IndexOptInfo *index = path->indexinfo;
	int			nequal = 0;		/* leading columns with an equality, or leapt
								 * over */
	bool		one_value = true;
	bool		rows = false;	/* has there been a row comparison? */
	List	   *others = NIL;	/* conditions on the column after those */
	ListCell   *lc;

	bound->quals = NIL;
	bound->num_sa_scans = 1;

	foreach(lc, path->indexclauses)
	{
		IndexClause *iclause = lfirst_node(IndexClause, lc);
		ListCell   *lc2;

		/* is the column the next one, or one more clause on the last? */
		if (iclause->indexcol > nequal)
		{
			if (rows || !leaps_over(root, index, nequal, iclause->indexcol, others, bound))
				break;
			nequal = iclause->indexcol;
			one_value = false;
			others = NIL;
		}

		foreach(lc2, iclause->indexquals)
		{
			RestrictInfo *rinfo = lfirst_node(RestrictInfo, lc2);
			Node	   *clause = (Node *) rinfo->clause;

			bound->quals = lappend(bound->quals, rinfo);

			rows |= IsA(clause, RowCompareExpr);
			if (!is_equality(clause, index->opfamily[iclause->indexcol]))
			{
				if (iclause->indexcol == nequal)
					others = lappend(others, rinfo);
				continue;
			}

			nequal = iclause->indexcol + 1;
			others = NIL;
			if (IsA(clause, ScalarArrayOpExpr))
			{
				Node	   *array = lsecond(((ScalarArrayOpExpr *) clause)->args);

				bound->num_sa_scans *= Max(estimate_array_length(root, array), 1);
			}
			if (!IsA(clause, OpExpr))
				one_value = false;
		}
	}

	bound->one_row = index->unique && one_value &&
		nequal == index->nkeycolumns;
}

/*
 * Estimate the entries in one range, and how many ranges are visited by a
 * descent of their own.
 */
static void
estimate_ranges(PlannerInfo *root, IndexPath *path, GenericCosts *costs)
{
	IndexOptInfo *index = path->indexinfo;
	FpbBoundQuals bound;
	Selectivity selectivity;

	find_bound_quals(root, path, &bound);

	if (bound.one_row)
	{
		costs->num_sa_scans = 1;
		costs->numIndexTuples = 1;
		return;
	}

	selectivity =
		clauselist_selectivity(root,
							   add_predicate_to_index_quals(index, bound.quals),
							   index->rel->relid, JOIN_INNER, NULL);

	costs->num_sa_scans = Max(1, Min(bound.num_sa_scans,
									 ceil(index->pages * FPB_MAX_DESCENTS)));
	costs->numIndexTuples = rint(selectivity * index->rel->tuples /
								 costs->num_sa_scans);
}

/*
 * The cost of one descent from the root to a leaf, both included.
 */
static Cost
descent_cost(IndexOptInfo *index)
{
	double		pages;			/* passed on the way */
	double		comparisons;	/* made by the operator class */

	comparisons = index->tuples > 1 ? ceil(log2(index->tuples)) : 0;

	if (index->hypothetical)
	{
		/* there is no index: an extension has invented it to see the plan */
		pages = 1;
		for (double level = index->pages; level > 1; level /= FPB_ASSUMED_FANOUT)
			pages++;
		comparisons *= FPB_HEADED_COMPARISONS;
	}
	else
	{
		Relation	rel = index_open(index->indexoid, NoLock);
		FpbIndex	memory;
		const FpbIndex *ix = fpb_index_look(rel, &memory);

		pages = ix->level + 1;
		if (fpb_is_word(ix))
			comparisons = 0;
		else if (ix->cols[0].head != FPB_HEAD_NONE)
			comparisons *= FPB_HEADED_COMPARISONS;
		index_close(rel, NoLock);
	}

	return (pages * FPB_PAGE_OPERATORS + comparisons) * cpu_operator_cost;
}

/*
 * How far the order of the index is that of the table, from -1 to 1.  It is
 * taken from the statistics of the first column.
 */
static double
index_correlation(PlannerInfo *root, IndexOptInfo *index)
{
	TargetEntry *tle = linitial_node(TargetEntry, index->indextlist);
	Oid			lt_op = get_opfamily_member(index->opfamily[0],
											index->opcintype[0],
											index->opcintype[0],
											BTLessStrategyNumber);
	VariableStatData vardata;
	AttStatsSlot slot;
	double		correlation = 0;

	/* a plain column needs no examine_variable, only its statistics */
	if (index->indexkeys[0] != 0 && get_relation_stats_hook == NULL)
	{
		RangeTblEntry *rte = planner_rt_fetch(index->rel->relid, root);

		vardata.statsTuple = SearchSysCache3(STATRELATTINH, ObjectIdGetDatum(rte->relid),
											 Int16GetDatum(index->indexkeys[0]),
											 BoolGetDatum(rte->inh));
		vardata.freefunc = ReleaseSysCache;
	}
	else
		examine_variable(root, (Node *) tle->expr, index->rel->relid, &vardata);

	if (HeapTupleIsValid(vardata.statsTuple) && OidIsValid(lt_op) &&
		get_attstatsslot(&slot, vardata.statsTuple,
						 STATISTIC_KIND_CORRELATION, lt_op,
						 ATTSTATSSLOT_NUMBERS))
	{
		if (slot.nnumbers > 0)
			correlation = slot.numbers[0];
		if (index->reverse_sort != NULL && index->reverse_sort[0])
			correlation = -correlation;
		if (index->nkeycolumns > 1)
			correlation *= FPB_FIRST_COLUMN_SHARE;
		free_attstatsslot(&slot);
	}

	ReleaseVariableStats(vardata);

	return correlation;
}

/*
 * amcostestimate: see the head of this file.  Opens the index, and raises an
 * error if its metapage is damaged.
 */
void
fpb_costestimate(PlannerInfo *root, IndexPath *path, double loop_count,
				 Cost *indexStartupCost, Cost *indexTotalCost,
				 Selectivity *indexSelectivity, double *indexCorrelation,
				 double *indexPages)
{
	GenericCosts costs = {0};
	Cost		descent;

	estimate_ranges(root, path, &costs);
	genericcostestimate(root, path, loop_count, &costs);

	/* the first row is there after the first descent */
	descent = descent_cost(path->indexinfo);
	costs.indexStartupCost += descent;
	costs.indexTotalCost += costs.num_sa_scans * descent;

	*indexStartupCost = costs.indexStartupCost;
	*indexTotalCost = costs.indexTotalCost;
	*indexSelectivity = costs.indexSelectivity;
	*indexCorrelation = index_correlation(root, path->indexinfo);
	*indexPages = costs.numIndexPages;
}
