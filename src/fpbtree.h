/*-------------------------------------------------------------------------
 *
 * fpbtree.h
 *	  Structures and prototypes shared by the layers of fpbtree, lowest first.
 *
 * src/README.md draws the page format and argues the invariants.  A section
 * of this header belongs to one layer and may use only the sections above it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef FPBTREE_H
#define FPBTREE_H

#include "postgres.h"

#include "access/amapi.h"
#include "access/genam.h"
#include "access/itup.h"
#include "access/nbtree.h"
#include "access/relscan.h"
#include "access/skey.h"
#include "fmgr.h"
#include "nodes/execnodes.h"
#include "storage/bufmgr.h"
#include "storage/bulk_write.h"
#include "storage/dsm.h"
#include "utils/injection_point.h"
#include "utils/rel.h"

#include "fpb_compat.h"

/* ------------------------------------------------------------------------
 * page: block numbers, page header, fences, metapage, allocation (fpb_page.c)
 * ------------------------------------------------------------------------
 */

#define FPB_METAPAGE	0		/* block of the metapage */
#define FPB_MAGIC		0xFB7E	/* in every page of an fpbtree */
#define FPB_META_MAGIC	0x46504254	/* "FPBT" */
#define FPB_VERSION		2		/* on-disk format */
#define FPB_CACHE_LINE	64		/* unit of node sizes, on disk */

/* page flags */
#define FPB_LEAF				(1 << 0)
#define FPB_META				(1 << 1)
#define FPB_DELETED				(1 << 2)	/* free for reuse */
#define FPB_INCOMPLETE_SPLIT	(1 << 3)	/* right sibling has no downlink
											 * yet */
#define FPB_LEFTMOST			(1 << 4)	/* low fence is minus infinity */
#define FPB_RIGHTMOST			(1 << 5)	/* high fence is plus infinity */
#define FPB_HIGH_ELIDED			(1 << 6)	/* the page leaves its high fence
											 * to its right sibling, save the
											 * head */

#define FPB_MIN_LINES	2		/* of an in-page node */
#define FPB_MAX_LINES	32
#define FPB_MAX_LEVELS	64

/*
 * A fence as the header stores it: in the word forms, (head, low, tail) is
 * the whole key; in the tuple form head is the head of the pivot tuple that
 * lies at page offset tail, and low is 0.  A high fence that is elided has but
 * its head.
 *
 * The header of every page but the metapage.  What a descent looks at first
 * is in the first cache line; the in-page root node (the "directory") follows
 * at a fixed offset, so that both are fetched at the cost of one latency.
 *
 * The directory names the in-page leaf nodes in key order.  It consists of
 * three arrays of dircap elements: the smallest head a node may hold
 * (uint64), the node's physical number (uint8) and its codec (uint8).
 */
typedef struct FpbPageHeader
{
	struct						/* PageHeaderData without its line pointers */
	{
		PageXLogRecPtr pd_lsn;
		uint16		pd_checksum;
		uint16		pd_flags;
		LocationIndex pd_lower; /* end of the last allocated node */
		LocationIndex pd_upper; /* start of the tuple area */
		LocationIndex pd_special;
		uint16		pd_pagesize_version;
		TransactionId pd_prune_xid;
	}			pd;
	uint16		magic;
	uint8		level;			/* 0 for leaves */
	uint8		flags;
	uint16		nnodes;			/* nodes in the directory */
	uint16		dircap;			/* what the directory has room for */
	BlockNumber right;			/* right sibling or InvalidBlockNumber */
	uint16		nalloc;			/* nodes allocated */
	uint16		unused;
	uint64		low_head;		/* low fence, inclusive */
	uint64		high_head;		/* high fence, exclusive */
	uint64		low_tail;
	uint64		high_tail;		/* second cache line */
	uint64		low_low;
	uint64		high_low;
} FpbPageHeader;

StaticAssertDecl(offsetof(FpbPageHeader, magic) == SizeOfPageHeaderData &&
				 offsetof(FpbPageHeader, pd.pd_lower) == offsetof(PageHeaderData, pd_lower) &&
				 offsetof(FpbPageHeader, pd.pd_upper) == offsetof(PageHeaderData, pd_upper),
				 "FpbPageHeader must begin as every page does");

#define FpbHdr(page)	((FpbPageHeader *) (page))

/* the most in-page nodes of a page: their numbers are bytes */
#define FPB_MAX_NODES	255

/* offset of the first node of a page with this directory capacity */
static inline uint32
fpb_page_base(uint32 dircap)
{
	return TYPEALIGN(FPB_CACHE_LINE, sizeof(FpbPageHeader) +
					 dircap * (sizeof(uint64) + 2 * sizeof(uint8)));
}

#define FpbPageIsLeaf(page)			((FpbHdr(page)->flags & FPB_LEAF) != 0)
#define FpbPageIsDeleted(page)		((FpbHdr(page)->flags & FPB_DELETED) != 0)
#define FpbPageIsLeftmost(page)		((FpbHdr(page)->flags & FPB_LEFTMOST) != 0)
#define FpbPageIsRightmost(page)	((FpbHdr(page)->flags & FPB_RIGHTMOST) != 0)
#define FpbPageSplitIncomplete(page) ((FpbHdr(page)->flags & FPB_INCOMPLETE_SPLIT) != 0)
#define FpbPageHighElided(page)		((FpbHdr(page)->flags & FPB_HIGH_ELIDED) != 0)

/* How an index stores its keys: see "key" below. */
typedef enum FpbForm
{
	FPB_WORD4 = 1,				/* 32-bit words */
	FPB_WORD8,					/* 64-bit words */
	FPB_WORD16,					/* 128-bit words */
	FPB_TUPLE					/* index tuples behind 4- or 8-byte heads */
} FpbForm;

/* The metapage's content, which follows magic and flags. */
typedef struct FpbMeta
{
	uint32		magic;
	uint32		version;
	BlockNumber root;
	uint32		level;			/* of the root */
	uint8		form;			/* FpbForm */
	uint8		head_width;		/* bytes of a head in a node: 4 or 8 */
	uint8		leaf_lines;		/* cache lines of an in-page node of a leaf */
	uint8		inner_lines;	/* the same of an inner page */
	uint32		options;		/* FPB_META_* */
} FpbMeta;

