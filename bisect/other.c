/* SPDX-License-Identifier: GPL-2.0-or-later */
/* "Something else" than one step: the evidence for it, and the images that make it. */
#include "bisect/search-impl.h"

#include <math.h>

#include "bisect/stats.h"

/* So many nats below the evidence for one step nothing else counts. */
#define OUT_OF_QUESTION 15.0
/* All levels different, of the prior of "something else". */
#define SHARE_OF_OWN 0.25

enum side { SIDE_OLD, SIDE_NEW, SIDE_LEVEL, NR_SIDES };

static bool image_is_between(const struct fb_search *s, const struct image *im)
{
	return im->candidate != FB_NO_NODE && im->root != fb_image_of(s, s->bad);
}

/* Sides of all images under the step of cluster @k, into .side. */
static void set_sides(struct fb_search *s, uint32_t k)
{
	for (size_t i = 0; i < s->nr_image; i++)
		s->image[i].side = fb_reached(s, s->cluster[k].first, i) ? SIDE_NEW : SIDE_OLD;
}

struct assignment {
	struct fb_model_sums sums[NR_SIDES];
	size_t nr[NR_SIDES]; /* images */
};

static void move(const struct fb_search *s, struct assignment *a, const struct image *im, int sign)
{
	fb_model_sums_add(&s->model, &a->sums[im->side], &im->sum, sign);
	a->nr[im->side] += (size_t)sign;
	if (!a->nr[im->side]) /* so that 0 stays 0 */
		a->sums[im->side] = (struct fb_model_sums){{0}, {0}};
}

/* The assignment in .side. */
static struct assignment assign(const struct fb_search *s)
{
	struct assignment a = {{{{0}, {0}}}, {0}};

	for (size_t i = 0; i < s->nr_image; i++)
		move(s, &a, &s->image[i], 1);
	return a;
}

/* Would one step give the assignment whose new side has this hash? */
static bool is_step(const struct fb_search *s, uint64_t new)
{
	for (uint32_t k = 0; k < s->nr_cluster; k++)
		if (s->cluster[k].reached_by == new)
			return true;
	return false;
}

/*
 * Changes the side of one image so that the likelihood gets better than *@lik, and the
 * assignment is none that one step gives. False when there is no such image.
 * @ret_gain: what all images would add that are better elsewhere, if that added up.
 */
static bool improve_assignment(struct fb_search *s, double range, double *lik, double *ret_gain)
{
	struct assignment now = assign(s), without, with;
	double from = fb_model_split_or_level(&s->model, &now.sums[SIDE_NEW], &now.sums[SIDE_LEVEL],
					      range);
	struct image *best = NULL;
	unsigned char best_side = 0;
	uint64_t new = 0;

	*ret_gain = 0;
	for (size_t i = 0; i < s->nr_image; i++)
		if (s->image[i].side == SIDE_NEW)
			new ^= fb_image_hash(s, &s->image[i]);
	for (size_t i = 0; i < s->nr_image; i++) {
		struct image *im = &s->image[i];
		unsigned char was = im->side;
		double most = from;

		if (!image_is_between(s, im))
			continue;
		without = now;
		move(s, &without, im, -1);
		for (unsigned char side = 0; side < NR_SIDES; side++) {
			double l;

			im->side = side;
			if (side == was)
				continue;
			with = without;
			move(s, &with, im, 1);
			l = fb_model_split_or_level(&s->model, &with.sums[SIDE_NEW],
						    &with.sums[SIDE_LEVEL], range);
			most = fmax(most, l);
			if (l > *lik + 1e-9 &&
			    (with.nr[SIDE_LEVEL] ||
			     !is_step(s, (was == SIDE_NEW) == (side == SIDE_NEW)
						 ? new
						 : new ^ fb_image_hash(s, im)))) {
				*lik = l;
				best = im;
				best_side = side;
			}
		}
		*ret_gain += most - from;
		im->side = was;
	}
	if (best)
		best->side = best_side;
	return best;
}

