/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Two groups with the same two levels, in different shares; for bisect/ only. */
#ifndef FB_BISECT_SHARE_H
#define FB_BISECT_SHARE_H

#include "bisect/model.h"

/**
 * fb_share_split() - Log marginal likelihood of two groups that differ in how often they are high.
 * The arguments and what is left out are those of fb_tails_split().
 *
 * Each boot is on one of two levels, which both groups have, with normal noise of one spread; the
 * change is one of the share of the higher level. EM finds the maximum. The shares are integrated
 * exactly for the boots on either level that EM expects, with uniform priors; the levels and the
 * spread by Laplace's method as if each boot's level were known, so that the part claims the less
 * the more the levels overlap. The prior of the shift of the mean is that of the other parts; given
 * it and the shares the levels' distance follows.
 *
 * Source: P. Cheeseman and J. Stutz, "Bayesian classification (AutoClass)", Advances in Knowledge
 * Discovery and Data Mining (1996), for the completed data; EM as in bisect/modes.h.
 */
double fb_share_split(const struct fb_model_values *values, double shape, double rate,
		      const struct fb_model_fit *start, struct fb_model_fit *ret_fit,
		      double *ret_ratio);

#endif
