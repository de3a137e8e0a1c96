/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the commands of a bisection by hand share. */
#include "src/cmd/manual.h"

#include <stdlib.h>
#include <string.h>

#include "src/util/file.h"
#include "src/util/json.h"
#include "src/util/util.h"

#define VALUES_MAX_B  (1u << 20)
#define SUBJECT_SHOWN 52
#define ALMOST_ONE    0.9999

int fb_manual_cmd_open(struct fb_manual_cmd *c, const struct fb_common *common, bool write,
		       struct fb_error *err)
{
	if (fb_enter(common, err) < 0 || fb_open_history(common, &c->history, err) < 0 ||
	    fb_open_store(&c->store, err) < 0 ||
	    fb_manual_open(c->store, c->history, write, &c->m, err) < 0)
		return -1;
	if (c->m->session.plan) {
		if (fb_session_plan(&c->m->session, &c->plan, err) < 0)
			return -1;
		c->m->plan = c->plan;
	}
	for (char **note = c->m->notes; note && *note && !common->quiet; note++)
		fprintf(stderr, "firstbad: %s\n", *note);
	return 0;
}

int fb_manual_cmd_take(struct fb_manual_cmd *c, const struct fb_common *common,
		       struct fb_error *err)
{
	struct fb_common here = *common;

	/* Where there is none nothing is locked, or written. */
	if (fb_manual_cmd_open(c, common, false, err) < 0)
		return -1;
	if (!c->m->active)
		return 0;
	fb_manual_cmd_release(c);
	memset(c, 0, sizeof(*c));
	here.dir = NULL; /* -C was carried out */
	return fb_manual_cmd_open(c, &here, true, err) < 0 ? -1 : c->m->active;
}

int fb_manual_cmd_active(struct fb_manual_cmd *c, const struct fb_common *common,
			 struct fb_error *err)
{
	if (fb_manual_cmd_open(c, common, true, err) < 0)
		return -1;
	if (!c->m->active)
		return fb_error_set(err, FB_ERROR_USAGE,
				    "You need to start by \"firstbad bisect start\"");
	return 0;
}

void fb_manual_cmd_release(struct fb_manual_cmd *c)
{
	fb_manual_free(c->m);
	fb_plan_free(c->plan);
	fb_history_free(c->history);
	fb_store_free(c->store);
}

/* --- commits and values ---------------------------------------------------------------------- */

/* Judging what happens to be checked out is only sound when that is a commit of the history. */
static int check_head(struct fb_manual_cmd *c, struct fb_error *err)
{
	const struct fb_gitbisect *git = &c->m->git;
	int inside;

	if (!git->head.hex[0])
		return fb_error_set(err, FB_ERROR_GIT, "bad HEAD: there is no commit yet");
	if (!git->expected.hex[0] || !strcmp(git->head.hex, git->expected.hex))
		return 0;
	inside = git->bad.hex[0] ? fb_gitbisect_is_ancestor(c->history, &git->head, &git->bad, err)
				 : 1;
	if (inside < 0)
		return -1;
	if (!inside)
		return fb_error_set(err, FB_ERROR_USAGE,
				    "HEAD is at %.12s, which is not in the history of the %s "
				    "commit; %.12s was asked for. Name the commit that you judge, "
				    "or go back to it with 'firstbad bisect next'",
				    git->head.hex, fb_manual_term(c->m, FB_SIDE_NEW),
				    git->expected.hex);
	fprintf(stderr, "firstbad: HEAD is at %.12s, and %.12s was asked for: judging HEAD\n",
		git->head.hex, git->expected.hex);
	return 0;
}

int fb_manual_cmd_commit(struct fb_manual_cmd *c, const char *rev, struct fb_oid *ret,
			 struct fb_error *err)
{
	if (rev && strcmp(rev, "HEAD") != 0)
		return fb_history_resolve(c->history, rev, ret, err);
	if (check_head(c, err) < 0)
		return -1;
	*ret = c->m->git.head;
	return 0;
}

