/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `firstbad simulate`: how the search behaves in made histories. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/cmd/cmd.h"
#include "src/controller/dagfile.h"
#include "src/controller/simulate.h"
#include "src/util/json.h"
#include "src/util/util.h"

#define BOUND_FORMULA "((1 - delta) log2 N - h(delta)) / C"
#define BOUND_SOURCE                                                                               \
	"Polyanskiy, Poor and Verdu, IEEE Trans. Inf. Theory 57 (2011), theorem 4; "               \
	"means and spreads known"

struct arguments {
	const char *dag, *shift, *noise, *rates, *second, *build_sd, *skips, *min_effect,
		*log_sigma;
	const char *counter, *idle, *culprit, *boots, *confidence, *seed, *direction;
	unsigned trials, jobs, min_boots, batch, repeats;
	bool no_regression, mode_share, known_rates, together;
};

/* --- reading -------------------------------------------------------------------------------- */

/* "A", or "A<sep>B": two numbers; without the second @ret_b stays. */
static int two_numbers(const char *option, const char *text, const char *sep, double *ret_a,
		       double *ret_b, struct fb_error *err)
{
	const char *at = strstr(text, sep);
	FB_CLEANUP(fb_freep) char *a = fb_xstrndup(text, at ? (size_t)(at - text) : strlen(text));

	if (fb_parse_double(a, ret_a, err) < 0 ||
	    (at && fb_parse_double(at + strlen(sep), ret_b, err) < 0)) {
		fb_error_wrap(err, "--%s", option);
		err->code = FB_ERROR_USAGE;
		return -1;
	}
	return 0;
}

/* One number; a missing option leaves *ret. */
static int a_number(const char *option, const char *text, double *ret, struct fb_error *err)
{
	if (!text)
		return 0;
	return two_numbers(option, text, "\n", ret, ret, err);
}

/* The normal value that is exceeded with probability @rate, by halving. */
static double upper_quantile(double rate)
{
	double lo = -40, hi = 40;

	while (hi - lo > 1e-12) {
		double mid = (lo + hi) / 2;

		if (erfc(mid / M_SQRT2) / 2 > rate)
			lo = mid;
		else
			hi = mid;
	}
	return (lo + hi) / 2;
}

static int read_shift(const struct arguments *a, struct fb_world *w, struct fb_error *err)
{
	double no = NAN, yes = NAN;

	if (a->shift && a->no_regression)
		return fb_error_set(err, FB_ERROR_USAGE,
				    "--shift and --no-regression exclude each other");
	if (a->rates) {
		if (w->noise != FB_NOISE_BINARY || a->shift)
			return fb_error_set(
				err, FB_ERROR_USAGE,
				"--rates is for --noise binary, and instead of --shift");
		if (two_numbers("rates", a->rates, ":", &no, &yes, err) < 0)
			return -1;
		if (!(no > 0 && no < 1 && yes > 0 && yes < 1 && no < yes))
			return fb_error_set(
				err, FB_ERROR_USAGE,
				"--rates GOOD:BAD are shares between 0 and 1, the first smaller");
		w->threshold = upper_quantile(no);
		w->shift_lo = w->threshold - upper_quantile(yes);
	} else if (a->shift && !strcmp(a->shift, "prior")) {
		w->shift_prior = true;
		w->shift_lo = w->shift_hi = 1;
	} else if (a->shift) {
		w->shift_hi = NAN;
		if (two_numbers("shift", a->shift, "..", &w->shift_lo, &w->shift_hi, err) < 0)
			return -1;
	} else if (!a->no_regression) {
		return fb_error_set(err, FB_ERROR_USAGE, "--shift D or --no-regression is needed");
	} else if (w->noise == FB_NOISE_BINARY) {
		return fb_error_set(err, FB_ERROR_USAGE,
				    "--no-regression of --noise binary needs --rates GOOD:BAD");
	}
	if (isnan(w->shift_hi) || a->rates)
		w->shift_hi = w->shift_lo;
	if (w->noise == FB_NOISE_BINARY && !a->rates)
		w->threshold = w->shift_lo / 2;
	if (w->noise == FB_NOISE_BINARY && w->shift_lo < 0)
		return fb_error_set(err, FB_ERROR_USAGE, "--noise binary: a shift is above 0");
	w->known_rates = a->known_rates;
	w->rate_old = fb_world_rate(w, 0);
	w->rate_new = fb_world_rate(w, w->shift_lo);
	w->min_effect = fmin(1, fabs(w->shift_lo) > 0 ? fabs(w->shift_lo) : 1);
	if (a->no_regression)
		w->shift_lo = w->shift_hi = 0;
	return a_number("second", a->second, &w->second, err);
}

