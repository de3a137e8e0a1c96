/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Commit objects read from their own text, and text from commits made safe to show.
 *
 * Own reading, because libgit2 refuses a commit whose author line is odd (there are such in
 * old histories), and because the walk over a range needs the parents and the date only.
 */
#include <iconv.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "src/history/internal.h"
#include "src/util/str.h"
#include "src/util/util.h"

#define REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */
#define ELLIPSIS    "\xe2\x80\xa6" /* U+2026 */

/* The rest of the line after @key, if the line begins with it; moves *p behind the line. */
static bool take_line(const char **p, const char *end, const char *key, const char **ret,
		      size_t *ret_len)
{
	size_t key_len = strlen(key);
	const char *newline;

	if ((size_t)(end - *p) < key_len || memcmp(*p, key, key_len))
		return false;
	newline = memchr(*p, '\n', (size_t)(end - *p));
	if (!newline)
		return false;
	*ret = *p + key_len;
	*ret_len = (size_t)(newline - *ret);
	*p = newline + 1;
	return true;
}

int fb_raw_commit_parse(const char *buf, size_t len, struct fb_raw_commit *ret)
{
	struct fb_raw_commit raw = {
		.author.buf = "", .committer.buf = "", .encoding.buf = "", .message.buf = ""};
	const char *p = buf, *end = buf + len, *hex;
	git_oid parent;
	size_t hex_len;

	if (!take_line(&p, end, "tree ", &hex, &hex_len) || hex_len != GIT_OID_HEXSZ ||
	    git_oid_fromstrn(&raw.tree, hex, hex_len) < 0)
		return -1;
	raw.parents = p;
	while (take_line(&p, end, "parent ", &hex, &hex_len)) {
		if (hex_len != GIT_OID_HEXSZ || git_oid_fromstrn(&parent, hex, hex_len) < 0)
			return -1;
		raw.nr_parents++;
	}
	if (take_line(&p, end, "author ", &raw.author.buf, &raw.author.len))
		while (take_line(&p, end, "author ", &hex, &hex_len))
			; /* some tools wrote several; git, too, reads the first */
	take_line(&p, end, "committer ", &raw.committer.buf, &raw.committer.len);
	while (p < end && *p != '\n') {
		if (take_line(&p, end, "encoding ", &raw.encoding.buf, &raw.encoding.len))
			continue;
		if (!take_line(&p, end, "", &hex, &hex_len)) /* mergetag, gpgsig, ... */
			p = end;
	}
	if (p < end) {
		raw.message.buf = p + 1;
		raw.message.len = (size_t)(end - p) - 1;
	}
	*ret = raw;
	return 0;
}

void fb_raw_commit_parent(const struct fb_raw_commit *raw, unsigned i, git_oid *ret)
{
	/* Checked by fb_raw_commit_parse(). */
	git_oid_fromstrn(ret, raw->parents + (size_t)i * FB_RAW_PARENT_SIZE + strlen("parent "),
			 GIT_OID_HEXSZ);
}

void fb_raw_person(const char *buf, size_t len, const char **ret_name, size_t *ret_name_len,
		   const char **ret_email, size_t *ret_email_len, int64_t *ret_s)
{
	const char *end = buf + len, *open = memchr(buf, '<', len);
	const char *close = open ? memrchr(open, '>', (size_t)(end - open)) : NULL;
	int64_t s = 0;

	*ret_name = buf;
	*ret_name_len = open ? (size_t)(open - buf) : len;
	*ret_email = open ? open + 1 : "";
	*ret_email_len = close ? (size_t)(close - open) - 1 : 0;
	for (const char *p = close ? close + 1 : end; p < end; p++) {
		if (*p >= '0' && *p <= '9') {
			if (s > (INT64_MAX - 9) / 10) {
				s = 0;
				break;
			}
			s = s * 10 + (*p - '0');
		} else if (*p != ' ' || s) {
			break;
		}
	}
	*ret_s = s;
}

/* One character of strict UTF-8: its length, or 0 when there is none. */
static size_t decode(const unsigned char *p, size_t len, uint32_t *ret)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	unsigned char first = p[0];
	size_t n = first < 0x80	      ? 1
		   : first >> 5 == 6  ? 2
		   : first >> 4 == 14 ? 3
		   : first >> 3 == 30 ? 4
				      : 0;
	uint32_t c = n == 1 ? p[0] : p[0] & (0x7fu >> n);

	if (!n || n > len)
		return 0;
	for (size_t i = 1; i < n; i++) {
		if (p[i] >> 6 != 2)
			return 0;
		c = c << 6 | (p[i] & 0x3f);
	}
	if (n > 1 && (c < least[n] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000)))
		return 0;
	*ret = c;
	return n;
}

/* Reordering marks can make a subject read as another one ("Trojan Source", CVE-2021-42574). */
static bool is_reordering(uint32_t c)
{
	return c == 0x61c || c == 0x200e || c == 0x200f || (c >= 0x202a && c <= 0x202e) ||
	       (c >= 0x2066 && c <= 0x2069) || c == 0xfeff;
}

static bool is_break(uint32_t c)
{
	return (c >= '\t' && c <= '\r') || c == 0x85 || c == 0x2028 || c == 0x2029;
}

static void trim_end(struct fb_str *s)
{
	while (s->len && s->buf[s->len - 1] == ' ')
		s->buf[--s->len] = '\0';
}

static void add_blank(struct fb_str *s)
{
	trim_end(s);
	fb_str_addc(s, ' ');
}

