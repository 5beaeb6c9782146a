/*-------------------------------------------------------------------------
 *
 * base/wal.c
 *	  Generic WAL records made of exact deltas.
 *
 * The server's generic WAL lets an extension's changes be replayed anywhere.
 * But GenericXLogFinish finds out what has changed by comparing whole pages,
 * which costs as much as a btree insertion, and we know what we change.  So we
 * write the record that GenericXLogFinish would write: for each page a
 * sequence of fragments (offset, length, bytes), or an image of the whole
 * page.  Replay is the server's own.
 *
 * The order of calls:
 *
 *		fpb_wal_begin
 *		fpb_wal_add for each page
 *		everything that may raise an error
 *		fpb_wal_enter
 *		the changes, with an fpb_wal_note for each
 *		fpb_wal_finish
 *
 * A page added with fpb_wal_add_copy is changed before fpb_wal_enter.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/generic_xlog.h"
#include "access/xloginsert.h"
#include "miscadmin.h"

#include "base/wal.h"

/* offset and length of a fragment, as generic_redo reads them */
#define FRAGMENT_HEADER		(2 * sizeof(OffsetNumber))

/*
 * Changed ranges closer than this are logged as one: a fragment of its own
 * would cost its header.
 */
#define MERGE_DISTANCE		FRAGMENT_HEADER

/*
 * The same of a new page compared with its base, where more ranges than there
 * may be would cost all that they spare.
 */
#define NEW_MERGE_DISTANCE	(3 * FRAGMENT_HEADER)

/* a change is merged with one of so many ranges noted last */
#define LOOK_BACK			16

/* the fragments of each page are put together here */
static char fragments[FPB_WAL_MAX_PAGES][BLCKSZ];

#ifdef USE_ASSERT_CHECKING
/* the pages as they were before the record, to verify it */
static PGAlignedBlock before[FPB_WAL_MAX_PAGES];

/*
 * The i'th page of the last record as it was before the record.  Valid until
 * the next one is begun.
 */
const char *
fpb_wal_before(int i)
{
	return before[i].data;
}

/*
 * Verify that replay would make of the i'th page what it is now.  Replay
 * copies the fragments and zeroes the hole, which is not compared here.  Hints
 * that were in the hole may or may not have been written to disk, so replay
 * may find them or not.  Called in the critical section.
 */
static void
verify_ranges(const FpbWal *wal, int i, bool hints)
{
	const FpbWalPage *wp = &wal->pages[i];
	PageHeader	page = (PageHeader) BufferGetPage(wp->buffer);
	const int	start = offsetof(PageHeaderData, pd_flags);
	static PGAlignedBlock replayed;

	if (wp->image)
		return;
	memcpy(replayed.data, wp->base != NULL ? wp->base : before[i].data, BLCKSZ);
	if (!hints)
		MemSet(replayed.data + ((PageHeader) replayed.data)->pd_lower, 0,
			   ((PageHeader) replayed.data)->pd_upper - ((PageHeader) replayed.data)->pd_lower);
	for (int r = 0; r < wp->nranges; r++)
		memcpy(replayed.data + wp->ranges[r].offset,
			   (char *) page + wp->ranges[r].offset, wp->ranges[r].length);
	if (page->pd_lower > page->pd_upper || page->pd_upper > BLCKSZ)
		elog(PANIC, "the bounds of an fpbtree page are wrong");

	/* all but LSN and checksum */
	if (memcmp(replayed.data + start, (char *) page + start, page->pd_lower - start) != 0 ||
		memcmp(replayed.data + page->pd_upper, (char *) page + page->pd_upper,
			   BLCKSZ - page->pd_upper) != 0)
		elog(PANIC, "replay would not make block %u of index \"%s\" what it is",
			 BufferGetBlockNumber(wp->buffer), RelationGetRelationName(wal->rel));
}
#endif

/*
 * Start a record.  Nothing is locked or allocated.
 */
void
fpb_wal_begin(FpbWal *wal, Relation rel)
{
	wal->rel = rel;
	wal->npages = 0;
}

/*
 * Add a page, locked exclusively, to the record.  With image, the page is
 * logged whole, as a new one must be.
 */
FpbWalPage *
fpb_wal_add(FpbWal *wal, Buffer buffer, bool image)
{
	FpbWalPage *wp;

	if (wal->npages >= FPB_WAL_MAX_PAGES)
		elog(ERROR, "an fpbtree WAL record holds at most %d pages",
			 FPB_WAL_MAX_PAGES);
	wp = &wal->pages[wal->npages++];
	wp->buffer = buffer;
	wp->page = BufferGetPage(buffer);
	wp->image = image;
	wp->base = NULL;
	wp->lower = ((PageHeader) wp->page)->pd_lower;
	wp->nranges = 0;
	return wp;
}

