/*-------------------------------------------------------------------------
 *
 * key/code.h
 *	  The codes of single columns, which words are made of (key/code.c).
 *
 * A column's *raw code* is an unsigned integer of as many bits as its type
 * has, in the order of the opclass.  Its *code* is what is stored: the raw
 * code at the low end of a field of col->width bits, all bits of the field
 * inverted if the column is DESC.  Codes of a column compare as the index
 * orders its values.
 *
 * A field has no pattern to spare for NULL, so NULL has the code of its end of
 * the field: all ones for NULLS LAST, zero for NULLS FIRST.  That code is the
 * *shared* one, and a tie bit says what it stands for.  The NULL has tie 1 in
 * NULLS LAST and 0 in NULLS FIRST, the value the other one.  (If the type is
 * narrower than its field, or float, there may be no such value.  Nothing
 * depends on that.)
 *
 * All other codes have tie 0, except the zero of a float type: -0.0 has 0 and
 * 0.0 has 1.  These two are one value to the opclass.  So the order of a
 * column is that of (code, tie), except that it may not tell the zeros apart.
 *
 *-------------------------------------------------------------------------
 */
#ifndef FPB_KEY_CODE_H
#define FPB_KEY_CODE_H

#include <math.h>

#include "port/pg_bswap.h"

#include "key/key.h"

/* how the values of a type are turned into raw codes and back */
typedef enum FpbWordKind
{
	FPB_KIND_BOOL,
	FPB_KIND_CHAR,				/* "char" compares as an unsigned byte */
	FPB_KIND_INT2,
	FPB_KIND_INT4,
	FPB_KIND_INT8,
	FPB_KIND_UINT4,
	FPB_KIND_UINT8,
	FPB_KIND_FLOAT4,
	FPB_KIND_FLOAT8,
	FPB_KIND_MACADDR,
	FPB_KIND_MACADDR8,
	FPB_KIND_TID,
	FPB_KIND_UUID
} FpbWordKind;

/*
 * A type whose values are words.  It is recognised by the comparator, because
 * that defines the order, and not by the opclass.
 */
struct FpbWordType
{
	Oid			cmp_proc;
	Oid			type;
	uint8		kind;			/* FpbWordKind */
	uint8		bits;			/* of a raw code */
	bool		is_float;		/* has two zeros */
	bool		has_infinity;	/* the least and greatest integers are
								 * infinite */
	int16		typlen;
	int64		min;			/* if integers: the least and the greatest */
	int64		max;			/* finite one that the type's input takes */
	int64		slack;			/* how far beyond these one may be stored */
};

#define FPB_SIGN32	UINT64CONST(0x80000000)
#define FPB_SIGN64	UINT64CONST(0x8000000000000000)

/* A raw code, or a code.  lo is used by types of 128 bits only. */
typedef struct FpbCode
{
	uint64		hi;				/* all of it if it has 64 bits or less */
	uint64		lo;
} FpbCode;

/* a column's code and tie */
typedef struct FpbCoded
{
	FpbCode		code;
	uint32		tie;
} FpbCoded;

/* A field of all ones (of a uuid: its upper half). */
static inline uint64
fpb_code_mask(const FpbColumn *col)
{
	return col->width < 64 ? (UINT64CONST(1) << col->width) - 1 : PG_UINT64_MAX;
}

/* Turn a raw code into a code, or back: DESC inverts. */
static inline FpbCode
fpb_code_direct(const FpbColumn *col, FpbCode code)
{
	if (col->desc)
	{
		code.hi = ~code.hi & fpb_code_mask(col);
		if (col->width == 128)
			code.lo = ~code.lo;
	}
	return code;
}

/* Is this the code that NULL shares with a value? */
static inline bool
fpb_code_is_shared(const FpbColumn *col, FpbCode code)
{
	uint64		end = col->nulls_first ? 0 : fpb_code_mask(col);

	return code.hi == end && (col->width != 128 || code.lo == end);
}

/* Is this the code that -0.0 and 0.0 share? */
static inline bool
fpb_code_is_zero(const FpbColumn *col, FpbCode code)
{
	FpbCode		zero;

	if (!col->word->is_float)
		return false;
	zero.hi = UINT64CONST(1) << (col->word->bits - 1);
	zero.lo = 0;
	return code.hi == fpb_code_direct(col, zero).hi;
}

/* The tie of a value that is no zero of a float type. */
static inline uint32
fpb_code_tie(const FpbColumn *col, FpbCode code)
{
	return col->nulls_first && fpb_code_is_shared(col, code) ? 1 : 0;
}

/* Does (code, tie) stand for NULL? */
static inline bool
fpb_code_is_null(const FpbColumn *col, const FpbCoded *coded)
{
	return fpb_code_is_shared(col, coded->code) &&
		coded->tie == (col->nulls_first ? 0 : 1);
}

/* the bits of -infinity */
#define FPB_MINUS_INFINITY32	UINT64CONST(0xFF800000)
#define FPB_MINUS_INFINITY64	UINT64CONST(0xFFF0000000000000)

/*
 * The bits of a float whose raw code this is.  Codes above infinity give NaNs.
 * Codes below -infinity give -infinity, because NaNs with a sign would be the
 * greatest values.
 */
