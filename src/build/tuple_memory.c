/*-------------------------------------------------------------------------
 *
 * build/tuple_memory.c
 *	  The sort of tuple keys that fit in memory.
 *
 * Tuples, each behind the eight bytes of its head, lie in blocks in the order
 * in which they have come.  What is sorted is records of two integers, as of
 * words (build/radix_sort.c): a head, and the tuple's place.  So tuples of one
 * head stay in the order in which they have come, which mostly is that of
 * their TIDs.
 *
 * Where keys have no heads, these are all 0.  Strings among them are put into
 * the order first that is guessed (key/guess.c), in which the comparator then
 * finds little to be changed.
 *
 * Many tuples of one head are sorted by finer heads: those of the first column
 * in which they are not equal, and if these are bytes, behind all that they
 * have in common.  Few are sorted by comparisons.  That is done when the
 * result is read, as it needs the tuples themselves.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "build/sort_state.h"
#include "key/guess.h"
#include "key/tuple.h"

/* a place: the number of a block, and an offset there */
#define BLOCK_BITS		23
#define PLACE(block, offset)	((uint64) (block) << BLOCK_BITS | (offset))

/*
 * A block has at least so many bytes, which a tuple fits, and twice as many as
 * the one before.
 */
#define LEAST_BLOCK		(16 * 1024)

/* bytes that a tuple probably takes */
#define LIKELY_TUPLE	40

/* fewer tuples of one head than this are sorted by comparisons at once, */
#define MANY_TUPLES		16

/* and those that differ behind so many finer heads are, too */
#define MOST_DEPTH		8

/* so many tuples ahead are fetched into the processor's cache */
#define TUPLES_AHEAD	12

/* a record */
typedef struct TupleRec
{
	uint64		head;
	uint64		place;
} TupleRec;

struct FpbTupleMemory
{
	FpbIndex	wide;			/* the index with heads of eight bytes */
	MemoryContext cxt;			/* all the sort's memory */
	FpbTupleComparator compare;
	void	   *arg;			/* compare's */
	Size		left;			/* bytes that may still be used */

	char	  **blocks;
	int			nblocks;
	int			maxblocks;		/* the array has room for */
	int			nfreed;			/* of the first blocks */
	Size		used;			/* of the last block, */
	Size		size;			/* which has so many bytes */

	TupleRec   *recs;
	Size		n;
	Size		max;			/* the array has room for */
	uint64		varying;		/* bits that are not the same in all heads */

	TupleRec   *scratch;		/* room for as many records, or NULL */
	bool		sorted;
	Size		next;			/* to be read */
	Size		run_end;		/* records before this are in order */
};

static inline char *
tuple_at(const FpbTupleMemory *memory, const TupleRec *rec)
{
	return memory->blocks[rec->place >> BLOCK_BITS] + (rec->place & ((1 << BLOCK_BITS) - 1));
}

static inline IndexTuple
index_tuple(const FpbTupleMemory *memory, const TupleRec *rec)
{
	return (IndexTuple) (tuple_at(memory, rec) + sizeof(uint64));
}

/*
 * By the comparator.
 */
static inline int
compare_recs(const TupleRec *a, const TupleRec *b, FpbTupleMemory *memory)
{
	return memory->compare(tuple_at(memory, a), tuple_at(memory, b), memory->arg);
}

/*
 * The string that the order of a record is guessed by.  Other values are taken
 * for an empty one.
 */
static inline const char *
guessed_string(const FpbTupleMemory *memory, const TupleRec *rec, Size *length)
{
	IndexTuple	tuple = index_tuple(memory, rec);
	const char *value = (char *) tuple + IndexInfoFindDataOffset(0);

	*length = fpb_first_is_short(&memory->wide, tuple) ? VARSIZE_1B(value) - VARHDRSZ_SHORT : 0;
	return VARDATA_1B(value);
}

static int
guess_recs(const TupleRec *a, const TupleRec *b, const FpbTupleMemory *memory)
{
	Size		a_length;
	Size		b_length;
	const char *a_string = guessed_string(memory, a, &a_length);
	const char *b_string = guessed_string(memory, b, &b_length);
	int			order = fpb_guess_strings(a_string, a_length, b_string, b_length,
										  memory->wide.guesses == FPB_GUESSES_LETTERS);

	return memory->wide.cols[0].desc ? -order : order;
}

