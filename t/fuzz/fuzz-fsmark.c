/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "t/fuzz/fuzz-output.h"

const char *const fuzz_corpora[] = {"t/fuzz/corpus/fsmark", "t/data/testcases/fsmark", NULL};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char total[] = "test_size", b[] = "8m", iterations[] = "iterations", three[] = "3x",
		    nr_threads[] = "nr_threads", four[] = "4t", filesize[] = "filesize", k[] = "4k",
		    all[] = "6m";
	const struct fb_param one[] = {{total, b}};
	const struct fb_param more[] = {
		{nr_threads, four}, {filesize, k}, {total, all}, {iterations, three}};

	fuzz_output("fsmark", one, FB_ARRAY_SIZE(one), data, size);
	fuzz_output("fsmark", more, FB_ARRAY_SIZE(more), data, size);
	return 0;
}
