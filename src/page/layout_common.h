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
 * The entries in slots [from, to) of a leaf's plain node of words into
 * items[], which has room for so many; returns how many, or -1 if there may be
 * more.  The first slot's position is pos, and each further one's greater by
 * step.
 */
extern int	fpb_read_words(const FpbIndex *ix, const FpbShape *shape,
						   const char *node, int from, int to, FpbPos pos,
						   uint64 step, FpbItem *items, int room);

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
}

/*
 * All entries of the page with a new one among them, before pos, in a palloc'd
 * array of their own.
 */
extern FpbEntry *fpb_collect_with(const FpbIndex *ix, Page page,
								  const FpbEntry *entry, FpbPos pos,
								  int *nentries);

/*
 * Plan to make the page afresh, entries[] being all, the new one among them,
 * with slack of a hundred slots free.  Allocates the image.  The plan's
 * outcome is FPB_PLAN_FULL if the entries don't fit so.
 *
 * A page of so few entries that at best one would be left on a side must not
 * be split for nothing but slack, or the room of its high fence, unless few is
 * 0.
 */
extern void fpb_plan_rebuild(const FpbIndex *ix, Page page,
							 const FpbEntry *entries, int nentries, int slack,
							 int few, FpbInsertPlan *plan);

/*
 * Return tuples to the page's hole that nothing refers to any more, and that
 * have been added later than all others.  page is a copy that nobody else
 * sees.
 */
extern void fpb_free_last_tuples(const FpbIndex *ix, Page page,
								 FpbWalPage *wp);

#endif							/* FPB_PAGE_LAYOUT_COMMON_H */
