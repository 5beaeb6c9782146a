/*-------------------------------------------------------------------------
 *
 * scan/timezone.c
 *	  What a value means to a column if the session's time zone says so.
 *
 * A date or a timestamp is compared with a timestamptz as the instant that it
 * is in the session's time zone.  That instant does not always ascend with the
 * local time.  Where clocks are put forward, a local time that no clock shows
 * is interpreted as if they had not been: 02:30 is the instant of 03:30, and
 * so later than 03:00.  Where a zone skipped a day, two dates are one instant.
 * (These are zones that have been in use.  A zone given as a POSIX string can
 * make a later date the earlier instant.)  And a session may change its time
 * zone while a scan is under way.
 *
 * The ranges of a scan must be in order and disjoint, and must not change.  So
 * when a scan's keys are prepared, such a value is translated into one whose
 * comparison with the column does not depend on time zones.  Where there is no
 * such value, it is translated into two, between which it lies.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "datatype/timestamp.h"
#include "nodes/miscnodes.h"
#include "pgtime.h"
#include "utils/date.h"
#include "utils/fmgroids.h"
#include "utils/timestamp.h"

#include "base/compat.h"
#include "scan/timezone.h"

/*
 * Does a function that compares (column, value) depend on the time zone?
 * Returns the type that fpb_zone_translate makes of the values then, else
 * InvalidOid.
 */
Oid
fpb_zone_type(Oid cmp_proc)
{
	switch (cmp_proc)
	{
		case F_TIMESTAMPTZ_CMP_DATE:
		case F_TIMESTAMPTZ_CMP_TIMESTAMP:
			return TIMESTAMPTZOID;
		case F_DATE_CMP_TIMESTAMPTZ:
		case F_TIMESTAMP_CMP_TIMESTAMPTZ:
			return TIMESTAMPOID;
		default:
			return InvalidOid;
	}
}

/*
 * The local times around an instant: all those before *low are earlier
 * instants than the given one, and all those after *high are later ones.
 *
 * With UTC offsets between min and max, local time t is an instant between t -
 * max and t - min, which is < i if t < i + min, and > i if t > i + max.  The
 * offsets that matter are those around the instant: a zone given as a POSIX
 * string can be up to a week off UTC, and interpreting local times may look at
 * a day more on either side.  If the offset does not change in those days,
 * *low and *high are equal, and are just the instant.
 */
static void
local_times(TimestampTz instant, Timestamp *low, Timestamp *high)
{
	const int64 epoch = (int64) (POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE) * SECS_PER_DAY;
	const int64 margin = (int64) 16 * SECS_PER_DAY;
	pg_time_t	t = instant / USECS_PER_SEC + epoch - margin;
	pg_time_t	end = t + 2 * margin;
	long int	min = 0;
	long int	max = 0;
	bool		first = true;

	for (;;)
	{
		long int	offsets[2];
		pg_time_t	boundary;
		int			isdst[2];
		int			found;

		found = pg_next_dst_boundary(&t, &offsets[0], &isdst[0], &boundary,
									 &offsets[1], &isdst[1], session_timezone);
		/* on failure, UTC is what the conversion falls back on */
		if (found < 0)
			offsets[0] = 0;
		for (int i = 0; i < (found > 0 && boundary <= end ? 2 : 1); i++)
		{
			min = first ? offsets[i] : Min(min, offsets[i]);
			max = first ? offsets[i] : Max(max, offsets[i]);
			first = false;
		}
		if (found <= 0 || boundary > end)
			break;
		t = boundary;
	}
	*low = instant + min * USECS_PER_SEC;
	*high = instant + max * USECS_PER_SEC;
}

/*
 * If at most one date begins between *low and *high, set both to one timestamp
 * that compares with all dates as the instant does.  cmp compares (date,
 * instant).
 */
static void
narrow_to_dates(FmgrInfo *cmp, Datum instant, Timestamp *low, Timestamp *high)
{
	int64		day = *low / USECS_PER_DAY;
	Timestamp	midnight;
	int			sign;

	if (day * USECS_PER_DAY < *low)
		day++;
	midnight = day * USECS_PER_DAY;

	if (midnight > *high)
		*high = *low;
	else if (midnight + USECS_PER_DAY > *high && IS_VALID_TIMESTAMP(midnight))
	{
		sign = DatumGetInt32(FunctionCall2(cmp, DateADTGetDatum((DateADT) day),
										   instant));
		*low = *high = midnight + (sign < 0 ? 1 : sign > 0 ? -1 : 0);
	}
}

/*
 * Translate a value into the type that fpb_zone_type says; cmp is the function
 * that it was asked about.  The values of the column that are < *low are less
 * than the value, and those > *high are greater.  Returns true if *low and
 * *high are equal: then exactly those values of the column are equal to the
 * value that are equal to *low.
 *
 * Allocates the results in the current context where int64 is by reference.
 */
bool
fpb_zone_translate(FmgrInfo *cmp, Datum value, Datum *low, Datum *high)
{
	Timestamp	from;
	Timestamp	to;
	int			overflow = 0;

	if (fpb_zone_type(cmp->fn_oid) == TIMESTAMPTZOID)
	{
		if (cmp->fn_oid == F_TIMESTAMPTZ_CMP_DATE)
			fpb_to_instant(date2timestamptz, DatumGetDateADT(value), from, overflow);
		else
			fpb_to_instant(timestamp2timestamptz, DatumGetTimestamp(value), from, overflow);
		to = from;
	}
	else
	{
		from = to = DatumGetTimestampTz(value);
		if (!TIMESTAMP_NOT_FINITE(from) && !IS_VALID_TIMESTAMP(from))
		{
			/*
			 * To an instant beyond the range, local times are not what they
			 * are to others: those that are beyond it themselves are further
			 * away.  So it lies between those at the range's end.
			 */
			local_times(from < 0 ? MIN_TIMESTAMP : END_TIMESTAMP, &from, &to);
			from--;
		}
		else if (!TIMESTAMP_NOT_FINITE(from))
		{
			local_times(from, &from, &to);
			if (cmp->fn_oid == F_DATE_CMP_TIMESTAMPTZ)
				narrow_to_dates(cmp, value, &from, &to);
		}
	}

	/* what is beyond the finite values lies between the last and infinity */
	if (overflow > 0 || (from >= END_TIMESTAMP && !TIMESTAMP_IS_NOEND(from)))
		from = END_TIMESTAMP - 1;
	if (overflow < 0 || (to < MIN_TIMESTAMP && !TIMESTAMP_IS_NOBEGIN(to)))
		to = MIN_TIMESTAMP;
	if (from < MIN_TIMESTAMP)
		TIMESTAMP_NOBEGIN(from);
	if (to >= END_TIMESTAMP)
		TIMESTAMP_NOEND(to);

	*low = TimestampGetDatum(from);
	*high = TimestampGetDatum(to);
	return from == to;
}
