/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the boots on either side of a change gave: the numbers that a report shows beside the
 * values themselves. They are of those boots alone; the search's model has numbers of its own.
 */
#ifndef FB_CONTROLLER_SIDES_H
#define FB_CONTROLLER_SIDES_H

#include "src/controller/bisect.h"
#include "src/controller/survey.h"

struct fb_sides_boot {
	double value;
	uint32_t image; /* equal for boots of one kernel */
	bool is_bad;
};

/* NAN where the boots do not give it; all are while a side has none. */
struct fb_sides {
	double mean_good, mean_bad; /* in the metric's unit; of statuses, rates of failure */
	double effect, effect_lo, effect_hi; /* bad / good - 1, 95 % interval; rates: difference */
	double sigma; /* from boot to boot of one image, a share of its mean */
};

/** fb_sides_none - Nothing was measured. */
extern const struct fb_sides fb_sides_none;

/**
 * fb_sides_of() - Means of @boots (above zero), their ratio less 1, and its interval.
 *
 * The interval is Welch's for the difference of the logarithms of the two means, by the delta
 * method: log(mean) moves as value / mean. It needs two boots of each side and some spread.
 * The noise is the pooled standard deviation within images, relative to each image's mean.
 * Source: bisect/stats.h for Welch; G. Casella and R. L. Berger, Statistical Inference, 2nd
 * edition (2002), 5.5.4, for the delta method.
 */
struct fb_sides fb_sides_of(const struct fb_sides_boot *boots, size_t nr);

/**
 * fb_sides_of_verdict() - By the recorded boots of @b: those that lie on either side of the
 * commit (or range) that @v names, of the two ends when it names none.
 */
struct fb_sides fb_sides_of_verdict(const struct fb_bisect *b, const struct fb_verdict *v);

/** fb_sides_of_survey() - By the boots of the ends for one series of a survey. */
struct fb_sides fb_sides_of_survey(const struct fb_survey_series *series);

#endif
