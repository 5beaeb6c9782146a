/*-------------------------------------------------------------------------
 *
 * base/page_copies.c
 *	  A backend's own copies of inner pages.
 *
 * A descent that goes through copies pins and locks no page but the one that
 * it is looking for.  A copy may be out of date.  So may be whatever a descent
 * has read in a page, by the time it follows a link: only its fences tell
 * whether the page arrived at is the right one (see "Fences" in README.md).  A
 * copy that has led to the wrong page is dropped.
 *
 * Beside the copies, a backend remembers in which buffer it has seen each page
 * below them last.  A buffer's tag tells whether the page still is there.  It
 * also remembers the main leaf of the entry that it has put into the operation
 * queue last (write/insert.c).
 *
 * Fences can't tell whether a block exists.  But an index is truncated only
 * when it is built again.  That invalidates its relcache entry, and then
 * fpb_index_open calls fpb_cache_attach.
 *
 * All this memory belongs to the relcache entry and goes with it: when the
 * index is dropped, or when the entry is invalidated while nobody uses it.
 *
 * Any fpb_cache_* call may drop copies to make room for others.  So a search
 * that another operation on an index may interrupt must not look at a copy:
 * see fpb_search_key_is_simple.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <limits.h>

#include "common/hashfn.h"
#include "storage/bufmgr.h"
#include "utils/guc.h"
#include "utils/hsearch.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "base/page_copies.h"

/* one copy */
typedef struct CachedPage
{
	BlockNumber blkno;
	char		status;			/* for simplehash.h */
	char	   *page;
} CachedPage;

#define SH_PREFIX		pagecopies
#define SH_ELEMENT_TYPE	CachedPage
#define SH_KEY_TYPE		BlockNumber
#define SH_KEY			blkno
#define SH_HASH_KEY(tb, key)	murmurhash32(key)
#define SH_EQUAL(tb, a, b)		((a) == (b))
#define SH_SCOPE		static inline
#define SH_DECLARE
#define SH_DEFINE
/* the functions that it makes may leave parameters unused */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
#include "lib/simplehash.h"
#pragma GCC diagnostic pop

/* the copies of one index, for as long as its relcache entry lives */
struct FpbPageCache
{
	Relation	rel;			/* hash key */
	MemoryContext context;		/* the relcache entry's */
	MemoryContextCallback forget;	/* called when that goes */
	Size		size;			/* bytes of the copies, and of recent[] */
	pagecopies_hash *pages;		/* NULL if there are none */
	Buffer	   *recent;			/* where the block of this number, or another
								 * that agrees with it in the lower bits, has
								 * been seen; NULL, or of nrecent elements */
	uint32		nrecent;		/* 0, or a power of 2 */
	BlockNumber queued_leaf;	/* the main leaf of the entry that has been
								 * put into the operation queue last */
};

/* how many copies the table of an index has room for at first */
#define FEW_PAGES		4

/* how many elements recent[] has at first */
#define MIN_RECENT		64

/* the largest part of the memory for copies that it may take */
#define RECENT_SHARE	4

/*
 * When the memory is full, new pages are turned away.  All copies are dropped
 * when the pages turned away would have filled the memory so many times.  That
 * is soon enough for copies that are not needed any more.  It is seldom enough
 * that copying costs nothing where there is no room for all copies needed, and
 * one half of them serves as well as the other.  (Tests want copies to be
 * dropped at bad moments.)
 */
#ifdef USE_ASSERT_CHECKING
#define PATIENCE		1
#else
#define PATIENCE		16
#endif

/* fpbtree.inner_page_cache, in kB */
int			fpb_inner_page_cache = 8192;

static HTAB *caches = NULL;
static Size copies_size = 0;	/* of all of them */
static Size refused = 0;		/* bytes not copied for want of room */

/*
 * Define the setting.
 */
void
fpb_cache_init(void)
{
	DefineCustomIntVariable("fpbtree.inner_page_cache",
							"Memory a backend may use for copies of inner pages of fpbtree indexes.",
							"0 turns the copies off.",
							&fpb_inner_page_cache,
							8192, 0, MAX_KILOBYTES,
							PGC_USERSET, GUC_UNIT_KB,
							NULL, NULL, NULL);
}

