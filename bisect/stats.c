/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Two-sample estimates and the information of a noisy boot. */
#include "bisect/stats.h"

#include <math.h>
#include <stdlib.h>

#define MATHLIB_STANDALONE
#include <Rmath.h>

double fb_stats_mean(const double *x, size_t nr, double *ret_ss)
{
	double mean = 0, ss = 0;

	/* Two passes: values of one counter may agree in all but the last digits. */
	for (size_t i = 0; i < nr; i++)
		mean += (x[i] - mean) / (double)(i + 1);
	for (size_t i = 0; i < nr; i++)
		ss += (x[i] - mean) * (x[i] - mean);
	if (ret_ss)
		*ret_ss = ss;
	return mean;
}

double fb_stats_logsum(double a, double b)
{
	double hi = a > b ? a : b, lo = a > b ? b : a;

	if (isinf(lo) && lo < 0)
		return hi;
	return hi + log1p(exp(lo - hi));
}

double fb_stats_entropy(double p)
{
	return p > 0 && p < 1 ? -p * log2(p) - (1 - p) * log2(1 - p) : 0;
}

void fb_stats_welch(const double *a, size_t na, const double *b, size_t nb, double level,
		    double *ret_shift, double *ret_lo, double *ret_hi)
{
	double ssa, ssb;
	double ma = fb_stats_mean(a, na, &ssa), mb = fb_stats_mean(b, nb, &ssb);
	double va = ssa / (double)(na - 1) / (double)na, vb = ssb / (double)(nb - 1) / (double)nb;
	double v = va + vb, half = 0;

	if (v > 0) {
		double df = v * v / (va * va / (double)(na - 1) + vb * vb / (double)(nb - 1));

		half = qt((1 - level) / 2, df, 0, 0) * sqrt(v);
	}
	*ret_shift = mb - ma;
	*ret_lo = mb - ma - half;
	*ret_hi = mb - ma + half;
}

static int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/*
 * The number k of smallest differences that the interval leaves out on each side: the
 * largest k with P(U < k) <= tail under equal distributions, U being Mann and Whitney's
 * statistic. Its distribution is the coefficients of the Gaussian binomial
 * prod (1 - q^(nb + i)) / (1 - q^i), i = 1..na, multiplied out factor by factor.
 * R's qwilcox() keeps its tables in static variables, so it is not used here.
 */
static int mann_whitney_cut(size_t na, size_t nb, double tail, size_t *ret_k)
{
	size_t top = na * nb;
	double *f = calloc(top + 1, sizeof(*f));
	double total = 0, sum = 0;
	size_t k = 0;

	if (!f)
		return -1;
	f[0] = 1;
	for (size_t i = 1; i <= na; i++) {
		for (size_t u = top + 1; u-- > nb + i;)
			f[u] -= f[u - nb - i];
		for (size_t u = i; u <= top; u++)
			f[u] += f[u - i];
	}
	for (size_t u = 0; u <= top; u++)
		total += f[u];
	while (k < top && sum + f[k] <= tail * total)
		sum += f[k++];
	free(f);
	*ret_k = k;
	return 0;
}

int fb_stats_hodges_lehmann(const double *a, size_t na, const double *b, size_t nb, double level,
			    double *ret_shift, double *ret_lo, double *ret_hi)
{
	size_t nr = na * nb, k = 0;
	double *diff;

	if (!nr)
		return -1;
	diff = malloc(nr * sizeof(*diff));
	if (!diff)
		return -1;
	for (size_t i = 0; i < na; i++)
		for (size_t j = 0; j < nb; j++)
			diff[i * nb + j] = b[j] - a[i];
	qsort(diff, nr, sizeof(*diff), compare_doubles);

	/* Beyond this size the coefficients leave the exact range of a double; n is then ample. */
	if (na + nb > 50) {
		double mid = (double)nr / 2, sd = sqrt((double)nr * (double)(na + nb + 1) / 12);
		double cut = floor(mid + qnorm((1 - level) / 2, 0, 1, 1, 0) * sd);

		k = cut > 0 ? (size_t)cut : 0;
	} else if (mann_whitney_cut(na, nb, (1 - level) / 2, &k) < 0) {
		free(diff);
		return -1;
	}
	*ret_shift = nr % 2 ? diff[nr / 2] : (diff[nr / 2 - 1] + diff[nr / 2]) / 2;
	*ret_lo = k ? diff[k - 1] : -INFINITY;
	*ret_hi = k ? diff[nr - k] : INFINITY;
	free(diff);
	return 0;
}

double fb_stats_boot_bits(double p, double d)
{
	double h;

	if (!(p > 0) || !(p < 1) || !(d > 0))
		return 0;
	h = -p * log2(p) - (1 - p) * log2(1 - p);
	d *= sqrt(4 * p * (1 - p) / h);
	return h * pow(1 - exp2(-0.3073 * pow(d, 2 * 0.8935)), 1.1064);
}

double fb_stats_upper(size_t hits, size_t trials, double level)
{
	if (hits >= trials)
		return 1;
	return qbeta(level, (double)hits + 1, (double)(trials - hits), 1, 0);
}
