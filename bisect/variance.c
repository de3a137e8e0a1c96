/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The variance of a measured value split into that of builds, boots and runs. */
#include "bisect/variance.h"

#include <math.h>

#define MATHLIB_STANDALONE
#include <Rmath.h>

/* Mean and squared deviations, by Welford's update: equal values leave exactly no deviation. */
struct acc {
	size_t nr;
	double mean, ss;
};

static void acc_add(struct acc *a, double x)
{
	double d = x - a->mean;

	a->nr++;
	a->mean += d / (double)a->nr;
	a->ss += d * (x - a->mean);
}

/* Sums over all that was measured. Means are unweighted: of runs, of boots' means, of builds'. */
struct sums {
	struct acc build;	/* of the builds' means */
	double ss_boot, ss_run; /* within builds, within boots */
	size_t df_boot, df_run;
	double run_in_boot;   /* share of the run's variance in the boots' mean square, times df */
	double boot_in_build; /* sum over builds of 1 / boots */
	double run_in_build;  /* sum over builds of mean(1 / runs) / boots */
	size_t nr_boots;
};

static int sum_up(const struct fb_variance_run *runs, size_t nr, bool log_scale, struct sums *s)
{
	*s = (struct sums){.nr_boots = 0};
	for (size_t i = 0; i < nr;) {
		struct acc boot = {0, 0, 0};
		uint32_t build = runs[i].build;
		double inverse = 0, boots;

		while (i < nr && runs[i].build == build) {
			struct acc run = {0, 0, 0};
			uint32_t id = runs[i].boot;

			for (; i < nr && runs[i].build == build && runs[i].boot == id; i++) {
				double v = runs[i].value;

				if (!isfinite(v) || (log_scale && !(v > 0)))
					return -1;
				acc_add(&run, log_scale ? log(v) : v);
			}
			acc_add(&boot, run.mean);
			inverse += 1 / (double)run.nr;
			s->ss_run += run.ss;
			s->df_run += run.nr - 1;
		}
		boots = (double)boot.nr;
		acc_add(&s->build, boot.mean);
		s->ss_boot += boot.ss;
		s->df_boot += boot.nr - 1;
		s->nr_boots += boot.nr;
		s->run_in_boot += (boots - 1) * inverse / boots;
		s->boot_in_build += 1 / boots;
		s->run_in_build += inverse / boots / boots;
	}
	return nr ? 0 : -1;
}

/* A mean square: an estimate that is distributed as a multiple of chi-squared / df. */
struct square {
	double ms, df;
};

/* Chi-squared quantile over its freedom, @tail above it. */
static double chi(double tail, double df)
{
	return qchisq(tail, df, 0, 0) / df;
}

/*
 * The difference of two independent mean squares with its interval. The names are those of
 * Ting et al.: G and H make each bound exact when the other mean square is 0, and the cross
 * terms make it exact when the difference is.
 */
static void difference(struct square a, struct square b, double level, struct fb_variance_part *ret)
{
	double tail = (1 - level) / 2, x = a.ms, y = b.ms;
	double g = 1 - 1 / chi(tail, a.df), h = 1 / chi(1 - tail, a.df) - 1, lo, hi;

	ret->raw = x - y;
	if (y > 0) {
		double gy = 1 - 1 / chi(tail, b.df), hy = 1 / chi(1 - tail, b.df) - 1;
		double f = qf(tail, a.df, b.df, 0, 0), e = qf(1 - tail, a.df, b.df, 0, 0);
		double gxy = (pow(f - 1, 2) - pow(g * f, 2) - hy * hy) / f;
		double hxy = (pow(1 - e, 2) - pow(h * e, 2) - gy * gy) / e;

		lo = pow(g * x, 2) + pow(hy * y, 2) + gxy * x * y;
		hi = pow(h * x, 2) + pow(gy * y, 2) + hxy * x * y;
	} else {
		lo = pow(g * x, 2);
		hi = pow(h * x, 2);
	}
	ret->lo = fmax(0, ret->raw - sqrt(fmax(0, lo)));
	ret->hi = fmax(0, ret->raw + sqrt(fmax(0, hi)));
	ret->var = fmax(0, ret->raw);
	ret->state = ret->raw < 0 ? FB_VARIANCE_TRUNCATED : FB_VARIANCE_ESTIMATED;
}

/* What of the builds' mean square is owed to boots and runs. */
static struct square below_build(const struct sums *s, struct square boot, struct square run)
{
	double n = (double)s->build.nr, k = s->boot_in_build / n, x, y, df;

	if (!s->df_boot) /* one boot a build: the boots' variance stays in the builds' */
		return (struct square){run.ms * s->run_in_build / n, run.df};
	x = k * boot.ms;
	y = (s->run_in_build / n - k * s->run_in_boot / (double)s->df_boot) * run.ms;
	df = boot.df;
	if (s->df_run && x + y > 0)
		df = pow(x + y, 2) / (x * x / boot.df + y * y / run.df);
	return (struct square){fmax(0, x + y), df};
}

int fb_variance_split(const struct fb_variance_run *runs, size_t nr, bool log_scale, double level,
		      struct fb_variance *ret)
{
	static const struct square none = {0, 1};
	struct fb_variance v = {.boot_ms = NAN, .nr_runs = nr};
	struct square build = none, boot = none, run = none;
	struct sums s;
	size_t df[FB_VARIANCE_LEVELS];
	double var = 0, top = 0;

