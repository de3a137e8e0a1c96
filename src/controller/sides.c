/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the boots on either side of a change gave. */
#include "src/controller/sides.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bisect/stats.h"
#include "src/util/util.h"

const struct fb_sides fb_sides_none = {NAN, NAN, NAN, NAN, NAN, NAN};

enum side { SIDE_GOOD, SIDE_BAD, SIDE_NONE };

static double relative_sd(const struct fb_sides_boot *boots, size_t nr)
{
	FB_CLEANUP(fb_freep) double *x = fb_xcalloc(nr, sizeof(*x));
	FB_CLEANUP(fb_freep) bool *done = fb_xcalloc(nr, sizeof(*done));
	double sum = 0;
	size_t df = 0;

	for (size_t i = 0; i < nr; i++) {
		double mean, ss;
		size_t n = 0;

		for (size_t j = i; j < nr && !done[i]; j++)
			if (boots[j].image == boots[i].image)
				x[n++] = boots[j].value;
		if (!n)
			continue;
		for (size_t j = i; j < nr; j++)
			done[j] = done[j] || boots[j].image == boots[i].image;
		mean = fb_stats_mean(x, n, &ss);
		sum += ss / (mean * mean);
		df += n - 1;
	}
	return df ? sqrt(sum / (double)df) : NAN;
}

struct fb_sides fb_sides_of(const struct fb_sides_boot *boots, size_t nr)
{
	FB_CLEANUP(fb_freep) double *good = fb_xcalloc(nr, sizeof(*good));
	FB_CLEANUP(fb_freep) double *bad = fb_xcalloc(nr, sizeof(*bad));
	size_t nr_good = 0, nr_bad = 0;
	struct fb_sides r = fb_sides_none;

	for (size_t i = 0; i < nr; i++) {
		if (boots[i].is_bad)
			bad[nr_bad++] = boots[i].value;
		else
			good[nr_good++] = boots[i].value;
	}
	if (!nr_good || !nr_bad)
		return r;
	r.mean_good = fb_stats_mean(good, nr_good, NULL);
	r.mean_bad = fb_stats_mean(bad, nr_bad, NULL);
	r.effect = r.mean_bad / r.mean_good - 1;
	r.sigma = relative_sd(boots, nr);
	if (nr_good > 1 && nr_bad > 1) {
		double shift, lo, hi;

		for (size_t i = 0; i < nr_good; i++)
			good[i] = good[i] / r.mean_good - 1;
		for (size_t i = 0; i < nr_bad; i++)
			bad[i] = bad[i] / r.mean_bad - 1 + log(r.mean_bad / r.mean_good);
		fb_stats_welch(good, nr_good, bad, nr_bad, 0.95, &shift, &lo, &hi);
		/* So few equal values do not make it certain. */
		if (hi - lo > 1e-12) {
			r.effect_lo = expm1(lo);
			r.effect_hi = expm1(hi);
		}
	}
	return r;
}

/* Nodes that have @culprit among their ancestors, or are it; parents have lower indices. */
static void sides_of_step(const struct fb_range *range, uint32_t culprit, enum side *side)
{
	for (uint32_t i = 0; i < range->nr; i++) {
		side[i] = i == culprit ? SIDE_BAD : SIDE_GOOD;
		for (uint32_t a = range->parent_start[i]; a < range->parent_start[i + 1]; a++)
			if (side[range->parent[a]] == SIDE_BAD)
				side[i] = SIDE_BAD;
	}
}

static void sides_of_ends(const struct fb_range *range, enum side *side)
{
	for (uint32_t i = 0; i < range->nr; i++)
		side[i] = i == range->bad ? SIDE_BAD : SIDE_NONE;
	for (uint32_t i = 0; i < range->nr_good; i++)
		side[range->good[i]] = SIDE_GOOD;
}

/* The first node that was built to the kernel of @node. */
static uint32_t image_of(const struct fb_bisect *b, uint32_t node)
{
	uint32_t i = 0;

	while (i < node && (!b->node[i].signature || !b->node[node].signature ||
			    strcmp(b->node[i].signature, b->node[node].signature) != 0))
		i++;
	return i;
}

/* A status is 0 or not, and the share of those that are not counts. */
static struct fb_sides rates_of(const struct fb_sides_boot *boots, size_t nr)
{
	struct fb_sides r = fb_sides_none;
	double failed[2] = {0}, n[2] = {0};

	for (size_t i = 0; i < nr; i++) {
		failed[boots[i].is_bad] += boots[i].value != 0;
		n[boots[i].is_bad]++;
	}
	if (n[0] > 0 && n[1] > 0) {
		r.mean_good = failed[0] / n[0];
		r.mean_bad = failed[1] / n[1];
		r.effect = r.mean_bad - r.mean_good;
	}
	return r;
}

struct fb_sides fb_sides_of_verdict(const struct fb_bisect *b, const struct fb_verdict *v)
{
	const struct fb_range *range = b->range;
	FB_CLEANUP(fb_freep) enum side *side = fb_xcalloc(range->nr, sizeof(*side));
	FB_CLEANUP(fb_freep) struct fb_sides_boot *boots = NULL;
	size_t nr = 0, cap = 0;

	if (b->by_status && !b->flaky)
		return fb_sides_none;
	/* No commit with boots lies between those of a range: one of them stands for all. */
	if ((v->kind == FB_VERDICT_FOUND || v->kind == FB_VERDICT_RANGE) && v->nr_nodes)
		sides_of_step(range, v->nodes[0], side);
	else
		sides_of_ends(range, side);
	for (uint32_t i = 0; i < range->nr; i++) {
		const struct fb_bisect_node *n = &b->node[i];
		uint32_t image = n->nr_values ? image_of(b, i) : 0;

		for (size_t k = 0; k < n->nr_values && side[i] != SIDE_NONE; k++) {
			FB_GROW(boots, nr, cap);
			boots[nr++] =
				(struct fb_sides_boot){n->values[k], image, side[i] == SIDE_BAD};
		}
	}
	return b->by_status ? rates_of(boots, nr) : fb_sides_of(boots, nr);
}

struct fb_sides fb_sides_of_survey(const struct fb_survey_series *series)
{
	size_t nr_good = series->nr[FB_SURVEY_GOOD], nr_bad = series->nr[FB_SURVEY_BAD], n = 0;
	FB_CLEANUP(fb_freep)
	struct fb_sides_boot *boots = fb_xcalloc(nr_good + nr_bad, sizeof(*boots));

	for (size_t i = 0; i < nr_good; i++)
		boots[n++] = (struct fb_sides_boot){series->value[FB_SURVEY_GOOD][i],
						    FB_SURVEY_GOOD, false};
	for (size_t i = 0; i < nr_bad; i++)
		boots[n++] = (struct fb_sides_boot){series->value[FB_SURVEY_BAD][i], FB_SURVEY_BAD,
						    true};
	return fb_sides_of(boots, n);
}
