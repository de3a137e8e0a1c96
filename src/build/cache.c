/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finished builds in the image cache. */
#include "src/build/cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/util/file.h"
#include "src/util/json.h"
#include "src/util/util.h"

#define RESULT_MAX_B (1u << 20)
#define SCHEMA	     1
#define TMP_PREFIX   "tmp."

static char *images_dir(const char *cache)
{
	return fb_xasprintf("%s/images", cache);
}

static bool is_file(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

static json_t *str_or_null(const char *s)
{
	return s ? json_string(s) : json_null();
}

/* Absolute paths stay out, so that a cache can be moved. */
static json_t *to_json(const struct fb_build_result *r)
{
	json_t *v = json_object();

	json_object_set_new(v, "schema", json_integer(SCHEMA));
	json_object_set_new(v, "outcome", json_string(r->outcome == FB_BUILD_OK ? "ok" : "failed"));
	json_object_set_new(v, "cause", str_or_null(r->cause));
	json_object_set_new(v, "signature", str_or_null(r->image.signature));
	json_object_set_new(v, "release", str_or_null(r->image.release));
	json_object_set_new(v, "toolchain", str_or_null(r->image.toolchain));
	json_object_set_new(v, "pvh", json_boolean(r->image.pvh));
	json_object_set_new(v, "bzimage", json_boolean(r->image.bzimage != NULL));
	json_object_set_new(v, "modules", json_boolean(r->image.modules != NULL));
	json_object_set_new(v, "wall_ns", json_integer(r->wall_ns));
	json_object_set_new(v, "cpu_ns", json_integer(r->cpu_ns));
	return v;
}

static char *dup_at(const json_t *v, const char *key)
{
	const char *s = fb_json_str(v, key);

	return s ? fb_xstrdup(s) : NULL;
}

static bool is_true(const json_t *v, const char *key)
{
	return json_is_true(json_object_get(v, key));
}

/* False when something that must be there is not: the entry is damaged. */
static bool from_json(const json_t *v, const char *dir, const char *key,
		      struct fb_build_result *ret)
{
	struct fb_build_result r = {.cached = true};
	const char *outcome = fb_json_str(v, "outcome");
	bool whole;

	if (json_integer_value(json_object_get(v, "schema")) != SCHEMA || !outcome)
		return false;
	r.outcome = !strcmp(outcome, "ok") ? FB_BUILD_OK : FB_BUILD_FAILED;
	r.log = fb_xasprintf("%s/build.log", dir);
	r.wall_ns = json_integer_value(json_object_get(v, "wall_ns"));
	r.cpu_ns = json_integer_value(json_object_get(v, "cpu_ns"));
	if (r.outcome == FB_BUILD_FAILED) {
		r.cause = dup_at(v, "cause");
		whole = r.cause != NULL;
	} else {
		r.image = (struct fb_image){
			.dir = fb_xstrdup(dir),
			.key = fb_xstrdup(key),
			.signature = dup_at(v, "signature"),
			.vmlinux = fb_xasprintf("%s/vmlinux", dir),
			.bzimage = is_true(v, "bzimage") ? fb_xasprintf("%s/bzImage", dir) : NULL,
			.config = fb_xasprintf("%s/config", dir),
			.modules = is_true(v, "modules") ? fb_xasprintf("%s/modules", dir) : NULL,
			.release = dup_at(v, "release"),
			.toolchain = dup_at(v, "toolchain"),
			.pvh = is_true(v, "pvh"),
		};
		whole = r.image.signature && r.image.release && r.image.toolchain &&
			is_file(r.image.vmlinux) && is_file(r.image.config) &&
			(!r.image.bzimage || is_file(r.image.bzimage)) &&
			(!r.image.modules || access(r.image.modules, R_OK | X_OK) == 0);
	}
	if (!whole) {
		fb_build_result_release(&r);
		return false;
	}
	*ret = r;
	return true;
}

int fb_cache_load(const char *cache, const char *key, struct fb_build_result *ret,
		  struct fb_error *err)
{
	FB_CLEANUP(fb_freep) char *dir = fb_xasprintf("%s/images/%s", cache, key);
	FB_CLEANUP(fb_freep) char *path = fb_xasprintf("%s/result.json", dir);
	json_auto_t *v = NULL;
	struct fb_error why = FB_ERROR_INIT;

	if (access(path, F_OK) < 0) {
		if (errno == ENOENT || errno == ENOTDIR)
			return 0;
		return fb_error_set_sys(err, errno, "image cache '%s'", dir);
	}
	v = fb_json_load(path, RESULT_MAX_B, &why);
	if (!v && why.code == FB_ERROR_SYSTEM) {
		*err = why;
		return -1;
	}
	return v && from_json(v, dir, key, ret) ? 1 : 0;
}

/* Directories of builds that were killed: nobody holds their lock. */
static int remove_leftovers(const char *images, struct fb_error *err)
{
	DIR *d = opendir(images);
	struct dirent *e;
	int rc = 0;

	if (!d)
		return fb_error_set_sys(err, errno, "open '%s'", images);
	while (rc == 0 && (e = readdir(d)) != NULL) {
		FB_CLEANUP(fb_freep) char *path = NULL;
		FB_CLEANUP(fb_closep) int fd = -1;

		if (strncmp(e->d_name, TMP_PREFIX, strlen(TMP_PREFIX)) != 0)
			continue;
		path = fb_xasprintf("%s/%s", images, e->d_name);
		fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0)
			rc = fb_remove_tree(path, err);
	}
	closedir(d);
	return rc;
}

