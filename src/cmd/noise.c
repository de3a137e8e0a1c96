/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `firstbad noise`: how far do values move when nothing changes? */
#include <math.h>
#include <string.h>

#include "src/cmd/measuring.h"
#include "src/controller/floor.h"
#include "src/util/json.h"
#include "src/util/util.h"

#define BOOTS 10

static const char *const levels[] = {"builds", "boots", "runs"};

/* A standard deviation on the scale of the split, as a share of the mean. */
static double share(const struct fb_floor *f, double sd)
{
	return f->log_scale ? expm1(sd) : sd / fabs(f->split.mean);
}

static void print_part(const struct fb_floor *f, enum fb_variance_level level, struct fb_str *out)
{
	const struct fb_variance_part *p = &f->split.part[level];

	fb_str_addf(out, "%s%s ", level ? ", " : "", levels[level]);
	switch (p->state) {
	case FB_VARIANCE_ESTIMATED:
	case FB_VARIANCE_TRUNCATED:
		fb_str_addf(out, "%.2f%%", 100 * share(f, sqrt(p->var)));
		break;
	case FB_VARIANCE_MERGED:
		fb_str_addf(out, "in that of %s", levels[level - 1]);
		break;
	case FB_VARIANCE_UNKNOWN:
		fb_str_add(out, "not known");
		break;
	}
}

static void print_row(const struct fb_floor *f, const struct fb_floor_cost *cost,
		      struct fb_str *out)
{
	fb_str_add(out, "    spread  ");
	if (isnan(f->sd)) {
		fb_str_add(out, "not known: it takes two boots, and a mean other than 0\n");
		return;
	}
	fb_str_addf(out, "%.2f%% from boot to boot (", 100 * f->sd);
	for (int i = 0; i < FB_VARIANCE_LEVELS; i++)
		print_part(f, (enum fb_variance_level)i, out);
	fb_str_add(out, ")\n    floor   ");
	if (isnan(f->floor))
		fb_str_addf(out, "not known: %zu boots show nothing\n", f->split.nr_boots);
	else
		fb_str_addf(out,
			    "%.2f%%: smaller changes do not show with %zu boots of each kernel\n",
			    100 * f->floor, f->split.nr_boots / f->split.nr_builds);
	fb_str_add(out, "    boots  ");
	for (size_t i = 0; i < FB_FLOOR_TARGETS; i++) {
		fb_str_addf(out, "%s %.0f%%: ", i ? "," : "", 100 * fb_floor_targets[i]);
		if (f->need[i])
			fb_str_addf(out, "%u", f->need[i]);
		else
			fb_str_addf(out, "more than %d", FB_FLOOR_MOST);
	}
	fb_str_add(out, " of each kernel\n    runs    ");
	if (f->plan.runs)
		fb_str_addf(out,
			    "%u%s in a boot are worth their time (boot %.1f s, run of all cells "
			    "%.1f s)\n",
			    f->plan.runs, f->plan.at_most_runs ? " or more" : "", cost->boot,
			    cost->run);
	else if (f->split.part[FB_VARIANCE_RUN].state > FB_VARIANCE_TRUNCATED)
		fb_str_add(out, "not known: give the cell 'runs: 2' or more\n");
	else
		fb_str_add(out, "as many as you like: a boot by itself takes no time\n");
	if (f->several_modes)
		fb_str_add(out, "    SEVERAL MODES: boots fall into groups\n");
	if (f->drifts)
		fb_str_addf(out, "    DRIFTS: values %s with time (Kendall's tau %+.2f, p %.2g)\n",
			    f->tau > 0 ? "rise" : "fall", f->tau, f->drift_p);
}

static void set_real(json_t *o, const char *key, double v)
{
	if (isfinite(v))
		json_object_set_new(o, key, json_real(v));
}

static json_t *row_json(const char *cell_key, const char *metric, const struct fb_floor *f)
{
	json_t *o = json_pack("{s:s, s:s, s:i, s:i, s:i, s:b, s:b}", "cell", cell_key, "metric",
			      metric, "builds", (int)f->split.nr_builds, "boots",
			      (int)f->split.nr_boots, "runs", (int)f->split.nr_runs, "drifts",
			      (int)f->drifts, "several_modes", (int)f->several_modes);
	json_t *need = json_object();

	set_real(o, "mean", f->mean);
	set_real(o, "sd", f->sd);
	set_real(o, "floor", f->floor);
	for (size_t i = 0; i < FB_VARIANCE_LEVELS; i++)
		if (f->split.part[i].state <= FB_VARIANCE_TRUNCATED) {
			FB_CLEANUP(fb_freep) char *key = fb_xasprintf("sd_%s", levels[i]);

			set_real(o, key, share(f, sqrt(f->split.part[i].var)));
		}
	for (size_t i = 0; i < FB_FLOOR_TARGETS; i++) {
		FB_CLEANUP(fb_freep) char *key = fb_xasprintf("%.0f%%", 100 * fb_floor_targets[i]);

		if (f->need[i])
			json_object_set_new(need, key, json_integer((json_int_t)f->need[i]));
	}
	json_object_set_new(o, "boots_for", need);
	if (f->plan.runs)
		json_object_set_new(o, "runs_worth", json_integer((json_int_t)f->plan.runs));
	set_real(o, "drift_tau", f->tau);
	set_real(o, "drift_p", f->drift_p);
	return o;
}

