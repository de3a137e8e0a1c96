/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Two groups whose noise has two modes; for bisect/ only. */
#ifndef FB_BISECT_MODES_H
#define FB_BISECT_MODES_H

#include "bisect/model.h"

/**
 * fb_modes_split() - Log marginal likelihood of two groups whose noise has two normal modes.
 * @way: 1 when the rarer mode lies above the other, -1 when below.
 * The other arguments and what is left out are those of fb_tails_split().
 *
 * The distance of the modes, the share of the rarer one and the spread within a mode are the
 * same in both groups; the change moves both modes. EM finds the maximum. The five parameters
 * are integrated by Laplace's method, with the curvature that there would be if each boot's
 * mode were known: the more the modes overlap, the less this part claims.
 *
 * Source: A. Dempster, N. Laird and D. Rubin, JRSS B 39 (1977); G. McLachlan and D. Peel,
 * Finite Mixture Models (2000), chapter 2.
 */
double fb_modes_split(const struct fb_model_values *values, int way, double shape, double rate,
		      const struct fb_model_fit *start, struct fb_model_fit *ret_fit,
		      double *ret_ratio);

#endif
