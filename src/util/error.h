/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One error type, on the caller's stack, with a chain of contexts in its text. */
#ifndef FB_UTIL_ERROR_H
#define FB_UTIL_ERROR_H

#include <stdarg.h>

/* A code exists only where some caller decides differently because of it. */
enum fb_error_code {
	FB_ERROR_NONE,
	FB_ERROR_USAGE,	  /* the user asked for something impossible */
	FB_ERROR_INPUT,	  /* a file or a reply could not be understood */
	FB_ERROR_SYSTEM,  /* a system call failed; .sys holds errno */
	FB_ERROR_CHILD,	  /* a child process failed or was killed */
	FB_ERROR_TIMEOUT, /* a time limit ran out */
	FB_ERROR_GIT,	  /* the repository does not hold what was asked for */
	FB_ERROR_MISSING, /* a tool, package or machine kind is not there */
	FB_ERROR_INFRA,	  /* the lab failed, not the kernel: retry, never a verdict */
	FB_ERROR_STORE,	  /* the database */
	FB_ERROR_STOPPED, /* a signal asked us to stop; everything finished is kept */
	FB_ERROR_DAMAGED, /* an object of the repository cannot be read, or lacks another one */
	FB_ERROR_BUSY,	  /* another process is at it */
};

struct fb_error {
	enum fb_error_code code;
	int sys;	 /* errno, or 0 */
	char text[1024]; /* "outer: inner: innermost", no newline */
};

#define FB_ERROR_INIT                                                                              \
	{                                                                                          \
		.code = FB_ERROR_NONE                                                              \
	}

/**
 * fb_error_set() - Describe a failure.
 * @err: where to; must not hold an error already. Never NULL.
 * @code: why, for callers that decide by it.
 * @fmt: lower case, no full stop; quote user strings with '...'.
 *
 * Line breaks, control bytes and what is no UTF-8 become '?' in the formatted text, so that an
 * error stays one line, and JSON can hold it, whatever a file, a program or a commit held.
 *
 * Return: -1, so that a failing function ends in one statement.
 */
int fb_error_set(struct fb_error *err, enum fb_error_code code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/**
 * fb_error_set_sys() - The same for a failed system call; appends strerror().
 * @errnum: errno at the time of the failure. ENOSPC and EDQUOT keep their number in .sys.
 *
 * Return: -1.
 */
int fb_error_set_sys(struct fb_error *err, int errnum, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/**
 * fb_error_wrap() - Put a context in front: "@fmt: old text".
 *
 * Say what was being done to which object, never "failed to".
 *
 * Return: -1.
 */
int fb_error_wrap(struct fb_error *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/** fb_error_clear() - Forget an error that the caller has dealt with. */
void fb_error_clear(struct fb_error *err);

/** fb_bug() - A broken invariant of ours: print and abort, in every build. */
void fb_bug(const char *file, int line, const char *fmt, ...)
	__attribute__((format(printf, 3, 4), noreturn));
#define FB_BUG(...) fb_bug(__FILE__, __LINE__, __VA_ARGS__)

#endif
