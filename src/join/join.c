/*-------------------------------------------------------------------------
 *
 * join/join.c
 *	  Runs the plan of a nested loop in batches of outer rows.
 *
 * The server has planned and initialized a nested loop whose inner side is a
 * scan of an fpbtree index, with a search key that each outer row gives.  It
 * would ask the index for one key at a time.  We take outer rows a batch at a
 * time, and ask the inner scan for all their keys in one "= ANY" array.  Each
 * row that it returns is joined with the rows of the batch that have its key.
 *
 *		outer rows     keys, sorted       inner scan: key = ANY (3, 5, 8)
 *		8, c           3: b               3: z  -> (b, z)
 *		3, b    --->   5: a, d     --->   5: x  -> (a, x), (d, x)
 *		5, a           8: c               8: -  -> (c, NULL) of a left join
 *		5, d
 *
 * The inner side may also be an Append of such scans, of a table's partitions.
 * Then they are asked one after the other: each for those keys that the
 * server's run-time pruning says it may have, or for all.
 *
 * So joined rows leave in the order of the index, batch by batch.  Where the
 * planner wants them in the order of the outer side, they are kept until the
 * batch has been joined, and leave then.  If they take too much memory, the
 * rows of the batch are joined one by one instead.
 *
 * A batch pays where it visits a leaf once for several rows (the keys are
 * dense), or where pages have to be read, because the scan then reads several
 * at a time.  If the pages of each row are in memory and its own, the loop is
 * as fast without the work of a batch.  So the first rows are joined one by
 * one, as the server does, and so are the next ones as long as the inner scan
 * reads nothing, unless the planner has found the keys dense.  A LIMIT pays
 * for few rows that it does not want: a batch has no more than twice as many
 * as there have been before.
 *
 * The scan, expressions and instrumentation are the server's own nodes.  What
 * we replace is what ExecNestLoop does.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/relscan.h"
#include "access/stratnum.h"
#include "catalog/pg_type_d.h"
#include "executor/execPartition.h"
#include "executor/executor.h"
#include "executor/instrument.h"
#include "executor/nodeIndexscan.h"
#include "miscadmin.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "base/compat.h"
#include FPB_EXPLAIN_HEADER
#include "join/join.h"
#include "scan/scan.h"

/* fpbtree.join_batch_rows */
int			fpb_join_batch_rows;

/* fpbtree.join_single_rows */
static int	single_rows;

/* a batch's rows and keys never take more, in bytes: arrays are limited */
#define MOST_BYTES	((Size) 256 * 1024 * 1024)

/* a column of the search key, and how to compute it of an outer row */
typedef struct FpbJoinColumn
{
	ExprState  *expr;
	bool		toastable;
	Oid			type;
	Oid			given_type;		/* an integer type other than the column's, or
								 * InvalidOid */
} FpbJoinColumn;

/* an inner scan */
typedef struct FpbInnerScan
{
	ScanState  *node;
	ScanKey    *keys;			/* for each column of the search key, its own */
	int		   *attnos;			/* and where its rows have it */
	ExprContext *runtime_context;
	IndexRuntimeKeyInfo *others;	/* other keys that are computed */
	int			nothers;
} FpbInnerScan;

/*
 * So many inner rows that nobody wants, and as many again as keys are left,
 * are passed over before the scan begins again with these keys.
 */
#define MOST_UNWANTED	100

/* so many rows are joined one by one before the first batch */
#define LEAST_SINGLE	2

/* what is done next */
typedef enum FpbJoinPhase
{
	FPB_JOIN_NEXT,				/* take an outer row, or a batch of them */
	FPB_JOIN_SINGLE,			/* join inner rows with it */
	FPB_JOIN_SINGLE_ALONE,		/* return it if no row was joined with it */
	FPB_JOIN_PAIRS,				/* join inner rows with a batch */
	FPB_JOIN_ALONE,				/* return those that no row was joined with */
	FPB_JOIN_IN_ORDER,			/* return the rows kept, in outer order */
	FPB_JOIN_DONE
} FpbJoinPhase;

