/*-------------------------------------------------------------------------
 *
 * key/word.c
 *	  Words: the codes of all key columns as one integer.
 *
 * One column: word = code, tie = tie (see key/code.h).
 *
 * Several columns, in fields of as many bits as their types' codes have.  The
 * order wanted is (code A, tie A if A is shared, code B, tie B if B is shared,
 * ...), and only after all of these the signs of the zeros, because entries
 * whose keys are equal must not have another key between them.
 *
 * So these are strung together, each code followed by its tie if it is shared.
 * What comes first tells where the next begins.  Therefore strings compare as
 * the columns do, one after the other.  The string begins with the word's
 * highest bit.  If it is shorter than the word, zeros fill it up.  If it is
 * longer, it goes on in the tie bits, from the highest one down.  The signs of
 * zeros, which only serve to give back what was put in, are the lowest of the
 * tie bits, the last column's last.  So all keys that are equal to the
 * opclasses have the same word and adjacent ties.
 *
 * There is room for both.  Each column adds one bit at most, and the codes
 * alone fit the word.  There are at most FPB_MAX_WORD_COLUMNS columns, and as
 * many tie bits.  A column that has a tie in the string has no sign, so ties
 * that reach the tie bits leave room there for the signs of the others.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "key/code.h"

/*
 * A string of bits.  The first one is the highest of words[0].  Bits are zero
 * until they are written.
 */
typedef struct FpbBits
{
	uint64		words[3];
	int			at;				/* the next one to write, or to read */
} FpbBits;

static inline void
put_bits(FpbBits *bits, uint64 value, int n)
{
	uint64	   *word = &bits->words[bits->at / 64];
	int			room = 64 - bits->at % 64;

	if (n <= room)
		*word |= value << (room - n);
	else
	{
		*word |= value >> (n - room);
		word[1] |= value << (64 - (n - room));
	}
	bits->at += n;
}

static inline uint64
get_bits(FpbBits *bits, int n)
{
	const uint64 *word = &bits->words[bits->at / 64];
	int			skip = bits->at % 64;
	uint64		value = *word << skip;

	if (n > 64 - skip)
		value |= word[1] >> (64 - skip);
	bits->at += n;
	return value >> (64 - n);
}

/* Bits of the form's words. */
static inline int
word_bits(const FpbIndex *ix)
{
	return ix->form == FPB_WORD4 ? 32 : ix->form == FPB_WORD8 ? 64 : 128;
}

/*
 * Put the columns of a key together, as the head of this file tells.
 */
void
fpb_word_compose(const FpbIndex *ix, const FpbCoded *coded,
				 uint64 *head, uint64 *low, uint32 *tie)
{
	FpbBits		bits = {{0, 0, 0}, 0};
	uint32		signs = 0;

	if (ix->nkeyatts == 1)
	{
		*head = ix->form == FPB_WORD4 ? coded[0].code.hi << 32 : coded[0].code.hi;
		*low = coded[0].code.lo;
		*tie = coded[0].tie;
		return;
	}

	for (int i = 0; i < ix->nkeyatts; i++)
	{
		const FpbColumn *col = &ix->cols[i];

		put_bits(&bits, coded[i].code.hi, col->width);
		if (unlikely(fpb_code_is_shared(col, coded[i].code)))
			put_bits(&bits, coded[i].tie, 1);
		else if (fpb_code_is_zero(col, coded[i].code))
			signs = signs << 1 | coded[i].tie;
	}

	*head = bits.words[0];
	*low = ix->form == FPB_WORD16 ? bits.words[1] : 0;
	if (ix->form == FPB_WORD4)
		*head &= ~(uint64) PG_UINT32_MAX;
	bits.at = word_bits(ix);
	*tie = (uint32) get_bits(&bits, FPB_TAIL_TIE_BITS) | signs;
}

/*
 * Set up the fields of the columns of an index whose words have several.
 */
