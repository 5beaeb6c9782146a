/*-------------------------------------------------------------------------
 *
 * write/insert.c
 *	  Insertion of rows, and the uniqueness check that goes with it.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/tableam.h"
#include "access/transam.h"
#include "miscadmin.h"
#include "portability/instr_time.h"
#include "storage/bufmgr.h"
#include "storage/lmgr.h"
#include "storage/predicate.h"
#include "storage/smgr.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "base/options.h"
#include "base/shared.h"
#include "queue/queue.h"
#include "tree/tree.h"
#include "write/write.h"

/* what a uniqueness check is about and what it finds */
typedef struct UniqueCheck
{
	FpbIndex   *ix;
	Relation	heap;
	IndexUniqueCheck mode;
	const FpbKey *key;			/* of the new row */
	Datum	   *values;
	bool	   *isnull;
	SnapshotData dirty;
	FpbPos	   *dead;			/* entries of the leaf at hand that are dead
								 * to everyone */
	int			ndead;
	bool		found_self;		/* UNIQUE_CHECK_EXISTING: our own entry seen */
	bool		unique;
} UniqueCheck;

/*
 * Report a duplicate, unless the new row itself has died meanwhile.  Returns
 * in the latter case only.
 */
static void
report_duplicate(UniqueCheck *check, Buffer first, Buffer here)
{
	Relation	rel = check->ix->rel;
	ItemPointerData tid;
	char	   *description;

	fpb_tail_tid(check->key->tail, &tid);

	/*
	 * A deferred check may come to a row that has been deleted or updated
	 * since, and then there is no conflict.
	 */
	if (!table_index_fetch_tuple_check(check->heap, &tid, SnapshotSelf, NULL))
		return;

	/* A serializable conflict, if this is one, is the better explanation. */
	CheckForSerializableConflictIn(rel, NULL, BufferGetBlockNumber(first));

	/* The description may call user code: not with pages locked. */
	if (here != first)
		fpb_relbuf(here);
	fpb_relbuf(first);

	description = BuildIndexValueDescription(rel, check->values, check->isnull);
	ereport(ERROR,
			(errcode(ERRCODE_UNIQUE_VIOLATION),
			 errmsg("duplicate key value violates unique constraint \"%s\"",
					RelationGetRelationName(rel)),
			 description ? errdetail("Key %s already exists.", description) : 0,
			 errtableconstraint(check->heap, RelationGetRelationName(rel))));
}

/*
 * Leave hints for the entries of a leaf, locked, that have been found dead.
 */
static void
kill_dead(UniqueCheck *check, Buffer here)
{
	fpb_kill_entries(check->ix, check->heap, here, check->dead, check->ndead);
	check->ndead = 0;
}

/*
 * See whether the row of an entry with an equal key conflicts with the new
 * one.  Returns the transaction to wait for, if any.  *done is set if no more
 * entries are to be looked at.
 */
static TransactionId
check_entry(UniqueCheck *check, Buffer first, Buffer here, FpbPos pos,
			const FpbEntry *entry, bool *done)
{
	ItemPointerData tid;
	bool		all_dead = false;
	TransactionId xwait;

	fpb_tail_tid(entry->key.tail, &tid);
	if (check->mode == UNIQUE_CHECK_EXISTING &&
		(entry->key.tail & FPB_TAIL_TID_MASK) == (check->key->tail & FPB_TAIL_TID_MASK))
	{
		check->found_self = true;
		return InvalidTransactionId;
	}
	if (!table_index_fetch_tuple_check(check->heap, &tid, &check->dirty, &all_dead))
	{
		if (all_dead && check->dead == NULL)
			check->dead = palloc(FPB_MAX_PAGE_ENTRIES * sizeof(FpbPos));
		if (all_dead)
			check->dead[check->ndead++] = pos;
		return InvalidTransactionId;
	}

	/* With a partial check, it is enough to know that it may be a duplicate. */
	if (check->mode == UNIQUE_CHECK_PARTIAL)
	{
		check->unique = false;
		*done = true;
		return InvalidTransactionId;
	}

	xwait = TransactionIdIsValid(check->dirty.xmin) ?
		check->dirty.xmin : check->dirty.xmax;
	if (TransactionIdIsValid(xwait))
		return xwait;

	kill_dead(check, here);
	report_duplicate(check, first, here);
	*done = true;
	return InvalidTransactionId;
}

/*
 * Look for rows that conflict with the new one, from the leaf "first" on,
 * which is the first that can hold an entry of its key, and which is locked
 * exclusively.  It stays locked: other inserters of the key wait for it.
 *
 * Returns the transaction that must end before it can be told.
 */
