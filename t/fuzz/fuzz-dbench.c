/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "t/fuzz/fuzz-output.h"

const char *const fuzz_corpora[] = {"t/fuzz/corpus/dbench", "t/data/testcases/dbench", NULL};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char runtime[] = "runtime", two[] = "2s", nr_threads[] = "nr_threads", four[] = "4t",
		    sync_open[] = "sync_open", sync_dirs[] = "sync_dirs", yes[] = "1";
	const struct fb_param one[] = {{runtime, two}};
	const struct fb_param synced[] = {
		{runtime, two}, {nr_threads, four}, {sync_open, yes}, {sync_dirs, yes}};

	fuzz_output("dbench", one, FB_ARRAY_SIZE(one), data, size);
	fuzz_output("dbench", synced, FB_ARRAY_SIZE(synced), data, size);
	return 0;
}
