/*-------------------------------------------------------------------------
 *
 * queue/move.c
 *	  Moving entries from a tier of the operation queue to the next one, or to
 *	  the main tree.
 *
 * What the tier has for a leaf moves there in one record, which covers that
 * leaf and the tier's leaf, both locked exclusively.  So an entry is in one of
 * them or in the other, at any time and in every prefix of the WAL.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xloginsert.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "storage/predicate.h"
#include "utils/memutils.h"

#include "base/queue_memory.h"
#include "queue/queue.h"
#include "tree/tree.h"
#include "tree/verify.h"

/* slots in a hundred left free in a leaf if its image is logged anyway */
#define IMAGE_SLACK	3

/* a move to a leaf */
typedef struct Move
{
	MemoryContext caller;		/* the caller's */
	FpbWay	   *way;
	FpbIndex   *ix;				/* the way's */
	FpbIndex   *queue;			/* likewise */
	Buffer		leaf;			/* that they move to; locked exclusively */
	FpbSearchKey *low;			/* where that begins; NULL: infinite */
	FpbSearchKey *high;			/* and where it ends, likewise */
	FpbSearchKey ends[2];		/* what these point to */
	bool		image_due;		/* does its next record have an image? */
	Buffer		from;			/* the queue's leaf; locked exclusively, or
								 * InvalidBuffer */
	FpbEntry   *entries;		/* what is to move, in order */
	int			nentries;
	FpbPos	   *places;			/* of these in the queue's leaf */
	bool		noted;			/* are notes of entries that move erased? */
	Page		copy;			/* of the leaf, with those that it has room
								 * for */
	FpbWal		wal;			/* the record that puts the copy in place */
	FpbWalPage *wp;				/* the leaf's part of it */
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
 * Collect what the queue's leaf has for the other.  Both leaves are locked.
 */
static void
collect(Move *m)
{
	Page		page = BufferGetPage(m->from);
	FpbItem    *items = palloc(sizeof(FpbItem) * FPB_MAX_PAGE_ENTRIES);
	FpbPos		pos = FPB_POS_FIRST;
	bool		more;
	int			n;

	if (m->low != NULL)
		fpb_page_search(m->queue, page, m->low, &pos);
	n = fpb_page_read(m->queue, page, pos, m->high, false, items,
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
 * Pack the copy of the leaf, so that the image of it that is logged is small.
 * The copy stays as it is if its entries can't be packed with some slots left
 * free.
 */
static void
pack_copy(const Move *m)
{
	FpbEntry   *entries = palloc(sizeof(FpbEntry) * FPB_MAX_PAGE_ENTRIES);
	Page		image = palloc_aligned(BLCKSZ, PG_IO_ALIGN_SIZE, 0);
	FpbPageContent content;
	FpbKey		low;
	FpbKey		high;

	fpb_page_frame(m->ix, m->copy, &low, &high, &content);
	content.nentries = fpb_page_entries(m->ix, m->copy, entries);
	content.entries = entries;
	if (fpb_page_build(m->ix, image, &content, IMAGE_SLACK))
		fpb_page_replace(m->copy, image, m->wp);
	pfree(image);
	pfree(entries);
}

/*
 * Delete the first n entries from the queue's leaf, and log that in one record
 * with the pages that have got them: the leaf that they move to, and, unless
 * right is invalid, the right half of its split.
 *
 * At any time, each entry is noted for the tier that it is in.
 */
static void
log_move(Move *m, int n, FpbWal *wal, Buffer right)
{
	bool		to_tier = m->ix->tree != FPB_MAIN_TREE;
	FpbWalPage *wp_from = fpb_wal_add(wal, m->from, false);
	FpbWalPage *wp_meta;
	Buffer		metabuf = InvalidBuffer;

	for (int i = 0; to_tier && i < n; i++)
		fpb_filter_add(&m->way->filter, m->entries[i].key.head);
	if (to_tier && BufferIsValid(right))
		metabuf = fpb_add_meta(m->ix, wal, &wp_meta);
	fpb_wal_enter(wal);
	fpb_page_delete(m->queue, BufferGetPage(m->from), m->places, n, wp_from);
	if (BufferIsValid(metabuf))
		fpb_count_tier_pages(m->ix, wp_meta, 1);
	fpb_wal_finish(wal);
	if (BufferIsValid(metabuf))
		fpb_relbuf(metabuf);
	fpb_verify_move(m->ix, wal, BufferIsValid(right), m->entries, n);
	fpb_verify_delete(m->queue, wal, BufferIsValid(right) ? 2 : 1, m->places, n);
	if (m->noted && fpb_filter_begin_erasing(&m->way->from_filter))
	{
		for (int i = 0; i < n; i++)
			fpb_filter_erase(&m->way->from_filter, m->entries[i].key.head);
		fpb_filter_end_erasing();
	}
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
 * Split the leaf and add one more entry; its copy has n of them already.  Both
 * leaves are locked exclusively, and released.
 *
 * If an image of the leaf is due, then entries come to it less often than
 * checkpoints, and one will be due next time, too.  The halves will be made
 * afresh then, and need no gaps now.
 */
static void
split_and_move(Move *m, FpbStack *stack, int n)
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
	fpb_page_split(ix, m->copy, &m->entries[n],
				   fpb_page_place(ix, m->copy, &m->entries[n], FPB_POS_FIRST),
				   BufferGetBlockNumber(right),
				   &aim,
				   m->image_due ? FPB_HALVES_PACKED : FPB_HALVES_SPREAD,
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
 * Move n entries, which the leaf's copy has.  Both leaves are locked
 * exclusively, and released.
 */
static void
move_without_split(Move *m, int n)
{
	if (n > 0)
	{
		if (m->image_due)
			pack_copy(m);
		log_move(m, n, &m->wal, InvalidBuffer);
	}
	release_from(m);
	fpb_relbuf(m->leaf);
}

/*
 * Lock the queue's leaf for a place exclusively, and collect what is to move
 * from there.  The other leaf is locked.
 *
 * m->from becomes InvalidBuffer if there is no queue, or if *missing has been
 * set (fpb_descend_queue).  *missing may also be set, by a split that the
 * descent has finished, if the leaf is locked.
 */
static void
begin_move(Move *m, FpbSearchKey *place, BlockNumber *missing)
{
	m->nentries = 0;
	*missing = InvalidBlockNumber;
	FPB_INJECTION_POINT("fpbtree-move-leaf-locked");
	m->from = fpb_descend_queue(m->queue, place, false, BUFFER_LOCK_EXCLUSIVE, NULL, missing);
	if (BufferIsValid(m->from))
	{
		FPB_INJECTION_POINT("fpbtree-move-both-locked");
		collect(m);
	}
}

/*
 * Make a copy of the leaf, and insert there what it has room for.  Returns how
 * many of the entries that is.
 */
static int
fill_copy(Move *m)
{
	int			n;

	if (m->nentries == 0)
		return 0;
	memcpy(m->copy, BufferGetPage(m->leaf), BLCKSZ);
	fpb_wal_begin(&m->wal, m->ix->rel);
	m->wp = fpb_wal_add_copy(&m->wal, m->leaf, m->copy);
	n = fpb_fill_copy(m->ix, m->wp, m->entries, 0, m->nentries, false);

	/* the gaps may not be where the entries belong */
	if (n < m->nentries && m->image_due)
	{
		pack_copy(m);
		n = fpb_fill_copy(m->ix, m->wp, m->entries, n, m->nentries, false);
	}
	return n;
}

/*
 * Lock the queue's leaf for a place, and fill a copy of the other leaf with
 * what it has for that.  If there is no room for all, dead entries of a main
 * leaf are removed first.  Returns how many entries the copy has got.  m->from
 * and *missing are as begin_move says.
 */
static int
prepare_move(Move *m, FpbSearchKey *place, BlockNumber *missing)
{
	/* no entry of the queue is killed */
	bool		pruned = m->ix->tree != FPB_MAIN_TREE;

	for (;;)
	{
		int			n;

		begin_move(m, place, missing);
		n = fill_copy(m);
		if (n == m->nentries || pruned)
			return n;

		/* don't keep others from the queue's leaf while the table is read */
		release_from(m);
		pruned = true;
		if (!fpb_prune_killed(m->ix, m->way->heap, m->leaf))
		{
			bool		enough;

			(void) fpb_prune_versions(m->ix, m->way->heap, m->leaf, false, &enough);
		}
	}
}

/*
 * Has the tree that entries move to as many pages as it may have?  The main
 * tree may have any number.  Its leaf, and the queue's, are locked.
 */
static bool
is_full(const FpbWay *way)
{
	const FpbIndex *ix = way->ix;

	return ix->tree != FPB_MAIN_TREE &&
		fpb_tier_pages(ix, ix->tree, NULL) >=
		fpb_tier_limit(ix->rel, way->from_filter.shared, RelationGetNumberOfBlocks(ix->rel),
					   ix->tree);
}

/*
 * Look where the leaf begins and ends.  The latter is in the caller's memory,
 * because it may become the place to go on from.  The leaf is locked.
 */
static void
get_ends(Move *m)
{
	Page		page = BufferGetPage(m->leaf);
	FpbKey		fence;

	if (!FpbPageIsLeftmost(page))
	{
		m->low = &m->ends[FPB_LOW];
		fpb_page_low(m->ix, page, &fence);
		fpb_fence_search_key(m->ix, &fence, m->low);
	}
	if (!FpbPageIsRightmost(page))
	{
		Buffer		right = fpb_lock_high(m->ix, m->leaf, &fence);
		MemoryContext old = MemoryContextSwitchTo(m->caller);

		m->high = &m->ends[FPB_HIGH];
		fpb_fence_search_key(m->ix, &fence, m->high);
		MemoryContextSwitchTo(old);
		if (BufferIsValid(right))
			fpb_relbuf(right);
	}
}

/*
 * The entries before next move.  Are some left, or does *last belong to a leaf
 * further right?  Then *place becomes where these begin.
 */
static bool
is_more(const Move *m, int next, const FpbKey *last, FpbSearchKey *place)
{
	if (next < m->nentries)
	{
		MemoryContext old = MemoryContextSwitchTo(m->caller);

		fpb_fence_search_key(m->ix, &m->entries[next].key, place);
		MemoryContextSwitchTo(old);
		return true;
	}
	if (m->high == NULL || fpb_compare(m->ix, last, m->high) < 0)
		return false;
	*place = *m->high;
	return true;
}

/*
 * Move to the leaf in buf what the way's tier has for it, in its leaf for a
 * place.  buf's leaf is the one that place falls into; it is locked
 * exclusively, and released.  No other lock is held.  stack is what the
 * descent to it has passed, a hint.
 *
 * noted: notes of entries that move are erased.  The caller asks whether they
 * have to be (fpb_filter_noted) before it locks the leaf.
 *
 * Returns how many entries have moved.  A leaf is split once at most, which
 * may not make room for all.  If entries are left, or if *last belongs to a
 * leaf further right, *more becomes true, and *place where these begin.
 *
 * Returns FPB_MOVE_AGAIN, with nothing done, if a page of the queue was not in
 * memory.  No page is read while the leaf is locked; so that page has been
 * read after the leaf was released, and the caller starts again.
 *
 * Returns FPB_MOVE_FULL, with nothing done, if the leaf is of a tier that is
 * full, and has to make room before anything can move there.
 */
int
fpb_move_entries(FpbWay *way, Buffer buf, FpbStack *stack, FpbSearchKey *place,
				 const FpbKey *last, bool noted, bool *more)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "fpbtree move",
												  ALLOCSET_SMALL_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	Move		m = {
		.caller = old,
		.way = way,
		.ix = way->ix,
		.queue = way->queue,
		.leaf = buf,
		.image_due = RelationNeedsWAL(way->ix->rel) && XLogCheckBufferNeedsBackup(buf),
		.from = InvalidBuffer,
		.entries = palloc(sizeof(FpbEntry) * FPB_MAX_PAGE_ENTRIES),
		.places = palloc(sizeof(FpbPos) * FPB_MAX_PAGE_ENTRIES),
		.noted = noted,
		.copy = palloc_aligned(BLCKSZ, PG_IO_ALIGN_SIZE, 0)
	};
	BlockNumber missing;
	bool		full;
	int			moved;

	if (unlikely(m.ix->old_heads))
		fpb_note_mixed_heads(m.ix);
	get_ends(&m);
	moved = prepare_move(&m, place, &missing);
	full = moved < m.nentries && is_full(way);
	if (!BufferIsValid(m.from) && missing != InvalidBlockNumber)
	{
		fpb_relbuf(buf);
		FPB_INJECTION_POINT("fpbtree-queue-page-missing");
		ReleaseBuffer(ReadBuffer(m.ix->rel, missing));
		moved = FPB_MOVE_AGAIN;
	}
	else if (full && moved == 0)
	{
		release_from(&m);
		fpb_relbuf(buf);
		moved = FPB_MOVE_FULL;
	}
	else if (full || moved == m.nentries)
	{
		*more = is_more(&m, moved, last, place);
		move_without_split(&m, moved);
	}
	else
	{
		*more = is_more(&m, moved + 1, last, place);
		split_and_move(&m, stack, moved);
		moved++;
	}
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
	return moved;
}
