/*-------------------------------------------------------------------------
 *
 * scan/standby.c
 *	  Index-only scans in recovery: whose rows may be handed out.
 *
 * The executor asks the visibility map whether it must look at the row of a
 * TID.  On a primary, the scan's pin on the leaf keeps VACUUM from removing
 * the entry meanwhile, so a bit that is set is about the entry's own row.  But
 * the replay of our records waits for no pin.  So in recovery a scan makes
 * sure itself, before it hands out a TID, that its snapshot sees the row.
 * Then replay can't take the row away before the snapshot has gone, and
 * whatever the executor finds in the map is right.  README.md, "Index-only
 * scans on a standby", argues this.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/tableam.h"
#include "access/visibilitymap.h"
#include "access/xlog.h"
#include "executor/tuptable.h"
#include "utils/snapmgr.h"

#include "scan/scan.h"

/*
 * The cursor's page has just been read, and is still locked.  If the scan must
 * see to the visibility of its rows, note which of them everyone sees by the
 * visibility map.  The map's bits are about these rows because their entries
 * are on the page.
 *
 * copied: the queue's entries are of a copy, and may have gone from the queue.
 *
 * Only the planner has other snapshots than MVCC ones in recovery.  It looks
 * for a column's least or greatest value, for an estimate, and gives up after
 * too many rows that prove dead.  So the scan must give it those rows.
 */
void
fpb_scan_note_visible(IndexScanDesc scan, FpbScan *so, bool copied)
{
	FpbScanPage *sp = so->cursor.page;

	sp->check_rows = scan->xs_want_itup && (copied || RecoveryInProgress()) &&
		IsMVCCSnapshot(scan->xs_snapshot);
	if (!sp->check_rows)
		return;
	memset(sp->visible, 0, sizeof(sp->visible));
	for (int i = 0; i < sp->nitems; i++)
	{
		ItemPointerData tid;

		if (copied && fpb_pos_equal(sp->items[i].pos, FPB_POS_END))
			continue;
		fpb_tail_tid(sp->items[i].key.tail, &tid);
		if (VM_ALL_VISIBLE(scan->heapRelation, ItemPointerGetBlockNumber(&tid),
						   &so->map_buf))
			sp->visible[i / 8] |= 1 << (i % 8);
	}
}

/*
 * Does the snapshot see the row of the current item, of a page whose rows are
 * to be checked?  No lock is held on entry or exit.
 *
 * The executor's own fetch of rows looks, so that the table's page stays
 * pinned for the next row of it, and for the executor, if that looks at the
 * row as well.  It does so with any index.
 */
bool
fpb_scan_sees_row(IndexScanDesc scan, FpbScan *so)
{
	FpbScanPage *sp = so->cursor.page;
	int			i = sp->current;
	ItemPointerData tid;
	bool		call_again = false;
	bool		all_dead = false;
	bool		seen;

	if ((sp->visible[i / 8] & (1 << (i % 8))) != 0)
		return true;

	if (so->row_slot == NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(so->cxt);

		so->row_slot = table_slot_create(scan->heapRelation, NULL);
		MemoryContextSwitchTo(old);
	}
	fpb_tail_tid(sp->items[i].key.tail, &tid);
	seen = table_index_fetch_tuple(scan->xs_heapfetch, &tid, scan->xs_snapshot,
								   so->row_slot, &call_again, &all_dead);
	ExecClearTuple(so->row_slot);
	if (seen)
		sp->visible[i / 8] |= 1 << (i % 8);
	return seen;
}

/*
 * The scan ends.
 */
void
fpb_scan_end_rows(FpbScan *so)
{
	if (so->row_slot != NULL)
		ExecDropSingleTupleTableSlot(so->row_slot);
	so->row_slot = NULL;
	if (BufferIsValid(so->map_buf))
		ReleaseBuffer(so->map_buf);
	so->map_buf = InvalidBuffer;
}
