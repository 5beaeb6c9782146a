/*-------------------------------------------------------------------------
 *
 * write/unique.c
 *	  Insertion into a unique index, and the uniqueness check that goes with
 *	  it.
 *
 * Whoever inserts a key locks the first main leaf that can have entries of it,
 * exclusively, until its own entry is in the index.  So of two who insert one
 * key, one sees the other's entry.
 *
 * If the index has an operation queue, an entry of the key may be there, or on
 * its way from there to the main tree.  The queue is looked at first, and then
 * the main tree, both with that leaf locked.  Entries only move from the queue
 * to the main tree.  So one that has left the queue before is found in the
 * main tree, and no other can come to the queue meanwhile.
 *
 * The new entry goes to the queue, too, if the option says so, as in any
 * index.  The main leaf has been read then, but stays as it is: it need not be
 * written, nor logged whole after a checkpoint.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/tableam.h"
#include "access/transam.h"
#include "executor/tuptable.h"
#include "storage/bufmgr.h"
#include "storage/lmgr.h"
#include "storage/predicate.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "write/write.h"

/* a key rarely has more entries in a unique index */
#define FEW_EQUAL				8

/* a uniqueness check, and what it finds */
typedef struct UniqueCheck
{
	FpbIndex   *ix;
	FpbInsertState *ins;		/* of the new row */
	IndexUniqueCheck mode;
	FpbIndex   *tree;			/* whose leaf is looked at: ix, or one of: */
	FpbIndex	tiers[FPB_TIERS];	/* of its queue, if it may have one: then */
	Buffer		metabuf;		/* is the metapage, pinned; or InvalidBuffer */
	FpbFilter	filters[FPB_TIERS]; /* of what is not in its tiers */
	Datum	   *values;
	bool	   *isnull;
	SnapshotData dirty;
	IndexFetchTableData *fetch; /* to look at rows, and where they go to; NULL
								 * before the first one */
	TupleTableSlot *slot;
	FpbItem    *items;			/* entries of the leaf at hand with the key */
	FpbItem		few[FEW_EQUAL]; /* if they are few */
	FpbPos	   *dead;			/* those of them that are dead to everyone, */
	FpbPos		few_dead[FEW_EQUAL];	/* likewise, */
	int			ndead;			/* and how many */
	int			unmarked;		/* dead entries of the first leaf that can't
								 * be killed yet */
	bool		placed;			/* is ins->pos, where entries of the key begin
								 * on the first leaf, the new entry's place,
								 * because there are none? */
	bool		found_self;		/* UNIQUE_CHECK_EXISTING: our own entry seen */
	bool		unique;
} UniqueCheck;

/* places of a key that is inserted */
typedef enum KeyPlace
{
	FIRST_EQUAL,				/* where entries of that key begin */
	BEHIND_EQUAL,				/* where they end */
	OWN_PLACE					/* where the row's own entry belongs */
} KeyPlace;

/*
 * Change the search key of an insertion to another place of the entry's key.
 */
static void
set_search(const FpbIndex *ix, FpbInsertState *ins, KeyPlace place)
{
	if (fpb_is_word(ix))
	{
		if (place == OWN_PLACE)
			fpb_search_key_from(ix, &ins->entry.key, &ins->search);
		else
			fpb_search_keys_equal(ix, &ins->entry.key, place == BEHIND_EQUAL, &ins->search);
	}
	else
		/* the columns are the same */
		ins->search.tail = place == OWN_PLACE ? ins->entry.key.tail :
			place == BEHIND_EQUAL ? FPB_TAIL_MAX : FPB_TAIL_MIN;
}

/*
 * Report a duplicate.  The first leaf and the one with the duplicate are
 * locked.
 *
 * Returns, with both still locked, only if the new row itself is dead: a
 * deferred check may come to a row that has been deleted or updated since, and
 * then there is no conflict.
 */
