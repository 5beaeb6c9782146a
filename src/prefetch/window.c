/*-------------------------------------------------------------------------
 *
 * prefetch/window.c
 *	  A window of pages that are being read, none of them pinned.
 *
 * The user of a window announces pages of a relation in the order in which he
 * will need them, starts the reads of those announced, and says to which page
 * he has come.  How many pages the window holds follows a read stream's rules:
 * few at first, twice as many after a read, fewer when pages are found in
 * memory; as many reads at a time as the tablespace's effective_io_concurrency
 * says.  Of the pages announced together, neighbours in the file are read
 * together.
 *
 * A read stream of the server's would not do: it keeps every page of its
 * window pinned, and a scan may be left alone for hours between two rows.
 * Pins on leaves would hold up VACUUM's cleanup locks, and pins on heap pages
 * would hold up pruning and freezing.  A read needs our pin only to be
 * started.  From then on the server's asynchronous I/O holds a pin of its own
 * until the read is completed, by us or by whoever wants the page first.  So
 * we drop our pin at once.
 *
 * Where files go through the kernel's cache, we advise the kernel instead,
 * which needs no buffer.  That is quicker, and it is the only way where there
 * is no asynchronous I/O (17, io_method = sync, and temporary tables, whose
 * pages workers can't read).  There nothing is prefetched under direct I/O.
 *
 * A read that fails is nobody's error here.  Its page is not valid then, and
 * is read again, and the error raised, when someone comes to it.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "common/int.h"
#include "miscadmin.h"
#include "optimizer/optimizer.h"
#include "port/pg_bitutils.h"
#include "storage/buf_internals.h"
#include "storage/bufmgr.h"
#include "storage/fd.h"
#include "storage/proclist.h"
#include "utils/memutils.h"
#include "utils/spccache.h"

#include "prefetch/prefetch.h"

/*
 * A user that needs all pages of a relation, and has announced one of
 * ALL_BEGINS, has the kernel read AROUND pages at a time.  With blocks of 8 kB
 * that is as much as the kernel itself reads ahead of a process that reads a
 * file from one end to the other.
 */
#define ALL_BEGINS		16
#define AROUND			16

#ifdef FPB_HAVE_AIO
#include "storage/aio.h"
#include "storage/aio_internal.h"
#include "storage/aio_subsys.h"

/*
 * The latest reads.  An operation's memory must be there until the server is
 * done with it.
 */
struct FpbWindowReads
{
	int			size;
	int			next;
	ReadBuffersOperation ops[FLEXIBLE_ARRAY_MEMBER];
};
#endif

/* --- setting up --- */

/*
 * Can pages of the relation be prefetched at all, and how?
 *
 * Where the kernel caches files, we advise it even if there is asynchronous
 * I/O, unless the setting asks for that.  Each of the processes of io_method =
 * worker has one read in flight, the kernel any number; and with io_uring a
 * buffered read costs more to begin than advice.
 */
static bool
can_prefetch(Relation rel pg_attribute_unused(), bool *async)
{
	bool		has_async = false;
	bool		has_advice = false;

#ifdef FPB_HAVE_AIO
	has_async = !RelationUsesLocalBuffers(rel) && io_method != IOMETHOD_SYNC;
#endif
#ifdef USE_PREFETCH
	has_advice = (io_direct_flags & IO_DIRECT_DATA) == 0;
#endif
	*async = has_async &&
		(!has_advice || fpb_prefetch_method == FPB_PREFETCH_AIO);
	return has_async || has_advice;
}

/*
 * How many pages a window may hold: half of this backend's share of the
 * buffers, because a scan has a window on the index and one on the table.
 * They count as if they were pinned; while they are being read they are.
 */
static int
share_of_buffers(void)
{
#ifdef FPB_HAVE_AIO
	return (int) Min(GetPinLimit() / 2, FPB_MAX_DISTANCE);
#else
	uint32		limit = 2 * FPB_MAX_DISTANCE;

	LimitAdditionalPins(&limit);
	return (int) limit / 2;
#endif
}

/*
 * Set up a window on a relation.  distance: how many pages it holds at most;
 * 0: none; -1: what effective_io_concurrency of the tablespace asks for.  What
 * is allocated is in cxt.
 */
