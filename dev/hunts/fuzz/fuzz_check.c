/*-------------------------------------------------------------------------
 *
 * fuzz_check.c
 *	  Comparing a page with the page fuzzer's model, and with its replay.
 *
 * After each operation there are checks that cost about as much as it did: the
 * replay of what it logged, and the new entry's place among the others.  Those
 * that read the whole page come as often as a bounded share of the time
 * allows, which is each time for a small page.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "common/hashfn.h"

#include "fuzz.h"

/* the most child-node hints of a page: it has no more gaps */
#define MAX_CHILD_HINTS		((int) FPB_MAX_PAGE_ENTRIES)

/* entries that are near behind one that has been inserted */
#define NEAR_BEHIND			4

/* one child-node hint of a page of level 1 */
typedef struct ChildHint
{
	FpbPos		pos;
	uint64		head;
	int			number;
} ChildHint;

/* entries of whole pages that are looked at in an operation, on the average */
#define CREDIT			48

/*
 * Note a fault and give the history up.
 */
void
fuzz_fail(Fuzz *f, const char *format,...)
{
	va_list		args;

	va_start(args, format);
	vsnprintf(f->fault, sizeof(f->fault), format, args);
	va_end(args);
	siglongjmp(f->failed, 1);
}

/* --- replay --- */

/*
 * The first offset in [from, to) at which two pages differ, or -1.
 */
static int
first_difference(Page a, Page b, int from, int to)
{
	if (from >= to || memcmp((char *) a + from, (char *) b + from, to - from) == 0)
		return -1;
	while (((char *) a)[from] == ((char *) b)[from])
		from++;
	return from;
}

/*
 * Do to the standby's page what generic_redo does, and compare it with the
 * page that has been changed, but for the hole.
 */
void
fuzz_check_replay(Fuzz *f, const FpbWalPage *wp, Page page)
{
	FpbPageHeader *hdr = FpbHdr(f->standby);
	int			differs;

	if (wp->image)
		memcpy(f->standby, page, BLCKSZ);
	else
		for (int i = 0; i < wp->nranges; i++)
			memcpy((char *) f->standby + wp->ranges[i].offset,
				   (char *) page + wp->ranges[i].offset, wp->ranges[i].length);
	if (hdr->pd.pd_lower > hdr->pd.pd_upper || hdr->pd.pd_upper > BLCKSZ)
		fuzz_fail(f, "replay: the hole is impossible");
	memset((char *) f->standby + hdr->pd.pd_lower, 0,
		   hdr->pd.pd_upper - hdr->pd.pd_lower);

	differs = first_difference(f->standby, page, 0, hdr->pd.pd_lower);
	if (differs < 0)
		differs = first_difference(f->standby, page, hdr->pd.pd_upper, BLCKSZ);
	if (differs >= 0)
		fuzz_fail(f, "replay: byte %d is %02x and not %02x", differs,
				  ((uint8 *) f->standby)[differs], ((uint8 *) page)[differs]);
}

/* --- single entries --- */

/*
 * Are two keys the same?  Where heads are old, an entry has that of another
 * one.
 */
static bool
identical(const Fuzz *f, const FpbKey *a, const FpbKey *b)
{
	return f->ix.old_heads ? fpb_tuples_identical(&f->ix, a->tuple, b->tuple) :
		fpb_keys_identical(&f->ix, a, b);
}

/*
 * Is a key read from the page the model's?  Where duplicates may share a key,
 * an equal one that is compressed in another way is as good.
 */
static bool
same_key(const Fuzz *f, const FpbKey *key, const FuzzEntry *entry)
{
	const FuzzKey *wanted;

	if (entry->key == FUZZ_MINUS_INFINITY)
		return key->head == 0 && key->low == 0 && key->tail == FPB_TAIL_MIN &&
			(key->tuple == NULL || fpb_pivot_natts(&f->ix, key->tuple) == 0);
	wanted = &f->pool->keys[entry->key];
	if (key->tail != (f->level == 0 ? FuzzPlaceTail(entry->place) : wanted->key.tail))
		return false;
	if (identical(f, key, &wanted->key))
		return true;
	if (f->level > 0 || !f->ix.one_key)
		return false;
	for (int i = f->pool->first[wanted->rank]; i < f->pool->first[wanted->rank + 1]; i++)
		if (identical(f, key, &f->pool->keys[i].key))
			return true;
	return false;
}

/*
 * Check an entry read from the page against the model's at'th.
 */
