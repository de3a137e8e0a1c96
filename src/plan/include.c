/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `include:` in a plan: other plans, or parts of them, that it builds on. */
#include "src/plan/include.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "src/util/file.h"
#include "src/util/util.h"

struct expander {
	const char *plan;	 /* its name: not a file when it begins with '(' */
	struct fb_includes *all; /* as shown in errors */
	char **real;		 /* the same, resolved: to know one again */
	const char *open[FB_INCLUDE_DEPTH_MAX + 1]; /* real paths of those being expanded */
	const char *shown[FB_INCLUDE_DEPTH_MAX + 1];
	int depth;
	struct fb_error *err;
};

char *fb_include_resolve(const char *from, const char *path)
{
	const char *slash = strrchr(from, '/');

	if (*path == '/' || !slash || *from == '(')
		return fb_xstrdup(path);
	return fb_xasprintf("%.*s/%s", (int)(slash - from), from, path);
}

/* --- paths ------------------------------------------------------------------------------- */

static void rewrite(struct fb_yaml *node, const char *from)
{
	char *path;

	if (node->kind != FB_YAML_SCALAR || !*node->text)
		return;
	path = fb_include_resolve(from, node->text);
	free(node->text);
	node->text = path;
}

/* What @map, read from @from as seen from the plan, names is seen from the plan then. */
static void rewrite_paths(struct fb_yaml *map, const char *from)
{
	for (size_t i = 0; i + 1 < map->nr; i += 2) {
		struct fb_yaml *value = map->child[i + 1];
		struct fb_yaml **item = value->kind == FB_YAML_LIST ? value->child : &value;
		size_t nr = value->kind == FB_YAML_LIST ? value->nr : 1;
		bool kconfig = !strcmp(map->child[i]->text, "kconfig");

		if (!kconfig && strcmp(map->child[i]->text, "config") != 0 &&
		    strcmp(map->child[i]->text, "fixups") != 0)
			continue;
		for (size_t j = 0; j < nr; j++)
			/* Fragments and configs with a name of ours are no files. */
			if (item[j]->kind == FB_YAML_SCALAR &&
			    (kconfig ? strchr(item[j]->text, '/') != NULL
				     : strcmp(item[j]->text, "defconfig") != 0))
				rewrite(item[j], from);
	}
}

/* --- putting together -------------------------------------------------------------------- */

static void add_child(struct fb_yaml *node, struct fb_yaml *child)
{
	FB_GROW(node->child, node->nr, node->cap);
	node->child[node->nr++] = child;
}

static size_t find_key(const struct fb_yaml *map, const char *key)
{
	size_t i = 0;

	while (i + 1 < map->nr && strcmp(map->child[i]->text, key) != 0)
		i += 2;
	return i;
}

/* Move the items of @from in front of those of @to. */
static void prepend_items(struct fb_yaml *to, struct fb_yaml *from)
{
	for (size_t i = 0; i < to->nr; i++)
		add_child(from, to->child[i]);
	free(to->child);
	to->child = from->child;
	to->nr = from->nr;
	to->cap = from->cap;
	from->child = NULL;
	from->nr = from->cap = 0;
}

/* Move into @to what it does not have; the matrix of both. @from is left a map without meaning. */
static void merge(struct fb_yaml *to, struct fb_yaml *from)
{
	for (size_t i = 0; i + 1 < from->nr; i += 2) {
		size_t k = find_key(to, from->child[i]->text);

		if (k + 1 >= to->nr) {
			add_child(to, from->child[i]);
			add_child(to, from->child[i + 1]);
			from->child[i] = from->child[i + 1] = NULL;
		} else if (!strcmp(from->child[i]->text, "matrix") &&
			   to->child[k + 1]->kind == FB_YAML_LIST &&
			   from->child[i + 1]->kind == FB_YAML_LIST) {
			prepend_items(to->child[k + 1], from->child[i + 1]);
		}
	}
}

/* --- files ------------------------------------------------------------------------------- */

/* "a.yaml > b.yaml > a.yaml", from the one that is included again; owned. */
static char *cycle_text(const struct expander *x, int first)
{
	struct fb_str s = FB_STR_INIT;

	for (int i = first; i < x->depth; i++)
		fb_str_addf(&s, "%s > ", x->shown[i]);
	fb_str_add(&s, x->shown[first]);
	return fb_str_take(&s);
}

static int expand(struct expander *x, struct fb_yaml *map, const char *from);

/* Read @path, seen from the plan, and expand it; a new map, or NULL when it was there already. */
static int read_file(struct expander *x, const struct fb_yaml *node, const char *path,
		     struct fb_yaml **ret)
{
	FB_CLEANUP(fb_yaml_freep) struct fb_yaml *map = NULL;
	FB_CLEANUP(fb_freep) char *name = fb_include_resolve(x->plan, path);
	FB_CLEANUP(fb_freep) char *real = realpath(name, NULL);
	FB_CLEANUP(fb_str_release) struct fb_str text = FB_STR_INIT;
	const struct fb_yaml *matrix;
	struct stat st;
	size_t nr;

