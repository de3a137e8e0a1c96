/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fio: the fio-basic matrix of lkp-tests, with a fixed amount of work by default.
 *
 * fio's JSON output has had several dialects, and is not always JSON: text lines before,
 * inside and after it, NaN, keys that occur twice. It is cleaned first (clean()), with a
 * note of what was found, and read strictly after that.
 *
 * fio counts the run time of a job in whole milliseconds: read_iops and write_iops of a run of
 * one second are exact to 0.1 %, the latencies to a nanosecond.
 */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "src/util/json.h"
#include "src/util/str.h"
#include "src/util/util.h"
#include "testcases/fs.h"
#include "testcases/list.h"

#define OUTPUT_MAX (8u << 20) /* json+ of 64 jobs without group reporting: 1.2 MB */
#define DEPTH_MAX  16	      /* real output: 6 */
#define KEYS_MAX   (1u << 18) /* json+ of 64 jobs: 90,000 */
#define AGAIN	   " (again)"

static const struct fb_param_def params[] = FB_PARAMS_ON_FS(
	FB_PARAM_TASKS("nr_task", "t", "4096", "jobs at once"),
	{"rw", "randwrite", "read|write|randread|randwrite|rw|randrw", "what the jobs do"},
	{"bs", "4k", "@size", "block size"},
	{"size", "16m", "@size", "size of each job's file; also its amount of I/O"},
	{"ioengine", "psync", "psync|sync|vsync|pvsync|pvsync2|libaio|io_uring|mmap",
	 "how the I/O is submitted"},
	{"iodepth", "1", "@number:1:4096", "requests in flight a job (libaio, io_uring)"},
	{"direct", "0", "0|1", "1: O_DIRECT"},
	{"fsync", "0", "@number:0:1000000000", "fsync() after so many writes; 0: never"},
	{"fdatasync", "0", "@number:0:1000000000", "fdatasync() after so many writes; 0: never"},
	{"end_fsync", "0", "0|1", "1: fsync() before a job ends"},
	{"rwmixread", "50%", "@percent", "share of reads of rw and randrw"},
	{"fallocate", "native", "none|native|posix|keep|truncate", "how the files are laid out"},
	{"number_ios", "0", "@number:0:1000000000000", "I/Os of each job; 0: size / bs"},
	{"runtime", "0s", "@duration", "run for a time instead of a fixed amount; 0: do not"});

static const char *const metrics[] = {
	"fio.read_bw_MBps",	  "fio.read_clat_*%_ns",
	"fio.read_clat_mean_ns",  "fio.read_clat_stddev",
	"fio.read_iops",	  "fio.read_slat_mean_ns",
	"fio.sync_lat_99%_ns",	  "fio.sync_lat_mean_ns",
	"fio.workload",		  "fio.write_bw_MBps",
	"fio.write_clat_*%_ns",	  "fio.write_clat_mean_ns",
	"fio.write_clat_stddev",  "fio.write_iops",
	"fio.write_slat_mean_ns", NULL,
};

/* The percentiles that are kept, of those that fio computes by default. */
static const char *const percentiles[] = {"50", "90", "95", "99", "99.9"};

/* --- the job ---------------------------------------------------------------------------- */

static void tools(const struct fb_cell *cell, char ***ret)
{
	fb_strv_add(ret, "fio");
	fb_fs_tools(cell, ret);
}

static bool is_async(const char *ioengine)
{
	return !strcmp(ioengine, "libaio") || !strcmp(ioengine, "io_uring");
}

static int check(const struct fb_cell *cell, struct fb_error *err)
{
	const char *engine = fb_cell_get(cell, "ioengine");
	uint64_t bs = fb_cell_size(cell, "bs"), size = fb_cell_size(cell, "size");

	if (fb_check_bs(cell, err) < 0)
		return -1;
	if (size < bs)
		return fb_error_set(err, FB_ERROR_INPUT, "size: smaller than bs");
	if (size > (uint64_t)1 << 46)
		return fb_error_set(err, FB_ERROR_INPUT, "size: larger than 64t");
	if (fb_cell_seconds(cell, "runtime") && fb_cell_number(cell, "number_ios"))
		return fb_error_set(err, FB_ERROR_INPUT,
				    "number_ios and runtime: only one of them");
	/* fio would run, warn, and measure a depth of 1 under this cell's name. */
	if (fb_cell_number(cell, "iodepth") > 1 && !is_async(engine))
		return fb_error_set(err, FB_ERROR_INPUT,
				    "iodepth: ioengine '%s' has no more than one request in "
				    "flight; libaio and io_uring have",
				    engine);
	return 0;
}

