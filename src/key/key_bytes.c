/*-------------------------------------------------------------------------
 *
 * key/key_bytes.c
 *	  The bytes of keys, which byte heads and prefixes are made of.
 *
 * Where the order of the first column is that of memcmp, then of length, the
 * bytes of a key are those of that column.  If it has codes of which values
 * can be made again (ix->first_size), they are those of its code.
 *
 * If the first column is an ascending text or such a code, and the second one
 * is a number, a uuid or an ascending text in the order of memcmp
 * (ix->second), the bytes go on with that column.  A byte of zero, which no
 * text has, ends a first text.
 *
 * A number behind a text:
 *
 *	   ('tenant 17', 300)	74 65 6E 61 6E 74 20 31 37	00	82 01 2C
 *
 * The first byte of a number tells its sign and how many bytes of it follow:
 * as few as can be.
 *
 *	   least byte	77 ... 7E	  7F	 80		81 ... 88
 *	   number		-2^63 ... -2  -1	 0		1 ... 2^64 - 1
 *	   bytes behind 8 ... 1		  0		 0		1 ... 8
 *
 * Proof of their order.  Let m < n be two numbers.  If one is negative and the
 * other is not, or if they have different numbers of bytes, their first bytes
 * differ: of positive numbers the one with more bytes is the greater, and of
 * negative ones the less.  Else the first bytes are the same, and what follows
 * are the last k bytes of either in two's complement, whose bytes before are
 * the same, so these are in the order of the numbers.  DESC inverts all bytes
 * of the number, so the order is turned around.  A NULL has one byte, 01 or
 * FE, which is before or after the first bytes of all numbers, inverted or
 * not.
 *
 * No number's bytes are the beginning of another's, because the first byte
 * tells how many there are.  And no text with its zero is the beginning of
 * another one's, and all codes of a column have as many bytes.  So of two keys
 * that differ in these columns, the bytes of neither are the beginning of the
 * other's: at the first byte that differs, memcmp tells the order of the
 * columns.
 *
 * A second text has a byte of 02 before its own, and no end mark.  So has a
 * second uuid, whose code's bytes follow.  A NULL has 01 or FE, as above.
 *
 *	   ('Lima', 'Ohio')		4C 69 6D 61	00	02 4F 68 69 6F
 *	   (300, 'Ohio')		80 00 01 2C		02 4F 68 69 6F
 *
 * Proof of their order.  As above, the first columns of two keys decide at the
 * first byte that differs, if they differ.  If not, a NULL differs from 02 on
 * its side.  If both have a second text, what follows are the bytes of these,
 * whose order is that of memcmp, then of length: if the bytes of one key are
 * the beginning of the other's, it is the less.  So the order of the columns
 * is that of all bytes by memcmp, then by length.  A shorter key that is
 * filled up with zeros, as in a head, is not greater than it was, and may be
 * equal to a longer one: there the comparators decide.
 *
 * A pivot of one column lies before all keys that begin with that.  Its bytes
 * end with those of the column, or with the zero.  So do those of a search key
 * of one column, which lies before all these keys or after them, as its
 * on_equal tells.  What follows counts as zeros in a head, or as ones if it
 * lies after them.  The first byte of a second column is neither 00 nor FF.
 *
 * A NULL in the first column has no bytes, and the least or the greatest head.
 * A code may be as great, though it is that of a value: then the head of what
 * follows is not less than the least one, and not greater than the greatest.
 *
 * A text with a zero byte can come only of a cast that is none (from bytea,
 * say).  Such a key is refused, and such a search key has no head.  So the
 * first zero behind a second text in a head shows where that ends.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "port/pg_bitutils.h"

#include "key/key_bytes.h"

#define NULL_FIRST	0x01
#define NULL_LAST	0xFE
#define NOT_NULL	0x02

/* How many bytes has this number, less the zeros in front? */
static inline int
significant_bytes(uint64 number)
{
	return number == 0 ? 0 : pg_leftmost_one_pos64(number) / BITS_PER_BYTE + 1;
}

/*
 * A value of the second column as the integer that it is: *negative tells
 * whether that is less than zero.
 */
static inline uint64
integer_of_value(const FpbColumn *col, Datum value, bool *negative)
{
	int64		number;

	switch ((FpbWordKind) col->word->kind)
	{
		case FPB_KIND_INT2:
			number = DatumGetInt16(value);
			break;
		case FPB_KIND_INT4:
			number = DatumGetInt32(value);
			break;
		case FPB_KIND_INT8:
			number = DatumGetInt64(value);
			break;
		default:
			/* no sign; the raw code is the integer */
			*negative = false;
			return fpb_code_encode(col->word->kind, value).hi;
	}
	*negative = number < 0;
	return (uint64) number;
}

/*
 * Write the bytes of a number, a value of the second column that is not NULL;
 * there is room for FPB_NUMBER_MOST.  Returns how many they are.
 */
static inline int
number_bytes(const FpbColumn *col, Datum value, char *to)
{
	uint64		invert = col->desc ? PG_UINT64_MAX : 0;
	uint64		number;
	bool		negative;
	int			n;

	number = integer_of_value(col, value, &negative);
	n = significant_bytes(negative ? ~number : number);
	to[0] = (char) ((negative ? FPB_NUMBER_ZERO - 1 - n : FPB_NUMBER_ZERO + n) ^ invert);
	number ^= invert;
	number = n == 0 ? 0 : pg_hton64(number << (64 - BITS_PER_BYTE * n));
	memcpy(to + 1, &number, sizeof(number));
	return 1 + n;
}

/*
 * Add to the bytes of a first column, which are all there, and fewer than are
 * wanted, the zero that ends a text, and the bytes of the second column if the
 * key has one; of a second text no more than are wanted.
 */
void
fpb_add_second(const FpbIndex *ix, Size want, bool has_second, Datum second, bool isnull,
			   FpbKeyBytes *bytes)
{
	const FpbColumn *col = &ix->cols[1];
	bool		is_text = has_second && !isnull && ix->second == FPB_SECOND_TEXT;
	Size		length = bytes->length;
	Size		end = fpb_first_end(ix);
	Size		most = length + end + FPB_SECOND_MOST;
	const char *behind = NULL;
	Size		behind_length = 0;
	void	   *behind_copy = NULL;
	char	   *to = bytes->space;
	void	   *copy = NULL;

	if (is_text)
	{
		Size		before = length + end + FPB_TEXT_BEGIN;

		behind = fpb_text_bytes(col, second, &behind_length, &behind_copy);
		behind_length = Min(behind_length, Max(want, before) - before);
		most += behind_length;
	}
	if (unlikely(most > sizeof(bytes->space)))
		to = copy = palloc(most);
	if (bytes->data != to)
		fpb_copy_short(to, bytes->data, length);
	if (end > 0)
		to[length++] = '\0';
	if (is_text)
	{
		to[length++] = NOT_NULL;
		fpb_copy_short(to + length, behind, behind_length);
		length += behind_length;
		if (unlikely(behind_copy != NULL))
			pfree(behind_copy);
	}
	else if (has_second && isnull)
		to[length++] = (char) (col->nulls_first ? NULL_FIRST : NULL_LAST);
	else if (has_second && ix->second == FPB_SECOND_UUID)
	{
		to[length++] = NOT_NULL;
		fpb_code_bytes(col, fpb_code_of_value(col, second), to + length);
		length += FPB_UUID_BYTES;
	}
	else if (has_second)
		length += number_bytes(col, second, to + length);
	fpb_free_bytes(bytes);
	bytes->copy = copy;
	bytes->data = to;
	bytes->length = length;
}
