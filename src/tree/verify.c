/*-------------------------------------------------------------------------
 *
 * tree/verify.c
 *	  Assertion builds verify each change of a page as soon as it is logged.
 *
 * A fault in a page shows when somebody looks for what it hides.  That may be
 * many changes later, or never in a test.  So whoever has changed pages tells
 * the functions here what the change was meant to be.  They verify that
 *
 * - the pages are sound, in structure and in order; - their entries are those
 * from before, with just the difference meant; - no entry is killed that was
 * not killed before; - a search finds a new entry.
 *
 * (base/wal.c verifies that the ranges noted for WAL are all of the
 * difference.)
 *
 * The pages are still locked exclusively, but the critical section is over,
 * because keys are compared.  fpb_wal_before has what the pages were before,
 * until the next record.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/guc.h"

#include "tree/buffers.h"
#include "tree/verify.h"

#ifdef USE_ASSERT_CHECKING

/* fpbtree.verify_changes: off where pages are damaged on purpose */
static bool verify_changes = true;

/*
 * Define the setting.
 */
void
fpb_verify_init(void)
{
	DefineCustomBoolVariable("fpbtree.verify_changes",
							 "Verifies each change of a page as it is made.",
							 "Of builds with assertions only.",
							 &verify_changes,
							 true, PGC_SUSET, 0, NULL, NULL, NULL);
}

/* one entry of a page */
typedef struct VerifyEntry
{
	FpbEntry	entry;
	FpbPos		pos;
	bool		killed;
} VerifyEntry;

/* what a page holds; tuples stay in it */
typedef struct Content
{
	Page		page;
	int			n;
	VerifyEntry *entries;
	FpbKey		low;			/* unless the page is leftmost */
	FpbKey		high;			/* unless it is rightmost; if elided, without
								 * tuple until that is found elsewhere */
} Content;

/* a change being verified */
typedef struct Verify
{
	const FpbIndex *ix;
	const char *fault;			/* the first thing found, or NULL */
} Verify;

/*
 * Note what is wrong, unless something else has been found before.
 */
static void
note(Verify *v, const char *fault)
{
	if (v->fault == NULL)
		v->fault = fault;
}

/*
 * Is the page's structure sound, so that it may be read?
 */
static bool
verify_structure(Verify *v, Page page)
{
	const char *fault = fpb_header_fault(v->ix, page);

	if (fault == NULL)
		fault = fpb_page_fault(v->ix, page);
	if (fault != NULL)
		note(v, fault);
	return fault == NULL;
}

/*
 * Read a page's entries.  For leaves there are two ways to do that: as scans
 * do, which is several times as fast, or one entry after the other.
 */
static int
read_entries(const FpbIndex *ix, Page page, bool one_by_one, VerifyEntry *entries)
{
	static FpbItem items[FPB_MAX_PAGE_ENTRIES];
	FpbPos		pos = FPB_POS_FIRST;
	bool		more;
	int			n = 0;

	if (FpbPageIsLeaf(page) && !one_by_one)
	{
		n = fpb_page_read(ix, page, pos, NULL, false, items, lengthof(items), &more);
		for (int i = 0; i < n; i++)
		{
			entries[i].entry.key = items[i].key;
			entries[i].entry.child = InvalidBlockNumber;
			entries[i].pos = items[i].pos;
		}
		return n;
	}
	for (; fpb_page_next(ix, page, &pos, &entries[n].entry); pos = fpb_pos_behind(pos))
		entries[n++].pos = pos;
	return n;
}

/*
 * Read a page.  (That calls no comparator, which might come here again.)
 */
