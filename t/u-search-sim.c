/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The search keeps its error rate and its costs on simulated histories: one row of the
 * table is one test. FB_SIM_TRIALS=N runs N trials a row instead of the row's own number,
 * FB_SIM_SEED another seed, FB_SIM_ROW=TEXT only the rows whose names contain it.
 */
#include "t/test.h"

#include "bisect/stats.h"
#include "src/controller/dagfile.h"
#include "src/controller/world.h"
#include "src/util/util.h"

#define MATHLIB_STANDALONE
#include <Rmath.h>

struct row {
	const char *name;
	unsigned trials;
	uint32_t nr;	   /* candidates on a line */
	double shift;	   /* in sigma (a boot's SD); 0: no regression */
	double min_effect; /* in sigma */
	double image_sd;   /* in sigma */
	double skips;	   /* share of untestable commits */
	unsigned run;	   /* mean length of a run of them */
	unsigned min_boots, batch;
	enum fb_noise noise;
	enum fb_direction direction;
	double sigma_log; /* > 0: logarithmic scale with this boot SD */
	double boots_max; /* the mean may not exceed it; 0: not asserted */
};

static struct fb_world world_of(const struct row *row, const struct fb_dag *dag, uint64_t seed)
{
	double shift = row->direction == FB_DIRECTION_DOWN ? -row->shift : row->shift;

	return (struct fb_world){
		.dag = dag,
		.shift_lo = shift,
		.shift_hi = shift,
		.no_regression = !(row->shift > 0),
		.culprit = -1,
		.noise = row->noise,
		.build_sd = row->image_sd,
		.log_sigma = row->sigma_log,
		.skip_share = row->skips,
		.skip_run = row->run ? row->run : 1,
		.any_direction = row->direction == FB_DIRECTION_ANY,
		.confidence = 0.99,
		.min_effect = row->min_effect,
		.min_boots = row->min_boots,
		.batch = row->batch,
		.boots_lo = 600,
		.boots_hi = 600,
		.seed = seed,
	};
}

static int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void keeps_its_error_rate(void **state)
{
	const struct row *row = *state;
	const char *env = getenv("FB_SIM_TRIALS"), *env_seed = getenv("FB_SIM_SEED");
	size_t trials = env ? strtoul(env, NULL, 10) : row->trials, nr[FB_NR_OUTCOMES] = {0}, bad;
	uint64_t seed = env_seed ? strtoul(env_seed, NULL, 10) : 1;
	FB_CLEANUP(fb_freep) char *line = fb_xasprintf("line:%u", row->nr);
	struct fb_error err = FB_ERROR_INIT;
	double *boots, sum = 0, commits = 0;
	struct fb_dagfile file;
	struct fb_world world;

	if (getenv("FB_SIM_ROW") && !strstr(row->name, getenv("FB_SIM_ROW")))
		return;
	assert_true(trials > 0);
	assert_ok(fb_dagfile_load(line, &file, &err), &err);
	world = world_of(row, file.dag, seed);
	assert_ok(fb_world_check(&world, &err), &err);
	boots = calloc(trials, sizeof(*boots));
	for (size_t i = 0; i < trials; i++) {
		struct fb_trial t;

		fb_world_trial(&world, i, &t);
		assert_string_equal(t.failure, "");
		nr[t.outcome]++;
		boots[i] = t.boots;
		sum += t.boots;
		commits += t.commits;
	}
	fb_dagfile_release(&file);
	qsort(boots, trials, sizeof(*boots), compare_doubles);
	bad = row->shift > 0 ? nr[FB_OUTCOME_WRONG] + nr[FB_OUTCOME_NONE] + nr[FB_OUTCOME_OTHER]
			     : trials - nr[FB_OUTCOME_NONE] - nr[FB_OUTCOME_UNDECIDED];
	printf("# %-44s n %5zu boots %6.1f p95 %4.0f commits %5.1f right %zu range %zu wrong %zu "
	       "none %zu other %zu undecided %zu; errors <= %.2f %%\n",
	       row->name, trials, sum / (double)trials, boots[(size_t)((double)trials * 0.95)],
	       commits / (double)trials, nr[FB_OUTCOME_RIGHT], nr[FB_OUTCOME_RANGE],
	       nr[FB_OUTCOME_WRONG], nr[FB_OUTCOME_NONE], nr[FB_OUTCOME_OTHER],
	       nr[FB_OUTCOME_UNDECIDED], 100 * fb_stats_upper(bad, trials, 0.95));
	fflush(stdout);
	free(boots);
	/* A row fails when its errors would be a surprise (p < 0.001) at a true rate of 1 %. */
	if (pbinom((double)bad - 1, (double)trials, 0.01, 0, 0) < 0.001)
		fail_msg("%zu errors in %zu trials", bad, trials);
	/* And with many trials, unless they show it (1.3 %: the margin that 10,000 allow). */
	if (trials >= 5000 && fb_stats_upper(bad, trials, 0.95) > 0.013)
		fail_msg("%zu errors in %zu trials: the bound is above 1.3 %%", bad, trials);
	if (row->boots_max > 0 && sum / (double)trials > row->boots_max)
		fail_msg("%.1f boots, more than %g", sum / (double)trials, row->boots_max);
	/* Where images differ by themselves, some answers are "undecided" rather than wrong. */
	if (nr[FB_OUTCOME_UNDECIDED] > (row->image_sd > 0 ? trials / 2 : trials / 20))
		fail_msg("%zu of %zu undecided", nr[FB_OUTCOME_UNDECIDED], trials);
}

