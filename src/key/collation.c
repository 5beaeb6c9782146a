/*-------------------------------------------------------------------------
 *
 * key/collation.c
 *	  How collations order strings: by bytes, by sort keys, or as only the
 *	  comparator knows; and what heads made of that depend on.
 *
 * ICU makes a sort key of a string: the order of strings is that of their sort
 * keys by memcmp, then of length.  Between strings that have one sort key, the
 * opclass decides.  ICU writes a sort key from its first byte on, so the first
 * bytes are the same however many are asked for.
 *
 * Not all of ICU's collations keep that order.  Where some characters are
 * ignored, or put into another form first, or accents are compared from the
 * end, ICU's comparison and its sort keys contradict each other now and then.
 * (The server's sort trusts them nevertheless.)  So sort keys are used only of
 * languages and attributes with which no contradiction has been found among
 * millions of strings (dev/hunts/sort-keys).
 *
 * Heads in a collation of ICU are made by ICU, and the next version of it may
 * make others.  The metapage notes which version has made an index's heads.
 * If that is not the one that is here now, the server warns that the order may
 * have changed.  As long as it has not, no row may be lost.  So then heads
 * still tell the order of what is in the pages, but nothing of a key that is
 * looked for, or comes in (key/key.h, old_heads).
 *
 * The C library's locale C.UTF-8 orders strings by their code points, which is
 * the order of their bytes.  Its name says so, and the server trusts that: to
 * it such a collation has no version that might change.  The present GNU C
 * library has no rules for that locale, but compares bytes, and so makes sort
 * keys that are the strings themselves.  Where that is so when an index is
 * built, its strings are ordered by their bytes from then on, which the
 * metapage notes (key/key.h, c_locale).  Older libraries, which have rules for
 * all code points, are not asked whether these are right.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_database.h"
#include "common/hashfn.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/pg_locale.h"
#include "utils/syscache.h"

#include "key/tuple.h"

/* what the catalogs say of a collation */
typedef struct Collation
{
	char		provider;		/* COLLPROVIDER_*, or 0: there is none */
	bool		deterministic;
	char	   *locale;			/* of ICU and of the C library */
	char	   *rules;			/* of ICU, or NULL */
} Collation;

/*
 * A column of a catalog's row that is a text; NULL if it is NULL.
 */
static char *
text_attribute(int cache, HeapTuple row, int attribute)
{
	bool		isnull;
	Datum		value = SysCacheGetAttr(cache, row, attribute, &isnull);

	return isnull ? NULL : TextDatumGetCString(value);
}

/*
 * The database's own collation, which is always deterministic.
 */
static void
look_up_default(Collation *collation)
{
	HeapTuple	row = SearchSysCache1(DATABASEOID, ObjectIdGetDatum(MyDatabaseId));
	bool		is_icu;

	if (!HeapTupleIsValid(row))
		elog(ERROR, "cache lookup failed for database %u", MyDatabaseId);
	collation->provider = ((Form_pg_database) GETSTRUCT(row))->datlocprovider;
	collation->deterministic = true;
	is_icu = collation->provider == COLLPROVIDER_ICU;
	collation->locale = text_attribute(DATABASEOID, row, is_icu ? Anum_pg_database_datlocale :
									   Anum_pg_database_datcollate);
	if (is_icu)
		collation->rules = text_attribute(DATABASEOID, row, Anum_pg_database_daticurules);
	ReleaseSysCache(row);
}

/*
 * Look up a collation.  Reads catalogs.
 */
static Collation
look_up(Oid oid)
{
	Collation	collation = {0};
	HeapTuple	row;
	bool		is_icu;

	if (!OidIsValid(oid))
		return collation;
	if (oid == DEFAULT_COLLATION_OID)
	{
		look_up_default(&collation);
		return collation;
	}
	row = SearchSysCache1(COLLOID, ObjectIdGetDatum(oid));
	if (!HeapTupleIsValid(row))
		elog(ERROR, "cache lookup failed for collation %u", oid);
	collation.provider = ((Form_pg_collation) GETSTRUCT(row))->collprovider;
	collation.deterministic = ((Form_pg_collation) GETSTRUCT(row))->collisdeterministic;
	is_icu = collation.provider == COLLPROVIDER_ICU;
	collation.locale = text_attribute(COLLOID, row, is_icu ? Anum_pg_collation_colllocale :
									  Anum_pg_collation_collcollate);
	if (is_icu)
		collation.rules = text_attribute(COLLOID, row, Anum_pg_collation_collicurules);
	ReleaseSysCache(row);
	return collation;
}