static void
report_duplicate(UniqueCheck *check, Buffer here)
{
	FpbInsertState *ins = check->ins;
	Relation	rel = check->ix->rel;
	ItemPointerData tid;
	char	   *description;

	fpb_tail_tid(ins->entry.key.tail, &tid);
	if (!table_index_fetch_tuple_check(ins->heap, &tid, SnapshotSelf, NULL))
		return;

	/* if this is a serializable conflict, that is the better explanation */
	CheckForSerializableConflictIn(rel, NULL, BufferGetBlockNumber(ins->buf));

	/* the description may call user code, which must not find pages locked */
	if (here != ins->buf)
		fpb_relbuf(here);
	fpb_relbuf(ins->buf);

	description = BuildIndexValueDescription(rel, check->values, check->isnull);
	ereport(ERROR,
			(errcode(ERRCODE_UNIQUE_VIOLATION),
			 errmsg("duplicate key value violates unique constraint \"%s\"",
					RelationGetRelationName(rel)),
			 description ? errdetail("Key %s already exists.", description) : 0,
			 errtableconstraint(ins->heap, RelationGetRelationName(rel))));
}

/*
 * Kill the entries of a leaf that have been found dead.  The leaf is locked.
 */
static void
kill_dead(UniqueCheck *check, Buffer here)
{
	int			killed = fpb_kill_entries(check->ix, check->ins->heap, here,
										  check->dead, check->ndead);

	if (here == check->ins->buf)
		check->unmarked += check->ndead - killed;
	check->ndead = 0;
}

/*
 * Does the check's snapshot see a row?  *all_dead: is it dead to everyone?
 * The row's page stays pinned until end_rows.
 */
static bool
sees_row(UniqueCheck *check, ItemPointer tid, bool *all_dead)
{
	bool		call_again = false;

	if (check->fetch == NULL)
	{
		check->slot = table_slot_create(check->ins->heap, NULL);
		check->fetch = fpb_table_index_fetch_begin(check->ins->heap);
	}
	return table_index_fetch_tuple(check->fetch, tid, &check->dirty, check->slot,
								   &call_again, all_dead);
}

static void
end_rows(UniqueCheck *check)
{
	if (check->fetch == NULL)
		return;
	table_index_fetch_end(check->fetch);
	ExecDropSingleTupleTableSlot(check->slot);
	check->fetch = NULL;
}

/*
 * See whether the row of an entry with an equal key, in the leaf here,
 * conflicts with the new one.  Returns the transaction to wait for, if any.
 * Sets *done if no more entries are to be looked at.
 */
static TransactionId
check_entry(UniqueCheck *check, Buffer here, const FpbItem *item, bool *done)
{
	ItemPointerData tid;
	bool		all_dead = false;
	TransactionId xwait;

	fpb_tail_tid(item->key.tail, &tid);
	if (check->mode == UNIQUE_CHECK_EXISTING &&
		(item->key.tail & FPB_TAIL_TID_MASK) == (check->ins->entry.key.tail & FPB_TAIL_TID_MASK))
	{
		check->found_self = true;
		return InvalidTransactionId;
	}
	if (!sees_row(check, &tid, &all_dead))
	{
		/* no entry of the queue is killed */
		if (all_dead && check->tree == check->ix)
			check->dead[check->ndead++] = item->pos;
		return InvalidTransactionId;
	}

	/* a partial check need only tell that it may be a duplicate */
	if (check->mode == UNIQUE_CHECK_PARTIAL)
	{
		check->unique = false;
		*done = true;
		return InvalidTransactionId;
	}

	xwait = TransactionIdIsValid(check->dirty.xmin) ?
		check->dirty.xmin : check->dirty.xmax;
	if (TransactionIdIsValid(xwait))
		return xwait;

	kill_dead(check, here);
	report_duplicate(check, here);
	*done = true;
	return InvalidTransactionId;
}

/*
 * Read the entries from pos of the leaf at hand on that are before the search
 * key, and not killed, into check->items.  Returns how many.  *more becomes
 * false if others are behind them.
 */
