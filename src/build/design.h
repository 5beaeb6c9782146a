/*-------------------------------------------------------------------------
 *
 * build/design.h
 *	  What has been measured on this machine, and the designs it speaks for
 *	  (build/design.c).
 *
 *-------------------------------------------------------------------------
 */
#ifndef FPB_BUILD_DESIGN_H
#define FPB_BUILD_DESIGN_H

#include "base/options.h"
#include "key/key.h"

extern const char *fpb_form_name(FpbForm form);
extern Oid	fpb_tuning_function(void);
extern bool fpb_complete_design(FpbForm form, FpbPurpose purpose,
								bool ask, FpbDesign *design);

#endif							/* FPB_BUILD_DESIGN_H */
