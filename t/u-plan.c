/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Protects: a plan says what it says, and whatever is wrong with it is named with its place. */
#include "t/test.h"

#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "src/plan/plan.h"
#include "src/util/file.h"
#include "src/util/str.h"
#include "src/util/util.h"

#define FIO "matrix: [{testcase: fio}]\n"
#define ONE "kconfig: tiny\n" FIO

static char dir[] = "u-plan.XXXXXX";

/* A directory with what plans refer to. */
static int make_files(void **state)
{
	static const struct {
		const char *path, *text;
	} files[] = {
		/* Most plans below are about something else: tiny has all that their cells need. */
		{"k/tiny.config", "CONFIG_BLK_DEV_NULL_BLK=y\nCONFIG_BTRFS_FS=y\nCONFIG_EXT4_FS=y\n"
				  "CONFIG_XFS_FS=m\n"},
		{"k/bare.config", "# CONFIG_EXT4_FS=y\nCONFIG_EXT4_FS_SECURITY=y\n"},
		{"k/virt.config", ""},
		{"k/fs-ext4.config", "CONFIG_EXT4_FS=y\n"},
		{"k/fs-btrfs.config", "CONFIG_BTRFS_FS=y\n"},
		{"k/null-blk.config", "CONFIG_BLK_DEV_NULL_BLK=y\n"},
		{"p/mine.config", ""},
		{"p/a.patch", ""},
		{"p/b.patch", ""},
		{"p/base.yaml", "machine: tcg\nkconfig: [tiny, ./mine.config]\nmemory: 1G\n"
				"matrix:\n  - {testcase: fio, fs: btrfs}\n"},
		{"p/late.yaml", "memory: 512M\nmax_boots: 7\n"
				"matrix: [{testcase: fio, fs: ext4}]\n"},
		/* Everything here leads from p/s. */
		{"p/s/up.yaml", "include: [../base.yaml, more/far.yaml]\nfixups: far.patch\n"},
		{"p/s/far.patch", ""},
		{"p/s/more/far.yaml", "cmdline: \"a \\\"b\\\" \\\\\"\nfixups: ../../a.patch\n"
				      "kconfig: [tiny, ./x.config]\n"
				      "sysctl: {vm.dirty_ratio: 10}\n"},
		{"p/s/more/x.config", "CONFIG_X=y\n"},
		{"p/self.yaml", "include: self.yaml\n"},
		{"p/ring-a.yaml", "include: s/ring-b.yaml\n"},
		{"p/s/ring-b.yaml", "memory: 1G\ninclude: [../ring-a.yaml]\n"},
		{"p/wrong.yaml", "memory: 1G\nmemroy: 1G\n"},
		{"p/wrong-value.yaml", "matrix:\n  - {testcase: fio, bs: 4q}\n"},
		{"p/not-yaml.yaml", "a: [\n"},
		{"p/list.yaml", "- a\n"},
		{"p/matrix-map.yaml", "matrix: {testcase: fio}\n"},
		{"p/deep1.yaml", "include: deep2.yaml\n"},
		{"p/deep2.yaml", "include: deep3.yaml\n"},
		{"p/deep3.yaml", "include: deep4.yaml\n"},
		{"p/deep4.yaml", "include: deep5.yaml\n"},
		{"p/deep5.yaml", "include: deep6.yaml\n"},
		{"p/deep6.yaml", "include: deep7.yaml\n"},
		{"p/deep7.yaml", "include: deep8.yaml\n"},
		{"p/deep8.yaml", "include: deep9.yaml\n"},
		{"p/deep9.yaml", "memory: 1G\n"},
	};
	struct fb_error err = FB_ERROR_INIT;

	if (!mkdtemp(dir))
		return -1;
	for (size_t i = 0; i < FB_ARRAY_SIZE(files); i++) {
		FB_CLEANUP(fb_freep) char *path = fb_xasprintf("%s/%s", dir, files[i].path);
		FB_CLEANUP(fb_freep)
		char *parent = fb_xstrndup(path, (size_t)(strrchr(path, '/') - path));

		if (fb_mkdirs(parent, &err) < 0 ||
		    fb_file_write(path, files[i].text, strlen(files[i].text), &err) < 0) {
			fprintf(stderr, "%s\n", err.text);
			return -1;
		}
	}
	return 0;
}

static int remove_files(void **state)
{
	struct fb_error err = FB_ERROR_INIT;

	return fb_remove_tree(dir, &err);
}

static int parse_n(const char *text, size_t len, struct fb_plan **ret, struct fb_error *err)
{
	FB_CLEANUP(fb_freep) char *kconfig = fb_xasprintf("%s/k", dir);
	FB_CLEANUP(fb_freep) char *name = fb_xasprintf("%s/p/plan.yaml", dir);

	return fb_plan_parse(text, len, name, kconfig, ret, err);
}

static int parse(const char *text, struct fb_plan **ret, struct fb_error *err)
{
	return parse_n(text, strlen(text), ret, err);
}

static struct fb_plan *good(const char *text)
{
	struct fb_error err = FB_ERROR_INIT;
	struct fb_plan *plan = NULL;

	assert_ok(parse(text, &plan, &err), &err);
	return plan;
}

/* --- what a plan says -------------------------------------------------------------------- */

static const char whole[] = "machine: tcg\n"
			    "kconfig: [tiny, fs-ext4, ./mine.config]\n"
			    "memory: 3G\n"
			    "disk: 512M\n"
			    "cmdline: \"quiet mitigations=off\"\n"
			    "sysctl: {vm.dirty_background_ratio: 10, kernel/panic: 1}\n"
			    "fixups: [a.patch, b.patch]\n"
			    "boots: {min: 2, max: 7}\n"
			    "max_boots: 500\n"
			    "max_time: 2h\n"
			    "timeouts: {build: 45m, boot: 90s, silence: 30s}\n"
			    "confidence: 99.5%\n"
			    "min_effect: 0.5%\n"
			    "matrix:\n"
			    "  - testcase: fio\n"
			    "    fs: [btrfs, ext4]\n"
			    "    nr_task: [1, 4]\n"
			    "    bs: [4k, 64k]\n"
			    "    rw: randwrite\n"
			    "    fsync: 8\n"
			    "    size: 16m\n"
			    "  - testcase: sync-latency\n"
			    "bisect:\n"
			    "  cell: {testcase: fio, fs: btrfs, nr_task: 1t, bs: 65536}\n"
			    "  metric: fio.write_iops\n";

