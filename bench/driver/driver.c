/*-------------------------------------------------------------------------
 *
 * driver.c
 *	  Operations on an index, many in one call, without the executor.
 *
 * Not part of the extension: bench/papers builds it into a server of its own
 * and declares the function there.
 *
 *	  fpb_drive(index regclass, work text, operations bigint, keys bigint,
 *				seed bigint) returns float8
 *
 * returns nanoseconds an operation.  The index is on a column of integers that
 * holds 2, 4, .. 2 * keys.  work is one of
 *
 *	  search	look a random key up that there is
 *	  scan		read entries in order, from a random key on; an operation is an
 *				entry
 *	  insert	insert the entry of a random odd key, for a row that there isn't
 *	  delete	delete the entry of a random key, if it is still there
 *
 * With "sorted " in front, on an index of the layout micro_index, pages are
 * taken for plain sorted arrays: that is the baseline of the papers, a page
 * searched by bisection and not prefetched.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/relation.h"
#include "catalog/pg_type.h"
#include "common/pg_prng.h"
#include "miscadmin.h"
#include "portability/instr_time.h"
#include "utils/builtins.h"
#include "utils/rel.h"

#include "fpb_inspect.h"
#include "fpb_tree.h"
#include "fpb_write.h"

PG_FUNCTION_INFO_V1(fpb_drive);

/* what is being driven */
typedef struct Drive
{
	FpbIndex	ix;
	Relation	heap;
	int64		operations;
	int64		keys;
	pg_prng_state random;
	uint64		sum;			/* so that nothing is left out */
} Drive;

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

/* --- keys --- */

/*
 * Make a key of this number, with a TID.
 */
static void
make_key(Drive *d, int64 number, ItemPointer tid, FpbKey *key)
{
	Datum		value;
	bool		isnull = false;
	Oid			type = TupleDescAttr(RelationGetDescr(d->ix.rel), 0)->atttypid;

	value = type == INT4OID ? Int32GetDatum((int32) number) : Int64GetDatum(number);
	fpb_key_form(&d->ix, &value, &isnull, tid, key);
}

/*
 * A random key that the index began with, from its first entry on.
 */
static void
random_probe(Drive *d, FpbProbe *probe)
{
	ItemPointerData tid;
	FpbKey		key;

	ItemPointerSet(&tid, 0, 1);
	make_key(d, 2 * (int64) (1 + pg_prng_uint64_range(&d->random, 0, d->keys - 1)), &tid, &key);
	fpb_probe_equal(&d->ix, &key, false, probe);
}

/*
 * Look a random key up: its leaf, locked, and its place there.
 */
static Buffer
random_place(Drive *d, int lock, FpbProbe *probe, FpbPos *pos)
{
	Buffer		buf;

	random_probe(d, probe);
	buf = fpb_descend(&d->ix, probe, 0, false, lock, NULL);
	fpb_page_search(&d->ix, BufferGetPage(buf), probe, pos);
	return buf;
}

/* --- the operations --- */

static void
drive_search(Drive *d)
{
	for (int64 i = 0; i < d->operations; i++)
	{
		FpbProbe	probe;
		FpbEntry	entry;
		FpbPos		pos;
		Buffer		buf = random_place(d, BUFFER_LOCK_SHARE, &probe, &pos);

		if (fpb_page_next(&d->ix, BufferGetPage(buf), &pos, &entry))
			d->sum += entry.key.tail;
		fpb_relbuf(buf);
	}
}

static void
drive_scan(Drive *d)
{
	FpbItem    *items = palloc(sizeof(FpbItem) * (FPB_MAX_PAGE_ENTRIES + 1));
	int64		done = 0;

	while (done < d->operations)
	{
		FpbProbe	probe;
		FpbPos		pos;
		Buffer		buf;
		bool		more;

		CHECK_FOR_INTERRUPTS();
		buf = random_place(d, BUFFER_LOCK_SHARE, &probe, &pos);
		for (;;)
		{
			int			n = fpb_page_read(&d->ix, BufferGetPage(buf), pos, NULL, false, items, &more);
			Buffer		next;

			for (int i = 0; i < n; i++)
				d->sum += items[i].key.tail;
			done += n;
			if (done >= d->operations || FpbPageIsRightmost(BufferGetPage(buf)))
				break;
			next = fpb_getbuf_right(&d->ix, buf, BUFFER_LOCK_SHARE);
			fpb_relbuf(buf);
			buf = next;
			pos = FPB_POS_FIRST;
		}
		fpb_relbuf(buf);
	}
	d->operations = done;
}

