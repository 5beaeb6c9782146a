/*-------------------------------------------------------------------------
 *
 * queue/filter.c
 *	  Which keys are not in a tier of an operation queue.
 *
 * A lookup has to search the queue, too, mostly in vain.  So shared memory has
 * a fingerprint of each entry of the queue, a byte of the hash of its key's
 * head, as in a cuckoo filter, of which nothing is ever moved.  A word holds
 * seven fingerprints.  The hash's other bits choose a word, and that and the
 * fingerprint choose another.  The entry's fingerprint goes to the one of the
 * two that has more room.  If both are full, the second one, which is at the
 * higher address, counts it.  If neither word has a fingerprint, and the
 * second one counts nothing, then no entry of the tier has such a head.  All
 * indexes of the server share the words of a tier.
 *
 *     bits   0      8      16     24     32     40     48     56     64
 *            | print | print | print | print | print | print | print | count |
 *
 * Entries with the same two words and the same fingerprint are not told apart.
 * There are as many as the two words have of it, or fewer, but for those that
 * are counted.  To take one away, a fingerprint of the first word is erased;
 * or of the second, if the first has none; or the count goes down, if the
 * second has none.  That keeps it so.
 *
 * A lookup reads the first word before the second, while others change both.
 * If it finds nothing in the first one, consider the last moment, before it
 * reads the second, at which the first has nothing.  At that moment the second
 * has fingerprints, or counts, for all entries that there are.  Whoever takes
 * one of these away later has found nothing in the first word at that moment
 * or before it, to take away an entry that was noted by then.  So the second
 * still has one for an entry that stays, when the lookup reads it.
 *
 * An entry is always noted before it is put into a tier, and erased after it
 * has been taken out; but it may be erased only if it has been noted.  A queue
 * may have got entries before the server was started, or while it was a
 * standby, or in a file that has been copied.  So a tier whose entries have
 * all been noted is marked in shared memory: those made by this server, and
 * those that a worker has gone through.
 *
 * The mark tells the tier from all others.  It is made of a random number on
 * the metapage, which goes where the file goes, of the file, and of the
 * database's incarnation.  The words are chosen by the file and not by the
 * index, because several indexes may use a file in turn.
 *
 * If something goes wrong, for example because an entry is noted twice, or its
 * table is truncated, words have fingerprints of no entry.  Answers are right
 * all the same, but more lookups look into tiers in vain.  So if words have
 * too many, a worker clears them, which begins a new generation of them, and
 * workers note all tiers again.  The generation is a number that is odd while
 * words are being cleared.  It is part of a mark, so all marks are void from
 * then on, and none is made until the words have been cleared.
 *
 * - A lookup reads the generation before the mark, and again after the words.
 *   If it is the same, none of the words had been cleared.
 * - An entry is noted with the leaf locked where it is put, and the leaf stays
 *   locked in between.  So if its note is cleared, the entry is in the leaf, or
 *   comes to be there before the lock is released; and a worker, which begins
 *   to note the tier only after that, will find it.
 * - Before entries are taken out, the backend asks whether their tier is
 *   marked.  If it is, all of them have been noted in this generation.  Their
 *   notes are erased with the words locked, if it is still this generation.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_database.h"
#include "common/hashfn.h"
#include "common/pg_prng.h"
#include "miscadmin.h"
#include "port/pg_bitutils.h"
#include "storage/bufmgr.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "base/compat.h"
#include "queue/filter.h"
#include "tree/buffers.h"

/* the fingerprints of a word, a byte each */
#define PRINT_BITS		8
#define EACH_PRINT		UINT64CONST(0x0001010101010101)

/* the count above them; once it has got to its end, it stays there */
#define COUNT_SHIFT		56
#define COUNT_ONE		(UINT64CONST(1) << COUNT_SHIFT)
#define COUNT_MAX		UINT8_MAX

