/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whole files: read with a limit, written so that they are never half there. */
#include "src/util/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/util/util.h"

#define COPY_MAX	 (1ull << 30) /* images and initramfs files are far below */
#define REMOVE_DEPTH_MAX 100	      /* descriptors */

int fb_file_open(const char *path, struct fb_error *err)
{
	/* Without O_NONBLOCK a FIFO that nobody writes to would hold us here for ever. */
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	struct stat st = {0};

	if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
		return fd;
	if (fd < 0 && errno != ENXIO) /* a socket */
		return fb_error_set_sys(err, errno, "open '%s'", path);
	fb_closep(&fd);
	if (S_ISDIR(st.st_mode))
		return fb_error_set_sys(err, EISDIR, "open '%s'", path);
	return fb_error_set(err, FB_ERROR_INPUT, "'%s' is not a regular file", path);
}

int fb_file_read(const char *path, size_t max_b, struct fb_str *s, struct fb_error *err)
{
	FB_CLEANUP(fb_closep) int fd = fb_file_open(path, err);
	char buf[65536];
	size_t total = 0;
	ssize_t n;

	if (fd < 0)
		return -1;
	if (!s->max || s->max < s->len + max_b)
		s->max = s->len + max_b;
	while ((n = read(fd, buf, sizeof(buf))) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return fb_error_set_sys(err, errno, "read '%s'", path);
		total += (size_t)n;
		if (total > max_b)
			return fb_error_set(err, FB_ERROR_INPUT, "'%s' is larger than %zu bytes",
					    path, max_b);
		fb_str_addn(s, buf, (size_t)n);
	}
	return 0;
}

static int write_all(int fd, const char *data, size_t len)
{
	while (len) {
		ssize_t n = write(fd, data, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		data += n;
		len -= (size_t)n;
	}
	return 0;
}

static int sync_parent(const char *path)
{
	const char *slash = strrchr(path, '/');
	FB_CLEANUP(fb_freep)
	char *dir = slash == path ? fb_xstrdup("/")
		    : slash	  ? fb_xstrndup(path, (size_t)(slash - path))
				  : fb_xstrdup(".");
	FB_CLEANUP(fb_closep) int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? -1 : fsync(fd);
}

/* @fill writes the contents to the descriptor; 0, or -1 with errno. */
static int replace(const char *path, mode_t mode, int (*fill)(int fd, const void *ctx),
		   const void *ctx, struct fb_error *err)
{
	FB_CLEANUP(fb_freep) char *tmp = fb_xasprintf("%s.XXXXXX", path);
	int fd = mkostemp(tmp, O_CLOEXEC), saved;

	if (fd < 0)
		return fb_error_set_sys(err, errno, "create '%s'", tmp);
	if (fill(fd, ctx) < 0 || fchmod(fd, mode) < 0 || fsync(fd) < 0)
		saved = errno;
	else
		saved = 0;
	/* The descriptor is gone even when close() fails: never close it again. */
	if (close(fd) < 0 && !saved)
		saved = errno;
	if (!saved && rename(tmp, path) < 0)
		saved = errno;
	if (saved) {
		unlink(tmp);
		return fb_error_set_sys(err, saved, "write '%s'", path);
	}
	/* Some file systems cannot sync a directory: EINVAL. The new file is there already. */
	if (sync_parent(path) < 0 && errno != EINVAL)
		return fb_error_set_sys(err, errno, "sync the directory of '%s'", path);
	return 0;
}

struct bytes {
	const char *data;
	size_t len;
};

static int fill_bytes(int fd, const void *ctx)
{
	const struct bytes *b = ctx;

	return write_all(fd, b->data, b->len);
}

int fb_file_write(const char *path, const char *data, size_t len, struct fb_error *err)
{
	struct bytes b = {data, len};

	return replace(path, 0644, fill_bytes, &b, err);
}

static int fill_copy(int fd, const void *ctx)
{
	int from = *(const int *)ctx;
	char buf[65536];
	unsigned long long total = 0;
	ssize_t n;

	while ((n = read(from, buf, sizeof(buf))) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 || write_all(fd, buf, (size_t)n) < 0)
			return -1;
		total += (unsigned long long)n;
		if (total > COPY_MAX) {
			errno = EFBIG;
			return -1;
		}
	}
	return 0;
}

int fb_file_copy(const char *from, const char *to, struct fb_error *err)
{
	FB_CLEANUP(fb_closep) int fd = fb_file_open(from, err);
	struct stat st;

	if (fd < 0)
		return -1;
	if (fstat(fd, &st) < 0)
		return fb_error_set_sys(err, errno, "'%s'", from);
	return replace(to, st.st_mode & 07777, fill_copy, &fd, err);
}