static uint64_t disk_b(const struct fb_cell *cell)
{
	return fb_cell_size(cell, "size") * fb_cell_number(cell, "nr_task");
}

/* What lays the files out and what measures differ only in the last options. */
static json_t *command_line(const struct fb_cell *cell)
{
	uint64_t ios = fb_cell_number(cell, "number_ios");
	json_t *argv = json_array();

	fb_argv_add(argv, "fio");
	fb_argv_add(argv, "--name=task");
	fb_argv_add(argv, "--directory=.");
	fb_argv_add(argv, "--rw=%s", fb_cell_get(cell, "rw"));
	/* Sizes in bytes: fio's suffixes depend on its kb_base. */
	fb_argv_add(argv, "--bs=%llu", (unsigned long long)fb_cell_size(cell, "bs"));
	fb_argv_add(argv, "--size=%llu", (unsigned long long)fb_cell_size(cell, "size"));
	fb_argv_add(argv, "--numjobs=%s", fb_cell_get(cell, "nr_task"));
	fb_argv_add(argv, "--group_reporting");
	fb_argv_add(argv, "--ioengine=%s", fb_cell_get(cell, "ioengine"));
	fb_argv_add(argv, "--iodepth=%s", fb_cell_get(cell, "iodepth"));
	fb_argv_add(argv, "--direct=%s", fb_cell_get(cell, "direct"));
	if (fb_cell_number(cell, "fsync"))
		fb_argv_add(argv, "--fsync=%s", fb_cell_get(cell, "fsync"));
	if (fb_cell_number(cell, "fdatasync"))
		fb_argv_add(argv, "--fdatasync=%s", fb_cell_get(cell, "fdatasync"));
	if (fb_cell_number(cell, "end_fsync"))
		fb_argv_add(argv, "--end_fsync=1");
	if (fb_str_has_suffix(fb_cell_get(cell, "rw"), "rw"))
		fb_argv_add(argv, "--rwmixread=%d", atoi(fb_cell_get(cell, "rwmixread")));
	fb_argv_add(argv, "--fallocate=%s", fb_cell_get(cell, "fallocate"));
	if (ios) {
		/* number_ios alone only stops earlier; the amount of I/O has to allow it. */
		fb_argv_add(argv, "--number_ios=%llu", (unsigned long long)ios);
		fb_argv_add(argv, "--io_size=%llu",
			    (unsigned long long)(ios * fb_cell_size(cell, "bs")));
	}
	if (fb_cell_seconds(cell, "runtime")) {
		fb_argv_add(argv, "--time_based");
		fb_argv_add(argv, "--runtime=%llds", (long long)fb_cell_seconds(cell, "runtime"));
	}
	/* The same offsets in each run: what differs between two runs is then the kernel. */
	fb_argv_add(argv, "--randrepeat=1");
	fb_argv_add(argv, "--allrandrepeat=1");
	/* No calibration of the TSC, which under emulation depends on the host. */
	fb_argv_add(argv, "--clocksource=clock_gettime");
	/* No thread that wakes up four times a second to read /sys/block. */
	fb_argv_add(argv, "--disk_util=0");
	return argv;
}

static json_t *job(const struct fb_cell *cell, struct fb_error *err)
{
	json_t *ret, *layout, *argv;

	if (check(cell, err) < 0)
		return NULL;
	ret = fb_job_new(cell, err);
	if (!ret)
		return NULL;
	layout = command_line(cell);
	fb_argv_add(layout, "--create_only=1");
	json_array_append_new(json_object_get(ret, "prepare"), layout);
	fb_job_settle(ret);
	argv = command_line(cell);
	fb_argv_add(argv, "--output-format=json");
	fb_argv_add(argv, "--eta=never");
	json_object_set_new(ret, "measure", argv);
	return ret;
}

