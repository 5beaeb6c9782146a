/*-------------------------------------------------------------------------
 *
 * tree/prune.c
 *	  Removing dead entries from a leaf that would have to be split.
 *
 * Two kinds of entries are suspected to be dead: those that a scan has left a
 * hint for (killed ones), and those that are not alone with their key, as the
 * versions of an updated row are not.  VACUUM is not needed to remove such an
 * entry, but a standby must not lose one that a query there can still see, and
 * our WAL raises no recovery conflict.  So an entry goes only if its heap line
 * pointer is LP_DEAD: the record that made it so has raised the conflict.
 * Pages of the table are pruned to that end.  See "Dead entries" in README.md.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/tableam.h"
#include "access/visibilitymap.h"
#include "pgstat.h"
#include "common/int.h"
#include "storage/bufmgr.h"
#include "utils/snapmgr.h"

#include "tree/tree.h"
#include "tree/verify.h"

/*
 * What is spent on a leaf to find dead versions: the pages of the table that
 * are looked at, those that may have to be read for it, and those in
 * succession without a dead one after which no more are looked at.  Less where
 * nothing says that rows are being updated, and equal keys may be just that.
 */
#define MAX_PAGES			128
#define MAX_READS			8
#define MAX_READS_UNSURE	2
#define MAX_IN_VAIN			32
#define MAX_IN_VAIN_UNSURE	4

/* It is enough to have found one in so many of the leaf's entries. */
#define ENOUGH_ONE_IN		16

/*
 * A leaf that gives up less than this, in entries or one in so many, is full
 * of others, and is split: the next entries would each have to look again.
 */
#define WORTHWHILE			5
#define WORTHWHILE_ONE_IN	64

/* A key with no more entries than this has hardly more than one row. */
#define FEW_VERSIONS		8

/* an entry suspected to be dead */
typedef struct Suspect
{
	uint64		tid;			/* as an integer */
	FpbPos		pos;
	bool		promising;		/* more likely so than others */
} Suspect;

/* a page of the table, and its suspects */
typedef struct SuspectPage
{
	BlockNumber blkno;
	int			first;
	int			n;
	int			promising;
} SuspectPage;

/* a leaf being rid of dead entries */
typedef struct Prune
{
	const FpbIndex *ix;
	Relation	heap;
	Page		page;
	struct GlobalVisState *vistest;
	Buffer		vmbuffer;		/* of the table's visibility map, pinned, or
								 * InvalidBuffer */
	FpbItem    *items;			/* entries of the leaf */
	int			nentries;
	Suspect    *suspects;
	int			nsuspects;
	SuspectPage *pages;
	FpbPos	   *dead;			/* what is to be removed */
	int			ndead;
} Prune;

#define ST_SORT sort_suspects
#define ST_ELEMENT_TYPE Suspect
#define ST_COMPARE(a, b) pg_cmp_u64((a)->tid, (b)->tid)
#define ST_SCOPE static
#define ST_DEFINE
#include "lib/sort_template.h"

static inline BlockNumber
suspect_block(const Suspect *suspect)
{
	return (BlockNumber) (suspect->tid >> FPB_TAIL_OFFSET_BITS);
}

static void
add_suspect(Prune *p, const FpbItem *item)
{
	Suspect    *suspect = &p->suspects[p->nsuspects++];

	suspect->tid = item->key.tail & FPB_TAIL_TID_MASK;
	suspect->pos = item->pos;
	suspect->promising = false;
}

/*
 * Suspect the killed entries.
 */
static void
suspect_killed(Prune *p)
{
	for (int i = 0; i < p->nentries; i++)
		if (fpb_page_is_killed(p->ix, p->page, p->items[i].pos))
			add_suspect(p, &p->items[i]);
}

/*
 * End a run of n suspects with the same key, the last ones; the first is none
 * if it is the only one.  Where a key has few entries, all but one are likely
 * to be dead.  Where it has many, it is those that share their page of the
 * table with another, as an update leaves the new version on the page of the
 * old one if there is room.
 */
static void
end_run(Prune *p, int n)
{
	Suspect    *run = &p->suspects[p->nsuspects - n];

	if (n == 1)
		p->nsuspects--;
	for (int i = 0; i < n && n > 1; i++)
	{
		if (n <= FEW_VERSIONS)
			run[i].promising = true;
		else if (i > 0 && suspect_block(&run[i - 1]) == suspect_block(&run[i]))
			run[i - 1].promising = run[i].promising = true;
	}
}

/*
 * Suspect the entries that are not alone with their key.
 */
static void
suspect_versions(Prune *p)
{
	int			run = 0;

	for (int i = 0; i < p->nentries; i++)
	{
		if (run > 0 && !fpb_keys_identical(p->ix, &p->items[i - 1].key, &p->items[i].key))
		{
			end_run(p, run);
			run = 0;
		}
		add_suspect(p, &p->items[i]);
		run++;
	}
	if (run > 0)
		end_run(p, run);
}

