/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The likelihood of a partition of the measured images into groups of equal mean.
 *
 * This is the seam between the graph and the values: the search knows images (boots of one
 * kernel), groups of images (sums) and likelihoods, and nothing of how values are spread.
 * A struct fb_family fills that in. Its nuisance parameters that cannot be integrated in
 * closed form are a few points, the parts; a likelihood is the sum of its parts.
 */
#ifndef FB_BISECT_MODEL_H
#define FB_BISECT_MODEL_H

#include <stdbool.h>
#include <stddef.h>

#define FB_MODEL_PARTS 9  /* at most */
#define FB_MODEL_RATES 65 /* points of an unknown rate, at most */

/** struct fb_model_image - The boots of one built image. */
struct fb_model_image {
	size_t nr;   /* boots */
	double mean; /* on the scale of the search, near 0 (the search subtracts an offset) */
	double ss;   /* sum of squared deviations from .mean */
};

/** struct fb_model_sums - Weighted sums over the images of one group, for each part. */
struct fb_model_sums {
	double w[FB_MODEL_PARTS];  /* sum of weights */
	double wm[FB_MODEL_PARTS]; /* sum of weight times mean */
};

/** struct fb_model_rates - Rates of ones that one side may have, ascending, for 0/1 outcomes. */
struct fb_model_rates {
	int nr; /* 1: the rate is known */
	double rate[FB_MODEL_RATES], log_one[FB_MODEL_RATES], log_zero[FB_MODEL_RATES];
	double log_weight[FB_MODEL_RATES]; /* of the prior */
};

/** struct fb_model_values - All boots one by one, with their side. */
struct fb_model_values {
	size_t nr;
	const double *value;	  /* on the scale of struct fb_model_image.mean */
	const unsigned char *new; /* 1: on the new side, 0: old */
};

struct fb_family;

/** struct fb_model - What all partitions of the same boots have in common. */
struct fb_model {
	const struct fb_family *family;
	double shape, rate;		/* of the prior of the spread */
	double effect;			/* the smallest shift looked for; 0: flat prior of it */
	double shift_min;		/* the new mean lies at least this far from the old one */
	int direction;			/* -1, 1, or 0 for both */
	struct fb_model_rates rates[2]; /* old, new; of fb_family_binary */
	double log_norm;		/* prior of rates that are .shift_min apart */
	size_t nr_boots;
	double within;			  /* sum of .ss */
	struct fb_model_sums all;	  /* over all images */
	double wmm[FB_MODEL_PARTS];	  /* sum of weight times mean squared */
	double log_prior[FB_MODEL_PARTS]; /* of the part, times what each image adds */
};

/** struct fb_model_fit - Estimates of one partition for one part. */
struct fb_model_fit {
	double mean_old, mean_new;
	double shift, scale, df; /* (new - old) has a t distribution: location, scale, freedom */
	double sigma;		 /* boot to boot */
	double rho;		 /* image variance over boot variance */
	double w_old, w_new;	 /* weights, about numbers of boots */
	double distance, share;	 /* of a second mode (on the old side); 0 where there is none */
	double within;		 /* spread within a mode; bisect/share.h only */
};

/** struct fb_model_ends - Two samples, for the sequential test. */
struct fb_model_ends {
	size_t nr_good, nr_bad;
	double shift;  /* mean of bad less mean of good */
	double within; /* sum of squares within both */
	double mean_good;
};

/** struct fb_family - How values are spread. The functions are pure. */
struct fb_family {
	int nr_parts; /* those by sums first */
	int nr_raw;   /* of these, the last ones: those that need the values one by one */
	double begin; /* e-value of a shift at which the search begins, see bisect/ends.c */

	/** init() - The priors; the arguments are those of fb_model_init(). */
	void (*init)(struct fb_model *model, double min_effect, const double rate[2]);

	/** log_prior() - Log prior of the @part-th part. */
	double (*log_prior)(int part);

	/** weight() - Weight of an image with @nr boots. */
	double (*weight)(size_t nr, int part);

	/** image_term() - What an image adds to the log likelihood of every partition. */
	double (*image_term)(size_t nr, int part);

	/**
	 * split() - One part of the log likelihood of two groups, or three.
	 * @new: the sums of the new side; the old side is the rest. Both need an image.
	 * @level: of a third group, NULL or empty (all 0) for none; its mean is uniform
	 *	over a range of length @range.
	 * @least: a likelihood that no longer matters; below it -INFINITY may be returned.
	 * @ret_fit: may be NULL.
	 *
	 * Only likelihoods with the same number of groups compare when the prior of the
	 * means is flat; a third group brings its proper prior, 1 / @range.
	 */
	double (*split)(const struct fb_model *model, int part, const struct fb_model_sums *new,
			const struct fb_model_sums *level, double range, double least,
			struct fb_model_fit *ret_fit);