void
fpb_word_fields(const FpbIndex *ix, FpbField *fields)
{
	FpbCode		none = {0, 0};
	int			at = 0;

	for (int i = 0; i < ix->nkeyatts; i++)
	{
		const FpbColumn *col = &ix->cols[i];
		FpbField   *field = &fields[i];
		FpbCode		zero = {UINT64CONST(1) << (col->word->bits - 1), 0};

		field->in_low = at >= 64;
		field->before = at % 64;
		field->unused = 64 - col->width;
		field->upper = at < 64 && at + col->width > 64 ? 64 - at : 0;
		at += col->width;
		field->shared = col->nulls_first ? 0 : fpb_code_mask(col);
		field->zero = field->shared;
		if (col->word->is_float)
			field->zero = fpb_code_direct(col, zero).hi;
		field->flip = fpb_code_direct(col, none).hi;
		switch ((FpbWordKind) col->word->kind)
		{
			case FPB_KIND_BOOL:
				field->form = FPB_FIELD_BOOL;
				break;
			case FPB_KIND_CHAR:
				field->form = FPB_FIELD_CHAR;
				break;
			case FPB_KIND_INT2:
				field->form = FPB_FIELD_INT2;
				field->flip ^= 0x8000;
				break;
			case FPB_KIND_INT4:
				field->form = FPB_FIELD_INT4;
				field->flip ^= FPB_SIGN32;
				break;
			case FPB_KIND_INT8:
				field->form = FPB_FIELD_INT8;
				field->flip ^= FPB_SIGN64;
				break;
			case FPB_KIND_UINT4:
				field->form = FPB_FIELD_INT4;
				break;
			case FPB_KIND_UINT8:
				field->form = FPB_FIELD_INT8;
				break;
			case FPB_KIND_FLOAT4:
				field->form = FPB_FIELD_FLOAT4;
				break;
			case FPB_KIND_FLOAT8:
				field->form = FPB_FIELD_FLOAT8;
				break;
			default:
				field->form = FPB_FIELD_OTHER;
		}
	}
}

/*
 * Take the columns of a key apart: the inverse of fpb_word_compose.  A damaged
 * key gives codes that are no value's, but which can be decoded all the same.
 */
void
fpb_word_split(const FpbIndex *ix, const FpbKey *key, FpbCoded *coded)
{
	uint32		tie = fpb_tail_tie(key->tail) & ((1 << FPB_TAIL_TIE_BITS) - 1);
	FpbBits		bits;

	if (ix->nkeyatts == 1)
	{
		coded[0].code.hi = ix->form == FPB_WORD4 ? key->head >> 32 : key->head;
		coded[0].code.lo = key->low;
		coded[0].tie = tie & 1;
		return;
	}

	bits = (FpbBits)
	{
		{
			key->head, key->low, 0
		}, word_bits(ix)
	};
	put_bits(&bits, tie, FPB_TAIL_TIE_BITS);
	bits.at = 0;
	for (int i = 0; i < ix->nkeyatts; i++)
	{
		const FpbColumn *col = &ix->cols[i];

		coded[i].code.hi = get_bits(&bits, col->width);
		coded[i].code.lo = 0;
		coded[i].tie = fpb_code_is_shared(col, coded[i].code) ? (uint32) get_bits(&bits, 1) : 0;
	}
	for (int i = ix->nkeyatts - 1; i >= 0; i--)
	{
		if (fpb_code_is_zero(&ix->cols[i], coded[i].code))
		{
			coded[i].tie = tie & 1;
			tie >>= 1;
		}
	}
}

/*
 * Make the key of a row in a word index.  The caller has checked that a tail
 * can hold the TID.
 */
void
fpb_word_form(const FpbIndex *ix, const Datum *values, const bool *isnull,
			  ItemPointer tid, FpbKey *key)
{
	FpbCoded	coded[FPB_MAX_WORD_COLUMNS];
	uint32		tie;

	for (int i = 0; i < ix->nkeyatts; i++)
		coded[i] = fpb_code_of_column(&ix->cols[i], values[i], isnull[i]);
	fpb_word_compose(ix, coded, &key->head, &key->low, &tie);
	key->tail = fpb_tail_pack(tie, tid);
	key->tuple = NULL;
}

/*
 * Is a word of the index its column's integer with the bits in *flip inverted?
 * (One of 32 bits is in the upper half of the head.)  It is for single columns
 * of integers of 32 and 64 bits, except *shared, the word that may stand for
 * NULL.  Sets both.  It is for a uuid, too: of that *flip is for either half,
 * in big-endian order, and *shared is the upper half.
 */
