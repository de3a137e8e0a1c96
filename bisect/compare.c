/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Two kernels compared by their boots. */
#include "bisect/compare.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bisect/stats.h"

/*
 * The values of theta, equally likely: for normal noise they fit shifts of about 0.7, 1.3,
 * 2, 2.8 and 4 standard deviations, theta / (1 + theta) being the chance that a boot of one
 * kernel is above one of the other. Shifts below about 0.4, where the true value is less than
 * the square root of the smallest one here, are never shown; they would need 350 boots.
 */
static const double thetas[] = {2.2, 4.7, 11.7, 42, 430};
#define NR_THETAS (sizeof(thetas) / sizeof(thetas[0]))

/* The boots of a block that has both sides, each sorted. */
struct block {
	const double *old, *new;
	size_t nr_old, nr_new;
};

struct sorted {
	double *values;
	struct block *blocks;
	size_t nr_blocks;
};

static void sorted_release(struct sorted *s)
{
	free(s->values);
	free(s->blocks);
}

static int compare_boots(const void *a, const void *b)
{
	const struct fb_compare_boot *x = a, *y = b;

	if (x->block != y->block)
		return x->block < y->block ? -1 : 1;
	if (x->is_new != y->is_new)
		return x->is_new ? 1 : -1;
	return (x->value > y->value) - (x->value < y->value);
}

static int check(double v, bool log_scale)
{
	return isfinite(v) && (!log_scale || v > 0) ? 0 : -1;
}

/* Sorts into blocks, leaves out those of one side, counts into @count. */
static int sort_blocks(const struct fb_compare_boot *boots, size_t nr, bool log_scale,
		       struct sorted *ret, struct fb_compare *count)
{
	struct fb_compare_boot *b = malloc((nr + 1) * sizeof(*b));
	struct sorted s = {malloc((nr + 1) * sizeof(*s.values)),
			   malloc((nr + 1) * sizeof(*s.blocks)), 0};
	int rc = b && s.values && s.blocks ? 0 : -1;

	for (size_t i = 0; i < nr && rc == 0; i++)
		rc = check(boots[i].value, log_scale);
	if (rc < 0) {
		free(b);
		sorted_release(&s);
		return -1;
	}
	if (nr)
		memcpy(b, boots, nr * sizeof(*b));
	qsort(b, nr, sizeof(*b), compare_boots);
	for (size_t i = 0; i < nr;) {
		struct block *block = &s.blocks[s.nr_blocks];
		uint32_t id = b[i].block;

		*block = (struct block){&s.values[i], NULL, 0, 0};
		for (; i < nr && b[i].block == id; i++) {
			s.values[i] = log_scale ? log(b[i].value) : b[i].value;
			if (b[i].is_new)
				block->nr_new++;
			else
				block->nr_old++;
		}
		block->new = block->old + block->nr_old;
		if (block->nr_old && block->nr_new) {
			count->nr_old += block->nr_old;
			count->nr_new += block->nr_new;
			s.nr_blocks++;
		} else {
			count->nr_alone += block->nr_old + block->nr_new;
		}
	}
	free(b);
	*ret = s;
	return 0;
}

/*
 * One value is drawn out of @nr_old + @nr_new: @favoured ones have theta times the chance of
 * others. Adds the logs of that chance against an equal one.
 */
static void draw(size_t nr_favoured, size_t nr_other, bool favoured, double *sum)
{
	double f = (double)nr_favoured, o = (double)nr_other;

	for (size_t k = 0; k < NR_THETAS; k++)
		sum[k] += log((favoured ? thetas[k] : 1) * (f + o) / (thetas[k] * f + o));
}

/*
 * Adds the log likelihood ratios of one block's order, new values lowered by @shift, for the
 * alternative that new is larger (@sign 1) or smaller (-1): for F to the power of theta the
 * values are drawn one after the other from the top, seen from the other end from the bottom.
 */
