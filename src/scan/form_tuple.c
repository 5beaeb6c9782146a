/*-------------------------------------------------------------------------
 *
 * scan/form_tuple.c
 *	  Index tuples for index-only scans: of words, and copies of those on pages,
 *	  made whole.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/tupmacs.h"
#include "utils/memutils.h"

#include "key/join_tuple.h"
#include "key/tuple.h"
#include "scan/reader.h"

/* --- tuple indexes --- */

/* from so many items on, all tuples of a page are copied at once, as they are */
#define COPY_ALL_FROM	16

/*
 * Have at least so many bytes for tuples, which nothing uses any more.
 *
 * The executor reads a "name" to its full length though it is stored as a
 * cstring, hence the room after the tuples, which the caller sets to zero.
 */
static void
make_tuple_room(FpbScan *so, FpbScanPage *sp, Size needed)
{
	if (sp->tuples_size >= needed)
		return;
	if (sp->tuples != NULL)
		pfree(sp->tuples);
	sp->tuples = NULL;
	sp->tuples_size = 0;
	sp->tuples = MemoryContextAlloc(so->cxt, needed + NAMEDATALEN);
	sp->tuples_size = needed;
}

/*
 * Raise an error if a stored tuple of an entry, so far from the beginning of
 * its page, is damaged: the executor will trust all lengths in it.
 */
static inline void
check_tuple(FpbScan *so, BlockNumber block, IndexTuple tuple, Size offset)
{
	const char *fault;

	if (likely(fpb_tuple_is_plain(&so->ix, tuple)))
		return;
	fault = fpb_tuple_fault(&so->ix, tuple, BLCKSZ - offset, FPB_TUPLE_STORED);
	if (unlikely(fault != NULL))
		fpb_report_damage(so->ix.rel, block, psprintf("Of an entry: %s.", fault));
}

/*
 * The page of a segment that a tuple is in.  *number becomes 0 if that is the
 * leaf, else the number of the queue's leaf, from 1 on.
 */
static inline Page
page_of(const FpbSegment *seg, IndexTuple tuple, int *number)
{
	for (int i = 0; i < seg->nqueued; i++)
	{
		Page		page = seg->queued[i];

		*number = i + 1;
		if ((char *) tuple >= (char *) page && (char *) tuple < (char *) page + BLCKSZ)
			return page;
	}
	*number = 0;
	return seg->leaf;
}

/*
 * Copy the tuples of a few items: whole, one behind the other.
 */
static void
copy_few(FpbScan *so, const FpbSegment *seg, FpbScanPage *sp)
{
	IndexTuple	before = NULL;	/* of the item before, */
	IndexTuple	copy = NULL;	/* and its copy */
	Size		needed = 0;
	char	   *to;

	if (sp->nitems == 0)
		return;
	for (int i = 0; i < sp->nitems; i++)
	{
		const FpbKey *key = &sp->items[i].key;
		int			number;
		Page		page = page_of(seg, key->tuple, &number);

		if (key->tuple == before)
			continue;
		check_tuple(so, sp->block, key->tuple, (char *) key->tuple - (char *) page);
		needed += fpb_whole_most(&so->ix, key);
		before = key->tuple;
	}
	make_tuple_room(so, sp, needed);
	to = sp->tuples;
	before = NULL;
	for (int i = 0; i < sp->nitems; i++)
	{
		FpbKey	   *key = &sp->items[i].key;

		if (key->tuple != before)
		{
			/* there is room for all of it, if not for longer ones */
			IndexTuple	whole = fpb_whole_tuple(&so->ix, key, (FpbTupleSpace *) to);

			copy = (IndexTuple) to;
			if (whole != copy)
				memcpy(copy, whole, IndexTupleSize(whole));
			to += MAXALIGN(IndexTupleSize(copy));
			before = key->tuple;
		}
		key->tuple = copy;
	}
	memset(to, 0, NAMEDATALEN);
}

/*
 * Copy of a page, to one that begins at "to", the tuples, and the header,
 * which tells what they lack.  A copy of a tuple is as far from the beginning
 * as the tuple is, so it is aligned alike.
 */
