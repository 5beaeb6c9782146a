/*-------------------------------------------------------------------------
 *
 * base/wal.h
 *	  Generic records with exact deltas (base/wal.c).
 *
 *-------------------------------------------------------------------------
 */
#ifndef FPB_BASE_WAL_H
#define FPB_BASE_WAL_H

#include "storage/bufmgr.h"

#include "base/page_header.h"

#define FPB_WAL_MAX_PAGES	4	/* generic WAL replays no more */
#define FPB_WAL_MAX_RANGES	(BLCKSZ / 16)	/* of one page; more become a page
											 * image */

typedef struct FpbWalPage
{
	Buffer		buffer;
	Page		page;			/* where the changes are made: the buffer's
								 * page, or a copy */
	bool		image;			/* log the whole page */
	const char *base;			/* a new page: what is logged of it before the
								 * record, or NULL */
	uint16		lower;			/* where the hole begins before the changes:
								 * what is in it is zero, at replay too */
	int			nranges;
	struct
	{
		uint16		offset;
		uint16		length;
	}			ranges[FPB_WAL_MAX_RANGES];
} FpbWalPage;

typedef struct FpbWal
{
	Relation	rel;
	int			npages;
	FpbWalPage	pages[FPB_WAL_MAX_PAGES];
} FpbWal;

extern void fpb_wal_begin(FpbWal *wal, Relation rel);
extern FpbWalPage *fpb_wal_add(FpbWal *wal, Buffer buffer, bool image);
extern FpbWalPage *fpb_wal_add_copy(FpbWal *wal, Buffer buffer, Page copy);
extern void fpb_wal_add_base(FpbWalPage *wp, const char *base);
extern void fpb_wal_enter(FpbWal *wal); /* starts the critical section */
extern void fpb_wal_note(FpbWalPage *wp, const void *start, Size length);
extern void fpb_wal_finish(FpbWal *wal);	/* logs; ends the critical section */
#ifdef USE_ASSERT_CHECKING
/* the record's i'th page as it was before, until the next record */
extern const char *fpb_wal_before(int i);
#endif

#endif							/* FPB_BASE_WAL_H */
