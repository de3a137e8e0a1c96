/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "t/fuzz/fuzz-output.h"

const char *const fuzz_corpora[] = {"t/fuzz/corpus/sync-latency", "t/data/testcases/sync-latency",
				    NULL};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char nr_files[] = "nr_files", one[] = "64";
	const struct fb_param params[] = {{nr_files, one}};

	fuzz_output("sync-latency", params, FB_ARRAY_SIZE(params), data, size);
	fuzz_output("sync-latency", NULL, 0, data, size);
	return 0;
}