void
fpb_window_init(FpbWindow *window, MemoryContext cxt, Relation rel, int distance)
{
	int			concurrency = get_tablespace_io_concurrency(rel->rd_rel->reltablespace);
	bool		async;

	memset(window, 0, sizeof(*window));
	window->rel = rel;
	window->cxt = cxt;
	if (distance == 0 || concurrency == 0 || !can_prefetch(rel, &async))
		return;

	if (distance > 0)
		window->max_reads = window->max_distance = distance;
	else
	{
		window->max_reads = Min(concurrency, FPB_MAX_DISTANCE);
		window->max_distance = Min(window->max_reads * io_combine_limit,
								   FPB_MAX_DISTANCE);
	}
	window->max_distance = Min(window->max_distance, share_of_buffers());
	window->max_reads = Min(window->max_reads, window->max_distance);

	/* the first page announced is the one that is read next anyway */
	if (window->max_distance < 2)
	{
		window->max_distance = window->max_reads = 0;
		return;
	}

	window->nblocks = RelationGetNumberOfBlocks(rel);
	window->mask = pg_nextpower2_32(window->max_distance) - 1;
	window->queue = MemoryContextAlloc(cxt, (window->mask + 1) * sizeof(FpbWindowPage));
	window->missing = MemoryContextAlloc(cxt, (window->mask + 1) * sizeof(uint32));
	window->distance = window->min_distance = 2;

#ifdef FPB_HAVE_AIO
	if (async)
	{
		window->reads = MemoryContextAllocZero(cxt, offsetof(FpbWindowReads, ops) +
											   window->max_reads * sizeof(ReadBuffersOperation));
		window->reads->size = window->max_reads;
		for (int i = 0; i < window->max_reads; i++)
			pgaio_wref_clear(&window->reads->ops[i].io_wref);
	}
#endif
}

/* --- starting reads --- */

/*
 * An entry of the queue by its number.
 */
static inline FpbWindowPage *
queued(const FpbWindow *window, uint32 i)
{
	return &window->queue[i & window->mask];
}

/*
 * Announce the page that will be needed after those announced already.  If the
 * caller numbers them, it can say to which others have come (fpb_window_pass).
 */
void
fpb_window_add(FpbWindow *window, BlockNumber block, uint64 number)
{
	FpbWindowPage *page = queued(window, window->tail);

	Assert(fpb_window_length(window) <= window->mask);
	page->block = block;
	page->number = number;
	page->started = false;

	/* neighbours will be read together, presumably */
	page->first = true;
	for (uint32 n = 1; n <= window->unstarted && page->first; n++)
	{
		BlockNumber other = queued(window, window->tail - n)->block;

		page->first = block != other + 1 && other != block + 1;
	}
	window->nreads += page->first;
	window->tail++;
	window->unstarted++;
}

/*
 * Can a page be read without waiting for storage, presumably?
 */
bool
fpb_window_at_hand(Relation rel, BlockNumber block)
{
	return RelationUsesLocalBuffers(rel) || fpb_is_in_memory(rel, block, true);
}

/*
 * Read a page into memory of the caller's, aligned for I/O: it is in no
 * buffer, but the kernel has been advised to read it.  False if it can't be
 * read, or is damaged; whoever needs it will get the error.
 *
 * Another process may read the page into a buffer and change it at the same
 * time; such changes may be missing from what the caller gets.
 */
bool
fpb_window_read_aside(Relation rel, BlockNumber block, Page page)
{
	MemoryContext cxt = CurrentMemoryContext;
	volatile bool read = false;

	/* the storage manager holds nothing that an error would leave behind */
	PG_TRY();
	{
		smgrread(RelationGetSmgr(rel), MAIN_FORKNUM, block, page);
		read = true;
	}
	PG_CATCH();
	{
		MemoryContextSwitchTo(cxt);
		FlushErrorState();
	}
	PG_END_TRY();
	return read && fpb_page_is_verified(page, block);
}

#ifdef FPB_HAVE_AIO
/*
 * Does a process that needs a page complete its read itself (io_uring)?  Else
 * a process that does nothing else does it (worker).
 */
