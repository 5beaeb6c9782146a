/*-------------------------------------------------------------------------
 *
 * fuzz_life.c
 *	  The life of one page: what the page fuzzer does to it, by chance.
 *
 * Faults hide where something rare follows something rare, so a life is not
 * uniform: its keys are few or many, it goes through phases that each put
 * their keys in another way, and it prefers some operations to others.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fuzz.h"

/* how a phase chooses the keys it inserts */
typedef enum Phase
{
	PHASE_RANDOM,
	PHASE_BURST,				/* one key over and over */
	PHASE_UP,					/* ascending keys */
	PHASE_LATE,					/* ascending keys, some of them late */
	PHASE_SERIES,				/* a few series of ascending keys */
	PHASE_DOWN,
	PHASE_BESIDE,				/* keys beside the page's own */
	PHASE_NEW,					/* keys the page does not have */
	PHASES
} Phase;

/* how TIDs are chosen */
typedef enum Tids
{
	TIDS_DENSE,
	TIDS_ASCENDING,
	TIDS_WILD,
	TIDS_WIDTHS,				/* few of them long to store */
	TIDS_BESIDE,				/* next to one the key has */
	TIDS_MODES
} Tids;

typedef struct Life
{
	Fuzz	   *f;
	FuzzHistory *history;
	pg_prng_state random;

	int			first_rank;		/* the keys in use */
	int			nranks;
	int			hot[3];			/* ranks preferred */
	int			hot_percent;
	Tids		tids;
	uint64		counter;		/* of ascending TIDs */

	Phase		phase;
	int			phase_left;		/* insertions until the next */
	int			rank;			/* PHASE_BURST, and those of ascending or
								 * descending keys */
	int			series[3];		/* PHASE_SERIES: rank of the next */
	int			newest;			/* rank inserted last */

	/* of a thousand operations; the rest are insertions */
	int			deletions;
	int			kills;
	int			extensions;
	int			names;
	int			replacements;
	int			images;			/* of a thousand insertions */
	int			splits;
} Life;

/*
 * A random number below n.
 */
static int
below(Life *life, int n)
{
	return n <= 1 ? 0 : (int) (pg_prng_uint64(&life->random) % n);
}

/*
 * One of some numbers.
 */
#define ONE_OF(life, ...) \
	one_of(life, (const int[]) {__VA_ARGS__}, lengthof(((const int[]) {__VA_ARGS__})))

static int
one_of(Life *life, const int *numbers, int n)
{
	return numbers[below(life, n)];
}

/* --- writing the history --- */

/*
 * Append an operation to the history, without entries so far.
 */
static FuzzOp *
new_op(Life *life, FuzzOpKind kind)
{
	FuzzHistory *h = life->history;
	FuzzOp	   *op;

	if (h->nops == h->max_ops)
	{
		h->max_ops *= 2;
		h->ops = repalloc_array(h->ops, FuzzOp, h->max_ops);
	}
	op = &h->ops[h->nops++];
	memset(op, 0, sizeof(*op));
	op->kind = kind;
	op->first = h->nentries;
	return op;
}

/*
 * Append an entry to the last operation.
 */
static void
add_entry(Life *life, const FuzzEntry *entry)
{
	FuzzHistory *h = life->history;

	if (h->nentries == h->max_entries)
	{
		h->max_entries *= 2;
		h->entries = repalloc_array(h->entries, FuzzEntry, h->max_entries);
	}
	h->entries[h->nentries++] = *entry;
	h->ops[h->nops - 1].nentries++;
}

/*
 * Do the last operation.  One that has not done anything is forgotten.
 */
static bool
perform(Life *life)
{
	FuzzHistory *h = life->history;
	FuzzOp	   *op = &h->ops[h->nops - 1];

	if (fuzz_perform(life->f, h, op))
		return true;
	h->nentries = op->first;
	h->nops--;
	return false;
}

/* --- choosing entries --- */

/*
 * Begin another phase.
 */
