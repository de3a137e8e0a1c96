/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Verdicts that cannot err: the answer is right, and costs as many tests as git bisect's. */
#include "t/test.h"

#include "bisect/search.h"
#include "t/oracle.h"

#define DAG_MAX 400

struct graph {
	uint32_t nr;
	uint32_t parent[DAG_MAX][2];
	size_t nr_parents[DAG_MAX];
	bool reaches[DAG_MAX][DAG_MAX]; /* [from][to], itself included */
};

static struct fb_search *new_search(const struct fb_dag *dag, uint32_t good, const uint32_t *bases,
				    size_t nr_bases, uint32_t bad, unsigned max_total)
{
	struct fb_search_params params = {.confidence = 0.99,
					  .min_effect = 0.02,
					  .scale = FB_SCALE_CERTAIN,
					  .min_boots = 2,
					  .max_total = max_total};

	return fb_search_new(dag, &good, 1, bases, nr_bases, bad, &params);
}

static void small_to_graph(const struct oracle_dag *small, struct graph *g)
{
	memset(g, 0, sizeof(*g));
	g->nr = small->nr;
	for (uint32_t v = 0; v < g->nr; v++) {
		/* Two parents are enough here; the third would only need room. */
		g->nr_parents[v] = small->nr_parents[v] < 2 ? small->nr_parents[v] : 2;
		memcpy(g->parent[v], small->parent[v], sizeof(g->parent[v]));
	}
}

/* Node 0 is good, the last is bad and reaches all; like a history of short-lived branches. */
static void random_graph(struct graph *g, uint32_t nr, uint64_t seed)
{
	memset(g, 0, sizeof(*g));
	g->nr = nr;
	for (uint32_t v = 1; v < nr; v++) {
		uint32_t back = v < 12 ? v : 12;

		g->parent[v][0] =
			v - 1 - (oracle_random(&seed) % 4 ? 0 : oracle_random(&seed) % back);
		g->nr_parents[v] = 1;
		if (oracle_random(&seed) % 3 == 0) {
			g->parent[v][1] = v - 1 - oracle_random(&seed) % back;
			g->nr_parents[v] = g->parent[v][1] != g->parent[v][0] ? 2 : 1;
		}
	}
	/* What nobody merged would be no candidate. */
	g->parent[nr - 1][0] = nr - 2;
}

static struct fb_dag *make_dag(struct graph *g)
{
	struct fb_dag *dag = fb_dag_new();

	for (uint32_t v = 0; v < g->nr; v++) {
		assert_int_equal(fb_dag_add(dag, g->parent[v], g->nr_parents[v]), 0);
		g->reaches[v][v] = true;
		for (size_t i = 0; i < g->nr_parents[v]; i++)
			for (uint32_t w = 0; w < g->nr; w++)
				g->reaches[v][w] =
					g->reaches[v][w] || g->reaches[g->parent[v][i]][w];
	}
	return dag;
}

/* Steps to the end; tests at skipped nodes are skips. Returns the number of tests. */
static unsigned run(struct fb_search *s, const struct graph *g, uint32_t culprit, const bool *skip)
{
	struct fb_search_ask ask;
	unsigned tests = 0;

	while (fb_search_next(s, &ask) == FB_SEARCH_MEASURE) {
		assert_int_equal(ask.boots, 1);
		if (skip && skip[ask.node]) {
			assert_int_equal(fb_search_skip(s, ask.node), 0);
			continue;
		}
		assert_int_equal(fb_search_record(s, ask.node, g->reaches[ask.node][culprit]), 0);
		assert_true(++tests <= 2 * g->nr);
	}
	return tests;
}

