/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finished builds: CACHE/images/KEY/ with result.json, build.log and, when the build was good,
 * vmlinux, config and maybe bzImage and modules/. An entry is made in CACHE/images/tmp.XXXXXX,
 * synced, then renamed. What a killed build leaves there is removed by the next one.
 */
#ifndef FB_BUILD_CACHE_H
#define FB_BUILD_CACHE_H

#include "src/build/build.h"

struct fb_cache_entry {
	char *dir; /* where it is being made */
	int lock;  /* held while it is being made; tells the live from the left over */
};

/** fb_cache_load() - A finished entry. 1 found, 0 not (also when it is damaged), -1 error. */
int fb_cache_load(const char *cache, const char *key, struct fb_build_result *ret,
		  struct fb_error *err);

/** fb_cache_begin() - A directory to make an entry in; removes left-over ones. */
int fb_cache_begin(const char *cache, struct fb_cache_entry *ret, struct fb_error *err);

/**
 * fb_cache_commit() - Write result.json, sync all of the entry and give it its name.
 * @result: paths in it are not used; which of bzimage and modules is set says what is there.
 *
 * When another process was first, its entry stays and ours is dropped.
 */
int fb_cache_commit(struct fb_cache_entry *entry, const char *cache, const char *key,
		    const struct fb_build_result *result, struct fb_error *err);

/** fb_cache_drop() - Remove what was begun and not committed. */
void fb_cache_drop(struct fb_cache_entry *entry);

#endif
