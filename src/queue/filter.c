/*-------------------------------------------------------------------------
 *
 * queue/filter.c
 *	  Which keys are not in an operation queue.
 *
 * A lookup costs a descent in the queue, too, mostly for nothing.  So heads of
 * keys are counted, by their hashes, in shared memory (as in a counting Bloom
 * filter with one hash function): where a count is zero, no entry of the queue
 * has such a head.  The counters are those of all indexes of the server.
 *
 * Whoever puts an entry into a queue has counted it before, always.  Whoever
 * takes one away counts it off afterwards; but only if it must have been
 * counted: a queue may have come to us with entries in it, from before the
 * server was started, or while it was a standby, or in a copy of a file.  So
 * what is counted is marked: in shared memory, by what tells a queue from all
 * others.  That is a number on the metapage, random, which goes where the file
 * goes; the file; and the database's incarnation.  A queue is marked that has
 * been counted from its beginning on, or by a worker who goes through one that
 * has come to us.  Counters are a file's, for indexes may take turns with it.
 *
 * What goes wrong makes counts too great, which is harmless: an entry may be
 * counted twice, or its table be truncated.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_database.h"
#include "common/hashfn.h"
#include "common/pg_prng.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "queue/filter.h"
#include "tree/buffers.h"

/* a counter that has got so far says nothing any more, and stays there */
#define COUNT_MAX	UINT8_MAX

/* counters in a word */
#define WORD_COUNTERS	(sizeof(uint32) / sizeof(uint8))

/*
 * What tells this database from one of the same OID that has been dropped.
 */
static uint64
incarnation(void)
{
	static TransactionId xmin = InvalidTransactionId;

	if (!TransactionIdIsValid(xmin))
	{
		HeapTuple	tuple = SearchSysCache1(DATABASEOID, ObjectIdGetDatum(MyDatabaseId));

		if (!HeapTupleIsValid(tuple))
			elog(ERROR, "cache lookup failed for database %u", MyDatabaseId);
		xmin = HeapTupleHeaderGetRawXmin(tuple->t_data);
		ReleaseSysCache(tuple);
	}
	return xmin;
}

/*
 * Get at the counters of an index.  No page is locked.
 *
 * They are the file's, and there even if the index has no part of the shared
 * memory to say whether all entries have been counted: another index that has
 * the same file may have one.
 */
void
fpb_filter_open(FpbFilter *filter, Relation index)
{
	filter->shared = fpb_shared_of(RelationGetRelid(index));
	filter->counters = fpb_shared_counters(&filter->mask);
	if (filter->counters == NULL)
		return;
	filter->seed = murmurhash64((uint64) MyDatabaseId << 32 | index->rd_locator.relNumber);
	filter->incarnation = incarnation();
}

/*
 * The word of the counter for a head; *shift: where in the word.
 */
static inline pg_atomic_uint32 *
counter_of(const FpbFilter *filter, uint64 head, int *shift)
{
	uint32		n = (uint32) murmurhash64(head ^ filter->seed) & filter->mask;

	*shift = n % WORD_COUNTERS * 8;
	return &filter->counters[n / WORD_COUNTERS];
}

/*
 * Add to a counter, or take off it.
 */
static void
change_counter(const FpbFilter *filter, uint64 head, int by)
{
	int			shift;
	pg_atomic_uint32 *word = counter_of(filter, head, &shift);
	uint32		old = pg_atomic_read_u32(word);
	uint32		count;

	do
	{
		count = (old >> shift) & COUNT_MAX;
		if (count == COUNT_MAX)
			return;

		/* never from the next counter */
		Assert(by > 0 || count > 0);
		if (by < 0 && count == 0)
			return;
	} while (!pg_atomic_compare_exchange_u32(word, &old, old + ((uint32) by << shift)));
}

/*
 * The number of the queue, or of the last there was.  The metapage is pinned;
 * it need not be locked, as the word is aligned.
 */
