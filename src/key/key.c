/*-------------------------------------------------------------------------
 *
 * key/key.c
 *	  Keys: what form an index has, making keys, comparing them, pivots.
 *
 * Everything about words but the integer comparison itself is in key/word.c.
 * Here are the tuples, and the functions that choose between the two.
 *
 * Heads.  A head is weakly monotone in the key: if a < b then head(a) <=
 * head(b), and equal keys have equal heads.  It depends on the first column or
 * the first two:
 *
 * - FPB_HEAD_PAIR, codes A and B in fields of 32 bits: head = A:B, but A:0 if
 * A
 *	 is the code that NULL shares.  If a < b by the first column, A(a) < A(b),
 *	 or both are the shared code and both heads are A:0.  If a and b are equal
 *	 in the first column, A is the same and B weakly monotone.
 * - FPB_HEAD_WORD, FPB_HEAD_UUID: the code, or its upper half.  - the others:
 * the bytes that memcmp would look at first, filled up with
 *	 zeros, all inverted for DESC; zero or all ones for NULLs, on their side.
 *	 Only used where the opclass's order is that of memcmp, then length.
 *
 * The head of a pivot that keeps n columns is the smallest among the keys that
 * begin with them, which is what the same rule gives for n columns if a
 * missing B counts as 0, and a missing A as 0 as well.  A pivot p lies just
 * before these keys, so e < p implies that e is less than each of them and so
 * head(e) <= head(p), and e > p implies that e is one of them, or greater, and
 * head(e) >= head(p): pivots may be sorted in by head.
 *
 * The same holds for a search key, a place before (on_equal = 1) or after
 * (on_equal = -1) all keys that begin with its columns, if its head is the
 * smallest or the largest, respectively, of these keys' heads.  Let e be a key
 * and q the search key.  Before: as for pivots.  After: e < q means that e is
 * one of them or less: head(e) <= head(q); e > q that e is greater than all of
 * them: head(e) >= head(q).  A pivot p that keeps fewer columns than the
 * search key has, equal ones, comes before it; its head is the smallest of a
 * set of keys that includes the search key's: head(p) <= head(q).  If it keeps
 * the same columns, it is at the place of a search key of the first kind, with
 * the same head, and before one of the second kind, with a head not larger.
 * If it keeps more, it lies among the search key's keys, and so does its head.
 * So wherever heads differ they tell the order, whatever is compared.
 *
 * Mind that this needs the head of all the columns of the search key: if the
 * search key has two columns and heads are pairs, a head of the first column
 * alone would put it at the wrong place among the keys that have this first
 * column.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/toast_compression.h"
#include "access/tupmacs.h"
#include "access/transam.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_type.h"
#include "common/int.h"
#include "port/pg_bswap.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/pg_locale.h"

#include "base/options.h"
#include "key/key.h"

/*
 * Times as long as what it is compressed to, a value can't be longer: LZ4, the
 * better of the two methods, has a byte for 255 of a long match.
 */
#define MOST_COMPRESSED		255

/* the part of a head that is kept when heads have 4 bytes */
#define HEAD4_MASK	UINT64CONST(0xFFFFFFFF00000000)

/* ------------------------------------------------------------------------
 * describing an index
 * ------------------------------------------------------------------------
 */

/*
 * Which head does a first column without a word type have?  The answer is part
 * of the on-disk format: it must only depend on what can't change while the
 * index exists.
 */
static FpbHeadKind
bytes_head_kind(const FpbColumn *col, Oid cmp_proc, Form_pg_attribute att)
{
	switch (cmp_proc)
	{
		case F_BTTEXTCMP:
			return fpb_collation_is_c(col->collation) && att->attlen == -1 ?
				FPB_HEAD_BYTES : FPB_HEAD_NONE;
		case F_BPCHARCMP:
			return fpb_collation_is_c(col->collation) && att->attlen == -1 ?
				FPB_HEAD_BPCHAR : FPB_HEAD_NONE;
		case F_BTNAMECMP:
			/* stored as a cstring or as a name, which ends with zeros */
			return fpb_collation_is_c(col->collation) &&
				(att->attlen == -2 || att->attlen == NAMEDATALEN) ?
				FPB_HEAD_CSTRING : FPB_HEAD_NONE;
		case F_BTTEXT_PATTERN_CMP:
		case F_BYTEACMP:
			return att->attlen == -1 ? FPB_HEAD_BYTES : FPB_HEAD_NONE;
		case F_BTBPCHAR_PATTERN_CMP:
			return att->attlen == -1 ? FPB_HEAD_BPCHAR : FPB_HEAD_NONE;
		default:
			return FPB_HEAD_NONE;
	}
}

/*
 * The form of an index whose key columns all have word types: the shortest
 * word that has room for all codes.
 */
static FpbForm
word_form(const FpbIndex *ix)
{
	int			bits = 0;

	for (int i = 0; i < ix->nkeyatts; i++)
		bits += fpb_word_bits(ix->cols[i].word);
	return bits <= 32 ? FPB_WORD4 : bits <= 64 ? FPB_WORD8 :
		bits <= 128 ? FPB_WORD16 : FPB_TUPLE;
}

/*
 * Choose the widths of the columns' codes and, in tuple form, the head.
 */
