/*-------------------------------------------------------------------------
 *
 * key/key.c
 *	  Keys: making them, taking them apart, looking for them.
 *
 * What only words need is in key/word.c, what only tuples need in key/tuple.c.
 * The functions here choose between the two.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "utils/rel.h"

#include "key/join_tuple.h"
#include "key/tuple.h"

/*
 * The head of a tuple made of these values.  A varlena in the tuple need not
 * be fetched from a TOAST table.
 */
static uint64
form_head(const FpbIndex *ix, IndexTuple tuple, const Datum *values,
		  const bool *isnull)
{
	int			ncolumns = fpb_head_columns(ix);
	Datum		stored[FPB_HEAD_COLUMNS];
	uint64		head;

	for (int i = 0; i < ncolumns; i++)
	{
		bool		null = isnull[i];

		stored[i] = null || ix->cols[i].length != -1 ? values[i] :
			index_getattr(tuple, i + 1, RelationGetDescr(ix->rel), &null);
	}
	if (unlikely(!fpb_head_of(ix, stored, isnull, ncolumns, false, &head) &&
				 ix->second != FPB_SECOND_NONE))
		ereport(ERROR,
				(errcode(ERRCODE_CHARACTER_NOT_IN_REPERTOIRE),
				 errmsg("a value for index \"%s\" has a byte of zero, which no text can have",
						RelationGetRelationName(ix->rel)),
				 errhint("It has come from a cast that takes something else for a text.")));
	return head;
}

/*
 * Form the tuple of a single value that is a short varlena, or plain and can
 * be one, as index_form_tuple forms it.  NULL of any other.
 */
static IndexTuple
form_short(const FpbIndex *ix, Datum value)
{
	const char *v = DatumGetPointer(value);
	Size		length;
	IndexTuple	tuple;
	char	   *to;

	if (VARATT_IS_1B(v))
	{
		if (VARATT_IS_1B_E(v))
			return NULL;
		length = VARSIZE_1B(v) - VARHDRSZ_SHORT;
		v += VARHDRSZ_SHORT;
	}
	else
	{
		if (!VARATT_CAN_MAKE_SHORT(v) ||
			TupleDescAttr(RelationGetDescr(ix->rel), 0)->attstorage == TYPSTORAGE_PLAIN)
			return NULL;
		length = VARSIZE(v) - VARHDRSZ;
		v += VARHDRSZ;
	}
	tuple = palloc(sizeof(IndexTupleData) + VARHDRSZ_SHORT + length);
	tuple->t_info = INDEX_VAR_MASK | (sizeof(IndexTupleData) + VARHDRSZ_SHORT + length);
	to = (char *) tuple + sizeof(IndexTupleData);
	SET_VARSIZE_SHORT(to, VARHDRSZ_SHORT + length);
	fpb_copy_bytes(to + VARHDRSZ_SHORT, v, length);
	return tuple;
}

/*
 * Form the tuple of a row's values, but for its TID.
 */
static IndexTuple
form_tuple(const FpbIndex *ix, Datum *values, bool *isnull)
{
	IndexTuple	tuple = NULL;
	Size		end;
	bool		aligned;
	bool		nulls;

	if (ix->natts == 1 && ix->cols[0].length == -1 && !isnull[0])
		tuple = form_short(ix, values[0]);
	if (tuple != NULL)
		return tuple;
	tuple = index_form_tuple(RelationGetDescr(ix->rel), values, isnull);
	end = fpb_columns_end(ix, tuple, ix->natts, &aligned, &nulls);
	fpb_set_tuple_info(tuple, end, aligned);
	return tuple;
}

/*
 * Make the key of a row.  Raises an error for a TID that a tail can't hold
 * (the table access method "heap" never makes one), and what index_form_tuple
 * raises.
 */
void
fpb_key_form(const FpbIndex *ix, Datum *values, bool *isnull,
			 ItemPointer tid, FpbKey *key)
{
	IndexTuple	tuple;

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

	tuple = form_tuple(ix, values, isnull);
	tuple->t_tid = *tid;

	key->tuple = tuple;
	key->low = 0;
	key->tail = fpb_tail_pack(0, tid);
	key->head = form_head(ix, tuple, values, isnull);
}

/*
 * Get the values of a leaf entry's columns, INCLUDE columns among them.  Those
 * passed by reference point into a tuple, or into *space if that is cut, and
 * are palloc'd for words.  Raises an error if the tuple is damaged.
 */
void
fpb_key_datums(const FpbIndex *ix, const FpbKey *key, FpbTupleSpace *space,
			   Datum *values, bool *isnull)
{
	if (fpb_is_word(ix))
		fpb_word_datums(ix, key, values, isnull);
	else
		fpb_tuple_datums(ix, fpb_whole_tuple(ix, key, space), ix->natts, values, isnull);
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
		fpb_tuple_damaged(ix, key->tuple, FPB_SHORT_TUPLE);
	bitmap = (uint8 *) ((char *) key->tuple + sizeof(IndexTupleData));
	for (int i = 0; i < ix->nkeyatts; i++)
	{
		if (att_isnull(i, bitmap))
			return true;
	}
	return false;
}

