/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What came of a boot: a value, a verdict by exit status, or why there is neither. */
#ifndef FB_CONTROLLER_OUTCOME_H
#define FB_CONTROLLER_OUTCOME_H

#include "src/controller/bisect.h"

/* Exit statuses of a command that is a verdict; as for `git bisect run`. */
#define FB_STATUS_SKIP	     125
#define FB_STATUS_CANNOT_RUN 126 /* and 127: as a shell says it */
#define FB_STATUS_ABORT	     128 /* and above */

/**
 * fb_take_boot() - Record what a boot of @node gave.
 *
 * Errors: FB_ERROR_USAGE when what is asked for is never measured, or several metrics could be
 * meant; FB_ERROR_CHILD when the command asks to stop (128 and above), or cannot be run at all.
 */
int fb_take_boot(struct fb_bisect *b, uint32_t node, const struct fb_store_boot *boot,
		 struct fb_error *err);

/** fb_take_doubt() - The status in doubt is a verdict after all: the good end was asked. */
int fb_take_doubt(struct fb_bisect *b, struct fb_error *err);

#endif