typedef struct FpbJoin
{
	CustomScanState css;
	NestLoopState *loop;		/* the nested loop that we run */
	JoinType	type;
	FpbJoinPhase phase;
	bool		outer_done;		/* has the outer side no more rows? */

	bool		ordered;		/* do joined rows leave in outer order? */
	bool		redoing;		/* are rows of a batch joined one by one? */

	/* whether batches pay */
	bool		dense;			/* do they visit a leaf for several rows? */
	bool		has_read;		/* has the inner scan had pages read, for the
								 * last batch or single rows? */
	int			nsingle;		/* so many rows are still joined one by one */
	int			batch_rows;		/* the next batch has so many */
	int			most_rows;		/* and none has more; 0: there are none */

	FpbJoinRow	single;
	FpbOuterBatch batch;

	/* the inner scans, and the search key */
	AppendState *append;		/* the node above them, if there is one */
	bool		pruning;		/* does it tell which of them may have a key? */
	FpbInnerScan *scans;
	int			nscans;
	int			ncolumns;
	FpbJoinColumn *columns;
	ExprContext *key_context;
	Datum	   *values;			/* of the search key computed last */
	Bitmapset  *may_have;		/* the scans that may have that; NULL: all */

	/* while inner rows are joined */
	bool		for_batch;		/* or with a single row? */
	int			scan;			/* the one that returns rows */

	/* FPB_JOIN_PAIRS */
	int			group;			/* the group of the last inner row */
	int			next;			/* the next of its keys, if the row has not
								 * been joined with all */
	bool		wanted;			/* has one of its outer rows wanted the row? */
	int			nunwanted;		/* so many rows in succession nobody has */
	void	   *kept;			/* ordered: a copy of it, or NULL */
	/* FPB_JOIN_ALONE, FPB_JOIN_IN_ORDER, and while redoing */
	int			next_row;
	/* FPB_JOIN_IN_ORDER */
	FpbJoinPair *pair;			/* the next one of the last row, or NULL */

	/* for EXPLAIN */
	int64		nbatches;
	int64		nprobes;
	int64		nkeys;
} FpbJoin;

static Node *fpb_join_create(CustomScan *cscan);
static void fpb_join_begin(CustomScanState *node, EState *estate, int eflags);
static TupleTableSlot *fpb_join_exec(CustomScanState *node);
static void fpb_join_end(CustomScanState *node);
static void fpb_join_rescan(CustomScanState *node);
static void fpb_join_explain(CustomScanState *node, List *ancestors, ExplainState *es);

const CustomScanMethods fpb_join_scan_methods = {
	.CustomName = FPB_JOIN_NAME,
	.CreateCustomScanState = fpb_join_create
};

static const CustomExecMethods exec_methods = {
	.CustomName = FPB_JOIN_NAME,
	.BeginCustomScan = fpb_join_begin,
	.ExecCustomScan = fpb_join_exec,
	.EndCustomScan = fpb_join_end,
	.ReScanCustomScan = fpb_join_rescan,
	.ExplainCustomScan = fpb_join_explain
};

/*
 * Make the state of a node.
 */
static Node *
fpb_join_create(CustomScan *cscan pg_attribute_unused())
{
	FpbJoin    *join = (FpbJoin *) newNode(sizeof(FpbJoin), T_CustomScanState);

	join->css.methods = &exec_methods;
	return (Node *) join;
}

/* an integer of one of the types that a key may be given in */
static int64
integer_value(Datum value, Oid type)
{
	switch (type)
	{
		case INT2OID:
			return DatumGetInt16(value);
		case INT4OID:
			return DatumGetInt32(value);
		default:
			return DatumGetInt64(value);
	}
}

/*
 * The same integer as a value of the column's type.  False if that has it not:
 * no row has such a key.
 */
static bool
own_integer(Datum *value, Oid given, Oid own)
{
	int64		n = integer_value(*value, given);

	switch (own)
	{
		case INT2OID:
			*value = Int16GetDatum((int16) n);
			break;
		case INT4OID:
			*value = Int32GetDatum((int32) n);
			break;
		default:
			*value = Int64GetDatum(n);
	}
	return integer_value(*value, own) == n;
}

/*
 * Make a key of an inner scan one for values of the column's type.
 */
static void
prepare_key(ScanKey key, Relation index, FpbJoinColumn *column)
{
	int			number = key->sk_attno - 1;

	column->type = index->rd_opcintype[number];
	if (key->sk_subtype != InvalidOid && key->sk_subtype != column->type)
	{
		Oid			eq = get_opfamily_member(index->rd_opfamily[number], column->type,
											 column->type, BTEqualStrategyNumber);

		column->given_type = key->sk_subtype;
		fmgr_info(get_opcode(eq), &key->sk_func);
	}
	key->sk_subtype = column->type;
}

/*
 * How a key of an inner scan is computed.  NULL: it is not.
 */
static const IndexRuntimeKeyInfo *
find_runtime(const IndexRuntimeKeyInfo *runtime, int nruntime, const ScanKeyData *key)
{
	for (int i = 0; i < nruntime; i++)
		if (runtime[i].scan_key == key)
			return &runtime[i];
	return NULL;
}

/*
 * Add an inner scan, of whose computed keys those with these numbers are the
 * search key.  Returns the index.
 */
