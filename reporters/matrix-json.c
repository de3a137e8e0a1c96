/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A matrix as one JSON object. */
#include <jansson.h>
#include <math.h>

#include "reporters/matrix.h"
#include "src/util/json.h"

static const char *const verdicts[] = {
	[FB_MATRIX_NO_VALUES] = "no-values", [FB_MATRIX_NOT_COMPARABLE] = "not-comparable",
	[FB_MATRIX_OPEN] = "open",	     [FB_MATRIX_DIFFERS] = "differs",
	[FB_MATRIX_SAME] = "same",
};

/* JSON has no infinity: what is not known is left out. */
static void set_real(json_t *o, const char *key, double v)
{
	if (isfinite(v))
		json_object_set_new(o, key, json_real(v));
}

static json_t *kernel_json(const struct fb_matrix_kernel *k)
{
	json_t *failures = json_object(), *why = json_object();

	for (size_t i = 0; i < k->nr_failures; i++) {
		json_object_set_new(failures, k->failures[i].end,
				    json_integer((json_int_t)k->failures[i].boots));
		if (k->failures[i].why)
			json_object_set_new(why, k->failures[i].end,
					    json_string(k->failures[i].why));
	}
	return json_pack("{s:s, s:s*, s:s*, s:s*, s:s, s:i, s:o, s:o}", "commit", k->commit,
			 "subject", k->subject, "cause", k->cause, "signature", k->signature,
			 "fingerprint", k->fingerprint, "boots", (int)k->boots, "failures",
			 failures, "why", why);
}

static json_t *change_json(const struct fb_matrix *m, const struct fb_matrix_change *c, size_t i)
{
	json_t *o = json_pack("{s:i, s:s, s:s, s:b, s:b}", "kernel", (int)i, "commit",
			      m->kernels[i].commit, "verdict", verdicts[c->verdict], "is_ratio",
			      (int)c->is_ratio, "same_image", (int)c->same_image);

	set_real(o, "effect", c->effect);
	if (!c->is_ratio || c->lo > -1) /* a ratio cannot fall by more than all of it */
		set_real(o, "effect_lo", c->lo);
	set_real(o, "effect_hi", c->hi);
	if (c->verdict > FB_MATRIX_NOT_COMPARABLE) {
		set_real(o, "log_evidence", c->log_e);
		set_real(o, "false_discovery_rate", c->q);
	}
	if (c->verdict == FB_MATRIX_DIFFERS)
		json_object_set_new(o, "is",
				    json_string(c->good > 0   ? "better"
						: c->good < 0 ? "worse"
							      : "neither"));
	if (c->verdict == FB_MATRIX_OPEN && c->more)
		json_object_set_new(o, "more_boots", json_integer((json_int_t)c->more));
	return o;
}

static json_t *row_json(const struct fb_matrix *m, const struct fb_matrix_row *row)
{
	json_t *values = json_array(), *changes = json_array();

	for (size_t i = 0; i < m->nr_kernels; i++) {
		json_t *v = json_array();

		for (size_t j = 0; j < row->nr_values[i]; j++)
			json_array_append_new(v, json_real(row->values[i][j]));
		json_array_append_new(values, v);
		if (i)
			json_array_append_new(changes, change_json(m, &row->changes[i], i));
	}
	return json_pack("{s:s, s:s*, s:s, s:o, s:o}", "metric", row->metric, "unit", row->unit,
			 "better",
			 row->better > 0   ? "higher"
			 : row->better < 0 ? "lower"
					   : "neither",
			 "values", values, "changes", changes);
}

void fb_matrix_json(const struct fb_matrix *m, struct fb_str *out)
{
	json_auto_t *o = NULL;
	json_t *kernels = json_array(), *cells = json_array();

	for (size_t i = 0; i < m->nr_kernels; i++)
		json_array_append_new(kernels, kernel_json(&m->kernels[i]));
	for (size_t c = 0; c < m->nr_cells; c++) {
		const struct fb_matrix_cell *cell = &m->cells[c];
		json_t *rows = json_array();

		for (size_t i = 0; i < cell->nr_rows; i++)
			json_array_append_new(rows, row_json(m, &cell->rows[i]));
		json_array_append_new(cells, json_pack("{s:s, s:s, s:s*, s:o}", "cell", cell->key,
						       "testcase", cell->testcase, "fs", cell->fs,
						       "rows", rows));
	}
	o = json_pack("{s:i, s:f, s:f, s:i, s:s, s:o, s:o}", "schema", 1, "false_discovery_rate",
		      1 - m->confidence, "min_effect", m->min_effect, "compared",
		      (int)m->nr_compared, "change",
		      "kernel / base - 1, the first kernel is the base", "kernels", kernels,
		      "cells", cells);
	fb_json_pretty(o, out);
}
