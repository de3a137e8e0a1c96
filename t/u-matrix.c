/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Many cells at once: false alarms, planted changes; and tables byte for byte. */
#include "t/test.h"

#include "t/draw.h"

#include "src/controller/matrix.h"
#include "src/util/util.h"

#define CELLS 24
#define BOOTS 12

static const char plan_text[] =
	"machine: command\n"
	"confidence: 95%\n"
	"min_effect: 0.1%\n"
	"matrix:\n"
	"  - testcase: command\n"
	"    command: [c01, c02, c03, c04, c05, c06, c07, c08, c09, c10, c11, c12,\n"
	"              c13, c14, c15, c16, c17, c18, c19, c20, c21, c22, c23, c24]\n";

static struct fb_plan *plan;

static int read_plan(void **state)
{
	struct fb_error err = FB_ERROR_INIT;

	return fb_plan_parse(plan_text, strlen(plan_text), "plan.yaml", "/nonexistent", &plan,
			     &err);
}

static int free_plan(void **state)
{
	fb_plan_free(plan);
	return 0;
}

struct made {
	struct fb_measured m;
	struct fb_store_boot boots[BOOTS];
	struct fb_store_sample samples[BOOTS][CELLS];
	char *keys[CELLS];
};

/* Cells of one boot share a part of their noise, as in real boots. */
static void make(struct made *made, const double *factor, struct draw *d)
{
	static char metric[] = "score", end[] = "ok", env[] = "e";

	memset(made, 0, sizeof(*made));
	made->m.boots = made->boots;
	made->m.nr_boots = BOOTS;
	for (size_t c = 0; c < CELLS; c++)
		made->keys[c] = fb_cell_key(&plan->cells[c]);
	for (size_t i = 0; i < BOOTS; i++) {
		double shared = draw_normal(d);

		made->boots[i] = (struct fb_store_boot){
			.env = env, .end = end, .samples = made->samples[i], .nr_samples = CELLS};
		for (size_t c = 0; c < CELLS; c++)
			made->samples[i][c] = (struct fb_store_sample){
				.cell = made->keys[c],
				.metric = metric,
				.value = 100 * factor[c] *
					 exp(0.01 * (0.7 * shared + 0.7 * draw_normal(d)))};
	}
}

static void unmake(struct made *made)
{
	for (size_t c = 0; c < CELLS; c++)
		free(made->keys[c]);
}

/* Which cells are called different of two made kernels. */
static void compare(const double *factor, struct draw *d, bool *ret_differs)
{
	static struct made a, b;
	double same[CELLS];
	struct fb_measured both[2];
	struct fb_matrix m;

	for (size_t c = 0; c < CELLS; c++)
		same[c] = 1;
	make(&a, same, d);
	make(&b, factor ? factor : same, d);
	both[0] = a.m;
	both[1] = b.m;
	fb_matrix_fill(&(struct fb_matrix_spec){.plan = plan, .measured = both, .nr = 2}, &m);
	assert_int_equal(m.nr_cells, CELLS);
	assert_int_equal(m.nr_compared, CELLS);
	for (size_t c = 0; c < CELLS; c++)
		ret_differs[c] = m.cells[c].rows[0].changes[1].verdict == FB_MATRIX_DIFFERS;
	fb_matrix_release(&m);
	unmake(&a);
	unmake(&b);
}

/*
 * The plan allows 5 % of matrices to have any discovery when nothing differs; above it two
 * standard errors. The evidence is cautious: 0 of these have one, and 11 when each comparison
 * stands for itself, so the bound alone would not notice that nothing is controlled.
 */
static void equal_kernels_rarely_differ_anywhere(void **state)
{
	enum { MATRICES = 200 };
	struct draw d = {20261130};
	int any = 0;

	for (int i = 0; i < MATRICES; i++) {
		bool differs[CELLS], one = false;

		compare(NULL, &d, differs);
		for (size_t c = 0; c < CELLS; c++)
			one = one || differs[c];
		any += one;
	}
	print_message("%d of %d matrices with a discovery\n", any, MATRICES);
	assert_true(any <= MATRICES * (0.05 + 2 * sqrt(0.05 * 0.95 / MATRICES)));
	assert_true(any < 5);
}

static void planted_changes_are_found_and_no_others(void **state)
{
	enum { MATRICES = 40 };
	struct draw d = {5};
	double factor[CELLS];
	int found = 0, wrong = 0;

	for (size_t c = 0; c < CELLS; c++)
		factor[c] = 1;
	factor[2] = 0.8;
	factor[9] = 1.08;
	factor[16] = 0.95;
	for (int i = 0; i < MATRICES; i++) {
		bool differs[CELLS];

		compare(factor, &d, differs);
		for (size_t c = 0; c < CELLS; c++)
			if (factor[c] != 1)
				found += differs[c];
			else
				wrong += differs[c];
	}
	print_message("%d of %d found, %d wrong\n", found, 3 * MATRICES, wrong);
	assert_int_equal(found, 3 * MATRICES);
	assert_true(wrong <= 0.05 * found);
}

