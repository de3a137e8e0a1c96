/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Protects: simulated worlds are what they say, and answers are judged by what really was. */
#include "t/test.h"

#include "src/controller/dagfile.h"
#include "src/controller/simulate.h"
#include "src/util/util.h"

#define DRAWS 200000

/*
 * R 4.2.2, two points of each distribution function: pnorm(q), pt(sqrt(3) q, 3),
 * plnorm(m + sd q, 0, 0.5) with m and sd of that lognormal, and
 * (1 - s) pnorm((q + 0.6) / 0.4) + s pnorm((q - 1.4) / 0.4) for s = 0.3 and 0.8.
 */
static void each_noise_has_its_distribution(void **state)
{
	static const struct {
		enum fb_noise noise;
		double share, below[2];
	} rows[] = {
		{FB_NOISE_NORMAL, 0.3, {0.6914624613, 0.2419636522}},
		{FB_NOISE_T3, 0.3, {0.7749075721, 0.1560583305}},
		{FB_NOISE_LOGNORMAL, 0.3, {0.7649963831, 0.2470496992}},
		{FB_NOISE_BIMODAL, 0.3, {0.7015815075, 0.2809055948}},
		{FB_NOISE_BIMODAL, 0.8, {0.2091836255, 0.0802587957}},
	};

	for (size_t i = 0; i < FB_ARRAY_SIZE(rows); i++) {
		double mean = 0, ss = 0;
		size_t nr[2] = {0, 0};
		struct fb_rng rng;

		fb_rng_init(&rng, 1, i);
		for (int k = 0; k < DRAWS; k++) {
			double y = fb_noise_draw(&rng, rows[i].noise, rows[i].share);

			nr[0] += y <= 0.5;
			nr[1] += y <= -0.7;
			mean += y / DRAWS;
			ss += y * y / DRAWS;
		}
		/* 4.5 standard errors of a share. */
		assert_near((double)nr[0] / DRAWS, rows[i].below[0], 0.005);
		assert_near((double)nr[1] / DRAWS, rows[i].below[1], 0.005);
		assert_near(mean, (rows[i].share - 0.3) * 2, 0.012);
		/* The fourth moment of t3 is infinite: its variance cannot be seen like this. */
		if (rows[i].noise != FB_NOISE_T3 && rows[i].share < 0.5)
			assert_near(ss, 1, 0.03);
	}
}

/* R 4.2.2: sqrt(3) dt(0.7 sqrt(3), 3), sd dlnorm(m + 0.4 sd, 0, 0.5), the mixture, dnorm(1.1). */
static void densities_are_those_of_R(void **state)
{
	assert_near(fb_noise_density(FB_NOISE_T3, 0.3, 0.7), 0.286752746438260, 1e-13);
	assert_near(fb_noise_density(FB_NOISE_LOGNORMAL, 0.3, 0.4), 0.286237131294828, 1e-13);
	assert_near(fb_noise_density(FB_NOISE_BIMODAL, 0.3, 0.5), 0.039718473254535, 1e-13);
	assert_near(fb_noise_density(FB_NOISE_NORMAL, 0.3, 1.1), 0.217852177032551, 1e-13);
	assert_true(fb_noise_density(FB_NOISE_LOGNORMAL, 0.3, -2) == 0);
}

/*
 * R 4.2.2: optimize() over p of integrate() of the mutual information of dnorm(y) and dnorm(y - d),
 * and so on; for verdicts h(q) - (1 - p) h(a) - p h(b). C(1) .. C(4) for normal noise are also the
 * capacities of the binary-input Gaussian channel at amplitude d / 2.
 */
