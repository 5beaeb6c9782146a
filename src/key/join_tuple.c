/*-------------------------------------------------------------------------
 *
 * key/join_tuple.c
 *	  Cut tuples (key/cut_tuple.c) made whole, and compared.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "common/int.h"

#include "key/code.h"
#include "key/join_tuple.h"

static const char no_end[] = "text does not end in its head";

/*
 * The bytes of a page's low fence, which are no fewer than the page's prefix.
 */
static void
prefix_bytes(const FpbIndex *ix, Page page, FpbKeyBytes *bytes)
{
	uint32		offset = (uint32) Min(FpbHdr(page)->fences.tail[FPB_LOW], BLCKSZ);
	IndexTuple	low = (IndexTuple) ((char *) page + offset);

	if (unlikely(!fpb_tuple_offset_valid(page, offset) || !fpb_tuple_is_aligned(ix, low, offset)))
		fpb_part_damaged(ix, page, "The low fence is not among the page's tuples.");
	fpb_prefix_bytes(ix, low, fpb_page_prefix(ix, page), bytes);
}

/*
 * Keep the bytes of the second column that are in a prefix, no more than
 * FPB_NUMBER_MOST.
 */
static void
keep_number(const char *bytes, Size length, FpbPrefixThere *there)
{
	char		number[FPB_NUMBER_MOST] = {0};

	memcpy(number, bytes, Min(length, sizeof(number)));
	there->number = fpb_bytes_head(number, sizeof(uint64));
	there->ninth = (uint8) number[sizeof(uint64)];
}

/* How many bytes of a text, the second column, are in the prefix? */
static inline Size
second_in_prefix(const FpbIndex *ix, const FpbPrefixThere *there)
{
	return fpb_second_of_bytes(ix, 0, there->rest);
}

/*
 * Write the bytes of the second column, a text, that are in a prefix to where
 * they are if that has a short header, and the first column ends there.  What
 * is too long for a tuple that is cut is not: only tuples with a compressed
 * text begin with that.
 */
static inline void
write_second(const FpbIndex *ix, const char *bytes, char *to, Size end, Size room,
			 const FpbPrefixThere *there)
{
	Size		begin = end + VARHDRSZ_SHORT;
	Size		length = second_in_prefix(ix, there);

	if (begin + length <= room)
		fpb_copy_bytes(to + begin, bytes + there->first + fpb_first_end(ix) + FPB_TEXT_BEGIN,
					   length);
}

/*
 * Write the part of a page's prefix that is the first column's to where a
 * tuple is being made, if it is not there, and keep the rest.  If that is a
 * code, keep it, too: the column will begin there.
 */
static inline void
write_prefix(const FpbIndex *ix, Page page, char *to, Size room, FpbPrefixThere *there)
{
	Size		prefix = fpb_page_prefix(ix, page);
	FpbKeyBytes bytes;

	if (likely(there->page == page && there->at == to))
		return;
	there->first = 0;
	memset(there->bytes, 0, sizeof(there->bytes));
	there->rest = 0;
	if (prefix <= Min(ix->first_size, sizeof(uint64)))
	{
		uint64		first = pg_hton64(FpbHdr(page)->fences.head[FPB_LOW] & ~fpb_ones_behind(prefix));

		there->first = prefix;
		memcpy(there->bytes, &first, sizeof(first));
	}
	else
	{
		Size		end;

		prefix_bytes(ix, page, &bytes);
		there->first = Min(bytes.first, prefix);
		there->rest = prefix - there->first;
		if (unlikely(there->first > room))
			fpb_part_damaged(ix, page, FPB_TOO_LONG);
		if (ix->first_size > 0)
		{
			memcpy(there->bytes, bytes.data, Min(prefix, sizeof(there->bytes)));
			end = ix->cols[0].length;
		}
		else
		{
			memcpy(to, bytes.data, there->first);
			end = there->first;
		}
		if (ix->second == FPB_SECOND_TEXT)
			write_second(ix, bytes.data, to, end, room, there);
		else if (there->rest > 0 && ix->first_size == 0)
			keep_number(bytes.data + there->first + FPB_TEXT_END, there->rest - FPB_TEXT_END, there);
		fpb_free_bytes(&bytes);
	}
	there->page = page;
	there->at = to;
}

/*
 * A copy of a key's tuple in *space, with the bytes of the prefix and of the
 * head before those that its first column has.  *there tells which prefix is
 * in *space already.
 */
static pg_attribute_always_inline IndexTuple
add_bytes(const FpbIndex *ix, const FpbKey *key, FpbTupleSpace *space, FpbPrefixThere *there)
{
	Size		start = IndexInfoFindDataOffset(key->tuple->t_info);
	Size		in_head;
	uint64		head = pg_hton64(fpb_head_bytes(ix, key->head));
	Size		header;
	Size		length;
	const char *bytes = fpb_plain_first(ix, key->tuple, &header, &length);
	char	   *to = space->data + start + header;
	Size		whole;

	write_prefix(ix, key->cut_in, to, sizeof(space->data) - start - header, there);
	in_head = there->rest > 0 ? 0 : fpb_bytes_in_head(ix, key->head);
	whole = there->first + in_head + length;
	if (unlikely(start + header + whole > sizeof(space->data)))
		fpb_tuple_damaged(ix, key->tuple, FPB_TOO_LONG);
	if (unlikely(header == VARHDRSZ_SHORT && header + whole > VARATT_SHORT_MAX))
		fpb_tuple_damaged(ix, key->tuple, "column is too long for its header");
	space->header = *key->tuple;
	if (unlikely(start > sizeof(IndexTupleData)))
		memcpy(space->data, key->tuple, start); /* the bitmap of NULLs, too */
	fpb_copy_short(to + there->first, (char *) &head, in_head);
	fpb_copy_short(to + there->first + in_head, bytes, length);
	fpb_finish_first(ix, key->tuple, header, length, whole, space);
	return &space->header;
}

