/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A log, ours or git's or one that was pasted into a mail, said again. */
#include <stdlib.h>
#include <string.h>

#include "src/controller/manual-log.h"
#include "src/controller/manual.h"
#include "src/util/util.h"

#define UNKNOWN_SHOWN 5

/* A line with its commits. */
struct step {
	const struct fb_log_entry *entry;
	struct fb_oid *commits;
	size_t nr;
};

struct replay {
	struct fb_manual *m;
	const char *name;
	struct fb_manual_start start;
	struct fb_oid *revs;
	char **words, **paths;
	char *terms[2];
	struct step *step;
	size_t nr, cap;
	struct fb_str unknown; /* names that are not in this repository */
	unsigned nr_unknown;
};

static void replay_release(struct replay *r)
{
	for (size_t i = 0; i < r->nr; i++)
		free(r->step[i].commits);
	free(r->step);
	free(r->revs);
	fb_strvp(&r->words);
	fb_strvp(&r->paths);
	free(r->terms[0]);
	free(r->terms[1]);
	fb_str_release(&r->unknown);
}

/* A log that begins anew: what stood before is of another session. */
static void replay_restart(struct replay *r)
{
	struct replay fresh = {.m = r->m, .name = r->name};

	replay_release(r);
	*r = fresh;
}

/* Adds the commits of @word to the list; those that are not here are remembered. */
static int resolve(struct replay *r, const char *word, bool range, struct fb_oid **list, size_t *nr,
		   struct fb_error *err)
{
	FB_CLEANUP(fb_freep) struct fb_oid *some = NULL;
	struct fb_error why = FB_ERROR_INIT;
	struct fb_oid one;
	size_t nr_some = 1;
	int rc;

	if (range && strstr(word, "..")) {
		rc = fb_gitbisect_revs(r->m->history, word, &some, &nr_some, &why);
	} else {
		rc = fb_history_resolve(r->m->history, word, &one, &why);
		some = fb_xcalloc(1, sizeof(*some));
		some[0] = one;
	}
	if (rc < 0 && why.code != FB_ERROR_GIT && why.code != FB_ERROR_CHILD &&
	    why.code != FB_ERROR_DAMAGED)
		return fb_error_set(err, why.code, "%s", why.text);
	if (rc < 0) {
		if (r->nr_unknown++ < UNKNOWN_SHOWN)
			fb_str_addf(&r->unknown, " %.60s", word);
		return 0;
	}
	*list = fb_xrealloc(*list, *nr + nr_some, sizeof(**list));
	memcpy(*list + *nr, some, nr_some * sizeof(*some));
	*nr += nr_some;
	return 0;
}

static void take_term(struct replay *r, int side, const char *term)
{
	free(r->terms[side]);
	r->terms[side] = fb_xstrdup(term);
}

/* Options, revisions and paths of `git bisect start`. */
static int take_start(struct replay *r, const struct fb_log_entry *e, struct fb_error *err)
{
	static const struct {
		const char *option;
		int side;
	} terms[] = {{"--term-old", FB_SIDE_OLD},
		     {"--term-good", FB_SIDE_OLD},
		     {"--term-new", FB_SIDE_NEW},
		     {"--term-bad", FB_SIDE_NEW}};
	char **marks = e->words, **w = marks;
	bool paths = false;

	while (**w)
		w += 2;
	for (w++; *w; w++) {
		bool taken = paths;

		fb_strv_add(&r->words, *w);
		if (paths)
			fb_strv_add(&r->paths, *w);
		for (size_t i = 0; i < FB_ARRAY_SIZE(terms) && !taken; i++) {
			size_t len = strlen(terms[i].option);

			if (strncmp(*w, terms[i].option, len) != 0)
				continue;
			taken = true;
			if ((*w)[len] == '=') {
				take_term(r, terms[i].side, *w + len + 1);
			} else if (!(*w)[len] && w[1]) {
				take_term(r, terms[i].side, *++w);
				fb_strv_add(&r->words, *w);
			}
		}
		if (taken)
			continue;
		if (!strcmp(*w, "--"))
			paths = true;
		else if (!strcmp(*w, "--first-parent"))
			r->start.first_parent = true;
		else if (!strcmp(*w, "--no-checkout"))
			r->start.no_checkout = true;
		else if (!**marks && **w == '-')
			return fb_error_set(err, FB_ERROR_INPUT, "%s:%u: unknown option '%.100s'",
					    r->name, e->line, *w);
		else if (!**marks && resolve(r, *w, false, &r->revs, &r->start.nr_revs, err) < 0)
			return -1;
	}
	/* The ids that git noted beat names that may have moved since. */
	for (; **marks; marks += 2)
		if (resolve(r, marks[1], false, &r->revs, &r->start.nr_revs, err) < 0)
			return -1;
	return 0;
}

static int take_step(struct replay *r, const struct fb_log_entry *e, struct fb_error *err)
{
	bool skip = !strcmp(e->words[0], "skip");
	struct step *s;

	FB_GROW(r->step, r->nr, r->cap);
	s = &r->step[r->nr++];
	*s = (struct step){.entry = e};
	for (char **w = e->words + (e->kind != FB_LOG_VALUES); *w; w++)
		if (resolve(r, *w, skip, &s->commits, &s->nr, err) < 0)
			return -1;
	return 0;
}

