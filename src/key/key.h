/*-------------------------------------------------------------------------
 *
 * key/key.h
 *	  Keys: words and tuples, search keys, comparison, pivots.
 *
 *-------------------------------------------------------------------------
 */
#ifndef FPB_KEY_KEY_H
#define FPB_KEY_KEY_H

#include "access/itup.h"
#include "access/nbtree.h"
#include "access/skey.h"
#include "fmgr.h"
#include "utils/rel.h"

#include "base/page_copies.h"
#include "base/page_header.h"
#include "key/value_fault.h"

/*
 * Word forms: all key columns together are an order-preserving integer of 32,
 * 64 or 128 bits, and four "tie" bits, which tell a NULL (or -0.0) from the
 * value whose word it shares.
 *
 * Tuple form: an IndexTuple behind a head, an integer that is weakly monotone
 * in the key.  Where heads are equal, the opclass comparators decide.
 *
 * The total order is (key, TID).  What follows the words in that order is an
 * entry's tail, the integer tie << 44 | block << 12 | offset.
 */
#define FPB_TAIL_OFFSET_BITS	12
#define FPB_TAIL_MAX_OFFSET		((1 << FPB_TAIL_OFFSET_BITS) - 1)
#define FPB_TAIL_TIE_SHIFT		44
#define FPB_TAIL_TID_MASK		((UINT64CONST(1) << FPB_TAIL_TIE_SHIFT) - 1)
#define FPB_TAIL_TIE_BITS		4
#define FPB_TAIL_MIN			UINT64CONST(0)
#define FPB_TAIL_MAX			((UINT64CONST(1) << 48) - 1)

static inline uint64
fpb_tail_pack(uint32 tie, ItemPointer tid)
{
	return ((uint64) tie << FPB_TAIL_TIE_SHIFT) |
		((uint64) ItemPointerGetBlockNumberNoCheck(tid) << FPB_TAIL_OFFSET_BITS) |
		ItemPointerGetOffsetNumberNoCheck(tid);
}

/*
 * The TID of a tail.  This is ItemPointerSet, but that the block number's
 * halves are written in one go.
 */
static inline void
fpb_tail_tid(uint64 tail, ItemPointer tid)
{
	uint32		block = (uint32) (tail >> FPB_TAIL_OFFSET_BITS);

#ifndef WORDS_BIGENDIAN
	block = block >> 16 | block << 16;
#endif
	memcpy(&tid->ip_blkid, &block, sizeof(block));
	tid->ip_posid = (OffsetNumber) (tail & FPB_TAIL_MAX_OFFSET);
}

static inline uint32
fpb_tail_tie(uint64 tail)
{
	return (uint32) (tail >> FPB_TAIL_TIE_SHIFT);
}

/*
 * One key with its TID, unpacked.  In the tuple form, tuple is the entry and
 * tail its TID.  tuple may point into a page.
 *
 * A pivot is a key whose TID and trailing columns may be truncated, which
 * stands for minus infinity there.  A truncated TID is 0 in the tail.
 *
 * An entry's tuple may lack its page's prefix, or its first column
 * (key/prefix.c): then it is *cut*.  The functions here take a cut key for the
 * whole one.  The page must live as long as the key.
 */
typedef struct FpbKey
{
	uint64		head;			/* word (or its upper half), or head: that in
								 * cut_in if there is one, or the whole one
								 * (fpb_key_head) */
	union
	{
		uint64		low;		/* lower half of a 128-bit word, else 0 */
		Page		cut_in;		/* tuple form: the leaf whose tuples may be
								 * cut that this one is in, or NULL */
	};
	uint64		tail;			/* tie bits and TID */
	IndexTuple	tuple;			/* tuple form only, else NULL */
} FpbKey;

/* A key and what it points to: leaf entries have an invalid child. */
typedef struct FpbEntry
{
	FpbKey		key;
	BlockNumber child;			/* inner pages: the downlink */
} FpbEntry;

