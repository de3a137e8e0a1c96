/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Drift and modes: as R has them, and how often they are seen where there are none. */
#include "t/test.h"

#include "t/draw.h"

#include "bisect/series.h"
#include "bisect/stats.h"

#define MATHLIB_STANDALONE
#include <Rmath.h>

#define NR(a) (sizeof(a) / sizeof((a)[0]))

struct drift {
	const char *name;
	double x[9];
	size_t nr;
	double tau, p;
};

/* R 4.2.2: cor.test(seq_along(x), x, method = "kendall", continuity = TRUE); tau-a for ties */
static const struct drift drift_rows[] = {
	{"R cor.test: 8 values", {3, 1, 4, 1.5, 5, 9, 2.6, 5.3}, 8, 3.0 / 7, 0.178869047619048},
	{"R cor.test: 6 rising", {1, 2, 3, 4, 5, 6}, 6, 1, 0.00277777777777777},
	{"R cor.test: 9 falling",
	 {6, 5, 4.5, 7, 3, 2, 2.5, 1, 0},
	 9,
	 -7.0 / 9,
	 0.00242504409171076},
	{"R cor.test: a step, equal values",
	 {5, 5, 5, 5, 6, 6, 6, 6},
	 8,
	 4.0 / 7,
	 0.0303828219765775},
	{"R cor.test: some equal values",
	 {1, 2, 2, 3, 1, 4, 4, 4, 5},
	 9,
	 0.6944444444444444,
	 0.00979494077453685},
};

static void drift_equals_r(void **state)
{
	const struct drift *row = *state;
	double tau, p;

	assert_int_equal(fb_series_drift(row->x, row->nr, &tau, &p), 0);
	assert_near(tau, row->tau, 1e-12);
	assert_near(p, row->p, 1e-12);
}

/* R: cor.test(1:60, x, method = "kendall", exact = TRUE); 120 values: exact = FALSE, continuity */
static void drift_of_many_values_equals_r(void **state)
{
	double x[120], p;

	for (int i = 0; i < 120; i++)
		x[i] = round(sin((i + 1) * 3.0) * 100) + (i + 1) / 7.0;
	assert_int_equal(fb_series_drift(x, 60, NULL, &p), 0);
	assert_near(p, 0.788784511645199, 1e-12);
	assert_int_equal(fb_series_drift(x, 120, NULL, &p), 0);
	assert_near(p, 0.245493073162228, 1e-12);
}

static void drift_of_too_few_or_equal_values_is_none(void **state)
{
	const double equal[] = {5, 5, 5, 5, 5, 5}, two[] = {1, 2};
	double tau, p;

	assert_int_equal(fb_series_drift(equal, 6, &tau, &p), 0);
	assert_near(tau, 0, 0);
	assert_near(p, 1, 0);
	assert_int_equal(fb_series_drift(two, 2, &tau, &p), 0);
	assert_near(p, 1, 0);
	assert_int_equal(fb_series_drift(NULL, 0, &tau, &p), 0);
	assert_near(tau, 0, 0);
	assert_near(p, 1, 0);
}

struct modes {
	const char *name;
	double x[64];
	size_t nr;
	double dip;
	bool several;
};

/* R 4.2.2, diptest 0.76-0: dip.test(x)$statistic; several: whether its p.value is below 0.01 */
static const struct modes modes_rows[] = {
	{"R dip.test: evenly spaced", {1, 2, 3, 4, 5}, 5, 0.1, false},
	{"R dip.test: two groups of 3", {1, 1.1, 1.2, 5, 5.1, 5.2}, 6, 0.2375, true},
	{"R dip.test: two values", {5, 5, 5, 6, 6, 6}, 6, 0.25, true},
	{"R dip.test: ten values",
	 {3, 1, 4, 1.5, 5, 9, 2.6, 5.3, 8.9, 7.9},
	 10,
	 0.105405405405,
	 false},
	{"R dip.test: a sine",
	 {14,  -28, 41,	  -54, 65,  -75, 84,  -91, 96,	-99, 100,  -99, 96,  -92, 85,
	  -77, 67,  -56,  44,  -30, 17,	 -3,  -11, 25,	-39, 51,   -63, 73,  -82, 89,
	  -95, 98,  -100, 99,  -97, 93,	 -86, 78,  -69, 58,  -46,  33,	-19, 5,	  9,
	  -23, 36,  -49,  61,  -71, 81,	 -88, 94,  -98, 100, -100, 98,	-94, 88,  -80},
	 60,
	 0.079684418146,
	 true},
	{"R dip.test: squares",
	 {1,   4,   9,	 16,   25,   36,   49,	 64,   81,   100,  121,	 144, 169, 196,
	  225, 256, 289, 324,  361,  400,  441,	 484,  529,  576,  625,	 676, 729, 784,
	  841, 900, 961, 1024, 1089, 1156, 1225, 1296, 1369, 1444, 1521, 1600},
	 40,
	 0.0125,
	 false},
	{"R dip.test: statfaculty of Hartigan",
	 {30, 33, 35, 36, 37, 37, 39, 39, 39, 39, 39, 40, 40, 40, 40, 41, 42, 43, 43, 43, 44,
	  44, 45, 45, 46, 46, 47, 47, 48, 48, 48, 49, 50, 50, 51, 52, 52, 53, 53, 53, 53, 53,
	  54, 54, 57, 57, 59, 60, 60, 60, 61, 61, 61, 61, 62, 62, 62, 62, 63, 66, 70, 72, 72},
	 63,
	 0.0595238095238,
	 false},
	{"R dip.test: equal values",
	 {1, 1, 2, 2, 2, 3, 7, 7, 8, 9, 9, 9, 9},
	 13,
	 0.153846153846,
	 true},
	{"R dip.test: far groups",
	 {-3, -1, 0, 0.5, 0.7, 0.9, 1.2, 30, 31, 33, 34, 35, 36},
	 13,
	 0.190981432361,
	 true},
};

