/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A bisection by hand that an automatic one goes on with, and gets back. */
#ifndef FB_CONTROLLER_HANDOVER_H
#define FB_CONTROLLER_HANDOVER_H

#include "src/controller/bisect.h"
#include "src/controller/manual.h"

/**
 * fb_handover_skips() - The commits skipped by hand are skips of @session, which was begun with
 * the ends that @m has now.
 */
int fb_handover_skips(const struct fb_manual *m, int64_t session, struct fb_error *err);

/**
 * fb_handover_back() - What was measured becomes values of the session by hand, and what exit
 * statuses said, where they do not lie, its verdicts. Each once.
 * @ret_nr: how many that were now.
 */
int fb_handover_back(struct fb_manual *m, const struct fb_bisect *b, size_t *ret_nr,
		     struct fb_error *err);

#endif
