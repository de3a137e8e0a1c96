/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The variance split and what follows from it: as R has it, by definition, by simulation. */
#include "t/test.h"

#include "t/draw.h"

#include "bisect/stats.h"
#include "bisect/variance.h"

#define MATHLIB_STANDALONE
#include <Rmath.h>

#define NR(a) (sizeof(a) / sizeof((a)[0]))

static struct fb_variance split(const struct fb_variance_run *runs, size_t nr)
{
	struct fb_variance v;

	assert_int_equal(fb_variance_split(runs, nr, false, 0.95, &v), 0);
	return v;
}

/* 3 builds x 2 boots x 3 runs */
static const double balanced[18] = {10.1, 10.4, 9.9,  10.9, 11.2, 11.0, 12.0, 12.3, 12.1,
				    11.2, 11.5, 11.9, 9.0,  9.4,  9.1,	10.2, 9.8,  10.1};

/*
 * R 4.2.2: mean squares of aov(v ~ build/boot); lme(v ~ 1, random = ~1 | build/boot) of nlme
 * 3.1-162 gives the same variances to 5 digits;
 * t.test(tapply(v, build, mean))$conf.int. The intervals: Ting et al.'s formulas written in
 * R with its qf() and qchisq().
 */
static void balanced_data_equal_r(void **state)
{
	struct fb_variance_run runs[18];
	struct fb_variance v;

	for (uint32_t i = 0; i < 18; i++)
		runs[i] = (struct fb_variance_run){i / 6, i / 3 % 2, balanced[i]};
	v = split(runs, 18);
	assert_int_equal(v.nr_builds, 3);
	assert_int_equal(v.nr_boots, 6);
	assert_int_equal(v.part[FB_VARIANCE_BUILD].df, 2);
	assert_int_equal(v.part[FB_VARIANCE_BOOT].df, 3);
	assert_int_equal(v.part[FB_VARIANCE_RUN].df, 12);
	assert_near(v.part[FB_VARIANCE_BUILD].var, 1.09277777777778, 1e-9);
	assert_near(v.part[FB_VARIANCE_BOOT].var, 0.302407407407407, 1e-9);
	assert_near(v.part[FB_VARIANCE_RUN].var, 0.0533333333333333, 1e-9);
	assert_near(v.part[FB_VARIANCE_BUILD].lo, 0, 1e-9);
	assert_near(v.part[FB_VARIANCE_BUILD].hi, 49.2868433154609, 1e-9);
	assert_near(v.part[FB_VARIANCE_BOOT].lo, 0.0832187914092497, 1e-9);
	assert_near(v.part[FB_VARIANCE_BOOT].hi, 4.43168299463854, 1e-9);
	assert_near(v.part[FB_VARIANCE_RUN].lo, 0.0274246565682741, 1e-9);
	assert_near(v.part[FB_VARIANCE_RUN].hi, 0.145329413296155, 1e-9);
	assert_near(v.mean_lo, 7.89168484655197, 1e-9);
	assert_near(v.mean_hi, 13.45275959789247, 1e-9);
}

/* By hand: boot means 6, 9, 6; within-boot squares 2 + 0 + 8 over 3 degrees of freedom. */
static void unbalanced_boots_by_hand(void **state)
{
	static const struct fb_variance_run runs[] = {{7, 1, 5}, {7, 1, 6}, {7, 1, 7},
						      {7, 2, 9}, {7, 3, 4}, {7, 3, 8}};
	struct fb_variance v = split(runs, NR(runs));
	double run = 10.0 / 3, inverse = (1.0 / 3 + 1 + 1.0 / 2) / 3;

	assert_near(v.part[FB_VARIANCE_RUN].var, run, 1e-12);
	assert_near(v.part[FB_VARIANCE_BOOT].raw, 3 - run * inverse, 1e-12);
	assert_int_equal(v.part[FB_VARIANCE_BUILD].state, FB_VARIANCE_UNKNOWN);
	assert_true(isnan(v.part[FB_VARIANCE_BUILD].var));
	assert_near(v.mean, 7, 1e-12);
	assert_near(v.mean_hi, 7 + qt(0.975, 2, 1, 0), 1e-12); /* SD sqrt(3) over sqrt(3) */
}

