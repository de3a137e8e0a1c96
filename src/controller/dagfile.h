/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Commit graphs without commits: the .dag files that simulations run on.
 *
 *	# 5 commits of git.git v1.0.0..v1.0.1, oldest first; line n (from 0): ...
 *	(empty)		commit 0: its parents are outside the range
 *	0		commit 1: its parent is commit 0
 *	0
 *	1 2		a merge
 *	3		the last one is the bad end: every other commit is its ancestor
 *
 * The parents outside the range are the good end. Plain or .xz.
 */
#ifndef FB_CONTROLLER_DAGFILE_H
#define FB_CONTROLLER_DAGFILE_H

#include <stddef.h>
#include <stdint.h>

#include "bisect/dag.h"
#include "src/util/error.h"

#define FB_DAGFILE_COMMITS_MAX 4000000

struct fb_dagfile {
	struct fb_dag *dag;		/* node 0: the good end; node n + 1: commit n of the file */
	char *about;			/* the head line without "# ", for people */
	uint32_t nr_commits, nr_merges; /* without the good end; merges inside the range */
};

/**
 * fb_dagfile_load() - Read a graph.
 * @name: a file, or "line:N" for N commits in a line.
 * @ret: released with fb_dagfile_release().
 *
 * Errors: FB_ERROR_INPUT "FILE:LINE: expected ..."; FB_ERROR_SYSTEM; FB_ERROR_USAGE for a bad N.
 */
int fb_dagfile_load(const char *name, struct fb_dagfile *ret, struct fb_error *err);

/** fb_dagfile_parse() - The same for the bytes of a file, plain or .xz; @name is for errors. */
int fb_dagfile_parse(const char *data, size_t len, const char *name, struct fb_dagfile *ret,
		     struct fb_error *err);

void fb_dagfile_release(struct fb_dagfile *file);

#endif
