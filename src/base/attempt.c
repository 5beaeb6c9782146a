/*-------------------------------------------------------------------------
 *
 * base/attempt.c
 *	  Work that may fail without failing the caller.
 *
 * An error leaves locks, pins and much else behind, which only the end of a
 * transaction or subtransaction releases.  So such work is done in a
 * subtransaction.  The server allows that in parallel mode, too, in the leader
 * and in the workers of a parallel VACUUM, as long as no transaction ID is
 * assigned.  Changes of an index need none.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "utils/backend_progress.h"
#include "utils/backend_status.h"
#include "utils/memutils.h"
#include "utils/resowner.h"

#include "base/attempt.h"

/* what this backend shows of its progress */
typedef struct Progress
{
	ProgressCommandType command;
	Oid			target;
	int64		params[PGSTAT_NUM_PROGRESS_PARAM];
} Progress;

/*
 * Save what this backend shows of its progress.
 */
static void
save_progress(Progress *progress)
{
	progress->command = PROGRESS_COMMAND_INVALID;
	if (MyBEEntry == NULL)
		return;
	progress->command = MyBEEntry->st_progress_command;
	progress->target = MyBEEntry->st_progress_command_target;
	for (int i = 0; i < PGSTAT_NUM_PROGRESS_PARAM; i++)
		progress->params[i] = MyBEEntry->st_progress_param[i];
}

/*
 * Show it again, because the end of a subtransaction has cleared it as if the
 * command had ended.
 */
static void
restore_progress(const Progress *progress)
{
	if (progress->command == PROGRESS_COMMAND_INVALID)
		return;
	pgstat_progress_start_command(progress->command, progress->target);
	for (int i = 0; i < PGSTAT_NUM_PROGRESS_PARAM; i++)
		pgstat_progress_update_param(i, progress->params[i]);
}

/*
 * Do a step in a subtransaction.  Returns NULL, or the error that the step has
 * raised, in the current memory context.  No page is locked on entry or exit.
 *
 * The step has to release what it has acquired before it ends, because an
 * error releases it, too.  What it allocates stays in either case.
 */
ErrorData *
fpb_try(FpbTryStep step, void *arg)
{
	MemoryContext context = CurrentMemoryContext;
	ResourceOwner owner = CurrentResourceOwner;
	ErrorData  *volatile error = NULL;
	Progress	progress;

	save_progress(&progress);
	BeginInternalSubTransaction(NULL);
	MemoryContextSwitchTo(context);
	PG_TRY();
	{
		step(arg);
		ReleaseCurrentSubTransaction();
	}
	PG_CATCH();
	{
		MemoryContextSwitchTo(context);
		error = CopyErrorData();
		FlushErrorState();
		RollbackAndReleaseCurrentSubTransaction();
		restore_progress(&progress);
	}
	PG_END_TRY();
	MemoryContextSwitchTo(context);
	CurrentResourceOwner = owner;
	return error;
}

/*
 * Is an error about the session, whatever it was doing: has somebody canceled
 * it, or has it waited too long?
 */
bool
fpb_is_own_error(int sqlstate)
{
	return ERRCODE_TO_CATEGORY(sqlstate) == ERRCODE_OPERATOR_INTERVENTION ||
		ERRCODE_TO_CATEGORY(sqlstate) == ERRCODE_TRANSACTION_ROLLBACK ||
		sqlstate == ERRCODE_LOCK_NOT_AVAILABLE;
}

/*
 * Report that what has failed with an error, as a warning or a message of
 * another level.  The hint is given if the error has none.  An error about the
 * session (fpb_is_own_error) is raised again.
 */
void
fpb_warn_of(ErrorData *error, int level, const char *what, const char *hint)
{
	if (fpb_is_own_error(error->sqlerrcode))
		ReThrowError(error);
	ereport(level,
			(errcode(error->sqlerrcode),
			 errmsg("could not %s: %s", what, error->message),
			 error->detail == NULL ? 0 : errdetail_internal("%s", error->detail),
			 errhint("%s", error->hint != NULL ? error->hint : hint)));
}
