/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The search on small random graphs equals brute force; recording order leaves no trace. */
#include "t/test.h"

#include "bisect/search.h"
#include "t/small-world.h"

#define CASES 400

static const struct fb_search_params usual = {
	.confidence = 0.99,
	.min_effect = 1,
	.scale = FB_SCALE_LINEAR,
	.direction = FB_DIRECTION_UP,
	.min_boots = 3,
	.max_total = 2000,
	.batch = 1,
};

/* About normal: twelve uniform numbers. */
static double noise(uint64_t *rng)
{
	double sum = -6;

	for (int i = 0; i < 12; i++)
		sum += uniform(rng);
	return sum;
}

static double value_of(struct world *w, uint32_t node, double shift, double sigma)
{
	return 100 + sigma * noise(&w->rng) +
	       (oracle_reaches(&w->small, node, w->culprit) ? shift : 0);
}

/* Some boots of the ends, enough to begin the search, and of nodes in between. */
static size_t some_boots(struct world *w, struct oracle_sample *sample)
{
	size_t nr = 0, more = oracle_random(&w->rng) % 12;

	for (int i = 0; i < 8; i++) {
		sample[nr++].node = w->good;
		sample[nr++].node = w->bad;
	}
	for (size_t i = 0; i < more; i++) {
		uint32_t v = oracle_random(&w->rng) % w->small.nr;

		if (w->candidate[v] || v == w->good)
			sample[nr++].node = v;
	}
	for (size_t i = 0; i < nr; i++)
		sample[i].value = value_of(w, sample[i].node, 4, 1);
	return nr;
}

/* Where the counters have their steps: anywhere, and where the value has it. */
static void place_counters(struct world *w, uint32_t step[ORACLE_COUNTERS])
{
	do
		step[0] = oracle_random(&w->rng) % w->small.nr;
	while (!w->candidate[step[0]]);
	step[1] = step[2] = step[3] = w->culprit;
}

/*
 * One boot's: exact; almost exact, and sometimes halfway; so noisy that it is used now and then;
 * too noisy, or exact and like the second one.
 */
static double count_of(struct world *w, uint32_t node, uint32_t counter,
		       const uint32_t step[ORACLE_COUNTERS])
{
	static const double spread[ORACLE_COUNTERS] = {0, 0.02, 0.08, 1};
	bool new = oracle_reaches(&w->small, node, step[counter]);
	double sd = counter == 3 && w->culprit % 2 ? 0 : spread[counter];

	if (counter == 1 && node % 4 == 1 && node != w->good && node != w->bad)
		return -7.5;
	return -8 + new + sd *noise(&w->rng);
}

/* The counters of all boots of @sample, of which there are @nr. */
static size_t count_all(struct world *w, struct fb_search *s, const struct oracle_sample *sample,
			size_t nr, struct oracle_count *count)
{
	uint32_t step[ORACLE_COUNTERS];
	size_t n = 0;

	place_counters(w, step);
	for (size_t i = 0; i < nr; i++)
		for (uint32_t k = 0; k < ORACLE_COUNTERS; k++) {
			struct oracle_count *c = &count[n++];

			*c = (struct oracle_count){sample[i].node, k,
						   count_of(w, sample[i].node, k, step)};
			assert_int_equal(fb_search_record_counter(s, c->node, c->counter, c->value),
					 0);
		}
	return n;
}