static inline bool
others_complete_reads(void)
{
	return pgaio_method_ops->wait_one != NULL;
}

/*
 * The memory for one more read: that of the oldest.  Most likely that one is
 * done by now; if not, we wait for it.
 */
static ReadBuffersOperation *
next_read(FpbWindowReads *reads)
{
	ReadBuffersOperation *op = &reads->ops[reads->next];

	reads->next = (reads->next + 1) % reads->size;
	if (pgaio_wref_valid(&op->io_wref) &&
		!pgaio_wref_check_done(&op->io_wref))
	{
		/* it may be one of the batch being made */
		if (pgaio_have_staged())
			pgaio_submit_staged();
		pgaio_wref_wait(&op->io_wref);
	}
	pgaio_wref_clear(&op->io_wref);
	return op;
}

/*
 * Start reading n neighbouring pages.
 */
static void
start_reads(FpbWindow *window, BlockNumber block, int n)
{
	Relation	rel = window->rel;

	while (n > 0)
	{
		ReadBuffersOperation *op = next_read(window->reads);
		Buffer		buffers[MAX_IO_COMBINE_LIMIT];
		int			nblocks = Min(n, io_combine_limit);
		int			npinned = nblocks;

		for (int i = 0; i < nblocks; i++)
			buffers[i] = InvalidBuffer;
		op->rel = rel;
		op->smgr = RelationGetSmgr(rel);
		op->persistence = rel->rd_rel->relpersistence;
		op->forknum = MAIN_FORKNUM;
		op->strategy = NULL;
		fpb_start_read(op, buffers, block, &nblocks);

		/* more may have been pinned than this read is of */
		for (int i = 0; i < npinned && BufferIsValid(buffers[i]); i++)
			ReleaseBuffer(buffers[i]);
		block += nblocks;
		n -= nblocks;
	}
}
#endif

/*
 * qsort_arg comparator of entries of the queue, by block.
 */
static int
compare_blocks(const void *a, const void *b, void *arg)
{
	const FpbWindow *window = arg;

	return pg_cmp_u32(queued(window, *(const uint32 *) a)->block,
					  queued(window, *(const uint32 *) b)->block);
}

/*
 * How many of the missing pages from the at'th on, of n in all in the order of
 * their blocks, are neighbours that can be read at once?
 */
static int
run_length(const FpbWindow *window, int at, int n)
{
	BlockNumber block = queued(window, window->missing[at])->block;
	int			length = 1;

	while (at + length < n && length < io_combine_limit &&
		   queued(window, window->missing[at + length])->block == block + length)
		length++;
	return length;
}

/*
 * Divide the n missing pages into runs of neighbours.  The page of a run that
 * is needed first gets the mark, and notes where the run begins.
 */
static void
find_runs(FpbWindow *window, int n)
{
	qsort_arg(window->missing, n, sizeof(uint32), compare_blocks, window);
	for (int from = 0, to; from < n; from = to)
	{
		uint32		first = window->missing[from];

		to = from + run_length(window, from, n);
		for (int i = from + 1; i < to; i++)
		{
			if (window->missing[i] - window->head < first - window->head)
				first = window->missing[i];
		}
		queued(window, first)->first = true;
		queued(window, first)->run = from;
	}
}

/*
 * Will the caller, most likely, need nearly all pages of the relation before
 * the kernel has to drop any?  We say so only after it has come a part of the
 * way: if it stops here, what is read in vain is little beside what it has
 * read.
 */
static bool
needs_all(const FpbWindow *window)
{
	return window->to_the_end &&
		window->nstarted >= window->nblocks / ALL_BEGINS &&
		window->nblocks <= (BlockNumber) effective_cache_size / 2;
}

/*
 * Advise the kernel to read a page and those around it.  All of these are
 * needed sooner or later, and many neighbours in the file are read in little
 * more time than one.  (In an index grown at random, neighbours in the order
 * of the keys lie far apart.)  If the kernel drops them before they are
 * needed, the advice of each page by itself is still to come.
 */
