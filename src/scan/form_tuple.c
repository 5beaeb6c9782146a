/*-------------------------------------------------------------------------
 *
 * scan/form_tuple.c
 *	  Index tuples for index-only scans: of words, and copies of those on pages.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/tupmacs.h"
#include "utils/memutils.h"

#include "scan/reader.h"

/* --- tuple indexes --- */

/*
 * Copy a tuple of a page to *to, which is moved on to after it; end is the end
 * of the room.
 */
static IndexTuple
copy_tuple(FpbScan *so, Page page, IndexTuple tuple, char **to, const char *end)
{
	Size		size = IndexTupleSize(tuple);
	IndexTuple	copy = (IndexTuple) *to;
	const char *fault;

	/* the executor will trust all lengths in it */
	fault = fpb_tuple_fault(&so->ix, tuple,
							BLCKSZ - ((char *) tuple - (char *) page),
							false);
	if (unlikely(fault != NULL))
		fpb_report_damage(so->ix.rel, so->cursor.page->block,
						  psprintf("Of an entry: %s.", fault));
	if (unlikely(*to + MAXALIGN(size) > end))
		fpb_report_damage(so->ix.rel, so->cursor.page->block,
						  "The page's tuples overlap.");
	memcpy(copy, tuple, size);
	*to += MAXALIGN(size);
	return copy;
}

/*
 * Index-only scans of tuple indexes: copy the tuples of the items read, which
 * are in the segment's pages, to memory of our own.  Items of a page that
 * share a tuple go on sharing it.
 */
void
fpb_copy_tuples(FpbReader *r)
{
	FpbScan    *so = r->so;
	const FpbSegment *seg = &r->seg;
	FpbScanPage *sp = r->sp;
	Size		needed = seg->queue != NULL ? 4 * BLCKSZ : 2 * BLCKSZ;
	char	   *to;
	IndexTuple	last[2] = {NULL, NULL};
	IndexTuple	copy[2] = {NULL, NULL};

	/*
	 * The tuples of a page, aligned, take less than twice the page.  The
	 * executor reads a "name" to its full length though it is stored as a
	 * cstring, hence the room after them.
	 */
	if (sp->tuples_size < needed)
	{
		if (sp->tuples != NULL)
			pfree(sp->tuples);
		sp->tuples = NULL;
		sp->tuples = MemoryContextAllocZero(so->cxt, needed + NAMEDATALEN);
		sp->tuples_size = needed;
	}
	to = sp->tuples;
	for (int i = 0; i < sp->nitems; i++)
	{
		IndexTuple	tuple = sp->items[i].key.tuple;
		int			which = (char *) tuple < (char *) seg->leaf ||
			(char *) tuple >= (char *) seg->leaf + BLCKSZ;

		if (tuple != last[which])
		{
			copy[which] = copy_tuple(so, which == 0 ? seg->leaf : seg->queue, tuple,
									 &to, sp->tuples + sp->tuples_size);
			last[which] = tuple;
		}
		sp->items[i].key.tuple = copy[which];
	}
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
	tuples->plain = fpb_is_word(&so->ix) && fpb_word_is_plain(&so->ix, &tuples->flip);
	tuples->several = fpb_is_word(&so->ix) && so->ix.nkeyatts > 1;
	if (tuples->several)
		fpb_word_fields(&so->ix, tuples->fields);
}

/*
 * Free what it has allocated.
 */
void
fpb_tuples_end(FpbScan *so)
{
	FpbTupleTemplate *templates = so->tuples.templates;

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
 * Decode a word of several columns into the template of tuples without NULLs,
 * if that is there and no column has a tie.  Else false; then the template may
 * have any values.
 */
static inline bool
decode_fields(FpbScan *so, const FpbKey *key)
{
	const FpbTupleTemplate *template = &so->tuples.templates[0];
	const FpbField *field = so->tuples.fields;

	for (int c = 0; c < template->nvalues; c++, field++)
	{
		FpbCode		code = {fpb_field_code(key, field), 0};
		char	   *to = template->values[c].to;

		if (unlikely(fpb_field_has_tie(field, code.hi)))
			return false;
		switch (field->integer)
		{
			case sizeof(uint16):
				*(uint16 *) to = (uint16) (code.hi ^ field->flip);
				break;
			case sizeof(uint32):
				*(uint32 *) to = (uint32) (code.hi ^ field->flip);
				break;
			case sizeof(uint64):
				*(uint64 *) to = code.hi ^ field->flip;
				break;
			default:
				write_value(template, c, (FpbWordKind) so->ix.cols[c].word->kind,
							fpb_code_direct(&so->ix.cols[c], code), true);
		}
	}
	return true;
}

/*
 * Decode a word key into the tuple of its template; notes nothing of it.
 */
IndexTuple
fpb_decode_word_tuple(FpbScan *so, const FpbKey *key)
{
	const FpbIndex *ix = &so->ix;
	FpbTupleForming *tuples = &so->tuples;
	FpbCoded	coded[FPB_MAX_WORD_COLUMNS];
	int			mask = 0;
	const FpbTupleTemplate *template;

	if (tuples->several && tuples->templates != NULL && tuples->templates[0].tuple != NULL &&
		decode_fields(so, key))
		return tuples->templates[0].tuple;

	fpb_word_split(ix, key, coded);
	for (int i = 0; i < ix->nkeyatts; i++)
		mask |= fpb_code_is_null(&ix->cols[i], &coded[i]) << i;
	if (unlikely(tuples->templates == NULL || tuples->templates[mask].tuple == NULL))
		make_template(so, mask);
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
