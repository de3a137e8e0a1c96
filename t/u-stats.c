/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Each estimate, test and likelihood of bisect/ equals what R computes; the row names the call. */
#include "t/test.h"

#include "bisect/model.h"
#include "bisect/modes.h"
#include "bisect/share.h"
#include "bisect/stats.h"
#include "bisect/tails.h"

struct two {
	const char *name;
	double a[8];
	size_t na;
	double b[8];
	size_t nb;
	double level;
	double want[3];
};

/* R 4.2.2: mean(b) - mean(a), t.test(b, a, conf.level = level)$conf.int */
static const struct two welch_rows[] = {
	{"R t.test: unequal sizes",
	 {10.1, 10.3, 9.9, 10.0},
	 4,
	 {11.2, 10.9, 11.4},
	 3,
	 0.95,
	 {1.09166666666667, 0.585930544199226, 1.59740278913411}},
	{"R t.test: unequal spreads",
	 {1, 2, 3, 4, 5, 6, 7},
	 7,
	 {2.5, 9, 4.5, 8, 12.25},
	 5,
	 0.99,
	 {3.25, -3.87779676578542, 10.3777967657854}},
	{"R t.test: one side without spread",
	 {5, 5, 5},
	 3,
	 {4, 4.5},
	 2,
	 0.9,
	 {-0.75, -2.32843787866876, 0.828437878668759}},
	{"by definition: no spread", {5, 5}, 2, {6, 6}, 2, 0.95, {1, 1, 1}},
};

static void welch_equals_r(void **state)
{
	const struct two *row = *state;
	double shift, lo, hi;

	fb_stats_welch(row->a, row->na, row->b, row->nb, row->level, &shift, &lo, &hi);
	assert_near(shift, row->want[0], 1e-12);
	assert_near(lo, row->want[1], 1e-12);
	assert_near(hi, row->want[2], 1e-12);
}

#define SIX                                                                                        \
	{                                                                                          \
		11.257, 10.908, 11.409, 11.051, 10.752, 11.303                                     \
	}
/* R 4.2.2: median(outer(b, a, "-")), wilcox.test(b, a, conf.int = TRUE, exact = TRUE)$conf.int */
static const struct two shift_rows[] = {
	{"R wilcox.test: 5 and 6",
	 {10.11, 10.32, 9.93, 10.04, 10.25},
	 5,
	 SIX,
	 6,
	 0.95,
	 {0.995, 0.642, 1.327}},
	{"R wilcox.test: 4 and 4",
	 {10.11, 10.32, 9.93, 10.04},
	 4,
	 SIX,
	 4,
	 0.95,
	 {1.05, 0.588, 1.479}},
	{"R wilcox.test: 3 and 3, level 0.8",
	 {10.11, 10.32, 9.93},
	 3,
	 SIX,
	 3,
	 0.8,
	 {1.089, 0.588, 1.479}},
	{"R wilcox.test: 5 and 6, level 0.5",
	 {10.11, 10.32, 9.93, 10.04, 10.25},
	 5,
	 SIX,
	 6,
	 0.5,
	 {0.995, 0.868, 1.121}},
	/* P(U = 0) = 1 / 20 for 3 and 3 values: more than 2.5 %, so there is no interval. */
	{"by definition: 3 and 3 cannot give 95 %",
	 {1, 2, 3},
	 3,
	 {4, 5, 6},
	 3,
	 0.95,
	 {3, -INFINITY, INFINITY}},
};

static void shift_equals_r(void **state)
{
	const struct two *row = *state;
	double shift, lo, hi;

	assert_int_equal(fb_stats_hodges_lehmann(row->a, row->na, row->b, row->nb, row->level,
						 &shift, &lo, &hi),
			 0);
	assert_near(shift, row->want[0], 1e-12);
	if (isinf(row->want[1])) {
		assert_true(isinf(lo) && lo < 0 && isinf(hi) && hi > 0);
		return;
	}
	assert_near(lo, row->want[1], 1e-12);
	assert_near(hi, row->want[2], 1e-12);
}

