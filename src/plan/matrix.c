/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The matrix of a plan: products of axes, less what is excluded, as checked cells. */
#include <stdlib.h>
#include <string.h>

#include "src/plan/needs.h"
#include "src/plan/reader.h"
#include "src/util/nearest.h"
#include "src/util/str.h"
#include "src/util/util.h"

#define CELLS_MAX 10000

/* Where the axes of one matrix entry stand. */
struct axis {
	const struct fb_yaml *key;
	const struct fb_yaml *value; /* a scalar, or a list of them */
	size_t nr, at;
	char **normal; /* the one spelling of each value, NULL for one without sense; or NULL */
};

struct axes {
	struct axis *v;
	size_t nr;
};

static void axes_release(struct axes *axes)
{
	for (size_t i = 0; i < axes->nr; i++) {
		for (size_t j = 0; axes->v[i].normal && j < axes->v[i].nr; j++)
			free(axes->v[i].normal[j]);
		free(axes->v[i].normal);
	}
	free(axes->v);
}

static const struct fb_yaml *axis_value(const struct axis *a)
{
	return a->value->kind == FB_YAML_LIST ? a->value->child[a->at] : a->value;
}

static bool has_param(const struct fb_testcase *testcase, const char *name)
{
	for (const struct fb_param_def *d = testcase->params; d->name; d++)
		if (!strcmp(d->name, name))
			return true;
	return false;
}

/* The place that an error of fb_cell_new() is about. */
static const struct fb_yaml *blame(const struct fb_plan_reader *r,
				   const struct fb_testcase *testcase, const struct fb_yaml *entry,
				   const struct axis *axes, size_t nr, int bad)
{
	if (bad >= 0)
		return has_param(testcase, axes[bad].key->text) ? axis_value(&axes[bad])
								: axes[bad].key;
	/* "iodepth: why": about the parameters together, but named by one of them. */
	for (size_t i = 0; i < nr; i++) {
		size_t len = strlen(axes[i].key->text);

		if (!strncmp(r->err->text, axes[i].key->text, len) && r->err->text[len] == ':')
			return axis_value(&axes[i]);
	}
	return entry;
}

/* What the cell cannot have is told at the parameter that asks for it, or at its testcase. */
static int check_needs(struct fb_plan_reader *r, const struct fb_cell *cell,
		       const struct fb_yaml *entry, const struct axis *axes, size_t nr)
{
	const char *machine = r->plan->machine ? r->plan->machine : "deterministic", *param = "";
	const struct fb_plan_has has = {
		.config = r->plan->fragments ? fb_str_cstr(&r->fragments) : NULL,
		.null_blk = !strcmp(machine, "deterministic"),
		.device = strcmp(machine, "command") != 0,
		.disk_b = r->plan->disk_b,
	};
	FB_CLEANUP(fb_freep) char *why = fb_plan_lacks(&has, cell, &param);
	const struct fb_yaml *node = fb_yaml_get(entry, "testcase");

	if (!why)
		return 0;
	for (size_t i = 0; i < nr; i++)
		if (!strcmp(axes[i].key->text, param))
			node = axis_value(&axes[i]);
	return fb_yaml_at(node, r->err, "%s", why);
}

static int add_cell(struct fb_plan_reader *r, const struct fb_testcase *testcase,
		    const struct fb_yaml *entry, const struct axis *axes, size_t nr, size_t *cap)
{
	FB_CLEANUP(fb_freep) struct fb_param *params = fb_xcalloc(nr ? nr : 1, sizeof(*params));
	struct fb_cell cell;
	int bad = -1;

	for (size_t i = 0; i < nr; i++)
		params[i] = (struct fb_param){axes[i].key->text, axis_value(&axes[i])->text};
	if (fb_cell_new(testcase, params, nr, &cell, &bad, r->err) < 0)
		return fb_yaml_wrap_at(blame(r, testcase, entry, axes, nr, bad), r->err);
	FB_GROW(r->plan->cells, r->plan->nr_cells, *cap);
	r->plan->cells[r->plan->nr_cells++] = cell;
	return r->stored ? 0 : check_needs(r, &cell, entry, axes, nr);
}

