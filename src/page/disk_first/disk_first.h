/*-------------------------------------------------------------------------
 *
 * page/disk_first/disk_first.h
 *	  What the files of the disk-first layout share among themselves.
 *
 * The directory names the in-page leaf nodes in key order.  It lies behind the
 * page's header, so that both are fetched at the cost of one latency, and
 * consists of three arrays.  In the order of keys it has the nodes' numbers
 * (uint8).  In the order of these it has the smallest head that a node may
 * hold, its bound (uint64), and its codec (uint8).  So a new node moves
 * nothing but numbers, which is little to log.  The nodes lie behind the
 * directory, in the order of their numbers.  They may also lie in the order of
 * their keys, as in a CSB+-tree; then there are no numbers.
 *
 *-------------------------------------------------------------------------
 */
#ifndef FPB_PAGE_DISK_FIRST_DISK_FIRST_H
#define FPB_PAGE_DISK_FIRST_DISK_FIRST_H

#include "page/fence.h"
#include "page/layout_common.h"
#include "page/loose.h"
#include "page/node.h"

/* --- the directory --- */

/* the layout's part of the page header */
typedef struct FpbDirectory
{
	uint16		nnodes;			/* nodes in the directory */
	uint16		dircap;			/* what the directory has room for; and so it
								 * has for as many nodes allocated */
	uint16		nalloc;			/* nodes allocated */
	uint16		numcap;			/* the same as dircap, of the nodes' numbers;
								 * 0: nodes lie in the order of their keys */
} FpbDirectory;

StaticAssertDecl(sizeof(FpbDirectory) <= sizeof(FpbHdr(NULL)->layout),
				 "the page header must have room for the directory's counts");

#define FpbDir(page)	((FpbDirectory *) FpbHdr(page)->layout)

/* the most in-page nodes of a page: their numbers are bytes */
#define FPB_MAX_NODES	255

/* offset of the first node of a page with a directory of these capacities */
static inline uint32
fpb_page_base(uint32 dircap, uint32 numcap)
{
	return TYPEALIGN(FPB_CACHE_LINE, sizeof(FpbPageHeader) +
					 dircap * (sizeof(uint64) + sizeof(uint8)) +
					 numcap * sizeof(uint8));
}

/* the capacity for numbers that goes with one for heads */
static inline uint32
fpb_numbers_capacity(const FpbIndex *ix, uint32 dircap)
{
	return ix->csb ? 0 : dircap;
}

/* the bounds of nodes, by number; that of a node that is free is all ones */
static inline uint64 *
fpb_bounds(Page page)
{
	return (uint64 *) ((char *) page + sizeof(FpbPageHeader));
}

static inline uint8 *
fpb_dir_nodes(Page page)
{
	return (uint8 *) (fpb_bounds(page) + FpbDir(page)->dircap);
}

/* the codecs of nodes, by number */
static inline uint8 *
fpb_codecs(Page page)
{
	return fpb_dir_nodes(page) + FpbDir(page)->numcap;
}

/*
 * The number of the dir'th node: where it lies among the nodes.
 */
static inline int
fpb_node_number(Page page, int dir)
{
	return FpbDir(page)->numcap == 0 ? dir : fpb_dir_nodes(page)[dir];
}

/*
 * The bound and the codec of the dir'th node.
 */
static inline uint64 *
fpb_dir_bound(Page page, int dir)
{
	return fpb_bounds(page) + fpb_node_number(page, dir);
}

static inline uint8 *
fpb_dir_codec(Page page, int dir)
{
	return fpb_codecs(page) + fpb_node_number(page, dir);
}

/*
 * Which of the directory's nodes has this number?  -1 if none has.
 */
static inline int
fpb_node_of_number(Page page, int number)
{
	const uint8 *numbers = fpb_dir_nodes(page);
	const uint8 *found;

	if (FpbDir(page)->numcap == 0)
		return number < FpbDir(page)->nnodes ? number : -1;
	found = memchr(numbers, number, FpbDir(page)->nnodes);
	return found != NULL ? (int) (found - numbers) : -1;
}

/*
 * The node of this number.
 */
static inline char *
fpb_node_numbered(const FpbShape *shape, Page page, int number)
{
	return (char *) page +
		fpb_page_base(FpbDir(page)->dircap, FpbDir(page)->numcap) +
		number * shape->size;
}

