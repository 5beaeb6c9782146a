/*-------------------------------------------------------------------------
 *
 * inspect/io_timing.c
 *	  How long the storage takes to read and to write a page.
 *
 * This is the micro-benchmark of pio-btree, section 3.6.  It reads random
 * pages of the index that are not in shared buffers, as the server reads them.
 * So a page that the kernel has cached is as fast as it is for the server.  It
 * writes pages of a temporary file, and waits for the disk, as a checkpoint
 * does in the end.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "commands/tablespace.h"
#include "common/pg_prng.h"
#include "miscadmin.h"
#include "portability/instr_time.h"
#include "storage/bufmgr.h"
#include "storage/fd.h"
#include "utils/memutils.h"
#include "utils/wait_event.h"

#include "inspect/io_timing.h"
#include "prefetch/prefetch.h"

/*
 * How many pages are read at each depth, and the largest part of the buffers
 * and of the index that they may be.
 */
#define READS			256
#define READS_SHARE		8

/* fewer pages say nothing */
#define READS_LEAST		16

/* how many random pages are looked at to find one that is not in memory */
#define TRIES			16

/* pages written one by one, and at a time; pages of the file */
#define WRITES_ALONE	32
#define WRITES_MANY		512
#define FILE_PAGES		2048

static double
microseconds_since(instr_time begin)
{
	instr_time	now;

	INSTR_TIME_SET_CURRENT(now);
	INSTR_TIME_SUBTRACT(now, begin);
	return INSTR_TIME_GET_DOUBLE(now) * 1e6;
}

/*
 * Find up to n random pages that are not in memory.  Returns how many.
 */
static int
find_pages(Relation rel, BlockNumber nblocks, BlockNumber *blocks, int n)
{
	int			found = 0;

	for (int tries = 0; nblocks > 2 && found < n && tries < n * TRIES; tries++)
	{
		BlockNumber block = pg_prng_uint64_range(&pg_global_prng_state, 1, nblocks - 1);

		if (!fpb_is_in_memory(rel, block, false))
			blocks[found++] = block;
	}
	return found;
}

/*
 * The time for one page, in microseconds, when n pages are read with so many
 * reads in flight.  Negative if there can't be so many.
 */
static double
time_reads(Relation rel, const BlockNumber *blocks, int n, int depth)
{
	FpbWindow	window;
	instr_time	begin;
	int			next = 0;

	fpb_window_init(&window, CurrentMemoryContext, rel, depth == 1 ? 0 : depth);
	fpb_window_expect(&window, true);
	if (depth > 1 && window.max_reads < depth)
		return -1;
	window.distance = window.min_distance = window.max_distance;

	INSTR_TIME_SET_CURRENT(begin);
	for (int i = 0; i < n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (depth > 1)
		{
			while (next < n && (next == i || fpb_window_wants(&window)))
				fpb_window_add(&window, blocks[next++], 0);
			fpb_window_start(&window);
			(void) fpb_window_reach(&window, blocks[i], false);
		}
		ReleaseBuffer(ReadBuffer(rel, blocks[i]));
	}
	if (depth > 1)
		fpb_window_end(&window);
	return microseconds_since(begin) / n;
}

/*
 * Write n random pages of a file, and wait for the disk after each at_a_time
 * of them.  Returns the time for one page, in microseconds.
 */
static double
time_writes(File file, char *page, int n, int at_a_time)
{
	instr_time	begin;

	INSTR_TIME_SET_CURRENT(begin);
	for (int i = 0; i < n; i++)
	{
		off_t		at = (off_t) pg_prng_uint64_range(&pg_global_prng_state, 0, FILE_PAGES - 1) * BLCKSZ;

		CHECK_FOR_INTERRUPTS();
		if (FileWrite(file, page, BLCKSZ, at, WAIT_EVENT_DATA_FILE_WRITE) != BLCKSZ ||
			((i + 1) % at_a_time == 0 && FileSync(file, WAIT_EVENT_DATA_FILE_SYNC) != 0))
			ereport(ERROR,
					(errcode_for_file_access(),
					 errmsg("could not write to file \"%s\": %m", FilePathName(file))));
	}
	return microseconds_since(begin) / n;
}

static void
measure_writes(FpbStorage *storage)
{
	char	   *page = palloc_aligned(BLCKSZ, PG_IO_ALIGN_SIZE, MCXT_ALLOC_ZERO);
	File		file;

	PrepareTempTablespaces();
	file = OpenTemporaryFile(false);
	if (FileZero(file, 0, (off_t) FILE_PAGES * BLCKSZ, WAIT_EVENT_DATA_FILE_EXTEND) != 0 ||
		FileSync(file, WAIT_EVENT_DATA_FILE_SYNC) != 0)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not write to file \"%s\": %m", FilePathName(file))));
	storage->write_alone = time_writes(file, page, WRITES_ALONE, 1);
	storage->write_many = time_writes(file, page, WRITES_MANY, WRITES_MANY);
	FileClose(file);
	pfree(page);
}

/*
 * Measure reads of an index's pages, and writes to the disk.
 */
void
fpb_io_timing_measure(Relation rel, FpbStorage *storage)
{
	BlockNumber nblocks = RelationGetNumberOfBlocks(rel);
	BlockNumber *blocks = palloc(READS * sizeof(BlockNumber));
	int			most = Min(READS, Min(NBuffers, nblocks) / READS_SHARE);

	storage->ndepths = 0;
	for (int i = 0; i < FPB_STORAGE_DEPTHS; i++)
	{
		int			n = find_pages(rel, nblocks, blocks, most);

		if (n < READS_LEAST)
			break;
		storage->read[i] = time_reads(rel, blocks, n, 1 << i);
		if (storage->read[i] < 0)
			break;
		storage->ndepths++;
	}
	pfree(blocks);
	measure_writes(storage);
}