static void what_was_not_repeated_is_merged_or_unknown(void **state)
{
	static const struct fb_variance_run one_run[] = {{0, 0, 1}, {0, 1, 3}, {0, 2, 5}};
	static const struct fb_variance_run one_boot[] = {{0, 0, 1}, {0, 0, 3}, {1, 0, 5},
							  {1, 0, 9}, {2, 0, 2}, {2, 0, 4}};
	static const struct fb_variance_run one_each[] = {{0, 0, 1}, {1, 0, 3}};
	struct fb_variance v = split(one_run, NR(one_run));

	assert_int_equal(v.part[FB_VARIANCE_RUN].state, FB_VARIANCE_MERGED);
	assert_int_equal(v.part[FB_VARIANCE_BOOT].state, FB_VARIANCE_ESTIMATED);
	assert_near(v.part[FB_VARIANCE_BOOT].var, 4, 1e-12);
	assert_int_equal(v.part[FB_VARIANCE_BUILD].state, FB_VARIANCE_UNKNOWN);

	v = split(one_boot, NR(one_boot)); /* means 2, 7, 3; within 2, 8, 2 */
	assert_near(v.part[FB_VARIANCE_RUN].var, 4, 1e-12);
	assert_int_equal(v.part[FB_VARIANCE_BOOT].state, FB_VARIANCE_MERGED);
	assert_near(v.part[FB_VARIANCE_BUILD].var, 7 - 4.0 / 2, 1e-12);

	v = split(one_each, NR(one_each));
	assert_int_equal(v.part[FB_VARIANCE_RUN].state, FB_VARIANCE_MERGED);
	assert_int_equal(v.part[FB_VARIANCE_BOOT].state, FB_VARIANCE_MERGED);
	assert_near(v.part[FB_VARIANCE_BUILD].var, 2, 1e-12);

	v = split(one_each, 1);
	for (int l = 0; l < FB_VARIANCE_LEVELS; l++)
		assert_int_equal(v.part[l].state, FB_VARIANCE_UNKNOWN);
	assert_true(isinf(v.mean_hi));

	v = split(one_boot, 2); /* two runs of one boot say nothing about the next boot */
	assert_int_equal(v.part[FB_VARIANCE_RUN].state, FB_VARIANCE_ESTIMATED);
	assert_int_equal(v.part[FB_VARIANCE_BOOT].state, FB_VARIANCE_UNKNOWN);
	assert_true(isinf(v.mean_hi));
}

static void negative_estimates_are_cut_and_say_so(void **state)
{
	/* Boots' means are equal and their runs are not; the same of builds' means and boots. */
	static const struct fb_variance_run boots[] = {{0, 0, 1}, {0, 0, 3}, {0, 1, 0}, {0, 1, 4}};
	static const struct fb_variance_run builds[] = {{0, 0, 1}, {0, 1, 3}, {1, 0, 0}, {1, 1, 4}};
	struct fb_variance v = split(boots, 4);

	assert_int_equal(v.part[FB_VARIANCE_BOOT].state, FB_VARIANCE_TRUNCATED);
	assert_near(v.part[FB_VARIANCE_BOOT].raw, -5.0 / 2, 1e-12);
	assert_near(v.part[FB_VARIANCE_BOOT].var, 0, 0);
	assert_near(v.part[FB_VARIANCE_BOOT].lo, 0, 0);
	v = split(builds, 4);
	assert_int_equal(v.part[FB_VARIANCE_BUILD].state, FB_VARIANCE_TRUNCATED);
	assert_near(v.part[FB_VARIANCE_BUILD].raw, -5.0 / 2, 1e-12);
	assert_near(v.part[FB_VARIANCE_BUILD].var, 0, 0);
	assert_near(v.part[FB_VARIANCE_BUILD].lo, 0, 0);
}