static void
copy_page(Page page, char *to)
{
	uint32		upper = FpbHdr(page)->pd.pd_upper;

	memcpy(to, page, sizeof(FpbPageHeader));
	memcpy(to + upper, (char *) page + upper, BLCKSZ - upper);
}

/*
 * Copy all tuples of the segment's pages, as they are.  Items of a leaf alone
 * go on pointing into that, and it is known how far away the copy is.
 */
static void
copy_all(FpbScan *so, const FpbSegment *seg, FpbScanPage *sp)
{
	Size		needed = (1 + seg->nqueued) * BLCKSZ;

	make_tuple_room(so, sp, needed);
	memset(sp->tuples + needed, 0, NAMEDATALEN);
	copy_page(seg->leaf, sp->tuples);
	sp->tuples_by = sp->tuples - (char *) seg->leaf;
	if (seg->nqueued == 0)
		return;
	for (int i = 0; i < seg->nqueued; i++)
		copy_page(seg->queued[i], sp->tuples + (1 + i) * BLCKSZ);
	sp->tuples_by = 0;
	for (int i = 0; i < sp->nitems; i++)
	{
		FpbKey	   *key = &sp->items[i].key;
		int			number;
		Page		page = page_of(seg, key->tuple, &number);
		Page		copy = sp->tuples + number * BLCKSZ;

		key->tuple = (IndexTuple) (copy + ((char *) key->tuple - (char *) page));
		if (key->cut_in != NULL)
			key->cut_in = copy;
	}
}

/*
 * Index-only scans of tuple indexes: copy the tuples of the items read, which
 * are in the segment's pages, to memory of our own.  A few are made whole at
 * once.  Of many, those that are cut stay so until they are handed out,
 * because perhaps most of them never are.
 */
void
fpb_copy_tuples(FpbReader *r)
{
	FpbScan    *so = r->so;

	r->sp->whole = r->sp->nitems < COPY_ALL_FROM;
	if (r->sp->whole)
		copy_few(so, &r->seg, r->sp);
	else
		copy_all(so, &r->seg, r->sp);
	so->tuples.last_stored = NULL;
	if (so->tuples.joiner != NULL)
		so->tuples.joiner->there.page = NULL;
}

#ifdef USE_ASSERT_CHECKING

/*
 * Is what fpb_join_plain has made of a key's tuple what is made of it
 * otherwise, after a check?
 */
static bool
is_joined(const FpbIndex *ix, const FpbKey *key, IndexTuple joined)
{
	FpbTupleSpace space;
	IndexTuple	whole;

	if (!fpb_tuple_is_plain(ix, key->tuple) || !fpb_is_cut(ix, key->tuple))
		return false;
	whole = fpb_join_tuple(ix, key, &space);
	return IndexTupleSize(joined) == IndexTupleSize(whole) &&
		memcmp(joined, whole, IndexTupleSize(whole)) == 0;
}
#endif

/*
 * The whole tuple of a key of the cursor's page, of one that has been copied
 * as it is.  It lives until the next one is made.
 */
IndexTuple
fpb_stored_tuple(FpbScan *so, const FpbKey *key)
{
	FpbTupleForming *tuples = &so->tuples;
	const FpbScanPage *sp = so->cursor.page;
	FpbKey		copy = *key;

	copy.tuple = (IndexTuple) ((char *) key->tuple + sp->tuples_by);
	tuples->last_stored = NULL;
	if (key->cut_in != NULL)
	{
		copy.cut_in = key->cut_in + sp->tuples_by;
		if (tuples->joiner == NULL)
			tuples->joiner = MemoryContextAllocZero(so->cxt, sizeof(FpbJoiner) + NAMEDATALEN);
		tuples->last = fpb_join_plain(&so->ix, &copy, tuples->joiner);
		Assert(tuples->last == NULL || is_joined(&so->ix, &copy, tuples->last));
	}
	if (key->cut_in == NULL || tuples->last == NULL)
	{
		check_tuple(so, sp->block, copy.tuple, ((char *) copy.tuple - sp->tuples) % BLCKSZ);
		so->ix.copied_from = sp->block;
		tuples->last = key->cut_in == NULL ? copy.tuple :
			fpb_join_next(&so->ix, &copy, tuples->joiner);
	}
	tuples->last_stored = key->tuple;
	return tuples->last;
}

