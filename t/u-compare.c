/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What bisect/compare.h promises, by enumeration where that is possible and by simulation.
 * FB_SIM_TRIALS=N runs N trials a row, FB_SIM_SEED=N other ones.
 */
#include "t/test.h"

#include "t/draw.h"

#include "bisect/compare.h"
#include "bisect/stats.h"
#include "bisect/variance.h"

#define MATHLIB_STANDALONE
#include <Rmath.h>

#define NR(a)	  (sizeof(a) / sizeof((a)[0]))
#define MAX_BOOTS 160

static size_t trials_of(size_t usual)
{
	const char *env = getenv("FB_SIM_TRIALS");

	return env ? strtoul(env, NULL, 10) : usual;
}

static struct draw draw_of(const char *name)
{
	const char *env = getenv("FB_SIM_SEED");
	struct draw d = {env ? strtoul(env, NULL, 10) : 1};

	for (; *name; name++)
		d.state = d.state * 1000003 + (unsigned char)*name;
	return d;
}

/* Fails when so many errors are a surprise (p < 0.001) at the stated rate. */
static void assert_rate(const char *what, size_t errors, size_t trials, double rate)
{
	print_message("# %-46s %5zu of %6zu: %.2f %%, at most %.2f %%\n", what, errors, trials,
		      100 * (double)errors / (double)trials,
		      100 * fb_stats_upper(errors, trials, 0.95));
	if (pbinom((double)errors - 1, (double)trials, rate, 0, 0) < 0.001)
		fail_msg("%s: %zu errors in %zu trials", what, errors, trials);
	/* With many trials the bound itself must show it, with the margin that they allow. */
	if (trials >= 10000 && fb_stats_upper(errors, trials, 0.95) > 1.3 * rate)
		fail_msg("%s: %zu errors in %zu trials", what, errors, trials);
}

static struct fb_compare judge(const struct fb_compare_boot *boots, size_t nr,
			       const struct fb_compare_params *params)
{
	struct fb_compare c;

	assert_int_equal(fb_compare_judge(boots, nr, params, &c), 0);
	return c;
}

static void swap(double *a, double *b)
{
	double t = *a;

	*a = *b;
	*b = t;
}

/* The next order of 0 .. nr - 1 (Narayana Pandita's rule); false after the last one. */
static bool next_order(double *v, size_t nr)
{
	size_t i = nr - 1, j = nr - 1;

	while (i && v[i - 1] >= v[i])
		i--;
	if (!i)
		return false;
	while (v[j] <= v[i - 1])
		j--;
	swap(&v[i - 1], &v[j]);
	for (j = nr - 1; i < j; i++, j--)
		swap(&v[i], &v[j]);
	return true;
}

/* Over all orders of the values, equally likely, the e-value is 1 on average: exactly. */
static void evidence_is_fair(void **state)
{
	static const int sides[][6] = {{0, 1, 1, 0, 0, 1}, {1, 1, 0, 1, 1, 1}, {0, 0, 0, 0, 1, 0}};

	for (size_t k = 0; k < NR(sides); k++)
		for (int direction = -1; direction <= 1; direction += 2) {
			struct fb_compare_params p = {.alpha = 0.01, .direction = direction};
			double v[6] = {0, 1, 2, 3, 4, 5}, sum = 0, nr = 0;

			do {
				struct fb_compare_boot b[6];

				for (int i = 0; i < 6; i++)
					b[i] = (struct fb_compare_boot){v[i], 0, sides[k][i]};
				sum += exp(judge(b, 6, &p).log_evidence);
				nr++;
			} while (next_order(v, 6));
			assert_near(nr, 720, 0);
			assert_near(sum / nr, 1, 1e-12);
		}
}

