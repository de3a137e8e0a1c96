/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sums over all ancestors or descendants. Inside, every arc leads to a lower number: for
 * descendants the nodes are numbered backwards.
 */
#include "bisect/reach.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define NONE UINT32_MAX

enum mark { UNSEEN, EXTRA, OF_BASE };

struct fb_reach {
	uint32_t nr;
	bool backwards;
	uint32_t *first, *to; /* arcs */
	uint32_t *base;	      /* whose set each node takes over; NONE for a root */
	size_t *extra_first;  /* its extra is extra[extra_first[v]..extra_first[v + 1]) */
	uint32_t *extra;
	unsigned char *walk; /* the extra is not kept */
	/* Room for find_extra(). */
	unsigned char *mark;
	uint32_t *seen, *found;
};

void fb_reach_free(struct fb_reach *r)
{
	if (!r)
		return;
	free(r->first);
	free(r->to);
	free(r->base);
	free(r->extra_first);
	free(r->extra);
	free(r->walk);
	free(r->mark);
	free(r->seen);
	free(r->found);
	free(r);
}

static uint32_t outer(const struct fb_reach *r, uint32_t v)
{
	return r->backwards ? r->nr - 1 - v : v;
}

static void copy_arcs(struct fb_reach *r, const uint32_t *first, const uint32_t *parent)
{
	uint32_t nr = r->nr;

	if (!r->backwards) {
		memcpy(r->first, first, ((size_t)nr + 1) * sizeof(*first));
		memcpy(r->to, parent, first[nr] * sizeof(*parent));
		return;
	}
	for (uint32_t a = 0; a < first[nr]; a++)
		r->first[outer(r, parent[a]) + 1]++;
	for (uint32_t v = 0; v < nr; v++)
		r->first[v + 1] += r->first[v];
	/* Fills each row from its end; .found serves as the rows' ends. */
	memcpy(r->found, r->first + 1, nr * sizeof(*r->found));
	for (uint32_t v = 0; v < nr; v++)
		for (uint32_t a = first[v]; a < first[v + 1]; a++)
			r->to[--r->found[outer(r, parent[a])]] = outer(r, v);
}

static void see(struct fb_reach *r, uint32_t v, enum mark mark, uint32_t *nr_seen, uint32_t *open)
{
	if (r->mark[v] == UNSEEN)
		r->seen[(*nr_seen)++] = v;
	if (mark == EXTRA && r->mark[v] == UNSEEN)
		++*open;
	if (mark == OF_BASE && r->mark[v] == EXTRA)
		--*open;
	if (r->mark[v] != OF_BASE)
		r->mark[v] = (unsigned char)mark;
}

/*
 * Puts into .found what @v reaches but its base does not, @v apart. One sweep downwards:
 * when a node's turn comes all that reach it had theirs, so its mark is final; it ends when
 * no marked node below can be an extra.
 */
static uint32_t find_extra(struct fb_reach *r, uint32_t v)
{
	uint32_t nr_seen = 0, open = 0, nr = 0;

	see(r, r->base[v], OF_BASE, &nr_seen, &open);
	for (uint32_t a = r->first[v]; a < r->first[v + 1]; a++)
		see(r, r->to[a], EXTRA, &nr_seen, &open);
	for (uint32_t w = v; open && w-- > 0;) {
		enum mark mark = (enum mark)r->mark[w];

		if (mark == UNSEEN)
			continue;
		if (mark == EXTRA) {
			open--;
			r->found[nr++] = w;
		}
		for (uint32_t a = r->first[w]; a < r->first[w + 1]; a++)
			see(r, r->to[a], mark, &nr_seen, &open);
	}
	while (nr_seen)
		r->mark[r->seen[--nr_seen]] = UNSEEN;
	return nr;
}