static TransactionId
check_unique(UniqueCheck *check, Buffer first, const FpbSearchKey *start)
{
	FpbIndex   *ix = check->ix;
	FpbSearchKey end;
	Buffer		here = first;
	FpbPos		pos;
	FpbEntry	entry;
	TransactionId xwait = InvalidTransactionId;
	bool		done = false;
	uint32		steps = 0;

	fpb_page_search(ix, BufferGetPage(first), start, &pos);

	/* keys that ascend come behind all that there is */
	if (FpbPageIsRightmost(BufferGetPage(first)) &&
		!fpb_page_next(ix, BufferGetPage(first), &pos, &entry))
		return InvalidTransactionId;

	check->dead = NULL;
	check->ndead = 0;
	fpb_search_keys_equal(ix, check->key, true, &end);
	for (;;)
	{
		Page		page = BufferGetPage(here);

		if (fpb_page_next(ix, page, &pos, &entry))
		{
			if (fpb_keys_equal(ix, &entry.key, check->key))
			{
				if (!fpb_page_is_killed(ix, page, pos))
					xwait = check_entry(check, first, here, pos, &entry, &done);
				if (done || TransactionIdIsValid(xwait))
					break;
			}
			else if (fpb_compare(ix, &entry.key, &end) >= 0)
				break;
			pos = fpb_pos_behind(pos);
		}
		else
		{
			Buffer		next;

			/* before the sibling is locked, if only to tell where this ends */
			if (unlikely(FpbHdr(page)->right == BufferGetBlockNumber(first)))
				fpb_report_damage(ix->rel, BufferGetBlockNumber(here),
								  "The right links form a circle.");
			if (fpb_compare_end(ix, here, &end) > 0)
				break;

			fpb_count_step(ix, here, &steps);
			next = fpb_getbuf_right(ix, here, BUFFER_LOCK_SHARE);
			kill_dead(check, here);
			if (here != first)
				fpb_relbuf(here);
			here = next;
			pos = FPB_POS_FIRST;
		}
	}
	kill_dead(check, here);
	if (check->dead != NULL)
		pfree(check->dead);
	if (here != first)
		fpb_relbuf(here);
	return xwait;
}

/*
 * From the leaf on which a new entry's key may be, locked exclusively, go to
 * the one its TID assigns it to, never without a lock.
 */
static Buffer
move_to_place(FpbIndex *ix, Buffer buf, const FpbKey *key)
{
	FpbSearchKey search;
	uint32		steps = 0;

	fpb_search_key_from(ix, key, &search);
	while (fpb_compare_end(ix, buf, &search) <= 0)
	{
		Buffer		next;

		fpb_count_step(ix, buf, &steps);
		next = fpb_getbuf_right(ix, buf, BUFFER_LOCK_EXCLUSIVE);
		fpb_relbuf(buf);
		buf = next;
		/* it has a downlink, as its left sibling's split was complete */
		if (FpbPageSplitIncomplete(BufferGetPage(buf)) &&
			!fpb_finish_split(ix, buf))
			fpb_report_damage(ix->rel, BufferGetBlockNumber(buf),
							  "The page has no downlink.");
	}
	return buf;
}

/*
 * Have a row's entry inserted into a unique index, once no other row can
 * conflict.  Returns whether the key is unique for sure.
 */
static bool
insert_unique(FpbIndex *ix, Relation heap, FpbEntry *entry, Datum *values,
			  bool *isnull, IndexUniqueCheck mode, bool unchanged)
{
	UniqueCheck check;
	FpbSearchKey start;
	FpbStack	stack;

	check.ix = ix;
	check.heap = heap;
	check.mode = mode;
	check.key = &entry->key;
	check.values = values;
	check.isnull = isnull;
	InitDirtySnapshot(check.dirty);

	fpb_search_keys_equal(ix, &entry->key, false, &start);

	for (;;)
	{
		Buffer		buf = fpb_descend_insert(ix, &start, &stack);
		TransactionId xwait;

		check.unique = true;
		check.found_self = false;
		xwait = check_unique(&check, buf, &start);
		if (TransactionIdIsValid(xwait))
		{
			uint32		token = check.dirty.speculativeToken;
			ItemPointerData tid;

			fpb_relbuf(buf);
			fpb_tail_tid(entry->key.tail, &tid);
			if (token != 0)
				SpeculativeInsertionWait(xwait, token);
			else
				XactLockTableWait(xwait, ix->rel, &tid, XLTW_InsertIndex);
			continue;
		}

		if (mode == UNIQUE_CHECK_EXISTING)
		{
			fpb_relbuf(buf);
			if (!check.found_self)
				ereport(ERROR,
						(errcode(ERRCODE_INTERNAL_ERROR),
						 errmsg("failed to re-find tuple within index \"%s\"",
								RelationGetRelationName(ix->rel)),
						 errhint("This may be because of a non-immutable index expression."),
						 errtableconstraint(heap, RelationGetRelationName(ix->rel))));
			return true;
		}

		buf = move_to_place(ix, buf, &entry->key);

		/*
		 * A scan that would have found the row has locked this leaf.  (Not
		 * always the one where the key begins: a backward scan may not have
		 * come to that yet.)
		 */
		CheckForSerializableConflictIn(ix->rel, NULL, BufferGetBlockNumber(buf));
		fpb_insert_entry(ix, heap, buf, &stack, entry, unchanged);
		return check.unique;
	}
}