/* --- cleaning ---------------------------------------------------------------------------- */

/* A key within its object, in a table with open addressing. */
struct key {
	uint32_t object; /* 0: free slot */
	uint32_t len;
	const char *name;
};

struct cleaner {
	const char *p, *end;
	struct fb_str json;
	struct fb_values *values; /* gets the notes */
	struct key *keys;
	size_t nr_keys, cap_keys;   /* cap: a power of two */
	uint32_t object[DEPTH_MAX]; /* number of the object at each depth; 0: an array */
	uint32_t nr_objects;
	int depth;
	bool expect_key;
};

static void cleaner_release(struct cleaner *c)
{
	fb_str_release(&c->json);
	free(c->keys);
}

static size_t slot(const struct cleaner *c, const struct key *k)
{
	uint64_t h = 14695981039346656037u ^ k->object; /* FNV-1a */

	for (uint32_t i = 0; i < k->len; i++)
		h = (h ^ (unsigned char)k->name[i]) * 1099511628211u;
	h ^= h >> 32;
	for (size_t i = h & (c->cap_keys - 1);; i = (i + 1) & (c->cap_keys - 1)) {
		const struct key *there = &c->keys[i];

		if (!there->object || (there->object == k->object && there->len == k->len &&
				       !memcmp(there->name, k->name, k->len)))
			return i;
	}
}

/* Return: 1 when the object had the key already, 0 when it is new, -1 with too many keys. */
static int seen(struct cleaner *c, const struct key *k, struct fb_error *err)
{
	size_t i;

	if (c->nr_keys >= KEYS_MAX)
		return fb_error_set(err, FB_ERROR_INPUT, "fio output has more than %u keys",
				    KEYS_MAX);
	if (c->nr_keys * 2 >= c->cap_keys) {
		FB_CLEANUP(fb_freep) struct key *old = c->keys;
		size_t nr = c->cap_keys;

		c->cap_keys = nr ? nr * 2 : 1024;
		c->keys = fb_xcalloc(c->cap_keys, sizeof(*c->keys));
		for (size_t j = 0; j < nr; j++)
			if (old[j].object)
				c->keys[slot(c, &old[j])] = old[j];
	}
	i = slot(c, k);
	if (c->keys[i].object)
		return 1;
	c->keys[i] = *k;
	c->nr_keys++;
	return 0;
}

/* True for a line of fio that says that the run went wrong. */
static bool tells_failure(const char *line)
{
	for (const char *p = line; (p = strstr(p, "err=")); p += 4) {
		const char *n = p + 4 + strspn(p + 4, " ");

		if (strtoul(n, NULL, 10))
			return true;
	}
	return fb_str_has_prefix(line, "fio: ") && strcasestr(line, "error");
}

/* A line that is not part of the JSON: a failure, or kept as a note. */
static int foreign_line(struct cleaner *c, struct fb_error *err)
{
	const char *nl = memchr(c->p, '\n', (size_t)(c->end - c->p));
	size_t len = (size_t)((nl ? nl : c->end) - c->p);
	FB_CLEANUP(fb_freep) char *line = fb_xstrndup(c->p, len < 400 ? len : 400);

	c->p += len;
	if (tells_failure(line))
		return fb_error_set(err, FB_ERROR_INPUT, "fio failed: %.300s", line);
	if (strspn(line, " \t\r") != strlen(line))
		fb_values_note(c->values, "fio said: %s", line);
	return 0;
}

/* c->p is at the opening quote. */
static int clean_string(struct cleaner *c, struct fb_error *err)
{
	const char *start = c->p++;
	struct key k;

	while (c->p < c->end && *c->p != '"' && *c->p != '\n')
		c->p += *c->p == '\\' && c->p + 1 < c->end ? 2 : 1;
	if (c->p >= c->end || *c->p != '"')
		return fb_error_set(err, FB_ERROR_INPUT, "fio output ends within a string");
	k = (struct key){c->depth ? c->object[c->depth - 1] : 0, (uint32_t)(c->p - start - 1),
			 start + 1};
	fb_str_addn(&c->json, start, (size_t)(c->p - start));
	if (c->expect_key && k.object) {
		int again = seen(c, &k, err);

		if (again < 0)
			return -1;
		/*
		 * Harmless in "job options" and among percentiles that are not read; a key
		 * that is read must not have been there twice, see member().
		 */
		if (again)
			fb_str_add(&c->json, AGAIN);
	}
	fb_str_addc(&c->json, '"');
	c->p++;
	c->expect_key = false;
	return 0;
}

