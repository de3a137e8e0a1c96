/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Protects: the cell that a bisection follows is one that changed, and none when none did. */
#include "t/test.h"

#include "src/boot/boot.h"
#include "src/controller/survey.h"
#include "src/util/util.h"

#define NR_CELLS 12

static struct fb_cell cells[NR_CELLS];
static char *keys[NR_CELLS];
static struct fb_plan plan;

/* Cell 0 is fio, cell 1 sync-latency, cell 2 a command, the others fio with another size each. */
static int make_cells(void **state)
{
	struct fb_error err = FB_ERROR_INIT;

	for (int i = 0; i < NR_CELLS; i++) {
		FB_CLEANUP(fb_freep) char *size = fb_xasprintf("%dm", 8 + i);
		struct fb_param fio = {"size", size}, command = {"command", "true"};
		const char *name = i == 1 ? "sync-latency" : i == 2 ? "command" : "fio";
		int bad;

		if (fb_cell_new(fb_testcase_find(name), i == 2 ? &command : &fio, i != 1, &cells[i],
				&bad, &err) < 0) {
			print_error("%s: %s\n", name, err.text);
			return -1;
		}
		keys[i] = fb_cell_key(&cells[i]);
	}
	return 0;
}

static int free_cells(void **state)
{
	for (int i = 0; i < NR_CELLS; i++) {
		fb_cell_release(&cells[i]);
		free(keys[i]);
	}
	return 0;
}

static int usual_plan(void **state)
{
	plan = (struct fb_plan){.cells = cells,
				.nr_cells = NR_CELLS,
				.confidence = 0.99,
				.min_effect = 0.02,
				.boots_min = 3,
				.boots_max = 12};
	return 0;
}

static struct fb_survey *survey_of(size_t nr_cells, enum fb_change change)
{
	plan.nr_cells = nr_cells;
	return fb_survey_new(&plan, change, -1, NULL);
}

/* A number in [0, 1) that is the same in each run of the test (splitmix64). */
static uint64_t seed;

static double uniform(void)
{
	uint64_t z = seed += 0x9e3779b97f4a7c15;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	return (double)((z ^ (z >> 31)) >> 11) / 9007199254740992.0;
}

static double normal(void)
{
	double r = sqrt(-2 * log(1 - uniform()));

	return r * cos(2 * M_PI * uniform());
}

struct made {
	int cell;
	const char *metric;
	double good, bad;
	double noise; /* relative */
};

/* One boot of @end, by way of the samples that a store holds. */
static void boot(struct fb_survey *survey, enum fb_survey_end end, const struct made *made,
		 size_t nr)
{
	FB_CLEANUP(fb_freep) struct fb_store_sample *samples = fb_xcalloc(nr, sizeof(*samples));
	struct fb_store_boot b = {
		.end = (char *)fb_end_name(FB_END_OK), .samples = samples, .nr_samples = nr};
	json_t *values;

	for (size_t i = 0; i < nr; i++) {
		double v = end == FB_SURVEY_GOOD ? made[i].good : made[i].bad;

		samples[i] = (struct fb_store_sample){.cell = keys[made[i].cell],
						      .metric = (char *)made[i].metric,
						      .value = v * exp(made[i].noise * normal())};
	}
	values = fb_survey_values(survey, &b);
	fb_survey_record(survey, end, values);
	json_decref(values);
}

/* Boots until the survey has its answer. */
static enum fb_survey_state run(struct fb_survey *survey, const struct made *made, size_t nr,
				const struct fb_survey_series **ret)
{
	enum fb_survey_state state;

	while ((state = fb_survey_state(survey, ret)) == FB_SURVEY_GO_ON) {
		boot(survey, fb_survey_next(survey), made, nr);
		if (survey->boots[0] + survey->boots[1] > 2 * plan.boots_max)
			fail_msg("no end in sight");
	}
	return state;
}

static void assert_series(const struct fb_survey_series *s, int cell, const char *metric)
{
	assert_non_null(s);
	assert_int_equal(s->cell, cell);
	assert_string_equal(s->metric, metric);
}

