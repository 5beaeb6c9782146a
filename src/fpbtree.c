/*-------------------------------------------------------------------------
 *
 * fpbtree.c
 *	  The access method's handler: what the server is told of fpbtree.
 *
 * fpbtree claims every property that btree has, with btree's strategy and
 * support function numbers, so that it can serve wherever the server doesn't
 * ask for btree by name.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/nbtree.h"
#include "access/stratnum.h"
#include "access/xlog.h"
#include "commands/progress.h"
#include "commands/vacuum.h"
#include "utils/guc.h"

#include "fpb_inspect.h"
#include "fpb_options.h"
#include "fpb_scan.h"
#include "fpb_verify.h"
#include "fpb_write.h"
#include "fpbtree.h"

#ifdef FPB_HAVE_COMPARE_TYPES
#include "access/cmptype.h"
#endif

FPB_MODULE_MAGIC("fpbtree", "1.0");

PG_FUNCTION_INFO_V1(fpbtree_handler);

void		_PG_init(void);

/*
 * Set up what a backend has one of: the kind of storage parameters, and the
 * planner's view of our indexes.
 */
void
_PG_init(void)
{
	fpb_options_init();
	fpb_planner_init();
	fpb_cache_init();
	fpb_verify_init();
	fpb_ahead_init();
	fpb_worker_init();

	/* a misspelt fpbtree.something is an error, not a setting of its own */
	MarkGUCPrefixReserved(FPB_AM_NAME);
}

/*
 * Can an index-only scan return column attno?  Our pages give back every one,
 * unless an index was made to share the keys of duplicates when equal ones
 * were the same value, and now they are not: see all_equal_image.  An entry
 * may then have taken on the key of another one.  Reads the metapage unless it
 * is cached, and raises an error if that is damaged.
 *
 * An index need not have a metapage: one that could not be built (CREATE INDEX
 * CONCURRENTLY leaves it invalid), or an unlogged one in recovery.  The
 * planner does not ask about these, but pg_index_column_has_property does.
 */
static bool
fpb_canreturn(Relation index, int attno pg_attribute_unused())
{
	FpbIndex	ix;

	if (index->rd_rel->relkind == RELKIND_PARTITIONED_INDEX ||
		!index->rd_index->indisvalid ||
		(RecoveryInProgress() && !RelationIsPermanent(index)))
		return true;
	fpb_index_open(&ix, index);

	return ix.equal_image || !ix.one_key;
}

/*
 * Name of a phase of CREATE INDEX for pg_stat_progress_create_index.  Our
 * phases are btree's, so that monitoring that knows those understands ours.
 */
static char *
fpb_buildphasename(int64 phase)
{
	switch (phase)
	{
		case PROGRESS_CREATEIDX_SUBPHASE_INITIALIZE:
			return "initializing";
		case PROGRESS_BTREE_PHASE_INDEXBUILD_TABLESCAN:
			return "scanning table";
		case PROGRESS_BTREE_PHASE_PERFORMSORT_1:
			return "sorting live tuples";
		case PROGRESS_BTREE_PHASE_PERFORMSORT_2:
			return "sorting dead tuples";
		case PROGRESS_BTREE_PHASE_LEAF_LOAD:
			return "loading tuples in tree";
		default:
			return NULL;
	}
}

#ifdef FPB_HAVE_TREE_HEIGHT
/*
 * Levels above the leaves, for the planner.  Reads the metapage unless it is
 * cached, and raises an error if that is damaged.
 */
static int
fpb_gettreeheight(Relation index)
{
	FpbIndex	ix;

	fpb_index_open(&ix, index);

	return (int) ix.level;
}
#endif

#ifdef FPB_HAVE_COMPARE_TYPES
/* What a strategy means, whatever the operator family. */
static CompareType
fpb_translatestrategy(StrategyNumber strategy,
					  Oid opfamily pg_attribute_unused())
{
	switch (strategy)
	{
		case BTLessStrategyNumber:
			return COMPARE_LT;
		case BTLessEqualStrategyNumber:
			return COMPARE_LE;
		case BTEqualStrategyNumber:
			return COMPARE_EQ;
		case BTGreaterEqualStrategyNumber:
			return COMPARE_GE;
		case BTGreaterStrategyNumber:
			return COMPARE_GT;
		default:
			return COMPARE_INVALID;
	}
}

