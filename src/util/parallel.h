/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One function over many indices, on several processes. */
#ifndef FB_UTIL_PARALLEL_H
#define FB_UTIL_PARALLEL_H

#include <stddef.h>

#include "src/util/error.h"

/**
 * struct fb_parallel - What to do.
 *
 * Processes and not threads: libraries that keep tables of their own (libRmath does) may be used.
 */
struct fb_parallel {
	/*
	 * Item @i: writes its result, which begins as zeroes. Runs in a child process: nothing
	 * else of what it changes is seen by the caller.
	 */
	void (*work)(const void *ctx, size_t i, void *result);
	const void *ctx;
	size_t nr;     /* items 0 .. nr - 1 */
	size_t size;   /* of one result, bytes */
	unsigned jobs; /* processes; 0: one for each CPU that may be used */
	void (*tell)(void *tell_ctx, size_t done); /* about once a second; may be NULL */
	void *tell_ctx;
};

/**
 * fb_parallel_run() - Do all items.
 * @results: array of .nr results.
 *
 * A result depends on its index only, not on .jobs. The children die with the caller.
 *
 * Errors: FB_ERROR_SYSTEM; FB_ERROR_CHILD when a child died.
 */
int fb_parallel_run(const struct fb_parallel *parallel, void *results, struct fb_error *err);

#endif