static void the_cell_that_changed_is_chosen(void **state)
{
	for (int changed = 3; changed < 8; changed++) {
		struct made made[8];
		struct fb_survey *s = survey_of(8, FB_CHANGE_REGRESSION);
		const struct fb_survey_series *chosen;

		for (int i = 0; i < 8; i++)
			made[i] = (struct made){i, "fio.write_iops", 1000, 1000, 0.002};
		made[1].metric = "sync-latency.total_ms";
		made[2].metric = "score";
		made[changed].bad = 800;
		assert_int_equal(run(s, made, 8, &chosen), FB_SURVEY_CHOSEN);
		assert_series(chosen, changed, "fio.write_iops");
		/* 20 % against 0.2 %: no more than what any end gets. */
		assert_int_equal(s->boots[FB_SURVEY_GOOD], plan.boots_min);
		assert_int_equal(s->boots[FB_SURVEY_BAD], plan.boots_min);
		fb_survey_free(s);
	}
}

static void of_two_that_changed_the_surer_one_is_chosen(void **state)
{
	static const struct made made[] = {
		{0, "fio.write_iops", 1000, 700, 0.03}, /* more, but noisy */
		{1, "sync-latency.total_ms", 50, 55, 0.0005},
		{2, "score", 10, 10, 0.001},
	};
	struct fb_survey *s = survey_of(3, FB_CHANGE_REGRESSION);
	const struct fb_survey_series *chosen;

	assert_int_equal(run(s, made, 3, &chosen), FB_SURVEY_CHOSEN);
	assert_series(chosen, 1, "sync-latency.total_ms");
	fb_survey_free(s);
}

static void nothing_is_chosen_when_nothing_changed(void **state)
{
	static const struct made made[] = {
		{0, "fio.write_iops", 1000, 1000, 0.001},
		{1, "sync-latency.total_ms", 50, 50, 0.001},
		{2, "score", 10, 10, 0}, /* the same number each time */
	};
	struct fb_survey *s = survey_of(3, FB_CHANGE_ANY);
	const struct fb_survey_series *nearest;

	assert_int_equal(run(s, made, 3, &nearest), FB_SURVEY_NONE);
	assert_non_null(nearest);
	fb_survey_free(s);
}

static void a_change_below_the_smallest_of_interest_is_none(void **state)
{
	static const struct made made[] = {{0, "fio.write_iops", 1000, 995, 0.0002}};
	struct fb_survey *s = survey_of(1, FB_CHANGE_REGRESSION);
	const struct fb_survey_series *nearest;

	assert_int_equal(run(s, made, 1, &nearest), FB_SURVEY_NONE);
	assert_series(nearest, 0, "fio.write_iops");
	fb_survey_free(s);
}

static void only_the_change_that_is_looked_for_counts(void **state)
{
	/* iops: more is better; total_ms: less is better. */
	static const struct {
		double iops, ms;
		enum fb_change change;
		enum fb_survey_state want;
		int cell;
	} cases[] = {
		{800, 50, FB_CHANGE_REGRESSION, FB_SURVEY_CHOSEN, 0},
		{1200, 50, FB_CHANGE_REGRESSION, FB_SURVEY_NONE, -1},
		{1200, 60, FB_CHANGE_REGRESSION, FB_SURVEY_CHOSEN, 1},
		{1000, 40, FB_CHANGE_REGRESSION, FB_SURVEY_NONE, -1},
		{1200, 60, FB_CHANGE_IMPROVEMENT, FB_SURVEY_CHOSEN, 0},
		{800, 40, FB_CHANGE_IMPROVEMENT, FB_SURVEY_CHOSEN, 1},
		{800, 60, FB_CHANGE_IMPROVEMENT, FB_SURVEY_NONE, -1},
		{1200, 50, FB_CHANGE_ANY, FB_SURVEY_CHOSEN, 0},
		{1000, 40, FB_CHANGE_ANY, FB_SURVEY_CHOSEN, 1},
	};

	for (size_t i = 0; i < FB_ARRAY_SIZE(cases); i++) {
		const struct made made[] = {
			{0, "fio.write_iops", 1000, cases[i].iops, 0.002},
			{1, "sync-latency.total_ms", 50, cases[i].ms, 0.002},
		};
		struct fb_survey *s = survey_of(2, cases[i].change);
		const struct fb_survey_series *chosen;
		enum fb_survey_state got = run(s, made, 2, &chosen);

		if (got != cases[i].want)
			fail_msg("case %zu: state %d, not %d", i, (int)got, (int)cases[i].want);
		if (cases[i].cell >= 0)
			assert_int_equal(chosen->cell, cases[i].cell);
		fb_survey_free(s);
	}
}

