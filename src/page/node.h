/*-------------------------------------------------------------------------
 *
 * page/node.h
 *	  One in-page node: slots, gaps, search among integers.
 *
 * FORMAT.md ("A node") draws them.  The functions here are inline because they
 * are the inner loop of everything.
 *
 *-------------------------------------------------------------------------
 */
#ifndef FPB_PAGE_NODE_H
#define FPB_PAGE_NODE_H

#include "base/wal.h"
#include "key/posting.h"

/* the shape of the in-page nodes of one kind of page */
typedef struct FpbShape
{
	uint16		size;			/* bytes, a multiple of FPB_CACHE_LINE */
	uint16		nslots;			/* of a plain or tuples node; leaves of words:
								 * of a pairs node of the widest pairs */
	uint16		low_off;		/* of the array of low words (128-bit words) */
	uint16		tail_off;		/* of the array of tails (6 bytes each), or of
								 * tuple offsets (2 bytes each) */
	uint16		child_off;		/* of the array of downlinks (inner pages) */
	uint16		killed_bytes;	/* of the node's bitmap of killed bits */
	uint16		killed_off;		/* where these begin in the page; 0: they
								 * follow the nodes (tuple form) */
	uint16		max_nodes;		/* what a page of nothing else has room for */
	uint16		most;			/* entries that a plain node gets while there
								 * is room for them in others; nslots, but
								 * where gaps are of use (cache_first) */
	uint8		pairs[8];		/* leaves of words: slots of a pairs node, by
								 * fpb_pairs_form; 0: there is none like it */
} FpbShape;

/* the shapes of leaves, of level 1, and of the levels above */
#define FPB_SHAPES	3

StaticAssertDecl(FPB_SHAPES * sizeof(FpbShape) <= sizeof(((FpbIndex *) NULL)->shapes),
				 "FpbIndex must have room for all shapes");

static inline FpbShape *
fpb_shapes(FpbIndex *ix)
{
	return (FpbShape *) ix->shapes;
}

static inline const FpbShape *
fpb_leaf_shape(const FpbIndex *ix)
{
	return (const FpbShape *) ix->shapes;
}

static inline const FpbShape *
fpb_level_shape(const FpbIndex *ix, int level)
{
	return (const FpbShape *) ix->shapes + Min(level, FPB_SHAPES - 1);
}

static inline const FpbShape *
fpb_shape(const FpbIndex *ix, Page page)
{
	return fpb_level_shape(ix, FpbHdr(page)->level);
}

/*
 * How a node stores its entries.
 *
 * Wherever these are treated in different ways, there is a switch without a
 * default that lists them all.  So after adding one here, compile: -Wswitch
 * names each place that has to know it.
 */
typedef enum FpbNodeKind
{
	FPB_NODE_PLAIN,				/* inner pages: entries in order */
	FPB_NODE_RUNS,				/* leaves of words: each key once, and its
								 * TIDs */
	FPB_NODE_PAIRS,				/* leaves of words: each key beside its TID,
								 * in any order (page/loose.h) */
	FPB_NODE_TUPLES				/* leaves of tuples: the same arrays as of a
								 * plain node, in the order of heads or not
								 * (page/loose.h) */
} FpbNodeKind;

/*
 * A node's codec, a byte in the page's directory: the kind, and how pairs lie
 * in a pairs node.
 */
typedef uint8 FpbCodec;

#define FPB_CODEC_KIND		0x03
#define FPB_PAIRS_IN_ORDER	0x04	/* the entries are in order, in the first
									 * slots */
#define FPB_PAIRS_NEAR		0x08	/* heads are differences of 4 bytes to the
									 * node's base, not 8 bytes */
#define FPB_PAIRS_TAIL_SHIFT 4	/* the bits from there on: bytes of a tail,
								 * less FPB_SHORT_TAIL */

static inline FpbNodeKind
fpb_codec_kind(FpbCodec codec)
{
	return (FpbNodeKind) (codec & FPB_CODEC_KIND);
}

/*
 * The codec of a pairs node, whose entries are in order.
 */
static inline FpbCodec
fpb_pairs_codec(bool near, int tail_width)
{
	return FPB_NODE_PAIRS | FPB_PAIRS_IN_ORDER | (near ? FPB_PAIRS_NEAR : 0) |
		(tail_width - FPB_SHORT_TAIL) << FPB_PAIRS_TAIL_SHIFT;
}

