/*-------------------------------------------------------------------------
 *
 * scan/key_form.c
 *	  The form of the scan keys: what is known of a key but its value.
 *
 * A rescan hands over keys of the same form with other values, so that the
 * form is analysed once.  Only for integers of another type than the column's
 * does part of it depend on the value.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "scan/qual.h"
#include "scan/timezone.h"

/*
 * The memory *cxt for what lives no longer than that of the keys, made if need
 * be.
 */
static MemoryContext
small_context(FpbScanKeys *keys, MemoryContext *cxt)
{
	if (*cxt == NULL)
		*cxt = AllocSetContextCreate(keys->cxt, "fpbtree scan keys", ALLOCSET_SMALL_SIZES);
	return *cxt;
}

/*
 * The opfamily's comparison function of (left, right) for a column, or NULL;
 * in memory *cxt unless it is the column's own.
 */
static FmgrInfo *
order_proc(FpbScanKeys *keys, MemoryContext *cxt, int col, Oid left, Oid right)
{
	Relation	rel = keys->ix->rel;
	Oid			own = rel->rd_opcintype[col];
	Oid			proc;
	FmgrInfo   *info;

	if (left == own && right == own)
		return keys->ix->cols[col].cmp;
	proc = get_opfamily_proc(rel->rd_opfamily[col], left, right, FPB_ORDER_PROC);
	if (!OidIsValid(proc))
		return NULL;
	info = MemoryContextAlloc(small_context(keys, cxt), sizeof(FmgrInfo));
	fmgr_info_cxt(proc, info, *cxt);
	return info;
}

/*
 * Is the form of the key what it was when it was analysed?
 */
static inline bool
same_form(const FpbQual *q, const ScanKeyData *key)
{
	return q->attno == key->sk_attno &&
		q->strategy == key->sk_strategy &&
		q->subtype == key->sk_subtype &&
		q->func == key->sk_func.fn_oid &&
		q->flags == (key->sk_flags & ~SK_ISNULL);
}

/*
 * Fill in all that is to be known of a key but its value.
 */
static void
analyse_key(FpbScanKeys *keys, FpbQual *q, ScanKey key)
{
	Relation	rel = keys->ix->rel;

	memset(q, 0, sizeof(*q));
	q->flags = key->sk_flags & ~SK_ISNULL;
	q->attno = key->sk_attno;
	q->strategy = key->sk_strategy;
	q->subtype = key->sk_subtype;
	q->func = key->sk_func.fn_oid;
	q->collation = key->sk_collation;
	q->col = key->sk_attno - 1;

	if (q->col < 0 || q->col >= keys->ix->nkeyatts)
		elog(ERROR, "scan key of index \"%s\" is for column %d",
			 RelationGetRelationName(rel), key->sk_attno);

	if (key->sk_flags & SK_SEARCHNULL)
	{
		q->kind = FPB_QUAL_NULL;
		return;
	}
	if (key->sk_flags & SK_SEARCHNOTNULL)
	{
		q->kind = FPB_QUAL_NOT_NULL;
		return;
	}

	if (key->sk_strategy < 1 || key->sk_strategy > BTMaxStrategyNumber)
		elog(ERROR, "unrecognized strategy %d of a scan key of index \"%s\"",
			 key->sk_strategy, RelationGetRelationName(rel));
	if (key->sk_flags & SK_ROW_HEADER)
	{
		ScanKey		member = (ScanKey) DatumGetPointer(key->sk_argument);

		q->kind = FPB_QUAL_ROW;
		q->type = member->sk_subtype;
		q->collation = member->sk_collation;
	}
	else
	{
		q->kind = (key->sk_flags & SK_SEARCHARRAY) ? FPB_QUAL_ARRAY : FPB_QUAL_OP;
		q->type = key->sk_subtype;
	}
	if (!OidIsValid(q->type))
		q->type = rel->rd_opcintype[q->col];
	q->cmp = order_proc(keys, &keys->form_cxt, q->col,
						rel->rd_opcintype[q->col], q->type);
	q->exact = true;
	if (q->cmp != NULL && OidIsValid(fpb_zone_type(q->cmp->fn_oid)))
	{
		q->zone_cmp = q->cmp;
		q->type = fpb_zone_type(q->cmp->fn_oid);
		q->cmp = order_proc(keys, &keys->form_cxt, q->col,
							rel->rd_opcintype[q->col], q->type);
	}
	if (q->cmp != NULL && !fpb_is_word(keys->ix) &&
		fpb_compares_integers(&keys->ix->cols[q->col], q->cmp))
	{
		q->integer_cmp = q->cmp;
		q->integer_type = q->type;

		/* of arrays, only elements of the column's type are kept */
		if (q->strategy == BTEqualStrategyNumber)
		{
			q->type = rel->rd_opcintype[q->col];
			q->cmp = keys->ix->cols[q->col].cmp;
		}
	}
	q->own_type = (q->type == rel->rd_opcintype[q->col]);
	if (q->kind == FPB_QUAL_ARRAY)
		q->value_cmp = order_proc(keys, &keys->form_cxt, q->col, q->type, q->type);
}

