/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The search for the commit that changed a value.
 *
 * Everything is a function of what was recorded: evaluate() computes it anew after each
 * change, from values in sorted order and nodes in index order, so that neither the order
 * of recording nor the number of questions asked leaves a trace.
 *
 *   ends    is there a shift of min_effect at all?      (ends.c)
 *   bases   is a merge base bad already?                (ends.c)
 *   search  which candidate is the step?                (here: posterior and verdict)
 *             or something else than one step?          (other.c)
 *             which node next?                          (choose.c)
 */
#include "bisect/search-impl.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MATHLIB_STANDALONE
#include <Rmath.h>

#include "bisect/stats.h"

/* Prior of "something else" than one step. */
#define PRIOR_OTHER 0.02
/* From this posterior on two steps are searched, rather than one. */
#define LIKELY 0.1
/* ... and from this one when boots tell no more about one step. */
#define UNLIKELY 1e-3
/* With so many boots of an image no single one of them is the reason for doubt. */
#define ENOUGH_BOOTS 4
/*
 * Evidence for a change by all boots, in nats, below which the search turns back to the ends.
 * That evidence pays for all the places where the step might be, and for the prior of the
 * shift, spread over 15 doublings, so it lags behind that of the ends.
 */
#define AGAINST (-4.0)
/* A shift that may be the smallest one looked for, in standard errors; see enough_to_name(). */
#define NEAR_SMALLEST 2.5
#define LESS_WRONG    0.7

void fb_search_free(struct fb_search *s)
{
	if (!s)
		return;
	for (uint32_t v = 0; s->node && v < s->nr_nodes; v++)
		free(s->node[v].value);
	free(s->node);
	free(s->cand);
	free(s->index);
	free(s->par_first);
	free(s->par);
	free(s->dead);
	free(s->image);
	free(s->sorted);
	free(s->ratio);
	free(s->new);
	free(s->cluster);
	free(s->cluster_of);
	free(s->old_cluster);
	free(s->slot);
	free(s->reached);
	free(s->part);
	free(s->rank);
	fb_steps_free(s->steps);
	fb_counters_free(s->counters);
	fb_reach_free(s->ancestors);
	free(s->count);
	free(s->class_of);
	fb_near_free(s->near);
	free(s->near_skipped);
	free(s->near_measured);
	free(s->mass);
	free(s->class_mass);
	free(s->gain);
	free(s->step_gain);
	free(s->key);
	free(s->mark);
	free(s->found);
	free(s->state);
	free(s);
}

static bool is_rate(double rate)
{
	return isnan(rate) || (rate >= 0 && rate <= 1);
}

static bool rates_are_usable(const struct fb_search_params *p)
{
	double old = p->rate_old, new = p->rate_new, apart = p->min_effect;

	if (p->direction != FB_DIRECTION_UP || !is_rate(old) || !is_rate(new))
		return false;
	if (!isnan(old) && !isnan(new))
		return old < new;
	return apart < 1 && !(old + apart > 1) && !(new - apart < 0);
}

static bool params_are_usable(const struct fb_search_params *p)
{
	if (!(p->confidence > 0.5 && p->confidence < 1 && p->min_effect > 0 &&
	      isfinite(p->min_effect) && p->direction >= -1 && p->direction <= 1) ||
	    (p->max_boots && p->max_boots < p->min_boots))
		return false;
	switch (p->scale) {
	case FB_SCALE_LOG:
		return p->min_boots >= 2 &&
		       !(p->direction == FB_DIRECTION_DOWN && p->min_effect >= 1);
	case FB_SCALE_LINEAR:
		return p->min_boots >= 2;
	case FB_SCALE_CERTAIN:
		return true;
	case FB_SCALE_BINARY:
		return rates_are_usable(p) &&
		       (p->min_boots >= 1 || (!isnan(p->rate_old) && !isnan(p->rate_new)));
	}
	return false;
}

static double to_min_shift(const struct fb_search_params *p)
{
	if (p->scale != FB_SCALE_LOG)
		return p->min_effect;
	return p->direction == FB_DIRECTION_DOWN ? -log1p(-p->min_effect) : log1p(p->min_effect);
}