static int read_search(const struct arguments *a, struct fb_world *w, struct fb_error *err)
{
	double lo = 1000, hi = NAN;

	if (a->direction && strcmp(a->direction, "known") != 0 &&
	    strcmp(a->direction, "unknown") != 0)
		return fb_error_set(err, FB_ERROR_USAGE,
				    "--direction is known or unknown, not '%.40s'", a->direction);
	w->any_direction = a->direction && !strcmp(a->direction, "unknown");
	if (a->boots && two_numbers("boots", a->boots, "..", &lo, &hi, err) < 0)
		return -1;
	if (isnan(hi))
		hi = lo;
	if (!(lo >= 1 && lo <= hi && hi <= 1e6 && lo == floor(lo) && hi == floor(hi)))
		return fb_error_set(err, FB_ERROR_USAGE,
				    "--boots is a number from 1 to 1000000, or a range LO..HI");
	w->boots_lo = (unsigned)lo;
	w->boots_hi = (unsigned)hi;
	w->min_boots = a->min_boots;
	w->batch = a->batch;
	w->repeats = a->repeats;
	if (a_number("confidence", a->confidence, &w->confidence, err) < 0 ||
	    a_number("min-effect", a->min_effect, &w->min_effect, err) < 0)
		return -1;
	return 0;
}

static int a_count(const char *option, const char *text, uint64_t max, uint64_t *ret,
		   struct fb_error *err)
{
	if (!text || fb_parse_u64(text, 0, max, ret, err) == 0)
		return 0;
	fb_error_wrap(err, "--%s", option);
	err->code = FB_ERROR_USAGE;
	return -1;
}

static char *before_colon(const char *text)
{
	return fb_xstrndup(text, strcspn(text, ":"));
}

/* "P[:SD[:CORR]]" and "N[:KIND]". */
static int read_counters(const struct arguments *a, struct fb_world *w, struct fb_error *err)
{
	const char *more = a->counter ? strchr(a->counter, ':') : NULL;
	FB_CLEANUP(fb_freep) char *number = NULL;
	uint64_t nr = 0;
	int kind;

	w->counter = a->counter;
	if (more &&
	    two_numbers("counter", more + 1, ":", &w->counter_sd, &w->counter_corr, err) < 0)
		return -1;
	if (a->counter) {
		FB_CLEANUP(fb_freep) char *same = before_colon(a->counter);

		if (a_number("counter", same, &w->counter_same, err) < 0)
			return -1;
	}
	if (!a->idle)
		return 0;
	more = strchr(a->idle, ':');
	kind = more ? fb_idle_find(more + 1) : FB_IDLE_NORMAL;
	if (kind < 0)
		return fb_error_set(err, FB_ERROR_USAGE,
				    "--idle-counters N:KIND: normal, coin, headline or sign, not "
				    "'%.40s'",
				    more + 1);
	w->idle_kind = (enum fb_idle)kind;
	number = before_colon(a->idle);
	if (a_count("idle-counters", number, FB_COUNTERS_MAX - 1, &nr, err) < 0)
		return -1;
	w->idle = (unsigned)nr;
	return 0;
}

