/*-------------------------------------------------------------------------
 *
 * build/tuple_sort.c
 *	  The sort of tuple keys.
 *
 * They are sorted here (build/tuple_memory.c) as long as they fit in memory,
 * unless they have no heads, but abbreviations.  Otherwise, and in parallel
 * builds, the server's tuplesort sorts them.  The datum that it compares first
 * is the head where keys have one, eight bytes of it even if pages store four;
 * else it is the first column, abbreviated if the opclass can do that.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_index.h"
#include "miscadmin.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/sortsupport.h"
#include "utils/tuplesort.h"

#include "build/sort_state.h"

/*
 * What comparisons need to know.
 */
typedef struct FpbTupleSortArg
{
	const FpbIndex *ix;
	TupleDesc	desc;
	bool		by_head;		/* do heads come first? */
	const FpbColumn *word;		/* first column, if its code is the head or
								 * the head's upper half; else NULL */
	int			nkeys;
	SortSupportData keys[FLEXIBLE_ARRAY_MEMBER];
} FpbTupleSortArg;

struct FpbTupleSort
{
	const FpbIndex *ix;
	FpbIndex   *wide;			/* the index with heads of eight bytes */
	int			workMem;
	FpbTupleSortArg *arg;

	/* either, or the other */
	FpbTupleMemory *memory;
	Tuplesortstate *state;
};

/*
 * A tuple as it is held: the eight bytes of its head, if there are heads, and
 * the index tuple.
 */
#define FPB_SORT_HEAD(held) (*(const uint64 *) (held))
#define FPB_SORT_TUPLE(arg, held) \
	((IndexTuple) ((char *) (held) + FPB_SORT_HEAD_SIZE(arg)))
#define FPB_SORT_HEAD_SIZE(arg) ((arg)->by_head ? sizeof(uint64) : 0)
#define FPB_SORT_TUPLE_SIZE(arg, itup) \
	(FPB_SORT_HEAD_SIZE(arg) + IndexTupleSize(itup))

/*
 * Set the datum that tuplesort compares first: as much of the head as it
 * holds, or the first column.
 */
static inline void
set_datum1(const FpbTupleSortArg *arg, SortTuple *stup)
{
	if (arg->by_head)
	{
		stup->datum1 = (Datum) FPB_SORT_HEAD(stup->tuple);
		stup->isnull1 = false;
	}
	else
		stup->datum1 = index_getattr(FPB_SORT_TUPLE(arg, stup->tuple), 1, arg->desc,
									 &stup->isnull1);
}

/*
 * Do equal heads mean that first columns are equal?
 */
static inline bool
head_decides(const FpbTupleSortArg *arg, uint64 head)
{
	return arg->word &&
		!fpb_word_is_shared(arg->word,
							arg->word->width == 32 ? head >> 32 : head);
}

/*
 * Compare two tuples of the same head by their columns from this one on, then
 * by their TIDs.
 */
static int
compare_columns(FpbTupleSortArg *arg, IndexTuple a, IndexTuple b, int column)
{
	for (; column < arg->nkeys; column++)
	{
		Datum		da,
					db;
		bool		na,
					nb;
		int			compare;

		da = index_getattr(a, column + 1, arg->desc, &na);
		db = index_getattr(b, column + 1, arg->desc, &nb);
		compare = ApplySortComparator(da, na, db, nb, &arg->keys[column]);
		if (compare != 0)
			return compare;
	}
	return ItemPointerCompare(&a->t_tid, &b->t_tid);
}

/*
 * Compare two tuples as they are held, by their heads first.  Those of the
 * same bytes are equal.
 */
static int
compare_held(const char *a, const char *b, void *vararg)
{
	FpbTupleSortArg *arg = (FpbTupleSortArg *) vararg;
	uint64		head = FPB_SORT_HEAD(a);
	IndexTuple	ta = FPB_SORT_TUPLE(arg, a);
	IndexTuple	tb = FPB_SORT_TUPLE(arg, b);

	if (head != FPB_SORT_HEAD(b))
		return head < FPB_SORT_HEAD(b) ? -1 : 1;
	if (fpb_tuples_identical(arg->ix, ta, tb))
		return ItemPointerCompare(&ta->t_tid, &tb->t_tid);
	return compare_columns(arg, ta, tb, head_decides(arg, head) ? 1 : 0);
}

