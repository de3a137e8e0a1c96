/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Protects: a .dag file is read whole and exactly, or refused with file, line and what was
 * expected. */
#include "t/test.h"

#include "src/controller/dagfile.h"
#include "src/util/file.h"
#include "src/util/util.h"

static void load(const char *name, struct fb_dagfile *ret)
{
	FB_CLEANUP(fb_freep) char *path = fb_xasprintf("%s/t/data/dags/%s", test_srcdir(), name);
	struct fb_error err = FB_ERROR_INIT;

	assert_ok(fb_dagfile_load(path, ret, &err), &err);
}

static void a_file_is_its_graph(void **state)
{
	static const char text[] = "# 4 commits of x a..b, oldest first\n\n0\n0\n1 2\n";
	static const uint32_t want[][2] = {{0}, {1}, {1}, {2, 3}};
	struct fb_error err = FB_ERROR_INIT;
	struct fb_dagfile f;

	assert_ok(fb_dagfile_parse(text, strlen(text), "x.dag", &f, &err), &err);
	assert_string_equal(f.about, "4 commits of x a..b, oldest first");
	assert_int_equal(f.nr_commits, 4);
	assert_int_equal(f.nr_merges, 1);
	assert_int_equal(fb_dag_nr(f.dag), 5);
	for (uint32_t v = 1; v < 5; v++) {
		size_t nr;
		const uint32_t *parents = fb_dag_parents(f.dag, v, &nr);

		assert_int_equal(nr, v == 4 ? 2 : 1);
		for (size_t i = 0; i < nr; i++)
			assert_int_equal(parents[i], want[v - 1][i]);
	}
	fb_dagfile_release(&f);
}

static void the_real_graphs_are_read(void **state)
{
	/* By tail -n +2, wc -l, and grep -c " ". */
	static const struct {
		const char *name;
		uint32_t commits, merges;
	} rows[] = {
		{"git-v2.44-v2.45.dag", 729, 185},
		{"git-v2.30-v2.45.dag.xz", 11571, 3213},
		{"git-v1.0-v2.55.dag.xz", 78418, 20898},
	};

	for (size_t i = 0; i < FB_ARRAY_SIZE(rows); i++) {
		struct fb_dagfile f;

		load(rows[i].name, &f);
		assert_int_equal(f.nr_commits, rows[i].commits);
		assert_int_equal(f.nr_merges, rows[i].merges);
		assert_int_equal(fb_dag_nr(f.dag), rows[i].commits + 1);
		fb_dagfile_release(&f);
	}
}

static void a_line_needs_no_file(void **state)
{
	struct fb_error err = FB_ERROR_INIT;
	struct fb_dagfile f;

	assert_ok(fb_dagfile_load("line:3", &f, &err), &err);
	assert_int_equal(fb_dag_nr(f.dag), 4);
	for (uint32_t v = 1; v < 4; v++) {
		size_t nr;

		assert_int_equal(*fb_dag_parents(f.dag, v, &nr), v - 1);
		assert_int_equal(nr, 1);
	}
	fb_dagfile_release(&f);
	assert_int_equal(fb_dagfile_load("line:0", &f, &err), -1);
	assert_error(&err, FB_ERROR_USAGE, "line:N");
	assert_int_equal(fb_dagfile_load("line:3x", &f, &err), -1);
	assert_error(&err, FB_ERROR_USAGE, "3x");
}

static void what_is_wrong_is_named_with_its_line(void **state)
{
	static const struct {
		const char *text, *error;
	} rows[] = {
		{"", "x:1: expected '# N commits ...'"},
		{"# 1 commits", "x:1: expected '# N commits ...', not '# 1 commits'"},
		{"0\n", "x:1: expected '# N commits ...', not '0'"},
		{"# one commits\n\n", "x:1: expected '# N commits"},
		{"# 01 commits\n\n", "x:1: expected '# N commits"},
		{"# 0 commits\n", "x:1: expected 1 to 4000000 commits, not 0"},
		{"# 4294967295 commits\n\n", "x:1: expected 1 to 4000000 commits"},
		{"# 99999999999 commits\n\n", "x:1: expected '# N commits"},
		{"# 2 commits\n\n", "x:3: expected the line of commit 1 of 2"},
		{"# 2 commits\n\n0", "x:3: expected the line of commit 1 of 2 to end"},
		{"# 2 commits\n\n0\n1\n", "x:4: expected the end after 2 commits"},
		{"# 2 commits\n\n1\n", "x:3: expected parents before commit 1, not 1"},
		{"# 1 commits\n0\n", "x:2: expected parents before commit 0, not 0"},
		{"# 2 commits\n\n-1\n",
		 "x:3: expected indices with one blank between them, not '-1'"},
		{"# 2 commits\n\n00\n", "x:3: expected indices"},
		{"# 2 commits\n\n0 \n", "x:3: expected indices"},
		{"# 2 commits\n\n 0\n", "x:3: expected indices"},
		{"# 2 commits\n\n0\r\n", "x:3: expected indices"},
		{"# 3 commits\n\n0\n0  1\n", "x:4: expected indices"},
		{"# 2 commits\n\n0 0\n", "x:3: expected each parent once, not 0 again"},
		{"# 2 commits\n\n0 aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n",
		 "not 'aaaaaaaaaaaaaaaaaaaa...'"},
		{"# 3 commits\n\n0\n0\n",
		 "x:3: expected an ancestor of the last commit, which commit 1 is not"},
		{"\xfd"
		 "7zXZ\0",
		 "x: an xz file that"},
	};

	for (size_t i = 0; i < FB_ARRAY_SIZE(rows); i++) {
		struct fb_error err = FB_ERROR_INIT;
		struct fb_dagfile f = {.nr_commits = 77};
		/* The last row holds a NUL. */
		size_t len = i + 1 == FB_ARRAY_SIZE(rows) ? 6 : strlen(rows[i].text);

		assert_int_equal(fb_dagfile_parse(rows[i].text, len, "x", &f, &err), -1);
		assert_error(&err, FB_ERROR_INPUT, rows[i].error);
		assert_int_equal(f.nr_commits, 77);
	}
}

static void a_damaged_archive_is_refused(void **state)
{
	FB_CLEANUP(fb_freep)
	char *path = fb_xasprintf("%s/t/data/dags/git-v2.30-v2.45.dag.xz", test_srcdir());
	FB_CLEANUP(fb_str_release) struct fb_str data = FB_STR_INIT;
	struct fb_error err = FB_ERROR_INIT;
	struct fb_dagfile f;

	assert_ok(fb_file_read(path, 1 << 20, &data, &err), &err);
	assert_int_equal(fb_dagfile_parse(data.buf, data.len / 2, "half.xz", &f, &err), -1);
	assert_error(&err, FB_ERROR_INPUT, "half.xz: an xz file that ends too early");
	data.buf[data.len / 2] ^= 1;
	assert_int_equal(fb_dagfile_parse(data.buf, data.len, "bit.xz", &f, &err), -1);
	assert_error(&err, FB_ERROR_INPUT, "bit.xz: a damaged xz file");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_is_its_graph),
		cmocka_unit_test(the_real_graphs_are_read),
		cmocka_unit_test(a_line_needs_no_file),
		cmocka_unit_test(what_is_wrong_is_named_with_its_line),
		cmocka_unit_test(a_damaged_archive_is_refused),
	};

	return cmocka_run_group_tests_name("dagfile", tests, NULL, NULL);
}