static Relation
add_scan(FpbJoin *join, PlanState *node, const List *numbers)
{
	FpbInnerScan *scan = &join->scans[join->nscans++];
	ScanKey		keys;
	IndexRuntimeKeyInfo *runtime;
	int			nruntime;
	Relation	index;
	bool		index_only = !IsA(node, IndexScanState);

	scan->node = (ScanState *) node;
	if (!index_only)
	{
		IndexScanState *state = (IndexScanState *) node;

		keys = state->iss_ScanKeys;
		runtime = state->iss_RuntimeKeys;
		nruntime = state->iss_NumRuntimeKeys;
		scan->runtime_context = state->iss_RuntimeContext;
		index = state->iss_RelationDesc;
	}
	else
	{
		IndexOnlyScanState *state = castNode(IndexOnlyScanState, node);

		keys = state->ioss_ScanKeys;
		runtime = state->ioss_RuntimeKeys;
		nruntime = state->ioss_NumRuntimeKeys;
		scan->runtime_context = state->ioss_RuntimeContext;
		index = state->ioss_RelationDesc;
	}

	scan->keys = palloc_array(ScanKey, join->ncolumns);
	scan->attnos = palloc_array(int, join->ncolumns);
	for (int i = 0; i < join->ncolumns; i++)
	{
		ScanKey		key = &keys[list_nth_int(numbers, i)];
		const IndexRuntimeKeyInfo *how = find_runtime(runtime, nruntime, key);

		if (how == NULL)
			elog(ERROR, "no computed key %d in a batched nested loop", list_nth_int(numbers, i));
		scan->keys[i] = key;
		scan->attnos[i] = index_only ? key->sk_attno :
			index->rd_index->indkey.values[key->sk_attno - 1];
		join->columns[i].expr = how->key_expr;
		join->columns[i].toastable = how->key_toastable;
		prepare_key(key, index, &join->columns[i]);
	}
	scan->others = palloc_array(IndexRuntimeKeyInfo, nruntime);
	for (int i = 0; i < nruntime; i++)
	{
		bool		other = true;

		for (int c = 0; c < join->ncolumns; c++)
			other &= runtime[i].scan_key != scan->keys[c];
		if (other)
			scan->others[scan->nothers++] = runtime[i];
	}
	return index;
}

/*
 * Find the inner scans, and the computed keys of each, whose numbers in the
 * search key these are.  The scans of an Append are those that initial pruning
 * has left: there may be none.
 */
static void
find_scans(FpbJoin *join, const List *numbers)
{
	PlanState  *inner = innerPlanState(join->loop);
	Relation	index = NULL;

	join->ncolumns = list_length(linitial(numbers));
	join->columns = palloc0_array(FpbJoinColumn, join->ncolumns);
	join->values = palloc_array(Datum, join->ncolumns);
	join->key_context = CreateExprContext(inner->state);
	if (IsA(inner, AppendState))
	{
		AppendState *append = (AppendState *) inner;
		ListCell   *plan;
		ListCell   *lc;

		join->append = append;
		join->pruning = append->as_prune_state != NULL && append->as_prune_state->do_exec_prune;
		join->scans = palloc0_array(FpbInnerScan, append->as_nplans);
		forboth(plan, ((Append *) inner->plan)->appendplans, lc, numbers)
			if (join->nscans < append->as_nplans &&
				append->appendplans[join->nscans]->plan == lfirst(plan))
			index = add_scan(join, append->appendplans[join->nscans], lfirst(lc));
		if (join->nscans < append->as_nplans)
			elog(ERROR, "unknown child of an Append in a batched nested loop");
	}
	else
	{
		join->scans = palloc0_object(FpbInnerScan);
		index = add_scan(join, inner, linitial(numbers));
	}
	if (join->nscans > 0)
		fpb_outer_batch_init(&join->batch, outerPlanState(join->loop),
							 join->ordered ? inner : NULL, index,
							 join->scans[join->nscans - 1].keys[0]->sk_attno - 1, join->ncolumns,
							 join->nscans);
}

/*
 * Go back to the state before the first row.
 */
static void
start(FpbJoin *join)
{
	join->phase = FPB_JOIN_NEXT;
	join->outer_done = join->has_read = join->redoing = false;
	join->nsingle = single_rows;
	join->batch_rows = 1;
	join->most_rows = join->nscans > 0 ? fpb_join_batch_rows : 0;
}

/*
 * Initialize the node, and the nested loop that it runs.
 */