/*
 * The number that a key's tuple lacks: its bytes are the last ones of the
 * prefix and those of the head, behind the zero that ends the text, which has
 * text_in_head bytes of the head.  Raises an error if there is no such number.
 */
static inline uint64
number_of_key(const FpbIndex *ix, const FpbKey *key, Size text_in_head, const FpbPrefixThere *there)
{
	const int	most = sizeof(key->head);
	uint64		bytes;
	uint8		ninth = 0;
	int			length;
	uint64		number;

	if (there->rest == 0)
	{
		int			before = (int) text_in_head + FPB_TEXT_END;

		length = most - before;
		bytes = length == 0 ? 0 : key->head << (BITS_PER_BYTE * before);
	}
	else
	{
		int			before = (int) there->rest - FPB_TEXT_END;

		length = most + before;
		bytes = there->number;
		ninth = there->ninth;
		if (before < most)
			bytes |= key->head >> (BITS_PER_BYTE * before);
		if (before > 0 && before <= most)
			ninth = (uint8) (key->head >> (BITS_PER_BYTE * (before - 1)));
	}
	if (unlikely(!fpb_number_of_bytes(&ix->cols[1], bytes, ninth, length, &number)))
		fpb_tuple_damaged(ix, key->tuple, "number is not in its head");
	return number;
}

/*
 * Write the text that a key's tuple lacks, of which the prefix is there,
 * behind its short header.  Returns how many bytes of it are in the head, and
 * where the value ends.  Raises an error if it does not end in the head.
 *
 * The bytes behind the value may change: there are some more than a tuple
 * needs in all memory for one.
 */
static inline Size
write_text(const FpbIndex *ix, const FpbKey *key, char *to, const FpbPrefixThere *there, Size *end)
{
	uint64		head = pg_hton64(key->head);
	Size		in_head = there->rest > 0 ? 0 : fpb_bytes_in_head(ix, key->head);

	*end = VARHDRSZ_SHORT + there->first + in_head;
	if (unlikely(in_head == (Size) fpb_cut_head_bytes(ix) || *end > VARATT_SHORT_MAX))
		fpb_tuple_damaged(ix, key->tuple, no_end);
	SET_VARSIZE_SHORT(to, *end);
	if (there->rest == 0)
		memcpy(to + VARHDRSZ_SHORT + there->first, &head, sizeof(head));
	return in_head;
}

/*
 * Add the second column, a number, to the data of a tuple being made, which
 * end with the first column.  Returns where they end.
 */
static inline Size
add_number(const FpbIndex *ix, char *to, Size end, uint64 number)
{
	const FpbColumn *col = &ix->cols[1];
	Size		begin = TYPEALIGN(col->align, end);

	/* the padding; the bytes behind may change */
	memset(to + end, 0, sizeof(uint64));
	switch (col->length)
	{
		case sizeof(int64):
			memcpy(to + begin, &number, sizeof(int64));
			break;
		case sizeof(int32):
			*(int32 *) (to + begin) = (int32) number;
			break;
		case sizeof(int16):
			*(int16 *) (to + begin) = (int16) number;
			break;
		default:
			to[begin] = (char) number;
	}
	return begin + col->length;
}

/*
 * Add the second column, a text with a header of so many bytes, to the data of
 * a tuple being made, which end with the first column, of which first_in_head
 * bytes are in the head.  The key's tuple has the last length bytes of it.
 * There is room for so many bytes of data.  Returns where they end.
 *
 * The bytes behind a short text may change.
 */
static inline Size
add_second(const FpbIndex *ix, const FpbKey *key, Size header, const char *last, Size length,
		   char *to, Size end, Size room, Size first_in_head, FpbPrefixThere *there)
{
	Size		in_prefix = second_in_prefix(ix, there);
	Size		before = there->rest == 0 ? first_in_head + fpb_first_end(ix) + FPB_TEXT_BEGIN :
		there->rest == fpb_first_end(ix) ? FPB_TEXT_BEGIN : 0;
	uint64		head = before >= sizeof(head) ? 0 : key->head << (BITS_PER_BYTE * before);
	Size		in_head = fpb_bytes_before_zero(head);
	Size		whole = in_prefix + in_head + length;
	Size		begin = header == VARHDRSZ_SHORT ? end : TYPEALIGN(ix->cols[1].align, end);
	char	   *bytes = to + begin + header;

	if (unlikely(begin + header + whole > room))
		fpb_tuple_damaged(ix, key->tuple, FPB_TOO_LONG);
	if (unlikely(header == VARHDRSZ_SHORT && header + whole > VARATT_SHORT_MAX))
		fpb_tuple_damaged(ix, key->tuple, "column is too long for its header");
	if (unlikely(header != VARHDRSZ_SHORT))
	{
		memmove(bytes, to + end + VARHDRSZ_SHORT, in_prefix);
		memset(to + end, 0, begin - end);
		there->page = NULL;
	}
	fpb_set_size(to + begin, header, header + whole);
	head = pg_hton64(head);
	if (likely(header == VARHDRSZ_SHORT))
		memcpy(bytes + in_prefix, &head, sizeof(head));
	else
		memcpy(bytes + in_prefix, &head, in_head);
	fpb_copy_short(bytes + in_prefix + in_head, last, length);
	return begin + header + whole;
}

/*
 * Add the second column of a key's tuple, a text, likewise, if it is not NULL,
 * and not compressed.
 */
