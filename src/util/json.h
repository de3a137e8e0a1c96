/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The door to jansson: parsing with one-line errors, files, and a stable output form. */
#ifndef FB_UTIL_JSON_H
#define FB_UTIL_JSON_H

#include <jansson.h>

#include "src/util/error.h"
#include "src/util/str.h"

/**
 * fb_json_parse() - Parse one JSON text.
 * @name: shown in errors as NAME:line:column.
 * @flags: jansson's JSON_* decoding flags.
 *
 * Return: new reference, or NULL with FB_ERROR_INPUT.
 */
json_t *fb_json_parse(const char *buf, size_t len, const char *name, size_t flags,
		      struct fb_error *err);

/** fb_json_load() - Parse a file of at most @max_b bytes; new reference or NULL. */
json_t *fb_json_load(const char *path, size_t max_b, struct fb_error *err);

/**
 * fb_json_unpack() - json_unpack_ex() in strict mode; @name stands before the error.
 *
 * Return: 0, or -1 with FB_ERROR_INPUT that names the key.
 */
int fb_json_unpack(json_t *root, const char *name, struct fb_error *err, const char *fmt, ...);

/** fb_json_line() - Append compact JSON and a newline. */
void fb_json_line(const json_t *v, struct fb_str *out);

/** fb_json_pretty() - Append indented JSON and a newline. Reals keep 17 digits (bit exact). */
void fb_json_pretty(const json_t *v, struct fb_str *out);

/** fb_json_save() - Write fb_json_pretty() of @v by fb_file_write(). */
int fb_json_save(const char *path, const json_t *v, struct fb_error *err);

/** fb_json_str() - The string at @key of @obj, borrowed; NULL when absent or no string. */
const char *fb_json_str(const json_t *obj, const char *key);

#endif
