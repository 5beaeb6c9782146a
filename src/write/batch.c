/*-------------------------------------------------------------------------
 *
 * write/batch.c
 *	  Insertions of a statement, collected in memory.
 *
 * A statement that inserts many rows does not insert their entries one by one.
 * It collects them, sorts them, and puts them in leaf by leaf: the batch
 * update of pio-btree, 3.3.  Those of a leaf are one visit to it and one
 * record.
 *
 * So a row may be in the table, and its entry not yet in the index.  Nobody
 * may miss it:
 *
 * - Other processes can't see a row of a statement that is running, but for
 * checks of uniqueness and of exclusion.  Entries of indexes that serve these
 * are not collected.
 *
 * - This process can, if it runs another command before the statement ends, as
 * triggers and functions do.  So whoever reads a leaf for a scan puts in
 * beforehand what the scan's snapshot may see (fpb_before_reading).  Parallel
 * workers can't do that for their leader, so it is done before a plan is run
 * that may have some.
 *
 * - The executor tells us when the statement has ended (fpb_insert_cleanup).
 * Who does not, has the entries put in before the transaction commits.
 *
 * And an entry must not point to another row than the one that it was made
 * for.  The TID of a row whose transaction is running is not given to another
 * row, with one exception: a speculative insertion (of ON CONFLICT) that has
 * failed is dead at once.  Its entry is not collected.  If a subtransaction is
 * rolled back, the batches of its statements go with its memory.
 *
 * The first rows of a statement are inserted one by one, so that short
 * statements don't pay for what they have no use for; and all rows of one that
 * has the index read by a trigger, say, for nearly each of them.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/index.h"
#include "catalog/namespace.h"
#include "executor/executor.h"
#include "lib/ilist.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "storage/predicate.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "base/options.h"
#include "base/running.h"
#include "build/sort.h"
#include "prefetch/prefetch.h"
#include "queue/queue.h"
#include "write/batch.h"
#include "write/write.h"

/* rows of a statement that are inserted one by one */
#define FIRST_ROWS		64

/*
 * If a batch had fewer entries than this when somebody had to read the index,
 * and so many times running, its statement's further rows are inserted one by
 * one as well.
 */
#define WORTHWHILE		32
#define MOST_IN_VAIN	4

/* entries that are taken from the sort at a time: more than a leaf gets */
#define CHUNK			(BLCKSZ / 8)

/*
 * So many entries of a leaf are put into it even if it has to be read, and
 * fewer go by way of the operation queue.
 */
#define QUEUE_FEW		4

/*
 * Rows have come in no order if of entries that lie LAG apart, in the order of
 * keys, more than one pair in so many has come in this order, and more than
 * one in so many in the other.
 */
#define LAG				64
#define SCATTERED_ONE_IN	8

/* what an entry takes beside its key */
#define ENTRY_OVERHEAD	16

/*
 * Entries collected for an index by one statement.  The batch and all that it
 * has lie in the memory of the statement's subtransaction.
 */
struct FpbBatch
{
	dlist_node	node;			/* in batches */
	uint64		number;			/* no other batch of this process has it */
	uint64		run;			/* of the executor, that inserts; 0: none */
	Oid			index;
	RelFileLocator locator;		/* of the index when the batch was begun */
	CommandId	command;		/* no row has been inserted by an earlier one */
	MemoryContext cxt;
	FpbIndex	ix;				/* to form keys and compare them, whatever
								 * becomes of the relcache entry */
	Oid			user;			/* who inserts, */
	int			sec_context;
	char	   *search_path;	/* and where functions are looked for */
	bool		frozen;			/* has a row been inserted that all snapshots
								 * see (COPY FREEZE)? */
	bool		unchanged;		/* has the last row been updated without
								 * changing its key? */
	ItemPointerData tids[LAG];	/* of the rows added last, a ring */
	uint64		ndescents;		/* rows added that lie before the one added
								 * LAG rows earlier */
	bool		busy;			/* are entries being put in, or has that been
								 * ended by an error? */
	bool		ended;			/* by its statement */
	int			in_vain;		/* how many times running few entries have
								 * been put in */
	FpbSort    *sort;			/* NULL: there are no entries */
	uint64		nentries;
	Size		size;			/* what they take */
	MemoryContextCallback forget;
};

