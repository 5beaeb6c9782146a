/*-------------------------------------------------------------------------
 *
 * tune/measure.h
 *	  Operations on an index, many in one call, and how long they take.
 *
 *-------------------------------------------------------------------------
 */
#ifndef FPB_TUNE_MEASURE_H
#define FPB_TUNE_MEASURE_H

#include "portability/instr_time.h"

#include "key/key.h"

/* what can be measured */
typedef enum FpbWork
{
	FPB_WORK_LOOKUP,			/* look a random key up that there is */
	FPB_WORK_SCAN,				/* read entries in order, from a random key
								 * on; an operation is an entry */
	FPB_WORK_INSERT,			/* insert a random key that there isn't, for a
								 * row that there isn't either */
	FPB_WORK_DELETE				/* delete a random key, if it is still there */
} FpbWork;

/*
 * An index to be measured.  Each of its columns, of type int4, int8 or text,
 * has been filled from the numbers 2, 4, .. 2 * keys, as they are, or as the
 * MD5 of their digits.
 */
typedef struct FpbMeasured
{
	FpbIndex	ix;
	Relation	heap;
	int64		keys;
	uint64		seed;
	void		(*clock) (instr_time *now); /* what time is taken from; NULL:
											 * the processor's time of this
											 * process */
	bool	   *taken;			/* by number, the keys that have been
								 * inserted, if there are some already; NULL:
								 * none have */
	uint64		found;			/* depends on all that has been read, so that
								 * no compiler leaves it out */
} FpbMeasured;

extern void fpb_measure_prepare(Relation index);
extern double fpb_measure(FpbMeasured *measured, FpbWork work, int64 operations);

#endif							/* FPB_TUNE_MEASURE_H */
