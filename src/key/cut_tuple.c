/*-------------------------------------------------------------------------
 *
 * key/cut_tuple.c
 *	  Tuples in leaves, which lack the prefix and the head, or their first
 *	  column.
 *
 * In leaves, tuples are *cut*: their first columns lack the prefix, which the
 * page's low fence has, and the bytes of the head behind it.  If the last of
 * these is zero, though, the value may end before, and only the prefix is cut
 * off.  (Where bytes go on into the second column, a zero ends the text, and
 * there is no doubt.)  So the key's head in the page tells what to join.  A
 * tuple that is longer than ix->cut_most is not cut, and neither is one whose
 * first column is compressed.  A tuple in a page shows whether it is cut,
 * because none that is cut is so long.
 *
 * A cut tuple is a tuple, whose first column has another value.  Its header
 * stays as short or as long as it was.  So what has been cut can be joined
 * again, to the same bytes.
 *
 * Where bytes go on into the second column (ix->second), a text that ends
 * within the head is left out with its header, if that is a short one.  The
 * flag of variable lengths shows it, because each tuple with a text has that.
 * If there are no other columns, and the second ends within the head, too, the
 * tuple has no data at all (unless that is a text with a long header).
 *
 * A tuple that lacks its first column also lacks those bytes of the second, if
 * that is a text and not compressed, that are in the prefix and in the head:
 * there up to the first zero, because a text has none.  Its header stays, as
 * short or as long as it was.
 *
 * Where the first column has a code of which its value can be made again
 * (ix->first_size), cut tuples lack all of it, and the columns behind it are
 * aligned as if they were the first ones.  But a uuid has 16 bytes, and a
 * prefix of fewer than 8 and a head have not all of them.  Then only its first
 * half is cut off, though they may have more.  The flag of variable lengths
 * tells: it is set if all is cut off.  What is lacking of the second column is
 * the same as behind a text that is cut off; a uuid stays.  A NULL has no code
 * of its own.  The bitmap says that it is one, so there is nothing to cut.
 * (Where heads are pairs, there are no prefixes, and heads have all of a
 * code.)
 *
 * Where the index has no more than such a column and a number or a uuid behind
 * it (ix->last_bytes), cut tuples have bytes in place of both: those of the
 * key that follow the prefix and the head, none if there are none.  If the
 * second column is NULL, the bitmap is before them.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "key/cut_tuple.h"

/*
 * See key/cut_tuple.h.
 */
Size
fpb_copy_rest(const FpbIndex *ix, FpbTupleReader *reader, FpbTupleSpace *space, Size start,
			  Size end, bool *aligned)
{
	char	   *to = space->data + start;

	while (reader->next < ix->natts)
	{
		const FpbColumn *col = &ix->cols[reader->next];
		const char *value = fpb_next_column(reader);
		Size		begin = end;
		Size		length;

		if (value == NULL)
			continue;
		length = reader->data + reader->off - value;
		if (col->length != -1 || !VARATT_IS_1B(value))
			begin = TYPEALIGN(col->align, end);
		if (unlikely(start + begin + length > sizeof(space->data)))
			fpb_tuple_damaged(ix, reader->tuple, FPB_TOO_LONG);
		*aligned |= fpb_needs_alignment(col, value);
		for (; end < begin; end++)
			to[end] = 0;
		fpb_copy_short(to + begin, value, length);
		end = begin + length;
	}
	return end;
}

/*
 * Can the first column of a tuple be cut, or have been cut?
 */
static bool
has_plain_first(IndexTuple tuple)
{
	Size		start = IndexInfoFindDataOffset(tuple->t_info);
	const char *value = (char *) tuple + start;

	if (IndexTupleSize(tuple) <= start ||
		(IndexTupleHasNulls(tuple) &&
		 att_isnull(0, (uint8 *) ((char *) tuple + sizeof(IndexTupleData)))))
		return false;
	return VARATT_IS_1B(value) ? !VARATT_IS_1B_E(value) : VARATT_IS_4B_U(value);
}

/*
 * See key/cut_tuple.h.  (What is not cut because it is too long is still too
 * long.)
 */
bool
fpb_is_cut(const FpbIndex *ix, IndexTuple tuple)
{
	if (ix->first_size > 0)
		return fpb_lacks_first(ix, tuple);
	return fpb_lacks_text(ix, tuple) ||
		(IndexTupleSize(tuple) <= ix->cut_most && has_plain_first(tuple));
}

/*
 * See key/cut_tuple.h.
 */