/* Far apart within each end, and the boots are used up: nobody knows. */
static void boots_that_run_out_leave_it_undecided(void **state)
{
	static const struct made made[] = {{0, "fio.write_iops", 1000, 950, 0.3}};
	struct fb_survey *s;
	const struct fb_survey_series *nearest;

	plan.boots_max = 4;
	s = survey_of(1, FB_CHANGE_REGRESSION);
	seed = 1;
	assert_int_equal(run(s, made, 1, &nearest), FB_SURVEY_UNDECIDED);
	assert_series(nearest, 0, "fio.write_iops");
	assert_int_equal(s->boots[FB_SURVEY_GOOD], 4);
	assert_int_equal(s->boots[FB_SURVEY_BAD], 4);
	fb_survey_free(s);
}

/* It looks like the greatest change of all, and cannot be followed. */
static void a_series_without_a_logarithm_or_a_value_is_dead(void **state)
{
	static const double unusable[] = {0, -1000, NAN, INFINITY};

	for (size_t i = 0; i < FB_ARRAY_SIZE(unusable); i++) {
		const struct made made[] = {
			{0, "fio.write_iops", 1000, unusable[i], 0.001},
			{3, "fio.write_iops", 1000, 900, 0.001},
		};
		struct fb_survey *s = survey_of(4, FB_CHANGE_REGRESSION);
		const struct fb_survey_series *chosen;

		assert_int_equal(run(s, made, 2, &chosen), FB_SURVEY_CHOSEN);
		assert_series(chosen, 3, "fio.write_iops");
		assert_int_equal(s->nr, 2);
		assert_true(s->series[0].dead);
		assert_false(s->series[1].dead);
		fb_survey_free(s);
	}
}

static void a_series_that_misses_one_boot_is_dead(void **state)
{
	static const struct made both[] = {{3, "fio.write_iops", 1000, 900, 0.001},
					   {0, "fio.write_iops", 1000, 500, 0.001}};
	struct fb_survey *s = survey_of(4, FB_CHANGE_REGRESSION);
	const struct fb_survey_series *chosen;

	boot(s, FB_SURVEY_GOOD, both, 2);
	boot(s, FB_SURVEY_BAD, both, 1); /* the one that halves says nothing here */
	for (size_t i = 0; i < s->nr; i++)
		assert_int_equal(s->series[i].dead, s->series[i].cell == 0);
	assert_int_equal(run(s, both, 2, &chosen), FB_SURVEY_CHOSEN);
	assert_series(chosen, 3, "fio.write_iops");
	fb_survey_free(s);
}

static void when_all_series_are_dead_nothing_can_be_followed(void **state)
{
	static const struct made zero[] = {{0, "fio.write_iops", 1000, 0, 0.001}};
	const struct fb_survey_series *none;
	struct fb_survey *s = survey_of(1, FB_CHANGE_REGRESSION);

	assert_int_equal(run(s, zero, 1, &none), FB_SURVEY_UNUSABLE);
	assert_null(none);
	fb_survey_free(s);

	/* Boots that hold no headline metric at all. */
	s = survey_of(1, FB_CHANGE_REGRESSION);
	assert_int_equal(run(s, NULL, 0, &none), FB_SURVEY_UNUSABLE);
	assert_null(none);
	fb_survey_free(s);
}

/*
 * Each of K series is as sure as 1 - (1 - c) / K: with a first boot of K series the answer comes
 * with the boot with which a search of that confidence has it, and one of confidence c was sooner.
 */
