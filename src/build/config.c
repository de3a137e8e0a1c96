/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Kernel config fragments: what they ask for, and whether a .config has it. */
#include "src/build/config.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "src/util/util.h"

#define NOT_SET	    " is not set"
#define OPTIONAL    "# optional"
#define WHY_SYMBOLS 3 /* named in a cause; the rest is counted */

struct span {
	const char *p;
	size_t len;
};

static bool next_line(const char **p, const char *end, struct span *ret)
{
	const char *nl;

	if (*p >= end)
		return false;
	nl = memchr(*p, '\n', (size_t)(end - *p));
	*ret = (struct span){*p, (size_t)((nl ? nl : end) - *p)};
	*p = nl ? nl + 1 : end;
	return true;
}

static void trim_end(struct span *s)
{
	while (s->len && isspace((unsigned char)s->p[s->len - 1]))
		s->len--;
}

static bool cut_suffix(struct span *s, const char *suffix)
{
	size_t n = strlen(suffix);

	if (s->len < n || memcmp(s->p + s->len - n, suffix, n) != 0)
		return false;
	s->len -= n;
	return true;
}

static bool has_prefix(struct span s, const char *prefix)
{
	size_t n = strlen(prefix);

	return s.len >= n && !memcmp(s.p, prefix, n);
}

/* Length of the CONFIG_ name at the start of @s, 0 when there is none. */
static size_t name_len(struct span s)
{
	size_t n = strlen("CONFIG_");

	if (!has_prefix(s, "CONFIG_"))
		return 0;
	while (n < s.len && (isalnum((unsigned char)s.p[n]) || s.p[n] == '_'))
		n++;
	return n > strlen("CONFIG_") ? n : 0;
}

/* "y", "m", "n", a decimal or hexadecimal number, or a quoted string. */
static bool is_value(struct span v)
{
	size_t i = 0;

	if (v.len >= 2 && v.p[0] == '"')
		return v.p[v.len - 1] == '"';
	if (v.len == 1 && strchr("ymn", v.p[0]))
		return true;
	if (has_prefix(v, "0x") || has_prefix(v, "0X")) {
		for (i = 2; i < v.len && isxdigit((unsigned char)v.p[i]); i++)
			;
		return i == v.len && v.len > 2;
	}
	if (v.len && v.p[0] == '-')
		i = 1;
	if (i == v.len)
		return false;
	while (i < v.len && isdigit((unsigned char)v.p[i]))
		i++;
	return i == v.len;
}

static void request_release(struct fb_config_request *r)
{
	free(r->name);
	free(r->value);
	free(r->where);
}

static void add_request(struct fb_config *config, struct span name, const struct span *value,
			bool optional, char *where)
{
	struct fb_config_request r = {.name = fb_xstrndup(name.p, name.len),
				      .value = value ? fb_xstrndup(value->p, value->len) : NULL,
				      .where = where,
				      .optional = optional};

	for (size_t i = 0; i < config->nr; i++) {
		if (strcmp(config->request[i].name, r.name) != 0)
			continue;
		request_release(&config->request[i]);
		config->request[i] = r;
		return;
	}
	FB_GROW(config->request, config->nr, config->cap);
	config->request[config->nr++] = r;
}

static int parse_line(struct fb_config *config, struct span s, const char *name, unsigned line,
		      struct fb_error *err)
{
	bool optional;
	struct span sym, value;
	size_t n;

