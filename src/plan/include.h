/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `include:` in a plan: other plans, or parts of them, that it builds on. */
#ifndef FB_PLAN_INCLUDE_H
#define FB_PLAN_INCLUDE_H

#include "src/plan/yaml.h"

#define FB_INCLUDE_DEPTH_MAX 8
#define FB_INCLUDE_FILES_MAX 64

/* The files that were read; the tree points to their names. A zeroed struct is empty. */
struct fb_includes {
	char **names;
};

/**
 * fb_include_expand() - Put what @root includes into it, and take the key away.
 * @root: from fb_yaml_parse(); its nodes may come from several files then.
 * @name: the plan's, from whose directory relative paths lead.
 *
 * A key of the plan hides that of an included file, and one of a later file that of an earlier
 * one; entries of "matrix" are put together, those of included files first. Relative paths in an
 * included file lead from its own directory; they are rewritten to lead from the plan's. A file
 * that is included more than once counts where it first stands.
 *
 * Return: 1 when something was included, 0, or -1 with FB_ERROR_INPUT and the place: no such file,
 * a cycle, too deep, too many.
 */
int fb_include_expand(struct fb_yaml *root, const char *name, struct fb_includes *includes,
		      struct fb_error *err);

/** fb_includes_release() - After the tree. */
void fb_includes_release(struct fb_includes *includes);

/** fb_include_resolve() - @path as seen from the directory of the file @from; owned. */
char *fb_include_resolve(const char *from, const char *path);

#endif
