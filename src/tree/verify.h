/*-------------------------------------------------------------------------
 *
 * tree/verify.h
 *	  Assertion builds verify what each record has changed (tree/verify.c).
 *
 *-------------------------------------------------------------------------
 */
#ifndef FPB_TREE_VERIFY_H
#define FPB_TREE_VERIFY_H

#include "page/layout.h"

/* i: the page's number in the record */
#ifdef USE_ASSERT_CHECKING
extern void fpb_verify_init(void);
extern void fpb_verify_page(const FpbIndex *ix, Page page);
extern void fpb_verify_insert(const FpbIndex *ix, const FpbWal *wal, int i,
							  const FpbEntry *entry);
extern void fpb_verify_delete(const FpbIndex *ix, const FpbWal *wal, int i,
							  const FpbPos *pos, int npos);
extern void fpb_verify_split(const FpbIndex *ix, const FpbWal *wal,
							 const FpbEntry *entry);
extern void fpb_verify_move(const FpbIndex *ix, const FpbWal *wal, bool split,
							const FpbEntry *entries, int nentries);
extern void fpb_verify_merge(const FpbIndex *ix, const FpbWal *wal,
							 const FpbPos *downlink);
#else
#define fpb_verify_init()								((void) 0)
#define fpb_verify_page(ix, page)						((void) 0)
#define fpb_verify_insert(ix, wal, i, entry)			((void) 0)
#define fpb_verify_delete(ix, wal, i, pos, npos)		((void) 0)
#define fpb_verify_split(ix, wal, entry)				((void) 0)
#define fpb_verify_move(ix, wal, split, entries, nentries)	((void) 0)
#define fpb_verify_merge(ix, wal, downlink)				((void) 0)
#endif

#endif							/* FPB_TREE_VERIFY_H */
