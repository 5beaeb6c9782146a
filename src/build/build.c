/*-------------------------------------------------------------------------
 *
 * build/build.c
 *	  Building an index from the rows of its table.
 *
 * The table's rows are scanned and their entries sorted (build/sort.c), by
 * several processes if the planner thinks it worth while
 * (build/parallel.c).  The sorted entries are then loaded into pages from
 * left to right, on all levels of the tree at once: each level has one page
 * under construction, and when a page other than the first is begun, the level
 * above gets an entry for it.  A page's block number is given out when it is
 * begun, since its left sibling and its parent must name it.
 *
 * Pages bypass the buffer cache: storage/bulk_write.h writes and logs them.
 *
 * The phases reported in pg_stat_progress_create_index are btree's.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/nbtree.h"
#include "access/tableam.h"
#include "catalog/index.h"
#include "catalog/pg_opclass.h"
#include "commands/progress.h"
#include "miscadmin.h"
#include "optimizer/plancat.h"
#include "pgstat.h"
#include "storage/bulk_write.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/syscache.h"

#include "base/options.h"
#include "build/build.h"
#include "build/design.h"
#include "page/layout.h"
#include "tree/buffers.h"
#include "tree/verify.h"

/* The page under construction of one level. */
typedef struct FpbLoadLevel
{
	FpbFiller  *filler;
	BulkWriteBuffer buf;
	BlockNumber blkno;
} FpbLoadLevel;

/* The state of a load. */
typedef struct FpbLoad
{
	const FpbIndex *ix;
	FpbBuild   *build;
	BulkWriteState *bulk;		/* NULL: pages are counted, not written */
	BlockNumber nblocks;		/* block numbers given out */
	int			nlevels;
	FpbLoadLevel levels[FPB_MAX_LEVELS];
	int64		done;			/* entries loaded */

	/* the last live entry of a unique index */
	bool		have_last;
	FpbKey		last;
	Size		last_size;		/* bytes that last.tuple points to */
} FpbLoad;

static void fpb_load_add(FpbLoad *load, int level, const FpbEntry *entry);

/* ------------------------------------------------------------------------
 * Loading pages
 * ------------------------------------------------------------------------
 */

/*
 * A buffer for a page, and the end of it.
 */
static BulkWriteBuffer
fpb_load_get_buf(FpbLoad *load)
{
	if (load->bulk == NULL)
		return (BulkWriteBuffer) palloc_aligned(BLCKSZ, PG_IO_ALIGN_SIZE, 0);
	return smgr_bulk_get_buf(load->bulk);
}

static void
fpb_load_write(FpbLoad *load, BlockNumber blkno, BulkWriteBuffer buf)
{
	if (load->bulk == NULL)
		pfree(buf);
	else
		smgr_bulk_write(load->bulk, blkno, buf, true);
}

/*
 * Begin the next page of a level; low is NULL for the first.
 */
static void
fpb_load_begin_page(FpbLoad *load, int level, BlockNumber blkno,
					const FpbKey *low)
{
	FpbLoadLevel *l = &load->levels[level];

	l->buf = fpb_load_get_buf(load);
	l->blkno = blkno;
	fpb_filler_begin(l->filler, (Page) l->buf,
					 (level == 0 ? FPB_LEAF : 0) | (low ? 0 : FPB_LEFTMOST),
					 low);
}

/*
 * Begin a level with its leftmost page.
 */
static void
fpb_load_begin_level(FpbLoad *load)
{
	int			level = load->nlevels;

	if (level == FPB_MAX_LEVELS)
		elog(ERROR, "index \"%s\" has too many levels",
			 RelationGetRelationName(load->build->index));
	load->levels[level].filler =
		fpb_filler_create(load->ix, level,
						  level == 0 ? fpb_fillfactor(load->build->index) :
						  FPB_INNER_FILLFACTOR);
	load->nlevels++;
	fpb_load_begin_page(load, level, load->nblocks++, NULL);
}

/*
 * End the page under construction and write it out; high is NULL for the last
 * of its level.
 */
