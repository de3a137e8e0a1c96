/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Patches that a source tree gets for the time of a build. */
#include "src/build/fixup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "src/util/clock.h"
#include "src/util/file.h"
#include "src/util/hash.h"
#include "src/util/json.h"
#include "src/util/proc.h"
#include "src/util/util.h"

#define PATCH_MAX_B   (16u << 20)
#define JOURNAL_MAX_B (16u << 20)
#define OPTIONAL_LINE "Firstbad-Fixup: optional"

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static bool exists(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0;
}

/* A path that stays inside the tree. */
static bool is_safe(const char *path)
{
	if (!*path || *path == '/')
		return false;
	for (const char *p = path; p; p = strchr(p, '/')) {
		p += *p == '/';
		if (!strncmp(p, "..", 2) && (!p[2] || p[2] == '/'))
			return false;
	}
	return true;
}

static int make_parents(const char *path, struct fb_error *err)
{
	FB_CLEANUP(fb_freep) char *dir = fb_xstrdup(path);
	char *slash = strrchr(dir, '/');

	*slash = '\0';
	return fb_mkdirs(dir, err);
}

static void add_once(char ***v, const char *s)
{
	for (size_t i = 0; *v && (*v)[i]; i++)
		if (!strcmp((*v)[i], s))
			return;
	fb_strv_add(v, s);
}

/*
 * Paths that a patch may touch. Too many do no harm: they are only copied to the scratch
 * directory. Lines inside hunks look alike and give such paths.
 */
static void list_paths(const char *text, char ***paths)
{
	static const char *const starts[] = {"--- ",	   "+++ ",	 "rename from ",
					     "rename to ", "copy from ", "copy to "};

	for (const char *p = text; *p;) {
		size_t n = strcspn(p, "\n");

		for (size_t i = 0; i < FB_ARRAY_SIZE(starts); i++) {
			size_t k = strlen(starts[i]);
			FB_CLEANUP(fb_freep) char *path = NULL;
			const char *use;

			if (n <= k || strncmp(p, starts[i], k) != 0)
				continue;
			path = fb_xstrndup(p + k, n - k);
			path[strcspn(path, "\t\r")] = '\0';
			use = path;
			if (i < 2) {
				if (!strcmp(path, "/dev/null") || !strchr(path, '/'))
					continue;
				use = strchr(path, '/') + 1;
			}
			if (is_safe(use))
				add_once(paths, use);
		}
		p += n + (p[n] == '\n');
	}
}

static bool is_optional(const char *text)
{
	const char *diff = strstr(text, "\ndiff "), *mark = strstr(text, OPTIONAL_LINE);

	if (!diff)
		diff = strstr(text, "\n--- ");
	return mark && (mark == text || mark[-1] == '\n') && (!diff || mark < diff);
}

/* 0 applied (or would), 1 not, -1 error; @ret_line: git's first line when not. */
static int git_apply(const char *dir, const char *patch, bool check, bool reverse,
		     int64_t deadline_ns, char **ret_line, struct fb_error *err)
{
	const char *argv[8] = {"git", "apply"};
	size_t n = 2;
	/* Nothing above may be taken for a repository: git would skip paths outside its prefix. */
	FB_CLEANUP(fb_freep) char *ceiling = NULL;
	const char *env[] = {NULL,
			     "LC_ALL=C",
			     "GIT_DIR",
			     "GIT_WORK_TREE",
			     "GIT_INDEX_FILE",
			     "GIT_CONFIG_GLOBAL=/dev/null",
			     "GIT_CONFIG_SYSTEM=/dev/null",
			     NULL};
	struct fb_proc_spec spec = {.argv = argv, .env = env, .dir = dir};
	struct fb_proc_result result;
	const char *line;

	ceiling = fb_xasprintf("GIT_CEILING_DIRECTORIES=%s", dir);
	*strrchr(ceiling, '/') = '\0';
	env[0] = ceiling;
	if (check)
		argv[n++] = "--check";
	if (reverse)
		argv[n++] = "--reverse";
	argv[n++] = "--whitespace=nowarn";
	argv[n++] = "--";
	argv[n++] = patch;
	argv[n] = NULL;
	if (deadline_ns) {
		spec.timeout_ns = deadline_ns - fb_clock_mono_ns();
		if (spec.timeout_ns <= 0)
			return fb_error_set(err, FB_ERROR_TIMEOUT, "build ran out of time");
	}
	if (fb_proc_run(&spec, &result, err) < 0)
		return -1;
	if (result.end != FB_PROC_EXITED || result.status > 1) {
		/* git exits with 1 for "does not apply", 128 for what it cannot read at all. */
		if (result.end != FB_PROC_EXITED || result.status != 128) {
			fb_proc_check(&spec, &result, err);
			fb_proc_result_release(&result);
			return -1;
		}
	}
	line = fb_str_cstr(&result.err);
	if (result.status && ret_line)
		*ret_line = fb_xstrndup(line, strcspn(line, "\n"));
	n = (size_t)result.status;
	fb_proc_result_release(&result);
	return n ? 1 : 0;
}

