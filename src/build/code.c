/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Do two versions of a source differ only in what no machine runs? */
#include "src/build/code.h"

#include <string.h>

#include "src/util/str.h"
#include "src/util/util.h"

#define END (-1)

struct reader {
	const char *p, *end;
	int quote;	 /* inside "..." or '...' */
	bool line_start; /* nothing of this line given yet */
	int held;	 /* given next; 0: none */
};

static int peek(const struct reader *r, size_t n)
{
	return (size_t)(r->end - r->p) > n ? (unsigned char)r->p[n] : END;
}

/* A backslash at the end of a line joins it to the next, everywhere. */
static bool skip_joined(struct reader *r)
{
	if (peek(r, 0) != '\\')
		return false;
	if (peek(r, 1) == '\n')
		r->p += 2;
	else if (peek(r, 1) == '\r' && peek(r, 2) == '\n')
		r->p += 3;
	else
		return false;
	return true;
}

static bool skip_comment(struct reader *r)
{
	if (peek(r, 0) != '/')
		return false;
	if (peek(r, 1) == '*') {
		r->p += 2;
		while (peek(r, 0) != END && !(peek(r, 0) == '*' && peek(r, 1) == '/'))
			r->p++;
		r->p += peek(r, 0) == END ? 0 : 2;
		return true;
	}
	if (peek(r, 1) == '/') {
		while (peek(r, 0) != END && peek(r, 0) != '\n')
			if (!skip_joined(r))
				r->p++;
		return true;
	}
	return false;
}

static bool is_blank(int c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v';
}

static int in_quotes(struct reader *r)
{
	int c = (unsigned char)*r->p++;

	/* An escaped quote does not end it; the second character is given next. */
	if (c == '\\' && r->p < r->end)
		r->held = (unsigned char)*r->p++;
	else if (c == r->quote || c == '\n')
		r->quote = 0;
	if (c == '\n')
		r->line_start = true;
	return c;
}

/* The next character that counts. */
static int next(struct reader *r)
{
	bool blank = false;
	int c;

	if (r->held) {
		c = r->held;
		r->held = 0;
		return c;
	}
	for (;;) {
		if (skip_joined(r))
			continue;
		if (peek(r, 0) == END)
			return END;
		if (r->quote)
			return in_quotes(r);
		if (skip_comment(r) || is_blank(peek(r, 0))) {
			r->p += is_blank(peek(r, 0));
			blank = true;
			continue;
		}
		c = (unsigned char)*r->p;
		if (c == '\n') {
			r->p++;
			blank = false;
			if (r->line_start)
				continue;
			r->line_start = true;
			return '\n';
		}
		if (blank && !r->line_start)
			return ' ';
		r->p++;
		r->line_start = false;
		if (c == '"' || c == '\'')
			r->quote = c;
		return c;
	}
}

bool fb_code_same(const char *a, size_t a_len, const char *b, size_t b_len)
{
	struct reader x = {.p = a, .end = a + a_len, .line_start = true};
	struct reader y = {.p = b, .end = b + b_len, .line_start = true};
	int c;

	do {
		c = next(&x);
		if (c != next(&y))
			return false;
	} while (c != END);
	return true;
}

/* Nothing of these gets into an image. Documentation/Kconfig is read with the others. */
static bool is_outside(const char *path)
{
	static const char *const dirs[] = {"Documentation/", "LICENSES/", "tools/testing/"};
	static const char *const files[] = {"MAINTAINERS", "CREDITS", "COPYING", "README",
					    ".mailmap"};
	const char *slash = strrchr(path, '/');

	if (!strcmp(slash ? slash + 1 : path, ".gitignore"))
		return true;
	for (size_t i = 0; i < FB_ARRAY_SIZE(files); i++)
		if (!strcmp(path, files[i]))
			return true;
	for (size_t i = 0; i < FB_ARRAY_SIZE(dirs); i++)
		if (fb_str_has_prefix(path, dirs[i]))
			return strcmp(path, "Documentation/Kconfig") != 0;
	return false;
}

/*
 * Their comments are data: arch/x86/kernel/cpu/mkcapflags.sh takes the names of flags from the
 * first two, lib/build_OID_registry the numbers from the third.
 */
static bool has_telling_comments(const char *path)
{
	static const char *const names[] = {"cpufeatures.h", "vmxfeatures.h", "oid_registry.h"};
	const char *slash = strrchr(path, '/');

	for (size_t i = 0; i < FB_ARRAY_SIZE(names); i++)
		if (!strcmp(slash ? slash + 1 : path, names[i]))
			return true;
	return false;
}

bool fb_code_same_file(const char *path, const char *a, size_t a_len, const char *b, size_t b_len)
{
	if (is_outside(path))
		return true;
	if (!a || !b || has_telling_comments(path))
		return false;
	return (fb_str_has_suffix(path, ".c") || fb_str_has_suffix(path, ".h") ||
		fb_str_has_suffix(path, ".S")) &&
	       fb_code_same(a, a_len, b, b_len);
}