static void
fpb_load_end_page(FpbLoad *load, int level, const FpbKey *high,
				  BlockNumber right)
{
	FpbLoadLevel *l = &load->levels[level];

	fpb_filler_end(l->filler, high, right);
	if (high == NULL)
		FpbHdr((Page) l->buf)->flags |= FPB_RIGHTMOST;
	fpb_verify_page(load->ix, (Page) l->buf);

	/* its downlink is the last entry there */
	if (level + 1 < load->nlevels)
		fpb_filler_child(load->levels[level + 1].filler, (Page) l->buf);
	fpb_load_write(load, l->blkno, l->buf);
	l->buf = NULL;
}

/*
 * The page of a level is full: end it and begin its right sibling, whose first
 * entry this will be, and tell the level above of that.
 */
static void
fpb_load_next_page(FpbLoad *load, int level, const FpbEntry *entry)
{
	FpbLoadLevel *l = &load->levels[level];
	BlockNumber left = l->blkno;
	FpbEntry	popped;
	FpbEntry	parent;

	CHECK_FOR_INTERRUPTS();

	/*
	 * Between leaves is the shortest key that parts them.  An inner page must
	 * begin with its first child's own low fence: else keys between the two
	 * would fall into the page, but into none of its children.  If that is
	 * too long to be the left page's high fence, the page ends an entry
	 * earlier.
	 */
	popped.key.tuple = NULL;
	if (level == 0)
		fpb_key_separator(load->ix, fpb_filler_last(l->filler), &entry->key,
						  &parent.key);
	else if (fpb_filler_fence_fits(l->filler, &entry->key))
		parent.key = entry->key;
	else
	{
		fpb_filler_pop(l->filler, &popped);
		parent.key = popped.key;
	}
	parent.child = load->nblocks++;

	if (level + 1 == load->nlevels)
	{
		FpbEntry	first;

		fpb_load_begin_level(load);
		fpb_key_minus_infinity(load->ix, &first.key);
		first.child = left;
		fpb_load_add(load, level + 1, &first);
		if (first.key.tuple)
			pfree(first.key.tuple);
	}
	fpb_load_end_page(load, level, &parent.key, parent.child);
	fpb_load_begin_page(load, level, parent.child, &parent.key);
	fpb_load_add(load, level + 1, &parent);

	if (popped.key.tuple != NULL && !fpb_filler_add(l->filler, &popped))
		elog(ERROR, "entry does not fit an empty page of index \"%s\"",
			 RelationGetRelationName(load->build->index));

	/* the separator has been copied by all who need it */
	if (parent.key.tuple && (level == 0 || popped.key.tuple))
		pfree(parent.key.tuple);
}

/*
 * Add the next entry to a level.
 */
static void
fpb_load_add(FpbLoad *load, int level, const FpbEntry *entry)
{
	if (fpb_filler_add(load->levels[level].filler, entry))
		return;
	fpb_load_next_page(load, level, entry);
	if (!fpb_filler_add(load->levels[level].filler, entry))
		elog(ERROR, "entry does not fit an empty page of index \"%s\"",
			 RelationGetRelationName(load->build->index));
	if (level == 0)
		pgstat_progress_update_param(PROGRESS_CREATEIDX_TUPLES_DONE,
									 load->done);
}

/*
 * Begin to load a relation fork, whose metapage will be its first block; or
 * none, InvalidForkNumber, if pages are only to be counted.
 */
static void
fpb_load_begin(FpbLoad *load, FpbBuild *build, ForkNumber fork)
{
	memset(load, 0, sizeof(FpbLoad));
	load->ix = &build->ix;
	load->build = build;
	if (fork != InvalidForkNumber)
		load->bulk = smgr_bulk_start_rel(build->index, fork);
	load->nblocks = FPB_METAPAGE + 1;
	fpb_load_begin_level(load);
}

/*
 * End the last page of each level, and write the metapage.
 */
static void
fpb_load_end(FpbLoad *load)
{
	int			top = load->nlevels - 1;
	BulkWriteBuffer meta;

	for (int level = 0; level <= top; level++)
		fpb_load_end_page(load, level, NULL, InvalidBlockNumber);

	meta = fpb_load_get_buf(load);
	fpb_meta_init(load->ix, (Page) meta, load->levels[top].blkno, top);
	fpb_load_write(load, FPB_METAPAGE, meta);
	if (load->bulk != NULL)
		smgr_bulk_finish(load->bulk);
}

