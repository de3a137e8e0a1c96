/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Many trials in made histories, on all CPUs, and their sums. */
#include "src/controller/simulate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bisect/stats.h"
#include "src/util/clock.h"
#include "src/util/parallel.h"
#include "src/util/util.h"

static const double bins[FB_NR_CALIBRATION + 1] = {0, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 1};

static void work(const void *ctx, size_t i, void *result)
{
	fb_world_trial(ctx, i, result);
}

static int by_size(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static void sum_boots(const struct fb_trial *trials, size_t nr, struct fb_simulation *s)
{
	FB_CLEANUP(fb_freep) uint32_t *boots = fb_xcalloc(nr, sizeof(*boots));
	double ss = 0;

	for (size_t i = 0; i < nr; i++) {
		boots[i] = trials[i].boots;
		s->boots_mean += boots[i];
	}
	s->boots_mean /= (double)nr;
	for (size_t i = 0; i < nr; i++)
		ss += (boots[i] - s->boots_mean) * (boots[i] - s->boots_mean);
	qsort(boots, nr, sizeof(*boots), by_size);
	s->boots_sd = nr > 1 ? sqrt(ss / (double)(nr - 1)) : 0;
	s->boots_median = (boots[(nr - 1) / 2] + boots[nr / 2]) / 2.0;
	s->boots_p95 = boots[(size_t)ceil(0.95 * (double)nr) - 1];
	s->boots_max = boots[nr - 1];
}

static void calibrate(const struct fb_trial *trial, struct fb_calibration *c)
{
	size_t bin = 0;

	if (trial->stated <= 0)
		return;
	while (bin < FB_NR_CALIBRATION - 1 && trial->stated > bins[bin + 1])
		bin++;
	c[bin].nr++;
	c[bin].stated += trial->stated;
	c[bin].right += trial->held;
}

static void sum(const struct fb_trial *trials, size_t nr, struct fb_simulation *s)
{
	double steps = 0;

	sum_boots(trials, nr, s);
	for (size_t i = 0; i < nr; i++) {
		const struct fb_trial *t = &trials[i];

		s->outcomes[t->outcome]++;
		s->commits_mean += t->commits / (double)nr;
		s->skips_mean += t->skips / (double)nr;
		s->cpu_mean_s += t->cpu_s / (double)nr;
		s->next_mean_s += t->next_s;
		s->next_max_s = fmax(s->next_max_s, t->next_max_s);
		steps += t->steps;
		calibrate(t, s->calibration);
	}
	s->next_mean_s = steps > 0 ? s->next_mean_s / steps : 0;
	for (size_t i = 0; i < FB_NR_CALIBRATION; i++) {
		struct fb_calibration *c = &s->calibration[i];

		c->lo = bins[i];
		c->hi = bins[i + 1];
		if (c->nr) {
			c->stated /= (double)c->nr;
			c->right /= (double)c->nr;
			c->se = sqrt(c->stated * fmax(0, 1 - c->stated) / (double)c->nr);
		}
	}
	s->wrong_upper = fb_stats_upper(s->outcomes[FB_OUTCOME_WRONG], nr, 0.95);
}

int fb_simulate(const struct fb_world *world, size_t trials, unsigned jobs,
		void (*tell)(void *ctx, size_t done), void *tell_ctx, struct fb_simulation *ret,
		struct fb_error *err)
{
	struct fb_parallel parallel = {
		.work = work,
		.ctx = world,
		.nr = trials,
		.size = sizeof(struct fb_trial),
		.jobs = jobs,
		.tell = tell,
		.tell_ctx = tell_ctx,
	};
	FB_CLEANUP(fb_freep) struct fb_trial *all = NULL;
	int64_t begin = fb_clock_mono_ns();
	struct fb_simulation s = {.trials = trials};

	if (fb_world_check(world, err) < 0)
		return -1;
	if (trials < 1)
		return fb_error_set(err, FB_ERROR_USAGE, "at least 1 trial");
	all = fb_xcalloc(trials, sizeof(*all));
	if (fb_parallel_run(&parallel, all, err) < 0)
		return -1;
	for (size_t i = 0; i < trials; i++)
		if (all[i].failure[0])
			return fb_error_set(err, FB_ERROR_USAGE, "trial %zu: %s", i,
					    all[i].failure);
	sum(all, trials, &s);
	s.bound = fb_world_bound(world, &s.bits);
	s.seconds = (double)(fb_clock_mono_ns() - begin) / (double)FB_NS_PER_S;
	*ret = s;
	return 0;
}