/* R 4.2.2: sort(outer(y, x, "-"))[qwilcox(.025, 30, 28)] and its mirror image. */
static void shift_of_many_values_equals_r(void **state)
{
	double x[30], y[28], shift, lo, hi;

	for (int i = 0; i < 30; i++)
		x[i] = round(sin(i + 1) * 3 * 1000) / 1000;
	for (int i = 0; i < 28; i++)
		y[i] = round((cos((i + 1) * 1.7) * 2 + 1.2345) * 10000) / 10000;
	assert_int_equal(fb_stats_hodges_lehmann(x, 30, y, 28, 0.95, &shift, &lo, &hi), 0);
	assert_near(shift, 1.138, 1e-9);
	assert_near(lo, 0.0392, 1e-9);
	assert_near(hi, 2.2753, 1e-9);
}

struct bits {
	const char *name;
	double p, d, want;
};

/* R 4.2.2: entropy of p less integrate() of the conditional entropy over y. */
static const struct bits bits_rows[] = {
	{"R integrate: bits of p 0.5, d 0.5", 0.5, 0.5, 0.04372996294431},
	{"R integrate: bits of p 0.5, d 1", 0.5, 1, 0.1607472197964},
	{"R integrate: bits of p 0.5, d 2", 0.5, 2, 0.4859441541329},
	{"R integrate: bits of p 0.5, d 4", 0.5, 4, 0.9128222857745},
	{"R integrate: bits of p 0.1, d 1", 0.1, 1, 0.06166406026357},
	{"R integrate: bits of p 0.1, d 3", 0.1, 3, 0.3401371326427},
	{"R integrate: bits of p 0.001, d 2", 0.001, 2, 0.002854624329386},
	{"R integrate: bits of p 0.3, d 6", 0.3, 6, 0.8762369097945},
	{"by definition: bits of p 0 are 0", 0, 2, 0},
	{"by definition: bits of d 0 are 0", 0.5, 0, 0},
	{"by definition: bits of p 0.5, d 50 are 1", 0.5, 50, 1},
};

static void bits_equal_r(void **state)
{
	const struct bits *row = *state;

	double p = row->p;
	double entropy = p > 0 ? -p * log2(p) - (1 - p) * log2(1 - p) : 0;
	double share = p == 0.5 ? 0.002 : p >= 0.3 ? 0.011 : p >= 0.1 ? 0.06 : 0.19;

	assert_near(fb_stats_boot_bits(p, row->d), row->want, share * entropy);
}

/* R 4.2.2: binom.test(hits, trials, alternative = "less")$conf.int[2] */
static void upper_bound_equals_r(void **state)
{
	assert_near(fb_stats_upper(0, 200, 0.95), 0.0148670392312721, 1e-13);
	assert_near(fb_stats_upper(100, 10000, 0.95), 0.0117972339713476, 1e-13);
	assert_near(fb_stats_upper(1, 100, 0.95), 0.0465598114535389, 1e-13);
	assert_near(fb_stats_upper(5, 5, 0.95), 1, 0);
}

static void logsum_survives_large_and_zero(void **state)
{
	assert_near(fb_stats_logsum(0, 0), log(2), 1e-15);
	assert_near(fb_stats_logsum(-INFINITY, -3), -3, 0);
	assert_near(fb_stats_logsum(2000, -INFINITY), 2000, 0);
	assert_near(fb_stats_logsum(2000, 2000), 2000 + log(2), 1e-12);
	assert_true(isinf(fb_stats_logsum(-INFINITY, -INFINITY)));
}

static void mean_of_near_equal_values_keeps_their_spread(void **state)
{
	const double x[] = {1e9 + 0.25, 1e9 + 0.5, 1e9 + 0.75};
	double ss;

	assert_near(fb_stats_mean(x, 3, &ss), 1e9 + 0.5, 0);
	assert_near(ss, 0.125, 1e-12);
}

