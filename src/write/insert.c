/*-------------------------------------------------------------------------
 *
 * write/insert.c
 *	  Insertion of rows.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/tableam.h"
#include "access/transam.h"
#include "miscadmin.h"
#include "portability/instr_time.h"
#include "storage/bufmgr.h"
#include "storage/lmgr.h"
#include "storage/predicate.h"
#include "storage/smgr.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "base/options.h"
#include "base/shared.h"
#include "queue/queue.h"
#include "tree/tree.h"
#include "write/batch.h"
#include "write/write.h"

/*
 * aminsert: insert the entry of a row, checking uniqueness as told.
 */
bool
fpb_insert(Relation rel, Datum *values, bool *isnull, ItemPointer tid,
		   Relation heap, IndexUniqueCheck checkUnique, bool indexUnchanged,
		   IndexInfo *indexInfo)
{
	FpbIndex	ix;
	FpbInsertState ins;
	FpbStack	stack;
	FpbKey	   *key = &ins.entry.key;
	bool		unique = true;

	if (checkUnique == UNIQUE_CHECK_NO)
	{
		FpbBatch   *batch = fpb_batch_for(rel, heap, tid, indexInfo);

		if (batch != NULL)
		{
			fpb_batch_add(batch, heap, values, isnull, tid, indexUnchanged);
			return true;
		}
	}

	fpb_worker_note_use();
	fpb_index_open(&ix, rel);
	fpb_insert_init(&ins, heap, &stack, indexUnchanged);
	ins.entry.child = InvalidBlockNumber;
	fpb_key_form(&ix, values, isnull, tid, key);
	fpb_check_key_size(&ix, heap, key);

	/* NULLs are equal to nothing, unless the index says otherwise. */
	if (checkUnique != UNIQUE_CHECK_NO && !indexInfo->ii_NullsNotDistinct &&
		fpb_key_has_null(&ix, key))
	{
		/* a deferred check of such a row has nothing to do */
		if (checkUnique == UNIQUE_CHECK_EXISTING)
			return true;
		checkUnique = UNIQUE_CHECK_NO;
	}

	if (checkUnique == UNIQUE_CHECK_NO)
		fpb_insert_plain(&ix, &ins);
	else
		unique = fpb_insert_unique(&ix, &ins, values, isnull, checkUnique);
	if (key->tuple != NULL)
		pfree(key->tuple);
	return unique;
}
