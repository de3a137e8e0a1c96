/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Is there a shift between the ends at all, and is a merge base bad already? */
#include "bisect/search-impl.h"

#include <math.h>
#include <string.h>

/*
 * The test of "no shift" errs a little more often than it says, since the spread is not known:
 * so much more is asked of it, in nats. (0.4 gave 0.8 % for 1 %, 2,500 trials at one sigma.)
 */
#define SAME_MARGIN 0.3
/* The ends are close together up to so many times the smallest shift looked for. */
#define CLOSE 1.5

uint32_t fb_good_end(const struct fb_search *s)
{
	uint32_t good = s->good;

	for (uint32_t v = 0;
	     v < s->nr_nodes && s->node[good].skip && fb_bootable_node(s, good) == FB_NO_NODE; v++)
		if (s->node[v].good && !s->node[v].skip)
			good = v;
	return good;
}

void fb_look_at_ends(struct fb_search *s, struct ends *e)
{
	struct image *bad = fb_find_image(s, s->bad);
	double mean = 0, within = 0;
	size_t nr = 0;

	memset(e, 0, sizeof(*e));
	for (size_t i = 0; i < s->nr_image; i++) {
		const struct fb_model_image *sum = &s->image[i].sum;
		double diff = sum->mean - mean;
		size_t both = nr + sum->nr;

		if (!fb_image_is_good_end(s, &s->image[i]))
			continue;
		within += sum->ss + diff * diff * (double)nr * (double)sum->nr / (double)both;
		mean += diff * (double)sum->nr / (double)both;
		nr = both;
	}
	e->sum.nr_good = nr;
	e->sum.mean_good = e->mean_good = mean;
	e->sum.within = within;
	if (bad) {
		e->sum.nr_bad = bad->sum.nr;
		e->mean_bad = bad->sum.mean;
		e->sum.within += bad->sum.ss;
	}
	e->sum.shift = e->mean_bad - e->mean_good;
	if (e->sum.nr_good && e->sum.nr_bad)
		s->model.family->ends_test(&s->model, &e->sum, s->min_shift, s->params.direction,
					   &e->differ, &e->same);
	e->good = fb_good_end(s);
}

/* ABBA: the end with fewer boots; with equal numbers the one that was not asked last. */
bool fb_ask_end(struct fb_search *s, const struct ends *e)
{
	unsigned batch = s->params.batch, min = s->params.min_boots;
	size_t a = e->sum.nr_good, b = e->sum.nr_bad, less = a < b ? a : b;
	bool good = a < b || (a == b && a / batch % 2 == 0);
	unsigned boots = batch;

	if (less < min && boots > min - less)
		boots = (unsigned)(min - less);
	for (int turn = 0; turn < 2; turn++, good = !good)
		if (fb_ask(s, good ? e->good : s->bad, boots, FB_SEARCH_WHY_END))
			return true;
	return false;
}

static bool end_is_untestable(const struct fb_search *s, uint32_t end)
{
	uint32_t w = end;

	do {
		if (!s->node[w].skip)
			return false;
		w = s->node[w].next;
	} while (w != end);
	return true;
}

bool fb_list_untestable(struct fb_search *s, bool good, bool bad)
{
	uint32_t end = fb_good_end(s), nr = 0;

	good = good && end_is_untestable(s, end);
	bad = bad && end_is_untestable(s, s->bad);
	for (uint32_t v = 0; v < s->nr_nodes; v++)
		if ((good && v == end) || (bad && v == s->bad))
			s->found[nr++] = v;
	s->state->nr_nodes = nr;
	return nr > 0;
}

/*
 * log of the evidence for a change with which the search begins. Boots of the search are evidence
 * for the change, too, so where the ends lie far apart little is enough. Close together they cost
 * most when there is no change: a search that began by chance takes many boots to find out. (No
 * change: 53 boots in place of 61; four sigma: 19.6 in place of 20.1. With one threshold for both,
 * either loses: 1 gives 72 and 19.8.)
 */