/* what a statement keeps in its IndexInfo's ii_AmCache */
typedef struct Statement
{
	bool		may_batch;
	int			rows;			/* inserted one by one so far */
	FpbBatch   *batch;			/* NULL: none so far */
	uint64		number;			/* the batch's, */
	uint64		dropped;		/* and batches_dropped when it was seen last */
	Buffer		recent;			/* where the last row's page has been seen */
} Statement;

/* fpbtree.insert_batch_size, in kB */
static int	batch_size = 4096;

/* all batches of this process, what they take, and how many entries they have */
static dlist_head batches = DLIST_STATIC_INIT(batches);
static Size batches_size = 0;
uint64		fpb_batched = 0;

/* the last batch's number, and how many have gone without their statement's doing */
static uint64 last_number = 0;
static uint64 batches_dropped = 0;

/* --- making and ending batches --- */

/*
 * Forget what a batch has collected.
 */
static void
forget_entries(FpbBatch *batch)
{
	fpb_batched -= batch->nentries;
	batches_size -= batch->size;
	batch->nentries = 0;
	batch->size = 0;
	batch->ndescents = 0;
	batch->sort = NULL;
}

/*
 * Memory context callback: a batch's memory is being freed.
 */
static void
forget_batch(void *arg)
{
	FpbBatch   *batch = arg;

	forget_entries(batch);
	dlist_delete(&batch->node);
	if (!batch->ended)
		batches_dropped++;
}

/*
 * Give a batch comparators of its own.
 */
static void
copy_comparators(FpbBatch *batch)
{
	for (int i = 0; i < batch->ix.nkeyatts; i++)
	{
		FpbColumn  *col = &batch->ix.cols[i];
		FmgrInfo   *cmp;

		if (col->cmp == NULL)
			continue;
		cmp = MemoryContextAlloc(batch->cxt, sizeof(FmgrInfo));
		fmgr_info_copy(cmp, col->cmp, batch->cxt);
		col->cmp = cmp;
	}
}

/*
 * Begin a batch.
 *
 * The statement's rows are inserted by a command that is no earlier than its
 * snapshot's, which is the active one.
 */
static FpbBatch *
begin_batch(Relation rel)
{
	MemoryContext cxt = AllocSetContextCreate(CurTransactionContext, "fpbtree insertions",
											  ALLOCSET_DEFAULT_SIZES);
	FpbBatch   *batch = MemoryContextAllocZero(cxt, sizeof(FpbBatch));

	batch->cxt = cxt;
	batch->number = ++last_number;
	batch->run = fpb_running == NULL ? 0 : fpb_running->number;
	batch->index = RelationGetRelid(rel);
	batch->locator = rel->rd_locator;
	batch->command = ActiveSnapshotSet() ? GetActiveSnapshot()->curcid : FirstCommandId;
	GetUserIdAndSecContext(&batch->user, &batch->sec_context);
	batch->search_path = MemoryContextStrdup(cxt, namespace_search_path);
	fpb_index_open(&batch->ix, rel);
	copy_comparators(batch);
	batch->forget.func = forget_batch;
	batch->forget.arg = batch;
	dlist_push_tail(&batches, &batch->node);
	MemoryContextRegisterResetCallback(cxt, &batch->forget);
	return batch;
}

/*
 * A statement's batch, if it is still there.  (It is not, if whoever inserts
 * goes on with an IndexInfo after a subtransaction has been rolled back.)
 */
static FpbBatch *
batch_of(Statement *statement)
{
	dlist_iter	iter;

	if (statement->batch == NULL || likely(statement->dropped == batches_dropped))
		return statement->batch;
	statement->dropped = batches_dropped;
	dlist_foreach(iter, &batches)
	{
		if (dlist_container(FpbBatch, node, iter.cur)->number == statement->number)
			return statement->batch;
	}
	return statement->batch = NULL;
}

