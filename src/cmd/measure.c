/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `firstbad measure`: run a plan's matrix on some revisions. */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "reporters/matrix.h"
#include "src/cmd/measuring.h"
#include "src/util/json.h"
#include "src/util/util.h"

/*
 * Without any measurement of this host a boot is reckoned to take this long, and each cell, besides
 * the time that it is told to run for; printed as an estimate only.
 */
#define GUESS_BOOT_S 15
#define GUESS_CELL_S 8

#define BOOTS_OF_PLAN UINT_MAX

struct opts {
	struct fb_common common;
	char **revs;
	unsigned boots;
	bool dry_run;
};

static void print_unavailable(const json_t *told, struct fb_str *out)
{
	json_t *v;
	size_t i;

	json_array_foreach(told, i, v)
	{
		fb_str_addf(out, "%s  UNAVAILABLE: %s\n", fb_json_str(v, "text"),
			    fb_json_str(v, "unavailable"));
	}
}

/* A testcase says in one of these how long it runs; that of the host's clock is not known. */
static double guess_s(const struct fb_cell *cell)
{
	static const char *const names[] = {"runtime", "period"};
	double s = GUESS_CELL_S;

	for (size_t i = 0; i < cell->nr_params; i++)
		for (size_t k = 0; k < FB_ARRAY_SIZE(names); k++)
			if (!strcmp(cell->params[i].name, names[k]))
				s += (double)fb_cell_seconds(cell, names[k]) *
				     (double)fb_cell_number(cell, "runs");
	return s;
}

static const struct {
	const char *name, *text;
} verdicts[] = {
	[FB_COMPARE_OPEN] = {"open", "not shown to differ"},
	[FB_COMPARE_DIFFER] = {"differ", "differs"},
	[FB_COMPARE_SMALL] = {"small", "smaller than min_effect"},
	[FB_COMPARE_NOT_COMPARABLE] = {"not-comparable",
				       "not compared: measured in different environments"},
};

static void print_change(const struct fb_measured *old, const struct fb_measured *new,
			 const char *cell_key, const char *metric, double alpha, double min_effect,
			 struct fb_str *out)
{
	unsigned least = fb_measured_least_boots(alpha);
	struct fb_measured_change c;

	fb_measured_change(old, new, cell_key, metric, alpha, min_effect, false, &c);
	fb_str_addf(out, "    %.12s  against %.12s: ", new->commit.hex, old->commit.hex);
	if (c.size.method) {
		fb_matrix_add_size(c.size.effect, c.is_ratio, out);
		if (isfinite(c.size.hi)) {
			fb_str_add(out, " (");
			fb_matrix_add_size(c.size.lo, c.is_ratio, out);
			fb_str_add(out, " .. ");
			fb_matrix_add_size(c.size.hi, c.is_ratio, out);
			fb_str_add(out, ")");
		}
		fb_str_add(out, ", ");
	}
	fb_str_add(out, verdicts[c.judged.verdict].text);
	if (c.judged.verdict == FB_COMPARE_OPEN &&
	    (c.judged.nr_old < least || c.judged.nr_new < least))
		fb_str_addf(out, " (it takes --boots %u at least)", least);
	fb_str_addf(out, "%s\n", c.same_image ? "; same image" : "");
}

/* A spread as a part of the mean; "-" where there is no such part: a mean of 0, or an overflow. */
static void print_spread(double sd, double mean, struct fb_str *out)
{
	double percent = 100 * (sd / fabs(mean));

	if (!isfinite(percent))
		fb_str_add(out, "-");
	else
		fb_str_addf(out, percent >= FB_LONG_PERCENT ? "%.3g%%" : "%.2f%%", percent);
}

static void print_series(const struct fb_measured *m, size_t nr, const char *cell_key,
			 const char *metric, double alpha, double min_effect, struct fb_str *out)
{
	size_t first = nr;

	for (size_t i = 0; i < nr; i++) {
		struct fb_summary s = fb_measured_summary(&m[i], cell_key, metric);

		if (!s.nr)
			continue;
		fb_str_addf(out, "    %.12s  mean %.6g", m[i].commit.hex, s.mean);
		if (s.nr > 1) {
			fb_str_addf(out, " (%.6g .. %.6g)  sd ", s.lo, s.hi);
			print_spread(s.sd, s.mean, out);
		}
		if (s.nr > 1 && isfinite(s.run_sd)) {
			fb_str_add(out, " (boots ");
			print_spread(s.boot_sd, s.mean, out);
			fb_str_add(out, ", runs ");
			print_spread(s.run_sd, s.mean, out);
			fb_str_add(out, ")");
		}
		fb_str_addf(out, "  %.6g .. %.6g in %zu boot%s\n", s.min, s.max, s.nr,
			    fb_plural(s.nr));
		if (first < nr)
			print_change(&m[first], &m[i], cell_key, metric, alpha, min_effect, out);
		else
			first = i;
	}
}

