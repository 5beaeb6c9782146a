/*-------------------------------------------------------------------------
 *
 * fpb_tuning.h
 *	  What has been measured on this machine, and the designs it speaks for
 *	  (fpb_tuning.c).
 *
 *-------------------------------------------------------------------------
 */
#ifndef FPB_TUNING_H
#define FPB_TUNING_H

#include "fpb_key.h"
#include "fpb_options.h"

extern const char *fpb_form_name(FpbForm form);
extern Oid	fpb_tuning_function(void);
extern void fpb_complete_design(FpbForm form, FpbPurpose purpose,
								bool ask, FpbDesign *design);

#endif							/* FPB_TUNING_H */