/*
 * The index tuple of what build/tuple_memory.c holds, behind its head.
 */
static inline IndexTuple
tuple_in_memory(const char *held)
{
	return (IndexTuple) (held + sizeof(uint64));
}

/*
 * Compare two tuples in memory whose keys have no heads.
 */
static int
compare_headless(const char *a, const char *b, void *arg)
{
	return compare_columns((FpbTupleSortArg *) arg, tuple_in_memory(a), tuple_in_memory(b), 0);
}

/*
 * Compare two tuples whose datums are equal.
 */
static int
comparetup_tiebreak(const SortTuple *a, const SortTuple *b,
					Tuplesortstate *state)
{
	TuplesortPublic *base = TuplesortstateGetPublic(state);
	FpbTupleSortArg *arg = (FpbTupleSortArg *) base->arg;

	if (arg->by_head)
		return compare_held(a->tuple, b->tuple, arg);

	/* unless they are abbreviated, the datums have been the whole column */
	return compare_columns(arg, FPB_SORT_TUPLE(arg, a->tuple), FPB_SORT_TUPLE(arg, b->tuple),
						   base->sortKeys->abbrev_converter == NULL ? 1 : 0);
}

/*
 * Compare two tuples.
 */
static int
comparetup(const SortTuple *a, const SortTuple *b, Tuplesortstate *state)
{
	int			compare = ApplySortComparator(a->datum1, a->isnull1,
											  b->datum1, b->isnull1,
											  TuplesortstateGetPublic(state)->sortKeys);

	return compare != 0 ? compare : comparetup_tiebreak(a, b, state);
}

/*
 * Put the first column back where its abbreviation has been, as that has
 * turned out to be of no use.
 */
static void
removeabbrev(Tuplesortstate *state, SortTuple *stups, int count)
{
	FpbTupleSortArg *arg = (FpbTupleSortArg *) TuplesortstateGetPublic(state)->arg;

	for (int i = 0; i < count; i++)
		set_datum1(arg, &stups[i]);
}

/*
 * Write a tuple, after its length, to a tape.
 */
static void
writetup(Tuplesortstate *state, LogicalTape *tape, SortTuple *stup)
{
	FpbTupleSortArg *arg = (FpbTupleSortArg *) TuplesortstateGetPublic(state)->arg;
	unsigned int size = FPB_SORT_TUPLE_SIZE(arg, FPB_SORT_TUPLE(arg, stup->tuple));
	unsigned int length = size + sizeof(length);

	LogicalTapeWrite(tape, &length, sizeof(length));
	LogicalTapeWrite(tape, stup->tuple, size);
}

/*
 * Read a tuple, whose length has been read, from a tape.
 */
static void
readtup(Tuplesortstate *state, SortTuple *stup, LogicalTape *tape,
		unsigned int len)
{
	unsigned int size = len - sizeof(unsigned int);

	stup->tuple = tuplesort_readtup_alloc(state, size);
	LogicalTapeReadExact(tape, stup->tuple, size);
	set_datum1((FpbTupleSortArg *) TuplesortstateGetPublic(state)->arg,
			   stup);
}

/*
 * Prepare to compare a key column, by abbreviations if the caller can do with
 * such and the opclass has them.
 *
 * The server's PrepareSortSupportFromIndexRel does this for btree alone in
 * release 17.
 */
static void
prepare_sortsupport(const FpbIndex *ix, int column, bool abbreviate,
					SortSupport ssup)
{
	Relation	index = ix->rel;
	int16		option = index->rd_indoption[column];
	Oid			family = index->rd_opfamily[column];
	Oid			type = index->rd_opcintype[column];
	Oid			proc;

	ssup->ssup_cxt = CurrentMemoryContext;
	ssup->ssup_collation = ix->cols[column].collation;
	ssup->ssup_nulls_first = (option & INDOPTION_NULLS_FIRST) != 0;
	ssup->ssup_reverse = (option & INDOPTION_DESC) != 0;
	ssup->ssup_attno = column + 1;
	ssup->abbreviate = abbreviate;

	proc = get_opfamily_proc(family, type, type, FPB_SORTSUPPORT_PROC);
	if (OidIsValid(proc))
		OidFunctionCall1(proc, PointerGetDatum(ssup));
	if (ssup->comparator == NULL)
	{
		proc = get_opfamily_proc(family, type, type, FPB_ORDER_PROC);
		if (!OidIsValid(proc))
			elog(ERROR, "missing support function %d(%u,%u) in opfamily %u",
				 FPB_ORDER_PROC, type, type, family);
		PrepareSortSupportComparisonShim(proc, ssup);
	}
}