/* Comparisons that are printed: each metric of each revision with that of the first one. */
static size_t comparisons(const struct fb_plan *plan, const struct fb_measured *m, size_t nr)
{
	size_t series = 0;

	for (size_t c = 0; c < plan->nr_cells; c++) {
		FB_CLEANUP(fb_freep) char *key = fb_cell_key(&plan->cells[c]);
		FB_CLEANUP(fb_strvp) char **names = fb_measured_metrics(m, nr, key, false);

		series += fb_strv_len(names);
	}
	return series * (nr - 1);
}

/* Of each of them, so that all together are wrong as seldom as the plan says. */
static double alpha_of(const struct fb_plan *plan, const struct fb_measured *m, size_t nr)
{
	size_t n = comparisons(plan, m, nr);

	return (1 - plan->confidence) / (double)(n ? n : 1);
}

static void print_plain(const struct fb_plan *plan, const struct fb_measured *m, size_t nr,
			struct fb_str *out)
{
	size_t nr_compared = comparisons(plan, m, nr);
	double alpha = alpha_of(plan, m, nr);

	for (size_t i = 0; i < nr; i++) {
		size_t bad = 0;

		for (size_t j = 0; j < m[i].nr_boots; j++)
			bad += strcmp(m[i].boots[j].end, fb_end_name(FB_END_OK)) != 0;
		fb_str_addf(out, "%.12s  ", m[i].commit.hex);
		if (m[i].cause)
			fb_str_addf(out, "does not build: %s\n", m[i].cause);
		else
			fb_str_addf(out, "%zu boot%s, %zu without a value\n", m[i].nr_boots,
				    fb_plural(m[i].nr_boots), bad);
		for (size_t j = 0; j < m[i].nr_boots; j++)
			if (m[i].boots[j].why)
				fb_str_addf(out, "    seed %llu: %s: %s\n",
					    (unsigned long long)m[i].boots[j].seed,
					    m[i].boots[j].end, m[i].boots[j].why);
	}
	for (size_t c = 0; c < plan->nr_cells; c++) {
		FB_CLEANUP(fb_freep) char *key = fb_cell_key(&plan->cells[c]);
		FB_CLEANUP(fb_freep) char *label = fb_cell_label(&plan->cells[c]);
		FB_CLEANUP(fb_strvp) char **names = fb_measured_metrics(m, nr, key, false);

		if (!names)
			continue;
		fb_str_addf(out, "\n%s\n", label);
		for (size_t k = 0; names && names[k]; k++) {
			const struct fb_metric *metric = fb_metric_find(names[k]);

			fb_str_addf(out, "  %s (%s)\n", names[k],
				    metric ? metric->unit : "as the command says");
			print_series(m, nr, key, names[k], alpha, plan->min_effect, out);
		}
	}
	if (nr_compared)
		fb_str_addf(out,
			    "\nIn brackets: 95%% intervals. \"differs\" is wrong for any of %zu "
			    "comparison%s with "
			    "probability %.2g at most.\n",
			    nr_compared, fb_plural(nr_compared), 1 - plan->confidence);
}

static bool is_measured(const struct fb_measured *m, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		for (size_t j = 0; j < m[i].nr_boots; j++)
			if (m[i].boots[j].nr_samples)
				return true;
	return false;
}

static json_t *boot_json(const struct fb_store_boot *boot)
{
	json_t *o = json_pack("{s:I, s:s, s:s*, s:I}", "seed", (json_int_t)boot->seed, "end",
			      boot->end, "why", boot->why, "wall_ns", (json_int_t)boot->wall_ns);
	json_t *samples = json_array();

	for (size_t i = 0; i < boot->nr_samples; i++) {
		const struct fb_store_sample *s = &boot->samples[i];

		json_array_append_new(samples, json_pack("{s:s, s:i, s:s, s:f}", "cell", s->cell,
							 "run", (int)s->run, "metric", s->metric,
							 "value", s->value));
	}
	json_object_set_new(o, "samples", samples);
	if (boot->facts)
		json_object_set(o, "facts", boot->facts);
	return o;
}

/* JSON has no infinity: a bound that is not known is left out. */
static void set_real(json_t *o, const char *key, double v)
{
	if (isfinite(v))
		json_object_set_new(o, key, json_real(v));
}

