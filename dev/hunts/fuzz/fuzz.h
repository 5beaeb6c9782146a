/*-------------------------------------------------------------------------
 *
 * fuzz.h
 *	  The page fuzzer: random histories of a page in memory, test builds only.
 *
 * A page is changed through the functions of the layout (page/layout.h), the
 * same is done to a sorted array, the model, and the two are compared.  The
 * history of a page is a list of operations that say all there is to say, so
 * that it can be played again, and made smaller when it shows a fault.
 *
 *	  fuzz_keys.c	  where keys come from; their order, as integers
 *	  fuzz_model.c	  the sorted array
 *	  fuzz_ops.c	  operations on page and model
 *	  fuzz_check.c	  comparing the two
 *	  fuzz_life.c	  choosing operations
 *	  fuzz_shrink.c   playing a history again; the smallest that fails; printing it
 *	  fuzz.c		  the SQL function
 *
 *-------------------------------------------------------------------------
 */
#ifndef FUZZ_H
#define FUZZ_H

#include <setjmp.h>

#include "common/pg_prng.h"
#include "lib/stringinfo.h"

#include "base/open_index.h"
#include "page/disk_first/disk_first.h"
#include "tree/buffers.h"

/*
 * Places.  The order of an index's entries is known once the order of its
 * different keys is: they are numbered in it, from 1 (their ranks), and a
 * leaf's entry lies at the integer rank << 48 | tail.  On an inner page, keys
 * are pivots, no two of them equal, and an entry's place is its rank << 48.
 * So the model needs no comparator.
 */
#define FUZZ_RANK_SHIFT		48
#define FUZZ_MAX_KEYS		20000
#define FUZZ_NO_PLACE		PG_UINT64_MAX	/* behind all */

#define FuzzPlaceRank(place)	((int) ((place) >> FUZZ_RANK_SHIFT))
#define FuzzPlaceTail(place)	((place) & FPB_TAIL_MAX)
#define FuzzRankPlace(rank)		((uint64) (rank) << FUZZ_RANK_SHIFT)

/* one key that entries can have */
typedef struct FuzzKey
{
	FpbKey		key;			/* words: with its tie, without a TID */
	int			rank;
	Size		size;			/* of its tuple */
	uint64		leaf_place;		/* of a pivot: its place among leaf entries */
} FuzzKey;

/* all keys that entries of leaves, or of inner pages, can have */
typedef struct FuzzPool
{
	FuzzKey    *keys;			/* by rank */
	int			nkeys;
	int		   *first;			/* of each rank: its first key; and one more */
	int			nranks;
} FuzzPool;

/* one entry as the model has it */
typedef struct FuzzEntry
{
	uint64		place;
	BlockNumber child;			/* inner pages */
	uint16		key;			/* in the pool, or FUZZ_MINUS_INFINITY */
	bool		killed;			/* may have a killed bit */
} FuzzEntry;

#define FUZZ_MINUS_INFINITY		PG_UINT16_MAX

typedef enum FuzzOpKind
{
	FUZZ_BUILD,					/* the page, from entries; always the first */
	FUZZ_FILL,					/* the same by the bulk loader */
	FUZZ_INSERT,
	FUZZ_DELETE,
	FUZZ_KILL,					/* leave killed bits */
	FUZZ_EXTEND,				/* take over the right sibling's fence */
	FUZZ_NAME					/* name the nodes of a child: the first entry
								 * is its, the others' heads are where its
								 * nodes begin */
} FuzzOpKind;

/*
 * One operation.  Which of the fields are used depends on the kind; entries
 * are those of the history from first on.
 */
