/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The search when a value is a verdict that cannot err: one boot of an image says on which side
 * it is, and what is left are the candidates that contradict no verdict, all equally probable.
 *
 * The ends are taken at their word, as `git bisect` does. Only when no verdict ever spoke for one
 * side, so that its end alone carries the answer, that end is tested last; earlier when commits
 * are skipped, as a script that never gives a verdict must name nobody.
 */
#include "bisect/search-impl.h"

#include <math.h>

/* After so many skips an end is tested whose side no verdict spoke for. */
#define SKIPS_TRY_END 2
/*
 * After so many, with no verdict but of the ends and an end skipped, the script or the range is
 * at fault: the rest is not run. More than that end alone, as git does without the ends.
 */
#define SKIPS_GIVE_UP 6

static void no_priors(struct fb_model *model, double min_effect, const double rate[2])
{
	(void)model;
	(void)min_effect;
	(void)rate;
}

static double nothing_of_part(int part)
{
	(void)part;
	return 0;
}

static double nothing_of_image(size_t nr, int part)
{
	(void)nr;
	(void)part;
	return 0;
}

/* The entropy of the answer; asking twice tells nothing. */
static double bits(const struct fb_model_fit *fit, double p, double had, double more)
{
	(void)fit;
	(void)more;
	if (had > 0 || !(p > 0 && p < 1))
		return 0;
	return -p * log2(p) - (1 - p) * log2(1 - p);
}

/* No likelihoods, so none of the functions that give one: only the graph's part is used. */
const struct fb_family fb_family_certain = {
	.nr_parts = 1,
	.init = no_priors,
	.log_prior = nothing_of_part,
	.weight = nothing_of_image,
	.image_term = nothing_of_image,
	.bits = bits,
};

enum said { SAID_NOTHING, SAID_OLD = 1, SAID_NEW = 2 };

/* What the boots of all nodes of an image said; SAID_OLD | SAID_NEW when they do not agree. */
static int said_of(const struct fb_search *s, uint32_t v)
{
	uint32_t w = v;
	int said = SAID_NOTHING;

	do {
		for (uint32_t i = 0; i < s->node[w].nr; i++)
			said |= s->node[w].value[i] > 0 ? SAID_NEW : SAID_OLD;
		w = s->node[w].next;
	} while (w != v);
	return said;
}

/* As git: a base that cannot be tested is not in the way. */
static bool bases_are_settled(struct fb_search *s)
{
	for (uint32_t v = 0; v < s->nr_nodes; v++) {
		int said = said_of(s, v);

		if (!s->node[v].base || s->node[v].skip || said == SAID_OLD)
			continue;
		if (said) {
			s->found[0] = v;
			s->state->nr_nodes = 1;
			fb_conclude(s, FB_VERDICT_BASE_BAD, 1);
		} else if (!fb_ask(s, v, 1, FB_SEARCH_WHY_BASE)) {
			fb_conclude(s, FB_VERDICT_UNDECIDED, 0);
		}
		return false;
	}
	return true;
}

/* The hints about all nodes of an image. */
static double hint_of(const struct fb_search *s, uint32_t v)
{
	uint32_t w = v;
	double hint = 0;

	do {
		hint += s->node[w].hint;
		w = s->node[w].next;
	} while (w != v);
	return hint;
}

/*
 * Weights of the clusters: equal shares for what contradicts no verdict, times what hints say.
 * Returns how many candidates that is.
 */
static uint32_t weigh(struct fb_search *s)
{
	double most = -INFINITY, sum = 0;
	uint32_t nr = 0;

	for (uint32_t k = 0; k < s->nr_cluster; k++)
		s->cluster[k].log_lik = 0;
	for (size_t i = 0; i < s->nr_image; i++) {
		int said = said_of(s, s->image[i].root);
		double hint = hint_of(s, s->image[i].root);

		for (uint32_t k = 0; k < s->nr_cluster; k++) {
			bool new = fb_reached(s, s->cluster[k].first, i);

			if (said && said != (new ? SAID_NEW : SAID_OLD))
				s->cluster[k].log_lik = -INFINITY;
			s->cluster[k].log_lik += new ? hint : 0;
		}
	}
	for (uint32_t k = 0; k < s->nr_cluster; k++) {
		most = fmax(most, s->cluster[k].log_lik);
		nr += isfinite(s->cluster[k].log_lik) ? s->cluster[k].size : 0;
	}
	for (uint32_t k = 0; k < s->nr_cluster && nr; k++)
		sum += s->cluster[k].size * exp(s->cluster[k].log_lik - most);
	for (uint32_t k = 0; k < s->nr_cluster; k++) {
		s->cluster[k].log_lik -= nr ? most + log(sum) : 0;
		s->cluster[k].part[0] = s->cluster[k].log_lik;
		s->cluster[k].weight = exp(s->cluster[k].log_lik);
	}
	return nr;
}

