/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the search asks for and answers, case by case, with little or no noise. */
#include "t/test.h"

#include "bisect/search.h"

#define NR_MAX 200

/* A small deterministic jitter in [-1, 1], different for each boot. */
static double jitter(uint32_t node, unsigned boot)
{
	return sin(12.9898 * (node + 1) + 78.233 * (boot + 1));
}

static const struct fb_search_params usual = {
	.confidence = 0.99,
	.min_effect = 0.05,
	.scale = FB_SCALE_LOG,
	.direction = FB_DIRECTION_UP,
	.min_boots = 3,
	.max_boots = 60,
	.max_total = 1000,
	.batch = 2,
};

static struct fb_dag *line(uint32_t nr)
{
	struct fb_dag *dag = fb_dag_new();

	for (uint32_t v = 0; v < nr; v++) {
		uint32_t parent = v - 1;

		assert_int_equal(fb_dag_add(dag, &parent, v ? 1 : 0), 0);
	}
	return dag;
}

static struct fb_search *on_line(const struct fb_dag *dag, const struct fb_search_params *params)
{
	uint32_t good = 0;
	struct fb_search *s = fb_search_new(dag, &good, 1, NULL, 0, fb_dag_nr(dag) - 1, params);

	assert_non_null(s);
	return s;
}

/*
 * Runs a search to its end. @value is the noise-free value of each node, below 0 for one
 * that cannot be built; @noise is the relative jitter.
 */
static void run(struct fb_search *s, const double *value, double noise, struct fb_verdict *ret)
{
	unsigned boots[NR_MAX] = {0};
	struct fb_search_ask ask;
	int steps = 0;

	while (fb_search_next(s, &ask) == FB_SEARCH_MEASURE) {
		assert_true(ask.boots >= 1 && ask.boots <= usual.batch);
		if (++steps > 2000)
			fail_msg("no end in sight");
		if (value[ask.node] < 0) {
			assert_int_equal(fb_search_skip(s, ask.node), 0);
			continue;
		}
		for (unsigned i = 0; i < ask.boots; i++) {
			double j = jitter(ask.node, boots[ask.node]++);

			assert_int_equal(
				fb_search_record(s, ask.node, value[ask.node] * (1 + noise * j)),
				0);
		}
	}
	fb_search_verdict(s, ret);
}

static void step_at(double *value, uint32_t nr, uint32_t culprit, double old, double new)
{
	for (uint32_t v = 0; v < nr; v++)
		value[v] = v < culprit ? old : new;
}

static void arguments_that_make_no_search_are_refused(void **state)
{
	struct fb_dag *dag = line(5);
	uint32_t good = 0, late = 4, out = 9;
	struct fb_search_params p = usual;

	assert_null(fb_search_new(dag, &good, 0, NULL, 0, 4, &p));
	assert_null(fb_search_new(dag, &late, 1, NULL, 0, 4, &p)); /* good is bad */
	assert_null(fb_search_new(dag, &late, 1, NULL, 0, 3, &p)); /* bad is older than good */
	assert_null(fb_search_new(dag, &out, 1, NULL, 0, 4, &p));
	assert_null(fb_search_new(dag, &good, 1, &out, 1, 4, &p));
	assert_null(fb_search_new(dag, &good, 1, NULL, 0, 5, &p));
	p.confidence = 1;
	assert_null(fb_search_new(dag, &good, 1, NULL, 0, 4, &p));
	p = usual;
	p.min_effect = 0;
	assert_null(fb_search_new(dag, &good, 1, NULL, 0, 4, &p));
	p.min_effect = NAN;
	assert_null(fb_search_new(dag, &good, 1, NULL, 0, 4, &p));
	p = usual;
	p.min_boots = 1;
	assert_null(fb_search_new(dag, &good, 1, NULL, 0, 4, &p));
	p = usual;
	p.max_boots = 2;
	assert_null(fb_search_new(dag, &good, 1, NULL, 0, 4, &p));
	p = usual;
	p.direction = FB_DIRECTION_DOWN;
	p.min_effect = 1; /* nothing falls by more than 100 % */
	assert_null(fb_search_new(dag, &good, 1, NULL, 0, 4, &p));
	fb_dag_free(dag);
}