static int take_all(struct replay *r, const struct fb_log *log, struct fb_error *err)
{
	size_t nr_verdicts = 0;

	for (size_t i = 0; i < log->nr; i++) {
		const struct fb_log_entry *e = &log->entry[i];

		if (e->kind == FB_LOG_NOTE)
			continue;
		if (e->kind == FB_LOG_START) {
			replay_restart(r);
			nr_verdicts = 0;
		}
		if (e->kind == FB_LOG_START ? take_start(r, e, err) < 0 : take_step(r, e, err) < 0)
			return -1;
		nr_verdicts += e->kind == FB_LOG_VERDICT || e->kind == FB_LOG_WEAK;
	}
	if (r->nr_unknown)
		return fb_error_set(err, FB_ERROR_GIT,
				    "%s: %u of its commits are not in this repository:%s%s; fetch "
				    "the tree that the log is of",
				    r->name, r->nr_unknown, fb_str_cstr(&r->unknown),
				    r->nr_unknown > UNKNOWN_SHOWN ? " ..." : "");
	if (!nr_verdicts && !r->start.nr_revs)
		return fb_error_set(err, FB_ERROR_INPUT, "%s: there is no verdict in it", r->name);
	return 0;
}

static int say(struct replay *r, size_t *i, struct fb_error *err)
{
	const struct step *s = &r->step[*i], *next = s + 1;
	const struct fb_log_entry *e = s->entry;
	enum fb_side side = FB_SIDE_SKIP;
	const double *values = NULL;
	size_t nr_values = 0;

	if (e->kind == FB_LOG_VALUES)
		return fb_manual_measured(r->m, &s->commits[0], e->values, e->nr_values, NULL, err);
	if (strcmp(e->words[0], "skip") != 0 && fb_manual_side(r->m, e->words[0], &side, err) < 0)
		return fb_error_wrap(err, "%s:%u", r->name, e->line);
	if (e->kind == FB_LOG_WEAK)
		return fb_manual_weak(r->m, side, &s->commits[0], e->values[0], err);
	if (*i + 1 < r->nr && next->entry->kind == FB_LOG_VALUES && s->nr == 1 &&
	    !strcmp(next->commits[0].hex, s->commits[0].hex)) {
		values = next->entry->values;
		nr_values = next->entry->nr_values;
		(*i)++;
	}
	return s->nr ? fb_manual_mark(r->m, side, s->commits, s->nr, values, nr_values, err) : 0;
}

/* The words of all verdicts, before anything is begun. As fb_manual_side(). */
static int check_words(const struct replay *r, struct fb_error *err)
{
	static const char *const pairs[][2] = {{"good", "bad"}, {"old", "new"}};
	const char *const *terms = r->start.terms[0]  ? r->start.terms
				   : r->start.nr_revs ? pairs[0]
						      : NULL;

	for (size_t i = 0; i < r->nr; i++) {
		const struct fb_log_entry *e = r->step[i].entry;
		const char *word = e->words[0];

		if (e->kind == FB_LOG_VALUES || !strcmp(word, "skip"))
			continue;
		for (size_t p = 0; p < FB_ARRAY_SIZE(pairs) && !terms; p++)
			if (!strcmp(word, pairs[p][0]) || !strcmp(word, pairs[p][1]))
				terms = pairs[p];
		if (!terms || (strcmp(word, terms[0]) != 0 && strcmp(word, terms[1]) != 0))
			return fb_error_set(err, FB_ERROR_INPUT,
					    "%s:%u: '%.100s' is no term of this bisection", r->name,
					    e->line, word);
	}
	return 0;
}

int fb_manual_replay(struct fb_manual *m, const char *text, const char *name, size_t *ret_nr,
		     struct fb_error *err)
{
	FB_CLEANUP(replay_release) struct replay r = {.m = m, .name = name};
	FB_CLEANUP(fb_log_release) struct fb_log log = {0};

	if (fb_log_parse(text, name, 1, true, &log, err) < 0 || take_all(&r, &log, err) < 0)
		return -1;
	if (r.terms[0] || r.terms[1]) {
		r.start.terms[FB_SIDE_OLD] = r.terms[FB_SIDE_OLD] ? r.terms[FB_SIDE_OLD] : "good";
		r.start.terms[FB_SIDE_NEW] = r.terms[FB_SIDE_NEW] ? r.terms[FB_SIDE_NEW] : "bad";
	}
	if (fb_manual_check_terms(r.start.terms, err) < 0)
		return fb_error_wrap(err, "%s", name);
	if (check_words(&r, err) < 0)
		return -1;
	if (!r.words)
		r.words = fb_xcalloc(1, sizeof(*r.words));
	r.start.revs = r.revs;
	r.start.words = r.words;
	r.start.paths = r.paths;
	r.start.plan = m->plan;
	if (fb_manual_begin(m, &r.start, err) < 0)
		return -1;
	*ret_nr = r.start.nr_revs;
	for (size_t i = 0; i < r.nr; i++) {
		if (say(&r, &i, err) < 0)
			return -1;
		(*ret_nr)++;
	}
	return 0;
}
