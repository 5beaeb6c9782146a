/*-------------------------------------------------------------------------
 *
 * tree/loop_guard.c
 *	  Whether a walk from leaf to leaf makes progress.
 *
 * A walk continues where a leaf ends, and each such place is beyond the one
 * before in the order of keys.  But fences may be damaged, a collation may
 * have changed since the index was built, or a comparator may be inconsistent.
 * Then there is no order, and a walk may come to the same leaves again and
 * again.  The number of leaves does not tell: others may split and delete
 * leaves all the while, so that a sound walk comes to more leaves than the
 * index has pages.
 *
 * So each place is compared with an earlier one, where the guard stands.  The
 * guard moves to where the walk is whenever the walk has come to twice as many
 * leaves.  If the walk goes round in a circle, the guard stands on the circle
 * before long, and the walk comes to the very same key.  That is noticed
 * whatever the comparator says of a key and itself.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "tree/tree.h"

/*
 * A walk that has been led to the wrong leaf so often, without coming to the
 * right one, makes no progress: no number of concurrent splits explains it.
 */
#define MAX_STAYS	1000

/*
 * Raise the error for a walk that makes no progress, and has come to this
 * block.
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
 * Set up a loop guard, which stands nowhere yet.  Its memory is in cxt.
 */
void
fpb_loop_guard_init(FpbLoopGuard *m, MemoryContext cxt)
{
	memset(m, 0, sizeof(FpbLoopGuard));
	m->cxt = cxt;
}

/*
 * Free what a loop guard has allocated.
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
 * Is a place beyond the guard, in the direction of the walk?
 */
static bool
is_beyond(const FpbIndex *ix, const FpbLoopGuard *m, int64 range, const FpbKey *key)
{
	int			sign;

	if (range != m->range)
		return m->forward ? range > m->range : range < m->range;
	if (key == NULL || !m->inside)
		return key != NULL;
	if (is_same_key(key, &m->key))
		return false;
	sign = fpb_compare_places(ix, key, &m->key);
	return m->forward ? sign > 0 : sign < 0;
}

/*
 * Move the guard to a place.
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
 * fpb_loop_guard_pass for a walk that has come to FPB_LOOP_GUARD_FROM leaves.
 */
void
fpb_loop_guard_check(const FpbIndex *ix, FpbLoopGuard *m, int64 range, const FpbKey *key,
					 BlockNumber block)
{
	if (m->passed > FPB_LOOP_GUARD_FROM && !is_beyond(ix, m, range, key))
		fpb_report_no_order(ix, block);
	if ((m->passed & (m->passed - 1)) == 0)
		move_to(m, range, key);
}

/*
 * A walk has been led to the wrong leaf, block, and looks again for the leaf
 * at the place where it is.  Raises an error if that has happened too often.
 */
void
fpb_loop_guard_stay(const FpbIndex *ix, FpbLoopGuard *m, BlockNumber block)
{
	if (++m->stayed > MAX_STAYS)
		fpb_report_no_order(ix, block);
}
