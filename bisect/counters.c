/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Counters: what each boot gave beside the value that is searched, as a hint where its step is.
 *
 * A counter of which the ends differ far beyond its noise says of every image on which side of its
 * own step it is. The step that is searched may be that one, or not; so the counters change the
 * prior of the place, and nothing else:
 *
 *   P(c) = SAME_STEP * mean over counters of q(c) + (1 - SAME_STEP) / candidates
 *
 * where q is the posterior of the counter's own step. Their likelihood is not multiplied with that
 * of the searched value as if it were more of the same: both come from the same boots. Where the
 * steps are not the same q is a function of what the search may treat as given, and the error is
 * at most that of the search over 1 - SAME_STEP; fb_counters_allow() pays for that.
 *
 * Source of the mixture: robust meta-analytic-predictive priors, H. Schmidli and others,
 * Biometrics 70 (2014).
 */
#include "bisect/search-impl.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MATHLIB_STANDALONE
#include <Rmath.h>

#include "bisect/stats.h"

/* Prior: the step is that of one of the counters that are used. */
#define SAME_STEP 0.5
/* An image is read wrongly. So much one image can say at most, whatever its boots. */
#define MISREAD 0.01
/* Nearer to a side's level than this share of the way to the other one is on that side. */
#define NEAR (1.0 / 3)
/* Of a counter without a step being used, all counters together, were its noise normal. */
#define CHANCE 1e-4
/* For other noise: the sides lie so many of their ranges apart. */
#define RANGES_APART 3
/* Boots of each end for a counter to be used. */
#define LEAST_BOOTS 3
/* So many of both together are waited for when one looks as if it will be. */
#define PATIENCE 10
/* So many counters at most are asked which image they would like to see. */
#define FOLLOWED 4
/* Steps of counters with less of the posterior do not matter for that. */
#define LEAST_WEIGHT 1e-3

struct counter_boot {
	uint32_t node, image;
	double value;
};

struct counter {
	struct counter_boot *boot;
	size_t nr, cap;
	uint64_t *said, *new; /* images that it can tell, and on which side; bits as in .reached */
	double level[2];      /* means of the good ends and of the bad end */
	double log_norm;      /* of q */
	bool used, leads;     /* .leads: no counter before it says the same of all images */
};

struct fb_counters {
	struct counter *of;
	size_t nr, cap, blocks; /* .blocks: of .said and .new */
	size_t nr_leads;
	bool promising; /* one would be used after more boots of the ends */
	struct {
		double weight; /* posterior: the step is that of this counter */
		struct counter *counter;
	} followed[FOLLOWED];
	size_t nr_followed;
	double *share, *sum; /* of clusters: posterior given that; of candidates with ancestors */
};

void fb_counters_free(struct fb_counters *t)
{
	if (!t)
		return;
	for (size_t i = 0; i < t->nr; i++) {
		free(t->of[i].boot);
		free(t->of[i].said);
		free(t->of[i].new);
	}
	free(t->of);
	free(t->share);
	free(t->sum);
	free(t);
}

/* --- recording ------------------------------------------------------------------------------- */

static int make_masks(uint64_t **mask, size_t blocks)
{
	uint64_t *more = realloc(*mask, blocks * sizeof(*more));

	if (!more)
		return -1;
	*mask = more;
	return 0;
}

int fb_counters_make_room(struct fb_search *s)
{
	struct fb_counters *t = s->counters;

	if (!t || t->blocks >= s->cap_reached)
		return 0;
	for (size_t i = 0; i < t->nr; i++)
		if (make_masks(&t->of[i].said, s->cap_reached) < 0 ||
		    make_masks(&t->of[i].new, s->cap_reached) < 0)
			return -1;
	t->blocks = s->cap_reached;
	return 0;
}

static int begin(struct fb_search *s)
{
	size_t n = ((size_t)s->nr_cand + 1) * FOLLOWED;

	if (s->counters)
		return 0;
	s->counters = calloc(1, sizeof(*s->counters));
	if (!s->counters)
		return -1;
	s->counters->share = calloc(n, sizeof(double));
	s->counters->sum = calloc(n, sizeof(double));
	if (s->counters->share && s->counters->sum)
		return 0;
	fb_counters_free(s->counters);
	s->counters = NULL;
	return -1;
}

