/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What measured kernels differ in, over the whole matrix of a plan. */
#ifndef FB_CONTROLLER_MATRIX_H
#define FB_CONTROLLER_MATRIX_H

#include "reporters/matrix.h"
#include "src/controller/measure.h"

struct fb_matrix_spec {
	const struct fb_plan *plan;
	const struct fb_measured *measured; /* the first is the base */
	size_t nr;
	bool all;      /* all metrics, not only headline ones */
	bool any_time; /* boots were added because of values */
};

/**
 * fb_matrix_fill() - Judge each metric of each cell of each kernel against the base.
 * @ret: everything but .subject of the kernels; release it with fb_matrix_release().
 *
 * A kernel's boots are compared with as many of the base, the oldest: with fb_matrix_left_out()
 * these were made in the same rounds, and that a kernel got no more does not depend on the base's
 * later ones. What is not ruled out to be min_effect or more goes through the false discovery
 * control of bisect/fdr.h at 1 - confidence; "same" is wrong with that probability for each.
 */
void fb_matrix_fill(const struct fb_matrix_spec *spec, struct fb_matrix *ret);
void fb_matrix_release(struct fb_matrix *matrix);

/**
 * fb_matrix_left_out() - Who needs no boot in the next round.
 * @max: boots of a kernel; what would need more than these is given up.
 * @ret: nr_kernels flags; the base boots as long as anybody does.
 *
 * Return: whether anybody needs one.
 */
bool fb_matrix_left_out(const struct fb_matrix *matrix, unsigned max, bool *ret);

#endif
