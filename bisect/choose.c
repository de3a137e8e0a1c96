/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which node to boot next: the one whose boots tell most per cost. An end is measured again
 * when it is the weakest of what is known, else an unlucky first mean leads the search
 * astray for good.
 */
#include "bisect/search-impl.h"

#include <math.h>

#include "bisect/stats.h"

/* A side is weak with less than this share of the other side's weight, and this error. */
#define WEAK_SHARE (1.0 / 3)
#define WEAK_ERROR 0.3
/*
 * Beside FB_HOPELESS_BOOTS, in bits by what one boot of a new image tells. Searches are hopeless
 * when images differ by themselves: more boots of one cannot tell on which side it is.
 */
#define HOPELESS_BITS 50.0

#define BITS_POINTS 64
/* Parts with less of the posterior do not count for what a boot tells. */
#define LEAST_PART 1e-3
/* So many of the best nodes are looked at more closely. */
#define SHORTLIST 12
/* And so many of the images that tell most of whether images differ. */
#define SURPRISING 6

/*
 * Probability that @c can be tested. Unbuildable commits come in runs: next to one it is
 * about a half, and grows with the distance; a measured node nearby speaks for it.
 */
static double testable_share(const struct fb_search *s, uint32_t c)
{
	double skip, measured, share;

	if (!s->any_skip || s->near_skipped[c] == FB_NEAR_NONE || !s->near_measured[c])
		return 1;
	skip = s->near_skipped[c];
	measured = s->near_measured[c];
	share = skip / (skip + 1);
	return s->near_measured[c] == FB_NEAR_NONE
		       ? share
		       : share + (1 - share) * skip / (skip + 4 * measured);
}

/*
 * For outcomes of 0 and 1: .gain, from which bits_of_rates() follows, for each candidate and,
 * in .no_gain, for an image on the old side. Each step has rates of its own here: where an
 * outcome is as likely under all steps that are left, it tells nothing, however far apart
 * the rates of the best step are.
 */
static void make_gains(struct fb_search *s)
{
	double total = 0;

	s->no_gain = (struct gain){0, 0};
	for (uint32_t k = 0; k <= s->nr_cluster; k++) {
		const struct cluster *cl = &s->cluster[k];
		double rate[2];

		s->step_gain[k] = (struct gain){0, 0};
		if (k == s->nr_cluster || !(cl->weight > 0))
			continue;
		s->model.family->rates(&s->model, &cl->new, rate);
		total += cl->weight * cl->size;
		s->no_gain.ones += cl->weight * cl->size * rate[0];
		s->no_gain.entropy += cl->weight * cl->size * fb_stats_entropy(rate[0]);
		s->step_gain[k].ones = cl->weight * (rate[1] - rate[0]);
		s->step_gain[k].entropy =
			cl->weight * (fb_stats_entropy(rate[1]) - fb_stats_entropy(rate[0]));
	}
	for (uint32_t k = 0; k < s->nr_cluster; k++) {
		s->step_gain[k].ones /= total;
		s->step_gain[k].entropy /= total;
	}
	s->no_gain.ones /= total;
	s->no_gain.entropy /= total;
	fb_reach_sum(s->ancestors, s->cluster_of, &s->step_gain->ones, 2, &s->gain->ones);
}

/* Mutual information of a boot's outcome and the step: H(outcome) - E[H(outcome | step)]. */
static double bits_of_rates(const struct fb_search *s, struct gain gain)
{
	double ones = s->no_gain.ones + gain.ones, rest = s->no_gain.entropy + gain.entropy;

	return fmax(0, fb_stats_entropy(ones) - rest);
}

/*
 * What @n more boots of candidate @c would tell, in bits. The image effect decides whether
 * more boots of one image tell anything, and how certain the answer is already; so the
 * information is that within each part, averaged.
 * @table: bits of a new image, for each part and p = 0 to 1.
 */
