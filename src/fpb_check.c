/*-------------------------------------------------------------------------
 *
 * fpb_check.c
 *	  fpbtree_check(): is every invariant of an index true?
 *
 * Only AccessShareLock is taken, so the index may change while it is checked.
 * Each level is walked from left to right, the root's first; each page is
 * copied under a share lock and the copy is examined.  What holds of a single
 * page must hold of the copy.  What holds between pages is first looked at
 * without care, one page after the other; if it seems not to be true, then it
 * is looked at again with all pages concerned locked at once, in the usual
 * order (left to right, then upwards), under which it must be:
 *
 * - a page that is live and has the right link R is followed by R, which is
 *   live, too, and begins where the page ends;
 * - a child that is named by an entry of a live inner page is live, one level
 *   below, and begins with the entry's key;
 * - a page, but the leftmost of its level, whose left sibling is not marked as
 *   incompletely split, has an entry in the level above;
 * - a key belongs to one page of a level.
 *
 * Pages change their right link, lose or gain an entry of the level above, or
 * change what they cover only while they and the left sibling concerned are
 * locked exclusively.  A page's level and low fence stay the same until it is
 * deleted.
 *
 * As entries move to the right only, the walk over the leaves meets every entry
 * that was there when it began and that VACUUM has not removed.  With
 * heapallindexed, a snapshot is taken before the walk, the entries met are
 * remembered in a Bloom filter, and every row that the snapshot sees must be
 * among them.  The other way round, the row that an entry points to must have
 * the entry's key if the snapshot sees it.  If it does not, there must at least
 * be a line pointer in use: VACUUM frees it only after it has removed the
 * entry, so that while the leaf with the entry is locked it has to be there.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/detoast.h"
#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "catalog/index.h"
#include "catalog/pg_am.h"
#include "common/pg_prng.h"
#include "executor/executor.h"
#include "lib/bloomfilter.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "fpb_node.h"

PG_FUNCTION_INFO_V1(fpbtree_check);

/* how often a page that somebody else has locked is tried again */
#define MAX_TRIES		1000
#define TRY_DELAY		1000	/* microseconds */

/* leaf entries in a page, at the least, to size the Bloom filter by */
#define MIN_ENTRIES		100

typedef struct CheckState
{
	FpbIndex	ix;
	Relation	heap;
	int			top;			/* level of the root when the check began */
	BufferAccessStrategy strategy;
	BlockNumber nblocks;		/* of the index when the check began */
	BlockNumber nblocks_now;	/* at least; a link to a later block is wrong */
	uint8	   *reached;		/* a bit for each of nblocks: found in the
								 * tree */

	Page		page;			/* copy of the page at hand */
	FpbEntry   *entries;		/* its entries, tuples in the copy */
	int			nentries;
	FpbItem    *items;			/* the same of a leaf, for their places */
	MemoryContext page_cxt;		/* reset when the next page is copied */
	FpbProbe	from;			/* high fence of the page before, */
	MemoryContext from_cxt[2];	/* which lives in one of these in turn */
	int			turn;

	/* heapallindexed */
	Snapshot	snapshot;		/* else NULL */
	bloom_filter *filter;		/* entries met */
	StringInfoData element;		/* one of them, and its row's */
	StringInfoData row_element;
	IndexFetchTableData *fetch;
	TupleTableSlot *slot;		/* a row */
	IndexInfo  *info;
	EState	   *estate;			/* to evaluate expressions */
	ExprState  *predicate;
	bool	   *visible;		/* of each entry: does the snapshot see its
								 * row? */
	bool		is_heap;
	BlockNumber heap_blocks;	/* of the table, at least */

	/* uniqueness: of the entries with the key of the last one */
	bool		unique;
	bool		have_last;
	FpbKey		last;
	MemoryContext last_cxt[2];
	int			last_turn;
	ItemPointerData last_visible;	/* whose row is seen; or invalid */
} CheckState;

static void damage(const CheckState *cs, BlockNumber blkno,
				   const char *fmt,...) pg_attribute_printf(3, 4) __attribute__((noreturn));

/*
 * Report what is wrong with a block.
 */
static void
damage(const CheckState *cs, BlockNumber blkno, const char *fmt,...)
{
	StringInfoData buf;

	initStringInfo(&buf);
	for (;;)
	{
		va_list		args;
		int			needed;

		va_start(args, fmt);
		needed = appendStringInfoVA(&buf, fmt, args);
		va_end(args);
		if (needed == 0)
			break;
		enlargeStringInfo(&buf, needed);
	}
	fpb_report_damage(cs->ix.rel, blkno, buf.data);
}

/* ------------------------------------------------------------------------
 * Single pages
 * ------------------------------------------------------------------------
 */

/*
 * Pin and share-lock the page that a link in referrer names (InvalidBlockNumber
 * if it is not a page's link).  Its header has been checked.
 */
static Buffer
get_page(CheckState *cs, BlockNumber blkno, BlockNumber referrer)
{
	Buffer		buf;

	if (blkno >= cs->nblocks_now)
		cs->nblocks_now = RelationGetNumberOfBlocks(cs->ix.rel);
	if (blkno == FPB_METAPAGE || blkno >= cs->nblocks_now)
		damage(cs, referrer == InvalidBlockNumber ? FPB_METAPAGE : referrer,
			   "The page links to block %u, but pages are at blocks 1 to %u.",
			   blkno, cs->nblocks_now - 1);
	buf = ReadBufferExtended(cs->ix.rel, MAIN_FORKNUM, blkno, RBM_NORMAL,
							 cs->strategy);
	LockBuffer(buf, BUFFER_LOCK_SHARE);
	fpb_checkpage(&cs->ix, buf);
	return buf;
}

