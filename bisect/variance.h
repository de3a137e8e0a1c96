/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where the noise comes from: the variance of a measured value split into that of builds,
 * of boots of one build and of runs in one boot, and what follows from it: how many runs of
 * a boot are worth their time, and how many boots show an effect of a given size.
 *
 *	value = mean + build + boot + run,	each with expectation 0 and a variance of its own
 *
 * "Build" is a kernel image. Images of different commits may be given together; what the
 * commits differ in is then part of the build's variance, not of the other two.
 */
#ifndef FB_BISECT_VARIANCE_H
#define FB_BISECT_VARIANCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** struct fb_variance_run - One value with the place that it has. */
struct fb_variance_run {
	uint32_t build;
	uint32_t boot; /* of that build */
	double value;
};

enum fb_variance_level {
	FB_VARIANCE_BUILD,
	FB_VARIANCE_BOOT,
	FB_VARIANCE_RUN,
	FB_VARIANCE_LEVELS,
};

enum fb_variance_state {
	FB_VARIANCE_ESTIMATED,
	FB_VARIANCE_TRUNCATED, /* the estimate was negative, 0 stands for it; .raw has it */
	FB_VARIANCE_MERGED,    /* was never repeated: it is in the figure of the level above */
	FB_VARIANCE_UNKNOWN,   /* was never repeated, nor was a level above */
};

/** struct fb_variance_part - Variance of one level; NAN where merged or unknown. */
struct fb_variance_part {
	enum fb_variance_state state;
	double var;    /* at least 0 */
	double raw;    /* unbiased, may be negative */
	double lo, hi; /* interval, at least 0 */
	size_t df;     /* degrees of freedom of the level's mean square */
};

struct fb_variance {
	struct fb_variance_part part[FB_VARIANCE_LEVELS];
	double mean;		 /* of the builds' means of boots' means */
	double mean_lo, mean_hi; /* from builds, else from boots; -+INFINITY when one of each */
	double boot_ms; /* mean square of the boots' means within builds; NAN without any */
	size_t nr_builds, nr_boots, nr_runs;
};

/**
 * fb_variance_split() - Estimate the three variances from nested data, balanced or not.
 * @runs: the runs of one boot adjacent, and the boots of one build; boots of one build are
 *	told apart by .boot, neighbouring builds by .build.
 * @log_scale: take logarithms first; variances are then those of ratios (0.01 squared: 1 %).
 * @level: of the intervals, e.g. 0.95.
 *
 * Mean squares are those of unweighted means, so a boot counts once, however many runs it
 * has. Where all boots have equally many runs and all builds equally many boots the
 * estimates are those of the analysis of variance.
 *
 * Return: 0, or -1 when there is no value, one is not finite, or one is not positive on the
 * log scale.
 * Source: T. Kalibera and R. Jones, "Rigorous benchmarking in reasonable time", ISMM 2013,
 * section 9 (estimates); J. D. Thomas and R. A. Hultquist, Annals of Statistics 6 (1978)
 * (unweighted mean squares of unbalanced data are nearly chi-squared); N. Ting, R. K.
 * Burdick, F. A. Graybill, S. Jeyaratnam and T.-F. C. Lu, Journal of Statistical Computation
 * and Simulation 35 (1990) (interval of a difference of mean squares); F. E. Satterthwaite,
 * Biometrics Bulletin 2 (1946) (freedom of a sum of mean squares).
 */
int fb_variance_split(const struct fb_variance_run *runs, size_t nr, bool log_scale, double level,
		      struct fb_variance *ret);

/** struct fb_variance_cost - What one more costs, without what is inside it; same unit. */
struct fb_variance_cost {
	double build, boot, run;
};

struct fb_variance_plan {
	unsigned runs;	   /* in a boot; 0 where the run's variance is not known */
	unsigned boots;	   /* of a build; 0 where the build's variance is not known */
	bool at_most_runs; /* .runs is the limit: more would be better still */
	bool at_most_boots;
	double boot_var; /* of the mean of .runs runs of one boot, within one build */
};

/**
 * fb_variance_plan() - Runs in a boot and boots of a build that give the smallest variance
 * of the mean for a given total cost.
 * @max_runs, @max_boots: at least 1; the answer where a variance above is 0.
 *
 * The product of variance and cost is what counts. It is minimised over whole numbers: over
 * all runs up to @max_runs, and for each over the boots by Cochran's rule.
 *
 * Source: Kalibera and Jones, as above, section 8.3 (which rounds the real optimum up);
 * W. G. Cochran, Sampling Techniques, 3rd edition (1977), section 10.6.
 */
void fb_variance_plan(const struct fb_variance *v, const struct fb_variance_cost *cost,
		      unsigned max_runs, unsigned max_boots, struct fb_variance_plan *ret);

/**
 * fb_variance_replicates() - Replicates needed on each of two sides to see an effect.
 * @sd: of one replicate: sqrt(boot_var) for boots of one build a side, or that of a build's
 *	mean for builds.
 * @effect: difference of the means, in the unit of @sd: on the log scale log(1 + E).
 * @alpha, @power: of the test, e.g. 0.01 and 0.9.
 * @two_sided: the test is.
 * @max: at least 2.
 *
 * For Student's test of a fixed number of replicates; a sequential one (bisect/compare.h)
 * takes about as many on average for an effect of that size, fewer for a larger one.
 *
 * Return: 2 .. @max, or 0 when @max are too few.
 * Source: the noncentral t distribution, as R's power.t.test(strict = TRUE) has it.
 */
unsigned fb_variance_replicates(double sd, double effect, double alpha, double power,
				bool two_sided, unsigned max);

#endif
