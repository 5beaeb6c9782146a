/*-------------------------------------------------------------------------
 *
 * tree/prune.c
 *	  Removing dead entries from a leaf that would have to be split.
 *
 * Two kinds of entries are suspected to be dead: those that a scan has killed,
 * and those that have the same key as another, as the versions of an updated
 * row do.  Their removal need not wait for VACUUM.  But a standby must not
 * lose an entry that a query there can still see, and our WAL raises no
 * recovery conflict.  So an entry is removed only if its heap line pointer is
 * LP_DEAD: the record that made it so has raised the conflict.  Pages of the
 * table are pruned to make line pointers LP_DEAD.  See "Dead entries" in
 * README.md.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/tableam.h"
#include "access/visibilitymap.h"
#include "pgstat.h"
#include "common/hashfn.h"
#include "common/int.h"
#include "port/pg_bitutils.h"
#include "storage/bufmgr.h"
#include "utils/snapmgr.h"

#include "tree/tree.h"
#include "tree/verify.h"

/*
 * What is spent on a leaf to find dead versions: so many pages of the table
 * are looked at, so many of them may be read from storage, and after so many
 * in succession without a dead version no more are looked at.  The effort is
 * smaller if it is not sure that rows are being updated: then equal keys may
 * be nothing but equal keys.
 */
#define MAX_PAGES			128
#define MAX_READS			8
#define MAX_READS_UNSURE	2
#define MAX_IN_VAIN			32
#define MAX_IN_VAIN_UNSURE	4

/*
 * It is enough to find one dead entry in so many of the leaf's.  After that
 * pages are looked at only if they have so many suspects.
 */
#define ENOUGH_ONE_IN		8
#define MANY_SUSPECTS		8

/*
 * A leaf that loses fewer entries than WORTHWHILE, and fewer than one in
 * WORTHWHILE_ONE_IN, is split all the same.  Otherwise each of the next
 * insertions would look for dead entries again.
 */
#define WORTHWHILE			5
#define WORTHWHILE_ONE_IN	64

/*
 * After so many splits of leaves in succession in which nothing dead was found
 * and nothing was sure to be, a backend looks only before each LOOK_AGAIN'th.
 */
#define SPLITS_IN_VAIN		4
#define LOOK_AGAIN			8

/* a key with no more entries than this is taken for that of one row */
#define FEW_VERSIONS		8

/* so many entries on either side of a place are beside it */
#define BESIDE				64

/* splits of an index's leaves in which this backend has found nothing dead */
typedef struct Splits
{
	Oid			index;
	uint32		in_vain;
} Splits;

/* of the indexes of late, by their OIDs */
static Splits all_splits[16];

/* an entry suspected to be dead */
typedef struct Suspect
{
	uint64		tid;			/* as an integer */
	FpbPos		pos;
	bool		promising;		/* more likely dead than others */
	int			next;			/* of its page; -1: none */
} Suspect;

/* a page of the table, and its suspects */
typedef struct SuspectPage
{
	BlockNumber blkno;
	int			first;			/* suspect; the others follow by their next */
	int			n;
	int			promising;
} SuspectPage;

/* a leaf that dead entries are removed from */
typedef struct Prune
{
	const FpbIndex *ix;
	Relation	heap;
	Page		page;
	struct GlobalVisState *vistest;
	Buffer		vmbuffer;		/* of the table's visibility map, pinned, or
								 * InvalidBuffer */
	FpbItem    *items;			/* entries of the leaf */
	int			nentries;		/* how many it has; or more than one, and more
								 * than are suspected, if it has */
	Suspect    *suspects;
	int			nsuspects;
	SuspectPage *pages;
	FpbPos	   *dead;			/* what is to be removed */
	int			ndead;
} Prune;

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
 * Read all entries of the leaf.
 */
static void
read_entries(Prune *p)
{
	bool		more;

	p->nentries = fpb_page_read(p->ix, p->page, FPB_POS_FIRST, NULL, false, p->items,
								FPB_MAX_PAGE_ENTRIES, &more);
}

