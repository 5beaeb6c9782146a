/*-------------------------------------------------------------------------
 *
 * inspect/check_rows.c
 *	  The part of fpbtree_check() that is about rows: does every row have its
 *	  entry, and every entry its row?
 *
 * The check walks over the leaves from left to right, the queue's first, tier
 * by tier.  Entries move only to the right, or from the queue to the main
 * tree.  So the walk meets every entry that was there when it began, unless
 * VACUUM has removed it.
 *
 * A snapshot is taken before the walk.  The entries met are put into a Bloom
 * filter, and each row that the snapshot sees must be in it.
 *
 * The other way round, an entry's row must have the entry's key if the
 * snapshot sees it.  If the snapshot doesn't, there must be a line pointer in
 * use all the same, as long as the entry's leaf is locked: VACUUM frees a line
 * pointer only after it has removed the entry.
 *
 * The walk passes over a damaged leaf, to the next one that the level above
 * names.  Then the check can't tell which rows have no entry.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/detoast.h"
#include "access/heapam.h"
#include "access/tableam.h"
#include "access/tupmacs.h"
#include "catalog/index.h"
#include "catalog/pg_type.h"
#include "common/pg_prng.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "inspect/check.h"

/* how many entries a page has at least, to size the Bloom filter */
#define MIN_ENTRIES		100

/* the walk goes in a circle if it meets so many leaves for each block */
#define MAX_LEAVES_A_BLOCK	10

struct FpbRowCheck
{
	Snapshot	snapshot;
	bloom_filter *filter;		/* entries met */
	StringInfoData element;		/* one of them, and its row's */
	StringInfoData row_element;
	bool	   *visible;		/* does the snapshot see the row of each entry
								 * of the leaf at hand? */
	FpbItem    *items;			/* these entries, for their positions */
	bool		is_heap;
	BlockNumber heap_blocks;	/* of the table, at least */

	/* the walk over the leaves */
	FpbIndex   *tree;			/* the tree */
	FpbSearchKey from;			/* where the next leaf begins */
	MemoryContext from_cxt[2];	/* "from" lives in one of these in turn */
	int			turn;			/* this one */
	BlockNumber right;			/* the next leaf; InvalidBlockNumber: to be
								 * found by a descent */
	bool		at_end;			/* there is no next leaf */
	int			level;			/* the level that is asked for the next leaf */
	int64		nleaves;		/* met so far */
	bool		incomplete;		/* some leaves have been passed over */
	char	   *reason;			/* the first error that was the reason */

	/* to look at the rows of a leaf */
	IndexFetchTableData *fetch;
	TupleTableSlot *slot;		/* a row */
	IndexInfo  *info;
	EState	   *estate;			/* to evaluate expressions */
	ExprState  *predicate;

	/* uniqueness */
	bool		unique;			/* is it checked? */
	bool		have_last;
	FpbKey		last;			/* the last key of the leaf before */
	MemoryContext last_cxt[2];	/* it lives in one of these in turn */
	int			last_turn;		/* this one */
	ItemPointerData last_visible;	/* the row with the last key that the
									 * snapshot sees, or invalid */
};

/* ------------------------------------------------------------------------
 * Entries and their rows
 * ------------------------------------------------------------------------
 */

/*
 * Make an element of the Bloom filter of a tuple's or a row's values.  It has
 * the same bytes whether the values come from the index or the table.  There,
 * long ones may be stored in another way, and integers may be extended to a
 * Datum in another way.  Blanks at the end of a bpchar are left out, because a
 * key that duplicates share may not have a row's own (see fpb_canreturn).
 */
