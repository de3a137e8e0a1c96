/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The graph keeps what was added, and reachability equals the recursive definition. */
#include "t/test.h"

#include "bisect/dag.h"
#include "t/oracle.h"

static void a_node_keeps_its_parents_in_order(void **state)
{
	struct fb_dag *dag = fb_dag_new();
	const uint32_t two[] = {1, 0};
	const uint32_t *parent;
	size_t nr;

	assert_int_equal(fb_dag_nr(dag), 0);
	assert_int_equal(fb_dag_add(dag, NULL, 0), 0);
	assert_int_equal(fb_dag_add(dag, NULL, 0), 0);
	assert_int_equal(fb_dag_add(dag, two, 2), 0);
	assert_int_equal(fb_dag_nr(dag), 3);
	parent = fb_dag_parents(dag, 2, &nr);
	assert_int_equal(nr, 2);
	assert_int_equal(parent[0], 1);
	assert_int_equal(parent[1], 0);
	fb_dag_parents(dag, 1, &nr);
	assert_int_equal(nr, 0);
	fb_dag_free(dag);
}

static void a_parent_must_come_first(void **state)
{
	struct fb_dag *dag = fb_dag_new();
	const uint32_t self[] = {0};

	assert_int_equal(fb_dag_add(dag, self, 1), -1);
	assert_int_equal(fb_dag_nr(dag), 0);
	assert_int_equal(fb_dag_add(dag, NULL, 0), 0);
	assert_int_equal(fb_dag_add(dag, self, 1), 0);
	fb_dag_free(dag);
}

static void reachability_equals_recursion(void **state)
{
	for (uint32_t seed = 0; seed < 500; seed++) {
		struct oracle_dag small;
		struct fb_dag *dag = fb_dag_new();

		oracle_dag_random(&small, seed);
		for (uint32_t v = 0; v < small.nr; v++)
			assert_int_equal(fb_dag_add(dag, small.parent[v], small.nr_parents[v]), 0);
		for (uint32_t a = 0; a < small.nr; a++)
			for (uint32_t d = 0; d < small.nr; d++)
				if (fb_dag_is_ancestor(dag, a, d) != oracle_reaches(&small, d, a))
					fail_msg("seed %u: %u to %u", seed, d, a);
		fb_dag_free(dag);
	}
}

/* On a grid of merges, (x, y) reaches (u, v) exactly when u <= x and v <= y. */
static void a_grid_of_merges_has_its_closed_form(void **state)
{
	enum { K = 12 };
	struct fb_dag *dag = fb_dag_new();

	for (uint32_t v = 0; v < K * K; v++) {
		uint32_t parent[2];
		size_t nr = 0;

		if (v % K)
			parent[nr++] = v - 1;
		if (v >= K)
			parent[nr++] = v - K;
		assert_int_equal(fb_dag_add(dag, parent, nr), 0);
	}
	for (uint32_t a = 0; a < K * K; a++)
		for (uint32_t d = 0; d < K * K; d++)
			assert_int_equal(fb_dag_is_ancestor(dag, a, d),
					 a % K <= d % K && a / K <= d / K);
	fb_dag_free(dag);
}

static void ten_thousand_nodes_are_kept(void **state)
{
	struct fb_dag *dag = fb_dag_new();

	for (uint32_t v = 0; v < 10000; v++) {
		uint32_t parent = v / 2;

		assert_int_equal(fb_dag_add(dag, &parent, v ? 1 : 0), 0);
	}
	assert_true(fb_dag_is_ancestor(dag, 0, 9999));
	assert_true(fb_dag_is_ancestor(dag, 9999 / 4, 9999));
	assert_false(fb_dag_is_ancestor(dag, 9998, 9999));
	fb_dag_free(dag);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_node_keeps_its_parents_in_order),
		cmocka_unit_test(a_parent_must_come_first),
		cmocka_unit_test(reachability_equals_recursion),
		cmocka_unit_test(a_grid_of_merges_has_its_closed_form),
		cmocka_unit_test(ten_thousand_nodes_are_kept),
	};

	return cmocka_run_group_tests_name("dag", tests, NULL, NULL);
}
