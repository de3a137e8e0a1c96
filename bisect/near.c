/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Breadth-first search from each node that joins, where it lowers what was there. */
#include "bisect/near.h"

#include <stdlib.h>

struct fb_near {
	size_t *first; /* node v's neighbours are to[first[v]..first[v + 1]) */
	uint32_t *to;
	uint32_t *queue; /* a node enters at most once a search */
};

void fb_near_free(struct fb_near *n)
{
	if (!n)
		return;
	free(n->first);
	free(n->to);
	free(n->queue);
	free(n);
}

struct fb_near *fb_near_new(const uint32_t *first, const uint32_t *parent, uint32_t nr)
{
	struct fb_near *n = calloc(1, sizeof(*n));

	if (!n)
		return NULL;
	n->first = calloc((size_t)nr + 1, sizeof(*n->first));
	n->to = calloc(2 * (size_t)first[nr] + 1, sizeof(*n->to));
	n->queue = calloc((size_t)nr + 1, sizeof(*n->queue));
	if (!n->first || !n->to || !n->queue) {
		fb_near_free(n);
		return NULL;
	}
	for (uint32_t v = 0; v < nr; v++)
		for (uint32_t a = first[v]; a < first[v + 1]; a++) {
			n->first[v]++;
			n->first[parent[a]]++;
		}
	for (uint32_t v = 0; v < nr; v++)
		n->first[v + 1] += n->first[v];
	/* .first[] is the end of each row; filled backwards it becomes the begin. */
	for (uint32_t v = 0; v < nr; v++)
		for (uint32_t a = first[v]; a < first[v + 1]; a++) {
			n->to[--n->first[v]] = parent[a];
			n->to[--n->first[parent[a]]] = v;
		}
	return n;
}

const uint32_t *fb_near_of(const struct fb_near *n, uint32_t node, size_t *ret_nr)
{
	*ret_nr = n->first[node + 1] - n->first[node];
	return n->to + n->first[node];
}

void fb_near_add(struct fb_near *n, uint32_t *hops, uint32_t node)
{
	uint32_t head = 0, tail = 0;

	if (!hops[node])
		return;
	hops[node] = 0;
	n->queue[tail++] = node;
	while (head < tail) {
		uint32_t v = n->queue[head++];

		for (size_t a = n->first[v]; a < n->first[v + 1]; a++) {
			uint32_t w = n->to[a];

			if (hops[w] <= hops[v] + 1)
				continue;
			hops[w] = hops[v] + 1;
			n->queue[tail++] = w;
		}
	}
}
