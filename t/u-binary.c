/* SPDX-License-Identifier: GPL-2.0-or-later */
/* 0/1 outcomes: likelihoods equal R's, the ends' test keeps its bound, the search its answers. */
#include "t/test.h"

#include "bisect/model.h"
#include "bisect/search.h"
#include "t/small-world.h"

#define MATHLIB_STANDALONE
#include <Rmath.h>

#define UNKNOWN NAN

static void add(struct fb_model *m, struct fb_model_sums *side, double nr, double ones)
{
	struct fb_model_image image = {(size_t)nr, nr > 0 ? ones / nr : 0, 0};

	fb_model_add(m, &image, 1);
	if (side)
		fb_model_sums_add(m, side, &image, 1);
}

/* ---- likelihoods ------------------------------------------------------------------------ */

struct split_row {
	const char *name;
	double old, new; /* rates, if known */
	double n0, k0, n1, k1, min_effect, want, tol;
};

/*
 * R 4.2.2. Unknown rates: by integrate() over asin(sqrt(rate)), rel.tol = 1e-11, of
 *   .0025 [k0 = 0][k1 = n1] + .0475 [k0 = 0] J(L1, d/2, 1) + .0475 [k1 = n1] J(L0, 0, 1 - d/2) +
 *   .9025 J(L1(y) pbeta(y - d/2, a, b) beta(a, b) / beta(1.5, 1.5), d/2, 1),
 *   a = k0 + 1.5, b = n0 - k0 + 1.5,
 * over the same without boots, J being an integral over Beta(1.5, 1.5) and L a likelihood. The
 * points of the rates stand for the integral, so it is met the better the more it is smooth.
 * Known rates: dbinom(k, n, p, log = TRUE) - lchoose(n, k), summed.
 */
static const struct split_row split_rows[] = {
	{"never and always", UNKNOWN, UNKNOWN, 3, 0, 3, 3, 0.5, -1.629386522122, 1e-2},
	{"one error a side", UNKNOWN, UNKNOWN, 20, 1, 15, 14, 0.5, -11.087801933549, 1e-2},
	{"a rare hang", UNKNOWN, UNKNOWN, 60, 0, 60, 3, 0.05, -17.427765608695, 4e-2},
	{"a tenth and a third", UNKNOWN, UNKNOWN, 40, 4, 40, 12, 0.1, -40.830490500934, 4e-2},
	{"hardly different", UNKNOWN, UNKNOWN, 10, 5, 10, 6, 0.2, -15.372717014628, 4e-2},
	{"many boots", UNKNOWN, UNKNOWN, 100, 30, 200, 90, 0.1, -202.388589130512, 4e-2},
	{"old side clean", UNKNOWN, UNKNOWN, 30, 0, 5, 5, 0.3, -3.618746862863, 1e-2},
	{"5 % wrong", 0.05, 0.95, 7, 1, 9, 8, 1, -6.709570668534, 1e-11},
	{"known, uneven", 0.01, 0.3, 20, 0, 20, 3, 1, -9.876399177006, 1e-11},
	{"old never", 0, UNKNOWN, 40, 0, 40, 3, 0.05, -13.291434380863, 1e-2},
	{"old known", 0.1, UNKNOWN, 10, 1, 12, 11, 0.3, -8.334144516126, 1e-2},
};

static void split_equals_r(void **state)
{
	const struct split_row *row = *state;
	struct fb_model m;
	struct fb_model_sums new = {{0}, {0}};
	double rate[2] = {row->old, row->new};

	fb_model_init(&m, &fb_family_binary, row->min_effect, 1, rate);
	add(&m, NULL, row->n0, row->k0);
	add(&m, &new, row->n1, row->k1);
	assert_near(fb_model_split(&m, &new, -INFINITY, NULL), row->want, row->tol);
}

/* R: dbinom(k, n, k / n, log = TRUE) - lchoose(n, k) */
static void one_rate_equals_r(void **state)
{
	static const double rows[][3] = {
		{10, 0, 0}, {10, 4, -6.730116670093}, {50, 50, 0}, {120, 7, -26.682814575964}};
	const double unknown[2] = {UNKNOWN, UNKNOWN}, known[2] = {0.05, 0.95};
	struct fb_model m;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		fb_model_init(&m, &fb_family_binary, 0.1, 1, unknown);
		add(&m, NULL, rows[i][0], rows[i][1]);
		assert_near(fb_model_same(&m), rows[i][2], 1e-11);
	}
	fb_model_init(&m, &fb_family_binary, 1, 1, known);
	add(&m, NULL, 10, 4);
	assert_near(fb_model_same(&m), 4 * log(0.05) + 6 * log(0.95), 1e-11);
}

