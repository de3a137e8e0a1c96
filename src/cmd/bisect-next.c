/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `firstbad bisect next`: the commit to test, checked out (again). */
#include "src/cmd/manual.h"
#include "src/util/util.h"

int fb_cmd_bisect_next(int argc, char **argv)
{
	struct fb_common common = {0};
	const struct fb_opt opts[] = {FB_COMMON_OPTS(common)};
	FB_CLEANUP(fb_manual_cmd_release) struct fb_manual_cmd c = {0};
	struct fb_error err = FB_ERROR_INIT;
	int first,
		rc = fb_opt_parse(argc, argv, "bisect next", "Checks out the commit to test next.",
				  opts, FB_ARRAY_SIZE(opts), &first);

	if (rc >= 0)
		return rc;
	if (fb_at_most(argc, argv, first, &err) < 0 || fb_manual_cmd_active(&c, &common, &err) < 0)
		return fb_fail(&err);
	rc = fb_manual_cmd_next(&c, true, &err);
	return rc < 0 ? fb_fail(&err) : rc;
}