static void
next_phase(Life *life)
{
	life->phase = below(life, PHASES);
	life->phase_left = 1 + below(life, ONE_OF(life, 10, 40, 200));
	life->rank = life->first_rank + below(life, life->nranks);
	for (int i = 0; i < lengthof(life->series); i++)
		life->series[i] = life->first_rank + below(life, life->nranks);
	if (life->phase == PHASE_BURST && life->f->nmodel > 0 && below(life, 2))
		life->rank = FuzzPlaceRank(life->f->model[below(life, life->f->nmodel)].place);
}

/*
 * The rank of the key to insert next.
 */
static int
choose_rank(Life *life)
{
	Fuzz	   *f = life->f;
	int			rank = life->first_rank + below(life, life->nranks);

	if (below(life, 100) < life->hot_percent)
		rank = life->hot[below(life, lengthof(life->hot))];
	switch (life->phase)
	{
		case PHASE_RANDOM:
		case PHASES:
			break;
		case PHASE_BURST:
			if (below(life, 20) > 0)
				rank = life->rank;
			break;
		case PHASE_UP:
			rank = life->rank++;
			break;
		case PHASE_LATE:
			rank = life->rank++ - below(life, 4) * below(life, 3);
			break;
		case PHASE_SERIES:
			rank = life->series[below(life, lengthof(life->series))]++;
			break;
		case PHASE_DOWN:
			rank = life->rank--;
			break;
		case PHASE_BESIDE:
			if (f->nmodel > 0)
				rank = FuzzPlaceRank(f->model[below(life, f->nmodel)].place) + below(life, 3) - 1;
			break;
		case PHASE_NEW:
			for (int i = 0; i < 8; i++)
			{
				int			at = fuzz_find(f->model, f->nmodel, FuzzRankPlace(rank));

				if (at == f->nmodel || FuzzPlaceRank(f->model[at].place) != rank)
					break;
				rank = life->first_rank + below(life, life->nranks);
			}
			break;
	}
	rank = Max(rank, 1);
	return Min(rank, f->pool->nranks);
}

/*
 * A TID for a key of this rank.
 */
static uint64
choose_tid(Life *life, int rank)
{
	Fuzz	   *f = life->f;
	uint64		tid;

	switch (life->tids)
	{
		case TIDS_ASCENDING:
			life->counter++;
			return (life->counter / 100) << FPB_TAIL_OFFSET_BITS | (life->counter % 100 + 1);
		case TIDS_WILD:
			tid = pg_prng_uint64(&life->random) & FPB_TAIL_TID_MASK;
			return (tid & FPB_TAIL_MAX_OFFSET) == 0 ? tid + 1 : tid;
		case TIDS_WIDTHS:
			tid = pg_prng_uint64(&life->random) & FPB_TAIL_TID_MASK;
			tid >>= ONE_OF(life, 12, 12, 12, 12, 12, 12, 12, 4, 4, 0);
			return (tid & FPB_TAIL_MAX_OFFSET) == 0 ? tid + 1 : tid;
		case TIDS_BESIDE:
			{
				int			from = fuzz_find(f->model, f->nmodel, FuzzRankPlace(rank));
				int			to = fuzz_find(f->model, f->nmodel, FuzzRankPlace(rank + 1));

				if (from < to)
				{
					tid = FuzzPlaceTail(f->model[from + below(life, to - from)].place) & FPB_TAIL_TID_MASK;
					tid += below(life, 2) ? 1 : -1;
					if (tid <= FPB_TAIL_TID_MASK && (tid & FPB_TAIL_MAX_OFFSET) != 0)
						return tid;
				}
				break;
			}
		case TIDS_DENSE:
		case TIDS_MODES:
			break;
	}
	return (uint64) below(life, 8) << FPB_TAIL_OFFSET_BITS | (1 + below(life, 200));
}

/*
 * An entry with a key of this rank.  False if no such key is short enough.
 */
static bool
make_entry(Life *life, int rank, FuzzEntry *entry)
{
	Fuzz	   *f = life->f;
	int			n = f->pool->first[rank + 1] - f->pool->first[rank];
	const FuzzKey *key = &f->pool->keys[f->pool->first[rank] + below(life, n)];

	memset(entry, 0, sizeof(*entry));
	entry->key = key - f->pool->keys;
	entry->place = FuzzRankPlace(rank);
	if (f->level == 0)
		entry->place |= choose_tid(life, rank) |
			(key->key.tuple == NULL ? key->key.tail : 0);
	return key->size <= f->max_tuple;
}

