/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Normal noise of unknown spread, with a per-image effect. */
#include "bisect/model.h"

#include <math.h>

#define MATHLIB_STANDALONE
#include <Rmath.h>

#include "bisect/modes.h"
#include "bisect/share.h"
#include "bisect/stats.h"
#include "bisect/tails.h"

#define NR_RHO	 3
#define NR_LEAN	 3
#define NR_WAY	 2 /* of the second mode */
#define NR_PARTS (NR_RHO + NR_LEAN + NR_WAY + 1)

/*
 * The parts: normal noise with three ratios of image variance to boot variance, and noise
 * with heavy tails, even or leaning to one side.
 *
 * Most kernels differ by their boots only; some move by as much as a boot does when the
 * linker lays them out anew (Curtsinger and Berger, "Stabilizer", ASPLOS 2013). The heavy
 * tails stand for hiccups of the host, a rare second mode, and skewed noise. Their priors
 * are a compromise: larger ones keep the error rate better where that part is the truth, and
 * cost boots where it is not. Images that differ are the dearest, two boots in 46 at
 * two sigma, and with a quarter of them errors are four times as many where images differ;
 * doc/search.md has what the priors do to the errors.
 */
static const double rho_grid[NR_RHO] = {0, 0.25, 1};
static const double lean_grid[NR_LEAN] = {1, 4, 0.25};
static const double prior[NR_PARTS] = {0.57, 0.02, 0.01, 0.1, 0.1, 0.1, 0.03, 0.03, 0.04};

/* The prior of the shift: log-uniform over so many doublings, from the smallest looked for. */
#define SHIFT_DOUBLINGS 15
/*
 * A true shift may be just as large as the smallest looked for, or a little smaller: below
 * it the density stays the same down to this share.
 */
#define SHIFT_ROOM 0.7

/*
 * The spread's prior weighs as 0.7 boots with a deviation of a tenth of min_effect: it
 * keeps the likelihood finite when all values are equal, and is forgotten after a few
 * boots when they are not.
 */
#define SPREAD_PRIOR_BOOTS 0.7
#define SPREAD_PRIOR_SHARE 0.1

static double weight(size_t nr, int r)
{
	return (double)nr / (1 + (double)nr * rho_grid[r]);
}

static double log_prior(int r)
{
	return log(prior[r]);
}

/* The determinant of the image's covariance matrix. */
static double image_term(size_t nr, int r)
{
	return -0.5 * log1p((double)nr * rho_grid[r]);
}

static void init(struct fb_model *model, double min_effect, const double rate[2])
{
	double floor = SPREAD_PRIOR_SHARE * min_effect;

	(void)rate;
	model->shape = SPREAD_PRIOR_BOOTS / 2;
	model->rate = SPREAD_PRIOR_BOOTS * floor * floor / 2;
	model->effect = min_effect;
	model->shift_min = SHIFT_ROOM * min_effect;
}

/* So many standard deviations are beyond all doubt (1e-15). */
#define SURE 8.0
/* From so many degrees of freedom on the tail of Student's t is approximated (to 1e-4). */
#define FREE 10.0

/* Residual sum of squares about the groups' means, of the prior and the data: >= the prior's. */
static double half_rss(const struct fb_model *model, int r, double between)
{
	double rss = model->within + model->wmm[r] - between;

	return model->rate + (rss > 0 ? rss / 2 : 0);
}

/*
 * log P(T > @a) for Student's t.
 *
 * Source: D. Wallace, "Bounds on normal approximations to Student's and the chi-square
 * distributions", Annals of Mathematical Statistics 30 (1959). R's pt() is ten times dearer.
 */
static double log_upper_t(double a, double df)
{
	if (-a > SURE && df > SURE)
		return 0;
	if (isinf(df) || df < FREE)
		return pt(a, df, 0, 1);
	return pnorm(copysign(sqrt(df * log1p(a * a / df)), a) * (8 * df + 1) / (8 * df + 3), 0, 1,
		     0, 1);
}

/*
 * log of the prior density of an upward shift, averaged over the t distribution given. The
 * density is smooth where it is not 0, so its value at the mean of the part beyond .shift_min
 * stands for its average; that mean is taken as for a normal distribution.
 */