static void
fpb_join_begin(CustomScanState *node, EState *estate, int eflags)
{
	FpbJoin    *join = (FpbJoin *) node;
	CustomScan *plan = (CustomScan *) node->ss.ps.plan;

	join->loop = castNode(NestLoopState,
						  ExecInitNode(linitial(plan->custom_plans), estate, eflags));
	join->css.custom_ps = list_make1(join->loop);
	join->type = join->loop->js.jointype;
	join->dense = linitial_int(lsecond(plan->custom_private)) != 0;
	join->ordered = lsecond_int(lsecond(plan->custom_private)) != 0;
	if ((eflags & EXEC_FLAG_EXPLAIN_ONLY) == 0)
		find_scans(join, linitial(plan->custom_private));
	start(join);
}

/*
 * Let the loop's expressions see an outer row.
 */
static void
pass_parameters(FpbJoin *join, TupleTableSlot *slot)
{
	ExprContext *econtext = join->loop->js.ps.ps_ExprContext;
	ListCell   *lc;

	foreach(lc, ((NestLoop *) join->loop->js.ps.plan)->nestParams)
	{
		NestLoopParam *param = (NestLoopParam *) lfirst(lc);
		ParamExecData *data = &econtext->ecxt_param_exec_vals[param->paramno];

		data->value = slot_getattr(slot, param->paramval->varattno, &data->isnull);
	}
}

/*
 * Compute the search key that an outer row gives, to join->values, and the
 * scans that may have it.  They live until the next ones are computed.  False
 * if a value is NULL, or none of the column's type, or no scan may have it: no
 * inner row has it.
 */
static bool
compute_key(FpbJoin *join, TupleTableSlot *slot)
{
	ExprContext *econtext = join->key_context;
	MemoryContext old;
	bool		isnull = join->nscans == 0;

	ResetExprContext(econtext);
	pass_parameters(join, slot);
	old = MemoryContextSwitchTo(econtext->ecxt_per_tuple_memory);
	for (int i = 0; i < join->ncolumns && !isnull; i++)
	{
		const FpbJoinColumn *column = &join->columns[i];
		Datum	   *value = &join->values[i];

		*value = ExecEvalExpr(column->expr, econtext, &isnull);
		if (isnull)
			continue;
		if (column->toastable)
			*value = PointerGetDatum(PG_DETOAST_DATUM(*value));
		else if (OidIsValid(column->given_type))
			isnull = !own_integer(value, column->given_type, column->type);
	}
	if (join->pruning && !isnull)
	{
		join->may_have = fpb_matching_subplans(join->append->as_prune_state);
		isnull = join->may_have == NULL;
	}
	MemoryContextSwitchTo(old);
	return !isnull;
}

/*
 * The next outer row, or NULL.
 */
static TupleTableSlot *
next_outer(FpbJoin *join)
{
	TupleTableSlot *slot = NULL;

	if (join->redoing)
	{
		if (join->next_row < join->batch.nrows)
			return fpb_outer_batch_row(&join->batch, join->next_row++);
		join->redoing = false;
		fpb_outer_batch_reset(&join->batch);
	}
	if (!join->outer_done)
		slot = ExecProcNode(outerPlanState(join->loop));
	if (!TupIsNull(slot))
	{
		join->nprobes++;
		return slot;
	}
	join->outer_done = true;
	return NULL;
}

/* the memory that a batch may take, in bytes */
static inline Size
most_memory(void)
{
	return Min((Size) work_mem * 1024, MOST_BYTES);
}

/*
 * Take the next batch of outer rows.  False if there are no more.
 */
static bool
fill_batch(FpbJoin *join)
{
	FpbOuterBatch *batch = &join->batch;
	Size		most = join->ordered ? most_memory() / 2 : most_memory();

	fpb_outer_batch_reset(batch);
	while (batch->nrows < join->batch_rows && batch->size < most)
	{
		TupleTableSlot *slot = next_outer(join);
		bool		has_key;

		if (slot == NULL)
			break;
		has_key = compute_key(join, slot);
		fpb_outer_batch_add(batch, slot, has_key ? join->values : NULL, join->may_have);
	}
	join->batch_rows = Min(2 * join->batch_rows, join->most_rows);
	return batch->nrows > 0;
}

/*
 * Start a scan again with these keys.  Where there is none yet, the inner node
 * will make it, and take the same keys from its state.
 */
static void
rescan(IndexScanDesc scan, ScanKey keys, int nkeys, bool wants_all)
{
	if (scan == NULL)
		return;
	index_rescan(scan, keys, nkeys, NULL, 0);
	fpb_scan_want_all(scan, wants_all);
}

/*
 * Let the scan that is to return rows begin with the keys in join->values,
 * which are arrays if it is for a batch.
 */
