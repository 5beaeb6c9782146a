/*-------------------------------------------------------------------------
 *
 * scan/queue_leaf.c
 *	  The leaves of the queue's tiers for the place that a scan reads: locked, or
 *	  copied in recovery, or known to have nothing.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "miscadmin.h"
#include "storage/predicate.h"
#include "utils/memutils.h"

#include "queue/queue.h"
#include "scan/reader.h"

/*
 * A filter is asked for so many ranges in a leaf.  If a scan looks for more
 * keys there, some of them are likely to be in the queue.
 */
#define MAX_ASKED	16

/*
 * Pin the metapage, which names the queue's root, if it is not pinned yet.
 */
static inline void
pin_meta(FpbScan *so)
{
	if (!BufferIsValid(so->queue.metabuf))
		so->queue.metabuf = fpb_pin_meta(&so->ix);
}

/*
 * Unpin the metapage.
 */
void
fpb_scan_unpin_meta(FpbScan *so)
{
	if (BufferIsValid(so->queue.metabuf))
		ReleaseBuffer(so->queue.metabuf);
	so->queue.metabuf = InvalidBuffer;
}

/*
 * Does the filter tell that a tier has nothing of the range at hand?
 */
static inline bool
range_is_excluded(FpbScan *so, const FpbKeyRange *range, int tier)
{
	if (!range->has_lower || !range->has_upper ||
		range->lower.head != range->upper.head ||
		!(fpb_is_word(&so->ix) || (range->lower.has_head && range->upper.has_head)))
		return false;
	return fpb_filter_excludes(&so->queue.filters[tier - 1],
							   BufferGetPage(so->queue.metabuf), range->lower.head);
}

/*
 * Does the range at hand, and with it all that the scan comes to later, lie
 * behind the main leaf?
 */
static inline bool
is_behind_leaf(FpbReader *r)
{
	Page		leaf = r->seg.leaf;
	const FpbKeyRange *range = r->range;

	if (r->forward)
		return range->has_lower && !FpbPageIsRightmost(leaf) &&
			fpb_scan_compare_high(r->so, leaf, &range->lower) <= 0;
	return range->has_upper && !FpbPageIsLeftmost(leaf) &&
		fpb_compare_low(&r->so->ix, leaf, &range->upper) > 0;
}

/*
 * Does the filter tell that a tier has nothing that the scan looks for in the
 * main leaf of the place, which is locked?  It is asked for each range that
 * begins there, but only for the first few.
 *
 * In a serializable transaction the answer is no, because it has to lock tier
 * 1's leaf anyway.
 */
static bool
is_excluded(FpbReader *r, int tier)
{
	FpbScan    *so = r->so;
	int64		first = r->at->range;
	int64		step = r->forward ? 1 : -1;
	bool		excluded = true;
	bool		behind = false;
	int			asked = 0;

	if (!so->queue.filter_open[tier - 1] || IsolationIsSerializable())
		return false;
	for (int64 number = first; excluded && !behind && number >= 0 && number < so->keys.nranges;
		 number += step)
	{
		fpb_key_range_set(&so->keys, r->range, number);
		behind = number != first && is_behind_leaf(r);
		if (!behind)
			excluded = asked++ < MAX_ASKED && range_is_excluded(so, r->range, tier);
	}

	/* the caller's place may be an end of the first one */
	fpb_key_range_set(&so->keys, r->range, first);
	return excluded;
}

/*
 * Do the filters tell that no tier has anything that the scan looks for?
 */
bool
fpb_queue_excluded(FpbReader *r)
{
	for (int tier = 1; tier < FPB_TREES; tier++)
		if (fpb_has_tier(r->so->queue.metabuf, tier) && !is_excluded(r, tier))
			return false;
	return true;
}

/*
 * May a tier have an entry for the scan at this moment?  If not, then one that
 * has left it can be seen in the next tier from now on.
 */