/*
 * The dir'th node of the directory.  Nothing is checked: see fpb_page_node.
 */
static inline char *
fpb_node_at(const FpbShape *shape, Page page, int dir)
{
	return fpb_node_numbered(shape, page, fpb_node_number(page, dir));
}

/* --- child-node hints (page/cache_first.c) --- */

/*
 * May gaps of this page name nodes of the leaf whose downlink is before them?
 */
static inline bool
fpb_page_has_child_hints(const FpbIndex *ix, Page page)
{
	return ix->layout->id == FPB_CACHE_FIRST && FpbHdr(page)->level == 1 &&
		fpb_is_word(ix);
}

/*
 * 1 + the number of the child's node that a gap names, in a page that may have
 * child-node hints; 0 if it names none.
 */
static inline uint16
fpb_slot_child_hint(const FpbShape *shape, const char *node, int slot)
{
	uint64		tail = fpb_read_tail(node + shape->tail_off, slot);

	return (uint16) Min(tail, PG_UINT16_MAX);
}

/*
 * The same for any slot that a search ends at.  An entry's own slot stands for
 * its child's first node, which has the first number if it was made with the
 * page.  A number that no leaf can have counts as none.
 */
static inline uint16
fpb_slot_child_node(const FpbIndex *ix, const FpbShape *shape, char *node, int slot)
{
	uint16		named = 1;

	if (fpb_node_is_gap(ix, shape, FPB_NODE_PLAIN, node, slot))
		named = fpb_slot_child_hint(shape, node, slot);
	return named <= fpb_leaf_shape(ix)->max_nodes ? named : 0;
}

/* --- killed bits --- */

/*
 * The bitmaps of the nodes, in the order of their numbers, with killed bits
 * for their places.  They lie in the hole: in the tuple form behind the nodes,
 * in the word forms always at the page's end, so that they can be prefetched
 * before anything is known of the page.
 */
static inline uint8 *
fpb_killed_bits(const FpbShape *shape, Page page)
{
	return (uint8 *) page + (shape->killed_off != 0 ? shape->killed_off :
							 FpbHdr(page)->pd.pd_lower);
}

/*
 * Which bit of its node's bitmap a slot has, one of nslots.  A node may have
 * more slots than bits.  Then some that are next to each other share one.
 */
static inline int
fpb_killed_bit(const FpbShape *shape, int nslots, int slot)
{
	int			nbits = shape->killed_bytes * 8;
	int			alone = 2 * nbits - nslots;

	if (nslots <= nbits)
		return slot;

	/* the last ones in pairs, if that is enough: it takes no division */
	if (alone >= 0)
		return slot < alone ? slot : (slot + alone) / 2;
	return slot * nbits / nslots;
}

/*
 * The first slot, of nslots, whose bit has this number or a greater one;
 * nslots or more, if there is none.
 */
static inline int
fpb_killed_slot(const FpbShape *shape, int nslots, int bit)
{
	int			nbits = shape->killed_bytes * 8;
	int			alone = 2 * nbits - nslots;

	if (nslots <= nbits || bit < alone)
		return bit;
	if (alone >= 0)
		return 2 * bit - alone;
	return (bit * nslots + nbits - 1) / nbits;
}

/*
 * The bits of the TIDs of postings follow the nodes' bitmaps, in the order of
 * the TIDs' places in the page, the last one first.  So a TID keeps its bit
 * when tuples are added.
 */
static inline uint8 *
fpb_killed_tids(const FpbShape *shape, Page page)
{
	return fpb_killed_bits(shape, page) + FpbDir(page)->nalloc * shape->killed_bytes;
}

/* Which bit has the TID that is stored at tid? */
static inline int
fpb_killed_tid_bit(Page page, const char *tid)
{
	return (int) ((char *) page + BLCKSZ - tid) / FPB_SHORT_TAIL;
}

/*
 * Bytes of those bits for which the hole has room.  A TID whose bit is beyond
 * has none.
 */
static inline int
fpb_killed_tids_bytes(const FpbIndex *ix, const FpbShape *shape, Page page)
{
	uint32		upper = FpbHdr(page)->pd.pd_upper;
	int			room = (int) ((uint8 *) page + upper - fpb_killed_tids(shape, page));
	int			all = (BLCKSZ - upper) / FPB_SHORT_TAIL / 8 + 1;

	return ix->max_posting == 0 || shape->killed_bytes == 0 ? 0 : Min(all, room);
}

