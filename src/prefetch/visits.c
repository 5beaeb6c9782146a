/*-------------------------------------------------------------------------
 *
 * prefetch/visits.c
 *	  Visits to leaves of the main tree that entries are to be put into.
 *
 * The entries are in order, so one visit to a leaf serves all that belong
 * there.  The level above, as an internal jump-pointer array, names the leaves
 * that will be visited next, and these are prefetched (pio-btree, 3.1).
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"

#include "prefetch/prefetch.h"

/*
 * Find out which leaves n entries belong to.  Fills visits[], which has room
 * for as many, and returns how many visits there are.  No lock is held on
 * entry or exit.
 */
int
fpb_find_visits(FpbWalk *walk, const FpbEntry *entries, int n, FpbVisit *visits)
{
	int			nvisits = 0;
	int			next = 0;		/* the first entry without a visit */

	/* a tree without a level above its leaves has a single one */
	if ((int) walk->ix->level < walk->level && n > 0)
	{
		visits[0] = (FpbVisit)
		{
			.nentries = n,.leaf = InvalidBlockNumber
		};
		return 1;
	}
	while (next < n)
	{
		FpbVisit   *visit = &visits[nvisits++];
		FpbSearchKey search;

		CHECK_FOR_INTERRUPTS();
		visit->first = next;
		visit->leaf = InvalidBlockNumber;
		fpb_search_key_from(walk->ix, &entries[next++].key, &search);
		if (fpb_walk_seek(walk, &search, false))
		{
			visit->leaf = walk->child.child;
			for (; next < n; next++)
			{
				fpb_search_key_from(walk->ix, &entries[next].key, &search);
				if (fpb_walk_compare_high(walk, &search) <= 0)
					break;
			}
		}
		visit->nentries = next - visit->first;
	}
	return nvisits;
}

/*
 * Visit number at is to be made.  Announce it and those behind it, and start
 * reads, as far as the window wants that.  *announced is how many of the
 * visits have been announced, 0 at first.  A single leaf is read where it is
 * visited.
 */
void
fpb_announce_visits(FpbWindow *window, const FpbVisit *visits, int nvisits, int at,
					int *announced)
{
	/* a page still announced was not visited: the leaf has been split */
	if (*announced <= at)
		fpb_window_reset(window, 0);
	while (*announced < nvisits && (*announced <= at || fpb_window_wants(window)))
	{
		const FpbVisit *visit = &visits[(*announced)++];

		if (window->max_distance > 0 && nvisits > 1 && visit->leaf != InvalidBlockNumber)
			fpb_window_add(window, visit->leaf, 0);
	}
	fpb_window_start(window);
}
