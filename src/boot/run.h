/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fb_boot_run() for the probe, which must not ask itself for a verdict first. */
#ifndef FB_BOOT_RUN_H
#define FB_BOOT_RUN_H

#include "src/boot/boot.h"

/** fb_boot_run_unprobed() - fb_boot_run() without looking at the probe's verdict. */
int fb_boot_run_unprobed(const struct fb_boot_spec *spec, const char *dir,
			 struct fb_boot_result *ret, struct fb_error *err);

#endif
