/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The log of a bisection by hand, read and written. */
#include "src/controller/manual-log.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/util/util.h"

#define OURS "# firstbad: "

struct parser {
	struct fb_log *log;
	const char *name;
	unsigned line;
	bool pasted;
	struct fb_str pending; /* comments that belong to what follows */
	bool any_verdict;      /* some line is a command that gives one */
	char **marks;	       /* pairs of words of comments "# TERM: [HEX] ..." */
	char **all_marks;
	struct fb_error *err;
};

static int fail(const struct parser *p, const char *what, const char *text)
{
	return fb_error_set(p->err, FB_ERROR_INPUT, "%s:%u: %s '%.100s'", p->name, p->line, what,
			    text);
}

static struct fb_log_entry *add(struct parser *p, enum fb_log_kind kind)
{
	struct fb_log *log = p->log;

	FB_GROW(log->entry, log->nr, log->cap);
	log->entry[log->nr] = (struct fb_log_entry){.kind = kind, .line = p->line};
	log->entry[log->nr].text = fb_str_take(&p->pending);
	return &log->entry[log->nr++];
}

static bool is_hex(const char *s, size_t len)
{
	size_t i = 0;

	while (i < len && ((s[i] >= '0' && s[i] <= '9') || (s[i] >= 'a' && s[i] <= 'f')))
		i++;
	return i == len;
}

/* "# TERM: [HEX] subject" */
static void note_mark(struct parser *p, const char *line)
{
	const char *term = line + 2, *colon = strchr(line, ':');
	FB_CLEANUP(fb_freep) char *word = NULL, *hex = NULL;

	if (strncmp(line, "# ", 2) || !colon || colon == term ||
	    strcspn(term, " \t") < (size_t)(colon - term) || strncmp(colon, ": [", 3) ||
	    strlen(colon) < 3 + FB_OID_HEX_SIZE || !is_hex(colon + 3, FB_OID_HEX_SIZE - 1) ||
	    colon[3 + FB_OID_HEX_SIZE - 1] != ']')
		return;
	word = fb_xstrndup(term, (size_t)(colon - term));
	hex = fb_xstrndup(colon + 3, FB_OID_HEX_SIZE - 1);
	fb_strv_add(&p->marks, word);
	fb_strv_add(&p->marks, hex);
	fb_strv_add(&p->all_marks, word);
	fb_strv_add(&p->all_marks, hex);
}

static int add_numbers(struct parser *p, struct fb_log_entry *e, char *const *words)
{
	struct fb_error ignored = FB_ERROR_INIT;
	size_t nr = fb_strv_len(words);

	e->values = fb_xcalloc(nr + 1, sizeof(*e->values));
	for (; *words; words++)
		if (fb_parse_double(*words, &e->values[e->nr_values++], &ignored) < 0)
			return fail(p, "no number:", *words);
	return e->nr_values ? 0 : fail(p, "no number in", e->text);
}

/* What follows "# firstbad: "; parsed strictly, for it is evidence. */
static int take_ours(struct parser *p, const char *line, const char *rest)
{
	FB_CLEANUP(fb_strvp) char **words = NULL;
	struct fb_error ignored = FB_ERROR_INIT;
	struct fb_log_entry *e;
	size_t nr;
	uint64_t events;

	if (fb_gitbisect_words(rest, &words) < 0 || !words)
		return fail(p, "cannot read", line);
	nr = fb_strv_len(words);
	if (!strcmp(words[0], "session")) {
		if (nr != 3 || fb_parse_u64(words[2], 0, UINT32_MAX, &events, &ignored) < 0)
			return fail(p, "cannot read", line);
		free(p->log->session);
		p->log->session = fb_xstrdup(words[1]);
		p->log->nr_events = (unsigned)events;
		return 0;
	}
	fb_str_addf(&p->pending, "%s\n", line);
	if (!strcmp(words[0], "weak")) {
		if (nr != 4 || strlen(words[2]) != FB_OID_HEX_SIZE - 1 ||
		    !is_hex(words[2], FB_OID_HEX_SIZE - 1))
			return fail(p, "cannot read", line);
		e = add(p, FB_LOG_WEAK);
		fb_strv_add(&e->words, words[1]);
		fb_strv_add(&e->words, words[2]);
		if (add_numbers(p, e, words + 3) < 0)
			return -1;
		return e->values[0] > 0.5 && e->values[0] < 1
			       ? 0
			       : fail(p, "a strength lies between 0.5 and 1:", words[3]);
	}
	if (!strcmp(words[0], "values")) {
		if (nr < 3 || strlen(words[1]) != FB_OID_HEX_SIZE - 1 ||
		    !is_hex(words[1], FB_OID_HEX_SIZE - 1))
			return fail(p, "cannot read", line);
		e = add(p, FB_LOG_VALUES);
		fb_strv_add(&e->words, words[1]);
		return add_numbers(p, e, words + 2);
	}
	return fail(p, "firstbad does not know", line);
}

