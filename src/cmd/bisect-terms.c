/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `firstbad bisect terms`: what the two sides are called. */
#include "src/cmd/manual.h"
#include "src/util/util.h"

int fb_cmd_bisect_terms(int argc, char **argv)
{
	struct fb_common common = {0};
	bool old = false, new = false;
	const struct fb_opt opts[] = {
		FB_COMMON_OPTS(common),
		{"term-old", 0, FB_OPT_FLAG, &old, NULL, "only that of the old side"},
		{"term-good", 0, FB_OPT_FLAG, &old, NULL, "the same"},
		{"term-new", 0, FB_OPT_FLAG, &new, NULL, "only that of the new side"},
		{"term-bad", 0, FB_OPT_FLAG, &new, NULL, "the same"},
	};
	FB_CLEANUP(fb_manual_cmd_release) struct fb_manual_cmd c = {0};
	FB_CLEANUP(fb_str_release) struct fb_str out = FB_STR_INIT;
	struct fb_error err = FB_ERROR_INIT;
	int first, rc = fb_opt_parse(argc, argv, "bisect terms [--term-old|--term-new]",
				     "Tells what the two sides are called.", opts,
				     FB_ARRAY_SIZE(opts), &first);

	if (rc >= 0)
		return rc;
	if (fb_at_most(argc, argv, first, &err) < 0 ||
	    fb_manual_cmd_open(&c, &common, false, &err) < 0)
		return fb_fail(&err);
	if (!c.m->active || !c.m->terms[0]) {
		fb_error_set(&err, FB_ERROR_USAGE, "no terms defined");
		return fb_fail(&err);
	}
	if (old || new)
		fb_str_addf(&out, "%s\n", fb_manual_term(c.m, old ? FB_SIDE_OLD : FB_SIDE_NEW));
	else
		fb_str_addf(&out,
			    "Your current terms are %s for the old state\n"
			    "and %s for the new state.\n",
			    fb_manual_term(c.m, FB_SIDE_OLD), fb_manual_term(c.m, FB_SIDE_NEW));
	return fb_put(fb_str_cstr(&out));
}