static double enough_to_begin(const struct fb_search *s, const struct ends *e)
{
	double log_evidence = log(s->model.family->begin);

	if (s->model.family != &fb_family_normal)
		return log_evidence;
	return log_evidence * fmin(1, pow(CLOSE * s->min_shift / fabs(e->sum.shift), 4));
}

/* True when the search can begin; else the state holds what to do. */
bool fb_ends_are_settled(struct fb_search *s, const struct ends *e)
{
	double limit = -log(1 - s->params.confidence);
	unsigned min = s->params.min_boots;
	bool enough = e->sum.nr_good >= min && e->sum.nr_bad >= min;

	if (fb_list_untestable(s, e->sum.nr_good < min, e->sum.nr_bad < min)) {
		fb_conclude(s, FB_VERDICT_UNTESTABLE, 0);
		return false;
	}
	if (enough && e->same >= limit + SAME_MARGIN) {
		fb_conclude(s, FB_VERDICT_NONE, 1 - exp(-e->same));
		return false;
	}
	/* Without boots that must be there the caller's word is the evidence. */
	if (enough && (e->differ >= enough_to_begin(s, e) || !min))
		return true;
	if (!fb_ask_end(s, e))
		fb_conclude(s, FB_VERDICT_UNDECIDED, 0);
	return false;
}

/* Probability that the base in @base is on the bad side already; the ends are the yardstick. */
static double base_is_bad(struct fb_search *s, const struct ends *e, const struct image *base)
{
	static const struct fb_model_image unmeasured;
	const struct image *end = fb_find_image(s, s->bad);
	const struct fb_model_image *bad = end ? &end->sum : &unmeasured;
	struct fb_model_image good = {e->sum.nr_good, e->mean_good, e->sum.within - bad->ss};
	struct fb_model model = s->model;
	struct fb_model_sums new = {{0}, {0}};
	double old_side, new_side;

	fb_model_clear(&model);
	fb_model_add(&model, &good, 1);
	fb_model_add(&model, bad, 1);
	fb_model_add(&model, &base->sum, 1);
	fb_model_sums_add(&model, &new, bad, 1);
	old_side = fb_model_split(&model, &new, -INFINITY, NULL);
	fb_model_sums_add(&model, &new, &base->sum, 1);
	new_side = fb_model_split(&model, &new, -INFINITY, NULL);
	return 1 / (1 + exp(old_side - new_side));
}

bool fb_bases_are_settled(struct fb_search *s, const struct ends *e)
{
	for (uint32_t v = 0; v < s->nr_nodes; v++) {
		const struct image *base;
		size_t least = e->sum.nr_good < e->sum.nr_bad ? e->sum.nr_good : e->sum.nr_bad;
		size_t nr;
		double bad;

		if (!s->node[v].base || end_is_untestable(s, v))
			continue; /* as git: a base that cannot be tested is not in the way */
		base = fb_find_image(s, v);
		if (base && fb_image_is_good_end(s, base))
			continue;
		nr = base ? base->sum.nr : 0;
		bad = nr ? base_is_bad(s, e, base) : 0.5;
		if (nr >= 2 && bad >= s->params.confidence) {
			s->found[0] = v;
			s->state->nr_nodes = 1;
			fb_conclude(s, FB_VERDICT_BASE_BAD, bad);
			return false;
		}
		if (nr >= 2 && bad <= 1 - s->params.confidence)
			continue;
		if ((nr <= least || !fb_ask_end(s, e)) &&
		    !fb_ask(s, v, nr < 2 ? (unsigned)(2 - nr) : s->params.batch,
			    FB_SEARCH_WHY_BASE) &&
		    !fb_ask_end(s, e))
			fb_conclude(s, FB_VERDICT_UNDECIDED, 0);
		return false;
	}
	return true;
}
