/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What measured kernels differ in, over the whole matrix of a plan. */
#include "src/controller/matrix.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bisect/fdr.h"
#include "bisect/stats.h"
#include "bisect/variance.h"
#include "src/util/util.h"

#define LEVEL	  0.95 /* of the intervals */
#define POWER	  0.9  /* of the boots that are said to settle a comparison */
#define MORE_MOST 1000 /* a larger number of boots is not told */

static int by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The different environments of the boots, sorted. */
static char *fingerprint_of(const struct fb_measured *m)
{
	FB_CLEANUP(fb_freep) const char **envs = fb_xcalloc(m->nr_boots, sizeof(*envs));
	struct fb_str s = FB_STR_INIT;

	for (size_t i = 0; i < m->nr_boots; i++)
		envs[i] = m->boots[i].env;
	qsort(envs, m->nr_boots, sizeof(*envs), by_text);
	for (size_t i = 0; i < m->nr_boots; i++)
		if (!i || strcmp(envs[i], envs[i - 1]) != 0)
			fb_str_addf(&s, "%s%s", i ? " " : "", envs[i]);
	return fb_str_take(&s);
}

static void count_failure(struct fb_matrix_kernel *k, const struct fb_store_boot *boot)
{
	size_t i = 0;

	while (i < k->nr_failures && strcmp(k->failures[i].end, boot->end) != 0)
		i++;
	if (i == k->nr_failures) {
		k->failures = fb_xrealloc(k->failures, i + 1, sizeof(*k->failures));
		/* The name of the table: it lasts. */
		k->failures[k->nr_failures++] =
			(struct fb_matrix_failure){fb_end_name(fb_end_find(boot->end)),
						   boot->why ? fb_xstrdup(boot->why) : NULL, 0};
	}
	k->failures[i].boots++;
}

static void fill_kernel(const struct fb_measured *m, struct fb_matrix_kernel *k)
{
	k->commit = fb_xstrdup(m->commit.hex);
	k->cause = m->cause ? fb_xstrdup(m->cause) : NULL;
	k->signature = m->signature ? fb_xstrdup(m->signature) : NULL;
	k->fingerprint = fingerprint_of(m);
	k->boots = (unsigned)m->nr_boots;
	for (size_t i = 0; i < m->nr_boots; i++)
		if (strcmp(m->boots[i].end, fb_end_name(FB_END_OK)) != 0)
			count_failure(k, &m->boots[i]);
}

static int by_name(const void *a, const void *b)
{
	const struct fb_param *const *x = a, *const *y = b;

	return strcmp((*x)->name, (*y)->name);
}

static void fill_axes(const struct fb_cell *cell, struct fb_matrix_cell *ret)
{
	char testcase[] = "testcase";
	struct fb_param first = {testcase, (char *)(uintptr_t)cell->testcase->name};
	FB_CLEANUP(fb_freep)
	const struct fb_param **p = fb_xcalloc(cell->nr_params + 1, sizeof(*p));

	p[0] = &first;
	for (size_t i = 0; i < cell->nr_params; i++)
		p[i + 1] = &cell->params[i];
	qsort(p, cell->nr_params + 1, sizeof(*p), by_name);
	for (size_t i = 0; i <= cell->nr_params; i++) {
		if (!strcmp(p[i]->name, "timeout")) /* does not change what is measured */
			continue;
		fb_strv_add(&ret->axes, p[i]->name);
		fb_strv_add(&ret->axis_values, p[i]->value);
		if (!strcmp(p[i]->name, "fs") && strcmp(p[i]->value, "none") != 0)
			ret->fs = p[i]->value;
	}
	ret->testcase = cell->testcase->name;
}

static enum fb_matrix_verdict first_verdict(const struct fb_compare *judged)
{
	switch (judged->verdict) {
	case FB_COMPARE_NOT_COMPARABLE:
		return FB_MATRIX_NOT_COMPARABLE;
	case FB_COMPARE_SMALL:
		return FB_MATRIX_SAME;
	case FB_COMPARE_OPEN:
	case FB_COMPARE_DIFFER:
		break;
	}
	return judged->nr_old && judged->nr_new ? FB_MATRIX_OPEN : FB_MATRIX_NO_VALUES;
}

static void fill_change(const struct fb_matrix_spec *spec, const struct fb_matrix_cell *cell,
			const char *metric, size_t kernel, struct fb_matrix_change *ret)
{
	struct fb_measured base = spec->measured[0];
	const struct fb_measured *m = &spec->measured[kernel];
	struct fb_measured_change c;

	if (base.nr_boots > m->nr_boots)
		base.nr_boots = m->nr_boots;
	fb_measured_change(&base, m, cell->key, metric, 1 - spec->plan->confidence,
			   spec->plan->min_effect, spec->any_time, &c);
	*ret = (struct fb_matrix_change){.verdict = first_verdict(&c.judged),
					 .effect = c.size.effect,
					 .lo = c.size.lo,
					 .hi = c.size.hi,
					 .is_ratio = c.is_ratio,
					 .log_e = c.judged.log_evidence,
					 .q = 1,
					 .same_image = c.same_image};
}