static void capacities_are_those_of_R(void **state)
{
	assert_near(fb_noise_capacity(FB_NOISE_NORMAL, 1, 0.3), 0.160747219796, 1e-8);
	assert_near(fb_noise_capacity(FB_NOISE_NORMAL, -2, 0.3), 0.485944154133, 1e-8);
	assert_near(fb_noise_capacity(FB_NOISE_DRIFT, 3, 0.3), 0.759979007771, 1e-8);
	assert_near(fb_noise_capacity(FB_NOISE_NORMAL, 4, 0.3), 0.912822285774, 1e-8);
	assert_near(fb_noise_capacity(FB_NOISE_T3, 2, 0.3), 0.628094407926, 1e-7);
	assert_near(fb_noise_capacity(FB_NOISE_LOGNORMAL, 2, 0.3), 0.628347967214, 1e-7);
	assert_near(fb_noise_capacity(FB_NOISE_LOGNORMAL, 1, 0.3), 0.293749799019, 1e-7);
	assert_near(fb_noise_capacity(FB_NOISE_BIMODAL, 1, 0.3), 0.495814910265, 1e-7);
	assert_near(fb_noise_capacity(FB_NOISE_BIMODAL, 0, 0.8), 0.187511893422, 1e-7);
	assert_near(fb_binary_capacity(0.05, 0.95), 0.713603042884, 1e-9);
	assert_near(fb_binary_capacity(0.02, 0.3), 0.1257423292848, 1e-9);
	assert_near(fb_binary_capacity(0.001, 0.05), 0.0234043687529, 1e-9);
	assert_true(fb_noise_capacity(FB_NOISE_CONSTANT, 3, 0.3) == 1);
}

/* Mean squares of what it adds to the first boot, and of its change over 100 boots. */
static void drift_walks_and_waves(void **state)
{
	double first = 0, change = 0;
	struct fb_rng rng;

	fb_rng_init(&rng, 3, 0);
	for (int i = 0; i < DRAWS / 20; i++) {
		struct fb_drift drift;
		double a, b = 0;

		fb_drift_init(&drift, &rng);
		a = fb_drift_next(&drift, &rng);
		for (int k = 0; k < 100; k++)
			b = fb_drift_next(&drift, &rng);
		first += a * a / (DRAWS / 20.0);
		change += (b - a) * (b - a) / (DRAWS / 20.0);
	}
	assert_near(first, 0.5 * 0.5 / 2 + 0.03 * 0.03, 0.005);
	assert_near(change, 0.5 * 0.5 * (1 - cos(2 * M_PI * 100 / 720)) + 100 * 0.03 * 0.03, 0.01);
}

static void line(uint32_t nr, struct fb_dagfile *ret)
{
	FB_CLEANUP(fb_freep) char *name = fb_xasprintf("line:%u", nr);
	struct fb_error err = FB_ERROR_INIT;

	assert_ok(fb_dagfile_load(name, ret, &err), &err);
}

static struct fb_world world_of(const struct fb_dagfile *file, double shift)
{
	return (struct fb_world){
		.dag = file->dag,
		.shift_lo = shift,
		.shift_hi = shift,
		.culprit = -1,
		.confidence = 0.99,
		.min_effect = 1,
		.min_boots = 3,
		.batch = 1,
		.boots_lo = 1000,
		.boots_hi = 1000,
		.seed = 1,
	};
}

static void skips_have_their_share_and_runs(void **state)
{
	static const double rows[][2] = {{0.1, 5}, {0.3, 10}, {0.3, 1 / 0.7}};
	enum { NR = 200000 };
	static bool skipped[NR + 1];
	struct fb_dagfile file;

	line(NR, &file);
	for (size_t i = 0; i < FB_ARRAY_SIZE(rows); i++) {
		struct fb_world w = world_of(&file, 1);
		double nr = 0, runs = 0;
		struct fb_rng rng;

		w.skip_share = rows[i][0];
		w.skip_run = rows[i][1];
		fb_rng_init(&rng, 5, i);
		fb_world_skips(&w, &rng, skipped);
		assert_false(skipped[0] || skipped[NR]);
		for (uint32_t v = 1; v <= NR; v++) {
			nr += skipped[v];
			runs += skipped[v] && !skipped[v - 1];
		}
		assert_near(nr / NR, rows[i][0], 0.02);
		assert_near(nr / runs, rows[i][1], 0.03 * rows[i][1]);
	}
	fb_dagfile_release(&file);
}

