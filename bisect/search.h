/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The search for the commit that changed a value, as a machine that is stepped:
 * fb_search_next() says what to measure, fb_search_record() tells what came out.
 *
 * The state depends on what was recorded, not on the order of recording, and asking
 * twice gives the same answer: replaying a log gives the same search.
 *
 * One recorded value is one boot (the replicate; runs within a boot are averaged by the
 * caller). Two nodes with the same built image share their values and cannot lie on
 * different sides of the change.
 */
#ifndef FB_BISECT_SEARCH_H
#define FB_BISECT_SEARCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bisect/dag.h"

enum fb_scale {
	FB_SCALE_LOG,	 /* positive values; effects are ratios, noise grows with the value */
	FB_SCALE_LINEAR, /* any values; effects are differences in the metric's unit */
	/*
	 * Each boot gives 0 or 1 (the old state was seen, or the new one), and may be wrong.
	 * Means are rates of ones, effects their difference, sigma is NAN. Direction: up.
	 */
	FB_SCALE_BINARY,
	/*
	 * 0 (old side) or 1 (new side), and never wrong: one boot of a commit is enough, the ends
	 * are believed, and means and effects are NAN. Of the numbers below only max_total counts.
	 */
	FB_SCALE_CERTAIN,
};

enum fb_direction {
	FB_DIRECTION_DOWN = -1, /* the bad end is looked for below the good end */
	FB_DIRECTION_ANY = 0,
	FB_DIRECTION_UP = 1,
};

struct fb_search_params {
	double confidence; /* probability that a named commit must have, e.g. 0.99 */
	double min_effect; /* LOG: relative change, 0.02 is 2 %; LINEAR: in the metric's unit */
	enum fb_scale scale;
	enum fb_direction direction;
	/*
	 * Per end, before anything is concluded; at least 2. BINARY: at least 1; with both rates
	 * known also 0, which takes the caller's word for the ends (until boots speak against it).
	 */
	unsigned min_boots;
	/*
	 * BINARY: known rates of ones of the old and the new side; NAN: not known. A known
	 * rate_old of 0 means that a 1 is never wrong, rate_new of 1 that a 0 never is.
	 */
	double rate_old, rate_new;
	unsigned max_boots; /* per commit; 0: no limit */
	unsigned max_total; /* boots in all; 0: no limit */
	unsigned batch;	    /* boots that can run side by side; a step asks for at most this many */
};

enum fb_search_step {
	FB_SEARCH_MEASURE, /* boot the commit that was returned */
	FB_SEARCH_DONE,	   /* ask fb_search_verdict() */
};

enum fb_search_why {
	FB_SEARCH_WHY_END,  /* the ends are compared */
	FB_SEARCH_WHY_BASE, /* a merge base must be tested */
	FB_SEARCH_WHY_STEP, /* it splits the candidates */
};

struct fb_search_ask {
	uint32_t node;
	unsigned boots;
	enum fb_search_why why;
};

enum fb_verdict_kind {
	FB_VERDICT_OPEN,  /* not done yet */
	FB_VERDICT_FOUND, /* one commit */
	FB_VERDICT_RANGE, /* the change is in one of these; no testable commit lies between them */
	FB_VERDICT_NONE,  /* the ends do not differ by min_effect or more; CERTAIN: both are old */
	FB_VERDICT_UNDECIDED, /* boots ran out; the nodes are what is left */
	FB_VERDICT_OTHER,     /* not one step: several, up and down, merge only, wrong end */
	FB_VERDICT_BASE_BAD, /* a merge base is bad already: fixed on the good side, not broken here
			      */
	FB_VERDICT_UNTESTABLE, /* an end (or every commit) cannot be measured */
};

/* One of two steps: where it is, or may be; borrowed as .nodes of the verdict is. */
struct fb_verdict_step {
	const uint32_t *nodes; /* ascending */
	size_t nr_nodes;
	double effect; /* after it against before it, as the verdict's .effect */
};

