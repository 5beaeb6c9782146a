/*-------------------------------------------------------------------------
 *
 * page/layout.h
 *	  The interface of a layout: one page as a searchable set of entries.
 *
 * A layout says how the entries of a page lie in it.  The code above sees the
 * functions declared here and no more.  Of what lies between a page's header
 * and its end it looks only at tuples and fences (page/fence.h).  The metapage
 * says which layout an index has; fpb_index_open finds the layout's routines.
 *
 * Locks: a page that a function takes is locked by the caller, share or
 * exclusively if it is only read, exclusively if a change of it is planned or
 * made; or it is the caller's own memory.  fpb_header_fault has checked its
 * header.
 *
 * Errors: a function that reads a page raises ERRCODE_INDEX_CORRUPTED if it
 * comes upon damage, and whatever a comparator raises; it leaves nothing
 * behind.  A function for a critical section raises nothing.
 *
 *-------------------------------------------------------------------------
 */
#ifndef FPB_PAGE_LAYOUT_H
#define FPB_PAGE_LAYOUT_H

#include "base/options.h"
#include "base/wal.h"
#include "page/fence.h"

/* ------------------------------------------------------------------------
 * positions
 * ------------------------------------------------------------------------
 *
 * A position is a place in a page: that of an entry, or one between entries.
 * Callers know three things of the number: positions are in the order of the
 * entries; the position behind an entry is the next number; FPB_POS_FIRST is
 * before all entries, and FPB_POS_END behind them.  The rest is the layout's
 * business.
 *
 * A position is good until the page is changed.  After that it may be used
 * still, but another entry may be there, or none.
 */
typedef struct FpbPos
{
	uint64		number;
} FpbPos;

#define FPB_POS_FIRST	((FpbPos) {0})
#define FPB_POS_END		((FpbPos) {PG_UINT64_MAX})

static inline bool
fpb_pos_equal(FpbPos a, FpbPos b)
{
	return a.number == b.number;
}

static inline bool
fpb_pos_before(FpbPos a, FpbPos b)
{
	return a.number < b.number;
}

/* The position behind an entry's. */
static inline FpbPos
fpb_pos_behind(FpbPos pos)
{
	pos.number++;
	return pos;
}

/* ------------------------------------------------------------------------
 * what is exchanged
 * ------------------------------------------------------------------------
 */

/* no page holds this many entries, with tails as short as can be */
#define FPB_MAX_PAGE_ENTRIES	(BLCKSZ / FPB_SHORT_TAIL)

/* one leaf entry as a scan or VACUUM reads it */
typedef struct FpbItem
{
	FpbKey		key;			/* tuple: points into the page */
	FpbPos		pos;
} FpbItem;

/*
 * What an insertion will do to a page, planned outside the critical section so
 * that doing it can't fail.
 */
typedef enum FpbPlanOutcome
{
	FPB_PLAN_FITS,				/* it changes a part of the page */
	FPB_PLAN_REBUILD,			/* the page is made afresh */
	FPB_PLAN_FULL				/* it can't be: the page must be split */
} FpbPlanOutcome;

typedef struct FpbInsertPlan
{
	FpbPlanOutcome outcome;
	bool		takes_room;		/* FPB_PLAN_FITS: into room that the page has
								 * left for other keys, such as a free node */
	uint64		head;			/* the entry's in this page */
	bool		cut;			/* is its tuple, as it is stored there, in
								 * space? */
	FpbTupleSpace space;
	PGAlignedBlock *image;		/* FPB_PLAN_REBUILD: the new page, palloc'd;
								 * else NULL */
	uint64		details[8];		/* the layout's */
} FpbInsertPlan;

/*
 * What a page that is made afresh is to be.  Fences: NULL stands for infinity,
 * and a high one without tuple, in the tuple form, is elided.  The entries are
 * in order, and nothing points into the memory that the page is made in.
 *
 * Callers give entries their whole heads, and set neither prefix nor what is
 * behind it.  A layout gets them with their heads in the page, and their
 * tuples as they are to be stored (fpb_choose_prefix).
 */
typedef struct FpbPageContent
{
	int			level;
	int			flags;
	BlockNumber right;
	const FpbKey *low;
	const FpbKey *high;
	const FpbEntry *entries;
	int			nentries;
	int			prefix;			/* bytes that all keys have in common */
	uint64		prefix_head;	/* whole head of a key that begins with these */
	char	   *cut;			/* memory of tuples that are cut, or NULL */
} FpbPageContent;

