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

/*
 * Is this high fence, NULL: infinite, to be left to the right sibling?
 */
static inline bool
fpb_high_elided(const FpbIndex *ix, const FpbKey *high)
{
	return high != NULL && high->tuple == NULL && !fpb_is_word(ix);
}

/*
 * Is there a whole tuple at this offset?
 */
static inline bool
fpb_tuple_offset_valid(Page page, uint32 offset)
{
	IndexTuple	tuple;
	Size		size;

	if (offset < FpbHdr(page)->pd.pd_upper ||
		offset > BLCKSZ - sizeof(IndexTupleData) || (offset & 1) != 0)
		return false;
	tuple = (IndexTuple) ((char *) page + offset);
	size = IndexTupleSize(tuple);
	if (size >= sizeof(IndexTupleData) && fpb_is_posting(tuple))
		size = fpb_posting_size(tuple, fpb_posting_slots(tuple));
	return size >= sizeof(IndexTupleData) && offset + size <= BLCKSZ;
}

/*
 * Has this entry, or slot, of a page of that shape a posting tuple?
 */
static inline bool
fpb_has_posting(const FpbShape *shape, const FpbEntry *entry)
{
	return entry->key.tuple != NULL && shape->child_off == 0 &&
		fpb_is_posting(entry->key.tuple);
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

/* parting entries into nodes (fpb_layout_part.c) */

/* one node to be */
typedef struct FpbNodePart
{
	int			start;			/* its first entry */
	int			count;
	int			slot;			/* tuples: the first of the page's slots */
	int			nslots;			/* that these take */
	uint8		codec;
} FpbNodePart;

extern int	fpb_plain_fill(const FpbShape *shape, int slack);
extern int	fpb_one_key_fill(const FpbShape *shape, int slack);
extern int	fpb_one_key_part(const FpbShape *shape, int run, int fill);
extern int	fpb_part_by_runs(const FpbIndex *ix, const FpbShape *shape,
							 const FpbEntry *entries, int nentries, int slack,
							 FpbNodePart *parts);
extern bool fpb_part_has_runs(const FpbIndex *ix, const FpbEntry *entries,
							  int nentries);
extern int	fpb_part_fewest_nodes(const FpbIndex *ix, const FpbShape *shape,
								  const FpbEntry *entries, int nentries,
								  int slack, FpbNodePart *parts);
extern int	fpb_posting_most(const FpbIndex *ix, IndexTuple tuple);
extern int	fpb_slot_entries(const FpbIndex *ix, const FpbShape *shape,
							 const FpbEntry *entries, int nentries);
extern int	fpb_part_tuples(const FpbIndex *ix, const FpbShape *shape,
							const FpbEntry *entries, int nentries, int slack,
							FpbNodePart *parts, uint16 *slots);

/* writing pages (fpb_layout_fill.c) */
extern int	fpb_directory_capacity(const FpbIndex *ix, const FpbShape *shape,
								   int nparts, Size used);
extern bool fpb_write_page(const FpbIndex *ix, Page page, int level, int flags,
						   BlockNumber right, const FpbKey *low,
						   const FpbKey *high, const FpbEntry *entries,
						   const FpbNodePart *parts, int nparts,
						   const uint16 *slots, bool spread, Size want_free);

#endif							/* FPB_LAYOUT_H */
