/*-------------------------------------------------------------------------
 *
 * tree/metapage.c
 *	  Opening an index: its metapage.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xlog.h"
#include "storage/bufmgr.h"
#include "utils/memutils.h"

#include "page/layout.h"
#include "tree/buffers.h"

/*
 * Set up the metapage.
 */
void
fpb_meta_init(const FpbIndex *ix, Page page, BlockNumber root, uint32 level)
{
	FpbPageHeader *hdr = FpbHdr(page);
	FpbMeta    *meta;
	int			leaf_lines;
	int			inner_lines;

	PageInit(page, BLCKSZ, 0);
	hdr->magic = FPB_MAGIC;
	hdr->flags = FPB_META;
	meta = FpbPageGetMeta(page);
	meta->magic = FPB_META_MAGIC;
	meta->version = FPB_VERSION;
	meta->root = root;
	meta->level = level;
	meta->form = ix->form;
	meta->head_width = ix->head_width;
	meta->heads_version = ix->heads_version;
	meta->layout = ix->layout->id;
	fpb_layout_lines(ix, &leaf_lines, &inner_lines);
	meta->leaf_lines = leaf_lines;
	meta->inner_lines = inner_lines;
	for (int tier = 1; tier < FPB_TREES; tier++)
		fpb_meta_tier(page, tier)->root = FPB_METAPAGE;
	meta->options = (ix->one_key ? FPB_META_ONE_KEY : 0) |
		(ix->csb ? FPB_META_CSB : 0) |
		(ix->count_most < FPB_COUNT_MOST ? FPB_META_BISECTING : 0) |
		(ix->prefetch ? 0 : FPB_META_UNFETCHED) |
		(ix->c_locale == FPB_C_LOCALE_BYTES ? FPB_META_C_BYTES : 0) |
		(fpb_unique_wants_queue(ix->rel) ? FPB_META_QUEUE : 0);
	hdr->pd.pd_lower = ((char *) meta + sizeof(FpbMeta)) - (char *) page;
}

/*
 * Can an index with this metapage have an operation queue?  Whether a unique
 * one can is told when it is built, and stays so: its lookups and uniqueness
 * checks need not ask for a queue that cannot be.
 */
static bool
meta_may_queue(Relation rel, const FpbMeta *meta)
{
	return fpb_may_queue(rel) || (meta->options & FPB_META_QUEUE) != 0;
}

/*
 * Can what a metapage says of the operation queue be right?
 */
static bool
tiers_are_sound(const FpbIndex *ix, const FpbMeta *meta)
{
	for (int i = 0; i < FPB_TIERS; i++)
	{
		const FpbMetaTier *tier = &meta->tiers[i];

		if (tier->root == InvalidBlockNumber || tier->level >= FPB_MAX_LEVELS ||
			(tier->root != FPB_METAPAGE && !meta_may_queue(ix->rel, meta)))
			return false;
	}
	return true;
}

/*
 * Raise an error unless the page is a metapage of this format that agrees with
 * what the catalogs say of the index.  (Whether keys may be shared is not
 * compared, because a column of type char(n) can lose its length without the
 * index being built again.  See fpb_canreturn.)
 */
