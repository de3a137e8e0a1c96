/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One boot convicts nobody: the posterior when a boot may have nothing to do with its commit. */
#include "bisect/search-impl.h"

#include <math.h>
#include <string.h>

/*
 * Prior of a boot that has nothing to do with its commit (a hiccup of the host, the other
 * of two modes). So large that at 99 % no single boot can decide between two commits.
 */
#define PRIOR_OUTLIER 0.06

/*
 * The posterior of the class @leader when at most one boot may have nothing to do with
 * its commit. Such a boot comes from a wide Cauchy distribution about both sides, or looks
 * just like a boot of one of them.
 * @log_candidate: of a candidate's prior over the total, so that + likelihood = posterior.
 * @ret_image: the image with the boot that speaks most for other candidates if left out.
 */
double fb_robust_posterior(struct fb_search *s, uint32_t leader, double log_candidate,
			   size_t *ret_image)
{
	const struct fb_model_fit *fit = &s->state->fit;
	double log_odds = log(PRIOR_OUTLIER / (1 - PRIOR_OUTLIER));
	double lead = s->class_mass[leader], rest = 1 - lead, worst = -1;

	if (!s->model.family->log_stray)
		return lead;
	memset(s->count, 0, s->nr_cluster * sizeof(*s->count));
	for (uint32_t c = 0; c < s->nr_cand; c++)
		if (!s->dead[c] && s->class_of[c] == leader)
			s->count[s->cluster_of[c]]++;
	for (size_t i = 0; i < s->nr_image; i++) {
		const struct image *im = &s->image[i];
		double others = 0, n = (double)im->sum.nr;

		for (size_t j = im->first; j < im->first + im->sum.nr; j++) {
			double y = s->sorted[j], off = y - im->sum.mean;
			double log_out = log_odds + s->model.family->log_stray(fit, y);
			struct fb_model_image less = {im->sum.nr - 1, 0, 0};
			struct fb_model model = s->model;

			if (less.nr) {
				less.mean = im->sum.mean - off / (n - 1);
				less.ss = im->sum.ss - off * off * n / (n - 1);
				if (less.ss < 0)
					less.ss = 0;
			}
			fb_model_add(&model, &im->sum, -1);
			fb_model_add(&model, &less, 1);
			for (uint32_t k = 0; k < s->nr_cluster; k++) {
				struct cluster *cl = &s->cluster[k];
				struct fb_model_sums new = cl->new;
				double l;

				if (fb_reached(s, cl->first, i)) {
					fb_model_sums_add(&model, &new, &im->sum, -1);
					fb_model_sums_add(&model, &new, &less, 1);
				}
				l = fb_model_split(&model, &new,
						   -FB_NEGLIGIBLE - log_out - log_candidate, NULL,
						   NULL);
				l = exp(l + log_out + log_candidate);
				lead += l * s->count[k];
				rest += l * (cl->size - s->count[k]);
				others += l * (cl->size - s->count[k]);
			}
		}
		if (others > worst) {
			worst = others;
			*ret_image = i;
		}
	}
	return lead / (lead + rest);
}