static void every_key_arrives(void **state)
{
	FB_CLEANUP(fb_plan_freep) struct fb_plan *plan = good(whole);
	FB_CLEANUP(fb_freep) char *tiny = fb_xasprintf("%s/k/tiny.config", dir);
	FB_CLEANUP(fb_freep) char *mine = fb_xasprintf("%s/p/./mine.config", dir);
	FB_CLEANUP(fb_freep) char *patch = fb_xasprintf("%s/p/b.patch", dir);

	assert_string_equal(plan->text, whole);
	assert_string_equal(plan->machine, "tcg");
	assert_string_equal(plan->config_base, "tinyconfig");
	assert_int_equal(fb_strv_len(plan->fragments), 3);
	assert_string_equal(plan->fragments[0], tiny);
	assert_string_equal(plan->fragments[2], mine);
	assert_int_equal(fb_strv_len(plan->fixups), 2);
	assert_string_equal(plan->fixups[1], patch);
	assert_int_equal(plan->memory_b, 3ull << 30);
	assert_int_equal(plan->disk_b, 512ull << 20);
	assert_string_equal(plan->cmdline, "quiet mitigations=off");
	assert_string_equal(plan->sysctl[0], "vm.dirty_background_ratio=10");
	assert_string_equal(plan->sysctl[1], "kernel/panic=1");
	assert_null(plan->sysctl[2]);
	assert_int_equal(plan->boots_min, 2);
	assert_int_equal(plan->boots_max, 7);
	assert_int_equal(plan->max_boots, 500);
	assert_int_equal(plan->max_time_ns, 7200 * FB_NS_PER_S);
	assert_int_equal(plan->build_timeout_ns, 2700 * FB_NS_PER_S);
	assert_int_equal(plan->boot_timeout_ns, 90 * FB_NS_PER_S);
	assert_int_equal(plan->silence_ns, 30 * FB_NS_PER_S);
	assert_near(plan->confidence, 0.995, 1e-12);
	assert_near(plan->min_effect, 0.005, 1e-12);
	assert_int_equal(plan->nr_cells, 9);
	assert_int_equal(plan->bisect_cell, 1);
	assert_string_equal(plan->bisect_metric, "fio.write_iops");
}

static void what_is_left_out_has_its_default(void **state)
{
	FB_CLEANUP(fb_plan_freep)
	struct fb_plan *plan = good("config: defconfig\nmatrix: [{testcase: fio}]\n");

	assert_string_equal(plan->machine, "deterministic");
	assert_string_equal(plan->config_base, "defconfig");
	assert_null(plan->fragments);
	assert_null(plan->fixups);
	assert_null(plan->sysctl);
	assert_string_equal(plan->cmdline, "");
	assert_int_equal(plan->memory_b, 2ull << 30);
	assert_int_equal(plan->disk_b, 1ull << 30);
	assert_int_equal(plan->boots_min, 3);
	assert_int_equal(plan->boots_max, 60);
	assert_int_equal(plan->max_boots, 0);
	assert_int_equal(plan->max_time_ns, 0);
	assert_int_equal(plan->build_timeout_ns, 1800 * FB_NS_PER_S);
	assert_int_equal(plan->boot_timeout_ns, 600 * FB_NS_PER_S);
	assert_int_equal(plan->silence_ns, 120 * FB_NS_PER_S);
	assert_near(plan->confidence, 0.99, 0);
	assert_near(plan->min_effect, 0.02, 0);
	assert_int_equal(plan->bisect_cell, -1);
	assert_null(plan->bisect_metric);
}

static void lists_are_axes_and_the_first_key_changes_slowest(void **state)
{
	static const char *const want[] = {
		"fio fs=btrfs size=16m fsync=8",
		"fio fs=btrfs bs=64k size=16m fsync=8",
		"fio fs=btrfs nr_task=4 size=16m fsync=8",
		"fio fs=btrfs nr_task=4 bs=64k size=16m fsync=8",
		"fio fs=ext4 size=16m fsync=8",
		"fio fs=ext4 bs=64k size=16m fsync=8",
		"fio fs=ext4 nr_task=4 size=16m fsync=8",
		"fio fs=ext4 nr_task=4 bs=64k size=16m fsync=8",
		"sync-latency fs=ext4",
	};
	FB_CLEANUP(fb_plan_freep) struct fb_plan *plan = good(whole);

	assert_int_equal(plan->nr_cells, FB_ARRAY_SIZE(want));
	for (size_t i = 0; i < plan->nr_cells; i++) {
		FB_CLEANUP(fb_freep) char *label = fb_cell_label(&plan->cells[i]);

		/* size=16m is the default, so it is not shown. */
		FB_CLEANUP(fb_freep) char *shown = fb_xstrdup(want[i]);
		char *size = strstr(shown, " size=16m");

		if (size)
			memmove(size, size + 9, strlen(size + 9) + 1);
		assert_string_equal(label, shown);
	}
}

static void a_config_file_and_a_single_fragment_are_taken(void **state)
{
	FB_CLEANUP(fb_plan_freep)
	struct fb_plan *a = good("config: mine.config\nmatrix: [{testcase: fio}]\n");
	FB_CLEANUP(fb_plan_freep)
	struct fb_plan *b = good("kconfig: tiny\nfixups: a.patch\nmatrix: [{testcase: fio}]\n");
	FB_CLEANUP(fb_freep) char *mine = fb_xasprintf("%s/p/mine.config", dir);

	assert_string_equal(a->config_base, mine);
	assert_int_equal(fb_strv_len(b->fragments), 1);
	assert_int_equal(fb_strv_len(b->fixups), 1);
}

static void machines_are_known_by_name(void **state)
{
	static const char *const names[] = {"deterministic", "kvm", "tcg"};

	for (size_t i = 0; i < FB_ARRAY_SIZE(names); i++) {
		FB_CLEANUP(fb_freep)
		char *text = fb_xasprintf(
			"machine: '%s'\nkconfig: tiny\nmatrix: [{testcase: fio}]\n", names[i]);
		FB_CLEANUP(fb_plan_freep) struct fb_plan *plan = good(text);

		assert_string_equal(plan->machine, names[i]);
	}
}

static void a_config_of_ones_own_and_a_disk_that_fits_are_left_alone(void **state)
{
	static const char *const texts[] = {
		"config: defconfig\nmatrix: [{testcase: fio, fs: xfs}]\n",
		"config: ./mine.config\nmatrix: [{testcase: fio, fs: xfs}]\n",
		"machine: tcg\nkconfig: [virt, fs-ext4]\nmatrix: [{testcase: fio, fs: ext4}]\n",
		"kconfig: bare\nmatrix: [{testcase: command, command: 'true'}]\n",
		"disk: 64M\nkconfig: tiny\nmatrix: [{testcase: fio, size: 64m}]\n",
	};

	for (size_t i = 0; i < FB_ARRAY_SIZE(texts); i++) {
		FB_CLEANUP(fb_plan_freep) struct fb_plan *plan = good(texts[i]);

		assert_int_equal(plan->nr_cells, 1);
	}
}

static void the_command_machine_needs_no_kernel(void **state)
{
	FB_CLEANUP(fb_plan_freep)
	struct fb_plan *plan = good("machine: command\n"
				    "matrix:\n"
				    "  - testcase: command\n"
				    "    command: ./bench.sh -n 3 # a comment\n"
				    "    better: lower\n"
				    "bisect: {metric: my.latency}\n");

	assert_int_equal(plan->nr_cells, 1);
	assert_string_equal(fb_cell_get(&plan->cells[0], "command"), "./bench.sh -n 3");
	assert_string_equal(plan->bisect_metric, "my.latency");
	assert_int_equal(fb_cell_better(&plan->cells[0], "my.latency"), FB_BETTER_LOWER);
}

