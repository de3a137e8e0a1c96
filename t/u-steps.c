/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Two steps: their evidence equals enumeration, and both are named, with what each changed. */
#include "t/test.h"

#define MATHLIB_STANDALONE
#include <Rmath.h>

#include "bisect/search-impl.h"
#include "t/oracle.h"

#define NR_MAX 100

static const struct fb_search_params usual = {
	.confidence = 0.99,
	.min_effect = 0.05,
	.scale = FB_SCALE_LOG,
	.direction = FB_DIRECTION_UP,
	.min_boots = 3,
	.max_total = 1000,
	.batch = 1,
};

/* --- against enumeration -------------------------------------------------------------------- */

static double uniform(uint64_t *rng)
{
	return oracle_random(rng) / 2147483648.0;
}

static double noise(uint64_t *rng)
{
	double sum = -6;

	for (int i = 0; i < 12; i++)
		sum += uniform(rng);
	return sum;
}

/* Solves @a x = @b by elimination, in place; returns log |det a|. */
static double eliminate(size_t n, double a[][40], double *b)
{
	double log_det = 0;

	for (size_t k = 0; k < n; k++) {
		log_det += log(fabs(a[k][k]));
		for (size_t i = 0; i < n; i++) {
			double f = i == k ? 0 : a[i][k] / a[k][k];

			for (size_t j = k; j < n; j++)
				a[i][j] -= f * a[k][j];
			b[i] -= f * b[k];
		}
	}
	for (size_t k = 0; k < n; k++)
		b[k] /= a[k][k];
	return log_det;
}

/*
 * log p(boots | steps at @a and @b, rho): the covariance matrix written out, three levels (old,
 * with @a only, with both) by generalised least squares; NAN when the boots do not tell them.
 */
static double log_lik(const struct oracle_dag *dag, uint32_t a, uint32_t b,
		      const struct oracle_sample *s, size_t n, double rho, double range)
{
	double x[40][3], vy[40], vx[3][40], cov[40][40], g[3][40], h[3][40], v[3], rss = 0;
	double log_det = 0, log_g, shape = ORACLE_PRIOR_SHAPE + ((double)n - 3) / 2, rate, scale2,
	       shift;
	bool seen[2][2] = {{false}};

	for (size_t i = 0; i < n; i++) {
		bool in_a = oracle_reaches(dag, s[i].node, a);
		bool in_b = oracle_reaches(dag, s[i].node, b);

		seen[in_a][in_b] = true;
		/* old + a (mid - old) + b (new - mid) */
		x[i][0] = !in_a;
		x[i][1] = in_a - in_b;
		x[i][2] = in_b;
	}
	if (!seen[1][0])
		return NAN;
	for (int p = -1; p < 3; p++) {
		double *to = p < 0 ? vy : vx[p];

		for (size_t i = 0; i < n; i++) {
			to[i] = p < 0 ? s[i].value : x[i][p];
			for (size_t j = 0; j < n; j++)
				cov[i][j] = (i == j) + rho * (s[i].node == s[j].node);
		}
		log_det = eliminate(n, cov, to);
	}
	for (int p = 0; p < 3; p++) {
		v[p] = 0;
		for (int q = 0; q < 3; q++)
			g[p][q] = 0;
		for (size_t i = 0; i < n; i++) {
			v[p] += vx[p][i] * s[i].value;
			for (int q = 0; q < 3; q++)
				g[p][q] += vx[p][i] * x[i][q];
		}
	}
	memcpy(h, g, sizeof(h));
	log_g = eliminate(3, g, v);
	for (size_t i = 0; i < n; i++)
		for (int p = -1; p < 3; p++)
			rss += p < 0 ? s[i].value * vy[i] : -v[p] * vx[p][i] * s[i].value;
	rate = ORACLE_PRIOR_SHAPE * 0.01 + rss / 2;
	/* Variance of the shift, new less old. */
	{
		double one[3] = {-1, 0, 1};

		eliminate(3, h, one);
		scale2 = rate / shape * (one[2] - one[0]);
	}
	shift = v[2] - v[0];
	return -log_det / 2 - log_g / 2 + lgammafn(shape) - shape * log(rate) +
	       log(oracle_average_prior(shift, sqrt(scale2), 2 * shape, 1, 1)) +
	       0.5 * log(2 * M_PI) - log(range);
}

