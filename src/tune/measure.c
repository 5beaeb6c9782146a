/*-------------------------------------------------------------------------
 *
 * tune/measure.c
 *	  How long operations on an index take.
 *
 * An index is measured without the executor, as in the papers' experiments:
 * the executor costs more than the index, and the same for all indexes.  The
 * keys are made before the clock is started.
 *
 * Insertions add entries for rows that don't exist, and deletions remove
 * entries of rows that do.  So the index must have been made to be measured.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <time.h>

#include "catalog/pg_type.h"
#include "common/pg_prng.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/memutils.h"

#include "tree/tree.h"
#include "tune/measure.h"

/* how many keys are made at a time */
#define BATCH_KEYS		128

/* a random key, and how it is looked for */
typedef struct Sample
{
	FpbEntry	entry;
	FpbSearchKey search;
} Sample;

/* a function that does some operations, and returns how many */
typedef int64 (*Operate) (FpbMeasured *measured, Sample *sample);

/* --- keys --- */

/*
 * The value that stands for a number in a column.
 */
static Datum
value_of(Oid type, int64 number)
{
	switch (type)
	{
		case INT4OID:
			return Int32GetDatum((int32) number);
		case INT8OID:
			return Int64GetDatum(number);
		case TEXTOID:
			return DirectFunctionCall1(md5_text,
									   PointerGetDatum(cstring_to_text(psprintf(INT64_FORMAT, number))));
		default:
			elog(ERROR, "type %u can't be measured", type);
	}
}

/*
 * Make the key of a number, with a TID.
 */
static void
make_key(FpbMeasured *measured, int64 number, ItemPointer tid, FpbKey *key)
{
	FpbIndex   *ix = &measured->ix;
	Datum		values[INDEX_MAX_KEYS];
	bool		isnull[INDEX_MAX_KEYS] = {0};

	for (int i = 0; i < ix->natts; i++)
		values[i] = value_of(TupleDescAttr(RelationGetDescr(ix->rel), i)->atttypid, number);
	fpb_key_form(ix, values, isnull, tid, key);
}

/*
 * Make a sample of a random key of the index, to be searched for from its
 * first entry on.
 */
static void
make_known(FpbMeasured *measured, pg_prng_state *random, Sample *sample)
{
	ItemPointerData tid;

	ItemPointerSet(&tid, 0, 1);
	make_key(measured, 2 * (int64) pg_prng_uint64_range(random, 1, measured->keys),
			 &tid, &sample->entry.key);
	fpb_search_keys_equal(&measured->ix, &sample->entry.key, false, &sample->search);
}

/*
 * Make a sample of a random key that is not in the index, nor taken, and take
 * it.  (If a key had two entries, an insertion might look at the table whether
 * they are versions of one row.)
 */
static void
make_fresh(FpbMeasured *measured, pg_prng_state *random, bool *taken,
		   Sample *sample)
{
	ItemPointerData tid;
	uint64		number;

	do
		number = pg_prng_uint64_range(random, 0, measured->keys - 1);
	while (taken[number]);
	taken[number] = true;
	ItemPointerSet(&tid, MaxBlockNumber - 1 - (BlockNumber) (number / 200), 1 + number % 200);
	make_key(measured, 2 * (int64) number + 1, &tid, &sample->entry.key);
	sample->entry.child = InvalidBlockNumber;
	fpb_search_key_from(&measured->ix, &sample->entry.key, &sample->search);
}

/* --- operations --- */

/*
 * Find a sample's place.  Returns its leaf, locked.
 */
static Buffer
find_place(FpbMeasured *measured, Sample *sample, int lock, FpbPos *pos)
{
	Buffer		buf = fpb_descend(&measured->ix, &sample->search, 0, false, lock, NULL);

	fpb_page_search(&measured->ix, BufferGetPage(buf), &sample->search, pos);
	return buf;
}

static int64
look_up(FpbMeasured *measured, Sample *sample)
{
	FpbEntry	entry;
	FpbPos		pos;
	Buffer		buf = find_place(measured, sample, BUFFER_LOCK_SHARE, &pos);

	if (fpb_page_next(&measured->ix, BufferGetPage(buf), &pos, &entry))
		measured->found += entry.key.tail;
	fpb_relbuf(buf);
	return 1;
}

/*
 * Read ten leaves.
 */
static int64
scan(FpbMeasured *measured, Sample *sample)
{
	FpbItem    *items = palloc(sizeof(FpbItem) * FPB_MAX_PAGE_ENTRIES);
	FpbPos		pos;
	Buffer		buf = find_place(measured, sample, BUFFER_LOCK_SHARE, &pos);
	int64		done = 0;

	for (int leaf = 1;; leaf++)
	{
		bool		more;
		int			n = fpb_page_read(&measured->ix, BufferGetPage(buf), pos, NULL,
									  false, items, FPB_MAX_PAGE_ENTRIES, &more);
		Buffer		next;

		for (int i = 0; i < n; i++)
			measured->found += items[i].key.tail;
		done += n;
		if (leaf == 10 || FpbPageIsRightmost(BufferGetPage(buf)))
			break;
		next = fpb_getbuf_right(&measured->ix, buf, BUFFER_LOCK_SHARE);
		fpb_relbuf(buf);
		buf = next;
		pos = FPB_POS_FIRST;
	}
	fpb_relbuf(buf);
	pfree(items);
	return Max(done, 1);
}