static bool
may_have(FpbReader *r, int tier)
{
	bool		may = fpb_has_tier(r->so->queue.metabuf, tier) && !is_excluded(r, tier);

	pg_read_barrier();
	return may;
}

/*
 * The same index, to work on a tier.
 */
static FpbIndex *
tier_index(FpbScan *so, int tier)
{
	FpbIndex  **tree = &so->queue.trees[tier - 1];

	if (*tree == NULL)
	{
		*tree = MemoryContextAlloc(so->cxt, sizeof(FpbIndex));
		fpb_index_of_tier(&so->ix, tier, *tree);
	}
	return *tree;
}

/*
 * Lock a tier's leaf for a place (NULL: an end of the index), for serializable
 * transactions, too, as far as entries are inserted there.  The caller has the
 * main leaf of the place locked, except in recovery.
 *
 * Returns InvalidBuffer if there is no such tier, or if a page would have to
 * be read first, to which *missing is set then (missing = NULL: it is read at
 * once).
 */
static Buffer
lock_leaf(FpbReader *r, FpbSearchKey *search, int tier, BlockNumber *missing)
{
	FpbScan    *so = r->so;
	FpbIndex   *tree = tier_index(so, tier);
	Buffer		buf = fpb_descend_queue(tree, search, !r->forward, BUFFER_LOCK_SHARE, NULL,
										missing);

	if (BufferIsValid(buf))
	{
		if (tier == 1)
			PredicateLockPage(r->scan->indexRelation, BufferGetBlockNumber(buf),
							  r->scan->xs_snapshot);
		fpb_fetch_high(so, tree, buf);
	}
	return buf;
}

/*
 * Release the tiers' leaves that are locked.
 */
static void
release_leaves(Buffer *bufs)
{
	for (int i = 0; i < FPB_TIERS; i++)
	{
		if (BufferIsValid(bufs[i]))
			fpb_relbuf(bufs[i]);
		bufs[i] = InvalidBuffer;
	}
}

/*
 * May a tier whose leaf is not locked have got entries from one before it,
 * since it was found to have none?  wanted: of each tier, could it have some?
 *
 * If no tier before could have any, there were none to come.  If one has, its
 * leaf is locked by now, and no more can leave that.
 */
static bool
has_got_some(FpbReader *r, const bool *wanted, const Buffer *bufs)
{
	bool		any = false;

	for (int tier = 2; tier < FPB_TREES; tier++)
	{
		any = any || wanted[tier - 2];
		if (any && !BufferIsValid(bufs[tier - 1]) && may_have(r, tier))
			return true;
	}
	return false;
}

/*
 * Lock the leaves of the tiers for a place (NULL: an end of the index) that
 * may have entries for the scan.  The metapage is pinned.  The caller has the
 * main leaf of the place locked.  bufs[] is set for each tier; InvalidBuffer:
 * it has nothing.
 *
 * The tiers are asked in the order in which entries move, and locked in the
 * opposite order.
 *
 * Returns false, with no leaf locked, if a page would have to be read first,
 * to which so->queue.missing is set then.
 *
 * The relcache tells too late that a tier has come: an insertion that has
 * returned must be seen, and it may have been the first to go to a queue.
 */