void
fpb_finish_first(const FpbIndex *ix, IndexTuple tuple, Size header, Size old_length, Size length,
				 FpbTupleSpace *space)
{
	Size		start = IndexInfoFindDataOffset(tuple->t_info);
	Size		end = header + length;

	fpb_set_size(space->data + start, header, end);
	if (ix->natts > 1)
	{
		FpbTupleReader reader;
		bool		aligned = false;

		fpb_begin_reading(&reader, ix, tuple);
		reader.next = 1;
		reader.off = header + old_length;
		end = fpb_copy_rest(ix, &reader, space, start, end, &aligned);
	}
	space->header.t_info = (tuple->t_info & ~INDEX_SIZE_MASK) | (start + end);
}

/*
 * A copy of a tuple in *space, without so many bytes at the beginning of its
 * first column, which is plain.  header_only: if that is the only column, a
 * copy of the header will do.
 */
static inline IndexTuple
drop_bytes(const FpbIndex *ix, IndexTuple tuple, Size less, bool header_only, FpbTupleSpace *space)
{
	Size		start = IndexInfoFindDataOffset(tuple->t_info);
	Size		header;
	Size		length;
	const char *bytes = fpb_plain_first(ix, tuple, &header, &length);

	if (unlikely(length < less))
		fpb_tuple_damaged(ix, tuple, FPB_SHORT_KEY);
	length -= less;
	space->header = *tuple;
	if (header_only && ix->natts == 1)
	{
		space->header.t_info = (tuple->t_info & ~INDEX_SIZE_MASK) | (start + header + length);
		return &space->header;
	}
	if (unlikely(start > sizeof(IndexTupleData)))
		memcpy(space->data, tuple, start);	/* the bitmap of NULLs, too */
	fpb_copy_short(space->data + start + header, bytes + less, length);
	fpb_finish_first(ix, tuple, header, length + less, length, space);
	return &space->header;
}

/*
 * Copy a tuple's next column, a text, to the beginning of the data of one
 * being made, without so many bytes at its beginning, if it has them and is
 * plain.  Returns where it ends.
 */
static inline Size
copy_less(FpbTupleReader *reader, Size less, char *to, bool *aligned)
{
	const FpbColumn *col = &reader->ix->cols[reader->next];
	const char *value = fpb_next_column(reader);
	Size		header;
	Size		length;

	if (value == NULL)
		return 0;
	header = VARATT_IS_1B(value) ? VARHDRSZ_SHORT : VARHDRSZ;
	length = reader->data + reader->off - value - header;
	less = VARATT_IS_4B_C(value) ? 0 : Min(less, length);
	*aligned |= fpb_needs_alignment(col, value);
	memcpy(to, value, header);
	if (less > 0)
		fpb_set_size(to, header, header + length - less);
	fpb_copy_short(to + header, value + header + less, length - less);
	return header + length - less;
}

/*
 * Cut a tuple whose text has a short header and ends in its head, where byte
 * heads go on into the second column.  The prefix and the head have so many
 * bytes behind the text: ends tells whether the second column ends there, too.
 */
static IndexTuple
drop_text(const FpbIndex *ix, IndexTuple tuple, Size behind, bool ends, FpbTupleSpace *space)
{
	FpbTupleReader reader;
	Size		start;
	Size		end = 0;
	bool		aligned = false;

	fpb_begin_with_second(&reader, ix, tuple, false);
	start = reader.data - (char *) tuple;
	memcpy(space->data, tuple, start);
	if (ix->second == FPB_SECOND_TEXT)
		end = copy_less(&reader, fpb_second_of_bytes(ix, 0, behind), space->data + start, &aligned);
	if (ends && ix->natts == 2 && end <= VARHDRSZ_SHORT)
		end = 0;
	else
		end = fpb_copy_rest(ix, &reader, space, start, end, &aligned);
	fpb_set_tuple_info(&space->header, start + end, aligned);
	space->header.t_info &= ~INDEX_VAR_MASK;
	return &space->header;
}

/*
 * Cut a tuple of two codes: a copy with what prefix and head lack of its
 * bytes, which are all there.
 */
static IndexTuple
keep_last_bytes(IndexTuple tuple, const FpbKeyBytes *bytes, Size want, FpbTupleSpace *space)
{
	Size		start = IndexInfoFindDataOffset(tuple->t_info);
	Size		length = Max(bytes->length, want) - want;

	memcpy(space->data, tuple, start);
	fpb_copy_short(space->data + start, bytes->data + want, length);
	fpb_set_tuple_info(&space->header, start + length, false);
	space->header.t_info &= ~INDEX_VAR_MASK;
	return &space->header;
}

/*
 * Cut a tuple whose first column is a code that the prefix and the head, so
 * many bytes, have, or a uuid of which they have the first half.
 */