static void
make_element(const FpbIndex *ix, const Datum *values, const bool *isnull,
			 ItemPointer tid, StringInfo element)
{
	TupleDesc	desc = RelationGetDescr(ix->rel);

	resetStringInfo(element);
	appendBinaryStringInfo(element, tid, sizeof(ItemPointerData));
	for (int i = 0; i < ix->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);

		appendStringInfoChar(element, isnull[i] ? 0 : 1);
		if (isnull[i])
			continue;
		if (att->attbyval)
		{
			char		stored[sizeof(Datum)];

			store_att_byval(stored, values[i], att->attlen);
			appendBinaryStringInfo(element, stored, att->attlen);
		}
		else if (att->attlen == -1)
		{
			struct varlena *plain = PG_DETOAST_DATUM_PACKED(values[i]);
			uint32		length = VARSIZE_ANY_EXHDR(plain);

			if (i < ix->nkeyatts && ix->rel->rd_opcintype[i] == BPCHAROID)
				length = bpchartruelen(VARDATA_ANY(plain), length);
			appendBinaryStringInfo(element, &length, sizeof(length));
			appendBinaryStringInfo(element, VARDATA_ANY(plain), length);
			if ((Pointer) plain != DatumGetPointer(values[i]))
				pfree(plain);
		}
		else if (att->attlen == -2)
			appendBinaryStringInfo(element, DatumGetCString(values[i]),
								   strlen(DatumGetCString(values[i])) + 1);
		else
			appendBinaryStringInfo(element, DatumGetPointer(values[i]),
								   att->attlen);
	}
}

/*
 * Make the element of an entry.  Of a word it is the word itself, which need
 * not give back a row's value exactly (of a NaN it does not).
 */
static void
make_key_element(const FpbIndex *ix, const FpbKey *key, ItemPointer tid,
				 StringInfo element)
{
	Datum		values[INDEX_MAX_KEYS];
	bool		isnull[INDEX_MAX_KEYS];
	FpbTupleSpace space;

	if (fpb_is_word(ix))
	{
		resetStringInfo(element);
		appendBinaryStringInfo(element, &key->head, sizeof(key->head));
		appendBinaryStringInfo(element, &key->low, sizeof(key->low));
		appendBinaryStringInfo(element, &key->tail, sizeof(key->tail));
		return;
	}
	fpb_key_datums(ix, key, &space, values, isnull);
	make_element(ix, values, isnull, tid, element);
}

/*
 * Make the element that a row's entry has.
 */
static void
make_row_element(const FpbIndex *ix, Datum *values, bool *isnull,
				 ItemPointer tid, StringInfo element)
{
	FpbKey		key;

	if (fpb_is_word(ix))
	{
		fpb_key_form(ix, values, isnull, tid, &key);
		make_key_element(ix, &key, tid, element);
	}
	else
		make_element(ix, values, isnull, tid, element);
}

/*
 * Has the table a line pointer in use at this TID?
 */
static bool
row_exists(FpbCheck *check, ItemPointer tid)
{
	BlockNumber blkno = ItemPointerGetBlockNumber(tid);
	OffsetNumber offset = ItemPointerGetOffsetNumber(tid);
	Buffer		buf;
	Page		page;
	bool		exists;

	if (blkno >= check->row_check->heap_blocks)
		check->row_check->heap_blocks = RelationGetNumberOfBlocks(check->heap);
	if (blkno >= check->row_check->heap_blocks)
		return false;
	buf = ReadBufferExtended(check->heap, MAIN_FORKNUM, blkno, RBM_NORMAL,
							 check->strategy);
	LockBuffer(buf, BUFFER_LOCK_SHARE);
	page = BufferGetPage(buf);
	exists = !PageIsNew(page) && offset >= FirstOffsetNumber &&
		offset <= PageGetMaxOffsetNumber(page) &&
		ItemIdIsUsed(PageGetItemId(page, offset));
	UnlockReleaseBuffer(buf);
	return exists;
}

/*
 * An entry of the copied leaf points to a line pointer that is not in use.
 * That is a fault if the entry still is there, and if the line pointer is not
 * in use while the entry's leaf is locked.
 */
