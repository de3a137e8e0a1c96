/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a guest may send: the agent's stream, the console, and QEMU's words about it. */
#include <math.h>
#include <string.h>

#include "src/boot/internal.h"
#include "t/fuzz/fuzz.h"

const char *const fuzz_corpora[] = {"t/fuzz/corpus/guest", NULL};

static bool is_one_line(const char *s)
{
	for (; *s; s++)
		if (*s < 0x20 || *s > 0x7e)
			return false;
	return true;
}

static void check_run(const struct fb_boot_run *run)
{
	const char *name;
	json_t *v;

	FUZZ_ASSERT(run->out[run->out_len] == '\0' && run->out_len <= FB_STREAM_OUT_MAX);
	FUZZ_ASSERT((run->end == FB_END_OK) == !run->why);
	FUZZ_ASSERT(!run->why || is_one_line(run->why));
	json_object_foreach(run->counters, name, v)
		FUZZ_ASSERT(json_is_real(v) && isfinite(json_real_value(v)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	json_t *cells = json_pack("[{s:i}, {}]", "runs", 2);
	const char *buf = (const char *)data;
	struct fb_console console = {0};
	struct fb_stream whole, cut;
	struct fb_qmp qmp = {0};
	struct fb_watch w = {.qmp = &qmp, .console = &console, .stream = &whole};
	char *why = NULL;

	fb_stream_init(&whole, cells);
	fb_stream_init(&cut, cells);
	fb_stream_feed(&whole, buf, size);
	for (size_t i = 0; i < size; i++)
		fb_stream_feed(&cut, buf + i, 1);
	fb_stream_end(&whole);
	fb_stream_end(&cut);
	/* It does not matter how the bytes were cut on their way. */
	FUZZ_ASSERT(whole.nr_runs == cut.nr_runs && !strcmp(whole.bad, cut.bad));
	FUZZ_ASSERT(whole.nr_runs <= 3 && is_one_line(whole.bad) && is_one_line(whole.failed));
	for (size_t i = 0; i < whole.nr_runs; i++)
		check_run(&whole.runs[i]);
	FUZZ_ASSERT(!whole.done || whole.hello);

	fb_console_feed(&console, buf, size);
	fb_console_end(&console);
	FUZZ_ASSERT(is_one_line(console.panic) && is_one_line(console.oops));
	FUZZ_ASSERT(is_one_line(console.last));
	fb_qmp_feed(&qmp, buf, size);

	/* Any of it leads to a verdict, and without the agent's last word never to a good one. */
	FUZZ_ASSERT(fb_classify(&w, &why) != FB_END_OK || whole.done);
	free(why);
	fb_qmp_release(&qmp);
	fb_stream_release(&whole);
	fb_stream_release(&cut);
	json_decref(cells);
	return 0;
}
