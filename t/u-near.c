/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Hops to the nearest of a set equal those of all pairs. */
#include "t/test.h"

#include "bisect/near.h"
#include "t/oracle.h"

#define MAX 120

struct graph {
	uint32_t nr, first[MAX + 1], parent[MAX * 3];
	uint32_t hops[MAX][MAX];
};

/* Lines, forks, merges of near and far nodes, and pieces that nothing connects. */
static void make_random(struct graph *g, uint64_t *rng)
{
	uint32_t used = 0;

	g->nr = 1 + oracle_random(rng) % MAX;
	for (uint32_t v = 0; v < g->nr; v++) {
		g->first[v] = used;
		if (v && oracle_random(rng) % 20)
			g->parent[used++] = v - 1 - oracle_random(rng) % (v < 5 ? v : 5);
		while (used > g->first[v] && used < g->first[v] + 3 && oracle_random(rng) % 4 == 0)
			g->parent[used++] = oracle_random(rng) % v;
	}
	g->first[g->nr] = used;
}

/* R. Floyd, Algorithm 97, CACM 5 (1962). */
static void all_pairs(struct graph *g)
{
	for (uint32_t v = 0; v < g->nr; v++)
		for (uint32_t w = 0; w < g->nr; w++)
			g->hops[v][w] = v == w ? 0 : FB_NEAR_NONE;
	for (uint32_t v = 0; v < g->nr; v++)
		for (uint32_t a = g->first[v]; a < g->first[v + 1]; a++)
			g->hops[v][g->parent[a]] = g->hops[g->parent[a]][v] = 1;
	for (uint32_t via = 0; via < g->nr; via++)
		for (uint32_t v = 0; v < g->nr; v++)
			for (uint32_t w = 0; w < g->nr; w++) {
				uint64_t hops = (uint64_t)g->hops[v][via] + g->hops[via][w];

				if (hops < g->hops[v][w])
					g->hops[v][w] = (uint32_t)hops;
			}
}

/* After each node that joins, also when it does so twice. */
static void hops_equal_those_of_all_pairs(void **state)
{
	for (uint64_t seed = 0; seed < 60; seed++) {
		struct graph g;
		uint64_t rng = seed * 7919 + 1;
		uint32_t hops[MAX], want[MAX];
		struct fb_near *near;

		make_random(&g, &rng);
		all_pairs(&g);
		near = fb_near_new(g.first, g.parent, g.nr);
		assert_non_null(near);
		for (uint32_t v = 0; v < g.nr; v++)
			hops[v] = want[v] = FB_NEAR_NONE;
		for (int joins = 0; joins < 12; joins++) {
			uint32_t node = oracle_random(&rng) % g.nr;

			fb_near_add(near, hops, node);
			for (uint32_t v = 0; v < g.nr; v++) {
				if (g.hops[node][v] < want[v])
					want[v] = g.hops[node][v];
				if (hops[v] != want[v])
					fail_msg("seed %lu, node %u: %u hops, not %u",
						 (unsigned long)seed, v, hops[v], want[v]);
			}
		}
		fb_near_free(near);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hops_equal_those_of_all_pairs),
	};

	return cmocka_run_group_tests_name("near", tests, NULL, NULL);
}
