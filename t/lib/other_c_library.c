/*
 * t/045_c_library.pl: the C library of another machine, which has rules for
 * C.UTF-8.  Preloaded, it takes the place of two functions of the server's: in
 * all locales, small letters and capital ones are put beside each other.
 */
#include <ctype.h>
#include <locale.h>
#include <string.h>
#include <strings.h>

int
strcoll_l(const char *a, const char *b, locale_t locale)
{
	int			order = strcasecmp(a, b);

	return order != 0 ? order : strcmp(a, b);
}

size_t
strxfrm_l(char *to, const char *string, size_t size, locale_t locale)
{
	size_t		length = strlen(string);

	for (size_t i = 0; i < size; i++)
		to[i] = i < length ? tolower((unsigned char) string[i]) :
			i == length ? 1 :
			i <= 2 * length ? string[i - length - 1] : 0;
	return 2 * length + 1;
}
