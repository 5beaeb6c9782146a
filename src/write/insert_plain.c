/*-------------------------------------------------------------------------
 *
 * write/insert_plain.c
 *	  Insertion of an entry without a uniqueness check.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "portability/instr_time.h"
#include "storage/bufmgr.h"
#include "storage/predicate.h"
#include "storage/smgr.h"
#include "utils/rel.h"

#include "base/options.h"
#include "base/shared.h"
#include "queue/queue.h"
#include "write/write.h"

/*
 * The leaves of an index that is smaller than this fraction of shared_buffers
 * are taken to be in memory.
 */
#define QUEUE_BUFFERS_SHARE		4

/*
 * The size of the index as far as it is known.  It may be larger by now; the
 * known size grows when a link leads beyond it (check_link).
 */
static BlockNumber
known_blocks(const FpbIndex *ix)
{
	BlockNumber known = RelationGetSmgr(ix->rel)->smgr_cached_nblocks[MAIN_FORKNUM];

	return known != InvalidBlockNumber ? known : RelationGetNumberOfBlocks(ix->rel);
}

/*
 * May leaves of the index have to be read from storage?
 */
bool
fpb_may_be_cold(const FpbIndex *ix)
{
	return known_blocks(ix) >= (BlockNumber) NBuffers / QUEUE_BUFFERS_SHARE;
}

/*
 * Should an entry be put into the operation queue, if that has room?
 *
 * By default, it should if the leaf where it belongs would have to be read, as
 * far as that can be told without reading anything.  But a leaf that two
 * insertions in succession belong to is read.  Otherwise ascending keys would
 * go to the queue until that is full, once their leaf has not been in memory.
 *
 * Names the leaf if it has to be looked at.  No lock is held on entry or exit.
 */
static bool
wants_queue(FpbIndex *ix, FpbInsertState *ins)
{
	FpbQueueMode mode;
	BlockNumber leaf;

	if (!ix->may_queue || ix->old_heads)
		return false;
	mode = fpb_queue_mode(ix->rel);
	if (mode != FPB_QUEUE_AUTO)
		return mode == FPB_QUEUE_ON;
	if (!fpb_may_be_cold(ix))
		return false;
	if (!fpb_name_leaf(ix, ins))
		return false;
	leaf = ins->stack->blocks[0];
	return !fpb_is_at_hand(ix, leaf) && fpb_cache_note_queued(ix->cache, leaf);
}

/* repeat a request that has not been taken after so many insertions */
#define ASK_AGAIN	256

/*
 * Put an entry into the operation queue, and make one if there is none.
 * Returns false, with nothing done, if it is full: its leaf has no room, and
 * it has as many pages as it may have.  No lock is held on entry or exit.
 */
static bool
insert_queued(FpbIndex *ix, FpbInsertState *ins)
{
	static uint32 insertions = 0;
	FpbFilter	filter;
	FpbIndex	queue;

	/* the stack will be the queue's */
	ins->named = false;
	fpb_filter_open(&filter, ix->rel);
	fpb_filter_prefetch(&filter, ins->entry.key.head);
	fpb_index_of_queue(ix, &queue);
	while (!BufferIsValid(ins->buf = fpb_descend(&queue, &ins->search, 0, false,
												 BUFFER_LOCK_EXCLUSIVE, ins->stack)))
	{
		CHECK_FOR_INTERRUPTS();
		fpb_queue_begin(&queue);
		fpb_worker_request(ix->rel);
	}

	/*
	 * A scan that would have found the row has a predicate lock on this leaf;
	 * or on the metapage, if it has found that there was no queue.
	 */
	CheckForSerializableConflictIn(ix->rel, NULL, BufferGetBlockNumber(ins->buf));
	CheckForSerializableConflictIn(ix->rel, NULL, FPB_METAPAGE);

	/* before the entry can be seen: a lookup must not pass over it */
	fpb_filter_add(&filter, ins->entry.key.head);
	fpb_page_search(&queue, BufferGetPage(ins->buf), &ins->search, &ins->pos);
	ins->may_split = false;
	if (fpb_insert_on_page(&queue, ins))
	{
		/*
		 * The worker has to know that entries come, even if no leaf is split.
		 * A request may have been in vain, because no worker could be started
		 * or it has been stopped, so it is repeated now and then.
		 */
		if (filter.shared != NULL &&
			(pg_atomic_read_u32(&filter.shared->request) != FPB_REQUESTED || ++insertions % ASK_AGAIN == 0))
			fpb_worker_request(ix->rel);
		if (filter.shared != NULL)
			pg_atomic_fetch_add_u64(&filter.shared->queue_entries, 1);
		return true;
	}
	ins->may_split = true;
	if (fpb_queue_pages(ix, NULL) >= fpb_queue_limit(ix->rel, RelationGetNumberOfBlocks(ix->rel)))
	{
		fpb_relbuf(ins->buf);
		fpb_filter_remove(&filter, ins->entry.key.head);
		return false;
	}
	(void) fpb_insert_on_page(&queue, ins);
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
 * Make room in the operation queue, which is full, where an entry belongs, and
 * count how long that takes.  No lock is held on entry or exit.
 */
static void
make_room(FpbIndex *ix, Relation heap, FpbSearchKey *search)
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
 * Insert a row's entry without a uniqueness check: into the operation queue,
 * or into its leaf.  If the queue is full, room is made there.  The entry goes
 * into its leaf all the same if others have taken that room, or if it is not
 * on the entry's page.
 */
void
fpb_insert_plain(FpbIndex *ix, FpbInsertState *ins)
{
	fpb_search_key_from(ix, &ins->entry.key, &ins->search);
	if (wants_queue(ix, ins))
	{
		if (insert_queued(ix, ins))
			return;
		make_room(ix, ins->heap, &ins->search);
		FPB_INJECTION_POINT("fpbtree-room-made");
		if (insert_queued(ix, ins))
			return;
	}
	fpb_descend_insert(ix, ins);
	CheckForSerializableConflictIn(ix->rel, NULL, BufferGetBlockNumber(ins->buf));
	fpb_page_search(ix, BufferGetPage(ins->buf), &ins->search, &ins->pos);
	(void) fpb_insert_on_page(ix, ins);
}