/* columns that a word can be made of */
#define FPB_MAX_WORD_COLUMNS	4

/* what key/code.c knows of a column whose values are words */
typedef struct FpbWordType FpbWordType;

/*
 * What the head of a tuple is made of.  Part of the on-disk format: the same
 * column must give the same heads in every release.
 */
typedef enum FpbHeadKind
{
	FPB_HEAD_NONE,				/* no order-preserving prefix: all heads are 0 */
	FPB_HEAD_WORD,				/* the code of the first column; perhaps with
								 * the second column behind (ix->second) */
	FPB_HEAD_PAIR,				/* the code of the first column, and half of
								 * the head of the second */
	FPB_HEAD_UUID,				/* first half of the code of a uuid, likewise */
	FPB_HEAD_BYTES,				/* first bytes of a varlena; perhaps, of a
								 * text, with the second column behind
								 * (ix->second) */
	FPB_HEAD_BPCHAR,			/* the same without trailing blanks */
	FPB_HEAD_CSTRING,			/* first bytes of a name */
	FPB_HEAD_NUMERIC,			/* see key/value_head.c */
	FPB_HEAD_INET,
	FPB_HEAD_INTERVAL,
	FPB_HEAD_TIMETZ,
	FPB_HEAD_SORT_KEY,			/* first bytes of what ICU sorts a varlena by */
	FPB_HEAD_BPCHAR_SORT_KEY	/* the same without trailing blanks */
} FpbHeadKind;

/*
 * Has an index strings in a locale of the C library that is named C.*, as
 * C.UTF-8, and how are they ordered?  (key/collation.c)
 */
typedef enum FpbCLocale
{
	FPB_C_LOCALE_NONE,			/* it has none */
	FPB_C_LOCALE_BYTES,			/* by their bytes */
	FPB_C_LOCALE_RULES			/* by rules of the locale; or one column by
								 * these, and another by bytes */
} FpbCLocale;

/* One column.  Of INCLUDE columns only what reading them needs is set. */
typedef struct FpbColumn
{
	const FpbWordType *word;	/* its word type, or NULL */
	FmgrInfo   *cmp;			/* the opclass's own comparator */
	Oid			collation;
	bool		desc;
	bool		nulls_first;	/* as stored, after DESC */
	uint8		head;			/* FpbHeadKind, of the columns that the
								 * index's head is made of */
	uint8		width;			/* bits of the field that holds its code; 0 if
								 * it has no word type */
	bool		by_value;		/* as pg_attribute has it */
	uint8		align;			/* bytes */
	int16		length;			/* as pg_attribute has it */
	uint8		plain_from;		/* a varlena with a short header and at least
								 * this length, header included, has nothing
								 * inside to be checked */
	FpbInside	inside;			/* what is checked */
} FpbColumn;

/* what all columns of a tuple but the first are */
typedef enum FpbRest
{
	FPB_REST_ANY,
	FPB_REST_FIXED,				/* of fixed length, with nothing inside to be
								 * checked, none with more alignment than the
								 * second column; or there are none */
	FPB_REST_SHORT				/* one varlena; it may have a short header */
} FpbRest;

/* do the bytes of keys go on into the second column?  (key/key_bytes.c) */
typedef enum FpbSecond
{
	FPB_SECOND_NONE,
	FPB_SECOND_NUMBER,			/* a number */
	FPB_SECOND_TEXT,			/* an ascending text */
	FPB_SECOND_UUID
} FpbSecond;

/* guesses of the order of strings that have no heads (key/guess.c) */
typedef enum FpbGuesses
{
	FPB_GUESSES_NONE,			/* there are none */
	FPB_GUESSES_LETTERS,		/* by letters and digits alone */
	FPB_GUESSES_ALL				/* by all characters */
} FpbGuesses;

/* bytes of FPB_REST_FIXED, at most */
#define FPB_REST_MOST	64

/*
 * All that is to be known of an index to work on its pages.  Copied from
 * rd_amcache by whoever works with it, as an invalidation may free that at any
 * time.
 */
