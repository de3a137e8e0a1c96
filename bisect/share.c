/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Two groups with the same two levels, in different shares. */
#include "bisect/share.h"

#include <math.h>

#include "bisect/stats.h"

/* With fewer boots than this five parameters say nothing. */
#define LEAST_BOOTS 12
#define MAX_ROUNDS  30
#define CONVERGED   3e-3 /* nats gained by a round */

struct levels {
	double low, high, var;
	double share[2]; /* of the high one: old, new */
};

/* What all boots say about the levels, given the present estimates. */
struct sums {
	double nr[2], high[2]; /* boots; those expected on the high level */
	double x_low, x_high;  /* values, by level */
	double squares;	       /* about the levels */
	double log_lik;
};

static double total_high(const struct sums *s)
{
	return s->high[0] + s->high[1];
}

static double total_low(const struct sums *s)
{
	return s->nr[0] + s->nr[1] - total_high(s);
}

/* log of a boot's density on a side with that share, less the constants and the spread. */
static double log_density(const struct levels *l, double share, double x)
{
	return fb_stats_logsum(log(share) - (x - l->high) * (x - l->high) / (2 * l->var),
			       log1p(-share) - (x - l->low) * (x - l->low) / (2 * l->var));
}

static void expect(const struct fb_model_values *v, const struct levels *l, struct sums *ret)
{
	*ret = (struct sums){.log_lik = -(double)v->nr / 2 * log(l->var)};
	for (size_t i = 0; i < v->nr; i++) {
		int g = v->new[i];
		double up = v->value[i] - l->high, down = v->value[i] - l->low;
		double odds = log(l->share[g] / (1 - l->share[g])) +
			      (down * down - up * up) / (2 * l->var);
		double high = 1 / (1 + exp(-odds));

		ret->nr[g]++;
		ret->high[g] += high;
		ret->x_high += high * v->value[i];
		ret->x_low += (1 - high) * v->value[i];
		ret->squares += high * up * up + (1 - high) * down * down;
		ret->log_lik += log_density(l, l->share[g], v->value[i]);
	}
}

/* All noise cut in two, or the levels that were found already. */
static struct levels begin(const struct fb_model_values *v, const struct fb_model_fit *start)
{
	struct levels l = {.share = {0.5, 0.5}};
	double mean = 0, squares = 0;

	if (start->distance > 0) {
		l.low = start->mean_old - start->share * start->distance;
		l.high = l.low + start->distance;
		l.share[0] = start->share;
		l.share[1] = (start->mean_new - l.low) / start->distance;
		l.var = start->within * start->within;
		return l;
	}
	for (size_t i = 0; i < v->nr; i++)
		mean += v->value[i] / (double)v->nr;
	for (size_t i = 0; i < v->nr; i++)
		squares += (v->value[i] - mean) * (v->value[i] - mean) / (double)v->nr;
	l.low = mean - sqrt(squares);
	l.high = mean + sqrt(squares);
	l.var = squares / 4;
	return l;
}

/* One round of EM. Returns the log likelihood that there was before. */
static double improve(const struct fb_model_values *v, double shape, double rate, struct levels *l)
{
	struct sums s;

	expect(v, l, &s);
	if (total_low(&s) > 0 && total_high(&s) > 0) {
		l->low = s.x_low / total_low(&s);
		l->high = s.x_high / total_high(&s);
	}
	/* Half a boot on either level as the prior keeps the shares off 0 and 1. */
	for (int g = 0; g < 2; g++)
		l->share[g] = (s.high[g] + 0.5) / (s.nr[g] + 1);
	l->var = (2 * rate + s.squares) / ((double)v->nr + 2 * shape);
	return s.log_lik;
}

/* log of the integral of share^high (1 - share)^(nr - high), less its value at @share. */
static double log_integral(double nr, double high, double share)
{
	/* cppcheck-suppress invalidFunctionArg; 0 <= high <= nr */
	return lgamma(high + 1) + lgamma(nr - high + 1) - lgamma(nr + 2) - high * log(share) -
	       (nr - high) * log1p(-share);
}

double fb_share_split(const struct fb_model_values *v, double shape, double rate,
		      const struct fb_model_fit *start, struct fb_model_fit *ret_fit,
		      double *ret_ratio)
{
	double nr = (double)v->nr, last = -INFINITY, distance, log_lik, var[2];
	struct levels l = begin(v, start);
	struct sums s;

	*ret_fit = *start;
	if (v->nr < LEAST_BOOTS || !(l.var > 0))
		return -INFINITY;
	for (int round = 0; round < MAX_ROUNDS; round++) {
		double now = improve(v, shape, rate, &l);

		if (fabs(now - last) < CONVERGED)
			break;
		last = now;
	}
	expect(v, &l, &s);
	distance = l.high - l.low;
	if (!(total_low(&s) > 0.5) || !(total_high(&s) > 0.5) || !(distance > 0))
		return -INFINITY;
	log_lik = s.log_lik - shape * log(l.var) - rate / l.var + 0.5 * log(2 * M_PI) -
		  0.5 * log(total_low(&s) / l.var * total_high(&s) / l.var * nr / 2);
	for (int g = 0; g < 2; g++) {
		log_lik += log_integral(s.nr[g], s.high[g], l.share[g]);
		var[g] = l.var + l.share[g] * (1 - l.share[g]) * distance * distance;
	}
	/* From the shift of the mean to the distance; either share may be the larger one. */
	log_lik += log(fabs(l.share[1] - l.share[0]));
	for (size_t i = 0; ret_ratio && i < v->nr; i++)
		ret_ratio[i] = log_density(&l, l.share[1], v->value[i]) -
			       log_density(&l, l.share[0], v->value[i]);
	*ret_fit = (struct fb_model_fit){
		.mean_old = l.low + l.share[0] * distance,
		.mean_new = l.low + l.share[1] * distance,
		.shift = (l.share[1] - l.share[0]) * distance,
		.scale = sqrt(var[0] / s.nr[0] + var[1] / s.nr[1]),
		.df = nr - 2,
		.sigma = sqrt((s.nr[0] * var[0] + s.nr[1] * var[1]) / nr),
		.w_old = s.nr[0],
		.w_new = s.nr[1],
		.distance = distance,
		.share = l.share[0],
		.within = sqrt(l.var),
	};
	return log_lik;
}