#define FPB_META_ONE_KEY	(1 << 0)	/* duplicates may share one key */

#define FpbPageGetMeta(page) \
	((FpbMeta *) ((char *) (page) + offsetof(FpbPageHeader, right)))

/* ------------------------------------------------------------------------
 * wal: generic records with exact deltas (fpb_wal.c)
 * ------------------------------------------------------------------------
 */
#define FPB_WAL_MAX_PAGES	4	/* as generic WAL replays no more */
#define FPB_WAL_MAX_RANGES	96	/* of one page; more become a page image */

typedef struct FpbWalPage
{
	Buffer		buffer;
	Page		page;			/* where the changes are made: the buffer's
								 * page, or a copy */
	bool		image;			/* log the whole page */
	uint16		lower;			/* where the hole begins before the changes:
								 * what is in it is zero, at replay too */
	int			nranges;
	struct
	{
		uint16		offset;
		uint16		length;
	}			ranges[FPB_WAL_MAX_RANGES];
} FpbWalPage;

typedef struct FpbWal
{
	Relation	rel;
	int			npages;
	FpbWalPage	pages[FPB_WAL_MAX_PAGES];
} FpbWal;

extern void fpb_wal_begin(FpbWal *wal, Relation rel);
extern FpbWalPage *fpb_wal_add(FpbWal *wal, Buffer buffer, bool image);
extern FpbWalPage *fpb_wal_add_copy(FpbWal *wal, Buffer buffer, Page copy);
extern void fpb_wal_enter(FpbWal *wal); /* starts the critical section */
extern void fpb_wal_note(FpbWalPage *wp, const void *start, Size length);
extern void fpb_wal_finish(FpbWal *wal);	/* logs; ends the critical section */
#ifdef USE_ASSERT_CHECKING
/* what the record's i'th page was before it, until the next record */
extern const char *fpb_wal_before(int i);
#endif

/* ------------------------------------------------------------------------
 * key: key words, tuples, comparison (fpb_key.c, fpb_word.c)
 * ------------------------------------------------------------------------
 *
 * Word forms: all key columns together are an order-preserving integer of
 * 32, 64 or 128 bits plus two "tie" bits, which tell a NULL (or -0.0) from
 * the extreme value whose word it shares.  Tuple form: an IndexTuple behind a
 * head, an integer that is weakly monotone in the key; equal heads are decided
 * by the opclass comparators.
 *
 * The total order is (key, TID).  An entry's tail is the integer
 * tie << 46 | block << 14 | offset: what follows the words in that order.
 */
#define FPB_TAIL_OFFSET_BITS	14
#define FPB_TAIL_MAX_OFFSET		((1 << FPB_TAIL_OFFSET_BITS) - 1)
#define FPB_TAIL_TIE_SHIFT		46
#define FPB_TAIL_TID_MASK		((UINT64CONST(1) << FPB_TAIL_TIE_SHIFT) - 1)
#define FPB_TAIL_MIN			UINT64CONST(0)
#define FPB_TAIL_MAX			((UINT64CONST(1) << 48) - 1)

static inline uint64
fpb_tail_pack(uint32 tie, ItemPointer tid)
{
	return ((uint64) tie << FPB_TAIL_TIE_SHIFT) |
		((uint64) ItemPointerGetBlockNumberNoCheck(tid) << FPB_TAIL_OFFSET_BITS) |
		ItemPointerGetOffsetNumberNoCheck(tid);
}

static inline void
fpb_tail_tid(uint64 tail, ItemPointer tid)
{
	ItemPointerSet(tid,
				   (BlockNumber) ((tail & FPB_TAIL_TID_MASK) >> FPB_TAIL_OFFSET_BITS),
				   (OffsetNumber) (tail & FPB_TAIL_MAX_OFFSET));
}

static inline uint32
fpb_tail_tie(uint64 tail)
{
	return (uint32) (tail >> FPB_TAIL_TIE_SHIFT);
}

/*
 * One key with its TID, unpacked.  In the tuple form, tuple is the entry and
 * tail its TID; tuple may point into a page.  A pivot is a key whose trailing
 * columns (and TID) may be truncated, which stands for minus infinity there.
 * In the word forms truncation is a tail of FPB_TAIL_MIN.
 */
typedef struct FpbKey
{
	uint64		head;			/* word (or its upper half), or head */
	uint64		low;			/* lower half of a 128-bit word, else 0 */
	uint64		tail;			/* tie bits and TID */
	IndexTuple	tuple;			/* tuple form only, else NULL */
} FpbKey;

/* A key and what it points to: leaf entries have an invalid child. */
typedef struct FpbEntry
{
	FpbKey		key;
	BlockNumber child;			/* inner pages: the downlink */
} FpbEntry;

/* the shape of the in-page nodes of one kind of page */
typedef struct FpbShape
{
	uint16		size;			/* bytes, a multiple of FPB_CACHE_LINE */
	uint16		nslots;			/* of a plain node */
	uint16		low_off;		/* of the array of low words (128-bit words) */
	uint16		tail_off;		/* of the array of tails (6 bytes each), or of
								 * tuple offsets (2 bytes each) */
	uint16		child_off;		/* of the array of downlinks (inner pages) */
	uint16		hint_bytes;		/* of the node's bitmap of killed slots */
	uint16		hints_off;		/* where these begin in the page; 0: they
								 * follow the nodes (tuple form) */
	uint16		max_nodes;		/* what a page of nothing else has room for */
} FpbShape;

/* what fpb_word.c knows of a column whose values are words */
typedef struct FpbWordType FpbWordType;

/*
 * What the head of a tuple is made of.  Part of the on-disk format: the same
 * column must give the same heads in every release.
 */
typedef enum FpbHeadKind
{
	FPB_HEAD_NONE,				/* no order-preserving prefix: all heads are 0 */
	FPB_HEAD_WORD,				/* the code of the first column */
	FPB_HEAD_PAIR,				/* the codes of the first two columns */
	FPB_HEAD_UUID,				/* first half of the code of a uuid */
	FPB_HEAD_BYTES,				/* first bytes of a varlena */
	FPB_HEAD_BPCHAR,			/* the same without trailing blanks */
	FPB_HEAD_CSTRING			/* first bytes of a name */
} FpbHeadKind;

