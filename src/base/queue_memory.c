/*-------------------------------------------------------------------------
 *
 * base/queue_memory.c
 *	  How many pages the tiers of an operation queue may have.
 *
 * The queues of all indexes share one amount of memory.  If an index of n
 * pages has q pages of queue, and gets r entries in some time, then its leaves
 * are visited some r n / q times.  All visits together are fewest if each q is
 * in proportion to sqrt(r n), which is the index's *weight*.
 *
 * Of r, only what has come lately counts.  Time is cut into *windows*, in each
 * of which all queues together get as many entries as a quarter of the memory
 * has room for.  Of each index shared memory has how many have come in this
 * window, and in the one before.  Whoever counts the last entry of a window
 * adds up all weights.  In between, an index knows its own weight, and what
 * those of the others were at that time.  One in SAMPLE entries is counted,
 * chosen at random, so that insertions do not all write the same cache line.
 *
 * All of this is only an estimate, so nothing is locked for it.  An index of
 * which nobody has counted anything has the least weight; and all memory, if
 * no other index has any weight.  An index with the option opq_size has that
 * much for itself, and takes nothing from others.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "common/pg_prng.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "utils/guc.h"

#include "base/options.h"
#include "base/queue_memory.h"
#include "base/shared_table.h"

/* fpbtree.queue_memory, in kB; 0: an eighth of shared_buffers */
static int	queue_memory = 0;

/* entries of a page of a queue, more or less */
#define PAGE_ENTRIES	(BLCKSZ / 20)

/* one entry of so many is counted, for all of them */
#define SAMPLE			64

/* entries of a window are a quarter of what the memory has room for, */
#define WINDOWS_A_FILL	4

/* but so many at least, because few samples say little */
#define MIN_WINDOW		(256 * SAMPLE)

/*
 * An index that is larger than shared_buffers, and so many times as large as
 * tier 1 of its queue, gets a tier 2.  A page of tier 1 has some 400 entries,
 * so two and a half or fewer would wait for a leaf.  The index keeps tier 2
 * until it is half as many times as large, because an index's part of the
 * memory comes and goes.
 */
#define SECOND_TIER_FROM	160
#define SECOND_TIER_UNTIL	(SECOND_TIER_FROM / 2)

/*
 * With a queue of one page for so many of the index, a visit moves some 25
 * entries.  A larger queue would save little more, and would take memory from
 * other pages.
 */
#define LEAST_RATIO		25

/*
 * Define the setting.
 */
void
fpb_queue_memory_init(void)
{
	DefineCustomIntVariable("fpbtree.queue_memory",
							"Memory that the first tiers of all operation queues share.",
							"0 stands for an eighth of shared_buffers. Queues with the option \"opq_size\" don't count.",
							&queue_memory,
							0, 0, MAX_KILOBYTES, PGC_SIGHUP, GUC_UNIT_KB, NULL, NULL, NULL);
}

/*
 * The pages that first tiers share.
 */
static double
shared_pages(void)
{
	return queue_memory > 0 ? queue_memory * (1024.0 / BLCKSZ) : NBuffers / 8.0;
}

static uint64
window_entries(void)
{
	return Max((uint64) (shared_pages() * PAGE_ENTRIES / WINDOWS_A_FILL), MIN_WINDOW);
}

/*
 * The weight of an index of nblocks to which so many entries have come lately.
 */
static inline uint64
weight_of(uint64 entries, BlockNumber nblocks)
{
	return (uint64) sqrt((double) entries * Max(nblocks, 1));
}

/*
 * How many entries have come lately, if this is the window at hand.
 */
static uint64
recent_entries(FpbShared *shared, uint32 window)
{
	uint32		age = window - pg_atomic_read_u32(&shared->window);
	uint64		queued = pg_atomic_read_u64(&shared->queued);

	if (age == 0)
		queued += pg_atomic_read_u64(&shared->queued_before);
	return age <= 1 ? queued : 0;
}

/*
 * A window has ended: begin the next one, and add up the weights, unless
 * somebody else does that.
 */
static void
begin_window(uint32 window)
{
	uint64		weights = 0;
	uint64		recent = 0;

	if (!pg_atomic_compare_exchange_u32(&fpb_shared_table->window, &window, window + 1))
		return;
	pg_atomic_write_u64(&fpb_shared_table->queued, 0);
	for (uint32 i = 0; i < fpb_shared_table->nslots; i++)
	{
		FpbShared  *shared = fpb_shared_slot(i);
		uint64		entries;
		uint64		weight;

		if (shared == NULL)
			continue;
		entries = recent_entries(shared, window + 1);
		weight = weight_of(entries, pg_atomic_read_u32(&shared->nblocks));
		pg_atomic_write_u64(&shared->weight, weight);
		weights += weight;
		recent += entries;
	}
	pg_atomic_write_u64(&fpb_shared_table->weights, weights);
	pg_atomic_write_u64(&fpb_shared_table->recent, recent);
}

