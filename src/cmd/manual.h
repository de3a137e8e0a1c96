/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the commands of a bisection by hand share. */
#ifndef FB_CMD_MANUAL_H
#define FB_CMD_MANUAL_H

#include "src/cmd/cmd.h"
#include "src/controller/manual-next.h"

/* All that such a command opens; a zeroed struct is empty. */
struct fb_manual_cmd {
	struct fb_store *store;
	struct fb_history *history;
	struct fb_plan *plan;
	struct fb_manual *m;
};

/**
 * fb_manual_cmd_open() - Open the bisection of this worktree, which may be none.
 * @write: it will be changed.
 */
int fb_manual_cmd_open(struct fb_manual_cmd *c, const struct fb_common *common, bool write,
		       struct fb_error *err);

/**
 * fb_manual_cmd_take() - The same for writing, if there is one: 1, else 0, or -1.
 */
int fb_manual_cmd_take(struct fb_manual_cmd *c, const struct fb_common *common,
		       struct fb_error *err);

/** fb_manual_cmd_active() - The same to go on with; FB_ERROR_USAGE where there is none. */
int fb_manual_cmd_active(struct fb_manual_cmd *c, const struct fb_common *common,
			 struct fb_error *err);
void fb_manual_cmd_release(struct fb_manual_cmd *c);

/**
 * fb_manual_cmd_next() - Tell what is known as git does, and check out what comes next.
 * @wait_is_error: an end that is missing is one.
 *
 * Return: an exit status, or -1.
 */
int fb_manual_cmd_next(struct fb_manual_cmd *c, bool wait_is_error, struct fb_error *err);

/**
 * fb_manual_cmd_commit() - The commit that @rev names; NULL: that which is checked out, when
 * it can be meant. Something that the user should know of it is told on stderr.
 */
int fb_manual_cmd_commit(struct fb_manual_cmd *c, const char *rev, struct fb_oid *ret,
			 struct fb_error *err);

/** fb_manual_values() - "1,2.5,3", or numbers from stdin for "-". *@ret: owned. */
int fb_manual_values(const char *text, double **ret, size_t *ret_nr, struct fb_error *err);

/** fb_manual_archive() - What is known at the end of a session, for the store. */
json_t *fb_manual_archive(struct fb_manual_cmd *c);

/** fb_manual_leaders() - The most probable commits with their posterior, a line each. */
int fb_manual_leaders(struct fb_manual_cmd *c, const struct fb_manual_view *v, size_t nr,
		      struct fb_str *out, struct fb_error *err);

/**
 * fb_manual_cmd_run() - `bisect run CMD` in the bisection by hand of this worktree.
 * @ret_active: whether there is one; else nothing was done.
 *
 * Return: an exit status, or -1.
 */
int fb_manual_cmd_run(const struct fb_common *common, char *const *argv, const char *metric,
		      bool *ret_active, struct fb_error *err);

/** fb_manual_status() - What a bisection by hand knows: text, and the same as an object. */
int fb_manual_status(struct fb_manual_cmd *c, struct fb_str *out, json_t **ret,
		     struct fb_error *err);

/** fb_is_term() - Is @word a term of the bisection of the current directory's worktree? */
bool fb_is_term(const char *word);

#endif