/* --- positions --- */

/*
 * A position as this layout understands it: the slot'th slot of the dir'th
 * node of the directory, and in the slot's posting the item'th TID.  Slots and
 * items may be gaps, which hold no entry.
 *
 * FpbPos is the same position packed into a number, for those above the
 * layout: they compare positions and ask for the next one, but know of no
 * nodes.  The packing is not one to one in the word forms, which have no
 * items: there the position behind an entry is the next number, and means the
 * next slot.
 *
 * In a loose node, whose slots are in no order, slot is the entry's rank, and
 * at says where it is.  If at is 0, the rank has to do.
 */
typedef struct FpbNodePos
{
	uint16		dir;
	uint16		slot;
	uint16		at;				/* loose node: 1 + the entry's slot; else 0 */
	uint16		item;			/* else 0; or more: behind the slot's entry */
} FpbNodePos;

/* more than any posting has items: behind all of them */
#define FPB_ALL_ITEMS	PG_UINT16_MAX

/* The position of the entry in a slot of a loose node, which has this rank. */
static inline FpbNodePos
fpb_loose_pos(int dir, int rank, int slot)
{
	FpbNodePos	place = {dir, rank, slot + 1, 0};

	return place;
}

/*
 * The rank of the first entry at or behind a position in a loose node; but of
 * that at or before one amid a posting, 1 more.
 */
static inline int
fpb_loose_rank(FpbNodePos place)
{
	return place.slot + (place.item > 0);
}

/* The position behind an entry's. */
static inline FpbNodePos
fpb_node_pos_behind(const FpbIndex *ix, FpbNodePos place)
{
	if (fpb_is_word(ix) && place.at == 0)
		place.slot++;
	else
		place.item++;
	return place;
}

/* A position as those above the layout know it, and back. */
static inline FpbPos
fpb_pos_pack(FpbNodePos place)
{
	FpbPos		pos = {(uint64) place.dir << 48 | (uint64) place.slot << 32 |
	(uint64) place.at << 16 | (uint64) place.item};

	return pos;
}

static inline FpbPos
fpb_pos_at(int dir, int slot, int item)
{
	FpbNodePos	place = {dir, slot, 0, item};

	return fpb_pos_pack(place);
}

static inline FpbNodePos
fpb_pos_unpack(const FpbIndex *ix, FpbPos pos)
{
	FpbNodePos	place = {(uint16) (pos.number >> 48), (uint16) (pos.number >> 32),
	(uint16) (pos.number >> 16), (uint16) pos.number};

	/* the place behind a word is the next slot, but in loose nodes */
	if (fpb_is_word(ix) && place.at == 0 && place.item == 1)
	{
		place.item = 0;
		place.slot++;
	}
	return place;
}

/* --- reading (page/disk_first/read.c) --- */

extern void fpb_set_shape(const FpbIndex *ix, FpbShape *shape, int lines,
						  bool inner);
extern int	fpb_possible_lines(const FpbIndex *ix, int lines, bool inner);
extern char *fpb_page_node(const FpbIndex *ix, Page page, int dir,
						   FpbCodec *codec);
extern void fpb_node_pos_search(const FpbIndex *ix, Page page,
								const FpbSearchKey *search, FpbNodePos *place);
extern bool fpb_node_pos_next(const FpbIndex *ix, Page page, FpbNodePos *place,
							  FpbEntry *entry);
extern bool fpb_node_pos_prev(const FpbIndex *ix, Page page, FpbNodePos *place,
							  FpbEntry *entry);
extern FpbNodePos fpb_slot_of(const FpbIndex *ix, Page page, FpbNodePos place);
extern FpbNodePos fpb_slot_place(const FpbIndex *ix, Page page, FpbPos pos);

/* --- changes of killed bits (page/disk_first/killed.c) --- */

extern void fpb_page_clear_killed(const FpbIndex *ix, Page page, int dir,
								  int from, int to);
extern void fpb_page_clear_all_killed(const FpbIndex *ix, Page page, int dir);
extern bool fpb_page_loose_is_killed(const FpbIndex *ix, Page page, int dir, int slot);
extern void fpb_page_kill_loose(const FpbIndex *ix, Page page, int dir, int slot);
extern void fpb_page_move_killed(const FpbIndex *ix, Page page, int dir, int slot,
								 int to, int to_slot);
