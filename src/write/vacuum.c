/*-------------------------------------------------------------------------
 *
 * write/vacuum.c
 *	  Removing the entries of dead rows, and finding pages to use again.
 *
 * The leaves of the operation queue come first, in the order of keys.  Then
 * the pages are visited in the order of the file, as nbtree does, so that they
 * are read in large pieces.
 *
 * Every leaf is locked for cleanup, even if it has nothing to remove.  For a
 * scan may rely on its pin on a leaf for a TID that it has in hand, and a
 * split may have moved the entry to another page since.
 *
 * A concurrent split may move entries from a leaf that is still to be visited
 * to a block that we have passed.  So we remember at which blocks we have
 * visited leaves.  From each leaf we continue with its right sibling if we
 * have passed that one's block and visited no leaf there.  See "VACUUM" in
 * README.md.
 *
 * All else that is done here is upkeep: splits are finished, empty leaves are
 * taken out of the tree, free pages are noted.  Upkeep comes after the page's
 * dead entries have been removed, and its errors are warnings, for example if
 * the disk is full, or another page is damaged.  Otherwise VACUUM would fail,
 * and the table would keep its dead rows and its relfrozenxid.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "commands/progress.h"
#include "commands/vacuum.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "storage/indexfsm.h"
#include "storage/read_stream.h"
#include "utils/memutils.h"

#include "base/attempt.h"
#include "queue/queue.h"
#include "tree/tree.h"
#include "tree/verify.h"
#include "write/write.h"

/* a VACUUM gives no more warnings than this, because most are alike */
#define MAX_WARNINGS	10

typedef struct VacuumState
{
	FpbIndex	ix;
	FpbIndex	tiers[FPB_TIERS];	/* the same, for those of the queue */
	IndexVacuumInfo *info;
	IndexBulkDeleteResult *stats;
	IndexBulkDeleteCallback callback;
	void	   *callback_state;

	BlockNumber next;			/* the block that is read next */
	BlockNumber here;			/* all before this have been visited */
	BlockNumber nblocks;		/* of the index, as far as is known */
	uint8	   *leaves;			/* a bit for each: have we visited a leaf
								 * there, which is still in the tree? */
	BlockNumber nfreed;			/* pages that have been added to the free
								 * space map */

	FpbItem    *items;			/* entries of the page at hand */
	FpbPos	   *doomed;			/* positions of those to be removed, */
	uint64	   *doomed_heads;	/* and their heads */
	FpbFilter	filter;
	bool		noted;			/* are there notes of the tier's entries, to
								 * be erased? */
	MemoryContext upkeep_cxt;	/* for a piece of upkeep */
	int			nwarnings;
} VacuumState;

/* a piece of upkeep, and the page that it is about */
typedef struct Upkeep
{
	VacuumState *vs;
	BlockNumber blkno;
	List	   *freed;			/* pages taken out of the tree */
} Upkeep;

/*
 * Note whether a block is a leaf of the tree that we have visited.
 */
static void
set_leaf(VacuumState *vs, BlockNumber blkno, bool leaf)
{
	if (leaf)
		vs->leaves[blkno / 8] |= 1 << (blkno % 8);
	else
		vs->leaves[blkno / 8] &= ~(1 << (blkno % 8));
}

/*
 * Is a block a leaf of the tree that we have visited?
 */
static bool
is_leaf(const VacuumState *vs, BlockNumber blkno)
{
	return (vs->leaves[blkno / 8] & (1 << (blkno % 8))) != 0;
}

/*
 * Dead entries have been removed from a leaf of the queue: erase their notes.
 */
static void
forget_doomed(VacuumState *vs, int ndoomed)
{
	FpbFilter  *filter = &vs->filter;

	if (vs->noted && fpb_filter_begin_erasing(filter))
	{
		for (int i = 0; i < ndoomed; i++)
			fpb_filter_erase(filter, vs->doomed_heads[i]);
		fpb_filter_end_erasing();
	}
	if (filter->shared != NULL)
		pg_atomic_fetch_sub_u64(&fpb_shared_tier(filter->shared, filter->tier)->entries, ndoomed);
}

/*
 * Remove the dead entries of a leaf, and count the others.  The leaf is in the
 * tree that *ix is about, and is locked for cleanup.
 */
