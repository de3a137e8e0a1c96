/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A growing string with an upper limit, and strict number parsing. */
#ifndef FB_UTIL_STR_H
#define FB_UTIL_STR_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/util/error.h"

/*
 * Invariant: .buf is NULL or NUL-terminated at .buf[.len]. .max is the largest .len;
 * what would exceed it is dropped and .truncated set, so that hostile input cannot
 * grow it. A zeroed struct is an empty string with the limit FB_STR_MAX.
 */
struct fb_str {
	char *buf;
	size_t len, cap;
	size_t max;
	bool truncated;
};

#define FB_STR_MAX (64u << 20)
#define FB_STR_INIT                                                                                \
	{                                                                                          \
		.buf = NULL                                                                        \
	}

void fb_str_add(struct fb_str *s, const char *text);
void fb_str_addn(struct fb_str *s, const char *data, size_t len);
void fb_str_addc(struct fb_str *s, char c);
void fb_str_addf(struct fb_str *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/** fb_str_cstr() - The contents, never NULL; borrowed until the next change. */
const char *fb_str_cstr(const struct fb_str *s);

/** fb_str_take() - Give the contents away (free() them) and empty @s. Never NULL. */
char *fb_str_take(struct fb_str *s);

void fb_str_release(struct fb_str *s);

bool fb_str_has_prefix(const char *s, const char *prefix);
bool fb_str_has_suffix(const char *s, const char *suffix);

/** fb_plural() - "" for 1, else "s": the end of what is counted. */
const char *fb_plural(size_t n);

/** fb_utf8_len() - Length of the strict UTF-8 sequence at @text, 0 when there is none. */
size_t fb_utf8_len(const char *text, size_t left);

/** fb_utf8_cut() - How many bytes of the UTF-8 @text fit in @max without cutting a character. */
size_t fb_utf8_cut(const char *text, size_t max);

/** fb_text_tame() - Make @text one line of UTF-8: '?' for control bytes and what is no UTF-8. */
void fb_text_tame(char *text);

/**
 * fb_parse_u64() - Read a decimal number that is the whole of @s.
 * @min, @max: accepted range, inclusive.
 *
 * Errors: FB_ERROR_INPUT, naming the text and the range.
 */
int fb_parse_u64(const char *s, uint64_t min, uint64_t max, uint64_t *ret, struct fb_error *err);

/** fb_parse_double() - Read a finite number that is the whole of @s; '.' in every locale. */
int fb_parse_double(const char *s, double *ret, struct fb_error *err);

/**
 * fb_parse_size() - Read a size such as "4096", "4k", "16MB", "1G" (powers of 1024), in bytes.
 *
 * Errors: FB_ERROR_INPUT; also when it does not fit 63 bits.
 */
int fb_parse_size(const char *s, uint64_t *ret_b, struct fb_error *err);

/**
 * fb_parse_duration() - Read a duration such as "90", "90s", "5m", "2h", in ns; bare numbers are s.
 */
int fb_parse_duration(const char *s, int64_t *ret_ns, struct fb_error *err);

#endif