/* One key column. */
typedef struct FpbColumn
{
	const FpbWordType *word;	/* its word type, or NULL */
	FmgrInfo   *cmp;			/* the opclass's own comparator */
	Oid			collation;
	bool		desc;
	bool		nulls_first;	/* as stored, after DESC */
	uint8		head;			/* FpbHeadKind, of the first column */
	uint8		width;			/* bits of the field that holds its code: 32,
								 * 64 or 128; 0 if it has no word type */
} FpbColumn;

/* a backend's copies of an index's inner pages (fpb_cache.c) */
typedef struct FpbPageCache FpbPageCache;

/*
 * All that is to be known of an index to work on its pages.  Copied from
 * rd_amcache by whoever works with it, as an invalidation may free that at
 * any time.
 */
typedef struct FpbIndex
{
	Relation	rel;
	FpbForm		form;
	uint8		head_width;
	bool		one_key;		/* may duplicates share one key? */
	bool		equal_image;	/* are equal keys the same value? */
	uint16		max_posting;	/* bytes that a posting tuple may take; 0:
								 * there are none */
	int			nkeyatts;
	int			natts;
	BlockNumber root;			/* cached from the metapage; may be stale */
	uint32		level;
	FpbPageCache *cache;
	FpbShape	leaf;
	FpbShape	inner;
	FpbColumn	cols[INDEX_MAX_KEYS];
} FpbIndex;

static inline bool
fpb_is_word(const FpbIndex *ix)
{
	return ix->form != FPB_TUPLE;
}

static inline const FpbShape *
fpb_shape(const FpbIndex *ix, Page page)
{
	return FpbPageIsLeaf(page) ? &ix->leaf : &ix->inner;
}

/* Fill *ix for an open index; reads the metapage unless it is cached. */
extern void fpb_index_open(FpbIndex *ix, Relation rel);

/* Read the metapage again: the cached root has proved stale. */
extern void fpb_index_refresh(FpbIndex *ix);

/* What fpb_index_open derives from the relcache alone: form and columns. */
extern void fpb_index_describe(FpbIndex *ix, Relation rel);

/*
 * A place in the key space: what searches look for.  An entry that is equal
 * to the probe in all of the probe's columns lies on the side that on_equal
 * tells; where the probe has all key columns its tail decides.
 */
typedef struct FpbProbeColumn
{
	Datum		value;
	bool		isnull;
	FmgrInfo   *cmp;			/* comparator (column type, value's type) */
} FpbProbeColumn;

typedef struct FpbProbe
{
	uint64		head;			/* word forms: the whole probe is (head, low,
								 * tail).  Tuple form: head of the first
								 * column, or bound on it */
	uint64		low;
	uint64		tail;
	bool		has_head;		/* tuple form: may heads be compared? */
	int			ncols;			/* tuple form: columns below */
	int			on_equal;		/* tuple form, ncols < nkeyatts: +1 if equal
								 * entries lie after the probe, -1 if before */
	FpbProbeColumn cols[INDEX_MAX_KEYS];
} FpbProbe;

/* Make the key of a new row; tuple form: *key owns a palloc'd tuple. */
extern void fpb_key_form(const FpbIndex *ix, Datum *values, bool *isnull,
						 ItemPointer tid, FpbKey *key);

/*
 * The datums of a leaf key.  By-reference ones of a tuple point into it; those
 * of words are palloc'd.
 */
extern void fpb_key_datums(const FpbIndex *ix, const FpbKey *key,
						   Datum *values, bool *isnull);

/* Does any key column of the key hold a NULL? */
extern bool fpb_key_has_null(const FpbIndex *ix, const FpbKey *key);

/* Probe for exactly this key; tail is the key's own unless it is replaced. */
extern void fpb_probe_from_key(const FpbIndex *ix, const FpbKey *key,
							   FpbProbe *probe);

/*
 * Do comparisons of keys of the index (with the probe) run no code but the
 * server's own, which uses no index?
 */
extern bool fpb_index_is_simple(const FpbIndex *ix);
extern bool fpb_probe_is_simple(const FpbIndex *ix, const FpbProbe *probe);

/* sign(key - probe); key may be a pivot */
extern int	fpb_compare(const FpbIndex *ix, const FpbKey *key,
						const FpbProbe *probe);

/* sign(a - b) of whole entries, TIDs included (build, check) */
extern int	fpb_compare_keys(const FpbIndex *ix, const FpbKey *a,
							 const FpbKey *b);

/* Are all key columns of a and b equal as the opclass has it? */
extern bool fpb_keys_equal(const FpbIndex *ix, const FpbKey *a,
						   const FpbKey *b);

/*
 * Do they agree in the first of several columns, or in the only one?  A NULL
 * may pass for a value.
 */
extern bool fpb_keys_share_prefix(const FpbIndex *ix, const FpbKey *a,
								  const FpbKey *b);

/* Are they the same bytes, so that one copy serves both (one-key nodes)? */
extern bool fpb_keys_identical(const FpbIndex *ix, const FpbKey *a,
							   const FpbKey *b);

/*
 * Make the shortest pivot p with left < p <= right, the low fence of the leaf
 * that begins with right.  Tuple form: allocates p->tuple, which takes no more
 * room than left's.
 */
extern void fpb_key_separator(const FpbIndex *ix, const FpbKey *left,
							  const FpbKey *right, FpbKey *pivot);

/*
 * Where a tuple may begin in a page, and the room it takes there.  The reserved
 * bit says that a column of it relies on its alignment.
 */
static inline Size
fpb_tuple_align(IndexTuple tuple)
{
	return (tuple->t_info & INDEX_AM_RESERVED_BIT) ? MAXIMUM_ALIGNOF : sizeof(uint16);
}

/*
 * Posting tuples.  In leaves of the tuple form, entries of one key may have its
 * tuple in common: behind it are their TIDs, in order, of 6 bytes each, gaps
 * among them as in a node.  (t_info's size is that of the key alone, so that it
 * is an entry's tuple to whoever looks at its columns.)  t_tid tells how many
 * TIDs there is room for, with a bit that no TID's offset number has.
 */
#define FPB_TAIL_BYTES		6	/* of a stored TID, with tie bits */
#define FPB_POSTING_BIT		0x8000

