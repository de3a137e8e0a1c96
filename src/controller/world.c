/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A made history to search in. */
#include "src/controller/world.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/util/clock.h"
#include "src/util/util.h"

#define STEPS_MAX 2
/* The counters have a sequence of their own, so that they do not change the rest of the world. */
#define COUNTER_SEED UINT64_C(0x636f756e74657273)

static const char *const outcomes[FB_NR_OUTCOMES] = {
	[FB_OUTCOME_RIGHT] = "right",	      [FB_OUTCOME_WRONG] = "wrong",
	[FB_OUTCOME_RANGE] = "range",	      [FB_OUTCOME_NONE] = "none",
	[FB_OUTCOME_UNDECIDED] = "undecided", [FB_OUTCOME_OTHER] = "other",
	[FB_OUTCOME_STEPS] = "steps",
};

const char *fb_outcome_name(enum fb_outcome outcome)
{
	return outcomes[outcome];
}

static const char *const idle_kinds[] = {
	[FB_IDLE_NORMAL] = "normal",
	[FB_IDLE_COIN] = "coin",
	[FB_IDLE_HEADLINE] = "headline",
	[FB_IDLE_SIGN] = "sign",
};

const char *fb_idle_name(enum fb_idle kind)
{
	return idle_kinds[kind];
}

int fb_idle_find(const char *name)
{
	for (size_t i = 0; i < FB_ARRAY_SIZE(idle_kinds); i++)
		if (!strcmp(idle_kinds[i], name))
			return (int)i;
	return -1;
}

/* One trial. */
struct run {
	const struct fb_world *world;
	struct fb_rng rng;
	struct fb_drift drift;
	uint32_t nr; /* nodes */
	uint32_t culprit[STEPS_MAX];
	double step[STEPS_MAX];
	unsigned nr_steps;
	uint8_t *under; /* for each node: bit k, step k is in its history */
	struct fb_rng counter_rng;
	bool *counter_under; /* for each node: the counter's step is; NULL: no counters */
	bool *skipped, *seen;
	double *image; /* NAN: not built yet; NULL: images do not differ */
	struct fb_trial *out;
};

/* --- the numbers ---------------------------------------------------------------------------- */

static int wrong(struct fb_error *err, const char *what)
{
	return fb_error_set(err, FB_ERROR_USAGE, "%s", what);
}

static bool is_line(const struct fb_dag *dag)
{
	for (uint32_t v = 1; v < fb_dag_nr(dag); v++) {
		size_t nr;
		const uint32_t *parents = fb_dag_parents(dag, v, &nr);

		if (nr != 1 || *parents != v - 1)
			return false;
	}
	return true;
}

double fb_world_rate(const struct fb_world *w, double level)
{
	double spread = sqrt(1 + w->build_sd * w->build_sd);

	return erfc((w->threshold - level) / spread / M_SQRT2) / 2;
}

double fb_world_prior_shift(double min_effect, double u)
{
	const double below = 1 - 0.7, above = 15 * M_LN2;
	double at = u * (below + above);

	return min_effect * (at < below ? 0.7 + at : exp(at - below));
}