typedef struct FpbIndex
{
	Relation	rel;
	FpbForm		form;
	uint8		head_width;
	bool		byte_heads;		/* are heads the first bytes of the first
								 * column, or of its code or sort key? */
	bool		byte_order;		/* and do such bytes alone decide? */
	uint8		second;			/* FpbSecond */
	uint8		c_locale;		/* FpbCLocale; as the metapage has noted it
								 * when the index was built */
	bool		old_heads;		/* Were heads of its pages made by another
								 * version of the collation?  Then heads of
								 * keys in a page tell their order, but those
								 * of other keys tell nothing. */
	bool		mixed_heads;	/* Has a new entry borrowed such a head?  Then
								 * they stay old until the index is built
								 * again. */
	uint32		heads_version;	/* what makes heads: FPB_HEADS_FIXED, or
								 * fpb_collation_version */
	uint8		guesses;		/* FpbGuesses */
	uint8		first_size;		/* bytes of the first column's code, if its
								 * values can be made of that again; cut
								 * tuples lack them.  Else 0. */
	bool		last_bytes;		/* do cut tuples have the last bytes of the
								 * key, instead of its two columns? */
	bool		one_key;		/* may duplicates share one key? */
	bool		csb;			/* disk_first: do a page's nodes lie in the
								 * order of their keys? */
	bool		prefetch;		/* are nodes prefetched? */
	uint8		count_most;		/* how many heads are counted, not bisected */
	bool		word_runs;		/* may nodes of words have the key of
								 * duplicates once?  (set by the layout) */
	uint16		max_posting;	/* bytes that a posting tuple may take; 0:
								 * there are none (set by the layout) */
	uint16		cut_most;		/* bytes that a tuple may have, whole, to be
								 * cut in leaves; 0: none is (set by the
								 * layout) */
	uint8		tuple_align;	/* bytes, of tuples with a column that needs
								 * more than 2; fpb_tuple_align */
	uint8		rest;			/* FpbRest; FPB_REST_FIXED: */
	uint8		rest_size;		/* bytes from the second column on */
	int			nkeyatts;
	int			natts;
	bool		may_queue;		/* may it have an operation queue? */
	uint8		tree;			/* the tree worked on: FPB_MAIN_TREE, or a
								 * tier of the queue */
	BlockNumber root;			/* that tree's, cached from the metapage; may
								 * be stale */
	uint32		level;
	BlockNumber tier_roots[FPB_TIERS];	/* the queue's, likewise;
										 * FPB_METAPAGE: there is no such tier */
	uint8		tier_levels[FPB_TIERS];
	FpbPageCache *cache;
	BlockNumber copied_from;	/* of what lies in no page, for errors: the
								 * page it is a copy of */

	/* set by the layout: see page/layout.h */
	const struct FpbLayoutRoutine *layout;
	uint16		max_tuple;		/* bytes of the longest tuple */
	uint16		prefetch_front; /* bytes that a search looks at of any page,
								 * from its beginning on */
	uint16		prefetch_back;	/* and before its end */
	uint16		nodes_off;		/* cache_first: where nodes begin in leaves, */
	uint16		node_size;		/* and their size */
	uint64		shapes[10];		/* the layout's own */

	FpbColumn	cols[INDEX_MAX_KEYS];
} FpbIndex;

static inline bool
fpb_is_word(const FpbIndex *ix)
{
	return ix->form != FPB_TUPLE;
}

/* Are heads the first bytes of sort keys? */
static inline bool
fpb_has_sort_keys(const FpbIndex *ix)
{
	return ix->byte_heads && !ix->byte_order;
}

/* what fpb_index_open derives from the relcache alone (key/describe.c) */
extern void fpb_index_describe(FpbIndex *ix, Relation rel);

/*
 * Describe the strings of an index that has some in a locale named C.* anew,
 * if they are not ordered as has been thought.  Reads catalogs, so the caller
 * holds no buffer lock.
 */