/* So it is after one boot more, whatever was seen before: it is a martingale of the ranks. */
static void evidence_stays_fair_after_each_order(void **state)
{
	static const int sides[5] = {0, 1, 0, 1, 1};
	struct fb_compare_params p = {.alpha = 0.01, .direction = 1};
	double v[4] = {0, 1, 2, 3};

	do {
		struct fb_compare_boot b[5];
		double sum = 0;

		for (int i = 0; i < 4; i++)
			b[i] = (struct fb_compare_boot){v[i], 0, sides[i]};
		for (int gap = 0; gap < 5; gap++) {
			b[4] = (struct fb_compare_boot){gap - 0.5, 0, sides[4]};
			sum += exp(judge(b, 5, &p).log_evidence);
		}
		assert_near(sum / 5, exp(judge(b, 4, &p).log_evidence), 1e-12);
	} while (next_order(v, 4));
}

/*
 * The likelihood of ranks under Lehmann's alternatives is Cox's partial likelihood. R 4.2.2,
 * survival 3.5-3: log of the mean of exp(f(log(theta)) - f(0)) over the values of theta and
 * both ends (times v, and max(v) + 1 - v), f(b) being coxph(Surv(time) ~ favoured +
 * strata(block), init = b, control = coxph.control(iter.max = 0))$loglik[1].
 */
static void evidence_equals_r(void **state)
{
	static const double want[2][2] = {{2.25678235064695, -3.93707889016262},
					  {3.50640807310349, -3.90937357634913}};
	static const struct fb_compare_boot boots[] = {{10.1, 0, 0}, {10.7, 0, 1}, {9.9, 0, 0},
						       {11.4, 0, 1}, {10.4, 1, 0}, {11.9, 1, 1},
						       {12.2, 1, 1}, {10.9, 1, 0}, {9.7, 0, 0}};

	for (uint32_t blocks = 0; blocks < 2; blocks++) {
		struct fb_compare_params up = {.alpha = 0.01, .direction = 1};
		struct fb_compare_params down = {.alpha = 0.01, .direction = -1};
		struct fb_compare_boot b[NR(boots)];

		for (size_t i = 0; i < NR(b); i++) {
			b[i] = boots[i];
			b[i].block *= blocks;
		}
		assert_near(judge(b, NR(b), &up).log_evidence, want[blocks][0], 1e-12);
		assert_near(judge(b, NR(b), &down).log_evidence, want[blocks][1], 1e-12);
	}
}

static void equal_values_speak_least_for_a_difference(void **state)
{
	/* 2 is on both sides: for "larger" the new one counts as below the old one. */
	const struct fb_compare_boot tied[] = {{1, 0, 0}, {2, 0, 0}, {2, 0, 1}, {3, 0, 1}};
	const struct fb_compare_boot below[] = {{1, 0, 0}, {2, 0, 0}, {1.9, 0, 1}, {3, 0, 1}};
	const struct fb_compare_boot above[] = {{1, 0, 0}, {2, 0, 0}, {2.1, 0, 1}, {3, 0, 1}};
	struct fb_compare_params up = {.alpha = 0.01, .direction = 1};
	struct fb_compare_params down = {.alpha = 0.01, .direction = -1};

	assert_near(judge(tied, 4, &up).log_evidence, judge(below, 4, &up).log_evidence, 1e-12);
	assert_near(judge(tied, 4, &down).log_evidence, judge(above, 4, &down).log_evidence, 1e-12);
	assert_true(judge(above, 4, &up).log_evidence > judge(below, 4, &up).log_evidence + 0.1);
}

/* A counter that has one value in the old kernel and another one in the new kernel. */
static void exact_counters_differ_after_few_boots(void **state)
{
	struct fb_compare_params up = {
		.alpha = 0.01, .direction = 1, .log_scale = true, .min_effect = 0.02};
	struct fb_compare_params same = up;
	struct fb_compare_boot b[24];
	size_t nr;

	for (size_t i = 0; i < NR(b); i++)
		b[i] = (struct fb_compare_boot){i % 2 ? 8192 : 4096, 0, i % 2};
	for (nr = 2; nr < NR(b) && judge(b, nr, &up).verdict == FB_COMPARE_OPEN;)
		nr++;
	assert_int_equal(judge(b, nr, &up).verdict, FB_COMPARE_DIFFER);
	assert_int_equal(nr, 10); /* C(10, 5) = 252 orders: the first that can show 1 % */
	for (size_t i = 0; i < NR(b); i++)
		b[i].value = 4096;
	for (nr = 2; nr < NR(b) && judge(b, nr, &same).verdict == FB_COMPARE_OPEN;)
		nr++;
	assert_int_equal(judge(b, nr, &same).verdict, FB_COMPARE_SMALL);
	assert_int_equal(nr, 10);
}

