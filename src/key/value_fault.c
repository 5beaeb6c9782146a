/*-------------------------------------------------------------------------
 *
 * key/value_fault.c
 *	  Faults inside of a value that came from disk.
 *
 * The server's functions trust the values they are given.  Those of text and
 * of types of fixed length look only at the value's bytes.  But a numeric or
 * an array has lengths and counts inside.  In a damaged value, these lead the
 * functions out of the value, and so out of memory.  The functions here follow
 * them first, for types where that takes little.
 *
 * Other types with an inside are not checked: jsonb, records, multiranges, the
 * types of text search, and those of extensions.  Nor is any compressed value.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <sys/socket.h>

#include "access/tupmacs.h"
#include "catalog/pg_type.h"
#include "utils/array.h"
#include "utils/inet.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rangetypes.h"
#include "utils/varbit.h"

#include "key/value_fault.h"

/* numeric.c keeps its format to itself: a first word with this bit is all */
#define NUMERIC_SHORT_HEADER	0x8000
#define NUMERIC_LONG_HEADER		(2 * sizeof(uint16))

/* bytes of an inet before the address */
#define INET_HEADER				offsetof(inet_struct, ipaddr)

/*
 * The kind of a type that has no items.
 */
static FpbInsideKind
simple_kind(Oid type)
{
	switch (type)
	{
		case NUMERICOID:
			return FPB_INSIDE_NUMERIC;
		case BITOID:
		case VARBITOID:
			return FPB_INSIDE_BITS;
		case INETOID:
		case CIDROID:
			return FPB_INSIDE_INET;
		default:
			return FPB_INSIDE_NONE;
	}
}

/*
 * Fill *inside for a column.  Reads catalogs, so the caller holds no buffer
 * lock.
 */
void
fpb_inside_describe(Form_pg_attribute att, FpbInside *inside)
{
	Oid			type;
	Oid			item;
	bool		by_value;

	memset(inside, 0, sizeof(FpbInside));
	if (att->attlen != -1)
		return;
	type = getBaseType(att->atttypid);
	inside->kind = simple_kind(type);
	if (inside->kind != FPB_INSIDE_NONE)
		return;

	item = get_element_type(type);
	if (OidIsValid(item))
	{
		inside->kind = FPB_INSIDE_ARRAY;
		inside->type = item;

		/* PL/Python names the base type in an array of a domain */
		inside->base_type = getBaseType(item);
	}
	else
	{
		item = get_range_subtype(type);
		if (!OidIsValid(item))
			return;
		inside->kind = FPB_INSIDE_RANGE;
		inside->type = type;
	}
	inside->item_kind = simple_kind(getBaseType(item));
	get_typlenbyvalalign(item, &inside->item_length, &by_value, &inside->item_align);
}

/*
 * The length, header included, from which on a value with a header of one byte
 * has nothing inside to be checked.  PG_UINT8_MAX: there always is something.
 */
uint8
fpb_inside_plain_from(const FpbInside *inside)
{
	switch (inside->kind)
	{
		case FPB_INSIDE_NONE:
			return VARHDRSZ_SHORT;
		case FPB_INSIDE_NUMERIC:
			return VARHDRSZ_SHORT + NUMERIC_LONG_HEADER;
		default:
			return PG_UINT8_MAX;
	}
}

/* an integer that need not be aligned */
static inline uint32
read32(const char *at)
{
	uint32		value;

	memcpy(&value, at, sizeof(value));
	return value;
}

/*
 * The fault in the size bytes, without the header, of a value that has no
 * items, or NULL.
 */
static const char *
simple_fault(FpbInsideKind kind, const char *data, Size size)
{
	uint16		header;

	switch (kind)
	{
		case FPB_INSIDE_NUMERIC:
			if (size < sizeof(header))
				return "numeric is shorter than its header";
			memcpy(&header, data, sizeof(header));
			if ((header & NUMERIC_SHORT_HEADER) == 0 && size < NUMERIC_LONG_HEADER)
				return "numeric is shorter than its header";
			return NULL;
		case FPB_INSIDE_BITS:
			if (size < VARBITHDRSZ || read32(data) > VARBITMAXLEN ||
				VARBITTOTALLEN(read32(data)) != size + VARHDRSZ)
				return "bit string does not have the length that it says";
			return NULL;
		case FPB_INSIDE_INET:
			if (size < INET_HEADER ||
				((uint8) data[0] != PGSQL_AF_INET && (uint8) data[0] != PGSQL_AF_INET6))
				return "network address is of an unknown family";
			if (size != INET_HEADER + ((uint8) data[0] == PGSQL_AF_INET ? 4 : 16) ||
				(uint8) data[1] > ((uint8) data[0] == PGSQL_AF_INET ? 32 : 128))
				return "network address has an impossible length";
			return NULL;
		default:
			return NULL;
	}
}

/*
 * The fault in the item at *off of an array or a range, or NULL.  The array or
 * range has size bytes.  Sets *off to the item's end.
 */