/* what of a codec tells how wide pairs are: the index of FpbShape's pairs[] */
static inline int
fpb_pairs_form(FpbCodec codec)
{
	return (codec / FPB_PAIRS_NEAR) & 7;
}

/* --- what there is to know of a codec --- */

/*
 * May a node of a leaf, or of an inner page, have a codec, which may come from
 * a damaged page?
 */
static inline bool
fpb_codec_fits(const FpbIndex *ix, const FpbShape *shape, FpbCodec codec)
{
	if (shape->child_off != 0)
		return codec == FPB_NODE_PLAIN;
	if (!fpb_is_word(ix))
		return codec == FPB_NODE_TUPLES;
	if (fpb_codec_kind(codec) == FPB_NODE_PAIRS)
		return codec < FPB_PAIRS_NEAR << 3 && shape->pairs[fpb_pairs_form(codec)] > 0;
	return codec == FPB_NODE_RUNS;
}

/* Does a node have each key once, for all its entries? */
static inline bool
fpb_codec_shares_key(FpbCodec codec)
{
	return fpb_codec_kind(codec) == FPB_NODE_RUNS;
}

/* May a node's entries be in no order (page/loose.h)? */
static inline bool
fpb_codec_is_loose(FpbCodec codec)
{
	return fpb_codec_kind(codec) == FPB_NODE_PAIRS || fpb_codec_kind(codec) == FPB_NODE_TUPLES;
}

/* Are they in order, and in the first slots? */
static inline bool
fpb_codec_in_order(FpbCodec codec)
{
	return (codec & FPB_PAIRS_IN_ORDER) != 0;
}

extern const char *fpb_codec_name(FpbCodec codec);
extern Size fpb_slot_bytes(const FpbIndex *ix, bool inner);

/* --- arrays of a node --- */

/*
 * A runs node (FORMAT.md, "A node"), whose last bytes say how wide its tails
 * are, how many keys it has, and how many it has room for.
 */
typedef struct FpbRuns
{
	int			nruns;			/* keys, each with its run of places */
	int			capacity;		/* keys that there is room for */
	int			width;			/* bytes of a tail */
	int			places;			/* for TIDs */
	char	   *keys;			/* heads, and behind all of these low words */
	char	   *tails;
	uint8	   *ends;			/* where each run ends */
} FpbRuns;

/* bytes behind all else: the three numbers */
#define FPB_RUNS_TRAILER	3

/* places, and keys, are numbered by bytes */
#define FPB_RUNS_MOST		255

/* bytes that a runs node has for keys and TIDs */
static inline int
fpb_runs_room(const FpbShape *shape)
{
	return shape->size - FPB_RUNS_TRAILER;
}

/* bytes that a key takes of these */
static inline int
fpb_run_bytes(const FpbIndex *ix)
{
	return ix->head_width + (ix->form == FPB_WORD16 ? sizeof(uint64) : 0) + sizeof(uint8);
}

/* places for TIDs of so many bytes beside so many keys */
static inline int
fpb_runs_places(const FpbIndex *ix, const FpbShape *shape, int capacity, int width)
{
	int			bytes = fpb_runs_room(shape) - capacity * fpb_run_bytes(ix);

	return bytes < 0 ? 0 : Min(bytes / width, FPB_RUNS_MOST);
}

/* Set a runs node's numbers. */
static inline void
fpb_runs_set(const FpbShape *shape, char *node, int width, int nruns, int capacity)
{
	uint8	   *numbers = (uint8 *) node + fpb_runs_room(shape);

	numbers[0] = width;
	numbers[1] = nruns;
	numbers[2] = capacity;
}

/*
 * Can these be a runs node's numbers?  Then nothing that fpb_runs says lies
 * outside the node; only ends[] may be wrong.
 */
static inline bool
fpb_runs_possible(const FpbIndex *ix, const FpbShape *shape, const char *node)
{
	const uint8 *numbers = (const uint8 *) node + fpb_runs_room(shape);
	int			width = numbers[0];
	int			nruns = numbers[1];
	int			capacity = numbers[2];

	return width >= FPB_SHORT_TAIL && width <= FPB_TAIL_BYTES &&
		nruns >= 1 && nruns <= capacity &&
		fpb_runs_places(ix, shape, capacity, width) >= 1;
}

