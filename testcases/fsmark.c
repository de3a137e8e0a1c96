/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fs_mark: files of one size made and synced, as a mail server does.
 *
 * Parameters, their spellings, and how the number of files follows from test_size are those of
 * lkp-tests (programs/fsmark/run): 64t, 16d, 256fpd, 1x, fsyncBeforeClose. So are the metrics: the
 * mean over the iterations.
 */
#include <ctype.h>
#include <math.h>
#include <string.h>

#include "src/util/str.h"
#include "src/util/util.h"
#include "testcases/fs.h"
#include "testcases/lines.h"
#include "testcases/list.h"

#define FILES_MAX 1000000 /* of one thread and iteration: fs_mark's own limit */
#define BLOCK_B	  4096	  /* a file takes at least a block of the disk */

/* In the order of fs_mark's numbers. */
static const char *const methods[] = {
	"NoSync",    "fsyncBeforeClose", "syncFsync", "PostReverseFsync", "syncPostReverseFsync",
	"PostFsync", "syncPostFsync",
};

static const struct fb_param_def params[] = FB_PARAMS_ON_FS(
	FB_PARAM_TASKS("nr_threads", "t", "64", "threads, each in a directory of its own"),
	{"filesize", "16k", "@size", "size of each file; 0: only inodes"},
	{"test_size", "16m", "@size", "size of all files of all iterations together"},
	{"iterations", "1", "@count:x:1000", "how often"},
	{"sync_method", "fsyncBeforeClose",
	 "NoSync|fsyncBeforeClose|syncFsync|PostReverseFsync|syncPostReverseFsync|PostFsync|"
	 "syncPostFsync",
	 "when files are synced"},
	{"nr_directories", "", "@count:d:10000?", "subdirectories of each thread"},
	{"nr_files_per_directory", "", "@count:fpd:1000000?",
	 "files in each before the next is used; with nr_directories empty it follows"});

static const char *const metrics[] = {"fsmark.app_overhead", "fsmark.files_per_sec", NULL};

static void tools(const struct fb_cell *cell, char ***ret)
{
	fb_strv_add(ret, "fs_mark");
	fb_fs_tools(cell, ret);
}

/* Of one thread in one iteration. */
static uint64_t nr_files(const struct fb_cell *cell)
{
	uint64_t size = fb_cell_size(cell, "filesize");

	return fb_cell_size(cell, "test_size") / (size < BLOCK_B ? BLOCK_B : size) /
	       fb_cell_number(cell, "nr_threads") / fb_cell_number(cell, "iterations");
}

/* fs_mark removes the files of an iteration before the next. */
static uint64_t disk_b(const struct fb_cell *cell)
{
	return fb_cell_size(cell, "test_size") / fb_cell_number(cell, "iterations");
}

static int check(const struct fb_cell *cell, struct fb_error *err)
{
	uint64_t size = fb_cell_size(cell, "filesize");
	const char *dirs = fb_cell_get(cell, "nr_directories"),
		   *fpd = fb_cell_get(cell, "nr_files_per_directory");

	if (size > (1u << 30))
		return fb_error_set(err, FB_ERROR_INPUT, "filesize: more than 1g");
	if (!nr_files(cell))
		return fb_error_set(err, FB_ERROR_INPUT,
				    "test_size: less than one file for each thread and iteration");
	if (nr_files(cell) > FILES_MAX)
		return fb_error_set(err, FB_ERROR_INPUT,
				    "test_size: more than %d files for each thread and iteration",
				    FILES_MAX);
	if (*dirs && !*fpd)
		return fb_error_set(err, FB_ERROR_INPUT,
				    "nr_directories: needs nr_files_per_directory");
	return 0;
}

static const char *method_number(const char *name)
{
	static const char numbers[][2] = {"0", "1", "2", "3", "4", "5", "6"};

	for (size_t i = 0; i < FB_ARRAY_SIZE(methods); i++)
		if (!strcmp(methods[i], name))
			return numbers[i];
	FB_BUG("sync method '%s'", name); /* the parameter's choices and the table disagree */
}

static json_t *job(const struct fb_cell *cell, struct fb_error *err)
{
	const char *dirs = fb_cell_get(cell, "nr_directories"),
		   *fpd = fb_cell_get(cell, "nr_files_per_directory");
	uint64_t threads = fb_cell_number(cell, "nr_threads");
	json_t *ret, *argv;

	if (check(cell, err) < 0)
		return NULL;
	ret = fb_job_new(cell, err);
	if (!ret)
		return NULL;
	fb_job_settle(ret);
	argv = json_pack("[s]", "fs_mark");
	for (uint64_t i = 1; i <= threads; i++) {
		fb_argv_add(argv, "-d");
		fb_argv_add(argv, "./%llu", (unsigned long long)i);
	}
	if (*fpd) {
		uint64_t each = fb_cell_number(cell, "nr_files_per_directory");

		fb_argv_add(argv, "-D");
		fb_argv_add(argv, "%llu",
			    (unsigned long long)(*dirs ? fb_cell_number(cell, "nr_directories")
						       : (nr_files(cell) + each - 1) / each));
		fb_argv_add(argv, "-N");
		fb_argv_add(argv, "%llu", (unsigned long long)each);
	}
	fb_argv_add(argv, "-n");
	fb_argv_add(argv, "%llu", (unsigned long long)nr_files(cell));
	fb_argv_add(argv, "-L");
	fb_argv_add(argv, "%s", fb_cell_get(cell, "iterations"));
	fb_argv_add(argv, "-S");
	fb_argv_add(argv, "%s", method_number(fb_cell_get(cell, "sync_method")));
	fb_argv_add(argv, "-s");
	fb_argv_add(argv, "%llu", (unsigned long long)fb_cell_size(cell, "filesize"));
	/* Its log would be written to the file system that is measured. */
	fb_argv_add(argv, "-l");
	fb_argv_add(argv, "/tmp/fs_mark.log");
	json_object_set_new(ret, "measure", argv);
	return ret;
}

