/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sync-latency: how long sync() takes after N files were made, read or removed.
 *
 * After the test program of a 2013 report (sync() ten times slower on ext4, only for inodes
 * whose atime was dirtied by a read): make N files and time sync(), read one byte of each and
 * time sync(), unlink all and time sync(); then the next N. The read dirties an inode under
 * relatime because the file has just been written (atime <= mtime), so each N has fresh files,
 * and a mount with noatime makes the read phase empty.
 */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/util/clock.h"
#include "src/util/str.h"
#include "src/util/util.h"
#include "testcases/fs.h"
#include "testcases/guest.h"
#include "testcases/lines.h"
#include "testcases/list.h"

#define COUNTS_MAX    32 /* as in the parameter */
#define FILE_SIZE_MAX (1u << 20)
#define PHASE_MAX_NS  (3600 * FB_NS_PER_S) /* no sync() takes longer than the time limit */

static const struct fb_param_def params[] =
	FB_PARAMS_ON_FS({"nr_files", "512,1024", "@counts", "numbers of files, one after another"},
			{"size", "16k", "@size", "size of each file"},
			{"method", "sync", "sync|syncfs", "the call that is timed"});

static const char *const phases[] = {"create", "read", "unlink"};
#define NR_PHASES FB_ARRAY_SIZE(phases)

static const char *const metrics[] = {
	"sync-latency.create_*_ms",	"sync-latency.create_total_ms",
	"sync-latency.read_*_ms",	"sync-latency.read_total_ms",
	"sync-latency.total_ms",	"sync-latency.unlink_*_ms",
	"sync-latency.unlink_total_ms", NULL,
};

static void tools(const struct fb_cell *cell, char ***ret)
{
	fb_fs_tools(cell, ret);
}

static json_t *job(const struct fb_cell *cell, struct fb_error *err)
{
	uint64_t size_b;
	json_t *ret, *argv;

	if (fb_parse_size(fb_cell_get(cell, "size"), &size_b, err) < 0)
		return NULL;
	if (!size_b || size_b > FILE_SIZE_MAX) {
		fb_error_set(err, FB_ERROR_INPUT, "size: not from 1 to 1m");
		return NULL;
	}
	ret = fb_job_new(cell, err);
	if (!ret)
		return NULL;
	fb_job_settle(ret);
	argv = json_pack("[s, s, s, s]", "@sync-latency", "run", fb_cell_get(cell, "method"),
			 fb_cell_get(cell, "nr_files"));
	fb_argv_add(argv, "%llu", (unsigned long long)size_b);
	json_object_set_new(ret, "measure", argv);
	return ret;
}

/* --- in the guest ------------------------------------------------------------------------ */

static void file_name(char *buf, size_t size, const char *dir, uint64_t i)
{
	snprintf(buf, size, "%s/f%07llu", dir, (unsigned long long)i);
}