static void values_that_cannot_be_are_refused(void **state)
{
	struct fb_dag *dag = line(3);
	const uint32_t root = 0, two[] = {0};
	struct fb_search_params linear = usual;
	struct fb_search *s;

	assert_int_equal(fb_dag_add(dag, two, 1), 0); /* node 3: a branch beside the line */
	s = fb_search_new(dag, &root, 1, NULL, 0, 2, &usual);
	assert_int_equal(fb_search_record(s, 1, 0), -1);
	assert_int_equal(fb_search_record(s, 1, -1), -1);
	assert_int_equal(fb_search_record(s, 1, NAN), -1);
	assert_int_equal(fb_search_record(s, 1, INFINITY), -1);
	assert_int_equal(fb_search_record(s, 7, 1), -1);
	assert_int_equal(fb_search_record(s, 3, 1), -1);
	assert_int_equal(fb_search_record(s, 1, 1), 0);
	assert_int_equal(fb_search_skip(s, 7), -1);
	assert_int_equal(fb_search_same_image(s, 0, 7), -1);
	assert_int_equal(fb_search_set_cost(s, 1, -1), -1);
	assert_int_equal(fb_search_set_cost(s, 1, NAN), -1);
	fb_search_free(s);
	linear.scale = FB_SCALE_LINEAR;
	s = fb_search_new(dag, &root, 1, NULL, 0, 2, &linear);
	assert_int_equal(fb_search_record(s, 1, -5), 0);
	assert_int_equal(fb_search_record(s, 1, 0), 0);
	fb_search_free(s);
	fb_dag_free(dag);
}

static void the_ends_are_measured_first_and_in_turns(void **state)
{
	struct fb_search_params p = usual;
	struct fb_dag *dag = line(10);
	const uint32_t want[] = {0, 9, 9, 0, 0, 9}; /* ABBA */
	struct fb_search *s;
	struct fb_search_ask ask;

	p.batch = 1;
	s = on_line(dag, &p);
	for (int i = 0; i < 6; i++) {
		assert_int_equal(fb_search_next(s, &ask), FB_SEARCH_MEASURE);
		assert_int_equal(ask.node, want[i]);
		assert_int_equal(ask.boots, 1);
		assert_int_equal(ask.why, FB_SEARCH_WHY_END);
		assert_int_equal(fb_search_record(s, ask.node, ask.node ? 200 : 100), 0);
	}
	assert_int_equal(fb_search_next(s, &ask), FB_SEARCH_MEASURE);
	assert_int_equal(ask.why, FB_SEARCH_WHY_STEP);
	fb_search_free(s);
	fb_dag_free(dag);
}

static void every_culprit_of_a_line_is_found(void **state)
{
	enum { NR = 91 };
	struct fb_dag *dag = line(NR);
	double value[NR];

	for (uint32_t culprit = 1; culprit < NR; culprit++) {
		struct fb_search *s = on_line(dag, &usual);
		struct fb_verdict v;

		step_at(value, NR, culprit, 1000, 1150);
		run(s, value, 0.01, &v);
		assert_int_equal(v.kind, FB_VERDICT_FOUND);
		assert_int_equal(v.nr_nodes, 1);
		assert_int_equal(v.nodes[0], culprit);
		assert_true(v.confidence >= 0.99 && v.confidence <= 1);
		assert_true(v.boots <= 40);
		assert_near(v.effect, 0.15, 0.02);
		assert_true(v.effect_lo < 0.15 && v.effect_hi > 0.15);
		assert_near(v.mean_good, 1000, 10);
		assert_near(v.mean_bad, 1150, 15);
		assert_near(v.sigma, 0.008, 0.005);
		assert_near(fb_search_posterior(s, culprit), v.confidence, 1e-12);
		assert_int_equal(fb_search_left(s), 1);
		assert_near(fb_search_boots_to_go(s), 0, 0);
		fb_search_free(s);
	}
	fb_dag_free(dag);
}

struct shape {
	const char *name;
	enum fb_scale scale;
	enum fb_direction direction;
	double min_effect, old, new, noise;
	enum fb_verdict_kind want;
};

