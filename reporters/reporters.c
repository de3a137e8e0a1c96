/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The list of report formats. */
#include "reporters/report.h"

#include <string.h>

static const struct fb_reporter *const all[] = {&fb_reporter_json, &fb_reporter_plain, NULL};

const struct fb_reporter *const *fb_reporters(void)
{
	return all;
}

const struct fb_reporter *fb_reporter_find(const char *name)
{
	for (size_t i = 0; all[i]; i++)
		if (!strcmp(all[i]->name, name))
			return all[i];
	return NULL;
}