static void more_boots_are_asked_for_where_they_help(void **state)
{
	struct draw d = {7};
	double factor[CELLS];
	struct made a, b;
	struct fb_measured both[2];
	struct fb_matrix m;
	bool left_out[2];

	for (size_t c = 0; c < CELLS; c++)
		factor[c] = 1;
	make(&a, factor, &d);
	factor[3] = 0.9;
	make(&b, factor, &d);
	both[0] = a.m;
	both[1] = b.m;
	both[0].nr_boots = 4;
	both[1].nr_boots = 3;
	fb_matrix_fill(&(struct fb_matrix_spec){.plan = plan, .measured = both, .nr = 2}, &m);
	assert_int_equal(m.cells[3].rows[0].changes[1].verdict, FB_MATRIX_OPEN);
	assert_in_range(m.cells[3].rows[0].changes[1].more, 1, 12);
	assert_true(m.cells[4].rows[0].changes[1].more == 0 ||
		    m.cells[4].rows[0].changes[1].more > 50);
	assert_true(fb_matrix_left_out(&m, 20, left_out));
	assert_false(left_out[0] || left_out[1]);
	assert_false(fb_matrix_left_out(&m, 3, left_out));
	assert_true(left_out[0] && left_out[1]);
	fb_matrix_release(&m);
	unmake(&a);
	unmake(&b);
}

#define BASE "c7f98650557ad6d6ab6f7bd4b6ee3ec57a9ef5bb"
#define NEW  "b05645404a7d4f798a510154272fd2d8f2a3a4f5"

/* A row of two kernels; NAN ends the values. */
struct row {
	char metric[40];
	double values[2][4];
};

static const struct row rows[] = {
	{"fsmark.files_per_sec", {{2700, 2711, 2722, NAN}, {4700, 4916, 5132, NAN}}},
	{"perf-profile.children.cycles-pp.foo", {{0.515, 0.545, NAN}, {0.20, 0.22, NAN}}},
	{"fsmark.app_overhead", {{2e8, 2e8, NAN}, {2.5e8, 2.5e8, NAN}}},
	{"mpstat.cpu.all.idle%", {{40, 40, NAN}, {45.5, 45.5, NAN}}},
	{"mpstat.none", {{0, 0, NAN}, {3, 3, NAN}}},
	{"mpstat.single", {{-3, NAN}, {1234.9, NAN}}},
};

/* By hand from the printf rules of lkp-tests' lib/compare.rb; blanks at line ends are real. */
static const char lkp_want[] =
	"====================================================================================="
	"====\n"
	"fs/testcase:\n"
	"  ext4/fsmark\n"
	"\n"
	"commit: \n"
	"  c7f98650557ad6d6ab6f7bd4b6ee3ec57a9ef5bb\n"
	"  b05645404a7d4f798a510154272fd2d8f2a3a4f5\n"
	"\n"
	"c7f98650557ad6d6 b05645404a7d4f798a510154272 \n"
	"---------------- --------------------------- \n"
	"       fail:runs  %reproduction    fail:runs\n"
	"           |             |             |    \n"
	"           :6           33%           2:4     last_state.panic\n"
	"         %stddev     %change         %stddev\n"
	"             \\          |                \\  \n"
	"     2e+08           +25.0%    2.5e+08        fsmark.app_overhead\n"
	"      2711           +81.3%       4916 ±  3%  fsmark.files_per_sec\n"
	"      0.53 ±  2%      -0.3        0.21 ±  4%  perf-profile.children.cycles-pp.foo\n"
	"     40.00            +5.5       45.50        mpstat.cpu.all.idle%\n"
	"      0.00         +3e+102%       3.00        mpstat.none\n"
	"     -3.00 ± 33%  -41263.3%       1234        mpstat.single\n"
	"\n";

static void lkp_byte_for_byte(void **state)
{
	enum { ROWS = FB_ARRAY_SIZE(rows) };
	static char base[] = BASE, new[] = NEW, fs[] = "fs", testcase[] = "testcase",
		    ext4[] = "ext4", fsmark[] = "fsmark", unbuilt[] = BASE;
	struct fb_matrix_failure panic = {"panic", NULL, 2};
	struct fb_matrix_kernel kernels[] = {
		{.commit = base, .boots = 6},
		{.commit = unbuilt}, /* lkp knows nothing of it */
		{.commit = new, .boots = 4, .failures = &panic, .nr_failures = 1}};
	char *axes[] = {fs, testcase, NULL}, *values[] = {ext4, fsmark, NULL};
	struct row copy[ROWS];
	struct fb_matrix_row r[ROWS] = {{NULL}};
	double *v[ROWS][3];
	size_t nr[ROWS][3] = {{0}};
	struct fb_matrix_cell cell = {.axes = axes,
				      .axis_values = values,
				      .testcase = "fsmark",
				      .rows = r,
				      .nr_rows = ROWS};
	struct fb_matrix m = {.kernels = kernels, .nr_kernels = 3, .cells = &cell, .nr_cells = 1};
	struct fb_str out = FB_STR_INIT;

	memcpy(copy, rows, sizeof(copy));
	for (size_t i = 0; i < ROWS; i++) {
		r[i].metric = copy[i].metric;
		r[i].values = v[i];
		r[i].nr_values = nr[i];
		for (size_t k = 0; k < 2; k++) {
			v[i][2 * k] = copy[i].values[k];
			while (!isnan(copy[i].values[k][nr[i][2 * k]]))
				nr[i][2 * k]++;
		}
		v[i][1] = NULL;
	}
	fb_matrix_lkp(&m, &out);
	assert_string_equal(fb_str_cstr(&out), lkp_want);
	fb_str_release(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(equal_kernels_rarely_differ_anywhere),
		cmocka_unit_test(planted_changes_are_found_and_no_others),
		cmocka_unit_test(more_boots_are_asked_for_where_they_help),
		cmocka_unit_test(lkp_byte_for_byte),
	};

	return cmocka_run_group_tests_name("matrix", tests, read_plan, free_plan);
}