static void
advise_around(FpbWindow *window, BlockNumber block)
{
	int			part = block / AROUND;
	BlockNumber first = part * AROUND;
	MemoryContext old;

	if (bms_is_member(part, window->around))
		return;
	old = MemoryContextSwitchTo(window->cxt);
	window->around = bms_add_member(window->around, part);
	MemoryContextSwitchTo(old);
	FPB_INJECTION_POINT("fpbtree-advise-around");
	(void) smgrprefetch(RelationGetSmgr(window->rel), MAIN_FORKNUM, first,
						Min(AROUND, window->nblocks - first));
}

/*
 * Start reading n neighbouring pages, in one read or by one piece of advice.
 */
static void
start_run(FpbWindow *window, BlockNumber block, int n)
{
#ifdef FPB_HAVE_AIO
	if (window->reads != NULL)
	{
		start_reads(window, block, n);
		return;
	}
#endif
	if (needs_all(window))
		advise_around(window, block);
	if (n > 1 && !RelationUsesLocalBuffers(window->rel))
		(void) smgrprefetch(RelationGetSmgr(window->rel), MAIN_FORKNUM, block, n);
	else
	{
		for (int i = 0; i < n; i++)
			(void) PrefetchBuffer(window->rel, MAIN_FORKNUM, block + i);
	}
}

/*
 * Look at the pages announced last, and start reading those that are not in
 * memory: neighbours together, whatever lies between them in the order in
 * which they are needed, and first what is needed first.
 */
void
fpb_window_start(FpbWindow *window)
{
	bool		temporary = RelationUsesLocalBuffers(window->rel);
#ifdef FPB_HAVE_AIO
	bool		batch = false;
#endif
	int			nstarted = 0;
	int			ncached = 0;

	if (window->unstarted == 0)
		return;

	/* which of them are missing? */
	for (uint32 i = window->tail - window->unstarted; i != window->tail; i++)
	{
		FpbWindowPage *page = queued(window, i);

		window->nreads -= page->first;
		page->first = false;
		if (page->block >= window->nblocks)
		{
			/* it may have come since; or the link to it is damaged */
			window->nblocks = RelationGetNumberOfBlocks(window->rel);
			if (page->block >= window->nblocks)
				continue;
		}
		page->started = temporary || !fpb_is_in_memory(window->rel, page->block, false);
		if (page->started)
			window->missing[nstarted++] = i;
		else
			ncached++;
	}
	find_runs(window, nstarted);

#ifdef FPB_HAVE_AIO
	/* reads begun and not submitted yet are a danger: see fpb_window_serve */
	batch = window->reads != NULL && nstarted > 1 && !others_complete_reads();
	if (batch)
		pgaio_enter_batchmode();
#endif
	for (uint32 i = window->tail - window->unstarted; i != window->tail; i++)
	{
		FpbWindowPage *page = queued(window, i);

		if (page->first)
		{
			window->nreads++;
			start_run(window, queued(window, window->missing[page->run])->block,
					  run_length(window, page->run, nstarted));
		}
	}
#ifdef FPB_HAVE_AIO
	if (batch)
		pgaio_exit_batchmode();
#endif
	if (nstarted > 0)
		fpb_window_serve(window);
	window->unstarted = 0;

	if (nstarted > 0)
	{
		window->idle = 0;
		window->distance = Min(2 * window->distance, window->max_distance);
	}
	else
	{
		window->idle += ncached;
		if (window->distance < window->min_distance)
			window->distance = Min(2 * window->distance, window->min_distance);
		else
			window->distance = Max(window->distance - ncached, window->min_distance);
	}
	window->nstarted += nstarted;
	window->counts.prefetched += nstarted;
}

#ifdef FPB_HAVE_AIO
/*
 * Wait for all reads in flight.
 */
static void
complete_reads(FpbWindowReads *reads)
{
	for (int i = 0; i < reads->size; i++)
		(void) next_read(reads);
}

/*
 * Does somebody sleep until a read of ours is completed?
 */
