/*-------------------------------------------------------------------------
 *
 * inspect/stats.c
 *	  SQL functions that show what an index is made of: fpbtree_stats(),
 *	  fpbtree_page(), fpbtree_nodes(); and what its prefetching is worth:
 *	  fpbtree_prefetch_stats().
 *
 * The extension's script grants them as those of pgstattuple and amcheck are
 * granted, to superusers and pg_stat_scan_tables.  Their caller need not be
 * allowed to read the table.  Whoever may not read it sees NULL instead of a
 * key.
 *
 * Pages are copied under a share lock and looked at afterwards.  A damaged one
 * raises an error.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <inttypes.h>

#include "access/amapi.h"
#include "access/htup_details.h"
#include "access/relation.h"
#include "access/sysattr.h"
#include "access/table.h"
#include "access/xlog.h"
#include "catalog/index.h"
#include "catalog/pg_class.h"
#include "catalog/pg_index.h"
#include "catalog/pg_type.h"
#include "funcapi.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "optimizer/optimizer.h"
#include "utils/acl.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rls.h"
#include "utils/syscache.h"
#include "utils/tuplestore.h"

#include "base/open_index.h"
#include "base/owner.h"
#include "base/queue_memory.h"
#include "base/shared.h"
#include "build/design.h"
#include "prefetch/prefetch.h"
#include "queue/queue.h"
#include "tree/tree.h"

PG_FUNCTION_INFO_V1(fpbtree_stats);
PG_FUNCTION_INFO_V1(fpbtree_page);
PG_FUNCTION_INFO_V1(fpbtree_nodes);
PG_FUNCTION_INFO_V1(fpbtree_prefetch_stats);

/* what a page or a node holds */
typedef struct Content
{
	int			entries;
	int			gaps;
	int			run_nodes;
	int			postings;
	IndexTuple	tuple;			/* of the last entry */
	Size		used;			/* bytes of entries */
	Size		available;		/* bytes that new entries could take */
} Content;

/*
 * Check a block number that an SQL function was called with.
 */
static BlockNumber
get_block_argument(Relation rel, int64 block)
{
	BlockNumber nblocks;

	fpb_require_pages(rel);
	nblocks = RelationGetNumberOfBlocks(rel);
	if (block < 0 || block >= nblocks)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("block number " INT64_FORMAT " is out of range", block),
				 errdetail("Index \"%s\" has %u blocks.",
						   RelationGetRelationName(rel), nblocks)));
	return (BlockNumber) block;
}

/*
 * Copy a page.  Raises an error for the metapage, and if the page's header is
 * damaged; the page may be new.
 */
static void
copy_page(const FpbIndex *ix, BlockNumber blkno, BufferAccessStrategy strategy,
		  Page copy)
{
	Buffer		buf;

	if (blkno == FPB_METAPAGE)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("block %u of index \"%s\" is its metapage",
						blkno, RelationGetRelationName(ix->rel)),
				 errhint("Use fpbtree_stats() to see what it says.")));
	buf = ReadBufferExtended(ix->rel, MAIN_FORKNUM, blkno, RBM_NORMAL, strategy);
	LockBuffer(buf, BUFFER_LOCK_SHARE);
	if (!PageIsNew(BufferGetPage(buf)))
		fpb_checkpage(ix, buf);
	memcpy(copy, BufferGetPage(buf), BLCKSZ);
	fpb_relbuf(buf);
}

/*
 * Memory for a copy of a page.
 */
static Page
alloc_page(void)
{
	return palloc_aligned(BLCKSZ, PG_IO_ALIGN_SIZE, 0);
}

/*
 * Count what a faultless page holds.
 */
static void
count_page(const FpbIndex *ix, Page page, Content *content)
{
	FpbPageHeader *hdr = FpbHdr(page);
	FpbNodeInfo info;

	memset(content, 0, sizeof(*content));
	for (int n = 0; fpb_node_info(ix, page, n, &info); n++)
	{
		content->entries += info.entries;
		content->gaps += info.gaps;
		content->run_nodes += info.runs;
		content->postings += info.postings;
		content->used += info.used;
		content->available += info.available;
	}
	content->available += hdr->pd.pd_upper - hdr->pd.pd_lower;
}