static int allocate_room(struct fb_search *s)
{
	size_t n = (size_t)s->nr_cand + 1;

	s->slot_mask = 1;
	while (s->slot_mask < 2 * n)
		s->slot_mask = 2 * s->slot_mask + 1;
	s->slot = calloc((size_t)s->slot_mask + 1, sizeof(*s->slot));
	s->cap_reached = 1;
#define ROOM(array) ((array = calloc(n, sizeof(*array))) != NULL)
	return s->slot && ROOM(s->dead) && ROOM(s->cluster) && ROOM(s->cluster_of) &&
			       ROOM(s->old_cluster) && ROOM(s->count) && ROOM(s->class_of) &&
			       ROOM(s->near_skipped) && ROOM(s->near_measured) && ROOM(s->mass) &&
			       ROOM(s->part) && ROOM(s->class_mass) && ROOM(s->key) &&
			       ROOM(s->rank) && ROOM(s->found) && ROOM(s->gain) &&
			       ROOM(s->step_gain) && ROOM(s->reached) &&
			       (s->steps = fb_steps_new(s->nr_cand))
		       ? 0
		       : -1;
#undef ROOM
}

struct fb_search *fb_search_new(const struct fb_dag *dag, const uint32_t *good, size_t nr_good,
				const uint32_t *bases, size_t nr_bases, uint32_t bad,
				const struct fb_search_params *params)
{
	struct fb_search *s;
	uint32_t nr = fb_dag_nr(dag);

	if (!params_are_usable(params) || !nr_good || bad >= nr)
		return NULL;
	for (size_t i = 0; i < nr_good + nr_bases; i++)
		if ((i < nr_good ? good[i] : bases[i - nr_good]) >= nr)
			return NULL;
	s = calloc(1, sizeof(*s));
	if (!s)
		return NULL;
	s->dag = dag;
	s->params = *params;
	if (!s->params.batch)
		s->params.batch = 1;
	s->min_shift = to_min_shift(params);
	s->nr_nodes = nr;
	s->good = good[0];
	s->bad = bad;
	s->node = calloc(nr, sizeof(*s->node));
	s->cand = calloc(nr, sizeof(*s->cand));
	s->index = calloc(nr, sizeof(*s->index));
	s->mark = calloc(nr, 1);
	s->state = calloc(1, sizeof(*s->state));
	if (!s->node || !s->cand || !s->index || !s->mark || !s->state) {
		fb_search_free(s);
		return NULL;
	}
	for (uint32_t v = 0; v < nr; v++)
		s->node[v].image = s->node[v].next = v;
	for (size_t i = 0; i < nr_good; i++) {
		s->node[good[i]].role = ROLE_OLD;
		s->node[good[i]].good = 1;
	}
	for (size_t i = 0; i < nr_bases; i++) {
		s->node[bases[i]].role = ROLE_OLD;
		s->node[bases[i]].base = !s->node[bases[i]].good;
	}
	fb_set_roles(s);
	if (s->node[bad].role == ROLE_OLD || fb_set_candidates(s) < 0 || allocate_room(s) < 0) {
		fb_search_free(s);
		return NULL;
	}
	fb_model_init(&s->model,
		      params->scale == FB_SCALE_BINARY	  ? &fb_family_binary
		      : params->scale == FB_SCALE_CERTAIN ? &fb_family_certain
							  : &fb_family_normal,
		      s->min_shift, params->direction,
		      (const double[]){params->rate_old, params->rate_new});
	return s;
}

void fb_conclude(struct fb_search *s, enum fb_verdict_kind kind, double confidence)
{
	s->state->step = FB_SEARCH_DONE;
	s->state->kind = kind;
	s->state->confidence = confidence;
}

/* Asks for boots of the image of @node. False when it can have none. */
bool fb_ask(struct fb_search *s, uint32_t node, unsigned boots, enum fb_search_why why)
{
	uint32_t v = fb_bootable_node(s, node);
	unsigned room;

	if (v == FB_NO_NODE)
		return false;
	room = fb_boots_allowed(s, v);
	s->state->step = FB_SEARCH_MEASURE;
	s->state->kind = FB_VERDICT_OPEN;
	s->state->ask.node = v;
	s->state->ask.boots = boots < room ? boots : room;
	if (s->state->ask.boots > s->params.batch)
		s->state->ask.boots = s->params.batch;
	s->state->ask.why = why;
	return true;
}