/* a page being filled by a bulk load (page/bulk_fill.c) */
typedef struct FpbFiller
{
	const FpbIndex *ix;
	int			level;
	int			slack;			/* slots in a hundred to leave free */
	MemoryContext context;		/* holds the page's tuples */

	Page		page;			/* the page begun */
	int			flags;
	FpbKey	   *low;			/* its low fence or NULL */
	FpbKey		low_key;
	FpbEntry   *entries;		/* what has been added to it */
	int			nentries;

	uint64		details[28];	/* the layout's */
	void	   *children;		/* what it has been told of, in context */
} FpbFiller;

/* what fpbtree_page and fpbtree_nodes say of a page, and of one of its nodes */
typedef struct FpbPageInfo
{
	int			nodes;			/* in use */
	int			allocated;
	int			capacity;		/* nodes that the page can name */
} FpbPageInfo;

typedef struct FpbNodeInfo
{
	int			number;			/* where it lies in the page */
	const char *codec;
	uint64		head;			/* no entry of it has a smaller one */
	int			entries;
	int			gaps;
	int			child_hints;	/* among the gaps: see
								 * fpb_page_write_child_hints */
	int			postings;
	bool		runs;			/* is each of its keys stored once? */
	Size		used;			/* bytes of what its entries take */
	Size		available;		/* and of its gaps */
	FpbEntry	first;			/* its first entry, if it has any */
} FpbNodeInfo;

/* what fpb_page_read_first has come to */
typedef enum FpbStop
{
	FPB_STOP_END,				/* an entry that is not before the end */
	FPB_STOP_ENOUGH,			/* another entry */
	FPB_STOP_PAGE				/* the end of the page */
} FpbStop;

typedef struct FpbReadFirst
{
	FpbStop		stop;
	FpbKey		next;			/* the key of the entry that it has come to */
	int			nread;			/* entries before that, killed ones included */
	bool		first_killed;	/* is the first of them, and passed over? */
	FpbPos		begin;			/* the position of the start, */
	FpbPos		last;			/* that of the last of them, if there are any, */
	FpbPos		behind;			/* and where to read on */
} FpbReadFirst;

/* ------------------------------------------------------------------------
 * a layout's routines
 * ------------------------------------------------------------------------
 *
 * Most are described at the function below that calls them.  The others are:
 *
 * slot_space: bytes that an entry of a leaf (or of an inner page) takes of its
 * page on the average, without its tuple; the greatest head there is greater
 * by span than the least.
 * search_from: fpb_page_place, from a position that is not FPB_POS_FIRST.
 * insert: carries out a plan whose outcome is FPB_PLAN_FITS, and returns what
 * fpb_page_insert does.
 * is_sparse: would a leaf made afresh, with another entry, have an image that is
 * appreciably smaller, or room in nodes that can't get it at less cost?  True if
 * that can't be told without making it.
 * has_room: has the page room for the tuple of this key, which belongs to
 * no entry?
 * put_tuple: puts that there, and returns its offset.  In the critical section.
 * cut: deletes all entries from pos on, and frees the room that they take,
 * except that of tuples.  page is a copy that nobody else sees.
 * filler_begin: a page has been begun; sets up the filler's details.
 * filler_take: has the page room for another entry at this fill factor?  If so
 * it is counted in.  same: is it one of a leaf with the last one's key, of
 * which there is one copy?
 * filler_write: writes the page, which is to have what has been added; false
 * if there is no room for its high fence.
 * filler_child, write_child_hints, take_over_child_hints: NULL where pages know nothing of
 * their children but their links.
 */
