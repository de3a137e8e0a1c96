/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What workloads of our own say in the guest.
 *
 * They run as a child of the agent, with its descriptors: 1 goes to .parse, 2 to the log. Each
 * line is written at once, so that what was measured before a crash is known.
 */
#ifndef FB_TESTCASES_GUEST_H
#define FB_TESTCASES_GUEST_H

/** fb_guest_say() - A line of the result. Return: 0, or -1 when it could not be written. */
int fb_guest_say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/** fb_guest_fail() - Why the workload gives up, with errno's text. Return: -1. */
int fb_guest_fail(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/**
 * fb_guest_settle() - Write everything back and drop the page cache; an exit status.
 *
 * Runs between preparation and measurement, so that what the preparation left dirty is not
 * paid for by the measured step.
 */
int fb_guest_settle(void);

#endif