/* Case T25: culprit and parent measured in different environments, each in its own block. */
static void other_environments_are_not_compared(void **state)
{
	struct fb_compare_params p = {.alpha = 0.01, .direction = -1, .log_scale = true};
	struct fb_compare_effect e;
	struct fb_compare_boot b[30];
	struct fb_compare c;

	for (size_t i = 0; i < 20; i++) /* -11.9 % it seemed */
		b[i] = (struct fb_compare_boot){(i % 2 ? 8255 : 9370) + (double)i, i % 2, i % 2};
	c = judge(b, 20, &p);
	assert_int_equal(c.verdict, FB_COMPARE_NOT_COMPARABLE);
	assert_int_equal(c.nr_alone, 20);
	assert_near(c.log_evidence, 0, 1e-12);
	assert_int_equal(fb_compare_interval(b, 20, &p, &e), -1);
	/* The parent measured again in the culprit's environment: nothing is left of it. */
	for (size_t i = 20; i < 30; i++)
		b[i] = (struct fb_compare_boot){8255 + 2 * (double)(i - 20), 1, 0};
	c = judge(b, 30, &p);
	assert_int_equal(c.verdict, FB_COMPARE_OPEN);
	assert_int_equal(c.nr_old, 10);
	assert_int_equal(c.nr_new, 10);
	assert_int_equal(c.nr_alone, 10);
	assert_true(c.log_evidence < 0);
	/* One block would have seen a difference. */
	for (size_t i = 0; i < 20; i++)
		b[i].block = 0;
	assert_int_equal(judge(b, 20, &p).verdict, FB_COMPARE_DIFFER);
}

static void values_that_cannot_be_compared_are_refused(void **state)
{
	struct fb_compare_params p = {.alpha = 0.01, .log_scale = true};
	struct fb_compare_boot b[] = {{1, 0, 0}, {0, 0, 1}};
	double zero = 0, one = 1;
	struct fb_compare_effect e;
	struct fb_compare c;

	assert_int_equal(fb_compare_judge(b, 2, &p, &c), -1);
	assert_int_equal(fb_compare_effect(&zero, 1, &one, 1, true, 0.95, &e), -1);
	assert_int_equal(fb_compare_effect(&zero, 1, &one, 0, false, 0.95, &e), -1);
	b[1].value = NAN;
	p.log_scale = false;
	assert_int_equal(fb_compare_judge(b, 2, &p, &c), -1);
	assert_int_equal(judge(b, 0, &p).verdict, FB_COMPARE_OPEN);
	assert_int_equal(judge(b, 1, &p).verdict, FB_COMPARE_OPEN);
}