static const struct shape shapes[] = {
	{"a rise is found when a rise is looked for", FB_SCALE_LOG, FB_DIRECTION_UP, 0.05, 100, 120,
	 0.01, FB_VERDICT_FOUND},
	{"a fall is found when a fall is looked for", FB_SCALE_LOG, FB_DIRECTION_DOWN, 0.05, 100,
	 80, 0.01, FB_VERDICT_FOUND},
	{"a fall is none when a rise is looked for", FB_SCALE_LOG, FB_DIRECTION_UP, 0.05, 100, 80,
	 0.01, FB_VERDICT_NONE},
	{"a rise is none when a fall is looked for", FB_SCALE_LOG, FB_DIRECTION_DOWN, 0.05, 100,
	 120, 0.01, FB_VERDICT_NONE},
	{"a fall is found when either is looked for", FB_SCALE_LOG, FB_DIRECTION_ANY, 0.05, 100, 80,
	 0.01, FB_VERDICT_FOUND},
	{"a shift below min_effect is none", FB_SCALE_LOG, FB_DIRECTION_ANY, 0.05, 100, 101, 0.01,
	 FB_VERDICT_NONE},
	{"equal values are none", FB_SCALE_LOG, FB_DIRECTION_ANY, 0.05, 100, 100, 0,
	 FB_VERDICT_NONE},
	{"exact counters are found", FB_SCALE_LOG, FB_DIRECTION_ANY, 0.05, 100, 110, 0,
	 FB_VERDICT_FOUND},
	{"an exact counter that doubles is found", FB_SCALE_LINEAR, FB_DIRECTION_UP, 10, 1000, 2000,
	 0, FB_VERDICT_FOUND},
	{"a factor of a million is found", FB_SCALE_LOG, FB_DIRECTION_UP, 0.05, 1, 1e6, 0.02,
	 FB_VERDICT_FOUND},
	{"a linear fall below zero is found", FB_SCALE_LINEAR, FB_DIRECTION_DOWN, 1, 3, -7, 0.01,
	 FB_VERDICT_FOUND},
};

static void shape_is_answered(void **state)
{
	enum { NR = 65, CULPRIT = 23 };
	const struct shape *row = *state;
	struct fb_search_params p = usual;
	struct fb_dag *dag = line(NR);
	struct fb_search *s;
	struct fb_verdict v;
	struct fb_search_ask ask;
	unsigned boot = 0;

	p.scale = row->scale;
	p.direction = row->direction;
	p.min_effect = row->min_effect;
	s = on_line(dag, &p);
	while (fb_search_next(s, &ask) == FB_SEARCH_MEASURE) {
		double x = ask.node < CULPRIT ? row->old : row->new;

		assert_true(boot < 500);
		for (unsigned i = 0; i < ask.boots; i++)
			assert_int_equal(fb_search_record(s, ask.node,
							  x + row->noise * fabs(x) *
									  jitter(ask.node, boot++)),
					 0);
	}
	fb_search_verdict(s, &v);
	assert_int_equal(v.kind, row->want);
	assert_true(isfinite(v.effect) && isfinite(v.effect_lo) && isfinite(v.effect_hi) &&
		    isfinite(v.confidence) && isfinite(v.sigma));
	if (row->want == FB_VERDICT_FOUND)
		assert_int_equal(v.nodes[0], CULPRIT);
	else
		assert_int_equal(v.nr_nodes, 0);
	fb_search_free(s);
	fb_dag_free(dag);
}

static void unbuildable_neighbours_leave_their_range(void **state)
{
	enum { NR = 65 };
	struct fb_dag *dag = line(NR);
	double value[NR];

	for (uint32_t culprit = 20; culprit <= 31; culprit++) {
		struct fb_search *s = on_line(dag, &usual);
		struct fb_verdict v;

		step_at(value, NR, culprit, 100, 130);
		for (uint32_t i = 22; i <= 29; i++)
			value[i] = -1;
		run(s, value, 0.01, &v);
		/* 22 to 29 are not told from 30, the first one after them that builds. */
		if (culprit >= 22 && culprit <= 30) {
			assert_int_equal(v.kind, FB_VERDICT_RANGE);
			assert_int_equal(v.nr_nodes, 9);
			for (uint32_t i = 0; i < 9; i++)
				assert_int_equal(v.nodes[i], 22 + i);
		} else {
			assert_int_equal(v.kind, FB_VERDICT_FOUND);
			assert_int_equal(v.nodes[0], culprit);
		}
		assert_true(v.confidence >= 0.99);
		fb_search_free(s);
	}
	fb_dag_free(dag);
}