/*
 * Count memory that an index's copies have taken, or given back if negative.
 */
static void
count_memory(FpbPageCache *cache, ssize_t bytes)
{
	cache->size += bytes;
	copies_size += bytes;
}

/*
 * Drop all copies of one index, and what is remembered of its buffers.
 */
static void
drop_pages(FpbPageCache *cache)
{
	pagecopies_iterator it;
	CachedPage *entry;

	if (cache->recent != NULL)
		pfree(cache->recent);
	cache->recent = NULL;
	cache->nrecent = 0;
	if (cache->pages != NULL)
	{
		pagecopies_start_iterate(cache->pages, &it);
		while ((entry = pagecopies_iterate(cache->pages, &it)) != NULL)
			pfree(entry->page);
		pagecopies_destroy(cache->pages);
		cache->pages = NULL;
	}
	count_memory(cache, -(ssize_t) cache->size);
}

/*
 * The relcache entry goes, and with it the memory of the copies.
 */
static void
forget_cache(void *arg)
{
	FpbPageCache *cache = arg;

	count_memory(cache, -(ssize_t) cache->size);
	hash_search(caches, &cache->rel, HASH_REMOVE, NULL);
}

/*
 * Drop all copies of all indexes, so that pages needed now can be copied.
 */
static void
drop_all(void)
{
	HASH_SEQ_STATUS status;
	FpbPageCache *cache;

	hash_seq_init(&status, caches);
	while ((cache = hash_seq_search(&status)) != NULL)
		drop_pages(cache);
	refused = 0;
}

/*
 * The cache of copies of an open index, without any copies: its relcache entry
 * is new or has been invalidated.
 */
