/*-------------------------------------------------------------------------
 *
 * key/value_head.c
 *	  The heads of single values that are no words.
 *
 * The head of a value is a number of 64 bits, weakly monotone in the order of
 * its opclass: a < b gives head(a) <= head(b), and equal values have equal
 * heads.  Pages store its upper half; CREATE INDEX sorts by all of it.  Each
 * function below tells why its heads are monotone.
 *
 * The heads are part of the on-disk format.  So nothing here may depend on
 * what can change while an index exists: a locale, or the server's release.
 * The exception is ICU's sort key: key/collation.c.
 *
 * A value may come from a damaged page.  Its own length is sound, but what is
 * inside may not be.  No function reads beyond the value.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <sys/socket.h>

#include "datatype/timestamp.h"
#include "utils/builtins.h"
#include "utils/date.h"
#include "utils/inet.h"
#include "utils/timestamp.h"

#include "key/code.h"
#include "key/tuple.h"

/*
 * numeric.c keeps its format to itself.  The first 16 bits tell what a value
 * is.  A short value has its weight there, too, and others have it in the next
 * 16.  Digits of base 10,000 follow.
 */
#define NUMERIC_KIND		0xC000
#define NUMERIC_NEGATIVE	0x4000
#define NUMERIC_SHORT		0x8000
#define NUMERIC_SPECIAL		0xC000
#define NUMERIC_SHORT_NEGATIVE	0x2000
#define NUMERIC_SHORT_BELOW	0x0040	/* is the weight negative? */
#define NUMERIC_SHORT_WEIGHT	0x003F
#define NUMERIC_SPECIAL_KIND	0xF000
#define NUMERIC_INFINITY	0xD000
#define NUMERIC_MINUS_INFINITY	0xF000
#define NUMERIC_BASE		10000
#define NUMERIC_BASE_DIGITS	4	/* decimal digits */

/* how the head of a numeric has its size: see numeric_size */
#define NUMERIC_DECADES		62	/* that are told apart, */
#define NUMERIC_LEAST_DECADE	(-20)	/* and the least of them */
#define NUMERIC_MANTISSA_BITS	53	/* 9 * 10^15 need them */
#define NUMERIC_ZERO		FPB_SIGN64
#define NUMERIC_LARGEST		(FPB_SIGN64 - 1)

/* heads tell days apart that are not farther than this from zero */
#define INTERVAL_DAYS		32768

/* One of the 16-bit numbers of a numeric, which need not be aligned. */
static inline uint16
numeric_part(const char *data, int i)
{
	uint16		part;

	memcpy(&part, data + i * sizeof(part), sizeof(part));
	return part;
}

/*
 * The decimal digits of a number, from the first that is not 0 on, as an
 * integer of 16 digits, less 10^15.  Only those in the first four digits of
 * base 10,000 count; zeros stand for the others.  *decade becomes the exponent
 * of the first decimal digit.  The first of the ndigits digits is not 0.
 *
 * Of two positive numbers, that of the higher decade is the greater.  In one
 * decade the same number of decimal digits count, and the first that differs
 * decides.  So (decade, mantissa) is weakly monotone.
 */
static uint64
numeric_mantissa(const char *digits, int ndigits, int weight, int *decade)
{
	uint64		mantissa = 0;
	uint64		first = numeric_part(digits, 0);

	for (int i = 0; i < 16 / NUMERIC_BASE_DIGITS; i++)
		mantissa = mantissa * NUMERIC_BASE +
			(i < ndigits ? Min(numeric_part(digits, i), NUMERIC_BASE - 1) : 0);

	*decade = weight * NUMERIC_BASE_DIGITS + NUMERIC_BASE_DIGITS - 1;
	for (; first < NUMERIC_BASE / 10; first *= 10)
	{
		mantissa *= 10;
		(*decade)--;
	}
	return mantissa - UINT64CONST(1000000000000000);
}

/*
 * How large a number is, its sign aside: from 0 to NUMERIC_LARGEST.
 *
 * The upper bits have the decade, if it is one of those told apart.  What is
 * smaller counts as 0, and what is larger as NUMERIC_LARGEST.  Both keep the
 * size weakly monotone in (decade, mantissa).
 *
 * Equal numbers may have zeros before and after their digits.  Those before
 * are skipped, so both have the same decade and mantissa.
 */
static uint64
numeric_size(const char *digits, int ndigits, int weight)
{
	uint64		mantissa;
	int			decade;

	while (ndigits > 0 && numeric_part(digits, 0) == 0)
	{
		digits += sizeof(uint16);
		ndigits--;
		weight--;
	}
	if (ndigits == 0)
		return 0;
	mantissa = numeric_mantissa(digits, ndigits, weight, &decade);
	decade -= NUMERIC_LEAST_DECADE;
	if (decade < 0)
		return 0;
	if (decade >= NUMERIC_DECADES)
		return NUMERIC_LARGEST;
	return ((uint64) (decade + 1) << NUMERIC_MANTISSA_BITS | mantissa) << 4;
}

