/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The likelihood of a partition of the measured images into groups of equal mean.
 *
 * A boot of image i in group g gives  m_g + u_i + e,  u_i ~ N(0, rho s^2),  e ~ N(0, s^2).
 * The means are unknown (flat prior), s^2 is inverse-gamma with a little weight at a
 * small value, and rho (image against boot variance) is one of a few values. All but rho
 * are integrated out in closed form; rho is summed over. Flat priors are improper: only
 * likelihoods with the same number of groups can be compared as they are, see
 * FB_MODEL_GROUPS.
 *
 * Source: the normal linear model with conjugate variance, e.g. A. O'Hagan and J. Forster,
 * Kendall's Advanced Theory of Statistics 2B (2004), chapter 11.
 */
#ifndef FB_BISECT_MODEL_H
#define FB_BISECT_MODEL_H

#include <stddef.h>

#define FB_MODEL_NR_RHO 3 /* see rho_grid in model.c */
#define FB_MODEL_GROUPS 3 /* old, new and, for "something else", one level more */

/** struct fb_model_image - The boots of one built image. */
struct fb_model_image {
	size_t nr;   /* boots */
	double mean; /* on the scale of the search, near 0 (the search subtracts an offset) */
	double ss;   /* sum of squared deviations from .mean */
};

/** struct fb_model_sums - Weighted sums over the images of one group, for each rho. */
struct fb_model_sums {
	double w[FB_MODEL_NR_RHO];  /* sum of weights */
	double wm[FB_MODEL_NR_RHO]; /* sum of weight times mean */
};

/** struct fb_model - What all partitions of the same boots have in common. */
struct fb_model {
	double shape, rate; /* of the prior of s^2 */
	double shift_min;   /* the new mean lies at least this far from the old one */
	int direction;	    /* -1, 1, or 0 for both */
	size_t nr_boots;
	double within;			   /* sum of .ss */
	struct fb_model_sums all;	   /* over all images */
	double wmm[FB_MODEL_NR_RHO];	   /* sum of weight times mean squared */
	double log_prior[FB_MODEL_NR_RHO]; /* of rho, times the determinant's square root */
};

/** struct fb_model_fit - Estimates of one partition for one rho. */
struct fb_model_fit {
	double mean_old, mean_new;
	double shift, scale, df; /* (new - old) has a t distribution: location, scale, freedom */
	double sigma;		 /* boot to boot */
	double rho;
	double w_old, w_new; /* weights, about numbers of boots */
};

/** fb_model_weight() - Weight of an image with @nr boots, for the @r-th rho. */
double fb_model_weight(size_t nr, int r);

/** fb_model_rho() - The @r-th value of rho. */
double fb_model_rho(int r);

/** fb_model_init() - Priors; @min_effect is the smallest shift looked for, > 0. */
void fb_model_init(struct fb_model *model, double min_effect, int direction);

/** fb_model_clear() - Forget the boots, keep the priors. */
void fb_model_clear(struct fb_model *model);

/** fb_model_add() - Add (@sign 1) or take away (@sign -1) the boots of an image. */
void fb_model_add(struct fb_model *model, const struct fb_model_image *image, int sign);

/** fb_model_sums_add() - Add @sign (1 or -1) times @image to a group. */
void fb_model_sums_add(struct fb_model_sums *sums, const struct fb_model_image *image, int sign);

/**
 * fb_model_split() - Log marginal likelihood of two groups.
 * @new: the sums of the new side; the old side is the rest. Both need an image.
 * @least: a likelihood that no longer matters; what is below may come out as -INFINITY.
 * @ret_lik: the parts of the sum over rho, as logs; may be NULL.
 * @ret_fit: one for each rho; may be NULL.
 *
 * The prior of (new - old) is flat beyond .shift_min, in the direction that is looked for.
 */
double fb_model_split(const struct fb_model *model, const struct fb_model_sums *new, double least,
		      double ret_lik[FB_MODEL_NR_RHO],
		      struct fb_model_fit ret_fit[FB_MODEL_NR_RHO]);

/**
 * fb_model_split_or_level() - The same with a third group whose mean is free.
 * @level: sums of the third group; empty (all 0) gives fb_model_split().
 * @range: the third mean is uniform over a range of this length.
 */
double fb_model_split_or_level(const struct fb_model *model, const struct fb_model_sums *new,
			       const struct fb_model_sums *level, double range);

/**
 * fb_model_same() - Log marginal likelihood of one group only, comparable to
 * fb_model_split() when that one is divided by the width of the prior of the shift.
 */
double fb_model_same(const struct fb_model *model);

/** struct fb_model_ends - Two samples, for the sequential test. */
struct fb_model_ends {
	size_t nr_good, nr_bad;
	double shift;  /* mean of bad less mean of good */
	double within; /* sum of squares within both */
};

/**
 * fb_model_ends_test() - Evidence about a shift of min_effect or more, in nats.
 * @ret_differ: log e-value against "no shift" (or one the other way).
 * @ret_same: log e-value against "a shift of @min_effect or more".
 *
 * A pair of sequential probability ratio tests whose alternatives are mixtures of points,
 * with the mean integrated out and the spread as in the model. Stopping when one of them
 * exceeds log(1 / alpha) errs with probability alpha about (exactly for a known spread,
 * by Ville's inequality; by simulation, t/u-search-sim.c, for the unknown one).
 *
 * Source: A. Wald, Sequential Analysis (1947), chapter 3; mixtures of alternatives:
 * H. Robbins, Annals of Mathematical Statistics 41 (1970).
 */
void fb_model_ends_test(const struct fb_model_ends *ends, double min_effect, int direction,
			double *ret_differ, double *ret_same);

#endif