static bool
is_awaited(PgAioWaitRef *wref)
{
	PgAioHandle *handle = &pgaio_ctl->io_handles[wref->aio_index];

	if (pgaio_wref_check_done(wref))
		return false;
	if (!proclist_is_empty(&handle->cv.wakeup))
		return true;
	for (int i = 0; i < handle->handle_data_len; i++)
	{
		Buffer		buf = (Buffer) pgaio_ctl->handle_data[handle->iovec_off + i];

		if (!proclist_is_empty(&BufferDescriptorGetIOCV(GetBufferDescriptor(buf - 1))->wakeup))
			return true;
	}
	return false;
}
#endif

/*
 * Complete the reads in flight that somebody waits for us to complete.
 *
 * With io_uring, a process that needs a page completes its read itself, even
 * if another process has begun it.  But if the read has been begun and not
 * been submitted yet, that process can only sleep until somebody completes it.
 * We might then go on to sleep ourselves, say for a lock that it holds, and
 * never know.  So right after submitting reads we look whether somebody has
 * come too early.
 */
void
fpb_window_serve(FpbWindow *window pg_attribute_unused())
{
#ifdef FPB_HAVE_AIO
	FpbWindowReads *reads = window->reads;

	if (reads == NULL || !others_complete_reads())
		return;
	for (int i = 0; i < reads->size; i++)
	{
		PgAioWaitRef *wref = &reads->ops[i].io_wref;

		if (pgaio_wref_valid(wref) && is_awaited(wref))
			pgaio_wref_wait(wref);
	}
#endif
}

/* --- what has come of it --- */

/*
 * Take the oldest page off the queue.
 */
static void
drop_oldest(FpbWindow *window, bool used)
{
	FpbWindowPage *page = queued(window, window->head);

	window->nreads -= page->first;
	if (page->started)
	{
		if (used)
			window->counts.used++;
		else
			window->counts.wasted++;
	}
	window->head++;
}

/*
 * The caller has come to a page.  False if that has not been announced; else
 * those announced before it are dropped.  shared: these are of use to somebody
 * else.
 */
bool
fpb_window_reach(FpbWindow *window, BlockNumber block, bool shared)
{
	Assert(window->unstarted == 0);
	if (window->nused < window->max_distance)
		window->nused++;
	for (uint32 i = window->head; i != window->tail; i++)
	{
		if (queued(window, i)->block == block)
		{
			while (window->head != i)
				drop_oldest(window, shared);
			drop_oldest(window, true);
			return true;
		}
	}
	return false;
}

/*
 * Somebody has come to the pages of all numbers up to this one.
 */
void
fpb_window_pass(FpbWindow *window, uint64 number)
{
	while (window->head != window->tail &&
		   queued(window, window->head)->number <= number)
		drop_oldest(window, true);
}

/*
 * How many pages are wanted at first: few, or, if the caller will come to all
 * of them, as many as may be read at a time.
 */
static int
first_distance(const FpbWindow *window)
{
	return Min(window->all_used ? window->max_reads : 2, window->max_distance);
}

/*
 * Say whether the caller will come to all pages that it announces from now on.
 */
void
fpb_window_expect(FpbWindow *window, bool all_used)
{
	if (window->all_used == all_used)
		return;
	window->all_used = all_used;
	if (all_used)
		window->distance = Max(window->distance, first_distance(window));
}

/*
 * Forget the pages announced: the caller goes elsewhere, and has come to so
 * many pages so far.
 */
void
fpb_window_reset(FpbWindow *window, int nused)
{
	while (window->head != window->tail)
		drop_oldest(window, false);
	window->unstarted = 0;
	window->distance = first_distance(window);
	window->idle = 0;
	window->nused = nused;
	window->nstarted = 0;
	bms_free(window->around);
	window->around = NULL;
}

/*
 * Be done with a window.  We wait for reads in flight, because the server
 * writes what has come of them to our memory.
 */
void
fpb_window_end(FpbWindow *window)
{
	fpb_window_reset(window, 0);
#ifdef FPB_HAVE_AIO
	if (window->reads != NULL)
	{
		complete_reads(window->reads);
		pfree(window->reads);
		window->reads = NULL;
	}
#endif
	if (window->queue != NULL)
	{
		pfree(window->queue);
		pfree(window->missing);
	}
	window->queue = NULL;
	window->max_distance = window->max_reads = window->distance = 0;
}
