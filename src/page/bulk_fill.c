/*-------------------------------------------------------------------------
 *
 * page/bulk_fill.c
 *	  Bulk load: filling pages with entries that come in order.
 *
 * When a page is full its layout says; here is what all layouts do alike.  A
 * page has two entries, if they fit, however low the fill factor.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "page/layout.h"

/*
 * See page/layout.h.
 */
FpbFiller *
fpb_filler_create(const FpbIndex *ix, int level, int fillfactor)
{
	FpbFiller  *filler = palloc0(sizeof(FpbFiller));

	filler->ix = ix;
	filler->level = level;
	filler->slack = 100 - fillfactor;
	filler->entries = palloc(sizeof(FpbEntry) * FPB_MAX_PAGE_ENTRIES);
	filler->context = BumpContextCreate(CurrentMemoryContext,
										"fpbtree page filler",
										ALLOCSET_DEFAULT_SIZES);
	return filler;
}

/*
 * Copy a tuple into the filler's memory for the page.
 */
static void
keep_tuple(FpbFiller *filler, FpbKey *key)
{
	if (key->tuple != NULL)
	{
		Size		size = IndexTupleSize(key->tuple);
		IndexTuple	copy = MemoryContextAlloc(filler->context, size);

		fpb_copy_bytes(copy, key->tuple, size);
		key->tuple = copy;
	}
}

/*
 * See page/layout.h.
 */
void
fpb_filler_begin(FpbFiller *filler, Page page, int flags, const FpbKey *low)
{
	filler->page = page;
	filler->flags = flags;
	filler->nentries = 0;
	filler->children = NULL;
	MemoryContextReset(filler->context);
	filler->low = NULL;
	if (low != NULL)
	{
		filler->low_key = *low;
		filler->low = &filler->low_key;
		keep_tuple(filler, filler->low);
	}
	filler->ix->layout->filler_begin(filler);
}

/*
 * See page/layout.h.
 */
bool
fpb_filler_add(FpbFiller *filler, const FpbEntry *entry)
{
	FpbEntry   *end = &filler->entries[filler->nentries];
	bool		same = filler->nentries > 0 && filler->ix->one_key && filler->level == 0 &&
		fpb_keys_identical(filler->ix, &end[-1].key, &entry->key);

	if (filler->nentries >= FPB_MAX_PAGE_ENTRIES ||
		!filler->ix->layout->filler_take(filler, entry, same))
		return false;
	*end = *entry;
	if (same)
		end->key.tuple = end[-1].key.tuple;
	else
		keep_tuple(filler, &end->key);
	filler->nentries++;
	return true;
}

/*
 * Write the page.  False if it does not fit.
 */
static bool
write_page(FpbFiller *filler, FpbPageContent *content)
{
	FpbPrefixChoice last = filler->level == 0 && filler->ix->cut_most > 0 ?
		FPB_PREFIX_LONGEST : FPB_PREFIX_LASTING;
	bool		fits = false;

	for (FpbPrefixChoice choice = FPB_PREFIX_LASTING; choice <= last && !fits; choice++)
	{
		fpb_choose_prefix(filler->ix, content, choice);
		fits = filler->ix->layout->filler_write(filler, content);
		fpb_forget_prefix(content, filler->entries);
	}
	return fits;
}

/*
 * See page/layout.h.
 */
void
fpb_filler_end(FpbFiller *filler, const FpbKey *high, BlockNumber right)
{
	FpbPageContent content = {.level = filler->level,.flags = filler->flags,
		.right = right,.low = filler->low,.high = high,
	.entries = filler->entries,.nentries = filler->nentries};
	FpbKey		elided;

	if (write_page(filler, &content))
		return;
	if (high != NULL)
	{
		elided = *high;
		elided.tuple = NULL;
		content.high = &elided;
		if (write_page(filler, &content))
			return;
	}
	elog(ERROR, "%d entries do not fit a page of index \"%s\"",
		 filler->nentries, RelationGetRelationName(filler->ix->rel));
}

/*
 * See page/layout.h.
 */
bool
fpb_filler_fence_fits(const FpbFiller *filler, const FpbKey *high)
{
	return filler->ix->layout->filler_fence_fits(filler, high);
}

/*
 * See page/layout.h.
 */
void
fpb_filler_pop(FpbFiller *filler, FpbEntry *entry)
{
	Assert(filler->nentries > 1);
	*entry = filler->entries[--filler->nentries];
	if (entry->key.tuple != NULL)
	{
		Size		size = IndexTupleSize(entry->key.tuple);
		IndexTuple	copy = palloc(size);

		memcpy(copy, entry->key.tuple, size);
		entry->key.tuple = copy;
	}
}

/*
 * See page/layout.h.
 */
const FpbKey *
fpb_filler_last(const FpbFiller *filler)
{
	Assert(filler->nentries > 0);
	return &filler->entries[filler->nentries - 1].key;
}