static int64
insert(FpbMeasured *measured, Sample *sample)
{
	FpbInsertState ins;
	FpbStack	stack;

	fpb_insert_init(&ins, measured->heap, &stack, false);
	ins.entry = sample->entry;
	fpb_search_key_from(&measured->ix, &ins.entry.key, &ins.search);
	ins.buf = fpb_descend(&measured->ix, &ins.search, 0, false,
						  BUFFER_LOCK_EXCLUSIVE, &stack);
	fpb_page_search(&measured->ix, BufferGetPage(ins.buf), &ins.search, &ins.pos);
	(void) fpb_insert_on_page(&measured->ix, &ins);
	return 1;
}

static int64
delete(FpbMeasured *measured, Sample *sample)
{
	FpbEntry	entry;
	FpbPos		pos;
	Buffer		buf = find_place(measured, sample, BUFFER_LOCK_EXCLUSIVE, &pos);

	if (fpb_page_next(&measured->ix, BufferGetPage(buf), &pos, &entry) &&
		fpb_key_head(&measured->ix, &entry.key) == sample->search.head)
	{
		FpbWal		wal;
		FpbWalPage *wp;

		fpb_wal_begin(&wal, measured->ix.rel);
		wp = fpb_wal_add(&wal, buf, false);
		fpb_wal_enter(&wal);
		fpb_page_delete(&measured->ix, BufferGetPage(buf), &pos, 1, wp);
		fpb_wal_finish(&wal);
	}
	fpb_relbuf(buf);
	return 1;
}

/* --- measuring --- */

/*
 * Read all of an index into the buffers, because a build leaves nothing there.
 */
void
fpb_measure_prepare(Relation index)
{
	BlockNumber nblocks = RelationGetNumberOfBlocks(index);

	for (BlockNumber blkno = 0; blkno < nblocks; blkno++)
	{
		CHECK_FOR_INTERRUPTS();
		ReleaseBuffer(ReadBuffer(index, blkno));
	}
}

/*
 * Read the clock.  Usually it is this process's processor time, which leaves
 * out what else the machine does, and waits for the log's files.
 */
static inline void
read_clock(const FpbMeasured *measured, instr_time *now)
{
	struct timespec time;

	if (measured->clock != NULL)
	{
		measured->clock(now);
		return;
	}
	if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time) != 0)
		elog(ERROR, "could not read the processor's time: %m");
	now->ticks = (int64) time.tv_sec * NS_PER_S + time.tv_nsec;
}

/*
 * Do so many operations.  Returns how many nanoseconds each has taken.
 *
 * Each key is inserted only once.  So there can't be more insertions than the
 * index has keys, less those taken already.  The caller has locked the index,
 * for changes in RowExclusiveLock, and no page.
 */
double
fpb_measure(FpbMeasured *measured, FpbWork work, int64 operations)
{
	static const Operate operate[] = {
		[FPB_WORK_LOOKUP] = look_up,
		[FPB_WORK_SCAN] = scan,
		[FPB_WORK_INSERT] = insert,
		[FPB_WORK_DELETE] = delete
	};
	MemoryContext batch = AllocSetContextCreate(CurrentMemoryContext, "fpbtree keys to be measured",
												ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(batch);
	pg_prng_state random;
	instr_time	total;
	bool	   *taken = work == FPB_WORK_INSERT ? measured->taken : NULL;
	int64		done = 0;

	if (work == FPB_WORK_INSERT && taken == NULL)
	{
		operations = Min(operations, measured->keys);
		taken = MemoryContextAllocExtended(old, measured->keys,
										   MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	}
	pg_prng_seed(&random, measured->seed++);
	INSTR_TIME_SET_ZERO(total);
	while (done < operations)
	{
		int			n = Min(BATCH_KEYS, operations - done);
		Sample	   *samples = palloc(sizeof(Sample) * n);
		instr_time	start;
		instr_time	end;

		CHECK_FOR_INTERRUPTS();
		for (int i = 0; i < n; i++)
		{
			if (taken != NULL)
				make_fresh(measured, &random, taken, &samples[i]);
			else
				make_known(measured, &random, &samples[i]);
		}

		read_clock(measured, &start);
		for (int i = 0; i < n && done < operations; i++)
			done += operate[work] (measured, &samples[i]);
		read_clock(measured, &end);
		INSTR_TIME_ACCUM_DIFF(total, end, start);
		MemoryContextReset(batch);
	}
	MemoryContextSwitchTo(old);
	MemoryContextDelete(batch);
	if (taken != NULL && taken != measured->taken)
		pfree(taken);

	/* a coarse clock may not have moved, but nothing takes no time */
	return Max(INSTR_TIME_GET_DOUBLE(total) * 1e9, 1.0) / Max(done, 1);
}
