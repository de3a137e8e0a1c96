/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the commands share: their table, options, exit statuses and printing. */
#ifndef FB_CMD_CMD_H
#define FB_CMD_CMD_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

#include "src/controller/bisect.h"
#include "src/controller/lab.h"
#include "src/util/str.h"

/* Exit statuses; 125 to 127 belong to `git bisect run`, 128 and above to signals. man page: EXIT
 * STATUS. */
enum fb_exit {
	FB_EXIT_OK = 0,		 /* done; for a bisection: one commit found */
	FB_EXIT_SKIPPED = 2,	 /* by hand, as git: only skipped commits are left */
	FB_EXIT_FIXED = 3,	 /* by hand, as git: a merge base is on the new side already */
	FB_EXIT_NOTHING = 4,	 /* by hand, as git: no commit that can be tested */
	FB_EXIT_RANGE = 10,	 /* several commits that cannot be told apart */
	FB_EXIT_NONE = 11,	 /* no change of the size looked for */
	FB_EXIT_UNDECIDED = 12,	 /* boots or time ran out */
	FB_EXIT_OTHER = 13,	 /* not one step, or the good side was made fast */
	FB_EXIT_UNTESTABLE = 14, /* an end cannot be measured */
	FB_EXIT_USAGE = 64,	 /* wrong command line, plan, revision or other input */
	FB_EXIT_MISSING = 69,	 /* a program, package or machine kind is not there */
	FB_EXIT_FAILED = 70,	 /* anything else went wrong */
	FB_EXIT_SYSTEM = 74,	 /* disk full and other system errors */
	FB_EXIT_INFRA = 75,	 /* the lab failed, or another process uses it: try later */
	FB_EXIT_STOPPED = 76,	 /* stopped by SIGINT or SIGTERM; run again to go on */
	FB_EXIT_ABORT = 255,	 /* judge: an error; any smaller number would be a verdict to git */
};

struct fb_command {
	const char *name;    /* "bisect auto" for sub-commands */
	const char *summary; /* NULL: not listed */
	int (*run)(int argc, char **argv);
};

extern const struct fb_command fb_commands[]; /* ends with a NULL name */

int fb_cmd_bisect_auto(int argc, char **argv);
int fb_cmd_bisect_run(int argc, char **argv);
int fb_cmd_bisect_log(int argc, char **argv);
int fb_cmd_bisect_next(int argc, char **argv);
int fb_cmd_bisect_replay(int argc, char **argv);
int fb_cmd_bisect_reset(int argc, char **argv);
int fb_cmd_bisect_skip(int argc, char **argv);
int fb_cmd_bisect_start(int argc, char **argv);
int fb_cmd_bisect_status(int argc, char **argv);
int fb_cmd_bisect_terms(int argc, char **argv);
int fb_cmd_bisect_undo(int argc, char **argv);
int fb_cmd_bisect_verdict(int argc, char **argv);
int fb_cmd_bisect_visualize(int argc, char **argv);
int fb_cmd_bisect_weak(int argc, char **argv);
int fb_cmd_compare(int argc, char **argv);
int fb_cmd_doctor(int argc, char **argv);
int fb_cmd_job(int argc, char **argv);
int fb_cmd_judge(int argc, char **argv);
int fb_cmd_list(int argc, char **argv);
int fb_cmd_measure(int argc, char **argv);
int fb_cmd_noise(int argc, char **argv);
int fb_cmd_report(int argc, char **argv);
int fb_cmd_simulate(int argc, char **argv);

/* --- options ----------------------------------------------------------------------------- */

enum fb_opt_kind {
	FB_OPT_FLAG,	/* bool * */
	FB_OPT_STRING,	/* const char ** */
	FB_OPT_STRINGS, /* char ***, may be given several times */
	FB_OPT_UINT,	/* unsigned * */
};

struct fb_opt {
	const char *name; /* long name */
	char letter;	  /* short name, or 0 */
	enum fb_opt_kind kind;
	void *to;
	const char *arg; /* shown in --help: "PLAN" */
	const char *help;
};

