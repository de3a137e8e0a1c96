/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Boots that look like the other side, and the images that may have nothing else.
 *
 * The likelihoods take all boots together, so where the sides lie far apart one or two boots of
 * an image can outweigh everything; but if a boot lands near the other side's level now and then,
 * two may do so in a row. This bounds that chance without a shape of the noise.
 */
#include "bisect/search-impl.h"

#include <math.h>
#include <stdlib.h>

static int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* The median of the boots on one side, which has some. */
static double median_of(struct fb_search *s, const struct fb_model_values *v, bool new)
{
	double *x = s->ratio;
	size_t nr = 0;

	for (size_t i = 0; i < v->nr; i++)
		if (v->new[i] == new)
			x[nr++] = v->value[i];
	qsort(x, nr, sizeof(*x), compare_doubles);
	return nr % 2 ? x[nr / 2] : (x[nr / 2 - 1] + x[nr / 2]) / 2;
}

/* Is the boot more than half of the way off, up (from the old level to the new one) or down? */
static bool is_stray(const double median[2], double value, bool new, bool up)
{
	double off = (value - median[new]) / (median[1] - median[0]);

	return up ? off > 0.5 : off < -0.5;
}

/*
 * P(all boots of an image are strays), when @strays of @nr others were.
 *
 * Source: the rule of succession, with a uniform prior of the rate; e.g. A. Gelman and others,
 * Bayesian Data Analysis (2013), section 2.1.
 */
static double all_are_strays(size_t boots, size_t strays, size_t nr)
{
	double p = 1;

	for (size_t b = 0; b < boots; b++)
		p *= (double)(strays + b + 1) / (double)(nr + b + 2);
	return p;
}

bool fb_ask_strays(struct fb_search *s, uint32_t leader)
{
	uint32_t led = s->cluster_of[leader];
	struct fb_model_values v = fb_values_of(s, led);
	double median[2];
	size_t at = 0, strays[2] = {0, 0}; /* down, up */

	for (int new = 0; new < 2; new ++)
		median[new] = median_of(s, &v, new);
	if (median[0] == median[1])
		return false;
	for (size_t b = 0; b < v.nr; b++)
		for (int up = 0; up < 2; up++)
			strays[up] += is_stray(median, v.value[b], v.new[b], up);
	for (size_t i = 0; i < s->nr_image; i++) {
		const struct image *im = &s->image[i];
		/* What looks new may be an old image whose boots went up, and the other way round.
		 */
		bool up = fb_reached(s, s->cluster[led].first, i);
		uint64_t without = s->cluster[led].reached_by ^ fb_image_hash(s, im);
		size_t others = strays[up];

		for (size_t b = 0; b < im->sum.nr; b++, at++)
			others -= is_stray(median, v.value[at], up, up);
		if (all_are_strays(im->sum.nr, others, v.nr - im->sum.nr) <=
		    1 - s->params.confidence)
			continue;
		for (uint32_t k = 0; k < s->nr_cluster; k++)
			if (s->cluster[k].reached_by == without &&
			    fb_ask(s, im->root, s->params.batch, FB_SEARCH_WHY_STEP))
				return true;
	}
	return false;
}
