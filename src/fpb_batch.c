/*-------------------------------------------------------------------------
 *
 * fpb_batch.c
 *	  Batch update: moving what waits in the operation queue to the main tree.
 *
 * The queue's leaves are gone through in the order of keys, so that all that
 * it has for a leaf of the main tree is done at one visit (pio-btree, 3.3).
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/bufmgr.h"

#include "fpb_tree.h"
#include "fpb_write.h"

/*
 * Move all that is in the queue to the main tree, and take the queue away if
 * nothing is put into it meanwhile.  Returns how many entries have moved.  No
 * lock is held on entry or exit.  heap is the index's table.
 */
int64
fpb_batch_update(FpbIndex *ix, Relation heap)
{
	FpbIndex	queue;
	FpbLeaves	walk;
	Buffer		buf;
	int64		moved = 0;

	fpb_index_refresh(ix);
	fpb_index_of_queue(ix, &queue);
	fpb_leaves_begin(&walk, &queue);
	while (BufferIsValid(buf = fpb_leaves_next(&walk)))
	{
		Page		page = BufferGetPage(buf);
		FpbPos		pos = FPB_POS_FIRST;
		FpbEntry	entry;
		FpbStack	stack;
		Buffer		leaf;

		if (walk.begun)
			fpb_page_search(&queue, page, &walk.from, &pos);
		if (!fpb_page_next(&queue, page, &pos, &entry))
		{
			fpb_leaves_leave(&walk, buf, NULL);
			continue;
		}
		fpb_leaves_leave(&walk, buf, &entry.key);
		CHECK_FOR_INTERRUPTS();
		leaf = fpb_descend(ix, &walk.from, 0, false, BUFFER_LOCK_EXCLUSIVE, &stack);
		moved += fpb_move_entries(ix, heap, leaf, &stack, &walk.from, NULL, false);
	}
	fpb_leaves_end(&walk);
	fpb_queue_trim(&queue);
	return moved;
}