extern void fpb_index_set_c_locale(FpbIndex *ix, FpbCLocale c_locale);

/* of an index so described: are equal keys always the same value? */
extern bool fpb_opclasses_say_equal_image(const FpbIndex *ix);
extern bool fpb_has_loose_blanks(const FpbIndex *ix);
extern bool fpb_may_share_keys(const FpbIndex *ix);

/* a column of a search key, below */
typedef struct FpbSearchColumn
{
	Datum		value;
	bool		isnull;
	FmgrInfo   *cmp;			/* comparator (column type, value's type) */
} FpbSearchColumn;

/*
 * A search key: the place in the order of keys that a search looks for.
 *
 * Word forms: the place of (head, low, tail).
 *
 * Tuple form: if the search key has fewer columns than keys have, entries that
 * are equal to it in these lie on the side that on_equal tells.  If it has all
 * key columns, its tail decides.
 */
#define FPB_SEARCH_BYTES	48

typedef struct FpbSearchKey
{
	uint64		head;			/* tuple form: see fpb_head_of */
	uint64		low;
	uint64		tail;
	bool		has_head;		/* tuple form: may heads be compared? */
	int			ncols;			/* tuple form: columns below */
	int			on_equal;		/* tuple form, ncols < nkeyatts: +1 if equal
								 * entries lie after the search key, -1 if
								 * before */
	uint16		named_node;		/* cache_first: 1 + the number of the leaf's
								 * node that level 1 has named, in which the
								 * place may be; 0: unknown */
	uint8		nbytes;			/* tuple form, has_head, code in front: how
								 * many bytes the key has, no more than are
								 * below, or 0 if the code is NULL; */
	char		bytes[FPB_SEARCH_BYTES];	/* and these, zeros behind them */
	FpbSearchColumn cols[INDEX_MAX_KEYS];
} FpbSearchKey;

/* Make the key of a row.  Tuple form: allocates the tuple. */
extern void fpb_key_form(const FpbIndex *ix, Datum *values, bool *isnull,
						 ItemPointer tid, FpbKey *key);

/* no longer tuple is cut; and memory for one, whole or cut */
#define FPB_CUT_MOST	1024

typedef union FpbTupleSpace
{
	IndexTupleData header;
	double		align;
	int64		align_int64;
	char		data[FPB_CUT_MOST];
} FpbTupleSpace;

/*
 * The values of the first columns of a tuple, and of all columns of a leaf's
 * entry.  By-reference ones of a tuple point into it, or into *space; those of
 * words are palloc'd.
 */
extern void fpb_tuple_datums(const FpbIndex *ix, IndexTuple tuple, int ncolumns,
							 Datum *values, bool *isnull);
extern void fpb_key_datums(const FpbIndex *ix, const FpbKey *key, FpbTupleSpace *space,
						   Datum *values, bool *isnull);

/* Is a key column of a leaf's entry NULL? */
extern bool fpb_key_has_null(const FpbIndex *ix, const FpbKey *key);

/* Set the bytes of a search key whose has_head is set. */
extern void fpb_search_key_set_bytes(const FpbIndex *ix, FpbSearchKey *search);

/* Make the search key of exactly this key, TID included.  Tuple form: points
 * into key's tuple, or to a palloc'd one if that is cut. */
extern void fpb_search_key_from(const FpbIndex *ix, const FpbKey *key,
								FpbSearchKey *search);

/*
 * Places as keys, so that they can be kept: an entry's, a fence, or any search
 * key whose values are of the columns' own types.  In the tuple form a place
 * after all keys that begin with its columns is a pivot with the tail
 * FPB_TAIL_MAX.
 *
 * The first is false if there is no key for that; else key->tuple is palloc'd.
 */
extern bool fpb_place_form(const FpbIndex *ix, const FpbSearchKey *search, FpbKey *key);
extern void fpb_place_search_key(const FpbIndex *ix, const FpbKey *key,
								 FpbSearchKey *search);
