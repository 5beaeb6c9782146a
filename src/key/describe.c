/*-------------------------------------------------------------------------
 *
 * key/describe.c
 *	  What the relcache tells of an index: its form and its columns.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/tupmacs.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_type.h"
#include "utils/fmgroids.h"
#include "utils/pg_locale.h"

#include "base/options.h"
#include "key/guess.h"
#include "key/key.h"
#include "key/tuple.h"

/* pg_type's; the struct may be longer */
#define TIMETZ_LENGTH	12

/*
 * The kind of head of a string: by its bytes, by ICU's sort key, or none.
 */
static FpbHeadKind
string_head_kind(Oid collation, FpbHeadKind by_bytes, FpbHeadKind by_sort_key)
{
	if (fpb_collation_is_c(collation))
		return by_bytes;
	return fpb_collation_has_sort_keys(collation) ? by_sort_key : FPB_HEAD_NONE;
}

/*
 * The kind of head of a column without a word type.  It is part of the on-disk
 * format, so it must depend only on what can't change while the index exists.
 */
static FpbHeadKind
value_head_kind(const FpbIndex *ix, int column)
{
	const FpbColumn *col = &ix->cols[column];
	Form_pg_attribute att = TupleDescAttr(RelationGetDescr(ix->rel), column);

	switch (index_getprocid(ix->rel, column + 1, FPB_ORDER_PROC))
	{
		case F_BTTEXTCMP:
			return att->attlen != -1 ? FPB_HEAD_NONE :
				string_head_kind(col->collation, FPB_HEAD_BYTES, FPB_HEAD_SORT_KEY);
		case F_BPCHARCMP:
			return att->attlen != -1 ? FPB_HEAD_NONE :
				string_head_kind(col->collation, FPB_HEAD_BPCHAR, FPB_HEAD_BPCHAR_SORT_KEY);
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
		case F_NUMERIC_CMP:
			return att->attlen == -1 ? FPB_HEAD_NUMERIC : FPB_HEAD_NONE;
		case F_NETWORK_CMP:
			return att->attlen == -1 ? FPB_HEAD_INET : FPB_HEAD_NONE;
		case F_INTERVAL_CMP:
			return att->attlen == sizeof(Interval) ? FPB_HEAD_INTERVAL : FPB_HEAD_NONE;
		case F_TIMETZ_CMP:
			return att->attlen == TIMETZ_LENGTH ? FPB_HEAD_TIMETZ : FPB_HEAD_NONE;
		default:
			return FPB_HEAD_NONE;
	}
}

/*
 * The form of an index whose key columns all have word types: that of the
 * shortest word with room for all codes, or the tuple form.
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
 * Choose the width of the code of a column, if it has one, in tuple form.
 */
static void
choose_column_width(FpbIndex *ix, int column)
{
	FpbColumn  *col = &ix->cols[column];
	int			bits = col->word ? fpb_word_bits(col->word) : 0;

	col->width = bits == 0 ? 0 : bits <= 32 ? 32 : bits <= 64 ? 64 : 128;
}

/*
 * Choose the kind of head of one of the first columns, in tuple form.
 */
void
fpb_choose_column_head(FpbIndex *ix, int column)
{
	FpbColumn  *col = &ix->cols[column];

	if (col->word == NULL)
		col->head = value_head_kind(ix, column);
	else
		col->head = fpb_word_bits(col->word) <= 64 ? FPB_HEAD_WORD : FPB_HEAD_UUID;
}

/*
 * Has a column, a number or a uuid, codes of which its values can be made
 * again?
 */
static bool
is_whole_code(const FpbColumn *col)
{
	return col->word != NULL && fpb_word_is_code(col->word) &&
		(col->by_value || fpb_word_bits(col->word) > 64);
}

/*
 * Is a column a text in ascending order, whose bytes tell that?
 */
static bool
is_ascending_text(const FpbIndex *ix, int column)
{
	const FpbColumn *col = &ix->cols[column];

	if (col->word != NULL || col->desc)
		return false;
	switch (index_getprocid(ix->rel, column + 1, FPB_ORDER_PROC))
	{
		case F_BTTEXTCMP:
		case F_BTTEXT_PATTERN_CMP:
			return value_head_kind(ix, column) == FPB_HEAD_BYTES;
		default:
			return false;
	}
}