typedef struct FpbLayoutRoutine
{
	FpbLayout	id;				/* as the metapage has it */

	void		(*set_shapes) (FpbIndex *ix, int leaf_lines, int inner_lines);
	void		(*get_shapes) (const FpbIndex *ix, int *leaf_lines,
							   int *inner_lines);
	const char *(*header_fault) (const FpbIndex *ix, Page page);

	void		(*search) (const FpbIndex *ix, Page page,
						   const FpbSearchKey *search, FpbPos *pos);
	void		(*search_from) (const FpbIndex *ix, Page page,
								const FpbSearchKey *search, FpbPos from,
								FpbPos *pos);
	bool		(*next) (const FpbIndex *ix, Page page, FpbPos *pos,
						 FpbEntry *entry);
	bool		(*prev) (const FpbIndex *ix, Page page, FpbPos *pos,
						 FpbEntry *entry);
	FpbPos		(*back) (const FpbIndex *ix, Page page, FpbPos pos, int slots);
	int			(*read) (const FpbIndex *ix, Page page, FpbPos pos,
						 const FpbSearchKey *end, bool near, bool live,
						 FpbItem *items, int room, bool *more);
	int			(*read_first) (const FpbIndex *ix, Page page,
							   const FpbSearchKey *start,
							   const FpbSearchKey *end, bool live, int most,
							   FpbItem *items, FpbReadFirst *first);
	int			(*read_part) (const FpbIndex *ix, Page page, FpbPos *pos,
							  const FpbSearchKey *end, bool live, int enough,
							  FpbItem *items, int room, bool *more, bool *all);
	BlockNumber (*downlink) (const FpbIndex *ix, Page page,
							 const FpbSearchKey *search, bool before,
							 uint16 *child_node);
	bool		(*child) (const FpbIndex *ix, Page page,
						  const FpbSearchKey *search, bool before, FpbPos *pos,
						  FpbEntry *entry);

	bool		(*has_killed) (const FpbIndex *ix, Page page);
	bool		(*is_killed) (const FpbIndex *ix, Page page, FpbPos pos);
	int			(*read_killed) (const FpbIndex *ix, Page page, FpbItem *items);
	bool		(*kill) (const FpbIndex *ix, Page page, const FpbPos *pos,
						 int npos);

	void		(*plan_insert) (const FpbIndex *ix, Page page,
								const FpbEntry *entry, FpbPos pos,
								FpbInsertPlan *plan);
	FpbPos		(*insert) (const FpbIndex *ix, Page page,
						   const FpbEntry *entry, const FpbInsertPlan *plan,
						   FpbWalPage *wp);
	void		(*delete) (const FpbIndex *ix, Page page, const FpbPos *pos,
						   int npos, FpbWalPage *wp);
	bool		(*is_sparse) (const FpbIndex *ix, Page page);
	bool		(*has_room) (const FpbIndex *ix, Page page, const FpbKey *key);
	uint32		(*put_tuple) (const FpbIndex *ix, Page page, const FpbKey *key,
							  FpbWalPage *wp);
	Size		(*slot_space) (const FpbIndex *ix, bool leaf, uint64 span);
	void		(*cut) (const FpbIndex *ix, Page page, FpbPos pos,
						FpbWalPage *wp);

	bool		(*build) (const FpbIndex *ix, Page page,
						  const FpbPageContent *content, int slack);
	void		(*filler_begin) (FpbFiller *filler);
	bool		(*filler_take) (FpbFiller *filler, const FpbEntry *entry, bool same);
	bool		(*filler_fence_fits) (const FpbFiller *filler,
									  const FpbKey *high);
	bool		(*filler_write) (const FpbFiller *filler,
								 const FpbPageContent *content);

	void		(*filler_child) (FpbFiller *filler, Page child);
	void		(*write_child_hints) (const FpbIndex *ix, Page page,
									  BlockNumber child, Page leaf, FpbWalPage *wp);
	void		(*take_over_child_hints) (const FpbIndex *ix, Page page, Page old);

	const char *(*fault) (const FpbIndex *ix, Page page);
	void		(*page_info) (const FpbIndex *ix, Page page,
							  FpbPageInfo *info);
	bool		(*node_info) (const FpbIndex *ix, Page page, int n,
							  FpbNodeInfo *info);
} FpbLayoutRoutine;

extern const FpbLayoutRoutine fpb_disk_first_routine;
extern const FpbLayoutRoutine fpb_micro_index_routine;
extern const FpbLayoutRoutine fpb_cache_first_routine;

/* The routines of a layout, or NULL if there is none of this number. */
extern const FpbLayoutRoutine *fpb_layout_routine(int id);

/* ------------------------------------------------------------------------
 * shapes
 * ------------------------------------------------------------------------
 */

/*
 * Set up how nodes are searched: by bisection alone, or by counting if they
 * have few heads; and whether all their cache lines are fetched at once.  The
 * answers are the same.
 */
static inline void
fpb_layout_search(FpbIndex *ix, bool bisecting, bool prefetch)
{
	ix->count_most = bisecting ? 1 : FPB_COUNT_MOST;
	ix->prefetch = prefetch;
}

/*
 * Set up ix->shapes, max_tuple, max_posting, cut_most, word_runs,
 * prefetch_front and prefetch_back.  leaf_lines and inner_lines are the widths
 * of nodes in cache lines, as the metapage has them; 0 stands for the layout's
 * own choice.  A width that can't be is changed to one that can;
 * fpb_layout_lines returns it.  Raises nothing.  fpb_layout_search has been
 * called before.
 */
static inline void
fpb_layout_shapes(FpbIndex *ix, int leaf_lines, int inner_lines)
{
	ix->nodes_off = ix->node_size = 0;
	ix->cut_most = 0;
	ix->word_runs = false;
	ix->layout->set_shapes(ix, leaf_lines, inner_lines);
	if (!ix->prefetch)
		ix->prefetch_front = ix->prefetch_back = 0;
}