FpbPageCache *
fpb_cache_attach(Relation rel)
{
	FpbPageCache *cache;
	bool		found;

	if (caches == NULL)
	{
		HASHCTL		ctl = {
			.keysize = sizeof(Relation),
			.entrysize = sizeof(FpbPageCache),
			.hcxt = TopMemoryContext
		};

		caches = hash_create("fpbtree inner page caches", 16, &ctl,
							 HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	}
	cache = hash_search(caches, &rel, HASH_ENTER, &found);
	if (found)
		drop_pages(cache);
	else
	{
		cache->context = rel->rd_indexcxt;
		cache->forget.func = forget_cache;
		cache->forget.arg = cache;
		cache->size = 0;
		cache->pages = NULL;
		cache->recent = NULL;
		cache->nrecent = 0;
		MemoryContextRegisterResetCallback(cache->context, &cache->forget);
	}
	cache->queued_leaf = InvalidBlockNumber;
	return cache;
}

/*
 * The copy of a block, or NULL.  Valid until the next fpb_cache_* call.
 */
Page
fpb_cache_lookup(FpbPageCache *cache, BlockNumber blkno)
{
	CachedPage *entry;

	if (cache->pages == NULL)
		return NULL;
	entry = pagecopies_lookup(cache->pages, blkno);
	return entry != NULL ? (Page) entry->page : NULL;
}

/*
 * Make room to remember the buffer of this block, if there is memory.
 */
static void
enlarge_recent(FpbPageCache *cache, BlockNumber blkno)
{
	Size		limit = (Size) fpb_inner_page_cache * 1024;
	Size		size = Max(cache->nrecent, MIN_RECENT);
	Size		more;
	Buffer	   *recent;

	while (size <= blkno && 2 * size * sizeof(Buffer) <= limit / RECENT_SHARE)
		size *= 2;
	more = (size - cache->nrecent) * sizeof(Buffer);
	if (more == 0 || copies_size + more > limit)
		return;
	recent = MemoryContextAllocExtended(cache->context, size * sizeof(Buffer),
										MCXT_ALLOC_HUGE | MCXT_ALLOC_NO_OOM |
										MCXT_ALLOC_ZERO);
	if (recent == NULL)
		return;
	if (cache->recent != NULL)
	{
		memcpy(recent, cache->recent, cache->nrecent * sizeof(Buffer));
		pfree(cache->recent);
	}
	count_memory(cache, more);
	cache->recent = recent;
	cache->nrecent = size;
}

/*
 * Where a block's buffer is remembered: it may be another block's, or
 * InvalidBuffer.  NULL if there is no memory.  Valid until the next
 * fpb_cache_* call.
 */
Buffer *
fpb_cache_recent(FpbPageCache *cache, BlockNumber blkno)
{
	if (unlikely(blkno >= cache->nrecent))
	{
		enlarge_recent(cache, blkno);
		if (cache->nrecent == 0)
			return NULL;
	}
	return &cache->recent[blkno & (cache->nrecent - 1)];
}

/*
 * Remember the main leaf of an entry that goes to the operation queue.
 * Returns false if the entry before it belonged to the same leaf.
 */
bool
fpb_cache_note_queued(FpbPageCache *cache, BlockNumber leaf)
{
	if (cache->queued_leaf == leaf)
		return false;
	cache->queued_leaf = leaf;
	return true;
}

/*
 * Copy a page, but for its hole, to memory of the same size.  Fresh memory
 * that is not touched costs nothing.  A backend may use many small indexes,
 * whose roots are little more than a hole.
 */
static void
copy_page(char *copy, Page page)
{
	uint32		lower = ((PageHeader) page)->pd_lower;
	uint32		upper = ((PageHeader) page)->pd_upper;

	if (lower > upper || upper > BLCKSZ)
		lower = upper = BLCKSZ;
	memcpy(copy, page, lower);
	memcpy(copy + upper, page + upper, BLCKSZ - upper);
}

/*
 * Keep a copy of a page, which is locked, if there is room.  If many pages
 * have been turned away, the copies there are may not be needed any more, and
 * are dropped.
 */
void
fpb_cache_store(FpbPageCache *cache, BlockNumber blkno, Page page)
{
	Size		limit = (Size) fpb_inner_page_cache * 1024;
	CachedPage *entry;
	bool		found;

	if (copies_size + BLCKSZ > limit)
	{
		refused += BLCKSZ;
		if (copies_size > 0 && (refused / PATIENCE > limit || copies_size > limit))
			drop_all();
		return;
	}
	if (cache->pages == NULL)
		cache->pages = pagecopies_create(cache->context, FEW_PAGES, NULL);
	entry = pagecopies_insert(cache->pages, blkno, &found);
	if (!found)
	{
		/* a table entry without its page would be worse than none */
		entry->page = MemoryContextAllocAligned(cache->context, BLCKSZ,
												FPB_CACHE_LINE,
												MCXT_ALLOC_NO_OOM);
		if (entry->page == NULL)
		{
			pagecopies_delete_item(cache->pages, entry);
			return;
		}
		count_memory(cache, BLCKSZ);
	}
	copy_page(entry->page, page);
}

/*
 * Drop the copy of a block, if there is one.
 */
void
fpb_cache_drop(FpbPageCache *cache, BlockNumber blkno)
{
	CachedPage *entry;

	if (cache->pages == NULL)
		return;
	entry = pagecopies_lookup(cache->pages, blkno);
	if (entry == NULL)
		return;
	pfree(entry->page);
	count_memory(cache, -BLCKSZ);
	pagecopies_delete_item(cache->pages, entry);
}

/*
 * Does an address lie in a page?
 */
static inline bool
lies_in(const char *at, const char *page)
{
	return page != NULL && at >= page && at < page + BLCKSZ;
}

/*
 * The block of the page in which an address lies, for error messages.  The
 * page is in a pinned buffer or is a copy, else the block is
 * InvalidBlockNumber.
 */
BlockNumber
fpb_cache_block(FpbPageCache *cache, const void *at)
{
	const char *p = at;
	pagecopies_iterator it;
	CachedPage *entry;

	if (p >= BufferBlocks && p < BufferBlocks + (Size) NBuffers * BLCKSZ)
		return BufferGetBlockNumber((Buffer) ((p - BufferBlocks) / BLCKSZ + 1));
	for (int i = 0; i < NLocBuffer; i++)
		if (lies_in(p, LocalBufferBlockPointers[i]))
			return BufferGetBlockNumber(-i - 1);
	if (cache == NULL || cache->pages == NULL)
		return InvalidBlockNumber;
	pagecopies_start_iterate(cache->pages, &it);
	while ((entry = pagecopies_iterate(cache->pages, &it)) != NULL)
	{
		if (lies_in(p, entry->page))
			return entry->blkno;
	}
	return InvalidBlockNumber;
}