static void cut(struct fb_str *s)
{
	size_t len = FB_TEXT_MAX - strlen(ELLIPSIS);

	if (s->len <= FB_TEXT_MAX)
		return;
	while (((unsigned char)s->buf[len] & 0xc0) == 0x80)
		len--;
	s->len = len;
	s->buf[len] = '\0';
	trim_end(s);
	fb_str_add(s, ELLIPSIS);
}

static char *clean_utf8(const char *buf, size_t len)
{
	const unsigned char *p = (const unsigned char *)buf, *end = p + len;
	struct fb_str out = FB_STR_INIT;

	while (p < end) {
		uint32_t c = 0;
		size_t n = decode(p, (size_t)(end - p), &c);

		if (!n)
			fb_str_add(&out, REPLACEMENT);
		else if (is_break(c))
			add_blank(&out);
		else if (c < 0x20 || (c >= 0x7f && c < 0xa0) || is_reordering(c))
			fb_str_addc(&out, '?');
		else if (c != ' ' || out.len)
			fb_str_addn(&out, (const char *)p, n);
		p += n ? n : 1;
	}
	trim_end(&out);
	if (out.len && out.buf[0] == ' ')
		memmove(out.buf, out.buf + 1, out.len--);
	cut(&out);
	return fb_str_take(&out);
}

/*
 * The name comes from the commit, and iconv loads code by it: only the families that
 * histories really use.
 */
static bool is_known_encoding(const char *name)
{
	static const char *const family[] = {"iso-8859-", "iso8859-",	"iso_8859-", "latin",
					     "cp12",	  "windows-12", "koi8-",     "euc-",
					     "gb",	  "big5",	"shift_jis", "sjis"};

	for (size_t i = 0; i < FB_ARRAY_SIZE(family); i++)
		if (!strncasecmp(name, family[i], strlen(family[i])) && !strchr(name, '/'))
			return true;
	return false;
}

/* What cannot be converted stays as it is, for clean_utf8() to replace. */
static void convert(iconv_t cd, const char *buf, size_t len, struct fb_str *out)
{
	char *in = (char *)buf;

	while (len) {
		char chunk[512], *o = chunk;
		size_t left = sizeof(chunk), before = len;
		size_t rc = iconv(cd, &in, &len, &o, &left);

		fb_str_addn(out, chunk, (size_t)(o - chunk));
		if (rc == (size_t)-1 && len == before && o == chunk) {
			fb_str_addc(out, '\xff');
			in++;
			len--;
		}
	}
}

char *fb_clean_text(const char *buf, size_t len, const char *encoding, size_t encoding_len)
{
	FB_CLEANUP(fb_freep) char *name = fb_xstrndup(encoding, encoding_len);
	struct fb_str utf8 = FB_STR_INIT;
	iconv_t cd = is_known_encoding(name) ? iconv_open("UTF-8", name) : (iconv_t)-1;
	char *text;

	/* Far more than is shown; a subject of megabytes need not be converted. */
	if (len > 4 * FB_TEXT_MAX)
		len = 4 * FB_TEXT_MAX;
	if (cd == (iconv_t)-1)
		return clean_utf8(buf, len);
	convert(cd, buf, len, &utf8);
	iconv_close(cd);
	text = clean_utf8(fb_str_cstr(&utf8), utf8.len);
	fb_str_release(&utf8);
	return text;
}

static bool is_blank(const char *line, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (!strchr(" \t\r\f\v", line[i]) || !line[i])
			return false;
	return true;
}

void fb_first_paragraph(const char *buf, size_t len, const char **ret, size_t *ret_len)
{
	const char *p = buf, *end = buf + len, *start = NULL;

	while (p < end) {
		const char *newline = memchr(p, '\n', (size_t)(end - p));
		const char *stop = newline ? newline : end;

		if (!is_blank(p, (size_t)(stop - p))) {
			if (!start)
				start = p;
		} else if (start) {
			break;
		}
		p = newline ? newline + 1 : end;
	}
	*ret = start ? start : buf;
	*ret_len = start ? (size_t)(p - start) : 0;
}

int fb_history_holds(struct fb_history *history, const struct fb_oid *oid, const char *path,
		     struct fb_error *err)
{
	git_tree *tree = NULL;
	git_tree_entry *entry = NULL;
	int rc;

	if (fb_tree_of(history, oid, &tree, err) < 0)
		return -1;
	rc = git_tree_entry_bypath(&entry, tree, path);
	git_tree_entry_free(entry);
	git_tree_free(tree);
	if (rc && rc != GIT_ENOTFOUND)
		return fb_git_error(err, "'%s' in %.12s", path, oid->hex);
	return rc == 0;
}

int fb_history_modified(struct fb_history *history, const char *path, struct fb_error *err)
{
	unsigned flags = 0;

	if (git_repository_is_bare(history->repo))
		return 0;
	if (git_status_file(&flags, history->repo, path))
		return fb_git_error(err, "status of '%s'", path);
	return (flags & (GIT_STATUS_INDEX_MODIFIED | GIT_STATUS_WT_MODIFIED |
			 GIT_STATUS_INDEX_TYPECHANGE | GIT_STATUS_WT_TYPECHANGE)) != 0;
}

int fb_history_ignored(struct fb_history *history, const char *path, struct fb_error *err)
{
	int ignored = 0;

	if (git_ignore_path_is_ignored(&ignored, history->repo, path))
		return fb_git_error(err, "ignore rules for '%s'", path);
	return ignored != 0;
}