static void
confirm_missing_row(FpbCheck *check, const FpbKey *key, ItemPointer tid)
{
	FpbIndex   *ix = check->tree;
	FpbSearchKey search;
	FpbPos		pos;
	FpbEntry	entry;
	Buffer		buf;
	BlockNumber blkno;
	bool		missing;

	fpb_search_key_from(ix, key, &search);
	buf = fpb_descend(ix, &search, 0, false, BUFFER_LOCK_SHARE, NULL);
	if (!BufferIsValid(buf))
		return;					/* it has moved out of the queue */
	blkno = BufferGetBlockNumber(buf);
	fpb_page_search(ix, BufferGetPage(buf), &search, &pos);
	missing = fpb_page_next(ix, BufferGetPage(buf), &pos, &entry) &&
		entry.key.tail == key->tail &&
		fpb_compare(ix, &entry.key, &search) == 0 &&
		!row_exists(check, tid);
	fpb_relbuf(buf);
	if (missing)
		fpb_check_report(check, blkno, "An entry points to row (%u,%u), which does not exist.",
						 ItemPointerGetBlockNumber(tid), ItemPointerGetOffsetNumber(tid));
}

/* qsort comparator: entries by TID */
static int
compare_tids(const void *a, const void *b)
{
	uint64		x = (*(const FpbEntry *const *) a)->key.tail & FPB_TAIL_TID_MASK;
	uint64		y = (*(const FpbEntry *const *) b)->key.tail & FPB_TAIL_TID_MASK;

	return (x > y) - (x < y);
}

/*
 * Check that the row in rc->slot has the key of its entry, which is in
 * rc->element.
 */
static void
check_row_key(FpbCheck *check, ItemPointer tid)
{
	FpbRowCheck *rc = check->row_check;
	Datum		values[INDEX_MAX_KEYS];
	bool		isnull[INDEX_MAX_KEYS];
	MemoryContext old;
	bool		same;

	GetPerTupleExprContext(rc->estate)->ecxt_scantuple = rc->slot;
	old = MemoryContextSwitchTo(GetPerTupleMemoryContext(rc->estate));
	same = rc->predicate == NULL ||
		ExecQual(rc->predicate, GetPerTupleExprContext(rc->estate));
	if (same)
	{
		FormIndexDatum(rc->info, rc->slot, rc->estate, values, isnull);
		make_row_element(&check->ix, values, isnull, tid, &rc->row_element);
		same = rc->row_element.len == rc->element.len &&
			memcmp(rc->row_element.data, rc->element.data, rc->element.len) == 0;
	}
	MemoryContextSwitchTo(old);
	ResetPerTupleExprContext(rc->estate);
	if (!same)
		fpb_check_report(check, check->blkno, "The entry for row (%u,%u) does not have the row's key.",
						 ItemPointerGetBlockNumber(tid), ItemPointerGetOffsetNumber(tid));
}

/*
 * Put the n'th entry of the leaf at hand into the filter, and check its row.
 */
static void
check_entry(FpbCheck *check, int n)
{
	FpbRowCheck *rc = check->row_check;
	const FpbKey *key = &check->entries[n].key;
	ItemPointerData tid;
	ItemPointerData at;
	bool		call_again = false;
	bool		all_dead;
	bool		visible = false;

	fpb_tail_tid(key->tail, &tid);
	make_key_element(&check->ix, key, &tid, &rc->element);
	bloom_add_element(rc->filter, (unsigned char *) rc->element.data,
					  rc->element.len);

	/* the fetch relies on a line pointer in use */
	if (rc->is_heap && !row_exists(check, &tid))
		confirm_missing_row(check, key, &tid);
	else
	{
		at = tid;
		visible = table_index_fetch_tuple(rc->fetch, &at, rc->snapshot,
										  rc->slot, &call_again, &all_dead);
		if (visible)
			check_row_key(check, &tid);
		ExecClearTuple(rc->slot);
	}
	rc->visible[n] = visible;

	/* on a standby, marks may have come with a base backup */
	if (visible && !rc->snapshot->takenDuringRecovery &&
		fpb_page_is_killed(&check->ix, check->page, rc->items[n].pos))
		fpb_check_report(check, check->blkno, "The entry for row (%u,%u) is marked as dead, but the row is not.",
						 ItemPointerGetBlockNumber(&tid),
						 ItemPointerGetOffsetNumber(&tid));
}