bool
fpb_word_is_plain(const FpbIndex *ix, uint64 *flip, uint64 *shared)
{
	const FpbColumn *col = &ix->cols[0];
	FpbCode		zero = {0, 0};
	int			shift = ix->form == FPB_WORD4 ? 32 : 0;

	if (ix->nkeyatts != 1)
		return false;
	*shared = (col->nulls_first ? 0 : fpb_code_mask(col)) << shift;
	*flip = fpb_code_direct(col, zero).hi << shift;
	switch ((FpbWordKind) col->word->kind)
	{
		case FPB_KIND_INT4:
		case FPB_KIND_INT8:
			*flip ^= FPB_SIGN64;
			return true;
		case FPB_KIND_UINT4:
		case FPB_KIND_UINT8:
		case FPB_KIND_UUID:
			return true;
		default:
			return false;
	}
}

/*
 * Get the values of a word key.  With nearest, codes that are no value's stand
 * for the nearest one that is.  With strict, that is in the range of the
 * type's input, else it may be slack beyond.
 */
static inline void
key_values(const FpbIndex *ix, const FpbKey *key, bool nearest, bool strict,
		   Datum *values, bool *isnull)
{
	FpbCoded	coded[FPB_MAX_WORD_COLUMNS];

	fpb_word_split(ix, key, coded);
	for (int i = 0; i < ix->nkeyatts; i++)
	{
		const FpbColumn *col = &ix->cols[i];
		FpbCode		raw = fpb_code_direct(col, coded[i].code);

		isnull[i] = fpb_code_is_null(col, &coded[i]);
		if (nearest)
			raw = fpb_code_nearest(col->word, raw, strict ? 0 : col->word->slack);
		values[i] = isnull[i] ? (Datum) 0 :
			fpb_code_decode(col->word->kind, raw, coded[i].tie == 0);
	}
}

/*
 * Get the values of an entry's word, exactly as they were put in, but for the
 * bits of a NaN, which no operator shows.  Those passed by reference are
 * palloc'd.
 */
void
fpb_word_datums(const FpbIndex *ix, const FpbKey *key,
				Datum *values, bool *isnull)
{
	key_values(ix, key, false, false, values, isnull);
}

/*
 * Get values for the word of a fence, which may be no key's if it lacks its
 * tie.  They are not greater, in the index's order, than those of any key
 * after the fence, and comparators can take them.  With shown, they are only
 * near that, and output functions can take them, which refuse some values that
 * can be stored.
 */
void
fpb_word_fence_datums(const FpbIndex *ix, const FpbKey *key, bool shown,
					  Datum *values, bool *isnull)
{
	key_values(ix, key, true, shown, values, isnull);
}

/* Is a column of a word key NULL?  Spares decoding the others. */
bool
fpb_word_has_null(const FpbIndex *ix, const FpbKey *key)
{
	FpbCoded	coded[FPB_MAX_WORD_COLUMNS];

	fpb_word_split(ix, key, coded);
	for (int i = 0; i < ix->nkeyatts; i++)
	{
		if (fpb_code_is_null(&ix->cols[i], &coded[i]))
			return true;
	}
	return false;
}

/*
 * Are two word keys equal to the opclasses?  They are if they differ in
 * nothing but the signs of zeros.
 */
bool
fpb_word_equal(const FpbIndex *ix, const FpbKey *a, const FpbKey *b)
{
	FpbCoded	ca[FPB_MAX_WORD_COLUMNS],
				cb[FPB_MAX_WORD_COLUMNS];

	if (a->head != b->head || a->low != b->low)
		return false;
	if (fpb_tail_tie(a->tail) == fpb_tail_tie(b->tail))
		return true;

	fpb_word_split(ix, a, ca);
	fpb_word_split(ix, b, cb);
	for (int i = 0; i < ix->nkeyatts; i++)
	{
		if (ca[i].code.hi != cb[i].code.hi)
			return false;
		if (ca[i].tie != cb[i].tie && !fpb_code_is_zero(&ix->cols[i], ca[i].code))
			return false;
	}
	return true;
}
