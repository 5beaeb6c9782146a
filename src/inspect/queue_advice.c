/*-------------------------------------------------------------------------
 *
 * inspect/queue_advice.c
 *	  fpbtree_queue_advice(): what an operation queue would be worth, how large
 *	  it should be, and how many reads should be in flight.
 *
 * The cost model is that of pio-btree, sections 3.5 and 3.6.  Our queue is one
 * tree, from which the entries for one leaf move at a time.  Costs are times
 * of the storage.  Those of the processor are left out, and so are inner
 * pages, which are in memory.  With N leaves, B buffers and a queue of Q
 * pages, each of which has room for E entries:
 *
 *	miss(Q) = 1 - (B - Q) / N			share of leaves that have to be read
 *	k(Q) = 2 * FILLED * E * Q / N		entries that move at a visit to a leaf:
 *										visits are to leaves that have waited
 *										longest, for twice the average
 *	lookup(Q) = miss(Q) * read alone
 *	insertion(0) = miss(0) * read alone + write
 *	insertion(Q) = (miss(Q) * read in flight + write) / k(Q)
 *										in a unique index and lookup(Q)
 *
 * The best queue has the least sum of both, weighted by the share of
 * insertions.
 *
 * Of two tiers the second has R pages, the geometric mean of Q and N, or B if
 * that is less.  Its pages are visited more often than those of the main tree,
 * so they are the first to stay in memory.  A visit moves entries as above, in
 * two steps.  Lookups are told which keys it lacks:
 *
 *	miss2(Q) = 1 - (B - Q) / R
 *	insertion2(Q) = (miss2(Q) * read in flight + write) * R / (2 * FILLED * E * Q)
 *					+ (miss(Q + R) * read in flight + write) * N / (2 * FILLED * E * R)
 *	lookup2(Q) = miss(Q + R) * read alone
 *
 * If a leaf gets i insertions between two checkpoints, its image is logged
 * once for i of them without a queue, and once for max(i, k) with one.  So a
 * queue saves no WAL if k <= i.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/relation.h"
#include "common/pg_prng.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "utils/builtins.h"
#include "utils/rel.h"
#include "utils/tuplestore.h"

#include "base/options.h"
#include "base/queue_memory.h"
#include "base/shared.h"
#include "base/open_index.h"
#include "inspect/io_timing.h"
#include "prefetch/prefetch.h"
#include "tree/tree.h"

PG_FUNCTION_INFO_V1(fpbtree_queue_advice);

/* how full a page of the queue is on average */
#define FILLED			0.6

/* how many pages are sampled */
#define SAMPLE			64

/* the largest queue considered, as a fraction of the buffers and of the leaves */
#define BUFFERS_SHARE	2
#define LEAVES_SHARE	4

/* the smallest queue that costs no more than this times the least is advised */
#define GOOD_ENOUGH		1.03

/* a queue is worth it if it costs no more than this times no queue */
#define WORTH_IT		0.95

/* the fewest reads in flight with no more than this times the least time */
#define FLIGHT_ENOUGH	1.1

/* what costs are computed from */
typedef struct Model
{
	double		leaves;			/* N */
	double		page_entries;	/* E */
	double		insertions;		/* the share of operations that they are */
	bool		unique;			/* does an insertion read its leaf in any
								 * case? */
	FpbStorage	storage;
	int			depth;			/* 2^depth reads are in flight */
} Model;

/*
 * The share of so many pages that have to be read, if the others that are in
 * memory are so many.
 */
static double
miss_of(double pages, double others)
{
	double		rest = 1 - (NBuffers - others) / pages;

	return Min(Max(rest, 0), 1);
}

static double
miss(const Model *m, double queue)
{
	return miss_of(m->leaves, queue);
}

/*
 * How many entries move from one tree to another at a visit.
 */
static double
moved_entries(const Model *m, double from, double to)
{
	return Max(2 * FILLED * m->page_entries * from / to, 1);
}

static double
visit_entries(const Model *m, double queue)
{
	return moved_entries(m, queue, m->leaves);
}

