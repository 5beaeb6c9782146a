/*-------------------------------------------------------------------------
 *
 * queue/filter.h
 *	  Which keys are not in an operation queue (queue/filter.c).
 *
 *-------------------------------------------------------------------------
 */
#ifndef FPB_QUEUE_FILTER_H
#define FPB_QUEUE_FILTER_H

#include "storage/bufpage.h"
#include "utils/relcache.h"

#include "base/shared.h"

/* how the keys of an index are counted */
typedef struct FpbFilter
{
	FpbShared  *shared;			/* has the mark; NULL: not known whether all
								 * are counted */
	pg_atomic_uint32 *counters; /* NULL: there are none */
	uint32		mask;			/* their number - 1 */
	uint64		seed;			/* of the file */
	uint64		incarnation;	/* of the database */
} FpbFilter;

extern void fpb_filter_open(FpbFilter *filter, Relation index);
extern uint64 fpb_filter_begin(const FpbFilter *filter);
extern void fpb_filter_prefetch(const FpbFilter *filter, uint64 head);
extern void fpb_filter_add(const FpbFilter *filter, uint64 head);
extern bool fpb_filter_counted(const FpbFilter *filter, Relation index);
extern bool fpb_filter_uncounted(const FpbFilter *filter, Relation index, uint64 *number);
extern void fpb_filter_set_counted(const FpbFilter *filter, uint64 number);
extern void fpb_filter_remove(const FpbFilter *filter, uint64 head);
extern bool fpb_filter_excludes(const FpbFilter *filter, Page meta, uint64 head);

#endif							/* FPB_QUEUE_FILTER_H */