/*
 * What is wrong with a tuple in a page, or NULL.  Its offset has been checked.
 */
static const char *
tuple_fault(const FpbIndex *ix, Page page, IndexTuple tuple, bool pivot)
{
	Size		offset = (char *) tuple - (char *) page;

	if ((tuple->t_info & INDEX_AM_RESERVED_BIT) && offset != MAXALIGN(offset))
		return "tuple is not aligned";
	return fpb_tuple_fault(ix, tuple, BLCKSZ - offset, pivot);
}

/*
 * What is wrong with the tuple of the low fence, or NULL.  The page's header
 * has been checked.
 */
static const char *
low_fence_fault(const FpbIndex *ix, Page page)
{
	FpbKey		key;

	if (fpb_is_word(ix) || FpbPageIsLeftmost(page))
		return NULL;
	fpb_page_low(ix, page, &key);
	return tuple_fault(ix, page, key.tuple, true);
}

/*
 * The same for the high fence.
 */
static const char *
high_fence_fault(const FpbIndex *ix, Page page)
{
	FpbKey		key;

	if (fpb_is_word(ix) || FpbPageIsRightmost(page))
		return NULL;
	fpb_page_high(ix, page, &key);
	return tuple_fault(ix, page, key.tuple, true);
}

/*
 * Copy a locked page, which is released, to cs->page, and see that it may be
 * worked with: that no offset or length in it is out of bounds.
 */
static void
copy_page(CheckState *cs, Buffer buf)
{
	const FpbIndex *ix = &cs->ix;
	Page		page = cs->page;
	BlockNumber blkno = BufferGetBlockNumber(buf);
	const char *fault;

	memcpy(page, BufferGetPage(buf), BLCKSZ);
	fpb_relbuf(buf);
	MemoryContextReset(cs->page_cxt);

	if (FpbPageIsDeleted(page))
		return;
	for (int dir = 0; dir < FpbHdr(page)->nnodes; dir++)
		if (fpb_dir_codecs(page)[dir] != FPB_NODE_PLAIN &&
			(!ix->one_key || !FpbPageIsLeaf(page)))
			damage(cs, blkno, "The page has a one-key node, which it may not have.");
	fault = fpb_page_fault(ix, page);
	if (fault != NULL)
		damage(cs, blkno, "%s", fault);
	fault = low_fence_fault(ix, page);
	if (fault != NULL)
		damage(cs, blkno, "Of the low fence: %s.", fault);
	fault = high_fence_fault(ix, page);
	if (fault != NULL)
		damage(cs, blkno, "Of the high fence: %s.", fault);

	cs->nentries = fpb_page_entries(ix, page, cs->entries);
	if (fpb_is_word(ix))
		return;
	for (int i = 0; i < cs->nentries; i++)
	{
		fault = tuple_fault(ix, page, cs->entries[i].key.tuple,
							!FpbPageIsLeaf(page));
		if (fault != NULL)
			damage(cs, blkno, "Of entry %d: %s.", i + 1, fault);
	}
}

/*
 * Is this a live page of the level that begins with low (NULL: minus
 * infinity)?  Its low fence has been checked.
 */
static bool
is_at(const FpbIndex *ix, Page page, int level, const FpbProbe *low)
{
	if (FpbHdr(page)->level != level || FpbPageIsDeleted(page))
		return false;
	if (low == NULL)
		return FpbPageIsLeftmost(page);
	return !FpbPageIsLeftmost(page) && fpb_compare_low(ix, page, low) == 0;
}

/*
 * See that a leaf entry's stored words, or its tuple's head, are those that its
 * values have, and that its TID can be one.
 */
static void
check_leaf_entry(CheckState *cs, BlockNumber blkno, const FpbKey *key)
{
	const FpbIndex *ix = &cs->ix;
	Datum		values[INDEX_MAX_KEYS];
	bool		isnull[INDEX_MAX_KEYS];
	ItemPointerData tid;
	FpbKey		again;

	fpb_tail_tid(key->tail, &tid);
	if (!ItemPointerIsValid(&tid) || ItemPointerGetBlockNumber(&tid) == InvalidBlockNumber)
		damage(cs, blkno, "An entry has an invalid TID.");

	fpb_key_datums(ix, key, values, isnull);
	fpb_key_form(ix, values, isnull, &tid, &again);
	if (again.head != key->head ||
		(fpb_is_word(ix) &&
		 (again.low != key->low || again.tail != key->tail)))
		damage(cs, blkno, "The words of the entry for row (%u,%u) are not those of its values.",
			   ItemPointerGetBlockNumber(&tid), ItemPointerGetOffsetNumber(&tid));
}

/*
 * Check all that can be known from the copy of a live page alone.
 */