/* The @i-th counter and all before it. */
static int add_counters(struct fb_search *s, uint32_t i)
{
	struct fb_counters *t = s->counters;

	while (t->nr <= i) {
		struct counter c = {0};

		if (t->nr == t->cap) {
			size_t more = t->cap ? 2 * t->cap : 16;
			void *of = realloc(t->of, more * sizeof(*t->of));

			if (!of)
				return -1;
			t->of = of;
			t->cap = more;
		}
		if (make_masks(&c.said, s->cap_reached) < 0 ||
		    make_masks(&c.new, s->cap_reached) < 0) {
			free(c.said);
			return -1;
		}
		t->of[t->nr++] = c;
	}
	t->blocks = s->cap_reached;
	return 0;
}

int fb_search_record_counter(struct fb_search *s, uint32_t node, uint32_t counter, double value)
{
	struct counter *c;

	if (node >= s->nr_nodes || s->node[node].role == ROLE_NONE || !isfinite(value) ||
	    counter >= FB_COUNTERS_MAX)
		return -1;
	if (begin(s) < 0 || fb_counters_make_room(s) < 0 || add_counters(s, counter) < 0)
		return -1;
	c = &s->counters->of[counter];
	if (c->nr == c->cap) {
		size_t more = c->cap ? 2 * c->cap : 16;
		void *boot = realloc(c->boot, more * sizeof(*c->boot));

		if (!boot)
			return -1;
		c->boot = boot;
		c->cap = more;
	}
	c->boot[c->nr++] = (struct counter_boot){node, 0, value};
	s->state->valid = false;
	return 0;
}

/* --- which counters are used ----------------------------------------------------------------- */

/* What a counter was at one end. */
struct side {
	size_t nr;
	double mean, ss, least, most;
};

static void add_to_side(struct side *side, double value)
{
	double off = value - side->mean;

	side->least = side->nr ? fmin(side->least, value) : value;
	side->most = side->nr ? fmax(side->most, value) : value;
	side->mean += off / (double)++side->nr;
	side->ss += off * (value - side->mean);
}

static int by_image(const void *a, const void *b)
{
	const struct counter_boot *x = a, *y = b;

	if (x->image != y->image)
		return x->image < y->image ? -1 : 1;
	return (x->value > y->value) - (x->value < y->value);
}

/* Sorts the boots by image, so that nothing depends on the order of recording. */
static void look_at_ends(struct fb_search *s, struct counter *c, struct side side[2])
{
	for (size_t i = 0; i < c->nr; i++)
		c->boot[i].image = fb_image_of(s, c->boot[i].node);
	if (c->nr)
		qsort(c->boot, c->nr, sizeof(*c->boot), by_image);
	memset(side, 0, 2 * sizeof(*side));
	for (size_t i = 0; i < c->nr; i++) {
		const struct image *im = fb_find_image(s, c->boot[i].image);

		if (im && fb_image_is_good_end(s, im))
			add_to_side(&side[0], c->boot[i].value);
		else if (im && im->root == fb_image_of(s, s->bad))
			add_to_side(&side[1], c->boot[i].value);
	}
}

/* Do the ends differ far beyond what noise of no special shape makes of equal ones? */
static bool are_apart(const struct side side[2])
{
	double range = fmax(side[0].most - side[0].least, side[1].most - side[1].least);
	double gap = fmax(side[1].least - side[0].most, side[0].least - side[1].most);

	return side[0].nr && side[1].nr && gap > 0 && gap >= RANGES_APART * range;
}

/*
 * Student's test for two samples, with Bonferroni's correction for @nr counters.
 *
 * Source: R. A. Fisher, Statistical Methods for Research Workers (1925), chapter V; O. J. Dunn,
 * "Multiple comparisons among means", JASA 56 (1961).
 */
static bool is_beyond_chance(const struct side side[2], size_t nr)
{
	double n1 = (double)side[0].nr, n2 = (double)side[1].nr, df = n1 + n2 - 2;
	double scale = sqrt((side[0].ss + side[1].ss) / df * (1 / n1 + 1 / n2));
	double diff = fabs(side[1].mean - side[0].mean);

	if (side[0].nr < LEAST_BOOTS || side[1].nr < LEAST_BOOTS)
		return false;
	return !(scale > 0) || 2 * pt(diff / scale, df, 0, 0) <= CHANCE / (double)nr;
}

