/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What of an ELF file a machine would load, as a hash. */
#ifndef FB_BUILD_SIGNATURE_H
#define FB_BUILD_SIGNATURE_H

#include <stdbool.h>

#include "src/util/error.h"
#include "src/util/hash.h"

/**
 * fb_signature_add() - Add the loadable part of an ELF file to a hash.
 * @bug_lines: false: the line numbers in the table of WARN() and BUG() places are left out. A
 *	commit that only moves lines changes them and nothing that runs.
 *
 * That is, of each section that is allocated and no note: name, flags, size, and the contents
 * where the file has any. Notes carry build ids; symbol and debug sections are not loaded.
 * In a relocatable file (a module) also the relocations of those sections, by symbol name:
 * there the contents alone do not say what is called.
 *
 * Errors: FB_ERROR_INPUT (no ELF file), FB_ERROR_SYSTEM.
 */
int fb_signature_add(struct fb_hash *hash, const char *path, bool bug_lines, struct fb_error *err);

/** fb_signature_has_pvh() - Does the file have the note for direct (PVH) boot? 1, 0, -1 error. */
int fb_signature_has_pvh(const char *path, struct fb_error *err);

#endif
