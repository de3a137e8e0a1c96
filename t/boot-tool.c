/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the tests of t/real need of src/boot, from a shell. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/boot/boot.h"
#include "src/util/file.h"
#include "src/util/json.h"
#include "src/util/util.h"
#include "testcases/testcase.h"

static int fail(const struct fb_error *err)
{
	fprintf(stderr, "boot-tool: %s\n", err->text);
	return err->code == FB_ERROR_MISSING ? 3 : 2;
}

static int load_spec(const char *path, struct fb_boot_spec *ret, struct fb_error *err)
{
	json_t *v = fb_json_load(path, 1u << 20, err);
	int rc = v ? fb_boot_spec_from_json(v, ret, err) : -1;

	json_decref(v);
	return rc;
}

/* run SPEC DIR: the result as JSON, after a trip through its own reader. */
static int run(char **arg)
{
	struct fb_error err = FB_ERROR_INIT;
	struct fb_boot_result result, again;
	struct fb_str s = FB_STR_INIT;
	struct fb_boot_spec spec;
	json_t *v;

	if (load_spec(arg[0], &spec, &err) < 0)
		return fail(&err);
	if (fb_boot_run(&spec, arg[1], &result, &err) < 0)
		return fail(&err);
	v = fb_boot_result_to_json(&result);
	if (fb_boot_result_from_json(v, &again, &err) < 0)
		return fail(&err);
	json_decref(v);
	v = fb_boot_result_to_json(&again);
	fb_json_pretty(v, &s);
	json_decref(v);
	fputs(fb_str_cstr(&s), stdout);
	fb_str_release(&s);
	fb_boot_spec_release(&spec);
	fb_boot_result_release(&result);
	fb_boot_result_release(&again);
	return 0;
}

static int args(char **arg)
{
	struct fb_error err = FB_ERROR_INIT;
	FB_CLEANUP(fb_strvp) char **argv = NULL;
	struct fb_boot_spec spec;

	if (load_spec(arg[0], &spec, &err) < 0 ||
	    fb_machine_args(&spec, arg[1], 9, &argv, &err) < 0)
		return fail(&err);
	fb_boot_spec_release(&spec);
	for (char **a = argv; *a; a++)
		puts(*a);
	return 0;
}

static int bundle(char **arg)
{
	struct fb_error err = FB_ERROR_INIT;
	FB_CLEANUP(fb_freep) char *path = NULL;

	if (fb_bundle_make((const char *const *)arg + 1, arg[0], &path, &err) < 0)
		return fail(&err);
	puts(path);
	return 0;
}

/* probe MACHINE CACHE [VMLINUX BUNDLE] */
static int probe(char **arg)
{
	struct fb_error err = FB_ERROR_INIT;
	FB_CLEANUP(fb_freep) char *why = NULL;
	int machine = fb_machine_find(arg[0]), rc;

	if (machine < 0)
		return 2;
	rc = fb_machine_probe((enum fb_machine)machine, arg[2], arg[2] ? arg[3] : NULL, arg[1],
			      &why, &err);
	if (rc < 0 && err.code != FB_ERROR_NONE)
		return fail(&err);
	printf("%d %s\n", rc, why);
	return 0;
}

/* job TESTCASE K=V...: the cell as a job for the agent. */
static int job(char **arg)
{
	const struct fb_testcase *testcase = fb_testcase_find(arg[0]);
	struct fb_error err = FB_ERROR_INIT;
	struct fb_param params[32];
	struct fb_str s = FB_STR_INIT;
	struct fb_cell cell;
	size_t nr = 0;
	int bad;
	json_t *v;

	for (char **a = arg + 1; *a && strchr(*a, '=') && nr < FB_ARRAY_SIZE(params); a++) {
		char *eq = strchr(*a, '=');

		*eq = '\0';
		params[nr++] = (struct fb_param){*a, eq + 1};
	}
	if (!testcase || fb_cell_new(testcase, params, nr, &cell, &bad, &err) < 0)
		return fail(&err);
	v = testcase->job(&cell, &err);
	if (!v)
		return fail(&err);
	fb_json_line(v, &s);
	fputs(fb_str_cstr(&s), stdout);
	fb_str_release(&s);
	json_decref(v);
	fb_cell_release(&cell);
	return 0;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int min;
		int (*fn)(char **arg);
	} cmd[] = {{"run", 2, run},
		   {"args", 2, args},
		   {"bundle", 1, bundle},
		   {"probe", 2, probe},
		   {"job", 1, job}};

	for (size_t i = 0; argc > 1 && i < FB_ARRAY_SIZE(cmd); i++)
		if (!strcmp(cmd[i].name, argv[1]) && argc >= 2 + cmd[i].min)
			return cmd[i].fn(argv + 2);
	fprintf(stderr, "usage: boot-tool run SPEC DIR | args SPEC DIR | bundle CACHE TOOL... |\n"
			"       probe MACHINE CACHE [VMLINUX BUNDLE] | job TESTCASE K=V...\n");
	return 2;
}