static int check_change(const struct fb_world *w, struct fb_error *err)
{
	uint32_t nr = fb_dag_nr(w->dag) - 1;
	double sign = w->any_direction ? -1 : 1, most = w->shift_hi + w->second;
	double far = fmax(fabs(w->shift_hi), fabs(most)) / FB_BIMODAL_DISTANCE;

	if (w->shift_prior &&
	    (w->no_regression || w->noise == FB_NOISE_BINARY || w->mode_share || w->repeats))
		return wrong(err, "the prior of the shift is that of one step of the values");
	if (w->no_regression) {
		if (w->shift_lo != 0 || w->shift_hi != 0 || w->second != 0 || w->together ||
		    w->culprit >= 0)
			return wrong(err, "where nothing changes there is no shift and no culprit");
		return 0;
	}
	if (!(w->shift_lo * w->shift_hi > 0) || fabs(w->shift_lo) > fabs(w->shift_hi))
		return wrong(err, "a shift is not 0, and a range of shifts is LO..HI of one sign");
	if (w->culprit >= (int64_t)nr)
		return fb_error_set(err, FB_ERROR_USAGE,
				    "there is no commit %lld: the last one is %u",
				    (long long)w->culprit, nr - 1);
	if (w->second != 0 && w->together)
		return wrong(err, "a change that needs both commits is one step");
	if ((w->second != 0 || w->together) && (nr < 2 || w->culprit >= (int64_t)nr - 1))
		return wrong(err, "no commit is left for the second step");
	if (w->mode_share && w->noise != FB_NOISE_BIMODAL)
		return wrong(err, "only bimodal noise has a share of modes that can change");
	if (w->mode_share && (FB_BIMODAL_SHARE + far > 1 || FB_BIMODAL_SHARE + sign * far < 0 ||
			      w->shift_lo < 0 || most < 0))
		return fb_error_set(err, FB_ERROR_USAGE,
				    "the share of the upper mode moves by a shift of 0 to %g%s",
				    (w->any_direction ? FB_BIMODAL_SHARE : 1 - FB_BIMODAL_SHARE) *
					    FB_BIMODAL_DISTANCE,
				    w->any_direction ? " (direction unknown)" : "");
	return 0;
}

int fb_world_check(const struct fb_world *w, struct fb_error *err)
{
	if (check_change(w, err) < 0)
		return -1;
	if (!(w->build_sd >= 0) || !(w->log_sigma >= 0))
		return wrong(err, "a standard deviation is not negative");
	if (w->counter && (!(w->counter_same >= 0 && w->counter_same <= 1) ||
			   !(w->counter_sd >= 0) || !(fabs(w->counter_corr) <= 1)))
		return wrong(err, "a counter has a probability, a spread and a correlation");
	if (w->counter && w->together)
		return wrong(err, "a counter changes with one commit, not where two meet");
	if (w->idle + 1 > FB_COUNTERS_MAX)
		return fb_error_set(err, FB_ERROR_USAGE, "at most %d counters", FB_COUNTERS_MAX);
	if (!(w->skip_share >= 0 && w->skip_share < 1))
		return wrong(err, "the share of untestable commits is at least 0 and below 1");
	if (w->skip_share > 0 &&
	    !(w->skip_run >= 1 && w->skip_share / (1 - w->skip_share) <= w->skip_run))
		return fb_error_set(err, FB_ERROR_USAGE,
				    "runs of untestable commits are at least %g long at this share",
				    fmax(1, w->skip_share / (1 - w->skip_share)));
	if (!(w->confidence > 0.5 && w->confidence < 1))
		return wrong(err, "a confidence lies between 0.5 and 1");
	if (!(w->min_effect > 0))
		return wrong(err, "the smallest effect looked for is above 0");
	if ((w->min_boots < 2 && !w->known_rates) || w->batch < 1)
		return wrong(err, "at least 2 boots for each end, and 1 for each step");
	if (w->boots_lo < 1 || w->boots_lo > w->boots_hi)
		return wrong(err, "boots in all: at least 1, or a range LO..HI");
	if (w->noise == FB_NOISE_BINARY && (w->any_direction || w->log_sigma > 0))
		return wrong(err,
			     "verdicts are 0 or 1: their direction is known, their scale linear");
	if (w->known_rates && !(w->noise == FB_NOISE_BINARY && w->shift_lo == w->shift_hi))
		return wrong(err, "only the rates of binary noise and one shift can be known");
	if (w->repeats && (!is_line(w->dag) || w->no_regression || w->skip_share > 0 ||
			   w->any_direction || w->second != 0 || w->together))
		return wrong(
			err,
			"fixed repeats are for one step on a line without skips, direction known");
	return 0;
}

/* --- making it ------------------------------------------------------------------------------ */

