/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The search by brute force, for small graphs; shares no code with bisect/. */
#ifndef FB_T_ORACLE_H
#define FB_T_ORACLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ORACLE_MAX 12
/* Of the variance's prior, inverse gamma: 0.7 boots with a tenth of the smallest effect. */
#define ORACLE_PRIOR_SHAPE 0.35

struct oracle_dag {
	uint32_t nr;
	uint32_t parent[ORACLE_MAX][3];
	size_t nr_parents[ORACLE_MAX];
};

struct oracle_sample {
	uint32_t node;
	double value; /* on the scale of the search */
};

/* A boot of a node gave a value of a counter. */
struct oracle_count {
	uint32_t node, counter;
	double value;
};

/** oracle_random() - The next number of a small generator; @state is any seed. */
uint32_t oracle_random(uint64_t *state);

/** oracle_dag_random() - A connected graph of 2 to ORACLE_MAX nodes, one tip, some merges. */
void oracle_dag_random(struct oracle_dag *dag, uint64_t seed);

/** oracle_reaches() - Recursion over parents. */
bool oracle_reaches(const struct oracle_dag *dag, uint32_t from, uint32_t to);

/**
 * oracle_posterior() - Posterior of each node being the one step, given that one is.
 * @image: for each node a number; equal numbers are one image.
 * @min_shift: smallest effect, on the scale of the search; @direction: -1, 0, 1.
 *
 * Every hypothesis is enumerated; the covariance matrix of the boots is written out and
 * the means are integrated by its generalised least squares, the variance by its inverse
 * gamma form, the prior of the shift by the t distribution. Heavy tails are added up over a
 * grid; noise with two modes is left out, and its prior given to normal noise.
 * @place: prior of each node, up to a factor; NULL: all alike.
 * @ret_tails: the posterior of heavy tails.
 */
void oracle_posterior(const struct oracle_dag *dag, uint32_t good, uint32_t bad,
		      const uint32_t *image, const struct oracle_sample *sample, size_t nr,
		      double min_shift, int direction, const double *place, double ret[ORACLE_MAX],
		      double *ret_tails);

#define ORACLE_COUNTERS 4

/**
 * oracle_place() - What counters make of the prior of each node, up to a factor.
 * @image: as above; every image with a count has a sample, too.
 * @ret_used: for each counter: do the ends differ beyond its noise?
 *
 * Each counter that is used says of each image whether it lies on the old or the new side of its
 * own step, or nothing, and errs once in a hundred; the step is that of one of those that differ
 * in what they say, with one half, else anywhere.
 */
void oracle_place(const struct oracle_dag *dag, uint32_t good, uint32_t bad, const uint32_t *image,
		  const struct oracle_count *count, size_t nr, double ret[ORACLE_MAX],
		  bool ret_used[ORACLE_COUNTERS]);

/**
 * oracle_posterior_binary() - The same for outcomes of 0 and 1.
 * @known_old, @known_new: rates of ones, NAN: unknown.
 *
 * The likelihood is multiplied out boot by boot for each pair of rates, and added up.
 */
void oracle_posterior_binary(const struct oracle_dag *dag, uint32_t good, uint32_t bad,
			     const struct oracle_sample *sample, size_t nr, double min_effect,
			     double known_old, double known_new, double ret[ORACLE_MAX]);

/** oracle_average_prior() - The prior of the shift, averaged over a t distribution of it. */
double oracle_average_prior(double shift, double scale, double df, double min_shift, int direction);

/** oracle_told_apart() - Does a testable node (not @skip) descend from exactly one of a, b? */
bool oracle_told_apart(const struct oracle_dag *dag, uint32_t bad, const bool *skip, uint32_t a,
		       uint32_t b);

#endif
