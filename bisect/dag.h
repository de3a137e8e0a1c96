/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A commit graph as indices: parents come before children. */
#ifndef FB_BISECT_DAG_H
#define FB_BISECT_DAG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fb_dag;

/** fb_dag_new() - An empty graph; NULL when memory runs out. Freed with fb_dag_free(). */
struct fb_dag *fb_dag_new(void);
void fb_dag_free(struct fb_dag *dag);

/**
 * fb_dag_add() - Append a node.
 * @parents: indices of nodes added before; @nr_parents may be 0.
 *
 * Return: 0, or -1 when memory runs out or a parent is not an earlier node.
 */
int fb_dag_add(struct fb_dag *dag, const uint32_t *parents, size_t nr_parents);

/** fb_dag_nr() - Number of nodes. */
uint32_t fb_dag_nr(const struct fb_dag *dag);

/** fb_dag_parents() - The parents of @node, borrowed from @dag. */
const uint32_t *fb_dag_parents(const struct fb_dag *dag, uint32_t node, size_t *ret_nr);

/** fb_dag_is_ancestor() - True when @descendant can reach @ancestor, or is it. */
bool fb_dag_is_ancestor(const struct fb_dag *dag, uint32_t ancestor, uint32_t descendant);

#endif
