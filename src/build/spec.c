/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Build specs and results as JSON, and their release. */
#include <stdlib.h>
#include <string.h>

#include "src/build/build.h"
#include "src/util/json.h"
#include "src/util/util.h"

static json_t *str_or_null(const char *s)
{
	return s ? json_string(s) : json_null();
}

static json_t *strv_to_json(char *const *v)
{
	json_t *a = json_array();

	for (size_t i = 0; v && v[i]; i++)
		json_array_append_new(a, json_string(v[i]));
	return a;
}

static int strv_from_json(json_t *a, const char *what, char ***ret, struct fb_error *err)
{
	FB_CLEANUP(fb_strvp) char **v = NULL;
	size_t i;
	json_t *s;

	if (!json_is_array(a))
		return fb_error_set(err, FB_ERROR_INPUT, "%s: expected an array", what);
	json_array_foreach(a, i, s)
	{
		if (!json_is_string(s))
			return fb_error_set(err, FB_ERROR_INPUT, "%s[%zu]: expected a string", what,
					    i);
		fb_strv_add(&v, json_string_value(s));
	}
	*ret = FB_TAKE(v);
	return 0;
}

static char *dup_or_null(const char *s)
{
	return s ? fb_xstrdup(s) : NULL;
}

json_t *fb_build_spec_to_json(const struct fb_build_spec *spec)
{
	json_t *v = json_object();

	json_object_set_new(v, "src", str_or_null(spec->src));
	json_object_set_new(v, "tree_id", str_or_null(spec->tree_id));
	json_object_set_new(v, "objdir", str_or_null(spec->objdir));
	json_object_set_new(v, "cache", str_or_null(spec->cache));
	json_object_set_new(v, "config_base", str_or_null(spec->config_base));
	json_object_set_new(v, "fragments", strv_to_json(spec->fragments));
	json_object_set_new(v, "fixups", strv_to_json(spec->fixups));
	json_object_set_new(v, "jobs", json_integer(spec->jobs));
	json_object_set_new(v, "timeout_ns", json_integer(spec->timeout_ns));
	return v;
}

int fb_build_spec_from_json(json_t *v, struct fb_build_spec *ret, struct fb_error *err)
{
	FB_CLEANUP(fb_strvp) char **fragments = NULL;
	FB_CLEANUP(fb_strvp) char **fixups = NULL;
	const char *src, *tree_id, *objdir, *cache, *base;
	json_t *frag, *fix;
	json_int_t jobs, timeout_ns;

	if (fb_json_unpack(v, "build spec", err, "{s:s, s:s, s:s, s:s, s:s, s:o, s:o, s:I, s:I}",
			   "src", &src, "tree_id", &tree_id, "objdir", &objdir, "cache", &cache,
			   "config_base", &base, "fragments", &frag, "fixups", &fix, "jobs", &jobs,
			   "timeout_ns", &timeout_ns) < 0)
		return -1;
	if (jobs < 0 || jobs > 4096)
		return fb_error_set(err, FB_ERROR_INPUT, "build spec: jobs: %lld not in 0..4096",
				    (long long)jobs);
	if (timeout_ns < 0)
		return fb_error_set(err, FB_ERROR_INPUT, "build spec: timeout_ns: below 0");
	if (strv_from_json(frag, "build spec: fragments", &fragments, err) < 0 ||
	    strv_from_json(fix, "build spec: fixups", &fixups, err) < 0)
		return -1;
	*ret = (struct fb_build_spec){.src = fb_xstrdup(src),
				      .tree_id = fb_xstrdup(tree_id),
				      .objdir = fb_xstrdup(objdir),
				      .cache = fb_xstrdup(cache),
				      .config_base = fb_xstrdup(base),
				      .fragments = FB_TAKE(fragments),
				      .fixups = FB_TAKE(fixups),
				      .jobs = (unsigned)jobs,
				      .timeout_ns = timeout_ns};
	return 0;
}

void fb_build_spec_release(struct fb_build_spec *spec)
{
	free(spec->src);
	free(spec->tree_id);
	free(spec->objdir);
	free(spec->cache);
	free(spec->config_base);
	fb_strvp(&spec->fragments);
	fb_strvp(&spec->fixups);
	*spec = (struct fb_build_spec){0};
}

