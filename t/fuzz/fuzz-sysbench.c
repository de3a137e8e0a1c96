/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "t/fuzz/fuzz-output.h"

const char *const fuzz_corpora[] = {"t/fuzz/corpus/sysbench", "t/data/testcases/sysbench-fileio",
				    NULL};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char rwmode[] = "rwmode", rndrw[] = "rndrw", period[] = "period", ten[] = "10s";
	const struct fb_param timed[] = {{rwmode, rndrw}, {period, ten}};

	fuzz_output("sysbench-fileio", timed, FB_ARRAY_SIZE(timed), data, size);
	fuzz_output("sysbench-fileio", NULL, 0, data, size);
	return 0;
}