/* --- word indexes --- */

/*
 * Set up the forming of tuples.
 */
void
fpb_tuples_init(FpbScan *so)
{
	FpbTupleForming *tuples = &so->tuples;

	tuples->templates = NULL;
	tuples->last = NULL;
	tuples->last_head = tuples->last_low = 0;
	tuples->last_tie = FPB_NO_TIE;
	tuples->last_stored = NULL;
	tuples->joiner = NULL;
	tuples->plain_to = NULL;
	tuples->plain = fpb_is_word(&so->ix) && fpb_word_is_plain(&so->ix, &tuples->flip, &tuples->shared);
	tuples->nfields = tuples->nfirst = 0;
	tuples->fielded = false;
}

/*
 * Free what it has allocated.
 */
void
fpb_tuples_end(FpbScan *so)
{
	FpbTupleTemplate *templates = so->tuples.templates;

	if (so->tuples.joiner != NULL)
		pfree(so->tuples.joiner);
	if (templates == NULL)
		return;
	for (int i = 0; i < 1 << FPB_MAX_WORD_COLUMNS; i++)
		if (templates[i].tuple != NULL)
			pfree(templates[i].tuple);
	pfree(templates);
}

/*
 * Make the template of tuples in which the columns in mask are NULL.
 */
static void
make_template(FpbScan *so, int mask)
{
	FpbTupleTemplate *template;
	TupleDesc	desc = RelationGetDescr(so->ix.rel);
	MemoryContext old = MemoryContextSwitchTo(so->cxt);
	static const char zeros[NAMEDATALEN] = {0};
	Datum		values[FPB_MAX_WORD_COLUMNS];
	bool		isnull[FPB_MAX_WORD_COLUMNS];
	Size		offset = 0;

	if (so->tuples.templates == NULL)
		so->tuples.templates = palloc0((1 << FPB_MAX_WORD_COLUMNS) * sizeof(FpbTupleTemplate));
	template = &so->tuples.templates[mask];
	for (int i = 0; i < so->ix.nkeyatts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);

		isnull[i] = (mask & (1 << i)) != 0;
		values[i] = att->attbyval ? (Datum) 0 : PointerGetDatum(zeros);
		Assert(att->attlen > 0 && att->attlen <= NAMEDATALEN);
	}
	template->tuple = index_form_tuple(desc, values, isnull);
	MemoryContextSwitchTo(old);

	offset = IndexInfoFindDataOffset(template->tuple->t_info);
	template->nvalues = 0;
	for (int i = 0; i < so->ix.nkeyatts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);
		int			n = template->nvalues;

		if (isnull[i])
			continue;
		offset = att_align_nominal(offset, att->attalign);
		template->values[n].to = (char *) template->tuple + offset;
		template->values[n].column = i;
		template->values[n].length = att->attlen;
		template->values[n].byval = att->attbyval;
		template->nvalues++;
		offset += att->attlen;
	}
	if (so->tuples.plain && mask == 0)
		so->tuples.plain_to = template->values[0].to;
}

/*
 * Write the value of a raw code to its place in the template.
 */
static inline void
write_value(const FpbTupleTemplate *template, int i, FpbWordKind kind, FpbCode raw,
			bool negative_zero)
{
	char	   *to = template->values[i].to;

	if (template->values[i].byval)
		store_att_byval(to, fpb_code_decode(kind, raw, negative_zero),
						template->values[i].length);
	else
		fpb_code_store(kind, raw, to);
}

/*
 * The template of tuples without NULLs has been made: note where the fields of
 * a word of several columns go.
 */
static void
note_fields(FpbScan *so)
{
	FpbTupleForming *tuples = &so->tuples;
	FpbField	fields[FPB_MAX_WORD_COLUMNS];

	fpb_word_fields(&so->ix, fields);
	tuples->nfields = so->ix.nkeyatts;
	for (int i = 0; i < tuples->nfields; i++)
	{
		tuples->fields[i].field = fields[i];
		tuples->fields[i].to = tuples->templates[0].values[i].to;
		if (!fpb_field_needs_low(&fields[i]))
			tuples->nfirst = i + 1;
	}
}