	/**
	 * split_raw() - The same for a part that needs the values one by one.
	 * @start: where the estimates begin: the fit of part 0, or that of this part for a
	 *	partition that differs little.
	 * @ret_ratio: for each value the log of its density on the new side over that on the
	 *	old side, at the estimates; may be NULL.
	 */
	double (*split_raw)(const struct fb_model *model, int part,
			    const struct fb_model_values *values, const struct fb_model_fit *start,
			    struct fb_model_fit *ret_fit, double *ret_ratio);

	/**
	 * same() - One part of the log likelihood of one group only, comparable to split().
	 */
	double (*same)(const struct fb_model *model, int part);

	/**
	 * ends_test() - Evidence about a shift of min_effect or more, in nats.
	 * @ret_differ: log e-value against "no shift" (or one the other way).
	 * @ret_same: log e-value against "a shift of @min_effect or more".
	 *
	 * Stopping when one of them exceeds log(1 / alpha) errs with probability alpha about.
	 */
	void (*ends_test)(const struct fb_model *model, const struct fb_model_ends *ends,
			  double min_effect, int direction, double *ret_differ, double *ret_same);

	/**
	 * bits() - What @more boots of an image that had @had tell about its side.
	 * @p: probability that it is on the new side.
	 *
	 * Return: bits.
	 */
	double (*bits)(const struct fb_model_fit *fit, double p, double had, double more);

	/**
	 * rates() - Expected rates of ones of the old and the new side, given the latter; for
	 * families of 0/1 outcomes with one part. NULL: bits() decides what to boot.
	 */
	void (*rates)(const struct fb_model *model, const struct fb_model_sums *new, double ret[2]);
};

/**
 * fb_family_normal - Values with normal noise of unknown spread, and a per-image effect.
 *
 * A boot of image i in group g gives  m_g + u_i + e,  u_i ~ N(0, rho s^2),  e ~ N(0, s^2).
 * The means are unknown (flat prior), s^2 is inverse-gamma with a little weight at a
 * small value, and rho (image against boot variance) is one of a few values, the parts.
 * All but rho are integrated out in closed form. Three more parts have noise with heavy
 * tails (bisect/tails.h), so that one boot convicts nobody unless the others show that
 * noise is normal; two have noise with a second mode, above or below (bisect/modes.h), and in one
 * the change is that of the share of a mode (bisect/share.h).
 *
 * Source: the normal linear model with conjugate variance, e.g. A. O'Hagan and J. Forster,
 * Kendall's Advanced Theory of Statistics 2B (2004), chapter 11.
 */
extern const struct fb_family fb_family_normal;

/**
 * fb_family_binary - 0 or 1, with a rate of ones on either side; an image has no effect.
 *
 * A known rate is one point. An unknown one has the prior Beta(3/2, 3/2), and a twentieth that
 * the old side never gives a 1 (or the new side always does). The new rate is the higher one, by
 * half of min_effect or more. Means are shares of ones, so images must not be offset.
 */
extern const struct fb_family fb_family_binary;

/**
 * fb_model_init() - Priors.
 * @min_effect: the smallest shift looked for, > 0.
 * @rate: known rates of ones of the old and the new side, NAN: unknown; for fb_family_binary.
 */
void fb_model_init(struct fb_model *model, const struct fb_family *family, double min_effect,
		   int direction, const double rate[2]);

/** fb_model_by_sums() - How many parts need sums only; they come first. */
int fb_model_by_sums(const struct fb_model *model);

/** fb_model_clear() - Forget the boots, keep the priors. */
void fb_model_clear(struct fb_model *model);

/** fb_model_add() - Add (@sign 1) or take away (@sign -1) the boots of an image. */
void fb_model_add(struct fb_model *model, const struct fb_model_image *image, int sign);

/** fb_model_sums_add() - Add @sign (1 or -1) times @image to a group. */
void fb_model_sums_add(const struct fb_model *model, struct fb_model_sums *sums,
		       const struct fb_model_image *image, int sign);

/**
 * fb_model_split() - Log marginal likelihood of two groups by the parts that need sums only;
 * the arguments are those of struct fb_family's split().
 * @ret_lik: the parts of the sum, as logs, -INFINITY for those left out; may be NULL.
 *
 * The prior of (new - old) is uniform in its logarithm, from .effect to 2^15 times that, with
 * a little room below, down to .shift_min; in the direction that is looked for.
 */
double fb_model_split(const struct fb_model *model, const struct fb_model_sums *new, double least,
		      double ret_lik[FB_MODEL_PARTS]);

/**
 * fb_model_fit() - The estimates of two groups, for each part.
 * @values: may be NULL when no part needs them.
 */
void fb_model_fit(const struct fb_model *model, const struct fb_model_sums *new,
		  const struct fb_model_values *values, struct fb_model_fit ret[FB_MODEL_PARTS]);

/** fb_model_split_or_level() - The same with a third group. */
double fb_model_split_or_level(const struct fb_model *model, const struct fb_model_sums *new,
			       const struct fb_model_sums *level, double range);

/** fb_model_same() - Log marginal likelihood of one group only, see struct fb_family. */
double fb_model_same(const struct fb_model *model);

#endif