static void a_counter_may_drive_a_bisection(void **state)
{
	FB_CLEANUP(fb_plan_freep)
	struct fb_plan *plan = good("kconfig: tiny\nmatrix: [{testcase: fio}]\n"
				    "bisect: {metric: blk.flush_ios}\n");

	assert_string_equal(plan->bisect_metric, "blk.flush_ios");
}

static void the_default_plan_is_one(void **state)
{
	FB_CLEANUP(fb_plan_freep) struct fb_plan *plan = good(fb_plan_default());
	bool btrfs = false, ext4 = false;

	assert_string_equal(plan->machine, "deterministic");
	for (size_t i = 0; i < plan->nr_cells; i++) {
		const char *fs = fb_cell_get(&plan->cells[i], "fs");

		btrfs = btrfs || !strcmp(fs, "btrfs");
		ext4 = ext4 || !strcmp(fs, "ext4");
	}
	assert_true(btrfs && ext4);
}

static void a_file_is_read_and_named(void **state)
{
	FB_CLEANUP(fb_freep) char *path = fb_xasprintf("%s/p/f.yaml", dir);
	FB_CLEANUP(fb_freep) char *kconfig = fb_xasprintf("%s/k", dir);
	FB_CLEANUP(fb_freep) char *place = fb_xasprintf("%s:1:10: unknown machine", path);
	static const char wrong[] = "machine: abacus\n";
	struct fb_error err = FB_ERROR_INIT;
	struct fb_plan *plan = NULL;

	assert_ok(fb_file_write(path, whole, strlen(whole), &err), &err);
	assert_ok(fb_plan_load(path, kconfig, &plan, &err), &err);
	assert_string_equal(plan->path, path);
	fb_plan_freep(&plan);
	assert_ok(fb_file_write(path, wrong, strlen(wrong), &err), &err);
	assert_int_equal(fb_plan_load(path, kconfig, &plan, &err), -1);
	assert_error(&err, FB_ERROR_INPUT, place);
	assert_int_equal(fb_plan_load("no-such.yaml", kconfig, &plan, &err), -1);
	assert_error(&err, FB_ERROR_USAGE, "no-such.yaml");
	assert_null(plan);
}

/* --- include and exclude ----------------------------------------------------------------- */

static void check_labels(const struct fb_plan *plan, const char *const *want, size_t nr)
{
	assert_int_equal(plan->nr_cells, nr);
	for (size_t i = 0; i < nr; i++) {
		FB_CLEANUP(fb_freep) char *label = fb_cell_label(&plan->cells[i]);

		assert_string_equal(label, want[i]);
	}
}

static void what_is_excluded_is_left_out(void **state)
{
	static const char *const want[] = {
		"fio fs=btrfs ioengine=libaio iodepth=32",
		"fio fs=btrfs",
		"fio fs=ext4 bs=64k ioengine=libaio iodepth=32",
		"fio fs=ext4 bs=64k",
		"fio fs=ext4",
	};
	/* psync with a depth makes no sense: as it is excluded, nobody complains. */
	FB_CLEANUP(fb_plan_freep)
	struct fb_plan *plan = good("kconfig: tiny\n"
				    "matrix:\n"
				    "  - testcase: fio\n"
				    "    fs: [btrfs, ext4]\n"
				    "    bs: [64k, 4k]\n"
				    "    ioengine: [libaio, psync]\n"
				    "    iodepth: [32, 1]\n"
				    "    exclude:\n"
				    "      - {ioengine: psync, iodepth: 32}\n"
				    "      - {ioengine: libaio, iodepth: 1}\n"
				    "      - {fs: [btrfs, xfs], bs: 65536}\n"
				    "      - {fs: ext4, bs: [4k, 8k], iodepth: 32}\n");

	check_labels(plan, want, FB_ARRAY_SIZE(want));
}

/* A parameter without an axis has its default. */
static void a_default_can_be_excluded(void **state)
{
	static const char *const want[] = {"fio fs=xfs bs=8k"};
	FB_CLEANUP(fb_plan_freep)
	struct fb_plan *plan = good("kconfig: tiny\nmatrix:\n"
				    "  - {testcase: fio, fs: xfs, bs: [4k, 8k],"
				    " exclude: {nr_task: 1t, bs: 4k}}\n");

	check_labels(plan, want, FB_ARRAY_SIZE(want));
}

static void an_included_plan_is_built_on(void **state)
{
	static const char *const want[] = {"fio fs=btrfs", "fio fs=ext4", "fio fs=xfs"};
	FB_CLEANUP(fb_plan_freep)
	struct fb_plan *plan = good("include: [base.yaml, late.yaml]\nmax_boots: 9\n"
				    "matrix: [{testcase: fio, fs: xfs}]\n");

	/* The plan's own hides what is included, and the later file the earlier one. */
	check_labels(plan, want, FB_ARRAY_SIZE(want));
	assert_string_equal(plan->machine, "tcg");
	assert_int_equal(plan->max_boots, 9);
	assert_int_equal(plan->memory_b, 512ull << 20);
}

static void paths_lead_from_the_file_that_names_them(void **state)
{
	FB_CLEANUP(fb_plan_freep) struct fb_plan *plan = good("include: s/up.yaml\n");
	FB_CLEANUP(fb_freep) char *x = fb_xasprintf("%s/p/s/more/./x.config", dir);
	FB_CLEANUP(fb_freep) char *patch = fb_xasprintf("%s/p/s/far.patch", dir);

	/* up.yaml's own fixups hide far.yaml's; its kconfig, base.yaml's. */
	assert_int_equal(fb_strv_len(plan->fixups), 1);
	assert_string_equal(plan->fixups[0], patch);
	assert_int_equal(fb_strv_len(plan->fragments), 2);
	assert_string_equal(plan->fragments[1], x);
	assert_string_equal(plan->cmdline, "a \"b\" \\");
	assert_int_equal(plan->memory_b, 1ull << 30);
}

/* The text that is stored stands for itself: it reads as the same plan, without the files. */
static void the_text_of_an_including_plan_is_whole(void **state)
{
	FB_CLEANUP(fb_plan_freep)
	struct fb_plan *plan = good("include: [s/up.yaml, late.yaml]\nmin_effect: 3%\n"
				    "bisect: {cell: {fs: btrfs}}\n");
	FB_CLEANUP(fb_freep) char *kconfig = fb_xasprintf("%s/k", dir);
	FB_CLEANUP(fb_plan_freep) struct fb_plan *again = NULL;
	struct fb_error err = FB_ERROR_INIT;

	assert_null(strstr(plan->text, "include"));
	assert_ok(fb_plan_parse_stored(plan->text, plan->path, kconfig, &again, &err), &err);
	assert_string_equal(again->text, plan->text);
	assert_string_equal(again->cmdline, plan->cmdline);
	assert_string_equal(again->fixups[0], plan->fixups[0]);
	assert_string_equal(again->fragments[1], plan->fragments[1]);
	assert_string_equal(again->sysctl[0], plan->sysctl[0]);
	assert_int_equal(again->max_boots, 7);
	assert_int_equal(again->bisect_cell, plan->bisect_cell);
	assert_int_equal(again->nr_cells, plan->nr_cells);
	for (size_t i = 0; i < plan->nr_cells; i++) {
		FB_CLEANUP(fb_freep) char *a = fb_cell_key(&plan->cells[i]);
		FB_CLEANUP(fb_freep) char *b = fb_cell_key(&again->cells[i]);

		assert_string_equal(a, b);
	}
}