static inline Size
read_second(const FpbIndex *ix, const FpbKey *key, FpbTupleReader *reader, char *to, Size end,
			Size room, Size first_in_head, FpbPrefixThere *there, bool *aligned)
{
	FpbTupleReader next = *reader;
	const char *value = fpb_next_column(&next);
	Size		header;

	if (value == NULL || VARATT_IS_4B_C(value))
	{
		if (second_in_prefix(ix, there) > 0)
			there->page = NULL; /* that will be overwritten */
		return end;
	}
	*reader = next;
	*aligned |= fpb_needs_alignment(&ix->cols[1], value);
	header = VARATT_IS_1B(value) ? VARHDRSZ_SHORT : VARHDRSZ;
	return add_second(ix, key, header, value + header,
					  reader->data + reader->off - value - header, to, end, room, first_in_head,
					  there);
}

/*
 * The number that a key's tuple lacks, as a value of its column.
 */
static inline Datum
number_datum(const FpbIndex *ix, const FpbKey *key, FpbJoiner *joiner)
{
	char	   *to = joiner->space.data + IndexInfoFindDataOffset(0) + VARHDRSZ_SHORT;
	Size		in_head = 0;
	uint64		number;

	write_prefix(ix, key->cut_in, to, VARATT_SHORT_MAX - VARHDRSZ_SHORT, &joiner->there);
	if (joiner->there.rest == 0)
		in_head = fpb_bytes_in_head(ix, key->head);
	if (unlikely(in_head == sizeof(key->head)))
		fpb_tuple_damaged(ix, key->tuple, no_end);
	number = number_of_key(ix, key, in_head, &joiner->there);
	switch (ix->cols[1].length)
	{
		case sizeof(int64):
			return Int64GetDatum((int64) number);
		case sizeof(int32):
			return Int32GetDatum((int32) number);
		case sizeof(int16):
			return Int16GetDatum((int16) number);
		default:
			return CharGetDatum((char) number);
	}
}

/*
 * See key/join_tuple.h.
 */
void
fpb_later_datums(const FpbIndex *ix, const FpbKey *key, int ncolumns, FpbJoiner *joiner,
				 Datum *values, bool *isnull)
{
	int			lacking = key->cut_in == NULL ? 0 : fpb_lacking_columns(ix, key->tuple);
	FpbTupleReader reader;

	if (lacking > 0 && (ix->last_bytes || (ix->second == FPB_SECOND_TEXT &&
										   fpb_first_left(ix, key->tuple) == 0)))
	{
		fpb_tuple_datums(ix, fpb_join_next(ix, key, joiner), ncolumns, values, isnull);
		return;
	}
	if (lacking == 2)
	{
		values[1] = number_datum(ix, key, joiner);
		isnull[1] = false;
		return;
	}
	fpb_begin_with_second(&reader, ix, key->tuple, lacking == 1);
	for (int i = 1; i < ncolumns; i++)
		values[i] = fpb_read_column(&reader, &isnull[i]);
}

/*
 * A copy of a key's tuple in *space, with the text that it lacks, and with
 * what it lacks of the second column.
 */
static IndexTuple
add_text(const FpbIndex *ix, const FpbKey *key, FpbTupleSpace *space, FpbPrefixThere *there)
{
	const FpbColumn *second = &ix->cols[1];
	FpbTupleReader reader;
	Size		start = IndexInfoFindDataOffset(key->tuple->t_info);
	char	   *to = space->data + start;
	Size		room = sizeof(space->data) - start;
	bool		aligned = false;
	Size		in_head;
	Size		end;

	write_prefix(ix, key->cut_in, to + VARHDRSZ_SHORT, room - VARHDRSZ_SHORT, there);
	in_head = write_text(ix, key, to, there, &end);
	space->header = *key->tuple;
	if (unlikely(start > sizeof(IndexTupleData)))
		memcpy(space->data, key->tuple, start); /* the bitmap of NULLs, too */
	if (!fpb_lacks_second(ix, key->tuple))
	{
		fpb_begin_with_second(&reader, ix, key->tuple, true);
		if (ix->second == FPB_SECOND_TEXT)
			end = read_second(ix, key, &reader, to, end, room, in_head, there, &aligned);
		end = fpb_copy_rest(ix, &reader, space, start, end, &aligned);
	}
	else if (ix->second == FPB_SECOND_TEXT)
		end = add_second(ix, key, VARHDRSZ_SHORT, "", 0, to, end, room, in_head, there);
	else
	{
		end = add_number(ix, to, end, number_of_key(ix, key, in_head, there));
		aligned = second->align > sizeof(uint16);
	}
	fpb_set_tuple_info(&space->header, start + end, aligned);
	space->header.t_info |= INDEX_VAR_MASK;
	return &space->header;
}

/*
 * The code of a key's first column, which its tuple lacks, or has the last
 * bytes of.  The prefix's bytes are there.
 */
static inline FpbCode
code_of_key(const FpbIndex *ix, const FpbKey *key, const FpbPrefixThere *there)
{
	Size		first = there->first;
	FpbCode		code = {fpb_bytes_head(there->bytes, sizeof(uint64)),
	fpb_bytes_head(there->bytes + sizeof(uint64), sizeof(uint64))};

	if (first < sizeof(uint64))
		code.hi |= key->head >> (BITS_PER_BYTE * first);
	if (ix->first_size == sizeof(uint32))
		code.hi >>= 32;
	if (ix->first_size <= sizeof(uint64))
		return code;
	if (fpb_first_left(ix, key->tuple) > 0)
	{
		const char *left = (char *) key->tuple + IndexInfoFindDataOffset(key->tuple->t_info);

		if (unlikely(IndexTupleSize(key->tuple) < left + FPB_HALF_UUID - (char *) key->tuple))
			fpb_tuple_damaged(ix, key->tuple, FPB_PAST_TUPLE);
		code.lo = fpb_bytes_head(left, FPB_HALF_UUID);
		if (ix->cols[0].desc)
			code.lo = ~code.lo;
	}
	else if (unlikely(first < sizeof(uint64)))
		fpb_tuple_damaged(ix, key->tuple, "uuid is not in its head");
	else if (first < ix->first_size)
		code.lo |= key->head >> (BITS_PER_BYTE * (first - sizeof(uint64)));
	return code;
}

