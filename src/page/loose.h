/*-------------------------------------------------------------------------
 *
 * page/loose.h
 *	  Pairs and tuples nodes: entries of leaves in any order (page/loose.c).
 *
 *-------------------------------------------------------------------------
 */
#ifndef FPB_PAGE_LOOSE_H
#define FPB_PAGE_LOOSE_H

#include "page/layout.h"
#include "page/node.h"

/* slots are numbered by bytes where they are put in order */
#define FPB_LOOSE_MOST	PG_UINT8_MAX

extern int	fpb_loose_count(const FpbIndex *ix, const FpbShape *shape,
							FpbCodec codec, const char *node);
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
							 const FpbSearchKey *search, uint64 head,
							 bool equal, int *next);
extern int	fpb_loose_search_from(const FpbIndex *ix, Page page,
								  const FpbShape *shape, FpbCodec codec,
								  char *node, int from,
								  const FpbSearchKey *search, int *next);
extern int	fpb_loose_alike(const FpbIndex *ix, const FpbShape *shape,
							const char *node, uint64 head, uint8 *alike,
							int *less);
extern int	fpb_loose_end(const FpbIndex *ix, const FpbShape *shape,
						  FpbCodec codec, char *node, bool last);
extern int	fpb_loose_first_of(const FpbIndex *ix, const FpbShape *shape,
							   const char *node, uint64 head);
extern int	fpb_loose_last_before(const FpbIndex *ix, const FpbShape *shape,
								  const char *node, uint64 head, int to);
extern int	fpb_loose_step(const FpbIndex *ix, const FpbShape *shape,
						   FpbCodec codec, char *node, int slot, bool forward);
extern void fpb_loose_read(const FpbIndex *ix, Page page,
						   const FpbShape *shape, FpbCodec codec, char *node,
						   const uint8 *slots, int from, int to, FpbPos pos,
						   uint64 rank_step, uint64 slot_step, FpbItem *items);

#endif							/* FPB_PAGE_LOOSE_H */