static int read_world(const struct arguments *a, struct fb_world *w, struct fb_error *err)
{
	int noise = fb_noise_find(a->noise);
	uint64_t culprit = 0;

	*w = (struct fb_world){.culprit = -1, .confidence = 0.99, .seed = 1};
	if (noise < 0)
		return fb_error_set(err, FB_ERROR_USAGE,
				    "--noise is normal, t3, lognormal, bimodal, drift, binary or "
				    "constant, not '%.40s'",
				    a->noise);
	w->noise = (enum fb_noise)noise;
	w->no_regression = a->no_regression;
	w->mode_share = a->mode_share;
	w->together = a->together;
	if (a->skips) {
		w->skip_run = NAN;
		if (two_numbers("skips", a->skips, ":", &w->skip_share, &w->skip_run, err) < 0)
			return -1;
		/* Each by itself: runs are as long as chance makes them. */
		if (isnan(w->skip_run))
			w->skip_run = w->skip_share < 1 ? 1 / (1 - w->skip_share) : 1;
	}
	/* The images' spread is part of the rates. */
	if (a_number("build-sd", a->build_sd, &w->build_sd, err) < 0 || read_shift(a, w, err) < 0 ||
	    read_search(a, w, err) < 0 ||
	    a_number("log-sigma", a->log_sigma, &w->log_sigma, err) < 0 ||
	    a_count("seed", a->seed, INT64_MAX, &w->seed, err) < 0 ||
	    a_count("culprit", a->culprit, FB_DAGFILE_COMMITS_MAX, &culprit, err) < 0)
		return -1;
	if (a->culprit)
		w->culprit = (int64_t)culprit;
	return read_counters(a, w, err);
}

/* --- printing ------------------------------------------------------------------------------- */

static json_t *known(double v)
{
	return v > 0 ? json_real(v) : json_null();
}

static json_t *counters_json(const struct fb_world *w)
{
	if (!w->counter && !w->idle)
		return json_null();
	return json_pack("{s:o, s:f, s:f, s:I, s:s}", "same_commit",
			 w->counter ? json_real(w->counter_same) : json_null(), "sd", w->counter_sd,
			 "correlation", w->counter_corr, "idle", (json_int_t)w->idle, "idle_kind",
			 fb_idle_name(w->idle_kind));
}

static json_t *to_json(const struct arguments *a, const struct fb_dagfile *file,
		       const struct fb_world *w, const struct fb_simulation *s)
{
	json_t *root = json_pack(
		"{s:s, s:I, s:I, s:s, s:b, s:[f, f], s:b, s:f, s:b, s:f, s:f, s:f, s:f, s:f, s:I}",
		"dag", a->dag, "commits", (json_int_t)file->nr_commits, "merges",
		(json_int_t)file->nr_merges, "noise", a->noise, "no_regression", w->no_regression,
		"shift", w->shift_lo, w->shift_hi, "shift_prior", w->shift_prior, "second",
		w->second, "together", w->together, "build_sd", w->build_sd, "skip_share",
		w->skip_share, "skip_run", w->skip_run, "min_effect", w->min_effect, "confidence",
		w->confidence, "seed", (json_int_t)w->seed);
	json_t *bins = json_array();

	json_object_set_new(root, "counters", counters_json(w));
	json_object_set_new(root, "trials", json_integer((json_int_t)s->trials));
	json_object_set_new(root, "boots_mean", json_real(s->boots_mean));
	json_object_set_new(root, "boots_se", json_real(s->boots_sd / sqrt((double)s->trials)));
	json_object_set_new(root, "boots_median", json_real(s->boots_median));
	json_object_set_new(root, "boots_p95", json_real(s->boots_p95));
	json_object_set_new(root, "boots_max", json_real(s->boots_max));
	json_object_set_new(root, "commits_mean", json_real(s->commits_mean));
	json_object_set_new(root, "skips_mean", json_real(s->skips_mean));
	for (int i = 0; i < FB_NR_OUTCOMES; i++) {
		FB_CLEANUP(fb_freep)
		char *key = fb_xasprintf("%s_rate", fb_outcome_name((enum fb_outcome)i));

		json_object_set_new(root, key,
				    json_real((double)s->outcomes[i] / (double)s->trials));
	}
	json_object_set_new(root, "wrong_upper", json_real(s->wrong_upper));
	json_object_set_new(root, "bound", known(s->bound));
	json_object_set_new(root, "bits_per_boot", known(s->bits));
	json_object_set_new(root, "bound_formula", json_string(BOUND_FORMULA));
	json_object_set_new(root, "bound_source", json_string(BOUND_SOURCE));
	for (int i = 0; i < FB_NR_CALIBRATION; i++) {
		const struct fb_calibration *c = &s->calibration[i];

		if (c->nr)
			json_array_append_new(bins,
					      json_pack("{s:f, s:f, s:I, s:f, s:f, s:f}", "above",
							c->lo, "at_most", c->hi, "answers",
							(json_int_t)c->nr, "stated", c->stated,
							"right", c->right, "se", c->se));
	}
	json_object_set_new(root, "calibration", bins);
	json_object_set_new(root, "seconds", json_real(s->seconds));
	json_object_set_new(root, "cpu_mean_s", json_real(s->cpu_mean_s));
	json_object_set_new(root, "next_mean_s", json_real(s->next_mean_s));
	json_object_set_new(root, "next_max_s", json_real(s->next_max_s));
	return root;
}