static inline bool
fpb_is_posting(IndexTuple tuple)
{
	return (ItemPointerGetOffsetNumberNoCheck(&tuple->t_tid) & FPB_POSTING_BIT) != 0;
}

static inline int
fpb_posting_slots(IndexTuple posting)
{
	return ItemPointerGetOffsetNumberNoCheck(&posting->t_tid) & FPB_TAIL_MAX_OFFSET;
}

static inline void
fpb_posting_set_slots(IndexTuple posting, int slots)
{
	ItemPointerSet(&posting->t_tid, 0, FPB_POSTING_BIT | slots);
}

/*
 * Bytes of a tuple with TIDs behind it, none if it is that of one entry; and the
 * room it takes.  A single one has 12, however short its key, so that two never
 * take less than a posting of both.
 */
static inline Size
fpb_posting_size(IndexTuple tuple, int tids)
{
	if (tids <= 1)
		return Max(IndexTupleSize(tuple), 2 * FPB_TAIL_BYTES);
	return TYPEALIGN(sizeof(uint16), IndexTupleSize(tuple)) + tids * FPB_TAIL_BYTES;
}

static inline Size
fpb_posting_space(IndexTuple tuple, int tids)
{
	return TYPEALIGN(fpb_tuple_align(tuple), fpb_posting_size(tuple, tids));
}

static inline Size
fpb_tuple_space(IndexTuple tuple)
{
	return fpb_posting_space(tuple, 1);
}

/* Number of untruncated key columns of a pivot tuple. */
extern int	fpb_pivot_natts(const FpbIndex *ix, IndexTuple pivot);

/* Raise the error for a row too long for a page (btree's own wording). */
extern void fpb_check_key_size(const FpbIndex *ix, Relation heap,
							   const FpbKey *key);

/*
 * Probe for one end of the keys that equal key as the opclass has it: the
 * first of them is the first entry >= the lower one (upper = false), and they
 * are those < the upper one.  Tuple form: points into key's tuple.
 */
extern void fpb_probe_equal(const FpbIndex *ix, const FpbKey *key, bool upper,
							FpbProbe *probe);

/* The pivot that lies before every key.  Tuple form: allocates its tuple. */
extern void fpb_key_minus_infinity(const FpbIndex *ix, FpbKey *key);

/*
 * Tuple form: the head of a probe with these ncols columns: that of the
 * smallest (upper: the largest) key that begins with them.  upper must be
 * true if on_equal is -1 and false if it is 1; it makes no difference if
 * ncols is nkeyatts.  The values that the head depends on (two if it is of a
 * pair) must be of the opclass's own types, else the probe can't have a head.
 * Returns false if heads say nothing in this index.
 */
extern bool fpb_head_of(const FpbIndex *ix, const Datum *values,
						const bool *isnull, int ncols, bool upper,
						uint64 *head);

/*
 * What is wrong with the structure of a tuple that lies within its page as a
 * whole, or NULL: everything that reading its columns relies on.
 */
extern const char *fpb_tuple_fault(const FpbIndex *ix, IndexTuple tuple,
								   bool pivot);

/* --- words of single columns (fpb_word.c) --- */
extern const FpbWordType *fpb_word_type(Oid cmp_proc, Oid type);
extern int	fpb_word_bits(const FpbWordType *type);

/* Does the index's column have the representation that its word type is for? */
extern bool fpb_word_fits(const FpbWordType *type, Form_pg_attribute att);

/* The head, low and tail of a key, in word indexes, and back. */
extern void fpb_word_form(const FpbIndex *ix, const Datum *values,
						  const bool *isnull, ItemPointer tid, FpbKey *key);

/* Is a word its column's own integer but for the bits in *flip? */
extern bool fpb_word_is_plain(const FpbIndex *ix, uint64 *flip);
extern void fpb_word_datums(const FpbIndex *ix, const FpbKey *key,
							Datum *values, bool *isnull);
extern void fpb_word_nulls(const FpbIndex *ix, const FpbKey *key,
						   bool *isnull);
extern bool fpb_word_equal(const FpbIndex *ix, const FpbKey *a,
						   const FpbKey *b);
extern void fpb_word_probe_equal(const FpbIndex *ix, const FpbKey *key,
								 bool upper, FpbProbe *probe);

/* The code (of a uuid, its upper half) of one column, for heads. */
extern uint64 fpb_word_code(const FpbColumn *col, Datum value, bool isnull);

/* Is this the code that NULL shares with a value? */
extern bool fpb_word_is_shared(const FpbColumn *col, uint64 code);

/*
 * Bounds of a scan in a word index.  Given for each leading column a range of
 * the column's codes, fpb_word_bound makes the probe of its lower or upper
 * end (src/fpb_word.c tells how); FpbColumnBound is one column's end.
 */
typedef struct FpbColumnBound
{
	uint64		code;			/* the column's code */
	uint64		low;			/* uuid: lower half */
	uint8		tie;			/* smallest (lower end) or largest tie bit */
	bool		isnull;
} FpbColumnBound;

/*
 * Bound of a column by "column op value", for strategies <, <=, =, >=, >.
 * upper: the upper end is wanted (of <, <=, =), else the lower (of >, >=, =).
 * Returns false if no value of the column satisfies the condition.  cmp
 * compares (column type, value's type), NULL for the column's own type.
 * The bound is inclusive at both ends and in index order: for a DESC column,
 * > and >= give upper ends.
 */
extern bool fpb_word_column_bound(const FpbColumn *col, Datum value,
								  Oid value_type, FmgrInfo *cmp,
								  StrategyNumber strategy, bool upper,
								  FpbColumnBound *bound);

/* The end of the non-null (null = false) or null values of the column. */
extern void fpb_word_null_bound(const FpbColumn *col, bool null, bool upper,
								FpbColumnBound *bound);

/*
 * Probe for the end of the key range in which the first ncols columns are at
 * bounds[]: upper = false: the first such entry is the lower bound of the
 * probe; upper = true: entries in range are those that compare < probe.
 */
extern void fpb_word_probe(const FpbIndex *ix, const FpbColumnBound *bounds,
						   int ncols, bool upper, FpbProbe *probe);