/*
 * May a statement's entries for an index be collected?
 *
 * Not if others look for them at once, to see whether a row conflicts with
 * theirs; or if the index is being built concurrently, where rows are other
 * transactions'; or if the table is to take another one's place (REPACK
 * CONCURRENTLY exchanges the indexes' files before it says that it has ended);
 * or if the table can't tell which rows are speculative.  Nor if all
 * insertions go by way of the operation queue: it collects entries itself, and
 * its leaves would be half empty if these came in order.
 */
static bool
may_batch(Relation rel, Relation heap, const IndexInfo *info)
{
	return !rel->rd_index->indisunique && info->ii_ExclusionOps == NULL &&
		!info->ii_Concurrent && !OidIsValid(heap->rd_rel->relrewrite) &&
		!(fpb_may_queue(rel) && fpb_queue_mode(rel) == FPB_QUEUE_ON) &&
		heap->rd_tableam == GetHeapamTableAmRoutine();
}

/* what the table says of a row that this transaction has just inserted */
typedef struct RowState
{
	bool		speculative;
	bool		frozen;			/* do all snapshots see it? */
} RowState;

/*
 * Look at the row at *tid.  *recent is the buffer where the page of the row
 * before has been seen.
 *
 * The page is locked, because somebody may be pruning it, who moves rows.
 */
static RowState
look_at_row(Relation heap, ItemPointer tid, Buffer *recent)
{
	BlockNumber block = ItemPointerGetBlockNumber(tid);
	Page		page;
	HeapTupleHeader row;
	RowState	state;

	if (!BufferIsValid(*recent) ||
		!ReadRecentBuffer(heap->rd_locator, MAIN_FORKNUM, block, *recent))
		*recent = ReadBuffer(heap, block);
	LockBuffer(*recent, BUFFER_LOCK_SHARE);
	page = BufferGetPage(*recent);
	row = (HeapTupleHeader) PageGetItem(page, PageGetItemId(page, ItemPointerGetOffsetNumber(tid)));
	state.speculative = HeapTupleHeaderIsSpeculative(row);
	state.frozen = HeapTupleHeaderXminFrozen(row);
	UnlockReleaseBuffer(*recent);
	return state;
}

/*
 * See write/batch.h.
 */
FpbBatch *
fpb_batch_for(Relation rel, Relation heap, ItemPointer tid, IndexInfo *info)
{
	Statement  *statement = info->ii_AmCache;
	FpbBatch   *batch;
	RowState	row;

	if (statement == NULL)
	{
		statement = MemoryContextAllocZero(info->ii_Context, sizeof(Statement));
		statement->may_batch = may_batch(rel, heap, info);
		info->ii_AmCache = statement;
	}
	if (!statement->may_batch || batch_size == 0)
		return NULL;
	if (statement->rows < FIRST_ROWS)
	{
		statement->rows++;
		return NULL;
	}
	batch = batch_of(statement);
	if (batch != NULL && batch->in_vain >= MOST_IN_VAIN)
		return NULL;
	row = look_at_row(heap, tid, &statement->recent);
	if (row.speculative)
		return NULL;
	if (batch == NULL)
	{
		batch = statement->batch = begin_batch(rel);
		statement->number = batch->number;
		statement->dropped = batches_dropped;
	}
	batch->frozen |= row.frozen;
	return batch;
}

/*
 * Note where the row lies whose entry is being added.
 */
static void
note_place(FpbBatch *batch, ItemPointer tid)
{
	ItemPointer place = &batch->tids[batch->nentries % LAG];

	if (batch->nentries >= LAG)
		batch->ndescents += ItemPointerCompare(tid, place) < 0;
	*place = *tid;
}

/* --- putting entries in --- */

