/*-------------------------------------------------------------------------
 *
 * queue/move.c
 *	  Moving entries from the operation queue to the main tree.
 *
 * What the queue has for a main leaf moves there in one record, which covers
 * that leaf and the queue's leaf, both locked exclusively.  So an entry is in
 * one of them or in the other, at any time and in every prefix of the WAL.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xloginsert.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "storage/predicate.h"
#include "utils/memutils.h"

#include "base/options.h"
#include "queue/queue.h"
#include "tree/tree.h"
#include "tree/verify.h"

/* slots in a hundred left free in a leaf if its image is logged anyway */
#define IMAGE_SLACK	3

/* a move to a main leaf */
typedef struct Move
{
	FpbIndex   *ix;
	FpbIndex   *queue;
	Buffer		leaf;			/* of the main tree; locked exclusively */
	Buffer		from;			/* the queue's leaf; likewise, or
								 * InvalidBuffer */
	FpbEntry   *entries;		/* what is to move, in order */
	int			nentries;
	FpbPos	   *places;			/* of these in the queue's leaf */
	const FpbFilter *counted;	/* where entries that move are counted off;
								 * NULL: nowhere */
} Move;

/*
 * Copy an entry's tuple, with its own TID, as a row's new entry has it: in the
 * page, several entries may share the tuple.
 */
static IndexTuple
copy_tuple(const FpbIndex *ix, const FpbKey *key)
{
	IndexTuple	copy = fpb_copy_whole_tuple(ix, key);

	fpb_tail_tid(key->tail, &copy->t_tid);
	return copy;
}

/*
 * Collect what the queue's leaf has for the main leaf, which begins at low and
 * ends at high (NULL: infinite).  Both leaves are locked.
 */
static void
collect(Move *m, const FpbSearchKey *low, const FpbSearchKey *high)
{
	Page		page = BufferGetPage(m->from);
	FpbItem    *items = palloc(sizeof(FpbItem) * FPB_MAX_PAGE_ENTRIES);
	FpbPos		pos = FPB_POS_FIRST;
	bool		more;
	int			n;

	if (low != NULL)
		fpb_page_search(m->queue, page, low, &pos);
	n = fpb_page_read(m->queue, page, pos, high, false, items,
					  FPB_MAX_PAGE_ENTRIES, &more);
	for (int i = 0; i < n; i++)
	{
		FpbEntry   *entry = &m->entries[i];

		entry->key = items[i].key;
		entry->child = InvalidBlockNumber;
		if (entry->key.tuple != NULL)
		{
			entry->key.head = fpb_key_head(m->queue, &items[i].key);
			entry->key.tuple = copy_tuple(m->queue, &items[i].key);
			entry->key.cut_in = NULL;
		}
		m->places[i] = items[i].pos;
	}
	m->nentries = n;
	pfree(items);
}

/*
 * Pack the copy of the main leaf, so that the image of it that is logged is
 * small.  The copy stays as it is if its entries can't be packed with some
 * slots left free.
 */
static void
pack_copy(const Move *m, FpbWalPage *wp)
{
	FpbEntry   *entries = palloc(sizeof(FpbEntry) * FPB_MAX_PAGE_ENTRIES);
	Page		image = palloc_aligned(BLCKSZ, PG_IO_ALIGN_SIZE, 0);
	FpbPageContent content;
	FpbKey		low;
	FpbKey		high;

	fpb_page_frame(m->ix, wp->page, &low, &high, &content);
	content.nentries = fpb_page_entries(m->ix, wp->page, entries);
	content.entries = entries;
	if (fpb_page_build(m->ix, image, &content, IMAGE_SLACK))
		fpb_page_replace(wp->page, image, wp);
	pfree(image);
	pfree(entries);
}

/*
 * Delete the first n entries from the queue's leaf, and log that in one record
 * with the pages that have got them: the main leaf, and, unless right is
 * invalid, the right half of its split.
 */
static void
log_move(Move *m, int n, FpbWal *wal, Buffer right)
{
	FpbWalPage *wp_from = fpb_wal_add(wal, m->from, false);

	fpb_wal_enter(wal);
	fpb_page_delete(m->queue, BufferGetPage(m->from), m->places, n, wp_from);
	fpb_wal_finish(wal);
	fpb_verify_move(m->ix, wal, BufferIsValid(right), m->entries, n);
	fpb_verify_delete(m->queue, wal, BufferIsValid(right) ? 2 : 1, m->places, n);
	for (int i = 0; m->counted != NULL && i < n; i++)
		fpb_filter_remove(m->counted, m->entries[i].key.head);
}

