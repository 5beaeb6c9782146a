/*-------------------------------------------------------------------------
 *
 * inspect/size_estimate.c
 *	  fpbtree_expected_size(): how large a btree index would be, made anew, as
 *	  fpbtree and as btree.
 *
 * The entries of a sample of the btree's pages are sorted and laid out in
 * pages as CREATE INDEX would do it, by the same code, and the pages are
 * counted instead of written; those of a btree by inspect/btree_size.c.  As
 * many as they make of those looked at, inner, deleted and empty ones among
 * them, the whole index will make of all.  So no formula has to follow the
 * formats of pages, and no statistics have to be fresh: what decides about the
 * size, lengths, duplicates, NULLs, how full the btree is, is in the entries.
 * They are taken by whole pages, lest duplicates be torn apart.  An index with
 * no more pages than the sample has is computed to the page.
 *
 * What can be wrong is the sample; and rows that are dead have entries until
 * VACUUM comes.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/nbtree.h"
#include "access/relation.h"
#include "access/table.h"
#include "access/xlog.h"
#include "catalog/index.h"
#include "catalog/pg_am_d.h"
#include "catalog/pg_class.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "utils/builtins.h"
#include "utils/rel.h"
#include "utils/sampling.h"
#include "utils/syscache.h"

#include "base/owner.h"
#include "build/build.h"
#include "build/design.h"
#include "inspect/btree_size.h"

PG_FUNCTION_INFO_V1(fpbtree_expected_size);

/*
 * Pages that are looked at.  Where leaves differ in fullness by a quarter, on
 * the average, so many are off by 1.5%.
 */
#define SAMPLE	256

/* what is expected of an index */
typedef struct Expected
{
	FpbForm		form;
	BlockNumber pages;
	BlockNumber btree_pages;
} Expected;

/*
 * Open a btree index and its table, or raise an error.  NULL if there is none
 * of this OID, or if it is not valid, as somebody who goes through a list of
 * them may find of one that is being dropped.
 */
static Relation
open_btree(Oid indexoid, Relation *table)
{
	Oid			tableoid = IndexGetRelation(indexoid, true);
	Relation	index;

	/* The table is to be locked before the index. */
	*table = OidIsValid(tableoid) ? try_table_open(tableoid, AccessShareLock) : NULL;
	index = try_relation_open(indexoid, AccessShareLock);
	if (index != NULL &&
		(index->rd_rel->relkind != RELKIND_INDEX || index->rd_rel->relam != BTREE_AM_OID))
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is not a btree index", RelationGetRelationName(index))));
	if (index == NULL || *table == NULL ||
		tableoid != IndexGetRelation(indexoid, true) || !index->rd_index->indisvalid)
	{
		if (index != NULL)
			relation_close(index, AccessShareLock);
		if (*table != NULL)
			table_close(*table, AccessShareLock);
		return NULL;
	}
	if (RELATION_IS_OTHER_TEMP(index))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot access temporary indexes of other sessions")));
	if (index->rd_rel->relpersistence == RELPERSISTENCE_UNLOGGED && RecoveryInProgress())
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("cannot read index \"%s\"", RelationGetRelationName(index)),
				 errdetail("It is unlogged, and the server in recovery.")));
	return index;
}

/*
 * The options that an fpbtree index gets from those of a btree, and that
 * fillfactor, if it is not 0.
 */
static bytea *
get_options(Relation index, int fillfactor)
{
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(RelationGetRelid(index)));
	bool		isnull;
	Datum		reloptions;
	bytea	   *options;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for relation %u", RelationGetRelid(index));
	reloptions = SysCacheGetAttr(RELOID, tuple, Anum_pg_class_reloptions, &isnull);
	options = fpb_options(isnull ? (Datum) 0 : reloptions, false);
	ReleaseSysCache(tuple);
	if (fillfactor != 0)
		((FpbOptions *) options)->fillfactor = fillfactor;
	return options;
}

/*
 * Where the key of a tuple of a leaf of the btree ends: before its TIDs, if it
 * has several.
 */