/* A number or a literal; what C prints for NaN and infinity becomes null. */
static void clean_word(struct cleaner *c)
{
	const char *start = c->p;
	size_t len, sign;

	while (c->p < c->end && (isalnum((unsigned char)*c->p) || strchr("+-.", *c->p)) && *c->p)
		c->p++;
	len = (size_t)(c->p - start);
	sign = len && (*start == '-' || *start == '+');
	if (len - sign == 3 &&
	    (!strncasecmp(start + sign, "nan", 3) || !strncasecmp(start + sign, "inf", 3)))
		fb_str_add(&c->json, "null");
	else
		fb_str_addn(&c->json, start, len);
}

/*
 * clean() - The one JSON object of @c's text as JSON that a parser accepts, in c->json.
 *
 * Only the lexical level is handled: whether it is JSON is for the parser to say.
 */
static int clean(struct cleaner *c, struct fb_error *err)
{
	bool line_start = true, done = false;

	while (c->p < c->end && !(c->depth == 0 && *c->p == '{'))
		if (foreign_line(c, err) < 0)
			return -1;
		else if (c->p < c->end)
			c->p++;
	if (c->p == c->end)
		return fb_error_set(err, FB_ERROR_INPUT, "no JSON in the output of fio");
	while (c->p < c->end && !done) {
		char ch = *c->p;

		/* fio indents what is within the object: a letter in column 1 is something else. */
		if (line_start && isalpha((unsigned char)ch)) {
			if (foreign_line(c, err) < 0)
				return -1;
			continue;
		}
		line_start = ch == '\n';
		switch (ch) {
		case '"':
			if (clean_string(c, err) < 0)
				return -1;
			continue;
		case '{':
		case '[':
			if (c->depth == DEPTH_MAX)
				return fb_error_set(err, FB_ERROR_INPUT,
						    "fio output is nested deeper than %d",
						    DEPTH_MAX);
			c->object[c->depth++] = ch == '{' ? ++c->nr_objects : 0;
			c->expect_key = ch == '{';
			break;
		case '}':
		case ']':
			done = --c->depth == 0;
			c->expect_key = false;
			break;
		case ',':
			c->expect_key = c->object[c->depth - 1] != 0;
			break;
		case '\0':
			return fb_error_set(err, FB_ERROR_INPUT, "a NUL in the output of fio");
		default:
			if (isalnum((unsigned char)ch) || ch == '-' || ch == '+') {
				clean_word(c);
				continue;
			}
		}
		fb_str_addc(&c->json, ch);
		c->p++;
	}
	while (c->p < c->end) {
		if (*c->p == '{')
			return fb_error_set(err, FB_ERROR_INPUT,
					    "more than one result in the output of fio");
		if (foreign_line(c, err) < 0)
			return -1;
		if (c->p < c->end)
			c->p++;
	}
	return 0;
}

/* --- reading ----------------------------------------------------------------------------- */

/* A member that must not have been there twice; NULL without an error when it is absent. */
static int member(const json_t *obj, const char *key, json_t **ret, struct fb_error *err)
{
	FB_CLEANUP(fb_freep) char *again = fb_xasprintf("%s" AGAIN, key);

	if (json_object_get(obj, again))
		return fb_error_set(err, FB_ERROR_INPUT, "fio gives '%s' twice", key);
	*ret = json_object_get(obj, key);
	return 0;
}

/* A number; NAN when it is absent, or was NaN. */
static int number(const json_t *obj, const char *key, double *ret, struct fb_error *err)
{
	json_t *v;

	if (member(obj, key, &v, err) < 0)
		return -1;
	if (v && !json_is_number(v) && !json_is_null(v))
		return fb_error_set(err, FB_ERROR_INPUT, "'%s' of fio is not a number", key);
	*ret = json_is_number(v) ? json_number_value(v) : NAN;
	if (*ret < 0)
		return fb_error_set(err, FB_ERROR_INPUT, "'%s' of fio is negative", key);
	return 0;
}

