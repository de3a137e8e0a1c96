/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `firstbad bisect replay`: a session from a log. */
#include <string.h>

#include "src/cmd/manual.h"
#include "src/util/file.h"
#include "src/util/util.h"

/* As a file may end after a crash. */
static int check_text(const struct fb_str *text, const char *path, struct fb_error *err)
{
	const char *p = fb_str_cstr(text), *end = p + strlen(p);
	unsigned line = 1;

	if ((size_t)(end - p) == text->len)
		return 0;
	for (; p < end; p++)
		line += *p == '\n';
	return fb_error_set(err, FB_ERROR_INPUT, "%s:%u: a NUL byte", path, line);
}

static int replay(struct fb_manual_cmd *c, const char *path, struct fb_error *err)
{
	FB_CLEANUP(fb_str_release) struct fb_str text = FB_STR_INIT;
	size_t nr = 0;

	if (fb_file_read(path, FB_LOG_MAX_B, &text, err) < 0 || check_text(&text, path, err) < 0 ||
	    fb_manual_replay(c->m, fb_str_cstr(&text), path, &nr, err) < 0)
		return -1;
	fprintf(stderr, "firstbad: %zu verdict%s read\n", nr, fb_plural(nr));
	return 0;
}

int fb_cmd_bisect_replay(int argc, char **argv)
{
	struct fb_common common = {0};
	const struct fb_opt opts[] = {FB_COMMON_OPTS(common)};
	FB_CLEANUP(fb_manual_cmd_release) struct fb_manual_cmd c = {0};
	struct fb_error err = FB_ERROR_INIT;
	int first, rc = fb_opt_parse(argc, argv, "bisect replay FILE",
				     "Begins anew with what a log says: of firstbad, of git, or as "
				     "it was pasted into a mail.",
				     opts, FB_ARRAY_SIZE(opts), &first);

	if (rc >= 0)
		return rc;
	if (first >= argc) {
		fb_error_set(&err, FB_ERROR_USAGE, "bisect replay needs a log file");
		return fb_fail(&err);
	}
	if (fb_at_most(argc, argv, first + 1, &err) < 0 ||
	    fb_manual_cmd_open(&c, &common, true, &err) < 0 || replay(&c, argv[first], &err) < 0)
		return fb_fail(&err);
	rc = fb_manual_cmd_next(&c, false, &err);
	return rc < 0 ? fb_fail(&err) : rc;
}
