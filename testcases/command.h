/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a user's own command may report, and how its text becomes an argument vector. */
#ifndef FB_TESTCASES_COMMAND_H
#define FB_TESTCASES_COMMAND_H

#include <stddef.h>

#include "src/util/error.h"
#include "src/util/str.h"
#include "testcases/testcase.h"

/**
 * fb_command_split() - Split a command line into words without a shell.
 *
 * Blanks separate; '...', "...", \ and (for control bytes) $'...' quote as in a shell. What only a
 * shell could do (unquoted | & ; < > ( ) $ ` * ? [ ~ and $ ` within "...") is FB_ERROR_INPUT.
 * @ret: NULL-terminated, owned, at least one word.
 */
int fb_command_split(const char *text, char ***ret, struct fb_error *err);

/** fb_command_join() - The text that fb_command_split() makes @words of, one line; owned. */
char *fb_command_join(char *const *words);

/**
 * fb_command_parse() - The values in the output of a command that exited with 0.
 *
 * Only lines that begin with "firstbad:" count: "firstbad: METRIC VALUE". No such line is
 * success with no values (the exit status is then a verdict, as for git bisect run).
 */
int fb_command_parse(const char *out, size_t len, struct fb_values *ret, struct fb_error *err);

#endif
