/*-------------------------------------------------------------------------
 *
 * key/key_bytes.h
 *	  The bytes of keys, which byte heads and prefixes are made of
 *	  (key/key_bytes.c).
 *
 *-------------------------------------------------------------------------
 */
#ifndef FPB_KEY_KEY_BYTES_H
#define FPB_KEY_KEY_BYTES_H

#include "key/code.h"
#include "key/key.h"
#include "key/tuple.h"

/* bytes that end a text, those before one that is the second column, those of
 * a number or a NULL, at most, and those that any second column but a text
 * has, at most */
#define FPB_TEXT_END	1
#define FPB_TEXT_BEGIN	1
#define FPB_NUMBER_MOST (1 + sizeof(uint64))
#define FPB_UUID_BYTES	16
#define FPB_SECOND_MOST (1 + FPB_UUID_BYTES)

/* the first byte of the number 0; that of -1 is one less */
#define FPB_NUMBER_ZERO	0x80

/* the first bytes of a key */
typedef struct FpbKeyBytes
{
	const char *data;
	Size		length;
	Size		first;			/* so many are the first column's own */
	void	   *copy;			/* what has been palloc'd for them, or NULL */
	char		space[VARATT_SHORT_MAX + FPB_TEXT_END + FPB_SECOND_MOST];
} FpbKeyBytes;

/*
 * How many bytes end a first column, so that others may follow?  All codes of
 * a column have as many bytes, so they need none.
 */
static inline Size
fpb_first_end(const FpbIndex *ix)
{
	return ix->first_size > 0 ? 0 : FPB_TEXT_END;
}

extern void fpb_add_second(const FpbIndex *ix, Size want, bool has_second, Datum second,
						   bool isnull, FpbKeyBytes *bytes);

/*
 * The bytes of a value of a column whose order is that of bytes, all of them.
 * Most values are stored as they are; *copy becomes what has been palloc'd for
 * others, or NULL.
 */
static inline const char *
fpb_text_bytes(const FpbColumn *col, Datum value, Size *length, void **copy)
{
	const char *bytes;

	*copy = NULL;
	if (likely(fpb_plain_bytes(DatumGetPointer(value), &bytes, length)))
		return bytes;
	return fpb_value_bytes(col, value, BLCKSZ, length, copy);
}

/*
 * The bytes of a value of the first column, or of its code; of one that has a
 * sort key, at least so many of it as are wanted.  Most texts are bytes, and
 * stored as they are.
 */
static inline void
fpb_first_bytes(const FpbIndex *ix, Datum value, Size want, FpbKeyBytes *bytes)
{
	if (ix->cols[0].head == FPB_HEAD_BYTES &&
		likely(fpb_plain_bytes(DatumGetPointer(value), &bytes->data, &bytes->length)))
		bytes->copy = NULL;
	else if (ix->first_size > 0)
	{
		fpb_code_bytes(&ix->cols[0], fpb_code_of_value(&ix->cols[0], value), bytes->space);
		bytes->data = bytes->space;
		bytes->length = ix->first_size;
		bytes->copy = NULL;
	}
	else
		bytes->data = fpb_value_bytes(&ix->cols[0], value, Min(want, FPB_SORT_KEY_MOST),
									  &bytes->length, &bytes->copy);
	bytes->first = bytes->length;
}

/*
 * The bytes of a whole tuple, which may be a pivot, at least so many as are
 * wanted if it has them.  False if it has no first column, or a NULL.
 */
static pg_attribute_always_inline bool
fpb_tuple_bytes(const FpbIndex *ix, IndexTuple tuple, Size want, FpbKeyBytes *bytes)
{
	int			natts = fpb_pivot_natts(ix, tuple);
	bool		isnull;
	Datum		value;

	bytes->copy = NULL;
	if (natts == 0)
		return false;
	value = fpb_read_first_column(ix, tuple, &isnull);
	if (isnull)
		return false;
	fpb_first_bytes(ix, value, want, bytes);
	if (ix->second != FPB_SECOND_NONE && bytes->length < want)
	{
		FpbTupleReader reader;

		value = (Datum) 0;
		if (natts > 1)
		{
			fpb_begin_with_second(&reader, ix, tuple, false);
			value = fpb_read_column(&reader, &isnull);
		}
		fpb_add_second(ix, want, natts > 1, value, isnull, bytes);
	}
	return true;
}

/*
 * The same of a search key whose first column is not NULL.
 */
static pg_attribute_always_inline void
fpb_search_bytes(const FpbIndex *ix, const FpbSearchKey *search, Size want, FpbKeyBytes *bytes)
{
	fpb_first_bytes(ix, search->cols[0].value, want, bytes);
	if (ix->second != FPB_SECOND_NONE && bytes->length < want)
		fpb_add_second(ix, want, search->ncols > 1, search->cols[1].value,
					   search->ncols > 1 && search->cols[1].isnull, bytes);
}

static inline void
fpb_free_bytes(FpbKeyBytes *bytes)
{
	if (unlikely(bytes->copy != NULL))
		pfree(bytes->copy);
}

/*
 * The second column's value, which is not NULL, as an integer.  Its bytes are
 * the first ones of these: "bytes" has eight of them, or as many as there are,
 * and "ninth" the next.  False if there are fewer than a number has that
 * begins so, or more than the column: the page is damaged.
 */
static inline bool
fpb_number_of_bytes(const FpbColumn *col, uint64 bytes, uint8 ninth, int length,
					uint64 *number)
{
	uint64		invert = col->desc ? PG_UINT64_MAX : 0;
	int			first = (int) ((bytes ^ invert) >> 56);
	bool		negative = first < FPB_NUMBER_ZERO;
	int			n = negative ? FPB_NUMBER_ZERO - 1 - first : first - FPB_NUMBER_ZERO;
	int			bits = BITS_PER_BYTE * n;

	*number = negative ? PG_UINT64_MAX : 0;
	if (unlikely(n >= length || n > col->length))
		return false;
	if (unlikely(n == sizeof(uint64)))
		*number = (bytes << BITS_PER_BYTE | ninth) ^ invert;
	else if (likely(n > 0))
		*number = *number << bits | ((bytes ^ invert) << BITS_PER_BYTE) >> (64 - bits);
	return true;
}

#endif							/* FPB_KEY_KEY_BYTES_H */
