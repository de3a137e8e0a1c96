/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Many comparisons at once: which of them may be called different? */
#include "bisect/fdr.h"

#include <math.h>
#include <stdlib.h>

struct ranked {
	double log_e;
	size_t at;
};

static int by_evidence(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;

	return (x->log_e < y->log_e) - (x->log_e > y->log_e);
}

int fb_fdr_adjust(const double *log_e, size_t nr, double *ret)
{
	struct ranked *r = malloc((nr ? nr : 1) * sizeof(*r));
	double least = 1;

	if (!r)
		return -1;
	for (size_t i = 0; i < nr; i++)
		r[i] = (struct ranked){log_e[i], i};
	qsort(r, nr, sizeof(*r), by_evidence);
	for (size_t k = nr; k > 0; k--) {
		least = fmin(least, exp(log((double)nr / (double)k) - r[k - 1].log_e));
		ret[r[k - 1].at] = least;
	}
	free(r);
	return 0;
}
