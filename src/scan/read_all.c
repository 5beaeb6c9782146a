/*-------------------------------------------------------------------------
 *
 * scan/read_all.c
 *	  Does the plan that is running read a scan to its end, or how much of it?
 *
 * A scan is not told how many rows will be asked of it.  Whoever stops it
 * early has no use for what it has read ahead.  So we look at the plan: if the
 * scan is asked for all rows, all that it announces will be used.
 *
 * This is advice for prefetch.  It may be wrong at times: a hash join whose
 * hash table is empty asks its other side for no more than a row.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/parallel.h"
#include "nodes/extensible.h"
#include "nodes/nodeFuncs.h"
#include "nodes/plannodes.h"

#include "base/running.h"
#include "scan/scan.h"

/* a plan of more nodes is not looked through */
#define MOST_NODES	200

/* what is known of a scan so far */
typedef struct Search
{
	Oid			index;			/* its index */
	bool		found;			/* is there one of this index in the plan? */
	int			nnodes;			/* that have been looked at */
} Search;

/* a node, and its part in that */
typedef struct Asked
{
	Search	   *search;
	bool		all;			/* is the node asked for all its rows? */
} Asked;

/*
 * A node scans an index.  Is that the index searched for, and may the scan be
 * stopped?
 */
static bool
may_stop(const Asked *asked, Oid index)
{
	if (index != asked->search->index)
		return false;
	asked->search->found = true;
	return !asked->all;
}

/*
 * May a scan of the index, at a node or below it, be stopped before its end?
 * (For planstate_tree_walker.  context: an Asked of the node.)
 *
 * A node that is not named here may stop those below it early.
 */
static bool
may_stop_scan(PlanState *state, void *context)
{
	Plan	   *plan = state->plan;
	Asked		asked = *(Asked *) context;

	if (asked.search->nnodes++ >= MOST_NODES)
		return true;
	switch (nodeTag(plan))
	{
		case T_IndexScan:
			return may_stop(&asked, ((IndexScan *) plan)->indexid);
		case T_IndexOnlyScan:
			return may_stop(&asked, ((IndexOnlyScan *) plan)->indexid);

			/* these ask for all before they return the first one */
		case T_Sort:
		case T_Hash:
			asked.all = true;
			break;
		case T_Agg:
			asked.all = asked.all || ((Agg *) plan)->aggstrategy == AGG_PLAIN ||
				((Agg *) plan)->aggstrategy == AGG_HASHED;
			break;

			/* and these as they are asked */
		case T_WindowAgg:
			asked.all = asked.all && ((WindowAgg *) plan)->runCondition == NIL;
			break;
		case T_NestLoop:
			{
				Join	   *join = &((NestLoop *) plan)->join;

				if (may_stop_scan(outerPlanState(state), &asked))
					return true;
				asked.all = asked.all && join->jointype != JOIN_SEMI &&
					join->jointype != JOIN_ANTI && !join->inner_unique;
				return may_stop_scan(innerPlanState(state), &asked);
			}
		case T_Result:
		case T_ProjectSet:
		case T_ModifyTable:
		case T_LockRows:
		case T_Append:
		case T_MergeAppend:
		case T_SubqueryScan:
		case T_Material:
		case T_Memoize:
		case T_IncrementalSort:
		case T_Group:
		case T_Unique:
		case T_Gather:
		case T_GatherMerge:
		case T_HashJoin:
			break;
		case T_CustomScan:
			asked.all = asked.all &&
				strcmp(((CustomScan *) plan)->methods->CustomName, FPB_JOIN_NAME) == 0;
			break;
		default:
			asked.all = false;
	}
	return planstate_tree_walker(state, may_stop_scan, &asked);
}

/*
 * Will a scan be read to its end, presumably?  The answer is kept in
 * *prefetch, the scan's, for this run of the executor.
 *
 * A query with subplans is not looked into, because most of these are asked
 * for a row or two.  Nor is a parallel worker's part of a plan, because its
 * leader may stop it.
 */
bool
fpb_will_read_all(IndexScanDesc scan, FpbScanPrefetch *prefetch)
{
	const FpbPlanRun *run = fpb_running;

	if (run == NULL || run->query->estate->es_snapshot != scan->xs_snapshot)
		return false;
	if (prefetch->run != run->number)
	{
		Search		search = {.index = RelationGetRelid(scan->indexRelation)};
		Asked		asked = {&search, run->all_rows};

		prefetch->run = run->number;
		prefetch->read_all = run->query->plannedstmt->subplans == NIL && !IsParallelWorker() &&
			!may_stop_scan(run->query->planstate, &asked) && search.found;
	}
	return prefetch->read_all;
}

/*
 * How many rows does the plan that is running want of a scan?  Returns 0 if
 * that is not known: if the scan is not all that is under a LIMIT at the
 * plan's top.  Some rows may be filtered out, so it may want more.
 */
int64
fpb_limit_of_scan(IndexScanDesc scan)
{
	const FpbPlanRun *run = fpb_running;
	LimitState *limit;
	PlanState  *below;
	IndexScanDesc limited = NULL;

	if (run == NULL || !IsA(run->query->planstate, LimitState))
		return 0;
	limit = (LimitState *) run->query->planstate;
	below = outerPlanState(limit);
	if (IsA(below, IndexScanState))
		limited = ((IndexScanState *) below)->iss_ScanDesc;
	else if (IsA(below, IndexOnlyScanState))
		limited = ((IndexOnlyScanState *) below)->ioss_ScanDesc;
	if (limited != scan || limit->noCount)
		return 0;
	return Min(limit->offset, PG_INT32_MAX) + Min(limit->count, PG_INT32_MAX);
}