static void an_end_that_cannot_be_built_is_untestable(void **state)
{
	enum { NR = 9 };
	struct fb_dag *dag = line(NR);
	double value[NR];
	struct fb_search *s = on_line(dag, &usual);
	struct fb_verdict v;

	step_at(value, NR, 4, 100, 130);
	value[NR - 1] = -1;
	run(s, value, 0, &v);
	assert_int_equal(v.kind, FB_VERDICT_UNTESTABLE);
	fb_search_free(s);
	fb_dag_free(dag);
}

static void with_nothing_testable_between_the_ends_all_are_the_range(void **state)
{
	enum { NR = 9 };
	struct fb_dag *dag = line(NR);
	double value[NR];
	struct fb_search *s = on_line(dag, &usual);
	struct fb_verdict v;

	step_at(value, NR, 4, 100, 130);
	for (uint32_t i = 1; i < NR - 1; i++)
		value[i] = -1;
	run(s, value, 0.01, &v);
	assert_int_equal(v.kind, FB_VERDICT_RANGE);
	assert_int_equal(v.nr_nodes, NR - 1);
	fb_search_free(s);
	fb_dag_free(dag);
}

static void one_candidate_is_found_by_its_ends(void **state)
{
	struct fb_dag *dag = line(2);
	const double value[] = {100, 130};
	struct fb_search *s = on_line(dag, &usual);
	struct fb_verdict v;

	run(s, value, 0.01, &v);
	assert_int_equal(v.kind, FB_VERDICT_FOUND);
	assert_int_equal(v.nodes[0], 1);
	assert_near(v.other, 0, 0);
	fb_search_free(s);
	fb_dag_free(dag);
}

static void same_image_rules_a_commit_out_and_shares_its_boots(void **state)
{
	enum { NR = 33, CULPRIT = 17 };
	struct fb_dag *dag = line(NR);
	double value[NR];
	struct fb_search *s = on_line(dag, &usual);
	struct fb_verdict v;

	step_at(value, NR, CULPRIT, 100, 130);
	/* Documentation commits: every even one builds what its parent builds. */
	for (uint32_t i = 2; i < NR; i += 2)
		assert_int_equal(fb_search_same_image(s, i, i - 1), 0);
	run(s, value, 0.01, &v);
	assert_int_equal(v.kind, FB_VERDICT_FOUND);
	assert_int_equal(v.nodes[0], CULPRIT);
	assert_near(fb_search_posterior(s, CULPRIT + 1), 0, 0);
	fb_search_free(s);
	fb_dag_free(dag);
}

static void an_unbuildable_commit_of_a_known_image_is_no_hole(void **state)
{
	enum { NR = 9 };
	struct fb_dag *dag = line(NR);
	double value[NR];
	struct fb_search *s = on_line(dag, &usual);
	struct fb_verdict v;

	step_at(value, NR, 5, 100, 130);
	value[4] = -1;
	assert_int_equal(fb_search_same_image(s, 3, 4), 0);
	run(s, value, 0.01, &v);
	assert_int_equal(v.kind, FB_VERDICT_FOUND);
	assert_int_equal(v.nodes[0], 5);
	fb_search_free(s);
	fb_dag_free(dag);
}

static void ends_of_one_image_do_not_differ(void **state)
{
	struct fb_dag *dag = line(9);
	struct fb_search *s = on_line(dag, &usual);
	struct fb_search_ask ask;
	struct fb_verdict v;

	assert_int_equal(fb_search_same_image(s, 8, 3), 0);
	assert_int_equal(fb_search_same_image(s, 0, 3), 0);
	assert_int_equal(fb_search_next(s, &ask), FB_SEARCH_DONE);
	fb_search_verdict(s, &v);
	assert_int_equal(v.kind, FB_VERDICT_NONE);
	fb_search_free(s);
	fb_dag_free(dag);
}

/*
 *   0 --- 1 --- 2 --- 3 (good)
 *    \
 *     4 --- 5 --- 6 (bad)          the merge base is 0
 */
static struct fb_dag *fork_of_two(void)
{
	static const uint32_t parent[] = {0, 0, 1, 2, 0, 4, 5};
	struct fb_dag *dag = fb_dag_new();

	for (uint32_t v = 0; v < 7; v++)
		assert_int_equal(fb_dag_add(dag, &parent[v], v ? 1 : 0), 0);
	return dag;
}

