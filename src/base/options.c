/*-------------------------------------------------------------------------
 *
 * base/options.c
 *	  The storage parameters of an fpbtree index.
 *
 * Parameters that shape pages are read when the index is built, and its
 * metapage keeps them.  A change takes effect at the next REINDEX, as a change
 * of fillfactor does.  Parameters of the operation queue take effect at once:
 * each insertion goes by what it finds, and the metapage tells whether there
 * is a queue.  So no parameter needs a lock that keeps readers or writers out.
 *
 * The parameters node_format, node_search, node_prefetch and optimize_for are
 * for experts: they repeat the experiments of the papers.  Other users leave
 * them alone.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <limits.h>
#include <math.h>

#include "access/reloptions.h"
#include "miscadmin.h"
#include "storage/lockdefs.h"
#include "utils/guc.h"

#include "base/options.h"

/*
 * A design of which nothing has been named.
 */
const FpbDesign fpb_unnamed_design = {
	.layout = FPB_UNNAMED,
	.node_format = FPB_UNNAMED,
	.node_search = FPB_UNNAMED,
	.node_prefetch = FPB_UNNAMED
};

/* fpbtree.default_layout; FPB_UNNAMED: fpbtree_tune's choice */
static int	default_layout = FPB_UNNAMED;

/* fpbtree.default_node_format, likewise */
static int	default_node_format = FPB_UNNAMED;

/* fpbtree.default_operation_queue */
static int	default_queue_mode = FPB_QUEUE_AUTO;

/* fpbtree.default_queue_tiers; 0: by the sizes of the index and of memory */
static int	default_queue_tiers = 0;

static const struct config_enum_entry queue_mode_settings[] =
{
	{"auto", FPB_QUEUE_AUTO, false},
	{"on", FPB_QUEUE_ON, false},
	{"off", FPB_QUEUE_OFF, false},
	{NULL, 0, false}
};

static const struct config_enum_entry layout_settings[] =
{
	{"auto", FPB_UNNAMED, false},
	{"disk_first", FPB_DISK_FIRST, false},
	{"micro_index", FPB_MICRO_INDEX, false},
	{"cache_first", FPB_CACHE_FIRST, false},
	{NULL, 0, false}
};

static const struct config_enum_entry node_format_settings[] =
{
	{"auto", FPB_UNNAMED, false},
	{"numbered", FPB_NODES_NUMBERED, false},
	{"csb", FPB_NODES_CSB, false},
	{NULL, 0, false}
};

/* the kind under which the server keeps our parameters' definitions */
static relopt_kind fpb_relopt_kind;

static relopt_enum_elt_def layouts[] =
{
	{"disk_first", FPB_DISK_FIRST},
	{"micro_index", FPB_MICRO_INDEX},
	{"cache_first", FPB_CACHE_FIRST},
	{(const char *) NULL}		/* list terminator */
};

static relopt_enum_elt_def node_formats[] =
{
	{"numbered", FPB_NODES_NUMBERED},
	{"csb", FPB_NODES_CSB},
	{(const char *) NULL}		/* list terminator */
};

static relopt_enum_elt_def node_searches[] =
{
	{"counting", FPB_SEARCH_COUNTING},
	{"bisecting", FPB_SEARCH_BISECTING},
	{(const char *) NULL}		/* list terminator */
};

static relopt_enum_elt_def switches[] =
{
	{"on", true},
	{"off", false},
	{(const char *) NULL}		/* list terminator */
};

static relopt_enum_elt_def queue_modes[] =
{
	{"auto", FPB_QUEUE_AUTO},
	{"on", FPB_QUEUE_ON},
	{"off", FPB_QUEUE_OFF},
	{(const char *) NULL}		/* list terminator */
};

static relopt_enum_elt_def purposes[] =
{
	{"lookup", FPB_FOR_LOOKUP},
	{"insert", FPB_FOR_INSERT},
	{"scan", FPB_FOR_SCAN},
	{"balanced", FPB_FOR_BALANCED},
	{(const char *) NULL}		/* list terminator */
};