/* Each bound is where the test changes its mind, found by trying shifts one by one. */
static void interval_is_what_the_test_does_not_reject(void **state)
{
	struct draw d = draw_of("interval");
	struct fb_compare_params p = {.alpha = 0.05};

	for (int t = 0; t < 20; t++) {
		struct fb_compare_params up = {.alpha = 0.025, .direction = 1};
		struct fb_compare_params down = {.alpha = 0.025, .direction = -1};
		size_t nr = 8 + (size_t)t;
		struct fb_compare_boot b[MAX_BOOTS];
		double lo = -INFINITY, hi = INFINITY;
		struct fb_compare_effect e;

		for (size_t i = 0; i < nr; i++) /* integers: many differences are equal */
			b[i] = (struct fb_compare_boot){
				floor(draw_normal(&d) * 5) + (i % 2 ? 20 : 0), i % 3 == 0, i % 2};
		assert_int_equal(fb_compare_interval(b, nr, &p, &e), 0);
		for (double shift = -60; shift <= 60; shift += 0.25) {
			struct fb_compare_boot moved[MAX_BOOTS];

			for (size_t i = 0; i < nr; i++) {
				moved[i] = b[i];
				moved[i].value -= b[i].is_new ? shift : 0;
			}
			if (judge(moved, nr, &up).verdict == FB_COMPARE_DIFFER)
				lo = shift + 0.25;
			if (judge(moved, nr, &down).verdict == FB_COMPARE_DIFFER && isinf(hi))
				hi = shift - 0.25;
		}
		if (lo > -60)
			assert_near(e.lo, lo, 0);
		else
			assert_true(isinf(e.lo));
		if (hi < 60)
			assert_near(e.hi, hi, 0);
		else
			assert_true(isinf(e.hi));
		assert_true(e.lo <= e.effect && e.effect <= e.hi);
	}
}

struct sim {
	const char *name;
	enum draw_shape shape;
	size_t trials;
	int direction;
	double shift;	   /* of the new kernel, in boot SDs */
	double min_effect; /* the same */
	double drift;	   /* SD of a random walk's step from boot to boot, in boot SDs */
	size_t block;	   /* boots in one; 0: all */
	size_t max_boots;
	double spread; /* SD of the new kernel's boots; 0: 1 */
	double boots;  /* the mean must not exceed it */
	enum fb_compare_verdict wrong;
	double rate; /* of wrong ones */
};

/* Boots of one trial, in the order old new new old. */
static void make_boots(const struct sim *s, struct draw *d, struct fb_compare_boot *b)
{
	double level = 100;

	for (size_t i = 0; i < s->max_boots; i++) {
		bool is_new = i % 4 == 1 || i % 4 == 2;

		level += s->drift * draw_normal(d);
		b[i] = (struct fb_compare_boot){level, (uint32_t)(s->block ? i / s->block : 0),
						is_new};
		b[i].value += draw_noise(d, s->shape) * (is_new && s->spread > 0 ? s->spread : 1);
		b[i].value += is_new ? s->shift : 0;
	}
}

/* Looks after every boot, and stops at the first verdict. */
static enum fb_compare_verdict run_sim(const struct sim *s, struct draw *d, size_t *ret_boots)
{
	struct fb_compare_params p = {
		.alpha = 0.01, .direction = s->direction, .min_effect = s->min_effect};
	enum fb_compare_verdict verdict = FB_COMPARE_OPEN;
	struct fb_compare_boot b[MAX_BOOTS];
	size_t nr = 2;

	make_boots(s, d, b);
	while ((verdict = judge(b, nr, &p).verdict) != FB_COMPARE_DIFFER &&
	       verdict != FB_COMPARE_SMALL && nr < s->max_boots)
		nr++;
	*ret_boots = nr;
	return verdict;
}

/* Equal kernels called different, or different ones called the same within min_effect. */
static void seldom_wrong_at_any_time(void **state)
{
	const struct sim *s = *state;
	struct draw d = draw_of(s->name);
	size_t trials = trials_of(s->trials), wrong = 0, boots;

	for (size_t i = 0; i < trials; i++) {
		enum fb_compare_verdict v = run_sim(s, &d, &boots);

		wrong += v == s->wrong;
	}
	assert_rate(s->name, wrong, trials, s->rate);
}

#define EQUAL(title, noise, ...)                                                                   \
	{                                                                                          \
		.name = title, .shape = noise, .trials = 1500, .max_boots = 40,                    \
		.wrong = FB_COMPARE_DIFFER, .rate = 0.01, __VA_ARGS__                              \
	}
#define LEAST(title, noise, least, way)                                                            \
	{                                                                                          \
		.name = title, .shape = noise, .trials = 1500, .max_boots = 40, .shift = least,    \
		.min_effect = 1.5, .direction = way, .wrong = FB_COMPARE_SMALL, .rate = 0.01       \
	}

