/*-------------------------------------------------------------------------
 *
 * build/radix_sort.c
 *	  The radix sort of records in memory.
 *
 * Records are sorted by their least significant digit first, but only by as
 * many leading bits of the head as are likely to tell so many records apart,
 * and bits that all records share are left out.  Records that agree in these
 * bits are then put in order by what follows.  Duplicates mostly are in order
 * already: the radix sort is stable, and a table's rows arrive in TID order
 * but for HOT chains, a synchronised scan's jump from the end of the table to
 * its start, and tie bits.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "port/pg_bitutils.h"

#include "build/sort_state.h"

/*
 * Digits of the radix sort: more bits mean fewer passes, but also more places
 * in memory to write to, of which caches can follow only so many.
 */
#define FPB_DIGIT_BITS		8
#define FPB_DIGIT_VALUES	(1 << FPB_DIGIT_BITS)
#define FPB_WORD_DIGITS		(64 / FPB_DIGIT_BITS)
#define FPB_DIGIT(word, shift) (((word) >> (shift)) & (FPB_DIGIT_VALUES - 1))

/*
 * n records are sorted by log2(n) bits and so many more.  If the bits are
 * random, one in 2^FPB_SPARE_BITS records then agrees with another.
 */
#define FPB_SPARE_BITS		7


/* records of word keys */
typedef struct FpbRec2
{
	uint64		w[2];			/* head, tail */
} FpbRec2;

typedef struct FpbRec3
{
	uint64		w[3];			/* head, low, tail */
} FpbRec3;

#define ST_SORT fpb_sort_rec2
#define ST_ELEMENT_TYPE FpbRec2
#define ST_COMPARE(a, b) fpb_rec_compare((a)->w, (b)->w, 0, 2)
#define ST_CHECK_FOR_INTERRUPTS
#define ST_SCOPE static
#define ST_DEFINE
#include "lib/sort_template.h"

#define ST_SORT fpb_sort_rec3
#define ST_ELEMENT_TYPE FpbRec3
#define ST_COMPARE(a, b) fpb_rec_compare((a)->w, (b)->w, 0, 3)
#define ST_CHECK_FOR_INTERRUPTS
#define ST_SCOPE static
#define ST_DEFINE
#include "lib/sort_template.h"

/*
 * Are n records in order from word "first" on?
 */
static pg_attribute_always_inline bool
fpb_recs_sorted(const uint64 *recs, Size n, int first, int nwords)
{
	for (Size i = 1; i < n; i++)
	{
		if (fpb_rec_compare(recs + (i - 1) * nwords, recs + i * nwords,
							first, nwords) > 0)
			return false;
	}
	return true;
}

/*
 * One pass of the radix sort: moves n records from src to dst in the order of
 * the digit at the given shift of a word, stably.  next[] has the places in
 * dst that the records of each digit begin at, and is used up.
 */
static pg_attribute_always_inline void
fpb_radix_pass(const uint64 *src, uint64 *dst, Size n, int word, int shift,
			   Size *next, int nwords)
{
	Size		i = 0;

	while (i < n)
	{
		Size		stop = Min(n, i + FPB_SORT_STRIDE);

		CHECK_FOR_INTERRUPTS();
		for (; i < stop; i++)
		{
			const uint64 *rec = src + i * nwords;
			Size		place = next[FPB_DIGIT(rec[word], shift)]++;

			memcpy(dst + place * nwords, rec, nwords * sizeof(uint64));
		}
	}
}

/*
 * Sort n records by ndigits digits of a word, from shift upwards.  The result
 * is in recs or in scratch: returns which.
 */
static pg_attribute_always_inline uint64 *
fpb_sort_by_digits(uint64 *recs, uint64 *scratch, Size n, int word, int shift,
				   int ndigits, int nwords)
{
	Size		counts[FPB_WORD_DIGITS][FPB_DIGIT_VALUES];
	Size		i = 0;

	memset(counts, 0, ndigits * sizeof(counts[0]));
	while (i < n)
	{
		Size		stop = Min(n, i + FPB_SORT_STRIDE);

		CHECK_FOR_INTERRUPTS();
		for (; i < stop; i++)
		{
			uint64		value = recs[i * nwords + word] >> shift;

			for (int d = 0; d < ndigits; d++)
			{
				counts[d][FPB_DIGIT(value, 0)]++;
				value >>= FPB_DIGIT_BITS;
			}
		}
	}

	for (int d = 0; d < ndigits; d++)
	{
		Size	   *next = counts[d];
		int			digit_shift = shift + d * FPB_DIGIT_BITS;
		Size		place = 0;
		uint64	   *swap;

		/* Leave out a digit that all records share. */
		if (next[FPB_DIGIT(recs[word], digit_shift)] == n)
			continue;

		for (int v = 0; v < FPB_DIGIT_VALUES; v++)
		{
			Size		count = next[v];

			next[v] = place;
			place += count;
		}
		fpb_radix_pass(recs, scratch, n, word, digit_shift, next, nwords);

		swap = recs;
		recs = scratch;
		scratch = swap;
	}
	return recs;
}