/* A number without which the output is of no use. */
static int need(const json_t *obj, const char *key, double *ret, struct fb_error *err)
{
	if (number(obj, key, ret, err) < 0)
		return -1;
	return isnan(*ret) ? fb_error_set(err, FB_ERROR_INPUT, "fio gives no number for '%s'", key)
			   : 0;
}

/* One latency object, "clat_ns" of fio 3 or "clat" (microseconds) of fio 2. */
struct lat {
	double n;	/* samples; NAN: not told */
	double mean_ns; /* NAN: none */
	double stddev_ns;
	double percentile_ns[FB_ARRAY_SIZE(percentiles)]; /* NAN: none */
};

static int read_percentiles(const json_t *lat, double scale, struct lat *ret, struct fb_error *err)
{
	json_t *obj, *v;
	const char *key;
	double p[FB_ARRAY_SIZE(percentiles)];

	for (size_t i = 0; i < FB_ARRAY_SIZE(percentiles); i++)
		ret->percentile_ns[i] = NAN;
	if (member(lat, "percentile", &obj, err) < 0)
		return -1;
	for (size_t i = 0; i < FB_ARRAY_SIZE(percentiles); i++)
		p[i] = strtod(percentiles[i], NULL);
	json_object_foreach(obj, key, v)
	{
		bool again = fb_str_has_suffix(key, AGAIN);
		double at = strtod(key, NULL);

		/* Keys are "99.000000" or, in some versions, "99.00". */
		for (size_t i = 0; i < FB_ARRAY_SIZE(percentiles); i++) {
			if (fabs(at - p[i]) > 1e-9)
				continue;
			if (again || !isnan(ret->percentile_ns[i]))
				return fb_error_set(err, FB_ERROR_INPUT,
						    "fio gives the percentile %s twice",
						    percentiles[i]);
			if (json_is_number(v) && json_number_value(v) >= 0)
				ret->percentile_ns[i] = json_number_value(v) * scale;
		}
	}
	return 0;
}

static int read_lat(const json_t *obj, const char *name, struct lat *ret, struct fb_error *err)
{
	FB_CLEANUP(fb_freep) char *ns = fb_xasprintf("%s_ns", name);
	double scale = 1;
	json_t *lat;

	if (member(obj, ns, &lat, err) < 0)
		return -1;
	if (!lat) {
		/* fio 2 counts in microseconds. */
		scale = 1000;
		if (member(obj, name, &lat, err) < 0)
			return -1;
	}
	if (number(lat, "N", &ret->n, err) < 0 || number(lat, "mean", &ret->mean_ns, err) < 0 ||
	    number(lat, "stddev", &ret->stddev_ns, err) < 0)
		return -1;
	ret->mean_ns *= scale;
	ret->stddev_ns *= scale;
	return read_percentiles(lat, scale, ret, err);
}

/* One direction, over all jobs. */
struct sum {
	unsigned jobs; /* that did any I/O in it */
	double iops, bw_mib, ios;
	double clat_n, clat_ns, slat_ns; /* samples, and sums over them */
	struct lat last;		 /* of the last job that did any */
};

