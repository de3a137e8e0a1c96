/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Protects: cells have one name each, and a testcase's output gives the right numbers or none.
 *
 * The recorded outputs are t/data/testcases/NAME/WHAT.ok and WHAT.bad. Beside each stands
 * WHAT.want: "cell K=V" lines that make the cell, then what must come out of it: "tool",
 * "value METRIC NUMBER", "absent METRIC", "note TEXT" for .ok, "error TEXT" for .bad.
 */
#include "t/test.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "src/util/file.h"
#include "src/util/json.h"
#include "src/util/nearest.h"
#include "src/util/util.h"
#include "testcases/command.h"
#include "testcases/testcase.h"

#ifdef __has_feature /* clang */
#define SANITIZED __has_feature(address_sanitizer)
#elif defined(__SANITIZE_ADDRESS__) /* gcc */
#define SANITIZED 1
#else
#define SANITIZED 0
#endif

extern const struct fb_testcase fb_testcase_template;

/* A cell from "K=V" strings. */
static int make_cell(const struct fb_testcase *t, char *const *pairs, struct fb_cell *ret,
		     int *ret_bad, struct fb_error *err)
{
	size_t nr = pairs ? fb_strv_len(pairs) : 0;
	FB_CLEANUP(fb_strvp) char **copies = NULL;
	FB_CLEANUP(fb_freep) struct fb_param *params = fb_xcalloc(nr + 1, sizeof(*params));

	for (size_t i = 0; i < nr; i++)
		fb_strv_add(&copies, pairs[i]);
	for (size_t i = 0; i < nr; i++) {
		char *eq = strchr(copies[i], '=');

		*eq = '\0';
		params[i] = (struct fb_param){copies[i], eq + 1};
	}
	return fb_cell_new(t, params, nr, ret, ret_bad, err);
}

static struct fb_cell cell_of(const char *testcase, const char *text)
{
	FB_CLEANUP(fb_strvp) char **pairs = NULL;
	FB_CLEANUP(fb_freep) char *copy = fb_xstrdup(text);
	struct fb_error err = FB_ERROR_INIT;
	struct fb_cell cell = {0};
	char *save = NULL;
	int bad;

	for (char *p = strtok_r(copy, ";", &save); p; p = strtok_r(NULL, ";", &save))
		fb_strv_add(&pairs, p);
	if (make_cell(fb_testcase_find(testcase), pairs, &cell, &bad, &err) < 0)
		fail_msg("cell '%s': %s", text, err.text);
	return cell;
}

/* --- recorded outputs -------------------------------------------------------------------- */

struct sample {
	const struct fb_testcase *testcase;
	char *path; /* without the suffix */
	bool ok;
};

static struct fb_str read_whole(const char *path)
{
	struct fb_error err = FB_ERROR_INIT;
	struct fb_str s = FB_STR_INIT;

	if (fb_file_read(path, 8 << 20, &s, &err) < 0)
		fail_msg("%s", err.text);
	return s;
}

static bool has_note(const struct fb_values *values, const char *text)
{
	for (char **n = values->notes; n && *n; n++)
		if (strstr(*n, text))
			return true;
	return false;
}

static void check_line(const struct sample *s, const char *line, const struct fb_values *values,
		       const struct fb_error *err)
{
	char metric[256];
	double want, got;

	if (sscanf(line, "value %255s %lf", metric, &want) == 2) {
		got = fb_values_get(values, metric);
		if (!(fabs(got - want) <= 1e-9 * fabs(want)))
			fail_msg("%s: %s is %.17g, not %.17g", s->path, metric, got, want);
	} else if (sscanf(line, "absent %255s", metric) == 1) {
		if (!isnan(fb_values_get(values, metric)))
			fail_msg("%s: %s is there", s->path, metric);
	} else if (fb_str_has_prefix(line, "tool ")) {
		assert_non_null(values->tool);
		assert_string_equal(values->tool, line + 5);
	} else if (fb_str_has_prefix(line, "note ")) {
		if (!has_note(values, line + 5))
			fail_msg("%s: no note with '%s'", s->path, line + 5);
	} else if (fb_str_has_prefix(line, "error ")) {
		if (!strstr(err->text, line + 6))
			fail_msg("%s: '%s' is not in '%s'", s->path, line + 6, err->text);
	} else if (*line && *line != '#' && !fb_str_has_prefix(line, "cell ")) {
		fail_msg("%s: not understood: '%s'", s->path, line);
	}
}

static void check_values(const struct sample *s, const struct fb_cell *cell,
			 const struct fb_values *values)
{
	assert_true(values->nr > 0);
	for (size_t i = 0; i < values->nr; i++) {
		assert_true(isfinite(values->v[i].value));
		if (!fb_cell_yields(cell, values->v[i].metric))
			fail_msg("%s: %s is not among the testcase's metrics", s->path,
				 values->v[i].metric);
	}
}

static void a_recorded_output_is_read_as_wanted(void **state)
{
	const struct sample *s = *state;
	FB_CLEANUP(fb_freep) char *out_path = fb_xasprintf("%s.%s", s->path, s->ok ? "ok" : "bad");
	FB_CLEANUP(fb_freep) char *want_path = fb_xasprintf("%s.want", s->path);
	FB_CLEANUP(fb_str_release) struct fb_str out = read_whole(out_path);
	FB_CLEANUP(fb_str_release) struct fb_str want = read_whole(want_path);
	FB_CLEANUP(fb_strvp) char **lines = NULL, **pairs = NULL;
	FB_CLEANUP(fb_values_release) struct fb_values values = {0};
	FB_CLEANUP(fb_cell_release) struct fb_cell cell = {0};
	struct fb_error err = FB_ERROR_INIT;
	int bad, rc, wants = 0;
	char *save = NULL;

	for (char *l = strtok_r(want.buf, "\n", &save); l; l = strtok_r(NULL, "\n", &save)) {
		fb_strv_add(&lines, l);
		if (fb_str_has_prefix(l, "cell "))
			fb_strv_add(&pairs, l + 5);
		else
			wants += *l != '#';
	}
	assert_true(wants > 0);
	assert_ok(make_cell(s->testcase, pairs, &cell, &bad, &err), &err);
	rc = s->testcase->parse(&cell, fb_str_cstr(&out), out.len, &values, &err);
	if (s->ok && rc < 0)
		fail_msg("%s: %s", out_path, err.text);
	if (!s->ok) {
		assert_int_equal(rc, -1);
		assert_int_equal(err.code, FB_ERROR_INPUT);
		assert_int_equal(values.nr, 0);
	} else {
		check_values(s, &cell, &values);
	}
	for (char **l = lines; *l; l++)
		check_line(s, *l, &values, &err);
}

static int by_path(const void *a, const void *b)
{
	return strcmp(((const struct sample *)a)->path, ((const struct sample *)b)->path);
}

static struct sample *samples;
static size_t nr_samples;