/*
 * The head of a numeric.
 *
 * A number greater than zero has its size above the middle, a smaller one its
 * size below it.  Infinities have the ends of that, which are not beyond any
 * number.  NaN is the greatest value.
 */
static uint64
numeric_head(const char *data, Size length)
{
	int			nparts = length / sizeof(uint16);
	uint16		header;
	int			weight;
	int			before;
	bool		negative;
	uint64		size;

	if (nparts == 0)
		return 0;				/* damaged */
	header = numeric_part(data, 0);
	if ((header & NUMERIC_KIND) == NUMERIC_SPECIAL)
	{
		switch (header & NUMERIC_SPECIAL_KIND)
		{
			case NUMERIC_INFINITY:
				return NUMERIC_ZERO + NUMERIC_LARGEST;
			case NUMERIC_MINUS_INFINITY:
				return NUMERIC_ZERO - NUMERIC_LARGEST;
			default:
				return PG_UINT64_MAX;
		}
	}

	if ((header & NUMERIC_KIND) == NUMERIC_SHORT)
	{
		negative = (header & NUMERIC_SHORT_NEGATIVE) != 0;
		weight = header & NUMERIC_SHORT_WEIGHT;
		if (header & NUMERIC_SHORT_BELOW)
			weight -= NUMERIC_SHORT_WEIGHT + 1;
		before = 1;
	}
	else
	{
		if (nparts == 1)
			return 0;			/* damaged */
		negative = (header & NUMERIC_KIND) == NUMERIC_NEGATIVE;
		weight = (int16) numeric_part(data, 1);
		before = 2;
	}
	size = numeric_size(data + before * sizeof(uint16), nparts - before, weight);
	return negative ? NUMERIC_ZERO - size : NUMERIC_ZERO + size;
}

/*
 * The head of an inet or a cidr: a bit for IPv6, and the first bits of the
 * network, those behind its prefix being 0.
 *
 * IPv4 comes first, as in network_cmp.  That compares the bits of both that
 * are in the shorter prefix.  If one differs, so do the networks, first there.
 * If none does, the shorter prefix comes first; its network goes on with
 * zeros, so it is not greater.  With equal prefixes the networks are equal, as
 * are the heads.
 */
static uint64
inet_head(const char *data, Size length)
{
	const inet_struct *inet = (const inet_struct *) data;
	uint64		network;

	if (length < offsetof(inet_struct, ipaddr))
		return 0;				/* damaged */
	network = fpb_bytes_head((const char *) inet->ipaddr,
							 length - offsetof(inet_struct, ipaddr));
	if (inet->family != PGSQL_AF_INET6)
		network &= ~(uint64) PG_UINT32_MAX;
	if (inet->bits == 0)
		network = 0;
	else if (inet->bits < 64)
		network &= ~(PG_UINT64_MAX >> inet->bits);
	return network >> 1 | (inet->family == PGSQL_AF_INET6 ? FPB_SIGN64 : 0);
}

/*
 * The head of an interval: whole days, then the time that is left.
 *
 * interval_cmp takes a month for 30 days and a day for 24 hours, and compares
 * what it has then.  So does (days, time), as the time is from 0 to less than
 * a day.  Days that are too far from 0 have the head of one end, as infinite
 * intervals have, whose fields are the least or greatest integers.
 */
static uint64
interval_head(const Interval *interval)
{
	int64		days = (int64) interval->month * DAYS_PER_MONTH + interval->day +
		interval->time / USECS_PER_DAY;
	int64		time = interval->time % USECS_PER_DAY;

	if (time < 0)
	{
		time += USECS_PER_DAY;
		days--;
	}
	if (days < -INTERVAL_DAYS)
		return 0;
	if (days >= INTERVAL_DAYS)
		return PG_UINT64_MAX;
	/* a day has less than 2^37 microseconds */
	return (uint64) (days + INTERVAL_DAYS) << 48 | (uint64) time << 11;
}

/*
 * The head of a time with time zone: its time in UTC.  timetz_cmp compares
 * that first.
 *
 * That is from -16 to 40 hours.  -2^36 microseconds are less than the one, and
 * 2^38 more are more than the other.  What is beyond these, in a damaged page,
 * counts as the nearest of them.
 */
static uint64
timetz_head(const TimeTzADT *timetz)
{
	int64		least = -(INT64CONST(1) << 36);
	int64		most = (INT64CONST(1) << 38) - 1;
	int64		utc = timetz->zone * USECS_PER_SEC;

	/* a damaged time must not overflow */
	utc += Min(Max(timetz->time, least), most);
	return (uint64) Min(Max(utc - least, 0), most) << 26;
}