struct fb_verdict {
	enum fb_verdict_kind kind;
	/*
	 * Ascending; borrowed from the search until it changes. UNTESTABLE: the ends at fault.
	 * OTHER: those of the steps, one step after the other.
	 */
	const uint32_t *nodes;
	size_t nr_nodes;
	double confidence; /* posterior mass of .nodes (or of "none", of "other") */
	double other;	   /* posterior mass of "something else" */
	/* OTHER: the two steps, when it is that. */
	struct fb_verdict_step steps[2];
	size_t nr_steps;  /* 0 or 2 */
	bool steps_found; /* as closely as can be tested; else boots would not tell more */
	/* By the model of the best step; NAN while a side has no boots. */
	double mean_good, mean_bad; /* in the metric's unit; geometric means for FB_SCALE_LOG */
	double effect, effect_lo, effect_hi; /* bad against good, see min_effect; 95 % interval */
	double sigma;			     /* boot to boot, on the scale of .effect */
	unsigned boots;			     /* recorded so far */
};

struct fb_search;

/**
 * fb_search_new() - Begin a search.
 * @dag: borrowed for the life of the search.
 * @good, @nr_good: known good ends, at least one. They and their ancestors are no candidates.
 * @bases, @nr_bases: merge bases of a good end that is no ancestor of @bad; each is tested.
 * @bad: the bad end. Candidates are its ancestors and itself.
 *
 * Return: NULL when memory runs out or the arguments make no search (no candidates, bad numbers).
 */
struct fb_search *fb_search_new(const struct fb_dag *dag, const uint32_t *good, size_t nr_good,
				const uint32_t *bases, size_t nr_bases, uint32_t bad,
				const struct fb_search_params *params);
void fb_search_free(struct fb_search *search);

/** fb_search_record() - One boot of @node gave @value. Return: 0, -1 when it is not usable. */
int fb_search_record(struct fb_search *search, uint32_t node, double value);

/*
 * Counters: what a boot gave beside @value, such as requests per operation. The verdict is about
 * the value alone; a counter that differs between the ends far beyond its noise is a hint where
 * to look, no more. See bisect/counters.c.
 */
#define FB_COUNTERS_MAX 1024

/** fb_search_record_counter() - In a boot of @node the @counter-th counter was @value. */
int fb_search_record_counter(struct fb_search *search, uint32_t node, uint32_t counter,
			     double value);

/**
 * fb_search_hint() - Something speaks for @node being on the new side; CERTAIN only.
 * @log_ratio: log of its probability there over that on the old side; below 0 for the old side.
 *	All hints about a node add up, in nats.
 *
 * With hints the answer may be one that only holds the confidence asked for.
 *
 * Return: 0, -1 when it is not usable.
 */
int fb_search_hint(struct fb_search *search, uint32_t node, double log_ratio);

/** fb_search_skip() - @node cannot be measured. */
int fb_search_skip(struct fb_search *search, uint32_t node);

/** fb_search_same_image() - Two nodes build the same kernel. */
int fb_search_same_image(struct fb_search *search, uint32_t a, uint32_t b);

/** fb_search_set_cost() - Building @node costs as much as @boots boots; 0 once it is built. */
int fb_search_set_cost(struct fb_search *search, uint32_t node, double boots);

/** fb_search_next() - What to do next. @ret_ask is set only for FB_SEARCH_MEASURE. */
enum fb_search_step fb_search_next(const struct fb_search *search, struct fb_search_ask *ret_ask);

/** fb_search_verdict() - What is known now; also before the end (kind FB_VERDICT_OPEN). */
void fb_search_verdict(const struct fb_search *search, struct fb_verdict *ret);

/* How a counter stands to the verdict. */
struct fb_counter_hint {
	bool used;		    /* the ends differ; else the rest is 0 and NAN */
	double mean_good, mean_bad; /* of the ends, in its own unit */
	double agrees;		    /* probability that its own step is in .nodes of the verdict */
};

/** fb_search_counter() - The @counter-th counter, as it is now. */
void fb_search_counter(const struct fb_search *search, uint32_t counter,
		       struct fb_counter_hint *ret);

/** fb_search_posterior() - Probability that @node is the one step, given a regression. */
double fb_search_posterior(const struct fb_search *search, uint32_t node);

/** fb_search_left() - Candidates in the smallest set that holds the confidence asked for. */
uint32_t fb_search_left(const struct fb_search *search);

/** fb_search_boots_to_go() - Rough expectation of the boots still needed, for an ETA. */
double fb_search_boots_to_go(const struct fb_search *search);

#endif