extern void fpb_page_shift_killed(const FpbIndex *ix, Page page, int dir,
								  int from, int to, int by);
extern void fpb_posting_shift_killed(const FpbIndex *ix, Page page,
									 IndexTuple posting, int from, int to, int by);
extern void fpb_posting_clear_killed(const FpbIndex *ix, Page page,
									 IndexTuple posting, int from, int to);
extern void fpb_page_reset_killed(const FpbIndex *ix, Page page);

/* --- packing entries into nodes (page/disk_first/pack.c) --- */

/*
 * A tuples node has gaps among its entries if one of so many has the head of
 * the one before.  Else its gaps are behind them.
 */
#define FPB_MANY_ALIKE		4

/* one node that a page is to have */
typedef struct FpbPackedNode
{
	int			start;			/* its first entry */
	int			count;
	int			slot;			/* its first slot, of all the page's */
	int			nslots;			/* slots that its entries take */
	int			nruns;			/* words: keys among its entries */
	FpbCodec	codec;
	bool		amid;			/* words: it is all of a long run, amid it */
} FpbPackedNode;

/* all nodes that a page is to have; what is not said to be there is undefined */
typedef struct FpbPacking
{
	bool		spread;			/* entries over all slots of a node, or in the
								 * first ones? */
	int			before;			/* words: entries of the first one's run
								 * before all these, */
	bool		goes_on;		/* and does the last one's go on behind them? */
	int			nnodes;
	FpbPackedNode nodes[FPB_MAX_NODES];
	uint16		slots[FPB_MAX_PAGE_ENTRIES + 1];	/* tuples: how many
													 * entries share each slot */
} FpbPacking;

/*
 * Where does the run of the last entry that is packed end: with it, behind it,
 * or is that not known, because the page ends there?
 */
typedef enum FpbRunEnd
{
	FPB_RUN_ENDS,
	FPB_RUN_GOES_ON,
	FPB_RUN_MAY_GO_ON
} FpbRunEnd;

/*
 * How full nodes of words are to be.  A plain or pairs node holds so many
 * entries; a runs node, so many as these costs permit.
 *
 * A run grows at its end.  So the room that is left free for it is where it
 * ends, and those of its entries that are in nodes before that, which it fills
 * on its own, are packed densely.
 */
typedef struct FpbFill
{
	int			plain;			/* entries of a plain node */
	int			pairs[lengthof(((FpbShape *) NULL)->pairs)];	/* of a pairs node; in
																 * inner pages, of a
																 * plain one */
	int			runs_room;		/* of a runs node; 0: there are none */
	int			key_cost;		/* what a key takes of that, */
	int			tid_cost[FPB_TAIL_BYTES + 1];	/* each TID of a run that ends
												 * here, if they have so many
												 * bytes, */
	int			open_cost[FPB_TAIL_BYTES + 1];	/* and of one that does not, */
	int			most_before;	/* and has no more than this in nodes before */
	int			tids;			/* and the most TIDs */
	int			before;			/* entries of the first one's run before all
								 * that are packed */
	FpbRunEnd	end;			/* where the last one's run ends */
} FpbFill;

/* a node of words that is being filled */
typedef struct FpbFilledNode
{
	int			entries;
	int			runs;			/* of so many keys */
	FpbSpan		span;
	int			open;			/* entries of the last run, */
	int			before;			/* and those it has in nodes before this one */
	int			extra;			/* what runs that end here have to be left for
								 * those */
} FpbFilledNode;

/*
 * How many entries like those of a node a pairs node holds.
 */
static inline int
fpb_fill_pairs(const FpbFill *fill, const FpbFilledNode *node)
{
	bool		near = node->span.greatest - node->span.least <= FPB_NEAR_MOST;

	return fill->pairs[fpb_pairs_form(fpb_pairs_codec(near, node->span.width))];
}

/*
 * Is there room in a node for what is in it?
 */
static inline bool
fpb_fill_holds(const FpbFill *fill, const FpbFilledNode *node)
{
	const int  *cost = &fill->tid_cost[node->span.width];
	const int  *open_cost = node->before > fill->most_before ? cost : &fill->open_cost[node->span.width];

	return node->entries <= fpb_fill_pairs(fill, node) ||
		(node->entries <= fill->tids &&
		 node->runs * fill->key_cost + node->extra +
		 (node->entries - node->open) * *cost + node->open * *open_cost <= fill->runs_room);
}

