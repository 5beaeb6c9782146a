/*-------------------------------------------------------------------------
 *
 * inspect/size_estimate.c
 *	  fpbtree_expected_size(): how large a btree index would be, made anew, as
 *	  fpbtree and as btree.
 *
 * A sample of the btree's pages is read, of all kinds of them, and the entries
 * found there are sorted.  The code of CREATE INDEX lays them out in pages,
 * which are counted instead of written; inspect/btree_size.c does the same for
 * a btree.  The whole index is taken to shrink or grow as the sample does.  An
 * index that has no more pages than a sample is computed to the page.
 *
 * So no formula has to follow the formats of pages, and no statistics have to
 * be fresh: the entries have all that the size depends on, their lengths,
 * duplicates and NULLs.  The sample is of whole pages because duplicates lie
 * together.
 *
 * The estimate can be wrong because of the sample, and because dead rows have
 * entries until VACUUM removes them.
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
 * How many pages the sample has.  If the fullness of leaves has a standard
 * deviation of a quarter, that of the estimate is 1.5%.
 */
#define SAMPLE	256

/* what an index would be */
typedef struct SizeEstimate
{
	FpbForm		form;
	BlockNumber pages;
	BlockNumber btree_pages;
} SizeEstimate;

/*
 * Open a btree index and its table.  NULL, with nothing opened, if there is no
 * index of this OID or if it is not valid: a caller that goes through a list
 * of indexes may find one being dropped.  Raises an error if the OID is that
 * of something else, or if the index can't be read.
 */
static Relation
open_btree(Oid indexoid, Relation *table)
{
	Oid			tableoid = IndexGetRelation(indexoid, true);
	Relation	index;

	/* the table is locked before the index */
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
				 errdetail("It is unlogged, and recovery is in progress.")));
	return index;
}

/*
 * The options that an fpbtree index gets from those of a btree, with another
 * fillfactor if that is not 0.
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
 * Where the key of a tuple of a btree's leaf ends: before its TIDs if it is a
 * posting.
 */
static inline Size
key_end(IndexTuple tuple)
{
	return BTreeTupleIsPosting(tuple) ? BTreeTupleGetPostingOffset(tuple) :
		IndexTupleSize(tuple);
}

/*
 * What is wrong with an item of a btree's leaf, or NULL.
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
 * Put the entries of a page of the btree into the sorts, if it is a leaf.
 * Raises an error if the page is damaged, because what reads its tuples trusts
 * them.
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
 * How many pages the whole index would have, if the sample has made so many.
 */
static BlockNumber
pages_of_all(BlockNumber made, BlockNumber sample, BlockNumber nblocks)
{
	return sample == nblocks ? made : (BlockNumber) ((double) made * nblocks / sample);
}

/*
 * Estimate what an index would be.  Its OID decides which pages are in the
 * sample, so both sizes are of one sample, and off in the same direction.
 */
static SizeEstimate
estimate_size(Relation table, Relation index, int fillfactor)
{
	BlockNumber nblocks = RelationGetNumberOfBlocks(index);
	BufferAccessStrategy strategy = GetAccessStrategy(BAS_BULKREAD);
	Page		copy = palloc_aligned(BLCKSZ, PG_IO_ALIGN_SIZE, 0);
	RelationData as_fpbtree = *index;
	FpbBuild	build;
	FpbBtreeSize *btree;
	BlockSamplerData sampler;
	BlockNumber sample;
	SizeEstimate estimate;

	/* what CREATE INDEX would see: the same columns, but options of ours */
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
	estimate.form = build.ix.form;
	estimate.pages = pages_of_all(fpb_load_sorted(&build, InvalidForkNumber), sample, nblocks);
	estimate.btree_pages = pages_of_all(fpb_btree_size_end(btree), sample, nblocks);
	fpb_sort_end(build.sort);
	FreeAccessStrategy(strategy);
	return estimate;
}

/* the columns of fpbtree_expected_size, in the order of its SQL declaration */
typedef enum EstimateColumn
{
	ESTIMATE_FORM,
	ESTIMATE_SIZE,
	ESTIMATE_BTREE_SIZE,
	ESTIMATE_COLUMNS
} EstimateColumn;

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
	SizeEstimate estimate;
	TupleDesc	tupdesc;
	Datum		values[ESTIMATE_COLUMNS];
	bool		nulls[ESTIMATE_COLUMNS] = {0};

	if (get_call_result_type(fcinfo, NULL, &tupdesc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	if (fillfactor != 0 && (fillfactor < FPB_MIN_FILLFACTOR || fillfactor > 100))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("fillfactor must be between %d and 100, or 0", FPB_MIN_FILLFACTOR)));
	index = open_btree(PG_GETARG_OID(0), &table);
	if (index == NULL)
		PG_RETURN_NULL();

	/* functions of the index's are run: equalimage and comparators */
	fpb_become_owner(index, &caller);
	estimate = estimate_size(table, index, fillfactor);
	fpb_become_caller(&caller);
	relation_close(index, AccessShareLock);
	table_close(table, AccessShareLock);

	values[ESTIMATE_FORM] = CStringGetTextDatum(fpb_form_name(estimate.form));
	values[ESTIMATE_SIZE] = Int64GetDatum((int64) estimate.pages * BLCKSZ);
	values[ESTIMATE_BTREE_SIZE] = Int64GetDatum((int64) estimate.btree_pages * BLCKSZ);
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(tupdesc), values, nulls)));
}