static void compare_with_enumeration(bool with_counters)
{
	size_t compared = 0, used[ORACLE_COUNTERS] = {0};
	double worst = 0, total = 0;

	for (uint64_t seed = 0; seed < CASES / 4; seed++) {
		struct fb_search_params p = usual;
		struct world w;
		struct oracle_sample sample[40];
		struct oracle_count count[40 * ORACLE_COUNTERS];
		uint32_t image[ORACLE_MAX], a, b;
		double want[ORACLE_MAX], place[ORACLE_MAX], tails, sum = 0;
		bool is_used[ORACLE_COUNTERS] = {false};
		struct fb_verdict verdict;
		struct fb_search *s;
		size_t nr;

		make_world(&w, seed, true);
		nr = some_boots(&w, sample);
		p.direction = (enum fb_direction)(oracle_random(&w.rng) % 2);
		s = search_of(&w, &p);
		for (uint32_t v = 0; v < w.small.nr; v++)
			image[v] = v;
		/* Sometimes two nodes of one side are one image. */
		a = oracle_random(&w.rng) % w.small.nr;
		b = oracle_random(&w.rng) % w.small.nr;
		if (w.candidate[a] && w.candidate[b] &&
		    oracle_reaches(&w.small, a, w.culprit) ==
			    oracle_reaches(&w.small, b, w.culprit)) {
			assert_int_equal(fb_search_same_image(s, a, b), 0);
			image[a] = image[b];
		}
		for (size_t i = 0; i < nr; i++)
			assert_int_equal(fb_search_record(s, sample[i].node, sample[i].value), 0);
		if (with_counters)
			oracle_place(&w.small, w.good, w.bad, image, count,
				     count_all(&w, s, sample, nr, count), place, is_used);
		fb_search_verdict(s, &verdict);
		if (verdict.mean_bad == 0 || verdict.kind == FB_VERDICT_NONE)
			fail_msg("seed %lu: no search", (unsigned long)seed);
		oracle_posterior(&w.small, w.good, w.bad, image, sample, nr, p.min_effect,
				 p.direction, with_counters ? place : NULL, want, &tails);
		for (uint32_t k = 0; k < ORACLE_COUNTERS; k++) {
			struct fb_counter_hint hint;

			fb_search_counter(s, k, &hint);
			assert_int_equal(hint.used, is_used[k]);
			used[k] += is_used[k];
		}
		/* While the ends are compared the prior is reported; enumeration needs more. */
		for (uint32_t v = 0; v < w.small.nr; v++)
			sum += fb_search_posterior(s, v);
		assert_near(sum, 1 - verdict.other, 1e-9);
		for (uint32_t v = 0; v < w.small.nr; v++) {
			double got = fb_search_posterior(s, v) / (1 - verdict.other);

			/*
			 * For normal noise only the average of the prior is an approximation. For
			 * heavy tails Laplace's method is one, which is poor where a side has few
			 * boots; it may be off by no more than its share in the answer.
			 */
			if (fabs(got - want[v]) > worst)
				worst = fabs(got - want[v]);
			total += fabs(got - want[v]);
			if (!(fabs(got - want[v]) <= 0.005 + 0.06 * tails))
				fail_msg("seed %lu node %u: posterior %.15g, not %.15g",
					 (unsigned long)seed, v, got, want[v]);
			compared++;
		}
		fb_search_free(s);
		fb_dag_free(w.dag);
	}
	assert_true(compared > CASES);
	printf("# largest difference %.3g, mean %.3g\n", worst, total / (double)compared);
	assert_true(total < 0.0005 * (double)compared);
	for (uint32_t k = 0; with_counters && k < 3; k++)
		assert_true(used[k] > CASES / 40);
	assert_true(!with_counters || used[2] < used[0]);
}

static void posterior_equals_enumeration(void **state)
{
	compare_with_enumeration(false);
}

static void posterior_with_counters_equals_enumeration(void **state)
{
	compare_with_enumeration(true);
}

static void same_answers(const struct fb_search *a, const struct fb_search *b, uint32_t nr)
{
	struct fb_search_ask ask_a = {0}, ask_b = {0};
	struct fb_verdict va, vb;

	assert_int_equal(fb_search_next(a, &ask_a), fb_search_next(b, &ask_b));
	assert_int_equal(ask_a.node, ask_b.node);
	assert_int_equal(ask_a.boots, ask_b.boots);
	assert_int_equal(ask_a.why, ask_b.why);
	fb_search_verdict(a, &va);
	fb_search_verdict(b, &vb);
	assert_int_equal(va.kind, vb.kind);
	assert_int_equal(va.nr_nodes, vb.nr_nodes);
	assert_near(va.confidence, vb.confidence, 0);
	assert_near(va.other, vb.other, 0);
	assert_near(va.effect, vb.effect, 0);
	for (uint32_t v = 0; v < nr; v++)
		assert_near(fb_search_posterior(a, v), fb_search_posterior(b, v), 0);
	for (uint32_t k = 0; k < ORACLE_COUNTERS; k++) {
		struct fb_counter_hint x, y;

		fb_search_counter(a, k, &x);
		fb_search_counter(b, k, &y);
		assert_int_equal(x.used, y.used);
		assert_near(x.agrees, y.agrees, 0);
		if (x.used)
			assert_near(x.mean_good, y.mean_good, 0);
	}
}