static inline FpbRuns
fpb_runs(const FpbIndex *ix, const FpbShape *shape, char *node)
{
	const uint8 *numbers = (const uint8 *) node + fpb_runs_room(shape);
	FpbRuns		runs;

	/* (what has been checked may change, in a page that names a node twice) */
	runs.width = Min(Max(numbers[0], FPB_SHORT_TAIL), FPB_TAIL_BYTES);
	runs.nruns = numbers[1];
	runs.capacity = numbers[2];
	runs.places = fpb_runs_places(ix, shape, runs.capacity, runs.width);
	runs.keys = node;
	runs.tails = node + runs.capacity * (fpb_run_bytes(ix) - sizeof(uint8));
	runs.ends = (uint8 *) node + fpb_runs_room(shape) - runs.capacity;
	return runs;
}

/* where a run ends, and begins, in a page that may be damaged */
static inline int
fpb_run_end(const FpbRuns *runs, int run)
{
	return Min(runs->ends[run], runs->places);
}

static inline int
fpb_run_start(const FpbRuns *runs, int run)
{
	return run == 0 ? 0 : fpb_run_end(runs, run - 1);
}

/* a place's tail, 0 or one without an offset number if it is a gap */
static inline uint64
fpb_run_tail(const FpbRuns *runs, int slot)
{
	return fpb_read_short_tail(runs->tails, slot, runs->width);
}

/* (the offset number is in the part that tails of any width begin with) */
static inline bool
fpb_run_is_gap(const FpbRuns *runs, int slot)
{
	uint32		low;

	memcpy(&low, runs->tails + slot * runs->width, sizeof(low));
	return (low & FPB_TAIL_MAX_OFFSET) == 0;
}

/* the array of low words (128-bit words), behind heads of 8 bytes */
static inline uint64 *
fpb_run_lows(const FpbRuns *runs)
{
	return (uint64 *) runs->keys + runs->capacity;
}

/*
 * The run that a place belongs to; one behind all runs counts as the last's.
 */
static inline int
fpb_run_of_slot(const FpbRuns *runs, int slot)
{
	int			run = 0;

	for (int i = 0; i < runs->nruns - 1; i++)
		run += runs->ends[i] <= slot;
	return run;
}

static inline int
fpb_node_slots(const FpbIndex *ix, const FpbShape *shape, FpbCodec codec,
			   const char *node)
{
	switch (fpb_codec_kind(codec))
	{
		case FPB_NODE_PLAIN:
		case FPB_NODE_TUPLES:
			return shape->nslots;
		case FPB_NODE_PAIRS:
			return shape->pairs[fpb_pairs_form(codec)];
		case FPB_NODE_RUNS:
			return fpb_runs(ix, shape, (char *) node).places;
	}
	pg_unreachable();
}

/* the most slots that a node of some codec has */
static inline int
fpb_most_slots(const FpbIndex *ix, const FpbShape *shape)
{
	return Max(shape->nslots,
			   fpb_is_word(ix) ? fpb_runs_places(ix, shape, 1, FPB_SHORT_TAIL) : 0);
}

/* --- pairs nodes --- */

/* no pair has more bytes: a tail, a low word, a head */
#define FPB_MAX_PAIR_BYTES	(FPB_TAIL_BYTES + 2 * sizeof(uint64))

/* heads that are near to each other differ by no more than this */
#define FPB_NEAR_MOST		((uint64) PG_UINT32_MAX)

/*
 * Slots are numbered by bytes, and a node full of duplicates has room as a
 * runs node, with places to spare.
 */
#define FPB_PAIRS_MOST		(FPB_RUNS_MOST - 2)

static inline bool
fpb_codec_near(FpbCodec codec)
{
	return (codec & FPB_PAIRS_NEAR) != 0;
}

/* bytes of a pair's tail */
static inline int
fpb_pair_tail_width(FpbCodec codec)
{
	return FPB_SHORT_TAIL + (codec >> FPB_PAIRS_TAIL_SHIFT);
}

