/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "t/fuzz/fuzz-output.h"

const char *const fuzz_corpora[] = {"t/fuzz/corpus/dd-write", "t/data/testcases/dd-write", NULL};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char nr_threads[] = "nr_threads", two[] = "2dd", total[] = "size", b[] = "32m";
	const struct fb_param params[] = {{nr_threads, two}, {total, b}};

	fuzz_output("dd-write", params, FB_ARRAY_SIZE(params), data, size);
	fuzz_output("dd-write", NULL, 0, data, size);
	return 0;
}
