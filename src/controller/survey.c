/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which cell and metric a bisection follows when the plan does not say. */
#include "src/controller/survey.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/util/json.h"
#include "src/util/util.h"

enum fb_direction fb_change_direction(enum fb_change change, const struct fb_cell *cell,
				      const char *metric)
{
	enum fb_direction worse = FB_DIRECTION_ANY;

	if (change == FB_CHANGE_ANY)
		return FB_DIRECTION_ANY;
	switch (fb_cell_better(cell, metric)) {
	case FB_BETTER_HIGHER:
		worse = FB_DIRECTION_DOWN;
		break;
	case FB_BETTER_LOWER:
		worse = FB_DIRECTION_UP;
		break;
	case FB_BETTER_NEITHER:
		return FB_DIRECTION_ANY;
	}
	return change == FB_CHANGE_REGRESSION ? worse : (enum fb_direction) - (int)worse;
}

struct fb_survey *fb_survey_new(const struct fb_plan *plan, enum fb_change change, int only_cell,
				const char *only_metric)
{
	struct fb_survey *survey = fb_xcalloc(1, sizeof(*survey));
	uint32_t good = 0;

	survey->plan = plan;
	survey->change = change;
	survey->only_cell = only_cell;
	survey->only_metric = only_metric ? fb_xstrdup(only_metric) : NULL;
	survey->dag = fb_dag_new();
	if (!survey->dag || fb_dag_add(survey->dag, NULL, 0) < 0 ||
	    fb_dag_add(survey->dag, &good, 1) < 0)
		abort(); /* out of memory, as fb_xmalloc() */
	return survey;
}

void fb_survey_free(struct fb_survey *survey)
{
	if (!survey)
		return;
	for (size_t i = 0; i < survey->nr; i++) {
		fb_search_free(survey->series[i].search);
		free(survey->series[i].value[FB_SURVEY_GOOD]);
		free(survey->series[i].value[FB_SURVEY_BAD]);
		free(survey->series[i].metric);
	}
	free(survey->series);
	fb_dag_free(survey->dag);
	free(survey->only_metric);
	free(survey);
}

json_t *fb_survey_values(const struct fb_survey *survey, const struct fb_store_boot *boot)
{
	json_t *values = json_object();

	for (size_t c = 0; c < survey->plan->nr_cells; c++) {
		FB_CLEANUP(fb_freep) char *key = NULL;

		if (survey->only_cell >= 0 && (size_t)survey->only_cell != c)
			continue;
		key = fb_cell_key(&survey->plan->cells[c]);
		for (size_t i = 0; i < boot->nr_samples; i++) {
			const struct fb_store_sample *s = &boot->samples[i];
			/* A metric without an entry is one that the user's command made: meant to
			 * be followed. */
			const struct fb_metric *m = fb_metric_find(s->metric);
			FB_CLEANUP(fb_freep) char *name = NULL;
			double v;

			if (strcmp(s->cell, key) ||
			    (survey->only_metric ? strcmp(s->metric, survey->only_metric) != 0
						 : m && !m->headline))
				continue;
			v = fb_boot_value(boot, key, s->metric);
			name = fb_xasprintf("%zu/%s", c, s->metric);
			if (isfinite(v))
				json_object_set_new(values, name, json_real(v));
		}
	}
	return values;
}

/* All series are known with the first boot: the same cells give the same metrics each time. */
static void make_series(struct fb_survey *survey, json_t *values)
{
	const struct fb_plan *plan = survey->plan;
	size_t k = json_object_size(values);
	const char *name;
	uint32_t good = 0;
	json_t *v;

	survey->series = fb_xcalloc(k, sizeof(*survey->series));
	json_object_foreach(values, name, v)
	{
		struct fb_survey_series *s = &survey->series[survey->nr++];
		char *slash;
		struct fb_search_params params = {
			.confidence = 1 - (1 - plan->confidence) / (double)k,
			.min_effect = plan->min_effect,
			.scale = FB_SCALE_LOG,
			.min_boots = plan->boots_min,
			.max_boots = plan->boots_max,
			.batch = 1,
		};

		s->cell = (int)strtol(name, &slash, 10);
		s->metric = fb_xstrdup(slash + 1);
		params.direction =
			fb_change_direction(survey->change, &plan->cells[s->cell], s->metric);
		s->search = fb_search_new(survey->dag, &good, 1, NULL, 0, 1, &params);
		s->dead = !s->search;
	}
}

void fb_survey_record(struct fb_survey *survey, enum fb_survey_end end, json_t *values)
{
	if (!survey->series)
		make_series(survey, values);
	for (size_t i = 0; i < survey->nr; i++) {
		struct fb_survey_series *s = &survey->series[i];
		FB_CLEANUP(fb_freep) char *name = fb_xasprintf("%d/%s", s->cell, s->metric);
		json_t *v = json_object_get(values, name);

		if (v) {
			FB_GROW(s->value[end], s->nr[end], s->cap[end]);
			s->value[end][s->nr[end]++] = json_real_value(v);
		}
		/* fb_search_record() refuses what has no logarithm. */
		s->dead = s->dead || !v || fb_search_record(s->search, end, json_real_value(v)) < 0;
	}
	survey->boots[end]++;
}

/* How far apart the ends are, in boot-to-boot spreads: orders the series, decides nothing. */
static double apart(const struct fb_survey_series *s)
{
	struct fb_verdict v;

	fb_search_verdict(s->search, &v);
	return fabs(v.effect) / (v.sigma > 1e-6 ? v.sigma : 1e-6);
}

enum fb_survey_state fb_survey_state(const struct fb_survey *survey,
				     const struct fb_survey_series **ret)
{
	const struct fb_survey_series *best = NULL;
	bool found = false, open = false, undecided = false;

	*ret = NULL;
	if (!survey->boots[FB_SURVEY_GOOD] || !survey->boots[FB_SURVEY_BAD])
		return FB_SURVEY_GO_ON;
	for (size_t i = 0; i < survey->nr; i++) {
		const struct fb_survey_series *s = &survey->series[i];
		struct fb_search_ask ask;
		struct fb_verdict v;
		bool changed;

		if (s->dead)
			continue;
		fb_search_verdict(s->search, &v);
		if (fb_search_next(s->search, &ask) == FB_SEARCH_MEASURE)
			open = true;
		else if (v.kind == FB_VERDICT_UNDECIDED)
			undecided = true;
		changed = v.kind == FB_VERDICT_FOUND;
		if (!best || (changed && !found) || (changed == found && apart(s) > apart(best)))
			best = s;
		found = found || changed;
	}
	if (!best)
		return FB_SURVEY_UNUSABLE;
	*ret = best;
	if (found)
		return FB_SURVEY_CHOSEN;
	if (open)
		return FB_SURVEY_GO_ON;
	return undecided ? FB_SURVEY_UNDECIDED : FB_SURVEY_NONE;
}

enum fb_survey_end fb_survey_next(const struct fb_survey *survey)
{
	unsigned g = survey->boots[FB_SURVEY_GOOD], b = survey->boots[FB_SURVEY_BAD];

	/* good, bad, bad, good, ...: a drift falls on both ends alike. */
	if (g != b)
		return g < b ? FB_SURVEY_GOOD : FB_SURVEY_BAD;
	return g % 2 ? FB_SURVEY_BAD : FB_SURVEY_GOOD;
}