/*
 * Decode a word key into the tuple of its template; notes nothing of it.
 */
static IndexTuple
decode_any(FpbScan *so, const FpbKey *key)
{
	const FpbIndex *ix = &so->ix;
	FpbTupleForming *tuples = &so->tuples;
	FpbCoded	coded[FPB_MAX_WORD_COLUMNS];
	int			mask = 0;
	const FpbTupleTemplate *template;

	fpb_word_split(ix, key, coded);
	for (int i = 0; i < ix->nkeyatts; i++)
		mask |= fpb_code_is_null(&ix->cols[i], &coded[i]) << i;
	if (unlikely(tuples->templates == NULL || tuples->templates[mask].tuple == NULL))
	{
		make_template(so, mask);
		if (mask == 0 && ix->nkeyatts > 1)
			note_fields(so);
	}
	template = &tuples->templates[mask];
	for (int i = 0; i < template->nvalues; i++)
	{
		int			c = template->values[i].column;
		const FpbColumn *col = &ix->cols[c];

		write_value(template, i, (FpbWordKind) col->word->kind,
					fpb_code_direct(col, coded[c].code), coded[c].tie == 0);
	}
	return template->tuple;
}

/*
 * The same, and note it as the tuple made last.
 */
static pg_noinline IndexTuple
decode_slowly(FpbScan *so, const FpbKey *key)
{
	FpbTupleForming *tuples = &so->tuples;

	tuples->fielded = false;
	tuples->last_tie = FPB_NO_TIE;
	tuples->last = decode_any(so, key);
	tuples->last_head = key->head;
	tuples->last_low = key->low;
	tuples->last_tie = fpb_tail_tie(key->tail);
	return tuples->last;
}

/*
 * The index tuple of a word key, whatever has to be done for it.  It lives
 * until the next one is made.
 *
 * Words of several columns are decoded field by field into the template of
 * tuples without NULLs, if that is there and no column has a tie.  If the
 * tuple before has been made so, of the same head, the first columns have the
 * same values, and no ties.
 */
IndexTuple
fpb_word_tuple(FpbScan *so, const FpbKey *key)
{
	FpbTupleForming *tuples = &so->tuples;
	bool		same = tuples->fielded && key->head == tuples->last_head;
	const FpbTupleField *f = tuples->fields + (same ? tuples->nfirst : 0);
	const FpbTupleField *end = tuples->fields + tuples->nfields;

	if (tuples->nfields == 0)
		return decode_slowly(so, key);
	for (; f < end; f++)
	{
		const FpbField *field = &f->field;
		uint64		code = fpb_field_code(key, field);
		uint64		raw = code ^ field->flip;

		if (unlikely(fpb_field_has_tie(field, code)))
			return decode_slowly(so, key);
		switch ((FpbFieldForm) field->form)
		{
			case FPB_FIELD_BOOL:
				*(uint8 *) f->to = raw != 0;
				break;
			case FPB_FIELD_CHAR:
				*(uint8 *) f->to = (uint8) raw;
				break;
			case FPB_FIELD_INT2:
				*(uint16 *) f->to = (uint16) raw;
				break;
			case FPB_FIELD_INT4:
				*(uint32 *) f->to = (uint32) raw;
				break;
			case FPB_FIELD_INT8:
				*(uint64 *) f->to = raw;
				break;
			case FPB_FIELD_FLOAT4:
				*(uint32 *) f->to = (uint32) fpb_float_pattern(raw, FPB_SIGN32, FPB_MINUS_INFINITY32);
				break;
			case FPB_FIELD_FLOAT8:
				*(uint64 *) f->to = fpb_float_pattern(raw, FPB_SIGN64, FPB_MINUS_INFINITY64);
				break;
			case FPB_FIELD_OTHER:
				return decode_slowly(so, key);
		}
	}
	tuples->fielded = true;
	tuples->last = tuples->templates[0].tuple;
	tuples->last_head = key->head;
	tuples->last_low = key->low;
	tuples->last_tie = fpb_tail_tie(key->tail);
	return tuples->last;
}
