/*-------------------------------------------------------------------------
 *
 * write/insert_plain.c
 *	  Insertion of an entry without a uniqueness check.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "storage/predicate.h"
#include "storage/smgr.h"
#include "utils/rel.h"

#include "base/options.h"
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
 * See write/write.h.
 */
bool
fpb_wants_queue(FpbIndex *ix, FpbInsertState *ins)
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

/*
 * Put an entry into the operation queue, and make one if there is none.
 * Returns false, with nothing done, if it is full: its leaf has no room, and
 * it has as many pages as it may have.  No lock is held on entry or exit.
 */
static bool
insert_queued(FpbIndex *ix, FpbInsertState *ins)
{
	FpbFilter	filter;
	FpbIndex	queue;
	FpbPut		put;

	/* the stack will be the queue's */
	ins->named = false;
	fpb_filter_open(&filter, ix->rel, 1, true);
	fpb_filter_prefetch(&filter, ins->entry.key.head);
	fpb_index_of_tier(ix, 1, &queue);
	while (!BufferIsValid(ins->buf = fpb_descend(&queue, &ins->search, 0, false,
												 BUFFER_LOCK_EXCLUSIVE, ins->stack)))
		fpb_begin_queue(&queue);
	put = fpb_put_queued(&queue, &filter, ins);
	if (put != FPB_PUT_NOWHERE)
		fpb_note_put(ix, &filter, put);
	return put != FPB_PUT_NOWHERE;
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
	if (fpb_wants_queue(ix, ins))
	{
		if (insert_queued(ix, ins))
			return;
		fpb_queue_make_room(ix, ins->heap, &ins->search);
		FPB_INJECTION_POINT("fpbtree-room-made");
		if (insert_queued(ix, ins))
			return;
	}
	fpb_descend_insert(ix, ins);
	CheckForSerializableConflictIn(ix->rel, NULL, BufferGetBlockNumber(ins->buf));
	fpb_page_search(ix, BufferGetPage(ins->buf), &ins->search, &ins->pos);
	(void) fpb_insert_on_page(ix, ins);
}
