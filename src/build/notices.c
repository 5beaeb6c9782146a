/*-------------------------------------------------------------------------
 *
 * build/notices.c
 *	  Messages about an index that is not as its options say, or that takes
 *	  something from its table.
 *
 * It is no error if an index can't be as an option says: a definition must not
 * fail on a server with pages of another size, nor when an index becomes
 * unique.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_class.h"
#include "catalog/pg_index.h"
#include "nodes/pg_list.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/relcache.h"
#include "utils/syscache.h"

#include "base/compat.h"
#include "build/build.h"
#include "page/layout.h"
#include "tree/buffers.h"

/*
 * Tell if an index can't have the operation queue that options ask for, which
 * may not be in force yet.  No lock on a page is held.
 */
void
fpb_report_queue_options(Relation index, const FpbOptions *options)
{
	bool		temporary = index->rd_rel->relpersistence == RELPERSISTENCE_TEMP;
	const char *option = NULL;

	if (options == NULL || fpb_may_queue(index) ||
		(RELKIND_HAS_STORAGE(index->rd_rel->relkind) && fpb_built_for_queue(index)))
		return;
	if (!temporary && options->operation_queue == FPB_QUEUE_ON)
	{
		ereport(NOTICE,
				(errmsg("option \"%s\" of index \"%s\" takes effect when it is built anew",
						"operation_queue", RelationGetRelationName(index)),
				 errdetail("A unique index has an operation queue only if it is built with \"operation_queue\" = on."),
				 errhint("REINDEX INDEX CONCURRENTLY %s builds it anew.",
						 quote_qualified_identifier(get_namespace_name(RelationGetNamespace(index)),
													RelationGetRelationName(index)))));
		return;
	}
	if (options->opq_size > 0 && options->operation_queue != FPB_QUEUE_OFF)
		option = "opq_size";
	if (options->queue_tiers > 0 && options->operation_queue != FPB_QUEUE_OFF)
		option = "queue_tiers";
	if (options->operation_queue != FPB_UNNAMED &&
		options->operation_queue != FPB_QUEUE_OFF)
		option = "operation_queue";
	if (option != NULL)
		ereport(NOTICE,
				(errmsg("option \"%s\" has no effect on index \"%s\"",
						option, RelationGetRelationName(index)),
				 temporary ?
				 errdetail("Indexes of temporary tables have no operation queue.") :
				 errdetail("A unique index has an operation queue only if it is built with \"operation_queue\" = on.")));
}

/*
 * Tell in which ways the shape of an index's pages differs from its options.
 */
static void
report_shape(const FpbBuild *build)
{
	const FpbOptions *options = (const FpbOptions *) build->index->rd_options;
	const FpbIndex *ix = &build->ix;
	const char *name = RelationGetRelationName(build->index);
	int			leaf_lines;
	int			inner_lines;

	if (options == NULL)
		return;

	fpb_layout_lines(ix, &leaf_lines, &inner_lines);
	/* 1 has always stood for 2 */
	if (options->design.leaf_lines > 1 && options->design.leaf_lines != leaf_lines)
		ereport(NOTICE,
				(errmsg("\"leaf_lines\" of index \"%s\" is %d, not %d",
						name, leaf_lines, options->design.leaf_lines),
				 errdetail("This is the nearest width that pages of %d bytes have room for with such keys.",
						   BLCKSZ)));
	if (options->design.layout == FPB_CACHE_FIRST && !fpb_is_word(ix))
		ereport(NOTICE,
				(errmsg("index \"%s\" has the pages of layout \"%s\"",
						name, fpb_layout_name(FPB_DISK_FIRST)),
				 errdetail("Its keys are not stored as integers, which layout \"%s\" is for.",
						   fpb_layout_name(FPB_CACHE_FIRST))));
	if (options->design.node_format != FPB_UNNAMED &&
		build->decision.design.layout == FPB_MICRO_INDEX)
		ereport(NOTICE,
				(errmsg("option \"%s\" has no effect on index \"%s\"",
						"node_format", name),
				 errdetail("Pages of layout \"%s\" have no nodes.",
						   fpb_layout_name(FPB_MICRO_INDEX))));
}

/*
 * Tell that what an index is to be best at has made no difference to it, for
 * want of figures.
 */
static void
report_purpose(const FpbBuild *build)
{
	const FpbOptions *options = (const FpbOptions *) build->index->rd_options;

	if (options == NULL || options->purpose == FPB_UNNAMED ||
		build->decision.measured)
		return;
	ereport(NOTICE,
			(errmsg("option \"%s\" has no effect on index \"%s\"",
					"optimize_for", RelationGetRelationName(build->index)),
			 RelationUsesLocalBuffers(build->index) ?
			 errdetail("Indexes of temporary tables go by nothing that has been measured.") :
			 (errdetail("No index of such keys and with the other options has been measured."),
			  errhint("If fpbtree_tune() has not been called in this database, call it, and build the index anew."))));
}

/*
 * Does the table have another unique index that is not a btree?  Then this one
 * makes no difference to ON CONFLICT; it may be about to take the other's
 * place.
 */
static bool
has_another(Relation heap, Relation index)
{
	List	   *oids = RelationGetIndexList(heap);
	bool		found = false;

	foreach_oid(oid, oids)
	{
		HeapTuple	class = SearchSysCache1(RELOID, ObjectIdGetDatum(oid));
		HeapTuple	indextup = SearchSysCache1(INDEXRELID, ObjectIdGetDatum(oid));

		if (HeapTupleIsValid(class) && HeapTupleIsValid(indextup) &&
			oid != RelationGetRelid(index) &&
			((Form_pg_index) GETSTRUCT(indextup))->indisunique &&
			((Form_pg_class) GETSTRUCT(class))->relam != BTREE_AM_OID)
			found = true;
		if (HeapTupleIsValid(class))
			ReleaseSysCache(class);
		if (HeapTupleIsValid(indextup))
			ReleaseSysCache(indextup);
	}
	list_free(oids);
	return found;
}

/*
 * Tell what a user should know of an index that has been built.  Nothing if it
 * has only been built anew for a table that has become empty, because TRUNCATE
 * may come often.  No lock on a page is held.
 */
void
fpb_report_build(const FpbBuild *build)
{
	Relation	index = build->index;
	bool		is_new = index->rd_createSubid != InvalidSubTransactionId ||
		!index->rd_index->indisready;

	if (is_new || build->indtuples > 0)
	{
		fpb_report_queue_options(index, (const FpbOptions *) index->rd_options);
		report_shape(build);
		report_purpose(build);
	}

	if (FPB_CONFLICT_NEEDS_BTREE && is_new && build->unique &&
		build->heap->rd_rel->relkind == RELKIND_RELATION &&
		!has_another(build->heap, index))
		ereport(WARNING,
				(errmsg("INSERT ... ON CONFLICT will fail for table \"%s\"",
						RelationGetRelationName(build->heap)),
				 errdetail("For tables with a unique index of another access method than btree, PostgreSQL %s raises \"unexpected non-btree speculative unique index\", whatever the arbiter.",
						   PG_MAJORVERSION),
				 errhint("If ON CONFLICT is used on the table, drop index \"%s\", or make it without UNIQUE and leave uniqueness to an index of btree.",
						 RelationGetRelationName(index))));
}
