/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Two steps: an early and a late one, as pairs of clusters.
 *
 * A pair gives the images four levels: neither step, the early one only, both, and, where the
 * late one does not contain the early one, the late one only; that level is the one at which
 * the effects add up. All pairs of commits are equally likely before.
 */
#include "bisect/search-impl.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bisect/stats.h"

/* Pairs so many nats below the sum of those before do not count (1e-9 of it). */
#define LITTLE 20.0
/* What has less of the posterior does not count for the choice of the next boots. */
#define IN_QUESTION 1e-9

#define LEVEL_WIDTH (2 * FB_MODEL_PARTS)

struct fb_steps {
	struct level *of_cluster, *of; /* what a step there adds; sums over ancestors */
	double *mass[2];	       /* of the early and the late step, for each cluster */
	uint32_t *class_size, *room;   /* of classes; of the largest class in each cluster */
	double *inside;		       /* mean log2 of the size of a member's class */
	struct rank *rank;
	unsigned char *mark;
	uint32_t *found;
};

struct pair {
	uint32_t step[2];
	struct fb_model_sums both, early, late; /* the images with both steps, with only one */
	bool apart;				/* some image has only the late one */
};

void fb_steps_free(struct fb_steps *t)
{
	if (!t)
		return;
	free(t->of_cluster);
	free(t->of);
	free(t->mass[0]);
	free(t->mass[1]);
	free(t->class_size);
	free(t->room);
	free(t->inside);
	free(t->rank);
	free(t->mark);
	free(t->found);
	free(t);
}

struct fb_steps *fb_steps_new(uint32_t nr_candidates)
{
	struct fb_steps *t = calloc(1, sizeof(*t));
	size_t n = (size_t)nr_candidates + 1;

	if (!t)
		return NULL;
#define ROOM(array, nr) ((array = calloc(nr, sizeof(*array))) != NULL)
	if (ROOM(t->of_cluster, n) && ROOM(t->of, n) && ROOM(t->mass[0], n) &&
	    ROOM(t->mass[1], n) && ROOM(t->class_size, n) && ROOM(t->room, n) &&
	    ROOM(t->inside, n) && ROOM(t->rank, n) && ROOM(t->mark, n) && ROOM(t->found, 2 * n))
		return t;
#undef ROOM
	fb_steps_free(t);
	return NULL;
}

/* --- the likelihood of a pair --------------------------------------------------------------- */

static bool reaches_all_of(const struct fb_search *s, uint32_t k, uint32_t l)
{
	for (size_t i = 0; i < s->nr_image; i += 64)
		if (s->reached[i / 64 * s->nr_cand + s->cluster[l].first] &
		    ~s->reached[i / 64 * s->nr_cand + s->cluster[k].first])
			return false;
	return true;
}

static struct fb_model_sums less(const struct fb_search *s, const struct fb_model_sums *a,
				 const struct fb_model_sums *b)
{
	struct fb_model_sums d = *a;

	for (int r = 0; r < s->model.family->nr_parts - s->model.family->nr_raw; r++) {
		d.w[r] -= b->w[r];
		d.wm[r] -= b->wm[r];
	}
	return d;
}

/* False where the images make no two steps of it, or none that the family knows. */
static bool make_pair(const struct fb_search *s, uint32_t k, uint32_t l, struct pair *p)
{
	bool early_is_k = reaches_all_of(s, k, l);
	const struct cluster *early, *late;

	p->apart = !early_is_k && !reaches_all_of(s, l, k);
	p->step[0] = early_is_k || p->apart ? k : l;
	p->step[1] = early_is_k || p->apart ? l : k;
	early = &s->cluster[p->step[0]];
	late = &s->cluster[p->step[1]];
	if (!p->apart) {
		p->both = late->new;
		p->early = less(s, &early->new, &late->new);
		return true;
	}
	if (s->model.family->rates) /* rates do not add up */
		return false;
	memset(&p->both, 0, sizeof(p->both));
	for (size_t i = 0; i < s->nr_image; i++)
		if (fb_reached(s, early->first, i) && fb_reached(s, late->first, i))
			fb_model_sums_add(&s->model, &p->both, &s->image[i].sum, 1);
	p->early = less(s, &early->new, &p->both);
	p->late = less(s, &late->new, &p->both);
	return true;
}

