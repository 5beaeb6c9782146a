/*-------------------------------------------------------------------------
 *
 * build/tuple_sort.c
 *	  The sort of tuple keys, by the server's tuplesort.
 *
 * The datum that tuplesort compares first is the head where keys have one,
 * eight bytes of it even if pages store four; else it is the first column,
 * abbreviated if the opclass can do that.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_index.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/sortsupport.h"
#include "utils/tuplesort.h"

#include "build/sort_state.h"

struct FpbTupleSort
{
	const FpbIndex *ix;
	FpbIndex   *wide;			/* the index with heads of eight bytes */
	Tuplesortstate *state;
};

/*
 * What the tuplesort variant needs to know.
 */
typedef struct FpbTupleSortArg
{
	TupleDesc	desc;
	bool		by_head;		/* do heads come first? */
	const FpbColumn *word;		/* first column, if its code is the head or
								 * the head's upper half; else NULL */
	int			nkeys;
	SortSupportData keys[FLEXIBLE_ARRAY_MEMBER];
} FpbTupleSortArg;

/*
 * A tuple as tuplesort holds it: the eight bytes of its head, if there are
 * heads, and the index tuple.
 */
#define FPB_SORT_HEAD(stup) (*(uint64 *) (stup)->tuple)
#define FPB_SORT_TUPLE(arg, stup) \
	((IndexTuple) ((char *) (stup)->tuple + FPB_SORT_HEAD_SIZE(arg)))
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
		stup->datum1 = (Datum) FPB_SORT_HEAD(stup);
		stup->isnull1 = false;
	}
	else
		stup->datum1 = index_getattr(FPB_SORT_TUPLE(arg, stup), 1, arg->desc,
									 &stup->isnull1);
}

/*
 * Compare a key column, other than by an abbreviation.
 */