static void each_commit_of_each_small_graph_is_found(void **state)
{
	for (uint32_t seed = 0; seed < 300; seed++) {
		static struct graph g;
		struct oracle_dag small;
		struct fb_dag *dag;

		oracle_dag_random(&small, seed);
		small_to_graph(&small, &g);
		dag = make_dag(&g);
		for (uint32_t c = 1; c < g.nr; c++) {
			uint32_t bad = g.nr - 1;
			struct fb_search *s;
			struct fb_verdict v;

			if (!g.reaches[bad][c] || g.reaches[0][c])
				continue;
			s = new_search(dag, 0, NULL, 0, bad, 0);
			assert_non_null(s);
			run(s, &g, c, NULL);
			fb_search_verdict(s, &v);
			if (v.kind != FB_VERDICT_FOUND || v.nr_nodes != 1 || v.nodes[0] != c)
				fail_msg("seed %u: %u is not found", seed, c);
			assert_near(v.confidence, 1, 0);
			assert_near(fb_search_posterior(s, c), 1, 0);
			assert_true(isnan(v.effect));
			fb_search_free(s);
		}
		fb_dag_free(dag);
	}
}

/* With skips: exactly those are named that no testable node tells from the culprit. */
static void skips_leave_the_smallest_set_that_can_be_told(void **state)
{
	uint64_t seed = 7;
	unsigned ranges = 0;

	for (unsigned trial = 0; trial < 300; trial++) {
		static struct graph g;
		bool skip[DAG_MAX] = {false};
		struct fb_search *s;
		struct fb_dag *dag;
		struct fb_verdict v;
		uint32_t culprit, n = 0;

		random_graph(&g, 30, seed++);
		dag = make_dag(&g);
		for (uint32_t i = 1; i + 1 < g.nr; i++)
			skip[i] = oracle_random(&seed) % 3 == 0;
		do
			culprit = 1 + oracle_random(&seed) % (g.nr - 1);
		while (!g.reaches[g.nr - 1][culprit]);
		s = new_search(dag, 0, NULL, 0, g.nr - 1, 0);
		run(s, &g, culprit, skip);
		fb_search_verdict(s, &v);
		for (uint32_t c = 1; c < g.nr; c++) {
			bool told = !g.reaches[g.nr - 1][c];

			for (uint32_t t = 1; t + 1 < g.nr; t++)
				told = told || (!skip[t] && g.reaches[g.nr - 1][t] &&
						g.reaches[t][c] != g.reaches[t][culprit]);
			if (told)
				continue;
			if (n >= v.nr_nodes || v.nodes[n++] != c)
				fail_msg("trial %u: %u is not named", trial, c);
		}
		assert_int_equal(n, v.nr_nodes);
		assert_int_equal(v.kind, n > 1 ? FB_VERDICT_RANGE : FB_VERDICT_FOUND);
		ranges += n > 1;
		fb_search_free(s);
		fb_dag_free(dag);
	}
	assert_true(ranges > 50);
}

/* The rule of git's bisect.c: test the candidate for which min(reached, not reached) is largest. */
static unsigned git_tests(const struct graph *g, uint32_t culprit)
{
	bool alive[DAG_MAX];
	unsigned tests = 0;

	for (uint32_t v = 0; v < g->nr; v++)
		alive[v] = v && g->reaches[g->nr - 1][v];
	for (;;) {
		uint32_t nr = 0, best = 0, best_value = 0;

		for (uint32_t v = 0; v < g->nr; v++)
			nr += alive[v];
		if (nr <= 1)
			return tests;
		for (uint32_t v = 0; v < g->nr; v++) {
			uint32_t reached = 0;

			for (uint32_t w = 0; w < g->nr; w++)
				reached += alive[w] && g->reaches[v][w];
			if (alive[v] &&
			    (reached < nr - reached ? reached : nr - reached) > best_value) {
				best_value = reached < nr - reached ? reached : nr - reached;
				best = v;
			}
		}
		tests++;
		for (uint32_t w = 0; w < g->nr; w++)
			alive[w] = alive[w] && g->reaches[best][w] == g->reaches[best][culprit];
	}
}

static void as_many_tests_as_git_bisect(void **state)
{
	double ours = 0, gits = 0;
	unsigned nr = 0;

	for (uint32_t seed = 0; seed < 6; seed++) {
		static struct graph g;
		struct fb_dag *dag;

		random_graph(&g, 60 + 60 * seed, seed);
		dag = make_dag(&g);
		for (uint32_t c = 1; c < g.nr; c++) {
			struct fb_search *s = new_search(dag, 0, NULL, 0, g.nr - 1, 0);

			if (g.reaches[g.nr - 1][c]) {
				ours += run(s, &g, c, NULL);
				gits += git_tests(&g, c);
				nr++;
			}
			fb_search_free(s);
		}
		fb_dag_free(dag);
	}
	print_message("# %u culprits: %.3f tests on average, git's rule %.3f\n", nr, ours / nr,
		      gits / nr);
	assert_true(nr > 500);
	assert_near(ours / gits, 1, 0.05);
}