static void
check_entry(Fuzz *f, const FpbEntry *entry, int at, const char *how)
{
	if (at < 0 || at >= f->nmodel)
		fuzz_fail(f, "%s finds an entry too many", how);
	if (!same_key(f, &entry->key, &f->model[at]))
		fuzz_fail(f, "%s finds another entry than the one at %d", how, at);
	if (f->level > 0 && entry->child != f->model[at].child)
		fuzz_fail(f, "%s finds another downlink than the one at %d", how, at);
}

/*
 * Check that a place which has been found is just before the model's at'th
 * entry.
 */
static void
check_place(Fuzz *f, FpbPos found, int at)
{
	FpbPos		pos = found;
	FpbEntry	entry;

	if (fpb_page_next(&f->ix, f->page, &pos, &entry))
		check_entry(f, &entry, at, "a search, forward,");
	else if (at < f->nmodel)
		fuzz_fail(f, "a search does not find the entry at %d", at);
	pos = found;
	if (fpb_page_prev(&f->ix, f->page, &pos, &entry))
		check_entry(f, &entry, at - 1, "a search, backward,");
	else if (at > 0)
		fuzz_fail(f, "a search does not find the entry before %d", at);
}

/*
 * Check that a search for a search key, which lies before the model's at'th
 * entry, leads there.
 */
static void
check_search(Fuzz *f, FpbSearchKey *search, int at)
{
	FpbPos		found;

	/* whatever node is named, there or not */
	if (f->ix.layout->id == FPB_CACHE_FIRST && fpb_is_word(&f->ix))
		search->named_node = pg_prng_uint64_range(&f->check_random, 0, FpbDir(f->page)->nalloc + 1);
	fpb_page_search(&f->ix, f->page, search, &found);
	if (search->named_node > 0 && f->level == 0 &&
		fpb_pos_unpack(&f->ix, found).dir == fpb_node_of_number(f->page, search->named_node - 1))
		f->counts[FUZZ_N_FOUND_BY_NAME]++;
	search->named_node = 0;
	check_place(f, found, at);
}

/*
 * Check that the place of a greater entry than the at'th, which has just been
 * inserted, is found from the position that this has returned.  Half of these
 * entries are near.
 */
static void
check_behind(Fuzz *f, int at, FpbPos behind)
{
	int			most = f->nmodel - 1;
	FpbEntry	entry = {.child = InvalidBlockNumber};

	if (behind.number == 0 || at == most)
		return;
	if (pg_prng_bool(&f->check_random))
		most = Min(at + NEAR_BEHIND, most);
	at = (int) pg_prng_uint64_range(&f->check_random, at + 1, most);
	fuzz_entry_key(f, &f->model[at], &entry.key);
	check_place(f, fpb_page_place(&f->ix, f->page, &entry, behind), at);
	f->counts[FUZZ_N_PLACED_BEHIND]++;
}

/*
 * Check that an entry just inserted is found, and its neighbours beside it.
 * behind: what fpb_page_insert has returned, or FPB_POS_FIRST.
 */
void
fuzz_check_inserted(Fuzz *f, int at, FpbPos behind)
{
	FpbKey		key;
	FpbSearchKey search;

	fuzz_entry_key(f, &f->model[at], &key);
	fpb_search_key_from(&f->ix, &key, &search);
	check_search(f, &search, at);
	check_behind(f, at, behind);
	fuzz_check_some(f);
}

/* --- child-node hints --- */

/*
 * The number of a child's node that begins with a head, so that any hint can
 * be checked.
 */
int
fuzz_node_number(const Fuzz *f, uint64 head)
{
	return (int) (murmurhash64(head) % fpb_leaf_shape(&f->ix)->max_nodes);
}

/*
 * The hints of a page, in order, into hints[], which has room for
 * MAX_CHILD_HINTS; returns how many.
 */
static int
read_child_hints(const Fuzz *f, Page page, ChildHint *hints)
{
	int			n = 0;

	for (int dir = 0; fpb_page_has_child_hints(&f->ix, page) && dir < FpbDir(page)->nnodes; dir++)
	{
		FpbCodec	codec;
		char	   *node = fpb_page_node(&f->ix, page, dir, &codec);

		for (int slot = 0; slot < f->shape->nslots; slot++)
		{
			if (!fpb_node_is_gap(&f->ix, f->shape, codec, node, slot) ||
				fpb_slot_child_hint(f->shape, node, slot) == 0)
				continue;
			hints[n].pos = fpb_pos_at(dir, slot, 0);
			hints[n].head = fpb_node_head(&f->ix, node, slot);
			hints[n++].number = fpb_slot_child_hint(f->shape, node, slot) - 1;
		}
	}
	return n;
}

