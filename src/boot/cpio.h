/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writing initramfs archives (newc) that have the same bytes for the same contents. */
#ifndef FB_BOOT_CPIO_H
#define FB_BOOT_CPIO_H

#include <stddef.h>

#include "src/util/error.h"

struct fb_cpio;

/** fb_cpio_open_fd() - Write to @fd, which stays the caller's. */
struct fb_cpio *fb_cpio_open_fd(int fd);

int fb_cpio_add_dir(struct fb_cpio *cpio, const char *path, struct fb_error *err);
int fb_cpio_add_data(struct fb_cpio *cpio, const char *path, const char *data, size_t len,
		     unsigned mode, struct fb_error *err);
/** fb_cpio_add_file() - Add the file @from as @path; longer than @max_b is an error. */
int fb_cpio_add_file(struct fb_cpio *cpio, const char *path, const char *from, unsigned mode,
		     size_t max_b, struct fb_error *err);
int fb_cpio_add_symlink(struct fb_cpio *cpio, const char *path, const char *target,
			struct fb_error *err);
/** fb_cpio_add_chardev() - A device node; needs no privileges, it is only written down. */
int fb_cpio_add_chardev(struct fb_cpio *cpio, const char *path, unsigned major, unsigned minor,
			struct fb_error *err);

/** fb_cpio_close() - Write the end; frees @cpio also on failure. */
int fb_cpio_close(struct fb_cpio *cpio, struct fb_error *err);
void fb_cpio_abort(struct fb_cpio *cpio);

/** fb_cpio_list_dir() - The names in a directory, sorted, without dot files. */
int fb_cpio_list_dir(const char *dir, char ***ret, struct fb_error *err);

#endif