static int read_axes(struct fb_plan_reader *r, const struct fb_yaml *entry, struct axis *axes,
		     size_t *ret_nr)
{
	size_t nr = 0, product = 1;

	for (size_t i = 0; i < entry->nr; i += 2) {
		struct axis *a = &axes[nr];

		if (!strcmp(entry->child[i]->text, "testcase") ||
		    !strcmp(entry->child[i]->text, "exclude"))
			continue;
		*a = (struct axis){entry->child[i], entry->child[i + 1], 1, 0};
		if (a->value->kind == FB_YAML_MAP)
			return fb_yaml_at(a->value, r->err,
					  "a value or a list of values is expected, not a map");
		if (a->value->kind == FB_YAML_LIST) {
			a->nr = a->value->nr;
			if (!a->nr)
				return fb_yaml_at(a->value, r->err, "an empty list makes no cell");
			for (size_t j = 0; j < a->nr; j++)
				if (a->value->child[j]->kind != FB_YAML_SCALAR)
					return fb_yaml_at(a->value->child[j], r->err,
							  "a single value is expected in a list");
		}
		if (a->nr > CELLS_MAX / product)
			return fb_yaml_at(entry, r->err, "more than %d cells", CELLS_MAX);
		product *= a->nr;
		nr++;
	}
	if (r->plan->nr_cells + product > CELLS_MAX)
		return fb_yaml_at(entry, r->err, "more than %d cells in all", CELLS_MAX);
	*ret_nr = nr;
	return 0;
}

static int read_testcase(struct fb_plan_reader *r, const struct fb_yaml *entry,
			 const struct fb_testcase **ret)
{
	const struct fb_yaml *node = fb_yaml_get(entry, "testcase");
	struct fb_str list = FB_STR_INIT;
	struct fb_nearest near;
	const char *name, *hint;

	if (!node)
		return fb_yaml_at(entry, r->err, "'testcase' is missing");
	if (fb_plan_text_of(r, node, &name) < 0)
		return -1;
	*ret = fb_testcase_find(name);
	if (*ret)
		return 0;
	near = (struct fb_nearest){.name = name};
	for (const struct fb_testcase *const *t = fb_testcases(); *t; t++) {
		fb_nearest_offer(&near, (*t)->name);
		fb_str_addf(&list, "%s%s", list.len ? ", " : "", (*t)->name);
	}
	hint = fb_nearest_get(&near);
	if (hint)
		fb_yaml_at(node, r->err, "unknown testcase '%.64s'; did you mean '%s'?", name,
			   hint);
	else
		fb_yaml_at(node, r->err, "unknown testcase '%.64s'; there are: %s", name,
			   fb_str_cstr(&list));
	fb_str_release(&list);
	return -1;
}

/* --- exclude ----------------------------------------------------------------------------- */

/*
 * One parameter of an exclusion. Which values of the axis it is about is found out once, as a plan
 * may have thousands of cells and of exclusions.
 */
struct condition {
	const struct axis *axis; /* NULL: there is none, the default counts */
	bool *hit;		 /* of each value of the axis; or [0], of the default */
};

/* Leaves out the cells that meet all conditions. */
struct exclusion {
	const struct fb_yaml *map;
	struct condition *conditions;
	size_t nr;
	bool met; /* by any cell */
};

struct exclusions {
	struct exclusion *v;
	size_t nr;
};

static void exclusions_release(struct exclusions *x)
{
	for (size_t i = 0; i < x->nr; i++) {
		for (size_t j = 0; j < x->v[i].nr; j++)
			free(x->v[i].conditions[j].hit);
		free(x->v[i].conditions);
	}
	free(x->v);
}

