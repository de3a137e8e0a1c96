/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the kernel's console says about its health. */
#ifndef FB_BOOT_CONSOLE_H
#define FB_BOOT_CONSOLE_H

#include <stdbool.h>
#include <stddef.h>

#define FB_CONSOLE_LINE_MAX 512 /* longer lines are judged and shown by their beginning */

/* The first line of each kind, "" when there was none; printable ASCII. */
struct fb_console {
	char line[FB_CONSOLE_LINE_MAX]; /* being read */
	size_t len;
	char panic[FB_CONSOLE_LINE_MAX];
	char oops[FB_CONSOLE_LINE_MAX]; /* oops, BUG, lockup, stall: no number counts after it */
	char warning[FB_CONSOLE_LINE_MAX];
	char oom[FB_CONSOLE_LINE_MAX];
	char refusal[FB_CONSOLE_LINE_MAX]; /* of the guest's programs to run on this kernel */
	char last[FB_CONSOLE_LINE_MAX];	   /* the last line that was not empty */
	unsigned nr_banners;		   /* "Linux version": more than one is a reboot */
	size_t bytes;
};

/** fb_console_feed() - Take what arrived; total for any bytes. */
void fb_console_feed(struct fb_console *console, const char *buf, size_t len);

/** fb_console_end() - No more will come: judge an unfinished last line too. */
void fb_console_end(struct fb_console *console);

#endif