	if (sum_up(runs, nr, log_scale, &s) < 0)
		return -1;
	df[FB_VARIANCE_BUILD] = s.build.nr - 1;
	df[FB_VARIANCE_BOOT] = s.df_boot;
	df[FB_VARIANCE_RUN] = s.df_run;
	v.nr_builds = s.build.nr;
	v.nr_boots = s.nr_boots;
	v.mean = s.build.mean;
	for (int l = 0; l < FB_VARIANCE_LEVELS; l++)
		v.part[l] = (struct fb_variance_part){
			l && (df[0] || (l == FB_VARIANCE_RUN && df[1])) ? FB_VARIANCE_MERGED
									: FB_VARIANCE_UNKNOWN,
			NAN,
			NAN,
			NAN,
			NAN,
			df[l]};

	if (df[FB_VARIANCE_RUN]) {
		run = (struct square){s.ss_run / (double)s.df_run, (double)s.df_run};
		difference(run, none, level, &v.part[FB_VARIANCE_RUN]);
	}
	if (df[FB_VARIANCE_BOOT]) {
		struct square part = {run.ms * s.run_in_boot / (double)s.df_boot, run.df};

		boot = (struct square){s.ss_boot / (double)s.df_boot, (double)s.df_boot};
		difference(boot, part, level, &v.part[FB_VARIANCE_BOOT]);
		v.boot_ms = var = boot.ms;
		top = boot.df;
	}
	if (df[FB_VARIANCE_BUILD]) {
		build = (struct square){s.build.ss / (double)df[0], (double)df[0]};
		difference(build, below_build(&s, boot, run), level, &v.part[FB_VARIANCE_BUILD]);
		var = build.ms;
		top = build.df;
	}
	v.mean_lo = -INFINITY;
	v.mean_hi = INFINITY;
	if (top > 0) {
		/* The topmost repeated level tells how far its means scatter, so all below it too.
		 */
		double half = qt((1 - level) / 2, top, 0, 0) * sqrt(var / (top + 1));

		v.mean_lo = v.mean - half;
		v.mean_hi = v.mean + half;
	}
	*ret = v;
	return 0;
}

/*
 * Cochran's rule: the whole number n that makes (a + b / n) (c + d n) smallest is the one
 * with n (n - 1) <= (b c) / (a d) <= n (n + 1).
 */
static unsigned best(double a, double b, double c, double d, unsigned max)
{
	double square, n;

	if (!(b > 0) || !(c > 0))
		return 1;
	if (!(a > 0) || !(d > 0))
		return max;
	square = b * c / (a * d);
	n = fmax(1, floor(sqrt(square)));
	if (square > n * (n + 1))
		n++;
	return n < max ? (unsigned)n : max;
}

void fb_variance_plan(const struct fb_variance *v, const struct fb_variance_cost *cost,
		      unsigned max_runs, unsigned max_boots, struct fb_variance_plan *ret)
{
	const struct fb_variance_part *p = v->part;
	bool runs_known = isfinite(p[FB_VARIANCE_RUN].var) && isfinite(p[FB_VARIANCE_BOOT].var);
	bool builds_known = isfinite(p[FB_VARIANCE_BUILD].var) && isfinite(p[FB_VARIANCE_BOOT].var);
	double build = builds_known ? p[FB_VARIANCE_BUILD].var : 0;
	double boot = p[FB_VARIANCE_BOOT].var, run = runs_known ? p[FB_VARIANCE_RUN].var : 0;
	double least = INFINITY;

	*ret = (struct fb_variance_plan){.boot_var = NAN};
	for (unsigned r = 1; r <= (runs_known ? max_runs : 1) && isfinite(boot); r++) {
		double within = boot + run / r, price = cost->boot + r * cost->run, product;
		unsigned b = builds_known ? best(build, within, cost->build, price, max_boots) : 1;

		product = (build + within / b) * ((builds_known ? cost->build : 0) + b * price);
		if (!(product < least))
			continue;
		least = product;
		ret->runs = runs_known ? r : 0;
		ret->boots = builds_known ? b : 0;
		ret->boot_var = within;
	}
	ret->at_most_runs = ret->runs == max_runs;
	ret->at_most_boots = ret->boots == max_boots;
}

static double power_of(unsigned n, double sd, double effect, double alpha, bool two_sided)
{
	double df = 2.0 * n - 2, ncp = effect / (sd * sqrt(2.0 / n));
	double limit = qt(two_sided ? alpha / 2 : alpha, df, 0, 0);
	double power = pnt(limit, df, ncp, 0, 0);

	return two_sided ? power + pnt(-limit, df, ncp, 1, 0) : power;
}

unsigned fb_variance_replicates(double sd, double effect, double alpha, double power,
				bool two_sided, unsigned max)
{
	unsigned lo = 1, hi = 2; /* too few; not known to be too few */

	effect = fabs(effect);
	if (!(sd > 0))
		return effect > 0 ? 2 : 0;
	while (power_of(hi, sd, effect, alpha, two_sided) < power) {
		if (hi == max)
			return 0;
		lo = hi;
		hi = hi < max / 2 ? 2 * hi : max;
	}
	while (hi - lo > 1) {
		unsigned mid = lo + (hi - lo) / 2;

		if (power_of(mid, sd, effect, alpha, two_sided) < power)
			lo = mid;
		else
			hi = mid;
	}
	return hi;
}