	*ret = NULL;
	if (!real || stat(real, &st) < 0)
		return fb_yaml_at(node, x->err, "no file '%s' that can be read", name);
	if (!S_ISREG(st.st_mode))
		return fb_yaml_at(node, x->err, "'%s' is not a file", name);
	for (int i = 0; i < x->depth; i++)
		if (x->open[i] && !strcmp(x->open[i], real)) {
			FB_CLEANUP(fb_freep) char *cycle = cycle_text(x, i);

			return fb_yaml_at(node, x->err, "a cycle of includes: %s", cycle);
		}
	for (char **r = x->real; r && *r; r++)
		if (!strcmp(*r, real))
			return 0;
	if (x->depth > FB_INCLUDE_DEPTH_MAX)
		return fb_yaml_at(node, x->err, "included deeper than %d files",
				  FB_INCLUDE_DEPTH_MAX);
	nr = x->real ? fb_strv_len(x->real) : 0;
	if (nr == FB_INCLUDE_FILES_MAX)
		return fb_yaml_at(node, x->err, "more than %d files are included",
				  FB_INCLUDE_FILES_MAX);
	if (fb_file_read(real, FB_YAML_SIZE_MAX, &text, x->err) < 0)
		return fb_yaml_wrap_at(node, x->err);
	fb_strv_add(&x->real, real);
	fb_strv_add(&x->all->names, name);
	if (fb_yaml_parse(fb_str_cstr(&text), text.len, x->all->names[nr], &map, x->err) < 0)
		return -1;
	if (map->kind != FB_YAML_MAP)
		return fb_yaml_at(map, x->err, "an included plan: a map (key: value) is expected");
	matrix = fb_yaml_get(map, "matrix");
	if (matrix && matrix->kind != FB_YAML_LIST)
		return fb_yaml_at(matrix, x->err,
				  "matrix: a list of '- testcase: NAME' is expected");
	/* Before what it includes itself is in it, whose paths lead from elsewhere. */
	rewrite_paths(map, path);
	x->open[x->depth] = x->real[nr];
	x->shown[x->depth++] = x->all->names[nr];
	if (expand(x, map, path) < 0)
		return -1;
	x->depth--;
	*ret = FB_TAKE(map);
	return 0;
}

/* One file of the list, seen from @from; its map goes in front of @included. */
static int add_file(struct expander *x, const struct fb_yaml *node, const char *from,
		    struct fb_yaml **included)
{
	FB_CLEANUP(fb_freep) char *path = NULL;
	struct fb_yaml *map;

	if (node->kind != FB_YAML_SCALAR || !*node->text)
		return fb_yaml_at(node, x->err, "include: a file or a list of files is expected");
	path = fb_include_resolve(from, node->text);
	if (read_file(x, node, path, &map) < 0)
		return -1;
	if (!map)
		return 0;
	if (*included)
		merge(map, *included);
	fb_yaml_free(*included);
	*included = map;
	return 0;
}

/* Of @map, read from @from as seen from the plan. */
static int expand(struct expander *x, struct fb_yaml *map, const char *from)
{
	FB_CLEANUP(fb_yaml_freep) struct fb_yaml *included = NULL, *key = NULL, *value = NULL;
	size_t k = find_key(map, "include"), nr;
	struct fb_yaml **item;

	if (k + 1 >= map->nr)
		return 0;
	key = map->child[k];
	value = map->child[k + 1];
	memmove(&map->child[k], &map->child[k + 2], (map->nr - k - 2) * sizeof(*map->child));
	map->nr -= 2;
	item = value->kind == FB_YAML_LIST ? value->child : &value;
	nr = value->kind == FB_YAML_LIST ? value->nr : 1;
	for (size_t i = 0; i < nr; i++)
		if (add_file(x, item[i], from, &included) < 0)
			return -1;
	if (included)
		merge(map, included);
	return 1;
}

int fb_include_expand(struct fb_yaml *root, const char *name, struct fb_includes *includes,
		      struct fb_error *err)
{
	FB_CLEANUP(fb_freep) char *real = *name == '(' ? NULL : realpath(name, NULL);
	struct expander x = {.plan = name, .all = includes, .err = err};
	int rc;

	if (root->kind != FB_YAML_MAP)
		return 0;
	x.open[0] = real;
	x.shown[0] = name;
	x.depth = 1;
	/* What the plan itself names is seen from its directory already. */
	rc = expand(&x, root, "");
	fb_strvp(&x.real);
	return rc;
}

void fb_includes_release(struct fb_includes *includes)
{
	fb_strvp(&includes->names);
}