int fb_mkdirs(const char *path, struct fb_error *err)
{
	FB_CLEANUP(fb_freep) char *p = fb_xstrdup(path);
	struct stat st;

	if (!*p)
		return fb_error_set_sys(err, ENOENT, "mkdir ''");
	for (char *slash = p + 1; *slash; slash++) {
		if (*slash != '/')
			continue;
		*slash = '\0';
		if (mkdir(p, 0777) < 0 && errno != EEXIST)
			return fb_error_set_sys(err, errno, "mkdir '%s'", p);
		*slash = '/';
	}
	if (mkdir(p, 0777) < 0 && errno != EEXIST)
		return fb_error_set_sys(err, errno, "mkdir '%s'", p);
	/* EEXIST is also what a plain file in the way gives. */
	if (stat(p, &st) < 0)
		return fb_error_set_sys(err, errno, "mkdir '%s'", p);
	if (!S_ISDIR(st.st_mode))
		return fb_error_set_sys(err, ENOTDIR, "mkdir '%s'", p);
	return 0;
}

int fb_dir_open(int at, const char *name)
{
	FB_CLEANUP(fb_closep) int path_fd = -1;
	FB_CLEANUP(fb_freep) char *magic = NULL;
	int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (fd >= 0) {
		/* Of somebody else's it cannot be changed; the use shows whether that matters. */
		if (fstat(fd, &st) == 0 && (~st.st_mode & S_IRWXU))
			(void)!fchmod(fd, (st.st_mode & 07777) | S_IRWXU);
		return fd;
	}
	if (errno != EACCES)
		return -1;
	path_fd = openat(at, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (path_fd < 0 || fstat(path_fd, &st) < 0)
		return -1;
	/* fchmod() takes no O_PATH, and fchmodat() follows links. */
	magic = fb_xasprintf("/proc/self/fd/%d", path_fd);
	if (chmod(magic, (st.st_mode & 07777) | S_IRWXU) < 0)
		return -1;
	return openat(path_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* A removal holds a descriptor for each level, so what is deeper is brought up to the top. */
struct removal {
	int top;
	unsigned depth, nr_raised;
};

static int remove_entry(struct removal *r, int at, const char *name);

static int remove_contents(struct removal *r, int fd)
{
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0), saved;
	DIR *dir = copy < 0 ? NULL : fdopendir(copy);
	unsigned nr;

	if (!dir) {
		saved = errno;
		fb_closep(&copy);
		errno = saved;
		return -1;
	}
	do { /* once more for what was brought up, or passed over while others went */
		nr = 0;
		rewinddir(dir);
		for (struct dirent *d; (d = readdir(dir));) {
			if (!strcmp(d->d_name, ".") || !strcmp(d->d_name, ".."))
				continue;
			if (remove_entry(r, fd, d->d_name) < 0) {
				saved = errno;
				closedir(dir);
				errno = saved;
				return -1;
			}
			nr++;
		}
	} while (nr);
	closedir(dir);
	return 0;
}

static int raise_entry(struct removal *r, int at, const char *name)
{
	char raised[40];

	do {
		snprintf(raised, sizeof(raised), ".firstbad-remove-%u", r->nr_raised++);
		if (renameat(at, name, r->top, raised) == 0)
			return 0;
	} while (errno == EEXIST || errno == ENOTEMPTY || errno == ENOTDIR);
	return -1;
}

static int remove_entry(struct removal *r, int at, const char *name)
{
	FB_CLEANUP(fb_closep) int fd = -1;
	int rc;

	/* Somebody else may be removing it, too; the rest must still go. */
	if (unlinkat(at, name, 0) == 0 || errno == ENOENT)
		return 0;
	if (errno != EISDIR)
		return -1;
	if (unlinkat(at, name, AT_REMOVEDIR) == 0 || errno == ENOENT)
		return 0;
	if (errno != ENOTEMPTY && errno != EEXIST)
		return -1;
	fd = fb_dir_open(at, name);
	if (fd < 0)
		return errno == ENOENT ? 0 : -1;
	if (r->depth == 0)
		r->top = fd;
	else if (r->depth == REMOVE_DEPTH_MAX)
		return raise_entry(r, at, name);
	r->depth++;
	rc = remove_contents(r, fd);
	r->depth--;
	if (rc < 0)
		return -1;
	return unlinkat(at, name, AT_REMOVEDIR) < 0 && errno != ENOENT ? -1 : 0;
}

int fb_remove_tree_at(int at, const char *name, struct fb_error *err)
{
	struct removal r = {.top = -1};

	if (remove_entry(&r, at, name) < 0)
		return fb_error_set_sys(err, errno, "remove '%s'", name);
	return 0;
}

int fb_remove_tree(const char *path, struct fb_error *err)
{
	return fb_remove_tree_at(AT_FDCWD, path, err);
}