#define ST_SORT sort_by_guesses
#define ST_ELEMENT_TYPE TupleRec
#define ST_COMPARE_ARG_TYPE FpbTupleMemory
#define ST_COMPARE(a, b, arg) guess_recs(a, b, arg)
#define ST_CHECK_FOR_INTERRUPTS
#define ST_SCOPE static
#define ST_DEFINE
#include "lib/sort_template.h"

#define ST_SORT sort_by_comparisons
#define ST_ELEMENT_TYPE TupleRec
#define ST_COMPARE_ARG_TYPE FpbTupleMemory
#define ST_COMPARE(a, b, arg) compare_recs(a, b, arg)
#define ST_CHECK_FOR_INTERRUPTS
#define ST_SCOPE static
#define ST_DEFINE
#include "lib/sort_template.h"

/*
 * Begin a sort, in the current memory context, by this comparator where heads
 * don't tell.  It may use so many bytes, and so many tuples are expected, for
 * which there is room at once: such large arrays are in huge pages.
 */
FpbTupleMemory *
fpb_tuple_memory_begin(const FpbIndex *ix, Size size, double expected,
					   FpbTupleComparator compare, void *arg)
{
	FpbTupleMemory *memory = palloc0(sizeof(FpbTupleMemory));
	double		first;

	memory->wide = *ix;
	memory->wide.head_width = sizeof(uint64);
	for (int i = 1; i < ix->nkeyatts; i++)
		fpb_choose_column_head(&memory->wide, i);
	memory->cxt = CurrentMemoryContext;
	memory->compare = compare;
	memory->arg = arg;
	memory->max = Max(Min(expected, size / sizeof(TupleRec) / 4), FPB_SORT_MIN_RECORDS);
	memory->recs = (TupleRec *) fpb_sort_alloc(memory->cxt, memory->max * sizeof(TupleRec));
	memory->left = size - Min(size, memory->max * sizeof(TupleRec));
	first = Min(Min(expected * LIKELY_TUPLE, memory->left / 4), 1 << BLOCK_BITS);
	memory->used = memory->size = Max((Size) first, LEAST_BLOCK) / 2;
	memory->maxblocks = 2;
	memory->blocks = palloc(memory->maxblocks * sizeof(char *));
	return memory;
}

/*
 * Make room for more records: as many again, or as there is memory for with
 * their tuples.  False if that is used up.
 */
static bool
more_records(FpbTupleMemory *memory)
{
	Size		more = Min(memory->max, memory->left / (sizeof(TupleRec) + LIKELY_TUPLE));

	if (more < FPB_SORT_MIN_RECORDS)
		return false;
	memory->max += more;
	memory->left -= more * sizeof(TupleRec);
	memory->recs = repalloc_huge(memory->recs, memory->max * sizeof(TupleRec));
	return true;
}

/*
 * Add a block.  False if the memory is used up.
 */
static bool
more_tuples(FpbTupleMemory *memory)
{
	Size		size = Min(memory->size * 2, 1 << BLOCK_BITS);

	if (size > memory->left)
		return false;
	if (memory->nblocks == memory->maxblocks)
	{
		memory->maxblocks *= 2;
		memory->blocks = repalloc(memory->blocks, memory->maxblocks * sizeof(char *));
	}
	memory->blocks[memory->nblocks++] = (char *) fpb_sort_alloc(memory->cxt, size);
	memory->left -= size;
	memory->size = size;
	memory->used = 0;
	return true;
}

/*
 * Add a tuple with its head of eight bytes.  False if the memory is used up.
 */
bool
fpb_tuple_memory_put(FpbTupleMemory *memory, uint64 head, IndexTuple tuple)
{
	Size		size = MAXALIGN(sizeof(uint64) + IndexTupleSize(tuple));
	TupleRec   *rec;

	if (memory->n == memory->max && !more_records(memory))
		return false;
	if (memory->used + size > memory->size && !more_tuples(memory))
		return false;
	rec = &memory->recs[memory->n++];
	rec->head = head;
	rec->place = PLACE(memory->nblocks - 1, memory->used);
	memory->used += size;
	memory->varying |= head ^ memory->recs[0].head;
	*(uint64 *) tuple_at(memory, rec) = head;
	fpb_copy_bytes(index_tuple(memory, rec), tuple, IndexTupleSize(tuple));
	return true;
}

/* --- sorting --- */

/*
 * Sort records by their heads.
 */