uint32_t fb_best_cluster(const struct fb_search *s)
{
	uint32_t best = 0;

	for (uint32_t k = 1; k < s->nr_cluster; k++)
		if (s->cluster[k].log_lik > s->cluster[best].log_lik ||
		    (s->cluster[k].log_lik == s->cluster[best].log_lik &&
		     s->cluster[k].first < s->cluster[best].first))
			best = k;
	return best;
}

/*
 * log of the sum over candidates of likelihood times prior: the evidence for one step.
 * @ret_plain: the same by the parts that need sums only.
 */
static double step_evidence(struct fb_search *s, double *ret_plain)
{
	double best = -INFINITY, sum = -INFINITY, plain = -INFINITY;

	for (uint32_t k = 0; k < s->nr_cluster; k++) {
		struct cluster *cl = &s->cluster[k];

		cl->log_lik = fb_model_split(&s->model, &cl->new, best - FB_NEGLIGIBLE, cl->part);
		if (cl->log_lik > best)
			best = cl->log_lik;
		plain = fb_stats_logsum(plain, cl->log_lik + cl->log_prior + log(cl->size));
	}
	*ret_plain = plain - log(s->nr_alive);
	fb_add_raw_parts(s);
	/* From here on likelihoods are those times the prior, which is mostly the same for all. */
	for (uint32_t k = 0; k < s->nr_cluster; k++) {
		struct cluster *cl = &s->cluster[k];

		cl->log_lik += cl->log_prior;
		for (int r = 0; r < s->model.family->nr_parts; r++)
			cl->part[r] += cl->log_prior;
		sum = fb_stats_logsum(sum, cl->log_lik + log(cl->size));
	}
	return sum - log(s->nr_alive);
}

/*
 * Log evidence for one step against no change at all, all boots taken together, by the parts
 * that both have.
 */
static double shift_evidence(const struct fb_search *s, double step)
{
	return step - fb_model_same(&s->model);
}

static void fit_best_step(struct fb_search *s, uint32_t best)
{
	const struct cluster *cl = &s->cluster[best];
	struct fb_model_values values = fb_values_of(s, best);
	int most = 0;

	fb_model_fit(&s->model, &cl->new, &values, s->state->fit_of);
	for (int r = 1; r < s->model.family->nr_parts; r++)
		if (cl->part[r] > cl->part[most])
			most = r;
	s->state->fit = s->state->fit_of[most];
	s->state->has_fit = true;
}

/*
 * The posterior that a commit must have to be named. Averaged over the prior of the shift the
 * search errs as rarely as it says, but at the lower end of that prior twice as often: there the
 * shift is taken for a larger one, and each boot for more evidence than it is. So less chance of an
 * error is asked for while the shift may be one of the smallest looked for. (At 1 sigma, 1,000
 * trials each: two fifths of the chance made 2.2 % of wrong answers 1.2 %, for 8 % more boots.)
 */
static double enough_to_name(const struct fb_search *s)
{
	const struct fb_model_fit *fit = &s->state->fit;
	double confidence = s->params.confidence;

	if (s->model.family == &fb_family_normal &&
	    fabs(fit->shift) - s->min_shift < NEAR_SMALLEST * fit->scale)
		return 1 - (1 - confidence) * LESS_WRONG;
	return confidence;
}

static bool may_name(const struct fb_search *s, uint32_t leader, double confidence)
{
	return s->class_mass[leader] >= confidence &&
	       fb_counters_allow(s, s->class_mass[leader], confidence);
}

static void name_class(struct fb_search *s, uint32_t leader)
{
	fb_list_class(s, leader);
	fb_conclude(s, s->state->nr_nodes > 1 ? FB_VERDICT_RANGE : FB_VERDICT_FOUND,
		    s->class_mass[leader]);
}

