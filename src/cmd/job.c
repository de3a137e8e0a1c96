/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `firstbad job DIR`: what an engine runs. Reads job.json, writes result.json. */
#include <stdio.h>
#include <string.h>

#include "src/cmd/cmd.h"
#include "src/util/file.h"
#include "src/util/json.h"
#include "src/util/util.h"

#define JOB_MAX_B (64u << 20)

static json_t *run_build(json_t *v, struct fb_error *err)
{
	FB_CLEANUP(fb_build_spec_release) struct fb_build_spec spec = {0};
	FB_CLEANUP(fb_build_result_release) struct fb_build_result result = {0};

	if (fb_build_spec_from_json(v, &spec, err) < 0 || fb_build_run(&spec, &result, err) < 0)
		return NULL;
	return fb_build_result_to_json(&result);
}

static json_t *run_boot(json_t *v, const char *dir, struct fb_error *err)
{
	FB_CLEANUP(fb_boot_spec_release) struct fb_boot_spec spec = {0};
	FB_CLEANUP(fb_boot_result_release) struct fb_boot_result result = {0};

	if (fb_boot_spec_from_json(v, &spec, err) < 0 || fb_boot_run(&spec, dir, &result, err) < 0)
		return NULL;
	return fb_boot_result_to_json(&result);
}

static json_t *run(const char *dir, struct fb_error *err)
{
	FB_CLEANUP(fb_freep) char *path = fb_xasprintf("%s/job.json", dir);
	json_auto_t *job = fb_json_load(path, JOB_MAX_B, err);
	const char *kind = fb_json_str(job, "kind");
	json_t *spec = json_object_get(job, "spec");

	if (!job)
		return NULL;
	if (!kind || !spec) {
		fb_error_set(err, FB_ERROR_INPUT, "%s: 'kind' and 'spec' are needed", path);
		return NULL;
	}
	if (!strcmp(kind, "build"))
		return run_build(spec, err);
	if (!strcmp(kind, "boot"))
		return run_boot(spec, dir, err);
	fb_error_set(err, FB_ERROR_INPUT, "%s: unknown kind '%s'", path, kind);
	return NULL;
}

int fb_cmd_job(int argc, char **argv)
{
	static const char usage[] = "job DIR";
	FB_CLEANUP(fb_freep) char *path = NULL;
	const char *dir;
	json_auto_t *out = json_object();
	struct fb_error err = FB_ERROR_INIT, write_err = FB_ERROR_INIT;
	json_t *result;
	int first, rc = fb_opt_parse(argc, argv, usage, "Runs one job, for an engine.", NULL, 0,
				     &first);

	if (rc >= 0)
		return rc;
	if (argc != first + 1) {
		fprintf(stderr, "usage: firstbad %s\n", usage);
		return FB_EXIT_USAGE;
	}
	dir = argv[first];
	result = run(dir, &err);
	if (result)
		json_object_set_new(out, "ok", result);
	else
		json_object_set_new(out, "error",
				    json_pack("{s:i, s:i, s:s}", "code", (int)err.code, "sys",
					      err.sys, "text", err.text));
	path = fb_xasprintf("%s/result.json", dir);
	if (fb_json_save(path, out, &write_err) < 0)
		return fb_fail(&write_err);
	return FB_EXIT_OK;
}