/*
 * The head of a varlena.
 *
 * The first bytes, of the value or of its sort key, are what memcmp looks at
 * first.  Such heads are taken only where the opclass's order is that of
 * memcmp, then of length (between strings that have one sort key, the opclass
 * decides, and their heads are equal): the byte that differs first is in the
 * heads, or both heads are equal.  Zeros after the end of the shorter value
 * are not greater than bytes of the longer one.
 */
static uint64
varlena_head(FpbHeadKind kind, Oid collation, Datum value)
{
	struct varlena *v = PG_DETOAST_DATUM_PACKED(value);
	char	   *data = VARDATA_ANY(v);
	Size		length = VARSIZE_ANY_EXHDR(v);
	char		sort_key[sizeof(uint64)];
	uint64		head;

	if (kind == FPB_HEAD_NUMERIC)
		head = numeric_head(data, length);
	else if (kind == FPB_HEAD_INET)
		head = inet_head(data, length);
	else
	{
		if (kind == FPB_HEAD_BPCHAR || kind == FPB_HEAD_BPCHAR_SORT_KEY)
			length = bpchartruelen(data, length);
		if (fpb_head_is_sort_key(kind))
		{
			data = sort_key;
			length = fpb_sort_key(collation, VARDATA_ANY(v), length, sort_key,
								  sizeof(sort_key));
		}
		head = fpb_bytes_head(data, length);
	}
	if ((Pointer) v != DatumGetPointer(value))
		pfree(v);
	return head;
}

/*
 * Are heads of this kind the first bytes of a value, and is their order that
 * of memcmp, then of length?
 */
bool
fpb_head_is_bytes(FpbHeadKind kind)
{
	switch (kind)
	{
		case FPB_HEAD_BYTES:
		case FPB_HEAD_BPCHAR:
		case FPB_HEAD_CSTRING:
			return true;
		case FPB_HEAD_NONE:
		case FPB_HEAD_WORD:
		case FPB_HEAD_PAIR:
		case FPB_HEAD_UUID:
		case FPB_HEAD_NUMERIC:
		case FPB_HEAD_INET:
		case FPB_HEAD_INTERVAL:
		case FPB_HEAD_TIMETZ:
		case FPB_HEAD_SORT_KEY:
		case FPB_HEAD_BPCHAR_SORT_KEY:
			return false;
	}
	pg_unreachable();
}

/*
 * Are heads of this kind the first bytes of what ICU sorts values by?  Another
 * version of ICU may make others.
 */
bool
fpb_head_is_sort_key(FpbHeadKind kind)
{
	return kind == FPB_HEAD_SORT_KEY || kind == FPB_HEAD_BPCHAR_SORT_KEY;
}

/*
 * The bytes whose order is that of the values, of a kind for which heads are
 * bytes; of a sort key, the first ones, so many as are wanted.  *length
 * becomes their number.  *copy becomes NULL, or what has been palloc'd for a
 * sort key, to decompress the value, or to fetch it from a TOAST table.
 */
const char *
fpb_value_bytes(const FpbColumn *col, Datum value, Size want, Size *length, void **copy)
{
	FpbHeadKind kind = col->head;
	struct varlena *v;
	char	   *bytes;

	*copy = NULL;
	if (kind == FPB_HEAD_CSTRING)
	{
		/* all that is compared; a damaged name need not end with a zero */
		*length = strnlen(DatumGetCString(value), NAMEDATALEN);
		return DatumGetCString(value);
	}
	v = PG_DETOAST_DATUM_PACKED(value);
	if ((Pointer) v != DatumGetPointer(value))
		*copy = v;
	bytes = VARDATA_ANY(v);
	*length = VARSIZE_ANY_EXHDR(v);
	if (kind == FPB_HEAD_BPCHAR || kind == FPB_HEAD_BPCHAR_SORT_KEY)
		*length = bpchartruelen(bytes, *length);
	if (fpb_head_is_sort_key(kind))
	{
		char	   *sort_key = palloc(want);

		*length = fpb_sort_key(col->collation, bytes, *length, sort_key, want);
		if (*copy != NULL)
			pfree(*copy);
		*copy = bytes = sort_key;
	}
	return bytes;
}

/*
 * The head of a value, before it is inverted for DESC.  Decompresses the value
 * and fetches it from a TOAST table if need be.
 */
uint64
fpb_value_head(FpbHeadKind kind, Oid collation, Datum value)
{
	switch (kind)
	{
		case FPB_HEAD_CSTRING:
			{
				const char *s = DatumGetCString(value);

				return fpb_bytes_head(s, strnlen(s, sizeof(uint64)));
			}
		case FPB_HEAD_INTERVAL:
			return interval_head(DatumGetIntervalP(value));
		case FPB_HEAD_TIMETZ:
			return timetz_head(DatumGetTimeTzADTP(value));
		default:
			return varlena_head(kind, collation, value);
	}
}
