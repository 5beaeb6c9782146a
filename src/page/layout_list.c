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
	switch ((FpbLayout) id)
	{
		case FPB_DISK_FIRST:
			return &fpb_disk_first_routine;
		case FPB_MICRO_INDEX:
			return &fpb_micro_index_routine;
		case FPB_CACHE_FIRST:
			return &fpb_cache_first_routine;
	}
	return NULL;
}