void
fpb_check_meta(const FpbIndex *ix, Page page)
{
	FpbPageHeader *hdr = FpbHdr(page);
	FpbMeta    *meta = FpbPageGetMeta(page);
	const char *name = RelationGetRelationName(ix->rel);

	if (PageIsNew(page) || hdr->magic != FPB_MAGIC ||
		!FpbPageIsMeta(page) || meta->magic != FPB_META_MAGIC)
		ereport(ERROR,
				(errcode(ERRCODE_INDEX_CORRUPTED),
				 errmsg("index \"%s\" is not an fpbtree", name),
				 errdetail("Its block %u is not an fpbtree metapage.",
						   FPB_METAPAGE),
				 errhint("Please REINDEX it.")));
	if (meta->version != FPB_VERSION)
		ereport(ERROR,
				(errcode(ERRCODE_INDEX_CORRUPTED),
				 errmsg("version mismatch in index \"%s\": file version %u, current version %u",
						name, meta->version, FPB_VERSION),
				 errhint("Please REINDEX it.")));
	if (meta->form != ix->form || meta->head_width != ix->head_width)
		ereport(ERROR,
				(errcode(ERRCODE_INDEX_CORRUPTED),
				 errmsg("metapage of index \"%s\" does not agree with its definition",
						name),
				 errdetail("Key form %d, head width %d are stored; the definition asks for %d, %d.",
						   meta->form, meta->head_width,
						   (int) ix->form, ix->head_width),
				 errhint("Please REINDEX it.")));
	if (meta->leaf_lines < FPB_NARROW_LINES || meta->leaf_lines > FPB_MAX_LINES ||
		meta->inner_lines < FPB_MIN_LINES || meta->inner_lines > FPB_MAX_LINES ||
		fpb_layout_routine(meta->layout) == NULL ||
		meta->root == FPB_METAPAGE || meta->root == InvalidBlockNumber ||
		meta->level >= FPB_MAX_LEVELS ||
		(meta->heads_version == FPB_HEADS_FIXED) != (ix->heads_version == FPB_HEADS_FIXED) ||
		!tiers_are_sound(ix, meta))
		fpb_report_damage(ix->rel, FPB_METAPAGE,
						  "The metapage holds values out of range.");
}

/*
 * Pin the metapage and check it.  It is locked meanwhile, because replay may
 * be restoring it, in a buffer that is full of zeros at first.
 */
Buffer
fpb_pin_meta(const FpbIndex *ix)
{
	Buffer		buf = fpb_pin_recent(ix, FPB_METAPAGE);

	LockBuffer(buf, BUFFER_LOCK_SHARE);
	fpb_check_meta(ix, BufferGetPage(buf));
	LockBuffer(buf, BUFFER_LOCK_UNLOCK);
	return buf;
}

/*
 * Copy the metapage's content.  False, and all zeros, if the index has none of
 * this format.  No page is locked on entry or exit.
 */
static bool
peek_at_meta(Relation rel, FpbMeta *meta)
{
	Buffer		buf;
	Page		page;
	bool		is_meta;

	memset(meta, 0, sizeof(*meta));
	if (RelationGetNumberOfBlocks(rel) == 0)
		return false;
	buf = ReadBuffer(rel, FPB_METAPAGE);
	LockBuffer(buf, BUFFER_LOCK_SHARE);
	page = BufferGetPage(buf);
	is_meta = !PageIsNew(page) && FpbHdr(page)->magic == FPB_MAGIC &&
		FpbPageGetMeta(page)->magic == FPB_META_MAGIC &&
		FpbPageGetMeta(page)->version == FPB_VERSION;
	if (is_meta)
		*meta = *FpbPageGetMeta(page);
	fpb_relbuf(buf);
	return is_meta;
}

/*
 * Has an index an operation queue?  Only the metapage is looked at, and
 * nothing else of the index, nor its operator classes.  An index of another
 * format has none.  No page is locked on entry or exit.
 */
bool
fpb_has_queue(Relation rel)
{
	FpbMeta		meta;
	bool		any = false;

	if (peek_at_meta(rel, &meta))
		for (int i = 0; i < FPB_TIERS; i++)
			any = any || meta.tiers[i].root != FPB_METAPAGE;
	return any;
}

/*
 * Can a built index have an operation queue?  No page is locked on entry or
 * exit.
 */
bool
fpb_built_for_queue(Relation rel)
{
	FpbMeta		meta;

	return peek_at_meta(rel, &meta) && meta_may_queue(rel, &meta);
}

/*
 * Find out how strings in a locale named C.* were ordered when a described
 * index was built, which may have been with another C library.  (What the
 * metapage has of that never changes.)  No page is locked on entry or exit.
 */
