/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A commit graph as indices, in two flat arrays: node i's parents are arc[first[i]..first[i + 1]).
 */
#include "bisect/dag.h"

#include <stdlib.h>
#include <string.h>

struct fb_dag {
	size_t *first; /* nr + 1 used */
	uint32_t *arc;
	uint32_t nr;
	size_t cap_nodes, cap_arcs;
};

struct fb_dag *fb_dag_new(void)
{
	struct fb_dag *dag = calloc(1, sizeof(*dag));

	if (!dag)
		return NULL;
	dag->cap_nodes = 16;
	dag->first = calloc(dag->cap_nodes + 1, sizeof(*dag->first));
	if (!dag->first) {
		free(dag);
		return NULL;
	}
	return dag;
}

void fb_dag_free(struct fb_dag *dag)
{
	if (!dag)
		return;
	free(dag->first);
	free(dag->arc);
	free(dag);
}

int fb_dag_add(struct fb_dag *dag, const uint32_t *parents, size_t nr_parents)
{
	size_t used = dag->first[dag->nr];

	/* The last index is kept free, so that it can mean "no node". */
	if (dag->nr >= UINT32_MAX - 1)
		return -1;
	for (size_t i = 0; i < nr_parents; i++)
		if (parents[i] >= dag->nr)
			return -1;
	if (dag->nr == dag->cap_nodes) {
		size_t cap = dag->cap_nodes * 2;
		size_t *first = realloc(dag->first, (cap + 1) * sizeof(*first));

		if (!first)
			return -1;
		dag->first = first;
		dag->cap_nodes = cap;
	}
	if (used + nr_parents > dag->cap_arcs) {
		size_t cap = dag->cap_arcs * 2 + nr_parents + 16;
		uint32_t *arc = realloc(dag->arc, cap * sizeof(*arc));

		if (!arc)
			return -1;
		dag->arc = arc;
		dag->cap_arcs = cap;
	}
	if (nr_parents)
		memcpy(dag->arc + used, parents, nr_parents * sizeof(*parents));
	dag->nr++;
	dag->first[dag->nr] = used + nr_parents;
	return 0;
}

uint32_t fb_dag_nr(const struct fb_dag *dag)
{
	return dag->nr;
}

const uint32_t *fb_dag_parents(const struct fb_dag *dag, uint32_t node, size_t *ret_nr)
{
	*ret_nr = dag->first[node + 1] - dag->first[node];
	return *ret_nr ? dag->arc + dag->first[node] : NULL;
}

bool fb_dag_is_ancestor(const struct fb_dag *dag, uint32_t ancestor, uint32_t descendant)
{
	size_t nr_seen = (size_t)descendant - ancestor + 1;
	unsigned char *seen;
	bool found = false;

	if (ancestor >= descendant)
		return ancestor == descendant;
	/*
	 * Parents have smaller indices, so one downward sweep from the descendant sees
	 * every path, and nothing below the ancestor can lead back to it.
	 */
	seen = calloc(nr_seen, 1);
	if (!seen)
		return false;
	seen[nr_seen - 1] = 1;
	for (uint32_t v = descendant; v > ancestor && !found; v--) {
		if (!seen[v - ancestor])
			continue;
		for (size_t a = dag->first[v]; a < dag->first[v + 1]; a++)
			if (dag->arc[a] >= ancestor)
				seen[dag->arc[a] - ancestor] = 1;
		found = seen[0];
	}
	free(seen);
	return found;
}