/* Apply one patch in the scratch directory. Returns as fb_fixups_apply(). */
static int apply_one(const char *scratch, const char *patch, const char *text, int64_t deadline_ns,
		     char **ret_cause, struct fb_error *err)
{
	FB_CLEANUP(fb_freep) char *line = NULL;
	int rc = git_apply(scratch, patch, false, false, deadline_ns, &line, err);

	if (rc <= 0)
		return rc;
	rc = git_apply(scratch, patch, true, true, deadline_ns, NULL, err);
	if (rc <= 0 || is_optional(text))
		return rc < 0 ? -1 : 0;
	*ret_cause = fb_xasprintf("fixup '%s' does not apply: %s", base_name(patch), line);
	return 1;
}

static char *hash_of(const char *path)
{
	char hex[FB_HASH_HEX_SIZE];
	struct fb_error ignored = FB_ERROR_INIT;

	return exists(path) && fb_hash_file(path, hex, &ignored) == 0 ? fb_xstrdup(hex) : NULL;
}

static bool same(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

static int set_mtime(const char *path, int64_t ns, struct fb_error *err)
{
	struct timespec t[2] = {{.tv_nsec = UTIME_OMIT},
				{.tv_sec = ns / FB_NS_PER_S, .tv_nsec = ns % FB_NS_PER_S}};

	if (!ns)
		t[1].tv_nsec = UTIME_NOW;
	if (utimensat(AT_FDCWD, path, t, AT_SYMLINK_NOFOLLOW) < 0)
		return fb_error_set_sys(err, errno, "set the time of '%s'", path);
	return 0;
}

static int64_t mtime_ns(const char *path)
{
	struct stat st;

	if (lstat(path, &st) < 0)
		return 0;
	return st.st_mtim.tv_sec * FB_NS_PER_S + st.st_mtim.tv_nsec;
}

/* Make @to what @from is: its contents and time, or absent. */
static int put(const char *from, const char *to, int64_t ns, struct fb_error *err)
{
	if (!exists(from)) {
		if (unlink(to) < 0 && errno != ENOENT)
			return fb_error_set_sys(err, errno, "remove '%s'", to);
		return 0;
	}
	if (make_parents(to, err) < 0 || fb_file_copy(from, to, err) < 0)
		return -1;
	return set_mtime(to, ns, err);
}

/* Files that the last build had patched: path -> { hash, mtime }. */
static json_t *load_stamps(const char *state)
{
	FB_CLEANUP(fb_freep) char *path = fb_xasprintf("%s/stamps.json", state);
	struct fb_error ignored = FB_ERROR_INIT;
	json_t *v = exists(path) ? fb_json_load(path, JOURNAL_MAX_B, &ignored) : NULL;

	if (v && json_is_object(v))
		return v;
	json_decref(v);
	return json_object();
}

/*
 * A file that was patched in the last build and is not now has its old time again, older than
 * the objects made from the patched one: make must see that it changed.
 */
static int touch_dropped(const char *src, json_t *before, json_t *after, struct fb_error *err)
{
	const char *path;
	json_t *unused;

	json_object_foreach(before, path, unused)
	{
		FB_CLEANUP(fb_freep) char *full = fb_xasprintf("%s/%s", src, path);

		if (json_object_get(after, path) || !is_safe(path) || !exists(full))
			continue;
		if (set_mtime(full, 0, err) < 0)
			return -1;
	}
	return 0;
}

static int install(const char *src, const char *state, const char *tree_id, char *const *paths,
		   struct fb_error *err)
{
	FB_CLEANUP(fb_freep) char *journal_path = fb_xasprintf("%s/journal.json", state);
	FB_CLEANUP(fb_freep) char *stamps_path = fb_xasprintf("%s/stamps.json", state);
	json_auto_t *old_stamps = load_stamps(state);
	json_auto_t *stamps = json_object();
	json_auto_t *journal = json_object();
	json_t *files = json_object();
	const char *path;
	json_t *file;

	json_object_set_new(journal, "tree_id", json_string(tree_id));
	json_object_set_new(journal, "files", files);
	for (size_t i = 0; paths && paths[i]; i++) {
		FB_CLEANUP(fb_freep) char *from = fb_xasprintf("%s/%s", src, paths[i]);
		FB_CLEANUP(fb_freep) char *work = fb_xasprintf("%s/work/%s", state, paths[i]);
		FB_CLEANUP(fb_freep) char *orig = fb_xasprintf("%s/orig/%s", state, paths[i]);
		FB_CLEANUP(fb_freep) char *before = hash_of(from);
		FB_CLEANUP(fb_freep) char *after = hash_of(work);
		json_t *f;

		if (same(before, after))
			continue;
		if (before && (make_parents(orig, err) < 0 || fb_file_copy(from, orig, err) < 0))
			return -1;
		f = json_object();
		json_object_set_new(f, "after", after ? json_string(after) : json_null());
		json_object_set_new(f, "mtime_ns", json_integer(mtime_ns(from)));
		json_object_set_new(files, paths[i], f);
	}
	if (!json_object_size(files) && !json_object_size(old_stamps))
		return 0;
	/* From here on a kill leaves something to take back; the journal comes first. */
	if (json_object_size(files) && fb_json_save(journal_path, journal, err) < 0)
		return -1;
	json_object_foreach(files, path, file)
	{
		FB_CLEANUP(fb_freep) char *to = fb_xasprintf("%s/%s", src, path);
		FB_CLEANUP(fb_freep) char *work = fb_xasprintf("%s/work/%s", state, path);
		json_t *old = json_object_get(old_stamps, path), *stamp = json_object();
		const char *after = fb_json_str(file, "after");
		int64_t ns = 0;

		if (old && same(fb_json_str(old, "after"), after))
			ns = json_integer_value(json_object_get(old, "mtime_ns"));
		if (put(work, to, ns, err) < 0) {
			json_decref(stamp);
			return -1;
		}
		json_object_set_new(stamp, "after", after ? json_string(after) : json_null());
		json_object_set_new(stamp, "mtime_ns", json_integer(mtime_ns(to)));
		json_object_set_new(stamps, path, stamp);
	}
	if (touch_dropped(src, old_stamps, stamps, err) < 0)
		return -1;
	return fb_json_save(stamps_path, stamps, err);
}

int fb_fixups_apply(const char *src, char *const *fixups, const char *state, const char *tree_id,
		    int64_t deadline_ns, char **ret_cause, struct fb_error *err)
{
	FB_CLEANUP(fb_freep) char *work = fb_xasprintf("%s/work", state);
	FB_CLEANUP(fb_freep) char *orig = fb_xasprintf("%s/orig", state);
	FB_CLEANUP(fb_strvp) char **paths = NULL;

	if (fb_remove_tree(work, err) < 0 || fb_remove_tree(orig, err) < 0 ||
	    fb_mkdirs(work, err) < 0)
		return -1;
	for (size_t i = 0; fixups && fixups[i]; i++) {
		FB_CLEANUP(fb_freep) char *patch = realpath(fixups[i], NULL);
		FB_CLEANUP(fb_str_release) struct fb_str text = FB_STR_INIT;
		size_t known = fb_strv_len(paths);
		int rc;

		if (!patch)
			return fb_error_set(err, FB_ERROR_MISSING, "fixup '%s': %s", fixups[i],
					    strerror(errno));
		if (fb_file_read(patch, PATCH_MAX_B, &text, err) < 0)
			return -1;
		list_paths(fb_str_cstr(&text), &paths);
		for (size_t k = known; paths && paths[k]; k++) {
			FB_CLEANUP(fb_freep) char *from = fb_xasprintf("%s/%s", src, paths[k]);
			FB_CLEANUP(fb_freep) char *to = fb_xasprintf("%s/%s", work, paths[k]);
			struct stat st;

			if (lstat(from, &st) < 0 || !S_ISREG(st.st_mode))
				continue;
			if (make_parents(to, err) < 0 || fb_file_copy(from, to, err) < 0)
				return -1;
		}
		rc = apply_one(work, patch, fb_str_cstr(&text), deadline_ns, ret_cause, err);
		if (rc)
			return rc;
	}
	return install(src, state, tree_id, paths, err);
}

int fb_fixups_undo(const char *src, const char *state, const char *tree_id, struct fb_error *err)
{
	FB_CLEANUP(fb_freep) char *journal_path = fb_xasprintf("%s/journal.json", state);
	json_auto_t *journal = NULL;
	const char *journal_tree, *path;
	json_t *files, *file;

	if (!exists(journal_path))
		return 0;
	journal = fb_json_load(journal_path, JOURNAL_MAX_B, err);
	if (!journal || fb_json_unpack(journal, journal_path, err, "{s:s, s:o}", "tree_id",
				       &journal_tree, "files", &files) < 0)
		return fb_error_wrap(err, "take back fixups");
	json_object_foreach(files, path, file)
	{
		FB_CLEANUP(fb_freep) char *to = fb_xasprintf("%s/%s", src, path);
		FB_CLEANUP(fb_freep) char *orig = fb_xasprintf("%s/orig/%s", state, path);
		FB_CLEANUP(fb_freep) char *now = hash_of(to);
		int64_t ns = json_integer_value(json_object_get(file, "mtime_ns"));

		if (!is_safe(path))
			return fb_error_set(err, FB_ERROR_INPUT, "%s: bad path '%s'", journal_path,
					    path);
		if (strcmp(journal_tree, tree_id) != 0 && !same(now, fb_json_str(file, "after")))
			continue;
		if (put(orig, to, ns, err) < 0)
			return fb_error_wrap(err, "take back fixups");
	}
	if (unlink(journal_path) < 0)
		return fb_error_set_sys(err, errno, "remove '%s'", journal_path);
	return 0;
}
