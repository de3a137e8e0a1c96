/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sysbench fileio: a fixed number of events, so that the total time is a result too.
 *
 * The report of sysbench has had four dialects (0.4, 0.5, 1.0 alpha, 1.0). All give the same
 * metrics here:
 *   requests_per_sec is (reads + writes) / time, without fsyncs, as 0.4 prints it;
 *   "Mb" and "Kb" of 0.4 and 0.5 are MiB and KiB;
 *   an event is a read or a write in 0.4 and 0.5, and also an fsync in 1.0.
 */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/util/str.h"
#include "src/util/util.h"
#include "testcases/fs.h"
#include "testcases/guest.h"
#include "testcases/lines.h"
#include "testcases/list.h"

static const struct fb_param_def params[] = FB_PARAMS_ON_FS(
	FB_PARAM_TASKS("nr_threads", "t", "4096", "threads"),
	{"rwmode", "rndwr", "rndrd|rndrw|rndwr|seqrd|seqrewr|seqwr", "what the threads do"},
	{"iomode", "sync", "sync|async|mmap", "how the I/O is done"},
	{"size", "64m", "@size", "of all files together"},
	{"filenum", "4", "@count:f:1048576", "number of files"},
	{"bs", "16k", "@size", "block size"},
	{"fsync_freq", "100", "@number:0:1000000000", "fsync() after so many requests; 0: never"},
	{"fsync_all", "0", "0|1", "1: fsync() after each write"},
	{"fsync_end", "1", "0|1", "1: fsync() at the end"},
	{"fsync_mode", "fsync", "fsync|fdatasync", "which of the two"},
	{"open_flags", "none", "none|sync|dsync|direct", "given to open()"},
	{"layout", "write", "write|fallocate", "how the files are made"},
	{"events", "2000", "@number:0:1000000000000", "number of events; 0: see period"},
	{"period", "0s", "@duration", "run for a time instead of a number of events"});

static const char *const metrics[] = {
	"sysbench-fileio.fsync_operations/s", "sysbench-fileio.latency_95th_ms",
	"sysbench-fileio.latency_avg_ms",     "sysbench-fileio.latency_max_ms",
	"sysbench-fileio.latency_min_ms",     "sysbench-fileio.read_bytes_MiB/s",
	"sysbench-fileio.read_operations/s",  "sysbench-fileio.requests_per_sec",
	"sysbench-fileio.total_time_s",	      "sysbench-fileio.write_bytes_MiB/s",
	"sysbench-fileio.write_operations/s", NULL,
};

/* --- the job ----------------------------------------------------------------------------- */

static void tools(const struct fb_cell *cell, char ***ret)
{
	fb_strv_add(ret, "sysbench");
	fb_fs_tools(cell, ret);
}

/* A period replaces the default number of events, so that a plan need not say "events: 0". */
static uint64_t events(const struct fb_cell *cell)
{
	return fb_cell_seconds(cell, "period") ? 0 : fb_cell_number(cell, "events");
}

static int check(const struct fb_cell *cell, struct fb_error *err)
{
	uint64_t bs = fb_cell_size(cell, "bs"), size = fb_cell_size(cell, "size");

	if (fb_check_bs(cell, err) < 0)
		return -1;
	if (size / fb_cell_number(cell, "filenum") < bs)
		return fb_error_set(err, FB_ERROR_INPUT, "size: less than one block for each file");
	if (size % (fb_cell_number(cell, "filenum") * bs))
		return fb_error_set(err, FB_ERROR_INPUT,
				    "size: not a whole number of blocks for each file");
	if (!events(cell) && !fb_cell_seconds(cell, "period"))
		return fb_error_set(err, FB_ERROR_INPUT,
				    "events and period: one of them is needed");
	return 0;
}

static uint64_t disk_b(const struct fb_cell *cell)
{
	return fb_cell_size(cell, "size");
}

static json_t *command_line(const struct fb_cell *cell)
{
	json_t *argv = json_array();

	fb_argv_add(argv, "sysbench");
	fb_argv_add(argv, "fileio");
	fb_argv_add(argv, "--file-num=%s", fb_cell_get(cell, "filenum"));
	fb_argv_add(argv, "--file-total-size=%llu", (unsigned long long)fb_cell_size(cell, "size"));
	fb_argv_add(argv, "--file-block-size=%llu", (unsigned long long)fb_cell_size(cell, "bs"));
	return argv;
}