static int add_direction(const json_t *job, const char *dir, struct sum *sum, struct fb_error *err)
{
	struct lat clat, slat;
	double iops, bw, ios;
	json_t *obj;

	if (member(job, dir, &obj, err) < 0)
		return -1;
	if (!json_is_object(obj))
		return fb_error_set(err, FB_ERROR_INPUT, "a job of fio has no '%s'", dir);
	/* iops and bw, never iops_mean and bw_mean: those are of one job in the group. */
	if (need(obj, "iops", &iops, err) < 0 || need(obj, "bw", &bw, err) < 0)
		return fb_error_wrap(err, "%s", dir);
	if (number(obj, "total_ios", &ios, err) < 0 || read_lat(obj, "clat", &clat, err) < 0 ||
	    read_lat(obj, "slat", &slat, err) < 0)
		return fb_error_wrap(err, "%s", dir);
	if (iops <= 0)
		return 0;
	/* bw is in KiB/s in every version; bw_bytes, since fio 3, has more digits. */
	if (json_object_get(obj, "bw_bytes")) {
		if (need(obj, "bw_bytes", &bw, err) < 0)
			return -1;
		bw /= 1024;
	}
	sum->jobs++;
	sum->iops += iops;
	sum->bw_mib += bw / 1024;
	sum->ios += ios; /* NAN once one job does not tell */
	if (isnan(clat.n))
		clat.n = ios;
	if (isnan(clat.n))
		clat.n = 1; /* the jobs do the same amount */
	sum->clat_n += clat.n;
	sum->clat_ns += clat.n * clat.mean_ns;
	sum->slat_ns += clat.n * slat.mean_ns;
	sum->last = clat;
	return 0;
}

static int put(struct fb_values *values, const char *dir, const char *what, double value,
	       struct fb_error *err)
{
	/* What fio did not tell is left out; what it must tell was checked. */
	return isnan(value) ? 0 : fb_values_addf(values, value, err, "fio.%s_%s", dir, what);
}

static int put_direction(struct fb_values *values, const char *dir, const struct sum *sum,
			 struct fb_error *err)
{
	if (!sum->jobs)
		return 0;
	if (put(values, dir, "iops", sum->iops, err) < 0 ||
	    put(values, dir, "bw_MBps", sum->bw_mib, err) < 0 ||
	    put(values, dir, "clat_mean_ns", sum->clat_ns / sum->clat_n, err) < 0)
		return -1;
	if (sum->slat_ns > 0 &&
	    put(values, dir, "slat_mean_ns", sum->slat_ns / sum->clat_n, err) < 0)
		return -1;
	if (sum->jobs > 1) {
		fb_values_note(values,
			       "percentiles of %u separate jobs cannot be combined: left out",
			       sum->jobs);
		return 0;
	}
	if (put(values, dir, "clat_stddev", sum->last.stddev_ns, err) < 0)
		return -1;
	for (size_t i = 0; i < FB_ARRAY_SIZE(percentiles); i++) {
		FB_CLEANUP(fb_freep) char *what = fb_xasprintf("clat_%s%%_ns", percentiles[i]);

		if (put(values, dir, what, sum->last.percentile_ns[i], err) < 0)
			return -1;
	}
	return 0;
}

/* fsync and fdatasync: told since fio 3.6. */
static int put_sync(struct fb_values *values, const json_t *job, struct fb_error *err)
{
	struct lat lat;
	json_t *sync;
	size_t p99 = 3;

	if (member(job, "sync", &sync, err) < 0 || read_lat(sync, "lat", &lat, err) < 0)
		return -1;
	if (!(lat.n > 0))
		return 0;
	return put(values, "sync", "lat_mean_ns", lat.mean_ns, err) < 0 ||
			       put(values, "sync", "lat_99%_ns", lat.percentile_ns[p99], err) < 0
		       ? -1
		       : 0;
}

static int read_version(const json_t *root, struct fb_values *values, struct fb_error *err)
{
	const char *version = json_string_value(json_object_get(root, "fio version"));

	/* "fio-3.33", "fio-2.1.3", "fio-3.36-60-gbb4a" */
	if (!version || strncmp(version, "fio-", 4) || !isdigit((unsigned char)version[4]) ||
	    strlen(version) > 64)
		return fb_error_set(err, FB_ERROR_INPUT, "no fio version in the output of fio");
	values->tool = fb_xasprintf("fio %s", version + 4);
	return 0;
}

/* Less work than asked for must not pass as a run: its rate is that of another experiment. */
static int check_work(const struct fb_cell *cell, double ios, struct fb_error *err)
{
	uint64_t each = fb_cell_number(cell, "number_ios");
	double want;

	if (fb_cell_seconds(cell, "runtime") || isnan(ios))
		return 0;
	if (!each)
		each = fb_cell_size(cell, "size") / fb_cell_size(cell, "bs");
	want = (double)each * (double)fb_cell_number(cell, "nr_task");
	if (ios < want)
		return fb_error_set(err, FB_ERROR_INPUT, "fio did %.0f of %.0f I/Os", ios, want);
	return 0;
}