static const char *
item_fault(const FpbInside *inside, const char *base, Size size, Size *off)
{
	static const char past_value[] = "element or bound extends past its value";
	const char *at = base + *off;
	Size		left;
	Size		length;

	if (*off >= size)
		return past_value;
	left = size - *off;
	if (inside->item_length > 0)
		length = inside->item_length;
	else if (inside->item_length == -2)
		length = strnlen(at, left) + 1;
	else if (VARATT_IS_1B_E(at))
		return "element or bound is stored outside of its value";
	else if (VARATT_IS_1B(at))
		length = VARSIZE_1B(at);
	else if (left < VARHDRSZ)
		return past_value;
	else
	{
		length = VARSIZE_4B(at);
		if (length < VARHDRSZ)
			return "element or bound has an impossible length";
	}
	if (length > left)
		return past_value;
	*off += length;
	if (inside->item_length != -1 || VARATT_IS_COMPRESSED(at))
		return NULL;
	return simple_fault(inside->item_kind, VARDATA_ANY(at), VARSIZE_ANY_EXHDR(at));
}

/*
 * The fault in an array, or NULL.  Offsets and size count a header of 4 bytes,
 * even if it is stored with a short one.
 */
static const char *
array_fault(const FpbInside *inside, const char *base, Size size)
{
	static const char impossible[] = "array has impossible dimensions";
	Oid			elemtype;
	int32		ndim;
	int32		data_offset;
	uint64		nitems;
	const uint8 *nulls = NULL;
	Size		off;

	if (size < sizeof(ArrayType))
		return "array is shorter than its header";
	elemtype = read32(base + offsetof(ArrayType, elemtype));
	if (elemtype != inside->type && elemtype != inside->base_type)
		return "array is of another type";
	ndim = (int32) read32(base + offsetof(ArrayType, ndim));
	data_offset = (int32) read32(base + offsetof(ArrayType, dataoffset));
	if (ndim < 0 || ndim > MAXDIM || size < sizeof(ArrayType) + 2 * sizeof(int) * ndim)
		return impossible;
	nitems = ndim > 0 ? 1 : 0;
	for (int i = 0; i < ndim; i++)
	{
		uint32		dimension = read32(base + sizeof(ArrayType) + i * sizeof(int));

		if (dimension > MaxArraySize)
			return impossible;
		nitems *= dimension;
		if (nitems > MaxArraySize)
			return impossible;
	}

	off = ARR_OVERHEAD_NONULLS(ndim);
	if (data_offset != 0)
	{
		off = ARR_OVERHEAD_WITHNULLS(ndim, (Size) nitems);
		if ((Size) data_offset != off || off > size)
			return impossible;
		nulls = (const uint8 *) (base + sizeof(ArrayType) + 2 * sizeof(int) * ndim);
	}
	for (uint64 i = 0; i < nitems; i++)
	{
		const char *fault;

		if (nulls != NULL && (nulls[i / 8] & (1 << (i % 8))) == 0)
			continue;
		off = att_align_nominal(off, inside->item_align);
		fault = item_fault(inside, base, size, &off);
		if (fault != NULL)
			return fault;
	}
	return NULL;
}

/*
 * The fault in a range, or NULL.  Offsets and size are as an array's.
 */
static const char *
range_fault(const FpbInside *inside, const char *base, Size size)
{
	const char *fault = NULL;
	Size		off = sizeof(RangeType);
	uint8		flags;

	if (size < sizeof(RangeType) + 1)
		return "range is shorter than its header";
	if (read32(base + offsetof(RangeType, rangetypid)) != inside->type)
		return "range is of another type";
	flags = (uint8) base[--size];
	/* no range has these: its bound would be no value, and not infinite */
	if (flags & (RANGE_LB_NULL | RANGE_UB_NULL))
		return "range has impossible flags";
	if (RANGE_HAS_LBOUND(flags))
		fault = item_fault(inside, base, size, &off);
	if (fault == NULL && RANGE_HAS_UBOUND(flags))
	{
		if (inside->item_length != -1)
			off = att_align_nominal(off, inside->item_align);
		else if (off < size)
			off = att_align_pointer(off, inside->item_align, -1, base + off);
		fault = item_fault(inside, base, size, &off);
	}
	return fault;
}

/*
 * The fault inside of a value whose own length is sound, or NULL.  Calls no
 * function of types, and raises nothing.
 */
const char *
fpb_value_fault(const FpbInside *inside, const char *value)
{
	const char *data;
	Size		size;

	if (VARATT_IS_COMPRESSED(value))
		return NULL;
	data = VARDATA_ANY(value);
	size = VARSIZE_ANY_EXHDR(value);
	switch (inside->kind)
	{
		case FPB_INSIDE_ARRAY:
			return array_fault(inside, data - VARHDRSZ, size + VARHDRSZ);
		case FPB_INSIDE_RANGE:
			return range_fault(inside, data - VARHDRSZ, size + VARHDRSZ);
		default:
			return simple_fault(inside->kind, data, size);
	}
}