/*
 * A fence, or -1 for an infinite one.
 */
static int
choose_fence(Life *life)
{
	Fuzz	   *f = life->f;
	int			low = 0;
	int			n = f->inner.nkeys;

	if (below(life, 3) == 0)
		return -1;

	/* one of those about the keys in use more often than not */
	if (below(life, 4) > 0)
	{
		if (f->level > 0)
		{
			low = f->inner.first[life->first_rank];
			n = life->nranks;
		}
		else
		{
			while (low < n - 1 && FuzzPlaceRank(f->inner.keys[low].leaf_place) < life->first_rank)
				low++;
			n = 1;
			while (low + n < f->inner.nkeys &&
				   FuzzPlaceRank(f->inner.keys[low + n].leaf_place) <= life->first_rank + life->nranks)
				n++;
		}
	}
	low += below(life, n);
	return f->inner.keys[low].size <= f->max_tuple ? low : -1;
}

/* --- beginning --- */

/*
 * Entries for the page to begin with: runs of duplicates, of lengths at which
 * something changes; or so many other keys that few runs are among them.
 */
static void
add_runs(Life *life)
{
	const FpbShape *shape = life->f->shape;
	int			plain = fuzz_disk_first(life->f) ? shape->nslots : 30;
	int			places = fuzz_disk_first(life->f) ? fpb_runs_places(&life->f->ix, shape, 1,
																	ONE_OF(life, FPB_SHORT_TAIL, FPB_TAIL_BYTES)) : 60;
	int			length = ONE_OF(life, plain * 2 / 3, plain, places, 2 * places, 3, 30, 2, 200);
	int			spread = ONE_OF(life, 0, 1, 2, length);
	int			singles = ONE_OF(life, 0, 0, 90, 99);	/* in a hundred */
	int			total = singles > 0 ? 1500 : ONE_OF(life, 20, 100, 400, 1500);

	for (int rank = life->first_rank; rank < life->first_rank + life->nranks && total > 0; rank++)
	{
		int			n = below(life, 100) < singles ? 1 :
			length - spread + below(life, 2 * spread + 1);

		for (int i = 0; i < n; i++)
		{
			FuzzEntry	entry;

			if (make_entry(life, rank, &entry))
				add_entry(life, &entry);
		}
		total -= n;
	}
}

/*
 * Make the page.
 */
static void
begin(Life *life)
{
	FuzzOp	   *op;
	bool		fill = below(life, 5) == 0;
	int			n = ONE_OF(life, 0, 1, 20, 100, fill ? 2000 : 600);

	op = new_op(life, fill ? FUZZ_FILL : FUZZ_BUILD);
	op->full = !fill && below(life, 2);
	op->percent = fill ? ONE_OF(life, 10, 50, 70, 90, 100) :
		op->full ? ONE_OF(life, 0, 1, 2, 10) : ONE_OF(life, 0, 0, 5, 15, 25, 50);
	op->low = choose_fence(life);
	op->high = choose_fence(life);
	op->elide = below(life, 8) == 0;
	if (life->f->level == 0 && below(life, 2))
		add_runs(life);
	else
		for (int i = 0; i < n; i++)
		{
			FuzzEntry	entry;

			if (make_entry(life, choose_rank(life), &entry))
				add_entry(life, &entry);
		}
	fuzz_perform(life->f, life->history, &life->history->ops[0]);
}

/* --- operations --- */

static bool
insert(Life *life)
{
	FuzzOp	   *op;
	FuzzEntry	entry;

	if (life->phase_left-- <= 0)
		next_phase(life);
	life->newest = choose_rank(life);
	if (!make_entry(life, life->newest, &entry))
		return false;
	op = new_op(life, FUZZ_INSERT);
	op->image = below(life, 1000) < life->images;
	op->split = below(life, 1000) < life->splits;
	op->halves = ONE_OF(life, FPB_HALVES_IN_PLACE, FPB_HALVES_IN_PLACE, FPB_HALVES_IN_PLACE,
						FPB_HALVES_IN_PLACE, FPB_HALVES_SPREAD, FPB_HALVES_PACKED);
	op->keep_right = below(life, 2);
	op->percent = ONE_OF(life, 10, 50, 90, 95, 100);
	op->following = ONE_OF(life, 0, 0, 0, 1, 50, 1000);
	add_entry(life, &entry);
	return perform(life);
}

