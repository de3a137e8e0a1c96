/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What was recorded: boots, skips, costs, and nodes that share an image. */
#include "bisect/search-impl.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bisect/stats.h"

uint32_t fb_image_of(const struct fb_search *s, uint32_t v)
{
	while (s->node[v].image != v)
		v = s->node[v].image;
	return v;
}

static int grow(void **array, size_t *cap, size_t need, size_t size)
{
	size_t more = *cap ? *cap * 2 : 16;
	void *p;

	if (need <= *cap)
		return 0;
	if (more < need)
		more = need;
	p = realloc(*array, more * size);
	if (!p)
		return -1;
	*array = p;
	*cap = more;
	return 0;
}

/* Room for one more measured node, which may be one more image. */
static int grow_reached(struct fb_search *s)
{
	size_t need = s->nr_measured / 64 + 1;
	uint64_t *reached;

	if (need <= s->cap_reached)
		return 0;
	reached = realloc(s->reached, need * s->nr_cand * sizeof(*reached));
	if (!reached)
		return -1;
	s->reached = reached;
	s->cap_reached = need;
	return fb_counters_make_room(s);
}

int fb_search_record(struct fb_search *s, uint32_t node, double value)
{
	void *image = s->image, *sorted = s->sorted, *new = s->new;
	void *ratio = s->ratio, *values;
	struct node *n;
	size_t cap;
	int rc;

	if (node >= s->nr_nodes || s->node[node].role == ROLE_NONE || !isfinite(value))
		return -1;
	if ((s->params.scale == FB_SCALE_BINARY || s->params.scale == FB_SCALE_CERTAIN) &&
	    value != 0 && value != 1)
		return -1;
	if (s->params.scale == FB_SCALE_LOG) {
		if (!(value > 0))
			return -1;
		value = log(value);
	}
	n = &s->node[node];
	rc = grow(&image, &s->cap_image, s->nr_boots + s->nr_hints + 1u, sizeof(*s->image));
	s->image = image;
	if (rc < 0)
		return -1;
	rc = grow(&new, &s->cap_new, s->nr_boots + 1u, sizeof(*s->new));
	s->new = new;
	if (rc < 0)
		return -1;
	rc = grow(&sorted, &s->cap_sorted, s->nr_boots + 1u, sizeof(*s->sorted));
	s->sorted = sorted;
	if (rc < 0)
		return -1;
	rc = grow(&ratio, &s->cap_ratio, s->nr_boots + 1u, sizeof(*s->ratio));
	s->ratio = ratio;
	if (rc < 0)
		return -1;
	values = n->value;
	cap = n->cap;
	rc = grow(&values, &cap, n->nr + 1u, sizeof(*n->value));
	n->value = values;
	n->cap = (uint32_t)cap;
	if (rc < 0 || (!n->nr && grow_reached(s) < 0))
		return -1;
	if (!n->nr) {
		s->nr_measured += !n->hinted;
		s->partitioned = false;
		if (s->any_skip && n->role == ROLE_CANDIDATE)
			fb_near_add(s->near, s->near_measured, s->index[node]);
	}
	n->value[n->nr++] = value;
	s->nr_boots++;
	s->state->valid = false;
	return 0;
}

int fb_search_hint(struct fb_search *s, uint32_t node, double log_ratio)
{
	void *image = s->image;
	struct node *n;
	int rc;

	if (node >= s->nr_nodes || s->params.scale != FB_SCALE_CERTAIN || !isfinite(log_ratio))
		return -1;
	n = &s->node[node];
	if (n->role == ROLE_NONE)
		return -1;
	rc = grow(&image, &s->cap_image, s->nr_boots + s->nr_hints + 1u, sizeof(*s->image));
	s->image = image;
	if (rc < 0 || (!n->nr && !n->hinted && grow_reached(s) < 0))
		return -1;
	s->nr_measured += !n->nr && !n->hinted;
	s->nr_hints++;
	n->hinted = 1;
	n->hint += log_ratio;
	s->partitioned = false;
	s->state->valid = false;
	return 0;
}

int fb_search_skip(struct fb_search *s, uint32_t node)
{
	if (node >= s->nr_nodes)
		return -1;
	if (s->node[node].role == ROLE_CANDIDATE) {
		if (fb_prepare_skips(s) < 0)
			return -1;
		s->any_skip = true;
		fb_near_add(s->near, s->near_skipped, s->index[node]);
	}
	s->node[node].skip = 1;
	s->classified = false;
	s->state->valid = false;
	return 0;
}

int fb_search_set_cost(struct fb_search *s, uint32_t node, double boots)
{
	if (node >= s->nr_nodes || !(boots >= 0) || !isfinite(boots))
		return -1;
	s->node[node].cost = boots;
	s->state->valid = false;
	return 0;
}

/* A node of the ring of @v that has a side; FB_NO_NODE when none has. */
static uint32_t sided_node(const struct fb_search *s, uint32_t v)
{
	uint32_t w = v;

	do {
		if (s->node[w].role != ROLE_NONE)
			return w;
		w = s->node[w].next;
	} while (w != v);
	return FB_NO_NODE;
}

