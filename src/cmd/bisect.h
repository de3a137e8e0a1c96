/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the commands about bisections share. */
#ifndef FB_CMD_BISECT_H
#define FB_CMD_BISECT_H

#include "src/cmd/cmd.h"
#include "src/controller/reporting.h"

/* All that a command about one bisection opens; a zeroed struct is empty. */
struct fb_bisect_cmd {
	struct fb_store *store;
	struct fb_history *history;
	struct fb_plan *plan;
	struct fb_session session; /* until it is loaded */
	struct fb_bisect *b;
	struct fb_lab *lab;
	bool taken_up; /* by fb_bisect_cmd_find_same(), which the user is told */
};

/** fb_bisect_cmd_open() - Change directory, open the repository and the store. */
int fb_bisect_cmd_open(struct fb_bisect_cmd *c, const struct fb_common *common,
		       struct fb_error *err);
void fb_bisect_cmd_release(struct fb_bisect_cmd *c);

/** fb_bisect_cmd_find() - The session of that name, or (NULL) the newest one of this worktree. */
int fb_bisect_cmd_find(struct fb_bisect_cmd *c, const char *name, struct fb_error *err);

/**
 * fb_bisect_cmd_read() - Open the session of that name (NULL: the newest one of this worktree) to
 * look at it. One that is named is found wherever the user stands.
 */
int fb_bisect_cmd_read(struct fb_bisect_cmd *c, const struct fb_common *common, const char *name,
		       struct fb_error *err);

/**
 * fb_bisect_cmd_find_same() - The newest session of this worktree, if it is unfinished and was
 * begun with equal arguments and c->plan.
 *
 * Return: 1 found, 0 not, -1 error.
 */
int fb_bisect_cmd_find_same(struct fb_bisect_cmd *c, const struct fb_bisect_args *args,
			    struct fb_error *err);

/**
 * fb_bisect_cmd_begin() - Store a new session.
 * @bad, @good, @nr_good: the ends as the user named them, for errors.
 */
int fb_bisect_cmd_begin(struct fb_bisect_cmd *c, const struct fb_bisect_args *args, const char *bad,
			char *const *good, size_t nr_good, struct fb_error *err);

/**
 * fb_bisect_cmd_lab() - Load the session, and open the lab for it.
 * @fresh: it was made just now, and is forgotten when it cannot start.
 *
 * Return: 0, 1 when the session has ended (no lab then), -1.
 */
int fb_bisect_cmd_lab(struct fb_bisect_cmd *c, const struct fb_common *common, bool fresh,
		      struct fb_error *err);

/**
 * fb_bisect_cmd_run() - Load the session and go on until there is a verdict.
 * @command: "auto" or "run", told to the user who stops it.
 * @fresh: it was made just now, and is forgotten when it cannot start.
 */
int fb_bisect_cmd_run(struct fb_bisect_cmd *c, const struct fb_common *common, const char *command,
		      bool fresh, struct fb_error *err);

/** fb_bisect_cmd_report() - Print the report; an exit status. */
int fb_bisect_cmd_report(const struct fb_bisect_cmd *c, const struct fb_reporter *reporter);

/** fb_bisect_cmd_exit() - The exit status that belongs to the verdict. */
int fb_bisect_cmd_exit(const struct fb_bisect_cmd *c);

/** fb_change_of() - "regression" (also for NULL), "improvement" or "any". */
int fb_change_of(const char *name, enum fb_change *ret, struct fb_error *err);

#endif
