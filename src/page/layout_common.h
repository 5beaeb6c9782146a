/*-------------------------------------------------------------------------
 *
 * page/layout_common.h
 *	  What layouts have in common, for their files only (page/layout.c).
 *
 *-------------------------------------------------------------------------
 */
#ifndef FPB_PAGE_LAYOUT_COMMON_H
#define FPB_PAGE_LAYOUT_COMMON_H

#include "page/layout.h"
#include "page/node.h"

/*
 * Read the entries in slots [from, to) of a leaf's plain node of words into
 * items[].  Returns how many, or -1 if there may be more than there is room
 * for.  pos is the first slot's position; each further slot's is greater by
 * step.
 */
extern int	fpb_read_words(const FpbIndex *ix, const FpbShape *shape,
						   const char *node, int from, int to, FpbPos pos,
						   uint64 step, FpbItem *items, int room);

/*
 * The head of a search key in a page.  May decompress a value; raises an error
 * if a tuple of the page is damaged.
 */
static inline uint64
fpb_search_head(const FpbIndex *ix, Page page, const FpbSearchKey *search)
{
	if (fpb_page_prefix(ix, page) == 0)
		return search->head;
	return fpb_search_head_in(ix, page, search);
}

/*
 * Have two search keys the same head in all pages, because all columns that it
 * depends on have the same values?  Both may be ends of one key's range.
 */
static inline bool
fpb_have_same_heads(const FpbIndex *ix, const FpbSearchKey *a, const FpbSearchKey *b)
{
	if (fpb_is_word(ix) || a->head != b->head || !a->has_head || !b->has_head ||
		a->ncols < ix->nkeyatts || b->ncols < ix->nkeyatts)
		return false;
	for (int i = 0; i < Min(ix->nkeyatts, FPB_HEAD_COLUMNS); i++)
	{
		if (a->cols[i].value != b->cols[i].value || a->cols[i].isnull != b->cols[i].isnull)
			return false;
	}
	return true;
}

/*
 * For read_first: begin to read at a position.
 */
static inline void
fpb_begin_first(FpbReadFirst *first, FpbPos pos)
{
	first->nread = 0;
	first->first_killed = false;
	first->begin = first->behind = pos;
}

/*
 * Is an entry one of those to be read?  head: that of the end (NULL: there is
 * none) in the page.
 */
static inline bool
fpb_passes_first(const FpbIndex *ix, const FpbKey *key, const FpbSearchKey *end, uint64 head,
				 int most, FpbReadFirst *first)
{
	if (end != NULL && fpb_compare_by_head(ix, key, end, head) >= 0)
		first->stop = FPB_STOP_END;
	else if (first->nread == most)
		first->stop = FPB_STOP_ENOUGH;
	else
		return true;
	first->next = *key;
	return false;
}

/*
 * Take an entry that is, unless it is killed; returns how many have been
 * taken.
 */
static inline int
fpb_take_first(const FpbKey *key, FpbPos pos, bool killed, FpbItem *item, FpbReadFirst *first)
{
	first->last = pos;
	first->behind = fpb_pos_behind(pos);
	first->first_killed |= killed && first->nread == 0;
	first->nread++;
	if (killed)
		return 0;
	item->key = *key;
	item->pos = pos;
	return 1;
}

/*
 * For read_first: go on from first->behind, one entry after the other, where n
 * items have been read.  Returns how many there are then.
 */
extern int	fpb_go_on_with_first(const FpbIndex *ix, Page page, const FpbSearchKey *end,
								 uint64 head, bool live, int most, FpbItem *items, int n,
								 FpbReadFirst *first);

/*
 * read_first of layouts that have no better way: by their search and next.
 */
extern int	fpb_read_first_by_steps(const FpbIndex *ix, Page page,
									const FpbSearchKey *start, const FpbSearchKey *end,
									bool live, int most, FpbItem *items,
									FpbReadFirst *first);

/* a page with no more entries than these is not split while they fit it at all */
#define FPB_FEW_ENTRIES		2
#define FPB_FEW_CHILDREN	3

/*
 * An entry follows a series if its key is so many times as near to the one
 * before as to the one behind.
 */
#define FPB_SERIES_DISTANCE		64

/*
 * Does a leaf's entry with this head, between those of two others, seem to
 * belong to one of many series of ascending keys?  Of numbers in random order
 * one in FPB_SERIES_DISTANCE seems to; of texts, the last of those that begin
 * alike.
 */
static inline bool
fpb_follows_series(uint64 before, uint64 head, uint64 behind)
{
	return head - before < (behind - head) / FPB_SERIES_DISTANCE;
}

/*
 * Set up the header of a page that is to have this content, but for its fences
 * and what is the layout's.
 */
static inline void
fpb_begin_page(const FpbIndex *ix, Page page, const FpbPageContent *content)
{
	int			flags = content->flags & ~FPB_HIGH_ELIDED;

	if (fpb_high_elided(ix, content->high))
		flags |= FPB_HIGH_ELIDED;
	fpb_page_init(page, content->level, flags, content->right);
	FpbHdr(page)->fences.low[FPB_LOW] = content->prefix;
	FpbHdr(page)->fences.head[FPB_LOW] = content->prefix_head;
}

/*
 * All entries of the page, with a new one among them before pos, in a palloc'd
 * array.  The new one has its head in the page; in the array all have whole
 * ones.
 */
extern FpbEntry *fpb_collect_with(const FpbIndex *ix, Page page,
								  const FpbEntry *entry, FpbPos pos,
								  int *nentries);

/*
 * Plan to rebuild the page from entries[], all it has and the new one, with
 * slack of a hundred slots free.  Allocates the image.  The plan's outcome is
 * FPB_PLAN_FULL if the entries don't fit so.
 *
 * If there are no more entries than few, a split would leave a side with one
 * at best.  Then they need not leave slack, nor room for the high fence.
 */
extern void fpb_plan_rebuild(const FpbIndex *ix, Page page,
							 const FpbEntry *entries, int nentries, int slack,
							 int few, FpbInsertPlan *plan);

/*
 * Give the bytes of tuples that nothing refers to any more back to the hole,
 * as far as these were added after all others.  least: the least offset of an
 * entry's tuple, or BLCKSZ.  page is a copy that nobody else sees.
 */
extern void fpb_free_last_tuples(Page page, uint32 least, FpbWalPage *wp);

/*
 * The least of the offsets of tuples of so many slots, and of least itself.
 */
static inline uint32
fpb_least_tuple(const uint16 *tuples, int nslots, uint32 least)
{
	for (int slot = 0; slot < nslots; slot++)
		if (tuples[slot] != 0 && tuples[slot] < least)
			least = tuples[slot];
	return least;
}

#endif							/* FPB_PAGE_LAYOUT_COMMON_H */