int fb_search_same_image(struct fb_search *s, uint32_t a, uint32_t b)
{
	uint32_t ra, rb, next, side_a, side_b;

	if (a >= s->nr_nodes || b >= s->nr_nodes)
		return -1;
	ra = fb_image_of(s, a);
	rb = fb_image_of(s, b);
	if (ra == rb)
		return 0;
	/*
	 * All nodes of one image lie on one side. Within each of the two rings that is so
	 * already; one pair between them makes it so for the whole.
	 */
	side_a = sided_node(s, a);
	side_b = sided_node(s, b);
	if (side_a != FB_NO_NODE && side_b != FB_NO_NODE) {
		memset(s->mark, 0, s->nr_cand);
		fb_mark_ancestors(s, s->index[side_a], 1);
		fb_mark_ancestors(s, s->index[side_b], 2);
		for (uint32_t c = 0; c < s->nr_cand; c++) {
			if (s->mark[c] != 1 && s->mark[c] != 2)
				continue;
			s->nr_alive -= !s->dead[c];
			s->dead[c] = 1;
		}
	}
	s->node[ra > rb ? ra : rb].image = ra > rb ? rb : ra;
	next = s->node[a].next;
	s->node[a].next = s->node[b].next;
	s->node[b].next = next;
	s->partitioned = s->classified = false;
	s->state->valid = false;
	return 0;
}

static int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

uint32_t fb_image_boots(const struct fb_search *s, uint32_t v)
{
	uint32_t w = v, nr = 0;

	do {
		nr += s->node[w].nr;
		w = s->node[w].next;
	} while (w != v);
	return nr;
}

/* Boots that @v may still have. */
unsigned fb_boots_allowed(const struct fb_search *s, uint32_t v)
{
	unsigned room = UINT32_MAX, used;

	if (s->node[v].skip)
		return 0;
	if (s->params.max_boots) {
		used = fb_image_boots(s, v);
		room = used < s->params.max_boots ? s->params.max_boots - used : 0;
	}
	if (s->params.max_total) {
		used = s->nr_boots;
		used = used < s->params.max_total ? s->params.max_total - used : 0;
		if (used < room)
			room = used;
	}
	return room;
}

/* The node to boot for the image of @v: its first one that can be; FB_NO_NODE when none can. */
uint32_t fb_bootable_node(const struct fb_search *s, uint32_t v)
{
	uint32_t w = v, best = FB_NO_NODE;

	if (fb_boots_allowed(s, v))
		return v;
	do {
		if (w < best && fb_boots_allowed(s, w))
			best = w;
		w = s->node[w].next;
	} while (w != v);
	return best;
}

static void collect_image(struct fb_search *s, uint32_t root, size_t first)
{
	struct image *im = &s->image[s->nr_image++];
	uint32_t w = root;
	size_t nr = 0;
	bool old = false;

	im->root = root;
	im->first = first;
	im->candidate = FB_NO_NODE;
	im->side = 0;
	do {
		for (uint32_t i = 0; i < s->node[w].nr; i++)
			s->sorted[first + nr++] = s->node[w].value[i];
		old = old || s->node[w].role == ROLE_OLD;
		if (s->node[w].role == ROLE_CANDIDATE && s->index[w] < im->candidate)
			im->candidate = s->index[w];
		w = s->node[w].next;
	} while (w != root);
	if (old)
		im->candidate = FB_NO_NODE;
	im->sum = (struct fb_model_image){.nr = nr};
	if (!nr) /* only hints */
		return;
	qsort(s->sorted + first, nr, sizeof(*s->sorted), compare_doubles);
	im->sum.mean = fb_stats_mean(s->sorted + first, nr, &im->sum.ss);
}

/* Is there a boot of the image of @v, or a hint? */
static bool is_heard_of(const struct fb_search *s, uint32_t v)
{
	uint32_t w = v;

	do {
		if (s->node[w].nr || s->node[w].hinted)
			return true;
		w = s->node[w].next;
	} while (w != v);
	return false;
}

void fb_collect_images(struct fb_search *s)
{
	size_t first = 0;

	s->nr_image = 0;
	for (uint32_t v = 0; v < s->nr_nodes; v++) {
		if (s->node[v].image != v || !is_heard_of(s, v))
			continue;
		collect_image(s, v, first);
		first += s->image[s->nr_image - 1].sum.nr;
	}
	/* Near the values, so that sums of squares keep their digits. */
	s->offset = 0;
	if (s->params.scale == FB_SCALE_BINARY)
		return;
	for (size_t i = 0; i < s->nr_image; i++)
		s->offset += (s->image[i].sum.mean - s->offset) / (double)(i + 1);
	for (size_t i = 0; i < s->nr_image; i++)
		s->image[i].sum.mean -= s->offset;
	for (size_t i = 0; i < first; i++)
		s->sorted[i] -= s->offset;
}

struct image *fb_find_image(const struct fb_search *s, uint32_t node)
{
	uint32_t root = fb_image_of(s, node);

	for (size_t i = 0; i < s->nr_image; i++)
		if (s->image[i].root == root)
			return &s->image[i];
	return NULL;
}

/* Is one of the nodes that share the image of @im a good end? */
bool fb_image_is_good_end(const struct fb_search *s, const struct image *im)
{
	uint32_t w = im->root;

	do {
		if (s->node[w].good)
			return true;
		w = s->node[w].next;
	} while (w != im->root);
	return false;
}
