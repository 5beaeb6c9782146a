/*-------------------------------------------------------------------------
 *
 * queue/move.c
 *	  Moving entries from the operation queue to the main tree.
 *
 * What the queue has for a main leaf moves there in one record, of that leaf
 * and of the queue's, both locked exclusively (pio-btree, 3.3: batch update).
 * So an entry is in one of them or in the other, at any time and in every
 * prefix of the WAL.
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

/* slots of a hundred left free in a leaf of which an image is logged anyway */
#define IMAGE_SLACK	3

/* what is to be put into a main leaf */
typedef struct Batch
{
	FpbIndex   *ix;
	FpbIndex   *queue;
	Buffer		leaf;			/* of the main tree; locked exclusively */
	Buffer		from;			/* of the queue; likewise, or InvalidBuffer */
	FpbEntry   *entries;		/* in order */
	int			nentries;
	FpbPos	   *places;			/* in the queue's leaf */
	const FpbFilter *counted;	/* unless NULL, entries that move are counted
								 * off there */
} Batch;

/*
 * The tuple of an entry in memory of our own, as that of a row's new entry is:
 * in the page, others may have it in common.
 */
static IndexTuple
copy_tuple(const FpbKey *key)
{
	Size		size = IndexTupleSize(key->tuple);
	IndexTuple	copy = palloc(size);

	memcpy(copy, key->tuple, size);
	fpb_tail_tid(key->tail, &copy->t_tid);
	return copy;
}

/*
 * Find what the queue's leaf has for the main one, which begins and ends at
 * low and high (NULL: at infinity).
 */
static void
collect(Batch *b, const FpbSearchKey *low, const FpbSearchKey *high)
{
	Page		page = BufferGetPage(b->from);
	FpbItem    *items = palloc(sizeof(FpbItem) * FPB_MAX_PAGE_ENTRIES);
	FpbPos		pos = FPB_POS_FIRST;
	bool		more;
	int			n;

	if (low != NULL)
		fpb_page_search(b->queue, page, low, &pos);
	n = fpb_page_read(b->queue, page, pos, high, false, items,
					  FPB_MAX_PAGE_ENTRIES, &more);
	for (int i = 0; i < n; i++)
	{
		FpbEntry   *entry = &b->entries[i];

		entry->key = items[i].key;
		entry->child = InvalidBlockNumber;
		if (entry->key.tuple != NULL)
			entry->key.tuple = copy_tuple(&entry->key);
		b->places[i] = items[i].pos;
	}
	b->nentries = n;
	pfree(items);
}

/*
 * Put as many of the entries, from number from on, into a copy of the main
 * leaf as it has room for, without its being split; returns how many are there
 * then.
 */
static int
fill_copy(const Batch *b, FpbWalPage *wp, int from)
{
	for (int i = from; i < b->nentries; i++)
	{
		FpbInsertPlan plan;

		fpb_page_plan_insert(b->ix, wp->page, &b->entries[i],
							 fpb_page_place(b->ix, wp->page, &b->entries[i]), &plan);
		if (plan.outcome == FPB_PLAN_FULL)
			return i;
		fpb_page_insert(b->ix, wp->page, &b->entries[i], &plan, wp);
		if (plan.image != NULL)
			pfree(plan.image);
	}
	return b->nentries;
}

/*
 * Make a copy of the main leaf, of which an image will be logged, afresh, so
 * that the image is small.  It stays as it is if it does not fit so.
 */
static void
pack_copy(const Batch *b, FpbWalPage *wp)
{
	FpbEntry   *entries = palloc(sizeof(FpbEntry) * FPB_MAX_PAGE_ENTRIES);
	Page		image = palloc_aligned(BLCKSZ, PG_IO_ALIGN_SIZE, 0);
	FpbPageContent content;
	FpbKey		low;
	FpbKey		high;

	fpb_page_frame(b->ix, wp->page, &low, &high, &content);
	content.nentries = fpb_page_entries(b->ix, wp->page, entries);
	content.entries = entries;
	if (fpb_page_build(b->ix, image, &content, IMAGE_SLACK))
		fpb_page_replace(wp->page, image, wp);
	pfree(image);
	pfree(entries);
}

/*
 * Log that the first n of the entries are in the main leaf, and, unless right
 * is invalid, in the right half of its split; and that they are not in the
 * queue any more.
 */
static void
log_move(Batch *b, int n, FpbWal *wal, Buffer right)
{
	FpbWalPage *wp_from = fpb_wal_add(wal, b->from, false);

	fpb_wal_enter(wal);
	fpb_page_delete(b->queue, BufferGetPage(b->from), b->places, n, wp_from);
	fpb_wal_finish(wal);
	fpb_verify_move(b->ix, wal, BufferIsValid(right), b->entries, n);
	fpb_verify_delete(b->queue, wal, BufferIsValid(right) ? 2 : 1, b->places, n);
	for (int i = 0; b->counted != NULL && i < n; i++)
		fpb_filter_remove(b->counted, b->entries[i].key.head);
}

/*
 * Give up the queue's leaf.
 */
static void
release_from(Batch *b)
{
	if (BufferIsValid(b->from))
		fpb_relbuf(b->from);
	b->from = InvalidBuffer;
}

/*
 * Split the main leaf, to which n entries have been added in a copy, adding
 * another one.  All buffers are released.
 *
 * Where an image of the leaf is due, which is where more comes to it in a
 * batch than between two checkpoints, one will be due next time, too: then
 * each half is made afresh anyway, and needs no gaps.
 */