static void
choose_layout(FpbIndex *ix, Oid first_cmp_proc)
{
	FpbColumn  *first = &ix->cols[0];
	int			bits0 = first->word ? fpb_word_bits(first->word) : 0;

	if (ix->form != FPB_TUPLE)
	{
		ix->head_width = ix->form == FPB_WORD4 ? 4 : 8;
		if (ix->nkeyatts == 1)
			first->width = ix->form == FPB_WORD4 ? 32 : ix->form == FPB_WORD8 ? 64 : 128;
		else
		{
			for (int i = 0; i < ix->nkeyatts; i++)
				ix->cols[i].width = fpb_word_bits(ix->cols[i].word);
		}
		return;
	}

	if (first->word == NULL)
	{
		first->head = bytes_head_kind(first, first_cmp_proc,
									  TupleDescAttr(RelationGetDescr(ix->rel), 0));
		/* more would help a search, but make the index larger than a btree */
		ix->head_width = 4;
		return;
	}

	ix->head_width = 8;
	if (bits0 > 64)
	{
		first->width = 128;
		first->head = FPB_HEAD_UUID;
	}
	else if (bits0 > 32)
	{
		first->width = 64;
		first->head = FPB_HEAD_WORD;
	}
	else
	{
		first->width = 32;
		first->head = FPB_HEAD_WORD;
		if (ix->nkeyatts > 1 && ix->cols[1].word != NULL &&
			fpb_word_bits(ix->cols[1].word) <= 32)
		{
			ix->cols[1].width = 32;
			first->head = FPB_HEAD_PAIR;
		}
	}
}

/*
 * Do the operator classes of a described index say that equal keys are always
 * the same value, though perhaps not compressed alike?  Words need not ask:
 * what of a value is not in the word is in the tie bits, with the TID.
 *
 * This calls support function 4 of the operator classes, which may be
 * anybody's: the caller has become the index's owner, and holds no buffer
 * lock.
 */
bool
fpb_opclasses_say_equal_image(const FpbIndex *ix)
{
	Relation	rel = ix->rel;

	if (fpb_is_word(ix))
		return true;
	for (int i = 0; i < ix->nkeyatts; i++)
	{
		Oid			proc = index_getprocid(rel, i + 1, FPB_EQUALIMAGE_PROC);

		if (!OidIsValid(proc) ||
			!DatumGetBool(OidFunctionCall1Coll(proc, rel->rd_indcollation[i],
											   ObjectIdGetDatum(rel->rd_opcintype[i]))))
			return false;
	}
	return true;
}

/*
 * Has a described index a key column of type bpchar without a length?  Any
 * number of blanks may be behind its values, so that equal ones may differ,
 * whatever their operator class says.  An index keeps its file when a char(n)
 * loses its length, so this may become true of one that shares keys.  Asks the
 * relcache entry alone.
 */
bool
fpb_has_loose_blanks(const FpbIndex *ix)
{
	for (int i = 0; i < ix->nkeyatts; i++)
	{
		if (ix->rel->rd_opcintype[i] == BPCHAROID &&
			TupleDescAttr(RelationGetDescr(ix->rel), i)->atttypmod < 0)
			return true;
	}
	return false;
}

/*
 * May duplicates share one key in an index that is about to be built?  Only if
 * equal keys are always the same value: else an equal key of another value
 * might belong between two TIDs of a posting tuple.  Who builds the index asks
 * once, as its owner, and the metapage keeps the answer, because whoever works
 * on the index later must find the same, and run nobody's code.
 */
bool
fpb_may_share_keys(const FpbIndex *ix)
{
	if (ix->natts > ix->nkeyatts)
		return false;
	return !fpb_has_loose_blanks(ix) && fpb_opclasses_say_equal_image(ix);
}

/*
 * Fill in what the relcache entry tells of an index: rel, form, head_width,
 * natts, nkeyatts and the columns.  What depends on the metapage is left
 * alone.  The comparators belong to the relcache entry.  Catalogs may be read,
 * so no buffer lock may be held.
 */
void
fpb_index_describe(FpbIndex *ix, Relation rel)
{
	bool		all_words = true;
	Oid			first_cmp_proc = InvalidOid;

	ix->rel = rel;

	ix->may_queue = fpb_may_queue(rel);
	ix->tree = 0;
	ix->queue_root = FPB_METAPAGE;
	ix->queue_level = 0;
	ix->missing = NULL;
	ix->natts = IndexRelationGetNumberOfAttributes(rel);
	ix->nkeyatts = IndexRelationGetNumberOfKeyAttributes(rel);

	memset(ix->cols, 0, ix->natts * sizeof(FpbColumn));
	for (int i = 0; i < ix->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(RelationGetDescr(rel), i);
		FpbColumn  *col = &ix->cols[i];

		fpb_inside_describe(att, &col->inside);
		col->plain_from = att->attlen != -1 ? PG_UINT8_MAX :
			fpb_inside_plain_from(&col->inside);
		col->length = att->attlen;
		col->align = att_align_nominal(1, att->attalign);
		col->by_value = att->attbyval;
	}
	for (int i = 0; i < ix->nkeyatts; i++)
	{
		FpbColumn  *col = &ix->cols[i];
		Oid			cmp_proc = index_getprocid(rel, i + 1, FPB_ORDER_PROC);

		if (i == 0)
			first_cmp_proc = cmp_proc;
		col->cmp = index_getprocinfo(rel, i + 1, FPB_ORDER_PROC);
		col->collation = rel->rd_indcollation[i];
		col->desc = (rel->rd_indoption[i] & INDOPTION_DESC) != 0;
		col->nulls_first = (rel->rd_indoption[i] & INDOPTION_NULLS_FIRST) != 0;
		col->head = FPB_HEAD_NONE;
		col->width = 0;
		col->word = fpb_word_type(cmp_proc, rel->rd_opcintype[i]);
		if (col->word != NULL &&
			!fpb_word_fits(col->word, TupleDescAttr(RelationGetDescr(rel), i)))
			col->word = NULL;
		if (col->word == NULL)
			all_words = false;
	}

	ix->form = all_words && ix->nkeyatts <= FPB_MAX_WORD_COLUMNS && ix->natts == ix->nkeyatts ?
		word_form(ix) : FPB_TUPLE;
	choose_layout(ix, first_cmp_proc);
}

