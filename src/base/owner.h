/*-------------------------------------------------------------------------
 *
 * base/owner.h
 *	  Functions of others, run as the owner of the index they belong to
 *	  (base/owner.c).
 *
 *-------------------------------------------------------------------------
 */
#ifndef FPB_BASE_OWNER_H
#define FPB_BASE_OWNER_H

#include "utils/relcache.h"

/* who has become an owner, and what he goes back to */
typedef struct FpbCaller
{
	Oid			userid;
	int			sec_context;
	int			nestlevel;		/* of settings */
} FpbCaller;

extern void fpb_become_owner(Relation index, FpbCaller *caller);
extern void fpb_become_caller(const FpbCaller *caller);

#endif							/* FPB_BASE_OWNER_H */
