/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * dbench: the file operations of a file server's clients, replayed for a time.
 *
 * The throughput is in 10^6 bytes per second. The table of operations is kept: a regression of
 * fsync() shows in Flush, one of the dentry cache in NTCreateX and Unlink.
 */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "src/util/str.h"
#include "src/util/util.h"
#include "testcases/fs.h"
#include "testcases/lines.h"
#include "testcases/list.h"

/* Where Debian's package has it; the guest bundle takes it along. */
#define LOADFILE "/usr/share/dbench/client.txt"

static const struct fb_param_def params[] =
	FB_PARAMS_ON_FS(FB_PARAM_TASKS("nr_threads", "t", "1000", "clients, a process each"),
			{"runtime", "10s", "@duration", "how long"},
			{"sync_open", "0", "0|1", "1: open files with O_SYNC (dbench -s)"},
			{"sync_dirs", "0", "0|1", "1: sync changes of directories (dbench -S)"},
			{"fsync", "0", "0|1", "1: fsync() after each write (dbench -F)"});

static const char *const metrics[] = {
	"dbench.latency_*_avg_ms",
	"dbench.max_latency",
	"dbench.throughput_MB/s",
	NULL,
};

static void tools(const struct fb_cell *cell, char ***ret)
{
	fb_strv_add(ret, "dbench");
	fb_fs_tools(cell, ret);
}

static json_t *job(const struct fb_cell *cell, struct fb_error *err)
{
	json_t *ret, *argv;

	if (fb_cell_seconds(cell, "runtime") < 1) {
		fb_error_set(err, FB_ERROR_INPUT, "runtime: at least 1s");
		return NULL;
	}
	ret = fb_job_new(cell, err);
	if (!ret)
		return NULL;
	fb_job_settle(ret);
	argv = json_pack("[s, s, s, s, s, s]", "dbench", "-c", LOADFILE, "-D", ".", "-t");
	fb_argv_add(argv, "%lld", (long long)fb_cell_seconds(cell, "runtime"));
	if (fb_cell_number(cell, "sync_open"))
		fb_argv_add(argv, "-s");
	if (fb_cell_number(cell, "sync_dirs"))
		fb_argv_add(argv, "-S");
	if (fb_cell_number(cell, "fsync"))
		fb_argv_add(argv, "-F");
	fb_argv_add(argv, "%s", fb_cell_get(cell, "nr_threads"));
	json_object_set_new(ret, "measure", argv);
	return ret;
}

/* --- reading ----------------------------------------------------------------------------- */

/* " NTCreateX      17488     0.012     5.034": operation, count, mean and longest in ms. */
static int read_operation(const struct fb_lines *l, struct fb_values *values, struct fb_error *err)
{
	char name[24], count_text[24], avg_text[24], max_text[24], rest;
	uint64_t count;
	double avg_ms, max_ms;

	if (sscanf(l->line, "%23[A-Za-z0-9] %23s %23s %23s %c", name, count_text, avg_text,
		   max_text, &rest) != 4)
		return fb_error_set(err, FB_ERROR_INPUT,
				    "dbench output, line %u: not understood: '%.80s'", l->nr,
				    l->line);
	if (fb_parse_u64(count_text, 0, INT64_MAX, &count, err) < 0 ||
	    fb_parse_double(avg_text, &avg_ms, err) < 0 ||
	    fb_parse_double(max_text, &max_ms, err) < 0)
		return fb_error_wrap(err, "dbench output, line %u", l->nr);
	if (avg_ms < 0 || max_ms < 0)
		return fb_error_set(err, FB_ERROR_INPUT, "dbench output, line %u: a negative time",
				    l->nr);
	return count ? fb_values_addf(values, avg_ms, err, "dbench.latency_%s_avg_ms", name) : 0;
}