static inline void
fpb_layout_lines(const FpbIndex *ix, int *leaf_lines, int *inner_lines)
{
	ix->layout->get_shapes(ix, leaf_lines, inner_lines);
}

/*
 * Set up the shapes of a new index.  The nodes of its leaves are as wide as
 * asked for, unless a page could then not take the longest tuples of btree.
 */
extern void fpb_layout_choose(FpbIndex *ix, int leaf_lines);

/* ------------------------------------------------------------------------
 * heads
 * ------------------------------------------------------------------------
 *
 * In a page with a prefix (key/prefix.h) heads are those of what is behind it.
 * Keys that may be cut say in which page their heads are.  Other entries are
 * taken, and filled in, by the functions below with their whole heads.
 */

/* Give an entry, if any has been found, its whole head. */
static inline bool
fpb_with_whole_head(const FpbIndex *ix, Page page, bool found, FpbEntry *entry)
{
	int			prefix = fpb_page_prefix(ix, page);

	/* (the pivot before all keys has a head of 0 everywhere) */
	if (unlikely(prefix > 0) && found && entry->key.cut_in == NULL &&
		fpb_pivot_natts(ix, entry->key.tuple) > 0)
		entry->key.head = fpb_whole_head(ix, FpbHdr(page)->fences.head[FPB_LOW],
										 entry->key.head, prefix);
	return found;
}

/* The same of n items that have been read of a leaf; returns n. */
static inline int
fpb_with_whole_heads(const FpbIndex *ix, Page page, int n, FpbItem *items)
{
	int			prefix = fpb_page_prefix(ix, page);
	uint64		low = FpbHdr(page)->fences.head[FPB_LOW];

	if (fpb_cut_in(ix, page) != NULL)
		return n;
	for (int i = 0; prefix > 0 && i < n; i++)
		items[i].key.head = fpb_whole_head(ix, low, items[i].key.head, prefix);
	return n;
}

extern uint64 fpb_search_head_in(const FpbIndex *ix, Page page,
								 const FpbSearchKey *search);

/*
 * The head that fpb_compare_by_head takes to compare entries that have been
 * read of a leaf with a search key.  May decompress a value; raises an error
 * if a tuple of the page is damaged.
 */
static inline uint64
fpb_page_search_head(const FpbIndex *ix, Page page, const FpbSearchKey *search)
{
	return fpb_cut_in(ix, page) == NULL || fpb_page_prefix(ix, page) == 0 ? search->head :
		fpb_search_head_in(ix, page, search);
}

/* ------------------------------------------------------------------------
 * reading a page
 * ------------------------------------------------------------------------
 */

/*
 * Set *pos to the position of the search key: from there fpb_page_next finds
 * the first entry >= search key, or none if there is none.
 */
static inline void
fpb_page_search(const FpbIndex *ix, Page page, const FpbSearchKey *search,
				FpbPos *pos)
{
	ix->layout->search(ix, page, search, pos);
}

/*
 * Find the first entry at or behind *pos, which may be any number.  True: *pos
 * is its position and *entry has been filled, its tuple in the page.  False:
 * there is none; *pos is behind all entries, and *entry undefined.
 */
static inline bool
fpb_page_next(const FpbIndex *ix, Page page, FpbPos *pos, FpbEntry *entry)
{
	return fpb_with_whole_head(ix, page, ix->layout->next(ix, page, pos, entry), entry);
}

/*
 * Find the last entry before *pos.  True: *pos is its position and *entry has
 * been filled, its tuple in the page.  False: there is none; *pos stays as it
 * was, and *entry is undefined.
 */
static inline bool
fpb_page_prev(const FpbIndex *ix, Page page, FpbPos *pos, FpbEntry *entry)
{
	return fpb_with_whole_head(ix, page, ix->layout->prev(ix, page, pos, entry), entry);
}

/*
 * A position some slots before pos, from which reading forward costs least: at
 * least so many, or FPB_POS_FIRST.
 */
static inline FpbPos
fpb_page_back(const FpbIndex *ix, Page page, FpbPos pos, int slots)
{
	return ix->layout->back(ix, page, pos, slots);
}

/*
 * Read the entries of a leaf from pos on that are < end (NULL: all) into
 * items[], in order.  Returns how many, or -1 if there may be more than there
 * is room for.  Tuples stay in the page.  *more becomes false if the page has
 * an entry >= end, else stays as it is.  near: the end is likely to be among
 * the next few entries, so these are compared with it before it is searched;
 * and behind an entry >= end there is none < end.
 */
static inline int
fpb_page_read_few(const FpbIndex *ix, Page page, FpbPos pos, const FpbSearchKey *end,
				  bool near, FpbItem *items, int room, bool *more)
{
	return fpb_with_whole_heads(ix, page, ix->layout->read(ix, page, pos, end, near, false,
														   items, room, more), items);
}

