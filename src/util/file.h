/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whole files: read with a limit, written so that they are never half there. */
#ifndef FB_UTIL_FILE_H
#define FB_UTIL_FILE_H

#include <stddef.h>

#include "src/util/error.h"
#include "src/util/str.h"

/**
 * fb_file_open() - Open a regular file to read it. Return: a descriptor of the caller's, or -1.
 *
 * Errors: FB_ERROR_INPUT for a FIFO, a directory or a device, which are not waited for.
 */
int fb_file_open(const char *path, struct fb_error *err);

/**
 * fb_file_read() - Append the contents of a file to @s.
 * @max_b: a longer file is an error, bytes.
 */
int fb_file_read(const char *path, size_t max_b, struct fb_str *s, struct fb_error *err);

/**
 * fb_file_write() - Write a file whole: temporary name, fsync, rename, fsync of the directory.
 *
 * On failure (disk full and the like) the old file, if any, is untouched and nothing is left.
 */
int fb_file_write(const char *path, const char *data, size_t len, struct fb_error *err);

/** fb_file_copy() - Copy @from to @to with the same guarantees and the source's mode. */
int fb_file_copy(const char *from, const char *to, struct fb_error *err);

/** fb_mkdirs() - mkdir -p. */
int fb_mkdirs(const char *path, struct fb_error *err);

/**
 * fb_dir_open() - Open a directory, never through a symbolic link of that name.
 * @at: the directory that holds it, or AT_FDCWD.
 *
 * Its owner gets the right to list, enter and change it, when he has not got it.
 *
 * Return: a descriptor of the caller's, or -1 with errno.
 */
int fb_dir_open(int at, const char *name);

/**
 * fb_remove_tree() - rm -rf, not following symbolic links. A missing @path is no error.
 *
 * Nor do directories that their owner may not change stand in the way, paths that are longer
 * than PATH_MAX, or any depth.
 */
int fb_remove_tree(const char *path, struct fb_error *err);

/** fb_remove_tree_at() - The same for @name in the directory @at. */
int fb_remove_tree_at(int at, const char *name, struct fb_error *err);

#endif
