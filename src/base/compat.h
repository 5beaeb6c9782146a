/*-------------------------------------------------------------------------
 *
 * base/compat.h
 *	  What differs between the PostgreSQL releases that fpbtree builds on.
 *
 * This is the only place that looks at PG_VERSION_NUM: the rest of the code
 * uses the names made here.
 *
 *-------------------------------------------------------------------------
 */
#ifndef FPB_BASE_COMPAT_H
#define FPB_BASE_COMPAT_H

#include "utils/injection_point.h"
#include "utils/pg_locale.h"

#if PG_VERSION_NUM < 170000
#error "fpbtree needs PostgreSQL 17 or newer"
#endif

#if SIZEOF_VOID_P < 8
#error "fpbtree needs a server that passes values of 8 bytes by value"
#endif

/*
 * Smaller pages would hold too few in-page nodes to be worth a directory;
 * there are no larger ones.
 */
#if BLCKSZ < 4096
#error "fpbtree needs pages of 4 kB or more"
#endif

/*
 * Since 18, an index access method can say how its strategies compare (foreign
 * keys, ON CONFLICT and merge joins ask), that its operator families are
 * consistent, and how high a tree is.
 */
#if PG_VERSION_NUM >= 180000
#define FPB_HAVE_COMPARE_TYPES
#define FPB_HAVE_TREE_HEIGHT
#endif

/* 19 has object identifiers of 64 bits. */
#if PG_VERSION_NUM >= 190000
#define FPB_HAVE_OID8
#endif

/*
 * 18's executor takes a row comparison to any ordered index, 17's to btree
 * alone.  (The planners of both look for btree: see am/planner.c.)
 */
#define FPB_ROW_COMPARE		(PG_VERSION_NUM >= 180000)

/*
 * 17 refuses ON CONFLICT for tables that have a unique index of another access
 * method than btree.
 */
#define FPB_CONFLICT_NEEDS_BTREE	(PG_VERSION_NUM < 180000)

/*
 * 17 makes no nested loop with a parameter that is a PlaceHolderVar computed
 * from more than the outer side.
 */
#if PG_VERSION_NUM >= 180000
#define FPB_DANGEROUS_PHV(root, outer_relids, inner_params)		false
#else
#define FPB_DANGEROUS_PHV(root, outer_relids, inner_params) \
	have_dangerous_phv(root, outer_relids, inner_params)
#endif

/*
 * Since 19, an extension can tell the planner what paths to avoid.  It needs
 * cost.h.
 */
#if PG_VERSION_NUM >= 190000
#define fpb_initial_cost_nestloop(root, workspace, jointype, outer, inner, extra) \
	initial_cost_nestloop(root, workspace, jointype, PGS_NESTLOOP_PLAIN, outer, inner, extra)
#else
#define fpb_initial_cost_nestloop(root, workspace, jointype, outer, inner, extra) \
	initial_cost_nestloop(root, workspace, jointype, outer, inner, extra)
#endif

/*
 * 19 gives the paths below an Append in a struct.  These need pathnode.h and
 * execPartition.h.
 */
#if PG_VERSION_NUM >= 190000
#define fpb_create_append_path(root, rel, paths, required_outer) \
	((Path *) create_append_path(root, rel, (AppendPathInput) {.subpaths = (paths)}, \
								 NIL, required_outer, 0, false, -1))
#else
#define fpb_create_append_path(root, rel, paths, required_outer) \
	((Path *) create_append_path(root, rel, paths, NIL, NIL, required_outer, 0, false, -1))
#endif

/* Since 18, run-time pruning can also tell the tables that it leaves. */
#if PG_VERSION_NUM >= 180000
#define fpb_matching_subplans(prune_state) \
	ExecFindMatchingSubPlans(prune_state, false, NULL)
#else
#define fpb_matching_subplans(prune_state) \
	ExecFindMatchingSubPlans(prune_state, false)
#endif

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

/*
 * Since 19, commands that need a database for themselves, such as DROP
 * DATABASE, can end the background workers that allow it.
 */
#ifdef BGWORKER_INTERRUPTIBLE
#define FPB_WORKER_INTERRUPTIBLE	BGWORKER_INTERRUPTIBLE
#else
#define FPB_WORKER_INTERRUPTIBLE	0
#endif

