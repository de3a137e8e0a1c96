/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Two groups with heavy-tailed noise that may lean to one side. */
#include "bisect/tails.h"

#include <math.h>

/* So heavy that one boot, however far off, weighs little against a few others. */
#define FREEDOM 3.0
/* EM gains about a digit in two rounds; an error of 1e-3 is 1e-6 in the likelihood. */
#define MAX_ROUNDS 12
#define CONVERGED  1e-3
/* Curvature at the mode, as a share of its expectation, below which it is not believed. */
#define LEAST_CURVATURE 0.25

struct mode {
	double centre[2]; /* old, new */
	double scale_sq;
	double above, below; /* variance factors of the two halves */
};

static double factor(const struct mode *m, double off)
{
	return off > 0 ? m->above : m->below;
}

/* Less the constants. */
static double log_density(const struct mode *m, double off)
{
	return -(FREEDOM + 1) / 2 * log1p(off * off / (factor(m, off) * m->scale_sq * FREEDOM));
}

/* One round of EM. Returns how far the centres moved, in scales. */
static double improve(const struct fb_model_values *v, double shape, double rate, struct mode *m)
{
	double w[2] = {0, 0}, wx[2] = {0, 0}, sum = 0, squares = 0, moved = 0;

	for (size_t i = 0; i < v->nr; i++) {
		int g = v->new[i];
		double off = v->value[i] - m->centre[g], f = factor(m, off);
		double weight = (FREEDOM + 1) / (FREEDOM * f + off * off / m->scale_sq);

		w[g] += weight;
		wx[g] += weight * v->value[i];
		squares += weight * off * off;
		sum += weight * f;
	}
	for (int g = 0; g < 2; g++) {
		double to = wx[g] / w[g];

		moved += fabs(to - m->centre[g]);
		m->centre[g] = to;
	}
	/* At the mode the weights add up to the number of boots; dividing by them gets there
	 * sooner. */
	m->scale_sq = (2 * rate + squares) / (2 * shape + sum);
	return moved / sqrt(m->scale_sq);
}

static double at_least(double x, double least)
{
	return x > least ? x : least;
}

double fb_tails_split(const struct fb_model_values *v, double lean, double shape, double rate,
		      const struct fb_model_fit *start, struct fb_model_fit *ret_fit,
		      double *ret_ratio)
{
	struct mode m = {
		{start->mean_old, start->mean_new}, start->sigma * start->sigma, lean, 1 / lean};
	double n[2] = {0, 0}, curve[2] = {0, 0}, cross[2] = {0, 0}, curve_scale, left, info,
	       log_lik;
	double product = 1, nr = (double)v->nr;

	for (int round = 0; round < MAX_ROUNDS; round++)
		if (improve(v, shape, rate, &m) < CONVERGED)
			break;
	log_lik = nr * (lgamma((FREEDOM + 1) / 2) - lgamma(FREEDOM / 2) - 0.5 * log(FREEDOM / 2) +
			log(2 / (sqrt(m.above) + sqrt(m.below)))) -
		  (nr / 2 + shape) * log(m.scale_sq) - rate / m.scale_sq;
	curve_scale = rate / m.scale_sq;
	/* Second derivatives, the sign changed, by the centres and by log scale_sq. */
	for (size_t i = 0; i < v->nr; i++) {
		int g = v->new[i];
		double off = v->value[i] - m.centre[g], unit = factor(&m, off) * m.scale_sq;
		double z = off * off / unit, q = FREEDOM + z, k = (FREEDOM + 1) / (q * q);

		product *= 1 + z / FREEDOM;
		if (product > 1e200) {
			log_lik -= (FREEDOM + 1) / 2 * log(product);
			product = 1;
		}
		n[g]++;
		curve[g] += k * (FREEDOM - z) / unit;
		cross[g] += k * FREEDOM * off / unit;
		curve_scale += k * FREEDOM * z / 2;
	}
	log_lik -= (FREEDOM + 1) / 2 * log(product);
	info = (FREEDOM + 1) / (FREEDOM + 3) / m.scale_sq; /* Fisher's, of one boot */
	left = curve_scale;
	for (int g = 0; g < 2; g++) {
		curve[g] = at_least(curve[g], LEAST_CURVATURE * n[g] * info);
		left -= cross[g] * cross[g] / curve[g];
	}
	left = at_least(left, LEAST_CURVATURE * curve_scale);
	log_lik += 0.5 * log(2 * M_PI) - 0.5 * log(curve[0] * curve[1] * left);
	for (size_t i = 0; ret_ratio && i < v->nr; i++)
		ret_ratio[i] = log_density(&m, v->value[i] - m.centre[1]) -
			       log_density(&m, v->value[i] - m.centre[0]);
	ret_fit->mean_old = m.centre[0];
	ret_fit->mean_new = m.centre[1];
	ret_fit->shift = m.centre[1] - m.centre[0];
	ret_fit->scale = sqrt(1 / curve[0] + 1 / curve[1]);
	ret_fit->df = nr > 3 ? nr - 2 : 1;
	ret_fit->sigma = 1 / sqrt(info);
	ret_fit->rho = 0;
	ret_fit->w_old = curve[0] / info;
	ret_fit->w_new = curve[1] / info;
	return log_lik;
}