/*
 * R 4.2.2: log of the integral over the variance (inverse gamma, 0.5 and 0.005) of the
 * multivariate normal density with covariance s2 (I + rho J) + 1e5 [same mean], by
 * integrate(); differences of two partitions, to the precision that the finite 1e5 leaves.
 * A third group's or a missing group's factor sqrt(2 pi 1e5) is taken out.
 */
static void likelihood_equals_r(void **state)
{
	const struct fb_model_image image[] = {
		{3, 0.2 / 3, 0.14 - 0.04 / 3},	   /* 0.1 -0.2 0.3 */
		{1, 0.05, 0},			   /* 0.05 */
		{2, 0.95, 0.045},		   /* 1.1 0.8 */
		{3, 3.2 / 3, 3.5 - 3.2 * 3.2 / 3}, /* 1.3 0.9 1.0 */
	};
	/* For each rho: new = {2, 3} against {1, 2, 3}, {3}; level; one group. */
	static const double want[3][4] = {
		{5.2360966960, 6.0768777329, -1.6293961613, -8.3253103991},
		{4.4757682271, 4.8578056974, -1.4814099638, -6.7839757227},
		{3.1409793167, 3.1268180295, -1.1829634408, -4.7028800924},
	};
	struct fb_model model;
	struct fb_model_sums two = {{0}, {0}}, three, one, level = {{0}, {0}};
	double l2[FB_MODEL_PARTS], l3[FB_MODEL_PARTS], l1[FB_MODEL_PARTS], all, sum = -INFINITY;

	fb_model_init(&model, &fb_family_normal, 1, 0, NULL);
	model.effect = model.shift_min = 0; /* without the prior of the shift */
	model.shape = 0.5;		    /* R's */
	model.rate = 0.005;
	for (size_t i = 0; i < 4; i++)
		fb_model_add(&model, &image[i], 1);
	fb_model_sums_add(&model, &two, &image[3], 1);
	one = two;
	fb_model_sums_add(&model, &two, &image[2], 1);
	three = two;
	fb_model_sums_add(&model, &three, &image[1], 1);
	fb_model_sums_add(&model, &level, &image[2], 1);
	all = fb_model_split(&model, &two, -INFINITY, l2);
	fb_model_split(&model, &three, -INFINITY, l3);
	fb_model_split(&model, &one, -INFINITY, l1);
	for (int r = 0; r < 3; r++) {
		double leveled = model.family->split(&model, r, &one, &level, 3, -INFINITY, NULL);

		assert_near(l2[r] - l3[r], want[r][0], 2e-5);
		assert_near(l2[r] - l1[r], want[r][1], 2e-5);
		assert_near(leveled - l2[r], want[r][2], 3e-5);
		assert_near(model.family->same(&model, r) - l2[r], want[r][3], 3e-5);
		sum = fb_stats_logsum(sum, l2[r]);
	}
	assert_near(all, sum, 1e-12);
}

/*
 * R 4.2.2, sums over a grid of both centres (0.01 apart) and the log of the scale (0.05):
 *   f = function(x, s) dt(x / s / k, 3) * 2 / (s * (sqrt(l) + 1 / sqrt(l))), k = sqrt(l)^sign(x)
 *   log(sum(prod f(old - a, s) prod f(new - b, s) 2 s^(-2 shape) exp(-rate / s^2) da db dlog(s)))
 *     + (16 / 2 - 1) log(2 pi)
 * The second column has three of the new boots on the old side.
 */