/*
 * Check that the page's hints name what they have been told.  (Nodes that lie
 * in the order of their keys have the numbers of that order.)
 */
static void
check_exits(Fuzz *f)
{
	ChildHint	hints[MAX_CHILD_HINTS];
	int			n = read_child_hints(f, f->page, hints);

	for (int i = 0; i < n && !f->ix.csb; i++)
		if (hints[i].number != fuzz_node_number(f, hints[i].head))
			fuzz_fail(f, "the hint at %llx names node %d",
					  (unsigned long long) hints[i].head, hints[i].number);
}

/*
 * Is there a hint with a head from least to most behind a child's slot in its
 * node?
 */
static bool
has_child_hint(const Fuzz *f, const ChildHint *hints, int n, int dir, int slot, int end,
			   uint64 least, uint64 most)
{
	for (int i = 0; i < n; i++)
	{
		FpbNodePos	place = fpb_pos_unpack(&f->ix, hints[i].pos);

		if (place.dir == dir && place.slot > slot && place.slot < end &&
			hints[i].head >= least && hints[i].head <= most)
			return true;
	}
	return false;
}

/*
 * Check a page that has been made anew of an old one's entries: where that has
 * named nodes of a child, and there are gaps to name some by, some are named.
 */
void
fuzz_check_kept(Fuzz *f, Page old, Page new)
{
	ChildHint	old_exits[MAX_CHILD_HINTS];
	ChildHint	hints[MAX_CHILD_HINTS];
	int			n = read_child_hints(f, new, hints);
	int			old_n = read_child_hints(f, old, old_exits);
	FpbPos		pos = FPB_POS_FIRST;
	FpbEntry	entry;

	for (; old_n > 0 && fpb_page_next(&f->ix, new, &pos, &entry); pos = fpb_pos_behind(pos))
	{
		FpbNodePos	place = fpb_pos_unpack(&f->ix, pos);
		FpbPos		next = fpb_pos_behind(pos);
		FpbPos		old_pos = FPB_POS_FIRST;
		FpbEntry	other;
		FpbNodePos	old_place;
		int			end = f->shape->nslots;
		uint64		most = PG_UINT64_MAX;

		if (fpb_page_next(&f->ix, new, &next, &other))
		{
			most = other.key.head;
			if (fpb_pos_unpack(&f->ix, next).dir == place.dir)
				end = fpb_pos_unpack(&f->ix, next).slot;
		}
		while (fpb_page_next(&f->ix, old, &old_pos, &other) && other.child != entry.child)
			old_pos = fpb_pos_behind(old_pos);
		if (other.child != entry.child)
			continue;
		old_place = fpb_pos_unpack(&f->ix, old_pos);
		next = fpb_pos_behind(old_pos);
		if (end == place.slot + 1 ||
			!has_child_hint(f, old_exits, old_n, old_place.dir, old_place.slot,
							fpb_page_next(&f->ix, old, &next, &other) &&
							fpb_pos_unpack(&f->ix, next).dir == old_place.dir ?
							fpb_pos_unpack(&f->ix, next).slot : f->shape->nslots,
							entry.key.head, most))
			continue;
		if (!has_child_hint(f, hints, n, place.dir, place.slot, end, entry.key.head, most))
			fuzz_fail(f, "a page made anew names no node of child %u", entry.child);
		f->counts[FUZZ_N_NAMES_KEPT]++;
	}
}

/*
 * Check what a search for a child, which is at this place in the page, names:
 * the last hint before the search key, unless that is the child's own slot.
 * Hints that have outlived their child may be out of order, among themselves
 * or with the bound of a node added behind them; then nothing is said.
 */
static void
check_named(Fuzz *f, const FpbSearchKey *search, FpbPos child, uint16 named)
{
	ChildHint	hints[MAX_CHILD_HINTS];
	int			n = read_child_hints(f, f->page, hints);
	int			last = -1;

	for (int i = 0; i < n; i++)
	{
		int			next = fpb_pos_unpack(&f->ix, hints[i].pos).dir + 1;

		if ((i > 0 && hints[i].head < hints[i - 1].head) || hints[i].head == search->head)
			return;
		if (next < FpbDir(f->page)->nnodes && hints[i].head > *fpb_dir_bound(f->page, next))
			return;
		if (hints[i].head < search->head)
			last = i;
	}
	if (last < 0 || fpb_pos_before(hints[last].pos, child) || f->ix.csb)
		return;
	if (named != fuzz_node_number(f, hints[last].head) + 1)
		fuzz_fail(f, "a search for a child names %d and not what the hint at %llx does",
				  named, (unsigned long long) hints[last].head);
}

