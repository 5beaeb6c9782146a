/*-------------------------------------------------------------------------
 *
 * inspect/io_timing.h
 *	  How long the storage takes (inspect/io_timing.c).
 *
 *-------------------------------------------------------------------------
 */
#ifndef FPB_INSPECT_IO_TIMING_H
#define FPB_INSPECT_IO_TIMING_H

#include "storage/block.h"
#include "utils/relcache.h"

/* how many depths are tried: 1, 2, 4, ... reads in flight */
#define FPB_STORAGE_DEPTHS	8

/* times of a page, in microseconds; negative: not known */
typedef struct FpbStorage
{
	int			ndepths;		/* how many are known; 0: nearly all pages are
								 * in memory */
	double		read[FPB_STORAGE_DEPTHS];	/* with 2^i reads in flight */
	double		write_alone;	/* when it is on disk before the next one */
	double		write_many;		/* many at a time */
} FpbStorage;

extern void fpb_io_timing_measure(Relation rel, FpbStorage *storage);

#endif							/* FPB_INSPECT_IO_TIMING_H */