/* By definition: a third group has a flat prior of its rate, R's lbeta(k + 1, n - k + 1). */
static void a_third_rate_is_anything(void **state)
{
	const double rate[2] = {0.1, 0.6};
	struct fb_model m, without;
	struct fb_model_sums new = {{0}, {0}}, level = {{0}, {0}};

	fb_model_init(&m, &fb_family_binary, 1, 1, rate);
	add(&m, NULL, 10, 1);
	add(&m, &new, 10, 5);
	without = m;
	add(&m, &level, 8, 3);
	assert_near(fb_model_split_or_level(&m, &new, &level, 1) -
			    fb_model_split(&without, &new, -INFINITY, NULL),
		    -6.22257626807137, 1e-9); /* R: lbeta(4, 6) */
}

/* R: entropies of dbinom(0:n, n, p). */
static void bits_equal_r(void **state)
{
	static const double rows[][5] = {{.05, .95, .5, 1, 0.713603042884},
					 {0, .05, .4, 1, 0.026881759695},
					 {0, .05, .4, 20, 0.445013219264},
					 {.1, .3, .7, 5, 0.172115875722},
					 {.1, .3, 0, 5, 0},
					 {.1, .3, 1, 5, 0}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct fb_model_fit fit = {.mean_old = rows[i][0], .mean_new = rows[i][1]};

		assert_near(fb_family_binary.bits(&fit, rows[i][2], 0, rows[i][3]), rows[i][4],
			    1e-11);
	}
}

/* ---- the ends' test --------------------------------------------------------------------- */

/*
 * R: the mixture of split_rows against the maximum over one rate (or two, the second one not
 * higher); log((1.9 J(L) + .05 [k = n] + 1.05 [k = 0]) / 3) of all boots against
 * optimize(interval = c(0, 1 - d)) of the likelihood of rates x and x + d.
 */
static void ends_equal_r(void **state)
{
	static const double rows[][7] = {{20, 0, 20, 9, 0.2, 4.5718802158, -9.7693412391},
					 {20, 5, 20, 6, 0.3, -3.2691567035, -0.5425693631},
					 {40, 0, 40, 0, 0.05, -7.7206017602, 1.0074193241},
					 {10, 8, 12, 2, 0.3, -10.3667896040, 3.7606298719},
					 {30, 1, 30, 30, 0.5, 32.5221675239, -39.2292294412}};
	const double unknown[2] = {UNKNOWN, UNKNOWN};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const double *r = rows[i];
		struct fb_model_ends ends = {.nr_good = (size_t)r[0],
					     .nr_bad = (size_t)r[2],
					     .mean_good = r[1] / r[0],
					     .shift = r[3] / r[2] - r[1] / r[0]};
		struct fb_model m;
		double differ, same;

		fb_model_init(&m, &fb_family_binary, r[4], 1, unknown);
		fb_family_binary.ends_test(&m, &ends, r[4], 1, &differ, &same);
		/* Where the smallest difference matters it falls between two points. */
		assert_near(differ, r[5], i == 2 || i == 3 ? 0.2 : 4e-2);
		assert_near(same, r[6], 2e-3);
	}
}

#define LOOKS 60

/*
 * Probability that @same (or else "differ") ever reaches log(100) in LOOKS boots of each end,
 * of rates @good and @bad: exact, by going through all counts. The likelihood ratio looks
 * after each pair.
 */