	trim_end(&s);
	if (!s.len)
		return 0;
	optional = cut_suffix(&s, OPTIONAL);
	trim_end(&s);
	if (s.len && s.p[0] == '#') {
		sym = (struct span){s.p + 1, s.len - 1};
		while (sym.len && sym.p[0] == ' ')
			sym.p++, sym.len--;
		if (!cut_suffix(&sym, NOT_SET) || !name_len(sym))
			return 0;
		if (name_len(sym) != sym.len)
			return fb_error_set(err, FB_ERROR_INPUT, "%s:%u: not a symbol: '%.*s'",
					    name, line, (int)sym.len, sym.p);
		add_request(config, sym, NULL, optional, fb_xasprintf("%s:%u", name, line));
		return 0;
	}
	n = name_len(s);
	if (!n || n >= s.len || s.p[n] != '=')
		return fb_error_set(err, FB_ERROR_INPUT,
				    "%s:%u: expected CONFIG_NAME=value, got '%.*s'", name, line,
				    (int)s.len, s.p);
	value = (struct span){s.p + n + 1, s.len - n - 1};
	if (!is_value(value))
		return fb_error_set(
			err, FB_ERROR_INPUT,
			"%s:%u: expected y, m, n, a number or a quoted string, got '%.*s'", name,
			line, (int)value.len, value.p);
	add_request(config, (struct span){s.p, n},
		    value.len == 1 && value.p[0] == 'n' ? NULL : &value, optional,
		    fb_xasprintf("%s:%u", name, line));
	return 0;
}

int fb_config_parse(struct fb_config *config, const char *buf, size_t len, const char *name,
		    struct fb_error *err)
{
	const char *p = buf, *end = buf + len;
	unsigned line = 0;
	struct span s;

	while (next_line(&p, end, &s)) {
		line++;
		if (memchr(s.p, '\0', s.len))
			return fb_error_set(err, FB_ERROR_INPUT, "%s:%u: a NUL byte", name, line);
		if (parse_line(config, s, name, line, err) < 0)
			return -1;
	}
	return 0;
}

void fb_config_add_text(const struct fb_config *config, struct fb_str *out)
{
	for (size_t i = 0; i < config->nr; i++) {
		const struct fb_config_request *r = &config->request[i];

		if (r->value)
			fb_str_addf(out, "%s=%s\n", r->name, r->value);
		else
			fb_str_addf(out, "# %s is not set\n", r->name);
	}
}

/* Owned; NULL when off or unknown. */
static char *value_of(const char *buf, size_t len, const char *name)
{
	const char *p = buf;
	size_t n = strlen(name);
	struct span s;

	while (next_line(&p, buf + len, &s))
		if (s.len > n && s.p[n] == '=' && !memcmp(s.p, name, n))
			return fb_xstrndup(s.p + n + 1, s.len - n - 1);
	return NULL;
}

bool fb_config_is(const char *buf, size_t len, const char *name, const char *value)
{
	FB_CLEANUP(fb_freep) char *v = value_of(buf, len, name);

	return v && !strcmp(v, value);
}

bool fb_config_has_modules(const char *buf, size_t len)
{
	const char *p = buf;
	struct span s;

	if (!fb_config_is(buf, len, "CONFIG_MODULES", "y"))
		return false;
	while (next_line(&p, buf + len, &s))
		if (name_len(s) && cut_suffix(&s, "=m"))
			return true;
	return false;
}

bool fb_config_check(const struct fb_config *config, const char *buf, size_t len, char **ret_why)
{
	FB_CLEANUP(fb_str_release) struct fb_str why = FB_STR_INIT;
	unsigned bad = 0;

	for (size_t i = 0; i < config->nr; i++) {
		const struct fb_config_request *r = &config->request[i];
		FB_CLEANUP(fb_freep) char *got = value_of(buf, len, r->name);

		if (r->optional || (r->value ? got && !strcmp(got, r->value) : !got))
			continue;
		if (bad++ >= WHY_SYMBOLS)
			continue;
		fb_str_addf(&why, "%s%s%s%s (%s) cannot be had here: it is %s", bad > 1 ? "; " : "",
			    r->name, r->value ? "=" : " off", r->value ? r->value : "", r->where,
			    got ? got : "off or unknown");
	}
	if (!bad)
		return true;
	if (bad > WHY_SYMBOLS)
		fb_str_addf(&why, "; and %u more", bad - WHY_SYMBOLS);
	*ret_why = fb_str_take(&why);
	return false;
}

void fb_config_release(struct fb_config *config)
{
	for (size_t i = 0; i < config->nr; i++)
		request_release(&config->request[i]);
	free(config->request);
	*config = (struct fb_config){0};
}