/* A run follows first parents: the side branch of a merge goes its own way. */
static void runs_of_skips_follow_first_parents(void **state)
{
	/* 0 - 1 .. NR on a line, and a side branch that leaves it at 1 and comes back at the end.
	 */
	enum { NR = 20000 };
	struct fb_dag *dag = fb_dag_new();
	static bool skipped[2 * NR + 2];
	struct fb_world w = {.skip_share = 0.5, .skip_run = 1000};
	double same_line = 0, across = 0;
	struct fb_rng rng;
	uint32_t p[2];

	assert_int_equal(fb_dag_add(dag, NULL, 0), 0);
	/* Line and branch alternate: neighbours in order are of different branches. */
	for (uint32_t v = 1; v <= 2 * NR; v++) {
		p[0] = v <= 2 ? v - 1 : v - 2;
		assert_int_equal(fb_dag_add(dag, p, 1), 0);
	}
	p[0] = 2 * NR - 1;
	p[1] = 2 * NR;
	assert_int_equal(fb_dag_add(dag, p, 2), 0);
	w.dag = dag;
	fb_rng_init(&rng, 8, 0);
	fb_world_skips(&w, &rng, skipped);
	for (uint32_t v = 3; v <= 2 * NR; v++) {
		same_line += skipped[v] == skipped[v - 2];
		across += skipped[v] == skipped[v - 1];
	}
	assert_true(same_line / (2 * NR) > 0.99);
	assert_true(across / (2 * NR) < 0.9);
	fb_dag_free(dag);
}

/* By definition: the same testable commits contain both. */
static bool alike(const struct fb_dag *dag, const bool *skipped, uint32_t a, uint32_t b)
{
	for (uint32_t t = 1; t < fb_dag_nr(dag); t++)
		if (!skipped[t] && fb_dag_is_ancestor(dag, a, t) != fb_dag_is_ancestor(dag, b, t))
			return false;
	return true;
}

static void a_range_is_what_cannot_be_told_apart(void **state)
{
	enum { NR = 14, GRAPHS = 3000 };
	size_t several = 0, odd = 0;
	struct fb_rng rng;

	fb_rng_init(&rng, 11, 0);
	for (int g = 0; g < GRAPHS; g++) {
		struct fb_dag *dag = fb_dag_new();
		bool skipped[NR + 1] = {false}, in[NR + 1];
		uint32_t culprit = 1 + fb_rng_below(&rng, NR), nr;

		assert_int_equal(fb_dag_add(dag, NULL, 0), 0);
		for (uint32_t v = 1; v <= NR; v++) {
			uint32_t back = v < 4 ? v : 4;
			uint32_t p[2] = {v - 1 - fb_rng_below(&rng, back),
					 v - 1 - fb_rng_below(&rng, back)};

			if (v == NR)
				p[0] = v - 1;
			assert_int_equal(fb_dag_add(dag, p, p[0] == p[1] ? 1 : 2), 0);
			skipped[v] = v < NR && fb_rng_uniform(&rng) < 0.5;
		}
		nr = fb_world_range(dag, skipped, culprit, in);
		assert_false(in[0]);
		assert_true(in[culprit]);
		for (uint32_t v = 1; v <= NR; v++) {
			/* Commits that the bad end does not contain are no candidates. */
			if (fb_dag_is_ancestor(dag, v, NR) && fb_dag_is_ancestor(dag, culprit, NR))
				assert_int_equal(in[v], alike(dag, skipped, culprit, v));
			nr -= in[v];
		}
		assert_int_equal(nr, 0);
		for (uint32_t v = 1; v <= NR; v++)
			several += in[v] && v != culprit;
		odd += skipped[culprit];
		fb_dag_free(dag);
	}
	assert_true(several > GRAPHS && odd > GRAPHS / 4);
}