static double ever_reached(const double rate[2], double min_effect, double good, double bad,
			   bool same)
{
	static double p[LOOKS + 1][LOOKS + 1], next[LOOKS + 1][LOOKS + 1];
	double reached = 0;
	struct fb_model m;

	fb_model_init(&m, &fb_family_binary, min_effect, 1, rate);
	memset(p, 0, sizeof(p));
	p[0][0] = 1;
	for (int n = 1; n <= LOOKS; n++) {
		memset(next, 0, sizeof(next));
		for (int g = 0; g < n; g++)
			for (int b = 0; b < n; b++) {
				next[g][b] += p[g][b] * (1 - good) * (1 - bad);
				next[g + 1][b] += p[g][b] * good * (1 - bad);
				next[g][b + 1] += p[g][b] * (1 - good) * bad;
				next[g + 1][b + 1] += p[g][b] * good * bad;
			}
		for (int g = 0; g <= n; g++)
			for (int b = 0; b <= n; b++) {
				struct fb_model_ends ends = {.nr_good = (size_t)n,
							     .nr_bad = (size_t)n,
							     .mean_good = (double)g / n,
							     .shift = (double)(b - g) / n};
				double differ, equal;

				if (!(next[g][b] > 0))
					continue;
				fb_family_binary.ends_test(&m, &ends, min_effect, 1, &differ,
							   &equal);
				if ((same ? equal : differ) >= log(100)) {
					reached += next[g][b];
					next[g][b] = 0;
				}
			}
		memcpy(p, next, sizeof(p));
	}
	return reached;
}

static void the_ends_test_errs_as_stated_at_most(void **state)
{
	static const double known[][2] = {
		{UNKNOWN, UNKNOWN}, {0, UNKNOWN}, {0.1, UNKNOWN}, {UNKNOWN, 0.9}};

	for (size_t k = 0; k < sizeof(known) / sizeof(known[0]); k++) {
		double most_differ = 0, most_same = 0, d = 0.3;

		for (double r = 0; r <= 1.001; r += 0.1) {
			double good = isnan(known[k][0]) ? r : known[k][0];
			double bad = isnan(known[k][1]) ? r : known[k][1];

			if (isnan(known[k][0]) && isnan(known[k][1])) {
				most_differ =
					fmax(most_differ, ever_reached(known[k], d, r, r, false));
				if (r + d <= 1)
					most_same = fmax(most_same,
							 ever_reached(known[k], d, r, r + d, true));
				continue;
			}
			/* Neither end differs from the other: both have one side's rate. */
			most_differ = fmax(most_differ, ever_reached(known[k], d, r, r, false));
			if (bad - good >= d)
				most_same =
					fmax(most_same, ever_reached(known[k], d, good, bad, true));
		}
		if (most_differ > 0.01 || most_same > 0.01)
			fail_msg("rates %g %g: errs with %g and %g", known[k][0], known[k][1],
				 most_differ, most_same);
		/* And it does tell. */
		assert_true(ever_reached(known[k], d, isnan(known[k][0]) ? 0.1 : known[k][0],
					 isnan(known[k][1]) ? 0.9 : known[k][1], false) > 0.99);
	}
	assert_true(ever_reached((double[]){0.05, 0.95}, 1, 0.05, 0.05, false) <= 0.01);
	assert_true(ever_reached((double[]){0.05, 0.95}, 1, 0.95, 0.95, false) <= 0.01);
	assert_true(ever_reached((double[]){0.05, 0.95}, 1, 0.05, 0.95, true) <= 0.01);
	assert_true(ever_reached((double[]){0.05, 0.95}, 1, 0.05, 0.05, true) > 0.99);
	assert_true(ever_reached((double[]){UNKNOWN, UNKNOWN}, 0.3, 0.1, 0.1, true) > 0.5);
}

/* ---- the search ------------------------------------------------------------------------- */

static const struct fb_search_params usual = {
	.confidence = 0.99,
	.min_effect = 0.2,
	.scale = FB_SCALE_BINARY,
	.direction = FB_DIRECTION_UP,
	.min_boots = 3,
	.max_total = 3000,
	.batch = 1,
	.rate_old = UNKNOWN,
	.rate_new = UNKNOWN,
};

static double outcome(struct world *w, uint32_t node, double old, double new)
{
	return uniform(&w->rng) < (oracle_reaches(&w->small, node, w->culprit) ? new : old);
}