extern int	fpb_compare_places(const FpbIndex *ix, const FpbKey *a, const FpbKey *b);

/*
 * Do comparisons of the index's keys with each other, or with the search key,
 * run only code of the server's own, which uses no fpbtree index?
 */
extern bool fpb_index_is_simple(const FpbIndex *ix);
extern bool fpb_search_key_is_simple(const FpbIndex *ix, const FpbSearchKey *search);

/*
 * sign(key - search key); key may be a pivot.  The second takes the search
 * key's head in the page that the key, with its head there, has been read of.
 */
extern int	fpb_compare(const FpbIndex *ix, const FpbKey *key,
						const FpbSearchKey *search);
extern int	fpb_compare_by_head(const FpbIndex *ix, const FpbKey *key,
								const FpbSearchKey *search, uint64 head);

/* the same in two steps, where keys have no heads */
#define FPB_NOT_TOLD	2		/* is no sign */

extern int	fpb_compare_plain_columns(const FpbIndex *ix, IndexTuple tuple,
									  const FpbSearchKey *search);
extern int	fpb_compare_from_second(const FpbIndex *ix, const FpbKey *key,
									const FpbSearchKey *search);

/* sign(a - b) of whole entries or pivots, TIDs included */
extern int	fpb_compare_keys(const FpbIndex *ix, const FpbKey *a,
							 const FpbKey *b);
extern bool fpb_comparators_agree(const FpbIndex *ix, const FpbKey *a, const FpbKey *b);

/* Are all key columns of a and b equal to the opclasses? */
extern bool fpb_keys_equal(const FpbIndex *ix, const FpbKey *a,
						   const FpbKey *b);

/*
 * Are they equal in the first key column?  A guess: a NULL may pass for a
 * value.
 */
extern bool fpb_keys_share_prefix(const FpbIndex *ix, const FpbKey *a,
								  const FpbKey *b);

extern bool fpb_tuples_identical(const FpbIndex *ix, IndexTuple a,
								 IndexTuple b);

/*
 * Copy the bytes of a tuple.  Where the compiler sees that a tuple is short,
 * it copies by a string instruction of the processor, which takes longer to
 * begin than most tuples to copy.  So this is a call.
 */
extern void fpb_copy_bytes(void *to, const void *from, Size size);

extern bool fpb_cut_keys_identical(const FpbIndex *ix, const FpbKey *a, const FpbKey *b);

/*
 * Are the keys of a and b the same columns, and the same bytes, so that one
 * copy serves both?  Either may be a pivot.  TIDs are of no account.
 */
static inline bool
fpb_keys_identical(const FpbIndex *ix, const FpbKey *a, const FpbKey *b)
{
	/* of a word, the tie is with the TID */
	if (fpb_is_word(ix))
		return a->head == b->head && a->low == b->low;
	if (unlikely(a->cut_in != b->cut_in))
		return fpb_cut_keys_identical(ix, a, b);
	return a->head == b->head && fpb_tuples_identical(ix, a->tuple, b->tuple);
}

/*
 * Make the shortest pivot p with left < p <= right, the low fence of the leaf
 * that begins with right.  Tuple form: allocates p->tuple, which takes no more
 * room than left's.
 */
extern void fpb_key_separator(const FpbIndex *ix, const FpbKey *left,
							  const FpbKey *right, FpbKey *pivot);

/*
 * Where a tuple may begin in a page, and the room it takes there.  The
 * reserved bit says that a column of it relies on its alignment.  Then the
 * tuple is aligned as the index's widest column needs it.
 */
static inline Size
fpb_tuple_align(const FpbIndex *ix, IndexTuple tuple)
{
	return (tuple->t_info & INDEX_AM_RESERVED_BIT) ? ix->tuple_align : sizeof(uint16);
}

/*
 * Postings.  In leaves of the tuple form, entries with one key may share its
 * tuple.  Their TIDs follow it, in order, with gaps among them as in a node.
 * The size in t_info is that of the key alone, so code that reads columns sees
 * the tuple of an entry.  t_tid has the number of TIDs that there is room for,
 * and a bit that no TID's offset number has.  Its block number is how many
 * bytes each TID has.
 */