static void
drive_insert(Drive *d)
{
	for (int64 i = 0; i < d->operations; i++)
	{
		ItemPointerData tid;
		FpbEntry	entry;
		FpbProbe	probe;
		FpbStack	stack;
		Buffer		buf;

		CHECK_FOR_INTERRUPTS();
		ItemPointerSet(&tid, MaxBlockNumber - 1 - (BlockNumber) (i / 200), 1 + i % 200);
		make_key(d, 2 * (int64) pg_prng_uint64_range(&d->random, 0, d->keys) + 1, &tid, &entry.key);
		entry.child = InvalidBlockNumber;
		fpb_probe_from_key(&d->ix, &entry.key, &probe);
		buf = fpb_descend(&d->ix, &probe, 0, false, BUFFER_LOCK_EXCLUSIVE, &stack);
		fpb_insert_entry(&d->ix, d->heap, buf, &stack, &entry, false);
	}
}

static void
drive_delete(Drive *d)
{
	for (int64 i = 0; i < d->operations; i++)
	{
		FpbProbe	probe;
		FpbEntry	entry;
		FpbPos		pos;
		Buffer		buf;

		CHECK_FOR_INTERRUPTS();
		buf = random_place(d, BUFFER_LOCK_EXCLUSIVE, &probe, &pos);
		if (fpb_page_next(&d->ix, BufferGetPage(buf), &pos, &entry) &&
			entry.key.head == probe.head)
		{
			FpbWal		wal;
			FpbWalPage *wp;

			fpb_wal_begin(&wal, d->ix.rel);
			wp = fpb_wal_add(&wal, buf, false);
			fpb_wal_enter(&wal);
			fpb_page_delete(&d->ix, BufferGetPage(buf), &pos, 1, wp);
			fpb_wal_finish(&wal);
		}
		fpb_relbuf(buf);
	}
}

Datum
fpb_drive(PG_FUNCTION_ARGS)
{
	static const struct
	{
		const char *name;
		void		(*drive) (Drive *d);
	}			works[] = {
		{"search", drive_search}, {"scan", drive_scan},
		{"insert", drive_insert}, {"delete", drive_delete}
	};
	Relation	rel = fpb_open_index(PG_GETARG_OID(0), RowExclusiveLock);
	char	   *work = text_to_cstring(PG_GETARG_TEXT_PP(1));
	Drive		d = {.operations = PG_GETARG_INT64(2),.keys = PG_GETARG_INT64(3)};
	instr_time	start;
	instr_time	end;
	bool		found = false;

	fpb_index_open(&d.ix, rel);
	d.heap = relation_open(rel->rd_index->indrelid, AccessShareLock);
	pg_prng_seed(&d.random, (uint64) PG_GETARG_INT64(4));
	if (strncmp(work, "sorted ", 7) == 0)
	{
		if (d.ix.layout->id != FPB_MICRO_INDEX || !fpb_is_word(&d.ix))
			elog(ERROR, "the baseline wants words and the layout micro_index");
		work += 7;
		sorted_routine = *d.ix.layout;
		sorted_routine.search = sorted_search;
		sorted_routine.downlink = sorted_downlink;
		d.ix.layout = &sorted_routine;
		d.ix.prefetch_front = d.ix.prefetch_back = 0;
	}

	INSTR_TIME_SET_CURRENT(start);
	for (int i = 0; i < (int) lengthof(works); i++)
	{
		if (strcmp(work, works[i].name) != 0)
			continue;
		works[i].drive(&d);
		found = true;
	}
	INSTR_TIME_SET_CURRENT(end);
	if (!found)
		elog(ERROR, "there is no work \"%s\"", work);

	INSTR_TIME_SUBTRACT(end, start);
	elog(DEBUG1, "sum " UINT64_FORMAT, d.sum);
	relation_close(d.heap, AccessShareLock);
	relation_close(rel, RowExclusiveLock);
	PG_RETURN_FLOAT8(INSTR_TIME_GET_DOUBLE(end) * 1e9 / Max(d.operations, 1));
}
