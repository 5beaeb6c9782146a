/*-------------------------------------------------------------------------
 *
 * fuzz_shrink.c
 *	  Playing a failing history again, making it smaller, printing it.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <signal.h>

#include "miscadmin.h"
#include "portability/instr_time.h"
#include "tcop/tcopprot.h"
#include "utils/memutils.h"

#include "fuzz.h"

#define SHRINK_SECONDS	30		/* after which what there is will do */

/* --- catching everything --- */

static Fuzz *protected;			/* whom signals are for */

static const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGABRT};

static void
handle_signal(int signal)
{
	if (protected->fault[0] == '\0')
		snprintf(protected->fault, sizeof(protected->fault), "%s",
				 signal == SIGABRT ? "an assertion has failed, see the server's log" :
				 "memory is written or read that is not the page's");
	siglongjmp(protected->failed, 1);
}

/*
 * Keep the message of an error in a critical section, which becomes a PANIC,
 * and keep it out of the log.
 */
static void
keep_panic(ErrorData *edata)
{
	if (edata->elevel != PANIC)
		return;
	snprintf(protected->fault, sizeof(protected->fault), "PANIC: %s%s%s", edata->message,
			 edata->detail ? ": " : "", edata->detail ? edata->detail : "");
	edata->output_to_server = false;
}

/*
 * Run something that may fail in any way; returns whether it has not.  If it
 * has, f->fault says how.
 */
bool
fuzz_protect(Fuzz *f, bool (*run) (Fuzz *f, void *arg), void *arg)
{
	MemoryContext context = CurrentMemoryContext;
	CommandDest destination = whereToSendOutput;
	emit_log_hook_type hook = emit_log_hook;
	struct sigaction action = {.sa_handler = handle_signal};
	struct sigaction old[lengthof(signals)];
	volatile bool ok = false;

	protected = f;
	f->fault[0] = '\0';
	whereToSendOutput = DestNone;
	emit_log_hook = keep_panic;
	for (int i = 0; i < lengthof(signals); i++)
		sigaction(signals[i], &action, &old[i]);
	MemoryContextSwitchTo(f->step_context);

	PG_TRY();
	{
		sigjmp_buf *volatile stack = PG_exception_stack;

		if (sigsetjmp(f->failed, 1) == 0)
			ok = run(f, arg);
		else
		{
			PG_exception_stack = stack;
			CritSectionCount = 0;
			FlushErrorState();
		}
	}
	PG_CATCH();
	{
		ErrorData  *edata;

		MemoryContextSwitchTo(context);
		edata = CopyErrorData();
		FlushErrorState();
		snprintf(f->fault, sizeof(f->fault), "ERROR: %s%s%s", edata->message,
				 edata->detail ? ": " : "", edata->detail ? edata->detail : "");
		FreeErrorData(edata);
	}
	PG_END_TRY();

	MemoryContextSwitchTo(context);
	for (int i = 0; i < lengthof(signals); i++)
		sigaction(signals[i], &old[i], NULL);
	emit_log_hook = hook;
	whereToSendOutput = destination;
	return ok;
}

/* --- playing --- */

/* a history being played */
typedef struct Play
{
	FuzzHistory *history;
	StringInfo	out;			/* what to tell of it, or NULL */
} Play;

/*
 * Append an entry's key and TID as the history's keys are called.
 */
static void
print_entry(const Fuzz *f, StringInfo out, const FuzzEntry *entry)
{
	ItemPointerData tid;

	if (entry->key == FUZZ_MINUS_INFINITY)
	{
		appendStringInfoString(out, " -infinity");
		return;
	}
	appendStringInfo(out, " k%d", entry->key);
	if (f->level > 0)
		return;
	fpb_tail_tid(entry->place, &tid);
	appendStringInfo(out, "(%u,%u)", ItemPointerGetBlockNumberNoCheck(&tid),
					 ItemPointerGetOffsetNumberNoCheck(&tid));
}

/*
 * Append what an operation does.
 */
static void
print_op(const Fuzz *f, StringInfo out, const FuzzHistory *h, const FuzzOp *op)
{
	static const char *const names[] = {"build", "fill", "insert", "delete", "killed bits at", "extend to", "name nodes of"};

	appendStringInfo(out, "%4d  %s", (int) (op - h->ops) + 1, names[op->kind]);
	if (op->kind == FUZZ_BUILD || op->kind == FUZZ_FILL)
	{
		appendStringInfo(out, op->kind == FUZZ_BUILD ? " slack %d%s from" : " fillfactor %d%s from",
						 op->percent, op->full ? " as many as fit" : "");
		appendStringInfo(out, op->low < 0 ? " -infinity" : " p%d", op->low);
	}
	if (op->kind == FUZZ_BUILD)
		appendStringInfoString(out, " to");
	if (op->kind == FUZZ_BUILD || op->kind == FUZZ_EXTEND)
		appendStringInfo(out, op->high < 0 ? " infinity" : " p%d", op->high);
	for (int i = 0; i < op->nentries; i++)
	{
		if (i > 0 && i % 16 == 0)
			appendStringInfoString(out, "\n       ");
		print_entry(f, out, &h->entries[op->first + i]);
	}
	if (op->elide)
		appendStringInfoString(out, " its high fence elided");
	if (op->image)
		appendStringInfoString(out, ", reorganising");
	if (op->split)
		appendStringInfoString(out, ", splitting by force");
}