/* --- reading ----------------------------------------------------------------------------- */

struct report {
	bool head;			    /* the table's head was seen */
	uint64_t iterations;		    /* rows of it */
	double files_per_sec, app_overhead; /* sums */
};

/* "    75          200         4096        754.9             1898" */
static int read_row(const struct fb_cell *cell, struct report *r, const struct fb_lines *l,
		    struct fb_error *err)
{
	FB_CLEANUP(fb_freep) char *copy = fb_xstrdup(l->line);
	char *word[6] = {0}, *save = NULL;
	uint64_t use, count, size, want;
	double rate, overhead;
	size_t nr = 0;

	for (char *w = strtok_r(copy, " \t", &save); w && nr < 6; w = strtok_r(NULL, " \t", &save))
		word[nr++] = w;
	if (nr != 5)
		return fb_error_set(err, FB_ERROR_INPUT,
				    "fs_mark output, line %u: not understood: '%.80s'", l->nr,
				    l->line);
	if (fb_parse_u64(word[0], 0, 100, &use, err) < 0 ||
	    fb_parse_u64(word[1], 1, INT64_MAX, &count, err) < 0 ||
	    fb_parse_u64(word[2], 0, INT64_MAX, &size, err) < 0 ||
	    fb_parse_double(word[3], &rate, err) < 0 ||
	    fb_parse_double(word[4], &overhead, err) < 0)
		return fb_error_wrap(err, "fs_mark output, line %u", l->nr);
	/* The count goes on over the iterations. */
	want = nr_files(cell) * fb_cell_number(cell, "nr_threads") * ++r->iterations;
	if (count != want || size != fb_cell_size(cell, "filesize"))
		return fb_error_set(err, FB_ERROR_INPUT,
				    "fs_mark made %llu files of %llu bytes, not %llu of %llu",
				    (unsigned long long)count, (unsigned long long)size,
				    (unsigned long long)want,
				    (unsigned long long)fb_cell_size(cell, "filesize"));
	if (!(rate > 0) || overhead < 0)
		return fb_error_set(err, FB_ERROR_INPUT,
				    "fs_mark output, line %u: no rate: '%.80s'", l->nr, l->line);
	r->files_per_sec += rate;
	r->app_overhead += overhead;
	return 0;
}

static int read_line(const struct fb_cell *cell, struct report *r, const struct fb_lines *l,
		     struct fb_values *values, struct fb_error *err)
{
	static const char version[] = "Version ";
	const char *p = l->line;

	if (*p == '#') {
		p += 1 + strspn(p + 1, " \t");
		/* "#	Version 3.3, 2 thread(s) starting at ..." */
		if (fb_str_has_prefix(p, version) && isdigit((unsigned char)p[strlen(version)]) &&
		    !values->tool)
			values->tool = fb_xasprintf("fs_mark %.*s",
						    (int)strspn(p + strlen(version), "0123456789."),
						    p + strlen(version));
		return 0;
	}
	if (fb_str_has_prefix(p, "FSUse%")) {
		if (r->head)
			return fb_error_set(err, FB_ERROR_INPUT,
					    "fs_mark output, line %u: a second table", l->nr);
		r->head = true;
		return 0;
	}
	if (!*p)
		return 0;
	/* In the table, or before it: whatever it is, the run was not what it should be. */
	if (!r->head || !isdigit((unsigned char)*p))
		return fb_error_set(err, FB_ERROR_INPUT, "fs_mark said: %.300s", p);
	return read_row(cell, r, l, err);
}

static int parse(const struct fb_cell *cell, const char *out, size_t len, struct fb_values *ret,
		 struct fb_error *err)
{
	FB_CLEANUP(fb_values_release) struct fb_values values = {0};
	uint64_t want = fb_cell_number(cell, "iterations");
	struct report r = {0};
	struct fb_lines l;
	int rc;

	/* A torn last line could hold the first digits of a number. */
	if (len && out[len - 1] != '\n')
		return fb_error_set(err, FB_ERROR_INPUT, "fs_mark output: torn last line");
	if (fb_lines_start(&l, "fs_mark", out, len, err) < 0)
		return -1;
	while ((rc = fb_lines_next(&l, err)) > 0)
		if (read_line(cell, &r, &l, &values, err) < 0)
			return -1;
	if (rc < 0)
		return -1;
	if (!values.tool)
		return fb_error_set(err, FB_ERROR_INPUT, "no fs_mark version in its output");
	if (r.iterations != want)
		return fb_error_set(err, FB_ERROR_INPUT,
				    "fs_mark tells of %llu iterations, not %llu",
				    (unsigned long long)r.iterations, (unsigned long long)want);
	if (fb_values_add(&values, "fsmark.files_per_sec", r.files_per_sec / (double)want, err) <
		    0 ||
	    fb_values_add(&values, "fsmark.app_overhead", r.app_overhead / (double)want, err) < 0)
		return -1;
	*ret = values;
	values = (struct fb_values){0};
	return 0;
}

const struct fb_testcase fb_testcase_fsmark = {
	.name = "fsmark",
	.summary = "fs_mark: many files of one size, made and synced by threads",
	.version = 1,
	.params = params,
	.metrics = metrics,
	.tools = tools,
	.job = job,
	.parse = parse,
	.disk_b = disk_b,
};