/*
 * One part of the log likelihood. Given the other three the mean of the images with the late
 * step only is normal: what it adds is its distance from where the effects add up to.
 */
static double pair_likelihood(const struct fb_search *s, const struct pair *p, int r, double least,
			      struct fb_model_fit *ret_fit)
{
	const struct fb_family *family = s->model.family;
	struct fb_model model;
	double w, w_old, wm_old, spread, miss, range = s->state->level_range;

	if (!p->apart)
		return family->split(&s->model, r, &p->both, &p->early, range, least, ret_fit);
	model = s->model;
	w = p->late.w[r];
	w_old = model.all.w[r] - p->both.w[r] - p->early.w[r] - w;
	wm_old = model.all.wm[r] - p->both.wm[r] - p->early.wm[r] - p->late.wm[r];
	spread = 1 / w_old + 1 / p->early.w[r] + 1 / p->both.w[r];
	miss = p->late.wm[r] / w -
	       (wm_old / w_old - p->early.wm[r] / p->early.w[r] + p->both.wm[r] / p->both.w[r]);
	model.all.w[r] -= w;
	model.all.wm[r] -= p->late.wm[r];
	model.wmm[r] += miss * miss / (spread + 1 / w) - p->late.wm[r] * p->late.wm[r] / w;
	return family->split(&model, r, &p->both, &p->early, range, least, ret_fit) -
	       0.5 * log1p(w * spread);
}

static int nr_parts(const struct fb_search *s)
{
	return s->model.family->nr_parts - s->model.family->nr_raw;
}

static double log_pairs(const struct fb_search *s)
{
	return log(s->nr_alive) + log(s->nr_alive - 1.0) - M_LN2;
}

/* log of the average likelihood of all pairs, those left out that no image tells apart. */
double fb_two_steps_evidence(const struct fb_search *s)
{
	double best = -INFINITY, sum = 0;

	for (uint32_t k = 0; k < s->nr_cluster; k++) {
		for (uint32_t l = k + 1; l < s->nr_cluster; l++) {
			double size = (double)s->cluster[k].size * s->cluster[l].size;
			double least = sum > 0 ? best + log(sum / size) - LITTLE : -INFINITY;
			struct pair p;

			if (!make_pair(s, k, l, &p))
				continue;
			for (int r = 0; r < nr_parts(s); r++) {
				double lik = pair_likelihood(s, &p, r, least, NULL);

				if (!(lik > least))
					continue;
				if (lik > best) {
					sum *= exp(best - lik);
					best = lik;
				}
				sum += size * exp(lik - best);
			}
		}
	}
	return sum > 0 ? best + log(sum) - log_pairs(s) : -INFINITY;
}

/* --- where they are ------------------------------------------------------------------------- */

/* What the classes of each cluster are; a class lies in one cluster. */
static void look_at_classes(const struct fb_search *s)
{
	struct fb_steps *t = s->steps;

	memset(t->class_size, 0, s->nr_cand * sizeof(*t->class_size));
	memset(t->room, 0, s->nr_cluster * sizeof(*t->room));
	for (uint32_t c = 0; c < s->nr_cand; c++) {
		uint32_t size, k = s->cluster_of[c];

		if (s->dead[c])
			continue;
		size = ++t->class_size[s->class_of[c]];
		if (size > t->room[k])
			t->room[k] = size;
	}
	for (uint32_t k = 0; k < s->nr_cluster; k++)
		t->inside[k] = 0;
	for (uint32_t c = 0; c < s->nr_cand; c++)
		if (!s->dead[c] && t->class_size[s->class_of[c]] > 1)
			t->inside[s->cluster_of[c]] += log2(t->class_size[s->class_of[c]]) /
						       s->cluster[s->cluster_of[c]].size;
}