static void evidence_equals_enumeration(void **state)
{
	static const double rho[] = {0, 0.25, 1};
	struct fb_search_params params = usual;
	size_t compared = 0, apart = 0;

	params.scale = FB_SCALE_LINEAR;
	params.min_effect = 1;
	for (uint64_t seed = 0; seed < 200; seed++) {
		uint64_t rng = seed * 7919 + 5;
		struct oracle_sample sample[40];
		struct oracle_dag small;
		struct fb_search_ask ask;
		struct fb_dag *dag = fb_dag_new();
		struct fb_search *s;
		uint32_t good = 0, bad, nr_pairs = 0, x = 0, y = 0;
		double sum = -INFINITY;
		size_t nr = 0;

		oracle_dag_random(&small, seed);
		bad = small.nr - 1;
		for (uint32_t v = 0; v < small.nr; v++)
			assert_int_equal(fb_dag_add(dag, small.parent[v], small.nr_parents[v]), 0);
		for (int i = 0; i < 8; i++) {
			sample[nr++].node = good;
			sample[nr++].node = bad;
		}
		for (int i = 0; i < 12; i++) {
			uint32_t v = oracle_random(&rng) % small.nr;

			if (oracle_reaches(&small, bad, v) && oracle_reaches(&small, v, good))
				sample[nr++].node = v;
		}
		s = fb_search_new(dag, &good, 1, NULL, 0, bad, &params);
		assert_non_null(s);
		/* Steps in two branches, where there are such. */
		for (int i = 0;
		     i < 50 && (oracle_reaches(&small, y, x) || oracle_reaches(&small, x, y) ||
				!oracle_reaches(&small, bad, x) || !oracle_reaches(&small, bad, y));
		     i++) {
			x = 1 + oracle_random(&rng) % bad;
			y = 1 + oracle_random(&rng) % bad;
		}
		for (size_t i = 0; i < nr; i++) {
			sample[i].value = noise(&rng) +
					  (oracle_reaches(&small, sample[i].node, x) ? 6 : 0) +
					  (oracle_reaches(&small, sample[i].node, y) ? 4 : 0);
			assert_int_equal(fb_search_record(s, sample[i].node, sample[i].value), 0);
		}
		fb_search_next(s, &ask);
		if (!s->state->searching) { /* the ends do not differ enough yet */
			fb_search_free(s);
			fb_dag_free(dag);
			continue;
		}
		for (uint32_t a = 0; a < small.nr; a++) {
			for (uint32_t b = 0; b < small.nr; b++) {
				bool both = s->index[a] != FB_NO_NODE && s->index[b] != FB_NO_NODE;
				bool chain = oracle_reaches(&small, b, a);

				if (!both || a == b || (!chain && a > b) ||
				    oracle_reaches(&small, a, b))
					continue;
				nr_pairs++;
				for (int r = 0; r < 3; r++) {
					double l = log_lik(&small, a, b, sample, nr, rho[r],
							   s->state->level_range);

					/* No boot has a only: b may be the early one. */
					if (isnan(l))
						l = log_lik(&small, b, a, sample, nr, rho[r],
							    s->state->level_range);
					if (isnan(l))
						continue;
					apart += !chain;
					sum = logspace_add(sum, l + fb_family_normal.log_prior(r));
				}
			}
		}
		if (isfinite(sum)) {
			sum -= log(nr_pairs);
			/* The shift's prior is taken at an estimate without those with b only. */
			if (fabs(sum - s->state->two_evidence) > 0.1)
				fail_msg("seed %lu: %.10g, not %.10g", (unsigned long)seed,
					 s->state->two_evidence, sum);
			compared++;
		} else {
			assert_false(isfinite(s->state->two_evidence));
		}
		fb_search_free(s);
		fb_dag_free(dag);
	}
	assert_true(compared > 50 && apart > 50);
}