/*
 * Evidence for any levels whatever: each image between the ends is old, new, or on one more
 * level, independently of the graph, a third each. Of these assignments only those count
 * that no single step gives; their sum is bounded from below by its best term, found by
 * changing one image at a time from the best step. .side holds that assignment afterwards.
 */
static double any_evidence(struct fb_search *s, double step, double log_prior)
{
	double lik = -INFINITY, range = s->state->level_range, gain;

	/* Each pass is the best single change; as many as there are images is ample. */
	for (size_t pass = 0; pass <= s->nr_image; pass++)
		if (!improve_assignment(s, range, &lik, &gain) ||
		    lik + 2 * gain + log_prior < step - OUT_OF_QUESTION)
			break;
	return lik + log_prior;
}

/*
 * Evidence for levels that are all different: several steps, a slope, or images that differ by
 * much more than boots do. As in fb_family_normal with one group only, for some ratios of image
 * variance to boot variance beyond those that it has beside a step.
 */
static double own_levels_evidence(const struct fb_search *s)
{
	static const double ratio[] = {16, 1e3, 1e5};
	const struct fb_model *model = &s->model;
	double shape = model->shape + ((double)model->nr_boots - 1) / 2, sum = -INFINITY;

	for (size_t r = 0; r < sizeof(ratio) / sizeof(*ratio); r++) {
		double w = 0, wm = 0, wmm = 0, lik = 0, rss;

		for (size_t i = 0; i < s->nr_image; i++) {
			const struct fb_model_image *im = &s->image[i].sum;
			double det = 1 + (double)im->nr * ratio[r], weight = (double)im->nr / det;

			w += weight;
			wm += weight * im->mean;
			wmm += weight * im->mean * im->mean;
			lik -= 0.5 * log(det);
		}
		rss = fmax(model->within + wmm - wm * wm / w, 0);
		/* cppcheck-suppress invalidFunctionArg; there are images */
		lik += lgamma(shape) - shape * log(model->rate + rss / 2) - 0.5 * log(2 * M_PI * w);
		sum = fb_stats_logsum(sum, lik);
	}
	return sum - log(sizeof(ratio) / sizeof(*ratio));
}

/*
 * Evidence for "something else": two steps, all levels different, or any levels. As long as nothing
 * between the ends was measured nothing speaks for or against.
 */
double fb_other_evidence(struct fb_search *s, uint32_t best, double step)
{
	double log_prior = 0, sum;

	s->state->level_range = fmax(3 * fabs(s->state->fit.shift), s->min_shift);
	s->state->two_evidence = -INFINITY;
	set_sides(s, best);
	for (size_t i = 0; i < s->nr_image; i++)
		if (image_is_between(s, &s->image[i]))
			log_prior -= log(NR_SIDES);
	if (log_prior == 0)
		return step;
	if (s->nr_alive > 1)
		s->state->two_evidence = fb_two_steps_evidence(s);
	sum = fb_stats_logsum(log1p(-FB_SHARE_OF_TWO - SHARE_OF_OWN) +
				      any_evidence(s, step, log_prior),
			      log(FB_SHARE_OF_TWO) + s->state->two_evidence);
	if (s->model.family == &fb_family_normal)
		sum = fb_stats_logsum(sum, log(SHARE_OF_OWN) + own_levels_evidence(s));
	return sum;
}

/*
 * Asks for the image that does not fit the best step, the one with the fewest boots.
 * @least: only one with fewer boots than this.
 */
bool fb_ask_misfit(struct fb_search *s, uint32_t best, size_t least)
{
	uint32_t node = FB_NO_NODE;
	size_t fewest = least;

	for (size_t i = 0; i < s->nr_image; i++) {
		const struct image *im = &s->image[i];

		if (im->side == (fb_reached(s, s->cluster[best].first, i) ? SIDE_NEW : SIDE_OLD))
			continue;
		if (im->sum.nr < fewest && fb_bootable_node(s, im->root) != FB_NO_NODE) {
			fewest = im->sum.nr;
			node = im->root;
		}
	}
	return node != FB_NO_NODE && fb_ask(s, node, s->params.batch, FB_SEARCH_WHY_STEP);
}
