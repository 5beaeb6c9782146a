/*-------------------------------------------------------------------------
 *
 * key/word.c
 *	  Keys that are integers: the codes of single columns and the words made
 *	  of them.
 *
 * A column's *raw code* is an unsigned integer of as many bits as its type
 * has, in the order of the opclass.  Its *code* is what is stored: the raw
 * code at the low end of a field of col->width bits, all bits of the field
 * inverted if the column is DESC.  Codes of a column compare as the index
 * orders its values.
 *
 * A field has no pattern to spare for NULL, so NULL has the code of its end of
 * the field: all ones for NULLS LAST, zero for NULLS FIRST.  That code is the
 * *shared* one, and a tie bit says what it stands for: the NULL has 1 in NULLS
 * LAST and 0 in NULLS FIRST, the value the other one.  (If the type is
 * narrower than its field, or float, there may be no such value.  Nothing
 * depends on that.)  All other codes have tie 0, but for the zero of a float
 * type: -0.0 has 0 and 0.0 has 1.  These two are one value to the opclass.  So
 * the order of a column is that of (code, tie), except that it may not tell
 * the zeros apart.
 *
 * One column: word = code, tie = tie.
 *
 * Several columns, in fields of as many bits as their types' codes have: the
 * order wanted is (code A, tie A if A is shared, code B, tie B if B is shared,
 * ...), and only after all of these the signs of the zeros, since entries
 * whose keys are equal must not have another key between them.  So these are
 * strung together, each code followed by its tie if it is shared.  As what
 * comes first tells where the next begins, strings compare as the columns do,
 * one after the other.  The string begins with the word's highest bit; zeros
 * fill it up, or it goes on in the tie bits, from the highest one down.  The
 * signs of zeros, to give back what was put in, are the lowest of the tie
 * bits, the last column's last.  So all keys that are equal to the opclass
 * have the same word and adjacent ties.
 *
 * There is room for both: of each column there is one bit more at most, and
 * codes alone fit the word.  So where a column has bits in the tie that are
 * not its sign, another one's tie has put them there, which then has no sign;
 * there are at most FPB_MAX_WORD_COLUMNS columns, and as many tie bits.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/stratnum.h"
#include "catalog/pg_type.h"
#include "datatype/timestamp.h"
#include "key/key.h"
#include "port/pg_bswap.h"
#include "utils/float.h"
#include "utils/fmgroids.h"
#include "utils/inet.h"
#include "utils/timestamp.h"
#include "utils/uuid.h"

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
 * A type whose values are words.  It is recognised by the comparator, which is
 * what defines the order, and not by the opclass.
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
	int64		min;			/* finite integers that the type's input
								 * takes, */
	int64		max;			/* if not all */
	int64		slack;			/* how far beyond others may be stored */
};

#define DATE_MIN	((int64) DATETIME_MIN_JULIAN - POSTGRES_EPOCH_JDATE)
#define DATE_MAX	((int64) DATE_END_JULIAN - POSTGRES_EPOCH_JDATE - 1)

/*
 * The server stores dates and timestamps that their own input refuses, because
 * it checks the range before the last step, or not at all.  timestamp(n) makes
 * END_TIMESTAMP of what is a fraction of a second less; the date of the first
 * instants is, west of Greenwich, the day before the first; that day can be
 * cast to timestamp; and ALTER TABLE makes timestamps with time zone of
 * timestamps, in UTC, without looking at them.
 */
#define DATE_SLACK	1
#define TIMESTAMP_SLACK	USECS_PER_DAY