/* each value has its name, here and in the settings ("auto" is one more there) */
StaticAssertDecl(lengthof(layouts) == FPB_LAYOUTS + 1 &&
				 lengthof(layout_settings) == FPB_LAYOUTS + 2,
				 "a layout has no name");
StaticAssertDecl(lengthof(node_formats) == FPB_NODE_FORMATS + 1 &&
				 lengthof(node_format_settings) == FPB_NODE_FORMATS + 2,
				 "a format of nodes has no name");
StaticAssertDecl(lengthof(node_searches) == FPB_NODE_SEARCHES + 1,
				 "a way to search nodes has no name");
StaticAssertDecl(lengthof(queue_modes) == FPB_QUEUE_MODES + 1 &&
				 lengthof(queue_mode_settings) == FPB_QUEUE_MODES + 1,
				 "a mode of the operation queue has no name");
StaticAssertDecl(lengthof(purposes) == FPB_PURPOSES + 1,
				 "a purpose has no name");

/*
 * Raise an error if the value of "replaces" has other characters than
 * fpbtree_advise writes.  The functions for migration cut an index's
 * definition into parts, and rely on it that parameters have no parentheses
 * and no quotes.
 */
static void
check_replaces(const char *value)
{
	if (value != NULL && strspn(value, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_=, ") != strlen(value))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("invalid value for parameter \"%s\"", "replaces"),
				 errdetail("It may have letters, digits, spaces, and the characters \"_\", \"=\" and \",\".")));
}

/*
 * Define the parameters, and the settings that are defaults of some.  Called
 * once in a backend, when the module is loaded.
 */