static void
look_up_c_locale(FpbIndex *ix)
{
	FpbMeta		meta;

	if (ix->c_locale != FPB_C_LOCALE_NONE && peek_at_meta(ix->rel, &meta))
		fpb_index_set_c_locale(ix, (meta.options & FPB_META_C_BYTES) != 0 ?
							   FPB_C_LOCALE_BYTES : FPB_C_LOCALE_RULES);
}

/*
 * Note which version of the collation the heads in the pages are of.
 */
static void
note_heads_version(FpbIndex *ix, uint32 heads_version)
{
	ix->old_heads = heads_version != ix->heads_version;
	ix->mixed_heads = heads_version == FPB_HEADS_MIXED;
}

/*
 * The same on a standby, where the primary may have another version of the
 * collation, and may have come to it while we have known the index.  (A scan
 * that has begun before finds what its snapshot sees: the heads of these rows
 * stay as they are, and in order.)
 */
static void
read_heads_version(FpbIndex *ix)
{
	Buffer		buf = ReadBuffer(ix->rel, FPB_METAPAGE);

	LockBuffer(buf, BUFFER_LOCK_SHARE);
	fpb_check_meta(ix, BufferGetPage(buf));
	note_heads_version(ix, FpbPageGetMeta(BufferGetPage(buf))->heads_version);
	UnlockReleaseBuffer(buf);
}

/*
 * The root of the tree that is worked on, a tier, is that of *ix->tier_roots.
 */
static void
set_tier_root(FpbIndex *ix)
{
	ix->root = ix->tier_roots[ix->tree - 1];
	ix->level = ix->tier_levels[ix->tree - 1];
}

/*
 * Read what *ix has of the metapage: roots, levels, and shapes of nodes.
 * Other pages may be locked, because the metapage comes last in the order of
 * locks.
 */
static void
read_meta(FpbIndex *ix)
{
	Buffer		buf = ReadBuffer(ix->rel, FPB_METAPAGE);
	FpbMeta		meta;

	LockBuffer(buf, BUFFER_LOCK_SHARE);
	fpb_check_meta(ix, BufferGetPage(buf));
	meta = *FpbPageGetMeta(BufferGetPage(buf));
	UnlockReleaseBuffer(buf);

	ix->may_queue = meta_may_queue(ix->rel, &meta);
	for (int i = 0; i < FPB_TIERS; i++)
	{
		ix->tier_roots[i] = meta.tiers[i].root;
		ix->tier_levels[i] = meta.tiers[i].level;
	}
	if (ix->tree == FPB_MAIN_TREE)
	{
		ix->root = meta.root;
		ix->level = meta.level;
	}
	else
		set_tier_root(ix);
	ix->one_key = (meta.options & FPB_META_ONE_KEY) != 0;
	note_heads_version(ix, meta.heads_version);
	ix->csb = (meta.options & FPB_META_CSB) != 0;
	ix->layout = fpb_layout_routine(meta.layout);
	fpb_layout_search(ix, (meta.options & FPB_META_BISECTING) != 0,
					  (meta.options & FPB_META_UNFETCHED) == 0);
	fpb_layout_shapes(ix, meta.leaf_lines, meta.inner_lines);
}

/*
 * Fill *ix for an open index.  Its root may be out of date.  A descent notices
 * that: the old root is then merely the leftmost page of its level.
 */
void
fpb_index_open(FpbIndex *ix, Relation rel)
{
	if (rel->rd_amcache == NULL)
	{
		fpb_index_describe(ix, rel);
		look_up_c_locale(ix);
		ix->cache = fpb_cache_attach(rel);
		read_meta(ix);
		if (rel->rd_amcache == NULL)
		{
			Size		size = offsetof(FpbIndex, cols) +
				ix->natts * sizeof(FpbColumn);
			FpbIndex   *cache = MemoryContextAlloc(rel->rd_indexcxt, size);

			memcpy(cache, ix, size);
			rel->rd_amcache = cache;
		}
	}
	else
	{
		FpbIndex   *cache = rel->rd_amcache;

		memcpy(ix, cache, offsetof(FpbIndex, cols) +
			   cache->natts * sizeof(FpbColumn));
		ix->rel = rel;			/* that of the cache may have been closed */
		if (ix->heads_version != FPB_HEADS_FIXED && RecoveryInProgress())
			read_heads_version(ix);
	}
}