static const FpbWordType word_types[] = {
	{F_BTBOOLCMP, BOOLOID, FPB_KIND_BOOL, 1, false, false, 1, 0, 0, 0},
	{F_BTCHARCMP, CHAROID, FPB_KIND_CHAR, 8, false, false, 1, 0, 0, 0},
	{F_BTINT2CMP, INT2OID, FPB_KIND_INT2, 16, false, false, 2,
	PG_INT16_MIN, PG_INT16_MAX, 0},
	{F_BTINT4CMP, INT4OID, FPB_KIND_INT4, 32, false, false, 4,
	PG_INT32_MIN, PG_INT32_MAX, 0},
	{F_BTINT8CMP, INT8OID, FPB_KIND_INT8, 64, false, false, 8,
	PG_INT64_MIN, PG_INT64_MAX, 0},
	{F_BTOIDCMP, OIDOID, FPB_KIND_UINT4, 32, false, false, 4, 0, 0, 0},
	{F_DATE_CMP, DATEOID, FPB_KIND_INT4, 32, false, true, 4,
	DATE_MIN, DATE_MAX, DATE_SLACK},
	{F_TIME_CMP, TIMEOID, FPB_KIND_INT8, 64, false, false, 8,
	0, USECS_PER_DAY, 0},
	{F_TIMESTAMP_CMP, TIMESTAMPOID, FPB_KIND_INT8, 64, false, true, 8,
	MIN_TIMESTAMP, END_TIMESTAMP - 1, TIMESTAMP_SLACK},
	{F_TIMESTAMPTZ_CMP, TIMESTAMPTZOID, FPB_KIND_INT8, 64, false, true, 8,
	MIN_TIMESTAMP, END_TIMESTAMP - 1, TIMESTAMP_SLACK},
	{F_CASH_CMP, MONEYOID, FPB_KIND_INT8, 64, false, false, 8,
	PG_INT64_MIN, PG_INT64_MAX, 0},
	{F_PG_LSN_CMP, PG_LSNOID, FPB_KIND_UINT8, 64, false, false, 8, 0, 0, 0},
	{F_XID8CMP, XID8OID, FPB_KIND_UINT8, 64, false, false, 8, 0, 0, 0},
#ifdef FPB_HAVE_OID8
	{F_BTOID8CMP, OID8OID, FPB_KIND_UINT8, 64, false, false, 8, 0, 0, 0},
#endif
	{F_BTFLOAT4CMP, FLOAT4OID, FPB_KIND_FLOAT4, 32, true, false, 4, 0, 0, 0},
	{F_BTFLOAT8CMP, FLOAT8OID, FPB_KIND_FLOAT8, 64, true, false, 8, 0, 0, 0},
	{F_MACADDR_CMP, MACADDROID, FPB_KIND_MACADDR, 48, false, false, 6, 0, 0, 0},
	{F_MACADDR8_CMP, MACADDR8OID, FPB_KIND_MACADDR8, 64, false, false, 8, 0, 0, 0},
	{F_BTTIDCMP, TIDOID, FPB_KIND_TID, 48, false, false, 6, 0, 0, 0},
	{F_UUID_CMP, UUIDOID, FPB_KIND_UUID, 128, false, false, UUID_LEN, 0, 0, 0},
};

#define SIGN32	UINT64CONST(0x80000000)
#define SIGN64	UINT64CONST(0x8000000000000000)

/* bit patterns of floats */
#define MINUS_INFINITY32	UINT64CONST(0xFF800000)
#define MINUS_INFINITY64	UINT64CONST(0xFFF0000000000000)

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

/*
 * Look up the word type of a column by its comparator and the type that its
 * opclass is for.  NULL if there is none.
 */
const FpbWordType *
fpb_word_type(Oid cmp_proc, Oid type)
{
	for (int i = 0; i < lengthof(word_types); i++)
	{
		if (word_types[i].cmp_proc == cmp_proc && word_types[i].type == type)
			return &word_types[i];
	}
	return NULL;
}

/* Bits of the type's raw codes, from which the key form is chosen. */
int
fpb_word_bits(const FpbWordType *type)
{
	return type->bits;
}

/*
 * Is the column stored as its word type takes it?  Domains are; this guards
 * against operator classes with a storage type of their own.
 */
bool
fpb_word_fits(const FpbWordType *type, Form_pg_attribute att)
{
	return att->attlen == type->typlen;
}

/* ------------------------------------------------------------------------
 * codes of one column
 * ------------------------------------------------------------------------
 */

/* All ones of a field (of the upper half of a uuid's). */
static inline uint64
field_mask(const FpbColumn *col)
{
	return col->width < 64 ? (UINT64CONST(1) << col->width) - 1 : PG_UINT64_MAX;
}

/* Raw code to code, or back: DESC columns are stored inverted. */
static inline FpbCode
apply_direction(const FpbColumn *col, FpbCode code)
{
	if (col->desc)
	{
		code.hi = ~code.hi & field_mask(col);
		if (col->width == 128)
			code.lo = ~code.lo;
	}
	return code;
}

/* Is it one of the codes with which NULLs are stored? */
static inline bool
is_shared(const FpbColumn *col, FpbCode code)
{
	uint64		end = col->nulls_first ? 0 : field_mask(col);

	return code.hi == end && (col->width != 128 || code.lo == end);
}

/* Is it the code that -0.0 and 0.0 have in common? */
static inline bool
is_zero(const FpbColumn *col, FpbCode code)
{
	FpbCode		zero;

	if (!col->word->is_float)
		return false;
	zero.hi = UINT64CONST(1) << (col->word->bits - 1);
	zero.lo = 0;
	return code.hi == apply_direction(col, zero).hi;
}

/* The tie of a value that is not a zero; NULL has the opposite. */
static inline uint32
value_tie(const FpbColumn *col, FpbCode code)
{
	return col->nulls_first && is_shared(col, code) ? 1 : 0;
}

/* Does (code, tie) stand for NULL? */
static inline bool
is_null(const FpbColumn *col, const FpbCoded *coded)
{
	return is_shared(col, coded->code) &&
		coded->tie == (col->nulls_first ? 0 : 1);
}

/*
 * Raw code of a float's bit pattern, which is sign and magnitude.  sign is the
 * sign bit.  The caller has replaced -0.0 by 0.0 and NaNs by the positive
 * quiet one, which so comes last.
 */
static inline uint64
float_code(uint64 pattern, uint64 sign)
{
	return (pattern & sign) ? ~pattern & (sign | (sign - 1)) : pattern | sign;
}

