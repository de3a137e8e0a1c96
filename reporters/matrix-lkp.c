/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A matrix as the tables of lkp-tests' ncompare: lib/compare.rb is the specification. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "reporters/matrix.h"
#include "src/util/util.h"

#define ABS_WIDTH 10
#define REL_WIDTH 10
#define ERR_WIDTH 6
#define FIRST	  (ABS_WIDTH + ERR_WIDTH)
#define WIDTH	  (FIRST + REL_WIDTH + 1)

static void add_times(const char *text, size_t n, struct fb_str *out)
{
	while (n--)
		fb_str_add(out, text);
}

static void join(char *const *words, struct fb_str *out)
{
	for (size_t i = 0; words && words[i]; i++)
		fb_str_addf(out, "%s%s", i ? "/" : "", words[i]);
}

/* The kernels that were booted: lkp knows no others. */
struct view {
	const struct fb_matrix_kernel **k;
	size_t *at; /* index in the matrix */
	size_t nr;
};

static void add_header(const struct view *m, const struct fb_matrix_cell *cell, struct fb_str *out)
{
	add_times("=", 89, out);
	fb_str_add(out, "\n");
	join(cell->axes, out);
	fb_str_add(out, ":\n  ");
	join(cell->axis_values, out);
	fb_str_add(out, "\n\ncommit: \n");
	for (size_t i = 0; i < m->nr; i++)
		fb_str_addf(out, "  %s\n", m->k[i]->commit);
	fb_str_addf(out, "\n%*.*s ", FIRST, FIRST, m->k[0]->commit);
	for (size_t i = 1; i < m->nr; i++)
		fb_str_addf(out, "%*.*s ", WIDTH, WIDTH, m->k[i]->commit);
	fb_str_add(out, "\n");
	for (size_t i = 0; i < m->nr; i++) {
		add_times("-", i ? WIDTH : FIRST, out);
		fb_str_add(out, " ");
	}
	fb_str_add(out, "\n");
}

static unsigned failed(const struct fb_matrix_kernel *k, const char *end)
{
	for (size_t i = 0; i < k->nr_failures; i++)
		if (!strcmp(k->failures[i].end, end))
			return k->failures[i].boots;
	return 0;
}

static void add_failure(const struct view *m, const char *end, struct fb_str *out)
{
	double share = (double)failed(m->k[0], end) / m->k[0]->boots;

	for (size_t i = 0; i < m->nr; i++) {
		unsigned n = failed(m->k[i], end);

		if (i)
			fb_str_addf(out, "%*.0f%% ", REL_WIDTH,
				    100 * ((double)n / m->k[i - 1]->boots - share));
		if (n)
			fb_str_addf(out, "%*u", ABS_WIDTH + 1, n);
		else
			fb_str_addf(out, "%*s", ABS_WIDTH + 1, "");
		fb_str_addf(out, ":%-*u", ERR_WIDTH - 2, m->k[i]->boots);
	}
	fb_str_addf(out, "  last_state.%s\n", end);
}

/* Those of all kernels, each once, sorted. */
static void add_failures(const struct view *m, struct fb_str *out)
{
	const char *last = "", *next;
	bool begun = false;

	do {
		next = NULL;
		for (size_t i = 0; i < m->nr; i++)
			for (size_t j = 0; j < m->k[i]->nr_failures; j++) {
				const char *end = m->k[i]->failures[j].end;

				if (strcmp(end, last) > 0 && (!next || strcmp(end, next) < 0))
					next = end;
			}
		if (!next)
			break;
		if (!begun) {
			fb_str_add(out, "       fail:runs");
			add_times("  %reproduction    fail:runs", m->nr - 1, out);
			fb_str_add(out, "\n           |    ");
			add_times("         |             |    ", m->nr - 1, out);
			fb_str_add(out, "\n");
		}
		begun = true;
		add_failure(m, next, out);
		last = next;
	} while (true);
}

/* As Ruby's "%10d" prints a Float: the floor. */
static void add_value(double v, struct fb_str *out)
{
	if (fabs(v) < 1000)
		fb_str_addf(out, "%*.2f", ABS_WIDTH, v);
	else if (fabs(v) > 1e8)
		fb_str_addf(out, "%*.4g", ABS_WIDTH, v);
	else
		fb_str_addf(out, "%*.0f", ABS_WIDTH, floor(v));
}

