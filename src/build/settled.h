/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The .config of the last step, kept while all that it was made from is unchanged.
 *
 * What counts is contents, never time stamps: of each file that Kconfig itself says it read
 * (include/config/auto.conf.cmd: names do not matter, and none is missed), of the programs and
 * scripts that take part, and of each file that a Kconfig file names for a $(shell) command.
 * Where that cannot be told, nothing is kept.
 */
#ifndef FB_BUILD_SETTLED_H
#define FB_BUILD_SETTLED_H

#include "src/util/error.h"
#include "src/util/str.h"

/* Written by kconfig when it has read everything; removed by who wants to see it written. */
#define FB_SETTLED_LIST "include/config/auto.conf.cmd"

/**
 * fb_settled_load() - The .config in @objdir, when settling would make it again.
 * @ask: text or hash of what was asked for: base, fragments, compiler, environment.
 * @ret: appended to.
 *
 * Return: 1 it is, 0 not known to be, -1 error.
 */
int fb_settled_load(const char *src, const char *objdir, const char *ask, struct fb_str *ret,
		    struct fb_error *err);

/**
 * fb_settled_save() - Remember that @config was made of @ask and @src.
 *
 * FB_SETTLED_LIST must be of @src as it is now. When the inputs cannot be told, nothing is kept.
 */
int fb_settled_save(const char *src, const char *objdir, const char *ask,
		    const struct fb_str *config, struct fb_error *err);

/** fb_settled_forget() - Before .config or what kconfig writes is touched. */
int fb_settled_forget(const char *objdir, struct fb_error *err);

#endif
