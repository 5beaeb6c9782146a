/*-------------------------------------------------------------------------
 *
 * base/running.c
 *	  The plan that the executor is running.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/executor.h"
#include "executor/instrument.h"

#include "base/compat.h"
#include "base/running.h"

const FpbPlanRun *fpb_running = NULL;
static uint64 last_number = 0;

static FpbRunCallback before_run;
static FpbRunCallback after_run;

static ExecutorRun_hook_type prev_executor_run = NULL;

/*
 * Run a plan, and say so to those who want to know.  If an error ends the run,
 * after_run is not called.
 */
static void
executor_run(FPB_EXECUTOR_RUN_PARAMS)
{
	const FpbPlanRun *outer = fpb_running;
	FpbPlanRun	run = {.query = queryDesc,.number = ++last_number,.all_rows = count == 0};

	before_run(&run);
	fpb_running = &run;
	PG_TRY();
	{
		if (prev_executor_run != NULL)
			prev_executor_run(FPB_EXECUTOR_RUN_ARGS);
		else
			standard_ExecutorRun(FPB_EXECUTOR_RUN_ARGS);
	}
	PG_FINALLY();
	{
		fpb_running = outer;
	}
	PG_END_TRY();
	after_run(&run);
}

/*
 * The node that changes a table, if that is the plan's topmost, and what is
 * spent there is to be told (EXPLAIN ANALYZE).
 */
static PlanState *
counted_node(const FpbPlanRun *run)
{
	PlanState  *state = run->query->planstate;

	return IsA(state, ModifyTableState) && state->instrument != NULL ? state : NULL;
}

/*
 * Work of a run that has ended begins: it counts as the run's, and as that of
 * the node that changes a table.
 */
void
fpb_running_begin_work(const FpbPlanRun *run)
{
	PlanState  *node = counted_node(run);

	fpb_begin_query_work(run->query);
	if (node != NULL)
		InstrStartNode(node->instrument);
}

/*
 * It ends.
 */
void
fpb_running_end_work(const FpbPlanRun *run)
{
	PlanState  *node = counted_node(run);

	if (node != NULL)
		InstrStopNode(node->instrument, 0);
	fpb_end_query_work(run->query);
}

/*
 * Install the hook.  Called once in a backend, when the module is loaded.
 */
void
fpb_running_init(FpbRunCallback before, FpbRunCallback after)
{
	before_run = before;
	after_run = after;
	prev_executor_run = ExecutorRun_hook;
	ExecutorRun_hook = executor_run;
}