static void
split_and_move(Batch *b, FpbStack *stack, Page copy, int n, bool image_due)
{
	FpbIndex   *ix = b->ix;
	PGAlignedBlock *images = palloc_aligned(2 * sizeof(PGAlignedBlock), PG_IO_ALIGN_SIZE, 0);
	Buffer		right = fpb_allocbuf(ix->rel);
	FpbWal		wal;
	FpbWalPage *wp_left;
	FpbWalPage *wp_right;

	fpb_wal_begin(&wal, ix->rel);
	wp_left = fpb_wal_add_copy(&wal, b->leaf, images[0].data);
	wp_right = fpb_wal_add_copy(&wal, right, images[1].data);
	fpb_page_split(ix, copy, &b->entries[n], fpb_page_place(ix, copy, &b->entries[n]),
				   BufferGetBlockNumber(right),
				   fpb_fillfactor(ix->rel),
				   image_due ? FPB_HALVES_PACKED : FPB_HALVES_SPREAD,
				   wp_left, wp_right);
	log_move(b, n + 1, &wal, right);
	PredicateLockPageSplit(ix->rel, BufferGetBlockNumber(b->leaf),
						   BufferGetBlockNumber(right));
	pfree(images);

	/* no inner page is waited for with a page of the queue locked */
	FPB_INJECTION_POINT("fpbtree-moved-with-split");
	release_from(b);
	(void) fpb_insert_downlink(ix, b->leaf, right, stack, NULL);
	fpb_relbuf(right);
	fpb_relbuf(b->leaf);
}

/*
 * Lock the queue's leaf at a place, and find what is to move from there.  The
 * main leaf is locked, and begins and ends at low and high.
 */
static void
begin_drain(Batch *b, const FpbSearchKey *place, const FpbSearchKey *low, const FpbSearchKey *high,
			BlockNumber *missing)
{
	b->nentries = 0;
	FPB_INJECTION_POINT("fpbtree-move-leaf-locked");
	b->from = fpb_descend_queue(b->queue, place, false, BUFFER_LOCK_EXCLUSIVE, missing);
	if (BufferIsValid(b->from))
	{
		FPB_INJECTION_POINT("fpbtree-move-both-locked");
		collect(b, low, high);
	}
}

/*
 * Move to the main leaf in buf, which is locked exclusively and released, what
 * the queue's leaf at a place has for it.  place falls into the main leaf.
 * stack is what the descent to the main leaf has passed, a hint.  heap is the
 * index's table.
 *
 * What moves is counted off in *counted, unless that is NULL: the caller has
 * asked whether it is to be, before he locked the leaf.
 *
 * If the leaf must be split, what is behind the entry by which it is split may
 * be left in the queue: then *rest becomes the key of the first of these, its
 * tuple palloc'd, and *more true.  Returns how many have moved.
 *
 * Returns -1, with nothing done, if a page of the queue was not in memory.  It
 * is now, but has been read with no lock held, as by scans (scan/read_leaf.c):
 * the caller begins anew.
 */
int
fpb_move_entries(FpbIndex *ix, Relation heap, Buffer buf, FpbStack *stack,
				 const FpbSearchKey *place, const FpbFilter *counted,
				 FpbKey *rest, bool *more)
{
	FpbIndex	queue;
	BlockNumber missing;
	Batch		b = {.ix = ix,.queue = &queue,.leaf = buf,.from = InvalidBuffer,.counted = counted};
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

	fpb_index_of_queue(ix, &queue);
	b.entries = palloc(sizeof(FpbEntry) * FPB_MAX_PAGE_ENTRIES);
	b.places = palloc(sizeof(FpbPos) * FPB_MAX_PAGE_ENTRIES);
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

		fpb_fence_search_key(ix, &fence, &high);
		if (BufferIsValid(right))
			fpb_relbuf(right);
		highp = &high;
	}

	for (;;)
	{
		missing = InvalidBlockNumber;
		begin_drain(&b, place, lowp, highp, &missing);
		if (!BufferIsValid(b.from) && missing != InvalidBlockNumber)
			break;
		if (b.nentries == 0)
			n = 0;
		else
		{
			memcpy(copy, page, BLCKSZ);
			fpb_wal_begin(&wal, ix->rel);
			wp = fpb_wal_add_copy(&wal, buf, copy);
			n = fill_copy(&b, wp, 0);

			/* gaps may be elsewhere than where they are wanted */
			if (n < b.nentries && image_due)
			{
				pack_copy(&b, wp);
				n = fill_copy(&b, wp, n);
			}
		}
		if (n == b.nentries || pruned)
			break;

		/* others may use the queue while the table is asked for dead rows */
		release_from(&b);
		pruned = true;
		if (!fpb_prune_killed(ix, heap, buf))
			(void) fpb_prune_versions(ix, heap, buf, false);
	}

	if (!BufferIsValid(b.from) && missing != InvalidBlockNumber)
	{
		fpb_relbuf(buf);
		FPB_INJECTION_POINT("fpbtree-queue-page-missing");
		ReleaseBuffer(ReadBuffer(ix->rel, missing));
		MemoryContextSwitchTo(old);
		MemoryContextDelete(context);
		pfree(copy);
		return -1;
	}
	*more = n + 1 < b.nentries;
	if (n < b.nentries)
	{
		if (*more)
		{
			*rest = b.entries[n + 1].key;
			MemoryContextSwitchTo(old);
			if (rest->tuple != NULL)
				rest->tuple = CopyIndexTuple(rest->tuple);
			MemoryContextSwitchTo(context);
		}
		split_and_move(&b, stack, copy, n, image_due);
		n++;
	}
	else
	{
		if (n > 0)
		{
			if (image_due)
				pack_copy(&b, wp);
			log_move(&b, n, &wal, InvalidBuffer);
		}
		release_from(&b);
		fpb_relbuf(buf);
	}
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
	pfree(copy);
	return n;
}