/* where in a pair is the head: behind the tail and the low word */
static inline int
fpb_pair_head_off(const FpbIndex *ix, FpbCodec codec)
{
	return fpb_pair_tail_width(codec) + (ix->form == FPB_WORD16 ? sizeof(uint64) : 0);
}

/* Is a pair's head stored in 4 bytes? */
static inline bool
fpb_pair_has_short_head(const FpbIndex *ix, FpbCodec codec)
{
	return ix->head_width == sizeof(uint32) || fpb_codec_near(codec);
}

/* bytes of a pair */
static inline int
fpb_pair_bytes(const FpbIndex *ix, FpbCodec codec)
{
	return fpb_pair_head_off(ix, codec) +
		(fpb_pair_has_short_head(ix, codec) ? sizeof(uint32) : sizeof(uint64));
}

/*
 * Is a pair an integer of 64 bits?  Then the head is its upper half, and pairs
 * are in the order of these integers.  The lower 16 bits of a gap are 0; where
 * entries are in order, all are.
 */
static inline bool
fpb_pair_is_integer(const FpbIndex *ix, FpbCodec codec)
{
	return fpb_pair_tail_width(codec) == FPB_SHORT_TAIL && ix->form != FPB_WORD16 &&
		fpb_pair_has_short_head(ix, codec);
}

static inline uint64
fpb_pair_integer(const char *node, int slot)
{
	uint64		pair;

	memcpy(&pair, node + slot * sizeof(pair), sizeof(pair));
#ifdef WORDS_BIGENDIAN
	pair = pair << 32 | pair >> 32;
#endif
	return pair;
}

/* where a node has its base, if its heads are differences to that */
static inline char *
fpb_pairs_base_at(const FpbShape *shape, char *node)
{
	return node + shape->size - sizeof(uint64);
}

static inline uint64
fpb_pairs_base(const FpbShape *shape, FpbCodec codec, const char *node)
{
	return fpb_codec_near(codec) ? *(uint64 *) fpb_pairs_base_at(shape, (char *) node) : 0;
}

/* the head of the pair that is stored here */
static inline uint64
fpb_pair_head(const FpbIndex *ix, FpbCodec codec, uint64 base, const char *pair)
{
	uint64		head;
	uint32		half;

	pair += fpb_pair_head_off(ix, codec);
	if (!fpb_pair_has_short_head(ix, codec))
	{
		memcpy(&head, pair, sizeof(head));
		return head;
	}
	memcpy(&half, pair, sizeof(half));
	return fpb_codec_near(codec) ? base + half : (uint64) half << 32;
}

/*
 * Can a loose node have an entry of this key?  A pairs node may be too narrow
 * for it, or have a base that is too far from it.
 */
static inline bool
fpb_loose_fits(const FpbShape *shape, FpbCodec codec, const char *node, const FpbKey *key)
{
	uint64		base;

	if (fpb_codec_kind(codec) == FPB_NODE_TUPLES)
		return true;
	if (fpb_tail_width(key->tail) > fpb_pair_tail_width(codec))
		return false;
	if (!fpb_codec_near(codec))
		return true;
	base = fpb_pairs_base(shape, codec, node);
	return key->head >= base && key->head - base <= FPB_NEAR_MOST;
}

static inline bool
fpb_pair_is_gap(const FpbIndex *ix, FpbCodec codec, const char *node, int slot)
{
	return fpb_short_tail_is_gap(node + slot * fpb_pair_bytes(ix, codec), 0, FPB_SHORT_TAIL);
}

/*
 * What a node would have to have room for: how far keys are from each other,
 * and how wide tails are.
 */
typedef struct FpbSpan
{
	uint64		least;			/* head */
	uint64		greatest;
	int			width;			/* 0: there are no keys */
} FpbSpan;

static inline void
fpb_span_add(FpbSpan *span, const FpbKey *key)
{
	if (span->width == 0)
		span->least = span->greatest = key->head;
	span->least = Min(span->least, key->head);
	span->greatest = Max(span->greatest, key->head);
	span->width = Max(span->width, fpb_tail_width(key->tail));
}