/* ------------------------------------------------------------------------
 * layout: one page as a searchable set of entries (fpb_layout_disk_first.c,
 * fpb_node.h)
 * ------------------------------------------------------------------------
 *
 * A position names a slot: the dir'th node of the directory, the slot'th slot
 * in it; and in the posting tuple of a slot the item'th TID.  Slots and items may
 * be gaps, in which no entry is stored.
 */
typedef struct FpbPos
{
	uint16		dir;
	uint16		slot;
	uint16		item;			/* else 0; or more: behind the slot's entry */
} FpbPos;

static inline bool
fpb_pos_equal(FpbPos a, FpbPos b)
{
	return a.dir == b.dir && a.slot == b.slot && a.item == b.item;
}

static inline bool
fpb_pos_before(FpbPos a, FpbPos b)
{
	if (a.dir != b.dir)
		return a.dir < b.dir;
	return a.slot < b.slot || (a.slot == b.slot && a.item < b.item);
}

/* one leaf entry as a scan or VACUUM reads it */
typedef struct FpbItem
{
	FpbKey		key;			/* tuple: points into the page */
	FpbPos		pos;
} FpbItem;

/* no page holds this many entries */
#define FPB_MAX_PAGE_ENTRIES	(BLCKSZ / sizeof(ItemPointerData))

extern void fpb_layout_shapes(FpbIndex *ix, int leaf_lines, int inner_lines);
extern void fpb_layout_choose(FpbIndex *ix, int leaf_lines);

/*
 * Bytes of the longest tuple of an index: what btree takes at this block size,
 * or less if its nodes are too wide for that.
 */
#define FPB_MAX_TUPLE_SIZE \
	(MAXALIGN_DOWN((BLCKSZ - \
					MAXALIGN(SizeOfPageHeaderData + 3 * sizeof(ItemIdData)) - \
					MAXALIGN(sizeof(BTPageOpaqueData))) / 3) - \
	 MAXALIGN(sizeof(ItemPointerData)))
extern Size fpb_max_tuple_size(const FpbIndex *ix);

/*
 * Fences.  A high fence that the page leaves to its right sibling has a head,
 * but no tuple: fpb_lock_high gets the whole of it.
 */
extern void fpb_page_low(const FpbIndex *ix, Page page, FpbKey *key);
extern void fpb_page_high(const FpbIndex *ix, Page page, FpbKey *key);

/*
 * Sign of the low (high) fence against a probe, infinities included.  The high
 * fence must not be elided: see fpb_compare_end.
 */
extern int	fpb_compare_low(const FpbIndex *ix, Page page, const FpbProbe *probe);
extern int	fpb_compare_high(const FpbIndex *ix, Page page, const FpbProbe *probe);

/* Position of the first entry >= probe; past the end if there is none. */
extern void fpb_page_search(const FpbIndex *ix, Page page,
							const FpbProbe *probe, FpbPos *pos);

/*
 * The first live entry at or after *pos (resp. the last before *pos); false if
 * there is none.  *pos is set to it and *entry filled (tuples in place).
 */
extern bool fpb_page_next(const FpbIndex *ix, Page page, FpbPos *pos,
						  FpbEntry *entry);
extern bool fpb_page_prev(const FpbIndex *ix, Page page, FpbPos *pos,
						  FpbEntry *entry);

/* Set *pos to the place after it (fpb_page_next then finds the next entry). */
extern void fpb_page_advance(const FpbIndex *ix, Page page, FpbPos *pos);

/*
 * Entries from *pos on, in order, that are < end (NULL: all), into items[];
 * returns how many.  *more is set to false if one >= end was met.  near: the end
 * may be looked for at *pos first, where no entry behind is < end if one is not.
 */
extern int	fpb_page_read(const FpbIndex *ix, Page page, FpbPos pos,
						  const FpbProbe *end, bool near, FpbItem *items,
						  bool *more);

/*
 * Inner pages: the child to descend to.  before = false: the last child whose
 * low key is <= probe; before = true: the last whose low key is < probe.
 * *entry is its entry, *pos the place of that.
 */
extern BlockNumber fpb_page_downlink(const FpbIndex *ix, Page page,
									 const FpbProbe *probe, bool before);
extern void fpb_page_child(const FpbIndex *ix, Page page,
						   const FpbProbe *probe, bool before, FpbPos *pos,
						   FpbEntry *entry);

/* All live entries in order, tuples in place; returns how many. */
extern int	fpb_page_entries(const FpbIndex *ix, Page page, FpbEntry *entries);

/*
 * What an insertion will do to the page, planned outside the critical section
 * so that doing it can't fail.
 */
typedef enum FpbPlanKind
{
	FPB_PLAN_SLOT,				/* into a slot, moving entries to a gap */
	FPB_PLAN_APPEND_NODE,		/* into a new node of its own */
	FPB_PLAN_APPEND_ONE_KEY,	/* into a new one-key node, of the same key as
								 * the one before */
	FPB_PLAN_SPLIT_NODE,		/* split the node, then as FPB_PLAN_SLOT */
	FPB_PLAN_SPILL,				/* move the node's first or last entry to the
								 * neighbour there, then likewise */
	FPB_PLAN_CONVERT_NODE,		/* make it a one-key node, then likewise */
	FPB_PLAN_POSTING,			/* into a gap of a posting tuple */
	FPB_PLAN_GROW,				/* make the slot's tuple a larger posting */
	FPB_PLAN_REBUILD,			/* reorganise the page: image made beforehand */
	FPB_PLAN_FULL				/* page must be split */
} FpbPlanKind;

typedef struct FpbInsertPlan
{
	FpbPlanKind kind;
	bool		swap;			/* into a full posting, at *swapped, the last
								 * TID of which goes where else is said */
	FpbPos		swapped;
	FpbPos		pos;			/* where it goes */
	int			split_at;		/* FPB_PLAN_SPLIT_NODE: slots that stay */
	int			tids;			/* FPB_PLAN_GROW: room for so many */
	FpbPos		spill;			/* FPB_PLAN_SPILL: the entry that moves, */
	FpbPos		spill_to;		/* and where to */
	PGAlignedBlock *image;		/* FPB_PLAN_REBUILD: palloc'd new page */
} FpbInsertPlan;

extern void fpb_page_plan_insert(const FpbIndex *ix, Page page,
								 const FpbEntry *entry, FpbInsertPlan *plan);

