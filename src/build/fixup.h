/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Patches that a source tree gets for the time of a build.
 *
 * The patched files are made in a scratch directory first, then put in place one by one, each
 * by rename. A journal in the object directory holds the originals, so that a killed build's
 * patches are taken back by the next one. A file that gets the same patched contents as in the
 * last build gets the same time stamp too, so that make does not rebuild what includes it.
 */
#ifndef FB_BUILD_FIXUP_H
#define FB_BUILD_FIXUP_H

#include <stdint.h>

#include "src/util/error.h"

/**
 * fb_fixups_apply() - Patch the tree at @src.
 * @fixups: paths of patches (git diff or git format-patch form), applied in order; may be NULL.
 * @state: our directory for scratch files and the journal; created.
 * @tree_id: git id of what is checked out; kept in the journal.
 * @deadline_ns: monotonic; 0: none.
 * @ret_cause: when a patch does not apply, one line that names it; owned.
 *
 * A patch whose effect is there already (it went upstream) is left out. One with the line
 * "Firstbad-Fixup: optional" before its first diff is left out also where it does not apply.
 *
 * Return: 0 patched; 1 a patch does not apply, @src is as it was; -1 error.
 */
int fb_fixups_apply(const char *src, char *const *fixups, const char *state, const char *tree_id,
		    int64_t deadline_ns, char **ret_cause, struct fb_error *err);

/**
 * fb_fixups_undo() - Take back what the journal in @state names, also after a kill.
 * @tree_id: what is checked out now. When it is not the journal's, a file is taken back only
 *	if it still holds the patched contents: otherwise the checkout has replaced it.
 */
int fb_fixups_undo(const char *src, const char *state, const char *tree_id, struct fb_error *err);

#endif
