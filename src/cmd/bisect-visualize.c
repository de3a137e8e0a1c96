/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `firstbad bisect visualize`: git shows the commits that are left. */
#include "src/cmd/manual.h"
#include "src/util/util.h"

int fb_cmd_bisect_visualize(int argc, char **argv)
{
	struct fb_common common = {0};
	const struct fb_opt opts[] = {FB_COMMON_OPTS(common)};
	FB_CLEANUP(fb_manual_cmd_release) struct fb_manual_cmd c = {0};
	struct fb_error err = FB_ERROR_INIT;
	int first, rc = fb_opt_parse_before(argc, argv, "bisect visualize [-- GIT-LOG-OPTIONS]",
					    "Shows the commits that are left by `git bisect "
					    "visualize`; options of git log follow '--'.",
					    opts, FB_ARRAY_SIZE(opts), &first);

	if (rc >= 0)
		return rc;
	if (fb_manual_cmd_active(&c, &common, &err) == 0)
		fb_gitbisect_visualize(c.history, argv + first, &err);
	return fb_fail(&err);
}
