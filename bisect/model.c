/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sums over images, and likelihoods as sums of a family's parts. */
#include "bisect/model.h"

#include <math.h>
#include <string.h>

#include "bisect/stats.h"

void fb_model_init(struct fb_model *model, const struct fb_family *family, double min_effect,
		   int direction, const double rate[2])
{
	memset(model, 0, sizeof(*model));
	model->family = family;
	model->direction = direction;
	family->init(model, min_effect, rate);
	fb_model_clear(model);
}

int fb_model_by_sums(const struct fb_model *model)
{
	return model->family->nr_parts - model->family->nr_raw;
}

void fb_model_clear(struct fb_model *model)
{
	model->nr_boots = 0;
	model->within = 0;
	memset(&model->all, 0, sizeof(model->all));
	for (int r = 0; r < model->family->nr_parts; r++) {
		model->log_prior[r] = model->family->log_prior(r);
		model->wmm[r] = 0;
	}
}

void fb_model_add(struct fb_model *model, const struct fb_model_image *image, int sign)
{
	if (sign > 0)
		model->nr_boots += image->nr;
	else
		model->nr_boots -= image->nr;
	model->within += sign * image->ss;
	fb_model_sums_add(model, &model->all, image, sign);
	for (int r = 0; r < fb_model_by_sums(model); r++) {
		double w = sign * model->family->weight(image->nr, r);

		model->wmm[r] += w * image->mean * image->mean;
		model->log_prior[r] += sign * model->family->image_term(image->nr, r);
	}
}

void fb_model_sums_add(const struct fb_model *model, struct fb_model_sums *sums,
		       const struct fb_model_image *image, int sign)
{
	for (int r = 0; r < fb_model_by_sums(model); r++) {
		double w = sign * model->family->weight(image->nr, r);

		sums->w[r] += w;
		sums->wm[r] += w * image->mean;
	}
}

double fb_model_split(const struct fb_model *model, const struct fb_model_sums *new, double least,
		      double ret_lik[FB_MODEL_PARTS])
{
	const struct fb_family *family = model->family;
	double sum = -INFINITY;

	for (int r = 0; r < family->nr_parts; r++) {
		double l = -INFINITY;

		if (r < fb_model_by_sums(model))
			l = family->split(model, r, new, NULL, 0, least, NULL);
		if (ret_lik)
			ret_lik[r] = l;
		sum = fb_stats_logsum(sum, l);
	}
	return sum;
}

void fb_model_fit(const struct fb_model *model, const struct fb_model_sums *new,
		  const struct fb_model_values *values, struct fb_model_fit ret[FB_MODEL_PARTS])
{
	const struct fb_family *family = model->family;

	for (int r = 0; r < family->nr_parts; r++) {
		ret[r] = (struct fb_model_fit){0};
		if (r < fb_model_by_sums(model))
			family->split(model, r, new, NULL, 0, -INFINITY, &ret[r]);
		else
			family->split_raw(model, r, values, &ret[0], &ret[r], NULL);
	}
}

double fb_model_split_or_level(const struct fb_model *model, const struct fb_model_sums *new,
			       const struct fb_model_sums *level, double range)
{
	double sum = -INFINITY;

	for (int r = 0; r < fb_model_by_sums(model); r++)
		sum = fb_stats_logsum(
			sum, model->family->split(model, r, new, level, range, -INFINITY, NULL));
	return sum;
}

double fb_model_same(const struct fb_model *model)
{
	double sum = -INFINITY;

	for (int r = 0; r < fb_model_by_sums(model); r++)
		sum = fb_stats_logsum(sum, model->family->same(model, r));
	return sum;
}
