/*-------------------------------------------------------------------------
 *
 * fuzz_keys.c
 *	  The page fuzzer's keys: the rows of an index's table give them.
 *
 * Their order is worked out once, with the opclasses' comparators, and from
 * then on keys are compared by rank.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/table.h"
#include "access/tableam.h"
#include "catalog/index.h"
#include "executor/tuptable.h"
#include "utils/lsyscache.h"
#include "utils/snapmgr.h"

#include "fuzz.h"

#define PIVOTS			3000	/* to make of pairs of keys, at most */

/*
 * Order of two keys of a pool.
 */
static int
compare_keys(const void *a, const void *b, void *arg)
{
	return fpb_compare_keys(arg, &((const FuzzKey *) a)->key,
							&((const FuzzKey *) b)->key);
}

/*
 * Sort a pool's keys and give them ranks.
 */
static void
rank_keys(const Fuzz *f, FuzzPool *pool)
{
	qsort_arg(pool->keys, pool->nkeys, sizeof(FuzzKey), compare_keys,
			  unconstify(FpbIndex *, &f->ix));
	pool->first = palloc_array(int, pool->nkeys + 2);
	pool->nranks = 0;
	for (int i = 0; i < pool->nkeys; i++)
	{
		if (i == 0 || compare_keys(&pool->keys[i - 1], &pool->keys[i],
								   unconstify(FpbIndex *, &f->ix)) != 0)
			pool->first[++pool->nranks] = i;
		pool->keys[i].rank = pool->nranks;
		pool->keys[i].size = pool->keys[i].key.tuple ? IndexTupleSize(pool->keys[i].key.tuple) : 0;
	}
	pool->first[pool->nranks + 1] = pool->nkeys;
}

/*
 * The keys of all rows, as an insertion would make them.
 */
static void
load_rows(Fuzz *f, Relation index)
{
	Relation	heap = table_open(index->rd_index->indrelid, AccessShareLock);
	IndexInfo  *info = BuildIndexInfo(index);
	TupleTableSlot *slot = table_slot_create(heap, NULL);
	TableScanDesc scan = fpb_table_beginscan(heap, GetActiveSnapshot());
	ItemPointerData tid;

	ItemPointerSet(&tid, 0, FirstOffsetNumber);
	f->leaf.keys = palloc_array(FuzzKey, FUZZ_MAX_KEYS);
	while (f->leaf.nkeys < FUZZ_MAX_KEYS &&
		   table_scan_getnextslot(scan, ForwardScanDirection, slot))
	{
		FuzzKey    *key = &f->leaf.keys[f->leaf.nkeys++];
		Datum		values[INDEX_MAX_KEYS];
		bool		isnull[INDEX_MAX_KEYS];

		FormIndexDatum(info, slot, NULL, values, isnull);
		fpb_key_form(&f->ix, values, isnull, &tid, &key->key);

		/* of a word's tail the tie alone belongs to the key */
		if (fpb_is_word(&f->ix))
			key->key.tail &= ~FPB_TAIL_TID_MASK;
	}
	table_endscan(scan);
	ExecDropSingleTupleTableSlot(slot);
	table_close(heap, AccessShareLock);
	if (f->leaf.nkeys == 0)
		elog(ERROR, "the table of index \"%s\" has no rows to take keys from",
			 RelationGetRelationName(index));
	rank_keys(f, &f->leaf);
}

/*
 * A key of the leaf pool as an entry with this TID would have it.  The tuple
 * is the pool's.
 */
static FpbKey
with_tid(const FuzzKey *key, uint64 tid)
{
	FpbKey		result = key->key;

	if (result.tuple == NULL)
		result.tail |= tid;
	else
	{
		result.tail = tid;
		fpb_tail_tid(tid, &result.tuple->t_tid);
	}
	return result;
}

/*
 * Pivots: separators of any two entries.
 */
static void
make_pivots(Fuzz *f)
{
	FuzzPool   *pool = &f->inner;
	pg_prng_state random;
	int			kept = 0;

	pg_prng_seed(&random, 1);
	pool->keys = palloc_array(FuzzKey, PIVOTS);
	for (int i = 0; i < PIVOTS; i++)
	{
		int			a = pg_prng_uint64_range(&random, 0, f->leaf.nkeys - 1);
		int			b = pg_prng_uint64_range(&random, a, Min(a + 3, f->leaf.nkeys - 1));
		uint64		tid = (pg_prng_uint64_range(&random, 0, 3) << FPB_TAIL_OFFSET_BITS) + 1;
		FpbKey		left;
		FpbKey		right;

		if (f->leaf.keys[a].rank == f->leaf.keys[b].rank)
		{
			/* two entries of one key; their tuple may be the same */
			left = right = with_tid(&f->leaf.keys[a], tid);
			right.tail++;
			if (right.tuple != NULL)
			{
				right.tuple = CopyIndexTuple(right.tuple);
				fpb_tail_tid(right.tail, &right.tuple->t_tid);
			}
		}
		else
		{
			left = with_tid(&f->leaf.keys[a], tid);
			right = with_tid(&f->leaf.keys[b], tid);
		}
		fpb_key_separator(&f->ix, &left, &right, &pool->keys[pool->nkeys++].key);
	}

	/* no two of an inner page's keys are equal */
	rank_keys(f, pool);
	for (int rank = 1; rank <= pool->nranks; rank++)
	{
		pool->keys[kept] = pool->keys[pool->first[rank]];
		pool->first[rank] = kept++;
	}
	pool->nkeys = pool->first[pool->nranks + 1] = kept;
	for (int i = 0; i < kept; i++)
		pool->keys[i].leaf_place = fuzz_leaf_place(f, &pool->keys[i].key);
}

