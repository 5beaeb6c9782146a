/*-------------------------------------------------------------------------
 *
 * base/attempt.c
 *	  Work that may fail without failing the caller.
 *
 * An error leaves locks, pins and much else to be let go of, which the end of
 * a transaction does, or of a subtransaction.  So that is what such work is
 * made.  The server allows that in parallel mode, too, in the leader and in
 * the workers of a parallel VACUUM, as long as no transaction ID is assigned,
 * which changes of an index don't ask for.
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
 * Remember it.
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
 * Show it again, after the end of a subtransaction has taken it for that of
 * the command.
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
 * Do a step in a subtransaction.  Returns NULL, or the error that it has
 * raised, in the current memory context.  No page is locked on entry or exit.
 *
 * Whatever the step takes hold of it must let go of by its end, as all is let
 * go of when it raises an error.  What it allocates stays in either case.
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
 * Is an error the business of the session that has met it, whatever it was
 * about: has somebody stopped it, or has it waited too long?
 */
bool
fpb_is_own_error(int sqlstate)
{
	return ERRCODE_TO_CATEGORY(sqlstate) == ERRCODE_OPERATOR_INTERVENTION ||
		ERRCODE_TO_CATEGORY(sqlstate) == ERRCODE_TRANSACTION_ROLLBACK ||
		sqlstate == ERRCODE_LOCK_NOT_AVAILABLE;
}

/*
 * Make a warning, or a message of another level, of an error: that what has
 * failed; hint is given if the error has none.  Errors that are the session's
 * own business go on.
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
