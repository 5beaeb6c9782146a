/*-------------------------------------------------------------------------
 *
 * fpb_split.c
 *	  Insertion into pages, page splits, and growth of the root.
 *
 * A split is two WAL records: the first makes the right page, reachable by the
 * left one's right link, and flags the left; the second inserts the downlink
 * and clears the flag.  Whoever comes to a flagged page with an exclusive lock
 * finishes the split (fpb_tree.c, settle).
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xloginsert.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "storage/predicate.h"

#include "fpb_layout.h"

/*
 * Slots of a hundred to leave free in the nodes of a page just split: as many
 * as it has room for.  All its nodes being in use from the start, they need not
 * be split one after the other as they fill.
 */
static const int split_slacks[] = {50, 40, 30, 20, 10, 5, 0};

static void insert_on_page(FpbIndex *ix, Relation heap, Buffer buf,
						   FpbStack *stack, const FpbEntry *entry,
						   Buffer left);

/*
 * Clear the flag of a left page whose right sibling gets its downlink by the
 * record being made.  In the critical section.
 */
static void
clear_incomplete(Buffer left, FpbWalPage *wp)
{
	FpbPageHeader *hdr = FpbHdr(BufferGetPage(left));

	hdr->flags &= ~FPB_INCOMPLETE_SPLIT;
	fpb_wal_note(wp, &hdr->flags, sizeof(hdr->flags));
}

/*
 * Put a new root above two pages, left having been the root.  All three are
 * locked exclusively; the metapage's lock is taken and released.
 */
static void
grow_root(FpbIndex *ix, Relation heap, Buffer left, Buffer right,
		  const FpbKey *separator, Buffer metabuf)
{
	int			level = FpbHdr(BufferGetPage(left))->level + 1;
	FpbMeta    *meta = FpbPageGetMeta(BufferGetPage(metabuf));
	PGAlignedBlock *image;
	FpbEntry	entries[2];
	Buffer		rootbuf;
	FpbWal		wal;
	FpbWalPage *wp_meta;
	FpbWalPage *wp_left;
	FpbWalPage *wp_root;

	if (level >= FPB_MAX_LEVELS)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("index \"%s\" has too many levels",
						RelationGetRelationName(ix->rel))));

	fpb_key_minus_infinity(ix, &entries[0].key);
	entries[0].child = BufferGetBlockNumber(left);
	entries[1].key = *separator;
	entries[1].child = BufferGetBlockNumber(right);
	image = palloc_aligned(sizeof(PGAlignedBlock), PG_IO_ALIGN_SIZE, 0);
	if (!fpb_page_build(ix, image->data, level, FPB_LEFTMOST | FPB_RIGHTMOST,
						InvalidBlockNumber, NULL, NULL, entries, 2, 0))
		elog(ERROR, "two downlinks do not fit a page of index \"%s\"",
			 RelationGetRelationName(ix->rel));
	rootbuf = fpb_allocbuf(ix->rel, heap);

	fpb_wal_begin(&wal, ix->rel);
	wp_root = fpb_wal_add(&wal, rootbuf, true);
	wp_meta = fpb_wal_add(&wal, metabuf, false);
	wp_left = fpb_wal_add(&wal, left, false);
	fpb_wal_enter(&wal);
	fpb_page_replace(BufferGetPage(rootbuf), image->data, wp_root);
	meta->root = BufferGetBlockNumber(rootbuf);
	meta->level = level;
	fpb_wal_note(wp_meta, meta, sizeof(FpbMeta));
	clear_incomplete(left, wp_left);
	fpb_wal_finish(&wal);

	pfree(image);
	fpb_relbuf(rootbuf);
}

/*
 * Insert the downlink of the right page of a split and clear the left page's
 * flag.  Both are locked exclusively and stay so: while they are, neither can be
 * split again or deleted.  (Cascading splits keep the pages of all their
 * levels locked.)
 */