/* --- what they say --------------------------------------------------------------------------- */

/* Sets .said and .new; the boots are sorted. */
static void read_images(struct fb_search *s, struct counter *c)
{
	memset(c->said, 0, s->counters->blocks * sizeof(*c->said));
	memset(c->new, 0, s->counters->blocks * sizeof(*c->new));
	for (size_t from = 0, to; from < c->nr; from = to) {
		const struct image *im = fb_find_image(s, c->boot[from].image);
		double median, at;
		size_t i;

		for (to = from; to < c->nr && c->boot[to].image == c->boot[from].image;)
			to++;
		if (!im)
			continue;
		i = (size_t)(im - s->image);
		median = (c->boot[(from + to - 1) / 2].value + c->boot[(from + to) / 2].value) / 2;
		at = (median - c->level[0]) / (c->level[1] - c->level[0]);
		if (fabs(at) >= NEAR && fabs(at - 1) >= NEAR)
			continue;
		c->said[i / 64] |= (uint64_t)1 << i % 64;
		if (at > 0.5)
			c->new[i / 64] |= (uint64_t)1 << i % 64;
	}
}

/* B. Kernighan and D. Ritchie, The C Programming Language (1988), exercise 2-9. */
static int count_ones(uint64_t x)
{
	int nr = 0;

	for (; x; x &= x - 1)
		nr++;
	return nr;
}

/* log q of each member of cluster @k, but for .log_norm. */
static double log_step(const struct fb_search *s, const struct counter *c, uint32_t k)
{
	const uint64_t *reached = s->reached + s->cluster[k].first;
	int wrong = 0;

	for (size_t b = 0; b * 64 < s->nr_image; b++)
		wrong += count_ones((reached[b * s->nr_cand] ^ c->new[b]) & c->said[b]);
	return wrong * log(MISREAD / (1 - MISREAD));
}

/* log of what one counter of .nr_leads adds to the prior, against the same for all candidates. */
static double log_share(const struct fb_search *s, const struct counter *c, uint32_t k)
{
	return log(SAME_STEP * s->nr_alive / (double)s->counters->nr_leads) + log_step(s, c, k) -
	       c->log_norm;
}

/* Does another counter say the same of every image? */
static bool says_nothing_new(const struct fb_counters *t, size_t i)
{
	size_t size = t->blocks * sizeof(*t->of->said);

	for (size_t j = 0; j < i; j++)
		if (t->of[j].leads && !memcmp(t->of[j].said, t->of[i].said, size) &&
		    !memcmp(t->of[j].new, t->of[i].new, size))
			return true;
	return false;
}

static void choose_counters(struct fb_search *s)
{
	struct fb_counters *t = s->counters;
	struct side side[2];
	size_t nr = 0;

	for (size_t i = 0; i < t->nr; i++) {
		look_at_ends(s, &t->of[i], side);
		nr += side[0].nr && side[1].nr;
	}
	t->nr_leads = 0;
	t->promising = false;
	for (size_t i = 0; i < t->nr; i++) {
		struct counter *c = &t->of[i];

		look_at_ends(s, c, side);
		c->used = c->leads = false;
		if (!are_apart(side))
			continue;
		c->used = is_beyond_chance(side, nr);
		t->promising = t->promising || !c->used;
		if (!c->used)
			continue;
		c->level[0] = side[0].mean;
		c->level[1] = side[1].mean;
		read_images(s, c);
		c->leads = !says_nothing_new(t, i);
		t->nr_leads += c->leads;
	}
}

void fb_counters_weigh(struct fb_search *s)
{
	struct fb_counters *t = s->counters;

	for (uint32_t k = 0; k < s->nr_cluster; k++)
		s->cluster[k].log_prior = 0;
	if (!t)
		return;
	choose_counters(s);
	t->nr_followed = 0;
	s->state->guided = t->nr_leads > 0;
	if (!s->state->guided)
		return;
	for (uint32_t k = 0; k < s->nr_cluster; k++)
		s->cluster[k].log_prior = log1p(-SAME_STEP);
	for (size_t i = 0; i < t->nr; i++) {
		struct counter *c = &t->of[i];

		c->log_norm = -INFINITY;
		for (uint32_t k = 0; c->used && k < s->nr_cluster; k++)
			c->log_norm = fb_stats_logsum(c->log_norm,
						      log(s->cluster[k].size) + log_step(s, c, k));
		for (uint32_t k = 0; c->leads && k < s->nr_cluster; k++)
			s->cluster[k].log_prior =
				fb_stats_logsum(s->cluster[k].log_prior, log_share(s, c, k));
	}
}