/*
 * Write the value of a code to where the data of a tuple begin.
 */
static inline void
write_code(const FpbIndex *ix, FpbCode code, char *to)
{
	const FpbColumn *col = &ix->cols[0];

	code = fpb_code_direct(col, code);
	if (col->by_value)
		store_att_byval(to, fpb_code_decode(col->word->kind, code, false), col->length);
	else
		fpb_code_bytes(col, code, to);
}

/* where the bytes of a key of two codes are, of which its tuple has the last */
typedef struct KeyParts
{
	const char *first;			/* those of the prefix, zeros behind them; */
	Size		prefix;
	uint64		head;			/* eight more; */
	const char *last;			/* and what is left */
	Size		left;
} KeyParts;

/*
 * The prefix's bytes are there.  Raises an error if these, or those of the
 * tuple, are more than a key has.
 */
static inline KeyParts
parts_of_key(const FpbIndex *ix, const FpbKey *key, const FpbPrefixThere *there)
{
	Size		start = IndexInfoFindDataOffset(key->tuple->t_info);
	KeyParts	parts = {
		.first = there->bytes,
		.prefix = there->first + there->rest,
		.head = key->head,
		.last = (char *) key->tuple + start,
		.left = IndexTupleSize(key->tuple) - start
	};

	if (unlikely(IndexTupleSize(key->tuple) < start || parts.left > FPB_LAST_BYTES_MOST ||
				 parts.prefix > FPB_SEARCH_BYTES - sizeof(uint64)))
		fpb_tuple_damaged(ix, key->tuple, FPB_PAST_TUPLE);
	return parts;
}

/*
 * The eight of a tuple's last bytes from this one on, zeros behind them.
 */
static inline uint64
last_word(const KeyParts *parts, Size at)
{
	if (unlikely(at >= parts->left))
		return 0;
	if (at + sizeof(uint64) > parts->left && parts->left >= sizeof(uint64))
		return fpb_bytes_head(parts->last + parts->left - sizeof(uint64), sizeof(uint64)) <<
			(BITS_PER_BYTE * (at + sizeof(uint64) - parts->left));
	return fpb_bytes_head(parts->last + at, parts->left - at);
}

/*
 * The eight of a key's bytes from this one on, an integer; zeros behind the
 * last.  at is no more than FPB_SEARCH_BYTES - 8.  (To put all bytes together
 * and read them again would have each read wait for several writes.)
 */
static inline uint64
key_word(const KeyParts *parts, Size at)
{
	Size		in_head;

	if (at < parts->prefix)
	{
		uint64		word = fpb_bytes_head(parts->first + at, sizeof(uint64));

		if (parts->prefix - at < sizeof(uint64))
			word |= parts->head >> (BITS_PER_BYTE * (parts->prefix - at));
		return word;
	}
	in_head = at - parts->prefix;
	if (in_head >= sizeof(uint64))
		return last_word(parts, in_head - sizeof(uint64));
	if (in_head == 0)
		return parts->head;
	return parts->head << (BITS_PER_BYTE * in_head) |
		last_word(parts, 0) >> (BITS_PER_BYTE * (sizeof(uint64) - in_head));
}

/*
 * The code of the first column of such a key.
 */
static inline FpbCode
first_of_parts(const FpbIndex *ix, const KeyParts *parts)
{
	FpbCode		code = {key_word(parts, 0), 0};

	if (ix->first_size == sizeof(uint32))
		code.hi >>= 32;
	else if (ix->first_size > sizeof(uint64))
		code.lo = key_word(parts, sizeof(uint64));
	return code;
}

/*
 * Write the value of a second column, which is not NULL, to the data of a
 * tuple being made, which end with the first one.  Returns where they end.
 */
static inline Size
write_second_code(const FpbIndex *ix, const FpbKey *key, const KeyParts *parts, char *to, Size end)
{
	const FpbColumn *col = &ix->cols[1];
	Size		begin = ix->first_size;
	Size		length = parts->prefix + sizeof(uint64) + parts->left;
	uint64		number;
	FpbCode		code;

	if (ix->second == FPB_SECOND_NUMBER)
	{
		if (unlikely(length <= begin ||
					 !fpb_number_of_bytes(col, key_word(parts, begin),
										  (uint8) (key_word(parts, begin + sizeof(uint64)) >> 56),
										  (int) (length - begin), &number)))
			fpb_tuple_damaged(ix, key->tuple, "number is not in its bytes");
		return add_number(ix, to, end, number);
	}
	begin++;
	if (unlikely(length < begin + FPB_UUID_BYTES))
		fpb_tuple_damaged(ix, key->tuple, "uuid is not in its bytes");
	code.hi = key_word(parts, begin);
	code.lo = key_word(parts, begin + sizeof(uint64));
	fpb_code_bytes(col, fpb_code_direct(col, code), to + end);
	return end + FPB_UUID_BYTES;
}

/*
 * A copy of a key's tuple in *space, with both columns, of which it has the
 * last bytes.
 */
static inline IndexTuple
add_last_bytes(const FpbIndex *ix, const FpbKey *key, FpbTupleSpace *space, FpbPrefixThere *there)
{
	Size		start = IndexInfoFindDataOffset(key->tuple->t_info);
	char	   *to = space->data + start;
	Size		end = ix->cols[0].length;
	bool		aligned = ix->cols[0].align > sizeof(uint16);
	KeyParts	parts;

	write_prefix(ix, key->cut_in, to, sizeof(space->data) - start, there);
	parts = parts_of_key(ix, key, there);
	space->header = *key->tuple;
	if (unlikely(start > sizeof(IndexTupleData)))
		memcpy(space->data, key->tuple, start); /* the bitmap of NULLs */
	write_code(ix, first_of_parts(ix, &parts), to);
	if (likely(!IndexTupleHasNulls(key->tuple)))
	{
		end = write_second_code(ix, key, &parts, to, end);
		aligned |= ix->cols[1].align > sizeof(uint16);
	}
	space->header.t_info &= ~INDEX_VAR_MASK;
	fpb_set_tuple_info(&space->header, start + end, aligned);
	return &space->header;
}

