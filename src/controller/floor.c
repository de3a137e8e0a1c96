/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The noise of a metric where nothing changes. */
#include "src/controller/floor.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bisect/series.h"
#include "src/util/util.h"

#define MAX_RUNS    100 /* of a cell in one boot, when runs cost nearly nothing */
#define DRIFT_LEVEL 0.01

const double fb_floor_targets[FB_FLOOR_TARGETS] = {0.01, 0.02, 0.05};

/* Runs of all cells that a boot gave values for, each counted once. */
static size_t runs_in(const struct fb_store_boot *boot, size_t *ret_cells)
{
	size_t runs = 0, cells = 0;

	for (size_t i = 0; i < boot->nr_samples; i++) {
		const struct fb_store_sample *s = &boot->samples[i];
		bool seen_run = false, seen_cell = false;

		for (size_t k = 0; k < i && !seen_run; k++) {
			const struct fb_store_sample *t = &boot->samples[k];

			if (strcmp(t->cell, s->cell) != 0)
				continue;
			seen_cell = true;
			seen_run = t->run == s->run;
		}
		runs += !seen_run;
		cells += !seen_cell;
	}
	*ret_cells = cells;
	return runs;
}

static double fact_s(const struct fb_store_boot *boot, const char *key)
{
	json_int_t ns = json_integer_value(json_object_get(boot->facts, key));

	return ns > 0 ? (double)ns / 1e9 : 0;
}

struct fb_floor_cost fb_floor_cost(const struct fb_measured *m, size_t nr)
{
	struct fb_floor_cost cost = {0};
	size_t n = 0;

	for (size_t i = 0; i < nr; i++)
		for (size_t j = 0; j < m[i].nr_boots; j++) {
			const struct fb_store_boot *boot = &m[i].boots[j];
			size_t cells, runs = runs_in(boot, &cells);
			double wall = (double)boot->wall_ns / 1e9;
			double start = fact_s(boot, "agent_ns");

			if (!runs || strcmp(boot->end, fb_end_name(FB_END_OK)) != 0)
				continue;
			cost.boot += start;
			cost.run += fmax(wall - start, 0) * (double)cells / (double)runs;
			n++;
		}
	cost.boot = n ? cost.boot / (double)n : NAN;
	cost.run = n ? cost.run / (double)n : NAN;
	return cost;
}

/* All runs of the boots that ended well; whether every value is positive. */
static struct fb_variance_run *all_runs(const struct fb_measured *m, size_t nr,
					const char *cell_key, const char *metric, size_t *ret_nr,
					bool *ret_positive)
{
	struct fb_variance_run *runs = NULL;
	size_t n = 0, cap = 0;

	*ret_positive = true;
	for (size_t i = 0; i < nr; i++)
		for (size_t j = 0; j < m[i].nr_boots; j++) {
			const struct fb_store_boot *boot = &m[i].boots[j];

			if (!isfinite(fb_boot_value(boot, cell_key, metric)))
				continue;
			for (size_t k = 0; k < boot->nr_samples; k++) {
				const struct fb_store_sample *s = &boot->samples[k];

				if (strcmp(s->metric, metric) != 0 ||
				    strcmp(s->cell, cell_key) != 0)
					continue;
				FB_GROW(runs, n, cap);
				runs[n++] = (struct fb_variance_run){(uint32_t)i, (uint32_t)j,
								     s->value};
				*ret_positive = *ret_positive && s->value > 0;
			}
		}
	*ret_nr = n;
	return runs;
}

struct timed {
	int64_t id; /* of the store: grows with time */
	double value;
};

static int by_time(const void *a, const void *b)
{
	const struct timed *x = a, *y = b;

	return (x->id > y->id) - (x->id < y->id);
}