/* What is known of the pairs, and the best one; of one step, too, which it may be yet. */
struct where {
	uint32_t step[2];
	double joint;	/* posterior of the two classes of .step */
	double most;	/* likelihood of the best pair */
	double entropy; /* of all, in bits; classes are one, for nothing can tell more */
	double effect[2];
	struct level old;
	double part[FB_MODEL_PARTS]; /* posterior */
	struct fb_model_fit fit[FB_MODEL_PARTS];
};

static void add_level(struct level *level, int r, double weight, double mean)
{
	level->part[r].mean += weight * mean;
	level->part[r].square += weight * mean * mean;
}

/* Adds the pair @p with posterior @weight for each of its pairs of candidates, for part @r. */
static void add_pair(struct fb_search *s, const struct pair *p, int r, double weight,
		     const double mean[3], struct where *w)
{
	double pairs = (double)s->cluster[p->step[0]].size * s->cluster[p->step[1]].size;
	struct fb_steps *t = s->steps;

	for (int i = 0; i < 2; i++) {
		uint32_t k = p->step[i];
		double each = weight * s->cluster[p->step[!i]].size;
		double up = mean[i + 1] - mean[i];

		t->mass[i][k] += each * s->cluster[k].size;
		t->of_cluster[k].part[r].mean += each * up;
		t->of_cluster[k].part[r].square += each * up * (mean[i + 1] + mean[i]);
	}
	for (size_t i = 0; pairs * weight > IN_QUESTION && i < s->nr_image; i++) {
		bool early = fb_reached(s, s->cluster[p->step[0]].first, i);
		bool late = fb_reached(s, s->cluster[p->step[1]].first, i);

		add_level(&s->image[i].level, r, pairs * weight,
			  !late ? mean[early] : mean[2] - (early ? 0 : mean[1] - mean[0]));
	}
	w->part[r] += pairs * weight;
	add_level(&w->old, r, pairs * weight, mean[0]);
	w->entropy -=
		pairs * weight * (log2(weight) + t->inside[p->step[0]] + t->inside[p->step[1]]);
}

/* The same for one step. */
static void add_one_step(struct fb_search *s, uint32_t k, int r, double origin, struct where *w)
{
	const struct cluster *cl = &s->cluster[k];
	double weight = cl->part[r], old, new;

	if (!(weight * cl->size > IN_QUESTION))
		return;
	new = cl->new.wm[r] / cl->new.w[r] - origin;
	old = (s->model.all.wm[r] - cl->new.wm[r]) / (s->model.all.w[r] - cl->new.w[r]) - origin;
	s->steps->of_cluster[k].part[r].mean += weight * (new - old);
	s->steps->of_cluster[k].part[r].square += weight * (new *new - old *old);
	for (size_t i = 0; i < s->nr_image; i++)
		add_level(&s->image[i].level, r, weight * cl->size,
			  fb_reached(s, cl->first, i) ? new : old);
	w->part[r] += weight * cl->size;
	add_level(&w->old, r, weight * cl->size, old);
	w->entropy -= weight * cl->size * (log2(weight) + s->steps->inside[k]);
}

/* Fills what s->steps has for each cluster. */
static struct where find_steps(struct fb_search *s)
{
	struct fb_steps *t = s->steps;
	struct where w = {.most = -INFINITY, .entropy = 0};
	double most[FB_MODEL_PARTS];
	double total = s->state->two_evidence + log_pairs(s) - log(s->state->two);
	double origin = s->state->fit.mean_old;