/* where an entry is noted */
typedef struct FilterPlace
{
	pg_atomic_uint64 *words[2]; /* may be the same */
	uint64		print;			/* not 0 */
} FilterPlace;

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
 * Set up *filter for a tier of an index.  adding: entries may be put into the
 * tier, so that it needs words if it can have them.  No page is locked.
 *
 * There are words even if the index has no place in shared memory for its
 * mark: another index that has the same file may have one.
 */
void
fpb_filter_open(FpbFilter *filter, Relation index, int tier, bool adding)
{
	filter->tier = tier;
	filter->shared = fpb_shared_of(RelationGetRelid(index));
	if (!fpb_shared_words(tier, adding, &filter->words))
		return;
	filter->generation = pg_atomic_read_u64(filter->words.generation);
	filter->seed = murmurhash64((uint64) MyDatabaseId << 32 | index->rd_locator.relNumber);
	filter->incarnation = incarnation();
}

/*
 * Where entries with a head are noted.  The second word follows from the first
 * one that the hash names, and the fingerprint, and the first one likewise
 * from the second: so the entries that are not told apart have the same two.
 */
static inline void
find_place(const FpbFilter *filter, uint64 head, FilterPlace *place)
{
	uint64		hash = murmurhash64(head ^ filter->seed);
	uint64		one = ((hash >> 32) * filter->words.n) >> 32;
	uint64		sum;
	uint64		other;

	place->print = Max(hash & ((1 << PRINT_BITS) - 1), 1);
	sum = ((murmurhash64(place->print) >> 32) * filter->words.n) >> 32;
	other = sum >= one ? sum - one : sum + filter->words.n - one;
	place->words[0] = &filter->words.at[Min(one, other)];
	place->words[1] = &filter->words.at[Max(one, other)];
}

/*
 * The fingerprints of a word that have that value (0: that are free): of each,
 * the upper bit is set.
 */
static inline uint64
equal_prints(uint64 word, uint64 print)
{
	uint64		differ = word ^ (EACH_PRINT * print);
	uint64		low = EACH_PRINT * 0x7F;

	/* a byte of low bits carries into the upper bit unless all are 0 */
	return ~(((differ & low) + low) | differ) & (EACH_PRINT << (PRINT_BITS - 1));
}

/*
 * The place, in bits, of the first of such fingerprints.
 */
static inline int
first_print(uint64 equal)
{
	return pg_rightmost_one_pos64(equal) / PRINT_BITS * PRINT_BITS;
}

/*
 * Note an entry that is about to be put into the tier, or is there.  The leaf
 * is locked, and stays so until the entry is in it.
 */
void
fpb_filter_add(const FpbFilter *filter, uint64 head)
{
	FilterPlace place;
	bool		done = false;

	if (filter->words.at == NULL)
		return;
	find_place(filter, head, &place);
	while (!done)
	{
		uint64		old[2] = {pg_atomic_read_u64(place.words[0]), pg_atomic_read_u64(place.words[1])};
		uint64		free[2] = {equal_prints(old[0], 0), equal_prints(old[1], 0)};
		int			to = pg_popcount64(free[0]) > pg_popcount64(free[1]) ? 0 : 1;
		uint64		new;

		if (free[to] != 0)
			new = old[to] | place.print << first_print(free[to]);
		else if (old[to] >> COUNT_SHIFT < COUNT_MAX)
			new = old[to] + COUNT_ONE;
		else
			return;
		done = pg_atomic_compare_exchange_u64(place.words[to], &old[to], new);
	}
}

/*
 * Notes of entries that are not in the tier (any more) are about to be erased,
 * which have been made since the filter was opened, or before fpb_filter_noted
 * said so.  False if they have been cleared since.  If true, no lock is
 * acquired until fpb_filter_end_erasing.
 */
bool
fpb_filter_begin_erasing(const FpbFilter *filter)
{
	return filter->words.at != NULL && fpb_shared_lock_words(&filter->words, filter->generation);
}

/*
 * All of them have been erased.
 */
void
fpb_filter_end_erasing(void)
{
	fpb_shared_unlock_words();
}

/*
 * Erase the note of such an entry.
 */