/*
 * Make *search the place of exactly this key, TID included.  If the key is a
 * truncated pivot, that is the place before all keys that begin with its
 * columns.  The search key's values point into the key's tuple, which must
 * live as long; if that is cut, into a palloc'd copy of all of it.  Raises an
 * error if the tuple is damaged.
 */
void
fpb_search_key_from(const FpbIndex *ix, const FpbKey *key, FpbSearchKey *search)
{
	FpbTupleReader reader;

	search->head = fpb_key_head(ix, key);
	search->low = fpb_is_word(ix) ? key->low : 0;
	search->tail = key->tail;
	search->has_head = fpb_is_word(ix) ||
		(ix->cols[0].head != FPB_HEAD_NONE && !ix->old_heads);
	search->named_node = 0;
	search->ncols = 0;
	search->on_equal = 1;
	if (fpb_is_word(ix))
		return;

	fpb_begin_reading(&reader, ix, key->cut_in == NULL ? key->tuple :
					  fpb_copy_whole_tuple(ix, key));
	search->ncols = fpb_pivot_natts(ix, key->tuple);
	for (int i = 0; i < search->ncols; i++)
	{
		FpbSearchColumn *col = &search->cols[i];

		col->value = fpb_read_column(&reader, &col->isnull);
		col->cmp = ix->cols[i].cmp;
	}
	if (search->has_head)
		fpb_search_key_set_bytes(ix, search);
}

/*
 * Is a place after all keys that begin with its columns?  (Of words the word
 * tells.)
 */
static inline bool
is_place_after(const FpbIndex *ix, const FpbKey *place)
{
	return !fpb_is_word(ix) && place->tail == FPB_TAIL_MAX;
}

/*
 * Make a key of a search key's place.  False if a tuple of its values might be
 * too long, or can't have the head that it should have: a text may have a byte
 * of zero.  The tuple is palloc'd.
 */
bool
fpb_place_form(const FpbIndex *ix, const FpbSearchKey *search, FpbKey *key)
{
	TupleDesc	desc = RelationGetDescr(ix->rel);
	Datum		values[INDEX_MAX_KEYS];
	bool		isnull[INDEX_MAX_KEYS];
	IndexTuple	whole;

	key->head = search->head;
	key->low = search->low;
	key->tail = search->tail;
	key->tuple = NULL;
	if (fpb_is_word(ix))
		return true;
	if (search->has_head != (ix->cols[0].head != FPB_HEAD_NONE && !ix->old_heads))
		return false;
	for (int i = 0; i < ix->natts; i++)
	{
		isnull[i] = i >= search->ncols || search->cols[i].isnull;
		values[i] = isnull[i] ? (Datum) 0 : search->cols[i].value;
		Assert(i >= search->ncols || search->cols[i].cmp == ix->cols[i].cmp);
	}
	if (MAXALIGN(IndexInfoFindDataOffset(INDEX_NULL_MASK) +
				 heap_compute_data_size(desc, values, isnull)) > Min(ix->max_tuple, INDEX_SIZE_MASK))
		return false;
	whole = index_form_tuple(desc, values, isnull);
	key->tuple = fpb_truncate_tuple(ix, whole, search->ncols);
	pfree(whole);
	return true;
}

/*
 * Make *search a place.  As fpb_search_key_from otherwise.
 */
void
fpb_place_search_key(const FpbIndex *ix, const FpbKey *key, FpbSearchKey *search)
{
	fpb_search_key_from(ix, key, search);
	if (is_place_after(ix, key))
		search->on_equal = -1;
}

/*
 * Sign of a - b, two places.
 */
int
fpb_compare_places(const FpbIndex *ix, const FpbKey *a, const FpbKey *b)
{
	FpbSearchKey search;

	/* a search key may be after other keys that begin with its columns */
	if (is_place_after(ix, a) &&
		(!is_place_after(ix, b) ||
		 fpb_pivot_natts(ix, a->tuple) <= fpb_pivot_natts(ix, b->tuple)))
	{
		fpb_place_search_key(ix, a, &search);
		return -fpb_compare(ix, b, &search);
	}
	fpb_place_search_key(ix, b, &search);
	return fpb_compare(ix, a, &search);
}

/*
 * Make *search one end of the entries whose key columns equal those of key, to
 * the opclasses.  The first of them is the first entry >= the lower end (upper
 * = false), and they are the entries < the upper one.  Points into key's
 * tuple.
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

/*
 * Raise an error, in btree's words, if the tuple of a new row is too long for
 * a page.  heap is the table, or NULL if the caller has not opened it.
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