static inline uint64
fpb_float_pattern(uint64 raw, uint64 sign, uint64 minus_infinity)
{
	uint64		pattern;

	if (raw & sign)
		return raw & ~sign;
	pattern = ~raw & (sign | (sign - 1));
	return Min(pattern, minus_infinity);
}

extern FpbCode fpb_code_encode(FpbWordKind kind, Datum value);
extern void fpb_code_store(FpbWordKind kind, FpbCode raw, char *to);
extern Datum fpb_code_decode(FpbWordKind kind, FpbCode raw, bool negative_zero);
extern FpbCode fpb_code_nearest(const FpbWordType *type, FpbCode raw, int64 slack);

/*
 * Code and tie of a column's value, which may be NULL.
 */
static inline FpbCoded
fpb_code_of_column(const FpbColumn *col, Datum value, bool isnull)
{
	FpbCoded	coded;

	if (unlikely(isnull))
	{
		coded.code.hi = col->nulls_first ? 0 : fpb_code_mask(col);
		coded.code.lo = col->width == 128 ? coded.code.hi : 0;
		coded.tie = col->nulls_first ? 0 : 1;
		return coded;
	}

	coded.code = fpb_code_direct(col, fpb_code_encode(col->word->kind, value));
	coded.tie = fpb_code_tie(col, coded.code);
	if (fpb_code_is_zero(col, coded.code))
	{
		if (col->word->kind == FPB_KIND_FLOAT4)
			coded.tie = signbit(DatumGetFloat4(value)) ? 0 : 1;
		else
			coded.tie = signbit(DatumGetFloat8(value)) ? 0 : 1;
	}
	return coded;
}

/*
 * The code of a value that is not NULL.
 */
static inline FpbCode
fpb_code_of_value(const FpbColumn *col, Datum value)
{
	return fpb_code_direct(col, fpb_code_encode(col->word->kind, value));
}

/*
 * The bytes of a code, in their order: as many as the column's field has.
 * Writes sixteen.
 */
static inline void
fpb_code_bytes(const FpbColumn *col, FpbCode code, char *to)
{
	uint64		hi = pg_hton64(col->width == 32 ? code.hi << 32 : code.hi);
	uint64		lo = pg_hton64(code.lo);

	memcpy(to, &hi, sizeof(hi));
	memcpy(to + sizeof(hi), &lo, sizeof(lo));
}

/*
 * Sign of two codes of a column, whose ties are those of shared codes alone.
 */
static inline int
fpb_compare_coded(const FpbCoded *a, const FpbCoded *b)
{
	if (a->code.hi != b->code.hi)
		return a->code.hi < b->code.hi ? -1 : 1;
	if (a->code.lo != b->code.lo)
		return a->code.lo < b->code.lo ? -1 : 1;
	return (int) a->tie - (int) b->tie;
}

/* how the values of a column are got of codes */
typedef enum FpbFieldForm
{
	FPB_FIELD_BOOL,				/* the code but for the bits in flip */
	FPB_FIELD_CHAR,
	FPB_FIELD_INT2,
	FPB_FIELD_INT4,
	FPB_FIELD_INT8,
	FPB_FIELD_FLOAT4,			/* fpb_float_pattern of that */
	FPB_FIELD_FLOAT8,
	FPB_FIELD_OTHER				/* fpb_code_decode knows */
} FpbFieldForm;

/*
 * A column's field in the words of an index, where no column before it has a
 * tie in the string (key/word.c).
 */
typedef struct FpbField
{
	bool		in_low;			/* does it begin in the word's lower half? */
	uint8		before;			/* bits of that half before it */
	uint8		unused;			/* 64, less its own bits */
	uint8		upper;			/* its bits in the upper half, if it goes on
								 * in the lower one; else 0 */
	uint8		form;			/* FpbFieldForm */
	uint64		flip;
	uint64		shared;			/* the code that NULL shares */
	uint64		zero;			/* the code of the zeros of a float type;
								 * others: the shared one */
} FpbField;

/*
 * The code in a field.
 */
static inline uint64
fpb_field_code(const FpbKey *key, const FpbField *field)
{
	uint64		value = (field->in_low ? key->low : key->head) << field->before;

	if (field->upper != 0)
		value |= key->low >> field->upper;
	return value >> field->unused;
}

/*
 * Does that depend on the word's lower half?
 */
static inline bool
fpb_field_needs_low(const FpbField *field)
{
	return field->in_low || field->upper != 0;
}

/*
 * Is a code one that comes with a tie or a sign?  If no column has such a
 * code, nothing but fields is strung together, and all ties are 0.
 */
static inline bool
fpb_field_has_tie(const FpbField *field, uint64 code)
{
	return code == field->shared || code == field->zero;
}

extern void fpb_word_fields(const FpbIndex *ix, FpbField *fields);

/* words of all key columns (key/word.c) */
extern void fpb_word_compose(const FpbIndex *ix, const FpbCoded *coded,
							 uint64 *head, uint64 *low, uint32 *tie);
extern void fpb_word_split(const FpbIndex *ix, const FpbKey *key, FpbCoded *coded);

#endif							/* FPB_KEY_CODE_H */
