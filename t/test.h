/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What every cmocka test needs: cmocka's headers in their order, and the checks it lacks. */
#ifndef FB_T_TEST_H
#define FB_T_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/util/error.h"

/**
 * assert_near() - @got is within @tol of @want; NaN never is.
 *
 * cmocka's assert_float_equal() compares floats: 1.00000001 equals 1.00000002 there.
 */
#define assert_near(got, want, tol)                                                                \
	do {                                                                                       \
		double t_got_ = (got), t_want_ = (want), t_tol_ = (tol);                           \
		if (!(fabs(t_got_ - t_want_) <= t_tol_))                                           \
			fail_msg("%s is %.17g, not %.17g (within %g)", #got, t_got_, t_want_,      \
				 t_tol_);                                                          \
	} while (0)

/** assert_ok() - @expr returned 0; prints @err otherwise. */
#define assert_ok(expr, err)                                                                       \
	do {                                                                                       \
		if ((expr) != 0)                                                                   \
			fail_msg("%s: error %d: %s", #expr, (int)(err)->code, (err)->text);        \
	} while (0)

/** assert_error() - @err holds @want_code and its text contains @want_text; clears it. */
#define assert_error(err, want_code, want_text)                                                    \
	do {                                                                                       \
		if ((err)->code != (want_code))                                                    \
			fail_msg("error code is %d, not %d (%s)", (int)(err)->code,                \
				 (int)(want_code), (err)->text);                                   \
		if (!strstr((err)->text, (want_text)))                                             \
			fail_msg("'%s' is not in the error '%s'", (want_text), (err)->text);       \
		fb_error_clear(err);                                                               \
	} while (0)

/** assert_contains() - @needle stands somewhere in @haystack. */
#define assert_contains(haystack, needle)                                                          \
	do {                                                                                       \
		if (!strstr((haystack), (needle)))                                                 \
			fail_msg("'%s' is not in '%s'", (needle), (haystack));                     \
	} while (0)

/* The source tree's t/ directory: tests run from the build directory. */
static inline const char *test_srcdir(void)
{
	const char *dir = getenv("top_srcdir");

	return dir ? dir : ".";
}

/**
 * assert_golden() - @got is what the file @name in t/golden/ holds.
 *
 * With FB_UPDATE_GOLDEN=1 in the environment the file is written instead. Read the difference
 * before it is committed.
 */
static inline void assert_golden(const char *name, const char *got)
{
	bool update = getenv("FB_UPDATE_GOLDEN") != NULL;
	size_t len = strlen(got), same = 0, line = 1;
	char path[4096], *want;
	FILE *f;

	snprintf(path, sizeof(path), "%s/t/golden/%s", test_srcdir(), name);
	f = fopen(path, update ? "w" : "r");
	if (!f)
		fail_msg("%s cannot be opened", path);
	if (update) {
		if (fwrite(got, 1, len, f) != len || fclose(f) != 0)
			fail_msg("%s cannot be written", path);
		print_message("# %s was written\n", path);
		return;
	}
	/* One more than asked for: a longer file is no equal one. */
	want = calloc(1, len + 2);
	assert_non_null(want);
	if (fread(want, 1, len + 1, f) != len || memcmp(want, got, len) != 0) {
		while (same < len && want[same] == got[same])
			line += got[same++] == '\n';
		print_error("--- what is reported, %s\n%s---\n", name, got);
		free(want);
		fclose(f);
		fail_msg("%s differs from line %zu on", path, line);
	}
	free(want);
	fclose(f);
}

#endif