static int
read_equal(UniqueCheck *check, Page page, FpbPos pos, bool *more)
{
	const FpbIndex *ix = check->tree;
	const FpbSearchKey *end = &check->ins->search;
	int			n = -1;

	if (check->items == check->few)
		n = fpb_page_read_live(ix, page, pos, end, true, check->items, FEW_EQUAL, more);
	if (n < 0)
	{
		if (check->items == check->few)
		{
			check->items = palloc(FPB_MAX_PAGE_ENTRIES * sizeof(FpbItem));
			check->dead = palloc(FPB_MAX_PAGE_ENTRIES * sizeof(FpbPos));
		}
		n = fpb_page_read_live(ix, page, pos, end, true, check->items,
							   FPB_MAX_PAGE_ENTRIES, more);
		if (unlikely(n < 0))
			fpb_report_crowd(ix, page);
	}
	return n;
}

/*
 * Free the check's memory for many entries, if it has needed any.
 */
static void
free_items(UniqueCheck *check)
{
	if (check->items == check->few)
		return;
	pfree(check->items);
	pfree(check->dead);
}

/*
 * Of the n entries in check->items, of the leaf here, look at the rows of
 * those that have the new row's key.  Returns as check_entry does.
 */
static TransactionId
check_items(UniqueCheck *check, Buffer here, int n, bool *done)
{
	FpbIndex   *ix = check->ix;
	IndexTuple	equal = NULL;	/* a posting with the key */

	for (int i = 0; i < n; i++)
	{
		const FpbItem *item = &check->items[i];
		TransactionId xwait;

		if ((equal == NULL || item->key.tuple != equal) &&
			!fpb_keys_equal(ix, &item->key, &check->ins->entry.key))
			continue;
		equal = item->key.tuple;
		xwait = check_entry(check, here, item, done);
		if (*done || TransactionIdIsValid(xwait))
			return xwait;
	}
	return InvalidTransactionId;
}

/*
 * If the new entry comes behind all entries of its key, it nearly always comes
 * behind the last of the n in check->items, which are of the first leaf.  Then
 * that is its place, and need not be searched for.
 *
 * (Keys of tuples that are equal here differ in their TIDs.  Words may also
 * differ in their ties.)
 */
static void
place_behind(UniqueCheck *check, int n)
{
	FpbIndex   *ix = check->ix;
	FpbInsertState *ins = check->ins;
	const FpbItem *last = &check->items[n - 1];
	FpbPos		pos = fpb_pos_behind(last->pos);
	FpbPos		next = pos;
	FpbEntry	entry;

	if (fpb_is_word(ix) ? fpb_compare_keys(ix, &last->key, &ins->entry.key) >= 0 :
		last->key.tail >= ins->entry.key.tail)
		return;
	if (fpb_page_next(ix, BufferGetPage(ins->buf), &next, &entry) &&
		fpb_compare_keys(ix, &entry.key, &ins->entry.key) > 0)
	{
		ins->pos = pos;
		check->placed = true;
	}
}

/*
 * Look for rows that conflict with the new one, in the main tree, from the
 * leaf ins->buf on, which is the first that can hold an entry of its key.
 * That leaf is locked exclusively, and stays so: other inserters of the key
 * wait for it.  The search key is FIRST_EQUAL on entry, and another place on
 * exit.
 *
 * Returns the transaction whose end has to be waited for before the check can
 * tell, or InvalidTransactionId.  Then the new entry can be inserted, and
 * check->dead are entries of its leaf, ins->buf, to be killed by that; none if
 * it is to go to the queue.
 */