/* The same for a page of which an image will be logged; may decline. */
extern bool fpb_page_plan_reorganise(const FpbIndex *ix, Page page,
									 const FpbEntry *entry,
									 FpbInsertPlan *plan);

/* in the critical section */
extern void fpb_page_insert(const FpbIndex *ix, Page page,
							const FpbEntry *entry, const FpbInsertPlan *plan,
							FpbWalPage *wp);

/* Replace the whole page by an image of it, in the critical section. */
extern void fpb_page_replace(Page page, const char *image, FpbWalPage *wp);

/*
 * All entries with a new one before *pos (as fpb_page_search finds it), which
 * gets index *newpos (may be NULL); returns how many.
 */
extern int	fpb_page_entries_with(const FpbIndex *ix, Page page,
								  const FpbEntry *entry, const FpbPos *pos,
								  FpbEntry *entries, int *newpos);

/* Delete all entries from *pos on and free their nodes, though not tuples. */
extern void fpb_page_cut(const FpbIndex *ix, Page page, const FpbPos *pos,
						 FpbWalPage *wp);

/* Delete entries, in the critical section. */
extern void fpb_page_delete(const FpbIndex *ix, Page page, const FpbPos *pos,
							int npos, FpbWalPage *wp);

/* Does the page hold no entry? */
extern bool fpb_page_is_empty(const FpbIndex *ix, Page page);

/*
 * Make a page afresh from sorted entries.  low or high NULL: infinite.  In the
 * tuple form, a high fence without a tuple is elided.  page need not be a shared buffer; nothing in entries or fences may point into it.
 * slack: slots in a hundred to leave free if the page has room for that.
 * Returns false if they don't fit (the page is then undefined).
 */
extern bool fpb_page_build(const FpbIndex *ix, Page page, int level, int flags,
						   BlockNumber right, const FpbKey *low,
						   const FpbKey *high, const FpbEntry *entries,
						   int nentries, int slack);

/*
 * Work out the split of a page that gets one more entry, its right half going
 * to block right: make both pages, in the copies that left_page and right_page
 * are of.  in_place: try to leave the left page's entries where they are,
 * which is little to log.
 */
extern void fpb_page_split(const FpbIndex *ix, Page page,
						   const FpbEntry *entry, BlockNumber right,
						   int fillfactor, bool in_place,
						   FpbWalPage *left_page, FpbWalPage *right_page);

/*
 * Replace the high fence and right link; false if the fence doesn't fit.  One
 * without a tuple is elided, and does.
 */
extern bool fpb_page_extend_plan(const FpbIndex *ix, Page page,
								 const FpbKey *high);
extern void fpb_page_extend(const FpbIndex *ix, Page page, const FpbKey *high,
							BlockNumber right, FpbWalPage *wp);

/* killed-entry hints, in the page's hole: see README.md */
extern bool fpb_page_has_killed(const FpbIndex *ix, Page page);
extern bool fpb_page_is_killed(const FpbIndex *ix, Page page, FpbPos pos);
extern bool fpb_page_kill(const FpbIndex *ix, Page page, const FpbPos *pos,
						  int npos);

/*
 * Bulk load: entries are added in order and a page is full when its share of
 * nodes is.  Used by fpb_build.c, which owns block numbers and levels.
 */
typedef struct FpbFiller FpbFiller;
extern FpbFiller *fpb_filler_create(const FpbIndex *ix, int level,
									int fillfactor);

/* Begin a page in memory given by the caller. */
extern void fpb_filler_begin(FpbFiller *filler, Page page, int flags,
							 const FpbKey *low);

/*
 * Add the next entry.  Returns false, without adding it, when the page is as
 * full as it should be: then call fpb_filler_end and begin the next page.
 * Tuples are copied.
 */
extern bool fpb_filler_add(FpbFiller *filler, const FpbEntry *entry);

/* End the page; high is NULL for the last of its level. */
extern void fpb_filler_end(FpbFiller *filler, const FpbKey *high,
						   BlockNumber right);

/* Inner pages, whose separators are given: see fpb_layout_fill.c. */
extern bool fpb_filler_fence_fits(const FpbFiller *filler, const FpbKey *high);
extern void fpb_filler_pop(FpbFiller *filler, FpbEntry *entry);

/* The last entry added, to make the separator from. */
extern const FpbKey *fpb_filler_last(FpbFiller *filler);

/*
 * One page's damage, as text, or NULL (fpb_layout_check.c): of its structure,
 * or the fences' alone, without comparisons; and of its keys.
 */
extern const char *fpb_page_fault(const FpbIndex *ix, Page page);
extern const char *fpb_page_fence_fault(const FpbIndex *ix, Page page);
extern const char *fpb_page_order_fault(const FpbIndex *ix, Page page,
										const FpbEntry *entries, int nentries);

/* ------------------------------------------------------------------------
 * page access, allocation (fpb_page.c); uses layout only for fpb_page_fault
 * ------------------------------------------------------------------------
 */
extern Buffer fpb_getbuf(const FpbIndex *ix, BlockNumber blkno, int access);

/* InvalidBuffer if the page is not of that level */
extern Buffer fpb_getbuf_inner(const FpbIndex *ix, BlockNumber blkno,
							   int level, int access);
extern Buffer fpb_getbuf_right(const FpbIndex *ix, Buffer buf, int access);
extern Buffer fpb_getbuf_recent(const FpbIndex *ix, BlockNumber blkno,
								int access);
extern const char *fpb_header_fault(const FpbIndex *ix, Page page);
extern void fpb_checkpage(const FpbIndex *ix, Buffer buf);
extern void fpb_relbuf(Buffer buf); /* unlock and unpin */
extern Buffer fpb_allocbuf(Relation rel, Relation heap);	/* X-locked, to be
															 * initialised */
extern void fpb_record_free(Relation rel, BlockNumber blkno);
extern void fpb_page_init(Page page, int level, int flags, BlockNumber right);
extern void fpb_meta_init(const FpbIndex *ix, Page page, BlockNumber root,
						  uint32 level);
extern void fpb_report_damage(Relation rel, BlockNumber blkno,
							  const char *fault) __attribute__((noreturn));

/*
 * Assertion builds check what each record has changed (fpb_verify.c).  i: the
 * page's number in the record.
 */
