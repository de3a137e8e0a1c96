/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Measuring: every revision runs the whole matrix a number of times, interleaved. */
#ifndef FB_CONTROLLER_MEASURE_H
#define FB_CONTROLLER_MEASURE_H

#include "bisect/compare.h"
#include "src/controller/lab.h"

struct fb_measured {
	struct fb_oid commit;
	char *signature;	     /* NULL when it does not build */
	char *cause;		     /* why not */
	struct fb_store_boot *boots; /* nr_boots */
	size_t nr_boots;
};

/** fb_measure_begin() - Store a session of @kind ("measure", "compare", "noise") for @revs. */
int fb_measure_begin(struct fb_store *store, struct fb_history *history, const struct fb_plan *plan,
		     const char *kind, const struct fb_oid *revs, size_t nr, struct fb_session *ret,
		     struct fb_error *err);

struct fb_measuring {
	struct fb_lab *lab;	       /* borrowed */
	struct fb_lab_kernel *kernels; /* nr, as the revisions */
	struct fb_measured *measured;  /* nr */
	size_t nr;
	unsigned rounds; /* made so far */
	bool balance;	 /* of two pairs of rounds one runs the cells in the order turned round */
};

/** fb_measuring_begin() - Build all; those that do not build have a .cause and are left out. */
int fb_measuring_begin(struct fb_lab *lab, const struct fb_oid *revs, size_t nr, bool balance,
		       struct fb_measuring *ret, struct fb_error *err);
void fb_measuring_release(struct fb_measuring *me);

/**
 * fb_measuring_round() - One more boot of each; over the rounds in the order A B B A ...
 * @left_out: nr flags: those that get no boot this time; NULL: none.
 *
 * On the deterministic machine boots that the store has already are taken from there.
 */
int fb_measuring_round(struct fb_measuring *me, const bool *left_out, struct fb_error *err);

/**
 * fb_measured_metrics() - Metrics that any boot gave for a cell, in the order in which they came.
 * @all: else only those that tables show: headline metrics and those of a user's command.
 *
 * Return: owned vector; NULL when there is none.
 */
char **fb_measured_metrics(const struct fb_measured *m, size_t nr, const char *cell_key, bool all);

struct fb_summary {
	size_t nr;	 /* boots with a value */
	double mean, sd; /* of the boots; sd is NAN for fewer than two */
	double lo, hi;	 /* 95 % interval of the mean; -+INFINITY for fewer than two */
	double run_sd;	 /* of runs within a boot; NAN when no boot had two */
	double boot_sd;	 /* what is left of sd without the runs' share; NAN with either */
	double min, max;
};

/** fb_measured_summary() - Over the boots of one revision, one value a boot. */
struct fb_summary fb_measured_summary(const struct fb_measured *m, const char *cell_key,
				      const char *metric);

/* How one revision differs from another. */
struct fb_measured_change {
	struct fb_compare judged;
	struct fb_compare_effect size; /* 95 %; NAN and no method when nothing can be compared */
	bool is_ratio;	 /* new / old - 1; a difference where a value is not positive */
	bool same_image; /* what differs is noise or environment */
};

/**
 * fb_measured_change() - Of a metric, from @old to @new, by their boots.
 * @alpha: of calling them different when they are not; whatever the number of boots.
 * @min_effect: ratio below which a change is called small; 0: none is.
 * @any_time: boots were added because of values: the interval of the size must allow for that.
 *
 * Boots of different environments are not compared with each other.
 */
void fb_measured_change(const struct fb_measured *old, const struct fb_measured *new,
			const char *cell_key, const char *metric, double alpha, double min_effect,
			bool any_time, struct fb_measured_change *ret);

/**
 * fb_measured_least_boots() - Boots of each of two revisions with which fb_measured_change() can
 * show a difference at all: when no value of the one lies between those of the other.
 */
unsigned fb_measured_least_boots(double alpha);

#endif