static void find_samples(void)
{
	size_t cap = 0;

	for (const struct fb_testcase *const *t = fb_testcases(); *t; t++) {
		FB_CLEANUP(fb_freep)
		char *dir = fb_xasprintf("%s/t/data/testcases/%s", test_srcdir(), (*t)->name);
		DIR *d = opendir(dir);
		struct dirent *e;

		while (d && (e = readdir(d))) {
			bool ok = fb_str_has_suffix(e->d_name, ".ok");

			if (!ok && !fb_str_has_suffix(e->d_name, ".bad"))
				continue;
			FB_GROW(samples, nr_samples, cap);
			samples[nr_samples++] = (struct sample){
				*t,
				fb_xasprintf("%s/%.*s", dir,
					     (int)(strrchr(e->d_name, '.') - e->d_name), e->d_name),
				ok};
		}
		if (d)
			closedir(d);
	}
	qsort(samples, nr_samples, sizeof(*samples), by_path);
}

static void every_testcase_has_good_and_bad_samples(void **state)
{
	for (const struct fb_testcase *const *t = fb_testcases(); *t; t++) {
		unsigned ok = 0, bad = 0;

		for (size_t i = 0; i < nr_samples; i++) {
			ok += samples[i].testcase == *t && samples[i].ok;
			bad += samples[i].testcase == *t && !samples[i].ok;
		}
		if (!ok || !bad)
			fail_msg("%s has %u good and %u bad samples", (*t)->name, ok, bad);
	}
}

/* --- the tables -------------------------------------------------------------------------- */

static void testcases_are_sorted_and_complete(void **state)
{
	const char *last = "";

	for (const struct fb_testcase *const *t = fb_testcases(); *t; t++) {
		assert_true(strcmp(last, (*t)->name) < 0);
		last = (*t)->name;
		for (const char *p = (*t)->name; *p; p++)
			assert_true(islower(*p) || isdigit(*p) || *p == '-');
		assert_ptr_equal(fb_testcase_find((*t)->name), *t);
		assert_true((*t)->version > 0);
		assert_non_null((*t)->summary);
		assert_non_null((*t)->tools);
		assert_non_null((*t)->job);
		assert_non_null((*t)->parse);
	}
	assert_null(fb_testcase_find("nonesuch"));
}

static void a_testcase_is_a_file_of_its_name(void **state)
{
	for (const struct fb_testcase *const *t = fb_testcases(); *t; t++) {
		FB_CLEANUP(fb_freep)
		char *path = fb_xasprintf("%s/testcases/%s.c", test_srcdir(), (*t)->name);

		assert_int_equal(access(path, R_OK), 0);
	}
}

static void metrics_are_sorted_and_have_units(void **state)
{
	const struct fb_metric *m;
	size_t nr;

	m = fb_metrics(&nr);
	for (size_t i = 0; i < nr; i++) {
		if (i && strcmp(m[i - 1].name, m[i].name) >= 0)
			fail_msg("%s stands before %s", m[i - 1].name, m[i].name);
		assert_true(*m[i].unit != '\0');
		/* What a bisection may follow must have a good side. */
		assert_false(m[i].headline && m[i].better == FB_BETTER_NEITHER);
		assert_false(m[i].headline && strchr(m[i].name, '*'));
	}
}

static void metrics_of_a_testcase_are_in_the_table(void **state)
{
	for (const struct fb_testcase *const *t = fb_testcases(); *t; t++)
		for (const char *const *m = (*t)->metrics; *m; m++) {
			const char *star = strchr(*m, '*');
			size_t head = star ? (size_t)(star - *m) : strlen(*m);
			/* A member of the family. */
			FB_CLEANUP(fb_freep)
			char *name = fb_xasprintf("%.*s%s%s", (int)head, *m, star ? "99" : "",
						  star ? star + 1 : "");

			if (!strcmp(*m, "*"))
				continue; /* the user's own names */
			if (!fb_metric_find(name))
				fail_msg("%s of %s is not in the table", name, (*t)->name);
		}
}

static void every_testcase_has_a_headline(void **state)
{
	const struct fb_metric *m;
	size_t nr;

	m = fb_metrics(&nr);
	for (const struct fb_testcase *const *t = fb_testcases(); *t; t++) {
		bool found = !strcmp((*t)->name, "command"); /* its metrics are the user's */

		for (size_t i = 0; i < nr; i++)
			for (const char *const *name = (*t)->metrics; *name; name++)
				found = found || (m[i].headline && !strcmp(*name, m[i].name));
		if (!found)
			fail_msg("%s has none", (*t)->name);
	}
}

struct metric_row {
	const char *name, *found, *unit;
	enum fb_better better;
};

static const struct metric_row metric_row[] = {
	{"fio.write_iops", "fio.write_iops", "IO/s", FB_BETTER_HIGHER},
	{"fio.write_bw_MBps", "fio.write_bw_MBps", "MiB/s", FB_BETTER_HIGHER},
	{"fio.write_clat_99%_ns", "fio.write_clat_99%_ns", "ns", FB_BETTER_LOWER},
	{"sync-latency.create_512_ms", "sync-latency.create_*_ms", "ms", FB_BETTER_LOWER},
	{"sync-latency.create_total_ms", "sync-latency.create_total_ms", "ms", FB_BETTER_LOWER},
	{"iostat.wkB/s", "iostat.wkB/s", "KiB/s", FB_BETTER_NEITHER},
	{"iostat.await", "iostat.await", "ms", FB_BETTER_LOWER},
	{"iostat.util", "iostat.util", "%", FB_BETTER_NEITHER},
	{"iostat.aqu-sz", "iostat.aqu-sz", "requests", FB_BETTER_NEITHER},
	{"dbench.latency_Flush_avg_ms", "dbench.latency_*_avg_ms", "ms", FB_BETTER_LOWER},
	{"dbench.throughput_MB/s", "dbench.throughput_MB/s", "MB/s", FB_BETTER_HIGHER},
	{"fsmark.files_per_sec", "fsmark.files_per_sec", "files/s", FB_BETTER_HIGHER},
	{"fsmark.app_overhead", "fsmark.app_overhead", "us", FB_BETTER_LOWER},
	{"dd-write.throughput_MiB/s", "dd-write.throughput_MiB/s", "MiB/s", FB_BETTER_HIGHER},
	{"blk.flush_ios", "blk.flush_ios", "requests", FB_BETTER_NEITHER},
	{"blk.something_new", "blk.*", "count", FB_BETTER_NEITHER},
	{"time.system_time", "time.system_time", "s", FB_BETTER_LOWER},
	{"vmstat.system.cs", "vmstat.system.cs", "switches/s", FB_BETTER_NEITHER},
	{"fio.write_iop", NULL},
	{"sync-latency.create__ms", NULL},
	{"blk.", NULL},
	{"", NULL},
};

static void a_metric_is_found_by_name_or_family(void **state)
{
	for (size_t i = 0; i < FB_ARRAY_SIZE(metric_row); i++) {
		const struct metric_row *r = &metric_row[i];
		const struct fb_metric *m = fb_metric_find(r->name);

		if (!r->found) {
			if (m)
				fail_msg("%s is found as %s", r->name, m->name);
			continue;
		}
		if (!m)
			fail_msg("%s is not found", r->name);
		assert_string_equal(m->name, r->found);
		assert_string_equal(m->unit, r->unit);
		assert_int_equal(m->better, r->better);
	}
}

/* --- cells ------------------------------------------------------------------------------- */