/*
 * Which bits of a word are not the same in all of n records?
 */
static pg_attribute_always_inline uint64
fpb_varying_bits(const uint64 *recs, Size n, int word, int nwords)
{
	uint64		ones = 0;
	uint64		all = PG_UINT64_MAX;

	for (Size i = 0; i < n; i++)
	{
		ones |= recs[i * nwords + word];
		all &= recs[i * nwords + word];
	}
	return ones ^ all;
}

/*
 * Sort few records, by comparisons.
 */
void
fpb_sort_few(uint64 *recs, Size n, int nwords)
{
	if (nwords == 2)
		fpb_sort_rec2((FpbRec2 *) recs, n);
	else
		fpb_sort_rec3((FpbRec3 *) recs, n);
}

static uint64 *fpb_sort_words2(uint64 *recs, uint64 *scratch, Size n, int word);
static uint64 *fpb_sort_words3(uint64 *recs, uint64 *scratch, Size n, int word);

/*
 * Sort n records that agree in all words before "word".  The result is in recs
 * or in scratch: returns which.
 *
 * The radix sort goes by the leading bits that vary in this word, or in the
 * next that has such.  Records that agree in those are a range of their own:
 * it may be in order already; else a short one is sorted by comparisons and a
 * long one in the same way as the whole.
 */
static pg_attribute_always_inline uint64 *
fpb_sort_words(uint64 *recs, uint64 *scratch, Size n, int word, int nwords)
{
	uint64		varying = fpb_varying_bits(recs, n, word, nwords);
	uint64	   *sorted;
	uint64	   *other;
	int			top;
	int			shift;
	Size		start = 0;

	while (varying == 0)
	{
		if (++word == nwords)
			return recs;
		varying = fpb_varying_bits(recs, n, word, nwords);
	}

	top = pg_leftmost_one_pos64(varying) + 1;
	shift = top - (pg_leftmost_one_pos64(n) + 1 + FPB_SPARE_BITS);
	shift = Max(shift, pg_rightmost_one_pos64(varying));

	/* a last digit may as well be a whole one */
	shift = top - (int) TYPEALIGN(FPB_DIGIT_BITS, top - shift);
	shift = Max(shift, 0);

	sorted = fpb_sort_by_digits(recs, scratch, n, word, shift,
								(top - shift + FPB_DIGIT_BITS - 1) / FPB_DIGIT_BITS,
								nwords);
	other = (sorted == recs) ? scratch : recs;

	while (start < n)
	{
		uint64	   *range = sorted + start * nwords;
		uint64		value = range[word] >> shift;
		Size		count = 1;

		while (start + count < n &&
			   range[count * nwords + word] >> shift == value)
			count++;

		if (count > 1 && !fpb_recs_sorted(range, count, word, nwords))
		{
			uint64	   *result = range;

			if (count < FPB_RADIX_MIN)
				fpb_sort_few(range, count, nwords);
			else if (nwords == 2)
				result = fpb_sort_words2(range, other + start * nwords,
										 count, word);
			else
				result = fpb_sort_words3(range, other + start * nwords,
										 count, word);
			if (result != range)
				memcpy(range, result, count * nwords * sizeof(uint64));
		}
		if (start / FPB_SORT_STRIDE != (start + count) / FPB_SORT_STRIDE)
			CHECK_FOR_INTERRUPTS();
		start += count;
	}
	return sorted;
}

/*
 * fpb_sort_words for records of two words
 */
static uint64 *
fpb_sort_words2(uint64 *recs, uint64 *scratch, Size n, int word)
{
	return fpb_sort_words(recs, scratch, n, word, 2);
}

/*
 * fpb_sort_words for records of three words
 */
static uint64 *
fpb_sort_words3(uint64 *recs, uint64 *scratch, Size n, int word)
{
	return fpb_sort_words(recs, scratch, n, word, 3);
}

/*
 * Sort n records.  The result is in recs or in scratch, an array of the same
 * size: returns which.
 */
uint64 *
fpb_radix_sort(uint64 *recs, uint64 *scratch, Size n, int nwords)
{
	return nwords == 2 ? fpb_sort_words2(recs, scratch, n, 0) :
		fpb_sort_words3(recs, scratch, n, 0);
}
