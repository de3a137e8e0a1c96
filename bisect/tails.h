/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Two groups with heavy-tailed noise that may lean to one side; for bisect/ only. */
#ifndef FB_BISECT_TAILS_H
#define FB_BISECT_TAILS_H

#include "bisect/model.h"

/**
 * fb_tails_split() - Log marginal likelihood of two groups whose noise is a split t.
 * @lean: how much wider the noise is above the centre than below, as a ratio of scales.
 * @shape, @rate: of the inverse gamma prior of the squared scale.
 * @start: where the estimates begin; any fit of the same groups.
 * @ret_ratio: see struct fb_family's split_raw().
 * @ret_fit: the estimates; .shift, .scale and .df describe the posterior of the shift.
 *
 * Student's t with 3 degrees of freedom, its two halves scaled apart. The centres have flat
 * priors and are integrated, with the log of the scale, by Laplace's method at the mode that
 * EM finds; constants are left out as struct fb_family's split() leaves them out for the
 * normal distribution, so that the two compare.
 *
 * Source: K. Lange, R. Little and J. Taylor, "Robust statistical modeling using the t
 * distribution", JASA 84 (1989); the scale's step as in J. Kent, D. Tyler and Y. Vardi,
 * Communications in Statistics B 23 (1994); the split distribution as in C. Fernandez and
 * M. Steel, JASA 93 (1998); L. Tierney and J. Kadane, JASA 81 (1986).
 */
double fb_tails_split(const struct fb_model_values *values, double lean, double shape, double rate,
		      const struct fb_model_fit *start, struct fb_model_fit *ret_fit,
		      double *ret_ratio);

#endif