static int create_files(const char *dir, uint64_t nr, const char *data, size_t size)
{
	for (uint64_t i = 0; i < nr; i++) {
		FB_CLEANUP(fb_closep) int fd = -1;
		char name[64];

		file_name(name, sizeof(name), dir, i);
		fd = open(name, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
		if (fd < 0 || write(fd, data, size) != (ssize_t)size)
			return fb_guest_fail("sync-latency: create %s", name);
	}
	return 0;
}

static int read_files(const char *dir, uint64_t nr)
{
	for (uint64_t i = 0; i < nr; i++) {
		FB_CLEANUP(fb_closep) int fd = -1;
		char name[64], byte;

		file_name(name, sizeof(name), dir, i);
		fd = open(name, O_RDONLY | O_CLOEXEC);
		if (fd < 0 || read(fd, &byte, 1) != 1)
			return fb_guest_fail("sync-latency: read %s", name);
	}
	return 0;
}

static int unlink_files(const char *dir, uint64_t nr)
{
	for (uint64_t i = 0; i < nr; i++) {
		char name[64];

		file_name(name, sizeof(name), dir, i);
		if (unlink(name) < 0)
			return fb_guest_fail("sync-latency: unlink %s", name);
	}
	return rmdir(dir) < 0 ? fb_guest_fail("sync-latency: rmdir %s", dir) : 0;
}

/* Time the call and print a line of the result. */
static int timed_sync(int mount_fd, bool whole, const char *phase, uint64_t nr)
{
	int64_t start_ns = fb_clock_mono_ns();

	if (whole)
		sync();
	else if (syncfs(mount_fd) < 0)
		return fb_guest_fail("sync-latency: syncfs");
	return fb_guest_say("%s %llu %lld", phase, (unsigned long long)nr,
			    (long long)(fb_clock_mono_ns() - start_ns));
}

static int run_count(int mount_fd, bool whole, uint64_t nr, const char *data, size_t size)
{
	char dir[32];

	snprintf(dir, sizeof(dir), "d%llu", (unsigned long long)nr);
	if (mkdir(dir, 0700) < 0)
		return fb_guest_fail("sync-latency: mkdir %s", dir);
	if (create_files(dir, nr, data, size) < 0 ||
	    timed_sync(mount_fd, whole, "create", nr) < 0 || read_files(dir, nr) < 0 ||
	    timed_sync(mount_fd, whole, "read", nr) < 0 || unlink_files(dir, nr) < 0 ||
	    timed_sync(mount_fd, whole, "unlink", nr) < 0)
		return -1;
	return 0;
}

static int run(const char *method, const char *counts, const char *size_text)
{
	FB_CLEANUP(fb_closep) int mount_fd = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	FB_CLEANUP(fb_freep) char *list = fb_xstrdup(counts);
	FB_CLEANUP(fb_freep) char *data = NULL;
	struct fb_error err = FB_ERROR_INIT;
	bool whole = !strcmp(method, "sync");
	uint64_t size, nr;
	char *save = NULL;

	if (fb_parse_u64(size_text, 1, FILE_SIZE_MAX, &size, &err) < 0) {
		errno = 0;
		fb_guest_fail("sync-latency: %s", err.text);
		return 2;
	}
	data = fb_xmalloc(size);
	memset(data, 'x', size);
	for (char *n = strtok_r(list, "+", &save); n; n = strtok_r(NULL, "+", &save)) {
		if (fb_parse_u64(n, 1, 1u << 20, &nr, &err) < 0) {
			errno = 0;
			fb_guest_fail("sync-latency: %s", err.text);
			return 2;
		}
		if (run_count(mount_fd, whole, nr, data, size) < 0)
			return 1;
	}
	return 0;
}

static int guest(int argc, char **argv)
{
	if (argc == 5 && !strcmp(argv[1], "run"))
		return run(argv[2], argv[3], argv[4]);
	return 2;
}

/* --- reading ----------------------------------------------------------------------------- */

static size_t counts_of(const struct fb_cell *cell, uint64_t counts[COUNTS_MAX])
{
	const char *p = fb_cell_get(cell, "nr_files");
	size_t nr = 0;

	while (*p && nr < COUNTS_MAX) {
		char *end;

		counts[nr++] = strtoull(p, &end, 10);
		p = *end == '+' ? end + 1 : end;
	}
	return nr;
}

/* The files of one number are gone before those of the next are made; the last is the largest. */
static uint64_t disk_b(const struct fb_cell *cell)
{
	uint64_t counts[COUNTS_MAX];
	size_t nr = counts_of(cell, counts);

	return counts[nr - 1] * fb_cell_size(cell, "size");
}

/* "create 512 213000111": stored at its phase and count. */
static int read_line(const struct fb_lines *l, const uint64_t *counts, size_t nr,
		     double ns[NR_PHASES][COUNTS_MAX], struct fb_error *err)
{
	char phase[16], count_text[24], ns_text[24], rest;
	uint64_t count, value;

	if (sscanf(l->line, "%15s %23s %23s %c", phase, count_text, ns_text, &rest) != 3)
		return fb_error_set(err, FB_ERROR_INPUT,
				    "sync-latency output, line %u: not understood: '%.80s'", l->nr,
				    l->line);
	if (fb_parse_u64(count_text, 1, UINT64_MAX, &count, err) < 0 ||
	    fb_parse_u64(ns_text, 0, PHASE_MAX_NS, &value, err) < 0)
		return fb_error_wrap(err, "sync-latency output, line %u", l->nr);
	for (size_t p = 0; p < NR_PHASES; p++)
		for (size_t i = 0; i < nr; i++) {
			if (strcmp(phase, phases[p]) || count != counts[i])
				continue;
			if (!isnan(ns[p][i]))
				return fb_error_set(err, FB_ERROR_INPUT,
						    "sync-latency output, line %u: '%s %llu' again",
						    l->nr, phase, (unsigned long long)count);
			ns[p][i] = (double)value;
			return 0;
		}
	return fb_error_set(err, FB_ERROR_INPUT,
			    "sync-latency output, line %u: '%s %llu' is not part of the cell",
			    l->nr, phase, (unsigned long long)count);
}

static int put_all(struct fb_values *values, const uint64_t *counts, size_t nr,
		   double ns[NR_PHASES][COUNTS_MAX], struct fb_error *err)
{
	double total_ns = 0;

	for (size_t p = 0; p < NR_PHASES; p++) {
		double phase_ns = 0;

		for (size_t i = 0; i < nr; i++) {
			if (isnan(ns[p][i]))
				return fb_error_set(err, FB_ERROR_INPUT,
						    "sync-latency output ends early: no '%s %llu'",
						    phases[p], (unsigned long long)counts[i]);
			if (fb_values_addf(values, ns[p][i] / FB_NS_PER_MS, err,
					   "sync-latency.%s_%llu_ms", phases[p],
					   (unsigned long long)counts[i]) < 0)
				return -1;
			phase_ns += ns[p][i];
		}
		if (fb_values_addf(values, phase_ns / FB_NS_PER_MS, err, "sync-latency.%s_total_ms",
				   phases[p]) < 0)
			return -1;
		total_ns += phase_ns;
	}
	return fb_values_add(values, "sync-latency.total_ms", total_ns / FB_NS_PER_MS, err);
}

static int parse(const struct fb_cell *cell, const char *out, size_t len, struct fb_values *ret,
		 struct fb_error *err)
{
	FB_CLEANUP(fb_values_release) struct fb_values values = {0};
	double ns[NR_PHASES][COUNTS_MAX];
	uint64_t counts[COUNTS_MAX];
	size_t nr = counts_of(cell, counts);
	struct fb_lines l;
	int rc;

	for (size_t p = 0; p < NR_PHASES; p++)
		for (size_t i = 0; i < COUNTS_MAX; i++)
			ns[p][i] = NAN;
	/* A torn last line could hold the first digits of a number. */
	if (len && out[len - 1] != '\n')
		return fb_error_set(err, FB_ERROR_INPUT, "sync-latency output: torn last line");
	if (fb_lines_start(&l, "sync-latency", out, len, err) < 0)
		return -1;
	while ((rc = fb_lines_next(&l, err)) > 0)
		if (read_line(&l, counts, nr, ns, err) < 0)
			return -1;
	if (rc < 0 || put_all(&values, counts, nr, ns, err) < 0)
		return -1;
	*ret = values;
	values = (struct fb_values){0};
	return 0;
}

const struct fb_testcase fb_testcase_sync_latency = {
	.name = "sync-latency",
	.summary = "time of sync() after making, reading and removing N files",
	.version = 1,
	.params = params,
	.metrics = metrics,
	.tools = tools,
	.job = job,
	.parse = parse,
	.disk_b = disk_b,
	.guest = guest,
};