struct key_row {
	const char *testcase, *params, *key, *label;
	const char *text; /* NULL: as the key, with "%25" as "%" */
};

static const struct key_row key_row[] = {
	{"fio", "fs=btrfs;bs=4096;size=1024k;nr_task=8t",
	 "testcase=fio,bs=4k,direct=0,end_fsync=0,fallocate=native,fdatasync=0,fs=btrfs,fsync=0,"
	 "iodepth=1,ioengine=psync,mount_options=,nr_task=8,number_ios=0,runs=1,runtime=0s,"
	 "rw=randwrite,rwmixread=50%25,size=1m",
	 "fio fs=btrfs nr_task=8 size=1m"},
	/* The order in which they were given, and the timeout, do not matter. */
	{"fio", "timeout=3h;nr_task=8;size=1m;fs=btrfs",
	 "testcase=fio,bs=4k,direct=0,end_fsync=0,fallocate=native,fdatasync=0,fs=btrfs,fsync=0,"
	 "iodepth=1,ioengine=psync,mount_options=,nr_task=8,number_ios=0,runs=1,runtime=0s,"
	 "rw=randwrite,rwmixread=50%25,size=1m",
	 "fio fs=btrfs nr_task=8 size=1m timeout=3h"},
	{"sync-latency", "nr_files=64..256, 1000;mount_options=noatime,nobarrier",
	 "testcase=sync-latency,fs=ext4,method=sync,mount_options=noatime%2Cnobarrier,"
	 "nr_files=64+128+256+1000,runs=1,size=16k",
	 "sync-latency fs=ext4 mount_options=noatime,nobarrier nr_files=64+128+256+1000",
	 "testcase=sync-latency,fs=ext4,method=sync,mount_options=\"noatime,nobarrier\","
	 "nr_files=64+128+256+1000,runs=1,size=16k"},
	{"sync-latency", "",
	 "testcase=sync-latency,fs=ext4,method=sync,mount_options=,"
	 "nr_files=512+1024,runs=1,size=16k",
	 "sync-latency fs=ext4"},
	{"command", "command=./b.sh --n=3 \xc3\xa9",
	 "testcase=command,better=higher,command=./b.sh%20--n%3D3%20%C3%A9,"
	 "exit=must-be-0,fs=none,mount_options=,runs=1",
	 "command command=./b.sh --n=3 \xc3\xa9 fs=none",
	 "testcase=command,better=higher,command=\"./b.sh --n=3 \xc3\xa9\","
	 "exit=must-be-0,fs=none,mount_options=,runs=1"},
	{"command", "command=sh -c \"a\\n\"",
	 "testcase=command,better=higher,command=sh%20-c%20\"a\\n\","
	 "exit=must-be-0,fs=none,mount_options=,runs=1",
	 "command command=sh -c \"a\\n\" fs=none",
	 "testcase=command,better=higher,command=\"sh -c \\\"a\\\\n\\\"\","
	 "exit=must-be-0,fs=none,mount_options=,runs=1"},
	{"dd-write", "fs=btrfs;nr_threads=10dd;dirty_bytes=1M",
	 "testcase=dd-write,bs=4k,dirty_background_bytes=,dirty_bytes=1m,fs=btrfs,mount_options=,"
	 "nr_threads=10,runs=1,size=64m",
	 "dd-write fs=btrfs nr_threads=10 dirty_bytes=1m"},
	/* A plan of lkp-tests: of one CPU, but never none. */
	{"fsmark", "nr_threads=10%;filesize=9B;test_size=16MB;iterations=4",
	 "testcase=fsmark,filesize=9,fs=ext4,iterations=4,mount_options=,nr_directories=,"
	 "nr_files_per_directory=,nr_threads=1,runs=1,sync_method=fsyncBeforeClose,test_size=16m",
	 "fsmark fs=ext4 filesize=9 iterations=4"},
	{"fsmark", "nr_threads=1600%",
	 "testcase=fsmark,filesize=16k,fs=ext4,iterations=1,mount_options=,nr_directories=,"
	 "nr_files_per_directory=,nr_threads=16,runs=1,sync_method=fsyncBeforeClose,test_size=16m",
	 "fsmark fs=ext4 nr_threads=16"},
	{"fsmark", "nr_threads=64t;iterations=2x;nr_directories=16d;nr_files_per_directory=256fpd",
	 "testcase=fsmark,filesize=16k,fs=ext4,iterations=2,mount_options=,nr_directories=16,"
	 "nr_files_per_directory=256,nr_threads=64,runs=1,sync_method=fsyncBeforeClose,"
	 "test_size=16m",
	 "fsmark fs=ext4 nr_threads=64 iterations=2 nr_directories=16 nr_files_per_directory=256"},
	{"sync-latency", "nr_files=512..262144",
	 "testcase=sync-latency,fs=ext4,method=sync,mount_options=,"
	 "nr_files=512+1024+2048+4096+8192+16384+32768+65536+131072+262144,runs=1,size=16k",
	 "sync-latency fs=ext4 "
	 "nr_files=512+1024+2048+4096+8192+16384+32768+65536+131072+262144"},
	{"sysbench-fileio", "filenum=1024f;size=64G;period=600s;nr_threads=4t",
	 "testcase=sysbench-fileio,bs=16k,events=2000,filenum=1024,fs=ext4,fsync_all=0,"
	 "fsync_end=1,fsync_freq=100,fsync_mode=fsync,iomode=sync,layout=write,mount_options=,"
	 "nr_threads=4,open_flags=none,period=10m,runs=1,rwmode=rndwr,size=64g",
	 "sysbench-fileio fs=ext4 nr_threads=4 size=64g filenum=1024 period=10m"},
};

static void a_cell_has_one_key_however_it_is_written(void **state)
{
	for (size_t i = 0; i < FB_ARRAY_SIZE(key_row); i++) {
		FB_CLEANUP(fb_cell_release)
		struct fb_cell cell = cell_of(key_row[i].testcase, key_row[i].params);
		FB_CLEANUP(fb_freep) char *key = fb_cell_key(&cell);
		FB_CLEANUP(fb_freep) char *label = fb_cell_label(&cell);

		assert_string_equal(key, key_row[i].key);
		assert_string_equal(label, key_row[i].label);
	}
}

static void a_cell_is_spelled_for_people_too(void **state)
{
	for (size_t i = 0; i < FB_ARRAY_SIZE(key_row); i++) {
		FB_CLEANUP(fb_cell_release)
		struct fb_cell cell = cell_of(key_row[i].testcase, key_row[i].params);
		FB_CLEANUP(fb_freep) char *text = fb_cell_text(&cell);
		FB_CLEANUP(fb_freep) char *want = fb_xstrdup(key_row[i].key);
		char *escaped = strstr(want, "%25");

		if (escaped)
			memmove(escaped + 1, escaped + 3, strlen(escaped + 3) + 1);
		assert_string_equal(text, key_row[i].text ? key_row[i].text : want);
	}
}

struct bad_cell_row {
	const char *testcase, *params, *error;
	int bad;
};