static void a_good_merge_base_is_tested_and_passed(void **state)
{
	const double value[] = {100, 100, 100, 100, 100, 130, 130};
	const uint32_t good = 3, base = 0;
	struct fb_dag *dag = fork_of_two();
	struct fb_search *s = fb_search_new(dag, &good, 1, &base, 1, 6, &usual);
	struct fb_search_ask ask;
	struct fb_verdict v;

	for (int i = 0; i < 6; i++) {
		assert_int_equal(fb_search_record(s, 3, 100 + 0.3 * i), 0);
		assert_int_equal(fb_search_record(s, 6, 130 + 0.3 * i), 0);
	}
	assert_int_equal(fb_search_next(s, &ask), FB_SEARCH_MEASURE);
	assert_int_equal(ask.node, 0);
	assert_int_equal(ask.why, FB_SEARCH_WHY_BASE);
	run(s, value, 0.01, &v);
	assert_int_equal(v.kind, FB_VERDICT_FOUND);
	assert_int_equal(v.nodes[0], 5);
	assert_near(fb_search_posterior(s, 2), 0, 0); /* on the good side: no candidate */
	fb_search_free(s);
	fb_dag_free(dag);
}

static void a_bad_merge_base_is_the_answer(void **state)
{
	const double value[] = {130, 130, 130, 100, 130, 130, 130};
	const uint32_t good = 3, base = 0;
	struct fb_dag *dag = fork_of_two();
	struct fb_search *s = fb_search_new(dag, &good, 1, &base, 1, 6, &usual);
	struct fb_verdict v;

	run(s, value, 0.01, &v);
	assert_int_equal(v.kind, FB_VERDICT_BASE_BAD);
	assert_int_equal(v.nr_nodes, 1);
	assert_int_equal(v.nodes[0], 0);
	fb_search_free(s);
	fb_dag_free(dag);
}

static void an_unbuildable_merge_base_is_passed_by(void **state)
{
	const double value[] = {-1, 100, 100, 100, 130, 130, 130};
	const uint32_t good = 3, base = 0;
	struct fb_dag *dag = fork_of_two();
	struct fb_search *s = fb_search_new(dag, &good, 1, &base, 1, 6, &usual);
	struct fb_verdict v;

	run(s, value, 0.01, &v);
	assert_int_equal(v.kind, FB_VERDICT_FOUND);
	assert_int_equal(v.nodes[0], 4);
	fb_search_free(s);
	fb_dag_free(dag);
}

/* Levels by ranges; none of these is one step. */
static const uint32_t two_steps[] = {8, 22};

static void two_steps_name_no_innocent_commit(void **state)
{
	enum { NR = 33 };
	struct fb_dag *dag = line(NR);
	double value[NR];
	struct fb_search *s = on_line(dag, &usual);
	struct fb_verdict v;

	for (uint32_t i = 0; i < NR; i++)
		value[i] = i < two_steps[0] ? 100 : i < two_steps[1] ? 115 : 130;
	run(s, value, 0.005, &v);
	if (v.kind == FB_VERDICT_FOUND)
		assert_true(v.nodes[0] == two_steps[0] || v.nodes[0] == two_steps[1]);
	else
		assert_int_equal(v.kind, FB_VERDICT_OTHER);
	fb_search_free(s);
	fb_dag_free(dag);
}

static void up_and_down_names_no_innocent_commit(void **state)
{
	enum { NR = 65 };
	struct fb_dag *dag = line(NR);
	double value[NR];
	struct fb_search *s = on_line(dag, &usual);
	struct fb_verdict v;

	/* Bad from 10 to 36, good again to 50, then bad. */
	for (uint32_t i = 0; i < NR; i++)
		value[i] = i < 10 ? 100 : i < 37 ? 130 : i < 51 ? 100 : 130;
	run(s, value, 0.005, &v);
	if (v.kind == FB_VERDICT_FOUND)
		assert_true(v.nodes[0] == 10 || v.nodes[0] == 51);
	else
		assert_int_equal(v.kind, FB_VERDICT_OTHER);
	fb_search_free(s);
	fb_dag_free(dag);
}