static void
read_content(const FpbIndex *ix, Page page, bool one_by_one, Content *c)
{
	static VerifyEntry entries[FPB_MAX_PAGE_ENTRIES];
	bool		killed = FpbPageIsLeaf(page) && fpb_page_has_killed(ix, page);

	c->page = page;
	c->n = read_entries(ix, page, one_by_one, entries);
	for (int i = 0; i < c->n; i++)
		entries[i].killed = killed && fpb_page_is_killed(ix, page, entries[i].pos);

	/* memory for as many as there might be would take long to be wiped */
	c->entries = palloc(sizeof(VerifyEntry) * Max(c->n, 1));
	memcpy(c->entries, entries, sizeof(VerifyEntry) * c->n);
	if (!FpbPageIsLeftmost(page))
		fpb_page_low(ix, page, &c->low);
	if (!FpbPageIsRightmost(page))
		fpb_page_high(ix, page, &c->high);
}

/*
 * Are these the same key with the same TID?  In a posting, a key takes on the
 * bytes of an equal one.  Whether it is equal is not asked if comparators may
 * change pages themselves.
 */
static bool
same_key(const FpbIndex *ix, const FpbKey *a, const FpbKey *b)
{
	if (a->tail != b->tail)
		return false;
	if (ix->old_heads ? fpb_tuples_identical(ix, a->tuple, b->tuple) :
		fpb_keys_identical(ix, a, b))
		return true;
	return !fpb_is_word(ix) && ix->one_key &&
		(ix->old_heads || fpb_key_head(ix, a) == fpb_key_head(ix, b)) &&
		fpb_pivot_natts(ix, a->tuple) == fpb_pivot_natts(ix, b->tuple) &&
		(!fpb_index_is_simple(ix) || fpb_compare_keys(ix, a, b) == 0);
}

static bool
same_entry(const FpbIndex *ix, const FpbEntry *a, const FpbEntry *b)
{
	return a->child == b->child && same_key(ix, &a->key, &b->key);
}

/*
 * May both be the same high fence?  Of an elided one only the head is known.
 */
static bool
same_high(const FpbIndex *ix, const FpbKey *a, const FpbKey *b)
{
	if (!fpb_is_word(ix) && (a->tuple == NULL || b->tuple == NULL))
		return a->head == b->head;
	return same_key(ix, a, b);
}

/*
 * Is an entry below a page's high fence, as far as that is known?
 */
static bool
below_high(const FpbIndex *ix, const FpbKey *key, const FpbKey *high)
{
	if (!fpb_is_word(ix) && high->tuple == NULL)
		return fpb_key_head(ix, key) <= high->head;
	return fpb_compare_keys(ix, key, high) < 0;
}

/*
 * Verify that two pages end (begin) at the same fence.
 */
static void
verify_same_high(Verify *v, const Content *a, const Content *b)
{
	if (FpbPageIsRightmost(a->page) != FpbPageIsRightmost(b->page) ||
		(!FpbPageIsRightmost(a->page) && !same_high(v->ix, &a->high, &b->high)))
		note(v, "a high fence is not as it was meant to be");
	if (FpbHdr(a->page)->right != FpbHdr(b->page)->right)
		note(v, "a right link is not as it was meant to be");
}

static void
verify_same_low(Verify *v, const Content *a, const Content *b)
{
	if (FpbPageIsLeftmost(a->page) != FpbPageIsLeftmost(b->page) ||
		(!FpbPageIsLeftmost(a->page) && !same_key(v->ix, &a->low, &b->low)))
		note(v, "a low fence is not as it was meant to be");
}

/*
 * Verify that the i'th entry is between its neighbours, or the fences.
 */
static void
verify_place(Verify *v, const Content *c, int i)
{
	const FpbKey *key = &c->entries[i].entry.key;

	if (!fpb_index_is_simple(v->ix))
		return;
	if (i > 0 ?
		fpb_compare_keys(v->ix, &c->entries[i - 1].entry.key, key) >= 0 :
		!FpbPageIsLeftmost(c->page) && fpb_compare_keys(v->ix, &c->low, key) > 0)
		note(v, "an entry is not above what is before it");
	if (i + 1 < c->n ?
		fpb_compare_keys(v->ix, key, &c->entries[i + 1].entry.key) >= 0 :
		!FpbPageIsRightmost(c->page) && !below_high(v->ix, key, &c->high))
		note(v, "an entry is not below what is behind it");
}