static const struct sim null_rows[] = {
	EQUAL("equal, normal", DRAW_NORMAL),
	EQUAL("equal, t3", DRAW_T3),
	EQUAL("equal, lognormal", DRAW_LOGNORMAL),
	EQUAL("equal, bimodal", DRAW_BIMODAL),
	EQUAL("equal, counter", DRAW_COUNTER),
	EQUAL("equal, normal, larger?", DRAW_NORMAL, .direction = 1),
	EQUAL("equal, bimodal, smaller?", DRAW_BIMODAL, .direction = -1),
	EQUAL("equal, drift", DRAW_NORMAL, .drift = 0.5),
	EQUAL("equal, drift, blocks of 4", DRAW_NORMAL, .drift = 0.5, .block = 4),
	EQUAL("larger by 0.5, smaller?", DRAW_NORMAL, .direction = -1, .shift = 0.5),
	/* Not equal kernels, so "different" is no error; the direction is, now and then. */
	{.name = "three times the spread, equal means",
	 .shape = DRAW_NORMAL,
	 .trials = 1500,
	 .max_boots = 40,
	 .spread = 3,
	 .wrong = FB_COMPARE_DIFFER,
	 .rate = 0.025},
	LEAST("larger by min_effect, small?", DRAW_NORMAL, 1.5, 1),
	LEAST("smaller by min_effect, small?", DRAW_LOGNORMAL, -1.5, 0),
	LEAST("larger by min_effect, bimodal, small?", DRAW_BIMODAL, 1.5, 0),
};

static int compare_sizes(const void *a, const void *b)
{
	size_t x = *(const size_t *)a, y = *(const size_t *)b;

	return (x > y) - (x < y);
}

/* How many boots a true difference costs; and that the verdict is the right one. */
static void finds_a_difference(void **state)
{
	const struct sim *s = *state;
	struct draw d = draw_of(s->name);
	size_t trials = trials_of(s->trials), wrong = 0, open = 0, sum = 0, *boots;

	boots = calloc(trials, sizeof(*boots));
	for (size_t i = 0; i < trials; i++) {
		enum fb_compare_verdict v = run_sim(s, &d, &boots[i]);

		wrong += v == s->wrong;
		open += v == FB_COMPARE_OPEN;
		sum += boots[i];
	}
	qsort(boots, trials, sizeof(*boots), compare_sizes);
	print_message("# %-46s boots: mean %.1f, median %zu, p95 %zu; open after %zu: %zu of %zu\n",
		      s->name, (double)sum / (double)trials, boots[trials / 2],
		      boots[trials * 95 / 100], s->max_boots, open, trials);
	free(boots);
	assert_true(open <= trials / 10);
	if (pbinom((double)wrong - 1, (double)trials, 0.01, 0, 0) < 0.001)
		fail_msg("%zu of %zu wrong", wrong, trials);
	if ((double)sum / (double)trials > s->boots)
		fail_msg("%.1f boots, more than %g", (double)sum / (double)trials, s->boots);
}

#define SHIFT(title, noise, by, way, limit, ...)                                                   \
	{                                                                                          \
		.name = title, .shape = noise, .trials = 400, .max_boots = MAX_BOOTS, .shift = by, \
		.direction = way, .boots = limit, .wrong = FB_COMPARE_SMALL, __VA_ARGS__           \
	}
#define SAME(title, noise, least, limit)                                                           \
	{                                                                                          \
		.name = title, .shape = noise, .trials = 400, .max_boots = MAX_BOOTS,              \
		.direction = 1, .min_effect = least, .boots = limit, .wrong = FB_COMPARE_DIFFER    \
	}

