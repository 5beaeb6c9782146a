/*-------------------------------------------------------------------------
 *
 * key/prefix.c
 *	  What the keys of a page have in common, and their heads behind it; and
 *	  tuples that lack these, or their first column.
 *
 * Where heads are the first bytes of the first column, the order of that
 * column is that of memcmp, then of length.  If two keys begin with the same
 * bytes, a *prefix*, so does each key between them.  For let k be a key that
 * does not.  At the first byte at which it differs from the prefix, or ends,
 * it is either less or greater than the prefix.  So it is less, or greater,
 * than whatever begins with the prefix, the two keys among that.  (DESC turns
 * the order around.  A NULL has no bytes, and is not between two keys that
 * have.)
 *
 * Heads in a page are those of what follows the prefix that two keys have in
 * common: its fences, or in an inner page its first and its last key.  They
 * are weakly monotone for the reason that whole heads are (key/head.c).  A key
 * that is not between these two may lack the prefix, so an insertion has to
 * ask.
 *
 * A search key without the prefix has the least head of all in that page if
 * its bytes are less, and the greatest if they are greater.  A NULL has one of
 * these, too, and so has a search key without columns.
 *
 * In leaves, tuples are *cut*: their first columns lack the prefix, which the
 * page's low fence has, and the bytes of the head behind it.  If the last of
 * these is zero, though, the value may end before, and only the prefix is cut
 * off.  So the key's head in the page tells what to join.  A tuple that is
 * longer than ix->cut_most is not cut, and neither is one whose first column
 * is compressed.  A tuple in a page shows whether it is cut, because none that
 * is cut is so long.
 *
 * A cut tuple is a tuple, whose first column has another value.  Its header
 * stays as short or as long as it was.  So what has been cut can be joined
 * again, to the same bytes.
 *
 * Where heads are not bytes but have all of the first column (ix->cut_column),
 * cut tuples lack that, and are no longer than ix->cut_most, too.  Then the
 * value is that of the code in the key's head, and the columns behind it are
 * aligned as if they were the first ones.  A NULL has no code of its own.  The
 * bitmap says that it is one, so there is nothing to cut.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "common/int.h"

#include "key/code.h"
#include "key/key.h"
#include "key/prefix.h"
#include "key/tuple.h"

static const char too_long[] = "column is too long for a tuple without its page's prefix";
static const char short_key[] = "key is shorter than its page's prefix";

/* fpb_value_bytes of the first column; most have a short header, and are bytes */
static inline const char *
bytes_of(const FpbIndex *ix, Datum value, Size want, Size *length, void **copy)
{
	const char *v = DatumGetPointer(value);

	if (ix->cols[0].head == FPB_HEAD_BYTES && likely(VARATT_IS_1B(v) && !VARATT_IS_1B_E(v)))
	{
		*copy = NULL;
		*length = VARSIZE_1B(v) - VARHDRSZ_SHORT;
		return VARDATA_1B(v);
	}
	return fpb_value_bytes(&ix->cols[0], value, Min(want, FPB_SORT_KEY_MOST), length, copy);
}

/*
 * The bytes of a tuple's first column, at least so many as are wanted; NULL if
 * it has none, or is NULL.
 */
static pg_attribute_always_inline const char *
first_bytes(const FpbIndex *ix, IndexTuple tuple, Size want, Size *length, void **copy)
{
	bool		isnull;
	Datum		value;

	*copy = NULL;
	if (fpb_pivot_natts(ix, tuple) == 0)
		return NULL;
	value = fpb_read_first_column(ix, tuple, &isnull);
	if (isnull)
		return NULL;
	return bytes_of(ix, value, want, length, copy);
}

static inline void
free_copy(void *copy)
{
	if (unlikely(copy != NULL))
		pfree(copy);
}

/* The head of these bytes, the first ones of which are left out. */
static inline uint64
head_behind(const FpbIndex *ix, const char *bytes, Size length, Size prefix)
{
	uint64		head = length <= prefix ? 0 : fpb_bytes_head(bytes + prefix, length - prefix);

	if (ix->cols[0].desc)
		head = ~head;
	return ix->head_width == 4 ? head & FPB_HEAD4_MASK : head;
}

/*
 * See key/prefix.h.
 */