/*
 * Raise an error if the structure of a copied page is damaged.
 */
static void
require_sound_page(const FpbIndex *ix, BlockNumber blkno, Page page)
{
	const char *fault = fpb_page_fault(ix, page);

	if (fault != NULL)
		fpb_report_damage(ix->rel, blkno, fault);
}

/*
 * A key's values as text, in the form that errors about duplicates have, and
 * its TID if it has one.  Runs output functions of types, so the caller has
 * become the index's owner.
 */
static Datum
key_text(const FpbIndex *ix, const FpbKey *key, bool pivot)
{
	Datum		values[INDEX_MAX_KEYS];
	bool		isnull[INDEX_MAX_KEYS];
	FpbTupleSpace space;
	ItemPointerData tid;
	StringInfoData buf;
	int			natts = pivot ? ix->nkeyatts : ix->natts;

	if (!fpb_is_word(ix))
	{
		if (pivot)
			natts = fpb_pivot_natts(ix, key->tuple);
		fpb_tuple_datums(ix, fpb_whole_tuple(ix, key, &space), natts, values, isnull);
	}
	else if (pivot)
		fpb_word_fence_datums(ix, key, true, values, isnull);
	else
		fpb_key_datums(ix, key, &space, values, isnull);

	initStringInfo(&buf);
	appendStringInfoChar(&buf, '(');
	for (int i = 0; i < natts; i++)
	{
		if (i > 0)
			appendStringInfoString(&buf, ", ");
		if (isnull[i])
			appendStringInfoString(&buf, "null");
		else
		{
			Oid			type = ix->rel->rd_opcintype[i];
			Oid			output;
			bool		is_varlena;

			/* included columns have no operator class */
			if (i >= ix->nkeyatts)
				type = TupleDescAttr(RelationGetDescr(ix->rel), i)->atttypid;
			getTypeOutputInfo(type, &output, &is_varlena);
			appendStringInfoString(&buf, OidOutputFunctionCall(output, values[i]));
		}
	}
	appendStringInfoChar(&buf, ')');

	fpb_tail_tid(key->tail, &tid);
	if (ItemPointerGetOffsetNumberNoCheck(&tid) != InvalidOffsetNumber)
		appendStringInfo(&buf, " (%u,%u)", ItemPointerGetBlockNumber(&tid),
						 ItemPointerGetOffsetNumber(&tid));
	return PointerGetDatum(cstring_to_text_with_len(buf.data, buf.len));
}

/*
 * The descriptor of the record that the SQL function being called returns.
 */
static TupleDesc
get_result_desc(FunctionCallInfo fcinfo, int ncolumns)
{
	TupleDesc	desc;

	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	if (desc->natts != ncolumns)
		elog(ERROR, "the function returns %d columns, its SQL declaration says %d",
			 ncolumns, desc->natts);
	return BlessTupleDesc(desc);
}

/* ------------------------------------------------------------------------
 * fpbtree_stats
 * ------------------------------------------------------------------------
 */

/* the columns of fpbtree_stats, in the order of its SQL declaration */
typedef enum StatsColumn
{
	STATS_VERSION,
	STATS_FORM,
	STATS_LAYOUT,
	STATS_LEAF_LINES,
	STATS_INNER_LINES,
	STATS_NODE_FORMAT,
	STATS_NODE_SEARCH,
	STATS_NODE_PREFETCH,
	STATS_ROOT_BLOCK,
	STATS_LEVELS,
	STATS_BLOCKS,
	STATS_LEAF_PAGES,
	STATS_INNER_PAGES,
	STATS_DELETED_PAGES,
	STATS_NEW_PAGES,
	STATS_UNFINISHED_SPLITS,
	STATS_ENTRIES,
	STATS_GAPS,
	STATS_RUN_NODES,
	STATS_POSTINGS,
	STATS_USED_BYTES,
	STATS_FREE_BYTES,
	STATS_LEAF_DENSITY,
	STATS_LEAF_FRAGMENTATION,
	STATS_OPERATION_QUEUE,
	STATS_QUEUE_LIMIT,
	STATS_QUEUE_PAGES,
	STATS_QUEUE_LEAF_PAGES,
	STATS_QUEUE_ENTRIES,
	STATS_QUEUE_VISITS,
	STATS_QUEUE_MOVED,
	STATS_QUEUE_VISIT_ENTRIES,
	STATS_QUEUE_CHECKPOINT_ENTRIES,
	STATS_QUEUE_STALLS,
	STATS_QUEUE_LONGEST_STALL,
	STATS_COLUMNS
} StatsColumn;