static json_t *job(const struct fb_cell *cell, struct fb_error *err)
{
	json_t *ret, *argv;
	uint64_t each;

	if (check(cell, err) < 0)
		return NULL;
	ret = fb_job_new(cell, err);
	if (!ret)
		return NULL;
	each = fb_cell_size(cell, "size") / fb_cell_number(cell, "filenum");
	if (!strcmp(fb_cell_get(cell, "layout"), "fallocate")) {
		argv = json_pack("[s, s]", "@sysbench-fileio", "fallocate");
		fb_argv_add(argv, "%s", fb_cell_get(cell, "filenum"));
		fb_argv_add(argv, "%llu", (unsigned long long)each);
	} else {
		argv = command_line(cell);
		fb_argv_add(argv, "prepare");
	}
	json_array_append_new(json_object_get(ret, "prepare"), argv);
	fb_job_settle(ret);

	argv = command_line(cell);
	fb_argv_add(argv, "--file-test-mode=%s", fb_cell_get(cell, "rwmode"));
	fb_argv_add(argv, "--file-io-mode=%s", fb_cell_get(cell, "iomode"));
	fb_argv_add(argv, "--file-fsync-freq=%s", fb_cell_get(cell, "fsync_freq"));
	fb_argv_add(argv, "--file-fsync-all=%s", fb_cell_number(cell, "fsync_all") ? "on" : "off");
	fb_argv_add(argv, "--file-fsync-end=%s", fb_cell_number(cell, "fsync_end") ? "on" : "off");
	fb_argv_add(argv, "--file-fsync-mode=%s", fb_cell_get(cell, "fsync_mode"));
	if (strcmp(fb_cell_get(cell, "open_flags"), "none"))
		fb_argv_add(argv, "--file-extra-flags=%s", fb_cell_get(cell, "open_flags"));
	fb_argv_add(argv, "--threads=%s", fb_cell_get(cell, "nr_threads"));
	fb_argv_add(argv, "--events=%llu", (unsigned long long)events(cell));
	/* 0 is "no limit"; left out it would be 10 s. */
	fb_argv_add(argv, "--time=%lld", (long long)fb_cell_seconds(cell, "period"));
	/* The same offsets in each run: what differs between two runs is then the kernel. */
	fb_argv_add(argv, "--rand-seed=1");
	fb_argv_add(argv, "run");
	json_object_set_new(ret, "measure", argv);
	return ret;
}