static void dip_equals_r(void **state)
{
	const struct modes *row = *state;
	double dip;
	bool several;

	assert_int_equal(fb_series_modes(row->x, row->nr, &dip, &several), 0);
	assert_near(dip, row->dip, 1e-11);
	assert_int_equal(several, row->several);
}

static void too_few_values_have_one_mode(void **state)
{
	const double x[] = {1, 2, 100};
	bool several = true;
	double dip;

	assert_int_equal(fb_series_modes(x, 3, &dip, &several), 0);
	assert_false(several);
	several = true;
	assert_int_equal(fb_series_modes(NULL, 0, &dip, &several), 0);
	assert_false(several);
}

static size_t trials_of(size_t usual)
{
	const char *env = getenv("FB_SIM_TRIALS");

	return env ? strtoul(env, NULL, 10) : usual;
}

/* One mode is called several, and a standing series drifting, in 1 % of all cases at most. */
static void seldom_seen_where_there_is_none(void **state)
{
	static const size_t sizes[] = {4, 6, 12, 25, 60};
	static const enum draw_shape shapes[] = {DRAW_NORMAL, DRAW_T3, DRAW_LOGNORMAL};
	struct draw d = {20261130};
	size_t trials = trials_of(1500);

	for (size_t s = 0; s < NR(shapes); s++)
		for (size_t k = 0; k < NR(sizes); k++) {
			size_t nr = sizes[k], modes = 0, drifts = 0;
			double x[60], p;
			bool several;

			for (size_t t = 0; t < trials; t++) {
				for (size_t i = 0; i < nr; i++)
					x[i] = draw_noise(&d, shapes[s]);
				assert_int_equal(fb_series_modes(x, nr, NULL, &several), 0);
				assert_int_equal(fb_series_drift(x, nr, NULL, &p), 0);
				modes += several;
				drifts += p <= 0.01;
			}
			print_message("# %s, %zu boots: several modes %zu, drift %zu of %zu\n",
				      draw_shape_name[shapes[s]], nr, modes, drifts, trials);
			assert_true(pbinom((double)modes - 1, (double)trials, 0.01, 0, 0) > 0.001);
			assert_true(pbinom((double)drifts - 1, (double)trials, 0.01, 0, 0) > 0.001);
		}
}

/* Two modes 6 within-mode SDs apart, and a drift by 2 SDs over the series: seen by how many? */
static void seen_where_there_is_one(void **state)
{
	struct draw d = {42};
	size_t trials = trials_of(500), modes = 0, drifts = 0;
	double x[24], y[24], p;
	bool several;

	for (size_t t = 0; t < trials; t++) {
		for (size_t i = 0; i < NR(x); i++) {
			x[i] = draw_normal(&d) + (draw_uniform(&d) < 0.5 ? 6 : 0);
			y[i] = draw_normal(&d) + 2.0 * (double)i / (double)NR(y);
		}
		assert_int_equal(fb_series_modes(x, NR(x), NULL, &several), 0);
		assert_int_equal(fb_series_drift(y, NR(y), NULL, &p), 0);
		modes += several;
		drifts += p <= 0.01;
	}
	print_message("# 24 boots: two modes seen in %zu, drift in %zu of %zu\n", modes, drifts,
		      trials);
	assert_true(modes > trials * 40 / 100);
	assert_true(drifts > trials * 30 / 100);
}

int main(void)
{
	struct CMUnitTest tests[40] = {
		cmocka_unit_test(drift_of_many_values_equals_r),
		cmocka_unit_test(drift_of_too_few_or_equal_values_is_none),
		cmocka_unit_test(too_few_values_have_one_mode),
		cmocka_unit_test(seldom_seen_where_there_is_none),
		cmocka_unit_test(seen_where_there_is_one),
	};
	size_t nr = 0;

	while (tests[nr].name)
		nr++;
	for (size_t i = 0; i < NR(drift_rows); i++)
		tests[nr++] = (struct CMUnitTest){drift_rows[i].name, drift_equals_r, NULL, NULL,
						  (void *)(uintptr_t)&drift_rows[i]};
	for (size_t i = 0; i < NR(modes_rows); i++)
		tests[nr++] = (struct CMUnitTest){modes_rows[i].name, dip_equals_r, NULL, NULL,
						  (void *)(uintptr_t)&modes_rows[i]};
	/* The macro takes the size of an array, and this one is not full. */
	return _cmocka_run_group_tests("series", tests, nr, NULL, NULL);
}
