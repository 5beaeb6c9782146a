/*-------------------------------------------------------------------------
 *
 * key/join_tuple.h
 *	  Cut tuples made whole, and compared (key/join_tuple.c).
 *
 *-------------------------------------------------------------------------
 */
#ifndef FPB_KEY_JOIN_TUPLE_H
#define FPB_KEY_JOIN_TUPLE_H

#include "key/cut_tuple.h"

/*
 * The whole tuple of a key: its own, or if that is cut one in *space.
 */
extern IndexTuple fpb_join_tuple(const FpbIndex *ix, const FpbKey *key, FpbTupleSpace *space);

/*
 * The same of one key after the other, mostly of the same page.  Each tuple
 * lives until the next one is joined.  Whoever changes the memory in which a
 * page was has to set there.page to NULL, as at first.
 */
typedef struct FpbPrefixThere
{
	Page		page;			/* whose prefix has been written, */
	char	   *at;				/* and where: */
	Size		first;			/* so many bytes, the first column's; */
	char		bytes[FPB_SEARCH_BYTES];	/* if that is a code, or more,
											 * these: zeros behind them; */
	Size		rest;			/* it has so many more: of the second column,
								 * and the zero that ends a text */
	uint64		number;			/* a number: its first bytes, */
	uint8		ninth;			/* and one more; (a text has been written
								 * behind where the first column will be, and
								 * there is room for a short header between) */
} FpbPrefixThere;

typedef struct FpbJoiner
{
	FpbPrefixThere there;
	FpbTupleSpace space;
} FpbJoiner;

extern IndexTuple fpb_join_next(const FpbIndex *ix, const FpbKey *key, FpbJoiner *joiner);

/*
 * The values of an entry's columns from the second on, up to number ncolumns,
 * without making its tuple whole.  By-reference ones point into the page.
 * Raises an error if the tuple is damaged.
 */
extern void fpb_later_datums(const FpbIndex *ix, const FpbKey *key, int ncolumns,
							 FpbJoiner *joiner, Datum *values, bool *isnull);

/*
 * The same of a key whose cut tuple, which ends within its page, is like most
 * are: no column is NULL, varlenas have short headers, and it is sound.  NULL
 * for others, and where heads are bytes for the first one of a page.
 */
extern IndexTuple fpb_join_plain(const FpbIndex *ix, const FpbKey *key, FpbJoiner *joiner);

static inline IndexTuple
fpb_whole_tuple(const FpbIndex *ix, const FpbKey *key, FpbTupleSpace *space)
{
	return fpb_is_word(ix) || key->cut_in == NULL ? key->tuple : fpb_join_tuple(ix, key, space);
}

/*
 * Bytes, a multiple of MAXALIGN, that the whole tuple of a key takes at most:
 * joining may put padding between columns.
 */
static inline Size
fpb_whole_most(const FpbIndex *ix, const FpbKey *key)
{
	Size		size = IndexTupleSize(key->tuple);

	if (key->cut_in != NULL)
		size += MAXIMUM_ALIGNOF + fpb_page_prefix(ix, key->cut_in) +
			(ix->natts - 1) * MAXIMUM_ALIGNOF +
			(ix->second != FPB_SECOND_NONE ? 2 * MAXIMUM_ALIGNOF : 0);
	return MAXALIGN(size);
}

/*
 * The key with its whole tuple and head.
 */
static inline FpbKey
fpb_whole_key(const FpbIndex *ix, const FpbKey *key, FpbTupleSpace *space)
{
	FpbKey		whole = *key;

	if (!fpb_is_word(ix) && key->cut_in != NULL)
	{
		whole.head = fpb_key_head(ix, key);
		whole.tuple = fpb_whole_tuple(ix, key, space);
		whole.cut_in = NULL;
	}
	return whole;
}

/*
 * The first column, passed by value, of a key whose tuple lacks it.
 */
extern Datum fpb_first_of_head(const FpbIndex *ix, const FpbKey *key);

/*
 * A palloc'd copy of a key's whole tuple.
 */
extern IndexTuple fpb_copy_whole_tuple(const FpbIndex *ix, const FpbKey *key);

/*
 * Sign of a key against the search key by their first columns, where both have
 * byte heads.  The key's tuple may be cut.  has_prefix: does the search key
 * begin with the prefix of the page that it is in, and has it the same head
 * there?
 */
extern int	fpb_compare_first(const FpbIndex *ix, const FpbKey *key,
							  const FpbSearchKey *search, bool has_prefix);

#endif							/* FPB_KEY_JOIN_TUPLE_H */
