/*-------------------------------------------------------------------------
 *
 * key/tuple.h
 *	  Reading tuples, for the files of key/ that work on their columns, and for
 *	  the sort of a build.
 *
 * Tuples lie in pages, which may be damaged.  fpb_page_tuple has checked that
 * a tuple ends within its page.  The functions here follow no length before
 * they know that it ends within the tuple.
 *
 *-------------------------------------------------------------------------
 */
#ifndef FPB_KEY_TUPLE_H
#define FPB_KEY_TUPLE_H

#include "access/itup.h"
#include "access/tupmacs.h"
#include "catalog/pg_collation.h"
#include "common/int.h"
#include "port/pg_bitutils.h"
#include "port/pg_bswap.h"
#include "utils/date.h"
#include "utils/fmgroids.h"
#include "utils/timestamp.h"
#include "utils/uuid.h"

#include "key/key.h"

#define FPB_SHORT_TUPLE		"tuple is shorter than its header"
#define FPB_PAST_TUPLE		"column extends past its tuple"

extern const char *fpb_long_column_fault(const FpbColumn *col, const char *data, Size size,
										 Size *off, Size *length);
extern void fpb_part_damaged(const FpbIndex *ix, const void *part,
							 const char *fault) __attribute__((noreturn, cold, noinline));
extern void fpb_tuple_damaged(const FpbIndex *ix, IndexTuple tuple,
							  const char *fault) __attribute__((noreturn, cold, noinline));
extern Size fpb_columns_end(const FpbIndex *ix, IndexTuple tuple, int natts,
							bool *aligned, bool *nulls);
extern IndexTuple fpb_truncate_tuple(const FpbIndex *ix, IndexTuple source, int natts);

/* the head of a value that is no word (key/value_head.c) */
extern uint64 fpb_value_head(FpbHeadKind kind, Oid collation, Datum value);

/* how collations order strings (key/collation.c) */
extern FpbCLocale fpb_collation_c_locale(Oid collation);
extern bool fpb_collation_is_libc(Oid collation);
extern bool fpb_collation_has_sort_keys(Oid collation);
extern uint32 fpb_collation_version(Oid collation);

/* no more bytes of a sort key are looked at */
#define FPB_SORT_KEY_MOST	64

extern Size fpb_sort_key(Oid collation, const char *data, Size length, char *to, Size want);

/* where heads are a value's first bytes: these bytes, and all */
extern bool fpb_head_is_bytes(FpbHeadKind kind);
extern bool fpb_head_is_sort_key(FpbHeadKind kind);
extern const char *fpb_value_bytes(const FpbColumn *col, Datum value, Size want,
								   Size *length, void **copy);

/*
 * fpb_copy_bytes of what is short, most of the time.
 */
static pg_attribute_always_inline void
fpb_copy_short(char *to, const char *from, Size length)
{
	Size		done = 0;

	if (unlikely(length > 64))
		fpb_copy_bytes(to, from, length);
	else if (length >= sizeof(uint64))
	{
		for (; done + sizeof(uint64) < length; done += sizeof(uint64))
			memcpy(to + done, from + done, sizeof(uint64));
		memcpy(to + length - sizeof(uint64), from + length - sizeof(uint64), sizeof(uint64));
	}
	else if (length >= sizeof(uint32))
	{
		memcpy(to, from, sizeof(uint32));
		memcpy(to + length - sizeof(uint32), from + length - sizeof(uint32), sizeof(uint32));
	}
	else
		for (; done < length; done++)
			to[done] = from[done];
}

/*
 * The bytes of a varlena that is neither compressed nor stored elsewhere.
 * False of any other.
 */
static pg_attribute_always_inline bool
fpb_plain_bytes(const char *v, const char **data, Size *length)
{
	if (VARATT_IS_1B(v))
	{
		*data = VARDATA_1B(v);
		*length = VARSIZE_1B(v) - VARHDRSZ_SHORT;
		return !VARATT_IS_1B_E(v);
	}
	*data = VARDATA_4B(v);
	*length = VARSIZE_4B(v) - VARHDRSZ;
	return VARATT_IS_4B_U(v);
}

/*
 * How many bytes do two strings begin with in common, at most so many?
 */
static inline Size
fpb_same_bytes(const char *a, const char *b, Size length)
{
	Size		same = 0;

	for (; same + sizeof(uint64) <= length; same += sizeof(uint64))
	{
		uint64		eight;
		uint64		other;

		memcpy(&eight, a + same, sizeof(eight));
		memcpy(&other, b + same, sizeof(other));
		if (eight != other)
			return same + (63 - pg_leftmost_one_pos64(pg_ntoh64(eight ^ other))) / BITS_PER_BYTE;
	}
	while (same < length && a[same] == b[same])
		same++;
	return same;
}