void fb_world_skips(const struct fb_world *w, struct fb_rng *rng, bool *ret)
{
	uint32_t bad = fb_dag_nr(w->dag) - 1;
	double leave, enter;

	memset(ret, 0, (size_t)bad + 1);
	if (!(w->skip_share > 0))
		return;
	leave = 1 / w->skip_run;
	enter = w->skip_share * leave / (1 - w->skip_share);
	/* The bad end is drawn too, so that what it is does not change the others. */
	for (uint32_t v = 1; v <= bad; v++) {
		size_t nr;
		uint32_t first = *fb_dag_parents(w->dag, v, &nr);
		double u = fb_rng_uniform(rng);

		if (first == 0)
			ret[v] = u < w->skip_share;
		else
			ret[v] = ret[first] ? u >= leave : u < enter;
	}
	ret[bad] = false;
}

static void draw_steps(struct run *r)
{
	const struct fb_world *w = r->world;
	double span = w->shift_hi - w->shift_lo, sign;
	uint32_t nr = r->nr - 1, a, b;

	/* Always the same draws: what is asked for does not change the rest of the world. */
	sign = fb_rng_uniform(&r->rng) < 0.5 && w->any_direction ? -1 : 1;
	r->step[0] = fb_rng_uniform(&r->rng);
	r->step[0] = sign * (w->shift_prior ? fb_world_prior_shift(w->min_effect, r->step[0])
					    : w->shift_lo + span * r->step[0]);
	r->step[1] = sign * w->second;
	a = fb_rng_below(&r->rng, nr);
	b = fb_rng_below(&r->rng, nr > 1 ? nr - 1 : 1);
	if (w->no_regression)
		return;
	r->nr_steps = w->second != 0 || w->together ? 2 : 1;
	if (w->culprit >= 0) {
		a = (uint32_t)w->culprit;
		/* Among those after it. */
		b = a + 1 + (uint32_t)((double)b / (nr - 1) * (nr - 1 - a));
	} else if (r->nr_steps == 2) {
		uint32_t other = b + (b >= a);

		b = a > other ? a : other;
		a = a < other ? a : other;
		/* Neither in the history of the other, if there are such. */
		for (int i = 0; w->together && i < 100 && fb_dag_is_ancestor(w->dag, a + 1, b + 1);
		     i++) {
			a = fb_rng_below(&r->rng, nr - 1);
			b = a + 1 + fb_rng_below(&r->rng, nr - 1 - a);
		}
	}
	r->culprit[0] = a + 1;
	r->culprit[1] = b + 1;
}

static void spread_steps(struct run *r)
{
	for (unsigned k = 0; k < r->nr_steps; k++)
		r->under[r->culprit[k]] |= (uint8_t)(1 << k);
	for (uint32_t v = 1; v < r->nr; v++) {
		size_t nr;
		const uint32_t *parents = fb_dag_parents(r->world->dag, v, &nr);

		for (size_t i = 0; i < nr; i++)
			r->under[v] |= r->under[parents[i]];
	}
}

/* Where the value's first step is, or anywhere else. */
static void place_counter(struct run *r, uint64_t i)
{
	const struct fb_world *w = r->world;
	uint32_t nr = r->nr - 1, at;
	bool same;

	if (!w->counter && !w->idle)
		return;
	fb_rng_init(&r->counter_rng, w->seed ^ COUNTER_SEED, i);
	r->counter_under = fb_xcalloc(r->nr, sizeof(*r->counter_under));
	same = fb_rng_uniform(&r->counter_rng) < w->counter_same && r->nr_steps;
	at = 1 + fb_rng_below(&r->counter_rng, nr > 1 && r->nr_steps ? nr - 1 : nr);
	if (same || nr == 1)
		at = r->culprit[0];
	else if (r->nr_steps && at >= r->culprit[0])
		at++;
	for (uint32_t v = 1; v < r->nr; v++) {
		size_t nr_parents;
		const uint32_t *parents = fb_dag_parents(w->dag, v, &nr_parents);

		r->counter_under[v] = v == at;
		for (size_t k = 0; k < nr_parents; k++)
			r->counter_under[v] = r->counter_under[v] || r->counter_under[parents[k]];
	}
}