/* ------------------------------------------------------------------------
 * heads
 * ------------------------------------------------------------------------
 */

/* Up to 8 bytes as a big-endian integer, filled up with zeros. */
static uint64
first_bytes(const char *data, Size length)
{
	uint64		bytes = 0;

	memcpy(&bytes, data, Min(length, sizeof(bytes)));
	return pg_ntoh64(bytes);
}

/*
 * The head of a value that compares by its bytes, before DESC.  Decompresses
 * the value if it is compressed.
 */
static uint64
bytes_head(FpbHeadKind kind, Datum value)
{
	struct varlena *v;
	Size		length;
	uint64		head;

	if (kind == FPB_HEAD_CSTRING)
	{
		const char *s = DatumGetCString(value);

		return first_bytes(s, strnlen(s, sizeof(head)));
	}

	v = PG_DETOAST_DATUM_PACKED(value);
	length = VARSIZE_ANY_EXHDR(v);
	if (kind == FPB_HEAD_BPCHAR)
		length = bpchartruelen(VARDATA_ANY(v), length);
	head = first_bytes(VARDATA_ANY(v), length);
	if ((Pointer) v != DatumGetPointer(value))
		pfree(v);
	return head;
}

/*
 * Set *head to the head of a search key with these ncols leading columns: that
 * of the smallest (upper: of the largest) key that begins with them.  upper
 * must agree with the search key's on_equal, -1 or 1; with all nkeyatts
 * columns it makes no difference.  The values that the head depends on (two if
 * it is of a pair) are of the opclass's own types; one may be compressed or
 * lie in a TOAST table.  False if heads say nothing in this index; *head is 0
 * then.
 */
bool
fpb_head_of(const FpbIndex *ix, const Datum *values, const bool *isnull,
			int ncols, bool upper, uint64 *head)
{
	const FpbColumn *first = &ix->cols[0];

	*head = 0;
	if (first->head == FPB_HEAD_NONE)
		return false;

	if (ncols == 0)
		*head = upper ? PG_UINT64_MAX : 0;
	else if (first->head == FPB_HEAD_UUID)
		*head = fpb_word_code(first, values[0], isnull[0]);
	else if (first->head == FPB_HEAD_WORD || first->head == FPB_HEAD_PAIR)
	{
		uint64		code = fpb_word_code(first, values[0], isnull[0]);

		*head = first->width == 32 ? code << 32 : code;
		if (first->head == FPB_HEAD_PAIR && !fpb_word_is_shared(first, code))
		{
			if (ncols > 1)
				*head |= fpb_word_code(&ix->cols[1], values[1], isnull[1]);
			else if (upper)
				*head |= PG_UINT32_MAX;
		}
	}
	else if (isnull[0])
		*head = first->nulls_first ? 0 : PG_UINT64_MAX;
	else
	{
		*head = bytes_head(first->head, values[0]);
		if (first->desc)
			*head = ~*head;
	}

	if (ix->head_width == 4)
		*head &= HEAD4_MASK;
	return true;
}

/*
 * The head of a pivot that keeps the first natts columns, at least one, of a
 * key with this head.
 */
static uint64
pivot_head(const FpbIndex *ix, uint64 head, int natts)
{
	if (natts == 1 && ix->cols[0].head == FPB_HEAD_PAIR)
		return head & HEAD4_MASK;
	return head;
}

/* ------------------------------------------------------------------------
 * reading tuples
 *
 * Tuples lie in pages, which may be damaged: a length is not followed before
 * it is known to end within its tuple, whose own length has been checked
 * against the page (fpb_page_tuple).
 * ------------------------------------------------------------------------
 */

static const char short_tuple[] = "tuple is shorter than its header";
static const char past_tuple[] = "column extends past its tuple";

/*
 * column_fault, of a varlena that has not a header of one byte.
 */