void
fpb_options_init(void)
{
	fpb_relopt_kind = add_reloption_kind();

	add_int_reloption(fpb_relopt_kind, "fillfactor",
					  "How full CREATE INDEX makes pages, in percent",
					  FPB_NO_FILLFACTOR, FPB_MIN_FILLFACTOR, 100,
					  ShareUpdateExclusiveLock);
	add_enum_reloption(fpb_relopt_kind, "layout",
					   "How entries are laid out in pages",
					   layouts, FPB_UNNAMED,
					   "Valid values are \"disk_first\", \"micro_index\" and \"cache_first\".",
					   ShareUpdateExclusiveLock);
	add_int_reloption(fpb_relopt_kind, "leaf_lines",
					  "Width of the nodes in leaf pages, in cache lines; 0 lets the index choose",
					  0, 0, FPB_MAX_LINES,
					  ShareUpdateExclusiveLock);
	add_enum_reloption(fpb_relopt_kind, "node_format",
					   "For experts: how the nodes of a page are found",
					   node_formats, FPB_UNNAMED,
					   "Valid values are \"numbered\" and \"csb\".",
					   ShareUpdateExclusiveLock);
	add_enum_reloption(fpb_relopt_kind, "node_search",
					   "For experts: how a node is searched",
					   node_searches, FPB_UNNAMED,
					   "Valid values are \"counting\" and \"bisecting\".",
					   ShareUpdateExclusiveLock);
	add_enum_reloption(fpb_relopt_kind, "node_prefetch",
					   "For experts: whether the cache lines of a node are prefetched",
					   switches, FPB_UNNAMED,
					   "Valid values are \"on\" and \"off\".",
					   ShareUpdateExclusiveLock);
	add_enum_reloption(fpb_relopt_kind, "optimize_for",
					   "For experts: which of the operations that fpbtree_tune() has measured pages are shaped for",
					   purposes, FPB_UNNAMED,
					   "Valid values are \"lookup\", \"insert\", \"scan\" and \"balanced\".",
					   ShareUpdateExclusiveLock);

	add_enum_reloption(fpb_relopt_kind, "operation_queue",
					   "Whether insertions wait in a queue, to be done many to a page",
					   queue_modes, FPB_UNNAMED,
					   "Valid values are \"auto\", \"on\" and \"off\".",
					   ShareUpdateExclusiveLock);
	add_int_reloption(fpb_relopt_kind, "opq_size",
					  "Size up to which the operation queue grows, in kB; 0 lets the index choose",
					  0, 0, MAX_KILOBYTES,
					  ShareUpdateExclusiveLock);
	add_int_reloption(fpb_relopt_kind, "queue_tiers",
					  "Tiers that the operation queue may have; 0 lets the index choose",
					  0, 0, FPB_TIERS,
					  ShareUpdateExclusiveLock);
	add_string_reloption(fpb_relopt_kind, "replaces",
						 "What a btree was that this index replaces, for fpbtree_to_btree()",
						 NULL, check_replaces,
						 ShareUpdateExclusiveLock);

	/* so that a command for a btree index needs only its method changed */
	add_bool_reloption(fpb_relopt_kind, "deduplicate_items",
					   "Accepted because btree has it, without any effect",
					   true, ShareUpdateExclusiveLock);

	DefineCustomEnumVariable("fpbtree.default_operation_queue",
							 "Default of the option \"operation_queue\" of fpbtree indexes.",
							 NULL,
							 &default_queue_mode,
							 FPB_QUEUE_AUTO, queue_mode_settings,
							 PGC_USERSET, 0, NULL, NULL, NULL);
	DefineCustomIntVariable("fpbtree.default_queue_tiers",
							"Default of the option \"queue_tiers\" of fpbtree indexes.",
							"It is that of the process which moves entries, mostly the queue worker.",
							&default_queue_tiers,
							0, 0, FPB_TIERS, PGC_USERSET, 0, NULL, NULL, NULL);
	DefineCustomEnumVariable("fpbtree.default_layout",
							 "Default of the option \"layout\" of fpbtree indexes.",
							 NULL,
							 &default_layout,
							 FPB_UNNAMED, layout_settings,
							 PGC_USERSET, 0, NULL, NULL, NULL);
	DefineCustomEnumVariable("fpbtree.default_node_format",
							 "For experts: default of the option \"node_format\" of fpbtree indexes.",
							 NULL,
							 &default_node_format,
							 FPB_UNNAMED, node_format_settings,
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
		{"layout", RELOPT_TYPE_ENUM, offsetof(FpbOptions, design.layout)},
		{"leaf_lines", RELOPT_TYPE_INT, offsetof(FpbOptions, design.leaf_lines)},
		{"node_format", RELOPT_TYPE_ENUM, offsetof(FpbOptions, design.node_format)},
		{"node_search", RELOPT_TYPE_ENUM, offsetof(FpbOptions, design.node_search)},
		{"node_prefetch", RELOPT_TYPE_ENUM, offsetof(FpbOptions, design.node_prefetch)},
		{"optimize_for", RELOPT_TYPE_ENUM, offsetof(FpbOptions, purpose)},
		{"operation_queue", RELOPT_TYPE_ENUM, offsetof(FpbOptions, operation_queue)},
		{"opq_size", RELOPT_TYPE_INT, offsetof(FpbOptions, opq_size)},
		{"queue_tiers", RELOPT_TYPE_INT, offsetof(FpbOptions, queue_tiers)},
		{"replaces", RELOPT_TYPE_STRING, offsetof(FpbOptions, replaces)},
		{"deduplicate_items", RELOPT_TYPE_BOOL, offsetof(FpbOptions, deduplicate_items)}
	};

	return (bytea *) build_reloptions(reloptions, validate, fpb_relopt_kind,
									  sizeof(FpbOptions),
									  table, lengthof(table));
}

/*
 * The fillfactor that the index names, or FPB_NO_FILLFACTOR.
 */
int
fpb_fillfactor(Relation rel)
{
	FpbOptions *options = (FpbOptions *) rel->rd_options;

	return options ? options->fillfactor : FPB_NO_FILLFACTOR;
}

