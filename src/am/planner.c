/*-------------------------------------------------------------------------
 *
 * am/planner.c
 *	  Makes the planner use an fpbtree index for all that it uses a btree for.
 *
 * Some places of the planner know an operator family or an access method by
 * its OID: LIKE with a *_pattern_ops family, subnets with network_ops (17),
 * proofs of uniqueness (17), row comparisons.
 *
 * fpbtree_clone_opclass makes operator families of fpbtree that have the same
 * members as btree's.  Such a family means the same to the planner.  So, when
 * the planner has collected a table's indexes, we put the btree family in the
 * place of ours.  The executor goes by the index's own catalog entries, and
 * finds the same operators there.
 *
 * A family that differs in any member is left as it is.  That costs
 * optimizations, but never correctness.
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

/* the btree family for an operator family of fpbtree, remembered */
typedef struct FpbFamily
{
	Oid			family;			/* hash key */
	Oid			btree_family;	/* with the same members, or InvalidOid */
	uint64		generation;		/* of pg_amop when this was looked up */
} FpbFamily;

static HTAB *fpb_families = NULL;

/* incremented whenever pg_amop changes; no entry is made with 0 */
static uint64 fpb_amop_generation = 1;

static FPB_RELATION_HOOK_TYPE prev_relation_hook = NULL;

/*
 * Syscache callback: pg_amop has changed, so what is remembered may be wrong.
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
 * Find the btree family that has the same operators as a family, of which
 * lt_op is a "<" operator.  InvalidOid if there is none.
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
 * find_btree_family, but remembered.  type is the input type of an operator
 * class of the family, which has a "<" operator for that type.
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
	 * Changes to pg_amop may be announced during the catalog lookups, which
	 * may not see all of them.  Then the entry is out of date from the start.
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
 * Present an fpbtree index to the planner.
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
	 * The planner looks at relam to know whether it may look up operators in
	 * the index's families as in btree's.  It does that to match row
	 * comparisons, and to discard equivalence classes early.
	 */
	if (FPB_ROW_COMPARE && npresented == index->nkeycolumns)
		index->relam = BTREE_AM_OID;
}

/*
 * The planner's hook after it has collected the indexes of a table.
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
 * Install the hook.  Called once in a backend, when the module is loaded.
 * That is early enough: the planner opens a table's indexes, which loads the
 * module, before it calls the hook for the table.
 */
void
fpb_planner_init(void)
{
	CacheRegisterSyscacheCallback(AMOPOPID, forget_families, (Datum) 0);

	prev_relation_hook = FPB_RELATION_HOOK;
	FPB_RELATION_HOOK = fpb_relation_hook;
}