static const char *
long_column_fault(const FpbColumn *col, const char *data, Size size,
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
		return past_tuple;

	/* the padding may be followed by a header of any kind */
	if (VARATT_IS_1B_E(value))
		return "column is stored outside of its tuple";
	if (VARATT_IS_1B(value))
	{
		*length = VARSIZE_1B(value);
		return NULL;
	}
	if (size - *off < VARHDRSZ)
		return past_tuple;
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
 * What is wrong with the place of a column that is not NULL, in the data of a
 * tuple, which has so many bytes, or NULL.  *off is where the column before it
 * ends, and becomes the offset of the value, *length its length: all of it is
 * within the data.
 */
static pg_attribute_always_inline const char *
column_fault(const FpbColumn *col, const char *data, Size size,
			 Size *off, Size *length)
{
	const char *fault;

	if (col->length == -1)
	{
		if (unlikely(*off >= size))
			return past_tuple;
		if (likely(VARATT_IS_1B(data + *off) && !VARATT_IS_1B_E(data + *off)))
			*length = VARSIZE_1B(data + *off);
		else
		{
			/* of others nothing need have an address */
			Size		long_off = *off;
			Size		long_length = 0;

			fault = long_column_fault(col, data, size, &long_off, &long_length);
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
			return past_tuple;
		*length = col->length > 0 ? (Size) col->length :
			strnlen(data + *off, size - *off) + 1;
	}
	return unlikely(*length > size - *off) ? past_tuple : NULL;
}

/*
 * Must a tuple with this value be MAXALIGNed?  A short varlena is read
 * bytewise, and others are where index_form_tuple assumed them to be only
 * relative to the tuple's start.
 */
static inline bool
needs_alignment(const FpbColumn *col, const char *value)
{
	return col->align > sizeof(uint16) &&
		!(col->length == -1 && VARATT_IS_1B(value));
}

/*
 * What is wrong inside of a value, which ends in time, or NULL.
 */
static pg_attribute_always_inline const char *
inside_fault(const FpbColumn *col, const char *value)
{
	if (likely(col->inside.kind == FPB_INSIDE_NONE) ||
		(VARATT_IS_1B(value) && VARSIZE_1B(value) >= col->plain_from))
		return NULL;
	return fpb_value_fault(&col->inside, value);
}

/* a tuple whose columns are read one after the other */
typedef struct TupleReader
{
	const FpbIndex *ix;
	IndexTuple	tuple;
	const char *data;			/* of the columns */
	Size		size;			/* bytes of that */
	Size		off;			/* where the last one ends */
	int			next;			/* the next column's number, from 0 */
} TupleReader;

static void tuple_damaged(const FpbIndex *ix, IndexTuple tuple,
						  const char *fault) __attribute__((noreturn, cold, noinline));

/*
 * Report that a tuple contradicts itself.
 */
static void
tuple_damaged(const FpbIndex *ix, IndexTuple tuple, const char *fault)
{
	fpb_report_damage(ix->rel, fpb_cache_block(ix->cache, tuple),
					  psprintf("Of a tuple: %s.", fault));
}

/*
 * Begin to read a tuple, which lies in a page as far as it says how long it
 * is.  Raises an error if its header does not fit it.
 */
static inline void
begin_reading(TupleReader *reader, const FpbIndex *ix, IndexTuple tuple)
{
	Size		start = IndexInfoFindDataOffset(tuple->t_info);

	if (unlikely(IndexTupleSize(tuple) < start))
		tuple_damaged(ix, tuple, short_tuple);
	reader->ix = ix;
	reader->tuple = tuple;
	reader->data = (char *) tuple + start;
	reader->size = IndexTupleSize(tuple) - start;
	reader->off = 0;
	reader->next = 0;
}

/*
 * Go to the next column, and set *value to where it lies.  NULL if it is NULL.
 * Raises an error if it does not lie within the tuple, or if the value's type
 * would be led out of it.
 */
static pg_attribute_always_inline const char *
next_column(TupleReader *reader)
{
	int			i = reader->next++;
	const char *value;
	const char *fault;
	Size		length = 0;

	if (unlikely(IndexTupleHasNulls(reader->tuple) &&
				 att_isnull(i, (uint8 *) ((char *) reader->tuple + sizeof(IndexTupleData)))))
		return NULL;
	fault = column_fault(&reader->ix->cols[i], reader->data, reader->size, &reader->off, &length);
	if (unlikely(fault != NULL))
		tuple_damaged(reader->ix, reader->tuple, fault);
	value = reader->data + reader->off;
	reader->off += length;
	return value;
}

/*
 * The value of the next column.  By-reference ones point into the tuple.
 * Raises an error if it does not lie within the tuple, or if its type would be
 * led out of it.
 */
static pg_attribute_always_inline Datum
read_column(TupleReader *reader, bool *isnull)
{
	const FpbColumn *col = &reader->ix->cols[reader->next];
	const char *value = next_column(reader);
	const char *fault;

	*isnull = value == NULL;
	if (unlikely(value == NULL))
		return (Datum) 0;
	fault = inside_fault(col, value);
	if (unlikely(fault != NULL))
		tuple_damaged(reader->ix, reader->tuple, fault);
	if (unlikely(!(reader->tuple->t_info & INDEX_AM_RESERVED_BIT) &&
				 needs_alignment(col, value)))
		tuple_damaged(reader->ix, reader->tuple, "tuple has the wrong alignment flag");
	return fetch_att(value, col->by_value, col->length);
}

/*
 * The value of column i, from 0, of a tuple, as read_column gives it.
 */
static Datum
read_nth_column(const FpbIndex *ix, IndexTuple tuple, int i, bool *isnull)
{
	TupleReader reader;

	begin_reading(&reader, ix, tuple);
	while (reader.next < i)
		(void) next_column(&reader);
	return read_column(&reader, isnull);
}

/*
 * The value of a tuple's first column, of which it has one, as read_column
 * gives it.  What most keys are, a short varlena or of fixed length, and not
 * NULL, is seen at once to end within the tuple.
 */
static pg_attribute_always_inline Datum
read_first_column(const FpbIndex *ix, IndexTuple tuple, bool *isnull)
{
	const FpbColumn *col = &ix->cols[0];
	const char *value = (char *) tuple + IndexInfoFindDataOffset(0);
	Size		room = IndexTupleSize(tuple) - IndexInfoFindDataOffset(0);

	*isnull = false;
	if (likely((tuple->t_info & INDEX_NULL_MASK) == 0 && room > 0))
	{
		/* one that is stored elsewhere has a length of 0 */
		if (likely(VARATT_IS_1B(value) && VARSIZE_1B(value) >= col->plain_from &&
				   VARSIZE_1B(value) <= room))
			return PointerGetDatum(value);
		if (col->length > 0 && (Size) col->length <= room &&
			(col->align <= sizeof(uint16) ||
			 (tuple->t_info & INDEX_AM_RESERVED_BIT) != 0))
			return fetch_att(value, col->by_value, col->length);
	}
	return read_nth_column(ix, tuple, 0, isnull);
}

/* ------------------------------------------------------------------------
 * index tuples of exact size
 * ------------------------------------------------------------------------
 */

/*
 * Where the first natts columns of a tuple end, from its start.
 *
 * *aligned is set if one of them needs more alignment than 2 bytes, so that
 * the tuple must lie where index_form_tuple assumed it would.  *nulls is set
 * if one of them is NULL.  Raises an error if they don't lie within the tuple.
 */
static Size
columns_end(const FpbIndex *ix, IndexTuple tuple, int natts,
			bool *aligned, bool *nulls)
{
	TupleReader reader;

	*aligned = false;
	*nulls = false;
	begin_reading(&reader, ix, tuple);
	for (int i = 0; i < natts; i++)
	{
		const char *value = next_column(&reader);

		if (value == NULL)
			*nulls = true;
		else if (needs_alignment(&ix->cols[i], value))
			*aligned = true;
	}
	return reader.data - (char *) tuple + reader.off;
}

/*
 * Write a tuple's size and flags.  INDEX_AM_RESERVED_BIT tells the layout that
 * the tuple must be MAXALIGNed in the page.
 */
static void
set_tuple_info(IndexTuple tuple, Size size, bool aligned)
{
	tuple->t_info &= ~(INDEX_SIZE_MASK | INDEX_AM_RESERVED_BIT);
	tuple->t_info |= size;
	if (aligned)
		tuple->t_info |= INDEX_AM_RESERVED_BIT;
}

/*
 * A copy of a tuple's first natts key columns, without TID.  They are the
 * first bytes of its data.  If none of them is NULL, the null bitmap is left
 * out; its size is a multiple of MAXALIGN, so that what follows keeps its
 * alignment.
 */
static IndexTuple
truncate_tuple(const FpbIndex *ix, IndexTuple source, int natts)
{
	bool		aligned;
	bool		nulls;
	Size		end = columns_end(ix, source, natts, &aligned, &nulls);
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
	set_tuple_info(result, new_start + end - old_start, aligned);

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
		fault = column_fault(col, data, size, &off, &length);
		if (fault == NULL)
			fault = inside_fault(col, data + off);
		if (fault != NULL)
			return fault;
		if (col->length < 0 && !IndexTupleHasVarwidths(tuple))
			return "tuple has the wrong flag for columns of variable length";
		if (needs_alignment(col, data + off))
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
		return short_tuple;

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
		return short_tuple;
	return columns_fault(ix, tuple, size - start, ix->natts, ix->natts, &end, &aligned);
}

/* ------------------------------------------------------------------------
 * making keys and taking them apart
 * ------------------------------------------------------------------------
 */

/*
 * Make the key of a row.  Raises an error for a TID that a tail can't hold,
 * which the table access method "heap" never makes, and what index_form_tuple
 * raises.
 */
void
fpb_key_form(const FpbIndex *ix, Datum *values, bool *isnull,
			 ItemPointer tid, FpbKey *key)
{
	TupleDesc	desc;
	IndexTuple	tuple;
	Size		end;
	bool		aligned;
	bool		nulls;

	if (unlikely(ItemPointerGetOffsetNumber(tid) > FPB_TAIL_MAX_OFFSET))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("fpbtree indexes do not support tuple identifiers with an offset above %d",
						FPB_TAIL_MAX_OFFSET),
				 errdetail("Index \"%s\" is to refer to tuple (%u,%u).",
						   RelationGetRelationName(ix->rel),
						   ItemPointerGetBlockNumber(tid),
						   ItemPointerGetOffsetNumber(tid))));

	if (fpb_is_word(ix))
	{
		fpb_word_form(ix, values, isnull, tid, key);
		return;
	}

	desc = RelationGetDescr(ix->rel);
	tuple = index_form_tuple(desc, values, isnull);
	end = columns_end(ix, tuple, ix->natts, &aligned, &nulls);
	set_tuple_info(tuple, end, aligned);
	tuple->t_tid = *tid;

	key->tuple = tuple;
	key->low = 0;
	key->tail = fpb_tail_pack(0, tid);
	if (ix->cols[0].head >= FPB_HEAD_BYTES && !isnull[0])
	{
		Datum		stored[1];
		bool		stored_isnull[1];

		/* spares fetching a value from its TOAST table once more */
		stored[0] = index_getattr(tuple, 1, desc, &stored_isnull[0]);
		(void) fpb_head_of(ix, stored, stored_isnull, 1, false, &key->head);
	}
	else
		(void) fpb_head_of(ix, values, isnull, ix->nkeyatts, false, &key->head);
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
	TupleReader reader;

	begin_reading(&reader, ix, tuple);
	for (int i = 0; i < ncolumns; i++)
		values[i] = read_column(&reader, &isnull[i]);
}