static int take_command(struct parser *p, const char *line, const char *rest)
{
	FB_CLEANUP(fb_strvp) char **words = NULL;
	struct fb_log_entry *e;

	if (fb_gitbisect_words(rest, &words) < 0)
		return fail(p, "a quote is not closed:", line);
	if (!words)
		return fail(p, "no command in", line);
	fb_str_addf(&p->pending, "%s\n", line);
	if (!strcmp(words[0], "terms")) /* only prints */
		return 0;
	if (!strcmp(words[0], "start")) {
		e = add(p, FB_LOG_START);
		for (char **m = p->marks; m && *m; m++)
			fb_strv_add(&e->words, *m);
		/* First the verdicts that were given, then a divider, then the line's own words. */
		fb_strv_add(&e->words, "");
		for (char **w = words + 1; *w; w++)
			fb_strv_add(&e->words, *w);
		fb_strvp(&p->marks);
		p->marks = NULL;
		p->any_verdict = p->any_verdict || e->words[0][0];
		return 0;
	}
	if (!words[1])
		return fail(p, "no revision in", line);
	p->any_verdict = true;
	e = add(p, FB_LOG_VERDICT);
	e->words = FB_TAKE(words);
	fb_strvp(&p->marks);
	p->marks = NULL;
	return 0;
}

/* What mail readers and paste sites put before a line. */
static const char *unquoted(const char *line)
{
	const char *p = line, *q;

	while (*p == '>' || *p == ' ' || *p == '\t' || *p == '|')
		p++;
	for (q = p; isdigit((unsigned char)*q); q++)
		;
	if (q > p && strchr(".:) \t", *q) && *q) {
		while (*q && strchr(".:) \t", *q))
			q++;
		if (*q == '#' || !strncmp(q, "git", 3))
			p = q;
	}
	return p;
}

static int take_line(struct parser *p, const char *line)
{
	if (p->pasted)
		line = unquoted(line);
	if (!strncmp(line, "git bisect ", 11) || !strncmp(line, "git-bisect ", 11))
		return take_command(p, line, line + 11);
	if (!strncmp(line, OURS, strlen(OURS)))
		return take_ours(p, line, line + strlen(OURS));
	note_mark(p, line);
	fb_str_addf(&p->pending, "%s\n", line);
	return 0;
}

/* A log of which only the comments are left: they name the commits, too. */
static void take_marks(struct parser *p)
{
	for (char **m = p->all_marks; m && *m; m += 2) {
		struct fb_log_entry *e = add(p, FB_LOG_VERDICT);

		fb_strv_add(&e->words, m[0]);
		fb_strv_add(&e->words, m[1]);
	}
}

int fb_log_parse(const char *text, const char *name, unsigned first_line, bool pasted,
		 struct fb_log *ret, struct fb_error *err)
{
	FB_CLEANUP(fb_log_release) struct fb_log log = {0};
	struct parser p = {
		.log = &log, .name = name, .line = first_line - 1, .pasted = pasted, .err = err};
	int rc = 0;

	while (*text && rc == 0) {
		size_t len = strcspn(text, "\n");
		FB_CLEANUP(fb_freep) char *line = fb_xstrndup(text, len);

		p.line++;
		if (len && line[len - 1] == '\r')
			line[len - 1] = '\0';
		for (char *tab = line; (tab = strchr(tab, '\t'));)
			*tab = ' ';
		fb_text_tame(line); /* events are UTF-8 */
		rc = take_line(&p, line);
		text += len + (text[len] == '\n');
	}
	if (rc == 0 && pasted && !p.any_verdict)
		take_marks(&p);
	else if (rc == 0 && p.pending.len)
		add(&p, FB_LOG_NOTE);
	fb_str_release(&p.pending);
	fb_strvp(&p.marks);
	fb_strvp(&p.all_marks);
	if (rc < 0)
		return -1;
	*ret = log;
	memset(&log, 0, sizeof(log));
	return 0;
}

void fb_log_release(struct fb_log *log)
{
	for (size_t i = 0; i < log->nr; i++) {
		fb_strvp(&log->entry[i].words);
		free(log->entry[i].values);
		free(log->entry[i].text);
	}
	free(log->entry);
	free(log->session);
	memset(log, 0, sizeof(*log));
}

void fb_log_head(const char *session, size_t nr_events, struct fb_str *out)
{
	fb_str_addf(out, OURS "session %s %zu\n", session, nr_events);
}

void fb_log_verdict(const char *term, const struct fb_oid *oid, const char *subject,
		    bool comment_only, struct fb_str *out)
{
	fb_str_addf(out, "# %s: [%s] %s\n", term, oid->hex, subject);
	if (!comment_only)
		fb_str_addf(out, "git bisect %s %s\n", term, oid->hex);
}

void fb_log_weak(const char *term, const struct fb_oid *oid, double strength, struct fb_str *out)
{
	fb_str_addf(out, OURS "weak %s %s %.6g\n", term, oid->hex, strength);
}

void fb_log_values(const struct fb_oid *oid, const double *values, size_t nr, struct fb_str *out)
{
	fb_str_addf(out, OURS "values %s", oid->hex);
	for (size_t i = 0; i < nr; i++)
		fb_str_addf(out, " %.17g", values[i]);
	fb_str_add(out, "\n");
}