/*
 * See key/join_tuple.h.
 */
Datum
fpb_first_of_head(const FpbIndex *ix, const FpbKey *key)
{
	const FpbColumn *col = &ix->cols[0];
	FpbTupleSpace space;
	FpbPrefixThere there = {0};

	Assert(!ix->last_bytes);
	write_prefix(ix, key->cut_in, space.data, sizeof(space.data), &there);
	return fpb_code_decode(col->word->kind, fpb_code_direct(col, code_of_key(ix, key, &there)),
						   false);
}

/*
 * Has a tuple that lacks a code a column of variable length that is not NULL?
 */
static inline bool
has_varlena(const FpbIndex *ix, IndexTuple tuple)
{
	if (ix->rest == FPB_REST_FIXED)
		return false;
	for (int i = 1; i < ix->natts; i++)
	{
		if (ix->cols[i].length < 0 &&
			!(IndexTupleHasNulls(tuple) &&
			  att_isnull(i, (uint8 *) ((char *) tuple + sizeof(IndexTupleData)))))
			return true;
	}
	return false;
}

/*
 * A copy of a key's tuple in *space, with the code of its first column, and
 * with what it lacks of the second.
 */
static IndexTuple
add_code(const FpbIndex *ix, const FpbKey *key, FpbTupleSpace *space, FpbPrefixThere *there)
{
	const FpbColumn *first = &ix->cols[0];
	IndexTuple	tuple = key->tuple;
	FpbTupleReader reader;
	Size		start;
	char	   *to;
	Size		room;
	bool		aligned = (tuple->t_info & INDEX_AM_RESERVED_BIT) != 0;
	Size		in_head;
	Size		end = first->length;
	Size		moves;

	if (ix->last_bytes)
		return add_last_bytes(ix, key, space, there);
	fpb_begin_with_second(&reader, ix, tuple, true);
	start = reader.data - (char *) tuple;
	to = space->data + start;
	room = sizeof(space->data) - start;
	write_prefix(ix, key->cut_in, to, room, there);
	in_head = fpb_first_in_head(ix, there->first, key->head);
	space->header = *tuple;
	if (unlikely(start > sizeof(IndexTupleData)))
		memcpy(space->data, tuple, start);	/* the bitmap of NULLs, too */
	write_code(ix, code_of_key(ix, key, there), to);

	moves = end - reader.off;
	if (fpb_lacks_second(ix, tuple))
	{
		end = add_second(ix, key, VARHDRSZ_SHORT, "", 0, to, end, room, in_head, there);
		aligned = false;
	}
	else if (ix->second == FPB_SECOND_TEXT && reader.off == 0)
	{
		aligned = false;
		end = read_second(ix, key, &reader, to, end, room, in_head, there, &aligned);
		end = fpb_copy_rest(ix, &reader, space, start, end, &aligned);
	}
	else if (moves % (aligned ? ix->tuple_align : sizeof(uint16)) != 0)
		end = fpb_copy_rest(ix, &reader, space, start, end, &aligned);
	else if (unlikely(reader.off > reader.size || start + end + reader.size > sizeof(space->data)))
		fpb_tuple_damaged(ix, tuple, FPB_TOO_LONG);
	else
	{
		/* the columns keep their alignment, so they are moved all at once */
		fpb_copy_short(to + end, reader.data + reader.off, reader.size - reader.off);
		end += reader.size - reader.off;
	}
	fpb_set_tuple_info(&space->header, start + end, aligned || first->align > sizeof(uint16));
	space->header.t_info &= ~INDEX_VAR_MASK;
	if (has_varlena(ix, tuple))
		space->header.t_info |= INDEX_VAR_MASK;
	return &space->header;
}

static pg_attribute_always_inline IndexTuple
join_tuple(const FpbIndex *ix, const FpbKey *key, FpbTupleSpace *space, FpbPrefixThere *there)
{
	if (!fpb_is_cut(ix, key->tuple))
		return key->tuple;
	if (ix->first_size > 0)
		return add_code(ix, key, space, there);
	if (fpb_lacks_text(ix, key->tuple))
		return add_text(ix, key, space, there);
	return add_bytes(ix, key, space, there);
}

/*
 * See key/join_tuple.h.
 */
IndexTuple
fpb_join_tuple(const FpbIndex *ix, const FpbKey *key, FpbTupleSpace *space)
{
	FpbPrefixThere there = {0};

	return join_tuple(ix, key, space, &there);
}

/*
 * Where do the columns from the second on begin in the data of a tuple, or of
 * one without its first column, in which what is stored before them ends at
 * "end"?  Returns -1 unless they are sound, and take the rest of the size
 * bytes; if they are one varlena, it has a short header.
 */
static inline int
plain_rest(const FpbIndex *ix, const char *data, Size size, Size end)
{
	if (ix->rest == FPB_REST_SHORT)
		return end < size && VARATT_IS_1B(data + end) && VARSIZE_1B(data + end) == size - end &&
			VARSIZE_1B(data + end) >= ix->cols[1].plain_from ? (int) end : -1;
	if (ix->natts > 1)
		end = TYPEALIGN(ix->cols[1].align, end);
	return end + ix->rest_size == size ? (int) end : -1;
}

/*
 * Copy those columns, which begin at "from" in a tuple's data, to a tuple
 * being made, where the first column ends at "end".  Returns where they end.
 */