/*
 * The values of a leaf entry's columns, INCLUDE columns among them, into
 * values[] and isnull[].  By-reference ones of a tuple point into it; those of
 * words are palloc'd.  Raises an error if the tuple is damaged.
 */
void
fpb_key_datums(const FpbIndex *ix, const FpbKey *key,
			   Datum *values, bool *isnull)
{
	if (fpb_is_word(ix))
		fpb_word_datums(ix, key, values, isnull);
	else
		fpb_tuple_datums(ix, key->tuple, ix->natts, values, isnull);
}

/*
 * Is one of the key columns of a leaf entry NULL?  INCLUDE columns don't
 * count.
 */
bool
fpb_key_has_null(const FpbIndex *ix, const FpbKey *key)
{
	uint8	   *bitmap;

	if (fpb_is_word(ix))
		return fpb_word_has_null(ix, key);

	if (!IndexTupleHasNulls(key->tuple))
		return false;
	if (unlikely(IndexTupleSize(key->tuple) < IndexInfoFindDataOffset(key->tuple->t_info)))
		tuple_damaged(ix, key->tuple, short_tuple);
	bitmap = (uint8 *) ((char *) key->tuple + sizeof(IndexTupleData));
	for (int i = 0; i < ix->nkeyatts; i++)
	{
		if (att_isnull(i, bitmap))
			return true;
	}
	return false;
}

