/*-------------------------------------------------------------------------
 *
 * base/page_header.c
 *	  New page headers, and reports of damage.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/rel.h"

#include "base/page_header.h"

/*
 * Raise the error that a page is damaged, with its fault.  InvalidBlockNumber:
 * the fault is one of the whole index, or the page is not known.
 */
void
fpb_report_damage(Relation rel, BlockNumber blkno, const char *fault)
{
	ereport(ERROR,
			(errcode(ERRCODE_INDEX_CORRUPTED),
			 BlockNumberIsValid(blkno) ?
			 errmsg("index \"%s\" contains a damaged page at block %u",
					RelationGetRelationName(rel), blkno) :
			 errmsg("index \"%s\" is damaged", RelationGetRelationName(rel)),
			 errdetail("%s", fault),
			 errhint("Please REINDEX it.")));
}

/*
 * Set up the header of a page: no fences, and nothing of the layout.
 */
void
fpb_page_init(Page page, int level, int flags, BlockNumber right)
{
	FpbPageHeader *hdr = FpbHdr(page);

	PageInit(page, BLCKSZ, 0);
	memset((char *) page + SizeOfPageHeaderData, 0,
		   sizeof(FpbPageHeader) - SizeOfPageHeaderData);
	hdr->magic = FPB_MAGIC;
	hdr->level = level;
	hdr->flags = flags;
	hdr->right = right;
	hdr->pd.pd_lower = sizeof(FpbPageHeader);
	hdr->pd.pd_upper = BLCKSZ;
}