static const struct bad_cell_row bad_cell_row[] = {
	/* T14: an unknown parameter is an error, never one default job. */
	{"fio", "rw=read;nr_tasks=4",
	 "testcase 'fio' has no parameter 'nr_tasks'; did you mean 'nr_task'?", 1},
	{"fio", "colour=red", "testcase 'fio' has no parameter 'colour', only fs, ", 0},
	{"fio", "rw=randwirte",
	 "rw: 'randwirte' is not one of read|write|randread|randwrite|rw|"
	 "randrw; did you mean 'randwrite'?",
	 0},
	{"fio", "fs=ntfs", "fs: 'ntfs' is not one of btrfs|", 0},
	{"fio", "bs=4q", "bs: '4q' is not a size", 0},
	{"fio", "bs=", "bs: needs a value", 0},
	{"fio", "bs=100", "bs: not from 512 to 1g", -1},
	{"fio", "bs=1m;size=4k", "size: smaller than bs", -1},
	{"fio", "size=128t", "size: larger than 64t", -1},
	{"fio", "nr_task=0", "nr_task: '0' is not a number from 1 to 4096", 0},
	{"fio", "nr_task=4x", "nr_task: '4x' is not a number", 0},
	{"fio", "fsync=-1", "fsync: '-1' is not a number", 0},
	{"fio", "rwmixread=101%", "rwmixread: '101%' is not a percentage", 0},
	{"fio", "runtime=5x", "runtime: '5x' is not a duration", 0},
	{"fio", "runtime=5s;number_ios=7", "number_ios and runtime: only one of them", -1},
	{"fio", "rw=read;rw=write", "'rw' is given twice", 1},
	/* T1's harmless note would hide that the cell is not what its name says. */
	{"fio", "iodepth=32", "iodepth: ioengine 'psync' has no more than one", -1},
	{"fio", "runs=0", "runs: '0' is not a number from 1 to 1000", 0},
	{"fio", "timeout=0s", "timeout: must be longer than nothing", -1},
	{"fio", "mount_options=a\nb", "mount_options: control bytes", 0},
	{"fio", "mount_options=\xff", "mount_options: not UTF-8", 0},
	{"sysbench-fileio", "events=0", "events and period: one of them is needed", -1},
	{"sysbench-fileio", "size=1m;filenum=128f", "size: less than one block", -1},
	{"sysbench-fileio", "size=1000000", "size: not a whole number of blocks", -1},
	{"sync-latency", "nr_files=none", "nr_files: 'none' is not a number", 0},
	{"sync-latency", "nr_files=,", "nr_files: ',' is not a list", 0},
	{"sync-latency", "nr_files=1024,512", "nr_files: '1024,512' is not a rising list", 0},
	{"sync-latency", "nr_files=1..", "nr_files: '' is not a number", 0},
	{"sync-latency", "nr_files=99999999", "nr_files: '99999999' is not a number from 1", 0},
	{"sync-latency", "size=2m", "size: not from 1 to 1m", -1},
	{"sync-latency", "nr_files=512..1048576,7", "nr_files: '512..1048576,7' is not a rising",
	 0},
	{"dd-write", "nr_threads=10t", "nr_threads: '10t' is not a number", 0},
	{"dd-write", "nr_threads=1001dd", "nr_threads: '1001' is not a number from 1 to 1000", 0},
	{"dd-write", "nr_threads=dd", "nr_threads: 'dd' is not a number", 0},
	{"dd-write", "bs=100", "bs: not from 512 to 1g", -1},
	{"dd-write", "bs=128m;size=1g", "bs: more than 64m", -1},
	{"dd-write", "nr_threads=100;bs=1m", "size: less than one block for each writer", -1},
	{"dd-write", "dirty_bytes=4k", "dirty_bytes: less than 8k", -1},
	{"dd-write", "dirty_background_bytes=1", "dirty_background_bytes: less than 8k", -1},
	{"fio", "nr_task=0%", "nr_task: '0' is not a number from 1 to 100000", 0},
	{"fio", "nr_task=%", "nr_task: '%' is not a number", 0},
	{"dd-write", "nr_threads=100%", "nr_threads: '100%' is not a number", 0},
	{"fsmark", "iterations=0x", "iterations: '0' is not a number from 1 to 1000", 0},
	{"fsmark", "nr_threads=65", "nr_threads: '65' is not a number from 1 to 64", 0},
	{"fsmark", "filesize=2g", "filesize: more than 1g", -1},
	{"fsmark", "filesize=1m;test_size=512k", "test_size: less than one file", -1},
	{"fsmark", "filesize=1;test_size=4g", "test_size: more than 1000000 files", -1},
	{"fsmark", "nr_directories=16d", "nr_directories: needs nr_files_per_directory", -1},
	{"fsmark", "sync_method=fsync", "sync_method: 'fsync' is not one of NoSync|", 0},
	{"dbench", "runtime=0s", "runtime: at least 1s", -1},
	{"command", "better=lower", "testcase 'command' needs 'command'", -1},
	{"command", "command=make | tee log", "command: no shell runs the command, so '|'", -1},
	{"command", "command=@fio settle", "command: a program's name cannot begin with '@'", -1},
};

static void a_wrong_parameter_is_refused_with_its_place(void **state)
{
	for (size_t i = 0; i < FB_ARRAY_SIZE(bad_cell_row); i++) {
		const struct bad_cell_row *r = &bad_cell_row[i];
		FB_CLEANUP(fb_freep) char *copy = fb_xstrdup(r->params);
		FB_CLEANUP(fb_strvp) char **pairs = NULL;
		struct fb_error err = FB_ERROR_INIT;
		struct fb_cell cell;
		char *save = NULL;
		int bad = 77;

		for (char *p = strtok_r(copy, ";", &save); p; p = strtok_r(NULL, ";", &save))
			fb_strv_add(&pairs, p);
		if (make_cell(fb_testcase_find(r->testcase), pairs, &cell, &bad, &err) == 0)
			fail_msg("'%s' is accepted", r->params);
		assert_error(&err, FB_ERROR_INPUT, r->error);
		if (bad != r->bad)
			fail_msg("'%s': place %d, not %d", r->params, bad, r->bad);
	}
}

static void a_cell_matches_values_in_any_spelling(void **state)
{
	FB_CLEANUP(fb_cell_release) struct fb_cell cell = cell_of("fio", "fs=xfs;bs=65536");
	struct fb_error err = FB_ERROR_INIT;

	assert_int_equal(fb_cell_match(&cell, "testcase", "fio", &err), 1);
	assert_int_equal(fb_cell_match(&cell, "testcase", "command", &err), 0);
	assert_int_equal(fb_cell_match(&cell, "bs", "64K", &err), 1);
	assert_int_equal(fb_cell_match(&cell, "bs", "65536", &err), 1);
	assert_int_equal(fb_cell_match(&cell, "bs", "4k", &err), 0);
	assert_int_equal(fb_cell_match(&cell, "fs", "ext4", &err), 0);
	assert_int_equal(fb_cell_match(&cell, "fs", "ext5", &err), -1);
	assert_error(&err, FB_ERROR_INPUT, "fs: 'ext5' is not one of");
	assert_int_equal(fb_cell_match(&cell, "files", "7", &err), -1);
	assert_error(&err, FB_ERROR_INPUT, "no parameter 'files'");
}