/* A value that makes no sense has none; it is left to add_cell() to refuse. */
static void normalize(const struct fb_testcase *testcase, struct axes *axes)
{
	for (size_t i = 0; i < axes->nr; i++) {
		struct axis *a = &axes->v[i];

		a->normal = fb_xcalloc(a->nr, sizeof(*a->normal));
		for (a->at = 0; a->at < a->nr; a->at++) {
			struct fb_error ignored = FB_ERROR_INIT;

			a->normal[a->at] = fb_param_normal(testcase, a->key->text,
							   axis_value(a)->text, &ignored);
		}
		a->at = 0;
	}
}

static int add_value(struct fb_plan_reader *r, const struct fb_testcase *testcase,
		     const struct fb_yaml *key, const struct fb_yaml *value, struct condition *c)
{
	FB_CLEANUP(fb_freep) char *normal = NULL, *def = NULL;
	struct fb_error ignored = FB_ERROR_INIT;

	if (value->kind != FB_YAML_SCALAR)
		return fb_yaml_at(value, r->err, "a single value is expected here");
	normal = fb_param_normal(testcase, key->text, value->text, r->err);
	if (!normal)
		return fb_yaml_wrap_at(has_param(testcase, key->text) ? value : key, r->err);
	if (!c->axis)
		def = fb_param_normal(testcase, key->text, NULL, &ignored);
	if (def && !strcmp(def, normal))
		c->hit[0] = true;
	for (size_t i = 0; c->axis && i < c->axis->nr; i++)
		if (c->axis->normal[i] && !strcmp(c->axis->normal[i], normal))
			c->hit[i] = true;
	return 0;
}

static int read_exclusion(struct fb_plan_reader *r, const struct fb_testcase *testcase,
			  const struct axes *axes, const struct fb_yaml *map, struct exclusion *ret)
{
	if (map->kind != FB_YAML_MAP || !map->nr)
		return fb_yaml_at(map, r->err,
				  "exclude: maps such as {fs: ext4, bs: [4k, 64k]} are "
				  "expected");
	ret->map = map;
	ret->conditions = fb_xcalloc(map->nr / 2, sizeof(*ret->conditions));
	for (size_t i = 0; i < map->nr; i += 2) {
		const struct fb_yaml *key = map->child[i], *value = map->child[i + 1];
		bool list = value->kind == FB_YAML_LIST;
		struct condition *c = &ret->conditions[ret->nr++];

		if (list && !value->nr)
			return fb_yaml_at(value, r->err, "an empty list excludes nothing");
		for (size_t j = 0; j < axes->nr; j++)
			if (!strcmp(axes->v[j].key->text, key->text))
				c->axis = &axes->v[j];
		c->hit = fb_xcalloc(c->axis ? c->axis->nr : 1, sizeof(*c->hit));
		for (size_t j = 0; j < (list ? value->nr : 1); j++)
			if (add_value(r, testcase, key, list ? value->child[j] : value, c) < 0)
				return -1;
	}
	return 0;
}

static int read_exclusions(struct fb_plan_reader *r, const struct fb_testcase *testcase,
			   const struct fb_yaml *entry, struct axes *axes, struct exclusions *ret)
{
	const struct fb_yaml *node = fb_yaml_get(entry, "exclude");
	bool list = node && node->kind == FB_YAML_LIST;
	size_t nr = list ? node->nr : node ? 1 : 0;

	ret->v = fb_xcalloc(nr ? nr : 1, sizeof(*ret->v));
	if (nr)
		normalize(testcase, axes);
	for (size_t i = 0; i < nr; i++)
		if (read_exclusion(r, testcase, axes, list ? node->child[i] : node,
				   &ret->v[ret->nr++]) < 0)
			return -1;
	return 0;
}

static bool meets(const struct exclusion *x)
{
	for (size_t i = 0; i < x->nr; i++) {
		const struct condition *c = &x->conditions[i];

		if (!c->hit[c->axis ? c->axis->at : 0])
			return false;
	}
	return true;
}

/* Each exclusion is tried, so that one that is never met is found. */
static bool is_excluded(struct exclusions *x)
{
	bool excluded = false;

	for (size_t i = 0; i < x->nr; i++) {
		bool met = meets(&x->v[i]);

		x->v[i].met = x->v[i].met || met;
		excluded = excluded || met;
	}
	return excluded;
}