static double
lookup_cost(const Model *m, double queue)
{
	return miss(m, queue) * m->storage.read[0];
}

static double
insertion_cost(const Model *m, double queue)
{
	int			depth = queue > 0 ? m->depth : 0;
	double		check = m->unique && queue > 0 ? lookup_cost(m, queue) : 0;

	return check + (miss(m, queue) * m->storage.read[depth] + m->storage.write_many) /
		(queue > 0 ? visit_entries(m, queue) : 1);
}

static double
cost(const Model *m, double queue)
{
	return m->insertions * insertion_cost(m, queue) +
		(1 - m->insertions) * lookup_cost(m, queue);
}

/*
 * The pages of a tier 2 below a tier 1 of so many.
 */
static double
second_tier(const Model *m, double queue)
{
	return Max(Min(sqrt(queue * m->leaves), NBuffers), 1);
}

/*
 * The cost of an insertion by way of two tiers.
 */
static double
two_tiers_insertion_cost(const Model *m, double queue)
{
	double		second = second_tier(m, queue);
	double		read = m->storage.read[m->depth];
	double		check = m->unique ? lookup_cost(m, queue + second) : 0;

	return check +
		(miss_of(second, queue) * read + m->storage.write_many) / moved_entries(m, queue, second) +
		(miss(m, queue + second) * read + m->storage.write_many) / moved_entries(m, second, m->leaves);
}

static double
two_tiers_cost(const Model *m, double queue)
{
	return m->insertions * two_tiers_insertion_cost(m, queue) +
		(1 - m->insertions) * lookup_cost(m, queue + second_tier(m, queue));
}

/*
 * The logarithm (base 2) of the fewest reads in flight that are good enough.
 */
static int
best_depth(const FpbStorage *storage)
{
	double		least = storage->read[0];

	for (int i = 1; i < storage->ndepths; i++)
		least = Min(least, storage->read[i]);
	for (int i = 0; i < storage->ndepths; i++)
		if (storage->read[i] <= least * FLIGHT_ENOUGH)
			return i;
	pg_unreachable();
}

/*
 * The smallest queue that is good enough, in pages.
 */
static double
best_queue(const Model *m)
{
	double		most = Min((double) NBuffers / BUFFERS_SHARE, m->leaves / LEAVES_SHARE);
	double		least = INFINITY;

	most = Max(most, FPB_MIN_QUEUE_PAGES);
	for (double q = FPB_MIN_QUEUE_PAGES; q <= most; q *= M_SQRT2)
		least = Min(least, cost(m, q));
	for (double q = FPB_MIN_QUEUE_PAGES; q <= most; q *= M_SQRT2)
		if (cost(m, q) <= least * GOOD_ENOUGH)
			return floor(q);
	pg_unreachable();
}

/*
 * Sample pages to find how many entries a full leaf of the main tree would
 * have, and which part of the pages are such leaves.
 */
static void
sample_leaves(FpbIndex *ix, BlockNumber nblocks, double *page_entries, double *part)
{
	int			pages = (int) Min(nblocks - 1, SAMPLE);
	int			leaves = 0;
	double		entries = 0;
	double		fullness = 0;
	FpbItem    *items = palloc(sizeof(FpbItem) * FPB_MAX_PAGE_ENTRIES);

	for (int i = 0; i < pages; i++)
	{
		BlockNumber block = pg_prng_uint64_range(&pg_global_prng_state, 1, nblocks - 1);
		Buffer		buf = ReadBuffer(ix->rel, block);
		Page		page = BufferGetPage(buf);

		CHECK_FOR_INTERRUPTS();
		LockBuffer(buf, BUFFER_LOCK_SHARE);
		if (!PageIsNew(page))
		{
			fpb_checkpage(ix, buf);
			if (FpbPageIsLeaf(page) && !FpbPageIsDeleted(page) && !FpbPageIsQueue(page))
			{
				bool		more;
				int			n = fpb_page_read(ix, page, FPB_POS_FIRST, NULL, false, items,
											  FPB_MAX_PAGE_ENTRIES, &more);

				fullness += fpb_items_fullness(ix, items, n);
				entries += n;
				leaves++;
			}
		}
		fpb_relbuf(buf);
	}
	pfree(items);
	*part = pages == 0 ? 0 : (double) leaves / pages;
	*page_entries = fullness == 0 ? 0 : entries * 100 / fullness;
}

