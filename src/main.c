/* SPDX-License-Identifier: GPL-2.0-or-later */
/* firstbad: finds the command and runs it. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "config.h"
#include "src/cmd/cmd.h"
#include "src/cmd/manual.h"
#include "src/util/str.h"
#include "src/util/util.h"

const struct fb_command fb_commands[] = {
	{"bisect auto", "find the commit that changed a number, by booting kernels",
	 fb_cmd_bisect_auto},
	{"bisect bad", "by hand: a commit is bad", fb_cmd_bisect_verdict},
	{"bisect good", "by hand: a commit is good", fb_cmd_bisect_verdict},
	{"bisect log", "by hand: what was said so far", fb_cmd_bisect_log},
	{"bisect new", "by hand: a commit is on the new side", fb_cmd_bisect_verdict},
	{"bisect next", "by hand: check out the next commit", fb_cmd_bisect_next},
	{"bisect old", "by hand: a commit is on the old side", fb_cmd_bisect_verdict},
	{"bisect replay", "by hand: say again what a log says", fb_cmd_bisect_replay},
	{"bisect reset", "by hand: end, and go back", fb_cmd_bisect_reset},
	{"bisect run", "find the commit that changed what a command says, in any repository",
	 fb_cmd_bisect_run},
	{"bisect skip", "by hand: a commit cannot be tested", fb_cmd_bisect_skip},
	{"bisect start", "begin a bisection by hand, as git bisect", fb_cmd_bisect_start},
	{"bisect status", "what a bisection knows so far", fb_cmd_bisect_status},
	{"bisect terms", "by hand: what the two sides are called", fb_cmd_bisect_terms},
	{"bisect undo", "by hand: take back the last verdict", fb_cmd_bisect_undo},
	{"bisect view", "the same as visualize", fb_cmd_bisect_visualize},
	{"bisect visualize", "by hand: show the commits that are left", fb_cmd_bisect_visualize},
	{"bisect weak", "by hand: a commit is probably good or bad", fb_cmd_bisect_weak},
	{"compare", "what differs between revisions, over the whole matrix", fb_cmd_compare},
	{"doctor", "what works on this host", fb_cmd_doctor},
	{"job", NULL, fb_cmd_job},
	{"judge", "measure what is checked out: 0 good, 1 bad, 125 skip, for git bisect run",
	 fb_cmd_judge},
	{"list", "list tests, metrics, kconfigs, machines, engines or sessions", fb_cmd_list},
	{"measure", "build, boot and run a plan's matrix on some revisions", fb_cmd_measure},
	{"noise", "how far values move by themselves, and boots that show a change", fb_cmd_noise},
	{"report", "the report of a bisection", fb_cmd_report},
	{"simulate", "how the search behaves in made histories: boots, errors, calibration",
	 fb_cmd_simulate},
	{NULL, NULL, NULL},
};

/* @first: only the commands whose name begins so; "" for all. */
static int usage(const char *first, bool wanted)
{
	FB_CLEANUP(fb_str_release) struct fb_str out = FB_STR_INIT;

	fb_str_addf(&out, "usage: firstbad [-C DIR] %s [OPTIONS] [ARGUMENTS]\n\ncommands:\n",
		    *first ? "bisect COMMAND" : "COMMAND");
	for (const struct fb_command *c = fb_commands; c->name; c++)
		if (c->summary && fb_str_has_prefix(c->name, first))
			fb_str_addf(&out, "  %-16s %s\n", c->name, c->summary);
	fb_str_add(&out, "\n`firstbad COMMAND --help` tells more; the manual is firstbad(1).\n");
	if (wanted)
		return fb_put(fb_str_cstr(&out));
	fputs(fb_str_cstr(&out), stderr);
	return FB_EXIT_USAGE;
}

/* Number of words of the command's name that argv begins with; 0 when it does not. */
static int matches(const struct fb_command *c, int argc, char **argv)
{
	const char *space = strchr(c->name, ' ');

	if (!space)
		return strcmp(argv[0], c->name) == 0;
	if (argc < 2 || strncmp(argv[0], c->name, (size_t)(space - c->name)) != 0 ||
	    argv[0][space - c->name] != '\0' || strcmp(argv[1], space + 1) != 0)
		return 0;
	return 2;
}

static bool is_help(const char *word)
{
	return !strcmp(word, "--help") || !strcmp(word, "-h") || !strcmp(word, "help");
}

/* What is no command: a word, an option too early, or "bisect" with what it has not got. */
static int no_command(int argc, char **argv)
{
	if (!strcmp(argv[0], "-C"))
		fputs("firstbad: -C needs a directory\n", stderr);
	else if (*argv[0] == '-')
		fprintf(stderr,
			"firstbad: '%s': only -C DIR, --help and --version come before the "
			"command; other options come after it\n",
			argv[0]);
	else if (strcmp(argv[0], "bisect") != 0)
		fprintf(stderr, "firstbad: no command '%s'; see firstbad --help\n", argv[0]);
	else if (argc > 1 && is_help(argv[1]))
		return usage("bisect ", true);
	else {
		if (argc > 1)
			fprintf(stderr, "firstbad: no command 'bisect %s'\n", argv[1]);
		return usage("bisect ", false);
	}
	return FB_EXIT_USAGE;
}

int main(int argc, char **argv)
{
	int i = 1;

	/* Then a limit on file sizes is an error of write(2) like others: told, and kept clean. */
	signal(SIGXFSZ, SIG_IGN);
	/* git's habit: -C DIR before the command. */
	while (i + 1 < argc && strcmp(argv[i], "-C") == 0) {
		if (chdir(argv[i + 1]) < 0) {
			fprintf(stderr, "firstbad: change to '%s': %m\n", argv[i + 1]);
			return FB_EXIT_USAGE;
		}
		i += 2;
	}
	if (i >= argc)
		return usage("", false);
	if (is_help(argv[i]))
		return usage("", true);
	if (!strcmp(argv[i], "--version"))
		return fb_put(PACKAGE_STRING "\n");
	for (const struct fb_command *c = fb_commands; c->name; c++) {
		int words = matches(c, argc - i, argv + i);

		if (words)
			return c->run(argc - i - words + 1, argv + i + words - 1);
	}
	if (argc - i > 1 && !strcmp(argv[i], "bisect") && fb_is_term(argv[i + 1]))
		return fb_cmd_bisect_verdict(argc - i - 1, argv + i + 1);
	return no_command(argc - i, argv + i);
}