/*
 * Has the leaf an entry that is not killed?
 */
static bool
has_unkilled(const Prune *p)
{
	FpbPos		pos = FPB_POS_FIRST;
	FpbEntry	entry;

	while (fpb_page_next(p->ix, p->page, &pos, &entry))
	{
		if (!fpb_page_is_killed(p->ix, p->page, pos))
			return true;
		pos = fpb_pos_behind(pos);
	}
	return false;
}

/*
 * Suspect the killed entries.  Of the others, it is only asked if there is
 * any.
 */
static void
suspect_killed(Prune *p)
{
	int			n = fpb_page_read_killed(p->ix, p->page, p->items);

	for (int i = 0; i < n; i++)
		add_suspect(p, &p->items[i]);
	p->nentries = n + (has_unkilled(p) ? 1 : 0);
}

/*
 * The last n suspects have the same key.  Tell which of them are promising; an
 * entry that is alone with its key is no suspect.
 *
 * If a key has few entries, all but one are likely to be dead.  If it has
 * many, those are that share their page of the table with another, because an
 * update puts the new version on the page of the old one if there is room.
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
 * Suspect the entries of a key.
 */
static void
suspect_key(Prune *p, const FpbKey *key)
{
	for (int i = 0; i < p->nentries; i++)
		if (fpb_keys_identical(p->ix, &p->items[i].key, key))
			add_suspect(p, &p->items[i]);
	if (p->nsuspects > 0)
		end_run(p, p->nsuspects);
}

/*
 * The page of the table with this number, of the *n of p->pages, to which it
 * is added if it is not there.  table: their numbers in p->pages and one, by
 * hash values, with more places than pages; 0: none.
 */
static SuspectPage *
suspect_page(Prune *p, uint16 *table, uint32 mask, BlockNumber blkno, int *n)
{
	SuspectPage *sp;
	uint32		at = murmurhash32(blkno) & mask;

	for (; table[at] != 0; at = (at + 1) & mask)
		if (p->pages[table[at] - 1].blkno == blkno)
			return &p->pages[table[at] - 1];
	sp = &p->pages[(*n)++];
	table[at] = *n;
	sp->blkno = blkno;
	sp->first = -1;
	sp->n = sp->promising = 0;
	return sp;
}

/*
 * Fill p->pages with the pages of the table that the suspects are on; returns
 * how many.  A TID beyond the table's end is damage, which is not reported
 * here.
 */
static int
suspect_pages(Prune *p)
{
	uint32		size = pg_nextpower2_32(2 * p->nsuspects + 1);
	SuspectPage *sp = NULL;
	BlockNumber nblocks;
	uint16	   *table;
	int			n = 0;

	if (p->nsuspects == 0)
		return 0;
	nblocks = RelationGetNumberOfBlocks(p->heap);
	table = palloc0(sizeof(uint16) * size);
	for (int i = 0; i < p->nsuspects; i++)
	{
		Suspect    *suspect = &p->suspects[i];
		BlockNumber blkno = suspect_block(suspect);

		if (blkno >= nblocks)
			continue;
		if (sp == NULL || sp->blkno != blkno)
			sp = suspect_page(p, table, size - 1, blkno, &n);
		suspect->next = sp->first;
		sp->first = i;
		sp->n++;
		sp->promising += suspect->promising ? 1 : 0;
	}
	pfree(table);
	return n;
}

/*
 * More promising pages come first.  The others are not left out; otherwise the
 * leaf would fill up with keys of many versions that are spread over the
 * table.  Equally promising pages come in the order of the file, so that other
 * leaves are likely to look at the same ones.
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
 * Choose those of the n pages that are to be looked at, the most promising
 * first, and prefetch them.  Returns how many there are.
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
 * Add the suspects whose line pointers are LP_DEAD to p->dead.  The page of
 * the table is locked.  Returns whether others would be LP_DEAD if it were
 * pruned.
 */