static void fill_row(const struct fb_matrix_spec *spec, const struct fb_cell *plan_cell,
		     const struct fb_matrix_cell *cell, const char *name, struct fb_matrix_row *row)
{
	const struct fb_metric *metric = fb_metric_find(name);
	enum fb_better better = fb_cell_better(plan_cell, name);

	row->metric = fb_xstrdup(name);
	row->unit = metric ? metric->unit : NULL;
	row->better = better == FB_BETTER_HIGHER ? 1 : better == FB_BETTER_LOWER ? -1 : 0;
	row->values = fb_xcalloc(spec->nr, sizeof(*row->values));
	row->nr_values = fb_xcalloc(spec->nr, sizeof(*row->nr_values));
	row->changes = fb_xcalloc(spec->nr, sizeof(*row->changes));
	for (size_t i = 0; i < spec->nr; i++) {
		const struct fb_measured *m = &spec->measured[i];

		row->values[i] = fb_xcalloc(m->nr_boots, sizeof(**row->values));
		for (size_t j = 0; j < m->nr_boots; j++) {
			double v = fb_boot_value(&m->boots[j], cell->key, name);

			if (isfinite(v))
				row->values[i][row->nr_values[i]++] = v;
		}
		if (i)
			fill_change(spec, cell, name, i, &row->changes[i]);
	}
}

/* Squares about the mean, on the scale of the comparison. */
static double squares(const double *v, size_t nr, bool log_scale)
{
	FB_CLEANUP(fb_freep) double *x = fb_xcalloc(nr, sizeof(*x));
	double ss = 0;

	for (size_t i = 0; i < nr; i++)
		x[i] = log_scale ? log(v[i]) : v[i];
	fb_stats_mean(x, nr, &ss);
	return ss;
}

/*
 * Boots of each side with which the comparison is settled if the effect is what it seems: shown,
 * or shown to be less than min_effect, whichever comes first. 0: more than are told.
 */
static unsigned boots_needed(const struct fb_matrix_row *row, size_t kernel, double alpha_differ,
			     double alpha_same, double min_effect)
{
	const struct fb_matrix_change *c = &row->changes[kernel];
	size_t n0 = row->nr_values[0], n1 = row->nr_values[kernel];
	double ss = squares(row->values[0], n0, c->is_ratio) +
		    squares(row->values[kernel], n1, c->is_ratio);
	double sd = n0 + n1 > 2 ? sqrt(ss / (double)(n0 + n1 - 2)) : NAN;
	double d = fabs(c->is_ratio ? log1p(c->effect) : c->effect);
	double room = c->is_ratio ? log1p(min_effect) - d : 0;
	unsigned differ = 0, same = 0, least = fb_measured_least_boots(alpha_differ);

	if (isnan(sd))
		return least;
	if (d > 0)
		differ = fb_variance_replicates(sd, d, alpha_differ, POWER, true, MORE_MOST);
	if (room > 0)
		same = fb_variance_replicates(sd, room, alpha_same, POWER, false, MORE_MOST);
	if (differ)
		differ = differ > least ? differ : least;
	least = fb_measured_least_boots(2 * alpha_same); /* one-sided */
	if (same)
		same = same > least ? same : least;
	return !differ ? same : !same || differ < same ? differ : same;
}

