/*-------------------------------------------------------------------------
 *
 * fpb_filter.h
 *	  Which keys are not in an operation queue (fpb_filter.c).
 *
 *-------------------------------------------------------------------------
 */
#ifndef FPB_FILTER_H
#define FPB_FILTER_H

#include "storage/bufpage.h"
#include "utils/relcache.h"

#include "fpb_shared.h"

extern uint64 fpb_filter_begin(FpbShared *shared);
extern void fpb_filter_add(FpbShared *shared, uint64 head);
extern FpbShared *fpb_filter_counted(Relation index);
extern FpbShared *fpb_filter_uncounted(Relation index, uint64 *number);
extern void fpb_filter_set_counted(FpbShared *shared, uint64 number);
extern void fpb_filter_remove(FpbShared *shared, uint64 head);
extern bool fpb_filter_excludes(FpbShared *shared, Page meta, uint64 head);

#endif							/* FPB_FILTER_H */