static inline uint64
queue_number(Page meta)
{
	return *(volatile uint64 *) &FpbPageGetMeta(meta)->queue_number;
}

/*
 * The mark of a queue of that number, not 0.
 */
static inline uint64
mark_of(const FpbFilter *filter, uint64 number)
{
	return hash_combine64(number, filter->seed + filter->incarnation) | 1;
}

static inline bool
is_counted(const FpbFilter *filter, uint64 number)
{
	return number != 0 &&
		mark_of(filter, number) == pg_atomic_read_u64(&filter->shared->counted_queue);
}

/*
 * A queue that is about to come, empty: returns its number.  All that will be
 * put into it is counted.  The metapage is locked exclusively.
 */
uint64
fpb_filter_begin(const FpbFilter *filter)
{
	uint64		number = pg_prng_uint64(&pg_global_prng_state) | 1;

	if (filter->shared != NULL)
		fpb_filter_set_counted(filter, number);
	return number;
}

/*
 * Have the counter for a head on its way to the processor's cache, to be
 * changed.
 */
void
fpb_filter_prefetch(const FpbFilter *filter, uint64 head)
{
	int			shift;

	if (filter->counters != NULL)
		fpb_fetch_line_for_write(counter_of(filter, head, &shift));
}

/*
 * Count an entry that is about to be put into the queue.
 */
void
fpb_filter_add(const FpbFilter *filter, uint64 head)
{
	if (filter->counters != NULL)
		change_counter(filter, head, 1);
}

/*
 * The number of the queue, as it has just been.
 */
static uint64
read_number(Relation index)
{
	Buffer		metabuf = ReadBuffer(index, FPB_METAPAGE);
	uint64		number = queue_number(BufferGetPage(metabuf));

	ReleaseBuffer(metabuf);
	return number;
}

/*
 * Are entries that leave the queue from now on to be counted off?  It stays so
 * as long as the index is open: the queues of a file that follow one that is
 * counted are.  No page is locked.
 */
bool
fpb_filter_counted(const FpbFilter *filter, Relation index)
{
	return filter->shared != NULL && is_counted(filter, read_number(index));
}

/*
 * Are the entries of the queue, of that *number, still to be counted?  No page
 * is locked.
 */
bool
fpb_filter_uncounted(const FpbFilter *filter, Relation index, uint64 *number)
{
	if (filter->shared == NULL)
		return false;
	*number = read_number(index);
	return *number != 0 && !is_counted(filter, *number);
}

/*
 * All entries have been counted that were in the queue of that number when
 * fpb_filter_uncounted was asked.  Those that have come since, or since the
 * server was started, have been counted anyway.
 */
void
fpb_filter_set_counted(const FpbFilter *filter, uint64 number)
{
	pg_atomic_write_membarrier_u64(&filter->shared->counted_queue, mark_of(filter, number));
}

/*
 * Count an entry off that has been counted, and is not in the queue, or not
 * any more.
 */
void
fpb_filter_remove(const FpbFilter *filter, uint64 head)
{
	if (filter->counters != NULL)
		change_counter(filter, head, -1);
}

/*
 * Has the queue no entry with this head?  The metapage is pinned.  A main leaf
 * is locked, and what is asked for are entries that belong there: none of them
 * leaves the queue meanwhile, and those that come to it need not be seen.
 *
 * Whichever queue it is whose number is read here is the one there is, or
 * comes after one that has been emptied.
 */
bool
fpb_filter_excludes(const FpbFilter *filter, Page meta, uint64 head)
{
	int			shift;
	pg_atomic_uint32 *word;

	if (filter->shared == NULL || !is_counted(filter, queue_number(meta)))
		return false;

	/* who has marked it has counted before */
	pg_read_barrier();
	word = counter_of(filter, head, &shift);
	return ((pg_atomic_read_u32(word) >> shift) & COUNT_MAX) == 0;
}
