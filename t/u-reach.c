/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sums over ancestors, and who is one, equal those by reachability, node by node. */
#include "t/test.h"

#include "bisect/reach.h"
#include "t/oracle.h"

#define MAX 300

struct graph {
	uint32_t nr, first[MAX + 1], parent[MAX * 10];
	bool reaches[MAX][MAX];
};

static void add_node(struct graph *g, const uint32_t *parent, uint32_t nr)
{
	uint32_t v = g->nr++, used = g->first[v];

	memset(g->reaches[v], 0, sizeof(g->reaches[v]));
	g->reaches[v][v] = true;
	for (uint32_t i = 0; i < nr; i++) {
		g->parent[used++] = parent[i];
		for (uint32_t w = 0; w < v; w++)
			g->reaches[v][w] = g->reaches[v][w] || g->reaches[parent[i]][w];
	}
	g->first[v + 1] = used;
}

/* Lines, forks, merges of near and far nodes (also of one node with itself), several roots. */
static void make_random(struct graph *g, uint64_t seed)
{
	uint64_t rng = seed * 7919 + 1;
	uint32_t nr = 1 + oracle_random(&rng) % (MAX - 1), merges = oracle_random(&rng) % 4;

	g->nr = g->first[0] = 0;
	for (uint32_t v = 0; v < nr; v++) {
		uint32_t parent[9], n = 0;

		if (v && oracle_random(&rng) % 20)
			parent[n++] = v - 1 - oracle_random(&rng) % (v < 5 ? v : 5);
		if (n && merges && oracle_random(&rng) % (5 - merges) == 0)
			for (uint32_t more = 1 + oracle_random(&rng) % 8 / 6 * 7; more > 0; more--)
				parent[n++] = oracle_random(&rng) % v;
		add_node(g, parent, n);
	}
}

static void equals_reachability(const struct graph *g, size_t room)
{
	uint32_t label[MAX];
	double table[2 * MAX], sum[2 * MAX];
	struct fb_reach *r = fb_reach_new(g->first, g->parent, g->nr, room);

	assert_non_null(r);
	for (uint32_t v = 0; v < g->nr; v++)
		label[v] = v / 2; /* two nodes share a weight; small integers add up exactly */
	for (uint32_t i = 0; i < 2 * MAX; i++)
		table[i] = 1 + i * i % 97;
	fb_reach_sum(r, label, table, 2, sum);
	for (uint32_t v = 0; v < g->nr; v++) {
		double want[2] = {0, 0};

		for (uint32_t w = 0; w < g->nr; w++) {
			if (fb_reach_test(r, v, w) != g->reaches[v][w])
				fail_msg("%u %s %u", v, g->reaches[v][w] ? "reaches" : "never", w);
			if (!g->reaches[v][w])
				continue;
			want[0] += table[2 * label[w]];
			want[1] += table[2 * label[w] + 1];
		}
		assert_near(sum[2 * v], want[0], 0);
		assert_near(sum[2 * v + 1], want[1], 0);
	}
	fb_reach_free(r);
}

static void sums_equal_reachability(void **state)
{
	static struct graph g;

	for (uint64_t seed = 0; seed < 200; seed++) {
		make_random(&g, seed);
		equals_reachability(&g, SIZE_MAX);
	}
}

static void what_is_not_kept_is_found_again(void **state)
{
	static struct graph g;

	for (uint64_t seed = 0; seed < 100; seed++) {
		make_random(&g, seed);
		equals_reachability(&g, 0);
		equals_reachability(&g, seed);
	}
}

static void a_grid_of_merges_is_summed(void **state)
{
	enum { K = 17 };
	static struct graph g;

	for (uint32_t v = 0; v < K * K; v++) {
		uint32_t parent[2], n = 0;

		if (v % K)
			parent[n++] = v - 1;
		if (v >= K)
			parent[n++] = v - K;
		add_node(&g, parent, n);
	}
	equals_reachability(&g, SIZE_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sums_equal_reachability),
		cmocka_unit_test(what_is_not_kept_is_found_again),
		cmocka_unit_test(a_grid_of_merges_is_summed),
	};

	return cmocka_run_group_tests_name("reach", tests, NULL, NULL);
}