/* base.yaml comes twice, once by up.yaml; its cell would be there twice. */
static void a_file_counts_once(void **state)
{
	static const char *const want[] = {"fio fs=btrfs"};
	FB_CLEANUP(fb_plan_freep)
	struct fb_plan *plan = good("include: [base.yaml, s/up.yaml, ./base.yaml]\n");

	check_labels(plan, want, FB_ARRAY_SIZE(want));
}

struct include_row {
	const char *claim, *text, *error;
};

static const struct include_row include_row[] = {
	{"a file that is not there", ONE "include: none.yaml\n", "/p/plan.yaml:3:10: no file '"},
	{"a directory", ONE "include: [s]\n", "/p/plan.yaml:3:11: '"},
	{"a device", ONE "include: /dev/zero\n", ":3:10: '/dev/zero' is not a file"},
	{"nothing", ONE "include:\n", ":3:1: include: a file or a list of files"},
	{"a map", ONE "include: {a: b}\n", ":3:10: include: a file or a list of files"},
	{"a list in a list", ONE "include: [[a]]\n", ":3:11: include: a file or a list"},
	{"itself", "include: self.yaml\n", "/p/self.yaml:1:10: a cycle of includes: "},
	{"a ring", "include: ring-a.yaml\n", "/p/s/ring-b.yaml:2:11: a cycle of includes: "},
	{"too deep a chain", ONE "include: deep1.yaml\n",
	 "/p/deep8.yaml:1:10: included deeper than 8 files"},
	{"an unknown key there", ONE "include: wrong.yaml\n",
	 "/p/wrong.yaml:2:1: unknown key 'memroy'; did you mean 'memory'?"},
	{"a wrong value there", "include: wrong-value.yaml\nkconfig: tiny\n",
	 "/p/wrong-value.yaml:2:25: bs: '4q' is not a size"},
	{"what is not YAML", ONE "include: not-yaml.yaml\n", "/p/not-yaml.yaml:2:1: "},
	{"a list as a plan", ONE "include: list.yaml\n",
	 "/p/list.yaml:1:1: an included plan: a map"},
	{"a matrix that is a map", ONE "include: matrix-map.yaml\n",
	 "/p/matrix-map.yaml:1:9: matrix: a list of"},
};

static void a_wrong_include_is_refused_with_its_place(void **state)
{
	for (size_t i = 0; i < FB_ARRAY_SIZE(include_row); i++) {
		struct fb_error err = FB_ERROR_INIT;
		struct fb_plan *plan = NULL;

		if (parse(include_row[i].text, &plan, &err) == 0)
			fail_msg("%s is accepted", include_row[i].claim);
		assert_error(&err, FB_ERROR_INPUT, include_row[i].error);
	}
}

static void the_last_depth_that_is_allowed_is_read(void **state)
{
	FB_CLEANUP(fb_plan_freep) struct fb_plan *plan = good(ONE "include: deep2.yaml\n");

	assert_int_equal(plan->memory_b, 1ull << 30);
}

/* Each within the limits, together not. */
static void too_much_is_not_included(void **state)
{
	FB_CLEANUP(fb_str_release) struct fb_str text = FB_STR_INIT, plan_text = FB_STR_INIT;
	struct fb_error err = FB_ERROR_INIT;
	struct fb_plan *plan = NULL;

	fb_str_add(&plan_text, ONE "include: [");
	for (int i = 0; i < 70; i++) {
		FB_CLEANUP(fb_freep) char *path = fb_xasprintf("%s/p/many-%d.yaml", dir, i);

		assert_ok(fb_file_write(path, "memory: 1G\n", 11, &err), &err);
		fb_str_addf(&plan_text, "many-%d.yaml, ", i);
	}
	fb_str_add(&plan_text, "]\n");
	assert_int_equal(parse(plan_text.buf, &plan, &err), -1);
	assert_error(&err, FB_ERROR_INPUT, "more than 64 files are included");
	fb_error_clear(&err);
	fb_str_add(&text, "matrix:\n");
	for (int i = 0; i < 3000; i++)
		fb_str_add(&text, "  - {testcase: fio, fs: ext4}\n");
	for (int i = 0; i < 3; i++) {
		FB_CLEANUP(fb_freep) char *path = fb_xasprintf("%s/p/big-%d.yaml", dir, i);

		assert_ok(fb_file_write(path, text.buf, text.len, &err), &err);
	}
	assert_int_equal(parse("include: [big-0.yaml, big-1.yaml, big-2.yaml]\n", &plan, &err), -1);
	assert_error(&err, FB_ERROR_INPUT, "with all that it includes");
}

/* --- what is wrong with a plan ----------------------------------------------------------- */

struct bad_row {
	const char *claim, *text, *error;
};

