/*-------------------------------------------------------------------------
 *
 * scan/scan_keys.h
 *	  What the scan keys mean: ranges of the index, and filters.
 *
 *-------------------------------------------------------------------------
 */
#ifndef FPB_SCAN_SCAN_KEYS_H
#define FPB_SCAN_SCAN_KEYS_H

#include "access/skey.h"

#include "key/code.h"
#include "key/key.h"
#include "page/layout.h"

typedef struct FpbQual FpbQual;

/*
 * A flag of scan keys "column = ANY (array)", of successive columns: the
 * arrays are the columns of a list of keys.  Element number n of each is of
 * key number n, and only such combinations are asked for.  (Without the flag
 * all are.)  The keys are in index order, no two equal, and of the columns'
 * own types, with no NULLs.
 *
 * If columns before these have no equalities, or too many values, the arrays
 * are filters, and the scan may return entries with other combinations.
 */
#define FPB_SK_LIST		(1 << 16)

/*
 * A column of the equality prefix, and the values that it may have.
 */
typedef struct FpbScanColumn
{
	FpbQual    *eq;				/* where the values are from; NULL: IS NULL */
	Datum	   *values;			/* in index order, no two equal; but for those
								 * of a list */
	int			nvalues;
	int64		weight;			/* ranges between one value and the next */
	int			nlisted;		/* the first column of a list: how many it
								 * has. Else 1 */
	bool		goes_along;		/* another column of a list: its value is that
								 * of the number that the column before has */
} FpbScanColumn;

/*
 * One end of an interval of a column's values, in index order: a code, which
 * is in the interval, or a value or NULL, which may be excluded.
 */
typedef struct FpbSetEnd
{
	bool		open;			/* there is no end; NULLs at this side are in */
	bool		excluded;
	bool		isnull;			/* of a value */
	Datum		value;			/* or this; not set if by code */
	FpbCoded	coded;
} FpbSetEnd;

/*
 * The values that the keys allow a column to have, or more than these: a set
 * of disjoint intervals in index order (scan/sets.c).
 */
typedef struct FpbColumnSet
{
	bool		by_code;		/* are values compared by their codes? */
	int			n;				/* intervals */
	FpbSetEnd  *low;			/* their ends */
	FpbSetEnd  *high;			/* may be the same as low: single values */
	FpbSetEnd	one[2];			/* of a single interval */
} FpbColumnSet;

/*
 * The scan keys as a sequence of disjoint ranges in index order, one for each
 * combination of values of the equality prefix, and the conditions that being
 * in a range does not imply.
 */
typedef struct FpbScanKeys
{
	FpbIndex   *ix;
	MemoryContext cxt;			/* lives as long as the scan */
	MemoryContext array_cxt;	/* arrays, until the next rescan; or NULL */

	/* of the keys' form: changes with their operators only */
	MemoryContext form_cxt;		/* comparison functions; or NULL */
	int			nquals;
	FpbQual    *quals;
	bool		simple;			/* "=" on each column of a prefix, no more */

	/* of this rescan */
	bool		prepared;
	uint64		generation;		/* how often they have been prepared */
	bool		empty;			/* nothing can satisfy the keys */
	int			nprefix;
	FpbScanColumn prefix[INDEX_MAX_KEYS];
	int64		nranges;
	FpbQual    *range_lower;	/* bounds of the column after the prefix */
	FpbQual    *range_upper;	/* (or of several, if a row comparison) */
	bool		range_not_null; /* that column is not to be NULL */
	int			nfilters;
	FpbQual   **filters;
	bool		nulls_only;		/* do entries without NULLs pass all of them? */
	int			nfiltered;		/* tuple indexes: they are about no column
								 * after so many */
	bool		later;			/* tuple indexes: nor about the first one? */
	int			nfields;		/* columns of words to be decoded for them, or
								 * 0: all */
	int			filtered;		/* a bit for each that they are about */
	FpbField	fields[FPB_MAX_WORD_COLUMNS];
	int			nfirst;			/* so many at first do not depend on low */
	bool		by_code;		/* is it the codes of these columns alone that
								 * decide? */
	uint64		least[FPB_MAX_WORD_COLUMNS];	/* then those from this one */
	uint64		greatest[FPB_MAX_WORD_COLUMNS]; /* to this one pass */

	/* leaps within a range: the columns after the prefix that direct them */
	bool		leaps;			/* are there any? */
	bool		sets_decide;	/* do the filters hold for whatever is in the
								 * sets of all these columns? */
	int			last_set;		/* the last of them */
	FpbColumnSet *sets;			/* of the key columns, those from nprefix to
								 * last_set are set; NULL until needed */

	/* word indexes: bounds after the prefix, the same for all ranges */
	int			nlower;			/* columns that have one, those of the prefix
								 * included */
	int			nupper;
	FpbColumnBound lower_bounds[FPB_MAX_WORD_COLUMNS];
	FpbColumnBound upper_bounds[FPB_MAX_WORD_COLUMNS];
} FpbScanKeys;

/*
 * One of the ranges: it holds the entries e with lower <= e < upper.  Each
 * user that goes over ranges has one of its own.  Its generation is 0 at
 * first, so that fpb_key_range_set makes it of the keys.
 */
typedef struct FpbKeyRange
{
	uint64		generation;		/* of the keys that it has been made of */
	int64		number;
	bool		has_lower;		/* else it begins with the first entry */
	bool		has_upper;		/* else it ends with the last entry */
	FpbSearchKey lower;
	FpbSearchKey upper;

	int			digits[INDEX_MAX_KEYS]; /* of each column of the prefix: the
										 * index of its value */

	/* word indexes: what the search keys are made of */
	FpbColumnBound lower_bounds[FPB_MAX_WORD_COLUMNS];
	FpbColumnBound upper_bounds[FPB_MAX_WORD_COLUMNS];
} FpbKeyRange;

/* scan/scan_keys.c */
extern void fpb_keys_init(FpbScanKeys *keys, FpbIndex *ix);
extern void fpb_keys_end(FpbScanKeys *keys);
extern void fpb_keys_reset(FpbScanKeys *keys);
extern bool fpb_keys_prepare(FpbScanKeys *keys, ScanKey scankeys, int nkeys);

/* scan/ranges.c */
extern void fpb_key_range_set(FpbScanKeys *keys, FpbKeyRange *range, int64 number);
extern int64 fpb_keys_seek(FpbScanKeys *keys, const FpbKey *key, bool pivot,
						   const FpbKeyRange *from);

/* where a scan leaps to from a place in a range (scan/leap.c) */
typedef enum FpbLeap
{
	FPB_LEAP_NOT,				/* nowhere: what comes next may satisfy the
								 * keys */
	FPB_LEAP_TO,				/* what comes next does not, before a place */
	FPB_LEAP_OVER				/* nothing of the range that comes next does */
} FpbLeap;

extern FpbLeap fpb_keys_leap(const FpbScanKeys *keys, const FpbKey *key, bool pivot,
							 bool forward, FpbTupleSpace *space, FpbSearchKey *place);

/* scan/filters.c */
extern int	fpb_keys_keep(FpbScanKeys *keys, FpbItem *items, int n);

#endif							/* FPB_SCAN_SCAN_KEYS_H */
