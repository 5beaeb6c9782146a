/*-------------------------------------------------------------------------
 *
 * fpb_try.h
 *	  Work that may fail without failing the caller (fpb_try.c).
 *
 *-------------------------------------------------------------------------
 */
#ifndef FPB_TRY_H
#define FPB_TRY_H

typedef void (*FpbTryStep) (void *arg);

extern ErrorData *fpb_try(FpbTryStep step, void *arg);
extern bool fpb_is_own_error(int sqlstate);
extern void fpb_warn_of(ErrorData *error, int level, const char *what, const char *hint);

#endif							/* FPB_TRY_H */
