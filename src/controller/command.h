/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `bisect run CMD` is a bisection like any other: here a command becomes its plan. */
#ifndef FB_CONTROLLER_COMMAND_H
#define FB_CONTROLLER_COMMAND_H

#include <stdbool.h>

#include "src/controller/progress.h"
#include "src/history/history.h"
#include "src/util/hash.h"

struct fb_command_plan {
	char *const *argv;		     /* program and arguments, NULL-terminated */
	const char *better;		     /* "higher", "lower" or "neither": not known */
	const char *confidence, *min_effect; /* as in a plan; NULL: its default */
	unsigned max_runs;		     /* 0: no limit */
	bool flaky; /* a status may lie: as many runs of a commit as it takes */
};

/**
 * fb_command_plan_text() - The plan in YAML: machine "command", one cell, a verdict by exit status.
 *
 * Errors: FB_ERROR_INPUT for text that is not UTF-8.
 */
int fb_command_plan_text(const struct fb_command_plan *plan, char **ret, struct fb_error *err);

/**
 * fb_command_locate() - Make a command line that the user typed work in another directory.
 * @argv: words are replaced in place (owned). @bad: the commits' tree, at the bad end.
 *
 * The command runs at the top of a worktree that holds what git tracks. So the program, and
 * arguments that name a file that git neither tracks nor ignores, become absolute paths; a
 * program that the commits bring along stays theirs, relative to the top. @observer hears of
 * each file of the user's, and of each that the user has changed and the commits bring along.
 */
int fb_command_locate(struct fb_history *history, const struct fb_oid *bad, char **argv,
		      const struct fb_observer *observer, struct fb_error *err);

/**
 * fb_command_hash() - Words, and the contents of the files that they name by absolute paths.
 *
 * Two equal hashes: the same command, as far as can be seen.
 */
int fb_command_hash(char *const *argv, char ret[FB_HASH_HEX_SIZE], struct fb_error *err);

#endif