static TransactionId
check_main(UniqueCheck *check, bool to_queue)
{
	FpbIndex   *ix = check->ix;
	FpbInsertState *ins = check->ins;
	Buffer		first = ins->buf;
	Buffer		here = first;
	FpbPos		pos;
	FpbEntry	entry;
	TransactionId xwait = InvalidTransactionId;
	bool		any;
	bool		done = false;
	uint32		steps = 0;

	fpb_page_search(ix, BufferGetPage(first), &ins->search, &ins->pos);
	pos = ins->pos;
	check->placed = true;

	/* an ascending key comes after all others */
	any = fpb_page_next(ix, BufferGetPage(first), &pos, &entry);
	if (!any && FpbPageIsRightmost(BufferGetPage(first)))
		return InvalidTransactionId;

	/* most keys are new */
	set_search(ix, ins, BEHIND_EQUAL);
	if (any && fpb_compare(ix, &entry.key, &ins->search) >= 0)
		return InvalidTransactionId;

	for (;;)
	{
		bool		more = true;
		int			n = 0;
		Buffer		next;

		if (any)
		{
			check->placed = false;
			n = read_equal(check, BufferGetPage(here), pos, &more);
			xwait = check_items(check, here, n, &done);
			if (done || TransactionIdIsValid(xwait))
				break;
		}
		if (!more)
		{
			if (n > 0 && here == first)
				place_behind(check, n);
			break;
		}

		/* before the sibling is locked, be it for its low fence */
		if (unlikely(FpbHdr(BufferGetPage(here))->right == BufferGetBlockNumber(first)))
			fpb_report_damage(ix->rel, BufferGetBlockNumber(here),
							  "The right links form a circle.");
		if (fpb_compare_end(ix, here, &ins->search) > 0)
			break;

		fpb_count_step(ix, here, &steps);
		next = fpb_getbuf_right(ix, here, BUFFER_LOCK_SHARE);
		kill_dead(check, here);
		if (here != first)
			fpb_relbuf(here);
		here = next;
		pos = FPB_POS_FIRST;
		any = true;
	}
	/* unless the new entry is sure to come to this leaf */
	if (to_queue || done || TransactionIdIsValid(xwait) || here != first ||
		check->mode == UNIQUE_CHECK_EXISTING || !fpb_may_kill_on_change(ix, ins->heap))
		kill_dead(check, here);
	if (here != first)
		fpb_relbuf(here);
	return xwait;
}

/*
 * Has a tier certainly no entry of the new row's key?  Its entries have heads
 * from first on up to the search key's.  The first main leaf of the key is
 * locked.
 */
static bool
tier_excludes_key(const UniqueCheck *check, int tier, const FpbSearchKey *first)
{
	const FpbSearchKey *end = &check->ins->search;

	return first->head == end->head &&
		(fpb_is_word(check->ix) || (first->has_head && end->has_head)) &&
		fpb_filter_excludes(&check->filters[tier - 1], BufferGetPage(check->metabuf), end->head);
}

/*
 * Look for rows that conflict with the new one in the tier's leaf that place
 * falls into.  That is locked, and released; so is the first main leaf of the
 * key, which stays so.  If the next leaf may have entries of the key, *more is
 * true, and *place becomes where it begins.  Returns as check_entry does.
 */
static TransactionId
check_queue_leaf(UniqueCheck *check, Buffer buf, FpbSearchKey *place, bool *done, bool *more)
{
	FpbIndex   *queue = check->tree;
	Page		page = BufferGetPage(buf);
	FpbPos		pos;
	TransactionId xwait;

	fpb_page_search(queue, page, place, &pos);
	*more = true;
	xwait = check_items(check, buf, read_equal(check, page, pos, more), done);
	if (*done || TransactionIdIsValid(xwait) || FpbPageIsRightmost(page) ||
		fpb_compare_end(queue, buf, &check->ins->search) > 0)
		*more = false;
	if (*more)
	{
		FpbKey		high;
		Buffer		right = fpb_lock_high(queue, buf, &high);

		fpb_fence_search_key(queue, &high, place);
		if (BufferIsValid(right))
			fpb_relbuf(right);
	}
	fpb_relbuf(buf);
	return xwait;
}

/*
 * Look for rows that conflict with the new one in a tier of the queue, if
 * there is one.  ins->buf is locked, as for check_main, and the search key is
 * BEHIND_EQUAL; first is FIRST_EQUAL.  If a page of the tier would have to be
 * read, *missing becomes its block.  Returns as check_entry does.
 */