#define FPB_TAIL_BYTES		6	/* of a stored TID, with tie bits, */
#define FPB_SHORT_TAIL		4	/* and the least where TIDs may be shorter */
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

/* (of a damaged page, too) */
static inline int
fpb_posting_width(IndexTuple posting)
{
	BlockNumber width = ItemPointerGetBlockNumberNoCheck(&posting->t_tid);

	return Min(Max(width, FPB_SHORT_TAIL), FPB_TAIL_BYTES);
}

static inline void
fpb_posting_set(IndexTuple posting, int slots, int width)
{
	ItemPointerSet(&posting->t_tid, width, FPB_POSTING_BIT | slots);
}

/* Where TIDs begin behind a tuple. */
static inline Size
fpb_posting_start(IndexTuple tuple)
{
	return TYPEALIGN(sizeof(uint16), IndexTupleSize(tuple));
}

/*
 * Bytes of a tuple with so many TIDs of so many bytes behind it, and the room
 * it takes in a page.  A tuple of one entry has no TID behind it, but the
 * least length, so that two such tuples never take less room than a posting of
 * both.
 */
#define FPB_LEAST_TUPLE		(2 * FPB_TAIL_BYTES)

static inline Size
fpb_posting_size(IndexTuple tuple, int tids, int width)
{
	if (tids <= 1)
		return Max(IndexTupleSize(tuple), FPB_LEAST_TUPLE);
	return fpb_posting_start(tuple) + tids * width;
}

static inline Size
fpb_posting_space(const FpbIndex *ix, IndexTuple tuple, int tids, int width)
{
	return TYPEALIGN(fpb_tuple_align(ix, tuple), fpb_posting_size(tuple, tids, width));
}

/* The same of a plain tuple, or a pivot, and of either in a leaf. */
static inline Size
fpb_tuple_size(IndexTuple tuple)
{
	return fpb_posting_size(tuple, 1, 0);
}

static inline Size
fpb_leaf_tuple_size(IndexTuple tuple)
{
	return fpb_is_posting(tuple) ?
		fpb_posting_size(tuple, fpb_posting_slots(tuple), fpb_posting_width(tuple)) :
		fpb_tuple_size(tuple);
}

static inline Size
fpb_tuple_space(const FpbIndex *ix, IndexTuple tuple)
{
	return fpb_posting_space(ix, tuple, 1, 0);
}

/*
 * Number of key columns that a pivot has.  A pivot without TID has an invalid
 * offset number, and the number of its columns for a block number.  Any other
 * tuple has all key columns.
 */
static inline int
fpb_pivot_natts(const FpbIndex *ix, IndexTuple pivot)
{
	BlockNumber natts;

	if (likely(ItemPointerGetOffsetNumberNoCheck(&pivot->t_tid) != InvalidOffsetNumber))
		return ix->nkeyatts;
	natts = ItemPointerGetBlockNumberNoCheck(&pivot->t_tid);
	return Min(natts, (BlockNumber) ix->nkeyatts);
}

/*
 * Is there a tuple at this offset whose columns end within the page?
 */
static inline bool
fpb_tuple_columns_valid(Page page, uint32 offset)
{
	Size		size;

	if (offset < FpbHdr(page)->pd.pd_upper ||
		offset > BLCKSZ - sizeof(IndexTupleData) || (offset & 1) != 0)
		return false;
	size = IndexTupleSize((IndexTuple) ((char *) page + offset));
	return size >= sizeof(IndexTupleData) && offset + size <= BLCKSZ;
}

/*
 * Is there a whole tuple at this offset?
 */