/* The strategy that has a meaning; the inverse of fpb_translatestrategy. */
static StrategyNumber
fpb_translatecmptype(CompareType cmptype, Oid opfamily pg_attribute_unused())
{
	switch (cmptype)
	{
		case COMPARE_LT:
			return BTLessStrategyNumber;
		case COMPARE_LE:
			return BTLessEqualStrategyNumber;
		case COMPARE_EQ:
			return BTEqualStrategyNumber;
		case COMPARE_GE:
			return BTGreaterEqualStrategyNumber;
		case COMPARE_GT:
			return BTGreaterStrategyNumber;
		default:
			return InvalidStrategy;
	}
}
#endif

/*
 * The handler that CREATE ACCESS METHOD names.
 */
Datum
fpbtree_handler(PG_FUNCTION_ARGS pg_attribute_unused())
{
	IndexAmRoutine *am = makeNode(IndexAmRoutine);

	am->amstrategies = BTMaxStrategyNumber;
	am->amsupport = FPB_NPROCS;
	am->amoptsprocnum = FPB_OPTIONS_PROC;
	am->amcanorder = true;
	am->amcanorderbyop = false;
#ifdef FPB_HAVE_COMPARE_TYPES
	am->amcanhash = false;
	am->amconsistentequality = true;
	am->amconsistentordering = true;
#endif
	am->amcanbackward = true;
	am->amcanunique = true;
	am->amcanmulticol = true;
	am->amoptionalkey = true;
	am->amsearcharray = true;
	am->amsearchnulls = true;
	am->amstorage = true;		/* name_ops stores cstrings: fpb_validate.c */
	am->amclusterable = true;
	am->ampredlocks = true;
	am->amcanparallel = true;
	am->amcanbuildparallel = true;
	am->amcaninclude = true;
	am->amusemaintenanceworkmem = false;
	am->amsummarizing = false;
	am->amparallelvacuumoptions =
		VACUUM_OPTION_PARALLEL_BULKDEL | VACUUM_OPTION_PARALLEL_COND_CLEANUP;
	am->amkeytype = InvalidOid;

	am->ambuild = fpb_build;
	am->ambuildempty = fpb_buildempty;
	am->aminsert = fpb_insert;
	am->aminsertcleanup = NULL;
	am->ambulkdelete = fpb_bulkdelete;
	am->amvacuumcleanup = fpb_vacuumcleanup;
	am->amcanreturn = fpb_canreturn;
	am->amcostestimate = fpb_costestimate;
#ifdef FPB_HAVE_TREE_HEIGHT
	am->amgettreeheight = fpb_gettreeheight;
#endif
	am->amoptions = fpb_options;
	am->amproperty = NULL;		/* the generic code opens the index */
	am->ambuildphasename = fpb_buildphasename;
	am->amvalidate = fpb_validate;
	am->amadjustmembers = fpb_adjustmembers;
	am->ambeginscan = fpb_beginscan;
	am->amrescan = fpb_rescan;
	am->amgettuple = fpb_gettuple;
	am->amgetbitmap = fpb_getbitmap;
	am->amendscan = fpb_endscan;
	am->ammarkpos = fpb_markpos;
	am->amrestrpos = fpb_restrpos;
	am->amestimateparallelscan = fpb_estimateparallelscan;
	am->aminitparallelscan = fpb_initparallelscan;
	am->amparallelrescan = fpb_parallelrescan;
#ifdef FPB_HAVE_COMPARE_TYPES
	am->amtranslatestrategy = fpb_translatestrategy;
	am->amtranslatecmptype = fpb_translatecmptype;
#endif

	PG_RETURN_POINTER(am);
}
