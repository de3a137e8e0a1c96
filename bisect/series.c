/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tests of a series of boots: drift, modes. */
#include "bisect/series.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MATHLIB_STANDALONE
#include <Rmath.h>

#define EXACT_MAX 100 /* values: beyond that the normal approximation is as good */

static int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double *sorted_copy(const double *x, size_t nr)
{
	double *copy = malloc((nr + 1) * sizeof(*copy));

	if (!copy)
		return NULL;
	if (nr)
		memcpy(copy, x, nr * sizeof(*copy));
	qsort(copy, nr, sizeof(*copy), compare_doubles);
	return copy;
}

/*
 * P(at most @falling of the pairs of a random order fall): the coefficients of
 * prod (1 + q + ... + q^(i - 1)) / i, i = 1..nr, multiplied out factor by factor.
 */
static int at_most_falling(size_t nr, size_t falling, double *ret_p)
{
	size_t top = nr * (nr - 1) / 2;
	double *f = calloc(top + 1, sizeof(*f)), sum = 0;

	if (!f)
		return -1;
	f[0] = 1;
	for (size_t i = 2; i <= nr; i++) {
		/* Times (1 - q^i), over (1 - q), over i. */
		for (size_t u = top + 1; u-- > i;)
			f[u] -= f[u - i];
		for (size_t u = 1; u <= top; u++)
			f[u] += f[u - 1];
		for (size_t u = 0; u <= top; u++)
			f[u] /= (double)i;
	}
	for (size_t u = 0; u <= falling && u <= top; u++)
		sum += f[u];
	free(f);
	*ret_p = sum;
	return 0;
}

int fb_series_drift(const double *x, size_t nr, double *ret_tau, double *ret_p)
{
	double n = (double)nr, pairs = n * (n - 1) / 2, rising = 0, falling = 0, s, p = 1;
	double var = n * (n - 1) * (2 * n + 5) / 18;

	for (size_t i = 0; i < nr; i++)
		for (size_t j = i + 1; j < nr; j++) {
			rising += x[j] > x[i];
			falling += x[j] < x[i];
		}
	s = rising - falling;
	if (rising + falling < pairs) {
		double *sorted = sorted_copy(x, nr);

		if (!sorted)
			return -1;
		for (size_t i = 0, end; i < nr; i = end) {
			double t;

			for (end = i; end < nr && sorted[end] == sorted[i];)
				end++;
			t = (double)(end - i);
			var -= t * (t - 1) * (2 * t + 5) / 18;
		}
		free(sorted);
	}
	if (nr >= 3 && rising + falling == pairs && nr <= EXACT_MAX) {
		if (at_most_falling(nr, (size_t)fmin(rising, falling), &p) < 0)
			return -1;
		p = fmin(1, 2 * p);
	} else if (nr >= 3 && s != 0) {
		p = fmin(1, 2 * pnorm(-(fabs(s) - 1) / sqrt(var), 0, 1, 1, 0));
	}
	if (ret_tau)
		*ret_tau = pairs > 0 ? s / pairs : 0;
	*ret_p = p;
	return 0;
}

/* The corners of a hull of the points (x[i], i), i = lo..hi; x is sorted. */
struct hull {
	size_t *at; /* indices of points, rising */
	size_t nr;
};

/* The greatest convex minorant, or the least concave majorant. */
static void make_hull(const double *x, size_t lo, size_t hi, bool convex, struct hull *h)
{
	h->nr = 0;
	for (size_t c = lo; c <= hi; c++) {
		for (; h->nr > 1; h->nr--) {
			size_t a = h->at[h->nr - 2], b = h->at[h->nr - 1];
			double left = (double)(b - a) * (x[c] - x[b]);
			double right = (double)(c - b) * (x[b] - x[a]);

			if (convex ? left < right : left > right)
				break;
		}
		h->at[h->nr++] = c;
	}
}

/* Height of the point @i above the chord of the points @a and @b. */
static double above(const double *x, size_t a, size_t b, size_t i)
{
	double share = x[b] > x[a] ? (x[i] - x[a]) / (x[b] - x[a]) : 0;

	return (double)(i - a) - share * (double)(b - a);
}

/*
 * Where the two hulls are farthest apart, at an inner corner of one of them: from that
 * corner to the next one of the other hull is the interval that holds the mode.
 */
