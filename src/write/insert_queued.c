/*-------------------------------------------------------------------------
 *
 * write/insert_queued.c
 *	  Insertion of an entry into the operation queue.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "portability/instr_time.h"
#include "storage/bufmgr.h"
#include "storage/predicate.h"
#include "utils/rel.h"

#include "base/queue_memory.h"
#include "base/shared.h"
#include "write/write.h"

/* repeat a request that has not been taken after so many insertions */
#define ASK_AGAIN	256

/*
 * See write/write.h.
 */
void
fpb_begin_queue(FpbIndex *queue)
{
	CHECK_FOR_INTERRUPTS();
	fpb_queue_begin(queue);
	fpb_worker_request(queue->rel);
}

/*
 * See write/write.h.
 */
FpbPut
fpb_put_queued(FpbIndex *queue, const FpbFilter *filter, FpbInsertState *ins)
{
	Relation	rel = queue->rel;

	/*
	 * A scan that would have found the row has a predicate lock on this leaf;
	 * or on the metapage, if it has found that there was no queue.
	 */
	CheckForSerializableConflictIn(rel, NULL, BufferGetBlockNumber(ins->buf));
	CheckForSerializableConflictIn(rel, NULL, FPB_METAPAGE);

	/* before the entry can be seen: a lookup must not pass over it */
	fpb_filter_add(filter, ins->entry.key.head);
	fpb_page_search(queue, BufferGetPage(ins->buf), &ins->search, &ins->pos);
	ins->may_split = false;
	if (fpb_insert_on_page(queue, ins))
		return FPB_PUT_IN_PLACE;
	ins->may_split = true;
	if (fpb_tier_pages(queue, 1, NULL) >=
		fpb_tier_limit(rel, filter->shared, RelationGetNumberOfBlocks(rel), 1))
	{
		fpb_relbuf(ins->buf);
		FPB_INJECTION_POINT("fpbtree-queue-full");
		if (fpb_filter_begin_erasing(filter))
		{
			fpb_filter_erase(filter, ins->entry.key.head);
			fpb_filter_end_erasing();
		}
		return FPB_PUT_NOWHERE;
	}
	(void) fpb_insert_on_page(queue, ins);
	return FPB_PUT_BY_SPLIT;
}

/*
 * See write/write.h.
 */
void
fpb_note_put(const FpbIndex *ix, const FpbFilter *filter, FpbPut put)
{
	static uint32 insertions = 0;
	FpbShared  *shared = filter->shared;

	if (shared != NULL)
	{
		FpbSharedTier *tier = fpb_shared_tier(shared, 1);

		if (put == FPB_PUT_BY_SPLIT && pg_atomic_read_u32(&tier->pages) != FPB_PAGES_UNKNOWN)
			pg_atomic_write_u32(&tier->pages, fpb_tier_pages(ix, 1, NULL));
		pg_atomic_fetch_add_u64(&tier->entries, 1);
	}
	fpb_count_queued(ix->rel, shared);

	/*
	 * The worker has to know that entries come, even if no leaf is split. A
	 * request may have been in vain, because no worker could be started or it
	 * has been stopped, so it is repeated now and then.
	 */
	if (put == FPB_PUT_BY_SPLIT ||
		(shared != NULL &&
		 (pg_atomic_read_u32(&shared->request) != FPB_REQUESTED || ++insertions % ASK_AGAIN == 0)))
		fpb_worker_request(ix->rel);
}

/*
 * See write/write.h.
 */
void
fpb_queue_make_room(FpbIndex *ix, Relation heap, FpbSearchKey *search)
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
