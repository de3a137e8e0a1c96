/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Line by line through a tool's output, with limits. */
#ifndef FB_TESTCASES_LINES_H
#define FB_TESTCASES_LINES_H

#include <stddef.h>

#include "src/util/error.h"

#define FB_LINE_MAX   4096	 /* longest line of a tool's report seen: 120 */
#define FB_OUTPUT_MAX (4u << 20) /* sysbench with --report-interval=1 for a day: 3 MB */

struct fb_lines {
	const char *name; /* of the tool, for errors */
	const char *p, *end;
	unsigned nr;		/* of the current line, from 1 */
	char line[FB_LINE_MAX]; /* the current line, without its end and leading blanks */
};

/** fb_lines_start() - Errors: FB_ERROR_INPUT when the output is longer than FB_OUTPUT_MAX. */
int fb_lines_start(struct fb_lines *l, const char *name, const char *out, size_t len,
		   struct fb_error *err);

/**
 * fb_lines_next() - Step to the next line.
 *
 * Return: 1, 0 at the end, -1 with FB_ERROR_INPUT for a NUL or a line that is too long.
 */
int fb_lines_next(struct fb_lines *l, struct fb_error *err);

#endif
