/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Hops from every node of a graph to the nearest of a set of nodes, along arcs in either
 * direction. The set only grows; a node that joins it costs a search of no more than what is
 * nearer to it than to all others.
 */
#ifndef FB_BISECT_NEAR_H
#define FB_BISECT_NEAR_H

#include <stddef.h>
#include <stdint.h>

/* No node of the set is connected with this one. */
#define FB_NEAR_NONE UINT32_MAX

struct fb_near;

/**
 * fb_near_new() - Prepare the hops of a graph.
 * @first, @parent: node v's parents are parent[first[v]..first[v + 1]); copied.
 * @nr: nodes.
 *
 * Return: NULL when memory runs out. Freed with fb_near_free().
 */
struct fb_near *fb_near_new(const uint32_t *first, const uint32_t *parent, uint32_t nr);
void fb_near_free(struct fb_near *near);

/** fb_near_of() - The parents and children of @node; borrowed. */
const uint32_t *fb_near_of(const struct fb_near *near, uint32_t node, size_t *ret_nr);

/**
 * fb_near_add() - @node joins a set.
 * @hops: of each node to the nearest of the set; FB_NEAR_NONE everywhere for the empty set.
 *
 * Exact, whatever the order in which nodes join.
 */
void fb_near_add(struct fb_near *near, uint32_t *hops, uint32_t node);

#endif