/*
 * The same without entries that are killed.  It costs little to pass over
 * these, even if there are many.
 */
static inline int
fpb_page_read_live(const FpbIndex *ix, Page page, FpbPos pos, const FpbSearchKey *end,
				   bool near, FpbItem *items, int room, bool *more)
{
	return fpb_with_whole_heads(ix, page, ix->layout->read(ix, page, pos, end, near, true,
														   items, room, more), items);
}

/*
 * Read the entries of a leaf from start on (NULL: the first) that are < end
 * (NULL: all), so many at most, into items[], in order, one by one.  live:
 * without those that are killed.  Returns how many.  Tuples stay in the page.
 */
static inline int
fpb_page_read_first(const FpbIndex *ix, Page page, const FpbSearchKey *start,
					const FpbSearchKey *end, bool live, int most, FpbItem *items,
					FpbReadFirst *first)
{
	int			n = ix->layout->read_first(ix, page, start, end, live, most, items, first);
	FpbItem		next;

	if (fpb_is_word(ix) || fpb_cut_in(ix, page) != NULL)
		return n;
	if (first->stop != FPB_STOP_PAGE)
	{
		next.key = first->next;
		(void) fpb_with_whole_heads(ix, page, 1, &next);
		first->next = next.key;
	}
	return fpb_with_whole_heads(ix, page, n, items);
}

/*
 * The same as either, near, but the layout may stop once it has read enough
 * entries.  *all: has it read all?  Else *pos becomes the position behind what
 * it has read or passed over.  Without room *pos stays as it is.
 */
static inline int
fpb_page_read_part(const FpbIndex *ix, Page page, FpbPos *pos, const FpbSearchKey *end,
				   bool live, int enough, FpbItem *items, int room, bool *more, bool *all)
{
	return fpb_with_whole_heads(ix, page, ix->layout->read_part(ix, page, pos, end, live, enough,
																items, room, more, all), items);
}

/*
 * Report a page that has more entries than can be, as it has if it is damaged:
 * if several slots name one posting.
 */
extern void fpb_report_crowd(const FpbIndex *ix, Page page) __attribute__((noreturn));

/*
 * The same, with room for FPB_MAX_PAGE_ENTRIES less what has been read of the
 * page before: if there are more, the page is damaged.
 */
static inline int
fpb_page_read(const FpbIndex *ix, Page page, FpbPos pos, const FpbSearchKey *end,
			  bool near, FpbItem *items, int room, bool *more)
{
	int			n = fpb_page_read_few(ix, page, pos, end, near, items, room, more);

	if (unlikely(n < 0))
		fpb_report_crowd(ix, page);
	return n;
}

/*
 * The child of an inner page to descend to for the search key: the last one
 * whose low key is <= search key (before: < search key), or the first child if
 * there is none.  Does not read the separator's tuple, which is likely to be
 * in no cache.
 *
 * *child_node becomes what search->named_node is to be for the search of that
 * child: a hint, of which node to look in first.  It may be any number; at
 * worst the search takes longer.  Whoever goes on to another page makes it 0.
 */
static inline BlockNumber
fpb_page_downlink(const FpbIndex *ix, Page page, const FpbSearchKey *search,
				  bool before, uint16 *child_node)
{
	return ix->layout->downlink(ix, page, search, before, child_node);
}

/*
 * The same child's entry: fills *entry, its tuple in the page, and sets *pos
 * to its position.  False if the search key has not been compared with the
 * entry: no entry is less, so this is the first one.
 */
static inline bool
fpb_page_child(const FpbIndex *ix, Page page, const FpbSearchKey *search,
			   bool before, FpbPos *pos, FpbEntry *entry)
{
	bool		compared = ix->layout->child(ix, page, search, before, pos, entry);

	(void) fpb_with_whole_head(ix, page, true, entry);
	return compared;
}

/*
 * All entries of the page into entries[], which has room for
 * FPB_MAX_PAGE_ENTRIES, in order; returns how many.  Tuples stay in the page.
 */
extern int	fpb_page_entries(const FpbIndex *ix, Page page, FpbEntry *entries);

/*
 * The same with a new entry among them, before *pos, which fpb_page_search has
 * found for it.  entries[] has room for one more.  Returns the new entry's
 * index, and sets *nentries to the number of all.  places[], unless NULL, is
 * filled with the positions of all entries (of the new one *pos), and then
 * with the position behind all.
 */
extern int	fpb_page_entries_with(const FpbIndex *ix, Page page,
								  const FpbEntry *entry, const FpbPos *pos,
								  FpbEntry *entries, FpbPos *places,
								  int *nentries);