static void posterior_equals_enumeration(void **state)
{
	static const double known[][2] = {
		{UNKNOWN, UNKNOWN}, {0.05, 0.95}, {0, UNKNOWN}, {UNKNOWN, 1}, {0.1, UNKNOWN}};
	size_t compared = 0;

	for (uint64_t seed = 0; seed < 300; seed++) {
		const double *rate = known[seed % 5];
		struct fb_search_params p = usual;
		struct oracle_sample sample[40];
		double want[ORACLE_MAX];
		struct fb_verdict verdict;
		struct fb_search *s;
		struct world w;
		size_t nr = 0;

		make_world(&w, seed, false);
		p.rate_old = rate[0];
		p.rate_new = rate[1];
		p.min_boots = isnan(rate[0]) || isnan(rate[1]) ? 3 : 0;
		s = search_of(&w, &p);
		/* Enough boots of the ends to begin, and some in between. */
		for (int i = 0; i < 8; i++) {
			sample[nr++] = (struct oracle_sample){w.good, 0};
			sample[nr++] = (struct oracle_sample){w.bad, 1};
		}
		for (size_t more = oracle_random(&w.rng) % 12; more > 0; more--) {
			uint32_t v = oracle_random(&w.rng) % w.small.nr;

			if (!w.candidate[v])
				continue;
			sample[nr].node = v;
			/* What is impossible has a likelihood too small to be compared. */
			sample[nr].value = outcome(&w, v, isnan(rate[0]) ? 0.2 : rate[0],
						   isnan(rate[1]) ? 0.8 : rate[1]);
			nr++;
		}
		for (size_t i = 0; i < nr; i++)
			assert_int_equal(fb_search_record(s, sample[i].node, sample[i].value), 0);
		oracle_posterior_binary(&w.small, w.good, w.bad, sample, nr, p.min_effect, rate[0],
					rate[1], want);
		fb_search_verdict(s, &verdict);
		for (uint32_t v = 0; v < w.small.nr; v++) {
			double got = fb_search_posterior(s, v) / (1 - verdict.other);

			if (!(fabs(got - want[v]) <= 1e-7))
				fail_msg("seed %lu node %u: posterior %.12g, not %.12g",
					 (unsigned long)seed, v, got, want[v]);
			compared++;
		}
		fb_search_free(s);
		fb_dag_free(w.dag);
	}
	assert_true(compared > 1000);
}

struct found_row {
	const char *name;
	double old, new, known_old, known_new, min_effect;
	unsigned min_boots, trials;
};

/* Few trials: the error rates are in doc/; here a fault shows that spoils more than a few. */
static const struct found_row found_rows[] = {
	{"5 % wrong, known, ends given", .05, .95, .05, .95, 1, 0, 200},
	{"5 % wrong, known", .05, .95, .05, .95, 1, 1, 200},
	{"5 % wrong, unknown", .05, .95, UNKNOWN, UNKNOWN, .2, 3, 100},
	{"never wrong, unknown", 0, 1, UNKNOWN, UNKNOWN, .2, 3, 100},
	{"a 1 is never wrong", 0, .3, 0, UNKNOWN, .2, 3, 60},
	{"a 0 is never wrong", .3, 1, UNKNOWN, 1, .2, 3, 60},
	{"one in five, never on the good side", 0, .2, UNKNOWN, UNKNOWN, .1, 3, 20},
};

static void the_culprit_is_found(void **state)
{
	const struct found_row *row = *state;
	unsigned wrong = 0;

	for (uint64_t seed = 0; seed < row->trials; seed++) {
		struct fb_search_params p = usual;
		struct fb_search_ask ask;
		struct fb_verdict v;
		struct fb_search *s;
		struct world w;

		make_world(&w, 1000 + seed, false);
		p.rate_old = row->known_old;
		p.rate_new = row->known_new;
		p.min_effect = row->min_effect;
		p.min_boots = row->min_boots;
		s = search_of(&w, &p);
		while (fb_search_next(s, &ask) == FB_SEARCH_MEASURE)
			assert_int_equal(
				fb_search_record(s, ask.node,
						 outcome(&w, ask.node, row->old, row->new)),
				0);
		fb_search_verdict(s, &v);
		if (v.kind != FB_VERDICT_FOUND || v.nodes[0] != w.culprit)
			wrong++;
		if (v.kind == FB_VERDICT_FOUND) {
			assert_true(isnan(v.sigma));
			assert_true(v.effect > 0 && v.effect_lo <= v.effect &&
				    v.effect <= v.effect_hi && v.effect_lo >= -1 &&
				    v.effect_hi <= 1);
			assert_near(v.mean_bad - v.mean_good, v.effect, 1e-12);
		}
		fb_search_free(s);
		fb_dag_free(w.dag);
	}
	/* A surprise (p < 0.001) at a true rate of 1 %. */
	if (pbinom((double)wrong - 1, row->trials, 0.01, 0, 0) < 0.001)
		fail_msg("%u of %u are wrong", wrong, row->trials);
}

