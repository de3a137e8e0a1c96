/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * TEMPLATE: copy this file to testcases/NAME.c, and say here in a sentence what is measured.
 *
 * Then: a line in testcases/list.h (strcmp order of the names) and in testcases/Makemodule.am, a
 * row for each metric in testcases/metrics.c, and recorded output in
 * t/data/testcases/NAME/WHAT.ok and WHAT.bad. The tests find the rest. What reads a tool's text has
 * a target in t/fuzz, too.
 */
#include <math.h>
#include <stdio.h>

#include "testcases/fs.h"
#include "testcases/lines.h"
#include "testcases/testcase.h"

static const struct fb_param_def params[] =
	FB_PARAMS_ON_FS({"count", "1000", "@number:1:1000000", "how often"});

static const char *const metrics[] = {"template.ops_per_sec", NULL};

static void tools(const struct fb_cell *cell, char ***ret)
{
	fb_fs_tools(cell, ret);
}

static json_t *job(const struct fb_cell *cell, struct fb_error *err)
{
	json_t *ret = fb_job_new(cell, err);

	if (!ret)
		return NULL;
	json_object_set_new(ret, "measure",
			    json_pack("[s, s]", "template", fb_cell_get(cell, "count")));
	return ret;
}

/* Strict: exactly one line "N ops/s", or the run does not count. */
static int parse(const struct fb_cell *cell, const char *out, size_t len, struct fb_values *ret,
		 struct fb_error *err)
{
	struct fb_values values = {0};
	struct fb_lines l;
	double rate = NAN;
	char rest;
	int rc;

	(void)cell;
	if (fb_lines_start(&l, "template", out, len, err) < 0)
		return -1;
	while ((rc = fb_lines_next(&l, err)) > 0)
		if (!isnan(rate) || sscanf(l.line, "%lf ops/s%c", &rate, &rest) != 1)
			return fb_error_set(err, FB_ERROR_INPUT, "line %u: not understood", l.nr);
	/* NaN is refused by fb_values_add(), so an empty output is an error too. */
	if (rc < 0 || fb_values_add(&values, "template.ops_per_sec", rate, err) < 0)
		return -1;
	*ret = values;
	return 0;
}

extern const struct fb_testcase fb_testcase_template;
const struct fb_testcase fb_testcase_template = {
	.name = "template",
	.summary = "what `firstbad list tests` says about it",
	.version = 1,
	.params = params,
	.metrics = metrics,
	.tools = tools,
	.job = job,
	.parse = parse,
};