static void control(const struct fb_matrix_spec *spec, struct fb_matrix *m)
{
	size_t cap = 0, n = 0, found = 0;
	double alpha = 1 - m->confidence;
	FB_CLEANUP(fb_freep) struct fb_matrix_change **c = NULL;
	FB_CLEANUP(fb_freep) double *log_e = NULL;
	FB_CLEANUP(fb_freep) double *q = NULL;

	for (size_t i = 0; i < m->nr_cells; i++)
		cap += m->cells[i].nr_rows * spec->nr;
	c = fb_xcalloc(cap, sizeof(*c));
	log_e = fb_xcalloc(cap, sizeof(*log_e));
	q = fb_xcalloc(cap, sizeof(*q));
	for (size_t i = 0; i < m->nr_cells; i++)
		for (size_t r = 0; r < m->cells[i].nr_rows; r++)
			for (size_t k = 1; k < spec->nr; k++) {
				struct fb_matrix_change *x = &m->cells[i].rows[r].changes[k];

				if (x->verdict < FB_MATRIX_OPEN)
					continue;
				/* Less than an e-value is one, too. */
				log_e[n] = x->verdict == FB_MATRIX_SAME ? -INFINITY : x->log_e;
				c[n++] = x;
			}
	if (fb_fdr_adjust(log_e, n, q) < 0)
		abort(); /* out of memory, as fb_xmalloc() */
	m->nr_compared = n;
	for (size_t i = 0; i < n; i++) {
		c[i]->q = q[i];
		if (c[i]->verdict == FB_MATRIX_OPEN && q[i] <= alpha) {
			c[i]->verdict = FB_MATRIX_DIFFERS;
			found++;
		}
	}
	for (size_t i = 0; i < m->nr_cells; i++)
		for (size_t r = 0; r < m->cells[i].nr_rows; r++)
			for (size_t k = 1; k < spec->nr; k++) {
				struct fb_matrix_row *row = &m->cells[i].rows[r];
				struct fb_matrix_change *x = &row->changes[k];
				size_t have = row->nr_values[k];
				unsigned need;

				if (x->verdict == FB_MATRIX_DIFFERS)
					x->good = (x->effect > 0 ? 1 : -1) * row->better;
				if (x->verdict != FB_MATRIX_OPEN)
					continue;
				need = boots_needed(row, k, alpha * (double)(found + 1) / (double)n,
						    alpha, spec->plan->min_effect);
				x->more = !need ? 0 : need > have ? need - (unsigned)have : 1;
			}
}

void fb_matrix_fill(const struct fb_matrix_spec *spec, struct fb_matrix *ret)
{
	struct fb_matrix m = {.nr_kernels = spec->nr,
			      .nr_cells = spec->plan->nr_cells,
			      .confidence = spec->plan->confidence,
			      .min_effect = spec->plan->min_effect,
			      .any_time = spec->any_time};

	m.kernels = fb_xcalloc(m.nr_kernels, sizeof(*m.kernels));
	m.cells = fb_xcalloc(m.nr_cells, sizeof(*m.cells));
	for (size_t i = 0; i < m.nr_kernels; i++)
		fill_kernel(&spec->measured[i], &m.kernels[i]);
	for (size_t i = 0; i < m.nr_cells; i++) {
		struct fb_matrix_cell *cell = &m.cells[i];
		FB_CLEANUP(fb_strvp) char **names = NULL;

		cell->key = fb_cell_key(&spec->plan->cells[i]);
		cell->label = fb_cell_label(&spec->plan->cells[i]);
		fill_axes(&spec->plan->cells[i], cell);
		names = fb_measured_metrics(spec->measured, spec->nr, cell->key, spec->all);
		cell->nr_rows = fb_strv_len(names);
		cell->rows = fb_xcalloc(cell->nr_rows, sizeof(*cell->rows));
		for (size_t r = 0; r < cell->nr_rows; r++)
			fill_row(spec, &spec->plan->cells[i], cell, names[r], &cell->rows[r]);
	}
	control(spec, &m);
	*ret = m;
}

static void row_release(struct fb_matrix_row *row, size_t nr_kernels)
{
	for (size_t i = 0; i < nr_kernels; i++)
		free(row->values[i]);
	free(row->values);
	free(row->nr_values);
	free(row->changes);
	free(row->metric);
}

void fb_matrix_release(struct fb_matrix *m)
{
	for (size_t i = 0; i < m->nr_cells; i++) {
		struct fb_matrix_cell *cell = &m->cells[i];

		for (size_t r = 0; r < cell->nr_rows; r++)
			row_release(&cell->rows[r], m->nr_kernels);
		free(cell->rows);
		free(cell->key);
		free(cell->label);
		fb_strvp(&cell->axes);
		fb_strvp(&cell->axis_values);
	}
	for (size_t i = 0; i < m->nr_kernels; i++) {
		free(m->kernels[i].commit);
		free(m->kernels[i].subject);
		free(m->kernels[i].cause);
		free(m->kernels[i].signature);
		free(m->kernels[i].fingerprint);
		for (size_t j = 0; j < m->kernels[i].nr_failures; j++)
			free(m->kernels[i].failures[j].why);
		free(m->kernels[i].failures);
	}
	free(m->cells);
	free(m->kernels);
	memset(m, 0, sizeof(*m));
}

bool fb_matrix_left_out(const struct fb_matrix *m, unsigned max, bool *ret)
{
	bool any = false;

	for (size_t k = 1; k < m->nr_kernels; k++) {
		unsigned have = m->kernels[k].boots;

		ret[k] = true;
		for (size_t i = 0; i < m->nr_cells && ret[k]; i++)
			for (size_t r = 0; r < m->cells[i].nr_rows && ret[k]; r++) {
				const struct fb_matrix_change *c = &m->cells[i].rows[r].changes[k];

				ret[k] = !(c->verdict == FB_MATRIX_OPEN && c->more && have < max &&
					   c->more <= max - have);
			}
		any = any || !ret[k];
	}
	ret[0] = !any;
	return any;
}