static double bits_of_value(const struct fb_search *s, uint32_t c, double n,
			    double table[FB_MODEL_PARTS][BITS_POINTS + 1])
{
	const struct state *st = s->state;
	const struct node *node = &s->node[s->cand[c]];
	uint32_t nr = node->nr || node->next != s->cand[c] ? fb_image_boots(s, s->cand[c]) : 0;
	double sum = 0;

	if (s->model.family->rates)
		return n * bits_of_rates(s, s->gain[c]);
	for (int r = 0; r < s->model.family->nr_parts; r++) {
		double p, at, weight = st->part_weight[r];
		int i;

		if (!(weight > LEAST_PART))
			continue;
		p = s->mass[c].part[r] / weight;
		if (!(p > 1e-9) || !(p < 1 - 1e-9))
			continue;
		if (nr) {
			sum += weight * s->model.family->bits(&st->fit_of[r], p, nr, n);
			continue;
		}
		at = p * BITS_POINTS;
		i = at < BITS_POINTS - 1 ? (int)at : BITS_POINTS - 1;
		sum += weight * (table[r][i] + (table[r][i + 1] - table[r][i]) * (at - i));
	}
	return sum;
}

/* The same together with what its counters would. */
static double bits_of(const struct fb_search *s, uint32_t c, double n,
		      double table[FB_MODEL_PARTS][BITS_POINTS + 1])
{
	return bits_of_value(s, c, n, table) + fb_counters_bits(s, c);
}

/* What is not known yet and can be: the entropy of the class that holds the step, in bits. */
static double open_entropy(const struct fb_search *s)
{
	double sum = 0;

	for (uint32_t k = 0; !s->any_skip && k < s->nr_cluster; k++)
		if (s->cluster[k].weight > 0)
			sum -= s->cluster[k].weight * s->cluster[k].size *
			       log2(s->cluster[k].weight);
	for (uint32_t c = 0; s->any_skip && c < s->nr_cand; c++)
		if (s->class_mass[c] > 0)
			sum -= s->class_mass[c] * log2(s->class_mass[c]);
	return sum;
}

/* The nodes with the highest scores, of each cluster at most one that has no boots yet. */
struct shortlist {
	int nr;
	struct {
		double score;
		uint32_t c;
	} of[SHORTLIST];
};

static bool may_stand_for(const struct fb_search *s, uint32_t a, uint32_t b)
{
	return s->cluster_of[a] == s->cluster_of[b] && !s->node[s->cand[a]].nr &&
	       !s->node[s->cand[b]].nr;
}

static void enlist(const struct fb_search *s, struct shortlist *l, uint32_t c, double score)
{
	int at;

	if (!(score > 0) ||
	    (l->nr == SHORTLIST && !(score > l->of[SHORTLIST - 1].score * (1 + 1e-9))))
		return;
	for (at = 0; at < l->nr && !may_stand_for(s, c, l->of[at].c);)
		at++;
	/* What differs in the last digits only is a tie, and ties go to the first. */
	if (at < l->nr && !(score > l->of[at].score * (1 + 1e-9)))
		return;
	if (at == SHORTLIST)
		at--;
	else if (at == l->nr)
		l->nr++;
	for (; at > 0 && l->of[at - 1].score < score; at--)
		l->of[at] = l->of[at - 1];
	l->of[at].score = score;
	l->of[at].c = c;
}

/* The images that tell most of whether images differ. Returns how many. */
static int list_surprising(const struct fb_search *s, const struct outlook *o,
			   const struct image *list[SURPRISING])
{
	double surprise[SURPRISING];
	int nr = 0;

	for (size_t i = 0; i < s->nr_image; i++) {
		double x = fb_outlook_surprise(o, &s->image[i]);
		int at;

		if (!(x > 0) || (nr == SURPRISING && !(x > surprise[nr - 1])))
			continue;
		if (nr < SURPRISING)
			nr++;
		for (at = nr - 1; at > 0 && surprise[at - 1] < x; at--) {
			surprise[at] = surprise[at - 1];
			list[at] = list[at - 1];
		}
		surprise[at] = x;
		list[at] = &s->image[i];
	}
	return nr;
}

/* Makes @node the *@best if its boots tell more per cost; @share: how likely it can be tested. */
static void compare(struct fb_search *s, const struct outlook *o, uint32_t node, double share,
		    uint32_t *best, double *best_score)
{
	double bits = fb_outlook_bits(s, o, node), score;

	if (s->index[node] != FB_NO_NODE)
		bits += fb_counters_bits(s, s->index[node]);
	score = bits * share / (s->params.batch + s->node[node].cost);

	/* What differs in the last digits only is a tie, and ties go to the first. */
	if (score > *best_score * (1 + 1e-9)) {
		*best_score = score;
		*best = node;
	}
}

