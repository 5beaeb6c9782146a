/*-------------------------------------------------------------------------
 *
 * fpb_vacuum.c
 *	  Removing the entries of dead rows, and finding pages to use again.
 *
 * The leaves are visited in key order, by their right links.  A concurrent
 * split moves entries to the right only, so none is missed.  Every leaf is
 * locked for cleanup, whether or not it has anything to remove: a scan that
 * has a TID in hand for which it relies on its pin may have read it before a
 * split moved the entry on to the next page.
 *
 * The free space map is not crash-safe, and a crash may also leave behind a
 * page that was never initialised.  All pages that the walk over the levels
 * has not come by are therefore looked at in the end.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "commands/progress.h"
#include "commands/vacuum.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "storage/indexfsm.h"
#include "utils/memutils.h"

#include "fpb_prefetch.h"

typedef struct VacuumState
{
	FpbIndex	ix;
	IndexVacuumInfo *info;
	IndexBulkDeleteResult *stats;
	IndexBulkDeleteCallback callback;
	void	   *callback_state;

	BlockNumber nblocks;		/* of the index when the walk began */
	BlockNumber nblocks_now;	/* at least; a link to a later block is wrong */
	uint8	   *visited;		/* a bit for each of them: in use for sure */
	BlockNumber ndone;			/* bits set, to report progress */
	BlockNumber nfreed;			/* pages that have been added to the free
								 * space map */

	FpbItem    *items;			/* entries of the page at hand */
	FpbPos	   *doomed;			/* those of them to be deleted */

	/*
	 * Where to go on: the page just left, its right link and its high fence.
	 * The fence lives in cxt[turn], while the fence of the next page is
	 * copied into the other context.
	 */
	BlockNumber last;
	BlockNumber next;
	FpbProbe	from;
	MemoryContext cxt[2];
	int			turn;

	/* pages left of the level, and the high fence of one of them */
	uint64		nleft;
	FpbProbe	milestone;
	MemoryContext milestone_cxt;

	/* leaves being read ahead, as the level above names them */
	FpbAhead	ahead;
	FpbWalk		walk;
	bool		walking;		/* is the walk's child to be announced? */
} VacuumState;

/*
 * Note that a block is a page of the tree.
 */
static void
mark_visited(VacuumState *vs, BlockNumber blkno)
{
	if (blkno >= vs->nblocks)
		return;
	if ((vs->visited[blkno / 8] & (1 << (blkno % 8))) == 0)
	{
		vs->visited[blkno / 8] |= 1 << (blkno % 8);
		vs->ndone++;
		if (vs->info->report_progress)
			pgstat_progress_update_param(PROGRESS_SCAN_BLOCKS_DONE, vs->ndone);
	}
}

static bool
is_visited(const VacuumState *vs, BlockNumber blkno)
{
	return (vs->visited[blkno / 8] & (1 << (blkno % 8))) != 0;
}

/*
 * Raise an error unless a locked page's high fence is above the milestone, that
 * of a page left before.  As fences of a damaged index may be in no order, it
 * is not enough that each is above the last.  The milestone is moved each time
 * that twice as many pages have been left, so that it will be in the circle
 * that the walk is in.
 */
static void
pass_milestone(VacuumState *vs, Buffer buf, const FpbKey *high)
{
	MemoryContext old;

	if (vs->nleft++ > 0 && fpb_compare(&vs->ix, high, &vs->milestone) <= 0)
		fpb_report_damage(vs->ix.rel, BufferGetBlockNumber(buf),
						  "The high fence is not above those of the pages to the left.");
	if ((vs->nleft & (vs->nleft - 1)) != 0)
		return;
	MemoryContextReset(vs->milestone_cxt);
	old = MemoryContextSwitchTo(vs->milestone_cxt);
	fpb_fence_probe(&vs->ix, high, &vs->milestone);
	MemoryContextSwitchTo(old);
}

/*
 * Remember where to go on after a locked page.
 */