static void the_direction_of_an_unknown_metric_is_the_cells(void **state)
{
	FB_CLEANUP(fb_cell_release)
	struct fb_cell lower = cell_of("command", "command=x;better=lower");
	FB_CLEANUP(fb_cell_release) struct fb_cell higher = cell_of("command", "command=x");
	FB_CLEANUP(fb_cell_release)
	struct fb_cell unknown = cell_of("command", "command=x;better=neither");
	FB_CLEANUP(fb_cell_release) struct fb_cell fio = cell_of("fio", "");

	assert_int_equal(fb_cell_better(&unknown, "mine"), FB_BETTER_NEITHER);
	assert_int_equal(fb_cell_better(&lower, "mine"), FB_BETTER_LOWER);
	assert_int_equal(fb_cell_better(&higher, "mine"), FB_BETTER_HIGHER);
	assert_int_equal(fb_cell_better(&lower, "fio.write_iops"), FB_BETTER_HIGHER);
	assert_int_equal(fb_cell_better(&fio, "fio.write_iops"), FB_BETTER_HIGHER);
	assert_int_equal(fb_cell_better(&fio, "nonesuch"), FB_BETTER_NEITHER);
	assert_true(fb_cell_yields(&lower, "mine"));
	assert_true(fb_cell_yields(&fio, "fio.write_clat_99%_ns"));
	assert_false(fb_cell_yields(&fio, "fio.write_clat_42%_ns"));
	assert_false(fb_cell_yields(&fio, "mine"));
}

/* --- jobs -------------------------------------------------------------------------------- */

/* "a b c" for ["a", "b", "c"]; owned. */
static char *argv_text(const json_t *argv)
{
	struct fb_str s = FB_STR_INIT;
	json_t *a;
	size_t i;

	json_array_foreach((json_t *)argv, i, a)
		fb_str_addf(&s, "%s%s", i ? " " : "", json_string_value(a));
	return fb_str_take(&s);
}

struct job_row {
	const char *testcase, *params;
	const char *mkfs;	/* NULL: no file system */
	const char *prepare[3]; /* parts that each step has */
	const char *measure;	/* a part, as all of these */
	const char *not_measure;
	const char *tools;
};

static const struct job_row job_row[] = {
	{"fio",
	 "fs=btrfs;fsync=8;size=16m",
	 "mkfs.btrfs -f -q -K",
	 {"--create_only=1", "@settle"},
	 "--rw=randwrite --bs=4096 --size=16777216 --numjobs=1 --group_reporting "
	 "--ioengine=psync --iodepth=1 --direct=0 --fsync=8 --fallocate=native",
	 "time_based",
	 "fio mkfs.btrfs"},
	{"fio",
	 "number_ios=7;bs=64k",
	 "mkfs.ext4 -F -q -E "
	 "lazy_itable_init=0,lazy_journal_init=0,nodiscard",
	 {"--create_only=1", "@settle"},
	 "--number_ios=7 --io_size=458752",
	 "--fsync",
	 "fio mkfs.ext4"},
	{"fio",
	 "runtime=2m;fs=xfs;rw=rw;rwmixread=70",
	 "mkfs.xfs -f -q -K",
	 {"--create_only=1", "@settle"},
	 "--rwmixread=70 --fallocate=native --time_based "
	 "--runtime=120s",
	 "number_ios",
	 "fio mkfs.xfs"},
	{"sysbench-fileio",
	 "fs=btrfs;nr_threads=4",
	 "mkfs.btrfs -f -q -K",
	 {"sysbench fileio --file-num=4 --file-total-size=67108864 --file-block-size=16384 "
	  "prepare",
	  "@settle"},
	 "--threads=4 --events=2000 --time=0 --rand-seed=1 run",
	 "extra-flags",
	 "sysbench mkfs.btrfs"},
	{"sysbench-fileio",
	 "layout=fallocate;period=5m;open_flags=direct;filenum=2f",
	 "mkfs.ext4",
	 {"@sysbench-fileio fallocate 2 33554432", "@settle"},
	 "--file-extra-flags=direct --threads=1 --events=0 --time=300",
	 "prepare",
	 "sysbench mkfs.ext4"},
	{"sync-latency",
	 "fs=f2fs;nr_files=8..32;method=syncfs",
	 "mkfs.f2fs -f -q -t 0",
	 {"@settle"},
	 "@sync-latency run syncfs 8+16+32 16384",
	 "fio",
	 "mkfs.f2fs"},
	{"command",
	 "command=sh -c 'a  b' \"c d\" e\\ f",
	 NULL,
	 {NULL},
	 "sh -c a  b c d e f",
	 "'",
	 "sh"},
	{"command", "command=x;fs=ext2", "mkfs.ext2 -F", {NULL}, "x", "sh", "x mkfs.ext2"},
	{"dd-write",
	 "fs=btrfs;nr_threads=100dd;size=100m",
	 "mkfs.btrfs",
	 {"@settle"},
	 "@dd-write run 100 4096 256",
	 "dirty",
	 "mkfs.btrfs"},
	{"fsmark",
	 "nr_threads=2t;filesize=16k;test_size=64m;iterations=2x;nr_files_per_directory=256fpd;"
	 "sync_method=PostFsync",
	 "mkfs.ext4",
	 {"@settle"},
	 "fs_mark -d ./1 -d ./2 -D 4 -N 256 -n 1024 -L 2 -S 5 -s 16384 -l /tmp/",
	 "./3",
	 "fs_mark mkfs.ext4"},
	/* A file takes a block at least. */
	{"fsmark",
	 "filesize=100;test_size=4m",
	 "mkfs.ext4",
	 {"@settle"},
	 "fs_mark -d ./1 -n 1024 -L 1 -S 1 -s 100 -l",
	 "-D",
	 "fs_mark mkfs.ext4"},
	{"dbench",
	 "fs=xfs;nr_threads=8t;runtime=1m;sync_dirs=1;fsync=1",
	 "mkfs.xfs",
	 {"@settle"},
	 "dbench -c /usr/share/dbench/client.txt -D . -t 60 -S -F 8",
	 " -s",
	 "dbench mkfs.xfs"},
};

static void check_job(const struct job_row *r, const json_t *job, const struct fb_cell *cell)
{
	const json_t *fs = json_object_get(job, "fs");
	const json_t *prepare = json_object_get(job, "prepare");
	FB_CLEANUP(fb_freep) char *measure = argv_text(json_object_get(job, "measure"));
	FB_CLEANUP(fb_freep) char *mkfs = argv_text(json_object_get(fs, "mkfs"));
	FB_CLEANUP(fb_strvp) char **tools = NULL;
	struct fb_str all = FB_STR_INIT;
	size_t nr = 0;

	assert_contains(measure, r->measure);
	if (strstr(measure, r->not_measure))
		fail_msg("'%s' is in '%s'", r->not_measure, measure);
	if (!r->mkfs)
		assert_true(json_is_null(fs));
	else
		assert_contains(mkfs, r->mkfs);
	if (r->mkfs)
		assert_string_equal(fb_json_str(fs, "type"), fb_cell_get(cell, "fs"));
	for (; r->prepare[nr]; nr++) {
		FB_CLEANUP(fb_freep) char *step = argv_text(json_array_get(prepare, nr));

		assert_contains(step, r->prepare[nr]);
	}
	assert_int_equal(json_array_size(prepare), nr);
	assert_int_equal(json_integer_value(json_object_get(job, "timeout_s")), 600);
	assert_int_equal(json_integer_value(json_object_get(job, "runs")), 1);
	assert_true(json_is_array(json_object_get(job, "files")));
	cell->testcase->tools(cell, &tools);
	for (char **t = tools; *t; t++)
		fb_str_addf(&all, "%s%s", all.len ? " " : "", *t);
	assert_string_equal(fb_str_cstr(&all), r->tools);
	fb_str_release(&all);
}

