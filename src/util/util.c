/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Allocation that cannot fail, scope cleanup, and array helpers. */
#include "src/util/util.h"

#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void *or_die(void *p)
{
	static const char msg[] = "firstbad: out of memory\n";

	if (!p) {
		if (write(2, msg, sizeof(msg) - 1) < 0)
			abort();
		abort();
	}
	return p;
}

void *fb_xmalloc(size_t size)
{
	return or_die(malloc(size ? size : 1));
}

void *fb_xcalloc(size_t nr, size_t size)
{
	return or_die(calloc(nr ? nr : 1, size ? size : 1));
}

void *fb_xrealloc(void *p, size_t nr, size_t size)
{
	if (size && nr > SIZE_MAX / size)
		return or_die(NULL);
	return or_die(realloc(p, nr * size > 0 ? nr * size : 1));
}

char *fb_xstrdup(const char *s)
{
	return or_die(strdup(s));
}

char *fb_xstrndup(const char *s, size_t len)
{
	return or_die(strndup(s, len));
}

char *fb_xvasprintf(const char *fmt, va_list ap)
{
	char *s;

	return or_die(vasprintf(&s, fmt, ap) < 0 ? NULL : s);
}

char *fb_xasprintf(const char *fmt, ...)
{
	va_list ap;
	char *s;

	va_start(ap, fmt);
	s = fb_xvasprintf(fmt, ap);
	va_end(ap);
	return s;
}

void fb_freep(void *p)
{
	int saved = errno;

	free(*(void **)p);
	errno = saved;
}

void fb_closep(const int *fd)
{
	int saved = errno;

	if (*fd >= 0)
		close(*fd);
	errno = saved;
}

void fb_strvp(char ***v)
{
	int saved = errno;

	if (*v)
		for (char **p = *v; *p; p++)
			free(*p);
	free(*v);
	*v = NULL;
	errno = saved;
}

size_t fb_strv_len(char *const *v)
{
	size_t n = 0;

	while (v && v[n])
		n++;
	return n;
}

void fb_strv_add(char ***v, const char *s)
{
	size_t n = fb_strv_len(*v);

	*v = fb_xrealloc(*v, n + 2, sizeof(**v));
	(*v)[n] = fb_xstrdup(s);
	(*v)[n + 1] = NULL;
}
