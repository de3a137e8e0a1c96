/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `firstbad bisect skip`: commits that cannot be tested. */
#include <stdlib.h>

#include "src/cmd/manual.h"
#include "src/util/util.h"

static int skip(struct fb_manual_cmd *c, char **revs, struct fb_error *err)
{
	FB_CLEANUP(fb_freep) struct fb_oid *commits = NULL;
	size_t nr = 0;

	if (!*revs) {
		commits = fb_xcalloc(1, sizeof(*commits));
		if (fb_manual_cmd_commit(c, NULL, &commits[nr++], err) < 0)
			return -1;
	}
	for (; *revs; revs++) {
		FB_CLEANUP(fb_freep) struct fb_oid *some = NULL;
		size_t nr_some = 0;

		if (fb_gitbisect_revs(c->history, *revs, &some, &nr_some, err) < 0)
			return -1;
		commits = fb_xrealloc(commits, nr + nr_some + 1, sizeof(*commits));
		for (size_t i = 0; i < nr_some; i++)
			commits[nr++] = some[i];
	}
	if (!nr)
		return fb_error_set(err, FB_ERROR_USAGE, "there is no commit in that range");
	for (size_t i = 0; i < nr; i++)
		if (fb_manual_judged(c->m, &commits[i], err) < 0)
			return -1;
	return fb_manual_mark(c->m, FB_SIDE_SKIP, commits, nr, NULL, 0, err);
}

int fb_cmd_bisect_skip(int argc, char **argv)
{
	struct fb_common common = {0};
	const struct fb_opt opts[] = {FB_COMMON_OPTS(common)};
	FB_CLEANUP(fb_manual_cmd_release) struct fb_manual_cmd c = {0};
	struct fb_error err = FB_ERROR_INIT;
	int first, rc = fb_opt_parse(argc, argv, "bisect skip [REV|RANGE...]",
				     "Says that commits cannot be tested (default: the one that is "
				     "checked out).",
				     opts, FB_ARRAY_SIZE(opts), &first);

	if (rc >= 0)
		return rc;
	if (fb_manual_cmd_active(&c, &common, &err) < 0 || skip(&c, argv + first, &err) < 0)
		return fb_fail(&err);
	rc = fb_manual_cmd_next(&c, false, &err);
	return rc < 0 ? fb_fail(&err) : rc;
}