static void
start_scan(FpbJoin *join)
{
	FpbInnerScan *scan = &join->scans[join->scan];
	int			flags = !join->for_batch ? 0 :
		join->ncolumns > 1 ? SK_SEARCHARRAY | FPB_SK_LIST : SK_SEARCHARRAY;

	for (int i = 0; i < join->ncolumns; i++)
	{
		ScanKey		key = scan->keys[i];

		key->sk_argument = join->values[i];
		key->sk_flags = (key->sk_flags & ~(SK_SEARCHARRAY | FPB_SK_LIST)) | flags;
	}
	if (scan->nothers > 0)
	{
		ResetExprContext(scan->runtime_context);
		ExecIndexEvalRuntimeKeys(scan->runtime_context, scan->others, scan->nothers);
	}
	if (IsA(scan->node, IndexScanState))
	{
		IndexScanState *state = (IndexScanState *) scan->node;

		state->iss_RuntimeKeysReady = true;
		rescan(state->iss_ScanDesc, state->iss_ScanKeys, state->iss_NumScanKeys, join->for_batch);
	}
	else
	{
		IndexOnlyScanState *state = (IndexOnlyScanState *) scan->node;

		state->ioss_RuntimeKeysReady = true;
		rescan(state->ioss_ScanDesc, state->ioss_ScanKeys, state->ioss_NumScanKeys,
			   join->for_batch);
	}
}

/*
 * Let it begin with its keys of the batch from a group on.  False if there are
 * none.
 */
static bool
start_groups(FpbJoin *join, int group)
{
	if (!fpb_outer_batch_arrays(&join->batch, join->scan, group, join->values))
		return false;
	start_scan(join);
	join->group = group;
	join->nunwanted = 0;
	return true;
}

/*
 * Let it begin with the single row's key.  False if it can't have that.
 */
static bool
start_single(FpbJoin *join)
{
	if (join->may_have != NULL && !bms_is_member(join->scan, join->may_have))
		return false;
	start_scan(join);
	return true;
}

/*
 * Let the next scan begin that may have a row for the batch, or for the single
 * row.  False if there is none.
 */
static bool
start_next_scan(FpbJoin *join)
{
	while (++join->scan < join->nscans)
		if (join->for_batch ? start_groups(join, join->batch.of_scan[join->scan].begin) :
			start_single(join))
			return true;
	return false;
}

/*
 * Let the first such scan begin.  False if there is none.
 */
static bool
start_scans(FpbJoin *join, bool for_batch)
{
	join->for_batch = for_batch;
	join->scan = -1;
	return start_next_scan(join);
}

/*
 * Sort the keys of the batch, and let the inner side begin.  False if there
 * are none.
 */
static bool
start_batch(FpbJoin *join)
{
	fpb_outer_batch_sort(&join->batch);
	join->nbatches++;
	join->nkeys += join->batch.ngroups;
	return start_scans(join, true);
}

/*
 * Leave the scan that has returned the inner row, before its end: it has to
 * let go of its pins, because there may be many scans.
 */
static void
leave_scan(FpbJoin *join)
{
	ScanState  *node = join->scans[join->scan].node;
	IndexScanDesc scan = IsA(node, IndexScanState) ? ((IndexScanState *) node)->iss_ScanDesc :
		((IndexOnlyScanState *) node)->ioss_ScanDesc;

	ExecClearTuple(node->ss_ScanTupleSlot);
	index_rescan(scan, NULL, scan->numberOfKeys, NULL, 0);
}

/*
 * The inner row has been joined with all that have its key.  If each of them
 * needs no more, and the scan has returned many more, let it go on with the
 * next key, or the next scan begin.  False if there is none.
 */
static bool
pass_unwanted(FpbJoin *join)
{
	int			left = join->batch.of_scan[join->scan].end - join->group - 1;

	join->nunwanted = join->wanted ? 0 : join->nunwanted + 1;
	if (join->nunwanted < MOST_UNWANTED + left || start_groups(join, join->group + 1))
		return true;
	leave_scan(join);
	return start_next_scan(join);
}

/*
 * Fetch the next inner row, for the loop's expressions to see.  False if there
 * are no more.
 */
static bool
next_inner(FpbJoin *join)
{
	FpbNodeInstrumentation *instrument = join->append == NULL ? NULL : join->append->ps.instrument;
	int64		blocks_read = fpb_blocks_read();
	TupleTableSlot *slot;

	if (instrument != NULL)
		InstrStartNode(instrument);
	do
		slot = ExecProcNode(&join->scans[join->scan].node->ps);
	while (TupIsNull(slot) && start_next_scan(join));
	if (instrument != NULL)
		InstrStopNode(instrument, TupIsNull(slot) ? 0.0 : 1.0);
	join->has_read |= blocks_read != fpb_blocks_read();
	join->loop->js.ps.ps_ExprContext->ecxt_innertuple = slot;
	return !TupIsNull(slot);
}

/*
 * The same for a batch: and find the outer rows that have the row's key.  An
 * index scan for keys of several columns may return other rows.
 */