/*
 * Has the opclass of an index's first column abbreviations, which tuplesort
 * compares instead of values?
 */
static bool
has_abbreviations(const FpbIndex *ix)
{
	SortSupportData ssup = {0};

	prepare_sortsupport(ix, 0, true, &ssup);
	return ssup.abbrev_converter != NULL;
}

/*
 * What comparisons of the index's tuples need to know.
 */
static FpbTupleSortArg *
make_arg(const FpbIndex *ix)
{
	FpbTupleSortArg *arg;

	arg = (FpbTupleSortArg *) palloc0(offsetof(FpbTupleSortArg, keys) +
									  ix->nkeyatts * sizeof(SortSupportData));
	arg->ix = ix;
	arg->desc = CreateTupleDescCopy(RelationGetDescr(ix->rel));
	arg->nkeys = ix->nkeyatts;
	arg->by_head = (ix->cols[0].head != FPB_HEAD_NONE);
	if (ix->cols[0].head == FPB_HEAD_WORD || ix->cols[0].head == FPB_HEAD_PAIR)
		arg->word = &ix->cols[0];
	for (int i = 0; i < ix->nkeyatts; i++)
		prepare_sortsupport(ix, i, false, &arg->keys[i]);
	return arg;
}

/*
 * Make a tuplesort of index tuples behind heads.
 */
static Tuplesortstate *
begin_tuplesort(const FpbIndex *ix, FpbTupleSortArg *arg, int workMem,
				SortCoordinate coordinate)
{
	Tuplesortstate *state = tuplesort_begin_common(workMem, coordinate,
												   TUPLESORT_NONE);
	TuplesortPublic *base = TuplesortstateGetPublic(state);
	MemoryContext old = MemoryContextSwitchTo(base->maincontext);

	base->arg = arg;
	base->comparetup = comparetup;
	base->comparetup_tiebreak = comparetup_tiebreak;
	base->removeabbrev = removeabbrev;
	base->writetup = writetup;
	base->readtup = readtup;

	/*
	 * The one sort key that tuplesort itself knows of is the datum: it has
	 * sorts specialised for datums that compare as integers.
	 */
	base->nKeys = 1;
	base->haveDatum1 = true;
	base->sortKeys = (SortSupport) palloc0(sizeof(SortSupportData));
	if (arg->by_head)
	{
		base->sortKeys->ssup_cxt = CurrentMemoryContext;
		base->sortKeys->ssup_attno = 1;
		base->sortKeys->comparator = ssup_datum_unsigned_cmp;
	}
	else
		prepare_sortsupport(ix, 0, true, base->sortKeys);

	MemoryContextSwitchTo(old);
	return state;
}

/*
 * Begin a sort, whose memory is in the current context.  The arguments are
 * fpb_sort_begin's.
 */
FpbTupleSort *
fpb_tuplesort_begin(const FpbIndex *ix, int workMem, double expected,
					FpbSortShared *shared, int nparticipants)
{
	FpbTupleSort *sort = palloc0(sizeof(FpbTupleSort));
	SortCoordinate coordinate = NULL;

	sort->ix = ix;
	sort->wide = (FpbIndex *) palloc(sizeof(FpbIndex));
	*sort->wide = *ix;
	sort->wide->head_width = sizeof(uint64);
	sort->workMem = workMem;
	sort->arg = make_arg(ix);
	if (shared)
	{
		coordinate = (SortCoordinate) palloc0(sizeof(SortCoordinateData));
		coordinate->isWorker = (nparticipants == 0);
		coordinate->nParticipants = nparticipants ? nparticipants : -1;
		coordinate->sharedsort = (Sharedsort *) shared;
	}
	else if (sort->arg->by_head || !has_abbreviations(ix))
	{
		sort->memory = fpb_tuple_memory_begin(ix, (Size) workMem * 1024, expected,
											  sort->arg->by_head ? compare_held : compare_headless,
											  sort->arg);
		return sort;
	}
	sort->state = begin_tuplesort(ix, sort->arg, workMem, coordinate);
	return sort;
}

