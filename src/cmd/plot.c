/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Values as points on lines of text. */
#include <math.h>
#include <string.h>

#include "src/cmd/cmd.h"
#include "src/util/util.h"

#define STRIP	 44
#define ROWS_MAX 16 /* as many fit a screen beside the rest */

static void find_limits(const struct fb_plot_row *rows, size_t nr, double *lo, double *hi)
{
	*lo = INFINITY;
	*hi = -INFINITY;
	for (size_t i = 0; i < nr; i++)
		for (size_t k = 0; k < rows[i].nr; k++) {
			*lo = fmin(*lo, rows[i].values[k]);
			*hi = fmax(*hi, rows[i].values[k]);
		}
}

static void plot_row(const struct fb_plot_row *row, double lo, double hi, struct fb_str *out)
{
	char strip[STRIP + 1];
	double sum = 0;

	memset(strip, ' ', STRIP);
	strip[STRIP] = '\0';
	for (size_t k = 0; k < row->nr; k++) {
		double at = hi > lo ? (row->values[k] - lo) / (hi - lo) : 0.5;
		char *c = &strip[(int)lrint(at * (STRIP - 1))];

		*c = *c == ' ' ? '.' : *c == '.' ? 'o' : 'O';
		sum += row->values[k];
	}
	fb_str_addf(out, "  %.12s %-6.6s|%s| %.5g\n", row->hex, row->note, strip,
		    sum / (double)row->nr);
}

void fb_plot(const struct fb_plot_row *rows, size_t nr, size_t near, struct fb_str *out)
{
	size_t from = 0, to = nr;
	double lo, hi;

	find_limits(rows, nr, &lo, &hi);
	if (!nr || !(lo <= hi))
		return;
	if (nr > ROWS_MAX) {
		from = near > ROWS_MAX / 2 ? near - ROWS_MAX / 2 : 0;
		from = from > nr - ROWS_MAX ? nr - ROWS_MAX : from;
		to = from + ROWS_MAX;
	}
	if (from)
		fb_str_addf(out, "  (%zu older)\n", from);
	for (size_t i = from; i < to; i++)
		plot_row(&rows[i], lo, hi, out);
	if (to < nr)
		fb_str_addf(out, "  (%zu newer)\n", nr - to);
	fb_str_addf(out, "%22s%-*.5g%*.5g\n", "", STRIP / 2, lo, STRIP / 2, hi);
}
