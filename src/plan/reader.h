/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the parts of the plan's reader share; nothing outside of src/plan needs it. */
#ifndef FB_PLAN_READER_H
#define FB_PLAN_READER_H

#include "src/plan/plan.h"
#include "src/plan/yaml.h"
#include "src/util/str.h"

struct fb_plan_reader {
	const char *name;
	const char *kconfig_dir;
	const struct fb_yaml *root;
	struct fb_plan *plan;
	bool stored;		 /* was accepted once: what lies beside it is not looked at */
	struct fb_str fragments; /* their texts, one behind the other */
	struct fb_error *err;
};

/** fb_plan_text_of() - The text of a scalar that is not empty; borrowed. */
int fb_plan_text_of(struct fb_plan_reader *r, const struct fb_yaml *node, const char **ret);

/** fb_plan_read_matrix() - Fill the plan's cells. Errors: FB_ERROR_INPUT with the place. */
int fb_plan_read_matrix(struct fb_plan_reader *r, const struct fb_yaml *node);

#endif
