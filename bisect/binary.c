/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Outcomes that are 0 or 1, with a rate of ones on each side, known or not.
 *
 * A rate that is not known is one of some points, with weights that are its prior. That
 * makes rates of exactly 0 and 1, known rates, and the smallest difference of the two sides
 * the same thing, and every integral over the rates a short sum.
 */
#include "bisect/model.h"

#include <math.h>
#include <string.h>

#define MATHLIB_STANDALONE
#include <Rmath.h>

#include "bisect/stats.h"

/* Rates of 0 and 1 are as near to them as this, so that impossible outcomes have a likelihood. */
#define TINY 1e-12

/*
 * Prior of the old side never giving a 1 (a crash that good kernels do not have), and of the
 * new side always giving one. The rest is Beta(3/2, 3/2), at points that are equally far apart
 * in asin(sqrt(rate)), by less than the standard error of a rate after 400 boots. More near
 * 0 and 1 (a flat prior, or Jeffreys') makes boots that agree by chance look certain: with
 * rates of 0.2 and 0.8 on a line of 128, 10 of 400 wrong with Jeffreys' prior and shares of
 * 0.3, 10 of 1,200 with a flat one and 0.1, 2 of 400 with this.
 */
#define CERTAIN_SHARE 0.05
#define INNER_POINTS  (FB_MODEL_RATES - 1)

/* Where the posterior is this much below its maximum, in nats, it adds nothing (1e-17 of it). */
#define NOTHING 40.0

static void add_rate(struct fb_model_rates *r, double rate, double weight)
{
	rate = fmin(fmax(rate, TINY), 1 - TINY);
	r->rate[r->nr] = rate;
	r->log_one[r->nr] = log(rate);
	r->log_zero[r->nr] = log1p(-rate);
	r->log_weight[r->nr++] = log(weight);
}

static void set_rates(struct fb_model_rates *r, double known, double never, double always)
{
	r->nr = 0;
	if (!isnan(known)) {
		add_rate(r, known, 1);
		return;
	}
	if (never > 0)
		add_rate(r, 0, never);
	for (int i = 0; i < INNER_POINTS; i++) {
		double root = sin((i + 0.5) * (M_PI / 2) / INNER_POINTS), rate = root * root;

		/* The density in asin(sqrt(rate)); the weights add up to one. */
		add_rate(r, rate, (1 - never - always) * 8 * rate * (1 - rate) / INNER_POINTS);
	}
	if (always > 0)
		add_rate(r, 1, always);
}

/* Boots of one side: all of them, and those that gave 1. */
struct tally {
	double nr, ones;
};

static struct tally tally_of(double w, double wm)
{
	/* Sums of counts, of which only the division by the number of boots was not exact. */
	return (struct tally){rint(w), rint(wm)};
}

static double log_lik_at(const struct fb_model_rates *r, int i, struct tally t)
{
	return t.ones * r->log_one[i] + (t.nr - t.ones) * r->log_zero[i];
}

/* log of prior times likelihood for each rate, into @ret; their maximum. */
static double weigh(const struct fb_model_rates *r, struct tally t, double *ret)
{
	double most = -INFINITY;

	for (int i = 0; i < r->nr; i++) {
		ret[i] = r->log_weight[i] + log_lik_at(r, i, t);
		if (ret[i] > most)
			most = ret[i];
	}
	return most;
}

static double relative(double log_weight, double most)
{
	return log_weight < most - NOTHING ? 0 : exp(log_weight - most);
}

/* log of the sum over the rates of one side. */
static double log_sum(const struct fb_model_rates *r, struct tally t)
{
	double at[FB_MODEL_RATES], sum = 0, most = weigh(r, t, at);

	for (int i = 0; i < r->nr; i++)
		sum += relative(at[i], most);
	/* The largest of them adds 1. */
	return most + log(fmax(sum, 1));
}

/* Posterior sums over the pairs of rates that are far enough apart. */
struct pairs {
	double sum, old, new, shift_sq; /* of 1, of either rate, of the difference squared */
};

/* log of the sum over pairs of rates that are .shift_min apart. */
static double log_pairs(const struct fb_model *m, struct tally old, struct tally new,
			struct pairs *ret)
{
	const struct fb_model_rates *o = &m->rates[0], *n = &m->rates[1];
	double lo[FB_MODEL_RATES], ln[FB_MODEL_RATES];
	double most_old = weigh(o, old, lo), most_new = weigh(n, new, ln);
	double s0 = 0, s1 = 0, s2 = 0, best = -INFINITY, lead = -INFINITY;
	struct pairs p = {0};