#ifdef USE_ASSERT_CHECKING
extern void fpb_verify_init(void);
extern void fpb_verify_page(const FpbIndex *ix, Page page);
extern void fpb_verify_insert(const FpbIndex *ix, const FpbWal *wal, int i,
							  const FpbEntry *entry);
extern void fpb_verify_delete(const FpbIndex *ix, const FpbWal *wal, int i,
							  const FpbPos *pos, int npos);
extern void fpb_verify_split(const FpbIndex *ix, const FpbWal *wal,
							 const FpbEntry *entry);
extern void fpb_verify_merge(const FpbIndex *ix, const FpbWal *wal,
							 const FpbPos *downlink);
#else
#define fpb_verify_init()								((void) 0)
#define fpb_verify_page(ix, page)						((void) 0)
#define fpb_verify_insert(ix, wal, i, entry)			((void) 0)
#define fpb_verify_delete(ix, wal, i, pos, npos)		((void) 0)
#define fpb_verify_split(ix, wal, entry)				((void) 0)
#define fpb_verify_merge(ix, wal, downlink)				((void) 0)
#endif

/* copies of inner pages (fpb_cache.c) */
extern int	fpb_inner_page_cache;
extern void fpb_cache_init(void);
extern FpbPageCache *fpb_cache_attach(Relation rel);
extern Page fpb_cache_lookup(FpbPageCache *cache, BlockNumber blkno);
extern void fpb_cache_store(const FpbIndex *ix, BlockNumber blkno, Page page);
extern void fpb_cache_drop(FpbPageCache *cache, BlockNumber blkno);
extern BlockNumber fpb_cache_block(FpbPageCache *cache, Page page);
extern Buffer *fpb_cache_recent(FpbPageCache *cache, BlockNumber blkno);

/* ------------------------------------------------------------------------
 * tree: descent, move right, split, page deletion (fpb_tree.c, fpb_split.c)
 * ------------------------------------------------------------------------
 */
typedef struct FpbStack
{
	int			height;			/* levels filled */
	BlockNumber blocks[FPB_MAX_LEVELS]; /* blocks[l]: page passed at level l */
} FpbStack;

/*
 * Descend to the page of the given level that the probe falls into and lock
 * it.  before = false: low <= probe < high; before = true: low < probe <= high
 * (the page that holds what comes before the probe).  With access
 * BUFFER_LOCK_EXCLUSIVE incomplete splits met on the way, on any level, are
 * finished.  stack may be NULL.  Always returns a page.
 */
extern Buffer fpb_descend(FpbIndex *ix, Relation heap, const FpbProbe *probe,
						  int level, bool before, int access, FpbStack *stack);

/* The leftmost (rightmost) page of a level. */
extern Buffer fpb_descend_edge(FpbIndex *ix, int level, bool rightmost,
							   int access);

/*
 * The leaf behind one that is no longer locked, given its right link and *from,
 * a copy of its high fence; locked.  Checks fences and, if the link proves
 * stale, descends afresh.  InvalidBuffer behind the last.  Entries below *from on
 * the leaf returned have been seen already: after a deletion the successor may be
 * one that reaches further left.
 */
extern Buffer fpb_goto_right(FpbIndex *ix, BlockNumber right, int access,
							 FpbProbe *from);

/* Count a step to the right; raises an error if they go round in a circle. */
extern void fpb_count_step(const FpbIndex *ix, Buffer buf, uint32 *steps);

/*
 * Is the page, of the level expected, in the tree and not to the right of the
 * probe's place?
 */
static inline bool
fpb_page_reaches_left(const FpbIndex *ix, Page page, const FpbProbe *probe,
					  int level, bool before)
{
	int			sign;

	if (FpbPageIsDeleted(page) || FpbHdr(page)->level != level)
		return false;
	sign = fpb_compare_low(ix, page, probe);
	return before ? sign < 0 : sign <= 0;
}

/*
 * Is the copy of a page, whose high fence is not elided, that of the one of a level
 * that the probe falls into?
 */
static inline bool
fpb_page_covers(const FpbIndex *ix, Page page, const FpbProbe *probe,
				int level, bool before)
{
	int			sign;

	if (!fpb_page_reaches_left(ix, page, probe, level, before))
		return false;
	sign = fpb_compare_high(ix, page, probe);
	return before ? sign >= 0 : sign > 0;
}

/*
 * The high fence of a locked page that is not the rightmost.  If the page has
 * elided it, it is the low fence of the right sibling, which is returned locked
 * and to be released when the key has been used; else InvalidBuffer.
 */
extern Buffer fpb_lock_high(const FpbIndex *ix, Buffer buf, FpbKey *high);

/* Sign of the high fence of a locked page against a probe, elided or not. */
extern int	fpb_compare_elided(const FpbIndex *ix, Buffer buf,
							   const FpbProbe *probe);

static inline int
fpb_compare_end(const FpbIndex *ix, Buffer buf, const FpbProbe *probe)
{
	Page		page = BufferGetPage(buf);

	if (unlikely(FpbPageHighElided(page)))
		return fpb_compare_elided(ix, buf, probe);
	return fpb_compare_high(ix, page, probe);
}

/* Copy a fence of a locked page into a probe that outlives the lock. */
extern void fpb_fence_probe(const FpbIndex *ix, const FpbKey *fence,
							FpbProbe *probe);

/* The parent of a page being split, locked exclusively; the stack is a hint. */
extern Buffer fpb_find_parent(FpbIndex *ix, Relation heap,
							  const FpbProbe *separator, int level,
							  FpbStack *stack);

/*
 * Insert an entry at its place.  buf is the locked leaf (exclusive) it belongs
 * to; released.  Splits as needed.  unchanged: the row has been updated, its key
 * not.
 */
extern void fpb_insert_entry(FpbIndex *ix, Relation heap, Buffer buf,
							 FpbStack *stack, const FpbEntry *entry,
							 bool unchanged);

/* Leave hints for dead entries on a leaf locked at least share (fpb_hint.c). */
extern void fpb_hint_dead(const FpbIndex *ix, Relation heap, Buffer buf,
						  const FpbPos *pos, int npos);

/* Remove dead entries from a leaf locked exclusively (fpb_prune.c). */
extern bool fpb_prune_killed(const FpbIndex *ix, Relation heap, Buffer buf);
extern bool fpb_prune_versions(const FpbIndex *ix, Relation heap, Buffer buf,
							   bool unchanged);