/*
 * Make *search key the place of exactly this key, TID included.  The search
 * key's values point into the key's tuple, which must live as long as the
 * search key.  The search key of a truncated pivot is the place before all
 * keys that begin with its columns.  Raises an error if the tuple is damaged.
 */
void
fpb_search_key_from(const FpbIndex *ix, const FpbKey *key, FpbSearchKey *search)
{
	TupleReader reader;

	search->head = key->head;
	search->low = key->low;
	search->tail = key->tail;
	search->has_head = true;
	search->ncols = 0;
	search->on_equal = 1;
	if (fpb_is_word(ix))
		return;

	begin_reading(&reader, ix, key->tuple);
	search->ncols = fpb_pivot_natts(ix, key->tuple);
	for (int i = 0; i < search->ncols; i++)
	{
		FpbSearchColumn *col = &search->cols[i];

		col->value = read_column(&reader, &col->isnull);
		col->cmp = ix->cols[i].cmp;
	}
}

/*
 * Make *search key one end of the entries whose key columns equal those of
 * key, as the opclass has it: the first of them is the first entry >= the
 * lower end (upper false), and they are those < the upper one.  Points into
 * key's tuple.
 */
void
fpb_search_keys_equal(const FpbIndex *ix, const FpbKey *key, bool upper,
					  FpbSearchKey *search)
{
	if (fpb_is_word(ix))
	{
		fpb_word_search_keys_equal(ix, key, upper, search);
		return;
	}
	fpb_search_key_from(ix, key, search);
	search->tail = upper ? FPB_TAIL_MAX : FPB_TAIL_MIN;
}

/* ------------------------------------------------------------------------
 * comparison
 * ------------------------------------------------------------------------
 */

/*
 * Order of two values of a column as the index has it.  cmp is the opclass's
 * comparator or one whose second argument is of b's type.
 */
static inline int
compare_values(const FpbColumn *col, FmgrInfo *cmp,
			   Datum a, bool a_isnull, Datum b, bool b_isnull)
{
	int			result;

	if (unlikely(a_isnull || b_isnull))
	{
		if (a_isnull && b_isnull)
			return 0;
		return a_isnull == col->nulls_first ? -1 : 1;
	}

	result = DatumGetInt32(FunctionCall2Coll(cmp, col->collation, a, b));
	if (result == 0)
		return 0;
	return (result < 0) != col->desc ? -1 : 1;
}

/*
 * Is it certain that a comparator runs no code but the server's own, which
 * leaves indexes of ours alone?  Those of containers call that of the
 * elements, which may be anybody's.
 */
static bool
is_simple(const FmgrInfo *cmp)
{
	switch (cmp->fn_oid)
	{
		case F_BTARRAYCMP:
		case F_BTRECORDCMP:
		case F_RANGE_CMP:
		case F_MULTIRANGE_CMP:
			return false;
		default:
			return cmp->fn_oid < FirstGenbkiObjectId;
	}
}

/*
 * Do comparisons of the index's keys with each other run no code but the
 * server's own, which uses no index?
 */
bool
fpb_index_is_simple(const FpbIndex *ix)
{
	if (fpb_is_word(ix))
		return true;
	for (int i = 0; i < ix->nkeyatts; i++)
	{
		if (!is_simple(ix->cols[i].cmp))
			return false;
	}
	return true;
}

/*
 * Do comparisons of the index's keys with the search key run no code but the
 * server's own, which uses no index?
 */
bool
fpb_search_key_is_simple(const FpbIndex *ix, const FpbSearchKey *search)
{
	if (fpb_is_word(ix))
		return true;
	for (int i = 0; i < search->ncols; i++)
	{
		if (!is_simple(search->cols[i].cmp))
			return false;
	}
	return true;
}

/*
 * Sign of key - search key by their columns behind the first one, up to the
 * ncompare'th.  Raises errors as compare_tuple does.
 */
static int
compare_rest(const FpbIndex *ix, IndexTuple tuple, const FpbSearchKey *search,
			 int ncompare)
{
	TupleReader reader;

	begin_reading(&reader, ix, tuple);
	(void) next_column(&reader);
	for (int i = 1; i < ncompare; i++)
	{
		const FpbSearchColumn *pcol = &search->cols[i];
		Datum		value;
		bool		isnull;
		int			result;

		value = read_column(&reader, &isnull);
		result = compare_values(&ix->cols[i], pcol->cmp, value, isnull,
								pcol->value, pcol->isnull);
		if (result != 0)
			return result;
	}
	return 0;
}

/*
 * Sign of key - search key for tuples whose heads leave it open.  Raises an
 * error if a column that is compared is damaged, and what comparators raise.
 */
