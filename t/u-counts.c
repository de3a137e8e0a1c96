/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Protects: the iostat.* figures of the agent are those that iostat prints for the same counters.
 * t/data/iostat/README says how its outputs were recorded.
 */
#include "t/test.h"

#include <dirent.h>

#include "src/agent/agent.h"
#include "src/util/file.h"
#include "src/util/str.h"
#include "src/util/util.h"
#include "testcases/testcase.h"

#define WORDS_MAX 32

static size_t split(char *line, char *word[WORDS_MAX])
{
	char *save = NULL;
	size_t nr = 0;

	for (char *w = strtok_r(line, " ", &save); w; w = strtok_r(NULL, " ", &save)) {
		assert_true(nr < WORDS_MAX);
		word[nr++] = w;
	}
	return nr;
}

static void take_fields(char *text, struct fb_counts *ret)
{
	char *word[WORDS_MAX];

	ret->nr_blk = (unsigned)split(text, word);
	for (unsigned i = 0; i < ret->nr_blk; i++)
		ret->blk[i] = strtoull(word[i], NULL, 10);
}

/* What iostat prints under @column is our metric "iostat.COLUMN", where we have one. */
static unsigned check_column(const char *file, const json_t *got, const char *column,
			     const char *printed)
{
	FB_CLEANUP(fb_freep)
	char *name = fb_xasprintf("iostat.%s", column + (*column == '%'));
	const json_t *v = json_object_get(got, name);
	double want = strtod(printed, NULL);

	if (!fb_metric_find(name) || !strcmp(fb_metric_find(name)->name, "iostat.*"))
		return 0;
	if (!v && want == 0)
		return 1; /* of no request there is no mean */
	if (!v || !(fabs(json_real_value(v) - want) <= 0.005 + 1e-9 * want))
		fail_msg("%s: %s is %.6f, iostat says %s", file, name, v ? json_real_value(v) : NAN,
			 printed);
	return 1;
}

static void check_file(const char *path)
{
	FB_CLEANUP(fb_str_release) struct fb_str text = FB_STR_INIT;
	struct fb_counts before = {0}, after = {0};
	struct fb_step_end step = {0};
	struct fb_error err = FB_ERROR_INIT;
	char *save = NULL, *head[WORDS_MAX];
	unsigned checked = 0;
	size_t columns = 0;
	json_t *got = NULL;
	double s;

	assert_ok(fb_file_read(path, 1 << 16, &text, &err), &err);
	for (char *l = strtok_r(text.buf, "\n", &save); l; l = strtok_r(NULL, "\n", &save)) {
		char *word[WORDS_MAX];

		if (sscanf(l, "seconds %lf", &s) == 1) {
			step.end_ns = (int64_t)(s * 1e9);
		} else if (fb_str_has_prefix(l, "before ")) {
			take_fields(l + strlen("before "), &before);
		} else if (fb_str_has_prefix(l, "after ")) {
			take_fields(l + strlen("after "), &after);
			got = fb_counts_json(&before, &after, &step);
		} else if (fb_str_has_prefix(l, "Device")) {
			columns = split(l, head);
		} else if (fb_str_has_prefix(l, "vda")) {
			assert_int_equal(split(l, word), columns);
			for (size_t i = 1; i < columns; i++)
				checked += check_column(path, got, head[i], word[i]);
		}
	}
	/* r/s rkB/s rrqm/s r_await, four of writes, f/s f_await, aqu-sz and util twice, await,
	 * areq-sz
	 */
	assert_int_equal(checked, 16);
	json_decref(got);
}

static void figures_are_those_of_iostat(void **state)
{
	FB_CLEANUP(fb_freep) char *dir = fb_xasprintf("%s/t/data/iostat", test_srcdir());
	DIR *d = opendir(dir);
	struct dirent *e;
	unsigned files = 0;

	assert_non_null(d);
	while ((e = readdir(d))) {
		FB_CLEANUP(fb_freep) char *path = fb_xasprintf("%s/%s", dir, e->d_name);

		if (*e->d_name == '.' || !strcmp(e->d_name, "README"))
			continue;
		check_file(path);
		files++;
	}
	closedir(d);
	assert_int_equal(files, 6);
}

static void what_the_kernel_does_not_count_is_left_out(void **state)
{
	const struct fb_counts none = {0}, old = {.nr_blk = 11}, new = {.nr_blk = 17};
	const struct fb_step_end step = {.end_ns = 1000000000};
	json_t *o = fb_counts_json(&none, &none, &step);

	assert_null(json_object_get(o, "iostat.w/s"));
	assert_null(json_object_get(o, "blk.write_ios"));
	json_decref(o);
	o = fb_counts_json(&old, &old, &step);
	assert_non_null(json_object_get(o, "iostat.w/s"));
	assert_null(json_object_get(o, "iostat.f/s"));
	assert_null(json_object_get(o, "blk.flush_ios"));
	json_decref(o);
	o = fb_counts_json(&new, &new, &step);
	assert_non_null(json_object_get(o, "iostat.f/s"));
	assert_null(json_object_get(o, "iostat.f_await"));
	json_decref(o);
}

/* Every figure that a guest may send has a unit and a direction in the table of metrics. */
static void every_counter_is_in_the_table(void **state)
{
	struct fb_counts before = {.nr_blk = 17, .have_stat = true}, after = before;
	const struct fb_step_end step = {.end_ns = 1000000000};
	static const char *const groups[] = {"blk.", "iostat.", "time.", "vmstat."};
	const struct fb_metric *table;
	const char *name;
	json_t *o, *v;
	size_t nr;

	for (unsigned i = 0; i < after.nr_blk; i++)
		after.blk[i] = 1;
	o = fb_counts_json(&before, &after, &step);
	json_object_foreach(o, name, v)
	{
		const struct fb_metric *m = fb_metric_find(name);

		if (!m || strcmp(m->name, name) != 0)
			fail_msg("%s is not in the table", name);
		assert_false(m->headline);
	}
	/* And the other way round: the table tells of no counter that nobody makes. */
	table = fb_metrics(&nr);
	for (size_t i = 0; i < nr; i++)
		for (size_t k = 0; k < FB_ARRAY_SIZE(groups); k++)
			if (fb_str_has_prefix(table[i].name, groups[k]) &&
			    !strchr(table[i].name, '*') && !json_object_get(o, table[i].name))
				fail_msg("%s is only in the table", table[i].name);
	json_decref(o);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(figures_are_those_of_iostat),
		cmocka_unit_test(what_the_kernel_does_not_count_is_left_out),
		cmocka_unit_test(every_counter_is_in_the_table),
	};

	return cmocka_run_group_tests_name("counts", tests, NULL, NULL);
}