/*
 * Verify that a search finds the i'th entry.
 */
static void
verify_search(Verify *v, const Content *c, int i)
{
	const FpbEntry *entry = &c->entries[i].entry;
	FpbEntry	found;
	FpbSearchKey search;
	FpbPos		pos;

	if (!fpb_index_is_simple(v->ix))
		return;
	fpb_search_key_from(v->ix, &entry->key, &search);
	if (FpbPageIsLeaf(c->page))
	{
		fpb_page_search(v->ix, c->page, &search, &pos);
		if (!fpb_page_next(v->ix, c->page, &pos, &found))
			note(v, "a search does not find an entry");
	}
	else
		(void) fpb_page_child(v->ix, c->page, &search, false, &pos, &found);
	if (!fpb_pos_equal(pos, c->entries[i].pos))
		note(v, "a search finds another entry");
}

/*
 * Verify that the page's entries after the change are those from before it,
 * from *next on, with new ones, entries[], among them.  *next is advanced.
 * at[] is -1 for each new entry that has not been found yet, and becomes its
 * index in *after.
 */
static void
verify_entries(Verify *v, const Content *before, int *next,
			   const Content *after, const FpbEntry *entries, int nentries,
			   int *at)
{
	for (int i = 0; i < after->n; i++)
	{
		const VerifyEntry *e = &after->entries[i];
		int			k = 0;

		if (*next < before->n &&
			same_entry(v->ix, &before->entries[*next].entry, &e->entry))
		{
			if (e->killed && !before->entries[*next].killed)
				note(v, "an entry has been killed");
			(*next)++;
			continue;
		}
		while (k < nentries &&
			   (at[k] >= 0 || !same_entry(v->ix, &entries[k], &e->entry)))
			k++;
		if (k == nentries)
			note(v, "an entry is not one of those that were meant to be");
		else
		{
			if (e->killed)
				note(v, "a new entry is killed");
			at[k] = i;
		}
	}
}

/*
 * Verify that a page is sound in structure and order.
 */
static bool
verify_page(Verify *v, Page page)
{
	FpbEntry   *entries;
	const char *fault;
	Content		c;
	int			n;

	if (!verify_structure(v, page))
		return false;
	if (!fpb_index_is_simple(v->ix))
		return true;
	entries = palloc(sizeof(FpbEntry) * FPB_MAX_PAGE_ENTRIES);
	n = fpb_page_entries(v->ix, page, entries);
	fault = fpb_page_order_fault(v->ix, page, entries, n);
	pfree(entries);
	if (fault != NULL)
		note(v, fault);

	read_content(v->ix, page, true, &c);
	for (int i = 0; i < c.n; i++)
		verify_search(v, &c, i);
	pfree(c.entries);
	return v->fault == NULL;
}

/*
 * Raise an assertion failure if something has been found.
 */
static void
conclude(const Verify *v)
{
	if (v->fault != NULL)
		ExceptionalCondition(psprintf("index \"%s\": %s",
									  RelationGetRelationName(v->ix->rel), v->fault),
							 __FILE__, __LINE__);
}

/*
 * Read what the i'th page of a record was before the change, and what it is
 * after it.  False if its structure is not sound now.
 */
static bool
read_both(Verify *v, const FpbWal *wal, int i, Content *before, Content *after)
{
	static uint32 turn = 0;
	Page		page = BufferGetPage(wal->pages[i].buffer);

	if (!verify_structure(v, page))
		return false;
	/* now and then both ways of reading have to agree */
	read_content(v->ix, (Page) fpb_wal_before(i), false, before);
	read_content(v->ix, page, turn++ % 8 == 0, after);
	if (FpbHdr(before->page)->level != FpbHdr(page)->level)
		note(v, "a page has changed its level");
	if (FpbPageTree(before->page) != FpbPageTree(page))
		note(v, "a page has changed its tree");
	return true;
}