/* entries being put in */
typedef struct PutIn
{
	FpbIndex	ix;
	Relation	heap;
	bool		unchanged;
	bool		in_places;		/* do the rows' places tell in which order
								 * they have come? */
	bool		scattered;		/* have they come in no order? */
	bool		queue_few;		/* do entries for leaves that get few go by
								 * way of the operation queue? */
	bool		cold;			/* may leaves have to be read? */
	FpbEntry   *entries;		/* the next ones, in order, at most CHUNK; */
	int			nentries;
	bool		all;			/* there are no more than these */
	MemoryContext tuples;		/* where theirs are */
	FpbVisit   *visits;			/* cold: to the leaves of these */
	FpbWalk		walk;			/* over the level that names the leaves */
	FpbWindow	window;			/* leaves being read */
	Page		copy;
} PutIn;

/*
 * Take entries from a batch, in order, until there are CHUNK or no more.
 */
static void
take_entries(PutIn *p, FpbBatch *batch)
{
	MemoryContext old = MemoryContextSwitchTo(p->tuples);

	while (p->nentries < CHUNK && fpb_sort_get(batch->sort, &p->entries[p->nentries].key))
	{
		FpbEntry   *entry = &p->entries[p->nentries++];

		if (entry->key.tuple != NULL)
			entry->key.tuple = CopyIndexTuple(entry->key.tuple);
		entry->child = InvalidBlockNumber;
	}
	p->all = p->nentries < CHUNK;
	MemoryContextSwitchTo(old);
}

/*
 * The first n entries are in the index.
 */
static void
drop_entries(PutIn *p, int n)
{
	for (int i = 0; i < n; i++)
	{
		if (p->entries[i].key.tuple != NULL)
			pfree(p->entries[i].key.tuple);
	}
	p->nentries -= n;
	memmove(p->entries, p->entries + n, p->nentries * sizeof(FpbEntry));
}

/*
 * Have the rows of n entries, which are in order, come in no order?  Not if
 * they ascend or descend, be it not one by one.  Their places in the table
 * tell, if rows that have come later lie behind, as most statements insert
 * them.
 */
static bool
is_scattered(const FpbEntry *entries, int n)
{
	int			npairs = n - LAG;
	int			nascending = 0;

	for (int i = 0; i < npairs; i++)
	{
		ItemPointerData tid;
		ItemPointerData later;

		fpb_tail_tid(entries[i].key.tail, &tid);
		fpb_tail_tid(entries[i + LAG].key.tail, &later);
		nascending += ItemPointerCompare(&tid, &later) < 0;
	}
	return Min(nascending, npairs - nascending) > npairs / SCATTERED_ONE_IN;
}

/*
 * Put in the first of n entries, which are in order, and those of the others
 * that belong to the same leaf.  Returns how many that have been.
 */
static int
put_into_leaf(PutIn *p, const FpbEntry *entries, int n)
{
	FpbIndex   *ix = &p->ix;
	FpbInsertState ins;
	FpbStack	stack;

	CHECK_FOR_INTERRUPTS();
	FPB_INJECTION_POINT("fpbtree-batch-leaf");
	fpb_insert_init(&ins, p->heap, &stack, p->unchanged);
	ins.scattered = p->scattered;
	fpb_search_key_from(ix, &entries[0].key, &ins.search);
	fpb_descend_insert(ix, &ins);
	if (p->window.max_distance > 0)
		(void) fpb_window_reach(&p->window, BufferGetBlockNumber(ins.buf), false);
	CheckForSerializableConflictIn(ix->rel, NULL, BufferGetBlockNumber(ins.buf));
	return fpb_insert_sorted(ix, &ins, entries, n, p->copy);
}

/*
 * Put in n entries, each as if it were the only one.
 */
static void
put_in_singly(PutIn *p, const FpbEntry *entries, int n)
{
	for (int i = 0; i < n; i++)
	{
		FpbInsertState ins;
		FpbStack	stack;

		CHECK_FOR_INTERRUPTS();
		fpb_insert_init(&ins, p->heap, &stack, p->unchanged);
		ins.entry = entries[i];
		fpb_insert_plain(&p->ix, &ins);
	}
}

