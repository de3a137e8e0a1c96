/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A growing string with an upper limit, and strict number parsing. */
#include "src/util/str.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/util/util.h"

void fb_str_addn(struct fb_str *s, const char *data, size_t len)
{
	size_t max = s->max ? s->max : FB_STR_MAX;

	if (s->len >= max || len > max - s->len) {
		s->truncated |= len > 0;
		len = s->len < max ? max - s->len : 0;
	}
	if (s->len + len + 1 > s->cap) {
		size_t cap = s->cap ? s->cap : 64;

		while (cap < s->len + len + 1)
			cap *= 2;
		s->buf = fb_xrealloc(s->buf, cap, 1);
		s->cap = cap;
	}
	if (len)
		memcpy(s->buf + s->len, data, len);
	s->len += len;
	s->buf[s->len] = '\0';
}

void fb_str_add(struct fb_str *s, const char *text)
{
	fb_str_addn(s, text, strlen(text));
}

void fb_str_addc(struct fb_str *s, char c)
{
	fb_str_addn(s, &c, 1);
}

void fb_str_addf(struct fb_str *s, const char *fmt, ...)
{
	FB_CLEANUP(fb_freep) char *text = NULL;
	va_list ap;
	int len;

	va_start(ap, fmt);
	len = vasprintf(&text, fmt, ap);
	va_end(ap);
	if (len < 0)
		abort();
	fb_str_addn(s, text, (size_t)len);
}

const char *fb_str_cstr(const struct fb_str *s)
{
	return s->buf ? s->buf : "";
}

char *fb_str_take(struct fb_str *s)
{
	char *buf = s->buf ? s->buf : fb_xstrdup("");

	s->buf = NULL;
	s->len = s->cap = 0;
	s->truncated = false;
	return buf;
}

void fb_str_release(struct fb_str *s)
{
	free(s->buf);
	s->buf = NULL;
	s->len = s->cap = 0;
	s->truncated = false;
}

bool fb_str_has_prefix(const char *s, const char *prefix)
{
	return !strncmp(s, prefix, strlen(prefix));
}

bool fb_str_has_suffix(const char *s, const char *suffix)
{
	size_t len = strlen(s), n = strlen(suffix);

	return len >= n && !strcmp(s + len - n, suffix);
}

const char *fb_plural(size_t n)
{
	return n == 1 ? "" : "s";
}

size_t fb_utf8_len(const char *text, size_t left)
{
	const unsigned char *p = (const unsigned char *)text;
	static const struct {
		unsigned char lo, hi, second_lo, second_hi;
		unsigned char len;
	} row[] = {
		{0x00, 0x7f, 0, 0, 1},	     {0xc2, 0xdf, 0x80, 0xbf, 2},
		{0xe0, 0xe0, 0xa0, 0xbf, 3}, {0xe1, 0xec, 0x80, 0xbf, 3},
		{0xed, 0xed, 0x80, 0x9f, 3}, {0xee, 0xef, 0x80, 0xbf, 3},
		{0xf0, 0xf0, 0x90, 0xbf, 4}, {0xf1, 0xf3, 0x80, 0xbf, 4},
		{0xf4, 0xf4, 0x80, 0x8f, 4},
	};

	for (size_t i = 0; i < FB_ARRAY_SIZE(row); i++) {
		size_t len = row[i].len;

		if (*p < row[i].lo || *p > row[i].hi)
			continue;
		if (len > left || (len > 1 && (p[1] < row[i].second_lo || p[1] > row[i].second_hi)))
			return 0;
		for (size_t j = 2; j < len; j++)
			if ((p[j] & 0xc0) != 0x80)
				return 0;
		return len;
	}
	return 0;
}

size_t fb_utf8_cut(const char *text, size_t max)
{
	size_t len = strlen(text), n;

	if (len <= max)
		return len;
	for (len = 0; (n = fb_utf8_len(text + len, max - len)) > 0; len += n)
		;
	return len;
}

void fb_text_tame(char *text)
{
	size_t left = strlen(text), n;

	for (char *p = text; left; p += n, left -= n) {
		unsigned char c = (unsigned char)*p;

		n = fb_utf8_len(p, left);
		/* C1 controls are two bytes: 0xc2 0x80 to 0xc2 0x9f. */
		if (!n || c < 0x20 || c == 0x7f) {
			*p = '?';
			n = 1;
		} else if (c == 0xc2 && (unsigned char)p[1] < 0xa0) {
			p[0] = p[1] = '?';
		}
	}
}

/* The digits at the start of @s; -1 when there are none or they overflow. */
static int digits(const char *s, uint64_t *ret, const char **ret_end)
{
	uint64_t v = 0;
	const char *p = s;

	for (; isdigit((unsigned char)*p); p++) {
		unsigned d = (unsigned)(*p - '0');

		if (v > (UINT64_MAX - d) / 10)
			return -1;
		v = v * 10 + d;
	}
	if (p == s)
		return -1;
	*ret = v;
	*ret_end = p;
	return 0;
}

int fb_parse_u64(const char *s, uint64_t min, uint64_t max, uint64_t *ret, struct fb_error *err)
{
	const char *end;
	uint64_t v;

	if (digits(s, &v, &end) < 0 || *end || v < min || v > max)
		return fb_error_set(err, FB_ERROR_INPUT,
				    "'%.64s' is not a number from %llu to %llu", s,
				    (unsigned long long)min, (unsigned long long)max);
	*ret = v;
	return 0;
}

int fb_parse_double(const char *s, double *ret, struct fb_error *err)
{
	char *end;
	double v;

	/* The locale is never set, so strtod() uses '.'. Its "inf", "nan" and hex are refused. */
	errno = 0;
	v = strtod(s, &end);
	if (end == s || *end || !isfinite(v) || strspn(s, "0123456789+-.eE") != strlen(s))
		return fb_error_set(err, FB_ERROR_INPUT, "'%.64s' is not a finite number", s);
	*ret = v;
	return 0;
}

int fb_parse_size(const char *s, uint64_t *ret_b, struct fb_error *err)
{
	static const char units[] = "kmgt";
	unsigned shift = 0;
	const char *end, *u;
	uint64_t v;

	if (digits(s, &v, &end) < 0)
		goto bad;
	if (*end && (u = strchr(units, tolower((unsigned char)*end)))) {
		shift = 10u * (unsigned)(u - units + 1);
		end++;
	}
	if (*end == 'B')
		end++;
	if (*end || v > (uint64_t)INT64_MAX >> shift)
		goto bad;
	*ret_b = v << shift;
	return 0;
bad:
	return fb_error_set(err, FB_ERROR_INPUT, "'%.64s' is not a size such as 4096, 4k or 16m",
			    s);
}

int fb_parse_duration(const char *s, int64_t *ret_ns, struct fb_error *err)
{
	const char *end;
	uint64_t v, unit = 1;

	if (digits(s, &v, &end) < 0)
		goto bad;
	if (*end) {
		if (*end == 'm')
			unit = 60;
		else if (*end == 'h')
			unit = 3600;
		else if (*end == 'd')
			unit = 86400;
		else if (*end != 's')
			goto bad;
		end++;
	}
	if (*end || v > (uint64_t)INT64_MAX / FB_NS_PER_S / unit)
		goto bad;
	*ret_ns = (int64_t)(v * unit) * FB_NS_PER_S;
	return 0;
bad:
	return fb_error_set(err, FB_ERROR_INPUT, "'%.64s' is not a duration such as 90s, 5m or 2h",
			    s);
}