static const struct bad_row bad_row[] = {
	/* YAML */
	{"an empty plan", "", ":1:1: empty"},
	{"only comments", "# nothing\n", ":1:1: empty"},
	{"only blanks", "  \n \n", ":1:1: empty"},
	{"a list instead of keys", "- a\n- b\n", ":1:1: a plan: a map (key: value) is expected"},
	{"a word", "hello\n", ":1:1: a plan: a map (key: value) is expected"},
	{"an unclosed list", "kconfig: [tiny\n" FIO,
	 ":3:1: flow sequence without a closing bracket"},
	{"an unclosed quote", "cmdline: \"x\n" ONE, ".yaml:"},
	{"a tab as indentation", "matrix:\n\t- testcase: fio\n", ":2:"},
	{"wrong indentation", "boots:\n  min: 3\n max: 4\n" ONE, ":3:2:"},
	{"a colon without a key", ": x\n" ONE, ":1:1: unknown key ''"},
	{"a key twice", ONE "memory: 1G\nmemory: 2G\n", ":4:1: key 'memory' is already in line 3"},
	{"a key twice in a cell", "kconfig: tiny\nmatrix: [{testcase: fio, fs: ext4, fs: xfs}]\n",
	 ":2:36: key 'fs' is already in line 2"},
	{"a list as a key", "[a, b]: c\n" ONE, ":1:1: a key must be a word"},
	{"an anchor", "machine: &m tcg\n" ONE, ": anchors ('&name') are not used in plans"},
	{"an alias", "cmdline: *m\n" ONE, ":1:10: aliases ('*name') are not used"},
	{"a tag", "memory: !!int 3\n" ONE, ": tags ('!name') are not used"},
	{"two documents", ONE "---\n" ONE, ":3:1: a second document"},
	{"bad UTF-8", "cmdline: a\xff\n" ONE, ":1:11: not UTF-8"},
	{"overlong UTF-8", "# \xc0\xaf\n" ONE, ":1:3: not UTF-8"},
	{"a control byte", "cmdline: a\x01\n" ONE, ":1:11: a control byte (0x01)"},
	{"an escaped NUL", "cmdline: \"a\\0b\"\n" ONE, ":1:10: a NUL"},
	{"a merge key", "<<: {machine: tcg}\n" ONE, ":1:1: unknown key '<<'"},
	/* keys */
	{"an unknown key", ONE "confidance: 0.9\n",
	 ":3:1: unknown key 'confidance'; did you mean 'confidence'?"},
	{"a quite unknown key", ONE "colour: red\n",
	 ":3:1: unknown key 'colour'; known here: machine"},
	{"a value missing", ONE "machine:\n", ":3:1: a value is missing"},
	{"a map for a value", "machine: {a: b}\n" ONE,
	 ":1:10: a single value is expected, not a map"},
	{"a list for a value", "memory: [1G]\n" ONE,
	 ":1:9: a single value is expected, not a list"},
	{"an unknown machine", "machine: abacus\n" ONE,
	 ":1:10: unknown machine 'abacus'; there are deterministic, kvm, tcg, command"},
	{"a mistyped machine", "machine: determinstic\n" ONE, "did you mean 'deterministic'?"},
	{"ssh", "machine: ssh\n" ONE, ":1:10: machine 'ssh' does not exist yet; there are"},
	{"ssh with a host", "machine: ssh:foo\n" ONE, ":1:10: machine 'ssh' does not exist yet"},
	/* what a kernel of these fragments cannot do */
	{"a file system without its fragment",
	 "kconfig: [fs-ext4, null-blk]\nmatrix:\n  - {testcase: fio, fs: [ext4, btrfs]}\n",
	 ":3:32: fs: btrfs needs CONFIG_BTRFS_FS, which no kconfig fragment sets: add fs-btrfs"},
	{"ext2 without the driver or its stand-in",
	 "kconfig: [fs-ext4, null-blk]\nmatrix: [{testcase: fio, fs: [ext3, ext2]}]\n",
	 ":2:37: fs: ext2 needs CONFIG_EXT2_FS"},
	{"the default file system without its fragment",
	 "kconfig: [bare, null-blk]\nmatrix: [{testcase: fio}]\n",
	 ":2:21: fs: ext4 needs CONFIG_EXT4_FS"},
	{"the deterministic machine without null-blk",
	 "kconfig: fs-ext4\nmatrix: [{testcase: fio, fs: ext4}]\n",
	 ":2:30: machine deterministic needs CONFIG_BLK_DEV_NULL_BLK"},
	{"more than the disk holds",
	 "disk: 64M\nconfig: defconfig\nmatrix: [{testcase: fio, size: 65m}]\n", ":3:32: size: "},
	{"jobs of fio that together take more",
	 "disk: 64M\nconfig: defconfig\nmatrix: [{testcase: fio, size: 32m, nr_task: [1, 4]}]\n",
	 ":3:32: size: the files of this cell take 128 MiB, the disk has 64 MiB (key 'disk')"},
	{"more files than the disk holds",
	 "disk: 1G\nconfig: defconfig\nmatrix: [{testcase: sync-latency, nr_files: 512..262144}]\n",
	 ":3:21: size: the files of this cell take 4096 MiB, the disk has 1024 MiB"},
	{"more of fsmark than the disk holds",
	 "disk: 64M\nconfig: defconfig\nmatrix: [{testcase: fsmark, iterations: 2x, test_size: "
	 "200m}]\n",
	 ":3:56: test_size: the files of this cell take 100 MiB, the disk has 64 MiB"},
	{"an unknown fragment", "kconfig: [tiny, fs-zfs]\n" FIO,
	 ":1:17: no kconfig fragment 'fs-zfs'; there are: bare, fs-btrfs, fs-ext4, null-blk, tiny, "
	 "virt"},
	{"a fragment twice", "kconfig: [tiny, virt, tiny]\n" FIO, ":1:23: 'tiny' is listed twice"},
	{"no fragment", "kconfig: []\n" FIO, ":1:10: kconfig: names at least one fragment"},
	{"a fragment file that is not there", "kconfig: [./none.config]\n" FIO, ":1:11: no file '"},
	{"a fragment name that leads away", "kconfig: [..]\n" FIO,
	 ":1:11: no kconfig fragment '..'"},
	{"config and kconfig", "config: defconfig\n" ONE, ":1:9: config and kconfig: only one"},
	{"a config that is not there", "config: none\n" FIO, ":1:9: no file '"},
	{"a config that is a directory", "config: .\n" FIO, "' is not a file"},
	{"neither config nor kconfig", FIO, ":1:1: 'kconfig' or 'config' is missing"},
	{"memory without a number", "memory: lots\n" ONE, ":1:9: 'lots' is not a size"},
	{"too little memory", "memory: 1M\n" ONE, ":1:9: '1M' is not from 64M to 1T"},
	{"too large a disk", "disk: 65T\n" ONE, ":1:7: '65T' is not from 16M to 64T"},
	{"an uneven disk", "disk: 20000001\n" ONE, ":1:7: not a whole number of MiB"},
	{"a line break in cmdline", "cmdline: \"a\\nb\"\n" ONE,
	 ":1:10: cmdline: only printable ASCII"},
	{"a sysctl that leads away", "sysctl: {../../x: 1}\n" ONE,
	 ":1:10: '../../x' is not a sysctl"},
	{"a sysctl with a blank", "sysctl: {a b: 1}\n" ONE, ":1:10: 'a b' is not a sysctl"},
	{"a sysctl without a value", "sysctl: {a.b: }\n" ONE, "a value is missing"},
	{"a sysctl with a line break", "sysctl: {a.b: \"1\\n2\"}\n" ONE, ":1:15: not one line"},
	{"a fixup that is not there", "fixups: [a.patch, c.patch]\n" ONE, ":1:19: no file '"},
	{"boots as a number", "boots: 3\n" ONE, ":1:8: boots: a map"},
	{"no boots", "boots: {min: 0}\n" ONE, ":1:14: '0' is not a number from 1 to 10000"},
	{"min above max", "boots: {min: 9, max: 3}\n" ONE, ":1:8: boots: min 9 is more than max 3"},
	{"min above the default max", "boots: {min: 61}\n" ONE,
	 ":1:8: boots: min 61 is more than max 60"},
	{"an unknown key in boots", "boots: {mni: 2}\n" ONE,
	 ":1:9: unknown key 'mni'; did you mean 'min'?"},
	{"max_boots below 1", "max_boots: 0\n" ONE, ":1:12: '0' is not a number"},
	{"max_time without a unit of ours", "max_time: 3w\n" ONE, ":1:11: '3w' is not a duration"},
	{"a timeout of nothing", "timeouts: {boot: 0}\n" ONE, ":1:18: '0' is not from 1s to 365d"},
	{"an unknown timeout", "timeouts: {biuld: 1m}\n" ONE,
	 ":1:12: unknown key 'biuld'; did you mean 'build'?"},
	{"confidence 1", "confidence: 1\n" ONE, ":1:13: '1' is not between 50% and 100%"},
	{"confidence 99", "confidence: 99\n" ONE, ":1:13: '99' is not between"},
	{"confidence in words", "confidence: high\n" ONE, ":1:13: 'high' is not a share"},
	{"confidence nan", "confidence: nan\n" ONE, ":1:13: 'nan' is not a share"},
	{"min_effect 2", "min_effect: 2\n" ONE,
	 ":1:13: '2' is not from 0.01% to 100%; 2 per cent is 2% or 0.02"},
	{"min_effect 0", "min_effect: 0%\n" ONE, ":1:13: '0%' is not from"},
	{"min_effect below 0", "min_effect: -2%\n" ONE, ":1:13: '-2%' is not from"},
	/* the matrix */
	{"no matrix", "kconfig: tiny\n", ":1:1: 'matrix' is missing"},
	{"an empty matrix", "kconfig: tiny\nmatrix: []\n", ":2:9: matrix: at least one testcase"},
	{"a matrix that is a map", "kconfig: tiny\nmatrix: {testcase: fio}\n",
	 ":2:9: matrix: a list of"},
	{"an entry that is a word", "kconfig: tiny\nmatrix: [fio]\n",
	 ":2:10: matrix: 'testcase: NAME'"},
	{"an entry without a testcase", "kconfig: tiny\nmatrix:\n  - fs: ext4\n",
	 ":3:5: 'testcase' is missing"},
	{"an unknown testcase", "kconfig: tiny\nmatrix: [{testcase: foi}]\n",
	 ":2:21: unknown testcase 'foi'; did you mean 'fio'?"},
	{"a quite unknown testcase", "kconfig: tiny\nmatrix: [{testcase: bonnie}]\n",
	 ":2:21: unknown testcase 'bonnie'; there are: command, dbench, dd-write, fio, fsmark, "},
	/* T14 */
	{"an unknown parameter", "kconfig: tiny\nmatrix:\n  - testcase: fio\n    nr_tasks: 4\n",
	 ":4:5: testcase 'fio' has no parameter 'nr_tasks'; did you mean 'nr_task'?"},
	{"a bad value", "kconfig: tiny\nmatrix:\n  - testcase: fio\n    rw: randwirte\n",
	 ":4:9: rw: 'randwirte' is not one of"},
	{"a bad value in a list", "kconfig: tiny\nmatrix:\n  - {testcase: fio, bs: [4k, 8k, 4q]}\n",
	 ":3:34: bs: '4q' is not a size"},
	{"a list in a list", "kconfig: tiny\nmatrix:\n  - {testcase: fio, bs: [4k, [8k]]}\n",
	 ":3:30: a single value"},
	{"a map in a cell", "kconfig: tiny\nmatrix:\n  - {testcase: fio, bs: {a: b}}\n",
	 ":3:25: a value or a list of values"},
	{"an empty axis", "kconfig: tiny\nmatrix:\n  - {testcase: fio, bs: []}\n",
	 ":3:25: an empty list makes no cell"},
	{"an empty value in an axis", "kconfig: tiny\nmatrix:\n  - {testcase: fio, bs: ['']}\n",
	 ":3:26: bs: needs a value"},
	{"values that exclude each other",
	 "kconfig: tiny\nmatrix:\n  - testcase: fio\n    iodepth: 32\n",
	 ":4:14: iodepth: ioengine 'psync'"},
	{"values that exclude each other, no one named",
	 "kconfig: tiny\nmatrix:\n  - testcase: fio\n    runtime: 5s\n    number_ios: 5\n",
	 ":3:5: number_ios and runtime: only one"},
	{"a needed parameter left out", "kconfig: tiny\nmatrix: [{testcase: command}]\n",
	 ":2:10: testcase 'command' needs 'command'"},
	{"a cell twice",
	 "kconfig: tiny\nmatrix:\n  - {testcase: fio, bs: [4k, 8k]}\n  - {testcase: fio, fs: "
	 "xfs}\n  - {testcase: fio, bs: 8192}\n",
	 ":5:5: the cell 'fio fs=ext4 bs=8k' is there twice"},
	{"a value twice in an axis",
	 "kconfig: tiny\nmatrix:\n  - {testcase: fio, bs: [4k, 4096]}\n",
	 ":3:5: the cell 'fio fs=ext4' is there twice"},
	{"a count list without quotes in a flow map",
	 "kconfig: tiny\nmatrix: [{testcase: sync-latency, nr_files: 512,1024}]\n",
	 ":2:49: testcase 'sync-latency' has no parameter '1024'"},
	{"an exclusion that is a word",
	 "kconfig: tiny\nmatrix:\n  - {testcase: fio, exclude: xfs}\n",
	 ":3:30: exclude: maps such"},
	{"an exclusion of everything",
	 "kconfig: tiny\nmatrix:\n  - {testcase: fio, exclude: [{}]}\n", ":3:31: exclude: maps"},
	{"an exclusion of nothing",
	 "kconfig: tiny\nmatrix:\n  - {testcase: fio, fs: [ext4, xfs], exclude: [{fs: ext4}, {fs: "
	 "btrfs}]}\n",
	 ":3:60: exclude: no cell is like that"},
	{"an exclusion of all cells",
	 "kconfig: tiny\nmatrix:\n  - testcase: fio\n    exclude: {fs: ext4}\n",
	 ":4:14: exclude: leaves no cell"},
	{"an unknown parameter in exclude",
	 "kconfig: tiny\nmatrix:\n  - {testcase: fio, exclude: {nr_tasks: 1}}\n",
	 ":3:31: testcase 'fio' has no parameter 'nr_tasks'; did you mean 'nr_task'?"},
	{"a bad value in exclude",
	 "kconfig: tiny\nmatrix:\n  - {testcase: fio, exclude: {bs: [4k, 4q]}}\n",
	 ":3:40: bs: '4q' is not a size"},
	{"an empty list in exclude",
	 "kconfig: tiny\nmatrix:\n  - {testcase: fio, exclude: {bs: []}}\n",
	 ":3:35: an empty list excludes nothing"},
	{"a map in exclude", "kconfig: tiny\nmatrix:\n  - {testcase: fio, exclude: {bs: {a: b}}}\n",
	 ":3:35: a single value is expected"},
	{"a bad value in an axis beside an exclusion",
	 "kconfig: tiny\nmatrix:\n  - {testcase: fio, bs: [4k, 4q], exclude: {bs: 4k}}\n",
	 ":3:30: bs: '4q' is not a size"},
	/* machines and testcases together */
	{"a kernel config for the command machine", "machine: command\nkconfig: tiny\n" FIO,
	 ":2:10: kconfig: machine 'command' builds no kernel"},
	{"a sysctl on the command machine", "sysctl: {vm.swappiness: 1}\nmachine: command\n" FIO,
	 ":1:9: sysctl: machine 'command' changes no setting of this host"},
	{"memory of the command machine", "machine: command\nmemory: 1G\n" FIO,
	 ":2:9: memory: machine 'command' starts no machine"},
	{"a kernel command line on the command machine", "machine: command\ncmdline: quiet\n" FIO,
	 ":2:10: cmdline: machine 'command' boots no kernel"},
	{"fio on the command machine", "machine: command\n" FIO,
	 ":2:9: machine 'command' runs only testcase 'command'"},
	/* bisect */
	{"an unknown key in bisect", ONE "bisect: {cells: {}}\n",
	 ":3:10: unknown key 'cells'; did you mean 'cell'?"},
	{"a bisect cell that is a word", ONE "bisect: {cell: fio}\n", ":3:16: cell: a map"},
	{"no cell matches", ONE "bisect: {cell: {fs: xfs}}\n",
	 ":3:16: no cell of the matrix matches; there are: fio fs=ext4"},
	{"several cells match",
	 "kconfig: tiny\nmatrix: [{testcase: fio, fs: [ext4, xfs, btrfs]}]\nbisect: {cell: {bs: "
	 "4k}}\n",
	 ":3:16: several cells of the matrix match: fio fs=ext4; fio fs=xfs; fio fs=btrfs"},
	{"an unknown parameter in bisect.cell", ONE "bisect: {cell: {sf: ext4}}\n",
	 ":3:17: testcase 'fio' has no parameter 'sf'; did you mean 'fs'?"},
	{"an unknown value in bisect.cell", ONE "bisect: {cell: {fs: ext5}}\n",
	 ":3:17: fs: 'ext5' is not one of"},
	{"an unknown metric", ONE "bisect: {metric: fio.write_ipos}\n",
	 ":3:18: no cell gives the metric 'fio.write_ipos'; did you mean 'fio.write_iops'?"},
	{"a metric of another testcase", ONE "bisect: {metric: sync-latency.total_ms}\n",
	 ":3:18: no cell gives the metric"},
	{"a metric that the chosen cell has not got",
	 "kconfig: tiny\nmatrix: [{testcase: fio}, {testcase: sync-latency}]\nbisect: {cell: "
	 "{testcase: fio}, metric: sync-latency.total_ms}\n",
	 ":3:41: no cell that was chosen gives the metric"},
};

