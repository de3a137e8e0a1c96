/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `firstbad bisect start`: as git's, with a plan and a store. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/cmd/manual.h"
#include "src/util/util.h"

struct start_opts {
	struct fb_common common;
	const char *plan, *term_old, *term_new;
	bool first_parent, no_checkout;
};

static const char usage[] =
	"bisect start [--plan PLAN] [--term-old TERM --term-new TERM] [--first-parent]\n"
	"       [--no-checkout] [BAD [GOOD...]] [--] [PATH...]";
static const char about[] =
	"Begins a bisection by hand in this worktree, as `git bisect start` does; git can go on\n"
	"with it at any time. A session that is open is archived first.";

static void set_terms(const struct start_opts *o, const char *terms[2])
{
	if (!o->term_old && !o->term_new)
		return;
	terms[FB_SIDE_OLD] = o->term_old ? o->term_old : "good";
	terms[FB_SIDE_NEW] = o->term_new ? o->term_new : "bad";
}

/* The words of the line in the log: git's own, whatever else was given. */
static char **words_of(const struct start_opts *o, bool no_checkout, char *const *revs, size_t nr,
		       char *const *paths)
{
	char **words = NULL;

	if (o->term_old) {
		FB_CLEANUP(fb_freep) char *w = fb_xasprintf("--term-old=%s", o->term_old);

		fb_strv_add(&words, w);
	}
	if (o->term_new) {
		FB_CLEANUP(fb_freep) char *w = fb_xasprintf("--term-new=%s", o->term_new);

		fb_strv_add(&words, w);
	}
	if (o->first_parent)
		fb_strv_add(&words, "--first-parent");
	if (no_checkout)
		fb_strv_add(&words, "--no-checkout");
	for (size_t i = 0; i < nr; i++)
		fb_strv_add(&words, revs[i]);
	if (paths && *paths)
		fb_strv_add(&words, "--");
	for (; paths && *paths; paths++)
		fb_strv_add(&words, *paths);
	return words ? words : fb_xcalloc(1, sizeof(*words));
}

/*
 * Revisions, then paths. Without "--" the first word that names no commit begins the paths; as
 * in git it must then be the name of a file.
 */
static int split(struct fb_history *history, char *const *words, bool dashes, struct fb_oid *revs,
		 size_t *ret_nr, struct fb_error *err)
{
	size_t nr = 0;

	for (; *words; words++) {
		struct fb_error why = FB_ERROR_INIT;

		if (fb_history_resolve(history, *words, &revs[nr], dashes ? err : &why) == 0) {
			nr++;
			continue;
		}
		if (dashes)
			return -1;
		for (; *words; words++)
			if (access(*words, F_OK) < 0)
				return fb_error_set(err, FB_ERROR_USAGE,
						    "'%.200s' is neither a revision nor a path; "
						    "'--' separates them",
						    *words);
		break;
	}
	*ret_nr = nr;
	return 0;
}

/* Paths as they are from the top of the worktree, where git reads them later; owned. */
static int from_top(struct fb_history *history, char *const *words, char ***ret,
		    struct fb_error *err)
{
	FB_CLEANUP(fb_freep) char *top = realpath(fb_history_workdir(history), NULL);
	FB_CLEANUP(fb_freep) char *here = getcwd(NULL, 0);
	FB_CLEANUP(fb_strvp) char **list = NULL;
	size_t len = top ? strlen(top) : 0;
	bool below = here && len && !strncmp(here, top, len) && here[len] == '/';

	for (; *words; words++) {
		FB_CLEANUP(fb_freep) char *path = NULL;

		if (below && **words == ':')
			return fb_error_set(err, FB_ERROR_USAGE,
					    "'%.200s': pathspec magic is only understood at the "
					    "top of the worktree",
					    *words);
		path = below && **words != '/' ? fb_xasprintf("%s/%s", here + len + 1, *words)
					       : fb_xstrdup(*words);
		fb_strv_add(&list, path);
	}
	*ret = list ? FB_TAKE(list) : fb_xcalloc(1, sizeof(*list));
	return 0;
}

