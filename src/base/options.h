/*-------------------------------------------------------------------------
 *
 * base/options.h
 *	  The storage parameters of an index (base/options.c).
 *
 *-------------------------------------------------------------------------
 */
#ifndef FPB_BASE_OPTIONS_H
#define FPB_BASE_OPTIONS_H

#include "utils/rel.h"

#include "base/page_header.h"

/* the name of the access method, and of its settings' class */
#define FPB_AM_NAME		"fpbtree"

#define FPB_MIN_FILLFACTOR		10
#define FPB_NO_FILLFACTOR		0	/* none is named */
#define FPB_INNER_FILLFACTOR	80

/* how the nodes of a page are found */
typedef enum FpbNodeFormat
{
	FPB_NODES_NUMBERED,			/* a number says where each lies */
	FPB_NODES_CSB				/* they lie in the order of their keys */
} FpbNodeFormat;

#define FPB_NODE_FORMATS	(FPB_NODES_CSB + 1)

/* how a node is searched */
typedef enum FpbNodeSearch
{
	FPB_SEARCH_COUNTING,		/* all heads are looked at if they are few */
	FPB_SEARCH_BISECTING
} FpbNodeSearch;

#define FPB_NODE_SEARCHES	(FPB_SEARCH_BISECTING + 1)

/* what an index is to be best at */
typedef enum FpbPurpose
{
	FPB_FOR_LOOKUP,
	FPB_FOR_INSERT,
	FPB_FOR_SCAN,
	FPB_FOR_BALANCED			/* all three alike */
} FpbPurpose;

#define FPB_PURPOSES	(FPB_FOR_BALANCED + 1)

/* what shapes the pages of a new index, and how they are searched */
typedef struct FpbDesign
{
	int			layout;			/* FpbLayout, or FPB_UNNAMED */
	int			node_format;	/* FpbNodeFormat, or FPB_UNNAMED */
	int			leaf_lines;		/* 0: the layout's choice */
	int			node_search;	/* FpbNodeSearch, or FPB_UNNAMED */
	int			node_prefetch;	/* are nodes prefetched?  Or FPB_UNNAMED */
} FpbDesign;

#define FPB_UNNAMED		(-1)

/* when insertions go to the operation queue */
typedef enum FpbQueueMode
{
	FPB_QUEUE_AUTO,				/* when their leaves are not in memory */
	FPB_QUEUE_ON,
	FPB_QUEUE_OFF
} FpbQueueMode;

#define FPB_QUEUE_MODES		(FPB_QUEUE_OFF + 1)

/* the smallest queue, in pages, unless the option opq_size names its size */
#define FPB_MIN_QUEUE_PAGES		8

extern const FpbDesign fpb_unnamed_design;

typedef struct FpbOptions
{
	int32		vl_len_;		/* varlena header (do not touch directly!) */
	int			fillfactor;		/* slots in a hundred that a build fills */
	int			purpose;		/* FpbPurpose, or FPB_UNNAMED */
	FpbDesign	design;
	int			operation_queue;	/* FpbQueueMode */
	int			opq_size;		/* kB; 0: base/queue_memory.c chooses */
	int			queue_tiers;	/* 0: likewise */
	int			replaces;		/* offset of the string; only the SQL
								 * functions for migration use it */
	bool		deduplicate_items;	/* has no effect */
} FpbOptions;

extern void fpb_options_init(void);
extern bytea *fpb_options(Datum reloptions, bool validate);
extern int	fpb_fillfactor(Relation rel);
extern FpbPurpose fpb_purpose(const FpbOptions *options);
extern FpbPurpose fpb_wanted_design(Relation rel, FpbDesign *design);
extern bool fpb_may_queue(Relation rel);
extern bool fpb_unique_wants_queue(Relation rel);
extern FpbQueueMode fpb_queue_mode(Relation rel);
extern int	fpb_named_tiers(Relation rel);
extern const char *fpb_queue_mode_name(int mode);
extern const char *fpb_layout_name(int layout);
extern const char *fpb_node_format_name(int format);
extern const char *fpb_node_search_name(int search);
extern const char *fpb_purpose_name(FpbPurpose purpose);
extern int	fpb_layout_named(const char *name);
extern int	fpb_node_format_named(const char *name);
extern int	fpb_node_search_named(const char *name);

#endif							/* FPB_BASE_OPTIONS_H */