/*
 * Add a page, locked exclusively, that is changed in a copy.  The changes are
 * made and noted before fpb_wal_enter, which puts the copy in the page's
 * place.  So they may raise errors.
 */
FpbWalPage *
fpb_wal_add_copy(FpbWal *wal, Buffer buffer, Page copy)
{
	FpbWalPage *wp = fpb_wal_add(wal, buffer, false);

	wp->page = copy;
	return wp;
}

/*
 * The first byte from one on in which two pages differ, or BLCKSZ.
 */
static inline int
next_difference(const char *page, const char *other, int at)
{
	while (at + (int) sizeof(uint64) <= BLCKSZ &&
		   memcmp(page + at, other + at, sizeof(uint64)) == 0)
		at += sizeof(uint64);
	while (at < BLCKSZ && page[at] == other[at])
		at++;
	return at;
}

/*
 * The end of a difference between two pages that begins at a byte.  A few
 * equal bytes may be in it: as many as have no aligned word among them, which
 * are too few to be worth another fragment.
 */
static inline int
difference_end(const char *page, const char *other, int at)
{
	int			end = TYPEALIGN(sizeof(uint32), at + 1);

	while (end < BLCKSZ && memcmp(page + end, other + end, sizeof(uint32)) != 0)
		end += sizeof(uint32);
	while (page[end - 1] == other[end - 1])
		end--;
	return end;
}

/*
 * Log a new page, the copy of which is complete, in two steps: an image of
 * base, a page that is in no tree, in a record of its own; then the
 * difference.  So free space in several places is not logged, which an image
 * leaves out only in one.  After a crash in between there is a page in no
 * tree.
 *
 * If that takes no less, the page is logged whole, as it would have been.
 */
void
fpb_wal_add_base(FpbWalPage *wp, const char *base)
{
	const char *page = (const char *) wp->page;
	Size		total = 0;
	Size		image = BLCKSZ - (((PageHeader) page)->pd_upper - ((PageHeader) page)->pd_lower);
	int			at = next_difference(page, base, offsetof(PageHeaderData, pd_flags));

	Assert(wp->image);
	wp->nranges = 0;
	wp->image = false;
	while (at < BLCKSZ && !wp->image)
	{
		int			end = difference_end(page, base, at);
		int			next = next_difference(page, base, end);

		while (next < BLCKSZ && next - end <= NEW_MERGE_DISTANCE)
		{
			end = difference_end(page, base, next);
			next = next_difference(page, base, end);
		}
		fpb_wal_note(wp, page + at, end - at);
		total += FRAGMENT_HEADER + end - at;
		at = next;
	}
	total += BLCKSZ - (((PageHeader) base)->pd_upper - ((PageHeader) base)->pd_lower);
	if (total >= image)
		wp->image = true;
	if (wp->image)
		return;
	wp->base = base;
	FPB_INJECTION_POINT_LOAD("fpbtree-base-logged");
}

/*
 * Log what a new page's difference is from.
 */
static void
log_base(const FpbWalPage *wp)
{
	RelFileLocator locator;
	ForkNumber	fork;
	BlockNumber block;

	BufferGetTag(wp->buffer, &locator, &fork, &block);
	XLogBeginInsert();
	XLogRegisterBlock(0, &locator, fork, block, (Page) wp->base,
					  REGBUF_FORCE_IMAGE | REGBUF_STANDARD);
	PageSetLSN(BufferGetPage(wp->buffer), XLogInsert(RM_GENERIC_ID, 0));
}

/*
 * Start the critical section in which the pages are changed.
 */
void
fpb_wal_enter(FpbWal *wal)
{
	START_CRIT_SECTION();
	for (int i = 0; i < wal->npages; i++)
	{
		FpbWalPage *wp = &wal->pages[i];
		Page		page = BufferGetPage(wp->buffer);

#ifdef USE_ASSERT_CHECKING
		memcpy(before[i].data, page, BLCKSZ);
#endif
		MarkBufferDirty(wp->buffer);
		if (wp->page != page)
		{
			PageSetLSN(wp->page, PageGetLSN(page));
			memcpy(page, wp->page, BLCKSZ);
		}
	}
}

/*
 * Note that length bytes from start, in the page, have been changed or are
 * about to be before fpb_wal_finish.
 */
