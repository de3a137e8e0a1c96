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
	uint32_t *first, *to; /* arcs */
	uint32_t *base;	      /* whose set each node takes over; NONE for a root */
	size_t *extra_first;  /* its extra is extra[extra_first[v]..extra_first[v + 1]) */
	uint32_t *extra;
	unsigned char *walk; /* the extra is not kept */
	/*
	 * While all extras are kept a node's reach can be asked for: v reaches w when w is v, its
	 * base, the base of that and so on, or in the extra of one of those. The bases make a
	 * forest, which is cut into chains: most climbs end after one or two of them.
	 */
	bool whole;		  /* all extras so far are kept */
	uint32_t *size;		  /* nodes that each node reaches */
	uint32_t *top;		  /* first node of the chain of each node */
	unsigned char *continued; /* a later node is next in its chain */
	uint32_t *in_extra;	  /* of each node: the last of the list below; NONE */
	uint32_t *owner, *before; /* of each item of .extra: whose it is; the one before it */
	size_t used, cap;	  /* of .extra */
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
	free(r->size);
	free(r->top);
	free(r->continued);
	free(r->in_extra);
	free(r->owner);
	free(r->before);
	free(r->mark);
	free(r->seen);
	free(r->found);
	free(r);
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

/* Is @u the node @v, its base, the base of that, or so on? */
static bool is_below(const struct fb_reach *r, uint32_t u, uint32_t v)
{
	while (v != NONE && v >= u && r->top[v] != r->top[u])
		v = r->base[r->top[v]];
	return v != NONE && v >= u;
}

/* @steps counts what it took. */
static bool reaches(const struct fb_reach *r, uint32_t v, uint32_t w, size_t *steps)
{
	++*steps;
	if (w > v || is_below(r, w, v))
		return w <= v;
	for (uint32_t i = r->in_extra[w]; i != NONE; i = r->before[i], ++*steps)
		if (is_below(r, r->owner[i], v))
			return true;
	return false;
}

static int downwards(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x < y) - (x > y);
}

/*
 * As find_extra(), by asking: what the base reaches is not entered at all. In real histories
 * that takes a few steps; where it would take more than a sweep, it is one.
 */
static uint32_t ask_extra(struct fb_reach *r, uint32_t v)
{
	uint32_t nr = 0;
	size_t steps = 0;

	for (uint32_t done = 0, w = v; steps <= v; w = r->found[done++]) {
		for (uint32_t a = r->first[w]; a < r->first[w + 1]; a++) {
			uint32_t to = r->to[a];

			if (r->mark[to] != UNSEEN || reaches(r, r->base[v], to, &steps))
				continue;
			r->mark[to] = EXTRA;
			r->found[nr++] = to;
		}
		if (done == nr)
			break;
	}
	for (uint32_t i = 0; i < nr; i++)
		r->mark[r->found[i]] = UNSEEN;
	if (steps > v)
		return find_extra(r, v);
	/* So that sums are the same to the last digit. */
	qsort(r->found, nr, sizeof(*r->found), downwards);
	return nr;
}

static int grow(uint32_t **array, size_t size)
{
	uint32_t *more = realloc(*array, size * sizeof(*more));

	if (more)
		*array = more;
	return more ? 0 : -1;
}

/* Keeps the @nr nodes of .found as the extra of @v. */
static int keep_extra(struct fb_reach *r, uint32_t v, uint32_t nr)
{
	if (r->used + nr > r->cap) {
		size_t more = 2 * r->cap + nr + 16;

		if (grow(&r->extra, more) < 0 || grow(&r->owner, more) < 0 ||
		    grow(&r->before, more) < 0)
			return -1;
		r->cap = more;
	}
	for (uint32_t i = 0; i < nr; i++, r->used++) {
		uint32_t w = r->found[i];

		r->extra[r->used] = w;
		r->owner[r->used] = v;
		r->before[r->used] = r->in_extra[w];
		r->in_extra[w] = (uint32_t)r->used;
	}
	return 0;
}

