/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The formats of a matrix. */
#include "reporters/matrix.h"

const struct fb_matrix_format *fb_matrix_formats(void)
{
	static const struct fb_matrix_format formats[] = {
		{"json", fb_matrix_json},
		{"lkp", fb_matrix_lkp},
		{"plain", fb_matrix_plain},
		{NULL, NULL},
	};

	return formats;
}
