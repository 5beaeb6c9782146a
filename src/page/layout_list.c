/*-------------------------------------------------------------------------
 *
 * page/layout_list.c
 *	  Which layouts there are.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "page/layout.h"

/*
 * See page/layout.h.
 */
const FpbLayoutRoutine *
fpb_layout_routine(int id)
{
	static const FpbLayoutRoutine *const routines[] = {
		[FPB_DISK_FIRST] = &fpb_disk_first_routine,
		[FPB_MICRO_INDEX] = &fpb_micro_index_routine,
		[FPB_CACHE_FIRST] = &fpb_cache_first_routine,
	};

	if (id < 0 || id >= (int) lengthof(routines))
		return NULL;
	return routines[id];
}