/*
 * Fill p->pages with the pages of the table that the suspects are on, in
 * order; returns how many.  There is nothing behind the table's end but
 * damage, which is not ours to report.
 */
static int
suspect_pages(Prune *p)
{
	BlockNumber nblocks;
	int			n = 0;

	if (p->nsuspects == 0)
		return 0;
	nblocks = RelationGetNumberOfBlocks(p->heap);

	sort_suspects(p->suspects, p->nsuspects);
	for (int i = 0; i < p->nsuspects; i++)
	{
		BlockNumber blkno = suspect_block(&p->suspects[i]);

		if (blkno >= nblocks)
			break;
		if (n == 0 || p->pages[n - 1].blkno != blkno)
		{
			p->pages[n].blkno = blkno;
			p->pages[n].first = i;
			p->pages[n].n = p->pages[n].promising = 0;
			n++;
		}
		p->pages[n - 1].n++;
		p->pages[n - 1].promising += p->suspects[i].promising ? 1 : 0;
	}
	return n;
}

/*
 * The pages that promise more come first.  The others are not left out, or
 * keys with many versions, spread over the table, would gather in the leaf.
 * Otherwise it is the order of the file, so that passes over other leaves are
 * likely to come to the same ones.
 */
static inline int
compare_promise(const SuspectPage *a, const SuspectPage *b)
{
	if (a->promising != b->promising)
		return pg_cmp_s32(b->promising, a->promising);
	if (a->n != b->n)
		return pg_cmp_s32(b->n, a->n);
	return pg_cmp_u32(a->blkno, b->blkno);
}

#define ST_SORT sort_pages
#define ST_ELEMENT_TYPE SuspectPage
#define ST_COMPARE(a, b) compare_promise(a, b)
#define ST_SCOPE static
#define ST_DEFINE
#include "lib/sort_template.h"

/*
 * Keep those of n pages, the most promising first, that are worth looking at,
 * and begin to read what is not in memory.  Returns how many are left.
 */
static int
choose_pages(Prune *p, int n, int max_reads)
{
	int			reads = 0;
	int			i;

	sort_pages(p->pages, n);
	n = Min(n, MAX_PAGES);
	for (i = 0; i < n && reads < max_reads; i++)
	{
		PrefetchBufferResult found = PrefetchBuffer(p->heap, MAIN_FORKNUM,
													p->pages[i].blkno);

		if (!BufferIsValid(found.recent_buffer))
			reads++;
	}
	return i;
}

/*
 * Take down the suspects of a page, locked, whose line pointers are LP_DEAD.
 * Returns how many others would be if it were pruned.
 */
static int
look_at_page(Prune *p, const SuspectPage *sp, Buffer buf)
{
	Page		page = BufferGetPage(buf);
	SnapshotData snapshot;
	int			prunable = 0;

	InitNonVacuumableSnapshot(snapshot, p->vistest);
	for (int i = sp->first; i < sp->first + sp->n; i++)
	{
		ItemPointerData tid;
		OffsetNumber offset;
		HeapTupleData tuple;

		fpb_tail_tid(p->suspects[i].tid, &tid);
		offset = ItemPointerGetOffsetNumber(&tid);
		if (offset > PageGetMaxOffsetNumber(page))
			continue;
		if (ItemIdIsDead(PageGetItemId(page, offset)))
			p->dead[p->ndead++] = p->suspects[i].pos;
		else if (!heap_hot_search_buffer(&tid, p->heap, buf, &snapshot, &tuple,
										 NULL, true))
			prunable++;
	}
	return prunable;
}

/*
 * Prune a page of the table, pinned and not locked, which then is locked.
 * False, and no lock, if it can't be done at once: a cleanup lock must not be
 * waited for while the leaf is locked.
 */
static bool
prune_page(Prune *p, Buffer buf)
{
	PruneFreezeResult result;

	fpb_pin_visibility_map(p->heap, BufferGetBlockNumber(buf), &p->vmbuffer);
	if (!ConditionalLockBufferForCleanup(buf))
		return false;
	fpb_heap_page_prune(p->heap, buf, p->vmbuffer, p->vistest, &result);
	if (result.ndeleted > result.nnewlpdead)
		pgstat_update_heap_dead_tuples(p->heap, result.ndeleted - result.nnewlpdead);
	return true;
}

/*
 * Take down which suspects of a page of the table are dead.  No lock is held
 * on it on entry or exit.
 */
static void
visit_page(Prune *p, const SuspectPage *sp)
{
	Buffer		buf = ReadBuffer(p->heap, sp->blkno);
	int			ndead = p->ndead;
	int			prunable;

	LockBuffer(buf, BUFFER_LOCK_SHARE);
	prunable = look_at_page(p, sp, buf);
	LockBuffer(buf, BUFFER_LOCK_UNLOCK);

	if (prunable > 0 && prune_page(p, buf))
	{
		p->ndead = ndead;
		(void) look_at_page(p, sp, buf);
		LockBuffer(buf, BUFFER_LOCK_UNLOCK);
	}
	ReleaseBuffer(buf);
}