/* ------------------------------------------------------------------------
 * Uniqueness
 * ------------------------------------------------------------------------
 */

/*
 * Raise the error of a key that two live rows share.
 */
static void
fpb_report_duplicate(FpbLoad *load, const FpbKey *key)
{
	FpbBuild   *build = load->build;
	Datum		values[INDEX_MAX_KEYS];
	bool		isnull[INDEX_MAX_KEYS];
	char	   *description;

	fpb_key_datums(load->ix, key, values, isnull);
	description = BuildIndexValueDescription(build->index, values, isnull);
	ereport(ERROR,
			(errcode(ERRCODE_UNIQUE_VIOLATION),
			 errmsg("could not create unique index \"%s\"",
					RelationGetRelationName(build->index)),
			 description ? errdetail("Key %s is duplicated.", description) :
			 errdetail("Duplicate keys exist."),
			 errtableconstraint(build->heap,
								RelationGetRelationName(build->index))));
}

/*
 * Compare a live entry of a unique index with the one before, and keep it for
 * the next.  Raises an error if they are equal.
 */
static void
fpb_check_unique(FpbLoad *load, const FpbKey *key)
{
	const FpbIndex *ix = load->ix;
	IndexTuple	copy;

	if (load->have_last &&
		load->last.head == key->head && load->last.low == key->low &&
		fpb_keys_equal(ix, &load->last, key) &&
		(load->build->nulls_not_distinct || !fpb_key_has_null(ix, key)))
		fpb_report_duplicate(load, key);

	/* the sort's tuple goes away with the next */
	copy = load->last.tuple;
	if (key->tuple)
	{
		Size		size = IndexTupleSize(key->tuple);

		if (size > load->last_size)
		{
			if (copy)
				pfree(copy);
			load->last_size = size * 2;
			copy = (IndexTuple) palloc(load->last_size);
		}
		memcpy(copy, key->tuple, size);
	}
	load->last = *key;
	load->last.tuple = copy;
	load->have_last = true;
}

/* ------------------------------------------------------------------------
 * The build
 * ------------------------------------------------------------------------
 */

/*
 * Decide what an index will be that is about to be built.  Support functions
 * of operator classes are called, so the caller has become the index's owner.
 */
static void
decide(const FpbIndex *ix, FpbDecision *decision)
{
	FpbPurpose	purpose = fpb_wanted_design(ix->rel, &decision->design);

	fpb_complete_design(ix->form, purpose, !RelationUsesLocalBuffers(ix->rel),
						&decision->design);
	decision->one_key = fpb_may_share_keys(ix);
}

/*
 * Set up what a participant needs to know of the build.  All of them have to
 * make the same of the index: the leader (decision = NULL) decides what.
 */
void
fpb_build_init(FpbBuild *build, Relation heap, Relation index, bool unique,
			   bool nulls_not_distinct, const FpbDecision *decision)
{
	const FpbDesign *design = &build->decision.design;

	memset(build, 0, sizeof(FpbBuild));
	fpb_index_describe(&build->ix, index);
	if (decision != NULL)
		build->decision = *decision;
	else
		decide(&build->ix, &build->decision);
	build->ix.one_key = build->decision.one_key;
	build->ix.layout = fpb_layout_routine(design->layout);
	build->ix.csb = design->node_format == FPB_NODES_CSB;
	fpb_layout_search(&build->ix, design->node_search == FPB_SEARCH_BISECTING,
					  design->node_prefetch);
	fpb_layout_choose(&build->ix, design->leaf_lines);
	build->heap = heap;
	build->index = index;
	build->unique = unique;
	build->nulls_not_distinct = nulls_not_distinct;
	build->rowcxt = AllocSetContextCreate(CurrentMemoryContext,
										  "fpbtree build row",
										  ALLOCSET_DEFAULT_SIZES);
}

/*
 * How many rows a table probably has.
 */
double
fpb_expected_rows(Relation heap)
{
	BlockNumber pages;
	double		tuples;
	double		allvisfrac;

	estimate_rel_size(heap, NULL, &pages, &tuples, &allvisfrac);
	return tuples;
}

/*
 * Take a row of the table scan: IndexBuildCallback.
 */
