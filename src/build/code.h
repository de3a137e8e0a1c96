/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Do two versions of a source differ only in what no machine runs? */
#ifndef FB_BUILD_CODE_H
#define FB_BUILD_CODE_H

#include <stdbool.h>
#include <stddef.h>

/**
 * fb_code_same() - True when two C or assembler (.S) sources hold the same code.
 *
 * A comment counts as one blank, blanks count as one, blank lines do not count. Line breaks
 * do (they end preprocessor lines), except where a backslash joins lines. Text in strings and
 * character constants counts byte for byte.
 */
bool fb_code_same(const char *a, size_t a_len, const char *b, size_t b_len);

/**
 * fb_code_same_file() - True when a change of this file of a kernel tree cannot change what runs.
 * @a, @b: its contents before and after; NULL when it was added, removed or made another type.
 *
 * Either no kernel is made of it (documentation, selftests), or it is C of the same code.
 *
 * Why beside the signature of an image: __LINE__ is compiled into code (ext4_journal_start(),
 * btrfs_abort_transaction()), so that a comment added above it makes another image in which
 * no instruction differs, only constants that are printed.
 */
bool fb_code_same_file(const char *path, const char *a, size_t a_len, const char *b, size_t b_len);

#endif