/*
 * The reverse.  Codes above the infinities all give NaNs, and those below
 * -infinity give that, not NaNs with a sign, which would be the greatest
 * values.
 */
static inline uint64
float_pattern(uint64 raw, uint64 sign, uint64 minus_infinity)
{
	uint64		pattern;

	if (raw & sign)
		return raw & ~sign;
	pattern = ~raw & (sign | (sign - 1));
	return Min(pattern, minus_infinity);
}

/*
 * Raw code of a value.
 */
static inline FpbCode
encode(const FpbWordType *type, Datum value)
{
	FpbCode		raw = {0, 0};

	switch ((FpbWordKind) type->kind)
	{
		case FPB_KIND_BOOL:
			raw.hi = DatumGetBool(value) ? 1 : 0;
			break;
		case FPB_KIND_CHAR:
			raw.hi = (uint8) DatumGetChar(value);
			break;
		case FPB_KIND_INT2:
			raw.hi = (uint16) DatumGetInt16(value) ^ 0x8000;
			break;
		case FPB_KIND_INT4:
			raw.hi = (uint32) DatumGetInt32(value) ^ SIGN32;
			break;
		case FPB_KIND_INT8:
			raw.hi = (uint64) DatumGetInt64(value) ^ SIGN64;
			break;
		case FPB_KIND_UINT4:
			raw.hi = DatumGetUInt32(value);
			break;
		case FPB_KIND_UINT8:
			raw.hi = DatumGetUInt64(value);
			break;
		case FPB_KIND_FLOAT4:
			{
				float4		f = DatumGetFloat4(value);
				uint32		pattern;

				if (isnan(f))
					f = get_float4_nan();
				else if (f == 0)
					f = 0;
				memcpy(&pattern, &f, sizeof(pattern));
				if (isnan(f))
					pattern &= ~(uint32) SIGN32;
				raw.hi = float_code(pattern, SIGN32);
				break;
			}
		case FPB_KIND_FLOAT8:
			{
				float8		f = DatumGetFloat8(value);
				uint64		pattern;

				if (isnan(f))
					f = get_float8_nan();
				else if (f == 0)
					f = 0;
				memcpy(&pattern, &f, sizeof(pattern));
				if (isnan(f))
					pattern &= ~SIGN64;
				raw.hi = float_code(pattern, SIGN64);
				break;
			}
		case FPB_KIND_MACADDR:
			{
				const macaddr *mac = DatumGetMacaddrP(value);

				raw.hi = (uint64) mac->a << 40 | (uint64) mac->b << 32 |
					(uint64) mac->c << 24 | (uint64) mac->d << 16 |
					(uint64) mac->e << 8 | (uint64) mac->f;
				break;
			}
		case FPB_KIND_MACADDR8:
			{
				const macaddr8 *mac = DatumGetMacaddr8P(value);

				raw.hi = (uint64) mac->a << 56 | (uint64) mac->b << 48 |
					(uint64) mac->c << 40 | (uint64) mac->d << 32 |
					(uint64) mac->e << 24 | (uint64) mac->f << 16 |
					(uint64) mac->g << 8 | (uint64) mac->h;
				break;
			}
		case FPB_KIND_TID:
			{
				ItemPointer tid = (ItemPointer) DatumGetPointer(value);

				raw.hi = (uint64) ItemPointerGetBlockNumberNoCheck(tid) << 16 |
					ItemPointerGetOffsetNumberNoCheck(tid);
				break;
			}
		case FPB_KIND_UUID:
			{
				const pg_uuid_t *uuid = DatumGetUUIDP(value);

				memcpy(&raw.hi, uuid->data, 8);
				memcpy(&raw.lo, uuid->data + 8, 8);
				raw.hi = pg_ntoh64(raw.hi);
				raw.lo = pg_ntoh64(raw.lo);
				break;
			}
	}
	return raw;
}

/*
 * The value of a raw code, palloc'd if by reference.  negative_zero chooses
 * between the zeros.
 *
 * This is the inverse of encode, whatever the value, but for the bits of a
 * NaN: what is stored is what an index-only scan gives back, be it in the
 * range of the type's input or not.
 */