/* --- the order of bytes --- */

/*
 * Does a locale of the C library have no rules, but compare bytes?  Then what
 * it makes of a string to be compared by bytes is that string.  (In a locale
 * with rules it has weights of characters in place of these.)
 */
static bool
compares_bytes(const char *name)
{
	static const char string[] = "zB.a\303\251 -Z\344\270\255_\360\237\230\200";
	char		sort_key[4 * sizeof(string)];
	locale_t	locale = newlocale(LC_COLLATE_MASK, name, (locale_t) 0);
	size_t		length;

	if (locale == (locale_t) 0)
		return false;
	length = strxfrm_l(sort_key, string, sizeof(sort_key), locale);
	freelocale(locale);
	return length == strlen(string) && memcmp(sort_key, string, length) == 0;
}

/*
 * What a collation says of the order of strings by bytes.  Reads catalogs, and
 * asks the C library.
 */
FpbCLocale
fpb_collation_c_locale(Oid oid)
{
	Collation	collation = look_up(oid);

	/* C and POSIX are the server's own */
	if (collation.provider != COLLPROVIDER_LIBC ||
		pg_strncasecmp(collation.locale, "C.", strlen("C.")) != 0)
		return FPB_C_LOCALE_NONE;
	return compares_bytes(collation.locale) ? FPB_C_LOCALE_BYTES : FPB_C_LOCALE_RULES;
}

/*
 * Is a collation a locale of the C library?  Reads catalogs.
 */
bool
fpb_collation_is_libc(Oid oid)
{
	return look_up(oid).provider == COLLPROVIDER_LIBC;
}

/* --- sort keys of ICU --- */

/*
 * Languages whose sort keys are in the order of the collation.  (What is added
 * here or below changes how indexes are stored: the format's version, too.)
 * The first ones have no rules of their own.
 */
#define LANGUAGES_WITHOUT_RULES	8

static const char *const languages[] = {
	"und", "de", "en", "fr", "it", "nl", "pt", "ru",
	"cs", "da", "es", "fi", "hr", "hu", "ja", "ko", "lt", "nb", "no", "pl", "sk", "sv", "tr",
	"uk", "zh"
};

/*
 * Attributes of a locale with which sort keys keep the order, and their
 * values.  (Not digits among what is reordered: where Latin letters come
 * before digits, ICU compares ASCII strings as if they did not.)
 */
static const char *const attributes[] = {
	"kn", "true", "false", "kf", "upper", "lower", "co", "standard", "phonebk", "pinyin", "stroke",
	"kr", "latn", "grek", "cyrl"
};

static bool
is_among(const char *word, Size length, const char *const *words, int nwords)
{
	for (int i = 0; i < nwords; i++)
		if (strlen(words[i]) == length && pg_strncasecmp(words[i], word, length) == 0)
			return true;
	return false;
}

/*
 * Do sort keys keep the order, as far as this part of the locale goes?  One
 * before "u" is a script or a region; the others belong to attributes.
 * (French in Canada compares accents from the end.)
 */
