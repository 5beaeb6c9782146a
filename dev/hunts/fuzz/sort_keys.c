/*-------------------------------------------------------------------------
 *
 * sort_keys.c
 *	  Random strings, whose order is compared with that of their sort keys.
 *
 * dev/hunts/sort-keys declares the functions:
 *
 *	  has_sort_keys(collation oid) returns bool
 *
 * tells whether heads in a collation are made of sort keys, and
 *
 *	  hunt_sort_keys(pieces text[], strings int, most int, seed bigint)
 *		returns text
 *
 * makes strings of at most so many pieces and what they have in common with
 * the string before, and compares each with that one, in the collation of the
 * pieces.  It returns the first contradiction, or NULL.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "common/int.h"
#include "common/pg_prng.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/pg_locale.h"
#include "utils/varlena.h"

#include "base/compat.h"
#include "key/tuple.h"

PG_FUNCTION_INFO_V1(fpb_has_sort_keys_of);
PG_FUNCTION_INFO_V1(fpb_hunt_sort_keys);

/* bytes of a string; one that becomes longer is begun anew */
#define MOST_BYTES	4000

typedef struct HuntedString
{
	char		data[MOST_BYTES + 1];
	Size		length;
	char		sort_key[FPB_SORT_KEY_MOST];	/* its first bytes */
	Size		size;
} HuntedString;

typedef struct Hunt
{
	Oid			collation;
	pg_locale_t locale;
	pg_prng_state random;
	Datum	   *pieces;
	int			npieces;
	int			most;
} Hunt;

/* a random number from 0 to most */
static inline uint64
up_to(Hunt *hunt, uint64 most)
{
	return pg_prng_uint64_range(&hunt->random, 0, most);
}

static void
append(HuntedString *string, const char *data, Size length)
{
	if (string->length + length > MOST_BYTES)
		string->length = 0;
	if (length <= MOST_BYTES)
	{
		memcpy(string->data + string->length, data, length);
		string->length += length;
	}
}

static void
append_pieces(Hunt *hunt, HuntedString *string, int n)
{
	for (int i = 0; i < n; i++)
	{
		text	   *piece = DatumGetTextPP(hunt->pieces[up_to(hunt, hunt->npieces - 1)]);

		append(string, VARDATA_ANY(piece), VARSIZE_ANY_EXHDR(piece));
	}
}

/*
 * Make a string: mostly of what another one begins with, some pieces, and
 * perhaps what follows in the other, without a character.
 */
static void
make_string(Hunt *hunt, HuntedString *string, const HuntedString *other)
{
	Size		common = 0;
	Size		want = up_to(hunt, other->length);

	string->length = 0;
	if (other->length == 0 || up_to(hunt, 3) == 0)
		append_pieces(hunt, string, up_to(hunt, hunt->most));
	else
	{
		while (common < want)
			common += pg_mblen(other->data + common);
		append(string, other->data, common);
		append_pieces(hunt, string, up_to(hunt, 3));
		if (common < other->length && up_to(hunt, 1) == 0)
			common += pg_mblen(other->data + common);
		if (up_to(hunt, 1) == 0)
			append(string, other->data + common, other->length - common);
	}
	string->data[string->length] = '\0';
	string->size = Min(fpb_strnxfrm_prefix(string->sort_key, FPB_SORT_KEY_MOST, string->data,
										   string->length, hunt->locale), FPB_SORT_KEY_MOST);
}

static void
append_hex(StringInfo to, const char *what, const char *data, Size length)
{
	appendStringInfo(to, "\n  %s ", what);
	for (Size i = 0; i < length; i++)
		appendStringInfo(to, "%02x", (unsigned char) data[i]);
}

static void
append_string(StringInfo to, const HuntedString *string)
{
	append_hex(to, "string  ", string->data, string->length);
	append_hex(to, "sort key", string->sort_key, string->size);
}

/*
 * Are the first bytes of a string's sort key the same however many are wanted?
 */
static bool
parts_agree(Hunt *hunt, const HuntedString *string, StringInfo fault)
{
	char		part[FPB_SORT_KEY_MOST];
	Size		want = 1 + up_to(hunt, FPB_SORT_KEY_MOST - 1);
	Size		size = fpb_sort_key(hunt->collation, string->data, string->length, part, want);

	if (size == Min(want, string->size) && memcmp(part, string->sort_key, size) == 0)
		return true;
	appendStringInfo(fault, "the first %zu bytes of a sort key depend on how many are wanted", want);
	append_string(fault, string);
	append_hex(fault, "part    ", part, size);
	return false;
}

static int
sign(int order)
{
	return (order > 0) - (order < 0);
}

/*
 * Is the order of strings that of their sort keys?  Nothing is known where
 * these begin with the same bytes and go on.
 */
static bool
order_agrees(Hunt *hunt, const HuntedString *a, const HuntedString *b, StringInfo fault)
{
	int			by_icu = sign(pg_strncoll(a->data, a->length, b->data, b->length, hunt->locale));
	int			by_server = sign(varstr_cmp(a->data, a->length, b->data, b->length,
											hunt->collation));
	int			by_sort_key = sign(memcmp(a->sort_key, b->sort_key, Min(a->size, b->size)));

	if (by_sort_key == 0)
	{
		if (a->size == FPB_SORT_KEY_MOST && b->size == FPB_SORT_KEY_MOST)
			return true;
		by_sort_key = pg_cmp_u64(a->size, b->size);
	}
	if (by_icu == by_sort_key && (by_sort_key == 0 || by_server == by_sort_key))
		return true;
	appendStringInfo(fault, "the order of two strings is %d, of their sort keys %d", by_icu,
					 by_sort_key);
	append_string(fault, a);
	append_string(fault, b);
	return false;
}

Datum
fpb_has_sort_keys_of(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(fpb_collation_has_sort_keys(PG_GETARG_OID(0)));
}

Datum
fpb_hunt_sort_keys(PG_FUNCTION_ARGS)
{
	Hunt		hunt = {.collation = PG_GET_COLLATION(),.most = PG_GETARG_INT32(2)};
	int			strings = PG_GETARG_INT32(1);
	HuntedString *two = palloc0_array(HuntedString, 2);
	StringInfoData fault;

	hunt.locale = pg_newlocale_from_collation(hunt.collation);
	deconstruct_array_builtin(PG_GETARG_ARRAYTYPE_P(0), TEXTOID, &hunt.pieces, NULL, &hunt.npieces);
	pg_prng_seed(&hunt.random, PG_GETARG_INT64(3));
	initStringInfo(&fault);
	for (int i = 0; i < strings; i++)
	{
		HuntedString *string = &two[i % 2];
		HuntedString *before = &two[1 - i % 2];

		CHECK_FOR_INTERRUPTS();
		make_string(&hunt, string, before);
		/* first one that is not known yet, then one that is */
		if (!parts_agree(&hunt, string, &fault) || !parts_agree(&hunt, string, &fault) ||
			(i > 0 && !order_agrees(&hunt, string, before, &fault)))
			PG_RETURN_TEXT_P(cstring_to_text(fault.data));
	}
	PG_RETURN_NULL();
}