/* The first 8 bytes as a big-endian integer, filled up with zeros. */
static inline uint64
fpb_bytes_head(const char *data, Size length)
{
	uint64		bytes = 0;

	memcpy(&bytes, data, Min(length, sizeof(bytes)));
	return pg_ntoh64(bytes);
}

/* the part of a head that is kept when heads have 4 bytes */
#define FPB_HEAD4_MASK	UINT64CONST(0xFFFFFFFF00000000)

/*
 * What a comparator says of two texts, which need not be called if their order
 * is that of bytes, and they are stored as they are.
 */
static inline int
fpb_compare_texts(FmgrInfo *cmp, Oid collation, Datum a, Datum b)
{
	const char *a_bytes;
	const char *b_bytes;
	Size		a_length;
	Size		b_length;
	int			order;

	if (collation != C_COLLATION_OID ||
		!fpb_plain_bytes(DatumGetPointer(a), &a_bytes, &a_length) ||
		!fpb_plain_bytes(DatumGetPointer(b), &b_bytes, &b_length))
		return DatumGetInt32(FunctionCall2Coll(cmp, collation, a, b));
	order = memcmp(a_bytes, b_bytes, Min(a_length, b_length));
	return order != 0 ? order : pg_cmp_size(a_length, b_length);
}

/*
 * What a comparator says of two values.  The server's own comparators of
 * integers and uuids need not be called for that: what function has one of
 * these OIDs is compiled into the server (see fmgr_isbuiltin), whatever
 * pg_proc says.
 */
static inline int
fpb_call_comparator(FmgrInfo *cmp, Oid collation, Datum a, Datum b)
{
	switch (cmp->fn_oid)
	{
		case F_BTINT2CMP:
			return pg_cmp_s16(DatumGetInt16(a), DatumGetInt16(b));
		case F_BTINT4CMP:
			return pg_cmp_s32(DatumGetInt32(a), DatumGetInt32(b));
		case F_BTINT8CMP:
			return pg_cmp_s64(DatumGetInt64(a), DatumGetInt64(b));
		case F_DATE_CMP:
			return pg_cmp_s32(DatumGetDateADT(a), DatumGetDateADT(b));
		case F_TIMESTAMP_CMP:
		case F_TIMESTAMPTZ_CMP:
			return pg_cmp_s64(DatumGetTimestamp(a), DatumGetTimestamp(b));
		case F_UUID_CMP:
			return memcmp(DatumGetPointer(a), DatumGetPointer(b), UUID_LEN);
		case F_BTTEXTCMP:
			return fpb_compare_texts(cmp, collation, a, b);
		default:
			return DatumGetInt32(FunctionCall2Coll(cmp, collation, a, b));
	}
}

/*
 * Sign of a - b, two values of a column, in the index's order.  cmp is the
 * opclass's comparator, or one whose second argument is of b's type.
 */
static inline int
fpb_compare_values(const FpbColumn *col, FmgrInfo *cmp,
				   Datum a, bool a_isnull, Datum b, bool b_isnull)
{
	int			result;

	if (unlikely(a_isnull || b_isnull))
	{
		if (a_isnull && b_isnull)
			return 0;
		return a_isnull == col->nulls_first ? -1 : 1;
	}

	result = fpb_call_comparator(cmp, col->collation, a, b);
	if (result == 0)
		return 0;
	return (result < 0) != col->desc ? -1 : 1;
}

/* what pivots need of heads and of comparison (key/head.c, key/compare.c) */
extern uint64 fpb_pivot_head(const FpbIndex *ix, uint64 head, int natts);
extern int	fpb_equal_columns(const FpbIndex *ix, const FpbKey *a, const FpbKey *b,
							  int ncolumns, int *order);

/*
 * The fault in the place of a column that is not NULL, or NULL.
 *
 * The tuple's data have size bytes.  *off is where the column before it ends.
 * It becomes the offset of the value, and *length the value's length.  If
 * there is no fault, all of the value is within the data.
 */