static void make(struct run *r, const struct fb_world *w, uint64_t i, struct fb_trial *out)
{
	memset(r, 0, sizeof(*r));
	r->world = w;
	r->nr = fb_dag_nr(w->dag);
	r->out = out;
	r->under = fb_xcalloc(r->nr, sizeof(*r->under));
	r->skipped = fb_xcalloc(r->nr, sizeof(*r->skipped));
	r->seen = fb_xcalloc(r->nr, sizeof(*r->seen));
	if (w->build_sd > 0) {
		r->image = fb_xcalloc(r->nr, sizeof(*r->image));
		for (uint32_t v = 0; v < r->nr; v++)
			r->image[v] = NAN;
	}
	fb_rng_init(&r->rng, w->seed, i);
	draw_steps(r);
	spread_steps(r);
	fb_world_skips(w, &r->rng, r->skipped);
	fb_drift_init(&r->drift, &r->rng);
	place_counter(r, i);
}

static void unmake(struct run *r)
{
	free(r->under);
	free(r->counter_under);
	free(r->skipped);
	free(r->seen);
	free(r->image);
}

static void fail(struct fb_trial *out, const char *what)
{
	out->outcome = FB_OUTCOME_OTHER;
	strncpy(out->failure, what, sizeof(out->failure) - 1);
}

/* --- booting it ----------------------------------------------------------------------------- */

/* The counters of a boot of @node whose value is @noise off. */
static void count(struct run *r, struct fb_search *search, uint32_t node, double noise)
{
	const struct fb_world *w = r->world;
	double own = sqrt(1 - w->counter_corr * w->counter_corr), value = 0;
	uint32_t nr = 0;

	if (w->counter) {
		value = own * fb_rng_normal(&r->counter_rng) + w->counter_corr * noise;
		value = 10 + r->counter_under[node] + w->counter_sd * value;
		if (fb_search_record_counter(search, node, nr++, value) < 0)
			fail(r->out, "the search refuses a counter");
	}
	for (unsigned i = 0; i < w->idle; i++) {
		switch (w->idle_kind) {
		case FB_IDLE_NORMAL:
			value = fb_rng_normal(&r->counter_rng);
			break;
		case FB_IDLE_COIN:
			value = fb_rng_uniform(&r->counter_rng) < 0.5;
			break;
		case FB_IDLE_HEADLINE:
			value = noise;
			break;
		case FB_IDLE_SIGN:
			value = noise > 0;
			break;
		}
		if (fb_search_record_counter(search, node, nr++, value) < 0)
			fail(r->out, "the search refuses a counter");
	}
}

/* What one boot of @node gives, as the search sees it; @search: that takes its counters. */
static double boot(struct run *r, uint32_t node, struct fb_search *search)
{
	const struct fb_world *w = r->world;
	double level = 0, z;

	for (unsigned k = 0; k < r->nr_steps; k++)
		if (w->together ? !k && r->under[node] == 3 : r->under[node] >> k & 1)
			level += r->step[k];
	if (w->mode_share)
		z = fb_noise_draw(&r->rng, w->noise,
				  FB_BIMODAL_SHARE + level / FB_BIMODAL_DISTANCE);
	else
		z = level + fb_noise_draw(&r->rng, w->noise, FB_BIMODAL_SHARE);
	if (w->noise == FB_NOISE_DRIFT)
		z += fb_drift_next(&r->drift, &r->rng);
	if (r->image) {
		if (isnan(r->image[node]))
			r->image[node] = w->build_sd * fb_rng_normal(&r->rng);
		z += r->image[node];
	}
	if (r->counter_under && search)
		count(r, search, node, z - level);
	r->out->commits += !r->seen[node];
	r->seen[node] = true;
	r->out->boots++;
	if (w->noise == FB_NOISE_BINARY)
		return z > w->threshold;
	return w->log_sigma > 0 ? 1000 * exp(w->log_sigma * z) : 100 + z;
}