static IndexTuple
drop_code(const FpbIndex *ix, IndexTuple tuple, const FpbKeyBytes *bytes, Size want,
		  FpbTupleSpace *space)
{
	FpbTupleReader reader;
	Size		start;
	Size		left = want < ix->first_size ? FPB_HALF_UUID : 0;
	Size		end = left;
	bool		aligned = false;
	char	   *to;

	if (ix->last_bytes)
		return keep_last_bytes(tuple, bytes, want, space);
	fpb_begin_with_second(&reader, ix, tuple, false);
	start = reader.data - (char *) tuple;
	to = space->data + start;
	memcpy(space->data, tuple, start);
	if (left > 0)
		memcpy(to, reader.data + FPB_HALF_UUID, FPB_HALF_UUID);
	else if (ix->second == FPB_SECOND_TEXT)
		end = copy_less(&reader, fpb_second_of_bytes(ix, ix->first_size, want), to, &aligned);

	/* a second text that ends within the head has a zero behind it there */
	if (ix->second == FPB_SECOND_TEXT && ix->natts == 2 && end <= VARHDRSZ_SHORT &&
		bytes->length < want)
		end = 0;
	else
		end = fpb_copy_rest(ix, &reader, space, start, end, &aligned);
	fpb_set_tuple_info(&space->header, start + end, aligned);
	if (left > 0)
		space->header.t_info &= ~INDEX_VAR_MASK;
	else
		space->header.t_info |= INDEX_VAR_MASK;
	return &space->header;
}

/*
 * How many of its bytes does it take to cut a whole tuple, or, unless that is
 * to be cut, to make its head?
 */
static inline Size
bytes_to_fit(const FpbIndex *ix, int prefix, bool cut)
{
	return cut && ix->last_bytes ? BLCKSZ : prefix + fpb_cut_head_bytes(ix);
}

/*
 * Cut a tuple, which has these bytes; where only its header is wanted, perhaps
 * no more than that.
 */
static pg_attribute_always_inline IndexTuple
cut_tuple(const FpbIndex *ix, IndexTuple tuple, int prefix, const FpbKeyBytes *bytes,
		  bool header_only, FpbTupleSpace *space)
{
	Size		want = prefix + fpb_cut_head_bytes(ix);
	Size		length = bytes->first;
	bool		ends;

	if (ix->first_size > 0)
		return drop_code(ix, tuple, bytes, want, space);
	if (ix->second == FPB_SECOND_NONE)
		return drop_bytes(ix, tuple, prefix +
						  fpb_bytes_in_head(ix, fpb_head_of_bytes(ix, bytes, prefix)),
						  header_only, space);
	/* a number tells where it ends; a text ends before a zero */
	ends = bytes->length < want || (ix->second == FPB_SECOND_NUMBER && bytes->length == want);
	if (length < want && VARATT_IS_1B((char *) tuple + IndexInfoFindDataOffset(tuple->t_info)))
		return drop_text(ix, tuple, want - length, ends, space);
	return drop_bytes(ix, tuple, Min(length, want), header_only, space);
}

/*
 * See key/cut_tuple.h.
 */
IndexTuple
fpb_cut_header(const FpbIndex *ix, IndexTuple tuple, int prefix, FpbTupleSpace *space)
{
	FpbKeyBytes bytes;
	IndexTuple	header;

	if (!fpb_is_cut(ix, tuple))
		return tuple;
	if (unlikely(!fpb_tuple_bytes(ix, tuple, bytes_to_fit(ix, prefix, true), &bytes)))
		fpb_tuple_damaged(ix, tuple, FPB_SHORT_KEY);
	header = cut_tuple(ix, tuple, prefix, &bytes, true, space);
	fpb_free_bytes(&bytes);
	return header;
}

/*
 * See key/cut_tuple.h.  With a prefix of no bytes the head is that of the
 * whole key.
 */
bool
fpb_fit_key(const FpbIndex *ix, FpbKey *key, int prefix, const FpbKeyBytes *others, bool cut,
			FpbTupleSpace *space)
{
	IndexTuple	tuple = key->tuple;
	bool		is_cut = cut && fpb_is_cut(ix, tuple);
	FpbKeyBytes bytes;
	bool		begins;

	if (prefix == 0 && !is_cut)
		return true;
	if (!fpb_tuple_bytes(ix, tuple, bytes_to_fit(ix, prefix, is_cut), &bytes))
	{
		/* the pivot before all keys; or a damaged one */
		key->head = 0;
		return others == NULL;
	}
	begins = others == NULL || fpb_bytes_begin(&bytes, others, prefix);
	if (begins)
	{
		if (prefix > 0)
			key->head = fpb_head_of_bytes(ix, &bytes, prefix);
		if (is_cut)
			key->tuple = cut_tuple(ix, tuple, prefix, &bytes, false, space);
	}
	fpb_free_bytes(&bytes);
	return begins;
}