	for (int r = 0; r < nr_parts(s); r++)
		most[r] = -INFINITY;
	look_at_classes(s);
	for (size_t i = 0; i < s->nr_image; i++)
		s->image[i].level = (struct level){0};
	memset(t->of_cluster, 0, (s->nr_cluster + (size_t)1) * sizeof(*t->of_cluster));
	for (int i = 0; i < 2; i++)
		memset(t->mass[i], 0, s->nr_cluster * sizeof(*t->mass[i]));
	for (uint32_t k = 0; k < s->nr_cluster; k++) {
		for (uint32_t l = k + 1; l < s->nr_cluster; l++) {
			double joint = 0;
			struct pair p;

			if (!make_pair(s, k, l, &p))
				continue;
			for (int r = 0; r < nr_parts(s); r++) {
				struct fb_model_fit fit;
				double mean[3], weight;
				double lik = pair_likelihood(s, &p, r, total - FB_NEGLIGIBLE, &fit);

				if (!(lik > total - FB_NEGLIGIBLE))
					continue;
				weight = exp(lik - total);
				mean[0] = fit.mean_old - origin;
				mean[1] = p.early.wm[r] / p.early.w[r] - origin;
				mean[2] = fit.mean_new - origin;
				add_pair(s, &p, r, weight, mean, &w);
				joint += weight * t->room[k] * t->room[l];
				if (lik > most[r]) {
					most[r] = lik;
					w.fit[r] = fit;
				}
				if (lik > w.most) {
					w.most = lik;
					w.effect[0] = mean[1] - mean[0];
					w.effect[1] = mean[2] - mean[1];
				}
			}
			if (joint > w.joint) {
				w.joint = joint;
				w.step[0] = p.step[0];
				w.step[1] = p.step[1];
			}
		}
		for (int r = 0; r < nr_parts(s); r++)
			add_one_step(s, k, r, origin, &w);
	}
	return w;
}

/*
 * What boots of @node tell about where the steps are, by the variance that their mean has over
 * all pairs (and over one step), as the information of a normal channel. An image that had boots
 * keeps its own mean as far as images have effects.
 * @up: what the steps add to the level of the old side, when @node was not booted yet. (That is
 * not exact where an image may have the late step only.)
 */
static double bits_of(const struct fb_search *s, const struct where *w, double origin,
		      uint32_t node, const struct level *up)
{
	bool booted = s->node[node].nr || s->node[node].next != node;
	const struct image *im = booted ? fb_find_image(s, node) : NULL;
	double n = im ? (double)im->sum.nr : 0, own = im ? im->sum.mean - origin : 0;
	double all = 0, mean = 0, square = 0, noise = 0, var;

	for (int r = 0; r < nr_parts(s); r++) {
		double rho = w->fit[r].rho, keep = n * rho, share = 1 / (1 + keep),
		       part = w->part[r];
		double m = im ? im->level.part[r].mean : w->old.part[r].mean + up->part[r].mean;
		double sq =
			im ? im->level.part[r].square : w->old.part[r].square + up->part[r].square;
		/* Rates: the noise of a boot is at most this. */
		double sigma = s->model.family->rates ? 0.5 : w->fit[r].sigma;

		if (!(part > 0))
			continue;
		all += part;
		mean += share * (m + keep * own * part);
		square +=
			share * share * (sq + 2 * keep * own * m + keep * own * keep * own * part);
		noise += part * sigma * sigma * (1.0 / s->params.batch + rho * share);
	}
	mean /= all;
	var = square / all - mean * mean;
	return var > 0 ? 0.5 * log2(1 + var / (noise / all)) : 0;
}

