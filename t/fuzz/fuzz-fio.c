/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "t/fuzz/fuzz-output.h"

const char *const fuzz_corpora[] = {"t/fuzz/corpus/fio", "t/data/testcases/fio", NULL};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char rw[] = "rw", randrw[] = "randrw", nr_task[] = "nr_task", four[] = "4",
		    runtime[] = "runtime", second[] = "1s";
	const struct fb_param one[] = {{runtime, second}};
	const struct fb_param both[] = {{rw, randrw}, {nr_task, four}};

	fuzz_output("fio", one, FB_ARRAY_SIZE(one), data, size);
	fuzz_output("fio", both, FB_ARRAY_SIZE(both), data, size);
	return 0;
}