/* --- to the end ----------------------------------------------------------------------------- */

/* A small deterministic jitter in [-1, 1], different for each boot. */
static double jitter(uint32_t node, unsigned boot)
{
	return sin(12.9898 * (node + 1) + 78.233 * (boot + 1));
}

struct boot {
	uint32_t node;
	double value;
};

/* @value: of each node, below 0 when it cannot be tested. Returns the boots, into @ret_boot. */
static size_t run(struct fb_search *s, const double *value, double sd, struct boot *ret_boot)
{
	struct fb_search_ask ask;
	size_t nr = 0;

	while (fb_search_next(s, &ask) == FB_SEARCH_MEASURE) {
		if (value[ask.node] < 0) {
			assert_int_equal(fb_search_skip(s, ask.node), 0);
			continue;
		}
		for (unsigned i = 0; i < ask.boots; i++) {
			struct boot *b = &ret_boot[nr];

			assert_true(nr < usual.max_total);
			*b = (struct boot){ask.node,
					   value[ask.node] *
						   (1 + sd * jitter(ask.node, (unsigned)nr))};
			assert_int_equal(fb_search_record(s, b->node, b->value), 0);
			nr++;
		}
	}
	return nr;
}

static struct fb_dag *line(uint32_t nr)
{
	struct fb_dag *dag = fb_dag_new();

	for (uint32_t v = 0; v < nr; v++) {
		uint32_t parent = v - 1;

		assert_int_equal(fb_dag_add(dag, &parent, v ? 1 : 0), 0);
	}
	return dag;
}

static struct fb_search *search_of(const struct fb_dag *dag)
{
	const uint32_t good = 0;
	struct fb_search *s = fb_search_new(dag, &good, 1, NULL, 0, fb_dag_nr(dag) - 1, &usual);

	assert_non_null(s);
	return s;
}

static void assert_step(const struct fb_verdict *v, int i, uint32_t node, double effect)
{
	assert_int_equal(v->steps[i].nr_nodes, 1);
	assert_int_equal(v->steps[i].nodes[0], node);
	assert_near(v->steps[i].effect, effect, 0.01);
}

static void assert_named(const struct fb_verdict *v)
{
	assert_int_equal(v->kind, FB_VERDICT_OTHER);
	assert_int_equal(v->nr_steps, 2);
	assert_true(v->steps_found);
	assert_true(v->confidence >= usual.confidence);
	assert_int_equal(v->nr_nodes, v->steps[0].nr_nodes + v->steps[1].nr_nodes);
	assert_ptr_equal(v->nodes, v->steps[0].nodes);
}

/* Levels 100, @mid from commit 20 on, 130 from 44 on; 32, the first one booted, has @mid. */
static void find_both(double mid)
{
	enum { NR = 65 };
	struct fb_dag *dag = line(NR);
	struct fb_search *s = search_of(dag), *again = search_of(dag);
	struct boot boot[1000];
	double value[NR];
	struct fb_verdict v, w;
	size_t nr;

	for (uint32_t i = 0; i < NR; i++)
		value[i] = i < 20 ? 100 : i < 44 ? mid : 130;
	nr = run(s, value, 0.005, boot);
	fb_search_verdict(s, &v);
	assert_named(&v);
	assert_step(&v, 0, 20, mid / 100 - 1);
	assert_step(&v, 1, 44, 130 / mid - 1);
	assert_true(nr < 60);

	/* Recorded the other way round, never asked. */
	for (size_t i = nr; i-- > 0;)
		assert_int_equal(fb_search_record(again, boot[i].node, boot[i].value), 0);
	fb_search_verdict(again, &w);
	assert_named(&w);
	assert_near(w.confidence, v.confidence, 0);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(w.steps[i].nodes[0], v.steps[i].nodes[0]);
		assert_near(w.steps[i].effect, v.steps[i].effect, 0);
	}
	fb_search_free(s);
	fb_search_free(again);
	fb_dag_free(dag);
}