static void
check_content(CheckState *cs, BlockNumber blkno)
{
	const FpbIndex *ix = &cs->ix;
	Page		page = cs->page;
	bool		leaf = FpbPageIsLeaf(page);
	FpbProbe	probe;
	FpbKey		fence;

	if (FpbPageIsRightmost(page) && FpbPageSplitIncomplete(page))
		damage(cs, blkno, "The rightmost page is marked as incompletely split.");
	if (!leaf && cs->nentries == 0)
		damage(cs, blkno, "An inner page is empty.");

	/* the fences, and the entries between them */
	if (!FpbPageIsLeftmost(page))
	{
		fpb_page_low(ix, page, &fence);
		fpb_probe_from_key(ix, &fence, &probe);
		if (fpb_compare_high(ix, page, &probe) <= 0)
			damage(cs, blkno, "The high fence is not above the low fence.");
		if (leaf && cs->nentries > 0 &&
			fpb_compare(ix, &cs->entries[0].key, &probe) < 0)
			damage(cs, blkno, "The first entry is below the low fence.");
		if (!leaf && fpb_compare(ix, &cs->entries[0].key, &probe) != 0)
			damage(cs, blkno, "The first child's key is not the low fence.");
	}
	if (!FpbPageIsRightmost(page) && cs->nentries > 0)
	{
		fpb_page_high(ix, page, &fence);
		fpb_probe_from_key(ix, &fence, &probe);
		if (fpb_compare(ix, &cs->entries[cs->nentries - 1].key, &probe) >= 0)
			damage(cs, blkno, "The last entry is not below the high fence.");
	}

	for (int i = 0; i < cs->nentries; i++)
	{
		const FpbKey *key = &cs->entries[i].key;

		if (i > 0 && fpb_compare_keys(ix, &cs->entries[i - 1].key, key) >= 0)
			damage(cs, blkno, "Entries %d and %d are out of order.", i, i + 1);
		if (leaf)
			check_leaf_entry(cs, blkno, key);
	}
}

/* ------------------------------------------------------------------------
 * Between pages
 * ------------------------------------------------------------------------
 */

/*
 * cs->page, at right, is not what should be right of left, which ended at
 * cs->from.  Copy the page that is to cs->page, and return its block number.
 *
 * The right page is not waited for while the left one is locked: until its
 * fences have been seen it may be any page.
 */
static BlockNumber
find_right(CheckState *cs, int level, BlockNumber left, BlockNumber right)
{
	FpbIndex   *ix = &cs->ix;
	Buffer		buf;

	for (int try = 0; try < MAX_TRIES; try++)
	{
		Buffer		leftbuf = get_page(cs, left, InvalidBlockNumber);
		Page		page = BufferGetPage(leftbuf);
		const char *fault;

		if (FpbHdr(page)->level != level || FpbPageIsDeleted(page) ||
			FpbHdr(page)->right != right ||
			fpb_compare_high(ix, page, &cs->from) != 0)
		{
			/* It has been split or has taken over its sibling. */
			fpb_relbuf(leftbuf);
			break;
		}

		/* The link is as it was, so it must be right as long as it is locked. */
		buf = ReadBuffer(ix->rel, right);
		if (ConditionalLockBuffer(buf))
		{
			fpb_checkpage(ix, buf);
			fault = low_fence_fault(ix, BufferGetPage(buf));
			if (fault != NULL)
				damage(cs, right, "Of the low fence: %s.", fault);
			if (!is_at(ix, BufferGetPage(buf), level, &cs->from))
				damage(cs, right, "The page does not begin where its left sibling, block %u, ends.",
					   left);
			fpb_relbuf(leftbuf);
			copy_page(cs, buf);
			return right;
		}
		ReleaseBuffer(buf);
		fpb_relbuf(leftbuf);
		CHECK_FOR_INTERRUPTS();
		pg_usleep(TRY_DELAY);
	}

	buf = fpb_descend(ix, cs->heap, &cs->from, level, false,
					  BUFFER_LOCK_SHARE, NULL);
	right = BufferGetBlockNumber(buf);
	copy_page(cs, buf);
	return right;
}

/*
 * Does the level above have an entry for the page that begins with low?
 */
static bool
has_downlink(CheckState *cs, const FpbProbe *low, int level, BlockNumber blkno)
{
	FpbIndex   *ix = &cs->ix;
	Buffer		buf;
	FpbEntry	entry;
	FpbPos		pos;
	bool		found;

	buf = fpb_descend(ix, cs->heap, low, level + 1, false, BUFFER_LOCK_SHARE,
					  NULL);
	fpb_page_child(ix, BufferGetPage(buf), low, false, &pos, &entry);
	found = entry.child == blkno && fpb_compare(ix, &entry.key, low) == 0;
	fpb_relbuf(buf);
	return found;
}

/*
 * See that the page copied has its entry in the level above.
 */
static void
check_downlink(CheckState *cs, int level, BlockNumber blkno)
{
	FpbIndex   *ix = &cs->ix;
	FpbProbe	low;
	FpbKey		fence;
	Buffer		buf;
	Page		left;
	bool		found = true;

	if (FpbPageIsLeftmost(cs->page))
		return;					/* known from above */
	fpb_page_low(ix, cs->page, &fence);
	fpb_probe_from_key(ix, &fence, &low);
	if (has_downlink(cs, &low, level, blkno))
		return;

	/*
	 * While the left sibling is locked, the page can't be deleted, nor its
	 * entry in the level above be inserted or removed.
	 */
	buf = fpb_descend(ix, cs->heap, &low, level, true, BUFFER_LOCK_SHARE, NULL);
	left = BufferGetPage(buf);
	if (FpbHdr(left)->right == blkno && !FpbPageSplitIncomplete(left) &&
		fpb_compare_high(ix, left, &low) == 0)
		found = has_downlink(cs, &low, level, blkno);
	fpb_relbuf(buf);
	if (!found)
		damage(cs, blkno, "The level above has no entry for the page.");
}

