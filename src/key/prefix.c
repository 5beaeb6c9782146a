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

#include "common/int.h"

#include "key/key_bytes.h"
#include "key/prefix.h"

/*
 * See key/prefix.h.  Where the second column is a text, the prefix never has
 * all bytes of a key with both.  So no entry of a leaf has a head of 0, as
 * search keys before the prefix have, because entries with the search key's
 * head would be compared with all of it.
 */
int
fpb_common_prefix(const FpbIndex *ix, IndexTuple first, IndexTuple last)
{
	FpbKeyBytes a;
	FpbKeyBytes b;
	Size		most = ix->byte_order ? BLCKSZ : FPB_SORT_KEY_MOST - fpb_cut_head_bytes(ix);
	Size		prefix = 0;

	if (!ix->byte_heads || ix->old_heads || !fpb_tuple_bytes(ix, first, most, &a))
		return 0;
	if (fpb_tuple_bytes(ix, last, most, &b))
	{
		Size		least = Min(Min(a.length, b.length), most);

		while (prefix < least && a.data[prefix] == b.data[prefix])
			prefix++;
		if (ix->second == FPB_SECOND_TEXT && prefix == least &&
			prefix > Min(a.first, b.first) + fpb_first_end(ix))
			prefix--;
		fpb_free_bytes(&b);
	}
	fpb_free_bytes(&a);
	return prefix;
}

/*
 * See key/prefix.h.
 */
void
fpb_prefix_bytes(const FpbIndex *ix, IndexTuple tuple, Size prefix, FpbKeyBytes *bytes)
{
	if (unlikely(!fpb_tuple_bytes(ix, tuple, prefix, bytes) || bytes->length < prefix))
		fpb_tuple_damaged(ix, tuple, FPB_SHORT_KEY);
}

/*
 * See key/prefix.h.
 */
bool
fpb_has_prefix(const FpbIndex *ix, IndexTuple tuple, int prefix, IndexTuple other)
{
	FpbKeyBytes bytes;
	FpbKeyBytes others;
	bool		has;

	if (!fpb_tuple_bytes(ix, tuple, prefix, &bytes))
		return false;
	fpb_prefix_bytes(ix, other, prefix, &others);
	has = fpb_bytes_begin(&bytes, &others, prefix);
	fpb_free_bytes(&others);
	fpb_free_bytes(&bytes);
	return has;
}

/*
 * See key/prefix.h.
 */
uint64
fpb_head_behind(const FpbIndex *ix, IndexTuple tuple, int prefix)
{
	FpbKeyBytes bytes;
	uint64		head;

	/* no bytes: the pivot before all keys; or a damaged one */
	if (!fpb_tuple_bytes(ix, tuple, prefix + fpb_cut_head_bytes(ix), &bytes))
		return 0;
	head = fpb_head_of_bytes(ix, &bytes, prefix);
	fpb_free_bytes(&bytes);
	return head;
}

/* --- heads of search keys --- */

/*
 * See key/key.h.  With a text behind the code, the bytes may be fewer than the
 * key has.
 */
void
fpb_search_key_set_bytes(const FpbIndex *ix, FpbSearchKey *search)
{
	FpbKeyBytes bytes;

	if (ix->first_size == 0 || !ix->byte_order)
		return;
	search->nbytes = 0;
	if (search->ncols == 0 || search->cols[0].isnull)
		return;
	fpb_search_bytes(ix, search, FPB_SEARCH_BYTES, &bytes);
	search->nbytes = Min(bytes.length, FPB_SEARCH_BYTES);
	memset(search->bytes, 0, FPB_SEARCH_BYTES);
	fpb_copy_short(search->bytes, bytes.data, search->nbytes);
	fpb_free_bytes(&bytes);
}

/*
 * The first bytes of a search key, at least so many as are wanted if it has
 * them.
 */
static inline void
bytes_of_search(const FpbIndex *ix, const FpbSearchKey *search, Size want, FpbKeyBytes *bytes)
{
	if (ix->first_size > 0 && (want <= FPB_SEARCH_BYTES || search->nbytes < FPB_SEARCH_BYTES))
	{
		bytes->data = search->bytes;
		bytes->length = search->nbytes;
		bytes->copy = NULL;
	}
	else
		fpb_search_bytes(ix, search, want, bytes);
}

/*
 * The sign of the bytes of a search key against the prefix, the first bytes of
 * a tuple; 0 if they begin with it.  *ends becomes whether they end within it,
 * and are the same so far.
 */
static int
compare_prefix(const FpbIndex *ix, const FpbKeyBytes *bytes, IndexTuple tuple, Size prefix,
			   bool *ends)
{
	FpbKeyBytes other;
	int			order;

	fpb_prefix_bytes(ix, tuple, prefix, &other);
	order = memcmp(bytes->data, other.data, Min(bytes->length, prefix));
	*ends = order == 0 && bytes->length < prefix;
	fpb_free_bytes(&other);
	return *ends ? -1 : order;
}

/*
 * See key/prefix.h.
 */
uint64
fpb_search_head_behind(const FpbIndex *ix, const FpbSearchKey *search, int prefix,
					   IndexTuple other)
{
	Size		want = prefix + fpb_cut_head_bytes(ix);
	FpbKeyBytes bytes;
	Size		length;
	bool		ends = false;
	int			order = 0;
	uint64		head;

	if (search->ncols == 0 || search->cols[0].isnull)
		return search->head;

	bytes_of_search(ix, search, want, &bytes);
	if (other != NULL)
		order = compare_prefix(ix, &bytes, other, prefix, &ends);
	head = fpb_head_of_bytes(ix, &bytes, prefix);
	length = bytes.length;
	fpb_free_bytes(&bytes);
	if (ix->second != FPB_SECOND_NONE && search->ncols == 1 && search->on_equal < 0)
	{
		/* it lies after all keys that begin with its bytes */
		if (ends)
			order = 1;
		if (length < want)
			head |= fpb_ones_behind(length - Min(prefix, length)) & fpb_greatest_head(ix);
	}
	if (order == 0)
		return head;
	return (order < 0) != fpb_inverts_heads(ix) ? 0 : fpb_greatest_head(ix);
}