typedef struct FuzzOp
{
	uint8		kind;
	bool		full;			/* build: with just as many entries as fit */
	bool		image;			/* insert: reorganise the page if it can be */
	bool		elide;			/* build and extend: elide the high fence */
	bool		split;			/* insert: by a split though there is room */
	FpbHalves	halves;			/* split: how they are made */
	bool		keep_right;		/* split: go on with the right page */
	uint8		percent;		/* build: slack; fill: fillfactor; split: the
								 * aim's fullness */
	int			following;		/* split: entries said to follow the new one */
	int			low;			/* build: fence, a key of the inner pool, or
								 * -1 */
	int			high;			/* build and extend */
	int			first;
	int			nentries;
} FuzzOp;

/* the history of one page */
typedef struct FuzzHistory
{
	int			level;
	int			lines;			/* cache lines of a node */
	int			max_nodes;		/* nodes that the page may have, or 0 */
	int			killed_bits;	/* bytes of killed bits, times what is needed */
	FuzzOp	   *ops;
	int			nops;
	int			max_ops;
	FuzzEntry  *entries;
	int			nentries;
	int			max_entries;
} FuzzHistory;

/* what is counted, so that nothing goes missing */
typedef enum FuzzCount
{
	FUZZ_N_SLOT,				/* FpbPlanKind's, in its order, to FUZZ_N_GROW */
	FUZZ_N_APPEND_NODE,
	FUZZ_N_SPLIT_NODE,
	FUZZ_N_SPILL,
	FUZZ_N_SPREAD,
	FUZZ_N_REPACK,
	FUZZ_N_LOOSE,
	FUZZ_N_PASS,
	FUZZ_N_POSTING,
	FUZZ_N_GROW,
	FUZZ_N_REBUILD,
	FUZZ_N_FULL,
	FUZZ_N_REORGANISE,
	FUZZ_N_PREFIX,				/* a page gets a shorter prefix */
	FUZZ_N_WIDEN,				/* a posting's TIDs get wider */
	FUZZ_N_GROW_AMONG,			/* it goes among the page's tuples */
	FUZZ_N_SWAP,				/* its last TID goes elsewhere */
	FUZZ_N_BEFORE_BOUND,		/* a node appended before one whose bound was
								 * lower than the new entry */
	FUZZ_N_APPEND_RUNS,			/* a runs node for the new entry */
	FUZZ_N_NEW_RUN,				/* a runs node gets the new entry's key, too */
	FUZZ_N_REPACK_SPLIT,		/* a node repacked into two */
	FUZZ_N_REPACK_MANY,			/* several nodes repacked */
	FUZZ_N_PASS_ON,				/* to a new node */
	FUZZ_N_SPLIT_SERIES,		/* a node split, what stays staying in place */
	FUZZ_N_SPLIT_IN_PLACE,
	FUZZ_N_SPLIT_BY_IMAGE,
	FUZZ_N_CUT_EMPTIED,			/* in place, a run without entries staying */
	FUZZ_N_CUT_POSTING,			/* in place, through a posting */
	FUZZ_N_BUILD,
	FUZZ_N_FILL,
	FUZZ_N_DELETE,
	FUZZ_N_EMPTY,				/* a page that has lost its last entry */
	FUZZ_N_KILL,
	FUZZ_N_KILL_POSTING,		/* a posting has got a killed bit */
	FUZZ_N_EXTEND,
	FUZZ_N_MERGE,				/* the same by making the page afresh */
	FUZZ_N_ELIDED,				/* something done to a page without high fence */
	FUZZ_N_NEWLY_ELIDED,		/* it has gone for want of room */
	FUZZ_N_NAME,				/* nodes of a child have been named */
	FUZZ_N_NAMES_KEPT,			/* a page made anew has the old one's names */
	FUZZ_N_FOUND_BY_NAME,		/* a place is in the node named at random */
	FUZZ_N_PLACED_BEHIND,		/* or behind an entry just inserted */
	FUZZ_NCOUNTS
} FuzzCount;

/* a page's fence */
typedef struct FuzzFence
{
	bool		finite;
	uint64		place;			/* 0 or FUZZ_NO_PLACE if it is not */
	FpbKey		key;
	int			inner_key;		/* of an inner page: in the pool */
} FuzzFence;