static struct fb_dag *line(uint32_t nr)
{
	struct fb_dag *dag = fb_dag_new();

	for (uint32_t v = 0; v < nr; v++) {
		uint32_t before = v - 1;

		assert_int_equal(fb_dag_add(dag, &before, v ? 1 : 0), 0);
	}
	return dag;
}

/* Says @value wherever asked, but @end_value at the end @end; returns the verdict. */
static enum fb_verdict_kind always(double value, uint32_t end, double end_value, unsigned max_total,
				   unsigned *ret_tests)
{
	struct fb_dag *dag = line(9);
	struct fb_search *s = new_search(dag, 0, NULL, 0, 8, max_total);
	struct fb_search_ask ask;
	struct fb_verdict v;

	*ret_tests = 0;
	while (fb_search_next(s, &ask) == FB_SEARCH_MEASURE) {
		fb_search_record(s, ask.node, ask.node == end ? end_value : value);
		++*ret_tests;
	}
	fb_search_verdict(s, &v);
	fb_search_free(s);
	fb_dag_free(dag);
	return v.kind;
}

static void an_end_that_alone_carries_the_answer_is_tested(void **state)
{
	unsigned tests;

	assert_int_equal(always(1, 0, 0, 0, &tests), FB_VERDICT_FOUND);
	assert_int_equal(tests, 4);
	assert_int_equal(always(1, 0, 1, 0, &tests), FB_VERDICT_OTHER);
	assert_int_equal(always(0, 8, 1, 0, &tests), FB_VERDICT_FOUND);
	/* Nothing changed, as far as can be seen. */
	assert_int_equal(always(0, 8, 0, 0, &tests), FB_VERDICT_NONE);
	assert_int_equal(always(1, 0, 0, 2, &tests), FB_VERDICT_UNDECIDED);
	assert_int_equal(tests, 2);
}

/*
 * A line of 100, all skipped but @spoken, which says @value (UINT32_MAX: nothing at all).
 * @expect: the ends that are named as at fault.
 */
static void check_mute(uint32_t spoken, double value, const uint32_t *expect, size_t nr_expect,
		       unsigned most)
{
	struct fb_dag *dag = line(100);
	struct fb_search *s = new_search(dag, 0, NULL, 0, 99, 0);
	struct fb_search_ask ask;
	struct fb_verdict v;
	unsigned tests = 0;

	while (fb_search_next(s, &ask) == FB_SEARCH_MEASURE) {
		if (ask.node == spoken)
			fb_search_record(s, ask.node, value);
		else
			fb_search_skip(s, ask.node);
		assert_true(++tests <= 200);
	}
	fb_search_verdict(s, &v);
	assert_int_equal(v.kind, FB_VERDICT_UNTESTABLE);
	assert_int_equal(v.nr_nodes, nr_expect);
	for (size_t i = 0; i < nr_expect; i++)
		assert_int_equal(v.nodes[i], expect[i]);
	assert_true(tests <= most);
	fb_search_free(s);
	fb_dag_free(dag);
}

static void a_side_without_any_verdict_is_no_side(void **state)
{
	static const uint32_t ends[] = {0, 99};

	check_mute(UINT32_MAX, 0, ends, 2, 6);
	check_mute(0, 0, ends + 1, 1, 8);
	check_mute(99, 1, ends, 1, 8);
	/* The first that is asked: a verdict between the ends makes skips no fault of theirs. */
	check_mute(49, 0, ends + 1, 1, 101);
	check_mute(49, 1, ends, 1, 101);
}

