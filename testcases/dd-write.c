/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * dd-write: N writers at once, as so many dd if=/dev/zero, each to a file of its own.
 *
 * After the comparisons of 2012 on linux-fsdevel (1dd, 10dd, 100dd x dirty threshold x file
 * system): what is measured is how the kernel throttles writers and writes back. The amount is
 * fixed; what counts is the time until all of it is on the disk, so that a kernel that lets more
 * lie in memory is not taken for a faster one. What the disk was asked for meanwhile is in
 * iostat.*.
 *
 * The writers are threads of ours and not coreutils' dd: they begin together, and nothing of what
 * they do depends on the host's packages. The kernel throttles each thread for itself.
 */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/util/clock.h"
#include "src/util/str.h"
#include "src/util/util.h"
#include "testcases/fs.h"
#include "testcases/guest.h"
#include "testcases/lines.h"
#include "testcases/list.h"

#define WRITERS_MAX 1000
#define BS_MAX	    (64u << 20)
#define DIRTY_MIN   (8u << 10) /* the kernel takes no less than two pages */
#define TIME_MAX_NS (86400 * FB_NS_PER_S)
#define MIB	    1048576.0

static const struct fb_param_def params[] = FB_PARAMS_ON_FS(
	FB_PARAM_TASKS("nr_threads", "dd", "1000", "writers at once"),
	{"bs", "4k", "@size", "of each write()"}, {"size", "64m", "@size", "of all files together"},
	{"dirty_bytes", "", "@size?", "vm.dirty_bytes for the cell: writers wait above it"},
	{"dirty_background_bytes", "", "@size?",
	 "vm.dirty_background_bytes for the cell: writeback begins above it"});

static const char *const metrics[] = {
	"dd-write.sync_ms",
	"dd-write.throughput_MiB/s",
	"dd-write.write_MiB/s",
	"dd-write.writer_fastest_MiB/s",
	"dd-write.writer_slowest_MiB/s",
	NULL,
};

static void tools(const struct fb_cell *cell, char ***ret)
{
	fb_fs_tools(cell, ret);
}

/* Of each writer. */
static uint64_t blocks(const struct fb_cell *cell)
{
	return fb_cell_size(cell, "size") / fb_cell_number(cell, "nr_threads") /
	       fb_cell_size(cell, "bs");
}

static uint64_t disk_b(const struct fb_cell *cell)
{
	return blocks(cell) * fb_cell_size(cell, "bs") * fb_cell_number(cell, "nr_threads");
}

static int add_sysctl(json_t *list, const struct fb_cell *cell, const char *name,
		      struct fb_error *err)
{
	uint64_t b;

	if (!*fb_cell_get(cell, name))
		return 0;
	b = fb_cell_size(cell, name);
	if (b < DIRTY_MIN)
		return fb_error_set(err, FB_ERROR_INPUT, "%s: less than 8k", name);
	fb_argv_add(list, "vm.%s=%llu", name, (unsigned long long)b);
	return 0;
}

static json_t *job(const struct fb_cell *cell, struct fb_error *err)
{
	json_t *ret, *argv, *sysctl;

	if (fb_check_bs(cell, err) < 0)
		return NULL;
	if (fb_cell_size(cell, "bs") > BS_MAX) {
		fb_error_set(err, FB_ERROR_INPUT, "bs: more than 64m");
		return NULL;
	}
	if (!blocks(cell)) {
		fb_error_set(err, FB_ERROR_INPUT, "size: less than one block for each writer");
		return NULL;
	}
	sysctl = json_array();
	ret = add_sysctl(sysctl, cell, "dirty_bytes", err) < 0 ||
			      add_sysctl(sysctl, cell, "dirty_background_bytes", err) < 0
		      ? NULL
		      : fb_job_new(cell, err);
	if (!ret) {
		json_decref(sysctl);
		return NULL;
	}
	json_object_set_new(ret, "sysctl", sysctl);
	fb_job_settle(ret);
	argv = json_pack("[s, s, s]", "@dd-write", "run", fb_cell_get(cell, "nr_threads"));
	fb_argv_add(argv, "%llu", (unsigned long long)fb_cell_size(cell, "bs"));
	fb_argv_add(argv, "%llu", (unsigned long long)blocks(cell));
	json_object_set_new(ret, "measure", argv);
	return ret;
}

