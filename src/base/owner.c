/*-------------------------------------------------------------------------
 *
 * base/owner.c
 *	  Functions of others, run as the owner of the index they belong to.
 *
 * An index's comparators, the functions in its expressions and its predicate,
 * and its types' output functions may do anything, and their owner may replace
 * them at any time.  A command that runs them at somebody's wish, who has not
 * asked for a row of the table, must not give them his rights: nor does the
 * server, in CREATE INDEX, REINDEX and VACUUM.  src/README.md lists where they
 * run, and as whom.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/guc.h"
#include "utils/rel.h"

#include "base/owner.h"

/*
 * Become the owner of an open index, in the server's restricted context: who
 * is in it can't become anybody else, nor leave anything in the session that
 * runs later.  Names are looked up in pg_catalog and pg_temp alone, and
 * settings changed from now on are set back by fpb_become_caller.  *caller
 * keeps what to go back to.
 *
 * The owner is the table's, and stays so: who changes that locks the table's
 * indexes exclusively, too, and the caller has locked this one, in any mode.
 *
 * An error sets all this back, as it ends a transaction or a subtransaction.
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
 * Become again who has called fpb_become_owner.
 */
void
fpb_become_caller(const FpbCaller *caller)
{
	AtEOXact_GUC(false, caller->nestlevel);
	SetUserIdAndSecContext(caller->userid, caller->sec_context);
}