static void tails_equal_r(void **state)
{
	static const double value[] = {0.1, -0.3, 0.2, 1.9, -0.1, 0.4, -0.2, 0,
				       3.1, 2.8,  3.3, 2.9, 5,	  3,   3.2,  2.7};
	static const struct {
		double lean, want[2];
	} row[] = {
		{1, {0.466935, -13.501296}},
		{4, {3.025237, -9.323865}},
		{0.25, {-5.798314, -16.126651}},
	};
	unsigned char new[16] = {0};
	struct fb_model_values values = {16, value, new};

	for (int i = 0; i < 16; i++)
		new[i] = i >= 8;
	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		struct fb_model_fit start = {.mean_old = 0.25, .mean_new = 3.25, .sigma = 0.7}, fit;

		/* What Laplace's method leaves, in nats. */
		assert_near(fb_tails_split(&values, row[i].lean, 0.5, 0.005, &start, &fit, NULL),
			    row[i].want[0], 0.6);
		assert_near(fit.shift, 3, 0.2);
	}
	for (int i = 8; i < 11; i++)
		new[i] = 0;
	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		struct fb_model_fit start = {.mean_old = 1.0, .mean_new = 3.3, .sigma = 1.3}, fit;

		assert_near(fb_tails_split(&values, row[i].lean, 0.5, 0.005, &start, &fit, NULL),
			    row[i].want[1], 0.6);
	}
}

/*
 * R 4.2.2, sums over grids of the centres (half a spread apart), the distance (90 points up to
 * 30 spreads), the share (0.04) and the log of the spread (0.15), as for the tails, with
 *   f = function(x, s) (1 - q) dnorm(x, 0, s) + q dnorm(x - d, 0, s)
 * and the priors 2 of the share and 1 / (30 s) of the distance.
 */
static void modes_equal_r(void **state)
{
	static const double value[] = {0,   0.1, -0.1, 2.05, 0.05, -0.05, 1.95, 0.02, -0.08, 2.1,
				       3.0, 3.1, 5.1,  2.95, 4.9,  3.05,  2.9,	3.02, 5.02,  3};
	const struct fb_model_fit start = {.mean_old = 0.6, .mean_new = 3.6, .sigma = 1};
	unsigned char new[20] = {0};
	struct fb_model_values values = {20, value, new};
	struct fb_model_fit fit;

	for (int i = 0; i < 20; i++)
		new[i] = i >= 10;
	assert_near(fb_modes_split(&values, 1, 0.5, 0.005, &start, &fit, NULL), 21.3793, 0.5);
	assert_near(fit.shift, 3, 0.05);
	new[10] = 0; /* far from both modes of the old side */
	assert_true(fb_modes_split(&values, 1, 0.5, 0.005, &start, &fit, NULL) < 21.3793 - 15);
	values.nr = 11; /* too few to tell */
	assert_true(isinf(fb_modes_split(&values, 1, 0.5, 0.005, &start, &fit, NULL)));
}

/*
 * R 4.2.2, a sum over grids of both levels (0.02 apart), the log of the variance (0.1) and both
 * shares (40 points): the product over the boots of
 *   f = function(x, s) s exp(-(x - high)^2 / (2 v)) + (1 - s) exp(-(x - low)^2 / (2 v))
 * times v^(-boots / 2) v^(-0.5) exp(-0.005 / v) and |s_new - s_old|, over 2 pi.
 */
static void share_equals_r(void **state)
{
	static const double value[] = {0.1, -0.2, 0.3, 0.05, 2.1, -0.1, 0,
				       2,   1.8,  2.2, 0.1,  1.9, 2.1,	2.05};
	const struct fb_model_fit start = {.mean_old = 0.3, .mean_new = 1.7, .sigma = 0.8};
	unsigned char new[14] = {0};
	struct fb_model_values values = {14, value, new};
	struct fb_model_fit fit, again;
	double lik, ratio[14];

	for (int i = 0; i < 14; i++)
		new[i] = i >= 7;
	lik = fb_share_split(&values, 0.5, 0.005, &start, &fit, ratio);
	assert_near(lik, 8.03128, 0.2);
	/* Six sevenths of a distance of 2 less one, drawn to the middle by the prior. */
	assert_near(fit.shift, 1.25, 0.1);
	assert_near(fit.distance, 2, 0.05);
	assert_true(ratio[0] < -1 && ratio[4] > 1 && ratio[10] < -1);
	/* Where it ended it begins again. */
	assert_near(fb_share_split(&values, 0.5, 0.005, &fit, &again, NULL), lik, 0.01);
	assert_near(again.shift, fit.shift, 0.01);
	values.nr = 11; /* too few to tell */
	assert_true(isinf(fb_share_split(&values, 0.5, 0.005, &start, &fit, NULL)));
}

