/*-------------------------------------------------------------------------
 *
 * scan/timezone.h
 *	  Values that depend on the time zone (scan/timezone.c).
 *
 *-------------------------------------------------------------------------
 */
#ifndef FPB_SCAN_TIMEZONE_H
#define FPB_SCAN_TIMEZONE_H

#include "fmgr.h"

extern Oid	fpb_zone_type(Oid cmp_proc);
extern bool fpb_zone_translate(FmgrInfo *cmp, Datum value, Datum *low,
							   Datum *high);

#endif							/* FPB_SCAN_TIMEZONE_H */