void
fpb_filter_erase(const FpbFilter *filter, uint64 head)
{
	FilterPlace place;
	bool		done = false;

	find_place(filter, head, &place);
	while (!done)
	{
		uint64		old[2] = {pg_atomic_read_u64(place.words[0]), pg_atomic_read_u64(place.words[1])};
		int			from = equal_prints(old[0], place.print) != 0 ? 0 : 1;
		uint64		equal = equal_prints(old[from], place.print);
		uint64		count = old[from] >> COUNT_SHIFT;
		uint64		new;

		if (equal != 0)
			new = old[from] & ~(place.print << first_print(equal));
		else if (count == COUNT_MAX)
			return;
		else if (count > 0)
			new = old[from] - COUNT_ONE;
		else
		{
			bool		changed = pg_atomic_read_u64(place.words[0]) != old[0] ||
				pg_atomic_read_u64(place.words[1]) != old[1];

			/* it has been noted, so others must have changed the words */
			Assert(changed);
			if (!changed)
				return;
			continue;
		}
		done = pg_atomic_compare_exchange_u64(place.words[from], &old[from], new);
	}
}

/*
 * Prefetch the words for a head into the processor's cache, to change them.
 */
void
fpb_filter_prefetch(const FpbFilter *filter, uint64 head)
{
	FilterPlace place;

	if (filter->words.at == NULL)
		return;
	find_place(filter, head, &place);
	fpb_fetch_line_for_write(place.words[0]);
	fpb_fetch_line_for_write(place.words[1]);
}

/*
 * The number of the tier, or of the last one if there is none.  The metapage
 * is pinned; it need not be locked, because the word is aligned.
 */
static inline uint64
tier_number(const FpbFilter *filter, Page meta)
{
	return *(volatile uint64 *) &fpb_meta_tier(meta, filter->tier)->number;
}

/*
 * Where the mark of the tier is.
 */
static inline pg_atomic_uint64 *
mark_at(const FpbFilter *filter)
{
	return &filter->shared->noted[filter->tier - 1];
}

/*
 * The mark of the tier of that number whose entries have been noted in that
 * generation; never 0.
 */
static inline uint64
mark_of(const FpbFilter *filter, uint64 number, uint64 generation)
{
	return hash_combine64(number, filter->seed + filter->incarnation +
						  murmurhash64(generation)) | 1;
}

static inline bool
has_marks(const FpbFilter *filter)
{
	return filter->shared != NULL && filter->words.at != NULL;
}

static inline bool
is_noted(const FpbFilter *filter, uint64 number, uint64 generation)
{
	return number != 0 &&
		mark_of(filter, number, generation) == pg_atomic_read_u64(mark_at(filter));
}

/*
 * The generation of the words.  What is read afterwards is at least as new.
 */
static inline uint64
read_generation(const FpbFilter *filter)
{
	uint64		generation = pg_atomic_read_u64(filter->words.generation);

	pg_read_barrier();
	return generation;
}

/*
 * An empty tier is about to be made.  Returns its number, and marks it, since
 * all entries that will be put into it are noted; unless words are just being
 * cleared.  The metapage is locked exclusively.
 */
uint64
fpb_filter_begin(const FpbFilter *filter)
{
	uint64		number = pg_prng_uint64(&pg_global_prng_state) | 1;

	if (has_marks(filter) && !fpb_is_clearing(filter->generation))
		fpb_filter_set_noted(filter, number);
	return number;
}

/*
 * The number of the tier, as read from the metapage.
 */
static uint64
read_number(const FpbFilter *filter, Relation index)
{
	Buffer		metabuf = ReadBuffer(index, FPB_METAPAGE);
	uint64		number = tier_number(filter, BufferGetPage(metabuf));

	ReleaseBuffer(metabuf);
	return number;
}

/*
 * Do the notes of entries that leave the tier from now on have to be erased?
 * If so, that holds as long as the index is open and the words are not
 * cleared: if a tier has been noted, the next ones of the file are, too.  No
 * page is locked.
 */