/*
 * Add a row to the result.
 */
static void
tell(ReturnSetInfo *result, const char *name, const char *current,
	 const char *advised, const char *reason)
{
	const char *texts[] = {name, current, advised, reason};
	Datum		values[lengthof(texts)];
	bool		nulls[lengthof(texts)];

	for (int i = 0; i < lengthof(texts); i++)
	{
		nulls[i] = texts[i] == NULL;
		values[i] = nulls[i] ? (Datum) 0 : CStringGetTextDatum(texts[i]);
	}
	tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
}

/*
 * When insertions go to the queue, as things are.
 */
static const char *
mode_name(const FpbIndex *ix)
{
	return fpb_queue_mode_name(ix->may_queue ? fpb_queue_mode(ix->rel) : FPB_QUEUE_OFF);
}

static void
tell_queue(ReturnSetInfo *result, const FpbIndex *ix, const Model *m, double queue, bool worth_it)
{
	BlockNumber nblocks = RelationGetNumberOfBlocks(ix->rel);

	tell(result, "operation_queue",
		 mode_name(ix),
		 fpb_queue_mode_name(!worth_it ? FPB_QUEUE_OFF : ix->may_queue ? FPB_QUEUE_AUTO : FPB_QUEUE_ON),
		 psprintf("an insertion takes %.1f us without a queue, and %.1f us with one of %.0f pages; a lookup %.1f us and %.1f us",
				  insertion_cost(m, 0), insertion_cost(m, queue), queue,
				  lookup_cost(m, 0), lookup_cost(m, queue)));
	tell(result, "opq_size",
		 psprintf("%.0f", fpb_tier_limit(ix->rel, fpb_shared_of(RelationGetRelid(ix->rel)),
										 nblocks, 1) * (BLCKSZ / 1024.0)),
		 worth_it ? psprintf("%.0f", queue * (BLCKSZ / 1024.0)) : NULL,
		 psprintf("the index has %.0f leaves; %.1f%% of those asked for are not in memory",
				  m->leaves, 100 * miss(m, queue)));
}

static void
tell_tiers(ReturnSetInfo *result, const FpbIndex *ix, const Model *m, double queue)
{
	int			tiers = fpb_queue_tiers(ix->rel, fpb_shared_of(RelationGetRelid(ix->rel)),
										RelationGetNumberOfBlocks(ix->rel),
										ix->tier_roots[FPB_TIERS - 1] != FPB_METAPAGE);

	tell(result, "queue_tiers",
		 psprintf("%d", tiers),
		 two_tiers_cost(m, queue) <= cost(m, queue) * WORTH_IT ? "2" : "1",
		 psprintf("an insertion takes %.1f us with one tier, and %.1f us with a second one of %.0f pages; a lookup %.1f us and %.1f us",
				  insertion_cost(m, queue), two_tiers_insertion_cost(m, queue),
				  second_tier(m, queue), lookup_cost(m, queue),
				  lookup_cost(m, queue + second_tier(m, queue))));
}

static void
tell_depth(ReturnSetInfo *result, const Model *m)
{
	StringInfoData reason;

	initStringInfo(&reason);
	appendStringInfo(&reason, "a page takes %.1f us if it is read alone", m->storage.read[0]);
	for (int i = 1; i < m->storage.ndepths; i++)
		appendStringInfo(&reason, ", %.1f with %d in flight", m->storage.read[i], 1 << i);
	appendStringInfo(&reason, "; %.1f if it is written alone, %.1f with %s",
					 m->storage.write_alone, m->storage.write_many, "many others");
	tell(result, "fpbtree.pio_max", psprintf("%d", fpb_pio_max),
		 psprintf("%d", 1 << m->depth), reason.data);
}