static bool ask_where(struct fb_search *s, const struct where *w)
{
	double best_score = 0, best_bits = 0, batch = s->params.batch;
	uint32_t best = FB_NO_NODE, good = s->state->good_end;
	double origin = s->state->fit.mean_old;
	const struct level none = {0};

	fb_reach_sum(s->ancestors, s->cluster_of, &s->steps->of_cluster->part[0].mean, LEVEL_WIDTH,
		     &s->steps->of->part[0].mean);
	/* The good end is no candidate. */
	for (uint32_t c = 0; c <= s->nr_cand; c++) {
		uint32_t node = c < s->nr_cand ? s->cand[c] : good;
		double bits, score;

		if (!fb_boots_allowed(s, node))
			continue;
		bits = bits_of(s, w, origin, node, c < s->nr_cand ? &s->steps->of[c] : &none);
		score = bits / (batch + s->node[node].cost);
		if (score > best_score * (1 + 1e-9)) {
			best_score = score;
			best_bits = bits;
			best = node;
		}
	}
	if (best == FB_NO_NODE || w->entropy * batch > best_bits * FB_HOPELESS_BOOTS)
		return false;
	return fb_ask(s, best, s->params.batch,
		      best == good ? FB_SEARCH_WHY_END : FB_SEARCH_WHY_STEP);
}

/* One boot convicts nobody: asks for an image with one that alone tells a step from another. */
static bool ask_lone_boot_of_steps(struct fb_search *s, const struct where *w)
{
	for (size_t i = 0; i < s->nr_image; i++) {
		const struct image *im = &s->image[i];

		for (uint32_t k = 0; im->sum.nr == 1 && k < s->nr_cluster; k++)
			for (int j = 0; j < 2; j++)
				if ((s->cluster[k].reached_by ^ fb_image_hash(s, im)) ==
					    s->cluster[w->step[j]].reached_by &&
				    fb_ask(s, im->root, s->params.batch, FB_SEARCH_WHY_STEP))
					return true;
	}
	return false;
}

/* --- the verdict ---------------------------------------------------------------------------- */

/* The @i-th step's candidates: the largest class of cluster @k, or all that hold the confidence. */
static void list_step(struct fb_search *s, const struct where *w, int i, bool found)
{
	struct fb_steps *t = s->steps;
	struct step *step = &s->state->step_of[i];
	double have = 0;

	step->effect = w->effect[i];
	step->first = i ? s->state->step_of[0].first + s->state->step_of[0].nr : 0;
	step->nr = 0;
	for (uint32_t k = 0; k < s->nr_cluster; k++) {
		t->rank[k] = (struct rank){t->mass[i][k] / s->cluster[k].size, k};
		t->mark[k] = 0;
	}
	qsort(t->rank, s->nr_cluster, sizeof(*t->rank), fb_compare_ranks);
	for (uint32_t k = 0; k < s->nr_cluster && have < s->params.confidence * s->state->two;
	     k++) {
		t->mark[t->rank[k].cluster] = 1;
		have += t->mass[i][t->rank[k].cluster];
	}
	for (uint32_t c = 0; c < s->nr_cand; c++) {
		uint32_t k = s->cluster_of[c];

		if (s->dead[c])
			continue;
		if (found ? k == w->step[i] && t->class_size[s->class_of[c]] == t->room[k]
			  : t->mark[k])
			t->found[step->first + step->nr++] = s->cand[c];
	}
}

static void list_steps(struct fb_search *s, const struct where *w, bool found)
{
	s->state->nr_steps = 2;
	s->state->steps_found = found;
	for (int i = 0; i < 2; i++)
		list_step(s, w, i, found);
	s->state->nr_nodes = s->state->step_of[0].nr + s->state->step_of[1].nr;
}

const uint32_t *fb_step_nodes(const struct fb_search *s, int i)
{
	return s->steps->found + s->state->step_of[i].first;
}

void fb_list_likely_steps(struct fb_search *s)
{
	struct where w = find_steps(s);

	list_steps(s, &w, false);
}

bool fb_search_steps(struct fb_search *s)
{
	struct state *st = s->state;
	struct where w = find_steps(s);
	double found = w.joint;

	if (found < s->params.confidence) {
		if (ask_where(s, &w))
			return true;
		if (st->other < s->params.confidence)
			return false;
	} else if (ask_lone_boot_of_steps(s, &w)) {
		return true;
	}
	list_steps(s, &w, found >= s->params.confidence);
	fb_conclude(s, FB_VERDICT_OTHER, found >= s->params.confidence ? found : st->other);
	return true;
}