static void look_at_series(const struct fb_measured *m, const char *cell_key, const char *metric,
			   size_t nr_revs, struct fb_floor *f)
{
	FB_CLEANUP(fb_freep) struct timed *t = fb_xcalloc(m->nr_boots, sizeof(*t));
	FB_CLEANUP(fb_freep) double *x = fb_xcalloc(m->nr_boots, sizeof(*x));
	double tau, p;
	bool several;
	size_t n = 0;

	for (size_t j = 0; j < m->nr_boots; j++) {
		double v = fb_boot_value(&m->boots[j], cell_key, metric);

		if (isfinite(v))
			t[n++] = (struct timed){m->boots[j].id, v};
	}
	qsort(t, n, sizeof(*t), by_time);
	for (size_t j = 0; j < n; j++)
		x[j] = t[j].value;
	if (fb_series_drift(x, n, &tau, &p) < 0 || fb_series_modes(x, n, NULL, &several) < 0)
		abort();		  /* out of memory, as fb_xmalloc() */
	p = fmin(1, p * (double)nr_revs); /* Bonferroni */
	if (n && p <= f->drift_p) {
		f->tau = tau;
		f->drift_p = p;
	}
	f->several_modes = f->several_modes || several;
}

static double mean_of_boots(const struct fb_measured *m, size_t nr, const char *cell_key,
			    const char *metric)
{
	double mean = 0;
	size_t n = 0;

	for (size_t i = 0; i < nr; i++)
		for (size_t j = 0; j < m[i].nr_boots; j++) {
			double v = fb_boot_value(&m[i].boots[j], cell_key, metric);

			if (!isfinite(v))
				continue;
			n++;
			mean += v / (double)n - mean / (double)n; /* a sum may be too large */
		}
	return mean;
}

/* On the scale of the split. */
static double on_scale(const struct fb_floor *f, double share)
{
	return f->log_scale ? log1p(share) : share * fabs(f->split.mean);
}

static double share_of(const struct fb_floor *f, double x)
{
	return f->log_scale ? expm1(x) : x / fabs(f->split.mean);
}

/* Smallest effect that @boots of each of two kernels show, to a thousandth of itself. */
static double smallest(double sd, unsigned boots, double alpha)
{
	double lo = 0, hi = sd;

	if (!(sd > 0))
		return 0;
	while (!fb_variance_replicates(sd, hi, alpha, FB_FLOOR_POWER, true, boots))
		hi *= 2;
	while (hi - lo > hi / 1000) {
		double mid = lo + (hi - lo) / 2;

		if (mid > 0 && fb_variance_replicates(sd, mid, alpha, FB_FLOOR_POWER, true, boots))
			hi = mid;
		else
			lo = mid;
	}
	return hi;
}

int fb_floor_of(const struct fb_measured *m, size_t nr, const char *cell_key, const char *metric,
		double alpha, const struct fb_floor_cost *cost, struct fb_floor *ret)
{
	struct fb_floor f = {.sd = NAN, .floor = NAN, .tau = 0, .drift_p = 1};
	unsigned least = fb_measured_least_boots(alpha);
	FB_CLEANUP(fb_freep) struct fb_variance_run *runs = NULL;
	size_t nr_runs, per_build;
	double sd;

	runs = all_runs(m, nr, cell_key, metric, &nr_runs, &f.log_scale);
	if (fb_variance_split(runs, nr_runs, f.log_scale, 0.95, &f.split) < 0)
		return -1;
	f.mean = mean_of_boots(m, nr, cell_key, metric);
	for (size_t i = 0; i < nr; i++)
		look_at_series(&m[i], cell_key, metric, nr, &f);
	f.drifts = f.drift_p <= DRIFT_LEVEL;
	if (f.split.part[FB_VARIANCE_RUN].state <= FB_VARIANCE_TRUNCATED && cost->boot > 0 &&
	    cost->run > 0)
		fb_variance_plan(&f.split,
				 &(struct fb_variance_cost){.boot = cost->boot, .run = cost->run},
				 MAX_RUNS, FB_FLOOR_MOST, &f.plan);
	sd = sqrt(f.split.boot_ms);
	if (isfinite(sd) && (f.log_scale || f.split.mean != 0)) {
		f.sd = share_of(&f, sd);
		per_build = f.split.nr_boots / f.split.nr_builds;
		if (per_build >= least)
			f.floor = share_of(&f, smallest(sd, (unsigned)per_build, alpha));
		for (size_t i = 0; i < FB_FLOOR_TARGETS; i++) {
			unsigned n =
				fb_variance_replicates(sd, on_scale(&f, fb_floor_targets[i]), alpha,
						       FB_FLOOR_POWER, true, FB_FLOOR_MOST);

			f.need[i] = n && n < least ? least : n;
		}
	}
	*ret = f;
	return 0;
}
