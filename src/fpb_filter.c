/*-------------------------------------------------------------------------
 *
 * fpb_filter.c
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
 * server was started, or while it was a standby.  Each queue has a number, on
 * the metapage, and shared memory has the number of an index's queue in which
 * all have been counted: from its beginning on, or by a worker who goes
 * through one that has come to us.  The number goes where the file goes, and
 * no other queue has it.
 *
 * What goes wrong makes counts too great, which is harmless: an entry may be
 * counted twice, or its table be truncated.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "common/pg_prng.h"
#include "storage/bufmgr.h"

#include "fpb_access.h"
#include "fpb_filter.h"

/* a counter that has got so far says nothing any more, and stays there */
#define COUNT_MAX	UINT8_MAX

/* counters in a word */
#define WORD_COUNTERS	(sizeof(uint32) / sizeof(uint8))

/*
 * The word of the counter for a head, of an index; *shift: where in the word.
 */
static inline pg_atomic_uint32 *
counter_of(FpbShared *shared, uint64 head, int *shift)
{
	uint32		mask;
	pg_atomic_uint32 *words = fpb_shared_counters(&mask);
	uint32		n = (uint32) murmurhash64(head ^ shared->seed) & mask;

	*shift = n % WORD_COUNTERS * 8;
	return &words[n / WORD_COUNTERS];
}

/*
 * Add to a counter, or take off it.
 */
static void
change_counter(FpbShared *shared, uint64 head, int by)
{
	int			shift;
	pg_atomic_uint32 *word = counter_of(shared, head, &shift);
	uint32		old = pg_atomic_read_u32(word);
	uint32		count;

	do
	{
		count = (old >> shift) & COUNT_MAX;
		if (count == COUNT_MAX)
			return;
		Assert(by > 0 || count > 0);
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

static inline bool
is_counted(FpbShared *shared, uint64 number)
{
	return number != 0 && number == pg_atomic_read_u64(&shared->counted_queue);
}

/*
 * A queue that is about to come, empty: returns its number.  All that will be
 * put into it is counted.  The metapage is locked exclusively.
 */
uint64
fpb_filter_begin(FpbShared *shared)
{
	uint64		number = pg_prng_uint64(&pg_global_prng_state) | 1;

	if (shared != NULL)
		pg_atomic_write_u64(&shared->counted_queue, number);
	return number;
}

/*
 * Count an entry that is about to be put into the queue.
 */
void
fpb_filter_add(FpbShared *shared, uint64 head)
{
	change_counter(shared, head, 1);
}

/*
 * What is shared of an index, or NULL if nothing is; *number becomes that of
 * its queue, *counted whether all entries there have been counted.  No page is
 * locked.
 */
static FpbShared *
look_at_queue(Relation index, uint64 *number, bool *counted)
{
	FpbShared  *shared = fpb_shared_of(RelationGetRelid(index));
	Buffer		metabuf;

	if (shared == NULL)
		return NULL;
	metabuf = ReadBuffer(index, FPB_METAPAGE);
	*number = queue_number(BufferGetPage(metabuf));
	ReleaseBuffer(metabuf);
	*counted = is_counted(shared, *number);
	return shared;
}

/*
 * What is shared of an index, if entries that leave its queue from now on are
 * to be counted off; else NULL.  That stays so: the queues that follow one
 * that is counted are.  No page is locked.
 */
FpbShared *
fpb_filter_counted(Relation index)
{
	uint64		number;
	bool		counted;
	FpbShared  *shared = look_at_queue(index, &number, &counted);

	return shared != NULL && counted ? shared : NULL;
}

/*
 * What is shared of an index, if the entries of its queue, of that *number,
 * are still to be counted; else NULL.  No page is locked.
 */
FpbShared *
fpb_filter_uncounted(Relation index, uint64 *number)
{
	bool		counted;
	FpbShared  *shared = look_at_queue(index, number, &counted);

	return shared != NULL && *number != 0 && !counted ? shared : NULL;
}

/*
 * All entries have been counted that were in the queue of that number, since
 * fpb_filter_uncounted said that they had not been.  Those that have come
 * since, or since the server was started, have been counted anyway.
 */
void
fpb_filter_set_counted(FpbShared *shared, uint64 number)
{
	pg_atomic_write_membarrier_u64(&shared->counted_queue, number);
}

/*
 * Count an entry off that has been taken from the queue.
 */
void
fpb_filter_remove(FpbShared *shared, uint64 head)
{
	change_counter(shared, head, -1);
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
fpb_filter_excludes(FpbShared *shared, Page meta, uint64 head)
{
	int			shift;

	if (!is_counted(shared, queue_number(meta)))
		return false;
	return ((pg_atomic_read_u32(counter_of(shared, head, &shift)) >> shift) & COUNT_MAX) == 0;
}