static void
sort_by_heads(FpbTupleMemory *memory, TupleRec *recs, Size n)
{
	Size		in_order = 1;
	uint64	   *sorted;

	while (in_order < n && recs[in_order - 1].head <= recs[in_order].head)
		in_order++;
	if (in_order >= n)
		return;
	if (n < FPB_RADIX_MIN || memory->scratch == NULL)
	{
		fpb_sort_few((uint64 *) recs, n, 2);
		return;
	}
	sorted = fpb_radix_sort((uint64 *) recs, (uint64 *) memory->scratch, n, 2);
	if (sorted != (uint64 *) recs)
		memcpy(recs, sorted, n * sizeof(TupleRec));
}

/* what heads say of the values of a column */
typedef enum HeadsSay
{
	HEADS_DIFFER,
	HEADS_EQUAL,				/* the values are equal, */
	HEADS_NOTHING				/* or may be */
} HeadsSay;

static inline Datum
column_value(const FpbTupleMemory *memory, const TupleRec *rec, int column, bool *isnull)
{
	CHECK_FOR_INTERRUPTS();
	return fpb_read_nth_column(&memory->wide, index_tuple(memory, rec), column, isnull);
}

/*
 * Give records the heads of a column.
 */
static HeadsSay
set_heads(FpbTupleMemory *memory, TupleRec *recs, Size n, int column)
{
	const FpbColumn *col = &memory->wide.cols[column];
	uint64		varying = 0;

	for (Size i = 0; i < n; i++)
	{
		bool		isnull;
		Datum		value = column_value(memory, &recs[i], column, &isnull);

		recs[i].head = fpb_column_head(col, value, isnull);
		varying |= recs[i].head ^ recs[0].head;
	}
	if (varying != 0)
		return HEADS_DIFFER;
	return col->head == FPB_HEAD_WORD &&
		!fpb_word_is_shared(col, col->width == 32 ? recs[0].head >> 32 : recs[0].head) ?
		HEADS_EQUAL : HEADS_NOTHING;
}

/*
 * Where heads are the first bytes of a column, or of its sort key: how many
 * bytes do those of n records begin with in common?  0 if one is NULL.  Sets
 * *equal to whether all values are known to be equal: they have no more than
 * these.
 */
static Size
common_bytes(FpbTupleMemory *memory, const TupleRec *recs, Size n, int column, bool *equal)
{
	const FpbColumn *col = &memory->wide.cols[column];
	const char *first = NULL;
	Size		first_length = 0;
	void	   *first_copy = NULL;
	Size		common = 0;
	bool		isnull = false;

	*equal = true;
	for (Size i = 0; i < n; i++)
	{
		Datum		value = column_value(memory, &recs[i], column, &isnull);
		const char *bytes;
		Size		length;
		Size		same;
		void	   *copy;

		if (isnull)
			break;
		bytes = fpb_value_bytes(col, value, FPB_SORT_KEY_MOST, &length, &copy);
		if (i == 0)
		{
			first = bytes;
			common = first_length = length;
			first_copy = copy;
			continue;
		}
		common = same = fpb_same_bytes(bytes, first, Min(common, length));
		*equal &= same == length && same == first_length;
		if (copy != NULL)
			pfree(copy);
	}
	if (first_copy != NULL)
		pfree(first_copy);
	*equal &= !isnull && fpb_head_is_bytes(col->head);
	return isnull ? 0 : common;
}

/* records by which it is guessed what all have in common */
#define GUESSED_BY	8

/*
 * What common_bytes would say, or more.  It takes long to make sort keys, so
 * only some are made.
 */
static Size
guess_common_bytes(FpbTupleMemory *memory, const TupleRec *recs, Size n, int column, bool *equal)
{
	TupleRec	some[GUESSED_BY];

	if (fpb_head_is_bytes(memory->wide.cols[column].head) || n <= GUESSED_BY)
		return common_bytes(memory, recs, n, column, equal);
	for (int i = 0; i < GUESSED_BY; i++)
		some[i] = recs[(n - 1) * i / (GUESSED_BY - 1)];
	return common_bytes(memory, some, GUESSED_BY, column, equal);
}

/*
 * Records have heads of what is behind some bytes that their values begin with
 * in common.  Put so many of these, the last ones, into the heads.
 */
