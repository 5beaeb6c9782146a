/*-------------------------------------------------------------------------
 *
 * am/handler.c
 *	  The access method's handler.
 *
 * fpbtree has every property of btree, and btree's numbers of strategies and
 * support functions.  So it can serve wherever the server doesn't ask for
 * btree by name.
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

#include "am/am.h"
#include "base/open_index.h"
#include "base/options.h"
#include "base/queue_memory.h"
#include "build/build.h"
#include "join/join.h"
#include "queue/queue.h"
#include "scan/scan.h"
#include "tree/verify.h"
#include "write/batch.h"
#include "write/write.h"

#ifdef FPB_HAVE_COMPARE_TYPES
#include "access/cmptype.h"
#endif

FPB_MODULE_MAGIC("fpbtree", "1.0");

PG_FUNCTION_INFO_V1(fpbtree_handler);

void		_PG_init(void);

/*
 * Set up a backend when it loads the module: options, settings and hooks.
 */
void
_PG_init(void)
{
	fpb_options_init();
	fpb_planner_init();
	fpb_join_init();
	fpb_join_paths_init();
	fpb_alter_init();
	fpb_cache_init();
	fpb_verify_init();
	fpb_prefetch_init();
	fpb_batch_init();
	fpb_running_init(fpb_batches_before_run, fpb_batches_after_run);
	fpb_worker_init();
	fpb_shared_init();
	fpb_queue_memory_init();

	/* so that a misspelt fpbtree.something is an error, and no new setting */
	MarkGUCPrefixReserved(FPB_AM_NAME);
}

/*
 * Can an index-only scan return column attno?
 *
 * It can, with one exception.  An index was built to share the keys of
 * duplicates, because equal keys were the same value, and by now they need not
 * be: see fpb_has_loose_blanks.  Then an entry may have another row's key.
 *
 * Reads the metapage unless it is cached, and raises an error if that is
 * damaged.  Some indexes have no metapage: one that CREATE INDEX CONCURRENTLY
 * has left invalid, and an unlogged one in recovery.  The planner does not ask
 * about these, but pg_index_column_has_property does.
 */
static bool
fpb_canreturn(Relation index, int attno pg_attribute_unused())
{
	FpbIndex	memory;
	const FpbIndex *ix;

	if (index->rd_rel->relkind == RELKIND_PARTITIONED_INDEX ||
		!index->rd_index->indisvalid ||
		(RecoveryInProgress() && !RelationIsPermanent(index)))
		return true;
	ix = fpb_index_look(index, &memory);

	return !ix->one_key || !fpb_has_loose_blanks(ix);
}

/*
 * The name of a phase of CREATE INDEX, for pg_stat_progress_create_index.  The
 * phases are btree's, so that monitoring knows them.
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
 * How many levels are above the leaves, for the planner.  Reads the metapage
 * unless it is cached, and raises an error if that is damaged.
 */
static int
fpb_gettreeheight(Relation index)
{
	FpbIndex	memory;

	return (int) fpb_index_look(index, &memory)->level;
}
#endif

#ifdef FPB_HAVE_COMPARE_TYPES
/* The comparison that a strategy stands for, in any operator family. */
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

/* The strategy for a comparison: the inverse of fpb_translatestrategy. */
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
 * The handler that CREATE ACCESS METHOD names.  In a server that pg_upgrade
 * has started, raises an error if the database can't be upgraded.
 */
Datum
fpbtree_handler(PG_FUNCTION_ARGS pg_attribute_unused())
{
	static const IndexAmRoutine routine = {
		.type = T_IndexAmRoutine,
		.amstrategies = BTMaxStrategyNumber,
		.amsupport = FPB_NPROCS,
		.amoptsprocnum = FPB_OPTIONS_PROC,
		.amcanorder = true,
		.amcanorderbyop = false,
#ifdef FPB_HAVE_COMPARE_TYPES
		.amcanhash = false,
		.amconsistentequality = true,
		.amconsistentordering = true,
#endif
		.amcanbackward = true,
		.amcanunique = true,
		.amcanmulticol = true,
		.amoptionalkey = true,
		.amsearcharray = true,
		.amsearchnulls = true,
		.amstorage = true,		/* name_ops stores cstrings: am/validate.c */
		.amclusterable = true,
		.ampredlocks = true,
		.amcanparallel = true,
		.amcanbuildparallel = true,
		.amcaninclude = true,
		.amusemaintenanceworkmem = false,
		.amsummarizing = false,
		.amparallelvacuumoptions =
		VACUUM_OPTION_PARALLEL_BULKDEL | VACUUM_OPTION_PARALLEL_COND_CLEANUP,
		.amkeytype = InvalidOid,

		.ambuild = fpb_build,
		.ambuildempty = fpb_buildempty,
		.aminsert = fpb_insert,
		.aminsertcleanup = fpb_insert_cleanup,
		.ambulkdelete = fpb_bulkdelete,
		.amvacuumcleanup = fpb_vacuumcleanup,
		.amcanreturn = fpb_canreturn,
		.amcostestimate = fpb_costestimate,
#ifdef FPB_HAVE_TREE_HEIGHT
		.amgettreeheight = fpb_gettreeheight,
#endif
		.amoptions = fpb_options,
		.amproperty = NULL,		/* the generic code opens the index */
		.ambuildphasename = fpb_buildphasename,
		.amvalidate = fpb_validate,
		.amadjustmembers = fpb_adjustmembers,
		.ambeginscan = fpb_beginscan,
		.amrescan = fpb_rescan,
		.amgettuple = fpb_gettuple,
		.amgetbitmap = fpb_getbitmap,
		.amendscan = fpb_endscan,
		.ammarkpos = fpb_markpos,
		.amrestrpos = fpb_restrpos,
		.amestimateparallelscan = fpb_estimateparallelscan,
		.aminitparallelscan = fpb_initparallelscan,
		.amparallelrescan = fpb_parallelrescan,
#ifdef FPB_HAVE_COMPARE_TYPES
		.amtranslatestrategy = fpb_translatestrategy,
		.amtranslatecmptype = fpb_translatecmptype,
#endif
	};

	fpb_check_upgrade();
	FPB_RETURN_ROUTINE(routine);
}
