/*-------------------------------------------------------------------------
 *
 * join/join.h
 *	  Nested loops that ask an index for many keys at once.
 *
 *-------------------------------------------------------------------------
 */
#ifndef FPB_JOIN_JOIN_H
#define FPB_JOIN_JOIN_H

#include "nodes/execnodes.h"
#include "nodes/extensible.h"
#include "utils/array.h"
#include "utils/sortsupport.h"

#include "base/running.h"

/* a row of the outer side, with its search key */
typedef struct FpbJoinRow
{
	void	   *tuple;			/* a HeapTuple or a MinimalTuple */
	bool		matched;		/* has it been joined with a row? */
} FpbJoinRow;

/* a search key, and the row whose it is */
typedef struct FpbJoinKey
{
	Datum		value;
	int			row;
} FpbJoinKey;

/*
 * The keys that are equal to one another, and whose rows want inner rows: from
 * keys[begin] up to keys[end], without that.
 */
typedef struct FpbJoinGroup
{
	int			begin;
	int			end;
} FpbJoinGroup;

/*
 * Rows of the outer side, and their search keys in the order of the index.
 * Rows whose key is NULL, or can't be in the index, have none.
 */
typedef struct FpbOuterBatch
{
	MemoryContext cxt;			/* what lasts as long as the rows */
	FpbJoinRow *rows;
	int			nrows;
	int			room;			/* for so many rows and keys */
	FpbJoinKey *keys;
	int			nkeys;
	FpbJoinGroup *groups;		/* one for each distinct key */
	int			ngroups;
	ArrayType  *array;			/* of the keys asked for; or NULL */
	Size		size;			/* bytes of the rows and keys */

	/* how rows are kept */
	bool		as_heap_tuples; /* or as minimal tuples */
	TupleTableSlot *slot;		/* of the kind that expressions expect */

	/* how keys are compared */
	SortSupportData sort;
	int16		typlen;
	bool		typbyval;
	char		typalign;
	Oid			type;
} FpbOuterBatch;

extern void fpb_outer_batch_init(FpbOuterBatch *batch, PlanState *outer, Relation index,
								 int column);
extern void fpb_outer_batch_reset(FpbOuterBatch *batch);
extern void fpb_outer_batch_add(FpbOuterBatch *batch, TupleTableSlot *slot, Datum key,
								bool has_key);
extern void fpb_outer_batch_sort(FpbOuterBatch *batch);
extern ArrayType *fpb_outer_batch_array(FpbOuterBatch *batch, int group);
extern TupleTableSlot *fpb_outer_batch_row(FpbOuterBatch *batch, int row);
extern int	fpb_outer_batch_find(FpbOuterBatch *batch, Datum value, int group);
extern bool fpb_outer_batch_leave_out(FpbOuterBatch *batch, int group, int key);

extern const CustomScanMethods fpb_join_scan_methods;
extern int	fpb_join_batch_rows;

extern void fpb_join_init(void);

#endif							/* FPB_JOIN_JOIN_H */
