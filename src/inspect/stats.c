/*-------------------------------------------------------------------------
 *
 * inspect/stats.c
 *	  SQL functions that show what an index is made of: fpbtree_stats(),
 *	  fpbtree_page(), fpbtree_nodes(); and how it fares: fpbtree_prefetch_stats().
 *
 * The extension's script grants them as pgstattuple's and amcheck's functions
 * are granted: to superusers and pg_stat_scan_tables.  These need not be
 * allowed to read the table: where a key would be shown, others see NULL.
 *
 * Pages are copied under a share lock and looked at afterwards; a damaged one
 * is reported.
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
	int			one_key_nodes;
	int			postings;
	IndexTuple	tuple;			/* of the last entry */
	Size		used;			/* bytes of entries */
	Size		available;		/* bytes that new entries could take */
} Content;

/*
 * Take a block number from SQL.
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
 * Copy a page; its header has been checked unless the page is new.  The
 * metapage is refused.
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
		content->one_key_nodes += info.one_key;
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
check_structure(const FpbIndex *ix, BlockNumber blkno, Page page)
{
	const char *fault = fpb_page_fault(ix, page);

	if (fault != NULL)
		fpb_report_damage(ix->rel, blkno, fault);
}

/*
 * A key's values as text, as errors of unique violations show them, and its
 * TID if it has one.  Types' output functions are run, so the caller has
 * become the index's owner.
 */
