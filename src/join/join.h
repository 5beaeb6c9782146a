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

/* an inner row that an outer row is joined with */
typedef struct FpbJoinPair
{
	struct FpbJoinPair *next;	/* of the same outer row */
	void	   *inner;			/* a HeapTuple or a MinimalTuple */
} FpbJoinPair;

/* a row of the outer side, with its search key */
typedef struct FpbJoinRow
{
	void	   *tuple;			/* a HeapTuple or a MinimalTuple */
	Bitmapset  *scans;			/* the inner scans that may have its key;
								 * NULL: all */
	bool		matched;		/* has it been joined with a row? */
	FpbJoinPair *first;			/* the inner rows kept for it */
	FpbJoinPair *last;
} FpbJoinRow;

/* how rows of a node are kept */
typedef struct FpbRowKeeper
{
	bool		as_heap_tuples; /* or as minimal tuples */
	TupleTableSlot *slot;		/* of the kind that expressions expect */
} FpbRowKeeper;

/* a search key, and the row whose it is */
typedef struct FpbJoinKey
{
	Datum		value;			/* of its first column; FpbOuterBatch.more has
								 * the others */
	int			row;
} FpbJoinKey;

/* a column of the search keys: how it is compared and kept */
typedef struct FpbBatchColumn
{
	SortSupportData sort;
	int16		typlen;
	bool		typbyval;
	char		typalign;
	Oid			type;
	ArrayType  *array;			/* of the keys asked for; or NULL */
} FpbBatchColumn;

/*
 * The keys that are equal to one another, and whose rows want inner rows: from
 * keys[begin] up to keys[end], without that.
 */
typedef struct FpbJoinGroup
{
	int			begin;
	int			end;
} FpbJoinGroup;

/* the groups that an inner scan is asked for, given in the same way */
typedef struct FpbScanGroups
{
	int			begin;
	int			end;
} FpbScanGroups;

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
	Datum	   *more;			/* for each row, the values of its key's
								 * columns but the first; NULL if there are
								 * none */
	FpbJoinGroup *groups;		/* one for each distinct key, in order; or, if
								 * rows name scans, one for each distinct key
								 * of each scan */
	int			ngroups;		/* distinct keys */
	FpbScanGroups *of_scan;		/* for each scan, its part of groups */
	int			nscans;
	bool		divided;		/* do rows name scans? */
	Size		size;			/* bytes of the rows and keys */

	FpbRowKeeper outer;
	FpbRowKeeper inner;			/* if joined rows are kept */

	int			ncolumns;		/* of a search key */
	FpbBatchColumn columns[INDEX_MAX_KEYS];
} FpbOuterBatch;

extern void fpb_outer_batch_init(FpbOuterBatch *batch, PlanState *outer, PlanState *inner,
								 Relation index, int first, int ncolumns, int nscans);
extern void fpb_outer_batch_reset(FpbOuterBatch *batch);
extern void fpb_outer_batch_add(FpbOuterBatch *batch, TupleTableSlot *slot,
								const Datum *key, const Bitmapset *scans);
extern void fpb_outer_batch_sort(FpbOuterBatch *batch);
extern bool fpb_outer_batch_arrays(FpbOuterBatch *batch, int scan, int group, Datum *arrays);
extern TupleTableSlot *fpb_outer_batch_row(FpbOuterBatch *batch, int row);
extern int	fpb_outer_batch_find(FpbOuterBatch *batch, int scan, const Datum *values, int group);
extern void *fpb_outer_batch_keep(FpbOuterBatch *batch, TupleTableSlot *slot);
extern void fpb_outer_batch_pair(FpbOuterBatch *batch, FpbJoinRow *row, void *inner);
extern TupleTableSlot *fpb_outer_batch_kept(FpbOuterBatch *batch, void *inner);
extern bool fpb_outer_batch_leave_out(FpbOuterBatch *batch, int group, int key);

extern const CustomScanMethods fpb_join_scan_methods;
extern int	fpb_join_batch_rows;

extern void fpb_join_init(void);

#endif							/* FPB_JOIN_JOIN_H */
