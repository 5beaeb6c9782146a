/*-------------------------------------------------------------------------
 *
 * key/guess.c
 *	  Guesses of the order of strings whose keys have no heads.
 *
 * Where only the comparator knows the order of strings, as in most locales of
 * the C library, a search spends most of its time in it.  But most locales put
 * digits before letters, and letters in the order of the alphabet, whether
 * they are small or capital, and have accents or none.  So the bytes of a
 * string tell where it probably belongs.  A search that bisects by guesses
 * needs the comparator for the two entries beside the place alone.  If the
 * comparator says that the guess is wrong, the search goes on without guesses.
 *
 * No guess is stored, and no answer depends on one.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_collation.h"
#include "catalog/pg_type.h"
#include "common/unicode_case.h"
#include "mb/pg_wchar.h"
#include "utils/lsyscache.h"

#include "key/guess.h"

/*
 * The letters that those from U+00C0 to U+017F, the Latin ones with accents
 * and ligatures, are put beside.
 */
#define FIRST_ACCENTED		0xC0

static const char base_letters[] =
"aaaaaaaceeeeiiiidnooooo*ouuuuytsaaaaaaaceeeeiiiidnooooo*ouuuuyty"
"aaaaaaccccccccddddeeeeeeeeeegggggggghhhhiiiiiiiiiiiijjkkqlllllll"
"lllnnnnnnnnnoooooooorrrrrrssssssssttttttuuuuuuuuuuuuwwyyyzzzzzzs";

/* characters that are added to the one before */
#define FIRST_COMBINING		0x300
#define LAST_COMBINING		0x36F

/* where characters that are neither digits nor Latin letters come */
#define OTHER_WEIGHT		0x400

/*
 * What is to be guessed of the strings of a type in a collation.  The locales
 * of the C library take signs and blanks into account only where strings have
 * the same letters.  Reads catalogs.
 */
FpbGuesses
fpb_guesses_of(Oid type, Oid collation)
{
	char		category;
	bool		preferred;

	get_type_category_preferred(type, &category, &preferred);
	if (category != TYPCATEGORY_STRING)
		return FPB_GUESSES_NONE;
	return fpb_collation_is_libc(collation) ? FPB_GUESSES_LETTERS : FPB_GUESSES_ALL;
}

/*
 * The weight of a character of ASCII: signs come before digits, and these
 * before letters.  0: it does not count.
 */
static inline int
weigh_ascii(uint8 c, bool ignores)
{
	uint8		small = c | 0x20;

	if (small >= 'a' && small <= 'z')
		return 0x200 + small;
	if (c >= '0' && c <= '9')
		return 0x100 + c;
	return ignores ? 0 : c + 1;
}

/*
 * The weight of a character with a code point beyond ASCII.
 */
static int
weigh_beyond_ascii(pg_wchar c, bool ignores)
{
	if (c >= FIRST_ACCENTED && c < FIRST_ACCENTED + sizeof(base_letters) - 1)
		return weigh_ascii(base_letters[c - FIRST_ACCENTED], ignores);
	if (c >= FIRST_COMBINING && c <= LAST_COMBINING)
		return 0;
	return OTHER_WEIGHT + unicode_lowercase_simple(c);
}

/*
 * The weight of the next character that counts, from *at on, which becomes the
 * end of that character.  0: there is none.
 */
static inline int
next_weight(const uint8 **at, const uint8 *end, bool utf8, bool ignores)
{
	int			weight = 0;

	while (weight == 0 && *at < end)
	{
		const uint8 *c = *at;

		if (likely(*c < 0x80))
		{
			weight = weigh_ascii(*c, ignores);
			*at += 1;
		}
		else if (utf8 && end - c >= pg_utf_mblen(c))
		{
			weight = weigh_beyond_ascii(utf8_to_unicode(c), ignores);
			*at += pg_utf_mblen(c);
		}
		else
		{
			weight = OTHER_WEIGHT + *c;
			*at += 1;
		}
	}
	return weight;
}

/*
 * What a - b probably is, if so many bytes of both are the same, and the next
 * characters don't tell.
 */
static pg_noinline int
guess_behind(const char *a, Size a_length, const char *b, Size b_length, Size same, bool ignores)
{
	bool		utf8 = GetDatabaseEncoding() == PG_UTF8;
	const uint8 *a_end = (const uint8 *) a + a_length;
	const uint8 *b_end = (const uint8 *) b + b_length;
	const uint8 *a_at;
	const uint8 *b_at;
	int			a_weight;
	int			b_weight;

	/* not amid a character */
	while (utf8 && same > 0 && same < Min(a_length, b_length) && ((a[same] | b[same]) & 0xC0) == 0x80)
		same--;
	a_at = (const uint8 *) a + same;
	b_at = (const uint8 *) b + same;
	do
	{
		a_weight = next_weight(&a_at, a_end, utf8, ignores);
		b_weight = next_weight(&b_at, b_end, utf8, ignores);
	} while (a_weight == b_weight && a_weight != 0);
	return a_weight - b_weight;
}

/*
 * What a - b probably is.
 */
int
fpb_guess_strings(const char *a, Size a_length, const char *b, Size b_length, bool ignores)
{
	Size		length = Min(a_length, b_length);
	Size		same = fpb_same_bytes(a, b, length);

	if (likely(same < length && ((a[same] | b[same]) & 0x80) == 0))
	{
		int			a_weight = weigh_ascii(a[same], ignores);
		int			b_weight = weigh_ascii(b[same], ignores);

		if (likely(a_weight != b_weight && a_weight != 0 && b_weight != 0))
			return a_weight - b_weight;
	}
	return guess_behind(a, a_length, b, b_length, same, ignores);
}

/* --- do guesses pay? --- */

/*
 * How good guesses have been lately in this session, of indexes that share a
 * place here.  One that is right saves some five calls of the comparator, and
 * one that is wrong costs one or two.
 */
#define CREDITS			64
#define MOST_CREDIT		64
#define WORTH_OF_RIGHT	2
#define PRICE_OF_WRONG	1

/* of those that don't seem to pay, one in so many is made all the same */
#define TRY_ONE_IN		16

static int8 credits[CREDITS];
static uint32 not_made = 0;

/*
 * Is a guess to be made?
 */
bool
fpb_guess_pays(const FpbIndex *ix)
{
	return likely(credits[RelationGetRelid(ix->rel) % CREDITS] >= 0) ||
		++not_made % TRY_ONE_IN == 0;
}

/*
 * Note whether one was right.
 */
void
fpb_guess_was(const FpbIndex *ix, bool right)
{
	int8	   *credit = &credits[RelationGetRelid(ix->rel) % CREDITS];

	*credit = right ? Min(*credit + WORTH_OF_RIGHT, MOST_CREDIT) : Max(*credit - PRICE_OF_WRONG, -MOST_CREDIT);
}
