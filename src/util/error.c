/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One error type, on the caller's stack, with a chain of contexts in its text. */
#include "src/util/error.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/util/str.h"

__attribute__((format(printf, 4, 0))) static void set(struct fb_error *err, enum fb_error_code code,
						      int sys, const char *fmt, va_list ap)
{
	if (err->code != FB_ERROR_NONE)
		FB_BUG("error set twice, first: %s", err->text);
	err->code = code;
	err->sys = sys;
	vsnprintf(err->text, sizeof(err->text), fmt, ap);
	fb_text_tame(err->text);
}

int fb_error_set(struct fb_error *err, enum fb_error_code code, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	set(err, code, 0, fmt, ap);
	va_end(ap);
	return -1;
}

int fb_error_set_sys(struct fb_error *err, int errnum, const char *fmt, ...)
{
	size_t len;
	va_list ap;

	va_start(ap, fmt);
	set(err, FB_ERROR_SYSTEM, errnum, fmt, ap);
	va_end(ap);
	len = strlen(err->text);
	snprintf(err->text + len, sizeof(err->text) - len, ": %s", strerror(errnum));
	fb_text_tame(err->text); /* the end may be cut within a character */
	return -1;
}

int fb_error_wrap(struct fb_error *err, const char *fmt, ...)
{
	char inner[sizeof(err->text)];
	size_t len;
	va_list ap;

	if (err->code == FB_ERROR_NONE)
		FB_BUG("wrapped an error that is not set");
	memcpy(inner, err->text, sizeof(inner));
	va_start(ap, fmt);
	vsnprintf(err->text, sizeof(err->text), fmt, ap);
	va_end(ap);
	len = strlen(err->text);
	snprintf(err->text + len, sizeof(err->text) - len, ": %s", inner);
	fb_text_tame(err->text);
	return -1;
}

void fb_error_clear(struct fb_error *err)
{
	err->code = FB_ERROR_NONE;
	err->sys = 0;
	err->text[0] = '\0';
}

void fb_bug(const char *file, int line, const char *fmt, ...)
{
	va_list ap;

	fprintf(stderr, "firstbad: BUG: %s:%d: ", file, line);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	abort();
}