/* Options that every command has; the table of a command begins with FB_COMMON_OPTS(common). */
struct fb_common {
	const char *dir;  /* -C */
	const char *repo; /* --repo */
	bool json, quiet;
};

#define FB_COMMON_OPTS(c)                                                                          \
	{"repo",    0,	   FB_OPT_STRING,                                                          \
	 &(c).repo, "DIR", "the repository; default: that of the current directory"},              \
		{"directory", 'C',   FB_OPT_STRING,                                                \
		 &(c).dir,    "DIR", "change to DIR first, as git -C"},                            \
		{"json", 0, FB_OPT_FLAG, &(c).json, NULL, "print JSON"},                           \
	{                                                                                          \
		"quiet", 'q', FB_OPT_FLAG, &(c).quiet, NULL, "no progress on stderr"               \
	}

/**
 * fb_opt_parse() - Parse options; positional arguments move to the end.
 * @usage: the line after "usage: firstbad ", @about: a paragraph for --help.
 * @ret_first: index in argv of the first positional argument.
 *
 * Return: -1 to go on, else the exit status (--help was printed, or an error).
 */
int fb_opt_parse(int argc, char **argv, const char *usage, const char *about,
		 const struct fb_opt *opts, size_t nr_opts, int *ret_first);

/**
 * fb_opt_parse_before() - The same, but what follows the first positional argument is left alone:
 * it is a command line of its own.
 */
int fb_opt_parse_before(int argc, char **argv, const char *usage, const char *about,
			const struct fb_opt *opts, size_t nr_opts, int *ret_first);

/* --- what commands begin and end with ------------------------------------------------------ */

/** fb_fail() - Print "firstbad: ..." and return the exit status that belongs to the error. */
int fb_fail(const struct fb_error *err);

/** fb_at_most() - argv must hold nothing from @end on. */
int fb_at_most(int argc, char **argv, int end, struct fb_error *err);

/** fb_enter() - Carry out -C. */
int fb_enter(const struct fb_common *common, struct fb_error *err);

/** fb_open_history() - The repository of --repo or the current directory. */
int fb_open_history(const struct fb_common *common, struct fb_history **ret, struct fb_error *err);

/** fb_open_store() - The store of this user. */
int fb_open_store(struct fb_store **ret, struct fb_error *err);

/** fb_load_plan() - The plan at @path, or the default plan for NULL. */
int fb_load_plan(const char *path, struct fb_plan **ret, struct fb_error *err);

/**
 * fb_cell_unavailable() - Why no machine of this host can run the cell: a program that is missing.
 *
 * Return: owned; NULL when nothing is known to be against it.
 */
char *fb_cell_unavailable(const struct fb_cell *cell);

/** fb_session_plan() - The plan that a session was begun with. */
int fb_session_plan(const struct fb_session *session, struct fb_plan **ret, struct fb_error *err);

/** fb_kconfig_dir() - Where the config fragments are installed; owned. */
char *fb_kconfig_dir(void);

/** fb_self() - Path of this program; owned. */
char *fb_self(struct fb_error *err);

/** fb_catch_signals() - SIGINT and SIGTERM set the returned flag instead of killing. */
const volatile sig_atomic_t *fb_catch_signals(void);

/** fb_progress_observer() - Progress to stderr: a live line on a terminal, plain lines elsewhere.
 */
struct fb_observer fb_progress_observer(const struct fb_common *common);

/** fb_progress_line() - Show a live line (on a terminal, after fb_progress_observer()). */
void fb_progress_line(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/** fb_put() - Print to stdout. Return: 0, or FB_EXIT_SYSTEM when it could not be written. */
int fb_put(const char *text);

struct fb_plot_row {
	const char *hex;  /* of the commit */
	const char *note; /* what is said of it, a word */
	const double *values;
	size_t nr; /* at least one */
};

/**
 * fb_plot() - The values of each commit as points on a line, in 80 columns.
 * @near: the row that must be shown when not all can be.
 */
void fb_plot(const struct fb_plot_row *rows, size_t nr, size_t near, struct fb_str *out);

/** fb_verdict_exit() - The exit status of a verdict. */
int fb_verdict_exit(const char *verdict);

#endif