static json_t *summary_json(const struct fb_measured *m, const struct fb_summary *s)
{
	json_t *o = json_pack("{s:s, s:i}", "commit", m->commit.hex, "boots", (int)s->nr);

	set_real(o, "mean", s->mean);
	set_real(o, "mean_lo", s->lo);
	set_real(o, "mean_hi", s->hi);
	set_real(o, "sd", s->sd);
	set_real(o, "boot_sd", s->boot_sd);
	set_real(o, "run_sd", s->run_sd);
	return o;
}

static json_t *change_json(const struct fb_measured *old, const struct fb_measured *new,
			   const struct fb_measured_change *c)
{
	json_t *o = json_pack("{s:s, s:s, s:s, s:b, s:b}", "commit", new->commit.hex, "against",
			      old->commit.hex, "verdict", verdicts[c->judged.verdict].name,
			      "same_image", (int)c->same_image, "is_ratio", (int)c->is_ratio);

	set_real(o, "effect", c->size.effect);
	if (!c->is_ratio || c->size.lo > -1) /* a ratio cannot fall by more than all of it */
		set_real(o, "effect_lo", c->size.lo);
	set_real(o, "effect_hi", c->size.hi);
	set_real(o, "log_evidence", c->judged.log_evidence);
	return o;
}

static json_t *series_json(const struct fb_measured *m, size_t nr, const char *cell_key,
			   const char *metric, double alpha, double min_effect)
{
	json_t *revs = json_array(), *changes = json_array();
	size_t first = nr;

	for (size_t i = 0; i < nr; i++) {
		struct fb_summary s = fb_measured_summary(&m[i], cell_key, metric);
		struct fb_measured_change c;

		if (!s.nr)
			continue;
		json_array_append_new(revs, summary_json(&m[i], &s));
		if (first == nr) {
			first = i;
			continue;
		}
		fb_measured_change(&m[first], &m[i], cell_key, metric, alpha, min_effect, false,
				   &c);
		json_array_append_new(changes, change_json(&m[first], &m[i], &c));
	}
	return json_pack("{s:s, s:s, s:o, s:o}", "cell", cell_key, "metric", metric, "revs", revs,
			 "changes", changes);
}

static void print_json(const struct fb_plan *plan, const struct fb_measured *m, size_t nr,
		       json_t *told, struct fb_str *out)
{
	json_auto_t *revs = json_array(), *all = json_array(), *o = NULL;
	double alpha = alpha_of(plan, m, nr);

	for (size_t i = 0; i < nr; i++) {
		json_t *boots = json_array();

		for (size_t j = 0; j < m[i].nr_boots; j++)
			json_array_append_new(boots, boot_json(&m[i].boots[j]));
		json_array_append_new(revs, json_pack("{s:s, s:s*, s:s*, s:o}", "commit",
						      m[i].commit.hex, "signature", m[i].signature,
						      "cause", m[i].cause, "boots", boots));
	}
	for (size_t c = 0; c < plan->nr_cells; c++) {
		FB_CLEANUP(fb_freep) char *key = fb_cell_key(&plan->cells[c]);
		FB_CLEANUP(fb_strvp) char **names = fb_measured_metrics(m, nr, key, false);

		for (size_t k = 0; names && names[k]; k++)
			json_array_append_new(
				all, series_json(m, nr, key, names[k], alpha, plan->min_effect));
	}
	o = json_pack("{s:i, s:O, s:O, s:O}", "schema", 1, "revs", revs, "series", all,
		      "unavailable", told);
	fb_json_pretty(o, out);
}

static int dry_run(const struct fb_plan *plan, const struct opts *o, unsigned boots)
{
	size_t nr_revs = fb_strv_len(o->revs);
	double boot_s = GUESS_BOOT_S, s, min;
	struct fb_str out = FB_STR_INIT;
	json_auto_t *json = json_object();
	json_t *cells = json_array();
	size_t nr_not = 0;
	int rc;

	for (size_t i = 0; i < plan->nr_cells; i++) {
		FB_CLEANUP(fb_freep) char *key = fb_cell_key(&plan->cells[i]);
		FB_CLEANUP(fb_freep) char *text = fb_cell_text(&plan->cells[i]);
		FB_CLEANUP(fb_freep) char *why = fb_measure_unavailable(plan, &plan->cells[i]);

		boot_s += why ? 0 : guess_s(&plan->cells[i]);
		nr_not += why != NULL;
		fb_str_addf(&out, "%s%s%s\n", text, why ? "  UNAVAILABLE: " : "", why ? why : "");
		json_array_append_new(cells,
				      json_pack("{s:s, s:s*}", "cell", key, "unavailable", why));
	}
	s = (double)boots * (double)nr_revs * boot_s;
	min = ceil(s / 60);
	fb_str_addf(&out, "%zu cell%s in one boot", plan->nr_cells, fb_plural(plan->nr_cells));
	if (nr_not)
		fb_str_addf(&out, " (%zu unavailable)", nr_not);
	fb_str_addf(&out,
		    ", %u boot%s of %s%zu revision%s, about %.0f minute%s "
		    "without builds\n",
		    boots, fb_plural(boots), nr_revs == 1 ? "" : "each of ", nr_revs,
		    fb_plural(nr_revs), min, min == 1 ? "" : "s");
	json_object_set_new(json, "cells", cells);
	json_object_set_new(json, "boots", json_integer((json_int_t)boots));
	json_object_set_new(json, "revs", json_integer((json_int_t)nr_revs));
	json_object_set_new(json, "estimate_s", json_real(s));
	if (o->common.json) {
		fb_str_release(&out);
		fb_json_pretty(json, &out);
	}
	rc = fb_put(fb_str_cstr(&out));
	fb_str_release(&out);
	return rc;
}