#define ROW(title, n, d, ...)                                                                      \
	{                                                                                          \
		.name = title, .trials = n, .nr = 1024, .shift = d, .batch = 1, __VA_ARGS__        \
	}
#define UP  .min_effect = 1, .min_boots = 3, .direction = FB_DIRECTION_UP
#define ANY .min_effect = 1, .min_boots = 3, .direction = FB_DIRECTION_ANY
/* The demonstration's case: 5 % or more is looked for, boots in pairs. */
#define DEMO(title, n, spread, effect, way, ...)                                                   \
	{                                                                                          \
		.name = title, .trials = n, .nr = 90, .shift = (effect) / (spread),                \
		.min_boots = 3, .min_effect = 0.0488 / (spread), .sigma_log = (spread),            \
		.batch = 2, .direction = way, __VA_ARGS__                                          \
	}
#define SLOWER FB_DIRECTION_UP
#define FASTER FB_DIRECTION_DOWN

static const struct row rows[] = {
	ROW("line of 1024, 1 sigma", 2, 1, UP),
	ROW("line of 1024, 2 sigma", 6, 2, UP),
	ROW("line of 1024, 3 sigma", 40, 3, UP),
	ROW("line of 1024, 4 sigma", 40, 4, UP),
	ROW("line of 1024, 10 sigma", 40, 10, UP),
	ROW("line of 1024, 4 sigma, 2 boots an end", 40, 4, .min_effect = 1, .min_boots = 2,
	    .direction = FB_DIRECTION_UP),
	ROW("line of 1024, 3 sigma, direction unknown", 20, 3, ANY),
	ROW("no regression, 1 sigma looked for", 8, 0, UP, .boots_max = 75),
	ROW("no regression, 4 sigma looked for", 8, 0, .min_effect = 4, .min_boots = 3,
	    .direction = FB_DIRECTION_UP),
	ROW("no regression, 0.5 sigma looked for", 3, 0, .min_effect = 0.5, .min_boots = 3,
	    .direction = FB_DIRECTION_UP),
	ROW("no regression, direction unknown", 8, 0, ANY),
	ROW("no regression, t3 noise", 8, 0, UP, .noise = FB_NOISE_T3),
	ROW("3 sigma, 10 % skipped in runs of 5", 8, 3, UP, .skips = 0.1, .run = 5),
	ROW("3 sigma, 30 % skipped in runs of 10", 8, 3, UP, .skips = 0.3, .run = 10),
	ROW("3 sigma, 30 % skipped singly", 8, 3, UP, .skips = 0.3, .run = 1),
	ROW("2 sigma, image effect of 0.5 sigma", 24, 2, UP, .image_sd = 0.5),
	ROW("4 sigma, image effect of 0.5 sigma", 8, 4, UP, .image_sd = 0.5),
	ROW("4 sigma, image effect of 1 sigma", 8, 4, UP, .image_sd = 1),
	ROW("2 sigma, t3 noise", 8, 2, UP, .noise = FB_NOISE_T3),
	ROW("4 sigma, t3 noise", 8, 4, UP, .noise = FB_NOISE_T3),
	ROW("no noise at all", 40, 3, UP, .noise = FB_NOISE_CONSTANT, .boots_max = 22),
	DEMO("90 commits, 0.5 % spread, 5 % slower", 40, 0.005, 0.0488, SLOWER, .run = 1),
	DEMO("90 commits, 0.5 % spread, 100 % slower", 40, 0.005, 0.69, SLOWER, .run = 1),
	DEMO("90 commits, 2 % spread, 10 % slower", 40, 0.02, 0.095, SLOWER, .run = 1),
	DEMO("90 commits, 2 % spread, 200 % slower", 40, 0.02, 1.1, SLOWER, .run = 1),
	DEMO("90 commits, 6 % spread, 20 % slower", 20, 0.06, 0.182, SLOWER, .run = 1),
	DEMO("90 commits, 6 % spread, 100 % slower", 20, 0.06, 0.69, SLOWER, .run = 1),
	DEMO("90 commits, 0.5 % spread, innocent", 40, 0.005, 0, SLOWER, .run = 1),
	DEMO("90 commits, 2 % spread, innocent", 40, 0.02, 0, SLOWER, .run = 1),
	DEMO("90 commits, 6 % spread, innocent", 20, 0.06, 0, SLOWER, .run = 1),
	DEMO("90 commits, 2 % spread, 50 %, t3, skips in runs of 4", 20, 0.02, 0.4, SLOWER,
	     .noise = FB_NOISE_T3, .skips = 0.2, .run = 4),
	DEMO("90 commits, 2 % spread, 33 % faster", 20, 0.02, 0.4, FASTER, .run = 1),
};

int main(void)
{
	struct CMUnitTest tests[sizeof(rows) / sizeof(rows[0])];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		tests[i] = (struct CMUnitTest){rows[i].name, keeps_its_error_rate, NULL, NULL,
					       (void *)(uintptr_t)&rows[i]};
	return cmocka_run_group_tests_name("search-sim", tests, NULL, NULL);
}
