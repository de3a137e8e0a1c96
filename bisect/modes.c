/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Two groups whose noise has two modes. */
#include "bisect/modes.h"

#include <math.h>

#include "bisect/stats.h"

/* With fewer boots than this five parameters say nothing. */
#define LEAST_BOOTS 12
#define MAX_ROUNDS  30
#define CONVERGED   3e-3 /* nats gained by a round */
/* Where EM begins: the distance in standard deviations of all noise, and the share. */
#define START_DISTANCE 2.0
#define START_SHARE    0.3
/* The prior of the distance is uniform up to so many spreads within a mode. */
#define MAX_DISTANCE 30.0

struct modes {
	double centre[2]; /* of the more frequent mode: old, new */
	double distance, share, var;
};

/* What all boots say about the modes, given the present estimates. */
struct sums {
	double nr[2], rare[2];	/* boots; their probabilities of being in the rarer mode, summed */
	double x[2], rare_x[2]; /* the same times values */
	double squares;		/* about the modes, given in which each boot probably is */
	double log_lik;
};

static void expect(const struct fb_model_values *v, const struct modes *m, struct sums *ret)
{
	double odds = log((1 - m->share) / m->share), product = 1;

	*ret = (struct sums){.log_lik = 0};
	for (size_t i = 0; i < v->nr; i++) {
		int g = v->new[i];
		double off = v->value[i] - m->centre[g], far = off - m->distance;
		double main = exp(odds + (far * far - off * off) / (2 * m->var));
		double rare = 1 / (1 + main);

		ret->nr[g]++;
		ret->rare[g] += rare;
		ret->x[g] += v->value[i];
		ret->rare_x[g] += rare * v->value[i];
		ret->squares += rare * far * far + (1 - rare) * off * off;
		/* log(share phi(far) + (1 - share) phi(off)), from the larger one of the two. */
		if (main < 1) {
			ret->log_lik -= far * far / (2 * m->var);
			product *= m->share * (1 + main);
		} else {
			ret->log_lik -= off * off / (2 * m->var);
			product *= (1 - m->share) * (1 + 1 / main);
		}
		if (product < 1e-200) {
			ret->log_lik += log(product);
			product = 1;
		}
	}
	ret->log_lik += log(product) - (double)v->nr / 2 * log(m->var);
}

/* Less the constants. */
static double log_density(const struct modes *m, double off)
{
	double far = off - m->distance;

	return fb_stats_logsum(log1p(-m->share) - off * off / (2 * m->var),
			       log(m->share) - far * far / (2 * m->var));
}

/* One round of EM. Returns the log likelihood that there was before. */
static double improve(const struct fb_model_values *v, double shape, double rate, int way,
		      struct modes *m)
{
	double nr = (double)v->nr, up = 0, down = 0;
	struct sums s;

	expect(v, m, &s);
	/* The distance with the centres at their best: least squares of values on modes. */
	for (int g = 0; g < 2; g++) {
		up += s.rare_x[g] - s.rare[g] * s.x[g] / s.nr[g];
		down += s.rare[g] * (1 - s.rare[g] / s.nr[g]);
	}
	m->distance = down > 0 ? up / down : 0;
	if (way * m->distance < 0)
		m->distance = 0;
	for (int g = 0; g < 2; g++)
		m->centre[g] = (s.x[g] - s.rare[g] * m->distance) / s.nr[g];
	/* Half a boot of either mode as its prior; the rarer one is not the more frequent one. */
	m->share = fmin((s.rare[0] + s.rare[1] + 0.5) / (nr + 1), 0.5);
	m->var = (2 * rate + s.squares) / (nr + 2 * shape);
	return s.log_lik;
}

/* What all noise is like, cut in two, or the modes that were found already. */
static struct modes begin(const struct fb_model_fit *start, int way)
{
	double var = start->sigma * start->sigma, share = START_SHARE;
	double distance = way * START_DISTANCE * start->sigma;

	if (start->share > 0) {
		share = start->share;
		distance = start->distance;
		var -= share * (1 - share) * distance * distance;
	} else {
		var /= 4;
	}
	return (struct modes){
		.distance = distance,
		.share = share,
		.var = var,
		.centre = {start->mean_old - share * distance, start->mean_new - share * distance}};
}

double fb_modes_split(const struct fb_model_values *v, int way, double shape, double rate,
		      const struct fb_model_fit *start, struct fb_model_fit *ret_fit,
		      double *ret_ratio)
{
	double nr = (double)v->nr, rare, curve, log_lik, last = -INFINITY;
	struct modes m = begin(start, way);
	struct sums s;

	*ret_fit = *start;
	if (v->nr < LEAST_BOOTS || !(start->sigma > 0))
		return -INFINITY;
	for (int round = 0; round < MAX_ROUNDS; round++) {
		double now = improve(v, shape, rate, way, &m);

		if (fabs(now - last) < CONVERGED)
			break;
		last = now;
	}
	expect(v, &m, &s);
	rare = s.rare[0] + s.rare[1];
	/* The centres and the distance; then log var; then the share. */
	curve = s.nr[0] * s.nr[1] / (m.var * m.var) *
		(rare - s.rare[0] * s.rare[0] / s.nr[0] - s.rare[1] * s.rare[1] / s.nr[1]) / m.var;
	curve *= nr / 2 * nr / (m.share * (1 - m.share));
	if (!(curve > 0) || !(rare > 0.5))
		return -INFINITY;
	log_lik = s.log_lik - shape * log(m.var) - rate / m.var + 1.5 * log(2 * M_PI) -
		  0.5 * log(curve) + log(2) - log(MAX_DISTANCE * sqrt(m.var));
	for (size_t i = 0; ret_ratio && i < v->nr; i++)
		ret_ratio[i] = log_density(&m, v->value[i] - m.centre[1]) -
			       log_density(&m, v->value[i] - m.centre[0]);
	ret_fit->mean_old = m.centre[0] + m.share * m.distance;
	ret_fit->mean_new = m.centre[1] + m.share * m.distance;
	ret_fit->shift = m.centre[1] - m.centre[0];
	ret_fit->scale = sqrt(m.var * (1 / s.nr[0] + 1 / s.nr[1]));
	ret_fit->df = nr - 2;
	ret_fit->sigma = sqrt(m.var + m.share * (1 - m.share) * m.distance * m.distance);
	ret_fit->rho = 0;
	ret_fit->w_old = s.nr[0];
	ret_fit->w_new = s.nr[1];
	ret_fit->distance = m.distance;
	ret_fit->share = m.share;
	return log_lik;
}