struct told {
	int by_any;	  /* enum said: by any boot */
	bool by_middle;	  /* some commit that is no end gave a verdict */
	uint32_t skipped; /* commits */
};

static struct told what_is_told(const struct fb_search *s)
{
	struct told told = {.by_any = SAID_NOTHING};

	for (uint32_t v = 0; v < s->nr_nodes; v++) {
		const struct node *n = &s->node[v];

		for (uint32_t i = 0; i < n->nr; i++)
			told.by_any |= n->value[i] > 0 ? SAID_NEW : SAID_OLD;
		told.by_middle = told.by_middle || (n->nr && !n->good && v != s->bad);
		told.skipped += n->skip;
	}
	return told;
}

/* Asks for the end of a side that no verdict spoke for. False when there is none to ask. */
static bool ask_silent_end(struct fb_search *s, const struct told *told)
{
	return (!(told->by_any & SAID_OLD) && fb_ask(s, fb_good_end(s), 1, FB_SEARCH_WHY_END)) ||
	       (!(told->by_any & SAID_NEW) && fb_ask(s, s->bad, 1, FB_SEARCH_WHY_END));
}

/* Lists the ends that are skipped and whose side no verdict spoke for. */
static bool list_mute_ends(struct fb_search *s, const struct told *told)
{
	return fb_list_untestable(s, !(told->by_any & SAID_OLD), !(told->by_any & SAID_NEW));
}

/* All that was left contradicts a verdict. The end that was not believed may be the reason. */
static void conclude_contradiction(struct fb_search *s, const struct told *told)
{
	s->state->other = told->by_any != SAID_OLD;
	fb_conclude(s, s->state->other > 0 ? FB_VERDICT_OTHER : FB_VERDICT_NONE, 1);
}

void fb_certain_search(struct fb_search *s)
{
	struct state *st = s->state;
	uint32_t leader;
	bool spent = s->params.max_total && s->nr_boots >= s->params.max_total;
	struct told told;

	if (!bases_are_settled(s))
		return;
	told = what_is_told(s);
	fb_make_clusters(s);
	st->nr_left = weigh(s);
	if (!st->nr_left) {
		conclude_contradiction(s, &told);
		return;
	}
	st->searching = true;
	st->part_weight[0] = 1;
	fb_sum_ancestors(s, 0);
	fb_make_classes(s);
	leader = fb_leading_class(s);
	if (s->nr_hints && s->class_mass[leader] >= s->params.confidence) {
		fb_list_class(s, leader);
		fb_conclude(s, st->nr_nodes > 1 ? FB_VERDICT_RANGE : FB_VERDICT_FOUND,
			    s->class_mass[leader]);
		return;
	}
	if (told.skipped >= SKIPS_TRY_END && ask_silent_end(s, &told))
		return;
	if (told.skipped >= SKIPS_GIVE_UP && !told.by_middle && list_mute_ends(s, &told)) {
		fb_conclude(s, FB_VERDICT_UNTESTABLE, 0);
		return;
	}
	if (fb_ask_best_split(s) || ask_silent_end(s, &told))
		return;
	if (list_mute_ends(s, &told)) {
		fb_conclude(s, FB_VERDICT_UNTESTABLE, 0);
		return;
	}
	fb_list_credible(s);
	fb_conclude(s,
		    st->nr_nodes == 1 ? FB_VERDICT_FOUND
		    : spent	      ? FB_VERDICT_UNDECIDED
				      : FB_VERDICT_RANGE,
		    1);
}