/*
 * The number of the node that an entry is in, or what is like one.
 */
static int
node_of(const Fuzz *f, FpbPos pos)
{
	return fuzz_disk_first(f) ? fpb_pos_unpack(&f->ix, pos).dir : (int) (pos.number / 32);
}

/*
 * About how many entries a node has.
 */
static int
node_entries(const Fuzz *f)
{
	return fuzz_disk_first(f) ? f->shape->nslots : 32;
}

/*
 * Choose the entries in the node of the at'th one, or in all nodes from there
 * on.
 */
static void
add_node(Life *life, int at, bool rest)
{
	Fuzz	   *f = life->f;
	FpbPos		pos = FPB_POS_FIRST;
	FpbEntry	ignored;
	int			n = 0;

	while (n < f->nmodel && fpb_page_next(&f->ix, f->page, &pos, &ignored))
	{
		f->positions[n++] = pos;
		pos = fpb_pos_behind(pos);
	}
	for (int i = 0; i < n; i++)
	{
		int			dir = node_of(f, f->positions[i]);
		int			here = node_of(f, f->positions[at]);

		if (dir == here || (rest && dir > here))
			add_entry(life, &f->model[i]);
	}
}

/*
 * Leave so many entries of each key.
 */
static void
add_thinned(Life *life, int keep)
{
	Fuzz	   *f = life->f;
	int			run = 0;

	for (int i = 0; i < f->nmodel; i++)
	{
		if (i > 0 && FuzzPlaceRank(f->model[i].place) != FuzzPlaceRank(f->model[i - 1].place))
			run = 0;
		if (run++ >= keep)
			add_entry(life, &f->model[i]);
	}
}

/*
 * Choose entries, for deletion or killed bits.
 */
static void
add_some(Life *life)
{
	Fuzz	   *f = life->f;
	int			at = below(life, f->nmodel);
	int			rank = FuzzPlaceRank(f->model[at].place);
	int			percent = ONE_OF(life, 5, 30, 60, 95);
	int			kind = below(life, 12);

	switch (kind)
	{
		case 0:					/* the newest key's */
		case 1:					/* one key's */
		case 2:					/* most of it */
		case 3:
			if (kind != 1)
				rank = life->newest;
			for (int i = 0; i < f->nmodel; i++)
				if (FuzzPlaceRank(f->model[i].place) == rank &&
					(kind != 2 || below(life, 8) > 0))
					add_entry(life, &f->model[i]);
			break;
		case 4:					/* a share of all */
			for (int i = 0; i < f->nmodel; i++)
				if (below(life, 100) < percent)
					add_entry(life, &f->model[i]);
			break;
		case 5:
			add_node(life, at, below(life, 4) == 0);
			break;
		case 6:					/* those known dead */
			for (int i = 0; i < f->nmodel; i++)
				if (f->model[i].killed)
					add_entry(life, &f->model[i]);
			break;
		case 7:					/* each key's but for a few */
			if (below(life, 4) == 0)
				add_thinned(life, ONE_OF(life, 1, 3, node_entries(f) * 2 / 3 - 1));
			break;
		default:
			add_entry(life, &f->model[at]);
			break;
	}
}

static bool
delete_or_kill(Life *life, FuzzOpKind kind)
{
	if (life->f->nmodel == 0)
		return false;
	new_op(life, kind);
	add_some(life);
	return perform(life);
}

static bool
extend(Life *life)
{
	FuzzOp	   *op = new_op(life, FUZZ_EXTEND);

	op->high = choose_fence(life);
	op->elide = below(life, 8) == 0;
	return perform(life);
}

/*
 * Name the nodes of one of the children, which begin about where it does, or
 * with any heads.
 */
