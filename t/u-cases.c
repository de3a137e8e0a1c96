/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What went wrong in the field, as scenarios of the search; named after the cases. */
#include "t/test.h"

#include "bisect/search.h"
#include "t/oracle.h"

static const struct fb_search_params usual = {
	.confidence = 0.99,
	.min_effect = 0.02,
	.scale = FB_SCALE_LOG,
	.direction = FB_DIRECTION_UP,
	.min_boots = 3,
	.max_total = 300,
	.batch = 1,
};

static double noise(uint64_t *rng)
{
	double sum = -6;

	for (int i = 0; i < 12; i++)
		sum += oracle_random(rng) / 2147483648.0;
	return sum;
}

static struct fb_search *on_line(uint32_t nr, const struct fb_search_params *params,
				 struct fb_dag **ret_dag)
{
	struct fb_dag *dag = fb_dag_new();
	const uint32_t good = 0;
	struct fb_search *s;

	for (uint32_t v = 0; v < nr; v++) {
		uint32_t parent = v - 1;

		assert_int_equal(fb_dag_add(dag, &parent, v ? 1 : 0), 0);
	}
	s = fb_search_new(dag, &good, 1, NULL, 0, nr - 1, params);
	assert_non_null(s);
	*ret_dag = dag;
	return s;
}

/* @value: of each node, noise-free; @sd: relative. */
static void run(struct fb_search *s, const double *value, double sd, uint64_t *rng)
{
	struct fb_search_ask ask;

	while (fb_search_next(s, &ask) == FB_SEARCH_MEASURE)
		for (unsigned i = 0; i < ask.boots; i++)
			assert_int_equal(fb_search_record(s, ask.node,
							  value[ask.node] * (1 + sd * noise(rng))),
					 0);
}

/*
 * T22 (syzkaller #1271): a bisection blamed a commit that changes comments only. It builds the
 * kernel of its parent, so it can be nothing but noise.
 */
static void t22_a_commit_with_its_parents_image_is_not_named(void **state)
{
	enum { NR = 33, COMMENT = 16 };
	uint64_t rng = 22;
	int found = 0;

	for (int trial = 0; trial < 30; trial++) {
		/* The culprit is its neighbour on either side. */
		uint32_t culprit = trial % 2 ? COMMENT - 1 : COMMENT + 1;
		struct fb_verdict v;
		struct fb_dag *dag;
		struct fb_search *s = on_line(NR, &usual, &dag);
		double value[NR];

		for (uint32_t i = 0; i < NR; i++)
			value[i] = i < culprit ? 100 : 103;
		assert_int_equal(fb_search_same_image(s, COMMENT - 1, COMMENT), 0);
		run(s, value, 0.015, &rng);
		assert_near(fb_search_posterior(s, COMMENT), 0, 0);
		fb_search_verdict(s, &v);
		for (size_t i = 0; i < v.nr_nodes; i++)
			assert_int_not_equal(v.nodes[i], COMMENT);
		found += v.kind == FB_VERDICT_FOUND && v.nodes[0] == culprit;
		fb_search_free(s);
		fb_dag_free(dag);
	}
	assert_true(found >= 28);
}

/* T22: where all that differs between the ends builds one kernel, the environment differed. */
static void t22_ends_with_one_image_are_no_regression(void **state)
{
	enum { NR = 5 };
	struct fb_verdict v;
	struct fb_dag *dag;
	struct fb_search *s = on_line(NR, &usual, &dag);

	for (uint32_t i = 1; i < NR; i++)
		assert_int_equal(fb_search_same_image(s, i - 1, i), 0);
	for (int i = 0; i < 5; i++) {
		fb_search_record(s, 0, 100 + 0.1 * i);
		fb_search_record(s, NR - 1, 112 + 0.1 * i);
	}
	fb_search_verdict(s, &v);
	assert_int_equal(v.kind, FB_VERDICT_NONE);
	fb_search_free(s);
	fb_dag_free(dag);
}

/*
 * T24: three bisections of one effect of 8 %, spread over a series of 22 commits, named A, A and B.
 * None of them made it. What is named lies in the series, what may be it no more than two commits
 * beside it (it is the smallest set with the confidence), and no one commit is said to have made
 * all of it where the boots show that it did not.
 */
static void t24_an_effect_spread_over_a_series_has_no_one_culprit(void **state)
{
	enum { NR = 129, FIRST = 50, LAST = 71 };
	int found = 0;

	for (uint64_t trial = 0; trial < 20; trial++) {
		uint64_t rng = trial + 24;
		uint32_t room;
		struct fb_verdict v;
		struct fb_dag *dag;
		struct fb_search *s = on_line(NR, &usual, &dag);
		double value[NR];

		for (uint32_t i = 0; i < NR; i++)
			value[i] = 100 + (i < FIRST  ? 0
					  : i > LAST ? 8
						     : 8.0 * (i - FIRST + 1) / (LAST - FIRST + 1));
		run(s, value, 0.01, &rng);
		fb_search_verdict(s, &v);
		found += v.kind == FB_VERDICT_FOUND;
		room = v.kind == FB_VERDICT_FOUND || v.steps_found ? 0 : 2;
		assert_true(v.nr_nodes > 0);
		for (size_t i = 0; i < v.nr_nodes; i++)
			assert_in_range(v.nodes[i], FIRST - room, LAST + room);
		fb_search_free(s);
		fb_dag_free(dag);
	}
	assert_true(found <= 2);
}

/*
 * Two identical kernels, boots that spread as much as the runs in them, 20 runs a boot: pooled
 * runs call them different in 60 % of all cases. A boot is one value here.
 */
static void equal_kernels_with_boots_as_wide_as_runs_are_equal(void **state)
{
	enum { TRIALS = 400 };
	struct fb_search_params params = usual;
	size_t wrong = 0, none = 0;
	uint64_t rng = 15;

	params.min_boots = 2;
	for (int trial = 0; trial < TRIALS; trial++) {
		struct fb_search_ask ask;
		struct fb_verdict v;
		struct fb_dag *dag;
		struct fb_search *s = on_line(2, &params, &dag);

		while (fb_search_next(s, &ask) == FB_SEARCH_MEASURE) {
			double boot = noise(&rng), sum = 0;

			for (int r = 0; r < 20; r++)
				sum += 100 + boot + noise(&rng);
			assert_int_equal(fb_search_record(s, ask.node, sum / 20), 0);
		}
		fb_search_verdict(s, &v);
		wrong += v.kind == FB_VERDICT_FOUND;
		none += v.kind == FB_VERDICT_NONE;
		fb_search_free(s);
		fb_dag_free(dag);
	}
	/* More than 10 of 400 have a chance of 0.3 % at 1 %. */
	assert_true(wrong <= 10);
	assert_true(none > TRIALS * 9 / 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(t22_a_commit_with_its_parents_image_is_not_named),
		cmocka_unit_test(t22_ends_with_one_image_are_no_regression),
		cmocka_unit_test(t24_an_effect_spread_over_a_series_has_no_one_culprit),
		cmocka_unit_test(equal_kernels_with_boots_as_wide_as_runs_are_equal),
	};

	return cmocka_run_group_tests_name("cases", tests, NULL, NULL);
}