static inline Size
key_end(IndexTuple tuple)
{
	return BTreeTupleIsPosting(tuple) ? BTreeTupleGetPostingOffset(tuple) :
		IndexTupleSize(tuple);
}

/*
 * What is wrong with an item of a leaf of the btree, or NULL.
 */
static const char *
item_fault(const FpbIndex *ix, Page page, ItemId item)
{
	IndexTuple	tuple;
	Size		size;

	if (!ItemIdIsUsed(item) || ItemIdIsRedirected(item))
		return "A line pointer is of an impossible kind.";
	if (ItemIdGetOffset(item) < ((PageHeader) page)->pd_upper ||
		ItemIdGetOffset(item) != MAXALIGN(ItemIdGetOffset(item)) ||
		ItemIdGetLength(item) < sizeof(IndexTupleData) ||
		ItemIdGetOffset(item) + ItemIdGetLength(item) > ((PageHeader) page)->pd_special)
		return "A line pointer points outside the page's tuples.";
	tuple = (IndexTuple) PageGetItem(page, item);
	size = IndexTupleSize(tuple);
	if (size != ItemIdGetLength(item))
		return "A tuple has another length than its line pointer says.";
	if (BTreeTupleIsPivot(tuple))
		return "A leaf has a pivot among its entries.";
	if (BTreeTupleIsPosting(tuple) &&
		(BTreeTupleGetPostingOffset(tuple) > size ||
		 (size - BTreeTupleGetPostingOffset(tuple)) / sizeof(ItemPointerData) <
		 BTreeTupleGetNPosting(tuple)))
		return "A posting's TIDs extend past it.";
	for (int i = 0; i < (BTreeTupleIsPosting(tuple) ? BTreeTupleGetNPosting(tuple) : 1); i++)
	{
		ItemPointer tid = BTreeTupleIsPosting(tuple) ? BTreeTupleGetPostingN(tuple, i) :
			&tuple->t_tid;

		if (!ItemPointerIsValid(tid))
			return "An entry has an invalid TID.";
	}
	return fpb_btree_tuple_fault(ix, tuple, key_end(tuple));
}

/*
 * Put the entries of a page of the btree, if it is a leaf, into the sorts.
 * Raises an error if it is damaged: what is in it has not been looked at by
 * anybody.
 */
static void
add_page(FpbBuild *build, FpbBtreeSize *btree, Relation index, BlockNumber block,
		 BufferAccessStrategy strategy, Page copy)
{
	Buffer		buf = ReadBufferExtended(index, MAIN_FORKNUM, block, RBM_NORMAL, strategy);
	BTPageOpaque opaque;
	OffsetNumber most;

	LockBuffer(buf, BT_READ);
	memcpy(copy, BufferGetPage(buf), BLCKSZ);
	if (!PageIsNew(copy))
		_bt_checkpage(index, buf);
	UnlockReleaseBuffer(buf);
	if (PageIsNew(copy))
		return;
	opaque = BTPageGetOpaque(copy);
	if (!P_ISLEAF(opaque) || P_IGNORE(opaque))
		return;

	if (((PageHeader) copy)->pd_lower < SizeOfPageHeaderData ||
		((PageHeader) copy)->pd_lower > ((PageHeader) copy)->pd_upper ||
		((PageHeader) copy)->pd_upper > ((PageHeader) copy)->pd_special)
		fpb_report_damage(index, block, "The page's bounds are impossible.");
	most = PageGetMaxOffsetNumber(copy);
	for (OffsetNumber n = P_FIRSTDATAKEY(opaque); n <= most; n = OffsetNumberNext(n))
	{
		ItemId		item = PageGetItemId(copy, n);
		const char *fault = item_fault(&build->ix, copy, item);
		IndexTuple	tuple;
		int			ntids;
		Datum		values[INDEX_MAX_KEYS];
		bool		isnull[INDEX_MAX_KEYS];

		if (fault != NULL)
			fpb_report_damage(index, block, fault);
		if (ItemIdIsDead(item))
			continue;
		tuple = (IndexTuple) PageGetItem(copy, item);
		ntids = BTreeTupleIsPosting(tuple) ? BTreeTupleGetNPosting(tuple) : 1;
		index_deform_tuple(tuple, RelationGetDescr(index), values, isnull);
		for (int i = 0; i < ntids; i++)
		{
			fpb_build_callback(index, BTreeTupleIsPosting(tuple) ?
							   BTreeTupleGetPostingN(tuple, i) : &tuple->t_tid,
							   values, isnull, true, build);
			fpb_btree_size_add(btree, values, isnull);
		}
	}
}

