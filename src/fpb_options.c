/*-------------------------------------------------------------------------
 *
 * fpb_options.c
 *	  The storage parameters of an fpbtree index.
 *
 * Whatever shapes pages is read when the index is built and kept in its
 * metapage; changing it later takes effect at the next REINDEX, as a change of
 * fillfactor does.  So none of the parameters needs a lock that keeps readers
 * or writers out.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/reloptions.h"
#include "storage/lockdefs.h"
#include "utils/guc.h"

#include "fpb_options.h"

/* the widest in-page node that can be asked for, in cache lines */
#define FPB_MAX_LEAF_LINES	32

/* no layout is named: then it is fpbtree.default_layout's */
#define LAYOUT_UNNAMED		(-1)

/* fpbtree.default_layout */
static int	default_layout = FPB_DISK_FIRST;

static const struct config_enum_entry layout_settings[] =
{
	{"disk_first", FPB_DISK_FIRST, false},
	{"micro_index", FPB_MICRO_INDEX, false},
	{NULL, 0, false}
};

/* the kind under which the server keeps our parameters' definitions */
static relopt_kind fpb_relopt_kind;

static relopt_enum_elt_def fpb_layouts[] =
{
	{"disk_first", FPB_DISK_FIRST},
	{"micro_index", FPB_MICRO_INDEX},
	{(const char *) NULL}		/* list terminator */
};

static relopt_enum_elt_def node_formats[] =
{
	{"numbered", FPB_NODES_NUMBERED},
	{"csb", FPB_NODES_CSB},
	{(const char *) NULL}		/* list terminator */
};

/*
 * Define the parameters, and the setting that is the default of one.  Called
 * once in a backend, when the module is loaded.
 */
void
fpb_options_init(void)
{
	fpb_relopt_kind = add_reloption_kind();

	add_int_reloption(fpb_relopt_kind, "fillfactor",
					  "How full CREATE INDEX makes pages, in percent",
					  FPB_DEFAULT_FILLFACTOR, FPB_MIN_FILLFACTOR, 100,
					  ShareUpdateExclusiveLock);
	add_enum_reloption(fpb_relopt_kind, "layout",
					   "How entries are laid out in pages",
					   fpb_layouts, LAYOUT_UNNAMED,
					   "Valid values are \"disk_first\" and \"micro_index\".",
					   ShareUpdateExclusiveLock);
	add_int_reloption(fpb_relopt_kind, "leaf_lines",
					  "Width of the nodes in leaf pages, in cache lines; 0 lets the index choose",
					  0, 0, FPB_MAX_LEAF_LINES,
					  ShareUpdateExclusiveLock);
	add_enum_reloption(fpb_relopt_kind, "node_format",
					   "How the nodes of a page are found",
					   node_formats, FPB_NODES_NUMBERED,
					   "Valid values are \"numbered\" and \"csb\".",
					   ShareUpdateExclusiveLock);

	DefineCustomEnumVariable("fpbtree.default_layout",
							 "Layout of fpbtree indexes that are built without naming one.",
							 NULL,
							 &default_layout,
							 FPB_DISK_FIRST, layout_settings,
							 PGC_USERSET, 0, NULL, NULL, NULL);
}

/*
 * amoptions: parse WITH (...).  With validate, raises an error for a parameter
 * that doesn't exist or a value out of its range.
 */
bytea *
fpb_options(Datum reloptions, bool validate)
{
	static const relopt_parse_elt table[] = {
		{"fillfactor", RELOPT_TYPE_INT, offsetof(FpbOptions, fillfactor)},
		{"layout", RELOPT_TYPE_ENUM, offsetof(FpbOptions, layout)},
		{"leaf_lines", RELOPT_TYPE_INT, offsetof(FpbOptions, leaf_lines)},
		{"node_format", RELOPT_TYPE_ENUM, offsetof(FpbOptions, node_format)}
	};

	return (bytea *) build_reloptions(reloptions, validate, fpb_relopt_kind,
									  sizeof(FpbOptions),
									  table, lengthof(table));
}

/*
 * Slots in a hundred that building the index fills on leaves.
 */
int
fpb_fillfactor(Relation rel)
{
	FpbOptions *options = (FpbOptions *) rel->rd_options;

	return options ? options->fillfactor : FPB_DEFAULT_FILLFACTOR;
}

/*
 * Cache lines of an in-page node of a leaf to be built, or 0 to choose by the
 * form of the keys.
 */
int
fpb_leaf_lines(Relation rel)
{
	FpbOptions *options = (FpbOptions *) rel->rd_options;

	return options ? options->leaf_lines : 0;
}

/*
 * The layout of an index to be built.
 */
FpbLayout
fpb_layout(Relation rel)
{
	FpbOptions *options = (FpbOptions *) rel->rd_options;

	if (options == NULL || options->layout == LAYOUT_UNNAMED)
		return (FpbLayout) default_layout;
	return (FpbLayout) options->layout;
}

/*
 * A layout's name, as the parameter has it.
 */
const char *
fpb_layout_name(FpbLayout layout)
{
	for (const struct config_enum_entry *entry = layout_settings; entry->name != NULL; entry++)
		if (entry->val == (int) layout)
			return entry->name;
	return "unknown";
}

/*
 * Are the nodes of the pages of an index to be built to lie in the order of
 * their keys?
 */
bool
fpb_nodes_in_order(Relation rel)
{
	FpbOptions *options = (FpbOptions *) rel->rd_options;

	return options != NULL && options->node_format == FPB_NODES_CSB;
}