static void add_block(const struct block *b, double shift, int sign, double *from_top,
		      double *from_bottom)
{
	size_t i = 0, j = 0;

	while (i < b->nr_old || j < b->nr_new) {
		size_t nr_old = b->nr_old - i, nr_new = b->nr_new - j;
		bool new = !nr_old;

		/* Differences, not shifted values: a shift that is a difference must meet it. */
		if (nr_old && nr_new) {
			double d = b->new[j] - b->old[i];

			new = d < shift || (sign > 0 && !(d > shift));
		}
		if (sign > 0)
			draw(nr_old, nr_new, !new, from_bottom);
		else
			draw(nr_new, nr_old, new, from_bottom);
		if (new)
			j++;
		else
			i++;
	}
	while (i || j) {
		bool new = !i;

		if (i && j) {
			double d = b->new[j - 1] - b->old[i - 1];

			new = d > shift || (sign < 0 && !(d < shift));
		}
		if (sign > 0)
			draw(j, i, new, from_top);
		else
			draw(i, j, !new, from_top);
		if (new)
			j--;
		else
			i--;
	}
}

/* Log e-value against "new less @shift is not larger (@sign 1), not smaller (-1)". */
static double evidence(const struct sorted *s, double shift, int sign)
{
	double sum[2 * NR_THETAS] = {0}, all = -INFINITY;

	for (size_t i = 0; i < s->nr_blocks; i++)
		add_block(&s->blocks[i], shift, sign, sum, sum + NR_THETAS);
	for (size_t k = 0; k < 2 * NR_THETAS; k++)
		all = fb_stats_logsum(all, sum[k]);
	return all - log(2 * NR_THETAS);
}

/* Is a change of @least or more in this direction, of either if 0, ruled out? */
static bool is_small(const struct sorted *s, double least, int direction, double limit)
{
	return (direction < 0 || evidence(s, least, -1) >= limit) &&
	       (direction > 0 || evidence(s, -least, 1) >= limit);
}

int fb_compare_judge(const struct fb_compare_boot *boots, size_t nr,
		     const struct fb_compare_params *params, struct fb_compare *ret)
{
	struct fb_compare c = {.verdict = FB_COMPARE_OPEN};
	double limit = -log(params->alpha), least = params->min_effect;
	size_t nr_new = 0;
	struct sorted s;

	if (sort_blocks(boots, nr, params->log_scale, &s, &c) < 0)
		return -1;
	if (params->direction)
		c.log_evidence = evidence(&s, 0, params->direction);
	else /* half the stake on each side */
		c.log_evidence = fmax(evidence(&s, 0, 1), evidence(&s, 0, -1)) - log(2);
	for (size_t i = 0; i < nr; i++)
		nr_new += boots[i].is_new;
	if (params->log_scale)
		least = log1p(least);
	if (!s.nr_blocks && nr_new && nr_new < nr)
		c.verdict = FB_COMPARE_NOT_COMPARABLE;
	else if (least > 0 && is_small(&s, least, params->direction, limit))
		c.verdict = FB_COMPARE_SMALL;
	else if (c.log_evidence >= limit)
		c.verdict = FB_COMPARE_DIFFER;
	sorted_release(&s);
	*ret = c;
	return 0;
}

static int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* All differences within blocks, sorted; NULL when there is none or no memory. */
static double *differences(const struct sorted *s, size_t *ret_nr)
{
	size_t nr = 0, n = 0;
	double *diff;

	for (size_t i = 0; i < s->nr_blocks; i++)
		nr += s->blocks[i].nr_old * s->blocks[i].nr_new;
	diff = nr ? malloc(nr * sizeof(*diff)) : NULL;
	if (!diff)
		return NULL;
	for (size_t k = 0; k < s->nr_blocks; k++) {
		const struct block *b = &s->blocks[k];

		for (size_t i = 0; i < b->nr_old; i++)
			for (size_t j = 0; j < b->nr_new; j++)
				diff[n++] = b->new[j] - b->old[i];
	}
	qsort(diff, nr, sizeof(*diff), compare_doubles);
	*ret_nr = nr;
	return diff;
}

