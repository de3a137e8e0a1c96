/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The .config of the last step, kept while all that it was made from is unchanged. */
#include "src/build/settled.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "src/util/file.h"
#include "src/util/hash.h"
#include "src/util/proc.h"
#include "src/util/util.h"

#define MARKER_NAME ".firstbad-settled"
#define INPUT_MAX_B (16u << 20)
#define DEPTH_MAX   16
#define SRCTREE	    "srctree"
#define NAME_CHARS  "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./+-"
#define NAME_ENDS   " \t\n,)\"'"

/*
 * What takes part beside the Kconfig files: kconfig's own source and the scripts that it runs,
 * the base configurations, and the makefiles that choose and export.
 */
static const char *const input_dirs[] = {"scripts", "kernel/configs", "arch/x86/configs"};
static const struct {
	const char *dir, *prefix;
} input_files[] = {{"", "Makefile"}, {"arch/x86/", "Makefile"}};

/* Asked by $(shell) for their versions; gcc and ld are in the toolchain's id already. */
static const char *const asked_tools[] = {"as", "pahole", "rustc", "bindgen"};

/* All below: 1 done, 0 it cannot be told, -1 error. */

static int add_file(struct fb_hash *h, const char *src, const char *name, struct fb_str *ret_text,
		    struct fb_error *err)
{
	FB_CLEANUP(fb_freep) char *path = fb_xasprintf("%s/%s", src, name);
	FB_CLEANUP(fb_str_release) struct fb_str own = FB_STR_INIT;
	struct fb_str *text = ret_text ? ret_text : &own;
	struct fb_error why = FB_ERROR_INIT;
	struct stat st;

	fb_hash_add_str(h, name);
	if (stat(path, &st) < 0) {
		if (errno != ENOENT && errno != ENOTDIR)
			return fb_error_set_sys(err, errno, "stat '%s'", path);
		fb_hash_add_str(h, NULL);
		return 1;
	}
	if (!S_ISREG(st.st_mode))
		return 0;
	if (fb_file_read(path, INPUT_MAX_B, text, &why) < 0) {
		if (why.code == FB_ERROR_INPUT) /* larger than any input is */
			return 0;
		*err = why;
		return -1;
	}
	fb_hash_add(h, fb_str_cstr(text), text->len);
	return 1;
}

static int add_dir(struct fb_hash *h, const char *src, const char *name, const char *prefix,
		   unsigned depth, struct fb_error *err);

static int add_entry(struct fb_hash *h, const char *src, const char *name, unsigned depth,
		     struct fb_error *err)
{
	FB_CLEANUP(fb_freep) char *path = fb_xasprintf("%s/%s", src, name);
	char target[4096];
	struct stat st;
	ssize_t n;

	if (lstat(path, &st) < 0)
		return fb_error_set_sys(err, errno, "stat '%s'", path);
	if (S_ISDIR(st.st_mode))
		return add_dir(h, src, name, NULL, depth + 1, err);
	if (!S_ISLNK(st.st_mode))
		return add_file(h, src, name, NULL, err);
	n = readlink(path, target, sizeof(target));
	if (n < 0)
		return fb_error_set_sys(err, errno, "read link '%s'", path);
	fb_hash_add_str(h, name);
	fb_hash_add(h, target, (size_t)n);
	return 1;
}