/* A revision that gives few values, or none, says why: the first of its failures. */
static void print_rev(const struct fb_measured *m, struct fb_str *out)
{
	const struct fb_store_boot *failed = NULL;
	size_t bad = 0;

	fb_str_addf(out, "%.12s  ", m->commit.hex);
	if (m->cause) {
		fb_str_addf(out, "does not build: %s\n", m->cause);
		return;
	}
	for (size_t i = m->nr_boots; i > 0; i--)
		if (strcmp(m->boots[i - 1].end, fb_end_name(FB_END_OK)) != 0) {
			failed = &m->boots[i - 1];
			bad++;
		}
	fb_str_addf(out, "%zu boot%s", m->nr_boots, fb_plural(m->nr_boots));
	if (failed)
		fb_str_addf(out, ", %zu failed\n    seed %llu: %s%s%s", bad,
			    (unsigned long long)failed->seed, failed->end, failed->why ? ": " : "",
			    failed->why ? failed->why : "");
	fb_str_add(out, "\n");
}

/* Text, or rows of JSON; returns the number of series that have values. */
static size_t tell(const struct fb_plan *plan, const struct fb_measuring *me, bool all,
		   json_t *rows, struct fb_str *out)
{
	struct fb_floor_cost cost = fb_floor_cost(me->measured, me->nr);
	size_t n = 0;

	for (size_t c = 0; c < plan->nr_cells; c++) {
		FB_CLEANUP(fb_freep) char *key = fb_cell_key(&plan->cells[c]);
		FB_CLEANUP(fb_freep) char *label = fb_cell_label(&plan->cells[c]);
		FB_CLEANUP(fb_strvp)
		char **names = fb_measured_metrics(me->measured, me->nr, key, all);

		if (names)
			fb_str_addf(out, "\n%s\n", label);
		for (size_t k = 0; names && names[k]; k++) {
			struct fb_floor f;

			if (fb_floor_of(me->measured, me->nr, key, names[k], 1 - plan->confidence,
					&cost, &f) < 0)
				continue; /* only boots that failed have values */
			n++;
			fb_str_addf(out, "  %s  mean %.6g in %zu boot%s\n", names[k], f.mean,
				    f.split.nr_boots, fb_plural(f.split.nr_boots));
			print_row(&f, &cost, out);
			json_array_append_new(rows, row_json(key, names[k], &f));
		}
	}
	fb_str_addf(
		out,
		"\nFloor and boots are for one comparison at %.3g%%: Student's test of so many,\n"
		"fixed before, shows the change 9 times in 10. compare and measure, which may\n"
		"be looked at after each boot, show it in about half of all cases, and mostly\n"
		"with twice as many.\n",
		100 * plan->confidence);
	return n;
}

struct opts {
	struct fb_common common;
	const char *plan;
	char **revs;
	unsigned boots;
	bool all;
};

static int run(const struct opts *o, struct fb_plan *plan, struct fb_error *err)
{
	FB_CLEANUP(fb_measure_cmd_release) struct fb_measure_cmd c = {0};
	FB_CLEANUP(fb_str_release) struct fb_str out = FB_STR_INIT;
	json_auto_t *json = NULL;
	json_t *rows = json_array();
	size_t n;
	int rc;

	json = json_pack("{s:i, s:o}", "schema", 1, "series", rows);
	if (fb_measure_cmd_begin(&c, &o->common, plan, "noise", o->revs, false, err) < 0)
		return -1;
	while (c.measuring.rounds < o->boots)
		if (fb_measuring_round(&c.measuring, NULL, err) < 0)
			return -1;
	for (size_t i = 0; i < c.measuring.nr; i++)
		print_rev(&c.measuring.measured[i], &out);
	n = tell(plan, &c.measuring, o->all, rows, &out);
	if (o->common.json) {
		fb_str_release(&out);
		fb_json_pretty(json, &out);
	}
	rc = fb_measure_cmd_end(&c, "measured", err);
	if (rc == 0)
		rc = fb_put(fb_str_cstr(&out));
	return rc == 0 && !n ? FB_EXIT_UNTESTABLE : rc;
}

int fb_cmd_noise(int argc, char **argv)
{
	struct opts o = {.boots = BOOTS};
	const struct fb_opt opts[] = {
		FB_COMMON_OPTS(o.common),
		{"plan", 0, FB_OPT_STRING, &o.plan, "PLAN", "what to run; default: built in"},
		{"rev", 0, FB_OPT_STRINGS, &o.revs, "REV",
		 "the kernel, default HEAD; repeated: builds that should be equal"},
		{"boots", 0, FB_OPT_UINT, &o.boots, "N", "boots of each; default: 10"},
		{"all", 'a', FB_OPT_FLAG, &o.all, NULL, "all metrics, not only headline ones"},
	};
	FB_CLEANUP(fb_plan_freep) struct fb_plan *plan = NULL;
	FB_CLEANUP(fb_strvp) char **revs = NULL;
	struct fb_error err = FB_ERROR_INIT;
	int first,
		rc = fb_opt_parse(
			argc, argv, "noise [--plan PLAN] [--rev REV]",
			"Boots one kernel again and again, and says for each cell how far values\n"
			"move by themselves and how many boots show a change.",
			opts, FB_ARRAY_SIZE(opts), &first);

	if (rc >= 0) {
		fb_strvp(&o.revs);
		return rc;
	}
	if (!o.revs)
		fb_strv_add(&o.revs, "HEAD");
	revs = o.revs;
	if (o.boots == 0) {
		fb_error_set(&err, FB_ERROR_USAGE, "--boots 0 measures nothing");
		return fb_fail(&err);
	}
	if (fb_at_most(argc, argv, first, &err) < 0 || fb_enter(&o.common, &err) < 0 ||
	    fb_load_plan(o.plan, &plan, &err) < 0)
		return fb_fail(&err);
	rc = run(&o, plan, &err);
	return rc < 0 ? fb_fail(&err) : rc;
}
