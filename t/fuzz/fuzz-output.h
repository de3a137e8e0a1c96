/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What holds for the parser of any testcase, whatever it is given. */
#ifndef FB_T_FUZZ_FUZZ_OUTPUT_H
#define FB_T_FUZZ_FUZZ_OUTPUT_H

#include <math.h>

#include "src/util/util.h"
#include "t/fuzz/fuzz.h"
#include "testcases/testcase.h"

/* A result has values, all finite and of the testcase; a failure has one error and no values. */
static inline void fuzz_output(const char *testcase, const struct fb_param *params,
			       size_t nr_params, const uint8_t *data, size_t size)
{
	const struct fb_testcase *t = fb_testcase_find(testcase);
	struct fb_values values = {0};
	struct fb_error err = FB_ERROR_INIT;
	struct fb_cell cell;
	int bad;

	FUZZ_ASSERT(fb_cell_new(t, params, nr_params, &cell, &bad, &err) == 0);
	if (t->parse(&cell, (const char *)data, size, &values, &err) < 0) {
		FUZZ_ASSERT(err.code == FB_ERROR_INPUT);
		FUZZ_ASSERT(values.nr == 0 && !values.v && !values.notes && !values.tool);
	} else {
		FUZZ_ASSERT(err.code == FB_ERROR_NONE);
		FUZZ_ASSERT(values.nr > 0);
		for (size_t i = 0; i < values.nr; i++) {
			FUZZ_ASSERT(isfinite(values.v[i].value));
			FUZZ_ASSERT(fb_cell_yields(&cell, values.v[i].metric));
			FUZZ_ASSERT(fb_values_get(&values, values.v[i].metric) ==
				    values.v[i].value);
		}
		FUZZ_ASSERT(!values.notes || fb_strv_len(values.notes) <= FB_NOTES_MAX);
	}
	fb_values_release(&values);
	fb_cell_release(&cell);
}

#endif
