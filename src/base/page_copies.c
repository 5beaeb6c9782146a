/*-------------------------------------------------------------------------
 *
 * base/page_copies.c
 *	  A backend's own copies of inner pages.
 *
 * A descent that goes through copies pins and locks nothing but the page it is
 * looking for.  A copy may be out of date, but so may be what a descent has
 * read of a page by the time it follows a link: whether the page arrived at is
 * the right one is told by its fences alone (see "Fences" in README.md).  A
 * copy that has led to the wrong page is dropped.
 *
 * Beside the copies, it is remembered in which buffer each page below them has
 * been seen last.  A buffer's tag tells whether it is there still.
 *
 * What fences can't tell is whether a block exists.  An index is truncated
 * only when it is built again, and that is announced by an invalidation of its
 * relcache entry, upon which fpb_index_open calls fpb_cache_attach.
 *
 * All this memory belongs to the relcache entry, with which it goes: when the
 * index is dropped, or what is known of it invalidated while nobody uses it.
 *
 * Copies are dropped here, whenever somebody wants room for others.  So nobody
 * may be looking at a copy who can be interrupted by another operation on an
 * index: see fpb_search_key_is_simple.
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
/* what it makes may leave parameters unused */
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
};

/* the table of an index's copies has room for so many at first */
#define FEW_PAGES		4

/* recent[] is of so many elements at first */
#define MIN_RECENT		64

/* and takes no larger part than this of the memory for copies */
#define RECENT_SHARE	4

/*
 * As many times as many pages as there is room for are turned away before the
 * copies are dropped.  Soon enough for those not needed any more to go; seldom
 * enough that copying costs nothing where there is not room for all that are
 * needed, and the same half of them serves as well as another.  (Tests want
 * copies to be dropped at bad moments.)
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
 * Count memory that an index's copies take up, or have given back.
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
 * Drop all copies of all indexes, so that those needed now get their turn.
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
 * The copies of an open index, of which there are none yet: what the relcache
 * knew of it has been invalidated.
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
	return cache;
}

/*
 * The copy of a block, or NULL.  It stays until another fpb_cache_* call.
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
 * Have room to remember the buffer of this block, if there is memory.
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
 * Where the buffer is remembered in which this block has been seen, maybe, or
 * InvalidBuffer; NULL if there is no memory for that.  It stays until another
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
 * Copy what a page holds to memory that is as large.  The hole between is not
 * touched, and costs nothing in fresh memory: the root of a small index, of
 * which a backend may have many, is little more than a hole.
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
 * Copy a page, which is locked.  When the memory is used up, new pages are
 * turned away until they have become many times as many as those kept: then
 * these may be the ones not needed any more.
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
 * Does this lie in a page?
 */
static inline bool
lies_in(const char *at, const char *page)
{
	return page != NULL && at >= page && at < page + BLCKSZ;
}

/*
 * The block of the page in which this lies, for error messages: a page in a
 * buffer, which is pinned, or the copy of one; else InvalidBlockNumber.
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