/* --- searches --- */

/*
 * Index of the first entry at or behind a place, which is that of a leaf's
 * entry.
 */
static int
find_leaf_place(const Fuzz *f, uint64 place)
{
	int			at = 0;

	if (f->level == 0)
		return fuzz_find(f->model, f->nmodel, place);
	while (at < f->nmodel &&
		   (at == 0 ? f->model[0].key == FUZZ_MINUS_INFINITY ||
			f->inner.keys[f->model[0].key].leaf_place < place :
			f->inner.keys[f->model[at].key].leaf_place < place))
		at++;
	return at;
}

/*
 * Check both ways to choose a child for a search key that is a leaf entry at
 * this place, present or not.
 */
static void
check_child(Fuzz *f, const FpbSearchKey *search, uint64 place)
{
	for (int before = 0; before <= 1; before++)
	{
		/* pivots lie before entries at their place */
		int			at = find_leaf_place(f, before ? place : place + 1) - 1;
		FpbPos		pos;
		FpbEntry	entry;
		uint16		named;

		fpb_page_child(&f->ix, f->page, search, before, &pos, &entry);
		check_entry(f, &entry, Max(at, 0), before ? "a search for the child before" :
					"a search for the child");
		if (fpb_page_downlink(&f->ix, f->page, search, before, &named) != entry.child)
			fuzz_fail(f, "a search for a downlink finds another than that for the child");
		if (fpb_page_has_child_hints(&f->ix, f->page))
			check_named(f, search, pos, named);
		else if (named != 0)
			fuzz_fail(f, "a page without child-node hints names a node");
	}
}

/*
 * Check searches for one key with a TID, whether or not the page has it.
 */
static void
check_searches_for(Fuzz *f, const FuzzKey *wanted, uint64 tid)
{
	FuzzEntry	entry = {.key = wanted - f->leaf.keys};
	int			level = f->level;
	FpbKey		key;
	FpbSearchKey search;

	entry.place = FuzzRankPlace(wanted->rank) | (wanted->key.tail & ~FPB_TAIL_TID_MASK) | tid;
	if (wanted->key.tuple != NULL)
		entry.place = FuzzRankPlace(wanted->rank) | tid;
	f->level = 0;
	fuzz_entry_key(f, &entry, &key);
	f->level = level;

	fpb_search_key_from(&f->ix, &key, &search);
	for (int i = 0; i < (fpb_is_word(&f->ix) ? 1 : 2); i++)
	{
		search.has_head = i == 0 && f->ix.cols[0].head != FPB_HEAD_NONE && !f->ix.old_heads;
		if (f->level > 0)
			check_child(f, &search, entry.place);
		else
			check_search(f, &search, fuzz_find(f->model, f->nmodel, entry.place));
	}
}

/*
 * Check the reading of all entries of one key, between the search keys that
 * scans and unique checks make.
 */
static void
check_range(Fuzz *f, const FuzzKey *wanted)
{
	FpbKey		key = wanted->key;
	FpbSearchKey low;
	FpbSearchKey high;
	FpbPos		pos;
	int			at = fuzz_find(f->model, f->nmodel, FuzzRankPlace(wanted->rank));
	int			end = fuzz_find(f->model, f->nmodel, FuzzRankPlace(wanted->rank + 1));
	int			n;
	bool		more = true;

	fpb_search_keys_equal(&f->ix, &key, false, &low);
	fpb_search_keys_equal(&f->ix, &key, true, &high);
	fpb_page_search(&f->ix, f->page, &low, &pos);
	n = fpb_page_read(&f->ix, f->page, pos, &high, f->nmodel % 2 == 0, f->items,
					  FPB_MAX_PAGE_ENTRIES, &more);
	if (n != end - at)
		fuzz_fail(f, "a range has %d entries and not %d", n, end - at);
	if (more != (end == f->nmodel))
		fuzz_fail(f, "a range is wrong about its end");
	for (int i = 0; i < n; i++)
		if (f->items[i].key.tail != FuzzPlaceTail(f->model[at + i].place))
			fuzz_fail(f, "a range has other entries than the model's from %d", at);
}

/*
 * Check that reading from pos on up to end in parts gives the n items of
 * whole[]; live: which has been read without killed ones.
 */