static double log_prior_up(const struct fb_model *model, double shift, double scale, double df)
{
	double a = (model->shift_min - shift) / scale, log_p = log_upper_t(a, df), mean;

	if (!(model->effect > 0))
		return log_p;
	if (a > SURE)
		mean = model->shift_min + scale / a;
	else
		mean = shift + scale * exp(-a * a / 2) / sqrt(2 * M_PI) / pnorm(a, 0, 1, 0, 0);
	return log_p - log(mean > model->effect ? mean : model->effect) -
	       log(SHIFT_DOUBLINGS * M_LN2 + 1 - SHIFT_ROOM);
}

static double log_prior_shift(const struct fb_model *model, double shift, double scale, double df)
{
	if (model->direction)
		return log_prior_up(model, model->direction * shift, scale, df);
	return fb_stats_logsum(log_prior_up(model, shift, scale, df),
			       log_prior_up(model, -shift, scale, df)) -
	       (model->effect > 0 ? M_LN2 : 0);
}

static double split(const struct fb_model *model, int r, const struct fb_model_sums *new,
		    const struct fb_model_sums *level, double range, double least,
		    struct fb_model_fit *ret_fit)
{
	double w_new = new->w[r], w_level = level ? level->w[r] : 0;
	double w_old = model->all.w[r] - w_new - w_level;
	double wm_old = model->all.wm[r] - new->wm[r] - (level ? level->wm[r] : 0);
	double mean_new = new->wm[r] / w_new, mean_old = wm_old / w_old;
	double between = new->wm[r] * mean_new + wm_old *mean_old;
	double log_lik = model->log_prior[r] - 0.5 * log(w_new) - 0.5 * log(w_old);
	double free_means = 2, shape, rate, scale;

	if (w_level > 0) {
		between += level->wm[r] * level->wm[r] / w_level;
		/* A proper flat prior, 1 / range, against the improper ones of the two sides. */
		log_lik += 0.5 * log(2 * M_PI) - 0.5 * log(w_level) - log(range);
		free_means = 3;
	}
	shape = model->shape + ((double)model->nr_boots - free_means) / 2;
	rate = half_rss(model, r, between);
	log_lik += lgammafn(shape) - shape * log(rate);
	/* (2 pi)^(-boots/2) and the prior's own constants are the same for every partition. */
	if (log_lik < least)
		return -INFINITY; /* the prior to come only makes it less, for the most part */
	scale = sqrt(rate / shape * (1 / w_new + 1 / w_old));
	log_lik += log_prior_shift(model, mean_new - mean_old, scale, 2 * shape);
	if (ret_fit)
		*ret_fit = (struct fb_model_fit){.mean_old = mean_old,
						 .mean_new = mean_new,
						 .shift = mean_new - mean_old,
						 .scale = scale,
						 .df = 2 * shape,
						 .sigma = sqrt(rate / shape),
						 .rho = rho_grid[r],
						 .w_old = w_old,
						 .w_new = w_new};
	return log_lik;
}

static double split_raw(const struct fb_model *model, int r, const struct fb_model_values *values,
			const struct fb_model_fit *start, struct fb_model_fit *ret_fit,
			double *ret_ratio)
{
	int lean = r - NR_RHO, way = lean == NR_LEAN ? 1 : -1;
	double log_lik;

	if (r == NR_PARTS - 1)
		log_lik = fb_share_split(values, model->shape, model->rate, start, ret_fit,
					 ret_ratio);
	else if (lean < NR_LEAN)
		log_lik = fb_tails_split(values, lean_grid[lean], model->shape, model->rate, start,
					 ret_fit, ret_ratio);
	else
		log_lik = fb_modes_split(values, way, model->shape, model->rate, start, ret_fit,
					 ret_ratio);

	return model->log_prior[r] + log_lik +
	       log_prior_shift(model, ret_fit->shift, ret_fit->scale, INFINITY);
}

static double same(const struct fb_model *model, int r)
{
	double w = model->all.w[r];
	double shape = model->shape + ((double)model->nr_boots - 1) / 2;
	double rate = half_rss(model, r, model->all.wm[r] * model->all.wm[r] / w);

	/* One flat mean less than a split has: 2 pi, as for the proper level above. */
	return model->log_prior[r] - 0.5 * log(2 * M_PI) - 0.5 * log(w) + lgammafn(shape) -
	       shape * log(rate);
}

/* Alternatives of the ends' test: min_effect times 2^(k/4), up to 2^15 of it. */
#define ENDS_POINTS 60
/* Shifts below min_effect: so many parts of it. */
#define SMALL_POINTS 4

