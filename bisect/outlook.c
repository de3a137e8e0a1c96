/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What one more boot would tell about the step, with nothing taken for known: under each step
 * that is left the boot has a predictive distribution of its own, and the information is the
 * entropy of their mixture less their mean entropy.
 *
 * Dearer than what choose.c ranks all nodes by, so it is asked about a few of them only. Saves
 * 3 to 4 % of the boots where the sides overlap (a shift of one or two sigma).
 *
 * Source: D. Lindley, "On a measure of the information provided by an experiment", Annals of
 * Mathematical Statistics 27 (1956); the predictive distribution of the normal model is
 * Student's t: O'Hagan and Forster (2004), chapter 11.
 */
#include "bisect/search-impl.h"

#include <math.h>
#include <string.h>

#define MARGIN	    4.5	 /* the grid goes on so many scales beyond the outermost means */
#define SPACING	    0.6	 /* at most, in scales: the rectangle rule is exact to 1e-4 then */
#define LEAST_MASS  1e-3 /* steps with less are left out */
#define LEAST_SHARE 1e-3 /* and parts */

/* Makes .step the steps with the largest posteriors, together 1. */
static void pick_steps(struct fb_search *s, struct outlook *o)
{
	double total = 0;

	o->nr = 0;
	for (uint32_t k = 0; k < s->nr_cluster; k++) {
		double mass = s->cluster[k].weight * s->cluster[k].size;
		int at;

		if (mass < LEAST_MASS ||
		    (o->nr == FB_OUTLOOK_STEPS && mass <= o->step[o->nr - 1].mass))
			continue;
		if (o->nr < FB_OUTLOOK_STEPS)
			o->nr++;
		for (at = o->nr - 1; at > 0 && o->step[at - 1].mass < mass; at--)
			o->step[at] = o->step[at - 1];
		o->step[at].cluster = k;
		o->step[at].mass = mass;
	}
	for (int i = 0; i < o->nr; i++)
		total += o->step[i].mass;
	for (int i = 0; i < o->nr; i++)
		o->step[i].mass /= total;
}

/* Entropy of a density on the grid, in bits. */
static double entropy(const struct outlook *o, const double *density)
{
	double sum = 0;

	for (int i = 0; i < FB_OUTLOOK_GRID; i++)
		if (density[i] > 0)
			sum -= density[i] * log2(density[i]);
	return sum * o->spacing;
}

/* All have the same degrees of freedom: the boots are the same. */
static void make_table(struct outlook *o, double df)
{
	for (int i = 0; i < FB_OUTLOOK_T; i++) {
		double z = (double)i / FB_OUTLOOK_FINE;

		o->t[i] = exp(-(df + 1) / 2 * log1p(z * z / df));
	}
	/* The rest is far beyond what matters. */
	o->t[FB_OUTLOOK_T] = o->t[FB_OUTLOOK_T + 1] = 0;
}

/* Adds @share of Student's t, made to add up to 1 on the grid. */
static void add_t(const struct outlook *o, double share, double mean, double scale, double *density)
{
	double at = (o->from - mean) / scale * FB_OUTLOOK_FINE;
	double step = o->spacing / scale * FB_OUTLOOK_FINE;
	double t[FB_OUTLOOK_GRID], sum = 0;

	for (int i = 0; i < FB_OUTLOOK_GRID; i++) {
		double x = fmin(fabs(at + i * step), FB_OUTLOOK_T);
		int k = (int)x;

		sum += t[i] = o->t[k] + (x - k) * (o->t[k + 1] - o->t[k]);
	}
	for (int i = 0; i < FB_OUTLOOK_GRID; i++)
		density[i] += share / (sum * o->spacing) * t[i];
}

/*
 * The boots of a step of an image with the boots @had, or NULL for a new one, on either side
 * of the @i-th step: how much images differ is not known, so that is a mixture.
 */
static void fill(const struct outlook *o, int i, const struct fb_model_image *had,
		 struct outlook_side side[2])
{
	const struct outlook_step *step = &o->step[i];

	memset(side, 0, 2 * sizeof(*side));
	for (int r = 0; r < o->nr_parts; r++) {
		const struct fb_model_fit *f = &step->fit[r];
		double nr = had ? (double)had->nr : 0, own = nr * f->rho / (1 + nr * f->rho);
		double rest = 1 / o->boots + f->rho / (1 + nr * f->rho),
		       sigma = f->sigma * o->widen;

		if (step->share[r] < LEAST_SHARE)
			continue;
		for (int new = 0; new < 2; new ++) {
			double mean = new ? f->mean_new : f->mean_old;
			double w = new ? f->w_new : f->w_old;

			add_t(o, step->share[r], mean + (had ? own * (had->mean - mean) : 0),
			      sigma * sqrt(rest + (1 - own) * (1 - own) / w), side[new].density);
		}
	}
	for (int new = 0; new < 2; new ++)
		side[new].entropy = entropy(o, side[new].density);
}

