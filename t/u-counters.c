/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Counters are a hint where the step is: which are used, and that they decide nothing else. */
#include "t/test.h"

#include "bisect/search.h"
#include "t/draw.h"

static const struct fb_search_params usual = {
	.confidence = 0.99,
	.min_effect = 1,
	.scale = FB_SCALE_LINEAR,
	.direction = FB_DIRECTION_UP,
	.min_boots = 3,
	.max_total = 300,
	.batch = 1,
};

static struct fb_dag *line_of(uint32_t nr)
{
	struct fb_dag *dag = fb_dag_new();

	for (uint32_t i = 0; i < nr; i++) {
		uint32_t parent = i - 1;

		assert_int_equal(fb_dag_add(dag, &parent, i ? 1 : 0), 0);
	}
	return dag;
}

/* A search on a line of 100 whose ends had three boots, so far apart that it goes on between. */
struct begun {
	struct fb_dag *dag;
	struct fb_search *s;
};

static struct begun begin(void)
{
	const uint32_t good = 0;
	struct begun b;

	b.dag = line_of(101);
	b.s = fb_search_new(b.dag, &good, 1, NULL, 0, 100, &usual);
	assert_non_null(b.s);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(fb_search_record(b.s, 0, 10 + i), 0);
		assert_int_equal(fb_search_record(b.s, 100, 20 + i), 0);
	}
	return b;
}

static void end(struct begun *b)
{
	fb_search_free(b->s);
	fb_dag_free(b->dag);
}

/* One counter's boots of both ends. */
static void count(struct begun *b, uint32_t counter, const double *good, size_t nr_good,
		  const double *bad, size_t nr_bad)
{
	for (size_t i = 0; i < nr_good; i++)
		assert_int_equal(fb_search_record_counter(b->s, 0, counter, good[i]), 0);
	for (size_t i = 0; i < nr_bad; i++)
		assert_int_equal(fb_search_record_counter(b->s, 100, counter, bad[i]), 0);
}

static bool is_used(const struct begun *b, uint32_t counter)
{
	struct fb_counter_hint hint;

	fb_search_counter(b->s, counter, &hint);
	if (hint.used)
		return true;
	assert_true(isnan(hint.mean_good) && isnan(hint.mean_bad));
	assert_near(hint.agrees, 0, 0);
	return false;
}

static bool used_alone(const double *good, size_t nr_good, const double *bad, size_t nr_bad)
{
	struct begun b = begin();
	bool used;

	count(&b, 0, good, nr_good, bad, nr_bad);
	used = is_used(&b, 0);
	end(&b);
	return used;
}

static void exact_counters_need_three_boots_of_each_end(void **state)
{
	static const double one[] = {1, 1, 1}, two[] = {2, 2, 2};

	assert_true(used_alone(one, 3, two, 3));
	assert_true(used_alone(two, 3, one, 3));
	assert_false(used_alone(one, 3, two, 2));
	assert_false(used_alone(one, 2, two, 3));
	assert_false(used_alone(one, 3, one, 3));
	assert_false(used_alone(one, 3, NULL, 0));
}

/*
 * p by R 4.2.2: t.test(c(0, .5, 1), c(x, x + .5, x + 1), var.equal = TRUE)$p.value is 9.85125e-05
 * for x = 6.37 and 1.00992e-04 for x = 6.33.
 */
static void noisy_ones_pass_a_test(void **state)
{
	static const double good[] = {0, 0.5, 1};
	static const double more[] = {6.37, 6.87, 7.37}, less[] = {6.33, 6.83, 7.33};

	assert_true(used_alone(good, 3, more, 3));
	assert_true(used_alone(more, 3, good, 3));
	assert_false(used_alone(good, 3, less, 3));
}

/* That pays for all counters that were looked at: the same values, and any second counter. */
static void the_test_pays_for_the_number_of_counters(void **state)
{
	static const double good[] = {0, 0.5, 1}, bad[] = {6.37, 6.87, 7.37}, same[] = {7};
	struct begun b = begin();

	count(&b, 3, good, 3, bad, 3);
	assert_true(is_used(&b, 3));
	/* Not one that nobody saw at both ends. */
	count(&b, 1, same, 1, NULL, 0);
	assert_true(is_used(&b, 3));
	count(&b, 1, NULL, 0, same, 1);
	assert_false(is_used(&b, 3));
	end(&b);
}

/* However many boots: modes are no step. */
static void sides_that_come_near_each_other_are_not_used(void **state)
{
	double good[40], bad[40], near[40];

	for (int i = 0; i < 40; i++) {
		good[i] = i % 2;
		bad[i] = 4 + i % 2;
		near[i] = 3.9 + i % 2;
	}
	assert_true(used_alone(good, 40, bad, 40));
	assert_false(used_alone(good, 40, near, 40));
	bad[7] = 0;
	assert_false(used_alone(good, 40, bad, 40));
}

static void what_cannot_be_recorded_is_refused(void **state)
{
	struct begun b = begin();

	assert_int_equal(fb_search_record_counter(b.s, 101, 0, 1), -1);
	assert_int_equal(fb_search_record_counter(b.s, 0, FB_COUNTERS_MAX, 1), -1);
	assert_int_equal(fb_search_record_counter(b.s, 0, 0, NAN), -1);
	assert_int_equal(fb_search_record_counter(b.s, 0, 0, INFINITY), -1);
	assert_int_equal(fb_search_record_counter(b.s, 0, FB_COUNTERS_MAX - 1, -1), 0);
	assert_false(is_used(&b, 0));
	assert_false(is_used(&b, FB_COUNTERS_MAX));
	end(&b);
}

