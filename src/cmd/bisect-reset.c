/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `firstbad bisect reset`: back to where it began; the session is archived. */
#include <string.h>

#include "src/cmd/manual.h"
#include "src/util/util.h"

static int reset(struct fb_manual_cmd *c, const char *rev, struct fb_error *err)
{
	json_auto_t *verdict = NULL;
	struct fb_oid commit;

	if (rev && fb_history_resolve(c->history, rev, &commit, err) < 0)
		return fb_error_wrap(err, "'%.200s' is not a valid commit", rev);
	verdict = fb_manual_archive(c);
	if (!c->m->git.no_checkout &&
	    fb_gitbisect_checkout(c->history, rev ? rev : c->m->git.start, err) < 0)
		return fb_error_wrap(err,
				     "could not check out original HEAD '%.200s'; try 'firstbad "
				     "bisect reset COMMIT'",
				     rev ? rev : c->m->git.start);
	return fb_manual_end(c->m, verdict, err);
}

int fb_cmd_bisect_reset(int argc, char **argv)
{
	struct fb_common common = {0};
	const struct fb_opt opts[] = {FB_COMMON_OPTS(common)};
	FB_CLEANUP(fb_manual_cmd_release) struct fb_manual_cmd c = {0};
	struct fb_error err = FB_ERROR_INIT;
	int first, rc = fb_opt_parse(argc, argv, "bisect reset [COMMIT]",
				     "Ends the bisection by hand and goes back to where it began "
				     "(or to COMMIT).\nThe session stays in the store.",
				     opts, FB_ARRAY_SIZE(opts), &first);

	if (rc >= 0)
		return rc;
	if (fb_at_most(argc, argv, first + 1, &err) < 0)
		return fb_fail(&err);
	if (fb_manual_cmd_open(&c, &common, true, &err) < 0) {
		/* A session that cannot be understood must not hold anybody. */
		if (c.store && err.code != FB_ERROR_BUSY && err.code != FB_ERROR_SYSTEM)
			fb_error_wrap(&err, "this session ('git bisect reset' ends it)");
		return fb_fail(&err);
	}
	if (!c.m->active)
		return fb_put("We are not bisecting.\n");
	return reset(&c, argv[first], &err) < 0 ? fb_fail(&err) : FB_EXIT_OK;
}
