/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A matrix of cells measured on several kernels, and what differs; the first kernel is the base. */
#ifndef FB_REPORTERS_MATRIX_H
#define FB_REPORTERS_MATRIX_H

#include <stdbool.h>
#include <stddef.h>

#include "src/util/str.h"

/* How many boots of a kernel ended in a way that gave no values. */
struct fb_matrix_failure {
	const char *end; /* "panic" */
	char *why;	 /* of the first, or NULL */
	unsigned boots;
};

struct fb_matrix_kernel {
	char *commit;	   /* full hex */
	char *subject;	   /* plain text */
	char *cause;	   /* why it does not build, or NULL */
	char *signature;   /* of the image, or NULL */
	char *fingerprint; /* hashes of the environments of its boots, sorted, with blanks between
			    */
	unsigned boots;
	struct fb_matrix_failure *failures;
	size_t nr_failures;
};

enum fb_matrix_verdict {
	FB_MATRIX_NO_VALUES,	  /* one of the two has none */
	FB_MATRIX_NOT_COMPARABLE, /* no environment has boots of both */
	FB_MATRIX_OPEN,		  /* cannot tell yet */
	FB_MATRIX_DIFFERS,
	FB_MATRIX_SAME, /* does not differ by min_effect or more */
};

/* One kernel against the base. */
struct fb_matrix_change {
	enum fb_matrix_verdict verdict;
	double effect, lo, hi; /* 95 %; NAN, -+INFINITY where not known */
	bool is_ratio;	       /* kernel / base - 1; else kernel - base */
	int good;	       /* 1: the change is an improvement, -1: it is worse, 0: neither */
	double log_e;	       /* evidence for a difference, natural logarithm of the e-value */
	double q;	       /* smallest false discovery rate at which it differs */
	unsigned more;	       /* open: boots of each that settle it, about; 0: too many to say */
	bool same_image;
};

struct fb_matrix_row {
	char *metric;
	const char *unit; /* NULL: as the command says */
	int better;	  /* 1: higher, -1: lower, 0: neither */
	double **values;  /* by kernel: one value a boot */
	size_t *nr_values;
	struct fb_matrix_change *changes; /* by kernel; [0] is unused */
};

struct fb_matrix_cell {
	char *key, *label;	   /* fb_cell_key(), fb_cell_label() */
	char **axes;		   /* names, sorted, "testcase" among them; NULL-terminated */
	char **axis_values;	   /* as many */
	const char *testcase, *fs; /* fs: NULL when it has none */
	struct fb_matrix_row *rows;
	size_t nr_rows;
};

struct fb_matrix {
	struct fb_matrix_kernel *kernels;
	size_t nr_kernels;
	struct fb_matrix_cell *cells;
	size_t nr_cells;
	double confidence, min_effect;
	size_t nr_compared; /* comparisons that the false discovery rate is about */
	bool any_time;	    /* boots were added as values came */
};

struct fb_matrix_format {
	const char *name;
	void (*render)(const struct fb_matrix *matrix, struct fb_str *out);
};

/** fb_matrix_formats() - All formats, NULL name at the end, in strcmp order. */
const struct fb_matrix_format *fb_matrix_formats(void);

/**
 * fb_matrix_lkp() - The table of lkp-tests' ncompare, byte for byte.
 *
 * One group a cell. Rows of failures are "last_state." and how boots ended. Where it surprises
 * (numbers are cut, not rounded; the reproduction of a kernel divides by the runs of the one
 * before it; the spread of a single value is -1) it does what lib/compare.rb does.
 */
void fb_matrix_lkp(const struct fb_matrix *matrix, struct fb_str *out);

/* Plain text for a terminal; JSON, "schema": 1. */
void fb_matrix_plain(const struct fb_matrix *matrix, struct fb_str *out);
void fb_matrix_json(const struct fb_matrix *matrix, struct fb_str *out);

#define FB_LONG_PERCENT 1e6 /* from here on two digits behind the point tell nothing */

/** fb_matrix_add_size() - "+3.21%" for 0.0321, or, if it is no ratio, the number itself. */
void fb_matrix_add_size(double v, bool is_ratio, struct fb_str *out);

#endif
