/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Runs a fuzz target over its samples: one TAP line each. A crash ends it without the plan. */
#include "t/fuzz/fuzz.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>

#include "src/util/file.h"
#include "src/util/str.h"
#include "src/util/util.h"

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static char **samples_in(const char *dir)
{
	DIR *d = opendir(dir);
	char **names = NULL;
	struct dirent *e;

	while (d && (e = readdir(d)))
		if (*e->d_name != '.' && !fb_str_has_suffix(e->d_name, ".want"))
			fb_strv_add(&names, e->d_name);
	if (d)
		closedir(d);
	if (names)
		qsort(names, fb_strv_len(names), sizeof(*names), by_text);
	return names;
}

int main(void)
{
	const char *top = getenv("top_srcdir");
	int nr = 0, bad = 0;

	for (const char *const *c = fuzz_corpora; *c; c++) {
		FB_CLEANUP(fb_freep) char *dir = fb_xasprintf("%s/%s", top ? top : ".", *c);
		FB_CLEANUP(fb_strvp) char **names = samples_in(dir);

		for (char **n = names; n && *n; n++) {
			FB_CLEANUP(fb_freep) char *path = fb_xasprintf("%s/%s", dir, *n);
			FB_CLEANUP(fb_freep) uint8_t *exact = NULL;
			FB_CLEANUP(fb_str_release) struct fb_str s = FB_STR_INIT;
			struct fb_error err = FB_ERROR_INIT;

			if (fb_file_read(path, 16 << 20, &s, &err) < 0) {
				printf("not ok %d - %s: %s\n", ++nr, *n, err.text);
				bad++;
				continue;
			}
			/* Of the exact size: what reads past the end is seen by AddressSanitizer.
			 */
			exact = fb_xmalloc(s.len ? s.len : 1);
			if (s.len)
				memcpy(exact, s.buf, s.len);
			LLVMFuzzerTestOneInput(exact, s.len);
			printf("ok %d - %s/%s\n", ++nr, *c, *n);
			fflush(stdout);
		}
	}
	if (!nr) {
		printf("not ok %d - there are samples\n", ++nr);
		bad++;
	}
	printf("1..%d\n", nr);
	return bad != 0;
}