extern int	fpb_fill_take_runs(const FpbFill *fill, FpbFilledNode *node, bool same,
							   const FpbKey *key);

/*
 * Put another entry, of the last run or of another one, into a node that is
 * being filled.  Returns -1 if it goes there.  Else it goes to the next one,
 * which *node is then; returns how many entries before it go there, too: 0 or
 * 1.  (To begin with, *node is all zeros, but for what is before.)
 */
static inline int
fpb_fill_take(const FpbFill *fill, FpbFilledNode *node, bool same, const FpbKey *key)
{
	FpbSpan		span = node->span;

	/* most of a long run's entries differ in nothing that matters here */
	if (same && node->entries > 0 && fpb_tail_width(key->tail) <= span.width)
	{
		node->entries++;
		node->open++;
		if (fpb_fill_holds(fill, node))
			return -1;
		node->entries--;
		node->open--;
	}

	/* a pairs node has room for it, however runs end */
	if (node->entries > 0 && node->before == 0)
	{
		fpb_span_add(&node->span, key);
		if (node->entries < fpb_fill_pairs(fill, node))
		{
			node->entries++;
			node->runs += !same;
			node->open = same ? node->open + 1 : 1;
			return -1;
		}
		node->span = span;
	}
	return fpb_fill_take_runs(fill, node, same, key);
}

extern bool fpb_node_holds(const FpbFill *fill, int nentries, int nruns,
						   const FpbSpan *span);
extern int	fpb_slots_to_fill(int nslots, int slack);
extern int	fpb_plain_fill(const FpbShape *shape, int slack);
extern void fpb_fill_with_slack(const FpbIndex *ix, int level, int slack,
								FpbFill *fill);
extern void fpb_fill_densely(const FpbIndex *ix, int level, FpbFill *fill);
extern void fpb_fill_share(const FpbIndex *ix, int level, int share,
						   FpbFill *fill);
extern int	fpb_most_before(const FpbShape *shape);
extern bool fpb_run_passes(const FpbIndex *ix, const FpbKey *fence, const FpbKey *key);
extern void fpb_fill_between_fences(const FpbIndex *ix, const FpbPageContent *content,
									FpbFill *fill);
extern bool fpb_pack_words(const FpbIndex *ix, int level,
						   const FpbEntry *entries, int nentries,
						   const FpbFill *fill, bool spread,
						   FpbPacking *packing);
extern void fpb_write_packed_runs(const FpbIndex *ix, char *node,
								  const FpbEntry *entries, int nentries,
								  const FpbPacking *packing, int i);
extern int	fpb_packed_width(const FpbIndex *ix, const FpbEntry *entries, int n);
extern bool fpb_pack_tuples(const FpbIndex *ix, const FpbPageContent *content,
							int slack, FpbPacking *packing);

/* --- writing pages (page/disk_first/make_page.c) --- */

extern Size fpb_max_tuple_size(const FpbIndex *ix);
extern Size fpb_max_cut_size(const FpbIndex *ix);
extern int	fpb_directory_capacity(const FpbIndex *ix, const FpbShape *shape,
								   int nnodes, Size used);
extern bool fpb_write_page(const FpbIndex *ix, Page page,
						   const FpbPageContent *content,
						   const FpbPacking *packing, Size want_free);

/* --- room in a page (page/disk_first/tuple_room.c) --- */

/*
 * Where the tuples of a page begin: a byte for each FPB_MAP_STEP, in which one
 * at most begins.  It has that offset's lowest byte, with bit 0 set, as tuples
 * begin at even offsets; or 0.  There is room at both ends to look at eight
 * bytes at once, and for any offset that a damaged page may have.
 */
#define FPB_MAP_STEP			8
#define FPB_MAP_CELL(offset)	((offset) / FPB_MAP_STEP + 8)

StaticAssertDecl(FPB_MAP_STEP <= FPB_LEAST_TUPLE, "two tuples must not begin in one step");

typedef struct FpbTupleMap
{
	uint8		cells[FPB_MAP_CELL(PG_UINT16_MAX) + 1 + 8];
} FpbTupleMap;

extern bool fpb_page_has_room(const FpbIndex *ix, Page page, int more_nodes,
							  Size tuple);