/* The base is the neighbour that reaches most, which leaves the least extra. */
static int find_all(struct fb_reach *r, size_t room)
{
	uint32_t *size = calloc((size_t)r->nr + 1, sizeof(*size));
	size_t used = 0, cap = 0;

	if (!size)
		return -1;
	for (uint32_t v = 0; v < r->nr; v++) {
		uint32_t nr = 0;

		r->base[v] = NONE;
		for (uint32_t a = r->first[v]; a < r->first[v + 1]; a++)
			if (r->base[v] == NONE || size[r->to[a]] > size[r->base[v]])
				r->base[v] = r->to[a];
		if (r->first[v + 1] - r->first[v] > 1)
			nr = find_extra(r, v);
		size[v] = 1 + nr + (r->base[v] == NONE ? 0 : size[r->base[v]]);
		r->extra_first[v] = used;
		if (nr > room - used) {
			r->walk[v] = 1;
			continue;
		}
		if (used + nr > cap) {
			size_t more = 2 * cap + nr + 16;
			uint32_t *extra = realloc(r->extra, more * sizeof(*extra));

			if (!extra) {
				free(size);
				return -1;
			}
			r->extra = extra;
			cap = more;
		}
		for (uint32_t i = 0; i < nr; i++)
			r->extra[used++] = r->found[i];
	}
	r->extra_first[r->nr] = used;
	free(size);
	return 0;
}

struct fb_reach *fb_reach_new(const uint32_t *first, const uint32_t *parent, uint32_t nr,
			      enum fb_reach_way way, size_t room)
{
	struct fb_reach *r = calloc(1, sizeof(*r));
	size_t n = (size_t)nr + 1;

	if (!r)
		return NULL;
	r->nr = nr;
	r->backwards = way == FB_REACH_DESCENDANTS;
	r->first = calloc(n, sizeof(*r->first));
	r->to = calloc((size_t)first[nr] + 1, sizeof(*r->to));
	r->base = calloc(n, sizeof(*r->base));
	r->extra_first = calloc(n, sizeof(*r->extra_first));
	r->walk = calloc(n, 1);
	r->mark = calloc(n, 1);
	r->seen = calloc(n, sizeof(*r->seen));
	r->found = calloc(n, sizeof(*r->found));
	if (!r->first || !r->to || !r->base || !r->extra_first || !r->walk || !r->mark ||
	    !r->seen || !r->found) {
		fb_reach_free(r);
		return NULL;
	}
	copy_arcs(r, first, parent);
	if (find_all(r, room) < 0) {
		fb_reach_free(r);
		return NULL;
	}
	return r;
}

/* The extra of @v, as inner numbers. */
static const uint32_t *extra_of(struct fb_reach *r, uint32_t v, size_t *ret_nr)
{
	if (r->walk[v]) {
		*ret_nr = find_extra(r, v);
		return r->found;
	}
	*ret_nr = r->extra_first[v + 1] - r->extra_first[v];
	return *ret_nr ? r->extra + r->extra_first[v] : NULL;
}

void fb_reach_sum(struct fb_reach *r, const uint32_t *label, const double *table, size_t width,
		  double *ret)
{
	for (uint32_t v = 0; v < r->nr; v++) {
		uint32_t at = outer(r, v);
		double *sum = ret + at * width;
		size_t nr;
		const uint32_t *extra = extra_of(r, v, &nr);

		for (size_t i = 0; i < width; i++)
			sum[i] = table[label[at] * width + i];
		for (size_t x = 0; x < nr; x++) {
			const double *row = table + label[outer(r, extra[x])] * width;

			for (size_t i = 0; i < width; i++)
				sum[i] += row[i];
		}
		if (r->base[v] == NONE)
			continue;
		for (size_t i = 0; i < width; i++)
			sum[i] += ret[outer(r, r->base[v]) * width + i];
	}
}

void fb_reach_hash(struct fb_reach *r, const uint64_t *weight, uint64_t *ret)
{
	for (uint32_t v = 0; v < r->nr; v++) {
		uint64_t sum = weight[outer(r, v)];
		size_t nr;
		const uint32_t *extra = extra_of(r, v, &nr);

		for (size_t x = 0; x < nr; x++)
			sum += weight[outer(r, extra[x])];
		if (r->base[v] != NONE)
			sum += ret[outer(r, r->base[v])];
		ret[outer(r, v)] = sum;
	}
}