/*
 * The least size of an index, a fraction of shared_buffers, for its leaves to
 * be asked whether they are in memory.
 */
#define QUEUE_BUFFERS_SHARE		4

/*
 * How large is the index at least?  What is known grows as links lead further
 * (check_link), as those of a growing index do.
 */
static BlockNumber
known_blocks(const FpbIndex *ix)
{
	BlockNumber known = RelationGetSmgr(ix->rel)->smgr_cached_nblocks[MAIN_FORKNUM];

	return known != InvalidBlockNumber ? known : RelationGetNumberOfBlocks(ix->rel);
}

/*
 * Is an entry to be put into the operation queue, if that has room?
 *
 * By default it is if the leaf where it belongs would have to be read: as far
 * as that can be told without reading anything.  A leaf that is asked for
 * twice running is worth it: or ascending keys would go to the queue until
 * that is full, once their leaf has been found missing.
 */
static bool
wants_queue(FpbIndex *ix, const FpbSearchKey *search)
{
	FpbQueueMode mode;
	BlockNumber leaf;

	if (!ix->may_queue)
		return false;
	mode = fpb_queue_mode(ix->rel);
	if (mode != FPB_QUEUE_AUTO)
		return mode == FPB_QUEUE_ON;
	if (known_blocks(ix) < (BlockNumber) NBuffers / QUEUE_BUFFERS_SHARE)
		return false;
	leaf = fpb_name_leaf(ix, search);
	return leaf != InvalidBlockNumber && !fpb_is_at_hand(ix, leaf) &&
		fpb_index_note_queued(ix, leaf);
}

/* a worker is asked for with so many insertions, if it seems to be coming */
#define ASK_AGAIN	256

/*
 * Put an entry into the operation queue.  False, with nothing done, if that is
 * full: its leaf has no room, and it has as many pages as it may.  No lock is
 * held on entry or exit.
 */
static bool
insert_queued(FpbIndex *ix, const FpbEntry *entry, const FpbSearchKey *search)
{
	static uint32 insertions = 0;
	FpbFilter	filter;
	FpbIndex	queue;
	FpbStack	stack;
	Buffer		buf;

	fpb_filter_open(&filter, ix->rel);
	fpb_filter_prefetch(&filter, entry->key.head);
	fpb_index_of_queue(ix, &queue);
	while (!BufferIsValid(buf = fpb_descend(&queue, search, 0, false,
											BUFFER_LOCK_EXCLUSIVE, &stack)))
	{
		CHECK_FOR_INTERRUPTS();
		fpb_queue_begin(&queue);
		fpb_worker_request(ix->rel);
	}

	/*
	 * A scan that would have found the row has locked this leaf; or the
	 * metapage, if it has found that there was no queue.
	 */
	CheckForSerializableConflictIn(ix->rel, NULL, BufferGetBlockNumber(buf));
	CheckForSerializableConflictIn(ix->rel, NULL, FPB_METAPAGE);

	/* whoever looks for the entry must not be told that there is none */
	fpb_filter_add(&filter, entry->key.head);
	if (fpb_insert_if_fits(&queue, buf, entry))
	{
		/*
		 * The worker is to know that entries come; and there may be some from
		 * before a crash, and no leaf be split.  One that is wanted may have
		 * been refused, or have been stopped.
		 */
		if (filter.shared != NULL &&
			(pg_atomic_read_u32(&filter.shared->wanted) != FPB_REQUESTED || ++insertions % ASK_AGAIN == 0))
			fpb_worker_request(ix->rel);
		if (filter.shared != NULL)
			pg_atomic_fetch_add_u64(&filter.shared->queue_entries, 1);
		return true;
	}
	if (fpb_queue_pages(ix, NULL) >= fpb_queue_limit(ix->rel, RelationGetNumberOfBlocks(ix->rel)))
	{
		fpb_relbuf(buf);
		fpb_filter_remove(&filter, entry->key.head);
		return false;
	}
	fpb_insert_entry(&queue, NULL, buf, &stack, entry, false);
	if (filter.shared != NULL)
	{
		if (pg_atomic_read_u32(&filter.shared->queue_pages) != FPB_PAGES_UNKNOWN)
			pg_atomic_write_u32(&filter.shared->queue_pages, fpb_queue_pages(ix, NULL));
		pg_atomic_fetch_add_u64(&filter.shared->queue_entries, 1);
	}
	fpb_worker_request(ix->rel);
	return true;
}