static bool
next_inner_of_batch(FpbJoin *join)
{
	FpbOuterBatch *batch = &join->batch;
	int			group = -1;

	while (group < 0)
	{
		const FpbInnerScan *scan;
		bool		isnull = false;

		if (!next_inner(join))
			return false;
		scan = &join->scans[join->scan];
		for (int i = 0; i < join->ncolumns && !isnull; i++)
			join->values[i] = slot_getattr(scan->node->ss_ScanTupleSlot, scan->attnos[i], &isnull);
		if (!isnull)
			group = fpb_outer_batch_find(batch, join->scan, join->values, join->group);
		if (group < 0 && join->ncolumns == 1)
			elog(ERROR, "index scan has returned a row without any of the keys asked for");
		if (group < 0)
			CHECK_FOR_INTERRUPTS();
	}
	join->group = group;
	join->wanted = false;
	join->kept = NULL;
	join->next = batch->groups[group].begin;
	return true;
}

/*
 * Return the outer and inner row of the expression context as a joined row, if
 * the conditions behind the join hold.  NULL if they don't.
 */
static TupleTableSlot *
joined(FpbJoin *join)
{
	NestLoopState *loop = join->loop;

	if (loop->js.ps.qual == NULL || ExecQual(loop->js.ps.qual, loop->js.ps.ps_ExprContext))
		return ExecProject(loop->js.ps.ps_ProjInfo);
	InstrCountFiltered2(loop, 1);
	return NULL;
}

/*
 * Does an outer row need no more inner rows?
 */
static inline bool
is_satisfied(const FpbJoin *join, const FpbJoinRow *row)
{
	return row->matched && (join->loop->js.single_match || join->type == JOIN_ANTI);
}

/*
 * Do the join's conditions hold for an outer row, which the loop's expressions
 * see, and the inner row?
 */
static bool
matches(FpbJoin *join, FpbJoinRow *row)
{
	NestLoopState *loop = join->loop;

	if (!ExecQual(loop->js.joinqual, loop->js.ps.ps_ExprContext))
	{
		InstrCountFiltered1(loop, 1);
		return false;
	}
	row->matched = true;
	return true;
}

/*
 * Join an outer row, which the loop's expressions see, with the inner row.
 * NULL if nothing is to be returned.
 */
static TupleTableSlot *
join_pair(FpbJoin *join, FpbJoinRow *row)
{
	return matches(join, row) && join->type != JOIN_ANTI ? joined(join) : NULL;
}

/*
 * The same, but that the rows are kept.  If they take too much memory, the
 * batch's rows are joined one by one instead, and further batches are smaller.
 */
static void
keep_pair(FpbJoin *join, FpbJoinRow *row)
{
	FpbOuterBatch *batch = &join->batch;

	if (!matches(join, row) || join->type == JOIN_ANTI)
		return;
	if (join->kept == NULL)
		join->kept = fpb_outer_batch_keep(batch, join->loop->js.ps.ps_ExprContext->ecxt_innertuple);
	fpb_outer_batch_pair(batch, row, join->kept);
	if (batch->size > most_memory())
	{
		join->redoing = true;
		join->next_row = 0;
		join->batch_rows = join->most_rows = batch->nrows / 2;
		join->phase = FPB_JOIN_NEXT;
	}
}

/*
 * An outer row that no inner row was joined with, if the join returns it.
 * NULL if nothing is to be returned.
 */
static TupleTableSlot *
join_alone(FpbJoin *join, const FpbJoinRow *row)
{
	if (row->matched || (join->type != JOIN_LEFT && join->type != JOIN_ANTI))
		return NULL;
	join->loop->js.ps.ps_ExprContext->ecxt_innertuple = join->loop->nl_NullInnerTupleSlot;
	return joined(join);
}

/*
 * Are the next rows to be joined one by one?  Those that are to be so at first
 * are joined in batches if pages have been read for some of them.
 */
static bool
goes_singly(FpbJoin *join)
{
	if (join->redoing || join->most_rows == 0 ||
		(join->nsingle > 0 && (!join->has_read || join->batch_rows <= 2 * LEAST_SINGLE)))
		return true;
	join->nsingle = single_rows > 0 && !join->dense && !join->has_read ? single_rows : 0;
	join->has_read = false;
	return join->nsingle > 0;
}

/*
 * What is done when all inner rows have been joined with a batch.
 */
static inline FpbJoinPhase
after_pairs(const FpbJoin *join)
{
	return join->ordered ? FPB_JOIN_IN_ORDER : FPB_JOIN_ALONE;
}

/*
 * Take the next outer row, or the next batch of them, and let the inner scan
 * begin.  Returns what is done next.
 */
