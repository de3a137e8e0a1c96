/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A fuzz target: one function, and where its samples are.
 *
 * Every build runs each target over its samples as a test (replay.c). With --enable-fuzzing and
 * CC=clang it is linked with libFuzzer instead:
 *   mkdir scratch && t/fuzz/fuzz-fio scratch/ t/fuzz/corpus/fio t/data/testcases/fio
 * (new inputs go to the first directory). What it finds becomes a file of the corpus. For
 * fuzz-plan use LSAN_OPTIONS=suppressions=FILE with "leak:libfyaml.so" in it: libfyaml 0.7.12
 * loses a buffer for a long run of '' in a single-quoted value.
 */
#ifndef FB_T_FUZZ_FUZZ_H
#define FB_T_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "src/util/error.h"

/* Directories with samples, relative to the source tree; NULL-terminated. */
extern const char *const fuzz_corpora[];

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A claim that must hold for any input, in every build. */
#define FUZZ_ASSERT(cond)                                                                          \
	do {                                                                                       \
		if (!(cond))                                                                       \
			fb_bug(__FILE__, __LINE__, "not so: %s", #cond);                           \
	} while (0)

#endif
