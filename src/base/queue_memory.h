/*-------------------------------------------------------------------------
 *
 * base/queue_memory.h
 *	  How many pages the tiers of an operation queue may have
 *	  (base/queue_memory.c).
 *
 *-------------------------------------------------------------------------
 */
#ifndef FPB_BASE_QUEUE_MEMORY_H
#define FPB_BASE_QUEUE_MEMORY_H

#include "utils/rel.h"

#include "base/shared.h"

extern void fpb_queue_memory_init(void);

/*
 * An entry has been put into the queue of an index.  shared is what is shared
 * of the index; NULL if nothing is, here and below.
 */
extern void fpb_count_queued(Relation rel, FpbShared *shared);

/*
 * How many tiers the queue of an index of nblocks may have.  has_second: it
 * has a second one.
 */
extern int	fpb_queue_tiers(Relation rel, FpbShared *shared, BlockNumber nblocks, bool has_second);

/*
 * How many pages a tier of it may have before its entries have to move.
 */
extern BlockNumber fpb_tier_limit(Relation rel, FpbShared *shared, BlockNumber nblocks, int tier);

#endif							/* FPB_BASE_QUEUE_MEMORY_H */