static void a_job_does_what_its_cell_says(void **state)
{
	for (size_t i = 0; i < FB_ARRAY_SIZE(job_row); i++) {
		FB_CLEANUP(fb_cell_release)
		struct fb_cell cell = cell_of(job_row[i].testcase, job_row[i].params);
		struct fb_error err = FB_ERROR_INIT;
		json_t *job = cell.testcase->job(&cell, &err);

		if (!job)
			fail_msg("%s", err.text);
		check_job(&job_row[i], job, &cell);
		json_decref(job);
	}
}

/* --- command ----------------------------------------------------------------------------- */

struct split_row {
	const char *text;
	const char *word[5]; /* the words, or NULL and */
	const char *error;
};

static const struct split_row split_row[] = {
	{"./run", {"./run"}},
	{"  a\tb  c ", {"a", "b", "c"}},
	{"a 'b  c' \"d e\"", {"a", "b  c", "d e"}},
	{"a b'c'\"d\"e", {"a", "bcde"}},
	{"a '' \"\"", {"a", "", ""}},
	{"a \\  \\\\ \\'", {"a", " ", "\\", "'"}},
	{"a \"\\\"\\\\\\$\\n\"", {"a", "\"\\$\\n"}},
	{"a '\\n$x`y`'", {"a", "\\n$x`y`"}},
	{"a --x=1,2:3%4@5!#{}^", {"a", "--x=1,2:3%4@5!#{}^"}},
	{"a $'b\\n\\'\\\\\\x7f'c",
	 {"a", "b\n'\\\x7f"
	       "c"}},
	{"a $'b", {NULL}, "the quote $' is not closed"},
	{"a $'\\q'", {NULL}, "within $'...' only"},
	{"a $'\\x00'", {NULL}, "within $'...' only"},
	{"", {NULL}, "needs a program"},
	{"   ", {NULL}, "needs a program"},
	{"''", {NULL}, "needs a program"},
	{"a 'b", {NULL}, "the quote ' is not closed"},
	{"a \"b", {NULL}, "the quote \" is not closed"},
	{"a \\", {NULL}, "ends with a backslash"},
	{"a > b", {NULL}, "so '>' means nothing"},
	{"a; b", {NULL}, "so ';' means nothing"},
	{"a && b", {NULL}, "so '&' means nothing"},
	{"a $HOME", {NULL}, "so '$' means nothing"},
	{"a \"$HOME\"", {NULL}, "so '$' means nothing"},
	{"a `b`", {NULL}, "so '`' means nothing"},
	{"a *.c", {NULL}, "so '*' means nothing"},
	{"~/x", {NULL}, "so '~' means nothing"},
};

static void a_command_is_split_without_a_shell(void **state)
{
	for (size_t i = 0; i < FB_ARRAY_SIZE(split_row); i++) {
		const struct split_row *r = &split_row[i];
		FB_CLEANUP(fb_strvp) char **words = NULL;
		struct fb_error err = FB_ERROR_INIT;
		int rc = fb_command_split(r->text, &words, &err);

		if (r->error) {
			assert_int_equal(rc, -1);
			assert_error(&err, FB_ERROR_INPUT, r->error);
			continue;
		}
		if (rc < 0)
			fail_msg("'%s': %s", r->text, err.text);
		for (size_t j = 0; r->word[j] || words[j]; j++) {
			if (!r->word[j] || !words[j] || strcmp(r->word[j], words[j]))
				fail_msg("'%s', word %zu: '%s'", r->text, j,
					 words[j] ? words[j] : "(none)");
		}
	}
}

/* Any words become one line of printable text, and the same words again. */
static void joined_words_are_split_into_the_same(void **state)
{
	static const char *const words[] = {
		"sh",	 "-c",	     "make || exit 125\n\t./test 'a b' \\n \"$X\"",
		"",	 "it's",     "a b",
		"--x=1", "\x01\x7f", "\xc3\xa9",
		"*",	 "$'x'",     "#",
		NULL};
	FB_CLEANUP(fb_freep) char *text = fb_command_join((char *const *)words);
	FB_CLEANUP(fb_strvp) char **split = NULL;
	struct fb_error err = FB_ERROR_INIT;

	assert_ok(fb_command_split(text, &split, &err), &err);
	for (size_t i = 0; words[i] || split[i]; i++)
		if (!words[i] || !split[i] || strcmp(words[i], split[i]))
			fail_msg("word %zu of %s: '%s'", i, text, split[i] ? split[i] : "(none)");
	for (const unsigned char *p = (const unsigned char *)text; *p; p++)
		assert_true(*p >= 0x20 && *p != 0x7f);
}

static void no_value_is_no_error_for_a_verdict_by_status(void **state)
{
	FB_CLEANUP(fb_cell_release)
	struct fb_cell verdict = cell_of("command", "command=x;exit=verdict");
	FB_CLEANUP(fb_cell_release) struct fb_cell plain = cell_of("command", "command=x");
	FB_CLEANUP(fb_cell_release) struct fb_cell fio = cell_of("fio", "");
	FB_CLEANUP(fb_values_release) struct fb_values values = {0};
	struct fb_error err = FB_ERROR_INIT;
	static const char out[] = "PASS\nops 12\n";

	assert_ok(fb_command_parse(out, strlen(out), &values, &err), &err);
	assert_int_equal(values.nr, 0);
	assert_true(fb_cell_by_status(&verdict));
	assert_false(fb_cell_by_status(&plain));
	assert_false(fb_cell_by_status(&fio));
	assert_ok(verdict.testcase->parse(&verdict, out, strlen(out), &values, &err), &err);
	assert_int_equal(values.nr, 0);
	assert_int_equal(plain.testcase->parse(&plain, out, strlen(out), &values, &err), -1);
	assert_error(&err, FB_ERROR_INPUT, "no line 'firstbad: METRIC VALUE'");
}

/* --- values ------------------------------------------------------------------------------ */