static void one_wild_boot_convicts_nobody(void **state)
{
	enum { NR = 65, CULPRIT = 50 };
	struct fb_search_params p = usual;
	struct fb_dag *dag = line(NR);
	double value[NR];

	p.batch = 1;
	/* Whatever node it hits first: one boot of it is as slow as the bad end. */
	for (uint32_t wild = 1; wild < CULPRIT; wild++) {
		struct fb_search *s = on_line(dag, &p);
		struct fb_search_ask ask;
		struct fb_verdict v;
		unsigned boot = 0, of_wild = 0;

		step_at(value, NR, CULPRIT, 100, 130);
		while (fb_search_next(s, &ask) == FB_SEARCH_MEASURE) {
			double x = value[ask.node];

			assert_true(boot < 500);
			if (ask.node == wild && !of_wild++)
				x = 130;
			assert_int_equal(
				fb_search_record(s, ask.node, x * (1 + 0.01 * jitter(1, boot++))),
				0);
		}
		fb_search_verdict(s, &v);
		assert_int_equal(v.kind, FB_VERDICT_FOUND);
		assert_int_equal(v.nodes[0], CULPRIT);
		fb_search_free(s);
	}
	fb_dag_free(dag);
}

/* P(all of these boots are strays) when none of the others was: the rule of succession. */
static double chance_of_strays(unsigned boots, unsigned others)
{
	double p = 1;

	for (unsigned b = 0; b < boots; b++)
		p *= (b + 1.0) / (others + b + 2.0);
	return p;
}

static void a_verdict_rests_on_more_boots_than_may_be_strays(void **state)
{
	enum { NR = 257 };
	struct fb_search_params p = usual;
	struct fb_dag *dag = line(NR);
	double value[NR];

	for (uint32_t culprit = 3; culprit < NR; culprit += 23) {
		struct fb_search *s = on_line(dag, &p);
		struct fb_search_ask ask;
		struct fb_verdict v;
		unsigned boots[NR] = {0}, nr = 0;

		step_at(value, NR, culprit, 100, 104);
		while (fb_search_next(s, &ask) == FB_SEARCH_MEASURE) {
			assert_true(nr < 500);
			boots[ask.node]++;
			assert_int_equal(
				fb_search_record(s, ask.node,
						 value[ask.node] * (1 + 0.005 * jitter(1, nr++))),
				0);
		}
		fb_search_verdict(s, &v);
		assert_int_equal(v.kind, FB_VERDICT_FOUND);
		assert_int_equal(v.nodes[0], culprit);
		assert_true(chance_of_strays(boots[culprit], nr - boots[culprit]) <=
			    1 - p.confidence);
		assert_true(chance_of_strays(boots[culprit - 1], nr - boots[culprit - 1]) <=
			    1 - p.confidence);
		fb_search_free(s);
	}
	fb_dag_free(dag);
}

static void boots_that_run_out_are_undecided(void **state)
{
	enum { NR = 65 };
	struct fb_search_params p = usual;
	struct fb_dag *dag = line(NR);
	double value[NR];
	struct fb_search *s;
	struct fb_verdict v;

	step_at(value, NR, 40, 100, 130);
	p.max_total = 11;
	s = on_line(dag, &p);
	run(s, value, 0.01, &v);
	assert_int_equal(v.kind, FB_VERDICT_UNDECIDED);
	assert_int_equal(v.boots, 11);
	assert_true(v.nr_nodes > 1 && v.nr_nodes < NR - 1);
	assert_true(v.nodes[0] <= 40 && v.nodes[v.nr_nodes - 1] >= 40);
	fb_search_free(s);

	/* Also while the ends are compared. */
	p.max_total = 5;
	s = on_line(dag, &p);
	run(s, value, 0.01, &v);
	assert_int_equal(v.kind, FB_VERDICT_UNDECIDED);
	fb_search_free(s);
	fb_dag_free(dag);
}

static void no_commit_has_more_boots_than_allowed(void **state)
{
	enum { NR = 33 };
	struct fb_search_params p = usual;
	struct fb_dag *dag = line(NR);
	struct fb_search *s;
	struct fb_search_ask ask;
	unsigned nr[NR] = {0};

	p.max_boots = 4;
	p.max_total = 0;
	s = on_line(dag, &p);
	for (int boot = 0; fb_search_next(s, &ask) == FB_SEARCH_MEASURE; boot++) {
		nr[ask.node] += ask.boots;
		assert_true(nr[ask.node] <= 4);
		/* Noise as large as what is looked for: hard to decide with so few. */
		for (unsigned i = 0; i < ask.boots; i++)
			assert_int_equal(
				fb_search_record(
					s, ask.node,
					(ask.node < 9 ? 100 : 108) *
						(1 +
						 0.06 * jitter(ask.node, (unsigned)boot * 2 + i))),
				0);
	}
	fb_search_free(s);
	fb_dag_free(dag);
}