/* what the pages of an index hold; leaves are those of the queue, too */
typedef struct PageCounts
{
	int64		leaf_pages;
	int64		inner_pages;
	int64		deleted_pages;
	int64		new_pages;
	int64		unfinished_splits;
	int64		entries;
	int64		gaps;
	int64		run_nodes;
	int64		postings;
	int64		used_bytes;
	int64		free_bytes;
	int64		links;			/* of main leaves to their right siblings */
	int64		jumps;			/* those to another block than the next */
	int64		queue_leaf_pages;
	int64		queue_entries;
} PageCounts;

/*
 * Count what a faultless leaf holds.
 */
static void
count_leaf(const FpbIndex *ix, BlockNumber blkno, Page page, PageCounts *counts)
{
	Content		content;

	count_page(ix, page, &content);
	counts->leaf_pages++;
	counts->entries += content.entries;
	counts->gaps += content.gaps;
	counts->run_nodes += content.run_nodes;
	counts->postings += content.postings;
	counts->used_bytes += content.used;
	counts->free_bytes += content.available;
	if (FpbPageIsQueue(page))
	{
		counts->queue_leaf_pages++;
		counts->queue_entries += content.entries;
	}
	else if (!FpbPageIsRightmost(page))
	{
		counts->links++;
		if (FpbHdr(page)->right != blkno + 1)
			counts->jumps++;
	}
}

/*
 * Read so many pages of an index, each under a lock of its own, and count what
 * they hold.  What changes meanwhile may be counted or not.
 */
static void
count_pages(const FpbIndex *ix, BlockNumber nblocks, PageCounts *counts)
{
	BufferAccessStrategy strategy = GetAccessStrategy(BAS_BULKREAD);
	Page		page = alloc_page();

	memset(counts, 0, sizeof(*counts));
	for (BlockNumber blkno = FPB_METAPAGE + 1; blkno < nblocks; blkno++)
	{
		CHECK_FOR_INTERRUPTS();
		copy_page(ix, blkno, strategy, page);
		if (!PageIsNew(page) && FpbPageSplitIncomplete(page))
			counts->unfinished_splits++;
		if (PageIsNew(page))
			counts->new_pages++;
		else if (FpbPageIsDeleted(page))
			counts->deleted_pages++;
		else if (!FpbPageIsLeaf(page))
			counts->inner_pages++;
		else
		{
			require_sound_page(ix, blkno, page);
			count_leaf(ix, blkno, page, counts);
		}
	}
	FreeAccessStrategy(strategy);
}

/*
 * Fill the columns about the index's form and design.
 */
static void
tell_design(const FpbIndex *ix, Datum *values)
{
	int			leaf_lines;
	int			inner_lines;

	fpb_layout_lines(ix, &leaf_lines, &inner_lines);
	values[STATS_VERSION] = Int32GetDatum(FPB_VERSION);
	values[STATS_FORM] = CStringGetTextDatum(fpb_form_name(ix->form));
	values[STATS_LAYOUT] = CStringGetTextDatum(fpb_layout_name(ix->layout->id));
	values[STATS_LEAF_LINES] = Int32GetDatum(leaf_lines);
	values[STATS_INNER_LINES] = Int32GetDatum(inner_lines);
	values[STATS_NODE_FORMAT] =
		CStringGetTextDatum(fpb_node_format_name(ix->csb ? FPB_NODES_CSB : FPB_NODES_NUMBERED));
	values[STATS_NODE_SEARCH] =
		CStringGetTextDatum(fpb_node_search_name(ix->count_most < FPB_COUNT_MOST ?
												 FPB_SEARCH_BISECTING : FPB_SEARCH_COUNTING));
	values[STATS_NODE_PREFETCH] = BoolGetDatum(ix->prefetch);
}