static pg_attribute_always_inline const char *
fpb_column_fault(const FpbColumn *col, const char *data, Size size,
				 Size *off, Size *length)
{
	const char *fault;

	if (col->length == -1)
	{
		if (unlikely(*off >= size))
			return FPB_PAST_TUPLE;
		if (likely(VARATT_IS_1B(data + *off) && !VARATT_IS_1B_E(data + *off)))
			*length = VARSIZE_1B(data + *off);
		else
		{
			/* so that off and length can stay in registers otherwise */
			Size		long_off = *off;
			Size		long_length = 0;

			fault = fpb_long_column_fault(col, data, size, &long_off, &long_length);
			if (unlikely(fault != NULL))
				return fault;
			*off = long_off;
			*length = long_length;
		}
	}
	else
	{
		*off = TYPEALIGN(col->align, *off);
		if (unlikely(*off > size))
			return FPB_PAST_TUPLE;
		*length = col->length > 0 ? (Size) col->length :
			strnlen(data + *off, size - *off) + 1;
	}
	return unlikely(*length > size - *off) ? FPB_PAST_TUPLE : NULL;
}

/*
 * Must a tuple with this value be aligned in its page to more than 2 bytes
 * (fpb_tuple_align)?  index_form_tuple has aligned the value relative to the
 * tuple's start.  A short varlena is read bytewise.
 */
static inline bool
fpb_needs_alignment(const FpbColumn *col, const char *value)
{
	return col->align > sizeof(uint16) &&
		!(col->length == -1 && VARATT_IS_1B(value));
}

/*
 * The fault inside of a value that ends within its tuple, or NULL.
 */
static pg_attribute_always_inline const char *
fpb_inside_fault(const FpbColumn *col, const char *value)
{
	if (likely(col->inside.kind == FPB_INSIDE_NONE) ||
		(VARATT_IS_1B(value) && VARSIZE_1B(value) >= col->plain_from))
		return NULL;
	return fpb_value_fault(&col->inside, value);
}

/*
 * Has a tuple, which may lack its first column, a value for that?
 */
static inline bool
first_is_not_null(IndexTuple tuple)
{
	if (likely(!IndexTupleHasNulls(tuple)))
		return true;
	return IndexTupleSize(tuple) >= IndexInfoFindDataOffset(tuple->t_info) &&
		!att_isnull(0, (uint8 *) ((char *) tuple + sizeof(IndexTupleData)));
}

/*
 * Does the tuple of a leaf's entry, as it is stored, lack its first column, or
 * the first bytes of that, because prefix and head have them as a code; or
 * will it, if this is the whole one?
 */
static inline bool
fpb_lacks_first(const FpbIndex *ix, IndexTuple tuple)
{
	if (ix->first_size == 0 || IndexTupleSize(tuple) > ix->cut_most)
		return false;
	return first_is_not_null(tuple);
}

/* bytes of a key of two codes, at most, that prefix and head may lack */
#define FPB_LAST_BYTES_MOST	(16 + 1 + 16 - sizeof(uint64))

/* bytes of a uuid that cut tuples lack, or lack not, if not all of it */
#define FPB_HALF_UUID	8

/*
 * How many bytes of its first column has such a tuple, as it is stored?  The
 * last ones of a uuid, if the flag of variable lengths is missing.  (All other
 * cut tuples that lack a code have it.)
 */
static inline Size
fpb_first_left(const FpbIndex *ix, IndexTuple tuple)
{
	return ix->first_size <= sizeof(uint64) || ix->last_bytes || IndexTupleHasVarwidths(tuple) ?
		0 : FPB_HALF_UUID;
}

/*
 * Where byte heads go on from a text into the second column: does the tuple of
 * a leaf's entry, as it is stored, lack the text?  It does if the flag of
 * variable lengths is missing; all whole tuples with a text have it.
 */
static inline bool
fpb_lacks_text(const FpbIndex *ix, IndexTuple tuple)
{
	if (likely(IndexTupleHasVarwidths(tuple)) || ix->second == FPB_SECOND_NONE ||
		ix->first_size > 0 || IndexTupleSize(tuple) > ix->cut_most)
		return false;
	return first_is_not_null(tuple);
}

/*
 * Does such a tuple lack its second column, too, and with that all that it
 * would have; or has it bytes of the key in place of both (ix->last_bytes)?
 */
static inline bool
fpb_lacks_second(const FpbIndex *ix, IndexTuple tuple)
{
	if (ix->last_bytes)
		return fpb_lacks_first(ix, tuple);
	if (ix->natts != 2 || IndexTupleSize(tuple) != IndexInfoFindDataOffset(0) ||
		ix->second == FPB_SECOND_NONE)
		return false;
	return fpb_lacks_text(ix, tuple) ||
		(ix->second == FPB_SECOND_TEXT && fpb_lacks_first(ix, tuple) &&
		 fpb_first_left(ix, tuple) == 0);
}