/*
 * The evidence for "larger" is constant from one difference up to the next and falls with
 * the shift; all shifts below the last difference before which it reaches the limit are out.
 */
static double lower_bound(const struct sorted *s, const double *diff, size_t nr, double limit)
{
	size_t out = 0, in = nr + 1; /* diff[out - 1] is a bound, diff[in - 1] is not */

	while (in - out > 1) {
		size_t mid = out + (in - out) / 2;

		if (evidence(s, mid > 1 ? diff[mid - 2] : -INFINITY, 1) >= limit)
			out = mid;
		else
			in = mid;
	}
	return out ? diff[out - 1] : -INFINITY;
}

static double upper_bound(const struct sorted *s, const double *diff, size_t nr, double limit)
{
	size_t out = 0, in = nr + 1; /* the same, counted from the end */

	while (in - out > 1) {
		size_t mid = out + (in - out) / 2;

		if (evidence(s, mid > 1 ? diff[nr - mid + 1] : INFINITY, -1) >= limit)
			out = mid;
		else
			in = mid;
	}
	return out ? diff[nr - out] : INFINITY;
}

/* From the scale that was calculated on to that of the answer. */
static void rescale(struct fb_compare_effect *e, bool log_scale)
{
	if (!log_scale)
		return;
	e->effect = expm1(e->effect);
	e->lo = expm1(e->lo);
	e->hi = expm1(e->hi);
}

int fb_compare_interval(const struct fb_compare_boot *boots, size_t nr,
			const struct fb_compare_params *params, struct fb_compare_effect *ret)
{
	struct fb_compare count = {.nr_old = 0};
	double limit = log(2) - log(params->alpha);
	struct sorted s;
	double *diff;
	size_t n;

	if (sort_blocks(boots, nr, params->log_scale, &s, &count) < 0)
		return -1;
	diff = differences(&s, &n);
	if (!diff) {
		sorted_release(&s);
		return -1;
	}
	ret->effect = (diff[(n - 1) / 2] + diff[n / 2]) / 2;
	ret->lo = lower_bound(&s, diff, n, limit);
	ret->hi = upper_bound(&s, diff, n, limit);
	ret->method = "sequential rank test";
	rescale(ret, params->log_scale);
	free(diff);
	sorted_release(&s);
	return 0;
}

static int copy_scaled(const double *x, size_t nr, bool log_scale, double *to)
{
	for (size_t i = 0; i < nr; i++) {
		if (check(x[i], log_scale) < 0)
			return -1;
		to[i] = log_scale ? log(x[i]) : x[i];
	}
	return 0;
}

int fb_compare_effect(const double *old, size_t nr_old, const double *new, size_t nr_new,
		      bool log_scale, double level, struct fb_compare_effect *ret)
{
	double *x = malloc((nr_old + nr_new + 1) * sizeof(*x));
	struct fb_compare_effect e;
	int rc = x ? 0 : -1;

	if (rc == 0 && (copy_scaled(old, nr_old, log_scale, x) < 0 ||
			copy_scaled(new, nr_new, log_scale, x + nr_old) < 0))
		rc = -1;
	if (rc == 0)
		rc = fb_stats_hodges_lehmann(x, nr_old, x + nr_old, nr_new, level, &e.effect, &e.lo,
					     &e.hi);
	if (rc == 0) {
		e.method = "Hodges-Lehmann";
		if (isinf(e.lo) && nr_old > 1 && nr_new > 1) {
			e.method = "Welch";
			fb_stats_welch(x, nr_old, x + nr_old, nr_new, level, &e.effect, &e.lo,
				       &e.hi);
			if (!(e.lo < e.hi)) { /* so few equal values do not make it certain */
				e.lo = -INFINITY;
				e.hi = INFINITY;
			}
		}
		rescale(&e, log_scale);
		*ret = e;
	}
	free(x);
	return rc;
}