int fb_manual_values(const char *text, double **ret, size_t *ret_nr, struct fb_error *err)
{
	FB_CLEANUP(fb_str_release) struct fb_str in = FB_STR_INIT;
	FB_CLEANUP(fb_freep) double *values = NULL;
	size_t nr = 0, cap = 0;
	char *save = NULL;

	in.max = VALUES_MAX_B;
	if (strcmp(text, "-") != 0) {
		fb_str_add(&in, text);
	} else {
		char buf[4096];
		size_t n;

		while ((n = fread(buf, 1, sizeof(buf), stdin)) > 0)
			fb_str_addn(&in, buf, n);
		if (ferror(stdin))
			return fb_error_set(err, FB_ERROR_SYSTEM, "read the values from stdin");
	}
	if (in.truncated)
		return fb_error_set(err, FB_ERROR_USAGE, "--value: more than 1 MiB of numbers");
	for (char *word = in.buf ? strtok_r(in.buf, ", \t\r\n", &save) : NULL; word;
	     word = strtok_r(NULL, ", \t\r\n", &save)) {
		FB_GROW(values, nr, cap);
		if (fb_parse_double(word, &values[nr++], err) < 0)
			return fb_error_wrap(err, "--value");
	}
	if (!nr)
		return fb_error_set(err, FB_ERROR_USAGE, "--value: there is no number");
	*ret = FB_TAKE(values);
	*ret_nr = nr;
	return 0;
}

/* --- what is told ---------------------------------------------------------------------------- */

static const char *bad_term(const struct fb_manual_cmd *c)
{
	return fb_manual_term(c->m, FB_SIDE_NEW);
}

static const char *good_term(const struct fb_manual_cmd *c)
{
	return fb_manual_term(c->m, FB_SIDE_OLD);
}

static void list_hex(const struct fb_oid *list, size_t nr, struct fb_str *out)
{
	for (size_t i = 0; i < nr; i++)
		fb_str_addf(out, "%s%s", i ? " " : "", list[i].hex);
}

static int add_subject(struct fb_manual_cmd *c, const struct fb_oid *oid, struct fb_str *out,
		       struct fb_error *err)
{
	FB_CLEANUP(fb_commit_release) struct fb_commit commit = {0};

	if (fb_history_commit(c->history, oid, &commit, err) < 0)
		return -1;
	fb_str_addf(out, "[%s] %s\n", oid->hex, commit.subject);
	return 0;
}

static int tell_wait(struct fb_manual_cmd *c, const struct fb_manual_view *v, bool is_error,
		     struct fb_error *err)
{
	size_t nr = v->marks.nr_good;
	FB_CLEANUP(fb_freep) char *line = NULL, *note = NULL;

	if (is_error)
		return fb_error_set(err, FB_ERROR_USAGE,
				    "You need to give me at least one %s and one %s revision",
				    bad_term(c), good_term(c));
	if (v->marks.bad.hex[0])
		line = fb_xasprintf("status: waiting for %s commit(s), %s commit known\n",
				    good_term(c), bad_term(c));
	else if (nr)
		line = fb_xasprintf("status: waiting for %s commit, %zu %s commit%s known\n",
				    bad_term(c), nr, good_term(c), fb_plural(nr));
	else
		line = fb_xasprintf("status: waiting for both %s and %s commits\n", good_term(c),
				    bad_term(c));
	note = fb_xasprintf("# %s", line);
	return fb_manual_note(c->m, note, err) < 0 ? -1 : fb_put(line);
}

static void warn_skipped_bases(const struct fb_manual_cmd *c, const struct fb_manual_view *v)
{
	FB_CLEANUP(fb_str_release) struct fb_str goods = FB_STR_INIT;

	list_hex(v->marks.good, v->marks.nr_good, &goods);
	for (size_t i = 0; i < v->nr_base_skipped; i++)
		fprintf(stderr,
			"warning: the merge base between %s and [%s] must be skipped.\n"
			"So we cannot be sure the first %s commit is between %s and %s.\n"
			"We continue anyway.\n",
			v->marks.bad.hex, fb_str_cstr(&goods), bad_term(c), v->base_skipped[i].hex,
			v->marks.bad.hex);
}

int fb_manual_leaders(struct fb_manual_cmd *c, const struct fb_manual_view *v, size_t nr,
		      struct fb_str *out, struct fb_error *err)
{
	FB_CLEANUP(fb_freep) bool *done = fb_xcalloc(v->range->nr, sizeof(*done));

	for (size_t k = 0; k < nr; k++) {
		FB_CLEANUP(fb_commit_release) struct fb_commit commit = {0};
		uint32_t best = 0;
		double p = 0;

		for (uint32_t i = 0; i < v->range->nr; i++)
			if (!done[i] && fb_search_posterior(v->search, i) > p) {
				p = fb_search_posterior(v->search, i);
				best = i;
			}
		if (!(p > 0))
			break;
		done[best] = true;
		if (fb_history_commit(c->history, &v->range->oid[best], &commit, err) < 0)
			return -1;
		fb_str_addf(out, "  %5.3f %.12s %.*s\n", p, commit.oid.hex,
			    (int)fb_utf8_cut(commit.subject, SUBJECT_SHOWN), commit.subject);
	}
	return 0;
}