extern bool fpb_tuple_begins_at(const FpbIndex *ix, Page page, uint32 offset);
extern bool fpb_map_tuples(const FpbIndex *ix, Page page, uint32 except,
						   FpbTupleMap *map);
extern uint32 fpb_free_from(const FpbTupleMap *map, uint32 offset);
extern uint32 fpb_gap_in_map(Page page, const FpbTupleMap *map, uint64 tail,
							 uint32 align, uint32 size);
extern uint32 fpb_tuple_gap(const FpbIndex *ix, Page page, const FpbKey *key);
extern void fpb_put_tuple_at(Page page, const FpbKey *key, uint32 offset, FpbWalPage *wp);

/* --- changing pages (page/disk_first/plan_insert.c, page/disk_first/change.c) --- */

/* how an entry is put into a page */
typedef enum FpbPlanKind
{
	FPB_PLAN_SLOT,				/* into a slot, moving entries to a gap */
	FPB_PLAN_APPEND_NODE,		/* into a new node of its own */
	FPB_PLAN_SPLIT_NODE,		/* split the node, then as FPB_PLAN_SLOT */
	FPB_PLAN_SPILL,				/* move the node's first or last entry to the
								 * neighbour there, then likewise */
	FPB_PLAN_SPREAD,			/* spread the entries of adjacent nodes, the
								 * new one among them, evenly over these, and
								 * over nodes added behind them */
	FPB_PLAN_REPACK,			/* pack them anew, as the plan's image has
								 * them, with nodes added behind them */
	FPB_PLAN_LOOSE,				/* into a gap of a loose node, with this rank */
	FPB_PLAN_PASS,				/* into a full node, which passes its first or
								 * last entry on to the neighbour there, and
								 * so on as far as a node with a gap, or to a
								 * new one */
	FPB_PLAN_POSTING,			/* into a gap of a posting tuple */
	FPB_PLAN_GROW				/* make the slot's tuple a larger posting */
} FpbPlanKind;

/* the details of a plan whose outcome is FPB_PLAN_FITS */
typedef struct FpbSlotPlan
{
	FpbPlanKind kind;
	bool		swap;			/* into a full posting, at *swapped, the last
								 * TID of which goes where else is said */
	FpbNodePos	swapped;
	FpbNodePos	place;			/* where it goes */
	uint16		tuple_at;		/* where its tuple, or the larger posting,
								 * goes among the page's tuples; 0: at the
								 * hole's end */
	int			split_at;		/* FPB_PLAN_SPLIT_NODE: slots that stay, or of
								 * a loose node ranks */
	int			tids;			/* FPB_PLAN_GROW: room for so many */
	int			keys;			/* FPB_PLAN_APPEND_NODE: a runs node with room
								 * for so many; 0: a plain one */
	int			width;			/* either: and bytes of its TIDs */
	FpbNodePos	spill;			/* FPB_PLAN_SPILL: the entry that moves, */
	FpbNodePos	spill_to;		/* and where to; FPB_PLAN_PASS: the last node */
	uint16		first;			/* FPB_PLAN_SPREAD, FPB_PLAN_REPACK: the first */
	uint16		last;			/* and the last of the nodes, as the directory
								 * has them; how many are added, */
	uint16		added;
	uint16		entries;		/* and how many entries all then have */
} FpbSlotPlan;

StaticAssertDecl(sizeof(FpbSlotPlan) <= sizeof(((FpbInsertPlan *) NULL)->details),
				 "a plan must have room for the layout's details");

#define FpbSlots(plan)	((FpbSlotPlan *) (plan)->details)

/*
 * The image of a plan to repack so many nodes: these, then their heads and
 * their codecs, as the directory is to have them.
 */
static inline uint64 *
fpb_repacked_heads(const FpbShape *shape, char *image, int nnodes)
{
	return (uint64 *) (image + nnodes * shape->size);
}

static inline uint8 *
fpb_repacked_codecs(const FpbShape *shape, char *image, int nnodes)
{
	return (uint8 *) (fpb_repacked_heads(shape, image, nnodes) + nnodes);
}

extern void fpb_last_of_posting(const FpbIndex *ix, Page page,
								const FpbNodePos *place, FpbEntry *entry);

/* --- the layout's routines, each in one of the files --- */