static Datum
decode(const FpbWordType *type, FpbCode raw, bool negative_zero)
{
	switch ((FpbWordKind) type->kind)
	{
		case FPB_KIND_BOOL:
			return BoolGetDatum(raw.hi != 0);
		case FPB_KIND_CHAR:
			return CharGetDatum((char) (uint8) raw.hi);
		case FPB_KIND_INT2:
			return Int16GetDatum((int16) (uint16) (raw.hi ^ 0x8000));
		case FPB_KIND_INT4:
			return Int32GetDatum((int32) (uint32) (raw.hi ^ SIGN32));
		case FPB_KIND_INT8:
			return Int64GetDatum((int64) (raw.hi ^ SIGN64));
		case FPB_KIND_UINT4:
			/* the sign extension is that of fetch_att */
			return Int32GetDatum((int32) (uint32) raw.hi);
		case FPB_KIND_UINT8:
			return UInt64GetDatum(raw.hi);
		case FPB_KIND_FLOAT4:
			{
				uint32		pattern = (uint32) float_pattern(raw.hi, SIGN32, MINUS_INFINITY32);
				float4		f;

				if (pattern == 0 && negative_zero)
					pattern = (uint32) SIGN32;
				memcpy(&f, &pattern, sizeof(f));
				return Float4GetDatum(f);
			}
		case FPB_KIND_FLOAT8:
			{
				uint64		pattern = float_pattern(raw.hi, SIGN64, MINUS_INFINITY64);
				float8		f;

				if (pattern == 0 && negative_zero)
					pattern = SIGN64;
				memcpy(&f, &pattern, sizeof(f));
				return Float8GetDatum(f);
			}
		case FPB_KIND_MACADDR:
			{
				macaddr    *mac = palloc(sizeof(macaddr));

				mac->a = (unsigned char) (raw.hi >> 40);
				mac->b = (unsigned char) (raw.hi >> 32);
				mac->c = (unsigned char) (raw.hi >> 24);
				mac->d = (unsigned char) (raw.hi >> 16);
				mac->e = (unsigned char) (raw.hi >> 8);
				mac->f = (unsigned char) raw.hi;
				return MacaddrPGetDatum(mac);
			}
		case FPB_KIND_MACADDR8:
			{
				macaddr8   *mac = palloc(sizeof(macaddr8));

				mac->a = (unsigned char) (raw.hi >> 56);
				mac->b = (unsigned char) (raw.hi >> 48);
				mac->c = (unsigned char) (raw.hi >> 40);
				mac->d = (unsigned char) (raw.hi >> 32);
				mac->e = (unsigned char) (raw.hi >> 24);
				mac->f = (unsigned char) (raw.hi >> 16);
				mac->g = (unsigned char) (raw.hi >> 8);
				mac->h = (unsigned char) raw.hi;
				return Macaddr8PGetDatum(mac);
			}
		case FPB_KIND_TID:
			{
				ItemPointer tid = palloc(sizeof(ItemPointerData));

				ItemPointerSet(tid, (BlockNumber) (raw.hi >> 16),
							   (OffsetNumber) (raw.hi & 0xFFFF));
				return PointerGetDatum(tid);
			}
		case FPB_KIND_UUID:
			{
				pg_uuid_t  *uuid = palloc(sizeof(pg_uuid_t));
				uint64		hi = pg_hton64(raw.hi);
				uint64		lo = pg_hton64(raw.lo);

				memcpy(uuid->data, &hi, 8);
				memcpy(uuid->data + 8, &lo, 8);
				return UUIDPGetDatum(uuid);
			}
	}
	pg_unreachable();
}

/*
 * The raw code of the nearest value to a raw code that need not be anyone's: a
 * search for a bound tries any, and a fence without its tie may lack the last
 * bit of one.  Finite integers are taken to be slack beyond the range of the
 * type's input at most.  Floats need nothing done: decode gives what is beyond
 * their infinities a value.
 *
 * The value is weakly monotone in the raw code, and no comparator meets one
 * that could not exist: some overflow or raise errors then.
 */
static FpbCode
nearest_raw(const FpbWordType *type, FpbCode raw, int64 slack)
{
	uint64		sign = type->kind == FPB_KIND_INT4 ? SIGN32 : SIGN64;
	int64		i;

	if (type->kind != FPB_KIND_INT4 && type->kind != FPB_KIND_INT8)
		return raw;
	if (type->has_infinity && (raw.hi == 0 || raw.hi == (sign | (sign - 1))))
		return raw;
	i = (int64) (raw.hi - sign);
	i = Min(Max(i, type->min - slack), type->max + slack);
	raw.hi = (uint64) i + sign;
	return raw;
}

/*
 * Code and tie of a column's value, which may be NULL.
 */
static inline FpbCoded
encode_column(const FpbColumn *col, Datum value, bool isnull)
{
	FpbCoded	coded;

	if (unlikely(isnull))
	{
		coded.code.hi = col->nulls_first ? 0 : field_mask(col);
		coded.code.lo = col->width == 128 ? coded.code.hi : 0;
		coded.tie = col->nulls_first ? 0 : 1;
		return coded;
	}

	coded.code = apply_direction(col, encode(col->word, value));
	coded.tie = value_tie(col, coded.code);
	if (is_zero(col, coded.code))
	{
		if (col->word->kind == FPB_KIND_FLOAT4)
			coded.tie = signbit(DatumGetFloat4(value)) ? 0 : 1;
		else
			coded.tie = signbit(DatumGetFloat8(value)) ? 0 : 1;
	}
	return coded;
}

/*
 * The code (of a uuid, its upper half) with which a column takes part in the
 * head of a tuple.
 */
uint64
fpb_word_code(const FpbColumn *col, Datum value, bool isnull)
{
	return encode_column(col, value, isnull).code.hi;
}

/*
 * Is this the code that NULL shares with a value?  Not for uuid, of which the
 * caller has half a code.
 */
