/*-------------------------------------------------------------------------
 *
 * page/loose.h
 *	  A loose node: entries of words in any order (page/loose.c).
 *
 *-------------------------------------------------------------------------
 */
#ifndef FPB_PAGE_LOOSE_H
#define FPB_PAGE_LOOSE_H

#include "page/node.h"

/* slots are numbered by bytes where they are put in order */
#define FPB_LOOSE_MOST	PG_UINT8_MAX

/*
 * How many entries has a node of a leaf of words that is loose or plain?
 */
static inline int
fpb_loose_count(const FpbIndex *ix, const FpbShape *shape, FpbCodec codec, char *node)
{
	int			count = 0;

	for (int slot = 0; slot < shape->nslots; slot++)
		count += !fpb_node_is_gap(ix, shape, codec, node, slot);
	return count;
}

extern int	fpb_loose_gap(const FpbIndex *ix, const FpbShape *shape,
						  FpbCodec codec, const char *node);
extern int	fpb_loose_order(const FpbIndex *ix, const FpbShape *shape,
							FpbCodec codec, char *node, uint8 *slots);
extern int	fpb_loose_within(const FpbIndex *ix, const FpbShape *shape,
							 FpbCodec codec, char *node, uint64 least,
							 uint64 most, uint8 *slots, bool *beyond);
extern int	fpb_loose_rank_of(const FpbIndex *ix, const FpbShape *shape,
							  FpbCodec codec, char *node, int slot);
extern int	fpb_loose_search(const FpbIndex *ix, Page page,
							 const FpbShape *shape, FpbCodec codec, char *node,
							 const FpbSearchKey *search, bool equal, int *next);
extern int	fpb_loose_end(const FpbIndex *ix, const FpbShape *shape,
						  FpbCodec codec, char *node, bool last);
extern int	fpb_loose_step(const FpbIndex *ix, const FpbShape *shape,
						   FpbCodec codec, char *node, int slot, bool forward);

#endif							/* FPB_PAGE_LOOSE_H */