static void
vacuum_leaf(VacuumState *vs, FpbIndex *ix, Buffer buf)
{
	Page		page = BufferGetPage(buf);
	FpbPos		start = FPB_POS_FIRST;
	bool		more = true;
	int			nitems;
	int			ndoomed = 0;

	nitems = fpb_page_read(ix, page, start, NULL, false, vs->items,
						   FPB_MAX_PAGE_ENTRIES, &more);
	for (int i = 0; i < nitems; i++)
	{
		ItemPointerData tid;

		fpb_tail_tid(vs->items[i].key.tail, &tid);
		if (unlikely(!ItemPointerIsValid(&tid)))
			fpb_report_damage(ix->rel, BufferGetBlockNumber(buf),
							  "An entry has an invalid TID.");
		if (vs->callback(&tid, vs->callback_state))
		{
			vs->doomed[ndoomed] = vs->items[i].pos;
			vs->doomed_heads[ndoomed++] = fpb_key_head(ix, &vs->items[i].key);
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
		fpb_verify_delete(ix, &wal, 0, vs->doomed, ndoomed);
		if (ix->tree != FPB_MAIN_TREE)
			forget_doomed(vs, ndoomed);
	}
	vs->stats->tuples_removed += ndoomed;
	vs->stats->num_index_tuples += nitems - ndoomed;
}

/*
 * The message level of the next warning, which is lower after MAX_WARNINGS.
 */
static int
warning_level(VacuumState *vs)
{
	return ++vs->nwarnings <= MAX_WARNINGS ? WARNING : DEBUG1;
}

/*
 * Do a piece of upkeep, in a subtransaction.  An error becomes a warning, and
 * what has been changed before it stays.  "what" describes the piece, for the
 * warning; it is about a block unless upkeep->blkno is FPB_METAPAGE.  No page
 * is locked on entry or exit.
 */
static void
keep_up(VacuumState *vs, Upkeep *upkeep, FpbTryStep step, const char *what)
{
	MemoryContext old = MemoryContextSwitchTo(vs->upkeep_cxt);
	ErrorData  *error = fpb_try(step, upkeep);

	if (error != NULL)
	{
		const char *name = RelationGetRelationName(vs->ix.rel);

		fpb_warn_of(error, warning_level(vs),
					upkeep->blkno == FPB_METAPAGE ?
					psprintf("%s of index \"%s\"", what, name) :
					psprintf("%s at block %u of index \"%s\"", what, upkeep->blkno, name),
					"Dead rows are removed all the same. The next VACUUM that removes some tries this again.");
	}
	MemoryContextSwitchTo(old);
}

/*
 * Upkeep: put a free page into the free space map.
 */
static void
record_free(void *arg)
{
	Upkeep	   *upkeep = arg;

	fpb_record_free(upkeep->vs->ix.rel, upkeep->blkno);
}

/*
 * Note a free page that we have visited: a deleted one, or one that is all
 * zeros.  A crash may have kept it out of the free space map.  (A page of
 * zeros is in use by nobody, because whoever extends the index has the new
 * page locked until it is initialised.)
 */
static void
note_free(VacuumState *vs, BlockNumber blkno)
{
	Upkeep		upkeep = {.vs = vs,.blkno = blkno};

	keep_up(vs, &upkeep, record_free, "note the free page");
	MemoryContextReset(vs->upkeep_cxt);
	vs->nfreed++;
	vs->stats->pages_deleted++;
	vs->stats->pages_free++;
}

/*
 * Upkeep: update the upper levels of the free space map, by which backends
 * find free pages.  They may have changed these levels back meanwhile.
 */
static void
update_map(void *arg)
{
	Upkeep	   *upkeep = arg;

	IndexFreeSpaceMapVacuum(upkeep->vs->ix.rel);
}

/*
 * Upkeep: try to take an empty leaf out of the tree, and with it other pages.
 */
static void
delete_empty(void *arg)
{
	Upkeep	   *upkeep = arg;

	fpb_delete_empty(&upkeep->vs->ix, upkeep->blkno, &upkeep->freed);
}

/*
 * Take an empty leaf out of the tree, and note which pages have been freed.
 */
static void
delete_leaf(VacuumState *vs, BlockNumber blkno)
{
	Upkeep		upkeep = {.vs = vs,.blkno = blkno};

	keep_up(vs, &upkeep, delete_empty, "delete the empty page");
	foreach_oid(block, upkeep.freed)
	{
		if (block == FPB_METAPAGE)
			continue;			/* stands for none */

		/* blocks beyond the known end have no bit */
		if (block < vs->nblocks)
			set_leaf(vs, block, false);
		vs->nfreed++;
		vs->stats->pages_newly_deleted++;
		/* others will be counted when they are visited */
		if (block < vs->here)
		{
			vs->stats->pages_deleted++;
			vs->stats->pages_free++;
		}
	}
	MemoryContextReset(vs->upkeep_cxt);
}

/*
 * Upkeep: finish the split of a page, if that is still incomplete.  No lock is
 * held on entry or exit.
 */
static void
finish_split(void *arg)
{
	Upkeep	   *upkeep = arg;
	FpbIndex   *ix = &upkeep->vs->ix;
	Buffer		buf = fpb_getbuf(ix, upkeep->blkno, BUFFER_LOCK_SHARE);
	Page		page = BufferGetPage(buf);
	int			level = FpbHdr(page)->level;
	FpbIndex   *tree = FpbPageIsQueue(page) ? &upkeep->vs->tiers[FpbPageTree(page) - 1] : ix;
	bool		incomplete = !FpbPageIsDeleted(page) &&
		FpbPageSplitIncomplete(page) && !FpbPageIsRightmost(page);
	FpbKey		high;
	FpbSearchKey end;

	if (incomplete)
	{
		Buffer		right = fpb_lock_high(tree, buf, &high);

		fpb_fence_search_key(ix, &high, &end);
		if (BufferIsValid(right))
			fpb_relbuf(right);
	}
	fpb_relbuf(buf);
	if (!incomplete)
		return;

	/*
	 * A descent for writing, to the page that ends there, finishes the splits
	 * that it comes by.  The queue may have been removed meanwhile.
	 */
	buf = fpb_descend(tree, &end, level, true, BUFFER_LOCK_EXCLUSIVE, NULL);
	if (BufferIsValid(buf))
		fpb_relbuf(buf);
}

/*
 * Is a damaged page certainly no leaf with entries, but a deleted or an inner
 * page?
 */
static bool
has_no_entries(const VacuumState *vs, Page page)
{
	FpbPageHeader *hdr = FpbHdr(page);

	if (hdr->magic != FPB_MAGIC || PageGetPageSize(page) != BLCKSZ ||
		FpbPageIsMeta(page) || FpbPageIsLeaf(page) != (hdr->level == 0) ||
		hdr->level > (FpbPageIsQueue(page) ? vs->ix.tier_levels[FpbPageTree(page) - 1] :
					  vs->ix.level))
		return false;
	return FpbPageIsDeleted(page) || !FpbPageIsLeaf(page);
}

/*
 * Visit a page, which is pinned, and release it: remove its dead entries if it
 * is a leaf of the main tree, finish its split if that is incomplete, take it
 * out of the tree if it is empty, or note that it is free.
 *
 * Returns the block of the leaf's right sibling, or InvalidBlockNumber if the
 * page is no leaf of the main tree, or has no right sibling.
 *
 * Raises an error if the page is damaged and may be a leaf: it would keep
 * entries of dead rows, and their TIDs would be used again.
 */
static BlockNumber
visit_page(VacuumState *vs, Buffer buf)
{
	FpbIndex   *ix = &vs->ix;
	Page		page = BufferGetPage(buf);
	Upkeep		upkeep = {.vs = vs,.blkno = BufferGetBlockNumber(buf)};
	BlockNumber right = InvalidBlockNumber;
	const char *fault = NULL;
	bool		free;
	bool		leaf;
	bool		incomplete;
	bool		empty = false;

	LockBuffer(buf, BUFFER_LOCK_SHARE);
	free = PageIsNew(page);
	if (!free)
	{
		fault = fpb_header_fault(ix, page);
		if (unlikely(fault != NULL) && !has_no_entries(vs, page))
			fpb_report_damage(ix->rel, upkeep.blkno, fault);
		free = FpbPageIsDeleted(page);
	}
	leaf = !free && FpbPageIsLeaf(page) && !FpbPageIsQueue(page);
	incomplete = !free && fault == NULL && FpbPageSplitIncomplete(page);
	LockBuffer(buf, BUFFER_LOCK_UNLOCK);

	if (leaf)
	{
		/* only VACUUM takes leaves out of the tree, so it is still a leaf */
		LockBufferForCleanup(buf);
		fpb_checkpage(ix, buf);
		vacuum_leaf(vs, ix, buf);
		right = FpbHdr(page)->right;
		empty = !FpbPageIsLeftmost(page) && fpb_page_is_empty(ix, page);
		LockBuffer(buf, BUFFER_LOCK_UNLOCK);
		set_leaf(vs, upkeep.blkno, true);
	}
	ReleaseBuffer(buf);

	if (unlikely(fault != NULL))
		ereport(warning_level(vs),
				(errcode(ERRCODE_INDEX_CORRUPTED),
				 errmsg("index \"%s\" contains a damaged page at block %u",
						RelationGetRelationName(ix->rel), upkeep.blkno),
				 errdetail("%s", fault),
				 errhint("Please REINDEX it.")));
	if (incomplete)
	{
		keep_up(vs, &upkeep, finish_split, "finish the page split");
		MemoryContextReset(vs->upkeep_cxt);
	}
	if (free)
		note_free(vs, upkeep.blkno);
	if (empty)
		delete_leaf(vs, upkeep.blkno);
	return right;
}

/*
 * Visit the leaves of a tier of the operation queue in the order of keys, so
 * that no split makes us miss an entry.  Entries move from tier to tier and to
 * the main tree, and never back.  So those that move before we come to their
 * leaf are found in the tiers below or in the main tree, whose leaves are
 * visited after this.
 */
static void
visit_tier(VacuumState *vs, int tier)
{
	FpbIndex   *queue = &vs->tiers[tier - 1];
	FpbLeaves	walk;
	Buffer		buf;

	fpb_filter_open(&vs->filter, queue->rel, tier, false);
	vs->noted = fpb_filter_noted(&vs->filter, queue->rel);
	fpb_leaves_begin(&walk, queue);
	while (BufferIsValid(buf = fpb_leaves_next(&walk)))
	{
		/* a leaf of the queue is not taken out of it while it is pinned */
		LockBuffer(buf, BUFFER_LOCK_UNLOCK);
		fpb_vacuum_delay_point();
		LockBufferForCleanup(buf);
		fpb_checkpage(queue, buf);
		if (fpb_leaves_still(&walk, buf))
		{
			vacuum_leaf(vs, queue, buf);
			fpb_leaves_leave(&walk, buf);
		}
		else
			fpb_relbuf(buf);
	}
	fpb_leaves_end(&walk);
}

/*
 * The read stream's callback: the next block, up to the known end.
 */
static BlockNumber
next_block(ReadStream *stream pg_attribute_unused(),
		   void *callback_private_data,
		   void *per_buffer_data pg_attribute_unused())
{
	VacuumState *vs = (VacuumState *) callback_private_data;

	return vs->next < vs->nblocks ? vs->next++ : InvalidBlockNumber;
}

/*
 * Visit the blocks from vs->next to the known end, and leaves that splits have
 * made at blocks that we have passed.
 */
static void
visit_blocks(VacuumState *vs)
{
	Relation	rel = vs->ix.rel;
	ReadStream *stream;
	Buffer		buf;

	stream = read_stream_begin_relation(READ_STREAM_MAINTENANCE |
										READ_STREAM_FULL |
										FPB_READ_STREAM_BATCHING,
										vs->info->strategy, rel, MAIN_FORKNUM,
										next_block, vs, 0);
	while (BufferIsValid(buf = read_stream_next_buffer(stream, NULL)))
	{
		BlockNumber right;

		vs->here = BufferGetBlockNumber(buf) + 1;
		fpb_vacuum_delay_point();
		right = visit_page(vs, buf);
		while (right < vs->here && !is_leaf(vs, right) && right != FPB_METAPAGE)
		{
			fpb_vacuum_delay_point();
			right = visit_page(vs, ReadBufferExtended(rel, MAIN_FORKNUM, right,
													  RBM_NORMAL,
													  vs->info->strategy));
		}
		if (vs->info->report_progress)
			pgstat_progress_update_param(PROGRESS_SCAN_BLOCKS_DONE, vs->here);
	}
	read_stream_end(stream);
}

/*
 * Upkeep: descend to the first leaf.  VACUUM does not need it, but it should
 * not go unnoticed if the file has no tree at all.
 */
static void
find_first_leaf(void *arg)
{
	Upkeep	   *upkeep = arg;

	fpb_relbuf(fpb_descend_edge(&upkeep->vs->ix, 0, false, BUFFER_LOCK_SHARE));
}

/*
 * Find out how large the index is, and make room for a bit for each block.
 */
static void
update_nblocks(VacuumState *vs)
{
	Size		size = vs->leaves == NULL ? 0 : vs->nblocks / 8 + 1;
	Size		needed;

	vs->nblocks = RelationGetNumberOfBlocks(vs->ix.rel);
	needed = vs->nblocks / 8 + 1;
	if (vs->leaves == NULL)
		vs->leaves = palloc_extended(needed, MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	else if (needed > size)
	{
		vs->leaves = repalloc_huge(vs->leaves, needed);
		memset(vs->leaves + size, 0, needed - size);
	}
	if (vs->info->report_progress)
		pgstat_progress_update_param(PROGRESS_SCAN_BLOCKS_TOTAL, vs->nblocks);
}

/*
 * Remove dead entries from the whole index, and do its upkeep.
 */
static void
vacuum_scan(IndexVacuumInfo *info, IndexBulkDeleteResult *stats,
			IndexBulkDeleteCallback callback, void *callback_state)
{
	Relation	rel = info->index;
	VacuumState *vs = palloc0(sizeof(VacuumState));
	Upkeep		upkeep = {.vs = vs,.blkno = FPB_METAPAGE};

	fpb_index_open(&vs->ix, rel);
	vs->info = info;
	vs->stats = stats;
	vs->callback = callback;
	vs->callback_state = callback_state;
	vs->items = palloc(FPB_MAX_PAGE_ENTRIES * sizeof(FpbItem));
	vs->doomed = palloc(FPB_MAX_PAGE_ENTRIES * sizeof(FpbPos));
	vs->doomed_heads = palloc(FPB_MAX_PAGE_ENTRIES * sizeof(uint64));
	vs->upkeep_cxt = AllocSetContextCreate(CurrentMemoryContext,
										   "fpbtree upkeep",
										   ALLOCSET_DEFAULT_SIZES);

	/* the others are totals of the command, which may scan more than once */
	stats->num_index_tuples = 0;
	stats->pages_deleted = 0;
	stats->pages_free = 0;

	fpb_index_refresh(&vs->ix);
	keep_up(vs, &upkeep, find_first_leaf, "find the first leaf");
	MemoryContextReset(vs->upkeep_cxt);
	if (fpb_has_queue(rel))
		fpb_worker_request(rel);
	for (int tier = 1; tier < FPB_TREES; tier++)
	{
		fpb_index_of_tier(&vs->ix, tier, &vs->tiers[tier - 1]);
		if (vs->ix.may_queue)
			visit_tier(vs, tier);
	}

	/* meanwhile, splits may make leaves beyond the known end */
	vs->next = FPB_METAPAGE + 1;
	for (update_nblocks(vs); vs->next < vs->nblocks; update_nblocks(vs))
		visit_blocks(vs);

	stats->num_pages = vs->nblocks;
	stats->estimated_count = false;

	if (vs->nfreed > 0)
		keep_up(vs, &upkeep, update_map, "update the free space map");

	MemoryContextDelete(vs->upkeep_cxt);
	pfree(vs->doomed);
	pfree(vs->doomed_heads);
	pfree(vs->items);
	pfree(vs->leaves);
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
 * amvacuumcleanup: the end of VACUUM.  If fpb_bulkdelete has been called, it
 * has done all.  If not, no row was dead, and the index is not searched for
 * free pages alone: deleted pages enter the free space map at once, so only
 * those that a crash has kept out of it could be found.
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
