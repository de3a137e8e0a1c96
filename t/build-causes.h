/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Logs of builds that failed, and what firstbad says of them. For u-build.c.
 */
#ifndef FB_T_BUILD_CAUSES_H
#define FB_T_BUILD_CAUSES_H

#include <stddef.h>

#include "src/build/log.h"

struct cause_row {
	const char *name, *log;
	enum fb_log_fault fault;
	const char *line, *package;
};

static const struct cause_row cause_row[] = {
	{ "cause: an empty log says so", "", FB_LOG_COMMIT, "no output", NULL },
};

#endif