static void
insert_downlink(FpbIndex *ix, Relation heap, Buffer left, Buffer right,
				FpbStack *stack)
{
	Page		page = BufferGetPage(left);
	int			level = FpbHdr(page)->level;
	FpbEntry	entry;
	FpbEntry	downlink;
	FpbProbe	separator;
	FpbPos		pos;
	Buffer		parent;

	Assert(FpbPageSplitIncomplete(page));
	if (level > 0)
		FPB_INJECTION_POINT("fpbtree-before-inner-downlink");
	else
		FPB_INJECTION_POINT("fpbtree-before-downlink");
	fpb_page_high(ix, page, &entry.key);
	entry.child = BufferGetBlockNumber(right);

	/* Only the leftmost page of a level can be the root. */
	if (FpbPageIsLeftmost(page))
	{
		Buffer		metabuf = ReadBuffer(ix->rel, FPB_METAPAGE);

		LockBuffer(metabuf, BUFFER_LOCK_EXCLUSIVE);
		if (FpbPageGetMeta(BufferGetPage(metabuf))->root == BufferGetBlockNumber(left))
		{
			grow_root(ix, heap, left, right, &entry.key, metabuf);
			UnlockReleaseBuffer(metabuf);
			return;
		}
		UnlockReleaseBuffer(metabuf);
	}

	fpb_probe_from_key(ix, &entry.key, &separator);
	parent = fpb_find_parent(ix, heap, &separator, level, stack);
	fpb_page_child(ix, BufferGetPage(parent), &separator, false, &pos,
				   &downlink);
	if (downlink.child != BufferGetBlockNumber(left))
		fpb_page_damaged(ix, BufferGetPage(parent),
						 psprintf("The downlink before the separator of blocks %u and %u points to block %u.",
								  BufferGetBlockNumber(left), entry.child,
								  downlink.child));
	insert_on_page(ix, heap, parent, stack, &entry, left);
}

/* a page split being worked out */
typedef struct Split
{
	const FpbIndex *ix;
	Page		page;			/* the page to be split */
	BlockNumber right;			/* the block to be its right sibling */
	const FpbEntry *entry;		/* the new entry */
	FpbEntry   *entries;		/* all entries, the new one among them */
	int			nentries;
	int			newpos;			/* which is the new one */
	bool		ascending;		/* does it belong to a series? */
	FpbKey	   *low;			/* the page's fences, or NULL */
	FpbKey	   *high;
	bool		in_place;		/* try to leave the left page's entries where
								 * they are */
	FpbWalPage *left_page;		/* changed in a copy */
	FpbWalPage *right_page;
} Split;

/*
 * Flags of the left page: its right sibling's downlink is still to come.
 */
static int
left_flags(const Split *s)
{
	return (FpbHdr(s->page)->flags & ~FPB_RIGHTMOST) | FPB_INCOMPLETE_SPLIT;
}

/*
 * Make one of the two pages afresh, with as much slack as it has room for.
 */
static bool
build_side(const Split *s, bool left, int split, const FpbKey *separator)
{
	FpbPageHeader *hdr = FpbHdr(s->page);
	FpbWalPage *wp = left ? s->left_page : s->right_page;

	/* more entries behind the last will want no gaps before it */
	bool		pack = !left && s->ascending && s->newpos == s->nentries - 1;

	wp->image = true;
	for (int i = pack ? lengthof(split_slacks) - 1 : 0; i < lengthof(split_slacks); i++)
	{
		if (left ?
			fpb_page_build(s->ix, wp->page, hdr->level, left_flags(s), s->right,
						   s->low, separator, s->entries, split,
						   split_slacks[i]) :
			fpb_page_build(s->ix, wp->page, hdr->level,
						   hdr->flags & ~FPB_LEFTMOST, hdr->right, separator,
						   s->high, s->entries + split, s->nentries - split,
						   split_slacks[i]))
			return true;
	}
	return false;
}

/*
 * The place in the page of the first of the right page's entries that is not
 * new.
 */
static FpbPos
cut_place(const Split *s, int split)
{
	FpbPos		at = {0, 0};
	FpbEntry	ignored;

	/* entries of the page that stay */
	for (int i = s->newpos < split ? split - 1 : split; i > 0; i--)
	{
		fpb_page_next(s->ix, s->page, &at, &ignored);
		fpb_page_advance(s->ix, s->page, &at);
	}
	fpb_page_next(s->ix, s->page, &at, &ignored);
	return at;
}