/* arguments that a signal handler passes on to another one */
#if PG_VERSION_NUM >= 190000
#define FPB_SIGNAL_ARGS		postgres_signal_arg, pg_siginfo
#else
#define FPB_SIGNAL_ARGS		postgres_signal_arg
#endif

/* Does a collation order strings by their bytes? */
#if PG_VERSION_NUM >= 180000
#define fpb_collation_is_c(collation) \
	(OidIsValid(collation) && \
	 pg_newlocale_from_collation(collation)->collate_is_c)
#else
#define fpb_collation_is_c(collation)	lc_collate_is_c(collation)
#endif

/*
 * The first bytes of a string's sort key, as many as there is room for;
 * returns how many they are.  17's pg_strnxfrm_prefix takes no notice of the
 * length.
 */
static inline Size
fpb_strnxfrm_prefix(char *dest, Size room, const char *string, Size length, pg_locale_t locale)
{
#if PG_VERSION_NUM >= 180000
	return pg_strnxfrm_prefix(dest, room, string, length, locale);
#else
	char	   *copy = pnstrdup(string, length);
	Size		size = pg_strxfrm_prefix(dest, copy, room, locale);

	pfree(copy);
	return size;
#endif
}

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

/*
 * Start a read, as StartReadBuffers does.  Since 19, another backend may have
 * started the read already.  Then we must not complete it or wait for it, and
 * it writes nothing to our memory.
 */
#if PG_VERSION_NUM >= 190000
#define fpb_start_read(op, buffers, block, nblocks) \
	do { \
		(op)->foreign_io = false; \
		(void) StartReadBuffers(op, buffers, block, nblocks, 0); \
		if ((op)->foreign_io) \
			pgaio_wref_clear(&(op)->io_wref); \
	} while (0)
#elif defined(FPB_HAVE_AIO)
#define fpb_start_read(op, buffers, block, nblocks) \
	((void) StartReadBuffers(op, buffers, block, nblocks, 0))
#endif

/*
 * A copy of the row of pg_constraint for a column's NOT NULL, or NULL.  Before
 * 18, there are no such rows.  Needs pg_constraint.h.
 */
#if PG_VERSION_NUM >= 180000
#define fpb_find_not_null(relid, attnum)	findNotNullConstraintAttnum(relid, attnum)
#else
#define fpb_find_not_null(relid, attnum)	((HeapTuple) NULL)
#endif

/* Has a page just read the right checksum?  No message if not. */
#if PG_VERSION_NUM >= 180000
#define fpb_page_is_verified(page, block)	PageIsVerified(page, block, 0, NULL)
#else
#define fpb_page_is_verified(page, block)	PageIsVerifiedExtended(page, block, 0)
#endif

/*
 * Prune a heap page locked for cleanup, as heap_page_prune_opt does if the
 * page is worth it, and set *result to what has been done.  Since 19, the page
 * of the visibility map is pinned first, because pruning repairs the map.
 */
#if PG_VERSION_NUM >= 190000
#define fpb_pin_visibility_map(heap, block, vmbuffer) \
	visibilitymap_pin(heap, block, vmbuffer)
#define fpb_heap_page_prune(heap, buf, vmbuf, visible, result) \
	do { \
		OffsetNumber unused_; \
		PruneFreezeParams params_ = { \
			.relation = (heap), .buffer = (buf), .vmbuffer = (vmbuf), \
			.reason = PRUNE_ON_ACCESS, .vistest = (visible) \
		}; \
		heap_page_prune_and_freeze(&params_, result, &unused_, NULL, NULL); \
	} while (0)
#else
#define fpb_pin_visibility_map(heap, block, vmbuffer)	((void) 0)
#define fpb_heap_page_prune(heap, buf, vmbuf, visible, result) \
	do { \
		OffsetNumber unused_; \
		heap_page_prune_and_freeze(heap, buf, visible, 0, NULL, result, \
								   PRUNE_ON_ACCESS, &unused_, NULL, NULL); \
	} while (0)
#endif

/*
 * Since 19, the server keeps the node that an access method's handler returns.
 * Earlier releases copy and free it.
 */
#if PG_VERSION_NUM >= 190000
#define FPB_RETURN_ROUTINE(routine)		PG_RETURN_POINTER(&(routine))
#else
#define FPB_RETURN_ROUTINE(routine) \
	PG_RETURN_POINTER(memcpy(palloc(sizeof(IndexAmRoutine)), &(routine), \
							 sizeof(IndexAmRoutine)))