static int
compare_tuple(const FpbIndex *ix, const FpbKey *key, const FpbSearchKey *search)
{
	int			natts = fpb_pivot_natts(ix, key->tuple);
	int			ncompare = Min(natts, search->ncols);
	bool		isnull;
	int			result;

	if (ncompare > 0)
	{
		Datum		value = read_first_column(ix, key->tuple, &isnull);

		result = compare_values(&ix->cols[0], search->cols[0].cmp, value, isnull,
								search->cols[0].value, search->cols[0].isnull);
		if (result != 0)
			return result;
	}
	if (ncompare > 1)
	{
		result = compare_rest(ix, key->tuple, search, ncompare);
		if (result != 0)
			return result;
	}

	/* a truncated column is less than any value */
	if (natts < search->ncols)
		return -1;
	if (search->ncols == ix->nkeyatts)
		return pg_cmp_u64(key->tail, search->tail);

	/*
	 * a pivot that ends here stands just where a search key before all equals
	 * is
	 */
	if (natts == search->ncols && search->on_equal > 0)
		return 0;
	return search->on_equal;
}

/*
 * Sign of key - search key; key may be a pivot.  Calls comparators where words
 * or heads don't tell, and raises what they do, or an error if what they would
 * be handed is damaged.
 */
int
fpb_compare(const FpbIndex *ix, const FpbKey *key, const FpbSearchKey *search)
{
	if (fpb_is_word(ix))
	{
		if (key->head != search->head)
			return key->head < search->head ? -1 : 1;
		if (key->low != search->low)
			return key->low < search->low ? -1 : 1;
		return pg_cmp_u64(key->tail, search->tail);
	}

	if (search->has_head && key->head != search->head)
		return key->head < search->head ? -1 : 1;
	return compare_tuple(ix, key, search);
}

/*
 * How many of the first ncolumns columns of two tuples are equal, before one
 * that isn't?  *order is set to the sign of a - b there, or 0.  Raises errors
 * as fpb_compare does.
 */
static int
equal_columns(const FpbIndex *ix, const FpbKey *a, const FpbKey *b,
			  int ncolumns, int *order)
{
	TupleReader a_reader;
	TupleReader b_reader;

	*order = 0;
	begin_reading(&a_reader, ix, a->tuple);
	begin_reading(&b_reader, ix, b->tuple);
	for (int i = 0; i < ncolumns; i++)
	{
		Datum		a_value,
					b_value;
		bool		a_isnull,
					b_isnull;

		a_value = read_column(&a_reader, &a_isnull);
		b_value = read_column(&b_reader, &b_isnull);
		*order = compare_values(&ix->cols[i], ix->cols[i].cmp,
								a_value, a_isnull, b_value, b_isnull);
		if (*order != 0)
			return i;
	}
	return ncolumns;
}

/*
 * Sign of a - b, TIDs included; either may be a pivot.  Calls comparators
 * where words or heads don't tell, and raises what they do.
 */
int
fpb_compare_keys(const FpbIndex *ix, const FpbKey *a, const FpbKey *b)
{
	if (a->head != b->head)
		return a->head < b->head ? -1 : 1;

	if (fpb_is_word(ix))
	{
		if (a->low != b->low)
			return a->low < b->low ? -1 : 1;
	}
	else
	{
		int			a_natts = fpb_pivot_natts(ix, a->tuple);
		int			b_natts = fpb_pivot_natts(ix, b->tuple);
		int			order;

		(void) equal_columns(ix, a, b, Min(a_natts, b_natts), &order);
		if (order != 0)
			return order;
		if (a_natts != b_natts)
			return a_natts < b_natts ? -1 : 1;
	}
	return pg_cmp_u64(a->tail, b->tail);
}

/*
 * Are all key columns of a and b, entries of leaves, equal as the opclass has
 * it?  NULLs are equal to each other here.
 */
bool
fpb_keys_equal(const FpbIndex *ix, const FpbKey *a, const FpbKey *b)
{
	int			order;

	if (a->head != b->head)
		return false;
	if (fpb_is_word(ix))
		return fpb_word_equal(ix, a, b);
	(void) equal_columns(ix, a, b, ix->nkeyatts, &order);
	return order == 0;
}

/*
 * Are the keys of a and b, two entries of leaves or two pivots, the same
 * bytes, so that one copy serves both?  TIDs are of no account, but where a
 * pivot has some in its tuple.
 */
bool
fpb_keys_identical(const FpbIndex *ix, const FpbKey *a, const FpbKey *b)
{
	if (a->head != b->head)
		return false;
	if (fpb_is_word(ix))
		return a->low == b->low;	/* the tie is with the TID */
	if (a->tuple == b->tuple)
		return true;
	return a->tuple->t_info == b->tuple->t_info &&
		memcmp((char *) a->tuple + sizeof(IndexTupleData),
			   (char *) b->tuple + sizeof(IndexTupleData),
			   IndexTupleSize(a->tuple) - sizeof(IndexTupleData)) == 0;
}

/*
 * Do a and b, entries of leaves, agree in the first of several key columns, or
 * in the only one?  A NULL may pass for a value: this is for guesses.
 */
bool
fpb_keys_share_prefix(const FpbIndex *ix, const FpbKey *a, const FpbKey *b)
{
	int			order;

	if (!fpb_is_word(ix))
		return equal_columns(ix, a, b, 1, &order) == 1;
	if (ix->nkeyatts == 1)
		return a->head == b->head && a->low == b->low;
	return (a->head ^ b->head) >> (64 - ix->cols[0].width) == 0;
}

