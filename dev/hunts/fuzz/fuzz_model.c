/*-------------------------------------------------------------------------
 *
 * fuzz_model.c
 *	  The page fuzzer's model of a page: an array of entries, sorted by place.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fuzz.h"

/*
 * Index of the first of n entries at or behind a place.
 */
int
fuzz_find(const FuzzEntry *entries, int n, uint64 place)
{
	int			lo = 0;

	while (lo < n)
	{
		int			mid = lo + (n - lo) / 2;

		if (entries[mid].place < place)
			lo = mid + 1;
		else
			n = mid;
	}
	return lo;
}

/*
 * Has the page an entry at this place?
 */
bool
fuzz_has(const Fuzz *f, uint64 place)
{
	int			at = fuzz_find(f->model, f->nmodel, place);

	return at < f->nmodel && f->model[at].place == place;
}

/*
 * Insert an entry before the at'th.
 */
void
fuzz_model_insert(Fuzz *f, int at, const FuzzEntry *entry)
{
	memmove(f->model + at + 1, f->model + at,
			(f->nmodel - at) * sizeof(FuzzEntry));
	f->model[at] = *entry;
	f->nmodel++;
}

static int
compare_entries(const void *a, const void *b)
{
	uint64		pa = ((const FuzzEntry *) a)->place;
	uint64		pb = ((const FuzzEntry *) b)->place;

	return pa < pb ? -1 : pa > pb;
}

/*
 * Sort entries and drop all but one at each place; returns how many stay.
 */
int
fuzz_sort(FuzzEntry *entries, int n)
{
	int			kept = 0;

	qsort(entries, n, sizeof(FuzzEntry), compare_entries);
	for (int i = 0; i < n; i++)
		if (kept == 0 || entries[kept - 1].place != entries[i].place)
			entries[kept++] = entries[i];
	return kept;
}
