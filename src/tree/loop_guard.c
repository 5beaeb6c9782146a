/*-------------------------------------------------------------------------
 *
 * tree/loop_guard.c
 *	  Whether a walk from leaf to leaf gets on.
 *
 * A walk goes on where a leaf ends, and each such place is behind the last one
 * in the order of keys.  It is not where the order is none: fences may be
 * damaged, a collation have changed under the index, or a comparator be
 * inconsistent.  Then a walk may come to the same leaves again and again.  It
 * can't be told by the number of leaves: others may split and delete them all
 * the while, so that a sound walk comes to more of them than the index has
 * pages.
 *
 * So each place is compared with an earlier one, the loop_guard, which is
 * moved to where the walk is each time that it has come to twice as many
 * leaves.  If the walk goes round in a circle, then the loop_guard is in the
 * circle before long, and the walk comes to the very same key.  That is
 * noticed whatever the comparator says of a key and itself.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "tree/tree.h"

/*
 * A walk that has been led to a leaf that does not do, and begins anew, so
 * often does not get on: no number of concurrent splits explains it.
 */
#define MAX_STAYS	1000

/*
 * Raise an error: a walk, which has come to this block, does not get on.
 */
void
fpb_report_no_order(const FpbIndex *ix, BlockNumber block)
{
	ereport(ERROR,
			(errcode(ERRCODE_INDEX_CORRUPTED),
			 errmsg("index \"%s\" contains a damaged page at block %u",
					RelationGetRelationName(ix->rel), block),
			 errdetail("The fences of this page and those to its left or right are in no order."),
			 errhint("The order of the keys may have changed since the index was built, with the version of a collation, or a comparator be inconsistent. Please REINDEX it.")));
}

/*
 * Set up a loop_guard, which is nowhere as yet, in memory that lives in cxt.
 */
void
fpb_loop_guard_init(FpbLoopGuard *m, MemoryContext cxt)
{
	memset(m, 0, sizeof(FpbLoopGuard));
	m->cxt = cxt;
}

/*
 * Free what a loop_guard has allocated.
 */
void
fpb_loop_guard_end(FpbLoopGuard *m)
{
	if (m->key.tuple != NULL)
		pfree(m->key.tuple);
	m->key.tuple = NULL;
	m->tuple_size = 0;
}

/*
 * Are two keys the same, byte by byte?
 */
static bool
is_same_key(const FpbKey *a, const FpbKey *b)
{
	Size		size;

	if (a->head != b->head || a->low != b->low || a->tail != b->tail)
		return false;
	if (a->tuple == NULL || b->tuple == NULL)
		return a->tuple == b->tuple;
	size = IndexTupleSize(a->tuple);
	return size == IndexTupleSize(b->tuple) && memcmp(a->tuple, b->tuple, size) == 0;
}

/*
 * Is a place behind the loop_guard, in the direction of the walk?
 */
static bool
is_behind(const FpbIndex *ix, const FpbLoopGuard *m, int64 range, const FpbKey *key)
{
	FpbSearchKey search;
	int			sign;

	if (range != m->range)
		return m->forward ? range > m->range : range < m->range;
	if (key == NULL || !m->inside)
		return key != NULL;
	if (is_same_key(key, &m->key))
		return false;
	fpb_search_key_from(ix, &m->key, &search);
	sign = fpb_compare(ix, key, &search);
	return m->forward ? sign > 0 : sign < 0;
}

/*
 * Move the loop_guard to a place.
 */
static void
move_to(FpbLoopGuard *m, int64 range, const FpbKey *key)
{
	IndexTuple	tuple = m->key.tuple;

	m->range = range;
	m->inside = key != NULL;
	if (key == NULL)
		return;
	m->key = *key;
	m->key.tuple = tuple;
	if (key->tuple != NULL)
	{
		Size		size = IndexTupleSize(key->tuple);

		if (m->tuple_size < size)
		{
			fpb_loop_guard_end(m);
			m->key.tuple = MemoryContextAlloc(m->cxt, size);
			m->tuple_size = size;
		}
		memcpy(m->key.tuple, key->tuple, size);
	}
}

/*
 * fpb_loop_guard_pass, of a walk that has come to some leaves.
 */
void
fpb_loop_guard_check(const FpbIndex *ix, FpbLoopGuard *m, int64 range, const FpbKey *key,
					 BlockNumber block)
{
	if (m->passed > FPB_MILESTONE_FROM && !is_behind(ix, m, range, key))
		fpb_report_no_order(ix, block);
	if ((m->passed & (m->passed - 1)) == 0)
		move_to(m, range, key);
}

/*
 * Count that a walk has been led to a leaf, block, that does not do, and
 * begins anew at the place where it is.  Raises an error if it has too often.
 */
void
fpb_loop_guard_stay(const FpbIndex *ix, FpbLoopGuard *m, BlockNumber block)
{
	if (++m->stayed > MAX_STAYS)
		fpb_report_no_order(ix, block);
}