#endif

/*
 * The planner's hook after the indexes of a table have been collected.  19's
 * is called for everything that a query reads from, be it a table or not.
 * Needs pathnode.h and plancat.h.
 */
#if PG_VERSION_NUM >= 190000
#define FPB_RELATION_HOOK			build_simple_rel_hook
#define FPB_RELATION_HOOK_TYPE		build_simple_rel_hook_type
#define FPB_RELATION_HOOK_PARAMS	PlannerInfo *root, RelOptInfo *rel, RangeTblEntry *rte
#define FPB_RELATION_HOOK_ARGS		root, rel, rte
#else
#define FPB_RELATION_HOOK			get_relation_info_hook
#define FPB_RELATION_HOOK_TYPE		get_relation_info_hook_type
#define FPB_RELATION_HOOK_PARAMS	PlannerInfo *root, Oid table, bool inhparent, RelOptInfo *rel
#define FPB_RELATION_HOOK_ARGS		root, table, inhparent, rel
#endif

/*
 * The hook that runs a plan.  Since 18, it is not told whether the plan is run
 * only once.  Needs executor.h.
 */
#if PG_VERSION_NUM >= 180000
#define FPB_EXECUTOR_RUN_PARAMS		QueryDesc *queryDesc, ScanDirection direction, uint64 count
#define FPB_EXECUTOR_RUN_ARGS		queryDesc, direction, count
#else
#define FPB_EXECUTOR_RUN_PARAMS \
	QueryDesc *queryDesc, ScanDirection direction, uint64 count, bool execute_once
#define FPB_EXECUTOR_RUN_ARGS		queryDesc, direction, count, execute_once
#endif

/*
 * What is spent between these counts as a query's, if somebody wants to know
 * (pg_stat_statements).  They need instrument.h.
 */
#if PG_VERSION_NUM >= 190000
#define fpb_begin_query_work(query) \
	((query)->query_instr != NULL ? InstrStart((query)->query_instr) : (void) 0)
#define fpb_end_query_work(query) \
	((query)->query_instr != NULL ? InstrStop((query)->query_instr) : (void) 0)
#else
#define fpb_begin_query_work(query) \
	((query)->totaltime != NULL ? InstrStartNode((query)->totaltime) : (void) 0)
#define fpb_end_query_work(query) \
	((query)->totaltime != NULL ? InstrStopNode((query)->totaltime, 0) : (void) 0)
#endif

/*
 * The cost of a path that runs a nested loop as if these were enabled, given
 * that of the loop; and whether the join may have use for that path.  Needs
 * cost.h and pathnode.h.
 */
#if PG_VERSION_NUM >= 180000
#define fpb_cost_as_enabled(path, outer, inner) \
	((path)->disabled_nodes = (outer)->disabled_nodes + (inner)->disabled_nodes)
#define fpb_add_path_precheck(joinrel, outer, inner, startup, total, pathkeys, required) \
	add_path_precheck(joinrel, (outer)->disabled_nodes + (inner)->disabled_nodes, \
					  startup, total, pathkeys, required)
#else
#define fpb_cost_as_enabled(path, outer, inner) \
	do { \
		if (!enable_nestloop) \
		{ \
			(path)->startup_cost -= disable_cost; \
			(path)->total_cost -= disable_cost; \
		} \
	} while (0)
#define fpb_add_path_precheck(joinrel, outer, inner, startup, total, pathkeys, required) \
	add_path_precheck(joinrel, startup, total, pathkeys, required)
#endif

/* What is measured of a plan's node; needs instrument.h. */
#if PG_VERSION_NUM >= 190000
#define FpbNodeInstrumentation	NodeInstrumentation
#else
#define FpbNodeInstrumentation	Instrumentation
#endif

/* The header of the functions that print what a node adds to EXPLAIN. */
#if PG_VERSION_NUM >= 180000
#define FPB_EXPLAIN_HEADER	"commands/explain_format.h"
#else
#define FPB_EXPLAIN_HEADER	"commands/explain.h"
#endif

/* The flags and counts of a shared buffer; needs buf_internals.h. */
#if PG_VERSION_NUM >= 190000
#define fpb_buffer_state(desc)		pg_atomic_read_u64(&(desc)->state)
#else
#define fpb_buffer_state(desc)		((uint64) pg_atomic_read_u32(&(desc)->state))
#endif