/*
 * Fill the columns about the index's pages, of which there are so many.
 */
static void
tell_pages(const FpbIndex *ix, BlockNumber nblocks, const PageCounts *counts,
		   Datum *values, bool *nulls)
{
	double		room = (double) counts->leaf_pages * (BLCKSZ - sizeof(FpbPageHeader));

	values[STATS_ROOT_BLOCK] = Int64GetDatum(ix->root);
	values[STATS_LEVELS] = Int32GetDatum(ix->level + 1);
	values[STATS_BLOCKS] = Int64GetDatum(nblocks);
	values[STATS_LEAF_PAGES] = Int64GetDatum(counts->leaf_pages);
	values[STATS_INNER_PAGES] = Int64GetDatum(counts->inner_pages);
	values[STATS_DELETED_PAGES] = Int64GetDatum(counts->deleted_pages);
	values[STATS_NEW_PAGES] = Int64GetDatum(counts->new_pages);
	values[STATS_UNFINISHED_SPLITS] = Int64GetDatum(counts->unfinished_splits);
	values[STATS_ENTRIES] = Int64GetDatum(counts->entries);
	values[STATS_GAPS] = Int64GetDatum(counts->gaps);
	values[STATS_RUN_NODES] = Int64GetDatum(counts->run_nodes);
	values[STATS_POSTINGS] = Int64GetDatum(counts->postings);
	values[STATS_USED_BYTES] = Int64GetDatum(counts->used_bytes);
	values[STATS_FREE_BYTES] = Int64GetDatum(counts->free_bytes);

	nulls[STATS_LEAF_DENSITY] = counts->leaf_pages == 0;
	values[STATS_LEAF_DENSITY] =
		Float8GetDatum(counts->leaf_pages == 0 ? 0.0 : 100.0 * counts->used_bytes / room);
	nulls[STATS_LEAF_FRAGMENTATION] = counts->links == 0;
	values[STATS_LEAF_FRAGMENTATION] =
		Float8GetDatum(counts->links == 0 ? 0.0 : 100.0 * counts->jumps / counts->links);
}

/*
 * Fill the columns about what shared memory has of the operation queue.  They
 * are NULL if the index has no slot there, or if nothing has been moved yet.
 */
static void
tell_queue_activity(const FpbIndex *ix, int64 main_leaf_pages, Datum *values, bool *nulls)
{
	FpbShared  *shared = fpb_shared_of(RelationGetRelid(ix->rel));
	uint64		visits = 0;
	uint64		moved = 0;
	double		checkpoint_moved = -1;

	if (shared != NULL)
	{
		visits = pg_atomic_read_u64(&shared->visits);
		moved = pg_atomic_read_u64(&shared->moved);
		checkpoint_moved = fpb_shared_checkpoint_moved(shared);
		values[STATS_QUEUE_STALLS] = Int64GetDatum(pg_atomic_read_u64(&shared->stalls));
		values[STATS_QUEUE_LONGEST_STALL] =
			Float8GetDatum(pg_atomic_read_u64(&shared->longest_stall) / 1000.0);
	}
	values[STATS_QUEUE_VISITS] = Int64GetDatum(visits);
	values[STATS_QUEUE_MOVED] = Int64GetDatum(moved);
	if (visits > 0)
		values[STATS_QUEUE_VISIT_ENTRIES] = Float8GetDatum((double) moved / visits);
	if (checkpoint_moved >= 0 && main_leaf_pages > 0)
		values[STATS_QUEUE_CHECKPOINT_ENTRIES] = Float8GetDatum(checkpoint_moved / main_leaf_pages);

	nulls[STATS_QUEUE_VISITS] = shared == NULL;
	nulls[STATS_QUEUE_MOVED] = shared == NULL;
	nulls[STATS_QUEUE_VISIT_ENTRIES] = visits == 0;
	nulls[STATS_QUEUE_CHECKPOINT_ENTRIES] = checkpoint_moved < 0 || main_leaf_pages <= 0;
	nulls[STATS_QUEUE_STALLS] = shared == NULL;
	nulls[STATS_QUEUE_LONGEST_STALL] = shared == NULL;
}