static void describe_counters(const struct fb_world *w, struct fb_str *out)
{
	if (w->counter)
		fb_str_addf(
			out,
			"\ncounter    changes with the same commit in %.4g %% of the trials, noise "
			"%.4g of its change",
			100 * w->counter_same, w->counter_sd);
	if (w->counter && w->counter_corr != 0)
		fb_str_addf(out, ", correlation %.4g", w->counter_corr);
	if (w->idle)
		fb_str_addf(out, "\nidle       %u counters without a change: %s", w->idle,
			    fb_idle_name(w->idle_kind));
}

static void describe(const struct fb_dagfile *file, const struct fb_world *w, struct fb_str *out)
{
	fb_str_addf(out, "history    %s\n           %u commits, %u merges\n", file->about,
		    file->nr_commits, file->nr_merges);
	fb_str_addf(out, "noise      %s", fb_noise_name(w->noise));
	if (w->noise == FB_NOISE_BINARY)
		fb_str_addf(out, ", \"bad\" above %.4g sigma", w->threshold);
	if (w->build_sd > 0)
		fb_str_addf(out, ", images differ by %g sigma", w->build_sd);
	if (w->log_sigma > 0)
		fb_str_addf(out, ", logarithmic with a sigma of %g", w->log_sigma);
	if (w->skip_share > 0)
		fb_str_addf(out, "\nuntestable %.4g %% of the commits, in runs of %.3g",
			    100 * w->skip_share, w->skip_run);
	fb_str_add(out, "\nchange     ");
	if (w->no_regression)
		fb_str_add(out, "none");
	else if (w->shift_prior)
		fb_str_addf(out, "drawn from the prior of the search, from %.4g sigma on",
			    0.7 * w->min_effect);
	else if (w->shift_lo == w->shift_hi)
		fb_str_addf(out, "%.4g sigma", w->shift_lo);
	else
		fb_str_addf(out, "%.4g to %.4g sigma", w->shift_lo, w->shift_hi);
	if (w->mode_share)
		fb_str_add(out, ", by the share of the modes");
	if (w->second != 0)
		fb_str_addf(out, ", and a second one of %.4g sigma", w->second);
	if (w->together)
		fb_str_add(out, ", where two commits meet");
	if (w->any_direction)
		fb_str_add(out, ", up or down");
	describe_counters(w, out);
	fb_str_addf(out, "\nasked      %s, confidence %.6g, %.4g sigma or more\n\n",
		    w->repeats ? "fixed repeats" : "the search", w->confidence, w->min_effect);
}