/*
 * Does a locked inner page name this child?
 */
static bool
names_child(const FpbIndex *ix, Page page, int level, BlockNumber child)
{
	FpbPos		pos = {0, 0};
	FpbEntry	entry;

	if (FpbHdr(page)->level != level || FpbPageIsDeleted(page))
		return false;
	while (fpb_page_next(ix, page, &pos, &entry))
	{
		if (entry.child == child)
			return true;
		fpb_page_advance(ix, page, &pos);
	}
	return false;
}

/*
 * See that a child is what the copied page's entry for it says.
 *
 * The parent may only be waited for if the child is what it should be: else it
 * may by now be any page, a parent's parent even.
 */
static void
check_child(CheckState *cs, BlockNumber parent, int level, BlockNumber child,
			const FpbProbe *low)
{
	const FpbIndex *ix = &cs->ix;

	for (int try = 0; try < MAX_TRIES; try++)
	{
		Buffer		buf = get_page(cs, child, parent);
		Buffer		parentbuf;
		const char *fault = low_fence_fault(ix, BufferGetPage(buf));
		bool		named;

		if (fault != NULL)
			damage(cs, child, "Of the low fence: %s.", fault);
		if (is_at(ix, BufferGetPage(buf), level - 1, low))
		{
			fpb_relbuf(buf);
			return;
		}

		/* It has been deleted since the copy was made, or this is damage. */
		parentbuf = ReadBuffer(ix->rel, parent);
		if (ConditionalLockBuffer(parentbuf))
		{
			fpb_checkpage(ix, parentbuf);
			named = names_child(ix, BufferGetPage(parentbuf), level, child);
			fpb_relbuf(parentbuf);
			fpb_relbuf(buf);
			if (named)
				damage(cs, child, "The page is not what its parent, block %u, says.",
					   parent);
			return;
		}
		ReleaseBuffer(parentbuf);
		fpb_relbuf(buf);
		CHECK_FOR_INTERRUPTS();
		pg_usleep(TRY_DELAY);
	}
}

/*
 * See that the children of the page copied are what its entries say.
 */
static void
check_children(CheckState *cs, int level, BlockNumber blkno)
{
	for (int i = 0; i < cs->nentries; i++)
	{
		FpbProbe	low;
		FpbProbe   *lowp = NULL;

		CHECK_FOR_INTERRUPTS();
		if (i > 0 || !FpbPageIsLeftmost(cs->page))
		{
			fpb_probe_from_key(&cs->ix, &cs->entries[i].key, &low);
			lowp = &low;
		}
		check_child(cs, blkno, level, cs->entries[i].child, lowp);
	}
}

/*
 * See that the page copied, the leftmost of the root's level, is the root or
 * has been split since the check began.
 */
static void
check_root(CheckState *cs, BlockNumber blkno)
{
	if (FpbPageIsRightmost(cs->page) || FpbPageSplitIncomplete(cs->page))
		return;

	/* A split root is not incomplete any more once the metapage says so. */
	fpb_index_refresh(&cs->ix);
	if (cs->ix.level <= cs->top)
		damage(cs, blkno, "The root has a right sibling.");
}

/*
 * A block that the walks have not come by: see that it is free, or that it has
 * a place in the tree.
 */
static void
check_unreached(CheckState *cs, BlockNumber blkno)
{
	FpbIndex   *ix = &cs->ix;
	Buffer		buf;
	Buffer		other;
	FpbProbe	low;
	FpbProbe   *lowp = NULL;
	bool		orphan = false;
	int			level;

	buf = ReadBufferExtended(ix->rel, MAIN_FORKNUM, blkno, RBM_NORMAL,
							 cs->strategy);
	LockBuffer(buf, BUFFER_LOCK_SHARE);
	if (PageIsNew(BufferGetPage(buf)))
	{
		/* a crash has left it behind */
		fpb_relbuf(buf);
		return;
	}
	fpb_checkpage(ix, buf);
	copy_page(cs, buf);
	if (FpbPageIsDeleted(cs->page))
		return;
	level = FpbHdr(cs->page)->level;
	check_content(cs, blkno);

	/* A level is there before its pages are, and for ever. */
	fpb_index_refresh(ix);
	if (level > ix->level)
		damage(cs, blkno, "The page is of level %d, but the root is of level %u.",
			   level, ix->level);

	if (FpbPageIsLeftmost(cs->page))
		other = fpb_descend_edge(ix, level, false, BUFFER_LOCK_SHARE);
	else
	{
		FpbKey		fence;

		fpb_page_low(ix, cs->page, &fence);
		fpb_probe_from_key(ix, &fence, &low);
		lowp = &low;
		other = fpb_descend(ix, cs->heap, lowp, level, false,
							BUFFER_LOCK_SHARE, NULL);
	}
	if (BufferGetBlockNumber(other) != blkno)
	{
		/* Can it be live at the same time as the page its key belongs to? */
		buf = ReadBuffer(ix->rel, blkno);
		if (ConditionalLockBuffer(buf))
		{
			Page		page = BufferGetPage(buf);

			fpb_checkpage(ix, buf);
			orphan = low_fence_fault(ix, page) == NULL &&
				is_at(ix, page, level, lowp);
			LockBuffer(buf, BUFFER_LOCK_UNLOCK);
		}
		ReleaseBuffer(buf);
	}
	fpb_relbuf(other);
	if (orphan)
		damage(cs, blkno, "The page has no place in the tree.");
}