void
fpb_build_callback(Relation index pg_attribute_unused(), ItemPointer tid, Datum *values,
				   bool *isnull, bool tupleIsAlive, void *state)
{
	FpbBuild   *build = (FpbBuild *) state;
	FpbSort    *sort = build->sort;
	FpbKey		key;

	if (!tupleIsAlive && build->dead)
	{
		sort = build->dead;
		build->havedead = true;
	}

	if (fpb_is_word(&build->ix))
	{
		fpb_key_form(&build->ix, values, isnull, tid, &key);
		fpb_sort_put(sort, &key);
	}
	else
	{
		MemoryContext old = MemoryContextSwitchTo(build->rowcxt);

		fpb_key_form(&build->ix, values, isnull, tid, &key);
		fpb_check_key_size(&build->ix, build->heap, &key);
		fpb_sort_put(sort, &key);
		MemoryContextSwitchTo(old);
		MemoryContextReset(build->rowcxt);
	}
	build->indtuples += 1;
}

/*
 * Scan the table and put its rows' entries in the sorts.  Returns the number
 * of live rows.
 */
static double
fpb_build_scan(FpbBuild *build, IndexInfo *indexInfo)
{
	const int	progress_index[] = {
		PROGRESS_CREATEIDX_TUPLES_TOTAL,
		PROGRESS_SCAN_BLOCKS_TOTAL,
		PROGRESS_SCAN_BLOCKS_DONE
	};
	int64		progress_vals[] = {0, 0, 0};
	bool		concurrent = indexInfo->ii_Concurrent;
	FpbRanges	ranges;
	double		reltuples;

	pgstat_progress_update_param(PROGRESS_CREATEIDX_SUBPHASE,
								 PROGRESS_BTREE_PHASE_INDEXBUILD_TABLESCAN);

	if (indexInfo->ii_ParallelWorkers > 0 &&
		fpb_parallel_begin(build, concurrent, indexInfo->ii_ParallelWorkers))
		reltuples = fpb_parallel_scan(build, indexInfo);
	else
	{
		/* the few dead rows there may be don't deserve as much memory */
		build->sort = fpb_sort_begin(&build->ix, maintenance_work_mem,
									 fpb_expected_rows(build->heap), NULL, 0);
		if (build->unique)
			build->dead = fpb_sort_begin(&build->ix, work_mem, 0, NULL, 0);

		if (fpb_scans_ranges(build->heap, concurrent))
		{
			fpb_ranges_init(&ranges, build->heap);
			reltuples = fpb_scan_ranges(build, indexInfo, &ranges, true);
		}
		else
			reltuples = table_index_build_scan(build->heap, build->index,
											   indexInfo, true, true,
											   fpb_build_callback, build, NULL);
	}

	progress_vals[0] = (int64) build->indtuples;
	pgstat_progress_update_multi_param(3, progress_index, progress_vals);

	if (build->dead && !build->havedead)
	{
		fpb_sort_end(build->dead);
		build->dead = NULL;
	}
	return reltuples;
}

/*
 * Is it the last entry once more?  An index that is read while others change
 * it, as fpbtree_expected_size does, may show one that has moved twice.
 */
static bool
is_repeated(const FpbKey *key, const FpbKey *last)
{
	return key->head == last->head && key->low == last->low &&
		key->tail == last->tail;
}

/*
 * Load the sorted entries into a fork of the index, or none: see
 * fpb_load_begin.  Returns the number of pages.
 */