static void no_difference_is_said(void **state)
{
	static const double rates[][3] = {
		{.05, .05, .95}, {.5, UNKNOWN, UNKNOWN}, {0, UNKNOWN, UNKNOWN}};

	for (size_t i = 0; i < 3; i++) {
		unsigned none = 0;

		for (uint64_t seed = 0; seed < 40; seed++) {
			struct fb_search_params p = usual;
			struct fb_search_ask ask;
			struct fb_verdict v;
			struct fb_search *s;
			struct world w;

			make_world(&w, 5000 + seed, false);
			p.rate_old = rates[i][1];
			p.rate_new = rates[i][2];
			p.min_effect = 0.3;
			s = search_of(&w, &p);
			while (fb_search_next(s, &ask) == FB_SEARCH_MEASURE)
				fb_search_record(s, ask.node, uniform(&w.rng) < rates[i][0]);
			fb_search_verdict(s, &v);
			none += v.kind == FB_VERDICT_NONE;
			fb_search_free(s);
			fb_dag_free(w.dag);
		}
		assert_true(none >= 38);
	}
}

/*
 * Most of a line cannot be tested. What can never be told within the answer is no reason to
 * give up while its place is still open.
 */
static void large_ranges_are_found_too(void **state)
{
	enum { NR = 129, STEP = 32 };
	struct fb_dag *dag = fb_dag_new();
	uint64_t rng = 77;

	for (uint32_t v = 0; v < NR; v++) {
		uint32_t parent = v - 1;

		assert_int_equal(fb_dag_add(dag, &parent, v ? 1 : 0), 0);
	}
	for (int trial = 0; trial < 100; trial++) {
		struct fb_search_params p = usual;
		uint32_t good = 0, culprit = 1 + oracle_random(&rng) % (NR - 1);
		struct fb_search_ask ask;
		struct fb_verdict v;
		struct fb_search *s;

		p.rate_old = 0.05;
		p.rate_new = 0.95;
		p.min_boots = 0;
		p.confidence = 0.995;
		s = fb_search_new(dag, &good, 1, NULL, 0, NR - 1, &p);
		while (fb_search_next(s, &ask) == FB_SEARCH_MEASURE) {
			if (ask.node % STEP)
				fb_search_skip(s, ask.node);
			else
				fb_search_record(s, ask.node,
						 uniform(&rng) < (ask.node < culprit ? .05 : .95));
		}
		fb_search_verdict(s, &v);
		assert_int_equal(v.kind, FB_VERDICT_RANGE);
		assert_int_equal(v.nr_nodes, STEP);
		assert_int_equal(v.nodes[0] % STEP, 1);
		fb_search_free(s);
	}
	fb_dag_free(dag);
}

/* A line of three: the ends, and one commit between them. */
static struct fb_search *search_of_two(struct fb_dag *dag, const struct fb_search_params *p)
{
	uint32_t good = 0;

	for (uint32_t v = 0; v < 3; v++) {
		uint32_t parent = v - 1;

		assert_int_equal(fb_dag_add(dag, &parent, v ? 1 : 0), 0);
	}
	return fb_search_new(dag, &good, 1, NULL, 0, 2, p);
}

static void one_hang_convicts_where_good_kernels_have_none(void **state)
{
	struct fb_search_params p = usual;
	struct fb_dag *dag = fb_dag_new();
	struct fb_search *s;
	struct fb_search_ask ask;
	struct fb_verdict v;
	int steps = 0;

	p.rate_old = 0;
	p.min_effect = 0.05;
	s = search_of_two(dag, &p);
	for (int i = 0; i < 120; i++) {
		fb_search_record(s, 0, 0);
		fb_search_record(s, 2, i % 10 == 0);
	}
	assert_true(fb_search_posterior(s, 1) < 0.6);
	fb_search_record(s, 1, 1);
	assert_true(fb_search_posterior(s, 1) > 0.97);
	/* A few more, which show that it hangs as often as the bad end. */
	while (fb_search_next(s, &ask) == FB_SEARCH_MEASURE && ++steps < 6)
		fb_search_record(s, ask.node, 0);
	fb_search_verdict(s, &v);
	assert_int_equal(v.kind, FB_VERDICT_FOUND);
	assert_int_equal(v.nodes[0], 1);
	fb_search_free(s);
	fb_dag_free(dag);
}