/*
 * Find out which of the killed entries are dead.
 */
static void
find_killed(Prune *p)
{
	int			n;

	suspect_killed(p);
	n = suspect_pages(p);
	for (int i = 0; i < n; i++)
		visit_page(p, &p->pages[i]);
}

/*
 * Find dead entries among those that are not alone with their key.
 */
static void
find_versions(Prune *p, bool unchanged)
{
	int			max_in_vain = unchanged ? MAX_IN_VAIN : MAX_IN_VAIN_UNSURE;
	int			in_vain = 0;
	int			n;

	suspect_versions(p);
	n = choose_pages(p, suspect_pages(p),
					 unchanged ? MAX_READS : MAX_READS_UNSURE);
	for (int i = 0; i < n && in_vain < max_in_vain &&
		 p->ndead <= p->nentries / ENOUGH_ONE_IN; i++)
	{
		int			ndead = p->ndead;

		visit_page(p, &p->pages[i]);
		in_vain = p->ndead > ndead ? 0 : in_vain + 1;
	}
}

/*
 * Begin to look for dead entries in a leaf; false if they could not be told.
 */
static bool
begin_prune(Prune *p, const FpbIndex *ix, Relation heap, Buffer buf)
{
	bool		more;

	/* Other table access methods have no line pointers that we could ask. */
	if (heap->rd_tableam != GetHeapamTableAmRoutine())
		return false;

	memset(p, 0, sizeof(Prune));
	p->ix = ix;
	p->heap = heap;
	p->page = BufferGetPage(buf);
	p->vistest = GlobalVisTestFor(heap);
	p->items = palloc(sizeof(FpbItem) * FPB_MAX_PAGE_ENTRIES);
	p->nentries = fpb_page_read(ix, p->page, FPB_POS_FIRST, NULL, false, p->items,
								FPB_MAX_PAGE_ENTRIES, &more);
	p->suspects = palloc(sizeof(Suspect) * FPB_MAX_PAGE_ENTRIES);
	p->pages = palloc(sizeof(SuspectPage) * FPB_MAX_PAGE_ENTRIES);
	p->dead = palloc(sizeof(FpbPos) * FPB_MAX_PAGE_ENTRIES);
	return true;
}

/*
 * Remove what has been found dead from the leaf, but for one entry if that is
 * all: the insertion may fail yet, and only VACUUM, which takes a cleanup lock
 * for it, may leave a leaf empty.  See "VACUUM" in README.md.
 */
static void
finish_prune(Prune *p, Buffer buf)
{
	if (p->ndead > 0 && p->ndead == p->nentries)
		p->ndead--;
	if (p->ndead > 0)
	{
		FpbWal		wal;
		FpbWalPage *wp;

		fpb_wal_begin(&wal, p->ix->rel);
		wp = fpb_wal_add(&wal, buf, false);
		fpb_wal_enter(&wal);
		fpb_page_delete(p->ix, p->page, p->dead, p->ndead, wp);
		fpb_wal_finish(&wal);
		fpb_verify_delete(p->ix, &wal, 0, p->dead, p->ndead);
	}
	if (BufferIsValid(p->vmbuffer))
		ReleaseBuffer(p->vmbuffer);
	pfree(p->dead);
	pfree(p->pages);
	pfree(p->suspects);
	pfree(p->items);
}

/*
 * Remove the killed entries that can be removed from a leaf locked
 * exclusively, which stays so.  Returns whether any has been.
 */
bool
fpb_prune_killed(const FpbIndex *ix, Relation heap, Buffer buf)
{
	Prune		p;

	if (!fpb_page_has_killed(ix, BufferGetPage(buf)) ||
		!begin_prune(&p, ix, heap, buf))
		return false;
	find_killed(&p);
	finish_prune(&p, buf);
	FPB_INJECTION_POINT("fpbtree-pruned");
	return p.ndead > 0;
}

/*
 * Remove versions of rows that can be removed from a leaf locked exclusively,
 * which stays so, as far as they can be found at a reasonable cost.  heap is
 * the index's table, of which pages are read and pruned.  unchanged: the leaf
 * is to get an entry of an updated row whose key is the old one.  Returns
 * whether it has been worthwhile.
 */
bool
fpb_prune_versions(const FpbIndex *ix, Relation heap, Buffer buf,
				   bool unchanged)
{
	Prune		p;

	if (!begin_prune(&p, ix, heap, buf))
		return false;
	find_versions(&p, unchanged);
	finish_prune(&p, buf);
	return p.ndead > 0 &&
		p.ndead >= Min(WORTHWHILE, p.nentries / WORTHWHILE_ONE_IN);
}