/* --- in the guest ------------------------------------------------------------------------ */

/* A thread with a file of its own. */
struct writer {
	pthread_t thread;
	pthread_barrier_t *start;
	unsigned nr; /* from 1 */
	size_t bs;
	uint64_t count;
	int64_t took_ns;
	int rc;
};

static int write_file(const struct writer *w)
{
	FB_CLEANUP(fb_freep) char *data = fb_xcalloc(1, w->bs);
	FB_CLEANUP(fb_closep) int fd = -1;
	char name[32];

	snprintf(name, sizeof(name), "zero-%u", w->nr);
	fd = open(name, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);
	if (fd < 0)
		return fb_guest_fail("dd-write: create %s", name);
	for (uint64_t i = 0; i < w->count; i++)
		for (size_t done = 0; done < w->bs;) {
			ssize_t n = write(fd, data + done, w->bs - done);

			if (n < 0 && errno == EINTR)
				continue;
			if (n <= 0)
				return fb_guest_fail("dd-write: write %s", name);
			done += (size_t)n;
		}
	return 0;
}

static void *writer(void *arg)
{
	struct writer *w = arg;
	int64_t start_ns;

	pthread_barrier_wait(w->start);
	start_ns = fb_clock_mono_ns();
	w->rc = write_file(w);
	w->took_ns = fb_clock_mono_ns() - start_ns;
	return NULL;
}

/* Those that could not be started leave the others waiting; the process ends then. */
static int start_writers(struct writer *w, unsigned nr)
{
	for (unsigned i = 0; i < nr; i++) {
		errno = pthread_create(&w[i].thread, NULL, writer, &w[i]);
		if (errno)
			return fb_guest_fail("dd-write: start writer %u", i + 1);
	}
	return 0;
}

static int write_all(struct writer *w, unsigned nr, pthread_barrier_t *start)
{
	FB_CLEANUP(fb_closep) int mount_fd = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int64_t start_ns, written_ns;
	int rc = 0;

	if (mount_fd < 0)
		return fb_guest_fail("dd-write: open the mount point");
	if (start_writers(w, nr) < 0)
		return -1;
	start_ns = fb_clock_mono_ns();
	pthread_barrier_wait(start);
	for (unsigned i = 0; i < nr; i++) {
		pthread_join(w[i].thread, NULL);
		rc = w[i].rc < 0 ? -1 : rc;
	}
	written_ns = fb_clock_mono_ns();
	if (rc < 0)
		return -1;
	if (syncfs(mount_fd) < 0)
		return fb_guest_fail("dd-write: syncfs");
	for (unsigned i = 0; i < nr; i++)
		if (fb_guest_say("writer %u %lld", i + 1, (long long)w[i].took_ns) < 0)
			return -1;
	return fb_guest_say("written %lld", (long long)(written_ns - start_ns)) < 0 ||
			       fb_guest_say("synced %lld",
					    (long long)(fb_clock_mono_ns() - start_ns)) < 0
		       ? -1
		       : 0;
}

static int guest(int argc, char **argv)
{
	FB_CLEANUP(fb_freep) struct writer *w = NULL;
	struct fb_error err = FB_ERROR_INIT;
	pthread_barrier_t start;
	uint64_t nr, bs, count;

	if (argc != 5 || strcmp(argv[1], "run") != 0 ||
	    fb_parse_u64(argv[2], 1, WRITERS_MAX, &nr, &err) < 0 ||
	    fb_parse_u64(argv[3], 1, BS_MAX, &bs, &err) < 0 ||
	    fb_parse_u64(argv[4], 1, INT64_MAX, &count, &err) < 0)
		return 2;
	w = fb_xcalloc(nr, sizeof(*w));
	pthread_barrier_init(&start, NULL, (unsigned)nr + 1);
	for (unsigned i = 0; i < nr; i++)
		w[i] = (struct writer){
			.start = &start, .nr = i + 1, .bs = (size_t)bs, .count = count};
	return write_all(w, (unsigned)nr, &start) < 0;
}

/* --- reading ----------------------------------------------------------------------------- */

/* Times in ns; NAN: not seen. */
struct report {
	uint64_t writers; /* lines of them, in their order */
	double fastest_ns, slowest_ns, written_ns, synced_ns;
};