/* the narrowest pairs that do for it */
static inline FpbCodec
fpb_span_codec(const FpbIndex *ix, const FpbSpan *span)
{
	return fpb_pairs_codec(ix->head_width == sizeof(uint64) &&
						   span->greatest - span->least <= FPB_NEAR_MOST, span->width);
}

/* the tail in a slot of a node of words, 0 or one without an offset number if it is a gap */
static inline uint64
fpb_slot_tail(const FpbIndex *ix, const FpbShape *shape, FpbCodec codec, char *node,
			  int slot)
{
	FpbRuns		runs;

	switch (fpb_codec_kind(codec))
	{
		case FPB_NODE_PLAIN:
		case FPB_NODE_TUPLES:	/* has no words */
			return fpb_read_tail(node + shape->tail_off, slot);
		case FPB_NODE_PAIRS:
			return fpb_read_short_tail(node + slot * fpb_pair_bytes(ix, codec), 0,
									   fpb_pair_tail_width(codec));
		case FPB_NODE_RUNS:
			runs = fpb_runs(ix, shape, node);
			return fpb_run_tail(&runs, slot);
	}
	pg_unreachable();
}

/*
 * The head of a plain or tuples node's slot, or of a runs node's run.  Where
 * keys have no heads, none are stored.
 */
static inline uint64
fpb_node_head(const FpbIndex *ix, const char *node, int slot)
{
	if (ix->head_width == 4)
		return (uint64) ((const uint32 *) node)[slot] << 32;
	if (unlikely(ix->head_width == 0))
		return 0;
	return ((const uint64 *) node)[slot];
}

/*
 * The head of a slot, whatever the codec.
 */
static inline uint64
fpb_slot_head(const FpbIndex *ix, const FpbShape *shape, FpbCodec codec,
			  char *node, int slot)
{
	FpbRuns		runs;

	switch (fpb_codec_kind(codec))
	{
		case FPB_NODE_PLAIN:
		case FPB_NODE_TUPLES:
			return fpb_node_head(ix, node, slot);
		case FPB_NODE_PAIRS:
			return fpb_pair_head(ix, codec, fpb_pairs_base(shape, codec, node),
								 node + slot * fpb_pair_bytes(ix, codec));
		case FPB_NODE_RUNS:
			runs = fpb_runs(ix, shape, node);
			return fpb_node_head(ix, node, fpb_run_of_slot(&runs, slot));
	}
	pg_unreachable();
}

static inline void
fpb_node_set_head(const FpbIndex *ix, char *node, int slot, uint64 head)
{
	if (ix->head_width == 4)
		((uint32 *) node)[slot] = (uint32) (head >> 32);
	else if (ix->head_width > 0)
		((uint64 *) node)[slot] = head;
}

/* the array of downlinks of a node of an inner page */
static inline uint32 *
fpb_node_children(const FpbShape *shape, char *node)
{
	return (uint32 *) (node + shape->child_off);
}

static inline uint16 *
fpb_node_tuples(const FpbShape *shape, char *node)
{
	return (uint16 *) (node + shape->tail_off);
}

/* Does the slot hold no entry? */
static inline bool
fpb_node_is_gap(const FpbIndex *ix, const FpbShape *shape, FpbCodec codec,
				char *node, int slot)
{
	FpbRuns		runs;

	switch (fpb_codec_kind(codec))
	{
		case FPB_NODE_PLAIN:
			if (!fpb_is_word(ix))
				return fpb_node_tuples(shape, node)[slot] == 0;
			if (shape->child_off != 0)
				return fpb_node_children(shape, node)[slot] == InvalidBlockNumber;
			return fpb_tail_is_gap(node + shape->tail_off, slot);
		case FPB_NODE_TUPLES:
			return fpb_node_tuples(shape, node)[slot] == 0;
		case FPB_NODE_PAIRS:
			return fpb_pair_is_gap(ix, codec, node, slot);
		case FPB_NODE_RUNS:
			runs = fpb_runs(ix, shape, node);
			return fpb_run_is_gap(&runs, slot);
	}
	pg_unreachable();
}

/*
 * Is the tuple of this entry, of a page of that shape, a posting?
 */
static inline bool
fpb_has_posting(const FpbShape *shape, const FpbEntry *entry)
{
	return entry->key.tuple != NULL && shape->child_off == 0 &&
		fpb_is_posting(entry->key.tuple);
}

