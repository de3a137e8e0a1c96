/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The door to libfyaml: a small tree with a position for each node, and limits.
 *
 * Plans come from people, but also from mails. Anchors, aliases, tags and several documents
 * are refused (nobody needs them in a plan, and aliases can blow up), so is what is larger or
 * nested deeper than any plan.
 */
#ifndef FB_PLAN_YAML_H
#define FB_PLAN_YAML_H

#include <stddef.h>

#include "src/util/error.h"
#include "src/util/str.h"

#define FB_YAML_SIZE_MAX  (256u << 10) /* bytes; a plan of 10,000 cells is a few lines */
#define FB_YAML_NODES_MAX 20000
#define FB_YAML_DEPTH_MAX 16

enum fb_yaml_kind {
	FB_YAML_SCALAR,
	FB_YAML_LIST,
	FB_YAML_MAP,
};

struct fb_yaml {
	enum fb_yaml_kind kind;
	const char *file;	/* @name of fb_yaml_parse(), borrowed */
	int line, column;	/* from 1 */
	char *text;		/* of a scalar; "" for an empty one */
	struct fb_yaml **child; /* of a list: items; of a map: key, value, key, value... */
	size_t nr, cap;
};

/**
 * fb_yaml_parse() - Read one document.
 * @name: shown in errors as NAME:line:column; must live as long as the tree.
 *
 * Keys of a map are scalars, each once. Errors: FB_ERROR_INPUT.
 */
int fb_yaml_parse(const char *buf, size_t len, const char *name, struct fb_yaml **ret,
		  struct fb_error *err);
void fb_yaml_free(struct fb_yaml *node);
void fb_yaml_freep(struct fb_yaml **node);

/**
 * fb_yaml_write() - Append a document with the same lists, maps and texts as @map.
 *
 * The top level in lines of its own, and so the items of its lists. Nothing of comments, places
 * and quoting is kept.
 */
void fb_yaml_write(const struct fb_yaml *map, struct fb_str *out);

/** fb_yaml_at() - FB_ERROR_INPUT with "FILE:LINE:COLUMN: " of @node in front; -1. */
int fb_yaml_at(const struct fb_yaml *node, struct fb_error *err, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/** fb_yaml_wrap_at() - Put the place of @node in front of the error that is set; -1. */
int fb_yaml_wrap_at(const struct fb_yaml *node, struct fb_error *err);

/** fb_yaml_get() - The value of a key of a map, or NULL. */
const struct fb_yaml *fb_yaml_get(const struct fb_yaml *map, const char *key);

#endif
