/*-------------------------------------------------------------------------
 *
 * inspect/tiers.c
 *	  fpbtree_tiers(): the tiers of an index's operation queue.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/relation.h"
#include "fmgr.h"
#include "funcapi.h"
#include "storage/bufmgr.h"
#include "utils/rel.h"
#include "utils/tuplestore.h"

#include "base/open_index.h"
#include "base/queue_memory.h"
#include "queue/queue.h"
#include "tree/tree.h"

PG_FUNCTION_INFO_V1(fpbtree_tiers);

/* the columns, in the order of the SQL declaration */
typedef enum TierColumn
{
	TIER_TIER,
	TIER_PAGE_LIMIT,
	TIER_PAGES,
	TIER_ENTRIES,
	TIER_FILTERED,
	TIER_VISITS,
	TIER_MOVED,
	TIER_VISIT_ENTRIES,
	TIER_COLUMNS
} TierColumn;

/*
 * Fill the columns of what shared memory has of a tier, if it has anything.
 */
static void
tell_activity(const FpbFilter *filter, int tier, Datum *values, bool *nulls)
{
	FpbSharedTier *shared = fpb_shared_tier(filter->shared, tier);
	uint64		visits = pg_atomic_read_u64(&shared->visits);
	uint64		moved = pg_atomic_read_u64(&shared->moved);

	nulls[TIER_ENTRIES] = pg_atomic_read_u32(&shared->pages) == FPB_PAGES_UNKNOWN;
	values[TIER_ENTRIES] = Int64GetDatum(Max((int64) pg_atomic_read_u64(&shared->entries), 0));
	nulls[TIER_VISITS] = nulls[TIER_MOVED] = tier == 1;
	values[TIER_VISITS] = Int64GetDatum(visits);
	values[TIER_MOVED] = Int64GetDatum(moved);
	nulls[TIER_VISIT_ENTRIES] = visits == 0;
	if (visits > 0)
		values[TIER_VISIT_ENTRIES] = Float8GetDatum((double) moved / visits);
}

/*
 * Add the row of a tier to the result, if there is that tier.
 */
static void
tell_tier(ReturnSetInfo *result, const FpbIndex *ix, int tier)
{
	Datum		values[TIER_COLUMNS] = {0};
	bool		nulls[TIER_COLUMNS] = {0};
	FpbFilter	filter;

	if (ix->tier_roots[tier - 1] == FPB_METAPAGE)
		return;
	fpb_filter_open(&filter, ix->rel, tier, false);
	values[TIER_TIER] = Int32GetDatum(tier);
	values[TIER_PAGE_LIMIT] =
		Int64GetDatum(fpb_tier_limit(ix->rel, filter.shared,
									 RelationGetNumberOfBlocks(ix->rel), tier));
	values[TIER_PAGES] = Int64GetDatum(fpb_tier_pages(ix, tier, NULL));
	values[TIER_FILTERED] = BoolGetDatum(fpb_filter_noted(&filter, ix->rel));
	if (filter.shared != NULL)
		tell_activity(&filter, tier, values, nulls);
	else
		nulls[TIER_ENTRIES] = nulls[TIER_VISITS] = nulls[TIER_MOVED] =
			nulls[TIER_VISIT_ENTRIES] = true;
	tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
}

/*
 * fpbtree_tiers(index regclass) returns setof record
 *
 * Reads the metapage only.
 */
Datum
fpbtree_tiers(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	Relation	rel = fpb_open_index(PG_GETARG_OID(0), AccessShareLock);
	FpbIndex	ix;

	InitMaterializedSRF(fcinfo, 0);
	if (fpb_has_pages(rel))
	{
		fpb_index_open(&ix, rel);
		fpb_index_refresh(&ix);
		for (int tier = 1; tier < FPB_TREES; tier++)
			tell_tier(result, &ix, tier);
	}
	relation_close(rel, AccessShareLock);
	return (Datum) 0;
}