static void
check_reading_parts(Fuzz *f, FpbPos pos, const FpbSearchKey *end, bool live,
					const FpbItem *whole, int n, bool whole_more)
{
	static FpbItem part[FPB_MAX_PAGE_ENTRIES];
	int			enough = 1 + pg_prng_uint64(&f->check_random) % 40;
	bool		more = true;
	bool		all = false;
	int			at = 0;

	while (!all)
	{
		FpbPos		before = pos;
		bool		ignored = true;
		int			m;

		/* a caller without room makes some, and reads the same part again */
		if (fpb_page_read_part(&f->ix, f->page, &pos, end, live, enough, part,
							   pg_prng_uint64(&f->check_random) % enough, &ignored, &all) < 0 &&
			!fpb_pos_equal(pos, before))
			fuzz_fail(f, "reading a part without room has gone on");
		pos = before;
		m = fpb_page_read_part(&f->ix, f->page, &pos, end, live, enough, part,
							   FPB_MAX_PAGE_ENTRIES, &more, &all);
		if (m < 0 || m > n - at || (!all && m < enough))
			fuzz_fail(f, "a part of %d entries has %d, of which %d are left", enough, m, n - at);
		for (int i = 0; i < m; i++, at++)
			if (!fpb_pos_equal(part[i].pos, whole[at].pos) ||
				part[i].key.head != whole[at].key.head ||
				part[i].key.low != whole[at].key.low ||
				part[i].key.tail != whole[at].key.tail ||
				part[i].key.tuple != whole[at].key.tuple)
				fuzz_fail(f, "reading in parts does not find item %d", at);
	}
	if (at != n)
		fuzz_fail(f, "reading in parts finds %d and not %d", at, n);
	if (!live && more != whole_more)
		fuzz_fail(f, "reading in parts is wrong about its end");
}

/*
 * Of the n items that have been read from pos on up to end, check which are
 * killed, and that reading without these gives the others.
 */
static void
check_reading_live(Fuzz *f, FpbPos pos, const FpbSearchKey *end, int n)
{
	static FpbItem live[FPB_MAX_PAGE_ENTRIES];
	static bool killed[FPB_MAX_PAGE_ENTRIES];
	bool		more = true;
	int			nlive;
	int			at = 0;

	for (int i = 0; i < n; i++)
		killed[i] = fpb_page_is_killed(&f->ix, f->page, f->items[i].pos);
	nlive = fpb_page_read_live(&f->ix, f->page, pos, end, true, live,
							   FPB_MAX_PAGE_ENTRIES, &more);
	for (int i = 0; i < n; i++)
	{
		if (killed[i])
			continue;
		if (at == nlive || !fpb_pos_equal(live[at].pos, f->items[i].pos) ||
			live[at].key.head != f->items[i].key.head ||
			live[at].key.low != f->items[i].key.low ||
			live[at].key.tail != f->items[i].key.tail ||
			live[at].key.tuple != f->items[i].key.tuple)
			fuzz_fail(f, "reading live entries does not find item %d", i);
		at++;
	}
	if (at != nlive)
		fuzz_fail(f, "reading live entries finds %d and not %d", nlive, at);
	check_reading_parts(f, pos, end, true, live, nlive, more);
	if (nlive > 0 &&
		fpb_page_read_live(&f->ix, f->page, pos, end, true, live, nlive - 1, &more) >= 0)
		fuzz_fail(f, "reading live entries needs no room for the last of %d", nlive);
}

/*
 * Check that reading from some slots before the model's to'th entry up to that
 * gives the entries before it.
 */
static void
check_reading_back(Fuzz *f, int to, const FpbSearchKey *end)
{
	static FpbItem items[FPB_MAX_PAGE_ENTRIES];
	FpbPos		pos = FPB_POS_END;
	bool		more = true;
	FpbEntry	entry = {0};
	int			n;

	if (end != NULL)
		fpb_page_search(&f->ix, f->page, end, &pos);
	pos = fpb_page_back(&f->ix, f->page, pos, 1 + pg_prng_uint64(&f->check_random) % 40);
	n = fpb_page_read(&f->ix, f->page, pos, end, false, items, FPB_MAX_PAGE_ENTRIES, &more);
	if (n < 0 || n > to || (n < to && fpb_pos_equal(pos, FPB_POS_FIRST)))
		fuzz_fail(f, "reading from before entry %d gives %d", to, n);
	for (int i = 0; i < n; i++)
	{
		entry.key = items[i].key;
		check_entry(f, &entry, to - n + i, "reading from before an entry");
	}
}

/*
 * Check that reading the first entries from start to end, of which n have been
 * read, gives those, and tells what comes next.
 */
