/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

#include "src/plan/plan.h"
#include "src/util/util.h"
#include "t/fuzz/fuzz.h"

#define CELLS_CHECKED 50 /* each check looks at all cells */

const char *const fuzz_corpora[] = {"t/fuzz/corpus/plan", NULL};

static void check(const struct fb_plan *plan, const uint8_t *data, size_t size)
{
	FUZZ_ASSERT(plan->nr_cells > 0 && plan->nr_cells <= 10000);
	FUZZ_ASSERT(plan->machine && plan->config_base && plan->cmdline);
	/* Of a plan that includes another the text is that of both. */
	FUZZ_ASSERT(memmem(data, size, "include", strlen("include")) ||
		    (strlen(plan->text) == size && !memcmp(plan->text, data, size)));
	FUZZ_ASSERT(plan->boots_min >= 1 && plan->boots_min <= plan->boots_max);
	FUZZ_ASSERT(plan->confidence > 0.5 && plan->confidence < 1);
	FUZZ_ASSERT(plan->min_effect > 0 && plan->min_effect <= 1);
	FUZZ_ASSERT(plan->bisect_cell >= -1 && plan->bisect_cell < (int)plan->nr_cells);
	for (size_t i = 0; i < plan->nr_cells && i < CELLS_CHECKED; i++) {
		FB_CLEANUP(fb_freep) char *key = fb_cell_key(&plan->cells[i]);
		struct fb_error err = FB_ERROR_INIT;
		int cell;

		/* The name under which the store keeps a cell finds the cell again. */
		FUZZ_ASSERT(fb_plan_select(plan, key, &cell, &err) == 0);
		FUZZ_ASSERT(cell == (int)i);
	}
}

/* The text that a session keeps is the plan, and again the same text. */
static void check_text(const struct fb_plan *plan)
{
	FB_CLEANUP(fb_plan_freep) struct fb_plan *again = NULL;
	struct fb_error err = FB_ERROR_INIT;

	FUZZ_ASSERT(fb_plan_parse_stored(plan->text, "plan.yaml", "kconfigs", &again, &err) == 0);
	FUZZ_ASSERT(!strcmp(plan->text, again->text) && plan->nr_cells == again->nr_cells);
	FUZZ_ASSERT(plan->bisect_cell == again->bisect_cell);
	for (size_t i = 0; i < plan->nr_cells && i < CELLS_CHECKED; i++) {
		FB_CLEANUP(fb_freep) char *a = fb_cell_key(&plan->cells[i]);
		FB_CLEANUP(fb_freep) char *b = fb_cell_key(&again->cells[i]);

		FUZZ_ASSERT(!strcmp(a, b));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	FB_CLEANUP(fb_plan_freep) struct fb_plan *plan = NULL;
	struct fb_error err = FB_ERROR_INIT;

	if (fb_plan_parse((const char *)data, size, "plan.yaml", "kconfigs", &plan, &err) < 0) {
		FUZZ_ASSERT(err.code == FB_ERROR_INPUT && !plan);
		/* Of an included file it is that one's name. */
		FUZZ_ASSERT(!strncmp(err.text, "plan.yaml:", strlen("plan.yaml:")) ||
			    memmem(data, size, "include", strlen("include")));
		FUZZ_ASSERT(strncmp(err.text, "plan.yaml:0:", strlen("plan.yaml:0:")));
		return 0;
	}
	FUZZ_ASSERT(err.code == FB_ERROR_NONE);
	check(plan, data, size);
	check_text(plan);
	return 0;
}
