/*-------------------------------------------------------------------------
 *
 * key/tuple.c
 *	  Tuples: what is wrong with one, truncated copies, their columns.
 *
 * Index tuples here have their exact size.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/toast_compression.h"

#include "key/tuple.h"

/*
 * Times as long as what it is compressed to, a value can't be longer: LZ4, the
 * better of the two methods, has a byte for 255 of a long match.
 */
#define MOST_COMPRESSED		255

/*
 * Report that a tuple contradicts itself.
 */
void
fpb_tuple_damaged(const FpbIndex *ix, IndexTuple tuple, const char *fault)
{
	fpb_report_damage(ix->rel, fpb_cache_block(ix->cache, tuple),
					  psprintf("Of a tuple: %s.", fault));
}

/*
 * fpb_column_fault, of a varlena that has not a header of one byte.
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
 * *aligned is set if one of them needs more alignment than 2 bytes, so that
 * the tuple must lie where index_form_tuple assumed it would.  *nulls is set
 * if one of them is NULL.  Raises an error if they don't lie within the tuple.
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
 * A copy of a tuple's first natts key columns, without TID.  They are the
 * first bytes of its data.  If none of them is NULL, the null bitmap is left
 * out; its size is a multiple of MAXALIGN, so that what follows keeps its
 * alignment.
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
 * What is wrong with the first natts columns of a tuple, the data of which are
 * so many bytes, or NULL; *end is where they end in these, and *aligned is set
 * if one of them needs more alignment than 2 bytes.  The others may be
 * missing, if the data end after so many.
 */
static pg_attribute_always_inline const char *
columns_fault(const FpbIndex *ix, IndexTuple tuple, Size size, int natts,
			  int least, Size *end, bool *aligned)
{
	const char *data = (char *) tuple + IndexInfoFindDataOffset(tuple->t_info);
	uint8	   *bitmap = (uint8 *) ((char *) tuple + sizeof(IndexTupleData));
	Size		off = 0;

	*aligned = false;
	for (int i = 0; i < natts; i++)
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
		if (col->length < 0 && !IndexTupleHasVarwidths(tuple))
			return "tuple has the wrong flag for columns of variable length";
		if (fpb_needs_alignment(col, data + off))
			*aligned = true;
		off += length;
	}
	*end = off;
	return NULL;
}

/*
 * What is wrong with the structure of a tuple, a leaf entry's or a pivot, that
 * has avail bytes to lie in, as text, or NULL: everything that reading its
 * columns relies on.  Used before a page that came from disk is trusted, so it
 * looks at nothing outside the avail bytes; calls no function of the columns'
 * types and raises nothing.
 */
const char *
fpb_tuple_fault(const FpbIndex *ix, IndexTuple tuple, Size avail, bool pivot)
{
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
	fault = columns_fault(ix, tuple, size - start, natts,
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
 * What is wrong with the columns of a tuple of a btree index with the columns
 * of ix, whose key takes so many bytes with its header, or NULL.  As above.
 */
const char *
fpb_btree_tuple_fault(const FpbIndex *ix, IndexTuple tuple, Size size)
{
	Size		start = IndexInfoFindDataOffset(tuple->t_info);
	Size		end = 0;
	bool		aligned = false;

	if (size < start)
		return FPB_SHORT_TUPLE;
	return columns_fault(ix, tuple, size - start, ix->natts, ix->natts, &end, &aligned);
}

/*
 * The values of the first ncolumns columns of a tuple, of which a pivot may
 * have fewer than others, into values[] and isnull[].  By-reference ones point
 * into it.  Raises an error if the tuple is damaged there.
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