json_t *fb_build_result_to_json(const struct fb_build_result *r)
{
	json_t *v = json_object();

	json_object_set_new(v, "outcome", json_string(r->outcome == FB_BUILD_OK ? "ok" : "failed"));
	if (r->outcome == FB_BUILD_OK) {
		const struct fb_image *m = &r->image;
		json_t *i = json_object();

		json_object_set_new(i, "dir", str_or_null(m->dir));
		json_object_set_new(i, "key", str_or_null(m->key));
		json_object_set_new(i, "signature", str_or_null(m->signature));
		json_object_set_new(i, "vmlinux", str_or_null(m->vmlinux));
		json_object_set_new(i, "bzimage", str_or_null(m->bzimage));
		json_object_set_new(i, "config", str_or_null(m->config));
		json_object_set_new(i, "modules", str_or_null(m->modules));
		json_object_set_new(i, "release", str_or_null(m->release));
		json_object_set_new(i, "toolchain", str_or_null(m->toolchain));
		json_object_set_new(i, "pvh", json_boolean(m->pvh));
		json_object_set_new(v, "image", i);
	} else {
		json_object_set_new(v, "cause", str_or_null(r->cause));
	}
	json_object_set_new(v, "log", str_or_null(r->log));
	json_object_set_new(v, "wall_ns", json_integer(r->wall_ns));
	json_object_set_new(v, "cpu_ns", json_integer(r->cpu_ns));
	json_object_set_new(v, "cached", json_boolean(r->cached));
	return v;
}

static int image_from_json(json_t *v, struct fb_image *ret, struct fb_error *err)
{
	const char *dir, *key, *signature, *vmlinux, *config, *release, *toolchain;
	const char *bzimage = NULL, *modules = NULL;
	json_t *bz, *mod;
	int pvh;

	if (fb_json_unpack(v, "build result: image", err,
			   "{s:s, s:s, s:s, s:s, s:o, s:s, s:o, s:s, s:s, s:b}", "dir", &dir, "key",
			   &key, "signature", &signature, "vmlinux", &vmlinux, "bzimage", &bz,
			   "config", &config, "modules", &mod, "release", &release, "toolchain",
			   &toolchain, "pvh", &pvh) < 0)
		return -1;
	if ((!json_is_null(bz) && !(bzimage = json_string_value(bz))) ||
	    (!json_is_null(mod) && !(modules = json_string_value(mod))))
		return fb_error_set(err, FB_ERROR_INPUT,
				    "build result: image: bzimage and modules are strings or null");
	*ret = (struct fb_image){.dir = fb_xstrdup(dir),
				 .key = fb_xstrdup(key),
				 .signature = fb_xstrdup(signature),
				 .vmlinux = fb_xstrdup(vmlinux),
				 .bzimage = dup_or_null(bzimage),
				 .config = fb_xstrdup(config),
				 .modules = dup_or_null(modules),
				 .release = fb_xstrdup(release),
				 .toolchain = fb_xstrdup(toolchain),
				 .pvh = pvh};
	return 0;
}

int fb_build_result_from_json(json_t *v, struct fb_build_result *ret, struct fb_error *err)
{
	const char *outcome, *log, *cause = NULL;
	json_t *image = NULL;
	json_int_t wall_ns, cpu_ns;
	int cached;
	bool ok;
	struct fb_build_result r = {0};

	if (fb_json_unpack(v, "build result", err, "{s:s, s:s, s:I, s:I, s:b, s?s, s?o}", "outcome",
			   &outcome, "log", &log, "wall_ns", &wall_ns, "cpu_ns", &cpu_ns, "cached",
			   &cached, "cause", &cause, "image", &image) < 0)
		return -1;
	ok = !strcmp(outcome, "ok");
	if (!ok && strcmp(outcome, "failed") != 0)
		return fb_error_set(err, FB_ERROR_INPUT, "build result: unknown outcome '%s'",
				    outcome);
	if (ok ? !image || cause : !cause || image)
		return fb_error_set(err, FB_ERROR_INPUT,
				    "build result: '%s' needs %s and nothing else", outcome,
				    ok ? "image" : "cause");
	if (ok && image_from_json(image, &r.image, err) < 0)
		return -1;
	r.outcome = ok ? FB_BUILD_OK : FB_BUILD_FAILED;
	r.cause = dup_or_null(cause);
	r.log = fb_xstrdup(log);
	r.wall_ns = wall_ns;
	r.cpu_ns = cpu_ns;
	r.cached = cached;
	*ret = r;
	return 0;
}

void fb_build_result_release(struct fb_build_result *r)
{
	free(r->image.dir);
	free(r->image.key);
	free(r->image.signature);
	free(r->image.vmlinux);
	free(r->image.bzimage);
	free(r->image.config);
	free(r->image.modules);
	free(r->image.release);
	free(r->image.toolchain);
	free(r->cause);
	free(r->log);
	*r = (struct fb_build_result){0};
}