static void equal_values_have_no_variance(void **state)
{
	struct fb_variance_run runs[12];
	struct fb_variance v;

	for (uint32_t i = 0; i < 12; i++)
		runs[i] = (struct fb_variance_run){i / 6, i / 3, 4096.1};
	v = split(runs, 12);
	for (int l = 0; l < FB_VARIANCE_LEVELS; l++) {
		assert_int_equal(v.part[l].state, FB_VARIANCE_ESTIMATED);
		assert_near(v.part[l].var, 0, 0);
		assert_near(v.part[l].hi, 0, 0);
	}
	assert_near(v.mean_lo, 4096.1, 0);
	assert_near(v.mean_hi, 4096.1, 0);
}

static void log_scale_is_that_of_ratios(void **state)
{
	static const struct fb_variance_run runs[] = {{0, 0, 100}, {0, 1, 110}, {0, 2, 121}};
	static const struct fb_variance_run zero[] = {{0, 0, 1}, {0, 1, 0}};
	static const struct fb_variance_run nan[] = {{0, 0, 1}, {0, 1, NAN}};
	struct fb_variance v;

	assert_int_equal(fb_variance_split(runs, 3, true, 0.95, &v), 0);
	assert_near(v.part[FB_VARIANCE_BOOT].var, pow(log(1.1), 2), 1e-12);
	assert_near(v.mean, log(110), 1e-12);
	assert_int_equal(fb_variance_split(zero, 2, true, 0.95, &v), -1);
	assert_int_equal(fb_variance_split(zero, 2, false, 0.95, &v), 0);
	assert_int_equal(fb_variance_split(nan, 2, false, 0.95, &v), -1);
	assert_int_equal(fb_variance_split(zero, 0, false, 0.95, &v), -1);
}

struct design {
	const char *name;
	double build, boot, run; /* variances */
	unsigned builds, boots, runs;
	bool unbalanced; /* every second boot has one run, every second build two boots */
	double rate;	 /* of intervals that miss; 0: 5 % */
};

#define MAX_RUNS 1024

static size_t make_runs(const struct design *s, struct draw *d, struct fb_variance_run *runs)
{
	size_t nr = 0;

	for (uint32_t i = 0; i < s->builds; i++) {
		double build = sqrt(s->build) * draw_normal(d);

		for (uint32_t j = 0; j < (s->unbalanced && i % 2 ? 2 : s->boots); j++) {
			double boot = build + sqrt(s->boot) * draw_normal(d);

			for (unsigned k = 0; k < (s->unbalanced && j % 2 ? 1 : s->runs); k++)
				runs[nr++] = (struct fb_variance_run){
					i, j, boot + sqrt(s->run) * draw_normal(d)};
		}
	}
	return nr;
}

/* Unbiased, and 95 % intervals that hold the truth in 95 % of all cases. */
static void estimates_and_intervals_are_right(void **state)
{
	const struct design *s = *state;
	const double truth[] = {s->build, s->boot, s->run};
	const char *env = getenv("FB_SIM_TRIALS");
	size_t trials = env ? strtoul(env, NULL, 10) : 1500, missed[3] = {0}, cut[3] = {0};
	double sum[3] = {0}, sum_sq[3] = {0}, rate = s->rate > 0 ? s->rate : 0.05;
	struct draw d = {s->builds + 100 * s->boots + 10000 * s->runs};

	for (size_t t = 0; t < trials; t++) {
		static struct fb_variance_run runs[MAX_RUNS];
		struct fb_variance v = split(runs, make_runs(s, &d, runs));

		for (int l = 0; l < 3; l++) {
			sum[l] += v.part[l].raw;
			sum_sq[l] += v.part[l].raw * v.part[l].raw;
			missed[l] += v.part[l].lo > truth[l] || v.part[l].hi < truth[l];
			cut[l] += v.part[l].state == FB_VARIANCE_TRUNCATED;
		}
	}
	for (int l = s->builds > 1 ? FB_VARIANCE_BUILD : FB_VARIANCE_BOOT; l < 3; l++) {
		static const char *const level[] = {"build", "boot", "run"};
		double n = (double)trials, mean = sum[l] / n;
		double se = sqrt((sum_sq[l] / n - mean * mean) / n);

		print_message(
			"# %s, %s: %g is estimated as %.4f +- %.4f, missed %.1f %%, cut %zu\n",
			s->name, level[l], truth[l], mean, se, 100 * (double)missed[l] / n, cut[l]);
		assert_near(mean, truth[l], 4 * se);
		assert_true(pbinom((double)missed[l] - 1, n, rate, 0, 0) > 0.001);
	}
}