/*
 * Put in entries whose leaves are likely to be in memory.  Returns how many.
 * Leaves the last ones, unless there are no more: a split needs to know how
 * many follow (FpbSplitAim).
 */
static int
put_in_warm(PutIn *p)
{
	int			last = p->all ? p->nentries : CHUNK / 2;
	int			done = 0;

	while (done < last)
		done += put_into_leaf(p, p->entries + done, p->nentries - done);
	return done;
}

/*
 * Put in entries, reading leaves ahead.  Returns how many.  Leaves those of
 * the last leaf, unless there are no more entries, or no other leaves.
 */
static int
put_in_cold(PutIn *p)
{
	int			nvisits = fpb_find_visits(&p->walk, p->entries, p->nentries, p->visits);
	int			ntaken = p->nentries;
	int			ndirect = 0;
	int			announced = 0;

	if (!p->all && nvisits > 1)
		ntaken = p->visits[--nvisits].first;

	/* first those that need not have their leaves */
	for (int i = 0; i < nvisits; i++)
	{
		if (p->queue_few && p->visits[i].nentries < QUEUE_FEW)
			put_in_singly(p, p->entries + p->visits[i].first, p->visits[i].nentries);
		else
			p->visits[ndirect++] = p->visits[i];
	}
	for (int i = 0; i < ndirect; i++)
	{
		const FpbVisit *visit = &p->visits[i];

		fpb_announce_visits(&p->window, p->visits, ndirect, i, &announced);
		for (int done = 0; done < visit->nentries;)
			done += put_into_leaf(p, p->entries + visit->first + done, visit->nentries - done);
	}
	fpb_window_reset(&p->window, 0);
	return ntaken;
}

/*
 * Get ready to put in entries.
 *
 * A leaf that gets few entries, and would have to be read, gets them by way of
 * the operation queue, where that is used: it will have more of them by the
 * time that it is visited.
 */
static void
begin_put_in(PutIn *p, FpbBatch *batch, Relation rel)
{
	MemSet(p, 0, sizeof(PutIn));
	fpb_worker_note_use();
	fpb_index_open(&p->ix, rel);
	p->heap = table_open(rel->rd_index->indrelid, NoLock);
	p->unchanged = batch->unchanged;
	p->in_places = batch->ndescents <= batch->nentries / SCATTERED_ONE_IN;
	p->entries = palloc(CHUNK * sizeof(FpbEntry));
	p->tuples = GenerationContextCreate(CurrentMemoryContext, "fpbtree tuples",
										ALLOCSET_DEFAULT_SIZES);
	p->copy = palloc_aligned(BLCKSZ, PG_IO_ALIGN_SIZE, 0);
	p->queue_few = p->ix.may_queue && fpb_queue_mode(rel) == FPB_QUEUE_AUTO;
	p->cold = fpb_may_be_cold(&p->ix);
	if (!p->cold)
		return;
	p->visits = palloc(CHUNK * sizeof(FpbVisit));
	fpb_walk_init(&p->walk, CurrentMemoryContext, &p->ix, 1);
	fpb_window_init(&p->window, CurrentMemoryContext, rel, fpb_pio_max);
	fpb_window_expect(&p->window, true);
	p->window.min_distance = p->window.max_distance;
}

/*
 * Be done with that.
 */
static void
end_put_in(PutIn *p)
{
	if (p->cold)
	{
		fpb_window_end(&p->window);
		fpb_prefetch_report(p->ix.rel, false, &p->window.counts);
	}
	table_close(p->heap, NoLock);
}

/*
 * Put in all entries of a batch.  rel is its index.
 */