/* The files that "sysbench fileio run" expects, unwritten. */
static int make_files(const char *nr_text, const char *size_text)
{
	struct fb_error err = FB_ERROR_INIT;
	uint64_t nr, size_b;

	if (fb_parse_u64(nr_text, 1, 1u << 20, &nr, &err) < 0 ||
	    fb_parse_u64(size_text, 1, INT64_MAX, &size_b, &err) < 0) {
		errno = 0;
		fb_guest_fail("sysbench-fileio: %s", err.text);
		return 2;
	}
	for (uint64_t i = 0; i < nr; i++) {
		FB_CLEANUP(fb_closep) int fd = -1;
		char name[32];

		snprintf(name, sizeof(name), "test_file.%llu", (unsigned long long)i);
		fd = open(name, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
		if (fd < 0 || fallocate(fd, 0, 0, (off_t)size_b) < 0) {
			fb_guest_fail("sysbench-fileio: %s", name);
			return 1;
		}
	}
	return 0;
}

static int guest(int argc, char **argv)
{
	if (argc == 4 && !strcmp(argv[1], "fallocate"))
		return make_files(argv[2], argv[3]);
	return 2;
}

/* --- reading ----------------------------------------------------------------------------- */

/* NAN: not seen. */
struct report {
	double reads, writes, fsyncs;					  /* numbers, 0.4 and 0.5 */
	double read_mib, written_mib;					  /* likewise */
	double printed_rps;						  /* likewise */
	double reads_ps, writes_ps, fsyncs_ps, read_mibps, written_mibps; /* 1.0 */
	double time_s, events;
	double min_ms, avg_ms, max_ms, p95_ms;
	bool in_latency;
};

static int set_once(double *field, double value, const struct fb_lines *l, struct fb_error *err)
{
	if (!isnan(*field))
		return fb_error_set(err, FB_ERROR_INPUT,
				    "%s output, line %u: '%.80s' for the "
				    "second time",
				    l->name, l->nr, l->line);
	*field = value;
	return 0;
}

/* "12.5<unit>" at @text; the unit must be the rest. */
static int quantity(const char *text, const char *unit, double *field, const struct fb_lines *l,
		    struct fb_error *err)
{
	FB_CLEANUP(fb_freep) char *num = NULL;
	double v;

	text += strspn(text, " \t");
	num = fb_xstrndup(text, strcspn(text, " \tsmGKTMb("));
	if (fb_parse_double(num, &v, err) < 0)
		return fb_error_wrap(err, "%s output, line %u", l->name, l->nr);
	text += strlen(num);
	if (v < 0 || strncmp(text, unit, strlen(unit)) ||
	    text[strlen(unit) + strspn(text + strlen(unit), " \t")])
		return fb_error_set(err, FB_ERROR_INPUT,
				    "%s output, line %u: not understood: '%.80s'", l->name, l->nr,
				    l->line);
	return set_once(field, v, l, err);
}

/* "39.062Mb" in MiB. */
static int mib(const char *text, double *ret)
{
	static const struct {
		const char *unit;
		double mib;
	} units[] = {{"b", 1.0 / (1 << 20)},
		     {"Kb", 1.0 / 1024},
		     {"Mb", 1},
		     {"Gb", 1024},
		     {"Tb", 1 << 20}};
	char unit[4];
	double v;

	if (sscanf(text, "%lf%3[bKMGT]", &v, unit) != 2 || !isfinite(v) || v < 0)
		return -1;
	for (size_t i = 0; i < FB_ARRAY_SIZE(units); i++)
		if (!strcmp(unit, units[i].unit)) {
			*ret = v * units[i].mib;
			return 0;
		}
	return -1;
}

/* "Operations performed:  0 Read, 10000 Write, 200 Other = 10200 Total", 0.5: "0 reads, ..." */
static int operations(struct report *r, const struct fb_lines *l, struct fb_error *err)
{
	unsigned long long rd, wr, other, total;

	if (sscanf(l->line, "Operations performed: %llu Read, %llu Write, %llu Other = %llu Total",
		   &rd, &wr, &other, &total) != 4 &&
	    sscanf(l->line,
		   "Operations performed: %llu reads, %llu writes, %llu Other = %llu Total", &rd,
		   &wr, &other, &total) != 4)
		return fb_error_set(err, FB_ERROR_INPUT,
				    "%s output, line %u: not understood: '%.80s'", l->name, l->nr,
				    l->line);
	if (rd > 1000000000000 || wr > 1000000000000 || other > 1000000000000 ||
	    rd + wr + other != total)
		return fb_error_set(err, FB_ERROR_INPUT, "%s output, line %u: the sum is wrong",
				    l->name, l->nr);
	return set_once(&r->reads, (double)rd, l, err) < 0 ||
			       set_once(&r->writes, (double)wr, l, err) < 0 ||
			       set_once(&r->fsyncs, (double)other, l, err) < 0
		       ? -1
		       : 0;
}

/* "Read 0b  Written 39.062Mb  Total transferred 39.062Mb  (451.01Kb/sec)" */
static int transferred(struct report *r, const struct fb_lines *l, struct fb_error *err)
{
	char rd[32], wr[32];
	double rd_mib, wr_mib;

	if (sscanf(l->line, "Read %31s Written %31s Total", rd, wr) != 2 || mib(rd, &rd_mib) < 0 ||
	    mib(wr, &wr_mib) < 0)
		return fb_error_set(err, FB_ERROR_INPUT,
				    "%s output, line %u: not understood: '%.80s'", l->name, l->nr,
				    l->line);
	return set_once(&r->read_mib, rd_mib, l, err) < 0 ||
			       set_once(&r->written_mib, wr_mib, l, err) < 0
		       ? -1
		       : 0;
}

static int latency_line(struct report *r, const char *key, const char *value,
			const struct fb_lines *l, struct fb_error *err)
{
	/* 1.0 says "(ms)" above, the others have the unit at each value. */
	const char *unit = strstr(value, "ms") ? "ms" : "";

	if (!strcmp(key, "min"))
		return quantity(value, unit, &r->min_ms, l, err);
	if (!strcmp(key, "avg"))
		return quantity(value, unit, &r->avg_ms, l, err);
	if (!strcmp(key, "max"))
		return quantity(value, unit, &r->max_ms, l, err);
	if (strstr(key, "95") && strstr(key, "percentile"))
		return quantity(value, unit, &r->p95_ms, l, err);
	if (!strcmp(key, "sum"))
		return 0;
	r->in_latency = false;
	return 0;
}

static int read_line(struct report *r, const struct fb_lines *l, struct fb_values *values,
		     struct fb_error *err)
{
	const char *colon = strchr(l->line, ':');
	FB_CLEANUP(fb_freep) char *key = NULL;

	if (fb_str_has_prefix(l->line, "FATAL:") || fb_str_has_prefix(l->line, "ALERT:"))
		return fb_error_set(err, FB_ERROR_INPUT, "sysbench failed: %.300s", l->line);
	if (fb_str_has_prefix(l->line, "WARNING:")) {
		fb_values_note(values, "sysbench said: %s", l->line);
		return 0;
	}
	if (fb_str_has_prefix(l->line, "sysbench ") && !values->tool) {
		const char *version = l->line + strlen("sysbench ");

		/* "sysbench 0.4.12:  multi-threaded...", "sysbench 1.0.20 (using..." */
		values->tool = fb_xasprintf("sysbench %.*s", (int)strcspn(version, ": ("), version);
		return 0;
	}
	if (fb_str_has_prefix(l->line, "Operations performed:"))
		return operations(r, l, err);
	if (fb_str_has_prefix(l->line, "Read ") && strstr(l->line, "Written"))
		return transferred(r, l, err);
	if (fb_str_has_suffix(l->line, "Requests/sec executed"))
		return quantity(l->line, " Requests/sec executed", &r->printed_rps, l, err);
	if (!colon)
		return 0;
	key = fb_xstrndup(l->line, (size_t)(colon - l->line));
	if (!strcmp(key, "reads/s"))
		return quantity(colon + 1, "", &r->reads_ps, l, err);
	if (!strcmp(key, "writes/s"))
		return quantity(colon + 1, "", &r->writes_ps, l, err);
	if (!strcmp(key, "fsyncs/s"))
		return quantity(colon + 1, "", &r->fsyncs_ps, l, err);
	if (!strcmp(key, "read, MiB/s"))
		return quantity(colon + 1, "", &r->read_mibps, l, err);
	if (!strcmp(key, "written, MiB/s"))
		return quantity(colon + 1, "", &r->written_mibps, l, err);
	if (!strcmp(key, "total time"))
		return quantity(colon + 1, "s", &r->time_s, l, err);
	if (!strcmp(key, "total number of events"))
		return quantity(colon + 1, "", &r->events, l, err);
	if (!strcmp(key, "Latency (ms)") || !strcmp(key, "response time") ||
	    !strcmp(key, "per-request statistics")) {
		r->in_latency = true;
		return 0;
	}
	return r->in_latency ? latency_line(r, key, colon + 1, l, err) : 0;
}

/* 0.4 and 0.5 give numbers and a time where 1.0 gives rates. */
static int rates(struct report *r, struct fb_error *err)
{
	if (isnan(r->reads))
		return 0;
	if (!isnan(r->reads_ps))
		return fb_error_set(err, FB_ERROR_INPUT, "sysbench output mixes two dialects");
	r->reads_ps = r->reads / r->time_s;
	r->writes_ps = r->writes / r->time_s;
	r->fsyncs_ps = r->fsyncs / r->time_s;
	r->read_mibps = r->read_mib / r->time_s;
	r->written_mibps = r->written_mib / r->time_s;
	/* Printed with two digits; a larger difference means that a line was misread. */
	if (!(fabs(r->printed_rps - r->reads_ps - r->writes_ps) <= 0.01 + 0.01 * r->printed_rps))
		return fb_error_set(err, FB_ERROR_INPUT,
				    "sysbench prints %.2f requests/s, its counts say %.2f",
				    r->printed_rps, r->reads_ps + r->writes_ps);
	return 0;
}

static int check_report(const struct fb_cell *cell, const struct report *r,
			const struct fb_values *values, struct fb_error *err)
{
	const char *mode = fb_cell_get(cell, "rwmode");
	bool both = !strcmp(mode, "rndrw");

	if (!values->tool)
		return fb_error_set(err, FB_ERROR_INPUT, "no sysbench version in its output");
	if (isnan(r->reads_ps + r->writes_ps + r->fsyncs_ps + r->read_mibps + r->written_mibps +
		  r->time_s + r->events + r->min_ms + r->avg_ms + r->max_ms + r->p95_ms))
		return fb_error_set(err, FB_ERROR_INPUT, "sysbench output ends early");
	if (r->events < (double)events(cell))
		return fb_error_set(err, FB_ERROR_INPUT, "sysbench did %.0f of %llu events",
				    r->events, (unsigned long long)events(cell));
	if (((both || strstr(mode, "rd")) && !(r->reads_ps > 0)) ||
	    ((both || strstr(mode, "wr")) && !(r->writes_ps > 0)))
		return fb_error_set(err, FB_ERROR_INPUT, "sysbench did not do '%s'", mode);
	return 0;
}

static int put(struct fb_values *values, const char *what, double value, struct fb_error *err)
{
	/* What the mode does not do is no metric: nothing can be compared with a rate of 0. */
	if (value == 0 && fb_str_has_suffix(what, "/s"))
		return 0;
	return fb_values_addf(values, value, err, "sysbench-fileio.%s", what);
}

static int parse(const struct fb_cell *cell, const char *out, size_t len, struct fb_values *ret,
		 struct fb_error *err)
{
	FB_CLEANUP(fb_values_release) struct fb_values values = {0};
	struct report r = {NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN,
			   NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, false};
	struct fb_lines l;
	int rc;

	if (fb_lines_start(&l, "sysbench", out, len, err) < 0)
		return -1;
	while ((rc = fb_lines_next(&l, err)) > 0)
		if (read_line(&r, &l, &values, err) < 0)
			return -1;
	if (rc < 0)
		return -1;
	if (!(r.time_s > 0))
		return fb_error_set(err, FB_ERROR_INPUT, "no total time in the output of sysbench");
	if (rates(&r, err) < 0 || check_report(cell, &r, &values, err) < 0)
		return -1;
	if (put(&values, "read_operations/s", r.reads_ps, err) < 0 ||
	    put(&values, "write_operations/s", r.writes_ps, err) < 0 ||
	    put(&values, "fsync_operations/s", r.fsyncs_ps, err) < 0 ||
	    put(&values, "requests_per_sec", r.reads_ps + r.writes_ps, err) < 0 ||
	    put(&values, "read_bytes_MiB/s", r.read_mibps, err) < 0 ||
	    put(&values, "write_bytes_MiB/s", r.written_mibps, err) < 0 ||
	    put(&values, "latency_min_ms", r.min_ms, err) < 0 ||
	    put(&values, "latency_avg_ms", r.avg_ms, err) < 0 ||
	    put(&values, "latency_max_ms", r.max_ms, err) < 0 ||
	    put(&values, "latency_95th_ms", r.p95_ms, err) < 0)
		return -1;
	if (events(cell) && put(&values, "total_time_s", r.time_s, err) < 0)
		return -1;
	*ret = values;
	values = (struct fb_values){0};
	return 0;
}

const struct fb_testcase fb_testcase_sysbench_fileio = {
	.name = "sysbench-fileio",
	.summary = "sysbench fileio: threads that read and write a set of files, with fsyncs",
	.version = 1,
	.params = params,
	.metrics = metrics,
	.tools = tools,
	.job = job,
	.parse = parse,
	.disk_b = disk_b,
	.guest = guest,
};
