/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is said of the boots of one revision, and of two. */
#include "t/test.h"

#include "src/controller/measure.h"
#include "src/util/util.h"

#define CELL   "testcase=command"
#define METRIC "score"

struct made {
	struct fb_measured m;
	struct fb_store_boot boots[8];
	struct fb_store_sample samples[8][2];
};

/* Boots of two runs each, mean @level + i, in an environment. */
static void make(struct made *made, char *signature, char *env, double level, size_t nr)
{
	static char cell[] = CELL, metric[] = METRIC, end[] = "ok";

	memset(made, 0, sizeof(*made));
	made->m.signature = signature;
	made->m.boots = made->boots;
	made->m.nr_boots = nr;
	for (size_t i = 0; i < nr; i++) {
		struct fb_store_boot *b = &made->boots[i];

		b->env = env;
		b->end = end;
		b->samples = made->samples[i];
		b->nr_samples = 2;
		for (unsigned k = 0; k < 2; k++) {
			b->samples[k].cell = cell;
			b->samples[k].metric = metric;
			b->samples[k].run = k;
			b->samples[k].value = level + (double)i + (k ? 0.5 : -0.5);
		}
	}
}

static char sig_a[] = "a", sig_b[] = "b", env_x[] = "x", env_y[] = "y", failed[] = "oops";

/* R 4.2.2: t.test(c(100, 101, 102, 103))$conf.int; runs are 0.5 off their boot's mean. */
static void summary_counts_boots(void **state)
{
	struct made one;
	struct fb_summary s;

	make(&one, sig_a, env_x, 100, 5);
	one.boots[4].end = failed;
	s = fb_measured_summary(&one.m, CELL, METRIC);
	assert_int_equal(s.nr, 4);
	assert_near(s.mean, 101.5, 1e-12);
	assert_near(s.sd, 1.29099444873581, 1e-12);
	assert_near(s.lo, 99.4457397432391, 1e-9);
	assert_near(s.hi, 103.554260256761, 1e-9);
	assert_near(s.run_sd, sqrt(0.5), 1e-12);
	assert_near(s.boot_sd, sqrt(5.0 / 3 - 0.5 / 2), 1e-12);
	assert_near(s.min, 100, 1e-12);
	assert_near(s.max, 103, 1e-12);
	s = fb_measured_summary(&one.m, CELL, "other");
	assert_int_equal(s.nr, 0);
}

/* Case T25: a parent measured in another environment says nothing about the culprit. */
static void other_environments_are_not_compared(void **state)
{
	struct made old, new;
	struct fb_measured_change c;

	make(&old, sig_a, env_x, 9370, 7);
	make(&new, sig_b, env_y, 8255, 7);
	fb_measured_change(&old.m, &new.m, CELL, METRIC, 0.01, 0.02, false, &c);
	assert_int_equal(c.judged.verdict, FB_COMPARE_NOT_COMPARABLE);
	assert_null(c.size.method);
	assert_true(isnan(c.size.effect));

	make(&new, sig_b, env_x, 8255, 7);
	fb_measured_change(&old.m, &new.m, CELL, METRIC, 0.01, 0.02, false, &c);
	assert_int_equal(c.judged.verdict, FB_COMPARE_DIFFER);
	assert_near(c.size.effect, 8258.0 / 9373 - 1, 1e-4);
	assert_true(c.size.lo < c.size.effect && c.size.effect < c.size.hi && c.size.hi < -0.118);
	assert_true(c.is_ratio && !c.same_image);

	/* Only the boots that share an environment count. */
	old.boots[0].env = env_y;
	old.boots[1].env = env_y;
	fb_measured_change(&old.m, &new.m, CELL, METRIC, 0.01, 0.02, false, &c);
	assert_int_equal(c.judged.nr_old, 5);
	assert_int_equal(c.judged.nr_alone, 2);
	assert_string_equal(c.size.method, "sequential rank test");
}

static void equal_images_are_said_to_be_so(void **state)
{
	struct made old, new;
	struct fb_measured_change c;

	make(&old, sig_a, env_x, 100, 7);
	make(&new, sig_a, env_x, 100, 7);
	fb_measured_change(&old.m, &new.m, CELL, METRIC, 0.01, 0.2, false, &c);
	assert_true(c.same_image);
	assert_int_equal(c.judged.verdict, FB_COMPARE_SMALL);
}

/* There is no ratio of values that are not positive. */
static void differences_where_there_is_no_ratio(void **state)
{
	struct made old, new;
	struct fb_measured_change c;

	make(&old, sig_a, env_x, -3, 7);
	make(&new, sig_b, env_x, 17, 7);
	fb_measured_change(&old.m, &new.m, CELL, METRIC, 0.01, 0.02, false, &c);
	assert_false(c.is_ratio);
	assert_near(c.size.effect, 20, 1e-12);
	assert_int_equal(c.judged.verdict, FB_COMPARE_DIFFER);
	make(&new, sig_b, env_x, 17, 0);
	fb_measured_change(&old.m, &new.m, CELL, METRIC, 0.01, 0.02, false, &c);
	assert_int_equal(c.judged.verdict, FB_COMPARE_OPEN);
	assert_null(c.size.method);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(summary_counts_boots),
		cmocka_unit_test(other_environments_are_not_compared),
		cmocka_unit_test(equal_images_are_said_to_be_so),
		cmocka_unit_test(differences_where_there_is_no_ratio),
	};

	return cmocka_run_group_tests_name("measure", tests, NULL, NULL);
}