bool
fpb_lock_queue_leaves(FpbReader *r, FpbSearchKey *search, Buffer *bufs)
{
	FpbScan    *so = r->so;
	bool		wanted[FPB_TIERS];
	bool		meta_locked = false;
	bool		again;

	so->queue.missing = InvalidBlockNumber;
	do
	{
		for (int tier = 1; tier < FPB_TREES; tier++)
		{
			bufs[tier - 1] = InvalidBuffer;
			wanted[tier - 1] = may_have(r, tier) ||
				(FPB_LOOK_ANYWAY && fpb_has_tier(so->queue.metabuf, tier));
		}
		FPB_INJECTION_POINT("fpbtree-tiers-asked");
		for (int tier = FPB_TIERS; tier > FPB_MAIN_TREE; tier--)
		{
			if (wanted[tier - 1])
				bufs[tier - 1] = lock_leaf(r, search, tier, &so->queue.missing);
			if (so->queue.missing != InvalidBlockNumber)
			{
				release_leaves(bufs);
				return false;
			}
		}
		again = has_got_some(r, wanted, bufs);

		/*
		 * Whoever inserts into tier 1 looks for locks on the metapage, too,
		 * when it is there: so the lock comes first, then the look.
		 */
		if (IsolationIsSerializable() && !BufferIsValid(bufs[0]) && !meta_locked)
		{
			PredicateLockPage(r->scan->indexRelation, FPB_METAPAGE, r->scan->xs_snapshot);
			meta_locked = again = true;
		}
		if (again)
			release_leaves(bufs);
	} while (again);
	return true;
}

/*
 * In recovery: copy a tier's leaf for a place (NULL: an end of the index), as
 * part of the segment, if there is such a tier.  No lock is held on entry or
 * exit.
 */
static void
copy_leaf(FpbReader *r, FpbSearchKey *search, int tier)
{
	FpbScan    *so = r->so;
	FpbSegment *seg = &r->seg;
	Page	   *copy = &so->queue.copies[tier - 1];
	Buffer		buf;

	if (!fpb_has_tier(so->queue.metabuf, tier))
	{
		/* what has left it can be seen in the next tier from now on */
		pg_read_barrier();
		return;
	}
	buf = lock_leaf(r, search, tier, NULL);
	if (!BufferIsValid(buf))
		return;
	if (*copy == NULL)
		*copy = MemoryContextAllocAligned(so->cxt, BLCKSZ, PG_CACHE_LINE_SIZE, 0);
	memcpy(*copy, BufferGetPage(buf), BLCKSZ);
	fpb_relbuf(buf);
	seg->queued[seg->nqueued++] = *copy;
	FPB_INJECTION_POINT("fpbtree-tier-copied");
}

/*
 * There is a tier of a queue.  If nobody has asked for a worker, and no worker
 * has noted what is in the tier, then it has come with the index's file, as
 * after a restart: ask for one.  No page is locked.
 */
static void
ask_for_worker(const FpbScan *so, FpbFilter *filter)
{
	FpbShared  *shared = filter->shared;

	if (shared != NULL &&
		pg_atomic_read_u32(&shared->request) == FPB_NOT_REQUESTED &&
		!fpb_filter_noted(filter, so->ix.rel))
		fpb_worker_request(so->ix.rel);
}

/*
 * Open the filters of the tiers that there are, once each.  One without words
 * is opened again, because it may get some.
 */
static void
open_filters(FpbScan *so)
{
	for (int tier = 1; tier < FPB_TREES; tier++)
	{
		FpbFilter  *filter = &so->queue.filters[tier - 1];
		bool	   *open = &so->queue.filter_open[tier - 1];

		if (*open || !fpb_has_tier(so->queue.metabuf, tier))
			continue;
		fpb_filter_open(filter, so->ix.rel, tier, false);
		*open = filter->words.at != NULL;
		if (*open)
			ask_for_worker(so, filter);
	}
}

/*
 * Prepare to look into the queue, before the main leaf of a place is locked:
 * pin the metapage; in recovery, copy the tiers' leaves into the segment, in
 * the order in which entries move; else open the filters of the tiers.  No
 * lock is held on entry or exit.
 */
void
fpb_open_queue(FpbReader *r, FpbSearchKey *search)
{
	FpbScan    *so = r->so;

	pin_meta(so);
	r->seg.copied = RecoveryInProgress();
	if (r->seg.copied)
	{
		for (int tier = 1; tier < FPB_TREES; tier++)
			copy_leaf(r, search, tier);
	}
	else if (unlikely(fpb_has_any_tier(so->queue.metabuf)))
		open_filters(so);
}