/*
 * Fill the columns about the operation queue of an index of so many blocks.
 */
static void
tell_queue(const FpbIndex *ix, BlockNumber nblocks, const PageCounts *counts,
		   Datum *values, bool *nulls)
{
	FpbQueueMode mode = ix->may_queue ? fpb_queue_mode(ix->rel) : FPB_QUEUE_OFF;

	values[STATS_OPERATION_QUEUE] = CStringGetTextDatum(fpb_queue_mode_name(mode));
	nulls[STATS_QUEUE_LIMIT] = !ix->may_queue;
	values[STATS_QUEUE_LIMIT] =
		Int64GetDatum(ix->may_queue ?
					  (int64) fpb_tier_limit(ix->rel, fpb_shared_of(RelationGetRelid(ix->rel)),
											 nblocks, 1) : 0);
	values[STATS_QUEUE_PAGES] = Int64GetDatum(fpb_queue_pages(ix));
	values[STATS_QUEUE_LEAF_PAGES] = Int64GetDatum(counts->queue_leaf_pages);
	values[STATS_QUEUE_ENTRIES] = Int64GetDatum(counts->queue_entries);
	tell_queue_activity(ix, counts->leaf_pages - counts->queue_leaf_pages, values, nulls);
}

/*
 * fpbtree_stats(index regclass) returns record
 *
 * Reads every page of the index.  All columns are NULL if it has none yet, as
 * one that is being built: a query about all indexes must not fail because of
 * one of them.
 */
Datum
fpbtree_stats(PG_FUNCTION_ARGS)
{
	TupleDesc	desc = get_result_desc(fcinfo, STATS_COLUMNS);
	Relation	rel = fpb_open_index(PG_GETARG_OID(0), AccessShareLock);
	FpbIndex	ix;
	BlockNumber nblocks;
	PageCounts	counts;
	Datum		values[STATS_COLUMNS] = {0};
	bool		nulls[STATS_COLUMNS] = {0};

	if (!fpb_has_pages(rel))
		memset(nulls, true, sizeof(nulls));
	else
	{
		fpb_index_open(&ix, rel);
		fpb_index_refresh(&ix);
		nblocks = RelationGetNumberOfBlocks(rel);
		count_pages(&ix, nblocks, &counts);
		tell_design(&ix, values);
		tell_pages(&ix, nblocks, &counts, values, nulls);
		tell_queue(&ix, nblocks, &counts, values, nulls);
	}
	relation_close(rel, AccessShareLock);
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(desc, values, nulls)));
}

/* ------------------------------------------------------------------------
 * fpbtree_page and fpbtree_nodes
 * ------------------------------------------------------------------------
 */

/* the columns of fpbtree_page, in the order of its SQL declaration */
typedef enum PageColumn
{
	PAGE_KIND,
	PAGE_LEVEL,
	PAGE_FLAGS,
	PAGE_RIGHT_BLOCK,
	PAGE_NODES,
	PAGE_NODES_ALLOCATED,
	PAGE_NODES_MOST,
	PAGE_ENTRIES,
	PAGE_GAPS,
	PAGE_LOWER,
	PAGE_UPPER,
	PAGE_LOW_FENCE,
	PAGE_HIGH_FENCE,
	PAGE_COLUMNS
} PageColumn;

/* the columns of fpbtree_nodes, likewise */
typedef enum NodeColumn
{
	NODE_DIR,
	NODE_NODE,
	NODE_CODEC,
	NODE_ENTRIES,
	NODE_GAPS,
	NODE_CHILD_HINTS,
	NODE_HEAD,
	NODE_FIRST_ENTRY,
	NODE_COLUMNS
} NodeColumn;

/*
 * The flags of a page as an array of text.
 */