/* One that looks as if it will be used is waited for, but not for long, nor at one end for both. */
static void a_promising_counter_is_waited_for(void **state)
{
	static const double good[] = {0, 0.5, 1}, bad[] = {6.33, 6.83, 7.33};

	for (int skip = 0; skip < 2; skip++) {
		struct begun b = begin();
		struct fb_search_ask ask;
		unsigned ends[2] = {0, 0};

		count(&b, 0, good, 3, bad, 3);
		assert_false(is_used(&b, 0));
		if (skip)
			assert_int_equal(fb_search_skip(b.s, 0), 0);
		while (fb_search_next(b.s, &ask) == FB_SEARCH_MEASURE &&
		       (ask.node == 0 || ask.node == 100) && ends[0] + ends[1] < 50) {
			ends[ask.node == 100]++;
			fb_search_record(b.s, ask.node, ask.node ? 21 : 11);
		}
		assert_int_equal(ends[0], skip ? 0 : 2);
		assert_int_equal(ends[1], skip ? 4 : 2);
		end(&b);
	}
}

/* A boot between the ends, whose value says nothing, and whose counter does. */
static double weight_above(double counter)
{
	static const double one[] = {1, 1, 1}, two[] = {2, 2, 2};
	struct begun b = begin();
	struct fb_verdict v;
	double sum = 0;

	count(&b, 0, one, 3, two, 3);
	assert_int_equal(fb_search_record(b.s, 50, 16), 0);
	assert_int_equal(fb_search_record_counter(b.s, 50, 0, counter), 0);
	assert_true(is_used(&b, 0));
	fb_search_verdict(b.s, &v);
	for (uint32_t c = 51; c <= 100; c++)
		sum += fb_search_posterior(b.s, c) / (1 - v.other);
	end(&b);
	return sum;
}

/* A half of the prior follows the counter; that errs once in a hundred. */
static void an_image_is_read_by_the_nearer_end(void **state)
{
	double nothing = weight_above(1.5), old = weight_above(1.3), new = weight_above(1.7);
	double odds = nothing / (1 - nothing), prior = 0.5 * 0.99 + 0.5 * 0.5;

	assert_near(odds, 1, 0.05);
	assert_near(old / (1 - old), odds * prior / (1 - prior), 1e-9);
	assert_near(new / (1 - new), odds * (1 - prior) / prior, 1e-9);
	/* Far beyond an end is neither. */
	assert_near(weight_above(2.4), nothing, 1e-12);
	assert_near(weight_above(0.6), nothing, 1e-12);
	assert_near(weight_above(2.3), new, 1e-12);
}

/* Boots until the answer, which must be the value's own step. */
static unsigned boots_to(uint32_t step, uint32_t counted, bool with_counter, uint64_t seed)
{
	const uint32_t good = 0;
	struct fb_dag *dag = line_of(257);
	struct fb_search *s = fb_search_new(dag, &good, 1, NULL, 0, 256, &usual);
	struct draw draw = {seed};
	struct fb_counter_hint hint;
	struct fb_search_ask ask;
	struct fb_verdict v;

	while (fb_search_next(s, &ask) == FB_SEARCH_MEASURE) {
		fb_search_record(s, ask.node, 100 + 3 * (ask.node >= step) + draw_normal(&draw));
		if (with_counter)
			fb_search_record_counter(s, ask.node, 0, ask.node >= counted ? 4096 : 2048);
	}
	fb_search_verdict(s, &v);
	assert_int_equal(v.kind, FB_VERDICT_FOUND);
	assert_int_equal(v.nodes[0], step);
	fb_search_counter(s, 0, &hint);
	assert_int_equal(hint.used, with_counter);
	if (with_counter) {
		assert_near(hint.mean_good, 2048, 0);
		assert_near(hint.mean_bad, 4096, 0);
		if (counted == step)
			assert_true(hint.agrees > 0.5);
		else
			assert_true(hint.agrees < 0.1);
	}
	fb_search_free(s);
	fb_dag_free(dag);
	return v.boots;
}

static void an_exact_counter_saves_boots_and_a_misleading_one_costs_few(void **state)
{
	unsigned without = 0, same = 0, elsewhere = 0;

	for (uint64_t seed = 1; seed <= 40; seed++) {
		uint32_t step = 1 + (uint32_t)(seed * 97 % 256), other = 1 + (step + 100) % 256;

		without += boots_to(step, step, false, seed);
		same += boots_to(step, step, true, seed);
		elsewhere += boots_to(step, other, true, seed);
	}
	printf("# boots of 40 searches: %u without a counter, %u with it, %u misled\n", without,
	       same, elsewhere);
	assert_true(same * 10 < without * 9);
	assert_true(elsewhere * 10 < without * 14);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(exact_counters_need_three_boots_of_each_end),
		cmocka_unit_test(noisy_ones_pass_a_test),
		cmocka_unit_test(the_test_pays_for_the_number_of_counters),
		cmocka_unit_test(sides_that_come_near_each_other_are_not_used),
		cmocka_unit_test(what_cannot_be_recorded_is_refused),
		cmocka_unit_test(a_promising_counter_is_waited_for),
		cmocka_unit_test(an_image_is_read_by_the_nearer_end),
		cmocka_unit_test(an_exact_counter_saves_boots_and_a_misleading_one_costs_few),
	};

	return cmocka_run_group_tests_name("counters", tests, NULL, NULL);
}