static void a_wrong_plan_is_refused_with_its_place(void **state)
{
	const struct bad_row *r = *state;
	struct fb_error err = FB_ERROR_INIT;
	struct fb_plan *plan = NULL;

	if (parse(r->text, &plan, &err) == 0)
		fail_msg("accepted:\n%s", r->text);
	assert_null(plan);
	/* DIR/p/plan.yaml:LINE:COLUMN: in front of each. */
	if (!strstr(err.text, "/p/plan.yaml:"))
		fail_msg("no place in '%s'", err.text);
	assert_error(&err, FB_ERROR_INPUT, r->error);
}

/* --- hostile plans ----------------------------------------------------------------------- */

static void refused_quickly(const char *text, size_t len, const char *error)
{
	struct fb_error err = FB_ERROR_INIT;
	struct fb_plan *plan = NULL;
	clock_t start = clock();

	assert_int_equal(parse_n(text, len, &plan, &err), -1);
	assert_error(&err, FB_ERROR_INPUT, error);
	/* Of the order of 10 ms of the CPU; the limit allows for sanitizers. */
	assert_true(clock() - start < 5 * CLOCKS_PER_SEC);
}

static char *repeat(const char *part, size_t nr, const char *head)
{
	struct fb_str s = FB_STR_INIT;

	fb_str_add(&s, head);
	for (size_t i = 0; i < nr; i++)
		fb_str_add(&s, part);
	return fb_str_take(&s);
}