/* --- search among integers --- */

/*
 * Number of elements < key of a sorted array.  No branch depends on the data,
 * because a misprediction would cost more than anything else here.
 *
 * While there are more elements than most (at least 1), they are halved.  Each
 * such step waits for the line that the step before has chosen, which may not
 * have arrived yet.  The rest are all counted: that asks for all their lines
 * at once, and takes several elements a cycle.
 */
static inline int
fpb_count_less64(const uint64 *a, int n, uint64 key, int most)
{
	const uint64 *base = a;
	int			count;

	while (n > most)
	{
		int			half = n / 2;

		/* a mask, as compilers make a branch of a conditional expression */
		base += half & -(int) (base[half - 1] < key);
		n -= half;
	}
	count = (int) (base - a);
	for (; n >= 4; n -= 4, base += 4)
		count += (base[0] < key) + (base[1] < key) + (base[2] < key) + (base[3] < key);
	for (; n > 0; n--, base++)
		count += *base < key;
	return count;
}

/* four elements that are compared at once, in gcc's and clang's extension of C */
typedef uint32 FpbVector32 __attribute__((vector_size(4 * sizeof(uint32))));
typedef int32 FpbSigned32 __attribute__((vector_size(4 * sizeof(int32))));
typedef uint16 FpbVector16 __attribute__((vector_size(4 * sizeof(uint16))));

static inline int
fpb_count_less32(const uint32 *a, int n, uint32 key, int most)
{
	FpbVector32 keys = {key, key, key, key};
	FpbVector32 counts = {0};
	const uint32 *base = a;
	int			count;

	while (n > most)
	{
		int			half = n / 2;

		base += half & -(int) (base[half - 1] < key);
		n -= half;
	}
	count = (int) (base - a);
	for (; n >= 4; n -= 4, base += 4)
	{
		FpbVector32 elements;

		memcpy(&elements, base, sizeof(elements));
		/* what is true has all bits set */
		counts -= (FpbVector32) (elements < keys);
	}
	count += counts[0] + counts[1] + counts[2] + counts[3];
	for (; n > 0; n--, base++)
		count += *base < key;
	return count;
}

/* Number of a node's heads < head. */
static inline int
fpb_heads_less(const FpbIndex *ix, const char *node, int n, uint64 head)
{
	if (ix->head_width == 4)
	{
		uint32		half = (uint32) (head >> 32);

		/* stored heads have zeros below, so < head may be <= its upper half */
		if ((uint32) head == 0)
			return fpb_count_less32((const uint32 *) node, n, half, ix->count_most);
		if (half == PG_UINT32_MAX)
			return n;
		return fpb_count_less32((const uint32 *) node, n, half + 1, ix->count_most);
	}
	return fpb_count_less64((const uint64 *) node, n, head, ix->count_most);
}

/* Number of a node's heads <= head. */
static inline int
fpb_heads_not_greater(const FpbIndex *ix, const char *node, int n, uint64 head)
{
	if (head == PG_UINT64_MAX)
		return n;
	return fpb_heads_less(ix, node, n, head + 1);
}

/* --- page/node.c --- */

/* one of the parallel arrays of a node */
typedef struct FpbNodeArray
{
	char	   *start;
	int			width;
} FpbNodeArray;

/* no node has more of them */
#define FPB_MAX_ARRAYS		4

extern uint32 fpb_lay_out_slots(const FpbIndex *ix, FpbShape *shape,
								int nslots, bool inner);
extern void fpb_read_slot(const FpbIndex *ix, Page page, const FpbShape *shape,
						  FpbCodec codec, char *node, int slot,
						  FpbEntry *entry);

/*
 * Sign of the tuple at an offset against the search key, which has no head, by
 * their columns: see fpb_compare_plain_columns.
 */
static inline int
fpb_compare_columns_at(const FpbIndex *ix, Page page, uint32 offset, const FpbSearchKey *search)
{
	IndexTuple	tuple = (IndexTuple) ((char *) page + offset);

	return likely(fpb_tuple_columns_valid(page, offset) && fpb_tuple_is_aligned(ix, tuple, offset)) ?
		fpb_compare_plain_columns(ix, tuple, search) : FPB_NOT_TOLD;
}

