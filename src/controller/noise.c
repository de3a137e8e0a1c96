/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How simulated boots scatter, and what one boot of each can tell. */
#include "src/controller/noise.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "src/util/error.h"
#include "src/util/util.h"

static const char *const names[] = {
	[FB_NOISE_NORMAL] = "normal",	    [FB_NOISE_T3] = "t3",
	[FB_NOISE_LOGNORMAL] = "lognormal", [FB_NOISE_BIMODAL] = "bimodal",
	[FB_NOISE_DRIFT] = "drift",	    [FB_NOISE_BINARY] = "binary",
	[FB_NOISE_CONSTANT] = "constant",
};

const char *fb_noise_name(enum fb_noise noise)
{
	return names[noise];
}

int fb_noise_find(const char *name)
{
	for (size_t i = 0; i < FB_ARRAY_SIZE(names); i++)
		if (!strcmp(names[i], name))
			return (int)i;
	return -1;
}

static uint64_t rotl(uint64_t x, int k)
{
	return x << k | x >> (64 - k);
}

static uint64_t next64(struct fb_rng *r)
{
	uint64_t result = rotl(r->s[1] * 5, 7) * 9, t = r->s[1] << 17;

	r->s[2] ^= r->s[0];
	r->s[3] ^= r->s[1];
	r->s[1] ^= r->s[2];
	r->s[0] ^= r->s[3];
	r->s[2] ^= t;
	r->s[3] = rotl(r->s[3], 45);
	return result;
}