static void search_params(struct run *r, struct fb_search_params *ret)
{
	const struct fb_world *w = r->world;
	double sign = w->shift_hi < 0 ? -1 : 1;

	*ret = (struct fb_search_params){
		.confidence = w->confidence,
		.min_effect = w->min_effect,
		.scale = w->noise == FB_NOISE_BINARY ? FB_SCALE_BINARY
			 : w->log_sigma > 0	     ? FB_SCALE_LOG
						     : FB_SCALE_LINEAR,
		.direction = w->any_direction ? FB_DIRECTION_ANY
			     : sign < 0	      ? FB_DIRECTION_DOWN
					      : FB_DIRECTION_UP,
		.min_boots = w->min_boots,
		.rate_old = w->known_rates ? w->rate_old : NAN,
		.rate_new = w->known_rates ? w->rate_new : NAN,
		.max_total = w->boots_lo + fb_rng_below(&r->rng, w->boots_hi - w->boots_lo + 1),
		.batch = w->batch,
	};
	if (w->log_sigma > 0)
		ret->min_effect = sign * expm1(sign * w->min_effect * w->log_sigma);
	if (w->noise == FB_NOISE_BINARY)
		ret->min_effect =
			fabs(fb_world_rate(w, sign * w->min_effect) - fb_world_rate(w, 0));
}

/* --- judging it ----------------------------------------------------------------------------- */

uint32_t fb_world_range(const struct fb_dag *dag, const bool *skipped, uint32_t culprit, bool *ret)
{
	uint32_t nr = fb_dag_nr(dag), nr_first = 0, nr_in = 0;
	/* Those with the culprit in their history; those with another testable commit above. */
	FB_CLEANUP(fb_freep) bool *with = fb_xcalloc(nr, sizeof(*with));
	FB_CLEANUP(fb_freep) bool *outside = fb_xcalloc(nr, sizeof(*outside));
	FB_CLEANUP(fb_freep) bool *later = fb_xcalloc(nr, sizeof(*later));
	FB_CLEANUP(fb_freep) uint32_t *below = fb_xcalloc(nr, sizeof(*below));
	FB_CLEANUP(fb_freep) uint32_t *mark = fb_xcalloc(nr, sizeof(*mark));
	const uint32_t *parents;
	size_t nr_parents;

	with[culprit] = true;
	for (uint32_t v = culprit; v < nr; v++) {
		parents = fb_dag_parents(dag, v, &nr_parents);
		for (size_t i = 0; i < nr_parents; i++) {
			uint32_t p = parents[i];

			with[v] = with[v] || with[p];
			later[v] = later[v] || later[p] || (with[p] && !skipped[p]);
		}
	}
	for (uint32_t v = nr; v-- > 1;) {
		outside[v] = outside[v] || (!skipped[v] && !with[v]);
		parents = fb_dag_parents(dag, v, &nr_parents);
		for (size_t i = 0; outside[v] && i < nr_parents; i++)
			outside[parents[i]] = true;
	}
	/* Of the testable commits that contain the culprit the first ones speak for all. */
	for (uint32_t first = culprit; first < nr; first++) {
		if (!with[first] || skipped[first] || later[first])
			continue;
		nr_first++;
		mark[first] = nr_first;
		for (uint32_t v = first; v > 0; v--) {
			if (mark[v] != nr_first)
				continue;
			below[v]++;
			parents = fb_dag_parents(dag, v, &nr_parents);
			for (size_t i = 0; i < nr_parents; i++)
				mark[parents[i]] = nr_first;
		}
	}
	ret[0] = false;
	for (uint32_t v = 1; v < nr; v++) {
		ret[v] = !outside[v] && below[v] == nr_first;
		nr_in += ret[v];
	}
	return nr_in;
}

