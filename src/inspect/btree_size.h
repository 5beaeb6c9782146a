/*-------------------------------------------------------------------------
 *
 * inspect/btree_size.h
 *	  How many pages a btree built of some entries would have
 *	  (inspect/btree_size.c).
 *
 *-------------------------------------------------------------------------
 */
#ifndef FPB_INSPECT_BTREE_SIZE_H
#define FPB_INSPECT_BTREE_SIZE_H

#include "storage/block.h"
#include "utils/relcache.h"

typedef struct FpbBtreeSize FpbBtreeSize;

extern FpbBtreeSize *fpb_btree_size_begin(Relation table, Relation index);
extern void fpb_btree_size_add(FpbBtreeSize *size, const Datum *values, const bool *isnull);
extern BlockNumber fpb_btree_size_end(FpbBtreeSize *size);

#endif							/* FPB_INSPECT_BTREE_SIZE_H */