/*
 * Release the queue's leaf, if it is locked.
 */
static void
release_from(Move *m)
{
	if (BufferIsValid(m->from))
		fpb_relbuf(m->from);
	m->from = InvalidBuffer;
}

/*
 * Split the main leaf and add one more entry; its copy has got n entries
 * already.  Both leaves are locked exclusively, and released.
 *
 * If an image of the leaf is due, then entries come to it less often than
 * checkpoints, and one will be due next time, too.  The halves will be made
 * afresh then, and need no gaps now.
 */
static void
split_and_move(Move *m, FpbStack *stack, Page copy, int n, bool image_due)
{
	FpbIndex   *ix = m->ix;
	PGAlignedBlock *images = palloc_aligned(2 * sizeof(PGAlignedBlock), PG_IO_ALIGN_SIZE, 0);
	Buffer		right = fpb_allocbuf(ix->rel);
	FpbWal		wal;
	FpbWalPage *wp_left;
	FpbWalPage *wp_right;
	FpbSplitAim aim = {.fullness = fpb_split_fillfactor(ix),.following = m->nentries - n - 1,
	.last = &m->entries[m->nentries - 1]};

	fpb_wal_begin(&wal, ix->rel);
	wp_left = fpb_wal_add_copy(&wal, m->leaf, images[0].data);
	wp_right = fpb_wal_add_copy(&wal, right, images[1].data);
	fpb_page_split(ix, copy, &m->entries[n], fpb_page_place(ix, copy, &m->entries[n], FPB_POS_FIRST),
				   BufferGetBlockNumber(right),
				   &aim,
				   image_due ? FPB_HALVES_PACKED : FPB_HALVES_SPREAD,
				   wp_left, wp_right);
	log_move(m, n + 1, &wal, right);
	PredicateLockPageSplit(ix->rel, BufferGetBlockNumber(m->leaf),
						   BufferGetBlockNumber(right));
	pfree(images);

	/* nobody may wait for an inner page with a page of the queue locked */
	FPB_INJECTION_POINT("fpbtree-moved-with-split");
	release_from(m);
	(void) fpb_insert_downlink(ix, m->leaf, right, stack, NULL);
	fpb_relbuf(right);
	fpb_relbuf(m->leaf);
}

/*
 * Lock the queue's leaf for a place exclusively, and collect what is to move
 * from there.  The main leaf is locked; it begins at low and ends at high.
 *
 * m->from becomes InvalidBuffer if there is no queue, or if *missing has been
 * set (fpb_descend_queue).
 */
static void
begin_move(Move *m, FpbSearchKey *place, const FpbSearchKey *low, const FpbSearchKey *high,
		   BlockNumber *missing)
{
	m->nentries = 0;
	FPB_INJECTION_POINT("fpbtree-move-leaf-locked");
	m->from = fpb_descend_queue(m->queue, place, false, BUFFER_LOCK_EXCLUSIVE, NULL, missing);
	if (BufferIsValid(m->from))
	{
		FPB_INJECTION_POINT("fpbtree-move-both-locked");
		collect(m, low, high);
	}
}

/*
 * Move to the main leaf in buf what the queue's leaf for a place has for it.
 * The main leaf is the one that place falls into; it is locked exclusively,
 * and released.  No other lock is held.  stack is what the descent to the main
 * leaf has passed, a hint.  heap is the index's table.
 *
 * Entries that move are counted off in *counted, unless that is NULL.  The
 * caller asks whether they have to be (fpb_filter_counted) before it locks the
 * leaf.
 *
 * Returns how many entries have moved.  A leaf is split once at most, which
 * may not make room for all.  If entries are left, or if *last belongs to a
 * leaf further right, *more becomes true, and *place where these begin.
 *
 * Returns -1, with nothing done, if a page of the queue was not in memory.  No
 * page is read while the main leaf is locked; so that page has been read after
 * the leaf was released, and the caller starts again.
 */
