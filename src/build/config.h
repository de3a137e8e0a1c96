/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Kernel config fragments: what they ask for, and whether a .config has it. */
#ifndef FB_BUILD_CONFIG_H
#define FB_BUILD_CONFIG_H

#include <stdbool.h>
#include <stddef.h>

#include "src/util/error.h"
#include "src/util/str.h"

struct fb_config_request {
	char *name;    /* "CONFIG_EXT4_FS" */
	char *value;   /* "y", "m", "250", "\"text\""; NULL: must be off */
	char *where;   /* "fs-ext4.config:5" */
	bool optional; /* a tree that cannot have it is fine */
};

struct fb_config {
	struct fb_config_request *request; /* one a symbol, the last one asked for */
	size_t nr, cap;
};

/**
 * fb_config_parse() - Add the requests of a fragment.
 * @name: shown in errors and in .where.
 *
 * A line is "CONFIG_X=value", "# CONFIG_X is not set", another comment, or blank. Behind the
 * first two may stand " # optional". A symbol asked for before is replaced.
 *
 * Errors: FB_ERROR_INPUT as "NAME:line: ...".
 */
int fb_config_parse(struct fb_config *config, const char *buf, size_t len, const char *name,
		    struct fb_error *err);

/** fb_config_add_text() - Append the requests as lines that kconfig reads. */
void fb_config_add_text(const struct fb_config *config, struct fb_str *out);

/**
 * fb_config_check() - Does the finished .config hold what was asked for?
 * @ret_why: when not, one line that names the symbols; owned.
 */
bool fb_config_check(const struct fb_config *config, const char *buf, size_t len, char **ret_why);

/** fb_config_is() - Is @name=@value in it? */
bool fb_config_is(const char *buf, size_t len, const char *name, const char *value);

/** fb_config_has_modules() - Is anything built as a module? */
bool fb_config_has_modules(const char *buf, size_t len);

void fb_config_release(struct fb_config *config);

#endif
