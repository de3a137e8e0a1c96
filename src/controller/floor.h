/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The noise of a metric where nothing changes: what a comparison of kernels has to rise above. */
#ifndef FB_CONTROLLER_FLOOR_H
#define FB_CONTROLLER_FLOOR_H

#include "bisect/variance.h"
#include "src/controller/measure.h"

#define FB_FLOOR_POWER	 0.9   /* chance that so many boots show an effect */
#define FB_FLOOR_MOST	 10000 /* boots of a kernel; more are not told */
#define FB_FLOOR_TARGETS 3     /* effects of 1, 2 and 5 % */
extern const double fb_floor_targets[FB_FLOOR_TARGETS];

/* Wall time, in seconds; NAN where no boot tells. */
struct fb_floor_cost {
	double boot; /* until the first workload begins */
	double run;  /* one run of every cell */
};

struct fb_floor {
	struct fb_variance split;     /* of logarithms where all values are positive */
	struct fb_variance_plan plan; /* .runs 0: the runs' variance or the times are not known */
	bool log_scale;
	double mean;  /* of the boots, whatever the scale of the split */
	double sd;    /* boot to boot, of one kernel: a share of the mean, NAN when not known */
	double floor; /* smallest change that as many boots of two kernels show; NAN: none is */
	unsigned need[FB_FLOOR_TARGETS]; /* boots of each kernel; 0: more than FB_FLOOR_MOST */
	double tau, drift_p;		 /* of the revision that drifts most, p for all of them */
	bool drifts, several_modes;
};

/** fb_floor_cost() - What the boots took, on average. */
struct fb_floor_cost fb_floor_cost(const struct fb_measured *m, size_t nr);

/**
 * fb_floor_of() - The noise of a metric over the boots of revisions that are thought to be equal.
 * @alpha: of calling two kernels different when they are not, one comparison.
 *
 * Each revision is a build. Numbers of boots are those of Student's test for one comparison
 * (fb_variance_replicates()), and never fewer than fb_measured_change() needs.
 *
 * Return: 0, or -1 when there is no value.
 */
int fb_floor_of(const struct fb_measured *m, size_t nr, const char *cell_key, const char *metric,
		double alpha, const struct fb_floor_cost *cost, struct fb_floor *ret);

#endif