/*
 * Find the keys whose arrays are a list of keys (FPB_SK_LIST).
 */
static void
find_list(FpbScanKeys *keys)
{
	const FpbQual *last = NULL;
	bool		usable = true;

	for (int i = 0; i < keys->nquals; i++)
	{
		FpbQual    *q = &keys->quals[i];

		q->listed = (q->flags & FPB_SK_LIST) != 0;
		if (!q->listed)
			continue;
		usable = usable && q->kind == FPB_QUAL_ARRAY && q->own_type && q->cmp != NULL &&
			q->strategy == BTEqualStrategyNumber && q->zone_cmp == NULL &&
			(last == NULL || q->col == last->col + 1);
		last = q;
	}
	if (!usable)
		elog(ERROR, "scan keys of index \"%s\" are no list",
			 RelationGetRelationName(keys->ix->rel));
}

/*
 * Analyse the keys' form, unless that has been done in an earlier rescan.
 */
void
fpb_analyse_keys(FpbScanKeys *keys, ScanKey scankeys, int nkeys)
{
	bool		same = (keys->quals != NULL && keys->nquals == nkeys);

	for (int i = 0; same && i < nkeys; i++)
		same = same_form(&keys->quals[i], &scankeys[i]);
	if (same)
		return;

	if (keys->form_cxt != NULL)
		MemoryContextReset(keys->form_cxt);
	if (keys->quals != NULL)
		pfree(keys->quals);
	keys->quals = NULL;
	keys->quals = MemoryContextAlloc(keys->cxt,
									 (nkeys + 1) * (sizeof(FpbQual) + sizeof(FpbQual *)));
	keys->filters = (FpbQual **) (keys->quals + nkeys + 1);
	keys->nquals = nkeys;
	keys->simple = true;
	for (int i = 0; i < nkeys; i++)
	{
		FpbQual    *q = &keys->quals[i];

		analyse_key(keys, q, &scankeys[i]);
		if (q->kind != FPB_QUAL_OP || q->strategy != BTEqualStrategyNumber ||
			!q->own_type || q->zone_cmp != NULL || q->col != i)
			keys->simple = false;
	}
	if (!keys->simple)
		find_list(keys);
}

/*
 * Set the value of a key to an integer of another type than the column's.  It
 * is taken as one of the column's own, so that search keys have heads, and no
 * comparator is called.  If the column's type has no such integer, it stays
 * what it is.
 */
void
fpb_set_integer(FpbScanKeys *keys, FpbQual *q, Datum value)
{
	const FpbColumn *col = &keys->ix->cols[q->col];

	q->own_type = fpb_own_integer(col, value, q->integer_cmp, &q->value);
	if (!q->own_type)
		q->value = value;
	q->type = q->own_type ? keys->ix->rel->rd_opcintype[q->col] : q->integer_type;
	q->cmp = q->own_type ? col->cmp : q->integer_cmp;
}

/*
 * The memory for what must live until the next rescan.
 */
MemoryContext
fpb_array_context(FpbScanKeys *keys)
{
	return small_context(keys, &keys->array_cxt);
}

/*
 * The function that compares values of a with values of b, keys of the same
 * column; NULL if the opfamily has none.
 */
FmgrInfo *
fpb_pair_proc(FpbScanKeys *keys, const FpbQual *a, const FpbQual *b)
{
	if (a->own_type)
		return b->cmp;
	return order_proc(keys, &keys->array_cxt, a->col, a->type, b->type);
}
