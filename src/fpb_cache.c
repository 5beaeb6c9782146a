/*-------------------------------------------------------------------------
 *
 * fpb_cache.c
 *	  A backend's own copies of inner pages.
 *
 * A descent that goes through copies pins and locks nothing but the page it is
 * looking for.  A copy may be out of date, but so may be what a descent has
 * read of a page by the time it follows a link: whether the page arrived at is
 * the right one is told by its fences alone (see "Fences" in README.md).  A
 * copy that has led to the wrong page is dropped.
 *
 * What fences can't tell is whether a block exists.  An index is truncated
 * only when it is built again, and that is announced by an invalidation of its
 * relcache entry, upon which fpb_index_open calls fpb_cache_attach.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "utils/guc.h"
#include "utils/hsearch.h"
#include "utils/memutils.h"

#include "fpbtree.h"

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
#include "lib/simplehash.h"

/* the copies of one index; such a struct is never freed */
struct FpbPageCache
{
	RelFileLocatorBackend locator;	/* hash key */
	pagecopies_hash *pages;		/* NULL if there are none */
};

/* fpbtree.inner_page_cache, in kB */
int			fpb_inner_page_cache = 8192;

static HTAB *caches = NULL;
static MemoryContext copies_context = NULL;
static Size copies_size = 0;	/* bytes of all copies */
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
 * Drop all copies of one index.
 */
static void
drop_pages(FpbPageCache *cache)
{
	pagecopies_iterator it;
	CachedPage *entry;

	if (cache->pages == NULL)
		return;
	pagecopies_start_iterate(cache->pages, &it);
	while ((entry = pagecopies_iterate(cache->pages, &it)) != NULL)
	{
		pfree(entry->page);
		copies_size -= BLCKSZ;
	}
	pagecopies_destroy(cache->pages);
	cache->pages = NULL;
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
 * The copies of an index, of which there are none yet: what the relcache knew
 * of it has been invalidated.
 */
FpbPageCache *
fpb_cache_attach(Relation rel)
{
	RelFileLocatorBackend locator = {rel->rd_locator, rel->rd_backend};
	FpbPageCache *cache;
	bool		found;

	if (caches == NULL)
	{
		HASHCTL		ctl = {
			.keysize = sizeof(RelFileLocatorBackend),
			.entrysize = sizeof(FpbPageCache),
			.hcxt = TopMemoryContext
		};

		copies_context = AllocSetContextCreate(TopMemoryContext,
											   "fpbtree inner pages",
											   ALLOCSET_DEFAULT_SIZES);
		caches = hash_create("fpbtree inner page caches", 16, &ctl,
							 HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	}
	cache = hash_search(caches, &locator, HASH_ENTER, &found);
	if (!found)
		cache->pages = NULL;
	drop_pages(cache);
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
 * Bytes of a copy: the page, and for each of its slots the buffer in which the
 * child was last seen.
 */
static Size
copy_size(const FpbIndex *ix)
{
	return BLCKSZ + sizeof(Buffer) * ix->inner.max_nodes * ix->inner.nslots;
}

/*
 * Where a copy remembers the buffer of the child at pos, InvalidBuffer at
 * first.
 */
Buffer *
fpb_cache_recent(const FpbIndex *ix, Page copy, FpbPos pos)
{
	Assert(pos.dir < ix->inner.max_nodes && pos.slot < ix->inner.nslots);
	return (Buffer *) ((char *) copy + BLCKSZ) + pos.dir * ix->inner.nslots + pos.slot;
}

/*
 * Copy a page, which is locked.  When the memory is used up, new pages are
 * turned away until they have become as many as those kept: then these are
 * the ones not needed any more.
 */
void
fpb_cache_store(const FpbIndex *ix, BlockNumber blkno, Page page)
{
	FpbPageCache *cache = ix->cache;
	Size		limit = (Size) fpb_inner_page_cache * 1024;
	CachedPage *entry;
	bool		found;

	if (copies_size + BLCKSZ > limit)
	{
		refused += BLCKSZ;
		if (copies_size > 0 && (refused > limit || copies_size > limit))
			drop_all();
		return;
	}
	if (cache->pages == NULL)
		cache->pages = pagecopies_create(copies_context, 64, NULL);
	entry = pagecopies_insert(cache->pages, blkno, &found);
	if (!found)
	{
		/* a table entry without its page would be worse than none */
		entry->page = MemoryContextAllocAligned(copies_context, copy_size(ix),
												FPB_CACHE_LINE,
												MCXT_ALLOC_NO_OOM);
		if (entry->page == NULL)
		{
			pagecopies_delete_item(cache->pages, entry);
			return;
		}
		copies_size += BLCKSZ;
	}
	memcpy(entry->page, page, BLCKSZ);
	memset(entry->page + BLCKSZ, 0, copy_size(ix) - BLCKSZ);
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
	copies_size -= BLCKSZ;
	pagecopies_delete_item(cache->pages, entry);
}

/*
 * The block of which this is a copy, or InvalidBlockNumber.
 */
BlockNumber
fpb_cache_block(FpbPageCache *cache, Page page)
{
	pagecopies_iterator it;
	CachedPage *entry;

	if (cache == NULL || cache->pages == NULL)
		return InvalidBlockNumber;
	pagecopies_start_iterate(cache->pages, &it);
	while ((entry = pagecopies_iterate(cache->pages, &it)) != NULL)
	{
		if (entry->page == (char *) page)
			return entry->blkno;
	}
	return InvalidBlockNumber;
}
