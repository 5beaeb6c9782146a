/*-------------------------------------------------------------------------
 *
 * key/cut_tuple.h
 *	  Tuples in leaves, which lack the prefix and the head, or their first
 *	  column (key/cut_tuple.c).
 *
 *-------------------------------------------------------------------------
 */
#ifndef FPB_KEY_CUT_TUPLE_H
#define FPB_KEY_CUT_TUPLE_H

#include "key/prefix.h"
#include "key/tuple.h"

#define FPB_TOO_LONG	"column is too long for a tuple without its page's prefix"

/*
 * Is a tuple cut in leaves?  It may be the whole one, or as it is stored.
 */
extern bool fpb_is_cut(const FpbIndex *ix, IndexTuple tuple);

/*
 * Make of a key, whose tuple and head are whole, what it is in a page with the
 * prefix, which begins the other bytes: the head behind it, and if "cut" says
 * so the tuple as it is stored in a leaf, in *space or the whole one.  others
 * is NULL if the key is known to begin with the prefix.  False if it does not.
 */
extern bool fpb_fit_key(const FpbIndex *ix, FpbKey *key, int prefix, const FpbKeyBytes *others,
						bool cut, FpbTupleSpace *space);

/*
 * A whole tuple, which begins with the prefix, as it is stored in a leaf with
 * that, but perhaps no more than its header: its size.  It is in *space, or
 * the tuple itself.
 */
extern IndexTuple fpb_cut_header(const FpbIndex *ix, IndexTuple tuple, int prefix,
								 FpbTupleSpace *space);

/* --- for those who cut tuples and join them --- */

/*
 * Add a tuple's columns from the second one on to one being made in *space,
 * whose data begin at start, from end on.  Sets *aligned if one of them needs
 * more alignment than 2 bytes.  Returns where the data end.
 */
extern Size fpb_copy_rest(const FpbIndex *ix, FpbTupleReader *reader, FpbTupleSpace *space,
						  Size start, Size end, bool *aligned);

/*
 * Set the header of the first column of a tuple being made to so many bytes,
 * and copy the other columns to it, of a tuple in which that has others.
 */
extern void fpb_finish_first(const FpbIndex *ix, IndexTuple tuple, Size header, Size old_length,
							 Size length, FpbTupleSpace *space);

/*
 * The first column of a tuple, a plain varlena: where its bytes begin, and how
 * many they are.  Raises an error if it does not end within the tuple.
 */
static inline const char *
fpb_plain_first(const FpbIndex *ix, IndexTuple tuple, Size *header, Size *length)
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
 * Set the header of a plain varlena to its size, header included.
 */
static inline void
fpb_set_size(char *value, Size header, Size size)
{
	if (unlikely(header == VARHDRSZ))
		SET_VARSIZE(value, size);
	else
		SET_VARSIZE_SHORT(value, size);
}

/*
 * How many bytes of a second text are known, if so many of a key's bytes are?
 */
static inline Size
fpb_second_of_bytes(const FpbIndex *ix, Size first, Size known)
{
	Size		before = first + fpb_first_end(ix) + FPB_TEXT_BEGIN;

	return Max(known, before) - before;
}

#endif							/* FPB_KEY_CUT_TUPLE_H */
