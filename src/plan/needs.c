/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a cell needs of the kernel's config and of the disk. */
#include "src/plan/needs.h"

#include <string.h>

#include "src/util/str.h"
#include "src/util/util.h"

/* Whether a line of @config says SYMBOL=y or =m. */
static bool sets(const char *config, const char *symbol)
{
	size_t len = strlen(symbol);

	for (const char *p = config; (p = strstr(p, symbol)); p += len)
		if ((p == config || p[-1] == '\n') && p[len] == '=' &&
		    (p[len + 1] == 'y' || p[len + 1] == 'm'))
			return true;
	return false;
}

/* The ext4 driver reads ext3 whenever it is there, and ext2 when it is told to. */
static const struct need {
	const char *fs, *symbol, *or_symbol, *fragment;
} needs[] = {
	{"btrfs", "CONFIG_BTRFS_FS", NULL, "fs-btrfs"},
	{"ext2", "CONFIG_EXT2_FS", "CONFIG_EXT4_USE_FOR_EXT2", "a fragment of your own"},
	{"ext3", "CONFIG_EXT3_FS", "CONFIG_EXT4_FS", "fs-ext4"},
	{"ext4", "CONFIG_EXT4_FS", NULL, "fs-ext4"},
	{"f2fs", "CONFIG_F2FS_FS", NULL, "fs-f2fs"},
	{"xfs", "CONFIG_XFS_FS", NULL, "fs-xfs"},
};

/* NULL for one that nothing is known about. */
static const struct need *need_of(const char *fs)
{
	for (size_t i = 0; i < FB_ARRAY_SIZE(needs); i++)
		if (!strcmp(needs[i].fs, fs))
			return &needs[i];
	return NULL;
}

static const char *param(const struct fb_cell *cell, const char *name)
{
	for (size_t i = 0; i < cell->nr_params; i++)
		if (!strcmp(cell->params[i].name, name))
			return cell->params[i].value;
	return NULL;
}

char *fb_plan_lacks(const struct fb_plan_has *has, const struct fb_cell *cell,
		    const char **ret_param)
{
	const char *fs = param(cell, "fs");
	const struct need *need = fs ? need_of(fs) : NULL;

	if (!has->device || !fs || !strcmp(fs, "none"))
		return NULL;
	*ret_param = "fs";
	if (has->config && need && !sets(has->config, need->symbol) &&
	    !(need->or_symbol && sets(has->config, need->or_symbol)))
		return fb_xasprintf("fs: %s needs %s, which no kconfig fragment sets: "
				    "add %s to kconfig",
				    fs, need->symbol, need->fragment);
	if (has->config && has->null_blk && !sets(has->config, "CONFIG_BLK_DEV_NULL_BLK"))
		return fb_xstrdup("machine deterministic needs CONFIG_BLK_DEV_NULL_BLK, which no "
				  "kconfig fragment sets: add null-blk to kconfig");
	*ret_param = param(cell, "test_size") ? "test_size" : "size";
	if (cell->testcase->disk_b && cell->testcase->disk_b(cell) > has->disk_b)
		return fb_xasprintf(
			"%s: the files of this cell take %llu MiB, the disk has %llu MiB "
			"(key 'disk')",
			*ret_param,
			(unsigned long long)(cell->testcase->disk_b(cell) + (1 << 20) - 1) >> 20,
			(unsigned long long)has->disk_b >> 20);
	return NULL;
}