static void many_series_are_held_to_a_higher_confidence(void **state)
{
	struct made made[NR_CELLS - 3];
	const size_t k = FB_ARRAY_SIZE(made);
	unsigned later = 0;

	plan.boots_max = 60;
	for (unsigned round = 0; round < 20; round++) {
		struct fb_survey *all = survey_of(NR_CELLS, FB_CHANGE_REGRESSION);
		const struct fb_survey_series *chosen;
		struct fb_search *alone[2];
		unsigned boots[2] = {0, 0};
		uint32_t good = 0;

		for (int i = 0; i < 2; i++) {
			struct fb_search_params p = {
				.confidence =
					i ? 1 - (1 - plan.confidence) / (double)k : plan.confidence,
				.min_effect = plan.min_effect,
				.scale = FB_SCALE_LOG,
				.direction = FB_DIRECTION_DOWN,
				.min_boots = plan.boots_min,
				.max_boots = plan.boots_max,
				.batch = 1,
			};

			alone[i] = fb_search_new(all->dag, &good, 1, NULL, 0, 1, &p);
			assert_non_null(alone[i]);
		}
		seed = 1000 + round;
		for (unsigned n = 0; fb_survey_state(all, &chosen) == FB_SURVEY_GO_ON; n++) {
			enum fb_survey_end end = fb_survey_next(all);
			double v = (end == FB_SURVEY_GOOD ? 1000 : 880) * exp(0.05 * normal());

			assert_true(n < 2 * plan.boots_max);
			/* The others never change, and never vary enough to matter. */
			for (size_t i = 0; i < k; i++)
				made[i] = (struct made){3 + (int)i, "fio.write_iops", 1000, 1000};
			made[4].good = made[4].bad = v;
			boot(all, end, made, k);
			for (int i = 0; i < 2; i++) {
				struct fb_verdict verdict;

				fb_search_verdict(alone[i], &verdict);
				if (verdict.kind == FB_VERDICT_FOUND)
					continue;
				assert_int_equal(fb_search_record(alone[i], end, v), 0);
				boots[i]++;
			}
		}
		assert_series(chosen, 3 + 4, "fio.write_iops");
		assert_int_equal(all->boots[0] + all->boots[1], boots[1]);
		assert_true(boots[0] <= boots[1]);
		later += boots[0] < boots[1];
		fb_search_free(alone[0]);
		fb_search_free(alone[1]);
		fb_survey_free(all);
	}
	assert_true(later >= 10);
}

/* What the confidence promises over the whole matrix, counted. */
static void a_matrix_without_change_is_hardly_ever_followed(void **state)
{
	enum { ROUNDS = 400 };
	struct made made[NR_CELLS - 3];
	unsigned chosen = 0;

	plan.confidence = 0.9;
	plan.boots_max = 20;
	for (unsigned round = 0; round < ROUNDS; round++) {
		struct fb_survey *s = survey_of(NR_CELLS, FB_CHANGE_ANY);
		const struct fb_survey_series *ignored;

		seed = round;
		for (size_t i = 0; i < FB_ARRAY_SIZE(made); i++)
			made[i] = (struct made){3 + (int)i, "fio.write_iops", 1000, 1000, 0.03};
		chosen += run(s, made, FB_ARRAY_SIZE(made), &ignored) == FB_SURVEY_CHOSEN;
		fb_survey_free(s);
	}
	print_message("# followed without a change: %u of %u\n", chosen, (unsigned)ROUNDS);
	assert_true(chosen <= ROUNDS / 10);
}

static void the_ends_take_turns_so_that_a_drift_cancels(void **state)
{
	static const struct made made[] = {{0, "fio.write_iops", 1000, 1000, 0.2}};
	static const char want[] = "GBBGGBBGGBBG";
	struct fb_survey *s = survey_of(1, FB_CHANGE_REGRESSION);
	int drift = 0;

	for (int i = 0; want[i]; i++) {
		enum fb_survey_end end = fb_survey_next(s);

		assert_int_equal(fb_survey_next(s), end); /* asking changes nothing */
		if ((end == FB_SURVEY_GOOD ? 'G' : 'B') != want[i])
			fail_msg("boot %d is of the wrong end", i);
		drift += end == FB_SURVEY_GOOD ? i : -i;
		boot(s, end, made, 1);
		if (i % 4 == 3)
			assert_int_equal(drift, 0);
	}
	fb_survey_free(s);

	/* A bisection that goes on with boots it has: the end that lacks them comes first. */
	s = survey_of(1, FB_CHANGE_REGRESSION);
	boot(s, FB_SURVEY_BAD, made, 1);
	boot(s, FB_SURVEY_BAD, made, 1);
	assert_int_equal(fb_survey_next(s), FB_SURVEY_GOOD);
	fb_survey_free(s);
}

