/*-------------------------------------------------------------------------
 *
 * base/owner.h
 *	  Running an index's functions as the index's owner (base/owner.c).
 *
 *-------------------------------------------------------------------------
 */
#ifndef FPB_BASE_OWNER_H
#define FPB_BASE_OWNER_H

#include "utils/relcache.h"

/* what fpb_become_caller goes back to */
typedef struct FpbCaller
{
	Oid			userid;
	int			sec_context;
	int			nestlevel;		/* of settings */
} FpbCaller;

extern void fpb_become_owner(Relation index, FpbCaller *caller);
extern void fpb_become_caller(const FpbCaller *caller);

#endif							/* FPB_BASE_OWNER_H */