static void a_plan_of_10_mb_is_refused(void **state)
{
	FB_CLEANUP(fb_freep) char *text = repeat("# padding\n", 1 << 20, "");

	refused_quickly(text, strlen(text), ":1:1: a plan of more than 262144 bytes");
}

static void a_plan_of_nuls_is_refused(void **state)
{
	FB_CLEANUP(fb_freep) char *text = fb_xcalloc(1, 200000);

	refused_quickly(text, 200000, ":1:1: a control byte (0x00)");
}

static void deep_nesting_is_refused(void **state)
{
	FB_CLEANUP(fb_freep) char *flow = repeat("[", 100000, "matrix: ");
	FB_CLEANUP(fb_freep) char *maps = repeat("{a: ", 50000, "matrix: ");
	FB_CLEANUP(fb_freep) char *block = repeat("- ", 100000, "");

	refused_quickly(flow, strlen(flow), "nested deeper than 16");
	refused_quickly(maps, strlen(maps), "nested deeper than 16");
	refused_quickly(block, strlen(block), "nested deeper than 16");
}

static void an_alias_bomb_is_refused(void **state)
{
	static const char bomb[] = "a: &a [x,x,x,x,x,x,x,x,x]\n"
				   "b: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\n"
				   "c: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\n"
				   "d: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\n"
				   "e: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d]\n"
				   "f: &f [*e,*e,*e,*e,*e,*e,*e,*e,*e]\n"
				   "g: &g [*f,*f,*f,*f,*f,*f,*f,*f,*f]\n";

	refused_quickly(bomb, strlen(bomb), ": anchors");
}

static void too_many_values_are_refused(void **state)
{
	FB_CLEANUP(fb_freep) char *list = repeat("x,", 100000, "matrix: [");
	struct fb_str keys = FB_STR_INIT;

	refused_quickly(list, strlen(list), "more than 20000 values");
	for (int i = 0; i < 15000; i++)
		fb_str_addf(&keys, "k%d: v\n", i);
	refused_quickly(keys.buf, keys.len, "more than 20000 values");
	fb_str_release(&keys);
}

/* 21 values in each of 4 axes are 194481 cells; in each of 15, more than 64 bits can count. */
static void too_many_cells_are_refused(void **state)
{
	static const char *const axes[] = {"fsync", "fdatasync", "iodepth", "nr_task"};
	struct fb_str s = FB_STR_INIT;

	fb_str_add(&s, "kconfig: tiny\nmatrix:\n  - testcase: fio\n    ioengine: libaio\n");
	for (size_t a = 0; a < FB_ARRAY_SIZE(axes); a++) {
		fb_str_addf(&s, "    %s: [1", axes[a]);
		for (int i = 2; i <= 21; i++)
			fb_str_addf(&s, ",%d", i);
		fb_str_add(&s, "]\n");
	}
	refused_quickly(s.buf, s.len, ":3:5: more than 10000 cells");
	fb_str_release(&s);
}

/* 10000 cells and 6000 exclusions, of which none is met. */
static void many_exclusions_are_read_quickly(void **state)
{
	FB_CLEANUP(fb_str_release) struct fb_str s = FB_STR_INIT;

	fb_str_add(&s, "kconfig: tiny\ndisk: 2G\nmatrix:\n  - testcase: fio\n    nr_task: [1");
	for (int i = 2; i <= 100; i++)
		fb_str_addf(&s, ",%d", i);
	fb_str_add(&s, "]\n    fsync: [1");
	for (int i = 2; i <= 100; i++)
		fb_str_addf(&s, ",%d", i);
	fb_str_add(&s, "]\n    exclude:\n");
	for (int i = 0; i < 6000; i++)
		fb_str_addf(&s, "    - {fsync: %d}\n", 1000 + i);
	refused_quickly(s.buf, s.len, ":8:7: exclude: no cell is like that");
}

