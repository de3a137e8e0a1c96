/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

#include "src/controller/dagfile.h"
#include "src/util/str.h"
#include "src/util/util.h"
#include "src/controller/xz.h"
#include "t/fuzz/fuzz.h"

const char *const fuzz_corpora[] = {"t/fuzz/corpus/dag", NULL};

/* The graph as a file again: byte for byte what was read. */
static void write_back(const struct fb_dagfile *file, struct fb_str *out)
{
	fb_str_addf(out, "# %s\n", file->about);
	for (uint32_t v = 1; v <= file->nr_commits; v++) {
		size_t nr;
		const uint32_t *parents = fb_dag_parents(file->dag, v, &nr);

		FUZZ_ASSERT(nr > 0);
		for (size_t i = 0; i < nr; i++) {
			FUZZ_ASSERT(parents[i] < v && (parents[i] > 0 || nr == 1));
			if (parents[i] > 0)
				fb_str_addf(out, "%s%u", i ? " " : "", parents[i] - 1);
		}
		fb_str_add(out, "\n");
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	FB_CLEANUP(fb_str_release) struct fb_str text = FB_STR_INIT;
	struct fb_error err = FB_ERROR_INIT;
	struct fb_dagfile file;

	if (fb_dagfile_parse((const char *)data, size, "x.dag", &file, &err) < 0) {
		FUZZ_ASSERT(err.code == FB_ERROR_INPUT &&
			    !strncmp(err.text, "x.dag:", strlen("x.dag:")));
		return 0;
	}
	FUZZ_ASSERT(err.code == FB_ERROR_NONE);
	FUZZ_ASSERT(fb_dag_nr(file.dag) == file.nr_commits + 1);
	write_back(&file, &text);
	if (!fb_xz_is((const char *)data, size)) {
		/* The head is kept as text only: it may have had other bytes. */
		const char *was = memchr(data, '\n', size), *is = strchr(fb_str_cstr(&text), '\n');
		size_t len = size - (size_t)(was - (const char *)data);

		FUZZ_ASSERT(strlen(is) == len && !memcmp(is, was, len));
	}
	fb_dagfile_release(&file);
	return 0;
}
