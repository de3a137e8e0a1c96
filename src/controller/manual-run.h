/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A command that judges what is checked out, as for `git bisect run`. */
#ifndef FB_CONTROLLER_MANUAL_RUN_H
#define FB_CONTROLLER_MANUAL_RUN_H

#include "src/controller/manual.h"

struct fb_manual_run {
	int status;	/* 128 + N for signal N */
	double *values; /* that it printed of the metric, when it exited with 0 */
	size_t nr_values;
	char *output;
};

/**
 * fb_manual_run() - Run @argv at the top of the worktree; its output is in BISECT_RUN meanwhile.
 * @metric: the one that counts, NULL for the only one that there is.
 *
 * Errors: FB_ERROR_MISSING when it is not to be found, FB_ERROR_INPUT for values that cannot be
 * read, FB_ERROR_USAGE for several metrics of which none was named.
 */
int fb_manual_run(struct fb_manual *m, char *const *argv, const char *metric,
		  struct fb_manual_run *ret, struct fb_error *err);
void fb_manual_run_release(struct fb_manual_run *run);

#endif
