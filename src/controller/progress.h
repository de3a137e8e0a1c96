/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the controller tells while it works. It prints nothing itself. */
#ifndef FB_CONTROLLER_PROGRESS_H
#define FB_CONTROLLER_PROGRESS_H

#include <stdint.h>

struct fb_progress {
	const char *text;  /* one line that stays, or NULL when only the state below changed */
	const char *doing; /* "build", "boot", ...; what goes on now */
	unsigned step;	   /* commits looked at so far */
	uint32_t left;	   /* candidates in the set that holds the confidence; 0: not known */
	double posterior;  /* of the leader; < 0: not known */
	char leader[15];   /* its abbreviated id, "something else", or "" */
	unsigned boots;	   /* recorded so far */
	double eta_s;	   /* < 0: not known */
};

struct fb_observer {
	void (*tell)(void *ctx, const struct fb_progress *progress);
	void *ctx;
};

#endif
