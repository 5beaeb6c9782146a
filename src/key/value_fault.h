/*-------------------------------------------------------------------------
 *
 * key/value_fault.h
 *	  Faults inside of values (key/value_fault.c).
 *
 *-------------------------------------------------------------------------
 */
#ifndef FPB_KEY_VALUE_FAULT_H
#define FPB_KEY_VALUE_FAULT_H

#include "access/tupdesc.h"

/* types whose functions follow lengths and counts inside of a value */
typedef enum FpbInsideKind
{
	FPB_INSIDE_NONE,			/* others, text among them */
	FPB_INSIDE_NUMERIC,
	FPB_INSIDE_BITS,			/* bit, varbit */
	FPB_INSIDE_INET,			/* inet, cidr */
	FPB_INSIDE_ARRAY,
	FPB_INSIDE_RANGE
} FpbInsideKind;

/* what the check of a column's values has to know of its type */
typedef struct FpbInside
{
	uint8		kind;			/* FpbInsideKind */
	uint8		item_kind;		/* of an array's elements, a range's bounds, */
	char		item_align;		/* their alignment, */
	int16		item_length;	/* and length, as pg_type has them */
	Oid			type;			/* of an array's elements; of a range itself */
	Oid			base_type;		/* of the elements, if their type is a domain */
} FpbInside;

/* Fill *inside for a column.  Reads catalogs. */
extern void fpb_inside_describe(Form_pg_attribute att, FpbInside *inside);

/*
 * The length, header included, from which on a value with a header of one byte
 * has nothing inside to be checked.  PG_UINT8_MAX: there always is something.
 */
extern uint8 fpb_inside_plain_from(const FpbInside *inside);

/*
 * The fault inside of a value whose own length is sound, or NULL: whatever
 * would lead comparators and output functions out of the value.
 */
extern const char *fpb_value_fault(const FpbInside *inside, const char *value);

#endif							/* FPB_KEY_VALUE_FAULT_H */
