/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The door to jansson: parsing with one-line errors, files, and a stable output form. */
#include "src/util/json.h"

#include "src/util/file.h"
#include "src/util/util.h"

json_t *fb_json_parse(const char *buf, size_t len, const char *name, size_t flags,
		      struct fb_error *err)
{
	json_error_t jerr;
	json_t *v = json_loadb(buf, len, flags, &jerr);

	if (!v)
		fb_error_set(err, FB_ERROR_INPUT, "%s:%d:%d: %s", name, jerr.line, jerr.column,
			     jerr.text);
	return v;
}

json_t *fb_json_load(const char *path, size_t max_b, struct fb_error *err)
{
	struct fb_str s = FB_STR_INIT;
	json_t *v = NULL;

	if (fb_file_read(path, max_b, &s, err) == 0)
		v = fb_json_parse(fb_str_cstr(&s), s.len, path, JSON_ALLOW_NUL, err);
	fb_str_release(&s);
	return v;
}

int fb_json_unpack(json_t *root, const char *name, struct fb_error *err, const char *fmt, ...)
{
	json_error_t jerr;
	va_list ap;
	int rc;

	va_start(ap, fmt);
	rc = json_vunpack_ex(root, &jerr, JSON_STRICT, fmt, ap);
	va_end(ap);
	if (rc < 0)
		return fb_error_set(err, FB_ERROR_INPUT, "%s: %s", name, jerr.text);
	return 0;
}

static int add(const char *buf, size_t len, void *ctx)
{
	fb_str_addn(ctx, buf, len);
	return 0;
}

void fb_json_line(const json_t *v, struct fb_str *out)
{
	json_dump_callback(v, add, out, JSON_COMPACT | JSON_ENCODE_ANY);
	fb_str_addc(out, '\n');
}

void fb_json_pretty(const json_t *v, struct fb_str *out)
{
	json_dump_callback(v, add, out, JSON_INDENT(2) | JSON_ENCODE_ANY);
	fb_str_addc(out, '\n');
}

int fb_json_save(const char *path, const json_t *v, struct fb_error *err)
{
	struct fb_str s = FB_STR_INIT;
	int rc;

	fb_json_pretty(v, &s);
	rc = fb_file_write(path, fb_str_cstr(&s), s.len, err);
	fb_str_release(&s);
	return rc;
}

const char *fb_json_str(const json_t *obj, const char *key)
{
	return json_string_value(json_object_get(obj, key));
}