/*
 * Check that of the entries with equal keys, the snapshot sees the row of one
 * at most.
 */
static void
check_unique(FpbCheck *check)
{
	const FpbIndex *ix = &check->ix;
	FpbRowCheck *rc = check->row_check;
	bool		nulls_equal = ix->rel->rd_index->indnullsnotdistinct;

	for (int i = 0; i < check->nentries; i++)
	{
		const FpbKey *key = &check->entries[i].key;
		const FpbKey *last = (i > 0) ? &check->entries[i - 1].key : &rc->last;
		ItemPointerData tid;

		if (!rc->have_last || !fpb_keys_equal(ix, last, key) ||
			(!nulls_equal && fpb_key_has_null(ix, key)))
			ItemPointerSetInvalid(&rc->last_visible);
		rc->have_last = true;
		if (!rc->visible[i])
			continue;
		fpb_tail_tid(key->tail, &tid);
		if (ItemPointerIsValid(&rc->last_visible) &&
			!ItemPointerEquals(&rc->last_visible, &tid))
			fpb_check_report(check, check->blkno, "Rows (%u,%u) and (%u,%u) have the same key, which is to be unique.",
							 ItemPointerGetBlockNumber(&rc->last_visible),
							 ItemPointerGetOffsetNumber(&rc->last_visible),
							 ItemPointerGetBlockNumber(&tid),
							 ItemPointerGetOffsetNumber(&tid));
		rc->last_visible = tid;
	}

	/* the last key will be compared with the first of the next leaf */
	if (check->nentries > 0)
	{
		rc->last_turn ^= 1;
		MemoryContextReset(rc->last_cxt[rc->last_turn]);
		rc->last = check->entries[check->nentries - 1].key;
		if (rc->last.tuple != NULL)
		{
			MemoryContext old = MemoryContextSwitchTo(rc->last_cxt[rc->last_turn]);

			rc->last.tuple = fpb_copy_whole_tuple(&check->ix, &rc->last);
			rc->last.head = fpb_key_head(&check->ix, &rc->last);
			rc->last.cut_in = NULL;
			MemoryContextSwitchTo(old);
		}
	}
}

/*
 * Check the entries of the leaf at hand, and their rows in the table's order.
 */
static void
check_leaf(FpbCheck *check)
{
	FpbRowCheck *rc = check->row_check;
	const FpbEntry **sorted = palloc(sizeof(FpbEntry *) * Max(check->nentries, 1));
	FpbPos		start = FPB_POS_FIRST;
	bool		more;

	rc->info = BuildIndexInfo(check->ix.rel);
	rc->estate = CreateExecutorState();
	rc->predicate = ExecPrepareQual(rc->info->ii_Predicate, rc->estate);
	rc->fetch = fpb_table_index_fetch_begin(check->heap);
	rc->slot = table_slot_create(check->heap, NULL);

	(void) fpb_page_read(&check->ix, check->page, start, NULL, false, rc->items,
						 FPB_MAX_PAGE_ENTRIES, &more);
	for (int i = 0; i < check->nentries; i++)
		sorted[i] = &check->entries[i];
	qsort(sorted, check->nentries, sizeof(FpbEntry *), compare_tids);
	for (int i = 0; i < check->nentries; i++)
	{
		CHECK_FOR_INTERRUPTS();
		check_entry(check, sorted[i] - check->entries);
	}

	ExecDropSingleTupleTableSlot(rc->slot);
	table_index_fetch_end(rc->fetch);
	FreeExecutorState(rc->estate);
	if (rc->unique)
		check_unique(check);
}