static void
remember_next(VacuumState *vs, Buffer buf)
{
	Page		page = BufferGetPage(buf);

	vs->last = BufferGetBlockNumber(buf);
	vs->next = FpbHdr(page)->right;
	vs->turn ^= 1;
	MemoryContextReset(vs->cxt[vs->turn]);
	if (!FpbPageIsRightmost(page))
	{
		MemoryContext old = MemoryContextSwitchTo(vs->cxt[vs->turn]);
		FpbKey		high;

		fpb_page_high(&vs->ix, page, &high);
		fpb_fence_probe(&vs->ix, &high, &vs->from);
		MemoryContextSwitchTo(old);
		pass_milestone(vs, buf, &high);
	}
}

/*
 * Pin vs->next, a leaf, and lock it for cleanup.  first: it is the leftmost.
 * Else it is verified to be where the last leaf ended, as it always is unless
 * somebody but this VACUUM deletes pages; then the page that is there instead
 * is looked up.
 */
static Buffer
lock_leaf(VacuumState *vs, bool first)
{
	FpbIndex   *ix = &vs->ix;

	for (;;)
	{
		Buffer		buf;
		Page		page;

		fpb_vacuum_delay_point();

		if (vs->next >= vs->nblocks_now)
			vs->nblocks_now = RelationGetNumberOfBlocks(ix->rel);
		if (vs->next == FPB_METAPAGE || vs->next >= vs->nblocks_now)
			fpb_report_damage(ix->rel, vs->last,
							  psprintf("The page links to block %u, but pages are at blocks 1 to %u.",
									   vs->next, vs->nblocks_now - 1));
		buf = ReadBufferExtended(ix->rel, MAIN_FORKNUM, vs->next, RBM_NORMAL,
								 vs->info->strategy);
		LockBufferForCleanup(buf);
		fpb_checkpage(ix, buf);
		page = BufferGetPage(buf);
		if (FpbPageIsLeaf(page) && !FpbPageIsDeleted(page) &&
			(first ? FpbPageIsLeftmost(page) :
			 fpb_compare_low(ix, page, &vs->from) <= 0 &&
			 fpb_compare_high(ix, page, &vs->from) > 0))
			return buf;
		fpb_relbuf(buf);

		if (first)
			fpb_report_damage(ix->rel, vs->next,
							  "The leftmost leaf is not marked as such.");
		buf = fpb_goto_right(ix, vs->next, 0, BUFFER_LOCK_SHARE, &vs->from);
		vs->next = BufferGetBlockNumber(buf);
		fpb_relbuf(buf);
	}
}

/*
 * Remove the dead entries of a leaf, locked for cleanup, and count the rest.
 */
static void
vacuum_leaf(VacuumState *vs, Buffer buf)
{
	FpbIndex   *ix = &vs->ix;
	Page		page = BufferGetPage(buf);
	FpbPos		start = {0, 0};
	bool		more = true;
	int			nitems;
	int			ndoomed = 0;

	nitems = fpb_page_read(ix, page, start, NULL, vs->items, &more);
	if (vs->callback != NULL)
	{
		for (int i = 0; i < nitems; i++)
		{
			ItemPointerData tid;

			fpb_tail_tid(vs->items[i].key.tail, &tid);
			if (unlikely(!ItemPointerIsValid(&tid)))
				fpb_report_damage(ix->rel, BufferGetBlockNumber(buf),
								  "An entry has an invalid TID.");
			if (vs->callback(&tid, vs->callback_state))
				vs->doomed[ndoomed++] = vs->items[i].pos;
		}
	}
	if (ndoomed > 0)
	{
		FpbWal		wal;
		FpbWalPage *wp;

		fpb_wal_begin(&wal, ix->rel);
		wp = fpb_wal_add(&wal, buf, false);
		fpb_wal_enter(&wal);
		fpb_page_delete(ix, page, vs->doomed, ndoomed, wp);
		fpb_wal_finish(&wal);
	}
	vs->stats->tuples_removed += ndoomed;
	vs->stats->num_index_tuples += nitems - ndoomed;
}

/*
 * Have the leaves behind the next one read ahead, as far as the ring of buffers
 * of the command lets us.  Once the walk has come to its end, there are none:
 * leaves split off meanwhile are few.
 */
