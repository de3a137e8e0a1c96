/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One table drives the parsing of options and their --help text. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/cmd/cmd.h"
#include "src/util/str.h"
#include "src/util/util.h"

static int help(const char *usage, const char *about, const struct fb_opt *opts, size_t nr)
{
	FB_CLEANUP(fb_str_release) struct fb_str out = FB_STR_INIT;

	fb_str_addf(&out, "usage: firstbad %s\n\n%s\n\noptions:\n", usage, about);
	for (size_t i = 0; i < nr; i++) {
		char left[64];

		snprintf(left, sizeof(left), "%s%c%s--%s%s%s", opts[i].letter ? "-" : " ",
			 opts[i].letter ? opts[i].letter : ' ', opts[i].letter ? ", " : "  ",
			 opts[i].name, opts[i].arg ? " " : "", opts[i].arg ? opts[i].arg : "");
		fb_str_addf(&out, "  %-28s %s\n", left, opts[i].help);
	}
	fb_str_addf(&out, "  %-28s %s\n", "    --help", "this text");
	return fb_put(fb_str_cstr(&out));
}

static int store_value(const struct fb_opt *opt, char *value)
{
	struct fb_error err = FB_ERROR_INIT;
	uint64_t v;

	switch (opt->kind) {
	case FB_OPT_FLAG:
		*(bool *)opt->to = true;
		return 0;
	case FB_OPT_STRING:
		*(const char **)opt->to = value;
		return 0;
	case FB_OPT_STRINGS:
		fb_strv_add(opt->to, value);
		return 0;
	case FB_OPT_UINT:
		if (fb_parse_u64(value, 0, 1000000, &v, &err) < 0) {
			fprintf(stderr, "firstbad: --%s: %s\n", opt->name, err.text);
			return -1;
		}
		*(unsigned *)opt->to = (unsigned)v;
		return 0;
	}
	FB_BUG("option kind %d", (int)opt->kind);
}

static int parse(int argc, char **argv, const char *usage, const char *about,
		 const struct fb_opt *opts, size_t nr, bool before, int *ret_first)
{
	FB_CLEANUP(fb_freep) struct option *longs = fb_xcalloc(nr + 2, sizeof(*longs));
	static char name[] = "firstbad";
	struct fb_str shorts = FB_STR_INIT;
	int c, rc = -1;

	argv[0] = name; /* getopt begins its messages with it */
	if (before)
		fb_str_addc(&shorts, '+');
	for (size_t i = 0; i < nr; i++) {
		bool arg = opts[i].kind != FB_OPT_FLAG;

		longs[i] = (struct option){opts[i].name, arg ? required_argument : no_argument,
					   NULL, (int)(1000 + i)};
		if (opts[i].letter)
			fb_str_addf(&shorts, "%c%s", opts[i].letter, arg ? ":" : "");
	}
	longs[nr] = (struct option){"help", no_argument, NULL, 'h'};
	fb_str_addc(&shorts, 'h');
	optind = 0;
	while (rc < 0 && (c = getopt_long(argc, argv, fb_str_cstr(&shorts), longs, NULL)) >= 0) {
		const struct fb_opt *opt = NULL;

		if (c == 'h') {
			rc = help(usage, about, opts, nr);
			break;
		}
		for (size_t i = 0; i < nr && !opt; i++)
			if (c == (int)(1000 + i) || (opts[i].letter && c == opts[i].letter))
				opt = &opts[i];
		if (!opt || store_value(opt, optarg) < 0) {
			fprintf(stderr, "usage: firstbad %s (more with --help)\n", usage);
			rc = FB_EXIT_USAGE;
		}
	}
	fb_str_release(&shorts);
	*ret_first = optind;
	return rc;
}

int fb_opt_parse(int argc, char **argv, const char *usage, const char *about,
		 const struct fb_opt *opts, size_t nr, int *ret_first)
{
	return parse(argc, argv, usage, about, opts, nr, false, ret_first);
}

int fb_opt_parse_before(int argc, char **argv, const char *usage, const char *about,
			const struct fb_opt *opts, size_t nr, int *ret_first)
{
	return parse(argc, argv, usage, about, opts, nr, true, ret_first);
}