int
fpb_common_prefix(const FpbIndex *ix, IndexTuple first, IndexTuple last)
{
	const char *a;
	const char *b;
	Size		a_length;
	Size		b_length;
	void	   *a_copy;
	void	   *b_copy;
	Size		most = ix->byte_order ? BLCKSZ : FPB_SORT_KEY_MOST - FPB_CUT_HEAD_BYTES;
	Size		prefix = 0;

	if (!ix->byte_heads || ix->old_heads)
		return 0;
	a = first_bytes(ix, first, most, &a_length, &a_copy);
	b = first_bytes(ix, last, most, &b_length, &b_copy);
	if (a != NULL && b != NULL)
		while (prefix < Min(Min(a_length, b_length), most) && a[prefix] == b[prefix])
			prefix++;
	free_copy(a_copy);
	free_copy(b_copy);
	return prefix;
}

/*
 * The sign of so many bytes against the prefix, the first bytes of a tuple's
 * first column; 0 if they begin with it.  Raises an error if that has no
 * prefix of this length.
 */
static int
compare_prefix(const FpbIndex *ix, const char *bytes, Size length, IndexTuple tuple,
			   Size prefix)
{
	Size		other_length;
	void	   *copy;
	const char *other = first_bytes(ix, tuple, prefix, &other_length, &copy);
	int			order;

	if (unlikely(other == NULL || other_length < prefix))
		fpb_tuple_damaged(ix, tuple, short_key);
	order = memcmp(bytes, other, Min(length, prefix));
	if (order == 0 && length < prefix)
		order = -1;
	free_copy(copy);
	return order;
}

/*
 * See key/prefix.h.
 */
bool
fpb_has_prefix(const FpbIndex *ix, IndexTuple tuple, int prefix, IndexTuple other)
{
	Size		length;
	void	   *copy;
	const char *bytes = first_bytes(ix, tuple, prefix, &length, &copy);
	bool		has = bytes != NULL && compare_prefix(ix, bytes, length, other, prefix) == 0;

	free_copy(copy);
	return has;
}

/* --- cut tuples --- */

/*
 * fpb_copy_bytes of what is short, most of the time.
 */
static pg_attribute_always_inline void
copy_short(char *to, const char *from, Size length)
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
 * Add a tuple's columns from the second one on to one being made in *space,
 * whose data begin at start, from end on.  Sets *aligned if one of them needs
 * more alignment than 2 bytes.  Returns where the data end.
 */
