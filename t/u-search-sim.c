/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The search keeps its error rate and its costs on simulated histories: one row of the
 * table is one test. FB_SIM_TRIALS=N runs N trials a row instead of the row's own number,
 * FB_SIM_SEED another seed, FB_SIM_ROW=TEXT only the rows whose names contain it.
 */
#include "t/test.h"

#include "bisect/search.h"
#include "bisect/stats.h"

#define MATHLIB_STANDALONE
#include <Rmath.h>

enum noise { NORMAL, T3, CONSTANT };

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
	enum noise noise;
	enum fb_direction direction;
	double sigma_log; /* > 0: logarithmic scale with this boot SD */
	double boots_max; /* the mean may not exceed it; 0: not asserted */
};

/* xoshiro256** 1.0 (D. Blackman and S. Vigna, ACM TOMS 47, 2021), seeded by splitmix64. */
struct rng {
	uint64_t s[4];
};

static uint64_t rotl(uint64_t x, int k)
{
	return x << k | x >> (64 - k);
}

static uint64_t next64(struct rng *r)
{
	uint64_t result = rotl(r->s[1] * 5, 7) * 9, t = r->s[1] << 17;

	r->s[2] ^= r->s[0];
	r->s[3] ^= r->s[1];
	r->s[1] ^= r->s[2];
	r->s[0] ^= r->s[3];
	r->s[2] ^= t;
	r->s[3] = rotl(r->s[3], 45);
	return result;
}

static void seed_rng(struct rng *r, uint64_t seed)
{
	for (int i = 0; i < 4; i++) {
		uint64_t z = (seed += UINT64_C(0x9e3779b97f4a7c15));

		z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
		z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
		r->s[i] = z ^ z >> 31;
	}
}

static double uniform(struct rng *r)
{
	return ((double)(next64(r) >> 11) + 0.5) * 0x1p-53;
}

static double normal(struct rng *r)
{
	return sqrt(-2 * log(uniform(r))) * cos(2 * M_PI * uniform(r));
}

/* Unit variance, whatever the shape. */
static double noise_of(struct rng *r, enum noise noise)
{
	double z = normal(r), a, b, c;

	switch (noise) {
	case NORMAL:
		return z;
	case CONSTANT:
		return 0;
	case T3:
		a = normal(r);
		b = normal(r);
		c = normal(r);
		/* t with 3 degrees of freedom has variance 3. */
		return z / sqrt((a * a + b * b + c * c) / 3) / sqrt(3);
	}
	return 0;
}

enum outcome { RIGHT, RIGHT_RANGE, WRONG, NONE, UNDECIDED, OTHER, NR_OUTCOMES };

struct trial {
	enum outcome outcome;
	double boots;
	unsigned commits;
};

static struct trial run_trial(const struct row *row, uint64_t seed)
{
	struct fb_search_params params = {
		.confidence = 0.99,
		.min_effect = row->min_effect,
		.scale = row->sigma_log > 0 ? FB_SCALE_LOG : FB_SCALE_LINEAR,
		.direction = row->direction,
		.min_boots = row->min_boots,
		.max_total = 600,
		.batch = row->batch,
	};
	uint32_t nr = row->nr + 1, good = 0, bad = nr - 1, culprit, parent, lo, hi;
	struct trial trial = {.outcome = OTHER};
	struct fb_dag *dag = fb_dag_new();
	struct fb_search *search;
	struct fb_search_ask step;
	struct fb_verdict verdict;
	unsigned char *skip = calloc(nr, 1), *seen = calloc(nr, 1);
	double *image = calloc(nr, sizeof(*image)), sign = row->direction < 0 ? -1 : 1;
	struct rng rng;