/* Is @node one of the commits at which the value changes? */
static bool is_step(const struct run *r, uint32_t node)
{
	const uint32_t *parents;
	size_t nr;

	for (unsigned k = 0; k < r->nr_steps && !r->world->together; k++)
		if (r->culprit[k] == node)
			return true;
	if (!r->world->together || r->under[node] != 3)
		return false;
	/* Where they meet. */
	parents = fb_dag_parents(r->world->dag, node, &nr);
	for (size_t i = 0; i < nr; i++)
		if (r->under[parents[i]] == 3)
			return false;
	return true;
}

/* Are these the commits that the untestable ones do not let apart from @step? */
static bool is_range_of(const struct run *r, uint32_t step, const uint32_t *nodes, size_t nr)
{
	FB_CLEANUP(fb_freep) bool *in = fb_xcalloc(r->nr, sizeof(*in));
	bool same = fb_world_range(r->world->dag, r->skipped, step, in) == nr;

	for (size_t i = 0; i < nr; i++)
		same = same && in[nodes[i]];
	return same;
}

static bool is_smallest_range(const struct run *r, const struct fb_verdict *verdict)
{
	for (uint32_t v = 1; v < r->nr; v++)
		if (is_step(r, v) && is_range_of(r, v, verdict->nodes, verdict->nr_nodes))
			return true;
	return false;
}

static enum fb_outcome judge_steps(const struct run *r, const struct fb_verdict *v)
{
	const struct fb_verdict_step *a = &v->steps[0], *b = &v->steps[1];

	if (!v->steps_found)
		return FB_OUTCOME_OTHER;
	if (r->nr_steps != 2 || r->world->together)
		return FB_OUTCOME_WRONG;
	for (int i = 0; i < 2; i++)
		if (is_range_of(r, r->culprit[i], a->nodes, a->nr_nodes) &&
		    is_range_of(r, r->culprit[!i], b->nodes, b->nr_nodes))
			return FB_OUTCOME_STEPS;
	return FB_OUTCOME_WRONG;
}

static void state_best(const struct run *r, const struct fb_search *search)
{
	uint32_t best = 1;

	for (uint32_t v = 1; v < r->nr; v++) {
		double p = fb_search_posterior(search, v);

		if (p > r->out->stated) {
			r->out->stated = p;
			best = v;
		}
	}
	r->out->held = is_step(r, best);
}

static void judge(struct run *r, const struct fb_search *search)
{
	struct fb_trial *out = r->out;
	struct fb_verdict verdict;

	fb_search_verdict(search, &verdict);
	switch (verdict.kind) {
	case FB_VERDICT_FOUND:
		out->held = is_step(r, verdict.nodes[0]);
		out->outcome = out->held ? FB_OUTCOME_RIGHT : FB_OUTCOME_WRONG;
		out->stated = verdict.confidence;
		return;
	case FB_VERDICT_RANGE:
		out->held = is_smallest_range(r, &verdict);
		out->outcome = out->held ? FB_OUTCOME_RANGE : FB_OUTCOME_WRONG;
		out->stated = verdict.confidence;
		return;
	case FB_VERDICT_NONE:
		out->outcome = FB_OUTCOME_NONE;
		return;
	case FB_VERDICT_UNDECIDED:
		out->outcome = FB_OUTCOME_UNDECIDED;
		state_best(r, search);
		return;
	case FB_VERDICT_OTHER:
		out->outcome = judge_steps(r, &verdict);
		if (verdict.steps_found)
			out->stated = verdict.confidence;
		out->held = out->outcome == FB_OUTCOME_STEPS;
		return;
	case FB_VERDICT_OPEN:
	case FB_VERDICT_BASE_BAD:
	case FB_VERDICT_UNTESTABLE:
		break;
	}
	fail(out, "the search ended with an answer that cannot be");
}

/* --- searching it --------------------------------------------------------------------------- */

/* fb_search_next(), timed. */
static enum fb_search_step next(struct run *r, const struct fb_search *search,
				struct fb_search_ask *ret)
{
	int64_t begin = fb_clock_cpu_ns();
	enum fb_search_step step = fb_search_next(search, ret);
	double took = (double)(fb_clock_cpu_ns() - begin) / (double)FB_NS_PER_S;

