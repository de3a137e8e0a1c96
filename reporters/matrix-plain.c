/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A matrix as plain text: headlines first, then each cell. */
#include <math.h>
#include <string.h>

#include "reporters/matrix.h"
#include "src/util/util.h"

#define OID_SHOWN 12

void fb_matrix_add_size(double v, bool is_ratio, struct fb_str *out)
{
	if (is_ratio && fabs(100 * v) >= FB_LONG_PERCENT)
		fb_str_addf(out, "%+.3g%%", 100 * v);
	else if (is_ratio)
		fb_str_addf(out, "%+.2f%%", 100 * v);
	else
		fb_str_addf(out, "%+.6g", v);
}

static void add_name(size_t i, struct fb_str *out)
{
	if (i)
		fb_str_addf(out, "[%zu]", i);
	else
		fb_str_add(out, "base");
}

/* Does any environment have boots of both? */
static bool share(const struct fb_matrix_kernel *a, const struct fb_matrix_kernel *b)
{
	for (const char *x = a->fingerprint; *x;) {
		size_t len = strcspn(x, " ");

		for (const char *y = b->fingerprint; *y;) {
			size_t n = strcspn(y, " ");

			if (n == len && !strncmp(x, y, n))
				return true;
			y += n + (y[n] == ' ');
		}
		x += len + (x[len] == ' ');
	}
	return false;
}

static void add_kernels(const struct fb_matrix *m, struct fb_str *out)
{
	for (size_t i = 0; i < m->nr_kernels; i++) {
		const struct fb_matrix_kernel *k = &m->kernels[i];

		add_name(i, out);
		fb_str_addf(out, "  %.*s  %s\n", OID_SHOWN, k->commit, k->subject);
		if (k->cause) {
			fb_str_addf(out, "      does not build: %s\n", k->cause);
			continue;
		}
		fb_str_addf(out, "      %u boot%s", k->boots, fb_plural(k->boots));
		for (size_t j = 0; j < k->nr_failures; j++)
			fb_str_addf(out, ", %u %s", k->failures[j].boots, k->failures[j].end);
		if (i && k->signature && m->kernels[0].signature &&
		    !strcmp(k->signature, m->kernels[0].signature))
			fb_str_add(out, "; the same image as the base");
		else if (i && k->boots && m->kernels[0].boots && !share(k, &m->kernels[0]))
			fb_str_add(out, "; ENVIRONMENT differs from the base's");
		fb_str_add(out, "\n");
		for (size_t j = 0; j < k->nr_failures; j++)
			if (k->failures[j].why)
				fb_str_addf(out, "      %s: %s\n", k->failures[j].end,
					    k->failures[j].why);
	}
}

struct tally {
	size_t nr, differ, better, worse, open, same;
	double lo, hi; /* of the changes that differ, where all are ratios */
	bool ratios;
};

static void count(const struct fb_matrix_change *c, struct tally *t)
{
	t->nr++;
	t->open += c->verdict == FB_MATRIX_OPEN;
	t->same += c->verdict == FB_MATRIX_SAME;
	if (c->verdict != FB_MATRIX_DIFFERS)
		return;
	t->differ++;
	t->better += c->good > 0;
	t->worse += c->good < 0;
	t->ratios = t->ratios && c->is_ratio;
	t->lo = fmin(t->lo, c->effect);
	t->hi = fmax(t->hi, c->effect);
}

static bool same_group(const struct fb_matrix_cell *a, const struct fb_matrix_cell *b)
{
	return !strcmp(a->testcase, b->testcase) && !a->fs == !b->fs &&
	       (!a->fs || !strcmp(a->fs, b->fs));
}

static void add_tally(const struct tally *t, size_t kernel, struct fb_str *out)
{
	add_name(kernel, out);
	fb_str_addf(out, " %zu of %zu differ%s", t->differ, t->nr, t->nr == 1 ? "s" : "");
	if (t->differ && t->ratios) {
		fb_str_add(out, " (");
		fb_matrix_add_size(t->lo, true, out);
		if (t->lo < t->hi) {
			fb_str_add(out, " .. ");
			fb_matrix_add_size(t->hi, true, out);
		}
		fb_str_add(out, ")");
	}
	if (t->worse)
		fb_str_addf(out, ", %zu worse", t->worse);
	if (t->better)
		fb_str_addf(out, ", %zu better", t->better);
	if (t->same)
		fb_str_addf(out, ", %zu %s not", t->same, t->same == 1 ? "does" : "do");
	if (t->open)
		fb_str_addf(out, ", %zu cannot be told yet", t->open);
	fb_str_add(out, "\n");
}