/* Since 19, the beginning of a table scan has flags. */
#if PG_VERSION_NUM >= 190000
#define fpb_table_index_fetch_begin(table)	table_index_fetch_begin(table, SO_NONE)
#define fpb_table_beginscan(table, snapshot) \
	table_beginscan(table, snapshot, 0, NULL, SO_NONE)
#define fpb_table_beginscan_parallel(table, pscan) \
	table_beginscan_parallel(table, pscan, SO_NONE)
#else
#define fpb_table_index_fetch_begin(table)	table_index_fetch_begin(table)
#define fpb_table_beginscan(table, snapshot) \
	table_beginscan(table, snapshot, 0, NULL)
#define fpb_table_beginscan_parallel(table, pscan) \
	table_beginscan_parallel(table, pscan)
#endif

/* Since 19, index_build is told whether to report its progress. */
#if PG_VERSION_NUM >= 190000
#define fpb_index_build(heap, index, info, reindex, parallel) \
	index_build(heap, index, info, reindex, parallel, true)
#else
#define fpb_index_build(heap, index, info, reindex, parallel) \
	index_build(heap, index, info, reindex, parallel)
#endif

/*
 * Named shared memory, and the names of locks in it.  Before 19, each backend
 * had to register these names.
 */
#if PG_VERSION_NUM >= 190000
#define FPB_SEGMENT_INIT_PARAMS	void *ptr, void *arg pg_attribute_unused()
#define fpb_named_segment(name, size, init, found) \
	GetNamedDSMSegment(name, size, init, found, NULL)
#define fpb_new_tranche(name)	LWLockNewTrancheId(name)
#define fpb_register_tranche(tranche, name)		((void) 0)
#else
#define FPB_SEGMENT_INIT_PARAMS	void *ptr
#define fpb_named_segment(name, size, init, found) \
	GetNamedDSMSegment(name, size, init, found)
#define fpb_new_tranche(name)	LWLockNewTrancheId()
#define fpb_register_tranche(tranche, name)		LWLockRegisterTranche(tranche, name)
#endif

/*
 * A date, or a timestamp, as an instant in the session's time zone.  overflow
 * becomes the sign of an infinity if it is beyond the finite ones.
 */
#if PG_VERSION_NUM >= 190000
#define fpb_to_instant(convert, value, result, overflow) \
	do { \
		ErrorSaveContext error_ = {T_ErrorSaveContext}; \
		result = convert##_safe(value, (Node *) &error_); \
		overflow = !error_.error_occurred ? 0 : TIMESTAMP_IS_NOEND(result) ? 1 : -1; \
	} while (0)
#else
#define fpb_to_instant(convert, value, result, overflow) \
	do { \
		result = convert##_opt_overflow(value, &(overflow)); \
	} while (0)
#endif

/* Where our part of a parallel index scan's shared state begins. */
#if PG_VERSION_NUM >= 180000
#define FPB_PARALLEL_STATE(pscan)	OffsetToPointer(pscan, (pscan)->ps_offset_am)
#else
#define FPB_PARALLEL_STATE(pscan)	OffsetToPointer((void *) (pscan), (pscan)->ps_offset)
#endif

/*
 * Setting hints on a page that is locked at least share.  Since 19, that needs
 * a stronger lock, which can't always be had, because a page must not change
 * while it is being written.  fpb_finish_hints is told whether hints have been
 * set.
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
 * A point at which a test can make a backend wait or fail.  Since 18, it can
 * have an argument.
 */
#if PG_VERSION_NUM >= 180000
#define FPB_INJECTION_POINT(name)	INJECTION_POINT(name, NULL)
#else
#define FPB_INJECTION_POINT(name)	INJECTION_POINT(name)
#endif

/*
 * The same in a critical section.  It has to be loaded before that, and there
 * is none before 18.
 */
#if PG_VERSION_NUM >= 180000
#define FPB_INJECTION_POINT_LOAD(name)		INJECTION_POINT_LOAD(name)
#define FPB_INJECTION_POINT_CACHED(name)	INJECTION_POINT_CACHED(name, NULL)
#else
#define FPB_INJECTION_POINT_LOAD(name)		((void) 0)
#define FPB_INJECTION_POINT_CACHED(name)	((void) 0)
#endif

#endif							/* FPB_BASE_COMPAT_H */
