/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What `git clean -ffdx` cannot remove, or passes over on purpose: directories that may not be
 * changed, paths that are too long, repositories inside tracked directories, and whatever is
 * in a submodule. No symbolic link is followed here, whatever a program made of the worktree.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/history/internal.h"
#include "src/util/file.h"
#include "src/util/util.h"

/* Each level holds a descriptor. A tracked file that is deeper is just written again. */
#define DEPTH_MAX 200
/* git looks for ".git/HEAD" and the like below a directory, and makes lock files. */
#define LENGTH_MAX (PATH_MAX - 64)

static bool is_dir(int at, const struct dirent *d)
{
	struct stat st;

	if (d->d_type != DT_UNKNOWN)
		return d->d_type == DT_DIR;
	return fstatat(at, d->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode);
}

/* @fd is of the caller's; @len: bytes of the path to it, as git names it. */
static int make_tractable(int fd, size_t len, unsigned depth, struct fb_error *err)
{
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0), rc = 0;
	DIR *dir = copy < 0 ? NULL : fdopendir(copy);

	if (!dir) {
		fb_error_set_sys(err, errno, "list a directory of the worktree");
		fb_closep(&copy);
		return -1;
	}
	rewinddir(dir); /* the copy shares the position with @fd */
	for (struct dirent *d; rc == 0 && (d = readdir(dir));) {
		FB_CLEANUP(fb_closep) int sub = -1;
		size_t sub_len = len + 1 + strlen(d->d_name);

		if (!strcmp(d->d_name, ".") || !strcmp(d->d_name, ".."))
			continue;
		if (depth == 0 && !strcmp(d->d_name, ".git"))
			continue;
		if (!strcmp(d->d_name, ".git") || depth == DEPTH_MAX || sub_len > LENGTH_MAX) {
			rc = fb_remove_tree_at(fd, d->d_name, err);
			continue;
		}
		if (!is_dir(fd, d))
			continue;
		sub = fb_dir_open(fd, d->d_name);
		if (sub < 0)
			rc = fb_error_set_sys(err, errno, "open '%s'", d->d_name);
		else if (!fb_mounts_same(fd, sub)) /* since fb_mounts_refuse() looked */
			rc = fb_error_set(err, FB_ERROR_USAGE, "'%s' is a mount point", d->d_name);
		else
			rc = make_tractable(sub, sub_len, depth + 1, err);
	}
	closedir(dir);
	return rc;
}

int fb_leftovers_make_tractable(int fd, struct fb_error *err)
{
	return make_tractable(fd, 0, 0, err);
}

int fb_leftovers_remove(int fd, const char *path, struct fb_error *err)
{
	FB_CLEANUP(fb_freep) char *copy = fb_xstrdup(path);
	FB_CLEANUP(fb_closep) int at = -1;
	char *name = copy;

	for (char *slash; (slash = strchr(name, '/')); name = slash + 1) {
		int next;

		*slash = '\0';
		next = fb_dir_open(at < 0 ? fd : at, name);
		if (next < 0) {
			/* Not there, or a link or a file in its place, which git itself undoes. */
			if (errno == ENOENT || errno == ENOTDIR || errno == ELOOP)
				return 0;
			return fb_error_set_sys(err, errno, "open '%s'", name);
		}
		if (!fb_mounts_same(fd, next)) {
			close(next);
			return fb_error_set(err, FB_ERROR_USAGE, "'%s' is a mount point", name);
		}
		fb_closep(&at);
		at = next;
	}
	return fb_remove_tree_at(at < 0 ? fd : at, name, err);
}
