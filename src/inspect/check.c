/*-------------------------------------------------------------------------
 *
 * inspect/check.c
 *	  fpbtree_check() and fpbtree_damage(): does every invariant of an index
 *	  hold?
 *
 * Both make the same check.  fpbtree_check() raises the first fault as an
 * error, fpbtree_damage() returns all faults as rows.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/table.h"
#include "access/xlog.h"
#include "funcapi.h"
#include "utils/memutils.h"

#include "base/open_index.h"
#include "base/owner.h"
#include "inspect/check.h"
#include "write/batch.h"

PG_FUNCTION_INFO_V1(fpbtree_check);
PG_FUNCTION_INFO_V1(fpbtree_damage);

/*
 * Check an index, and with heapallindexed its table.
 */
static void
check_index(FpbCheck *check, bool heapallindexed)
{
	Relation	index = check->ix.rel;
	char	   *fault;

	check->context = CurrentMemoryContext;
	check->strategy = GetAccessStrategy(BAS_BULKREAD);
	check->can_descend = true;
	check->nblocks = check->nblocks_now = RelationGetNumberOfBlocks(index);
	check->faulty = palloc_extended(check->nblocks / 8 + 1,
									MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	check->page = palloc_aligned(BLCKSZ, PG_IO_ALIGN_SIZE, 0);
	check->entries = palloc(FPB_MAX_PAGE_ENTRIES * sizeof(FpbEntry));
	check->page_cxt = AllocSetContextCreate(CurrentMemoryContext,
											"fpbtree check page",
											ALLOCSET_DEFAULT_SIZES);

	MemoryContextSwitchTo(check->page_cxt);
	fault = fpb_check_try(check, fpb_check_root);
	if (fault == NULL)
		fpb_check_pages(check);
	else
		fpb_check_report(check, FPB_METAPAGE, "%s", fault);
	MemoryContextSwitchTo(check->context);
	if (fault == NULL && heapallindexed)
		fpb_check_rows(check);
	FreeAccessStrategy(check->strategy);
}

/*
 * Open an index and its table, check them, and close them.
 */
static void
open_and_check(FpbCheck *check, Oid indexoid, bool heapallindexed)
{
	Relation	heap;
	Relation	index;
	FpbCaller	caller;

	index = fpb_open_index_and_table(indexoid, AccessShareLock, &heap);
	if (!index->rd_index->indisvalid)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("cannot check index \"%s\"",
						RelationGetRelationName(index)),
				 errdetail("The index is not valid.")));
	if (index->rd_rel->relpersistence == RELPERSISTENCE_UNLOGGED &&
		RecoveryInProgress())
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("cannot check unlogged index \"%s\" during recovery",
						RelationGetRelationName(index))));
	fpb_before_reading(index, NULL);
	check->ix.rel = index;
	check->heap = heap;
	check->may_read = fpb_may_read_keys(index);

	/* the check compares keys and evaluates expressions */
	fpb_become_owner(index, &caller);
	check_index(check, heapallindexed);
	fpb_become_caller(&caller);
	index_close(index, AccessShareLock);
	table_close(heap, AccessShareLock);
}

/*
 * fpbtree_check(index regclass, heapallindexed boolean) returns void
 *
 * Raises an error "index_corrupted" if there is a fault.
 */
Datum
fpbtree_check(PG_FUNCTION_ARGS)
{
	FpbCheck   *check = palloc0(sizeof(FpbCheck));

	open_and_check(check, PG_GETARG_OID(0), PG_GETARG_BOOL(1));
	PG_RETURN_VOID();
}

/*
 * fpbtree_damage(index regclass, heapallindexed boolean) returns setof record
 *
 * Returns a row (block, fault) for each fault.
 */
Datum
fpbtree_damage(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	FpbCheck   *check = palloc0(sizeof(FpbCheck));

	InitMaterializedSRF(fcinfo, 0);
	check->rows = rsinfo->setResult;
	check->desc = rsinfo->setDesc;
	open_and_check(check, PG_GETARG_OID(0), PG_GETARG_BOOL(1));
	return (Datum) 0;
}