	r->out->steps++;
	r->out->next_s += took;
	r->out->next_max_s = fmax(r->out->next_max_s, took);
	return step;
}

static void run_search(struct run *r)
{
	const uint32_t good = 0;
	struct fb_search_params params;
	struct fb_search *search;
	struct fb_search_ask ask;

	search_params(r, &params);
	search = fb_search_new(r->world->dag, &good, 1, NULL, 0, r->nr - 1, &params);
	if (!search) {
		fail(r->out, "the search does not take these numbers");
		return;
	}
	while (!r->out->failure[0] && next(r, search, &ask) == FB_SEARCH_MEASURE) {
		if (ask.boots < 1 || ask.boots > r->world->batch || ask.node >= r->nr) {
			fail(r->out, "the search asks for what cannot be");
		} else if (r->skipped[ask.node]) {
			r->out->skips++;
			if (fb_search_skip(search, ask.node) < 0)
				fail(r->out, "the search refuses a skip");
		} else {
			for (unsigned i = 0; i < ask.boots && !r->out->failure[0]; i++)
				if (fb_search_record(search, ask.node, boot(r, ask.node, search)) <
				    0)
					fail(r->out, "the search refuses a value");
		}
	}
	if (!r->out->failure[0])
		judge(r, search);
	fb_search_free(search);
}

/*
 * git's halving of a line, each step decided by the mean of some boots against the middle of
 * both sides, which is known.
 */
static void run_repeats(struct run *r)
{
	const struct fb_world *w = r->world;
	uint32_t good = 0, bad = r->nr - 1;
	double middle = r->step[0] / 2, sign = r->step[0] < 0 ? -1 : 1;

	if (w->noise == FB_NOISE_BINARY)
		middle = (fb_world_rate(w, 0) + fb_world_rate(w, r->step[0])) / 2;
	else
		middle = w->log_sigma > 0 ? 1000 * exp(w->log_sigma * middle) : 100 + middle;
	while (bad - good > 1) {
		uint32_t mid = good + (bad - good) / 2;
		double sum = 0;

		for (unsigned i = 0; i < w->repeats; i++)
			sum += boot(r, mid, NULL);
		r->out->steps++;
		if (sign * (sum / w->repeats - middle) > 0)
			bad = mid;
		else
			good = mid;
	}
	r->out->outcome = is_step(r, bad) ? FB_OUTCOME_RIGHT : FB_OUTCOME_WRONG;
}

void fb_world_trial(const struct fb_world *world, uint64_t i, struct fb_trial *ret)
{
	int64_t begin = fb_clock_cpu_ns();
	struct run r;

	memset(ret, 0, sizeof(*ret));
	make(&r, world, i, ret);
	if (world->repeats)
		run_repeats(&r);
	else
		run_search(&r);
	unmake(&r);
	ret->cpu_s = (double)(fb_clock_cpu_ns() - begin) / (double)FB_NS_PER_S;
}

double fb_world_bound(const struct fb_world *w, double *ret_bits)
{
	double delta = 1 - w->confidence, nr = fb_dag_nr(w->dag) - 1, share = FB_BIMODAL_SHARE, h;

	*ret_bits = 0;
	if (w->no_regression || w->shift_prior || w->second != 0 || w->together ||
	    w->shift_lo != w->shift_hi || w->skip_share > 0 ||
	    (w->noise == FB_NOISE_BINARY && w->build_sd > 0))
		return 0;
	if (w->noise == FB_NOISE_BINARY)
		*ret_bits = fb_binary_capacity(fb_world_rate(w, 0), fb_world_rate(w, w->shift_lo));
	else if (w->mode_share)
		*ret_bits =
			fb_noise_capacity(w->noise, 0, share + w->shift_lo / FB_BIMODAL_DISTANCE);
	else
		*ret_bits = fb_noise_capacity(w->noise, w->shift_lo, share);
	h = -delta * log2(delta) - (1 - delta) * log2(1 - delta);
	return fmax(0, ((1 - delta) * log2(nr) - h) / *ret_bits);
}
