/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The noise floor: boots needed as R has them, what boots cost, drift in the order of time. */
#include "t/test.h"

#include <jansson.h>

#include "src/controller/floor.h"

#define BOOTS 8

static char cell[] = "testcase=command", metric[] = "score", end[] = "ok";

struct made {
	struct fb_measured m;
	struct fb_store_boot boots[BOOTS];
	struct fb_store_sample samples[BOOTS][2];
};

/* One or two runs a boot, those @apart; stored in the order of the seeds, not of time. */
static void make(struct made *made, const double *values, unsigned runs, double apart)
{
	memset(made, 0, sizeof(*made));
	made->m.boots = made->boots;
	made->m.nr_boots = BOOTS;
	for (unsigned i = 0; i < BOOTS; i++) {
		made->boots[i] = (struct fb_store_boot){.id = BOOTS - i,
							.end = end,
							.wall_ns = 7000000000,
							.samples = made->samples[i],
							.nr_samples = runs};
		for (unsigned k = 0; k < runs; k++)
			made->samples[i][k] = (struct fb_store_sample){
				.cell = cell,
				.metric = metric,
				.run = k,
				.value = values[i] + apart * ((double)k - (runs - 1) / 2.0)};
	}
}

static const double values[BOOTS] = {100, 101.5, 99, 100.7, 98.9, 102, 100.2, 99.4};
static const struct fb_floor_cost unknown = {NAN, NAN};

/*
 * R 4.2.2: s <- sd(log(values)); ceiling(power.t.test(delta = log1p(E), sd = s, sig.level = .01,
 * power = .9, strict = TRUE)$n) is 40, 12, 4 for E of 1, 2, 5 %; with n = 8 and no delta
 * expm1($delta) is 0.0251222. A sequential test shows nothing with fewer than 6 boots a side.
 */
static void boots_needed_as_by_r(void **state)
{
	struct made made;
	struct fb_floor f;

	make(&made, values, 1, 0);
	assert_int_equal(fb_floor_of(&made.m, 1, cell, metric, 0.01, &unknown, &f), 0);
	assert_true(f.log_scale);
	assert_near(f.mean, 100.2125, 1e-9);
	assert_near(f.sd, 0.0113514799786, 1e-9);
	assert_near(f.floor, 0.0251222, 0.0251222 / 500);
	assert_int_equal(f.need[0], 40);
	assert_int_equal(f.need[1], 12);
	assert_int_equal(f.need[2], 6);
	assert_int_equal(f.plan.runs, 0);
	assert_int_equal(f.split.part[FB_VARIANCE_RUN].state, FB_VARIANCE_MERGED);
	assert_false(f.drifts || f.several_modes);

	made.m.nr_boots = 5; /* too few to show anything */
	assert_int_equal(fb_floor_of(&made.m, 1, cell, metric, 0.01, &unknown, &f), 0);
	assert_true(isnan(f.floor) && f.sd > 0);
	assert_int_equal(fb_floor_of(&made.m, 1, cell, "other", 0.01, &unknown, &f), -1);
}

static void drift_is_seen_in_the_order_of_time(void **state)
{
	static const double rising[BOOTS] = {1, 2, 3, 4, 5, 6, 7, 8};
	static const double modes[BOOTS] = {1, 9, 1.1, 9.1, 1.2, 9.2, 1.3, 9.3};
	struct made made;
	struct fb_floor f;

	make(&made, rising, 1, 0);
	assert_int_equal(fb_floor_of(&made.m, 1, cell, metric, 0.01, &unknown, &f), 0);
	assert_true(f.drifts && f.tau == -1);
	make(&made, modes, 1, 0);
	assert_int_equal(fb_floor_of(&made.m, 1, cell, metric, 0.01, &unknown, &f), 0);
	assert_true(f.several_modes && !f.drifts);
}

/* A boot of 7 s that spoke after 3 s has 2 s for each of two runs. */
static void runs_are_worth_their_time_where_they_are_noisy(void **state)
{
	struct made made;
	struct fb_floor_cost cost;
	struct fb_floor f;
	json_t *facts = json_pack("{s:I}", "agent_ns", (json_int_t)3000000000);

	make(&made, values, 2, 8);
	for (int i = 0; i < BOOTS; i++)
		made.boots[i].facts = facts;
	cost = fb_floor_cost(&made.m, 1);
	assert_near(cost.boot, 3, 1e-9);
	assert_near(cost.run, 2, 1e-9);
	assert_int_equal(fb_floor_of(&made.m, 1, cell, metric, 0.01, &cost, &f), 0);
	assert_int_equal(f.split.part[FB_VARIANCE_RUN].state, FB_VARIANCE_ESTIMATED);
	assert_true(f.plan.runs > 2);
	make(&made, values, 2, 0.01);
	assert_int_equal(fb_floor_of(&made.m, 1, cell, metric, 0.01, &cost, &f), 0);
	assert_int_equal(f.plan.runs, 1);
	made.boots[0].facts = NULL;
	json_decref(facts);
}

/* R 4.2.2: sd(-values) / mean(values), and power.t.test() as above with sd(-values): 11.297. */
static void values_without_a_logarithm(void **state)
{
	double x[BOOTS];
	struct made made;
	struct fb_floor f;

	for (int i = 0; i < BOOTS; i++)
		x[i] = -values[i];
	make(&made, x, 1, 0);
	assert_int_equal(fb_floor_of(&made.m, 1, cell, metric, 0.01, &unknown, &f), 0);
	assert_false(f.log_scale);
	assert_near(f.sd, 0.01130782, 1e-8);
	assert_int_equal(f.need[1], 12);
	memset(x, 0, sizeof(x));
	make(&made, x, 1, 0);
	assert_int_equal(fb_floor_of(&made.m, 1, cell, metric, 0.01, &unknown, &f), 0);
	assert_true(isnan(f.sd) && isnan(f.floor));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(boots_needed_as_by_r),
		cmocka_unit_test(drift_is_seen_in_the_order_of_time),
		cmocka_unit_test(runs_are_worth_their_time_where_they_are_noisy),
		cmocka_unit_test(values_without_a_logarithm),
	};

	return cmocka_run_group_tests_name("floor", tests, NULL, NULL);
}
