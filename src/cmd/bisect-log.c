/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `firstbad bisect log`: what was said so far; `git bisect replay` reads it, too. */
#include "src/cmd/manual.h"
#include "src/util/util.h"

int fb_cmd_bisect_log(int argc, char **argv)
{
	struct fb_common common = {0};
	const struct fb_opt opts[] = {FB_COMMON_OPTS(common)};
	FB_CLEANUP(fb_manual_cmd_release) struct fb_manual_cmd c = {0};
	FB_CLEANUP(fb_str_release) struct fb_str out = FB_STR_INIT;
	struct fb_error err = FB_ERROR_INIT;
	int first, rc = fb_opt_parse(argc, argv, "bisect log",
				     "Prints what was said so far, for 'bisect replay' and 'git "
				     "bisect replay'.",
				     opts, FB_ARRAY_SIZE(opts), &first);

	if (rc >= 0)
		return rc;
	if (fb_at_most(argc, argv, first, &err) < 0 ||
	    fb_manual_cmd_open(&c, &common, false, &err) < 0)
		return fb_fail(&err);
	if (!c.m->active) {
		fb_error_set(&err, FB_ERROR_USAGE, "We are not bisecting.");
		return fb_fail(&err);
	}
	fb_manual_log(c.m, &out);
	return fb_put(fb_str_cstr(&out));
}
