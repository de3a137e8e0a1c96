/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Many comparisons at once: which of them may be called different? */
#ifndef FB_BISECT_FDR_H
#define FB_BISECT_FDR_H

#include <stddef.h>

/**
 * fb_fdr_adjust() - The smallest false discovery rate at which each hypothesis is rejected.
 * @log_e: natural logs of e-values (fb_compare_judge()'s .log_evidence); -INFINITY: no evidence.
 * @ret: @nr values up to 1: those of at most alpha are discoveries.
 *
 * Of all discoveries the expected share of wrong ones is at most alpha, however the e-values
 * depend on each other, so cells that were measured in one boot need no correction (Benjamini and
 * Yekutieli's factor is for p values). When nothing differs, any discovery is a wrong share of 1,
 * so the chance of any is at most alpha.
 *
 * Return: 0, or -1 when memory runs out.
 * Source: R. Wang and A. Ramdas, "False discovery rate control with e-values", Journal of the
 * Royal Statistical Society B 84 (2022): the step-up procedure of Y. Benjamini and Y. Hochberg,
 * same journal 57 (1995), on the reciprocals, as R's p.adjust(1 / e, "BH") has it.
 */
int fb_fdr_adjust(const double *log_e, size_t nr, double *ret);

#endif
