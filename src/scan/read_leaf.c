/*-------------------------------------------------------------------------
 *
 * scan/read_leaf.c
 *	  What a scan reads at a time: a leaf, and what the operation queue has for
 *	  it.
 *
 * Under the leaf's share lock a scan copies all entries that satisfy the keys
 * (scan/read_ranges.c).  How to go on in either direction is remembered beside
 * the copies: a fence in the middle of a range, or the number of the next
 * range.  Since (key, TID) is a total order, a fence tells exactly what has
 * been seen, whatever has become of the page in the meantime.
 *
 * If there is a queue, its tiers' leaves for the same place are locked, too,
 * while the first one is (scan/queue_leaf.c): an entry moves from one to
 * another only with both locked exclusively, so that at this instant it is in
 * one of them.  What is read is the keys that are within the fences of all, a
 * segment.  In recovery, the queue's leaves are copied before the other one is
 * locked.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "storage/predicate.h"

#include "scan/reader.h"

/*
 * Begin to read the leaf that a scan comes to at *at into *sp.
 */
static inline void
init_reader(FpbReader *r, IndexScanDesc scan, FpbScan *so, const FpbScanEdge *at,
			bool forward, FpbKeyRange *range, FpbScanPage *sp)
{
	r->scan = scan;
	r->so = so;
	r->forward = forward;
	r->at = at;
	r->range = range;
	r->sp = sp;
	memset(&r->seg, 0, sizeof(r->seg));
	r->leaps_out = false;
}

/*
 * The place where the scan goes on at r->at; NULL if that is an end of the
 * index.
 */
static inline FpbSearchKey *
search_key(FpbReader *r)
{
	if (r->at->inside)
	{
		fpb_place_search_key(&r->so->ix, &r->at->key, &r->from);
		return &r->from;
	}
	fpb_key_range_set(&r->so->keys, r->range, r->at->range);
	if (r->forward)
		return r->range->has_lower ? &r->range->lower : NULL;
	return r->range->has_upper ? &r->range->upper : NULL;
}

/*
 * Lock the leaf of that place.  No lock is held on entry.
 */
static inline Buffer
lock_leaf(FpbReader *r, FpbSearchKey *search)
{
	FpbIndex   *ix = &r->so->ix;

	if (search == NULL)
		return fpb_descend_edge(ix, 0, !r->forward, BUFFER_LOCK_SHARE);
	if (r->at->inside && r->forward)
		return fpb_goto_right(ix, r->at->right, BUFFER_LOCK_SHARE, &r->from);
	return fpb_descend(ix, search, 0, !r->forward, BUFFER_LOCK_SHARE, NULL);
}

/*
 * Lock the leaf at r->at, and those of the queue for the same place, if there
 * are any: they become the segment.  Their high fences are known then, and
 * they have been locked for serializable transactions.
 *
 * In recovery there are copies of the queue's leaves instead.  No lock must be
 * waited for with the main leaf locked: replay may have made a main leaf of
 * the queue's, and have it locked, and wait for ours.
 *
 * Tier 1 is nearly always in memory.  If a page of the queue is not, it is
 * read with no lock held.  Others would have to wait for the leaf; one of them
 * may be the process that reads that very page, and it can't be told that
 * somebody waits for it.
 */
static Buffer
lock_all(FpbReader *r, Buffer *queue_bufs)
{
	FpbScan    *so = r->so;
	FpbSegment *seg = &r->seg;
	FpbSearchKey *search = search_key(r);
	Buffer		buf;

	for (int i = 0; i < FPB_TIERS; i++)
		queue_bufs[i] = InvalidBuffer;
	if (so->ix.may_queue)
		fpb_open_queue(r, search);
	for (;;)
	{
		buf = lock_leaf(r, search);
		seg->leaf = BufferGetPage(buf);
		r->sp->block = BufferGetBlockNumber(buf);
		fpb_fetch_high(so, &so->ix, buf);
		PredicateLockPage(r->scan->indexRelation, r->sp->block, r->scan->xs_snapshot);
		if (!so->ix.may_queue)
			return buf;
		FPB_INJECTION_POINT("fpbtree-scan-leaf-locked");
		if (seg->copied)
			return buf;
		if (likely(!fpb_has_any_tier(so->queue.metabuf)) && !IsolationIsSerializable())
			return buf;
		if (fpb_lock_queue_leaves(r, search, queue_bufs))
		{
			for (int i = 0; i < FPB_TIERS; i++)
				if (BufferIsValid(queue_bufs[i]))
					seg->queued[seg->nqueued++] = BufferGetPage(queue_bufs[i]);
			return buf;
		}
		fpb_relbuf(buf);
		CHECK_FOR_INTERRUPTS();
		FPB_INJECTION_POINT("fpbtree-queue-page-missing");
		ReleaseBuffer(ReadBuffer(so->ix.rel, so->queue.missing));
	}
}

/*
 * Raise an error if an item's TID is none, which the server must not be given.
 * (A page peeked at is not checked: its error would come too soon.)
 */
static void
check_items(FpbScan *so, const FpbScanPage *sp)
{
	uint64		greatest = 0;	/* TID */
	bool		sound = true;

	for (int i = 0; i < sp->nitems; i++)
	{
		uint64		tid = sp->items[i].key.tail & FPB_TAIL_TID_MASK;

		/* a word has a gap there, but in a damaged page that may be read */
		sound &= (tid & FPB_TAIL_MAX_OFFSET) != InvalidOffsetNumber;
		greatest = Max(greatest, tid);
	}
	if (unlikely(!sound || greatest >> FPB_TAIL_OFFSET_BITS == InvalidBlockNumber))
		fpb_report_damage(so->ix.rel, sp->block, "An entry has an invalid TID.");
}

