/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `firstbad bisect good|bad|old|new|TERM`: a hard verdict, with the values behind it if any. */
#include <stdlib.h>
#include <string.h>

#include "src/cmd/manual.h"
#include "src/util/util.h"

static const char about[] =
	"Says on which side commits are (default: the one that is checked out), and checks out\n"
	"the next one. --value gives what was measured there: then the values are followed, with\n"
	"their noise, and the verdict is only git's way of going on.";

static int judge(struct fb_manual_cmd *c, const char *word, char **revs, const char *text,
		 struct fb_error *err)
{
	size_t nr = fb_strv_len(revs), nr_values = 0;
	FB_CLEANUP(fb_freep) struct fb_oid *commits = fb_xcalloc(nr + 1, sizeof(*commits));
	FB_CLEANUP(fb_freep) double *values = NULL;
	enum fb_side side;

	if (fb_manual_side(c->m, word, &side, err) < 0)
		return -1;
	if (side == FB_SIDE_NEW && nr > 1)
		return fb_error_set(err, FB_ERROR_USAGE, "'bisect %s' can take only one argument",
				    word);
	if (text && nr > 1)
		return fb_error_set(err, FB_ERROR_USAGE, "--value goes with one commit");
	for (size_t i = 0; i < nr; i++)
		if (fb_manual_cmd_commit(c, revs[i], &commits[i], err) < 0)
			return -1;
	if (!nr && fb_manual_cmd_commit(c, NULL, &commits[nr++], err) < 0)
		return -1;
	if (text && fb_manual_values(text, &values, &nr_values, err) < 0)
		return -1;
	for (size_t i = 0; i < nr; i++)
		if (fb_manual_judged(c->m, &commits[i], err) < 0)
			return -1;
	return fb_manual_mark(c->m, side, commits, nr, values, nr_values, err);
}

static int run(const char *word, int argc, char **argv)
{
	FB_CLEANUP(fb_freep)
	char *usage = fb_xasprintf("bisect %s [REV...] [--value V,V...]", word);
	struct fb_common common = {0};
	const char *value = NULL;
	const struct fb_opt opts[] = {
		FB_COMMON_OPTS(common),
		{"value", 0, FB_OPT_STRING, &value, "V,V...",
		 "what was measured there; '-' reads numbers from stdin"},
	};
	FB_CLEANUP(fb_manual_cmd_release) struct fb_manual_cmd c = {0};
	struct fb_error err = FB_ERROR_INIT;
	int first, rc = fb_opt_parse(argc, argv, usage, about, opts, FB_ARRAY_SIZE(opts), &first);

	if (rc >= 0)
		return rc;
	if (fb_manual_cmd_active(&c, &common, &err) < 0 ||
	    judge(&c, word, argv + first, value, &err) < 0)
		return fb_fail(&err);
	rc = fb_manual_cmd_next(&c, false, &err);
	return rc < 0 ? fb_fail(&err) : rc;
}

/* argv[0] is the word that was typed. */
int fb_cmd_bisect_verdict(int argc, char **argv)
{
	FB_CLEANUP(fb_freep) char *word = fb_xstrdup(argv[0]);

	return run(word, argc, argv);
}

bool fb_is_term(const char *word)
{
	FB_CLEANUP(fb_history_freep) struct fb_history *history = NULL;
	FB_CLEANUP(fb_gitbisect_release) struct fb_gitbisect git = {0};
	struct fb_error ignored = FB_ERROR_INIT;

	return fb_history_open(".", &history, &ignored) == 0 &&
	       fb_gitbisect_read(history, &git, &ignored) == 0 && git.active && git.terms[0] &&
	       (!strcmp(word, git.terms[0]) || !strcmp(word, git.terms[1]));
}
