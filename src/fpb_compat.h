/*-------------------------------------------------------------------------
 *
 * fpb_compat.h
 *	  What differs between the PostgreSQL releases that fpbtree builds on.
 *
 * This is the only place that looks at PG_VERSION_NUM: the rest of the code
 * uses the names made here.
 *
 *-------------------------------------------------------------------------
 */
#ifndef FPB_COMPAT_H
#define FPB_COMPAT_H

#include "utils/injection_point.h"

#if PG_VERSION_NUM < 170000
#error "fpbtree needs PostgreSQL 17 or newer"
#endif

/*
 * Smaller pages would hold too few in-page nodes to be worth a directory;
 * there are no larger ones.
 */
#if BLCKSZ < 4096
#error "fpbtree needs pages of 4 kB or more"
#endif

/*
 * 18 lets an index access method say how its strategies compare (which is what
 * foreign keys, ON CONFLICT and merge joins go by), that its operator families
 * are consistent, and how high a tree is.
 */
#if PG_VERSION_NUM >= 180000
#define FPB_HAVE_COMPARE_TYPES
#define FPB_HAVE_TREE_HEIGHT
#endif

/*
 * 18's executor takes a row comparison to any ordered index, 17's to btree
 * alone.  (The planners of both look for btree: see fpb_planner.c.)
 */
#define FPB_ROW_COMPARE		(PG_VERSION_NUM >= 180000)

/* Since 18, amestimateparallelscan is given the index. */
#if PG_VERSION_NUM >= 180000
#define FPB_ESTIMATE_PARALLEL_ARGS \
	Relation index pg_attribute_unused(), int nkeys pg_attribute_unused(), \
	int norderbys pg_attribute_unused()
#else
#define FPB_ESTIMATE_PARALLEL_ARGS \
	int nkeys pg_attribute_unused(), int norderbys pg_attribute_unused()
#endif

/* Since 18, a module can carry its name and version. */
#ifdef PG_MODULE_MAGIC_EXT
#define FPB_MODULE_MAGIC(module_name, module_version) \
	PG_MODULE_MAGIC_EXT(.name = module_name, .version = module_version)
#else
#define FPB_MODULE_MAGIC(module_name, module_version) \
	PG_MODULE_MAGIC
#endif

/* Since 18, vacuum_delay_point is told whether it is ANALYZE that waits. */
#if PG_VERSION_NUM >= 180000
#define fpb_vacuum_delay_point()	vacuum_delay_point(false)
#else
#define fpb_vacuum_delay_point()	vacuum_delay_point()
#endif

/* The callback of the read stream does nothing but count. */
#if PG_VERSION_NUM >= 180000
#define FPB_READ_STREAM_BATCHING	READ_STREAM_USE_BATCHING
#else
#define FPB_READ_STREAM_BATCHING	0
#endif

/* Does a collation order strings by their bytes? */
#if PG_VERSION_NUM >= 180000
#define fpb_collation_is_c(collation) \
	(OidIsValid(collation) && \
	 pg_newlocale_from_collation(collation)->collate_is_c)
#else
#define fpb_collation_is_c(collation)	lc_collate_is_c(collation)
#endif

/* Since 18, EXPLAIN ANALYZE shows how often a scan has searched. */
#if PG_VERSION_NUM >= 180000
#define fpb_count_search(scan) \
	do { \
		if ((scan)->instrument != NULL) \
			(scan)->instrument->nsearches++; \
	} while (0)
#else
#define fpb_count_search(scan)	((void) 0)
#endif

/* Since 18, the server has asynchronous reads of its own. */
#if PG_VERSION_NUM >= 180000
#define FPB_HAVE_AIO
#endif

/* Is a page, just read, what has been written?  Without a message if not. */
#if PG_VERSION_NUM >= 180000
#define fpb_page_is_verified(page, block)	PageIsVerified(page, block, 0, NULL)
#else
#define fpb_page_is_verified(page, block)	PageIsVerifiedExtended(page, block, 0)
#endif

/*
 * Prune a heap page locked for cleanup, as heap_page_prune_opt does where it
 * finds the page worth it.  The same in 17 and 18, but subject to change.
 */
#define fpb_heap_page_prune(heap, buf, vistest) \
	do { \
		OffsetNumber unused_; \
		PruneFreezeResult result_; \
		heap_page_prune_and_freeze(heap, buf, vistest, 0, NULL, &result_, \
								   PRUNE_ON_ACCESS, &unused_, NULL, NULL); \
		if (result_.ndeleted > result_.nnewlpdead) \
			pgstat_update_heap_dead_tuples(heap, result_.ndeleted - result_.nnewlpdead); \
	} while (0)

/* Where in the shared state of a parallel index scan ours begins. */
#if PG_VERSION_NUM >= 180000
#define FPB_PARALLEL_STATE(pscan)	OffsetToPointer(pscan, (pscan)->ps_offset_am)
#else
#define FPB_PARALLEL_STATE(pscan)	OffsetToPointer((void *) (pscan), (pscan)->ps_offset)
#endif

/*
 * Hints are left on a page locked at least share.  Since 19, that takes a
 * stronger lock, which can't always be had, so that nobody else changes the
 * page while it is being written.  fpb_finish_hints is told whether there are
 * hints.
 */
#if PG_VERSION_NUM >= 190000
#define fpb_begin_hints(buf)			BufferBeginSetHintBits(buf)
#define fpb_finish_hints(buf, hinted)	BufferFinishSetHintBits(buf, hinted, true)
#else
#define fpb_begin_hints(buf)			true
#define fpb_finish_hints(buf, hinted) \
	do { \
		if (hinted) \
			MarkBufferDirtyHint(buf, true); \
	} while (0)
#endif

/*
 * A place at which a test can have a backend wait or fail.  Since 18, such a
 * point can be given an argument.
 */
#if PG_VERSION_NUM >= 180000
#define FPB_INJECTION_POINT(name)	INJECTION_POINT(name, NULL)
#else
#define FPB_INJECTION_POINT(name)	INJECTION_POINT(name)
#endif

#endif							/* FPB_COMPAT_H */