static void add_calibration(const struct fb_simulation *s, struct fb_str *out)
{
	bool any = false;

	for (int i = 0; i < FB_NR_CALIBRATION; i++) {
		const struct fb_calibration *c = &s->calibration[i];

		if (!c->nr)
			continue;
		if (!any)
			fb_str_add(out, "\nstated probability    answers    mean stated    right"
					"    difference  (standard error)\n");
		any = true;
		fb_str_addf(out, "%5.2f to %4.2f       %10zu %14.4f %8.4f %13.4f  (%.4f)\n", c->lo,
			    c->hi, c->nr, c->stated, c->right, c->right - c->stated, c->se);
	}
}

static void to_plain(const struct fb_dagfile *file, const struct fb_world *w,
		     const struct fb_simulation *s, struct fb_str *out)
{
	describe(file, w, out);
	fb_str_add(out, "                  mean   median      p95      max\n");
	fb_str_addf(out, "boots         %8.2f %8g %8g %8g   (standard error of the mean %.2g)\n",
		    s->boots_mean, s->boots_median, s->boots_p95, s->boots_max,
		    s->boots_sd / sqrt((double)s->trials));
	fb_str_addf(out, "commits       %8.2f\n", s->commits_mean);
	if (s->bound > 0)
		fb_str_addf(out, "lower bound   %8.2f   " BOUND_FORMULA ", C = %.4f bits a boot\n",
			    s->bound, s->bits);
	fb_str_addf(out, "\n%-12s trials    share\n", "answer");
	for (int i = 0; i < FB_NR_OUTCOMES; i++) {
		fb_str_addf(out, "%-10s %8zu  %6.2f %%", fb_outcome_name((enum fb_outcome)i),
			    s->outcomes[i], 100.0 * (double)s->outcomes[i] / (double)s->trials);
		if (i == FB_OUTCOME_WRONG)
			fb_str_addf(out, "   (95 %% upper bound %.2f %%)", 100 * s->wrong_upper);
		fb_str_add(out, "\n");
	}
	add_calibration(s, out);
	fb_str_addf(out,
		    "\n%zu trials in %.1f s; %.2f ms of CPU each; next commit %.3f ms, at most "
		    "%.3f ms\n",
		    s->trials, s->seconds, 1e3 * s->cpu_mean_s, 1e3 * s->next_mean_s,
		    1e3 * s->next_max_s);
	if (s->bound > 0)
		fb_str_add(out, "lower bound: " BOUND_SOURCE "\n");
}

static void tell(void *ctx, size_t done)
{
	fb_progress_line("%zu of %u trials", done, *(const unsigned *)ctx);
}

