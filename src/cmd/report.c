/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `firstbad report`: the session is replayed, nothing is run. */
#include "src/cmd/bisect.h"
#include "src/util/util.h"

int fb_cmd_report(int argc, char **argv)
{
	struct fb_common common = {0};
	const char *format = NULL;
	const struct fb_opt opts[] = {
		FB_COMMON_OPTS(common),
		{"format", 0, FB_OPT_STRING, &format, "FORMAT", "plain (default) or json"},
	};
	FB_CLEANUP(fb_bisect_cmd_release) struct fb_bisect_cmd c = {0};
	const struct fb_reporter *reporter;
	struct fb_error err = FB_ERROR_INIT;
	int first,
		rc = fb_opt_parse(
			argc, argv, "report [--format FORMAT] [SESSION]",
			"Prints the report of a bisection; default: the newest of this worktree.",
			opts, FB_ARRAY_SIZE(opts), &first);

	if (rc >= 0)
		return rc;
	if (fb_at_most(argc, argv, first + 1, &err) < 0)
		return fb_fail(&err);
	reporter = fb_reporter_find(format ? format : common.json ? "json" : "plain");
	if (!reporter) {
		FB_CLEANUP(fb_str_release) struct fb_str known = FB_STR_INIT;

		for (const struct fb_reporter *const *r = fb_reporters(); *r; r++)
			fb_str_addf(&known, " %s", (*r)->name);
		fb_error_set(&err, FB_ERROR_USAGE, "no report format '%s'; known:%s", format,
			     fb_str_cstr(&known));
		return fb_fail(&err);
	}
	if (fb_bisect_cmd_read(&c, &common, first < argc ? argv[first] : NULL, &err) < 0)
		return fb_fail(&err);
	return fb_bisect_cmd_report(&c, reporter);
}
