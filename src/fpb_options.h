/*-------------------------------------------------------------------------
 *
 * fpb_options.h
 *	  The storage parameters of an index (fpb_options.c).
 *
 *-------------------------------------------------------------------------
 */
#ifndef FPB_OPTIONS_H
#define FPB_OPTIONS_H

#include "utils/rel.h"

#include "fpb_page.h"

#define FPB_MIN_FILLFACTOR		10
#define FPB_DEFAULT_FILLFACTOR	95
#define FPB_INNER_FILLFACTOR	80

/* how the nodes of a page are found */
typedef enum FpbNodeFormat
{
	FPB_NODES_NUMBERED,			/* a number says where each lies */
	FPB_NODES_CSB				/* they lie in the order of their keys */
} FpbNodeFormat;

typedef struct FpbOptions
{
	int32		vl_len_;		/* varlena header (do not touch directly!) */
	int			layout;			/* FpbLayout, or -1 */
	int			fillfactor;		/* slots in a hundred that a build fills */
	int			leaf_lines;		/* 0: chosen by key form */
	int			node_format;	/* FpbNodeFormat */
} FpbOptions;

extern void fpb_options_init(void);
extern bytea *fpb_options(Datum reloptions, bool validate);
extern int	fpb_fillfactor(Relation rel);
extern int	fpb_leaf_lines(Relation rel);
extern FpbLayout fpb_layout(Relation rel);
extern bool fpb_nodes_in_order(Relation rel);
extern const char *fpb_layout_name(FpbLayout layout);

#endif							/* FPB_OPTIONS_H */
