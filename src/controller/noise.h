/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How simulated boots scatter: shapes of unit variance and mean 0, and what one boot of each can
 * tell. The unit is sigma, the standard deviation of one boot.
 */
#ifndef FB_CONTROLLER_NOISE_H
#define FB_CONTROLLER_NOISE_H

#include <stdint.h>

enum fb_noise {
	FB_NOISE_NORMAL,
	FB_NOISE_T3,	    /* Student's t with 3 degrees of freedom */
	FB_NOISE_LOGNORMAL, /* a long upper tail: the logarithm has a spread of 0.5 */
	FB_NOISE_BIMODAL,   /* two normal modes, see below */
	FB_NOISE_DRIFT,	    /* normal, and on top of it fb_drift */
	FB_NOISE_BINARY,    /* normal, but only "above a threshold" is seen: 0 or 1 */
	FB_NOISE_CONSTANT,  /* none */
};

#define FB_LOGNORMAL_SDLOG 0.5

/* Modes 2 sigma apart; 30 % of the boots are in the upper one. */
#define FB_BIMODAL_SHARE    0.3
#define FB_BIMODAL_DISTANCE 2.0

/* A boot takes 2 minutes. */
#define FB_DRIFT_WALK	0.03  /* standard deviation of a step of the random walk, each boot */
#define FB_DRIFT_WAVE	0.5   /* amplitude of the daily wave */
#define FB_DRIFT_PERIOD 720.0 /* boots a day */
#define FB_DRIFT_BOOT_S 120.0

/** fb_noise_name() - "normal", "t3", ... */
const char *fb_noise_name(enum fb_noise noise);

/** fb_noise_find() - The shape of that name, or -1. */
int fb_noise_find(const char *name);

/* xoshiro256** 1.0 (D. Blackman and S. Vigna, ACM TOMS 47, 2021), seeded by splitmix64. */
struct fb_rng {
	uint64_t s[4];
};

/** fb_rng_init() - The @stream-th of the independent sequences of a seed. */
void fb_rng_init(struct fb_rng *rng, uint64_t seed, uint64_t stream);

/** fb_rng_uniform() - Uniform in (0, 1). */
double fb_rng_uniform(struct fb_rng *rng);

/** fb_rng_below() - Uniform in 0 .. nr - 1. */
uint32_t fb_rng_below(struct fb_rng *rng, uint32_t nr);

/** fb_rng_normal() - Standard normal (G. Box and M. Muller, Ann. Math. Stat. 29, 1958). */
double fb_rng_normal(struct fb_rng *rng);

/**
 * fb_noise_draw() - One boot's deviation: variance 1.
 * @share: FB_NOISE_BIMODAL: of boots in the upper mode; the modes stay where they are, so that
 *	the mean moves by (share - FB_BIMODAL_SHARE) * FB_BIMODAL_DISTANCE, and the variance a bit.
 *
 * For FB_NOISE_DRIFT and FB_NOISE_BINARY the normal part.
 */
double fb_noise_draw(struct fb_rng *rng, enum fb_noise noise, double share);

/** fb_noise_density() - Density of fb_noise_draw(); 0 for FB_NOISE_CONSTANT. */
double fb_noise_density(enum fb_noise noise, double share, double y);

/** struct fb_drift - A random walk and a daily wave of unknown phase. */
struct fb_drift {
	double walk, phase;
	uint64_t boots;
};

void fb_drift_init(struct fb_drift *drift, struct fb_rng *rng);

/** fb_drift_next() - What the time of the next boot adds to it. */
double fb_drift_next(struct fb_drift *drift, struct fb_rng *rng);

/**
 * fb_noise_capacity() - Most that a boot tells about a yes/no question, in bits.
 * @shift: from no to yes.
 * @share: of the upper mode on the side of yes; FB_BIMODAL_SHARE unless that is the change.
 *
 * The capacity of a channel with binary input: the largest mutual information over the input's
 * distribution (T. Cover and J. Thomas, Elements of Information Theory, 2006, chapter 7), by the
 * trapezoidal rule. For FB_NOISE_DRIFT that of its normal part, which is an upper bound.
 */
double fb_noise_capacity(enum fb_noise noise, double shift, double share);

/** fb_binary_capacity() - The same for verdicts: their shares of "bad" when no, and when yes. */
double fb_binary_capacity(double rate_no, double rate_yes);

#endif
