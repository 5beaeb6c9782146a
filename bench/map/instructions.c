/*
 * Counts instructions of a backend of a server that runs under callgrind:
 * bench/fpbench map --instructions.
 *
 * Not part of the extension: bench/fpbench map compiles it into its private
 * server.
 */
#include "postgres.h"

#include <valgrind/callgrind.h>

#include "fmgr.h"

PG_MODULE_MAGIC;

PG_FUNCTION_INFO_V1(map_count_on);
PG_FUNCTION_INFO_V1(map_count_off);

/* From here on the backend is simulated, and slow. */
Datum
map_count_on(PG_FUNCTION_ARGS)
{
	CALLGRIND_START_INSTRUMENTATION;
	CALLGRIND_ZERO_STATS;
	PG_RETURN_VOID();
}

/* Has callgrind write the counts since map_count_on into its file. */
Datum
map_count_off(PG_FUNCTION_ARGS)
{
	CALLGRIND_DUMP_STATS;
	CALLGRIND_STOP_INSTRUMENTATION;
	PG_RETURN_VOID();
}