/*
 * The size in pages that a sample of an index stands for.
 */
static BlockNumber
pages_of_all(BlockNumber made, BlockNumber sample, BlockNumber nblocks)
{
	return sample == nblocks ? made : (BlockNumber) ((double) made * nblocks / sample);
}

/*
 * What to expect of an index.  Which pages are in the sample depends on the
 * index's OID: so all sizes are off in the same direction, if they are off.
 */
static Expected
expected_size(Relation table, Relation index, int fillfactor)
{
	BlockNumber nblocks = RelationGetNumberOfBlocks(index);
	BufferAccessStrategy strategy = GetAccessStrategy(BAS_BULKREAD);
	Page		copy = palloc_aligned(BLCKSZ, PG_IO_ALIGN_SIZE, 0);
	RelationData as_fpbtree = *index;
	FpbBuild	build;
	FpbBtreeSize *btree;
	BlockSamplerData sampler;
	BlockNumber sample;
	Expected	expected;

	/* What CREATE INDEX would see: the same columns, but options of ours. */
	as_fpbtree.rd_options = get_options(index, fillfactor);
	fpb_build_init(&build, table, &as_fpbtree, false, false, NULL);

	sample = BlockSampler_Init(&sampler, nblocks, SAMPLE, RelationGetRelid(index));
	build.sort = fpb_sort_begin(&build.ix, work_mem, 0, NULL, 0);
	btree = fpb_btree_size_begin(table, index);
	while (BlockSampler_HasMore(&sampler))
	{
		CHECK_FOR_INTERRUPTS();
		add_page(&build, btree, index, BlockSampler_Next(&sampler), strategy, copy);
	}
	expected.form = build.ix.form;
	expected.pages = pages_of_all(fpb_load_sorted(&build, InvalidForkNumber), sample, nblocks);
	expected.btree_pages = pages_of_all(fpb_btree_size_end(btree), sample, nblocks);
	fpb_sort_end(build.sort);
	FreeAccessStrategy(strategy);
	return expected;
}

/*
 * fpbtree_expected_size(index regclass, fillfactor integer) returns record
 */
Datum
fpbtree_expected_size(PG_FUNCTION_ARGS)
{
	int			fillfactor = PG_GETARG_INT32(1);
	Relation	table;
	Relation	index;
	FpbCaller	caller;
	Expected	expected;
	TupleDesc	tupdesc;
	Datum		values[3];
	bool		nulls[3] = {0};

	if (get_call_result_type(fcinfo, NULL, &tupdesc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	if (fillfactor != 0 && (fillfactor < FPB_MIN_FILLFACTOR || fillfactor > 100))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("fillfactor must be between %d and 100, or 0", FPB_MIN_FILLFACTOR)));
	index = open_btree(PG_GETARG_OID(0), &table);
	if (index == NULL)
		PG_RETURN_NULL();

	/* it decides what the index would be, and compares keys */
	fpb_become_owner(index, &caller);
	expected = expected_size(table, index, fillfactor);
	fpb_become_caller(&caller);
	relation_close(index, AccessShareLock);
	table_close(table, AccessShareLock);

	values[0] = CStringGetTextDatum(fpb_form_name(expected.form));
	values[1] = Int64GetDatum((int64) expected.pages * BLCKSZ);
	values[2] = Int64GetDatum((int64) expected.btree_pages * BLCKSZ);
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(tupdesc), values, nulls)));
}
