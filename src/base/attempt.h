/*-------------------------------------------------------------------------
 *
 * base/attempt.h
 *	  Work that may fail without failing the caller (base/attempt.c).
 *
 *-------------------------------------------------------------------------
 */
#ifndef FPB_BASE_ATTEMPT_H
#define FPB_BASE_ATTEMPT_H

typedef void (*FpbTryStep) (void *arg);

extern ErrorData *fpb_try(FpbTryStep step, void *arg);
extern bool fpb_is_own_error(int sqlstate);
extern void fpb_warn_of(ErrorData *error, int level, const char *what, const char *hint);

#endif							/* FPB_BASE_ATTEMPT_H */