int
fpb_move_entries(FpbIndex *ix, Relation heap, Buffer buf, FpbStack *stack,
				 FpbSearchKey *place, const FpbKey *last,
				 const FpbFilter *counted, bool *more)
{
	FpbIndex	queue;
	BlockNumber missing;
	Move		m = {.ix = ix,.queue = &queue,.leaf = buf,.from = InvalidBuffer,.counted = counted};
	Page		page = BufferGetPage(buf);
	FpbSearchKey low;
	FpbSearchKey high;
	FpbSearchKey *lowp = NULL;
	FpbSearchKey *highp = NULL;
	FpbWal		wal;
	FpbWalPage *wp = NULL;
	Page		copy = palloc_aligned(BLCKSZ, PG_IO_ALIGN_SIZE, 0);
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "fpbtree move",
												  ALLOCSET_SMALL_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	bool		image_due = RelationNeedsWAL(ix->rel) && XLogCheckBufferNeedsBackup(buf);
	bool		pruned = false;
	int			n = 0;

	if (unlikely(ix->old_heads))
		fpb_note_mixed_heads(ix);
	fpb_index_of_queue(ix, &queue);
	m.entries = palloc(sizeof(FpbEntry) * FPB_MAX_PAGE_ENTRIES);
	m.places = palloc(sizeof(FpbPos) * FPB_MAX_PAGE_ENTRIES);
	if (!FpbPageIsLeftmost(page))
	{
		FpbKey		fence;

		fpb_page_low(ix, page, &fence);
		fpb_fence_search_key(ix, &fence, &low);
		lowp = &low;
	}
	if (!FpbPageIsRightmost(page))
	{
		FpbKey		fence;
		Buffer		right = fpb_lock_high(ix, buf, &fence);

		/* it may become the place to go on from */
		MemoryContextSwitchTo(old);
		fpb_fence_search_key(ix, &fence, &high);
		MemoryContextSwitchTo(context);
		if (BufferIsValid(right))
			fpb_relbuf(right);
		highp = &high;
	}

	for (;;)
	{
		missing = InvalidBlockNumber;
		begin_move(&m, place, lowp, highp, &missing);
		if (!BufferIsValid(m.from) && missing != InvalidBlockNumber)
			break;
		if (m.nentries == 0)
			n = 0;
		else
		{
			memcpy(copy, page, BLCKSZ);
			fpb_wal_begin(&wal, ix->rel);
			wp = fpb_wal_add_copy(&wal, buf, copy);
			n = fpb_fill_copy(ix, wp, m.entries, 0, m.nentries, false);

			/* the gaps may not be where the entries belong */
			if (n < m.nentries && image_due)
			{
				pack_copy(&m, wp);
				n = fpb_fill_copy(ix, wp, m.entries, n, m.nentries, false);
			}
		}
		if (n == m.nentries || pruned)
			break;

		/* don't keep others from the queue's leaf while the table is read */
		release_from(&m);
		pruned = true;
		if (!fpb_prune_killed(ix, heap, buf))
		{
			bool		enough;

			(void) fpb_prune_versions(ix, heap, buf, false, &enough);
		}
	}

	if (!BufferIsValid(m.from) && missing != InvalidBlockNumber)
	{
		fpb_relbuf(buf);
		FPB_INJECTION_POINT("fpbtree-queue-page-missing");
		ReleaseBuffer(ReadBuffer(ix->rel, missing));
		MemoryContextSwitchTo(old);
		MemoryContextDelete(context);
		pfree(copy);
		return -1;
	}
	*more = true;
	if (n + 1 < m.nentries)
	{
		MemoryContextSwitchTo(old);
		fpb_fence_search_key(ix, &m.entries[n + 1].key, place);
		MemoryContextSwitchTo(context);
	}
	else if (highp != NULL && fpb_compare(ix, last, highp) >= 0)
		*place = high;
	else
		*more = false;
	if (n < m.nentries)
	{
		split_and_move(&m, stack, copy, n, image_due);
		n++;
	}
	else
	{
		if (n > 0)
		{
			if (image_due)
				pack_copy(&m, wp);
			log_move(&m, n, &wal, InvalidBuffer);
		}
		release_from(&m);
		fpb_relbuf(buf);
	}
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
	pfree(copy);
	return n;
}