static Size
copy_rest(const FpbIndex *ix, FpbTupleReader *reader, FpbTupleSpace *space, Size start,
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
			fpb_tuple_damaged(ix, reader->tuple, too_long);
		*aligned |= fpb_needs_alignment(col, value);
		for (; end < begin; end++)
			to[end] = 0;
		copy_short(to + begin, value, length);
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
 * See key/prefix.h.  (What is not cut because it is too long is still too
 * long.)
 */
bool
fpb_is_cut(const FpbIndex *ix, IndexTuple tuple)
{
	if (ix->cut_column)
		return fpb_lacks_first(ix, tuple);
	return IndexTupleSize(tuple) <= ix->cut_most && has_plain_first(tuple);
}

/* --- without the first column --- */

/*
 * See key/prefix.h.
 */
Datum
fpb_first_of_head(const FpbIndex *ix, const FpbKey *key)
{
	const FpbColumn *col = &ix->cols[0];
	FpbCode		code = {.hi = col->width == 32 ? key->head >> 32 : key->head};

	return fpb_code_decode(col->word->kind, fpb_code_direct(col, code), false);
}

/*
 * A copy of a tuple in *space, without its first column.
 */
static IndexTuple
drop_column(const FpbIndex *ix, IndexTuple tuple, FpbTupleSpace *space)
{
	FpbTupleReader reader;
	Size		start;
	Size		end;
	bool		aligned = false;

	fpb_begin_with_second(&reader, ix, tuple, false);
	start = reader.data - (char *) tuple;
	memcpy(space->data, tuple, start);
	end = copy_rest(ix, &reader, space, start, 0, &aligned);
	fpb_set_tuple_info(&space->header, start + end, aligned);
	return &space->header;
}

/*
 * A copy of a tuple in *space, with the first column that it lacks.
 */
static IndexTuple
add_column(const FpbIndex *ix, IndexTuple tuple, Datum first, FpbTupleSpace *space)
{
	const FpbColumn *col = &ix->cols[0];
	bool		aligned = (tuple->t_info & INDEX_AM_RESERVED_BIT) != 0;
	FpbTupleReader reader;
	Size		start;
	Size		end = col->length;

	fpb_begin_with_second(&reader, ix, tuple, true);
	start = reader.data - (char *) tuple;
	space->header = *tuple;
	if (unlikely(start > sizeof(IndexTupleData)))
		memcpy(space->data, tuple, start);	/* the bitmap of NULLs, too */
	store_att_byval(space->data + start, first, col->length);

	/* columns that keep their alignment are moved all at once */
	if (end % (aligned ? ix->tuple_align : sizeof(uint16)) != 0)
		end = copy_rest(ix, &reader, space, start, end, &aligned);
	else if (unlikely(start + end + reader.size > sizeof(space->data)))
		fpb_tuple_damaged(ix, tuple, too_long);
	else
	{
		copy_short(space->data + start + end, reader.data, reader.size);
		end += reader.size;
	}
	fpb_set_tuple_info(&space->header, start + end, aligned || col->align > sizeof(uint16));
	return &space->header;
}

/* --- without the prefix and the head --- */

/*
 * The first column of a tuple, a plain varlena: where its bytes begin, and how
 * many they are.  Raises an error if it does not end within the tuple.
 */
static inline const char *
plain_first(const FpbIndex *ix, IndexTuple tuple, Size *header, Size *length)
{
	Size		start = IndexInfoFindDataOffset(tuple->t_info);
	const char *value = (char *) tuple + start;
	Size		room = IndexTupleSize(tuple) - start;
	bool		is_short = likely(VARATT_IS_1B(value));
	Size		size;

	*header = is_short ? VARHDRSZ_SHORT : VARHDRSZ;
	size = room < *header ? 0 : is_short ? VARSIZE_1B(value) : VARSIZE_4B(value);
	if (unlikely(size < *header || size > room))
		fpb_tuple_damaged(ix, tuple, FPB_PAST_TUPLE);
	*length = size - *header;
	return value + *header;
}

/*
 * Set the header of the first column of a tuple being made to so many bytes,
 * and copy the other columns to it, of a tuple in which that has others.
 */
static inline void
finish_first(const FpbIndex *ix, IndexTuple tuple, Size header, Size old_length, Size length,
			 FpbTupleSpace *space)
{
	Size		start = IndexInfoFindDataOffset(tuple->t_info);
	Size		end = header + length;

	if (unlikely(header == VARHDRSZ))
		SET_VARSIZE(space->data + start, end);
	else
		SET_VARSIZE_SHORT(space->data + start, end);
	if (ix->natts > 1)
	{
		FpbTupleReader reader;
		bool		aligned = false;

		fpb_begin_reading(&reader, ix, tuple);
		reader.next = 1;
		reader.off = header + old_length;
		end = copy_rest(ix, &reader, space, start, end, &aligned);
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
	const char *bytes = plain_first(ix, tuple, &header, &length);

	if (unlikely(length < less))
		fpb_tuple_damaged(ix, tuple, short_key);
	length -= less;
	space->header = *tuple;
	if (header_only && ix->natts == 1)
	{
		space->header.t_info = (tuple->t_info & ~INDEX_SIZE_MASK) | (start + header + length);
		return &space->header;
	}
	if (unlikely(start > sizeof(IndexTupleData)))
		memcpy(space->data, tuple, start);	/* the bitmap of NULLs, too */
	copy_short(space->data + start + header, bytes + less, length);
	finish_first(ix, tuple, header, length + less, length, space);
	return &space->header;
}

/*
 * Cut a tuple; where only its header is wanted, perhaps no more than that.
 */
static pg_attribute_always_inline IndexTuple
cut_tuple(const FpbIndex *ix, IndexTuple tuple, int prefix, bool header_only, FpbTupleSpace *space)
{
	const char *bytes;
	Size		length = 0;
	void	   *copy;
	uint64		head;

	if (!fpb_is_cut(ix, tuple))
		return tuple;
	if (ix->cut_column)
		return drop_column(ix, tuple, space);
	bytes = first_bytes(ix, tuple, prefix + FPB_CUT_HEAD_BYTES, &length, &copy);
	head = head_behind(ix, bytes, length, prefix);
	free_copy(copy);
	return drop_bytes(ix, tuple, prefix + fpb_bytes_in_head(ix, head), header_only, space);
}

/*
 * See key/prefix.h.
 */
IndexTuple
fpb_cut_tuple(const FpbIndex *ix, IndexTuple tuple, int prefix, FpbTupleSpace *space)
{
	return cut_tuple(ix, tuple, prefix, false, space);
}

/*
 * See key/prefix.h.
 */
IndexTuple
fpb_cut_header(const FpbIndex *ix, IndexTuple tuple, int prefix, FpbTupleSpace *space)
{
	return cut_tuple(ix, tuple, prefix, true, space);
}

/*
 * The bytes of a page's low fence, which are no fewer than the page's prefix.
 */
static const char *
prefix_bytes(const FpbIndex *ix, Page page, void **copy)
{
	uint32		offset = (uint32) Min(FpbHdr(page)->fences.tail[FPB_LOW], BLCKSZ);
	IndexTuple	low = (IndexTuple) ((char *) page + offset);
	Size		length;
	const char *bytes;

	if (unlikely(!fpb_tuple_offset_valid(page, offset) || !fpb_tuple_is_aligned(ix, low, offset)))
		fpb_part_damaged(ix, page, "The low fence is not among the page's tuples.");
	bytes = first_bytes(ix, low, fpb_page_prefix(ix, page), &length, copy);
	if (unlikely(bytes == NULL || length < (Size) fpb_page_prefix(ix, page)))
		fpb_tuple_damaged(ix, low, short_key);
	return bytes;
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
	Size		prefix = fpb_page_prefix(ix, key->cut_in);
	Size		in_head = fpb_bytes_in_head(ix, key->head);
	uint32		head = pg_hton32(fpb_head_bytes(ix, key->head));
	Size		header;
	Size		length;
	const char *bytes = plain_first(ix, key->tuple, &header, &length);
	char	   *to = space->data + start + header;
	Size		whole = prefix + in_head + length;

	if (unlikely(start + header + whole > sizeof(space->data)))
		fpb_tuple_damaged(ix, key->tuple, too_long);
	if (unlikely(header == VARHDRSZ_SHORT && header + whole > VARATT_SHORT_MAX))
		fpb_tuple_damaged(ix, key->tuple, "column is too long for its header");
	if (there->page != key->cut_in || there->at != to)
	{
		if (prefix > 0)
		{
			void	   *copy;

			memcpy(to, prefix_bytes(ix, key->cut_in, &copy), prefix);
			free_copy(copy);
		}
		there->page = key->cut_in;
		there->at = to;
	}
	space->header = *key->tuple;
	if (unlikely(start > sizeof(IndexTupleData)))
		memcpy(space->data, key->tuple, start); /* the bitmap of NULLs, too */
	if (in_head > 0)
		memcpy(to + prefix, &head, FPB_CUT_HEAD_BYTES);
	copy_short(to + prefix + in_head, bytes, length);
	finish_first(ix, key->tuple, header, length, whole, space);
	return &space->header;
}

static pg_attribute_always_inline IndexTuple
join_tuple(const FpbIndex *ix, const FpbKey *key, FpbTupleSpace *space, FpbPrefixThere *there)
{
	if (!fpb_is_cut(ix, key->tuple))
		return key->tuple;
	if (ix->cut_column)
		return add_column(ix, key->tuple, fpb_first_of_head(ix, key), space);
	return add_bytes(ix, key, space, there);
}

/*
 * See key/prefix.h.
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
	if (length == 0)
		return end;
	if (ix->rest == FPB_REST_FIXED)
		for (; end % ix->cols[1].align != 0; end++)
			to[end] = 0;
	copy_short(to + end, from, length);
	return end + length;
}

/*
 * See key/prefix.h.  What it takes for granted is what fpb_tuple_is_plain asks
 * for.
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
	Size		end;
	int			rest;

	if (ix->rest == FPB_REST_ANY || size <= start || size > ix->cut_most ||
		offset == InvalidOffsetNumber ||
		(offset > FPB_TAIL_MAX_OFFSET && (offset & FPB_POSTING_BIT) == 0))
		return NULL;
	size -= start;
	if (ix->cut_column)
	{
		const FpbColumn *first = &ix->cols[0];

		rest = plain_rest(ix, data, size, 0);
		if (rest < 0 ||
			info != ((ix->rest == FPB_REST_SHORT ? INDEX_VAR_MASK : 0) |
					 (aligned ? INDEX_AM_RESERVED_BIT : 0)))
			return NULL;
		store_att_byval(to, fpb_first_of_head(ix, key), first->length);
		aligned |= first->align > sizeof(uint16);
		end = first->length;
	}
	else
	{
		Size		prefix = fpb_page_prefix(ix, key->cut_in);
		Size		in_head = fpb_bytes_in_head(ix, key->head);
		uint32		head = pg_hton32(fpb_head_bytes(ix, key->head));
		Size		length;

		if (info != (INDEX_VAR_MASK | (aligned ? INDEX_AM_RESERVED_BIT : 0)) ||
			!VARATT_IS_1B(data) || VARSIZE_1B(data) < ix->cols[0].plain_from ||
			VARSIZE_1B(data) > size)
			return NULL;
		length = VARSIZE_1B(data) - VARHDRSZ_SHORT;
		rest = plain_rest(ix, data, size, VARHDRSZ_SHORT + length);
		end = VARHDRSZ_SHORT + prefix + in_head + length;
		if (rest < 0 || end > VARATT_SHORT_MAX ||
			joiner->there.page != key->cut_in || joiner->there.at != to + VARHDRSZ_SHORT)
			return NULL;
		SET_VARSIZE_SHORT(to, end);
		if (in_head > 0)
			memcpy(to + VARHDRSZ_SHORT + prefix, &head, FPB_CUT_HEAD_BYTES);
		copy_short(to + end - length, data + VARHDRSZ_SHORT, length);
	}
	end = copy_plain_rest(ix, to, end, data + rest, size - rest);
	joiner->space.header.t_tid = tuple->t_tid;
	joiner->space.header.t_info = (info & ~INDEX_AM_RESERVED_BIT) |
		(aligned ? INDEX_AM_RESERVED_BIT : 0) | (start + end);
	return &joiner->space.header;
}

/*
 * See key/prefix.h.
 */
IndexTuple
fpb_join_next(const FpbIndex *ix, const FpbKey *key, FpbJoiner *joiner)
{
	return join_tuple(ix, key, &joiner->space, &joiner->there);
}

/*
 * See key/prefix.h.
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
 * See key/prefix.h.
 */
uint64
fpb_head_behind(const FpbIndex *ix, const FpbKey *key, int prefix)
{
	FpbTupleSpace space;
	Size		length;
	void	   *copy;
	const char *bytes = first_bytes(ix, fpb_whole_tuple(ix, key, &space), prefix + FPB_CUT_HEAD_BYTES,
									&length, &copy);
	uint64		head;

	/* the pivot before all keys; or a damaged one */
	if (bytes == NULL)
		return 0;
	head = head_behind(ix, bytes, length, prefix);
	free_copy(copy);
	return head;
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
 * See key/prefix.h.  The order of the first column is that of bytes, so those
 * of one that is cut need not be joined.
 */
int
fpb_compare_first(const FpbIndex *ix, const FpbKey *key, const FpbSearchKey *search,
				  bool has_prefix)
{
	const FpbColumn *col = &ix->cols[0];
	int			prefix = key->cut_in == NULL ? 0 : fpb_page_prefix(ix, key->cut_in);
	bool		isnull;
	Datum		value = fpb_read_first_column(ix, key->tuple, &isnull);
	const char *bytes;
	const char *searched;
	Size		length;
	Size		left;
	void	   *copy;
	void	   *searched_copy;
	void	   *prefix_copy = NULL;
	int			order = 0;

	if (unlikely(isnull || search->cols[0].isnull))
		return fpb_compare_values(col, search->cols[0].cmp, value, isnull,
								  search->cols[0].value, search->cols[0].isnull);
	bytes = bytes_of(ix, value, BLCKSZ, &length, &copy);
	searched = bytes_of(ix, search->cols[0].value, BLCKSZ, &left, &searched_copy);
	if (key->cut_in != NULL && fpb_is_cut(ix, key->tuple))
	{
		Size		in_head = fpb_bytes_in_head(ix, key->head);
		uint32		head = pg_hton32(fpb_head_bytes(ix, key->head));

		if (has_prefix)
		{
			Size		same = Min(prefix + in_head, left);

			searched += same;
			left -= same;
		}
		else
		{
			if (prefix > 0)
				order = compare_part(prefix_bytes(ix, key->cut_in, &prefix_copy), prefix,
									 &searched, &left);
			if (order == 0)
				order = compare_part((char *) &head, in_head, &searched, &left);
		}
	}
	if (order == 0)
		order = memcmp(bytes, searched, Min(length, left));
	if (order == 0)
		order = pg_cmp_size(length, left);
	free_copy(copy);
	free_copy(searched_copy);
	free_copy(prefix_copy);
	return order == 0 ? 0 : (order < 0) != col->desc ? -1 : 1;
}

/* --- heads of search keys --- */

/*
 * See key/prefix.h.
 */
uint64
fpb_search_head_behind(const FpbIndex *ix, const FpbSearchKey *search, int prefix,
					   IndexTuple other)
{
	const char *bytes;
	Size		length;
	void	   *copy;
	int			order;
	uint64		head;

	if (search->ncols == 0 || search->cols[0].isnull)
		return search->head;

	bytes = bytes_of(ix, search->cols[0].value, prefix + FPB_CUT_HEAD_BYTES, &length, &copy);
	order = other == NULL ? 0 : compare_prefix(ix, bytes, length, other, prefix);
	head = head_behind(ix, bytes, length, prefix);
	free_copy(copy);
	if (order == 0)
		return head;
	return (order < 0) != ix->cols[0].desc ? 0 : fpb_greatest_head(ix);
}