static TransactionId
check_tier(UniqueCheck *check, int tier, const FpbSearchKey *first, bool *done,
		   BlockNumber *missing)
{
	FpbSearchKey place = *first;
	TransactionId xwait = InvalidTransactionId;
	bool		more = !tier_excludes_key(check, tier, first) || FPB_LOOK_ANYWAY;
	uint32		steps = 0;

	check->tree = &check->tiers[tier - 1];
	while (more && fpb_has_tier(check->metabuf, tier))
	{
		Buffer		buf = fpb_descend_queue(check->tree, &place, false, BUFFER_LOCK_SHARE,
											NULL, missing);

		if (BufferIsValid(buf))
		{
			fpb_count_step(check->ix, buf, &steps);
			xwait = check_queue_leaf(check, buf, &place, done, &more);
		}
		else if (*missing != InvalidBlockNumber)
			break;
	}
	check->tree = check->ix;
	FPB_INJECTION_POINT("fpbtree-unique-tier-checked");
	return xwait;
}

/*
 * Look for rows that conflict with the new one in the queue, tier by tier, as
 * entries move.  ins->buf is locked, as for check_main, and the search key is
 * FIRST_EQUAL on entry and exit.  If a page of the queue would have to be
 * read, *missing becomes its block.  Returns as check_entry does.
 */
static TransactionId
check_queue(UniqueCheck *check, bool *done, BlockNumber *missing)
{
	FpbInsertState *ins = check->ins;
	FpbSearchKey first = ins->search;
	TransactionId xwait = InvalidTransactionId;

	set_search(check->ix, ins, BEHIND_EQUAL);
	for (int tier = 1; tier < FPB_TREES; tier++)
	{
		if (*done || TransactionIdIsValid(xwait) || *missing != InvalidBlockNumber)
			break;
		if (fpb_has_tier(check->metabuf, tier))
			xwait = check_tier(check, tier, &first, done, missing);

		/* what has left the tier can be seen in the next one from now on */
		pg_read_barrier();
	}
	set_search(check->ix, ins, FIRST_EQUAL);
	return xwait;
}

/*
 * Look for rows that conflict with the new one, in all trees.  Lock state, and
 * what is returned, are those of check_main.  If a page of the queue would
 * have to be read, *missing becomes its block, and nothing has been found out.
 */
static TransactionId
check_unique(UniqueCheck *check, bool to_queue, BlockNumber *missing)
{
	TransactionId xwait = InvalidTransactionId;
	bool		done = false;

	check->unique = true;
	check->found_self = false;
	check->placed = false;
	check->unmarked = 0;
	check->ndead = 0;
	check->fetch = NULL;
	*missing = InvalidBlockNumber;
	if (BufferIsValid(check->metabuf))
		xwait = check_queue(check, &done, missing);
	if (!done && !TransactionIdIsValid(xwait) && *missing == InvalidBlockNumber)
		xwait = check_main(check, to_queue);
	end_rows(check);
	return xwait;
}

/*
 * Prepare to look into the queue, if the index can have one: pin the metapage,
 * before any page is locked.
 */
static void
open_queue(UniqueCheck *check)
{
	check->metabuf = InvalidBuffer;
	if (!check->ix->may_queue)
		return;
	check->metabuf = fpb_pin_meta(check->ix);
	for (int tier = 1; tier < FPB_TREES; tier++)
	{
		fpb_filter_open(&check->filters[tier - 1], check->ix->rel, tier, false);
		fpb_index_of_tier(check->ix, tier, &check->tiers[tier - 1]);
	}
}

static void
close_queue(UniqueCheck *check)
{
	if (BufferIsValid(check->metabuf))
		ReleaseBuffer(check->metabuf);
}

/*
 * Put the entry into the queue, now that no other row conflicts.  The first
 * main leaf of its key, ins->buf, is locked, and stays so.  Returns
 * FPB_PUT_NOWHERE, with nothing done, if there is no queue, or if it has no
 * room; or if a page of it would have to be read, which *missing becomes.
 */