static bool
name_nodes(Life *life)
{
	Fuzz	   *f = life->f;
	int			at = below(life, f->nmodel);
	int			n = below(life, ONE_OF(life, 4, 20, 60));
	int			reach = ONE_OF(life, 3, 10, 100);
	FuzzEntry	heads[60];

	new_op(life, FUZZ_NAME);
	add_entry(life, &f->model[at]);
	for (int i = 0; i < n; i++)
	{
		int			rank = FuzzPlaceRank(f->model[at].place) + below(life, reach) - 1;

		make_entry(life, Min(Max(rank, 1), f->pool->nranks), &heads[i]);
	}
	n = fuzz_sort(heads, n);
	for (int i = 0; i < n; i++)
		add_entry(life, &heads[i]);
	return perform(life);
}

/* --- all of it --- */

/*
 * Have the first key of a node go and another fill the node: then a new key
 * comes between the two.  The node's bound in the directory is lower than what
 * it holds then.
 */
static void
replace_key(Life *life)
{
	Fuzz	   *f = life->f;
	int			rank = FuzzPlaceRank(f->model[below(life, f->nmodel)].place);
	int			gone = 1 + below(life, 3);
	int			n = below(life, 3 * node_entries(f));
	FuzzEntry	entry;

	new_op(life, FUZZ_DELETE);
	for (int i = 0; i < f->nmodel; i++)
		if (FuzzPlaceRank(f->model[i].place) >= rank &&
			FuzzPlaceRank(f->model[i].place) < rank + gone)
			add_entry(life, &f->model[i]);
	perform(life);
	for (int i = 0; i <= n; i++)
	{
		int			other = rank + (i < n ? 2 : 1);

		if (other > f->pool->nranks || !make_entry(life, other, &entry))
			return;
		new_op(life, FUZZ_INSERT)->percent = 90;
		life->history->ops[life->history->nops - 1].halves = FPB_HALVES_IN_PLACE;
		add_entry(life, &entry);
		perform(life);
	}
}

/*
 * Empty a runs node, have as many entries on either side of it, and split the
 * page there.
 */
static void
split_beside_emptied(Life *life)
{
	Fuzz	   *f = life->f;
	int			nnodes = fuzz_disk_first(f) ? FpbDir(f->page)->nnodes : 0;
	int			dir = nnodes > 0 ? below(life, nnodes) : 0;
	FpbCodec	codec;
	char	   *node;
	int			slot;
	FpbPos		pos = FPB_POS_FIRST;
	FpbEntry	entry;
	FuzzEntry	new;
	int			at = 0;
	int			from;
	int			to;

	if (nnodes == 0)
		return;
	while (dir < nnodes - 1 && *fpb_dir_codec(f->page, dir) != FPB_NODE_RUNS)
		dir++;
	node = fpb_page_node(&f->ix, f->page, dir, &codec);
	slot = fpb_next_live(&f->ix, f->shape, codec, node, 0);
	if (codec != FPB_NODE_RUNS || slot == fpb_node_slots(&f->ix, f->shape, codec, node))
		return;
	while (fpb_page_next(&f->ix, f->page, &pos, &entry) &&
		   fpb_pos_before(pos, fpb_pos_at(dir, slot, 0)))
	{
		at++;
		pos = fpb_pos_behind(pos);
	}
	from = fuzz_find(f->model, f->nmodel, FuzzRankPlace(FuzzPlaceRank(f->model[at].place)));
	to = fuzz_find(f->model, f->nmodel, FuzzRankPlace(FuzzPlaceRank(f->model[at].place) + 1));
	if (from == 0 || to == f->nmodel)
		return;

	/* what is too much on one side goes from its far end */
	new_op(life, FUZZ_DELETE);
	for (int i = 0; i < f->nmodel; i++)
		if ((i >= from && i < to) || i < from - (f->nmodel - to) ||
			i >= to + from)
			add_entry(life, &f->model[i]);
	at = FuzzPlaceRank(f->model[to].place);
	perform(life);
	if (make_entry(life, at, &new))
	{
		FuzzOp	   *op = new_op(life, FUZZ_INSERT);

		op->split = true;
		op->halves = FPB_HALVES_IN_PLACE;
		op->percent = 50;
		op->keep_right = below(life, 2);
		add_entry(life, &new);
		perform(life);
	}
}

