/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Commits that change no code: theirs is the kernel of an ancestor. */
#ifndef FB_CONTROLLER_SAME_CODE_H
#define FB_CONTROLLER_SAME_CODE_H

#include "src/history/history.h"

/**
 * fb_same_code_parent() - Does a commit of a kernel range hold the code of its parent?
 * @ret_parent: its only parent, when it does and that one is in the range.
 *
 * Merges are not looked at. What counts as code: fb_code_same_file().
 *
 * Return: 1, 0, -1 on error.
 */
int fb_same_code_parent(struct fb_history *history, const struct fb_range *range, uint32_t node,
			uint32_t *ret_parent, struct fb_error *err);

#endif
