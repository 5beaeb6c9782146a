/*-------------------------------------------------------------------------
 *
 * queue/filter.h
 *	  Which keys are not in a tier of an operation queue (queue/filter.c).
 *
 *-------------------------------------------------------------------------
 */
#ifndef FPB_QUEUE_FILTER_H
#define FPB_QUEUE_FILTER_H

#include "common/pg_prng.h"
#include "storage/bufpage.h"
#include "utils/relcache.h"

#include "base/shared.h"

/* where the entries of a tier of an index are noted */
typedef struct FpbFilter
{
	FpbShared  *shared;			/* has the mark; NULL: not known whether all
								 * are noted */
	FpbWords	words;
	uint64		generation;		/* of the words, when fpb_filter_open,
								 * fpb_filter_noted or fpb_filter_unnoted
								 * looked last */
	uint64		seed;			/* of the file */
	uint64		incarnation;	/* of the database */
	int			tier;
} FpbFilter;

/*
 * Assertion builds look into a tier half of the times even if it certainly has
 * no entry of the key, to verify that.
 */
#ifdef USE_ASSERT_CHECKING
#define FPB_LOOK_ANYWAY	pg_prng_bool(&pg_global_prng_state)
#else
#define FPB_LOOK_ANYWAY	false
#endif

extern void fpb_filter_open(FpbFilter *filter, Relation index, int tier, bool adding);
extern uint64 fpb_filter_begin(const FpbFilter *filter);
extern void fpb_filter_prefetch(const FpbFilter *filter, uint64 head);
extern void fpb_filter_add(const FpbFilter *filter, uint64 head);
extern bool fpb_filter_noted(FpbFilter *filter, Relation index);
extern bool fpb_filter_unnoted(FpbFilter *filter, Relation index, uint64 *number);
extern void fpb_filter_set_noted(const FpbFilter *filter, uint64 number);
extern bool fpb_filter_begin_erasing(const FpbFilter *filter);
extern void fpb_filter_erase(const FpbFilter *filter, uint64 head);
extern void fpb_filter_end_erasing(void);
extern void fpb_filter_clean(void);
extern bool fpb_filter_excludes(const FpbFilter *filter, Page meta, uint64 head);

#endif							/* FPB_QUEUE_FILTER_H */