static void an_image_that_is_there_is_preferred(void **state)
{
	enum { NR = 65 };
	struct fb_dag *dag = line(NR);
	struct fb_search *s = on_line(dag, &usual);
	struct fb_search_ask ask;

	for (uint32_t v = 0; v < NR; v++)
		assert_int_equal(fb_search_set_cost(s, v, v == 29 ? 0 : 5), 0);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(fb_search_record(s, 0, 100 + 0.1 * i), 0);
		assert_int_equal(fb_search_record(s, NR - 1, 150 + 0.1 * i), 0);
	}
	assert_int_equal(fb_search_next(s, &ask), FB_SEARCH_MEASURE);
	assert_int_equal(ask.node, 29); /* near the middle, 32, and already built */
	fb_search_free(s);
	fb_dag_free(dag);
}

static void a_skip_sends_the_search_away_from_its_neighbours(void **state)
{
	enum { NR = 257 };
	struct fb_dag *dag = line(NR);
	struct fb_search *s = on_line(dag, &usual);
	struct fb_search_ask first, second;

	for (int i = 0; i < 3; i++) {
		assert_int_equal(fb_search_record(s, 0, 100 + 0.1 * i), 0);
		assert_int_equal(fb_search_record(s, NR - 1, 150 + 0.1 * i), 0);
	}
	assert_int_equal(fb_search_next(s, &first), FB_SEARCH_MEASURE);
	assert_int_equal(fb_search_skip(s, first.node), 0);
	assert_int_equal(fb_search_next(s, &second), FB_SEARCH_MEASURE);
	assert_true(labs((long)second.node - (long)first.node) > 4);
	assert_true(labs((long)second.node - (long)first.node) < 100);
	fb_search_free(s);
	fb_dag_free(dag);
}

#define NR(a) (sizeof(a) / sizeof((a)[0]))

int main(void)
{
	const struct CMUnitTest fixed[] = {
		cmocka_unit_test(arguments_that_make_no_search_are_refused),
		cmocka_unit_test(values_that_cannot_be_are_refused),
		cmocka_unit_test(the_ends_are_measured_first_and_in_turns),
		cmocka_unit_test(every_culprit_of_a_line_is_found),
		cmocka_unit_test(unbuildable_neighbours_leave_their_range),
		cmocka_unit_test(an_end_that_cannot_be_built_is_untestable),
		cmocka_unit_test(with_nothing_testable_between_the_ends_all_are_the_range),
		cmocka_unit_test(one_candidate_is_found_by_its_ends),
		cmocka_unit_test(same_image_rules_a_commit_out_and_shares_its_boots),
		cmocka_unit_test(an_unbuildable_commit_of_a_known_image_is_no_hole),
		cmocka_unit_test(ends_of_one_image_do_not_differ),
		cmocka_unit_test(a_good_merge_base_is_tested_and_passed),
		cmocka_unit_test(a_bad_merge_base_is_the_answer),
		cmocka_unit_test(an_unbuildable_merge_base_is_passed_by),
		cmocka_unit_test(two_steps_name_no_innocent_commit),
		cmocka_unit_test(up_and_down_names_no_innocent_commit),
		cmocka_unit_test(one_wild_boot_convicts_nobody),
		cmocka_unit_test(a_verdict_rests_on_more_boots_than_may_be_strays),
		cmocka_unit_test(boots_that_run_out_are_undecided),
		cmocka_unit_test(no_commit_has_more_boots_than_allowed),
		cmocka_unit_test(an_image_that_is_there_is_preferred),
		cmocka_unit_test(a_skip_sends_the_search_away_from_its_neighbours),
	};
	struct CMUnitTest tests[NR(fixed) + NR(shapes)];

	memcpy(tests, fixed, sizeof(fixed));
	for (size_t i = 0; i < NR(shapes); i++)
		tests[NR(fixed) + i] = (struct CMUnitTest){shapes[i].name, shape_is_answered, NULL,
							   NULL, (void *)(uintptr_t)&shapes[i]};
	return cmocka_run_group_tests_name("search", tests, NULL, NULL);
}