static bool
part_keeps_order(const char *part, Size length, bool of_attribute, bool is_french)
{
	if (of_attribute)
		return is_among(part, length, attributes, lengthof(attributes));
	return length >= 2 && length <= 4 && !(is_french && pg_strncasecmp(part, "CA", 2) == 0) &&
		strspn(part, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789") >= length;
}

/*
 * Is the order of sort keys that of the collation, as far as is known?  The
 * locale is a language tag: the language, perhaps a script and a region, and
 * attributes after "u".  Nothing is known of any other form of a locale.
 *
 * Where a language has rules of its own, and numbers are compared as such, ICU
 * does not take digits outside ASCII for parts of a number when it compares,
 * but does when it makes sort keys.
 */
static bool
sort_keys_keep_order(const Collation *icu)
{
	const char *part = icu->locale;
	Size		length = strcspn(part, "-");
	bool		is_french = length == 2 && pg_strncasecmp(part, "fr", 2) == 0;
	bool		has_rules = !is_among(part, length, languages, LANGUAGES_WITHOUT_RULES);
	bool		has_numbers = false;
	bool		in_attributes = false;

	if (icu->rules != NULL || !is_among(part, length, languages, lengthof(languages)))
		return false;
	while (part[length] == '-')
	{
		part += length + 1;
		length = strcspn(part, "-");
		if (!in_attributes && length == 1 && pg_strncasecmp(part, "u", 1) == 0)
			in_attributes = true;
		else if (!part_keeps_order(part, length, in_attributes, is_french))
			return false;
		has_rules |= in_attributes && length == 2 && pg_strncasecmp(part, "co", 2) == 0;
		has_numbers |= in_attributes && length == 2 && pg_strncasecmp(part, "kn", 2) == 0;
	}
	return !(has_rules && has_numbers);
}

/*
 * Does a collation order strings by ICU's sort keys?  That never changes.
 */
bool
fpb_collation_has_sort_keys(Oid collation)
{
	Collation	icu = look_up(collation);

	return icu.provider == COLLPROVIDER_ICU && icu.deterministic && sort_keys_keep_order(&icu);
}

/*
 * A number that tells what makes the sort keys of a collation: a hash of ICU's
 * version and of the collation's definition.  It is greater than
 * FPB_HEADS_MIXED.  Reads catalogs, and asks ICU.
 */
uint32
fpb_collation_version(Oid collation)
{
	Collation	icu = look_up(collation);
	char	   *version = get_collation_actual_version(COLLPROVIDER_ICU, icu.locale);
	char	   *all = psprintf("%s/%s/%s", version == NULL ? "" : version, icu.locale,
							   icu.rules == NULL ? "" : icu.rules);

	return Max(hash_bytes((unsigned char *) all, strlen(all)), FPB_HEADS_MIXED + 1);
}

/*
 * Some sort keys that have been made lately: of a key that is looked for on
 * one page after the other, and of fences that many searches come by.
 */
#define KNOWN_SORT_KEYS		64
#define KNOWN_MOST			104 /* bytes of a string */

typedef struct KnownSortKey
{
	Oid			collation;
	uint8		length;
	uint8		wanted;			/* the most bytes that were wanted, */
	uint8		made;			/* that ICU was asked for, */
	uint8		size;			/* and that there are */
	char		data[KNOWN_MOST];
	char		sort_key[FPB_SORT_KEY_MOST];
} KnownSortKey;

static KnownSortKey known_sort_keys[KNOWN_SORT_KEYS];

/* those that have been made last, in turn */
#define MADE_LAST			4

static const KnownSortKey *made_last[MADE_LAST];
static uint32 made_count = 0;

/*
 * Where a sort key is if it is known.  Strings differ near their ends more
 * often than elsewhere.
 */
static KnownSortKey *
where_known(const char *data, Size length)
{
	uint64		end = 0;

	memcpy(&end, data + length - Min(length, sizeof(end)), Min(length, sizeof(end)));
	return &known_sort_keys[murmurhash64(end) % KNOWN_SORT_KEYS];
}

/*
 * How many bytes to make of a sort key of which so many are wanted?  The
 * search that wants them will want more in its next page.  It wants as many as
 * others did lately.
 */
static Size
size_to_make(Size want)
{
	for (int i = 0; i < MADE_LAST; i++)
		if (made_last[i] != NULL)
			want = Max(want, made_last[i]->wanted);
	return want;
}

/*
 * Make a sort key, of a string of at most KNOWN_MOST bytes.
 */
static void
make_known(KnownSortKey *known, Oid collation, const char *data, Size length, Size want)
{
	pg_locale_t locale = pg_newlocale_from_collation(collation);
	Size		made = size_to_make(want);

	known->collation = InvalidOid;
	known->size = Min(fpb_strnxfrm_prefix(known->sort_key, made, data, length, locale), made);
	known->made = made;
	known->wanted = want;
	known->length = length;
	memcpy(known->data, data, length);
	known->collation = collation;
	made_last[made_count++ % MADE_LAST] = known;
}

/*
 * Write the first bytes of a string's sort key, as many as are wanted, of
 * FPB_SORT_KEY_MOST.  Returns how many they are, fewer if there are no more.
 */
Size
fpb_sort_key(Oid collation, const char *data, Size length, char *to, Size want)
{
	KnownSortKey *known = where_known(data, length);
	Size		size;

	Assert(want <= FPB_SORT_KEY_MOST);
	if (length > KNOWN_MOST)
		return Min(fpb_strnxfrm_prefix(to, want, data, length,
									   pg_newlocale_from_collation(collation)), want);
	if (known->collation != collation || known->length != length ||
		(known->made < want && known->size == known->made) ||
		memcmp(known->data, data, length) != 0)
		make_known(known, collation, data, length, want);
	known->wanted = Max(known->wanted, want);
	size = Min(known->size, want);
	memcpy(to, known->sort_key, size);
	return size;
}
