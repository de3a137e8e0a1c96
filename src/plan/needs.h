/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a cell needs of the kernel's config and of the disk; told before anything is built. */
#ifndef FB_PLAN_NEEDS_H
#define FB_PLAN_NEEDS_H

#include <stdbool.h>
#include <stdint.h>

#include "testcases/testcase.h"

/* What there is. */
struct fb_plan_has {
	const char *config; /* texts of all fragments; NULL where the config is not made of them */
	bool null_blk;	    /* the machine's device under test is null_blk */
	uint64_t disk_b;    /* size of the device under test */
	bool device;	    /* there is such a device: not on the command machine */
};

/**
 * fb_plan_lacks() - Why the cell cannot run there.
 * @ret_param: the parameter that asks for too much ("fs"); borrowed, a literal.
 *
 * Return: owned text, or NULL when nothing is known to lack.
 */
char *fb_plan_lacks(const struct fb_plan_has *has, const struct fb_cell *cell,
		    const char **ret_param);

#endif