/*
 * Append what has become of an operation; of a split, how it was to be done.
 */
static void
print_outcome(const Fuzz *f, StringInfo out, const FuzzOp *op)
{
	appendStringInfo(out, ": %s", f->doing);
	if (f->splitting)
		appendStringInfo(out, " (%s, fillfactor %d, then the %s page)",
						 op->halves == FPB_HALVES_IN_PLACE ? "in place" :
						 op->halves == FPB_HALVES_PACKED ? "packed" : "by image", op->percent,
						 op->keep_right ? "right" : "left");
	appendStringInfoChar(out, '\n');
}

/*
 * Play a history, checking everything after each operation.
 */
static bool
play(Fuzz *f, void *arg)
{
	Play	   *p = arg;
	FuzzHistory *h = p->history;

	fuzz_begin(f, h);
	f->thorough = true;
	for (int i = 0; i < h->nops; i++)
	{
		if (i > 0)
			memcpy(f->before, f->page, BLCKSZ);
		if (p->out != NULL)
			print_op(f, p->out, h, &h->ops[i]);
		if (!fuzz_perform(f, h, &h->ops[i]))
			f->doing = "nothing to do";
		if (p->out != NULL)
			print_outcome(f, p->out, &h->ops[i]);
	}
	return true;
}

/*
 * Does a history fail?  It is cut behind the operation at which it does.
 */
static bool
fails(Fuzz *f, FuzzHistory *h)
{
	Play		p = {.history = h};

	if (fuzz_protect(f, play, &p))
		return false;
	h->nops = Min(h->nops, f->step);
	return true;
}

/* --- shrinking --- */

static FuzzHistory *
copy_history(const FuzzHistory *h)
{
	FuzzHistory *copy = palloc_object(FuzzHistory);

	*copy = *h;
	copy->ops = palloc_array(FuzzOp, h->max_ops);
	copy->entries = palloc_array(FuzzEntry, h->max_entries);
	memcpy(copy->ops, h->ops, h->nops * sizeof(FuzzOp));
	memcpy(copy->entries, h->entries, h->nentries * sizeof(FuzzEntry));
	return copy;
}

/*
 * If the trial fails too, it is the history from now on.
 */
static bool
adopt(Fuzz *f, FuzzHistory *h, FuzzHistory *trial)
{
	bool		failed = fails(f, trial);

	if (failed)
	{
		FuzzHistory old = *h;

		*h = *trial;
		*trial = old;
	}
	pfree(trial->ops);
	pfree(trial->entries);
	pfree(trial);
	return failed;
}

/*
 * Try without n operations, or without n entries of the op'th one.
 */
static bool
without_ops(Fuzz *f, FuzzHistory *h, int from, int n)
{
	FuzzHistory *trial = copy_history(h);

	memmove(trial->ops + from, trial->ops + from + n,
			(trial->nops - from - n) * sizeof(FuzzOp));
	trial->nops -= n;
	return adopt(f, h, trial);
}

static bool
without_entries(Fuzz *f, FuzzHistory *h, int op, int from, int n)
{
	FuzzHistory *trial = copy_history(h);
	FuzzOp	   *o = &trial->ops[op];
	FuzzEntry  *entries = trial->entries + o->first;

	memmove(entries + from, entries + from + n,
			(o->nentries - from - n) * sizeof(FuzzEntry));
	o->nentries -= n;
	return adopt(f, h, trial);
}

/*
 * Try simpler forms of one operation.
 */
static bool
simplify(Fuzz *f, FuzzHistory *h, int op)
{
	bool		changed = false;

	for (int what = 0; what < 4; what++)
	{
		FuzzHistory *trial = copy_history(h);
		FuzzOp	   *o = &trial->ops[op];

		switch (what)
		{
			case 0:
				o->image = false;
				break;
			case 1:
				o->split = false;
				break;
			case 2:
				o->low = -1;
				break;
			case 3:
				o->high = -1;
				break;
		}
		if (memcmp(o, &h->ops[op], sizeof(FuzzOp)) == 0)
		{
			pfree(trial->ops);
			pfree(trial->entries);
			pfree(trial);
		}
		else
			changed |= adopt(f, h, trial);
	}
	return changed;
}

