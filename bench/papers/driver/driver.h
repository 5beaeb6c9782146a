/*-------------------------------------------------------------------------
 *
 * driver.h
 *	  Other ways to search pages than the extension's, to be measured.
 *
 *-------------------------------------------------------------------------
 */
#ifndef DRIVER_H
#define DRIVER_H

#include "page/layout.h"

/*
 * Have an index of words, whose keys all differ, worked on in another way:
 * sets ix->layout, and what is prefetched of a page.  Nobody else may work on
 * an index that has been changed so.
 */
extern void driver_use_sorted(FpbIndex *ix);
extern bool driver_use_method(FpbIndex *ix, const char *method, bool prefetch);

#endif							/* DRIVER_H */
