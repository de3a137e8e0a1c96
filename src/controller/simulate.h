/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How the search behaves: many trials in made histories, on all CPUs, and their sums. */
#ifndef FB_CONTROLLER_SIMULATE_H
#define FB_CONTROLLER_SIMULATE_H

#include <stddef.h>

#include "src/controller/world.h"
#include "src/util/error.h"

/* Answers that name commits, by the probability that they stated. */
struct fb_calibration {
	double lo, hi; /* stated: above lo (the first: at least), at most hi */
	size_t nr;
	double stated; /* mean */
	double right;  /* observed share; 0 when .nr is 0 */
	double se;     /* its standard error, were it the one stated */
};

#define FB_NR_CALIBRATION 8

struct fb_simulation {
	size_t trials;
	size_t outcomes[FB_NR_OUTCOMES];
	double boots_mean, boots_sd, boots_median, boots_p95, boots_max;
	double commits_mean; /* distinct ones that were booted */
	double skips_mean;   /* found untestable */
	double wrong_upper;  /* 95 % upper bound of the share wrong (Clopper-Pearson) */
	double bound, bits;  /* fb_world_bound(); 0: not known */
	struct fb_calibration calibration[FB_NR_CALIBRATION];
	double seconds;			/* wall time of all */
	double cpu_mean_s;		/* of a trial, world and noise included */
	double next_mean_s, next_max_s; /* of choosing the next commit */
};

/**
 * fb_simulate() - Run @trials trials in @world, split over @jobs processes (0: one for each CPU).
 * @tell: called about once a second with the number that is done; may be NULL.
 *
 * All but the times depends on @world and @trials only.
 *
 * Errors: FB_ERROR_USAGE for a world that is none, FB_ERROR_SYSTEM, FB_ERROR_CHILD.
 */
int fb_simulate(const struct fb_world *world, size_t trials, unsigned jobs,
		void (*tell)(void *ctx, size_t done), void *tell_ctx, struct fb_simulation *ret,
		struct fb_error *err);

#endif
