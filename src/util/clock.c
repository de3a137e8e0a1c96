/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Time as functions with units in their names. */
#include "src/util/clock.h"

#include <stdlib.h>
#include <time.h>

#include "src/util/str.h"
#include "src/util/util.h"

static int64_t read_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (int64_t)ts.tv_sec * FB_NS_PER_S + ts.tv_nsec;
}

int64_t fb_clock_mono_ns(void)
{
	return read_ns(CLOCK_MONOTONIC);
}

int64_t fb_clock_cpu_ns(void)
{
	return read_ns(CLOCK_THREAD_CPUTIME_ID);
}

int64_t fb_clock_wall_s(void)
{
	const char *fixed = getenv("FIRSTBAD_TEST_NOW");
	struct fb_error err = FB_ERROR_INIT;
	uint64_t v;

	if (fixed && fb_parse_u64(fixed, 0, INT64_MAX, &v, &err) == 0)
		return (int64_t)v;
	return (int64_t)time(NULL);
}
