/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Protects: means, change, interval and noise of a report are those of its boots.
 *
 * Numbers by R 4.2.2; with g, b the values of the sides:
 *   t <- t.test(b/mean(b) + log(mean(b)), g/mean(g) + log(mean(g))); expm1(t$conf.int)
 *   sqrt(sum(sapply(images, function(x) sum((x - mean(x))^2) / mean(x)^2)) / 4)
 */
#include "t/test.h"

#include "src/controller/sides.h"
#include "src/util/util.h"

static const struct fb_sides_boot boots[] = {
	{10, 0, false}, {20, 2, true}, {22, 2, true},	{11, 0, false},
	{21, 3, true},	{19, 3, true}, {9.5, 1, false}, {10.5, 1, false},
};

static void the_numbers_are_those_of_the_boots(void **state)
{
	struct fb_sides s = fb_sides_of(boots, FB_ARRAY_SIZE(boots));

	assert_near(s.mean_good, 10.25, 0);
	assert_near(s.mean_bad, 20.5, 0);
	assert_near(s.effect, 1, 0);
	assert_near(s.effect_lo, 0.793529539408296, 1e-9);
	assert_near(s.effect_hi, 1.23023926403779, 1e-9);
	assert_near(s.sigma, 0.0690476190476191, 1e-12);
}

static void what_the_boots_do_not_tell_is_none(void **state)
{
	static const struct fb_sides_boot equal[] = {
		{9, 0, false}, {9, 0, false}, {20, 1, true}, {20, 1, true}};
	struct fb_sides s = fb_sides_of(equal, 4);

	assert_near(s.effect, 20.0 / 9 - 1, 0);
	assert_near(s.sigma, 0, 0);
	assert_true(isnan(s.effect_lo) && isnan(s.effect_hi));
	/* One boot a side: a ratio, but nothing of its spread. */
	s = fb_sides_of(equal + 1, 2);
	assert_near(s.effect, 20.0 / 9 - 1, 0);
	assert_true(isnan(s.sigma) && isnan(s.effect_lo) && isnan(s.effect_hi));
	/* One side only. */
	s = fb_sides_of(equal, 2);
	assert_true(isnan(s.effect) && isnan(s.mean_good) && isnan(s.mean_bad) && isnan(s.sigma));
	s = fb_sides_of(NULL, 0);
	assert_true(isnan(s.effect) && isnan(s.mean_good) && isnan(s.mean_bad) && isnan(s.sigma));
}

/* The history 0 - 1 - 3 - 4 with 2 beside 1: what lies beside the culprit is on the good side. */
static void the_commit_named_parts_the_boots(void **state)
{
	uint32_t parent_start[] = {0, 0, 1, 2, 4, 5}, parent[] = {0, 0, 1, 2, 3}, good = 0;
	struct fb_range range = {.nr = 5,
				 .parent_start = parent_start,
				 .parent = parent,
				 .bad = 4,
				 .good = &good,
				 .nr_good = 1};
	double value[] = {100, 70, 110, 80, 90};
	struct fb_bisect_node node[5] = {{0}};
	struct fb_bisect b = {.range = &range, .node = node};
	struct fb_verdict v = {.kind = FB_VERDICT_OTHER};
	const uint32_t culprit = 1;
	struct fb_sides s;

	for (int i = 0; i < 5; i++) {
		node[i].values = &value[i];
		node[i].nr_values = 1;
	}
	s = fb_sides_of_verdict(&b, &v);
	assert_near(s.mean_good, 100, 0);
	assert_near(s.mean_bad, 90, 0);
	v = (struct fb_verdict){.kind = FB_VERDICT_FOUND, .nodes = &culprit, .nr_nodes = 1};
	s = fb_sides_of_verdict(&b, &v);
	assert_near(s.mean_good, 105, 0);
	assert_near(s.mean_bad, 80, 0);
	/* Statuses that may lie: rates and their difference. */
	value[0] = value[2] = 0;
	b.by_status = b.flaky = true;
	s = fb_sides_of_verdict(&b, &v);
	assert_near(s.mean_good, 0, 0);
	assert_near(s.mean_bad, 1, 0);
	assert_near(s.effect, 1, 0);
	b.flaky = false;
	s = fb_sides_of_verdict(&b, &v);
	assert_true(isnan(s.effect) && isnan(s.mean_good));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_numbers_are_those_of_the_boots),
		cmocka_unit_test(what_the_boots_do_not_tell_is_none),
		cmocka_unit_test(the_commit_named_parts_the_boots),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