static double widest(const double *x, const struct hull *minor, const struct hull *major,
		     size_t *ret_minor, size_t *ret_major)
{
	double most = 1;

	*ret_minor = 0;
	*ret_major = major->nr - 1;
	for (size_t i = 1, j = 1; i + 1 < minor->nr; i++) {
		double d;

		while (major->at[j] < minor->at[i])
			j++;
		d = 1 - above(x, major->at[j - 1], major->at[j], minor->at[i]);
		if (d > most) {
			most = d;
			*ret_minor = i;
			*ret_major = j;
		}
	}
	for (size_t i = 0, j = 1; j + 1 < major->nr; j++) {
		double d;

		while (minor->at[i + 1] <= major->at[j])
			i++;
		d = 1 + above(x, minor->at[i], minor->at[i + 1], major->at[j]);
		if (d > most) {
			most = d;
			*ret_minor = i;
			*ret_major = j;
		}
	}
	return most;
}

/* Largest distance of the points from a hull between two of its corners; a step is 1 high. */
static double distance(const double *x, const struct hull *h, size_t from, size_t to, double sign)
{
	double most = 1;

	for (size_t k = from; k < to; k++)
		for (size_t i = h->at[k]; i <= h->at[k + 1] && x[h->at[k + 1]] > x[h->at[k]]; i++)
			most = fmax(most, 1 + sign * above(x, h->at[k], h->at[k + 1], i));
	return most;
}

/* Twice the dip, in points; @at has room for 2 * nr indices. */
static double dip_of(const double *x, size_t nr, size_t *at)
{
	struct hull minor = {at, 0}, major = {at + nr, 0};
	size_t lo = 0, hi = nr - 1, begin, end;
	double dip = 1;

	while (x[hi] > x[lo]) {
		make_hull(x, lo, hi, true, &minor);
		make_hull(x, lo, hi, false, &major);
		if (widest(x, &minor, &major, &begin, &end) < dip)
			break;
		dip = fmax(dip, distance(x, &minor, 0, begin, 1));
		dip = fmax(dip, distance(x, &major, end, major.nr - 1, -1));
		if (minor.at[begin] == lo && major.at[end] == hi)
			break;
		lo = minor.at[begin];
		hi = major.at[end];
	}
	return dip;
}

/*
 * 99 % points of the dip of uniform values, as M. Maechler's R package diptest 0.76-0 has
 * them from 1,000,001 simulations each: data(qDiptab), column "0.99".
 */
static const struct {
	double nr, dip;
} points[] = {
	{4, 0.2317963},	   {5, 0.1965091},   {6, 0.1918628},	 {7, 0.1841187},
	{8, 0.1729885},	   {9, 0.1641646},   {10, 0.1596842},	 {15, 0.1359836},
	{20, 0.120624},	   {30, 0.1014786},  {50, 0.08119984},	 {100, 0.05902413},
	{200, 0.04268648}, {500, 0.0274518}, {1000, 0.01960803},
};
#define NR_POINTS (sizeof(points) / sizeof(points[0]))

/* sqrt(nr) times the dip varies slowly with nr: that is what is interpolated. */
static double limit_of(double nr)
{
	size_t k = 1;
	double a, b, share;

	while (k + 1 < NR_POINTS && points[k].nr < nr)
		k++;
	a = sqrt(points[k - 1].nr) * points[k - 1].dip;
	b = sqrt(points[k].nr) * points[k].dip;
	share = fmin(1, (nr - points[k - 1].nr) / (points[k].nr - points[k - 1].nr));
	return (a + share * (b - a)) / sqrt(nr);
}

int fb_series_modes(const double *x, size_t nr, double *ret_dip, bool *ret_several)
{
	double *sorted = sorted_copy(x, nr), dip = 0;
	size_t *at = malloc((2 * nr + 1) * sizeof(*at));
	int rc = sorted && at ? 0 : -1;

	if (rc == 0) {
		if (nr)
			dip = dip_of(sorted, nr, at) / (2 * (double)nr);
		if (ret_dip)
			*ret_dip = dip;
		*ret_several = nr >= 4 && dip > limit_of((double)nr);
	}
	free(sorted);
	free(at);
	return rc;
}