static void a_trial_depends_on_the_seed_and_its_number(void **state)
{
	struct fb_trial a, b, c, d;
	struct fb_dagfile file;
	struct fb_world w;
	int same_number = 0, same_seed = 0;

	line(64, &file);
	w = world_of(&file, 4);
	w.noise = FB_NOISE_LOGNORMAL;
	w.build_sd = 0.2;
	w.skip_share = 0.1;
	w.skip_run = 3;
	for (uint64_t i = 0; i < 10; i++) {
		fb_world_trial(&w, i, &a);
		fb_world_trial(&w, i, &b);
		assert_string_equal(a.failure, "");
		assert_int_equal(a.outcome, b.outcome);
		assert_int_equal(a.boots, b.boots);
		assert_int_equal(a.commits, b.commits);
		assert_true(a.stated == b.stated);
		fb_world_trial(&w, i + 100, &c);
		w.seed = 2;
		fb_world_trial(&w, i, &d);
		w.seed = 1;
		same_seed += a.boots == c.boots && a.commits == c.commits;
		same_number += a.boots == d.boots && a.commits == d.commits;
	}
	assert_true(same_seed < 10 && same_number < 10);
	fb_dagfile_release(&file);
}

static void the_given_culprit_is_the_one(void **state)
{
	struct fb_dagfile file;
	struct fb_world w;
	struct fb_trial t;

	line(40, &file);
	w = world_of(&file, 3);
	w.noise = FB_NOISE_CONSTANT;
	for (w.culprit = 0; w.culprit < 40; w.culprit += 13) {
		fb_world_trial(&w, 0, &t);
		assert_string_equal(t.failure, "");
		assert_int_equal(t.outcome, FB_OUTCOME_RIGHT);
		assert_true(t.held && t.stated >= 0.99);
		assert_true(t.commits >= 2 && t.boots >= t.commits && t.steps > t.commits);
	}
	/* Nothing changes: neither is one found. */
	w = world_of(&file, 0);
	w.no_regression = true;
	w.noise = FB_NOISE_CONSTANT;
	fb_world_trial(&w, 0, &t);
	assert_int_equal(t.outcome, FB_OUTCOME_NONE);
	/* The boots run out before anything is known. */
	w = world_of(&file, 3);
	w.boots_lo = w.boots_hi = 7;
	fb_world_trial(&w, 0, &t);
	assert_int_equal(t.outcome, FB_OUTCOME_UNDECIDED);
	assert_int_equal(t.boots, 7);
	fb_dagfile_release(&file);
}

/*
 * R 4.2.2: d <- function(s) ifelse(s < 0.7, 0, 1 / pmax(s, 1)) / (15 * log(2) + 0.3), the density
 * in bisect/model.h; integrate(d, 0.7, x)$value for x = 0.85, 1, 2, 100.
 */
static void the_prior_of_the_shift_is_that_of_the_search(void **state)
{
	static const double rows[][2] = {
		{0.85, 0.0140223}, {1, 0.0280446}, {2, 0.0928416}, {100, 0.4585458}};

	for (size_t i = 0; i < FB_ARRAY_SIZE(rows); i++)
		assert_near(fb_world_prior_shift(3, rows[i][1]), 3 * rows[i][0], 1e-4 * rows[i][0]);
	assert_near(fb_world_prior_shift(1, 0), 0.7, 1e-12);
	assert_near(fb_world_prior_shift(1, 1), 32768, 1e-6);
}

static void both_of_two_steps_are_named(void **state)
{
	struct fb_dagfile file;
	struct fb_world w;
	struct fb_trial t;
	int named[FB_NR_OUTCOMES] = {0};

	line(64, &file);
	w = world_of(&file, 4);
	w.second = 4;
	for (uint64_t i = 0; i < 20; i++) {
		fb_world_trial(&w, i, &t);
		assert_string_equal(t.failure, "");
		named[t.outcome]++;
		if (t.outcome == FB_OUTCOME_STEPS)
			assert_true(t.held && t.stated >= 0.99);
	}
	assert_true(named[FB_OUTCOME_STEPS] > 10);
	assert_int_equal(named[FB_OUTCOME_STEPS] + named[FB_OUTCOME_RIGHT], 20);
	fb_dagfile_release(&file);
}