static void
check_reading_first(Fuzz *f, const FpbSearchKey *start, const FpbSearchKey *end, FpbPos pos, int n)
{
	FpbItem		items[8];
	FpbReadFirst first;
	FpbEntry	entry;
	bool		live = pg_prng_bool(&f->check_random);
	int			most = pg_prng_uint64(&f->check_random) % lengthof(items);
	int			m = fpb_page_read_first(&f->ix, f->page, start, end, live, most, items, &first);
	int			at = 0;
	FpbStop		stop = n > most ? FPB_STOP_ENOUGH : FPB_STOP_PAGE;

	if (!fpb_pos_equal(first.begin, pos))
		fuzz_fail(f, "reading the first entries begins elsewhere");
	if (first.nread != Min(n, most))
		fuzz_fail(f, "reading %d first entries of %d gives %d", most, n, first.nread);
	for (int i = 0; i < first.nread; i++)
	{
		const FpbItem *item = &f->items[i];

		if (live && fpb_page_is_killed(&f->ix, f->page, item->pos))
		{
			if (i == 0 && !first.first_killed)
				fuzz_fail(f, "reading the first entries does not tell that the first is killed");
			continue;
		}
		if (i == 0 && first.first_killed)
			fuzz_fail(f, "reading the first entries takes the first for a killed one");
		if (at == m || !fpb_pos_equal(items[at].pos, item->pos) ||
			items[at].key.head != item->key.head || items[at].key.low != item->key.low ||
			items[at].key.tail != item->key.tail || items[at].key.tuple != item->key.tuple)
			fuzz_fail(f, "reading the first entries does not find item %d", i);
		at++;
	}
	if (at != m)
		fuzz_fail(f, "reading the first entries finds %d and not %d", m, at);
	if (first.nread > 0 && (!fpb_pos_equal(first.last, f->items[first.nread - 1].pos) ||
							!fpb_pos_equal(first.behind, fpb_pos_behind(first.last))))
		fuzz_fail(f, "reading the first entries ends elsewhere");
	if (first.nread == 0 && !fpb_pos_equal(first.behind, pos))
		fuzz_fail(f, "reading no entries goes on");

	pos = first.behind;
	if (!fpb_page_next(&f->ix, f->page, &pos, &entry))
	{
		if (first.stop != FPB_STOP_PAGE)
			fuzz_fail(f, "reading the first entries finds one too many");
		return;
	}
	if (n <= most)
		stop = FPB_STOP_END;
	if (first.stop != stop || first.next.head != entry.key.head ||
		first.next.low != entry.key.low || first.next.tail != entry.key.tail ||
		first.next.tuple != entry.key.tuple)
		fuzz_fail(f, "reading the first entries is wrong about the next one");
}

/*
 * Check the reading of a leaf's entries from the model's from'th up to the
 * to'th, or to the page's end, as scans and VACUUM read them.
 */
static void
check_reading(Fuzz *f, int from, int to)
{
	FpbKey		key;
	FpbSearchKey start;
	FpbSearchKey end;
	FpbPos		pos = FPB_POS_FIRST;
	FpbEntry	entry;
	int			n;
	bool		more = true;

	if (from > 0)
	{
		fuzz_entry_key(f, &f->model[from], &key);
		fpb_search_key_from(&f->ix, &key, &start);
		fpb_page_search(&f->ix, f->page, &start, &pos);
	}
	if (to < f->nmodel)
	{
		fuzz_entry_key(f, &f->model[to], &key);
		fpb_search_key_from(&f->ix, &key, &end);
	}
	n = fpb_page_read(&f->ix, f->page, pos, to < f->nmodel ? &end : NULL, true, f->items,
					  FPB_MAX_PAGE_ENTRIES, &more);
	if (n != to - from)
		fuzz_fail(f, "reading from %d to %d gives %d entries", from, to, n);
	if (more != (to == f->nmodel))
		fuzz_fail(f, "reading is wrong about its end");
	check_reading_parts(f, pos, to < f->nmodel ? &end : NULL, false, f->items, n, more);
	check_reading_live(f, pos, to < f->nmodel ? &end : NULL, n);
	check_reading_back(f, to, to < f->nmodel ? &end : NULL);
	check_reading_first(f, from > 0 ? &start : NULL, to < f->nmodel ? &end : NULL, pos, n);
	for (int i = 0; i < n; i++)
	{
		const FpbItem *item = &f->items[i];

		if (!fpb_page_next(&f->ix, f->page, &pos, &entry) ||
			!fpb_pos_equal(item->pos, pos))
			fuzz_fail(f, "reading finds the entry at %d elsewhere", from + i);
		entry.key = item->key;
		check_entry(f, &entry, from + i, "reading a range");
		pos = fpb_pos_behind(pos);
	}
}

/*
 * Check searches for keys of the page and for others.
 */