/*
 * Be done with a leaf that has been read: unlock it, and keep it pinned if
 * that is wanted.  Returns the buffer if it is pinned, else InvalidBuffer.
 */
static Buffer
done_with(Buffer buf, bool pin)
{
	if (!pin)
	{
		fpb_relbuf(buf);
		return InvalidBuffer;
	}
	LockBuffer(buf, BUFFER_LOCK_UNLOCK);
	return buf;
}

/*
 * Does a scan that has locked a leaf read but few of its entries
 * (scan/read_few.c)?  It does if it may want no more, if a few are likely to
 * be enough, which a filter could reject, and if to come back to the leaf
 * takes no longer than usual: not in a parallel scan, where others go on
 * meanwhile, nor in one of all entries (a bitmap scan).
 */
static inline bool
wants_few(const FpbReader *r, bool in_memory)
{
	const FpbScan *so = r->so;

	return so->cursor.part > 0 && in_memory && r->seg.nqueued == 0 &&
		so->keys.nranges == 1 && so->keys.nulls_only &&
		r->scan->heapRelation != NULL && r->scan->parallel_scan == NULL;
}

/*
 * Read the next leaf in a direction, from the cursor's edge, into its page,
 * and what the queue has for it.  No lock is held on entry or exit; on exit,
 * the pages are pinned only if they have to be, and a parallel scan's state is
 * released.
 */
void
fpb_scan_read_leaf(IndexScanDesc scan, FpbScan *so, bool forward)
{
	FpbScanCursor *cursor = &so->cursor;
	FpbScanPage *sp = cursor->page;
	bool		parallel = scan->parallel_scan != NULL;
	int64		blocks_read = fpb_blocks_read();
	Buffer		buf;
	Buffer		queue_bufs[FPB_TIERS];
	FpbReader	r;
	int			nqueued = 0;
	bool		pin;

	init_reader(&r, scan, so, &cursor->at, forward, &cursor->range, sp);
	if (!cursor->at.inside || cursor->at.leapt)
	{
		pgstat_count_index_scan(scan->indexRelation);
		fpb_count_search(scan);
	}
	buf = lock_all(&r, queue_bufs);
	if (blocks_read != fpb_blocks_read())
		so->prefetch.leaves_on = true;	/* the index is not all in memory */
	if (r.seg.nqueued > 0)
		fpb_make_room(so, sp, FPB_MAX_SCAN_ITEMS, 0);
	if (parallel && fpb_set_edge_early(&r))
	{
		fpb_parallel_release(scan, so, forward ? &sp->after : &sp->before);
		parallel = false;
	}

	if (!wants_few(&r, blocks_read == fpb_blocks_read()) || !fpb_read_few(&r))
		nqueued = fpb_read_segment(&r);
	Assert(nqueued == 0 || r.seg.copied || !fpb_queue_excluded(&r));
	if (parallel)
		fpb_parallel_release(scan, so, forward ? &sp->after : &sp->before);
	check_items(so, sp);
	if (scan->xs_want_itup && !fpb_is_word(&so->ix))
		fpb_copy_tuples(&r);

	fpb_scan_note_visible(scan, so, r.seg.copied);

	pin = cursor->keep_pin && !sp->check_rows;
	for (int i = 0; i < FPB_TIERS; i++)
		if (BufferIsValid(queue_bufs[i]))
			sp->queue_bufs[i] = done_with(queue_bufs[i], pin && nqueued > 0);
	sp->lsn = BufferGetLSNAtomic(buf);
	sp->buf = done_with(buf, pin && sp->nitems > 0);
	sp->valid = true;
	FPB_INJECTION_POINT("fpbtree-leaf-read");
}

/*
 * Read a leaf that the scan will come to, only to know the TIDs: what is read
 * is not for handing out, because no pin is kept and no predicate lock taken,
 * and what the queue has is not among it.  False if there is no such leaf, if
 * the copy is not of it, or if it has elided its high fence: the right sibling
 * might have to be waited for.  No lock is held on entry or exit.
 */
bool
fpb_scan_peek(IndexScanDesc scan, FpbScan *so, FpbPeek *peek)
{
	FpbSearchKey *search;
	Buffer		buf = InvalidBuffer;
	BlockNumber block;
	FpbReader	r;
	bool		found;

	if (peek->at->range < 0 || peek->at->range >= so->keys.nranges)
		return false;
	init_reader(&r, scan, so, peek->at, peek->forward, peek->range, peek->sp);
	search = search_key(&r);
	if (peek->copy != NULL)
	{
		r.seg.leaf = peek->copy;
		block = peek->block;
		found = !FpbPageHighElided(r.seg.leaf) && search != NULL &&
			fpb_page_covers(&so->ix, r.seg.leaf, search, 0, !r.forward);
	}
	else
	{
		int64		blocks_read = fpb_blocks_read();

		buf = lock_leaf(&r, search);
		r.seg.leaf = BufferGetPage(buf);
		block = BufferGetBlockNumber(buf);
		found = !FpbPageHighElided(r.seg.leaf);
		if (found && blocks_read != fpb_blocks_read())
			so->prefetch.leaves_on = true;	/* the index is not all in memory */
	}
	if (found)
	{
		r.sp->block = block;
		(void) fpb_read_segment(&r);
	}
	if (BufferIsValid(buf))
		fpb_relbuf(buf);
	return found;
}