/* What can be recorded, in any order. */
enum event_kind { BOOT, COUNT, SKIP, IMAGE, COST };

struct event {
	enum event_kind kind;
	uint32_t a, b;
	double value;
};

static void tell(struct fb_search *s, const struct event *e)
{
	switch (e->kind) {
	case BOOT:
		assert_int_equal(fb_search_record(s, e->a, e->value), 0);
		break;
	case COUNT:
		assert_int_equal(fb_search_record_counter(s, e->a, e->b, e->value), 0);
		break;
	case SKIP:
		assert_int_equal(fb_search_skip(s, e->a), 0);
		break;
	case IMAGE:
		assert_int_equal(fb_search_same_image(s, e->a, e->b), 0);
		break;
	case COST:
		assert_int_equal(fb_search_set_cost(s, e->a, e->value), 0);
		break;
	}
}

/* Boots with counters, up to four skips and three pairs of one image, and a cost. */
static size_t some_events(struct world *w, struct event *event)
{
	struct oracle_sample sample[40];
	size_t nr = 0, boots = some_boots(w, sample);
	uint32_t step[ORACLE_COUNTERS];

	place_counters(w, step);

	for (size_t i = 0; i < boots; i++)
		event[nr++] = (struct event){BOOT, sample[i].node, 0, sample[i].value};
	for (size_t i = 0; i < boots; i++)
		for (uint32_t k = 0; k < ORACLE_COUNTERS; k++)
			event[nr++] = (struct event){COUNT, sample[i].node, k,
						     count_of(w, sample[i].node, k, step)};
	for (uint32_t n = oracle_random(&w->rng) % 5; n > 0; n--)
		event[nr++] = (struct event){SKIP, oracle_random(&w->rng) % w->small.nr, 0, 0};
	for (uint32_t n = oracle_random(&w->rng) % 4; n > 0; n--)
		event[nr++] = (struct event){IMAGE, oracle_random(&w->rng) % w->small.nr,
					     oracle_random(&w->rng) % w->small.nr, 0};
	event[nr++] = (struct event){COST, oracle_random(&w->rng) % w->small.nr, 0, 3};
	return nr;
}

/* R. Fisher and F. Yates (1938). */
static void shuffle(struct event *event, size_t nr, uint64_t *rng)
{
	for (size_t i = nr; i-- > 1;) {
		size_t j = oracle_random(rng) % (i + 1);
		struct event e = event[i];

		event[i] = event[j];
		event[j] = e;
	}
}

/* Also whether it was asked on the way, what cannot leave a trace either. */
static void recording_in_any_order_gives_the_same_answers(void **state)
{
	for (uint64_t seed = 0; seed < CASES; seed++) {
		struct world w;
		struct event event[60 + 40 * ORACLE_COUNTERS];
		struct fb_search *a, *b;
		struct fb_search_ask ask;
		size_t nr;

		make_world(&w, seed, true);
		nr = some_events(&w, event);
		a = search_of(&w, &usual);
		for (size_t i = 0; i < nr; i++) {
			tell(a, &event[i]);
			fb_search_next(a, &ask);
		}
		for (int order = 0; order < 4; order++) {
			shuffle(event, nr, &w.rng);
			b = search_of(&w, &usual);
			for (size_t i = 0; i < nr; i++) {
				tell(b, &event[i]);
				if (order % 2 && oracle_random(&w.rng) % 4 == 0)
					fb_search_next(b, &ask);
			}
			same_answers(a, b, w.small.nr);
			fb_search_free(b);
		}
		fb_search_free(a);
		fb_dag_free(w.dag);
	}
}

