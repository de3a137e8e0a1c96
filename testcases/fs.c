/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the file system testcases share: parameters, mkfs, and the frame of a job. */
#include "testcases/fs.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "src/util/str.h"
#include "src/util/util.h"

#define MKFS_ARGS 6

/*
 * Nothing that goes on after mkfs has ended (lazy initialisation), and no discard of the
 * whole device: on a file-backed disk it takes longer than the workload.
 */
static const struct {
	const char *fs;
	const char *argv[MKFS_ARGS]; /* the device is added by the agent */
} mkfs[] = {
	{"btrfs", {"mkfs.btrfs", "-f", "-q", "-K"}},
	{"ext2", {"mkfs.ext2", "-F", "-q", "-E", "lazy_itable_init=0,nodiscard"}},
	{"ext3",
	 {"mkfs.ext3", "-F", "-q", "-E", "lazy_itable_init=0,lazy_journal_init=0,nodiscard"}},
	{"ext4",
	 {"mkfs.ext4", "-F", "-q", "-E", "lazy_itable_init=0,lazy_journal_init=0,nodiscard"}},
	{"f2fs", {"mkfs.f2fs", "-f", "-q", "-t", "0"}},
	{"xfs", {"mkfs.xfs", "-f", "-q", "-K"}},
};

static const char *const *mkfs_argv(const char *fs)
{
	for (size_t i = 0; i < FB_ARRAY_SIZE(mkfs); i++)
		if (!strcmp(mkfs[i].fs, fs))
			return mkfs[i].argv;
	FB_BUG("no mkfs for '%s'", fs); /* FB_FS_TYPES and the table disagree */
}

static json_t *fs_json(const struct fb_cell *cell)
{
	const char *fs = fb_cell_get(cell, "fs");
	json_t *argv = json_array();

	for (const char *const *a = mkfs_argv(fs); *a; a++)
		json_array_append_new(argv, json_string(*a));
	return json_pack("{s:s, s:o, s:s}", "type", fs, "mkfs", argv, "options",
			 fb_cell_get(cell, "mount_options"));
}

void fb_fs_tools(const struct fb_cell *cell, char ***tools)
{
	fb_strv_add(tools, mkfs_argv(fb_cell_get(cell, "fs"))[0]);
}

json_t *fb_job_new(const struct fb_cell *cell, struct fb_error *err)
{
	int64_t timeout_ns;
	uint64_t runs;

	if (fb_parse_duration(fb_cell_get(cell, "timeout"), &timeout_ns, err) < 0 ||
	    fb_parse_u64(fb_cell_get(cell, "runs"), 1, 1000, &runs, err) < 0)
		return NULL;
	if (timeout_ns <= 0) {
		fb_error_set(err, FB_ERROR_INPUT, "timeout: must be longer than nothing");
		return NULL;
	}
	return json_pack("{s:o, s:[], s:[], s:I, s:I}", "fs",
			 strcmp(fb_cell_get(cell, "fs"), "none") ? fs_json(cell) : json_null(),
			 "prepare", "files", "timeout_s", (json_int_t)(timeout_ns / FB_NS_PER_S),
			 "runs", (json_int_t)runs);
}

void fb_job_settle(json_t *job)
{
	json_array_append_new(json_object_get(job, "prepare"), json_pack("[s]", "@settle"));
}

int fb_check_bs(const struct fb_cell *cell, struct fb_error *err)
{
	uint64_t bs = fb_cell_size(cell, "bs");

	return bs < 512 || bs > (1u << 30)
		       ? fb_error_set(err, FB_ERROR_INPUT, "bs: not from 512 to 1g")
		       : 0;
}

void fb_argv_add(json_t *argv, const char *fmt, ...)
{
	FB_CLEANUP(fb_freep) char *text = NULL;
	va_list ap;

	va_start(ap, fmt);
	text = fb_xvasprintf(fmt, ap);
	va_end(ap);
	if (json_array_append_new(argv, json_string(text)) < 0)
		FB_BUG("'%s' is not UTF-8", text); /* parameters were checked */
}
