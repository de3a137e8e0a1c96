/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A made history to search in: who is guilty, what cannot be tested, what each boot gives, and
 * whether the answer is right. Pure: all of it follows from the numbers here and the trial's.
 */
#ifndef FB_CONTROLLER_WORLD_H
#define FB_CONTROLLER_WORLD_H

#include <stdbool.h>
#include <stdint.h>

#include "bisect/dag.h"
#include "bisect/search.h"
#include "src/controller/noise.h"
#include "src/util/error.h"

/* What the counters without a step do. */
enum fb_idle {
	FB_IDLE_NORMAL,	  /* normal noise of their own */
	FB_IDLE_COIN,	  /* one of two values by chance */
	FB_IDLE_HEADLINE, /* the noise of the boot's value */
	FB_IDLE_SIGN,	  /* its sign */
};

/* Lengths are in sigma, the standard deviation of a boot. */
struct fb_world {
	const struct fb_dag *dag; /* node 0: the good end; the last node: the bad end */

	/* The change: at one commit, or at two. */
	double shift_lo, shift_hi; /* drawn uniformly between them; of one sign */
	bool shift_prior;	   /* instead: drawn by fb_world_prior_shift() */
	bool no_regression;	   /* nothing changes */
	bool mode_share;	   /* the change moves boots to the upper mode, not the modes */
	double second;		   /* a second step, at a later commit; 0: none */
	bool together;		   /* the change shows only with both of two commits */
	int64_t culprit;	   /* index of the commit, node less 1; -1: drawn */

	/* The noise. */
	enum fb_noise noise;
	double threshold; /* FB_NOISE_BINARY: above it the verdict is "bad" */
	double build_sd;  /* of what each image adds to all its boots */
	double log_sigma; /* > 0: values are 1000 exp(log_sigma * z), else 100 + z */

	/* Counters of each boot: one with a step of 1, and some without. */
	bool counter;	     /* there is the first */
	double counter_same; /* its step is where the value's is with this probability */
	double counter_sd;   /* its noise, in its step */
	double counter_corr; /* correlation of that with the noise of the boot's value */
	unsigned idle;	     /* counters without a step */
	enum fb_idle idle_kind;

	/* What cannot be tested: a two-state Markov chain along first parents. */
	double skip_share, skip_run; /* share of the commits; mean length of a run of them */

	/* What the search is told. */
	bool any_direction;	   /* not the direction, which is then drawn */
	bool known_rates;	   /* FB_NOISE_BINARY: the two below */
	double rate_old, rate_new; /* shares of bad verdicts on both sides, fb_world_rate() */
	double confidence, min_effect;
	unsigned min_boots, batch;   /* .min_boots may be 0 with known rates */
	unsigned boots_lo, boots_hi; /* its boots in all, drawn between them */

	unsigned repeats; /* > 0: no search, but git's halving with so many boots a step */
	uint64_t seed;
};

enum fb_outcome {
	FB_OUTCOME_RIGHT,     /* the commit (or one of both) was named as the one step */
	FB_OUTCOME_WRONG,     /* another commit, or a wrong range, also as one of several steps */
	FB_OUTCOME_RANGE,     /* the smallest set that the untestable commits allow */
	FB_OUTCOME_NONE,      /* "no regression" */
	FB_OUTCOME_UNDECIDED, /* the boots ran out */
	FB_OUTCOME_OTHER,     /* "something else", and no commits */
	FB_OUTCOME_STEPS,     /* both of two steps were named */
	FB_NR_OUTCOMES,
};

/* Plain data: it travels through shared memory. */
struct fb_trial {
	enum fb_outcome outcome;
	uint32_t boots, commits, skips, steps;
	double stated; /* probability of the best answer that names commits; 0: there is none */
	bool held;     /* ... and it was right */
	double next_s, next_max_s; /* choosing the next commit: sum and maximum, CPU time */
	double cpu_s;		   /* the whole trial */
	char failure[128];	   /* "": none */
};

/** fb_outcome_name() - "right", "wrong", ... */
const char *fb_outcome_name(enum fb_outcome outcome);

/** fb_idle_name() - "normal", "coin", "headline", "sign". */
const char *fb_idle_name(enum fb_idle kind);

/** fb_idle_find() - The kind of that name, or -1. */
int fb_idle_find(const char *name);

/** fb_world_rate() - FB_NOISE_BINARY: share of bad verdicts of images at @level sigma. */
double fb_world_rate(const struct fb_world *world, double level);

/**
 * fb_world_prior_shift() - The @u-quantile of the prior that the search has of a shift.
 * @u: from 0 to 1.
 *
 * As fb_model_split() states it: uniform in its logarithm from @min_effect on, over 15 doublings,
 * and below @min_effect of the same density as there, down to 0.7 of it.
 */
double fb_world_prior_shift(double min_effect, double u);

/** fb_world_check() - Are the numbers a world? Errors: FB_ERROR_USAGE. */
int fb_world_check(const struct fb_world *world, struct fb_error *err);

/** fb_world_trial() - The @i-th trial; depends on the world and @i only, but for the times. */
void fb_world_trial(const struct fb_world *world, uint64_t i, struct fb_trial *ret);

/**
 * fb_world_range() - The commits that the untestable ones do not let apart from @culprit.
 * @skipped: for each node. Neither the ends nor all nodes are.
 * @ret_in: for each node; set here.
 *
 * Two commits look alike when the same testable commits contain them.
 *
 * Return: their number, 1 for @culprit alone.
 */
uint32_t fb_world_range(const struct fb_dag *dag, const bool *skipped, uint32_t culprit,
			bool *ret_in);

/** fb_world_skips() - Draw the untestable nodes; see .skip_share. */
void fb_world_skips(const struct fb_world *world, struct fb_rng *rng, bool *ret_skipped);

/**
 * fb_world_bound() - Least expected boots of any method to name the commit, 0 when not known.
 *
 * ((1 - delta) log2 N - h(delta)) / C, delta = 1 - confidence, C by fb_noise_capacity(): the
 * converse for variable-length codes with feedback, Y. Polyanskiy, V. Poor and S. Verdu, IEEE
 * Trans. Information Theory 57 (2011), theorem 4. It grants the method that means and spreads
 * are known, and image effects and drift as well. Known for one step of a fixed size where every
 * commit can be tested, without image effects for FB_NOISE_BINARY.
 * @ret_bits: C.
 */
double fb_world_bound(const struct fb_world *world, double *ret_bits);

#endif
