/*-------------------------------------------------------------------------
 *
 * base/owner.c
 *	  Running an index's functions as the index's owner.
 *
 * An index's comparators, the functions in its expressions and its predicate,
 * and its types' output functions may do anything, and their owner may replace
 * them at any time.  A command about the index must not lend them its caller's
 * rights.  The server's CREATE INDEX, REINDEX and VACUUM don't, either.
 * src/README.md lists where these functions run, and as whom.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/guc.h"
#include "utils/rel.h"

#include "base/owner.h"

/*
 * Become the owner of an open index, in the server's restricted context.  Code
 * that runs there can't become anybody else, and can't leave anything in the
 * session that runs later.  Names are looked up in pg_catalog and pg_temp
 * only.  fpb_become_caller goes back to *caller, and sets settings back that
 * have been changed meanwhile.
 *
 * The caller has locked the index, in any mode.  So its owner stays the
 * table's: ALTER TABLE ... OWNER TO locks the indexes exclusively, too.
 *
 * The end of the transaction or subtransaction goes back after an error.
 */
void
fpb_become_owner(Relation index, FpbCaller *caller)
{
	GetUserIdAndSecContext(&caller->userid, &caller->sec_context);
	SetUserIdAndSecContext(index->rd_rel->relowner,
						   caller->sec_context | SECURITY_RESTRICTED_OPERATION);
	caller->nestlevel = NewGUCNestLevel();
	RestrictSearchPath();
}

/*
 * Become the caller of fpb_become_owner again.
 */
void
fpb_become_caller(const FpbCaller *caller)
{
	AtEOXact_GUC(false, caller->nestlevel);
	SetUserIdAndSecContext(caller->userid, caller->sec_context);
}