static bool is_absolute(const char *metric)
{
	return fb_str_has_prefix(metric, "perf-profile") || fb_str_has_suffix(metric, "%");
}

/* Mean, and the standard deviation of a population (its divisor is N); -1 for a single value. */
static double average(const double *v, size_t nr, double *ret_sd)
{
	double mean = 0, ss = 0;

	for (size_t i = 0; i < nr; i++)
		mean += v[i] / (double)nr;
	for (size_t i = 0; i < nr; i++)
		ss += (v[i] - mean) * (v[i] - mean);
	*ret_sd = nr > 1 ? sqrt(ss / (double)nr) : -1;
	return mean;
}

static void add_row(const struct view *m, const struct fb_matrix_row *row, struct fb_str *out)
{
	bool absolute = is_absolute(row->metric);
	double base = 0;

	for (size_t i = 0; i < m->nr; i++) {
		size_t at = m->at[i];
		double spread, avg = average(row->values[at], row->nr_values[at], &spread);

		if (i) {
			double by = base != 0 ? base : 1e-100;
			double change = absolute ? avg - base : 100 * (avg - base) / by;

			fb_str_addf(out, fabs(change) < 100000 ? "%+*.1f" : "%+*.2g", REL_WIDTH,
				    change);
			fb_str_add(out, absolute ? "  " : "% ");
		} else {
			base = avg;
		}
		add_value(avg, out);
		if (avg != 0)
			spread = 100 * spread / avg;
		if (spread > 2)
			fb_str_addf(out, " ±%*.0f%%", ERR_WIDTH - 3, floor(spread));
		else
			fb_str_addf(out, "%*s", ERR_WIDTH, "");
	}
	fb_str_addf(out, "  %s\n", row->metric);
}

struct ranked {
	const struct fb_matrix_row *row;
	size_t group; /* rows of its prefix; 0 for that of the testcase */
};

static int by_rank(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;

	if (x->group != y->group)
		return x->group < y->group ? -1 : 1;
	return strcmp(x->row->metric, y->row->metric);
}

static size_t group_of(const struct fb_matrix_cell *cell, const char *metric)
{
	size_t len = strcspn(metric, "."), n = 0;

	if (len == strlen(cell->testcase) && !strncmp(metric, cell->testcase, len))
		return 0;
	for (size_t i = 0; i < cell->nr_rows; i++)
		n += strcspn(cell->rows[i].metric, ".") == len &&
		     !strncmp(cell->rows[i].metric, metric, len);
	return n;
}

/* The testcase's own metrics, then groups with fewer members first. */
static void add_rows(const struct view *m, const struct fb_matrix_cell *cell, struct fb_str *out)
{
	FB_CLEANUP(fb_freep) struct ranked *r = fb_xcalloc(cell->nr_rows, sizeof(*r));

	if (!cell->nr_rows)
		return;
	fb_str_add(out, "         %stddev");
	add_times("     %change         %stddev", m->nr - 1, out);
	fb_str_add(out, "\n             \\  ");
	add_times("        |                \\  ", m->nr - 1, out);
	fb_str_add(out, "\n");
	for (size_t i = 0; i < cell->nr_rows; i++)
		r[i] = (struct ranked){&cell->rows[i], group_of(cell, cell->rows[i].metric)};
	qsort(r, cell->nr_rows, sizeof(*r), by_rank);
	for (size_t i = 0; i < cell->nr_rows; i++)
		add_row(m, r[i].row, out);
}

void fb_matrix_lkp(const struct fb_matrix *matrix, struct fb_str *out)
{
	FB_CLEANUP(fb_freep)
	const struct fb_matrix_kernel **k = fb_xcalloc(matrix->nr_kernels, sizeof(*k));
	FB_CLEANUP(fb_freep) size_t *at = fb_xcalloc(matrix->nr_kernels, sizeof(*at));
	struct view m = {.k = k, .at = at};

	for (size_t i = 0; i < matrix->nr_kernels; i++)
		if (matrix->kernels[i].boots) {
			at[m.nr] = i;
			k[m.nr++] = &matrix->kernels[i];
		}
	for (size_t c = 0; c < matrix->nr_cells && m.nr > 1; c++) {
		add_header(&m, &matrix->cells[c], out);
		add_failures(&m, out);
		add_rows(&m, &matrix->cells[c], out);
		fb_str_add(out, "\n");
	}
}
