/*-------------------------------------------------------------------------
 *
 * key/tuple.c
 *	  Tuples: their faults, truncated copies, the values of their columns.
 *
 * A tuple has its exact size, without padding at its end.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/toast_compression.h"

#include "key/tuple.h"

/*
 * How many times as long as its compressed form a value can be at most.  LZ4,
 * the better of the two methods, has a byte for 255 of a long match.
 */
#define MOST_COMPRESSED		255

/*
 * Raise the error that something in a page, or in a copy of one, is damaged.
 */
void
fpb_part_damaged(const FpbIndex *ix, const void *part, const char *fault)
{
	BlockNumber block = fpb_cache_block(ix->cache, part);

	fpb_report_damage(ix->rel, BlockNumberIsValid(block) ? block : ix->copied_from, fault);
}

/*
 * Raise the error that a tuple is damaged, with its fault.
 */
void
fpb_tuple_damaged(const FpbIndex *ix, IndexTuple tuple, const char *fault)
{
	fpb_part_damaged(ix, tuple, psprintf("Of a tuple: %s.", fault));
}

/*
 * See key/key.h.
 */
void
fpb_copy_bytes(void *to, const void *from, Size size)
{
	memcpy(to, from, size);
}

/*
 * fpb_column_fault, for a varlena without a header of one byte.
 */
const char *
fpb_long_column_fault(const FpbColumn *col, const char *data, Size size,
					  Size *off, Size *length)
{
	const char *value;
	Size		plain;

	if (VARATT_IS_1B_E(data + *off))
		return "column is stored outside of its tuple";
	if (!VARATT_NOT_PAD_BYTE(data + *off))
		*off = TYPEALIGN(col->align, *off);
	value = data + *off;
	if (*off >= size)
		return FPB_PAST_TUPLE;

	/* the padding may be followed by a header of any kind */
	if (VARATT_IS_1B_E(value))
		return "column is stored outside of its tuple";
	if (VARATT_IS_1B(value))
	{
		*length = VARSIZE_1B(value);
		return NULL;
	}
	if (size - *off < VARHDRSZ)
		return FPB_PAST_TUPLE;
	*length = VARSIZE_4B(value);
	if (!VARATT_IS_4B_C(value))
		return *length < VARHDRSZ ? "column has an impossible length" : NULL;

	if (*length < VARHDRSZ_COMPRESSED || size - *off < VARHDRSZ_COMPRESSED)
		return "column has an impossible length";
	if (VARDATA_COMPRESSED_GET_COMPRESS_METHOD(value) != TOAST_PGLZ_COMPRESSION_ID &&
		VARDATA_COMPRESSED_GET_COMPRESS_METHOD(value) != TOAST_LZ4_COMPRESSION_ID)
		return "column is compressed by an unknown method";

	/* memory is allocated by what the header says */
	plain = VARDATA_COMPRESSED_GET_EXTSIZE(value);
	if (plain > *length * MOST_COMPRESSED)
		return "column has an impossible length when decompressed";
	return NULL;
}

/*
 * Where the first natts columns of a tuple end, from its start.
 *
 * Sets *aligned to whether one of them needs more alignment than 2 bytes, and
 * *nulls to whether one of them is NULL.  Raises an error if they don't lie
 * within the tuple.
 */
Size
fpb_columns_end(const FpbIndex *ix, IndexTuple tuple, int natts,
				bool *aligned, bool *nulls)
{
	FpbTupleReader reader;

	*aligned = false;
	*nulls = false;
	fpb_begin_reading(&reader, ix, tuple);
	for (int i = 0; i < natts; i++)
	{
		const char *value = fpb_next_column(&reader);

		if (value == NULL)
			*nulls = true;
		else if (fpb_needs_alignment(&ix->cols[i], value))
			*aligned = true;
	}
	return reader.data - (char *) tuple + reader.off;
}

/*
 * A palloc'd copy of a tuple's first natts key columns, which are the first
 * bytes of its data, without TID.  If none of them is NULL, the null bitmap is
 * left out.  The columns keep their alignment, because a header with a bitmap
 * is longer by a multiple of MAXALIGN.
 */
IndexTuple
fpb_truncate_tuple(const FpbIndex *ix, IndexTuple source, int natts)
{
	bool		aligned;
	bool		nulls;
	Size		end = fpb_columns_end(ix, source, natts, &aligned, &nulls);
	Size		old_start = IndexInfoFindDataOffset(source->t_info);
	Size		new_start;
	uint16		info = source->t_info & INDEX_VAR_MASK;
	IndexTuple	result;

	if (nulls)
		info |= INDEX_NULL_MASK;
	new_start = IndexInfoFindDataOffset(info);

	result = palloc0(MAXALIGN(new_start + end - old_start));
	result->t_info = info;
	if (nulls)
		memcpy((char *) result + sizeof(IndexTupleData),
			   (char *) source + sizeof(IndexTupleData),
			   sizeof(IndexAttributeBitMapData));
	memcpy((char *) result + new_start, (char *) source + old_start,
		   end - old_start);
	fpb_set_tuple_info(result, new_start + end - old_start, aligned);

	/* no TID: the block number is that of columns; see fpb_pivot_natts */
	ItemPointerSet(&result->t_tid, natts, InvalidOffsetNumber);
	return result;
}

