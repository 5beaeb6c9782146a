/*-------------------------------------------------------------------------
 *
 * page/disk_first/routine.c
 *	  The disk-first layout, as those above know it.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "page/disk_first/disk_first.h"

const FpbLayoutRoutine fpb_disk_first_routine = {
	.id = FPB_DISK_FIRST,
	.set_shapes = fpb_disk_first_set_shapes,
	.get_shapes = fpb_disk_first_get_shapes,
	.header_fault = fpb_disk_first_header_fault,
	.search = fpb_disk_first_search,
	.search_from = fpb_disk_first_search_from,
	.next = fpb_disk_first_next,
	.prev = fpb_disk_first_prev,
	.back = fpb_disk_first_back,
	.read = fpb_disk_first_read,
	.read_first = fpb_disk_first_read_first,
	.read_part = fpb_disk_first_read_part,
	.downlink = fpb_disk_first_downlink,
	.child = fpb_disk_first_child,
	.has_killed = fpb_disk_first_has_killed,
	.is_killed = fpb_disk_first_is_killed,
	.read_killed = fpb_disk_first_read_killed,
	.kill = fpb_disk_first_kill,
	.plan_insert = fpb_disk_first_plan_insert,
	.insert = fpb_disk_first_insert,
	.delete = fpb_disk_first_delete,
	.is_sparse = fpb_disk_first_is_sparse,
	.has_room = fpb_disk_first_has_room,
	.put_tuple = fpb_disk_first_put_tuple,
	.slot_space = fpb_disk_first_slot_space,
	.cut = fpb_disk_first_cut,
	.build = fpb_disk_first_build,
	.filler_begin = fpb_disk_first_filler_begin,
	.filler_take = fpb_disk_first_filler_take,
	.filler_fence_fits = fpb_disk_first_filler_fence_fits,
	.filler_write = fpb_disk_first_filler_write,
	.fault = fpb_disk_first_fault,
	.page_info = fpb_disk_first_page_info,
	.node_info = fpb_disk_first_node_info,
};