/* ------------------------------------------------------------------------
 * The walk over the leaves
 * ------------------------------------------------------------------------
 */

/*
 * Note that the next leaf begins at this key.
 */
static void
set_from(FpbRowCheck *rc, const FpbIndex *ix, const FpbKey *key)
{
	MemoryContext old;

	rc->turn ^= 1;
	MemoryContextReset(rc->from_cxt[rc->turn]);
	old = MemoryContextSwitchTo(rc->from_cxt[rc->turn]);
	fpb_fence_search_key(ix, key, &rc->from);
	MemoryContextSwitchTo(old);
}

/*
 * Is the page at hand the leaf that covers a search key?
 */
static bool
covers(const FpbCheck *check, const FpbSearchKey *search)
{
	return fpb_page_reaches_left(check->row_check->tree, check->page, search, 0, false) &&
		(FpbPageIsRightmost(check->page) ||
		 (fpb_check_knows_high(check) &&
		  fpb_compare(&check->ix, &check->high, search) > 0));
}

/*
 * Copy the leaf that covers rc->from.  check->live is false if the leaf or the
 * way to it is damaged.  rc->at_end is set if there is no leaf.  No lock is
 * held on entry or exit.
 *
 * fpb_check_take may have to unlock the leaf and wait for its sibling, to find
 * out where the leaf ends.  Meanwhile the leaf may be split or deleted.  Then
 * it is searched again.
 */
static void
find_leaf(FpbCheck *check)
{
	FpbRowCheck *rc = check->row_check;
	FpbIndex   *ix = rc->tree;

	check->live = false;
	if (BlockNumberIsValid(rc->right))
	{
		Buffer		buf = fpb_getbuf(ix, rc->right, BUFFER_LOCK_SHARE);

		fpb_check_take(check, buf);
		if (check->live && covers(check, &rc->from))
			return;
		check->live = false;
	}
	for (int try = 0; check->can_descend && try < FPB_CHECK_TRIES; try++)
	{
		Buffer		buf = fpb_descend(ix, &rc->from, 0, false, BUFFER_LOCK_SHARE, NULL);

		if (!BufferIsValid(buf))
		{
			rc->at_end = true;	/* the queue has gone */
			return;
		}
		FPB_INJECTION_POINT("fpbtree-check-leaf");
		fpb_check_take(check, buf);
		if (check->damaged || (check->live && covers(check, &rc->from)))
			return;

		/* the walk can't go on from a leaf whose end is not known */
		if (check->live && !FpbPageIsRightmost(check->page) &&
			!fpb_check_knows_high(check))
			break;
		check->live = false;
		CHECK_FOR_INTERRUPTS();
	}
	if (check->can_descend)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_IN_USE),
				 errmsg("could not check the leaf at block %u of index \"%s\"",
						check->blkno, RelationGetRelationName(ix->rel)),
				 errdetail("Whenever it was looked at, its right sibling was locked, or not what the leaf says.")));
}

/*
 * Ask an inner level, rc->level, where the leaf after the one at rc->from
 * begins, or a leaf further on.
 */
static void
find_next_key(FpbCheck *check)
{
	FpbRowCheck *rc = check->row_check;
	FpbIndex   *ix = rc->tree;
	FpbPos		pos;
	FpbEntry	entry;
	Buffer		buf;

	buf = fpb_descend(ix, &rc->from, rc->level, false, BUFFER_LOCK_SHARE, NULL);
	check->live = false;
	if (!BufferIsValid(buf))
		return;
	fpb_check_take(check, buf);
	if (!check->live)
		return;
	fpb_page_child(ix, check->page, &rc->from, false, &pos, &entry);
	pos = fpb_pos_behind(pos);
	if (!fpb_page_next(ix, check->page, &pos, &entry))
	{
		rc->at_end = FpbPageIsRightmost(check->page);
		entry.key = check->high;
		check->live = rc->at_end || fpb_check_knows_high(check);
	}
	if (!rc->at_end && check->live)
		set_from(rc, ix, &entry.key);
}