static int read_jobs(const struct fb_cell *cell, const json_t *jobs, struct fb_values *values,
		     struct fb_error *err)
{
	const char *rw = fb_cell_get(cell, "rw");
	size_t nr = json_array_size(jobs);
	struct sum r = {0}, w = {0};
	json_t *job, *group0 = NULL;
	size_t i;

	if (nr != 1 && nr != fb_cell_number(cell, "nr_task"))
		return fb_error_set(err, FB_ERROR_INPUT, "fio tells of %zu jobs, not of %s", nr,
				    fb_cell_get(cell, "nr_task"));
	json_array_foreach(jobs, i, job)
	{
		double error;
		json_t *group;

		if (need(job, "error", &error, err) < 0)
			return -1;
		if (error != 0)
			return fb_error_set(err, FB_ERROR_INPUT,
					    "a job of fio failed: error %.0f (%s)", error,
					    error < 4096 ? strerror((int)error) : "?");
		if (member(job, "groupid", &group, err) < 0)
			return -1;
		/* Groups may run one after another: their rates do not add up. */
		if (i == 0)
			group0 = group;
		else if (!json_equal(group, group0))
			return fb_error_set(err, FB_ERROR_INPUT,
					    "the jobs of fio are of several groups");
		if (add_direction(job, "read", &r, err) < 0 ||
		    add_direction(job, "write", &w, err) < 0)
			return -1;
	}
	if (!r.jobs && !w.jobs)
		return fb_error_set(err, FB_ERROR_INPUT, "fio did no I/O");
	if ((!r.jobs && strstr(rw, "read")) || (!w.jobs && strstr(rw, "write")) ||
	    ((!r.jobs || !w.jobs) && fb_str_has_suffix(rw, "rw")))
		return fb_error_set(err, FB_ERROR_INPUT, "fio did not do '%s'", rw);
	if (check_work(cell, r.ios + w.ios, err) < 0 ||
	    put_direction(values, "read", &r, err) < 0 ||
	    put_direction(values, "write", &w, err) < 0)
		return -1;
	if (!isnan(r.ios + w.ios) && fb_values_add(values, "fio.workload", r.ios + w.ios, err) < 0)
		return -1;
	return nr == 1 ? put_sync(values, json_array_get(jobs, 0), err) : 0;
}

static void json_freep(json_t **v)
{
	json_decref(*v);
}

static int parse(const struct fb_cell *cell, const char *out, size_t len, struct fb_values *ret,
		 struct fb_error *err)
{
	FB_CLEANUP(fb_values_release) struct fb_values values = {0};
	FB_CLEANUP(cleaner_release)
	struct cleaner c = {.p = out, .end = out + len, .values = &values};
	FB_CLEANUP(json_freep) json_t *root = NULL;
	json_t *jobs;

	if (len > OUTPUT_MAX)
		return fb_error_set(err, FB_ERROR_INPUT, "fio output is longer than %u bytes",
				    OUTPUT_MAX);
	c.json.max = 2 * OUTPUT_MAX; /* each key may get AGAIN, each nan becomes null */
	if (clean(&c, err) < 0)
		return -1;
	root = fb_json_parse(fb_str_cstr(&c.json), c.json.len, "fio output",
			     JSON_DECODE_INT_AS_REAL,
			     err); /* fio 2: "min" : 18446744073709551615 */
	if (!root || read_version(root, &values, err) < 0 || member(root, "jobs", &jobs, err) < 0)
		return -1;
	if (!json_array_size(jobs))
		return fb_error_set(err, FB_ERROR_INPUT, "no jobs in the output of fio");
	if (read_jobs(cell, jobs, &values, err) < 0)
		return -1;
	*ret = values;
	values = (struct fb_values){0};
	return 0;
}

const struct fb_testcase fb_testcase_fio = {
	.name = "fio",
	.summary = "fio: reads and writes of any pattern, size and sync frequency",
	.version = 1,
	.params = params,
	.metrics = metrics,
	.tools = tools,
	.job = job,
	.parse = parse,
	.disk_b = disk_b,
};