/* The product of the entry's axes; the first key changes slowest. */
static int read_entry(struct fb_plan_reader *r, const struct fb_yaml *entry, size_t *cap)
{
	FB_CLEANUP(exclusions_release) struct exclusions exclusions = {0};
	FB_CLEANUP(axes_release) struct axes axes = {0};
	const struct fb_testcase *testcase = NULL;
	size_t before = r->plan->nr_cells, i;

	if (entry->kind != FB_YAML_MAP)
		return fb_yaml_at(entry, r->err,
				  "matrix: 'testcase: NAME' and its parameters are expected");
	if (read_testcase(r, entry, &testcase) < 0)
		return -1;
	axes.v = fb_xcalloc(entry->nr / 2 + 1, sizeof(*axes.v));
	if (read_axes(r, entry, axes.v, &axes.nr) < 0 ||
	    read_exclusions(r, testcase, entry, &axes, &exclusions) < 0)
		return -1;
	do {
		if (!is_excluded(&exclusions) &&
		    add_cell(r, testcase, entry, axes.v, axes.nr, cap) < 0)
			return -1;
		for (i = axes.nr; i > 0; i--) {
			if (++axes.v[i - 1].at < axes.v[i - 1].nr)
				break;
			axes.v[i - 1].at = 0;
		}
	} while (i > 0);
	for (i = 0; i < exclusions.nr; i++)
		if (!exclusions.v[i].met)
			return fb_yaml_at(exclusions.v[i].map, r->err,
					  "exclude: no cell is like that");
	if (r->plan->nr_cells == before)
		return fb_yaml_at(fb_yaml_get(entry, "exclude"), r->err, "exclude: leaves no cell");
	return 0;
}

struct keyed {
	char *key;
	size_t cell;
};

static int by_key(const void *a, const void *b)
{
	const struct keyed *x = a, *y = b;
	int rc = strcmp(x->key, y->key);

	return rc ? rc : (x->cell > y->cell) - (x->cell < y->cell);
}

/* Two entries that make the same cell are a mistake in the plan; @first_cell: of each entry. */
static int check_distinct(struct fb_plan_reader *r, const struct fb_yaml *matrix,
			  const size_t *first_cell)
{
	size_t nr = r->plan->nr_cells, twice = nr;
	FB_CLEANUP(fb_freep) struct keyed *keyed = fb_xcalloc(nr, sizeof(*keyed));

	for (size_t i = 0; i < nr; i++)
		keyed[i] = (struct keyed){fb_cell_key(&r->plan->cells[i]), i};
	qsort(keyed, nr, sizeof(*keyed), by_key);
	for (size_t i = 1; i < nr; i++)
		if (!strcmp(keyed[i - 1].key, keyed[i].key) && keyed[i].cell < twice)
			twice = keyed[i].cell;
	for (size_t i = 0; i < nr; i++)
		free(keyed[i].key);
	if (twice < nr) {
		FB_CLEANUP(fb_freep) char *label = fb_cell_label(&r->plan->cells[twice]);
		size_t e = 0;

		while (e + 1 < matrix->nr && first_cell[e + 1] <= twice)
			e++;
		return fb_yaml_at(matrix->child[e], r->err, "the cell '%s' is there twice", label);
	}
	return 0;
}

int fb_plan_read_matrix(struct fb_plan_reader *r, const struct fb_yaml *node)
{
	FB_CLEANUP(fb_freep) size_t *first_cell = NULL;
	size_t cap = 0;

	if (node->kind != FB_YAML_LIST)
		return fb_yaml_at(node, r->err, "matrix: a list of '- testcase: NAME' is expected");
	if (!node->nr)
		return fb_yaml_at(node, r->err, "matrix: at least one testcase is expected");
	first_cell = fb_xcalloc(node->nr, sizeof(*first_cell));
	for (size_t i = 0; i < node->nr; i++) {
		first_cell[i] = r->plan->nr_cells;
		if (read_entry(r, node->child[i], &cap) < 0)
			return -1;
	}
	return check_distinct(r, node, first_cell);
}