/* The best node of the list, an end, or an image that shows how images differ. */
static uint32_t look_closer(struct fb_search *s, const struct shortlist *l, uint32_t best)
{
	const struct image *surprising[SURPRISING];
	struct outlook o;
	double score = 0;
	int nr;

	if (s->model.family != &fb_family_normal || !fb_outlook_make(s, &o))
		return best;
	for (int i = 0; i < l->nr; i++)
		compare(s, &o, s->cand[l->of[i].c], testable_share(s, l->of[i].c), &best, &score);
	if (s->state->good_end != FB_NO_NODE && fb_boots_allowed(s, s->state->good_end))
		compare(s, &o, s->state->good_end, 1, &best, &score);
	nr = list_surprising(s, &o, surprising);
	for (int i = 0; i < nr; i++) {
		uint32_t node = fb_bootable_node(s, surprising[i]->root);

		if (node != FB_NO_NODE)
			compare(s, &o, node, 1, &best, &score);
	}
	return best;
}

/* Asks for the node with the most information per cost. False when none tells anything. */
bool fb_ask_best_split(struct fb_search *s)
{
	double table[FB_MODEL_PARTS][BITS_POINTS + 1];
	const struct fb_family *family = s->model.family;
	double batch = s->params.batch, best_score = 0, entropy, one;
	struct shortlist list = {0};
	uint32_t best = FB_NO_NODE, node;

	for (int r = 0; r < family->nr_parts; r++)
		for (int i = 0; i <= BITS_POINTS; i++)
			table[r][i] = s->state->part_weight[r] > LEAST_PART
					      ? family->bits(&s->state->fit_of[r],
							     (double)i / BITS_POINTS, 0, batch)
					      : 0;
	if (family->rates)
		make_gains(s);
	for (uint32_t c = 0; c < s->nr_cand; c++) {
		double score;

		if (!fb_boots_allowed(s, s->cand[c]))
			continue;
		score = bits_of(s, c, batch, table) * testable_share(s, c) /
			(batch + s->node[s->cand[c]].cost);
		enlist(s, &list, c, score);
	}
	if (list.nr) {
		best = list.of[0].c;
		best_score = list.of[0].score;
	}
	if (family->rates && bits_of_rates(s, (struct gain){0, 0}) > best_score * (1 + 1e-9) &&
	    fb_ask(s, s->state->good_end, s->params.batch, FB_SEARCH_WHY_END))
		return true;
	if (best == FB_NO_NODE)
		return false;
	entropy = open_entropy(s);
	one = family->bits(&s->state->fit, 0.5, 0, 1);
	s->state->boots_to_go = entropy / one;
	if (s->params.scale != FB_SCALE_CERTAIN &&
	    entropy * batch >
		    bits_of(s, best, batch, table) * (FB_HOPELESS_BOOTS + HOPELESS_BITS / one))
		return false;
	node = look_closer(s, &list, s->cand[best]);
	return fb_ask(s, node, s->params.batch,
		      s->index[node] == FB_NO_NODE || node == s->bad ? FB_SEARCH_WHY_END
								     : FB_SEARCH_WHY_STEP);
}

/*
 * An end is asked for when its side is known much worse than the other, and too badly, and
 * more boots of its one image can still change that. (Where each step has its own rates that
 * is part of what a boot tells.)
 */
bool fb_ask_weak_end(struct fb_search *s, const struct ends *e)
{
	const struct fb_model_fit *fit = &s->state->fit;
	bool old = fit->w_old < fit->w_new;
	double less = old ? fit->w_old : fit->w_new, more = old ? fit->w_new : fit->w_old;
	double boots = (double)(old ? e->sum.nr_good : e->sum.nr_bad);

	if (s->model.family->rates || less >= more * WEAK_SHARE ||
	    fit->sigma / sqrt(less) < WEAK_ERROR * fabs(fit->shift) || boots * fit->rho > 1)
		return false;
	return fb_ask(s, old ? e->good : s->bad, s->params.batch, FB_SEARCH_WHY_END);
}