static void a_boot_added_and_taken_away_leaves_no_trace(void **state)
{
	const struct fb_model_image image = {3, 0.7, 0.01}, more = {2, -0.4, 0.2};
	struct fb_model a, b;

	fb_model_init(&a, &fb_family_normal, 0.02, 1, NULL);
	fb_model_add(&a, &image, 1);
	b = a;
	fb_model_add(&b, &more, 1);
	fb_model_add(&b, &more, -1);
	assert_int_equal(a.nr_boots, b.nr_boots);
	assert_near(b.within, a.within, 1e-15);
	for (int r = 0; r < FB_MODEL_PARTS; r++) {
		assert_near(b.wmm[r], a.wmm[r], 1e-15);
		assert_near(b.all.w[r], a.all.w[r], 1e-15);
		assert_near(b.log_prior[r], a.log_prior[r], 1e-15);
	}
}

static void ends_test_sees_large_equal_and_opposite_shifts(void **state)
{
	const struct fb_model_ends large = {3, 3, 1.0, 1e-4}, none = {3, 3, 0, 1e-6},
				   opposite = {3, 3, -1.0, 1e-4}, exact = {2, 2, 0.5, 0};
	double differ, same;

	fb_family_normal.ends_test(NULL, &large, 0.05, 1, &differ, &same);
	assert_true(differ > 5 && same < 0);
	fb_family_normal.ends_test(NULL, &none, 0.05, 1, &differ, &same);
	assert_true(differ < 0 && same > 4.6);
	fb_family_normal.ends_test(NULL, &opposite, 0.05, 1, &differ, &same);
	assert_true(differ < 0 && same > 5);
	fb_family_normal.ends_test(NULL, &opposite, 0.05, 0, &differ, &same);
	assert_true(differ > 5 && same < 0);
	fb_family_normal.ends_test(NULL, &opposite, 0.05, -1, &differ, &same);
	assert_true(differ > 5 && same < 0);
	fb_family_normal.ends_test(NULL, &exact, 0.05, 1, &differ, &same);
	assert_true(isfinite(differ) && differ > 4.6);
}

#define NR(a) (sizeof(a) / sizeof((a)[0]))

int main(void)
{
	struct CMUnitTest tests[64] = {
		cmocka_unit_test(shift_of_many_values_equals_r),
		cmocka_unit_test(upper_bound_equals_r),
		cmocka_unit_test(logsum_survives_large_and_zero),
		cmocka_unit_test(mean_of_near_equal_values_keeps_their_spread),
		cmocka_unit_test(likelihood_equals_r),
		cmocka_unit_test(tails_equal_r),
		cmocka_unit_test(modes_equal_r),
		cmocka_unit_test(share_equals_r),
		cmocka_unit_test(a_boot_added_and_taken_away_leaves_no_trace),
		cmocka_unit_test(ends_test_sees_large_equal_and_opposite_shifts),
	};
	size_t nr = 0;

	while (tests[nr].name)
		nr++;
	for (size_t i = 0; i < NR(welch_rows); i++)
		tests[nr++] = (struct CMUnitTest){welch_rows[i].name, welch_equals_r, NULL, NULL,
						  (void *)(uintptr_t)&welch_rows[i]};
	for (size_t i = 0; i < NR(shift_rows); i++)
		tests[nr++] = (struct CMUnitTest){shift_rows[i].name, shift_equals_r, NULL, NULL,
						  (void *)(uintptr_t)&shift_rows[i]};
	for (size_t i = 0; i < NR(bits_rows); i++)
		tests[nr++] = (struct CMUnitTest){bits_rows[i].name, bits_equal_r, NULL, NULL,
						  (void *)(uintptr_t)&bits_rows[i]};
	/* The macro takes the size of an array, and this one is not full. */
	return _cmocka_run_group_tests("stats", tests, nr, NULL, NULL);
}