static Datum
flags_array(int flags, int tree)
{
	static const struct
	{
		int			flag;
		const char *name;
	}			names[] = {
		{FPB_LEAF, "leaf"},
		{FPB_DELETED, "deleted"},
		{FPB_INCOMPLETE_SPLIT, "incomplete_split"},
		{FPB_LEFTMOST, "leftmost"},
		{FPB_RIGHTMOST, "rightmost"},
		{FPB_HIGH_ELIDED, "high_elided"}
	};
	Datum		elements[lengthof(names) + 2];
	int			n = 0;

	for (int i = 0; i < lengthof(names); i++)
		if (flags & names[i].flag)
			elements[n++] = CStringGetTextDatum(names[i].name);
	if (tree != FPB_MAIN_TREE)
		elements[n++] = CStringGetTextDatum("queue");
	if (tree > 1)
		elements[n++] = CStringGetTextDatum(psprintf("tier_%d", tree));
	return PointerGetDatum(construct_array_builtin(elements, n, TEXTOID));
}

/*
 * Fill the columns of fpbtree_page for a copied page that is not new.  Raises
 * an error if its structure is damaged.  Fences are NULL unless the caller may
 * read keys.
 */
static void
tell_page(const FpbIndex *ix, BlockNumber blkno, Page page, bool may_read,
		  Datum *values, bool *nulls)
{
	FpbPageHeader *hdr = FpbHdr(page);
	Content		content;
	FpbPageInfo info;
	FpbKey		fence;

	require_sound_page(ix, blkno, page);
	count_page(ix, page, &content);
	fpb_page_info(ix, page, &info);

	values[PAGE_KIND] = CStringGetTextDatum(FpbPageIsDeleted(page) ? "deleted" :
											FpbPageIsLeaf(page) ? "leaf" : "inner");
	values[PAGE_LEVEL] = Int32GetDatum(hdr->level);
	values[PAGE_FLAGS] = flags_array(hdr->flags, FpbPageTree(page));
	nulls[PAGE_RIGHT_BLOCK] = FpbPageIsRightmost(page);
	values[PAGE_RIGHT_BLOCK] = Int64GetDatum(hdr->right);
	values[PAGE_NODES] = Int32GetDatum(info.nodes);
	values[PAGE_NODES_ALLOCATED] = Int32GetDatum(info.allocated);
	values[PAGE_NODES_MOST] = Int32GetDatum(info.capacity);
	values[PAGE_ENTRIES] = Int32GetDatum(content.entries);
	values[PAGE_GAPS] = Int32GetDatum(content.gaps);
	values[PAGE_LOWER] = Int32GetDatum(hdr->pd.pd_lower);
	values[PAGE_UPPER] = Int32GetDatum(hdr->pd.pd_upper);

	nulls[PAGE_LOW_FENCE] = FpbPageIsLeftmost(page) || !may_read;
	if (!nulls[PAGE_LOW_FENCE])
	{
		fpb_page_low(ix, page, &fence);
		values[PAGE_LOW_FENCE] = key_text(ix, &fence, true);
	}
	nulls[PAGE_HIGH_FENCE] = FpbPageIsRightmost(page) || FpbPageHighElided(page) || !may_read;
	if (!nulls[PAGE_HIGH_FENCE])
	{
		fpb_page_high(ix, page, &fence);
		values[PAGE_HIGH_FENCE] = key_text(ix, &fence, true);
	}
}

/*
 * fpbtree_page(index regclass, block bigint) returns record
 */
Datum
fpbtree_page(PG_FUNCTION_ARGS)
{
	TupleDesc	desc = get_result_desc(fcinfo, PAGE_COLUMNS);
	Relation	rel = fpb_open_index(PG_GETARG_OID(0), AccessShareLock);
	BlockNumber blkno = get_block_argument(rel, PG_GETARG_INT64(1));
	Page		page = alloc_page();
	bool		may_read = fpb_may_read_keys(rel);
	FpbCaller	caller;
	FpbIndex	ix;
	Datum		values[PAGE_COLUMNS] = {0};
	bool		nulls[PAGE_COLUMNS] = {0};

	fpb_become_owner(rel, &caller);
	fpb_index_open(&ix, rel);
	copy_page(&ix, blkno, NULL, page);
	if (PageIsNew(page))
	{
		memset(nulls, true, sizeof(nulls));
		nulls[PAGE_KIND] = false;
		values[PAGE_KIND] = CStringGetTextDatum("new");
	}
	else
		tell_page(&ix, blkno, page, may_read, values, nulls);
	fpb_become_caller(&caller);
	relation_close(rel, AccessShareLock);
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(desc, values, nulls)));
}