/* Rates that are said to be 0 and 1, and outcomes that cannot be then. */
static void contradictions_name_no_commit(void **state)
{
	struct fb_search_params p = usual;
	struct fb_dag *dag = fb_dag_new();
	struct fb_search_ask ask;
	struct fb_search *s;
	struct fb_verdict v;
	int steps = 0;

	p.rate_old = 0;
	p.rate_new = 1;
	s = search_of_two(dag, &p);
	for (int i = 0; i < 4; i++)
		fb_search_record(s, 1, i % 2);
	while (fb_search_next(s, &ask) == FB_SEARCH_MEASURE && ++steps < 2000)
		fb_search_record(s, ask.node, ask.node == 1 ? steps % 2 : ask.node == 2);
	fb_search_verdict(s, &v);
	assert_true(steps < 2000);
	assert_int_equal(v.kind, FB_VERDICT_OTHER);
	fb_search_free(s);
	fb_dag_free(dag);
}

static void what_makes_no_search_is_refused(void **state)
{
	static const struct {
		double old, new, min_effect;
		enum fb_direction direction;
		unsigned min_boots;
		bool usable;
	} rows[] = {
		{.05, .95, 5, FB_DIRECTION_UP, 0, true},
		{UNKNOWN, UNKNOWN, .2, FB_DIRECTION_UP, 1, true},
		{UNKNOWN, UNKNOWN, .2, FB_DIRECTION_UP, 0, false},
		{.05, UNKNOWN, .2, FB_DIRECTION_UP, 0, false},
		{UNKNOWN, UNKNOWN, 1, FB_DIRECTION_UP, 1, false},
		{UNKNOWN, UNKNOWN, .2, FB_DIRECTION_DOWN, 1, false},
		{UNKNOWN, UNKNOWN, .2, FB_DIRECTION_ANY, 1, false},
		{.5, .5, .2, FB_DIRECTION_UP, 1, false},
		{-.1, .5, .2, FB_DIRECTION_UP, 1, false},
		{.1, 1.5, .2, FB_DIRECTION_UP, 1, false},
		{.9, UNKNOWN, .2, FB_DIRECTION_UP, 1, false},
		{UNKNOWN, .1, .2, FB_DIRECTION_UP, 1, false},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct fb_search_params p = usual;
		struct fb_dag *dag = fb_dag_new();
		struct fb_search *s;

		p.rate_old = rows[i].old;
		p.rate_new = rows[i].new;
		p.min_effect = rows[i].min_effect;
		p.direction = rows[i].direction;
		p.min_boots = rows[i].min_boots;
		s = search_of_two(dag, &p);
		if ((s != NULL) != rows[i].usable)
			fail_msg("row %zu is %susable", i, rows[i].usable ? "not " : "");
		if (s) {
			assert_int_equal(fb_search_record(s, 1, 0.5), -1);
			assert_int_equal(fb_search_record(s, 1, 2), -1);
			assert_int_equal(fb_search_record(s, 1, NAN), -1);
		}
		fb_search_free(s);
		fb_dag_free(dag);
	}
}

#define NR(rows) (sizeof(rows) / sizeof(rows[0]))

int main(void)
{
	struct CMUnitTest tests[NR(split_rows) + NR(found_rows) + 11] = {
		cmocka_unit_test(one_rate_equals_r),
		cmocka_unit_test(a_third_rate_is_anything),
		cmocka_unit_test(bits_equal_r),
		cmocka_unit_test(ends_equal_r),
		cmocka_unit_test(the_ends_test_errs_as_stated_at_most),
		cmocka_unit_test(posterior_equals_enumeration),
		cmocka_unit_test(no_difference_is_said),
		cmocka_unit_test(large_ranges_are_found_too),
		cmocka_unit_test(one_hang_convicts_where_good_kernels_have_none),
		cmocka_unit_test(contradictions_name_no_commit),
		cmocka_unit_test(what_makes_no_search_is_refused),
	};
	struct CMUnitTest *t = tests + 11;

	for (size_t i = 0; i < NR(split_rows); i++)
		*t++ = (struct CMUnitTest){split_rows[i].name, split_equals_r, NULL, NULL,
					   (void *)(uintptr_t)&split_rows[i]};
	for (size_t i = 0; i < NR(found_rows); i++)
		*t++ = (struct CMUnitTest){found_rows[i].name, the_culprit_is_found, NULL, NULL,
					   (void *)(uintptr_t)&found_rows[i]};
	return cmocka_run_group_tests_name("binary", tests, NULL, NULL);
}
