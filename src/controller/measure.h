/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Measuring: every revision runs the whole matrix a number of times, interleaved. */
#ifndef FB_CONTROLLER_MEASURE_H
#define FB_CONTROLLER_MEASURE_H

#include "src/controller/lab.h"

struct fb_measured {
	struct fb_oid commit;
	char *signature;	     /* NULL when it does not build */
	char *cause;		     /* why not */
	struct fb_store_boot *boots; /* nr_boots */
	size_t nr_boots;
};

/** fb_measure_begin() - Store a session of kind "measure" for @revs. */
int fb_measure_begin(struct fb_store *store, struct fb_history *history,
		     const struct fb_plan *plan, const struct fb_oid *revs, size_t nr,
		     struct fb_session *ret, struct fb_error *err);

/**
 * fb_measure_run() - Build all, then boot each @boots times, in the order A B B A ...
 * @ret: nr results; free with fb_measured_free().
 *
 * On the deterministic machine boots that the store has already are taken from there.
 */
int fb_measure_run(struct fb_lab *lab, const struct fb_oid *revs, size_t nr, unsigned boots,
		   struct fb_measured **ret, struct fb_error *err);
void fb_measured_free(struct fb_measured *measured, size_t nr);

struct fb_summary {
	size_t nr;	   /* boots with a value */
	double mean, sd;   /* sd is NAN for fewer than two */
	double min, max;
};

/** fb_measured_summary() - Over the boots of one revision, one value a boot. */
struct fb_summary fb_measured_summary(const struct fb_measured *m, const char *cell_key,
				      const char *metric);

#endif