typedef struct Fuzz
{
	FpbIndex	ix;				/* with the shapes that the history wants */
	const FpbShape *shape;		/* that of the page */
	FuzzPool	leaf;
	FuzzPool	inner;
	FuzzPool   *pool;			/* that of the page */
	int			level;
	Size		max_tuple;		/* larger ones are left out */

	Page		page;			/* between pages that nobody may touch */
	Page		left;			/* where splits make the halves, likewise */
	Page		right;
	Page		standby;		/* what replay has made of it */
	Page		before;			/* for printing: the page before the operation */
	FuzzFence	low;
	FuzzFence	high;
	FuzzEntry  *model;
	int			nmodel;
	FuzzEntry  *split_model;	/* the model while it is split */
	FpbEntry   *found;			/* for reading a page */
	FpbItem    *items;
	FpbPos	   *positions;

	bool		thorough;		/* check everything after each operation */
	int			credit;			/* entries that may be checked */
	int			structure_credit;	/* the same by fpb_page_fault */
	pg_prng_state check_random; /* what to search for */
	BlockNumber next_child;
	const char *doing;			/* what the operation has turned out to be */
	bool		splitting;		/* does it split the page? */
	int			step;			/* which operation of the history */
	int64		counts[FUZZ_NCOUNTS];
	int64		steps;
	int64		lives;

	MemoryContext life_context; /* fences */
	MemoryContext step_context; /* reset now and then */
	sigjmp_buf	failed;			/* where fuzz_fail goes to */
	char		fault[1024];
} Fuzz;

/*
 * Is the page like a disk-first one, so that we may look inside?  Of other
 * layouts we know what every caller does.
 */
static inline bool
fuzz_disk_first(const Fuzz *f)
{
	return f->ix.layout->id != FPB_MICRO_INDEX;
}


/* fuzz_keys.c */
extern void fuzz_load_keys(Fuzz *f, Relation index);
extern uint64 fuzz_leaf_place(const Fuzz *f, const FpbKey *pivot);
extern uint64 fuzz_inner_place(const Fuzz *f, const FpbKey *pivot, int *key);
extern void fuzz_entry_key(const Fuzz *f, const FuzzEntry *entry, FpbKey *key);
extern void fuzz_print_key(const Fuzz *f, StringInfo out, const FpbKey *key,
						   bool pivot);

/* fuzz_model.c */
extern int	fuzz_find(const FuzzEntry *entries, int n, uint64 place);
extern bool fuzz_has(const Fuzz *f, uint64 place);
extern void fuzz_model_insert(Fuzz *f, int at, const FuzzEntry *entry);
extern int	fuzz_sort(FuzzEntry *entries, int n);

/* fuzz_ops.c */
extern void fuzz_begin(Fuzz *f, const FuzzHistory *history);
extern bool fuzz_perform(Fuzz *f, const FuzzHistory *history, const FuzzOp *op);

/* fuzz_check.c */
extern void fuzz_fail(Fuzz *f, const char *format,...) pg_attribute_printf(2, 3) __attribute__((noreturn));
extern void fuzz_check_replay(Fuzz *f, const FpbWalPage *wp, Page page);
extern void fuzz_check_inserted(Fuzz *f, int at, FpbPos behind);
extern void fuzz_check_page(Fuzz *f);
extern void fuzz_check_some(Fuzz *f);
extern int	fuzz_node_number(const Fuzz *f, uint64 head);
extern void fuzz_check_kept(Fuzz *f, Page old, Page new);

/* fuzz_life.c */
extern bool fuzz_live(Fuzz *f, uint64 seed, FuzzHistory *history);

/* fuzz_shrink.c */
extern bool fuzz_protect(Fuzz *f, bool (*run) (Fuzz *f, void *arg), void *arg);
extern char *fuzz_explain(Fuzz *f, FuzzHistory *history);

#endif							/* FUZZ_H */