static void
read_ahead(VacuumState *vs)
{
	if (!fpb_ahead_due(&vs->ahead))
		return;
	while (vs->walking && fpb_ahead_wants(&vs->ahead))
	{
		fpb_ahead_add(&vs->ahead, vs->walk.child.child);
		vs->walking = fpb_walk_step(&vs->walk, true);
	}
	fpb_ahead_start(&vs->ahead);
}

/*
 * Visit all leaves.  Pages that prove empty are taken out of the tree; so are
 * those that an earlier VACUUM emptied but could not take out.  They are not
 * marked visited, so that they will be looked at again in the end.
 */
static void
walk_leaves(VacuumState *vs)
{
	FpbIndex   *ix = &vs->ix;
	MemoryContext delete_cxt = AllocSetContextCreate(CurrentMemoryContext,
													 "fpbtree page deletion",
													 ALLOCSET_DEFAULT_SIZES);
	Buffer		buf;
	bool		first = true;

	buf = fpb_descend_edge(ix, 0, false, BUFFER_LOCK_SHARE);
	vs->next = BufferGetBlockNumber(buf);
	fpb_relbuf(buf);
	vs->nleft = 0;

	fpb_ahead_init(&vs->ahead, CurrentMemoryContext, ix->rel,
				   fpb_prefetch_distance, true, vs->info->strategy);
	fpb_walk_init(&vs->walk, CurrentMemoryContext, ix, 1);
	vs->walking = vs->ahead.max_distance > 0 &&
		fpb_walk_seek_edge(&vs->walk, false);

	while (vs->next != InvalidBlockNumber)
	{
		BlockNumber blkno;
		Page		page;
		bool		empty;

		read_ahead(vs);
		buf = lock_leaf(vs, first);
		first = false;
		blkno = BufferGetBlockNumber(buf);
		fpb_ahead_reach(&vs->ahead, blkno, false);
		page = BufferGetPage(buf);
		vacuum_leaf(vs, buf);
		empty = !FpbPageIsLeftmost(page) && fpb_page_is_empty(ix, page);
		remember_next(vs, buf);
		fpb_relbuf(buf);

		if (empty)
		{
			MemoryContext old = MemoryContextSwitchTo(delete_cxt);
			int			nfreed;

			nfreed = fpb_delete_empty(ix, vs->info->heaprel, blkno);
			vs->stats->pages_newly_deleted += nfreed;
			vs->nfreed += nfreed;
			MemoryContextSwitchTo(old);
			MemoryContextReset(delete_cxt);
		}
		else
			mark_visited(vs, blkno);
	}
	fpb_walk_end(&vs->walk);
	fpb_ahead_end(&vs->ahead);
	fpb_prefetch_report(ix->rel, false, &vs->ahead.counts);
	MemoryContextDelete(delete_cxt);
}

/*
 * Visit all inner pages, only to know them from lost ones.
 */
static void
walk_inner_levels(VacuumState *vs)
{
	FpbIndex   *ix = &vs->ix;

	for (int level = 1; level <= ix->level; level++)
	{
		Buffer		buf = fpb_descend_edge(ix, level, false, BUFFER_LOCK_SHARE);

		vs->nleft = 0;
		for (;;)
		{
			mark_visited(vs, BufferGetBlockNumber(buf));
			remember_next(vs, buf);
			fpb_relbuf(buf);
			if (vs->next == InvalidBlockNumber)
				break;
			fpb_vacuum_delay_point();
			buf = fpb_goto_right(ix, vs->next, level, BUFFER_LOCK_SHARE,
								 &vs->from);
		}
	}
}

/*
 * Look at the pages that the walk has not come by.  A deleted one is put into
 * the free space map, where it is already unless a crash has lost it; so is
 * one that is all zeros, as no one who extends the index lets go of the lock
 * before the new page is initialised.  Others are pages that have come into
 * the tree meanwhile, and leaves that are empty but could not be deleted.
 */