/* ------------------------------------------------------------------------
 * Entries and rows
 * ------------------------------------------------------------------------
 */

/*
 * Make an element of the Bloom filter: the same bytes whether the values come
 * from the index or the table, where long ones may be stored in other ways.
 */
static void
make_element(const FpbIndex *ix, const Datum *values, const bool *isnull,
			 ItemPointer tid, StringInfo element)
{
	TupleDesc	desc = RelationGetDescr(ix->rel);

	resetStringInfo(element);
	appendBinaryStringInfo(element, tid, sizeof(ItemPointerData));
	for (int i = 0; i < ix->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);

		appendStringInfoChar(element, isnull[i] ? 0 : 1);
		if (isnull[i])
			continue;
		if (att->attbyval)
			appendBinaryStringInfo(element, &values[i], sizeof(Datum));
		else if (att->attlen == -1)
		{
			struct varlena *plain = PG_DETOAST_DATUM_PACKED(values[i]);
			uint32		length = VARSIZE_ANY_EXHDR(plain);

			appendBinaryStringInfo(element, &length, sizeof(length));
			appendBinaryStringInfo(element, VARDATA_ANY(plain), length);
			if ((Pointer) plain != DatumGetPointer(values[i]))
				pfree(plain);
		}
		else if (att->attlen == -2)
			appendBinaryStringInfo(element, DatumGetCString(values[i]),
								   strlen(DatumGetCString(values[i])) + 1);
		else
			appendBinaryStringInfo(element, DatumGetPointer(values[i]),
								   att->attlen);
	}
}

/*
 * Callback of table_index_build_scan: a row must have been met in the index.
 */
static void
check_row(Relation index, ItemPointer tid, Datum *values, bool *isnull,
		  bool tupleIsAlive, void *state)
{
	CheckState *cs = state;
	MemoryContext old = MemoryContextSwitchTo(cs->page_cxt);

	make_element(&cs->ix, values, isnull, tid, &cs->element);
	if (bloom_lacks_element(cs->filter, (unsigned char *) cs->element.data,
							cs->element.len))
		ereport(ERROR,
				(errcode(ERRCODE_INDEX_CORRUPTED),
				 errmsg("index \"%s\" lacks an entry for row (%u,%u) of table \"%s\"",
						RelationGetRelationName(index),
						ItemPointerGetBlockNumber(tid),
						ItemPointerGetOffsetNumber(tid),
						RelationGetRelationName(cs->heap)),
				 errhint("Please REINDEX it.")));
	MemoryContextSwitchTo(old);
	MemoryContextReset(cs->page_cxt);
}

/*
 * Is there a line pointer in use at this place of the table?
 */
static bool
row_exists(CheckState *cs, ItemPointer tid)
{
	BlockNumber blkno = ItemPointerGetBlockNumber(tid);
	OffsetNumber offset = ItemPointerGetOffsetNumber(tid);
	Buffer		buf;
	Page		page;
	bool		exists;

	if (blkno >= cs->heap_blocks)
		cs->heap_blocks = RelationGetNumberOfBlocks(cs->heap);
	if (blkno >= cs->heap_blocks)
		return false;
	buf = ReadBufferExtended(cs->heap, MAIN_FORKNUM, blkno, RBM_NORMAL,
							 cs->strategy);
	LockBuffer(buf, BUFFER_LOCK_SHARE);
	page = BufferGetPage(buf);
	exists = !PageIsNew(page) && offset >= FirstOffsetNumber &&
		offset <= PageGetMaxOffsetNumber(page) &&
		ItemIdIsUsed(PageGetItemId(page, offset));
	UnlockReleaseBuffer(buf);
	return exists;
}

/*
 * An entry of the leaf copied names a line pointer that is not in use.  If the
 * entry is still there, and while the leaf is locked the line pointer is still
 * not in use, that is damage.
 */
static void
confirm_missing_row(CheckState *cs, const FpbKey *key, ItemPointer tid)
{
	FpbIndex   *ix = &cs->ix;
	FpbProbe	probe;
	FpbPos		pos;
	FpbEntry	entry;
	Buffer		buf;
	BlockNumber blkno;
	bool		missing;

	fpb_probe_from_key(ix, key, &probe);
	buf = fpb_descend(ix, cs->heap, &probe, 0, false, BUFFER_LOCK_SHARE, NULL);
	blkno = BufferGetBlockNumber(buf);
	fpb_page_search(ix, BufferGetPage(buf), &probe, &pos);
	missing = fpb_page_next(ix, BufferGetPage(buf), &pos, &entry) &&
		entry.key.tail == key->tail &&
		fpb_compare(ix, &entry.key, &probe) == 0 &&
		!row_exists(cs, tid);
	fpb_relbuf(buf);
	if (missing)
		damage(cs, blkno, "An entry points to row (%u,%u), which does not exist.",
			   ItemPointerGetBlockNumber(tid), ItemPointerGetOffsetNumber(tid));
}