/*
 * Make a failing history as small as it gets in the time: parts are left out,
 * large ones first, as long as what remains fails.
 */
static void
shrink(Fuzz *f, FuzzHistory *h)
{
	instr_time	start;
	bool		changed = true;

	INSTR_TIME_SET_CURRENT(start);
	while (changed)
	{
		changed = false;
		for (int n = h->nops / 2; n > 0; n /= 2)
			for (int from = 1; from + n <= h->nops;)
			{
				instr_time	now;

				INSTR_TIME_SET_CURRENT(now);
				INSTR_TIME_SUBTRACT(now, start);
				if (INSTR_TIME_GET_DOUBLE(now) > SHRINK_SECONDS)
					return;
				if (without_ops(f, h, from, n))
					changed = true;
				else
					from += n;
			}
		for (int op = 0; op < h->nops; op++)
		{
			for (int n = h->ops[op].nentries / 2; op < h->nops && n > 0; n /= 2)
				for (int from = 0; op < h->nops && from + n <= h->ops[op].nentries;)
				{
					if (without_entries(f, h, op, from, n))
						changed = true;
					else
						from += n;
				}
			if (op < h->nops)
				changed |= simplify(f, h, op);
		}
	}
}

/* --- printing --- */

/*
 * Append the TIDs of a posting.
 */
static void
print_posting(StringInfo out, IndexTuple posting)
{
	for (int i = 0; i < fpb_posting_slots(posting); i++)
	{
		ItemPointerData tid;

		fpb_tail_tid(fpb_posting_tail(posting, i), &tid);
		appendStringInfo(out, "%c%u,%u", i == 0 ? '(' : ' ',
						 ItemPointerGetBlockNumberNoCheck(&tid),
						 ItemPointerGetOffsetNumberNoCheck(&tid));
	}
	appendStringInfoChar(out, ')');
}

/*
 * Append the entries of a page of which no more is known.
 */
static void
print_entries(const Fuzz *f, StringInfo out, Page page, const char *title)
{
	FpbPos		pos = FPB_POS_FIRST;
	FpbEntry	entry;

	appendStringInfo(out, "%s: lower %d, upper %d\n", title,
					 FpbHdr(page)->pd.pd_lower, FpbHdr(page)->pd.pd_upper);
	for (; fpb_page_next(&f->ix, page, &pos, &entry); pos = fpb_pos_behind(pos))
		appendStringInfo(out, " %llu: %llx:%llx:%llx%s", (unsigned long long) pos.number,
						 (unsigned long long) entry.key.head,
						 (unsigned long long) entry.key.low,
						 (unsigned long long) entry.key.tail,
						 f->level == 0 && fpb_page_is_killed(&f->ix, page, pos) ? "!" : "");
	appendStringInfoChar(out, '\n');
}

/*
 * Append a page's nodes.
 */