/*
 * Make the left page by taking the right one's entries away, which is little
 * to log.  False if the fence or the new entry would then not fit in it.  In
 * the tuple form the entries' tuples stay behind, so there is no room for the
 * new one; but nothing may ever be added to the page again.
 */
static bool
cut_left(const Split *s, int split, const FpbKey *separator)
{
	FpbWalPage *wp = s->left_page;
	FpbPos		at = cut_place(s, split);
	FpbInsertPlan plan;

	wp->image = false;
	wp->nranges = 0;
	memcpy(wp->page, s->page, BLCKSZ);
	fpb_page_cut(s->ix, wp->page, &at, wp);
	if (!fpb_page_extend_plan(s->ix, wp->page, separator))
		return false;
	FpbHdr(wp->page)->flags = left_flags(s);
	fpb_page_extend(s->ix, wp->page, separator, s->right, wp);
	if (s->newpos >= split)
		return true;

	fpb_page_plan_insert(s->ix, wp->page, s->entry, &plan);
	if (plan.kind == FPB_PLAN_FULL)
		return false;
	fpb_page_insert(s->ix, wp->page, s->entry, &plan, wp);
	if (plan.image != NULL)
		pfree(plan.image);
	return true;
}

/*
 * Make both pages, the right one beginning with entries[split].  False if one
 * of them doesn't fit.
 */
static bool
build_split(const Split *s, int split)
{
	FpbKey		separator;
	bool		fits;

	/* nothing parts keys that are out of order */
	if (fpb_compare_keys(s->ix, &s->entries[split - 1].key,
						 &s->entries[split].key) >= 0)
		fpb_page_damaged(s->ix, s->page, "Its entries are out of order.");

	/*
	 * Between leaves is the shortest key that parts them; an inner page
	 * begins with its first child's own low fence.
	 */
	if (FpbPageIsLeaf(s->page))
		fpb_key_separator(s->ix, &s->entries[split - 1].key,
						  &s->entries[split].key, &separator);
	else
		separator = s->entries[split].key;

	fits = build_side(s, false, split, &separator) &&
		((s->in_place && cut_left(s, split, &separator)) ||
		 build_side(s, true, split, &separator));
	if (FpbPageIsLeaf(s->page) && separator.tuple != NULL)
		pfree(separator.tuple);
	return fits;
}

/*
 * Work out the split: the best place for it, or the nearest to that where both
 * pages fit, tuples and fences being of any size.
 */
static void
plan_split(const Split *s)
{
	int			best;

	best = fpb_page_split_point(s->ix, s->page, s->entries, s->nentries, s->newpos,
								s->ascending,
								FpbPageIsLeaf(s->page) ?
								fpb_fillfactor(s->ix->rel) : FPB_INNER_FILLFACTOR);
	for (int distance = 0; distance < s->nentries; distance++)
	{
		if (best + distance < s->nentries && build_split(s, best + distance))
			return;
		if (distance > 0 && best - distance > 0 && build_split(s, best - distance))
			return;
	}
	fpb_page_damaged(s->ix, s->page,
					 "The page's entries do not fit two pages.");
}

/*
 * Split a page, locked exclusively and released, adding an entry.  left is the
 * page of the level below whose right sibling's downlink the entry is, or
 * invalid; it stays locked.
 */