static void
find_free_pages(VacuumState *vs)
{
	Relation	rel = vs->ix.rel;

	for (BlockNumber blkno = FPB_METAPAGE + 1; blkno < vs->nblocks; blkno++)
	{
		Buffer		buf;
		Page		page;
		bool		free;

		if (is_visited(vs, blkno))
			continue;
		fpb_vacuum_delay_point();
		buf = ReadBufferExtended(rel, MAIN_FORKNUM, blkno, RBM_NORMAL,
								 vs->info->strategy);
		LockBuffer(buf, BUFFER_LOCK_SHARE);
		page = BufferGetPage(buf);
		free = PageIsNew(page);
		if (!free)
		{
			fpb_checkpage(&vs->ix, buf);
			free = FpbPageIsDeleted(page);
		}
		fpb_relbuf(buf);

		if (free)
		{
			RecordFreeIndexPage(rel, blkno);
			vs->nfreed++;
			vs->stats->pages_deleted++;
			vs->stats->pages_free++;
		}
		mark_visited(vs, blkno);
	}
}

/*
 * Go through the whole index.  Without a callback no entry is removed.
 */
static void
vacuum_scan(IndexVacuumInfo *info, IndexBulkDeleteResult *stats,
			IndexBulkDeleteCallback callback, void *callback_state)
{
	Relation	rel = info->index;
	VacuumState *vs = palloc0(sizeof(VacuumState));

	fpb_index_open(&vs->ix, rel);
	vs->info = info;
	vs->stats = stats;
	vs->callback = callback;
	vs->callback_state = callback_state;
	vs->nblocks = vs->nblocks_now = RelationGetNumberOfBlocks(rel);
	vs->visited = palloc_extended(vs->nblocks / 8 + 1,
								  MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	vs->items = palloc(FPB_MAX_PAGE_ENTRIES * sizeof(FpbItem));
	vs->doomed = palloc(FPB_MAX_PAGE_ENTRIES * sizeof(FpbPos));
	for (int i = 0; i < 2; i++)
		vs->cxt[i] = AllocSetContextCreate(CurrentMemoryContext,
										   "fpbtree vacuum fence",
										   ALLOCSET_SMALL_SIZES);
	vs->milestone_cxt = AllocSetContextCreate(CurrentMemoryContext,
											  "fpbtree vacuum milestone",
											  ALLOCSET_SMALL_SIZES);
	if (info->report_progress)
		pgstat_progress_update_param(PROGRESS_SCAN_BLOCKS_TOTAL, vs->nblocks);
	mark_visited(vs, FPB_METAPAGE);

	/* Only these are of the whole command, which may scan more than once. */
	stats->num_index_tuples = 0;
	stats->pages_deleted = 0;
	stats->pages_free = 0;

	walk_leaves(vs);
	walk_inner_levels(vs);
	find_free_pages(vs);

	stats->num_pages = RelationGetNumberOfBlocks(rel);
	stats->estimated_count = false;
	if (vs->nfreed > 0)
		IndexFreeSpaceMapVacuum(rel);

	for (int i = 0; i < 2; i++)
		MemoryContextDelete(vs->cxt[i]);
	MemoryContextDelete(vs->milestone_cxt);
	pfree(vs->doomed);
	pfree(vs->items);
	pfree(vs->visited);
	pfree(vs);
}

/*
 * ambulkdelete: remove the entries whose TIDs the callback names.
 */
IndexBulkDeleteResult *
fpb_bulkdelete(IndexVacuumInfo *info, IndexBulkDeleteResult *stats,
			   IndexBulkDeleteCallback callback, void *callback_state)
{
	if (stats == NULL)
		stats = palloc0(sizeof(IndexBulkDeleteResult));
	vacuum_scan(info, stats, callback, callback_state);
	return stats;
}

/*
 * amvacuumcleanup: the end of VACUUM.  All is done by fpb_bulkdelete, if it has
 * been called.  If it has not, no row was dead, and the index is not gone
 * through in search of free pages alone: deleted pages enter the free space
 * map at once, so that only those of a crash could be found, and they can wait.
 */
IndexBulkDeleteResult *
fpb_vacuumcleanup(IndexVacuumInfo *info, IndexBulkDeleteResult *stats)
{
	if (info->analyze_only || stats == NULL)
		return stats;

	/*
	 * Rows added while the leaves were visited may have been counted, so the
	 * table's own count is better where it is exact.
	 */
	if (!info->estimated_count &&
		stats->num_index_tuples > info->num_heap_tuples)
		stats->num_index_tuples = info->num_heap_tuples;
	return stats;
}