bool
fpb_word_is_shared(const FpbColumn *col, uint64 code)
{
	FpbCode		whole = {code, 0};

	Assert(col->width != 128);
	return is_shared(col, whole);
}

/* ------------------------------------------------------------------------
 * words of all key columns
 * ------------------------------------------------------------------------
 */

/*
 * A string of bits, of which the first is the highest of the first word; the
 * others are zero until they are written.
 */
typedef struct FpbBits
{
	uint64		words[3];
	int			at;				/* the next one to write, or to read */
} FpbBits;

static inline void
put_bits(FpbBits *bits, uint64 value, int n)
{
	uint64	   *word = &bits->words[bits->at / 64];
	int			room = 64 - bits->at % 64;

	if (n <= room)
		*word |= value << (room - n);
	else
	{
		*word |= value >> (n - room);
		word[1] |= value << (64 - (n - room));
	}
	bits->at += n;
}

static inline uint64
get_bits(FpbBits *bits, int n)
{
	const uint64 *word = &bits->words[bits->at / 64];
	int			skip = bits->at % 64;
	uint64		value = *word << skip;

	if (n > 64 - skip)
		value |= word[1] >> (64 - skip);
	bits->at += n;
	return value >> (64 - n);
}

/* Bits of the form's words. */
static inline int
word_bits(const FpbIndex *ix)
{
	return ix->form == FPB_WORD4 ? 32 : ix->form == FPB_WORD8 ? 64 : 128;
}

/*
 * Put the columns of a key together: head, low and tie as the file's header
 * comment has it.
 */
static inline void
compose(const FpbIndex *ix, const FpbCoded *coded,
		uint64 *head, uint64 *low, uint32 *tie)
{
	FpbBits		bits = {{0, 0, 0}, 0};
	uint32		signs = 0;

	if (ix->nkeyatts == 1)
	{
		*head = ix->form == FPB_WORD4 ? coded[0].code.hi << 32 : coded[0].code.hi;
		*low = coded[0].code.lo;
		*tie = coded[0].tie;
		return;
	}

	for (int i = 0; i < ix->nkeyatts; i++)
	{
		const FpbColumn *col = &ix->cols[i];

		put_bits(&bits, coded[i].code.hi, col->width);
		if (unlikely(is_shared(col, coded[i].code)))
			put_bits(&bits, coded[i].tie, 1);
		else if (is_zero(col, coded[i].code))
			signs = signs << 1 | coded[i].tie;
	}

	*head = bits.words[0];
	*low = ix->form == FPB_WORD16 ? bits.words[1] : 0;
	if (ix->form == FPB_WORD4)
		*head &= ~(uint64) PG_UINT32_MAX;
	bits.at = word_bits(ix);
	*tie = (uint32) get_bits(&bits, FPB_TAIL_TIE_BITS) | signs;
}

/*
 * Take the columns of a key apart: the inverse of compose.  A damaged key
 * gives codes that no value has, which decode to something all the same.
 */
static inline void
split(const FpbIndex *ix, const FpbKey *key, FpbCoded *coded)
{
	uint32		tie = fpb_tail_tie(key->tail) & ((1 << FPB_TAIL_TIE_BITS) - 1);
	FpbBits		bits = {{key->head, key->low, 0}, 0};

	if (ix->nkeyatts == 1)
	{
		coded[0].code.hi = ix->form == FPB_WORD4 ? key->head >> 32 : key->head;
		coded[0].code.lo = key->low;
		coded[0].tie = tie & 1;
		return;
	}

	bits.at = word_bits(ix);
	put_bits(&bits, tie, FPB_TAIL_TIE_BITS);
	bits.at = 0;
	for (int i = 0; i < ix->nkeyatts; i++)
	{
		const FpbColumn *col = &ix->cols[i];

		coded[i].code.hi = get_bits(&bits, col->width);
		coded[i].code.lo = 0;
		coded[i].tie = is_shared(col, coded[i].code) ? (uint32) get_bits(&bits, 1) : 0;
	}
	for (int i = ix->nkeyatts - 1; i >= 0; i--)
	{
		if (is_zero(&ix->cols[i], coded[i].code))
		{
			coded[i].tie = tie & 1;
			tie >>= 1;
		}
	}
}

/*
 * Make the key of a row in a word index.  The caller has checked that the TID
 * fits a tail.
 */
void
fpb_word_form(const FpbIndex *ix, const Datum *values, const bool *isnull,
			  ItemPointer tid, FpbKey *key)
{
	FpbCoded	coded[FPB_MAX_WORD_COLUMNS];
	uint32		tie;

	for (int i = 0; i < ix->nkeyatts; i++)
		coded[i] = encode_column(&ix->cols[i], values[i], isnull[i]);
	compose(ix, coded, &key->head, &key->low, &tie);
	key->tail = fpb_tail_pack(tie, tid);
	key->tuple = NULL;
}

/*
 * Is a word of the index its column's own integer but for the bits in *flip,
 * which is set?  Only those of single columns of 32 and 64 bits are; the
 * shared code, which may be NULL, is not plain.
 */