static void
lengthen_heads(TupleRec *recs, Size n, bool desc, const char *bytes, Size length)
{
	uint64		invert = desc ? PG_UINT64_MAX : 0;
	uint64		front = fpb_bytes_head(bytes, length);

	for (Size i = 0; i < n; i++)
		recs[i].head = length >= sizeof(uint64) ? front ^ invert :
			(front | (recs[i].head ^ invert) >> (length * BITS_PER_BYTE)) ^ invert;
}

/*
 * Give records the heads of a column behind so many bytes, with which its
 * values seem to begin in common.  If one begins otherwise, it is behind fewer
 * bytes; if one is NULL, behind none.  Returns how many.
 */
static Size
set_heads_from(FpbTupleMemory *memory, TupleRec *recs, Size n, int column, Size common)
{
	const FpbColumn *col = &memory->wide.cols[column];
	uint64		invert = col->desc ? PG_UINT64_MAX : 0;
	char		begin[FPB_SORT_KEY_MOST];
	bool		trusted = fpb_head_is_bytes(col->head);

	for (Size i = 0; i < n && common > 0; i++)
	{
		bool		isnull;
		Datum		value = column_value(memory, &recs[i], column, &isnull);
		Size		want = Min(common + sizeof(uint64), FPB_SORT_KEY_MOST);
		Size		length;
		void	   *copy;
		const char *bytes;

		if (isnull)
			return 0;
		bytes = fpb_value_bytes(col, value, want, &length, &copy);
		if (i == 0 && !trusted)
			memcpy(begin, bytes, common);
		if (!trusted)
		{
			Size		same = fpb_same_bytes(bytes, begin, Min(common, length));

			if (unlikely(same < common))
			{
				lengthen_heads(recs, i, col->desc, begin + same, common - same);
				common = same;
			}
		}
		recs[i].head = fpb_bytes_head(bytes + common, length - common) ^ invert;
		if (copy != NULL)
			pfree(copy);
	}
	return common;
}

/*
 * Give records the heads of a column behind what its values begin with in
 * common.
 */
static HeadsSay
set_heads_behind(FpbTupleMemory *memory, TupleRec *recs, Size n, int column)
{
	bool		equal;
	Size		common = guess_common_bytes(memory, recs, n, column, &equal);

	if (equal)
		return HEADS_EQUAL;
	if (set_heads_from(memory, recs, n, column, common) == 0)
		return set_heads(memory, recs, n, column);
	for (Size i = 1; i < n; i++)
		if (recs[i].head != recs[0].head)
			return HEADS_DIFFER;
	return HEADS_NOTHING;
}

/*
 * Are the columns of all records equal up to this one?
 */
static bool
columns_equal(FpbTupleMemory *memory, const TupleRec *recs, Size n, int column)
{
	FpbKey		first = {.tuple = index_tuple(memory, &recs[0])};

	for (Size i = 1; i < n; i++)
	{
		FpbKey		key = {.tuple = index_tuple(memory, &recs[i])};
		int			order;

		CHECK_FOR_INTERRUPTS();
		if (fpb_equal_columns(&memory->wide, &first, &key, column + 1, &order) <= column)
			return false;
	}
	return true;
}

/*
 * Give records of one head finer ones: of the first column in which they are
 * not all equal.  False if those are the same, or there are none.
 */
static bool
refine_heads(FpbTupleMemory *memory, TupleRec *recs, Size n)
{
	const FpbIndex *ix = &memory->wide;

	for (int column = 0; column < ix->nkeyatts; column++)
	{
		HeadsSay	say;

		if (ix->cols[column].head == FPB_HEAD_NONE)
			return false;
		say = fpb_head_is_bytes(ix->cols[column].head) ||
			fpb_head_is_sort_key(ix->cols[column].head) ?
			set_heads_behind(memory, recs, n, column) : set_heads(memory, recs, n, column);
		if (say == HEADS_DIFFER)
			return true;
		if (say == HEADS_NOTHING && !columns_equal(memory, recs, n, column))
			return false;
	}
	return false;
}

/*
 * Records from the first one on that have its head.
 */
static inline Size
run_length(const TupleRec *recs, Size n)
{
	Size		length = 1;

	while (length < n && recs[length].head == recs[0].head)
		length++;
	return length;
}

/*
 * Merge records, in scratch memory, with those behind the place of these,
 * which are in order, too.
 */