extern void fpb_disk_first_set_shapes(FpbIndex *ix, int leaf_lines, int inner_lines);
extern void fpb_disk_first_get_shapes(const FpbIndex *ix, int *leaf_lines, int *inner_lines);
extern const char *fpb_disk_first_header_fault(const FpbIndex *ix, Page page);
extern void fpb_disk_first_search(const FpbIndex *ix, Page page, const FpbSearchKey *search, FpbPos *pos);
extern void fpb_disk_first_search_from(const FpbIndex *ix, Page page, const FpbSearchKey *search, FpbPos from, FpbPos *pos);
extern bool fpb_disk_first_next(const FpbIndex *ix, Page page, FpbPos *pos, FpbEntry *entry);
extern int	fpb_disk_first_read_first(const FpbIndex *ix, Page page, const FpbSearchKey *start,
									  const FpbSearchKey *end, bool live, int most,
									  FpbItem *items, FpbReadFirst *first);
extern bool fpb_disk_first_prev(const FpbIndex *ix, Page page, FpbPos *pos, FpbEntry *entry);
extern FpbPos fpb_disk_first_back(const FpbIndex *ix, Page page, FpbPos pos, int slots);
extern int	fpb_disk_first_read(const FpbIndex *ix, Page page, FpbPos pos, const FpbSearchKey *end, bool near, bool live, FpbItem *items, int room, bool *more);
extern BlockNumber fpb_disk_first_downlink(const FpbIndex *ix, Page page, const FpbSearchKey *search, bool before, uint16 *child_node);
extern bool fpb_disk_first_child(const FpbIndex *ix, Page page, const FpbSearchKey *search, bool before, FpbPos *pos, FpbEntry *entry);
extern bool fpb_disk_first_has_killed(const FpbIndex *ix, Page page);
extern int	fpb_disk_first_read_part(const FpbIndex *ix, Page page, FpbPos *pos,
									 const FpbSearchKey *end, bool live, int enough,
									 FpbItem *items, int room, bool *more, bool *all);
extern bool fpb_disk_first_is_killed(const FpbIndex *ix, Page page, FpbPos pos);
extern int	fpb_read_nodes(const FpbIndex *ix, Page page, int first, int last,
						   FpbItem *items, int room);
extern int	fpb_disk_first_read_killed(const FpbIndex *ix, Page page, FpbItem *items);
extern bool fpb_disk_first_kill(const FpbIndex *ix, Page page, const FpbPos *pos, int npos);
extern void fpb_disk_first_plan_insert(const FpbIndex *ix, Page page, const FpbEntry *entry,
									   FpbPos pos, FpbInsertPlan *plan);
extern FpbPos fpb_disk_first_insert(const FpbIndex *ix, Page page, const FpbEntry *entry, const FpbInsertPlan *plan, FpbWalPage *wp);
extern void fpb_disk_first_delete(const FpbIndex *ix, Page page, const FpbPos *pos, int npos, FpbWalPage *wp);
extern bool fpb_disk_first_is_sparse(const FpbIndex *ix, Page page);
extern bool fpb_disk_first_has_room(const FpbIndex *ix, Page page, const FpbKey *key);
extern uint32 fpb_disk_first_put_tuple(const FpbIndex *ix, Page page, const FpbKey *key, FpbWalPage *wp);
extern Size fpb_disk_first_slot_space(const FpbIndex *ix, bool leaf, uint64 span);
extern void fpb_disk_first_cut(const FpbIndex *ix, Page page, FpbPos pos,
							   FpbWalPage *wp);
extern bool fpb_disk_first_build(const FpbIndex *ix, Page page, const FpbPageContent *content, int slack);
extern void fpb_disk_first_filler_begin(FpbFiller *filler);
extern bool fpb_disk_first_filler_take(FpbFiller *filler, const FpbEntry *entry,
									   bool same);
extern bool fpb_disk_first_filler_fence_fits(const FpbFiller *filler, const FpbKey *high);
extern bool fpb_disk_first_filler_write(const FpbFiller *filler, const FpbPageContent *content);
extern const char *fpb_disk_first_fault(const FpbIndex *ix, Page page);
extern void fpb_disk_first_page_info(const FpbIndex *ix, Page page, FpbPageInfo *info);
extern bool fpb_disk_first_node_info(const FpbIndex *ix, Page page, int n, FpbNodeInfo *info);

#endif							/* FPB_PAGE_DISK_FIRST_DISK_FIRST_H */
