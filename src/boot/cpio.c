/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writing initramfs archives (newc) that have the same bytes for the same contents. */
#include "src/boot/cpio.h"

#include <archive.h>
#include <archive_entry.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "src/util/util.h"

struct fb_cpio {
	struct archive *a;
	int ino; /* numbers of their own, or the kernel's unpacker might see hard links */
};

struct fb_cpio *fb_cpio_open_fd(int fd)
{
	struct fb_cpio *cpio = fb_xcalloc(1, sizeof(*cpio));

	cpio->a = archive_write_new();
	if (!cpio->a)
		FB_BUG("out of memory");
	archive_write_set_format_cpio_newc(cpio->a);
	archive_write_open_fd(cpio->a, fd);
	return cpio;
}

static int failed(struct fb_cpio *cpio, const char *path, struct fb_error *err)
{
	int errnum = archive_errno(cpio->a);

	return fb_error_set_sys(err, errnum > 0 ? errnum : EIO, "write '%s' to an archive", path);
}

static struct archive_entry *entry_of(struct fb_cpio *cpio, const char *path, unsigned type,
				      unsigned mode)
{
	struct archive_entry *e = archive_entry_new();

	if (!e)
		FB_BUG("out of memory");
	archive_entry_set_pathname(e, path);
	archive_entry_set_filetype(e, type);
	archive_entry_set_perm(e, (mode_t)mode);
	archive_entry_set_ino(e, ++cpio->ino);
	archive_entry_set_nlink(e, 1);
	archive_entry_set_mtime(e, 0, 0);
	archive_entry_set_size(e, 0);
	return e;
}

static int add(struct fb_cpio *cpio, struct archive_entry *e, const char *path,
	       struct fb_error *err)
{
	int rc = archive_write_header(cpio->a, e);

	archive_entry_free(e);
	return rc == ARCHIVE_OK ? 0 : failed(cpio, path, err);
}

int fb_cpio_add_dir(struct fb_cpio *cpio, const char *path, struct fb_error *err)
{
	return add(cpio, entry_of(cpio, path, AE_IFDIR, 0755), path, err);
}

int fb_cpio_add_symlink(struct fb_cpio *cpio, const char *path, const char *target,
			struct fb_error *err)
{
	struct archive_entry *e = entry_of(cpio, path, AE_IFLNK, 0777);

	archive_entry_set_symlink(e, target);
	return add(cpio, e, path, err);
}

int fb_cpio_add_chardev(struct fb_cpio *cpio, const char *path, unsigned major_nr,
			unsigned minor_nr, struct fb_error *err)
{
	struct archive_entry *e = entry_of(cpio, path, AE_IFCHR, 0600);

	archive_entry_set_rdevmajor(e, major_nr);
	archive_entry_set_rdevminor(e, minor_nr);
	return add(cpio, e, path, err);
}

int fb_cpio_add_data(struct fb_cpio *cpio, const char *path, const char *data, size_t len,
		     unsigned mode, struct fb_error *err)
{
	struct archive_entry *e = entry_of(cpio, path, AE_IFREG, mode);

	archive_entry_set_size(e, (la_int64_t)len);
	if (add(cpio, e, path, err) < 0)
		return -1;
	if (len && archive_write_data(cpio->a, data, len) != (la_ssize_t)len)
		return failed(cpio, path, err);
	return 0;
}

int fb_cpio_add_file(struct fb_cpio *cpio, const char *path, const char *from, unsigned mode,
		     size_t max_b, struct fb_error *err)
{
	FB_CLEANUP(fb_closep) int fd = open(from, O_RDONLY | O_CLOEXEC);
	struct archive_entry *e;
	char buf[65536];
	struct stat st;
	off_t left;

	if (fd < 0 || fstat(fd, &st) < 0)
		return fb_error_set_sys(err, errno, "open '%s'", from);
	if (!S_ISREG(st.st_mode) || (size_t)st.st_size > max_b)
		return fb_error_set(err, FB_ERROR_INPUT, "'%s' is no file of at most %zu bytes",
				    from, max_b);
	e = entry_of(cpio, path, AE_IFREG, mode);
	archive_entry_set_size(e, st.st_size);
	if (add(cpio, e, path, err) < 0)
		return -1;
	for (left = st.st_size; left > 0;) {
		ssize_t n = read(fd, buf, sizeof(buf));

		if (n < 0)
			return fb_error_set_sys(err, errno, "read '%s'", from);
		if (n == 0 || n > left)
			return fb_error_set(err, FB_ERROR_INPUT, "'%s' changed while being read",
					    from);
		if (archive_write_data(cpio->a, buf, (size_t)n) != n)
			return failed(cpio, path, err);
		left -= n;
	}
	return 0;
}

int fb_cpio_close(struct fb_cpio *cpio, struct fb_error *err)
{
	int rc = 0;

	if (archive_write_close(cpio->a) != ARCHIVE_OK)
		rc = failed(cpio, "the end", err);
	archive_write_free(cpio->a);
	free(cpio);
	return rc;
}

void fb_cpio_abort(struct fb_cpio *cpio)
{
	archive_write_fail(cpio->a);
	archive_write_free(cpio->a);
	free(cpio);
}

static int is_visible(const struct dirent *d)
{
	return d->d_name[0] != '.';
}

int fb_cpio_list_dir(const char *dir, char ***ret, struct fb_error *err)
{
	struct dirent **list;
	char **names = NULL;
	int n = scandir(dir, &list, is_visible, alphasort);

	if (n < 0)
		return fb_error_set_sys(err, errno, "read directory '%s'", dir);
	for (int i = 0; i < n; i++) {
		fb_strv_add(&names, list[i]->d_name);
		free(list[i]);
	}
	free(list);
	*ret = names;
	return 0;
}