static void values_take_each_name_once_and_only_numbers(void **state)
{
	FB_CLEANUP(fb_values_release) struct fb_values values = {0};
	struct fb_error err = FB_ERROR_INIT;

	assert_ok(fb_values_add(&values, "a.b/c%_ns", 1.5, &err), &err);
	assert_int_equal(fb_values_add(&values, "a.b/c%_ns", 1.5, &err), -1);
	assert_error(&err, FB_ERROR_INPUT, "a.b/c%_ns is given twice");
	assert_int_equal(fb_values_add(&values, "x", NAN, &err), -1);
	assert_error(&err, FB_ERROR_INPUT, "x is not a finite number");
	assert_int_equal(fb_values_add(&values, "x", -INFINITY, &err), -1);
	assert_error(&err, FB_ERROR_INPUT, "x is not a finite number");
	assert_int_equal(fb_values_add(&values, "", 1, &err), -1);
	assert_error(&err, FB_ERROR_INPUT, "'' is not a metric name");
	assert_int_equal(fb_values_add(&values, "a b", 1, &err), -1);
	assert_error(&err, FB_ERROR_INPUT, "'a b' is not a metric name");
	assert_int_equal(fb_values_add(&values, "<b>", 1, &err), -1);
	assert_error(&err, FB_ERROR_INPUT, "'<b>' is not a metric name");
	assert_int_equal(values.nr, 1);
	assert_true(isnan(fb_values_get(&values, "x")));
}

static void notes_are_one_line_each_and_limited(void **state)
{
	FB_CLEANUP(fb_values_release) struct fb_values values = {0};

	for (int i = 0; i < 10 * FB_NOTES_MAX; i++)
		fb_values_note(&values, "%d: a\nb\033[31m\xc3\xa9", i);
	assert_int_equal(fb_strv_len(values.notes), FB_NOTES_MAX);
	assert_string_equal(values.notes[0], "0: a?b?[31m??");
}

struct tool_row {
	const char *a, *b;
	bool agree;
};

static const struct tool_row tool_row[] = {
	{"fio 3.33", "fio 3.16", true},
	{"fio 3.33", "fio 3.36-60-gbb4a", true},
	{"fio 2.1.3", "fio 3.33", false},
	{"fio 3.33", "fio 33.3", false},
	{"sysbench 1.0.20", "sysbench 1.0.18", true},
	{"sysbench 1.0.20", "sysbench 0.4.12", false},
	{"sysbench 0.5", "sysbench 0.4.12", false},
	{"sysbench 0.4.10", "sysbench 0.4.12", true},
	{"sysbench 0.4.10", "sysbench 0.42", false},
	{"fio 1.0", "sysbench 1.0", false},
	{NULL, "fio 3.33", false},
	{NULL, NULL, true},
};

static void values_of_other_tool_versions_do_not_agree(void **state)
{
	for (size_t i = 0; i < FB_ARRAY_SIZE(tool_row); i++) {
		const struct tool_row *r = &tool_row[i];

		if (fb_values_tools_agree(r->a, r->b) != r->agree ||
		    fb_values_tools_agree(r->b, r->a) != r->agree)
			fail_msg("'%s' and '%s'", r->a ? r->a : "", r->b ? r->b : "");
	}
}

/* Output of any size is an error or a result, quickly; memory is bounded by the limit. */
static void huge_outputs_are_refused(void **state)
{
	static const char fill[] = {'x', '\n', '\0', '{', '[', '"'};
	static const size_t lens[] = {4u << 20, 10u << 20, 100u << 20};
	FB_CLEANUP(fb_freep) char *out = fb_xmalloc(lens[2]);
	struct rusage before, after;

	memset(out, 'x', lens[2]);
	getrusage(RUSAGE_SELF, &before);
	for (const struct fb_testcase *const *t = fb_testcases(); *t; t++) {
		FB_CLEANUP(fb_cell_release)
		struct fb_cell cell =
			cell_of((*t)->name, strcmp((*t)->name, "command") ? "" : "command=x");
		clock_t start = clock();

		for (size_t i = 0; i < FB_ARRAY_SIZE(fill) * FB_ARRAY_SIZE(lens); i++) {
			size_t len = lens[i % FB_ARRAY_SIZE(lens)];
			struct fb_error err = FB_ERROR_INIT;
			struct fb_values values = {0};

			memset(out, fill[i / FB_ARRAY_SIZE(lens)], len);
			assert_int_equal((*t)->parse(&cell, out, len, &values, &err), -1);
			assert_int_equal(err.code, FB_ERROR_INPUT);
			assert_int_equal(values.nr, 0);
		}
		/* 0.4 s on the machine of 2026; with the sanitizers 3 s. */
		assert_true(clock() - start < 20 * CLOCKS_PER_SEC);
	}
	getrusage(RUSAGE_SELF, &after);
	/* In KiB. AddressSanitizer keeps what was freed for a while. */
	assert_true(after.ru_maxrss - before.ru_maxrss < (SANITIZED ? 800 : 100) << 10);
}

struct guest_row {
	const char *testcase, *params;
	size_t nr_values;
};

static const struct guest_row guest_row[] = {
	{"sync-latency", "nr_files=2,5;size=3;method=syncfs", 3 * 3 + 1},
	{"dd-write", "nr_threads=3dd;bs=1k;size=100k", 5},
};

/* The measured step of a job, in a directory of its own; what it wrote. */
static struct fb_str run_guest(const struct fb_cell *cell, const char *dir)
{
	struct fb_error err = FB_ERROR_INIT;
	json_t *job = cell->testcase->job(cell, &err), *measure = json_object_get(job, "measure"),
	       *v;
	struct fb_str out = FB_STR_INIT;
	char *argv[16] = {NULL}, back[4096];
	int saved, fd, rc;
	size_t i;

	assert_true(json_array_size(measure) < FB_ARRAY_SIZE(argv));
	json_array_foreach(measure, i, v) argv[i] = (char *)json_string_value(v);
	assert_non_null(getcwd(back, sizeof(back)));
	assert_int_equal(chdir(dir), 0);
	fflush(stdout);
	saved = dup(STDOUT_FILENO);
	fd = open("out", O_CREAT | O_WRONLY, 0600);
	assert_int_equal(dup2(fd, STDOUT_FILENO), STDOUT_FILENO);
	close(fd);
	rc = cell->testcase->guest((int)json_array_size(measure), argv);
	dup2(saved, STDOUT_FILENO);
	close(saved);
	assert_int_equal(rc, 0);
	assert_ok(fb_file_read("out", 1 << 20, &out, &err), &err);
	assert_int_equal(chdir(back), 0);
	json_decref(job);
	return out;
}

/* Our own workloads, on whatever file system the test runs: their output is what we parse. */
static void a_workload_of_ours_runs_and_is_read(void **state)
{
	for (size_t i = 0; i < FB_ARRAY_SIZE(guest_row); i++) {
		const struct guest_row *r = &guest_row[i];
		FB_CLEANUP(fb_cell_release) struct fb_cell cell = cell_of(r->testcase, r->params);
		FB_CLEANUP(fb_values_release) struct fb_values values = {0};
		char dir[] = "u-testcases.XXXXXX";
		struct fb_error err = FB_ERROR_INIT;
		struct fb_str out;

		assert_non_null(mkdtemp(dir));
		out = run_guest(&cell, dir);
		assert_ok(cell.testcase->parse(&cell, out.buf, out.len, &values, &err), &err);
		assert_int_equal(values.nr, r->nr_values);
		if (!strcmp(r->testcase, "dd-write")) {
			FB_CLEANUP(fb_freep) char *path = fb_xasprintf("%s/zero-3", dir);
			struct stat st;

			/* 100 KiB / 3 is 33 blocks each. */
			assert_int_equal(stat(path, &st), 0);
			assert_int_equal(st.st_size, 33 * 1024);
		}
		fb_str_release(&out);
		assert_ok(fb_remove_tree(dir, &err), &err);
	}
}

