/*-------------------------------------------------------------------------
 *
 * key/prefix.c
 *	  What the keys of a page have in common, and their heads behind it.
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
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "key/key.h"
#include "key/prefix.h"
#include "key/tuple.h"

/* the bytes of a tuple's first column; NULL if it has none, or is NULL */
static const char *
first_bytes(const FpbIndex *ix, IndexTuple tuple, Size *length, void **copy)
{
	bool		isnull;
	Datum		value;

	*copy = NULL;
	if (fpb_pivot_natts(ix, tuple) == 0)
		return NULL;
	value = fpb_read_first_column(ix, tuple, &isnull);
	if (isnull)
		return NULL;
	return fpb_value_bytes(ix->cols[0].head, value, length, copy);
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
	int			prefix = 0;

	if (!ix->byte_heads)
		return 0;
	a = first_bytes(ix, first, &a_length, &a_copy);
	b = first_bytes(ix, last, &b_length, &b_copy);
	if (a != NULL && b != NULL)
		while (prefix < Min(Min(a_length, b_length), BLCKSZ) && a[prefix] == b[prefix])
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
	const char *other = first_bytes(ix, tuple, &other_length, &copy);
	int			order;

	if (unlikely(other == NULL || other_length < prefix))
		fpb_tuple_damaged(ix, tuple, "key is shorter than its page's prefix");
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
	const char *bytes = first_bytes(ix, tuple, &length, &copy);
	bool		has = bytes != NULL && compare_prefix(ix, bytes, length, other, prefix) == 0;

	free_copy(copy);
	return has;
}

/*
 * See key/prefix.h.
 */
uint64
fpb_head_behind(const FpbIndex *ix, IndexTuple tuple, int prefix)
{
	Size		length;
	void	   *copy;
	const char *bytes = first_bytes(ix, tuple, &length, &copy);
	uint64		head;

	/* the pivot before all keys; or a damaged one */
	if (bytes == NULL)
		return 0;
	head = head_behind(ix, bytes, length, prefix);
	free_copy(copy);
	return head;
}

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

	bytes = fpb_value_bytes(ix->cols[0].head, search->cols[0].value, &length, &copy);
	order = compare_prefix(ix, bytes, length, other, prefix);
	head = head_behind(ix, bytes, length, prefix);
	free_copy(copy);
	if (order == 0)
		return head;
	head = (order < 0) != ix->cols[0].desc ? 0 : PG_UINT64_MAX;
	return ix->head_width == 4 ? head & FPB_HEAD4_MASK : head;
}