static inline Size
copy_plain_rest(const FpbIndex *ix, char *to, Size end, const char *from, Size length)
{
	Size		begin = ix->rest == FPB_REST_FIXED ? TYPEALIGN(ix->cols[1].align, end) : end;

	if (length == 0)
		return end;
	while (end < begin)
		to[end++] = 0;
	fpb_copy_short(to + end, from, length);
	return end + length;
}

/*
 * Is the prefix of a key's page where it has to be if no column is NULL,
 * behind a short header, or is it a code?
 */
static inline bool
prefix_is_there(const FpbIndex *ix, const FpbKey *key, const FpbJoiner *joiner)
{
	Size		begin = IndexInfoFindDataOffset(0) + (ix->first_size > 0 ? 0 : VARHDRSZ_SHORT);

	return joiner->there.page == key->cut_in && joiner->there.at == joiner->space.data + begin;
}

/*
 * fpb_join_plain of a tuple that lacks a text before another, of which it may
 * have the end, and whose data have size bytes.
 */
static IndexTuple
join_plain_texts(const FpbIndex *ix, const FpbKey *key, Size size, FpbJoiner *joiner)
{
	const Size	start = IndexInfoFindDataOffset(0);
	const char *last = (char *) key->tuple + start;
	char	   *to = joiner->space.data + start;
	Size		in_head;
	Size		end;

	if (!prefix_is_there(ix, key, joiner) || (key->tuple->t_info & INDEX_AM_RESERVED_BIT) != 0 ||
		(size > 0 && (!VARATT_IS_1B(last) || VARSIZE_1B(last) != size ||
					  size < ix->cols[1].plain_from)))
		return NULL;
	in_head = write_text(ix, key, to, &joiner->there, &end);
	end = add_second(ix, key, VARHDRSZ_SHORT, last + VARHDRSZ_SHORT,
					 size == 0 ? 0 : size - VARHDRSZ_SHORT, to, end,
					 sizeof(joiner->space.data) - start, in_head, &joiner->there);
	joiner->space.header.t_tid = key->tuple->t_tid;
	joiner->space.header.t_info = INDEX_VAR_MASK | (start + end);
	return &joiner->space.header;
}

/*
 * fpb_join_plain of a tuple that lacks a text, and whose data have size bytes.
 */
static IndexTuple
join_plain_text(const FpbIndex *ix, const FpbKey *key, Size size, FpbJoiner *joiner)
{
	const FpbColumn *second = &ix->cols[1];
	const Size	start = IndexInfoFindDataOffset(0);
	char	   *to = joiner->space.data + start;
	bool		needs_alignment = second->align > sizeof(uint16);
	bool		aligned = (key->tuple->t_info & INDEX_AM_RESERVED_BIT) != 0;
	Size		in_head;
	Size		end;

	if (ix->second == FPB_SECOND_TEXT)
		return join_plain_texts(ix, key, size, joiner);
	if (!prefix_is_there(ix, key, joiner) ||
		(size == 0 ? aligned || ix->natts != 2 : aligned != needs_alignment || size != ix->rest_size))
		return NULL;
	in_head = write_text(ix, key, to, &joiner->there, &end);
	if (size > 0)
		end = copy_plain_rest(ix, to, end, (char *) key->tuple + start, size);
	else
		end = add_number(ix, to, end, number_of_key(ix, key, in_head, &joiner->there));
	joiner->space.header.t_tid = key->tuple->t_tid;
	joiner->space.header.t_info = INDEX_VAR_MASK |
		(needs_alignment ? INDEX_AM_RESERVED_BIT : 0) | (start + end);
	return &joiner->space.header;
}

/*
 * Write the first column of a key of two codes.  The prefix and the head have
 * the first "known" bytes of the key, and its tuple the last ones, "size".  A
 * uuid's bytes are those of its code, if it is ascending.  False if the value
 * has to be made otherwise.  The bytes behind it may change.
 *
 * What a prefix has of the values is there, and nothing is written over it.
 * So a first column that is in the prefix is there, too.
 */
static inline bool
write_plain_first(const FpbIndex *ix, const FpbKey *key, Size known, const char *last, Size size,
				  char *to, const FpbPrefixThere *there)
{
	uint64		head = pg_hton64(key->head);

	if (known >= ix->first_size + sizeof(head))
		return true;
	if (known + size <= ix->first_size)
		return false;
	if (ix->cols[0].by_value)
	{
		write_code(ix, code_of_key(ix, key, there), to);
		return true;
	}
	if (ix->cols[0].desc)
		return false;
	memcpy(to + there->first, &head, sizeof(head));
	if (known < ix->first_size)
		fpb_copy_short(to + known, last, ix->first_size - known);
	return true;
}

/*
 * Write the second column of such a key, an ascending uuid; so many bytes of
 * the key are not in the prefix.  As above.
 */
static inline void
write_plain_uuid(const FpbKey *key, Size lacking, const char *last, Size size, char *to)
{
	const Size	whole = FPB_UUID_BYTES;
	uint64		head;

	if (lacking <= whole)
	{
		head = pg_hton64(key->head);
		memcpy(to + whole - lacking, &head, sizeof(head));
		fpb_copy_short(to + whole - lacking + sizeof(head), last, size);
	}
	else if (lacking - whole < sizeof(head))
	{
		Size		before = lacking - whole;

		head = pg_hton64(key->head << (BITS_PER_BYTE * before));
		memcpy(to, &head, sizeof(head));
		fpb_copy_short(to + sizeof(head) - before, last, size);
	}
	else
		memcpy(to, last + size - whole, whole);
}

/*
 * fpb_join_plain of a tuple with the size last bytes of a key, whose data are
 * no others.
 */