/*
 * Give tuplesort a copy of a tuple, and its head if there are heads.
 */
static void
put_into_tuplesort(FpbTupleSort *sort, uint64 head, IndexTuple tuple)
{
	TuplesortPublic *base = TuplesortstateGetPublic(sort->state);
	Size		size = FPB_SORT_TUPLE_SIZE(sort->arg, tuple);
	SortTuple	stup;

	stup.tuple = MemoryContextAlloc(base->tuplecontext, size);
	if (sort->arg->by_head)
		*(uint64 *) stup.tuple = head;
	fpb_copy_bytes(FPB_SORT_TUPLE(sort->arg, stup.tuple), tuple, IndexTupleSize(tuple));
	stup.srctape = 0;
	set_datum1(sort->arg, &stup);
	tuplesort_puttuple_common(sort->state, &stup,
							  base->sortKeys->abbrev_converter &&
							  !stup.isnull1,
							  MAXALIGN(size));
}

/*
 * The memory is full: give tuplesort what is there, and what is to come.
 */
static void
leave_memory(FpbTupleSort *sort)
{
	MemoryContext old = MemoryContextSwitchTo(GetMemoryChunkContext(sort));
	const char *held;

	sort->state = begin_tuplesort(sort->ix, sort->arg, sort->workMem, NULL);
	while ((held = fpb_tuple_memory_next(sort->memory)) != NULL)
	{
		CHECK_FOR_INTERRUPTS();
		put_into_tuplesort(sort, FPB_SORT_HEAD(held), tuple_in_memory(held));
	}
	fpb_tuple_memory_end(sort->memory);
	sort->memory = NULL;
	MemoryContextSwitchTo(old);
}

/*
 * The index with heads of eight bytes, which keys to be added have.
 */
const FpbIndex *
fpb_tuplesort_index(const FpbTupleSort *sort)
{
	return sort->wide;
}

/*
 * Add a copy of a tuple.
 */
void
fpb_tuplesort_put(FpbTupleSort *sort, const FpbKey *key)
{
	if (sort->memory != NULL)
	{
		if (fpb_tuple_memory_put(sort->memory, key->head, key->tuple))
			return;
		leave_memory(sort);
	}
	put_into_tuplesort(sort, key->head, key->tuple);
}

/*
 * Sort what has been put in.
 */
void
fpb_tuplesort_perform(FpbTupleSort *sort)
{
	if (sort->memory != NULL)
		fpb_tuple_memory_sort(sort->memory);
	else
		tuplesort_performsort(sort->state);
}

/*
 * The next tuple from tuplesort, as it is held, or NULL.
 */
static const char *
next_from_tuplesort(FpbTupleSort *sort)
{
	TuplesortPublic *base = TuplesortstateGetPublic(sort->state);
	MemoryContext old = MemoryContextSwitchTo(base->sortcontext);
	SortTuple	stup;
	bool		found;

	found = tuplesort_gettuple_common(sort->state, true, &stup);
	MemoryContextSwitchTo(old);
	return found ? stup.tuple : NULL;
}

/*
 * Get the next tuple; false if there is none.  It stays valid until the next
 * call.
 */
bool
fpb_tuplesort_get(FpbTupleSort *sort, FpbKey *key)
{
	const char *held = sort->memory != NULL ? fpb_tuple_memory_next(sort->memory) :
		next_from_tuplesort(sort);

	if (held == NULL)
		return false;
	key->tuple = sort->memory != NULL ? tuple_in_memory(held) : FPB_SORT_TUPLE(sort->arg, held);
	key->head = sort->arg->by_head ? FPB_SORT_HEAD(held) : 0;
	if (sort->ix->head_width < sizeof(uint64))
		key->head &= ~(uint64) PG_UINT32_MAX;
	key->low = 0;
	key->tail = fpb_tail_pack(0, &key->tuple->t_tid);
	return true;
}

/*
 * End a sort.
 */
void
fpb_tuplesort_end(FpbTupleSort *sort)
{
	if (sort->memory != NULL)
		fpb_tuple_memory_end(sort->memory);
	else
		tuplesort_end(sort->state);
}