static inline bool
fpb_tuple_offset_valid(Page page, uint32 offset)
{
	IndexTuple	tuple;
	Size		size;

	if (offset < FpbHdr(page)->pd.pd_upper ||
		offset > BLCKSZ - sizeof(IndexTupleData) || (offset & 1) != 0)
		return false;
	tuple = (IndexTuple) ((char *) page + offset);
	size = IndexTupleSize(tuple);
	if (size >= sizeof(IndexTupleData) && fpb_is_posting(tuple))
		size = fpb_leaf_tuple_size(tuple);
	return size >= sizeof(IndexTupleData) && offset + size <= BLCKSZ;
}

/*
 * Is a tuple, at an even offset, aligned as its columns need it?
 */
static inline bool
fpb_tuple_is_aligned(const FpbIndex *ix, IndexTuple tuple, uint32 offset)
{
	return (offset & (fpb_tuple_align(ix, tuple) - 1)) == 0;
}

/* bytes of the longest tuple that btree takes at this block size */
#define FPB_MAX_TUPLE_SIZE \
	(MAXALIGN_DOWN((BLCKSZ - \
					MAXALIGN(SizeOfPageHeaderData + 3 * sizeof(ItemIdData)) - \
					MAXALIGN(sizeof(BTPageOpaqueData))) / 3) - \
	 MAXALIGN(sizeof(ItemPointerData)))

/* Raise the error for a row too long for a page (btree's own wording). */
extern void fpb_check_key_size(const FpbIndex *ix, Relation heap,
							   const FpbKey *key);

/*
 * Make the search key of one end of the entries whose key columns equal those
 * of key, to the opclasses.  The first of them is the first entry >= the lower
 * end (upper = false), and they are the entries < the upper one.  Tuple form:
 * points into key's tuple.
 */
extern void fpb_search_keys_equal(const FpbIndex *ix, const FpbKey *key, bool upper,
								  FpbSearchKey *search);

/* The pivot that lies before every key.  Tuple form: allocates its tuple. */
extern void fpb_key_minus_infinity(const FpbIndex *ix, FpbKey *key);

/*
 * Tuple form: the head of a search key with these ncols columns, which is that
 * of the smallest (upper: the largest) key that begins with them.  upper must
 * be true if on_equal is -1 and false if it is 1.  It makes no difference if
 * ncols is nkeyatts.  If a value that the head depends on (fpb_head_columns)
 * is not of the opclass's own type, the search key can't have a head.  Returns
 * false if heads say nothing in this index, or of this key: a text with a byte
 * of zero.
 */
extern bool fpb_head_of(const FpbIndex *ix, const Datum *values,
						const bool *isnull, int ncols, bool upper,
						uint64 *head);

/* How many leading columns' values does the head of a key depend on? */
#define FPB_HEAD_COLUMNS	2	/* at most */
extern int	fpb_head_columns(const FpbIndex *ix);

/*
 * The head of another column's value, as if it came first: weakly monotone in
 * the order of the column.  It has one if its head is not FPB_HEAD_NONE, which
 * is to be chosen before.
 */
extern void fpb_choose_column_head(FpbIndex *ix, int column);
extern uint64 fpb_column_head(const FpbColumn *col, Datum value, bool isnull);

/* what a tuple is to be */
typedef enum FpbTupleKind
{
	FPB_TUPLE_PIVOT,
	FPB_TUPLE_STORED,			/* of a leaf's entry, perhaps cut */
	FPB_TUPLE_WHOLE				/* the same, not cut */
} FpbTupleKind;

/*
 * The fault in the structure of a tuple that has avail bytes to lie in, or
 * NULL: everything that reading its columns relies on.
 */
extern const char *fpb_tuple_fault(const FpbIndex *ix, IndexTuple tuple,
								   Size avail, FpbTupleKind kind);

/* The same of a tuple in a btree's leaf, whose key takes so many bytes. */
extern const char *fpb_btree_tuple_fault(const FpbIndex *ix, IndexTuple tuple,
										 Size size);

/* types whose values are words (key/code.c) */
extern const FpbWordType *fpb_word_type(Oid cmp_proc, Oid type);
extern int	fpb_word_bits(const FpbWordType *type);
extern bool fpb_word_is_code(const FpbWordType *type);

