/* SPDX-License-Identifier: GPL-2.0-or-later */
/* "Did you mean": the known name that is closest to a mistyped one. */
#ifndef FB_UTIL_NEAREST_H
#define FB_UTIL_NEAREST_H

#include <stddef.h>

/* The search so far; a zeroed struct with .name set to what was typed. */
struct fb_nearest {
	const char *name;
	const char *best; /* borrowed, or NULL */
	size_t distance;
};

/** fb_nearest_offer() - Consider one known name; it must live as long as @n. */
void fb_nearest_offer(struct fb_nearest *n, const char *known);

/**
 * fb_nearest_get() - The closest name offered, or NULL when none is close.
 *
 * Close means that at most a third of the letters (and at least one) are wrong; two
 * neighbouring letters that changed places count as one.
 */
const char *fb_nearest_get(const struct fb_nearest *n);

#endif