/*
 * A whole search, with commits that cannot be tested and kernels that turn out to be the same
 * once they are built; from each place on, the log alone leads to the same question.
 */
static void a_replayed_log_asks_the_same_questions(void **state)
{
	size_t skips = 0, images = 0, guided = 0;

	for (uint64_t seed = 0; seed < 100; seed++) {
		struct world w;
		struct event log[1000];
		uint32_t step[ORACLE_COUNTERS];
		struct fb_counter_hint hint;
		struct fb_search *a, *b;
		struct fb_search_ask ask, again;
		bool skip[ORACLE_MAX], built[ORACLE_MAX] = {false};
		size_t nr = 0;

		make_world(&w, seed, true);
		place_counters(&w, step);
		for (uint32_t i = 0; i < w.small.nr; i++)
			skip[i] = i != w.good && i != w.bad && uniform(&w.rng) < 0.3;
		a = search_of(&w, &usual);
		while (fb_search_next(a, &ask) == FB_SEARCH_MEASURE) {
			size_t from = nr;

			assert_true(nr < 990);
			b = search_of(&w, &usual);
			for (size_t i = 0; i < nr; i++)
				tell(b, &log[i]);
			assert_int_equal(fb_search_next(b, &again), FB_SEARCH_MEASURE);
			assert_int_equal(ask.node, again.node);
			assert_int_equal(ask.boots, again.boots);
			assert_int_equal(ask.why, again.why);
			fb_search_free(b);
			/* Every fifth commit is built to the kernel of one of its parents. */
			if (!built[ask.node] && ask.node != w.culprit && ask.node % 5 == 4 &&
			    w.small.nr_parents[ask.node] == 1) {
				uint32_t parent = w.small.parent[ask.node][0];

				log[nr++] = (struct event){IMAGE, ask.node, parent, 0};
				images++;
			}
			built[ask.node] = true;
			if (skip[ask.node])
				log[nr++] = (struct event){SKIP, ask.node, 0, 0};
			for (unsigned i = 0; !skip[ask.node] && i < ask.boots; i++) {
				log[nr++] = (struct event){BOOT, ask.node, 0,
							   value_of(&w, ask.node, 5, 1)};
				for (uint32_t k = 0; seed % 2 && k < ORACLE_COUNTERS; k++)
					log[nr++] = (struct event){COUNT, ask.node, k,
								   count_of(&w, ask.node, k, step)};
			}
			skips += skip[ask.node];
			for (size_t i = from; i < nr; i++)
				tell(a, &log[i]);
		}
		b = search_of(&w, &usual);
		for (size_t i = 0; i < nr; i++)
			tell(b, &log[i]);
		same_answers(a, b, w.small.nr);
		fb_search_counter(a, 0, &hint);
		guided += hint.used;
		fb_search_free(a);
		fb_search_free(b);
		fb_dag_free(w.dag);
	}
	assert_true(skips > 50 && images > 20 && guided > 25);
}

static void without_noise_a_line_costs_its_halvings(void **state)
{
	for (uint32_t nr = 2; nr <= 1025; nr = nr * 3 / 2 + 1) {
		for (int part = 0; part <= 4; part++) {
			struct fb_dag *dag = fb_dag_new();
			uint32_t good = 0, culprit = 1 + (nr - 2) * (uint32_t)part / 4;
			struct fb_search *s;
			struct fb_search_ask ask;
			struct fb_verdict v;
			unsigned commits = 0, boots = 0;
			unsigned char *seen = calloc(nr, 1);

			for (uint32_t i = 0; i < nr; i++) {
				uint32_t parent = i - 1;

				assert_int_equal(fb_dag_add(dag, &parent, i ? 1 : 0), 0);
			}
			s = fb_search_new(dag, &good, 1, NULL, 0, nr - 1, &usual);
			while (fb_search_next(s, &ask) == FB_SEARCH_MEASURE) {
				assert_true(++boots < 100);
				commits += !seen[ask.node];
				seen[ask.node] = 1;
				fb_search_record(s, ask.node, ask.node < culprit ? 50 : 60);
			}
			fb_search_verdict(s, &v);
			assert_int_equal(v.kind, FB_VERDICT_FOUND);
			assert_int_equal(v.nodes[0], culprit);
			/* Both ends, a halving each, and one more where the middle is uneven. */
			assert_true(commits <= ceil(log2(nr - 1)) + 3);
			/* Three boots an end, and a second look at each side of the step. */
			assert_true(boots <= ceil(log2(nr - 1)) + 6 + 4);
			free(seen);
			fb_search_free(s);
			fb_dag_free(dag);
		}
	}
}