static int read_line(const struct fb_cell *cell, struct report *r, const struct fb_lines *l,
		     struct fb_error *err)
{
	char ns_text[24], rest;
	double *to = NULL;
	unsigned nr;
	uint64_t ns;

	if (sscanf(l->line, "writer %u %23s %c", &nr, ns_text, &rest) == 2) {
		if (nr != r->writers + 1 || nr > fb_cell_number(cell, "nr_threads"))
			return fb_error_set(err, FB_ERROR_INPUT,
					    "dd-write output, line %u: not the next writer", l->nr);
	} else if (sscanf(l->line, "written %23s %c", ns_text, &rest) == 1) {
		to = &r->written_ns;
	} else if (sscanf(l->line, "synced %23s %c", ns_text, &rest) == 1) {
		to = &r->synced_ns;
	} else {
		return fb_error_set(err, FB_ERROR_INPUT,
				    "dd-write output, line %u: not understood: '%.80s'", l->nr,
				    l->line);
	}
	if (fb_parse_u64(ns_text, 1, TIME_MAX_NS, &ns, err) < 0)
		return fb_error_wrap(err, "dd-write output, line %u", l->nr);
	if (to && !isnan(*to))
		return fb_error_set(err, FB_ERROR_INPUT,
				    "dd-write output, line %u: '%.80s' for the second time", l->nr,
				    l->line);
	if (to) {
		*to = (double)ns;
		return 0;
	}
	r->writers++;
	r->fastest_ns = fmin(r->fastest_ns, (double)ns);
	r->slowest_ns = fmax(r->slowest_ns, (double)ns);
	return 0;
}

static int put_all(const struct fb_cell *cell, const struct report *r, struct fb_values *values,
		   struct fb_error *err)
{
	double each_mib = (double)blocks(cell) * (double)fb_cell_size(cell, "bs") / MIB,
	       all_mib = each_mib * (double)r->writers;
	const struct {
		const char *name;
		double value;
	} put[] = {
		{"dd-write.throughput_MiB/s", all_mib / r->synced_ns * FB_NS_PER_S},
		{"dd-write.write_MiB/s", all_mib / r->written_ns * FB_NS_PER_S},
		{"dd-write.sync_ms", (r->synced_ns - r->written_ns) / FB_NS_PER_MS},
		{"dd-write.writer_fastest_MiB/s", each_mib / r->fastest_ns * FB_NS_PER_S},
		{"dd-write.writer_slowest_MiB/s", each_mib / r->slowest_ns * FB_NS_PER_S},
	};

	for (size_t i = 0; i < FB_ARRAY_SIZE(put); i++)
		if (fb_values_add(values, put[i].name, put[i].value, err) < 0)
			return -1;
	return 0;
}

static int parse(const struct fb_cell *cell, const char *out, size_t len, struct fb_values *ret,
		 struct fb_error *err)
{
	FB_CLEANUP(fb_values_release) struct fb_values values = {0};
	struct report r = {0, NAN, NAN, NAN, NAN};
	struct fb_lines l;
	int rc;

	/* A torn last line could hold the first digits of a number. */
	if (len && out[len - 1] != '\n')
		return fb_error_set(err, FB_ERROR_INPUT, "dd-write output: torn last line");
	if (fb_lines_start(&l, "dd-write", out, len, err) < 0)
		return -1;
	while ((rc = fb_lines_next(&l, err)) > 0)
		if (read_line(cell, &r, &l, err) < 0)
			return -1;
	if (rc < 0)
		return -1;
	if (r.writers != fb_cell_number(cell, "nr_threads") || isnan(r.written_ns + r.synced_ns))
		return fb_error_set(err, FB_ERROR_INPUT, "dd-write output ends early");
	if (r.synced_ns < r.written_ns || r.written_ns < r.slowest_ns)
		return fb_error_set(err, FB_ERROR_INPUT, "dd-write output: times out of order");
	if (put_all(cell, &r, &values, err) < 0)
		return -1;
	*ret = values;
	values = (struct fb_values){0};
	return 0;
}

const struct fb_testcase fb_testcase_dd_write = {
	.name = "dd-write",
	.summary = "N writers of zeros at once, and a sync: throttling and writeback",
	.version = 1,
	.params = params,
	.metrics = metrics,
	.tools = tools,
	.job = job,
	.parse = parse,
	.disk_b = disk_b,
	.guest = guest,
};
