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
		if (used - s->par_first[c] > 1)
			s->has_merges = true;
	}
	s->par_first[s->nr_cand] = (uint32_t)used;
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

/* Splits the clusters by one image: on the new side are the hypotheses it can reach. */
static void split_clusters(struct fb_search *s, const struct image *im)
{
	uint32_t nr = s->nr_cluster;

	memset(s->mark, 0, s->nr_cand);
	fb_mark_ancestors(s, im->candidate, 1);
	memset(s->count, 0, nr * sizeof(*s->count));
	for (uint32_t c = 0; c < s->nr_cand; c++)
		if (!s->dead[c] && s->mark[c])
			s->count[s->cluster_of[c]]++;
	for (uint32_t k = 0; k < nr; k++) {
		s->split_to[k] = k;
		if (!s->count[k])
			continue;
		if (s->count[k] < s->cluster[k].size) {
			struct cluster *part = &s->cluster[s->nr_cluster];

			*part = s->cluster[k];
			part->size = s->count[k];
			s->cluster[k].size -= s->count[k];
			s->split_to[k] = s->nr_cluster++;
		}
		fb_model_sums_add(&s->model, &s->cluster[s->split_to[k]].new, &im->sum, 1);
		s->cluster[s->split_to[k]].reached_by ^= fb_image_hash(s, im);
	}
	for (uint32_t c = 0; c < s->nr_cand; c++)
		if (!s->dead[c] && s->mark[c])
			s->cluster_of[c] = s->split_to[s->cluster_of[c]];
}

void fb_make_clusters(struct fb_search *s)
{
	s->nr_cluster = 1;
	memset(&s->cluster[0], 0, sizeof(s->cluster[0]));
	s->cluster[0].size = s->nr_alive;
	memset(s->cluster_of, 0, s->nr_cand * sizeof(*s->cluster_of));
	for (size_t i = 0; i < s->nr_image; i++)
		split_clusters(s, &s->image[i]);
	for (uint32_t k = 0; k < s->nr_cluster; k++)
		s->cluster[k].first = FB_NO_NODE;
	for (uint32_t c = s->nr_cand; c-- > 0;)
		if (!s->dead[c])
			s->cluster[s->cluster_of[c]].first = c;
}

double fb_candidate_weight(const struct fb_search *s, uint32_t c)
{
	return s->dead[c] ? 0 : s->cluster[s->cluster_of[c]].weight;
}

/*
 * Set bits of @x, by adding up ever wider fields (H. Warren, Hacker's Delight, 5-1); the
 * compiler's builtin is a call into its library where no instruction may be assumed.
 */
static double count_bits(uint64_t x)
{
	x -= x >> 1 & UINT64_C(0x5555555555555555);
	x = (x & UINT64_C(0x3333333333333333)) + (x >> 2 & UINT64_C(0x3333333333333333));
	x = (x + (x >> 4)) & UINT64_C(0x0f0f0f0f0f0f0f0f);
	return (double)(x * UINT64_C(0x0101010101010101) >> 56);
}

/*
 * .mass[c]: the posterior of candidate c and all its ancestors, that is, the probability
 * that an image of c shows the change; together with each part. On a line a running sum;
 * with merges the ancestors are counted by 64 columns at a time, each column a candidate
 * of one cluster.
 */
void fb_sum_ancestors(struct fb_search *s, double log_candidate)
{
	uint32_t nr = 0;

	/* From here on .part is no log any more. */
	for (uint32_t k = 0; k < s->nr_cluster; k++)
		for (int r = 0; r < s->model.family->nr_parts; r++)
			s->cluster[k].part[r] = exp(log_candidate + s->cluster[k].part[r]);
	memset(s->mass, 0, s->nr_cand * sizeof(*s->mass));
	if (!s->has_merges) {
		for (uint32_t c = 0; c < s->nr_cand; c++) {
			if (s->par_first[c + 1] > s->par_first[c])
				s->mass[c] = s->mass[s->par[s->par_first[c]]];
			for (int r = 0; r < s->model.family->nr_parts && !s->dead[c]; r++)
				s->mass[c].part[r] += s->cluster[s->cluster_of[c]].part[r];
		}
		return;
	}
	/* Counting sort by cluster, without what weighs nothing. */
	for (uint32_t k = 0; k < s->nr_cluster; k++) {
		s->split_to[k] = nr;
		if (s->cluster[k].weight * s->cluster[k].size > 1e-12)
			nr += s->cluster[k].size;
	}
	for (uint32_t c = 0; c < s->nr_cand; c++) {
		uint32_t k = s->cluster_of[c];

		if (!s->dead[c] && s->cluster[k].weight * s->cluster[k].size > 1e-12)
			s->order[s->split_to[k]++] = c;
	}
	for (uint32_t from = 0; from < nr;) {
		uint32_t k = s->cluster_of[s->order[from]], to = from;

		while (to < nr && to < from + 64 && s->cluster_of[s->order[to]] == k)
			to++;
		memset(s->mask, 0, s->nr_cand * sizeof(*s->mask));
		for (uint32_t i = from; i < to; i++)
			s->mask[s->order[i]] = (uint64_t)1 << (i - from);
		for (uint32_t c = s->order[from]; c < s->nr_cand; c++) {
			uint64_t m = s->mask[c];

			for (uint32_t a = s->par_first[c]; a < s->par_first[c + 1]; a++)
				m |= s->mask[s->par[a]];
			s->mask[c] = m;
			if (m)
				for (int r = 0; r < s->model.family->nr_parts; r++)
					s->mass[c].part[r] += count_bits(m) * s->cluster[k].part[r];
		}
		from = to;
	}
}