/*
 * Finish the split of a page locked exclusively; stays locked.  False if the
 * split of its left sibling is to be finished first.
 */
extern bool fpb_finish_split(FpbIndex *ix, Relation heap, Buffer left);

/*
 * Try to take the empty leaf blkno out of the tree (fpb_delete.c).  No lock is
 * held on entry or exit.  Returns a list of the blocks freed, as OIDs: inner
 * pages and other leaves may be among them.
 */
extern List *fpb_delete_empty(FpbIndex *ix, Relation heap, BlockNumber blkno);

/* ------------------------------------------------------------------------
 * write: build, insert, vacuum (fpb_sort.c, fpb_build.c, fpb_build_scan.c,
 * fpb_build_parallel.c, fpb_insert.c, fpb_vacuum.c)
 * ------------------------------------------------------------------------
 */
extern IndexBuildResult *fpb_build(Relation heap, Relation index,
								   IndexInfo *indexInfo);
extern void fpb_buildempty(Relation index);

/*
 * Sort of the entries of a build (fpb_sort.c).  A parallel build has a worker
 * sort (nparticipants = 0) in each participant and one in the leader, which
 * gets what nparticipants of them have sorted; else shared is NULL.
 */
typedef struct FpbSort FpbSort;
typedef struct FpbSortShared FpbSortShared;
extern Size fpb_sort_estimate_shared(const FpbIndex *ix, int nparticipants);
extern void fpb_sort_initialize_shared(const FpbIndex *ix,
									   FpbSortShared *shared,
									   int nparticipants, dsm_segment *seg);
extern void fpb_sort_attach_shared(const FpbIndex *ix, FpbSortShared *shared,
								   dsm_segment *seg);
extern FpbSort *fpb_sort_begin(const FpbIndex *ix, int workMem,
							   double expected, FpbSortShared *shared,
							   int nparticipants);
extern void fpb_sort_put(FpbSort *sort, const FpbKey *key);
extern void fpb_sort_perform(FpbSort *sort);
extern bool fpb_sort_get(FpbSort *sort, FpbKey *key);
extern void fpb_sort_end(FpbSort *sort);

extern bool fpb_insert(Relation index, Datum *values, bool *isnull,
					   ItemPointer tid, Relation heap,
					   IndexUniqueCheck checkUnique, bool indexUnchanged,
					   IndexInfo *indexInfo);
extern IndexBulkDeleteResult *fpb_bulkdelete(IndexVacuumInfo *info,
											 IndexBulkDeleteResult *stats,
											 IndexBulkDeleteCallback callback,
											 void *callback_state);
extern IndexBulkDeleteResult *fpb_vacuumcleanup(IndexVacuumInfo *info,
												IndexBulkDeleteResult *stats);

/* ------------------------------------------------------------------------
 * scan (fpb_scan.c, fpb_scankeys.c, fpb_parallel.c)
 * ------------------------------------------------------------------------
 */
extern IndexScanDesc fpb_beginscan(Relation rel, int nkeys, int norderbys);
extern void fpb_rescan(IndexScanDesc scan, ScanKey keys, int nkeys,
					   ScanKey orderbys, int norderbys);
extern bool fpb_gettuple(IndexScanDesc scan, ScanDirection dir);
extern int64 fpb_getbitmap(IndexScanDesc scan, TIDBitmap *tbm);
extern void fpb_endscan(IndexScanDesc scan);
extern void fpb_markpos(IndexScanDesc scan);
extern void fpb_restrpos(IndexScanDesc scan);
extern Size fpb_estimateparallelscan(FPB_ESTIMATE_PARALLEL_ARGS);
extern void fpb_initparallelscan(void *target);
extern void fpb_parallelrescan(IndexScanDesc scan);

/* ------------------------------------------------------------------------
 * inspect: looking inside an index (fpb_check.c, fpb_check_rows.c, fpb_inspect.c)
 * ------------------------------------------------------------------------
 */
/* Open and lock an fpbtree index, or raise an error if it is something else. */
extern Relation fpb_open_index(Oid relid, LOCKMODE lockmode);

/* May the current user see the keys of an index? */
extern bool fpb_may_read_keys(Relation index);

/* ------------------------------------------------------------------------
 * am: handler, options, planner, cost, validate, operator classes (fpbtree.c,
 * fpb_options.c, fpb_planner.c, fpb_cost.c, fpb_validate.c, fpb_opclass.c)
 * ------------------------------------------------------------------------
 */
#define FPB_MIN_FILLFACTOR		10
#define FPB_DEFAULT_FILLFACTOR	95
#define FPB_INNER_FILLFACTOR	80

#define FPB_AM_NAME		"fpbtree"

/* how entries are laid out in pages */
typedef enum FpbLayout
{
	FPB_DISK_FIRST
} FpbLayout;

typedef struct FpbOptions
{
	int32		vl_len_;		/* varlena header (do not touch directly!) */
	FpbLayout	layout;
	int			fillfactor;		/* slots in a hundred that a build fills */
	int			leaf_lines;		/* 0: chosen by key form */
} FpbOptions;

extern void fpb_options_init(void);
extern bytea *fpb_options(Datum reloptions, bool validate);
extern int	fpb_fillfactor(Relation rel);
extern int	fpb_leaf_lines(Relation rel);
extern void fpb_planner_init(void);
extern bool fpb_validate(Oid opclassoid);
extern void fpb_adjustmembers(Oid opfamilyoid, Oid opclassoid,
							  List *operators, List *functions);
struct PlannerInfo;
struct IndexPath;
extern void fpb_costestimate(struct PlannerInfo *root, struct IndexPath *path,
							 double loop_count, Cost *indexStartupCost,
							 Cost *indexTotalCost, Selectivity *indexSelectivity,
							 double *indexCorrelation, double *indexPages);

/* Support function numbers: btree's own, so that opclasses carry over. */
#define FPB_ORDER_PROC		1
#define FPB_SORTSUPPORT_PROC 2
#define FPB_INRANGE_PROC	3
#define FPB_EQUALIMAGE_PROC	4
#define FPB_OPTIONS_PROC	5
#define FPB_NPROCS			5

#endif							/* FPBTREE_H */
