/*-------------------------------------------------------------------------
 *
 * scan/qual.h
 *	  One scan key: what the files that make ranges and filters of the keys
 *	  share among themselves.
 *
 *-------------------------------------------------------------------------
 */
#ifndef FPB_SCAN_QUAL_H
#define FPB_SCAN_QUAL_H

#include "access/stratnum.h"

#include "scan/scan_keys.h"

typedef enum FpbQualKind
{
	FPB_QUAL_OP,				/* column op value */
	FPB_QUAL_ARRAY,				/* column op ANY (array) */
	FPB_QUAL_ROW,				/* (column, ...) op (value, ...) */
	FPB_QUAL_NULL,				/* column IS NULL */
	FPB_QUAL_NOT_NULL			/* column IS NOT NULL */
} FpbQualKind;

/* One scan key. */
struct FpbQual
{
	/* the key's form */
	int			flags;			/* without those of the value */
	AttrNumber	attno;
	StrategyNumber strategy;
	Oid			subtype;
	Oid			func;
	Oid			collation;
	FpbQualKind kind;
	int			col;			/* attno - 1 */

	/*
	 * what follows from it; with integer_cmp, the first three depend on the
	 * value as well
	 */
	Oid			type;			/* of the value, or of the array's elements */
	bool		own_type;		/* is that the column's type? */
	FmgrInfo   *cmp;			/* compares (column, value), or NULL */
	FmgrInfo   *value_cmp;		/* arrays: compares (value, value), or NULL */
	FmgrInfo   *zone_cmp;		/* asks for the time zone, so that values are
								 * translated (scan/timezone.c), or NULL */
	FmgrInfo   *integer_cmp;	/* tuple indexes: compares the column with
								 * integers of another type, which are taken
								 * as the column's own, or NULL */
	Oid			integer_type;	/* that type */
	bool		listed;			/* are its elements a column of a list? */

	/* of this rescan */
	ScanKey		key;
	bool		implied;		/* by being in a range: need not be checked */
	bool		implied_but_nulls;	/* rows: is it, if no column of the entry
									 * is NULL? */
	bool		in_set;			/* by being in its column's set? */
	Datum		value;			/* row: of its first member */
	bool		exact;			/* does value stand for the key's argument? */
	Datum		high;			/* if not: that is from value to this */
	Datum	   *elems;			/* arrays: without NULLs */
	int			nelems;
	bool		sorted;			/* in index order, no two equal; else they are
								 * as the key has them, good for a filter */
};

/*
 * Does "a op b" hold if sign is that of a against b?
 */
static inline bool
fpb_strategy_holds(StrategyNumber strategy, int sign)
{
	switch (strategy)
	{
		case BTLessStrategyNumber:
			return sign < 0;
		case BTLessEqualStrategyNumber:
			return sign <= 0;
		case BTEqualStrategyNumber:
			return sign == 0;
		case BTGreaterEqualStrategyNumber:
			return sign >= 0;
		default:
			return sign > 0;
	}
}

static inline bool
fpb_is_upward(StrategyNumber strategy)
{
	return strategy == BTGreaterEqualStrategyNumber ||
		strategy == BTGreaterStrategyNumber;
}

static inline bool
fpb_is_strict(StrategyNumber strategy)
{
	return strategy == BTLessStrategyNumber ||
		strategy == BTGreaterStrategyNumber;
}

static inline int
fpb_call_cmp(FmgrInfo *cmp, Oid collation, Datum a, Datum b)
{
	return DatumGetInt32(FunctionCall2Coll(cmp, collation, a, b));
}

/*
 * The value of a key.  If there is no exact one, a value beyond the key's
 * (beyond), or one before it.
 */
static inline Datum
fpb_bound_value(const FpbQual *q, bool beyond)
{
	return beyond && !q->exact ? q->high : q->value;
}

/*
 * Free what fpb_key_datums has allocated: the by-reference columns of words.
 */
static inline void
fpb_free_datums(const FpbIndex *ix, const Datum *values, const bool *isnull)
{
	if (!fpb_is_word(ix))
		return;
	for (int c = 0; c < ix->nkeyatts; c++)
		if (!isnull[c] && !TupleDescAttr(RelationGetDescr(ix->rel), c)->attbyval)
			pfree(DatumGetPointer(values[c]));
}

/* scan/key_form.c */
extern void fpb_analyse_keys(FpbScanKeys *keys, ScanKey scankeys, int nkeys);
extern void fpb_set_integer(FpbScanKeys *keys, FpbQual *q, Datum value);
extern FmgrInfo *fpb_pair_proc(FpbScanKeys *keys, const FpbQual *a,
							   const FpbQual *b);
extern MemoryContext fpb_array_context(FpbScanKeys *keys);

/* scan/arrays.c */
extern bool fpb_array_fetch(FpbScanKeys *keys, FpbQual *q);
extern bool fpb_array_has(const FpbColumn *col, FmgrInfo *cmp, Datum value,
						  const Datum *elems, int nelems);
extern bool fpb_array_match(const FpbScanKeys *keys, const FpbQual *q,
							Datum value);

/* scan/filters.c */
extern bool fpb_qual_match(const FpbScanKeys *keys, const FpbQual *q,
						   Datum value);

extern void fpb_note_filtered(FpbScanKeys *keys);

/* scan/equality.c */
extern FpbQual *fpb_better_equality(FpbQual *a, FpbQual *b);
extern bool fpb_add_equality(FpbScanKeys *keys, int colno, FpbQual *eq,
							 bool *open);
extern void fpb_add_null(FpbScanKeys *keys);

/* scan/bounds.c */
extern void fpb_add_bounds(FpbScanKeys *keys, int colno, bool not_null);

/* scan/sets.c */
extern bool fpb_find_sets(FpbScanKeys *keys);

/* scan/ranges.c */
extern void fpb_set_search_head(const FpbIndex *ix, FpbSearchKey *search);
extern void fpb_imply_row(FpbScanKeys *keys, bool upper);
extern bool fpb_word_range_end(FpbScanKeys *keys, bool upper);

#endif							/* FPB_SCAN_QUAL_H */
