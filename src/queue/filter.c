/*-------------------------------------------------------------------------
 *
 * queue/filter.c
 *	  Which keys are not in an operation queue.
 *
 * A lookup has to search the queue, too, mostly in vain.  So the heads of keys
 * are counted in shared memory, by their hashes, as in a counting Bloom filter
 * with one hash function.  If a count is zero, no entry of the queue has such
 * a head.  All indexes of the server share the counters.
 *
 * An entry is always counted before it is put into a queue, and counted off
 * after it has been taken out; but it may be counted off only if it has been
 * counted.  A queue may have got entries before the server was started, or
 * while it was a standby, or in a file that has been copied.  So a queue whose
 * entries have all been counted is marked in shared memory: those made by this
 * server, and those that a worker has gone through.
 *
 * The mark tells the queue from all others.  It is made of a random number on
 * the metapage, which goes where the file goes, of the file, and of the
 * database's incarnation.  The counters are chosen by the file and not by the
 * index, because several indexes may use a file in turn.
 *
 * If something goes wrong, for example because an entry is counted twice, or
 * its table is truncated, counts become too great, which is harmless.
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

/* a counter that has got so far stays there, and tells nothing any more */
#define COUNT_MAX	UINT8_MAX

/* counters in a word */
#define WORD_COUNTERS	(sizeof(uint32) / sizeof(uint8))

/*
 * A number that tells this database from a dropped one of the same OID.
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
 * Set up *filter for an index.  No page is locked.
 *
 * There are counters even if the index has no place in shared memory for its
 * mark: another index that has the same file may have one.
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
 * The word of the counter for a head; *shift becomes its place in the word.
 */
static inline pg_atomic_uint32 *
counter_of(const FpbFilter *filter, uint64 head, int *shift)
{
	uint32		n = (uint32) murmurhash64(head ^ filter->seed) & filter->mask;

	*shift = n % WORD_COUNTERS * 8;
	return &filter->counters[n / WORD_COUNTERS];
}

/*
 * Add 1 or -1 to a counter.
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

		/* nothing is borrowed from the next counter */
		Assert(by > 0 || count > 0);
		if (by < 0 && count == 0)
			return;
	} while (!pg_atomic_compare_exchange_u32(word, &old, old + ((uint32) by << shift)));
}

/*
 * The number of the queue, or of the last one if there is none.  The metapage
 * is pinned; it need not be locked, because the word is aligned.
 */
static inline uint64
queue_number(Page meta)
{
	return *(volatile uint64 *) &FpbPageGetMeta(meta)->queue_number;
}

/*
 * The mark of the queue of that number; never 0.
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
 * An empty queue is about to be made.  Returns its number, and marks it, since
 * all entries that will be put into it are counted.  The metapage is locked
 * exclusively.
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
 * Prefetch the counter for a head into the processor's cache, to change it.
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
 * The number of the queue, as read from the metapage.
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
 * Do entries that leave the queue from now on have to be counted off?  If so,
 * that holds as long as the index is open: if a queue has been counted, the
 * next queues of the file are, too.  No page is locked.
 */
bool
fpb_filter_counted(const FpbFilter *filter, Relation index)
{
	return filter->shared != NULL && is_counted(filter, read_number(index));
}

/*
 * Do the entries of the queue still have to be counted?  Then *number becomes
 * the queue's.  No page is locked.
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
 * Mark the queue of that number: all entries have been counted that it had
 * when fpb_filter_uncounted was called.  Those that have come since have been
 * counted anyway.
 */
void
fpb_filter_set_counted(const FpbFilter *filter, uint64 number)
{
	pg_atomic_write_membarrier_u64(&filter->shared->counted_queue, mark_of(filter, number));
}

/*
 * Count an entry off that has been counted and is not in the queue (any more).
 */
void
fpb_filter_remove(const FpbFilter *filter, uint64 head)
{
	if (filter->counters != NULL)
		change_counter(filter, head, -1);
}

/*
 * Has the queue certainly no entry with this head?  The metapage is pinned.
 * The main leaf to which such entries belong is locked.  So none of them
 * leaves the queue meanwhile, and those that come to it need not be seen.
 *
 * The number that is read here is that of the queue as it is now.  If the
 * caller has seen another queue before, that has been drained since.
 */
bool
fpb_filter_excludes(const FpbFilter *filter, Page meta, uint64 head)
{
	int			shift;
	pg_atomic_uint32 *word;

	if (filter->shared == NULL || !is_counted(filter, queue_number(meta)))
		return false;

	/* the mark was written after the counts */
	pg_read_barrier();
	word = counter_of(filter, head, &shift);
	return ((pg_atomic_read_u32(word) >> shift) & COUNT_MAX) == 0;
}