/* @prefix: only entries that begin so, and no directories; or NULL. */
static int add_dir(struct fb_hash *h, const char *src, const char *name, const char *prefix,
		   unsigned depth, struct fb_error *err)
{
	FB_CLEANUP(fb_freep) char *path = fb_xasprintf("%s/%s", src, name);
	struct dirent **list;
	int n, rc = 1;

	if (depth > DEPTH_MAX)
		return 0;
	n = scandir(path, &list, NULL, alphasort);
	if (n < 0) {
		if (errno != ENOENT)
			return fb_error_set_sys(err, errno, "list '%s'", path);
		fb_hash_add_str(h, name);
		fb_hash_add_str(h, NULL);
		return 1;
	}
	for (int i = 0; i < n; i++) {
		const char *e = list[i]->d_name;
		FB_CLEANUP(fb_freep) char *sub = fb_xasprintf("%s%s%s", name, prefix ? "" : "/", e);

		if (rc == 1 && strcmp(e, ".") && strcmp(e, "..")) {
			if (!prefix)
				rc = add_entry(h, src, sub, depth, err);
			else if (fb_str_has_prefix(e, prefix))
				rc = add_file(h, src, sub, NULL, err);
		}
		free(list[i]);
	}
	free(list);
	return rc;
}

/*
 * The files that commands in a Kconfig file may read: out-of-tree builds run them in the object
 * directory, so they cannot find the source but by "$(srctree)/NAME".
 */
static int add_named(struct fb_hash *h, const char *src, const char *text, struct fb_error *err)
{
	static const char before[] = "$(", after[] = ")/";

	for (const char *p = text; (p = strstr(p, SRCTREE)) != NULL;) {
		FB_CLEANUP(fb_freep) char *name = NULL;
		const char *rest = p + strlen(SRCTREE);
		size_t n;
		int rc;

		if ((size_t)(p - text) < strlen(before) ||
		    memcmp(p - strlen(before), before, strlen(before)) != 0 ||
		    !fb_str_has_prefix(rest, after))
			return 0;
		rest += strlen(after);
		n = strspn(rest, NAME_CHARS);
		if (!n || !strchr(NAME_ENDS, rest[n]))
			return 0;
		p = rest + n;
		name = fb_xstrndup(rest, n);
		if (fb_str_has_prefix(name, "scripts/") && !strstr(name, ".."))
			continue;
		rc = add_file(h, src, name, NULL, err);
		if (rc != 1)
			return rc;
	}
	return 1;
}

/* What follows "deps_config :=", one name a line, each line but the last ended by a backslash. */
static int add_listed(struct fb_hash *h, const char *src, const char *list, struct fb_error *err)
{
	const char *p = strstr(list, "deps_config :="), *end;

	if (!p || !(end = strstr(p, "\n\n")))
		return 0;
	for (p = strchr(p, '\n'); p && p < end; p = strchr(p, '\n')) {
		FB_CLEANUP(fb_str_release) struct fb_str text = FB_STR_INIT;
		FB_CLEANUP(fb_freep) char *name = NULL;
		size_t n;
		int rc;

		p += strspn(p, "\n\t ");
		n = strspn(p, NAME_CHARS);
		if (!n || *p == '/' || !strchr(" \\\n", p[n]))
			return 0;
		name = fb_xstrndup(p, n);
		p += n;
		rc = add_file(h, src, name, &text, err);
		if (rc != 1)
			return rc;
		/* One that is not there was read somewhere else. */
		if (!text.len || strlen(fb_str_cstr(&text)) != text.len)
			return 0;
		rc = add_named(h, src, fb_str_cstr(&text), err);
		if (rc != 1)
			return rc;
	}
	return 1;
}

static int add_host(struct fb_hash *h, struct fb_error *err)
{
	struct utsname uts;

	/* Kconfig looks for /boot/config-RELEASE. */
	if (uname(&uts) < 0)
		return fb_error_set_sys(err, errno, "uname");
	fb_hash_add_str(h, uts.release);
	for (size_t i = 0; i < FB_ARRAY_SIZE(asked_tools); i++) {
		FB_CLEANUP(fb_freep) char *path = fb_proc_find(asked_tools[i]);
		const char *argv[] = {path, "--version", NULL};
		struct fb_proc_spec spec = {.argv = argv};
		FB_CLEANUP(fb_proc_result_release) struct fb_proc_result r = {0};

		if (path && fb_proc_run(&spec, &r, err) < 0)
			return -1;
		fb_hash_add_str(h, path ? fb_str_cstr(&r.out) : NULL);
	}
	return 1;
}