static bool
look_at_page(Prune *p, const SuspectPage *sp, Buffer buf)
{
	Page		page = BufferGetPage(buf);
	SnapshotData snapshot;
	bool		prunable = false;

	InitNonVacuumableSnapshot(snapshot, p->vistest);
	for (int i = sp->first; i >= 0; i = p->suspects[i].next)
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
		else if (!prunable)
			prunable = !heap_hot_search_buffer(&tid, p->heap, buf, &snapshot,
											   &tuple, NULL, true);
	}
	return prunable;
}

/*
 * Prune a page of the table, which is pinned and not locked.  Returns true
 * with the page locked, or false without a lock if it can't be pruned at once:
 * nobody may wait for a cleanup lock with a leaf locked.
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
 * Find out which suspects of a page of the table are dead.  The page is not
 * locked on entry or exit.
 */
static void
visit_page(Prune *p, const SuspectPage *sp)
{
	Buffer		buf = ReadBuffer(p->heap, sp->blkno);
	int			ndead = p->ndead;
	bool		prunable;

	LockBuffer(buf, BUFFER_LOCK_SHARE);
	prunable = look_at_page(p, sp, buf);
	LockBuffer(buf, BUFFER_LOCK_UNLOCK);

	if (prunable && prune_page(p, buf))
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
 * Find dead entries among the suspects.  likely: there are some.
 */
static void
find_versions(Prune *p, bool likely)
{
	int			max_in_vain = likely ? MAX_IN_VAIN : MAX_IN_VAIN_UNSURE;
	int			in_vain = 0;
	int			n;

	n = choose_pages(p, suspect_pages(p),
					 likely ? MAX_READS : MAX_READS_UNSURE);
	for (int i = 0; i < n && in_vain < max_in_vain; i++)
	{
		int			ndead = p->ndead;

		if (ndead > p->nentries / ENOUGH_ONE_IN && p->pages[i].n < MANY_SUSPECTS)
			break;
		visit_page(p, &p->pages[i]);
		in_vain = p->ndead > ndead ? 0 : in_vain + 1;
	}
}

/*
 * Set up what a search for dead entries of a leaf needs.  False if the table
 * can't tell which are dead.
 */
static bool
begin_prune(Prune *p, const FpbIndex *ix, Relation heap, Buffer buf)
{
	/* Other table access methods have no line pointers that we could ask. */
	if (heap->rd_tableam != GetHeapamTableAmRoutine())
		return false;

	memset(p, 0, sizeof(Prune));
	p->ix = ix;
	p->heap = heap;
	p->page = BufferGetPage(buf);
	p->vistest = GlobalVisTestFor(heap);
	p->items = palloc(sizeof(FpbItem) * FPB_MAX_PAGE_ENTRIES);
	p->suspects = palloc(sizeof(Suspect) * FPB_MAX_PAGE_ENTRIES);
	p->pages = palloc(sizeof(SuspectPage) * FPB_MAX_PAGE_ENTRIES);
	p->dead = palloc(sizeof(FpbPos) * FPB_MAX_PAGE_ENTRIES);
	return true;
}

/*
 * Remove the dead entries from the leaf, and free what begin_prune has
 * allocated.
 *
 * One entry is kept if all are dead.  The insertion may still fail, and only
 * VACUUM, which has a cleanup lock, may leave a leaf empty.  See "VACUUM" in
 * README.md.
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
 * Remove killed entries from a leaf, as far as that is permitted.  The leaf is
 * locked exclusively, and stays so.  Returns whether any has been removed.
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
 * Is one of the entries beside a place killed, before or after it?
 */
static bool
killed_beside(const FpbIndex *ix, Page page, FpbPos pos, bool before)
{
	FpbEntry	entry;

	for (int i = 0; i < BESIDE; i++)
	{
		if (!(before ? fpb_page_prev(ix, page, &pos, &entry) :
			  fpb_page_next(ix, page, &pos, &entry)))
			return false;
		if (fpb_page_is_killed(ix, page, pos))
			return true;
		if (!before)
			pos = fpb_pos_behind(pos);
	}
	return false;
}

/*
 * How many entries beside a place, before or after it, have a key?  More than
 * FEW_VERSIONS are not counted.
 */
static int
same_beside(const FpbIndex *ix, Page page, const FpbKey *key, FpbPos pos, bool before)
{
	FpbEntry	entry;
	int			same = 0;

	while (same <= FEW_VERSIONS &&
		   (before ? fpb_page_prev(ix, page, &pos, &entry) :
			fpb_page_next(ix, page, &pos, &entry)) &&
		   fpb_keys_identical(ix, &entry.key, key))
	{
		same++;
		if (!before)
			pos = fpb_pos_behind(pos);
	}
	return same;
}

/*
 * Remove dead entries of a key from a leaf that is locked exclusively, and
 * stays so.  likely: there are some.  Returns whether any has been removed.
 */
bool
fpb_prune_key(const FpbIndex *ix, Relation heap, Buffer buf, const FpbKey *key,
			  bool likely)
{
	Prune		p;

	if (!begin_prune(&p, ix, heap, buf))
		return false;
	read_entries(&p);
	suspect_key(&p, key);
	find_versions(&p, likely);
	finish_prune(&p, buf);
	return p.ndead > 0;
}

/*
 * Remove dead entries from a leaf in which a new entry would take room that is
 * left for other keys: all killed entries if one of them is beside the place;
 * else, if the row has been updated without changing its key and many entries
 * beside the place have that key, dead versions among the key's entries.  So
 * what a row leaves behind that is updated again and again does not fill the
 * leaf.
 *
 * The leaf is locked exclusively, and stays so.  Returns whether any entry has
 * been removed.
 */
bool
fpb_prune_beside(const FpbIndex *ix, Relation heap, Buffer buf,
				 const FpbKey *key, FpbPos pos, bool unchanged)
{
	Page		page = BufferGetPage(buf);

	if (fpb_page_has_killed(ix, page) &&
		(killed_beside(ix, page, pos, true) || killed_beside(ix, page, pos, false)))
		return fpb_prune_killed(ix, heap, buf);
	return unchanged &&
		same_beside(ix, page, key, pos, true) +
		same_beside(ix, page, key, pos, false) > FEW_VERSIONS &&
		fpb_prune_key(ix, heap, buf, key, false);
}

/*
 * Count a split of a leaf, in which nothing dead has been found so far.
 */
static Splits *
count_split(Relation rel)
{
	Oid			index = RelationGetRelid(rel);
	Splits	   *splits = &all_splits[index % lengthof(all_splits)];

	if (splits->index != index)
	{
		splits->index = index;
		splits->in_vain = 0;
	}
	splits->in_vain++;
	return splits;
}

/*
 * Remove entries of dead versions of rows from a leaf, as far as they can be
 * found at a reasonable cost.  The leaf is locked exclusively, and stays so.
 * heap is the index's table, whose pages are read and pruned.  unchanged: the
 * new entry is that of a row that has been updated without changing its key,
 * so that dead versions are likely.
 *
 * Returns whether any entry has been removed.  *enough: so many that the leaf
 * should not be split.
 */
bool
fpb_prune_versions(const FpbIndex *ix, Relation heap, Buffer buf,
				   bool unchanged, bool *enough)
{
	Splits	   *splits = count_split(ix->rel);
	Prune		p;

	*enough = false;
	if (!unchanged && splits->in_vain > SPLITS_IN_VAIN && splits->in_vain % LOOK_AGAIN != 0)
		return false;
	if (!begin_prune(&p, ix, heap, buf))
		return false;
	read_entries(&p);
	suspect_versions(&p);
	find_versions(&p, unchanged);
	finish_prune(&p, buf);
	if (p.ndead > 0)
		splits->in_vain = 0;
	*enough = p.ndead > 0 &&
		p.ndead >= Min(WORTHWHILE, p.nentries / WORTHWHILE_ONE_IN);
	return p.ndead > 0;
}
