/*-------------------------------------------------------------------------
 *
 * methods.c
 *	  Other methods to search the nodes of a disk-first page.
 *
 * What adapting-csbtree compares: linear and binary search within a node, with
 * and without prefetching.  All methods are called by a pointer, that of the
 * extension, too, so that only they differ.  They do for searches, not for
 * changes.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "driver.h"
#include "page/disk_first/disk_first.h"

/*
 * Number of the elements < key of a sorted array: of 64-bit ones, and of
 * 32-bit ones, which stand for the upper halves of words with zeros below.
 */
typedef int (*Count64) (const uint64 *a, int n, uint64 key);
typedef int (*Count32) (const uint32 *a, int n, uint32 key);

static FpbLayoutRoutine method_routine;
static Count64 count64;
static Count32 count32;
static bool prefetching;

/* --- the methods --- */

/*
 * linear: element by element, until one is not less.  counting: as the
 * extension does, which takes all of them, if they are not too many, without a
 * branch.  bisecting: with a branch at every step.  branchless: without.
 */
#define DEFINE_METHODS(bits) \
static int \
linear##bits(const uint##bits *a, int n, uint##bits key) \
{ \
	int			i = 0; \
\
	while (i < n && a[i] < key) \
		i++; \
	return i; \
} \
\
static int \
counting##bits(const uint##bits *a, int n, uint##bits key) \
{ \
	return fpb_count_less##bits(a, n, key, FPB_COUNT_MOST); \
} \
\
static int \
bisecting##bits(const uint##bits *a, int n, uint##bits key) \
{ \
	int			lo = 0; \
\
	while (lo < n) \
	{ \
		int			mid = lo + (n - lo) / 2; \
\
		if (a[mid] < key) \
			lo = mid + 1; \
		else \
			n = mid; \
	} \
	return lo; \
} \
\
static int \
branchless##bits(const uint##bits *a, int n, uint##bits key) \
{ \
	const uint##bits *base = a; \
\
	while (n > 1) \
	{ \
		int			half = n / 2; \
\
		base += half & -(int) (base[half - 1] < key); \
		n -= half; \
	} \
	return (int) (base - a) + (n == 1 && *base < key); \
}

DEFINE_METHODS(64)
DEFINE_METHODS(32)

static const struct
{
	const char *name;
	Count64		count64;
	Count32		count32;
}			methods[] = {
	{"linear", linear64, linear32},
	{"counting", counting64, counting32},
	{"bisecting", bisecting64, bisecting32},
	{"branchless", branchless64, branchless32}
};

/* --- a page --- */

/*
 * The place before the first head >= head: its node and its slot.
 */
static FpbNodePos
find_head(const FpbIndex *ix, Page page, uint64 head)
{
	const FpbShape *shape = fpb_shape(ix, page);
	FpbNodePos	place = {0};
	FpbCodec	codec;
	char	   *node;

	if (FpbDir(page)->nnodes == 0)
		return place;
	place.dir = count64(fpb_dir_heads(page) + 1, FpbDir(page)->nnodes - 1, head);
	node = fpb_page_node(ix, page, place.dir, &codec);
	if (codec != FPB_NODE_PLAIN)
		elog(ERROR, "the keys of an index for methods of searching differ");
	if (prefetching)
		fpb_fetch_lines(node, shape->size);
	if (ix->head_width == 8)
		place.slot = count64((const uint64 *) node, shape->nslots, head);
	else if ((uint32) head == 0)
		place.slot = count32((const uint32 *) node, shape->nslots, (uint32) (head >> 32));
	else
		place.slot = (uint32) (head >> 32) == PG_UINT32_MAX ? shape->nslots :
			count32((const uint32 *) node, shape->nslots, (uint32) (head >> 32) + 1);
	return place;
}

/*
 * The first entry >= search key is the first whose head is: all keys differ,
 * and a lookup's search key is before every TID.
 */
static void
method_search(const FpbIndex *ix, Page page, const FpbSearchKey *search, FpbPos *pos)
{
	*pos = fpb_pos_pack(find_head(ix, page, search->head));
}

/*
 * The child to descend to: the last whose key is <= search key, else the
 * first.
 */
static BlockNumber
method_downlink(const FpbIndex *ix, Page page, const FpbSearchKey *search,
				bool before pg_attribute_unused(), uint16 *child_node)
{
	FpbPos		pos = FPB_POS_END;
	FpbEntry	entry;

	*child_node = 0;
	if (search->head != PG_UINT64_MAX)
		pos = fpb_pos_pack(find_head(ix, page, search->head + 1));
	if (!fpb_page_prev(ix, page, &pos, &entry))
	{
		pos = FPB_POS_FIRST;
		if (!fpb_page_next(ix, page, &pos, &entry))
			elog(ERROR, "an inner page is empty");
	}
	return entry.child;
}

/*
 * See driver.h.  False if there is no method of this name.
 */
bool
driver_use_method(FpbIndex *ix, const char *method, bool prefetch)
{
	for (int i = 0; i < (int) lengthof(methods); i++)
	{
		if (strcmp(methods[i].name, method) != 0)
			continue;
		if (ix->layout->id != FPB_DISK_FIRST || !fpb_is_word(ix))
			elog(ERROR, "methods of searching want words and the layout disk_first");
		count64 = methods[i].count64;
		count32 = methods[i].count32;
		prefetching = prefetch;
		if (!prefetch)
			ix->prefetch_front = ix->prefetch_back = 0;
		method_routine = *ix->layout;
		method_routine.search = method_search;
		method_routine.downlink = method_downlink;
		ix->layout = &method_routine;
		return true;
	}
	return false;
}