bool
fpb_word_is_plain(const FpbIndex *ix, uint64 *flip)
{
	const FpbColumn *col = &ix->cols[0];
	FpbCode		zero = {0, 0};

	if (ix->nkeyatts != 1)
		return false;
	switch ((FpbWordKind) col->word->kind)
	{
		case FPB_KIND_INT4:
			*flip = apply_direction(col, zero).hi ^ SIGN32;
			return true;
		case FPB_KIND_INT8:
			*flip = apply_direction(col, zero).hi ^ SIGN64;
			return true;
		case FPB_KIND_UINT4:
		case FPB_KIND_UINT8:
			*flip = apply_direction(col, zero).hi;
			return true;
		default:
			return false;
	}
}

/*
 * The values of a word key; with nearest, those of the nearest codes that have
 * one: strictly in the range of the types' input, or slack beyond.
 */
static inline void
key_values(const FpbIndex *ix, const FpbKey *key, bool nearest, bool strict,
		   Datum *values, bool *isnull)
{
	FpbCoded	coded[FPB_MAX_WORD_COLUMNS];

	split(ix, key, coded);
	for (int i = 0; i < ix->nkeyatts; i++)
	{
		const FpbColumn *col = &ix->cols[i];
		FpbCode		raw = apply_direction(col, coded[i].code);

		isnull[i] = is_null(col, &coded[i]);
		if (nearest)
			raw = nearest_raw(col->word, raw, strict ? 0 : col->word->slack);
		values[i] = isnull[i] ? (Datum) 0 :
			decode(col->word, raw, coded[i].tie == 0);
	}
}

/*
 * The values of an entry's word, exactly as they were put in but for the bits
 * of a NaN, which no operator shows.  By-reference ones are palloc'd.
 */
void
fpb_word_datums(const FpbIndex *ix, const FpbKey *key,
				Datum *values, bool *isnull)
{
	key_values(ix, key, false, false, values, isnull);
}

/*
 * Values for the word of a fence, which without its tie may be nobody's: no
 * greater in the index's order than those of any key behind the fence, and fit
 * for comparators.  With shown, they are near those, and fit for the types'
 * output, which refuses some that can be stored.
 */
void
fpb_word_fence_datums(const FpbIndex *ix, const FpbKey *key, bool shown,
					  Datum *values, bool *isnull)
{
	key_values(ix, key, true, shown, values, isnull);
}

/* Is a column of a word key NULL?  Spares decoding the others. */
bool
fpb_word_has_null(const FpbIndex *ix, const FpbKey *key)
{
	FpbCoded	coded[FPB_MAX_WORD_COLUMNS];

	split(ix, key, coded);
	for (int i = 0; i < ix->nkeyatts; i++)
	{
		if (is_null(&ix->cols[i], &coded[i]))
			return true;
	}
	return false;
}

/*
 * Are two word keys equal to the opclasses?  They are if their words and ties
 * are, and else only if all they differ in are the signs of zeros.
 */
bool
fpb_word_equal(const FpbIndex *ix, const FpbKey *a, const FpbKey *b)
{
	FpbCoded	ca[FPB_MAX_WORD_COLUMNS],
				cb[FPB_MAX_WORD_COLUMNS];

	if (a->head != b->head || a->low != b->low)
		return false;
	if (fpb_tail_tie(a->tail) == fpb_tail_tie(b->tail))
		return true;

	split(ix, a, ca);
	split(ix, b, cb);
	for (int i = 0; i < ix->nkeyatts; i++)
	{
		if (ca[i].code.hi != cb[i].code.hi)
			return false;
		if (ca[i].tie != cb[i].tie && !is_zero(&ix->cols[i], ca[i].code))
			return false;
	}
	return true;
}

/* ------------------------------------------------------------------------
 * bounds of scans
 * ------------------------------------------------------------------------
 */

static inline bool
code_is_less(FpbCode a, FpbCode b)
{
	return a.hi != b.hi ? a.hi < b.hi : a.lo < b.lo;
}

/* The greatest raw code of a type. */
static FpbCode
max_raw(const FpbWordType *type)
{
	FpbCode		max;

	max.hi = type->bits >= 64 ? PG_UINT64_MAX :
		(UINT64CONST(1) << type->bits) - 1;
	max.lo = type->bits == 128 ? PG_UINT64_MAX : 0;
	return max;
}

/* Step to the next raw code; the caller knows that there is one. */
static FpbCode
next_raw(const FpbWordType *type, FpbCode raw)
{
	if (type->bits < 128)
		raw.hi++;
	else if (++raw.lo == 0)
		raw.hi++;
	return raw;
}

/* Step back to the previous raw code; false if there is none. */
static bool
previous_raw(const FpbWordType *type, FpbCode *raw)
{
	if (raw->hi == 0 && raw->lo == 0)
		return false;
	if (type->bits < 128)
		raw->hi--;
	else if (raw->lo-- == 0)
		raw->hi--;
	return true;
}

/*
 * Sign of the value nearest to a raw code against a value of another type.
 */