static int make_key(const char *src, const char *objdir, const char *ask,
		    char ret[FB_HASH_HEX_SIZE], struct fb_error *err)
{
	FB_CLEANUP(fb_freep) char *path = fb_xasprintf("%s/" FB_SETTLED_LIST, objdir);
	FB_CLEANUP(fb_str_release) struct fb_str list = FB_STR_INIT;
	struct fb_hash h;
	int rc;

	if (access(path, F_OK) < 0)
		return 0;
	if (fb_file_read(path, INPUT_MAX_B, &list, err) < 0)
		return -1;
	fb_hash_init(&h);
	fb_hash_add_str(&h, ask);
	rc = add_listed(&h, src, fb_str_cstr(&list), err);
	for (size_t i = 0; i < FB_ARRAY_SIZE(input_files) && rc == 1; i++)
		rc = add_dir(&h, src, input_files[i].dir, input_files[i].prefix, 0, err);
	for (size_t i = 0; i < FB_ARRAY_SIZE(input_dirs) && rc == 1; i++)
		rc = add_dir(&h, src, input_dirs[i], NULL, 0, err);
	if (rc == 1)
		rc = add_host(&h, err);
	if (rc == 1)
		fb_hash_hex(&h, ret);
	return rc;
}

static char *marker_text(const char *key, const struct fb_str *config)
{
	char hex[FB_HASH_HEX_SIZE];
	struct fb_hash h;

	fb_hash_init(&h);
	fb_hash_add(&h, fb_str_cstr(config), config->len);
	fb_hash_hex(&h, hex);
	return fb_xasprintf("%s %s\n", key, hex);
}

int fb_settled_load(const char *src, const char *objdir, const char *ask, struct fb_str *ret,
		    struct fb_error *err)
{
	FB_CLEANUP(fb_freep) char *path = fb_xasprintf("%s/" MARKER_NAME, objdir);
	FB_CLEANUP(fb_freep) char *config_path = fb_xasprintf("%s/.config", objdir);
	FB_CLEANUP(fb_str_release) struct fb_str marker = FB_STR_INIT;
	FB_CLEANUP(fb_str_release) struct fb_str config = FB_STR_INIT;
	FB_CLEANUP(fb_freep) char *want = NULL;
	char key[FB_HASH_HEX_SIZE];
	int rc;

	if (access(path, F_OK) < 0 || access(config_path, F_OK) < 0)
		return 0;
	if (fb_file_read(path, INPUT_MAX_B, &marker, err) < 0 ||
	    fb_file_read(config_path, INPUT_MAX_B, &config, err) < 0)
		return -1;
	rc = make_key(src, objdir, ask, key, err);
	if (rc != 1)
		return rc;
	want = marker_text(key, &config);
	if (strcmp(fb_str_cstr(&marker), want) != 0)
		return 0;
	fb_str_addn(ret, fb_str_cstr(&config), config.len);
	return 1;
}

int fb_settled_save(const char *src, const char *objdir, const char *ask,
		    const struct fb_str *config, struct fb_error *err)
{
	FB_CLEANUP(fb_freep) char *path = fb_xasprintf("%s/" MARKER_NAME, objdir);
	FB_CLEANUP(fb_freep) char *text = NULL;
	char key[FB_HASH_HEX_SIZE];
	int rc = make_key(src, objdir, ask, key, err);

	if (rc != 1)
		return rc;
	text = marker_text(key, config);
	return fb_file_write(path, text, strlen(text), err);
}

int fb_settled_forget(const char *objdir, struct fb_error *err)
{
	FB_CLEANUP(fb_freep) char *path = fb_xasprintf("%s/" MARKER_NAME, objdir);

	if (unlink(path) < 0 && errno != ENOENT)
		return fb_error_set_sys(err, errno, "remove '%s'", path);
	return 0;
}
