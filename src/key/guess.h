/*-------------------------------------------------------------------------
 *
 * key/guess.h
 *	  Guesses of the order of strings whose keys have no heads (key/guess.c).
 *
 *-------------------------------------------------------------------------
 */
#ifndef FPB_KEY_GUESS_H
#define FPB_KEY_GUESS_H

#include "key/key.h"
#include "key/tuple.h"

/* the string that is looked for */
typedef struct FpbGuess
{
	const char *data;
	Size		length;
	bool		ignores;		/* do signs and blanks not count? */
	bool		desc;
} FpbGuess;

extern FpbGuesses fpb_guesses_of(Oid type, Oid collation);
extern int	fpb_guess_strings(const char *a, Size a_length, const char *b, Size b_length,
							  bool ignores);
extern bool fpb_guess_pays(const FpbIndex *ix);
extern void fpb_guess_was(const FpbIndex *ix, bool right);

/*
 * Set *guess to the search key's string.  False if there is nothing to be
 * guessed, or guesses have been wrong too often of late.
 */
static inline bool
fpb_guess_begin(const FpbIndex *ix, const FpbSearchKey *search, FpbGuess *guess)
{
	if (ix->guesses == FPB_GUESSES_NONE || search->ncols == 0 || search->cols[0].isnull ||
		search->cols[0].cmp != ix->cols[0].cmp || !fpb_guess_pays(ix))
		return false;
	guess->ignores = ix->guesses == FPB_GUESSES_LETTERS;
	guess->desc = ix->cols[0].desc;
	return fpb_plain_bytes(DatumGetPointer(search->cols[0].value), &guess->data, &guess->length);
}

/*
 * The probable sign of the tuple at an offset, which may be damaged, against
 * the search key.  One that is not of the usual kind is taken for less.
 */
static inline int
fpb_guess(const FpbIndex *ix, Page page, uint32 offset, const FpbGuess *guess)
{
	IndexTuple	tuple = (IndexTuple) ((char *) page + offset);
	const char *value = (char *) tuple + IndexInfoFindDataOffset(0);
	int			order;

	if (unlikely(!fpb_tuple_columns_valid(page, offset) || !fpb_first_is_short(ix, tuple)))
		return -1;
	order = fpb_guess_strings(VARDATA_1B(value), VARSIZE_1B(value) - VARHDRSZ_SHORT,
							  guess->data, guess->length, guess->ignores);
	return guess->desc ? -order : order;
}

#endif							/* FPB_KEY_GUESS_H */
