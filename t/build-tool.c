/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * For t3001-build.t: runs one build spec (a JSON file) and prints the result as JSON.
 * Exit status: 0 built, 1 the commit does not build, 12 wrong input, 13 a system error, 15 a time
 * limit, 17 something is missing, 10 any other error.
 */
#include <stdio.h>
#include <string.h>

#include "src/build/build.h"
#include "src/util/json.h"
#include "src/util/util.h"

static int fail(const struct fb_error *err)
{
	fprintf(stderr, "build-tool: %s\n", err->text);
	switch (err->code) {
	case FB_ERROR_INPUT:
		return 12;
	case FB_ERROR_SYSTEM:
		return 13;
	case FB_ERROR_TIMEOUT:
		return 15;
	case FB_ERROR_MISSING:
		return 17;
	default:
		return 10;
	}
}

static int run(const char *path, bool lookup)
{
	FB_CLEANUP(fb_build_spec_release) struct fb_build_spec spec = {0};
	FB_CLEANUP(fb_build_result_release) struct fb_build_result result = {0};
	FB_CLEANUP(fb_build_result_release) struct fb_build_result again = {0};
	FB_CLEANUP(fb_str_release) struct fb_str text = FB_STR_INIT;
	struct fb_error err = FB_ERROR_INIT;
	json_auto_t *v = fb_json_load(path, 1 << 20, &err), *out = NULL;
	int rc;

	if (!v || fb_build_spec_from_json(v, &spec, &err) < 0)
		return fail(&err);
	rc = lookup ? fb_build_lookup(&spec, &result, &err) : fb_build_run(&spec, &result, &err);
	if (rc < 0)
		return fail(&err);
	if (lookup && rc == 0)
		return 2;
	out = fb_build_result_to_json(&result);
	if (fb_build_result_from_json(out, &again, &err) < 0)
		return fail(&err);
	fb_json_pretty(out, &text);
	fputs(fb_str_cstr(&text), stdout);
	return result.outcome == FB_BUILD_OK ? 0 : 1;
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "run"))
		return run(argv[2], false);
	if (argc == 3 && !strcmp(argv[1], "lookup"))
		return run(argv[2], true);
	fprintf(stderr, "usage: build-tool run|lookup SPEC.json\n");
	return 64;
}
