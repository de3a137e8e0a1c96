/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is needed of QEMU's machine protocol: say hello, then listen to events. */
#ifndef FB_BOOT_QMP_H
#define FB_BOOT_QMP_H

#include <stdbool.h>
#include <stddef.h>

#include "src/util/str.h"

#define FB_QMP_LINE_MAX (64u << 10) /* longest greeting seen: 200 bytes */

struct fb_qmp {
	struct fb_str line;
	bool greeted;	   /* answer with "qmp_capabilities" */
	bool bad;	   /* something that is no QMP arrived */
	char reason[64];   /* of SHUTDOWN: "guest-reset", "guest-shutdown", ...; else "" */
	bool panicked;	   /* GUEST_PANICKED */
	bool stopped;	   /* STOP: paused by an internal error or a full disk */
	char io_error[64]; /* BLOCK_IO_ERROR's reason, or "" */
	char version[64];  /* "7.2.22" */
};

/** fb_qmp_feed() - Take what arrived; complete lines are read, the rest is kept. */
void fb_qmp_feed(struct fb_qmp *qmp, const char *buf, size_t len);

void fb_qmp_release(struct fb_qmp *qmp);

#endif