static void a_hundred_times_a_hundred_cells_are_a_plan(void **state)
{
	struct fb_str s = FB_STR_INIT;
	struct fb_plan *plan;

	fb_str_add(&s, "kconfig: tiny\ndisk: 2G\nmatrix:\n  - testcase: fio\n    nr_task: [1");
	for (int i = 2; i <= 100; i++)
		fb_str_addf(&s, ",%d", i);
	fb_str_add(&s, "]\n    fsync: [1");
	for (int i = 2; i <= 100; i++)
		fb_str_addf(&s, ",%d", i);
	fb_str_add(&s, "]\n");
	plan = good(s.buf);
	assert_int_equal(plan->nr_cells, 10000);
	fb_plan_free(plan);
	fb_str_release(&s);
}

/* Whatever the place where a plan is cut, it is read or refused, never more. */
static void a_plan_cut_anywhere_is_read_or_refused(void **state)
{
	for (size_t len = 0; len < strlen(whole); len++) {
		struct fb_error err = FB_ERROR_INIT;
		struct fb_plan *plan = NULL;
		/* Not terminated: what reads past the end is seen by AddressSanitizer. */
		FB_CLEANUP(fb_freep) char *copy = fb_xmalloc(len ? len : 1);

		memcpy(copy, whole, len);
		if (parse_n(copy, len, &plan, &err) < 0)
			assert_contains(err.text, "plan.yaml:");
		else
			assert_int_equal(err.code, FB_ERROR_NONE);
		fb_plan_freep(&plan);
	}
}

/* --- selecting a cell -------------------------------------------------------------------- */

struct select_row {
	const char *selector;
	int cell;
	const char *error;
};

static const struct select_row select_row[] = {
	{"testcase=sync-latency", 8},
	{"fs=btrfs,nr_task=4,bs=4k", 2},
	{"bs=65536,nr_task=4t,fs=ext4", 7},
	{"nr_files=512+1024", 8},
	{"nr_files=512%2C1024", 8},
	{"fs=btrfs", -1, "cell 'fs=btrfs': several match: fio fs=btrfs fsync=8; "},
	{"testcase=fio", -1, "fio fs=ext4 nr_task=4 bs=64k fsync=8"},
	{"", -1, "cell '': several match: "},
	{"fs=xfs", -1, "cell 'fs=xfs': none matches; there are: fio fs=btrfs fsync=8; "},
	{"testcase=fio,size=16k", -1, "none matches"},
	{"fs", -1, "cell 'fs': 'NAME=VALUE,...' is expected"},
	{"sf=xfs", -1, "cell 'sf=xfs': testcase 'fio' has no parameter 'sf'; did you mean 'fs'?"},
	{"bs=4q", -1, "cell 'bs=4q': bs: '4q' is not a size"},
};

static void a_selector_names_exactly_one_cell(void **state)
{
	FB_CLEANUP(fb_plan_freep) struct fb_plan *plan = good(whole);

	for (size_t i = 0; i < FB_ARRAY_SIZE(select_row); i++) {
		const struct select_row *r = &select_row[i];
		struct fb_error err = FB_ERROR_INIT;
		int cell = -7;
		int rc = fb_plan_select(plan, r->selector, &cell, &err);

		if (!r->error) {
			if (rc < 0)
				fail_msg("'%s': %s", r->selector, err.text);
			assert_int_equal(cell, r->cell);
			continue;
		}
		assert_int_equal(rc, -1);
		assert_int_equal(cell, -7);
		assert_error(&err, FB_ERROR_USAGE, r->error);
	}
}

/* The store names cells by their key; the key selects its own cell. */
static void the_key_of_a_cell_selects_it(void **state)
{
	FB_CLEANUP(fb_plan_freep) struct fb_plan *plan = good(whole);

	for (size_t i = 0; i < plan->nr_cells; i++) {
		FB_CLEANUP(fb_freep) char *key = fb_cell_key(&plan->cells[i]);
		struct fb_error err = FB_ERROR_INIT;
		int cell;

		assert_ok(fb_plan_select(plan, key, &cell, &err), &err);
		assert_int_equal(cell, (int)i);
	}
}

int main(void)
{
	static const struct CMUnitTest plain[] = {
		cmocka_unit_test(every_key_arrives),
		cmocka_unit_test(what_is_left_out_has_its_default),
		cmocka_unit_test(lists_are_axes_and_the_first_key_changes_slowest),
		cmocka_unit_test(a_config_file_and_a_single_fragment_are_taken),
		cmocka_unit_test(machines_are_known_by_name),
		cmocka_unit_test(a_config_of_ones_own_and_a_disk_that_fits_are_left_alone),
		cmocka_unit_test(the_command_machine_needs_no_kernel),
		cmocka_unit_test(a_counter_may_drive_a_bisection),
		cmocka_unit_test(the_default_plan_is_one),
		cmocka_unit_test(a_file_is_read_and_named),
		cmocka_unit_test(what_is_excluded_is_left_out),
		cmocka_unit_test(a_default_can_be_excluded),
		cmocka_unit_test(an_included_plan_is_built_on),
		cmocka_unit_test(paths_lead_from_the_file_that_names_them),
		cmocka_unit_test(the_text_of_an_including_plan_is_whole),
		cmocka_unit_test(a_file_counts_once),
		cmocka_unit_test(a_wrong_include_is_refused_with_its_place),
		cmocka_unit_test(the_last_depth_that_is_allowed_is_read),
		cmocka_unit_test(too_much_is_not_included),
		cmocka_unit_test(a_plan_of_10_mb_is_refused),
		cmocka_unit_test(a_plan_of_nuls_is_refused),
		cmocka_unit_test(deep_nesting_is_refused),
		cmocka_unit_test(an_alias_bomb_is_refused),
		cmocka_unit_test(too_many_values_are_refused),
		cmocka_unit_test(too_many_cells_are_refused),
		cmocka_unit_test(many_exclusions_are_read_quickly),
		cmocka_unit_test(a_hundred_times_a_hundred_cells_are_a_plan),
		cmocka_unit_test(a_plan_cut_anywhere_is_read_or_refused),
		cmocka_unit_test(a_selector_names_exactly_one_cell),
		cmocka_unit_test(the_key_of_a_cell_selects_it),
	};
	struct CMUnitTest all[FB_ARRAY_SIZE(plain) + FB_ARRAY_SIZE(bad_row)];

	memcpy(all, plain, sizeof(plain));
	for (size_t i = 0; i < FB_ARRAY_SIZE(bad_row); i++)
		all[FB_ARRAY_SIZE(plain) + i] = (struct CMUnitTest){
			bad_row[i].claim, a_wrong_plan_is_refused_with_its_place, NULL, NULL,
			(void *)(uintptr_t)&bad_row[i]};
	return cmocka_run_group_tests_name("plan", all, make_files, remove_files);
}