static Datum
key_text(const FpbIndex *ix, const FpbKey *key, bool pivot)
{
	Datum		values[INDEX_MAX_KEYS];
	bool		isnull[INDEX_MAX_KEYS];
	ItemPointerData tid;
	StringInfoData buf;
	int			natts = pivot ? ix->nkeyatts : ix->natts;

	if (!fpb_is_word(ix))
	{
		if (pivot)
			natts = fpb_pivot_natts(ix, key->tuple);
		fpb_tuple_datums(ix, key->tuple, natts, values, isnull);
	}
	else if (pivot)
		fpb_word_fence_datums(ix, key, true, values, isnull);
	else
		fpb_key_datums(ix, key, values, isnull);

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

/*
 * What fpbtree_stats tells of the operation queue, put into columns from
 * number i on; returns the number of the next one.  The index has so many main
 * leaves; leaves and entries are the queue's.
 */
static int
tell_queue(const FpbIndex *ix, BlockNumber nblocks, int64 main_leaves, int64 leaves,
		   int64 entries, Datum *values, bool *nulls, int i)
{
	FpbShared  *shared = fpb_shared_of(RelationGetRelid(ix->rel));
	uint64		visits;
	double		checkpoint_moved;

	values[i++] = CStringGetTextDatum(fpb_queue_mode_name(ix->may_queue ? fpb_queue_mode(ix->rel) :
														  FPB_QUEUE_OFF));
	nulls[i] = !ix->may_queue;
	values[i++] = Int64GetDatum(ix->may_queue ? (int64) fpb_queue_limit(ix->rel, nblocks) : 0);
	values[i++] = Int64GetDatum(fpb_queue_pages(ix, NULL));
	values[i++] = Int64GetDatum(leaves);
	values[i++] = Int64GetDatum(entries);
	nulls[i] = nulls[i + 1] = shared == NULL;
	values[i++] = Int64GetDatum(shared == NULL ? 0 : pg_atomic_read_u64(&shared->visits));
	values[i++] = Int64GetDatum(shared == NULL ? 0 : pg_atomic_read_u64(&shared->moved));
	visits = shared == NULL ? 0 : pg_atomic_read_u64(&shared->visits);
	nulls[i] = visits == 0;
	values[i++] = Float8GetDatum(visits == 0 ? 0.0 :
								 (double) pg_atomic_read_u64(&shared->moved) / visits);
	checkpoint_moved = shared == NULL ? -1 : fpb_shared_checkpoint_moved(shared);
	nulls[i] = checkpoint_moved < 0 || main_leaves <= 0;
	values[i] = Float8GetDatum(nulls[i] ? 0.0 : checkpoint_moved / main_leaves);
	i++;
	nulls[i] = nulls[i + 1] = shared == NULL;
	values[i++] = Int64GetDatum(shared == NULL ? 0 : pg_atomic_read_u64(&shared->stalls));
	values[i++] = Float8GetDatum(shared == NULL ? 0.0 : pg_atomic_read_u64(&shared->longest_stall) / 1000.0);
	return i;
}

/*
 * fpbtree_stats(index regclass) returns record
 *
 * Reads every page of the index, each under a lock of its own: what is changed
 * meanwhile may be counted or not.  NULLs if there are none, as for an index
 * that is being built: whoever asks for all indexes shall not fail because of
 * it.
 */
Datum
fpbtree_stats(PG_FUNCTION_ARGS)
{
	TupleDesc	desc = get_result_desc(fcinfo, 35);
	Relation	rel = fpb_open_index(PG_GETARG_OID(0), AccessShareLock);
	BufferAccessStrategy strategy = GetAccessStrategy(BAS_BULKREAD);
	Page		page = alloc_page();
	FpbIndex	ix;
	BlockNumber nblocks;
	int64		leaf_pages = 0;
	int64		inner_pages = 0;
	int64		deleted_pages = 0;
	int64		new_pages = 0;
	int64		unfinished_splits = 0;
	int64		leaf_entries = 0;
	int64		leaf_gaps = 0;
	int64		one_key_nodes = 0;
	int64		postings = 0;
	int64		free_bytes = 0;
	int64		used_bytes = 0;
	int64		links = 0;
	int64		jumps = 0;
	int			leaf_lines;
	int			inner_lines;
	int64		queue_leaf_pages = 0;
	int64		queue_entries = 0;
	Datum		values[35];
	bool		nulls[35] = {0};
	int			i = 0;

	if (!fpb_has_pages(rel))
	{
		memset(nulls, true, sizeof(nulls));
		relation_close(rel, AccessShareLock);
		PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(desc, values, nulls)));
	}
	fpb_index_open(&ix, rel);
	fpb_index_refresh(&ix);
	nblocks = RelationGetNumberOfBlocks(rel);
	for (BlockNumber blkno = FPB_METAPAGE + 1; blkno < nblocks; blkno++)
	{
		Content		content;

		CHECK_FOR_INTERRUPTS();
		copy_page(&ix, blkno, strategy, page);
		if (!PageIsNew(page) && FpbPageSplitIncomplete(page))
			unfinished_splits++;
		if (PageIsNew(page))
			new_pages++;
		else if (FpbPageIsDeleted(page))
			deleted_pages++;
		else if (!FpbPageIsLeaf(page))
			inner_pages++;
		else
		{
			check_structure(&ix, blkno, page);
			count_page(&ix, page, &content);
			leaf_pages++;
			leaf_entries += content.entries;
			leaf_gaps += content.gaps;
			one_key_nodes += content.one_key_nodes;
			postings += content.postings;
			free_bytes += content.available;
			used_bytes += content.used;
			if (FpbPageIsQueue(page))
			{
				queue_leaf_pages++;
				queue_entries += content.entries;
			}
			else if (!FpbPageIsRightmost(page))
			{
				links++;
				if (FpbHdr(page)->right != blkno + 1)
					jumps++;
			}
		}
	}

	values[i++] = Int32GetDatum(FPB_VERSION);
	values[i++] = CStringGetTextDatum(fpb_form_name(ix.form));
	values[i++] = CStringGetTextDatum(fpb_layout_name(ix.layout->id));
	fpb_layout_lines(&ix, &leaf_lines, &inner_lines);
	values[i++] = Int32GetDatum(leaf_lines);
	values[i++] = Int32GetDatum(inner_lines);
	values[i++] = CStringGetTextDatum(fpb_node_format_name(ix.csb ? FPB_NODES_CSB : FPB_NODES_NUMBERED));
	values[i++] = CStringGetTextDatum(fpb_node_search_name(ix.count_most < FPB_COUNT_MOST ?
														   FPB_SEARCH_BISECTING : FPB_SEARCH_COUNTING));
	values[i++] = BoolGetDatum(ix.prefetch);
	values[i++] = Int64GetDatum(ix.root);
	values[i++] = Int32GetDatum(ix.level + 1);
	values[i++] = Int64GetDatum(nblocks);
	values[i++] = Int64GetDatum(leaf_pages);
	values[i++] = Int64GetDatum(inner_pages);
	values[i++] = Int64GetDatum(deleted_pages);
	values[i++] = Int64GetDatum(new_pages);
	values[i++] = Int64GetDatum(unfinished_splits);
	values[i++] = Int64GetDatum(leaf_entries);
	values[i++] = Int64GetDatum(leaf_gaps);
	values[i++] = Int64GetDatum(one_key_nodes);
	values[i++] = Int64GetDatum(postings);
	values[i++] = Int64GetDatum(used_bytes);
	values[i++] = Int64GetDatum(free_bytes);
	nulls[i] = (leaf_pages == 0);
	values[i++] = Float8GetDatum(leaf_pages == 0 ? 0.0 :
								 100.0 * used_bytes / ((double) leaf_pages * (BLCKSZ - sizeof(FpbPageHeader))));
	nulls[i] = (links == 0);
	values[i++] = Float8GetDatum(links == 0 ? 0.0 : 100.0 * jumps / links);
	i = tell_queue(&ix, nblocks, leaf_pages - queue_leaf_pages, queue_leaf_pages,
				   queue_entries, values, nulls, i);
	Assert(i == lengthof(values));

	FreeAccessStrategy(strategy);
	relation_close(rel, AccessShareLock);
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(desc, values, nulls)));
}

/*
 * The flags of a page as an array of text.
 */
