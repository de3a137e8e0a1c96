/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From a bisection to the struct that reporters render. */
#ifndef FB_CONTROLLER_REPORTING_H
#define FB_CONTROLLER_REPORTING_H

#include "reporters/report.h"
#include "src/controller/bisect.h"

struct fb_reporting; /* owns what a report points to */

/** fb_reporting_new() - Fill a report from a loaded bisection, finished or not. */
int fb_reporting_new(const struct fb_bisect *b, struct fb_reporting **ret, struct fb_error *err);
const struct fb_report *fb_reporting_report(const struct fb_reporting *r);
void fb_reporting_free(struct fb_reporting *r);
void fb_reporting_freep(struct fb_reporting **r);

#endif