/* firstbad's own words, where there is more to say than git could. */
static int tell_posterior(struct fb_manual_cmd *c, const struct fb_manual_view *v,
			  struct fb_str *out, struct fb_error *err)
{
	if (!v->weak && !v->by_values)
		return 0;
	fb_str_add(out, "most probable so far:\n");
	return fb_manual_leaders(c, v, 3, out, err);
}

static int tell_ask(struct fb_manual_cmd *c, const struct fb_manual_view *v, struct fb_error *err)
{
	FB_CLEANUP(fb_str_release) struct fb_str out = FB_STR_INIT;

	warn_skipped_bases(c, v);
	if (fb_manual_go(c->m, v, err) < 0)
		return -1;
	if (v->kind == FB_NEXT_BASE) {
		fb_str_add(&out, "Bisecting: a merge base must be tested\n");
	} else if (v->kind == FB_NEXT_END) {
		fb_str_addf(&out, "Bisecting: the %s end must be measured\n",
			    v->node == v->range->bad ? bad_term(c) : good_term(c));
	} else {
		uint32_t left = v->nr_left > v->nr_reached + 1 ? v->nr_left - v->nr_reached - 1 : 0;
		unsigned steps = fb_manual_steps(v->nr_left);

		fb_str_addf(&out,
			    "Bisecting: %u revision%s left to test after this (roughly %u "
			    "step%s)\n",
			    left, fb_plural(left), steps, fb_plural(steps));
	}
	if (add_subject(c, &v->commit, &out, err) < 0 || tell_posterior(c, v, &out, err) < 0)
		return -1;
	return fb_put(fb_str_cstr(&out));
}

static int tell_found(struct fb_manual_cmd *c, const struct fb_manual_view *v, struct fb_error *err)
{
	FB_CLEANUP(fb_str_release) struct fb_str out = FB_STR_INIT, note = FB_STR_INIT;
	FB_CLEANUP(fb_freep) char *show = NULL;
	struct fb_verdict verdict;

	fb_str_addf(&note, "# first %s commit: ", bad_term(c));
	if (add_subject(c, &v->commit, &note, err) < 0 ||
	    fb_gitbisect_show(c->history, &v->commit, &show, err) < 0 ||
	    fb_manual_note(c->m, fb_str_cstr(&note), err) < 0)
		return -1;
	fb_search_verdict(v->search, &verdict);
	fb_str_addf(&out, "%s is the first %s commit\n", v->commit.hex, bad_term(c));
	if (v->weak || v->by_values)
		fb_str_addf(&out, "with probability %s%.4f\n",
			    verdict.confidence > ALMOST_ONE ? "above " : "",
			    verdict.confidence > ALMOST_ONE ? ALMOST_ONE : verdict.confidence);
	/* git begins with the id again, as a line of diff-tree. */
	fb_str_add(&out, strncmp(show, v->commit.hex, FB_OID_HEX_SIZE - 1) ? show
			 : show[FB_OID_HEX_SIZE - 1] == '\n'		   ? show + FB_OID_HEX_SIZE
									   : show);
	return fb_put(fb_str_cstr(&out));
}

static int tell_skipped(struct fb_manual_cmd *c, const struct fb_manual_view *v,
			struct fb_error *err)
{
	FB_CLEANUP(fb_str_release) struct fb_str out = FB_STR_INIT, note = FB_STR_INIT;
	int rc;

	fb_str_add(&note, "# only skipped commits left to test\n");
	fb_str_addf(&out,
		    "There are only 'skip'ped commits left to test.\n"
		    "The first %s commit could be any of:\n",
		    bad_term(c));
	for (size_t i = 0; i < v->nr_commits; i++) {
		fb_str_addf(&note, "# possible first %s commit: ", bad_term(c));
		if (add_subject(c, &v->commits[i], &note, err) < 0)
			return -1;
		fb_str_addf(&out, "%s\n", v->commits[i].hex);
	}
	fb_str_add(&out, "We cannot bisect more!\n");
	if (fb_manual_note(c->m, fb_str_cstr(&note), err) < 0)
		return -1;
	rc = fb_put(fb_str_cstr(&out));
	return rc ? rc : FB_EXIT_SKIPPED;
}