/* The base is the neighbour that reaches most, which leaves the least extra. */
static int add_node(struct fb_reach *r, uint32_t v, size_t room)
{
	uint32_t nr = 0, base = NONE;

	for (uint32_t a = r->first[v]; a < r->first[v + 1]; a++)
		if (base == NONE || r->size[r->to[a]] > r->size[base])
			base = r->to[a];
	r->base[v] = base;
	r->in_extra[v] = NONE;
	r->top[v] = base == NONE || r->continued[base] ? v : r->top[base];
	if (base != NONE)
		r->continued[base] = 1;
	if (r->first[v + 1] - r->first[v] > 1)
		nr = r->whole ? ask_extra(r, v) : find_extra(r, v);
	r->size[v] = 1 + nr + (base == NONE ? 0 : r->size[base]);
	r->extra_first[v] = r->used;
	if (nr <= room - r->used)
		return keep_extra(r, v, nr);
	r->walk[v] = 1;
	r->whole = false;
	return 0;
}

struct fb_reach *fb_reach_new(const uint32_t *first, const uint32_t *parent, uint32_t nr,
			      size_t room)
{
	struct fb_reach *r = calloc(1, sizeof(*r));
	size_t n = (size_t)nr + 1;

	if (!r)
		return NULL;
	r->nr = nr;
	r->first = calloc(n, sizeof(*r->first));
	r->to = calloc((size_t)first[nr] + 1, sizeof(*r->to));
	r->base = calloc(n, sizeof(*r->base));
	r->extra_first = calloc(n, sizeof(*r->extra_first));
	r->walk = calloc(n, 1);
	r->mark = calloc(n, 1);
	r->seen = calloc(n, sizeof(*r->seen));
	r->found = calloc(n, sizeof(*r->found));
	r->whole = true;
	r->size = calloc(n, sizeof(*r->size));
	r->top = calloc(n, sizeof(*r->top));
	r->continued = calloc(n, 1);
	r->in_extra = calloc(n, sizeof(*r->in_extra));
	if (!r->size || !r->top || !r->continued || !r->in_extra || !r->first || !r->to ||
	    !r->base || !r->extra_first || !r->walk || !r->mark || !r->seen || !r->found) {
		fb_reach_free(r);
		return NULL;
	}
	memcpy(r->first, first, n * sizeof(*first));
	if (first[nr])
		memcpy(r->to, parent, first[nr] * sizeof(*parent));
	for (uint32_t v = 0; v < nr; v++)
		if (add_node(r, v, room < NONE ? room : NONE - 1) < 0) {
			fb_reach_free(r);
			return NULL;
		}
	r->extra_first[nr] = r->used;
	return r;
}

/* The extra of @v. */
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
		double *sum = ret + v * width;
		size_t nr;
		const uint32_t *extra = extra_of(r, v, &nr);

		for (size_t i = 0; i < width; i++)
			sum[i] = table[label[v] * width + i];
		for (size_t x = 0; x < nr; x++) {
			const double *row = table + label[extra[x]] * width;

			for (size_t i = 0; i < width; i++)
				sum[i] += row[i];
		}
		if (r->base[v] == NONE)
			continue;
		for (size_t i = 0; i < width; i++)
			sum[i] += ret[r->base[v] * width + i];
	}
}

bool fb_reach_test(struct fb_reach *r, uint32_t v, uint32_t w)
{
	uint32_t nr_seen = 0, open = 0;
	size_t steps = 0;
	bool found;

	if (r->whole || w >= v)
		return reaches(r, v, w, &steps);
	see(r, v, EXTRA, &nr_seen, &open);
	for (uint32_t u = v + 1; u-- > w;)
		for (uint32_t a = r->first[u]; r->mark[u] && a < r->first[u + 1]; a++)
			see(r, r->to[a], EXTRA, &nr_seen, &open);
	found = r->mark[w] != UNSEEN;
	while (nr_seen)
		r->mark[r->seen[--nr_seen]] = UNSEEN;
	return found;
}