	/* Ascending new rates admit ever more old ones: the inner sums run along. */
	for (int j = 0, i = 0; j < n->nr; j++) {
		double x = n->rate[j], l = relative(ln[j], most_new);

		for (; i < o->nr && o->rate[i] + m->shift_min <= x; i++) {
			double k = relative(lo[i], most_old);

			s0 += k;
			s1 += k * o->rate[i];
			s2 += k * o->rate[i] * o->rate[i];
			lead = fmax(lead, lo[i]);
		}
		p.sum += l * s0;
		p.old += l * s1;
		p.new += l *s0 *x;
		p.shift_sq += l * (x * x * s0 - 2 * x * s1 + s2);
		best = fmax(best, ln[j] + lead);
	}
	if (ret)
		*ret = p;
	/* Where the pairs allowed are too far from what was seen the best one is the sum. */
	return p.sum > 0 ? most_old + most_new + log(p.sum) : best;
}

static void init(struct fb_model *model, double min_effect, const double rate[2])
{
	bool known = !isnan(rate[0]) && !isnan(rate[1]);

	set_rates(&model->rates[0], rate[0], CERTAIN_SHARE, 0);
	set_rates(&model->rates[1], rate[1], 0, CERTAIN_SHARE);
	/* As for values: room for a true difference that is just min_effect. */
	model->shift_min = known ? 0 : min_effect / 2;
	model->log_norm = 0;
	model->log_norm = log_pairs(model, (struct tally){0, 0}, (struct tally){0, 0}, NULL);
}

static double log_prior(int part)
{
	(void)part;
	return 0;
}

static double weight(size_t nr, int part)
{
	(void)part;
	return (double)nr;
}

static double image_term(size_t nr, int part)
{
	(void)nr;
	(void)part;
	return 0;
}

static void fit_pairs(const struct fb_model *model, const struct pairs *p, struct tally old,
		      struct tally new, struct fb_model_fit *fit)
{
	double mean, var;

	memset(fit, 0, sizeof(*fit));
	if (!(p->sum > 0))
		return;
	fit->mean_old = p->old / p->sum;
	fit->mean_new = p->new / p->sum;
	fit->shift = fit->mean_new - fit->mean_old;
	var = p->shift_sq / p->sum - fit->shift * fit->shift;
	fit->scale = var > 0 ? sqrt(var) : 0;
	fit->df = INFINITY;
	/* What is known needs no boots. */
	fit->w_old = model->rates[0].nr > 1 ? old.nr : INFINITY;
	fit->w_new = model->rates[1].nr > 1 ? new.nr : INFINITY;
	mean = fit->w_old < fit->w_new ? fit->mean_old : fit->mean_new;
	fit->sigma = sqrt(mean * (1 - mean));
}

static double split(const struct fb_model *model, int part, const struct fb_model_sums *new,
		    const struct fb_model_sums *level, double range, double least,
		    struct fb_model_fit *ret_fit)
{
	double w_level = level ? level->w[part] : 0, wm_level = level ? level->wm[part] : 0;
	struct tally on_new = tally_of(new->w[part], new->wm[part]);
	struct tally on_level = tally_of(w_level, wm_level);
	struct tally on_old = tally_of(model->all.w[part] - new->w[part] - w_level,
				       model->all.wm[part] - new->wm[part] - wm_level);
	struct pairs pairs;
	double log_lik = log_pairs(model, on_old, on_new, &pairs) - model->log_norm;

	(void)range;
	(void)least;
	if (ret_fit)
		fit_pairs(model, &pairs, on_old, on_new, ret_fit);
	/* The third rate is anything from 0 to 1. */
	return log_lik + lbeta(on_level.ones + 1, on_level.nr - on_level.ones + 1);
}

static double x_log_y(double x, double y)
{
	return x > 0 ? x * log(y) : 0;
}

static double log_lik(struct tally t, double rate)
{
	return x_log_y(t.ones, rate) + x_log_y(t.nr - t.ones, 1 - rate);
}

/* Largest likelihood of two rates of which the second is at least @apart above the first. */
static double most_likely_apart(const struct fb_model *m, struct tally good, struct tally bad,
				double apart)
{
	const struct fb_model_rates *old = &m->rates[0], *new = &m->rates[1];
	double x = good.ones / good.nr, y = bad.ones / bad.nr, lo = 0, hi = 1 - apart;

	if (old->nr == 1)
		return log_lik(good, old->rate[0]) + log_lik(bad, fmax(y, old->rate[0] + apart));
	if (new->nr == 1)
		return log_lik(good, fmin(x, new->rate[0] - apart)) + log_lik(bad, new->rate[0]);
	if (y - x >= apart)
		return log_lik(good, x) + log_lik(bad, y);
	/* On the edge of what is allowed, where the log likelihood is concave. */
	for (int i = 0; i < 100; i++) {
		double a = lo + (hi - lo) / 3, b = hi - (hi - lo) / 3;

		if (log_lik(good, a) + log_lik(bad, a + apart) <
		    log_lik(good, b) + log_lik(bad, b + apart))
			lo = a;
		else
			hi = b;
	}
	return log_lik(good, lo) + log_lik(bad, lo + apart);
}

