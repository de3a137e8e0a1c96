/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

#include "t/fuzz/fuzz-output.h"
#include "testcases/command.h"

const char *const fuzz_corpora[] = {"t/fuzz/corpus/command", "t/data/testcases/command", NULL};

/* Words that are quoted again, each in '...', split into themselves. */
static void split(const uint8_t *data, size_t size)
{
	FB_CLEANUP(fb_freep) char *text = fb_xstrndup((const char *)data, size);
	FB_CLEANUP(fb_strvp) char **words = NULL, **again = NULL;
	FB_CLEANUP(fb_str_release) struct fb_str s = FB_STR_INIT;
	struct fb_error err = FB_ERROR_INIT;

	if (fb_command_split(text, &words, &err) < 0) {
		FUZZ_ASSERT(err.code == FB_ERROR_INPUT && !words);
		return;
	}
	for (char **w = words; *w; w++) {
		fb_str_addc(&s, '\'');
		for (const char *p = *w; *p; p++)
			if (*p == '\'')
				fb_str_add(&s, "'\\''");
			else
				fb_str_addc(&s, *p);
		fb_str_add(&s, "' ");
	}
	FUZZ_ASSERT(fb_command_split(fb_str_cstr(&s), &again, &err) == 0);
	FUZZ_ASSERT(fb_strv_len(words) == fb_strv_len(again));
	for (size_t i = 0; words[i]; i++)
		FUZZ_ASSERT(!strcmp(words[i], again[i]));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char command[] = "command", x[] = "x";
	const struct fb_param params[] = {{command, x}};

	fuzz_output("command", params, FB_ARRAY_SIZE(params), data, size);
	split(data, size);
	return 0;
}