static void two_steps_up_are_named(void **state)
{
	find_both(115);
}

static void up_and_then_a_little_down_are_named(void **state)
{
	find_both(160);
}

static void down_and_then_up_are_named(void **state)
{
	find_both(80);
}

/* 0 - 1 - 2 - ... - 8 - 17 - 18 - 19 - 20, and 0 - 9 - ... - 16 - 17: a step in each branch. */
static void steps_in_two_branches_are_named(void **state)
{
	enum { NR = 21 };
	struct fb_dag *dag = fb_dag_new();
	struct boot boot[1000];
	double value[NR];
	struct fb_search *s;
	struct fb_verdict v;

	for (uint32_t i = 0; i < NR; i++) {
		uint32_t parent[2] = {i == 9 ? 0 : i - 1, 8};

		assert_int_equal(fb_dag_add(dag, parent, i == 0 ? 0 : i == 17 ? 2 : 1), 0);
		value[i] = i < 4 ? 100 : i < 9 ? 112 : i < 13 ? 100 : i < 17 ? 125 : 140;
	}
	s = search_of(dag);
	/* Both branches are known; one boot each would not show where. */
	for (int i = 0; i < 2; i++) {
		fb_search_record(s, 8, 112);
		fb_search_record(s, 16, 125);
	}
	run(s, value, 0.005, boot);
	fb_search_verdict(s, &v);
	assert_named(&v);
	assert_step(&v, 0, 4, 0.12);
	assert_step(&v, 1, 13, 0.25);
	fb_search_free(s);
	fb_dag_free(dag);
}

static void a_step_that_cannot_be_tested_is_a_range(void **state)
{
	enum { NR = 65 };
	struct fb_dag *dag = line(NR);
	struct fb_search *s = search_of(dag);
	struct boot boot[1000];
	double value[NR];
	struct fb_verdict v;

	for (uint32_t i = 0; i < NR; i++)
		value[i] = i < 20 ? 100 : i < 44 ? 115 : 130;
	for (uint32_t i = 42; i < 46; i++)
		value[i] = -1;
	run(s, value, 0.005, boot);
	fb_search_verdict(s, &v);
	assert_named(&v);
	assert_step(&v, 0, 20, 0.15);
	assert_int_equal(v.steps[1].nr_nodes, 5);
	assert_int_equal(v.steps[1].nodes[0], 42);
	assert_int_equal(v.steps[1].nodes[4], 46);
	fb_search_free(s);
	fb_dag_free(dag);
}

/* The boots run out where it is clear that there are two steps, and not yet where. */
static void what_is_known_of_two_steps_is_told(void **state)
{
	enum { NR = 65 };
	struct fb_search_params params = usual;
	struct fb_dag *dag = line(NR);
	const uint32_t good = 0;
	struct boot boot[1000];
	struct fb_search *s;
	double value[NR];
	struct fb_verdict v;

	for (uint32_t i = 0; i < NR; i++)
		value[i] = i < 20 ? 100 : i < 44 ? 115 : 130;
	params.max_total = 72;
	s = fb_search_new(dag, &good, 1, NULL, 0, NR - 1, &params);
	for (uint32_t node = 0; node <= 64; node += 16)
		for (unsigned i = 0; i < 14; i++)
			fb_search_record(s, node, value[node] * (1 + 0.03 * jitter(node, i)));
	run(s, value, 0.03, boot);
	fb_search_verdict(s, &v);
	assert_int_equal(v.kind, FB_VERDICT_OTHER);
	assert_int_equal(v.nr_steps, 2);
	assert_false(v.steps_found);
	for (int i = 0; i < 2; i++) {
		const struct fb_verdict_step *step = &v.steps[i];

		assert_true(step->nr_nodes > 1 && step->nr_nodes < 30);
		assert_true(step->nodes[0] <= (i ? 44 : 20));
		assert_true(step->nodes[step->nr_nodes - 1] >= (i ? 44 : 20));
	}
	fb_search_free(s);
	fb_dag_free(dag);
}