/* Without revisions a plan can be checked anywhere. */
static int check_revs(const struct opts *o, struct fb_error *err)
{
	FB_CLEANUP(fb_history_freep) struct fb_history *history = NULL;
	struct fb_oid oid;

	if (fb_open_history(&o->common, &history, err) < 0)
		return -1;
	for (char **rev = o->revs; *rev; rev++)
		if (fb_history_resolve(history, *rev, &oid, err) < 0)
			return fb_error_wrap(err, "--rev");
	return 0;
}

static int run(const struct opts *o, struct fb_plan *plan, unsigned boots, struct fb_error *err)
{
	FB_CLEANUP(fb_measure_cmd_release) struct fb_measure_cmd c = {0};
	FB_CLEANUP(fb_str_release) struct fb_str out = FB_STR_INIT;
	int rc;

	if (fb_measure_cmd_begin(&c, &o->common, plan, "measure", o->revs, false, err) < 0)
		return -1;
	while (c.measuring.rounds < boots)
		if (fb_measuring_round(&c.measuring, NULL, err) < 0)
			return -1;
	if (o->common.json)
		print_json(plan, c.measuring.measured, c.measuring.nr, c.told, &out);
	else
		print_plain(plan, c.measuring.measured, c.measuring.nr, &out);
	if (!o->common.json)
		print_unavailable(c.told, &out);
	rc = fb_measure_cmd_end(&c, "measured", err);
	if (rc == 0)
		rc = fb_put(fb_str_cstr(&out));
	if (rc == 0 && !is_measured(c.measuring.measured, c.measuring.nr))
		rc = FB_EXIT_UNTESTABLE;
	return rc;
}

int fb_cmd_measure(int argc, char **argv)
{
	struct opts o = {.boots = BOOTS_OF_PLAN};
	const struct fb_opt opts[] = {
		FB_COMMON_OPTS(o.common),
		{"rev", 0, FB_OPT_STRINGS, &o.revs, "REV",
		 "a revision to measure; may be repeated"},
		{"boots", 0, FB_OPT_UINT, &o.boots, "N",
		 "boots of each; default: boots.min of the plan"},
		{"dry-run", 'n', FB_OPT_FLAG, &o.dry_run, NULL,
		 "list the cells and the time, run nothing"},
	};
	FB_CLEANUP(fb_plan_freep) struct fb_plan *plan = NULL;
	FB_CLEANUP(fb_strvp) char **revs = NULL;
	struct fb_error err = FB_ERROR_INIT;
	bool has_revs;
	unsigned boots;
	int first, rc = fb_opt_parse(
			   argc, argv, "measure [PLAN] --rev REV...",
			   "Builds and boots each revision and stores every sample. Boots of the\n"
			   "revisions are interleaved.",
			   opts, FB_ARRAY_SIZE(opts), &first);

	if (rc >= 0) {
		fb_strvp(&o.revs);
		return rc;
	}
	has_revs = o.revs != NULL;
	if (!has_revs)
		fb_strv_add(&o.revs, "HEAD");
	revs = o.revs;
	if (fb_at_most(argc, argv, first + 1, &err) < 0 || fb_enter(&o.common, &err) < 0 ||
	    fb_load_plan(first < argc ? argv[first] : NULL, &plan, &err) < 0)
		return fb_fail(&err);
	if (o.boots == 0) {
		fb_error_set(&err, FB_ERROR_USAGE, "--boots 0 measures nothing");
		return fb_fail(&err);
	}
	boots = o.boots != BOOTS_OF_PLAN ? o.boots : plan->boots_min;
	if (o.dry_run)
		return has_revs && check_revs(&o, &err) < 0 ? fb_fail(&err)
							    : dry_run(plan, &o, boots);
	rc = run(&o, plan, boots, &err);
	return rc < 0 ? fb_fail(&err) : rc;
}