/*
 * A pair of sequential probability ratio tests whose alternatives are mixtures of points,
 * with the mean integrated out and the spread as in the model. The error bound is exact for
 * a known spread, by Ville's inequality; by simulation, t/u-search-sim.c, for the unknown one.
 *
 * Source: A. Wald, Sequential Analysis (1947), chapter 3; mixtures of alternatives:
 * H. Robbins, Annals of Mathematical Statistics 41 (1970).
 */
static void ends_test(const struct fb_model *model, const struct fb_model_ends *ends,
		      double min_effect, int direction, double *ret_differ, double *ret_same)
{
	double n1 = (double)ends->nr_good, n2 = (double)ends->nr_bad, h = n1 * n2 / (n1 + n2);
	double floor = SPREAD_PRIOR_SHARE * min_effect;
	double rate = (SPREAD_PRIOR_BOOTS * floor * floor + ends->within) / 2;
	double power = (SPREAD_PRIOR_BOOTS + n1 + n2 - 1) / 2;
	double d = direction < 0 ? -ends->shift : ends->shift;
	double large, least_same, least_differ, opposite = -INFINITY, small = -INFINITY;
	int signs = direction ? 1 : 2;

	(void)model;
#define LOG_LIK(delta) (-power * log(rate + h * (d - (delta)) * (d - (delta)) / 2))
	/* Half of the alternative's weight is at min_effect itself, the hardest to see. */
	large = -INFINITY;
	for (int s = 0; s < signs; s++) {
		double far = -INFINITY, sign = s ? -1 : 1;

		for (int k = 1; k <= ENDS_POINTS; k++) {
			double delta = min_effect * exp2(k / 4.0);

			far = fb_stats_logsum(far, LOG_LIK(sign * delta));
			if (direction)
				opposite = fb_stats_logsum(opposite, LOG_LIK(-delta));
		}
		far -= log(ENDS_POINTS);
		large = fb_stats_logsum(large, fb_stats_logsum(LOG_LIK(sign * min_effect), far));
	}
	large -= log(2.0 * signs);
	/* A shift that is there, but smaller, is none of the size looked for. */
	for (int s = 0; s < signs; s++)
		for (int k = 1; k < SMALL_POINTS; k++)
			small = fb_stats_logsum(
				small, LOG_LIK((s ? -1 : 1) * min_effect * k / SMALL_POINTS));
	small -= log(signs * (SMALL_POINTS - 1.0));

	if (direction) {
		opposite -= log(ENDS_POINTS);
		least_same = LOG_LIK(d < 0 ? d : 0);
		least_differ = LOG_LIK(d > min_effect ? d : min_effect);
		*ret_same = fb_stats_logsum(M_LN2 + LOG_LIK(0), fb_stats_logsum(opposite, small)) -
			    log(4) - least_differ;
	} else {
		least_same = LOG_LIK(0);
		least_differ = LOG_LIK(fabs(d) > min_effect ? d : copysign(min_effect, d));
		*ret_same = fb_stats_logsum(log(3) + LOG_LIK(0), small) - log(4) - least_differ;
	}
	*ret_differ = large - least_same;
#undef LOG_LIK
}

/* Squared distance of the sides, in standard deviations, as seen by the mean of @n boots. */
static double distance_sq(const struct fb_model_fit *fit, double n)
{
	double v = fit->sigma * fit->sigma;

	/* The sides' own means are uncertain too, the nearer one's as much as the other's. */
	v *= fit->rho + 1 / n + (1 / fit->w_old + 1 / fit->w_new) / 4;
	return fit->shift * fit->shift / v;
}

static double bits(const struct fb_model_fit *fit, double p, double had, double more)
{
	double d = distance_sq(fit, had + more);

	if (had > 0)
		d -= distance_sq(fit, had);
	return fb_stats_boot_bits(p, sqrt(d > 0 ? d : 0));
}

const struct fb_family fb_family_normal = {
	.nr_parts = NR_PARTS,
	.nr_raw = NR_PARTS - NR_RHO,
	.begin = 30,
	.init = init,
	.log_prior = log_prior,
	.weight = weight,
	.image_term = image_term,
	.split = split,
	.split_raw = split_raw,
	.same = same,
	.ends_test = ends_test,
	.bits = bits,
};
