/*-------------------------------------------------------------------------
 *
 * base/filter_words.c
 *	  The words in shared memory where entries of operation queues are noted
 *	  (queue/filter.c).
 *
 * Tier 1 of a queue is small, and its words are part of the shared table.  The
 * words of the tiers below take a tenth of shared_buffers.  So they are made
 * when the first such tier is.  Whether that can be done is settled once,
 * until the server is started again: each backend has to note what it puts
 * into a tier, or nobody may rely on the notes.
 *
 * Words are cleared when most of what they have is of no use any more.  Then a
 * new generation of them begins, and all tiers are noted again.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "storage/dsm.h"
#include "utils/wait_event.h"

#include "base/attempt.h"
#include "base/compat.h"
#include "base/shared_table.h"

/*
 * Bytes of words for each page of shared_buffers.  A lower tier has as many
 * pages, and some 400 entries a page.  So a word, which has room for seven,
 * has four.
 */
#define LOWER_BYTES		(BLCKSZ / 10)

/* the words of lower tiers, once this process has attached to them */
static pg_atomic_uint64 *lower_words = NULL;

/*
 * Make a segment for the words of lower tiers; *arg becomes it.
 */
static void
make_lower(void *arg)
{
	dsm_segment *segment;

	FPB_INJECTION_POINT("fpbtree-make-words");
	segment = dsm_create(fpb_shared_nwords(LOWER_BYTES) * sizeof(pg_atomic_uint64), 0);

	fpb_shared_init_words(dsm_segment_address(segment), fpb_shared_nwords(LOWER_BYTES));
	dsm_pin_segment(segment);
	dsm_pin_mapping(segment);
	*(dsm_segment **) arg = segment;
}

/*
 * Settle whether there are words of lower tiers.  No lock is held on entry or
 * exit.
 */
static void
settle_lower(void)
{
	FpbFilterWords *lower = &fpb_shared_table->lower_words;
	dsm_segment *segment = NULL;
	ErrorData  *error = fpb_try(make_lower, &segment);
	bool		settled;

	if (error != NULL && fpb_is_own_error(error->sqlerrcode))
		ReThrowError(error);
	LWLockAcquire(&fpb_shared_table->lock, LW_EXCLUSIVE);
	settled = pg_atomic_read_u32(&lower->state) != FPB_WORDS_NONE;
	if (!settled && error == NULL)
	{
		lower->segment = dsm_segment_handle(segment);
		lower->nwords = fpb_shared_nwords(LOWER_BYTES);
		lower_words = dsm_segment_address(segment);
	}
	pg_write_barrier();
	if (!settled)
		pg_atomic_write_u32(&lower->state, error == NULL ? FPB_WORDS_READY : FPB_WORDS_REFUSED);
	LWLockRelease(&fpb_shared_table->lock);

	/* somebody else has been faster */
	if (settled && error == NULL)
	{
		dsm_unpin_segment(dsm_segment_handle(segment));
		dsm_detach(segment);
	}
	if (!settled && error != NULL)
		fpb_warn_of(error, WARNING, "make room in shared memory for what tells lookups which keys a tier of an operation queue lacks",
					"Until the server is started again, indexes get no second tier.");
}

/*
 * The words of a tier; false if there are none.  make: there are to be some,
 * if they can be made.  No lock is held on entry or exit.
 */
bool
fpb_shared_words(int tier, bool make, FpbWords *words)
{
	FpbFilterWords *of_tier;

	words->at = NULL;
	if (!fpb_shared_attach())
		return false;
	of_tier = tier == 1 ? &fpb_shared_table->first_words : &fpb_shared_table->lower_words;
	if (make && pg_atomic_read_u32(&of_tier->state) == FPB_WORDS_NONE)
		settle_lower();
	if (pg_atomic_read_u32(&of_tier->state) != FPB_WORDS_READY)
		return false;
	pg_read_barrier();
	if (tier != 1 && lower_words == NULL)
	{
		dsm_segment *segment = dsm_attach(of_tier->segment);

		if (segment == NULL)
			elog(ERROR, "could not attach to what lower tiers of operation queues have");
		dsm_pin_mapping(segment);
		lower_words = dsm_segment_address(segment);
	}
	words->at = tier == 1 ? fpb_shared_table->words : lower_words;
	words->n = of_tier->nwords;
	words->generation = &of_tier->generation;
	return true;
}

/*
 * Lock the words, to erase notes that were made in a generation.  False, and
 * they are not locked, if that has passed, or words are being cleared in it.
 * Pages may be locked; no lock is acquired until fpb_shared_unlock_words.
 */
bool
fpb_shared_lock_words(const FpbWords *words, uint64 generation)
{
	if (fpb_is_clearing(generation))
		return false;
	LWLockAcquire(&fpb_shared_table->words_lock, LW_SHARED);
	if (pg_atomic_read_u64(words->generation) == generation)
		return true;
	LWLockRelease(&fpb_shared_table->words_lock);
	return false;
}

/*
 * The notes have been erased.
 */
void
fpb_shared_unlock_words(void)
{
	LWLockRelease(&fpb_shared_table->words_lock);
}

/*
 * Clear the words, and begin a new generation, unless somebody else is doing
 * so.  Those who erase notes of the last one have ended before the first word
 * is cleared.  No lock is held on entry or exit.  Raises nothing.
 */
void
fpb_shared_clear_words(const FpbWords *words)
{
	uint64		generation;

	LWLockAcquire(&fpb_shared_table->words_lock, LW_EXCLUSIVE);
	generation = pg_atomic_read_u64(words->generation);
	if (!fpb_is_clearing(generation))
		pg_atomic_write_membarrier_u64(words->generation, generation + 1);
	LWLockRelease(&fpb_shared_table->words_lock);
	if (fpb_is_clearing(generation))
		return;
	FPB_INJECTION_POINT("fpbtree-clearing-words");
	for (uint64 i = 0; i < words->n; i++)
		pg_atomic_write_u64(&words->at[i], 0);
	FPB_INJECTION_POINT("fpbtree-words-cleared");
	pg_atomic_write_membarrier_u64(words->generation, generation + 2);
}