/*
 * Do the bytes of keys go on into the second column?  The first is then a text
 * in ascending order, or a code, and the second a number, of which the head
 * may have all, a uuid, or such a text.  (If that were descending, its bytes
 * inverted, it would need an end mark: of two texts the one that goes on would
 * be the less.)
 *
 * This must depend only on what can't change while the index exists: not on
 * the column's type, in place of which another may come that the operator
 * class takes, too.
 */
static FpbSecond
second_kind(const FpbIndex *ix)
{
	const FpbColumn *second = &ix->cols[1];

	if (ix->nkeyatts < 2 || (ix->first_size == 0 && !is_ascending_text(ix, 0)))
		return FPB_SECOND_NONE;
	if (is_whole_code(second))
		return second->by_value ? FPB_SECOND_NUMBER :
			ix->first_size > 0 ? FPB_SECOND_UUID : FPB_SECOND_NONE;
	return is_ascending_text(ix, 1) ? FPB_SECOND_TEXT : FPB_SECOND_NONE;
}

/*
 * Choose the widths of the columns' codes and, in tuple form, the head.
 */
static void
choose_widths(FpbIndex *ix)
{
	FpbColumn  *first = &ix->cols[0];

	ix->byte_heads = ix->byte_order = false;
	ix->first_size = 0;
	ix->last_bytes = false;
	ix->guesses = FPB_GUESSES_NONE;
	ix->second = FPB_SECOND_NONE;
	for (int i = 0; i < ix->nkeyatts; i++)
	{
		ix->cols[i].head = FPB_HEAD_NONE;
		ix->cols[i].width = 0;
	}
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

	for (int i = 0; i < ix->nkeyatts; i++)
		choose_column_width(ix, i);
	fpb_choose_column_head(ix, 0);
	/* more for a value would help a search, but make it larger than a btree */
	ix->head_width = first->word != NULL ? 8 : first->head == FPB_HEAD_NONE ? 0 : 4;
	if (ix->natts > 1 && is_whole_code(first))
		ix->first_size = first->width / BITS_PER_BYTE;
	ix->second = second_kind(ix);
	if (ix->second != FPB_SECOND_NONE)
		fpb_choose_column_head(ix, 1);
	else if (first->width == 32 && ix->nkeyatts > 1)
	{
		fpb_choose_column_head(ix, 1);
		if (ix->cols[1].head != FPB_HEAD_NONE && !fpb_head_is_sort_key(ix->cols[1].head))
			first->head = FPB_HEAD_PAIR;
	}
	/* prefixes of numbers alone would save nothing */
	ix->byte_order = fpb_head_is_bytes(first->head) ||
		(ix->first_size > 0 && (ix->second != FPB_SECOND_NONE || first->width == 128));
	ix->last_bytes = ix->first_size > 0 && ix->natts == 2 &&
		(ix->second == FPB_SECOND_NUMBER || ix->second == FPB_SECOND_UUID);
	if (ix->second == FPB_SECOND_NUMBER)
		ix->head_width = sizeof(uint64);
	ix->byte_heads = ix->byte_order || fpb_head_is_sort_key(first->head);
	if (ix->head_width == 0 && first->length == -1)
		ix->guesses = fpb_guesses_of(ix->rel->rd_opcintype[0], first->collation);
}

/*
 * Choose all that depends on how collations order the columns' strings.  Where
 * that is by bytes, though the collation has another name, the index has it as
 * "C": from then on nothing asks the library.  Reads catalogs.
 */
static void
choose_forms(FpbIndex *ix)
{
	for (int i = 0; i < ix->nkeyatts; i++)
	{
		FpbColumn  *col = &ix->cols[i];

		col->collation = ix->rel->rd_indcollation[i];
		if (ix->c_locale == FPB_C_LOCALE_BYTES && col->word == NULL &&
			fpb_collation_c_locale(col->collation) != FPB_C_LOCALE_NONE)
			col->collation = C_COLLATION_OID;
	}
	choose_widths(ix);
	ix->heads_version = fpb_head_is_sort_key(ix->cols[0].head) ?
		fpb_collation_version(ix->cols[0].collation) : FPB_HEADS_FIXED;
}

/*
 * See key/key.h.
 */