static void nothing_is_said_before_both_ends_are_measured(void **state)
{
	static const struct made made[] = {{0, "fio.write_iops", 0, 0, 0}};
	struct fb_survey *s = survey_of(1, FB_CHANGE_REGRESSION);
	const struct fb_survey_series *none;

	assert_int_equal(fb_survey_state(s, &none), FB_SURVEY_GO_ON);
	boot(s, FB_SURVEY_GOOD, made, 1);
	assert_int_equal(fb_survey_state(s, &none), FB_SURVEY_GO_ON);
	assert_null(none);
	boot(s, FB_SURVEY_BAD, made, 1);
	assert_int_equal(fb_survey_state(s, &none), FB_SURVEY_UNUSABLE);
	fb_survey_free(s);
}

/* Two runs of one cell in one boot, and what explains rather than measures. */
static void a_boot_gives_the_means_of_what_may_be_followed(void **state)
{
	struct fb_store_sample samples[] = {
		{.cell = keys[0], .metric = "fio.write_iops", .value = 900},
		{.run = 1, .cell = keys[0], .metric = "fio.write_iops", .value = 1100},
		{.cell = keys[0], .metric = "fio.write_clat_mean_ns", .value = 7},
		{.cell = keys[1], .metric = "sync-latency.total_ms", .value = 50},
		{.cell = keys[2], .metric = "score", .value = 3},
		{.cell = "testcase=fio,of=another-plan", .metric = "fio.write_iops", .value = 1},
	};
	static const struct {
		int cell;
		const char *metric;
		const char *want;
	} cases[] = {
		{-1, NULL,
		 "{\"0/fio.write_iops\": 1000.0, \"1/sync-latency.total_ms\": 50.0, "
		 "\"2/score\": 3.0}"},
		{0, NULL, "{\"0/fio.write_iops\": 1000.0}"},
		{2, NULL, "{\"2/score\": 3.0}"},
		{-1, "fio.write_clat_mean_ns", "{\"0/fio.write_clat_mean_ns\": 7.0}"},
		{1, "fio.write_iops", "{}"},
	};
	struct fb_store_boot b = {.end = (char *)fb_end_name(FB_END_OK),
				  .samples = samples,
				  .nr_samples = FB_ARRAY_SIZE(samples)};

	for (size_t i = 0; i < FB_ARRAY_SIZE(cases); i++) {
		struct fb_survey *s =
			fb_survey_new(&plan, FB_CHANGE_REGRESSION, cases[i].cell, cases[i].metric);
		json_t *values = fb_survey_values(s, &b);
		FB_CLEANUP(fb_freep) char *got = json_dumps(values, JSON_SORT_KEYS);

		assert_string_equal(got, cases[i].want);
		json_decref(values);
		fb_survey_free(s);
	}
}

static void a_boot_that_failed_gives_nothing(void **state)
{
	struct fb_store_sample sample = {.cell = keys[0], .metric = "fio.write_iops", .value = 9};
	struct fb_store_boot b = {
		.end = (char *)fb_end_name(FB_END_PANIC), .samples = &sample, .nr_samples = 1};
	struct fb_survey *s = survey_of(1, FB_CHANGE_REGRESSION);
	json_t *values = fb_survey_values(s, &b);

	assert_int_equal(json_object_size(values), 0);
	json_decref(values);
	fb_survey_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup(name, usual_plan)
		T(the_cell_that_changed_is_chosen),
		T(of_two_that_changed_the_surer_one_is_chosen),
		T(nothing_is_chosen_when_nothing_changed),
		T(a_change_below_the_smallest_of_interest_is_none),
		T(only_the_change_that_is_looked_for_counts),
		T(boots_that_run_out_leave_it_undecided),
		T(a_series_without_a_logarithm_or_a_value_is_dead),
		T(a_series_that_misses_one_boot_is_dead),
		T(when_all_series_are_dead_nothing_can_be_followed),
		T(many_series_are_held_to_a_higher_confidence),
		T(a_matrix_without_change_is_hardly_ever_followed),
		T(the_ends_take_turns_so_that_a_drift_cancels),
		T(nothing_is_said_before_both_ends_are_measured),
		T(a_boot_gives_the_means_of_what_may_be_followed),
		T(a_boot_that_failed_gives_nothing),
	};

	return cmocka_run_group_tests(tests, make_cells, free_cells);
}