/*
 * Sign of a slot's first entry (last: its last one) against the search key,
 * which has this head in the page.  The slot is not a gap.  If first is 0, the
 * first columns are known to be equal.
 */
extern int	fpb_compare_rest_of_slot(const FpbIndex *ix, Page page, const FpbShape *shape,
									 FpbCodec codec, char *node, int slot, bool last,
									 const FpbSearchKey *search, uint64 head, int first);

/*
 * The same, if nothing is known.  Where no heads tell, the first column mostly
 * does.
 */
static inline int
fpb_compare_slot(const FpbIndex *ix, Page page, const FpbShape *shape, FpbCodec codec,
				 char *node, int slot, bool last, const FpbSearchKey *search, uint64 head)
{
	int			first = FPB_NOT_TOLD;

	if (!fpb_is_word(ix) && !search->has_head)
		first = fpb_compare_columns_at(ix, page, fpb_node_tuples(shape, node)[slot], search);
	if (first != 0 && first != FPB_NOT_TOLD)
		return first;
	return fpb_compare_rest_of_slot(ix, page, shape, codec, node, slot, last, search, head, first);
}

/*
 * First slot from slot on that is not a gap, or the number of slots.
 */
static pg_attribute_always_inline int
fpb_next_live(const FpbIndex *ix, const FpbShape *shape, FpbCodec codec,
			  char *node, int slot)
{
	int			n = fpb_node_slots(ix, shape, codec, node);

	if (fpb_codec_shares_key(codec))
	{
		FpbRuns		runs = fpb_runs(ix, shape, node);

		while (slot < n && fpb_run_is_gap(&runs, slot))
			slot++;
		return slot;
	}
	while (slot < n && fpb_node_is_gap(ix, shape, codec, node, slot))
		slot++;
	return slot;
}

extern int	fpb_search_slots(const FpbIndex *ix, Page page,
							 const FpbShape *shape, FpbCodec codec, char *node,
							 int lo, int hi, const FpbSearchKey *search,
							 uint64 head, bool equal);
extern int	fpb_search_slots_from(const FpbIndex *ix, Page page,
								  const FpbShape *shape, FpbCodec codec,
								  char *node, int from, int hi,
								  const FpbSearchKey *search);
extern int	fpb_search_node(const FpbIndex *ix, Page page,
							const FpbShape *shape, FpbCodec codec, char *node,
							const FpbSearchKey *search, uint64 head, bool equal);
extern void fpb_write_slot(const FpbIndex *ix, const FpbShape *shape,
						   char *node, int slot, const FpbEntry *entry,
						   uint32 tuple_offset);
extern void fpb_make_pair(const FpbIndex *ix, FpbCodec codec, uint64 base,
						  const FpbKey *key, char *pair);
extern uint64 fpb_span_base(const FpbSpan *span, uint64 before);
extern void fpb_write_pairs(const FpbIndex *ix, const FpbShape *shape,
							FpbCodec codec, char *node,
							const FpbEntry *entries, int nentries);
extern void fpb_write_gap(const FpbIndex *ix, const FpbShape *shape,
						  char *node, int slot, uint64 head);
extern void fpb_make_gap(const FpbIndex *ix, const FpbShape *shape,
						 FpbCodec codec, char *node, int slot);
extern int	fpb_node_arrays(const FpbIndex *ix, const FpbShape *shape,
							FpbCodec codec, char *node, FpbNodeArray *arrays);
extern void fpb_note_slots(FpbWalPage *wp, char *array, int from, int to,
						   int width);
extern void fpb_shift_slots(char *array, int from, int to, int by, int width);
extern int	fpb_find_run(const FpbIndex *ix, const FpbRuns *runs,
						 const FpbKey *key, bool *found);
extern void fpb_write_runs(const FpbIndex *ix, const FpbShape *shape,
						   char *node, const FpbEntry *entries, int nentries,
						   int nruns, bool spread, int before, bool goes_on, bool amid);
extern const char *fpb_runs_fault(const FpbIndex *ix, const FpbShape *shape,
								  char *node);
extern int	fpb_nearest_gap(const FpbIndex *ix, const FpbShape *shape,
							FpbCodec codec, char *node, int slot);

#endif							/* FPB_PAGE_NODE_H */