void
fpb_wal_note(FpbWalPage *wp, const void *start, Size length)
{
	uint32		offset = (uint32) ((const char *) start - (const char *) wp->page);
	uint32		end = offset + (uint32) length;

	Assert(end <= BLCKSZ);

	if (wp->image || length == 0)
		return;

	/* changes often come in runs, so look at the last ranges */
	for (int i = wp->nranges - 1; i >= Max(wp->nranges - LOOK_BACK, 0); i--)
	{
		uint32		other = wp->ranges[i].offset;
		uint32		other_end = other + wp->ranges[i].length;

		if (offset <= other_end + MERGE_DISTANCE &&
			other <= end + MERGE_DISTANCE)
		{
			/*
			 * The range may overlap another one, now or if that was noted
			 * long ago.  That costs some bytes, but is not wrong, because all
			 * bytes are read at the end.
			 */
			wp->ranges[i].offset = (uint16) Min(offset, other);
			wp->ranges[i].length = (uint16) (Max(end, other_end) - wp->ranges[i].offset);
			return;
		}
	}

	if (wp->nranges == FPB_WAL_MAX_RANGES)
	{
		wp->image = true;
		return;
	}
	wp->ranges[wp->nranges].offset = (uint16) offset;
	wp->ranges[wp->nranges].length = (uint16) length;
	wp->nranges++;
}

/*
 * Write a page's fragments to dst, which has BLCKSZ bytes.  Returns their
 * size, or 0 if they don't fit or are no shorter than an image.
 */
static Size
write_fragments(FpbWalPage *wp, char *dst)
{
	Page		page = BufferGetPage(wp->buffer);
	Size		total = 0;
	Size		image;

	for (int i = 0; i < wp->nranges; i++)
		total += FRAGMENT_HEADER + wp->ranges[i].length;
	image = BLCKSZ - (((PageHeader) page)->pd_upper - ((PageHeader) page)->pd_lower);
	if (total >= Min(image, BLCKSZ))
		return 0;

	for (int i = 0; i < wp->nranges; i++)
	{
		OffsetNumber header[2] = {wp->ranges[i].offset, wp->ranges[i].length};

		memcpy(dst, header, FRAGMENT_HEADER);
		dst += FRAGMENT_HEADER;
		memcpy(dst, (char *) page + header[0], header[1]);
		dst += header[1];
	}
	return total;
}

/*
 * The rank of a page in the order of locks: level by level from the leaves, on
 * each level the main tree before the queue's tiers, of these the last one
 * first, and the metapage last.
 */
static inline int
lock_rank(const FpbWalPage *wp)
{
	Page		page = BufferGetPage(wp->buffer);

	if (BufferGetBlockNumber(wp->buffer) == FPB_METAPAGE)
		return FPB_TREES * FPB_MAX_LEVELS;
	return FPB_TREES * FpbHdr(page)->level + (FPB_TREES - FpbPageTree(page)) % FPB_TREES;
}

/*
 * Find the order of the pages in the record, in which replay locks them: from
 * the lower levels to the upper ones.  Pages of one level have been added from
 * left to right, and stay in this order.
 */
static void
order_pages(const FpbWal *wal, int *order)
{
	for (int i = 0; i < wal->npages; i++)
	{
		int			at = i;

		for (; at > 0 &&
			 lock_rank(&wal->pages[order[at - 1]]) > lock_rank(&wal->pages[i]); at--)
			order[at] = order[at - 1];
		order[at] = i;
	}
}

/*
 * Log the changes of all pages, and end the critical section.  The pages stay
 * locked.
 */
void
fpb_wal_finish(FpbWal *wal)
{
#ifdef USE_ASSERT_CHECKING
	for (int i = 0; i < wal->npages; i++)
	{
		verify_ranges(wal, i, true);
		verify_ranges(wal, i, false);
	}
#endif
	if (RelationNeedsWAL(wal->rel))
	{
		XLogRecPtr	lsn;
		int			order[FPB_WAL_MAX_PAGES];

		for (int i = 0; i < wal->npages; i++)
		{
			if (wal->pages[i].base == NULL)
				continue;
			log_base(&wal->pages[i]);
			FPB_INJECTION_POINT_CACHED("fpbtree-base-logged");
		}
		order_pages(wal, order);
		XLogBeginInsert();
		for (int i = 0; i < wal->npages; i++)
		{
			FpbWalPage *wp = &wal->pages[order[i]];
			Size		length = 0;

			if (!wp->image)
				length = write_fragments(wp, fragments[i]);
			if (length > 0)
			{
				XLogRegisterBuffer(i, wp->buffer, REGBUF_STANDARD);
				XLogRegisterBufData(i, fragments[i], length);
			}
			else
				XLogRegisterBuffer(i, wp->buffer,
								   REGBUF_FORCE_IMAGE | REGBUF_STANDARD);
		}
		lsn = XLogInsert(RM_GENERIC_ID, 0);

		for (int i = 0; i < wal->npages; i++)
			PageSetLSN(BufferGetPage(wal->pages[i].buffer), lsn);
	}
	END_CRIT_SECTION();
}