/*
 * The fault in the columns of a tuple from number first, from 0, up to natts,
 * or NULL.  The tuple's data have size bytes.  If they end after the first
 * "least" columns, the others may be missing.  Sets *end to where the columns
 * end in the data, and *aligned to whether one of them needs more alignment
 * than 2 bytes.
 */
static pg_attribute_always_inline const char *
columns_fault(const FpbIndex *ix, IndexTuple tuple, Size size, int first, int natts,
			  int least, Size *end, bool *aligned)
{
	const char *data = (char *) tuple + IndexInfoFindDataOffset(tuple->t_info);
	uint8	   *bitmap = (uint8 *) ((char *) tuple + sizeof(IndexTupleData));
	Size		off = first > 0 ? fpb_first_left(ix, tuple) : 0;

	*aligned = false;
	for (int i = first; i < natts; i++)
	{
		const FpbColumn *col = &ix->cols[i];
		const char *fault;
		Size		length = 0;

		if (i == least && off == size)
			break;
		if (IndexTupleHasNulls(tuple) && att_isnull(i, bitmap))
			continue;
		fault = fpb_column_fault(col, data, size, &off, &length);
		if (fault == NULL)
			fault = fpb_inside_fault(col, data + off);
		if (fault != NULL)
			return fault;
		if (col->length < 0 && !IndexTupleHasVarwidths(tuple) &&
			first == 0)
			return "tuple has the wrong flag for columns of variable length";
		if (fpb_needs_alignment(col, data + off))
			*aligned = true;
		off += length;
	}
	*end = off;
	return NULL;
}

/*
 * The fault in the structure of a tuple, or NULL: everything that reading its
 * columns relies on.  The tuple, of a leaf's entry or a pivot, has avail bytes
 * to lie in.
 *
 * The page is not trusted yet.  So this looks at nothing outside the avail
 * bytes, calls no function of the columns' types, and raises nothing.
 */
const char *
fpb_tuple_fault(const FpbIndex *ix, IndexTuple tuple, Size avail, FpbTupleKind kind)
{
	bool		pivot = kind == FPB_TUPLE_PIVOT;
	int			first = 0;
	int			natts = ix->natts;
	Size		size;
	Size		start;
	Size		end = 0;
	bool		aligned = false;
	const char *fault;

	if (avail < sizeof(IndexTupleData))
		return "tuple extends past its area";
	size = IndexTupleSize(tuple);
	start = IndexInfoFindDataOffset(tuple->t_info);
	if (size > avail)
		return "tuple extends past its area";
	if (size < start)
		return FPB_SHORT_TUPLE;

	if (!pivot && fpb_is_posting(tuple))
		;						/* what is behind it is not looked at here */
	else if (ItemPointerGetOffsetNumberNoCheck(&tuple->t_tid) > FPB_TAIL_MAX_OFFSET)
		return "tuple has an impossible TID";
	else if (pivot &&
			 ItemPointerGetOffsetNumberNoCheck(&tuple->t_tid) == InvalidOffsetNumber)
	{
		if (ItemPointerGetBlockNumberNoCheck(&tuple->t_tid) > (BlockNumber) ix->nkeyatts)
			return "pivot has an impossible number of columns";
		natts = ItemPointerGetBlockNumberNoCheck(&tuple->t_tid);
	}
	else if (ItemPointerGetOffsetNumberNoCheck(&tuple->t_tid) == InvalidOffsetNumber)
		return "tuple has an invalid TID";

	/* with a TID, the INCLUDE columns of a pivot may be there or not */
	if (kind == FPB_TUPLE_STORED)
		first = fpb_lacking_columns(ix, tuple);
	if (first > 0 && ix->last_bytes)
	{
		if (size - start > FPB_LAST_BYTES_MOST)
			return "tuple is longer than the bytes of its key";
		return (tuple->t_info & INDEX_AM_RESERVED_BIT) != 0 ?
			"tuple has the wrong alignment flag" : NULL;
	}
	fault = columns_fault(ix, tuple, size - start, first, natts,
						  pivot ? ix->nkeyatts : natts, &end, &aligned);
	if (fault != NULL)
		return fault;
	if (end != size - start)
		return "tuple is longer than its columns";
	if (aligned != ((tuple->t_info & INDEX_AM_RESERVED_BIT) != 0))
		return "tuple has the wrong alignment flag";
	return NULL;
}

/*
 * The fault in the columns of a tuple of a btree index, or NULL.  The btree
 * has the columns of ix.  The key takes size bytes, header included.  Raises
 * nothing, as above.
 */
const char *
fpb_btree_tuple_fault(const FpbIndex *ix, IndexTuple tuple, Size size)
{
	Size		start = IndexInfoFindDataOffset(tuple->t_info);
	Size		end = 0;
	bool		aligned = false;

	if (size < start)
		return FPB_SHORT_TUPLE;
	return columns_fault(ix, tuple, size - start, 0, ix->natts, ix->natts, &end, &aligned);
}

/*
 * Get the values of the first ncolumns columns of a tuple, which has so many:
 * a pivot may be truncated.  By-reference ones point into the tuple.  Raises
 * an error if the tuple is damaged there.
 */
void
fpb_tuple_datums(const FpbIndex *ix, IndexTuple tuple, int ncolumns,
				 Datum *values, bool *isnull)
{
	FpbTupleReader reader;

	fpb_begin_reading(&reader, ix, tuple);
	for (int i = 0; i < ncolumns; i++)
		values[i] = fpb_read_column(&reader, &isnull[i]);
}
