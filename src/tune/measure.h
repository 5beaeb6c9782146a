/*-------------------------------------------------------------------------
 *
 * tune/measure.h
 *	  How long operations on an index take (tune/measure.c).
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
	FPB_WORK_LOOKUP,			/* look up a random key of the index */
	FPB_WORK_SCAN,				/* read entries in order, from a random key
								 * on; an operation is an entry */
	FPB_WORK_INSERT,			/* insert a random new key, for a row that
								 * does not exist */
	FPB_WORK_DELETE				/* delete a random key, if it still is there */
} FpbWork;

/*
 * An index to be measured.  Its keys are the numbers 2, 4, .. 2 * keys.  Each
 * column has the number itself, of type int4 or int8, or the MD5 of its digits
 * as text.
 */
typedef struct FpbMeasured
{
	FpbIndex	ix;
	Relation	heap;
	int64		keys;
	uint64		seed;
	void		(*clock) (instr_time *now); /* the clock; NULL: processor time
											 * of this process */
	bool	   *taken;			/* which keys have been inserted, by number;
								 * NULL: none */
	uint64		found;			/* depends on all that has been read, so that
								 * the compiler does not leave it out */
} FpbMeasured;

extern void fpb_measure_prepare(Relation index);
extern double fpb_measure(FpbMeasured *measured, FpbWork work, int64 operations);

#endif							/* FPB_TUNE_MEASURE_H */