static inline IndexTuple
join_plain_last(const FpbIndex *ix, const FpbKey *key, Size size, FpbJoiner *joiner)
{
	const FpbColumn *first = &ix->cols[0];
	const FpbColumn *second = &ix->cols[1];
	const Size	start = IndexInfoFindDataOffset(0);
	const char *last = (char *) key->tuple + start;
	char	   *to = joiner->space.data + start;
	Size		prefix = joiner->there.first + joiner->there.rest;
	Size		end = first->length;
	bool		aligned = first->align > sizeof(uint16) || second->align > sizeof(uint16);

	if ((key->tuple->t_info & ~INDEX_SIZE_MASK) != 0 || size > FPB_LAST_BYTES_MOST ||
		!prefix_is_there(ix, key, joiner))
		return NULL;
	if (!write_plain_first(ix, key, prefix + sizeof(key->head), last, size, to, &joiner->there))
		return add_last_bytes(ix, key, &joiner->space, &joiner->there);
	if (ix->second == FPB_SECOND_UUID && !second->desc)
	{
		Size		lacking = ix->first_size + FPB_SECOND_MOST - prefix;

		if (size + sizeof(key->head) != Max(lacking, sizeof(key->head)))
			return NULL;
		write_plain_uuid(key, lacking, last, size, to + end);
		end += FPB_UUID_BYTES;
	}
	else
	{
		KeyParts	parts = parts_of_key(ix, key, &joiner->there);

		end = write_second_code(ix, key, &parts, to, end);
	}
	joiner->space.header.t_tid = key->tuple->t_tid;
	joiner->space.header.t_info = (aligned ? INDEX_AM_RESERVED_BIT : 0) | (start + end);
	return &joiner->space.header;
}

/*
 * fpb_join_plain of a tuple that lacks a code, and whose data have size bytes.
 */
static IndexTuple
join_plain_code(const FpbIndex *ix, const FpbKey *key, Size size, FpbJoiner *joiner)
{
	const FpbColumn *first = &ix->cols[0];
	const Size	start = IndexInfoFindDataOffset(0);
	const char *data = (char *) key->tuple + start;
	char	   *to = joiner->space.data + start;
	Size		room = sizeof(joiner->space.data) - start;
	uint16		info = key->tuple->t_info & ~INDEX_SIZE_MASK;
	Size		left = fpb_first_left(ix, key->tuple);
	bool		lacks_second = fpb_lacks_second(ix, key->tuple);
	bool		aligned = ix->rest == FPB_REST_FIXED && ix->cols[1].align > sizeof(uint16);
	int			rest;
	Size		in_head;
	Size		end = first->length;

	rest = lacks_second ? 0 : plain_rest(ix, data, size, left);

	if (rest < 0 || !prefix_is_there(ix, key, joiner) ||
		info != ((left == 0 ? INDEX_VAR_MASK : 0) |
				 (aligned && !lacks_second ? INDEX_AM_RESERVED_BIT : 0)))
		return NULL;
	/* a code that is in the prefix is there */
	if (joiner->there.first < ix->first_size)
		write_code(ix, code_of_key(ix, key, &joiner->there), to);
	in_head = fpb_first_in_head(ix, joiner->there.first, key->head);
	if (ix->second == FPB_SECOND_TEXT && left == 0)
		end = add_second(ix, key, VARHDRSZ_SHORT, data + VARHDRSZ_SHORT,
						 size == 0 ? 0 : size - VARHDRSZ_SHORT, to, end, room, in_head,
						 &joiner->there);
	else
		end = copy_plain_rest(ix, to, end, data + rest, size - rest);
	joiner->space.header.t_tid = key->tuple->t_tid;
	joiner->space.header.t_info = (ix->rest == FPB_REST_SHORT ? INDEX_VAR_MASK : 0) |
		(aligned || first->align > sizeof(uint16) ? INDEX_AM_RESERVED_BIT : 0) | (start + end);
	return &joiner->space.header;
}

/*
 * See key/join_tuple.h.  What it takes for granted is what fpb_tuple_is_plain
 * asks for.
 */
IndexTuple
fpb_join_plain(const FpbIndex *ix, const FpbKey *key, FpbJoiner *joiner)
{
	IndexTuple	tuple = key->tuple;
	const Size	start = IndexInfoFindDataOffset(0);
	const char *data = (char *) tuple + start;
	char	   *to = joiner->space.data + start;
	OffsetNumber offset = ItemPointerGetOffsetNumberNoCheck(&tuple->t_tid);
	Size		size = IndexTupleSize(tuple);
	uint16		info = tuple->t_info & ~INDEX_SIZE_MASK;
	bool		aligned = ix->rest == FPB_REST_FIXED && ix->natts > 1 &&
		ix->cols[1].align > sizeof(uint16);
	Size		prefix;
	Size		in_head;
	uint64		head;
	Size		length;
	Size		end;
	int			rest;

	if (ix->rest == FPB_REST_ANY || size < start || size > ix->cut_most ||
		offset == InvalidOffsetNumber ||
		(offset > FPB_TAIL_MAX_OFFSET && (offset & FPB_POSTING_BIT) == 0))
		return NULL;
	size -= start;
	if (ix->last_bytes)
		return join_plain_last(ix, key, size, joiner);
	if (ix->first_size > 0)
		return join_plain_code(ix, key, size, joiner);
	if (ix->second != FPB_SECOND_NONE && (info & ~INDEX_AM_RESERVED_BIT) == 0)
		return join_plain_text(ix, key, size, joiner);
	if (size == 0 || info != (INDEX_VAR_MASK | (aligned ? INDEX_AM_RESERVED_BIT : 0)) ||
		!VARATT_IS_1B(data) || VARSIZE_1B(data) < ix->cols[0].plain_from ||
		VARSIZE_1B(data) > size)
		return NULL;
	length = VARSIZE_1B(data) - VARHDRSZ_SHORT;
	rest = plain_rest(ix, data, size, VARHDRSZ_SHORT + length);
	prefix = fpb_page_prefix(ix, key->cut_in);
	in_head = fpb_bytes_in_head(ix, key->head);
	end = VARHDRSZ_SHORT + prefix + in_head + length;
	if (rest < 0 || end > VARATT_SHORT_MAX ||
		!prefix_is_there(ix, key, joiner) || joiner->there.rest > 0)
		return NULL;
	head = pg_hton64(fpb_head_bytes(ix, key->head));
	SET_VARSIZE_SHORT(to, end);
	fpb_copy_short(to + VARHDRSZ_SHORT + prefix, (char *) &head, in_head);
	fpb_copy_short(to + end - length, data + VARHDRSZ_SHORT, length);
	end = copy_plain_rest(ix, to, end, data + rest, size - rest);
	joiner->space.header.t_tid = tuple->t_tid;
	joiner->space.header.t_info = (info & ~INDEX_AM_RESERVED_BIT) |
		(aligned ? INDEX_AM_RESERVED_BIT : 0) | (start + end);
	return &joiner->space.header;
}