/* ------------------------------------------------------------------------
 * pivots
 * ------------------------------------------------------------------------
 */

/*
 * Number of key columns that a pivot has.  One without TID has an invalid
 * offset number and the number of its columns for a block number.  Any other
 * tuple has all columns.
 */
int
fpb_pivot_natts(const FpbIndex *ix, IndexTuple pivot)
{
	BlockNumber natts;

	if (likely(ItemPointerGetOffsetNumberNoCheck(&pivot->t_tid) != InvalidOffsetNumber))
		return ix->nkeyatts;
	natts = ItemPointerGetBlockNumberNoCheck(&pivot->t_tid);
	return Min(natts, (BlockNumber) ix->nkeyatts);
}

/*
 * Make *key the pivot that lies before every key.  Tuple form: allocates its
 * tuple, which has no columns.
 */
void
fpb_key_minus_infinity(const FpbIndex *ix, FpbKey *key)
{
	memset(key, 0, sizeof(FpbKey));
	if (!fpb_is_word(ix))
	{
		key->tuple = palloc0(MAXALIGN(sizeof(IndexTupleData)));
		set_tuple_info(key->tuple, IndexInfoFindDataOffset(0), false);
		ItemPointerSet(&key->tuple->t_tid, 0, InvalidOffsetNumber);
	}
}

/*
 * Separator of words: all that can be cut off is the TID.  The tie stays if it
 * is what tells left from right.
 */
static void
word_separator(const FpbKey *left, const FpbKey *right, FpbKey *pivot)
{
	*pivot = *right;
	if (left->head != right->head || left->low != right->low)
		pivot->tail = FPB_TAIL_MIN;
	else if (fpb_tail_tie(left->tail) != fpb_tail_tie(right->tail))
		pivot->tail &= ~FPB_TAIL_TID_MASK;
}

/*
 * The tail after an entry's: that of the next offset number, or of the first
 * of the next block.
 */
static uint64
next_tail(uint64 tail)
{
	if ((tail & FPB_TAIL_MAX_OFFSET) < FPB_TAIL_MAX_OFFSET)
		return tail + 1;
	return tail + 1 + FirstOffsetNumber;
}

/*
 * Make *pivot the shortest with left < pivot <= right, which are entries of a
 * leaf: the low fence of the leaf that begins with right.  Tuple form:
 * allocates pivot->tuple, which takes no more room than left's.  Calls
 * comparators.
 *
 * There are two candidates, and the one that takes less room is made.
 *
 * - Right, its columns behind the first in which it is greater than left cut
 *	 off.  If there is none, the TID after left's is what tells them apart.
 * - Left's own key, with the TID after left's.
 *
 * The second is left without its INCLUDE columns, so a separator never takes
 * more room than left does: what a page keeps for its high fence is reckoned
 * by that.
 */
void
fpb_key_separator(const FpbIndex *ix, const FpbKey *left, const FpbKey *right,
				  FpbKey *pivot)
{
	int			nequal;
	int			order;
	IndexTuple	left_tuple;

	if (fpb_is_word(ix))
	{
		word_separator(left, right, pivot);
		return;
	}

	/*
	 * (Left is not less than right where a comparator is inconsistent, and
	 * any separator is as good as another.)
	 */
	nequal = equal_columns(ix, left, right, ix->nkeyatts, &order);

	pivot->low = 0;
	pivot->tail = FPB_TAIL_MIN;
	pivot->head = pivot_head(ix, right->head, Min(nequal + 1, ix->nkeyatts));
	pivot->tuple = truncate_tuple(ix, right->tuple, Min(nequal + 1, ix->nkeyatts));
	if (nequal == ix->nkeyatts)
		pivot->tail = next_tail(left->tail);

	left_tuple = truncate_tuple(ix, left->tuple, ix->nkeyatts);
	if (fpb_tuple_space(left_tuple) < fpb_tuple_space(pivot->tuple))
	{
		pfree(pivot->tuple);
		pivot->tuple = left_tuple;
		pivot->head = left->head;
		pivot->tail = next_tail(left->tail);
	}
	else
		pfree(left_tuple);
	if (pivot->tail != FPB_TAIL_MIN)
		fpb_tail_tid(pivot->tail, &pivot->tuple->t_tid);
}

/*
 * Raise an error if the tuple of a new row is too long.  heap is the table, or
 * NULL if it is not at hand.
 */
void
fpb_check_key_size(const FpbIndex *ix, Relation heap, const FpbKey *key)
{
	Size		size = fpb_is_word(ix) ? 0 : IndexTupleSize(key->tuple);
	ItemPointerData tid;

	if (likely(size <= BLCKSZ / 8) || size <= ix->max_tuple)
		return;

	fpb_tail_tid(key->tail, &tid);
	ereport(ERROR,
			(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
			 errmsg("index row size %zu exceeds fpbtree version %u maximum %u for index \"%s\"",
					size, FPB_VERSION, ix->max_tuple,
					RelationGetRelationName(ix->rel)),
			 heap == NULL ? 0 :
			 errdetail("Index row references tuple (%u,%u) in relation \"%s\".",
					   ItemPointerGetBlockNumberNoCheck(&tid),
					   ItemPointerGetOffsetNumberNoCheck(&tid),
					   RelationGetRelationName(heap)),
			 errhint("Values larger than 1/3 of a buffer page cannot be indexed.\n"
					 "Consider a function index of an MD5 hash of the value, "
					 "or use full text indexing."),
			 heap == NULL ? 0 :
			 errtableconstraint(heap, RelationGetRelationName(ix->rel))));
}
