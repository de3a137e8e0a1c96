/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A history that is small enough for t/oracle.h, with a guilty commit. */
#ifndef FB_T_SMALL_WORLD_H
#define FB_T_SMALL_WORLD_H

#include "t/test.h"

#include "bisect/search.h"
#include "t/oracle.h"

struct world {
	struct oracle_dag small;
	struct fb_dag *dag; /* owned, the same graph */
	uint32_t good, bad, culprit;
	bool candidate[ORACLE_MAX];
	uint64_t rng;
};

static inline double uniform(uint64_t *rng)
{
	return oracle_random(rng) / 2147483648.0;
}

/** make_world() - The bad end is the tip, the good end node 0 or @any node; any culprit. */
static inline void make_world(struct world *w, uint64_t seed, bool any)
{
	uint32_t nr = 0, pick;

	oracle_dag_random(&w->small, seed);
	w->rng = seed * 7919 + 5;
	oracle_random(&w->rng);
	w->dag = fb_dag_new();
	for (uint32_t v = 0; v < w->small.nr; v++)
		assert_int_equal(fb_dag_add(w->dag, w->small.parent[v], w->small.nr_parents[v]), 0);
	w->bad = w->small.nr - 1;
	w->good = !any || oracle_random(&w->rng) % 3 ? 0 : oracle_random(&w->rng) % w->bad;
	for (uint32_t v = 0; v < w->small.nr; v++) {
		w->candidate[v] = oracle_reaches(&w->small, w->bad, v) &&
				  !oracle_reaches(&w->small, w->good, v);
		nr += w->candidate[v];
	}
	pick = oracle_random(&w->rng) % nr;
	for (w->culprit = 0; !w->candidate[w->culprit] || pick--;)
		w->culprit++;
}

/** search_of() - Owned. */
static inline struct fb_search *search_of(const struct world *w,
					  const struct fb_search_params *params)
{
	struct fb_search *s = fb_search_new(w->dag, &w->good, 1, NULL, 0, w->bad, params);

	assert_non_null(s);
	return s;
}

#endif