static void
print_page(const Fuzz *f, StringInfo out, Page page, const char *title)
{
	const FpbPageHeader *hdr = FpbHdr(page);
	const FpbDirectory *directory = FpbDir(page);
	const FpbShape *shape = f->shape;

	if (!fuzz_disk_first(f))
	{
		if (fpb_header_fault(&f->ix, page) == NULL)
			print_entries(f, out, page, title);
		return;
	}
	appendStringInfo(out, "%s: %d nodes of %d, %d allocated; lower %d, upper %d\n", title,
					 directory->nnodes, directory->dircap, directory->nalloc, hdr->pd.pd_lower, hdr->pd.pd_upper);
	if (directory->nnodes > directory->dircap || fpb_page_base(directory->dircap, directory->numcap) > BLCKSZ)
		return;
	for (int dir = 0; dir < directory->nnodes; dir++)
	{
		uint32		offset = fpb_page_base(directory->dircap, directory->numcap) + fpb_node_number(page, dir) * shape->size;
		FpbCodec	codec = *fpb_dir_codec(page, dir);
		char	   *node = (char *) page + offset;

		appendStringInfo(out, "  node %d from %016llx", fpb_node_number(page, dir),
						 (unsigned long long) *fpb_dir_bound(page, dir));
		if (offset + shape->size > BLCKSZ || !fpb_codec_fits(&f->ix, shape, codec))
		{
			appendStringInfoString(out, " impossible\n");
			continue;
		}
		if (fpb_codec_shares_key(codec))
		{
			FpbRuns		runs = fpb_runs(&f->ix, shape, node);

			appendStringInfo(out, " %d of %d runs:", runs.nruns, runs.capacity);
			for (int run = 0; run < runs.nruns; run++)
				appendStringInfo(out, " %llx:%llx to %d",
								 (unsigned long long) fpb_node_head(&f->ix, node, run),
								 f->ix.form == FPB_WORD16 ? (unsigned long long) fpb_run_lows(&runs)[run] : 0,
								 runs.ends[run]);
		}
		for (int slot = 0; slot < fpb_node_slots(&f->ix, shape, codec, node); slot++)
		{
			FpbPos		pos = fpb_pos_at(dir, slot, 0);
			bool		gap = fpb_node_is_gap(&f->ix, shape, codec, node, slot);

			if (slot % 8 == 0)
				appendStringInfoString(out, "\n   ");
			if (!fpb_codec_shares_key(codec))
				appendStringInfo(out, gap ? " (%llx)" : " %llx",
								 (unsigned long long) fpb_node_head(&f->ix, node, slot) >> (f->ix.head_width == 4 ? 32 : 0));
			else if (gap)
				appendStringInfoString(out, " ()");
			if (!gap && fpb_is_word(&f->ix))
			{
				ItemPointerData tid;

				fpb_tail_tid(fpb_slot_tail(&f->ix, shape, codec, node, slot), &tid);
				appendStringInfo(out, "(%u,%u)", ItemPointerGetBlockNumberNoCheck(&tid),
								 ItemPointerGetOffsetNumberNoCheck(&tid));
			}
			else if (!gap)
			{
				uint32		at = fpb_node_tuples(shape, node)[slot];

				appendStringInfo(out, "@%u", at);
				if (shape->child_off == 0 && fpb_tuple_offset_valid(page, at) &&
					fpb_is_posting((IndexTuple) ((char *) page + at)))
					print_posting(out, (IndexTuple) ((char *) page + at));
			}
			if (!gap && shape->child_off == 0 && fpb_page_is_killed(&f->ix, page, pos))
				appendStringInfoChar(out, '!');
		}
		appendStringInfoChar(out, '\n');
	}
}

/*
 * Append the keys that a history uses.
 */
static void
print_keys(Fuzz *f, StringInfo out, const FuzzHistory *h)
{
	const FuzzPool *pool = h->level == 0 ? &f->leaf : &f->inner;
	bool	   *printed = palloc0(FUZZ_MAX_KEYS);

	for (int i = 0; i < h->nops; i++)
		for (int j = -2; j < h->ops[i].nentries; j++)
		{
			bool		fence = j < 0 && (h->ops[i].kind <= FUZZ_FILL || h->ops[i].kind == FUZZ_EXTEND);
			int			key = j == -2 ? h->ops[i].low : j == -1 ? h->ops[i].high :
				h->entries[h->ops[i].first + j].key;

			if ((j < 0 && (!fence || key < 0 || (j == -2 && h->ops[i].kind == FUZZ_EXTEND))) ||
				(j >= 0 && (key == FUZZ_MINUS_INFINITY || printed[key])))
				continue;
			appendStringInfo(out, "  %c%d = ", fence ? 'p' : 'k', key);
			fuzz_print_key(f, out, fence ? &f->inner.keys[key].key : &pool->keys[key].key,
						   fence || h->level > 0);
			appendStringInfoChar(out, '\n');
			if (!fence)
				printed[key] = true;
		}
	pfree(printed);
}

/*
 * Shrink a failing history and tell it.
 */
char *
fuzz_explain(Fuzz *f, FuzzHistory *history)
{
	StringInfoData out;
	StringInfoData ops;
	Play		p = {.history = history,.out = &ops};
	char	   *first = pstrdup(f->fault);
	int			nops = history->nops;

	initStringInfo(&out);
	initStringInfo(&ops);
	if (!fails(f, history))
	{
		history->nops = nops;
		appendStringInfo(&out, "%s\nIt does not when it is played again with every check.\n", first);
		strlcpy(f->fault, first, sizeof(f->fault));
		return out.data;
	}
	shrink(f, history);

	fuzz_protect(f, play, &p);
	appendStringInfo(&out, "%s\n(at first: %s; %d operations of %d are left)\n"
					 "%s page, nodes of %d bytes, at most %d of them\nkeys:\n",
					 f->fault, first, history->nops, nops,
					 history->level == 0 ? "leaf" : "inner", f->shape->size, f->shape->max_nodes);
	print_keys(f, &out, history);
	print_outcome(f, &ops, &history->ops[f->step - 1]);
	appendStringInfo(&out, "operations:\n%s", ops.data);
	if (history->nops > 1)
		print_page(f, &out, f->before, "page before");
	print_page(f, &out, f->page, "page after");
	return out.data;
}