/* As git: an end that is skipped is believed as long as the others tell both sides. */
static void a_skipped_end_is_believed(void **state)
{
	static struct graph g;
	struct fb_search *s;
	struct fb_dag *dag;
	struct fb_verdict v;
	bool skip[DAG_MAX] = {false};

	memset(&g, 0, sizeof(g));
	g.nr = 100;
	for (uint32_t i = 1; i < g.nr; i++) {
		g.parent[i][0] = i - 1;
		g.nr_parents[i] = 1;
	}
	dag = make_dag(&g);
	skip[0] = skip[99] = skip[48] = skip[49] = skip[50] = true;
	for (uint32_t c = 2; c < 98; c++) {
		s = new_search(dag, 0, NULL, 0, 99, 0);
		run(s, &g, c, skip);
		fb_search_verdict(s, &v);
		assert_int_equal(v.kind, c >= 48 && c <= 51 ? FB_VERDICT_RANGE : FB_VERDICT_FOUND);
		assert_int_equal(v.nr_nodes, c >= 48 && c <= 51 ? 4 : 1);
		fb_search_free(s);
	}
	fb_dag_free(dag);
}

static void a_bad_merge_base_is_told(void **state)
{
	/* base 0; good side 1; bad side 2, 3. */
	struct fb_dag *dag = fb_dag_new();
	const uint32_t zero = 0, two = 2;
	struct fb_search_ask ask;
	struct fb_verdict v;
	struct fb_search *s;

	fb_dag_add(dag, NULL, 0);
	fb_dag_add(dag, &zero, 1);
	fb_dag_add(dag, &zero, 1);
	fb_dag_add(dag, &two, 1);
	s = new_search(dag, 1, &zero, 1, 3, 0);
	assert_int_equal(fb_search_next(s, &ask), FB_SEARCH_MEASURE);
	assert_int_equal(ask.node, 0);
	assert_int_equal(ask.why, FB_SEARCH_WHY_BASE);
	assert_int_equal(fb_search_record(s, 0, 1), 0);
	assert_int_equal(fb_search_next(s, &ask), FB_SEARCH_DONE);
	fb_search_verdict(s, &v);
	assert_int_equal(v.kind, FB_VERDICT_BASE_BAD);
	assert_int_equal(v.nr_nodes, 1);
	assert_int_equal(v.nodes[0], 0);
	fb_search_free(s);
	fb_dag_free(dag);
}

static void the_order_of_recording_leaves_no_trace(void **state)
{
	struct fb_dag *dag = line(100);
	struct fb_search *a = new_search(dag, 0, NULL, 0, 99, 0);
	struct fb_search *b = new_search(dag, 0, NULL, 0, 99, 0);
	struct fb_search_ask ask, ask_b;

	assert_int_equal(fb_search_record(a, 10, 0), 0);
	assert_int_equal(fb_search_record(a, 50, 1), 0);
	assert_int_equal(fb_search_skip(a, 30), 0);
	assert_int_equal(fb_search_skip(b, 30), 0);
	assert_int_equal(fb_search_record(b, 50, 1), 0);
	assert_int_equal(fb_search_record(b, 10, 0), 0);
	assert_int_equal(fb_search_next(a, &ask), FB_SEARCH_MEASURE);
	assert_int_equal(fb_search_next(b, &ask_b), FB_SEARCH_MEASURE);
	assert_int_equal(ask.node, ask_b.node);
	assert_int_equal(fb_search_left(a), 40);
	assert_int_equal(fb_search_record(a, 20, 0.5), -1);
	fb_search_free(a);
	fb_search_free(b);
	fb_dag_free(dag);
}