/*
 * Decide what kind of life it will be.
 */
static void
choose_habits(Life *life)
{
	Fuzz	   *f = life->f;
	FuzzHistory *h = life->history;
	int			all;

	h->level = below(life, 4) == 0 ? 1 : 0;
	h->lines = ONE_OF(life, 2, 2, 2, 3, 4, 0, 0, 2 + below(life, FPB_MAX_LINES - 1));
	if (fpb_is_word(&f->ix) && fuzz_disk_first(f))
		h->max_nodes = ONE_OF(life, 0, 3, 4, 6, 10);
	else
		h->max_nodes = 0;
	h->killed_bits = !fuzz_disk_first(f) || fpb_is_word(&f->ix) || h->lines < 2 || h->lines > 4 ? 1 : ONE_OF(life, 1, 1, 32);
	fuzz_begin(f, h);

	all = f->pool->nranks;
	life->nranks = ONE_OF(life, 1, 2, 3, 5, 20, 100, FUZZ_MAX_KEYS);
	if (f->level > 0)
		life->nranks = Max(life->nranks, 50);
	life->nranks = Min(life->nranks, all);
	life->first_rank = 1 + below(life, all - life->nranks + 1);
	for (int i = 0; i < lengthof(life->hot); i++)
		life->hot[i] = life->first_rank + below(life, life->nranks);
	life->newest = life->hot[0];
	life->hot_percent = ONE_OF(life, 0, 50, 90);
	life->tids = below(life, TIDS_MODES);
	life->deletions = ONE_OF(life, 2, 20, 60, 200);
	life->kills = ONE_OF(life, 0, 3, 20);
	life->replacements = f->level == 0 ? ONE_OF(life, 0, 3, 20) : 0;
	life->extensions = ONE_OF(life, 1, 10);
	life->names = fpb_is_word(&f->ix) && f->ix.layout->id == FPB_CACHE_FIRST && f->level == 1 ?
		ONE_OF(life, 20, 200, 600) : 0;
	life->images = ONE_OF(life, 0, 1, 15);
	life->splits = ONE_OF(life, 0, 0, 4);
}

/*
 * One page's life, written down in the history.  Fails by fuzz_fail.
 */
bool
fuzz_live(Fuzz *f, uint64 seed, FuzzHistory *history)
{
	Life		life = {.f = f,.history = history};
	int			steps;
	int			vain = 0;

	history->nops = history->nentries = 0;
	pg_prng_seed(&life.random, seed);
	choose_habits(&life);
	steps = ONE_OF(&life, 50, 300, 1500);
	next_phase(&life);
	begin(&life);

	/* thinned to just below a threshold, and then only new keys */
	if (f->level == 0 && f->nmodel > 0 && below(&life, 4) == 0)
	{
		new_op(&life, FUZZ_DELETE);
		add_thinned(&life, ONE_OF(&life, node_entries(f) * 2 / 3 - 1,
								  node_entries(f) * 2 / 3, 1, 2 + below(&life, 20)));
		if (perform(&life) && below(&life, 2))
		{
			life.phase = PHASE_NEW;
			life.phase_left = steps;
			life.hot_percent = 0;
		}
	}
	while (steps-- > 0 && vain < 100)
	{
		int			x = below(&life, 1000);
		bool		done;

		if ((x -= life.deletions) < 0)
			done = delete_or_kill(&life, FUZZ_DELETE);
		else if ((x -= life.kills) < 0)
			done = delete_or_kill(&life, FUZZ_KILL);
		else if ((x -= life.extensions) < 0)
			done = extend(&life);
		else if ((x -= life.names) < 0 && f->nmodel > 0)
			done = name_nodes(&life);
		else if ((x -= life.replacements) < 0 && f->nmodel > 0)
		{
			if (below(&life, 2))
				replace_key(&life);
			else
				split_beside_emptied(&life);
			done = true;
		}
		else
			done = insert(&life);
		vain = done ? 0 : vain + 1;
	}
	f->thorough = true;
	fuzz_check_page(f);
	f->thorough = false;
	f->lives++;
	return true;
}