/* What is known of the parts under the steps. False when there is none. */
static bool fit_steps(struct fb_search *s, struct outlook *o)
{
	o->nr_parts = fb_model_by_sums(&s->model);
	o->images_differ = false;
	for (int i = 0; i < o->nr; i++) {
		struct outlook_step *step = &o->step[i];
		const struct cluster *cl = &s->cluster[step->cluster];
		double sum = 0;

		for (int r = 0; r < o->nr_parts; r++)
			sum += cl->part[r];
		for (int r = 0; r < o->nr_parts; r++) {
			/* All of them may be nothing beside noise of another shape. */
			step->share[r] = sum > 0 ? cl->part[r] / sum : r == 0;
			s->model.family->split(&s->model, r, &cl->new, NULL, 0, -INFINITY,
					       &step->fit[r]);
			if (step->share[r] >= LEAST_SHARE && step->fit[r].rho > 0)
				o->images_differ = true;
		}
	}
	return o->nr > 0;
}

bool fb_outlook_make(struct fb_search *s, struct outlook *o)
{
	double lo = INFINITY, hi = -INFINITY, scale = INFINITY;
	int part = 0;

	pick_steps(s, o);
	o->boots = s->params.batch;
	if (!fit_steps(s, o))
		return false;
	for (int r = 1; r < s->model.family->nr_parts; r++)
		if (s->state->part_weight[r] > s->state->part_weight[part])
			part = r;
	/* The means are near enough; the width is that of the noise which was found. */
	o->widen =
		part < o->nr_parts ? 1 : s->state->fit_of[part].sigma / s->state->fit_of[0].sigma;
	for (int i = 0; i < o->nr; i++)
		for (int r = 0; r < o->nr_parts; r++) {
			const struct fb_model_fit *f = &o->step[i].fit[r];
			double width = f->sigma * o->widen * sqrt(1 / o->boots + f->rho);

			if (o->step[i].share[r] < LEAST_SHARE)
				continue;
			lo = fmin(lo, fmin(f->mean_old, f->mean_new) - MARGIN * width);
			hi = fmax(hi, fmax(f->mean_old, f->mean_new) + MARGIN * width);
			scale = fmin(scale, width);
		}
	o->from = lo;
	o->spacing = (hi - lo) / (FB_OUTLOOK_GRID - 1);
	if (!(o->spacing < SPACING * scale))
		return false;
	make_table(o, o->step[0].fit[0].df);
	for (int i = 0; i < o->nr; i++)
		fill(o, i, NULL, o->step[i].side);
	return true;
}

double fb_outlook_bits(struct fb_search *s, const struct outlook *o, uint32_t node)
{
	const struct image *im = o->images_differ ? fb_find_image(s, node) : NULL;
	uint32_t candidate = s->index[node];
	double mixture[FB_OUTLOOK_GRID] = {0}, rest = 0;

	if (candidate != FB_NO_NODE) {
		memset(s->mark, 0, s->nr_cand);
		memset(s->count, 0, s->nr_cluster * sizeof(*s->count));
		fb_mark_ancestors(s, candidate, 1);
		for (uint32_t c = 0; c <= candidate; c++)
			if (s->mark[c] && !s->dead[c])
				s->count[s->cluster_of[c]]++;
	}
	for (int i = 0; i < o->nr; i++) {
		const struct outlook_step *step = &o->step[i];
		struct outlook_side own[2];
		const struct outlook_side *side = step->side;
		double new = 0;

		if (im) {
			fill(o, i, &im->sum, own);
			side = own;
		}
		if (candidate != FB_NO_NODE)
			new = (double)s->count[step->cluster] / s->cluster[step->cluster].size;
		for (int n = 0; n < 2; n++) {
			double w = step->mass * (n ? new : 1 - new);

			if (!(w > 0))
				continue;
			rest += w * side[n].entropy;
			for (int g = 0; g < FB_OUTLOOK_GRID; g++)
				mixture[g] += w * side[n].density[g];
		}
	}
	return fmax(0, entropy(o, mixture) - rest);
}

double fb_outlook_surprise(const struct outlook *o, const struct image *im)
{
	const struct outlook_step *step = &o->step[0];
	double most = 0;

	for (int r = 0; o->images_differ && r < o->nr_parts; r++) {
		const struct fb_model_fit *f = &step->fit[r];
		double nr = (double)im->sum.nr, own = nr * f->rho / (1 + nr * f->rho);
		double off =
			fmin(fabs(im->sum.mean - f->mean_old), fabs(im->sum.mean - f->mean_new));

		if (step->share[r] >= LEAST_SHARE)
			most = fmax(most, own * off / f->sigma);
	}
	return most;
}