static const struct sim power_rows[] = {
	SHIFT("shift 1", DRAW_NORMAL, 1, 1, 59),
	SHIFT("shift 1.5", DRAW_NORMAL, 1.5, 1, 29),
	SHIFT("shift 2", DRAW_NORMAL, 2, 1, 18.5),
	SHIFT("shift 3", DRAW_NORMAL, 3, 1, 12.5),
	SHIFT("shift 4", DRAW_NORMAL, 4, 1, 10.5),
	SHIFT("shift 2, either way", DRAW_NORMAL, -2, 0, 21),
	SHIFT("shift 4, either way", DRAW_NORMAL, -4, 0, 12),
	SHIFT("shift 2, t3", DRAW_T3, 2, 1, 16),
	SHIFT("shift 2, lognormal", DRAW_LOGNORMAL, 2, 1, 14),
	SHIFT("shift 2, bimodal", DRAW_BIMODAL, 2, 1, 21.5),
	SHIFT("shift 4, blocks of 4", DRAW_NORMAL, 4, 1, 13, .block = 4),
	SAME("equal, min_effect 2", DRAW_NORMAL, 2, 18.5),
	SAME("equal, min_effect 4", DRAW_NORMAL, 4, 10.5),
};

/* What `firstbad noise` says of the boots that it names: half of them tell, twice as many do. */
static void students_boots_tell_in_half_of_all_cases(void **state)
{
	const struct fb_compare_params params = {.alpha = 0.01};
	size_t trials = trials_of(1000), once = 0, twice = 0;
	struct draw d = draw_of("Student");
	unsigned n = fb_variance_replicates(1, 2, params.alpha, 0.9, true, 100);
	struct fb_compare_boot boots[MAX_BOOTS];

	(void)state;
	for (size_t i = 0; i < trials; i++) {
		for (size_t k = 0; k < 4 * n; k++)
			boots[k] = (struct fb_compare_boot){draw_normal(&d) + (k % 2 ? 2 : 0), 0,
							    k % 2};
		once += judge(boots, 2 * n, &params).verdict == FB_COMPARE_DIFFER;
		twice += judge(boots, 4 * n, &params).verdict == FB_COMPARE_DIFFER;
	}
	print_message("# shift 2: %u boots tell in %zu of %zu cases, %u in %zu\n", n, once, trials,
		      2 * n, twice);
	assert_in_range(once, trials * 4 / 10, trials * 6 / 10);
	assert_in_range(twice, trials * 9 / 10, trials);
}

/*
 * Two equal kernels, 2 boots of 20 runs each, boots spread as much as runs: most would be
 * called different by an interval of the pooled runs. Boots are what is compared here.
 */
static void boots_are_compared_not_runs(void **state)
{
	struct draw d = draw_of("2 x 20");
	size_t trials = trials_of(10000), judged = 0, excluded = 0, pooled = 0;

	for (size_t t = 0; t < trials; t++) {
		struct fb_compare_params p = {.alpha = 0.01};
		struct fb_compare_boot b[4];
		double mean[4], runs[2][40];
		struct fb_compare_effect e;

		for (size_t i = 0; i < 4; i++) {
			double boot = 100 + draw_normal(&d), *run = &runs[i / 2][i % 2 * 20];

			for (size_t r = 0; r < 20; r++)
				run[r] = boot + draw_normal(&d);
			mean[i] = fb_stats_mean(run, 20, NULL);
			b[i] = (struct fb_compare_boot){mean[i], 0, i >= 2};
		}
		judged += judge(b, 4, &p).verdict == FB_COMPARE_DIFFER;
		assert_int_equal(fb_compare_effect(mean, 2, mean + 2, 2, true, 0.95, &e), 0);
		excluded += e.lo > 0 || e.hi < 0;
		fb_stats_welch(runs[0], 40, runs[1], 40, 0.95, &e.effect, &e.lo, &e.hi);
		pooled += e.lo > 0 || e.hi < 0;
	}
	assert_rate("2 boots x 20 runs, sequential test at 1 %", judged, trials, 0.01);
	assert_rate("2 boots x 20 runs, 95 % interval without 0", excluded, trials, 0.05);
	print_message("# pooled runs: %zu of %zu called different\n", pooled, trials);
	assert_true(pooled > trials / 3); /* the trap is there */
}