/*
 * How many columns does such a tuple lack, all of the first one or its first
 * bytes?
 */
static inline int
fpb_lacking_columns(const FpbIndex *ix, IndexTuple tuple)
{
	if (fpb_lacks_second(ix, tuple))
		return 2;
	return fpb_lacks_text(ix, tuple) || fpb_lacks_first(ix, tuple) ? 1 : 0;
}

/* a tuple whose columns are read one after the other */
typedef struct FpbTupleReader
{
	const FpbIndex *ix;
	IndexTuple	tuple;
	const char *data;			/* of the columns */
	Size		size;			/* bytes of that */
	Size		off;			/* where the last one ends */
	int			next;			/* the next column's number, from 0 */
} FpbTupleReader;

/*
 * Begin to read a tuple, all of which lies in its page.  Raises an error if it
 * is shorter than its header.
 */
static inline void
fpb_begin_reading(FpbTupleReader *reader, const FpbIndex *ix, IndexTuple tuple)
{
	Size		start = IndexInfoFindDataOffset(tuple->t_info);

	if (unlikely(IndexTupleSize(tuple) < start))
		fpb_tuple_damaged(ix, tuple, FPB_SHORT_TUPLE);
	reader->ix = ix;
	reader->tuple = tuple;
	reader->data = (char *) tuple + start;
	reader->size = IndexTupleSize(tuple) - start;
	reader->off = 0;
	reader->next = 0;
}

/*
 * Go to the next column.  Returns where its value lies; NULL if it is NULL.
 * Raises an error if it does not lie within the tuple.
 */
static pg_attribute_always_inline const char *
fpb_next_column(FpbTupleReader *reader)
{
	int			i = reader->next++;
	const char *value;
	const char *fault;
	Size		length = 0;

	if (unlikely(IndexTupleHasNulls(reader->tuple) &&
				 att_isnull(i, (uint8 *) ((char *) reader->tuple + sizeof(IndexTupleData)))))
		return NULL;
	fault = fpb_column_fault(&reader->ix->cols[i], reader->data, reader->size, &reader->off, &length);
	if (unlikely(fault != NULL))
		fpb_tuple_damaged(reader->ix, reader->tuple, fault);
	value = reader->data + reader->off;
	reader->off += length;
	return value;
}

/*
 * Begin to read a tuple with its second column.  lacks_first: it lacks the
 * first one, or the first bytes of that.  Raises the errors of both functions
 * above.
 */
static inline void
fpb_begin_with_second(FpbTupleReader *reader, const FpbIndex *ix, IndexTuple tuple,
					  bool lacks_first)
{
	fpb_begin_reading(reader, ix, tuple);
	if (lacks_first)
	{
		reader->next = 1;
		reader->off = fpb_first_left(ix, tuple);
	}
	else
		(void) fpb_next_column(reader);
}

/*
 * The value of the next column.  A by-reference one points into the tuple.
 * Raises an error if it does not lie within the tuple, or if functions of its
 * type would read beyond it.
 */
static pg_attribute_always_inline Datum
fpb_read_column(FpbTupleReader *reader, bool *isnull)
{
	const FpbColumn *col = &reader->ix->cols[reader->next];
	const char *value = fpb_next_column(reader);
	const char *fault;

	*isnull = value == NULL;
	if (unlikely(value == NULL))
		return (Datum) 0;
	fault = fpb_inside_fault(col, value);
	if (unlikely(fault != NULL))
		fpb_tuple_damaged(reader->ix, reader->tuple, fault);
	if (unlikely(!(reader->tuple->t_info & INDEX_AM_RESERVED_BIT) &&
				 fpb_needs_alignment(col, value)))
		fpb_tuple_damaged(reader->ix, reader->tuple, "tuple has the wrong alignment flag");
	return fetch_att(value, col->by_value, col->length);
}

/*
 * The value of a tuple's column i, from 0, as fpb_read_column gives it.
 */
static inline Datum
fpb_read_nth_column(const FpbIndex *ix, IndexTuple tuple, int i, bool *isnull)
{
	FpbTupleReader reader;

	fpb_begin_reading(&reader, ix, tuple);
	while (reader.next < i)
		(void) fpb_next_column(&reader);
	return fpb_read_column(&reader, isnull);
}

/*
 * Is the first column of a tuple, which is not NULL if it has one, for sure a
 * short varlena that ends within the tuple, with nothing inside to be checked?
 * (One that is stored elsewhere has a length of 0.)
 */
