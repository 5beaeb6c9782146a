/*-------------------------------------------------------------------------
 *
 * am/planner.c
 *	  Makes the planner see an fpbtree index as the ordered index it is.
 *
 * Some places of the planner know an operator family or an access method by
 * its OID: LIKE with a *_pattern_ops family, subnets with network_ops (17),
 * proofs of uniqueness (17), row comparisons.  An operator family of ours that
 * has the same members as one of btree's (as each of those does that
 * fpbtree_clone_opclass makes) means the same to the planner.  So, once the
 * planner has collected what it needs to know of a table's indexes, we write
 * the btree family in the place of ours.  The executor goes by the index's own
 * catalog entries and finds the same operators there.
 *
 * Families that differ in any member are left as they are, which costs
 * optimizations but never correctness.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/stratnum.h"
#include "catalog/pg_am_d.h"
#include "catalog/pg_amop.h"
#include "nodes/pathnodes.h"
#include "optimizer/pathnode.h"
#include "optimizer/plancat.h"
#include "utils/catcache.h"
#include "utils/hsearch.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "am/am.h"
#include "key/key.h"

/* what is known of an operator family of ours */
typedef struct FpbFamily
{
	Oid			family;			/* hash key */
	Oid			btree_family;	/* of the same members, or InvalidOid */
	uint64		generation;		/* of pg_amop, when this was found out */
} FpbFamily;

static HTAB *fpb_families = NULL;

/* incremented whenever pg_amop changes; no entry is made with 0 */
static uint64 fpb_amop_generation = 1;

static FPB_RELATION_HOOK_TYPE prev_relation_hook = NULL;

/*
 * Syscache callback: what has been found out from pg_amop may be wrong now.
 */
static void
forget_families(Datum arg pg_attribute_unused(),
				int cacheid pg_attribute_unused(),
				uint32 hashvalue pg_attribute_unused())
{
	fpb_amop_generation++;
}

/*
 * Do two families have the same operators, for the same types, under the same
 * strategy numbers?
 */
static bool
same_members(Oid family, Oid btree_family)
{
	CatCList   *ours = SearchSysCacheList1(AMOPSTRATEGY,
										   ObjectIdGetDatum(family));
	CatCList   *theirs = SearchSysCacheList1(AMOPSTRATEGY,
											 ObjectIdGetDatum(btree_family));
	bool		same = ours->n_members == theirs->n_members;

	/* members are unique by types and strategy, so counting does the rest */
	for (int i = 0; same && i < theirs->n_members; i++)
	{
		Form_pg_amop amop = (Form_pg_amop) GETSTRUCT(&theirs->members[i]->tuple);

		same = get_opfamily_member(family, amop->amoplefttype,
								   amop->amoprighttype,
								   amop->amopstrategy) == amop->amopopr;
	}

	ReleaseCatCacheList(theirs);
	ReleaseCatCacheList(ours);

	return same;
}

/*
 * The btree family in which lt_op is the "<" operator, and all other operators
 * are those of the given family; InvalidOid if there is none.
 */
static Oid
find_btree_family(Oid family, Oid lt_op)
{
	Oid			result = InvalidOid;
	CatCList   *list = SearchSysCacheList1(AMOPOPID, ObjectIdGetDatum(lt_op));

	for (int i = 0; i < list->n_members && !OidIsValid(result); i++)
	{
		Form_pg_amop amop = (Form_pg_amop) GETSTRUCT(&list->members[i]->tuple);

		if (amop->amopmethod == BTREE_AM_OID &&
			amop->amopstrategy == BTLessStrategyNumber &&
			same_members(family, amop->amopfamily))
			result = amop->amopfamily;
	}

	ReleaseCatCacheList(list);

	return result;
}

/*
 * find_btree_family with a memory.  type is an input type of an operator class
 * of the family, which has a "<" operator of that type.
 */
static Oid
btree_family(Oid family, Oid type)
{
	uint64		generation;
	FpbFamily  *entry;
	Oid			lt_op;
	Oid			found = InvalidOid;

	if (fpb_families == NULL)
	{
		HASHCTL		ctl;

		ctl.keysize = sizeof(Oid);
		ctl.entrysize = sizeof(FpbFamily);
		fpb_families = hash_create("fpbtree operator families", 64, &ctl,
								   HASH_ELEM | HASH_BLOBS);
	}

	entry = hash_search(fpb_families, &family, HASH_FIND, NULL);
	if (entry != NULL && entry->generation == fpb_amop_generation)
		return entry->btree_family;

	/*
	 * Catalog lookups may tell us of changes to pg_amop that they don't see
	 * all of; then the entry is out of date from the start.
	 */
	generation = fpb_amop_generation;
	lt_op = get_opfamily_member(family, type, type, BTLessStrategyNumber);
	if (OidIsValid(lt_op))
		found = find_btree_family(family, lt_op);

	entry = hash_search(fpb_families, &family, HASH_ENTER, NULL);
	entry->btree_family = found;
	entry->generation = generation;

	return found;
}

/*
 * Is this an fpbtree index?  The planner holds a lock on it.
 */
static bool
is_ours(IndexOptInfo *index)
{
	bool		result;
	Relation	rel;

	if (index->amcostestimate != NULL)
		return index->amcostestimate == fpb_costestimate;

	/* a partitioned index: the planner has no use for its access method */
	if (index->hypothetical)
		return false;
	rel = index_open(index->indexoid, NoLock);
	result = rel->rd_indam->amcostestimate == fpb_costestimate;
	index_close(rel, NoLock);

	return result;
}

/*
 * Present one of our indexes to the planner.
 */
static void
present_index(IndexOptInfo *index)
{
	int			npresented = 0;

	for (int i = 0; i < index->nkeycolumns; i++)
	{
		Oid			family = btree_family(index->opfamily[i],
										  index->opcintype[i]);

		if (OidIsValid(family))
		{
			index->opfamily[i] = family;
			npresented++;
		}
	}

	/*
	 * With relam, the planner asks whether operators can be looked up in the
	 * index's families as if they were btree's: to match row comparisons, and
	 * to discard equivalence classes early.
	 */
	if (FPB_ROW_COMPARE && npresented == index->nkeycolumns)
		index->relam = BTREE_AM_OID;
}

/*
 * Planner hook: the indexes of a table have been collected.
 */
static void
fpb_relation_hook(FPB_RELATION_HOOK_PARAMS)
{
	ListCell   *lc;

	if (prev_relation_hook)
		prev_relation_hook(FPB_RELATION_HOOK_ARGS);

	foreach(lc, rel->indexlist)
	{
		IndexOptInfo *index = lfirst_node(IndexOptInfo, lc);

		if (is_ours(index))
			present_index(index);
	}
}

/*
 * Called once in a backend, when the module is loaded.  That is early enough:
 * the planner loads it by opening the first index of ours, before it calls the
 * hook for that index's table.
 */
void
fpb_planner_init(void)
{
	CacheRegisterSyscacheCallback(AMOPOPID, forget_families, (Datum) 0);

	prev_relation_hook = FPB_RELATION_HOOK;
	FPB_RELATION_HOOK = fpb_relation_hook;
}