/* Is the column stored as its word type takes it? */
extern bool fpb_word_fits(const FpbWordType *type, Form_pg_attribute att);

/* words: the head, low and tail of a key, and back (key/word.c) */
extern void fpb_word_form(const FpbIndex *ix, const Datum *values,
						  const bool *isnull, ItemPointer tid, FpbKey *key);

/* Is a word its column's own integer but for the bits in *flip? */
extern bool fpb_word_is_plain(const FpbIndex *ix, uint64 *flip, uint64 *shared);
extern void fpb_word_datums(const FpbIndex *ix, const FpbKey *key,
							Datum *values, bool *isnull);

/* values for a fence, whose word may be no key's, to be compared or shown */
extern void fpb_word_fence_datums(const FpbIndex *ix, const FpbKey *key,
								  bool shown, Datum *values, bool *isnull);
extern bool fpb_word_has_null(const FpbIndex *ix, const FpbKey *key);
extern bool fpb_word_equal(const FpbIndex *ix, const FpbKey *a,
						   const FpbKey *b);
extern void fpb_word_search_keys_equal(const FpbIndex *ix, const FpbKey *key,
									   bool upper, FpbSearchKey *search);

/* The code (of a uuid, its upper half) of one column, for heads. */
extern uint64 fpb_word_code(const FpbColumn *col, Datum value, bool isnull);

/* Is this the code that NULL shares with a value? */
extern bool fpb_word_is_shared(const FpbColumn *col, uint64 code);

/*
 * Bounds of a scan in a word index (key/bound.c): one end of a range of a
 * column's codes.  fpb_word_search_key makes the search key of those of the
 * leading columns.
 */
typedef struct FpbColumnBound
{
	uint64		code;			/* the column's code */
	uint64		low;			/* uuid: lower half */
	uint8		tie;			/* smallest (lower end) or largest tie bit */
	bool		isnull;
} FpbColumnBound;

/*
 * The lower or upper bound of a column by "column op value".  Returns false if
 * no value of the column satisfies the condition.
 */
extern bool fpb_word_column_bound(const FpbColumn *col, Datum value,
								  Oid value_type, FmgrInfo *cmp,
								  StrategyNumber strategy, bool upper,
								  FpbColumnBound *bound);

/* Does that call no comparator? */
extern bool fpb_word_bound_is_cheap(const FpbColumn *col, Datum value,
									Oid value_type, FmgrInfo *cmp);

/* Both bounds of a column by "column = value", likewise. */
extern bool fpb_word_equal_bounds(const FpbColumn *col, Datum value,
								  Oid value_type, FmgrInfo *cmp,
								  FpbColumnBound *lower, FpbColumnBound *upper);

/* The lower or upper bound of the column's NULLs, or of its other values. */
extern void fpb_word_null_bound(const FpbColumn *col, bool null, bool upper,
								FpbColumnBound *bound);

/*
 * The search key of the lower or upper end of the key range in which the first
 * ncols columns are at bounds[].
 */
extern void fpb_word_search_key(const FpbIndex *ix, const FpbColumnBound *bounds,
								int ncols, bool upper, FpbSearchKey *search);

/*
 * Tuple indexes: is cmp the server's own comparator of a column's integers
 * with those of another type?  And such an integer as one of the column's own;
 * false if the column's type has none.
 */
extern bool fpb_compares_integers(const FpbColumn *col, FmgrInfo *cmp);
extern bool fpb_own_integer(const FpbColumn *col, Datum value, FmgrInfo *cmp,
							Datum *own);

/* numbers of support functions: btree's, so that opclasses carry over */
#define FPB_ORDER_PROC		1
#define FPB_SORTSUPPORT_PROC 2
#define FPB_INRANGE_PROC	3
#define FPB_EQUALIMAGE_PROC	4
#define FPB_OPTIONS_PROC	5
#define FPB_NPROCS			5

#endif							/* FPB_KEY_KEY_H */
