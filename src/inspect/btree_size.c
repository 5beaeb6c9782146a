/*-------------------------------------------------------------------------
 *
 * inspect/btree_size.c
 *	  How many pages a btree built of some entries would have.
 *
 * A btree that has grown is larger than one that has just been built, so
 * REINDEX makes it smaller.  A fair comparison with fpbtree is with a btree
 * built of the same entries.  The server's own functions sort them, find
 * duplicates and truncate separators.  The code here follows the arithmetic of
 * _bt_load() and _bt_buildadd() in nbtsort.c, which decides which tuples come
 * onto one page.  No page is made.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/nbtree.h"
#include "miscadmin.h"
#include "utils/rel.h"
#include "utils/tuplesort.h"

#include "inspect/btree_size.h"

/* a tree of more levels would have more pages than there can be */
#define MAX_LEVELS	32

/* a level of the tree, and its last page */
typedef struct Level
{
	BlockNumber pages;
	Size		room;			/* of the last page, line pointers included */
	int			nitems;			/* on the last page */
	Size		last_size;		/* of the last item there */
	Size		last_postings;	/* how much of it are TIDs */
	Size		low_key;		/* size of the page's lower bound above */
} Level;

struct FpbBtreeSize
{
	Relation	index;
	BTScanInsert key;
	Tuplesortstate *sort;
	int64		nadded;
	Level		levels[MAX_LEVELS];
	IndexTuple	last[2];		/* keys of the leaf's last two items */
};

/*
 * Begin.  Runs equalimage and, at the end, comparators of the index, so the
 * caller has become the index's owner.
 */
FpbBtreeSize *
fpb_btree_size_begin(Relation table, Relation index)
{
	FpbBtreeSize *size = palloc0(sizeof(FpbBtreeSize));

	size->index = index;
	size->key = _bt_mkscankey(index, NULL);
	size->key->allequalimage = _bt_allequalimage(index, false);
	size->sort = tuplesort_begin_index_btree(table, index, false, false, work_mem,
											 NULL, TUPLESORT_NONE);
	return size;
}

/*
 * Add an entry.  It gets a TID made for it.  An entry that moved to another
 * page while pages were read may be seen twice, and the server's sort raises
 * an error if equal keys have equal TIDs.
 */
void
fpb_btree_size_add(FpbBtreeSize *size, const Datum *values, const bool *isnull)
{
	ItemPointerData tid;

	ItemPointerSet(&tid, (BlockNumber) (size->nadded / MaxHeapTuplesPerPage),
				   (OffsetNumber) (size->nadded % MaxHeapTuplesPerPage + 1));
	size->nadded++;
	tuplesort_putindextuplevalues(size->sort, size->index, &tid, values, isnull);
}

/*
 * Begin another page of a level.
 */
static void
begin_page(Level *level)
{
	level->pages++;
	level->room = BLCKSZ - SizeOfPageHeaderData - MAXALIGN(sizeof(BTPageOpaqueData)) -
		sizeof(ItemIdData);		/* that of the high key */
	level->nitems = 0;
}

/*
 * Put an item onto the last page of a level.  Above the leaves, a page's first
 * item is truncated to its downlink.
 */
static void
put_item(Level *level, bool isleaf, Size itemsize, Size postings)
{
	if (!isleaf && level->nitems == 0)
		itemsize = sizeof(IndexTupleData);
	level->room -= MAXALIGN(itemsize) + sizeof(ItemIdData);
	level->nitems++;
	level->last_size = itemsize;
	level->last_postings = postings;
}

/*
 * Add an item to a level, as _bt_buildadd() does.  If the page is full, it is
 * finished: its last item becomes the first one of the next page, and its
 * downlink goes to the level above.  On the leaf level, key is the item's key,
 * and postings is how much of the item its TIDs take.
 */