/*
 * Take the entries at these positions out of what a page holds.
 */
static void
take_out(Verify *v, Content *c, const FpbPos *pos, int npos)
{
	int			kept = 0;

	if (npos == 0)
		return;
	for (int i = 0; i < c->n; i++)
	{
		bool		gone = false;

		for (int k = 0; k < npos && !gone; k++)
			gone = fpb_pos_equal(c->entries[i].pos, pos[k]);
		if (!gone)
			c->entries[kept++] = c->entries[i];
	}
	if (c->n - kept != npos)
		note(v, "what was deleted was not an entry each");
	c->n = kept;
}

/*
 * Verify that the i'th page of a record has lost the entries at pos[], and got
 * entries[], and that its fences are the same.
 */
static void
verify_change(Verify *v, const FpbWal *wal, int i, const FpbEntry *entries,
			  int nentries, const FpbPos *pos, int npos)
{
	Content		before;
	Content		after;
	int			next = 0;
	int		   *at = palloc((nentries + 1) * sizeof(int));

	if (!read_both(v, wal, i, &before, &after))
		return;
	verify_same_low(v, &before, &after);
	verify_same_high(v, &before, &after);
	take_out(v, &before, pos, npos);
	for (int k = 0; k < nentries; k++)
		at[k] = -1;
	verify_entries(v, &before, &next, &after, entries, nentries, at);
	if (next != before.n)
		note(v, "an entry is missing");
	for (int k = 0; k < nentries; k++)
	{
		if (at[k] < 0)
			note(v, "an entry is missing");
		else
		{
			verify_place(v, &after, at[k]);
			verify_search(v, &after, at[k]);
		}
	}
	pfree(at);
	pfree(before.entries);
	pfree(after.entries);
}

/*
 * Verify a page that has just been made.
 */
void
fpb_verify_page(const FpbIndex *ix, Page page)
{
	Verify		v = {.ix = ix};

	if (!verify_changes)
		return;
	(void) verify_page(&v, page);
	conclude(&v);
}

/*
 * The i'th page of a record just logged has got an entry, or, if that is NULL,
 * none.
 */
void
fpb_verify_insert(const FpbIndex *ix, const FpbWal *wal, int i,
				  const FpbEntry *entry)
{
	Verify		v = {.ix = ix};

	if (!verify_changes)
		return;
	verify_change(&v, wal, i, entry, entry != NULL ? 1 : 0, NULL, 0);
	conclude(&v);
}

/*
 * The i'th page of a record has lost the entries that were at these positions.
 */
void
fpb_verify_delete(const FpbIndex *ix, const FpbWal *wal, int i,
				  const FpbPos *pos, int npos)
{
	Verify		v = {.ix = ix};

	if (!verify_changes)
		return;
	verify_change(&v, wal, i, NULL, 0, pos, npos);
	conclude(&v);
}

/*
 * Verify that the halves of a split page have what it had, and the new
 * entries.
 */
