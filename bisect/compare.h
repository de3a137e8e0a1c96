/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Two kernels compared by their boots, one value (the mean of its runs) a boot.
 *
 * Two questions, two kinds of guarantee (doc/statistics.md has both in words):
 *
 *  - fb_compare_judge(), fb_compare_interval(): may be asked after every boot, as often as
 *    one likes, and the measuring may stop because of the answer. Over the whole of it the
 *    chance of a wrong one is at most alpha, whatever the shape of the noise.
 *  - fb_compare_effect(): how large is the effect, for boots whose number was fixed before.
 */
#ifndef FB_BISECT_COMPARE_H
#define FB_BISECT_COMPARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** struct fb_compare_boot - One boot of either kernel. */
struct fb_compare_boot {
	double value;
	/*
	 * Only boots of one block are compared with each other: give those that were made under
	 * different conditions (another environment, another day) different blocks.
	 */
	uint32_t block;
	bool is_new;
};

struct fb_compare_params {
	double alpha;	   /* of each wrong verdict, e.g. 0.01 */
	int direction;	   /* 1: is new larger? -1: smaller? 0: either */
	bool log_scale;	   /* values are positive and what counts is their ratio */
	double min_effect; /* smallest change of interest: new / old - 1 on the log scale, else
			      new - old; 0 when any change is of interest */
};

enum fb_compare_verdict {
	FB_COMPARE_OPEN,	   /* nothing can be said yet */
	FB_COMPARE_DIFFER,	   /* in the direction that was asked for */
	FB_COMPARE_SMALL,	   /* less than min_effect in that direction, if anything */
	FB_COMPARE_NOT_COMPARABLE, /* no block has boots of both */
};

struct fb_compare {
	enum fb_compare_verdict verdict;
	double log_evidence;   /* natural log of the e-value against "not different" */
	size_t nr_old, nr_new; /* boots in blocks that have both */
	size_t nr_alone;       /* boots in blocks that have one side only: not used */
};

/**
 * fb_compare_judge() - Do the kernels differ, as far as is known now?
 *
 * The evidence is the likelihood ratio of the ranks of the values under Lehmann's
 * alternatives (the values of one side have the distribution F, those of the other F to the
 * power of theta, or the same seen from the other end), mixed over theta; of several blocks
 * the product. When both kernels have the same distribution, whatever it is, it is a
 * martingale that starts at 1, so it ever reaches 1 / alpha with probability alpha at most:
 * also when boots are added until it does. The same holds, one-sided, when the new kernel
 * is stochastically not larger (for direction 1). SMALL is the same test against a shift of
 * min_effect. Equal values are ordered as speaks least for a difference. The order in which
 * the boots of a block were made does not matter; which kernel boots next must not be chosen
 * by values.
 *
 * Return: 0, or -1 when memory runs out, a value is not finite, or not positive on the log
 * scale.
 * Source: I. R. Savage and J. Sethuraman, Annals of Mathematical Statistics 37 (1966)
 * (sequential test of ranks); P. Grünwald, A. Ly, M. Pérez-Ortiz and J. ter Schure, "The
 * safe logrank test", AISTATS 2021 (optional stopping; strata); J. Ville, Étude critique de
 * la notion de collectif (1939) (the bound); R. L. Berger, Technometrics 24 (1982) (the two
 * one-sided tests of SMALL need no correction).
 */
int fb_compare_judge(const struct fb_compare_boot *boots, size_t nr,
		     const struct fb_compare_params *params, struct fb_compare *ret);

/** struct fb_compare_effect - New against old: new / old - 1 on the log scale, else new - old. */
struct fb_compare_effect {
	double effect, lo, hi;
	const char *method; /* static text: how the interval was made */
};

/**
 * fb_compare_interval() - The shifts that fb_compare_judge()'s test does not reject.
 * @ret: Hodges' and Lehmann's estimate from the differences within blocks, and a two-sided
 *	interval of level 1 - alpha that holds at all times together; -+INFINITY as long as
 *	nothing is rejected. .min_effect and .direction do not matter.
 *
 * Exact when the kernels differ by a shift (on the log scale a factor), whatever the noise.
 *
 * Return: as fb_compare_judge(); -1 also when nothing is comparable.
 * Source: S. R. Howard, A. Ramdas, J. McAuliffe and J. Sekhon, Annals of Statistics 49 (2021)
 * (confidence sequences from sequential tests); Hodges and Lehmann as in bisect/stats.h.
 */
int fb_compare_interval(const struct fb_compare_boot *boots, size_t nr,
			const struct fb_compare_params *params, struct fb_compare_effect *ret);

/**
 * fb_compare_effect() - Size of the effect with an interval, for a number of boots that was
 * not chosen by what they gave.
 * @level: e.g. 0.95.
 *
 * Hodges' and Lehmann's shift with its exact interval where so many boots can give @level
 * (4 a side for 95 %), else Welch's interval, which needs 2 a side and some spread; without
 * the interval is -+INFINITY (-1 and INFINITY for a ratio less 1). doc/statistics.md has the
 * coverage for 2 to 10 boots a side.
 *
 * Return: 0, or -1 when memory runs out, a side is empty, a value is not finite, or not
 * positive on the log scale.
 */
int fb_compare_effect(const double *old, size_t nr_old, const double *new, size_t nr_new,
		      bool log_scale, double level, struct fb_compare_effect *ret);

#endif