/* qsort comparator: entries by TID */
static int
compare_tids(const void *a, const void *b)
{
	uint64		x = (*(const FpbEntry *const *) a)->key.tail & FPB_TAIL_TID_MASK;
	uint64		y = (*(const FpbEntry *const *) b)->key.tail & FPB_TAIL_TID_MASK;

	return (x > y) - (x < y);
}

/*
 * See that the row in cs->slot has the entry's key, which is in cs->element.
 */
static void
check_row_key(CheckState *cs, BlockNumber blkno, ItemPointer tid)
{
	Datum		values[INDEX_MAX_KEYS];
	bool		isnull[INDEX_MAX_KEYS];
	MemoryContext old;
	bool		same;

	GetPerTupleExprContext(cs->estate)->ecxt_scantuple = cs->slot;
	old = MemoryContextSwitchTo(GetPerTupleMemoryContext(cs->estate));
	same = cs->predicate == NULL ||
		ExecQual(cs->predicate, GetPerTupleExprContext(cs->estate));
	if (same)
	{
		FormIndexDatum(cs->info, cs->slot, cs->estate, values, isnull);
		make_element(&cs->ix, values, isnull, tid, &cs->row_element);
		same = cs->row_element.len == cs->element.len &&
			memcmp(cs->row_element.data, cs->element.data, cs->element.len) == 0;
	}
	MemoryContextSwitchTo(old);
	ResetPerTupleExprContext(cs->estate);
	if (!same)
		damage(cs, blkno, "The entry for row (%u,%u) does not have the row's key.",
			   ItemPointerGetBlockNumber(tid), ItemPointerGetOffsetNumber(tid));
}

/*
 * Remember the entries of the leaf copied, and look at their rows, in the
 * table's order.
 */
static void
check_entries(CheckState *cs, BlockNumber blkno)
{
	const FpbEntry **sorted = palloc(sizeof(FpbEntry *) * Max(cs->nentries, 1));
	FpbPos		start = {0, 0};
	bool		more;

	(void) fpb_page_read(&cs->ix, cs->page, start, NULL, cs->items, &more);
	for (int i = 0; i < cs->nentries; i++)
		sorted[i] = &cs->entries[i];
	qsort(sorted, cs->nentries, sizeof(FpbEntry *), compare_tids);
	for (int i = 0; i < cs->nentries; i++)
	{
		const FpbKey *key = &sorted[i]->key;
		int			n = sorted[i] - cs->entries;
		Datum		values[INDEX_MAX_KEYS];
		bool		isnull[INDEX_MAX_KEYS];
		ItemPointerData tid;
		ItemPointerData at;
		bool		call_again = false;
		bool		all_dead;
		bool		visible = false;

		CHECK_FOR_INTERRUPTS();
		fpb_tail_tid(key->tail, &tid);
		fpb_key_datums(&cs->ix, key, values, isnull);
		make_element(&cs->ix, values, isnull, &tid, &cs->element);
		bloom_add_element(cs->filter, (unsigned char *) cs->element.data,
						  cs->element.len);

		/* the fetch relies on the line pointer's being there */
		if (cs->is_heap && !row_exists(cs, &tid))
			confirm_missing_row(cs, key, &tid);
		else
		{
			at = tid;
			visible = table_index_fetch_tuple(cs->fetch, &at, cs->snapshot,
											  cs->slot, &call_again, &all_dead);
			if (visible)
				check_row_key(cs, blkno, &tid);
			ExecClearTuple(cs->slot);
		}
		cs->visible[n] = visible;

		/* on a standby such marks may have come with a base backup */
		if (visible && !cs->snapshot->takenDuringRecovery &&
			fpb_page_is_killed(&cs->ix, cs->page, cs->items[n].pos))
			damage(cs, blkno, "The entry for row (%u,%u) is marked as dead, but the row is not.",
				   ItemPointerGetBlockNumber(&tid),
				   ItemPointerGetOffsetNumber(&tid));
	}
	table_index_fetch_reset(cs->fetch);
	pfree(sorted);
}

/*
 * See that of the entries with equal keys no two are of rows that the snapshot
 * sees.
 */