static pg_attribute_always_inline bool
fpb_first_is_short(const FpbIndex *ix, IndexTuple tuple)
{
	const char *value = (char *) tuple + IndexInfoFindDataOffset(0);
	Size		room = IndexTupleSize(tuple) - IndexInfoFindDataOffset(0);

	return (tuple->t_info & INDEX_NULL_MASK) == 0 && room > 0 && VARATT_IS_1B(value) &&
		VARSIZE_1B(value) >= ix->cols[0].plain_from && VARSIZE_1B(value) <= room;
}

/*
 * The value of a tuple's first column, as fpb_read_column gives it.  The tuple
 * has one.  Most first columns are not NULL, and are a short varlena or of
 * fixed length: two comparisons tell that such a value ends within the tuple.
 */
static pg_attribute_always_inline Datum
fpb_read_first_column(const FpbIndex *ix, IndexTuple tuple, bool *isnull)
{
	const FpbColumn *col = &ix->cols[0];
	const char *value = (char *) tuple + IndexInfoFindDataOffset(0);
	Size		room = IndexTupleSize(tuple) - IndexInfoFindDataOffset(0);

	*isnull = false;
	if (likely(fpb_first_is_short(ix, tuple)))
		return PointerGetDatum(value);
	if ((tuple->t_info & INDEX_NULL_MASK) == 0 && room > 0 &&
		col->length > 0 && (Size) col->length <= room &&
		(col->align <= sizeof(uint16) ||
		 (tuple->t_info & INDEX_AM_RESERVED_BIT) != 0))
		return fetch_att(value, col->by_value, col->length);
	return fpb_read_nth_column(ix, tuple, 0, isnull);
}

/*
 * Is a tuple of a leaf's entry, which ends within its page, sound for sure?
 * If all that is stored are values of fixed length and short varlenas with
 * nothing inside, a few comparisons tell.  fpb_tuple_fault has to look at
 * others.
 */
static inline bool
fpb_tuple_is_plain(const FpbIndex *ix, IndexTuple tuple)
{
	const char *data = (char *) tuple + IndexInfoFindDataOffset(0);
	Size		size = IndexTupleSize(tuple) - IndexInfoFindDataOffset(0);
	OffsetNumber offset = ItemPointerGetOffsetNumberNoCheck(&tuple->t_tid);
	uint16		info = 0;
	int			lacking = fpb_lacking_columns(ix, tuple);
	bool		lacks_code = lacking > 0 && ix->first_size > 0;
	Size		left = lacks_code ? fpb_first_left(ix, tuple) : 0;
	Size		off = left;

	if (IndexTupleSize(tuple) < IndexInfoFindDataOffset(0) || offset == InvalidOffsetNumber ||
		(offset > FPB_TAIL_MAX_OFFSET && (offset & FPB_POSTING_BIT) == 0))
		return false;
	if (ix->last_bytes && lacking > 0)
		return size <= FPB_LAST_BYTES_MOST && (tuple->t_info & ~INDEX_SIZE_MASK) == 0;
	for (int i = lacking; i < ix->natts; i++)
	{
		const FpbColumn *col = &ix->cols[i];

		if (col->length > 0 && col->inside.kind == FPB_INSIDE_NONE)
		{
			off = TYPEALIGN(col->align, off) + col->length;
			if (col->align > sizeof(uint16))
				info |= INDEX_AM_RESERVED_BIT;
			continue;
		}
		if (col->length != -1 || off >= size || !VARATT_IS_1B(data + off) ||
			VARSIZE_1B(data + off) < col->plain_from)
			return false;
		off += VARSIZE_1B(data + off);
		info |= INDEX_VAR_MASK;
	}
	if (lacks_code)
		info = (info & ~INDEX_VAR_MASK) | (left == 0 ? INDEX_VAR_MASK : 0);
	else if (lacking > 0)
		info &= ~INDEX_VAR_MASK;
	return off == size && info == (tuple->t_info & ~INDEX_SIZE_MASK);
}

/*
 * Set a tuple's size, and whether it must be aligned in its page to more than
 * 2 bytes, which INDEX_AM_RESERVED_BIT tells.
 */
static inline void
fpb_set_tuple_info(IndexTuple tuple, Size size, bool aligned)
{
	tuple->t_info &= ~(INDEX_SIZE_MASK | INDEX_AM_RESERVED_BIT);
	tuple->t_info |= size;
	if (aligned)
		tuple->t_info |= INDEX_AM_RESERVED_BIT;
}

#endif							/* FPB_KEY_TUPLE_H */