/*
 * Pass over the leaf at rc->from, which can't be read, and perhaps over more.
 * reason is the error that was raised, or NULL.
 */
static void
skip_leaf(FpbCheck *check, const char *reason)
{
	FpbRowCheck *rc = check->row_check;

	rc->incomplete = true;
	if (reason != NULL && rc->reason == NULL)
		rc->reason = MemoryContextStrdup(check->context, reason);
	rc->right = InvalidBlockNumber;
	for (rc->level = 1; check->can_descend && rc->level <= (int) rc->tree->level; rc->level++)
		if (fpb_check_try(check, find_next_key) == NULL && check->live)
			return;
	rc->at_end = true;
}

/*
 * Copy the next leaf that can be read.  False if there is none.
 */
static bool
next_leaf(FpbCheck *check)
{
	FpbRowCheck *rc = check->row_check;
	FpbIndex   *ix = rc->tree;

	for (;;)
	{
		char	   *reason;

		CHECK_FOR_INTERRUPTS();
		MemoryContextReset(check->page_cxt);
		if (rc->at_end)
			return false;
		if (++rc->nleaves % 1000 == 0 &&
			rc->nleaves > (int64) MAX_LEAVES_A_BLOCK * RelationGetNumberOfBlocks(ix->rel))
		{
			fpb_check_report(check, InvalidBlockNumber,
							 "The fences of leaves lead round in a circle.");
			rc->incomplete = true;
			return false;
		}
		reason = fpb_check_try(check, find_leaf);
		if (reason == NULL && check->live)
			break;
		if (!rc->at_end)
			skip_leaf(check, reason);
	}

	rc->right = FpbHdr(check->page)->right;
	rc->at_end = FpbPageIsRightmost(check->page);
	if (!rc->at_end)
		set_from(rc, ix, &check->high);
	return true;
}

/* ------------------------------------------------------------------------
 * The table
 * ------------------------------------------------------------------------
 */

/*
 * Callback of table_index_build_scan: check that a row has an entry.
 */
static void
check_row(Relation index pg_attribute_unused(), ItemPointer tid,
		  Datum *values, bool *isnull, bool tupleIsAlive pg_attribute_unused(),
		  void *state)
{
	FpbCheck   *check = state;
	FpbRowCheck *rc = check->row_check;
	MemoryContext old = MemoryContextSwitchTo(check->page_cxt);

	make_row_element(&check->ix, values, isnull, tid, &rc->element);
	if (bloom_lacks_element(rc->filter, (unsigned char *) rc->element.data,
							rc->element.len))
		fpb_check_report(check, InvalidBlockNumber,
						 "There is no entry for row (%u,%u) of table \"%s\".",
						 ItemPointerGetBlockNumber(tid),
						 ItemPointerGetOffsetNumber(tid),
						 RelationGetRelationName(check->heap));
	MemoryContextSwitchTo(old);
	MemoryContextReset(check->page_cxt);
}

/*
 * Check that each row that the snapshot sees has an entry.
 */
static void
check_table(FpbCheck *check)
{
	IndexInfo  *info = BuildIndexInfo(check->ix.rel);
	TableScanDesc scan;

	/*
	 * Like the first scan of CREATE INDEX CONCURRENTLY, this returns the rows
	 * that the snapshot sees.  It must not wait for insertions of others that
	 * might violate a constraint.
	 */
	scan = table_beginscan_strat(check->heap, check->row_check->snapshot, 0, NULL,
								 true, true);
	info->ii_Concurrent = true;
	info->ii_Unique = false;
	info->ii_ExclusionOps = NULL;
	info->ii_ExclusionProcs = NULL;
	info->ii_ExclusionStrats = NULL;
	table_index_build_scan(check->heap, check->ix.rel, info, true, false,
						   check_row, check, scan);
}