static void
check_unique(CheckState *cs, BlockNumber blkno)
{
	const FpbIndex *ix = &cs->ix;
	bool		nulls_equal = ix->rel->rd_index->indnullsnotdistinct;

	for (int i = 0; i < cs->nentries; i++)
	{
		const FpbKey *key = &cs->entries[i].key;
		const FpbKey *last = (i > 0) ? &cs->entries[i - 1].key : &cs->last;
		ItemPointerData tid;

		if (!cs->have_last || !fpb_keys_equal(ix, last, key) ||
			(!nulls_equal && fpb_key_has_null(ix, key)))
			ItemPointerSetInvalid(&cs->last_visible);
		cs->have_last = true;
		if (!cs->visible[i])
			continue;
		fpb_tail_tid(key->tail, &tid);
		if (ItemPointerIsValid(&cs->last_visible) &&
			!ItemPointerEquals(&cs->last_visible, &tid))
			damage(cs, blkno, "Rows (%u,%u) and (%u,%u) have the same key, which is to be unique.",
				   ItemPointerGetBlockNumber(&cs->last_visible),
				   ItemPointerGetOffsetNumber(&cs->last_visible),
				   ItemPointerGetBlockNumber(&tid),
				   ItemPointerGetOffsetNumber(&tid));
		cs->last_visible = tid;
	}

	/* The last key is to be compared with the first of the next leaf. */
	if (cs->nentries > 0)
	{
		cs->last_turn ^= 1;
		MemoryContextReset(cs->last_cxt[cs->last_turn]);
		cs->last = cs->entries[cs->nentries - 1].key;
		if (cs->last.tuple != NULL)
		{
			Size		size = IndexTupleSize(cs->last.tuple);
			IndexTuple	copy = MemoryContextAlloc(cs->last_cxt[cs->last_turn],
												  MAXALIGN(size));

			memcpy(copy, cs->last.tuple, size);
			cs->last.tuple = copy;
		}
	}
}

/* ------------------------------------------------------------------------
 * The whole index
 * ------------------------------------------------------------------------
 */

/*
 * Check a level from its leftmost page on.  Returns the leftmost page of the
 * level below.
 */
static BlockNumber
check_level(CheckState *cs, int level, BlockNumber leftmost)
{
	FpbIndex   *ix = &cs->ix;
	BlockNumber blkno = leftmost;
	BlockNumber left = InvalidBlockNumber;
	BlockNumber below = InvalidBlockNumber;

	for (;;)
	{
		bool		first = (left == InvalidBlockNumber);
		MemoryContext old;

		CHECK_FOR_INTERRUPTS();
		copy_page(cs, get_page(cs, blkno, left));
		old = MemoryContextSwitchTo(cs->page_cxt);
		if (!is_at(ix, cs->page, level, first ? NULL : &cs->from))
		{
			if (first)
				damage(cs, blkno, "The page should be the leftmost of level %d.",
					   level);
			blkno = find_right(cs, level, left, blkno);
		}
		if (blkno < cs->nblocks)
			cs->reached[blkno / 8] |= 1 << (blkno % 8);

		check_content(cs, blkno);
		if (level == cs->top)
		{
			if (first)
				check_root(cs, blkno);
		}
		else
			check_downlink(cs, level, blkno);
		if (level > 0)
		{
			if (first)
				below = cs->entries[0].child;
			check_children(cs, level, blkno);
		}
		else if (cs->snapshot != NULL)
		{
			check_entries(cs, blkno);
			if (cs->unique)
				check_unique(cs, blkno);
		}

		left = blkno;
		blkno = FpbHdr(cs->page)->right;
		if (!FpbPageIsRightmost(cs->page))
		{
			FpbKey		high;

			cs->turn ^= 1;
			MemoryContextReset(cs->from_cxt[cs->turn]);
			MemoryContextSwitchTo(cs->from_cxt[cs->turn]);
			fpb_page_high(ix, cs->page, &high);
			fpb_fence_probe(ix, &high, &cs->from);
		}
		MemoryContextSwitchTo(old);
		if (blkno == InvalidBlockNumber)
			return below;
	}
}

/*
 * Get ready for heapallindexed: take the snapshot, before any entry is read.
 */
static void
begin_rows(CheckState *cs)
{
	Relation	index = cs->ix.rel;
	int64		nentries;

	cs->snapshot = RegisterSnapshot(GetTransactionSnapshot());

	/*
	 * A snapshot older than this transaction's first look at the index may
	 * see rows that CREATE INDEX had no need to enter.
	 */
	if (IsolationUsesXactSnapshot() && index->rd_index->indcheckxmin &&
		!TransactionIdPrecedes(HeapTupleHeaderGetXmin(index->rd_indextuple->t_data),
							   cs->snapshot->xmin))
		ereport(ERROR,
				(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
				 errmsg("index \"%s\" cannot be checked with this transaction's snapshot",
						RelationGetRelationName(index))));

	nentries = Max((int64) cs->nblocks * MIN_ENTRIES,
				   (int64) index->rd_rel->reltuples);
	cs->filter = bloom_create(nentries, maintenance_work_mem,
							  pg_prng_uint64(&pg_global_prng_state));
	initStringInfo(&cs->element);
	initStringInfo(&cs->row_element);
	cs->fetch = table_index_fetch_begin(cs->heap);
	cs->slot = table_slot_create(cs->heap, NULL);
	cs->info = BuildIndexInfo(index);
	cs->estate = CreateExecutorState();
	cs->predicate = ExecPrepareQual(cs->info->ii_Predicate, cs->estate);
	cs->visible = palloc(FPB_MAX_PAGE_ENTRIES * sizeof(bool));
	cs->items = palloc(FPB_MAX_PAGE_ENTRIES * sizeof(FpbItem));
	cs->is_heap = cs->heap->rd_tableam == GetHeapamTableAmRoutine();
	cs->heap_blocks = RelationGetNumberOfBlocks(cs->heap);

	/* A deferred constraint may be violated by this very transaction. */
	cs->unique = index->rd_index->indisunique && index->rd_index->indimmediate;
	for (int i = 0; i < 2; i++)
		cs->last_cxt[i] = AllocSetContextCreate(CurrentMemoryContext,
												"fpbtree check last key",
												ALLOCSET_SMALL_SIZES);
}

