/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where firstbad keeps things: the XDG base directories. */
#ifndef FB_UTIL_DIRS_H
#define FB_UTIL_DIRS_H

#include "src/util/error.h"

/** fb_dirs_check() - Is there a place for the two below? FB_ERROR_USAGE when there is none. */
int fb_dirs_check(struct fb_error *err);

/** fb_dir_cache() - $XDG_CACHE_HOME/firstbad or ~/.cache/firstbad; owned. ~: $HOME, else as in
 * passwd. */
char *fb_dir_cache(void);

/** fb_dir_data() - $XDG_DATA_HOME/firstbad or ~/.local/share/firstbad; owned. */
char *fb_dir_data(void);

#endif