/* 0 - 1 - 2 - 4 - 5 and 1 - 3 - 4: what needs two commits shows where their branches meet. */
static void what_needs_two_commits_shows_where_they_meet(void **state)
{
	static const uint32_t parent[][2] = {{0}, {0}, {1}, {1}, {2, 3}, {4}};
	struct fb_dag *dag = fb_dag_new();
	struct fb_dagfile file = {.dag = dag};
	struct fb_error err = FB_ERROR_INIT;
	struct fb_world w = world_of(&file, 6);
	struct fb_trial t;

	for (uint32_t v = 0; v < FB_ARRAY_SIZE(parent); v++)
		assert_int_equal(fb_dag_add(dag, parent[v], v == 0 ? 0 : v == 4 ? 2 : 1), 0);
	w.together = true;
	w.noise = FB_NOISE_CONSTANT;
	assert_ok(fb_world_check(&w, &err), &err);
	for (uint64_t i = 0; i < 20; i++) {
		fb_world_trial(&w, i, &t);
		assert_string_equal(t.failure, "");
		/* Of 2 and 3: neither shows it, so that only the merge is right. */
		assert_int_equal(t.outcome, FB_OUTCOME_RIGHT);
	}
	fb_dag_free(dag);
}

/* R 4.2.2: pnorm(sqrt(3))^10 = 0.65361 and pnorm(1)^10 = 0.17772 for halving 1024 commits. */
static void fixed_repeats_err_as_often_as_they_must(void **state)
{
	enum { TRIALS = 4000 };
	struct fb_dagfile file;
	struct fb_simulation s;
	struct fb_error err = FB_ERROR_INIT;
	struct fb_world w;

	line(1024, &file);
	w = world_of(&file, 2);
	w.repeats = 3;
	assert_ok(fb_simulate(&w, TRIALS, 1, NULL, NULL, &s, &err), &err);
	assert_near(s.boots_mean, 30, 1e-9);
	assert_near((double)s.outcomes[FB_OUTCOME_RIGHT] / TRIALS, 0.65361, 0.03);
	assert_near((double)s.outcomes[FB_OUTCOME_WRONG] / TRIALS, 1 - 0.65361, 0.03);
	w.shift_lo = w.shift_hi = -2;
	w.repeats = 1;
	w.log_sigma = 0.001;
	assert_ok(fb_simulate(&w, TRIALS, 1, NULL, NULL, &s, &err), &err);
	assert_near((double)s.outcomes[FB_OUTCOME_RIGHT] / TRIALS, 0.17772, 0.03);
	/* 5 % wrong verdicts: 0.95^10 = 0.5987. */
	w = world_of(&file, 2 * 1.6448536269514722);
	w.noise = FB_NOISE_BINARY;
	w.threshold = 1.6448536269514722;
	w.repeats = 1;
	assert_ok(fb_simulate(&w, TRIALS, 1, NULL, NULL, &s, &err), &err);
	assert_near((double)s.outcomes[FB_OUTCOME_RIGHT] / TRIALS, 0.5987, 0.03);
	fb_dagfile_release(&file);
}

static void the_jobs_do_not_matter(void **state)
{
	struct fb_simulation a, b;
	struct fb_dagfile file;
	struct fb_error err = FB_ERROR_INIT;
	struct fb_world w;

	line(64, &file);
	w = world_of(&file, 3);
	assert_ok(fb_simulate(&w, 30, 1, NULL, NULL, &a, &err), &err);
	assert_ok(fb_simulate(&w, 30, 3, NULL, NULL, &b, &err), &err);
	a.seconds = b.seconds = a.cpu_mean_s = b.cpu_mean_s = 0;
	a.next_mean_s = b.next_mean_s = a.next_max_s = b.next_max_s = 0;
	assert_memory_equal(&a, &b, sizeof(a));
	assert_true(a.outcomes[FB_OUTCOME_RIGHT] > 20);
	fb_dagfile_release(&file);
}

/* ((1 - delta) log2 N - h(delta)) / C(1), N = 1024, delta = 0.01: R 4.2.2 with the C above. */
/* R 4.2.2: 1 - pnorm(1), 1 - pnorm(-1 / sqrt(1.25)), of a threshold of 1. */
static void rates_of_verdicts_are_those_of_R(void **state)
{
	struct fb_world w = {.threshold = 1};

	assert_near(fb_world_rate(&w, 0), 0.158655253931, 1e-11);
	w.build_sd = 0.5;
	assert_near(fb_world_rate(&w, 2), 0.814453315239, 1e-11);
}