/* ------------------------------------------------------------------------
 * All of it
 * ------------------------------------------------------------------------
 */

/*
 * Set up the check of rows.  Takes the snapshot before any entry is read.
 */
static void
begin_rows(FpbCheck *check)
{
	Relation	index = check->ix.rel;
	FpbRowCheck *rc = palloc0(sizeof(FpbRowCheck));
	int64		nentries;

	check->row_check = rc;

	/*
	 * The transaction's snapshot won't do, because it may be older than the
	 * index.  It may see rows for which CREATE INDEX made no entries, and two
	 * rows with a key that was not unique yet.
	 */
	rc->snapshot = RegisterSnapshot(GetLatestSnapshot());

	nentries = Max((int64) check->nblocks * MIN_ENTRIES,
				   (int64) index->rd_rel->reltuples);
	rc->filter = bloom_create(nentries, maintenance_work_mem,
							  pg_prng_uint64(&pg_global_prng_state));
	initStringInfo(&rc->element);
	initStringInfo(&rc->row_element);
	rc->visible = palloc(FPB_MAX_PAGE_ENTRIES * sizeof(bool));
	rc->items = palloc(FPB_MAX_PAGE_ENTRIES * sizeof(FpbItem));
	rc->is_heap = check->heap->rd_tableam == GetHeapamTableAmRoutine();
	rc->heap_blocks = RelationGetNumberOfBlocks(check->heap);

	/* this very transaction may violate a deferred constraint, for now */
	rc->unique = index->rd_index->indisunique && index->rd_index->indimmediate;
	for (int i = 0; i < 2; i++)
	{
		rc->from_cxt[i] = AllocSetContextCreate(CurrentMemoryContext,
												"fpbtree check fence",
												ALLOCSET_SMALL_SIZES);
		rc->last_cxt[i] = AllocSetContextCreate(CurrentMemoryContext,
												"fpbtree check last key",
												ALLOCSET_SMALL_SIZES);
	}
}

/*
 * Walk over the leaves of a tree.
 */
static void
check_leaves(FpbCheck *check, FpbIndex *tree)
{
	FpbRowCheck *rc = check->row_check;
	FpbKey		lowest;
	char	   *fault;

	rc->tree = tree;
	rc->right = InvalidBlockNumber;
	rc->at_end = false;
	rc->nleaves = 0;
	fpb_key_minus_infinity(tree, &lowest);
	set_from(rc, tree, &lowest);
	while (next_leaf(check))
	{
		fault = fpb_check_try(check, check_leaf);
		if (fault != NULL)
		{
			fpb_check_report(check, check->blkno,
							 "Looking at the rows of its entries has failed: %s", fault);
			rc->incomplete = true;
		}
	}
}

/*
 * Check that rows and entries agree.
 */
void
fpb_check_rows(FpbCheck *check)
{
	FpbRowCheck *rc;
	char	   *fault;

	begin_rows(check);
	rc = check->row_check;
	MemoryContextSwitchTo(check->page_cxt);
	for (int i = 0; check->ix.may_queue && i < FPB_TIERS; i++)
		check_leaves(check, &check->tiers[i]);
	check_leaves(check, &check->ix);
	MemoryContextSwitchTo(check->context);

	/* a leaf may have been passed over, or the walk led astray */
	if (rc->incomplete || check->nfaulty > 0)
		fpb_check_report(check, InvalidBlockNumber,
						 "Whether each row has an entry was not looked at: %s%s",
						 check->nfaulty > 0 || rc->reason == NULL ? "pages are damaged." : "an error was raised.",
						 rc->reason != NULL ? psprintf(" First, %s", rc->reason) : "");
	else
	{
		fault = fpb_check_try(check, check_table);
		if (fault != NULL)
			fpb_check_report(check, InvalidBlockNumber,
							 "Looking for rows without entries has failed: %s", fault);
	}
	UnregisterSnapshot(rc->snapshot);
	bloom_free(rc->filter);
}