static int
compare_raw(const FpbColumn *col, FpbCode raw, int64 slack, Datum value,
			FmgrInfo *cmp)
{
	Datum		nearest = decode(col->word, nearest_raw(col->word, raw, slack),
								 false);

	return DatumGetInt32(FunctionCall2Coll(cmp, col->collation, nearest, value));
}

/*
 * The last raw code whose nearest value, within slack, is < value (inclusive:
 * <= value): found bit by bit, in no more comparisons than the code has bits,
 * plus one.  False if there is none.
 */
static bool
search_codes(const FpbColumn *col, int64 slack, Datum value, FmgrInfo *cmp,
			 bool inclusive, FpbCode *last)
{
	int			limit = inclusive ? 0 : -1;
	FpbCode		raw = {0, 0};

	if (compare_raw(col, raw, slack, value, cmp) > limit)
		return false;

	for (int bit = col->word->bits - 1; bit >= 0; bit--)
	{
		FpbCode		search = raw;

		if (col->word->bits < 128)
			search.hi |= UINT64CONST(1) << bit;
		else if (bit >= 64)
			search.hi |= UINT64CONST(1) << (bit - 64);
		else
			search.lo |= UINT64CONST(1) << bit;
		if (compare_raw(col, search, slack, value, cmp) <= limit)
			raw = search;
	}
	*last = raw;
	return true;
}

/*
 * The last raw code whose value is < value (inclusive: <= value) by a
 * comparator of other types than the column's own.  False if there is none.
 *
 * The comparator meets what is beyond the range of the type's input only if
 * the value is finite and not within that range itself: it may be somebody's
 * who does not expect such values.
 */
static bool
search_cut(const FpbColumn *col, Datum value, FmgrInfo *cmp, bool inclusive,
		   FpbCode *last)
{
	const FpbWordType *type = col->word;
	FpbCode		max = max_raw(type);
	FpbCode		next;

	if (!search_codes(col, 0, value, cmp, inclusive, last))
		return false;
	if (type->slack == 0 || last->hi == max.hi)
		return true;

	/* have the codes on both sides of the cut been compared themselves? */
	next = next_raw(type, *last);
	if (nearest_raw(type, *last, 0).hi == last->hi &&
		nearest_raw(type, next, 0).hi == next.hi)
		return true;
	/* what is finite lies on one side of an infinity */
	if (compare_raw(col, last->hi == 0 ? *last : max, 0, value, cmp) == 0)
		return true;
	return search_codes(col, type->slack, value, cmp, inclusive, last);
}

/*
 * If the comparator is the server's one of two integer types, get value as an
 * int64.  (An operator family may have another for the same types.)
 */
static bool
integer_value(const FpbWordType *type, Datum value, FmgrInfo *cmp, int64 *i)
{
	if (type->type != INT2OID && type->type != INT4OID && type->type != INT8OID)
		return false;

	switch (cmp->fn_oid)
	{
		case F_BTINT42CMP:
		case F_BTINT82CMP:
			*i = DatumGetInt16(value);
			return true;
		case F_BTINT24CMP:
		case F_BTINT84CMP:
			*i = DatumGetInt32(value);
			return true;
		case F_BTINT28CMP:
		case F_BTINT48CMP:
			*i = DatumGetInt64(value);
			return true;
		default:
			return false;
	}
}

/*
 * The last raw code whose value is < value (inclusive: <= value).  False if
 * there is none.
 */
static bool
find_cut(const FpbColumn *col, Datum value, Oid value_type, FmgrInfo *cmp,
		 bool inclusive, FpbCode *last)
{
	const FpbWordType *type = col->word;
	int64		i;

	if (!OidIsValid(value_type) || value_type == type->type)
		*last = encode(type, value);
	else if (cmp == NULL)
		elog(ERROR, "no comparator of types %u and %u given",
			 type->type, value_type);
	else if (integer_value(type, value, cmp, &i))
	{
		if (i < type->min)
			return false;
		*last = max_raw(type);
		if (i > type->max)
			return true;
		/* type->min has raw code 0 */
		last->hi = (uint64) i - (uint64) type->min;
	}
	else
		return search_cut(col, value, cmp, inclusive, last);

	return inclusive || previous_raw(type, last);
}

/* Set a bound to the values of a code. */
static void
set_value_bound(const FpbColumn *col, FpbCode code, bool upper,
				FpbColumnBound *bound)
{
	bound->code = code.hi;
	bound->low = code.lo;
	bound->isnull = false;
	if (is_zero(col, code))
		bound->tie = upper ? 1 : 0;
	else
		bound->tie = value_tie(col, code);
}

/*
 * Set *bound to one end of the values of a column that satisfy "column op
 * value", for strategies <, <=, =, >=, >: in index order the lower, or the
 * upper (of a DESC column, > and >= have upper ends); it is within them.  cmp
 * compares (column type, value_type), NULL for the column's own type.  If the
 * condition leaves the end that was asked for open, the bound is that of all
 * values that are not NULL.  False if no value of the column satisfies the
 * condition.
 */