void
fpb_index_set_c_locale(FpbIndex *ix, FpbCLocale c_locale)
{
	if (ix->c_locale != c_locale)
	{
		ix->c_locale = c_locale;
		choose_forms(ix);
	}
}

/*
 * Find out what the columns behind the first are like.
 */
static void
describe_rest(FpbIndex *ix)
{
	const FpbColumn *second = &ix->cols[1];
	Size		size = 0;

	ix->rest = ix->natts == 2 && second->length == -1 ? FPB_REST_SHORT : FPB_REST_FIXED;
	for (int i = 1; i < ix->natts && ix->rest == FPB_REST_FIXED; i++)
	{
		const FpbColumn *col = &ix->cols[i];

		size = TYPEALIGN(col->align, size) + Max(col->length, 0);
		if (col->length <= 0 || col->inside.kind != FPB_INSIDE_NONE ||
			col->align > second->align || size > FPB_REST_MOST)
			ix->rest = FPB_REST_ANY;
	}
	ix->rest_size = ix->rest == FPB_REST_FIXED ? size : 0;
}

/*
 * Do the operator classes of a described index say that equal keys are always
 * the same value, though perhaps not compressed alike?  In the word forms they
 * are not asked: the word and the tie bits together are the value.
 *
 * Calls support function 4 of the operator classes, which may be anybody's.
 * So the caller has become the index's owner, and holds no buffer lock.
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
 * Has a described index a key column of type bpchar without a length?  Its
 * values may end with any number of blanks, so equal ones may differ, whatever
 * the operator class says.
 *
 * An index keeps its file when a char(n) loses its length.  So this may become
 * true of an index that shares keys.  Reads no catalog.
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
 * equal keys are always the same value.  Else an equal key of another value
 * might belong between two TIDs of a posting.
 *
 * The build asks once, as the index's owner, and the metapage keeps the
 * answer.  All later work on the index must find the same answer, and must not
 * run anybody's code for it.
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
 * tuple_align, natts, nkeyatts and the columns.  Leaves alone what depends on
 * the metapage.  The comparators belong to the relcache entry.  May read
 * catalogs, so the caller holds no buffer lock.
 */
void
fpb_index_describe(FpbIndex *ix, Relation rel)
{
	bool		all_words = true;

#ifdef USE_ASSERT_CHECKING
	/* what nobody sets shall be noticed */
	memset(ix, 0x7F, sizeof(*ix));
#endif
	ix->rel = rel;

	ix->copied_from = InvalidBlockNumber;
	ix->may_queue = fpb_may_queue(rel);
	ix->tree = FPB_MAIN_TREE;
	for (int i = 0; i < FPB_TIERS; i++)
	{
		ix->tier_roots[i] = FPB_METAPAGE;
		ix->tier_levels[i] = 0;
	}
	ix->natts = IndexRelationGetNumberOfAttributes(rel);
	ix->nkeyatts = IndexRelationGetNumberOfKeyAttributes(rel);

	ix->c_locale = FPB_C_LOCALE_NONE;
	ix->tuple_align = sizeof(uint16);
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
		ix->tuple_align = Max(ix->tuple_align, col->align);
	}
	describe_rest(ix);
	for (int i = 0; i < ix->nkeyatts; i++)
	{
		FpbColumn  *col = &ix->cols[i];
		Oid			cmp_proc = index_getprocid(rel, i + 1, FPB_ORDER_PROC);

		col->cmp = index_getprocinfo(rel, i + 1, FPB_ORDER_PROC);
		col->desc = (rel->rd_indoption[i] & INDOPTION_DESC) != 0;
		col->nulls_first = (rel->rd_indoption[i] & INDOPTION_NULLS_FIRST) != 0;
		col->word = fpb_word_type(cmp_proc, rel->rd_opcintype[i]);
		if (col->word != NULL &&
			!fpb_word_fits(col->word, TupleDescAttr(RelationGetDescr(rel), i)))
			col->word = NULL;
		if (col->word != NULL)
			continue;
		all_words = false;
		ix->c_locale = Max(ix->c_locale, fpb_collation_c_locale(rel->rd_indcollation[i]));
	}

	ix->form = all_words && ix->nkeyatts <= FPB_MAX_WORD_COLUMNS && ix->natts == ix->nkeyatts ?
		word_form(ix) : FPB_TUPLE;
	ix->old_heads = ix->mixed_heads = false;
	choose_forms(ix);
}
