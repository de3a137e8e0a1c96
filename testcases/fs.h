/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the file system testcases share: parameters, mkfs, and the frame of a job. */
#ifndef FB_TESTCASES_FS_H
#define FB_TESTCASES_FS_H

#include <jansson.h>

#include "testcases/testcase.h"

#define FB_FS_TYPES "btrfs|ext2|ext3|ext4|f2fs|xfs"

/*
 * FB_PARAMS_ON_FS(ROW, ...) is the parameter table of a testcase on a fresh file system: its own
 * rows between those that all of them have. FB_PARAM_TASKS() is how many do it at once, spelled as
 * in lkp-tests (8t).
 */
#define FB_PARAMS_ON_FS(...)                                                                       \
	{                                                                                          \
		FB_PARAM_FS, FB_PARAM_MOUNT, __VA_ARGS__, FB_PARAM_RUNS, FB_PARAM_TIMEOUT,         \
		{                                                                                  \
			NULL                                                                       \
		}                                                                                  \
	}
#define FB_PARAM_TASKS(name, unit, max, help)                                                      \
	{                                                                                          \
		name, "1", "@count:" unit ":" max, help                                            \
	}
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

/**
 * fb_job_settle() - Add the last step of a preparation: what it wrote goes to the disk, and the
 * page cache is dropped.
 */
void fb_job_settle(json_t *job);

/** fb_check_bs() - FB_ERROR_INPUT when the cell's "bs" is not from 512 to 1g. */
int fb_check_bs(const struct fb_cell *cell, struct fb_error *err);

/** fb_argv_add() - Append a formatted string to a JSON array of arguments. */
void fb_argv_add(json_t *argv, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