static void
put_in_entries(FpbBatch *batch, Relation rel)
{
	MemoryContext cxt = AllocSetContextCreate(batch->cxt, "fpbtree put in",
											  ALLOCSET_DEFAULT_SIZES);
	MemoryContext chunk_cxt = AllocSetContextCreate(cxt, "fpbtree chunk",
													ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(cxt);
	PutIn		p;

	begin_put_in(&p, batch, rel);
	fpb_sort_perform(batch->sort);
	MemoryContextSwitchTo(chunk_cxt);
	do
	{
		take_entries(&p, batch);
		if (p.in_places && p.nentries > 2 * LAG)
			p.scattered = is_scattered(p.entries, p.nentries);
		drop_entries(&p, p.cold ? put_in_cold(&p) : put_in_warm(&p));
		MemoryContextReset(chunk_cxt);
	} while (!p.all);
	MemoryContextSwitchTo(old);
	end_put_in(&p);
	MemoryContextDelete(cxt);
}

/*
 * Raise an error if entries of a batch are being put in, or if an error has
 * ended that: then nobody knows which of them are in the index.
 */
static void
check_usable(const FpbBatch *batch, Relation rel)
{
	if (batch->busy)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("index \"%s\" lacks entries of rows that a statement has inserted",
						RelationGetRelationName(rel)),
				 errdetail("They are being put in, or an error has ended that.")));
}

/*
 * Put in all that a batch has collected.  rel is its index.
 *
 * If an error ends this, entries are missing, or one may be in the index and
 * taken for missing.  Then all who come to the batch later get an error, and
 * so the statement, or the whole transaction, fails.  An error is raised as
 * well if a comparator reads the index, or runs a plan with parallel workers.
 *
 * Comparators run with the rights and the search_path of the statement,
 * whoever causes it.
 */
static void
put_in(FpbBatch *batch, Relation rel)
{
	Oid			user;
	int			sec_context;
	int			nest_level;

	check_usable(batch, rel);
	if (batch->sort == NULL)
		return;
	if (!RelFileLocatorEquals(batch->locator, rel->rd_locator))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("index \"%s\" has got another file before the entries of all rows were in it",
						RelationGetRelationName(rel)),
				 errhint("Set fpbtree.insert_batch_size to 0 for what you were doing.")));
	batch->busy = true;
	GetUserIdAndSecContext(&user, &sec_context);
	nest_level = NewGUCNestLevel();
	SetUserIdAndSecContext(batch->user, batch->sec_context);
	if (strcmp(batch->search_path, namespace_search_path) != 0)
		(void) set_config_option("search_path", batch->search_path, PGC_USERSET, PGC_S_SESSION,
								 GUC_ACTION_SAVE, true, 0, false);
	put_in_entries(batch, rel);
	fpb_sort_end(batch->sort);
	forget_entries(batch);
	AtEOXact_GUC(true, nest_level);
	SetUserIdAndSecContext(user, sec_context);
	batch->busy = false;
}

/*
 * The same of a batch whose index need not be open.
 */
static void
open_and_put_in(FpbBatch *batch)
{
	Relation	rel = try_index_open(batch->index, RowExclusiveLock);

	if (rel == NULL)
		return;
	put_in(batch, rel);
	index_close(rel, RowExclusiveLock);
}

/*
 * Put in the entries of the batch that takes most.
 */
static void
put_in_largest(void)
{
	FpbBatch   *largest = NULL;
	dlist_iter	iter;

	dlist_foreach(iter, &batches)
	{
		FpbBatch   *batch = dlist_container(FpbBatch, node, iter.cur);

		if (!batch->busy && (largest == NULL || batch->size > largest->size))
			largest = batch;
	}
	if (largest != NULL)
		open_and_put_in(largest);
}

/*
 * See write/batch.h.
 */
