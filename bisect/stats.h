/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Two-sample estimates and the information of a noisy boot; pure functions of their arguments. */
#ifndef FB_BISECT_STATS_H
#define FB_BISECT_STATS_H

#include <stddef.h>

/**
 * fb_stats_mean() - Mean and sum of squared deviations of @x, in the order given.
 * @ret_ss: sum of (x - mean)^2; may be NULL.
 *
 * Return: the mean; 0 when @nr is 0.
 */
double fb_stats_mean(const double *x, size_t nr, double *ret_ss);

/** fb_stats_logsum() - log(exp(a) + exp(b)) without overflow; -INFINITY is log(0). */
double fb_stats_logsum(double a, double b);

/** fb_stats_entropy() - Of one outcome with probability @p, in bits; 0 at and beyond 0 and 1. */
double fb_stats_entropy(double p);

/**
 * fb_stats_welch() - Difference of the means (@b less @a) with Welch's interval.
 * @a, @b: at least two values each.
 * @level: of the interval, e.g. 0.95; its ends meet when neither side has any spread.
 *
 * Source: B. L. Welch, "The generalization of 'Student's' problem when several different
 * population variances are involved", Biometrika 34 (1947), as R's t.test() has it.
 */
void fb_stats_welch(const double *a, size_t na, const double *b, size_t nb, double level,
		    double *ret_shift, double *ret_lo, double *ret_hi);

/**
 * fb_stats_hodges_lehmann() - Shift of @b against @a: median of all differences.
 * @level: of the interval, e.g. 0.95.
 * @ret_lo, @ret_hi: exact Mann-Whitney interval (ties make it conservative); -+INFINITY
 *	where so few values cannot give the level.
 *
 * Return: 0, or -1 when memory runs out or a side is empty.
 * Source: J. L. Hodges and E. L. Lehmann, Annals of Mathematical Statistics 34 (1963);
 * the interval as R's wilcox.test(conf.int = TRUE, exact = TRUE) has it.
 */
int fb_stats_hodges_lehmann(const double *a, size_t na, const double *b, size_t nb, double level,
			    double *ret_shift, double *ret_lo, double *ret_hi);

/**
 * fb_stats_boot_bits() - About what one normal value tells about a yes/no question, in bits.
 * @p: probability of yes before it.
 * @d: distance of the two means in standard deviations.
 *
 * The mutual information of a binary input and its Gaussian observation; at p = 1/2 it is
 * the capacity C(d) of the binary-input Gaussian channel. Off by at most this share of the
 * entropy of p (t/u-stats.c): 0.2 % at p = 1/2, 1 % at 0.3, 6 % at 0.1, 19 % at 0.001. Ranking
 * all nodes by the exact integral needs as many boots, and much more time.
 *
 * Source: at p = 1/2 the fit of F. Braennstroem, L. Rasmussen and A. Grant, IEEE Transactions
 * on Information Theory 51 (2005); elsewhere the distance is scaled so that it is exact for
 * small distances.
 */
double fb_stats_boot_bits(double p, double d);

/**
 * fb_stats_upper() - Upper confidence bound of a share after @hits of @trials.
 *
 * Source: C. J. Clopper and E. S. Pearson, Biometrika 26 (1934), one-sided at @level.
 */
double fb_stats_upper(size_t hits, size_t trials, double level);

#endif