static uint64_t splitmix(uint64_t *state)
{
	uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

void fb_rng_init(struct fb_rng *rng, uint64_t seed, uint64_t stream)
{
	/* Hashed one after the other: neighbours in either give states that lie far apart. */
	uint64_t state = splitmix(&seed) ^ stream;

	state = splitmix(&state);
	for (int i = 0; i < 4; i++)
		rng->s[i] = splitmix(&state);
}

double fb_rng_uniform(struct fb_rng *rng)
{
	return ((double)(next64(rng) >> 11) + 0.5) * 0x1p-53;
}

uint32_t fb_rng_below(struct fb_rng *rng, uint32_t nr)
{
	return (uint32_t)(fb_rng_uniform(rng) * nr);
}

double fb_rng_normal(struct fb_rng *rng)
{
	double r = sqrt(-2 * log(fb_rng_uniform(rng)));

	return r * cos(2 * M_PI * fb_rng_uniform(rng));
}

/* Of the logarithm's normal distribution about 0. */
static double lognormal_mean(void)
{
	return exp(FB_LOGNORMAL_SDLOG * FB_LOGNORMAL_SDLOG / 2);
}

static double lognormal_sd(void)
{
	return lognormal_mean() * sqrt(expm1(FB_LOGNORMAL_SDLOG * FB_LOGNORMAL_SDLOG));
}

/* What the distance of the modes leaves of the variance, as a standard deviation of each. */
static double mode_sd(void)
{
	return sqrt(1 - FB_BIMODAL_SHARE * (1 - FB_BIMODAL_SHARE) * FB_BIMODAL_DISTANCE *
				FB_BIMODAL_DISTANCE);
}

static double lower_mode(void)
{
	return -FB_BIMODAL_SHARE * FB_BIMODAL_DISTANCE;
}

double fb_noise_draw(struct fb_rng *rng, enum fb_noise noise, double share)
{
	double z = fb_rng_normal(rng), a, b, c;

	switch (noise) {
	case FB_NOISE_NORMAL:
	case FB_NOISE_DRIFT:
	case FB_NOISE_BINARY:
		return z;
	case FB_NOISE_T3:
		a = fb_rng_normal(rng);
		b = fb_rng_normal(rng);
		c = fb_rng_normal(rng);
		/* Its variance is 3: that of the mean square of three cancels. */
		return z / sqrt(a * a + b * b + c * c);
	case FB_NOISE_LOGNORMAL:
		return (exp(FB_LOGNORMAL_SDLOG * z) - lognormal_mean()) / lognormal_sd();
	case FB_NOISE_BIMODAL:
		return lower_mode() + mode_sd() * z +
		       (fb_rng_uniform(rng) < share ? FB_BIMODAL_DISTANCE : 0);
	case FB_NOISE_CONSTANT:
		return 0;
	}
	FB_BUG("noise %d", (int)noise);
}

static double normal_density(double y)
{
	return exp(-y * y / 2) / sqrt(2 * M_PI);
}

double fb_noise_density(enum fb_noise noise, double share, double y)
{
	double x, sd;

	switch (noise) {
	case FB_NOISE_NORMAL:
	case FB_NOISE_DRIFT:
	case FB_NOISE_BINARY:
		return normal_density(y);
	case FB_NOISE_T3:
		/* Of t itself 2 / (pi sqrt(3) (1 + t^2/3)^2), here t = sqrt(3) y. */
		return 2 / (M_PI * (1 + y * y) * (1 + y * y));
	case FB_NOISE_LOGNORMAL:
		x = lognormal_mean() + lognormal_sd() * y;
		if (x <= 0)
			return 0;
		return lognormal_sd() * normal_density(log(x) / FB_LOGNORMAL_SDLOG) /
		       (FB_LOGNORMAL_SDLOG * x);
	case FB_NOISE_BIMODAL:
		sd = mode_sd();
		x = y - lower_mode();
		return ((1 - share) * normal_density(x / sd) +
			share * normal_density((x - FB_BIMODAL_DISTANCE) / sd)) /
		       sd;
	case FB_NOISE_CONSTANT:
		return 0;
	}
	FB_BUG("noise %d", (int)noise);
}

void fb_drift_init(struct fb_drift *drift, struct fb_rng *rng)
{
	*drift = (struct fb_drift){.phase = 2 * M_PI * fb_rng_uniform(rng)};
}

double fb_drift_next(struct fb_drift *drift, struct fb_rng *rng)
{
	double t = 2 * M_PI * (double)drift->boots++ / FB_DRIFT_PERIOD;

	drift->walk += FB_DRIFT_WALK * fb_rng_normal(rng);
	return drift->walk + FB_DRIFT_WAVE * sin(t + drift->phase);
}

/* Contribution of one outcome to the mutual information, in bits. */
static double outcome_bits(double p, double no, double yes)
{
	/* Products first: what underflows counts as nothing. */
	double a = (1 - p) * no, b = p * yes, bits = 0;

	if (a > 0)
		bits += a * log2(no / (a + b));
	if (b > 0)
		bits += b * log2(yes / (a + b));
	return bits;
}

/* Outcomes with their (weighted) probabilities on both sides. */
struct channel {
	const double *no, *yes;
	size_t nr;
};

static double information(const struct channel *c, double p)
{
	double bits = 0;

	for (size_t i = 0; i < c->nr; i++)
		bits += outcome_bits(p, c->no[i], c->yes[i]);
	return bits;
}

/* The information is concave in p: golden section. */
static double capacity(const struct channel *c)
{
	const double g = (sqrt(5) - 1) / 2;
	double lo = 0, hi = 1, a = hi - g, b = lo + g;
	double fa = information(c, a), fb = information(c, b);

	while (hi - lo > 1e-7) {
		if (fa < fb) {
			lo = a;
			a = b;
			fa = fb;
			b = lo + g * (hi - lo);
			fb = information(c, b);
		} else {
			hi = b;
			b = a;
			fb = fa;
			a = hi - g * (hi - lo);
			fa = information(c, a);
		}
	}
	return information(c, (lo + hi) / 2);
}

#define GRID 8000

double fb_noise_capacity(enum fb_noise noise, double shift, double share)
{
	/*
	 * y = centre + sinh(u): dense about both sides, and far enough out for the tails of t.
	 * At the ends the density of t times the step is below 1e-12.
	 */
	const double u_max = asinh(1e4 + fabs(shift)), step = 2 * u_max / GRID;
	double no[GRID + 1], yes[GRID + 1];
	struct channel c = {no, yes, GRID + 1};

	if (noise == FB_NOISE_CONSTANT)
		return shift != 0 ? 1 : 0;
	for (size_t i = 0; i <= GRID; i++) {
		double u = -u_max + (double)i * step, y = shift / 2 + sinh(u), w = step * cosh(u);

		no[i] = w * fb_noise_density(noise, FB_BIMODAL_SHARE, y);
		yes[i] = w * fb_noise_density(noise, share, y - shift);
	}
	return capacity(&c);
}

double fb_binary_capacity(double rate_no, double rate_yes)
{
	double no[] = {1 - rate_no, rate_no}, yes[] = {1 - rate_yes, rate_yes};
	struct channel c = {no, yes, 2};

	return capacity(&c);
}