/*
 * Add rows about what the queue does to the WAL.
 */
static void
tell_wal(ReturnSetInfo *result, const FpbIndex *ix, const Model *m, double queue)
{
	FpbShared  *shared = fpb_shared_of(RelationGetRelid(ix->rel));
	uint64		visits = shared == NULL ? 0 : pg_atomic_read_u64(&shared->visits);
	double		moved = shared == NULL ? -1 : fpb_shared_checkpoint_moved(shared);
	double		k = visit_entries(m, queue);
	double		i = moved / m->leaves;

	tell(result, "entries a visit (k)",
		 visits == 0 ? NULL : psprintf("%.1f", (double) pg_atomic_read_u64(&shared->moved) / visits),
		 psprintf("%.1f", k),
		 psprintf("a page of the queue has room for %.0f entries", m->page_entries));
	tell(result, "entries a leaf between checkpoints (i)",
		 moved < 0 ? NULL : psprintf("%.1f", i), NULL,
		 moved < 0 ? "known after two checkpoints with entries moving" :
		 k > i ? psprintf("less than k: images of leaves take %.2f times the WAL that they would take without a queue", Max(i, 1) / k) :
		 "not less than k: images of leaves are logged as often with a queue as without one");
	if (moved >= 0 && k <= i)
		ereport(WARNING,
				(errmsg("the operation queue of index \"%s\" saves reads and writes, but no WAL",
						RelationGetRelationName(ix->rel)),
				 errdetail("A leaf gets %.1f entries between two checkpoints, and %.1f at a visit.", i, k),
				 errhint("Increase \"max_wal_size\", so that pages are logged whole less often, or \"opq_size\", so that more entries move at a visit.")));
}

/*
 * fpbtree_queue_advice(index regclass, insert_share float8) returns setof
 * record
 *
 * Advises for a workload of lookups and insertions of random keys, of which
 * insertions are this share.  Takes a reader's locks.
 */
Datum
fpbtree_queue_advice(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	Relation	index = fpb_open_index(PG_GETARG_OID(0), AccessShareLock);
	Model		m = {.insertions = PG_GETARG_FLOAT8(1)};
	FpbIndex	ix;
	BlockNumber nblocks;
	double		part;

	if (isnan(m.insertions) || m.insertions < 0 || m.insertions > 1)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("share of insertions must be between 0 and 1")));
	fpb_require_pages(index);
	fpb_index_open(&ix, index);
	fpb_index_refresh(&ix);
	if (index->rd_rel->relpersistence == RELPERSISTENCE_TEMP)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("index \"%s\" can't have an operation queue",
						RelationGetRelationName(index)),
				 errdetail("Indexes of temporary tables have none.")));
	m.unique = index->rd_index->indisunique;

	InitMaterializedSRF(fcinfo, 0);
	nblocks = RelationGetNumberOfBlocks(index);
	sample_leaves(&ix, nblocks, &m.page_entries, &part);
	m.leaves = Max(part * nblocks, 1);
	fpb_io_timing_measure(index, &m.storage);
	if (m.storage.ndepths == 0 || m.page_entries == 0)
		tell(result, "operation_queue", mode_name(&ix),
			 fpb_queue_mode_name(ix.may_queue ? FPB_QUEUE_AUTO : FPB_QUEUE_OFF),
			 "the index is in memory: there is nothing to be read, and by default nothing goes to the queue");
	else
	{
		double		queue;
		bool		worth_it;

		m.depth = best_depth(&m.storage);
		queue = best_queue(&m);
		worth_it = m.insertions > 0 && cost(&m, queue) <= cost(&m, 0) * WORTH_IT;
		tell_queue(result, &ix, &m, queue, worth_it);
		if (worth_it)
			tell_tiers(result, &ix, &m, queue);
		tell_depth(result, &m);
		if (worth_it)
			tell_wal(result, &ix, &m, queue);
	}
	relation_close(index, AccessShareLock);
	return (Datum) 0;
}