static void search(struct fb_search *s, const struct ends *e)
{
	struct state *st = s->state;
	double confidence = s->params.confidence, limit = log(2 / (1 - confidence)), enough;
	double prior = s->nr_alive > 1 ? fmin(PRIOR_OTHER, (1 - confidence) / 2) : 0;
	double step, plain, log_total, log_candidate, other;
	uint32_t best, leader;
	bool leads, shown;

	st->searching = true;
	st->good_end = e->good;
	fb_model_clear(&s->model);
	for (size_t i = 0; i < s->nr_image; i++)
		fb_model_add(&s->model, &s->image[i].sum, 1);
	fb_make_clusters(s);
	fb_counters_weigh(s);
	step = step_evidence(s, &plain);
	best = fb_best_cluster(s);
	fit_best_step(s, best);
	other = fb_other_evidence(s, best, step);
	log_total =
		fb_stats_logsum(log1p(-prior) + step, prior > 0 ? log(prior) + other : -INFINITY);
	st->other = prior > 0 ? exp(log(prior) + other - log_total) : 0;
	st->two = st->other * FB_SHARE_OF_TWO * exp(st->two_evidence - other);
	log_candidate = log1p(-prior) - log(s->nr_alive) - log_total;
	for (uint32_t k = 0; k < s->nr_cluster; k++) {
		struct cluster *cl = &s->cluster[k];

		cl->weight = exp(log_candidate + cl->log_lik);
		for (int r = 0; r < s->model.family->nr_parts; r++)
			st->part_weight[r] += cl->size * exp(log_candidate + cl->part[r]);
	}
	fb_sum_ancestors(s, log_candidate);
	fb_counters_follow(s);
	fb_make_classes(s);
	leader = fb_leading_class(s);
	fb_list_credible(s);
	st->nr_left = st->nr_nodes;

	if (fb_ask_counters_ends(s, e))
		return;
	/* Begun by chance: the boots taken together no longer speak for a change. */
	if (shift_evidence(s, plain) < AGAINST && fb_ask_end(s, e))
		return;
	if (st->two >= LIKELY && fb_search_steps(s))
		return;
	if (st->other >= confidence) {
		/* Nor may one boot convict the history. */
		if (fb_ask_misfit(s, best, 2))
			return;
		st->nr_nodes = 0;
		fb_conclude(s, FB_VERDICT_OTHER, st->other);
		return;
	}
	/* The leader's own posterior has paid for the places already, if it was not led there. */
	enough = st->guided ? limit : fmax(limit - log(s->nr_alive), 0);
	shown = e->differ >= limit || shift_evidence(s, plain) >= enough;
	leads = may_name(s, leader, confidence);
	if (may_name(s, leader, enough_to_name(s))) {
		if (s->model.family == &fb_family_normal && fb_ask_strays(s, leader))
			return;
		if (shown) {
			name_class(s, leader);
			return;
		}
		if (fb_ask_end(s, e))
			return;
	} else if (!leads && s->class_mass[leader] >= confidence * (1 - st->other) &&
		   ((st->two > st->other / 2 && fb_search_steps(s)) ||
		    fb_ask_misfit(s, best, 4 * ENOUGH_BOOTS))) {
		return;
	}
	if (fb_ask_weak_end(s, e) || fb_ask_best_split(s) || fb_ask_misfit(s, best, ENOUGH_BOOTS))
		return;
	if (st->two > UNLIKELY && fb_search_steps(s))
		return;
	/* No boot is left that would tell more: what was asked for has to do. */
	if (leads && shown) {
		name_class(s, leader);
		return;
	}
	if (st->two > s->class_mass[leader]) {
		fb_list_likely_steps(s);
		fb_conclude(s, FB_VERDICT_UNDECIDED, st->two);
		return;
	}
	fb_conclude(s, FB_VERDICT_UNDECIDED, fb_list_credible(s));
}

static void evaluate(struct fb_search *s)
{
	struct ends e;

	if (s->state->valid)
		return;
	memset(s->state, 0, sizeof(*s->state));
	s->state->valid = true;
	s->state->nr_left = s->nr_alive;
	fb_collect_images(s);
	if (s->params.scale == FB_SCALE_CERTAIN && s->nr_alive) {
		fb_certain_search(s);
		return;
	}
	fb_look_at_ends(s, &e);
	if (!s->nr_alive) {
		/* Each step would separate two nodes of one image. */
		if (fb_image_of(s, s->good) == fb_image_of(s, s->bad))
			fb_conclude(s, FB_VERDICT_NONE, 1);
		else
			fb_conclude(s, FB_VERDICT_OTHER, 1);
		return;
	}
	if (fb_ends_are_settled(s, &e) && fb_bases_are_settled(s, &e))
		search(s, &e);
}

/* ---- asking --------------------------------------------------------------------------- */

/* The state is a cache: filling it is no change that a caller could see. */
static struct state *state_of(const struct fb_search *search)
{
	struct fb_search *s = (struct fb_search *)search;

	evaluate(s);
	return s->state;
}

