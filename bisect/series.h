/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Is a series of boots what the other estimates take it for: one population that stands still? */
#ifndef FB_BISECT_SERIES_H
#define FB_BISECT_SERIES_H

#include <stdbool.h>
#include <stddef.h>

/**
 * fb_series_drift() - Do the values rise or fall with time?
 * @x: in the order of time.
 * @ret_tau: Kendall's tau-a, from -1 (each below the one before) to 1; may be NULL.
 * @ret_p: the two-sided p value: small when there is a trend. Exact up to 100 different
 *	values; beyond that, and with equal ones, by the normal approximation with continuity
 *	correction. 1 for fewer than three values, and when all are equal.
 *
 * Return: 0, or -1 when memory runs out.
 * Source: H. B. Mann, "Nonparametric tests against trend", Econometrica 13 (1945);
 * M. G. Kendall, Rank Correlation Methods, 4th edition (1975), chapters 4 and 5 (ties), as
 * R's cor.test(method = "kendall") has it.
 */
int fb_series_drift(const double *x, size_t nr, double *ret_tau, double *ret_p);

#define FB_SERIES_MODES_LEVEL 0.01 /* chance that fb_series_modes() says "several" of one */

/**
 * fb_series_modes() - Do the values have more than one mode?
 * @ret_dip: largest distance of their distribution from the nearest one with a single mode;
 *	may be NULL.
 * @ret_several: whether the dip is above its 99 % point for uniform values, the least
 *	favourable ones; false for fewer than four values. Few boots show only modes that lie
 *	far apart (doc/statistics.md).
 *
 * Return: 0, or -1 when memory runs out.
 * Source: J. A. Hartigan and P. M. Hartigan, "The dip test of unimodality", Annals of
 * Statistics 13 (1985); P. M. Hartigan, algorithm AS 217, Applied Statistics 34 (1985).
 */
int fb_series_modes(const double *x, size_t nr, double *ret_dip, bool *ret_several);

#endif