static const struct design designs[] = {
	{"4 x 3 x 3", 1, 1, 1, 4, 3, 3, false},
	{"6 x 4 x 5, unbalanced", 1, 1, 1, 6, 4, 5, true},
	{"1 x 10 x 3", 0, 1, 4, 1, 10, 3, false},
	/* 5, 1, 5, 1 and 5 runs: the mean square of the boots is only nearly chi-squared. */
	{"1 x 5 x 5, unbalanced", 0, 0.25, 1, 1, 5, 5, true, 0.06},
	{"3 x 3 x 2, no boot effect", 1, 0, 1, 3, 3, 2, false},
	{"5 x 2 x 2, no build effect, unbalanced", 0, 1, 1, 5, 2, 2, true},
	{"8 x 4 x 2, build small", 0.1, 1, 0.5, 8, 4, 2, false},
};

static struct fb_variance parts(double build, double boot, double run)
{
	struct fb_variance v = {.nr_builds = 1};

	v.part[FB_VARIANCE_BUILD].var = build;
	v.part[FB_VARIANCE_BOOT].var = boot;
	v.part[FB_VARIANCE_RUN].var = run;
	return v;
}

/* Variance of the mean for a total cost of 1; builds are left out where they are not known. */
static double product(const struct fb_variance *v, const struct fb_variance_cost *c, unsigned runs,
		      unsigned boots)
{
	double boot = v->part[FB_VARIANCE_BOOT].var + v->part[FB_VARIANCE_RUN].var / runs;
	double price = c->boot + runs * c->run;

	if (isnan(v->part[FB_VARIANCE_BUILD].var))
		return boot * price;
	return (v->part[FB_VARIANCE_BUILD].var + boot / boots) * (c->build + boots * price);
}

/* No other number of runs and boots is better. */
static void plan_is_the_best(void **state)
{
	struct draw d = {7};

	for (int t = 0; t < 300; t++) {
		struct fb_variance v = parts(t % 3 ? exp(2 * draw_normal(&d)) : NAN,
					     exp(2 * draw_normal(&d)), exp(2 * draw_normal(&d)));
		struct fb_variance_cost c = {100 * draw_uniform(&d), 30 * draw_uniform(&d),
					     draw_uniform(&d)};
		struct fb_variance_plan p;
		double least;

		fb_variance_plan(&v, &c, 60, 40, &p);
		assert_int_equal(p.boots == 0, t % 3 == 0);
		least = product(&v, &c, p.runs, p.boots ? p.boots : 1);
		for (unsigned r = 1; r <= 60; r++)
			for (unsigned b = 1; b <= 40; b++)
				assert_true(product(&v, &c, r, b) >= least * (1 - 1e-12));
		assert_int_equal(p.at_most_runs, p.runs == 60);
		assert_near(p.boot_var, v.part[1].var + v.part[2].var / p.runs, 1e-9);
	}
}

