/*-------------------------------------------------------------------------
 *
 * driver.c
 *	  The papers' experiments: an index measured, and their baseline.
 *
 * Not part of the extension: bench/papers builds it into a server of its own
 * and declares the function there.
 *
 *	  fpb_drive(index regclass, work text, operations bigint, keys bigint,
 *				seed bigint) returns float8
 *
 * returns nanoseconds an operation (fpb_measure.h).  work is search, scan,
 * insert or delete.  With "sorted " in front, on an index of the layout
 * micro_index, pages are taken for plain sorted arrays: that is the baseline
 * of the papers, a page searched by bisection and not prefetched.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/relation.h"
#include "utils/builtins.h"
#include "utils/rel.h"

#include "fpb_inspect.h"
#include "fpb_measure.h"
#include "fpb_tree.h"

PG_FUNCTION_INFO_V1(fpb_drive);

/* --- the baseline: a page is a sorted array --- */

static FpbLayoutRoutine sorted_routine;

/*
 * The sorted heads of a micro-indexed page of words, and how many there are.
 */
static const char *
sorted_heads(const FpbIndex *ix, Page page, int *n)
{
	int			leaf_lines;
	int			inner_lines;
	int			keys;

	fpb_layout_lines(ix, &leaf_lines, &inner_lines);
	keys = (FpbPageIsLeaf(page) ? leaf_lines : inner_lines) * FPB_CACHE_LINE / ix->head_width;
	*n = FpbHdr(page)->layout[0];
	return (char *) page +
		TYPEALIGN(FPB_CACHE_LINE, sizeof(FpbPageHeader) +
				  (FpbHdr(page)->layout[1] + keys - 1) / keys * sizeof(uint64));
}

/*
 * The first slot with an entry >= probe, by bisection with branches.
 */
static void
sorted_search(const FpbIndex *ix, Page page, const FpbProbe *probe, FpbPos *pos)
{
	int			n;
	const char *heads = sorted_heads(ix, page, &n);
	int			lo = 0;
	FpbEntry	entry;

	while (lo < n)
	{
		int			mid = lo + (n - lo) / 2;
		uint64		head = ix->head_width == 4 ?
			(uint64) ((const uint32 *) heads)[mid] << 32 : ((const uint64 *) heads)[mid];

		if (head < probe->head)
			lo = mid + 1;
		else
			n = mid;
	}
	pos->place = lo;

	/* all keys differ, but an entry may have the probe's and a smaller TID */
	if (fpb_page_next(ix, page, pos, &entry) && fpb_compare(ix, &entry.key, probe) < 0)
		pos->place++;
}

/*
 * The child to descend to: the last whose key is <= probe.
 */
static BlockNumber
sorted_downlink(const FpbIndex *ix, Page page, const FpbProbe *probe,
				bool before pg_attribute_unused())
{
	FpbPos		pos;
	FpbEntry	entry;

	sorted_search(ix, page, probe, &pos);
	if (!fpb_page_next(ix, page, &pos, &entry) ||
		(pos.place > 0 && fpb_compare(ix, &entry.key, probe) > 0))
	{
		pos.place--;
		(void) fpb_page_next(ix, page, &pos, &entry);
	}
	return entry.child;
}

/* --- the function --- */

Datum
fpb_drive(PG_FUNCTION_ARGS)
{
	static const struct
	{
		const char *name;
		FpbWork		work;
	}			works[] = {
		{"search", FPB_WORK_LOOKUP}, {"scan", FPB_WORK_SCAN},
		{"insert", FPB_WORK_INSERT}, {"delete", FPB_WORK_DELETE}
	};
	Relation	rel = fpb_open_index(PG_GETARG_OID(0), RowExclusiveLock);
	char	   *work = text_to_cstring(PG_GETARG_TEXT_PP(1));
	FpbMeasured measured = {.keys = PG_GETARG_INT64(3),.seed = (uint64) PG_GETARG_INT64(4)};
	double		ns = -1;

	fpb_index_open(&measured.ix, rel);
	measured.heap = relation_open(rel->rd_index->indrelid, AccessShareLock);
	if (strncmp(work, "sorted ", 7) == 0)
	{
		if (measured.ix.layout->id != FPB_MICRO_INDEX || !fpb_is_word(&measured.ix))
			elog(ERROR, "the baseline wants words and the layout micro_index");
		work += 7;
		sorted_routine = *measured.ix.layout;
		sorted_routine.search = sorted_search;
		sorted_routine.downlink = sorted_downlink;
		measured.ix.layout = &sorted_routine;
		measured.ix.prefetch_front = measured.ix.prefetch_back = 0;
	}

	for (int i = 0; i < (int) lengthof(works); i++)
		if (strcmp(work, works[i].name) == 0)
			ns = fpb_measure(&measured, works[i].work, PG_GETARG_INT64(2));
	if (ns < 0)
		elog(ERROR, "there is no work \"%s\"", work);

	relation_close(measured.heap, AccessShareLock);
	relation_close(rel, RowExclusiveLock);
	PG_RETURN_FLOAT8(ns);
}