static inline int
compare_column(FpbTupleSortArg *arg, const SortTuple *a,
			   const SortTuple *b, int column)
{
	Datum		da,
				db;
	bool		na,
				nb;

	da = index_getattr(FPB_SORT_TUPLE(arg, a), column + 1, arg->desc, &na);
	db = index_getattr(FPB_SORT_TUPLE(arg, b), column + 1, arg->desc, &nb);
	return ApplySortComparator(da, na, db, nb, &arg->keys[column]);
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
 * Compare two tuples whose datums are equal.
 */
static int
comparetup_tiebreak(const SortTuple *a, const SortTuple *b,
					Tuplesortstate *state)
{
	TuplesortPublic *base = TuplesortstateGetPublic(state);
	FpbTupleSortArg *arg = (FpbTupleSortArg *) base->arg;
	int			column = 0;

	if (arg->by_head)
	{
		uint64		ha = FPB_SORT_HEAD(a);
		uint64		hb = FPB_SORT_HEAD(b);

		if (ha != hb)
			return ha < hb ? -1 : 1;
		if (head_decides(arg, ha))
			column = 1;
	}
	else if (base->sortKeys->abbrev_converter == NULL)
		column = 1;				/* the datums have been the whole column */

	for (; column < arg->nkeys; column++)
	{
		int			compare = compare_column(arg, a, b, column);

		if (compare != 0)
			return compare;
	}
	return ItemPointerCompare(&FPB_SORT_TUPLE(arg, a)->t_tid,
							  &FPB_SORT_TUPLE(arg, b)->t_tid);
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
	unsigned int size = FPB_SORT_TUPLE_SIZE(arg, FPB_SORT_TUPLE(arg, stup));
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
prepare_sortsupport(Relation index, int column, bool abbreviate,
					SortSupport ssup)
{
	int16		option = index->rd_indoption[column];
	Oid			family = index->rd_opfamily[column];
	Oid			type = index->rd_opcintype[column];
	Oid			proc;

	ssup->ssup_cxt = CurrentMemoryContext;
	ssup->ssup_collation = index->rd_indcollation[column];
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
 * Make a tuplesort of index tuples behind heads.
 */
static Tuplesortstate *
begin_tuplesort(const FpbIndex *ix, int workMem, SortCoordinate coordinate)
{
	Tuplesortstate *state = tuplesort_begin_common(workMem, coordinate,
												   TUPLESORT_NONE);
	TuplesortPublic *base = TuplesortstateGetPublic(state);
	MemoryContext old = MemoryContextSwitchTo(base->maincontext);
	FpbTupleSortArg *arg;

	arg = (FpbTupleSortArg *) palloc0(offsetof(FpbTupleSortArg, keys) +
									  ix->nkeyatts * sizeof(SortSupportData));
	arg->desc = RelationGetDescr(ix->rel);
	arg->nkeys = ix->nkeyatts;
	arg->by_head = (ix->cols[0].head != FPB_HEAD_NONE);
	if (ix->cols[0].head == FPB_HEAD_WORD || ix->cols[0].head == FPB_HEAD_PAIR)
		arg->word = &ix->cols[0];
	for (int i = 0; i < ix->nkeyatts; i++)
		prepare_sortsupport(ix->rel, i, false, &arg->keys[i]);

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
		prepare_sortsupport(ix->rel, 0, true, base->sortKeys);

	MemoryContextSwitchTo(old);
	return state;
}

/*
 * Begin a sort, whose memory is in the current context.  The arguments are
 * fpb_sort_begin's.
 */
FpbTupleSort *
fpb_tuplesort_begin(const FpbIndex *ix, int workMem, FpbSortShared *shared,
					int nparticipants)
{
	FpbTupleSort *sort = palloc(sizeof(FpbTupleSort));
	SortCoordinate coordinate = NULL;

	if (shared)
	{
		coordinate = (SortCoordinate) palloc0(sizeof(SortCoordinateData));
		coordinate->isWorker = (nparticipants == 0);
		coordinate->nParticipants = nparticipants ? nparticipants : -1;
		coordinate->sharedsort = (Sharedsort *) shared;
	}
	sort->ix = ix;
	sort->state = begin_tuplesort(ix, workMem, coordinate);
	sort->wide = (FpbIndex *) palloc(sizeof(FpbIndex));
	*sort->wide = *ix;
	sort->wide->head_width = sizeof(uint64);
	return sort;
}

/*
 * Add a copy of a tuple.  May leave garbage in the current memory context.
 */
void
fpb_tuplesort_put(FpbTupleSort *sort, const FpbKey *key)
{
	TuplesortPublic *base = TuplesortstateGetPublic(sort->state);
	FpbTupleSortArg *arg = (FpbTupleSortArg *) base->arg;
	Size		size = FPB_SORT_TUPLE_SIZE(arg, key->tuple);
	SortTuple	stup;

	stup.tuple = MemoryContextAlloc(base->tuplecontext, size);
	fpb_copy_bytes(FPB_SORT_TUPLE(arg, &stup), key->tuple, IndexTupleSize(key->tuple));
	if (arg->by_head)
	{
		uint64		head = key->head;

		if (sort->ix->head_width < sizeof(uint64))
		{
			Datum		value;
			bool		isnull;

			value = index_getattr(key->tuple, 1, arg->desc, &isnull);
			(void) fpb_head_of(sort->wide, &value, &isnull, 1, false, &head);
		}
		FPB_SORT_HEAD(&stup) = head;
	}

	stup.srctape = 0;
	set_datum1(arg, &stup);
	tuplesort_puttuple_common(sort->state, &stup,
							  base->sortKeys->abbrev_converter &&
							  !stup.isnull1,
							  MAXALIGN(size));
}

/*
 * Sort what has been put in.
 */
void
fpb_tuplesort_perform(FpbTupleSort *sort)
{
	tuplesort_performsort(sort->state);
}

/*
 * Get the next tuple; false if there is none.  It stays valid until the next
 * call.
 */
bool
fpb_tuplesort_get(FpbTupleSort *sort, FpbKey *key)
{
	TuplesortPublic *base = TuplesortstateGetPublic(sort->state);
	FpbTupleSortArg *arg = (FpbTupleSortArg *) base->arg;
	MemoryContext old = MemoryContextSwitchTo(base->sortcontext);
	SortTuple	stup;
	bool		found;

	found = tuplesort_gettuple_common(sort->state, true, &stup);
	MemoryContextSwitchTo(old);
	if (found && stup.tuple)
	{
		key->tuple = FPB_SORT_TUPLE(arg, &stup);
		key->head = arg->by_head ? FPB_SORT_HEAD(&stup) : 0;
		if (sort->ix->head_width < sizeof(uint64))
			key->head &= ~(uint64) PG_UINT32_MAX;
		key->low = 0;
		key->tail = fpb_tail_pack(0, &key->tuple->t_tid);
		return true;
	}
	return false;
}

/*
 * End a sort.
 */
void
fpb_tuplesort_end(FpbTupleSort *sort)
{
	tuplesort_end(sort->state);
}