BlockNumber
fpb_build_load(FpbBuild *build, ForkNumber fork)
{
	FpbLoad		load;
	FpbEntry	live;
	FpbEntry	dead;
	FpbKey		last = {0};		/* but for its tuple, which is gone */
	bool		have_live;
	bool		have_dead;

	pgstat_progress_update_param(PROGRESS_CREATEIDX_SUBPHASE,
								 PROGRESS_BTREE_PHASE_PERFORMSORT_1);
	fpb_sort_perform(build->sort);
	if (build->dead)
	{
		pgstat_progress_update_param(PROGRESS_CREATEIDX_SUBPHASE,
									 PROGRESS_BTREE_PHASE_PERFORMSORT_2);
		fpb_sort_perform(build->dead);
	}

	pgstat_progress_update_param(PROGRESS_CREATEIDX_SUBPHASE,
								 PROGRESS_BTREE_PHASE_LEAF_LOAD);
	fpb_load_begin(&load, build, fork);
	live.child = dead.child = InvalidBlockNumber;
	have_live = fpb_sort_get(build->sort, &live.key);
	have_dead = build->dead && fpb_sort_get(build->dead, &dead.key);
	while (have_live || have_dead)
	{
		if (have_live &&
			(!have_dead ||
			 fpb_compare_keys(&build->ix, &live.key, &dead.key) < 0))
		{
			if (build->unique)
				fpb_check_unique(&load, &live.key);
			if (fork != InvalidForkNumber || !is_repeated(&live.key, &last))
				fpb_load_add(&load, 0, &live);
			last = live.key;
			have_live = fpb_sort_get(build->sort, &live.key);
		}
		else
		{
			fpb_load_add(&load, 0, &dead);
			have_dead = fpb_sort_get(build->dead, &dead.key);
		}
		load.done++;
	}
	pgstat_progress_update_param(PROGRESS_CREATEIDX_TUPLES_DONE, load.done);
	fpb_load_end(&load);
	return load.nblocks;
}

/*
 * Raise an error if a column compares bytewise, as text_pattern_ops does, but
 * has a nondeterministic collation, to which "=" would adhere: values that are
 * equal would not be found.  For btree's operator classes, which it knows by
 * their OIDs, the server itself sees to that.
 */
static void
check_collations(Relation index)
{
	for (int i = 0; i < IndexRelationGetNumberOfKeyAttributes(index); i++)
	{
		Oid			proc = index_getprocid(index, i + 1, FPB_ORDER_PROC);
		HeapTuple	tuple;

		if ((proc != F_BTTEXT_PATTERN_CMP && proc != F_BTBPCHAR_PATTERN_CMP) ||
			get_collation_isdeterministic(index->rd_indcollation[i]))
			continue;
		tuple = SearchSysCache1(CLAOID,
								ObjectIdGetDatum(get_index_column_opclass(RelationGetRelid(index), i + 1)));
		if (!HeapTupleIsValid(tuple))
			elog(ERROR, "cache lookup failed for the operator class of column %d of index \"%s\"",
				 i + 1, RelationGetRelationName(index));
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("nondeterministic collations are not supported for operator class \"%s\"",
						NameStr(((Form_pg_opclass) GETSTRUCT(tuple))->opcname))));
	}
}

/*
 * Build a new index: ambuild.
 */
IndexBuildResult *
fpb_build(Relation heap, Relation index, IndexInfo *indexInfo)
{
	MemoryContext cxt;
	MemoryContext old;
	FpbBuild	build;
	IndexBuildResult *result;

	if (RelationGetNumberOfBlocks(index) != 0)
		elog(ERROR, "index \"%s\" already contains data",
			 RelationGetRelationName(index));
	check_collations(index);

	result = (IndexBuildResult *) palloc(sizeof(IndexBuildResult));
	cxt = AllocSetContextCreate(CurrentMemoryContext, "fpbtree build",
								ALLOCSET_DEFAULT_SIZES);
	old = MemoryContextSwitchTo(cxt);

	fpb_build_init(&build, heap, index, indexInfo->ii_Unique,
				   indexInfo->ii_NullsNotDistinct, NULL);
	result->heap_tuples = fpb_build_scan(&build, indexInfo);
	fpb_build_load(&build, MAIN_FORKNUM);
	result->index_tuples = build.indtuples;
	fpb_report_build(&build);

	fpb_sort_end(build.sort);
	if (build.dead)
		fpb_sort_end(build.dead);
	if (build.parallel)
		fpb_parallel_end(&build);

	MemoryContextSwitchTo(old);
	MemoryContextDelete(cxt);
	return result;
}

/*
 * Write an empty index into the init fork of an unlogged one: ambuildempty.
 */
void
fpb_buildempty(Relation index)
{
	MemoryContext cxt = AllocSetContextCreate(CurrentMemoryContext,
											  "fpbtree build",
											  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(cxt);
	FpbBuild	build;
	FpbLoad		load;

	fpb_build_init(&build, NULL, index, false, false, NULL);
	fpb_load_begin(&load, &build, INIT_FORKNUM);
	fpb_load_end(&load);

	MemoryContextSwitchTo(old);
	MemoryContextDelete(cxt);
}