/* Bayes' rule by hand, over all candidates that contradict no verdict. */
static void hints_weigh_as_bayes_rule_says(void **state)
{
	uint64_t rng = 1;

	for (uint32_t round = 0; round < 100; round++) {
		static struct graph g;
		struct fb_dag *dag;
		struct fb_search *s, *back;
		double want[DAG_MAX], sum = 0, ratio[6];
		uint32_t at[6], hard[2], nr = 20 + oracle_random(&rng) % 60;
		struct fb_search_ask ask, ask_back;

		random_graph(&g, nr, round + 1);
		dag = make_dag(&g);
		s = new_search(dag, 0, NULL, 0, nr - 1, 0);
		back = new_search(dag, 0, NULL, 0, nr - 1, 0);
		assert_non_null(s);
		for (int i = 0; i < 6; i++) {
			do
				at[i] = 1 + oracle_random(&rng) % (nr - 1);
			while (!g.reaches[nr - 1][at[i]]);
			ratio[i] = (double)(oracle_random(&rng) % 9) / 2 - 2;
		}
		/* Verdicts as the last but one commit would cause them. */
		for (int i = 0; i < 2; i++)
			do
				hard[i] = 1 + oracle_random(&rng) % (nr - 1);
			while (!g.reaches[nr - 1][hard[i]]);
		for (int i = 0; i < 6; i++) {
			assert_int_equal(fb_search_hint(s, at[i], ratio[i]), 0);
			assert_int_equal(fb_search_hint(back, at[5 - i], ratio[5 - i]), 0);
		}
		for (int i = 0; i < 2; i++) {
			bool new = g.reaches[hard[i]][nr - 2];

			assert_int_equal(fb_search_record(s, hard[i], new), 0);
			assert_int_equal(fb_search_record(back, hard[i], new), 0);
		}
		for (uint32_t c = 1; c < nr; c++) {
			double log_weight = 0;

			for (int i = 0; i < 6; i++)
				log_weight += g.reaches[at[i]][c] ? ratio[i] : 0;
			want[c] = g.reaches[nr - 1][c] ? exp(log_weight) : 0;
			for (int i = 0; i < 2; i++)
				if (g.reaches[hard[i]][c] != g.reaches[hard[i]][nr - 2])
					want[c] = 0;
			sum += want[c];
		}
		for (uint32_t c = 1; c < nr; c++) {
			assert_near(fb_search_posterior(s, c), want[c] / sum, 1e-12);
			assert_near(fb_search_posterior(back, c), want[c] / sum, 1e-12);
		}
		assert_int_equal(fb_search_next(s, &ask), fb_search_next(back, &ask_back));
		fb_search_free(s);
		fb_search_free(back);
		fb_dag_free(dag);
	}
}

static void enough_hints_name_a_commit(void **state)
{
	static struct graph g;
	struct fb_search_ask ask;
	struct fb_verdict v;
	struct fb_search *s;
	struct fb_dag *dag;

	random_graph(&g, 2, 1);
	g.nr = 30;
	for (uint32_t i = 1; i < 30; i++) {
		g.parent[i][0] = i - 1;
		g.nr_parents[i] = 1;
	}
	dag = make_dag(&g);
	s = new_search(dag, 0, NULL, 0, 29, 0);
	assert_int_equal(fb_search_hint(s, 12, 5), 0);
	assert_int_equal(fb_search_hint(s, 11, -5), 0);
	assert_int_equal(fb_search_next(s, &ask), FB_SEARCH_MEASURE);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(fb_search_hint(s, 12, 2), 0);
		assert_int_equal(fb_search_hint(s, 11, -2), 0);
	}
	assert_int_equal(fb_search_next(s, &ask), FB_SEARCH_DONE);
	fb_search_verdict(s, &v);
	assert_int_equal(v.kind, FB_VERDICT_FOUND);
	assert_int_equal(v.nodes[0], 12);
	/* The others: 11 of exp(-9), 17 of exp(-9), for those that one end speaks against. */
	assert_near(v.confidence, 1 / (1 + 28 * exp(-9)), 1e-9);
	assert_int_equal(fb_search_hint(s, 30, 1), -1);
	assert_int_equal(fb_search_hint(s, 3, INFINITY), -1);
	fb_search_free(s);
	fb_dag_free(dag);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_commit_of_each_small_graph_is_found),
		cmocka_unit_test(skips_leave_the_smallest_set_that_can_be_told),
		cmocka_unit_test(as_many_tests_as_git_bisect),
		cmocka_unit_test(an_end_that_alone_carries_the_answer_is_tested),
		cmocka_unit_test(a_side_without_any_verdict_is_no_side),
		cmocka_unit_test(a_skipped_end_is_believed),
		cmocka_unit_test(a_bad_merge_base_is_told),
		cmocka_unit_test(the_order_of_recording_leaves_no_trace),
		cmocka_unit_test(hints_weigh_as_bayes_rule_says),
		cmocka_unit_test(enough_hints_name_a_commit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
