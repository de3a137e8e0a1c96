/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The likelihoods by the parts that need all boots one by one: noise that is not normal.
 *
 * They are dear, and most steps are far behind the best one. So first the best step of each
 * such part is found; its estimates say what it would cost about to move the images of
 * another step to the other side, and only the steps that come near are worked out.
 */
#include "bisect/search-impl.h"

#include <math.h>
#include <string.h>

#include "bisect/stats.h"

/* A part whose best step is so many nats behind does not matter. */
#define NOT_SHOWN 8.0
/* Nor does a step that is so many nats behind within its part, about. */
#define OUT_OF_REACH 12.0
/* The best step is found in two or three tries, by far for the most part. */
#define MAX_TRIES 8

struct fb_model_values fb_values_of(struct fb_search *s, uint32_t k)
{
	size_t nr = 0;

	for (size_t i = 0; i < s->nr_image; i++) {
		memset(s->new + nr, fb_reached(s, s->cluster[k].first, i), s->image[i].sum.nr);
		nr += s->image[i].sum.nr;
	}
	return (struct fb_model_values){nr, s->sorted, s->new};
}

/*
 * Works out the part @r of cluster @k, and what each image would gain on the other side.
 * @near: the fit for another cluster, or NULL.
 */
static double work_out(struct fb_search *s, int r, uint32_t k, const struct fb_model_fit *near,
		       bool ratios, struct fb_model_fit *ret_fit)
{
	struct fb_model_values values = fb_values_of(s, k);
	struct fb_model_fit start;
	size_t at = 0;
	double lik;

	if (!near) {
		s->model.family->split(&s->model, 0, &s->cluster[k].new, NULL, 0, -INFINITY,
				       &start);
		near = &start;
	}
	lik = s->model.family->split_raw(&s->model, r, &values, near, ret_fit,
					 ratios ? s->ratio : NULL);
	for (size_t i = 0; ratios && i < s->nr_image; i++) {
		s->image[i].ratio = 0;
		for (size_t b = 0; b < s->image[i].sum.nr; b++)
			s->image[i].ratio += s->ratio[at++];
	}
	return lik;
}

/*
 * About how the likelihood of cluster @k differs from that of @base, when the images that
 * change sides bring the mean of the side that they come to with them.
 */
static double about(const struct fb_search *s, uint32_t k, uint32_t base)
{
	double moved[2] = {0, 0}, boots[2] = {0, 0}, nr[2] = {0, 0}, sum = 0;

	for (size_t i = 0; i < s->nr_image; i++) {
		const struct image *im = &s->image[i];
		bool to = fb_reached(s, s->cluster[k].first, i);
		bool from = fb_reached(s, s->cluster[base].first, i);

		nr[from] += (double)im->sum.nr;
		if (to == from)
			continue;
		moved[to] += to ? im->ratio : -im->ratio;
		boots[to] += (double)im->sum.nr;
	}
	for (int side = 0; side < 2; side++)
		if (boots[side] > 0)
			sum += moved[side] < 0 ? moved[side] * nr[side] / (nr[side] + boots[side])
					       : moved[side];
	return sum;
}

static void add_part(struct fb_search *s, int r, uint32_t base, double best_of_all)
{
	struct fb_model_fit near, fit;
	double lik = work_out(s, r, base, NULL, true, &near);

	if (isinf(lik)) /* there are no ratios either */
		return;
	for (int try = 1; try < MAX_TRIES; try++) {
		double l, most = 0;
		uint32_t best = base;

		for (uint32_t k = 0; k < s->nr_cluster; k++) {
			double d = about(s, k, base);

			if (d > most) {
				most = d;
				best = k;
			}
		}
		if (best == base)
			break;
		l = work_out(s, r, best, NULL, true, &fit);
		if (!(l > lik)) {
			/* Not better, though it seemed so: back, for the ratios. */
			lik = work_out(s, r, base, NULL, true, &near);
			break;
		}
		lik = l;
		base = best;
		near = fit;
	}
	if (!(lik > best_of_all - NOT_SHOWN))
		return;
	for (uint32_t k = 0; k < s->nr_cluster; k++) {
		struct cluster *cl = &s->cluster[k];

		if (k == base)
			cl->part[r] = lik;
		else if (about(s, k, base) > -OUT_OF_REACH)
			cl->part[r] = work_out(s, r, k, &near, false, &fit);
		else
			continue;
		cl->log_lik = fb_stats_logsum(cl->log_lik, cl->part[r]);
	}
}

void fb_add_raw_parts(struct fb_search *s)
{
	const struct fb_family *family = s->model.family;
	uint32_t base;
	double best;

	if (!family->nr_raw)
		return;
	base = fb_best_cluster(s);
	best = s->cluster[base].log_lik;
	for (int r = family->nr_parts - family->nr_raw; r < family->nr_parts; r++)
		add_part(s, r, base, best);
}
