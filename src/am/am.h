/*-------------------------------------------------------------------------
 *
 * am/am.h
 *	  The access method as the server sees it: planner, cost, validation.
 *
 *-------------------------------------------------------------------------
 */
#ifndef FPB_AM_AM_H
#define FPB_AM_AM_H

#include "nodes/pg_list.h"
#include "nodes/nodes.h"

#include "base/options.h"

extern void fpb_alter_init(void);
extern void fpb_check_constraint_options(Relation index, Datum reloptions);
extern void fpb_check_upgrade(void);
extern void fpb_join_paths_init(void);
extern void fpb_planner_init(void);
extern bool fpb_validate(Oid opclassoid);
extern void fpb_adjustmembers(Oid opfamilyoid, Oid opclassoid,
							  List *operators, List *functions);
struct PlannerInfo;
struct IndexPath;
extern void fpb_costestimate(struct PlannerInfo *root, struct IndexPath *path,
							 double loop_count, Cost *indexStartupCost,
							 Cost *indexTotalCost, Selectivity *indexSelectivity,
							 double *indexCorrelation, double *indexPages);

#endif							/* FPB_AM_AM_H */