static Datum
flags_array(int flags)
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
		{FPB_HIGH_ELIDED, "high_elided"},
		{FPB_QUEUE, "queue"}
	};
	Datum		elements[lengthof(names)];
	int			n = 0;

	for (int i = 0; i < lengthof(names); i++)
		if (flags & names[i].flag)
			elements[n++] = CStringGetTextDatum(names[i].name);
	return PointerGetDatum(construct_array_builtin(elements, n, TEXTOID));
}

/*
 * fpbtree_page(index regclass, block bigint) returns record
 */
Datum
fpbtree_page(PG_FUNCTION_ARGS)
{
	TupleDesc	desc = get_result_desc(fcinfo, 13);
	Relation	rel = fpb_open_index(PG_GETARG_OID(0), AccessShareLock);
	BlockNumber blkno = get_block_argument(rel, PG_GETARG_INT64(1));
	Page		page = alloc_page();
	FpbPageHeader *hdr = FpbHdr(page);
	bool		may_read = fpb_may_read_keys(rel);
	FpbCaller	caller;
	FpbIndex	ix;
	Datum		values[13];
	bool		nulls[13];
	int			i = 0;

	fpb_become_owner(rel, &caller);
	fpb_index_open(&ix, rel);
	copy_page(&ix, blkno, NULL, page);
	memset(nulls, true, sizeof(nulls));

	if (PageIsNew(page))
	{
		nulls[0] = false;
		values[0] = CStringGetTextDatum("new");
	}
	else
	{
		Content		content;
		FpbPageInfo info;
		FpbKey		fence;

		check_structure(&ix, blkno, page);
		count_page(&ix, page, &content);
		fpb_page_info(&ix, page, &info);
		memset(nulls, false, sizeof(nulls));
		values[i++] = CStringGetTextDatum(FpbPageIsDeleted(page) ? "deleted" :
										  FpbPageIsLeaf(page) ? "leaf" : "inner");
		values[i++] = Int32GetDatum(hdr->level);
		values[i++] = flags_array(hdr->flags);
		nulls[i] = FpbPageIsRightmost(page);
		values[i++] = Int64GetDatum(hdr->right);
		values[i++] = Int32GetDatum(info.nodes);
		values[i++] = Int32GetDatum(info.allocated);
		values[i++] = Int32GetDatum(info.capacity);
		values[i++] = Int32GetDatum(content.entries);
		values[i++] = Int32GetDatum(content.gaps);
		values[i++] = Int32GetDatum(hdr->pd.pd_lower);
		values[i++] = Int32GetDatum(hdr->pd.pd_upper);
		nulls[i] = FpbPageIsLeftmost(page) || !may_read;
		if (!nulls[i])
		{
			fpb_page_low(&ix, page, &fence);
			values[i] = key_text(&ix, &fence, true);
		}
		i++;
		nulls[i] = FpbPageIsRightmost(page) || FpbPageHighElided(page) || !may_read;
		if (!nulls[i])
		{
			fpb_page_high(&ix, page, &fence);
			values[i] = key_text(&ix, &fence, true);
		}
		i++;
		Assert(i == lengthof(values));
	}

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
		check_structure(&ix, blkno, page);
		for (int n = 0; fpb_node_info(&ix, page, n, &info); n++)
		{
			Datum		values[8];
			bool		nulls[8] = {0};

			values[0] = Int32GetDatum(n);
			values[1] = Int32GetDatum(info.number);
			values[2] = CStringGetTextDatum(info.codec);
			values[3] = Int32GetDatum(info.entries);
			values[4] = Int32GetDatum(info.gaps);
			values[5] = Int32GetDatum(info.exits);
			values[6] = PointerGetDatum(cstring_to_text(psprintf("%016" PRIx64, info.head)));
			nulls[6] = !may_read;	/* the beginning of a key */
			nulls[7] = info.entries == 0 || !may_read;
			if (!nulls[7])
				values[7] = key_text(&ix, &info.first.key, !FpbPageIsLeaf(page));
			tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
		}
	}
	fpb_become_caller(&caller);
	relation_close(rel, AccessShareLock);
	return (Datum) 0;
}

/*
 * fpbtree_prefetch_stats(index regclass): pages of the index and of its table
 * that scans and VACUUM have read ahead since the server was started, those
 * used and those that were not.
 */
Datum
fpbtree_prefetch_stats(PG_FUNCTION_ARGS)
{
	TupleDesc	desc = get_result_desc(fcinfo, 6);
	Relation	rel = fpb_open_index(PG_GETARG_OID(0), AccessShareLock);
	Datum		values[6];
	bool		nulls[6] = {0};
	int			n = 0;

	for (int heap = 0; heap <= 1; heap++)
	{
		FpbPrefetchCounts counts;

		fpb_prefetch_total(rel, heap != 0, &counts);
		values[n++] = Int64GetDatum((int64) counts.prefetched);
		values[n++] = Int64GetDatum((int64) counts.used);
		values[n++] = Int64GetDatum((int64) counts.wasted);
	}
	relation_close(rel, AccessShareLock);
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(desc, values, nulls)));
}