/*
 * The pages that the option opq_size names; 0 if it does not.
 */
static BlockNumber
named_pages(Relation rel)
{
	FpbOptions *options = (FpbOptions *) rel->rd_options;

	if (options == NULL || options->opq_size == 0)
		return 0;
	return Max((BlockNumber) ((int64) options->opq_size * 1024 / BLCKSZ), 1);
}

/*
 * See base/queue_memory.h.
 */
void
fpb_count_queued(Relation rel, FpbShared *shared)
{
	uint32		window;
	uint32		seen;

	if (shared == NULL || pg_prng_uint32(&pg_global_prng_state) % SAMPLE != 0 ||
		named_pages(rel) > 0)
		return;

	window = pg_atomic_read_u32(&fpb_shared_table->window);
	seen = pg_atomic_read_u32(&shared->window);
	if (seen != window && pg_atomic_compare_exchange_u32(&shared->window, &seen, window))
	{
		uint64		queued = pg_atomic_exchange_u64(&shared->queued, 0);

		pg_atomic_write_u64(&shared->queued_before, window - seen == 1 ? queued : 0);
	}
	pg_atomic_fetch_add_u64(&shared->queued, SAMPLE);
	pg_atomic_write_u32(&shared->nblocks, RelationGetNumberOfBlocks(rel));
	if (pg_atomic_add_fetch_u64(&fpb_shared_table->queued, SAMPLE) >= window_entries())
		begin_window(window);
}

/*
 * The index's part of the memory that queues share.  One that names a size has
 * all that this needs.
 */
static double
part_of_memory(Relation rel, FpbShared *shared, BlockNumber nblocks)
{
	uint64		all;
	uint64		before;
	uint64		recent;
	double		others;
	uint64		weight;

	if (shared == NULL || named_pages(rel) > 0)
		return 1;
	all = pg_atomic_read_u64(&fpb_shared_table->weights);
	before = pg_atomic_read_u64(&shared->weight);
	recent = pg_atomic_read_u64(&fpb_shared_table->recent);
	if (all <= before || recent == 0)
		return 1;

	/* more entries have come since, to the others as well */
	others = (all - before) *
		sqrt(1 + (double) pg_atomic_read_u64(&fpb_shared_table->queued) / recent);
	weight = weight_of(Max(recent_entries(shared, pg_atomic_read_u32(&fpb_shared_table->window)),
						   SAMPLE), nblocks);
	return weight / (others + weight);
}

/*
 * How many pages tier 1 may have.
 */
static BlockNumber
first_tier_limit(Relation rel, FpbShared *shared, BlockNumber nblocks)
{
	BlockNumber named = named_pages(rel);

	if (named > 0)
		return named;
	return (BlockNumber) Max(Min(shared_pages() * part_of_memory(rel, shared, nblocks),
								 nblocks / LEAST_RATIO), FPB_MIN_QUEUE_PAGES);
}

/*
 * See base/queue_memory.h.
 */
int
fpb_queue_tiers(Relation rel, FpbShared *shared, BlockNumber nblocks, bool has_second)
{
	int			named = fpb_named_tiers(rel);

	if (named > 0)
		return named;
	return nblocks >= (BlockNumber) NBuffers &&
		nblocks / first_tier_limit(rel, shared, nblocks) >=
		(has_second ? SECOND_TIER_UNTIL : SECOND_TIER_FROM) ? 2 : 1;
}

/*
 * See base/queue_memory.h.
 *
 * Tier 2's size is the geometric mean of tier 1's and the index's, so that a
 * move to tier 2 and one to the main tree bring as many entries to a leaf.
 * But it is no larger than shared_buffers, which those of indexes that name no
 * size share: else lookups could not be told which keys they lack
 * (base/filter_words.c).
 */
BlockNumber
fpb_tier_limit(Relation rel, FpbShared *shared, BlockNumber nblocks, int tier)
{
	BlockNumber first = first_tier_limit(rel, shared, nblocks);

	if (tier == 1)
		return first;
	return (BlockNumber) Max(Min(sqrt((double) first * nblocks),
								 NBuffers * part_of_memory(rel, shared, nblocks)),
							 FPB_MIN_QUEUE_PAGES);
}