/* Largest likelihood of one rate for all. */
static double most_likely_equal(const struct fb_model *m, struct tally all)
{
	const struct fb_model_rates *old = &m->rates[0], *new = &m->rates[1];
	double rate = all.ones / all.nr;

	if (old->nr > 1 && new->nr > 1)
		return log_lik(all, rate);
	/* It is that of either side. */
	if (old->nr > 1)
		return fmax(log_lik(all, fmin(rate, new->rate[0] - m->shift_min)),
			    log_lik_at(new, 0, all));
	if (new->nr > 1)
		return fmax(log_lik(all, fmax(rate, old->rate[0] + m->shift_min)),
			    log_lik_at(old, 0, all));
	return fmax(log_lik_at(old, 0, all), log_lik_at(new, 0, all));
}

/* Largest likelihood of two rates of which the second is not above the first. */
static double most_likely_same(const struct fb_model *m, struct tally good, struct tally bad)
{
	const struct fb_model_rates *old = &m->rates[0], *new = &m->rates[1];
	double x = good.ones / good.nr, y = bad.ones / bad.nr;
	struct tally both = {good.nr + bad.nr, good.ones + bad.ones};

	if (old->nr == 1 || new->nr == 1)
		return most_likely_equal(m, both);
	return y <= x ? log_lik(good, x) + log_lik(bad, y) : most_likely_equal(m, both);
}

/*
 * Against a mixture over steps and rates this likelihood is an e-value too (see ends_test()),
 * also when the node of each boot depends on the boots before it.
 */
static double same(const struct fb_model *model, int part)
{
	return most_likely_equal(model, tally_of(model->all.w[part], model->all.wm[part]));
}

/* log of the mixture over one rate for all: that of either side, or nothing is ever seen. */
static double log_equal(const struct fb_model *model, struct tally all)
{
	const struct fb_model_rates *old = &model->rates[0], *new = &model->rates[1];
	double sides = fb_stats_logsum(log_sum(old, all), log_sum(new, all));

	if (old->nr == 1 || new->nr == 1)
		return sides - M_LN2;
	return fb_stats_logsum(sides, all.ones > 0 ? -INFINITY : 0) - log(3);
}

/*
 * Each hypothesis is a mixture over its rates, against the likeliest rates of the other one.
 * By Ville's inequality either e-value exceeds 1 / alpha with probability alpha at most,
 * whenever one stops and whatever the rates are.
 *
 * Source: L. Wasserman, A. Ramdas, S. Balakrishnan, "Universal inference", PNAS 117 (2020),
 * section 7; mixtures: H. Robbins, Annals of Mathematical Statistics 41 (1970).
 */
static void ends_test(const struct fb_model *model, const struct fb_model_ends *ends,
		      double min_effect, int direction, double *ret_differ, double *ret_same)
{
	double ng = (double)ends->nr_good, nb = (double)ends->nr_bad;
	struct tally good = tally_of(ng, ng * ends->mean_good);
	struct tally bad = tally_of(nb, nb * (ends->mean_good + ends->shift));
	struct tally both = {good.nr + bad.nr, good.ones + bad.ones};
	double differ = log_pairs(model, good, bad, NULL) - model->log_norm;

	(void)direction;
	*ret_differ = differ - most_likely_same(model, good, bad);
	*ret_same = log_equal(model, both) -
		    (model->rates[0].nr == 1 && model->rates[1].nr == 1
			     ? differ
			     : most_likely_apart(model, good, bad, min_effect));
}

/* Mutual information of the side and the number of ones in @more boots. */
static double bits(const struct fb_model_fit *fit, double p, double had, double more)
{
	double sum = 0;

	(void)had;
	for (double k = 0; k <= more; k++) {
		double f0 = dbinom(k, more, fit->mean_old, 0);
		double f1 = dbinom(k, more, fit->mean_new, 0);
		double f = (1 - p) * f0 + p * f1;

		if (p < 1 && f0 > 0)
			sum += (1 - p) * f0 * log2(f0 / f);
		if (p > 0 && f1 > 0)
			sum += p * f1 * log2(f1 / f);
	}
	return sum > 0 ? sum : 0;
}

static void rates(const struct fb_model *model, const struct fb_model_sums *new, double ret[2])
{
	struct tally on_new = tally_of(new->w[0], new->wm[0]);
	struct tally on_old = tally_of(model->all.w[0] - new->w[0], model->all.wm[0] - new->wm[0]);
	struct pairs pairs;

	log_pairs(model, on_old, on_new, &pairs);
	ret[0] = pairs.sum > 0 ? pairs.old / pairs.sum : 0;
	ret[1] = pairs.sum > 0 ? pairs.new / pairs.sum : 1;
}

const struct fb_family fb_family_binary = {
	.nr_parts = 1,
	.begin = 1,
	.init = init,
	.log_prior = log_prior,
	.weight = weight,
	.image_term = image_term,
	.split = split,
	.same = same,
	.ends_test = ends_test,
	.bits = bits,
	.rates = rates,
};