/*
 * The operation queue is full where an entry belongs: do one leaf's work for
 * it.  No lock is held on entry or exit.
 */
static void
make_room(FpbIndex *ix, Relation heap, const FpbSearchKey *search)
{
	FpbShared  *shared = fpb_shared_of(RelationGetRelid(ix->rel));
	instr_time	begin;
	instr_time	end;
	uint64		longest;
	uint64		time;

	fpb_worker_request(ix->rel);
	INSTR_TIME_SET_CURRENT(begin);
	fpb_drain_make_room(ix, heap, search);
	INSTR_TIME_SET_CURRENT(end);

	if (shared == NULL)
		return;
	INSTR_TIME_SUBTRACT(end, begin);
	time = INSTR_TIME_GET_MICROSEC(end);
	pg_atomic_fetch_add_u64(&shared->stalls, 1);
	longest = pg_atomic_read_u64(&shared->longest_stall);
	while (time > longest &&
		   !pg_atomic_compare_exchange_u64(&shared->longest_stall, &longest, time))
		;
}

/*
 * Insert a row's entry into an index that allows duplicates, or whose check is
 * not wanted now.  It goes into its leaf if it is not to be queued, or if the
 * room that has been made for it in the queue has been taken by others, or is
 * where it is of no use to it.
 */
static void
insert_plain(FpbIndex *ix, Relation heap, FpbEntry *entry, bool unchanged)
{
	FpbSearchKey search;
	FpbStack	stack;
	Buffer		buf;

	fpb_search_key_from(ix, &entry->key, &search);
	if (wants_queue(ix, &search))
	{
		if (insert_queued(ix, entry, &search))
			return;
		make_room(ix, heap, &search);
		FPB_INJECTION_POINT("fpbtree-room-made");
		if (insert_queued(ix, entry, &search))
			return;
	}
	buf = fpb_descend_insert(ix, &search, &stack);
	CheckForSerializableConflictIn(ix->rel, NULL, BufferGetBlockNumber(buf));
	fpb_insert_entry(ix, heap, buf, &stack, entry, unchanged);
}

/*
 * aminsert: insert the entry of a row, checking uniqueness as told.
 */
bool
fpb_insert(Relation rel, Datum *values, bool *isnull, ItemPointer tid,
		   Relation heap, IndexUniqueCheck checkUnique, bool indexUnchanged,
		   IndexInfo *indexInfo)
{
	FpbIndex	ix;
	FpbEntry	entry;
	bool		unique = true;

	fpb_worker_note_use();
	fpb_index_open(&ix, rel);
	entry.child = InvalidBlockNumber;
	fpb_key_form(&ix, values, isnull, tid, &entry.key);
	fpb_check_key_size(&ix, heap, &entry.key);

	/* NULLs are equal to nothing, unless the index says otherwise. */
	if (checkUnique != UNIQUE_CHECK_NO && !indexInfo->ii_NullsNotDistinct &&
		fpb_key_has_null(&ix, &entry.key))
	{
		/* a deferred check of such a row has nothing to do */
		if (checkUnique == UNIQUE_CHECK_EXISTING)
			return true;
		checkUnique = UNIQUE_CHECK_NO;
	}

	if (checkUnique == UNIQUE_CHECK_NO)
		insert_plain(&ix, heap, &entry, indexUnchanged);
	else
		unique = insert_unique(&ix, heap, &entry, values, isnull, checkUnique,
							   indexUnchanged);
	if (entry.key.tuple != NULL)
		pfree(entry.key.tuple);
	return unique;
}