/* A writer that fails, here because its file is a directory, fails the run. */
static void dd_write_fails_when_a_writer_does(void **state)
{
	const struct fb_testcase *t = fb_testcase_find("dd-write");
	static char arg[][8] = {"x", "run", "2", "1024", "4"};
	char *argv[] = {arg[0], arg[1], arg[2], arg[3], arg[4], NULL};
	char dir[] = "u-testcases.XXXXXX", back[4096];
	struct fb_error err = FB_ERROR_INIT;

	assert_non_null(getcwd(back, sizeof(back)));
	assert_non_null(mkdtemp(dir));
	assert_int_equal(chdir(dir), 0);
	assert_int_equal(mkdir("zero-2", 0700), 0);
	assert_int_equal(t->guest(5, argv), 1);
	assert_int_equal(chdir(back), 0);
	assert_ok(fb_remove_tree(dir, &err), &err);
}

/* The thresholds are set by the agent, which gives them back: a cell that hangs cannot. */
static void dirty_thresholds_are_the_agents_to_set(void **state)
{
	FB_CLEANUP(fb_cell_release)
	struct fb_cell cell = cell_of("dd-write", "dirty_bytes=1m;dirty_background_bytes=512k");
	struct fb_error err = FB_ERROR_INIT;
	json_t *job = cell.testcase->job(&cell, &err);
	FB_CLEANUP(fb_freep) char *list = argv_text(json_object_get(job, "sysctl"));

	assert_string_equal(list, "vm.dirty_bytes=1048576 vm.dirty_background_bytes=524288");
	json_decref(job);
}

static void a_guest_refuses_unknown_arguments(void **state)
{
	static char arg[][8] = {"x", "nothing"};
	char *argv[] = {arg[0], arg[1], NULL};

	for (const struct fb_testcase *const *t = fb_testcases(); *t; t++)
		if ((*t)->guest)
			assert_int_equal((*t)->guest(2, argv), 2);
}

static void the_template_is_a_working_testcase(void **state)
{
	const struct fb_testcase *t = &fb_testcase_template;
	FB_CLEANUP(fb_values_release) struct fb_values values = {0};
	FB_CLEANUP(fb_cell_release) struct fb_cell cell = {0};
	struct fb_error err = FB_ERROR_INIT;
	int bad;

	assert_ok(fb_cell_new(t, NULL, 0, &cell, &bad, &err), &err);
	assert_ok(t->parse(&cell, "12.5 ops/s\n", 11, &values, &err), &err);
	assert_near(fb_values_get(&values, "template.ops_per_sec"), 12.5, 0);
	assert_int_equal(t->parse(&cell, "12.5 ops/s\n12.5 ops/s\n", 22, &values, &err), -1);
	assert_error(&err, FB_ERROR_INPUT, "line 2: not understood");
	assert_int_equal(t->parse(&cell, "", 0, &values, &err), -1);
	assert_error(&err, FB_ERROR_INPUT, "not a finite number");
}

struct nearest_row {
	const char *typed, *want;
};

static const struct nearest_row nearest_row[] = {
	{"nr_tasks", "nr_task"},
	{"nrtask", "nr_task"},
	{"NR_TASK", "nr_task"},
	{"szie", "size"},
	{"sise", "size"},
	{"colour", NULL},
	{"x", NULL},
	{"", NULL},
	{"b", "bs"},
};

static void a_mistyped_name_has_a_nearest_known_one(void **state)
{
	static const char *const known[] = {"nr_task", "size", "bs", "fallocate"};

	for (size_t i = 0; i < FB_ARRAY_SIZE(nearest_row); i++) {
		struct fb_nearest n = {.name = nearest_row[i].typed};
		const char *got;

		for (size_t j = 0; j < FB_ARRAY_SIZE(known); j++)
			fb_nearest_offer(&n, known[j]);
		got = fb_nearest_get(&n);
		if (strcmp(got ? got : "", nearest_row[i].want ? nearest_row[i].want : ""))
			fail_msg("'%s' gives '%s'", nearest_row[i].typed, got ? got : "");
	}
}

int main(void)
{
	static const struct CMUnitTest plain[] = {
		cmocka_unit_test(every_testcase_has_good_and_bad_samples),
		cmocka_unit_test(testcases_are_sorted_and_complete),
		cmocka_unit_test(a_testcase_is_a_file_of_its_name),
		cmocka_unit_test(metrics_are_sorted_and_have_units),
		cmocka_unit_test(metrics_of_a_testcase_are_in_the_table),
		cmocka_unit_test(every_testcase_has_a_headline),
		cmocka_unit_test(a_metric_is_found_by_name_or_family),
		cmocka_unit_test(a_cell_has_one_key_however_it_is_written),
		cmocka_unit_test(a_cell_is_spelled_for_people_too),
		cmocka_unit_test(a_wrong_parameter_is_refused_with_its_place),
		cmocka_unit_test(a_cell_matches_values_in_any_spelling),
		cmocka_unit_test(the_direction_of_an_unknown_metric_is_the_cells),
		cmocka_unit_test(a_job_does_what_its_cell_says),
		cmocka_unit_test(a_command_is_split_without_a_shell),
		cmocka_unit_test(joined_words_are_split_into_the_same),
		cmocka_unit_test(no_value_is_no_error_for_a_verdict_by_status),
		cmocka_unit_test(values_take_each_name_once_and_only_numbers),
		cmocka_unit_test(notes_are_one_line_each_and_limited),
		cmocka_unit_test(values_of_other_tool_versions_do_not_agree),
		cmocka_unit_test(huge_outputs_are_refused),
		cmocka_unit_test(a_workload_of_ours_runs_and_is_read),
		cmocka_unit_test(dd_write_fails_when_a_writer_does),
		cmocka_unit_test(dirty_thresholds_are_the_agents_to_set),
		cmocka_unit_test(a_guest_refuses_unknown_arguments),
		cmocka_unit_test(the_template_is_a_working_testcase),
		cmocka_unit_test(a_mistyped_name_has_a_nearest_known_one),
	};
	struct CMUnitTest *all;
	size_t nr_plain = FB_ARRAY_SIZE(plain);
	int rc;

	find_samples();
	all = fb_xcalloc(nr_plain + nr_samples, sizeof(*all));
	memcpy(all, plain, sizeof(plain));
	for (size_t i = 0; i < nr_samples; i++) {
		/* One line a sample, named after its file. */
		const char *name = strstr(samples[i].path, "t/data/testcases/");

		all[nr_plain + i] = (struct CMUnitTest){name ? name : samples[i].path,
							a_recorded_output_is_read_as_wanted, NULL,
							NULL, &samples[i]};
	}
	rc = _cmocka_run_group_tests("testcases", all, nr_plain + nr_samples, NULL, NULL);
	for (size_t i = 0; i < nr_samples; i++)
		free(samples[i].path);
	free(samples);
	free(all);
	return rc;
}