enum fb_search_step fb_search_next(const struct fb_search *search, struct fb_search_ask *ret_ask)
{
	const struct state *st = state_of(search);

	if (st->step == FB_SEARCH_MEASURE)
		*ret_ask = st->ask;
	return st->step;
}

static double unscale(const struct fb_search *s, double shift)
{
	return s->params.scale == FB_SCALE_LOG ? expm1(shift) : shift;
}

void fb_search_verdict(const struct fb_search *search, struct fb_verdict *ret)
{
	const struct state *st = state_of(search);
	struct fb_model_fit fit = st->fit;
	struct ends e;
	double wide;

	memset(ret, 0, sizeof(*ret));
	ret->kind = st->kind;
	ret->nodes = search->found;
	ret->nr_nodes = st->nr_nodes;
	ret->confidence = st->confidence;
	ret->other = st->other;
	ret->boots = search->nr_boots;
	ret->nr_steps = st->nr_steps;
	ret->steps_found = st->steps_found;
	for (uint32_t i = 0; i < st->nr_steps; i++)
		ret->steps[i] =
			(struct fb_verdict_step){fb_step_nodes(search, (int)i), st->step_of[i].nr,
						 unscale(search, st->step_of[i].effect)};
	if (st->nr_steps)
		ret->nodes = ret->steps[0].nodes;
	ret->mean_good = ret->mean_bad = ret->sigma = NAN;
	ret->effect = ret->effect_lo = ret->effect_hi = NAN;
	if (search->params.scale == FB_SCALE_CERTAIN)
		return;
	if (!st->has_fit) {
		double n1, n2;

		fb_look_at_ends((struct fb_search *)search, &e);
		n1 = (double)e.sum.nr_good;
		n2 = (double)e.sum.nr_bad;
		if (!e.sum.nr_good || !e.sum.nr_bad)
			return;
		fit.mean_old = e.mean_good;
		fit.mean_new = e.mean_bad;
		fit.shift = e.sum.shift;
		fit.df = n1 + n2 - 2;
		fit.sigma = fit.df > 0 ? sqrt(e.sum.within / fit.df) : 0;
		fit.scale = fit.sigma * sqrt(1 / n1 + 1 / n2);
	}
	wide = fit.df > 0 ? fit.scale * qt(0.975, fit.df, 1, 0) : INFINITY;
	ret->mean_good = fit.mean_old + search->offset;
	ret->mean_bad = fit.mean_new + search->offset;
	if (search->params.scale == FB_SCALE_LOG) {
		ret->mean_good = exp(ret->mean_good);
		ret->mean_bad = exp(ret->mean_bad);
	}
	ret->effect = unscale(search, fit.shift);
	ret->effect_lo = unscale(search, fit.shift - wide);
	ret->effect_hi = unscale(search, fit.shift + wide);
	ret->sigma = unscale(search, fit.sigma);
	if (search->params.scale == FB_SCALE_BINARY) {
		ret->effect_lo = fmax(ret->effect_lo, -1);
		ret->effect_hi = fmin(ret->effect_hi, 1);
		ret->sigma = NAN;
	}
}

void fb_search_counter(const struct fb_search *search, uint32_t counter,
		       struct fb_counter_hint *ret)
{
	state_of(search);
	fb_counters_tell(search, counter, ret);
}

double fb_search_posterior(const struct fb_search *search, uint32_t node)
{
	const struct state *st = state_of(search);

	if (node >= search->nr_nodes || search->index[node] == FB_NO_NODE ||
	    search->dead[search->index[node]])
		return 0;
	if (!st->searching)
		return 1.0 / search->nr_alive;
	return fb_candidate_weight(search, search->index[node]);
}

uint32_t fb_search_left(const struct fb_search *search)
{
	return state_of(search)->nr_left;
}

double fb_search_boots_to_go(const struct fb_search *search)
{
	const struct state *st = state_of(search);
	unsigned ends = 2 * search->params.min_boots;

	if (st->step == FB_SEARCH_DONE)
		return 0;
	if (st->searching)
		return st->boots_to_go > 1 ? st->boots_to_go : 1;
	/* Before anything is known: the ends, then about a boot and a half for each halving. */
	return (search->nr_boots < ends ? ends - search->nr_boots : 2) +
	       1.5 * log2(search->nr_alive + 1.0);
}