static FpbPut
put_unique(UniqueCheck *check, BlockNumber *missing)
{
	FpbInsertState ins = *check->ins;
	FpbStack	stack;

	ins.stack = &stack;
	ins.named = false;
	ins.missing = missing;
	ins.buf = fpb_descend_queue(&check->tiers[0], &ins.search, false, BUFFER_LOCK_EXCLUSIVE,
								&stack, missing);
	if (!BufferIsValid(ins.buf))
		return FPB_PUT_NOWHERE;
	return fpb_put_queued(&check->tiers[0], &check->filters[0], &ins);
}

/*
 * Read a page of the queue that was not in memory, so that it is there when it
 * is looked for again.  No lock is held.
 */
static void
read_missing(const FpbIndex *ix, BlockNumber missing)
{
	FPB_INJECTION_POINT("fpbtree-queue-page-missing");
	ReleaseBuffer(ReadBuffer(ix->rel, missing));
}

/*
 * An entry could not be put into the queue: see to it that the next try may.
 * missing is a page that has to be read, or InvalidBlockNumber.  No lock is
 * held.
 */
static void
prepare_queue(UniqueCheck *check, BlockNumber missing)
{
	if (missing != InvalidBlockNumber)
		read_missing(check->ix, missing);
	else if (!fpb_has_tier(check->metabuf, 1))
		fpb_begin_queue(&check->tiers[0]);
	else
		fpb_queue_make_room(check->ix, check->ins->heap, &check->ins->search);
}

/*
 * From ins->buf, the first leaf that can hold the new entry's key, move right
 * to the leaf that its TID assigns it to.  Both are locked exclusively.  The
 * next leaf on the way is locked before the last one is released, so that
 * nobody can check the same key in between.
 */
static void
move_to_place(FpbIndex *ix, FpbInsertState *ins)
{
	uint32		steps = 0;

	while (fpb_compare_end(ix, ins->buf, &ins->search) <= 0)
	{
		Buffer		next;

		fpb_count_step(ix, ins->buf, &steps);
		next = fpb_getbuf_right(ix, ins->buf, BUFFER_LOCK_EXCLUSIVE);
		fpb_relbuf(ins->buf);
		ins->buf = next;
		/* it has a downlink, because its left sibling's split was complete */
		if (FpbPageSplitIncomplete(BufferGetPage(next)) &&
			!fpb_finish_split(ix, next, NULL))
			fpb_report_damage(ix->rel, BufferGetBlockNumber(next),
							  "The page has no downlink.");
	}
}

/*
 * When there are so many dead entries that can't be killed yet, or twice as
 * many, and so on, they are removed if they may be.
 */
#define MANY_UNMARKED			16

/*
 * So many times an entry may find no place in the queue.  Then it goes to its
 * leaf.
 */
#define MOST_TRIES	3

/*
 * Insert the entry into its main leaf.  That is ins->buf, or right of it; it
 * is locked exclusively, and released.  The search key is OWN_PLACE.
 */
static void
insert_in_leaf(UniqueCheck *check)
{
	FpbIndex   *ix = check->ix;
	FpbInsertState *ins = check->ins;

	Assert(check->ndead == 0 || fpb_compare_end(ix, ins->buf, &ins->search) > 0);
	if (!check->placed)
	{
		move_to_place(ix, ins);
		fpb_page_search(ix, BufferGetPage(ins->buf), &ins->search, &ins->pos);
	}

	/*
	 * A scan that would have found the row has a predicate lock on this leaf.
	 * (It need not have one on the leaf where the key begins, which a
	 * backward scan may not have come to yet.)
	 */
	CheckForSerializableConflictIn(ix->rel, NULL, BufferGetBlockNumber(ins->buf));
	ins->dead = check->dead;
	ins->ndead = check->ndead;
	(void) fpb_insert_on_page(ix, ins);
}

/*
 * Insert the entry, now that no other row conflicts: into the queue, if tries
 * says that it may go there and there is room, or into its leaf.  The first
 * main leaf of its key, ins->buf, is locked exclusively, and released.
 *
 * Returns false, with nothing done, if the check has to be made anew, because
 * the queue could not be used with the leaf locked.
 */