/* The answer is the culprit's class: all that no testable node tells from it, and no other. */
static void skips_leave_exactly_what_cannot_be_told_apart(void **state)
{
	size_t ranges = 0;

	for (uint64_t seed = 0; seed < CASES; seed++) {
		struct world w;
		bool skip[ORACLE_MAX] = {false};
		struct fb_search *s;
		struct fb_search_ask ask;
		struct fb_verdict v;
		size_t nr = 0;
		int steps = 0;

		make_world(&w, seed, true);
		for (uint32_t i = 0; i < w.small.nr; i++)
			skip[i] = i != w.good && i != w.bad && uniform(&w.rng) < 0.4;
		s = search_of(&w, &usual);
		while (fb_search_next(s, &ask) == FB_SEARCH_MEASURE) {
			if (++steps > 500)
				fail_msg("seed %lu: no end", (unsigned long)seed);
			if (skip[ask.node])
				fb_search_skip(s, ask.node);
			else
				fb_search_record(s, ask.node, value_of(&w, ask.node, 8, 0.2));
		}
		fb_search_verdict(s, &v);
		for (uint32_t c = 0; c < w.small.nr; c++) {
			bool in = false;

			if (!w.candidate[c])
				continue;
			for (size_t i = 0; i < v.nr_nodes; i++)
				in = in || v.nodes[i] == c;
			if (in != !oracle_told_apart(&w.small, w.bad, skip, c, w.culprit))
				fail_msg(
					"seed %lu: kind %d, node %u is %sin the answer, culprit %u",
					(unsigned long)seed, v.kind, c, in ? "" : "not ",
					w.culprit);
			nr += in;
		}
		assert_int_equal(nr, v.nr_nodes);
		assert_int_equal(v.kind, nr == 1 ? FB_VERDICT_FOUND : FB_VERDICT_RANGE);
		ranges += nr > 1;
		fb_search_free(s);
		fb_dag_free(w.dag);
	}
	assert_true(ranges > CASES / 10);
}

static void every_culprit_of_a_graph_is_found(void **state)
{
	for (uint64_t seed = 0; seed < CASES; seed++) {
		struct world w;
		struct fb_search *s;
		struct fb_search_ask ask;
		struct fb_verdict v;
		int steps = 0;

		make_world(&w, seed, true);
		s = search_of(&w, &usual);
		while (fb_search_next(s, &ask) == FB_SEARCH_MEASURE && ++steps < 500)
			fb_search_record(s, ask.node, value_of(&w, ask.node, 8, 0.2));
		fb_search_verdict(s, &v);
		if (v.kind != FB_VERDICT_FOUND || v.nodes[0] != w.culprit)
			fail_msg("seed %lu: kind %d", (unsigned long)seed, v.kind);
		fb_search_free(s);
		fb_dag_free(w.dag);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(posterior_equals_enumeration),
		cmocka_unit_test(posterior_with_counters_equals_enumeration),
		cmocka_unit_test(recording_in_any_order_gives_the_same_answers),
		cmocka_unit_test(a_replayed_log_asks_the_same_questions),
		cmocka_unit_test(without_noise_a_line_costs_its_halvings),
		cmocka_unit_test(skips_leave_exactly_what_cannot_be_told_apart),
		cmocka_unit_test(every_culprit_of_a_graph_is_found),
	};

	return cmocka_run_group_tests_name("search-property", tests, NULL, NULL);
}
