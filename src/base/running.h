/*-------------------------------------------------------------------------
 *
 * base/running.h
 *	  The plan that the executor is running (base/running.c).
 *
 *-------------------------------------------------------------------------
 */
#ifndef FPB_BASE_RUNNING_H
#define FPB_BASE_RUNNING_H

#include "executor/execdesc.h"

/* what EXPLAIN calls the node that runs a nested loop in batches */
#define FPB_JOIN_NAME	"Batched Nested Loop"

/* a run of the executor */
typedef struct FpbPlanRun
{
	QueryDesc  *query;
	uint64		number;			/* no other run of this process has it */
	bool		all_rows;		/* is it to go on until there are no more? */
} FpbPlanRun;

/* the one that is going on, of several the innermost; or NULL */
extern const FpbPlanRun *fpb_running;

typedef void (*FpbRunCallback) (const FpbPlanRun *run);

extern void fpb_running_init(FpbRunCallback before, FpbRunCallback after);
extern void fpb_running_begin_work(const FpbPlanRun *run);
extern void fpb_running_end_work(const FpbPlanRun *run);

#endif							/* FPB_BASE_RUNNING_H */