static void
add_item(FpbBtreeSize *size, int n, IndexTuple key, Size itemsize, Size postings)
{
	Level	   *level = &size->levels[n];
	bool		isleaf = n == 0;
	Size		tid = isleaf ? MAXALIGN(sizeof(ItemPointerData)) : 0;
	Size		full = isleaf ? BTGetTargetPageFreeSpace(size->index) :
		BLCKSZ * (100 - BTREE_NONLEAF_FILLFACTOR) / 100;
	Size		room;

	if (n >= MAX_LEVELS - 1)
		elog(ERROR, "too many levels");
	if (level->pages == 0)
	{
		begin_page(level);
		level->low_key = sizeof(IndexTupleData);
	}
	room = level->room > sizeof(ItemIdData) ? level->room - sizeof(ItemIdData) : 0;
	if (level->nitems > 1 &&
		(room < MAXALIGN(itemsize) + tid || room + level->last_postings < full))
	{
		Size		moved = level->last_size;
		Size		moved_postings = level->last_postings;

		add_item(size, n + 1, NULL, level->low_key, 0);
		level->low_key = moved;
		if (isleaf)
		{
			IndexTuple	high_key = _bt_truncate(size->index, size->last[0],
												size->last[1], size->key);

			level->low_key = IndexTupleSize(high_key);
			pfree(high_key);
		}
		begin_page(level);
		put_item(level, isleaf, moved, moved_postings);
	}
	put_item(level, isleaf, itemsize, postings);
	if (isleaf)
	{
		if (size->last[0] != NULL)
			pfree(size->last[0]);
		size->last[0] = size->last[1];
		size->last[1] = key;
	}
}

/*
 * Add a key with so many TIDs to the leaves.
 */
static void
add_duplicates(FpbBtreeSize *size, IndexTuple key, int ntids)
{
	Size		itemsize = IndexTupleSize(key);
	Size		postings = 0;

	if (ntids > 1)
	{
		itemsize = MAXALIGN(itemsize + ntids * sizeof(ItemPointerData));
		postings = itemsize - IndexTupleSize(key);
	}
	add_item(size, 0, key, itemsize, postings);
}

/*
 * Sort the entries and add them to the tree, as _bt_load() does.
 */
static void
load(FpbBtreeSize *size)
{
	const Size	most = MAXALIGN_DOWN(BLCKSZ * 10 / 100) - sizeof(ItemIdData);
	int			nkeys = IndexRelationGetNumberOfKeyAttributes(size->index);
	bool		deduplicate = size->key->allequalimage &&
		!size->index->rd_index->indisunique && BTGetDeduplicateItems(size->index);
	IndexTuple	pending = NULL;
	int			ntids = 0;
	IndexTuple	tuple;

	tuplesort_performsort(size->sort);
	while ((tuple = tuplesort_getindextuple(size->sort, true)) != NULL)
	{
		CHECK_FOR_INTERRUPTS();
		if (pending != NULL && deduplicate &&
			MAXALIGN(IndexTupleSize(pending) + (ntids + 1) * sizeof(ItemPointerData)) <= most &&
			_bt_keep_natts_fast(size->index, pending, tuple) > nkeys)
		{
			ntids++;
			continue;
		}
		if (pending != NULL)
			add_duplicates(size, pending, ntids);
		pending = CopyIndexTuple(tuple);
		ntids = 1;
	}
	if (pending != NULL)
		add_duplicates(size, pending, ntids);
	tuplesort_end(size->sort);
}

/*
 * The number of pages that all entries take, the metapage included.
 */
BlockNumber
fpb_btree_size_end(FpbBtreeSize *size)
{
	BlockNumber pages = 1;

	load(size);
	for (int n = 0; n < MAX_LEVELS && size->levels[n].pages > 0; n++)
	{
		/* the level's last page, unless it is the root */
		if (size->levels[n].pages > 1)
			add_item(size, n + 1, NULL, size->levels[n].low_key, 0);
		pages += size->levels[n].pages;
	}
	return pages;
}