static void
verify_split(Verify *v, const FpbWal *wal, const FpbEntry *entries, int nentries)
{
	Page		right_page = BufferGetPage(wal->pages[1].buffer);
	Content		before;
	Content		left;
	Content		right;
	int			next = 0;
	int		   *at = palloc(nentries * sizeof(int));

	if (!verify_page(v, right_page) || !read_both(v, wal, 0, &before, &left))
		return;
	(void) verify_page(v, left.page);
	read_content(v->ix, right_page, false, &right);
	verify_same_low(v, &before, &left);
	if (FpbPageIsRightmost(left.page) || FpbPageIsLeftmost(right_page) ||
		!same_high(v->ix, &left.high, &right.low) ||
		FpbHdr(left.page)->right != BufferGetBlockNumber(wal->pages[1].buffer) ||
		FpbHdr(left.page)->level != FpbHdr(right_page)->level)
		note(v, "the halves of a page do not meet");
	else if (left.n > 0)
	{
		left.high = right.low;
		verify_place(v, &left, left.n - 1);
	}
	verify_same_high(v, &before, &right);
	if (!FpbPageSplitIncomplete(left.page) || FpbPageSplitIncomplete(right_page))
		note(v, "a split is not flagged");
	if (left.n == 0 || right.n == 0)
		note(v, "a split has left a page empty");
	for (int k = 0; k < nentries; k++)
		at[k] = -1;
	verify_entries(v, &before, &next, &left, entries, nentries, at);
	verify_entries(v, &before, &next, &right, entries, nentries, at);
	if (next != before.n)
		note(v, "a split has lost an entry");
	for (int k = 0; k < nentries; k++)
		if (at[k] < 0)
			note(v, "a split has lost an entry");
	pfree(at);
	pfree(before.entries);
	pfree(left.entries);
	pfree(right.entries);
}

/*
 * The first page of a record has been split, the second being the right half,
 * and has got an entry.
 */
void
fpb_verify_split(const FpbIndex *ix, const FpbWal *wal, const FpbEntry *entry)
{
	Verify		v = {.ix = ix};

	if (!verify_changes)
		return;
	verify_split(&v, wal, entry, 1);
	conclude(&v);
}

/*
 * The first page of a record, a main leaf, has got entries, of the queue or of
 * a batch.  split: and has been split, the second page being the right half.
 */
void
fpb_verify_move(const FpbIndex *ix, const FpbWal *wal, bool split,
				const FpbEntry *entries, int nentries)
{
	Verify		v = {.ix = ix};

	if (!verify_changes)
		return;
	if (split)
		verify_split(&v, wal, entries, nentries);
	else
		verify_change(&v, wal, 0, entries, nentries, NULL, 0);
	conclude(&v);
}

/*
 * Verify that the first page has what it and the second had, and that the
 * second has been marked deleted.
 */
static void
verify_merge(Verify *v, const FpbWal *wal)
{
	Content		before;
	Content		after;
	Content		page;
	const FpbEntry *moved;
	int			next = 0;
	int			at = -1;

	if (!read_both(v, wal, 0, &before, &after))
		return;
	(void) verify_page(v, after.page);
	read_content(v->ix, (Page) fpb_wal_before(1), false, &page);
	if (FpbPageIsDeleted(page.page) ||
		!FpbPageIsDeleted(BufferGetPage(wal->pages[1].buffer)))
		note(v, "a page merged away is not flagged");
	if (FpbPageIsRightmost(before.page) || FpbPageIsLeftmost(page.page) ||
		!same_high(v->ix, &before.high, &page.low) ||
		FpbHdr(before.page)->right != BufferGetBlockNumber(wal->pages[1].buffer))
		note(v, "pages merged did not meet");
	verify_same_low(v, &before, &after);
	verify_same_high(v, &page, &after);
	moved = page.n > 0 ? &page.entries[0].entry : NULL;
	verify_entries(v, &before, &next, &after, moved, moved != NULL ? 1 : 0, &at);
	if (next != before.n || page.n > 1 || at != (moved != NULL ? before.n : -1))
		note(v, "a merge has lost an entry");
	pfree(before.entries);
	pfree(after.entries);
	pfree(page.entries);
}

/*
 * The second page of a record has been merged into the first, its left
 * sibling; the third has lost the downlink at *downlink.
 */
void
fpb_verify_merge(const FpbIndex *ix, const FpbWal *wal, const FpbPos *downlink)
{
	Verify		v = {.ix = ix};

	if (!verify_changes)
		return;
	verify_merge(&v, wal);
	verify_change(&v, wal, 2, NULL, 0, downlink, 1);
	conclude(&v);
}

#endif							/* USE_ASSERT_CHECKING */