/*
 * What an index with these options is to be best at.
 */
FpbPurpose
fpb_purpose(const FpbOptions *options)
{
	if (options == NULL || options->purpose == FPB_UNNAMED)
		return FPB_FOR_BALANCED;
	return options->purpose;
}

/*
 * Fill *design as far as the options and settings name it, for an index to be
 * built.  Returns the purpose that the rest is chosen for.
 */
FpbPurpose
fpb_wanted_design(Relation rel, FpbDesign *design)
{
	FpbOptions *options = (FpbOptions *) rel->rd_options;

	if (options != NULL)
		*design = options->design;
	else
		*design = fpb_unnamed_design;
	if (design->layout == FPB_UNNAMED)
		design->layout = default_layout;

	/*
	 * A layout without nodes has no format of nodes.  If the setting named
	 * one, what has been measured of that layout would be passed over.
	 */
	if (design->node_format == FPB_UNNAMED && design->layout != FPB_MICRO_INDEX)
		design->node_format = default_node_format;
	return fpb_purpose(options);
}

/*
 * Can the index have an operation queue, however it was built?  An index of a
 * temporary table can't, because a worker can't read it.  Of a unique index
 * the metapage tells.
 */
bool
fpb_may_queue(Relation rel)
{
	return !rel->rd_index->indisunique &&
		rel->rd_rel->relpersistence != RELPERSISTENCE_TEMP;
}

/*
 * Is a unique index to have an operation queue, if it is built now?
 */
bool
fpb_unique_wants_queue(Relation rel)
{
	return rel->rd_index->indisunique &&
		rel->rd_rel->relpersistence != RELPERSISTENCE_TEMP &&
		fpb_queue_mode(rel) == FPB_QUEUE_ON;
}

/*
 * When insertions into the index, if it may have an operation queue, go there.
 */
FpbQueueMode
fpb_queue_mode(Relation rel)
{
	FpbOptions *options = (FpbOptions *) rel->rd_options;

	if (options != NULL && options->operation_queue != FPB_UNNAMED)
		return options->operation_queue;
	return default_queue_mode;
}

/*
 * How many tiers the operation queue may have, as the index or the setting
 * names it; 0 if neither does.
 */
int
fpb_named_tiers(Relation rel)
{
	FpbOptions *options = (FpbOptions *) rel->rd_options;

	return options != NULL && options->queue_tiers > 0 ? options->queue_tiers : default_queue_tiers;
}

/*
 * The name of an enum parameter's value.
 */
static const char *
name_of(const relopt_enum_elt_def *members, int value)
{
	for (; members->string_val != NULL; members++)
		if (members->symbol_val == value)
			return members->string_val;
	return "unknown";
}

/*
 * The value with a name, or FPB_UNNAMED if there is none.
 */
static int
named(const relopt_enum_elt_def *members, const char *name)
{
	for (; members->string_val != NULL; members++)
		if (strcmp(members->string_val, name) == 0)
			return members->symbol_val;
	return FPB_UNNAMED;
}

const char *
fpb_queue_mode_name(int mode)
{
	return name_of(queue_modes, mode);
}

const char *
fpb_layout_name(int layout)
{
	return name_of(layouts, layout);
}

const char *
fpb_node_format_name(int format)
{
	return name_of(node_formats, format);
}

const char *
fpb_node_search_name(int search)
{
	return name_of(node_searches, search);
}

const char *
fpb_purpose_name(FpbPurpose purpose)
{
	return name_of(purposes, purpose);
}

/*
 * The values with a name, or FPB_UNNAMED if there is none.
 */
int
fpb_layout_named(const char *name)
{
	return named(layouts, name);
}

int
fpb_node_format_named(const char *name)
{
	return named(node_formats, name);
}

int
fpb_node_search_named(const char *name)
{
	return named(node_searches, name);
}