/* Does the page hold no entry? */
extern bool fpb_page_is_empty(const FpbIndex *ix, Page page);

/* ------------------------------------------------------------------------
 * killed bits: entries of a leaf that are dead to everyone
 * ------------------------------------------------------------------------
 *
 * They are not logged, and a snapshot taken in recovery must ignore them: "Killed entries" in src/README.md.
 */

/* Is there a killed bit on the page? */
static inline bool
fpb_page_has_killed(const FpbIndex *ix, Page page)
{
	return ix->layout->has_killed(ix, page);
}

/* Is there one for the entry at this position? */
static inline bool
fpb_page_is_killed(const FpbIndex *ix, Page page, FpbPos pos)
{
	return ix->layout->is_killed(ix, page, pos);
}

/*
 * Read all that are killed into items[], in order, which has room for
 * FPB_MAX_PAGE_ENTRIES; returns how many.  What else the page has costs
 * little.
 */
static inline int
fpb_page_read_killed(const FpbIndex *ix, Page page, FpbItem *items)
{
	return fpb_with_whole_heads(ix, page, ix->layout->read_killed(ix, page, items), items);
}

/*
 * Leave killed bits for the entries at pos[], in order, perhaps some of them
 * more than once; true if any has been left, of which the caller,
 * fpb_kill_entries, then tells the buffer.  The page is locked at least share:
 * two backends may be here at once, and a killed bit be lost.  An entry may
 * have to go without if others share its tuple and are not given.
 */
static inline bool
fpb_page_kill(const FpbIndex *ix, Page page, const FpbPos *pos, int npos)
{
	return ix->layout->kill(ix, page, pos, npos);
}

/* ------------------------------------------------------------------------
 * changing a page
 * ------------------------------------------------------------------------
 *
 * A change is planned first, which may fail.  Then it is made in a critical
 * section; that notes in *wp what it changes.
 */

/*
 * Plan the insertion of an entry, which belongs to the page, at its place pos
 * (fpb_page_search, fpb_page_place): fills *plan.  The page does not change.
 * If heads are old, the entry gets the head of the one before it.  So heads go
 * on telling the order of a page's entries.  May allocate plan->image, which
 * the caller pfrees.
 */
extern void fpb_page_plan_insert(const FpbIndex *ix, Page page, const FpbEntry *entry,
								 FpbPos pos, FpbInsertPlan *plan);

/*
 * Find the place of a new entry in a page where it belongs.
 *
 * from: FPB_POS_FIRST; or if the page's last change was the insertion of a
 * lesser entry, what that has returned.  Then comparators are called for few
 * entries, if the place is near.
 */
static inline FpbPos
fpb_page_place(const FpbIndex *ix, Page page, const FpbEntry *entry, FpbPos from)
{
	FpbSearchKey search;
	FpbPos		pos;

	fpb_search_key_from(ix, &entry->key, &search);
	if (from.number == 0)
		fpb_page_search(ix, page, &search, &pos);
	else
		ix->layout->search_from(ix, page, &search, from, &pos);
	return pos;
}

/*
 * The same, by rebuilding the page with as much slack as it has room for.  For
 * callers that log an image of the page anyway, or want to spare it a split.
 * True: *plan's outcome is FPB_PLAN_REBUILD.  False: the page is too full, the
 * outcome is FPB_PLAN_FULL, and the plan has no image.
 */
extern bool fpb_page_plan_reorganise(const FpbIndex *ix, Page page,
									 const FpbEntry *entry, FpbPos pos,
									 FpbInsertPlan *plan);

/*
 * Insert the entry as planned.  The plan's outcome is not FPB_PLAN_FULL, and
 * the page has not changed since it was made.  In the critical section.
 *
 * Returns a position behind which all greater entries belong.  It is
 * FPB_POS_FIRST where heads tell places, or if it would take a search.
 */
extern FpbPos fpb_page_insert(const FpbIndex *ix, Page page,
							  const FpbEntry *entry, const FpbInsertPlan *plan,
							  FpbWalPage *wp);

/*
 * Delete the entries at pos[], in any order.  The page has not changed since
 * their positions were found.  In the critical section.
 */
static inline void
fpb_page_delete(const FpbIndex *ix, Page page, const FpbPos *pos, int npos,
				FpbWalPage *wp)
{
	ix->layout->delete(ix, page, pos, npos, wp);
}

/*
 * Can the page be given this high fence (NULL: infinite; without tuple, in the
 * tuple form: elided) as it is, by fpb_page_extend?
 */
extern bool fpb_page_plan_extend(const FpbIndex *ix, Page page,
								 const FpbKey *high);

