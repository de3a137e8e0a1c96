/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `firstbad bisect visualize`: git shows the commits that are left. */
#include <string.h>

#include "src/cmd/manual.h"
#include "src/util/util.h"

/* The first word that is no option of ours: it and the rest are for git. */
static int first_of_git(int argc, char **argv)
{
	static const char *const ours[] = {"--help", "-h", "--repo", "--directory",
					   "-C",     "-q", "--quiet"};
	int i = 1;

	while (i < argc) {
		size_t k = 0;

		while (k < FB_ARRAY_SIZE(ours) && strcmp(argv[i], ours[k]) != 0)
			k++;
		if (k == FB_ARRAY_SIZE(ours))
			break;
		i += k >= 2 && k <= 4 ? 2 : 1;
	}
	return i < argc ? i : argc;
}

int fb_cmd_bisect_visualize(int argc, char **argv)
{
	struct fb_common common = {0};
	const struct fb_opt opts[] = {FB_COMMON_OPTS(common)};
	FB_CLEANUP(fb_manual_cmd_release) struct fb_manual_cmd c = {0};
	struct fb_error err = FB_ERROR_INIT;
	int git = first_of_git(argc, argv), first, rc;

	rc = fb_opt_parse(git, argv, "bisect visualize [GIT-LOG-OPTIONS]",
			  "Shows the commits that are left, by `git bisect visualize`.", opts,
			  FB_ARRAY_SIZE(opts), &first);
	if (rc >= 0)
		return rc;
	if (fb_manual_cmd_active(&c, &common, &err) == 0)
		fb_gitbisect_visualize(c.history, argv + git, &err);
	return fb_fail(&err);
}
