/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The door to liblzma: whole .xz files in memory. */
#ifndef FB_CONTROLLER_XZ_H
#define FB_CONTROLLER_XZ_H

#include <stdbool.h>
#include <stddef.h>

#include "src/util/error.h"
#include "src/util/str.h"

/** fb_xz_is() - Does @data begin as an .xz file? */
bool fb_xz_is(const char *data, size_t len);

/**
 * fb_xz_decode() - Unpack an .xz file (all its streams, checksums verified) and append it to @out.
 * @max_b: more unpacked bytes than this are an error.
 *
 * Errors: FB_ERROR_INPUT; @out then holds what could be read, which is not to be used.
 */
int fb_xz_decode(const char *data, size_t len, size_t max_b, struct fb_str *out,
		 struct fb_error *err);

#endif
