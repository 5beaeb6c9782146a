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

/* reads in flight that are tried: 1, 2, 4, ... */
#define FPB_STORAGE_DEPTHS	8

/* times of a page, in microseconds; negative: not known */
typedef struct FpbStorage
{
	int			ndepths;		/* 0: there was next to nothing to be read */
	double		read[FPB_STORAGE_DEPTHS];	/* with 2^i reads in flight */
	double		write_alone;	/* and on the disk before the next one */
	double		write_many;		/* many at a time */
} FpbStorage;

extern void fpb_io_timing_measure(Relation rel, FpbStorage *storage);

#endif							/* FPB_INSPECT_IO_TIMING_H */