/*
 * Fill both pools, in the current memory context.
 */
void
fuzz_load_keys(Fuzz *f, Relation index)
{
	load_rows(f, index);
	make_pivots(f);
}

/*
 * The place among leaf entries before which a pivot lies.
 */
uint64
fuzz_leaf_place(const Fuzz *f, const FpbKey *pivot)
{
	const FuzzPool *pool = &f->leaf;
	int			lo = 1;
	int			hi = pool->nranks + 1;
	FpbKey		key;

	while (lo < hi)
	{
		int			mid = lo + (hi - lo) / 2;

		key = with_tid(&pool->keys[pool->first[mid]], FPB_TAIL_TID_MASK);
		if (fpb_compare_keys(&f->ix, &key, pivot) >= 0)
			hi = mid;
		else
			lo = mid + 1;
	}
	if (lo > pool->nranks)
		return FuzzRankPlace(lo);
	key = with_tid(&pool->keys[pool->first[lo]], 1);
	if (fpb_compare_keys(&f->ix, &key, pivot) >= 0)
		return FuzzRankPlace(lo);
	return FuzzRankPlace(lo) | pivot->tail;
}

/*
 * The place among inner entries of one of their own pivots, or of its copy.
 */
uint64
fuzz_inner_place(const Fuzz *f, const FpbKey *pivot, int *key)
{
	FuzzKey		wanted = {.key = *pivot};
	FuzzKey    *found = bsearch_arg(&wanted, f->inner.keys, f->inner.nkeys,
									sizeof(FuzzKey), compare_keys,
									unconstify(FpbIndex *, &f->ix));

	if (found == NULL)
		elog(ERROR, "an inner page has a key that was not put there");
	*key = found - f->inner.keys;
	return FuzzRankPlace(found->rank);
}

/*
 * The key of an entry as the model has it; the tuple is the pool's.
 */
void
fuzz_entry_key(const Fuzz *f, const FuzzEntry *entry, FpbKey *key)
{
	if (entry->key == FUZZ_MINUS_INFINITY)
		fpb_key_minus_infinity(&f->ix, key);
	else if (f->level > 0)
		*key = f->inner.keys[entry->key].key;
	else
		*key = with_tid(&f->leaf.keys[entry->key],
						fpb_is_word(&f->ix) ? FuzzPlaceTail(entry->place) & FPB_TAIL_TID_MASK :
						FuzzPlaceTail(entry->place));
}

/*
 * Append a key's columns and TID, and its head, to a text.
 */
void
fuzz_print_key(const Fuzz *f, StringInfo out, const FpbKey *key, bool pivot)
{
	TupleDesc	desc = RelationGetDescr(f->ix.rel);
	Datum		values[INDEX_MAX_KEYS];
	bool		isnull[INDEX_MAX_KEYS];
	int			natts = f->ix.natts;
	ItemPointerData tid;

	if (!fpb_is_word(&f->ix) && pivot)
		natts = fpb_pivot_natts(&f->ix, key->tuple);
	if (fpb_is_word(&f->ix) && pivot)
		fpb_word_fence_datums(&f->ix, key, true, values, isnull);
	else if (fpb_is_word(&f->ix))
		fpb_word_datums(&f->ix, key, values, isnull);
	else
		for (int i = 0; i < natts; i++)
			values[i] = index_getattr(key->tuple, i + 1, desc, &isnull[i]);
	for (int i = 0; i < natts; i++)
	{
		Oid			output;
		bool		varlena;
		char	   *text = "NULL";

		getTypeOutputInfo(TupleDescAttr(desc, i)->atttypid, &output, &varlena);
		if (!isnull[i])
			text = OidOutputFunctionCall(output, values[i]);

		appendStringInfo(out, "%s%.*s%s", i > 0 ? ", " : "",
						 (int) Min(strlen(text), 60), text,
						 strlen(text) > 60 ? "..." : "");
	}
	fpb_tail_tid(key->tail, &tid);
	appendStringInfo(out, " (%u,%u)", ItemPointerGetBlockNumberNoCheck(&tid),
					 ItemPointerGetOffsetNumberNoCheck(&tid));
	appendStringInfo(out, " head %016llx", (unsigned long long) key->head);
	if (key->low != 0)
		appendStringInfo(out, ":%016llx", (unsigned long long) key->low);
	if (fpb_is_word(&f->ix) && fpb_tail_tie(key->tail) != 0)
		appendStringInfo(out, " tie %u", fpb_tail_tie(key->tail));
	if (key->tuple != NULL)
		appendStringInfo(out, " of %zu bytes", IndexTupleSize(key->tuple));
}
