/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Why a build failed, read from its log. */
#ifndef FB_BUILD_LOG_H
#define FB_BUILD_LOG_H

#include <stddef.h>

enum fb_log_fault {
	FB_LOG_COMMIT, /* the source does not build */
	FB_LOG_SPACE,  /* the disk was full */
	FB_LOG_KILLED, /* something was killed or memory ran out */
	FB_LOG_TOOL,   /* a program or header of this host is missing */
};

struct fb_log_cause {
	enum fb_log_fault fault;
	char *line;    /* one line, without control bytes, paths relative to the source */
	char *package; /* FB_LOG_TOOL: the Debian package */
};

/**
 * fb_log_find_cause() - The line that says why.
 * @roots: directories cut from paths in the line, so that the cause does not depend on where
 *	the tree lies; ends with NULL; may be NULL.
 *
 * Faults of this host win over errors of the source wherever they stand: a full disk also
 * makes compilers complain. Then the first compiler or linker error, kconfig or modpost
 * error, missing rule; then make's own summary; then the last line.
 *
 * Ownership: release with fb_log_cause_release().
 */
void fb_log_find_cause(const char *buf, size_t len, const char *const *roots,
		       struct fb_log_cause *ret);
void fb_log_cause_release(struct fb_log_cause *cause);

/** fb_build_package() - Debian package of a program that kernel builds use; NULL if not known. */
const char *fb_build_package(const char *program);

#endif