static void
merge_records(FpbTupleMemory *memory, TupleRec *recs, Size first, Size n)
{
	const TupleRec *left = memory->scratch;
	const TupleRec *left_end = left + first;
	const TupleRec *right = recs + first;
	const TupleRec *right_end = recs + n;

	while (left < left_end && right < right_end)
		*recs++ = compare_recs(left, right, memory) <= 0 ? *left++ : *right++;
	memcpy(recs, left, (left_end - left) * sizeof(TupleRec));
}

/*
 * Sort records by merging, which compares fewer of them than quicksort does.
 * There is scratch memory for half of them.
 */
static void
merge_sort(FpbTupleMemory *memory, TupleRec *recs, Size n)
{
	Size		half = n / 2;

	CHECK_FOR_INTERRUPTS();
	if (half > 1)
		merge_sort(memory, recs, half);
	if (n - half > 1)
		merge_sort(memory, recs + half, n - half);
	if ((half >= MANY_TUPLES || memory->wide.guesses != FPB_GUESSES_NONE) &&
		compare_recs(&recs[half - 1], &recs[half], memory) <= 0)
		return;
	memcpy(memory->scratch, recs, half * sizeof(TupleRec));
	merge_records(memory, recs, half, n);
}

/*
 * Are records in order?
 */
static bool
are_in_order(FpbTupleMemory *memory, const TupleRec *recs, Size n)
{
	for (Size i = 1; i < n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (compare_recs(&recs[i - 1], &recs[i], memory) > 0)
			return false;
	}
	return true;
}

/*
 * Put records of one head, at least two, in order.
 */
static void
sort_run(FpbTupleMemory *memory, TupleRec *recs, Size n, int depth)
{
	Size		length;

	if (are_in_order(memory, recs, n))
		return;
	if (n < MANY_TUPLES || depth == MOST_DEPTH || !refine_heads(memory, recs, n))
	{
		if (memory->wide.guesses != FPB_GUESSES_NONE)
			sort_by_guesses(recs, n, memory);
		if (memory->scratch != NULL)
			merge_sort(memory, recs, n);
		else
			sort_by_comparisons(recs, n, memory);
		return;
	}
	sort_by_heads(memory, recs, n);
	for (Size start = 0; start < n; start += length)
	{
		length = run_length(&recs[start], n - start);
		if (length > 1)
			sort_run(memory, &recs[start], length, depth + 1);
	}
}

/*
 * Sort what has been added.
 */
void
fpb_tuple_memory_sort(FpbTupleMemory *memory)
{
	Size		size = memory->n * sizeof(TupleRec);
	MemoryContext old = MemoryContextSwitchTo(memory->cxt);

	if (size <= memory->left && memory->n >= FPB_RADIX_MIN)
		memory->scratch = (TupleRec *) fpb_sort_alloc(memory->cxt, size);
	if (memory->n > 1 && memory->varying == 0)
		(void) refine_heads(memory, memory->recs, memory->n);
	sort_by_heads(memory, memory->recs, memory->n);
	memory->sorted = true;
	MemoryContextSwitchTo(old);
}

/* --- reading --- */

/*
 * The next tuple behind its head, in order, or NULL.  Before they are sorted
 * they are read in the order in which they have come, and memory is freed.
 */
char *
fpb_tuple_memory_next(FpbTupleMemory *memory)
{
	TupleRec   *rec = &memory->recs[memory->next];

	if (memory->next == memory->n)
		return NULL;
	if (!memory->sorted)
	{
		while (memory->nfreed < (int) (rec->place >> BLOCK_BITS))
			pfree(memory->blocks[memory->nfreed++]);
	}
	else if (memory->next == memory->run_end)
	{
		Size		length = run_length(rec, memory->n - memory->next);

		if (length > 1)
		{
			MemoryContext old = MemoryContextSwitchTo(memory->cxt);

			sort_run(memory, rec, length, 0);
			MemoryContextSwitchTo(old);
		}
		memory->run_end += length;
	}
	if (memory->next + TUPLES_AHEAD < memory->n)
		fpb_fetch_lines(tuple_at(memory, rec + TUPLES_AHEAD), 2 * FPB_CACHE_LINE);
	memory->next++;
	return tuple_at(memory, rec);
}

/*
 * End a sort.
 */
void
fpb_tuple_memory_end(FpbTupleMemory *memory)
{
	for (int i = memory->nfreed; i < memory->nblocks; i++)
		pfree(memory->blocks[i]);
	pfree(memory->blocks);
	pfree(memory->recs);
	if (memory->scratch != NULL)
		pfree(memory->scratch);
	pfree(memory);
}