static int compare_keys(const void *a, const void *b)
{
	const struct class_key *x = a, *y = b;

	if (x->h1 != y->h1)
		return x->h1 < y->h1 ? -1 : 1;
	if (x->h2 != y->h2)
		return x->h2 < y->h2 ? -1 : 1;
	return (x->candidate > y->candidate) - (x->candidate < y->candidate);
}

/*
 * .class_of[c]: the first candidate that no testable node tells from c. Two candidates are
 * one class when the same testable nodes descend from both; the sets are compared by a
 * 128-bit hash that is fed 64 testable nodes at a time.
 */
void fb_make_classes(struct fb_search *s)
{
	for (uint32_t c = 0; c < s->nr_cand; c++) {
		s->class_of[c] = c;
		s->key[c] = (struct class_key){0, 0, c};
	}
	if (!s->any_skip)
		return; /* each candidate is told from the others by its own image */
	for (uint32_t next = 0; next < s->nr_cand;) {
		uint32_t nr = 0, top = 0;

		memset(s->mask, 0, s->nr_cand * sizeof(*s->mask));
		for (; next < s->nr_cand && nr < 64; next++) {
			if (s->node[s->cand[next]].skip)
				continue;
			s->mask[next] = (uint64_t)1 << nr++;
			top = next + 1;
		}
		for (uint32_t c = top; c-- > 0;) {
			uint64_t m = s->mask[c];

			for (uint32_t a = s->par_first[c]; a < s->par_first[c + 1]; a++)
				s->mask[s->par[a]] |= m;
			if (!m)
				continue;
			s->key[c].h1 = mix(s->key[c].h1 ^ mix(m + next));
			s->key[c].h2 =
				mix(s->key[c].h2 + mix(m ^ UINT64_C(0x9e3779b97f4a7c15)) + next);
		}
	}
	qsort(s->key, s->nr_cand, sizeof(*s->key), compare_keys);
	for (uint32_t i = 0; i < s->nr_cand; i++) {
		const struct class_key *k = &s->key[i], *before = i ? k - 1 : NULL;
		bool same = before && before->h1 == k->h1 && before->h2 == k->h2;

		s->class_of[k->candidate] = same ? s->class_of[before->candidate] : k->candidate;
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

/* The smallest union of clusters that holds the confidence, given one step; into .found. */
double fb_list_credible(struct fb_search *s)
{
	double want = s->params.confidence * (1 - s->state->other), have = 0;
	uint32_t nr = 0;

	for (uint32_t k = 0; k < s->nr_cluster; k++)
		s->count[k] = 0;
	while (have < want) {
		uint32_t best = FB_NO_NODE;

		for (uint32_t k = 0; k < s->nr_cluster; k++)
			if (!s->count[k] &&
			    (best == FB_NO_NODE || s->cluster[k].weight > s->cluster[best].weight ||
			     (s->cluster[k].weight == s->cluster[best].weight &&
			      s->cluster[k].first < s->cluster[best].first)))
				best = k;
		if (best == FB_NO_NODE)
			break;
		s->count[best] = 1;
		have += s->cluster[best].weight * s->cluster[best].size;
	}
	for (uint32_t c = 0; c < s->nr_cand; c++)
		if (!s->dead[c] && s->count[s->cluster_of[c]])
			s->found[nr++] = s->cand[c];
	s->state->nr_nodes = nr;
	return have;
}