static void
check_searches(Fuzz *f)
{
	int			n = f->thorough ? Min(f->nmodel, 16) : 1;

	for (int i = 0; i < n; i++)
	{
		uint64		random = pg_prng_uint64(&f->check_random);
		const FuzzKey *key = &f->leaf.keys[random % f->leaf.nkeys];
		uint64		tid = (random >> 32) & 0x3FFF;

		if (f->level == 0 && f->nmodel > 0 && (f->thorough || (random & 3) != 0))
		{
			const FuzzEntry *entry = &f->model[f->thorough ? i * f->nmodel / n :
											   (random >> 8) % f->nmodel];

			key = &f->leaf.keys[entry->key];
			if (random & 4)
				tid = FuzzPlaceTail(entry->place) & FPB_TAIL_TID_MASK;
		}
		else if (f->level > 0 && f->nmodel > 1 && (random & 1) != 0)
		{
			/* about the place of one of its pivots */
			const FuzzEntry *entry = &f->model[1 + (random >> 8) % (f->nmodel - 1)];
			uint64		place = f->inner.keys[entry->key].leaf_place;
			int			rank = FuzzPlaceRank(place);

			if (rank <= f->leaf.nranks)
			{
				key = &f->leaf.keys[f->leaf.first[rank]];
				tid = FuzzPlaceTail(place) & FPB_TAIL_TID_MASK;
			}
		}
		/* (an entry with offset number 0 would be a pivot) */
		if ((tid & FPB_TAIL_MAX_OFFSET) == 0)
			tid++;
		check_searches_for(f, key, tid);
		if (f->level == 0 && !fpb_is_word(&f->ix) && (f->thorough || (random & 24) == 0))
			check_range(f, key);
	}
}

/* --- whole pages --- */

/*
 * Check one fence.
 */
static void
check_fence(Fuzz *f, const FuzzFence *fence, bool low)
{
	FpbKey		key;

	if (fence->finite == (low ? FpbPageIsLeftmost(f->page) : FpbPageIsRightmost(f->page)))
		fuzz_fail(f, "the page's flags are wrong about its fences");
	if (!fence->finite)
		return;
	if (low)
		fpb_page_low(&f->ix, f->page, &key);
	else
		fpb_page_high(&f->ix, f->page, &key);
	if (!low && FpbPageHighElided(f->page) ? key.head != fence->key.head :
		key.tail != fence->key.tail || !identical(f, &key, &fence->key))
		fuzz_fail(f, "the %s fence has changed", low ? "low" : "high");
}

/*
 * Check that there are killed bits at no entries but those that have been
 * given one.  (fpb_page_fault says where else there must be none.)
 */
static void
check_hints(Fuzz *f)
{
	FpbPos		pos = FPB_POS_FIRST;
	FpbEntry	entry;
	int			nkilled;
	int			at = 0;

	if (f->level > 0 || !fpb_page_has_killed(&f->ix, f->page))
		return;
	nkilled = fpb_page_read_killed(&f->ix, f->page, f->items);
	for (int i = 0; i < f->nmodel && fpb_page_next(&f->ix, f->page, &pos, &entry); i++)
	{
		if (fpb_page_is_killed(&f->ix, f->page, pos))
		{
			if (!f->model[i].killed)
				fuzz_fail(f, "the entry at %d has a killed bit that was not left there", i);
			if (at == nkilled || f->items[at].key.tail != entry.key.tail ||
				!fpb_pos_equal(f->items[at].pos, pos))
				fuzz_fail(f, "the entry at %d is not read as killed", i);
			at++;
		}
		pos = fpb_pos_behind(pos);
	}
	if (at < nkilled)
		fuzz_fail(f, "%d entries are read as killed, and not %d", nkilled, at);
}

/*
 * Ask the layout itself what is wrong with the page.
 */
static void
check_structure(Fuzz *f)
{
	const char *fault = fpb_header_fault(&f->ix, f->page);

	if (fault == NULL)
		fault = fpb_page_fault(&f->ix, f->page);
	if (fault != NULL)
		fuzz_fail(f, "%s", fault);
}

/*
 * Do tuples of this content differ in alignment?
 */
static bool
mixes_alignment(const FpbIndex *ix, const FpbPageContent *content)
{
	bool		any[MAXIMUM_ALIGNOF + 1] = {0};

	for (int i = 0; i < content->nentries; i++)
		any[fpb_tuple_align(ix, content->entries[i].key.tuple)] = true;
	if (content->low != NULL)
		any[fpb_tuple_align(ix, content->low->tuple)] = true;
	if (content->high != NULL && content->high->tuple != NULL)
		any[fpb_tuple_align(ix, content->high->tuple)] = true;
	return (any[sizeof(int32)] || any[MAXIMUM_ALIGNOF]) && any[sizeof(uint16)];
}

