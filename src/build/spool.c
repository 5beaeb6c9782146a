/*-------------------------------------------------------------------------
 *
 * build/spool.c
 *	  The start of each process of a build, and what it does with a row of the
 *	  table.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "optimizer/plancat.h"
#include "utils/memutils.h"

#include "build/build.h"
#include "build/design.h"
#include "page/layout.h"

/* the memory context for a row is reset when it has more bytes than these */
#define ROW_MEMORY		(64 * 1024)

/*
 * Decide on the design of an index that is about to be built.  This calls
 * support functions of operator classes, so the caller has become the index's
 * owner.
 */
static void
decide(const FpbIndex *ix, FpbDecision *decision)
{
	FpbPurpose	purpose = fpb_wanted_design(ix->rel, &decision->design);

	decision->measured = fpb_complete_design(ix->form, purpose,
											 !RelationUsesLocalBuffers(ix->rel),
											 &decision->design);
	decision->one_key = fpb_may_share_keys(ix);
}

/*
 * Set up what a participant needs to know of the build.  The leader passes no
 * decision and makes it; the others pass the leader's, so that all agree on
 * the index.
 */
void
fpb_build_init(FpbBuild *build, Relation heap, Relation index, bool unique,
			   bool nulls_not_distinct, const FpbDecision *decision)
{
	const FpbDesign *design = &build->decision.design;

	memset(build, 0, sizeof(FpbBuild));
	fpb_index_describe(&build->ix, index);
	if (decision != NULL)
		build->decision = *decision;
	else
		decide(&build->ix, &build->decision);
	build->ix.one_key = build->decision.one_key;
	build->ix.layout = fpb_layout_routine(design->layout);
	build->ix.csb = design->node_format == FPB_NODES_CSB;
	fpb_layout_search(&build->ix, design->node_search == FPB_SEARCH_BISECTING,
					  design->node_prefetch);
	fpb_layout_choose(&build->ix, design->leaf_lines);
	build->heap = heap;
	build->index = index;
	build->unique = unique;
	build->nulls_not_distinct = nulls_not_distinct;
	build->rowcxt = AllocSetContextCreate(CurrentMemoryContext,
										  "fpbtree build row",
										  ALLOCSET_DEFAULT_SIZES);
}

/*
 * How many rows a table probably has.
 */
double
fpb_expected_rows(Relation heap)
{
	BlockNumber pages;
	double		tuples;
	double		allvisfrac;

	estimate_rel_size(heap, NULL, &pages, &tuples, &allvisfrac);
	return tuples;
}

/*
 * Take a row of the table scan: IndexBuildCallback.
 */
void
fpb_build_callback(Relation index pg_attribute_unused(), ItemPointer tid, Datum *values,
				   bool *isnull, bool tupleIsAlive, void *state)
{
	FpbBuild   *build = (FpbBuild *) state;
	FpbSort    *sort = build->sort;
	FpbKey		key;

	if (!tupleIsAlive && build->dead)
	{
		sort = build->dead;
		build->havedead = true;
	}

	if (fpb_is_word(&build->ix))
	{
		fpb_key_form(&build->ix, values, isnull, tid, &key);
		fpb_sort_put(sort, &key);
	}
	else
	{
		MemoryContext old = MemoryContextSwitchTo(build->rowcxt);

		fpb_key_form(fpb_sort_index(sort), values, isnull, tid, &key);
		fpb_check_key_size(&build->ix, build->heap, &key);
		fpb_sort_put(sort, &key);
		pfree(key.tuple);
		MemoryContextSwitchTo(old);
		if (MemoryContextMemAllocated(build->rowcxt, false) > ROW_MEMORY)
			MemoryContextReset(build->rowcxt);
	}
	build->indtuples += 1;
}
