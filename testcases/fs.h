/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the file system testcases share: parameters, mkfs, and the frame of a job. */
#ifndef FB_TESTCASES_FS_H
#define FB_TESTCASES_FS_H

#include <jansson.h>

#include "testcases/testcase.h"

#define FB_FS_TYPES "btrfs|ext2|ext3|ext4|f2fs|xfs"

/* Rows for a testcase's parameter table. */
#define FB_PARAM_FS                                                                                \
	{                                                                                          \
		"fs", "ext4", FB_FS_TYPES, "file system, made anew for each run of the cell"       \
	}
#define FB_PARAM_MOUNT                                                                             \
	{                                                                                          \
		"mount_options", "", "@text?", "given to mount -o"                                 \
	}
#define FB_PARAM_RUNS                                                                              \
	{                                                                                          \
		"runs", "1", "@number:1:1000", "runs of the measured step within one boot"         \
	}
#define FB_PARAM_TIMEOUT                                                                           \
	{                                                                                          \
		"timeout", "10m", "@duration", "the cell has failed when it takes longer"          \
	}

/** fb_fs_tools() - Add the mkfs program of the cell's "fs" to *@tools. */
void fb_fs_tools(const struct fb_cell *cell, char ***tools);

/**
 * fb_job_new() - A job object with everything but "prepare" and "measure" filled in.
 *
 * "prepare" is an empty array.
 */
json_t *fb_job_new(const struct fb_cell *cell, struct fb_error *err);

/** fb_argv_add() - Append a formatted string to a JSON array of arguments. */
void fb_argv_add(json_t *argv, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