/*
 * What fpb_index_open knows of an open index, without a copy where there is
 * one already; else it is in *memory.  Good until the caller does anything
 * that may invalidate the relcache entry.
 */
const FpbIndex *
fpb_index_look(Relation rel, FpbIndex *memory)
{
	if (likely(rel->rd_amcache != NULL))
		return rel->rd_amcache;
	fpb_index_open(memory, rel);
	return memory;
}

/*
 * Read the metapage again, because a page is not the root any more, and update
 * the cache.  Pages of the trees may be locked.
 */
void
fpb_index_refresh(FpbIndex *ix)
{
	read_meta(ix);
	if (ix->rel->rd_amcache != NULL)
	{
		FpbIndex   *cache = ix->rel->rd_amcache;

		if (ix->tree == FPB_MAIN_TREE)
		{
			cache->root = ix->root;
			cache->level = ix->level;
		}
		memcpy(cache->tier_roots, ix->tier_roots, sizeof(ix->tier_roots));
		memcpy(cache->tier_levels, ix->tier_levels, sizeof(ix->tier_levels));
	}
}

/*
 * Make *queue a copy of *ix that works on a tier of the operation queue.  Its
 * root is FPB_METAPAGE if there is no such tier, as far as is known.
 */
void
fpb_index_of_tier(const FpbIndex *ix, int tier, FpbIndex *queue)
{
	memcpy(queue, ix, offsetof(FpbIndex, cols) +
		   ix->natts * sizeof(FpbColumn));
	queue->tree = tier;
	set_tier_root(queue);
}

/*
 * Note that a new entry is about to borrow a head, unless that is noted
 * already.  From now on heads are old, whatever the version of the collation.
 * Other pages may be locked, because the metapage comes last in the order of
 * locks.
 */
void
fpb_note_mixed_heads(FpbIndex *ix)
{
	FpbWal		wal;
	FpbWalPage *wp;
	Buffer		buf;

	if (ix->mixed_heads)
		return;
	fpb_wal_begin(&wal, ix->rel);
	buf = fpb_add_meta(ix, &wal, &wp);
	fpb_wal_enter(&wal);
	FpbPageGetMeta(wp->page)->heads_version = FPB_HEADS_MIXED;
	fpb_wal_note(wp, FpbPageGetMeta(wp->page), sizeof(FpbMeta));
	fpb_wal_finish(&wal);
	fpb_relbuf(buf);
	ix->mixed_heads = true;
	if (ix->rel->rd_amcache != NULL)
		((FpbIndex *) ix->rel->rd_amcache)->mixed_heads = true;
}

/*
 * Lock the metapage exclusively and add it to a record.  The record's other
 * pages are locked already, because the metapage comes last in the order of
 * locks.  The caller has to release it after the record has been logged.
 */
Buffer
fpb_add_meta(const FpbIndex *ix, FpbWal *wal, FpbWalPage **wp)
{
	Buffer		buf = ReadBuffer(ix->rel, FPB_METAPAGE);

	LockBuffer(buf, BUFFER_LOCK_EXCLUSIVE);
	*wp = fpb_wal_add(wal, buf, false);
	return buf;
}

/*
 * Change the number of pages of the queue's tier on the metapage, which is a
 * page of a record.  In the critical section.
 */
void
fpb_count_tier_pages(const FpbIndex *queue, FpbWalPage *wp, int change)
{
	FpbMetaTier *tier = fpb_meta_tier(wp->page, queue->tree);

	tier->pages += change;
	fpb_wal_note(wp, &tier->pages, sizeof(tier->pages));
}