	seed_rng(&rng, seed);
	if (row->sigma_log > 0)
		params.min_effect = sign * expm1(sign * row->min_effect * row->sigma_log);
	for (uint32_t v = 0; v < nr; v++) {
		parent = v - 1;
		assert_int_equal(fb_dag_add(dag, &parent, v ? 1 : 0), 0);
		image[v] = row->image_sd * normal(&rng);
	}
	if (row->direction == FB_DIRECTION_ANY && uniform(&rng) < 0.5)
		sign = -1;
	culprit = 1 + (uint32_t)(uniform(&rng) * row->nr);
	for (uint32_t v = 1; v < bad; v++) {
		/* A two-state chain with the share and the mean length of runs asked for. */
		double leave = 1.0 / (row->run ? row->run : 1);
		double enter = row->skips * leave / (1 - row->skips);

		if (row->skips > 0)
			skip[v] = skip[v - 1] ? uniform(&rng) >= leave : uniform(&rng) < enter;
	}
	search = fb_search_new(dag, &good, 1, NULL, 0, bad, &params);
	assert_non_null(search);
	while (fb_search_next(search, &step) == FB_SEARCH_MEASURE) {
		assert_true(step.boots >= 1 && step.boots <= row->batch);
		if (skip[step.node]) {
			assert_int_equal(fb_search_skip(search, step.node), 0);
			continue;
		}
		trial.commits += !seen[step.node];
		seen[step.node] = 1;
		for (unsigned i = 0; i < step.boots; i++) {
			double z = image[step.node] + noise_of(&rng, row->noise);

			if (step.node >= culprit)
				z += sign * row->shift;
			z = row->sigma_log > 0 ? 1000 * exp(row->sigma_log * z) : 100 + z;
			assert_int_equal(fb_search_record(search, step.node, z), 0);
		}
	}
	fb_search_verdict(search, &verdict);
	trial.boots = verdict.boots;
	/* The smallest range: the skipped just below a testable commit belong to it. */
	hi = culprit;
	while (skip[hi])
		hi++;
	lo = hi;
	while (lo > 1 && skip[lo - 1])
		lo--;
	switch (verdict.kind) {
	case FB_VERDICT_FOUND:
		trial.outcome = verdict.nodes[0] == culprit ? RIGHT : WRONG;
		break;
	case FB_VERDICT_RANGE:
		trial.outcome = verdict.nodes[0] == lo && verdict.nr_nodes == hi - lo + 1
					? RIGHT_RANGE
					: WRONG;
		break;
	case FB_VERDICT_NONE:
		trial.outcome = NONE;
		break;
	case FB_VERDICT_UNDECIDED:
		trial.outcome = UNDECIDED;
		break;
	case FB_VERDICT_OTHER:
	case FB_VERDICT_OPEN:
	case FB_VERDICT_BASE_BAD:
	case FB_VERDICT_UNTESTABLE:
		trial.outcome = OTHER;
		break;
	}
	fb_search_free(search);
	fb_dag_free(dag);
	free(skip);
	free(seen);
	free(image);
	return trial;
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
	size_t trials = env ? strtoul(env, NULL, 10) : row->trials, nr[NR_OUTCOMES] = {0}, bad;
	uint64_t seed = env_seed ? strtoul(env_seed, NULL, 10) : 1;
	double *boots, sum = 0, commits = 0;

	if (getenv("FB_SIM_ROW") && !strstr(row->name, getenv("FB_SIM_ROW")))
		return;
	assert_true(trials > 0);
	boots = calloc(trials, sizeof(*boots));
	for (size_t i = 0; i < trials; i++) {
		struct trial t = run_trial(row, seed * 1000003 + i);

		nr[t.outcome]++;
		boots[i] = t.boots;
		sum += t.boots;
		commits += t.commits;
	}
	qsort(boots, trials, sizeof(*boots), compare_doubles);
	bad = row->shift > 0 ? nr[WRONG] + nr[NONE] + nr[OTHER] : trials - nr[NONE] - nr[UNDECIDED];
	printf("# %-44s n %5zu boots %6.1f p95 %4.0f commits %5.1f right %zu range %zu wrong %zu "
	       "none %zu other %zu undecided %zu; errors <= %.2f %%\n",
	       row->name, trials, sum / (double)trials, boots[(size_t)((double)trials * 0.95)],
	       commits / (double)trials, nr[RIGHT], nr[RIGHT_RANGE], nr[WRONG], nr[NONE], nr[OTHER],
	       nr[UNDECIDED], 100 * fb_stats_upper(bad, trials, 0.95));
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
	if (nr[UNDECIDED] > (row->image_sd > 0 ? trials / 3 : trials / 20))
		fail_msg("%zu of %zu undecided", nr[UNDECIDED], trials);
}

#define ROW(title, n, d, ...)                                                                      \
	{ .name = title, .trials = n, .nr = 1024, .shift = d, .batch = 1, __VA_ARGS__ }
#define UP  .min_effect = 1, .min_boots = 3, .direction = FB_DIRECTION_UP
#define ANY .min_effect = 1, .min_boots = 3, .direction = FB_DIRECTION_ANY
/* The demonstration's case: 5 % or more is looked for, boots in pairs. */
#define DEMO(title, n, spread, effect, way, ...)                                                   \
	{ .name = title, .trials = n, .nr = 90, .shift = (effect) / (spread), .min_boots = 3,      \
	  .min_effect = 0.0488 / (spread), .sigma_log = (spread), .batch = 2, .direction = way,    \
	  __VA_ARGS__ }
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
	ROW("no regression, t3 noise", 8, 0, UP, .noise = T3),
	ROW("3 sigma, 10 % skipped in runs of 5", 8, 3, UP, .skips = 0.1, .run = 5),
	ROW("3 sigma, 30 % skipped in runs of 10", 8, 3, UP, .skips = 0.3, .run = 10),
	ROW("3 sigma, 30 % skipped singly", 8, 3, UP, .skips = 0.3, .run = 1),
	ROW("2 sigma, image effect of 0.5 sigma", 8, 2, UP, .image_sd = 0.5),
	ROW("4 sigma, image effect of 0.5 sigma", 8, 4, UP, .image_sd = 0.5),
	ROW("4 sigma, image effect of 1 sigma", 8, 4, UP, .image_sd = 1),
	ROW("2 sigma, t3 noise", 8, 2, UP, .noise = T3),
	ROW("4 sigma, t3 noise", 8, 4, UP, .noise = T3),
	ROW("no noise at all", 40, 3, UP, .noise = CONSTANT, .boots_max = 22),
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
	     .noise = T3, .skips = 0.2, .run = 4),
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