void
fpb_batch_add(FpbBatch *batch, Relation heap, Datum *values, bool *isnull,
			  ItemPointer tid, bool unchanged)
{
	Size		size = ENTRY_OVERHEAD;
	FpbKey		key;

	check_usable(batch, batch->ix.rel);
	if (batch->sort == NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(batch->cxt);

		batch->sort = fpb_sort_begin(&batch->ix, MAX_KILOBYTES, 0, NULL, 0);
		MemoryContextSwitchTo(old);
	}
	fpb_key_form(fpb_sort_index(batch->sort), values, isnull, tid, &key);
	fpb_check_key_size(&batch->ix, heap, &key);
	fpb_sort_put(batch->sort, &key);
	batch->unchanged = unchanged;
	note_place(batch, tid);
	if (key.tuple != NULL)
	{
		size += MAXALIGN(IndexTupleSize(key.tuple)) + sizeof(uint64);
		pfree(key.tuple);
	}
	batch->size += size;
	batches_size += size;
	batch->nentries++;
	fpb_batched++;
	if (batches_size >= (Size) batch_size * 1024)
		put_in_largest();
}

/*
 * aminsertcleanup: a statement will insert no more into an index.
 */
void
fpb_insert_cleanup(Relation rel, IndexInfo *info)
{
	Statement  *statement = info->ii_AmCache;
	FpbBatch   *batch = statement == NULL ? NULL : batch_of(statement);

	if (batch == NULL)
		return;
	put_in(batch, rel);
	batch->ended = true;
	MemoryContextDelete(batch->cxt);
	statement->batch = NULL;
}

/*
 * Put in what batches have for an index, as far as a snapshot may see it.
 */
void
fpb_batches_put_in(Relation rel, Snapshot snapshot)
{
	dlist_iter	iter;

	dlist_foreach(iter, &batches)
	{
		FpbBatch   *batch = dlist_container(FpbBatch, node, iter.cur);

		if (batch->index != RelationGetRelid(rel))
			continue;
		if (!batch->frozen && snapshot != NULL && IsMVCCSnapshot(snapshot) &&
			snapshot->curcid <= batch->command)
			continue;
		if (batch->sort != NULL)
			batch->in_vain = batch->nentries < WORTHWHILE ? batch->in_vain + 1 : 0;
		put_in(batch, rel);
	}
}

/*
 * Put in what all batches have.
 */
static void
put_in_all(void)
{
	dlist_iter	iter;

	dlist_foreach(iter, &batches)
		open_and_put_in(dlist_container(FpbBatch, node, iter.cur));
}

/* --- the server's hooks --- */

/*
 * See write/batch.h.
 */
void
fpb_batches_before_run(const FpbPlanRun *run)
{
	if (unlikely(fpb_batched > 0) && run->query->plannedstmt->parallelModeNeeded)
		put_in_all();
}

/*
 * See write/batch.h.
 */
void
fpb_batches_after_run(const FpbPlanRun *run)
{
	dlist_iter	iter;

	if (likely(fpb_batched == 0))
		return;
	fpb_running_begin_work(run);
	dlist_foreach(iter, &batches)
	{
		FpbBatch   *batch = dlist_container(FpbBatch, node, iter.cur);

		if (batch->run == run->number)
			open_and_put_in(batch);
	}
	fpb_running_end_work(run);
}

/*
 * Transaction callback: nothing may be left in a batch at commit.
 */
static void
before_commit(XactEvent event, void *arg pg_attribute_unused())
{
	if (fpb_batched == 0)
		return;
	if (event != XACT_EVENT_PRE_COMMIT && event != XACT_EVENT_PARALLEL_PRE_COMMIT &&
		event != XACT_EVENT_PRE_PREPARE)
		return;
	PushActiveSnapshot(GetTransactionSnapshot());
	put_in_all();
	PopActiveSnapshot();
}

/*
 * Define the setting and install the hooks.  Called once in a backend, when
 * the module is loaded.
 */
void
fpb_batch_init(void)
{
	DefineCustomIntVariable("fpbtree.insert_batch_size",
							"Memory for entries of fpbtree indexes that a statement which inserts many rows collects and puts in together.",
							"Sorting them may take as much again. 0 inserts each entry at once.",
							&batch_size,
							4096, 0, 1048576,
							PGC_USERSET, GUC_UNIT_KB,
							NULL, NULL, NULL);
	RegisterXactCallback(before_commit, NULL);
}