/*
 * Bytes that the tuples of a leaf's entries need, with no gaps in postings.
 */
static Size
least_tuple_bytes(const Fuzz *f, Page page)
{
	Size		bytes = 0;

	for (int dir = 0; dir < FpbDir(page)->nnodes; dir++)
	{
		const uint16 *tuples = fpb_node_tuples(f->shape, fpb_node_at(f->shape, page, dir));

		for (int slot = 0; slot < f->shape->nslots; slot++)
		{
			IndexTuple	tuple = (IndexTuple) ((char *) page + tuples[slot]);

			if (tuples[slot] == 0)
				continue;
			bytes += fpb_is_posting(tuple) ?
				fpb_posting_space(&f->ix, tuple, fpb_posting_entries(tuple), fpb_posting_width(tuple)) :
				fpb_tuple_space(&f->ix, tuple);
		}
	}
	return bytes;
}

/*
 * Check that the page's entries, in f->found, fit a page made afresh, and that
 * their tuples take no more bytes there: FORMAT.md has the proof, with an
 * exception for tuples that differ in alignment.
 */
static void
check_afresh(Fuzz *f)
{
	static PGIOAlignedBlock afresh;
	FpbKey		low;
	FpbKey		high;
	FpbPageContent content;

	fpb_page_frame(&f->ix, f->page, &low, &high, &content);
	content.entries = f->found;
	content.nentries = f->nmodel;
	if (!fuzz_disk_first(f) ||
		(!fpb_is_word(&f->ix) && mixes_alignment(&f->ix, &content)))
		return;
	if (!fpb_page_build(&f->ix, afresh.data, &content, 0))
		fuzz_fail(f, "the page made afresh would need more room");
	if (fpb_is_word(&f->ix) || f->level > 0)
		return;
	fpb_choose_prefix(&f->ix, &content, FPB_PREFIX_KEPT);
	if (f->nmodel > 0 && f->ix.cut_most > 0 && content.prefix != fpb_page_prefix(&f->ix, f->page))
		fuzz_fail(f, "the page made afresh can't keep the prefix");
	if (!f->ix.layout->build(&f->ix, afresh.data, &content, 0) ||
		least_tuple_bytes(f, afresh.data) > least_tuple_bytes(f, f->page))
		fuzz_fail(f, "the tuples of the page made afresh would take more bytes");
	fpb_forget_prefix(&content, f->found);
}

/*
 * Check what the page has in it.
 */
static void
check_content(Fuzz *f)
{
	int			n;

	check_fence(f, &f->low, true);
	check_fence(f, &f->high, false);
	n = fpb_page_entries(&f->ix, f->page, f->found);
	for (int i = 0; i < Min(n, f->nmodel); i++)
		check_entry(f, &f->found[i], i, "reading the page");
	if (n != f->nmodel)
		fuzz_fail(f, "the page has %d entries and not %d", n, f->nmodel);
	if (fpb_page_is_empty(&f->ix, f->page) != (n == 0))
		fuzz_fail(f, "the page is wrong about being empty");
	if (f->thorough)
	{
		const char *fault = fpb_page_order_fault(&f->ix, f->page, f->found, n);

		if (fault != NULL)
			fuzz_fail(f, "%s", fault);
	}
	check_afresh(f);
	check_hints(f);
	check_exits(f);
	check_searches(f);
	if (f->level == 0 && f->nmodel > 0)
	{
		int			from = pg_prng_uint64_range(&f->check_random, 0, f->nmodel - 1);

		check_reading(f, from, pg_prng_uint64_range(&f->check_random, from, f->nmodel));
		if (f->thorough)
			check_reading(f, 0, f->nmodel);
	}
}

/*
 * Check the whole page.
 */
void
fuzz_check_page(Fuzz *f)
{
	check_structure(f);
	check_content(f);
}

/*
 * Check as much of the page as there is credit for.  Tuples make the structure
 * take some time.
 */
void
fuzz_check_some(Fuzz *f)
{
	f->credit += CREDIT;
	f->structure_credit += CREDIT;
	if (f->thorough || f->structure_credit >= 16 + (fpb_is_word(&f->ix) ? 1 : 8) * f->nmodel)
	{
		f->structure_credit = 0;
		check_structure(f);
	}
	if (f->thorough || f->credit >= f->nmodel)
	{
		f->credit = 0;
		check_content(f);
	}
}