bool
fpb_filter_noted(FpbFilter *filter, Relation index)
{
	if (!has_marks(filter))
		return false;
	filter->generation = read_generation(filter);
	return is_noted(filter, read_number(filter, index), filter->generation);
}

/*
 * Do the entries of the tier still have to be noted, and can they be?  Then
 * *number becomes the tier's.  No page is locked.
 */
bool
fpb_filter_unnoted(FpbFilter *filter, Relation index, uint64 *number)
{
	if (!has_marks(filter))
		return false;
	filter->generation = read_generation(filter);
	*number = read_number(filter, index);
	return *number != 0 && !fpb_is_clearing(filter->generation) &&
		!is_noted(filter, *number, filter->generation);
}

/*
 * Mark the tier of that number: all entries have been noted that it had when
 * fpb_filter_unnoted was called.  Those that have come since have been noted
 * anyway.  (If words have been cleared since, the mark is void.)
 */
void
fpb_filter_set_noted(const FpbFilter *filter, uint64 number)
{
	pg_atomic_write_membarrier_u64(mark_at(filter), mark_of(filter, number, filter->generation));
}

/*
 * Has the tier certainly no entry with this head?  The metapage is pinned.
 * The main leaf to which such entries belong is locked.  So those of them that
 * leave the tier meanwhile are found in the next one, and those that come to
 * it from outside the index need not be seen.
 *
 * The number that is read here is that of the tier as it is now.  If the
 * caller has seen another one before, that has been drained since.
 */
bool
fpb_filter_excludes(const FpbFilter *filter, Page meta, uint64 head)
{
	FilterPlace place;
	uint64		generation;
	uint64		first;
	uint64		second;

	if (!has_marks(filter))
		return false;
	generation = read_generation(filter);
	if (!is_noted(filter, tier_number(filter, meta), generation))
		return false;

	FPB_INJECTION_POINT("fpbtree-mark-seen");

	/* the mark was written after the notes */
	pg_read_barrier();
	find_place(filter, head, &place);
	first = pg_atomic_read_u64(place.words[0]);
	pg_read_barrier();
	second = pg_atomic_read_u64(place.words[1]);
	if (equal_prints(first, place.print) != 0 || equal_prints(second, place.print) != 0 ||
		second >> COUNT_SHIFT != 0)
		return false;
	pg_read_barrier();
	return pg_atomic_read_u64(filter->words.generation) == generation;
}

/* --- words with too many notes --- */

/* so many words are looked at to see how many notes there are */
#define SAMPLE			1024

/* words with fewer notes on the average tell most lookups what they can */
#define FEW_NOTES		1.75

/*
 * How many notes have the words, more or less?
 */
static double
count_notes(const FpbWords *words)
{
	uint64		step = Max(words->n / SAMPLE, 1);
	uint64		looked_at = 0;
	uint64		notes = 0;

	for (uint64 i = 0; i < words->n; i += step, looked_at++)
	{
		uint64		word = pg_atomic_read_u64(&words->at[i]);

		notes += COUNT_SHIFT / PRINT_BITS - pg_popcount64(equal_prints(word, 0)) +
			(word >> COUNT_SHIFT);
	}
	return (double) notes / looked_at * words->n;
}

/*
 * Clear the words of tiers if they have many notes, and most of these are of
 * no entry.  The caller is in a transaction, and has no page locked.
 */
void
fpb_filter_clean(void)
{
	for (int tier = 1; tier < FPB_TREES; tier++)
	{
		FpbWords	words;
		double		notes;
		uint64		entries;
		bool		useless;

		if (!fpb_shared_words(tier, false, &words))
			continue;
		notes = count_notes(&words);
		if (notes < FEW_NOTES * words.n)
			continue;
		entries = fpb_shared_noted_entries(tier);
		useless = 2.0 * entries < notes;
		if (useless)
			fpb_shared_clear_words(&words);
		ereport(DEBUG1,
				(errmsg_internal("fpbtree: %s some %.0f notes of tier %d of operation queues, of " UINT64_FORMAT " entries",
								 useless ? "cleared" : "kept", notes, tier, entries)));
	}
}
