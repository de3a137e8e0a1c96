/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `firstbad bisect undo`: take back what was said last. */
#include <stdlib.h>

#include "src/cmd/manual.h"
#include "src/util/util.h"

int fb_cmd_bisect_undo(int argc, char **argv)
{
	struct fb_common common = {0};
	const struct fb_opt opts[] = {FB_COMMON_OPTS(common)};
	FB_CLEANUP(fb_manual_cmd_release) struct fb_manual_cmd c = {0};
	FB_CLEANUP(fb_freep) char *text = NULL;
	struct fb_error err = FB_ERROR_INIT;
	int first, rc = fb_opt_parse(argc, argv, "bisect undo",
				     "Takes back the verdict that was given last; again: the one "
				     "before.",
				     opts, FB_ARRAY_SIZE(opts), &first);

	if (rc >= 0)
		return rc;
	if (fb_at_most(argc, argv, first, &err) < 0 ||
	    fb_manual_cmd_active(&c, &common, &err) < 0 || fb_manual_undo(c.m, &text, &err) < 0)
		return fb_fail(&err);
	rc = fb_put("Taken back:\n");
	if (!rc)
		rc = fb_put(text);
	if (rc)
		return rc;
	rc = fb_manual_cmd_next(&c, false, &err);
	return rc < 0 ? fb_fail(&err) : rc;
}
