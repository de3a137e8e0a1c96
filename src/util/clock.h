/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Time as functions with units in their names. */
#ifndef FB_UTIL_CLOCK_H
#define FB_UTIL_CLOCK_H

#include <stdint.h>

/** fb_clock_mono_ns() - CLOCK_MONOTONIC, for durations and limits. */
int64_t fb_clock_mono_ns(void);

/** fb_clock_cpu_ns() - CPU time of this thread, for the cost of a computation. */
int64_t fb_clock_cpu_ns(void);

/** fb_clock_wall_s() - Unix seconds, for stamps; FIRSTBAD_TEST_NOW (tests only) overrides it. */
int64_t fb_clock_wall_s(void);

#endif