static void the_bound_is_that_of_the_formula(void **state)
{
	struct fb_dagfile file;
	struct fb_world w;
	double bits;

	line(1024, &file);
	w = world_of(&file, 1);
	assert_near(fb_world_bound(&w, &bits), 61.0847694694, 1e-4);
	assert_near(bits, 0.160747219796, 1e-8);
	w.skip_share = 0.1;
	assert_true(fb_world_bound(&w, &bits) == 0);
	fb_dagfile_release(&file);
}

static void a_world_that_is_none_is_refused(void **state)
{
	struct fb_dagfile file;
	struct fb_simulation s;
	struct fb_error err = FB_ERROR_INIT;
	struct fb_world good, w;

	line(8, &file);
	good = world_of(&file, 2);
#define REFUSED(text, ...)                                                                         \
	do {                                                                                       \
		w = good;                                                                          \
		__VA_ARGS__;                                                                       \
		assert_int_equal(fb_simulate(&w, 1, 1, NULL, NULL, &s, &err), -1);                 \
		assert_error(&err, FB_ERROR_USAGE, text);                                          \
	} while (0)
	REFUSED("shift", w.shift_lo = 0);
	REFUSED("shift", w.shift_hi = -2);
	REFUSED("shift", w.shift_lo = NAN);
	REFUSED("shift", w.no_regression = true);
	REFUSED("no commit 8: the last one is 7", w.culprit = 8);
	REFUSED("second step", w.culprit = 7; w.second = 1);
	REFUSED("prior", w.shift_prior = true; w.repeats = 1);
	REFUSED("is one step", w.together = true; w.second = 1);
	REFUSED("second step", w.together = true; w.culprit = 7);
	REFUSED("bimodal", w.mode_share = true);
	REFUSED("a shift of 0 to 1.4", w.noise = FB_NOISE_BIMODAL; w.mode_share = true);
	REFUSED("untestable", w.skip_share = 1);
	REFUSED("at least 4 long", w.skip_share = 0.8; w.skip_run = 3);
	REFUSED("confidence", w.confidence = 1);
	REFUSED("smallest effect", w.min_effect = 0);
	REFUSED("boots", w.min_boots = 1);
	REFUSED("boots", w.boots_lo = 0);
	REFUSED("verdicts", w.noise = FB_NOISE_BINARY; w.any_direction = true);
	REFUSED("rates", w.known_rates = true);
	REFUSED("repeats", w.repeats = 1; w.second = 1);
	assert_int_equal(fb_simulate(&good, 0, 1, NULL, NULL, &s, &err), -1);
	assert_error(&err, FB_ERROR_USAGE, "1 trial");
	fb_dagfile_release(&file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_noise_has_its_distribution),
		cmocka_unit_test(densities_are_those_of_R),
		cmocka_unit_test(capacities_are_those_of_R),
		cmocka_unit_test(drift_walks_and_waves),
		cmocka_unit_test(skips_have_their_share_and_runs),
		cmocka_unit_test(runs_of_skips_follow_first_parents),
		cmocka_unit_test(a_range_is_what_cannot_be_told_apart),
		cmocka_unit_test(a_trial_depends_on_the_seed_and_its_number),
		cmocka_unit_test(the_given_culprit_is_the_one),
		cmocka_unit_test(the_prior_of_the_shift_is_that_of_the_search),
		cmocka_unit_test(both_of_two_steps_are_named),
		cmocka_unit_test(what_needs_two_commits_shows_where_they_meet),
		cmocka_unit_test(fixed_repeats_err_as_often_as_they_must),
		cmocka_unit_test(the_jobs_do_not_matter),
		cmocka_unit_test(rates_of_verdicts_are_those_of_R),
		cmocka_unit_test(the_bound_is_that_of_the_formula),
		cmocka_unit_test(a_world_that_is_none_is_refused),
	};

	return cmocka_run_group_tests_name("world", tests, NULL, NULL);
}