static FpbJoinPhase
take_outer(FpbJoin *join)
{
	TupleTableSlot *slot;

	if (!goes_singly(join))
	{
		join->next_row = 0;
		join->next = INT_MAX;	/* there is no inner row yet */
		join->wanted = true;
		join->pair = NULL;
		if (!fill_batch(join))
			return FPB_JOIN_DONE;
		return start_batch(join) ? FPB_JOIN_PAIRS : after_pairs(join);
	}
	if (!join->redoing)
	{
		join->nsingle--;
		join->batch_rows = Min(join->batch_rows + 2, join->most_rows);
	}
	slot = next_outer(join);
	if (slot == NULL)
		return FPB_JOIN_DONE;
	join->loop->js.ps.ps_ExprContext->ecxt_outertuple = slot;
	join->single.matched = false;
	return compute_key(join, slot) && start_scans(join, false) ? FPB_JOIN_SINGLE :
		FPB_JOIN_SINGLE_ALONE;
}

/*
 * Go on with the outer row that is joined by itself.  NULL: with the next
 * phase.
 */
static TupleTableSlot *
go_on_single(FpbJoin *join)
{
	TupleTableSlot *slot = NULL;

	if (is_satisfied(join, &join->single))
		join->phase = FPB_JOIN_NEXT;
	else if (next_inner(join))
		slot = join_pair(join, &join->single);
	else
		join->phase = FPB_JOIN_SINGLE_ALONE;
	return slot;
}

/*
 * Go on with the outer rows that have the inner row's key, or with the next
 * inner row.
 */
static TupleTableSlot *
go_on_pairs(FpbJoin *join)
{
	FpbOuterBatch *batch = &join->batch;

	while (join->next < batch->groups[join->group].end)
	{
		int			number = batch->keys[join->next].row;
		FpbJoinRow *row = &batch->rows[number];

		if (is_satisfied(join, row))
		{
			if (!fpb_outer_batch_leave_out(batch, join->group, join->next))
				join->next++;
			continue;
		}
		join->next++;
		join->wanted = true;
		join->loop->js.ps.ps_ExprContext->ecxt_outertuple = fpb_outer_batch_row(batch, number);
		if (!join->ordered)
			return join_pair(join, row);
		keep_pair(join, row);
		return NULL;
	}
	if (!pass_unwanted(join) || !next_inner_of_batch(join))
		join->phase = after_pairs(join);
	return NULL;
}

/*
 * Go on with the rows of the batch that no row was joined with.
 */
static TupleTableSlot *
go_on_alone(FpbJoin *join)
{
	FpbOuterBatch *batch = &join->batch;
	int			number = join->next_row++;

	if (number >= batch->nrows || (join->type != JOIN_LEFT && join->type != JOIN_ANTI))
	{
		join->phase = FPB_JOIN_NEXT;
		return NULL;
	}
	if (batch->rows[number].matched)
		return NULL;
	join->loop->js.ps.ps_ExprContext->ecxt_outertuple = fpb_outer_batch_row(batch, number);
	return join_alone(join, &batch->rows[number]);
}

/*
 * Go on with the rows kept, in the order of the outer side.
 */
static TupleTableSlot *
go_on_in_order(FpbJoin *join)
{
	FpbOuterBatch *batch = &join->batch;
	ExprContext *econtext = join->loop->js.ps.ps_ExprContext;
	FpbJoinPair *pair = join->pair;
	const FpbJoinRow *row;

	if (pair != NULL)
	{
		join->pair = pair->next;
		econtext->ecxt_innertuple = fpb_outer_batch_kept(batch, pair->inner);
		return joined(join);
	}
	if (join->next_row == batch->nrows)
	{
		join->phase = FPB_JOIN_NEXT;
		return NULL;
	}
	row = &batch->rows[join->next_row];
	econtext->ecxt_outertuple = fpb_outer_batch_row(batch, join->next_row++);
	join->pair = row->first;
	return join_alone(join, row);
}

/*
 * The next joined row, or NULL.
 */
static TupleTableSlot *
next_joined(FpbJoin *join)
{
	TupleTableSlot *slot = NULL;

	while (slot == NULL && join->phase != FPB_JOIN_DONE)
	{
		CHECK_FOR_INTERRUPTS();
		ResetExprContext(join->loop->js.ps.ps_ExprContext);
		switch (join->phase)
		{
			case FPB_JOIN_NEXT:
				join->phase = take_outer(join);
				break;
			case FPB_JOIN_SINGLE:
				slot = go_on_single(join);
				break;
			case FPB_JOIN_SINGLE_ALONE:
				join->phase = FPB_JOIN_NEXT;
				slot = join_alone(join, &join->single);
				break;
			case FPB_JOIN_PAIRS:
				slot = go_on_pairs(join);
				break;
			case FPB_JOIN_ALONE:
				slot = go_on_alone(join);
				break;
			case FPB_JOIN_IN_ORDER:
				slot = go_on_in_order(join);
				break;
			case FPB_JOIN_DONE:
				break;
		}
	}
	return slot;
}