bool
fpb_word_column_bound(const FpbColumn *col, Datum value, Oid value_type,
					  FmgrInfo *cmp, StrategyNumber strategy, bool upper,
					  FpbColumnBound *bound)
{
	const FpbWordType *type = col->word;
	FpbCode		max = max_raw(type);
	FpbCode		first = {0, 0};
	FpbCode		last = max;
	FpbCode		cut;
	FpbCode		end;

	/* [first, last] becomes the raw codes that satisfy the condition */
	switch (strategy)
	{
		case BTLessStrategyNumber:
		case BTLessEqualStrategyNumber:
			if (!find_cut(col, value, value_type, cmp,
						  strategy == BTLessEqualStrategyNumber, &last))
				return false;
			break;

		case BTEqualStrategyNumber:
			if (!find_cut(col, value, value_type, cmp, true, &last))
				return false;
			if (find_cut(col, value, value_type, cmp, false, &cut))
			{
				if (!code_is_less(cut, last))
					return false;
				first = next_raw(type, cut);
			}
			break;

		case BTGreaterEqualStrategyNumber:
		case BTGreaterStrategyNumber:
			if (find_cut(col, value, value_type, cmp,
						 strategy == BTGreaterStrategyNumber, &cut))
			{
				if (!code_is_less(cut, max))
					return false;
				first = next_raw(type, cut);
			}
			break;

		default:
			elog(ERROR, "unrecognized strategy number: %d", strategy);
	}

	end = upper != col->desc ? last : first;

	/*
	 * A value of another type has been compared with codes that no value has,
	 * too: what they decode to is a neighbour's value.  The bound is that
	 * value's own code.  Else "=" could have two bounds of different codes,
	 * and the next column is not in order between these.
	 */
	if (OidIsValid(value_type) && value_type != type->type)
		end = encode(type, decode(type, nearest_raw(type, end, type->slack), false));
	set_value_bound(col, apply_direction(col, end), upper, bound);
	return true;
}

/*
 * Set *bound to the lower or upper end of a column's NULLs (null), or of its
 * values that are not NULL.
 */
void
fpb_word_null_bound(const FpbColumn *col, bool null, bool upper,
					FpbColumnBound *bound)
{
	if (null)
	{
		FpbCoded	coded = encode_column(col, (Datum) 0, true);

		bound->code = coded.code.hi;
		bound->low = coded.code.lo;
		bound->tie = coded.tie;
		bound->isnull = true;
	}
	else
	{
		FpbCode		raw = {0, 0};

		if (upper != col->desc)
			raw = max_raw(col->word);
		set_value_bound(col, apply_direction(col, raw), upper, bound);
	}
}

/*
 * Make *search key the end of the key range in which the first ncols columns
 * are at bounds[]: the lower one, which is <= each of its entries, or the
 * upper one, which is > each of them.  Columns without a bound are filled with
 * their ends, NULLs included, and as compose keeps the order of the columns,
 * so is the end of the range that of the word.  An upper end's tail is the
 * last that the tie admits: no TID has it, since its block number is invalid.
 */
void
fpb_word_search_key(const FpbIndex *ix, const FpbColumnBound *bounds, int ncols,
					bool upper, FpbSearchKey *search)
{
	FpbCoded	coded[FPB_MAX_WORD_COLUMNS];
	uint32		tie;

	for (int i = 0; i < ix->nkeyatts; i++)
	{
		if (i < ncols)
		{
			coded[i].code.hi = bounds[i].code;
			coded[i].code.lo = bounds[i].low;
			coded[i].tie = bounds[i].tie;
		}
		else
		{
			const FpbColumn *col = &ix->cols[i];

			coded[i].code.hi = upper ? field_mask(col) : 0;
			coded[i].code.lo = upper && col->width == 128 ? PG_UINT64_MAX : 0;
			coded[i].tie = upper && !col->nulls_first ? 1 : 0;
		}
	}

	compose(ix, coded, &search->head, &search->low, &tie);
	search->tail = (uint64) tie << FPB_TAIL_TIE_SHIFT;
	if (upper)
		search->tail |= FPB_TAIL_TID_MASK;
	search->has_head = true;
	search->ncols = 0;
	search->on_equal = 0;
}

/* fpb_search_keys_equal for words: all the signs that zeros may have. */
void
fpb_word_search_keys_equal(const FpbIndex *ix, const FpbKey *key, bool upper,
						   FpbSearchKey *search)
{
	FpbCoded	coded[FPB_MAX_WORD_COLUMNS];
	FpbColumnBound bounds[FPB_MAX_WORD_COLUMNS];

	split(ix, key, coded);
	for (int i = 0; i < ix->nkeyatts; i++)
	{
		const FpbColumn *col = &ix->cols[i];

		bounds[i].code = coded[i].code.hi;
		bounds[i].low = coded[i].code.lo;
		bounds[i].isnull = is_null(col, &coded[i]);
		bounds[i].tie = coded[i].tie;
		if (is_zero(col, coded[i].code))
			bounds[i].tie = upper ? 1 : 0;
	}
	fpb_word_search_key(ix, bounds, ix->nkeyatts, upper, search);
}