int fb_cmd_simulate(int argc, char **argv)
{
	struct fb_common common = {0};
	struct arguments a = {.noise = "normal", .trials = 1000, .min_boots = 2, .batch = 1};
	const struct fb_opt opts[] = {
		{"dag", 0, FB_OPT_STRING, &a.dag, "FILE|line:N",
		 "the history: a .dag file, or N commits in a line"},
		{"shift", 0, FB_OPT_STRING, &a.shift, "D[..E]|prior",
		 "the change, in sigma of a boot; or drawn"},
		{"no-regression", 0, FB_OPT_FLAG, &a.no_regression, NULL, "nothing changes"},
		{"second", 0, FB_OPT_STRING, &a.second, "D", "a second step, at a later commit"},
		{"together", 0, FB_OPT_FLAG, &a.together, NULL,
		 "the change shows only with both of two commits"},
		{"noise", 0, FB_OPT_STRING, &a.noise, "SHAPE",
		 "normal, t3, lognormal, bimodal, drift, binary or constant"},
		{"mode-share", 0, FB_OPT_FLAG, &a.mode_share, NULL,
		 "bimodal: the change moves boots to the upper mode"},
		{"rates", 0, FB_OPT_STRING, &a.rates, "G:B",
		 "binary: shares of bad verdicts when good, when bad"},
		{"known-rates", 0, FB_OPT_FLAG, &a.known_rates, NULL,
		 "binary: the search is told the rates"},
		{"build-sd", 0, FB_OPT_STRING, &a.build_sd, "S",
		 "spread from image to image, in sigma"},
		{"log-sigma", 0, FB_OPT_STRING, &a.log_sigma, "S",
		 "values on a logarithmic scale with this sigma"},
		{"skips", 0, FB_OPT_STRING, &a.skips, "RATE[:LEN]",
		 "share of untestable commits; mean length of their runs"},
		{"counter", 0, FB_OPT_STRING, &a.counter, "P[:SD[:CORR]]",
		 "a counter whose step is where the value's is with probability P"},
		{"idle-counters", 0, FB_OPT_STRING, &a.idle, "N[:KIND]",
		 "counters without a step: normal, coin, headline or sign"},
		{"culprit", 0, FB_OPT_STRING, &a.culprit, "N",
		 "the guilty commit (0: the first); default: drawn"},
		{"confidence", 0, FB_OPT_STRING, &a.confidence, "C",
		 "asked of the search; default 0.99"},
		{"min-effect", 0, FB_OPT_STRING, &a.min_effect, "E",
		 "smallest change looked for, in sigma; default 1, or D"},
		{"direction", 0, FB_OPT_STRING, &a.direction, "WHICH",
		 "known (default) or unknown to the search"},
		{"min-boots", 0, FB_OPT_UINT, &a.min_boots, "N", "of each end; default 2"},
		{"batch", 0, FB_OPT_UINT, &a.batch, "N", "boots side by side; default 1"},
		{"boots", 0, FB_OPT_STRING, &a.boots, "N[..M]",
		 "boots in all; or drawn from a range; default 1000"},
		{"repeats", 0, FB_OPT_UINT, &a.repeats, "K",
		 "no search, but git's halving with K boots a step"},
		{"trials", 0, FB_OPT_UINT, &a.trials, "T", "default 1000"},
		{"seed", 0, FB_OPT_STRING, &a.seed, "S",
		 "a trial depends on it and on its own number; default 1"},
		{"jobs", 0, FB_OPT_UINT, &a.jobs, "N", "processes; default: one for each CPU"},
		FB_COMMON_OPTS(common),
	};
	struct fb_error err = FB_ERROR_INIT;
	struct fb_dagfile file = {0};
	struct fb_str out = FB_STR_INIT;
	struct fb_simulation s;
	struct fb_world world;
	int first, rc;

	rc = fb_opt_parse(argc, argv, "simulate --dag FILE|line:N --shift D [OPTIONS]",
			  "How the search behaves in made histories: boots, errors, calibration, "
			  "and the lower bound.",
			  opts, FB_ARRAY_SIZE(opts), &first);

	if (rc >= 0)
		return rc;
	if (fb_at_most(argc, argv, first, &err) < 0 || read_world(&a, &world, &err) < 0)
		return fb_fail(&err);
	if (!a.dag) {
		fb_error_set(&err, FB_ERROR_USAGE, "--dag FILE or --dag line:N is needed");
		return fb_fail(&err);
	}
	if (fb_enter(&common, &err) < 0)
		return fb_fail(&err);
	if (fb_dagfile_load(a.dag, &file, &err) < 0) {
		/* A name that leads to no history is the user's mistake, not the system's. */
		if (err.code == FB_ERROR_SYSTEM)
			err.code = FB_ERROR_USAGE;
		return fb_fail(&err);
	}
	world.dag = file.dag;
	fb_progress_observer(&common);
	if (fb_simulate(&world, a.trials, a.jobs, tell, &a.trials, &s, &err) < 0) {
		fb_dagfile_release(&file);
		return fb_fail(&err);
	}
	if (common.json) {
		json_auto_t *root = to_json(&a, &file, &world, &s);

		fb_json_pretty(root, &out);
	} else {
		to_plain(&file, &world, &s, &out);
	}
	rc = fb_put(fb_str_cstr(&out));
	fb_str_release(&out);
	fb_dagfile_release(&file);
	return rc;
}