/*
 * Return the next row.
 */
static TupleTableSlot *
fpb_join_exec(CustomScanState *node)
{
	FpbJoin    *join = (FpbJoin *) node;
	FpbNodeInstrumentation *instrument = join->loop->js.ps.instrument;
	TupleTableSlot *slot;

	if (instrument != NULL)
		InstrStartNode(instrument);
	slot = next_joined(join);
	if (instrument != NULL)
		InstrStopNode(instrument, TupIsNull(slot) ? 0.0 : 1.0);
	if (TupIsNull(slot))
		return NULL;
	if (node->ss.ps.ps_ProjInfo == NULL)
		return slot;
	ResetExprContext(node->ss.ps.ps_ExprContext);
	node->ss.ps.ps_ExprContext->ecxt_scantuple = slot;
	return ExecProject(node->ss.ps.ps_ProjInfo);
}

/*
 * Release what fpb_join_begin has taken.
 */
static void
fpb_join_end(CustomScanState *node)
{
	ExecEndNode(&((FpbJoin *) node)->loop->js.ps);
}

/*
 * Begin again, presumably with other parameters.
 */
static void
fpb_join_rescan(CustomScanState *node)
{
	FpbJoin    *join = (FpbJoin *) node;

	if (node->ss.ps.chgParam != NULL)
		UpdateChangedParamSet(&join->loop->js.ps, node->ss.ps.chgParam);
	ExecReScan(&join->loop->js.ps);

	/*
	 * each batch computes the scans' keys, so they have nothing to do for
	 * this
	 */
	bms_free(innerPlanState(join->loop)->chgParam);
	innerPlanState(join->loop)->chgParam = NULL;
	if (join->nscans > 0)
		fpb_outer_batch_reset(&join->batch);
	start(join);
}

/*
 * The names of the columns of the search key, as the first inner scan's index
 * has them.
 */
static List *
column_names(const FpbJoin *join)
{
	const Plan *inner = innerPlanState(join->loop)->plan;
	const Plan *scan = IsA(inner, Append) ? linitial(((const Append *) inner)->appendplans) : inner;
	bool		index_only = IsA(scan, IndexOnlyScan);
	Oid			index = index_only ? ((IndexOnlyScan *) scan)->indexid :
		((IndexScan *) scan)->indexid;
	List	   *quals = index_only ? ((IndexOnlyScan *) scan)->indexqual :
		((IndexScan *) scan)->indexqual;
	List	   *numbers = linitial(((CustomScan *) join->css.ss.ps.plan)->custom_private);
	List	   *names = NIL;
	ListCell   *lc;

	foreach(lc, (List *) linitial(numbers))
	{
		const OpExpr *equality = list_nth_node(OpExpr, quals, lfirst_int(lc));

		names = lappend(names, get_attname(index, linitial_node(Var, equality->args)->varattno,
										   false));
	}
	return names;
}

/*
 * Tell EXPLAIN the columns of the search key; and if it has run the query, how
 * many keys have been asked for at a time.
 */
static void
fpb_join_explain(CustomScanState *node, List *ancestors pg_attribute_unused(), ExplainState *es)
{
	FpbJoin    *join = (FpbJoin *) node;

	ExplainPropertyList("Batch Key", column_names(join), es);
	if (join->ordered)
		ExplainPropertyBool("Keeps Order", true, es);
	if (!es->analyze)
		return;
	ExplainPropertyInteger("Batches", NULL, join->nbatches, es);
	ExplainPropertyInteger("Probes", NULL, join->nprobes, es);
	ExplainPropertyInteger("Distinct Keys", NULL, join->nkeys, es);
}

/*
 * Define the node and its setting.  Called once in a backend, when the module
 * is loaded.
 */
void
fpb_join_init(void)
{
	RegisterCustomScanMethods(&fpb_join_scan_methods);
	DefineCustomIntVariable("fpbtree.join_batch_rows",
							"Most rows that a batched nested loop takes from its outer side at a time.",
							"work_mem limits them as well.",
							&fpb_join_batch_rows,
							10000, 1, 1000000,
							PGC_USERSET, 0, NULL, NULL, NULL);
	DefineCustomIntVariable("fpbtree.join_single_rows",
							"Rows that a batched nested loop joins one by one at first.",
							"It goes on so while no pages have to be read, unless the keys are dense. 0 joins all rows in batches.",
							&single_rows,
							16, 0, 1000000,
							PGC_USERSET, 0, NULL, NULL, NULL);
}
