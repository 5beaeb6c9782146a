/*-------------------------------------------------------------------------
 *
 * key/code.c
 *	  The codes of single columns: types whose values are words, values made
 *	  codes and back.
 *
 * key/code.h tells what a code is.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "datatype/timestamp.h"
#include "port/pg_bswap.h"
#include "utils/float.h"
#include "utils/fmgroids.h"
#include "utils/inet.h"
#include "utils/timestamp.h"
#include "utils/uuid.h"

#include "key/code.h"

#define DATE_MIN	((int64) DATETIME_MIN_JULIAN - POSTGRES_EPOCH_JDATE)
#define DATE_MAX	((int64) DATE_END_JULIAN - POSTGRES_EPOCH_JDATE - 1)

/*
 * The server stores dates and timestamps that their types' input refuses,
 * because it checks the range before the last step, or not at all:
 *
 * - timestamp(n) rounds what is a fraction of a second less up to
 *	 END_TIMESTAMP.
 * - West of Greenwich, the date of the first instants is the day before the
 *	 first day; and that day can be cast to timestamp.
 * - In UTC, ALTER TABLE turns timestamps into timestamps with time zone
 *	 without looking at them.
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

/*
 * Are all values that have one code the same value?  Not of the floats, which
 * have two zeros and many NaNs.
 */
bool
fpb_word_is_code(const FpbWordType *type)
{
	return !type->is_float;
}

/* How many bits the type's raw codes have. */
int
fpb_word_bits(const FpbWordType *type)
{
	return type->bits;
}

/*
 * Is the column stored as its word type takes it?  It is not if the operator
 * class has a storage type of its own.
 */
bool
fpb_word_fits(const FpbWordType *type, Form_pg_attribute att)
{
	return att->attlen == type->typlen;
}

/*
 * Raw code of a float's bit pattern, which is sign and magnitude.  sign is the
 * sign bit.  The caller has replaced -0.0 by 0.0, and NaNs by the positive
 * quiet one, which has the greatest code.
 */
static inline uint64
float_code(uint64 pattern, uint64 sign)
{
	return (pattern & sign) ? ~pattern & (sign | (sign - 1)) : pattern | sign;
}

/*
 * The raw code of a value of a type of this kind.
 */