/*
 * See that every row that the snapshot sees has been met in the index.
 */
static void
check_rows(CheckState *cs)
{
	IndexInfo  *info = BuildIndexInfo(cs->ix.rel);
	TableScanDesc scan;

	table_index_fetch_end(cs->fetch);
	ExecDropSingleTupleTableSlot(cs->slot);
	FreeExecutorState(cs->estate);

	/*
	 * As the first scan of CREATE INDEX CONCURRENTLY does, this returns what
	 * the snapshot sees; it must not wait for others' insertions on the
	 * grounds that they might violate a constraint.
	 */
	scan = table_beginscan_strat(cs->heap, cs->snapshot, 0, NULL, true, true);
	info->ii_Concurrent = true;
	info->ii_Unique = false;
	info->ii_ExclusionOps = NULL;
	info->ii_ExclusionProcs = NULL;
	info->ii_ExclusionStrats = NULL;
	table_index_build_scan(cs->heap, cs->ix.rel, info, true, false,
						   check_row, cs, scan);
	UnregisterSnapshot(cs->snapshot);
	bloom_free(cs->filter);
}

/*
 * Check an index, and with heapallindexed its table.
 */
static void
check_index(Relation index, Relation heap, bool heapallindexed)
{
	CheckState *cs = palloc0(sizeof(CheckState));
	BlockNumber leftmost;

	/* The cache may know better than the metapage, which is to be checked. */
	fpb_index_open(&cs->ix, index);
	fpb_index_refresh(&cs->ix);
	cs->heap = heap;
	cs->top = cs->ix.level;
	cs->strategy = GetAccessStrategy(BAS_BULKREAD);
	cs->nblocks = cs->nblocks_now = RelationGetNumberOfBlocks(index);
	cs->reached = palloc_extended(cs->nblocks / 8 + 1,
								  MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	cs->page = palloc_aligned(BLCKSZ, PG_IO_ALIGN_SIZE, 0);
	cs->entries = palloc(FPB_MAX_PAGE_ENTRIES * sizeof(FpbEntry));
	cs->page_cxt = AllocSetContextCreate(CurrentMemoryContext,
										 "fpbtree check page",
										 ALLOCSET_DEFAULT_SIZES);
	for (int i = 0; i < 2; i++)
		cs->from_cxt[i] = AllocSetContextCreate(CurrentMemoryContext,
												"fpbtree check fence",
												ALLOCSET_SMALL_SIZES);
	if (heapallindexed)
		begin_rows(cs);

	leftmost = cs->ix.root;
	for (int level = cs->top; level >= 0; level--)
		leftmost = check_level(cs, level, leftmost);

	for (BlockNumber blkno = FPB_METAPAGE + 1; blkno < cs->nblocks; blkno++)
	{
		MemoryContext old;

		if (cs->reached[blkno / 8] & (1 << (blkno % 8)))
			continue;
		CHECK_FOR_INTERRUPTS();
		old = MemoryContextSwitchTo(cs->page_cxt);
		check_unreached(cs, blkno);
		MemoryContextSwitchTo(old);
	}

	if (heapallindexed)
		check_rows(cs);
	FreeAccessStrategy(cs->strategy);
}

/*
 * fpbtree_check(index regclass, heapallindexed boolean) returns void
 *
 * Raises an error of class "index_corrupted" if anything is wrong.
 */
Datum
fpbtree_check(PG_FUNCTION_ARGS)
{
	Oid			indexoid = PG_GETARG_OID(0);
	bool		heapallindexed = PG_GETARG_BOOL(1);
	Oid			heapoid;
	Relation	heap = NULL;
	Relation	index;
	Oid			save_userid;
	int			save_sec_context;
	int			save_nestlevel;

	/* The table is to be locked before the index. */
	heapoid = IndexGetRelation(indexoid, true);
	if (OidIsValid(heapoid))
		heap = table_open(heapoid, AccessShareLock);
	index = fpb_open_index(indexoid, AccessShareLock);
	if (heap == NULL || heapoid != IndexGetRelation(indexoid, false))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("could not open parent table of index \"%s\"",
						RelationGetRelationName(index))));
	if (!index->rd_index->indisvalid)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("cannot check index \"%s\"",
						RelationGetRelationName(index)),
				 errdetail("The index is not valid.")));
	if (index->rd_rel->relpersistence == RELPERSISTENCE_UNLOGGED &&
		RecoveryInProgress())
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("cannot check unlogged index \"%s\" during recovery",
						RelationGetRelationName(index))));

	/* Index expressions are to be evaluated as the table's owner. */
	GetUserIdAndSecContext(&save_userid, &save_sec_context);
	SetUserIdAndSecContext(heap->rd_rel->relowner,
						   save_sec_context | SECURITY_RESTRICTED_OPERATION);
	save_nestlevel = NewGUCNestLevel();
	RestrictSearchPath();

	check_index(index, heap, heapallindexed);

	AtEOXact_GUC(false, save_nestlevel);
	SetUserIdAndSecContext(save_userid, save_sec_context);
	index_close(index, AccessShareLock);
	table_close(heap, AccessShareLock);
	PG_RETURN_VOID();
}