/* "Throughput 198.8 MB/sec (sync open)  2 clients  2 procs  max_latency=12.068 ms" */
static int read_throughput(const struct fb_cell *cell, const struct fb_lines *l,
			   struct fb_values *values, struct fb_error *err)
{
	const bool sync_open = fb_cell_number(cell, "sync_open"),
		   sync_dirs = fb_cell_number(cell, "sync_dirs");
	const char *clients = fb_cell_get(cell, "nr_threads");
	FB_CLEANUP(fb_freep)
	char *middle = fb_xasprintf(
		" MB/sec%s%s  %s clients  %s procs  max_latency=", sync_open ? " (sync open)" : "",
		sync_dirs ? " (sync dirs)" : "", clients, clients);
	const char *p = l->line + strlen("Throughput "), *q = strstr(p, middle);
	FB_CLEANUP(fb_freep) char *rate = q ? fb_xstrndup(p, (size_t)(q - p)) : NULL;
	FB_CLEANUP(fb_freep) char *latency = NULL;
	double mb_ps, max_ms;

	if (!q || !fb_str_has_suffix(q, " ms"))
		return fb_error_set(err, FB_ERROR_INPUT,
				    "dbench output, line %u: not of this cell: '%.120s'", l->nr,
				    l->line);
	q += strlen(middle);
	latency = fb_xstrndup(q, strlen(q) - strlen(" ms"));
	if (fb_parse_double(rate, &mb_ps, err) < 0 || fb_parse_double(latency, &max_ms, err) < 0)
		return fb_error_wrap(err, "dbench output, line %u", l->nr);
	if (!(mb_ps > 0) || max_ms < 0)
		return fb_error_set(err, FB_ERROR_INPUT, "dbench output, line %u: nothing done",
				    l->nr);
	return fb_values_add(values, "dbench.throughput_MB/s", mb_ps, err) < 0 ||
			       fb_values_add(values, "dbench.max_latency", max_ms, err) < 0
		       ? -1
		       : 0;
}

struct report {
	bool in_table, for_time;
};

static int read_line(const struct fb_cell *cell, struct report *r, const struct fb_lines *l,
		     struct fb_values *values, struct fb_error *err)
{
	static const char version[] = "dbench version ";
	const char *line = l->line;
	long long s;

	if (fb_str_has_prefix(line, version) && isdigit((unsigned char)line[strlen(version)]) &&
	    !values->tool) {
		const char *v = line + strlen(version);

		values->tool = fb_xasprintf("dbench %.*s", (int)strspn(v, "0123456789."), v);
	} else if (sscanf(line, "Running for %lld seconds", &s) == 1) {
		if (s != fb_cell_seconds(cell, "runtime"))
			return fb_error_set(err, FB_ERROR_INPUT, "dbench ran for %lld s", s);
		r->for_time = true;
	} else if (strstr(line, "ERROR") || fb_str_has_prefix(line, "Child failed") ||
		   (*line == '[' && strstr(line, " failed "))) {
		/* "[52] write failed on handle 9940 (No space left on device)" */
		return fb_error_set(err, FB_ERROR_INPUT, "dbench failed: %.300s", line);
	} else if (fb_str_has_prefix(line, "Operation ")) {
		r->in_table = true;
	} else if (fb_str_has_prefix(line, "Throughput ")) {
		r->in_table = false;
		return read_throughput(cell, l, values, err);
	} else if (r->in_table && *line && *line != '-') {
		return read_operation(l, values, err);
	}
	return 0;
}

static int parse(const struct fb_cell *cell, const char *out, size_t len, struct fb_values *ret,
		 struct fb_error *err)
{
	FB_CLEANUP(fb_values_release) struct fb_values values = {0};
	struct report r = {0};
	struct fb_lines l;
	int rc;

	if (fb_lines_start(&l, "dbench", out, len, err) < 0)
		return -1;
	while ((rc = fb_lines_next(&l, err)) > 0)
		if (read_line(cell, &r, &l, &values, err) < 0)
			return -1;
	if (rc < 0)
		return -1;
	if (!values.tool)
		return fb_error_set(err, FB_ERROR_INPUT, "no dbench version in its output");
	if (!r.for_time || isnan(fb_values_get(&values, "dbench.throughput_MB/s")))
		return fb_error_set(err, FB_ERROR_INPUT, "dbench output ends early");
	*ret = values;
	values = (struct fb_values){0};
	return 0;
}

const struct fb_testcase fb_testcase_dbench = {
	.name = "dbench",
	.summary = "dbench: what the clients of a file server do, for a time",
	.version = 1,
	.params = params,
	.metrics = metrics,
	.tools = tools,
	.job = job,
	.parse = parse,
};