FpbCode
fpb_code_encode(FpbWordKind kind, Datum value)
{
	FpbCode		raw = {0, 0};

	switch (kind)
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
			raw.hi = (uint32) DatumGetInt32(value) ^ FPB_SIGN32;
			break;
		case FPB_KIND_INT8:
			raw.hi = (uint64) DatumGetInt64(value) ^ FPB_SIGN64;
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
					pattern &= ~(uint32) FPB_SIGN32;
				raw.hi = float_code(pattern, FPB_SIGN32);
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
					pattern &= ~FPB_SIGN64;
				raw.hi = float_code(pattern, FPB_SIGN64);
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
 * Write the value of a raw code of a type that is passed by reference.
 */
void
fpb_code_store(FpbWordKind kind, FpbCode raw, char *to)
{
	switch (kind)
	{
		case FPB_KIND_MACADDR:
			{
				macaddr    *mac = (macaddr *) to;

				mac->a = (unsigned char) (raw.hi >> 40);
				mac->b = (unsigned char) (raw.hi >> 32);
				mac->c = (unsigned char) (raw.hi >> 24);
				mac->d = (unsigned char) (raw.hi >> 16);
				mac->e = (unsigned char) (raw.hi >> 8);
				mac->f = (unsigned char) raw.hi;
				break;
			}
		case FPB_KIND_MACADDR8:
			{
				macaddr8   *mac = (macaddr8 *) to;

				mac->a = (unsigned char) (raw.hi >> 56);
				mac->b = (unsigned char) (raw.hi >> 48);
				mac->c = (unsigned char) (raw.hi >> 40);
				mac->d = (unsigned char) (raw.hi >> 32);
				mac->e = (unsigned char) (raw.hi >> 24);
				mac->f = (unsigned char) (raw.hi >> 16);
				mac->g = (unsigned char) (raw.hi >> 8);
				mac->h = (unsigned char) raw.hi;
				break;
			}
		case FPB_KIND_TID:
			ItemPointerSet((ItemPointer) to, (BlockNumber) (raw.hi >> 16),
						   (OffsetNumber) (raw.hi & 0xFFFF));
			break;
		case FPB_KIND_UUID:
			{
				uint64		hi = pg_hton64(raw.hi);
				uint64		lo = pg_hton64(raw.lo);

				memcpy(to, &hi, 8);
				memcpy(to + 8, &lo, 8);
				break;
			}
		default:
			pg_unreachable();	/* passed by value */
	}
}

/*
 * The same, to memory of its own.
 */
static Datum
store_palloced(FpbWordKind kind, FpbCode raw, Size size)
{
	char	   *to = palloc(size);

	fpb_code_store(kind, raw, to);
	return PointerGetDatum(to);
}

/*
 * The value of a raw code, palloc'd if by reference.  negative_zero chooses
 * between the zeros.
 *
 * This is the inverse of fpb_code_encode, but for the bits of a NaN.  So an
 * index-only scan returns what was stored, even if it is out of the range of
 * the type's input.
 */
Datum
fpb_code_decode(FpbWordKind kind, FpbCode raw, bool negative_zero)
{
	switch (kind)
	{
		case FPB_KIND_BOOL:
			return BoolGetDatum(raw.hi != 0);
		case FPB_KIND_CHAR:
			return CharGetDatum((char) (uint8) raw.hi);
		case FPB_KIND_INT2:
			return Int16GetDatum((int16) (uint16) (raw.hi ^ 0x8000));
		case FPB_KIND_INT4:
			return Int32GetDatum((int32) (uint32) (raw.hi ^ FPB_SIGN32));
		case FPB_KIND_INT8:
			return Int64GetDatum((int64) (raw.hi ^ FPB_SIGN64));
		case FPB_KIND_UINT4:
			/* the sign extension is that of fetch_att */
			return Int32GetDatum((int32) (uint32) raw.hi);
		case FPB_KIND_UINT8:
			return UInt64GetDatum(raw.hi);
		case FPB_KIND_FLOAT4:
			{
				uint32		pattern = (uint32) fpb_float_pattern(raw.hi, FPB_SIGN32, FPB_MINUS_INFINITY32);
				float4		f;

				if (pattern == 0 && negative_zero)
					pattern = (uint32) FPB_SIGN32;
				memcpy(&f, &pattern, sizeof(f));
				return Float4GetDatum(f);
			}
		case FPB_KIND_FLOAT8:
			{
				uint64		pattern = fpb_float_pattern(raw.hi, FPB_SIGN64, FPB_MINUS_INFINITY64);
				float8		f;

				if (pattern == 0 && negative_zero)
					pattern = FPB_SIGN64;
				memcpy(&f, &pattern, sizeof(f));
				return Float8GetDatum(f);
			}
		case FPB_KIND_MACADDR:
			return store_palloced(kind, raw, sizeof(macaddr));
		case FPB_KIND_MACADDR8:
			return store_palloced(kind, raw, sizeof(macaddr8));
		case FPB_KIND_TID:
			return store_palloced(kind, raw, sizeof(ItemPointerData));
		case FPB_KIND_UUID:
			return store_palloced(kind, raw, sizeof(pg_uuid_t));
	}
	pg_unreachable();
}

/*
 * The raw code of the value nearest to a raw code that may be no value's.  (A
 * search for a bound tries any code.  A fence without its tie may lack the
 * last bit of one.)  Finite integers become at most slack beyond the range of
 * the type's input.  Floats stay as they are, because fpb_code_decode gives
 * every code of theirs a value.
 *
 * The result is weakly monotone in the raw code.  It keeps values that could
 * not exist from comparators, some of which overflow or raise errors then.
 */
FpbCode
fpb_code_nearest(const FpbWordType *type, FpbCode raw, int64 slack)
{
	uint64		sign = type->kind == FPB_KIND_INT4 ? FPB_SIGN32 : FPB_SIGN64;
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
 * The code (of a uuid, its upper half) of a column's value, for heads.
 */
uint64
fpb_word_code(const FpbColumn *col, Datum value, bool isnull)
{
	return fpb_code_of_column(col, value, isnull).code.hi;
}

/*
 * Is this the code that NULL shares with a value?  The column is no uuid, of
 * which fpb_word_code returns only half.
 */
bool
fpb_word_is_shared(const FpbColumn *col, uint64 code)
{
	FpbCode		whole = {code, 0};

	Assert(col->width != 128);
	return fpb_code_is_shared(col, whole);
}