static void
split_page(FpbIndex *ix, Relation heap, Buffer buf, FpbStack *stack,
		   const FpbEntry *entry, Buffer left)
{
	Page		page = BufferGetPage(buf);
	Split		s = {.ix = ix,.page = page,.entry = entry};
	PGAlignedBlock *images;
	FpbProbe	probe;
	FpbPos		pos;
	FpbKey		low;
	FpbKey		high;
	Buffer		rbuf;
	FpbWal		wal;

	Assert(!FpbPageSplitIncomplete(page));
	s.entries = palloc(sizeof(FpbEntry) * (FPB_MAX_PAGE_ENTRIES + 1));
	images = palloc_aligned(2 * sizeof(PGAlignedBlock), PG_IO_ALIGN_SIZE, 0);
	fpb_probe_from_key(ix, &entry->key, &probe);
	fpb_page_search(ix, page, &probe, &pos);
	s.nentries = fpb_page_entries_with(ix, page, entry, &pos, s.entries,
									   &s.newpos);
	s.ascending = fpb_page_ascending(ix, page, s.entries, s.nentries, s.newpos);
	if (!FpbPageIsLeftmost(page))
	{
		fpb_page_low(ix, page, &low);
		s.low = &low;
	}
	if (!FpbPageIsRightmost(page))
	{
		fpb_page_high(ix, page, &high);
		s.high = &high;
	}

	/* If an image of the left page is due, it should be small and fresh. */
	s.in_place = !(RelationNeedsWAL(ix->rel) && XLogCheckBufferNeedsBackup(buf));
	rbuf = fpb_allocbuf(ix->rel, heap);
	s.right = BufferGetBlockNumber(rbuf);

	fpb_wal_begin(&wal, ix->rel);
	s.left_page = fpb_wal_add_copy(&wal, buf, images[0].data);
	s.right_page = fpb_wal_add_copy(&wal, rbuf, images[1].data);
	plan_split(&s);
	if (BufferIsValid(left))
	{
		FpbWalPage *wp_child = fpb_wal_add(&wal, left, false);

		fpb_wal_enter(&wal);
		clear_incomplete(left, wp_child);
	}
	else
		fpb_wal_enter(&wal);
	fpb_wal_finish(&wal);

	/* the scans that have locked the page now have to lock both */
	if (FpbPageIsLeaf(page))
		PredicateLockPageSplit(ix->rel, BufferGetBlockNumber(buf),
							   BufferGetBlockNumber(rbuf));
	pfree(images);
	pfree(s.entries);
	insert_downlink(ix, heap, buf, rbuf, stack);
	fpb_relbuf(rbuf);
	fpb_relbuf(buf);
}

/*
 * Insert an entry into a page, locked exclusively and released, where it
 * belongs.  left as in split_page.
 */
static void
insert_on_page(FpbIndex *ix, Relation heap, Buffer buf, FpbStack *stack,
			   const FpbEntry *entry, Buffer left)
{
	Page		page = BufferGetPage(buf);
	FpbInsertPlan plan;
	FpbWal		wal;
	FpbWalPage *wp;
	FpbWalPage *wp_child = NULL;

	if (!(FpbPageIsLeaf(page) && RelationNeedsWAL(ix->rel) &&
		  XLogCheckBufferNeedsBackup(buf) &&
		  fpb_page_plan_reorganise(ix, page, entry, &plan)))
		fpb_page_plan_insert(ix, page, entry, &plan);
	if ((plan.kind == FPB_PLAN_FULL || plan.kind == FPB_PLAN_REBUILD) &&
		FpbPageIsLeaf(page) && fpb_prune(ix, heap, buf))
	{
		if (plan.image != NULL)
			pfree(plan.image);
		fpb_page_plan_insert(ix, page, entry, &plan);
	}
	if (plan.kind == FPB_PLAN_FULL)
	{
		split_page(ix, heap, buf, stack, entry, left);
		return;
	}

	fpb_wal_begin(&wal, ix->rel);
	wp = fpb_wal_add(&wal, buf, false);
	if (BufferIsValid(left))
		wp_child = fpb_wal_add(&wal, left, false);
	fpb_wal_enter(&wal);
	fpb_page_insert(ix, page, entry, &plan, wp);
	if (wp_child != NULL)
		clear_incomplete(left, wp_child);
	fpb_wal_finish(&wal);

	if (plan.image != NULL)
		pfree(plan.image);
	fpb_relbuf(buf);
}

/*
 * Insert an entry into the leaf it belongs to, locked exclusively; released.
 */
void
fpb_insert_entry(FpbIndex *ix, Relation heap, Buffer buf, FpbStack *stack,
				 const FpbEntry *entry)
{
	insert_on_page(ix, heap, buf, stack, entry, InvalidBuffer);
}

/*
 * Finish the split of a page, locked exclusively; it stays locked.
 */
void
fpb_finish_split(FpbIndex *ix, Relation heap, Buffer left, FpbStack *stack)
{
	Buffer		right;

	Assert(FpbPageSplitIncomplete(BufferGetPage(left)));
	right = fpb_getbuf_right(ix, left, BUFFER_LOCK_EXCLUSIVE);
	insert_downlink(ix, heap, left, right, stack);
	fpb_relbuf(right);
}