/*
 * See key/join_tuple.h.
 */
IndexTuple
fpb_join_next(const FpbIndex *ix, const FpbKey *key, FpbJoiner *joiner)
{
	return join_tuple(ix, key, &joiner->space, &joiner->there);
}

/*
 * See key/join_tuple.h.
 */
IndexTuple
fpb_copy_whole_tuple(const FpbIndex *ix, const FpbKey *key)
{
	FpbTupleSpace space;
	IndexTuple	whole = fpb_whole_tuple(ix, key, &space);
	IndexTuple	copy = palloc(IndexTupleSize(whole));

	fpb_copy_bytes(copy, whole, IndexTupleSize(whole));
	return copy;
}

/*
 * Compare a part of a key with the next bytes of a search key, and go on
 * behind these.  Returns the sign of the key's part against them.
 */
static inline int
compare_part(const char *part, Size size, const char **searched, Size *left)
{
	Size		n = Min(size, *left);
	int			order = memcmp(part, *searched, n);

	*searched += n;
	*left -= n;
	return order == 0 && n < size ? 1 : order;
}

/*
 * Compare the first bytes of a cut key's first column, which its tuple lacks,
 * with those of a search key, and go on behind these.
 */
static inline int
compare_lacking(const FpbIndex *ix, const FpbKey *key, bool has_prefix, const char **searched,
				Size *left)
{
	Size		prefix = fpb_page_prefix(ix, key->cut_in);
	uint64		head = pg_hton64(fpb_head_bytes(ix, key->head));
	Size		in_head = fpb_bytes_in_head(ix, key->head);
	FpbKeyBytes bytes;
	int			order = 0;

	if (has_prefix)
	{
		Size		same = Min(prefix + in_head, *left);

		*searched += same;
		*left -= same;
		return 0;
	}
	if (prefix > 0)
	{
		prefix_bytes(ix, key->cut_in, &bytes);
		order = compare_part(bytes.data, Min(bytes.first, prefix), searched, left);
		if (bytes.first < prefix)
			in_head = 0;
		fpb_free_bytes(&bytes);
	}
	return order != 0 ? order : compare_part((char *) &head, in_head, searched, left);
}

/*
 * fpb_compare_first where the first column is a code, of which the key's tuple
 * lacks something.
 */
static int
compare_codes(const FpbIndex *ix, const FpbKey *key, const FpbSearchKey *search)
{
	const FpbColumn *col = &ix->cols[0];
	FpbTupleSpace space;
	FpbPrefixThere there = {0};
	FpbCode		code;
	char		bytes[2 * sizeof(uint64)];

	if (unlikely(search->cols[0].isnull))
		return col->nulls_first ? 1 : -1;
	write_prefix(ix, key->cut_in, space.data, sizeof(space.data), &there);
	if (ix->last_bytes)
	{
		KeyParts	parts = parts_of_key(ix, key, &there);

		code = first_of_parts(ix, &parts);
	}
	else
		code = code_of_key(ix, key, &there);
	fpb_code_bytes(col, code, bytes);
	return memcmp(bytes, search->bytes, ix->first_size);
}

/*
 * See key/join_tuple.h.  The order of the first column is that of bytes, so
 * those of one that is cut need not be joined.
 */
int
fpb_compare_first(const FpbIndex *ix, const FpbKey *key, const FpbSearchKey *search,
				  bool has_prefix)
{
	const FpbColumn *col = &ix->cols[0];
	FpbKeyBytes bytes;
	FpbKeyBytes other;
	const char *searched;
	Size		left;
	int			order = 0;

	if (ix->first_size > 0)
		return compare_codes(ix, key, search);
	bytes.data = "";
	bytes.length = 0;
	bytes.copy = NULL;
	if (!fpb_lacks_text(ix, key->tuple))
	{
		bool		isnull;
		Datum		value = fpb_read_first_column(ix, key->tuple, &isnull);

		if (unlikely(isnull || search->cols[0].isnull))
			return fpb_compare_values(col, search->cols[0].cmp, value, isnull,
									  search->cols[0].value, search->cols[0].isnull);
		fpb_first_bytes(ix, value, BLCKSZ, &bytes);
	}
	else if (unlikely(search->cols[0].isnull))
		return col->nulls_first ? 1 : -1;
	fpb_first_bytes(ix, search->cols[0].value, BLCKSZ, &other);
	searched = other.data;
	left = other.length;
	if (key->cut_in != NULL && fpb_is_cut(ix, key->tuple))
		order = compare_lacking(ix, key, has_prefix, &searched, &left);
	if (order == 0)
		order = memcmp(bytes.data, searched, Min(bytes.length, left));
	if (order == 0)
		order = pg_cmp_size(bytes.length, left);
	fpb_free_bytes(&bytes);
	fpb_free_bytes(&other);
	return order == 0 ? 0 : (order < 0) != col->desc ? -1 : 1;
}