struct cover {
	const char *name;
	enum draw_shape shape;
	double spread; /* SD of the new side */
	double rate;   /* of misses that is not exceeded */
};

/* The first five differ by a shift, where the interval is exact; the last ones do not. */
static const struct cover cover_rows[] = {
	{"95 % interval, normal", DRAW_NORMAL, 1, 0.05},
	{"95 % interval, t3", DRAW_T3, 1, 0.05},
	{"95 % interval, lognormal", DRAW_LOGNORMAL, 1, 0.05},
	{"95 % interval, bimodal", DRAW_BIMODAL, 1, 0.05},
	{"95 % interval, counter", DRAW_COUNTER, 1, 0.05},
	{"95 % interval, normal, spread 2", DRAW_NORMAL, 2, 0.075},
	{"95 % interval, normal, spread 4", DRAW_NORMAL, 4, 0.1},
};

/* Share of intervals that miss a known effect, for a fixed number of boots a side. */
static void interval_covers(void **state)
{
	const struct cover *s = *state;
	struct draw d = draw_of(s->name);
	size_t trials = trials_of(1500);

	for (size_t n = 2; n <= 10; n++) {
		size_t missed = 0, infinite = 0;
		double width = 0;
		char what[80];

		for (size_t t = 0; t < trials; t++) {
			double old[10], new[10];
			struct fb_compare_effect e;

			for (size_t i = 0; i < n; i++) {
				old[i] = 100 + draw_noise(&d, s->shape);
				new[i] = 90 + draw_noise(&d, s->shape) * s->spread;
			}
			assert_int_equal(fb_compare_effect(old, n, new, n, false, 0.95, &e), 0);
			missed += e.lo > -10 + 1e-9 || e.hi < -10 - 1e-9;
			if (isinf(e.hi))
				infinite++;
			else
				width += e.hi - e.lo;
		}
		assert_true(infinite == 0 || (s->shape == DRAW_COUNTER && n < 4));
		snprintf(what, sizeof(what), "%s, %zu boots, width %.2f", s->name, n,
			 width / (double)(trials - infinite));
		assert_rate(what, missed, trials, s->rate);
	}
}

int main(void)
{
	struct CMUnitTest tests[64] = {
		cmocka_unit_test(evidence_is_fair),
		cmocka_unit_test(evidence_stays_fair_after_each_order),
		cmocka_unit_test(evidence_equals_r),
		cmocka_unit_test(equal_values_speak_least_for_a_difference),
		cmocka_unit_test(exact_counters_differ_after_few_boots),
		cmocka_unit_test(other_environments_are_not_compared),
		cmocka_unit_test(values_that_cannot_be_compared_are_refused),
		cmocka_unit_test(interval_is_what_the_test_does_not_reject),
		cmocka_unit_test(boots_are_compared_not_runs),
		cmocka_unit_test(students_boots_tell_in_half_of_all_cases),
	};
	size_t nr = 0;

	while (tests[nr].name)
		nr++;
	for (size_t i = 0; i < NR(null_rows); i++)
		tests[nr++] = (struct CMUnitTest){null_rows[i].name, seldom_wrong_at_any_time, NULL,
						  NULL, (void *)(uintptr_t)&null_rows[i]};
	for (size_t i = 0; i < NR(power_rows); i++)
		tests[nr++] = (struct CMUnitTest){power_rows[i].name, finds_a_difference, NULL,
						  NULL, (void *)(uintptr_t)&power_rows[i]};
	for (size_t i = 0; i < NR(cover_rows); i++)
		tests[nr++] = (struct CMUnitTest){cover_rows[i].name, interval_covers, NULL, NULL,
						  (void *)(uintptr_t)&cover_rows[i]};
	/* The macro takes the size of an array, and this one is not full. */
	return _cmocka_run_group_tests("compare", tests, nr, NULL, NULL);
}