static void plan_of_known_cases(void **state)
{
	/* Kalibera and Jones: sqrt(120 / 10) = 3.46 runs; 3 and 4 are equally good. */
	const struct fb_variance_cost cost = {600, 120, 10}, free_run = {600, 120, 0};
	struct fb_variance v = parts(NAN, 1, 1);
	struct fb_variance_plan p;

	fb_variance_plan(&v, &cost, 100, 100, &p);
	assert_int_equal(p.runs, 3);
	assert_int_equal(p.boots, 0);
	assert_near(p.boot_var, 4.0 / 3, 1e-12);
	fb_variance_plan(&v, &free_run, 100, 100, &p);
	assert_int_equal(p.runs, 100);
	assert_true(p.at_most_runs);
	/* Boots do not differ: as many runs as are allowed. Nor do runs: one of each. */
	v = parts(NAN, 0, 1);
	fb_variance_plan(&v, &cost, 50, 100, &p);
	assert_int_equal(p.runs, 50);
	assert_true(p.at_most_runs);
	v = parts(0, 0, 0);
	fb_variance_plan(&v, &cost, 50, 100, &p);
	assert_int_equal(p.runs, 1);
	assert_int_equal(p.boots, 1);
	assert_false(p.at_most_runs || p.at_most_boots);
	/* Only builds differ. */
	v = parts(1, 0, 0);
	fb_variance_plan(&v, &cost, 50, 100, &p);
	assert_int_equal(p.runs, 1);
	assert_int_equal(p.boots, 1);
	/* One run a boot was measured: nothing is known about more of them. */
	v = parts(NAN, 1, NAN);
	fb_variance_plan(&v, &cost, 50, 100, &p);
	assert_int_equal(p.runs, 0);
	assert_near(p.boot_var, 1, 0);
	v = parts(NAN, NAN, 1);
	fb_variance_plan(&v, &cost, 50, 100, &p);
	assert_int_equal(p.runs, 0);
	assert_true(isnan(p.boot_var));
}

/* R 4.2.2: ceiling(power.t.test(delta, sd, sig.level, power, alternative, strict = TRUE)$n) */
static void replicates_equal_r(void **state)
{
	assert_int_equal(fb_variance_replicates(1, 1, 0.05, 0.9, true, 1000), 23);
	assert_int_equal(fb_variance_replicates(2, -1, 0.01, 0.9, true, 1000), 121);
	assert_int_equal(fb_variance_replicates(0.01, log1p(0.02), 0.01, 0.95, true, 1000), 11);
	assert_int_equal(fb_variance_replicates(1, 0.1, 0.05, 0.8, true, 10000), 1571);
	assert_int_equal(fb_variance_replicates(1, 1, 0.01, 0.9, false, 1000), 28);
	assert_int_equal(fb_variance_replicates(1, 0.1, 0.05, 0.06, true, 100), 19);
	assert_int_equal(fb_variance_replicates(1, 0.1, 0.05, 0.8, true, 1571 - 1), 0);
	assert_int_equal(fb_variance_replicates(1, 0.1, 0.05, 0.8, true, 1571), 1571);
	assert_int_equal(fb_variance_replicates(1, 0, 0.05, 0.8, true, 1000), 0);
	assert_int_equal(fb_variance_replicates(0, 1, 0.05, 0.8, true, 1000), 2);
	assert_int_equal(fb_variance_replicates(1, 100, 0.05, 0.8, true, 1000), 2);
}

int main(void)
{
	struct CMUnitTest tests[32] = {
		cmocka_unit_test(balanced_data_equal_r),
		cmocka_unit_test(unbalanced_boots_by_hand),
		cmocka_unit_test(what_was_not_repeated_is_merged_or_unknown),
		cmocka_unit_test(negative_estimates_are_cut_and_say_so),
		cmocka_unit_test(equal_values_have_no_variance),
		cmocka_unit_test(log_scale_is_that_of_ratios),
		cmocka_unit_test(plan_is_the_best),
		cmocka_unit_test(plan_of_known_cases),
		cmocka_unit_test(replicates_equal_r),
	};
	size_t nr = 0;

	while (tests[nr].name)
		nr++;
	for (size_t i = 0; i < NR(designs); i++)
		tests[nr++] =
			(struct CMUnitTest){designs[i].name, estimates_and_intervals_are_right,
					    NULL, NULL, (void *)(uintptr_t)&designs[i]};
	/* The macro takes the size of an array, and this one is not full. */
	return _cmocka_run_group_tests("variance", tests, nr, NULL, NULL);
}
