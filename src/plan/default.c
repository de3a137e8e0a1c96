/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The plan that is used when none is given. */
#include "src/plan/plan.h"

/*
 * Chosen so that one boot of the deterministic machine takes some ten seconds of guest time and
 * of a CPU: each cell does a few hundred fsyncs or syncs, which is what file system regressions
 * are usually about, and runs for about a second or more, as fio counts in milliseconds.
 */
static const char text[] =
	"# The default plan of firstbad: file system regressions that can be seen in a VM.\n"
	"machine: deterministic\n"
	"kconfig: [tiny, virt, fs-ext4, fs-btrfs, null-blk]\n"
	"memory: 2G\n"
	"disk: 1G\n"
	"boots: {min: 3, max: 60}       # per commit\n"
	"confidence: 0.99\n"
	"min_effect: 2%                 # smaller changes are not looked for\n"
	"matrix:\n"
	"  # 2048 random 4k writes, an fsync after each 8th.\n"
	"  - testcase: fio\n"
	"    fs: [btrfs, ext4]\n"
	"    rw: randwrite\n"
	"    bs: 4k\n"
	"    nr_task: 1\n"
	"    fsync: 8\n"
	"    size: 8m\n"
	"  # sync() after making, reading and removing files.\n"
	"  - testcase: sync-latency\n"
	"    fs: ext4\n"
	"    nr_files: 512,1024\n";

const char *fb_plan_default(void)
{
	return text;
}