/* What the search says of 65 commits with these values. */
static void ends_as(const double *value, double sd, enum fb_verdict_kind kind)
{
	struct fb_dag *dag = line(65);
	struct fb_search *s = search_of(dag);
	struct boot boot[1000];
	struct fb_verdict v;

	run(s, value, sd, boot);
	fb_search_verdict(s, &v);
	assert_int_equal(v.kind, kind);
	assert_int_equal(v.nr_steps, 0);
	fb_search_free(s);
	fb_dag_free(dag);
}

/* Neither one of them nor two, and no noise at all. */
static void many_steps_are_not_named(void **state)
{
	static const double sd[] = {0, 0.0005, 0.003};
	double value[65];

	for (int i = 0; i < 65; i++)
		value[i] = 100 + 10 * (i >= 12) + 10 * (i >= 31) + 10 * (i >= 50);
	for (size_t i = 0; i < sizeof(sd) / sizeof(*sd); i++)
		ends_as(value, sd[i], FB_VERDICT_OTHER);
	for (int i = 0; i < 65; i++)
		value[i] = 100 + i;
	ends_as(value, 0, FB_VERDICT_OTHER);
	ends_as(value, 0.0005, FB_VERDICT_OTHER);
}

/* Two modes of the noise would explain them nearly as well: both stay in sight. */
static void huge_steps_are_both_listed(void **state)
{
	struct fb_dag *dag = line(12);
	struct fb_search *s = search_of(dag);
	struct boot boot[1000];
	struct fb_verdict v;
	double value[12];

	for (int i = 0; i < 12; i++)
		value[i] = i < 3 ? 100 : i < 8 ? 150 : 190;
	run(s, value, 0.0005, boot);
	fb_search_verdict(s, &v);
	assert_true(v.kind == FB_VERDICT_OTHER || v.kind == FB_VERDICT_UNDECIDED);
	assert_int_equal(v.nr_steps, 2);
	assert_step(&v, 0, 3, 0.5);
	assert_step(&v, 1, 8, 190 / 150.0 - 1);
	fb_search_free(s);
	fb_dag_free(dag);
}

/* A change that is smaller than what is looked for, and as sure as can be. */
static void a_small_step_is_none(void **state)
{
	static const double share[] = {0.25, 0.5};
	double value[65];

	for (size_t i = 0; i < sizeof(share) / sizeof(*share); i++) {
		for (int c = 0; c < 65; c++)
			value[c] = 100 * (1 + usual.min_effect * share[i] * (c >= 20));
		ends_as(value, 0, FB_VERDICT_NONE);
		ends_as(value, 0.002, FB_VERDICT_NONE);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(evidence_equals_enumeration),
		cmocka_unit_test(two_steps_up_are_named),
		cmocka_unit_test(up_and_then_a_little_down_are_named),
		cmocka_unit_test(down_and_then_up_are_named),
		cmocka_unit_test(steps_in_two_branches_are_named),
		cmocka_unit_test(a_step_that_cannot_be_tested_is_a_range),
		cmocka_unit_test(what_is_known_of_two_steps_is_told),
		cmocka_unit_test(many_steps_are_not_named),
		cmocka_unit_test(huge_steps_are_both_listed),
		cmocka_unit_test(a_small_step_is_none),
	};

	return cmocka_run_group_tests_name("steps", tests, NULL, NULL);
}