/*
 * Give the page this high fence and right link, because its right sibling is
 * merged into it.  In the critical section, fpb_page_plan_extend having
 * returned true.
 */
extern void fpb_page_extend(const FpbIndex *ix, Page page, const FpbKey *high,
							BlockNumber right, FpbWalPage *wp);

/*
 * Write child-node hints into an inner page, in gaps behind the child's
 * downlink, after that has been inserted or the child has been split.  They
 * name nodes of the child, so that a search looks there first
 * (fpb_page_downlink).  Nothing happens if the page has no such downlink.
 * Both pages are locked exclusively.  In the critical section.
 */
static inline void
fpb_page_write_child_hints(const FpbIndex *ix, Page page, BlockNumber child,
						   Page child_page, FpbWalPage *wp)
{
	if (ix->layout->write_child_hints != NULL)
		ix->layout->write_child_hints(ix, page, child, child_page, wp);
}

/*
 * Copy the child-node hints of an old page to one that has just been made of
 * its entries, in memory of the caller's.  Raises nothing.
 */
static inline void
fpb_page_take_over_child_hints(const FpbIndex *ix, Page page, Page old)
{
	if (ix->layout->take_over_child_hints != NULL)
		ix->layout->take_over_child_hints(ix, page, old);
}

/*
 * Replace the page by an image that has been made of it.  In the critical
 * section.
 */
extern void fpb_page_replace(Page page, const char *image, FpbWalPage *wp);

extern int	fpb_items_fullness(const FpbIndex *ix, const FpbItem *items, int nitems);

/* how the halves of a split are made */
typedef enum FpbHalves
{
	FPB_HALVES_SPREAD,			/* with gaps for insertions one by one */
	FPB_HALVES_PACKED,			/* the images that are logged being small */
	FPB_HALVES_IN_PLACE			/* the left one's entries stay where they are,
								 * if that can be, which is little to log */
} FpbHalves;

/* what is known of the entries that will come to the pages of a split */
typedef struct FpbSplitAim
{
	int			fullness;		/* how full ascending insertions leave a page
								 * behind, in percent */
	int			following;		/* so many entries are about to be inserted
								 * right after the new one, in order, that
								 * belong to the page; 0: nobody knows */
	const FpbEntry *last;		/* the last of these */
	bool		scattered;		/* have they been sorted, and further entries
								 * will come everywhere? */
} FpbSplitAim;

/*
 * Split a page that gets one more entry, at the place pos: choose where, and
 * make both pages in the copies of left_page and right_page, which then say
 * what there is to log.  The page itself stays as it is.  right is the right
 * page's block.
 *
 * Any page and any new entry fit two pages (FORMAT.md, "Splits always fit").
 * So an error is about damage, or a comparator has raised it.
 */
extern void fpb_page_split(const FpbIndex *ix, Page page,
						   const FpbEntry *entry, FpbPos pos,
						   BlockNumber right, const FpbSplitAim *aim, FpbHalves halves,
						   FpbWalPage *left_page, FpbWalPage *right_page);

/* ------------------------------------------------------------------------
 * whole pages
 * ------------------------------------------------------------------------
 */

/*
 * Make a page in memory of the caller's.  slack: how many of a hundred slots
 * are to be left free; none, and the page takes no more room than it must.
 * Returns false if the content does not fit so: the page is then undefined.
 */
extern bool fpb_page_build(const FpbIndex *ix, Page page,
						   const FpbPageContent *content, int slack);

/*
 * The same with the first of these slacks that the content fits with.
 */
extern bool fpb_page_build_spread(const FpbIndex *ix, Page page,
								  const FpbPageContent *content,
								  const int *slacks, int nslacks);

/* the prefixes that are tried for a leaf, until one fits, in this order */
typedef enum FpbPrefixChoice
{
	FPB_PREFIX_LASTING,			/* what comes is likely to have it, too */
	FPB_PREFIX_LONGEST,			/* all that the entries have in common */
	FPB_PREFIX_KEPT				/* that of the page that they come from */
} FpbPrefixChoice;

/*
 * Choose a page's prefix, and make its entries what they are there.  They are
 * content's own, or palloc'd until fpb_forget_prefix.
 */
extern void fpb_choose_prefix(const FpbIndex *ix, FpbPageContent *content,
							  FpbPrefixChoice choice);
extern void fpb_forget_prefix(FpbPageContent *content, const FpbEntry *entries);

/*
 * Begin to say what a page that replaces this one is to be: the same but for
 * its entries, of which there are none yet.  *low and *high are to hold its
 * fences, the tuples of which stay in the page.
 */
extern void fpb_page_frame(const FpbIndex *ix, Page page, FpbKey *low,
						   FpbKey *high, FpbPageContent *content);