/*
 * What is wrong in a mixture is wrong in one of its parts, at worst the smaller one. "Something
 * else" is none of the parts.
 */
bool fb_counters_allow(const struct fb_search *s, double mass, double confidence)
{
	double rest = 1 - s->state->other - mass;

	return !s->state->guided || rest <= (1 - confidence) * fmin(SAME_STEP, 1 - SAME_STEP);
}

bool fb_ask_counters_ends(struct fb_search *s, const struct ends *e)
{
	return s->counters && s->counters->promising && !s->state->guided &&
	       e->sum.nr_good + e->sum.nr_bad < PATIENCE && fb_ask_end(s, e);
}

/* --- what they would like to see ------------------------------------------------------------- */

/* Posterior of each member of cluster @k being the step, and that of the counter. */
static double joint(const struct fb_search *s, const struct counter *c, uint32_t k)
{
	return s->cluster[k].weight * exp(log_share(s, c, k) - s->cluster[k].log_prior);
}

static void enlist(struct fb_counters *t, struct counter *c, double weight)
{
	size_t at;

	if (weight < LEAST_WEIGHT ||
	    (t->nr_followed == FOLLOWED && weight <= t->followed[FOLLOWED - 1].weight))
		return;
	if (t->nr_followed < FOLLOWED)
		t->nr_followed++;
	for (at = t->nr_followed - 1; at > 0 && t->followed[at - 1].weight < weight; at--)
		t->followed[at] = t->followed[at - 1];
	t->followed[at].weight = weight;
	t->followed[at].counter = c;
}

void fb_counters_follow(struct fb_search *s)
{
	struct fb_counters *t = s->counters;
	size_t width;

	if (!s->state->guided)
		return;
	for (size_t i = 0; i < t->nr; i++) {
		double weight = 0;

		for (uint32_t k = 0; t->of[i].leads && k < s->nr_cluster; k++)
			weight += joint(s, &t->of[i], k) * s->cluster[k].size;
		enlist(t, &t->of[i], weight);
	}
	width = t->nr_followed;
	for (size_t f = 0; f < width; f++) {
		for (uint32_t k = 0; k < s->nr_cluster; k++)
			t->share[k * width + f] =
				joint(s, t->followed[f].counter, k) / t->followed[f].weight;
		t->share[s->nr_cluster * width + f] = 0;
	}
	if (width)
		fb_reach_sum(s->ancestors, s->cluster_of, t->share, width, t->sum);
}

double fb_counters_bits(const struct fb_search *s, uint32_t c)
{
	const struct fb_counters *t = s->counters;
	const struct node *node = &s->node[s->cand[c]];
	double bits = 0;

	/* An image is read once. */
	if (!s->state->guided || node->nr ||
	    (node->next != s->cand[c] && fb_image_boots(s, s->cand[c])))
		return 0;
	for (size_t f = 0; f < t->nr_followed; f++) {
		double new = t->sum[c * t->nr_followed + f];

		new = MISREAD + (1 - 2 * MISREAD) * fmin(new, 1);
		bits += t->followed[f].weight * (fb_stats_entropy(new) - fb_stats_entropy(MISREAD));
	}
	return bits;
}

/* --- asking ---------------------------------------------------------------------------------- */

void fb_counters_tell(const struct fb_search *s, uint32_t counter, struct fb_counter_hint *ret)
{
	const struct fb_counters *t = s->counters;
	const struct counter *c;

	*ret = (struct fb_counter_hint){.mean_good = NAN, .mean_bad = NAN};
	if (!s->state->guided || counter >= t->nr || !t->of[counter].used)
		return;
	c = &t->of[counter];
	ret->used = true;
	ret->mean_good = c->level[0];
	ret->mean_bad = c->level[1];
	for (uint32_t i = 0; i < s->state->nr_nodes && !s->state->nr_steps; i++)
		ret->agrees +=
			exp(log_step(s, c, s->cluster_of[s->index[s->found[i]]]) - c->log_norm);
}
