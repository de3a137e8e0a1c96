/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The candidates: their graph, the clusters that the measured images make of it, and what
 * testable nodes can tell apart.
 *
 * Candidates that no measured image tells apart have one likelihood: they form a cluster,
 * and the cost of a posterior is clusters, not commits (after J. Kara, "Stochastic
 * bisection", git list, 18 Nov 2021).
 */
#include "bisect/search-impl.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bisect/reach.h"

/* Memory for the sums over ancestors, in nodes; ten times what real histories of this size need. */
#define REACH_ROOM ((size_t)16 << 20)

/* Roles by two downward sweeps: good ends and bases spread "old", the bad end the rest. */
void fb_set_roles(struct fb_search *s)
{
	s->mark[s->bad] = 1;
	for (uint32_t v = s->nr_nodes; v-- > 0;) {
		size_t nr;
		const uint32_t *parent = fb_dag_parents(s->dag, v, &nr);
		bool old = s->node[v].role == ROLE_OLD;

		for (size_t i = 0; i < nr; i++) {
			if (old)
				s->node[parent[i]].role = ROLE_OLD;
			if (s->mark[v])
				s->mark[parent[i]] = 1;
		}
		if (s->mark[v] && !old)
			s->node[v].role = ROLE_CANDIDATE;
	}
}

int fb_set_candidates(struct fb_search *s)
{
	size_t nr_arcs = 0, used = 0;

	for (uint32_t v = 0; v < s->nr_nodes; v++) {
		size_t nr;

		s->index[v] = FB_NO_NODE;
		if (s->node[v].role != ROLE_CANDIDATE)
			continue;
		fb_dag_parents(s->dag, v, &nr);
		nr_arcs += nr;
		s->index[v] = s->nr_cand;
		s->cand[s->nr_cand++] = v;
	}
	s->nr_alive = s->nr_cand;
	s->par_first = calloc((size_t)s->nr_cand + 1, sizeof(*s->par_first));
	s->par = calloc(nr_arcs + 1, sizeof(*s->par));
	if (!s->par_first || !s->par)
		return -1;
	for (uint32_t c = 0; c < s->nr_cand; c++) {
		size_t nr;
		const uint32_t *parent = fb_dag_parents(s->dag, s->cand[c], &nr);

		s->par_first[c] = (uint32_t)used;
		for (size_t i = 0; i < nr; i++)
			if (s->index[parent[i]] != FB_NO_NODE)
				s->par[used++] = s->index[parent[i]];
	}
	s->par_first[s->nr_cand] = (uint32_t)used;
	s->ancestors = fb_reach_new(s->par_first, s->par, s->nr_cand, REACH_ROOM);
	return s->ancestors ? 0 : -1;
}

int fb_prepare_skips(struct fb_search *s)
{
	if (s->near)
		return 0;
	s->near = fb_near_new(s->par_first, s->par, s->nr_cand);
	if (!s->near)
		return -1;
	for (uint32_t c = 0; c < s->nr_cand; c++)
		s->near_skipped[c] = s->near_measured[c] = FB_NEAR_NONE;
	for (uint32_t c = 0; c < s->nr_cand; c++)
		if (s->node[s->cand[c]].nr)
			fb_near_add(s->near, s->near_measured, c);
	return 0;
}

/* Marks the candidates that @candidate can reach, itself included, with @bit. */
void fb_mark_ancestors(struct fb_search *s, uint32_t candidate, unsigned char bit)
{
	if (candidate == FB_NO_NODE)
		return;
	s->mark[candidate] |= bit;
	for (uint32_t c = candidate + 1; c-- > 0;)
		if (s->mark[c] & bit)
			for (uint32_t a = s->par_first[c]; a < s->par_first[c + 1]; a++)
				s->mark[s->par[a]] |= bit;
}

static uint64_t mix(uint64_t x)
{
	/* The finaliser of splitmix64 (G. Steele, D. Lea, C. Flood, OOPSLA 2014). */
	x ^= x >> 30;
	x *= UINT64_C(0xbf58476d1ce4e5b9);
	x ^= x >> 27;
	x *= UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

/* A set of images is known by the exclusive or of these (A. Zobrist, 1970). */
uint64_t fb_image_hash(const struct fb_search *s, const struct image *im)
{
	return mix((uint64_t)(im - s->image + 1) * UINT64_C(0x9e3779b97f4a7c15));
}

bool fb_reached(const struct fb_search *s, uint32_t c, size_t image)
{
	return s->reached[image / 64 * s->nr_cand + c] >> image % 64 & 1;
}

/* .reached: 64 images at a time, each a bit that goes down to all that its node can reach. */
static void mark_reached(struct fb_search *s)
{
	for (size_t from = 0; from < s->nr_image; from += 64) {
		uint64_t *mask = s->reached + from / 64 * s->nr_cand;
		uint32_t top = 0;

		memset(mask, 0, s->nr_cand * sizeof(*mask));
		for (size_t i = from; i < s->nr_image && i < from + 64; i++) {
			uint32_t c = s->image[i].candidate;

			if (c == FB_NO_NODE)
				continue;
			mask[c] |= (uint64_t)1 << (i - from);
			if (c >= top)
				top = c + 1;
		}
		for (uint32_t c = top; c-- > 0;)
			for (uint32_t a = s->par_first[c]; mask[c] && a < s->par_first[c + 1]; a++)
				mask[s->par[a]] |= mask[c];
	}
}

/* The slot of .slot for clusters of (@old, @mask), or the free one that waits for it. */
static uint32_t *find_slot(struct fb_search *s, const uint64_t *block, uint32_t old, uint64_t mask)
{
	uint64_t i = mix(mask + mix(old + UINT64_C(0x9e3779b97f4a7c15)));

	for (;; i++) {
		uint32_t *slot = &s->slot[i & s->slot_mask];
		uint32_t first;

		if (*slot == FB_NO_NODE)
			return slot;
		first = s->cluster[*slot].first;
		if (block[first] == mask && s->old_cluster[first] == old)
			return slot;
	}
}

/*
 * .cluster_of: candidates are in one cluster when the same images reach them. Each block of
 * 64 images splits what the blocks before it left together; clusters are numbered in the
 * order of their lowest candidates, so that only the set of images matters. The dead have
 * the number after the last.
 */
static void partition(struct fb_search *s)
{
	memset(s->cluster_of, 0, s->nr_cand * sizeof(*s->cluster_of));
	for (size_t from = 0; from == 0 || from < s->nr_image; from += 64) {
		const uint64_t *block = s->reached + from / 64 * s->nr_cand;
		uint32_t *swap = s->old_cluster;

		s->old_cluster = s->cluster_of;
		s->cluster_of = swap;
		s->nr_cluster = 0;
		memset(s->slot, 0xff, ((size_t)s->slot_mask + 1) * sizeof(*s->slot));
		for (uint32_t c = 0; c < s->nr_cand; c++) {
			uint32_t *slot;

			if (s->dead[c])
				continue;
			slot = find_slot(s, block, s->old_cluster[c], block[c]);
			if (*slot == FB_NO_NODE) {
				*slot = s->nr_cluster++;
				s->cluster[*slot] = (struct cluster){.first = c};
			}
			s->cluster[*slot].size++;
			s->cluster_of[c] = *slot;
		}
	}
	for (uint32_t c = 0; c < s->nr_cand; c++)
		if (s->dead[c])
			s->cluster_of[c] = s->nr_cluster;
}

void fb_make_clusters(struct fb_search *s)
{
	if (!s->partitioned) {
		mark_reached(s);
		partition(s);
		s->partitioned = true;
	}
	for (uint32_t k = 0; k < s->nr_cluster; k++) {
		struct cluster *cl = &s->cluster[k];

		memset(&cl->new, 0, sizeof(cl->new));
		cl->reached_by = 0;
		for (size_t i = 0; i < s->nr_image; i++) {
			if (!fb_reached(s, cl->first, i))
				continue;
			fb_model_sums_add(&s->model, &cl->new, &s->image[i].sum, 1);
			cl->reached_by ^= fb_image_hash(s, &s->image[i]);
		}
	}
}

double fb_candidate_weight(const struct fb_search *s, uint32_t c)
{
	return s->dead[c] ? 0 : s->cluster[s->cluster_of[c]].weight;
}

/*
 * .mass[c]: the posterior of candidate c and all its ancestors, that is, the probability
 * that an image of c shows the change; together with each part.
 */
void fb_sum_ancestors(struct fb_search *s, double log_candidate)
{
	/* From here on .part is no log any more. */
	for (uint32_t k = 0; k < s->nr_cluster; k++)
		for (int r = 0; r < s->model.family->nr_parts; r++) {
			double p = exp(log_candidate + s->cluster[k].part[r]);

			s->cluster[k].part[r] = p;
			s->part[k].part[r] = p;
		}
	s->part[s->nr_cluster] = (struct mass){{0}};
	fb_reach_sum(s->ancestors, s->cluster_of, s->part->part, FB_MODEL_PARTS, s->mass->part);
}

/* A node can be tested when its image can: another node may build the same. */
static bool is_testable(const struct fb_search *s, uint32_t node)
{
	uint32_t w = node;

	do {
		if (!s->node[w].skip)
			return true;
		w = s->node[w].next;
	} while (w != node);
	return false;
}

static void add_key(struct class_key *key, uint32_t c)
{
	key->h1 += mix(UINT64_C(0x9e3779b97f4a7c15) + c);
	key->h2 += mix(UINT64_C(0xd1b54a32d192ed03) + c);
}

/*
 * Into .count: the testable candidates from @c, which is not, upwards, with none testable
 * between.
 */
static uint32_t find_frontier(struct fb_search *s, uint32_t c)
{
	uint32_t *queue = s->old_cluster, nr = 0, tail = 0;

	for (uint32_t done = 0, v = c;; v = queue[done++]) {
		size_t nr_near;
		const uint32_t *near = fb_near_of(s->near, v, &nr_near);

		for (size_t i = 0; i < nr_near; i++) {
			if (near[i] < v || s->mark[near[i]])
				continue;
			s->mark[near[i]] = 1;
			if (is_testable(s, s->cand[near[i]]))
				s->count[nr++] = near[i];
			else
				queue[tail++] = near[i];
		}
		if (done == tail)
			break;
	}
	for (uint32_t i = 0; i < tail; i++)
		s->mark[queue[i]] = 0;
	for (uint32_t i = 0; i < nr; i++)
		s->mark[s->count[i]] = 0;
	return nr;
}

static int upwards(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

/*
 * The testable nodes that descend from @c, as a key: those of them that descend from no other
 * one make the rest. .key of all above @c is known.
 */
static void make_key(struct fb_search *s, uint32_t c)
{
	size_t nr_near;
	const uint32_t *near = fb_near_of(s->near, c, &nr_near);
	const struct class_key *first = NULL;
	uint32_t nr, kept = 0;
	bool same = true;

	s->key[c] = (struct class_key){0, 0};
	if (is_testable(s, s->cand[c])) {
		add_key(&s->key[c], c);
		return;
	}
	for (size_t i = 0; i < nr_near; i++) {
		if (near[i] < c)
			continue;
		if (!first)
			first = &s->key[near[i]];
		same = same && !memcmp(first, &s->key[near[i]], sizeof(*first));
	}
	if (same) {
		if (first)
			s->key[c] = *first;
		return;
	}
	nr = find_frontier(s, c);
	qsort(s->count, nr, sizeof(*s->count), upwards);
	for (uint32_t i = 0; i < nr; i++) {
		uint32_t j = 0;

		while (j < kept && !fb_reach_test(s->ancestors, s->count[i], s->count[j]))
			j++;
		if (j < kept)
			continue;
		s->count[kept++] = s->count[i];
		add_key(&s->key[c], s->count[i]);
	}
}

/*
 * .class_of[c]: the first candidate that no testable node tells from c. Two candidates are
 * one class when the same testable nodes descend from both; the sets are compared by a
 * hash of 128 bits, sums of random numbers (J. Carter and M. Wegman, JCSS 18, 1979).
 */
void fb_make_classes(struct fb_search *s)
{
	if (s->classified)
		return;
	s->classified = true;
	for (uint32_t c = 0; c < s->nr_cand; c++)
		s->class_of[c] = c;
	if (!s->any_skip)
		return; /* each candidate is told from the others by its own image */
	memset(s->mark, 0, s->nr_cand);
	for (uint32_t c = s->nr_cand; c-- > 0;)
		make_key(s, c);
	memset(s->slot, 0xff, ((size_t)s->slot_mask + 1) * sizeof(*s->slot));
	for (uint32_t c = 0; c < s->nr_cand; c++) {
		const struct class_key *key = &s->key[c];
		uint64_t i = key->h1;

		while (s->slot[i & s->slot_mask] != FB_NO_NODE &&
		       memcmp(&s->key[s->slot[i & s->slot_mask]], key, sizeof(*key)) != 0)
			i++;
		if (s->slot[i & s->slot_mask] == FB_NO_NODE)
			s->slot[i & s->slot_mask] = c;
		s->class_of[c] = s->slot[i & s->slot_mask];
	}
}

/* The class with the largest posterior. */
uint32_t fb_leading_class(struct fb_search *s)
{
	uint32_t best = 0;

	memset(s->class_mass, 0, s->nr_cand * sizeof(*s->class_mass));
	for (uint32_t c = 0; c < s->nr_cand; c++)
		s->class_mass[s->class_of[c]] += fb_candidate_weight(s, c);
	for (uint32_t c = 1; c < s->nr_cand; c++)
		if (s->class_mass[c] > s->class_mass[best])
			best = c;
	return best;
}

void fb_list_class(struct fb_search *s, uint32_t class)
{
	s->state->nr_nodes = 0;
	for (uint32_t c = 0; c < s->nr_cand; c++)
		if (!s->dead[c] && s->class_of[c] == class)
			s->found[s->state->nr_nodes++] = s->cand[c];
}

int fb_compare_ranks(const void *a, const void *b)
{
	const struct rank *x = a, *y = b;

	if (x->weight != y->weight)
		return x->weight > y->weight ? -1 : 1;
	return (x->cluster > y->cluster) - (x->cluster < y->cluster);
}

/* The smallest union of clusters that holds the confidence, given one step; into .found. */
double fb_list_credible(struct fb_search *s)
{
	double want = s->params.confidence * (1 - s->state->other), have = 0;
	uint32_t nr = 0;

	for (uint32_t k = 0; k < s->nr_cluster; k++) {
		s->rank[k] = (struct rank){s->cluster[k].weight, k};
		s->count[k] = 0;
	}
	qsort(s->rank, s->nr_cluster, sizeof(*s->rank), fb_compare_ranks);
	for (uint32_t i = 0; i < s->nr_cluster && have < want; i++) {
		s->count[s->rank[i].cluster] = 1;
		have += s->rank[i].weight * s->cluster[s->rank[i].cluster].size;
	}
	for (uint32_t c = 0; c < s->nr_cand; c++)
		if (!s->dead[c] && s->count[s->cluster_of[c]])
			s->found[nr++] = s->cand[c];
	s->state->nr_nodes = nr;
	return have;
}