/*
 * Bulk load (page/bulk_fill.c): entries are added in order, and a page is as
 * full as it should be when the layout says so.  The block numbers and the
 * levels are build/build.c's.
 */

/*
 * The percentage of slots that CREATE INDEX fills in the leaves of an index,
 * rel, and that ascending insertions leave filled.
 *
 * If the index names none, there is to be as much room as btree's 90 leaves: a
 * page has more entries than btree's, so that later, random keys would have
 * all pages split while btree's are not yet full.  What ascending insertions
 * leave behind gets few insertions.
 */
static inline int
fpb_build_fillfactor(const FpbIndex *ix, Relation rel)
{
	int			named = fpb_fillfactor(rel);

	if (named != FPB_NO_FILLFACTOR)
		return named;
	return fpb_is_word(ix) ? 85 : 86;
}

static inline int
fpb_split_fillfactor(const FpbIndex *ix)
{
	int			named = fpb_fillfactor(ix->rel);

	return named != FPB_NO_FILLFACTOR ? named : 95;
}

/* Make a filler for the pages of a level, in the current memory context. */
extern FpbFiller *fpb_filler_create(const FpbIndex *ix, int level,
									int fillfactor);

/* Begin a page in memory of the caller's; low is copied, NULL: infinite. */
extern void fpb_filler_begin(FpbFiller *filler, Page page, int flags,
							 const FpbKey *low);

/*
 * Add the next entry, the tuple of which is copied.  False, without adding it,
 * if the page is as full as it should be: then nothing but ending it may
 * follow.  A page takes two entries at least.
 */
extern bool fpb_filler_add(FpbFiller *filler, const FpbEntry *entry);

/*
 * End the page; high is NULL for the last of its level.  One for which there
 * is no room is elided.
 */
extern void fpb_filler_end(FpbFiller *filler, const FpbKey *high,
						   BlockNumber right);

/*
 * Inner pages, whose separators are given: can the page be ended with this
 * high fence?  If not, it can with the key of its last entry, once
 * fpb_filler_pop has taken that away; its tuple is then the caller's to pfree.
 */
extern bool fpb_filler_fence_fits(const FpbFiller *filler, const FpbKey *high);
extern void fpb_filler_pop(FpbFiller *filler, FpbEntry *entry);

/*
 * Inner pages: the child of the last entry added has been written, and looks
 * like this.
 */
static inline void
fpb_filler_child(FpbFiller *filler, Page child)
{
	if (filler->ix->layout->filler_child != NULL)
		filler->ix->layout->filler_child(filler, child);
}

/* The key of the last entry added, in the filler's memory. */
extern const FpbKey *fpb_filler_last(const FpbFiller *filler);

/* ------------------------------------------------------------------------
 * what is wrong with a page
 * ------------------------------------------------------------------------
 */

/*
 * What is wrong with the layout's part of a page's header, as text, or NULL.
 * These checks are cheap enough for every access.  Together with those that a
 * reader makes of each thing it comes to, they keep damage from making anyone
 * read or write outside the page.
 */
static inline const char *
fpb_layout_header_fault(const FpbIndex *ix, Page page)
{
	return ix->layout->header_fault(ix, page);
}

/*
 * What is wrong with the structure of a page whose header is sound, as text,
 * or NULL.  A page without a fault can be worked on: no offset or length in it
 * is out of bounds, and no two things are in one place.  Calls no comparator,
 * allocates nothing and raises nothing; the text lives until the next call.
 */
extern const char *fpb_page_fault(const FpbIndex *ix, Page page);

/*
 * What is wrong with the keys of a page whose structure is sound, as text, or
 * NULL.  entries[] are all that it has, as fpb_page_entries gives them.  Calls
 * comparators, allocates memory, and may raise errors: damaged values can.
 */
extern const char *fpb_page_order_fault(const FpbIndex *ix, Page page,
										const FpbEntry *entries, int nentries);

/* ------------------------------------------------------------------------
 * what there is to show
 * ------------------------------------------------------------------------
 */

/* Count the nodes of a page without a fault. */
static inline void
fpb_page_info(const FpbIndex *ix, Page page, FpbPageInfo *info)
{
	ix->layout->page_info(ix, page, info);
}

/*
 * Describe the n'th node, from 0 on in key order, of a page without a fault;
 * false if it has no more.
 */
static inline bool
fpb_node_info(const FpbIndex *ix, Page page, int n, FpbNodeInfo *info)
{
	if (!ix->layout->node_info(ix, page, n, info))
		return false;
	if (info->entries > 0)
		(void) fpb_with_whole_head(ix, page, true, &info->first);
	return true;
}

#endif							/* FPB_PAGE_LAYOUT_H */