int fb_cache_begin(const char *cache, struct fb_cache_entry *ret, struct fb_error *err)
{
	FB_CLEANUP(fb_freep) char *images = images_dir(cache);
	FB_CLEANUP(fb_freep) char *dir = fb_xasprintf("%s/" TMP_PREFIX "XXXXXX", images);
	FB_CLEANUP(fb_freep) char *gate_path = fb_xasprintf("%s/lock", cache);
	FB_CLEANUP(fb_closep) int gate = -1;
	int fd;

	if (fb_mkdirs(images, err) < 0)
		return -1;
	/* Between mkdtemp() and flock() a new directory looks left over: one at a time. */
	gate = open(gate_path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
	if (gate < 0 || flock(gate, LOCK_EX) < 0)
		return fb_error_set_sys(err, errno, "lock '%s'", gate_path);
	if (remove_leftovers(images, err) < 0)
		return -1;
	if (!mkdtemp(dir) || chmod(dir, 0755) < 0)
		return fb_error_set_sys(err, errno, "create '%s'", dir);
	fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) < 0)
		return fb_error_set_sys(err, errno, "lock '%s'", dir);
	ret->dir = FB_TAKE(dir);
	ret->lock = fd;
	return 0;
}

static int sync_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	FB_CLEANUP(fb_closep) int fd = -1;

	if (type == FTW_SL)
		return 0;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd < 0 || fsync(fd) < 0 ? -1 : 0;
}

static int sync_dir(const char *path, struct fb_error *err)
{
	FB_CLEANUP(fb_closep) int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0 || fsync(fd) < 0)
		return fb_error_set_sys(err, errno, "sync '%s'", path);
	return 0;
}

int fb_cache_commit(struct fb_cache_entry *entry, const char *cache, const char *key,
		    const struct fb_build_result *result, struct fb_error *err)
{
	FB_CLEANUP(fb_freep) char *images = images_dir(cache);
	FB_CLEANUP(fb_freep) char *to = fb_xasprintf("%s/%s", images, key);
	FB_CLEANUP(fb_freep) char *json_path = fb_xasprintf("%s/result.json", entry->dir);
	json_auto_t *v = to_json(result);
	struct fb_build_result theirs;
	int rc;

	if (fb_json_save(json_path, v, err) < 0)
		return -1;
	if (nftw(entry->dir, sync_one, 32, FTW_DEPTH | FTW_PHYS) < 0)
		return fb_error_set_sys(err, errno, "sync '%s'", entry->dir);
	if (rename(entry->dir, to) < 0) {
		if (errno != EEXIST && errno != ENOTEMPTY)
			return fb_error_set_sys(err, errno, "rename '%s'", entry->dir);
		rc = fb_cache_load(cache, key, &theirs, err);
		if (rc < 0)
			return -1;
		if (rc == 1) {
			fb_build_result_release(&theirs);
			return 0;
		}
		/* Damaged: ours takes its place. */
		if (fb_remove_tree(to, err) < 0)
			return -1;
		if (rename(entry->dir, to) < 0)
			return fb_error_set_sys(err, errno, "rename '%s'", entry->dir);
	}
	free(entry->dir);
	entry->dir = NULL;
	return sync_dir(images, err);
}

void fb_cache_drop(struct fb_cache_entry *entry)
{
	struct fb_error ignored = FB_ERROR_INIT; /* the next build removes it */

	if (entry->dir)
		fb_remove_tree(entry->dir, &ignored);
	free(entry->dir);
	if (entry->lock >= 0)
		close(entry->lock);
	*entry = (struct fb_cache_entry){.lock = -1};
}