/*
 * fpbtree_nodes(index regclass, block bigint) returns setof record
 *
 * The in-page nodes of a page, in key order.
 */
Datum
fpbtree_nodes(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	Relation	rel = fpb_open_index(PG_GETARG_OID(0), AccessShareLock);
	BlockNumber blkno = get_block_argument(rel, PG_GETARG_INT64(1));
	Page		page = alloc_page();
	bool		may_read = fpb_may_read_keys(rel);
	FpbCaller	caller;
	FpbIndex	ix;
	FpbNodeInfo info;

	InitMaterializedSRF(fcinfo, 0);
	fpb_become_owner(rel, &caller);
	fpb_index_open(&ix, rel);
	copy_page(&ix, blkno, NULL, page);
	if (!PageIsNew(page))
	{
		require_sound_page(&ix, blkno, page);
		for (int n = 0; fpb_node_info(&ix, page, n, &info); n++)
		{
			Datum		values[NODE_COLUMNS] = {0};
			bool		nulls[NODE_COLUMNS] = {0};

			values[NODE_DIR] = Int32GetDatum(n);
			values[NODE_NODE] = Int32GetDatum(info.number);
			values[NODE_CODEC] = CStringGetTextDatum(info.codec);
			values[NODE_ENTRIES] = Int32GetDatum(info.entries);
			values[NODE_GAPS] = Int32GetDatum(info.gaps);
			values[NODE_CHILD_HINTS] = Int32GetDatum(info.child_hints);
			values[NODE_HEAD] = PointerGetDatum(cstring_to_text(psprintf("%016" PRIx64, info.head)));
			nulls[NODE_HEAD] = !may_read;	/* the beginning of a key */
			nulls[NODE_FIRST_ENTRY] = info.entries == 0 || !may_read;
			if (!nulls[NODE_FIRST_ENTRY])
				values[NODE_FIRST_ENTRY] = key_text(&ix, &info.first.key, !FpbPageIsLeaf(page));
			tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
		}
	}
	fpb_become_caller(&caller);
	relation_close(rel, AccessShareLock);
	return (Datum) 0;
}

/* ------------------------------------------------------------------------
 * fpbtree_prefetch_stats
 * ------------------------------------------------------------------------
 */

/* the columns of fpbtree_prefetch_stats: three for index pages, then for heap pages */
typedef enum PrefetchColumn
{
	PREFETCH_PREFETCHED,
	PREFETCH_USED,
	PREFETCH_WASTED,
	PREFETCH_KIND_COLUMNS,
	PREFETCH_COLUMNS = 2 * PREFETCH_KIND_COLUMNS
} PrefetchColumn;

/*
 * fpbtree_prefetch_stats(index regclass) returns record
 *
 * Tells of index pages, then of heap pages, how many scans and VACUUM have
 * prefetched since the server was started, and how many of them were used or
 * not.
 */
Datum
fpbtree_prefetch_stats(PG_FUNCTION_ARGS)
{
	TupleDesc	desc = get_result_desc(fcinfo, PREFETCH_COLUMNS);
	Relation	rel = fpb_open_index(PG_GETARG_OID(0), AccessShareLock);
	Datum		values[PREFETCH_COLUMNS];
	bool		nulls[PREFETCH_COLUMNS] = {0};

	for (int heap = 0; heap <= 1; heap++)
	{
		Datum	   *columns = values + heap * PREFETCH_KIND_COLUMNS;
		FpbPrefetchCounts counts;

		fpb_prefetch_total(rel, heap != 0, &counts);
		columns[PREFETCH_PREFETCHED] = Int64GetDatum((int64) counts.prefetched);
		columns[PREFETCH_USED] = Int64GetDatum((int64) counts.used);
		columns[PREFETCH_WASTED] = Int64GetDatum((int64) counts.wasted);
	}
	relation_close(rel, AccessShareLock);
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(desc, values, nulls)));
}
