/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which cell and metric a bisection follows when the plan does not say: both ends run
 * the whole matrix until some headline metric differs for sure, or none does.
 *
 * Each of the K series is tested at confidence 1 - (1 - c) / K (Bonferroni), so that the
 * chance of a false start over the whole matrix stays 1 - c. The bisection that follows
 * begins with fresh boots of the chosen cell alone, so the choice does not bias it.
 */
#ifndef FB_CONTROLLER_SURVEY_H
#define FB_CONTROLLER_SURVEY_H

#include "src/controller/bisect.h"

enum fb_survey_end { FB_SURVEY_GOOD, FB_SURVEY_BAD };

struct fb_survey_series {
	int cell;
	char *metric;
	struct fb_search *search;
	double *value[2]; /* by end, in the order of recording */
	size_t nr[2], cap[2];
	bool dead; /* not positive, or missing in some boot: cannot be followed */
};

struct fb_survey {
	const struct fb_plan *plan;
	struct fb_dag *dag; /* good end, bad end */
	enum fb_change change;
	int only_cell;	   /* -1: all */
	char *only_metric; /* NULL: all headline metrics */
	struct fb_survey_series *series;
	size_t nr;
	unsigned boots[2];
};

/** fb_survey_new() - Nothing measured yet. */
struct fb_survey *fb_survey_new(const struct fb_plan *plan, enum fb_change change, int only_cell,
				const char *only_metric);
void fb_survey_free(struct fb_survey *survey);

/** fb_survey_values() - The values a boot contributes: {"CELL/METRIC": value}; new reference. */
json_t *fb_survey_values(const struct fb_survey *survey, const struct fb_store_boot *boot);

/** fb_survey_record() - Take the values of one boot (as fb_survey_values() made them). */
void fb_survey_record(struct fb_survey *survey, enum fb_survey_end end, json_t *values);

enum fb_survey_state {
	FB_SURVEY_GO_ON,
	FB_SURVEY_CHOSEN,    /* *ret is the series that changed most surely */
	FB_SURVEY_NONE,	     /* no series changed; *ret is the one that came nearest */
	FB_SURVEY_UNDECIDED, /* the boots ran out; *ret likewise */
	FB_SURVEY_UNUSABLE,  /* no series can be followed: *ret is NULL */
};

enum fb_survey_state fb_survey_state(const struct fb_survey *survey,
				     const struct fb_survey_series **ret);

/** fb_survey_next() - The end to boot next. */
enum fb_survey_end fb_survey_next(const struct fb_survey *survey);

/** fb_change_direction() - How @metric of @cell moves when the change looked for happens. */
enum fb_direction fb_change_direction(enum fb_change change, const struct fb_cell *cell,
				      const char *metric);

#endif
