/*-------------------------------------------------------------------------
 *
 * build/load.c
 *	  Loading sorted entries into the pages of a new index; the check for
 *	  duplicate keys.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/nbtree.h"
#include "commands/progress.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "storage/bulk_write.h"

#include "build/build.h"
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
 * Get a buffer for a page; write it out, or drop it if pages are only counted.
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
						  level == 0 ? fpb_build_fillfactor(load->ix, load->build->index) :
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
 * The page of a level is full: end it, begin its right sibling, whose first
 * entry will be *entry, and add the sibling's downlink to the level above.
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
	 * The fence between two leaves is the shortest key that separates them.
	 * The low fence of an inner page must be its first child's: keys between
	 * two different ones would fall into the page, but into none of its
	 * children.  If that key is too long to be the left page's high fence,
	 * the left page ends an entry earlier.
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

	/* both pages and the level above have copied the separator */
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
 * Begin to load a relation fork, whose metapage will be its first block.  Of
 * InvalidForkNumber, pages are counted and not written.
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
	FpbTupleSpace space;
	char	   *description;

	fpb_key_datums(load->ix, key, &space, values, isnull);
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
 * Compare a live entry of a unique index with the last one, and keep it for
 * the next comparison.  Raises an error if they are equal.
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
		fpb_copy_bytes(copy, key->tuple, size);
	}
	load->last = *key;
	load->last.tuple = copy;
	load->have_last = true;
}

/* ------------------------------------------------------------------------
 * The sorted entries
 * ------------------------------------------------------------------------
 */

/*
 * Is this the last entry once more?  fpbtree_expected_size reads an index
 * while others change it, and may come twice to an entry that moves.
 */
static bool
is_repeated(const FpbKey *key, const FpbKey *last)
{
	return key->head == last->head && key->low == last->low &&
		key->tail == last->tail;
}

/*
 * Sort what the build has collected, and load it into a fork of the index, or
 * into none: see fpb_load_begin.  Returns the number of pages.
 */
BlockNumber
fpb_load_sorted(FpbBuild *build, ForkNumber fork)
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
 * Load no entries: the fork becomes an empty index.
 */
void
fpb_load_nothing(FpbBuild *build, ForkNumber fork)
{
	FpbLoad		load;

	fpb_load_begin(&load, build, fork);
	fpb_load_end(&load);
}
