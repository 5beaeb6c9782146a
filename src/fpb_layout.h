/*-------------------------------------------------------------------------
 *
 * fpb_layout.h
 *	  What the files of the disk-first layout share among themselves.
 *
 *-------------------------------------------------------------------------
 */
#ifndef FPB_LAYOUT_H
#define FPB_LAYOUT_H

#include "fpb_node.h"

/*
 * The tail of a pivot tuple: its TID where it has one, else that of minus
 * infinity.
 */
static inline uint64
fpb_pivot_tail(IndexTuple pivot)
{
	if (ItemPointerGetOffsetNumberNoCheck(&pivot->t_tid) == 0)
		return FPB_TAIL_MIN;
	return fpb_tail_pack(0, &pivot->t_tid);
}

/* Space a tuple takes at its place in the page, and the place's alignment. */
static inline Size
fpb_tuple_align(IndexTuple tuple)
{
	return (tuple->t_info & INDEX_AM_RESERVED_BIT) ? MAXIMUM_ALIGNOF : sizeof(uint16);
}

extern void fpb_page_damaged(const FpbIndex *ix, Page page,
							 const char *fault) __attribute__((noreturn));
extern IndexTuple fpb_page_tuple(const FpbIndex *ix, Page page, uint32 offset);
extern char *fpb_page_node(const FpbIndex *ix, Page page, int dir, int *codec);
extern void fpb_read_slot(const FpbIndex *ix, Page page, const FpbShape *shape,
						  int codec, char *node, int slot, FpbEntry *entry);
extern int	fpb_next_live(const FpbIndex *ix, const FpbShape *shape, int codec,
						  char *node, int slot);
extern void fpb_page_clear_hints(const FpbIndex *ix, Page page, int dir,
								 int from, int to);

/* writing slots (fpb_layout_fill.c) */
extern void fpb_write_slot(const FpbIndex *ix, const FpbShape *shape,
						   char *node, int slot, const FpbEntry *entry,
						   uint32 tuple_offset);
extern void fpb_write_gap(const FpbIndex *ix, const FpbShape *shape,
						  char *node, int slot, uint64 head);
extern void fpb_make_gap(const FpbIndex *ix, const FpbShape *shape, int codec,
						 char *node, int slot);

#endif							/* FPB_LAYOUT_H */
