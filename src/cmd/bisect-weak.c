/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `firstbad bisect weak`: evidence that may be wrong. */
#include <stdlib.h>
#include <string.h>

#include "src/cmd/manual.h"
#include "src/util/util.h"

#define STRENGTH 0.8 /* as good as it gets that deserves the name */

static int weak(struct fb_manual_cmd *c, const char *word, const char *rev, const char *text,
		struct fb_error *err)
{
	double strength = STRENGTH;
	enum fb_side side;
	struct fb_oid commit;

	if (text && fb_parse_double(text, &strength, err) < 0)
		return fb_error_wrap(err, "--strength");
	if (!(strength > 0.5 && strength < 1))
		return fb_error_set(err, FB_ERROR_USAGE,
				    "--strength %s: a probability between 0.5 and 1", text);
	if (fb_manual_side(c->m, word, &side, err) < 0 ||
	    fb_manual_cmd_commit(c, rev, &commit, err) < 0)
		return -1;
	return fb_manual_weak(c->m, side, &commit, strength, err);
}

int fb_cmd_bisect_weak(int argc, char **argv)
{
	struct fb_common common = {0};
	const char *strength = NULL;
	const struct fb_opt opts[] = {
		FB_COMMON_OPTS(common),
		{"strength", 0, FB_OPT_STRING, &strength, "P",
		 "probability that it is right; default: 0.8"},
	};
	FB_CLEANUP(fb_manual_cmd_release) struct fb_manual_cmd c = {0};
	struct fb_error err = FB_ERROR_INIT;
	int first, rc = fb_opt_parse(argc, argv, "bisect weak good|bad [REV] [--strength P]",
				     "Says on which side a commit probably is. Such evidence "
				     "weighs beside the others'; git\nsees it as a comment of the "
				     "log only.",
				     opts, FB_ARRAY_SIZE(opts), &first);

	if (rc >= 0)
		return rc;
	if (first >= argc) {
		fb_error_set(&err, FB_ERROR_USAGE, "bisect weak needs a term: good or bad");
		return fb_fail(&err);
	}
	if (fb_at_most(argc, argv, first + 2, &err) < 0 ||
	    fb_manual_cmd_active(&c, &common, &err) < 0 ||
	    weak(&c, argv[first], argv[first + 1], strength, &err) < 0)
		return fb_fail(&err);
	rc = fb_manual_cmd_next(&c, false, &err);
	return rc < 0 ? fb_fail(&err) : rc;
}