static int tell_base_bad(struct fb_manual_cmd *c, const struct fb_manual_view *v)
{
	FB_CLEANUP(fb_str_release) struct fb_str goods = FB_STR_INIT;
	const char *base = v->commit.hex, *good, *bad = bad_term(c);
	struct fb_manual_marks all;
	char *away = NULL;

	fb_manual_marks(c->m, &all);
	list_hex(all.good, all.nr_good, &goods);
	good = fb_str_cstr(&goods);
	if (!strcmp(bad, "bad"))
		fprintf(stderr,
			"The merge base %s is bad.\n"
			"This means the bug has been fixed between %s and [%s].\n",
			base, base, good);
	else if (!strcmp(bad, "new"))
		fprintf(stderr,
			"The merge base %s is new.\n"
			"The property has changed between %s and [%s].\n",
			base, base, good);
	else
		fprintf(stderr,
			"The merge base %s is %s.\n"
			"This means the first '%s' commit is between %s and [%s].\n",
			base, bad, good_term(c), base, good);
	away = all.nr_good ? all.good[0].hex : NULL;
	if (away)
		fprintf(stderr,
			"To find the commit that changed it there:\n"
			"  firstbad bisect start --term-old=%s --term-new=%s %s %s\n",
			bad_term(c), good_term(c), away, base);
	fb_manual_marks_release(&all);
	return FB_EXIT_FIXED;
}

static int tell_verdict(struct fb_manual_cmd *c, const struct fb_manual_view *v, const char *text,
			int status, struct fb_error *err)
{
	FB_CLEANUP(fb_str_release) struct fb_str out = FB_STR_INIT;
	int rc;

	fb_str_addf(&out, "%s\n", text);
	if (fb_manual_leaders(c, v, 5, &out, err) < 0)
		return -1;
	rc = fb_put(fb_str_cstr(&out));
	return rc ? rc : status;
}

int fb_manual_cmd_next(struct fb_manual_cmd *c, bool wait_is_error, struct fb_error *err)
{
	FB_CLEANUP(fb_manual_view_release) struct fb_manual_view v = {0};

	if (fb_manual_view(c->m, &v, err) < 0)
		return -1;
	switch (v.kind) {
	case FB_NEXT_WAIT:
		return tell_wait(c, &v, wait_is_error, err);
	case FB_NEXT_ASK:
	case FB_NEXT_BASE:
	case FB_NEXT_END:
		return tell_ask(c, &v, err);
	case FB_NEXT_FOUND:
		return tell_found(c, &v, err);
	case FB_NEXT_SKIPPED:
		return tell_skipped(c, &v, err);
	case FB_NEXT_BASE_BAD:
		return tell_base_bad(c, &v);
	case FB_NEXT_NOTHING:
		fputs("No testable commit found.\nMaybe you started with bad path arguments?\n",
		      stderr);
		return FB_EXIT_NOTHING;
	case FB_NEXT_NONE:
		return tell_verdict(c, &v, "By their values the ends do not differ.", FB_EXIT_NONE,
				    err);
	case FB_NEXT_OTHER:
		return tell_verdict(c, &v,
				    "No single commit explains all of that; 'firstbad bisect "
				    "undo' takes back the last verdict.",
				    FB_EXIT_OTHER, err);
	case FB_NEXT_UNDECIDED:
		return tell_verdict(c, &v, "It cannot be told which commit it is.",
				    FB_EXIT_UNDECIDED, err);
	}
	FB_BUG("kind of next %d", (int)v.kind);
}

json_t *fb_manual_archive(struct fb_manual_cmd *c)
{
	FB_CLEANUP(fb_manual_view_release) struct fb_manual_view v = {0};
	FB_CLEANUP(fb_str_release) struct fb_str log = FB_STR_INIT;
	struct fb_error ignored = FB_ERROR_INIT;
	json_t *commits = json_array(), *out;
	const char *verdict = "ended";

	/* Ends that make no search are no reason to stay in one. */
	if (fb_manual_view(c->m, &v, &ignored) == 0) {
		if (v.kind == FB_NEXT_FOUND || v.kind == FB_NEXT_SKIPPED)
			verdict = v.kind == FB_NEXT_FOUND ? "found" : "range";
		for (size_t i = 0; *verdict != 'e' && i < v.nr_commits; i++)
			json_array_append_new(commits, json_string(v.commits[i].hex));
	}
	fb_manual_log(c->m, &log);
	out = json_pack("{s:s, s:o, s:s}", "verdict", verdict, "commits", commits, "log",
			fb_str_cstr(&log));
	return out;
}