/* One headline for each testcase and file system, and each kernel. */
static void add_headlines(const struct fb_matrix *m, struct fb_str *out)
{
	for (size_t c = 0; c < m->nr_cells; c++) {
		const struct fb_matrix_cell *cell = &m->cells[c];
		bool first = true;

		for (size_t i = 0; i < c && first; i++)
			first = !same_group(&m->cells[i], cell);
		if (!first)
			continue;
		fb_str_addf(out, "%s%s%s:\n", cell->testcase, cell->fs ? " on " : "",
			    cell->fs ? cell->fs : "");
		for (size_t k = 1; k < m->nr_kernels; k++) {
			struct tally t = {.lo = INFINITY, .hi = -INFINITY, .ratios = true};

			for (size_t i = c; i < m->nr_cells; i++)
				for (size_t r = 0; r < m->cells[i].nr_rows; r++)
					if (same_group(&m->cells[i], cell))
						count(&m->cells[i].rows[r].changes[k], &t);
			fb_str_add(out, "  ");
			add_tally(&t, k, out);
		}
	}
}

static void add_verdict(const struct fb_matrix *m, const struct fb_matrix_change *c,
			struct fb_str *out)
{
	switch (c->verdict) {
	case FB_MATRIX_NO_VALUES:
		fb_str_add(out, "no values to compare");
		break;
	case FB_MATRIX_NOT_COMPARABLE:
		fb_str_add(out, "not compared: measured in different environments");
		break;
	case FB_MATRIX_OPEN:
		if (c->more)
			fb_str_addf(out, "cannot tell yet (%u more boot%s)", c->more,
				    fb_plural(c->more));
		else
			fb_str_add(out, "cannot tell yet (more boots than are sensible)");
		break;
	case FB_MATRIX_DIFFERS:
		fb_str_addf(out, "DIFFERS%s",
			    c->good > 0	  ? ", better"
			    : c->good < 0 ? ", worse"
					  : "");
		break;
	case FB_MATRIX_SAME:
		fb_str_addf(out, "does not differ by %.3g%%", 100 * m->min_effect);
		break;
	}
	if (c->same_image)
		fb_str_add(out, "; same image");
	fb_str_add(out, "\n");
}

static double mean_of(const double *v, size_t nr)
{
	double mean = 0;

	for (size_t i = 0; i < nr; i++)
		mean += v[i] / (double)nr;
	return mean;
}

static void add_row(const struct fb_matrix *m, const struct fb_matrix_row *row, struct fb_str *out)
{
	fb_str_addf(out, "  %s (%s%s)\n", row->metric,
		    row->unit ? row->unit : "as the command says",
		    row->better > 0   ? ", higher is better"
		    : row->better < 0 ? ", lower is better"
				      : "");
	for (size_t i = 0; i < m->nr_kernels; i++) {
		const struct fb_matrix_change *c = &row->changes[i];

		fb_str_add(out, "    ");
		add_name(i, out);
		if (row->nr_values[i])
			fb_str_addf(out, i ? "  %11.6g" : " %11.6g",
				    mean_of(row->values[i], row->nr_values[i]));
		else
			fb_str_addf(out, i ? "  %11s" : " %11s", "-");
		if (i && isfinite(c->effect)) {
			fb_str_add(out, "  ");
			fb_matrix_add_size(c->effect, c->is_ratio, out);
			if (isfinite(c->hi)) {
				fb_str_add(out, " (");
				fb_matrix_add_size(c->lo, c->is_ratio, out);
				fb_str_add(out, " .. ");
				fb_matrix_add_size(c->hi, c->is_ratio, out);
				fb_str_add(out, ")");
			}
		}
		if (i) {
			fb_str_add(out, "\n         ");
			add_verdict(m, c, out);
		} else {
			fb_str_add(out, "\n");
		}
	}
}

void fb_matrix_plain(const struct fb_matrix *m, struct fb_str *out)
{
	add_kernels(m, out);
	fb_str_add(out, "\n");
	add_headlines(m, out);
	for (size_t c = 0; c < m->nr_cells; c++) {
		if (!m->cells[c].nr_rows)
			continue;
		fb_str_addf(out, "\n%s\n", m->cells[c].label);
		for (size_t r = 0; r < m->cells[c].nr_rows; r++)
			add_row(m, &m->cells[c].rows[r], out);
	}
	fb_str_addf(
		out,
		"\nA change is kernel / base - 1, the median over all pairs of boots: + is larger\n"
		"than the base (kernel - base where a value is not positive). In brackets: 95%%\n"
		"intervals%s.\n"
		"Of what \"DIFFERS\" among %zu comparison%s at most %.2g%% is expected to be "
		"wrong.\n",
		m->any_time ? ", valid at any time" : "", m->nr_compared, fb_plural(m->nr_compared),
		100 * (1 - m->confidence));
}