static bool
insert_checked(UniqueCheck *check, int tries)
{
	FpbIndex   *ix = check->ix;
	FpbInsertState *ins = check->ins;
	BlockNumber missing = InvalidBlockNumber;
	FpbPut		put;

	FPB_INJECTION_POINT("fpbtree-unique-checked");
	set_search(ix, ins, OWN_PLACE);
	if (tries == 0)
	{
		insert_in_leaf(check);
		return true;
	}
	put = put_unique(check, &missing);
	fpb_relbuf(ins->buf);
	if (put == FPB_PUT_NOWHERE)
		prepare_queue(check, missing);
	else
		fpb_note_put(ix, &check->filters[0], put);
	return put != FPB_PUT_NOWHERE;
}

/*
 * Wait for the transaction that the check has to wait for.  No lock is held.
 */
static void
wait_for(const UniqueCheck *check, TransactionId xwait)
{
	uint32		token = check->dirty.speculativeToken;
	ItemPointerData tid;

	fpb_tail_tid(check->ins->entry.key.tail, &tid);
	if (token != 0)
		SpeculativeInsertionWait(xwait, token);
	else
		XactLockTableWait(xwait, check->ix->rel, &tid, XLTW_InsertIndex);
}

/*
 * Insert a row's entry into a unique index, after it has made sure that no
 * other row conflicts.  Waits for transactions whose rows may conflict, and
 * raises an error for a row that does.
 *
 * Returns false if mode is UNIQUE_CHECK_PARTIAL and the key may be a
 * duplicate.  If mode is UNIQUE_CHECK_EXISTING, nothing is inserted.
 */
bool
fpb_insert_unique(FpbIndex *ix, FpbInsertState *ins, Datum *values, bool *isnull,
				  IndexUniqueCheck mode)
{
	UniqueCheck check;
	int			tries;

	check.ix = ix;
	check.tree = ix;
	check.ins = ins;
	check.mode = mode;
	check.values = values;
	check.isnull = isnull;
	InitDirtySnapshot(check.dirty);
	check.items = check.few;
	check.dead = check.few_dead;
	open_queue(&check);
	fpb_search_keys_equal(ix, &ins->entry.key, false, &ins->search);
	tries = mode != UNIQUE_CHECK_EXISTING && fpb_wants_queue(ix, ins) ? MOST_TRIES : 0;
	for (;;)
	{
		TransactionId xwait;
		BlockNumber missing;

		fpb_descend_insert(ix, ins);
		xwait = check_unique(&check, tries > 0, &missing);
		if (TransactionIdIsValid(xwait) || missing != InvalidBlockNumber)
		{
			fpb_relbuf(ins->buf);
			if (missing != InvalidBlockNumber)
				read_missing(ix, missing);
			else
				wait_for(&check, xwait);
			set_search(ix, ins, FIRST_EQUAL);
			continue;
		}

		if (mode == UNIQUE_CHECK_EXISTING)
		{
			fpb_relbuf(ins->buf);
			if (!check.found_self)
				ereport(ERROR,
						(errcode(ERRCODE_INTERNAL_ERROR),
						 errmsg("failed to re-find tuple within index \"%s\"",
								RelationGetRelationName(ix->rel)),
						 errhint("This may be because of a non-immutable index expression."),
						 errtableconstraint(ins->heap, RelationGetRelationName(ix->rel))));
			break;
		}

		/*
		 * Otherwise each insertion of the key would look at their rows again.
		 * But if they can't be removed either, the next ones need not try.
		 */
		Assert(check.unmarked == 0 || check.ndead == 0);
		if (check.unmarked > 0 && check.unmarked % MANY_UNMARKED == 0 &&
			fpb_prune_key(ix, ins->heap, ins->buf, &ins->entry.key, true))
			check.placed = false;
		if (insert_checked(&check, tries))
			break;
		tries--;
		set_search(ix, ins, FIRST_EQUAL);
	}
	free_items(&check);
	close_queue(&check);
	return check.unique;
}