static int begin(const struct start_opts *o, struct fb_manual_cmd *c, char **words, char **paths,
		 struct fb_error *err)
{
	FB_CLEANUP(fb_freep)
	struct fb_oid *revs = fb_xcalloc(fb_strv_len(words) + 1, sizeof(*revs));
	struct fb_manual_start start = {.first_parent = o->first_parent, .revs = revs};
	FB_CLEANUP(fb_strvp) char **line = NULL, **top_paths = NULL;
	struct fb_plan *plan = NULL;

	set_terms(o, start.terms);
	if (fb_manual_check_terms(start.terms, err) < 0 ||
	    fb_manual_cmd_open(c, &o->common, true, err) < 0 ||
	    (o->plan && fb_load_plan(o->plan, &plan, err) < 0))
		return -1;
	fb_plan_free(c->plan);
	c->plan = plan;
	c->m->plan = start.plan = plan;
	if (split(c->history, words, paths != NULL, revs, &start.nr_revs, err) < 0)
		return -1;
	if (from_top(c->history, paths ? paths : words + start.nr_revs, &top_paths, err) < 0)
		return -1;
	start.paths = top_paths;
	/* Where nothing can be checked out there is nothing else to do. */
	start.no_checkout = o->no_checkout ||
			    !strcmp(fb_history_workdir(c->history), fb_history_gitdir(c->history));
	line = words_of(o, start.no_checkout, words, start.nr_revs, start.paths);
	start.words = line;
	return fb_manual_begin(c->m, &start, err);
}

/* As git: what cannot go on from the first has not begun. */
static int next(struct fb_manual_cmd *c, struct fb_error *err)
{
	json_auto_t *verdict = json_pack("{s:s}", "verdict", "ended");
	int rc = fb_manual_cmd_next(c, false, err);
	struct fb_error end_err = FB_ERROR_INIT;

	if (rc != -1 && rc != FB_EXIT_NOTHING)
		return rc;
	if (fb_manual_end(c->m, verdict, rc < 0 ? &end_err : err) < 0)
		return rc < 0 ? fb_error_wrap(err, "%s; and then", end_err.text) : -1;
	return rc;
}

int fb_cmd_bisect_start(int argc, char **argv)
{
	struct start_opts o = {0};
	const struct fb_opt opts[] = {
		FB_COMMON_OPTS(o.common),
		{"plan", 0, FB_OPT_STRING, &o.plan, "PLAN", "the plan whose numbers count"},
		{"term-old", 0, FB_OPT_STRING, &o.term_old, "TERM", "instead of \"good\""},
		{"term-good", 0, FB_OPT_STRING, &o.term_old, "TERM", "the same"},
		{"term-new", 0, FB_OPT_STRING, &o.term_new, "TERM", "instead of \"bad\""},
		{"term-bad", 0, FB_OPT_STRING, &o.term_new, "TERM", "the same"},
		{"first-parent", 0, FB_OPT_FLAG, &o.first_parent, NULL,
		 "follow only the first parent of merges"},
		{"no-checkout", 0, FB_OPT_FLAG, &o.no_checkout, NULL,
		 "set BISECT_HEAD, and leave the worktree alone"},
	};
	FB_CLEANUP(fb_manual_cmd_release) struct fb_manual_cmd c = {0};
	struct fb_error err = FB_ERROR_INIT;
	char **paths = NULL;
	int first, rc;

	/* getopt drops the "--" that tells revisions from paths. */
	for (int i = 1; i < argc && !paths; i++)
		if (!strcmp(argv[i], "--")) {
			argv[i] = NULL;
			paths = argv + i + 1;
			argc = i;
		}
	rc = fb_opt_parse(argc, argv, usage, about, opts, FB_ARRAY_SIZE(opts), &first);
	if (rc >= 0)
		return rc;
	rc = begin(&o, &c, argv + first, paths, &err) < 0 ? -1 : next(&c, &err);
	return rc < 0 ? fb_fail(&err) : rc;
}
